/* SPDX-License-Identifier: Apache-2.0 OR MIT */
extern "C" {
#include "gpu_rates.h"
}

#include <proofmill/proofmill.h>

#include "gpu/curve/gpu_curve_instance.inc"

#include <cuda_runtime.h>

#define ROUNDS 512
#define THREADS 128
#define BLOCKS_PER_MULTIPROCESSOR 12

namespace { /* the kernels of another curve have the same names */

/* ---- Kernels: chains of dependent operations, as many side by side as fit -------------------- */

template <int kRate> struct chain;

#define CHAIN(rate, K, body)                                                                       \
    template <> struct chain<rate> {                                                               \
        typedef K element;                                                                         \
        static __device__ __forceinline__ void step(K &x, K &y) {                                  \
            body                                                                                   \
        }                                                                                          \
    }
CHAIN(GPU_RATE_FP_MUL, fp, fp_mul(&x, &x, &y););
CHAIN(GPU_RATE_FP_ADD, fp, fp_add(&x, &x, &y););
CHAIN(GPU_RATE_FR_MUL, fr, fr_mul(&x, &x, &y););
CHAIN(GPU_RATE_FR_ADD, fr, fr_add(&x, &x, &y););

template <int kRate> __global__ void __launch_bounds__(THREADS) chain_kernel(void *scratch) {
    typedef typename chain<kRate>::element element;
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    element *table = (element *)scratch;
    element x = table[2 * i], y = table[2 * i + 1];
#pragma unroll 4
    for (int round = 0; round < ROUNDS; round++) {
        chain<kRate>::step(x, y);
    }
    table[2 * i] = x;
}

__global__ void __launch_bounds__(THREADS) factor_chain_kernel(void *scratch) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    fr *table = (fr *)scratch;
    fr x = table[2 * i], y = table[2 * i + 1];
    fr_factor f;
    fr_factor_from_mont(&f, &y);
#pragma unroll 4
    for (int round = 0; round < ROUNDS; round++) {
        fr_factor_mul(&x, &x, &f);
    }
    table[2 * i] = x;
}

__global__ void __launch_bounds__(THREADS) butterfly_chain_kernel(void *scratch) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    fr *table = (fr *)scratch;
    fr x = table[2 * i], y = table[2 * i + 1], t;
    fr_factor f;
    fr_factor_from_mont(&f, &y);
#pragma unroll 4
    for (int round = 0; round < ROUNDS; round++) {
        fr_factor_mul(&t, &y, &f);
        fr_sub(&y, &x, &t);
        fr_add(&x, &x, &t);
    }
    table[2 * i] = x;
    table[2 * i + 1] = y;
}

__global__ void __launch_bounds__(THREADS) point_chain_kernel(void *scratch) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    g1_affine *table = (g1_affine *)scratch;
    g1_affine p = table[i];
    g1_xyzz sum;
    g1_xyzz_from_affine(&sum, &p);
    p.y = table[i ^ 1].x; /* another point, of whatever curve: the formulas do not know b */
#pragma unroll 1
    for (int round = 0; round < ROUNDS / 4; round++) {
        g1_xyzz_add_affine(&sum, &p, (round & 1) != 0);
        p.x = sum.zz;
    }
    table[i] = p;
    table[i].y = sum.y;
}

__global__ void rate_random_kernel(fr *scalars, uint64_t n, uint64_t seed) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        fr x;
        for (uint32_t k = 0; k < FR_WORDS; k++) { /* SplitMix64 of a counter */
            uint64_t z = ((seed ^ (i * FR_WORDS + k)) + 1) * UINT64_C(0x9e3779b97f4a7c15);
            z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
            z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
            x.l[k] = (uint32_t)(z ^ (z >> 31));
        }
        x.l[FR_WORDS - 1] &= 0x0fffffff; /* below both moduli, and Fp's as well */
        scalars[i] = x;
    }
}

/* ---- Launchers ------------------------------------------------------------------------------- */

static int run(enum gpu_rate rate, void *scratch, uint32_t n_multiprocessors,
               uint64_t *n_operations, void *stream) {
    const uint32_t blocks = n_multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    cudaStream_t s = (cudaStream_t)stream;
    *n_operations = (uint64_t)blocks * THREADS * (rate == GPU_RATE_G1_ADD ? ROUNDS / 4 : ROUNDS);
    switch (rate) {
    case GPU_RATE_FP_MUL:
        chain_kernel<GPU_RATE_FP_MUL><<<blocks, THREADS, 0, s>>>(scratch);
        break;
    case GPU_RATE_FP_ADD:
        chain_kernel<GPU_RATE_FP_ADD><<<blocks, THREADS, 0, s>>>(scratch);
        break;
    case GPU_RATE_FR_MUL:
        chain_kernel<GPU_RATE_FR_MUL><<<blocks, THREADS, 0, s>>>(scratch);
        break;
    case GPU_RATE_FR_ADD:
        chain_kernel<GPU_RATE_FR_ADD><<<blocks, THREADS, 0, s>>>(scratch);
        break;
    case GPU_RATE_FR_FACTOR:
        factor_chain_kernel<<<blocks, THREADS, 0, s>>>(scratch);
        break;
    case GPU_RATE_BUTTERFLY:
        butterfly_chain_kernel<<<blocks, THREADS, 0, s>>>(scratch);
        break;
    default:
        point_chain_kernel<<<blocks, THREADS, 0, s>>>(scratch);
    }
    return (int)cudaGetLastError();
}

static int random(void *scalars, uint64_t n, uint64_t seed, void *stream) {
    rate_random_kernel<<<(uint32_t)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>((fr *)scalars,
                                                                                      n, seed);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" const struct gpu_rates PM_INSTANCE_NAME(gpu_rates) = {
    {"Fp product", "Fp sum", "Fr product", "Fr product, constant", "Fr sum", "butterfly",
     "G1 XYZZ + affine"},
    run,
    random};
