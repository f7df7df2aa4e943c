/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What one thread of the device computes, run on the host: the functions of gpu_curve_instance.inc
 * and gpu_ntt.inc behind pointers. Elements and points are the bytes that the CPU's have. */
#ifndef PM_TEST_GPU_ALGEBRA_PROBE_H
#define PM_TEST_GPU_ALGEBRA_PROBE_H

#include "gpu/kernel/gpu_ntt_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_field_probe {
    size_t bytes;
    void (*add)(void *r, const void *a, const void *b);
    void (*sub)(void *r, const void *a, const void *b);
    void (*mul)(void *r, const void *a, const void *b);
    void (*neg)(void *r, const void *a);
    void (*dbl)(void *r, const void *a);
    void (*sqr)(void *r, const void *a);
    void (*inv)(void *r, const void *a);
    void (*batch_inv)(void *a, void *scratch, size_t n);
    void (*to_mont)(void *r, const void *a);                             /* prime fields only */
    void (*from_mont)(void *r, const void *a);                           /* likewise */
    void (*add_lazy_then_reduce)(void *r, const void *a, const void *b); /* a + b */
    void (*sub_lazy_then_reduce)(void *r, const void *a, const void *b); /* a - b */
    bool (*is_canonical)(const void *a);                                 /* prime fields only */
};

struct gpu_group_probe {
    size_t affine_bytes;
    /* Jacobian, in and out */
    void (*jac_dbl)(void *r, const void *p);
    void (*jac_add)(void *r, const void *p, const void *q);
    void (*jac_from_affine)(void *r, const void *affine);
    void (*jac_to_affine)(void *affine, const void *p);
    /* affine in, Jacobian out: XYZZ between */
    void (*xyzz_sum)(void *jac, const void *affine, const bool *negate, size_t n);
    void (*xyzz_add_of_sums)(void *jac, const void *p_affine, size_t n_p, const void *q_affine,
                             size_t n_q);
    void (*xyzz_dbl_of_sum)(void *jac, const void *affine, size_t n);
};

struct gpu_scale_request {
    bool in, out, bit_reversed, divide;
    const void *first, *base; /* first base^e; NULL with divide */
};

struct gpu_algebra_probe {
    struct gpu_field_probe fp, fr, fp2;
    struct gpu_group_probe g1, g2;
    /* r = x w by the factor of the Montgomery value w; x is a, or a + m where `unreduced`. */
    void (*factor_mul)(void *r, const void *x, const void *w, bool unreduced);
    void (*div_pow2)(void *r, const void *a, uint32_t k);
    /* A whole transform in place, the threads of each tile one after another. */
    void (*ntt)(void *vector, uint32_t log_n, uint32_t levels_max, uint32_t tile_log, int root,
                bool inverse, bool merge, const struct gpu_scale_request *scale);
};

extern const struct gpu_algebra_probe gpu_algebra_bn254_portable, gpu_algebra_bls12_381_portable;
extern const struct gpu_algebra_probe gpu_algebra_tiny_portable;

#endif
