/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/output_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

pm_status pm_output_stream_open(const char *path, const pm_control *control,
                                struct pm_output_stream *stream, pm_error *error) {
    pm_status status = pm_destination_resolve(path, control, &stream->to, error);
    if (status == PM_OK && !stream->to.is_straight) {
        status = pm_staged_open(&stream->to.file, O_WRONLY, error);
    }
    if (status != PM_OK) {
        pm_output_stream_close(stream);
    }
    return status;
}

pm_status pm_output_stream_make_private(struct pm_output_stream *stream, pm_error *error) {
    if (!stream->to.is_straight && fchmod(stream->to.file.fd, S_IRUSR | S_IWUSR) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, stream->to.file.path,
                                  "cannot keep the file from others");
    }
    return PM_OK;
}

pm_status pm_output_stream_append(struct pm_output_stream *stream, const void *bytes,
                                  size_t n_bytes, pm_error *error) {
    return pm_destination_append(&stream->to, bytes, n_bytes, error);
}

pm_status pm_output_stream_publish(struct pm_output_stream *stream, pm_error *error) {
    if (stream->to.is_straight) {
        return PM_OK;
    }
    struct pm_staged *file = &stream->to.file;
    PM_TRY(pm_staged_sync(file, error));
    sigset_t blocked, old_mask;
    pm_staged_signals(&blocked);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &old_mask);
    pm_status status = pm_staged_name(file, error);
    if (status == PM_OK) {
        status = pm_staged_rename(file, error);
    }
    if (status == PM_OK) {
        pm_staged_sync_directory(file);
    }
    pm_staged_close(file);
    (void)pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    return status;
}

void pm_output_stream_close(struct pm_output_stream *stream) {
    pm_destination_close(&stream->to);
}
