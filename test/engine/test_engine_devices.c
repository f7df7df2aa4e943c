/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The engine over cards that fail, hang and compute wrongly, and over several of them. Reports C1,
 * C6, C10, A16, F5, F9, F13.
 */
#include "engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
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
/* Where very many proofs are made: with sanitizers a smaller circuit. */
#define QUICK (PM_TEST_IS_SANITIZED ? MULT3 : MIMC)

static struct circuits circuits;

static int open_all(void **state) {
    (void)state;
    circuits_open(PM_TEST_IS_SANITIZED ? 8 : 10, &circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

static pm_engine *engine_on(struct cards *cards, bool with_cpu, pm_engine_options options) {
    options.host_bytes = 256 * MIB;
    pm_engine *engine = cards_engine(cards, with_cpu, options);
    circuits_register(&circuits, engine);
    return engine;
}

static pm_engine_device_info device_info(pm_engine *engine, uint32_t device) {
    pm_engine_device_info infos[5];
    uint32_t n = 5;
    assert_int_equal(pm_engine_devices(engine, infos, &n), PM_OK);
    assert_true(device < n);
    return infos[device];
}

/* A card is one proof's at a time, and what the events say of that is what it counts. */
static void expect_turns(pm_engine *engine, uint32_t device, uint32_t n_proofs) {
    pm_engine_event event, turns[32];
    const pm_engine_device_info info = device_info(engine, device);
    uint64_t held_ns = 0;
    uint32_t n = 0;
    for (uint64_t after = 0; pm_engine_next_event(engine, after, 0, &event) == PM_OK;
         after = event.sequence) {
        if (event.taken_ns == 0 || event.device != (int32_t)device) {
            continue;
        }
        assert_true(event.kind == PM_ENGINE_EVENT_END && event.stage == PM_ENGINE_STAGE_FINISH);
        assert_true(event.taken_ns < event.left_ns && event.left_ns <= event.at_ns);
        for (uint32_t i = 0; i < n; ++i) {
            assert_true(turns[i].left_ns <= event.taken_ns || event.left_ns <= turns[i].taken_ns);
        }
        assert_true(n < sizeof turns / sizeof turns[0]);
        turns[n++] = event;
        held_ns += event.left_ns - event.taken_ns;
    }
    assert_int_equal(n, n_proofs);
    assert_int_equal(held_ns, info.held_ns);
    assert_true(info.held_ns <= info.busy_ns);
}

static void cards_share_the_work(void **state) {
    (void)state;
    struct cards cards;
    cards_open(2, &cards);
    cards.card[0]->latency_ns = cards.card[1]->latency_ns = 2000000;
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){0});
    pm_engine_input inputs[20];
    pm_error error = PM_ERROR_INIT;
    uint64_t job;
    for (uint32_t i = 0; i < 20; ++i) {
        inputs[i] = (pm_engine_input){.path = circuits.witness_path[LONG]};
    }
    const pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "long", .inputs = inputs, .n_inputs = 20};
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    expect_valid(engine, &circuits, LONG, job);
    const pm_engine_device_info a = device_info(engine, 0), b = device_info(engine, 1);
    print_message("  %llu and %llu parts\n", (unsigned long long)a.n_proofs,
                  (unsigned long long)b.n_proofs);
    assert_int_equal(a.n_proofs + b.n_proofs, 20);
    assert_true(a.n_proofs >= 4 && b.n_proofs >= 4);
    /* A16: each proof ran where it was said to. */
    assert_int_equal(cards.card[0]->n_violations + cards.card[1]->n_violations, 0);
    assert_true(cards.card[0]->n_locks >= a.n_proofs && cards.card[1]->n_locks >= b.n_proofs);
    expect_turns(engine, 0, (uint32_t)a.n_proofs);
    expect_turns(engine, 1, (uint32_t)b.n_proofs);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* F13: what a card computes wrongly is made again elsewhere, and counted. */
static void F13_wrong_sums_are_made_again(void **state) {
    (void)state;
    static const enum fake_wrong wrongs[] = {FAKE_FLIPS_A_BIT, FAKE_DOUBLES_A_SUM};
    for (uint32_t i = 0; i < 2; ++i) {
        struct cards cards;
        cards_open(1, &cards);
        cards.card[0]->wrong = wrongs[i];
        cards.card[0]->wrong_step = PM_STEP_MSM_A;
        pm_engine *engine = engine_on(&cards, true, (pm_engine_options){0});
        pm_engine_metrics metrics;
        uint64_t jobs[12];
        uint32_t n_retried = 0;
        for (uint32_t j = 0; j < 12; ++j) {
            jobs[j] = submit_one(engine, &circuits, QUICK, PM_ENGINE_NORMAL, NULL);
        }
        for (uint32_t j = 0; j < 12; ++j) {
            expect_valid(engine, &circuits, QUICK, jobs[j]);
            const pm_engine_job info = await_job(engine, jobs[j]);
            assert_int_equal(info.device, 1); /* the CPU */
            n_retried += info.n_retries > 0;
        }
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
        assert_true(metrics.n_wrong_proofs >= 1 && n_retried >= 1);
        assert_int_equal(metrics.n_wrong_proofs, device_info(engine, 0).n_faults);
        assert_int_equal(device_info(engine, 1).n_faults, 0);
        assert_int_equal(metrics.n_failed, 0);
        /* Three in a row, and it is given no more. */
        assert_int_equal(device_info(engine, 0).n_proofs, 0);
        print_message("  %llu wrong proofs withheld, %s\n",
                      (unsigned long long)metrics.n_wrong_proofs,
                      device_info(engine, 0).is_quarantined ? "quarantined" : "not quarantined");
        expect_books(engine);
        pm_engine_destroy(engine);
        cards_close(&cards);
    }
}

/* A bad witness must not cost the card its good name. */
static void bad_witnesses_do_not_blame_the_card(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, true, (pm_engine_options){0});
    const pm_engine_input input = {.path = circuits_bad_witness(&circuits, QUICK)};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[QUICK],
                                       .inputs = &input,
                                       .n_inputs = 1};
    pm_error error = PM_ERROR_INIT;
    for (uint32_t i = 0; i < 8; ++i) {
        uint64_t job;
        toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
        const pm_engine_job info = await_job(engine, job);
        assert_int_equal(info.state, PM_ENGINE_FAILED);
        assert_int_equal(info.status, PM_SELF_VERIFY);
        assert_int_equal(info.is_permanent, 1);
    }
    assert_false(device_info(engine, 0).is_quarantined);
    assert_int_equal(device_info(engine, 0).n_faults, 0);
    assert_int_equal(device_info(engine, 1).n_faults, 0);
    expect_valid(engine, &circuits, QUICK,
                 submit_one(engine, &circuits, QUICK, PM_ENGINE_NORMAL, NULL));
    pm_engine_metrics metrics;
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_wrong_proofs, 0);
    assert_int_equal(metrics.n_failed_by[PM_SELF_VERIFY], 8);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* A job of which one part is done and the next one is tried again later says why it waits. */
static void a_part_that_waits_says_why(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){.retry_ms = 3000});
    const pm_engine_input inputs[2] = {{.path = circuits.witness_path[QUICK]},
                                       {.path = circuits_bad_witness(&circuits, QUICK)}};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[QUICK],
                                       .inputs = inputs,
                                       .n_inputs = 2};
    pm_error error = PM_ERROR_INIT;
    pm_engine_job info = {0};
    uint64_t job;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    const uint64_t until_ns = pm_clock_now_ns() + UINT64_C(60000000000);
    while ((info.n_parts_done != 1 || info.n_retries != 1) && pm_clock_now_ns() < until_ns) {
        test_sleep_ms(1);
        toy_expect(pm_engine_job_info(engine, job, &info, &error), PM_OK, &error);
    }
    assert_int_equal(info.n_parts_done, 1);
    assert_int_equal(info.state, PM_ENGINE_QUEUED);
    assert_string_equal(info.waits_for, pm_sched_reason_name(PM_REASON_RETRY));
    assert_int_equal(await_job(engine, job).status, PM_SELF_VERIFY);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* Where there is one card alone: what it computes well the second time it computed wrongly before,
 * what it computes wrongly again is a bad witness. */
static void one_card_judges_itself(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->wrong = FAKE_FLIPS_A_BIT;
    cards.card[0]->wrong_step = PM_STEP_MSM_A;
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){.retry_ms = 2000});
    pm_engine_metrics metrics;
    pm_engine_job info = {0};
    const uint64_t job = submit_one(engine, &circuits, QUICK, PM_ENGINE_NORMAL, NULL);
    const uint64_t until_ns = pm_clock_now_ns() + UINT64_C(60000000000);
    while (info.n_retries == 0 && pm_clock_now_ns() < until_ns) {
        assert_int_equal(pm_engine_job_info(engine, job, &info, NULL), PM_OK);
        test_sleep_ms(1);
    }
    fake_device_heal(cards.card[0]);
    expect_valid(engine, &circuits, QUICK, job);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_wrong_proofs, 1);
    assert_int_equal(device_info(engine, 0).n_faults, 1);
    const pm_engine_input input = {.path = circuits_bad_witness(&circuits, QUICK)};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[QUICK],
                                       .inputs = &input,
                                       .n_inputs = 1};
    pm_error error = PM_ERROR_INIT;
    uint64_t bad;
    toy_expect(pm_engine_submit(engine, &request, NULL, &bad, NULL, &error), PM_OK, &error);
    assert_int_equal(await_job(engine, bad).status, PM_SELF_VERIFY);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_wrong_proofs, 1);
    assert_int_equal(device_info(engine, 0).n_faults, 1);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* What an engine has said, a line for each sentence; engines say things from any thread. */
struct heard {
    pthread_mutex_t lock;
    char text[16384];
};

static void hear(void *user, pm_log_level level, const char *sentence) {
    static const char *const words[] = {
        [PM_LOG_WARNING] = "warning", [PM_LOG_INFO] = "info", [PM_LOG_DEBUG] = "debug"};
    struct heard *heard = user;
    (void)pthread_mutex_lock(&heard->lock);
    const size_t length = strlen(heard->text);
    (void)snprintf(heard->text + length, sizeof heard->text - length, "%s: %s\n", words[level],
                   sentence);
    (void)pthread_mutex_unlock(&heard->lock);
}

static void expect_heard(struct heard *heard, const char *text) {
    (void)pthread_mutex_lock(&heard->lock);
    if (strstr(heard->text, text) == NULL) {
        print_message("%s", heard->text);
        fail_msg("nobody said: %s", text);
    }
    (void)pthread_mutex_unlock(&heard->lock);
}

/* Whoever runs the engine reads of each job's end, of what was tried again, and of devices. */
static void the_log_tells_of_jobs(void **state) {
    (void)state;
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->fails_to_lock = true;
    pm_engine *engine = engine_on(&cards, true, (pm_engine_options){.log = hear, .user = &heard});
    pm_error error = PM_ERROR_INIT;
    char expected[256];
    uint64_t bad;
    for (uint32_t i = 0; i < 8 && !device_info(engine, 0).is_quarantined; ++i) {
        expect_valid(engine, &circuits, QUICK,
                     submit_one(engine, &circuits, QUICK, PM_ENGINE_NORMAL, i == 0 ? "a1" : NULL));
    }
    fake_device_heal(cards.card[0]);
    cards.card[0]->fails_to_lock = false;
    toy_expect(pm_engine_device_restore(engine, 0, &error), PM_OK, &error);
    const pm_engine_input input = {.path = circuits_bad_witness(&circuits, QUICK)};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[QUICK],
                                       .request_id = "b2",
                                       .inputs = &input,
                                       .n_inputs = 1};
    toy_expect(pm_engine_submit(engine, &request, NULL, &bad, NULL, &error), PM_OK, &error);
    assert_int_equal(await_job(engine, bad).status, PM_SELF_VERIFY);
    (void)snprintf(expected, sizeof expected,
                   "warning: job %llu, key \"%s\", request \"b2\" failed: SELF_VERIFY: the ",
                   (unsigned long long)bad, circuits.name[QUICK]);
    expect_heard(&heard, expected);
    (void)snprintf(expected, sizeof expected,
                   "debug: job 1, key \"%s\", request \"a1\" is done after ", circuits.name[QUICK]);
    expect_heard(&heard, expected);
    (void)snprintf(
        expected, sizeof expected,
        "info: job 1, key \"%s\": part 0 is tried again: cuda:0: ", circuits.name[QUICK]);
    expect_heard(&heard, expected);
    expect_heard(&heard, "warning: cuda:0 is given no more work: ");
    expect_heard(&heard, "warning: cuda:0 was restored");
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* Many of them at once: three in a row, and the card is given no work; but as soon as the CPU has
 * come to the same, it is again. */
static void blame_is_taken_back(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, true, (pm_engine_options){0});
    const pm_engine_input input = {.path = circuits_bad_witness(&circuits, QUICK)};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[QUICK],
                                       .inputs = &input,
                                       .n_inputs = 1};
    pm_error error = PM_ERROR_INIT;
    pm_engine_event event;
    uint64_t jobs[24];
    uint32_t n_given_up = 0, n_given_back = 0;
    for (uint32_t i = 0; i < 24; ++i) {
        toy_expect(pm_engine_submit(engine, &request, NULL, &jobs[i], NULL, &error), PM_OK, &error);
    }
    for (uint32_t i = 0; i < 24; ++i) {
        const pm_engine_job info = await_job(engine, jobs[i]);
        assert_int_equal(info.status, PM_SELF_VERIFY);
        assert_true(info.device == 1 && info.is_permanent);
    }
    for (uint64_t after = 0; pm_engine_next_event(engine, after, 0, &event) == PM_OK;
         after = event.sequence) {
        n_given_up += event.kind == PM_ENGINE_EVENT_DEVICE && event.status != PM_OK;
        n_given_back += event.kind == PM_ENGINE_EVENT_DEVICE && event.status == PM_OK;
    }
    print_message("  given up %u times\n", n_given_up);
    assert_int_equal(n_given_up, n_given_back);
    assert_false(device_info(engine, 0).is_quarantined);
    assert_int_equal(device_info(engine, 0).status, PM_OK);
    assert_int_equal(engine->sched.devices[0].n_faults, 0);
    assert_int_equal(device_info(engine, 0).n_faults, 0);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* F5: each step fails once, at once or late; the job is tried again and comes out well. */
static void F5_each_step_fails_once(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, true, (pm_engine_options){0});
    uint32_t n_retried = 0;
    for (uint32_t i = 0; i < 2 * PM_STEP_IDS; ++i) {
        cards.card[0]->fail_step = (enum pm_step_id)(i / 2);
        cards.card[0]->fails_late = i % 2 != 0;
        const uint64_t job = submit_one(engine, &circuits, QUICK, PM_ENGINE_NORMAL, NULL);
        expect_valid(engine, &circuits, QUICK, job);
        const pm_engine_job info = await_job(engine, job);
        n_retried += info.n_retries;
        assert_true(info.n_retries == 0 || strstr(info.history, "cuda:0: ") != NULL);
        fake_device_heal(cards.card[0]);
        if (device_info(engine, 0).is_quarantined) {
            pm_error error = PM_ERROR_INIT;
            toy_expect(pm_engine_device_restore(engine, 0, &error), PM_OK, &error);
        }
    }
    print_message("  %u retries\n", n_retried);
    assert_true(n_retried >= 10);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* A card that always fails is quarantined; where nothing else can prove, jobs fail with history,
 * and after it has been restored they are proved there. */
static void a_dead_card_is_quarantined(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0, other;
    cards.card[0]->fails_to_lock = true;
    job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "again");
    pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_true(info.status == PM_DEVICE || info.status == PM_NO_DEVICE);
    assert_int_equal(info.is_permanent, 0);
    assert_non_null(strstr(info.history, "cuda:0: "));
    assert_true(device_info(engine, 0).is_quarantined);
    toy_expect(try_submit(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "again", &other, NULL, &error),
               PM_NO_DEVICE, &error);
    cards.card[0]->fails_to_lock = false;
    toy_expect(pm_engine_device_restore(engine, 0, &error), PM_OK, &error);
    assert_false(device_info(engine, 0).is_quarantined);
    expect_valid(engine, &circuits, MIMC,
                 submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "again"));
    toy_expect(pm_engine_device_restore(engine, 7, &error), PM_INVALID_ARGUMENT, &error);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* F9: a card that hangs is given up, and its proof goes elsewhere. */
static void F9_a_card_hangs(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->latency_ns = UINT64_C(1000000000);
    pm_engine *engine = engine_on(&cards, true, (pm_engine_options){.stall_ms = 200});
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    expect_valid(engine, &circuits, MIMC, job);
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.device, 1);
    assert_non_null(strstr(info.history, "did not answer in time"));
    assert_true(device_info(engine, 0).is_quarantined);
    assert_int_equal(device_info(engine, 0).status, PM_DEVICE);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* F9: an engine whose card does not come back is stopped and left all the same, and its journal
 * goes on with another one. */
static void F9_a_hung_card_does_not_hold_the_end(void **state) {
    (void)state;
    static pm_engine *left; /* what is never freed is not lost */
    static struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->latency_ns = UINT64_C(8000000000);
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    left = engine_on(&cards, false, (pm_engine_options){.stall_ms = 100, .journal_path = folder});
    const uint64_t job = submit_one(left, &circuits, MIMC, PM_ENGINE_NORMAL, "held");
    const uint64_t began_ns = pm_clock_now_ns();
    pm_engine_device_info device = device_info(left, 0);
    while (!device.is_quarantined && pm_clock_now_ns() - began_ns < UINT64_C(60000000000)) {
        test_sleep_ms(10);
        device = device_info(left, 0);
    }
    assert_true(device.is_quarantined && device.n_busy == 1);
    const uint32_t n_threads = left->n_threads;
    pm_engine_destroy(left);
    const uint64_t took_ns = pm_clock_now_ns() - began_ns;
    print_message("  ended after %llu ms\n", (unsigned long long)(took_ns / 1000000));
    pm_engine_lock(left);
    assert_true(left->n_thread_ends < n_threads); /* the card is at its step still */
    pm_engine_unlock(left);
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    const pm_engine_options options = {
        .struct_bytes = sizeof options, .host_bytes = 256 * MIB, .journal_path = folder};
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    pm_engine_job info;
    toy_expect(pm_engine_job_info(engine, job, &info, &error), PM_OK, &error);
    assert_string_equal(info.request_id, "held");
    pm_engine_destroy(engine);
    /* It comes back in the end: what it finds is still there, and it ends well. */
    uint32_t n_ended = 0;
    while (n_ended < n_threads && pm_clock_now_ns() - began_ns < UINT64_C(60000000000)) {
        test_sleep_ms(50);
        pm_engine_lock(left);
        n_ended = left->n_thread_ends;
        pm_engine_unlock(left);
    }
    assert_int_equal(n_ended, n_threads);
    file_remove_tree(tree);
}

/* F9: a proof on a slow card is cancelled within its next step, and the card is free. */
static void F9_cancel_frees_the_card(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->latency_ns = UINT64_C(100000000);
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    await_proving(engine, job);
    const uint64_t began_ns = pm_clock_now_ns();
    toy_expect(pm_engine_cancel(engine, job, NULL, &error), PM_OK, &error);
    assert_true(pm_clock_now_ns() - began_ns <
                (PM_TEST_IS_SANITIZED ? 30 : 2) * UINT64_C(1000000000));
    assert_int_equal(await_job(engine, job).state, PM_ENGINE_CANCELLED);
    assert_false(cards.card[0]->is_locked);
    cards.card[0]->latency_ns = 0;
    expect_valid(engine, &circuits, MIMC,
                 submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL));
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* Reports C1 and C10: the n-th allocation on the card fails, for every n: the job is tried again,
 * the next one is good, and nothing is left. */
static void C10_every_allocation_may_fail(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    uint32_t n_failures = 0;
    for (uint64_t n = 1;; ++n) {
        toy_expect(pm_engine_key_evict(engine, "mult3", 0, NULL, &error), PM_OK, &error);
        cards.card[0]->fail_allocation_at = n;
        const uint64_t job = submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL);
        expect_valid(engine, &circuits, MULT3, job);
        if (cards.card[0]->fail_allocation_at != 0) {
            fake_device_heal(cards.card[0]);
            break;
        }
        assert_int_equal(await_job(engine, job).n_retries, 1);
        ++n_failures;
    }
    assert_true(n_failures >= 10);
    assert_false(device_info(engine, 0).is_quarantined);
    toy_expect(pm_engine_key_evict(engine, "mult3", 0, NULL, &error), PM_OK, &error);
    assert_int_equal(cards.card[0]->live_bytes[PM_POOL_VRAM_0], 0);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* What the engine reserves on the card for the key and for one proof. */
static void device_needs(pm_engine *engine, const char *name, uint64_t *key_bytes,
                         uint64_t *proof_bytes) {
    struct pm_sched_variant variants[PM_SCHED_VARIANTS_MAX];
    uint64_t need[PM_SCHED_KINDS];
    pm_engine_lock(engine);
    const struct engine_key *key = pm_engine_find_key(engine, name);
    assert_int_equal(pm_engine_variants(engine, key, 0, variants), 1);
    pm_sched_curve_remaining(variants[0].curve, 0, need);
    *key_bytes = key->device_bytes;
    *proof_bytes = need[PM_KIND_DEVICE];
    pm_engine_unlock(engine);
}

/* Report C9: two circuits whose keys do not fit on the card together take turns, and never hold
 * more of it than is reserved. */
static void C9_keys_take_turns_on_the_card(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = engine_on(&cards, false, (pm_engine_options){0});
    uint64_t key_bytes, proof_bytes, jobs[8];
    device_needs(engine, "long", &key_bytes, &proof_bytes);
    pm_engine_destroy(engine);
    assert_true(key_bytes > 0 && proof_bytes > 0);
    cards.vram_bytes = key_bytes + key_bytes / 2 + proof_bytes;
    engine = engine_on(&cards, false, (pm_engine_options){0});
    const pm_engine_key twin = {
        .struct_bytes = sizeof twin, .name = "twin", .path = circuits.key_path[LONG]};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_key_register(engine, &twin, NULL, &error), PM_OK, &error);
    for (uint32_t i = 0; i < 8; ++i) {
        struct circuits other = circuits;
        other.name[LONG] = i % 2 == 0 ? "long" : "twin";
        jobs[i] = submit_one(engine, &other, LONG, PM_ENGINE_NORMAL, NULL);
    }
    for (uint32_t i = 0; i < 8; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    pm_engine_event event;
    uint32_t n_left = 0;
    for (uint64_t after = 0; pm_engine_next_event(engine, after, 0, &event) == PM_OK;
         after = event.sequence) {
        n_left +=
            event.kind == PM_ENGINE_EVENT_KEY && event.state == PM_ENGINE_WARM && event.device == 0;
    }
    print_message("  a key left the card %u times; %llu of %llu bytes\n", n_left,
                  (unsigned long long)cards.card[0]->peak_bytes[PM_POOL_VRAM_0],
                  (unsigned long long)cards.vram_bytes);
    assert_true(n_left >= 1);
    assert_true(cards.card[0]->peak_bytes[PM_POOL_VRAM_0] <= cards.vram_bytes);
    expect_books(engine);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cards_share_the_work),
        cmocka_unit_test(F13_wrong_sums_are_made_again),
        cmocka_unit_test(bad_witnesses_do_not_blame_the_card),
        cmocka_unit_test(a_part_that_waits_says_why),
        cmocka_unit_test(one_card_judges_itself),
        cmocka_unit_test(the_log_tells_of_jobs),
        cmocka_unit_test(blame_is_taken_back),
        cmocka_unit_test(F5_each_step_fails_once),
        cmocka_unit_test(a_dead_card_is_quarantined),
        cmocka_unit_test(F9_a_card_hangs),
        cmocka_unit_test(F9_a_hung_card_does_not_hold_the_end),
        cmocka_unit_test(F9_cancel_frees_the_card),
        cmocka_unit_test(C10_every_allocation_may_fail),
        cmocka_unit_test(C9_keys_take_turns_on_the_card),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
