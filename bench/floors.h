/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * floors.h - how many field multiplications a task needs, and how fast they could be.
 *
 * Squarings count as multiplications, additions not at all; a product in Fp2 counts 3 of Fp and a
 * square 2. Counts are those of the best method we know of, not of the one in use: additions of
 * affine points share their inversions (2M + 1S and 3M for the inverse), buckets are added by
 * running sums.
 */
#ifndef PM_BENCH_FLOORS_H
#define PM_BENCH_FLOORS_H

#include "msm/msm.h"

#include <stdint.h>

/* Nanoseconds of one MULX when nothing waits for its result; 0 where there is none. */
double floor_probe_mulx_ns(void);
/* 64-bit multiplications in a Montgomery product of n limbs: n^2 for the product, n^2 for the
 * reduction and n for its quotients. */
double floor_limb_products(uint32_t n_limbs);

/* Multiplications in Fr. */
double floor_ntt(uint32_t log_n);      /* n / 2 log n */
double floor_to_coset(uint32_t log_n); /* two transforms and n powers of the shift */

/* Multiplications in Fp. */
double floor_affine_addition(enum pm_msm_group group);
/* A sum with n_full uniform scalars, n_small of 33 bits and n_ones ones; scalar_bits is the length
 * of full ones. The least over all windows. */
double floor_msm(enum pm_msm_group group, uint32_t scalar_bits, double n_full, double n_small,
                 double n_ones);
/* n multiples from a table with windows of window_bits. */
double floor_fixed_base(enum pm_msm_group group, uint32_t scalar_bits, uint32_t window_bits,
                        double n);

#endif
