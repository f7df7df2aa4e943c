/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Matrices and witnesses of a real system's shape, made on the device. Each launcher returns a
 * cudaError_t as int. */
#ifndef PM_BENCH_GPU_SHAPE_H
#define PM_BENCH_GPU_SHAPE_H

#include <stdint.h>

#define GPU_SHAPE_PERIOD 4096 /* rows, after which lengths repeat */

/* Starts of n_rows rows, and the end. pattern: GPU_SHAPE_PERIOD + 1 starts, of the device. */
int gpu_shape_starts(uint32_t *starts, uint64_t n_rows, const uint32_t *pattern, void *stream);
/* spread 0: columns anywhere; else within so many of the place that the term has among all. */
int gpu_shape_terms(void *terms, uint64_t n_terms, uint32_t n_columns, uint32_t n_coefficients,
                    uint32_t spread, void *stream);
/* Of eight scalars so many, on average, become 0 or 1. */
int gpu_shape_bits(void *scalars, uint64_t n, uint32_t n_of_eight, void *stream);

#endif
