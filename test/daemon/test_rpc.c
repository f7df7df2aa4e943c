/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Calls over gRPC: what comes in goes out, every call ends once, and a parked one is woken. */
#include "daemon/rpc_case.h"
#include "engine/engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)

static struct circuits circuits;
static pm_engine *engine; /* with all keys */

static pm_engine *new_engine(void) {
    const pm_engine_options options = {
        .struct_bytes = sizeof options, .host_bytes = 512 * MIB, .retry_ms = 1};
    pm_engine *made = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create(&options, &made, &error), PM_OK, &error);
    circuits_register(&circuits, made);
    return made;
}

static int open_all(void **state) {
    (void)state;
    grpc_init();
    circuits_open(PM_TEST_IS_SANITIZED ? 10 : 14, &circuits);
    engine = new_engine();
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_engine_destroy(engine);
    circuits_close(&circuits);
    grpc_shutdown_blocking();
    return 0;
}

/* A job of so many parts that it does not end before it is cancelled. */
static uint64_t endless;

static void begin_endless(void) {
    enum { N_PARTS = 1000 };
    static pm_engine_input inputs[N_PARTS];
    pm_error error = PM_ERROR_INIT;
    for (int i = 0; i < N_PARTS; ++i) {
        inputs[i] = (pm_engine_input){.path = circuits.witness_path[LONG]};
    }
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .priority = PM_ENGINE_LOW,
                                       .key = circuits.name[LONG],
                                       .inputs = inputs,
                                       .n_inputs = N_PARTS};
    toy_expect(pm_engine_submit(engine, &request, NULL, &endless, NULL, &error), PM_OK, &error);
}

static void end_endless(void) {
    assert_int_equal(pm_engine_cancel(engine, endless, NULL, NULL), PM_OK);
}

/* ---- Round trips ----------------------------------------------------------------------------- */

static void expect_echo(grpc_channel *channel, size_t n_bytes) {
    uint8_t *bytes = malloc(n_bytes + 1);
    uint8_t *reply = NULL;
    size_t n_reply = 1;
    char sentence[1024];
    for (size_t i = 0; i < n_bytes; ++i) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    assert_int_equal(
        rpc_dial_unary(channel, "/test/Echo", 0, bytes, n_bytes, &reply, &n_reply, sentence), 0);
    assert_int_equal(n_reply, n_bytes);
    assert_memory_equal(reply, bytes, n_bytes);
    free(bytes);
    free(reply);
}

static void requests_and_replies(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    static const size_t sizes[] = {0, 1, 100, 16384, 65536, 1000003, 5 * MIB, 16 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        expect_echo(channel, sizes[i]);
    }
    struct pm_rpc_counts counts;
    rpc_case_quiet(&it);
    pm_rpc_counts_now(it.server, &counts);
    assert_int_equal(counts.n_calls, 8);
    assert_int_equal(counts.n_by_code[PM_RPC_OK], 8);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void failures_have_code_and_sentence(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    char sentence[1024];
    for (uint64_t code = 1; code <= 16; ++code) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "failed on purpose with %d%%", (int)code);
        assert_int_equal(rpc_case_call(channel, "/test/Fail", 0, code, sentence), code);
        assert_string_equal(sentence, expected);
    }
    assert_int_equal(rpc_case_call(channel, "/test/Fail", 0, 0, sentence), PM_RPC_UNKNOWN);
    assert_int_equal(rpc_case_call(channel, "/test/Fail", 0, 77, sentence), PM_RPC_UNKNOWN);
    assert_int_equal(rpc_case_call(channel, "/test/Silent", 0, 0, sentence), PM_RPC_INTERNAL);
    assert_string_equal(sentence, "/test/Silent gave no answer");
    assert_int_equal(rpc_case_call(channel, "/test/None", 0, 0, sentence), PM_RPC_UNIMPLEMENTED);
    assert_string_equal(sentence, "this daemon has no method /test/None");
    assert_int_equal(rpc_case_call(channel, "/test/Echo/", 0, 0, sentence), PM_RPC_UNIMPLEMENTED);
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

/* F11 */
static void a_message_over_the_limit_is_refused_with_the_limit(void **state) {
    (void)state;
    struct rpc_case it = {.engine = engine};
    struct pm_rpc_options options = rpc_case_options(&it);
    options.message_bytes_max = 5 * MIB;
    rpc_case_open_with(&it, &options);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    char sentence[1024];
    uint8_t *bytes = calloc(1, 64 * MIB);
    expect_echo(channel, 5 * MIB);
    static const size_t sizes[] = {5 * MIB + 1, 64 * MIB};
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(
            rpc_dial_unary(channel, "/test/Echo", 0, bytes, sizes[i], NULL, NULL, sentence),
            PM_RPC_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(sentence, "5242880"));
        rpc_case_expect_serving(channel);
    }
    const uint64_t too_much[2] = {1, 5 * MIB + 1};
    assert_int_equal(
        rpc_dial_unary(channel, "/test/Count", 0, too_much, sizeof too_much, NULL, NULL, sentence),
        PM_RPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(sentence, "5242880"));
    rpc_case_quiet(&it);
    free(bytes);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void streams_in(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    uint8_t *bytes = malloc(MIB);
    memset(bytes, 1, MIB);
    for (uint64_t n = 0; n <= 20; n += 5) {
        struct rpc_outgoing out;
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        uint64_t sum = 0;
        rpc_dial_begin(channel, "/test/Sum", 0, &out);
        for (uint64_t i = 0; i < n; ++i) {
            const size_t n_bytes = i * 50000; /* the first one is empty, and no end */
            assert_true(rpc_dial_write(&out, bytes, n_bytes));
            sum += n_bytes;
        }
        rpc_dial_writes_done(&out);
        assert_true(rpc_dial_read(&out, &reply, &n_reply));
        assert_int_equal(n_reply, 16);
        assert_memory_equal(reply, &n, 8);
        assert_memory_equal(reply + 8, &sum, 8);
        free(reply);
        assert_int_equal(rpc_dial_finish(&out, NULL), 0);
    }
    rpc_case_quiet(&it);
    free(bytes);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void streams_out(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    static const uint64_t cases[][2] = {{0, 0}, {1, 8}, {1000, 8}, {30, 300000}};
    for (size_t c = 0; c < 4; ++c) {
        struct rpc_outgoing out;
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        uint64_t n = 0;
        rpc_dial_request(channel, "/test/Count", 0, cases[c], 16, &out);
        for (; rpc_dial_read(&out, &reply, &n_reply); ++n) {
            assert_int_equal(n_reply, cases[c][1]);
            assert_memory_equal(reply, &n, 8); /* in order */
            free(reply);
        }
        assert_int_equal(n, cases[c][0]);
        assert_int_equal(rpc_dial_finish(&out, NULL), 0);
    }
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static pthread_barrier_t together;

static void *call_at_once(void *argument) {
    (void)pthread_barrier_wait(&together);
    rpc_case_expect_serving(argument);
    return NULL;
}

/* F12 */
static void a_hundred_calls_at_once(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    pthread_t threads[100];
    (void)pthread_barrier_init(&together, NULL, 100);
    for (int t = 0; t < 100; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, call_at_once, channel), 0);
    }
    for (int t = 0; t < 100; ++t) {
        (void)pthread_join(threads[t], NULL);
    }
    (void)pthread_barrier_destroy(&together);
    struct pm_rpc_counts counts;
    rpc_case_quiet(&it);
    pm_rpc_counts_now(it.server, &counts);
    assert_int_equal(counts.n_by_code[PM_RPC_OK], 100);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void begin_wait(struct rpc_case *it, grpc_channel *channel, struct rpc_outgoing *out) {
    const struct wait_request request = {.job = endless};
    struct pm_rpc_counts counts;
    pm_rpc_counts_now(it->server, &counts);
    const uint64_t n_calls = counts.n_calls;
    rpc_dial_request(channel, "/test/Wait", 0, &request, sizeof request, out);
    for (int tries = 0; tries < 5000 && counts.n_calls == n_calls; ++tries) {
        test_sleep_ms(1);
        pm_rpc_counts_now(it->server, &counts);
    }
}

/* The last one is not for a connection that has some. */
static void too_many_calls_are_refused(void **state) {
    (void)state;
    struct rpc_case it = {.engine = engine};
    struct pm_rpc_options options = rpc_case_options(&it);
    options.n_calls_max = 4;
    rpc_case_open_with(&it, &options);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    grpc_channel *second = rpc_dial(it.address, NULL);
    grpc_channel *third = rpc_dial(it.address, NULL);
    struct rpc_outgoing waiting[4];
    struct pm_rpc_counts counts;
    char sentence[1024];
    begin_endless();
    for (int i = 0; i < 3; ++i) {
        begin_wait(&it, channel, &waiting[i]);
    }
    assert_int_equal(rpc_case_call(channel, "/test/Echo", 0, 0, sentence),
                     PM_RPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(sentence, "3 calls of this connection are under way"));
    begin_wait(&it, second, &waiting[3]);
    assert_int_equal(rpc_case_call(third, "/test/Echo", 0, 0, sentence), PM_RPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(sentence, "4 calls are under way"));
    end_endless();
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(rpc_dial_finish(&waiting[i], NULL), 0);
    }
    rpc_case_quiet(&it);
    rpc_case_expect_serving(channel);
    pm_rpc_counts_now(it.server, &counts);
    assert_int_equal(counts.n_refused, 2);
    grpc_channel_destroy(channel);
    grpc_channel_destroy(second);
    grpc_channel_destroy(third);
    rpc_case_close(&it);
}

/* Of 40 calls a connection gets 30, a second one three quarters of what is left, and so on: there
 * is one left for whoever comes. */
static void one_connection_does_not_take_all_calls(void **state) {
    (void)state;
    enum { N_GREEDY = 3, N_EACH = 40 };
    struct rpc_case it = {.engine = engine};
    struct pm_rpc_options options = rpc_case_options(&it);
    grpc_channel *channels[N_GREEDY];
    static struct rpc_outgoing waiting[N_GREEDY][N_EACH];
    struct pm_rpc_counts counts;
    options.n_calls_max = N_EACH;
    rpc_case_open_with(&it, &options);
    begin_endless();
    for (int c = 0; c < N_GREEDY; ++c) {
        channels[c] = rpc_dial(it.address, NULL);
        for (int i = 0; i < N_EACH; ++i) {
            begin_wait(&it, channels[c], &waiting[c][i]);
        }
        pm_rpc_counts_now(it.server, &counts);
        print_message("  %d: %u calls are under way\n", c, counts.n_under_way);
        assert_true(c != 0 || counts.n_under_way == 30);
        assert_in_range(counts.n_under_way, 30, N_EACH - 1);
        grpc_channel *late = rpc_dial(it.address, NULL);
        rpc_case_expect_serving(late);
        grpc_channel_destroy(late);
    }
    end_endless();
    char sentence[1024];
    int n_well = 0;
    for (int c = 0; c < N_GREEDY; ++c) {
        for (int i = 0; i < N_EACH; ++i) {
            const int code = rpc_dial_finish(&waiting[c][i], sentence);
            n_well += code == 0;
            assert_true(code == 0 || (code == PM_RPC_RESOURCE_EXHAUSTED &&
                                      strstr(sentence, "this connection") != NULL));
        }
        grpc_channel_destroy(channels[c]);
    }
    assert_in_range(n_well, 30, N_EACH - 1);
    rpc_case_quiet(&it);
    rpc_case_close(&it);
}

/* C6 */
static void nothing_is_left_after_a_thousand_calls(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    for (int i = 0; i < 20; ++i) { /* what gRPC makes once */
        grpc_channel *channel = rpc_dial(it.address, NULL);
        rpc_case_expect_serving(channel);
        grpc_channel_destroy(channel);
    }
    test_sleep_ms(200);
    const struct holdings before = holdings_now();
    for (int i = 0; i < 50; ++i) { /* connections come and go as well */
        grpc_channel *channel = rpc_dial(it.address, NULL);
        for (int c = 0; c < 20; ++c) {
            rpc_case_expect_serving(channel);
        }
        grpc_channel_destroy(channel);
    }
    rpc_case_quiet(&it);
    struct holdings after = holdings_now();
    for (int tries = 0;
         tries < 2000 && (after.n_fds > before.n_fds || after.n_threads > before.n_threads);
         ++tries) {
        test_sleep_ms(10);
        after = holdings_now();
    }
    assert_int_equal(after.n_fds, before.n_fds);
    assert_true(after.n_threads <= before.n_threads);
    rpc_case_close(&it);
}

static void expect_others_are_served(const char *busy_method, const char *const *methods) {
    enum { N_LONG = 6 };
    struct rpc_case it = {.engine = engine};
    struct pm_rpc_options options = rpc_case_options(&it);
    options.n_threads = 2;
    rpc_case_open_with(&it, &options);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    struct rpc_outgoing busy[N_LONG];
    const uint64_t begun = rpc_case_read(&rpc_seen.n_slow_begun), work_ms = 60000;
    for (uint32_t i = 0; i < N_LONG; ++i) {
        rpc_dial_request(channel, busy_method, 0, &work_ms, sizeof work_ms, &busy[i]);
    }
    while (rpc_case_read(&rpc_seen.n_slow_begun) < begun + 2) {
        test_sleep_ms(1);
    }
    for (uint32_t i = 0; i < 20; ++i) {
        rpc_case_expect_serving(channel);
    }
    assert_int_equal(rpc_case_read(&rpc_seen.n_slow_begun), begun + 2);
    for (uint32_t i = 0; methods[i] != NULL; ++i) {
        assert_int_equal(rpc_case_call(channel, methods[i], 20000, 0, NULL), 0);
    }
    for (uint32_t i = 0; i < N_LONG; ++i) {
        assert_int_equal(grpc_call_cancel(busy[i].call, NULL), GRPC_CALL_OK);
        assert_int_equal(rpc_dial_finish(&busy[i], NULL), PM_RPC_CANCELLED);
    }
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

/* Every thread that reads files is busy, and more such calls wait: who only asks is answered. */
static void nobody_waits_for_those_who_read_files(void **state) {
    (void)state;
    expect_others_are_served("/test/Files", (const char *const[]){"/test/Keys", NULL});
}

/* Jobs come in while every thread for keys waits for one. */
static void nobody_waits_for_those_who_wait_for_keys(void **state) {
    (void)state;
    expect_others_are_served("/test/Keys", (const char *const[]){"/test/Files", "/test/Sum", NULL});
}

/* ---- Callers that go away -------------------------------------------------------------------- */

static void a_caller_who_goes_away_cancels(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    struct rpc_outgoing out;
    const uint64_t begun = rpc_case_read(&rpc_seen.n_slow_begun);
    const uint64_t cut = rpc_case_read(&rpc_seen.n_cut);
    const uint64_t work_ms = 60000;
    rpc_dial_request(channel, "/test/Slow", 0, &work_ms, sizeof work_ms, &out);
    while (rpc_case_read(&rpc_seen.n_slow_begun) == begun) {
        test_sleep_ms(1);
    }
    const uint64_t at_ns = pm_clock_now_ns();
    assert_int_equal(grpc_call_cancel(out.call, NULL), GRPC_CALL_OK);
    assert_int_equal(rpc_dial_finish(&out, NULL), PM_RPC_CANCELLED);
    rpc_case_quiet(&it);
    assert_int_equal(rpc_case_read(&rpc_seen.n_cut), cut + 1);
    assert_true(rpc_case_read(&rpc_seen.slow_cancel_ns) - at_ns < work_ms / 3 * MS);
    struct pm_rpc_counts counts;
    pm_rpc_counts_now(it.server, &counts);
    assert_int_equal(counts.n_by_code[PM_RPC_CANCELLED], 1);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void deadlines_are_known_and_kept(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    uint8_t *reply = NULL;
    size_t n_reply = 0;
    uint64_t left_ms = 0;
    char sentence[1024];
    assert_int_equal(rpc_dial_unary(channel, "/test/Left", 0, "", 0, &reply, &n_reply, sentence),
                     0);
    memcpy(&left_ms, reply, 8);
    free(reply);
    assert_true(left_ms == UINT64_MAX);
    assert_int_equal(
        rpc_dial_unary(channel, "/test/Left", 50000, "", 0, &reply, &n_reply, sentence), 0);
    memcpy(&left_ms, reply, 8);
    free(reply);
    assert_in_range(left_ms, 30000, 60000); /* gRPC rounds up what it sends */
    begin_endless();
    const struct wait_request request = {.job = endless};
    /* Time enough to come to the server, which counts it. */
    assert_int_equal(
        rpc_dial_unary(channel, "/test/Wait", 1500, &request, sizeof request, NULL, NULL, sentence),
        PM_RPC_DEADLINE_EXCEEDED);
    end_endless();
    rpc_case_quiet(&it);
    struct pm_rpc_counts counts;
    pm_rpc_counts_now(it.server, &counts);
    assert_int_equal(counts.n_by_code[PM_RPC_OK], 2); /* and one that the caller or we broke off */
    assert_int_equal(
        counts.n_by_code[PM_RPC_DEADLINE_EXCEEDED] + counts.n_by_code[PM_RPC_CANCELLED], 1);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

/* A request that stops half-way does not hold its place for ever. */
static void a_message_that_does_not_come_is_given_up(void **state) {
    (void)state;
    struct rpc_case it = {.engine = engine};
    struct pm_rpc_options options = rpc_case_options(&it);
    options.receive_ms_max = 300;
    rpc_case_open_with(&it, &options);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    char sentence[1024];
    struct rpc_outgoing out;
    rpc_dial_begin(channel, "/test/Echo", 0, &out);
    assert_int_equal(rpc_dial_finish(&out, sentence), PM_RPC_DEADLINE_EXCEEDED);
    assert_string_equal(sentence, "no whole message came within 300 ms");
    rpc_dial_begin(channel, "/test/Sum", 0, &out);
    assert_true(rpc_dial_write(&out, "one", 3));
    assert_int_equal(rpc_dial_finish(&out, sentence), PM_RPC_DEADLINE_EXCEEDED);
    rpc_dial_begin(channel, "/test/Echo", 0, &out); /* half-closed without a request */
    rpc_dial_writes_done(&out);
    assert_int_equal(rpc_dial_finish(&out, sentence), PM_RPC_INVALID_ARGUMENT);
    rpc_case_quiet(&it);
    rpc_case_expect_serving(channel);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

/* ---- Parked ---------------------------------------------------------------------------------- */

/* The pm_rpc_wake that Wait answers with. */
static int wait_for(grpc_channel *channel, uint64_t job, uint64_t timeout_ms) {
    const struct wait_request request = {.job = job, .timeout_ms = timeout_ms};
    uint8_t *reply = NULL;
    size_t n_reply = 0;
    char sentence[1024];
    assert_int_equal(rpc_dial_unary(channel, "/test/Wait", 60000, &request, sizeof request, &reply,
                                    &n_reply, sentence),
                     0);
    assert_int_equal(n_reply, 1);
    const int wake = reply[0];
    free(reply);
    return wake;
}

static void parked_calls_wake_when_the_job_ends(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    uint64_t job = submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL);
    (void)await_job(engine, job);
    assert_int_equal(wait_for(channel, job, 0), PM_RPC_WAKE_ENDED);     /* before */
    assert_int_equal(wait_for(channel, 1 << 30, 0), PM_RPC_WAKE_ENDED); /* not known */
    for (int i = 0; i < 60; ++i) { /* about when it ends: some before, some after */
        job = submit_one(engine, &circuits, (enum circuit)(i % N_SMALL), PM_ENGINE_NORMAL, NULL);
        test_sleep_ms((uint64_t)(i % 6));
        const uint64_t at_ns = pm_clock_now_ns();
        assert_int_equal(wait_for(channel, job, 0), PM_RPC_WAKE_ENDED);
        assert_true(pm_clock_now_ns() - at_ns < 20000 * MS);
    }
    job = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    assert_int_equal(wait_for(channel, job, 0), PM_RPC_WAKE_ENDED); /* after */
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void a_wait_has_a_timeout(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    begin_endless();
    for (uint64_t timeout_ms = 1; timeout_ms <= 64; timeout_ms *= 8) {
        const uint64_t at_ns = pm_clock_now_ns();
        assert_int_equal(wait_for(channel, endless, timeout_ms), PM_RPC_WAKE_TIMEOUT);
        assert_true(pm_clock_now_ns() - at_ns >= timeout_ms * MS);
    }
    const struct wait_request many = {.job = endless, .timeout_ms = 5, .n_times = 10};
    assert_int_equal(rpc_dial_unary(channel, "/test/Wait", 0, &many, sizeof many, NULL, NULL, NULL),
                     0);
    end_endless();
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void many_wait_for_one_job(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    enum { N = 300 };
    static struct rpc_outgoing waiting[N];
    const uint64_t first = submit_one(engine, &circuits, LONG, PM_ENGINE_HIGH, NULL);
    const uint64_t job = submit_one(engine, &circuits, LONG, PM_ENGINE_LOW, NULL);
    const struct wait_request request = {.job = job};
    for (int i = 0; i < N; ++i) {
        rpc_dial_request(channel, "/test/Wait", 0, &request, sizeof request, &waiting[i]);
    }
    assert_int_equal(grpc_call_cancel(waiting[7].call, NULL), GRPC_CALL_OK);
    for (int i = 0; i < N; ++i) {
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        if (rpc_dial_read(&waiting[i], &reply, &n_reply)) {
            assert_int_equal(reply[0], PM_RPC_WAKE_ENDED);
            free(reply);
        }
        assert_int_equal(rpc_dial_finish(&waiting[i], NULL), i == 7 ? PM_RPC_CANCELLED : 0);
    }
    (void)await_job(engine, first);
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void changes_are_streamed(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    const uint64_t first = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    bool was_seen_at_work = false;
    /* First one that is read late, then some that are read as they come: of one of them the watcher
     * sees more than its end. */
    for (int i = 0; i < 20 && !was_seen_at_work; ++i) {
        const uint64_t job = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
        struct rpc_outgoing out;
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        uint32_t seen = 0;
        int last = -1;
        rpc_dial_request(channel, "/test/Watch", 0, &job, sizeof job, &out);
        if (i == 0) {
            (void)await_job(engine, job);
        }
        while (rpc_dial_read(&out, &reply, &n_reply)) {
            assert_int_equal(n_reply, 1);
            assert_true(reply[0] >= last); /* in order */
            last = reply[0];
            seen |= 1u << last;
            free(reply);
        }
        assert_int_equal(last, PM_ENGINE_DONE);
        was_seen_at_work = i > 0 && (seen & (1u << PM_ENGINE_PROVING)) != 0;
        assert_int_equal(rpc_dial_finish(&out, NULL), 0);
    }
    assert_true(was_seen_at_work);
    (void)await_job(engine, first);
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static bool read_queued(struct rpc_outgoing *out) {
    uint8_t *reply = NULL;
    size_t n_reply = 0;
    const bool is_read = rpc_dial_read(out, &reply, &n_reply);
    const bool is_queued = is_read && n_reply == 1 && reply[0] == PM_ENGINE_QUEUED;
    free(reply);
    return is_queued;
}

/* Of a job that stays where it is, another reason for it is a change. */
static void another_reason_to_wait_is_streamed(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    begin_endless();
    const uint64_t job = submit_one(engine, &circuits, LONG, PM_ENGINE_LOW, NULL);
    struct rpc_outgoing out;
    rpc_dial_request(channel, "/test/Watch", 20000, &job, sizeof job, &out);
    assert_true(read_queued(&out));
    pm_engine_lock(engine);
    const uint32_t sched_job = pm_engine_job_of(engine, job)->sched_job;
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        if (engine->sched_tasks[i].used && engine->sched_tasks[i].job == sched_job) {
            engine->sched_tasks[i].not_before_ns = UINT64_MAX; /* as after a fault */
        }
    }
    pm_engine_unlock(engine);
    assert_true(read_queued(&out));
    assert_int_equal(pm_engine_cancel(engine, job, NULL, NULL), PM_OK);
    assert_int_equal(rpc_dial_finish(&out, NULL), 0);
    end_endless();
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

/* ---- Stopping -------------------------------------------------------------------------------- */

/* Parked, receiving, and at work or waiting for one of the four threads. */
static void begin_one(grpc_channel *channel, uint64_t job, int i, struct rpc_outgoing *out) {
    static const char *const names[] = {"/test/Wait", "/test/Sum", "/test/Slow", "/test/Slow"};
    const struct wait_request request = {.job = job};
    const uint64_t work_ms = 60000;
    rpc_dial_begin(channel, names[i / 4], 0, out);
    if (i < 4) {
        assert_true(rpc_dial_write(out, &request, sizeof request));
    } else {
        assert_true(rpc_dial_write(out, &work_ms, sizeof work_ms));
    }
}

static void expect_attached(uint64_t n) {
    for (int tries = 0; tries < 20000 && rpc_case_read(&rpc_seen.n_attached) < n; ++tries) {
        test_sleep_ms(1);
    }
    assert_int_equal(rpc_case_read(&rpc_seen.n_attached), n);
}

static void a_server_that_stops_ends_every_call(void **state) {
    (void)state;
    for (uint64_t grace_ms = 0; grace_ms <= 200; grace_ms += 100) {
        struct rpc_case it;
        rpc_case_open(&it, engine);
        grpc_channel *channel = rpc_dial(it.address, NULL);
        const uint64_t attached = rpc_case_read(&rpc_seen.n_attached);
        begin_endless();
        struct rpc_outgoing out[16];
        for (int i = 0; i < 16; ++i) {
            if (i == 8) { /* those at work keep the threads from the others */
                expect_attached(attached + 8);
            }
            begin_one(channel, endless, i, &out[i]);
        }
        expect_attached(attached + 12);
        const uint64_t at_ns = pm_clock_now_ns();
        pm_rpc_stop(it.server, grace_ms);
        const uint64_t took_ms = (pm_clock_now_ns() - at_ns) / MS;
        assert_true(took_ms >= grace_ms && took_ms < 10000);
        for (int i = 0; i < 16; ++i) {
            char sentence[1024];
            assert_int_equal(rpc_dial_finish(&out[i], sentence), PM_RPC_UNAVAILABLE);
            assert_string_equal(sentence, "the daemon stops");
        }
        assert_int_equal(rpc_case_read(&rpc_seen.n_attached), rpc_case_read(&rpc_seen.n_gone));
        grpc_channel_destroy(channel);
        rpc_case_close(&it);
        end_endless();
    }
}

static void calls_may_end_while_the_server_stops(void **state) {
    (void)state;
    struct rpc_case it;
    rpc_case_open(&it, engine);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    struct rpc_outgoing out;
    const uint64_t begun = rpc_case_read(&rpc_seen.n_slow_begun);
    const uint64_t work_ms = 300;
    rpc_dial_begin(channel, "/test/Slow", 0, &out);
    assert_true(rpc_dial_write(&out, &work_ms, sizeof work_ms));
    while (rpc_case_read(&rpc_seen.n_slow_begun) == begun) {
        test_sleep_ms(1);
    }
    const uint64_t at_ns = pm_clock_now_ns();
    pm_rpc_stop(it.server, 60000);
    assert_true(pm_clock_now_ns() - at_ns < 20000 * MS);
    assert_int_equal(rpc_dial_finish(&out, NULL), 0);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
}

static void an_engine_that_stops_sends_waiters_away(void **state) {
    (void)state;
    pm_engine *mortal = new_engine();
    struct rpc_case it;
    rpc_case_open(&it, mortal);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    struct rpc_outgoing out;
    struct pm_rpc_counts counts;
    char sentence[1024];
    uint64_t job = 0;
    for (int i = 0; i < 8; ++i) {
        job = submit_one(mortal, &circuits, LONG, PM_ENGINE_LOW, NULL);
    }
    const struct wait_request request = {.job = job};
    rpc_dial_begin(channel, "/test/Wait", 0, &out);
    assert_true(rpc_dial_write(&out, &request, sizeof request));
    do {
        pm_rpc_counts_now(it.server, &counts);
    } while (counts.n_parked == 0);
    pm_engine_stop(mortal);
    const int code = rpc_dial_finish(&out, sentence); /* cancelled with it, or sent away */
    assert_true(code == 0 || code == PM_RPC_UNAVAILABLE);
    const int again =
        rpc_dial_unary(channel, "/test/Wait", 0, &request, sizeof request, NULL, NULL, sentence);
    assert_true(again == 0 || again == PM_RPC_UNAVAILABLE);
    rpc_case_quiet(&it);
    grpc_channel_destroy(channel);
    rpc_case_close(&it);
    pm_engine_destroy(mortal);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_and_replies),
        cmocka_unit_test(failures_have_code_and_sentence),
        cmocka_unit_test(a_message_over_the_limit_is_refused_with_the_limit),
        cmocka_unit_test(streams_in),
        cmocka_unit_test(streams_out),
        cmocka_unit_test(a_hundred_calls_at_once),
        cmocka_unit_test(too_many_calls_are_refused),
        cmocka_unit_test(one_connection_does_not_take_all_calls),
        cmocka_unit_test(nothing_is_left_after_a_thousand_calls),
        cmocka_unit_test(nobody_waits_for_those_who_read_files),
        cmocka_unit_test(nobody_waits_for_those_who_wait_for_keys),
        cmocka_unit_test(a_caller_who_goes_away_cancels),
        cmocka_unit_test(deadlines_are_known_and_kept),
        cmocka_unit_test(a_message_that_does_not_come_is_given_up),
        cmocka_unit_test(parked_calls_wake_when_the_job_ends),
        cmocka_unit_test(a_wait_has_a_timeout),
        cmocka_unit_test(many_wait_for_one_job),
        cmocka_unit_test(changes_are_streamed),
        cmocka_unit_test(another_reason_to_wait_is_streamed),
        cmocka_unit_test(a_server_that_stops_ends_every_call),
        cmocka_unit_test(calls_may_end_while_the_server_stops),
        cmocka_unit_test(an_engine_that_stops_sends_waiters_away),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
