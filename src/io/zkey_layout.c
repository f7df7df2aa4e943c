/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/zkey_layout.h"

#include "base/limits.h"

#include <string.h>

#define CONTAINER_HEADER_BYTES 12
#define SECTION_HEADER_BYTES 12
#define ZKEY_VERSION 1

/* The order in which snarkjs's setup writes them. */
static const uint32_t section_order[] = {PM_ZKEY_SECTION_PROTOCOL,
                                         PM_ZKEY_SECTION_HEADER,
                                         PM_ZKEY_SECTION_COEFFICIENTS,
                                         PM_ZKEY_SECTION_IC,
                                         PM_ZKEY_SECTION_H,
                                         PM_ZKEY_SECTION_C,
                                         PM_ZKEY_SECTION_A,
                                         PM_ZKEY_SECTION_B1,
                                         PM_ZKEY_SECTION_B2,
                                         PM_ZKEY_SECTION_CONTRIBUTIONS};
#define N_ORDERED (sizeof section_order / sizeof section_order[0])

static pm_status check_shape(const struct pm_zkey_shape *shape, pm_error *error) {
    PM_FAIL_IF(shape->n_public >= shape->n_vars, error, PM_INVALID_ARGUMENT,
               "n_public is %u, n_vars %u: public signals and the constant one are variables too",
               shape->n_public, shape->n_vars);
    PM_FAIL_IF(shape->log_n >= PM_LOG_N_MAX, error, PM_INVALID_ARGUMENT,
               "log_n is %u, at most %u is possible", shape->log_n, PM_LOG_N_MAX - 1);
    PM_FAIL_IF(shape->n_coefficients > UINT32_MAX, error, PM_INVALID_ARGUMENT,
               "%llu coefficients, the format holds at most 2^32 - 1",
               (unsigned long long)shape->n_coefficients);
    PM_FAIL_IF(shape->private_type != 0 && shape->private_type < PM_ZKEY_SECTION_COUNT, error,
               PM_INVALID_ARGUMENT, "section type %u belongs to the format", shape->private_type);
    return PM_OK;
}

static void set_lengths(const struct pm_zkey_shape *shape, uint64_t bytes[PM_ZKEY_SECTION_COUNT]) {
    const struct pm_curve *curve = shape->curve;
    const uint64_t g1 = curve->g1->affine_bytes, g2 = curve->g2->affine_bytes;
    const uint64_t n_vars = shape->n_vars, n_public = shape->n_public;
    /* No overflow: every count is below 2^32 and every element below 2^8 bytes. */
    bytes[PM_ZKEY_SECTION_PROTOCOL] = sizeof(uint32_t);
    bytes[PM_ZKEY_SECTION_HEADER] =
        4 + curve->fp->bytes + 4 + curve->fr->bytes + 3 * sizeof(uint32_t) + 3 * g1 + 3 * g2;
    bytes[PM_ZKEY_SECTION_IC] = (n_public + 1) * g1;
    bytes[PM_ZKEY_SECTION_COEFFICIENTS] =
        sizeof(uint32_t) + shape->n_coefficients * PM_ZKEY_COEFFICIENT_BYTES;
    bytes[PM_ZKEY_SECTION_A] = n_vars * g1;
    bytes[PM_ZKEY_SECTION_B1] = n_vars * g1;
    bytes[PM_ZKEY_SECTION_B2] = n_vars * g2;
    bytes[PM_ZKEY_SECTION_C] = (n_vars - n_public - 1) * g1;
    bytes[PM_ZKEY_SECTION_H] = (UINT64_C(1) << shape->log_n) * g1;
    bytes[PM_ZKEY_SECTION_CONTRIBUTIONS] = shape->contributions_bytes;
}

pm_status pm_zkey_layout_make(const struct pm_zkey_shape *shape, struct pm_zkey_layout *layout,
                              pm_error *error) {
    PM_TRY(check_shape(shape, error));
    *layout = (struct pm_zkey_layout){.shape = *shape, .n_bytes = CONTAINER_HEADER_BYTES};
    set_lengths(shape, layout->section_bytes);
    for (size_t i = 0; i < N_ORDERED; ++i) {
        const uint32_t type = section_order[i];
        if (type == PM_ZKEY_SECTION_CONTRIBUTIONS && shape->contributions_bytes == 0) {
            continue;
        }
        layout->offset[type] = layout->n_bytes + SECTION_HEADER_BYTES;
        layout->n_bytes = layout->offset[type] + layout->section_bytes[type];
        ++layout->n_sections;
    }
    if (shape->private_type != 0) {
        layout->private_offset = layout->n_bytes + SECTION_HEADER_BYTES;
        layout->n_bytes = layout->private_offset + shape->private_bytes;
        ++layout->n_sections;
    }
    layout->records_offset = layout->offset[PM_ZKEY_SECTION_COEFFICIENTS] + sizeof(uint32_t);
    return PM_OK;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t n_bytes) {
    memcpy(at, bytes, n_bytes);
    return at + n_bytes;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value) {
    return put_bytes(at, &value, sizeof value);
}

static void put_section_header(uint8_t *data, uint32_t type, uint64_t n_bytes) {
    uint8_t *at = put_u32(data - SECTION_HEADER_BYTES, type);
    put_bytes(at, &n_bytes, sizeof n_bytes);
}

static void put_groth16_header(const struct pm_zkey_shape *shape,
                               const struct pm_zkey_header_points *points, uint8_t *at) {
    const struct pm_curve *curve = shape->curve;
    at = put_u32(at, curve->fp->bytes);
    at = put_bytes(at, curve->fp->modulus, curve->fp->bytes);
    at = put_u32(at, curve->fr->bytes);
    at = put_bytes(at, curve->fr->modulus, curve->fr->bytes);
    at = put_u32(at, shape->n_vars);
    at = put_u32(at, shape->n_public);
    at = put_u32(at, UINT32_C(1) << shape->log_n);
    at = put_bytes(at, points->alpha_g1, curve->g1->affine_bytes);
    at = put_bytes(at, points->beta_g1, curve->g1->affine_bytes);
    at = put_bytes(at, points->beta_g2, curve->g2->affine_bytes);
    at = put_bytes(at, points->gamma_g2, curve->g2->affine_bytes);
    at = put_bytes(at, points->delta_g1, curve->g1->affine_bytes);
    put_bytes(at, points->delta_g2, curve->g2->affine_bytes);
}

void pm_zkey_layout_write_headers(const struct pm_zkey_layout *layout,
                                  const struct pm_zkey_header_points *points, uint8_t *image) {
    const struct pm_zkey_shape *shape = &layout->shape;
    uint8_t *at = put_bytes(image, "zkey", 4);
    at = put_u32(at, ZKEY_VERSION);
    put_u32(at, layout->n_sections);
    for (uint32_t type = 1; type < PM_ZKEY_SECTION_COUNT; ++type) {
        if (layout->offset[type] != 0) {
            put_section_header(image + layout->offset[type], type, layout->section_bytes[type]);
        }
    }
    if (shape->private_type != 0) {
        put_section_header(image + layout->private_offset, shape->private_type,
                           shape->private_bytes);
    }
    put_u32(image + layout->offset[PM_ZKEY_SECTION_PROTOCOL], PM_ZKEY_PROTOCOL_GROTH16);
    put_groth16_header(shape, points, image + layout->offset[PM_ZKEY_SECTION_HEADER]);
    put_u32(image + layout->offset[PM_ZKEY_SECTION_COEFFICIENTS], (uint32_t)shape->n_coefficients);
}
