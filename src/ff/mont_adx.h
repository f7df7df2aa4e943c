/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Montgomery multiplication with MULX, ADCX and ADOX: the assembly of mont_adx_x86_64.S.
 *
 * r = a b / R mod p, fully reduced, R = 2^(64 N) for N = 4 or 6 limbs; n0 = -p^-1 mod 2^64.
 * On input 2p < R, b < p (where 4p < R: a, b < 2p) and a is any N-limb number. r may alias a and b.
 * The CPU must have BMI2 and ADX: only instance units of the adx body call these. */
#ifndef PM_FF_MONT_ADX_H
#define PM_FF_MONT_ADX_H

#include <stdint.h>

#define PM_MONT_ADX_HIDDEN __attribute__((visibility("hidden")))

PM_MONT_ADX_HIDDEN void pm_mont_mul_4_adx(uint64_t r[4], const uint64_t a[4], const uint64_t b[4],
                                          const uint64_t p[4], uint64_t n0);
PM_MONT_ADX_HIDDEN void pm_mont_sqr_4_adx(uint64_t r[4], const uint64_t a[4], const uint64_t p[4],
                                          uint64_t n0);
PM_MONT_ADX_HIDDEN void pm_mont_mul_6_adx(uint64_t r[6], const uint64_t a[6], const uint64_t b[6],
                                          const uint64_t p[6], uint64_t n0);
PM_MONT_ADX_HIDDEN void pm_mont_sqr_6_adx(uint64_t r[6], const uint64_t a[6], const uint64_t p[6],
                                          uint64_t n0);

/* r = a b in Fp[u] / (u^2 + 1), fully reduced in and out, for 4p < R; an element is c0, then c1,
 * twice as many words as p. r may be a or b. No array bounds here: gcc takes a pointer to an fp2
 * for one to its c0 and would warn that the rest lies outside. */
PM_MONT_ADX_HIDDEN void pm_mont_fp2_mul_4_adx(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                              const uint64_t *p, uint64_t n0);
PM_MONT_ADX_HIDDEN void pm_mont_fp2_mul_6_adx(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                              const uint64_t *p, uint64_t n0);

/* n >= 1 butterflies over neighbours of four words, canonical in and out, with one factor z < p:
 * split (x, y) = (x + y z, x - y z) and merge (x, y) = (x + y, (x - y) z); negated: with -z. */
#define PM_NTT_ADX(name)                                                                           \
    PM_MONT_ADX_HIDDEN void pm_ntt_##name##_adx(uint64_t *x, uint64_t *y, uint64_t n,              \
                                                const uint64_t z[4], const uint64_t p[4],          \
                                                uint64_t n0)
PM_NTT_ADX(split);
PM_NTT_ADX(split_negated);
PM_NTT_ADX(merge);
PM_NTT_ADX(merge_negated);
#undef PM_NTT_ADX

#endif /* PM_FF_MONT_ADX_H */
