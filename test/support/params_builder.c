/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/params_builder.h"

#include "curve/curve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    H_AT = TOY_PARAMS_VK_BYTES + 4,
    L_AT = H_AT + 96 * TOY_PARAMS_N_H + 4,
    A_AT = L_AT + 96 * TOY_PARAMS_N_L + 4,
    B_G1_AT = A_AT + 96 * TOY_PARAMS_N_A + 4,
    B_G2_AT = B_G1_AT + 96 * TOY_PARAMS_N_B + 4
};

const struct toy_params_part toy_params_parts[TOY_PARAMS_PARTS] = {
    {"alpha in g1", false, 1, 0, 3},
    {"beta in g1", false, 1, 96, 5},
    {"beta in g2", true, 1, 192, 5},
    {"gamma in g2", true, 1, 384, 7},
    {"delta in g1", false, 1, 576, 11},
    {"delta in g2", true, 1, 672, 11},
    {"ic", false, TOY_PARAMS_N_IC, 868, 100},
    {"h", false, TOY_PARAMS_N_H, H_AT, 200},
    {"l", false, TOY_PARAMS_N_L, L_AT, 300},
    {"a", false, TOY_PARAMS_N_A, A_AT, 400},
    {"b_g1", false, TOY_PARAMS_N_B, B_G1_AT, 500},
    {"b_g2", true, TOY_PARAMS_N_B, B_G2_AT, 500}};

static const struct pm_group *group_of(bool is_g2) {
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    return is_g2 ? curve->g2 : curve->g1;
}

static void multiple(bool is_g2, uint64_t k, void *affine) {
    const struct pm_group *group = group_of(is_g2);
    struct pm_group_point point;
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, &k, 1);
    group->to_affine(affine, &point);
}

static void put_multiple(bool is_g2, uint64_t k, uint8_t *bytes) {
    uint8_t affine[PM_G2_BYTES_MAX];
    multiple(is_g2, k, affine);
    group_of(is_g2)->encode(bytes, PM_POINT_ZCASH_FULL, affine);
}

void toy_params_point(const struct toy_params_part *part, uint32_t i, void *affine) {
    multiple(part->is_g2, part->multiplier + i, affine);
}

static void put_u32_be(uint8_t *bytes, uint32_t value) {
    for (int i = 0; i < 4; ++i) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static void put_transcript(uint8_t *bytes, uint32_t n_contributions) {
    memset(bytes, 0xc5, 64);
    put_u32_be(bytes + 64, n_contributions);
    for (uint32_t i = 0; i < n_contributions; ++i) {
        uint8_t *at = bytes + TOY_TRANSCRIPT_LEAD + (size_t)i * TOY_CONTRIBUTION_BYTES;
        const uint64_t delta = i + 1 == n_contributions ? 11 : 900 + i;
        put_multiple(false, delta, at);
        put_multiple(false, 1000 + i, at + 96);
        put_multiple(false, 1100 + i, at + 192);
        put_multiple(true, 1200 + i, at + 288);
        memset(at + 480, 0xc6, 64);
    }
}

struct file_image file_params(int n_contributions) {
    const size_t transcript_bytes =
        n_contributions < 0
            ? 0
            : TOY_TRANSCRIPT_LEAD + (size_t)n_contributions * TOY_CONTRIBUTION_BYTES;
    struct file_image file = {malloc(TOY_PARAMS_BYTES + transcript_bytes),
                              TOY_PARAMS_BYTES + transcript_bytes};
    assert_non_null(file.bytes);
    for (size_t p = 0; p < TOY_PARAMS_PARTS; ++p) {
        const struct toy_params_part *part = &toy_params_parts[p];
        const size_t stride = part->is_g2 ? 192 : 96;
        if (p >= TOY_PARAMS_FIXED) {
            put_u32_be(file.bytes + part->offset - 4, part->n);
        }
        for (uint32_t i = 0; i < part->n; ++i) {
            put_multiple(part->is_g2, part->multiplier + i, file.bytes + part->offset + i * stride);
        }
    }
    if (n_contributions >= 0) {
        put_transcript(file.bytes + TOY_PARAMS_BYTES, (uint32_t)n_contributions);
    }
    return file;
}
