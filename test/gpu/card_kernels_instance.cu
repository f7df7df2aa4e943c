/* SPDX-License-Identifier: Apache-2.0 OR MIT */
extern "C" {
#include "card_kernels.h"
}

#include <proofmill/proofmill.h>

#include "gpu/curve/gpu_curve_instance.inc"

#include <cuda_runtime.h>

namespace { /* the kernels of another curve have the same names */

/* ---- Fields ---------------------------------------------------------------------------------- */

template <typename K> struct field_of;
#define FIELD_OF(K)                                                                                \
    template <> struct field_of<K> {                                                               \
        static __device__ void apply(int op, K *r, const K *a, const K *b) {                       \
            switch (op) {                                                                          \
            case CARD_ADD:                                                                         \
                K##_add(r, a, b);                                                                  \
                break;                                                                             \
            case CARD_SUB:                                                                         \
                K##_sub(r, a, b);                                                                  \
                break;                                                                             \
            case CARD_MUL:                                                                         \
                K##_mul(r, a, b);                                                                  \
                break;                                                                             \
            case CARD_NEG:                                                                         \
                K##_neg(r, a);                                                                     \
                break;                                                                             \
            case CARD_DBL:                                                                         \
                K##_dbl(r, a);                                                                     \
                break;                                                                             \
            case CARD_SQR:                                                                         \
                K##_sqr(r, a);                                                                     \
                break;                                                                             \
            default:                                                                               \
                K##_inv(r, a);                                                                     \
            }                                                                                      \
        }                                                                                          \
    }
FIELD_OF(fp);
FIELD_OF(fr);
FIELD_OF(fp2);

template <typename K>
__global__ void field_kernel(int op, K *r, const K *a, const K *b, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        K x = a[i], y = b[i], z;
        field_of<K>::apply(op, &z, &x, &y);
        r[i] = z;
    }
}

#define CONVERSION_KERNEL(K)                                                                       \
    __global__ void K##_conversion_kernel(bool to, K *r, const K *a, uint32_t n) {                 \
        const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                                  \
        if (i < n) {                                                                               \
            K x = a[i];                                                                            \
            if (to) {                                                                              \
                K##_to_mont(&x, &x);                                                               \
            } else {                                                                               \
                K##_from_mont(&x, &x);                                                             \
            }                                                                                      \
            r[i] = x;                                                                              \
        }                                                                                          \
    }
CONVERSION_KERNEL(fp)
CONVERSION_KERNEL(fr)

__global__ void factor_kernel(fr *r, const fr *a, const fr *b, uint32_t n) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        fr x = a[i], w = b[i];
        fr_factor f;
        fr_factor_from_mont(&f, &w);
        fr_factor_mul(&x, &x, &f);
        r[i] = x;
    }
}

template <typename K>
static void launch_field(int op, void *r, const void *a, const void *b, uint32_t n) {
    field_kernel<K><<<(n + 127) / 128, 128>>>(op, (K *)r, (const K *)a, (const K *)b, n);
}

static int run_field(enum card_field field, enum card_op op, void *r, const void *a, const void *b,
                     uint32_t n) {
    const uint32_t blocks = (n + 127) / 128;
    if (op == CARD_FACTOR_MUL) {
        factor_kernel<<<blocks, 128>>>((fr *)r, (const fr *)a, (const fr *)b, n);
    } else if (op == CARD_TO_MONT || op == CARD_FROM_MONT) {
        if (field == CARD_FP) {
            fp_conversion_kernel<<<blocks, 128>>>(op == CARD_TO_MONT, (fp *)r, (const fp *)a, n);
        } else {
            fr_conversion_kernel<<<blocks, 128>>>(op == CARD_TO_MONT, (fr *)r, (const fr *)a, n);
        }
    } else if (field == CARD_FP) {
        launch_field<fp>(op, r, a, b, n);
    } else if (field == CARD_FR) {
        launch_field<fr>(op, r, a, b, n);
    } else {
        launch_field<fp2>(op, r, a, b, n);
    }
    return (int)cudaGetLastError();
}

/* ---- Curves ---------------------------------------------------------------------------------- */

#define GROUP_KERNEL(G)                                                                            \
    __device__ void G##_accumulate(G##_xyzz *sum, const G##_affine *points, const uint8_t *negate, \
                                   uint32_t n) {                                                   \
        G##_xyzz_set_inf(sum);                                                                     \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const G##_affine p = points[i];                                                        \
            G##_xyzz_add_affine(sum, &p, negate != NULL && negate[i] != 0);                        \
        }                                                                                          \
    }                                                                                              \
    __global__ void G##_sum_kernel(int kind, G##_affine *out, const G##_affine *points,            \
                                   const uint8_t *negate, uint32_t n, uint32_t each) {             \
        const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;                                  \
        if (i >= n) {                                                                              \
            return;                                                                                \
        }                                                                                          \
        const G##_affine *mine = points + (uint64_t)i * each;                                      \
        const uint8_t *signs = negate + (uint64_t)i * each;                                        \
        const uint32_t half = each / 2;                                                            \
        G##_xyzz x, y;                                                                             \
        G##_jac p, q;                                                                              \
        if (kind == CARD_XYZZ_SUM || kind == CARD_XYZZ_DBL || kind == CARD_JAC_DBL) {              \
            G##_accumulate(&x, mine, signs, each);                                                 \
        } else {                                                                                   \
            G##_accumulate(&x, mine, signs, half);                                                 \
            G##_accumulate(&y, mine + half, signs + half, each - half);                            \
        }                                                                                          \
        if (kind == CARD_XYZZ_HALVES) {                                                            \
            G##_xyzz_add(&x, &x, &y);                                                              \
        } else if (kind == CARD_XYZZ_DBL) {                                                        \
            G##_xyzz_dbl(&x, &x);                                                                  \
        }                                                                                          \
        G##_xyzz_to_jac(&p, &x);                                                                   \
        if (kind == CARD_JAC_HALVES) {                                                             \
            G##_xyzz_to_jac(&q, &y);                                                               \
            G##_jac_add(&p, &p, &q);                                                               \
        } else if (kind == CARD_JAC_DBL) {                                                         \
            G##_jac_dbl(&p, &p);                                                                   \
        }                                                                                          \
        G##_jac_to_affine(&out[i], &p);                                                            \
    }
GROUP_KERNEL(g1)
GROUP_KERNEL(g2)

static int run_sum(enum card_group group, enum card_sum sum, void *affine_out, const void *affine,
                   const uint8_t *negate, uint32_t n, uint32_t points_each) {
    if (group == CARD_G1) {
        g1_sum_kernel<<<(n + 31) / 32, 32>>>(sum, (g1_affine *)affine_out,
                                             (const g1_affine *)affine, negate, n, points_each);
    } else {
        g2_sum_kernel<<<(n + 31) / 32, 32>>>(sum, (g2_affine *)affine_out,
                                             (const g2_affine *)affine, negate, n, points_each);
    }
    return (int)cudaGetLastError();
}

/* ---- Vectors --------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood 2014) of a counter. */
__device__ uint64_t mixed(uint64_t x) {
    uint64_t z = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

__global__ void random_kernel(fr *scalars, uint64_t n, uint64_t seed) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        fr x;
        for (uint32_t k = 0; k < FR_WORDS; k++) {
            x.l[k] = (uint32_t)mixed(seed ^ (i * FR_WORDS + k));
        }
        x.l[FR_WORDS - 1] &= 0x1fffffff; /* below both moduli */
        scalars[i] = x;
    }
}

__global__ void compare_kernel(const fr *a, const fr *b, uint64_t n, uint32_t *differences) {
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const fr x = a[i], y = b[i];
        if (!fr_eq(&x, &y)) {
            atomicAdd(differences, 1u);
        }
    }
}

static int run_random(void *scalars, uint64_t n, uint64_t seed, void *stream) {
    random_kernel<<<(uint32_t)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>((fr *)scalars, n,
                                                                                 seed);
    return (int)cudaGetLastError();
}

static int run_compare(const void *a, const void *b, uint64_t n, uint32_t *differences,
                       void *stream) {
    compare_kernel<<<(uint32_t)((n + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        (const fr *)a, (const fr *)b, n, differences);
    return (int)cudaGetLastError();
}

} // namespace

extern "C" const struct card_kernels PM_INSTANCE_NAME(card_kernels) = {
    {sizeof(fp), sizeof(fr), sizeof(fp2)},
    {sizeof(g1_affine), sizeof(g2_affine)},
    run_field,
    run_sum,
    run_random,
    run_compare};
