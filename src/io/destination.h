/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/destination.h - where the bytes of an output go: to a file that is staged beside its target,
 * or straight to what cannot be replaced ("-", whatever standard output is, devices and FIFOs).
 */
#ifndef PM_IO_DESTINATION_H
#define PM_IO_DESTINATION_H

#include "base/status.h"
#include "io/staged.h"

#include <stdbool.h>
#include <stddef.h>

struct pm_destination {
    bool is_straight;
    struct pm_staged file; /* when straight: only its fd and, if there is one, its target */
};

/* "-" */
bool pm_destination_is_stdout_name(const char *path);

/* Finds out which of the two path is, and opens what is straight: file.fd stays -1 where the owner
 * is to call pm_staged_open(). path is borrowed. pm_destination_close() is due whatever the result.
 * Errors: IO. */
pm_status pm_destination_resolve(const char *path, struct pm_destination *destination,
                                 pm_error *error);
/* Writes all n_bytes at the end. A closed pipe is an error, not a signal. Errors: IO. */
pm_status pm_destination_append(struct pm_destination *destination, const void *bytes,
                                size_t n_bytes, pm_error *error);
/* Closes it, all but standard output; a staged file without its final name is gone. Idempotent. */
void pm_destination_close(struct pm_destination *destination);

#endif
