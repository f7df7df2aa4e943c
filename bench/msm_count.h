/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* msm_count.h - the additions of points that a multi-scalar multiplication makes: by the very plan
 * that src/msm makes for these scalars. */
#ifndef PM_BENCH_MSM_COUNT_H
#define PM_BENCH_MSM_COUNT_H

#include "msm/msm.h"

#define MSM_COUNT_LENGTHS (8 * PM_FR_BYTES + 2)

/* Scalars of one sum whose points are not at infinity. */
struct msm_scalars {
    uint64_t n;                           /* all there are, zeros and ones too */
    uint64_t n_ones;                      /* 1 and -1: an addition each */
    uint64_t n_longer[MSM_COUNT_LENGTHS]; /* the others that have b bits or more, b >= 1 */
};

struct msm_count {
    double additions;
    uint32_t n_windows, n_buckets; /* of a window; n_windows 0: nothing needs buckets */
};

/* For a team of `threads` and points of affine_bytes. Where a piece of a window has d digits that
 * are not zero, in f of its buckets, the buckets take d - f additions and their weights 2 f. The
 * digits are taken for uniform. No room counts as no additions. */
typedef void msm_count_function(const struct msm_scalars *scalars, uint32_t threads,
                                uint32_t affine_bytes, struct msm_count *count);

/* NULL for an unknown curve or body. */
msm_count_function *msm_count_get(pm_curve_id curve, enum pm_body body);

#endif
