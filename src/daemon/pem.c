/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/pem.h"

#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_BYTES_MAX (1u << 20)

void pm_pem_free(struct pm_pem *pem) {
    if (pem->text != NULL) {
        pm_memory_wipe(pem->text, pem->n_bytes);
        free(pem->text);
    }
    *pem = (struct pm_pem){0};
}

static pm_status read_whole(int fd, const char *path, struct pm_pem *pem, pm_error *error) {
    pem->text = malloc(PEM_BYTES_MAX + 1);
    PM_FAIL_IF(pem->text == NULL, error, PM_NO_MEMORY, "no memory to read %s", path);
    ssize_t n = 1;
    while (n != 0 && pem->n_bytes < PEM_BYTES_MAX) {
        n = read(fd, pem->text + pem->n_bytes, PEM_BYTES_MAX - pem->n_bytes);
        if (n < 0 && errno != EINTR) {
            return pm_error_set_errno(error, PM_IO, errno, path, "cannot be read");
        }
        pem->n_bytes += n > 0 ? (size_t)n : 0;
    }
    pem->text[pem->n_bytes] = 0;
    PM_FAIL_IF(n != 0, error, PM_LENGTH, "%s is too large for a file of certificates", path);
    PM_FAIL_IF(strstr(pem->text, "-----BEGIN ") == NULL, error, PM_ENCODING,
               "%s is no PEM file: it has no line that begins with -----BEGIN", path);
    return PM_OK;
}

pm_status pm_pem_read(const char *path, struct pm_pem *pem, pm_error *error) {
    *pem = (struct pm_pem){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "cannot be opened");
    }
    const pm_status status = read_whole(fd, path, pem, error);
    (void)close(fd);
    return status;
}
