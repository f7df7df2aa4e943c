/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_scalar_kernels.h - launchers of kernels over a witness: products, checks, bits.
 *
 * As gpu_kernels.h: each puts one kernel on a stream and returns at once what CUDA said.
 */
#ifndef PM_GPU_SCALAR_KERNELS_H
#define PM_GPU_SCALAR_KERNELS_H

#include "gpu/kernel/gpu_kernels.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/* A matrix as the device has it (poly/sparse.h has the arrays). */
struct pm_gpu_sparse_arrays {
    const void *coefficients, *terms;
    const uint32_t *row_starts;
    uint32_t n_rows; /* those that are wanted */
};

struct pm_gpu_scalar_kernels {
    pm_curve_id curve;
    /* out[row] for each wanted row; there is one at least. */
    int (*sparse)(const struct pm_gpu_sparse_arrays *matrix, const void *w, void *out,
                  pm_gpu_raw_stream stream);
    /* *lowest becomes the index of the first of n > 0 values that is not below r if that is lower.
     * conversion: that of gpu_scalars_op.h, in place. */
    int (*take)(int conversion, void *values, uint64_t n, unsigned long long *lowest,
                pm_gpu_raw_stream stream);
};

/* NULL for a curve that there is none of. */
const struct pm_gpu_scalar_kernels *pm_gpu_scalar_kernels_get(pm_curve_id curve);

/* Of no curve: the n > 0 scalars of a packed chunk (gpu_pack.h). */
int pm_gpu_expand(const void *packed, uint64_t n, void *values, pm_gpu_raw_stream stream);

#endif
