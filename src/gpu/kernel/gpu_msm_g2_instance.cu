/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multi-scalar multiplication in G2, compiled once per curve. */
extern "C" {
#include "gpu/kernel/gpu_msm_kernels.h"
}

#include "gpu/curve/gpu_curve_instance.inc"

#include "gpu/kernel/gpu_msm_field.inc"

#include <cuda_runtime.h>

#define G g2
#define K fp2
#define SEGMENT_THREADS 128
#define SEGMENT_BLOCKS 2
/* Products are calls, additions are not: nvcc 13.0 lost a pointer in a call within a call. */
#define PM_GPU_MSM_ONE_ADD 0
#define SUM_THREADS 64
#define OUTPUT_THREADS 64
#include "gpu/kernel/gpu_msm_group.inc"
