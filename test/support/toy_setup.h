/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/toy_setup.h - a Groth16 setup for circuits of a few rows, from secrets the test makes up.
 *
 * Written from the definition (Groth 2016, section 3.2; FORMATS for the snarkjs H query), quadratic
 * and one scalar multiplication a point: an oracle, and a source of keys of any shape, also
 * degenerate ones.
 */
#ifndef PM_TEST_SUPPORT_TOY_SETUP_H
#define PM_TEST_SUPPORT_TOY_SETUP_H

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

enum toy_matrix { TOY_A, TOY_B, TOY_C };

/* One entry of a constraint matrix; value may be negative. */
struct toy_entry {
    enum toy_matrix matrix;
    uint32_t row, column;
    int64_t value;
};

struct toy_circuit {
    pm_curve_id curve;
    uint32_t n_rows, n_vars, n_public, log_n; /* n_rows + n_public + 1 <= 2^log_n */
    const struct toy_entry *entries;
    size_t n_entries;
};

/* Heap arrays behind arrays; free with toy_key_free(). */
struct toy_key {
    pm_key_arrays arrays;
    void *owned[12];
    size_t n_owned;
};

/* tau, alpha, beta, gamma, delta in Montgomery form. */
struct toy_secrets {
    uint64_t tau[4], alpha[4], beta[4], gamma[4], delta[4];
};

/* seed makes the secrets. Aborts the test program when memory runs out. */
void toy_setup(const struct toy_circuit *circuit, uint64_t seed, struct toy_key *key);
/* With the secrets given, and the domain's root of unity from the non-residue `generator` (5:
 * snarkjs, 7: bellman on BLS12-381). The H query is snarkjs's in either case. */
void toy_setup_from_secrets(const struct toy_circuit *circuit, const struct toy_secrets *secrets,
                            uint64_t generator, struct toy_key *key);
void toy_key_free(struct toy_key *key);

/* A value of PM_FR_BYTES canonical bytes. */
void toy_value(pm_curve_id curve, int64_t value, uint8_t out[PM_FR_BYTES]);

#endif
