/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Thousands of calls with handlers of every behaviour, deadlines and callers who go away at any
 * moment: each call ends once, and what was attached to it is freed once. */
#include "daemon/rpc_case.h"
#include "engine/engine_case.h"

#include "support/data_limit.h"
#include "support/seeded_random.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_CALLERS = 6, N_EACH = PM_TEST_IS_SANITIZED ? 150 : 700 };

static struct rpc_case it;
static pm_engine *engine;
static struct circuits circuits;
static uint64_t n_begun; /* atomic */

static void one_call(grpc_channel *channel, struct seeded_random *random) {
    static const char *const names[] = {"/test/Chaos", "/test/Chaos", "/test/Chaos", "/test/Chaos",
                                        "/test/Slow",  "/test/Sum",   "/test/Count", "/test/Watch",
                                        "/test/Wait",  "/test/None"};
    const char *name = names[seeded_random_below(random, 10)];
    const uint64_t kind = seeded_random_below(random, 8);
    struct rpc_outgoing out;
    uint64_t request[2] = {seeded_random_below(random, 400), seeded_random_below(random, 50)};
    if (strcmp(name, "/test/Watch") == 0 || strcmp(name, "/test/Wait") == 0) {
        request[0] = 1 + request[0] % 40; /* a job; request[1] is a timeout */
        request[1] += strcmp(name, "/test/Wait") == 0;
    } else if (strcmp(name, "/test/Slow") == 0) {
        request[0] %= 6;
    }
    rpc_dial_begin(channel, name, kind < 4 ? 1 + seeded_random_below(random, 30) : 60000, &out);
    (void)__atomic_fetch_add(&n_begun, 1, __ATOMIC_RELAXED);
    if (kind == 7) { /* gone before the request */
        (void)grpc_call_cancel(out.call, NULL);
    }
    (void)rpc_dial_write(&out, request, sizeof request);
    if (kind == 6) { /* gone soon after it */
        test_sleep_ms(seeded_random_below(random, 8));
        (void)grpc_call_cancel(out.call, NULL);
    }
    if (kind != 5 || strcmp(name, "/test/Sum") == 0) { /* or never half-closed */
        rpc_dial_writes_done(&out);
    }
    (void)rpc_dial_finish(&out, NULL);
}

static void *call_often(void *argument) {
    struct seeded_random random = {.state = *(const uint64_t *)argument};
    grpc_channel *channel = rpc_dial(it.address, NULL);
    for (int c = 0; c < N_EACH; ++c) {
        one_call(channel, &random);
        if (c % 100 == 99) { /* a connection that goes away with all that is on it */
            grpc_channel_destroy(channel);
            channel = rpc_dial(it.address, NULL);
        }
    }
    grpc_channel_destroy(channel);
    return NULL;
}

/* Jobs for those who wait, that come, run and are cancelled meanwhile. */
static void *submit_often(void *argument) {
    struct seeded_random random = {.state = *(const uint64_t *)argument};
    for (int j = 0; j < 40; ++j) {
        const uint64_t job =
            submit_one(engine, &circuits, (enum circuit)seeded_random_below(&random, N_SMALL),
                       PM_ENGINE_NORMAL, NULL);
        test_sleep_ms(seeded_random_below(&random, 30));
        if (seeded_random_below(&random, 4) == 0) {
            (void)pm_engine_cancel(engine, job, NULL, NULL);
        }
    }
    return NULL;
}

static void every_call_ends_once(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    pthread_t threads[N_CALLERS + 1];
    uint64_t seeds[N_CALLERS + 1];
    for (int t = 0; t <= N_CALLERS; ++t) {
        seeds[t] = seeded_random_u64(&random);
        assert_int_equal(pthread_create(&threads[t], NULL,
                                        t == N_CALLERS ? submit_often : call_often, &seeds[t]),
                         0);
    }
    for (int t = 0; t <= N_CALLERS; ++t) {
        (void)pthread_join(threads[t], NULL);
    }
    rpc_case_quiet(&it);
    struct pm_rpc_counts counts;
    uint64_t n_ended = 0;
    pm_rpc_counts_now(it.server, &counts);
    for (int c = 0; c < 17; ++c) {
        n_ended += counts.n_by_code[c];
    }
    assert_int_equal(n_ended, counts.n_calls);
    assert_true(counts.n_calls <= rpc_case_read(&n_begun));
    assert_true(counts.n_calls > N_CALLERS * N_EACH / 2);
    assert_true(counts.n_by_code[PM_RPC_OK] > 0 && counts.n_by_code[PM_RPC_CANCELLED] > 0 &&
                counts.n_by_code[PM_RPC_DEADLINE_EXCEEDED] > 0);
    assert_int_equal(rpc_case_read(&rpc_seen.n_attached), rpc_case_read(&rpc_seen.n_gone));
    assert_int_equal(rpc_case_read(&rpc_seen.n_gone_twice), 0);
    assert_int_equal(rpc_case_read(&rpc_seen.n_overlaps), 0);
    assert_true(rpc_case_read(&rpc_seen.n_cut) > 0);
}

static bool stops;

static void *call_until_stopped(void *argument) {
    struct seeded_random random = {.state = *(const uint64_t *)argument};
    grpc_channel *channel = rpc_dial(it.address, NULL);
    while (!__atomic_load_n(&stops, __ATOMIC_RELAXED)) {
        one_call(channel, &random);
    }
    grpc_channel_destroy(channel);
    return NULL;
}

static void stopping_amid_calls_ends_each_once(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    for (int round = 0; round < 6; ++round) {
        pthread_t threads[N_CALLERS];
        uint64_t seeds[N_CALLERS];
        __atomic_store_n(&stops, false, __ATOMIC_RELAXED);
        if (it.server == NULL) {
            rpc_case_open(&it, engine);
        }
        for (int t = 0; t < N_CALLERS; ++t) {
            seeds[t] = seeded_random_u64(&random);
            assert_int_equal(pthread_create(&threads[t], NULL, call_until_stopped, &seeds[t]), 0);
        }
        test_sleep_ms(seeded_random_below(&random, 200));
        pm_rpc_stop(it.server, round % 2 == 0 ? 0 : 20);
        __atomic_store_n(&stops, true, __ATOMIC_RELAXED);
        for (int t = 0; t < N_CALLERS; ++t) {
            (void)pthread_join(threads[t], NULL);
        }
        struct pm_rpc_counts counts;
        pm_rpc_counts_now(it.server, &counts);
        assert_int_equal(counts.n_under_way, 0);
        assert_int_equal(counts.n_parked, 0);
        assert_int_equal(rpc_case_read(&rpc_seen.n_attached), rpc_case_read(&rpc_seen.n_gone));
        assert_int_equal(rpc_case_read(&rpc_seen.n_gone_twice), 0);
        assert_int_equal(rpc_case_read(&rpc_seen.n_overlaps), 0);
        rpc_case_close(&it);
    }
}

static int open_all(void **state) {
    (void)state;
    grpc_init();
    circuits_open(0, &circuits);
    const pm_engine_options options = {
        .struct_bytes = sizeof options, .host_bytes = UINT64_C(512) << 20, .retry_ms = 1};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    rpc_case_open(&it, engine);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_engine_destroy(engine);
    circuits_close(&circuits);
    grpc_shutdown_blocking();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_ends_once),
        cmocka_unit_test(stopping_amid_calls_ends_each_once),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
