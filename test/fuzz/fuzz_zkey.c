/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as a proving key: they open with facts that agree with each other, or they are
 * refused; an opened key of a tiny circuit can be checked and proved with, and whatever its points
 * are, a proof that comes out verifies.
 */
#include "fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

/* Larger ones cost more than they find. */
#define VARS_MAX 64u
#define LOG_N_MAX 4u

/* All ones, which satisfies circuits of products, or small values that satisfy nothing. */
static pm_witness *make_witness(const pm_key_facts *facts, uint64_t hash) {
    uint8_t values[VARS_MAX][PM_FR_BYTES] = {{0}};
    pm_witness *witness = NULL;
    for (uint32_t i = 0; i < facts->n_vars; ++i) {
        values[i][0] = i == 0 || hash % 4 != 0 ? 1 : (uint8_t)(hash >> (i % 56));
    }
    FUZZ_REQUIRE(pm_witness_from_values(fuzz_context(), (pm_curve_id)facts->curve, values,
                                        facts->n_vars, NULL, &witness, NULL) == PM_OK);
    return witness;
}

static bool is_proving_refusal(pm_status status) {
    return status == PM_SELF_VERIFY || status == PM_SECTION || fuzz_is_point_fault(status);
}

static void prove(const pm_key *key, const pm_key_facts *facts, uint64_t hash) {
    pm_context *context = fuzz_context();
    pm_witness *witness = make_witness(facts, hash);
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_prove(context, key, witness, NULL, NULL, &proof, NULL, &error);
    if (fuzz_succeeded(status, &error)) {
        uint8_t publics[VARS_MAX * PM_FR_BYTES];
        pm_vk *vk = NULL;
        FUZZ_REQUIRE(pm_vk_from_key(context, key, &vk, NULL) == PM_OK);
        FUZZ_REQUIRE(pm_witness_values(witness, 1, facts->n_public, publics) == PM_OK);
        FUZZ_REQUIRE(pm_verify(context, vk, publics, facts->n_public, &proof, NULL) == PM_OK);
        pm_vk_destroy(vk);
    } else {
        FUZZ_REQUIRE(is_proving_refusal(status));
    }
    pm_witness_destroy(witness);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    pm_key *key = NULL;
    pm_error error = PM_ERROR_INIT;
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    pm_status status =
        pm_key_open_memory(fuzz_context(), bytes, n_bytes, "fuzz.zkey", NULL, &key, &error);
    if (!fuzz_succeeded(status, &error)) {
        FUZZ_REQUIRE(key == NULL && strcmp(error.file, "fuzz.zkey") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
        return 0;
    }
    FUZZ_REQUIRE(pm_key_get_facts(key, &facts) == PM_OK);
    FUZZ_REQUIRE(facts.n_public < facts.n_vars && facts.mapped_bytes == n_bytes);
    FUZZ_REQUIRE(facts.memory_bytes <= n_bytes + FUZZ_MEMORY_BYTES);
    if (facts.n_vars <= VARS_MAX && facts.log_n <= LOG_N_MAX) {
        error = (pm_error)PM_ERROR_INIT;
        status = pm_key_check(fuzz_context(), key, NULL, &error);
        if (!fuzz_succeeded(status, &error)) {
            FUZZ_REQUIRE(error.offset < n_bytes);
        }
        prove(key, &facts, fuzz_hash(bytes, n_bytes));
    }
    pm_key_destroy(key);
    return 0;
}
