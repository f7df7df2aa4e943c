/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the multiprocessors can do at most: the operations that products are made of. */
extern "C" {
#include "gpu_rates.h"
}

#include <cuda_runtime.h>

#define ROUNDS 256
#define THREADS 256
#define CHAINS 8
#define BLOCKS_PER_MULTIPROCESSOR 8

template <int kLimit> __global__ void __launch_bounds__(THREADS) limit_kernel(uint32_t *scratch) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t lo[CHAINS], hi[CHAINS];
    const uint32_t x = scratch[i], y = scratch[i + 1];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) {
        lo[k] = x + (uint32_t)k;
        hi[k] = y;
    }
#pragma unroll 8
    for (int round = 0; round < ROUNDS; round++) {
#pragma unroll
        for (int k = 0; k < CHAINS; k++) {
            if (kLimit == GPU_LIMIT_MAD_WIDE) {
                const uint64_t t = (uint64_t)lo[k] * y + ((uint64_t)hi[k] << 32 | lo[k]);
                lo[k] = (uint32_t)t;
                hi[k] = (uint32_t)(t >> 32);
            } else if (kLimit == GPU_LIMIT_MAD_LO) {
                lo[k] = lo[k] * y + x;
            }
        }
        if (kLimit == GPU_LIMIT_MAD_WIDE_CC) { /* one carry chain over all of them */
            asm volatile("mad.lo.cc.u32 %0, %16, %17, %0;\n\tmadc.hi.cc.u32 %1, %16, %17, %1;\n\t"
                         "madc.lo.cc.u32 %2, %16, %17, %2;\n\tmadc.hi.cc.u32 %3, %16, %17, %3;\n\t"
                         "madc.lo.cc.u32 %4, %16, %17, %4;\n\tmadc.hi.cc.u32 %5, %16, %17, %5;\n\t"
                         "madc.lo.cc.u32 %6, %16, %17, %6;\n\tmadc.hi.u32 %7, %16, %17, %7;\n\t"
                         "mad.lo.cc.u32 %8, %16, %17, %8;\n\tmadc.hi.cc.u32 %9, %16, %17, %9;\n\t"
                         "madc.lo.cc.u32 %10, %16, %17, %10;\n\tmadc.hi.cc.u32 %11, %16, %17, "
                         "%11;\n\t"
                         "madc.lo.cc.u32 %12, %16, %17, %12;\n\tmadc.hi.cc.u32 %13, %16, %17, "
                         "%13;\n\t"
                         "madc.lo.cc.u32 %14, %16, %17, %14;\n\tmadc.hi.u32 %15, %16, %17, %15;"
                         : "+r"(lo[0]), "+r"(hi[0]), "+r"(lo[1]), "+r"(hi[1]), "+r"(lo[2]),
                           "+r"(hi[2]), "+r"(lo[3]), "+r"(hi[3]), "+r"(lo[4]), "+r"(hi[4]),
                           "+r"(lo[5]), "+r"(hi[5]), "+r"(lo[6]), "+r"(hi[6]), "+r"(lo[7]),
                           "+r"(hi[7])
                         : "r"(x), "r"(y));
        } else if (kLimit == GPU_LIMIT_ADD_CC) {
            asm volatile("add.cc.u32 %0, %0, %8;\n\taddc.cc.u32 %1, %1, %9;\n\t"
                         "addc.cc.u32 %2, %2, %8;\n\taddc.cc.u32 %3, %3, %9;\n\t"
                         "addc.cc.u32 %4, %4, %8;\n\taddc.cc.u32 %5, %5, %9;\n\t"
                         "addc.cc.u32 %6, %6, %8;\n\taddc.u32 %7, %7, %9;"
                         : "+r"(lo[0]), "+r"(lo[1]), "+r"(lo[2]), "+r"(lo[3]), "+r"(lo[4]),
                           "+r"(lo[5]), "+r"(lo[6]), "+r"(lo[7])
                         : "r"(x), "r"(y));
        }
    }
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) {
        sum ^= lo[k] ^ hi[k];
    }
    scratch[i] = sum;
}

extern "C" int gpu_limit_run(enum gpu_limit limit, void *scratch, uint32_t n_multiprocessors,
                             uint64_t *n_operations, void *stream) {
    const uint32_t blocks = n_multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    cudaStream_t s = (cudaStream_t)stream;
    *n_operations = (uint64_t)blocks * THREADS * ROUNDS * CHAINS;
    switch (limit) {
    case GPU_LIMIT_MAD_WIDE:
        limit_kernel<GPU_LIMIT_MAD_WIDE><<<blocks, THREADS, 0, s>>>((uint32_t *)scratch);
        break;
    case GPU_LIMIT_MAD_WIDE_CC:
        limit_kernel<GPU_LIMIT_MAD_WIDE_CC><<<blocks, THREADS, 0, s>>>((uint32_t *)scratch);
        break;
    case GPU_LIMIT_MAD_LO:
        limit_kernel<GPU_LIMIT_MAD_LO><<<blocks, THREADS, 0, s>>>((uint32_t *)scratch);
        break;
    default:
        limit_kernel<GPU_LIMIT_ADD_CC><<<blocks, THREADS, 0, s>>>((uint32_t *)scratch);
    }
    return (int)cudaGetLastError();
}

extern "C" const char *gpu_limit_name(enum gpu_limit limit) {
    static const char *const names[GPU_LIMITS] = {"mad.wide.u32", "mad.lo/hi pair with carries",
                                                  "mad.lo.u32", "add with carry"};
    return names[limit];
}
