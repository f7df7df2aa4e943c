/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the parts of proofmill-gpu-bench share. */
#ifndef PM_BENCH_GPU_BENCH_H
#define PM_BENCH_GPU_BENCH_H

#include "gpu_rates.h"

#include "gpu/gpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct gpu_bench {
    const struct pm_gpu_api *api;
    struct pm_gpu_device *device;
    struct pm_gpu_stream stream;
    struct pm_gpu_event from, to;
    struct pm_gpu_facts facts;
    struct pm_gpu_buffer scratch;
    const struct gpu_rates *rates;
    pm_curve_id curve;
    double factor_per_s;       /* products by a constant, measured */
    double product_per_s;      /* products in Fr, measured */
    double copy_bytes_per_s;   /* read and written on the device, measured */
    double upload_bytes_per_s; /* from pinned memory, measured */
    uint32_t levels_max, tile_log;
    bool is_full;
};

extern struct gpu_bench bench;

#define NEED(call)                                                                                 \
    do {                                                                                           \
        pm_error error = PM_ERROR_INIT;                                                            \
        if ((call) != PM_OK) {                                                                     \
            (void)fprintf(stderr, "proofmill-gpu-bench: %s\n", error.message);                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

void bench_need_cuda(int status);
struct pm_gpu_buffer bench_get(enum pm_gpu_mechanism mechanism, uint64_t bytes);
void bench_release(struct pm_gpu_buffer *buffer);
/* Milliseconds of one call of work between events, a median. */
double bench_time_ms(void (*work)(void *argument), void *argument);

/* A witness on its way to the device and there; matrices times it. */
void bench_witness(bool only_matrices);

#endif
