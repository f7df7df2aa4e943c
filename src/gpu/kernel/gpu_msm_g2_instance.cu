/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multi-scalar multiplication in G2, compiled once per curve: two lanes do what one does in G1. */
extern "C" {
#include "gpu/kernel/gpu_msm_kernels.h"
}

#include "gpu/curve/gpu_curve_instance.inc"

#include "gpu/kernel/gpu_msm_field.inc"

#include <cuda_runtime.h>

#define PM_GPU_NO_UNROLL _Pragma("unroll 1")
#define PM_GPU_PREFETCH(address) prefetch_component(address)

namespace { /* the kernels of another curve have the same names */

/* Each lane the end of the object that its component is nearer to. */
__device__ __forceinline__ void prefetch_component(const g2_affine *p) {
    const char *at = (const char *)p + (threadIdx.x % 2 == 0 ? 0 : sizeof *p - 1);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

#include "gpu/kernel/gpu_msm_pair.inc"
#include "gpu/kernel/gpu_msm_whole.inc"

__device__ __forceinline__ uint32_t pair_index(void) {
    return (blockIdx.x * blockDim.x + threadIdx.x) / 2;
}

__device__ __forceinline__ uint64_t at_most(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Blocks of n_threads threads that have n pairs. */
uint32_t blocks_of(uint32_t n, uint32_t n_threads) {
    return (uint32_t)((2 * (uint64_t)n + n_threads - 1) / n_threads);
}

/* Threads of a block, two for each segment, slice or edge, and blocks that a multiprocessor has
 * registers for: 128 a thread for segments, where BLS12-381 spills 72 bytes and BN254 8. */
#define SEGMENT_THREADS 128
#define SEGMENT_BLOCKS 4
/* Threads of a block for slices, a little below the 48 KiB of shared memory that need no asking. */
#define SLICE_THREADS 64
#define SLICE_BLOCKS 5
#define SUM_THREADS 64
#define SUM_BLOCKS 6
#define OUTPUT_PAIRS 64
#define WARP_PAIRS 16u

/* ---- Kernels --------------------------------------------------------------------------------- */

/* The first pair of this warp. */
__device__ __forceinline__ uint32_t warp_index(void) {
    return pair_index() / WARP_PAIRS * WARP_PAIRS;
}

/* A place for each pair and the table behind them: more than a block may have without asking. */
#define SEGMENT_PLACES_BYTES (SEGMENT_THREADS / 2 * WHOLE_PLACE_BYTES)
#define SEGMENT_BYTES (SEGMENT_PLACES_BYTES + 2 * WHOLE_ROWS * sizeof(whole_row))

/* A pair's sum is at `place`, the block's table at `table`; all threads of the block call it. */
__device__ __forceinline__ void open_sum(whole_sum *sum, void *place, whole_row *table) {
    if (threadIdx.x < 2 * WHOLE_ROWS) {
        whole_table_make(table, threadIdx.x);
    }
    __syncthreads();
    sum->half = (whole_half *)place;
    sum->table = table;
}

__device__ __forceinline__ void open_segment_sum(whole_sum *sum) {
    extern __shared__ uint4 segment_memory[];
    char *memory = (char *)segment_memory;
    open_sum(sum, memory + threadIdx.x / 2 * WHOLE_PLACE_BYTES,
             (whole_row *)(memory + SEGMENT_PLACES_BYTES));
}

__global__ void __launch_bounds__(SEGMENT_THREADS, SEGMENT_BLOCKS)
    accumulate_kernel(const uint32_t *__restrict__ keys, const uint32_t *__restrict__ values,
                      const pm_gpu_msm_extent *extent, uint32_t n_segments, uint32_t n_buckets,
                      const g2_affine *__restrict__ points, g2_xyzz *buckets, uint32_t *edge_keys,
                      g2_xyzz *edges) {
    const uint32_t t = pair_index(), n = extent->n_entries, length = extent->segment;
    const uint64_t begin = (uint64_t)t * length;
    const uint64_t block_begin = (uint64_t)blockIdx.x * (SEGMENT_THREADS / 2) * length;
    const uint32_t steps = block_begin < n ? (uint32_t)at_most(length, n - block_begin) : 0;
    whole_sum sum;
    (void)n_segments; /* whole blocks of them: PM_GPU_MSM_SEGMENTS_STEP */
    open_segment_sum(&sum);
    whole_segment(keys, values, n, begin, at_most(begin + length, n), steps, points, n_buckets,
                  buckets, &edge_keys[2 * t], &edges[2 * t], &sum);
}

__global__ void __launch_bounds__(SEGMENT_THREADS, SEGMENT_BLOCKS)
    units_kernel(const uint32_t *__restrict__ list, uint32_t n, uint32_t n_threads,
                 const g2_affine *__restrict__ points, g2_xyzz *sums) {
    const uint32_t t = pair_index();
    whole_sum sum;
    open_segment_sum(&sum);
    whole_units(&sum, list, t, n_threads, t < n_threads ? n : 0, (n + n_threads - 1) / n_threads,
                points);
    if (t < n_threads) {
        if (sum.is_inf) {
            whole_clear(&sum);
        }
        whole_store(&sums[t], &sum);
    }
}

__global__ void __launch_bounds__(SUM_THREADS, SUM_BLOCKS)
    merge_kernel(const uint32_t *keys, const g2_xyzz *points, uint32_t n, uint32_t segment,
                 g2_xyzz *buckets, uint32_t *edge_keys, g2_xyzz *edges) {
    __shared__ pair_place places[SUM_THREADS / 2];
    const uint32_t t = pair_index(), begin = pm_gpu_msm_merge_begin(t, segment);
    if (pm_gpu_msm_merge_begin(warp_index(), segment) < n) {
        pair_merge(keys, points, n, begin,
                   (uint32_t)at_most(pm_gpu_msm_merge_begin(t + 1, segment), n), segment + 1,
                   buckets, &edge_keys[2 * t], &edges[2 * t], &places[threadIdx.x / 2]);
    }
}

__global__ void __launch_bounds__(SLICE_THREADS, SLICE_BLOCKS)
    slices_kernel(const g2_xyzz *buckets, uint32_t n_slices, uint32_t slice_log, g2_xyzz *plain,
                  g2_xyzz *weighted) {
    __shared__ g2_xyzz asides[SLICE_THREADS / 2];
    __shared__ uint4 places[SLICE_THREADS / 2][WHOLE_PLACE_BYTES / sizeof(uint4)];
    __shared__ whole_row table[2 * WHOLE_ROWS];
    const uint32_t t = pair_index();
    const bool active = t < n_slices;
    whole_sum sum;
    open_sum(&sum, places[threadIdx.x / 2], table);
    whole_slice(&plain[t], &weighted[t], buckets + ((uint64_t)(active ? t : 0) << slice_log),
                1u << slice_log, active, &sum, &asides[threadIdx.x / 2]);
}

/* Folds the sums of a block's pairs as a tree; all threads call it, place 0 has the outcome and the
 * answer says whether it is infinity. */
__device__ __forceinline__ bool fold_block(pair_place *places, bool *are_inf, bool is_inf) {
    const uint32_t pair = threadIdx.x / 2;
    PM_GPU_NO_UNROLL
    for (uint32_t half = OUTPUT_PAIRS / 2; half > 0; half /= 2) {
        if (threadIdx.x % 2 == 0) {
            are_inf[pair] = is_inf;
        }
        __syncthreads();
        const uint32_t other = pair < half ? pair + half : pair;
        pair_place_add(&places[pair].at, &is_inf, &places[other].at,
                       pair >= half || are_inf[other]);
        __syncthreads();
    }
    return is_inf;
}

/* By the first pair of a block; all threads call it. */
__device__ __forceinline__ void store_jacobian(g2_jac *to, const g2_xyzz *from, bool is_inf) {
    pair_xyzz at;
    pair_fp2 x, y;
    pair_load_xyzz(&at, from);
    /* (X ZZ, Y ZZZ, ZZ) as g2_xyzz_to_jac; infinity is (1, 1, 0). */
    pair_mul_two(&x, &y, &at.x, &at.zz, &at.y, &at.zzz);
    if (is_inf) {
        pair_set_one(&x);
        pair_set_one(&y);
        pair_set_zero(&at.zz);
    }
    if (threadIdx.x < 2) {
        pair_store_fp2(&to->x, &x);
        pair_store_fp2(&to->y, &y);
        pair_store_fp2(&to->z, &at.zz);
    }
}

/* A block for each output of each window. */
__global__ void __launch_bounds__(2 * OUTPUT_PAIRS)
    outputs_kernel(const __grid_constant__ pm_gpu_msm_windows windows, uint32_t first,
                   uint32_t slice_log, const g2_xyzz *plain, const g2_xyzz *weighted,
                   g2_jac *outputs) {
    __shared__ pair_place places[OUTPUT_PAIRS];
    __shared__ bool are_inf[OUTPUT_PAIRS];
    const uint32_t output = blockIdx.x, window = first + blockIdx.y;
    if (output >= pm_gpu_msm_n_outputs(&windows, window, slice_log)) {
        return;
    }
    const uint64_t before =
        (pm_gpu_msm_bucket_base(&windows, window) - pm_gpu_msm_bucket_base(&windows, first)) >>
        slice_log;
    const uint32_t n_slices = 1u << (pm_gpu_msm_window_bits(&windows, window) - 1 - slice_log);
    const uint32_t n = pm_gpu_msm_output_count(output, n_slices);
    const g2_xyzz *from = (output == 0 ? weighted : plain) + before;
    g2_xyzz *own = &places[threadIdx.x / 2].at;
    bool is_inf = true;
    PM_GPU_NO_UNROLL
    for (uint32_t q = threadIdx.x / 2; q < n + threadIdx.x / 2; q += OUTPUT_PAIRS) {
        const bool active = q < n;
        pair_place_add_from(own, &is_inf, &from[active ? pm_gpu_msm_output_slice(output, q) : 0],
                            active);
    }
    is_inf = fold_block(places, are_inf, is_inf);
    store_jacobian(&outputs[blockIdx.y * PM_GPU_MSM_OUTPUTS_MAX + output], &places[0].at, is_inf);
}

/* Each block folds every gridDim.x-th group of OUTPUT_PAIRS sums; the last one to one point. */
__global__ void __launch_bounds__(2 * OUTPUT_PAIRS)
    fold_kernel(const g2_xyzz *sums, uint32_t n, g2_xyzz *folded, g2_jac *result) {
    __shared__ pair_place places[OUTPUT_PAIRS];
    __shared__ bool are_inf[OUTPUT_PAIRS];
    g2_xyzz *own = &places[threadIdx.x / 2].at;
    bool is_inf = true;
    PM_GPU_NO_UNROLL
    for (uint32_t q = blockIdx.x * OUTPUT_PAIRS; q < n; q += gridDim.x * OUTPUT_PAIRS) {
        const uint32_t at = q + threadIdx.x / 2;
        pair_place_add_from(own, &is_inf, &sums[at < n ? at : 0], at < n);
    }
    is_inf = fold_block(places, are_inf, is_inf);
    if (result != NULL) {
        store_jacobian(result, &places[0].at, is_inf);
    } else if (threadIdx.x < 2) {
        pair_place_store(&folded[blockIdx.x], &places[0].at, is_inf);
    }
}

/* ---- Launchers ------------------------------------------------------------------------------- */

/* What a kernel of segments asks for beyond 48 KiB of shared memory a block. */
template <typename Kernel> int allow_segment_bytes(Kernel *kernel) {
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)SEGMENT_BYTES);
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     (int)cudaSharedmemCarveoutMaxShared);
    }
    return (int)error;
}

int launch_accumulate(const uint32_t *keys, const uint32_t *values,
                      const struct pm_gpu_msm_extent *extent, uint32_t n_segments,
                      uint32_t n_buckets, const void *points, void *buckets,
                      const struct pm_gpu_msm_edges *edges, pm_gpu_raw_stream stream) {
    const int refused = allow_segment_bytes(accumulate_kernel);
    if (refused != 0) {
        return refused;
    }
    accumulate_kernel<<<blocks_of(n_segments, SEGMENT_THREADS), SEGMENT_THREADS, SEGMENT_BYTES,
                        (cudaStream_t)stream>>>(keys, values, extent, n_segments, n_buckets,
                                                (const g2_affine *)points, (g2_xyzz *)buckets,
                                                edges->keys, (g2_xyzz *)edges->points);
    return (int)cudaGetLastError();
}

int launch_units(const uint32_t *list, uint32_t n, uint32_t n_threads, const void *points,
                 void *sums, pm_gpu_raw_stream stream) {
    const int refused = allow_segment_bytes(units_kernel);
    if (refused != 0) {
        return refused;
    }
    units_kernel<<<blocks_of(n_threads, SEGMENT_THREADS), SEGMENT_THREADS, SEGMENT_BYTES,
                   (cudaStream_t)stream>>>(list, n, n_threads, (const g2_affine *)points,
                                           (g2_xyzz *)sums);
    return (int)cudaGetLastError();
}

int launch_slices(const void *buckets, uint32_t n_slices, uint32_t slice_log, void *plain,
                  void *weighted, pm_gpu_raw_stream stream) {
    slices_kernel<<<blocks_of(n_slices, SLICE_THREADS), SLICE_THREADS, 0, (cudaStream_t)stream>>>(
        (const g2_xyzz *)buckets, n_slices, slice_log, (g2_xyzz *)plain, (g2_xyzz *)weighted);
    return (int)cudaGetLastError();
}

int launch_merge(const struct pm_gpu_msm_edges *from, uint32_t n, uint32_t segment, void *buckets,
                 const struct pm_gpu_msm_edges *to, pm_gpu_raw_stream stream) {
    const uint32_t pairs = pm_gpu_msm_merge_threads(n, segment);
    merge_kernel<<<blocks_of(pairs, SUM_THREADS), SUM_THREADS, 0, (cudaStream_t)stream>>>(
        from->keys, (const g2_xyzz *)from->points, n, segment, (g2_xyzz *)buckets, to->keys,
        (g2_xyzz *)to->points);
    return (int)cudaGetLastError();
}

int launch_outputs(const struct pm_gpu_msm_windows *windows, uint32_t first, uint32_t n_windows,
                   uint32_t slice_log, const void *plain, const void *weighted, void *outputs,
                   pm_gpu_raw_stream stream) {
    const uint32_t bits = windows->small_bits + (windows->n_large > 0 ? 1 : 0);
    outputs_kernel<<<dim3(bits - slice_log, n_windows), 2 * OUTPUT_PAIRS, 0,
                     (cudaStream_t)stream>>>(*windows, first, slice_log, (const g2_xyzz *)plain,
                                             (const g2_xyzz *)weighted, (g2_jac *)outputs);
    return (int)cudaGetLastError();
}

int launch_fold(const void *sums, uint32_t n, void *folded, void *result,
                pm_gpu_raw_stream stream) {
    const uint32_t enough = (n + 2 * OUTPUT_PAIRS - 1) / (2 * OUTPUT_PAIRS);
    const uint32_t blocks = enough < PM_GPU_MSM_FOLD_BLOCKS ? enough : PM_GPU_MSM_FOLD_BLOCKS;
    if (blocks > 1) {
        fold_kernel<<<blocks, 2 * OUTPUT_PAIRS, 0, (cudaStream_t)stream>>>((const g2_xyzz *)sums, n,
                                                                           (g2_xyzz *)folded, NULL);
        sums = folded;
        n = blocks;
    }
    fold_kernel<<<1, 2 * OUTPUT_PAIRS, 0, (cudaStream_t)stream>>>((const g2_xyzz *)sums, n, NULL,
                                                                  (g2_jac *)result);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" const struct pm_gpu_msm_group_kernels PM_INSTANCE_NAME(pm_gpu_msm_g2);
extern "C" const struct pm_gpu_msm_group_kernels PM_INSTANCE_NAME(pm_gpu_msm_g2) = {
    sizeof(g2_affine), sizeof(g2_xyzz), sizeof(g2_jac), SEGMENT_THREADS *SEGMENT_BLOCKS / 2,
    launch_accumulate, launch_merge,    launch_slices,  launch_outputs,
    launch_units,      launch_fold};
