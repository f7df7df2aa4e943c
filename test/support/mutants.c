/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/mutants.h"

#include "support/stray_points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILE_HEADER_BYTES = 12, SECTION_HEADER_BYTES = 12 };

const char *mutation_words(enum mutation kind) {
    static const char *const words[] = {
#define MUTATION_WORDS(name, text) text,
        MUTATION_MAP(MUTATION_WORDS)
#undef MUTATION_WORDS
    };
    return words[kind];
}

const char *mutant_text(const struct mutant *mutant, char text[160]) {
    (void)snprintf(text, 160, "%s: section %u, %s at byte %zu, %#llx", mutation_words(mutant->kind),
                   mutant->section, mutant->field != NULL ? mutant->field->region : "the whole",
                   mutant->field != NULL ? mutant->field->offset : 0,
                   (unsigned long long)mutant->value);
    return text;
}

/* ---------------------------------------------------------------------------------------------
 * Ways to the sink
 * ------------------------------------------------------------------------------------------- */

struct run {
    const struct layout *layout;
    mutant_sink *sink;
    void *user;
    unsigned sample;          /* each sample-th mutant of a kind goes out */
    unsigned seen[MUTATIONS]; /* of a kind so far */
};

static bool is_drawn(struct run *run, enum mutation kind) {
    return run->seen[kind]++ % run->sample == 0;
}

static void emit_image(struct run *run, enum mutation kind, uint32_t section, uint64_t value,
                       struct file_image image) {
    uint8_t *exact = malloc(image.n_bytes > 0 ? image.n_bytes : 1);
    assert_non_null(exact);
    memcpy(exact, image.bytes, image.n_bytes);
    const struct mutant mutant = {.kind = kind,
                                  .layout = run->layout,
                                  .section = section,
                                  .value = value,
                                  .bytes = exact,
                                  .n_bytes = image.n_bytes};
    run->sink(run->user, &mutant);
    free(exact);
    file_free(&image);
}

/* Hands out the mutant, whatever the sample. */
static void emit_now(struct run *run, enum mutation kind, const struct layout_field *field,
                     uint64_t value, size_t offset, const void *patch, size_t n) {
    const struct file_image *file = run->layout->file;
    uint8_t *exact = malloc(file->n_bytes);
    assert_non_null(exact);
    assert_true(offset + n <= file->n_bytes);
    memcpy(exact, file->bytes, file->n_bytes);
    memcpy(exact + offset, patch, n);
    const struct mutant mutant = {.kind = kind,
                                  .layout = run->layout,
                                  .field = field,
                                  .section = field->section,
                                  .value = value,
                                  .bytes = exact,
                                  .n_bytes = file->n_bytes};
    run->sink(run->user, &mutant);
    free(exact);
}

static void emit_patch(struct run *run, enum mutation kind, const struct layout_field *field,
                       uint64_t value, size_t offset, const void *patch, size_t n) {
    assert_true(offset + n <= run->layout->file->n_bytes);
    if (memcmp(run->layout->file->bytes + offset, patch, n) != 0 && is_drawn(run, kind)) {
        emit_now(run, kind, field, value, offset, patch, n);
    }
}

static void emit_word(struct run *run, enum mutation kind, const struct layout_field *field,
                      uint64_t value) {
    if (field->n_bytes == 8 || value <= UINT32_MAX) {
        emit_patch(run, kind, field, value, field->offset, &value, field->n_bytes);
    }
}

/* The edges of a field that should be n or below n. */
static void emit_edges(struct run *run, enum mutation kind, const struct layout_field *field,
                       uint64_t n) {
    const uint64_t edges[] = {0,
                              1,
                              n - 1,
                              n,
                              n + 1,
                              2 * n,
                              UINT64_C(1) << 31,
                              UINT32_MAX,
                              UINT64_C(1) << 32,
                              UINT64_C(1) << 63,
                              UINT64_MAX - 11,
                              UINT64_MAX};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; ++i) {
        emit_word(run, kind, field, edges[i]);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Sections
 * ------------------------------------------------------------------------------------------- */

/* A copy with one section before or behind all others. */
static struct file_image with_section_at(const struct layout *layout, size_t moved, bool to_end) {
    const uint8_t *bytes = layout->file->bytes;
    struct file_image copy = file_copy(layout->file);
    size_t at = FILE_HEADER_BYTES;
    for (size_t i = 0; i <= layout->n_sections; ++i) {
        const bool is_turn = i == (to_end ? layout->n_sections : 0);
        const size_t other = to_end ? i : i - 1;
        if (!is_turn && other == moved) {
            continue;
        }
        const struct layout_section *section = &layout->sections[is_turn ? moved : other];
        const size_t n = SECTION_HEADER_BYTES + section->n_bytes;
        memcpy(copy.bytes + at, bytes + section->header, n);
        at += n;
    }
    assert_int_equal(at, layout->file->n_bytes);
    return copy;
}

static void renumber(struct run *run, const struct layout_section *section) {
    const uint32_t types[] = {0, 1, 2, 3, 4, 5, 10, 11, 99, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        emit_word(run, MUTATION_SECTION_RENUMBERED, layout_at(run->layout, section->header),
                  types[i]);
    }
}

static void mutate_section(struct run *run, size_t index) {
    const struct layout_section *section = &run->layout->sections[index];
    const struct file_image *file = run->layout->file;
    const uint32_t type = section->type;
    const int element = (int)section->element_bytes;
    emit_image(run, MUTATION_SECTION_MISSING, type, 0, file_without(file, type));
    emit_image(run, MUTATION_SECTION_DOUBLED, type, 0, file_doubled(file, type));
    emit_image(run, MUTATION_SECTION_BYTE, type, 1, file_resized(file, type, 1));
    emit_image(run, MUTATION_SECTION_ELEMENT, type, 1, file_resized(file, type, element));
    if (section->n_bytes >= 1) {
        emit_image(run, MUTATION_SECTION_BYTE, type, UINT64_MAX, file_resized(file, type, -1));
    }
    if (section->n_bytes >= section->element_bytes) {
        emit_image(run, MUTATION_SECTION_ELEMENT, type, UINT64_MAX,
                   file_resized(file, type, -element));
    }
    if (index != 0) {
        emit_image(run, MUTATION_SECTION_MOVED, type, 0,
                   with_section_at(run->layout, index, false));
    }
    if (index + 1 != run->layout->n_sections) {
        emit_image(run, MUTATION_SECTION_MOVED, type, 1, with_section_at(run->layout, index, true));
    }
    renumber(run, section);
    emit_edges(run, MUTATION_SECTION_LENGTH, layout_at(run->layout, section->header + 4),
               section->n_bytes);
}

void mutants_of_sections(const struct layout *layout, mutant_sink *sink, void *user) {
    struct run run = {.layout = layout, .sink = sink, .user = user, .sample = 1};
    for (size_t i = 0; i < layout->n_sections; ++i) {
        mutate_section(&run, i);
    }
    emit_edges(&run, MUTATION_SECTION_COUNT, layout_at(layout, 8), layout->n_sections);
    const uint32_t versions[] = {0, 3, 4, UINT32_C(1) << 31, UINT32_MAX};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; ++i) {
        emit_word(&run, MUTATION_MAGIC, layout_at(layout, 4), versions[i]);
    }
    const char *const magics[] = {"zkey", "wtns",     "r1cs",   "ptau",
                                  "ZKEY", "\0\0\0\0", "{\"a\"", "PK\3\4"};
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; ++i) {
        emit_patch(&run, MUTATION_MAGIC, layout_at(layout, 0), i, 0, magics[i], 4);
    }
    const size_t lengths[] = {layout->file->n_bytes + 1, layout->file->n_bytes + 12, 0, 3, 11};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        emit_image(&run, MUTATION_MAGIC, 0, lengths[i], file_cut(layout->file, lengths[i]));
    }
}

/* ---------------------------------------------------------------------------------------------
 * Fields
 * ------------------------------------------------------------------------------------------- */

static void add_small(uint64_t words[PM_FP_LIMBS_MAX], const struct pm_field *field, int delta) {
    memcpy(words, field->modulus, field->bytes);
    words[0] += (uint64_t)(int64_t)delta; /* no modulus here ends in 0 or in all ones */
}

static void mutate_element(struct run *run, const struct layout_field *field) {
    const struct pm_field *of = field->field;
    uint64_t edges[6][PM_FP_LIMBS_MAX] = {{0}, {1}};
    add_small(edges[2], of, -1);
    add_small(edges[3], of, 0);
    add_small(edges[4], of, 1);
    memset(edges[5], 0xff, sizeof edges[5]);
    for (size_t i = 0; i < 6; ++i) {
        emit_patch(run, field->group != NULL ? MUTATION_COORDINATE : MUTATION_VALUE, field, i,
                   field->offset, edges[i], of->bytes);
    }
}

static void mutate_prime(struct run *run, const struct layout_field *field) {
    uint8_t prime[PM_FP_BYTES_MAX];
    for (size_t i = 0; i < field->n_bytes; ++i) {
        memcpy(prime, run->layout->file->bytes + field->offset, field->n_bytes);
        prime[i] ^= (uint8_t)(1u << i % 8);
        emit_patch(run, MUTATION_PRIME, field, i, field->offset, prime, field->n_bytes);
    }
    memset(prime, 0, sizeof prime);
    emit_patch(run, MUTATION_PRIME, field, 0, field->offset, prime, field->n_bytes);
    memset(prime, 0xff, sizeof prime);
    emit_patch(run, MUTATION_PRIME, field, 1, field->offset, prime, field->n_bytes);
}

static void mutate_point(struct run *run, const struct layout_field *field,
                         const struct layout_field *next) {
    const struct pm_group *group = field->group;
    const struct pm_curve *curve = run->layout->curve;
    const size_t n = field->n_bytes, at = field->offset;
    const uint8_t *here = run->layout->file->bytes + at;
    uint8_t point[2 * PM_G2_BYTES_MAX] = {0};
    emit_patch(run, MUTATION_POINT_ZERO, field, 0, at, point, n);
    for (size_t i = 0; i < 2; ++i) {
        memcpy(point, here, n);
        point[i * group->coordinate_bytes] ^= 1;
        emit_patch(run, MUTATION_POINT_OFF_CURVE, field, i, at, point, n);
    }
    /* These points take time, so they are only made when they are wanted. */
    if (is_drawn(run, MUTATION_POINT_OFF_SUBGROUP) && stray_point(curve, group, point)) {
        emit_now(run, MUTATION_POINT_OFF_SUBGROUP, field, 0, at, point, n);
        (void)stray_sum(curve, group, here, point);
        emit_now(run, MUTATION_POINT_COFACTOR, field, 0, at, point, n);
    }
    stray_negated(group, here, point);
    emit_patch(run, MUTATION_POINT_NEGATED, field, 0, at, point, n);
    if (next != NULL && next->group == group && next->offset == at + n) {
        memcpy(point, here + n, n);
        memcpy(point + n, here, n);
        emit_patch(run, MUTATION_POINT_SWAPPED, field, 0, at, point, 2 * n);
    }
}

void mutants_of_fields(const struct layout *layout, unsigned sample, mutant_sink *sink,
                       void *user) {
    struct run run = {.layout = layout, .sink = sink, .user = user, .sample = sample};
    for (size_t i = 0; i < layout->n_fields; ++i) {
        const struct layout_field *field = &layout->fields[i];
        const size_t next = i + 1 + field->n_bytes / layout->curve->fp->bytes;
        uint64_t value = 0;
        switch (field->kind) {
        case LAYOUT_COUNT:
            memcpy(&value, layout->file->bytes + field->offset, field->n_bytes);
            /* Those of sections, and their number, are in mutants_of_sections(). */
            if (field->section != 0 && strcmp(field->region, "section's length") != 0) {
                emit_edges(&run, MUTATION_COUNT, field, value);
            }
            break;
        case LAYOUT_INDEX:
            emit_edges(&run, MUTATION_INDEX, field, field->bound);
            break;
        case LAYOUT_PRIME:
            mutate_prime(&run, field);
            break;
        case LAYOUT_ELEMENT:
            mutate_element(&run, field);
            break;
        case LAYOUT_POINT:
            mutate_point(&run, field,
                         next < layout->n_fields && layout->fields[next].kind == LAYOUT_POINT
                             ? &layout->fields[next]
                             : NULL);
            break;
        case LAYOUT_BYTES:
            break;
        }
    }
}

static void flip(struct run *run, size_t offset, unsigned bit) {
    const uint8_t byte = run->layout->file->bytes[offset] ^ (uint8_t)(1u << bit);
    emit_patch(run, MUTATION_BIT, layout_at(run->layout, offset), 8 * offset + bit, offset, &byte,
               1);
}

void mutants_of_bits(const struct layout *layout, size_t step, struct seeded_random *random,
                     mutant_sink *sink, void *user) {
    struct run run = {.layout = layout, .sink = sink, .user = user, .sample = 1};
    const size_t n_bytes = layout->file->n_bytes;
    for (size_t at = 0; at < n_bytes; at += step == 0 ? 1 : step) {
        if (step == 0) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                flip(&run, at, bit);
            }
        } else {
            const uint64_t room = n_bytes - at < step ? n_bytes - at : step;
            const size_t offset = at + (size_t)seeded_random_below(random, room);
            flip(&run, offset, (unsigned)seeded_random_below(random, 8));
        }
    }
}
