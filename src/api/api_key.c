/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "groth16/development.h"

#include <string.h>

/* 2^32 G2 points are beyond any domain; this only bounds what a pipe may feed us. */
#define KEY_FILE_BYTES_MAX (UINT64_C(1) << 42)

static pm_status key_alloc(pm_key **key, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "key handle", sizeof(pm_key), PM_MEMORY_PLAIN, &buffer, error));
    pm_key *made = buffer;
    if (pthread_mutex_init(&made->vk_lock, NULL) != 0) {
        pm_memory_free(made);
        PM_FAIL(error, PM_NO_MEMORY, "cannot make a lock for the key");
    }
    made->n_references = 1;
    pm_residents_init(&made->residents);
    *key = made;
    return PM_OK;
}

pm_key *pm_key_retain(const pm_key *key) {
    /* A handle never lies in read-only memory: callers promise not to change what it stands for. */
    pm_key *shared = (pm_key *)(uintptr_t)key;
    (void)__atomic_add_fetch(&shared->n_references, 1, __ATOMIC_RELAXED);
    return shared;
}

void pm_key_destroy(pm_key *key) {
    if (key == NULL || __atomic_sub_fetch(&key->n_references, 1, __ATOMIC_ACQ_REL) != 0) {
        return;
    }
    pm_residents_close(&key->residents);
    pm_vk_destroy(key->vk);
    pm_proving_key_destroy(&key->proving_key);
    pm_memory_free(key->owned_parts);
    pm_mapping_close(&key->mapping);
    (void)pthread_mutex_destroy(&key->vk_lock);
    pm_memory_free(key);
}

static void warn_of_insecurity(const struct pm_key_header *header, const struct pm_curve *curve,
                               const pm_control *control) {
    const uint32_t found =
        pm_insecurity_find(curve, header->alpha_g1, header->gamma_g2, header->delta_g2);
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
static pm_status key_from_mapping(pm_context *context, pm_key *key, enum pm_point_check check,
                                  const pm_control *control, pm_key **out, pm_error *error) {
    struct pm_kernels kernels;
    pm_status status;
    PM_TRY_GOTO(status, pm_zkey_open(&key->mapping, context->team, control, &key->zkey, error),
                cleanup);
    PM_TRY_GOTO(status, pm_mapping_check(&key->mapping, error), cleanup);
    PM_TRY_GOTO(
        status,
        pm_kernels_get(key->zkey.parts.curve, context->body, context->team, &kernels, error),
        cleanup);
    if (check != PM_POINT_CHECK_NONE) {
        PM_TRY_GOTO(
            status,
            pm_zkey_check_points(&key->zkey, kernels.curve, check, context->team, control, error),
            cleanup);
    }
    PM_TRY_GOTO(status,
                pm_proving_key_from_zkey(&key->zkey, &kernels, &key->ledger, control,
                                         &key->proving_key, error),
                cleanup);
    warn_of_insecurity(&key->proving_key.header, kernels.curve, control);
    *out = key;
cleanup:
    if (status != PM_OK) {
        pm_key_destroy(key);
    }
    return status;
}

static pm_status read_options(const pm_key_options *options, pm_key_options *chosen,
                              pm_error *error) {
    pm_options_read(chosen, sizeof *chosen, options);
    PM_FAIL_IF(chosen->load != PM_LOAD_MAP && chosen->load != PM_LOAD_READ, error,
               PM_INVALID_ARGUMENT, "load %u is not a pm_load", chosen->load);
    PM_FAIL_IF(chosen->check > PM_CHECK_FULL, error, PM_INVALID_ARGUMENT,
               "check %u is not a pm_check", chosen->check);
    return PM_OK;
}

static enum pm_mapping_how how_to_map(const pm_key_options *options) {
    return options->load == PM_LOAD_MAP ? PM_MAPPING_MAP : PM_MAPPING_READ;
}

static enum pm_point_check how_to_check(const pm_key_options *options) {
    switch ((pm_check)options->check) {
    case PM_CHECK_FULL:
        return PM_POINT_CHECK_SUBGROUP;
    case PM_CHECK_FAST:
        return PM_POINT_CHECK_CURVE;
    case PM_CHECK_NONE:
        break;
    }
    return PM_POINT_CHECK_NONE;
}

pm_status pm_key_open(pm_context *context, const char *path, const pm_key_options *options,
                      const pm_control *control, pm_key **key, pm_error *error) {
    PM_FAIL_IF(context == NULL || path == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context, path or key is NULL");
    pm_key_options chosen;
    PM_TRY(read_options(options, &chosen, error));
    pm_key *made = NULL;
    PM_TRY(key_alloc(&made, error));
    const pm_status status = pm_mapping_open(path, how_to_map(&chosen), KEY_FILE_BYTES_MAX,
                                             &made->ledger, control, &made->mapping, error);
    if (status != PM_OK) {
        memset(&made->mapping, 0, sizeof made->mapping);
        pm_key_destroy(made);
        return status;
    }
    return key_from_mapping(context, made, how_to_check(&chosen), control, key, error);
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
    return key_from_mapping(context, made, PM_POINT_CHECK_NONE, control, key, error);
}

/* ---- Parameter files --------------------------------------------------------------------------
 */

/* What a parameter key is made from; gone when it is made. */
struct params_files {
    struct pm_mapping params_mapping, r1cs_mapping;
    struct pm_params params;
    struct pm_r1cs r1cs;
    bool has_r1cs;
};

static pm_status open_params_files(const char *path, const char *r1cs_path,
                                   const pm_key_options *options, struct pm_ledger *ledger,
                                   const pm_control *control, struct params_files *files,
                                   pm_error *error) {
    PM_TRY(pm_mapping_open(path, how_to_map(options), KEY_FILE_BYTES_MAX, ledger, control,
                           &files->params_mapping, error));
    PM_TRY(pm_params_open(&files->params_mapping, PM_PARAMS_WHOLE, &files->params, error));
    if (r1cs_path == NULL) {
        return PM_OK;
    }
    files->has_r1cs = true;
    PM_TRY(pm_mapping_open(r1cs_path, PM_MAPPING_MAP, KEY_FILE_BYTES_MAX, ledger, control,
                           &files->r1cs_mapping, error));
    return pm_r1cs_open(&files->r1cs_mapping, control, &files->r1cs, error);
}

/* For the next time. Without one the key is as good. */
static void write_cache(const pm_context *context, const struct params_files *files,
                        const char *path, const pm_control *control, const pm_key *key) {
    const uint8_t *affine[PM_PARAMS_PARTS];
    pm_error error = PM_ERROR_INIT;
    for (int part = 0; part < PM_PARAMS_PARTS; ++part) {
        affine[part] = key->proving_key.decoded[part];
    }
    if (pm_params_cache_write(&files->params, path, affine, context->team, control, &error) !=
        PM_OK) {
        pm_control_log(control, PM_LOG_WARNING,
                       "the key's points are not kept for the next time: "
                       "%.400s",
                       error.message);
    }
}

static bool is_point_fault(pm_status status) {
    return status == PM_NOT_CANONICAL || status == PM_NOT_ON_CURVE ||
           status == PM_NOT_IN_SUBGROUP || status == PM_POINT_AT_INFINITY;
}

/* What a key of the parameters is made with. */
struct params_loading {
    const struct params_files *files;
    struct pm_kernels kernels;
    const char *cache_path; /* where the parameters lie that are to have a cache; NULL: none */
    enum pm_point_check check;
    const pm_control *control;
};

static pm_status decode_files(const struct params_loading *loading,
                              const struct pm_params_cache *cache, pm_key *key, pm_error *error) {
    const struct params_files *files = loading->files;
    return pm_proving_key_from_params(&files->params, cache, files->has_r1cs ? &files->r1cs : NULL,
                                      loading->check, &loading->kernels, &key->ledger,
                                      loading->control, &key->proving_key, error);
}

/* False: there is no cache, or none whose points are good. */
static pm_status try_cache(const struct params_loading *loading, pm_key *key, bool *is_done,
                           pm_error *error) {
    struct pm_params_cache cache;
    *is_done = false;
    if (loading->cache_path == NULL ||
        !pm_params_cache_open(&loading->files->params, loading->kernels.curve, loading->cache_path,
                              &key->mapping, &cache)) {
        return PM_OK;
    }
    const pm_status status = decode_files(loading, &cache, key, error);
    if (is_point_fault(status)) {
        pm_mapping_close(&key->mapping);
        return PM_OK;
    }
    *is_done = status == PM_OK;
    return status;
}

static pm_status key_from_files(pm_context *context, const struct params_files *files,
                                const char *cache_path, enum pm_point_check check,
                                const pm_control *control, pm_key *key, pm_error *error) {
    struct params_loading loading = {
        .files = files, .cache_path = cache_path, .check = check, .control = control};
    bool is_done = false;
    PM_TRY(
        pm_kernels_get(PM_CURVE_BLS12_381, context->body, context->team, &loading.kernels, error));
    PM_TRY(try_cache(&loading, key, &is_done, error));
    if (!is_done) {
        PM_TRY(pm_mapping_borrow(NULL, 0, files->params_mapping.name, &key->mapping, error));
        PM_TRY(decode_files(&loading, NULL, key, error));
        if (cache_path != NULL) {
            write_cache(context, files, cache_path, control, key);
        }
    }
    warn_of_insecurity(&key->proving_key.header, loading.kernels.curve, control);
    return PM_OK;
}

pm_status pm_key_open_params(pm_context *context, const char *path, const char *r1cs_path,
                             const pm_key_options *options, const pm_control *control, pm_key **key,
                             pm_error *error) {
    PM_FAIL_IF(context == NULL || path == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context, path or key is NULL");
    pm_key_options chosen;
    PM_TRY(read_options(options, &chosen, error));
    pm_key *made = NULL;
    struct params_files files = {.has_r1cs = false};
    PM_TRY(key_alloc(&made, error));
    pm_status status =
        open_params_files(path, r1cs_path, &chosen, &made->ledger, control, &files, error);
    if (status == PM_OK) {
        status = key_from_files(context, &files, chosen.cache != 0 ? path : NULL,
                                how_to_check(&chosen), control, made, error);
    }
    pm_mapping_close(&files.r1cs_mapping);
    pm_mapping_close(&files.params_mapping);
    if (status != PM_OK) {
        pm_key_destroy(made);
        return status;
    }
    made->proving_key.resident_bytes = pm_ledger_live_bytes(&made->ledger);
    *key = made;
    return PM_OK;
}

/* ---- Facts ------------------------------------------------------------------------------------
 */

static uint64_t device_bytes(const struct pm_ledger *ledger) {
    uint64_t bytes = 0;
    for (uint32_t pool = PM_POOL_VRAM_0; pool < PM_POOLS_MAX; ++pool) {
        bytes += pm_ledger_pool_live_bytes(ledger, pool);
    }
    return bytes;
}

pm_status pm_key_get_facts(const pm_key *key, pm_key_facts *facts) {
    if (key == NULL || facts == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_proving_key *proving_key = &key->proving_key;
    const pm_key_facts full = {
        .struct_bytes = facts->struct_bytes,
        .curve = (uint32_t)proving_key->header.curve,
        .log_n = proving_key->log_n,
        .n_vars = (uint32_t)proving_key->n_vars,
        .n_public = proving_key->header.n_public,
        .has_ic = proving_key->header.ic != NULL,
        .n_coefficients = proving_key->n_records,
        .mapped_bytes = key->mapping.n_bytes,
        .memory_bytes = pm_ledger_live_bytes(&key->ledger),
        .device_bytes = device_bytes(&key->ledger),
        .reduction = (uint32_t)proving_key->reduction,
        .has_matrices = proving_key->matrices != PM_KEY_MATRICES_NONE,
        .n_a = proving_key->a.n,
        .n_b = proving_key->b2.n,
        .n_c = proving_key->l.n,
        .n_h = proving_key->h.n,
        .n_nonzeros = {proving_key->n_nonzeros[0], proving_key->n_nonzeros[1],
                       proving_key->n_nonzeros[2]},
    };
    memcpy(facts, &full, facts->struct_bytes < sizeof full ? facts->struct_bytes : sizeof full);
    return PM_OK;
}

pm_status pm_key_check(pm_context *context, const pm_key *key, const pm_control *control,
                       pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context or key is NULL");
    const struct pm_curve *curve = pm_curve_get(key->proving_key.header.curve, context->body);
    PM_FAIL_IF(curve == NULL, error, PM_UNSUPPORTED, "the key's curve has no %s arithmetic",
               pm_body_name(context->body));
    if (key->proving_key.reduction == PM_REDUCTION_BELLMAN) {
        return pm_proving_key_check_decoded(&key->proving_key, curve, context->team, control,
                                            error);
    }
    return pm_zkey_check_points(&key->zkey, curve, PM_POINT_CHECK_SUBGROUP, context->team, control,
                                error);
}
