/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/client_text.h - what the client's verbs print: sizes, times, tables.
 *
 * Names and sentences come from a daemon that may be anybody's: whatever is printed goes through
 * pm_client_printable() or a table first. Columns are counted in code points.
 */
#ifndef PM_DAEMON_CLIENT_TEXT_H
#define PM_DAEMON_CLIENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PM_CLIENT_SIZE_CHARS 24
/* "1.25 GiB". Returns text. */
const char *pm_client_size_text(uint64_t bytes, char text[PM_CLIENT_SIZE_CHARS]);

#define PM_CLIENT_TIME_CHARS 32
/* "12 ms", "1.25 s", "42 s", "3 min 05 s", "2 h 07 min", "3 d 04 h". Returns text. */
const char *pm_client_span_text(uint64_t ms, char text[PM_CLIENT_TIME_CHARS]);
/* "2026-11-30 18:09:14" in local time; "-" for 0, "?" for what no calendar has. Returns text. */
const char *pm_client_moment_text(uint64_t unix_ms, char text[PM_CLIENT_TIME_CHARS]);

/* Copies as much of text as fits: control characters, what is not UTF-8 and marks that turn the
 * direction of a line become '?'. text NULL is "". Returns out. */
const char *pm_client_printable(const char *text, char *out, size_t n_out);
size_t pm_client_columns(const char *text);
/* Bytes of the first n_columns columns of text. */
size_t pm_client_bytes_of_columns(const char *text, size_t n_columns);

/* Text that grows; all zero is an empty one. is_short: memory ran out, and it is not whole. */
struct pm_client_text {
    char *bytes; /* ends with NUL; NULL: nothing was added */
    size_t n_bytes, room;
    bool is_short;
};

__attribute__((format(printf, 2, 3))) void pm_client_text_add(struct pm_client_text *text,
                                                              const char *format, ...);
void pm_client_text_add_bytes(struct pm_client_text *text, const char *bytes, size_t n_bytes);
void pm_client_text_free(struct pm_client_text *text);

/* Rows of cells, the first of them the heads. */
struct pm_client_table {
    uint32_t n_columns;
    uint32_t right; /* bit i: column i is set to the right */
    char **cells;   /* printable; row by row */
    size_t n_cells, room;
    bool is_short;
};

/* heads: n_columns names between '|'. */
void pm_client_table_begin(struct pm_client_table *table, uint32_t right, const char *heads);
/* The next cell, made printable, at most 511 bytes of it; an empty one is shown as "-". */
__attribute__((format(printf, 2, 3))) void pm_client_table_cell(struct pm_client_table *table,
                                                                const char *format, ...);
size_t pm_client_table_rows(const struct pm_client_table *table); /* without the heads */
/* Adds heads and the first n_rows rows, each line cut at width columns. 0: not cut. */
void pm_client_table_write(const struct pm_client_table *table, size_t n_rows, size_t width,
                           struct pm_client_text *text);
void pm_client_table_free(struct pm_client_table *table);

#endif
