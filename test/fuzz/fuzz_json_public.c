/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any text given as public.json on either curve: what is accepted is canonical, and written and
 * read again it is the same list; the curve with the larger scalar field accepts all that the other
 * one does.
 */
#include "fuzz/harness.h"

#include "io/modulus.h"
#include "json/json.h"

#include <string.h>

static void check_values(pm_curve_id curve, const uint8_t *values, size_t n) {
    struct pm_json_text text = {0}, second = {0};
    uint8_t *again = NULL;
    size_t n_again = 0;
    for (size_t i = 0; i < n; ++i) {
        FUZZ_REQUIRE(pm_modulus_exceeds(pm_modulus_scalar(curve), values + i * PM_FR_BYTES));
    }
    FUZZ_REQUIRE(pm_json_public_write(values, n, &text, NULL) == PM_OK);
    FUZZ_REQUIRE(pm_json_public_parse(text.bytes, text.n_bytes, NULL, curve, &again, &n_again,
                                      NULL) == PM_OK);
    FUZZ_REQUIRE(n_again == n && memcmp(values, again, n * PM_FR_BYTES) == 0);
    FUZZ_REQUIRE(pm_json_public_write(again, n, &second, NULL) == PM_OK);
    FUZZ_REQUIRE(second.n_bytes == text.n_bytes &&
                 memcmp(text.bytes, second.bytes, text.n_bytes) == 0);
    pm_json_text_free(&second);
    pm_json_text_free(&text);
    pm_json_values_free(again);
}

static pm_status parse(pm_curve_id curve, const uint8_t *bytes, size_t n_bytes) {
    uint8_t *values = NULL;
    size_t n = 0;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_json_public_parse((const char *)bytes, n_bytes, "public.json",
                                                  curve, &values, &n, &error);
    if (fuzz_succeeded(status, &error)) {
        check_values(curve, values, n);
    } else {
        FUZZ_REQUIRE(values == NULL && strcmp(error.file, "public.json") == 0);
    }
    pm_json_values_free(values);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    const pm_status bn254 = parse(PM_CURVE_BN254, bytes, n_bytes);
    const pm_status bls12_381 = parse(PM_CURVE_BLS12_381, bytes, n_bytes);
    FUZZ_REQUIRE(bn254 == bls12_381 || bn254 == PM_NOT_CANONICAL);
    FUZZ_REQUIRE(parse(PM_CURVE_NONE, bytes, n_bytes) == PM_CURVE);
    return 0;
}
