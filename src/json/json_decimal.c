/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json/json_decimal.c - conversion between decimals and bytes, nine digits at a time: 10^9 is the
 * largest power of ten below 2^32, so that a limb times it plus a carry fits 64 bits.
 */
#include "json/json_decimal.h"

#include <string.h>

#define CHUNK_DIGITS 9
#define CHUNK UINT64_C(1000000000)
#define LIMBS_MAX (PM_FP_BYTES_MAX / 4)

static const struct pm_json_field bn254_base = {
    "21888242871839275222246405745257275088696311157297823662689037894645226208583", 32,
    "base field"};
static const struct pm_json_field bn254_scalar = {
    "21888242871839275222246405745257275088548364400416034343698204186575808495617", 32,
    "scalar field"};
static const struct pm_json_field bls12_381_base = {
    "400240955522166739341778982573590415655688281993900788533205"
    "8136124031650490837864442687629129015664037894272559787",
    48, "base field"};
static const struct pm_json_field bls12_381_scalar = {
    "52435875175126190479447740508185965837690552500527637822603658699938581184513", 32,
    "scalar field"};

const struct pm_json_field *pm_json_base_field(pm_curve_id curve) {
    switch (curve) {
    case PM_CURVE_BN254:
        return &bn254_base;
    case PM_CURVE_BLS12_381:
        return &bls12_381_base;
    default:
        return NULL;
    }
}

const struct pm_json_field *pm_json_scalar_field(pm_curve_id curve) {
    switch (curve) {
    case PM_CURVE_BN254:
        return &bn254_scalar;
    case PM_CURVE_BLS12_381:
        return &bls12_381_scalar;
    default:
        return NULL;
    }
}

bool pm_decimal_is_canonical(const char *digits, size_t n_digits) {
    if (n_digits == 0 || (digits[0] == '0' && n_digits > 1)) {
        return false;
    }
    for (size_t i = 0; i < n_digits; i++) {
        if (digits[i] < '0' || digits[i] > '9') {
            return false;
        }
    }
    return true;
}

bool pm_decimal_is_below(const char *digits, size_t n_digits, const char *modulus) {
    size_t n_modulus = strlen(modulus);
    if (n_digits != n_modulus) {
        return n_digits < n_modulus;
    }
    return memcmp(digits, modulus, n_digits) < 0;
}

void pm_decimal_to_bytes(const char *digits, size_t n_digits, uint8_t *bytes, size_t n_bytes) {
    uint32_t limbs[LIMBS_MAX] = {0};
    size_t n_limbs = n_bytes / 4;
    for (size_t i = 0; i < n_digits;) {
        uint64_t chunk = 0, power = 1;
        size_t end = i + CHUNK_DIGITS < n_digits ? i + CHUNK_DIGITS : n_digits;
        for (; i < end; i++) {
            chunk = chunk * 10 + (uint64_t)(digits[i] - '0');
            power *= 10;
        }
        for (size_t j = 0; j < n_limbs; j++) {
            chunk += limbs[j] * power;
            limbs[j] = (uint32_t)chunk;
            chunk >>= 32;
        }
    }
    memcpy(bytes, limbs, n_bytes);
}

void pm_decimal_from_bytes(const uint8_t *bytes, size_t n_bytes, char out[PM_DECIMAL_CHARS_MAX]) {
    uint32_t limbs[LIMBS_MAX] = {0};
    char reversed[LIMBS_MAX * 11];
    size_t n_limbs = n_bytes / 4, n = 0;
    memcpy(limbs, bytes, n_bytes);
    while (n_limbs > 0) {
        uint64_t rest = 0;
        for (size_t j = n_limbs; j-- > 0;) {
            uint64_t value = rest << 32 | limbs[j];
            limbs[j] = (uint32_t)(value / CHUNK);
            rest = value % CHUNK;
        }
        while (n_limbs > 0 && limbs[n_limbs - 1] == 0) {
            n_limbs--;
        }
        for (int k = 0; k < CHUNK_DIGITS; k++) {
            reversed[n++] = (char)('0' + rest % 10);
            rest /= 10;
        }
    }
    while (n > 1 && reversed[n - 1] == '0') {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = reversed[n - 1 - i];
    }
    out[n] = '\0';
}
