/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * ff/field.h - the fields as tables of functions, for code that is not compiled per curve.
 *
 * One table is one field in one body. A call through it costs an indirect jump, so loops over field
 * elements belong into instance units (ff_instance.inc), not above this header.
 *
 * Elements are arrays of `limbs` little-endian words in Montgomery form, fully reduced; no
 * alignment beyond that of uint64_t. Outputs come first and may be the same array as any input, but
 * must not overlap one in part. Nothing is constant-time. The tables are constant and safe to
 * share.
 */
#ifndef PM_FF_FIELD_H
#define PM_FF_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <proofmill/proofmill.h>

#include "base/cpu.h"

struct pm_field {
    const char *name; /* "bn254.fp" */
    const char *body; /* "portable", "adx": what was compiled, hence what runs */
    uint32_t limbs;
    uint32_t bytes;       /* 8 limbs: of an element, and of a canonical integer */
    uint32_t bits;        /* of the modulus */
    uint32_t two_adicity; /* the largest s with 2^s | modulus - 1 */
    const uint64_t *modulus;
    const uint64_t *one; /* in Montgomery form */

    /* Whether the integer a is below the modulus. */
    bool (*is_canonical)(const uint64_t *a);

    void (*add)(uint64_t *r, const uint64_t *a, const uint64_t *b);
    void (*sub)(uint64_t *r, const uint64_t *a, const uint64_t *b);
    void (*neg)(uint64_t *r, const uint64_t *a);
    void (*mul)(uint64_t *r, const uint64_t *a, const uint64_t *b);
    void (*sqr)(uint64_t *r, const uint64_t *a);
    /* 1 / a, and 0 for 0. */
    void (*inv)(uint64_t *r, const uint64_t *a);
    /* n inverses in place, zeros stay zero; scratch has room for n elements. */
    void (*batch_inv)(uint64_t *a, uint64_t *scratch, size_t n);
    /* False, leaving r alone, if a is no square. Which of the two roots is unspecified. */
    bool (*sqrt)(uint64_t *r, const uint64_t *a);
    /* a^e for an integer e of n_limbs little-endian words; a^0 = 1. */
    void (*pow)(uint64_t *r, const uint64_t *a, const uint64_t *e, size_t n_limbs);

    /* n canonical little-endian integers of `bytes` bytes, at any alignment, to and from Montgomery
     * form. to_mont expects integers below the modulus; a larger one is reduced. */
    void (*to_mont)(uint64_t *r, const void *canonical_le, size_t n);
    void (*from_mont)(void *canonical_le, const uint64_t *a, size_t n);

    /* r = in mod modulus for a 512-bit integer: unbiased to 2^-256 when in is uniform. Scalar field
     * only; NULL in the base field. */
    void (*reduce_wide)(uint64_t *r, const uint64_t in[8]);
};

/* The base field and the scalar field. NULL if the curve is unknown, or the body is not in this
 * build or not for this CPU. */
const struct pm_field *pm_field_fp(pm_curve_id curve, enum pm_body body);
const struct pm_field *pm_field_fr(pm_curve_id curve, enum pm_body body);

#endif
