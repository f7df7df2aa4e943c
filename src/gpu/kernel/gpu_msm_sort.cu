/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a multi-scalar multiplication does with keys alone: the same for every curve. */
extern "C" {
#include "gpu/kernel/gpu_msm_kernels.h"
}

#include <cub/device/device_radix_sort.cuh>

#include <cuda_runtime.h>

extern "C" int pm_gpu_msm_sort_bytes(uint32_t n, uint32_t n_bits, size_t *bytes) {
    cub::DoubleBuffer<uint32_t> keys(NULL, NULL), values(NULL, NULL);
    *bytes = 0;
    return (int)cub::DeviceRadixSort::SortPairs(NULL, *bytes, keys, values, n, 0, (int)n_bits);
}

extern "C" int pm_gpu_msm_sort(void *scratch, size_t scratch_bytes, uint32_t *const keys[2],
                               uint32_t *const values[2], uint32_t n, uint32_t n_bits, int *where,
                               pm_gpu_raw_stream stream) {
    cub::DoubleBuffer<uint32_t> key_buffer(keys[0], keys[1]), value_buffer(values[0], values[1]);
    const cudaError_t status = cub::DeviceRadixSort::SortPairs(
        scratch, scratch_bytes, key_buffer, value_buffer, n, 0, (int)n_bits, (cudaStream_t)stream);
    *where = key_buffer.selector;
    return status == cudaSuccess && key_buffer.selector != value_buffer.selector
               ? (int)cudaErrorUnknown
               : (int)status;
}

namespace {

__global__ void extent_kernel(pm_gpu_msm_extent *extent, const uint32_t *keys, uint32_t n,
                              uint32_t n_buckets, uint32_t n_segments, uint32_t segment_min) {
    uint32_t low = 0, high = n; /* all before low are below, none from high on is */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (keys[middle] < n_buckets) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    extent->n_entries = low;
    extent->segment = pm_gpu_msm_segment(low, n_segments, segment_min);
}

} // namespace

extern "C" int pm_gpu_msm_find_extent(struct pm_gpu_msm_extent *extent, const uint32_t *keys,
                                      uint32_t n, uint32_t n_buckets, uint32_t n_segments,
                                      uint32_t segment_min, pm_gpu_raw_stream stream) {
    extent_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(extent, keys, n, n_buckets, n_segments,
                                                     segment_min);
    return (int)cudaGetLastError();
}
