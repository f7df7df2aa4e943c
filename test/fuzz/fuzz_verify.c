/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any proof struct and any public values against a real key: the answer is valid, invalid or
 * malformed, one proof at a time and in a batch alike, and malformed exactly when the proof does
 * not decode or a value is not canonical. The input is a byte for the curve, the points of a proof,
 * and the values.
 */
#include "fuzz/harness.h"

#include "io/modulus.h"
#include "support/fixture.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

#define PUBLIC_MAX 8u

static const pm_vk *vk_of(pm_curve_id curve) {
    static pm_vk *vks[3];
    if (vks[curve] == NULL) {
        char path[PM_TEST_PATH_MAX];
        size_t n_bytes = 0;
        char *text = pm_test_read_file(
            pm_data_path(path, curve == PM_CURVE_BN254 ? "one/vkey.json" : "one_bls/vkey.json"),
            &n_bytes);
        FUZZ_REQUIRE(text != NULL);
        FUZZ_REQUIRE(pm_json_vk_parse(fuzz_context(), text, n_bytes, path, &vks[curve], NULL) ==
                     PM_OK);
        free(text);
    }
    return vks[curve];
}

/* Whether the points alone are those of a proof. */
static bool decodes(const pm_proof *proof) {
    uint8_t encoded[2 * PM_G1_BYTES_MAX + PM_G2_BYTES_MAX];
    size_t n = sizeof encoded;
    pm_proof decoded = {.struct_bytes = sizeof decoded};
    return pm_proof_encode(proof, PM_POINT_CANONICAL_LE, encoded, &n, NULL) == PM_OK &&
           pm_proof_decode((pm_curve_id)proof->curve, PM_POINT_CANONICAL_LE, encoded, n, &decoded,
                           NULL) == PM_OK;
}

static bool are_canonical(pm_curve_id curve, const uint8_t *publics, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (!pm_modulus_exceeds(pm_modulus_scalar(curve), publics + i * PM_FR_BYTES)) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct fuzz_reader reader = {bytes, n_bytes};
    const pm_curve_id curve = fuzz_take_u8(&reader) % 2 == 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381;
    const size_t fp_bytes = pm_curve_fp_bytes(curve);
    const pm_vk *vk = vk_of(curve);
    pm_proof proof = {.struct_bytes = sizeof proof, .curve = (uint32_t)curve};
    pm_error error = PM_ERROR_INIT, batch_error = PM_ERROR_INIT;
    fuzz_take(&reader, proof.a, 2 * fp_bytes);
    fuzz_take(&reader, proof.b, 4 * fp_bytes);
    fuzz_take(&reader, proof.c, 2 * fp_bytes);
    const size_t left = reader.n_bytes / PM_FR_BYTES, n = left < PUBLIC_MAX ? left : PUBLIC_MAX;
    uint8_t *publics = fuzz_take_array(&reader, n * PM_FR_BYTES);

    const pm_status status = pm_verify(fuzz_context(), vk, publics, n, &proof, &error);
    const pm_status batch =
        pm_verify_batch(fuzz_context(), vk, publics, n, &proof, 1, &batch_error);
    (void)fuzz_succeeded(status, &error);
    (void)fuzz_succeeded(batch, &batch_error);
    FUZZ_REQUIRE(status == batch);
    FUZZ_REQUIRE((n != pm_vk_n_public(vk)) == (status == PM_COUNT));
    if (n == pm_vk_n_public(vk)) {
        FUZZ_REQUIRE((status == PM_OK || status == PM_PROOF_INVALID) ==
                     (decodes(&proof) && are_canonical(curve, publics, n)));
    }
    free(publics);
    return 0;
}
