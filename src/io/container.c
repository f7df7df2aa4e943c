/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/container.h"

#include "base/checked.h"
#include "io/params.h"

#include <stdio.h>
#include <string.h>

#define MAGIC_BYTES 4u
/* Room for the names of every section of any format. */
#define MISSING_TEXT_BYTES 256

static const char *const zkey_sections[] = {
    [1] = "protocol", [2] = "groth16 header", [3] = "ic",        [4] = "coefficients",
    [5] = "a points", [6] = "b1 points",      [7] = "b2 points", [8] = "c points",
    [9] = "h points", [10] = "contributions"};
static const char *const wtns_sections[] = {[1] = "header", [2] = "values"};
static const char *const r1cs_sections[] = {[1] = "header",
                                            [2] = "constraints",
                                            [3] = "wire labels",
                                            [4] = "custom gates",
                                            [5] = "custom gate uses"};
static const char *const ptau_sections[] = {
    [1] = "header",       [2] = "tau g1",          [3] = "tau g2",        [4] = "alpha tau g1",
    [5] = "beta tau g1",  [6] = "beta g2",         [7] = "contributions", [12] = "lagrange g1",
    [13] = "lagrange g2", [14] = "lagrange alpha", [15] = "lagrange beta"};

#define SECTION_NAMES(table)                                                                       \
    .n_section_names = sizeof(table) / sizeof(table)[0], .section_names = (table)

const struct pm_container_format pm_format_zkey = {.magic = "zkey",
                                                   .name = ".zkey",
                                                   .kind = PM_FILE_ZKEY,
                                                   .version_min = 1,
                                                   .version_max = 1,
                                                   .n_usual = 10,
                                                   SECTION_NAMES(zkey_sections),
                                                   .private_type = PM_ZKEY_SECTION_DEVELOPMENT,
                                                   .private_name = "development mark"};
const struct pm_container_format pm_format_wtns = {.magic = "wtns",
                                                   .name = ".wtns",
                                                   .kind = PM_FILE_WTNS,
                                                   .version_min = 1,
                                                   .version_max = 2,
                                                   .n_usual = 2,
                                                   SECTION_NAMES(wtns_sections)};
const struct pm_container_format pm_format_r1cs = {.magic = "r1cs",
                                                   .name = ".r1cs",
                                                   .kind = PM_FILE_R1CS,
                                                   .version_min = 1,
                                                   .version_max = 1,
                                                   .n_usual = 3,
                                                   SECTION_NAMES(r1cs_sections)};
const struct pm_container_format pm_format_ptau = {.magic = "ptau",
                                                   .name = ".ptau",
                                                   .kind = PM_FILE_PTAU,
                                                   .version_min = 1,
                                                   .version_max = 1,
                                                   .n_usual = 7,
                                                   SECTION_NAMES(ptau_sections)};

static const struct pm_container_format *const formats[] = {&pm_format_zkey, &pm_format_wtns,
                                                            &pm_format_r1cs, &pm_format_ptau};

const struct pm_container_format *pm_container_recognise(const struct pm_mapping *mapping) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
        if (mapping->n_bytes >= MAGIC_BYTES &&
            memcmp(mapping->bytes, formats[i]->magic, MAGIC_BYTES) == 0) {
            return formats[i];
        }
    }
    return NULL;
}

/* What people hand over instead of a container, by its first bytes. */
static const char *appearance_of(const struct pm_mapping *mapping) {
    static const struct {
        const char *bytes;
        size_t n_bytes;
        const char *appearance;
    } beginnings[] = {{"\x1f\x8b", 2, "it is compressed by gzip"},
                      {"\xfd"
                       "7zXZ",
                       5, "it is compressed by xz"},
                      {"\x28\xb5\x2f\xfd", 4, "it is compressed by zstd"},
                      {"PK\x03\x04", 4, "it is a zip archive"},
                      {"\0asm", 4, "it is a WebAssembly program"},
                      {"{", 1, "it looks like JSON"},
                      {"[", 1, "it looks like JSON"},
                      {"<", 1, "it looks like a web page"},
                      {"version https://git-lfs", 23, "it is a git-lfs pointer"}};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; ++i) {
        if (mapping->n_bytes >= beginnings[i].n_bytes &&
            memcmp(mapping->bytes, beginnings[i].bytes, beginnings[i].n_bytes) == 0) {
            return beginnings[i].appearance;
        }
    }
    return "its contents are something else";
}

pm_status pm_container_refuse_kind(const struct pm_mapping *mapping,
                                   const struct pm_container_format *expected, pm_error *error) {
    const struct pm_container_format *found = pm_container_recognise(mapping);
    const char *wanted =
        expected != NULL ? expected->name : ".zkey, .wtns, .r1cs, .ptau, .params, .vk or .pmasg";
    if (mapping->n_bytes == 0) {
        pm_error_set(error, PM_NOT_THIS_KIND, "not a %s file: it is empty", wanted);
    } else if (found != NULL) {
        pm_error_set(error, PM_NOT_THIS_KIND, "not a %s file: it is a %s file", wanted,
                     found->name);
    } else if (expected != NULL && pm_params_recognise(mapping) != PM_FILE_UNKNOWN) {
        pm_error_set(error, PM_NOT_THIS_KIND,
                     "not a %s file: it is a parameter or verifying key file of bellman", wanted);
    } else {
        /* The first bytes of what may be a witness in another format: four bytes of a raw array are
         * no secret worth keeping from its owner, but nothing more is shown. */
        uint8_t magic[MAGIC_BYTES] = {0};
        const size_t n = mapping->n_bytes < MAGIC_BYTES ? mapping->n_bytes : MAGIC_BYTES;
        memcpy(magic, mapping->bytes, n);
        pm_error_set(error, PM_NOT_THIS_KIND,
                     "not a %s file: it begins with the bytes %02x %02x %02x %02x, %s", wanted,
                     magic[0], magic[1], magic[2], magic[3], appearance_of(mapping));
    }
    pm_error_at(error, mapping->name, 0);
    return PM_NOT_THIS_KIND;
}

const char *pm_container_section_name(const struct pm_container_format *format, uint32_t type) {
    if (type != 0 && type == format->private_type) {
        return format->private_name;
    }
    const char *name = type < format->n_section_names ? format->section_names[type] : NULL;
    return name != NULL ? name : "";
}

const struct pm_section *pm_container_find(const struct pm_container *container, uint32_t type) {
    for (uint32_t i = 0; i < container->n_sections; ++i) {
        if (container->sections[i].type == type) {
            return &container->sections[i];
        }
    }
    return NULL;
}

/* "sections 6 (b1 points), 7 (b2 points) are missing" of those that a complete file has; "" when
 * all are there. Returns text. */
static const char *list_missing(const struct pm_container *container,
                                const struct pm_container_format *format,
                                char text[MISSING_TEXT_BYTES]) {
    const char *before[] = {"sections ", ", "};
    uint32_t n_missing = 0;
    size_t n = 0;
    for (uint32_t type = 1; type <= format->n_usual; ++type) {
        n_missing += pm_container_find(container, type) == NULL;
    }
    text[0] = '\0';
    for (uint32_t type = 1; type <= format->n_usual && n < MISSING_TEXT_BYTES; ++type) {
        if (pm_container_find(container, type) == NULL) {
            n += (size_t)snprintf(text + n, MISSING_TEXT_BYTES - n, "%s%u (%s)",
                                  n_missing == 1 ? "section " : before[n > 0], type,
                                  pm_container_section_name(format, type));
        }
    }
    if (n_missing > 0 && n < MISSING_TEXT_BYTES) {
        (void)snprintf(text + n, MISSING_TEXT_BYTES - n, " %s missing",
                       n_missing == 1 ? "is" : "are");
    }
    return text;
}

/* A file that ends early lacks what would have followed: says so behind the error's sentence. */
static pm_status append_missing(const struct pm_container *container,
                                const struct pm_container_format *format, pm_status status,
                                pm_error *error) {
    char missing[MISSING_TEXT_BYTES];
    if (error != NULL && status == PM_TRUNCATED &&
        list_missing(container, format, missing)[0] != '\0') {
        const size_t n = strlen(error->message);
        (void)snprintf(error->message + n, sizeof error->message - n, "; %s", missing);
    }
    return status;
}

/* Reads one section's header and steps over its data. */
static pm_status read_section(struct pm_container *container,
                              const struct pm_container_format *format, struct pm_cursor *cursor,
                              pm_error *error) {
    struct pm_section section = {0};
    const uint8_t *data = NULL;
    PM_TRY(pm_cursor_u32(cursor, "a section's type", &section.type, error));
    PM_TRY(pm_cursor_u64(cursor, "a section's length", &section.n_bytes, error));
    section.offset = cursor->position;
    const char *name = pm_container_section_name(format, section.type);
    if (section.n_bytes > pm_cursor_left(cursor)) {
        pm_cursor_fail(cursor, 0, error, PM_TRUNCATED,
                       "section %u (%s) says it has %llu bytes, %llu are left in the file",
                       section.type, name[0] != '\0' ? name : "unknown",
                       (unsigned long long)section.n_bytes,
                       (unsigned long long)pm_cursor_left(cursor));
        pm_error_need_have(error, section.n_bytes, pm_cursor_left(cursor));
        return PM_TRUNCATED;
    }
    PM_TRY(pm_cursor_span(cursor, "a section", section.n_bytes, 1, &data, error));
    if (pm_container_find(container, section.type) != NULL) {
        return pm_cursor_fail(cursor, section.n_bytes, error, PM_SECTION,
                              "section %u (%s) is there twice", section.type,
                              name[0] != '\0' ? name : "unknown");
    }
    container->sections[container->n_sections++] = section;
    return PM_OK;
}

pm_status pm_container_open(const struct pm_mapping *mapping,
                            const struct pm_container_format *format,
                            struct pm_container *container, pm_error *error) {
    struct pm_cursor cursor;
    uint32_t n_sections = 0;
    const uint8_t *magic = NULL;
    *container = (struct pm_container){.mapping = mapping};
    if (pm_container_recognise(mapping) != format) {
        return pm_container_refuse_kind(mapping, format, error);
    }
    PM_TRY(
        pm_cursor_open(mapping, "the file's section table", 0, mapping->n_bytes, &cursor, error));
    PM_TRY(pm_cursor_span(&cursor, "the magic", MAGIC_BYTES, 1, &magic, error));
    PM_TRY(pm_cursor_u32(&cursor, "the version", &container->version, error));
    if (container->version < format->version_min || container->version > format->version_max) {
        pm_cursor_fail(&cursor, sizeof(uint32_t), error, PM_VERSION,
                       "the %s file has version %u, supported is up to %u", format->name,
                       container->version, format->version_max);
        pm_error_need_have(error, format->version_max, container->version);
        return PM_VERSION;
    }
    PM_TRY(pm_cursor_u32(&cursor, "the number of sections", &n_sections, error));
    if (n_sections > PM_CONTAINER_SECTIONS_MAX) {
        pm_cursor_fail(&cursor, sizeof(uint32_t), error, PM_SECTION,
                       "%u sections, at most %d are allowed", n_sections,
                       PM_CONTAINER_SECTIONS_MAX);
        pm_error_need_have(error, PM_CONTAINER_SECTIONS_MAX, n_sections);
        return PM_SECTION;
    }
    for (uint32_t i = 0; i < n_sections; ++i) {
        const pm_status status = read_section(container, format, &cursor, error);
        if (status != PM_OK) {
            return append_missing(container, format, status, error);
        }
    }
    if (pm_cursor_left(&cursor) > 0) {
        pm_cursor_fail(&cursor, 0, error, PM_LENGTH, "%llu bytes follow the last of %u sections",
                       (unsigned long long)pm_cursor_left(&cursor), n_sections);
        pm_error_need_have(error, 0, pm_cursor_left(&cursor));
        return PM_LENGTH;
    }
    return PM_OK;
}

pm_status pm_container_section(const struct pm_container *container,
                               const struct pm_container_format *format, uint32_t type,
                               struct pm_cursor *cursor, pm_error *error) {
    const struct pm_section *section = pm_container_find(container, type);
    const char *name = pm_container_section_name(format, type);
    if (section == NULL) {
        char missing[MISSING_TEXT_BYTES];
        if (type <= format->n_usual) {
            pm_error_set(error, PM_SECTION, "%s", list_missing(container, format, missing));
        } else {
            pm_error_set(error, PM_SECTION, "section %u (%s) is missing", type, name);
        }
        pm_error_at(error, container->mapping->name, PM_NO_OFFSET);
        return PM_SECTION;
    }
    PM_TRY(
        pm_cursor_open(container->mapping, name, section->offset, section->n_bytes, cursor, error));
    cursor->section = type;
    return PM_OK;
}

pm_status pm_container_exact(const struct pm_container *container,
                             const struct pm_container_format *format, uint32_t type,
                             uint64_t lead_bytes, uint64_t n, uint64_t element_bytes,
                             struct pm_cursor *cursor, const uint8_t **bytes, pm_error *error) {
    PM_TRY(pm_container_section(container, format, type, cursor, error));
    const uint64_t have = pm_cursor_left(cursor);
    uint64_t need = 0;
    if (!pm_checked_mul_u64(n, element_bytes, &need) ||
        !pm_checked_add_u64(need, lead_bytes, &need)) {
        need = UINT64_MAX;
    }
    if (need != have) {
        pm_cursor_fail(cursor, 0, error, PM_LENGTH,
                       "%llu bytes for %llu elements of %llu bytes, which take %llu",
                       (unsigned long long)have, (unsigned long long)n,
                       (unsigned long long)element_bytes, (unsigned long long)need);
        pm_error_need_have(error, need, have);
        return PM_LENGTH;
    }
    struct pm_cursor rest = *cursor;
    const uint8_t *lead = NULL;
    PM_TRY(pm_cursor_span(&rest, "the count", lead_bytes, 1, &lead, error));
    return pm_cursor_span(&rest, "the elements", n, element_bytes, bytes, error);
}
