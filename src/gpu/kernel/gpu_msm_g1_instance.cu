/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multi-scalar multiplication in G1, compiled once per curve. */
extern "C" {
#include "gpu/kernel/gpu_msm_kernels.h"
}

#include "gpu/curve/gpu_curve_instance.inc"

#include "gpu/kernel/gpu_msm_field.inc"

#include <cuda_runtime.h>

#define G g1
#define K fp
/* 168 registers a thread with 12 words a coordinate, 128 with 8: nothing is spilled. */
#define SEGMENT_THREADS 128
#if defined(PM_INSTANCE_BLS12_381)
#define SEGMENT_BLOCKS 3
#else
#define SEGMENT_BLOCKS 4
#endif
#define SUM_THREADS 64
#define OUTPUT_THREADS 128
#include "gpu/kernel/gpu_msm_group.inc"
