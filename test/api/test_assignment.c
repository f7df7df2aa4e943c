/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs from arrays that the caller lends, in both forms of scalars and both reductions. Each
 * array lies between guard pages and is unmapped in its release, so that a reader that comes too
 * late does not live to tell.
 */
#include "api/api_pending.h"
#include "support/data_limit.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"mult3",    "mult3_bls",    "nopriv",   "one_bls",
                                    "own_mimc", "own_mimc_bls", "eddsa_bls"};
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

/* ---- Good ones ------------------------------------------------------------------------------ */

/* How an assignment is handed over, and what the plan is to be. */
struct manner {
    pm_scalar_form form;
    enum lent_vectors vectors;
    uint32_t b2; /* a pm_b2_schedule */
    uint32_t vector_form;
};

/* A proof through the assignment; *proof is of some_blinding. */
static void prove_by(const struct proof_case *subject, pm_context *context,
                     const struct manner *manner, pm_report *report, pm_proof *proof) {
    pm_error error = PM_ERROR_INIT;
    struct lent_arrays lent;
    pm_pending *pending = NULL;
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .form = manner->vector_form,
                                      .b2 = manner->b2,
                                      .report = report};
    lent_arrays_make(subject, manner->form, manner->vectors, subject->kind == CASE_BARE_PARAMS,
                     &lent);
    toy_expect(pm_prove_start_assignment(context, subject->key, &lent.assignment, &options, NULL,
                                         &pending, &error),
               PM_OK, &error);
    lent_arrays_drop_densities(&lent);
    assert_true(lent_arrays_are_back(&lent, true));
    if (manner->b2 == PM_B2_SCHEDULE_START || manner->b2 == PM_B2_SCHEDULE_COPY) {
        assert_true(lent_arrays_are_back(&lent, false)); /* nothing of the caller's is left */
    }
    toy_expect(pm_pending_finish(pending, &some_blinding, NULL, proof, NULL, &error), PM_OK,
               &error);
    lent_arrays_close(&lent);
}

/* Dropped instead: everything comes back as well. */
static void drop_by(const struct proof_case *subject, pm_context *context,
                    const struct manner *manner) {
    pm_error error = PM_ERROR_INIT;
    struct lent_arrays lent;
    pm_pending *pending = NULL;
    const pm_prove_options options = {
        .struct_bytes = sizeof options, .form = manner->vector_form, .b2 = manner->b2};
    lent_arrays_make(subject, manner->form, manner->vectors, subject->kind == CASE_BARE_PARAMS,
                     &lent);
    toy_expect(pm_prove_start_assignment(context, subject->key, &lent.assignment, &options, NULL,
                                         &pending, &error),
               PM_OK, &error);
    pm_pending_drop(pending);
    lent_arrays_close(&lent);
}

/* Whether there is a plan: B2 can be made after start only from a copy, where all the scalars are
 * on a device or the densities have been given back. */
static bool is_possible(const struct proof_case *subject, enum place place,
                        const struct manner *manner) {
    const bool is_bare = subject->kind == CASE_BARE_PARAMS;
    const bool in_start = manner->b2 == PM_B2_SCHEDULE_START;
    const bool from_w = manner->b2 == PM_B2_SCHEDULE_LATER;
    return !(is_bare && manner->vectors == LENT_NO_VECTORS) &&
           !(from_w && (is_bare || place != PLACE_CPU)) && !(in_start && place == PLACE_FAKE);
}

/* Every manner with one circuit, a sample with the others; a sanitizer sees fewer of them. */
static uint32_t stride(const struct proof_case *subject) {
    if (PM_TEST_IS_SANITIZED) {
        return subject->n_vars > 500 ? 37 : strstr(subject->name, "mult3_bls") == NULL ? 23 : 5;
    }
    return subject->n_vars > 500 ? 17 : strstr(subject->name, "mult3_bls") == NULL ? 7 : 1;
}

static uint32_t try_every_manner(const struct proof_case *subject, const pm_proof *expected) {
    uint32_t n_proofs = 0;
    pm_report *report = NULL;
    assert_int_equal(pm_report_create(&report, NULL), PM_OK);
    for (int place = 0; place < PLACES; ++place) {
        for (uint32_t i = 0; i < 2 * 3 * 4 * 3; ++i) {
            const struct manner manner = {.form = (pm_scalar_form)(i % 2),
                                          .vectors = (enum lent_vectors)(i / 2 % 3),
                                          .b2 = i / 6 % 4,
                                          .vector_form = i / 24};
            pm_proof proof;
            if ((i + (uint32_t)place) % stride(subject) != 0) {
                continue;
            }
            if (is_possible(subject, (enum place)place, &manner)) {
                prove_by(subject, places.context[place], &manner, report, &proof);
                assert_memory_equal(&proof, expected, sizeof proof);
                report_expect_as_planned(report);
                if (i % 3 == 0) {
                    drop_by(subject, places.context[place], &manner);
                }
                ++n_proofs;
            }
        }
    }
    pm_report_destroy(report);
    return n_proofs;
}

/* With the witness where the key has matrices; the bare key's proof is that of its twin. */
static void every_manner_gives_the_same_proof(void **state) {
    (void)state;
    uint32_t n_cases = 0, n_proofs = 0;
    for (size_t i = 0; i < N_NAMES * CASE_KINDS; ++i) {
        const char *name = names[i / CASE_KINDS];
        const enum proof_case_kind kind = (enum proof_case_kind)(i % CASE_KINDS);
        const enum proof_case_kind twin_kind = kind == CASE_BARE_PARAMS ? CASE_PARAMS : kind;
        struct proof_case subject, twin;
        pm_error error = PM_ERROR_INIT;
        pm_proof expected;
        if (!proof_case_open(places.context[PLACE_CPU], name, kind, &subject)) {
            continue;
        }
        assert_true(proof_case_open(places.context[PLACE_CPU], name, twin_kind, &twin));
        toy_expect(pm_prove_with_blinding(places.context[PLACE_CPU], twin.key, twin.witness,
                                          &some_blinding, NULL, NULL, &expected, NULL, &error),
                   PM_OK, &error);
        assert_int_equal(proof_case_verify(&subject, &expected), PM_OK);
        n_proofs += try_every_manner(&subject, &expected);
        ++n_cases;
        proof_case_close(&twin);
        proof_case_close(&subject);
    }
    print_message("  %u keys, %u proofs from lent arrays\n", n_cases, n_proofs);
    assert_true(n_cases >= 8); /* those of test/data */
}

/* Reports A9 and RC1: one constraint system by both reductions; each verifies under its own key and
 * not under the other's. */
static void A9_RC1_both_reductions_prove_one_system(void **state) {
    (void)state;
    static const char *const both[] = {"mult3_bls", "own_mimc_bls"};
    for (size_t i = 0; i < 2; ++i) {
        struct proof_case snarkjs, bellman;
        pm_proof by_snarkjs, by_bellman;
        pm_error error = PM_ERROR_INIT;
        pm_context *context = places.context[i == 0 ? PLACE_CPU : PLACE_FAKE];
        if (!proof_case_open(context, both[i], CASE_ZKEY, &snarkjs)) {
            skip();
        }
        assert_true(proof_case_open(context, both[i], CASE_BARE_PARAMS, &bellman));
        const struct manner manner = {PM_SCALAR_MONTGOMERY, LENT_A_B_C, 0, 0};
        prove_by(&bellman, context, &manner, NULL, &by_bellman);
        toy_expect(
            pm_prove(context, snarkjs.key, snarkjs.witness, NULL, NULL, &by_snarkjs, NULL, &error),
            PM_OK, &error);
        assert_int_equal(proof_case_verify(&snarkjs, &by_snarkjs), PM_OK);
        assert_int_equal(proof_case_verify(&bellman, &by_bellman), PM_OK);
        assert_int_equal(proof_case_verify(&snarkjs, &by_bellman), PM_PROOF_INVALID);
        assert_int_equal(proof_case_verify(&bellman, &by_snarkjs), PM_PROOF_INVALID);
        proof_case_close(&snarkjs);
        proof_case_close(&bellman);
    }
}

/* Vectors that do not belong to the assignment never become a proof. */
static void wrong_vectors_are_withheld(void **state) {
    (void)state;
    for (int kind = CASE_ZKEY; kind < CASE_KINDS; ++kind) {
        struct proof_case subject;
        assert_true(proof_case_open(places.context[PLACE_CPU], "mult3_bls",
                                    (enum proof_case_kind)kind, &subject));
        for (int which = 0; which < 3; ++which) {
            pm_error error = PM_ERROR_INIT;
            struct lent_arrays lent;
            pm_pending *pending = NULL;
            pm_proof proof;
            lent_arrays_make(&subject, PM_SCALAR_CANONICAL, LENT_A_B_C, kind == CASE_BARE_PARAMS,
                             &lent);
            const void *const vectors[3] = {lent.assignment.a, lent.assignment.b,
                                            lent.assignment.c};
            ((uint8_t *)(uintptr_t)vectors[which])[0] ^= 1;
            toy_expect(pm_prove_start_assignment(places.context[kind], subject.key,
                                                 &lent.assignment, NULL, NULL, &pending, &error),
                       PM_OK, &error);
            toy_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_SELF_VERIFY,
                       &error);
            lent_arrays_close(&lent);
        }
        proof_case_close(&subject);
    }
}

/* Without a callback the arrays are the caller's business; they are only read. */
static void a_release_callback_is_not_needed(void **state) {
    (void)state;
    struct proof_case subject;
    assert_true(proof_case_open(places.context[PLACE_CPU], "own_mimc", CASE_ZKEY, &subject));
    for (int place = 0; place < PLACES; ++place) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_pending *pending = NULL;
        const pm_assignment assignment = {.struct_bytes = sizeof assignment,
                                          .curve = (uint32_t)subject.curve,
                                          .inputs = subject.values,
                                          .aux = subject.values + subject.n_inputs * PM_FR_BYTES,
                                          .n_inputs = subject.n_inputs,
                                          .n_aux = subject.n_vars - subject.n_inputs};
        toy_expect(pm_prove_start_assignment(places.context[place], subject.key, &assignment, NULL,
                                             NULL, &pending, &error),
                   PM_OK, &error);
        toy_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_OK, &error);
        assert_int_equal(proof_case_verify(&subject, &proof), PM_OK);
    }
    proof_case_close(&subject);
}

/* ---- Bad ones ------------------------------------------------------------------------------- */

static pm_status start_wrong(const struct proof_case *subject, struct lent_arrays *lent,
                             const pm_prove_options *options, const pm_control *control,
                             pm_error *error) {
    pm_pending *pending = NULL;
    const pm_status status =
        pm_prove_start_assignment(places.context[PLACE_CPU], subject->key, &lent->assignment,
                                  options, control, &pending, error);
    assert_null(pending);
    assert_true(status != PM_OK);
    assert_int_equal(error->status, status);
    assert_true(error->message[0] != '\0');
    return status;
}

static void make_unreduced(const void *scalars, uint64_t index, pm_curve_id curve) {
    memcpy((uint8_t *)(uintptr_t)scalars + index * PM_FR_BYTES,
           pm_field_fr(curve, PM_BODY_PORTABLE)->modulus, PM_FR_BYTES);
}

enum flaw {
    FLAW_CURVE,
    FLAW_FORM,
    FLAW_INPUTS_COUNT,
    FLAW_AUX_COUNT,
    FLAW_TOO_MANY_ROWS,
    FLAW_ALIGNMENT,
    FLAW_ONE,
    FLAW_INPUT_VALUE,
    FLAW_AUX_VALUE,
    FLAW_A_VALUE,
    FLAW_B_VALUE,
    FLAW_C_VALUE,
    FLAW_A_DENSITY,
    FLAW_B_DENSITY,
    FLAW_NO_DENSITY,
    FLAW_CANCELLED,
    FLAW_OVER_BUDGET,
    FLAWS
};

/* Makes the assignment wrong in one way; returns what must be said of it. */
static pm_status spoil(const struct proof_case *subject, enum flaw flaw, pm_assignment *made) {
    switch (flaw) {
    case FLAW_CURVE:
        made->curve = PM_CURVE_BN254;
        return PM_CURVE;
    case FLAW_FORM:
        made->form = 2;
        return PM_INVALID_ARGUMENT;
    case FLAW_INPUTS_COUNT:
        --made->n_inputs;
        return PM_WITNESS_MISMATCH;
    case FLAW_AUX_COUNT:
        --made->n_aux;
        return PM_WITNESS_MISMATCH;
    case FLAW_TOO_MANY_ROWS:
        made->n_rows = UINT64_C(1) << 40;
        return PM_COUNT;
    case FLAW_ALIGNMENT:
        made->b = (const uint8_t *)made->b + 4;
        return PM_INVALID_ARGUMENT;
    case FLAW_ONE:
        ((uint8_t *)(uintptr_t)made->inputs)[0] ^= 2;
        return PM_WITNESS_MISMATCH;
    case FLAW_INPUT_VALUE:
        make_unreduced(made->inputs, made->n_inputs - 1, subject->curve);
        return PM_NOT_CANONICAL;
    case FLAW_AUX_VALUE:
        make_unreduced(made->aux, made->n_aux - 1, subject->curve);
        return PM_NOT_CANONICAL;
    case FLAW_A_VALUE:
        make_unreduced(made->a, made->n_rows - 1, subject->curve);
        return PM_NOT_CANONICAL;
    case FLAW_B_VALUE:
        make_unreduced(made->b, 0, subject->curve);
        return PM_NOT_CANONICAL;
    case FLAW_C_VALUE:
        make_unreduced(made->c, made->n_rows - 1, subject->curve);
        return PM_NOT_CANONICAL;
    case FLAW_A_DENSITY:
        ((uint64_t *)(uintptr_t)made->a_aux_density)[0] ^= 1;
        return PM_COUNT;
    case FLAW_B_DENSITY:
        ((uint64_t *)(uintptr_t)made->b_input_density)[0] ^= 1;
        return PM_COUNT;
    case FLAW_NO_DENSITY:
        made->b_aux_density = NULL;
        return PM_INVALID_ARGUMENT;
    case FLAW_CANCELLED:
        return PM_CANCELLED;
    default:
        return PM_OVER_BUDGET;
    }
}

/* Whatever is wrong, each array comes back once. */
static void errors_give_every_array_back(void **state) {
    (void)state;
    static const volatile int cancel = 1;
    const pm_control stopped = {.struct_bytes = sizeof stopped, .cancel = &cancel};
    const pm_prove_options lean = {.struct_bytes = sizeof lean, .memory_bytes = 1000};
    for (int kind = CASE_PARAMS; kind < CASE_KINDS; ++kind) {
        struct proof_case subject;
        assert_true(proof_case_open(places.context[PLACE_CPU], "mult3_bls",
                                    (enum proof_case_kind)kind, &subject));
        for (int flaw = 0; flaw < FLAWS; ++flaw) {
            pm_error error = PM_ERROR_INIT;
            struct lent_arrays lent;
            const bool of_density = flaw >= FLAW_A_DENSITY && flaw <= FLAW_NO_DENSITY;
            if (of_density && kind != CASE_BARE_PARAMS) {
                continue;
            }
            lent_arrays_make(&subject, PM_SCALAR_CANONICAL, LENT_A_B_C, true, &lent);
            const pm_status expected = spoil(&subject, (enum flaw)flaw, &lent.assignment);
            toy_expect(start_wrong(&subject, &lent, flaw == FLAW_OVER_BUDGET ? &lean : NULL,
                                   flaw == FLAW_CANCELLED ? &stopped : NULL, &error),
                       expected, &error);
            lent_arrays_close(&lent);
        }
        proof_case_close(&subject);
    }
}

/* NULL where something is needed. What is NULL was not lent and does not come back. */
static void missing_arrays_are_refused(void **state) {
    (void)state;
    struct proof_case subject;
    assert_true(
        proof_case_open(places.context[PLACE_CPU], "mult3_bls", CASE_BARE_PARAMS, &subject));
    for (uint32_t which = 0; which < 5; ++which) {
        pm_error error = PM_ERROR_INIT;
        struct lent_arrays lent;
        lent_arrays_make(&subject, PM_SCALAR_CANONICAL, LENT_A_B_C, true, &lent);
        const void **const fields[5] = {&lent.assignment.inputs, &lent.assignment.aux,
                                        &lent.assignment.a, &lent.assignment.b, &lent.assignment.c};
        *fields[which] = NULL;
        if (which == PM_ARRAY_C) {
            lent.assignment.a = lent.assignment.b = NULL; /* a key without matrices needs them */
        }
        toy_expect(start_wrong(&subject, &lent, NULL, NULL, &error), PM_INVALID_ARGUMENT, &error);
        for (uint32_t i = 0; i < 5; ++i) {
            const bool was_lent = *fields[i] != NULL;
            assert_int_equal(lent.arrays[i].n_released, was_lent ? 1 : 0);
        }
    }
    proof_case_close(&subject);
}

static void missing_arguments_give_every_array_back(void **state) {
    (void)state;
    struct proof_case subject;
    pm_context *context = places.context[PLACE_CPU];
    assert_true(proof_case_open(context, "mult3", CASE_ZKEY, &subject));
    for (int missing = 0; missing < 3; ++missing) {
        struct lent_arrays lent;
        pm_pending *pending = NULL;
        lent_arrays_make(&subject, PM_SCALAR_CANONICAL, LENT_A_B, false, &lent);
        assert_int_equal(pm_prove_start_assignment(
                             missing == 0 ? NULL : context, missing == 1 ? NULL : subject.key,
                             &lent.assignment, NULL, NULL, missing == 2 ? NULL : &pending, NULL),
                         PM_INVALID_ARGUMENT);
        lent_arrays_close(&lent);
    }
    pm_pending *pending = NULL;
    assert_int_equal(
        pm_prove_start_assignment(context, subject.key, NULL, NULL, NULL, &pending, NULL),
        PM_INVALID_ARGUMENT);
    proof_case_close(&subject);
}

/* A key without matrices has nothing for a witness alone. */
static void a_bare_key_refuses_a_witness(void **state) {
    (void)state;
    struct proof_case subject;
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    assert_true(
        proof_case_open(places.context[PLACE_CPU], "mult3_bls", CASE_BARE_PARAMS, &subject));
    toy_expect(
        pm_prove(subject.context, subject.key, subject.witness, NULL, NULL, &proof, NULL, &error),
        PM_INVALID_ARGUMENT, &error);
    assert_non_null(strstr(error.message, "no matrices"));
    proof_case_close(&subject);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_manner_gives_the_same_proof),
        cmocka_unit_test(A9_RC1_both_reductions_prove_one_system),
        cmocka_unit_test(wrong_vectors_are_withheld),
        cmocka_unit_test(a_release_callback_is_not_needed),
        cmocka_unit_test(errors_give_every_array_back),
        cmocka_unit_test(missing_arrays_are_refused),
        cmocka_unit_test(missing_arguments_give_every_array_back),
        cmocka_unit_test(a_bare_key_refuses_a_witness),
    };
    return cmocka_run_group_tests(tests, open_places, close_places);
}
