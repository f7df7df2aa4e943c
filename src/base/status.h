/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/status.h - how a function reports failure: a pm_status, and a sentence in a pm_error.
 *
 * One line per check:
 *     PM_TRY(pm_do_it(..., error));                          pass a failure up as it is
 *     PM_FAIL(error, PM_COUNT, "need %u, have %u", a, b);    make one and return it
 *     PM_FAIL_IF(a > b, error, PM_COUNT, "...", ...);        the same behind a condition
 * A function that owns things uses PM_TRY_GOTO and a single label `cleanup`.
 */
#ifndef PM_BASE_STATUS_H
#define PM_BASE_STATUS_H

#include <proofmill/proofmill.h>

#include <stdarg.h>
#include <stdint.h>

/* Fills *error (NULL is fine) with status and a formatted sentence and returns status. Offset,
 * file, need and have are reset. */
__attribute__((format(printf, 3, 4))) pm_status pm_error_set(pm_error *error, pm_status status,
                                                             const char *format, ...);
/* Each adds one fact to an error that has been set; no-ops on NULL. */
void pm_error_at(pm_error *error, const char *file, uint64_t offset);
void pm_error_need_have(pm_error *error, uint64_t need, uint64_t have);
/* Tells a caller what another thread filled in for itself; struct_bytes stays the caller's, and as
 * always nothing is written to one that says less than the first release's size. No-op on NULL. */
void pm_error_copy(pm_error *error, const pm_error *from);
/* Appends ": " and strerror-like text for errno_value, in the C locale's English. */
pm_status pm_error_set_errno(pm_error *error, pm_status status, int errno_value, const char *file,
                             const char *what);

#define PM_TRY(call)                                                                               \
    do {                                                                                           \
        pm_status pm_try_status_ = (call);                                                         \
        if (pm_try_status_ != PM_OK) {                                                             \
            return pm_try_status_;                                                                 \
        }                                                                                          \
    } while (0)

#define PM_TRY_GOTO(status, call, label)                                                           \
    do {                                                                                           \
        (status) = (call);                                                                         \
        if ((status) != PM_OK) {                                                                   \
            goto label;                                                                            \
        }                                                                                          \
    } while (0)

#define PM_FAIL(error, status, ...) return pm_error_set((error), (status), __VA_ARGS__)

#define PM_FAIL_IF(condition, error, status, ...)                                                  \
    do {                                                                                           \
        if (condition) {                                                                           \
            return pm_error_set((error), (status), __VA_ARGS__);                                   \
        }                                                                                          \
    } while (0)

#endif
