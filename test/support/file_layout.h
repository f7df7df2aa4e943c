/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/file_layout.h - what each byte of a good .zkey, .wtns or .r1cs image stands for.
 *
 * Written from the formats' description, not with the readers under test. It trusts the image: the
 * running test fails when that is not what it says.
 */
#ifndef PM_TEST_SUPPORT_FILE_LAYOUT_H
#define PM_TEST_SUPPORT_FILE_LAYOUT_H

#include "curve/curve.h"
#include "support/file_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum layout_kind {
    LAYOUT_BYTES,   /* nothing below */
    LAYOUT_COUNT,   /* how many, or how long: little-endian, 4 or 8 bytes */
    LAYOUT_INDEX,   /* must be below bound */
    LAYOUT_PRIME,   /* a modulus */
    LAYOUT_ELEMENT, /* of field */
    LAYOUT_POINT    /* of group; its coordinates are elements too */
};

struct layout_field {
    enum layout_kind kind;
    const char *region; /* static: "a points"; coordinates have their point's */
    uint32_t section;   /* its type; 0: before the first section */
    size_t offset, n_bytes;
    uint64_t bound;
    const struct pm_field *field;
    const struct pm_group *group; /* of a coordinate: its point's */
    size_t point_offset;          /* of a coordinate's or a point's point */
    bool may_be_infinite;
};

struct layout_section {
    uint32_t type;
    size_t header;          /* offset of its type and length, 12 bytes */
    size_t offset, n_bytes; /* of its data */
    size_t element_bytes;   /* what it is made of */
};

#define LAYOUT_SECTIONS_MAX 16

struct layout {
    const struct file_image *file;
    const struct pm_curve *curve;
    struct layout_section sections[LAYOUT_SECTIONS_MAX];
    size_t n_sections;
    struct layout_field *fields; /* in the file's order, a point before its coordinates */
    size_t n_fields;
};

/* *file is borrowed; free with layout_free(). */
void layout_zkey(const struct file_image *file, pm_curve_id curve, struct layout *layout);
void layout_wtns(const struct file_image *file, pm_curve_id curve, struct layout *layout);
void layout_r1cs(const struct file_image *file, pm_curve_id curve, struct layout *layout);
void layout_free(struct layout *layout);

/* Never NULL. */
const struct layout_field *layout_at(const struct layout *layout, size_t offset);

#endif
