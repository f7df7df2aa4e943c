/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/load/gpu_load.h - opens libproofmill-gpu, from the core's side.
 *
 * Needs neither CUDA's headers nor its libraries. The library stays open for the life of the
 * process: its threads and the driver's cannot be taken back.
 */
#ifndef PM_GPU_LOAD_H
#define PM_GPU_LOAD_H

#include "base/status.h"
#include "gpu/gpu.h"

#define PM_GPU_LIBRARY_NAME "libproofmill-gpu.so.0"

/* path: the library's file, or NULL for PM_GPU_LIBRARY_NAME beside this program's own libraries and
 * where the system looks. Errors: NO_DEVICE with the reason: not installed, of another build, or
 * this program is linked statically. */
pm_status pm_gpu_load(const char *path, const struct pm_gpu_api **api, pm_error *error);

#endif
