/* SPDX-License-Identifier: Apache-2.0 OR MIT */
extern "C" {
#include "card_msm_kernels.h"
}

#include <proofmill/proofmill.h>

#include "gpu/curve/gpu_curve_instance.inc"

#include <cuda_runtime.h>

/* Points of one thread: they share an inversion. */
#define EACH 16

namespace { /* the kernels of another curve have the same names */

/* 1 / ZZ = (ZZ / ZZZ)^2. */
#define POINTS_KERNEL(G, K)                                                                        \
    __global__ void G##_points_kernel(G##_affine *points, uint64_t n, uint64_t seed,               \
                                      const G##_affine *table) {                                   \
        const uint64_t first = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) * EACH;           \
        G##_xyzz sums[EACH];                                                                       \
        K inverses[EACH], scratch[EACH];                                                           \
        for (uint32_t e = 0; e < EACH; e++) {                                                      \
            const uint64_t log = card_msm_log(seed, first + e);                                    \
            G##_xyzz sum;                                                                          \
            G##_xyzz_set_inf(&sum);                                                                \
            for (uint32_t j = 0; j < 8; j++) {                                                     \
                const G##_affine p = table[256 * j + (log >> (8 * j) & 255)];                      \
                G##_xyzz_add_affine(&sum, &p, false);                                              \
            }                                                                                      \
            sums[e] = sum;                                                                         \
            inverses[e] = sum.zzz;                                                                 \
        }                                                                                          \
        K##_batch_inv(inverses, scratch, EACH);                                                    \
        for (uint32_t e = 0; e < EACH && first + e < n; e++) {                                     \
            K t;                                                                                   \
            G##_affine p;                                                                          \
            K##_mul(&t, &sums[e].zz, &inverses[e]);                                                \
            K##_sqr(&t, &t);                                                                       \
            K##_mul(&p.x, &sums[e].x, &t);                                                         \
            K##_mul(&p.y, &sums[e].y, &inverses[e]);                                               \
            points[first + e] = p;                                                                 \
        }                                                                                          \
    }
POINTS_KERNEL(g1, fp)
POINTS_KERNEL(g2, fp2)

__global__ void msm_scalars_kernel(fr *scalars, int pattern, uint64_t n, uint64_t seed) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uint64_t s[4];
        bool minus;
        fr x;
        card_msm_scalar(s, &minus, pattern, seed, i, n, PM_PARAM(FR_BITS));
        for (int k = 0; k < FR_WORDS; k++) {
            x.l[k] = (uint32_t)(s[k / 2] >> (32 * (k % 2)));
        }
        fr_reduce_once(&x, &x);
        if (minus) {
            fr_neg(&x, &x);
        }
        scalars[i] = x;
    }
}

int run_points(int group, void *points, uint64_t n, uint64_t seed, const void *table,
               void *stream) {
    const uint32_t blocks = (uint32_t)((n + 64 * EACH - 1) / (64 * EACH));
    if (group == 0) {
        g1_points_kernel<<<blocks, 64, 0, (cudaStream_t)stream>>>((g1_affine *)points, n, seed,
                                                                  (const g1_affine *)table);
    } else {
        g2_points_kernel<<<blocks, 64, 0, (cudaStream_t)stream>>>((g2_affine *)points, n, seed,
                                                                  (const g2_affine *)table);
    }
    return (int)cudaGetLastError();
}

int run_scalars(void *scalars, int pattern, uint64_t n, uint64_t seed, void *stream) {
    msm_scalars_kernel<<<(uint32_t)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        (fr *)scalars, pattern, n, seed);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" const struct card_msm_kernels PM_INSTANCE_NAME(card_msm_kernels) = {
    {sizeof(g1_affine), sizeof(g2_affine)}, run_points, run_scalars};
