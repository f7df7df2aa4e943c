/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Words with carry for code that is compiled for the device and, word for word, for the host.
 *
 * On the device the products of gpu_mont.h are PTX; the functions below stand for its operations
 * everywhere else. cc is the carry (or borrow), 0 or 1. C and C++ both compile this. */
#ifndef PM_GPU_WORD_H
#define PM_GPU_WORD_H

#include <stdbool.h>
#include <stdint.h>

/* OUTLINE is for functions that all threads of a warp call together. Out of line, a doubling called
 * by an addition in the branch of some threads made others read through a clobbered address (CUDA
 * 13.0, sm_90); inlined, the same code is right. So point formulas are INLINE. */
#if defined(__CUDACC__)
#define PM_GPU_INLINE static __host__ __device__ __forceinline__ __attribute__((unused))
#define PM_GPU_OUTLINE static __host__ __device__ __noinline__ __attribute__((unused))
#define PM_GPU_UNROLL _Pragma("unroll")
#else
#define PM_GPU_INLINE static inline __attribute__((unused))
#define PM_GPU_OUTLINE static __attribute__((unused, noinline))
#define PM_GPU_UNROLL /* the host's speed is not the point */
#endif

PM_GPU_INLINE uint32_t pm_gpu_low_out(uint64_t t, uint32_t *cc) {
    *cc = (uint32_t)(t >> 32);
    return (uint32_t)t;
}

PM_GPU_INLINE uint32_t pm_gpu_mov(uint32_t a, uint32_t *cc) {
    (void)cc;
    return a;
}

PM_GPU_INLINE uint32_t pm_gpu_add_cc(uint32_t a, uint32_t b, uint32_t *cc) {
    return pm_gpu_low_out((uint64_t)a + b, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_addc_cc(uint32_t a, uint32_t b, uint32_t *cc) {
    return pm_gpu_low_out((uint64_t)a + b + *cc, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_add(uint32_t a, uint32_t b, uint32_t *cc) {
    (void)cc;
    return a + b;
}

PM_GPU_INLINE uint32_t pm_gpu_addc(uint32_t a, uint32_t b, uint32_t *cc) {
    return a + b + *cc;
}

PM_GPU_INLINE uint32_t pm_gpu_sub(uint32_t a, uint32_t b, uint32_t *cc) {
    (void)cc;
    return a - b;
}

PM_GPU_INLINE uint32_t pm_gpu_sub_cc(uint32_t a, uint32_t b, uint32_t *cc) {
    const uint64_t t = (uint64_t)a - b;
    *cc = (uint32_t)(t >> 63);
    return (uint32_t)t;
}

PM_GPU_INLINE uint32_t pm_gpu_subc_cc(uint32_t a, uint32_t b, uint32_t *cc) {
    const uint64_t t = (uint64_t)a - b - *cc;
    *cc = (uint32_t)(t >> 63);
    return (uint32_t)t;
}

PM_GPU_INLINE uint32_t pm_gpu_subc(uint32_t a, uint32_t b, uint32_t *cc) {
    return a - b - *cc;
}

PM_GPU_INLINE uint32_t pm_gpu_high(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)a * b >> 32);
}

PM_GPU_INLINE uint32_t pm_gpu_mul_lo(uint32_t a, uint32_t b, uint32_t *cc) {
    (void)cc;
    return a * b;
}

PM_GPU_INLINE uint32_t pm_gpu_mul_hi(uint32_t a, uint32_t b, uint32_t *cc) {
    (void)cc;
    return pm_gpu_high(a, b);
}

PM_GPU_INLINE uint32_t pm_gpu_mad_lo(uint32_t a, uint32_t b, uint32_t c, uint32_t *cc) {
    return pm_gpu_add(a * b, c, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_mad_lo_cc(uint32_t a, uint32_t b, uint32_t c, uint32_t *cc) {
    return pm_gpu_add_cc(a * b, c, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_madc_lo(uint32_t a, uint32_t b, uint32_t c, uint32_t *cc) {
    return pm_gpu_addc(a * b, c, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_madc_lo_cc(uint32_t a, uint32_t b, uint32_t c, uint32_t *cc) {
    return pm_gpu_addc_cc(a * b, c, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_madc_hi(uint32_t a, uint32_t b, uint32_t c, uint32_t *cc) {
    return pm_gpu_addc(pm_gpu_high(a, b), c, cc);
}

PM_GPU_INLINE uint32_t pm_gpu_madc_hi_cc(uint32_t a, uint32_t b, uint32_t c, uint32_t *cc) {
    return pm_gpu_addc_cc(pm_gpu_high(a, b), c, cc);
}

#endif
