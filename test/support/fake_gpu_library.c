/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A libproofmill-gpu without a card, for the command to open: support/fake_gpu.h behind the one
 * name that such a library exports. The environment says what it is like:
 *
 *   FAKE_GPU_COUNT       how many devices it shows, up to FAKE_GPUS_MAX; 1 unless given
 *   FAKE_GPU_BYTES       of memory of each; 1 GiB unless given
 *   FAKE_GPU_FAIL_CALL   the n-th call that can fail fails, and the device is bad from then on
 *   FAKE_GPU_FAIL_DEVICE which device that is; 0 unless given
 *   FAKE_GPU_HANG        set: what is computed there never comes back; a path: that is so where
 *                        the file is there when the library is opened
 *   FAKE_GPU_REPORT      a file to write what was done there to, at the end of the process
 */
#include "support/fake_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct pm_gpu_api table;
static uint32_t n_devices = 1;

static uint64_t number_in(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static pm_status device_count(uint32_t *n, pm_error *error) {
    PM_FAIL_IF(n_devices == 0, error, PM_NO_DEVICE, "the fake driver shows no device");
    *n = n_devices;
    return PM_OK;
}

static pm_status device_open(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **device, pm_error *error) {
    uint32_t n = 0;
    PM_TRY(device_count(&n, error));
    PM_FAIL_IF(ordinal >= n, error, PM_NO_DEVICE, "there is no fake device %u, only %u", ordinal,
               n);
    return fake_gpu_api()->device_open(ordinal, options, device, error);
}

/* As a kernel that never ends. */
static pm_status never_multiply(const struct pm_gpu_stream *stream, pm_curve_id curve,
                                const struct pm_gpu_sparse *matrix, const void *w, void *out,
                                uint64_t n_out, pm_error *error) {
    (void)stream, (void)curve, (void)matrix, (void)w, (void)out, (void)n_out;
    while (pause() != 0) { /* it returns -1 after a signal, and never otherwise */
    }
    PM_FAIL(error, PM_DEVICE, "it came back");
}

/* A breach of the rules is no crash by itself. Buffered output of the process is out by now. */
__attribute__((destructor)) static void report(void) {
    const char *path = getenv("FAKE_GPU_REPORT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "sums %llu\nviolations %llu\nlive %llu\n",
                      (unsigned long long)fake_gpu.n_sums,
                      (unsigned long long)fake_gpu.n_violations,
                      (unsigned long long)(fake_gpu.live_bytes[PM_GPU_ONCE] +
                                           fake_gpu.live_bytes[PM_GPU_STREAM] +
                                           fake_gpu.live_bytes[PM_GPU_PINNED]));
        (void)fclose(file);
    }
    if (fake_gpu.n_violations != 0) {
        _exit(99);
    }
}

pm_gpu_api_get_function pm_gpu_api_get;

__attribute__((visibility("default"))) const struct pm_gpu_api *pm_gpu_api_get(void) {
    n_devices = (uint32_t)number_in("FAKE_GPU_COUNT", 1);
    n_devices = n_devices < FAKE_GPUS_MAX ? n_devices : FAKE_GPUS_MAX;
    fake_gpu_heal();
    fake_gpu.n_devices = n_devices;
    fake_gpu.failing_device = (uint32_t)number_in("FAKE_GPU_FAIL_DEVICE", 0);
    fake_gpu.total_bytes = number_in("FAKE_GPU_BYTES", UINT64_C(1) << 30);
    fake_gpu.fail_call_at = number_in("FAKE_GPU_FAIL_CALL", 0);
    fake_gpu.goes_bad = fake_gpu.fail_call_at != 0;
    table = *fake_gpu_api();
    table.device_count = device_count;
    table.device_open = device_open;
    const char *hang = getenv("FAKE_GPU_HANG");
    if (hang != NULL && (hang[0] != '/' || access(hang, F_OK) == 0)) {
        table.sparse_multiply = never_multiply;
    }
    return &table;
}
