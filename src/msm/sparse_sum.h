/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * msm/sparse_sum.h - the product of a sparse matrix of scalars and a vector of points: for each
 * column the sum of value * point over its few terms.
 *
 * This is what a setup from powers of tau computes: each point of a query is a column of the
 * constraint matrices over points of the Lagrange basis. Most values are 1, -1 or small, most
 * columns have a handful of terms, so a multi-scalar multiplication for each would spend its time
 * on buckets. Instead a value counts by its magnitude |v| or |r - v|, terms of magnitude 1 are
 * plain additions, and the others of a column share their doublings (Straus; Menezes, van Oorschot,
 * Vanstone, "Handbook of Applied Cryptography", 14.88) over signed sliding windows whose tables are
 * made affine for many terms at once.
 *
 * Points are affine Montgomery bytes of any alignment, infinity all zero, in the subgroup of order
 * r; values are 32-byte canonical little-endian scalars of any alignment. Variable time. Allocates
 * nothing.
 */
#ifndef PM_MSM_SPARSE_SUM_H
#define PM_MSM_SPARSE_SUM_H

#include "base/cpu.h"
#include "base/limits.h"
#include "msm/msm.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_SPARSE_SOURCES 3
/* Columns in one call. */
#define PM_SPARSE_COLUMNS_MAX 64

/* 12 bytes, since there are as many of them as non-zeros. */
struct pm_sparse_term {
    uint32_t point;     /* index into the source's points */
    uint32_t value_low; /* the value stands 4 * (value_high 2^32 + value_low) bytes into `values` */
    uint16_t value_high; /* PM_SPARSE_VALUE_ONE: the value is one, and stands nowhere */
    uint16_t source;     /* < PM_SPARSE_SOURCES */
};
#define PM_SPARSE_VALUE_ONE UINT16_MAX

/* Borrowed arrays. Every index has been checked. */
struct pm_sparse_matrix {
    const uint8_t *points[PM_SPARSE_SOURCES];
    const uint8_t *values;
    const struct pm_sparse_term *terms;
    const uint64_t *starts; /* column i has terms starts[i] to starts[i + 1] */
};

/* Kernels of one curve in one body. */
struct pm_sparse_sum {
    pm_curve_id curve;
    const char *body;
    /* Scratch of one caller of columns(). */
    uint64_t (*scratch_bytes)(enum pm_msm_group group);
    /* Sums the columns first to first + n, n <= PM_SPARSE_COLUMNS_MAX, into n affine points.
     * scratch is PM_BUFFER_ALIGNMENT-aligned. */
    void (*columns)(enum pm_msm_group group, const struct pm_sparse_matrix *matrix, uint64_t first,
                    uint64_t n, void *scratch, void *points);
};

/* NULL for an unknown curve, or a body that this build or this CPU lacks. */
const struct pm_sparse_sum *pm_sparse_sum_get(pm_curve_id curve, enum pm_body body);

/* The value of a term: 32 bytes at any alignment. */
const uint8_t *pm_sparse_value(const struct pm_sparse_matrix *matrix,
                               const struct pm_sparse_term *term);
/* magnitude = min(v, m - v) for the value v < m and the modulus m, of n_limbs <= PM_FR_LIMBS_MAX
 * words each; whether that is m - v. */
bool pm_sparse_magnitude(uint64_t *magnitude, const uint8_t *value, const uint64_t *modulus,
                         uint32_t n_limbs);

#endif
