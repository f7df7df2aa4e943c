/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/pem.h"
#include "daemon/rpc_internal.h"

#include "base/status.h"

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
    struct pm_pem certificate = {0};
    struct pm_pem key = {0};
    struct pm_pem roots = {0};
    pm_status status = PM_OK;
    PM_FAIL_IF(options->tls_key == NULL, error, PM_INVALID_ARGUMENT,
               "tls.certificate is given without tls.key");
    PM_TRY_GOTO(status, pm_pem_read(options->tls_certificate, &certificate, error), cleanup);
    PM_TRY_GOTO(status, pm_pem_read(options->tls_key, &key, error), cleanup);
    if (options->tls_client_ca != NULL) {
        PM_TRY_GOTO(status, pm_pem_read(options->tls_client_ca, &roots, error), cleanup);
    }
    *credentials = make(roots.text, certificate.text, key.text);
    if (*credentials == NULL) {
        status = pm_error_set(error, PM_ENCODING, "no TLS can be made of %s and %s",
                              options->tls_certificate, options->tls_key);
    }
cleanup:
    pm_pem_free(&certificate);
    pm_pem_free(&key);
    pm_pem_free(&roots);
    return status;
}
