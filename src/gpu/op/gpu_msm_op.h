/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/op/gpu_msm_op.h - multi-scalar multiplication on a device: sum of k_i * P_i.
 *
 * Points are affine Montgomery bytes in the device's memory, the same as on the CPU, 16-byte
 * aligned, infinity all zero and allowed anywhere; scalars are canonical 32-byte integers below r,
 * 16-byte aligned. Bucket method with signed digits; entries (bucket, point) of several windows are
 * sorted at once, and the sorted list is cut into equal segments, whatever the lengths of its
 * buckets (gpu/kernel/gpu_msm.inc): any distribution of scalars costs its additions. A scalar 0
 * costs no addition, 1 and -1 cost one.
 *
 * Nothing is allocated: the caller brings a workspace of the size that the plan says. Everything is
 * put on the caller's stream; the last step, a few hundred additions, is done on the host when the
 * stream has got there. Variable time. The workspace and the outputs hold secrets afterwards.
 */
#ifndef PM_GPU_MSM_OP_H
#define PM_GPU_MSM_OP_H

#include "gpu/device/gpu_device.h"
#include "gpu/kernel/gpu_msm_kernels.h"
#include "msm/msm.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/* Times that run() can take, by events: each is recorded when a stage has ended. */
enum pm_gpu_msm_stage {
    PM_GPU_MSM_DIGITS,
    PM_GPU_MSM_SORT,
    PM_GPU_MSM_ACCUMULATE,
    PM_GPU_MSM_MERGE,
    PM_GPU_MSM_REDUCE,
    PM_GPU_MSM_STAGES
};

/* Byte offsets into the workspace. */
struct pm_gpu_msm_places {
    uint64_t keys[2], values[2], sort, extent, buckets, edge_keys[2], edges[2], plain, weighted,
        outputs, end;
};

struct pm_gpu_msm_plan {
    pm_curve_id curve;
    enum pm_msm_group group;
    const struct pm_gpu_msm_digit_kernels *digits;
    const struct pm_gpu_msm_group_kernels *kernels;
    uint64_t n;
    uint32_t chunk, n_chunks; /* points that are done at once, and how often */
    struct pm_gpu_msm_windows windows;
    uint32_t batch, n_batches; /* windows that are done at once, and how often for each chunk */
    uint32_t n_segments, slice_log, sort_bits;
    uint64_t sort_bytes;
    struct pm_gpu_msm_places places;
    uint64_t workspace_bytes;
    uint64_t outputs_bytes; /* host memory, pinned for preference */
};

/* A plan for n scalars whose workspace is at most limit_bytes. n_windows 0: those that cost least.
 * Errors: CURVE, UNSUPPORTED (n above 2^31 - 1), NO_MEMORY (need and have: not even a small chunk
 * fits), DEVICE. */
pm_status pm_gpu_msm_plan_make(struct pm_gpu_device *device, pm_curve_id curve,
                               enum pm_msm_group group, uint64_t n, uint64_t limit_bytes,
                               uint32_t n_windows, struct pm_gpu_msm_plan *plan, pm_error *error);

/* The same with a limit for plan->outputs_bytes too. NO_MEMORY is about the one that is too
 * low: need, instead of have, suffices. */
struct pm_gpu_msm_limits {
    uint64_t workspace_bytes, outputs_bytes;
};
pm_status pm_gpu_msm_plan_within(struct pm_gpu_device *device, pm_curve_id curve,
                                 enum pm_msm_group group, uint64_t n,
                                 const struct pm_gpu_msm_limits *limits, uint32_t n_windows,
                                 struct pm_gpu_msm_plan *plan, pm_error *error);

struct pm_gpu_msm_input {
    const void *points, *scalars;
    /* NULL: all of them. Otherwise n numbers of scalars. */
    const uint32_t *indices;
    /* NULL: their points have the same numbers. Otherwise n numbers of points, with indices. */
    const uint32_t *point_indices;
};

/* Puts everything on the stream; workspace: plan->workspace_bytes of the device, 256-byte aligned;
 * outputs: plan->outputs_bytes of the host, valid when the stream has got there. marks: NULL, or
 * 1 + PM_GPU_MSM_STAGES * n_batches * n_chunks events. */
pm_status pm_gpu_msm_run(const struct pm_gpu_stream *stream, const struct pm_gpu_msm_plan *plan,
                         const struct pm_gpu_msm_input *input, void *workspace, void *outputs,
                         const struct pm_gpu_event *marks, pm_error *error);
/* After the stream: result is Jacobian, the bytes that the CPU's have. */
void pm_gpu_msm_finish(const struct pm_gpu_msm_plan *plan, const void *outputs, void *result);

#endif
