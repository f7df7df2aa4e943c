/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include <stdio.h>
#include <string.h>

/* The three points of a proof, in order. */
struct proof_point {
    const char *name;
    int is_g2;
    size_t offset; /* in pm_proof */
};
static const struct proof_point proof_points[3] = {
    {"A", 0, offsetof(pm_proof, a)},
    {"B", 1, offsetof(pm_proof, b)},
    {"C", 0, offsetof(pm_proof, c)},
};

/* Encodings need no particular body, and every CPU has this one. */
static pm_status curve_for_encoding(uint32_t id, const struct pm_curve **curve, pm_error *error) {
    *curve = pm_curve_get((pm_curve_id)id, PM_BODY_PORTABLE);
    PM_FAIL_IF(*curve == NULL, error, PM_CURVE, "curve %u is not supported", id);
    return PM_OK;
}

static pm_status proof_bytes(const struct pm_curve *curve, pm_point_form form, size_t *bytes,
                             pm_error *error) {
    const size_t g1_bytes = curve->g1->form_bytes(form), g2_bytes = curve->g2->form_bytes(form);
    PM_FAIL_IF(g1_bytes == 0 || g2_bytes == 0, error, PM_UNSUPPORTED,
               "curve %s has no point form %d", pm_curve_name(curve->id), (int)form);
    *bytes = 2 * g1_bytes + g2_bytes;
    return PM_OK;
}

pm_status pm_proof_encode(const pm_proof *proof, pm_point_form form, void *out, size_t *n_bytes,
                          pm_error *error) {
    PM_FAIL_IF(proof == NULL || n_bytes == NULL, error, PM_INVALID_ARGUMENT,
               "proof or n_bytes is NULL");
    const struct pm_curve *curve = NULL;
    size_t need = 0;
    PM_TRY(curve_for_encoding(proof->curve, &curve, error));
    PM_TRY(proof_bytes(curve, form, &need, error));
    const size_t have = *n_bytes;
    *n_bytes = need;
    if (out == NULL) {
        return PM_OK;
    }
    if (have < need) {
        pm_error_set(error, PM_BUFFER_TOO_SMALL, "the proof takes %zu bytes, the buffer has %zu",
                     need, have);
        pm_error_need_have(error, need, have);
        return PM_BUFFER_TOO_SMALL;
    }
    uint8_t encoded[2 * PM_G1_BYTES_MAX + PM_G2_BYTES_MAX], *at = encoded;
    for (size_t i = 0; i < 3; ++i) {
        const struct pm_group *group = proof_points[i].is_g2 ? curve->g2 : curve->g1;
        uint8_t affine[PM_G2_BYTES_MAX];
        const enum pm_point_fault fault =
            group->decode(affine, PM_POINT_CANONICAL_LE,
                          (const uint8_t *)proof + proof_points[i].offset, PM_POINT_CHECK_NONE);
        PM_FAIL_IF(fault != PM_POINT_GOOD, error, pm_point_fault_status(fault), "proof: %s is %s",
                   proof_points[i].name, pm_point_fault_text(fault));
        group->encode(at, form, affine);
        at += group->form_bytes(form);
    }
    memcpy(out, encoded, need);
    return PM_OK;
}

/* One proof of proof_bytes() bytes; name is what messages call it. */
static pm_status decode_proof(const struct pm_curve *curve, pm_point_form form,
                              const uint8_t *bytes, const char *name, pm_proof *proof,
                              pm_error *error) {
    *proof = (pm_proof){.struct_bytes = sizeof *proof, .curve = (uint32_t)curve->id};
    for (size_t i = 0; i < 3; ++i) {
        const struct pm_group *group = proof_points[i].is_g2 ? curve->g2 : curve->g1;
        uint8_t affine[PM_G2_BYTES_MAX];
        enum pm_point_fault fault = group->decode(affine, form, bytes, PM_POINT_CHECK_SUBGROUP);
        if (fault == PM_POINT_GOOD && group->affine_is_infinity(affine)) {
            fault = PM_POINT_INFINITE;
        }
        PM_FAIL_IF(fault != PM_POINT_GOOD, error, pm_point_fault_status(fault), "%s: %s is %s",
                   name, proof_points[i].name, pm_point_fault_text(fault));
        group->encode((uint8_t *)proof + proof_points[i].offset, PM_POINT_CANONICAL_LE, affine);
        bytes += group->form_bytes(form);
    }
    return PM_OK;
}

pm_status pm_proof_decode(pm_curve_id id, pm_point_form form, const void *bytes, size_t n_bytes,
                          pm_proof *proof, pm_error *error) {
    PM_FAIL_IF((bytes == NULL && n_bytes != 0) || proof == NULL, error, PM_INVALID_ARGUMENT,
               "bytes or proof is NULL");
    const struct pm_curve *curve = NULL;
    size_t need = 0;
    pm_proof decoded;
    PM_TRY(curve_for_encoding((uint32_t)id, &curve, error));
    PM_TRY(proof_bytes(curve, form, &need, error));
    if (n_bytes != need) {
        pm_error_set(error, PM_LENGTH, "a proof has %zu bytes in this form, not %zu", need,
                     n_bytes);
        pm_error_need_have(error, need, n_bytes);
        return PM_LENGTH;
    }
    PM_TRY(decode_proof(curve, form, bytes, "proof", &decoded, error));
    *proof = decoded;
    return PM_OK;
}

pm_status pm_proofs_decode(pm_curve_id id, pm_point_form form, const void *bytes, size_t n_bytes,
                           pm_proof *proofs, size_t n_proofs, pm_error *error) {
    PM_FAIL_IF((bytes == NULL && n_bytes != 0) || proofs == NULL || n_proofs == 0, error,
               PM_INVALID_ARGUMENT, "bytes or proofs is NULL, or n_proofs is 0");
    const struct pm_curve *curve = NULL;
    size_t each = 0;
    void *decoded = NULL;
    PM_TRY(curve_for_encoding((uint32_t)id, &curve, error));
    PM_TRY(proof_bytes(curve, form, &each, error));
    if (n_bytes % each != 0 || n_bytes / each != n_proofs) {
        pm_error_set(error, PM_LENGTH,
                     "%zu bytes for %zu proofs of %zu bytes each: there must be exactly as many",
                     n_bytes, n_proofs, each);
        pm_error_need_have(error, n_proofs <= UINT64_MAX / each ? n_proofs * each : UINT64_MAX,
                           n_bytes);
        return PM_LENGTH;
    }
    /* Nothing is given out before the last proof has been found good. */
    PM_TRY(pm_memory_alloc_array(NULL, "proofs", n_proofs, sizeof(pm_proof), PM_MEMORY_PLAIN,
                                 &decoded, error));
    pm_status status = PM_OK;
    for (size_t i = 0; i < n_proofs && status == PM_OK; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "proof %zu of %zu", i, n_proofs);
        status = decode_proof(curve, form, (const uint8_t *)bytes + i * each, name,
                              (pm_proof *)decoded + i, error);
    }
    if (status == PM_OK) {
        memcpy(proofs, decoded, n_proofs * sizeof(pm_proof));
    }
    pm_memory_free(decoded);
    return status;
}

pm_status pm_proof_check(const struct pm_curve *curve, const pm_proof *proof,
                         struct pm_groth16_proof *checked, pm_error *error) {
    uint8_t *const affines[3] = {checked->a, checked->b, checked->c};
    memset(checked, 0, sizeof *checked);
    for (size_t i = 0; i < 3; ++i) {
        const struct pm_group *group = proof_points[i].is_g2 ? curve->g2 : curve->g1;
        enum pm_point_fault fault =
            group->decode(affines[i], PM_POINT_CANONICAL_LE,
                          (const uint8_t *)proof + proof_points[i].offset, PM_POINT_CHECK_SUBGROUP);
        if (fault == PM_POINT_GOOD && group->affine_is_infinity(affines[i])) {
            fault = PM_POINT_INFINITE;
        }
        PM_FAIL_IF(fault != PM_POINT_GOOD, error, pm_point_fault_status(fault), "proof: %s is %s",
                   proof_points[i].name, pm_point_fault_text(fault));
    }
    return PM_OK;
}
