/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/file_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Where the walk stands. */
struct walk {
    struct layout *layout;
    uint32_t section;
    size_t at, end;
};

static uint64_t peek(const struct walk *walk, size_t n_bytes) {
    uint64_t value = 0;
    assert_true(walk->at + n_bytes <= walk->end);
    memcpy(&value, walk->layout->file->bytes + walk->at, n_bytes);
    return value;
}

static struct layout_field *put_field(struct walk *walk, enum layout_kind kind, const char *region,
                                      size_t n_bytes) {
    struct layout *layout = walk->layout;
    assert_true(walk->at + n_bytes <= walk->end);
    if ((layout->n_fields & (layout->n_fields - 1)) == 0) {
        const size_t n = layout->n_fields == 0 ? 1 : 2 * layout->n_fields;
        layout->fields = realloc(layout->fields, n * sizeof *layout->fields);
        assert_non_null(layout->fields);
    }
    struct layout_field *field = &layout->fields[layout->n_fields++];
    *field = (struct layout_field){.kind = kind,
                                   .region = region,
                                   .section = walk->section,
                                   .offset = walk->at,
                                   .n_bytes = n_bytes,
                                   .point_offset = walk->at};
    walk->at += n_bytes;
    return field;
}

static uint64_t put_count(struct walk *walk, const char *region, size_t n_bytes) {
    const uint64_t value = peek(walk, n_bytes);
    (void)put_field(walk, LAYOUT_COUNT, region, n_bytes);
    return value;
}

static void put_index(struct walk *walk, const char *region, uint64_t bound) {
    put_field(walk, LAYOUT_INDEX, region, 4)->bound = bound;
}

static void put_element(struct walk *walk, const char *region, const struct pm_field *of) {
    put_field(walk, LAYOUT_ELEMENT, region, of->bytes)->field = of;
}

static void put_points(struct walk *walk, const char *region, const struct pm_group *group,
                       uint64_t n, bool may_be_infinite) {
    const struct pm_field *fp = walk->layout->curve->fp;
    for (uint64_t i = 0; i < n; ++i) {
        struct layout_field *point = put_field(walk, LAYOUT_POINT, region, group->affine_bytes);
        const size_t point_offset = point->offset;
        point->group = group;
        point->may_be_infinite = may_be_infinite;
        walk->at = point_offset;
        for (size_t c = 0; c < group->affine_bytes / fp->bytes; ++c) {
            struct layout_field *coordinate = put_field(walk, LAYOUT_ELEMENT, region, fp->bytes);
            coordinate->field = fp;
            coordinate->group = group;
            coordinate->point_offset = point_offset;
            coordinate->may_be_infinite = may_be_infinite;
        }
    }
}

static void put_prime(struct walk *walk, const struct pm_field *of) {
    assert_int_equal(put_count(walk, "length of a prime", 4), of->bytes);
    assert_memory_equal(walk->layout->file->bytes + walk->at, of->modulus, of->bytes);
    (void)put_field(walk, LAYOUT_PRIME, "prime", of->bytes);
}

static void open_file(struct walk *walk, const struct file_image *file, pm_curve_id curve,
                      struct layout *layout) {
    *layout = (struct layout){.file = file, .curve = pm_curve_get(curve, PM_BODY_PORTABLE)};
    *walk = (struct walk){.layout = layout, .end = file->n_bytes};
    (void)put_field(walk, LAYOUT_BYTES, "magic", 4);
    (void)put_field(walk, LAYOUT_BYTES, "version", 4);
    (void)put_count(walk, "number of sections", 4);
}

/* Steps into the next section; false at the file's end. */
static bool next_section(struct walk *walk) {
    struct layout *layout = walk->layout;
    walk->end = layout->file->n_bytes;
    if (walk->at == walk->end) {
        return false;
    }
    assert_true(layout->n_sections < LAYOUT_SECTIONS_MAX);
    struct layout_section *section = &layout->sections[layout->n_sections++];
    section->header = walk->at;
    section->type = walk->section = (uint32_t)peek(walk, 4);
    (void)put_field(walk, LAYOUT_BYTES, "section's type", 4);
    section->n_bytes = put_count(walk, "section's length", 8);
    section->offset = walk->at;
    section->element_bytes = 4;
    walk->end = walk->at + section->n_bytes;
    assert_true(walk->end <= layout->file->n_bytes);
    return true;
}

static struct layout_section *this_section(struct walk *walk) {
    return &walk->layout->sections[walk->layout->n_sections - 1];
}

/* ---------------------------------------------------------------------------------------------
 * .zkey
 * ------------------------------------------------------------------------------------------- */

struct zkey_sizes {
    uint64_t n_vars, n_public, n;
};

static void walk_zkey_header(struct walk *walk, struct zkey_sizes *sizes) {
    const struct pm_curve *curve = walk->layout->curve;
    put_prime(walk, curve->fp);
    put_prime(walk, curve->fr);
    sizes->n_vars = put_count(walk, "header's counts", 4);
    sizes->n_public = put_count(walk, "header's counts", 4);
    sizes->n = put_count(walk, "header's counts", 4);
    put_points(walk, "header's points", curve->g1, 2, false);
    put_points(walk, "header's points", curve->g2, 2, false);
    put_points(walk, "header's points", curve->g1, 1, false);
    put_points(walk, "header's points", curve->g2, 1, false);
}

static void walk_coefficients(struct walk *walk, const struct zkey_sizes *sizes) {
    const uint64_t n = put_count(walk, "number of coefficients", 4);
    for (uint64_t i = 0; i < n; ++i) {
        put_index(walk, "coefficient's matrix", 2);
        put_index(walk, "coefficient's row", sizes->n);
        put_index(walk, "coefficient's column", sizes->n_vars);
        put_element(walk, "coefficient's value", walk->layout->curve->fr);
    }
}

static void walk_contributions(struct walk *walk) {
    const size_t points = walk->layout->curve->g1->affine_bytes * 5;
    (void)put_field(walk, LAYOUT_BYTES, "transcript", 64);
    for (uint64_t n = put_count(walk, "number of contributions", 4); n > 0; --n) {
        (void)put_field(walk, LAYOUT_BYTES, "transcript", points + 64);
        (void)put_field(walk, LAYOUT_BYTES, "transcript", 4);
        const uint64_t n_bytes = put_count(walk, "length of a contribution's parameters", 4);
        (void)put_field(walk, LAYOUT_BYTES, "transcript", n_bytes);
    }
}

static void walk_query(struct walk *walk, const struct zkey_sizes *sizes) {
    const struct pm_group *g1 = walk->layout->curve->g1, *g2 = walk->layout->curve->g2;
    const struct {
        const char *region;
        const struct pm_group *group;
        uint64_t n;
        bool may_be_infinite;
    } queries[] = {[3] = {"ic points", g1, sizes->n_public + 1, true},
                   [5] = {"a points", g1, sizes->n_vars, true},
                   [6] = {"b1 points", g1, sizes->n_vars, true},
                   [7] = {"b2 points", g2, sizes->n_vars, true},
                   [8] = {"c points", g1, sizes->n_vars - sizes->n_public - 1, true},
                   [9] = {"h points", g1, sizes->n, false}};
    assert_true(walk->section < sizeof queries / sizeof queries[0] &&
                queries[walk->section].group != NULL);
    this_section(walk)->element_bytes = queries[walk->section].group->affine_bytes;
    put_points(walk, queries[walk->section].region, queries[walk->section].group,
               queries[walk->section].n, queries[walk->section].may_be_infinite);
}

void layout_zkey(const struct file_image *file, pm_curve_id curve, struct layout *layout) {
    struct walk walk;
    struct zkey_sizes sizes = {0};
    open_file(&walk, file, curve, layout);
    while (next_section(&walk)) {
        switch (walk.section) {
        case 1:
            (void)put_count(&walk, "protocol", 4);
            break;
        case 2:
            walk_zkey_header(&walk, &sizes);
            break;
        case 4:
            this_section(&walk)->element_bytes = 12 + PM_FR_BYTES;
            walk_coefficients(&walk, &sizes);
            break;
        case 10:
            walk_contributions(&walk);
            break;
        default:
            assert_int_not_equal(sizes.n, 0); /* snarkjs writes the header first */
            walk_query(&walk, &sizes);
        }
        assert_int_equal(walk.at, walk.end);
    }
}

/* ---------------------------------------------------------------------------------------------
 * .wtns and .r1cs
 * ------------------------------------------------------------------------------------------- */

void layout_wtns(const struct file_image *file, pm_curve_id curve, struct layout *layout) {
    struct walk walk;
    uint64_t n = 0;
    open_file(&walk, file, curve, layout);
    while (next_section(&walk)) {
        if (walk.section == 1) {
            put_prime(&walk, layout->curve->fr);
            n = put_count(&walk, "header's counts", 4);
        } else {
            this_section(&walk)->element_bytes = PM_FR_BYTES;
            for (uint64_t i = 0; i < n; ++i) {
                put_element(&walk, "value", layout->curve->fr);
            }
        }
        assert_int_equal(walk.at, walk.end);
    }
}

static void walk_rows(struct walk *walk, uint64_t n_wires) {
    this_section(walk)->element_bytes = 4 + PM_FR_BYTES;
    while (walk->at < walk->end) {
        for (uint64_t n_terms = put_count(walk, "number of terms", 4); n_terms > 0; --n_terms) {
            put_index(walk, "wire", n_wires);
            put_element(walk, "coefficient", walk->layout->curve->fr);
        }
    }
}

static void walk_r1cs_header(struct walk *walk) {
    put_prime(walk, walk->layout->curve->fr);
    for (int i = 0; i < 4; ++i) {
        (void)put_count(walk, "header's counts", 4);
    }
    (void)put_count(walk, "header's counts", 8);
    (void)put_count(walk, "header's counts", 4);
}

/* The rows come before the header, which tells the number of wires. */
static uint64_t find_n_wires(const struct file_image *file) {
    uint32_t n_wires = 0;
    memcpy(&n_wires, file->bytes + file_section(file, 1, NULL) + 4 + PM_FR_BYTES, sizeof n_wires);
    return n_wires;
}

void layout_r1cs(const struct file_image *file, pm_curve_id curve, struct layout *layout) {
    struct walk walk;
    const uint64_t n_wires = find_n_wires(file);
    open_file(&walk, file, curve, layout);
    while (next_section(&walk)) {
        if (walk.section == 1) {
            walk_r1cs_header(&walk);
        } else if (walk.section == 2) {
            walk_rows(&walk, n_wires);
        } else {
            this_section(&walk)->element_bytes = 8;
            while (walk.at < walk.end) {
                (void)put_field(&walk, LAYOUT_BYTES, "label", 8);
            }
        }
        assert_int_equal(walk.at, walk.end);
    }
}

void layout_free(struct layout *layout) {
    free(layout->fields);
    *layout = (struct layout){0};
}

const struct layout_field *layout_at(const struct layout *layout, size_t offset) {
    const struct layout_field *found = NULL;
    for (size_t i = 0; i < layout->n_fields; ++i) {
        const struct layout_field *field = &layout->fields[i];
        if (field->offset <= offset && offset < field->offset + field->n_bytes) {
            found = field;
        }
    }
    assert_non_null(found);
    return found;
}
