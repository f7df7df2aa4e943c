/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/op/gpu_sum_op.h - the sums of a proof on a device: scalars of a witness, points of a query.
 *
 * Most of a witness is 0 and 1. Which scalars are 0, 1, r - 1 or none of these is found once and
 * kept as bits (gpu/kernel/gpu_classes.h) for all sums over the same scalars. Each sum makes two
 * lists of them: the points with 1 and r - 1, which are only added, and the other scalars, which go
 * through the bucket method (gpu_msm_op.h) planned for as many as they are.
 *
 * A density without classes makes lists too: nothing is known of the scalars then, so that each one
 * with a point, be it 0 or 1, is in the second list and the first one is empty. With neither there
 * are no lists and no room for them: scalars and points go through the buckets as they lie.
 *
 * Bytes of points and scalars as in gpu_msm_op.h. Nothing is allocated: the caller brings a
 * workspace and memory of the host for what is downloaded; both hold secrets afterwards. Variable
 * time.
 */
#ifndef PM_GPU_SUM_OP_H
#define PM_GPU_SUM_OP_H

#include "gpu/device/gpu_device.h"
#include "msm/msm.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* Memory of the device for the classes of n scalars. */
uint64_t pm_gpu_classes_bytes(uint64_t n);
/* Which of n canonical scalars are 0, 1, r - 1 or none of these. scalars are 16-byte aligned,
 * classes 256-byte aligned, both of the device; n is below 2^31. Does not wait. Errors: CURVE,
 * UNSUPPORTED, DEVICE. */
pm_status pm_gpu_classify(const struct pm_gpu_stream *stream, pm_curve_id curve,
                          const void *scalars, uint64_t n, void *classes, pm_error *error);

/* A sum over scalars [first, first + n). Everything is of the device and borrowed. */
struct pm_gpu_sum_input {
    pm_curve_id curve;
    enum pm_msm_group group;
    /* Those of this piece: the first one is that of scalar `first`, or, when they are compact, that
     * of the first scalar from there on that has one. */
    const void *points;
    const void *scalars; /* all of them */
    const void *classes; /* of all scalars; NULL: each that has a point goes through the buckets */
    /* Of all scalars, words and directory as in groth16/density.h, with classes or without. density
     * NULL: each scalar has a point, and rank is not read. */
    const uint64_t *density;
    const uint32_t *rank; /* NULL unless is_compact */
    /* Set: only scalars with their bit have a point. Otherwise each has one, and those without a
     * bit are not read. */
    bool is_compact;
    uint64_t first, n; /* n is below 2^31 */
};

/* The best workspace of at most limit_bytes for any sum of n scalars or fewer, and the memory of
 * the host (pinned for preference) that goes with it. has_lists: such sums have classes, a density
 * or both; without it they have neither, and the workspace has no room for lists. Depends on the
 * device's facts and the arguments alone. Errors: CURVE, UNSUPPORTED, NO_MEMORY (need and have),
 * DEVICE. */
pm_status pm_gpu_sum_bytes(struct pm_gpu_device *device, pm_curve_id curve, enum pm_msm_group group,
                           uint64_t n, bool has_lists, uint64_t limit_bytes,
                           uint64_t *workspace_bytes, uint64_t *outputs_bytes, pm_error *error);
/* The sum. Waits for the stream. workspace is 256-byte aligned; what pm_gpu_sum_bytes() asked for
 * suffices, less may. result: Jacobian on the host, the bytes that the CPU's have, untouched when
 * it fails. Errors: as pm_gpu_sum_bytes(), and INVALID_ARGUMENT (outputs too small). */
pm_status pm_gpu_sum_run(const struct pm_gpu_stream *stream, const struct pm_gpu_sum_input *input,
                         void *workspace, uint64_t workspace_bytes, void *outputs,
                         uint64_t outputs_bytes, void *result, pm_error *error);

#endif
