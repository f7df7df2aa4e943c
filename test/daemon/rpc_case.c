/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_case.h"

#include "base/clock.h"
#include "base/control.h"
#include "engine/engine_case.h"
#include "support/file_builder.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rpc_seen rpc_seen;

#define MS UINT64_C(1000000)

static void add(uint64_t *counter) {
    (void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

uint64_t rpc_case_read(const uint64_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* ---- What is attached to a call -------------------------------------------------------------- */

struct kept {
    struct kept *next;
    size_t n_bytes;
    uint8_t bytes[];
};

struct attached {
    uint64_t n, sum;
    uint64_t n_times; /* to park still */
    struct kept *kept;
    int n_gone, n_inside;
    bool every_change;
};

static void gone(struct pm_rpc_call *call, void *state, bool was_cut) {
    struct attached *it = state;
    if (it->n_gone++ != 0) {
        add(&rpc_seen.n_gone_twice);
        return;
    }
    if (__atomic_load_n(&it->n_inside, __ATOMIC_RELAXED) != 0) {
        add(&rpc_seen.n_overlaps);
    }
    __atomic_store_n(&rpc_seen.gone_ns, pm_clock_now_ns(), __ATOMIC_RELAXED);
    add(&rpc_seen.n_gone);
    for (struct kept *kept = it->kept, *next; kept != NULL; kept = next) {
        next = kept->next;
        pm_rpc_let_go(call, kept->n_bytes);
        free(kept);
    }
    if (was_cut) {
        add(&rpc_seen.n_cut);
    }
    free(it);
}

static struct attached *attach(struct pm_rpc_call *call) {
    struct attached *it = pm_rpc_attached(call);
    if (it == NULL) {
        it = calloc(1, sizeof *it);
        add(&rpc_seen.n_attached);
        pm_rpc_attach(call, it, gone);
    }
    return it;
}

static void enter(struct attached *it) {
    if (__atomic_fetch_add(&it->n_inside, 1, __ATOMIC_RELAXED) != 0) {
        add(&rpc_seen.n_overlaps);
    }
}

static void leave(struct attached *it) {
    (void)__atomic_fetch_sub(&it->n_inside, 1, __ATOMIC_RELAXED);
}

static uint64_t number(const uint8_t *message, size_t n_bytes, size_t index) {
    uint64_t value = 0;
    if (n_bytes >= 8 * (index + 1)) {
        memcpy(&value, message + 8 * index, 8);
    }
    return value;
}

/* ---- Methods --------------------------------------------------------------------------------- */

static void echo(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    pm_rpc_reply(call, message, n_bytes);
}

static void fails(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    const int code = n_bytes != 0 ? message[0] : 0;
    pm_rpc_fail(call, (enum pm_rpc_code)code, "failed on purpose with %d%%", code);
    pm_rpc_reply(call, "ignored", 7);
}

static void silent(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)call;
    (void)user;
    (void)message;
    (void)n_bytes;
}

static void local(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    (void)message;
    (void)n_bytes;
    const uint8_t is_local = pm_rpc_is_local(call);
    pm_rpc_reply(call, &is_local, 1);
}

static void left(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    (void)message;
    (void)n_bytes;
    const uint64_t left_ms = pm_rpc_remaining_ms(call);
    pm_rpc_reply(call, &left_ms, sizeof left_ms);
}

static void slow(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    struct attached *it = attach(call);
    enter(it);
    add(&rpc_seen.n_slow_begun);
    const uint64_t until_ns = pm_clock_now_ns() + MS * number(message, n_bytes, 0);
    while (pm_clock_now_ns() < until_ns && !pm_control_stopped(pm_rpc_control(call))) {
        test_sleep_ms(1);
    }
    if (pm_control_stopped(pm_rpc_control(call))) {
        add(&rpc_seen.n_slow_cancelled);
        __atomic_store_n(&rpc_seen.slow_cancel_ns, pm_clock_now_ns(), __ATOMIC_RELAXED);
    }
    leave(it);
    pm_rpc_reply(call, "done", 4);
}

static void sum(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    struct attached *it = attach(call);
    enter(it);
    if (message == NULL) {
        const uint64_t reply[2] = {it->n, it->sum};
        leave(it);
        pm_rpc_reply(call, reply, sizeof reply);
        return;
    }
    ++it->n;
    for (size_t i = 0; i < n_bytes; ++i) {
        it->sum += message[i];
    }
    leave(it);
}

static void keep(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    struct attached *it = attach(call);
    if (message == NULL) {
        pm_rpc_reply(call, "", 0);
    } else if (!pm_rpc_hold(call, n_bytes)) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no more than %llu bytes",
                    (unsigned long long)pm_rpc_hold_bytes_max(call));
    } else {
        struct kept *kept = malloc(sizeof *kept + n_bytes);
        assert_non_null(kept);
        memcpy(kept->bytes, message, n_bytes);
        kept->n_bytes = n_bytes;
        kept->next = it->kept;
        it->kept = kept;
    }
}

static void count(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    const uint64_t n = number(message, n_bytes, 0);
    const size_t n_each = (size_t)number(message, n_bytes, 1);
    uint8_t *bytes = calloc(1, n_each + 8);
    for (uint64_t i = 0; i < n; ++i) {
        memcpy(bytes, &i, 8);
        pm_rpc_send(call, bytes, n_each);
    }
    free(bytes);
    pm_rpc_end(call);
}

static void waited(struct pm_rpc_call *call, void *user, uint64_t job, enum pm_rpc_wake wake) {
    (void)user;
    struct attached *it = attach(call);
    const uint8_t reply = (uint8_t)wake;
    enter(it);
    if (it->n_times != 0 && wake != PM_RPC_WAKE_ENDED) {
        --it->n_times;
        pm_rpc_park(call, job, 1, it->every_change, waited);
        leave(it);
        return;
    }
    leave(it);
    pm_rpc_reply(call, &reply, 1);
}

static void wait_for(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    struct wait_request request = {0};
    struct attached *it = attach(call);
    memcpy(&request, message, n_bytes < sizeof request ? n_bytes : sizeof request);
    it->n_times = request.n_times;
    it->every_change = request.every_change != 0;
    pm_rpc_park(call, request.job, request.timeout_ms, it->every_change, waited);
}

static void watched(struct pm_rpc_call *call, void *user, uint64_t job, enum pm_rpc_wake wake) {
    struct rpc_case *it = user;
    pm_engine_job info = {.struct_bytes = sizeof info};
    if (pm_engine_job_info(it->engine, job, &info, NULL) != PM_OK) {
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "no such job");
        return;
    }
    const uint8_t state = (uint8_t)info.state;
    pm_rpc_send(call, &state, 1);
    if (wake == PM_RPC_WAKE_ENDED) {
        pm_rpc_end(call);
    } else {
        pm_rpc_park(call, job, 0, true, watched);
    }
}

static void watch(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    (void)attach(call);
    pm_rpc_park(call, number(message, n_bytes, 0), 0, true, watched);
}

/* Any behaviour, as the number says; also what a sound handler does not do. */
static void chaos(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    const uint64_t what = number(message, n_bytes, 0);
    struct attached *it = attach(call);
    switch (what % 8) {
    case 0:
        pm_rpc_reply(call, message, n_bytes);
        break;
    case 1:
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "not here");
        pm_rpc_end(call);
        break;
    case 2:
        break;
    case 3:
        slow(call, user, message, 0);
        break;
    case 4:
        test_sleep_ms(what / 8 % 4);
        pm_rpc_reply(call, message, n_bytes);
        pm_rpc_reply(call, message, n_bytes);
        break;
    case 5:
        it->n_times = what / 8 % 3;
        pm_rpc_park(call, 0, 1 + what / 8 % 5, false, waited);
        break;
    default: { /* jobs that the test has submitted */
        it->n_times = what / 8 % 3;
        it->every_change = what % 8 == 6;
        pm_rpc_park(call, 1 + what / 8 % 40, 1 + what / 8 % 50, it->every_change, waited);
        break;
    }
    }
}

static const struct pm_rpc_method methods[] = {
    {"/test/Echo", PM_RPC_UNARY, echo},           {"/test/Fail", PM_RPC_UNARY, fails},
    {"/test/Silent", PM_RPC_UNARY, silent},       {"/test/Local", PM_RPC_UNARY, local},
    {"/test/Left", PM_RPC_UNARY, left},           {"/test/Slow", PM_RPC_UNARY, slow},
    {"/test/Keys", PM_RPC_UNARY_KEYS, slow},      {"/test/Files", PM_RPC_UNARY_LONG, slow},
    {"/test/Sum", PM_RPC_CLIENT_STREAM, sum},     {"/test/Keep", PM_RPC_CLIENT_STREAM, keep},
    {"/test/Count", PM_RPC_SERVER_STREAM, count}, {"/test/Wait", PM_RPC_UNARY, wait_for},
    {"/test/Watch", PM_RPC_SERVER_STREAM, watch}, {NULL, PM_RPC_UNARY, NULL},
};
static const struct pm_rpc_method more_methods[] = {{"/test/Chaos", PM_RPC_UNARY, chaos},
                                                    {NULL, PM_RPC_UNARY, NULL}};
static const struct pm_rpc_method *const services[] = {methods, more_methods};

/* ---- Servers --------------------------------------------------------------------------------- */

static void print_log(void *user, pm_log_level level, const char *sentence) {
    (void)user;
    (void)printf("log %d: %s\n", (int)level, sentence);
}

struct pm_rpc_options rpc_case_options(struct rpc_case *it) {
    static const char *listen[1];
    if (it->tree == NULL) {
        it->tree = file_make_tree();
        (void)snprintf(it->socket, sizeof it->socket, "%s/rpc.sock", it->tree);
        (void)snprintf(it->address, sizeof it->address, "unix:%s", it->socket);
    }
    listen[0] = it->address;
    return (struct pm_rpc_options){.listen = listen,
                                   .n_listen = 1,
                                   .message_bytes_max = 16 << 20,
                                   .upload_bytes_max = 256 << 20,
                                   .n_threads = 4,
                                   .n_connections_max = 64,
                                   .n_calls_max = 1000,
                                   .services = services,
                                   .n_services = 2,
                                   .user = it,
                                   .engine = it->engine,
                                   .log = print_log};
}

void rpc_case_open_with(struct rpc_case *it, const struct pm_rpc_options *options) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_rpc_start(options, &it->server, &error), PM_OK, &error);
}

void rpc_case_open(struct rpc_case *it, pm_engine *engine) {
    *it = (struct rpc_case){.engine = engine};
    const struct pm_rpc_options options = rpc_case_options(it);
    rpc_case_open_with(it, &options);
}

void rpc_case_close(struct rpc_case *it) {
    pm_rpc_stop(it->server, 1000);
    pm_rpc_destroy(it->server);
    if (it->tree != NULL) {
        file_remove_tree(it->tree);
    }
    *it = (struct rpc_case){0};
}

void rpc_case_quiet(struct rpc_case *it) {
    struct pm_rpc_counts counts;
    for (int tries = 0; tries < 3000; ++tries) {
        pm_rpc_counts_now(it->server, &counts);
        if (counts.n_under_way == 0) {
            break;
        }
        test_sleep_ms(10);
    }
    assert_int_equal(counts.n_under_way, 0);
    assert_int_equal(counts.n_parked, 0);
}

int rpc_case_call(grpc_channel *channel, const char *method, uint64_t timeout_ms, uint64_t value,
                  char *sentence) {
    return rpc_dial_unary(channel, method, timeout_ms, &value, sizeof value, NULL, NULL, sentence);
}

void rpc_case_expect_serving(grpc_channel *channel) {
    uint8_t *reply = NULL;
    size_t n_reply = 0;
    char sentence[1024] = "";
    const int code = rpc_dial_unary(channel, "/test/Echo", 30000, "are you there", 13, &reply,
                                    &n_reply, sentence);
    if (code != 0) {
        fail_msg("Echo answered %d: %s", code, sentence);
    }
    assert_int_equal(n_reply, 13);
    assert_memory_equal(reply, "are you there", 13);
    free(reply);
}
