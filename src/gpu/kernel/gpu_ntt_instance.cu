/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Kernels over scalars: transforms, tables, pointwise steps; compiled once per curve. */
#include "gpu/kernel/gpu_kernels.h"

#include "gpu/ff/gpu_instance.inc"

#include "gpu/kernel/gpu_ntt.inc"

#include <cuda_runtime.h>

namespace { /* the kernels of another curve have the same names */

/* ---- Kernels --------------------------------------------------------------------------------- */

#include "gpu/kernel/gpu_tile.inc"

/* From one assignment of rows to threads to another. */
__device__ __forceinline__ void tile_exchange(fr x[NTT_HELD], uint4 *shared,
                                              const pm_gpu_ntt_pass &pass, ntt_place place,
                                              uint32_t from, uint32_t to) {
    const uint32_t plane = 1u << (pass.n_levels + pass.log_columns);
    __syncthreads(); /* what the exchange before left has been read */
#pragma unroll
    for (uint32_t r = 0; r < NTT_HELD; r++) {
        tile_put(shared, plane, ntt_slot(&pass, place, ntt_row(place.u, from, r)), x[r]);
    }
    __syncthreads();
#pragma unroll
    for (uint32_t r = 0; r < NTT_HELD; r++) {
        tile_get(x[r], shared, plane, ntt_slot(&pass, place, ntt_row(place.u, to, r)));
    }
}

/* 128 registers a thread: sixteen warps on a multiprocessor. Passes that scale nothing, most of
 * them, are compiled without it. */
template <bool kMerge, bool kInverse, bool kScale>
__global__ void __launch_bounds__(512)
    ntt_pass_kernel(const __grid_constant__ pm_gpu_ntt_pass pass, const fr *in, fr *out,
                    const fr_factor *__restrict__ factors,
                    const __grid_constant__ pm_gpu_scale scale_in,
                    const __grid_constant__ pm_gpu_scale scale_out) {
    extern __shared__ uint4 shared[];
    const ntt_place place = ntt_place_of(&pass, blockIdx.x, threadIdx.x);
    const uint32_t n_factors = 1u << (pass.log_n - 1);
    const uint32_t n_windows = ntt_windows(&pass);
    uint32_t shift = ntt_read_shift(&pass, kMerge);
    fr x[NTT_HELD];
    ntt_read(x, &pass, place, shift, in, kScale ? &scale_in : NULL);
    for (uint32_t step = 0; step < n_windows; step++) {
        const uint32_t window = kMerge ? n_windows - 1 - step : step;
        const uint32_t wanted = ntt_window_shift(&pass, window);
        if (wanted != shift) {
            tile_exchange(x, shared, pass, place, shift, wanted);
            shift = wanted;
        }
        const uint32_t block = ntt_window_block(&pass, place, shift);
        const int first = ntt_window_first(&pass, window);
        if (pass.level == 0 && window == 0) {
            ntt_window(x, first, factors, n_factors, 0, true, kInverse, kMerge);
        } else {
            ntt_window(x, first, factors, n_factors, block, false, kInverse, kMerge);
        }
    }
    const uint32_t last = ntt_write_shift(&pass, kMerge);
    if (last != shift) {
        tile_exchange(x, shared, pass, place, shift, last);
    }
    ntt_write(x, &pass, place, last, out, kScale ? &scale_out : NULL);
}

__global__ void ntt_few_kernel(fr *vector, uint32_t log_n, const fr_factor *factors, bool inverse,
                               bool merge) {
    ntt_few(vector, log_n, factors, inverse, merge);
}

__global__ void scale_kernel(fr *vector, uint32_t log_n,
                             const __grid_constant__ pm_gpu_scale scale) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >> log_n == 0) {
        ntt_scale(&vector[i], &scale, log_n, i);
    }
}

/* Bit reversal by squares (poly/ntt.inc): position (x, m, y) with Q-bit ends goes to
 * (brv y, brv m, brv x). A block of threads exchanges the squares of m and brv m. */
#define REVERSE_Q 4
#define REVERSE_SIDE (1u << REVERSE_Q)

/* kSubtract: what is moved is a - c, as canonical scalars. */
template <bool kSubtract>
__device__ __forceinline__ fr reverse_fetch(const fr *a, const fr *c, uint32_t at) {
    fr x = a[at];
    if (kSubtract) {
        const fr y = c[at];
        fr_sub(&x, &x, &y);
        fr_from_mont(&x, &x);
    }
    return x;
}

template <bool kSubtract>
__global__ void __launch_bounds__(256) reverse_squares_kernel(fr *a, const fr *c, uint32_t log_n) {
    __shared__ uint4 shared[4 * REVERSE_SIDE * (REVERSE_SIDE + 1)];
    const uint32_t n_bits = log_n - 2 * REVERSE_Q;
    const uint32_t m = blockIdx.x, reversed = ntt_reverse_bits(m, n_bits);
    const uint32_t x = threadIdx.x >> REVERSE_Q, y = threadIdx.x & (REVERSE_SIDE - 1);
    const uint32_t plane = REVERSE_SIDE * (REVERSE_SIDE + 1);
    if (reversed < m) {
        return; /* done from the other side */
    }
    const uint32_t here = x << (log_n - REVERSE_Q) | m << REVERSE_Q | y;
    const uint32_t there = x << (log_n - REVERSE_Q) | reversed << REVERSE_Q | y;
    const uint32_t put = x * (REVERSE_SIDE + 1) + y;
    tile_put(shared, plane, put, reverse_fetch<kSubtract>(a, c, here));
    if (reversed != m) {
        tile_put(shared + 2 * plane, plane, put, reverse_fetch<kSubtract>(a, c, there));
    }
    __syncthreads();
    const uint32_t get =
        ntt_reverse_bits(y, REVERSE_Q) * (REVERSE_SIDE + 1) + ntt_reverse_bits(x, REVERSE_Q);
    fr t;
    tile_get(t, shared, plane, get);
    a[there] = t;
    if (reversed != m) {
        tile_get(t, shared + 2 * plane, plane, get);
        a[here] = t;
    }
}

/* The same for vectors of fewer than 2^(2 Q). */
template <bool kSubtract> __global__ void reverse_few_kernel(fr *a, const fr *c, uint32_t log_n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t j = ntt_reverse_bits(i, log_n);
    if (i >> log_n == 0 && i <= j) {
        const fr x = reverse_fetch<kSubtract>(a, c, i), y = reverse_fetch<kSubtract>(a, c, j);
        a[i] = y;
        a[j] = x;
    }
}

/* factors[0] = 1, and -1 behind the last. */
__global__ void factors_first_kernel(fr_factor *factors, uint32_t n_factors) {
    fr one, minus_one;
    fr_set_one(&one);
    fr_neg(&minus_one, &one);
    fr_factor_from_mont(&factors[0], &one);
    fr_factor_from_mont(&factors[n_factors], &minus_one);
}

__global__ void factors_double_kernel(fr_factor *factors, uint32_t half,
                                      const __grid_constant__ fr_factor root) {
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < half) {
        ntt_factor_double(factors, half, b, &root);
    }
}

struct power_table {
    fr first, squares[32];
    uint32_t log_n, exponent_shift, count, bit_reversed;
};

__global__ void powers_kernel(fr_factor *table, const __grid_constant__ power_table about) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < about.count) {
        const uint32_t p = i << about.exponent_shift;
        const uint32_t e = about.bit_reversed ? ntt_reverse_bits(p, about.log_n) : p;
        ntt_power_factor(&table[i], &about.first, about.squares, e);
    }
}

__global__ void mul_kernel(fr *r, const fr *a, const fr *b, uint64_t n) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        fr x = a[i];
        const fr y = b[i];
        fr_mul(&x, &x, &y);
        r[i] = x;
    }
}

/* b NULL: a stands for the product. */
__global__ void mul_sub_kernel(fr *r, const fr *a, const fr *b, const fr *c, uint64_t n) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        fr x = a[i];
        const fr z = c[i];
        if (b != NULL) {
            const fr y = b[i];
            fr_mul(&x, &x, &y);
        }
        fr_sub(&x, &x, &z);
        fr_from_mont(&x, &x);
        r[i] = x;
    }
}

/* ---- Launchers ------------------------------------------------------------------------------- */

#define THREADS 256

static uint32_t blocks_of(uint64_t n) {
    return (uint32_t)((n + THREADS - 1) / THREADS);
}

typedef void pass_kernel(pm_gpu_ntt_pass, const fr *, fr *, const fr_factor *, pm_gpu_scale,
                         pm_gpu_scale);

/* By merge, inverse, scale. */
static pass_kernel *const pass_kernels[2][2][2] = {
    {{ntt_pass_kernel<false, false, false>, ntt_pass_kernel<false, false, true>},
     {ntt_pass_kernel<false, true, false>, ntt_pass_kernel<false, true, true>}},
    {{ntt_pass_kernel<true, false, false>, ntt_pass_kernel<true, false, true>},
     {ntt_pass_kernel<true, true, false>, ntt_pass_kernel<true, true, true>}}};

static int prepare(uint64_t shared_bytes_max) {
    const uint64_t tile_bytes = sizeof(fr) << PM_GPU_NTT_TILE_LOG_MAX;
    const int bytes = (int)(tile_bytes < shared_bytes_max ? tile_bytes : shared_bytes_max);
    for (int which = 0; which < 8; which++) {
        const cudaError_t status =
            cudaFuncSetAttribute(pass_kernels[which >> 2][which >> 1 & 1][which & 1],
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (status != cudaSuccess) {
            return (int)status;
        }
    }
    return (int)cudaSuccess;
}

static int launch_ntt_pass(const struct pm_gpu_ntt_launch *launch, pm_gpu_raw_stream stream) {
    const struct pm_gpu_ntt_pass *pass = launch->pass;
    const size_t shared_bytes = sizeof(fr) << (pass->n_levels + pass->log_columns);
    const bool scales =
        launch->scale_in->kind != PM_GPU_SCALE_NONE || launch->scale_out->kind != PM_GPU_SCALE_NONE;
    pass_kernel *kernel = pass_kernels[launch->merge][launch->inverse][scales];
    kernel<<<pm_gpu_ntt_pass_tiles(pass), pm_gpu_ntt_pass_threads(pass), shared_bytes,
             (cudaStream_t)stream>>>(*pass, (const fr *)launch->in, (fr *)launch->out,
                                     (const fr_factor *)launch->factors, *launch->scale_in,
                                     *launch->scale_out);
    return (int)cudaGetLastError();
}

static int launch_ntt_few(void *vector, uint32_t log_n, const void *factors, bool inverse,
                          bool merge, pm_gpu_raw_stream stream) {
    ntt_few_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((fr *)vector, log_n,
                                                      (const fr_factor *)factors, inverse, merge);
    return (int)cudaGetLastError();
}

static int launch_scale(void *vector, uint32_t log_n, const struct pm_gpu_scale *scale,
                        pm_gpu_raw_stream stream) {
    scale_kernel<<<blocks_of(UINT64_C(1) << log_n), THREADS, 0, (cudaStream_t)stream>>>(
        (fr *)vector, log_n, *scale);
    return (int)cudaGetLastError();
}

template <bool kSubtract>
static int launch_reverse_of(fr *a, const fr *c, uint32_t log_n, cudaStream_t stream) {
    if (log_n >= 2 * REVERSE_Q) {
        reverse_squares_kernel<kSubtract>
            <<<1u << (log_n - 2 * REVERSE_Q), REVERSE_SIDE * REVERSE_SIDE, 0, stream>>>(a, c,
                                                                                        log_n);
    } else {
        reverse_few_kernel<kSubtract><<<1, THREADS, 0, stream>>>(a, c, log_n);
    }
    return (int)cudaGetLastError();
}

static int launch_reverse(void *vector, uint32_t log_n, pm_gpu_raw_stream stream) {
    return launch_reverse_of<false>((fr *)vector, NULL, log_n, (cudaStream_t)stream);
}

static int launch_sub_reverse(void *a, const void *c, uint32_t log_n, pm_gpu_raw_stream stream) {
    return launch_reverse_of<true>((fr *)a, (const fr *)c, log_n, (cudaStream_t)stream);
}

/* w_{2^log_order} in Montgomery form. */
static void root_of(fr *w, uint32_t log_order, int root) {
    const uint64_t snarkjs[FR_WORDS / 2] = PM_PARAM(FR_ROOT_OF_UNITY);
    const uint64_t bellman[FR_WORDS / 2] = PM_PARAM(FR_ROOT_OF_UNITY_BELLMAN);
    for (int i = 0; i < FR_WORDS; i++) {
        w->l[i] = (uint32_t)((root != 0 ? bellman : snarkjs)[i / 2] >> (32 * (i % 2)));
    }
    for (uint32_t i = log_order; i < FR_TWO_ADICITY; i++) {
        fr_sqr(w, w);
    }
}

static int launch_fill_factors(void *factors, uint32_t log_n, int root, pm_gpu_raw_stream stream) {
    fr_factor *table = (fr_factor *)factors;
    const uint32_t n_factors = (uint32_t)pm_gpu_factors_count(log_n) - 1;
    factors_first_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(table, n_factors);
    for (uint32_t k = 0; k + 1 < log_n; k++) {
        fr w;
        fr_factor root_factor;
        root_of(&w, k + 2, root);
        fr_factor_from_mont(&root_factor, &w);
        factors_double_kernel<<<blocks_of(UINT64_C(1) << k), THREADS, 0, (cudaStream_t)stream>>>(
            table, 1u << k, root_factor);
    }
    return (int)cudaGetLastError();
}

static void power_table_start(power_table *about, uint32_t log_n, bool bit_reversed,
                              const uint32_t base[8]) {
    about->log_n = log_n;
    about->bit_reversed = bit_reversed ? 1 : 0;
    for (int i = 0; i < FR_WORDS; i++) {
        about->squares[0].l[i] = base[i];
    }
    for (uint32_t i = 1; i < 32; i++) {
        fr_sqr(&about->squares[i], &about->squares[i - 1]);
    }
}

static int launch_fill_powers(void *outer, void *inner, uint32_t log_n, uint32_t inner_log,
                              bool bit_reversed, const uint32_t first[8], const uint32_t base[8],
                              pm_gpu_raw_stream stream) {
    power_table about;
    power_table_start(&about, log_n, bit_reversed, base);
    for (int i = 0; i < FR_WORDS; i++) {
        about.first.l[i] = first[i];
    }
    about.exponent_shift = inner_log;
    about.count = 1u << (log_n - inner_log);
    powers_kernel<<<blocks_of(about.count), THREADS, 0, (cudaStream_t)stream>>>((fr_factor *)outer,
                                                                                about);
    fr_set_one(&about.first);
    about.exponent_shift = 0;
    about.count = 1u << inner_log;
    powers_kernel<<<blocks_of(about.count), THREADS, 0, (cudaStream_t)stream>>>((fr_factor *)inner,
                                                                                about);
    return (int)cudaGetLastError();
}

static int launch_mul(void *r, const void *a, const void *b, uint64_t n, pm_gpu_raw_stream stream) {
    mul_kernel<<<blocks_of(n), THREADS, 0, (cudaStream_t)stream>>>((fr *)r, (const fr *)a,
                                                                   (const fr *)b, n);
    return (int)cudaGetLastError();
}

static int launch_mul_sub(void *r, const void *a, const void *b, const void *c, uint64_t n,
                          pm_gpu_raw_stream stream) {
    mul_sub_kernel<<<blocks_of(n), THREADS, 0, (cudaStream_t)stream>>>(
        (fr *)r, (const fr *)a, (const fr *)b, (const fr *)c, n);
    return (int)cudaGetLastError();
}

static int launch_sub(void *r, const void *a, const void *c, uint64_t n, pm_gpu_raw_stream stream) {
    return launch_mul_sub(r, a, NULL, c, n, stream);
}

/* ---- Scalars on the host --------------------------------------------------------------------- */

static void tool_root(uint32_t w[8], uint32_t log_order, int root) {
    root_of((fr *)w, log_order, root);
}

static void tool_small(uint32_t r[8], uint32_t x) {
    fr t;
    fr_set_zero(&t);
    t.l[0] = x;
    fr_to_mont((fr *)r, &t);
}

static void tool_mul(uint32_t r[8], const uint32_t a[8], const uint32_t b[8]) {
    fr_mul((fr *)r, (const fr *)a, (const fr *)b);
}

static void tool_sub(uint32_t r[8], const uint32_t a[8], const uint32_t b[8]) {
    fr_sub((fr *)r, (const fr *)a, (const fr *)b);
}

static void tool_inv(uint32_t r[8], const uint32_t a[8]) {
    fr_inv((fr *)r, (const fr *)a);
}

} // namespace

extern const struct pm_gpu_kernels PM_INSTANCE_NAME(pm_gpu_kernels);
const struct pm_gpu_kernels PM_INSTANCE_NAME(pm_gpu_kernels) = {
    PM_INSTANCE_CURVE_ID,
    FR_TWO_ADICITY,
    PM_PARAM(FR_COSET_GENERATOR_BELLMAN),
    prepare,
    launch_ntt_pass,
    launch_ntt_few,
    launch_reverse,
    launch_scale,
    launch_fill_factors,
    launch_fill_powers,
    launch_mul,
    launch_mul_sub,
    launch_sub,
    launch_sub_reverse,
    {tool_root, tool_small, tool_mul, tool_sub, tool_inv}};
