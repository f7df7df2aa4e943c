/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm/msm.h"

/* Each table is exported by one compilation of msm_instance.c. */
extern const struct pm_msm pm_msm_bn254_portable, pm_msm_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_msm pm_msm_bn254_adx, pm_msm_bls12_381_adx;
#endif

struct msm_entry {
    pm_curve_id curve;
    enum pm_body body;
    const struct pm_msm *msm;
};

static const struct msm_entry msms[] = {
    {PM_CURVE_BN254, PM_BODY_PORTABLE, &pm_msm_bn254_portable},
    {PM_CURVE_BLS12_381, PM_BODY_PORTABLE, &pm_msm_bls12_381_portable},
#if defined(__x86_64__)
    {PM_CURVE_BN254, PM_BODY_ADX, &pm_msm_bn254_adx},
    {PM_CURVE_BLS12_381, PM_BODY_ADX, &pm_msm_bls12_381_adx},
#endif
};

const struct pm_msm *pm_msm_get(pm_curve_id curve, enum pm_body body) {
    for (size_t i = 0; i < sizeof msms / sizeof msms[0]; i++) {
        if (msms[i].curve == curve && msms[i].body == body && pm_cpu_has_body(body)) {
            return msms[i].msm;
        }
    }
    return NULL;
}
