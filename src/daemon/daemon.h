/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/daemon.h - what the parts of the daemon share.
 *
 *     daemon_main.c   the environment, and which verb it is
 *     daemon_guardian.c the process around it, which starts it again after a fault
 *     daemon_signal.c signals that come to both of them
 *     daemon_run.c    options, start, signals, reload, drain
 *     daemon_keys.c   the configuration's keys: registered, brought in, followed when it changes
 *     daemon_names.c  which keys came from a configuration, on disk
 *     daemon_warning.c keys that are not secure
 *     daemon_log.c    lines on stderr, exit codes
 *     daemon_notify.c what systemd is told
 *     config*         the configuration, toml_shim.cpp reads its text
 *     rpc*            gRPC: calls come in, wait and end
 *     service_*       what calls mean: proofmill.v1 and cuzk.v1
 *     http*           /metrics, /status, /healthz and the page
 *     client_*        the verbs that speak to a daemon
 */
#ifndef PM_DAEMON_DAEMON_H
#define PM_DAEMON_DAEMON_H

#include "daemon/config.h"
#include "daemon/rpc.h"

#include <proofmill/engine.h>

struct pm_daemon {
    struct pm_config config;
    pm_engine *engine;
    struct pm_rpc_server *rpc;
    struct pm_http_server *http;
    struct pm_daemon_keys *keys;
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    uint32_t n_restarts; /* by the guardian, since it was started */
};

/* Tables of methods for pm_rpc_options.services; their user is the struct pm_daemon. */
extern const struct pm_rpc_method pm_service_prover[];
extern const struct pm_rpc_method pm_service_cuzk[];

/* Lines on stderr, with the levels that systemd reads when it is the reader. Never a witness. */
__attribute__((format(printf, 2, 3))) void pm_daemon_log(pm_log_level level, const char *format,
                                                         ...);

/* A key of the configuration that the daemon goes on without, or with an earlier file: why. */
struct pm_daemon_key_fault {
    char name[PM_ENGINE_NAME_BYTES];
    char path[256]; /* shortened from the left */
    pm_status status;
    char message[512];
};
/* Fills at most n_max and returns how many there are now. For status. */
uint32_t pm_daemon_key_faults(struct pm_daemon *daemon, struct pm_daemon_key_fault *faults,
                              uint32_t n_max);

/* Whether jobs may not have this key, and why: the configuration has the name, and its file has not
 * been opened, whatever the engine has under this name. False for other names. */
bool pm_daemon_key_is_refused(struct pm_daemon *daemon, const char *name, char message[512]);
/* A caller has registered this name: it is the caller's from now on, until the configuration is
 * read again. */
void pm_daemon_key_was_added(struct pm_daemon *daemon, const char *name, const char *path);
/* What is to be said of a key that anybody can forge proofs with: a static sentence, or "". */
const char *pm_daemon_key_warning(struct pm_daemon *daemon, const pm_engine_key_info *info);
/* As pm_engine_keys(), and behind the engine's keys those of the configuration that it does not
 * have: cold, with the status that says why; one that it has from another file has that status. */
pm_status pm_daemon_list_keys(struct pm_daemon *daemon, pm_engine_key_info *infos, uint32_t *n);

/* Prometheus text of everything, also with the names of the cuzk daemon; for HTTP and for
 * GetMetrics. *text is freed with free(). */
pm_status pm_metrics_text(struct pm_daemon *daemon, char **text, size_t *n_bytes, pm_error *error);

/* Jobs that have not begun, of every priority. */
static inline uint32_t pm_daemon_n_queued(const pm_engine_metrics *metrics) {
    uint32_t n = 0;
    for (uint32_t p = PM_ENGINE_LOW; p <= PM_ENGINE_CRITICAL; ++p) {
        n += metrics->n_queued[p];
    }
    return n;
}

/* HTTP: /metrics, /status, /events, /healthz, /. address "": none, and *server is NULL. Errors: IO
 * (the address cannot be had), INVALID_ARGUMENT. */
pm_status pm_http_start(struct pm_daemon *daemon, const char *address, bool beyond_loopback,
                        struct pm_http_server **server, pm_error *error);
void pm_http_stop(struct pm_http_server *server);

/* `proofmilld VERB ...`: the verbs that speak to a daemon. Returns the exit code. address: from
 * --address or PROOFMILL_ADDRESS, else the default. */
int pm_client_run(int n, char **arguments, const char *address, const char *runtime_dir);

#endif
