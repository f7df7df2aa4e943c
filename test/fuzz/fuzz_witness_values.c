/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any values given as a witness from memory: accepted exactly when there is a first one, it is one,
 * all are below the modulus and the curve is known; and then they are kept as they were.
 */
#include "fuzz/harness.h"

#include "io/modulus.h"

#include <stdlib.h>
#include <string.h>

static bool is_good(pm_curve_id curve, const uint8_t *values, size_t n) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    if (pm_curve_fp_bytes(curve) == 0 || n == 0 || memcmp(values, one, sizeof one) != 0) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!pm_modulus_exceeds(pm_modulus_scalar(curve), values + i * PM_FR_BYTES)) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct fuzz_reader reader = {bytes, n_bytes};
    const pm_curve_id curve = fuzz_take_curve(&reader);
    const size_t n = reader.n_bytes / PM_FR_BYTES;
    uint8_t *values = fuzz_take_array(&reader, n * PM_FR_BYTES);
    pm_witness *witness = NULL;
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        pm_witness_from_values(fuzz_context(), curve, values, n, NULL, &witness, &error);
    FUZZ_REQUIRE(fuzz_succeeded(status, &error) == is_good(curve, values, n));
    if (status == PM_OK) {
        uint8_t *kept = malloc(n * PM_FR_BYTES);
        FUZZ_REQUIRE(kept != NULL && pm_witness_count(witness) == n);
        FUZZ_REQUIRE(pm_witness_values(witness, 0, n, kept) == PM_OK);
        FUZZ_REQUIRE(memcmp(kept, values, n * PM_FR_BYTES) == 0);
        free(kept);
    }
    pm_witness_destroy(witness);
    free(values);
    return 0;
}
