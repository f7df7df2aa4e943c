/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs on a device that fails: every allocation, every step, every sum in turn. Nothing wrong
 * leaves, nothing is left behind, and the next proof is good.
 */
#include "api/api_pending.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct places places;
static struct proof_case subjects[2];
#define N_SUBJECTS (sizeof subjects / sizeof subjects[0])

static int open_all(void **state) {
    (void)state;
    places_open(2, &places);
    const bool opened =
        proof_case_open(places.context[PLACE_CPU], "mult3", CASE_ZKEY, &subjects[0]) &&
        proof_case_open(places.context[PLACE_CPU], "mult3_bls", CASE_PARAMS, &subjects[1]);
    return opened ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SUBJECTS; ++i) {
        proof_case_close(&subjects[i]);
    }
    places_close(&places);
    return 0;
}

/* What a device holds for proofs, not for keys. */
static uint64_t device_bytes(const struct fake_device *device) {
    return device->live_bytes[PM_POOL_VRAM_0] + device->live_bytes[PM_POOL_PINNED];
}

static void prove_well(const struct proof_case *subject, pm_context *context) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(pm_prove(context, subject->key, subject->witness, NULL, NULL, &proof, NULL, &error),
               PM_OK, &error);
    assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
}

/* With both halves; a proof that fails must be what it was before. */
static pm_status prove_badly(const struct proof_case *subject, pm_context *context,
                             pm_error *error) {
    pm_proof proof, untouched;
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    const pm_prove_options options = {.struct_bytes = sizeof options, .report = report};
    memset(&proof, 0x5a, sizeof proof);
    untouched = proof;
    const pm_status status =
        pm_prove(context, subject->key, subject->witness, &options, NULL, &proof, NULL, error);
    if (status != PM_OK) {
        assert_memory_equal(&proof, &untouched, sizeof proof);
        assert_int_equal(error->status, status);
    } else {
        assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
    }
    report_expect_nothing_left(report);
    pm_report_destroy(report);
    return status;
}

static void wrong_sums_never_leave(void **state) {
    (void)state;
    static const enum pm_step_id sums[] = {PM_STEP_MSM_H, PM_STEP_MSM_A, PM_STEP_MSM_B1,
                                           PM_STEP_MSM_L, PM_STEP_MSM_B2};
    for (size_t i = 0; i < 2 * 5 * N_SUBJECTS; ++i) {
        const struct proof_case *subject = &subjects[i % N_SUBJECTS];
        struct fake_device *device = places.device[PLACE_FAKE_B2];
        pm_error error = PM_ERROR_INIT;
        device->wrong = i / N_SUBJECTS % 2 == 0 ? FAKE_FLIPS_A_BIT : FAKE_DOUBLES_A_SUM;
        device->wrong_step = sums[i / N_SUBJECTS / 2];
        toy_expect(prove_badly(subject, places.context[PLACE_FAKE_B2], &error), PM_SELF_VERIFY,
                   &error);
        fake_device_heal(device);
        prove_well(subject, places.context[PLACE_FAKE_B2]);
    }
}

static void every_step_may_fail(void **state) {
    (void)state;
    for (int place = PLACE_FAKE; place < PLACES; ++place) {
        struct fake_device *device = places.device[place];
        prove_well(&subjects[0], places.context[place]); /* its key is there from now on */
        const uint64_t before_bytes = device_bytes(device);
        uint32_t n_failures = 0;
        for (uint32_t i = 0; i < 2 * PM_STEP_IDS; ++i) {
            pm_error error = PM_ERROR_INIT;
            device->fail_step = (enum pm_step_id)(i / 2);
            device->fails_late = i % 2 != 0;
            const pm_status status = prove_badly(&subjects[0], places.context[place], &error);
            assert_true(status == PM_DEVICE || status == PM_OK);
            n_failures += status == PM_DEVICE;
            fake_device_heal(device);
            assert_int_equal(device_bytes(device), before_bytes);
            assert_false(device->is_locked);
            prove_well(&subjects[0], places.context[place]);
        }
        assert_true(n_failures >= 2 * 7);
        print_message("  %s: %u failures\n", place_names[place], n_failures);
    }
}

static void a_bad_device_is_a_status(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    places.device[PLACE_FAKE]->fails_to_lock = true;
    toy_expect(prove_badly(&subjects[0], places.context[PLACE_FAKE], &error), PM_DEVICE, &error);
    fake_device_heal(places.device[PLACE_FAKE]);
    prove_well(&subjects[0], places.context[PLACE_FAKE]);
}

/* Reports C1, C10 and RC4: the n-th allocation on the device fails, for every n, the key's own
 * included. */
static void RC4_every_device_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * N_SUBJECTS; ++i) {
        const struct proof_case *subject = &subjects[i % N_SUBJECTS];
        const enum place place = i < N_SUBJECTS ? PLACE_FAKE : PLACE_FAKE_B2;
        struct fake_device *device = places.device[place];
        uint64_t n_failures = 0;
        for (uint64_t n = 1;; ++n) {
            pm_error error = PM_ERROR_INIT;
            (void)pm_resident_evict(subject->key); /* so that the key comes anew */
            const uint64_t before_bytes = device_bytes(device);
            device->fail_allocation_at = n;
            const pm_status status = prove_badly(subject, places.context[place], &error);
            const bool was_met = device->fail_allocation_at == 0;
            fake_device_heal(device);
            (void)pm_resident_evict(subject->key);
            assert_int_equal(device_bytes(device), before_bytes);
            if (!was_met) {
                toy_expect(status, PM_OK, &error);
                break;
            }
            toy_expect(status, PM_NO_MEMORY, &error);
            assert_true(error.need > 0);
            ++n_failures;
            prove_well(subject, places.context[place]);
        }
        assert_true(n_failures >= 10);
    }
}

/* A device that is too small is refused before any work, with both numbers. */
static void a_small_device_is_refused(void **state) {
    (void)state;
    struct fake_device *device = places.device[PLACE_FAKE];
    pm_error error = PM_ERROR_INIT;
    device->limit_bytes = 4096;
    const uint64_t n_allocations = device->n_allocations;
    toy_expect(prove_badly(&subjects[0], places.context[PLACE_FAKE], &error), PM_OVER_BUDGET,
               &error);
    assert_true(error.need > error.have);
    assert_int_equal(error.have, 4096);
    assert_int_equal(device->n_allocations, n_allocations);
    device->limit_bytes = UINT64_MAX;
    prove_well(&subjects[0], places.context[PLACE_FAKE]);
}

static size_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    size_t n = 0;
    assert_non_null(tasks);
    for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(tasks);
    return n;
}

/* After start the device serves others: nothing of the proof is on it, and it is not locked. */
static void the_device_is_free_after_start(void **state) {
    (void)state;
    for (int place = PLACE_FAKE; place < PLACES; ++place) {
        struct fake_device *device = places.device[place];
        pm_pending *pending[8];
        pm_error error = PM_ERROR_INIT;
        prove_well(&subjects[0], places.context[place]);
        const uint64_t before_bytes = device_bytes(device);
        const size_t n_threads = count_threads();
        for (size_t i = 0; i < 8; ++i) {
            toy_expect(pm_prove_start(places.context[place], subjects[0].key, subjects[0].witness,
                                      NULL, NULL, &pending[i], &error),
                       PM_OK, &error);
            assert_int_equal(device_bytes(device), before_bytes);
            assert_false(device->is_locked);
        }
        for (size_t i = 0; i < 8; ++i) {
            if (i % 3 == 2) {
                pm_pending_drop(pending[i]);
                continue;
            }
            pm_proof proof;
            toy_expect(pm_prove_finish(pending[i], NULL, &proof, NULL, &error), PM_OK, &error);
            assert_int_equal(proof_case_verify(&subjects[0], &proof), PM_OK);
        }
        for (int tries = 0; tries < 20000 && count_threads() > n_threads; ++tries) {
            const struct timespec wait = {.tv_nsec = 1000000};
            (void)nanosleep(&wait, NULL);
        }
        assert_true(count_threads() <= n_threads); /* those in the background were joined */
    }
}

/* A key is brought to a device once, stays, and can be taken off when nobody uses it. */
static void a_key_stays_on_the_device(void **state) {
    (void)state;
    struct fake_device *device = places.device[PLACE_FAKE];
    pm_error error = PM_ERROR_INIT;
    pm_pending *pending = NULL;
    assert_int_equal(pm_resident_evict(subjects[0].key), 0);
    const uint64_t n_before = device->n_keys_opened, empty_bytes = device_bytes(device);
    toy_expect(pm_prove_start(places.context[PLACE_FAKE], subjects[0].key, subjects[0].witness,
                              NULL, NULL, &pending, &error),
               PM_OK, &error);
    assert_int_equal(pm_resident_evict(subjects[0].key), 1); /* in use */
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    assert_int_equal(pm_key_get_facts(subjects[0].key, &facts), PM_OK);
    prove_well(&subjects[0], places.context[PLACE_FAKE]);
    pm_pending_drop(pending);
    prove_well(&subjects[0], places.context[PLACE_FAKE]);
    assert_int_equal(device->n_keys_opened, n_before + 1);
    assert_int_equal(pm_ledger_pool_live_bytes(&subjects[0].key->ledger, PM_POOL_VRAM_0),
                     device_bytes(device) - empty_bytes);
    assert_int_equal(pm_resident_evict(subjects[0].key), 0);
    assert_int_equal(device_bytes(device), empty_bytes);
    assert_int_equal(pm_ledger_pool_live_bytes(&subjects[0].key->ledger, PM_POOL_VRAM_0), 0);
}

/* A slow device and a cancel in the middle: the lock is free within the next step. */
static void a_wait_for_the_device_can_be_cancelled(void **state) {
    (void)state;
    struct fake_device *device = places.device[PLACE_FAKE];
    pm_error error = PM_ERROR_INIT;
    pm_pending *pending = NULL;
    assert_int_equal(device->backend.table->lock(&device->backend, NULL, NULL, &error), PM_OK);
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const pm_control soon = {.struct_bytes = sizeof soon,
                             .deadline_ns = (uint64_t)now.tv_sec * 1000000000 +
                                            (uint64_t)now.tv_nsec + 30000000};
    toy_expect(pm_prove_start(places.context[PLACE_FAKE], subjects[0].key, subjects[0].witness,
                              NULL, &soon, &pending, &error),
               PM_DEADLINE, &error);
    device->backend.table->unlock(&device->backend);
    prove_well(&subjects[0], places.context[PLACE_FAKE]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_sums_never_leave),
        cmocka_unit_test(every_step_may_fail),
        cmocka_unit_test(a_bad_device_is_a_status),
        cmocka_unit_test(RC4_every_device_allocation_may_fail),
        cmocka_unit_test(a_small_device_is_refused),
        cmocka_unit_test(the_device_is_free_after_start),
        cmocka_unit_test(a_key_stays_on_the_device),
        cmocka_unit_test(a_wait_for_the_device_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
