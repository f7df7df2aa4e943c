/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One struct pm_tower_probe, compiled once per (curve, body). The functions are called in place: r
 * is the first operand, so that aliasing is tried along the way. */
#include "tower_probe.h"

#include "curve/curve_instance.inc"

#if defined(PM_INSTANCE_BN254)
#include "pairing/pairing_params_bn254.h"
#else
#include "pairing/pairing_params_bls12_381.h"
#endif

#include "pairing/tower.inc"

static void probe_fp6_mul(uint64_t *r, const uint64_t *a, const uint64_t *b) {
    fp6 t, u;
    memcpy(&t, a, sizeof t);
    memcpy(&u, b, sizeof u);
    fp6_mul(&t, &t, &u);
    memcpy(r, &t, sizeof t);
}

static void probe_fp6_mul_by_v(uint64_t *r, const uint64_t *a) {
    fp6 t;
    memcpy(&t, a, sizeof t);
    fp6_mul_by_v(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void probe_fp6_inv(uint64_t *r, const uint64_t *a) {
    fp6 t;
    memcpy(&t, a, sizeof t);
    fp6_inv(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void probe_fp6_mul_01(uint64_t *r, const uint64_t *a, const uint64_t *e) {
    fp6 t;
    fp2 sparse[2];
    memcpy(&t, a, sizeof t);
    memcpy(sparse, e, sizeof sparse);
    fp6_mul_01(&t, &t, &sparse[0], &sparse[1]);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_mul(uint64_t *r, const uint64_t *a, const uint64_t *b) {
    fp12 t, u;
    memcpy(&t, a, sizeof t);
    memcpy(&u, b, sizeof u);
    fp12_mul(&t, &t, &u);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_sqr(uint64_t *r, const uint64_t *a) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_sqr(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_inv(uint64_t *r, const uint64_t *a) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_inv(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_conj(uint64_t *r, const uint64_t *a) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_conj(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_frobenius(uint64_t *r, const uint64_t *a, int k) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_frobenius(&t, &t, k);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_pow(uint64_t *r, const uint64_t *a, const uint64_t *e, size_t n_limbs) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_pow(&t, &t, e, n_limbs);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_cyclotomic_sqr(uint64_t *r, const uint64_t *a) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_cyclotomic_sqr(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void probe_fp12_cyclotomic_pow(uint64_t *r, const uint64_t *a, const int8_t *digits, int n) {
    fp12 t;
    memcpy(&t, a, sizeof t);
    fp12_cyclotomic_pow(&t, &t, digits, n);
    memcpy(r, &t, sizeof t);
}

extern const struct pm_tower_probe PM_INSTANCE_NAME(pm_tower_probe);

const struct pm_tower_probe PM_INSTANCE_NAME(pm_tower_probe) = {
    .xi_c0 = PM_PARAM(XI_C0),
    .fp6_mul = probe_fp6_mul,
    .fp6_mul_by_v = probe_fp6_mul_by_v,
    .fp6_inv = probe_fp6_inv,
    .fp6_mul_01 = probe_fp6_mul_01,
    .fp12_mul = probe_fp12_mul,
    .fp12_sqr = probe_fp12_sqr,
    .fp12_inv = probe_fp12_inv,
    .fp12_conj = probe_fp12_conj,
    .fp12_frobenius = probe_fp12_frobenius,
    .fp12_pow = probe_fp12_pow,
    .fp12_cyclotomic_sqr = probe_fp12_cyclotomic_sqr,
    .fp12_cyclotomic_pow = probe_fp12_cyclotomic_pow,
};
