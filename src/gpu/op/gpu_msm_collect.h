/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/op/gpu_msm_collect.h - the last step of a multi-scalar multiplication, on the host.
 */
#ifndef PM_GPU_MSM_COLLECT_H
#define PM_GPU_MSM_COLLECT_H

#include "curve/curve.h"
#include "gpu/kernel/gpu_msm_plan.h"

/* result = sum of 2^shift times each output (gpu_msm_plan.h), over n_parts sets of outputs that
 * follow one another: one doubling a bit for all of them together. Outputs are Jacobian points of
 * jacobian_bytes. */
static inline void pm_gpu_msm_collect(const struct pm_group *group,
                                      const struct pm_gpu_msm_windows *windows, uint32_t slice_log,
                                      const void *outputs, uint32_t n_parts,
                                      uint32_t jacobian_bytes, void *result) {
    struct pm_group_point sum;
    group->set_infinity(&sum);
    for (uint32_t w = windows->n_windows; w-- > 0;) {
        const uint32_t n_outputs = pm_gpu_msm_n_outputs(windows, w, slice_log);
        for (uint32_t bit = pm_gpu_msm_window_bits(windows, w); bit-- > 0;) {
            group->dbl(&sum, &sum);
            if (bit > 0 && bit < slice_log) {
                continue;
            }
            /* Output 0 counts once, output 1 + j 2^(slice_log + j) times. */
            const uint32_t first = bit == 0 ? 0 : 1 + bit - slice_log;
            const uint32_t last = bit >= slice_log ? 1 + bit - slice_log : 0;
            for (uint32_t o = first; o <= last && o < n_outputs; o++) {
                for (uint32_t part = 0; part < n_parts; part++) {
                    const uint64_t at =
                        ((uint64_t)part * windows->n_windows + w) * PM_GPU_MSM_OUTPUTS_MAX + o;
                    group->add(&sum, &sum, (const uint8_t *)outputs + at * jacobian_bytes);
                }
            }
        }
    }
    __builtin_memcpy(result, &sum, jacobian_bytes);
}

#endif
