/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_kernels.h - launchers of one curve's kernels over scalars.
 *
 * Each puts one kernel (or one for each doubling, where it says so) on a stream and returns at once
 * what CUDA said, a cudaError_t as int. Pointers are to device memory; vectors are scalars of 32
 * bytes, 16-byte aligned. Nothing is checked here: gpu/op is the only caller.
 */
#ifndef PM_GPU_KERNELS_H
#define PM_GPU_KERNELS_H

#include "gpu/kernel/gpu_ntt_plan.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* A cudaStream_t, so that no header of CUDA is needed above. */
typedef void *pm_gpu_raw_stream;

#define PM_GPU_FACTOR_BYTES 64

/* A table of 2^(log_n - 1) factors and -1. */
static inline uint64_t pm_gpu_factors_count(uint32_t log_n) {
    return (log_n == 0 ? UINT64_C(1) : UINT64_C(1) << (log_n - 1)) + 1;
}

struct pm_gpu_ntt_launch {
    const struct pm_gpu_ntt_pass *pass;
    const void *in; /* the same as out, or apart from it */
    void *out;
    const void *factors;
    const struct pm_gpu_scale *scale_in, *scale_out;
    bool inverse, merge;
};

struct pm_gpu_kernels {
    pm_curve_id curve;
    uint32_t two_adicity;
    uint32_t coset_generator; /* bellman's */

    /* What kernels need to be told once in a process and device. shared_bytes_max: of the device's
     * shared memory, what one block may have. */
    int (*prepare)(uint64_t shared_bytes_max);

    int (*ntt_pass)(const struct pm_gpu_ntt_launch *launch, pm_gpu_raw_stream stream);
    /* log_n 0, 1 or 2. */
    int (*ntt_few)(void *vector, uint32_t log_n, const void *factors, bool inverse, bool merge,
                   pm_gpu_raw_stream stream);
    /* Exchanges position p with p reversed, in place. */
    int (*reverse)(void *vector, uint32_t log_n, pm_gpu_raw_stream stream);
    /* vector[p] scaled, for lengths that no pass covers. */
    int (*scale)(void *vector, uint32_t log_n, const struct pm_gpu_scale *scale,
                 pm_gpu_raw_stream stream);

    /* Tables. root: 0 snarkjs's, 1 bellman's. One kernel for each doubling. */
    int (*fill_factors)(void *factors, uint32_t log_n, int root, pm_gpu_raw_stream stream);
    /* outer[i] = first base^e(i 2^inner_log), inner[i] = base^e(i), where e(p) is p or,
     * bit_reversed, its reversal in log_n bits. first and base are 8 words in Montgomery form. */
    int (*fill_powers)(void *outer, void *inner, uint32_t log_n, uint32_t inner_log,
                       bool bit_reversed, const uint32_t first[8], const uint32_t base[8],
                       pm_gpu_raw_stream stream);

    /* Pointwise; r may be any operand. */
    int (*mul)(void *r, const void *a, const void *b, uint64_t n, pm_gpu_raw_stream stream);
    /* r = a b - c, canonical. */
    int (*mul_sub_canonical)(void *r, const void *a, const void *b, const void *c, uint64_t n,
                             pm_gpu_raw_stream stream);
    /* r = a - c, canonical. */
    int (*sub_canonical)(void *r, const void *a, const void *c, uint64_t n,
                         pm_gpu_raw_stream stream);
    /* a[reversed p] = a[p] - c[p], canonical, in place; n = 2^log_n. */
    int (*sub_canonical_reverse)(void *a, const void *c, uint32_t log_n, pm_gpu_raw_stream stream);

    /* Scalars of the host's side, in Montgomery form, 8 words each. */
    struct pm_gpu_scalar_tools {
        void (*root)(uint32_t w[8], uint32_t log_order, int root);
        void (*small)(uint32_t r[8], uint32_t x);
        void (*mul)(uint32_t r[8], const uint32_t a[8], const uint32_t b[8]);
        void (*sub)(uint32_t r[8], const uint32_t a[8], const uint32_t b[8]);
        void (*inv)(uint32_t r[8], const uint32_t a[8]);
    } tools;
};

/* NULL for a curve that there is none of. */
const struct pm_gpu_kernels *pm_gpu_kernels_get(pm_curve_id curve);

#endif
