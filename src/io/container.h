/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/container.h - the container that .zkey, .wtns, .r1cs and .ptau share: magic, version,
 * sections.
 *
 * The table of sections is read and checked once, by the same code for every format: each section
 * lies inside the file, none is doubled (of those known to the format or not), nothing follows the
 * last one. Order is free; types the format does not know are kept and accepted. An error about a
 * missing section or the end of the file names every section that a complete file would have.
 */
#ifndef PM_IO_CONTAINER_H
#define PM_IO_CONTAINER_H

#include "base/limits.h"
#include "base/status.h"
#include "io/cursor.h"
#include "io/mapping.h"

#include <stdint.h>

struct pm_section {
    uint32_t type;
    uint64_t offset; /* of its data */
    uint64_t n_bytes;
};

struct pm_container {
    const struct pm_mapping *mapping; /* borrowed */
    uint32_t version;
    uint32_t n_sections;
    struct pm_section sections[PM_CONTAINER_SECTIONS_MAX]; /* in the file's order */
};

/* The section in which a development key says what it is; peers pass over it. */
#define PM_ZKEY_SECTION_DEVELOPMENT 1000u

/* What a format is called and what its sections are; a table per format. */
struct pm_container_format {
    char magic[5];    /* "zkey" */
    const char *name; /* for messages: ".zkey" */
    uint32_t kind;    /* a pm_file_kind */
    uint32_t version_min, version_max;
    uint32_t n_section_names;
    const char *const *section_names; /* indexed by type; NULL where there is none */
    uint32_t private_type;            /* one more, far from the others; 0: there is none */
    const char *private_name;
    uint32_t n_usual; /* a complete file has sections 1 to n_usual; not all may be needed */
};

extern const struct pm_container_format pm_format_zkey, pm_format_wtns, pm_format_r1cs,
    pm_format_ptau;

/* Errors: NOT_THIS_KIND, VERSION, TRUNCATED, SECTION (doubled, too many), LENGTH (trailing bytes).
 */
pm_status pm_container_open(const struct pm_mapping *mapping,
                            const struct pm_container_format *format,
                            struct pm_container *container, pm_error *error);
/* NULL if there is none. */
const struct pm_section *pm_container_find(const struct pm_container *container, uint32_t type);
/* Opens a cursor over a section; SECTION if it is missing. */
pm_status pm_container_section(const struct pm_container *container,
                               const struct pm_container_format *format, uint32_t type,
                               struct pm_cursor *cursor, pm_error *error);
/* The same, and the section must be exactly lead_bytes + n * element_bytes long: LENGTH otherwise.
 * The bytes after the lead are at *bytes; the cursor stands before the lead. */
pm_status pm_container_exact(const struct pm_container *container,
                             const struct pm_container_format *format, uint32_t type,
                             uint64_t lead_bytes, uint64_t n, uint64_t element_bytes,
                             struct pm_cursor *cursor, const uint8_t **bytes, pm_error *error);
/* "" for a type the format does not know. */
const char *pm_container_section_name(const struct pm_container_format *format, uint32_t type);
/* Recognises the magic in the first bytes of a mapping; NULL if it is none of ours. */
const struct pm_container_format *pm_container_recognise(const struct pm_mapping *mapping);
/* NOT_THIS_KIND, with a sentence that says what the file looks like. expected: NULL when any of our
 * formats would have done. */
pm_status pm_container_refuse_kind(const struct pm_mapping *mapping,
                                   const struct pm_container_format *expected, pm_error *error);

#endif
