/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_internal.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <grpc/compression.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ARGUMENTS 24
#define COMPLAINTS_MAX 10 /* of gRPC's are logged in so long: */
#define COMPLAINTS_NS (60000 * RPC_MS)
#define FLUSH_MS 300 /* for the last statuses to leave by their sockets */

/* ---- Small things --------------------------------------------------------------------------- */

void rpc_log(struct pm_rpc_server *server, pm_log_level level, const char *format, ...) {
    char sentence[RPC_SENTENCE];
    if (server->log == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    server->log(server->log_user, level, sentence);
}

pm_status rpc_lock_init(pthread_mutex_t *lock, pthread_cond_t *condition, pm_error *error) {
    int failed = pm_clock_condition_init(condition);
    failed = failed != 0 ? failed : pthread_mutex_init(lock, NULL);
    PM_FAIL_IF(failed != 0, error, PM_NO_MEMORY, "no memory for a lock");
    return PM_OK;
}

/* What gRPC itself complains of, which is the process's and goes to the server that was started
 * last. Strangers cause it, so that it is rationed. */
static struct {
    pthread_mutex_t lock;
    struct pm_rpc_server *server;
    uint64_t since_ns;
    uint32_t n;
} complaints = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_complaint(gpr_log_func_args *said) {
    if (said->severity < GPR_LOG_SEVERITY_ERROR) {
        return;
    }
    const uint64_t now_ns = pm_clock_now_ns();
    (void)pthread_mutex_lock(&complaints.lock);
    if (now_ns - complaints.since_ns > COMPLAINTS_NS) {
        complaints.since_ns = now_ns;
        complaints.n = 0;
    }
    if (complaints.server != NULL && complaints.n++ < COMPLAINTS_MAX) {
        rpc_log(complaints.server, PM_LOG_WARNING, "gRPC: %s", said->message);
    }
    (void)pthread_mutex_unlock(&complaints.lock);
}

static void hear_complaints(struct pm_rpc_server *server, bool starts) {
    (void)pthread_mutex_lock(&complaints.lock);
    if (starts) {
        complaints.server = server;
        gpr_set_log_function(on_complaint);
    } else if (complaints.server == server) {
        complaints.server = NULL;
    }
    (void)pthread_mutex_unlock(&complaints.lock);
}

/* ---- The threads that poll ------------------------------------------------------------------ */

static void ask_for_call(struct rpc_slot *slot) {
    grpc_call_details_init(&slot->details);
    grpc_metadata_array_init(&slot->metadata);
    slot->call = NULL;
    struct pm_rpc_server *server = slot->server;
    rpc_hand_over(server);
    (void)grpc_server_request_call(slot->front->grpc, &slot->call, &slot->details, &slot->metadata,
                                   server->queue, server->queue, &slot->tag);
}

static void on_call(struct rpc_slot *slot, bool success) {
    if (success) {
        rpc_call_begin(slot->server, slot);
    }
    grpc_call_details_destroy(&slot->details);
    grpc_metadata_array_destroy(&slot->metadata);
    if (success) { /* otherwise the server stops */
        ask_for_call(slot);
    }
}

static void on_stopped(struct pm_rpc_server *server) {
    (void)pthread_mutex_lock(&server->lock);
    ++server->n_stopped;
    (void)pthread_cond_broadcast(&server->less);
    (void)pthread_mutex_unlock(&server->lock);
}

static void *poll_queue(void *argument) {
    struct pm_rpc_server *server = argument;
    for (;;) {
        const grpc_event event =
            grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            return NULL;
        }
        if (event.type != GRPC_OP_COMPLETE) {
            continue;
        }
        rpc_take_over(server);
        const struct rpc_tag *tag = event.tag;
        if (tag->kind == RPC_TAG_CALL) {
            on_call(tag->owner, event.success != 0);
        } else if (tag->kind == RPC_TAG_STOPPED) {
            on_stopped(tag->owner);
        } else {
            rpc_call_complete(tag->owner, tag->kind, event.success != 0);
        }
    }
}

/* ---- Start ---------------------------------------------------------------------------------- */

struct arguments {
    grpc_arg list[N_ARGUMENTS];
    size_t n;
};

static void add_integer(struct arguments *arguments, const char *key, uint64_t value) {
    if (arguments->n < N_ARGUMENTS) {
        grpc_arg *added = &arguments->list[arguments->n++];
        added->type = GRPC_ARG_INTEGER;
        added->key = (char *)(uintptr_t)key; /* gRPC does not write to it */
        added->value.integer = value > INT_MAX ? INT_MAX : (int)value;
    }
}

/*
 * Messages, metadata and streams are bounded. Whoever is silent is asked for a sign of life after
 * half a minute, so that a machine that has gone away leaves nothing behind; and clients may ask
 * us as often as those of any language do. Two daemons do not share a port. Messages come
 * uncompressed: a small one that is large when it is unpacked is nobody's request.
 */
static void describe(const struct pm_rpc_options *options, grpc_resource_quota *quota,
                     struct arguments *arguments) {
    add_integer(arguments, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options->message_bytes_max);
    add_integer(arguments, GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, options->message_bytes_max);
    add_integer(arguments, GRPC_ARG_MAX_METADATA_SIZE, 16384);
    add_integer(arguments, GRPC_ARG_MAX_CONCURRENT_STREAMS, 2 * (uint64_t)options->n_calls_max);
    add_integer(arguments, GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
    add_integer(arguments, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
    add_integer(arguments, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    add_integer(arguments, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    add_integer(arguments, GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
    add_integer(arguments, GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000);
    add_integer(arguments, GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600000);
    add_integer(arguments, GRPC_ARG_ALLOW_REUSEPORT, 0);
    add_integer(arguments, GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
    add_integer(arguments, GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    add_integer(arguments, GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
    add_integer(arguments, GRPC_ARG_ENABLE_CHANNELZ, 0);
    if (quota != NULL) {
        grpc_arg *added = &arguments->list[arguments->n++];
        added->type = GRPC_ARG_POINTER;
        added->key = (char *)(uintptr_t)GRPC_ARG_RESOURCE_QUOTA;
        added->value.pointer.p = quota;
        added->value.pointer.vtable = grpc_resource_quota_arg_vtable();
    }
}

static pm_status start_grpc(struct pm_rpc_server *server, const struct pm_rpc_options *options,
                            pm_error *error) {
    struct arguments arguments = {0};
    grpc_init();
    hear_complaints(server, true);
    rpc_hold_start(&server->hold, options->upload_bytes_max);
    describe(options, server->hold.quota, &arguments);
    const grpc_channel_args all = {.num_args = arguments.n, .args = arguments.list};
    server->queue = grpc_completion_queue_create_for_next(NULL);
    server->has_grpc = true;
    for (uint32_t f = 0; f < RPC_FRONTS; ++f) {
        struct rpc_front *front = &server->fronts[f];
        front->grpc = grpc_server_create(&all, NULL);
        front->is_local = f == 0;
        front->on_stopped = (struct rpc_tag){RPC_TAG_STOPPED, server};
        grpc_server_register_completion_queue(front->grpc, server->queue, NULL);
    }
    while (server->n_pollers < RPC_POLLERS) {
        const int failed =
            pthread_create(&server->pollers[server->n_pollers], NULL, poll_queue, server);
        PM_FAIL_IF(failed != 0, error, PM_NO_MEMORY, "no thread for calls to come in");
        ++server->n_pollers;
    }
    return PM_OK;
}

static pm_status check_options(const struct pm_rpc_options *options, pm_error *error) {
    PM_FAIL_IF(options->n_listen == 0 || options->n_listen > RPC_LISTEN_MAX, error,
               PM_INVALID_ARGUMENT, "there are %u addresses to listen on, and 1 to %u are possible",
               options->n_listen, RPC_LISTEN_MAX);
    PM_FAIL_IF(options->n_threads == 0 || options->n_calls_max == 0 ||
                   options->n_connections_max == 0,
               error, PM_INVALID_ARGUMENT,
               "rpc.threads, rpc.max_connections and rpc.max_calls must not be 0");
    PM_FAIL_IF(options->message_bytes_max == 0 || options->message_bytes_max > INT_MAX, error,
               PM_INVALID_ARGUMENT, "rpc.max_message must be 1 to %d bytes", INT_MAX);
    PM_FAIL_IF(options->tls_certificate == NULL &&
                   (options->tls_key != NULL || options->tls_client_ca != NULL),
               error, PM_INVALID_ARGUMENT,
               "tls.key or tls.client_ca is given without tls.certificate");
    return PM_OK;
}

static void open_front(struct pm_rpc_server *server, struct rpc_front *front) {
    grpc_server_start(front->grpc);
    for (uint32_t s = 0; s < RPC_SLOTS; ++s) {
        struct rpc_slot *slot = &front->slots[s];
        *slot = (struct rpc_slot){.tag = {RPC_TAG_CALL, slot}, .server = server, .front = front};
        ask_for_call(slot);
    }
}

static pm_status start(struct pm_rpc_server *server, const struct pm_rpc_options *options,
                       pm_error *error) {
    PM_FAIL_IF(pthread_mutex_init(&server->hold.lock, NULL) != 0, error, PM_NO_MEMORY,
               "no memory for a lock");
    PM_TRY(rpc_lock_init(&server->lock, &server->less, error));
    PM_TRY(rpc_lock_init(&server->room.lock, &server->room.changed, error));
    PM_TRY(start_grpc(server, options, error));
    PM_TRY(rpc_pool_start(&server->quick, options->n_threads, error));
    PM_TRY(rpc_pool_start(&server->slow, options->n_threads, error));
    PM_TRY(rpc_pool_start(&server->keys, options->n_threads, error));
    PM_TRY(rpc_room_start(server, error));
    for (uint32_t f = 0; f < RPC_FRONTS; ++f) {
        server->fronts[f].slots = calloc(RPC_SLOTS, sizeof *server->fronts[f].slots);
        PM_FAIL_IF(server->fronts[f].slots == NULL, error, PM_NO_MEMORY, "no memory for calls");
    }
    PM_TRY(rpc_listen(server, options, error));
    for (uint32_t f = 0; f < RPC_FRONTS; ++f) {
        open_front(server, &server->fronts[f]);
    }
    return rpc_doorman_start(server, options->n_connections_max, error);
}

pm_status pm_rpc_start(const struct pm_rpc_options *options, struct pm_rpc_server **out,
                       pm_error *error) {
    *out = NULL;
    PM_TRY(check_options(options, error));
    struct pm_rpc_server *server = calloc(1, sizeof *server);
    PM_FAIL_IF(server == NULL, error, PM_NO_MEMORY, "no memory for the server");
    server->services = options->services;
    server->n_services = options->n_services;
    server->user = options->user;
    server->engine = options->engine;
    server->log = options->log;
    server->log_user = options->log_user;
    server->n_calls_max = options->n_calls_max;
    server->message_bytes_max = options->message_bytes_max;
    server->receive_ns_max =
        RPC_MS * (options->receive_ms_max != 0 ? options->receive_ms_max : RPC_RECEIVE_MS);
    const pm_status status = start(server, options, error);
    if (status != PM_OK) {
        pm_rpc_stop(server, 0);
        pm_rpc_destroy(server);
        return status;
    }
    *out = server;
    return PM_OK;
}

uint16_t pm_rpc_port(const struct pm_rpc_server *server, uint32_t index) {
    return index < server->n_ports ? server->ports[index] : 0;
}

/* ---- Stop ----------------------------------------------------------------------------------- */

/* Cuts off the calls of the list for which should_cut() holds; a thousand at a time. */
static void cut_some(struct pm_rpc_server *server,
                     bool (*should_cut)(const struct pm_rpc_call *call, uint64_t now_ns),
                     uint64_t now_ns, enum pm_rpc_code code, const char *sentence) {
    enum { AT_A_TIME = 1000 };
    struct pm_rpc_call *calls[AT_A_TIME];
    uint32_t n = 0;
    (void)pthread_mutex_lock(&server->lock);
    for (struct pm_rpc_call *call = server->calls; call != NULL && n < AT_A_TIME;
         call = call->after) {
        if (should_cut(call, now_ns) && rpc_call_try_ref(call)) {
            calls[n++] = call;
        }
    }
    (void)pthread_mutex_unlock(&server->lock);
    for (uint32_t c = 0; c < n; ++c) {
        rpc_call_cut(calls[c], code, "%s", sentence);
        rpc_call_unref(calls[c]);
    }
}

static bool is_any(const struct pm_rpc_call *call, uint64_t now_ns) {
    (void)now_ns;
    return !__atomic_load_n(&call->is_over, __ATOMIC_RELAXED);
}

static bool is_overdue(const struct pm_rpc_call *call, uint64_t now_ns) {
    const uint64_t since_ns = __atomic_load_n(&call->receiving_since_ns, __ATOMIC_RELAXED);
    return since_ns != 0 && now_ns > since_ns && now_ns - since_ns > call->server->receive_ns_max;
}

void rpc_server_expire(struct pm_rpc_server *server, uint64_t now_ns) {
    char sentence[RPC_SENTENCE];
    (void)snprintf(sentence, sizeof sentence, "no whole message came within %llu ms",
                   (unsigned long long)(server->receive_ns_max / RPC_MS));
    cut_some(server, is_overdue, now_ns, PM_RPC_DEADLINE_EXCEEDED, sentence);
}

/* Whether all calls are gone and gRPC has stopped; waits for that until at_ns. */
static bool wait_for_silence(struct pm_rpc_server *server, uint64_t at_ns, bool for_grpc) {
    (void)pthread_mutex_lock(&server->lock);
    while ((server->n_live != 0 || (for_grpc && server->n_stopped < RPC_FRONTS)) &&
           pm_clock_now_ns() < at_ns) {
        pm_clock_wait_until(&server->less, &server->lock, at_ns);
    }
    const bool is_silent = server->n_live == 0 && (!for_grpc || server->n_stopped == RPC_FRONTS);
    (void)pthread_mutex_unlock(&server->lock);
    return is_silent;
}

/* From asking politely to tearing down. Handlers are waited for however long they take: they have
 * been told, and what they use must outlive them. */
static void stop_grpc(struct pm_rpc_server *server, uint64_t grace_ms) {
    const uint64_t now_ns = pm_clock_now_ns();
    const bool is_endless = grace_ms >= (UINT64_MAX - now_ns) / RPC_MS;
    for (uint32_t f = 0; f < RPC_FRONTS; ++f) {
        struct rpc_front *front = &server->fronts[f];
        rpc_hand_over(server);
        grpc_server_shutdown_and_notify(front->grpc, server->queue, &front->on_stopped);
    }
    (void)wait_for_silence(server, is_endless ? UINT64_MAX : now_ns + grace_ms * RPC_MS, false);
    uint64_t cut_ns = pm_clock_now_ns();
    do {
        cut_some(server, is_any, 0, PM_RPC_UNAVAILABLE, "the daemon stops");
    } while (!wait_for_silence(server, pm_clock_now_ns() + 20 * RPC_MS, false) &&
             pm_clock_now_ns() < cut_ns + RPC_CANCEL_MS * RPC_MS);
    (void)wait_for_silence(server, pm_clock_now_ns() + FLUSH_MS * RPC_MS, true);
    for (uint32_t f = 0; f < RPC_FRONTS; ++f) {
        grpc_server_cancel_all_calls(server->fronts[f].grpc);
    }
    while (!wait_for_silence(server, pm_clock_now_ns() + 10000 * RPC_MS, true)) {
        rpc_log(server, PM_LOG_WARNING,
                "a call has been told to end and has not; the server waits for it");
    }
}

void pm_rpc_stop(struct pm_rpc_server *server, uint64_t grace_ms) {
    if (server == NULL || server->is_stopping) {
        return;
    }
    server->is_stopping = true;
    rpc_doorman_stop(server);
    rpc_listen_end(server);
    if (server->n_pollers != 0) { /* otherwise the fronts have never listened */
        stop_grpc(server, grace_ms);
    }
    for (uint32_t f = 0; f < RPC_FRONTS && server->has_grpc; ++f) {
        grpc_server_destroy(server->fronts[f].grpc);
    }
    rpc_room_stop(server);
    rpc_pool_stop(&server->keys);
    rpc_pool_stop(&server->slow);
    rpc_pool_stop(&server->quick);
    if (server->has_grpc) {
        grpc_completion_queue_shutdown(server->queue);
        for (uint32_t p = 0; p < server->n_pollers; ++p) {
            (void)pthread_join(server->pollers[p], NULL);
        }
        grpc_completion_queue_destroy(server->queue);
        rpc_hold_stop(&server->hold);
        grpc_shutdown_blocking();
    }
    hear_complaints(server, false);
}

void pm_rpc_destroy(struct pm_rpc_server *server) {
    if (server == NULL) {
        return;
    }
    for (uint32_t f = 0; f < RPC_FRONTS; ++f) {
        free(server->fronts[f].slots);
    }
    (void)pthread_cond_destroy(&server->less);
    (void)pthread_mutex_destroy(&server->lock);
    (void)pthread_cond_destroy(&server->room.changed);
    (void)pthread_mutex_destroy(&server->room.lock);
    (void)pthread_mutex_destroy(&server->hold.lock);
    free(server);
}

void pm_rpc_counts_now(struct pm_rpc_server *server, struct pm_rpc_counts *counts) {
    *counts = (struct pm_rpc_counts){0};
    (void)pthread_mutex_lock(&server->lock);
    counts->n_calls = server->n_calls;
    counts->n_refused = server->n_refused;
    counts->n_under_way = server->n_under_way;
    (void)pthread_mutex_unlock(&server->lock);
    for (uint32_t c = 0; c < RPC_CODES; ++c) {
        counts->n_by_code[c] = __atomic_load_n(&server->n_by_code[c], __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_lock(&server->room.lock);
    counts->n_parked = server->room.n_parked;
    (void)pthread_mutex_unlock(&server->room.lock);
}
