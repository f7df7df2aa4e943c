/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm_count.h"

extern msm_count_function msm_count_bn254_portable, msm_count_bls12_381_portable;
#if defined(__x86_64__)
extern msm_count_function msm_count_bn254_adx, msm_count_bls12_381_adx;
extern msm_count_function msm_count_bn254_ifma, msm_count_bls12_381_ifma;
#endif

msm_count_function *msm_count_get(pm_curve_id curve, enum pm_body body) {
    const bool is_bn254 = curve == PM_CURVE_BN254;
    if (!is_bn254 && curve != PM_CURVE_BLS12_381) {
        return NULL;
    }
    switch (body) {
    case PM_BODY_PORTABLE:
        return is_bn254 ? msm_count_bn254_portable : msm_count_bls12_381_portable;
#if defined(__x86_64__)
    case PM_BODY_ADX:
        return is_bn254 ? msm_count_bn254_adx : msm_count_bls12_381_adx;
    case PM_BODY_IFMA:
        return is_bn254 ? msm_count_bn254_ifma : msm_count_bls12_381_ifma;
#endif
    default:
        return NULL;
    }
}
