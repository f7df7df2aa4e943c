/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/rpc.h - calls over gRPC: how they come in, wait and end. What they mean is elsewhere.
 *
 * A service is a table of methods. The server reads a call's request whole (or message by message),
 * then a thread of its pool runs the method's handler, which may wait for disks and never for
 * proofs: for those the call is parked. Every call ends exactly once: with pm_rpc_reply() or
 * pm_rpc_fail(), or because its caller went away, its deadline passed or the server stopped, and
 * then `gone` is run instead.
 */
#ifndef PM_DAEMON_RPC_H
#define PM_DAEMON_RPC_H

#include <proofmill/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_rpc_server;
struct pm_rpc_call;

/* gRPC's status codes. */
enum pm_rpc_code {
    PM_RPC_OK = 0,
    PM_RPC_CANCELLED = 1,
    PM_RPC_UNKNOWN = 2,
    PM_RPC_INVALID_ARGUMENT = 3,
    PM_RPC_DEADLINE_EXCEEDED = 4,
    PM_RPC_NOT_FOUND = 5,
    PM_RPC_ALREADY_EXISTS = 6,
    PM_RPC_PERMISSION_DENIED = 7,
    PM_RPC_RESOURCE_EXHAUSTED = 8,
    PM_RPC_FAILED_PRECONDITION = 9,
    PM_RPC_ABORTED = 10,
    PM_RPC_OUT_OF_RANGE = 11,
    PM_RPC_UNIMPLEMENTED = 12,
    PM_RPC_INTERNAL = 13,
    PM_RPC_UNAVAILABLE = 14
};

enum pm_rpc_kind {
    PM_RPC_UNARY,
    PM_RPC_UNARY_LONG,    /* one whose handler may read whole files: it has threads of its own, as
                             client streams have, so that nobody waits for them who only asks */
    PM_RPC_UNARY_KEYS,    /* one that may wait for keys or for room, which may take minutes: threads
                             of its own as well, so that jobs come in meanwhile */
    PM_RPC_CLIENT_STREAM, /* the handler runs for each message, then once with NULL: the end */
    PM_RPC_SERVER_STREAM  /* one request; pm_rpc_send() any number of times, then pm_rpc_end() */
};

/*
 * message: the request's bytes, the server's until the handler returns (they are wiped then, as
 * they may be a witness). Runs on a thread of the pool, one at a time for each call. Returns after
 * it has replied, failed, or parked the call; for a client stream that is not at its end also after
 * having taken the message in. A call that it leaves without any of these ends with INTERNAL.
 */
typedef void pm_rpc_handler(struct pm_rpc_call *call, void *user, const uint8_t *message,
                            size_t n_bytes);

struct pm_rpc_method {
    const char *path; /* "/proofmill.v1.Prover/Submit" */
    enum pm_rpc_kind kind;
    pm_rpc_handler *handle;
};

struct pm_rpc_options {
    const char *const *listen; /* as in pm_config */
    uint32_t n_listen;
    bool insecure_listen;                                  /* TCP beyond loopback without TLS */
    const char *tls_certificate, *tls_key, *tls_client_ca; /* files; NULL: none */
    uint64_t message_bytes_max;
    /* Of all messages that are on their way in, those that are worked on, and what pm_rpc_hold()
     * keeps, together: gRPC's resource quota is what the others leave of it. Who asks for more is
     * refused with RESOURCE_EXHAUSTED; what gRPC receives beyond its quota it breaks off, some call
     * or other. 0: no bound. */
    uint64_t upload_bytes_max;
    uint32_t n_threads;
    uint32_t n_connections_max; /* without TLS; gRPC's own listener, where there is TLS, has none */
    uint32_t n_calls_max;       /* of which a connection gets three for each that it leaves free */
    uint64_t receive_ms_max;    /* for a message to arrive once it is waited for; 0: 10 minutes */
    const struct pm_rpc_method *const *services; /* tables, each ended by a NULL path */
    uint32_t n_services;
    void *user; /* handlers' */
    /* Jobs whose calls are parked are watched here. */
    pm_engine *engine;
    void (*log)(void *log_user, pm_log_level level, const char *sentence);
    void *log_user;
};

/* Unix sockets are made with mode 0600, and a stale one (nobody listens) is replaced. Errors: IO
 * (an address cannot be had: the sentence has it and why), ENCODING and LENGTH (a PEM file), COUNT
 * (too many sockets), INVALID_ARGUMENT, NO_MEMORY. */
pm_status pm_rpc_start(const struct pm_rpc_options *options, struct pm_rpc_server **server,
                       pm_error *error);
/* No new calls; those under way may end for grace_ms, then they are cut off with UNAVAILABLE, and
 * handlers that run are waited for. Unix sockets are removed. */
void pm_rpc_stop(struct pm_rpc_server *server, uint64_t grace_ms);
/* After pm_rpc_stop(). NULL is fine. */
void pm_rpc_destroy(struct pm_rpc_server *server);
/* The port of listen[index]: of a TCP address with port 0, the one it was given. 0: a unix socket,
 * or there is no such address. */
uint16_t pm_rpc_port(const struct pm_rpc_server *server, uint32_t index);

/* For status and metrics: calls under way, connections are not known to gRPC's C core. */
struct pm_rpc_counts {
    uint64_t n_calls, n_refused; /* since the start */
    uint32_t n_under_way, n_parked;
    uint64_t n_by_code[17];
};
void pm_rpc_counts_now(struct pm_rpc_server *server, struct pm_rpc_counts *counts);

/* ---- In a handler --------------------------------------------------------------------------- */

void *pm_rpc_user(struct pm_rpc_call *call);
/* Over a unix socket: a caller who may name files. It is known from the socket that the call came
 * in by, and from nothing the caller says. */
bool pm_rpc_is_local(struct pm_rpc_call *call);
/* Of the caller's deadline: UINT64_MAX without one. */
uint64_t pm_rpc_remaining_ms(struct pm_rpc_call *call);
/* For the library's long calls: cancelled when the caller goes away or the server stops. */
const pm_control *pm_rpc_control(struct pm_rpc_call *call);
/* The handler's own state with the call; `gone` frees it when the call ends in whichever way, also
 * after a reply. was_cut: it ended without one. Runs on a thread of the pool. */
void pm_rpc_attach(struct pm_rpc_call *call, void *state,
                   void (*gone)(struct pm_rpc_call *call, void *state, bool was_cut));
void *pm_rpc_attached(struct pm_rpc_call *call);
/* So many bytes of what was sent are kept beyond the handler: false when there is no room for them
 * now. Whoever holds them lets go of them, at the latest in `gone`. Any thread. */
bool pm_rpc_hold(struct pm_rpc_call *call, uint64_t n_bytes);
void pm_rpc_let_go(struct pm_rpc_call *call, uint64_t n_bytes);
/* What all calls together may hold: a part of upload_bytes_max is for messages to come in. */
uint64_t pm_rpc_hold_bytes_max(struct pm_rpc_call *call);

/* Ends a call. bytes are copied. */
void pm_rpc_reply(struct pm_rpc_call *call, const void *bytes, size_t n_bytes);
__attribute__((format(printf, 3, 4))) void
pm_rpc_fail(struct pm_rpc_call *call, enum pm_rpc_code code, const char *format, ...);
/* Before pm_rpc_fail(): what goes with it as trailing metadata "proofmill-status". name is static:
 * a pm_status_name(). */
void pm_rpc_reason(struct pm_rpc_call *call, const char *name);
/* A server stream: bytes are copied, and sent in order. */
void pm_rpc_send(struct pm_rpc_call *call, const void *bytes, size_t n_bytes);
void pm_rpc_end(struct pm_rpc_call *call); /* OK, after everything that was sent */

/* ---- Waiting for a job ---------------------------------------------------------------------- */

enum pm_rpc_wake {
    PM_RPC_WAKE_CHANGED, /* the job is in another state, or has another phase; only if asked for */
    PM_RPC_WAKE_ENDED,
    PM_RPC_WAKE_TIMEOUT
};
/* Parks the call; the handler returns at once. resume runs on a thread of the pool, and may park it
 * again. With every_change it is run for changes as well: the first time at once, then for what has
 * changed since it was run last, those that come while the last message is still being sent
 * together as one. A job that is not known counts as ended. timeout_ms: 0: none but the caller's
 * deadline. When the engine stops before the job has ended, the call ends with UNAVAILABLE. */
typedef void pm_rpc_resume(struct pm_rpc_call *call, void *user, uint64_t job,
                           enum pm_rpc_wake wake);
void pm_rpc_park(struct pm_rpc_call *call, uint64_t job, uint64_t timeout_ms, bool every_change,
                 pm_rpc_resume *resume);

#endif
