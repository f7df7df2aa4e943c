/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any characters given as a decimal, and any bytes given as a number: a canonical decimal below a
 * modulus goes to bytes and back unchanged, any number goes to a canonical decimal and, where it is
 * below the modulus, back; and both ways agree on what is below the modulus.
 */
#include "fuzz/harness.h"

#include "ff/field.h"
#include "json/json_decimal.h"

#include <string.h>

static void check_digits(const struct pm_json_field *field, const struct pm_field *numbers,
                         const char *digits, size_t n) {
    char again[PM_DECIMAL_CHARS_MAX];
    uint64_t number[PM_FP_BYTES_MAX / 8];
    if (!pm_decimal_is_canonical(digits, n) || !pm_decimal_is_below(digits, n, field->modulus)) {
        return;
    }
    pm_decimal_to_bytes(digits, n, (uint8_t *)number, field->n_bytes);
    FUZZ_REQUIRE(numbers->is_canonical(number));
    pm_decimal_from_bytes((const uint8_t *)number, field->n_bytes, again);
    FUZZ_REQUIRE(strlen(again) == n && memcmp(again, digits, n) == 0);
}

static void check_number(const struct pm_json_field *field, const struct pm_field *numbers,
                         struct fuzz_reader reader) {
    char digits[PM_DECIMAL_CHARS_MAX];
    uint64_t number[PM_FP_BYTES_MAX / 8] = {0}, again[PM_FP_BYTES_MAX / 8] = {0};
    fuzz_take(&reader, number, field->n_bytes);
    pm_decimal_from_bytes((const uint8_t *)number, field->n_bytes, digits);
    const size_t n = strlen(digits);
    FUZZ_REQUIRE(n < sizeof digits && pm_decimal_is_canonical(digits, n));
    const bool is_below = pm_decimal_is_below(digits, n, field->modulus);
    FUZZ_REQUIRE(is_below == numbers->is_canonical(number));
    if (is_below) {
        pm_decimal_to_bytes(digits, n, (uint8_t *)again, field->n_bytes);
        FUZZ_REQUIRE(memcmp(number, again, sizeof number) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; ++id) {
        const pm_curve_id curve = (pm_curve_id)id;
        const struct pm_json_field *fields[2] = {pm_json_base_field(curve),
                                                 pm_json_scalar_field(curve)};
        const struct pm_field *numbers[2] = {pm_field_fp(curve, PM_BODY_PORTABLE),
                                             pm_field_fr(curve, PM_BODY_PORTABLE)};
        for (size_t i = 0; i < 2; ++i) {
            check_digits(fields[i], numbers[i], (const char *)bytes, n_bytes);
            check_number(fields[i], numbers[i], (struct fuzz_reader){bytes, n_bytes});
        }
    }
    FUZZ_REQUIRE(pm_json_base_field(PM_CURVE_NONE) == NULL);
    FUZZ_REQUIRE(pm_json_scalar_field(PM_CURVE_NONE) == NULL);
    return 0;
}
