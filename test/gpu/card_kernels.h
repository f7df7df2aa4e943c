/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Kernels that run one operation of one thread many times, for the tests on a card. Arrays lie in
 * the device's memory; each call returns a cudaError_t as int. */
#ifndef PM_TEST_GPU_CARD_KERNELS_H
#define PM_TEST_GPU_CARD_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum card_field { CARD_FP, CARD_FR, CARD_FP2, CARD_FIELDS };
enum card_op {
    CARD_ADD,
    CARD_SUB,
    CARD_MUL,
    CARD_NEG,
    CARD_DBL,
    CARD_SQR,
    CARD_INV,
    CARD_TO_MONT, /* prime fields only, like the next */
    CARD_FROM_MONT,
    CARD_FACTOR_MUL, /* r = a b by the factor of b; fr only */
    CARD_OPS
};

enum card_group { CARD_G1, CARD_G2, CARD_GROUPS };
enum card_sum {
    CARD_XYZZ_SUM,    /* of so many affine points, the sign of each from `negate` */
    CARD_XYZZ_HALVES, /* xyzz_add of the sums of the first and the second half */
    CARD_XYZZ_DBL,    /* xyzz_dbl of the sum */
    CARD_JAC_HALVES,  /* jac_add likewise */
    CARD_JAC_DBL,
    CARD_SUMS
};

struct card_kernels {
    uint32_t element_bytes[CARD_FIELDS], affine_bytes[CARD_GROUPS];
    int (*field)(enum card_field field, enum card_op op, void *r, const void *a, const void *b,
                 uint32_t n);
    /* Each of n threads takes so many points in a row and writes an affine point. */
    int (*sum)(enum card_group group, enum card_sum sum, void *affine_out, const void *affine,
               const uint8_t *negate, uint32_t n, uint32_t points_each);
    /* Pseudo-random scalars in Montgomery form. */
    int (*random)(void *scalars, uint64_t n, uint64_t seed, void *stream);
    /* *differences (on the device) counts the positions at which two vectors of n scalars differ.
     */
    int (*compare)(const void *a, const void *b, uint64_t n, uint32_t *differences, void *stream);
};

/* Kernels of the default stream are done, with what they met. */
int card_device_synchronize(void);

extern const struct card_kernels card_kernels_bn254, card_kernels_bls12_381;

#endif
