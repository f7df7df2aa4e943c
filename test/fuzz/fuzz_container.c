/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as each of the four containers: at most the one whose magic they bear opens, and
 * then its sections are distinct, lie one behind the other with nothing between or after them, and
 * a cursor over one gives its bytes and no more.
 */
#include "fuzz/harness.h"

#include "io/container.h"

#include <string.h>

#define HEADER_BYTES 12u

static void walk_section(const struct pm_container *container,
                         const struct pm_container_format *format,
                         const struct pm_section *section) {
    struct pm_cursor cursor;
    const uint8_t *bytes = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t word = 0;
    uint64_t pair = 0, n_read = 0;
    FUZZ_REQUIRE(pm_container_section(container, format, section->type, &cursor, NULL) == PM_OK);
    while (pm_cursor_left(&cursor) >= sizeof pair) {
        FUZZ_REQUIRE(pm_cursor_u64(&cursor, "a pair", &pair, NULL) == PM_OK);
        n_read += sizeof pair;
    }
    while (fuzz_succeeded(pm_cursor_u32(&cursor, "a word", &word, &error), &error)) {
        n_read += sizeof word;
    }
    const uint64_t left = pm_cursor_left(&cursor);
    FUZZ_REQUIRE(left < sizeof word && n_read + left == section->n_bytes);
    FUZZ_REQUIRE((pm_cursor_finish(&cursor, &error) == PM_OK) == (left == 0));
    FUZZ_REQUIRE(pm_cursor_span(&cursor, "too much", UINT64_MAX, pair | 1, &bytes, NULL) ==
                 PM_TRUNCATED);
    FUZZ_REQUIRE(pm_container_exact(container, format, section->type, 0, section->n_bytes, 1,
                                    &cursor, &bytes, NULL) == PM_OK);
    FUZZ_REQUIRE(bytes == container->mapping->bytes + section->offset);
    FUZZ_REQUIRE(pm_container_exact(container, format, section->type, 1, section->n_bytes, 1,
                                    &cursor, &bytes, NULL) == PM_LENGTH);
    FUZZ_REQUIRE(pm_container_exact(container, format, section->type, 1, UINT64_MAX, pair | 2,
                                    &cursor, &bytes, NULL) == PM_LENGTH);
}

/* Ranges that end after the file, one of them by wrapping around. */
static void open_outside(const struct pm_mapping *mapping) {
    const uint64_t n = mapping->n_bytes, starts[] = {0, n, n + 1, UINT64_MAX},
                   lengths[] = {n + 1, 1, 0, 2};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; ++i) {
        struct pm_cursor cursor;
        pm_error error = PM_ERROR_INIT;
        const pm_status status =
            pm_cursor_open(mapping, "a range", starts[i], lengths[i], &cursor, &error);
        FUZZ_REQUIRE(!fuzz_succeeded(status, &error) && status == PM_TRUNCATED);
    }
}

static void check_sections(const struct pm_container *container,
                           const struct pm_container_format *format) {
    uint64_t end = HEADER_BYTES;
    FUZZ_REQUIRE(container->n_sections <= PM_CONTAINER_SECTIONS_MAX);
    for (uint32_t i = 0; i < container->n_sections; ++i) {
        const struct pm_section *section = &container->sections[i];
        FUZZ_REQUIRE(section->offset == end + HEADER_BYTES);
        end = section->offset + section->n_bytes;
        FUZZ_REQUIRE(end <= container->mapping->n_bytes);
        FUZZ_REQUIRE(pm_container_find(container, section->type) == section);
        FUZZ_REQUIRE(pm_container_section_name(format, section->type) != NULL);
        walk_section(container, format, section);
    }
    FUZZ_REQUIRE(end == container->mapping->n_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    static const struct pm_container_format *const formats[] = {&pm_format_zkey, &pm_format_wtns,
                                                                &pm_format_r1cs, &pm_format_ptau};
    struct pm_mapping mapping;
    FUZZ_REQUIRE(pm_mapping_borrow(bytes, n_bytes, "fuzz.file", &mapping, NULL) == PM_OK);
    open_outside(&mapping);
    const struct pm_container_format *recognised = pm_container_recognise(&mapping);
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(!fuzz_succeeded(pm_container_refuse_kind(&mapping, NULL, &error), &error));
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
        struct pm_container container;
        error = (pm_error)PM_ERROR_INIT;
        const pm_status status = pm_container_open(&mapping, formats[i], &container, &error);
        FUZZ_REQUIRE((status == PM_NOT_THIS_KIND) == (formats[i] != recognised));
        if (fuzz_succeeded(status, &error)) {
            check_sections(&container, formats[i]);
        } else {
            FUZZ_REQUIRE(strcmp(error.file, "fuzz.file") == 0 && error.offset <= n_bytes);
        }
    }
    pm_mapping_close(&mapping);
    return 0;
}
