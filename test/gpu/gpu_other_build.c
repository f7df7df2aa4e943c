/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A library that exports what libproofmill-gpu does, of a version to come. */
#include "gpu/gpu.h"

__attribute__((visibility("default"))) pm_gpu_api_get_function pm_gpu_api_get;

const struct pm_gpu_api *pm_gpu_api_get(void) {
    static const struct pm_gpu_api api = {.version = PM_GPU_API_VERSION + 1,
                                          .struct_bytes = sizeof api};
    return &api;
}
