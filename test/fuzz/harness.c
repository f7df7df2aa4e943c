/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "fuzz/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *what) {
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

pm_context *fuzz_context(void) {
    static pm_context *context;
    if (context == NULL) {
        const pm_context_options options = {.struct_bytes = sizeof options, .threads = 1};
        FUZZ_REQUIRE(pm_context_create(&options, &context, NULL) == PM_OK);
    }
    return context;
}

static bool is_printable(const char *text, size_t capacity) {
    const size_t n = strnlen(text, capacity);
    for (size_t i = 0; i < n; ++i) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return false;
        }
    }
    return n < capacity;
}

bool fuzz_succeeded(pm_status status, const pm_error *error) {
    if (status == PM_OK) {
        return true;
    }
    if (error->status != (int32_t)status || error->message[0] == '\0') {
        (void)fprintf(stderr, "status %s, error says %d: %.512s\n", pm_status_name(status),
                      error->status, error->message);
    }
    FUZZ_REQUIRE(error->status == (int32_t)status);
    FUZZ_REQUIRE(error->message[0] != '\0');
    FUZZ_REQUIRE(is_printable(error->message, sizeof error->message));
    FUZZ_REQUIRE(strnlen(error->file, sizeof error->file) < sizeof error->file);
    FUZZ_REQUIRE(strcmp(pm_status_name(status), "UNKNOWN") != 0);
    FUZZ_REQUIRE(status != PM_NO_MEMORY && status != PM_NO_THREADS && status != PM_INTERNAL);
    return false;
}

bool fuzz_is_point_fault(pm_status status) {
    return status == PM_NOT_CANONICAL || status == PM_NOT_ON_CURVE ||
           status == PM_NOT_IN_SUBGROUP || status == PM_POINT_AT_INFINITY;
}

uint8_t fuzz_take_u8(struct fuzz_reader *reader) {
    uint8_t byte = 0;
    fuzz_take(reader, &byte, 1);
    return byte;
}

void fuzz_take(struct fuzz_reader *reader, void *out, size_t n) {
    const size_t have = n < reader->n_bytes ? n : reader->n_bytes;
    memset(out, 0, n);
    if (have > 0) {
        memcpy(out, reader->bytes, have);
        reader->bytes += have;
        reader->n_bytes -= have;
    }
}

uint8_t *fuzz_take_array(struct fuzz_reader *reader, size_t n) {
    uint8_t *array = malloc(n > 0 ? n : 1);
    FUZZ_REQUIRE(array != NULL);
    fuzz_take(reader, array, n);
    return array;
}

pm_curve_id fuzz_take_curve(struct fuzz_reader *reader) {
    const uint8_t byte = fuzz_take_u8(reader);
    return byte % 8 == 7 ? (pm_curve_id)(byte / 8) : (pm_curve_id)(1 + byte % 2);
}

uint64_t fuzz_hash(const uint8_t *bytes, size_t n_bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n_bytes; ++i) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
