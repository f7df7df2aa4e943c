/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Public signals of an assignment in Montgomery form, made canonical so that they can be verified
 * and given out. A handful for each proof: the textbook reduction (Montgomery 1985) bit by bit.
 */
#include "engine/engine_internal.h"

#include <string.h>

#define LIMBS 4

/* r of BN254 and of BLS12-381, low limb first. */
static const uint64_t bn254_r[LIMBS] = {UINT64_C(0x43e1f593f0000001), UINT64_C(0x2833e84879b97091),
                                        UINT64_C(0xb85045b68181585d), UINT64_C(0x30644e72e131a029)};
static const uint64_t bls12_381_r[LIMBS] = {
    UINT64_C(0xffffffff00000001), UINT64_C(0x53bda402fffe5bfe), UINT64_C(0x3339d80809a1d805),
    UINT64_C(0x73eda753299d7d48)};

/* a + r; the carry out of the top limb is returned. */
static uint64_t add(uint64_t a[LIMBS], const uint64_t r[LIMBS]) {
    unsigned __int128 sum = 0;
    for (uint32_t i = 0; i < LIMBS; ++i) {
        sum += (unsigned __int128)a[i] + r[i];
        a[i] = (uint64_t)sum;
        sum >>= 64;
    }
    return (uint64_t)sum;
}

static bool is_below(const uint64_t a[LIMBS], const uint64_t r[LIMBS]) {
    for (uint32_t i = LIMBS; i-- > 0;) {
        if (a[i] != r[i]) {
            return a[i] < r[i];
        }
    }
    return false;
}

pm_status pm_engine_from_montgomery(uint32_t curve, const uint8_t in[PM_FR_BYTES],
                                    uint8_t out[PM_FR_BYTES], pm_error *error) {
    uint64_t a[LIMBS];
    const uint64_t *r = curve == PM_CURVE_BN254       ? bn254_r
                        : curve == PM_CURVE_BLS12_381 ? bls12_381_r
                                                      : NULL;
    PM_FAIL_IF(r == NULL, error, PM_CURVE, "curve %u is not supported", curve);
    memcpy(a, in, sizeof a);
    PM_FAIL_IF(!is_below(a, r), error, PM_NOT_CANONICAL,
               "a public signal of the assignment is not below the modulus");
    /* Divides by 2, 256 times: a stays below r. */
    for (uint32_t bit = 0; bit < 64 * LIMBS; ++bit) {
        const uint64_t carry = (a[0] & 1) != 0 ? add(a, r) : 0;
        for (uint32_t i = 0; i + 1 < LIMBS; ++i) {
            a[i] = a[i] >> 1 | a[i + 1] << 63;
        }
        a[LIMBS - 1] = a[LIMBS - 1] >> 1 | carry << 63;
    }
    memcpy(out, a, sizeof a);
    return PM_OK;
}
