/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The CUDA backend on a card that fails: every allocation, every call in turn, memory that others
 * take, sums that are wrong, a card lost for good. There is a status, nothing wrong leaves, nothing
 * is left behind, nobody holds the lock, and the next proof is good.
 */
#include "api/api_pending.h"
#include "groth16/backend_cuda.h"
#include "support/fake_gpu.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const struct pm_cuda_options small = {.window_bytes = 12288, .pack_scalars = 64};

static pm_context *cpu, *card;
static struct pm_backend *backend;
static struct proof_case subjects[3];
#define N_SUBJECTS (sizeof subjects / sizeof subjects[0])

static int open_all(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    cpu = toy_context(1, PM_ARITHMETIC_BEST);
    card = toy_context(1, PM_ARITHMETIC_BEST); /* so that the n-th call is always the same one */
    pm_context_set_strict(card, true);
    toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &small, &backend, &error), PM_OK, &error);
    (void)pm_context_set_backend(card, backend);
    const bool opened = proof_case_open(cpu, "mult3", CASE_ZKEY, &subjects[0]) &&
                        proof_case_open(cpu, "mult3_bls", CASE_PARAMS, &subjects[1]) &&
                        proof_case_open(cpu, "mult3_bls", CASE_BARE_PARAMS, &subjects[2]);
    return opened ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SUBJECTS; ++i) {
        proof_case_close(&subjects[i]);
    }
    pm_context_destroy(cpu);
    pm_context_destroy(card);
    pm_backend_cuda_close(backend);
    fake_gpu_expect_tidy();
    return 0;
}

/* ---- Proofs --------------------------------------------------------------------------------- */

/* From a witness, or from arrays where the key asks for them. */
static pm_status prove(const struct proof_case *subject, pm_prove_options *options, pm_proof *proof,
                       pm_error *error) {
    pm_pending *pending = NULL;
    struct lent_arrays lent;
    if (subject->kind != CASE_BARE_PARAMS) {
        return pm_prove(card, subject->key, subject->witness, options, NULL, proof, NULL, error);
    }
    lent_arrays_make(subject, PM_SCALAR_MONTGOMERY, LENT_A_B_C, true, &lent);
    pm_status status = pm_prove_start_assignment(card, subject->key, &lent.assignment, options,
                                                 NULL, &pending, error);
    if (status == PM_OK) {
        status = pm_prove_finish(pending, NULL, proof, NULL, error);
    }
    lent_arrays_close(&lent); /* all of them are back, whatever happened */
    return status;
}

static void prove_well(const struct proof_case *subject) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_prove_options options = {.struct_bytes = sizeof options, .no_self_verify = 1};
    toy_expect(prove(subject, &options, &proof, &error), PM_OK, &error);
    assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
}

/* A proof that may fail: then *proof is what it was, and nothing is held. */
static pm_status prove_badly(const struct proof_case *subject, uint32_t residency,
                             pm_error *error) {
    pm_proof proof, untouched;
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    pm_prove_options options = {.struct_bytes = sizeof options,
                                .form = 1 + residency % 2,
                                .residency = residency,
                                .report = report};
    memset(&proof, 0x5a, sizeof proof);
    untouched = proof;
    const pm_status status = prove(subject, &options, &proof, error);
    if (status != PM_OK) {
        assert_memory_equal(&proof, &untouched, sizeof proof);
        assert_int_equal(error->status, status);
    } else {
        assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
    }
    report_expect_nothing_left(report);
    pm_report_destroy(report);
    assert_false(fake_gpu.is_locked);
    assert_int_equal(fake_gpu.live_bytes[PM_GPU_STREAM], 0);
    return status;
}

static void evict(const struct proof_case *subject) {
    assert_int_equal(pm_resident_evict(subject->key), 0);
    assert_int_equal(fake_gpu.live_bytes[PM_GPU_ONCE], 0);
    assert_int_equal(pm_ledger_pool_live_bytes(&subject->key->ledger, PM_POOL_VRAM_0), 0);
}

/* ---- Failures ------------------------------------------------------------------------------- */

/* Reports C1, C10 and RC4: the n-th allocation fails, for every n, the key's own included. That one
 * is tried again when the pool has given back what it keeps, and then does not fail. */
static void RC4_every_allocation_on_the_card_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * N_SUBJECTS; ++i) {
        const struct proof_case *subject = &subjects[i / 2];
        uint64_t n_failures = 0, n_trims = 0;
        for (uint64_t n = 1;; ++n) {
            pm_error error = PM_ERROR_INIT;
            evict(subject);
            fake_gpu.n_closed = 0;
            fake_gpu.fail_allocation_at = n;
            const pm_status status = prove_badly(subject, 1 + i % 2, &error);
            const bool was_met = fake_gpu.fail_allocation_at == 0;
            const uint64_t n_closed = fake_gpu.n_closed;
            fake_gpu_heal();
            if (!was_met) {
                toy_expect(status, PM_OK, &error);
                break;
            }
            n_trims += n_closed;
            assert_true(n_closed <= 1);
            assert_true(status == (n_closed != 0 ? PM_OK : PM_NO_MEMORY));
            assert_true(status == PM_OK || error.need > 0);
            n_failures += status != PM_OK;
            prove_well(subject);
            evict(subject);
        }
        assert_true(n_failures >= 5 && n_trims >= 3);
        evict(subject);
    }
}

/* The n-th call fails, once or for good: the first answers DEVICE at once from then on. */
static void C10_every_call_may_fail(void **state) {
    (void)state;
    uint64_t n_failures = 0;
    for (size_t i = 0; i < 4 * N_SUBJECTS; ++i) {
        const struct proof_case *subject = &subjects[i / 4];
        for (uint64_t n = 1;; ++n) {
            pm_error error = PM_ERROR_INIT;
            evict(subject);
            fake_gpu.goes_bad = i / 2 % 2 != 0;
            fake_gpu.fail_call_at = n;
            const pm_status status = prove_badly(subject, 1 + i % 2, &error);
            const bool was_met = fake_gpu.fail_call_at == 0;
            if (was_met && fake_gpu.is_bad) {
                const uint64_t n_calls = fake_gpu.n_calls;
                toy_expect(prove_badly(subject, 1 + i % 2, &error), PM_DEVICE, &error);
                assert_int_equal(fake_gpu.n_calls, n_calls);
            }
            fake_gpu_heal();
            if (!was_met) {
                toy_expect(status, PM_OK, &error);
                break;
            }
            /* Wiping and describing must not fail a proof; everything else must. */
            assert_true(status == PM_DEVICE || status == PM_OK || status == PM_OVER_BUDGET);
            n_failures += status != PM_OK;
            prove_well(subject);
            evict(subject);
        }
        evict(subject);
    }
    print_message("  %llu failures\n", (unsigned long long)n_failures);
    assert_true(n_failures >= 300);
}

/* Report A14: another process takes all memory that is free, at every moment of a proof in turn.
 * Before the plan is made there is no plan; later an allocation fails; or nothing more is needed.
 */
static void A14_memory_may_be_taken_by_others(void **state) {
    (void)state;
    uint32_t n_unplanned = 0, n_failed = 0;
    for (size_t i = 0; i < N_SUBJECTS; ++i) {
        for (uint64_t n = 1;; ++n) {
            pm_error error = PM_ERROR_INIT;
            evict(&subjects[i]);
            fake_gpu.take_at_call = n;
            const pm_status status = prove_badly(&subjects[i], 0, &error);
            const bool was_met = fake_gpu.take_at_call == 0;
            fake_gpu_heal();
            evict(&subjects[i]);
            if (!was_met) {
                toy_expect(status, PM_OK, &error);
                break;
            }
            assert_true(status == PM_OK || error.need > error.have);
            assert_true(status == PM_OK || status == PM_NO_MEMORY || status == PM_OVER_BUDGET);
            n_unplanned += status == PM_OVER_BUDGET;
            n_failed += status == PM_NO_MEMORY;
            prove_well(&subjects[i]);
        }
    }
    print_message("  %u without a plan, %u failed\n", n_unplanned, n_failed);
    assert_true(n_unplanned >= 1 && n_failed >= 20 * N_SUBJECTS);
}

/* Limits that the caller sets, down to what nothing fits into: kept, or refused before any work. */
static void a_limit_is_kept_or_refused(void **state) {
    (void)state;
    uint32_t n_kept = 0, n_refused = 0;
    for (size_t i = 0; i < N_SUBJECTS; ++i) {
        for (uint64_t limit = UINT64_C(4) << 20; limit > 1024; limit -= limit / 16) {
            const struct pm_cuda_options options = {
                .memory_limit_bytes = limit, .window_bytes = 12288, .pack_scalars = 64};
            struct pm_backend *limited = NULL;
            pm_error error = PM_ERROR_INIT;
            evict(&subjects[i]);
            toy_expect(pm_backend_cuda_open(fake_gpu_api(), 0, &options, &limited, &error), PM_OK,
                       &error);
            (void)pm_context_set_backend(card, limited);
            fake_gpu.peak_bytes[PM_GPU_STREAM] = fake_gpu.peak_bytes[PM_GPU_ONCE] = 0;
            const uint64_t n_allocations = fake_gpu.n_allocations;
            const pm_status status = prove_badly(&subjects[i], 0, &error);
            if (status == PM_OK) {
                ++n_kept;
                assert_true(fake_gpu.peak_bytes[PM_GPU_STREAM] + fake_gpu.peak_bytes[PM_GPU_ONCE] <=
                            limit);
            } else {
                toy_expect(status, PM_OVER_BUDGET, &error);
                assert_true(error.need > error.have);
                assert_int_equal(fake_gpu.n_allocations, n_allocations);
                ++n_refused;
            }
            evict(&subjects[i]);
            (void)pm_context_set_backend(card, backend);
            pm_backend_cuda_close(limited);
        }
    }
    print_message("  %u kept, %u refused\n", n_kept, n_refused);
    assert_true(n_kept >= 20 && n_refused >= 20);
}

static void wrong_sums_never_leave(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * 5 * N_SUBJECTS; ++i) {
        const struct proof_case *subject = &subjects[i % N_SUBJECTS];
        pm_error error = PM_ERROR_INIT;
        evict(subject);
        prove_well(subject);
        fake_gpu_heal();
        fake_gpu.wrong = i / N_SUBJECTS % 2 == 0 ? FAKE_GPU_FLIPS_A_BIT : FAKE_GPU_DOUBLES_A_SUM;
        fake_gpu.wrong_sum = 1 + i / N_SUBJECTS / 2;
        toy_expect(prove_badly(subject, 1, &error), PM_SELF_VERIFY, &error);
        fake_gpu_heal();
        prove_well(subject);
        evict(subject);
    }
}

/* ---- Secrets -------------------------------------------------------------------------------- */

/* The key stays on the card, and the page-locked memory with the backend. Neither holds a scalar of
 * a witness when its proof has ended, or was refused for the last of its scalars. */
static void no_scalar_of_a_witness_stays(void **state) {
    (void)state;
    const pm_prove_options options = {.struct_bytes = sizeof options};
    pm_error error = PM_ERROR_INIT;
    pm_pending *pending = NULL;
    struct proof_case subject;
    struct lent_arrays lent;
    assert_true(proof_case_open(cpu, "poseidon2", CASE_ZKEY, &subject));
    fake_gpu_heal();
    prove_well(&subject);
    assert_true(fake_gpu_n_packed() >= subject.n_vars);
    assert_true(fake_gpu.live_bytes[PM_GPU_ONCE] > 0 && fake_gpu.live_bytes[PM_GPU_PINNED] > 0);
    proof_case_expect_absent(&subject, fake_gpu_holds);
    lent_arrays_make(&subject, PM_SCALAR_CANONICAL, LENT_NO_VECTORS, false, &lent);
    memset((uint8_t *)(uintptr_t)lent.assignment.aux +
               (subject.n_vars - subject.n_inputs - 1) * PM_FR_BYTES,
           0xff, PM_FR_BYTES);
    toy_expect(pm_prove_start_assignment(card, subject.key, &lent.assignment, &options, NULL,
                                         &pending, &error),
               PM_NOT_CANONICAL, &error);
    lent_arrays_close(&lent);
    assert_true(fake_gpu_n_packed() >= 2 * subject.n_vars);
    proof_case_expect_absent(&subject, fake_gpu_holds);
    evict(&subject);
    proof_case_close(&subject);
}

/* ---- Refusals ------------------------------------------------------------------------------- */

/* The sentence of a scalar that is none, from the CPU and from the card: the same. */
static void a_bad_scalar_is_named_as_by_the_cpu(void **state) {
    (void)state;
    const struct proof_case *subject = &subjects[1];
    for (int i = 0; i < 5 * 2; ++i) {
        const int which = i / 2;
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .form = 1 + (uint32_t)i % 2};
        char sentences[2][sizeof(((pm_error *)NULL)->message)];
        for (int place = 0; place < 2; ++place) {
            pm_error error = PM_ERROR_INIT;
            struct lent_arrays lent;
            pm_pending *pending = NULL;
            lent_arrays_make(subject, (pm_scalar_form)(i % 2), LENT_A_B_C, false, &lent);
            const void *const arrays[] = {lent.assignment.inputs, lent.assignment.aux,
                                          lent.assignment.a, lent.assignment.b, lent.assignment.c};
            memset((uint8_t *)(uintptr_t)arrays[which] + PM_FR_BYTES, 0xff, PM_FR_BYTES);
            const pm_status status =
                pm_prove_start_assignment(place == 0 ? cpu : card, subject->key, &lent.assignment,
                                          &options, NULL, &pending, &error);
            toy_expect(status, PM_NOT_CANONICAL, &error);
            memcpy(sentences[place], error.message, sizeof error.message);
            lent_arrays_close(&lent);
        }
        assert_string_equal(sentences[0], sentences[1]);
        assert_non_null(strstr(sentences[0], "[1] of the assignment"));
    }
    prove_well(subject);
    evict(subject);
}

/* The last of a key's records, which points behind the matrix from the n-th upload on. */
static struct {
    struct pm_gpu_api api;
    uint8_t *record;
    uint64_t n_uploads_to_go;
} change;

static pm_status upload_and_change(const struct pm_gpu_stream *stream, void *to, const void *from,
                                   uint64_t bytes, pm_error *error) {
    const pm_status status = fake_gpu_api()->upload(stream, to, from, bytes, error);
    if (change.n_uploads_to_go != 0 && --change.n_uploads_to_go == 0) {
        memset(change.record + 4, 0xff, 4); /* its row */
    }
    return status;
}

/* Records lie in a file that may change while they go up: the card gets rows in order, or none. */
static void records_may_change_while_they_go_up(void **state) {
    (void)state;
    const struct proof_case *subject = &subjects[0];
    struct pm_proving_key *key = &subject->key->proving_key;
    const uint8_t *const records = key->records;
    const uint64_t bytes = key->n_records * PM_ZKEY_COEFFICIENT_BYTES;
    uint8_t *copy = malloc(bytes);
    struct pm_backend *changing = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_seen = 0;
    change.api = *fake_gpu_api();
    change.api.upload = upload_and_change;
    change.record = copy + bytes - PM_ZKEY_COEFFICIENT_BYTES;
    toy_expect(pm_backend_cuda_open(&change.api, 0, &small, &changing, &error), PM_OK, &error);
    (void)pm_context_set_backend(card, changing);
    for (uint64_t n = 1, was_met = true; was_met; ++n) {
        evict(subject);
        memcpy(copy, records, bytes);
        key->records = copy;
        change.n_uploads_to_go = n;
        const pm_status status = prove_badly(subject, 1, &error);
        was_met = change.n_uploads_to_go == 0;
        change.n_uploads_to_go = 0;
        key->records = records;
        assert_true(status == PM_OK || (was_met && status == PM_FILE_CHANGED));
        assert_int_equal(fake_gpu.n_violations, 0);
        n_seen += status == PM_FILE_CHANGED;
    }
    evict(subject);
    assert_true(n_seen >= 2);
    (void)pm_context_set_backend(card, backend);
    pm_backend_cuda_close(changing);
    free(copy);
    prove_well(subject);
    evict(subject);
}

/* A key whose rows are not in order is proved with by the CPU alone. */
static void rows_out_of_order_are_refused(void **state) {
    (void)state;
    static const struct toy_entry entries[] = {
        {TOY_A, 1, 2, 1}, {TOY_A, 1, 3, 1}, {TOY_A, 1, 0, -5}, {TOY_B, 1, 0, 1},
        {TOY_A, 0, 2, 1}, {TOY_B, 0, 3, 1}, {TOY_C, 0, 1, 1}};
    static const int64_t values[] = {1, 6, 2, 3};
    const struct toy_case unsorted = {
        "rows out of order", 2, 4, 1, 2, entries, sizeof entries / sizeof entries[0], values};
    struct toy toy;
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_open(cpu, PM_CURVE_BN254, &unsorted, &toy);
    toy_expect(pm_prove(cpu, toy.key, toy.witness, NULL, NULL, &proof, NULL, &error), PM_OK,
               &error);
    toy_expect(pm_prove(card, toy.key, toy.witness, NULL, NULL, &proof, NULL, &error),
               PM_UNSUPPORTED, &error);
    assert_non_null(strstr(error.message, "not in order"));
    toy_close(&toy);
}

/* A wait for the card ends with its control, and the one who holds it is not disturbed. */
static void a_wait_for_the_card_can_be_cancelled(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    pm_pending *pending = NULL;
    toy_expect(backend->table->lock(backend, NULL, NULL, &error), PM_OK, &error);
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const pm_control soon = {.struct_bytes = sizeof soon,
                             .deadline_ns = (uint64_t)now.tv_sec * 1000000000 +
                                            (uint64_t)now.tv_nsec + 30000000};
    toy_expect(
        pm_prove_start(card, subjects[0].key, subjects[0].witness, NULL, &soon, &pending, &error),
        PM_DEADLINE, &error);
    backend->table->unlock(backend);
    prove_well(&subjects[0]);
    evict(&subjects[0]);
}

struct watch {
    int stop_at, calls;
    volatile int cancel;
};

static void watch_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct watch *watch = user;
    assert_non_null(phase);
    assert_true(done <= total);
    watch->cancel |= ++watch->calls == watch->stop_at;
}

/* At every report of progress, those of the key's upload included. */
static void a_proof_on_the_card_can_be_cancelled(void **state) {
    (void)state;
    for (int stop_at = 1;; ++stop_at) {
        struct watch watch = {.stop_at = stop_at};
        const pm_control control = {.struct_bytes = sizeof control,
                                    .cancel = &watch.cancel,
                                    .progress = watch_progress,
                                    .user = &watch};
        pm_error error = PM_ERROR_INIT;
        pm_pending *pending = NULL;
        evict(&subjects[1]);
        const pm_status status = pm_prove_start(card, subjects[1].key, subjects[1].witness, NULL,
                                                &control, &pending, &error);
        pm_pending_drop(pending);
        assert_false(fake_gpu.is_locked);
        assert_int_equal(fake_gpu.live_bytes[PM_GPU_STREAM], 0);
        if (watch.calls < stop_at) {
            toy_expect(status, PM_OK, &error);
            assert_true(stop_at > 10);
            break;
        }
        assert_true(status == PM_CANCELLED || status == PM_OK); /* the last step is short */
    }
    evict(&subjects[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RC4_every_allocation_on_the_card_may_fail),
        cmocka_unit_test(C10_every_call_may_fail),
        cmocka_unit_test(A14_memory_may_be_taken_by_others),
        cmocka_unit_test(a_limit_is_kept_or_refused),
        cmocka_unit_test(wrong_sums_never_leave),
        cmocka_unit_test(no_scalar_of_a_witness_stays),
        cmocka_unit_test(a_bad_scalar_is_named_as_by_the_cpu),
        cmocka_unit_test(rows_out_of_order_are_refused),
        cmocka_unit_test(records_may_change_while_they_go_up),
        cmocka_unit_test(a_wait_for_the_card_can_be_cancelled),
        cmocka_unit_test(a_proof_on_the_card_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
