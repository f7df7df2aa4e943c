/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Libraries that look like libproofmill-gpu and must not be used: OTHER_BUILD says what is wrong
 * with this one. */
#include "gpu/gpu.h"

#define OTHER_VERSION 1 /* the table of another version */
#define OTHER_SIZE 2    /* this version's number, and another table */
#define NO_TABLE 3

pm_gpu_api_get_function pm_gpu_api_get;

__attribute__((visibility("default"))) const struct pm_gpu_api *pm_gpu_api_get(void) {
#if OTHER_BUILD == NO_TABLE
    return NULL;
#else
    static const struct pm_gpu_api api = {
        .version = PM_GPU_API_VERSION + (OTHER_BUILD == OTHER_VERSION),
        .struct_bytes = sizeof api + (OTHER_BUILD == OTHER_SIZE ? sizeof(void *) : 0)};
    return &api;
#endif
}
