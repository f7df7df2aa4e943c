/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/output_stream.h - a file written piece by piece, that appears whole or not at all. See
 * pm_file_writer_create() in the public header; io/output.h says what is replaced and what is
 * written straight.
 */
#ifndef PM_IO_OUTPUT_STREAM_H
#define PM_IO_OUTPUT_STREAM_H

#include "base/status.h"
#include "io/destination.h"

#include <stddef.h>

struct pm_output_stream {
    struct pm_destination to;
};

/* path and control, which may be NULL, are borrowed until the stream is closed. On failure *stream
 * needs no further call. Errors: IO, NO_RANDOM, CANCELLED, DEADLINE. */
pm_status pm_output_stream_open(const char *path, const pm_control *control,
                                struct pm_output_stream *stream, pm_error *error);
/* Before the first append: the file will be readable and writable by its owner alone, also where it
 * replaces another. What is written straight keeps its mode. Errors: IO. */
pm_status pm_output_stream_make_private(struct pm_output_stream *stream, pm_error *error);
/* Errors: those of pm_destination_append(). */
pm_status pm_output_stream_append(struct pm_output_stream *stream, const void *bytes,
                                  size_t n_bytes, pm_error *error);
/* Syncs what was appended and gives it the target's name. On failure the old target is as it was.
 * SIGINT, SIGTERM and SIGHUP of the calling thread wait meanwhile. Errors: IO, NO_RANDOM. */
pm_status pm_output_stream_publish(struct pm_output_stream *stream, pm_error *error);
/* Releases; what was not published is gone. Idempotent. */
void pm_output_stream_close(struct pm_output_stream *stream);

#endif
