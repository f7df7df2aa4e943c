/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Words with carry: the three primitives under every limb loop.
 *
 * On x86-64 the intrinsics are used because compilers turn them into adc/sbb chains, which they do
 * not reliably do with the 128-bit idiom; both forms compute the same. */
#ifndef PM_FF_WORD_H
#define PM_FF_WORD_H

#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef unsigned __int128 pm_u128;
typedef __int128 pm_i128;

/* Limb counts are constants, so a fully unrolled loop keeps the limbs in registers. */
#if defined(__clang__)
#define PM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PM_UNROLL _Pragma("GCC unroll 8")
#endif

/* *r = a + b + carry mod 2^64; returns the carry out. On input carry is 0 or 1. */
static inline unsigned char pm_adc(uint64_t *r, uint64_t a, uint64_t b, unsigned char carry) {
#if defined(__x86_64__)
    unsigned long long t;
    carry = _addcarry_u64(carry, a, b, &t);
    *r = t;
    return carry;
#else
    const pm_u128 t = (pm_u128)a + b + carry;
    *r = (uint64_t)t;
    return (unsigned char)(t >> 64);
#endif
}

/* *r = a - b - borrow mod 2^64; returns the borrow out. On input borrow is 0 or 1. */
static inline unsigned char pm_sbb(uint64_t *r, uint64_t a, uint64_t b, unsigned char borrow) {
#if defined(__x86_64__)
    unsigned long long t;
    borrow = _subborrow_u64(borrow, a, b, &t);
    *r = t;
    return borrow;
#else
    const pm_u128 t = (pm_u128)a - b - borrow;
    *r = (uint64_t)t;
    return (unsigned char)((t >> 64) & 1);
#endif
}

/* Returns the low word of t + a b + *carry and leaves the high word in *carry. It cannot overflow:
 * (2^64 - 1)^2 + 2 (2^64 - 1) = 2^128 - 1. */
static inline uint64_t pm_mac(uint64_t t, uint64_t a, uint64_t b, uint64_t *carry) {
    const pm_u128 x = (pm_u128)a * b + t + *carry;
    *carry = (uint64_t)(x >> 64);
    return (uint64_t)x;
}

#endif /* PM_FF_WORD_H */
