/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/op/gpu_sparse_op.h - a matrix of a constraint system times a witness, on a device.
 *
 * The three arrays are those of poly/sparse.h, byte for byte, so that an upload is a copy: a
 * coefficient carries the factor R^2 and its product with a canonical scalar is in Montgomery form.
 * Nothing is allocated here and nothing checked: columns and coefficients were checked when the
 * matrix was built, and whoever uploads it uploads all of it.
 */
#ifndef PM_GPU_SPARSE_OP_H
#define PM_GPU_SPARSE_OP_H

#include "gpu/device/gpu_device.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

struct pm_gpu_sparse {
    uint64_t n_rows, n_columns, n_terms, n_coefficients;
    const void *coefficients; /* device, like the next: n_coefficients scalars times R^2 */
    const void *terms;        /* n_terms of struct pm_sparse_entry */
    const void *row_starts;   /* n_rows + 1 u32 */
};

/* Device memory for the three arrays. */
uint64_t pm_gpu_sparse_bytes(uint64_t n_rows, uint64_t n_terms, uint64_t n_coefficients);
/* Lays the arrays of a matrix whose counts are set into a buffer of that many bytes, 256-aligned,
 * and sets the pointers. offsets: of coefficients, terms, row_starts, for the upload. */
void pm_gpu_sparse_place(struct pm_gpu_sparse *matrix, void *buffer, uint64_t offsets[3]);

/* out = matrix w: n_out Montgomery scalars, those from n_rows on 0. w: n_columns canonical scalars;
 * apart from out. n_out below n_rows: only those rows. Puts its work on the stream. Time is about
 * that of reading the matrix and of a 32-byte gather for each term; a row of m terms is one block's
 * work, m / 140 microseconds. Errors: CURVE, UNSUPPORTED (2^32 rows or terms or more), DEVICE. */
pm_status pm_gpu_sparse_multiply(const struct pm_gpu_stream *stream, pm_curve_id curve,
                                 const struct pm_gpu_sparse *matrix, const void *w, void *out,
                                 uint64_t n_out, pm_error *error);

#endif
