/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Mutants of witnesses and constraint systems. Prover and checker are held against each other: a
 * witness that opens gives a proof if and only if it satisfies the constraint system.
 *
 * Without an argument a sample of the mutants of every circuit, with "slow" each of them and those
 * of a larger circuit.
 */
#include "io/r1cs.h"
#include "support/mutants.h"
#include "support/outcomes.h"
#include "support/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct trial {
    const struct subject *subject;
    char text[256];
    uint64_t begin_ns;
};

static bool is_slow;
static struct outcomes wtns_outcomes = {.title = "witnesses: proofs (OK: verified)"};
static struct outcomes open_outcomes = {.title = "constraint systems checked as files"};
static struct outcomes r1cs_outcomes = {.title = "constraint systems: the good witness checked"};

static const char *row_words(size_t row) {
    return mutation_words((enum mutation)row);
}

static void begin(struct trial *trial, const struct mutant *mutant) {
    char mutation[160];
    (void)snprintf(trial->text, sizeof trial->text, "%s: %s", trial->subject->name,
                   mutant_text(mutant, mutation));
    trial->begin_ns = outcome_cpu_ns();
}

static void end(const struct trial *trial) {
    if (outcome_cpu_ns() - trial->begin_ns > subject_cpu_ns_max(trial->subject, true)) {
        fail_msg("%s: took too long", trial->text);
    }
}

/* ---------------------------------------------------------------------------------------------
 * .wtns
 * ------------------------------------------------------------------------------------------- */

static pm_status prove_and_check(const struct subject *subject, const pm_witness *witness,
                                 const char *text) {
    pm_error error = PM_ERROR_INIT, check_error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = sizeof proof};
    const pm_status prove =
        pm_prove(subject->context, subject->key, witness, NULL, NULL, &proof, NULL, &error);
    const pm_status check = pm_r1cs_check_witness(subject->context, subject->r1cs_path, witness,
                                                  NULL, NULL, &check_error);
    if (prove == PM_OK) {
        if (subject_verify(subject, subject->vk, witness, &proof) != PM_OK) {
            fail_msg("%s: an invalid proof was given out", text);
        }
    } else {
        outcome_expect_error(prove, &error, "good.zkey", text);
        outcome_expect_error(check, &check_error, subject->r1cs_path, text);
    }
    const pm_status expected = check == PM_UNSATISFIED ? PM_SELF_VERIFY : check;
    if (prove != expected) {
        fail_msg("%s: proving gives %s, checking %s", text, pm_status_name(prove),
                 pm_status_name(check));
    }
    return prove;
}

static bool witness_must_not_open(const struct mutant *mutant) {
    switch (mutant->kind) {
    case MUTATION_SECTION_MOVED:
    case MUTATION_SECTION_RENUMBERED:
        return false;
    case MUTATION_VALUE:
        return mutant->value >= 3; /* p, p + 1, all ones */
    default:
        return true;
    }
}

static void try_witness(void *user, const struct mutant *mutant) {
    struct trial *trial = user;
    const struct subject *subject = trial->subject;
    pm_error error = PM_ERROR_INIT;
    pm_witness *witness = NULL;
    begin(trial, mutant);
    const pm_status open = pm_witness_open_memory(subject->context, mutant->bytes, mutant->n_bytes,
                                                  "mutant.wtns", NULL, &witness, &error);
    pm_status outcome = open;
    if (open != PM_OK) {
        outcome_expect_place(open, &error, "mutant.wtns", trial->text);
    } else if (witness_must_not_open(mutant)) {
        fail_msg("%s: the witness opens", trial->text);
    } else {
        outcome = prove_and_check(subject, witness, trial->text);
    }
    if (mutant->kind == MUTATION_SECTION_MOVED) {
        assert_int_equal(outcome, PM_OK);
    }
    /* As a file it is judged alone; that it begins with one is asked of the witness of a proof. */
    const char *path = outcome_file(mutant->bytes, mutant->n_bytes);
    const pm_status check = pm_file_check(subject->context, path, NULL, &error);
    if (check != PM_OK) {
        outcome_expect_error(check, &error, path, trial->text);
    }
    assert_true(check == open || open == PM_NOT_THIS_KIND);
    outcomes_add(&wtns_outcomes, mutant->kind, outcome);
    pm_witness_destroy(witness);
    end(trial);
}

/* ---------------------------------------------------------------------------------------------
 * .r1cs
 * ------------------------------------------------------------------------------------------- */

static bool system_must_not_open(const struct mutant *mutant) {
    switch (mutant->kind) {
    case MUTATION_MAGIC:
    case MUTATION_SECTION_COUNT:
    case MUTATION_SECTION_DOUBLED:
    case MUTATION_SECTION_BYTE:
    case MUTATION_SECTION_ELEMENT:
    case MUTATION_SECTION_LENGTH:
    case MUTATION_PRIME:
        return true;
    case MUTATION_SECTION_MISSING:
        return mutant->section != 3;
    case MUTATION_INDEX:
        return mutant->value >= mutant->field->bound;
    case MUTATION_VALUE:
        return mutant->value >= 3;
    default:
        return false;
    }
}

/* The reader on bytes that end where the file ends, which a mapping's do not. */
static pm_status open_exact(const struct mutant *mutant) {
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
    assert_int_equal(
        pm_mapping_borrow(mutant->bytes, mutant->n_bytes, "mutant.r1cs", &mapping, NULL), PM_OK);
    const pm_status status = pm_r1cs_open(&mapping, NULL, &r1cs, NULL);
    pm_mapping_close(&mapping);
    return status;
}

static void try_system(void *user, const struct mutant *mutant) {
    struct trial *trial = user;
    const struct subject *subject = trial->subject;
    pm_error error = PM_ERROR_INIT, check_error = PM_ERROR_INIT;
    uint64_t row = UINT64_MAX;
    begin(trial, mutant);
    const char *path = outcome_file(mutant->bytes, mutant->n_bytes);
    const pm_status open = pm_file_check(subject->context, path, NULL, &error);
    const pm_status check =
        pm_r1cs_check_witness(subject->context, path, subject->witness, NULL, &row, &check_error);
    if (check != PM_OK) {
        outcome_expect_error(check, &check_error, path, trial->text);
    }
    const pm_status exact = open_exact(mutant);
    assert_true(exact == open || exact == PM_NOT_THIS_KIND);
    if (exact != PM_OK) {
        outcome_expect_error(open, &error, path, trial->text);
        outcome_expect_place(check, &check_error, path, trial->text);
        assert_int_equal(check, exact);
    } else if (system_must_not_open(mutant)) {
        fail_msg("%s: the constraint system opens", trial->text);
    } else {
        assert_true(check == PM_OK || check == PM_UNSATISFIED || check == PM_WITNESS_MISMATCH);
        assert_int_equal(check == PM_UNSATISFIED, row != UINT64_MAX);
    }
    if (mutant->kind == MUTATION_SECTION_MOVED) {
        assert_int_equal(check, PM_OK);
    }
    outcomes_add(&open_outcomes, mutant->kind, open);
    outcomes_add(&r1cs_outcomes, mutant->kind, check);
    end(trial);
}

/* ---------------------------------------------------------------------------------------------
 * All of them
 * ------------------------------------------------------------------------------------------- */

static void try_circuit(const char *name, unsigned sample) {
    struct subject subject;
    struct layout layout;
    if (!subject_open(name, &subject)) {
        skip();
    }
    struct trial trial = {.subject = &subject};
    layout_wtns(&subject.wtns, subject.curve, &layout);
    mutants_of_sections(&layout, try_witness, &trial);
    mutants_of_fields(&layout, sample, try_witness, &trial);
    layout_free(&layout);
    layout_r1cs(&subject.r1cs, subject.curve, &layout);
    mutants_of_sections(&layout, try_system, &trial);
    mutants_of_fields(&layout, sample, try_system, &trial);
    layout_free(&layout);
    subject_close(&subject);
}

static void mutants_of_every_circuit(void **state) {
    (void)state;
    for (size_t i = 0; subject_names[i] != NULL; ++i) {
        try_circuit(subject_names[i], 1);
    }
}

static void mutants_of_larger_circuits(void **state) {
    (void)state;
    if (is_slow) {
        try_circuit("own_mimc", 47);
        try_circuit("eddsa_bls", 499);
    }
}

static void expect_least(const struct outcomes *outcomes, const unsigned least[MUTATIONS]) {
    for (size_t kind = 0; kind < MUTATIONS; ++kind) {
        if (outcomes_in_row(outcomes, kind) < least[kind]) {
            fail_msg("%s, %s: %u tried, at least %u wanted", outcomes->title,
                     mutation_words((enum mutation)kind), outcomes_in_row(outcomes, kind),
                     least[kind]);
        }
    }
}

static void enough_was_tried(void **state) {
    static const unsigned least_wtns[MUTATIONS] = {
        [MUTATION_MAGIC] = 90,           [MUTATION_SECTION_COUNT] = 40,
        [MUTATION_SECTION_MISSING] = 12, [MUTATION_SECTION_DOUBLED] = 12,
        [MUTATION_SECTION_BYTE] = 24,    [MUTATION_SECTION_ELEMENT] = 24,
        [MUTATION_SECTION_MOVED] = 12,   [MUTATION_SECTION_RENUMBERED] = 110,
        [MUTATION_SECTION_LENGTH] = 110, [MUTATION_PRIME] = 190,
        [MUTATION_COUNT] = 70,           [MUTATION_VALUE] = 150,
    };
    static const unsigned least_r1cs[MUTATIONS] = {
        [MUTATION_MAGIC] = 90,           [MUTATION_SECTION_COUNT] = 40,
        [MUTATION_SECTION_MISSING] = 18, [MUTATION_SECTION_DOUBLED] = 18,
        [MUTATION_SECTION_BYTE] = 36,    [MUTATION_SECTION_ELEMENT] = 36,
        [MUTATION_SECTION_MOVED] = 20,   [MUTATION_SECTION_RENUMBERED] = 160,
        [MUTATION_SECTION_LENGTH] = 160, [MUTATION_PRIME] = 190,
        [MUTATION_COUNT] = 400,          [MUTATION_INDEX] = 150,
        [MUTATION_VALUE] = 120,
    };
    (void)state;
    outcomes_print(&wtns_outcomes, row_words);
    outcomes_print(&open_outcomes, row_words);
    outcomes_print(&r1cs_outcomes, row_words);
    expect_least(&wtns_outcomes, least_wtns);
    expect_least(&r1cs_outcomes, least_r1cs);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutants_of_every_circuit),
        cmocka_unit_test(mutants_of_larger_circuits),
        cmocka_unit_test(enough_was_tried),
    };
    is_slow = outcome_is_slow(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
