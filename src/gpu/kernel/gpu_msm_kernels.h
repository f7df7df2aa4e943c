/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_msm_kernels.h - launchers of a multi-scalar multiplication's kernels.
 *
 * Each puts its kernel on a stream and returns at once what CUDA said, a cudaError_t as int.
 * Pointers are to device memory, 16-byte aligned. Nothing is checked here: gpu/op is the only
 * caller.
 */
#ifndef PM_GPU_MSM_KERNELS_H
#define PM_GPU_MSM_KERNELS_H

#include "gpu/kernel/gpu_kernels.h"
#include "gpu/kernel/gpu_msm_plan.h"

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

/* ---- Of no curve (gpu_msm_sort.cu) ---- */

/* Scratch of a sort of n pairs; needs the device. */
int pm_gpu_msm_sort_bytes(uint32_t n, uint32_t n_bits, size_t *bytes);
/* Sorts pairs by the low n_bits bits of their keys, in keys[0] and values[0], with keys[1] and
 * values[1] as the other half of the double buffer; *where says which of both holds the outcome. */
int pm_gpu_msm_sort(void *scratch, size_t scratch_bytes, uint32_t *const keys[2],
                    uint32_t *const values[2], uint32_t n, uint32_t n_bits, int *where,
                    pm_gpu_raw_stream stream);
/* Of n sorted keys those below n_buckets, cut into n_segments. */
int pm_gpu_msm_find_extent(struct pm_gpu_msm_extent *extent, const uint32_t *keys, uint32_t n,
                           uint32_t n_buckets, uint32_t n_segments, uint32_t segment_min,
                           pm_gpu_raw_stream stream);

/* ---- Of a curve ---- */

struct pm_gpu_msm_digit_kernels {
    uint32_t scalar_bits; /* of min(s, r - s), and one for the sign */
    /* Entries of n canonical scalars in the windows [first, first + n_windows), window by window.
     * indices NULL: entry i has scalar i and point i; else scalar indices[i] and point
     * point_indices[i]. */
    int (*entries)(const struct pm_gpu_msm_windows *windows, uint32_t first, uint32_t n_windows,
                   const void *scalars, const uint32_t *indices, const uint32_t *point_indices,
                   uint32_t n, uint32_t *keys, uint32_t *values, pm_gpu_raw_stream stream);
};

/* Two for each segment: keys, and points. */
struct pm_gpu_msm_edges {
    uint32_t *keys;
    void *points;
};

/* Numbers of segments are multiples of it, so that blocks are full. */
#define PM_GPU_MSM_SEGMENTS_STEP 64

struct pm_gpu_msm_group_kernels {
    uint32_t affine_bytes, bucket_bytes, jacobian_bytes;
    /* Segments that one multiprocessor works on at once. */
    uint32_t threads_per_multiprocessor;
    int (*accumulate)(const uint32_t *keys, const uint32_t *values,
                      const struct pm_gpu_msm_extent *extent, uint32_t n_segments,
                      uint32_t n_buckets, const void *points, void *buckets,
                      const struct pm_gpu_msm_edges *edges, pm_gpu_raw_stream stream);
    /* n edges to two for each thread (pm_gpu_msm_merge_threads). */
    int (*merge)(const struct pm_gpu_msm_edges *from, uint32_t n, uint32_t segment, void *buckets,
                 const struct pm_gpu_msm_edges *to, pm_gpu_raw_stream stream);
    /* n_slices of 2^slice_log buckets each. */
    int (*slices)(const void *buckets, uint32_t n_slices, uint32_t slice_log, void *plain,
                  void *weighted, pm_gpu_raw_stream stream);
    /* The outputs of windows [first, first + n_windows), PM_GPU_MSM_OUTPUTS_MAX Jacobian points for
     * each of them; plain and weighted begin with window `first`. */
    int (*outputs)(const struct pm_gpu_msm_windows *windows, uint32_t first, uint32_t n_windows,
                   uint32_t slice_log, const void *plain, const void *weighted, void *outputs,
                   pm_gpu_raw_stream stream);
    /* sums[t] of each of n_threads: every n_threads-th point of a list of n, which are numbers with
     * a sign (gpu_classes.h), from the t-th on. */
    int (*units)(const uint32_t *list, uint32_t n, uint32_t n_threads, const void *points,
                 void *sums, pm_gpu_raw_stream stream);
    /* n sums, n > 0, to one, Jacobian. folded has room for PM_GPU_MSM_FOLD_BLOCKS sums. */
    int (*fold)(const void *sums, uint32_t n, void *folded, void *result, pm_gpu_raw_stream stream);
};

#define PM_GPU_MSM_FOLD_BLOCKS 128

#endif
