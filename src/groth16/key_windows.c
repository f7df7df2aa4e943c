/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/key_windows.h"

#include "base/limits.h"
#include "msm/msm.h"

#include <stdbool.h>

/* Windows begin at a word of a density. */
#define WORD_BITS 64u

static bool spreads(const struct pm_plan_sizes *sizes, const struct pm_plan_choices *choices,
                    enum pm_step_id step) {
    return step == PM_STEP_MSM_B2 && choices->b2 == PM_B2_FROM_COPY &&
           sizes->reduction == PM_REDUCTION_SNARKJS;
}

uint64_t pm_key_n_scalars(const struct pm_plan_sizes *sizes, const struct pm_plan_choices *choices,
                          enum pm_step_id step) {
    switch (step) {
    case PM_STEP_MSM_H:
        return sizes->n_h;
    case PM_STEP_MSM_L:
        return sizes->n_l;
    case PM_STEP_MSM_B2:
        return choices->b2 == PM_B2_FROM_COPY && sizes->reduction == PM_REDUCTION_BELLMAN
                   ? sizes->n_b
                   : sizes->n_vars;
    default:
        return sizes->n_vars;
    }
}

uint64_t pm_key_window_scalars(const struct pm_plan_sizes *sizes,
                               const struct pm_plan_choices *choices, enum pm_step_id step) {
    const uint64_t all = pm_key_n_scalars(sizes, choices, step);
    const uint64_t affine_bytes =
        (step == PM_STEP_MSM_B2 ? 4 : 2) * (uint64_t)pm_curve_fp_bytes(sizes->curve);
    uint64_t window = all;
    if (choices->key == PM_KEY_STREAMED && sizes->reduction == PM_REDUCTION_SNARKJS) {
        window = PM_KEY_WINDOW_BYTES / affine_bytes / WORD_BITS * WORD_BITS;
    }
    if (spreads(sizes, choices, step) && window > PM_KEY_SPREAD_SCALARS) {
        window = PM_KEY_SPREAD_SCALARS;
    }
    return window < all ? window : all;
}

uint64_t pm_key_spread_bytes(const struct pm_plan_sizes *sizes,
                             const struct pm_plan_choices *choices, enum pm_step_id step) {
    const uint64_t n =
        spreads(sizes, choices, step) ? pm_key_window_scalars(sizes, choices, step) : 0;
    return (n * PM_FR_BYTES + PM_BUFFER_ALIGNMENT - 1) / PM_BUFFER_ALIGNMENT * PM_BUFFER_ALIGNMENT;
}

/* The plan does not know in which body it will be carried out, so it has room for any. */
static uint64_t msm_bytes(pm_curve_id curve, enum pm_msm_group group, uint64_t n,
                          uint32_t threads) {
    uint64_t most = 0;
    for (int body = PM_BODY_PORTABLE; body < PM_BODY_COUNT; ++body) {
        const struct pm_msm *msm = pm_msm_get(curve, (enum pm_body)body);
        const uint64_t bytes = msm != NULL ? msm->bytes(group, n, threads) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

uint64_t pm_key_scratch_bytes(const struct pm_plan_sizes *sizes,
                              const struct pm_plan_choices *choices, enum pm_step_id step,
                              uint32_t threads) {
    const enum pm_msm_group group = step == PM_STEP_MSM_B2 ? PM_MSM_G2 : PM_MSM_G1;
    const uint64_t all = pm_key_n_scalars(sizes, choices, step);
    const uint64_t window = pm_key_window_scalars(sizes, choices, step);
    const uint64_t last = window > 0 ? all % window : 0;
    const uint64_t full_bytes = msm_bytes(sizes->curve, group, window, threads);
    const uint64_t last_bytes = last > 0 ? msm_bytes(sizes->curve, group, last, threads) : 0;
    return pm_key_spread_bytes(sizes, choices, step) +
           (full_bytes > last_bytes ? full_bytes : last_bytes);
}
