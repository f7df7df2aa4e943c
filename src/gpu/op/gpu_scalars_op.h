/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/op/gpu_scalars_op.h - scalars as they arrive on a device: unpacked, checked, converted.
 */
#ifndef PM_GPU_SCALARS_OP_H
#define PM_GPU_SCALARS_OP_H

#include "gpu/device/gpu_device.h"
#include "gpu/kernel/gpu_pack.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

enum pm_gpu_conversion { PM_GPU_KEEP = 0, PM_GPU_FROM_MONTGOMERY = 1, PM_GPU_TO_MONTGOMERY = 2 };

#define PM_GPU_TAKE_SCRATCH_BYTES 256

/* Are all of n values below r? *lowest is the first that is not, or n. Converts in place; where
 * *lowest is not n the values are of no use. values and scratch are the device's, 16-byte aligned.
 * Waits for the stream. Errors: CURVE, DEVICE. */
pm_status pm_gpu_scalars_take(const struct pm_gpu_stream *stream, pm_curve_id curve,
                              enum pm_gpu_conversion conversion, void *values, uint64_t n,
                              void *scratch, uint64_t *lowest, pm_error *error);

/* Writes the n scalars of one packed chunk (gpu/kernel/gpu_pack.h) as they were before packing.
 * packed: the device's, 32-byte aligned, apart from values. Puts its work on the stream. What the
 * chunk says of itself is trusted: it is the packer's, uploaded whole. Errors: INVALID_ARGUMENT (n
 * above PM_GPU_PACK_SCALARS_MAX), DEVICE. */
pm_status pm_gpu_scalars_expand(const struct pm_gpu_stream *stream, const void *packed, uint64_t n,
                                void *values, pm_error *error);

#endif
