/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * demo_circuit.h - the statement that the demo proves: "I know x with mix(x) = y", y public.
 *
 * mix() is a chain of n_rounds rounds in the manner of MiMC (Albrecht, Grassi, Rechberger, Roy,
 * Tiessen, ASIACRYPT 2016, section 2), t <- (t + c_i)^5 from t = x, with x added to the last t so
 * that the chain cannot be run backwards. c_i = i^3 + 7 is chosen for legibility: this is a demo of
 * proving, not a hash to use.
 *
 * Round i takes three constraints with u = t + c_i:
 *     u * u = s_i        s_i * s_i = q_i        q_i * u = next t   (the last: q_i * u = y - x)
 * Wires: 0 is the constant one, 1 is y, 2 is x, then s_i, q_i, t_(i+1) for each round.
 */
#ifndef PM_DEMO_CIRCUIT_H
#define PM_DEMO_CIRCUIT_H

#include "curve/curve.h"

#include <stddef.h>
#include <stdint.h>

#define DEMO_ROUNDS_MIN 1
#define DEMO_ROUNDS_MAX (1u << 20) /* i^3 + 7 stays below 2^64 */
#define DEMO_N_PUBLIC 1u
#define DEMO_WIRE_ONE 0u
#define DEMO_WIRE_OUTPUT 1u
#define DEMO_WIRE_INPUT 2u

static inline uint32_t demo_n_constraints(uint32_t n_rounds) {
    return 3 * n_rounds;
}
static inline uint32_t demo_n_vars(uint32_t n_rounds) {
    return 3 * n_rounds + 2;
}

/* One wire of a linear combination. The factor is positive + constant, or minus one. */
struct demo_term {
    uint32_t matrix; /* 0: A, 1: B, 2: C */
    uint32_t row;
    uint32_t wire;
    int is_minus_one;
    uint64_t factor; /* when it is not minus one */
};

/* Calls visit for each non-zero of A, B and C; rows never decrease. */
void demo_circuit_terms(uint32_t n_rounds, void (*visit)(void *user, const struct demo_term *term),
                        void *user);

/* Fills all demo_n_vars(n_rounds) wires, canonical little-endian, for the canonical input x. */
void demo_circuit_wires(const struct pm_field *fr, uint32_t n_rounds, const uint8_t x[PM_FR_BYTES],
                        uint8_t *wires);

#endif
