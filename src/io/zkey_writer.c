/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/zkey_writer.h"

#include "io/zkey.h"
#include "io/zkey_layout.h"

#include <string.h>

/* Everything about an image that its parts need. */
struct writer {
    const struct pm_curve *curve;
    const pm_key_arrays *arrays;
    uint8_t *image;
};

/* n points in the arrays' form become Montgomery affine bytes. */
static pm_status put_points(const struct writer *writer, const struct pm_group *group,
                            const char *name, const void *points, uint64_t n, uint8_t *at,
                            pm_error *error) {
    PM_FAIL_IF(points == NULL && n != 0, error, PM_INVALID_ARGUMENT,
               "%s is NULL but has %llu points", name, (unsigned long long)n);
    const pm_point_form form = (pm_point_form)writer->arrays->form;
    const size_t stride = group->form_bytes(form);
    for (uint64_t i = 0; i < n; ++i) {
        const enum pm_point_fault fault =
            group->decode(at + i * group->affine_bytes, form, (const uint8_t *)points + i * stride,
                          PM_POINT_CHECK_NONE);
        PM_FAIL_IF(fault != PM_POINT_GOOD, error, pm_point_fault_status(fault), "%s[%llu] is %s",
                   name, (unsigned long long)i, pm_point_fault_text(fault));
    }
    return PM_OK;
}

static pm_status put_headers(const struct writer *writer, const struct pm_zkey_layout *layout,
                             pm_error *error) {
    const struct pm_group *g1 = writer->curve->g1, *g2 = writer->curve->g2;
    const pm_key_arrays *arrays = writer->arrays;
    uint8_t alpha_g1[PM_G1_BYTES_MAX], beta_g1[PM_G1_BYTES_MAX], delta_g1[PM_G1_BYTES_MAX];
    uint8_t beta_g2[PM_G2_BYTES_MAX], gamma_g2[PM_G2_BYTES_MAX], delta_g2[PM_G2_BYTES_MAX];
    PM_TRY(put_points(writer, g1, "alpha_g1", arrays->alpha_g1, 1, alpha_g1, error));
    PM_TRY(put_points(writer, g1, "beta_g1", arrays->beta_g1, 1, beta_g1, error));
    PM_TRY(put_points(writer, g2, "beta_g2", arrays->beta_g2, 1, beta_g2, error));
    PM_TRY(put_points(writer, g2, "gamma_g2", arrays->gamma_g2, 1, gamma_g2, error));
    PM_TRY(put_points(writer, g1, "delta_g1", arrays->delta_g1, 1, delta_g1, error));
    PM_TRY(put_points(writer, g2, "delta_g2", arrays->delta_g2, 1, delta_g2, error));
    const struct pm_zkey_header_points points = {.alpha_g1 = alpha_g1,
                                                 .beta_g1 = beta_g1,
                                                 .delta_g1 = delta_g1,
                                                 .beta_g2 = beta_g2,
                                                 .gamma_g2 = gamma_g2,
                                                 .delta_g2 = delta_g2};
    pm_zkey_layout_write_headers(layout, &points, writer->image);
    return PM_OK;
}

/* Values carry R^2 in the file: two conversions to Montgomery form. */
static pm_status put_coefficients(const struct writer *writer, uint8_t *at, pm_error *error) {
    const struct pm_field *fr = writer->curve->fr;
    const pm_key_arrays *arrays = writer->arrays;
    PM_FAIL_IF(arrays->coefficients == NULL && arrays->n_coefficients != 0, error,
               PM_INVALID_ARGUMENT, "coefficients is NULL but has %llu elements",
               (unsigned long long)arrays->n_coefficients);
    for (uint64_t i = 0; i < arrays->n_coefficients; ++i) {
        const pm_coefficient *coefficient = &arrays->coefficients[i];
        const uint32_t indices[3] = {coefficient->matrix, coefficient->constraint,
                                     coefficient->signal};
        uint64_t value[PM_FR_LIMBS_MAX];
        memcpy(value, coefficient->value, PM_FR_BYTES);
        PM_FAIL_IF(!fr->is_canonical(value), error, PM_NOT_CANONICAL,
                   "the value of coefficient %llu is not below the modulus", (unsigned long long)i);
        fr->to_mont(value, value, 1);
        fr->to_mont(value, value, 1);
        memcpy(at, indices, sizeof indices);
        memcpy(at + sizeof indices, value, PM_FR_BYTES);
        at += PM_ZKEY_COEFFICIENT_BYTES;
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
        {PM_ZKEY_SECTION_IC, "ic", curve->g1, arrays->ic, n_public + 1},
        {PM_ZKEY_SECTION_A, "a", curve->g1, arrays->a, n_vars},
        {PM_ZKEY_SECTION_B1, "b1", curve->g1, arrays->b1, n_vars},
        {PM_ZKEY_SECTION_B2, "b2", curve->g2, arrays->b2, n_vars},
        {PM_ZKEY_SECTION_C, "c", curve->g1, arrays->c, n_vars - n_public - 1},
        {PM_ZKEY_SECTION_H, "h", curve->g1, arrays->h, UINT64_C(1) << arrays->log_n},
    };
    memcpy(queries, list, sizeof list);
}

pm_status pm_zkey_image(const struct pm_curve *curve, const pm_key_arrays *arrays,
                        struct pm_ledger *ledger, void **image, uint64_t *image_bytes,
                        pm_error *error) {
    const struct pm_zkey_shape shape = {.curve = curve,
                                        .n_vars = arrays->n_vars,
                                        .n_public = arrays->n_public,
                                        .log_n = arrays->log_n,
                                        .n_coefficients = arrays->n_coefficients};
    struct pm_zkey_layout layout;
    struct query queries[N_QUERIES];
    PM_FAIL_IF(arrays->form != PM_POINT_CANONICAL_LE && arrays->form != PM_POINT_MONTGOMERY_LE,
               error, PM_INVALID_ARGUMENT, "point form %u is not one a key can be given in",
               arrays->form);
    PM_TRY(pm_zkey_layout_make(&shape, &layout, error));
    list_queries(curve, arrays, queries);
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(ledger, "zkey image", layout.n_bytes, PM_MEMORY_PLAIN, &buffer, error));

    const struct writer writer = {.curve = curve, .arrays = arrays, .image = buffer};
    pm_status status;
    PM_TRY_GOTO(status, put_headers(&writer, &layout, error), cleanup);
    PM_TRY_GOTO(status, put_coefficients(&writer, writer.image + layout.records_offset, error),
                cleanup);
    for (size_t i = 0; i < N_QUERIES; ++i) {
        const struct query *query = &queries[i];
        PM_TRY_GOTO(status,
                    put_points(&writer, query->group, query->name, query->points, query->n,
                               writer.image + layout.offset[query->type], error),
                    cleanup);
    }
    *image = buffer;
    *image_bytes = layout.n_bytes;
cleanup:
    if (status != PM_OK) {
        pm_memory_free(buffer);
    }
    return status;
}
