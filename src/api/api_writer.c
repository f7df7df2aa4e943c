/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "io/output_stream.h"

#include <string.h>

struct pm_file_writer {
    struct pm_output_stream stream;
    char path[]; /* what the stream borrows */
};

pm_status pm_file_writer_create(const char *path, const pm_control *control,
                                pm_file_writer **writer, pm_error *error) {
    PM_FAIL_IF(path == NULL || writer == NULL, error, PM_INVALID_ARGUMENT,
               "path or writer is NULL");
    const size_t path_bytes = strlen(path) + 1;
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "file writer", sizeof(pm_file_writer) + path_bytes,
                           PM_MEMORY_PLAIN, &buffer, error));
    pm_file_writer *made = buffer;
    memcpy(made->path, path, path_bytes);
    const pm_status status = pm_output_stream_open(made->path, control, &made->stream, error);
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    *writer = made;
    return PM_OK;
}

pm_status pm_file_writer_append(pm_file_writer *writer, const void *bytes, size_t n_bytes,
                                pm_error *error) {
    PM_FAIL_IF(writer == NULL || (bytes == NULL && n_bytes > 0), error, PM_INVALID_ARGUMENT,
               "writer or bytes is NULL");
    PM_FAIL_IF(writer->stream.to.file.fd < 0, error, PM_INVALID_ARGUMENT,
               "the file has been published");
    return pm_output_stream_append(&writer->stream, bytes, n_bytes, error);
}

pm_status pm_file_writer_publish(pm_file_writer *writer, pm_error *error) {
    PM_FAIL_IF(writer == NULL, error, PM_INVALID_ARGUMENT, "writer is NULL");
    PM_FAIL_IF(writer->stream.to.file.fd < 0, error, PM_INVALID_ARGUMENT,
               "the file has been published");
    const pm_status status = pm_output_stream_publish(&writer->stream, error);
    pm_output_stream_close(&writer->stream);
    return status;
}

void pm_file_writer_destroy(pm_file_writer *writer) {
    if (writer != NULL) {
        pm_output_stream_close(&writer->stream);
        pm_memory_free(writer);
    }
}
