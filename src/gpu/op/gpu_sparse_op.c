/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/op/gpu_sparse_op.h"

#include "gpu/kernel/gpu_scalar_kernels.h"

#define ALIGNMENT 256

static uint64_t aligned(uint64_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Where each array begins, and where the last one ends. */
static uint64_t layout(uint64_t n_rows, uint64_t n_terms, uint64_t n_coefficients,
                       uint64_t offsets[3]) {
    offsets[0] = 0;
    offsets[1] = aligned(n_coefficients * PM_FR_BYTES);
    offsets[2] = offsets[1] + aligned(n_terms * 2 * sizeof(uint32_t));
    return offsets[2] + aligned((n_rows + 1) * sizeof(uint32_t));
}

uint64_t pm_gpu_sparse_bytes(uint64_t n_rows, uint64_t n_terms, uint64_t n_coefficients) {
    uint64_t offsets[3];
    return layout(n_rows, n_terms, n_coefficients, offsets);
}

void pm_gpu_sparse_place(struct pm_gpu_sparse *matrix, void *buffer, uint64_t offsets[3]) {
    char *bytes = buffer;
    (void)layout(matrix->n_rows, matrix->n_terms, matrix->n_coefficients, offsets);
    matrix->coefficients = bytes + offsets[0];
    matrix->terms = bytes + offsets[1];
    matrix->row_starts = bytes + offsets[2];
}

pm_status pm_gpu_sparse_multiply(const struct pm_gpu_stream *stream, pm_curve_id curve,
                                 const struct pm_gpu_sparse *matrix, const void *w, void *out,
                                 uint64_t n_out, pm_error *error) {
    const struct pm_gpu_scalar_kernels *kernels = pm_gpu_scalar_kernels_get(curve);
    const uint64_t n_rows = n_out < matrix->n_rows ? n_out : matrix->n_rows;
    const struct pm_gpu_sparse_arrays arrays = {.coefficients = matrix->coefficients,
                                                .terms = matrix->terms,
                                                .row_starts = matrix->row_starts,
                                                .n_rows = (uint32_t)n_rows};
    PM_FAIL_IF(kernels == NULL, error, PM_CURVE, "no kernels for curve %s", pm_curve_name(curve));
    PM_FAIL_IF(matrix->n_rows > UINT32_MAX || matrix->n_terms > UINT32_MAX, error, PM_UNSUPPORTED,
               "a matrix of 2^32 rows or terms or more");
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    if (n_rows > 0) {
        PM_TRY(pm_gpu_stream_launched(stream, kernels->sparse(&arrays, w, out, stream->raw),
                                      "sparse", n_rows * PM_FR_BYTES, error));
    }
    if (n_out > n_rows) {
        return pm_gpu_fill(stream, (char *)out + n_rows * PM_FR_BYTES, 0,
                           (n_out - n_rows) * PM_FR_BYTES, error);
    }
    return PM_OK;
}
