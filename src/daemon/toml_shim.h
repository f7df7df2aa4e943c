/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/toml_shim.h - toml++ for C: a text becomes a walk over what stands in it, in its order.
 *
 * Nothing of C++ comes out of the shim, exceptions included.
 */
#ifndef PM_DAEMON_TOML_SHIM_H
#define PM_DAEMON_TOML_SHIM_H

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PM_TOML_NONE UINT32_MAX

enum pm_toml_kind {
    PM_TOML_STRING,
    PM_TOML_INTEGER,
    PM_TOML_FLOAT,
    PM_TOML_BOOLEAN,
    PM_TOML_DATE,  /* dates and times */
    PM_TOML_ARRAY, /* its elements follow, each an item of its own */
    PM_TOML_TABLE  /* what stands in it follows, with its name as section */
};

/* Strings are the walk's, and end when the visitor returns. */
struct pm_toml_item {
    const char *section; /* "" at the top, "a.b" below a table */
    uint32_t table;      /* of a [[section]]: its number, from 0; else PM_TOML_NONE */
    const char *key;
    uint32_t element; /* of an array: its number, from 0; else PM_TOML_NONE */
    enum pm_toml_kind kind;
    const char *text; /* STRING: UTF-8, with a NUL behind n_text bytes; "" for other kinds */
    size_t n_text;
    int64_t integer; /* INTEGER, BOOLEAN (0 or 1), ARRAY (how many elements) */
    uint32_t line, column;
};

/* Anything but OK ends the walk. */
typedef pm_status pm_toml_visitor(void *user, const struct pm_toml_item *item, pm_error *error);

/* A [[section]] is one TABLE item for each of its tables, and its section is "section" with their
 * number. Errors: ENCODING (not TOML; the sentence begins with "name:line: "), NO_MEMORY, the
 * visitor's. */
pm_status pm_toml_walk(const char *text, size_t n_bytes, const char *name, pm_toml_visitor *visit,
                       void *user, pm_error *error);

#ifdef __cplusplus
}
#endif

#endif
