/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Kernels whose only purpose is to be timed. Each runs on `stream` and returns a cudaError_t as
 * int; *n_operations is what one launch computes. */
#ifndef PM_BENCH_GPU_RATES_H
#define PM_BENCH_GPU_RATES_H

#include <stdint.h>

enum gpu_rate {
    GPU_RATE_FP_MUL,
    GPU_RATE_FP_ADD,
    GPU_RATE_FR_MUL,
    GPU_RATE_FR_FACTOR, /* by a constant factor (gpu_factor.inc) */
    GPU_RATE_FR_ADD,
    GPU_RATE_BUTTERFLY, /* a split butterfly: factor, sum and difference */
    GPU_RATE_G1_ADD,    /* XYZZ plus affine, both in registers */
    GPU_RATES
};

struct gpu_rates {
    const char *names[GPU_RATES];
    /* scratch: 16 MiB of device memory, any contents below the modulus. */
    int (*run)(enum gpu_rate rate, void *scratch, uint32_t n_multiprocessors,
               uint64_t *n_operations, void *stream);
    int (*random)(void *scalars, uint64_t n, uint64_t seed, void *stream);
};

extern const struct gpu_rates gpu_rates_bn254, gpu_rates_bls12_381;

enum gpu_limit {
    GPU_LIMIT_MAD_WIDE,    /* 32 x 32 + 64 bits */
    GPU_LIMIT_MAD_WIDE_CC, /* the same as a pair with carries in and out */
    GPU_LIMIT_MAD_LO,
    GPU_LIMIT_ADD_CC,
    GPU_LIMITS
};

int gpu_limit_run(enum gpu_limit limit, void *scratch, uint32_t n_multiprocessors,
                  uint64_t *n_operations, void *stream);
const char *gpu_limit_name(enum gpu_limit limit);

#endif
