/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/http.h"

#include "base/characters.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing that is said here comes near it. */
#define TEXT_BYTES_MAX (UINT64_C(64) << 20)

static bool make_room(struct pm_text *text, size_t more_bytes) {
    const size_t need = text->n_bytes + more_bytes + 1;
    if (need <= text->capacity) {
        return true;
    }
    const size_t capacity = need > 2 * text->capacity ? need + 4096 : 2 * text->capacity;
    char *bytes = capacity <= TEXT_BYTES_MAX ? realloc(text->bytes, capacity) : NULL;
    if (bytes == NULL) {
        text->has_failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void pm_text_add(struct pm_text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int n = text->has_failed ? -1 : vsnprintf(NULL, 0, format, arguments);
    if (n < 0) {
        text->has_failed = true;
    } else if (make_room(text, (size_t)n)) {
        (void)vsnprintf(text->bytes + text->n_bytes, (size_t)n + 1, format, again);
        text->n_bytes += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

pm_status pm_text_take(struct pm_text *text, char **bytes, size_t *n_bytes, pm_error *error) {
    if (!text->has_failed) {
        pm_text_add(text, "%s", ""); /* so that there are bytes, and a NUL */
    }
    if (text->has_failed) {
        free(text->bytes);
        *text = (struct pm_text){0};
        PM_FAIL(error, PM_NO_MEMORY, "no memory for the answer");
    }
    *bytes = text->bytes;
    *n_bytes = text->n_bytes;
    *text = (struct pm_text){0};
    return PM_OK;
}

void pm_text_clean(const char *from, char *out, size_t out_bytes) {
    size_t at = 0;
    while (*from != '\0') {
        const size_t n = pm_utf8_bytes(from, SIZE_MAX);
        const size_t n_out = n != 0 ? n : 1;
        if (at + n_out >= out_bytes) {
            break;
        }
        if (n != 0) {
            memcpy(out + at, from, n);
        } else {
            out[at] = '?';
        }
        at += n_out;
        from += n_out;
    }
    out[at] = '\0';
}
