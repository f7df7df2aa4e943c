/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *pm_status_name(pm_status status) {
    switch (status) {
#define PM_STATUS_NAME(name, number, sentence)                                                     \
    case PM_##name:                                                                                \
        return #name;
        PM_STATUS_MAP(PM_STATUS_NAME)
#undef PM_STATUS_NAME
    }
    return "UNKNOWN";
}

const char *pm_status_sentence(pm_status status) {
    switch (status) {
#define PM_STATUS_SENTENCE(name, number, sentence)                                                 \
    case PM_##name:                                                                                \
        return sentence;
        PM_STATUS_MAP(PM_STATUS_SENTENCE)
#undef PM_STATUS_SENTENCE
    }
    return "unknown status";
}

/* The size of pm_error in the first release: a caller that says less has not set struct_bytes, and
 * gets nothing written. */
#define ERROR_BYTES_FIRST (offsetof(pm_error, message) + sizeof(((pm_error *)0)->message))

static bool can_fill(const pm_error *error) {
    return error != NULL && error->struct_bytes >= ERROR_BYTES_FIRST;
}

pm_status pm_error_set(pm_error *error, pm_status status, const char *format, ...) {
    if (can_fill(error)) {
        error->status = (int32_t)status;
        error->offset = PM_NO_OFFSET;
        error->need = 0;
        error->have = 0;
        error->file[0] = '\0';
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

void pm_error_at(pm_error *error, const char *file, uint64_t offset) {
    if (!can_fill(error)) {
        return;
    }
    error->offset = offset;
    if (file != NULL) {
        /* The end of a path says more than its beginning, so a long one loses its head. */
        size_t n = strlen(file);
        const char *tail = n < sizeof error->file ? file : file + (n - sizeof error->file + 1);
        memcpy(error->file, tail, strlen(tail) + 1);
    }
}

void pm_error_need_have(pm_error *error, uint64_t need, uint64_t have) {
    if (can_fill(error)) {
        error->need = need;
        error->have = have;
    }
}

void pm_error_copy(pm_error *error, const pm_error *from) {
    if (can_fill(error)) {
        const uint32_t struct_bytes = error->struct_bytes;
        *error = *from;
        error->struct_bytes = struct_bytes;
    }
}

pm_status pm_error_set_errno(pm_error *error, pm_status status, int errno_value, const char *file,
                             const char *what) {
    /* strerrordesc_np is the locale-independent one: output must not depend on the locale. */
    const char *reason = strerrordesc_np(errno_value);
    pm_error_set(error, status, "%s: %s", what, reason != NULL ? reason : "unknown error");
    pm_error_at(error, file, PM_NO_OFFSET);
    return status;
}
