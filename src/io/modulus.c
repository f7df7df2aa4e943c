/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/modulus.h"

#include "ff/field.h"

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};

static bool is_modulus_of(const struct pm_field *field, const uint8_t *bytes, uint32_t n_bytes) {
    return n_bytes == field->bytes && memcmp(bytes, field->modulus, n_bytes) == 0;
}

const uint64_t *pm_modulus_scalar(pm_curve_id curve) {
    return pm_field_fr(curve, PM_BODY_PORTABLE)->modulus;
}

uint32_t pm_modulus_scalar_two_adicity(pm_curve_id curve) {
    return pm_field_fr(curve, PM_BODY_PORTABLE)->two_adicity;
}

pm_curve_id pm_modulus_find_scalar(const uint8_t *bytes, uint32_t n_bytes) {
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; ++i) {
        if (is_modulus_of(pm_field_fr(curves[i], PM_BODY_PORTABLE), bytes, n_bytes)) {
            return curves[i];
        }
    }
    return PM_CURVE_NONE;
}

pm_curve_id pm_modulus_find_base(const uint8_t *bytes, uint32_t n_bytes) {
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; ++i) {
        if (is_modulus_of(pm_field_fp(curves[i], PM_BODY_PORTABLE), bytes, n_bytes)) {
            return curves[i];
        }
    }
    return PM_CURVE_NONE;
}

pm_curve_id pm_modulus_find_pair(const uint8_t *q, uint32_t q_bytes, const uint8_t *r,
                                 uint32_t r_bytes) {
    const pm_curve_id curve = pm_modulus_find_scalar(r, r_bytes);
    const struct pm_field *fp =
        curve != PM_CURVE_NONE ? pm_field_fp(curve, PM_BODY_PORTABLE) : NULL;
    return fp != NULL && is_modulus_of(fp, q, q_bytes) ? curve : PM_CURVE_NONE;
}

const char *pm_modulus_text(const uint8_t *bytes, uint32_t n_bytes,
                            char text[PM_MODULUS_TEXT_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    char *at = text;
    *at++ = '0';
    *at++ = 'x';
    for (uint32_t i = n_bytes; i-- > 0;) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at = '\0';
    return text;
}

pm_status pm_modulus_read(struct pm_cursor *cursor, const char *field, const uint8_t **bytes,
                          uint32_t *n_bytes, pm_error *error) {
    PM_TRY(pm_cursor_u32(cursor, "the size of a field element", n_bytes, error));
    if (*n_bytes != PM_FR_BYTES && *n_bytes != PM_FP_BYTES_MAX) {
        pm_cursor_fail(cursor, sizeof(uint32_t), error, PM_CURVE,
                       "%s has %u bytes, which is the size of no supported field", field, *n_bytes);
        pm_error_need_have(error, PM_FR_BYTES, *n_bytes);
        return PM_CURVE;
    }
    return pm_cursor_span(cursor, field, 1, *n_bytes, bytes, error);
}

pm_status pm_modulus_read_scalar(struct pm_cursor *cursor, pm_curve_id *curve, pm_error *error) {
    const uint8_t *prime = NULL;
    uint32_t n_bytes = 0;
    PM_TRY(pm_modulus_read(cursor, "the prime", &prime, &n_bytes, error));
    *curve = pm_modulus_find_scalar(prime, n_bytes);
    if (*curve == PM_CURVE_NONE) {
        char text[PM_MODULUS_TEXT_BYTES];
        return pm_cursor_fail(cursor, n_bytes, error, PM_CURVE,
                              "the prime %s is the scalar field of neither bn128 nor bls12381",
                              pm_modulus_text(prime, n_bytes, text));
    }
    return PM_OK;
}
