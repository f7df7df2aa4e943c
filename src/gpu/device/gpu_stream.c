/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/device/gpu_device.h"

#include <cuda_runtime_api.h>

pm_status pm_gpu_stream_create(struct pm_gpu_device *device, struct pm_gpu_stream *stream,
                               pm_error *error) {
    cudaStream_t raw = NULL;
    PM_TRY(pm_gpu_device_enter(device, error));
    PM_TRY(pm_gpu_device_check(device, cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking),
                               "cudaStreamCreateWithFlags", 0, error));
    *stream = (struct pm_gpu_stream){.device = device, .raw = raw};
    return PM_OK;
}

void pm_gpu_stream_destroy(struct pm_gpu_stream *stream) {
    if (stream->device != NULL) {
        (void)pm_gpu_stream_wait(stream, NULL);
        (void)cudaStreamDestroy((cudaStream_t)stream->raw);
        *stream = (struct pm_gpu_stream){0};
    }
}

pm_status pm_gpu_stream_wait(const struct pm_gpu_stream *stream, pm_error *error) {
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    return pm_gpu_device_check(stream->device, cudaStreamSynchronize((cudaStream_t)stream->raw),
                               "cudaStreamSynchronize", 0, error);
}

pm_status pm_gpu_stream_is_done(const struct pm_gpu_stream *stream, bool *is_done,
                                pm_error *error) {
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    const cudaError_t status = cudaStreamQuery((cudaStream_t)stream->raw);
    if (status == cudaErrorNotReady) {
        (void)cudaGetLastError();
        *is_done = false;
        return PM_OK;
    }
    PM_TRY(pm_gpu_device_check(stream->device, status, "cudaStreamQuery", 0, error));
    *is_done = true;
    return PM_OK;
}

pm_status pm_gpu_stream_launched(const struct pm_gpu_stream *stream, int cuda_status,
                                 const char *kernel, uint64_t bytes, pm_error *error) {
    pm_gpu_device_count_launches(stream->device, 1);
    return pm_gpu_device_check(stream->device, cuda_status, kernel, bytes, error);
}

pm_status pm_gpu_event_create(struct pm_gpu_device *device, struct pm_gpu_event *event,
                              pm_error *error) {
    cudaEvent_t raw = NULL;
    PM_TRY(pm_gpu_device_enter(device, error));
    PM_TRY(pm_gpu_device_check(device, cudaEventCreate(&raw), "cudaEventCreate", 0, error));
    *event = (struct pm_gpu_event){.device = device, .raw = raw};
    return PM_OK;
}

void pm_gpu_event_destroy(struct pm_gpu_event *event) {
    if (event->device != NULL) {
        (void)cudaEventDestroy((cudaEvent_t)event->raw);
        *event = (struct pm_gpu_event){0};
    }
}

pm_status pm_gpu_event_record(const struct pm_gpu_event *event, const struct pm_gpu_stream *stream,
                              pm_error *error) {
    PM_TRY(pm_gpu_device_enter(event->device, error));
    return pm_gpu_device_check(event->device,
                               cudaEventRecord((cudaEvent_t)event->raw, (cudaStream_t)stream->raw),
                               "cudaEventRecord", 0, error);
}

pm_status pm_gpu_stream_await(const struct pm_gpu_stream *stream, const struct pm_gpu_event *event,
                              pm_error *error) {
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    return pm_gpu_device_check(
        stream->device, cudaStreamWaitEvent((cudaStream_t)stream->raw, (cudaEvent_t)event->raw, 0),
        "cudaStreamWaitEvent", 0, error);
}

pm_status pm_gpu_event_elapsed_ms(const struct pm_gpu_event *from, const struct pm_gpu_event *to,
                                  float *ms, pm_error *error) {
    PM_TRY(pm_gpu_device_enter(from->device, error));
    return pm_gpu_device_check(
        from->device, cudaEventElapsedTime(ms, (cudaEvent_t)from->raw, (cudaEvent_t)to->raw),
        "cudaEventElapsedTime", 0, error);
}
