/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of pairing/pairing.h for one curve in one body (see ff/ff_instance.inc). Elements
 * behind a struct pm_gt and prepared points are copied in and out, as in curve/curve_table.inc. */
#include "pairing/pairing.h"

#include "curve/curve_instance.inc"

#if defined(PM_INSTANCE_BN254)
#include "pairing/pairing_params_bn254.h"
#elif defined(PM_INSTANCE_BLS12_381)
#include "pairing/pairing_params_bls12_381.h"
#else
#error "no other curve has a pairing"
#endif

#include "pairing/tower.inc"

#include "pairing/final_exponentiation.inc"
#include "pairing/miller.inc"

_Static_assert(sizeof(fp12) == 12 * FP_BYTES && sizeof(fp12) <= PM_GT_BYTES_MAX,
               "struct pm_gt holds an element");

static void table_prepare(void *out, const void *g2) {
    struct prepared prepared;
    g2_affine q;
    g2_affine_load(&q, g2);
    prepare(&prepared, &q);
    memcpy(out, &prepared, sizeof prepared);
}

static void table_miller(struct pm_gt *r, const void *const *g1, const void *const *prepared,
                         size_t n) {
    fp12 t;
    miller(&t, g1, prepared, n);
    memcpy(r, &t, sizeof t);
}

static void table_final_exponentiation(struct pm_gt *r, const struct pm_gt *f) {
    fp12 t;
    memcpy(&t, f, sizeof t);
    final_exponentiation(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void table_gt_set_one(struct pm_gt *r) {
    fp12 t;
    fp12_set_one(&t);
    memcpy(r, &t, sizeof t);
}

static bool table_gt_is_one(const struct pm_gt *f) {
    fp12 t;
    memcpy(&t, f, sizeof t);
    return fp12_is_one(&t);
}

static bool table_gt_eq(const struct pm_gt *f, const struct pm_gt *g) {
    fp12 t, u;
    memcpy(&t, f, sizeof t);
    memcpy(&u, g, sizeof u);
    return fp12_eq(&t, &u);
}

static void table_gt_mul(struct pm_gt *r, const struct pm_gt *f, const struct pm_gt *g) {
    fp12 t, u;
    memcpy(&t, f, sizeof t);
    memcpy(&u, g, sizeof u);
    fp12_mul(&t, &t, &u);
    memcpy(r, &t, sizeof t);
}

static void table_gt_inv(struct pm_gt *r, const struct pm_gt *f) {
    fp12 t;
    memcpy(&t, f, sizeof t);
    fp12_inv(&t, &t);
    memcpy(r, &t, sizeof t);
}

static void table_gt_pow(struct pm_gt *r, const struct pm_gt *f, const uint64_t *k,
                         size_t n_limbs) {
    fp12 t;
    memcpy(&t, f, sizeof t);
    fp12_pow(&t, &t, k, n_limbs);
    memcpy(r, &t, sizeof t);
}

static void table_gt_to_canonical(void *out, const struct pm_gt *f) {
    unsigned char *bytes = out;
    for (size_t i = 0; i < 12; i++) {
        fp t;
        fp_load(&t, &f->limb[i * FP_LIMBS]);
        fp_to_bytes_le(bytes + i * FP_BYTES, &t);
    }
}

extern const struct pm_pairing PM_INSTANCE_NAME(pm_pairing);

const struct pm_pairing PM_INSTANCE_NAME(pm_pairing) = {
    .curve = PM_INSTANCE_CURVE_ID,
    .body = PM_INSTANCE_BODY_STRING,
    .gt_bytes = sizeof(fp12),
    .prepared_bytes = sizeof(struct prepared),
    .prepare = table_prepare,
    .miller = table_miller,
    .final_exponentiation = table_final_exponentiation,
    .gt_set_one = table_gt_set_one,
    .gt_is_one = table_gt_is_one,
    .gt_eq = table_gt_eq,
    .gt_mul = table_gt_mul,
    .gt_inv = table_gt_inv,
    .gt_pow = table_gt_pow,
    .gt_to_canonical = table_gt_to_canonical,
};
