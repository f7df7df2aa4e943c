/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * msm/msm.h - multi-scalar multiplication: sum of k_i * P_i.
 *
 * Points are affine Montgomery bytes as in a zkey (any alignment, infinity all zero, allowed
 * anywhere), scalars are 32-byte canonical little-endian values below r (any alignment). The result
 * is Jacobian. Variable time. No allocation: scratch comes from the caller, sized by bytes().
 *
 * Pippenger's bucket method with signed digits (Bernstein, Doumen, Lange, Oosterwijk, "Faster batch
 * forgery identification", 2012, section 4). One pass over the scalars takes those apart that need
 * no buckets: 0 and points at infinity are dropped, 1 and -1 are summed at once. The windows follow
 * from how many are left and how long they are, so that a witness of bits costs its additions.
 * For each window points are sorted by digit, and the sums of the buckets grow as trees, whose
 * levels are batches of affine additions with one inversion each (as in section 3 of A. Botrel, Y.
 * El Housni, "Faster Montgomery multiplication and multi-scalar multiplication for SNARKs", TCHES
 * 2023, but without its collisions, because of the sort).
 */
#ifndef PM_MSM_MSM_H
#define PM_MSM_MSM_H

#include "base/control.h"
#include "base/cpu.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

enum pm_msm_group { PM_MSM_G1 = 0, PM_MSM_G2 = 1 };

/* Scalars and points that need not pair off one to one. Everything is borrowed. */
struct pm_msm_input {
    const void *points, *scalars;
    uint64_t n_points, n_scalars;
    /* NULL: point i belongs to scalar i, and n_points >= n_scalars. Otherwise bit i (counted from
     * the least significant of the first word) says whether scalar i has a point; bits beyond
     * n_scalars are ignored. */
    const uint64_t *density;
    /* With a density. NULL: its point stands at index i, and points without a bit are not read.
     * Otherwise points are compact, the j-th set bit has point j, n_points is the number of set
     * bits and rank[i] that of the bits before scalar PM_MSM_RANK_STEP * i: see pm_msm_rank_fill().
     */
    const uint32_t *rank;
};

#define PM_MSM_RANK_STEP 256

/* The bytes of a rank directory. */
uint64_t pm_msm_rank_bytes(uint64_t n_scalars);
/* Fills it (4-byte aligned) and returns the number of set bits, which must be below 2^32. */
uint64_t pm_msm_rank_fill(const uint64_t *density, uint64_t n_scalars, uint32_t *rank);

/* Kernels of one curve in one body. */
struct pm_msm {
    pm_curve_id curve;
    const char *body;
    /* Scratch for n scalars, with or without a density, and a team of `threads`: at most 8 MiB (G1)
     * or 16 MiB (G2) a thread, and n / 4 bytes. Never 0. Neither group's bytes bound the
     * other's, nor those of one body those of another. */
    uint64_t (*bytes)(enum pm_msm_group group, uint64_t n, uint32_t threads);
    /* result: Jacobian. scratch has bytes(group, n, pm_team_threads(team)) bytes,
     * PM_BUFFER_ALIGNMENT-aligned; it holds secrets afterwards. n may be 0 (infinity).
     * Errors: CANCELLED, DEADLINE (asked every few milliseconds, on every thread; result is then
     * untouched). */
    pm_status (*run)(enum pm_msm_group group, const void *points, const void *scalars, uint64_t n,
                     struct pm_team *team, void *scratch, const pm_control *control, void *result,
                     pm_error *error);
    /* The same for an input, whose n_scalars is the n of bytes(). Errors: also INVALID_ARGUMENT,
     * when n_points is not what the density asks for. */
    pm_status (*run_input)(enum pm_msm_group group, const struct pm_msm_input *input,
                           struct pm_team *team, void *scratch, const pm_control *control,
                           void *result, pm_error *error);
    /* Double-and-add, one point after the other: the oracle. */
    void (*reference)(enum pm_msm_group group, const void *points, const void *scalars, uint64_t n,
                      void *result);
};

/* NULL for an unknown curve, or a body that this build or this CPU lacks. */
const struct pm_msm *pm_msm_get(pm_curve_id curve, enum pm_body body);

#endif
