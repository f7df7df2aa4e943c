/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Signed digits of scalars, compiled once per curve. */
extern "C" {
#include "gpu/kernel/gpu_msm_kernels.h"
}

#include "gpu/ff/gpu_instance.inc"

#include "gpu/kernel/gpu_msm_digits.inc"

#include <cuda_runtime.h>

namespace { /* the kernels of another curve have the same names */

__global__ void entries_kernel(const __grid_constant__ pm_gpu_msm_windows windows, uint32_t first,
                               uint32_t n_windows, const fr *scalars, const uint32_t *indices,
                               const uint32_t *point_indices, uint32_t n,
                               const __grid_constant__ fr halves, uint32_t *keys,
                               uint32_t *values) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const fr scalar = scalars[indices == NULL ? i : indices[i]];
        const uint32_t point = indices == NULL ? i : point_indices[i];
        msm_entries(&windows, first, n_windows, &scalar, &halves, point, n, keys + i, values + i);
    }
}

int launch_entries(const struct pm_gpu_msm_windows *windows, uint32_t first, uint32_t n_windows,
                   const void *scalars, const uint32_t *indices, const uint32_t *point_indices,
                   uint32_t n, uint32_t *keys, uint32_t *values, pm_gpu_raw_stream stream) {
    fr halves;
    msm_halves(&halves, windows);
    entries_kernel<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(
        *windows, first, n_windows, (const fr *)scalars, indices, point_indices, n, halves, keys,
        values);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" const struct pm_gpu_msm_digit_kernels PM_INSTANCE_NAME(pm_gpu_msm_digits);
extern "C" const struct pm_gpu_msm_digit_kernels PM_INSTANCE_NAME(pm_gpu_msm_digits) = {
    PM_PARAM(FR_BITS), launch_entries};
