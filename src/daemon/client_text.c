/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_text.c - sizes, times, tables, and text that a terminal may be shown. */
#include "daemon/client_text.h"

#include "base/characters.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---------------------------------------------------------------------------------------------
 * Numbers
 * ------------------------------------------------------------------------------------------- */

const char *pm_client_size_text(uint64_t bytes, char text[PM_CLIENT_SIZE_CHARS]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024) {
        value /= 1024;
        unit++;
    }
    const int digits = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    (void)snprintf(text, PM_CLIENT_SIZE_CHARS, "%.*f %s", digits, value, units[unit]);
    return text;
}

const char *pm_client_span_text(uint64_t ms, char text[PM_CLIENT_TIME_CHARS]) {
    const uint64_t s = ms / 1000, minutes = s / 60, hours = minutes / 60;
    if (ms < 1000) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "%" PRIu64 " ms", ms);
    } else if (s < 10) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "%" PRIu64 ".%02" PRIu64 " s", s,
                       ms % 1000 / 10);
    } else if (s < 60) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "%" PRIu64 " s", s);
    } else if (hours == 0) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "%" PRIu64 " min %02" PRIu64 " s", minutes,
                       s % 60);
    } else if (hours < 24) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "%" PRIu64 " h %02" PRIu64 " min", hours,
                       minutes % 60);
    } else {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "%" PRIu64 " d %02" PRIu64 " h", hours / 24,
                       hours % 24);
    }
    return text;
}

/* The end of the year 9999, so that the text keeps its width. */
#define LAST_MOMENT_S UINT64_C(253402300799)

const char *pm_client_moment_text(uint64_t unix_ms, char text[PM_CLIENT_TIME_CHARS]) {
    const time_t moment = (time_t)(unix_ms / 1000);
    struct tm parts;
    if (unix_ms == 0) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "-");
    } else if (unix_ms / 1000 > LAST_MOMENT_S || localtime_r(&moment, &parts) == NULL ||
               strftime(text, PM_CLIENT_TIME_CHARS, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        (void)snprintf(text, PM_CLIENT_TIME_CHARS, "?");
    }
    return text;
}

/* ---------------------------------------------------------------------------------------------
 * Characters
 * ------------------------------------------------------------------------------------------- */

/* The code point at text and in *n its bytes; UINT32_MAX, and one byte, for what is not UTF-8 in
 * its shortest form. */
static uint32_t read_code_point(const unsigned char *text, size_t *n) {
    const size_t n_bytes = pm_utf8_bytes(text, SIZE_MAX);
    *n = n_bytes != 0 ? n_bytes : 1;
    if (n_bytes < 2) {
        return n_bytes == 1 ? text[0] : UINT32_MAX;
    }
    uint32_t point = text[0] & (0x7fu >> n_bytes);
    for (size_t i = 1; i < n_bytes; i++) {
        point = point << 6 | (text[i] & 0x3fu);
    }
    return point;
}

static bool is_printable(uint32_t point) {
    return point >= 0x20 && (point < 0x7f || point > 0x9f) && point <= 0x10ffff &&
           !(point >= 0x200e && point <= 0x200f) && !(point >= 0x2028 && point <= 0x202e) &&
           !(point >= 0x2066 && point <= 0x2069) && point != 0xfeff;
}

const char *pm_client_printable(const char *text, char *out, size_t n_out) {
    size_t used = 0;
    for (const char *at = text != NULL ? text : ""; *at != '\0';) {
        size_t n = 1;
        const bool good = is_printable(read_code_point((const unsigned char *)at, &n));
        const size_t n_shown = good ? n : 1;
        if (used + n_shown + 1 > n_out) {
            break;
        }
        (void)memcpy(out + used, good ? at : "?", n_shown);
        used += n_shown;
        at += n;
    }
    out[used] = '\0';
    return out;
}

/* Bytes that continue a code point are 10xxxxxx. */
static bool begins_column(char byte) {
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t pm_client_columns(const char *text) {
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += begins_column(*text);
    }
    return n;
}

size_t pm_client_bytes_of_columns(const char *text, size_t n_columns) {
    size_t n = 0, at = 0;
    for (; text[at] != '\0'; at++) {
        n += begins_column(text[at]);
        if (n > n_columns) {
            break;
        }
    }
    return at;
}

/* ---------------------------------------------------------------------------------------------
 * Text that grows
 * ------------------------------------------------------------------------------------------- */

static bool make_room(struct pm_client_text *text, size_t n_bytes) {
    size_t need = 0;
    if (__builtin_add_overflow(text->n_bytes, n_bytes, &need) || need > SIZE_MAX / 2 - 1) {
        text->is_short = true;
    } else if (need + 1 > text->room) {
        const size_t room = (need + 1) * 2;
        char *grown = realloc(text->bytes, room);
        text->is_short |= grown == NULL;
        text->bytes = grown != NULL ? grown : text->bytes;
        text->room = grown != NULL ? room : text->room;
    }
    return !text->is_short;
}

void pm_client_text_add_bytes(struct pm_client_text *text, const char *bytes, size_t n_bytes) {
    if (make_room(text, n_bytes)) {
        if (n_bytes > 0) {
            (void)memcpy(text->bytes + text->n_bytes, bytes, n_bytes);
        }
        text->n_bytes += n_bytes;
        text->bytes[text->n_bytes] = '\0';
    }
}

void pm_client_text_add(struct pm_client_text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int n = vsnprintf(NULL, 0, format, arguments);
    if (n < 0) {
        text->is_short = true;
    } else if (make_room(text, (size_t)n)) {
        (void)vsnprintf(text->bytes + text->n_bytes, (size_t)n + 1, format, again);
        text->n_bytes += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

void pm_client_text_free(struct pm_client_text *text) {
    free(text->bytes);
    *text = (struct pm_client_text){0};
}

/* ---------------------------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------------------------- */

/* Between two columns. */
#define GAP 2

void pm_client_table_cell(struct pm_client_table *table, const char *format, ...) {
    char raw[512], cell[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    if (table->n_cells == table->room) {
        const size_t room = table->room * 2 + 32;
        char **grown = realloc(table->cells, room * sizeof *grown);
        table->is_short |= grown == NULL;
        table->cells = grown != NULL ? grown : table->cells;
        table->room = grown != NULL ? room : table->room;
    }
    char *copy = NULL;
    if (!table->is_short) {
        copy = strdup(raw[0] != '\0' ? pm_client_printable(raw, cell, sizeof cell) : "-");
        table->is_short = copy == NULL;
    }
    if (copy != NULL) {
        table->cells[table->n_cells++] = copy;
    }
}

void pm_client_table_begin(struct pm_client_table *table, uint32_t right, const char *heads) {
    *table = (struct pm_client_table){.right = right};
    for (const char *head = heads;;) {
        const size_t n = strcspn(head, "|");
        table->n_columns++;
        pm_client_table_cell(table, "%.*s", (int)n, head);
        if (head[n] == '\0') {
            break;
        }
        head += n + 1;
    }
}

size_t pm_client_table_rows(const struct pm_client_table *table) {
    return table->n_cells / table->n_columns - (table->n_cells >= table->n_columns);
}

static void write_row(const struct pm_client_table *table, size_t row, const size_t *widths,
                      size_t width, struct pm_client_text *text) {
    struct pm_client_text line = {0};
    for (uint32_t column = 0; column < table->n_columns; column++) {
        const char *cell = table->cells[row * table->n_columns + column];
        const size_t blank = widths[column] - pm_client_columns(cell);
        const bool is_last = column + 1 == table->n_columns;
        const bool right = (table->right >> column & 1) != 0;
        pm_client_text_add(&line, "%*s%s%*s", right ? (int)blank : 0, "", cell,
                           is_last ? 0 : (right ? GAP : (int)blank + GAP), "");
    }
    if (line.bytes != NULL) {
        const size_t n = width != 0 ? pm_client_bytes_of_columns(line.bytes, width) : line.n_bytes;
        pm_client_text_add_bytes(text, line.bytes, n);
        pm_client_text_add(text, "\n");
    }
    text->is_short |= line.is_short;
    pm_client_text_free(&line);
}

void pm_client_table_write(const struct pm_client_table *table, size_t n_rows, size_t width,
                           struct pm_client_text *text) {
    size_t widths[32] = {0};
    const size_t n = pm_client_table_rows(table) < n_rows ? pm_client_table_rows(table) : n_rows;
    text->is_short |= table->is_short || table->n_columns > 32;
    if (text->is_short) {
        return;
    }
    for (size_t i = 0; i < (n + 1) * table->n_columns; i++) {
        const size_t columns = pm_client_columns(table->cells[i]);
        size_t *widest = &widths[i % table->n_columns];
        *widest = columns > *widest ? columns : *widest;
    }
    for (size_t row = 0; row <= n; row++) {
        write_row(table, row, widths, width, text);
    }
}

void pm_client_table_free(struct pm_client_table *table) {
    for (size_t i = 0; i < table->n_cells; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    *table = (struct pm_client_table){0};
}
