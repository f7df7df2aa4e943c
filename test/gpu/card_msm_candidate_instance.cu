/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One candidate for one curve: CARD_MSM_CANDIDATE is its name. */
extern "C" {
#include "card_msm_candidate.h"
}

#include "gpu/curve/gpu_curve_instance.inc"

#include "gpu/kernel/gpu_msm_field.inc"
#include "gpu/tune/gpu_msm_tune.h"

#include <cuda_runtime.h>

#include "gpu/kernel/gpu_msm_pair_launch.inc"

namespace { /* the kernels of other candidates have the same names */

#define SEGMENT_THREADS PM_GPU_MSM_G2_THREADS
#define SEGMENT_BLOCKS PM_GPU_MSM_G2_BLOCKS
#include "gpu/kernel/gpu_msm_whole_launch.inc"

int facts(int *n_warps, int *n_registers, int *local_bytes) {
    cudaFuncAttributes attributes;
    int n_blocks = 0, error = allow_segment_bytes(accumulate_kernel);
    if (error == 0) {
        error = (int)cudaFuncGetAttributes(&attributes, accumulate_kernel);
    }
    if (error == 0) {
        error = (int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_blocks, accumulate_kernel,
                                                                   SEGMENT_THREADS, SEGMENT_BYTES);
    }
    if (error == 0) {
        *n_warps = n_blocks * SEGMENT_THREADS / 32;
        *n_registers = attributes.numRegs;
        *local_bytes = (int)attributes.localSizeBytes;
    }
    return error;
}

} // namespace

#define CANDIDATE PM_CAT2(card_msm_candidate, CARD_MSM_CANDIDATE)
extern "C" const struct card_msm_candidate PM_INSTANCE_NAME(CANDIDATE);
extern "C" const struct card_msm_candidate PM_INSTANCE_NAME(CANDIDATE) = {
    PM_STRING(CARD_MSM_CANDIDATE), launch_accumulate, launch_slices, launch_units, facts};
