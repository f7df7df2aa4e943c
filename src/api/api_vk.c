/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "groth16/development.h"
#include "io/params.h"

#include <string.h>

void pm_vk_destroy(pm_vk *vk) {
    if (vk != NULL) {
        pm_verifying_key_destroy(&vk->key);
        pm_memory_free(vk->canonical);
        pm_memory_free(vk);
    }
}

/* Where each point stands in vk->canonical: alpha, beta, gamma, delta, ic. */
static size_t canonical_offset(const struct pm_curve *curve, unsigned point) {
    const size_t g1_bytes = curve->g1->affine_bytes, g2_bytes = curve->g2->affine_bytes;
    return point == 0 ? 0 : g1_bytes + (point - 1) * g2_bytes;
}

static pm_status keep_canonical(const struct pm_curve *curve, pm_vk *vk, pm_error *error) {
    const uint64_t n_ic = (uint64_t)vk->key.n_public + 1;
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "verifying key points",
                           canonical_offset(curve, 4) + n_ic * curve->g1->affine_bytes,
                           PM_MEMORY_PLAIN, &buffer, error));
    uint8_t *out = vk->canonical = buffer;
    const pm_point_form form = PM_POINT_CANONICAL_LE;
    curve->g1->encode(out + canonical_offset(curve, 0), form, vk->key.alpha_g1);
    curve->g2->encode(out + canonical_offset(curve, 1), form, vk->key.beta_g2);
    curve->g2->encode(out + canonical_offset(curve, 2), form, vk->key.gamma_g2);
    curve->g2->encode(out + canonical_offset(curve, 3), form, vk->key.delta_g2);
    for (uint64_t i = 0; i < n_ic; ++i) {
        const uint64_t at = i * curve->g1->affine_bytes;
        curve->g1->encode(out + canonical_offset(curve, 4) + at, form, vk->key.ic + at);
    }
    return PM_OK;
}

/* From the vk members of *header, affine Montgomery and checked. A prover asks for no points. */
static pm_status vk_from_checked(pm_context *context, const struct pm_key_header *header,
                                 enum pm_vk_use use, pm_vk **vk, pm_error *error) {
    struct pm_kernels kernels;
    void *buffer = NULL;
    PM_TRY(pm_kernels_get(header->curve, context->body, context->team, &kernels, error));
    PM_TRY(pm_memory_alloc(NULL, "verifying key", sizeof(pm_vk), PM_MEMORY_PLAIN, &buffer, error));
    pm_vk *made = buffer;
    pm_status status = pm_verifying_key_create(&kernels, header, use, NULL, &made->key, error);
    if (status == PM_OK && use == PM_VK_FOR_MANY) {
        status = keep_canonical(kernels.curve, made, error);
    }
    if (status != PM_OK) {
        pm_vk_destroy(made);
        return status;
    }
    *vk = made;
    return PM_OK;
}

static pm_status vk_from_header(pm_context *context, const struct pm_key_header *header,
                                enum pm_vk_use use, pm_vk **vk, pm_error *error) {
    PM_TRY(pm_verifying_key_check(pm_curve_get(header->curve, context->body), header, context->team,
                                  error));
    return vk_from_checked(context, header, use, vk, error);
}

static pm_status decode_points(const struct pm_group *group, pm_point_form form, const char *name,
                               const void *points, uint64_t n, uint8_t *affine, pm_error *error) {
    PM_FAIL_IF(points == NULL, error, PM_INVALID_ARGUMENT, "verifying key: %s is NULL", name);
    const size_t stride = group->form_bytes(form);
    PM_FAIL_IF(stride == 0, error, PM_UNSUPPORTED, "%s has no point form %d", group->name,
               (int)form);
    for (uint64_t i = 0; i < n; ++i) {
        const enum pm_point_fault fault =
            group->decode(affine + i * group->affine_bytes, form,
                          (const uint8_t *)points + i * stride, PM_POINT_CHECK_NONE);
        PM_FAIL_IF(fault != PM_POINT_GOOD, error, pm_point_fault_status(fault),
                   "verifying key: %s[%llu] is %s", name, (unsigned long long)i,
                   pm_point_fault_text(fault));
    }
    return PM_OK;
}

pm_status pm_vk_from_arrays(pm_context *context, const pm_vk_arrays *arrays, pm_vk **vk,
                            pm_error *error) {
    PM_FAIL_IF(context == NULL || arrays == NULL || vk == NULL, error, PM_INVALID_ARGUMENT,
               "context, arrays or vk is NULL");
    pm_vk_arrays given;
    pm_options_read(&given, sizeof given, arrays);
    const struct pm_curve *curve = pm_curve_get((pm_curve_id)given.curve, context->body);
    PM_FAIL_IF(curve == NULL, error, PM_CURVE, "curve %u is not supported", given.curve);
    const pm_point_form form = (pm_point_form)given.form;
    const uint64_t n_ic = (uint64_t)given.n_public + 1;
    uint8_t alpha[PM_G1_BYTES_MAX], beta[PM_G2_BYTES_MAX], gamma[PM_G2_BYTES_MAX],
        delta[PM_G2_BYTES_MAX];
    void *ic = NULL;

    PM_TRY(decode_points(curve->g1, form, "alpha", given.alpha_g1, 1, alpha, error));
    PM_TRY(decode_points(curve->g2, form, "beta", given.beta_g2, 1, beta, error));
    PM_TRY(decode_points(curve->g2, form, "gamma", given.gamma_g2, 1, gamma, error));
    PM_TRY(decode_points(curve->g2, form, "delta", given.delta_g2, 1, delta, error));
    PM_TRY(pm_memory_alloc_array(NULL, "ic", n_ic, curve->g1->affine_bytes, PM_MEMORY_PLAIN, &ic,
                                 error));
    pm_status status = decode_points(curve->g1, form, "IC", given.ic, n_ic, ic, error);
    if (status == PM_OK) {
        const struct pm_key_header header = {.curve = curve->id,
                                             .n_public = given.n_public,
                                             .alpha_g1 = alpha,
                                             .beta_g2 = beta,
                                             .gamma_g2 = gamma,
                                             .delta_g2 = delta,
                                             .ic = ic};
        status = vk_from_header(context, &header, PM_VK_FOR_MANY, vk, error);
    }
    pm_memory_free(ic);
    return status;
}

static pm_status vk_from_key(pm_context *context, const pm_key *key, enum pm_vk_use use, pm_vk **vk,
                             pm_error *error) {
    if (key->proving_key.header.ic == NULL) {
        pm_error_set(error, PM_SECTION,
                     "the key has no section 3 (IC), so it holds no verifying key");
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        return PM_SECTION;
    }
    pm_vk *made = NULL;
    pm_status status = vk_from_header(context, &key->proving_key.header, use, &made, error);
    if (status == PM_OK) {
        status = pm_mapping_check(&key->mapping, error);
    }
    if (status != PM_OK) {
        pm_vk_destroy(made);
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        return status;
    }
    *vk = made;
    return PM_OK;
}

pm_status pm_vk_from_key(pm_context *context, const pm_key *key, pm_vk **vk, pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL || vk == NULL, error, PM_INVALID_ARGUMENT,
               "context, key or vk is NULL");
    return vk_from_key(context, key, PM_VK_FOR_MANY, vk, error);
}

pm_status pm_key_shared_vk(pm_context *context, const pm_key *key, const pm_vk **vk,
                           pm_error *error) {
    /* The cache is not part of the key's visible state, hence the cast: const means "shareable". */
    pm_key *cache = (pm_key *)(uintptr_t)key;
    pm_status status = PM_OK;
    (void)pthread_mutex_lock(&cache->vk_lock);
    if (cache->vk == NULL) {
        status = vk_from_key(context, key, PM_VK_FOR_SELF, &cache->vk, error);
    }
    *vk = cache->vk;
    (void)pthread_mutex_unlock(&cache->vk_lock);
    return status;
}

static pm_status vk_from_params(pm_context *context, const struct pm_params *params, pm_vk **vk,
                                pm_error *error) {
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, context->body);
    const uint64_t *offset = params->layout.offset;
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "decoded verifying key", params->layout.vk_bytes, PM_MEMORY_PLAIN,
                           &buffer, error));
    const uint8_t *affine = buffer;
    const struct pm_key_header header = {.curve = curve->id,
                                         .n_public = (uint32_t)(params->layout.n[PM_PARAMS_IC] - 1),
                                         .alpha_g1 = affine + offset[PM_PARAMS_ALPHA_G1],
                                         .beta_g2 = affine + offset[PM_PARAMS_BETA_G2],
                                         .gamma_g2 = affine + offset[PM_PARAMS_GAMMA_G2],
                                         .delta_g2 = affine + offset[PM_PARAMS_DELTA_G2],
                                         .ic = affine + offset[PM_PARAMS_IC]};
    pm_status status = pm_params_decode_vk(params, curve, context->team, NULL, buffer, error);
    if (status == PM_OK) {
        status = vk_from_checked(context, &header, PM_VK_FOR_MANY, vk, error);
    }
    pm_memory_free(buffer);
    return status;
}

pm_status pm_vk_from_bellman(pm_context *context, const void *bytes, size_t n_bytes, int trailing,
                             pm_vk **vk, pm_error *error) {
    PM_FAIL_IF(context == NULL || (bytes == NULL && n_bytes != 0) || vk == NULL, error,
               PM_INVALID_ARGUMENT, "context, bytes or vk is NULL");
    struct pm_mapping mapping;
    struct pm_params params;
    PM_TRY(pm_mapping_borrow(bytes, n_bytes, "bellman verifying key", &mapping, error));
    pm_status status = pm_params_open(
        &mapping, trailing != 0 ? PM_PARAMS_VK_FIRST : PM_PARAMS_VK_FILE, &params, error);
    if (status == PM_OK) {
        status = vk_from_params(context, &params, vk, error);
    }
    pm_mapping_close(&mapping);
    return status;
}

pm_curve_id pm_vk_curve(const pm_vk *vk) {
    return vk == NULL ? PM_CURVE_NONE : vk->key.curve;
}

uint32_t pm_vk_n_public(const pm_vk *vk) {
    return vk == NULL ? 0 : vk->key.n_public;
}

uint32_t pm_vk_insecure(const pm_vk *vk) {
    if (vk == NULL) {
        return 0;
    }
    return pm_insecurity_find(pm_curve_get(vk->key.curve, PM_BODY_PORTABLE), vk->key.alpha_g1,
                              vk->key.gamma_g2, vk->key.delta_g2);
}

pm_status pm_vk_get_arrays(const pm_vk *vk, pm_vk_arrays *arrays) {
    if (vk == NULL || arrays == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_curve *curve = pm_curve_get(vk->key.curve, PM_BODY_PORTABLE);
    const pm_vk_arrays full = {.struct_bytes = arrays->struct_bytes,
                               .curve = (uint32_t)vk->key.curve,
                               .form = PM_POINT_CANONICAL_LE,
                               .n_public = vk->key.n_public,
                               .alpha_g1 = vk->canonical + canonical_offset(curve, 0),
                               .beta_g2 = vk->canonical + canonical_offset(curve, 1),
                               .gamma_g2 = vk->canonical + canonical_offset(curve, 2),
                               .delta_g2 = vk->canonical + canonical_offset(curve, 3),
                               .ic = vk->canonical + canonical_offset(curve, 4)};
    memcpy(arrays, &full, arrays->struct_bytes < sizeof full ? arrays->struct_bytes : sizeof full);
    return PM_OK;
}

pm_status pm_vk_get_alphabeta(const pm_vk *vk, void *out, size_t n_bytes) {
    if (vk == NULL || out == NULL || n_bytes != 12 * pm_curve_fp_bytes(vk->key.curve)) {
        return PM_INVALID_ARGUMENT;
    }
    pm_pairing_get(vk->key.curve, PM_BODY_PORTABLE)->gt_to_canonical(out, &vk->key.alphabeta);
    return PM_OK;
}
