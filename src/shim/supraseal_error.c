/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "shim/supraseal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fault of ours or of a device: what supraseal-c2 answers from its background thread. */
#define CODE_FAULT 1

pm_status pm_supraseal_fail(pm_error *error, pm_status status, const char *format, ...) {
    va_list arguments;
    *error = (pm_error)PM_ERROR_INIT;
    error->status = status;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

char *pm_supraseal_text(const char *text) {
    const size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (copy != NULL) {
        memcpy(copy, text, n);
    }
    return copy;
}

static int code_of(pm_status status) {
    switch (status) {
    case PM_OK:
        return 0;
    case PM_NO_MEMORY:
    case PM_OVER_BUDGET:
    case PM_BUDGET_BUSY:
        return ENOMEM;
    case PM_IO:
    case PM_FILE_CHANGED:
    case PM_NO_RANDOM:
        return EIO;
    case PM_NO_DEVICE:
        return ENODEV;
    case PM_NO_THREADS:
        return EAGAIN;
    case PM_CANCELLED:
    case PM_DEADLINE:
        return ECANCELED;
    case PM_INTERNAL:
    case PM_DEVICE:
        return CODE_FAULT;
    default: /* what the caller gave: an argument, a file, an assignment */
        return EINVAL;
    }
}

pm_supraseal_error pm_supraseal_answer_code(int code, const pm_error *error) {
    char text[sizeof error->file + sizeof error->message + 4];
    (void)snprintf(text, sizeof text, "%s%s%s", error->file, error->file[0] != '\0' ? ": " : "",
                   error->message);
    /* Without memory for the sentence the code has to do. */
    return (pm_supraseal_error){.code = code, .message = pm_supraseal_text(text)};
}

pm_supraseal_error pm_supraseal_answer(pm_status status, const pm_error *error) {
    if (status == PM_OK) {
        return (pm_supraseal_error){.code = 0, .message = NULL};
    }
    return pm_supraseal_answer_code(code_of(status), error);
}
