/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * floors.h - how many field multiplications a task needs, and how fast they could be.
 *
 * Squarings count as multiplications, additions not at all; a product in Fp2 counts 3 of Fp and a
 * square 2. Additions of affine points share their inversions: 2M + 1S, and 3M for the inverse. How
 * many of them a sum takes says msm_count.h.
 */
#ifndef PM_BENCH_FLOORS_H
#define PM_BENCH_FLOORS_H

#include "msm/msm.h"

#include <stdint.h>

/* Nanoseconds of one MULX when nothing waits for its result; 0 where there is none. */
double floor_probe_mulx_ns(void);
/* The same for a 52-bit multiply-add of eight lanes. */
double floor_probe_madd52_ns(void);
/* Multiply-adds of eight lanes for one of eight Montgomery products of n words, by l limbs of 52
 * bits: 2 l^2 for low and high halves of the product, 2 l^2 of the reduction, l for its quotients.
 */
double floor_eighth_products(uint32_t n_limbs);
/* 64-bit multiplications in a Montgomery product of n limbs: n^2 for the product, n^2 for the
 * reduction and n for its quotients. */
double floor_limb_products(uint32_t n_limbs);

/* Multiplications in Fr. */
double floor_ntt(uint32_t log_n);      /* n / 2 log n */
double floor_to_coset(uint32_t log_n); /* two transforms and n powers of the shift */

/* Multiplications in Fp. */
double floor_affine_addition(enum pm_msm_group group);
/* n multiples from a table with windows of window_bits. */
double floor_fixed_base(enum pm_msm_group group, uint32_t scalar_bits, uint32_t window_bits,
                        double n);

#endif
