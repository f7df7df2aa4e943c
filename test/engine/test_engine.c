/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The engine on the CPU: jobs, request ids, keys, waiting, cancelling, what can be seen of it. */
#include "engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct circuits circuits;

static int open_all(void **state) {
    (void)state;
    circuits_open(PM_TEST_IS_SANITIZED ? 8 : 14, &circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

static pm_engine *engine_without_keys(pm_engine_options options) {
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    options.struct_bytes = sizeof options;
    options.host_bytes = options.host_bytes != 0 ? options.host_bytes : 512 * MIB;
    options.retry_ms = 1;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    return engine;
}

static pm_engine *engine_with(pm_engine_options options) {
    pm_engine *engine = engine_without_keys(options);
    circuits_register(&circuits, engine);
    return engine;
}

/* Nothing is reserved but for keys that are warm. */
static void expect_idle(pm_engine *engine) {
    pm_engine_key_info keys[16];
    pm_engine_metrics metrics;
    uint32_t n = 16;
    uint64_t bytes = 0;
    expect_books(engine);
    assert_int_equal(pm_engine_keys(engine, keys, &n), PM_OK);
    for (uint32_t i = 0; i < n; ++i) {
        assert_int_equal(keys[i].n_users, 0);
        bytes += keys[i].tier != PM_ENGINE_COLD ? keys[i].bytes : 0;
    }
    /* A worker gives a proof's memory back outside the lock, after the outcome can be seen. */
    for (int tries = 0; tries < 500; ++tries) {
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
        if (metrics.proving_bytes == 0) {
            break;
        }
        test_sleep_ms(10);
    }
    assert_int_equal(metrics.pools[0].reserved_bytes, bytes);
    assert_int_equal(metrics.proving_bytes, 0);
    assert_int_equal(metrics.stored_bytes, 0);
    assert_int_equal(metrics.n_running, 0);
}

static void every_circuit_is_proved(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    uint64_t jobs[N_CIRCUITS];
    for (uint32_t c = 0; c < N_CIRCUITS; ++c) {
        jobs[c] = submit_one(engine, &circuits, (enum circuit)c, PM_ENGINE_NORMAL, NULL);
        assert_int_equal(jobs[c], c + 1);
    }
    for (uint32_t c = 0; c < N_CIRCUITS; ++c) {
        expect_valid(engine, &circuits, (enum circuit)c, jobs[c]);
        const pm_engine_job info = await_job(engine, jobs[c]);
        assert_string_equal(info.key, circuits.name[c]);
        assert_int_equal(info.n_parts_done, 1);
        assert_true(info.total_ns >= info.queue_ns + info.prove_ns);
        assert_true(info.accepted_ms > 0 && info.ended_ms >= info.accepted_ms);
        assert_string_equal(info.message, "");
    }
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void inputs_may_be_bytes(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    size_t n_bytes;
    char *bytes = pm_test_read_file(circuits.witness_path[MIMC], &n_bytes);
    pm_engine_input input = {.bytes = bytes, .n_bytes = n_bytes};
    pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "own_mimc", .inputs = &input, .n_inputs = 1};
    uint64_t job;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    memset(bytes, 0, n_bytes); /* they are the caller's again */
    expect_valid(engine, &circuits, MIMC, job);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_UNSUPPORTED,
               &error);
    input.n_bytes = UINT64_C(1) << 40;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OVER_BUDGET,
               &error);
    assert_int_equal(error.need, UINT64_C(1) << 40);
    input.path = circuits.witness_path[MIMC];
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_INVALID_ARGUMENT,
               &error);
    free(bytes);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

/* Report B16: a key nobody knows, an input that is none, of another circuit, of another curve. */
static void B16_what_cannot_be_is_refused(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    uint64_t job;
    pm_engine_input input = {.path = circuits.witness_path[MULT3]};
    pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "nobody", .inputs = &input, .n_inputs = 1};
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_INVALID_ARGUMENT,
               &error);
    assert_non_null(strstr(error.message, "nobody"));
    request.key = "mult3";
    input.path = "/nonexistent/witness.wtns";
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_IO, &error);
    input.path = circuits.key_path[MULT3];
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_NOT_THIS_KIND,
               &error);
    request.n_inputs = 0;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_INVALID_ARGUMENT,
               &error);
    request.n_inputs = 1;
    input.path = circuits.witness_path[LONG];
    if (!PM_TEST_IS_SANITIZED) { /* so much larger that reading it would take what is not its */
        toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error),
                   PM_WITNESS_MISMATCH, &error);
    }
    input.path = circuits.witness_path[MIMC];
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_WITNESS_MISMATCH);
    assert_int_equal(info.is_permanent, 1);
    assert_int_equal(info.n_retries, 0);
    input.path = circuits.witness_path[MULT3_BLS];
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    info = await_job(engine, job);
    assert_int_equal(info.status, PM_CURVE);
    assert_string_not_equal(info.message, "");
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void same_proof(pm_engine *engine, uint64_t a, uint64_t b) {
    pm_proof one, two;
    assert_int_equal(pm_engine_result(engine, a, 0, 1, &one, NULL, NULL), PM_OK);
    assert_int_equal(pm_engine_result(engine, b, 0, 1, &two, NULL, NULL), PM_OK);
    assert_memory_equal(&one, &two, sizeof one);
}

static void a_request_id_is_one_proof(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    uint64_t again, found;
    int known = -1;
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "porep-1000-7");
    toy_expect(
        try_submit(engine, &circuits, MIMC, PM_ENGINE_HIGH, "porep-1000-7", &again, &known, &error),
        PM_OK, &error);
    assert_int_equal(again, job);
    assert_int_equal(known, 1);
    expect_valid(engine, &circuits, MIMC, job);
    toy_expect(
        try_submit(engine, &circuits, MIMC, PM_ENGINE_LOW, "porep-1000-7", &again, &known, &error),
        PM_OK, &error);
    assert_int_equal(known, 1);
    same_proof(engine, job, again);
    /* Another key, or another witness. */
    toy_expect(
        try_submit(engine, &circuits, MULT3, PM_ENGINE_LOW, "porep-1000-7", &again, &known, &error),
        PM_INVALID_ARGUMENT, &error);
    const char *bad = circuits_bad_witness(&circuits, MIMC);
    const pm_engine_input input = {.path = bad};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = "own_mimc",
                                       .request_id = "porep-1000-7",
                                       .inputs = &input,
                                       .n_inputs = 1};
    toy_expect(pm_engine_submit(engine, &request, NULL, &again, NULL, &error), PM_INVALID_ARGUMENT,
               &error);
    assert_non_null(strstr(error.message, "other inputs"));
    toy_expect(pm_engine_find(engine, "porep-1000-7", &found, &error), PM_OK, &error);
    assert_int_equal(found, job);
    toy_expect(pm_engine_find(engine, "nobody", &found, &error), PM_INVALID_ARGUMENT, &error);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_proofs, 1);
    assert_int_equal(metrics.n_known, 2);
    assert_int_equal(metrics.n_refused, 2);
    pm_engine_destroy(engine);
}

/* Report F13 and A7: a witness that does not satisfy is told apart, and gives no proof. On the CPU
 * nothing else is suspect, so that it is not tried again. */
static void F13_no_wrong_proof_leaves(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    pm_proof proof;
    uint64_t job, again;
    const pm_engine_input input = {.path = circuits_bad_witness(&circuits, MIMC)};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = "own_mimc",
                                       .request_id = "bad",
                                       .inputs = &input,
                                       .n_inputs = 1};
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_SELF_VERIFY);
    assert_int_equal(info.is_permanent, 1);
    assert_int_equal(info.n_retries, 0);
    assert_non_null(strstr(info.message, "does not satisfy"));
    assert_non_null(strstr(info.history, "cpu: "));
    toy_expect(pm_engine_result(engine, job, 0, 1, &proof, NULL, &error), PM_SELF_VERIFY, &error);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_wrong_proofs, 0); /* the device computed well */
    assert_int_equal(metrics.n_failed_by[PM_SELF_VERIFY], 1);
    /* Its request id is free again. */
    toy_expect(try_submit(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "bad", &again, NULL, &error),
               PM_OK, &error);
    assert_int_not_equal(again, job);
    expect_valid(engine, &circuits, MIMC, again);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void parts_come_in_order(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_engine_input inputs[10];
    uint64_t jobs[3];
    pm_proof proofs[10];
    uint8_t publics[10 * 2 * PM_FR_BYTES];
    for (uint32_t i = 0; i < 10; ++i) {
        inputs[i] = (pm_engine_input){.path = circuits.witness_path[MULT3]};
    }
    const pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "mult3", .inputs = inputs, .n_inputs = 10};
    for (uint32_t j = 0; j < 3; ++j) {
        toy_expect(pm_engine_submit(engine, &request, NULL, &jobs[j], NULL, &error), PM_OK, &error);
    }
    for (uint32_t j = 0; j < 3; ++j) {
        const pm_engine_job info = await_job(engine, jobs[j]);
        assert_int_equal(info.state, PM_ENGINE_DONE);
        assert_int_equal(info.n_parts_done, 10);
        assert_int_equal(info.n_public, 2);
        toy_expect(pm_engine_result(engine, jobs[j], 0, 10, proofs, publics, &error), PM_OK,
                   &error);
        for (uint32_t i = 0; i < 10; ++i) {
            assert_int_equal(
                check_proof(&circuits, MULT3, &proofs[i], publics + (size_t)i * 2 * PM_FR_BYTES),
                PM_OK);
            for (uint32_t k = 0; k < i; ++k) {
                assert_memory_not_equal(&proofs[i], &proofs[k], sizeof proofs[i]);
            }
        }
    }
    toy_expect(pm_engine_result(engine, jobs[0], 9, 2, proofs, NULL, &error), PM_INVALID_ARGUMENT,
               &error);
    /* One part that cannot be proved fails them all. */
    inputs[7].path = circuits_bad_witness(&circuits, MULT3);
    toy_expect(pm_engine_submit(engine, &request, NULL, &jobs[0], NULL, &error), PM_OK, &error);
    const pm_engine_job info = await_job(engine, jobs[0]);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_SELF_VERIFY);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void waiting_ends_in_time(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    const uint64_t job = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    toy_expect(pm_engine_await(engine, job, 1, NULL, NULL, &error), PM_DEADLINE, &error);
    toy_expect(pm_engine_await(engine, job, 0, &control, NULL, &error), PM_CANCELLED, &error);
    toy_expect(pm_engine_await(engine, 12345, 0, NULL, NULL, &error), PM_INVALID_ARGUMENT, &error);
    pm_proof proof;
    toy_expect(pm_engine_result(engine, job, 0, 1, &proof, NULL, &error), PM_BUDGET_BUSY, &error);
    expect_valid(engine, &circuits, LONG, job);
    pm_engine_destroy(engine);
}

static void cancelling_is_at_once(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    int was_running = -1;
    uint64_t jobs[6];
    for (uint32_t i = 0; i < 6; ++i) {
        jobs[i] = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    }
    pm_engine_job info = {0};
    await_proving(engine, jobs[0]);
    /* What waits, and what runs. */
    uint64_t began_ns = pm_clock_now_ns();
    toy_expect(pm_engine_cancel(engine, jobs[5], &was_running, &error), PM_OK, &error);
    assert_int_equal(was_running, 0);
    toy_expect(pm_engine_cancel(engine, jobs[0], &was_running, &error), PM_OK, &error);
    assert_true(pm_clock_now_ns() - began_ns <
                (PM_TEST_IS_SANITIZED ? 30 : 2) * UINT64_C(1000000000));
    for (uint32_t i = 0; i < 6; i += 5) {
        info = await_job(engine, jobs[i]);
        if (i == 5 || was_running == 1) {
            assert_int_equal(info.state, PM_ENGINE_CANCELLED);
            assert_int_equal(info.status, PM_CANCELLED);
        }
    }
    for (uint32_t i = 1; i < 5; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    /* What has ended stays as it is. */
    toy_expect(pm_engine_cancel(engine, jobs[1], &was_running, &error), PM_OK, &error);
    assert_int_equal(was_running, 0);
    expect_valid(engine, &circuits, LONG, jobs[1]);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void deadlines_are_kept(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    const pm_engine_input input = {.path = circuits.witness_path[LONG]};
    pm_engine_request request = {.struct_bytes = sizeof request,
                                 .key = "long",
                                 .inputs = &input,
                                 .n_inputs = 1,
                                 .timeout_ms = 5};
    uint64_t first, second;
    const uint64_t before = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    toy_expect(pm_engine_submit(engine, &request, NULL, &first, NULL, &error), PM_OK, &error);
    request.timeout_ms = 600000;
    toy_expect(pm_engine_submit(engine, &request, NULL, &second, NULL, &error), PM_OK, &error);
    const pm_engine_job info = await_job(engine, first);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_DEADLINE);
    expect_valid(engine, &circuits, LONG, before);
    expect_valid(engine, &circuits, LONG, second);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_expired, 1);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static pm_engine_key_info key_info(pm_engine *engine, const char *name) {
    pm_engine_key_info keys[16];
    uint32_t n = 16;
    assert_int_equal(pm_engine_keys(engine, keys, &n), PM_OK);
    for (uint32_t i = 0; i < n; ++i) {
        if (strcmp(keys[i].name, name) == 0) {
            return keys[i];
        }
    }
    fail_msg("no key %s", name);
    return keys[0];
}

/* Report D3: the second proof of a circuit loads nothing; after an eviction it does. */
static void D3_keys_stay_and_leave(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    uint64_t freed_bytes = 0;
    int already = -1;
    assert_int_equal(key_info(engine, "own_mimc").tier, PM_ENGINE_COLD);
    toy_expect(pm_engine_key_preload(engine, "own_mimc", 0, &already, &error), PM_OK, &error);
    assert_int_equal(already, 0);
    assert_int_equal(key_info(engine, "own_mimc").tier, PM_ENGINE_WARM);
    toy_expect(pm_engine_key_preload(engine, "own_mimc", 0, &already, &error), PM_OK, &error);
    assert_int_equal(already, 1);
    for (uint32_t i = 0; i < 3; ++i) {
        const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
        expect_valid(engine, &circuits, MIMC, job);
        assert_int_equal(await_job(engine, job).key_ns, 0);
    }
    assert_int_equal(key_info(engine, "own_mimc").n_loads, 1);
    toy_expect(pm_engine_key_evict(engine, "own_mimc", 0, &freed_bytes, &error), PM_OK, &error);
    assert_int_equal(freed_bytes, key_info(engine, "own_mimc").bytes);
    assert_int_equal(key_info(engine, "own_mimc").tier, PM_ENGINE_COLD);
    toy_expect(pm_engine_key_evict(engine, "own_mimc", 0, &freed_bytes, &error), PM_OK, &error);
    assert_int_equal(freed_bytes, 0);
    const uint64_t reloads = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    expect_valid(engine, &circuits, MIMC, reloads);
    assert_true(await_job(engine, reloads).key_ns > 0);
    assert_int_equal(key_info(engine, "own_mimc").n_loads, 2);
    /* In use, by one and by those behind it. */
    uint64_t jobs[4];
    for (uint32_t i = 0; i < 4; ++i) {
        jobs[i] = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    }
    await_proving(engine, jobs[0]);
    toy_expect(pm_engine_key_evict(engine, "long", 0, NULL, &error), PM_BUDGET_BUSY, &error);
    toy_expect(pm_engine_key_forget(engine, "long", &error), PM_BUDGET_BUSY, &error);
    for (uint32_t i = 0; i < 4; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    toy_expect(pm_engine_key_forget(engine, "long", &error), PM_OK, &error);
    toy_expect(pm_engine_key_preload(engine, "long", 0, NULL, &error), PM_INVALID_ARGUMENT, &error);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void names_of_keys_are_checked(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    static const char *const wrong[] = {"", "a b", "a/b", "\xc3\xa4", NULL};
    pm_error error = PM_ERROR_INIT;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        const pm_engine_key key = {
            .struct_bytes = sizeof key, .name = wrong[i], .path = circuits.key_path[MULT3]};
        toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_INVALID_ARGUMENT, &error);
    }
    const pm_engine_key none = {
        .struct_bytes = sizeof none, .name = "none", .path = "/nonexistent/key.zkey"};
    toy_expect(pm_engine_key_register(engine, &none, NULL, &error), PM_IO, &error);
    const pm_engine_key witness = {
        .struct_bytes = sizeof witness, .name = "w", .path = circuits.witness_path[MULT3]};
    toy_expect(pm_engine_key_register(engine, &witness, NULL, &error), PM_NOT_THIS_KIND, &error);
    pm_engine_destroy(engine);
}

/* Report F6: a key that is replaced by another on disk, damaged in place, or gone. */
static void F6_a_key_changes_under_us(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    char path[1300], other[1300];
    size_t n_bytes, n_other;
    char *bytes = pm_test_read_file(circuits.key_path[MIMC], &n_bytes);
    char *others = pm_test_read_file(circuits.key_path[MULT3], &n_other);
    (void)snprintf(path, sizeof path, "%s/replaced.zkey", circuits.tree);
    (void)snprintf(other, sizeof other, "%s/other.zkey", circuits.tree);
    file_write(path, bytes, n_bytes);
    file_write(other, others, n_other);
    const pm_engine_key key = {.struct_bytes = sizeof key, .name = "replaced", .path = path};
    toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OK, &error);
    const pm_engine_input input = {.path = circuits.witness_path[MIMC]};
    const pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "replaced", .inputs = &input, .n_inputs = 1};
    uint64_t job;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    expect_valid(engine, &circuits, MIMC, job);
    /* Renamed over while it is warm: what is mapped is still the old one. */
    assert_int_equal(rename(other, path), 0);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    expect_valid(engine, &circuits, MIMC, job);
    /* Opened again, it is found out, and not tried again. */
    toy_expect(pm_engine_key_evict(engine, "replaced", 0, NULL, &error), PM_OK, &error);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.status, PM_FILE_CHANGED);
    assert_int_equal(info.is_permanent, 1);
    assert_int_equal(info.n_retries, 0);
    toy_expect(pm_engine_key_preload(engine, "replaced", 0, NULL, &error), PM_FILE_CHANGED, &error);
    /* The right bytes again, in another file, will do. */
    file_write(other, bytes, n_bytes);
    assert_int_equal(rename(other, path), 0);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    expect_valid(engine, &circuits, MIMC, job);
    /* Damaged in place while it is warm. */
    bytes[n_bytes / 2] ^= 1;
    test_sleep_ms(20);
    file_write(path, bytes, n_bytes);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.is_permanent, 1);
    assert_int_equal(unlink(path), 0);
    toy_expect(pm_engine_key_evict(engine, "replaced", 0, NULL, &error), PM_OK, &error);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    assert_int_equal(await_job(engine, job).status, PM_IO);
    /* The others go on. */
    expect_valid(engine, &circuits, MULT3,
                 submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    free(others);
    free(bytes);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

static void a_witness_changes_under_us(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    char path[1300];
    size_t n_bytes;
    char *bytes = pm_test_read_file(circuits.witness_path[MIMC], &n_bytes);
    (void)snprintf(path, sizeof path, "%s/changing.wtns", circuits.tree);
    file_write(path, bytes, n_bytes);
    /* Behind a long one, so that it is still queued when its file changes. */
    const uint64_t before = submit_one(engine, &circuits, LONG, PM_ENGINE_CRITICAL, NULL);
    const uint64_t other = submit_one(engine, &circuits, LONG, PM_ENGINE_CRITICAL, NULL);
    const uint64_t third = submit_one(engine, &circuits, LONG, PM_ENGINE_CRITICAL, NULL);
    const uint64_t fourth = submit_one(engine, &circuits, LONG, PM_ENGINE_CRITICAL, NULL);
    const pm_engine_input input = {.path = path};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = "own_mimc",
                                       .priority = PM_ENGINE_LOW,
                                       .inputs = &input,
                                       .n_inputs = 1};
    uint64_t job;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    bytes[n_bytes - 1] ^= 1;
    file_write(path, bytes, n_bytes);
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_FILE_CHANGED);
    assert_int_equal(info.is_permanent, 1);
    expect_valid(engine, &circuits, LONG, before);
    expect_valid(engine, &circuits, LONG, other);
    expect_valid(engine, &circuits, LONG, third);
    expect_valid(engine, &circuits, LONG, fourth);
    free(bytes);
    pm_engine_destroy(engine);
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

/* Report C2: what can never fit is refused before any work, with both numbers. */
static void C2_too_large_is_refused(void **state) {
    (void)state;
    pm_engine *probe = engine_with((pm_engine_options){0});
    const pm_engine_key_info small = key_info(probe, "mult3");
    pm_engine_destroy(probe);
    /* Room for a proof of the small one with its key; an eighth is for inputs. */
    const uint64_t host_bytes = (small.bytes + small.proof_bytes) * 4 / 3;
    pm_engine *engine = engine_with((pm_engine_options){.host_bytes = host_bytes});
    pm_error error = PM_ERROR_INIT;
    char numbers[2][32];
    uint64_t job;
    toy_expect(try_submit(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL, &job, NULL, &error),
               PM_OVER_BUDGET, &error);
    print_message("  %s\n", error.message);
    assert_true(error.need > error.have && error.have != 0);
    (void)snprintf(numbers[0], sizeof numbers[0], " %llu ", (unsigned long long)error.need);
    (void)snprintf(numbers[1], sizeof numbers[1], " %llu ", (unsigned long long)error.have);
    assert_non_null(strstr(error.message, numbers[0]));
    assert_non_null(strstr(error.message, numbers[1]));
    expect_valid(engine, &circuits, MULT3,
                 submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    expect_idle(engine);
    pm_engine_destroy(engine);
}

/* A key that no proof fits beside does not take a name away from one that is used. */
static void a_key_that_cannot_fit_takes_no_name(void **state) {
    (void)state;
    pm_engine *probe = engine_with((pm_engine_options){0});
    const pm_engine_key_info small = key_info(probe, "mult3");
    pm_engine_destroy(probe);
    pm_engine *engine = engine_without_keys(
        (pm_engine_options){.host_bytes = (small.bytes + small.proof_bytes) * 4 / 3});
    pm_error error = PM_ERROR_INIT;
    pm_engine_key key = {.struct_bytes = sizeof key,
                         .name = "mult3",
                         .path = circuits.key_path[MULT3],
                         .must_fit = 1};
    toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OK, &error);
    key.path = circuits.key_path[LONG];
    toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OVER_BUDGET, &error);
    print_message("  %s\n", error.message);
    assert_true(error.need > error.have && error.have != 0);
    assert_string_equal(key_info(engine, "mult3").path, small.path);
    expect_valid(engine, &circuits, MULT3,
                 submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    key.must_fit = 0;
    toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OK, &error);
    assert_string_not_equal(key_info(engine, "mult3").path, small.path);
    pm_engine_destroy(engine);
}

static pm_engine_key_info long_key_within(uint64_t host_bytes) {
    pm_engine *probe = engine_without_keys((pm_engine_options){.host_bytes = host_bytes});
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = "long", .path = circuits.key_path[LONG]};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_key_register(probe, &key, NULL, &error), PM_OK, &error);
    const pm_engine_key_info facts = key_info(probe, "long");
    pm_engine_destroy(probe);
    return facts;
}

/* The least budget, to an eighth of the key, in which the long key is kept beside a proof with it:
 * not enough for two keys. */
static uint64_t room_for_one_key(void) {
    const uint64_t kept_bytes = long_key_within(512 * MIB).bytes;
    uint64_t too_few = 2 * kept_bytes, enough = 512 * MIB;
    while (enough - too_few > kept_bytes / 8) {
        const uint64_t middle = too_few + (enough - too_few) / 2;
        *(long_key_within(middle).bytes == kept_bytes ? &enough : &too_few) = middle;
    }
    return enough;
}

/* Report C9: two keys that do not fit beside each other take turns. */
static void C9_two_keys_take_turns(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){.host_bytes = room_for_one_key()});
    const pm_engine_key second = {
        .struct_bytes = sizeof second, .name = "twin", .path = circuits.key_path[LONG]};
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    toy_expect(pm_engine_key_register(engine, &second, NULL, &error), PM_OK, &error);
    uint64_t jobs[8];
    for (uint32_t i = 0; i < 8; ++i) {
        struct circuits twin = circuits;
        twin.name[LONG] = i % 2 == 0 ? "long" : "twin";
        jobs[i] = submit_one(engine, &twin, LONG, PM_ENGINE_NORMAL, NULL);
    }
    for (uint32_t i = 0; i < 8; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_true(metrics.n_key_evictions >= 1);
    assert_true(metrics.pools[0].peak_bytes <= metrics.pools[0].total_bytes);
    assert_true(key_info(engine, "long").n_loads >= 1 && key_info(engine, "twin").n_loads >= 1);
    expect_idle(engine);
    pm_engine_destroy(engine);
}

/* ---- Seeing --------------------------------------------------------------------------------- */

struct seen {
    uint32_t n_calls, states;
    bool went_back;
    uint32_t last;
};

static int watch(void *user, const pm_engine_job *info) {
    struct seen *seen = user;
    ++seen->n_calls;
    seen->states |= UINT32_C(1) << info->state;
    seen->went_back |= info->state < seen->last;
    seen->last = info->state;
    return 0;
}

static int stop_watching(void *user, const pm_engine_job *info) {
    (void)user;
    (void)info;
    return 1;
}

static void a_job_can_be_watched(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    struct seen seen = {0};
    const uint64_t job = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    toy_expect(pm_engine_watch(engine, job, 0, stop_watching, NULL, &error), PM_CANCELLED, &error);
    toy_expect(pm_engine_watch(engine, job, 0, watch, &seen, &error), PM_OK, &error);
    assert_true(seen.n_calls >= 2);
    assert_int_equal(seen.last, PM_ENGINE_DONE);
    assert_false(seen.went_back);
    assert_true((seen.states & 1u << PM_ENGINE_PROVING) != 0);
    pm_engine_job infos[4];
    uint32_t n = 4;
    assert_int_equal(pm_engine_jobs(engine, 0, infos, &n), PM_OK);
    assert_int_equal(n, 1);
    n = 4;
    assert_int_equal(pm_engine_jobs(engine, job, infos, &n), PM_OK);
    assert_int_equal(n, 0);
    pm_engine_destroy(engine);
}

static void events_tell_the_story(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_engine_event event;
    uint64_t after = 0;
    uint32_t n_begun = 0, n_ended = 0, n_keys = 0, last_state = 0;
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    expect_valid(engine, &circuits, MIMC, job);
    while (pm_engine_next_event(engine, after, 0, &event) == PM_OK) {
        assert_int_equal(event.sequence, after + 1);
        after = event.sequence;
        n_begun += event.kind == PM_ENGINE_EVENT_BEGIN;
        n_ended += event.kind == PM_ENGINE_EVENT_END && event.status == PM_OK;
        assert_int_equal(event.taken_ns, 0); /* there is no card */
        n_keys += event.kind == PM_ENGINE_EVENT_KEY && event.state == PM_ENGINE_WARM;
        if (event.kind == PM_ENGINE_EVENT_JOB) {
            assert_int_equal(event.job, job);
            assert_true(event.state >= last_state);
            last_state = event.state;
        }
    }
    assert_int_equal(n_begun, 4);
    assert_int_equal(n_ended, 4);
    assert_int_equal(n_keys, 1);
    assert_int_equal(last_state, PM_ENGINE_DONE);
    assert_int_equal(pm_engine_next_event(engine, UINT64_MAX, 10, &event), PM_DEADLINE);
    pm_engine_device_info device;
    uint32_t n = 1;
    assert_int_equal(pm_engine_devices(engine, &device, &n), PM_OK);
    assert_int_equal(n, 1);
    assert_string_equal(device.name, "cpu");
    assert_int_equal(device.n_proofs, 1);
    assert_int_equal(device.n_busy, 0);
    assert_true(device.busy_ns > 0);
    assert_int_equal(device.held_ns, 0);
    pm_engine_destroy(engine);
}

/* Reports D10 and F2: a stream of LOW does not hold up HIGH, and HIGH does not starve LOW. */
static void D10_high_passes_low(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){.age_ms = 50});
    uint64_t low[10], high[5], last_high_ns = 0, worst_ns = 0;
    for (uint32_t i = 0; i < 10; ++i) {
        low[i] = submit_one(engine, &circuits, LONG, PM_ENGINE_LOW, NULL);
    }
    pm_engine_job info = {0};
    await_proving(engine, low[0]);
    const uint64_t began_ns = pm_clock_now_ns();
    for (uint32_t i = 0; i < 5; ++i) {
        high[i] = submit_one(engine, &circuits, MIMC, PM_ENGINE_HIGH, NULL);
        expect_valid(engine, &circuits, MIMC, high[i]);
        info = await_job(engine, high[i]);
        worst_ns = info.total_ns > worst_ns ? info.total_ns : worst_ns;
        last_high_ns = pm_clock_now_ns() - began_ns;
    }
    uint32_t n_low_left = 0;
    for (uint32_t i = 0; i < 10; ++i) {
        assert_int_equal(pm_engine_job_info(engine, low[i], &info, NULL), PM_OK);
        n_low_left += info.state != PM_ENGINE_DONE;
    }
    print_message("  5 HIGH in %llu ms, the slowest %llu ms, with %u of 10 LOW to come\n",
                  (unsigned long long)(last_high_ns / 1000000),
                  (unsigned long long)(worst_ns / 1000000), n_low_left);
    assert_true(n_low_left >= 1 || PM_TEST_IS_SANITIZED);
    assert_true(worst_ns < (PM_TEST_IS_SANITIZED ? 30 : 10) * UINT64_C(1000000000));
    for (uint32_t i = 0; i < 10; ++i) {
        expect_valid(engine, &circuits, LONG, low[i]);
    }
    expect_idle(engine);
    pm_engine_destroy(engine);
}

/* ---- Ending --------------------------------------------------------------------------------- */

static void a_drain_takes_no_more(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    uint64_t job;
    const uint64_t first = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    toy_expect(pm_engine_drain(engine, 1, &error), PM_DEADLINE, &error);
    toy_expect(try_submit(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL, &job, NULL, &error),
               PM_CANCELLED, &error);
    toy_expect(pm_engine_drain(engine, 0, &error), PM_OK, &error);
    expect_valid(engine, &circuits, LONG, first);
    pm_engine_destroy(engine);
}

static void *await_long(void *argument) {
    pm_engine **engine = argument;
    pm_engine_job info;
    const pm_status status = pm_engine_await(*engine, 1, 0, NULL, &info, NULL);
    return (void *)(uintptr_t)status;
}

static void stopping_sends_everybody_away(void **state) {
    (void)state;
    const struct holdings before = holdings_now();
    pm_engine *engine = engine_with((pm_engine_options){0});
    pthread_t thread;
    void *status = NULL;
    for (uint32_t i = 0; i < 20; ++i) {
        (void)submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    }
    assert_int_equal(pthread_create(&thread, NULL, await_long, &engine), 0);
    test_sleep_ms(30);
    pm_engine_stop(engine);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_true((uintptr_t)status == PM_CANCELLED || (uintptr_t)status == PM_OK);
    pm_engine_job info;
    assert_int_equal(pm_engine_job_info(engine, 20, &info, NULL), PM_OK);
    assert_int_equal(info.state, PM_ENGINE_CANCELLED);
    pm_engine_destroy(engine);
    pm_engine_destroy(NULL);
    struct holdings after = holdings_now();
    for (int tries = 0; tries < 2000 && after.n_threads > before.n_threads; ++tries) {
        test_sleep_ms(10); /* a joined thread may be listed for a moment */
        after = holdings_now();
    }
    assert_true(after.n_threads <= before.n_threads);
    assert_int_equal(after.n_fds, before.n_fds);
}

static void old_outcomes_are_forgotten(void **state) {
    (void)state;
    pm_engine *engine = engine_with((pm_engine_options){.n_results_max = 3});
    pm_engine_metrics metrics;
    pm_engine_job info;
    uint64_t jobs[8];
    for (uint32_t i = 0; i < 8; ++i) {
        jobs[i] = submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL);
        expect_valid(engine, &circuits, MULT3, jobs[i]);
    }
    for (uint32_t tries = 0; tries < 500; ++tries) {
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
        if (metrics.n_kept <= 3) {
            break;
        }
        test_sleep_ms(10);
    }
    assert_int_equal(metrics.n_kept, 3);
    assert_int_equal(pm_engine_job_info(engine, jobs[0], &info, NULL), PM_INVALID_ARGUMENT);
    expect_valid(engine, &circuits, MULT3, jobs[7]);
    pm_engine_destroy(engine);
}

static void options_are_checked(void **state) {
    (void)state;
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    pm_engine_device device = {.struct_bytes = sizeof device, .device = "abacus"};
    pm_engine_options options = {
        .struct_bytes = sizeof options, .n_devices = 1, .devices = &device};
    toy_expect(pm_engine_create(&options, &engine, &error), PM_INVALID_ARGUMENT, &error);
    device.device = "cuda:0,1";
    toy_expect(pm_engine_create(&options, &engine, &error), PM_INVALID_ARGUMENT, &error);
    device.device = "cpu";
    options.n_devices = 17;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_INVALID_ARGUMENT, &error);
    options.n_devices = 1;
    options.n_attempts_max = 100;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_INVALID_ARGUMENT, &error);
    assert_null(engine);
    /* What is not set is chosen. */
    toy_expect(pm_engine_create(NULL, &engine, &error), PM_OK, &error);
    pm_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(every_circuit_is_proved),
        cmocka_unit_test(inputs_may_be_bytes),
        cmocka_unit_test(B16_what_cannot_be_is_refused),
        cmocka_unit_test(a_request_id_is_one_proof),
        cmocka_unit_test(F13_no_wrong_proof_leaves),
        cmocka_unit_test(parts_come_in_order),
        cmocka_unit_test(waiting_ends_in_time),
        cmocka_unit_test(cancelling_is_at_once),
        cmocka_unit_test(deadlines_are_kept),
        cmocka_unit_test(D3_keys_stay_and_leave),
        cmocka_unit_test(names_of_keys_are_checked),
        cmocka_unit_test(F6_a_key_changes_under_us),
        cmocka_unit_test(a_witness_changes_under_us),
        cmocka_unit_test(C2_too_large_is_refused),
        cmocka_unit_test(a_key_that_cannot_fit_takes_no_name),
        cmocka_unit_test(C9_two_keys_take_turns),
        cmocka_unit_test(a_job_can_be_watched),
        cmocka_unit_test(events_tell_the_story),
        cmocka_unit_test(D10_high_passes_low),
        cmocka_unit_test(a_drain_takes_no_more),
        cmocka_unit_test(stopping_sends_everybody_away),
        cmocka_unit_test(old_outcomes_are_forgotten),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
