/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tower of pairing/tower.inc behind pointers. Elements are arrays of words as in struct pm_gt:
 * twelve (fp12) or six (fp6) elements of fp in Montgomery form, [[[c0, c1] x 3] x 2]. */
#ifndef PM_TEST_TOWER_PROBE_H
#define PM_TEST_TOWER_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_tower_probe {
    uint64_t xi_c0; /* xi = xi_c0 + u */
    void (*fp6_mul)(uint64_t *r, const uint64_t *a, const uint64_t *b);
    void (*fp6_mul_by_v)(uint64_t *r, const uint64_t *a);
    void (*fp6_inv)(uint64_t *r, const uint64_t *a);
    /* r = a (e0 + e1 v); e is e0 and e1 in fp2, one after the other. */
    void (*fp6_mul_01)(uint64_t *r, const uint64_t *a, const uint64_t *e);
    void (*fp12_mul)(uint64_t *r, const uint64_t *a, const uint64_t *b);
    void (*fp12_sqr)(uint64_t *r, const uint64_t *a);
    void (*fp12_inv)(uint64_t *r, const uint64_t *a);
    void (*fp12_conj)(uint64_t *r, const uint64_t *a);
    void (*fp12_frobenius)(uint64_t *r, const uint64_t *a, int k);
    void (*fp12_pow)(uint64_t *r, const uint64_t *a, const uint64_t *e, size_t n_limbs);
    void (*fp12_cyclotomic_sqr)(uint64_t *r, const uint64_t *a);
    void (*fp12_cyclotomic_pow)(uint64_t *r, const uint64_t *a, const int8_t *digits, int n);
};

extern const struct pm_tower_probe pm_tower_probe_bn254_portable, pm_tower_probe_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_tower_probe pm_tower_probe_bn254_adx, pm_tower_probe_bls12_381_adx;
#endif

#endif
