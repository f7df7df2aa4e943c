/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "pairing/pairing.h"

/* Each is exported by one compilation of pairing_instance.c. */
extern const struct pm_pairing pm_pairing_bn254_portable, pm_pairing_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_pairing pm_pairing_bn254_adx, pm_pairing_bls12_381_adx;
extern const struct pm_pairing pm_pairing_bn254_ifma, pm_pairing_bls12_381_ifma;
#endif

static const struct pm_pairing *const tables[][PM_BODY_COUNT] = {
    [PM_CURVE_BN254] =
        {
            [PM_BODY_PORTABLE] = &pm_pairing_bn254_portable,
#if defined(__x86_64__)
            [PM_BODY_ADX] = &pm_pairing_bn254_adx,
            [PM_BODY_IFMA] = &pm_pairing_bn254_ifma,
#endif
        },
    [PM_CURVE_BLS12_381] =
        {
            [PM_BODY_PORTABLE] = &pm_pairing_bls12_381_portable,
#if defined(__x86_64__)
            [PM_BODY_ADX] = &pm_pairing_bls12_381_adx,
            [PM_BODY_IFMA] = &pm_pairing_bls12_381_ifma,
#endif
        },
};

const struct pm_pairing *pm_pairing_get(pm_curve_id curve, enum pm_body body) {
    const bool known = curve == PM_CURVE_BN254 || curve == PM_CURVE_BLS12_381;
    return known && pm_cpu_has_body(body) ? tables[curve][body] : NULL;
}
