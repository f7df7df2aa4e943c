/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm/fixed_base.h"

/* Each table is exported by one compilation of fixed_base_instance.c. */
extern const struct pm_fixed_base pm_fixed_base_bn254_portable, pm_fixed_base_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_fixed_base pm_fixed_base_bn254_adx, pm_fixed_base_bls12_381_adx;
extern const struct pm_fixed_base pm_fixed_base_bn254_ifma, pm_fixed_base_bls12_381_ifma;
#endif

static const struct pm_fixed_base *const fixed_bases[][PM_BODY_COUNT] = {
    [PM_CURVE_BN254] = {[PM_BODY_PORTABLE] = &pm_fixed_base_bn254_portable,
#if defined(__x86_64__)
                        [PM_BODY_ADX] = &pm_fixed_base_bn254_adx,
                        [PM_BODY_IFMA] = &pm_fixed_base_bn254_ifma
#endif
    },
    [PM_CURVE_BLS12_381] = {[PM_BODY_PORTABLE] = &pm_fixed_base_bls12_381_portable,
#if defined(__x86_64__)
                            [PM_BODY_ADX] = &pm_fixed_base_bls12_381_adx,
                            [PM_BODY_IFMA] = &pm_fixed_base_bls12_381_ifma
#endif
    },
};

const struct pm_fixed_base *pm_fixed_base_get(pm_curve_id curve, enum pm_body body) {
    if ((size_t)curve >= sizeof fixed_bases / sizeof fixed_bases[0] || body >= PM_BODY_COUNT ||
        !pm_cpu_has_body(body)) {
        return NULL;
    }
    return fixed_bases[curve][body];
}
