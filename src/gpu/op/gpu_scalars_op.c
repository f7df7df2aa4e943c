/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/op/gpu_scalars_op.h"

#include "gpu/kernel/gpu_scalar_kernels.h"

extern const struct pm_gpu_scalar_kernels pm_gpu_scalar_kernels_bn254,
    pm_gpu_scalar_kernels_bls12_381;

const struct pm_gpu_scalar_kernels *pm_gpu_scalar_kernels_get(pm_curve_id curve) {
    switch (curve) {
    case PM_CURVE_BN254:
        return &pm_gpu_scalar_kernels_bn254;
    case PM_CURVE_BLS12_381:
        return &pm_gpu_scalar_kernels_bls12_381;
    default:
        return NULL;
    }
}

pm_status pm_gpu_scalars_take(const struct pm_gpu_stream *stream, pm_curve_id curve,
                              enum pm_gpu_conversion conversion, void *values, uint64_t n,
                              void *scratch, uint64_t *lowest, pm_error *error) {
    const struct pm_gpu_scalar_kernels *kernels = pm_gpu_scalar_kernels_get(curve);
    const uint64_t bytes = n * PM_FR_BYTES;
    uint64_t found = UINT64_MAX;
    PM_FAIL_IF(kernels == NULL, error, PM_CURVE, "no kernels for curve %s", pm_curve_name(curve));
    if (n > 0) {
        PM_TRY(pm_gpu_fill(stream, scratch, 0xff, sizeof found, error));
        PM_TRY(pm_gpu_stream_launched(
            stream, kernels->take((int)conversion, values, n, scratch, stream->raw), "take", bytes,
            error));
        PM_TRY(pm_gpu_download(stream, &found, scratch, sizeof found, error));
        PM_TRY(pm_gpu_stream_wait(stream, error));
    }
    *lowest = found < n ? found : n;
    return PM_OK;
}

pm_status pm_gpu_scalars_expand(const struct pm_gpu_stream *stream, const void *packed, uint64_t n,
                                void *values, pm_error *error) {
    PM_FAIL_IF(n > PM_GPU_PACK_SCALARS_MAX, error, PM_INVALID_ARGUMENT,
               "a packed chunk of %llu scalars", (unsigned long long)n);
    if (n == 0) {
        return PM_OK;
    }
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    return pm_gpu_stream_launched(stream, pm_gpu_expand(packed, n, values, stream->raw), "expand",
                                  n * PM_FR_BYTES, error);
}
