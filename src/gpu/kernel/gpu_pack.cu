/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packed scalars become scalars again. */
#include "gpu/kernel/gpu_pack.h"

extern "C" {
#include "gpu/kernel/gpu_scalar_kernels.h"
}

#include <cuda_runtime.h>

#define EXPAND_THREADS 256

/* A thread writes 16 bytes, so that a warp writes 512 in a row. */
static __global__ void expand_kernel(const void *packed, uint64_t full_offset, uint64_t n,
                                     uint4 *values) {
    const uint64_t at = (uint64_t)blockIdx.x * EXPAND_THREADS + threadIdx.x;
    if (at < 2 * n) {
        const void *from = pm_gpu_pack_find(packed, full_offset, at / 2, (uint32_t)(at % 2));
        values[at] = from != NULL ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
    }
}

extern "C" int pm_gpu_expand(const void *packed, uint64_t n, void *values,
                             pm_gpu_raw_stream stream) {
    const uint32_t n_blocks = (uint32_t)((2 * n + EXPAND_THREADS - 1) / EXPAND_THREADS);
    expand_kernel<<<n_blocks, EXPAND_THREADS, 0, (cudaStream_t)stream>>>(
        packed, pm_gpu_pack_full_offset(n), n, (uint4 *)values);
    return (int)cudaGetLastError();
}
