/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A whole multi-scalar multiplication of the device on the host, its threads one after another:
 * the functions of gpu_msm_digits.inc and gpu_msm.inc, with a sort of the test's own between. */
#ifndef PM_TEST_GPU_MSM_PROBE_H
#define PM_TEST_GPU_MSM_PROBE_H

#include "gpu/kernel/gpu_msm_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the work is cut; every cut has the same outcome. */
struct gpu_msm_cut {
    uint32_t n_windows, windows_at_once;
    uint32_t n_segments, segment_min;
    uint32_t merge_segment; /* 4 or more, or edges never get fewer */
    uint32_t slice_log;     /* at most bits of the smallest window - 1 */
    uint32_t output_threads;
};

/* Sums of one group of windows: called with the entries in any order, must sort by key. */
struct gpu_msm_probe {
    uint32_t scalar_bits;
    size_t affine_bytes, jacobian_bytes;
    /* outputs: n_windows * PM_GPU_MSM_OUTPUTS_MAX Jacobian points. */
    void (*run)(const struct gpu_msm_cut *cut, const void *points, const void *scalars, uint32_t n,
                void *outputs);
    /* The sum of n points of a list of numbers with signs, n_threads threads and then each other.
     */
    void (*units)(const uint32_t *list, uint32_t n, uint32_t n_threads, const void *points,
                  void *sum);
    void (*entries)(const struct pm_gpu_msm_windows *windows, const void *scalar, uint32_t *keys,
                    uint32_t *values);
};

extern const struct gpu_msm_probe gpu_msm_g1_bn254_portable, gpu_msm_g1_bls12_381_portable;
extern const struct gpu_msm_probe gpu_msm_g2_bn254_portable, gpu_msm_g2_bls12_381_portable;

/* One addition of gpu_msm_whole.inc, of a point or of two sums, to values below their bounds, made
 * of random words: whether it comes out as by plain products and below the bounds again. */
typedef struct {
    bool (*agrees)(uint64_t (*random)(void));
    bool (*agrees_full)(uint64_t (*random)(void));
    bool (*agrees_x)(uint64_t (*random)(void)); /* of its step for X alone */
} gpu_msm_whole_probe;

extern const gpu_msm_whole_probe gpu_msm_whole_bn254_portable, gpu_msm_whole_bls12_381_portable;

#endif
