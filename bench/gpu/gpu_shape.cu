/* SPDX-License-Identifier: Apache-2.0 OR MIT */
extern "C" {
#include "gpu_shape.h"
}

#include <cuda_runtime.h>

namespace {

/* SplitMix64 of a counter. */
__device__ uint64_t mixed(uint64_t x) {
    uint64_t z = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

__global__ void starts_kernel(uint32_t *starts, uint64_t n_rows, const uint32_t *pattern) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n_rows) {
        starts[i] = (uint32_t)(i / GPU_SHAPE_PERIOD) * pattern[GPU_SHAPE_PERIOD] +
                    pattern[i % GPU_SHAPE_PERIOD];
    }
}

__global__ void terms_kernel(uint2 *terms, uint64_t n_terms, uint32_t n_columns,
                             uint32_t n_coefficients, uint32_t spread) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n_terms) {
        const uint64_t r = mixed(i);
        const uint64_t place = (uint64_t)((double)i / (double)n_terms * n_columns);
        const uint64_t column = spread == 0 ? r >> 32 : place + (r >> 32) % spread;
        /* Nine in ten are one of the first two. */
        const uint32_t coefficient =
            (uint32_t)r % 10 != 0 ? (uint32_t)(r >> 8) % 2 : (uint32_t)(r >> 8) % n_coefficients;
        terms[i] = make_uint2((uint32_t)(column % n_columns), coefficient);
    }
}

__global__ void bits_kernel(uint4 *scalars, uint64_t n, uint32_t n_of_eight) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && mixed(i) % 8 < n_of_eight) {
        scalars[2 * i] = make_uint4((uint32_t)(mixed(i) >> 8) & 1, 0, 0, 0);
        scalars[2 * i + 1] = make_uint4(0, 0, 0, 0);
    }
}

uint32_t blocks_of(uint64_t n) {
    return (uint32_t)((n + 255) / 256);
}

} // namespace

extern "C" int gpu_shape_starts(uint32_t *starts, uint64_t n_rows, const uint32_t *pattern,
                                void *stream) {
    starts_kernel<<<blocks_of(n_rows + 1), 256, 0, (cudaStream_t)stream>>>(starts, n_rows, pattern);
    return (int)cudaGetLastError();
}

extern "C" int gpu_shape_terms(void *terms, uint64_t n_terms, uint32_t n_columns,
                               uint32_t n_coefficients, uint32_t spread, void *stream) {
    terms_kernel<<<blocks_of(n_terms), 256, 0, (cudaStream_t)stream>>>(
        (uint2 *)terms, n_terms, n_columns, n_coefficients, spread);
    return (int)cudaGetLastError();
}

extern "C" int gpu_shape_bits(void *scalars, uint64_t n, uint32_t n_of_eight, void *stream) {
    bits_kernel<<<blocks_of(n), 256, 0, (cudaStream_t)stream>>>((uint4 *)scalars, n, n_of_eight);
    return (int)cudaGetLastError();
}
