/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * pairing/pairing.h - the optimal ate pairing of each curve.
 *
 * BN254: Vercauteren's optimal ate loop 6x + 2 with two extra lines; BLS12-381: loop |x|, x < 0.
 * G2 arguments are *prepared*: the coefficients of all lines, computed once for a fixed point.
 * A target element is gt_bytes of Montgomery limbs, 8-byte aligned.
 */
#ifndef PM_PAIRING_PAIRING_H
#define PM_PAIRING_PAIRING_H

#include "base/cpu.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PM_GT_BYTES_MAX (12 * 48)

struct pm_gt {
    uint64_t limb[PM_GT_BYTES_MAX / 8];
};

struct pm_pairing {
    pm_curve_id curve;
    const char *body;
    uint32_t gt_bytes;
    uint32_t prepared_bytes; /* one prepared G2 point */

    /* Lines of one affine (Montgomery) point of G2, prepared_bytes of them; infinity is allowed and
     * pairs to one. A point on the curve but outside G2 gives a meaningless result, no fault. */
    void (*prepare)(void *prepared, const void *g2_affine);
    /* f = product of the Miller loops of (g1[i], prepared[i]), without the final exponentiation.
     * g1: n pointers to affine points of G1; infinity contributes one. n may be 0. Points and
     * prepared points may have any alignment. */
    void (*miller)(struct pm_gt *f, const void *const *g1, const void *const *prepared, size_t n);
    /* f^(c (p^12 - 1) / r) with c = 2x (6x^2 + 3x + 1) for BN254 and c = 3 for BLS12-381, both
     * prime to r: equal to snarkjs's value, coordinate by coordinate. Zero gives zero. */
    void (*final_exponentiation)(struct pm_gt *r, const struct pm_gt *f);

    /* Arithmetic in F_p^12; r may be an operand. The inverse of zero is zero. */
    void (*gt_set_one)(struct pm_gt *r);
    bool (*gt_is_one)(const struct pm_gt *f);
    bool (*gt_eq)(const struct pm_gt *f, const struct pm_gt *g);
    void (*gt_mul)(struct pm_gt *r, const struct pm_gt *f, const struct pm_gt *g);
    void (*gt_inv)(struct pm_gt *r, const struct pm_gt *f);
    /* k is n_limbs little-endian limbs. */
    void (*gt_pow)(struct pm_gt *r, const struct pm_gt *f, const uint64_t *k, size_t n_limbs);
    /* Twelve canonical little-endian base field elements in the order [[[c0,c1] x 3] x 2]. */
    void (*gt_to_canonical)(void *out, const struct pm_gt *f);
};

const struct pm_pairing *pm_pairing_get(pm_curve_id curve, enum pm_body body);

#endif
