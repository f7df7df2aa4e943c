/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as a witness file: they are refused without a word about their values, or every
 * value is canonical, the first is one, and a witness made of the same values is the same.
 */
#include "fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

/* The witness once more, by way of its values. */
static void compare_with_values(const pm_witness *witness) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    const size_t n = pm_witness_count(witness);
    uint8_t *values = malloc(n * PM_FR_BYTES), *again = malloc(n * PM_FR_BYTES);
    pm_witness *copy = NULL;
    FUZZ_REQUIRE(values != NULL && again != NULL);
    FUZZ_REQUIRE(pm_witness_values(witness, 0, n, values) == PM_OK);
    FUZZ_REQUIRE(memcmp(values, one, sizeof one) == 0);
    FUZZ_REQUIRE(pm_witness_from_values(fuzz_context(), pm_witness_curve(witness), values, n, NULL,
                                        &copy, NULL) == PM_OK);
    FUZZ_REQUIRE(pm_witness_count(copy) == n);
    FUZZ_REQUIRE(pm_witness_values(copy, 0, n, again) == PM_OK);
    FUZZ_REQUIRE(memcmp(values, again, n * PM_FR_BYTES) == 0);
    FUZZ_REQUIRE(pm_witness_values(witness, n, 1, again) == PM_INVALID_ARGUMENT);
    FUZZ_REQUIRE(pm_witness_values(witness, 1, SIZE_MAX, again) == PM_INVALID_ARGUMENT);
    pm_witness_destroy(copy);
    free(values);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    pm_witness *witness = NULL;
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        pm_witness_open_memory(fuzz_context(), bytes, n_bytes, "fuzz.wtns", NULL, &witness, &error);
    if (!fuzz_succeeded(status, &error)) {
        FUZZ_REQUIRE(witness == NULL && strcmp(error.file, "fuzz.wtns") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
        return 0;
    }
    FUZZ_REQUIRE(pm_witness_count(witness) > 0);
    FUZZ_REQUIRE(pm_witness_count(witness) <= n_bytes / PM_FR_BYTES);
    compare_with_values(witness);
    pm_witness_destroy(witness);
    return 0;
}
