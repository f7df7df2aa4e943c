/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * B18: one flipped bit anywhere in a proving key. Where it is decides who finds it, and this test
 * tabulates that:
 *   - anything but points, coefficients and the ceremony's transcript: opening, or it is harmless
 *     because the section is not needed;
 *   - a point, wherever it stands: check, always;
 *   - a coefficient: opening when an index leaves its range, else the proof's self-verification,
 *     as no check of the key alone can know the circuit. Where neither does, the proof is valid;
 *   - the transcript: nobody, it is no part of proving.
 *
 * Without an argument a sample of bits, with "slow" every bit of two keys and a sample of a larger
 * one.
 */
#include "support/mutants.h"
#include "support/outcomes.h"
#include "support/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool is_slow;
static struct seeded_random seeded;

/* Rows of the tables are regions, in the order in which they are met. */
static const char *regions[OUTCOME_ROWS];
static struct outcomes open_outcomes = {.title = "one bit flipped: keys opened"};
static struct outcomes check_outcomes = {.title = "one bit flipped: keys checked"};
static struct outcomes prove_outcomes = {.title = "one bit flipped: proofs (OK: verified)"};

static size_t row_of(const char *region) {
    size_t row = 0;
    while (regions[row] != NULL && strcmp(regions[row], region) != 0) {
        ++row;
    }
    assert_true(row + 1 < OUTCOME_ROWS);
    regions[row] = region;
    return row;
}

static const char *row_words(size_t row) {
    return regions[row];
}

static bool is_transcript(const struct layout_field *field) {
    return strcmp(field->region, "transcript") == 0;
}

static bool is_coefficient(const struct layout_field *field) {
    return field->section == 4 && (field->kind == LAYOUT_INDEX || field->kind == LAYOUT_ELEMENT);
}

/* Turns section 3 or 10 into one that is not known: the key lacks it then. */
static bool is_loss_of_optional_section(const struct layout_field *field) {
    return strcmp(field->region, "section's type") == 0 &&
           (field->section == 3 || field->section == 10);
}

static void expect_open(const struct mutant *mutant, pm_status open, const char *text) {
    const struct layout_field *field = mutant->field;
    if (field->kind == LAYOUT_INDEX) {
        uint32_t index = 0;
        memcpy(&index, mutant->bytes + field->offset, sizeof index);
        if ((open == PM_OK) != (index < field->bound)) {
            fail_msg("%s: index %u gives %s", text, index, pm_status_name(open));
        }
    }
    if (field->group != NULL || is_transcript(field)) {
        if (open != PM_OK) {
            fail_msg("%s: the key does not open", text);
        }
    } else if (open == PM_OK && !is_coefficient(field) && !is_loss_of_optional_section(field)) {
        fail_msg("%s: the key opens", text);
    }
}

static void try_opened(const struct subject *subject, const struct mutant *mutant,
                       const pm_key *key, const char *text) {
    const size_t row = row_of(mutant->field->region);
    pm_error error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = sizeof proof};
    const pm_status check = pm_key_check(subject->context, key, NULL, &error);
    if ((check != PM_OK) != (mutant->field->group != NULL)) {
        fail_msg("%s: check says %s", text, pm_status_name(check));
    }
    if (check != PM_OK) {
        outcome_expect_place(check, &error, "mutant.zkey", text);
        assert_true(error.offset == mutant->field->point_offset);
    }
    outcomes_add(&check_outcomes, row, check);
    const pm_status prove =
        pm_prove(subject->context, key, subject->witness, NULL, NULL, &proof, NULL, &error);
    if (prove != PM_OK) {
        outcome_expect_error(prove, &error, "mutant.zkey", text);
    } else if (subject_verify(subject, subject->vk, subject->witness, &proof) != PM_OK) {
        fail_msg("%s: an invalid proof was given out", text);
    }
    if (is_transcript(mutant->field)) {
        assert_int_equal(prove, PM_OK);
    }
    outcomes_add(&prove_outcomes, row, prove);
}

static void try_bit(void *user, const struct mutant *mutant) {
    const struct subject *subject = user;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    char mutation[160], text[256];
    (void)snprintf(text, sizeof text, "%s: %s", subject->name, mutant_text(mutant, mutation));
    const uint64_t begin_ns = outcome_cpu_ns();
    const pm_status open = pm_key_open_memory(subject->context, mutant->bytes, mutant->n_bytes,
                                              "mutant.zkey", NULL, &key, &error);
    expect_open(mutant, open, text);
    outcomes_add(&open_outcomes, row_of(mutant->field->region), open);
    if (open != PM_OK) {
        outcome_expect_place(open, &error, "mutant.zkey", text);
    } else {
        try_opened(subject, mutant, key, text);
    }
    assert_true(outcome_cpu_ns() - begin_ns <= subject_cpu_ns_max(subject, open == PM_OK));
    pm_key_destroy(key);
}

static void try_circuit(const char *name, size_t step) {
    struct subject subject;
    struct layout layout;
    if (!subject_open(name, &subject)) {
        skip();
    }
    layout_zkey(&subject.zkey, subject.curve, &layout);
    mutants_of_bits(&layout, step, &seeded, try_bit, &subject);
    layout_free(&layout);
    subject_close(&subject);
}

static void B18_one_flipped_bit(void **state) {
    (void)state;
    for (size_t i = 0; subject_names[i] != NULL; ++i) {
        try_circuit(subject_names[i], is_slow ? 2 : 40);
    }
}

static void every_bit_of_a_small_key(void **state) {
    (void)state;
    if (is_slow) {
        try_circuit("one", 0);
        try_circuit("one_bls", 0);
        try_circuit("own_mimc", 1999);
    }
}

static void every_region_was_tried(void **state) {
    static const char *const wanted[] = {"magic",
                                         "section's length",
                                         "prime",
                                         "header's counts",
                                         "header's points",
                                         "ic points",
                                         "a points",
                                         "b1 points",
                                         "b2 points",
                                         "c points",
                                         "h points",
                                         "transcript",
                                         "number of coefficients",
                                         "coefficient's value",
                                         "coefficient's row"};
    (void)state;
    outcomes_print(&open_outcomes, row_words);
    outcomes_print(&check_outcomes, row_words);
    outcomes_print(&prove_outcomes, row_words);
    assert_true(outcomes_total(&open_outcomes) >= (is_slow ? 50000 : 500));
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        /* A sample may miss the few bytes of a count. */
        if (is_slow || strstr(wanted[i], "points") != NULL) {
            assert_true(outcomes_in_row(&open_outcomes, row_of(wanted[i])) > 0);
        }
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B18_one_flipped_bit),
        cmocka_unit_test(every_bit_of_a_small_key),
        cmocka_unit_test(every_region_was_tried),
    };
    is_slow = outcome_is_slow(argc, argv);
    seeded = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
