/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* json/json_decimal.h - field elements as canonical decimals. */
#ifndef PM_JSON_DECIMAL_H
#define PM_JSON_DECIMAL_H

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2^384 has 116 digits; one more for the NUL. */
#define PM_DECIMAL_CHARS_MAX 117

/* A prime field of a curve, as far as text needs it. */
struct pm_json_field {
    const char *modulus; /* decimal */
    size_t n_bytes;      /* of an element */
    const char *name;    /* "base field", "scalar field" */
};

/* The field over which the curve is defined, and that of its scalars; NULL for an unknown curve. */
const struct pm_json_field *pm_json_base_field(pm_curve_id curve);
const struct pm_json_field *pm_json_scalar_field(pm_curve_id curve);

/* Digits alone, at least one, and no leading zero unless it is the number zero. */
bool pm_decimal_is_canonical(const char *digits, size_t n_digits);
/* Canonical decimals order by length, then by digits. */
bool pm_decimal_is_below(const char *digits, size_t n_digits, const char *modulus);
/* A canonical decimal below a modulus that fits n_bytes (32 or 48) to little-endian bytes. */
void pm_decimal_to_bytes(const char *digits, size_t n_digits, uint8_t *bytes, size_t n_bytes);
/* n_bytes (32 or 48) little-endian bytes to a canonical decimal with a NUL. */
void pm_decimal_from_bytes(const uint8_t *bytes, size_t n_bytes, char out[PM_DECIMAL_CHARS_MAX]);

#endif
