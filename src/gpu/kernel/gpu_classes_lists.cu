/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Lists of scalars by class: the same for every curve. Tiles are counted, counts are summed up, and
 * each tile then knows where its part of the lists goes. */
extern "C" {
#include "gpu/kernel/gpu_classes_kernels.h"
}

#include <cuda_runtime.h>

namespace {

#define TILE_THREADS PM_GPU_LIST_TILE_WORDS /* a thread a word */
#define SCAN_THREADS 1024
#define WARPS_MAX 32

__device__ __forceinline__ uint2 sum_of(uint2 a, uint2 b) {
    return make_uint2(a.x + b.x, a.y + b.y);
}

/* The sum of own over the threads before this one, and over the whole block in *all. Every thread
 * of the block calls it. */
__device__ uint2 before_in_block(uint2 own, uint2 *all) {
    __shared__ uint2 warps[WARPS_MAX];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, n_warps = blockDim.x / 32;
    uint2 sum = own; /* of this thread and those before it in the warp */
    for (uint32_t step = 1; step < 32; step *= 2) {
        const uint2 other =
            make_uint2(__shfl_up_sync(~0u, sum.x, step), __shfl_up_sync(~0u, sum.y, step));
        if (lane >= step) {
            sum = sum_of(sum, other);
        }
    }
    __syncthreads(); /* of the call before, all have read */
    if (lane == 31) {
        warps[warp] = sum;
    }
    __syncthreads();
    uint2 before = make_uint2(sum.x - own.x, sum.y - own.y), total = make_uint2(0, 0);
    for (uint32_t w = 0; w < n_warps; w++) {
        const uint2 of_warp = warps[w];
        total = sum_of(total, of_warp);
        if (w < warp) {
            before = sum_of(before, of_warp);
        }
    }
    *all = total;
    return before;
}

__device__ __forceinline__ pm_gpu_list_word word_or_nothing(const pm_gpu_list_range *range,
                                                            uint64_t k) {
    pm_gpu_list_word word = {0, 0, 0};
    if (k < pm_gpu_list_words(range)) {
        word = pm_gpu_list_word_of(range, k);
    }
    return word;
}

__global__ void count_kernel(const __grid_constant__ pm_gpu_list_range range,
                             pm_gpu_list_counts *counts) {
    const uint64_t k = (uint64_t)blockIdx.x * TILE_THREADS + threadIdx.x;
    const pm_gpu_list_word word = word_or_nothing(&range, k);
    uint2 all;
    (void)before_in_block(make_uint2(pm_gpu_ones(word.units), pm_gpu_ones(word.full)), &all);
    if (threadIdx.x == 0) {
        counts[blockIdx.x].n_units = all.x;
        counts[blockIdx.x].n_full = all.y;
    }
}

/* One block for all counts. */
__global__ void scan_kernel(pm_gpu_list_counts *counts, uint32_t n_tiles) {
    uint2 before = make_uint2(0, 0);
    for (uint32_t start = 0; start < n_tiles; start += SCAN_THREADS) {
        const uint32_t t = start + threadIdx.x;
        uint2 own = make_uint2(0, 0), all;
        if (t < n_tiles) {
            own = make_uint2(counts[t].n_units, counts[t].n_full);
        }
        const uint2 within = before_in_block(own, &all);
        if (t < n_tiles) {
            counts[t].n_units = before.x + within.x;
            counts[t].n_full = before.y + within.y;
        }
        before = sum_of(before, all);
    }
    if (threadIdx.x == 0) {
        counts[n_tiles].n_units = before.x;
        counts[n_tiles].n_full = before.y;
    }
}

/* Each thread finds the places of its word; the words of a warp are then written one after another
 * by all of its threads, so that neighbours write to neighbours. */
__global__ void write_kernel(const __grid_constant__ pm_gpu_list_range range,
                             const pm_gpu_list_counts *counts,
                             const __grid_constant__ pm_gpu_lists lists) {
    const uint64_t k = (uint64_t)blockIdx.x * TILE_THREADS + threadIdx.x;
    const bool is_compact = range.rank != NULL;
    const pm_gpu_list_word own = word_or_nothing(&range, k);
    const bool has_any = (own.units | own.full) != 0;
    uint2 all;
    const uint2 within =
        before_in_block(make_uint2(pm_gpu_ones(own.units), pm_gpu_ones(own.full)), &all);
    const uint64_t own_density = is_compact && has_any ? range.density[range.first / 64 + k] : 0;
    const uint32_t own_point = has_any ? pm_gpu_list_first_point(&range, k) : 0;
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t from = 0; from < 32; from++) {
        pm_gpu_list_word word;
        pm_gpu_list_counts at;
        word.units = __shfl_sync(~0u, own.units, from);
        word.minus = __shfl_sync(~0u, own.minus, from);
        word.full = __shfl_sync(~0u, own.full, from);
        if ((word.units | word.full) == 0) {
            continue; /* the whole warp */
        }
        at.n_units = counts[blockIdx.x].n_units + __shfl_sync(~0u, within.x, from);
        at.n_full = counts[blockIdx.x].n_full + __shfl_sync(~0u, within.y, from);
        const uint64_t density = __shfl_sync(~0u, own_density, from);
        const uint32_t point = __shfl_sync(~0u, own_point, from);
        const uint32_t scalar = pm_gpu_list_first_scalar(&range, k - lane + from);
        pm_gpu_list_put(&lists, &word, density, is_compact, scalar, point, &at, lane);
        pm_gpu_list_put(&lists, &word, density, is_compact, scalar, point, &at, lane + 32);
    }
}

uint32_t tiles_of(const struct pm_gpu_list_range *range) {
    return (uint32_t)((pm_gpu_list_words(range) + TILE_THREADS - 1) / TILE_THREADS);
}

} // namespace

extern "C" int pm_gpu_list_count(const struct pm_gpu_list_range *range,
                                 struct pm_gpu_list_counts *counts, pm_gpu_raw_stream stream) {
    count_kernel<<<tiles_of(range), TILE_THREADS, 0, (cudaStream_t)stream>>>(*range, counts);
    return (int)cudaGetLastError();
}

extern "C" int pm_gpu_list_scan(struct pm_gpu_list_counts *counts, uint32_t n_tiles,
                                pm_gpu_raw_stream stream) {
    scan_kernel<<<1, SCAN_THREADS, 0, (cudaStream_t)stream>>>(counts, n_tiles);
    return (int)cudaGetLastError();
}

extern "C" int pm_gpu_list_write(const struct pm_gpu_list_range *range,
                                 const struct pm_gpu_list_counts *counts,
                                 const struct pm_gpu_lists *lists, pm_gpu_raw_stream stream) {
    write_kernel<<<tiles_of(range), TILE_THREADS, 0, (cudaStream_t)stream>>>(*range, counts,
                                                                             *lists);
    return (int)cudaGetLastError();
}
