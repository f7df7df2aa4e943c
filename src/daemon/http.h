/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/http.h - what the parts of the HTTP server share.
 *
 *     http.c             start, stop, connections and their time
 *     http_address.c     what is listened on, and which Host is ours
 *     http_answer.c      paths, methods, headers
 *     http_history.c     ten minutes of samples: /history
 *     status_json.c      /status, /healthz;  status_jobs.c: its jobs;  status_events.c: /events
 *     status_metrics.c   /metrics;  status_metrics_parts.c: its families
 *     status_process.c   what this process holds;  status_text.c: text that grows
 *
 * It only reads: GET and HEAD, no files, nothing that changes a job or a key.
 */
#ifndef PM_DAEMON_HTTP_H
#define PM_DAEMON_HTTP_H

#include "daemon/daemon.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct MHD_Daemon;

/* ---- Text that grows ------------------------------------------------------------------------ */

/* After a failed allocation nothing more is added, and pm_text_take() says so. */
struct pm_text {
    char *bytes; /* ended by a NUL, which n_bytes does not count; NULL: empty */
    size_t n_bytes, capacity;
    bool has_failed;
};

__attribute__((format(printf, 2, 3))) void pm_text_add(struct pm_text *text, const char *format,
                                                       ...);
/* The caller's from now on, freed with free(). Errors: NO_MEMORY, and then all is freed. */
pm_status pm_text_take(struct pm_text *text, char **bytes, size_t *n_bytes, pm_error *error);
/* Copies what fits with the NUL and puts '?' for each byte that is not part of valid UTF-8: names
 * of files may be anything, JSON and metrics may not. */
void pm_text_clean(const char *from, char *out, size_t out_bytes);

/* ---- What is said --------------------------------------------------------------------------- */

struct pm_process_usage {
    uint64_t resident_bytes, resident_peak_bytes, virtual_bytes;
    uint64_t cpu_ns;
    uint32_t n_threads, n_fds;
    uint64_t n_fds_max;
};
/* Of this process; a number that the system does not give stays 0. */
void pm_process_usage_now(struct pm_process_usage *usage);

/* Changes with each start of a daemon, so that who polls knows that counters began anew. */
#define PM_INSTANCE_BYTES 40
void pm_instance(const struct pm_daemon *daemon, char out[PM_INSTANCE_BYTES]);

/* Whether new jobs are taken and can be done; else reason says why not. */
bool pm_is_healthy(struct pm_daemon *daemon, char *reason, size_t reason_bytes);

/* *floor: jobs up to this number are known to be of no interest any more; 0 at first, kept by the
 * caller between calls, from any thread. *text is freed with free(). Errors: NO_MEMORY. */
pm_status pm_status_json(struct pm_daemon *daemon, _Atomic uint64_t *floor, char **text,
                         size_t *n_bytes, pm_error *error);
pm_status pm_events_json(struct pm_daemon *daemon, uint64_t after, char **text, size_t *n_bytes,
                         pm_error *error);

/* Of status_metrics_parts.c, for pm_metrics_text(): families of keys and of devices. */
void pm_metrics_keys(struct pm_text *text, const pm_engine_key_info *keys, uint32_t n_keys,
                     const pm_engine_device_info *devices, uint32_t n_devices);
void pm_metrics_devices(struct pm_text *text, const pm_engine_device_info *devices, uint32_t n);
void pm_metrics_rpc(struct pm_text *text, const struct pm_rpc_counts *counts);
void pm_metrics_process(struct pm_text *text);
/* HELP and TYPE of a family. type: "gauge", "counter", "histogram". */
void pm_metrics_family(struct pm_text *text, const char *name, const char *type, const char *help);
/* A family of one value without labels. */
void pm_metrics_one(struct pm_text *text, const char *name, const char *type, const char *help,
                    uint64_t value);
/* name="value", escaped; for what is between the braces of a sample. */
void pm_metrics_label(struct pm_text *text, const char *name, const char *value);

/* ---- History -------------------------------------------------------------------------------- */

#define PM_HTTP_SAMPLES 600
#define PM_HTTP_SAMPLE_MS 1000

struct pm_http_sample {
    uint64_t sequence, at_us; /* CLOCK_MONOTONIC */
    int64_t wall_ms;          /* for people */
    uint64_t resident_bytes, n_done, n_failed, n_proofs;
    uint32_t n_queued, n_running;
    uint64_t reserved_bytes[PM_ENGINE_POOLS_MAX];
    uint64_t busy_us[PM_ENGINE_DEVICES_MAX];
};

/* Samples, once a second; thread-safe. */
struct pm_http_history {
    pthread_mutex_t lock;
    uint64_t n; /* taken since the start; the last PM_HTTP_SAMPLES are here */
    struct pm_http_sample samples[PM_HTTP_SAMPLES];
};
void pm_http_history_sample(struct pm_http_history *history, struct pm_daemon *daemon);
pm_status pm_http_history_json(struct pm_http_history *history, struct pm_daemon *daemon,
                               uint64_t after, char **text, size_t *n_bytes, pm_error *error);

/* ---- Addresses ------------------------------------------------------------------------------ */

struct pm_http_address {
    struct sockaddr_storage socket;
    socklen_t socket_bytes;
    bool is_loopback;
    char own_name[256]; /* of this machine, in small letters; "": not known */
};

/* "127.0.0.1:9821", "[::1]:9821", "localhost:9821"; port 0: any. Errors: INVALID_ARGUMENT. */
pm_status pm_http_address_parse(const char *text, struct pm_http_address *address, pm_error *error);
/* A socket that listens, closed by the caller. Errors: IO. */
pm_status pm_http_listen(const struct pm_http_address *address, const char *text, int *listener,
                         pm_error *error);
/*
 * Whether a request's Host is one under which this server may be reached. A page of a stranger that
 * has made its own name resolve to this address (DNS rebinding) sends that name here. Numbers of
 * the loopback and "localhost" are ours, and the address that is listened on; who listens beyond
 * the loopback is also reached by other numbers of the machine and by its own name.
 */
bool pm_http_host_is_ours(const struct pm_http_address *address, const char *host);

/* ---- The server ----------------------------------------------------------------------------- */

#define PM_HTTP_CONNECTIONS_MAX 128
#define PM_HTTP_CONNECTIONS_PER_IP_MAX 64
#define PM_HTTP_CONNECTION_BYTES 16384 /* for a request's line and headers, and our headers */
#define PM_HTTP_IDLE_S 10u
/* From one answer's end to the next one's: who sends a byte now and then is cut off too. */
#define PM_HTTP_EXCHANGE_MS 20000

struct pm_http_connection {
    int socket; /* -1: free */
    uint64_t since_ns;
};

struct pm_http_server {
    struct pm_daemon *daemon;
    struct MHD_Daemon *mhd;
    struct pm_http_address address;
    uint64_t exchange_ms; /* PM_HTTP_EXCHANGE_MS, or what a test wants */
    _Atomic uint64_t floor;
    struct pm_http_history history;
    pthread_t clock; /* samples, and cuts off who is late */
    pthread_cond_t stopped;
    pthread_mutex_t lock; /* of what follows */
    bool is_stopping;
    struct pm_http_connection connections[PM_HTTP_CONNECTIONS_MAX];
};

/* Where it listens; for port 0. */
uint16_t pm_http_port(const struct pm_http_server *server);
/* For libmicrohttpd: an MHD_AccessHandlerCallback, whose enum is an int here. */
int pm_http_answer(struct pm_http_server *server, void *connection, const char *path,
                   const char *method, void **seen);

/* The page, page_text.S. */
extern const char pm_page[], pm_page_end[];

#endif
