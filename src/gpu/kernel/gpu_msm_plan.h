/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_msm_plan.h - how scalars are cut into windows, and windows into buckets.
 *
 * Plain data, read by the host that launches and by the threads that run. A scalar s stands for
 * s or -(r - s), whichever is smaller, and all windows together have as many bits as that and a
 * sign: the first n_large windows have small_bits + 1 bits, the others small_bits. Digits of b bits
 * lie in [-2^(b-1), 2^(b-1)), so a window has 2^(b-1) buckets, bucket k for the digits k + 1 and
 * -(k + 1).
 */
#ifndef PM_GPU_MSM_PLAN_H
#define PM_GPU_MSM_PLAN_H

#include <stdint.h>

#if defined(__CUDACC__)
#define PM_GPU_MSM_BOTH static __host__ __device__ __forceinline__ __attribute__((unused))
#else
#define PM_GPU_MSM_BOTH static inline __attribute__((unused))
#endif

#define PM_GPU_MSM_WINDOWS_MAX 64
#define PM_GPU_MSM_BITS_MAX 25
#define PM_GPU_MSM_BITS_MIN 4
/* The sign of a point stands above its index. */
#define PM_GPU_MSM_SIGN UINT32_C(0x80000000)

struct pm_gpu_msm_windows {
    uint32_t n_windows, small_bits, n_large;
};

PM_GPU_MSM_BOTH struct pm_gpu_msm_windows pm_gpu_msm_windows_of(uint32_t n_bits,
                                                                uint32_t n_windows) {
    struct pm_gpu_msm_windows windows;
    windows.n_windows = n_windows;
    windows.small_bits = n_bits / n_windows;
    windows.n_large = n_bits % n_windows;
    return windows;
}

PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_window_bits(const struct pm_gpu_msm_windows *windows,
                                                uint32_t window) {
    return windows->small_bits + (window < windows->n_large ? 1 : 0);
}

PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_window_offset(const struct pm_gpu_msm_windows *windows,
                                                  uint32_t window) {
    return window * windows->small_bits + (window < windows->n_large ? window : windows->n_large);
}

/* Buckets of all windows before this one; window may be n_windows. */
PM_GPU_MSM_BOTH uint64_t pm_gpu_msm_bucket_base(const struct pm_gpu_msm_windows *windows,
                                                uint32_t window) {
    const uint64_t large = window < windows->n_large ? window : windows->n_large;
    return (large << windows->small_bits) + ((window - large) << (windows->small_bits - 1));
}

/* What is left of a window after its slices of 2^slice_log buckets have been summed, plainly and
 * with weights 1, 2, ...: K = 2^(bits - 1 - slice_log) sums of each kind. Output 0 is the sum of
 * all weighted ones and counts once, output 1 + j that of the plain ones whose number has bit j,
 * and counts 2^(slice_log + j) times. */
#define PM_GPU_MSM_OUTPUTS_MAX 32

PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_n_outputs(const struct pm_gpu_msm_windows *windows,
                                              uint32_t window, uint32_t slice_log) {
    return pm_gpu_msm_window_bits(windows, window) - slice_log;
}

/* The q-th of the slices that an output sums, and how many there are. */
PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_output_slice(uint32_t output, uint32_t q) {
    if (output == 0) {
        return q;
    }
    const uint32_t bit = output - 1, low = q & ((UINT32_C(1) << bit) - 1);
    return (q >> bit) << (bit + 1) | UINT32_C(1) << bit | low;
}

PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_output_count(uint32_t output, uint32_t n_slices) {
    return output == 0 ? n_slices : n_slices / 2;
}

/* Where the list ends that segments are cut from, found on the device. */
struct pm_gpu_msm_extent {
    uint32_t n_entries, segment;
};

/* Edges that thread t merges begin here, in segments. Two each come from one segment, the last one
 * of it and the first one of the next are mostly of one bucket, and so they stay together. */
PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_merge_begin(uint32_t t, uint32_t segment) {
    return t == 0 ? 0 : t * segment + 1;
}

/* How many threads n edges are merged by, n > 1; two edges are left of each. */
PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_merge_threads(uint32_t n, uint32_t segment) {
    return (n - 1 + segment - 1) / segment;
}

/* Of n_entries, each of n_segments threads takes so many in a row. */
PM_GPU_MSM_BOTH uint32_t pm_gpu_msm_segment(uint32_t n_entries, uint32_t n_segments,
                                            uint32_t segment_min) {
    const uint32_t equal = (uint32_t)(((uint64_t)n_entries + n_segments - 1) / n_segments);
    return equal < segment_min ? segment_min : equal;
}

#endif
