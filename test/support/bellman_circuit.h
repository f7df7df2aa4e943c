/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/bellman_circuit.h - circuits of any exact shape as bellperson hands them to a prover: a
 * satisfied assignment in Montgomery form, a, b and c, densities, and the constraint system for a
 * development key.
 *
 * Every aux variable is in C, exactly n_a_aux of them are in A and n_b_aux in B, spread evenly; of
 * the inputs the constant one alone is in B. A row's last variable of C is what makes it hold, and
 * its A and B are of variables before that: so one system has an assignment for every seed. In
 * three of four rows that variable is a bit.
 */
#ifndef PM_TEST_SUPPORT_BELLMAN_CIRCUIT_H
#define PM_TEST_SUPPORT_BELLMAN_CIRCUIT_H

#include <proofmill/proofmill.h>

#include <stdint.h>

struct bellman_shape {
    uint64_t n_inputs; /* with the constant one */
    uint64_t n_rows;   /* with one behind the constraints for each input */
    uint64_t n_aux, n_a_aux, n_b_aux;
};

enum bellman_array {
    BELLMAN_INPUTS,
    BELLMAN_AUX,
    BELLMAN_A,
    BELLMAN_B,
    BELLMAN_C,
    BELLMAN_A_AUX_DENSITY,
    BELLMAN_B_INPUT_DENSITY,
    BELLMAN_B_AUX_DENSITY,
    BELLMAN_ARRAYS
};

struct bellman_circuit {
    struct bellman_shape shape;
    /* Each ends at a page that cannot be touched; NULL once it is dropped. */
    void *array[BELLMAN_ARRAYS];
    struct {
        void *pages;
        size_t bytes;
    } mapped[BELLMAN_ARRAYS];
};

/* A shape with the proportions of Filecoin's PoRep that fills a domain of 2^log_n, 3 <= log_n. */
struct bellman_shape bellman_shape_of_log_n(uint32_t log_n);
/* Bytes of the parameter file. */
uint64_t bellman_params_bytes(const struct bellman_shape *shape);

/* value_seed chooses the free values: the constraint system is the same for all of them. It is
 * written to r1cs_path unless that is NULL. */
void bellman_circuit_make(const struct bellman_shape *shape, uint64_t value_seed,
                          const char *r1cs_path, struct bellman_circuit *circuit);
/* Unmaps one array, or all of them. */
void bellman_circuit_drop(struct bellman_circuit *circuit, enum bellman_array array);
void bellman_circuit_free(struct bellman_circuit *circuit);
/* The inputs without the constant one, canonical; for free(). */
uint8_t *bellman_circuit_publics(const struct bellman_circuit *circuit);

#endif
