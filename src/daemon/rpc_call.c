/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_internal.h"

#include "base/clock.h"

#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Life ----------------------------------------------------------------------------------- */

static void drop_unsent(struct pm_rpc_call *call) {
    while (call->unsent != NULL) {
        struct rpc_message *message = call->unsent;
        call->unsent = message->next;
        rpc_message_free(message);
    }
    call->unsent_tail = &call->unsent;
}

static void destroy(struct pm_rpc_call *call) {
    struct pm_rpc_server *server = call->server;
    rpc_buffer_wipe(call->received);
    drop_unsent(call);
    grpc_call_unref(call->grpc);
    (void)pthread_mutex_lock(&server->lock);
    if (call->before != NULL) {
        call->before->after = call->after;
    } else {
        server->calls = call->after;
    }
    if (call->after != NULL) {
        call->after->before = call->before;
    }
    --server->n_live;
    rpc_peer_leave(server, call);
    (void)pthread_cond_broadcast(&server->less);
    (void)pthread_mutex_unlock(&server->lock);
    (void)pthread_mutex_destroy(&call->lock);
    free(call);
}

void rpc_call_ref(struct pm_rpc_call *call) {
    (void)__atomic_fetch_add(&call->n_refs, 1, __ATOMIC_RELAXED);
}

bool rpc_call_try_ref(struct pm_rpc_call *call) {
    int n = __atomic_load_n(&call->n_refs, __ATOMIC_RELAXED);
    while (n != 0 && !__atomic_compare_exchange_n(&call->n_refs, &n, n + 1, true, __ATOMIC_ACQUIRE,
                                                  __ATOMIC_RELAXED)) {
    }
    return n != 0;
}

void rpc_call_unref(struct pm_rpc_call *call) {
    if (__atomic_sub_fetch(&call->n_refs, 1, __ATOMIC_ACQ_REL) == 0) {
        destroy(call);
    }
}

/* Under the call's lock; its place in the queue has a reference. */
static void queue(struct pm_rpc_call *call) {
    struct pm_rpc_server *server = call->server;
    struct rpc_pool *pool = &server->quick;
    if ((call->todo & RPC_TODO_MESSAGE) != 0) {
        const enum pm_rpc_kind kind = call->method->kind;
        pool = kind == PM_RPC_UNARY_KEYS                                   ? &server->keys
               : kind == PM_RPC_UNARY_LONG || kind == PM_RPC_CLIENT_STREAM ? &server->slow
                                                                           : pool;
    }
    call->is_queued = true;
    rpc_pool_put(pool, call);
}

void rpc_call_schedule(struct pm_rpc_call *call, enum rpc_todo todo) {
    if (call->has_ended && todo != RPC_TODO_END) {
        return;
    }
    call->todo |= todo;
    if (!call->is_queued && !call->is_running) {
        rpc_call_ref(call);
        queue(call);
    }
}

/* ---- Out ------------------------------------------------------------------------------------ */

/* Starts a batch with a reference for it. One that cannot be started is a call that is over: its
 * close says so, and the reference goes back at once. Under the call's lock. */
static bool start_batch(struct pm_rpc_call *call, const grpc_op *ops, size_t n,
                        struct rpc_tag *tag) {
    rpc_call_ref(call);
    rpc_hand_over(call->server);
    if (grpc_call_start_batch(call->grpc, ops, n, tag, NULL) == GRPC_CALL_OK) {
        return true;
    }
    (void)__atomic_sub_fetch(&call->n_refs, 1, __ATOMIC_ACQ_REL); /* the caller of this has one */
    return false;
}

/* Sends what is next: the first message that waits, and the status behind the last. The message
 * stays first in the list until it is sent. Under the call's lock. */
static void pump(struct pm_rpc_call *call) {
    if (call->is_sending || call->is_broken || call->status_sent) {
        return;
    }
    grpc_op ops[3];
    size_t n = 0;
    memset(ops, 0, sizeof ops);
    struct rpc_message *message = call->unsent;
    const bool is_last = message == NULL || message->next == NULL;
    const bool sends_status = call->has_ended && call->status_wanted && is_last;
    if (message == NULL && !sends_status) {
        return;
    }
    if (!call->metadata_sent) {
        ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
    }
    if (message != NULL) {
        ops[n].op = GRPC_OP_SEND_MESSAGE;
        ops[n++].data.send_message.send_message = message->bytes;
    }
    grpc_slice sentence = grpc_empty_slice();
    if (sends_status) {
        sentence = grpc_slice_from_copied_string(call->sentence);
        ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
        ops[n].data.send_status_from_server.status = (grpc_status_code)call->code;
        ops[n].data.send_status_from_server.status_details = &sentence;
        if (call->reason != NULL && call->code != PM_RPC_OK) {
            call->trailing =
                (grpc_metadata){.key = grpc_slice_from_static_string("proofmill-status"),
                                .value = grpc_slice_from_static_string(call->reason)};
            ops[n].data.send_status_from_server.trailing_metadata_count = 1;
            ops[n].data.send_status_from_server.trailing_metadata = &call->trailing;
        }
        n++;
    }
    if (start_batch(call, ops, n, &call->on_sent)) {
        call->metadata_sent = true;
        call->is_sending = true;
        call->status_sent = sends_status;
    } else {
        call->is_broken = true;
        drop_unsent(call);
    }
    grpc_slice_unref(sentence);
}

/* Appends a message; false: no memory. Under the call's lock. */
static bool append(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    struct rpc_message *message = rpc_message_new(bytes, n_bytes);
    if (message != NULL) {
        *call->unsent_tail = message;
        call->unsent_tail = &message->next;
    }
    return message != NULL;
}

static void count_code(struct pm_rpc_call *call) {
    const uint32_t code = (uint32_t)call->code < RPC_CODES ? (uint32_t)call->code : PM_RPC_UNKNOWN;
    (void)__atomic_fetch_add(&call->server->n_by_code[code], 1, __ATOMIC_RELAXED);
}

/* The one place where a call ends; false: it has ended before. Under the call's lock; whoever
 * calls it empties the waiting room afterwards. */
static bool end(struct pm_rpc_call *call, enum pm_rpc_code code, bool was_cut, bool with_status) {
    if (call->has_ended) {
        return false;
    }
    call->has_ended = true;
    __atomic_store_n(&call->is_over, true, __ATOMIC_RELAXED);
    call->was_cut = was_cut;
    call->code = code;
    call->status_wanted = with_status;
    call->todo = 0;
    __atomic_store_n(&call->receiving_since_ns, 0, __ATOMIC_RELAXED);
    if (was_cut) {
        __atomic_store_n(&call->is_cancelled, 1, __ATOMIC_RELEASE);
    }
    count_code(call);
    pump(call);
    if (call->is_running || call->is_queued || call->gone != NULL) {
        rpc_call_schedule(call, RPC_TODO_END);
    } else { /* nothing is left to do: the caller of this has a reference of its own */
        (void)__atomic_sub_fetch(&call->n_refs, 1, __ATOMIC_ACQ_REL);
    }
    return true;
}

void rpc_call_cut(struct pm_rpc_call *call, enum pm_rpc_code code, const char *format, ...) {
    (void)pthread_mutex_lock(&call->lock);
    if (!call->has_ended) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(call->sentence, sizeof call->sentence, format, arguments);
        va_end(arguments);
        (void)end(call, code, true, true);
    }
    (void)pthread_mutex_unlock(&call->lock);
    rpc_room_leave(call);
}

/* ---- In ------------------------------------------------------------------------------------- */

/* Asks for the next message. Under the call's lock. */
static void receive(struct pm_rpc_call *call) {
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_RECV_MESSAGE;
    op.data.recv_message.recv_message = &call->received;
    __atomic_store_n(&call->receiving_since_ns, pm_clock_now_ns(), __ATOMIC_RELAXED);
    (void)start_batch(call, &op, 1, &call->on_received);
}

static void on_received(struct pm_rpc_call *call, bool success) {
    __atomic_store_n(&call->receiving_since_ns, 0, __ATOMIC_RELAXED);
    if (call->has_ended) {
        rpc_buffer_wipe(call->received);
        call->received = NULL;
    } else if (call->received != NULL) {
        rpc_call_schedule(call, RPC_TODO_MESSAGE);
    } else if (success && !grpc_call_failed_before_recv_message(call->grpc)) {
        call->is_at_end = true;
        if (call->method->kind == PM_RPC_CLIENT_STREAM) {
            rpc_call_schedule(call, RPC_TODO_MESSAGE);
        } else {
            (void)snprintf(call->sentence, sizeof call->sentence,
                           "the call ended before its request came");
            (void)end(call, PM_RPC_INVALID_ARGUMENT, false, true);
        }
    } /* else it is broken off, and its close says so */
}

/* The stream is over, whoever ended it. */
static void on_closed(struct pm_rpc_call *call) {
    if (call->close_cancelled == 0) {
        return;
    }
    __atomic_store_n(&call->is_cancelled, 1, __ATOMIC_RELEASE);
    call->is_broken = true;
    if (!call->is_sending) {
        drop_unsent(call);
    }
    const bool is_late = call->deadline_ns != 0 && pm_clock_now_ns() >= call->deadline_ns;
    (void)end(call, is_late ? PM_RPC_DEADLINE_EXCEEDED : PM_RPC_CANCELLED, true, false);
}

static void on_sent(struct pm_rpc_call *call, bool success) {
    call->is_sending = false;
    struct rpc_message *message = call->unsent;
    if (message != NULL) {
        call->unsent = message->next;
        if (call->unsent == NULL) {
            call->unsent_tail = &call->unsent;
        }
        rpc_message_free(message);
    }
    if (!success || call->is_broken) {
        call->is_broken = true;
        drop_unsent(call);
        return;
    }
    pump(call);
    if (call->is_parked && call->every_change && call->unsent == NULL) {
        rpc_call_schedule(call, RPC_TODO_LOOK);
    }
}

void rpc_call_complete(struct pm_rpc_call *call, enum rpc_tag_kind kind, bool success) {
    (void)pthread_mutex_lock(&call->lock);
    if (kind == RPC_TAG_RECEIVED) {
        on_received(call, success);
    } else if (kind == RPC_TAG_CLOSED) {
        on_closed(call);
    } else {
        on_sent(call, success);
    }
    const bool has_ended = call->has_ended;
    (void)pthread_mutex_unlock(&call->lock);
    if (has_ended) {
        rpc_room_leave(call);
    }
    rpc_call_unref(call);
}

/* ---- Begin ---------------------------------------------------------------------------------- */

static const struct pm_rpc_method *find_method(const struct pm_rpc_server *server,
                                               grpc_slice path) {
    for (uint32_t s = 0; s < server->n_services; ++s) {
        for (const struct pm_rpc_method *m = server->services[s]; m->path != NULL; ++m) {
            if (grpc_slice_str_cmp(path, m->path) == 0) {
                return m;
            }
        }
    }
    return NULL;
}

/* CLOCK_MONOTONIC; 0: none, or so far away that it is none. */
static uint64_t deadline_of(gpr_timespec deadline) {
    const uint64_t now_ns = pm_clock_now_ns();
    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
        return 0;
    }
    const gpr_timespec left = gpr_time_sub(gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC),
                                           gpr_now(GPR_CLOCK_MONOTONIC));
    if (left.tv_sec > INT64_C(1000000000)) {
        return 0;
    }
    return left.tv_sec < 0
               ? now_ns
               : now_ns + (uint64_t)left.tv_sec * UINT64_C(1000000000) + (uint64_t)left.tv_nsec;
}

/* Into the list of calls. False: it is one too many, and *n_of_peer its connection's others. */
static bool enter(struct pm_rpc_server *server, struct pm_rpc_call *call, uint32_t *n_of_peer) {
    char *peer = grpc_call_get_peer(call->grpc); /* "fd:17", or an address with its port */
    char name[sizeof call->peer->name];
    (void)snprintf(name, sizeof name, "%d %s", call->is_local, peer);
    gpr_free(peer);
    (void)pthread_mutex_lock(&server->lock);
    call->after = server->calls;
    if (call->after != NULL) {
        call->after->before = call;
    }
    server->calls = call;
    ++server->n_live;
    ++server->n_calls;
    const bool is_counted = rpc_peer_enter(server, call, name, n_of_peer);
    server->n_refused += !is_counted;
    (void)pthread_mutex_unlock(&server->lock);
    return is_counted;
}

/* Why one call too many is refused. */
static enum pm_rpc_code turn_away(struct pm_rpc_call *call, uint32_t n_of_peer) {
    const uint32_t n_max = call->server->n_calls_max;
    if (n_of_peer == 0 || n_of_peer >= n_max) {
        (void)snprintf(call->sentence, sizeof call->sentence,
                       "%u calls are under way, and more are not taken (rpc.max_calls): try later",
                       n_max);
    } else {
        (void)snprintf(call->sentence, sizeof call->sentence,
                       "%u calls of this connection are under way, and what is left of %u is for "
                       "others (rpc.max_calls): try later",
                       n_of_peer, n_max);
    }
    return PM_RPC_RESOURCE_EXHAUSTED;
}

/* Why a call that nobody handles is refused. Its path came from outside: what is not printable in
 * it is left out. */
static enum pm_rpc_code refuse(struct pm_rpc_call *call, grpc_slice path) {
    char name[200];
    size_t n = 0;
    for (size_t i = 0; i < GRPC_SLICE_LENGTH(path) && n + 1 < sizeof name; ++i) {
        const uint8_t byte = GRPC_SLICE_START_PTR(path)[i];
        if (byte > 0x20 && byte < 0x7f) {
            name[n++] = (char)byte;
        }
    }
    name[n] = 0;
    (void)snprintf(call->sentence, sizeof call->sentence, "this daemon has no method %s", name);
    return PM_RPC_UNIMPLEMENTED;
}

static struct pm_rpc_call *new_call(struct pm_rpc_server *server, const struct rpc_slot *slot) {
    struct pm_rpc_call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        return NULL;
    }
    call->server = server;
    call->grpc = slot->call;
    call->is_local = slot->front->is_local;
    call->deadline_ns = deadline_of(slot->details.deadline);
    call->control = (pm_control){.struct_bytes = sizeof call->control,
                                 .cancel = &call->is_cancelled,
                                 .deadline_ns = call->deadline_ns};
    call->on_received = (struct rpc_tag){RPC_TAG_RECEIVED, call};
    call->on_closed = (struct rpc_tag){RPC_TAG_CLOSED, call};
    call->on_sent = (struct rpc_tag){RPC_TAG_SENT, call};
    call->unsent_tail = &call->unsent;
    call->n_refs = 2; /* one until TODO_END is done, one of rpc_call_begin() */
    (void)pthread_mutex_init(&call->lock, NULL);
    return call;
}

void rpc_call_begin(struct pm_rpc_server *server, struct rpc_slot *slot) {
    struct pm_rpc_call *call = new_call(server, slot);
    if (call == NULL) {
        (void)grpc_call_cancel_with_status(slot->call, GRPC_STATUS_RESOURCE_EXHAUSTED,
                                           "no memory for the call", NULL);
        grpc_call_unref(slot->call);
        return;
    }
    uint32_t n_of_peer = 0;
    const bool is_counted = enter(server, call, &n_of_peer);
    call->method = is_counted ? find_method(server, slot->details.method) : NULL;
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    op.data.recv_close_on_server.cancelled = &call->close_cancelled;
    (void)pthread_mutex_lock(&call->lock);
    (void)start_batch(call, &op, 1, &call->on_closed);
    if (call->method == NULL) {
        const enum pm_rpc_code code =
            is_counted ? refuse(call, slot->details.method) : turn_away(call, n_of_peer);
        (void)end(call, code, false, true);
    } else {
        receive(call);
    }
    (void)pthread_mutex_unlock(&call->lock);
    rpc_call_unref(call);
}

/* ---- On a thread of the pool ---------------------------------------------------------------- */

static void run_message(struct pm_rpc_call *call, grpc_byte_buffer *buffer) {
    struct rpc_flat flat;
    const bool is_end = buffer == NULL;
    if (!is_end && buffer->data.raw.compression != GRPC_COMPRESS_NONE) {
        rpc_buffer_wipe(buffer);
        pm_rpc_fail(call, PM_RPC_UNIMPLEMENTED, "compressed messages are not taken");
        return;
    }
    const pm_status status = rpc_flatten(call->server, buffer, &flat);
    if (status == PM_BUDGET_BUSY) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED,
                    "the message does not fit beside what is on its way in already, of %llu bytes "
                    "in all (max_upload in [rpc]): try again later, or hand inputs over by path",
                    (unsigned long long)call->server->hold.all_bytes_max);
        return;
    }
    if (status != PM_OK) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for the request");
        return;
    }
    call->method->handle(call, call->server->user, is_end ? NULL : flat.bytes, flat.n_bytes);
    rpc_flat_free(&flat);
}

/* What a handler has left the call in. Under the call's lock. */
static void settle(struct pm_rpc_call *call) {
    if (call->has_ended || call->did_park) {
        return;
    }
    if (call->method->kind == PM_RPC_CLIENT_STREAM && !call->is_at_end) {
        receive(call);
    } else {
        (void)snprintf(call->sentence, sizeof call->sentence, "%s gave no answer",
                       call->method->path);
        (void)end(call, PM_RPC_INTERNAL, false, true);
    }
}

static void run_end(struct pm_rpc_call *call) {
    (void)pthread_mutex_lock(&call->lock);
    void (*gone)(struct pm_rpc_call *, void *, bool) = call->gone;
    void *state = call->state;
    const bool was_cut = call->was_cut;
    call->gone = NULL;
    (void)pthread_mutex_unlock(&call->lock);
    if (gone != NULL) {
        gone(call, state, was_cut);
    }
    rpc_call_unref(call); /* the one for being under way; the run has its own */
}

/* Takes the first thing that is to be done and does it. */
static void run_one(struct pm_rpc_call *call) {
    (void)pthread_mutex_lock(&call->lock);
    call->is_queued = false;
    call->is_running = true;
    call->did_park = false;
    const uint32_t todo = call->todo & -call->todo;
    call->todo &= ~todo;
    grpc_byte_buffer *buffer = call->received;
    if (todo == RPC_TODO_MESSAGE) {
        call->received = NULL;
    }
    pm_rpc_resume *resume = call->resume;
    const uint64_t job = call->job;
    const enum pm_rpc_wake wake = call->wake;
    (void)pthread_mutex_unlock(&call->lock);
    if (todo == RPC_TODO_MESSAGE) {
        run_message(call, buffer);
    } else if (todo == RPC_TODO_RESUME) {
        resume(call, call->server->user, job, wake);
    } else if (todo == RPC_TODO_LOOK) {
        rpc_room_look(call);
    } else if (todo == RPC_TODO_END) {
        run_end(call);
    }
    (void)pthread_mutex_lock(&call->lock);
    if (todo == RPC_TODO_MESSAGE || todo == RPC_TODO_RESUME) {
        settle(call);
    }
}

void rpc_call_run(struct pm_rpc_call *call) {
    bool is_handed_on = false;
    for (bool again = true; again;) {
        run_one(call); /* comes back with the lock */
        call->is_running = false;
        again = call->todo == RPC_TODO_END;
        if (call->todo != 0 && !again) { /* behind the others, so that each has its turn */
            is_handed_on = true;
            queue(call);
        }
        (void)pthread_mutex_unlock(&call->lock);
    }
    if (!is_handed_on) {
        rpc_call_unref(call);
    }
}

/* ---- What handlers say ---------------------------------------------------------------------- */

void *pm_rpc_user(struct pm_rpc_call *call) {
    return call->server->user;
}

bool pm_rpc_is_local(struct pm_rpc_call *call) {
    return call->is_local;
}

uint64_t pm_rpc_remaining_ms(struct pm_rpc_call *call) {
    const uint64_t now_ns = pm_clock_now_ns();
    if (call->deadline_ns == 0) {
        return UINT64_MAX;
    }
    return now_ns >= call->deadline_ns ? 0 : (call->deadline_ns - now_ns) / RPC_MS;
}

const pm_control *pm_rpc_control(struct pm_rpc_call *call) {
    return &call->control;
}

void pm_rpc_attach(struct pm_rpc_call *call, void *state,
                   void (*gone)(struct pm_rpc_call *call, void *state, bool was_cut)) {
    (void)pthread_mutex_lock(&call->lock);
    call->state = state;
    call->gone = gone;
    (void)pthread_mutex_unlock(&call->lock);
}

void *pm_rpc_attached(struct pm_rpc_call *call) {
    (void)pthread_mutex_lock(&call->lock);
    void *state = call->state;
    (void)pthread_mutex_unlock(&call->lock);
    return state;
}

/* Appends a message for the caller, or ends the call when that cannot be. Under the lock. */
static bool say(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    if (n_bytes > call->server->message_bytes_max) {
        (void)snprintf(call->sentence, sizeof call->sentence,
                       "the answer has %zu bytes, and a message may have %llu (rpc.max_message)",
                       n_bytes, (unsigned long long)call->server->message_bytes_max);
    } else if (!append(call, bytes, n_bytes)) {
        (void)snprintf(call->sentence, sizeof call->sentence, "no memory for the answer");
    } else {
        return true;
    }
    (void)end(call, PM_RPC_RESOURCE_EXHAUSTED, false, true);
    return false;
}

void pm_rpc_reply(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    (void)pthread_mutex_lock(&call->lock);
    if (!call->has_ended && say(call, bytes, n_bytes)) {
        (void)end(call, PM_RPC_OK, false, true);
    }
    (void)pthread_mutex_unlock(&call->lock);
    rpc_room_leave(call);
}

void pm_rpc_reason(struct pm_rpc_call *call, const char *name) {
    (void)pthread_mutex_lock(&call->lock);
    call->reason = name;
    (void)pthread_mutex_unlock(&call->lock);
}

void pm_rpc_fail(struct pm_rpc_call *call, enum pm_rpc_code code, const char *format, ...) {
    (void)pthread_mutex_lock(&call->lock);
    if (!call->has_ended) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(call->sentence, sizeof call->sentence, format, arguments);
        va_end(arguments);
        const bool is_failure = code > PM_RPC_OK && (uint32_t)code < RPC_CODES;
        (void)end(call, is_failure ? code : PM_RPC_UNKNOWN, false, true);
    }
    (void)pthread_mutex_unlock(&call->lock);
    rpc_room_leave(call);
}

void pm_rpc_send(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    (void)pthread_mutex_lock(&call->lock);
    if (!call->has_ended && say(call, bytes, n_bytes)) {
        pump(call);
    }
    (void)pthread_mutex_unlock(&call->lock);
}

void pm_rpc_end(struct pm_rpc_call *call) {
    (void)pthread_mutex_lock(&call->lock);
    (void)end(call, PM_RPC_OK, false, true);
    (void)pthread_mutex_unlock(&call->lock);
    rpc_room_leave(call);
}
