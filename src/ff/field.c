/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "ff/field.h"

/* Each table below leaves one compilation of ff_instance.c. The adx and ifma bodies are in every
 * x86-64 build: whether the CPU can run them is asked at run time. */
extern const struct pm_field pm_field_fp_bn254_portable, pm_field_fr_bn254_portable;
extern const struct pm_field pm_field_fp_bls12_381_portable, pm_field_fr_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_field pm_field_fp_bn254_adx, pm_field_fr_bn254_adx;
extern const struct pm_field pm_field_fp_bls12_381_adx, pm_field_fr_bls12_381_adx;
extern const struct pm_field pm_field_fp_bn254_ifma, pm_field_fr_bn254_ifma;
extern const struct pm_field pm_field_fp_bls12_381_ifma, pm_field_fr_bls12_381_ifma;
#endif

struct field_pair {
    pm_curve_id curve;
    enum pm_body body;
    const struct pm_field *fp, *fr;
};

static const struct field_pair fields[] = {
    {PM_CURVE_BN254, PM_BODY_PORTABLE, &pm_field_fp_bn254_portable, &pm_field_fr_bn254_portable},
    {PM_CURVE_BLS12_381, PM_BODY_PORTABLE, &pm_field_fp_bls12_381_portable,
     &pm_field_fr_bls12_381_portable},
#if defined(__x86_64__)
    {PM_CURVE_BN254, PM_BODY_ADX, &pm_field_fp_bn254_adx, &pm_field_fr_bn254_adx},
    {PM_CURVE_BLS12_381, PM_BODY_ADX, &pm_field_fp_bls12_381_adx, &pm_field_fr_bls12_381_adx},
    {PM_CURVE_BN254, PM_BODY_IFMA, &pm_field_fp_bn254_ifma, &pm_field_fr_bn254_ifma},
    {PM_CURVE_BLS12_381, PM_BODY_IFMA, &pm_field_fp_bls12_381_ifma, &pm_field_fr_bls12_381_ifma},
#endif
};

static const struct field_pair *find(pm_curve_id curve, enum pm_body body) {
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].curve == curve && fields[i].body == body && pm_cpu_has_body(body)) {
            return &fields[i];
        }
    }
    return NULL;
}

const struct pm_field *pm_field_fp(pm_curve_id curve, enum pm_body body) {
    const struct field_pair *pair = find(curve, body);
    return pair != NULL ? pair->fp : NULL;
}

const struct pm_field *pm_field_fr(pm_curve_id curve, enum pm_body body) {
    const struct field_pair *pair = find(curve, body);
    return pair != NULL ? pair->fr : NULL;
}
