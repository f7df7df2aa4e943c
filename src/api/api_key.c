/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "groth16/development.h"

#include <string.h>

/* 2^32 G2 points are beyond any domain; this only bounds what a pipe may feed us. */
#define KEY_FILE_BYTES_MAX (UINT64_C(1) << 42)

static pm_status key_alloc(pm_key **key, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "key handle", sizeof(pm_key), PM_MEMORY_PLAIN, &buffer, error));
    *key = buffer;
    PM_FAIL_IF(pthread_mutex_init(&(*key)->vk_lock, NULL) != 0, error, PM_NO_MEMORY,
               "cannot make a lock for the key");
    return PM_OK;
}

void pm_key_destroy(pm_key *key) {
    if (key == NULL) {
        return;
    }
    pm_vk_destroy(key->vk);
    pm_domain_destroy(&key->proving_key.domain);
    pm_memory_free(key->owned_parts);
    pm_mapping_close(&key->mapping);
    (void)pthread_mutex_destroy(&key->vk_lock);
    pm_memory_free(key);
}

static void warn_of_insecurity(const struct pm_key_parts *parts, const struct pm_curve *curve,
                               const pm_control *control) {
    const uint32_t found =
        pm_insecurity_find(curve, parts->alpha_g1, parts->gamma_g2, parts->delta_g2);
    if ((found & PM_INSECURE_DEVELOPMENT) != 0) {
        pm_control_log(control, PM_LOG_WARNING,
                       "the proving key is a development key, whose secrets are known: anyone can "
                       "forge proofs with it");
    } else if (found != 0) {
        pm_control_log(control, PM_LOG_WARNING,
                       "the proving key's delta is %s: nobody has contributed to it and anyone can "
                       "forge proofs with it",
                       (found & PM_INSECURE_DELTA_IS_GAMMA) != 0 ? "its gamma" : "the generator");
    }
}

/* Reads the mapping, which the key owns by now, and builds the domain. Destroys the key on failure.
 */
static pm_status key_from_mapping(pm_context *context, pm_key *key, pm_check check,
                                  const pm_control *control, pm_key **out, pm_error *error) {
    struct pm_kernels kernels;
    pm_status status;
    PM_TRY_GOTO(status, pm_zkey_open(&key->mapping, context->team, control, &key->zkey, error),
                cleanup);
    PM_TRY_GOTO(status, pm_mapping_check(&key->mapping, error), cleanup);
    key->proving_key.parts = key->zkey.parts;
    PM_TRY_GOTO(
        status,
        pm_kernels_get(key->zkey.parts.curve, context->body, context->team, &kernels, error),
        cleanup);
    if (check != PM_CHECK_NONE) {
        PM_TRY_GOTO(status,
                    pm_zkey_check_points(&key->zkey, kernels.curve,
                                         check == PM_CHECK_FULL ? PM_POINT_CHECK_SUBGROUP
                                                                : PM_POINT_CHECK_CURVE,
                                         context->team, control, error),
                    cleanup);
    }
    PM_TRY_GOTO(status,
                pm_domain_create(kernels.poly, key->zkey.parts.log_n, PM_ROOT_SNARKJS,
                                 context->team, &key->ledger, &key->proving_key.domain, error),
                cleanup);
    warn_of_insecurity(&key->zkey.parts, kernels.curve, control);
    *out = key;
cleanup:
    if (status != PM_OK) {
        pm_key_destroy(key);
    }
    return status;
}

pm_status pm_key_open(pm_context *context, const char *path, const pm_key_options *options,
                      const pm_control *control, pm_key **key, pm_error *error) {
    PM_FAIL_IF(context == NULL || path == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context, path or key is NULL");
    pm_key_options chosen;
    pm_options_read(&chosen, sizeof chosen, options);
    PM_FAIL_IF(chosen.load != PM_LOAD_MAP && chosen.load != PM_LOAD_READ, error,
               PM_INVALID_ARGUMENT, "load %u is not a pm_load", chosen.load);
    PM_FAIL_IF(chosen.check > PM_CHECK_FULL, error, PM_INVALID_ARGUMENT,
               "check %u is not a pm_check", chosen.check);
    pm_key *made = NULL;
    PM_TRY(key_alloc(&made, error));
    const pm_status status =
        pm_mapping_open(path, chosen.load == PM_LOAD_MAP ? PM_MAPPING_MAP : PM_MAPPING_READ,
                        KEY_FILE_BYTES_MAX, &made->ledger, &made->mapping, error);
    if (status != PM_OK) {
        memset(&made->mapping, 0, sizeof made->mapping);
        pm_key_destroy(made);
        return status;
    }
    return key_from_mapping(context, made, (pm_check)chosen.check, control, key, error);
}

pm_status pm_key_open_memory(pm_context *context, const void *bytes, size_t n_bytes,
                             const char *name, const pm_control *control, pm_key **key,
                             pm_error *error) {
    PM_FAIL_IF(context == NULL || (bytes == NULL && n_bytes != 0) || key == NULL, error,
               PM_INVALID_ARGUMENT, "context, bytes or key is NULL");
    pm_key *made = NULL;
    PM_TRY(key_alloc(&made, error));
    const pm_status status = pm_mapping_borrow(
        bytes, n_bytes, name != NULL ? name : "key in memory", &made->mapping, error);
    if (status != PM_OK) {
        memset(&made->mapping, 0, sizeof made->mapping);
        pm_key_destroy(made);
        return status;
    }
    return key_from_mapping(context, made, PM_CHECK_NONE, control, key, error);
}

pm_status pm_key_get_facts(const pm_key *key, pm_key_facts *facts) {
    if (key == NULL || facts == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_key_parts *parts = &key->proving_key.parts;
    const pm_key_facts full = {
        .struct_bytes = facts->struct_bytes,
        .curve = (uint32_t)parts->curve,
        .log_n = parts->log_n,
        .n_vars = parts->n_vars,
        .n_public = parts->n_public,
        .has_ic = parts->ic != NULL,
        .n_coefficients = parts->n_coefficients,
        .mapped_bytes = key->mapping.n_bytes,
        .memory_bytes = pm_ledger_live_bytes(&key->ledger),
    };
    memcpy(facts, &full, facts->struct_bytes < sizeof full ? facts->struct_bytes : sizeof full);
    return PM_OK;
}

pm_status pm_key_check(pm_context *context, const pm_key *key, const pm_control *control,
                       pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context or key is NULL");
    const struct pm_curve *curve = pm_curve_get(key->proving_key.parts.curve, context->body);
    PM_FAIL_IF(curve == NULL, error, PM_UNSUPPORTED, "the key's curve has no %s arithmetic",
               pm_body_name(context->body));
    return pm_zkey_check_points(&key->zkey, curve, PM_POINT_CHECK_SUBGROUP, context->team, control,
                                error);
}
