/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* shim/rapidsnark_message.h - sentences for the error_msg and error_msg_maxsize of rapidsnark. */
#ifndef PM_SHIM_RAPIDSNARK_MESSAGE_H
#define PM_SHIM_RAPIDSNARK_MESSAGE_H

#include <proofmill/proofmill.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where the caller wants the sentence; to may be NULL and n_bytes 0. */
struct pm_rapidsnark_message {
    char *to;
    unsigned long long n_bytes;
};

/* Writes "file: sentence" of a failed call, cut to what fits. */
static inline void pm_rapidsnark_say(const struct pm_rapidsnark_message *message,
                                     const pm_error *error) {
    if (message->to == NULL || message->n_bytes == 0) {
        return;
    }
    char line[sizeof error->file + sizeof error->message + 2];
    const char *sentence =
        error->message[0] != '\0' ? error->message : pm_status_sentence((pm_status)error->status);
    /* Not straight into the caller's buffer: C leaves sizes above INT_MAX undefined. */
    (void)snprintf(line, sizeof line, "%s%s%s", error->file, error->file[0] != '\0' ? ": " : "",
                   sentence);
    const size_t n = strlen(line);
    const size_t n_fitting = n < message->n_bytes ? n : (size_t)message->n_bytes - 1;
    memcpy(message->to, line, n_fitting);
    message->to[n_fitting] = '\0';
}

/* Makes a failure of the shim's own. */
__attribute__((format(printf, 3, 4))) static inline pm_status
pm_rapidsnark_fail(pm_error *error, pm_status status, const char *format, ...) {
    *error = (pm_error)PM_ERROR_INIT;
    error->status = (int32_t)status;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

#endif
