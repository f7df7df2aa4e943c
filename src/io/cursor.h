/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/cursor.h - the one way to read structured bytes: every read is checked against what is left.
 *
 * A cursor walks a range of a mapping. A failed read returns a status with the file, the offset,
 * what was needed and what was there, and leaves the cursor where it was. All integers are
 * little-endian.
 */
#ifndef PM_IO_CURSOR_H
#define PM_IO_CURSOR_H

#include "base/status.h"
#include "io/mapping.h"

#include <stdint.h>

struct pm_cursor {
    const struct pm_mapping *mapping;
    uint32_t section;  /* its type, for messages; 0: the range is no section */
    const char *what;  /* static: "groth16 header", for messages */
    uint64_t position; /* byte in the file */
    uint64_t end;      /* first byte after the range */
};

/* offset + n_bytes must lie inside the mapping: TRUNCATED otherwise. The mapping is borrowed. */
pm_status pm_cursor_open(const struct pm_mapping *mapping, const char *what, uint64_t offset,
                         uint64_t n_bytes, struct pm_cursor *cursor, pm_error *error);
uint64_t pm_cursor_left(const struct pm_cursor *cursor);
/* field: static name of what is read, for messages. Errors: TRUNCATED. */
pm_status pm_cursor_u32(struct pm_cursor *cursor, const char *field, uint32_t *value,
                        pm_error *error);
pm_status pm_cursor_u64(struct pm_cursor *cursor, const char *field, uint64_t *value,
                        pm_error *error);
/* A pointer to n * element_bytes bytes inside the mapping (product checked), no copy. Errors:
 * TRUNCATED. */
pm_status pm_cursor_span(struct pm_cursor *cursor, const char *field, uint64_t n,
                         uint64_t element_bytes, const uint8_t **bytes, pm_error *error);
/* LENGTH unless everything has been read. */
pm_status pm_cursor_finish(const struct pm_cursor *cursor, pm_error *error);
/* Fails with status at the cursor's position minus `back` bytes: for values that were read and are
 * wrong. The sentence is prefixed with the range's name. */
__attribute__((format(printf, 5, 6))) pm_status pm_cursor_fail(const struct pm_cursor *cursor,
                                                               uint64_t back, pm_error *error,
                                                               pm_status status, const char *format,
                                                               ...);

#endif
