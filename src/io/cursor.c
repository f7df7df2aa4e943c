/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/cursor.h"

#include "base/checked.h"

#include <stdio.h>
#include <string.h>

pm_status pm_cursor_open(const struct pm_mapping *mapping, const char *what, uint64_t offset,
                         uint64_t n_bytes, struct pm_cursor *cursor, pm_error *error) {
    uint64_t end = 0;
    if (!pm_checked_add_u64(offset, n_bytes, &end) || end > mapping->n_bytes) {
        const uint64_t left = offset < mapping->n_bytes ? mapping->n_bytes - offset : 0;
        pm_error_set(error, PM_TRUNCATED,
                     "%s needs %llu bytes, but the file ends %llu bytes after its beginning", what,
                     (unsigned long long)n_bytes, (unsigned long long)left);
        pm_error_at(error, mapping->name, offset);
        pm_error_need_have(error, n_bytes, left);
        return PM_TRUNCATED;
    }
    *cursor = (struct pm_cursor){.mapping = mapping, .what = what, .position = offset, .end = end};
    return PM_OK;
}

uint64_t pm_cursor_left(const struct pm_cursor *cursor) {
    return cursor->end - cursor->position;
}

pm_status pm_cursor_fail(const struct pm_cursor *cursor, uint64_t back, pm_error *error,
                         pm_status status, const char *format, ...) {
    if (error == NULL) {
        return status;
    }
    char sentence[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (cursor->section != 0) {
        pm_error_set(error, status, "section %u (%s): %s", cursor->section, cursor->what, sentence);
    } else {
        pm_error_set(error, status, "%s: %s", cursor->what, sentence);
    }
    pm_error_at(error, cursor->mapping->name, cursor->position - back);
    return status;
}

static pm_status take(struct pm_cursor *cursor, const char *field, uint64_t n_bytes,
                      const uint8_t **bytes, pm_error *error) {
    const uint64_t left = pm_cursor_left(cursor);
    if (n_bytes > left) {
        pm_cursor_fail(cursor, 0, error, PM_TRUNCATED,
                       "%llu bytes are needed for %s, %llu are left", (unsigned long long)n_bytes,
                       field, (unsigned long long)left);
        pm_error_need_have(error, n_bytes, left);
        return PM_TRUNCATED;
    }
    /* An empty mapping has no address to add to. */
    *bytes = cursor->mapping->n_bytes > 0 ? cursor->mapping->bytes + cursor->position : NULL;
    cursor->position += n_bytes;
    return PM_OK;
}

pm_status pm_cursor_u32(struct pm_cursor *cursor, const char *field, uint32_t *value,
                        pm_error *error) {
    const uint8_t *bytes = NULL;
    PM_TRY(take(cursor, field, sizeof *value, &bytes, error));
    memcpy(value, bytes, sizeof *value);
    return PM_OK;
}

pm_status pm_cursor_u64(struct pm_cursor *cursor, const char *field, uint64_t *value,
                        pm_error *error) {
    const uint8_t *bytes = NULL;
    PM_TRY(take(cursor, field, sizeof *value, &bytes, error));
    memcpy(value, bytes, sizeof *value);
    return PM_OK;
}

pm_status pm_cursor_span(struct pm_cursor *cursor, const char *field, uint64_t n,
                         uint64_t element_bytes, const uint8_t **bytes, pm_error *error) {
    uint64_t n_bytes = 0;
    if (!pm_checked_mul_u64(n, element_bytes, &n_bytes)) {
        n_bytes = UINT64_MAX; /* more than any file has: refused below with the numbers */
    }
    return take(cursor, field, n_bytes, bytes, error);
}

pm_status pm_cursor_finish(const struct pm_cursor *cursor, pm_error *error) {
    const uint64_t left = pm_cursor_left(cursor);
    if (left > 0) {
        pm_cursor_fail(cursor, 0, error, PM_LENGTH, "%llu bytes too long for its contents",
                       (unsigned long long)left);
        pm_error_need_have(error, 0, left);
        return PM_LENGTH;
    }
    return PM_OK;
}
