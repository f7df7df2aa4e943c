/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Classes of scalars, compiled once per curve. */
extern "C" {
#include "gpu/kernel/gpu_classes_kernels.h"
}

#include "gpu/ff/gpu_instance.inc"

#include "gpu/kernel/gpu_classes.inc"

#include <cuda_runtime.h>

namespace { /* the kernels of another curve have the same names */

/* A warp a word: each thread has two scalars of it. */
__global__ void classify_kernel(const fr *scalars, uint64_t n, pm_gpu_class_word *classes) {
    const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t word = t / 32, at = word * 64 + t % 32;
    uint32_t ballots[2][2]; /* of low and high, either half */
    if (word * 64 >= n) {
        return; /* a whole warp */
    }
    for (uint32_t half = 0; half < 2; half++) {
        const uint64_t i = at + 32 * half;
        const uint32_t own = i < n ? classes_of(&scalars[i]) : (uint32_t)PM_GPU_CLASS_ZERO;
        ballots[0][half] = __ballot_sync(~0u, own & 1);
        ballots[1][half] = __ballot_sync(~0u, own >> 1);
    }
    if (t % 32 == 0) {
        pm_gpu_class_word out;
        out.low = ballots[0][0] | (uint64_t)ballots[0][1] << 32;
        out.high = ballots[1][0] | (uint64_t)ballots[1][1] << 32;
        classes[word] = out;
    }
}

int launch_classify(const void *scalars, uint64_t n, struct pm_gpu_class_word *classes,
                    pm_gpu_raw_stream stream) {
    const uint64_t threads = (n + 63) / 64 * 32;
    classify_kernel<<<(uint32_t)((threads + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        (const fr *)scalars, n, classes);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" {
extern pm_gpu_classify_launcher *const PM_INSTANCE_NAME(pm_gpu_classify_launch);
pm_gpu_classify_launcher *const PM_INSTANCE_NAME(pm_gpu_classify_launch) = launch_classify;
}
