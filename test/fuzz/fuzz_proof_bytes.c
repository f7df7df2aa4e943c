/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as a proof of either curve in any form: what is accepted encodes to the same
 * bytes, and by way of every other form to the same proof. The input is a byte for the curve, one
 * for the form, and the proof.
 */
#include "fuzz/harness.h"

#include "curve/curve.h"

#include <stdlib.h>
#include <string.h>

#define PROOF_BYTES_MAX (2 * PM_G1_BYTES_MAX + PM_G2_BYTES_MAX)

/* There and back in one form; false when the curve does not have it. */
static bool goes_round(const pm_proof *proof, pm_point_form form) {
    uint8_t encoded[PROOF_BYTES_MAX];
    size_t n = sizeof encoded, too_few = 0;
    pm_proof again = {.struct_bytes = sizeof again};
    pm_error error = PM_ERROR_INIT;
    if (!fuzz_succeeded(pm_proof_encode(proof, form, encoded, &n, &error), &error)) {
        FUZZ_REQUIRE(error.status == PM_UNSUPPORTED);
        return false;
    }
    FUZZ_REQUIRE(pm_proof_decode((pm_curve_id)proof->curve, form, encoded, n, &again, NULL) ==
                 PM_OK);
    FUZZ_REQUIRE(memcmp(proof, &again, sizeof again) == 0);
    too_few = n - 1;
    FUZZ_REQUIRE(pm_proof_encode(proof, form, encoded, &too_few, NULL) == PM_BUFFER_TOO_SMALL);
    FUZZ_REQUIRE(too_few == n);
    FUZZ_REQUIRE(pm_proof_encode(proof, form, NULL, &too_few, NULL) == PM_OK && too_few == n);
    return true;
}

/* A form that a group does not have is neither read nor written. */
static void check_absent_form(pm_curve_id id, pm_point_form form) {
    const struct pm_curve *curve = pm_curve_get(id, PM_BODY_PORTABLE);
    uint8_t out[PM_G1_BYTES_MAX] = {1}, affine[PM_G1_BYTES_MAX];
    if (curve == NULL || curve->g1->form_bytes(form) != 0) {
        return;
    }
    FUZZ_REQUIRE(curve->g1->decode(affine, form, out, PM_POINT_CHECK_NONE) ==
                 PM_POINT_BAD_ENCODING);
    curve->g1->encode(out, form, curve->g1->generator);
    FUZZ_REQUIRE(out[0] == 1 && out[1] == 0);
}

/* As the only one of a list, and twice in a list: the same answer, and the same proofs. */
static void check_lists(pm_curve_id curve, pm_point_form form, const uint8_t *bytes, size_t n,
                        pm_status expected, const pm_proof *proof) {
    pm_proof list[2];
    uint8_t *twice = malloc(2 * n + 1);
    FUZZ_REQUIRE(twice != NULL);
    if (n > 0) {
        memcpy(twice, bytes, n);
        memcpy(twice + n, bytes, n);
    }
    for (size_t n_proofs = 1; n_proofs <= 2; ++n_proofs) {
        pm_error error = PM_ERROR_INIT;
        const pm_status status =
            pm_proofs_decode(curve, form, twice, n_proofs * n, list, n_proofs, &error);
        FUZZ_REQUIRE(fuzz_succeeded(status, &error) == (expected == PM_OK));
        FUZZ_REQUIRE(status == expected);
        FUZZ_REQUIRE(expected != PM_OK || memcmp(&list[n_proofs - 1], proof, sizeof *proof) == 0);
        FUZZ_REQUIRE(pm_proofs_decode(curve, form, twice, n_proofs * n + 1, list, n_proofs, NULL) !=
                     PM_OK);
    }
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct fuzz_reader reader = {bytes, n_bytes};
    const pm_curve_id curve = fuzz_take_curve(&reader);
    const pm_point_form form = (pm_point_form)(fuzz_take_u8(&reader) % 6);
    const size_t n = reader.n_bytes;
    check_absent_form(curve, form);
    uint8_t encoded[PROOF_BYTES_MAX];
    size_t n_encoded = sizeof encoded;
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_proof_decode(curve, form, reader.bytes, n, &proof, &error);
    check_lists(curve, form, reader.bytes, n, status, &proof);
    if (!fuzz_succeeded(status, &error)) {
        return 0;
    }
    FUZZ_REQUIRE(proof.curve == (uint32_t)curve && proof.struct_bytes == sizeof proof);
    FUZZ_REQUIRE(pm_proof_encode(&proof, form, encoded, &n_encoded, &error) == PM_OK);
    FUZZ_REQUIRE(n_encoded == n && memcmp(encoded, reader.bytes, n) == 0);
    for (int other = PM_POINT_CANONICAL_LE; other <= PM_POINT_ZCASH_COMPRESSED; ++other) {
        FUZZ_REQUIRE(goes_round(&proof, (pm_point_form)other) ||
                     (curve == PM_CURVE_BN254 && other >= PM_POINT_ZCASH_FULL));
    }
    return 0;
}
