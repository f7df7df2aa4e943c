/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ways to sum the buckets of G2 that are compared on a card (`card_msm_test LIBRARY candidates`):
 * kernels that stand in for three of a group's table. cmake/gpu.cmake says how each is built. */
#ifndef PM_TEST_GPU_CARD_MSM_CANDIDATE_H
#define PM_TEST_GPU_CARD_MSM_CANDIDATE_H

#include "gpu/kernel/gpu_msm_kernels.h"

struct card_msm_candidate {
    const char *name;
    int (*accumulate)(const uint32_t *keys, const uint32_t *values,
                      const struct pm_gpu_msm_extent *extent, uint32_t n_segments,
                      uint32_t n_buckets, const void *points, void *buckets,
                      const struct pm_gpu_msm_edges *edges, pm_gpu_raw_stream stream);
    int (*slices)(const void *buckets, uint32_t n_slices, uint32_t slice_log, void *plain,
                  void *weighted, pm_gpu_raw_stream stream);
    int (*units)(const uint32_t *list, uint32_t n, uint32_t n_threads, const void *points,
                 void *sums, pm_gpu_raw_stream stream);
    /* Warps that one multiprocessor holds of the first, and its registers a thread and bytes of
     * local memory. */
    int (*facts)(int *n_warps, int *n_registers, int *local_bytes);
};

/* Of every candidate, for X = card_msm_candidate_NAME. */
#define CARD_MSM_CANDIDATES(X, curve)                                                              \
    X(straight_3, curve)                                                                           \
    X(straight_3_meet, curve)                                                                      \
    X(loops_3, curve)                                                                              \
    X(loops_4, curve)                                                                              \
    X(loops_4_meet, curve)

#endif
