/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/file_builder.h"

#include "curve/curve.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_HEADER_BYTES 12u
#define SECTION_HEADER_BYTES 12u

static void put(struct file_image *file, const void *bytes, size_t n) {
    file->bytes = realloc(file->bytes, file->n_bytes + n + 1);
    assert_non_null(file->bytes);
    if (n > 0) {
        memcpy(file->bytes + file->n_bytes, bytes, n);
    }
    file->n_bytes += n;
}

static void put_u32(struct file_image *file, uint32_t value) {
    put(file, &value, sizeof value);
}

static void put_u64(struct file_image *file, uint64_t value) {
    put(file, &value, sizeof value);
}

static void put_zeros(struct file_image *file, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        put(file, "", 1);
    }
}

static void put_header(struct file_image *file, const char *magic, uint32_t version,
                       uint32_t n_sections) {
    put(file, magic, 4);
    put_u32(file, version);
    put_u32(file, n_sections);
}

/* Appends a section that holds data, and frees data. */
static void put_section(struct file_image *file, uint32_t type, struct file_image *data) {
    put_u32(file, type);
    put_u64(file, data->n_bytes);
    put(file, data->bytes, data->n_bytes);
    file_free(data);
}

static void put_prime(struct file_image *file, const struct pm_field *field) {
    put_u32(file, field->bytes);
    put(file, field->modulus, field->bytes);
}

/* A small value, canonical; also the value of a coefficient, whose form does not matter here. */
static void put_value(struct file_image *file, uint32_t value) {
    uint8_t bytes[PM_FR_BYTES] = {0};
    memcpy(bytes, &value, sizeof value);
    put(file, bytes, sizeof bytes);
}

static void put_points(struct file_image *file, const struct pm_group *group, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        put(file, group->generator, group->affine_bytes);
    }
}

static void put_points_section(struct file_image *file, uint32_t type, const struct pm_group *group,
                               size_t n) {
    struct file_image data = {0};
    put_points(&data, group, n);
    put_section(file, type, &data);
}

static void put_coefficients(struct file_image *file) {
    static const uint32_t records[TOY_N_COEFFICIENTS][3] = {
        {0, 0, 3}, {1, 0, 4}, {0, 1, 3}, {1, 1, 0}, {0, 2, 0}, {0, 3, 1}, {0, 4, 2}};
    struct file_image data = {0};
    put_u32(&data, TOY_N_COEFFICIENTS);
    for (size_t i = 0; i < TOY_N_COEFFICIENTS; ++i) {
        put(&data, records[i], sizeof records[i]);
        put_value(&data, 1);
    }
    put_section(file, 4, &data);
}

static void put_contributions(struct file_image *file, const struct pm_curve *curve) {
    static const uint8_t name[] = {1, 3, 't', 'o', 'y'};
    struct file_image data = {0};
    for (uint32_t i = 0; i < 64; ++i) {
        put(&data, &(uint8_t){(uint8_t)i}, 1);
    }
    put_u32(&data, 2);
    for (size_t i = 0; i < 2; ++i) {
        put_points(&data, curve->g1, 3);
        put_points(&data, curve->g2, 1);
        put_zeros(&data, 64);
        put_u32(&data, 0);
        put_u32(&data, i == 0 ? sizeof name : 0);
        put(&data, name, i == 0 ? sizeof name : 0);
    }
    put_section(file, 10, &data);
}

struct file_image file_zkey(pm_curve_id id) {
    const struct pm_curve *curve = pm_curve_get(id, PM_BODY_PORTABLE);
    const struct pm_group *g1 = curve->g1, *g2 = curve->g2;
    struct file_image file = {0}, data = {0};
    put_header(&file, "zkey", 1, 10);
    put_u32(&data, 1);
    put_section(&file, 1, &data);
    put_prime(&data, curve->fp);
    put_prime(&data, curve->fr);
    put_u32(&data, TOY_N_VARS);
    put_u32(&data, TOY_N_PUBLIC);
    put_u32(&data, 1u << TOY_LOG_N);
    put_points(&data, g1, 2);
    put_points(&data, g2, 2);
    put_points(&data, g1, 1);
    put_points(&data, g2, 1);
    put_section(&file, 2, &data);
    /* snarkjs's own order. */
    put_coefficients(&file);
    put_points_section(&file, 3, g1, TOY_N_PUBLIC + 1);
    put_points_section(&file, 9, g1, 1u << TOY_LOG_N);
    put_points_section(&file, 8, g1, TOY_N_VARS - TOY_N_PUBLIC - 1);
    put_points_section(&file, 5, g1, TOY_N_VARS);
    put_points_section(&file, 6, g1, TOY_N_VARS);
    put_points_section(&file, 7, g2, TOY_N_VARS);
    put_contributions(&file, curve);
    return file;
}

struct file_image file_wtns(pm_curve_id id) {
    static const uint32_t values[TOY_N_VARS] = {1, 6, 2, 2, 3};
    struct file_image file = {0}, data = {0};
    put_header(&file, "wtns", 2, 2);
    put_prime(&data, pm_field_fr(id, PM_BODY_PORTABLE));
    put_u32(&data, TOY_N_VARS);
    put_section(&file, 1, &data);
    for (size_t i = 0; i < TOY_N_VARS; ++i) {
        put_value(&data, values[i]);
    }
    put_section(&file, 2, &data);
    return file;
}

static void put_term(struct file_image *file, uint32_t wire) {
    put_u32(file, 1);
    put_u32(file, wire);
    put_value(file, 1);
}

struct file_image file_r1cs(pm_curve_id id) {
    static const uint32_t wires[TOY_N_TERMS] = {3, 4, 1, 3, 0, 2};
    struct file_image file = {0}, data = {0};
    put_header(&file, "r1cs", 1, 3);
    for (size_t i = 0; i < TOY_N_TERMS; ++i) {
        put_term(&data, wires[i]);
    }
    put_section(&file, 2, &data);
    put_prime(&data, pm_field_fr(id, PM_BODY_PORTABLE));
    put_u32(&data, TOY_N_VARS);
    put_u32(&data, 1);
    put_u32(&data, 1);
    put_u32(&data, 2);
    put_u64(&data, 9);
    put_u32(&data, TOY_N_ROWS);
    put_section(&file, 1, &data);
    for (uint64_t i = 0; i < TOY_N_VARS; ++i) {
        put_u64(&data, i);
    }
    put_section(&file, 3, &data);
    return file;
}

void file_free(struct file_image *file) {
    free(file->bytes);
    *file = (struct file_image){0};
}

struct file_image file_copy(const struct file_image *file) {
    struct file_image copy = {0};
    put(&copy, file->bytes, file->n_bytes);
    return copy;
}

struct section {
    uint32_t type;
    size_t offset, n_bytes;
};

/* The section that begins at *at, which is moved behind it. */
static struct section next_section(const struct file_image *file, size_t *at) {
    struct section section = {0};
    uint64_t n_bytes = 0;
    memcpy(&section.type, file->bytes + *at, sizeof section.type);
    memcpy(&n_bytes, file->bytes + *at + 4, sizeof n_bytes);
    section.offset = *at + SECTION_HEADER_BYTES;
    section.n_bytes = (size_t)n_bytes;
    *at = section.offset + section.n_bytes;
    assert_true(*at <= file->n_bytes);
    return section;
}

size_t file_section(const struct file_image *file, uint32_t type, size_t *n_bytes) {
    for (size_t at = FILE_HEADER_BYTES; at < file->n_bytes;) {
        const struct section section = next_section(file, &at);
        if (section.type == type) {
            if (n_bytes != NULL) {
                *n_bytes = section.n_bytes;
            }
            return section.offset;
        }
    }
    fail_msg("the test's file has no section %u", type);
    return 0;
}

void file_patch(struct file_image *file, uint32_t type, size_t offset, const void *bytes,
                size_t n) {
    const size_t at = (type != 0 ? file_section(file, type, NULL) : 0) + offset;
    assert_true(at + n <= file->n_bytes);
    memcpy(file->bytes + at, bytes, n);
}

void file_patch_u32(struct file_image *file, uint32_t type, size_t offset, uint32_t value) {
    file_patch(file, type, offset, &value, sizeof value);
}

static void put_raw_section(struct file_image *file, const struct file_image *from,
                            struct section section, int delta) {
    const size_t kept = delta < 0 ? section.n_bytes - (size_t)-delta : section.n_bytes;
    put_u32(file, section.type);
    put_u64(file, section.n_bytes + (uint64_t)(int64_t)delta);
    put(file, from->bytes + section.offset, kept);
    put_zeros(file, delta > 0 ? (size_t)delta : 0);
    const uint32_t one = 1;
    uint32_t n_sections = 0;
    memcpy(&n_sections, file->bytes + 8, sizeof n_sections);
    n_sections += one;
    memcpy(file->bytes + 8, &n_sections, sizeof n_sections);
}

static struct file_image empty_like(const struct file_image *file) {
    struct file_image copy = {0};
    put(&copy, file->bytes, FILE_HEADER_BYTES);
    memset(copy.bytes + 8, 0, 4);
    return copy;
}

/* Each section of the given type `times` times, with delta; every other once. */
static struct file_image rebuild(const struct file_image *file, uint32_t type, int times,
                                 int delta) {
    struct file_image copy = empty_like(file);
    for (size_t at = FILE_HEADER_BYTES; at < file->n_bytes;) {
        const struct section section = next_section(file, &at);
        for (int i = 0; i < (section.type == type ? times : 1); ++i) {
            put_raw_section(&copy, file, section, section.type == type ? delta : 0);
        }
    }
    return copy;
}

struct file_image file_without(const struct file_image *file, uint32_t type) {
    return rebuild(file, type, 0, 0);
}

struct file_image file_doubled(const struct file_image *file, uint32_t type) {
    return rebuild(file, type, 2, 0);
}

struct file_image file_resized(const struct file_image *file, uint32_t type, int delta) {
    return rebuild(file, type, 1, delta);
}

struct file_image file_reversed(const struct file_image *file) {
    struct section sections[16];
    size_t n = 0;
    for (size_t at = FILE_HEADER_BYTES; at < file->n_bytes; ++n) {
        assert_true(n < sizeof sections / sizeof sections[0]);
        sections[n] = next_section(file, &at);
    }
    struct file_image copy = empty_like(file);
    while (n-- > 0) {
        put_raw_section(&copy, file, sections[n], 0);
    }
    return copy;
}

struct file_image file_with_extra(const struct file_image *file, uint32_t type, size_t n_bytes) {
    struct file_image copy = file_copy(file);
    const struct section none = {.type = type};
    put_raw_section(&copy, file, none, (int)n_bytes);
    return copy;
}

struct file_image file_cut(const struct file_image *file, size_t n_bytes) {
    struct file_image copy = {0};
    const size_t kept = n_bytes < file->n_bytes ? n_bytes : file->n_bytes;
    put(&copy, file->bytes, kept);
    put_zeros(&copy, n_bytes - kept);
    return copy;
}

char *file_make_tree(void) {
    char path[512];
    const char *base = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/proofmill-test-XXXXXX", base != NULL ? base : "/tmp");
    char *tree = mkdtemp(path) != NULL ? strdup(path) : NULL;
    assert_non_null(tree);
    return tree;
}

static void remove_below(const char *path) {
    struct stat facts;
    if (lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        (void)chmod(path, 0700);
        DIR *directory = opendir(path);
        for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
            char below[1024];
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
                (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
                remove_below(below);
            }
        }
        if (directory != NULL) {
            (void)closedir(directory);
        }
    }
    (void)remove(path);
}

void file_remove_tree(char *tree) {
    remove_below(tree);
    free(tree);
}

const char *file_in_tree(const char *tree, const char *name) {
    static char paths[8][1024];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", tree, name);
    return path;
}

void file_write(const char *path, const void *bytes, size_t n_bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

void file_expect(pm_status status, pm_status expected, const pm_error *error, const char *first,
                 const char *second, const char *third) {
    if (status != expected) {
        fail_msg("got %s, wanted %s: %s (%s)", pm_status_name(status), pm_status_name(expected),
                 status != PM_OK ? error->message : "", error->file);
    }
    const char *const pieces[] = {first, second, third};
    for (size_t i = 0; i < 3; ++i) {
        if (pieces[i] != NULL && strstr(error->message, pieces[i]) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", error->message, pieces[i]);
        }
    }
}
