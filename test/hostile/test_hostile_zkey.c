/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Mutants of proving keys: each gives a proof that verifies or a refusal that says what and where,
 * and check finds what can be found without the circuit.
 *
 * Without an argument a sample of the mutants of every circuit, with "slow" each of them and those
 * of a larger circuit.
 */
#include "support/fixture.h"
#include "support/mutants.h"
#include "support/outcomes.h"
#include "support/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* What became of one mutant. */
struct verdict {
    pm_status open, check, prove;
    pm_error open_error, check_error, prove_error;
};

static bool is_slow;
static struct outcomes open_outcomes = {.title = "keys opened"};
static struct outcomes prove_outcomes = {.title = "proofs asked for (OK: verified)"};
static struct outcomes check_outcomes = {.title = "keys checked"};
static unsigned n_other_vk;

static const char *row_words(size_t row) {
    return mutation_words((enum mutation)row);
}

/* A proof must hold under the key that everybody has. Where the mutation changed the verifying key
 * itself, and left the proving key in agreement with it, it holds under that one. */
static void judge_proof(const struct subject *subject, const pm_key *key, const pm_proof *proof,
                        const char *text) {
    pm_error error = PM_ERROR_INIT;
    pm_vk *vk = NULL;
    if (subject_verify(subject, subject->vk, subject->witness, proof) == PM_OK) {
        return;
    }
    assert_int_equal(pm_vk_from_key(subject->context, key, &vk, &error), PM_OK);
    if (subject_verify(subject, vk, subject->witness, proof) != PM_OK) {
        fail_msg("%s: an invalid proof was given out", text);
    }
    n_other_vk++;
    pm_vk_destroy(vk);
}

static void prove_with(const struct subject *subject, const pm_key *key, struct verdict *verdict,
                       const char *text) {
    pm_proof proof = {.struct_bytes = sizeof proof};
    verdict->prove = pm_prove(subject->context, key, subject->witness, NULL, NULL, &proof, NULL,
                              &verdict->prove_error);
    if (verdict->prove == PM_OK) {
        judge_proof(subject, key, &proof, text);
    } else {
        outcome_expect_error(verdict->prove, &verdict->prove_error, "mutant.zkey", text);
    }
}

static void judge(const struct subject *subject, const struct mutant *mutant,
                  struct verdict *verdict, const char *text) {
    pm_context *context = subject->context;
    pm_key *key = NULL;
    const pm_error no_error = PM_ERROR_INIT;
    pm_error error = PM_ERROR_INIT;
    *verdict =
        (struct verdict){.open_error = no_error, .check_error = no_error, .prove_error = no_error};
    verdict->open = pm_key_open_memory(context, mutant->bytes, mutant->n_bytes, "mutant.zkey", NULL,
                                       &key, &verdict->open_error);
    const char *path = outcome_file(mutant->bytes, mutant->n_bytes);
    const pm_status file_check = pm_file_check(context, path, NULL, &error);
    if (verdict->open != PM_OK) {
        outcome_expect_place(verdict->open, &verdict->open_error, "mutant.zkey", text);
        /* A file is known by its magic, so another kind's is read as that. */
        assert_true(file_check == verdict->open || verdict->open == PM_NOT_THIS_KIND);
        outcome_expect_error(file_check, &error, path, text);
        return;
    }
    verdict->check = pm_key_check(context, key, NULL, &verdict->check_error);
    assert_int_equal(verdict->check, file_check);
    if (verdict->check != PM_OK) {
        outcome_expect_place(verdict->check, &verdict->check_error, "mutant.zkey", text);
    }
    prove_with(subject, key, verdict, text);
    pm_key_destroy(key);
}

/* ---------------------------------------------------------------------------------------------
 * What each kind must come to
 * ------------------------------------------------------------------------------------------- */

static bool is_one_of(pm_status status, const pm_status *statuses, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (statuses[i] == status) {
            return true;
        }
    }
    return false;
}

/* The statuses that the header promises for pm_key_open(). */
static void expect_documented(pm_status open, const char *text) {
    static const pm_status documented[] = {PM_OK,    PM_NOT_THIS_KIND, PM_VERSION,    PM_PROTOCOL,
                                           PM_CURVE, PM_TRUNCATED,     PM_SECTION,    PM_LENGTH,
                                           PM_COUNT, PM_NOT_CANONICAL, PM_UNSUPPORTED};
    if (!is_one_of(open, documented, sizeof documented / sizeof documented[0])) {
        fail_msg("%s: opening gave %s", text, pm_status_name(open));
    }
}

static bool must_not_open(const struct mutant *mutant) {
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
        return mutant->section != 3 && mutant->section != 10;
    case MUTATION_INDEX:
        return mutant->value >= mutant->field->bound;
    case MUTATION_VALUE:
        return mutant->value >= 3; /* p, p + 1, all ones */
    default:
        return false;
    }
}

/* Opening does not look at points, and order is free. */
static bool must_open(const struct mutant *mutant) {
    return mutant->kind == MUTATION_SECTION_MOVED ||
           (mutant->kind == MUTATION_INDEX && mutant->value < mutant->field->bound) ||
           (mutant->kind == MUTATION_VALUE && mutant->value < 3) ||
           (mutant->kind >= MUTATION_COORDINATE && mutant->kind <= MUTATION_POINT_SWAPPED);
}

/* What check must say, or OK. */
static pm_status must_be_found(const struct mutant *mutant) {
    switch (mutant->kind) {
    case MUTATION_COORDINATE:
        return mutant->value >= 3 ? PM_NOT_CANONICAL : PM_NOT_ON_CURVE;
    case MUTATION_POINT_ZERO:
        return mutant->field->may_be_infinite ? PM_OK : PM_POINT_AT_INFINITY;
    case MUTATION_POINT_OFF_CURVE:
        return PM_NOT_ON_CURVE;
    case MUTATION_POINT_OFF_SUBGROUP:
    case MUTATION_POINT_COFACTOR:
        return PM_NOT_IN_SUBGROUP;
    default:
        return PM_OK;
    }
}

static void expect(const struct mutant *mutant, const struct verdict *verdict, const char *text) {
    expect_documented(verdict->open, text);
    if (must_not_open(mutant) && verdict->open == PM_OK) {
        fail_msg("%s: the key opens", text);
    }
    if (must_open(mutant) && verdict->open != PM_OK) {
        fail_msg("%s: the key does not open: %s", text, verdict->open_error.message);
    }
    const pm_status found = must_be_found(mutant);
    if (verdict->open == PM_OK && verdict->check != found) {
        fail_msg("%s: check says %s (%s)", text, pm_status_name(verdict->check),
                 verdict->check_error.message);
    }
    if (found != PM_OK && verdict->check_error.offset != mutant->field->point_offset) {
        fail_msg("%s: check says so of byte %llu", text,
                 (unsigned long long)verdict->check_error.offset);
    }
    if (mutant->kind == MUTATION_SECTION_MOVED) {
        assert_int_equal(verdict->prove, PM_OK);
    }
    if (mutant->kind == MUTATION_SECTION_MISSING && mutant->section == 3) {
        assert_int_equal(verdict->prove, PM_SECTION);
    }
    if (mutant->kind == MUTATION_SECTION_MISSING && mutant->section == 10) {
        assert_int_equal(verdict->prove, PM_OK);
    }
}

static void try_mutant(void *user, const struct mutant *mutant) {
    const struct subject *subject = user;
    struct verdict verdict;
    char mutation[160], text[256];
    (void)snprintf(text, sizeof text, "%s: %s", subject->name, mutant_text(mutant, mutation));
    const uint64_t begin_ns = outcome_cpu_ns();
    judge(subject, mutant, &verdict, text);
    if (outcome_cpu_ns() - begin_ns > subject_cpu_ns_max(subject, verdict.open == PM_OK)) {
        fail_msg("%s: took too long", text);
    }
    expect(mutant, &verdict, text);
    outcomes_add(&open_outcomes, mutant->kind, verdict.open);
    if (verdict.open == PM_OK) {
        outcomes_add(&check_outcomes, mutant->kind, verdict.check);
        outcomes_add(&prove_outcomes, mutant->kind, verdict.prove);
    }
}

static void try_circuit(const char *name, unsigned sample) {
    struct subject subject;
    struct layout layout;
    if (!subject_open(name, &subject)) {
        skip();
    }
    layout_zkey(&subject.zkey, subject.curve, &layout);
    mutants_of_sections(&layout, try_mutant, &subject);
    mutants_of_fields(&layout, sample, try_mutant, &subject);
    layout_free(&layout);
    subject_close(&subject);
}

static void B18_mutants_of_every_circuit(void **state) {
    (void)state;
    for (size_t i = 0; subject_names[i] != NULL; ++i) {
        try_circuit(subject_names[i], is_slow ? 1 : 5);
    }
}

static void mutants_of_larger_circuits(void **state) {
    (void)state;
    if (is_slow) {
        try_circuit("own_mimc", 499);
        try_circuit("eddsa_bls", 4999);
    }
}

/* So that none of it rots away: what at least must have been tried, of each kind. */
static void enough_was_tried(void **state) {
    static const unsigned least[MUTATIONS] = {
        [MUTATION_MAGIC] = 91,
        [MUTATION_SECTION_COUNT] = 37,
        [MUTATION_SECTION_MISSING] = 54,
        [MUTATION_SECTION_DOUBLED] = 54,
        [MUTATION_SECTION_BYTE] = 106,
        [MUTATION_SECTION_ELEMENT] = 106,
        [MUTATION_SECTION_MOVED] = 97,
        [MUTATION_SECTION_RENUMBERED] = 561,
        [MUTATION_SECTION_LENGTH] = 590,
        [MUTATION_PRIME] = 83,
        [MUTATION_COUNT] = 68,
        [MUTATION_INDEX] = 149,
        [MUTATION_VALUE] = 43,
        [MUTATION_COORDINATE] = 525,
        [MUTATION_POINT_ZERO] = 28,
        [MUTATION_POINT_OFF_CURVE] = 75,
        [MUTATION_POINT_OFF_SUBGROUP] = 25,
        [MUTATION_POINT_COFACTOR] = 25,
        [MUTATION_POINT_NEGATED] = 28,
        [MUTATION_POINT_SWAPPED] = 23,
    };
    (void)state;
    outcomes_print(&open_outcomes, row_words);
    outcomes_print(&check_outcomes, row_words);
    outcomes_print(&prove_outcomes, row_words);
    printf("\nproofs that hold under the mutant's verifying key alone: %u\n", n_other_vk);
    for (size_t kind = 0; kind < MUTATIONS; ++kind) {
        if (outcomes_in_row(&open_outcomes, kind) < least[kind]) {
            fail_msg("%s: %u tried, at least %u wanted", mutation_words((enum mutation)kind),
                     outcomes_in_row(&open_outcomes, kind), least[kind]);
        }
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B18_mutants_of_every_circuit),
        cmocka_unit_test(mutants_of_larger_circuits),
        cmocka_unit_test(enough_was_tried),
    };
    is_slow = outcome_is_slow(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
