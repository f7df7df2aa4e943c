/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/prove.h - what a proof is made of once its sums are known: Groth, "On the size of
 * pairing-based non-interactive arguments", EUROCRYPT 2016, section 3.2.
 *
 *   w  --> a = A.w, b = B.w, c             rows of the constraint system
 *      --> h                               the quotient, by the key's reduction
 *   sums: H(h), A(w), B1(w), L(w), B2(w)   a plan's steps (groth16/plan.h), on any backend
 *   assemble with r and s                  here
 *
 * In the snarkjs reduction H holds the Lagrange basis of the doubled domain at its odd points,
 * divided by delta, so h needs no division by the vanishing polynomial (doc/format_zkey.md); in
 * bellman's, the powers of tau times that polynomial (doc/format_params.md).
 */
#ifndef PM_GROTH16_PROVE_H
#define PM_GROTH16_PROVE_H

#include "groth16/backend.h"
#include "groth16/proving_key.h"
#include "par/team.h"

#include <stdint.h>

/* r and s, canonical. Whoever makes one wipes it. */
struct pm_blinding {
    uint64_t r[PM_FR_LIMBS_MAX];
    uint64_t s[PM_FR_LIMBS_MAX];
};

/* Uniform r and s from the operating system: 512 bits each, reduced, so biased by less than 2^-256.
 */
pm_status pm_groth16_draw_blinding(const struct pm_curve *curve, struct pm_blinding *blinding,
                                   pm_error *error);

/* Affine, Montgomery: the form of curve/curve.h. */
struct pm_groth16_proof {
    uint8_t a[PM_G1_BYTES_MAX];
    uint8_t b[PM_G2_BYTES_MAX];
    uint8_t c[PM_G1_BYTES_MAX];
};

/*
 *   A  = alpha + sum_a  + r delta                     on G1
 *   B  = beta  + sum_b2 + s delta                     on G2, and B1 likewise on G1
 *   C  = sum_l + sum_h + s A + r B1 - r s delta       on G1
 *
 * The same in both reductions. Uses *sums up: they hold no sums afterwards, but secrets still. team
 * may be NULL.
 */
void pm_groth16_assemble(const struct pm_curve *curve, const struct pm_key_header *key,
                         struct pm_sums *sums, const struct pm_blinding *blinding,
                         struct pm_team *team, struct pm_groth16_proof *proof);

#endif
