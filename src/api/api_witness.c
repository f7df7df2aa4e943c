/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "io/wtns.h"
#include "par/bulk.h"

#include <string.h>

/* A witness file larger than 2^32 values of 32 bytes and a header cannot belong to any key. */
#define WITNESS_FILE_BYTES_MAX ((UINT64_C(1) << 37) + 4096)

/* Values that are copied between two releases of the pages they came from. */
#define VALUES_PER_PIECE (UINT64_C(1) << 16)

struct value_copy {
    uint8_t *copy;
    const uint8_t *values;
    uint64_t n_values;
    const struct pm_mapping *mapping;
};

/* A file of which all pages stay until the end counts twice beside its copy. */
static void copy_pieces(void *argument, size_t begin, size_t end) {
    const struct value_copy *all = argument;
    for (uint64_t piece = begin; piece < end; ++piece) {
        const uint64_t first = piece * VALUES_PER_PIECE, left = all->n_values - first;
        const uint64_t n_bytes = (left < VALUES_PER_PIECE ? left : VALUES_PER_PIECE) * PM_FR_BYTES;
        const uint8_t *from = all->values + first * PM_FR_BYTES;
        memcpy(all->copy + first * PM_FR_BYTES, from, n_bytes);
        pm_mapping_release_range(all->mapping, from, n_bytes);
    }
}

/* Copies checked values, of a mapping or (NULL) of memory, into a new witness. */
static pm_status witness_from_checked(pm_context *context, pm_curve_id curve, const uint8_t *values,
                                      uint64_t n_values, const struct pm_mapping *mapping,
                                      pm_witness **witness, pm_error *error) {
    void *buffer = NULL, *copy = NULL;
    PM_TRY(pm_memory_alloc_array(NULL, "witness", n_values, PM_FR_BYTES, PM_MEMORY_SECRET, &copy,
                                 error));
    const pm_status status = pm_memory_alloc(NULL, "witness handle", sizeof(pm_witness),
                                             PM_MEMORY_PLAIN, &buffer, error);
    if (status != PM_OK) {
        pm_memory_free(copy);
        return status;
    }
    struct value_copy all = {copy, values, n_values, mapping};
    pm_team_for(context->team, (n_values - 1) / VALUES_PER_PIECE + 1, 1, copy_pieces, &all);
    pm_witness *made = buffer;
    *made = (pm_witness){.n_references = 1, .curve = curve, .n_values = n_values, .values = copy};
    *witness = made;
    return PM_OK;
}

/* Closes the mapping in any case. */
static pm_status witness_from_mapping(pm_context *context, struct pm_mapping *mapping,
                                      const pm_control *control, pm_witness **witness,
                                      pm_error *error) {
    struct pm_wtns wtns;
    pm_witness *made = NULL;
    pm_status status = pm_wtns_open(mapping, context->team, control, &wtns, error);
    if (status == PM_OK) {
        status = witness_from_checked(context, wtns.curve, wtns.values, wtns.n_values, mapping,
                                      &made, error);
    }
    if (status == PM_OK) {
        /* A mapped file may have changed between the check and the copy: look at the copy itself.
         */
        status =
            pm_wtns_check_values(made->curve, made->values, made->n_values, mapping->name,
                                 (uint64_t)(wtns.values - mapping->bytes), context->team, error);
    }
    if (status == PM_OK) {
        status = pm_mapping_check(mapping, error);
    }
    pm_mapping_close(mapping);
    if (status != PM_OK) {
        pm_witness_destroy(made);
        return status;
    }
    *witness = made;
    return PM_OK;
}

pm_status pm_witness_open(pm_context *context, const char *path, const pm_control *control,
                          pm_witness **witness, pm_error *error) {
    PM_FAIL_IF(context == NULL || path == NULL || witness == NULL, error, PM_INVALID_ARGUMENT,
               "context, path or witness is NULL");
    struct pm_mapping mapping;
    PM_TRY(pm_mapping_open(path, PM_MAPPING_MAP, WITNESS_FILE_BYTES_MAX, NULL, control, &mapping,
                           error));
    return witness_from_mapping(context, &mapping, control, witness, error);
}

pm_status pm_witness_open_memory(pm_context *context, const void *bytes, size_t n_bytes,
                                 const char *name, const pm_control *control, pm_witness **witness,
                                 pm_error *error) {
    PM_FAIL_IF(context == NULL || (bytes == NULL && n_bytes != 0) || witness == NULL, error,
               PM_INVALID_ARGUMENT, "context, bytes or witness is NULL");
    struct pm_mapping mapping;
    PM_TRY(pm_mapping_borrow(bytes, n_bytes, name != NULL ? name : "witness in memory", &mapping,
                             error));
    return witness_from_mapping(context, &mapping, control, witness, error);
}

pm_status pm_witness_from_values(pm_context *context, pm_curve_id curve, const void *values,
                                 size_t n_values, const pm_control *control, pm_witness **witness,
                                 pm_error *error) {
    PM_FAIL_IF(context == NULL || values == NULL || witness == NULL, error, PM_INVALID_ARGUMENT,
               "context, values or witness is NULL");
    PM_FAIL_IF(pm_curve_get(curve, context->body) == NULL, error, PM_CURVE,
               "curve %d is not supported", (int)curve);
    PM_FAIL_IF(n_values == 0, error, PM_WITNESS_MISMATCH,
               "a witness has at least one value, the constant one");
    PM_TRY(pm_control_check(control, error));
    PM_TRY(pm_wtns_check_values(curve, values, n_values, "witness in memory", 0, context->team,
                                error));
    return witness_from_checked(context, curve, values, n_values, NULL, witness, error);
}

pm_witness *pm_witness_retain(const pm_witness *witness) {
    /* A handle never lies in read-only memory: callers promise not to change what it stands for. */
    pm_witness *shared = (pm_witness *)(uintptr_t)witness;
    (void)__atomic_add_fetch(&shared->n_references, 1, __ATOMIC_RELAXED);
    return shared;
}

void pm_witness_destroy_by(pm_context *context, pm_witness *witness) {
    if (witness == NULL || __atomic_sub_fetch(&witness->n_references, 1, __ATOMIC_ACQ_REL) != 0) {
        return;
    }
    if (context != NULL) {
        pm_team_wipe(context->team, witness->values);
    }
    pm_memory_free(witness->values);
    pm_memory_free(witness);
}

void pm_witness_destroy(pm_witness *witness) {
    pm_witness_destroy_by(NULL, witness);
}

size_t pm_witness_count(const pm_witness *witness) {
    return witness == NULL ? 0 : witness->n_values;
}

pm_curve_id pm_witness_curve(const pm_witness *witness) {
    return witness == NULL ? PM_CURVE_NONE : witness->curve;
}

pm_status pm_witness_values(const pm_witness *witness, size_t first, size_t n, void *out) {
    if (witness == NULL || (out == NULL && n != 0) || first > witness->n_values ||
        n > witness->n_values - first) {
        return PM_INVALID_ARGUMENT;
    }
    if (n != 0) {
        memcpy(out, witness->values + first * PM_FR_BYTES, n * PM_FR_BYTES);
    }
    return PM_OK;
}
