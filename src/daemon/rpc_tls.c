/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_internal.h"

#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_BYTES_MAX (1u << 20)

struct pem {
    char *text; /* ends with a NUL */
    size_t n_bytes;
};

static void free_pem(struct pem *pem) {
    if (pem->text != NULL) {
        pm_memory_wipe(pem->text, pem->n_bytes);
        free(pem->text);
    }
    *pem = (struct pem){0};
}

static pm_status read_whole(int fd, const char *path, struct pem *pem, pm_error *error) {
    pem->text = malloc(PEM_BYTES_MAX + 1);
    PM_FAIL_IF(pem->text == NULL, error, PM_NO_MEMORY, "no memory to read %s", path);
    ssize_t n = 1;
    while (n > 0 && pem->n_bytes < PEM_BYTES_MAX) {
        n = read(fd, pem->text + pem->n_bytes, PEM_BYTES_MAX - pem->n_bytes);
        if (n < 0) {
            return pm_error_set_errno(error, PM_IO, errno, path, "cannot be read");
        }
        pem->n_bytes += (size_t)n;
    }
    pem->text[pem->n_bytes] = 0;
    PM_FAIL_IF(n > 0, error, PM_LENGTH, "%s is too large for a file of certificates", path);
    PM_FAIL_IF(strstr(pem->text, "-----BEGIN ") == NULL, error, PM_ENCODING,
               "%s is no PEM file: it has no line that begins with -----BEGIN", path);
    return PM_OK;
}

static pm_status read_pem(const char *path, struct pem *pem, pm_error *error) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "cannot be opened");
    }
    const pm_status status = read_whole(fd, path, pem, error);
    (void)close(fd);
    return status;
}

static grpc_server_credentials *make(const char *roots, const char *certificate, const char *key) {
    const grpc_ssl_pem_key_cert_pair pair = {.private_key = key, .cert_chain = certificate};
    grpc_ssl_server_certificate_config *config =
        grpc_ssl_server_certificate_config_create(roots, &pair, 1);
    if (config == NULL) {
        return NULL;
    }
    grpc_ssl_server_credentials_options *options =
        grpc_ssl_server_credentials_create_options_using_config(
            roots != NULL ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                          : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            config);
    return options == NULL ? NULL : grpc_ssl_server_credentials_create_with_options(options);
}

pm_status rpc_tls_credentials(const struct pm_rpc_options *options,
                              grpc_server_credentials **credentials, pm_error *error) {
    struct pem certificate = {0};
    struct pem key = {0};
    struct pem roots = {0};
    pm_status status = PM_OK;
    PM_FAIL_IF(options->tls_key == NULL, error, PM_INVALID_ARGUMENT,
               "tls.certificate is given without tls.key");
    PM_TRY_GOTO(status, read_pem(options->tls_certificate, &certificate, error), cleanup);
    PM_TRY_GOTO(status, read_pem(options->tls_key, &key, error), cleanup);
    if (options->tls_client_ca != NULL) {
        PM_TRY_GOTO(status, read_pem(options->tls_client_ca, &roots, error), cleanup);
    }
    *credentials = make(roots.text, certificate.text, key.text);
    if (*credentials == NULL) {
        status = pm_error_set(error, PM_ENCODING, "no TLS can be made of %s and %s",
                              options->tls_certificate, options->tls_key);
    }
cleanup:
    free_pem(&certificate);
    free_pem(&key);
    free_pem(&roots);
    return status;
}
