/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/destination.h - where the bytes of an output go: to a file that is staged beside its target,
 * or straight to what cannot be replaced ("-", whatever standard output is, devices and FIFOs).
 */
#ifndef PM_IO_DESTINATION_H
#define PM_IO_DESTINATION_H

#include "base/control.h"
#include "base/status.h"
#include "io/staged.h"

#include <stdbool.h>
#include <stddef.h>

struct pm_destination {
    bool is_straight;
    const pm_control *control; /* of waiting for a reader; may be NULL */
    size_t write_bytes_max;    /* handed to one write(2) */
    struct pm_staged file;     /* when straight: only its fd and, if there is one, its target */
};

/* "-" */
bool pm_destination_is_stdout_name(const char *path);

/* Finds out which of the two path is, and opens what is straight: file.fd stays -1 where the owner
 * is to call pm_staged_open(). path and control are borrowed. A reader may keep us waiting for
 * ever, in opening a FIFO and in writing to a pipe that is full: control ends that, and a caller
 * that has none gets out of the opening by any signal it handles. pm_destination_close() is due
 * whatever the result. Errors: IO, CANCELLED, DEADLINE. */
pm_status pm_destination_resolve(const char *path, const pm_control *control,
                                 struct pm_destination *destination, pm_error *error);
/* Writes all n_bytes at the end. A closed pipe is an error, not a signal. Errors: IO; CANCELLED and
 * DEADLINE where the destination is straight. */
pm_status pm_destination_append(struct pm_destination *destination, const void *bytes,
                                size_t n_bytes, pm_error *error);
/* Closes it, all but standard output; a staged file without its final name is gone. Idempotent. */
void pm_destination_close(struct pm_destination *destination);

#endif
