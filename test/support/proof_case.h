/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/proof_case.h - a circuit with a key of either reduction, its assignment in every form,
 * and arrays to lend that vanish when they are given back.
 */
#ifndef PM_TEST_SUPPORT_PROOF_CASE_H
#define PM_TEST_SUPPORT_PROOF_CASE_H

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proof_case_kind {
    CASE_ZKEY,        /* snarkjs's key */
    CASE_PARAMS,      /* a development key of bellman's reduction, with the constraint system */
    CASE_BARE_PARAMS, /* the same without: a, b, c and densities must be brought */
    CASE_KINDS
};

struct proof_case {
    char name[80];
    enum proof_case_kind kind;
    pm_context *context; /* borrowed */
    pm_key *key;
    pm_witness *witness;
    pm_vk *vk;
    pm_curve_id curve;
    uint64_t n_vars, n_inputs, n_rows; /* inputs with the constant one */
    uint8_t *values;                   /* n_vars canonical scalars */
    uint8_t *vectors[3];               /* a, b, c: n_rows canonical scalars each */
    uint64_t *a_aux_density, *b_input_density, *b_aux_density;
};

/* name: a folder of test/data, or else of the fixtures' small/. False when it is in neither, has no
 * key of this kind, or (CASE_PARAMS) is of another curve. Fails the running test when its files do
 * not open. */
bool proof_case_open(pm_context *context, const char *name, enum proof_case_kind kind,
                     struct proof_case *proof_case);
void proof_case_close(struct proof_case *proof_case);
/* Whether the proof holds for the case's public signals. */
pm_status proof_case_verify(const struct proof_case *proof_case, const pm_proof *proof);
/* Fails the running test if holds() finds one of the witness's scalars, of those that nothing else
 * can be: whole elements of the field. */
void proof_case_expect_absent(const struct proof_case *proof_case,
                              bool (*holds)(const void *bytes, size_t n_bytes));

enum lent_vectors { LENT_NO_VECTORS, LENT_A_B, LENT_A_B_C };

/* An array between pages that cannot be touched. */
struct lent_array {
    uint8_t *pages; /* NULL: given back, or never lent */
    size_t mapped_bytes;
    uint32_t n_released;
};

/* An assignment of which each array is unmapped in its release. */
struct lent_arrays {
    struct lent_array arrays[5]; /* by pm_assignment_array */
    struct lent_array densities[3];
    uint32_t n_lent;
    pm_assignment assignment;
};

void lent_arrays_make(const struct proof_case *proof_case, pm_scalar_form form,
                      enum lent_vectors vectors, bool with_densities, struct lent_arrays *lent);
/* Whether each array has been released once; those of a, b, c alone with vectors_only. */
bool lent_arrays_are_back(const struct lent_arrays *lent, bool vectors_only);
/* The densities go when start has returned. */
void lent_arrays_drop_densities(struct lent_arrays *lent);
/* Fails the running test unless everything is back. */
void lent_arrays_close(struct lent_arrays *lent);

#endif
