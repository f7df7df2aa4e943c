/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/backend_cuda_pieces.h - sums of points that lie on the card, or go through a window. */
#ifndef PM_GROTH16_BACKEND_CUDA_PIECES_H
#define PM_GROTH16_BACKEND_CUDA_PIECES_H

#include "groth16/backend_cuda_card.h"

/* One sum of a proof. */
struct pm_cuda_sum {
    const struct pm_step_data *data;
    struct pm_cuda *cuda;
    const struct pm_group *group;
    enum pm_step_id step;
    const struct pm_key_query *query; /* on the host */
    const struct pm_density *compact; /* on the host, of compact points; else NULL */
    uint64_t n;                       /* scalars; 0: the sum is none */
    uint64_t piece_scalars, piece_points;
    struct pm_gpu_sum_input input; /* of the whole sum; points NULL when they are streamed */
    void *scratch;
    uint64_t scratch_bytes;
    struct pm_group_point *total; /* to which it is added */
    bool is_pinned;               /* its points on the host are page-locked */
};

/* By the holder of the device's lock, whose stream it waits for. Errors: CANCELLED, DEADLINE,
 * DEVICE. */
pm_status pm_cuda_sum_resident(const struct pm_cuda_sum *sum, pm_error *error);
/* n sums whose points go through the plan's key window, the first of them beside the others. What
 * failed may have been added in part. Errors: the same. */
pm_status pm_cuda_sum_streamed(struct pm_cuda_sum *sums, uint32_t n, pm_error *error);

#endif
