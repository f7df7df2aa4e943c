/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * msm/fixed_base.h - many multiples of one point: k_i * P for i < n.
 *
 * The scalar is cut into windows of w bits with signed digits; a table holds d * 2^(w j) * P for
 * every digit d of every window j, in affine form (Brickell, Gordon, McCurley, Wilson, "Fast
 * exponentiation with precomputation", EUROCRYPT 1992, with a full row for each window). A batch of
 * accumulators goes through the windows together, so that one field inversion serves a whole batch
 * of affine additions: 5M + 1S an addition and a share of the inversion, against 7M + 4S for a
 * mixed Jacobian one.
 *
 * Scalars are 32-byte canonical little-endian values below r, at any alignment; points are affine
 * Montgomery bytes (curve/curve.h). Variable time. Allocates nothing.
 */
#ifndef PM_MSM_FIXED_BASE_H
#define PM_MSM_FIXED_BASE_H

#include "base/control.h"
#include "base/cpu.h"
#include "msm/msm.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/* Kernels of one curve in one body. */
struct pm_fixed_base {
    pm_curve_id curve;
    const char *body;
    /* The window that costs least for a table and n multiples by it. */
    uint32_t (*window_bits)(enum pm_msm_group group, uint64_t n);
    uint64_t (*table_bytes)(enum pm_msm_group group, uint32_t window_bits);
    /* 4 <= window_bits <= 16. table: table_bytes(), PM_BUFFER_ALIGNMENT-aligned. point: affine, not
     * infinity, of order r.
     */
    void (*fill_table)(enum pm_msm_group group, uint32_t window_bits, const void *point,
                       struct pm_team *team, void *table);
    uint64_t (*scratch_bytes)(enum pm_msm_group group, uint32_t threads);
    /* points[i] = scalars[i] * P, affine; a scalar 0 gives infinity. scratch has
     * scratch_bytes(group, pm_team_threads(team)) bytes, PM_BUFFER_ALIGNMENT-aligned.
     * Errors: CANCELLED, DEADLINE (then the points are not all there). */
    pm_status (*multiply)(enum pm_msm_group group, uint32_t window_bits, const void *table,
                          const void *scalars, uint64_t n, struct pm_team *team, void *scratch,
                          const pm_control *control, void *points, pm_error *error);
};

const struct pm_fixed_base *pm_fixed_base_get(pm_curve_id curve, enum pm_body body);

#endif
