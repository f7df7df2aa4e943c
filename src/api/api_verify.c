/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "base/checked.h"

#include <string.h>

/* The common preconditions: pointers, curve, count of publics. */
static pm_status check_call(const pm_context *context, const pm_vk *vk, const void *publics,
                            size_t n_publics, const void *proofs, pm_error *error) {
    PM_FAIL_IF(context == NULL || vk == NULL || proofs == NULL ||
                   (publics == NULL && n_publics != 0),
               error, PM_INVALID_ARGUMENT, "context, vk, publics or proof is NULL");
    if (n_publics != vk->key.n_public) {
        pm_error_set(error, PM_COUNT, "expected %u public inputs, found %zu", vk->key.n_public,
                     n_publics);
        pm_error_need_have(error, vk->key.n_public, n_publics);
        return PM_COUNT;
    }
    return PM_OK;
}

static pm_status check_publics(const struct pm_field *fr, const uint8_t *publics, size_t n,
                               pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        uint64_t value[PM_FR_LIMBS_MAX];
        memcpy(value, publics + i * PM_FR_BYTES, PM_FR_BYTES);
        PM_FAIL_IF(!fr->is_canonical(value), error, PM_NOT_CANONICAL,
                   "public input %zu is not below the scalar field's modulus", i);
    }
    return PM_OK;
}

static pm_status check_proof(const struct pm_curve *curve, const pm_proof *proof,
                             struct pm_groth16_proof *checked, pm_error *error) {
    PM_FAIL_IF(proof->curve != (uint32_t)curve->id, error, PM_CURVE,
               "the proof is over %s, the verifying key over %s",
               pm_curve_name((pm_curve_id)proof->curve), pm_curve_name(curve->id));
    return pm_proof_check(curve, proof, checked, error);
}

pm_status pm_verify_in(pm_context *context, const pm_vk *vk, const void *publics, size_t n_publics,
                       const pm_proof *proof, void *scratch, pm_error *error) {
    struct pm_kernels kernels;
    struct pm_groth16_proof checked;
    PM_TRY(check_call(context, vk, publics, n_publics, proof, error));
    PM_TRY(pm_kernels_get(vk->key.curve, context->body, context->team, &kernels, error));
    PM_TRY(check_publics(kernels.curve->fr, publics, n_publics, error));
    PM_TRY(check_proof(kernels.curve, proof, &checked, error));
    return pm_groth16_verify(&kernels, &vk->key, publics, &checked, scratch, error);
}

pm_status pm_verify(pm_context *context, const pm_vk *vk, const void *publics, size_t n_publics,
                    const pm_proof *proof, pm_error *error) {
    void *scratch = NULL;
    PM_TRY(check_call(context, vk, publics, n_publics, proof, error));
    PM_TRY(pm_memory_alloc(
        NULL, "verification scratch",
        pm_groth16_verify_bytes(vk->key.curve, vk->key.n_public, pm_context_threads(context)),
        PM_MEMORY_PLAIN, &scratch, error));
    const pm_status status = pm_verify_in(context, vk, publics, n_publics, proof, scratch, error);
    pm_memory_free(scratch);
    return status;
}

pm_status pm_verify_batch(pm_context *context, const pm_vk *vk, const void *publics,
                          size_t n_publics, const pm_proof *proofs, size_t n_proofs,
                          pm_error *error) {
    struct pm_kernels kernels;
    uint64_t n_values = 0;
    void *buffer = NULL;
    if (n_proofs == 0) {
        PM_FAIL(error, PM_INVALID_ARGUMENT, "a batch has at least one proof");
    }
    PM_TRY(check_call(context, vk, publics, n_publics, proofs, error));
    PM_TRY(pm_kernels_get(vk->key.curve, context->body, context->team, &kernels, error));
    PM_FAIL_IF(!pm_checked_mul_u64(n_publics, n_proofs, &n_values), error, PM_INVALID_ARGUMENT,
               "%zu proofs of %zu public inputs are too many", n_proofs, n_publics);
    PM_TRY(check_publics(kernels.curve->fr, publics, n_values, error));
    PM_TRY(pm_memory_alloc_array(NULL, "batch proofs", n_proofs, sizeof(struct pm_groth16_proof),
                                 PM_MEMORY_PLAIN, &buffer, error));
    struct pm_groth16_proof *checked = buffer;
    pm_status status = PM_OK;
    for (size_t i = 0; i < n_proofs && status == PM_OK; ++i) {
        status = check_proof(kernels.curve, &proofs[i], &checked[i], error);
    }
    if (status == PM_OK) {
        status = pm_groth16_verify_batch(&kernels, &vk->key, publics, checked, n_proofs, error);
    }
    pm_memory_free(checked);
    return status;
}
