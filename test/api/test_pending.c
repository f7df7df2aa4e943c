/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A proof in two halves, on the CPU and on a fake device: every choice of plan gives the same proof
 * and is carried out as planned; whoever owns what, it lives as long as promised and no longer.
 */
#include "api/api_pending.h"
#include "support/data_limit.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static const char *const names[] = {"mult3",    "mult3_bls",    "nopriv",    "nopriv_bls",
                                    "one",      "one_bls",      "own_mimc",  "own_mimc_bls",
                                    "multipub", "multipub_bls", "poseidon2", "poseidon2_bls",
                                    "eddsa",    "eddsa_bls"};
#define N_NAMES (sizeof names / sizeof names[0])

static struct places places;

static int open_places(void **state) {
    (void)state;
    places_open(2, &places);
    return 0;
}

static int close_places(void **state) {
    (void)state;
    places_close(&places);
    return 0;
}

static const struct pm_blinding some_blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

/* ---- Choices -------------------------------------------------------------------------------- */

/* Every combination that the plan allows; which those are is the plan's question. Returns how many.
 */
static uint32_t try_every_choice(const struct proof_case *subject, enum place place,
                                 const pm_proof *expected) {
    pm_context *context = places.context[place];
    pm_report *report = toy_report();
    /* Every choice with one circuit, a sample with the others; a sanitizer sees fewer of them. */
    const bool is_first = strstr(subject->name, names[0]) != NULL;
    const uint32_t stride = (is_first                ? 1
                             : subject->n_vars > 500 ? 11
                                                     : 5) *
                            (PM_TEST_IS_SANITIZED ? 3 : 1);
    uint32_t n_done = 0;
    for (uint32_t choice = 0; choice < 3 * 3 * 4; ++choice) {
        if (choice % stride != 0) {
            continue;
        }
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_prove_stats stats = {.struct_bytes = sizeof stats};
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .form = choice % 3,
                                          .residency = choice / 3 % 3,
                                          .b2 = choice / 9,
                                          .report = report};
        const pm_status status =
            pm_prove_with_blinding(context, subject->key, subject->witness, &some_blinding,
                                   &options, NULL, &proof, &stats, &error);
        if (status == PM_INVALID_ARGUMENT) {
            assert_null(pm_report_plan(report)); /* a choice that this key does not have */
            continue;
        }
        toy_expect(status, PM_OK, &error);
        assert_memory_equal(&proof, expected, sizeof proof);
        report_expect_as_planned(report);
        assert_true((stats.device_taken_ns != 0) == (place != PLACE_CPU));
        assert_true(options.form == 0 || stats.form == options.form);
        assert_true(options.residency == 0 || stats.residency == options.residency);
        assert_true(options.b2 == 0 || stats.b2 == options.b2);
        assert_int_equal(stats.n_divergences, 0);
        assert_int_equal(stats.peak_bytes, stats.planned_peak_bytes);
        ++n_done;
    }
    pm_report_destroy(report);
    return n_done;
}

static void every_choice_gives_the_same_proof_as_planned(void **state) {
    (void)state;
    uint32_t n_cases = 0, n_proofs = 0;
    for (size_t i = 0; i < N_NAMES * CASE_BARE_PARAMS; ++i) {
        struct proof_case subject;
        pm_error error = PM_ERROR_INIT;
        pm_proof expected;
        if (!proof_case_open(places.context[PLACE_CPU], names[i % N_NAMES],
                             (enum proof_case_kind)(i / N_NAMES), &subject)) {
            continue;
        }
        toy_expect(pm_prove_with_blinding(places.context[PLACE_CPU], subject.key, subject.witness,
                                          &some_blinding, NULL, NULL, &expected, NULL, &error),
                   PM_OK, &error);
        assert_int_equal(proof_case_verify(&subject, &expected), PM_OK);
        for (int place = 0; place < PLACES; ++place) {
            const uint32_t n = try_every_choice(&subject, (enum place)place, &expected);
            assert_true(n >= (PM_TEST_IS_SANITIZED ? 1 : 2));
            n_proofs += n;
        }
        ++n_cases;
        proof_case_close(&subject);
    }
    print_message("  %u keys, %u proofs, each as planned\n", n_cases, n_proofs);
    assert_true(n_cases >= 9); /* those of test/data */
}

/* ---- Lives ---------------------------------------------------------------------------------- */

static pm_pending *start(pm_context *context, const pm_key *key, const pm_witness *witness,
                         const pm_prove_options *options) {
    pm_error error = PM_ERROR_INIT;
    pm_pending *pending = NULL;
    toy_expect(pm_prove_start(context, key, witness, options, NULL, &pending, &error), PM_OK,
               &error);
    return pending;
}

static void finish_and_verify(const struct proof_case *subject, pm_pending *pending) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_OK, &error);
    assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
}

/* The caller's handles go as soon as start has returned, whatever is pending. */
static void key_and_witness_may_go_after_start(void **state) {
    (void)state;
    for (int place = 0; place < PLACES; ++place) {
        for (uint32_t b2 = PM_B2_SCHEDULE_ANY; b2 <= PM_B2_SCHEDULE_COPY; ++b2) {
            struct proof_case subject, spare;
            const pm_prove_options options = {.struct_bytes = sizeof options, .b2 = b2};
            const char *name = b2 % 2 == 0 ? "own_mimc" : "mult3_bls";
            assert_true(proof_case_open(places.context[place], name, CASE_ZKEY, &subject));
            assert_true(proof_case_open(places.context[place], name, CASE_ZKEY, &spare));
            pm_pending *first = start(places.context[place], spare.key, spare.witness, &options);
            pm_pending *second = start(places.context[place], spare.key, spare.witness, &options);
            pm_pending *third = start(places.context[place], spare.key, spare.witness, &options);
            proof_case_close(&spare);
            finish_and_verify(&subject, second);
            pm_pending_drop(third);
            finish_and_verify(&subject, first);
            proof_case_close(&subject);
        }
    }
}

/* Four proofs, finished or dropped in every order. */
static void halves_end_in_every_order(void **state) {
    (void)state;
    enum { N = 4, ORDERS = 24 };
    struct proof_case subject;
    assert_true(proof_case_open(places.context[PLACE_CPU], "mult3", CASE_ZKEY, &subject));
    for (int place = 0; place < PLACES; ++place) {
        for (uint32_t order = 0; order < ORDERS; ++order) {
            pm_pending *pending[N];
            for (int i = 0; i < N; ++i) {
                pending[i] = start(places.context[place], subject.key, subject.witness, NULL);
            }
            uint32_t code = order;
            for (uint32_t left = N; left > 0; --left) {
                const uint32_t at = code % left;
                code /= left;
                if ((order + left) % 3 == 0) {
                    pm_pending_drop(pending[at]);
                } else {
                    finish_and_verify(&subject, pending[at]);
                }
                pending[at] = pending[left - 1];
            }
        }
    }
    proof_case_close(&subject);
}

struct errand {
    pm_pending *pending;
    pm_proof proof;
    pm_status status;
};

static void *finish_elsewhere(void *argument) {
    struct errand *errand = argument;
    errand->status = pm_prove_finish(errand->pending, NULL, &errand->proof, NULL, NULL);
    return NULL;
}

static void *drop_elsewhere(void *argument) {
    struct errand *errand = argument;
    pm_pending_drop(errand->pending);
    return NULL;
}

static void a_half_may_end_on_another_thread(void **state) {
    (void)state;
    struct proof_case subject;
    assert_true(proof_case_open(places.context[PLACE_CPU], "own_mimc", CASE_ZKEY, &subject));
    for (int place = 0; place < PLACES; ++place) {
        struct errand finished, dropped;
        pthread_t threads[2];
        finished.pending = start(places.context[place], subject.key, subject.witness, NULL);
        dropped.pending = start(places.context[place], subject.key, subject.witness, NULL);
        assert_int_equal(pthread_create(&threads[0], NULL, finish_elsewhere, &finished), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, drop_elsewhere, &dropped), 0);
        assert_int_equal(pthread_join(threads[0], NULL), 0);
        assert_int_equal(pthread_join(threads[1], NULL), 0);
        assert_int_equal(finished.status, PM_OK);
        assert_int_equal(proof_case_verify(&subject, &finished.proof), PM_OK);
    }
    proof_case_close(&subject);
}

/* ---- Control -------------------------------------------------------------------------------- */

struct watch {
    int stop_at, calls;
    volatile int cancel;
};

static void watch_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct watch *watch = user;
    assert_non_null(phase);
    assert_true(done <= total);
    if (++watch->calls == watch->stop_at) {
        watch->cancel = 1;
    }
}

/* A control on a page of its own, which is taken away when the call has returned. */
static pm_control *control_on_a_page(struct watch *watch) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    pm_control *control = page;
    *control = (pm_control){.struct_bytes = sizeof *control,
                            .cancel = &watch->cancel,
                            .progress = watch_progress,
                            .user = watch};
    return control;
}

static void cancel_in_finish(const struct proof_case *subject, pm_context *context, int stop_at) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    struct watch watch = {.stop_at = stop_at, .cancel = stop_at == 0};
    pm_control *control = control_on_a_page(&watch);
    pm_pending *pending = start(context, subject->key, subject->witness, NULL);
    toy_expect(pm_prove_finish(pending, control, &proof, NULL, &error), PM_CANCELLED, &error);
    assert_int_equal(munmap(control, 4096), 0);
}

static void either_half_can_be_cancelled(void **state) {
    (void)state;
    struct proof_case subject;
    assert_true(proof_case_open(places.context[PLACE_CPU], "own_mimc", CASE_ZKEY, &subject));
    for (int place = 0; place < PLACES; ++place) {
        pm_context *context = places.context[place];
        pm_error error = PM_ERROR_INIT;
        pm_pending *pending = NULL;
        struct watch watch = {0};
        pm_control *control = control_on_a_page(&watch);
        toy_expect(
            pm_prove_start(context, subject.key, subject.witness, NULL, control, &pending, &error),
            PM_OK, &error);
        /* What start was told is never looked at again: the page is gone, the flag is set. */
        assert_int_equal(munmap(control, 4096), 0);
        watch.cancel = 1;
        finish_and_verify(&subject, pending);
        const int n_steps = watch.calls;
        for (int stop_at = 1; stop_at <= n_steps; ++stop_at) {
            watch = (struct watch){.stop_at = stop_at};
            control = control_on_a_page(&watch);
            pending = NULL;
            const pm_status status = pm_prove_start(context, subject.key, subject.witness, NULL,
                                                    control, &pending, &error);
            assert_int_equal(munmap(control, 4096), 0);
            /* A last step may be too short to look again. */
            assert_true(status == PM_CANCELLED || (status == PM_OK && stop_at == n_steps));
            assert_true((pending == NULL) == (status != PM_OK));
            pm_pending_drop(pending);
        }
        cancel_in_finish(&subject, context, 0);
        cancel_in_finish(&subject, context, 1);
        finish_and_verify(&subject, start(context, subject.key, subject.witness, NULL));
    }
    proof_case_close(&subject);
}

static void either_half_has_a_deadline(void **state) {
    (void)state;
    struct proof_case subject;
    const pm_control late = {.struct_bytes = sizeof late, .deadline_ns = 1};
    assert_true(proof_case_open(places.context[PLACE_CPU], "mult3_bls", CASE_ZKEY, &subject));
    for (int place = 0; place < PLACES; ++place) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_pending *pending = NULL;
        toy_expect(pm_prove_start(places.context[place], subject.key, subject.witness, NULL, &late,
                                  &pending, &error),
                   PM_DEADLINE, &error);
        assert_null(pending);
        pending = start(places.context[place], subject.key, subject.witness, NULL);
        toy_expect(pm_prove_finish(pending, &late, &proof, NULL, &error), PM_DEADLINE, &error);
    }
    proof_case_close(&subject);
}

/* ---- Refusals ------------------------------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    struct proof_case subject;
    pm_context *context = places.context[PLACE_CPU];
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_pending *pending = NULL;
    assert_true(proof_case_open(context, "mult3", CASE_ZKEY, &subject));
    const pm_prove_options wrong[] = {{.struct_bytes = sizeof wrong[0], .form = 3},
                                      {.struct_bytes = sizeof wrong[0], .residency = 3},
                                      {.struct_bytes = sizeof wrong[0], .b2 = 4}};
    for (size_t i = 0; i < 3; ++i) {
        toy_expect(pm_prove_start(context, subject.key, subject.witness, &wrong[i], NULL, &pending,
                                  &error),
                   PM_INVALID_ARGUMENT, &error);
        assert_null(pending);
    }
    const pm_status statuses[] = {
        pm_prove_start(NULL, subject.key, subject.witness, NULL, NULL, &pending, &error),
        pm_prove_start(context, NULL, subject.witness, NULL, NULL, &pending, &error),
        pm_prove_start(context, subject.key, NULL, NULL, NULL, &pending, &error),
        pm_prove_start(context, subject.key, subject.witness, NULL, NULL, NULL, &error),
        pm_prove_finish(NULL, NULL, &proof, NULL, &error),
        /* Consumes the handle nevertheless: the sanitizer would see it otherwise. */
        pm_prove_finish(start(context, subject.key, subject.witness, NULL), NULL, NULL, NULL,
                        &error)};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; ++i) {
        assert_int_equal(statuses[i], PM_INVALID_ARGUMENT);
    }
    pm_pending_drop(NULL);
    proof_case_close(&subject);
}

static void A11_a_wrong_witness_is_withheld_by_finish(void **state) {
    (void)state;
    struct proof_case subject;
    assert_true(proof_case_open(places.context[PLACE_CPU], "mult3", CASE_ZKEY, &subject));
    subject.values[(subject.n_vars - 1) * PM_FR_BYTES] ^= 1;
    for (int place = 0; place < PLACES; ++place) {
        pm_context *context = places.context[place];
        pm_error error = PM_ERROR_INIT;
        pm_witness *wrong = NULL;
        pm_proof proof, untouched;
        pm_report *report = toy_report();
        const pm_prove_options options = {.struct_bytes = sizeof options, .report = report};
        memset(&proof, 0x5a, sizeof proof);
        untouched = proof;
        toy_expect(pm_witness_from_values(context, subject.curve, subject.values, subject.n_vars,
                                          NULL, &wrong, &error),
                   PM_OK, &error);
        pm_pending *pending = start(context, subject.key, wrong, &options);
        pm_witness_destroy(wrong);
        toy_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_SELF_VERIFY, &error);
        assert_memory_equal(&proof, &untouched, sizeof proof);
        assert_non_null(pm_report_plan(report)); /* also of a proof that failed */
        report_expect_nothing_left(report);
        pm_report_destroy(report);
    }
    proof_case_close(&subject);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static uint64_t planned_peak(pm_context *context, const struct proof_case *subject,
                             const pm_prove_options *options, pm_prove_stats *stats) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    *stats = (pm_prove_stats){.struct_bytes = sizeof *stats};
    toy_expect(
        pm_prove(context, subject->key, subject->witness, options, NULL, &proof, stats, &error),
        PM_OK, &error);
    assert_int_equal(stats->peak_bytes, stats->planned_peak_bytes);
    return stats->planned_peak_bytes;
}

/* Reports C2 and C7 at this level: a limit is met by a leaner plan, or refused before any work. */
static void C7_a_limit_is_met_or_refused(void **state) {
    (void)state;
    struct proof_case subject;
    pm_context *context = places.context[PLACE_CPU];
    pm_prove_stats stats;
    if (!proof_case_open(context, "eddsa", CASE_ZKEY, &subject)) {
        skip();
    }
    const uint64_t fastest_bytes = planned_peak(context, &subject, NULL, &stats);
    pm_prove_options options = {.struct_bytes = sizeof options, .memory_bytes = fastest_bytes};
    (void)planned_peak(context, &subject, &options, &stats);
    assert_true(stats.peak_bytes <= fastest_bytes);
    uint64_t least_bytes = fastest_bytes;
    for (;;) { /* down to the leanest plan there is, each one carried out */
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        stats = (pm_prove_stats){.struct_bytes = sizeof stats};
        options.memory_bytes = least_bytes - 1;
        const pm_status status =
            pm_prove(context, subject.key, subject.witness, &options, NULL, &proof, &stats, &error);
        if (status != PM_OK) {
            toy_expect(status, PM_OVER_BUDGET, &error);
            assert_int_equal(error.have, options.memory_bytes);
            assert_true(error.need > error.have);
            break;
        }
        assert_true(stats.peak_bytes < least_bytes);
        least_bytes = stats.peak_bytes;
    }
    print_message("  %llu bytes, or with a limit %llu\n", (unsigned long long)fastest_bytes,
                  (unsigned long long)least_bytes);
    assert_true(least_bytes <= fastest_bytes);
    proof_case_close(&subject);
}

static void a_budget_is_held_by_what_remains(void **state) {
    (void)state;
    struct proof_case subject;
    pm_context *context = places.context[PLACE_CPU];
    pm_error error = PM_ERROR_INIT;
    pm_prove_stats stats;
    pm_budget *budget = NULL;
    assert_true(proof_case_open(context, "own_mimc", CASE_ZKEY, &subject));
    pm_prove_options options = {.struct_bytes = sizeof options, .b2 = PM_B2_SCHEDULE_START};
    const uint64_t peak_bytes = planned_peak(context, &subject, &options, &stats);
    const pm_budget_options room = {.struct_bytes = sizeof room, .host_bytes = peak_bytes};
    toy_expect(pm_budget_create(&room, &budget, &error), PM_OK, &error);
    options.budget = budget;
    options.no_wait = 1;
    pm_pending *pending = start(context, subject.key, subject.witness, &options);
    const uint64_t held_bytes = pm_budget_reserved_bytes(budget);
    assert_true(held_bytes > 0 && held_bytes < peak_bytes / 2); /* the handle alone */
    pm_pending *other = NULL;
    toy_expect(
        pm_prove_start(context, subject.key, subject.witness, &options, NULL, &other, &error),
        PM_BUDGET_BUSY, &error);
    assert_int_equal(pm_budget_reserved_bytes(budget), held_bytes);
    finish_and_verify(&subject, pending);
    assert_int_equal(pm_budget_reserved_bytes(budget), 0);
    pm_pending_drop(start(context, subject.key, subject.witness, &options));
    assert_int_equal(pm_budget_reserved_bytes(budget), 0);
    /* Waiting has an end. */
    pm_prove_options patient = options;
    patient.no_wait = 0;
    pending = start(context, subject.key, subject.witness, &options);
    const pm_control late = {.struct_bytes = sizeof late, .deadline_ns = 1};
    toy_expect(
        pm_prove_start(context, subject.key, subject.witness, &patient, &late, &other, &error),
        PM_DEADLINE, &error);
    pm_pending_drop(pending);
    finish_and_verify(&subject, start(context, subject.key, subject.witness, &patient));
    pm_budget_destroy(budget);
    proof_case_close(&subject);
}

/* What can never fit is refused at once, with both numbers, whether one would wait or not. */
static void what_never_fits_is_refused_at_once(void **state) {
    (void)state;
    struct proof_case subject;
    pm_error error = PM_ERROR_INIT;
    pm_budget *budget = NULL;
    const pm_budget_options room = {.struct_bytes = sizeof room, .host_bytes = 1000};
    assert_true(proof_case_open(places.context[PLACE_CPU], "mult3", CASE_ZKEY, &subject));
    toy_expect(pm_budget_create(&room, &budget, &error), PM_OK, &error);
    for (int place = 0; place < PLACES; ++place) {
        for (uint32_t no_wait = 0; no_wait < 2; ++no_wait) {
            pm_pending *pending = NULL;
            const pm_prove_options options = {
                .struct_bytes = sizeof options, .budget = budget, .no_wait = no_wait};
            toy_expect(pm_prove_start(places.context[place], subject.key, subject.witness, &options,
                                      NULL, &pending, &error),
                       PM_OVER_BUDGET, &error);
            assert_int_equal(error.have, 1000);
            assert_true(error.need > 1000);
        }
    }
    assert_int_equal(pm_budget_reserved_bytes(budget), 0);
    pm_budget_destroy(budget);
    proof_case_close(&subject);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_gives_the_same_proof_as_planned),
        cmocka_unit_test(key_and_witness_may_go_after_start),
        cmocka_unit_test(halves_end_in_every_order),
        cmocka_unit_test(a_half_may_end_on_another_thread),
        cmocka_unit_test(either_half_can_be_cancelled),
        cmocka_unit_test(either_half_has_a_deadline),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(A11_a_wrong_witness_is_withheld_by_finish),
        cmocka_unit_test(C7_a_limit_is_met_or_refused),
        cmocka_unit_test(a_budget_is_held_by_what_remains),
        cmocka_unit_test(what_never_fits_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, open_places, close_places);
}
