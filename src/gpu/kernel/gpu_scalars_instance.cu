/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Kernels over a witness: a matrix times it, the check and the conversion of its scalars; compiled
 * once per curve. */
#include "gpu/kernel/gpu_scalar_kernels.h"

#include "gpu/ff/gpu_instance.inc"
#include "gpu/op/gpu_scalars_op.h"

#include <cuda_runtime.h>

namespace { /* the kernels of another curve have the same names */

#include "gpu/kernel/gpu_tile.inc"

/* ---- A matrix times a witness ----------------------------------------------------------------
 *
 * CSR-Stream (Greathouse, Daga, SC 2014, section III): a block has as many rows as threads and
 * walks over their terms by tiles. All threads share the tile's terms evenly, whatever rows they
 * are of: loads of terms are neighbouring, gathers and products independent. Then each thread adds
 * up what the tile has of its row, and the warp helps where that is much. */

#define SPARSE_THREADS 256
#define SPARSE_TILE 1024
#define SPARSE_BLOCKS 4     /* on a multiprocessor: 64 registers a thread */
#define SPARSE_ALONE_MAX 16 /* terms of a row in one tile that a thread adds up alone */

struct sparse_entry { /* struct pm_sparse_entry */
    uint32_t column, coefficient;
};

__device__ __forceinline__ fr sparse_load(const fr *at) {
    const uint4 low = __ldg((const uint4 *)at), high = __ldg((const uint4 *)at + 1);
    return fr{{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

/* The products of the tile's terms. */
__device__ __forceinline__ void sparse_fill_tile(uint4 *tile, const sparse_entry *terms,
                                                 uint32_t count, const fr *coefficients,
                                                 const fr *w) {
#pragma unroll 2
    for (uint32_t k = threadIdx.x; k < count; k += SPARSE_THREADS) {
        const uint2 term = __ldg((const uint2 *)(const void *)(terms + k));
        const fr x = sparse_load(w + term.x), coefficient = sparse_load(coefficients + term.y);
        fr product;
        fr_mul(&product, &coefficient, &x);
        tile_put(tile, SPARSE_TILE, k, product);
    }
}

/* All lanes add up n values from slot `first` on and have the sum. */
__device__ __forceinline__ fr sparse_sum_by_warp(const uint4 *tile, uint32_t first, uint32_t n) {
    fr sum, x;
    fr_set_zero(&sum);
    for (uint32_t k = threadIdx.x % 32; k < n; k += 32) {
        tile_get(x, tile, SPARSE_TILE, first + k);
        fr_add(&sum, &sum, &x);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
#pragma unroll
        for (int i = 0; i < FR_WORDS; i++) {
            x.l[i] = __shfl_xor_sync(0xffffffffu, sum.l[i], distance);
        }
        fr_add(&sum, &sum, &x);
    }
    return sum;
}

/* sum += what the tile has of this thread's row: n values from slot `first` on. */
__device__ __forceinline__ void sparse_add_row(fr &sum, const uint4 *tile, uint32_t first,
                                               uint32_t n) {
    uint32_t long_rows = __ballot_sync(0xffffffffu, n > SPARSE_ALONE_MAX);
    while (long_rows != 0) {
        const int lane = __ffs((int)long_rows) - 1;
        const uint32_t its_first = __shfl_sync(0xffffffffu, first, lane);
        const uint32_t its_n = __shfl_sync(0xffffffffu, n, lane);
        const fr part = sparse_sum_by_warp(tile, its_first, its_n);
        if (threadIdx.x % 32 == (uint32_t)lane) {
            fr_add(&sum, &sum, &part);
        }
        long_rows &= long_rows - 1;
    }
    if (n <= SPARSE_ALONE_MAX) {
        for (uint32_t k = 0; k < n; k++) {
            fr x;
            tile_get(x, tile, SPARSE_TILE, first + k);
            fr_add(&sum, &sum, &x);
        }
    }
}

__global__ void __launch_bounds__(SPARSE_THREADS, SPARSE_BLOCKS)
    sparse_kernel(const fr *coefficients, const sparse_entry *terms, const uint32_t *row_starts,
                  uint32_t n_rows, const fr *w, fr *out) {
    __shared__ uint4 tile[2 * SPARSE_TILE];
    const uint64_t first_row = (uint64_t)blockIdx.x * SPARSE_THREADS;
    const uint64_t row = first_row + threadIdx.x;
    const uint64_t end_row = min(first_row + SPARSE_THREADS, (uint64_t)n_rows);
    /* Relative to the block's first term. */
    const uint32_t origin = row_starts[first_row], total = row_starts[end_row] - origin;
    const uint32_t begin = row < end_row ? row_starts[row] - origin : total;
    const uint32_t end = row < end_row ? row_starts[row + 1] - origin : total;
    fr sum;
    fr_set_zero(&sum);
    terms += origin;
    for (uint32_t at = 0, count; at < total; at += count) {
        count = min(total - at, (uint32_t)SPARSE_TILE);
        sparse_fill_tile(tile, terms + at, count, coefficients, w);
        __syncthreads();
        const uint32_t from = max(begin, at), to = min(end, at + count);
        sparse_add_row(sum, tile, from - at, to > from ? to - from : 0);
        __syncthreads(); /* before the tile is written again */
    }
    if (row < end_row) {
        out[row] = sum;
    }
}

/* ---- Scalars as they arrive ------------------------------------------------------------------ */

template <int kConversion>
__global__ void take_kernel(fr *values, uint64_t n, unsigned long long *lowest) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    fr x = values[i];
    if (!fr_is_canonical(&x)) {
        atomicMin(lowest, (unsigned long long)i);
    } else if (kConversion != PM_GPU_KEEP) {
        if (kConversion == PM_GPU_FROM_MONTGOMERY) {
            fr_from_mont(&x, &x);
        } else {
            fr_to_mont(&x, &x);
        }
        values[i] = x;
    }
}

/* ---- Launchers ------------------------------------------------------------------------------- */

#define TAKE_THREADS 256

static int launch_sparse(const struct pm_gpu_sparse_arrays *matrix, const void *w, void *out,
                         pm_gpu_raw_stream stream) {
    const uint32_t n_blocks =
        (uint32_t)(((uint64_t)matrix->n_rows + SPARSE_THREADS - 1) / SPARSE_THREADS);
    sparse_kernel<<<n_blocks, SPARSE_THREADS, 0, (cudaStream_t)stream>>>(
        (const fr *)matrix->coefficients, (const sparse_entry *)matrix->terms, matrix->row_starts,
        matrix->n_rows, (const fr *)w, (fr *)out);
    return (int)cudaGetLastError();
}

static int launch_take(int conversion, void *values, uint64_t n, unsigned long long *lowest,
                       pm_gpu_raw_stream stream) {
    static void (*const kernels[])(fr *, uint64_t, unsigned long long *) = {
        take_kernel<PM_GPU_KEEP>, take_kernel<PM_GPU_FROM_MONTGOMERY>,
        take_kernel<PM_GPU_TO_MONTGOMERY>};
    kernels[conversion]<<<(uint32_t)((n + TAKE_THREADS - 1) / TAKE_THREADS), TAKE_THREADS, 0,
                          (cudaStream_t)stream>>>((fr *)values, n, lowest);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" const struct pm_gpu_scalar_kernels PM_INSTANCE_NAME(pm_gpu_scalar_kernels) = {
    PM_INSTANCE_CURVE_ID, launch_sparse, launch_take};
