/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <proofmill/proofmill.h>

#include <stddef.h>

const char *pm_curve_name(pm_curve_id curve) {
    switch (curve) {
    case PM_CURVE_BN254:
        return "bn128";
    case PM_CURVE_BLS12_381:
        return "bls12381";
    case PM_CURVE_NONE:
        break;
    }
    return "unknown";
}

size_t pm_curve_fp_bytes(pm_curve_id curve) {
    switch (curve) {
    case PM_CURVE_BN254:
        return 32;
    case PM_CURVE_BLS12_381:
        return 48;
    case PM_CURVE_NONE:
        break;
    }
    return 0;
}

/* Compares ignoring case, '-' and '_', for ASCII alone: names must not depend on the locale. */
static int same_curve_name(const char *given, const char *plain) {
    for (; *given != '\0'; ++given) {
        if (*given == '-' || *given == '_') {
            continue;
        }
        const char lower = *given >= 'A' && *given <= 'Z' ? (char)(*given + 32) : *given;
        if (lower != *plain++) {
            return 0;
        }
    }
    return *plain == '\0';
}

pm_curve_id pm_curve_from_name(const char *name) {
    static const struct {
        const char *name;
        pm_curve_id curve;
    } names[] = {
        {"bn128", PM_CURVE_BN254},
        {"bn254", PM_CURVE_BN254},
        {"altbn128", PM_CURVE_BN254},
        {"bls12381", PM_CURVE_BLS12_381},
    };
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; ++i) {
        if (same_curve_name(name, names[i].name)) {
            return names[i].curve;
        }
    }
    return PM_CURVE_NONE;
}
