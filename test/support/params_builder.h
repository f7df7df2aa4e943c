/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/params_builder.h - an image of bellman's parameter file of a toy shape.
 *
 * Written byte by byte from the format's description, not with the code under test. Every point is
 * another multiple of its generator, so that no two can be exchanged unseen; they prove nothing.
 */
#ifndef PM_TEST_SUPPORT_PARAMS_BUILDER_H
#define PM_TEST_SUPPORT_PARAMS_BUILDER_H

#include "support/file_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOY_PARAMS_LOG_N = 3,
    TOY_PARAMS_N_IC = 3,
    TOY_PARAMS_N_H = 7,
    TOY_PARAMS_N_L = 4,
    TOY_PARAMS_N_A = 5,
    TOY_PARAMS_N_B = 4,
    TOY_PARAMS_PARTS = 12,
    TOY_PARAMS_FIXED = 6, /* the first parts are one point each, without a count */
    TOY_PARAMS_VK_BYTES = 868 + 96 * TOY_PARAMS_N_IC,
    TOY_PARAMS_BYTES = 864 + 6 * 4 +
                       96 * (TOY_PARAMS_N_IC + TOY_PARAMS_N_H + TOY_PARAMS_N_L + TOY_PARAMS_N_A) +
                       (96 + 192) * TOY_PARAMS_N_B,
    TOY_TRANSCRIPT_LEAD = 68,
    TOY_CONTRIBUTION_BYTES = 544
};

struct toy_params_part {
    const char *name;
    bool is_g2;
    uint32_t n;
    size_t offset;       /* of the first point; a count in the 4 bytes before, if it is counted */
    uint64_t multiplier; /* point i is multiplier + i times the generator */
};

/* In the file's order. */
extern const struct toy_params_part toy_params_parts[TOY_PARAMS_PARTS];

/* With a transcript of so many contributions; none when it is negative. */
struct file_image file_params(int n_contributions);
/* The point as affine Montgomery bytes. */
void toy_params_point(const struct toy_params_part *part, uint32_t i, void *affine);

#endif
