/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "curve/curve.h"

/* Each is exported by one compilation of curve_tables_instance.c. */
extern const struct pm_curve pm_curve_bn254_portable, pm_curve_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_curve pm_curve_bn254_adx, pm_curve_bls12_381_adx;
extern const struct pm_curve pm_curve_bn254_ifma, pm_curve_bls12_381_ifma;
#endif

static const struct pm_curve *const tables[][PM_BODY_COUNT] = {
    [PM_CURVE_BN254] =
        {
            [PM_BODY_PORTABLE] = &pm_curve_bn254_portable,
#if defined(__x86_64__)
            [PM_BODY_ADX] = &pm_curve_bn254_adx,
            [PM_BODY_IFMA] = &pm_curve_bn254_ifma,
#endif
        },
    [PM_CURVE_BLS12_381] =
        {
            [PM_BODY_PORTABLE] = &pm_curve_bls12_381_portable,
#if defined(__x86_64__)
            [PM_BODY_ADX] = &pm_curve_bls12_381_adx,
            [PM_BODY_IFMA] = &pm_curve_bls12_381_ifma,
#endif
        },
};

const struct pm_curve *pm_curve_get(pm_curve_id id, enum pm_body body) {
    const bool known = id == PM_CURVE_BN254 || id == PM_CURVE_BLS12_381;
    return known && pm_cpu_has_body(body) ? tables[id][body] : NULL;
}

const char *pm_point_fault_text(enum pm_point_fault fault) {
    switch (fault) {
    case PM_POINT_GOOD:
        return "good";
    case PM_POINT_BAD_ENCODING:
        return "not a valid encoding";
    case PM_POINT_NOT_CANONICAL:
        return "not reduced: a coordinate is not below the modulus";
    case PM_POINT_NOT_ON_CURVE:
        return "not on the curve";
    case PM_POINT_NOT_IN_SUBGROUP:
        return "not in the prime-order subgroup";
    case PM_POINT_INFINITE:
        return "at infinity";
    }
    return "unknown fault";
}

pm_status pm_point_fault_status(enum pm_point_fault fault) {
    switch (fault) {
    case PM_POINT_GOOD:
        return PM_OK;
    case PM_POINT_BAD_ENCODING:
        return PM_ENCODING;
    case PM_POINT_NOT_CANONICAL:
        return PM_NOT_CANONICAL;
    case PM_POINT_NOT_ON_CURVE:
        return PM_NOT_ON_CURVE;
    case PM_POINT_NOT_IN_SUBGROUP:
        return PM_NOT_IN_SUBGROUP;
    case PM_POINT_INFINITE:
        return PM_POINT_AT_INFINITY;
    }
    return PM_INTERNAL;
}
