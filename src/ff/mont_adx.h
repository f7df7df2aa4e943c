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

#endif /* PM_FF_MONT_ADX_H */
