/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/gpu.h"

static const struct pm_gpu_api api = {
    .version = PM_GPU_API_VERSION,
    .struct_bytes = sizeof(struct pm_gpu_api),
    .device_count = pm_gpu_device_count,
    .device_open = pm_gpu_device_open,
    .device_close = pm_gpu_device_close,
    .device_facts = pm_gpu_device_facts,
    .device_free_bytes = pm_gpu_device_free_bytes,
    .device_is_bad = pm_gpu_device_is_bad,
    .device_live_bytes = pm_gpu_device_live_bytes,
    .device_n_launches = pm_gpu_device_n_launches,
    .device_lock = pm_gpu_device_lock,
    .device_unlock = pm_gpu_device_unlock,
    .stream_create = pm_gpu_stream_create,
    .stream_destroy = pm_gpu_stream_destroy,
    .stream_wait = pm_gpu_stream_wait,
    .event_create = pm_gpu_event_create,
    .event_destroy = pm_gpu_event_destroy,
    .event_record = pm_gpu_event_record,
    .stream_await = pm_gpu_stream_await,
    .event_elapsed_ms = pm_gpu_event_elapsed_ms,
    .memory_get = pm_gpu_memory_get,
    .memory_release = pm_gpu_memory_release,
    .upload = pm_gpu_upload,
    .download = pm_gpu_download,
    .copy = pm_gpu_copy,
    .fill = pm_gpu_fill,
    .domain_bytes = pm_gpu_domain_bytes,
    .domain_create = pm_gpu_domain_create,
    .domain_destroy = pm_gpu_domain_destroy,
    .powers_bytes = pm_gpu_powers_bytes,
    .powers_create = pm_gpu_powers_create,
    .powers_destroy = pm_gpu_powers_destroy,
    .ntt = pm_gpu_ntt,
    .h_bytes = pm_gpu_h_bytes,
    .h_create = pm_gpu_h_create,
    .h_destroy = pm_gpu_h_destroy,
    .h_product = pm_gpu_h_product,
    .h_coset = pm_gpu_h_coset,
    .h_multiply = pm_gpu_h_multiply,
    .h_c = pm_gpu_h_c,
    .h_finish = pm_gpu_h_finish,
    .h_run = pm_gpu_h_run,
};

__attribute__((visibility("default"))) pm_gpu_api_get_function pm_gpu_api_get;

const struct pm_gpu_api *pm_gpu_api_get(void) {
    return &api;
}
