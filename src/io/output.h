/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/output.h - files that appear whole or not at all. See pm_files_write() in the public header.
 *
 * What is written beside its target and renamed: regular files and names that do not exist yet.
 * Symbolic links are followed: the file they lead to is replaced, the link stays. A hard link to
 * the old file keeps the old contents. What is written straight, as it cannot be replaced: "-",
 * whatever standard output is, devices and FIFOs.
 */
#ifndef PM_IO_OUTPUT_H
#define PM_IO_OUTPUT_H

#include "base/control.h"
#include "base/status.h"

#include <stddef.h>

/*
 * A target that exists keeps its permission bits and must be writable; another gets 0666 less the
 * umask. SIGINT, SIGTERM and SIGHUP of the calling thread wait while temporary files have names,
 * and a closed pipe is an error, not a signal. When a write fails every old target is as it was;
 * when a rename fails those renamed before it stay. control, which may be NULL, ends what a reader
 * could make wait for ever. Errors: IO, INVALID_ARGUMENT (two outputs with one name), NO_MEMORY,
 * CANCELLED, DEADLINE.
 */
pm_status pm_output_write_all(const pm_output *outputs, size_t n_outputs, const pm_control *control,
                              pm_error *error);
/* Errors: SAME_FILE. Names that cannot be examined are distinct from all others: opening them will
 * say why. Devices and FIFOs are never the same. */
pm_status pm_output_distinct(const char *const *inputs, size_t n_inputs, const char *const *outputs,
                             size_t n_outputs, pm_error *error);

#endif
