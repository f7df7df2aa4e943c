/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a program that shows an engine asks it: the plan of a key, the parts of a job, since when a
 * key is where it is. */
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
/* Where many proofs are made: with sanitizers a smaller circuit. */
#define QUICK (PM_TEST_IS_SANITIZED ? MULT3 : MIMC)

static struct circuits circuits;

static int open_all(void **state) {
    (void)state;
    circuits_open(PM_TEST_IS_SANITIZED ? 8 : 12, &circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

static pm_engine_key_info key_info(pm_engine *engine, const char *name) {
    pm_engine_key_info keys[16];
    uint32_t n = 16, k = 0;
    assert_int_equal(pm_engine_keys(engine, keys, &n), PM_OK);
    while (k < n && strcmp(keys[k].name, name) != 0) {
        ++k;
    }
    assert_true(k < n);
    return keys[k];
}

/* ---- Plans ---------------------------------------------------------------------------------- */

static void expect_steps(const pm_engine_plan_step steps[4], bool is_card) {
    static const char *const names[] = {"read", "prove", "finish", "verify"};
    static const pm_engine_stage stages[] = {PM_ENGINE_STAGE_PREPARE, PM_ENGINE_STAGE_PROVE,
                                             PM_ENGINE_STAGE_FINISH, PM_ENGINE_STAGE_VERIFY};
    for (uint32_t i = 0; i < 4; ++i) {
        assert_string_equal(steps[i].name, names[i]);
        assert_int_equal(steps[i].stage, stages[i]);
        assert_int_equal(steps[i].on_worker, i < 2 || !is_card);
        assert_true(steps[i].host_bytes > 0);
        assert_true(is_card || steps[i].device_bytes == 0);
    }
    assert_true(steps[1].device_bytes > 0 || !is_card);
}

/* What is planned is what one proof reserves at its most. */
static void a_plan_is_what_is_reserved(void **state) {
    (void)state;
    pm_engine *engine = cards_engine(NULL, true, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_engine_plan_step steps[5];
    pm_engine_metrics metrics;
    uint64_t most_bytes = 0;
    uint32_t n = 0;
    circuits_register(&circuits, engine);
    toy_expect(pm_engine_key_plan(engine, "long", 0, NULL, &n, &error), PM_OK, &error);
    assert_int_equal(n, 4);
    memset(steps, 0x5a, sizeof steps);
    n = 1;
    toy_expect(pm_engine_key_plan(engine, "long", 0, steps, &n, &error), PM_OK, &error);
    assert_int_equal(n, 4);
    assert_int_equal(steps[1].name[0], 0x5a); /* there was room for one */
    n = 5;
    toy_expect(pm_engine_key_plan(engine, "long", 0, steps, &n, &error), PM_OK, &error);
    assert_int_equal(n, 4);
    expect_steps(steps, false);
    for (uint32_t i = 0; i < 4; ++i) {
        most_bytes = steps[i].host_bytes > most_bytes ? steps[i].host_bytes : most_bytes;
    }
    const pm_engine_key_info facts = key_info(engine, "long");
    assert_int_equal(most_bytes, facts.proof_bytes);
    expect_valid(engine, &circuits, LONG,
                 submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL));
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.pools[0].peak_bytes, facts.bytes + most_bytes);
    toy_expect(pm_engine_key_plan(engine, "nobody", 0, steps, &n, &error), PM_INVALID_ARGUMENT,
               &error);
    assert_non_null(strstr(error.message, "nobody"));
    assert_int_equal(n, 0);
    toy_expect(pm_engine_key_plan(engine, "long", 1, steps, &n, &error), PM_INVALID_ARGUMENT,
               &error);
    pm_engine_destroy(engine);
}

static void a_plan_is_a_device_s(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = cards_engine(&cards, true, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_engine_plan_step card[4], cpu[4];
    uint32_t n = 4;
    circuits_register(&circuits, engine);
    toy_expect(pm_engine_key_plan(engine, "mult3_bls", 0, card, &n, &error), PM_OK, &error);
    expect_steps(card, true);
    toy_expect(pm_engine_key_plan(engine, "mult3_bls", 1, cpu, &n, &error), PM_OK, &error);
    expect_steps(cpu, false);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* A key whose proofs cannot fit has no plan, and the numbers say why. */
static void what_cannot_fit_has_no_plan(void **state) {
    (void)state;
    pm_engine *engine = cards_engine(NULL, true, (pm_engine_options){.host_bytes = MIB / 2});
    pm_error error = PM_ERROR_INIT;
    pm_engine_plan_step steps[4];
    uint32_t n = 4;
    circuits_register(&circuits, engine);
    toy_expect(pm_engine_key_plan(engine, "long", 0, steps, &n, &error), PM_OVER_BUDGET, &error);
    assert_true(error.need > error.have && error.need < 512 * MIB);
    assert_int_equal(n, 0);
    pm_engine_destroy(engine);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static uint64_t submit_parts(pm_engine *engine, enum circuit circuit, uint32_t n,
                             const char *last_path) {
    pm_engine_input inputs[32];
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0;
    assert_true(n <= 32);
    for (uint32_t i = 0; i < n; ++i) {
        inputs[i] = (pm_engine_input){.path = circuits.witness_path[circuit]};
    }
    inputs[n - 1].path = last_path != NULL ? last_path : inputs[n - 1].path;
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[circuit],
                                       .inputs = inputs,
                                       .n_inputs = n};
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    return job;
}

static void parts_of(pm_engine *engine, uint64_t job, pm_engine_part *parts, uint32_t n_expected) {
    pm_error error = PM_ERROR_INIT;
    uint32_t n = 32;
    toy_expect(pm_engine_job_parts(engine, job, 0, parts, &n, &error), PM_OK, &error);
    assert_int_equal(n, n_expected);
    for (uint32_t i = 0; i < n; ++i) {
        assert_int_equal(parts[i].part, i);
    }
}

/* A card that fails, and the CPU: each part says where it is, and what became of its attempts. */
static void parts_say_where_they_are(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->fails_to_lock = true;
    pm_engine *engine = cards_engine(&cards, true, (pm_engine_options){0});
    pm_engine_part parts[32];
    uint64_t prepare_ns = 0, prove_ns = 0, finish_ns = 0;
    uint32_t n_failed = 0;
    circuits_register(&circuits, engine);
    const uint64_t job = submit_parts(engine, QUICK, 12, NULL);
    expect_valid(engine, &circuits, QUICK, job);
    const pm_engine_job info = await_job(engine, job);
    parts_of(engine, job, parts, 12);
    for (uint32_t i = 0; i < 12; ++i) {
        assert_int_equal(parts[i].state, PM_ENGINE_DONE);
        assert_int_equal(parts[i].device, 1);
        assert_true(parts[i].worker < 4);
        assert_int_equal(parts[i].status, parts[i].n_attempts != 0 ? PM_DEVICE : PM_OK);
        assert_true(parts[i].prepare_ns > 0 && parts[i].prove_ns > 0 && parts[i].finish_ns > 0);
        n_failed += parts[i].n_attempts;
        prepare_ns += parts[i].prepare_ns;
        prove_ns += parts[i].prove_ns;
        finish_ns += parts[i].finish_ns;
    }
    assert_true(n_failed >= 1);
    assert_int_equal(n_failed, info.n_retries);
    assert_int_equal(prepare_ns, info.prepare_ns);
    assert_int_equal(prove_ns, info.prove_ns);
    assert_int_equal(finish_ns, info.finish_ns);
    pm_error error = PM_ERROR_INIT;
    uint32_t n = 5;
    toy_expect(pm_engine_job_parts(engine, job, 10, parts, &n, &error), PM_OK, &error);
    assert_int_equal(n, 2);
    assert_int_equal(parts[0].part, 10);
    n = 5;
    toy_expect(pm_engine_job_parts(engine, job, 12, parts, &n, &error), PM_OK, &error);
    assert_int_equal(n, 0);
    toy_expect(pm_engine_job_parts(engine, 777, 0, parts, &n, &error), PM_INVALID_ARGUMENT, &error);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

/* While a slow card works: one part proves, its time goes on, and others have not begun. */
static void parts_are_seen_at_work(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->latency_ns = UINT64_C(30000000);
    pm_engine *engine = cards_engine(&cards, false, (pm_engine_options){0});
    pm_engine_part parts[32], later[32];
    pm_error error = PM_ERROR_INIT;
    uint32_t at = 0;
    circuits_register(&circuits, engine);
    const uint64_t job = submit_parts(engine, MULT3, 20, NULL);
    do {
        parts_of(engine, job, parts, 20);
        for (at = 0; at < 20; ++at) {
            if (parts[at].state == PM_ENGINE_PROVING && parts[at].device == 0 &&
                parts[at].prove_ns > 0) {
                break;
            }
        }
    } while (at == 20);
    test_sleep_ms(5);
    parts_of(engine, job, later, 20);
    assert_true(later[at].prove_ns > parts[at].prove_ns);
    assert_int_equal(parts[19].state, PM_ENGINE_QUEUED);
    assert_int_equal(parts[19].device, -1);
    assert_int_equal(parts[19].prepare_ns + parts[19].prove_ns + parts[19].finish_ns, 0);
    toy_expect(pm_engine_cancel(engine, job, NULL, &error), PM_OK, &error);
    parts_of(engine, job, parts, 20);
    assert_int_equal(parts[19].state, PM_ENGINE_CANCELLED);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

static void a_part_that_failed_is_told(void **state) {
    (void)state;
    pm_engine *engine = cards_engine(NULL, true, (pm_engine_options){0});
    pm_engine_part parts[32];
    circuits_register(&circuits, engine);
    const uint64_t job = submit_parts(engine, MULT3, 5, circuits_bad_witness(&circuits, MULT3));
    assert_int_equal(await_job(engine, job).state, PM_ENGINE_FAILED);
    parts_of(engine, job, parts, 5);
    assert_int_equal(parts[4].state, PM_ENGINE_FAILED);
    assert_int_equal(parts[4].n_attempts, 1);
    assert_int_equal(parts[4].status, PM_SELF_VERIFY);
    for (uint32_t i = 0; i < 4; ++i) {
        assert_true(parts[i].state == PM_ENGINE_DONE || parts[i].state == PM_ENGINE_FAILED);
        assert_int_equal(parts[i].status, PM_OK);
    }
    pm_engine_destroy(engine);
}

/* What an earlier engine did is not on record, but that it is done. */
static void parts_outlive_the_engine(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_engine_part parts[32];
    pm_engine *engine = cards_engine(NULL, true, (pm_engine_options){.journal_path = folder});
    circuits_register(&circuits, engine);
    const uint64_t job = submit_parts(engine, MULT3, 3, NULL);
    expect_valid(engine, &circuits, MULT3, job);
    pm_engine_destroy(engine);
    engine = cards_engine(NULL, true, (pm_engine_options){.journal_path = folder});
    parts_of(engine, job, parts, 3);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_int_equal(parts[i].state, PM_ENGINE_DONE);
        assert_int_equal(parts[i].device, -1);
        assert_int_equal(parts[i].n_attempts, 0);
        assert_int_equal(parts[i].prove_ns, 0);
    }
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/* Opening a key waits until it has been seen. */
static int was_seen; /* atomic */

static void wait_until_seen(void *user) {
    (void)user;
    while (__atomic_load_n(&was_seen, __ATOMIC_ACQUIRE) == 0) {
        test_sleep_ms(1);
    }
}

static void *preload_long(void *argument) {
    const pm_status status = pm_engine_key_preload(argument, "long", 0, NULL, NULL);
    return (void *)(uintptr_t)status;
}

/* A key is seen while it is being opened, and how long it has been where it is. */
static void keys_are_seen_to_come(void **state) {
    (void)state;
    const struct pm_engine_hooks hooks = {.opening = wait_until_seen};
    const pm_engine_options options = {.struct_bytes = sizeof options, .host_bytes = 512 * MIB};
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = "long", .path = circuits.key_path[LONG]};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    pthread_t thread;
    void *status = NULL;
    toy_expect(pm_engine_create_with(&options, &hooks, &engine, &error), PM_OK, &error);
    toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OK, &error);
    pm_engine_key_info info = key_info(engine, "long");
    assert_true(info.opening_ns == 0 && info.warm_ms == 0 && info.hot_ms == 0);
    assert_int_equal(pthread_create(&thread, NULL, preload_long, engine), 0);
    while ((info = key_info(engine, "long")).opening_ns == 0) {
        assert_int_equal(info.warm_ms, 0);
        test_sleep_ms(1);
    }
    assert_int_equal(info.tier, PM_ENGINE_COLD);
    test_sleep_ms(2);
    assert_true(key_info(engine, "long").opening_ns >= info.opening_ns + 2000000);
    __atomic_store_n(&was_seen, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal((uintptr_t)status, PM_OK);
    info = key_info(engine, "long");
    assert_int_equal(info.tier, PM_ENGINE_WARM);
    assert_true(info.opening_ns == 0 && info.warm_ms >= 1 && info.hot_ms == 0);
    test_sleep_ms(3);
    assert_true(key_info(engine, "long").warm_ms >= 3);
    toy_expect(pm_engine_key_evict(engine, "long", 0, NULL, &error), PM_OK, &error);
    assert_int_equal(key_info(engine, "long").warm_ms, 0);
    pm_engine_destroy(engine);
}

static void keys_are_hot_on_a_card(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    pm_engine *engine = cards_engine(&cards, true, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    circuits_register(&circuits, engine);
    expect_valid(engine, &circuits, MIMC,
                 submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL));
    test_sleep_ms(3);
    const pm_engine_key_info info = key_info(engine, "own_mimc");
    assert_int_equal(info.tier, PM_ENGINE_HOT);
    assert_int_equal(info.device_mask, 1);
    assert_true(info.hot_ms >= 3 && info.warm_ms >= info.hot_ms);
    toy_expect(pm_engine_key_evict(engine, "own_mimc", 0, NULL, &error), PM_OK, &error);
    assert_int_equal(key_info(engine, "own_mimc").hot_ms, 0);
    pm_engine_destroy(engine);
    cards_close(&cards);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_what_is_reserved),  cmocka_unit_test(a_plan_is_a_device_s),
        cmocka_unit_test(what_cannot_fit_has_no_plan), cmocka_unit_test(parts_say_where_they_are),
        cmocka_unit_test(parts_are_seen_at_work),      cmocka_unit_test(a_part_that_failed_is_told),
        cmocka_unit_test(parts_outlive_the_engine),    cmocka_unit_test(keys_are_seen_to_come),
        cmocka_unit_test(keys_are_hot_on_a_card),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
