/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm/sparse_sum.h"

#include <string.h>

/* Each table is exported by one compilation of sparse_sum_instance.c. */
extern const struct pm_sparse_sum pm_sparse_sum_bn254_portable, pm_sparse_sum_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_sparse_sum pm_sparse_sum_bn254_adx, pm_sparse_sum_bls12_381_adx;
extern const struct pm_sparse_sum pm_sparse_sum_bn254_ifma, pm_sparse_sum_bls12_381_ifma;
#endif

static const struct pm_sparse_sum *const sparse_sums[][PM_BODY_COUNT] = {
    [PM_CURVE_BN254] = {[PM_BODY_PORTABLE] = &pm_sparse_sum_bn254_portable,
#if defined(__x86_64__)
                        [PM_BODY_ADX] = &pm_sparse_sum_bn254_adx,
                        [PM_BODY_IFMA] = &pm_sparse_sum_bn254_ifma
#endif
    },
    [PM_CURVE_BLS12_381] = {[PM_BODY_PORTABLE] = &pm_sparse_sum_bls12_381_portable,
#if defined(__x86_64__)
                            [PM_BODY_ADX] = &pm_sparse_sum_bls12_381_adx,
                            [PM_BODY_IFMA] = &pm_sparse_sum_bls12_381_ifma
#endif
    },
};

const struct pm_sparse_sum *pm_sparse_sum_get(pm_curve_id curve, enum pm_body body) {
    if ((size_t)curve >= sizeof sparse_sums / sizeof sparse_sums[0] || body >= PM_BODY_COUNT ||
        !pm_cpu_has_body(body)) {
        return NULL;
    }
    return sparse_sums[curve][body];
}

const uint8_t *pm_sparse_value(const struct pm_sparse_matrix *matrix,
                               const struct pm_sparse_term *term) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    if (term->value_high == PM_SPARSE_VALUE_ONE) {
        return one;
    }
    return matrix->values + 4 * ((uint64_t)term->value_high << 32 | term->value_low);
}

bool pm_sparse_magnitude(uint64_t *magnitude, const uint8_t *value, const uint64_t *modulus,
                         uint32_t n_limbs) {
    uint64_t v[PM_FR_LIMBS_MAX], negated[PM_FR_LIMBS_MAX];
    uint64_t borrow = 0;
    memcpy(v, value, n_limbs * sizeof v[0]);
    for (uint32_t i = 0; i < n_limbs; ++i) {
        const unsigned __int128 difference = (unsigned __int128)modulus[i] - v[i] - borrow;
        negated[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    uint32_t top = n_limbs - 1;
    while (top > 0 && v[top] == negated[top]) {
        --top;
    }
    const bool is_negated = negated[top] < v[top];
    memcpy(magnitude, is_negated ? negated : v, n_limbs * sizeof v[0]);
    return is_negated;
}
