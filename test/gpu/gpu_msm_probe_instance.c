/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/kernel/gpu_msm_kernels.h"
#include "gpu_msm_probe.h"

#include <proofmill/proofmill.h>

#include "gpu/curve/gpu_curve_instance.inc"

#include "gpu/kernel/gpu_msm_field.inc"

#include <stdlib.h>
#include <string.h>

#include "gpu/kernel/gpu_msm_digits.inc"

#define PM_GPU_NO_UNROLL
#define PM_GPU_PREFETCH(address) ((void)(address))

struct pair {
    uint32_t key, value;
};

static int by_key(const void *a, const void *b) {
    const uint32_t x = ((const struct pair *)a)->key, y = ((const struct pair *)b)->key;
    return (x > y) - (x < y);
}

/* The sorted keys and values of a group of windows; returns how many keys are below n_buckets. */
static uint32_t sorted_entries(const struct pm_gpu_msm_windows *windows, uint32_t first,
                               uint32_t n_windows, const fr *scalars, uint32_t n, uint32_t *keys,
                               uint32_t *values, uint32_t n_buckets) {
    const uint32_t n_pairs = n * n_windows;
    struct pair *pairs = malloc((size_t)n_pairs * sizeof *pairs);
    uint32_t n_entries = 0;
    fr halves;
    msm_halves(&halves, windows);
    for (uint32_t i = 0; i < n; i++) {
        msm_entries(windows, first, n_windows, &scalars[i], &halves, i, n, keys + i, values + i);
    }
    for (uint32_t i = 0; i < n_pairs; i++) {
        pairs[i] = (struct pair){keys[i], values[i]};
    }
    qsort(pairs, n_pairs, sizeof *pairs, by_key);
    for (uint32_t i = 0; i < n_pairs; i++) {
        keys[i] = pairs[i].key;
        values[i] = pairs[i].value;
        n_entries += pairs[i].key < n_buckets;
    }
    free(pairs);
    return n_entries;
}

static void entries(const struct pm_gpu_msm_windows *windows, const void *scalar, uint32_t *keys,
                    uint32_t *values) {
    fr halves, s;
    memcpy(&s, scalar, sizeof s);
    msm_halves(&halves, windows);
    msm_entries(windows, 0, windows->n_windows, &s, &halves, 0, 1, keys, values);
}

/* As the kernel of gpu_msm_digits_instance.cu. */
static int host_entries(const struct pm_gpu_msm_windows *windows, uint32_t first,
                        uint32_t n_windows, const void *scalars, const uint32_t *indices,
                        const uint32_t *point_indices, uint32_t n, uint32_t *keys, uint32_t *values,
                        pm_gpu_raw_stream stream) {
    fr halves;
    (void)stream;
    msm_halves(&halves, windows);
    for (uint32_t i = 0; i < n; i++) {
        const fr *scalar = (const fr *)scalars + (indices == NULL ? i : indices[i]);
        msm_entries(windows, first, n_windows, scalar, &halves,
                    indices == NULL ? i : point_indices[i], n, keys + i, values + i);
    }
    return 0;
}

extern const struct pm_gpu_msm_digit_kernels PM_INSTANCE_NAME(gpu_host_digits);
const struct pm_gpu_msm_digit_kernels PM_INSTANCE_NAME(gpu_host_digits) = {PM_PARAM(FR_BITS),
                                                                           host_entries};

#define G g1
#define K fp
#include "gpu/kernel/gpu_msm.inc"
#include "gpu_msm_probe_group.inc"

#include "gpu_msm_host_kernels.inc"
#undef G
#undef K

#include "gpu/kernel/gpu_msm_pair.inc"
#include "gpu/kernel/gpu_msm_whole.inc"

#include "gpu_msm_probe_pair.inc"
#include "gpu_msm_probe_whole.inc"

#define G g2
#define K fp2
#include "gpu_msm_probe_group.inc"

#include "gpu_msm_host_kernels.inc"
#undef G
#undef K
