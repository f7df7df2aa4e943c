/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Recognises and opens parameter and verifying key files: everything but the points. */
#include "io/params.h"

#include "io/cursor.h"

#include <stdio.h>
#include <string.h>

/* The first byte of the base field's prime: a coordinate begins with no larger one. */
#define FIRST_BYTE_MAX 0x1au
#define COUNT_BYTES 4u

/* ---- Recognising ------------------------------------------------------------------------------
 */

static bool name_ends_with(const struct pm_mapping *mapping, const char *suffix) {
    const size_t n = strlen(mapping->name), n_suffix = strlen(suffix);
    return n >= n_suffix && strcmp(mapping->name + n - n_suffix, suffix) == 0;
}

/* Whether any header point that is there is a finite one of its curve. */
static bool has_good_point(const struct pm_mapping *mapping) {
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    uint64_t offset = 0;
    for (int i = 0; i < PM_PARAMS_N_FIXED; ++i) {
        const enum pm_params_part part = (enum pm_params_part)i;
        const struct pm_group *group = pm_params_part_is_g2(part) ? curve->g2 : curve->g1;
        const uint64_t end = offset + pm_params_point_bytes(part);
        uint8_t affine[PM_G2_BYTES_MAX];
        if (end <= mapping->n_bytes &&
            group->decode(affine, PM_POINT_ZCASH_FULL, mapping->bytes + offset,
                          PM_POINT_CHECK_CURVE) == PM_POINT_GOOD &&
            !group->affine_is_infinity(affine)) {
            return true;
        }
        offset = end;
    }
    return false;
}

static uint32_t read_u32_be(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return __builtin_bswap32(value);
}

/* Whether the file goes on behind the last point of ic. */
static bool goes_on_behind_vk(const struct pm_mapping *mapping) {
    uint64_t offset = 0;
    for (int part = 0; part < PM_PARAMS_N_FIXED; ++part) {
        offset += pm_params_point_bytes((enum pm_params_part)part);
    }
    if (mapping->n_bytes < offset + COUNT_BYTES) {
        return false;
    }
    const uint64_t n_ic = read_u32_be(mapping->bytes + offset);
    return mapping->n_bytes > offset + COUNT_BYTES + n_ic * pm_params_point_bytes(PM_PARAMS_IC);
}

pm_file_kind pm_params_recognise(const struct pm_mapping *mapping) {
    const bool is_params = name_ends_with(mapping, ".params");
    const bool is_vk = name_ends_with(mapping, ".vk");
    if (mapping->n_bytes < pm_params_point_bytes(PM_PARAMS_ALPHA_G1)) {
        if (mapping->n_bytes == 0 || mapping->bytes[0] > FIRST_BYTE_MAX || !(is_params || is_vk)) {
            return PM_FILE_UNKNOWN;
        }
    } else if (!has_good_point(mapping)) {
        return PM_FILE_UNKNOWN;
    }
    return is_params || (!is_vk && goes_on_behind_vk(mapping)) ? PM_FILE_PARAMS
                                                               : PM_FILE_BELLMAN_VK;
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* A file that ends early lacks what would have followed: says so behind the error's sentence. */
static pm_status append_missing(const struct pm_params *params, enum pm_params_part part,
                                pm_status status, pm_error *error) {
    if (error == NULL || status != PM_TRUNCATED) {
        return status;
    }
    size_t n = strlen(error->message);
    for (int i = part + 1; i < (int)params->n_parts && n < sizeof error->message; ++i) {
        n += (size_t)snprintf(error->message + n, sizeof error->message - n, "%s%s",
                              i == (int)part + 1 ? "; missing behind it: " : ", ",
                              pm_params_part_name((enum pm_params_part)i));
    }
    return status;
}

static pm_status read_count(struct pm_cursor *cursor, const char *name, uint32_t *n,
                            pm_error *error) {
    char field[48];
    (void)snprintf(field, sizeof field, "the number of %s points", name);
    PM_TRY(pm_cursor_u32(cursor, field, n, error));
    *n = __builtin_bswap32(*n);
    return PM_OK;
}

static pm_status read_part(struct pm_cursor *cursor, struct pm_params *params,
                           enum pm_params_part part, pm_error *error) {
    const bool is_counted = part >= PM_PARAMS_N_FIXED;
    const char *name = pm_params_part_name(part);
    const uint8_t *points = NULL;
    char field[64];
    uint32_t n = 1;
    if (is_counted) {
        PM_TRY(read_count(cursor, name, &n, error));
        (void)snprintf(field, sizeof field, "the %u points of %s", n, name);
    }
    const pm_status status = pm_params_layout_add(&params->layout, part, n, error);
    if (status != PM_OK) {
        pm_error_at(error, params->mapping->name, cursor->position - sizeof n);
        return status;
    }
    return pm_cursor_span(cursor, is_counted ? field : name, n, pm_params_point_bytes(part),
                          &points, error);
}

/* What a ceremony leaves behind the parameters: the circuit's hash, a count, the contributions. */
static pm_status read_transcript(struct pm_cursor *cursor, struct pm_params *params,
                                 pm_error *error) {
    const uint64_t lead_bytes = PM_PARAMS_CIRCUIT_HASH_BYTES + COUNT_BYTES;
    const uint64_t have = pm_cursor_left(cursor);
    if (have == 0) {
        return PM_OK;
    }
    uint64_t need = lead_bytes;
    if (have >= lead_bytes) {
        const uint8_t *hash = params->mapping->bytes + cursor->position;
        params->circuit_hash = hash;
        params->n_contributions = read_u32_be(hash + PM_PARAMS_CIRCUIT_HASH_BYTES);
        params->contributions = hash + lead_bytes;
        need += (uint64_t)params->n_contributions * PM_PARAMS_CONTRIBUTION_BYTES;
    }
    if (need != have) {
        pm_cursor_fail(cursor, 0, error, PM_LENGTH,
                       "%llu bytes follow the parameters, a transcript of %u contributions has "
                       "%llu and nothing else may follow",
                       (unsigned long long)have, params->n_contributions, (unsigned long long)need);
        pm_error_need_have(error, need, have);
        return PM_LENGTH;
    }
    return PM_OK;
}

static pm_status parse(enum pm_params_extent extent, struct pm_params *params, pm_error *error) {
    const bool is_whole = extent == PM_PARAMS_WHOLE;
    struct pm_cursor cursor;
    PM_TRY(pm_cursor_open(params->mapping,
                          is_whole ? "bellman's parameters" : "bellman's verifying key", 0,
                          params->mapping->n_bytes, &cursor, error));
    for (int i = 0; i < (int)params->n_parts; ++i) {
        const enum pm_params_part part = (enum pm_params_part)i;
        PM_TRY(append_missing(params, part, read_part(&cursor, params, part, error), error));
    }
    switch (extent) {
    case PM_PARAMS_VK_FILE:
        return pm_cursor_finish(&cursor, error);
    case PM_PARAMS_VK_FIRST:
        break;
    case PM_PARAMS_WHOLE:
        return read_transcript(&cursor, params, error);
    }
    return PM_OK;
}

pm_status pm_params_open(const struct pm_mapping *mapping, enum pm_params_extent extent,
                         struct pm_params *params, pm_error *error) {
    *params = (struct pm_params){.mapping = mapping,
                                 .n_parts = extent == PM_PARAMS_WHOLE ? PM_PARAMS_PARTS
                                                                      : PM_PARAMS_VK_PARTS};
    const pm_status status = parse(extent, params, error);
    /* Zeros that the guard put in place of a lost tail explain any other finding. */
    PM_TRY(pm_mapping_check(mapping, error));
    return status;
}
