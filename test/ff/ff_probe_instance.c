/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One struct pm_ff_probe, compiled once per (curve, body) like the library's instance units. */
#include "ff/ff_instance.inc"

#include "ff_probe.h"

#define PROBE(F, name) PM_CAT3(probe, F, name)
#define FN(F, name) PM_CAT2(F, name)

#define SET(F, op)                                                                                 \
    static void PROBE(F, op)(void *r) {                                                            \
        FN(F, op)(r);                                                                              \
    }
#define TEST(F, op)                                                                                \
    static bool PROBE(F, op)(const void *a) {                                                      \
        return FN(F, op)(a);                                                                       \
    }
#define UNARY(F, op)                                                                               \
    static void PROBE(F, op)(void *r, const void *a) {                                             \
        FN(F, op)(r, a);                                                                           \
    }
#define BINARY(F, op)                                                                              \
    static void PROBE(F, op)(void *r, const void *a, const void *b) {                              \
        FN(F, op)(r, a, b);                                                                        \
    }

/* The formatter takes lists of macros for one long expression. */
/* clang-format off */
#define COMMON(F)                                                                                  \
    SET(F, set_zero) SET(F, set_one)                                                               \
    TEST(F, is_zero) TEST(F, is_one) TEST(F, is_larger_root)                                       \
    UNARY(F, copy) UNARY(F, load) UNARY(F, store) UNARY(F, neg) UNARY(F, dbl) UNARY(F, halve)      \
    UNARY(F, sqr) UNARY(F, inv) BINARY(F, add) BINARY(F, sub) BINARY(F, mul)                       \
    static bool PROBE(F, eq)(const void *a, const void *b) { return FN(F, eq)(a, b); }             \
    static void PROBE(F, cmov)(void *r, const void *a, bool c) { FN(F, cmov)(r, a, c); }           \
    static bool PROBE(F, sqrt)(void *r, const void *a) { return FN(F, sqrt)(r, a); }               \
    static void PROBE(F, pow)(void *r, const void *a, const uint64_t *e, size_t n) {               \
        FN(F, pow)(r, a, e, n);                                                                    \
    }                                                                                              \
    static void PROBE(F, batch_inv)(void *a, void *scratch, size_t n) {                            \
        FN(F, batch_inv)(a, scratch, n);                                                           \
    }

#define FROM_BYTES(F, op)                                                                          \
    static bool PROBE(F, op)(void *r, const uint8_t *in) { return FN(F, op)(r, in); }
#define TO_BYTES(F, op)                                                                            \
    static void PROBE(F, op)(uint8_t *out, const void *a) { FN(F, op)(out, a); }
#define PRIME(F)                                                                                   \
    TEST(F, is_odd_canonical)                                                                      \
    static void PROBE(F, set_u64)(void *r, uint64_t x) { FN(F, set_u64)(r, x); }                   \
    static void PROBE(F, to_mont)(void *r, const uint64_t *in) { FN(F, to_mont)(r, in); }          \
    static void PROBE(F, from_mont)(uint64_t *out, const void *a) { FN(F, from_mont)(out, a); }    \
    static bool PROBE(F, limbs_canonical)(const uint64_t *in) {                                    \
        return FN(F, limbs_canonical)(in);                                                         \
    }                                                                                              \
    FROM_BYTES(F, from_bytes_le) FROM_BYTES(F, from_bytes_be)                                      \
    TO_BYTES(F, to_bytes_le) TO_BYTES(F, to_bytes_be)

COMMON(fp)
COMMON(fr)
COMMON(fp2)
PRIME(fp)
PRIME(fr)
UNARY(fp2, conj)
UNARY(fp2, mul_by_xi)
BINARY(fp2, mul_fp)
SET(fr, root_of_unity)
SET(fr, root_of_unity_bellman)
SET(fr, coset_generator_bellman)
/* clang-format on */

static void probe_reduce_wide(void *r, const uint64_t in[8]) {
    fr_reduce_wide(r, in);
}

#define E(F, name) .name = PROBE(F, name)
#define COMMON_OPS(F)                                                                              \
    .words = sizeof(F) / 8, E(F, set_zero), E(F, set_one), E(F, copy), E(F, is_zero),              \
    E(F, is_one), E(F, eq), E(F, cmov), E(F, load), E(F, store), E(F, add), E(F, sub), E(F, mul),  \
    E(F, neg), E(F, dbl), E(F, halve), E(F, sqr), E(F, inv), E(F, sqrt), E(F, pow),                \
    E(F, batch_inv), E(F, is_larger_root)
#define PRIME_OPS(F)                                                                               \
    E(F, set_u64), E(F, to_mont), E(F, from_mont), E(F, limbs_canonical), E(F, is_odd_canonical),  \
        E(F, from_bytes_le), E(F, from_bytes_be), E(F, to_bytes_le), E(F, to_bytes_be)

extern const struct pm_ff_probe PM_INSTANCE_NAME(pm_ff_probe);
const struct pm_ff_probe PM_INSTANCE_NAME(pm_ff_probe) = {
    .curve = PM_INSTANCE_CURVE_STRING,
    .body = PM_INSTANCE_BODY_STRING,
    .p = fp_modulus,
    .r = fr_modulus,
    .fp_bits = FP_BITS,
    .fr_bits = FR_BITS,
    .two_adicity = FR_TWO_ADICITY,
    .xi_c0 = PM_PARAM(XI_C0),
    .snarkjs_shift = FR_SNARKJS_SHIFT,
    .fp = {COMMON_OPS(fp), PRIME_OPS(fp)},
    .fr = {COMMON_OPS(fr), PRIME_OPS(fr)},
    .fp2 = {COMMON_OPS(fp2), E(fp2, conj), E(fp2, mul_by_xi), E(fp2, mul_fp)},
    .reduce_wide = probe_reduce_wide,
    .root_of_unity = PROBE(fr, root_of_unity),
    .root_of_unity_bellman = PROBE(fr, root_of_unity_bellman),
    .coset_generator_bellman = PROBE(fr, coset_generator_bellman),
};
