/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * msm/msm.h - multi-scalar multiplication: sum of k_i * P_i.
 *
 * Points are affine Montgomery bytes as in a zkey (any alignment, infinity all zero, allowed
 * anywhere), scalars are 32-byte canonical little-endian values below r (any alignment). The result
 * is Jacobian. Pippenger's bucket method with signed digits (Bernstein, Doumen, Lange, Oosterwijk,
 * "Faster batch forgery identification", 2012, section 4); the window is chosen from n and the
 * number of threads, the cut of the work from how many digits are not zero, so that scalars of 0, 1
 * and few bits are cheap and still occupy every thread. Variable time. No allocation: scratch comes
 * from the caller, sized by bytes().
 */
#ifndef PM_MSM_MSM_H
#define PM_MSM_MSM_H

#include "base/control.h"
#include "base/cpu.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

enum pm_msm_group { PM_MSM_G1 = 0, PM_MSM_G2 = 1 };

/* Kernels of one curve in one body. */
struct pm_msm {
    pm_curve_id curve;
    const char *body;
    /* Scratch for n points with a team of `threads`: a bucket array for each, at most 6 MiB (G1) or
     * 12 MiB (G2) a thread, and a few lines. Never 0. */
    uint64_t (*bytes)(enum pm_msm_group group, uint64_t n, uint32_t threads);
    /* result: Jacobian. scratch has bytes(group, n, pm_team_threads(team)) bytes,
     * PM_BUFFER_ALIGNMENT-aligned; it holds secrets afterwards. n may be 0 (infinity).
     * Errors: CANCELLED, DEADLINE (asked every few milliseconds, on every thread; result is then
     * untouched). */
    pm_status (*run)(enum pm_msm_group group, const void *points, const void *scalars, uint64_t n,
                     struct pm_team *team, void *scratch, const pm_control *control, void *result,
                     pm_error *error);
    /* Double-and-add, one point after the other: the oracle. */
    void (*reference)(enum pm_msm_group group, const void *points, const void *scalars, uint64_t n,
                      void *result);
};

/* NULL for an unknown curve, or a body that this build or this CPU lacks. */
const struct pm_msm *pm_msm_get(pm_curve_id curve, enum pm_body body);

#endif
