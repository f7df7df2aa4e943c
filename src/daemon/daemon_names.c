/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon_names.c - a file with the names of the keys that came from a configuration.
 *
 * The journal knows keys, not who asked for them. A key that is taken out of the configuration
 * while no daemon runs is told by this file from one that a caller registered.
 */
#include "daemon/config_internal.h"
#include "daemon/daemon_internal.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES (PM_ENGINE_NAME_BYTES + 1)

pm_status pm_daemon_names_read(const char *path, pm_daemon_name_taker *take, void *user,
                               pm_error *error) {
    char line[LINE_BYTES + 1];
    FILE *file = fopen(path, "re");
    pm_status status = PM_OK;
    if (file == NULL) {
        return errno == ENOENT ? PM_OK
                               : pm_error_set_errno(error, PM_IO, errno, path, "cannot be opened");
    }
    while (status == PM_OK && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (!pm_config_is_key_name(line)) {
            status = pm_error_set(error, PM_ENCODING, "has a line that is no name of a key");
            pm_error_at(error, path, PM_NO_OFFSET);
        } else {
            take(user, line);
        }
    }
    if (status == PM_OK && ferror(file)) {
        status = pm_error_set_errno(error, PM_IO, errno, path, "cannot be read");
    }
    (void)fclose(file);
    return status;
}

/* A rename is on disk when its folder is. */
static bool sync_folder(const char *path) {
    char folder[PATH_BYTES];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
                   slash != NULL ? path : ".");
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_synced;
}

pm_status pm_daemon_names_write(const char *path, const char *const *names, size_t n,
                                pm_error *error) {
    char beside[PATH_BYTES];
    const int length = snprintf(beside, sizeof beside, "%s.part", path);
    PM_FAIL_IF(length < 0 || (size_t)length >= sizeof beside, error, PM_LENGTH,
               "%.100s...: too long a path", path);
    FILE *file = fopen(beside, "we");
    if (file == NULL) {
        return pm_error_set_errno(error, PM_IO, errno, beside, "cannot be written");
    }
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(file, "%s\n", names[i]);
    }
    bool is_written = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    int number = errno;
    if (fclose(file) != 0 && is_written) {
        number = errno;
        is_written = false;
    }
    if (is_written && (rename(beside, path) != 0 || !sync_folder(path))) {
        number = errno;
        is_written = false;
    }
    return is_written ? PM_OK : pm_error_set_errno(error, PM_IO, number, path, "cannot be written");
}
