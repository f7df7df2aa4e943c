/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json/json_text.h - text that grows, and snarkjs's layout on top of it: a member or element a
 * line, one space a level.
 *
 * A failed allocation is remembered; what follows is ignored, and pm_json_writer_finish() reports
 * it.
 */
#ifndef PM_JSON_TEXT_H
#define PM_JSON_TEXT_H

#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_json_writer {
    char *bytes;
    size_t n_bytes, capacity;
    size_t depth;
    bool failed;
    bool first; /* nothing has been written yet inside the innermost bracket */
};

/* Zeroed memory that free() releases, NULL when there is none: the one place of this layer that
 * asks for any. */
void *pm_json_allocate(size_t n, size_t element_bytes);

/* Appends as it is. */
void pm_json_put(struct pm_json_writer *writer, const char *characters, size_t n);
void pm_json_puts(struct pm_json_writer *writer, const char *string);
/* 32 little-endian bytes as 0x and 64 hexadecimal digits. */
void pm_json_hex(struct pm_json_writer *writer, const uint8_t *value);

/* key is NULL inside an array and at the top. bracket is '[', '{', ']' or '}'. */
void pm_json_open(struct pm_json_writer *writer, const char *key, char bracket);
void pm_json_close(struct pm_json_writer *writer, char bracket);
/* string holds nothing that needs an escape. */
void pm_json_string(struct pm_json_writer *writer, const char *key, const char *string);
void pm_json_null(struct pm_json_writer *writer);
void pm_json_integer(struct pm_json_writer *writer, const char *key, uint64_t value);
/* A field element of n_bytes (32 or 48) as decimal string; n of them as an array. */
void pm_json_element(struct pm_json_writer *writer, const uint8_t *bytes, size_t n_bytes);
void pm_json_elements(struct pm_json_writer *writer, const uint8_t *bytes, size_t n_bytes,
                      size_t n);
/* A point, coordinates of fp_bytes; all zero is infinity. */
void pm_json_g1(struct pm_json_writer *writer, const char *key, const uint8_t *point,
                size_t fp_bytes);
void pm_json_g2(struct pm_json_writer *writer, const char *key, const uint8_t *point,
                size_t fp_bytes);

/* Hands the text over. Errors: NO_MEMORY. */
pm_status pm_json_writer_finish(struct pm_json_writer *writer, struct pm_json_text *text,
                                pm_error *error);

#endif
