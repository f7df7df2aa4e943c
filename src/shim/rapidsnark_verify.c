/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* shim/rapidsnark_verify.c - rapidsnark's groth16_verify(). */
#include <proofmill/rapidsnark/verifier.h>

#include "shim/rapidsnark_message.h"
#include "json/json.h"

#include <string.h>

/* What was read for one call, to be given back whatever came of it. */
struct statement {
    pm_context *context;
    pm_vk *vk;
    pm_proof proof;
    uint8_t *publics;
    size_t n_publics;
};

static pm_status read_statement(const char *proof, const char *inputs, const char *key,
                                struct statement *statement, pm_error *error) {
    /* One thread: the pairings of a verification are not worth starting any. */
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = 1};
    pm_status status = pm_context_create(&options, &statement->context, error);
    if (status == PM_OK) {
        status = pm_json_vk_parse(statement->context, key, strlen(key), "verification key",
                                  &statement->vk, error);
    }
    const pm_curve_id curve = status == PM_OK ? pm_vk_curve(statement->vk) : PM_CURVE_NONE;
    if (status == PM_OK) {
        status =
            pm_json_proof_parse(proof, strlen(proof), "proof", curve, &statement->proof, error);
    }
    if (status == PM_OK) {
        status = pm_json_public_parse(inputs, strlen(inputs), "inputs", curve, &statement->publics,
                                      &statement->n_publics, error);
    }
    return status;
}

static pm_status verify(const char *proof, const char *inputs, const char *key, pm_error *error) {
    if (proof == NULL || inputs == NULL || key == NULL) {
        return pm_rapidsnark_fail(error, PM_INVALID_ARGUMENT, "%s is NULL",
                                  proof == NULL    ? "proof"
                                  : inputs == NULL ? "inputs"
                                                   : "verification_key");
    }
    struct statement statement = {0};
    pm_status status = read_statement(proof, inputs, key, &statement, error);
    if (status == PM_OK) {
        status = pm_verify(statement.context, statement.vk, statement.publics, statement.n_publics,
                           &statement.proof, error);
    }
    pm_json_values_free(statement.publics);
    pm_vk_destroy(statement.vk);
    pm_context_destroy(statement.context);
    return status;
}

int groth16_verify(const char *proof, const char *inputs, const char *verification_key,
                   char *error_msg, unsigned long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    pm_error error = PM_ERROR_INIT;
    const pm_status status = verify(proof, inputs, verification_key, &error);
    if (status == PM_OK) {
        return VERIFIER_VALID_PROOF;
    }
    pm_rapidsnark_say(&message, &error);
    return status == PM_PROOF_INVALID ? VERIFIER_INVALID_PROOF : VERIFIER_ERROR;
}
