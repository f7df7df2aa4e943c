/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Points with known logarithms and scalars of many kinds, made on the card, and by the same
 * functions on the host. */
#ifndef PM_TEST_GPU_CARD_MSM_KERNELS_H
#define PM_TEST_GPU_CARD_MSM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define CARD_MSM_BOTH static __host__ __device__ __forceinline__ __attribute__((unused))
#else
#define CARD_MSM_BOTH static inline __attribute__((unused))
#endif

enum card_msm_pattern {
    CARD_MSM_UNIFORM,
    CARD_MSM_ZERO,
    CARD_MSM_ONE,
    CARD_MSM_MINUS_ONE,
    CARD_MSM_EQUAL,
    CARD_MSM_BITS,    /* nine in ten are 0 or 1 */
    CARD_MSM_LONELY,  /* one is not zero */
    CARD_MSM_EDGES,   /* powers of two, and those less one */
    CARD_MSM_WITNESS, /* 49 in a hundred are 1, as many 0 */
    CARD_MSM_UNITS,   /* 0, 1 and r - 1 alike */
    CARD_MSM_PATTERNS
};

/* SplitMix64 (Steele, Lea, Flood 2014) of a counter. */
CARD_MSM_BOTH uint64_t card_msm_mixed(uint64_t x) {
    uint64_t z = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The logarithm of point i. */
CARD_MSM_BOTH uint64_t card_msm_log(uint64_t seed, uint64_t i) {
    return card_msm_mixed(seed ^ (i << 3));
}

CARD_MSM_BOTH void card_msm_any(uint64_t s[4], uint64_t at, uint32_t n_bits) {
    for (int k = 0; k < 4; k++) {
        s[k] = card_msm_mixed(at ^ ((uint64_t)k << 61));
    }
    s[3] &= (UINT64_C(1) << (n_bits - 192)) - 1;
}

/* Scalar i of n as an integer below 2^n_bits, and so below 2 r; *minus: r less that. */
CARD_MSM_BOTH void card_msm_scalar(uint64_t s[4], bool *minus, int pattern, uint64_t seed,
                                   uint64_t i, uint64_t n, uint32_t n_bits) {
    const uint64_t at = card_msm_mixed(seed + 77) + (i << 8), pick = card_msm_mixed(at ^ 5);
    *minus = false;
    s[0] = s[1] = s[2] = s[3] = 0;
    switch (pattern) {
    case CARD_MSM_UNIFORM:
        card_msm_any(s, at, n_bits);
        break;
    case CARD_MSM_ONE:
        s[0] = 1;
        break;
    case CARD_MSM_MINUS_ONE:
        s[0] = 1;
        *minus = true;
        break;
    case CARD_MSM_EQUAL:
        card_msm_any(s, seed, n_bits);
        break;
    case CARD_MSM_BITS:
        if (pick % 10 == 0) {
            card_msm_any(s, at, n_bits);
        } else {
            s[0] = pick >> 33 & 1;
        }
        break;
    case CARD_MSM_LONELY:
        if (i == seed % n) {
            card_msm_any(s, at, n_bits);
        }
        break;
    case CARD_MSM_EDGES: {
        const uint32_t bit = 1 + (uint32_t)(pick >> 8) % (n_bits - 2);
        for (uint32_t k = 0; k < bit && (pick & 1) != 0; k++) {
            s[k / 64] |= UINT64_C(1) << (k % 64);
        }
        if ((pick & 1) == 0) {
            s[bit / 64] = UINT64_C(1) << (bit % 64);
        }
        *minus = (pick & 2) != 0;
        break;
    }
    case CARD_MSM_WITNESS:
        if (pick % 50 == 0) {
            card_msm_any(s, at, n_bits);
        } else {
            s[0] = pick >> 33 & 1;
        }
        break;
    case CARD_MSM_UNITS:
        s[0] = pick % 3 != 0;
        *minus = pick % 3 == 2;
        break;
    default:
        break;
    }
}

struct card_msm_kernels {
    uint32_t affine_bytes[2];
    /* points[i] = log(i) G; table: d 2^(8 j) G at 256 j + d, for j < 8, affine. */
    int (*points)(int group, void *points, uint64_t n, uint64_t seed, const void *table,
                  void *stream);
    int (*scalars)(void *scalars, int pattern, uint64_t n, uint64_t seed, void *stream);
};

extern const struct card_msm_kernels card_msm_kernels_bn254, card_msm_kernels_bls12_381;

#endif
