/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/zkey_writer.h"

#include "base/checked.h"
#include "io/zkey.h"

#include <string.h>

#define CONTAINER_HEADER_BYTES 12
#define SECTION_HEADER_BYTES 12
#define N_SECTIONS 9
#define PROTOCOL_GROTH16 1

struct writer {
    const struct pm_curve *curve;
    const pm_key_arrays *arrays;
    uint8_t *at; /* next byte of the image */
};

static void put_bytes(struct writer *writer, const void *bytes, uint64_t n_bytes) {
    memcpy(writer->at, bytes, n_bytes);
    writer->at += n_bytes;
}

static void put_u32(struct writer *writer, uint32_t value) {
    put_bytes(writer, &value, sizeof value);
}

static void put_section(struct writer *writer, uint32_t type, uint64_t n_bytes) {
    put_u32(writer, type);
    put_bytes(writer, &n_bytes, sizeof n_bytes);
}

/* n points in the arrays' form become Montgomery affine bytes. */
static pm_status put_points(struct writer *writer, const struct pm_group *group, const char *name,
                            const void *points, uint64_t n, pm_error *error) {
    PM_FAIL_IF(points == NULL && n != 0, error, PM_INVALID_ARGUMENT,
               "%s is NULL but has %llu points", name, (unsigned long long)n);
    const pm_point_form form = (pm_point_form)writer->arrays->form;
    const size_t stride = group->form_bytes(form);
    for (uint64_t i = 0; i < n; ++i) {
        const enum pm_point_fault fault = group->decode(
            writer->at, form, (const uint8_t *)points + i * stride, PM_POINT_CHECK_NONE);
        PM_FAIL_IF(fault != PM_POINT_GOOD, error, pm_point_fault_status(fault), "%s[%llu] is %s",
                   name, (unsigned long long)i, pm_point_fault_text(fault));
        writer->at += group->affine_bytes;
    }
    return PM_OK;
}

static uint64_t header_section_bytes(const struct pm_curve *curve) {
    return 4 + curve->fp->bytes + 4 + curve->fr->bytes + 3 * 4 +
           3 * (uint64_t)curve->g1->affine_bytes + 3 * (uint64_t)curve->g2->affine_bytes;
}

static pm_status put_header_section(struct writer *writer, pm_error *error) {
    const struct pm_curve *curve = writer->curve;
    const pm_key_arrays *arrays = writer->arrays;
    put_section(writer, 2, header_section_bytes(curve));
    put_u32(writer, curve->fp->bytes);
    put_bytes(writer, curve->fp->modulus, curve->fp->bytes);
    put_u32(writer, curve->fr->bytes);
    put_bytes(writer, curve->fr->modulus, curve->fr->bytes);
    put_u32(writer, arrays->n_vars);
    put_u32(writer, arrays->n_public);
    put_u32(writer, UINT32_C(1) << arrays->log_n);
    PM_TRY(put_points(writer, curve->g1, "alpha_g1", arrays->alpha_g1, 1, error));
    PM_TRY(put_points(writer, curve->g1, "beta_g1", arrays->beta_g1, 1, error));
    PM_TRY(put_points(writer, curve->g2, "beta_g2", arrays->beta_g2, 1, error));
    PM_TRY(put_points(writer, curve->g2, "gamma_g2", arrays->gamma_g2, 1, error));
    PM_TRY(put_points(writer, curve->g1, "delta_g1", arrays->delta_g1, 1, error));
    return put_points(writer, curve->g2, "delta_g2", arrays->delta_g2, 1, error);
}

/* Values carry R^2 in the file: two conversions to Montgomery form. */
static pm_status put_coefficients(struct writer *writer, pm_error *error) {
    const struct pm_field *fr = writer->curve->fr;
    const pm_key_arrays *arrays = writer->arrays;
    PM_FAIL_IF(arrays->coefficients == NULL && arrays->n_coefficients != 0, error,
               PM_INVALID_ARGUMENT, "coefficients is NULL but has %llu elements",
               (unsigned long long)arrays->n_coefficients);
    put_section(writer, 4, 4 + arrays->n_coefficients * PM_ZKEY_COEFFICIENT_BYTES);
    put_u32(writer, (uint32_t)arrays->n_coefficients);
    for (uint64_t i = 0; i < arrays->n_coefficients; ++i) {
        const pm_coefficient *coefficient = &arrays->coefficients[i];
        uint64_t value[PM_FR_LIMBS_MAX];
        memcpy(value, coefficient->value, PM_FR_BYTES);
        PM_FAIL_IF(!fr->is_canonical(value), error, PM_NOT_CANONICAL,
                   "the value of coefficient %llu is not below the modulus", (unsigned long long)i);
        fr->to_mont(value, value, 1);
        fr->to_mont(value, value, 1);
        put_u32(writer, coefficient->matrix);
        put_u32(writer, coefficient->constraint);
        put_u32(writer, coefficient->signal);
        put_bytes(writer, value, PM_FR_BYTES);
    }
    return PM_OK;
}

struct query {
    uint32_t type;
    const char *name;
    const struct pm_group *group;
    const void *points;
    uint64_t n;
};

#define N_QUERIES 6
static void list_queries(const struct pm_curve *curve, const pm_key_arrays *arrays,
                         struct query queries[N_QUERIES]) {
    const uint64_t n_vars = arrays->n_vars, n_public = arrays->n_public;
    const struct query list[N_QUERIES] = {
        {3, "ic", curve->g1, arrays->ic, n_public + 1},
        {5, "a", curve->g1, arrays->a, n_vars},
        {6, "b1", curve->g1, arrays->b1, n_vars},
        {7, "b2", curve->g2, arrays->b2, n_vars},
        {8, "c", curve->g1, arrays->c, n_vars - n_public - 1},
        {9, "h", curve->g1, arrays->h, UINT64_C(1) << arrays->log_n},
    };
    memcpy(queries, list, sizeof list);
}

static pm_status check_shape(const pm_key_arrays *arrays, pm_error *error) {
    PM_FAIL_IF(arrays->n_public >= arrays->n_vars, error, PM_INVALID_ARGUMENT,
               "n_public is %u, n_vars %u: public signals and the constant one are variables too",
               arrays->n_public, arrays->n_vars);
    PM_FAIL_IF(arrays->log_n >= PM_LOG_N_MAX, error, PM_INVALID_ARGUMENT,
               "log_n is %u, at most %u is possible", arrays->log_n, PM_LOG_N_MAX - 1);
    PM_FAIL_IF(arrays->n_coefficients > UINT32_MAX, error, PM_INVALID_ARGUMENT,
               "%llu coefficients, the format holds at most 2^32 - 1",
               (unsigned long long)arrays->n_coefficients);
    PM_FAIL_IF(arrays->form != PM_POINT_CANONICAL_LE && arrays->form != PM_POINT_MONTGOMERY_LE,
               error, PM_INVALID_ARGUMENT, "point form %u is not one a key can be given in",
               arrays->form);
    return PM_OK;
}

pm_status pm_zkey_image(const struct pm_curve *curve, const pm_key_arrays *arrays,
                        struct pm_ledger *ledger, void **image, uint64_t *image_bytes,
                        pm_error *error) {
    PM_TRY(check_shape(arrays, error));
    struct query queries[N_QUERIES];
    list_queries(curve, arrays, queries);
    /* No overflow: every count is below 2^32 and every element below 2^8 bytes. */
    uint64_t bytes = CONTAINER_HEADER_BYTES + N_SECTIONS * SECTION_HEADER_BYTES + 4 +
                     header_section_bytes(curve) + 4 +
                     arrays->n_coefficients * PM_ZKEY_COEFFICIENT_BYTES;
    for (size_t i = 0; i < N_QUERIES; ++i) {
        bytes += queries[i].n * queries[i].group->affine_bytes;
    }
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(ledger, "zkey image", bytes, PM_MEMORY_PLAIN, &buffer, error));

    struct writer writer = {.curve = curve, .arrays = arrays, .at = buffer};
    pm_status status;
    put_bytes(&writer, "zkey", 4);
    put_u32(&writer, 1);
    put_u32(&writer, N_SECTIONS);
    put_section(&writer, 1, 4);
    put_u32(&writer, PROTOCOL_GROTH16);
    PM_TRY_GOTO(status, put_header_section(&writer, error), cleanup);
    PM_TRY_GOTO(status, put_coefficients(&writer, error), cleanup);
    for (size_t i = 0; i < N_QUERIES; ++i) {
        const struct query *query = &queries[i];
        put_section(&writer, query->type, query->n * query->group->affine_bytes);
        PM_TRY_GOTO(status,
                    put_points(&writer, query->group, query->name, query->points, query->n, error),
                    cleanup);
    }
    *image = buffer;
    *image_bytes = bytes;
cleanup:
    if (status != PM_OK) {
        pm_memory_free(buffer);
    }
    return status;
}
