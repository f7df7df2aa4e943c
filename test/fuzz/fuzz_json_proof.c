/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any text given as proof.json: what is accepted, written and read again is the same proof, and
 * naming no curve is the only thing that a fallback excuses.
 */
#include "fuzz/harness.h"

#include "json/json.h"

#include <string.h>

static void check_proof(const pm_proof *proof) {
    struct pm_json_text text = {0}, calldata = {0};
    pm_proof again = {.struct_bytes = sizeof again};
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(pm_json_proof_write(proof, &text, NULL) == PM_OK);
    FUZZ_REQUIRE(text.bytes[text.n_bytes] == '\0' && strlen(text.bytes) == text.n_bytes);
    FUZZ_REQUIRE(pm_json_proof_parse(text.bytes, text.n_bytes, NULL, PM_CURVE_NONE, &again, NULL) ==
                 PM_OK);
    FUZZ_REQUIRE(memcmp(proof, &again, sizeof again) == 0);
    const pm_status status = pm_json_calldata_write(proof, proof->a, 1, &calldata, &error);
    (void)fuzz_succeeded(status, &error);
    FUZZ_REQUIRE(status == (proof->curve == PM_CURVE_BN254 ? PM_OK : PM_UNSUPPORTED));
    pm_json_text_free(&calldata);
    pm_json_text_free(&text);
}

/* Proofs that are none: a point at infinity is written so that reading refuses it, and a curve that
 * does not exist has no name. */
static void check_no_proof(pm_proof proof) {
    struct pm_json_text text = {0};
    memset(proof.b, 0, sizeof proof.b);
    FUZZ_REQUIRE(pm_json_proof_write(&proof, &text, NULL) == PM_OK);
    FUZZ_REQUIRE(pm_json_proof_parse(text.bytes, text.n_bytes, NULL, PM_CURVE_NONE, &proof, NULL) ==
                 PM_POINT_AT_INFINITY);
    pm_json_text_free(&text);
    proof.curve = 9;
    FUZZ_REQUIRE(pm_json_proof_write(&proof, &text, NULL) == PM_CURVE && text.bytes == NULL);
}

static pm_status parse(const uint8_t *bytes, size_t n_bytes, pm_curve_id fallback) {
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        pm_json_proof_parse((const char *)bytes, n_bytes, "proof.json", fallback, &proof, &error);
    if (fuzz_succeeded(status, &error)) {
        check_proof(&proof);
        check_no_proof(proof);
    } else {
        FUZZ_REQUIRE(proof.curve == 0 && strcmp(error.file, "proof.json") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    const pm_status strict = parse(bytes, n_bytes, PM_CURVE_NONE);
    const pm_status bn254 = parse(bytes, n_bytes, PM_CURVE_BN254);
    const pm_status bls12_381 = parse(bytes, n_bytes, PM_CURVE_BLS12_381);
    FUZZ_REQUIRE(strict == PM_CURVE || (strict == bn254 && strict == bls12_381));
    /* The length is judged before anything is read. */
    FUZZ_REQUIRE(pm_json_proof_parse((const char *)bytes, PM_JSON_PROOF_BYTES_MAX + 1, NULL,
                                     PM_CURVE_NONE, NULL, NULL) == PM_LENGTH);
    FUZZ_REQUIRE(bn254 != PM_OK || bls12_381 != PM_OK || strict == PM_OK);
    return 0;
}
