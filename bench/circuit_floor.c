/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "circuit_floor.h"

#include "floors.h"
#include "msm_count.h"

#include <string.h>

static bool is_zero(const uint8_t *bytes, size_t n) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* Of a canonical scalar; 0 for zero. */
static uint32_t bit_length(const uint8_t *scalar) {
    uint64_t k[PM_FR_BYTES / 8];
    memcpy(k, scalar, sizeof k);
    for (uint32_t i = PM_FR_BYTES / 8; i-- > 0;) {
        if (k[i] != 0) {
            return 64 * i + 64 - (uint32_t)__builtin_clzll(k[i]);
        }
    }
    return 0;
}

static bool is_minus_one(const struct pm_field *fr, const uint8_t *scalar) {
    uint64_t k[PM_FR_BYTES / 8];
    memcpy(k, scalar, sizeof k);
    k[0] += 1; /* the modulus is odd */
    return memcmp(k, fr->modulus, sizeof k) == 0;
}

static void sum_up_lengths(struct msm_scalars *scalars) {
    for (uint32_t bits = MSM_COUNT_LENGTHS - 1; bits-- > 0;) {
        scalars->n_longer[bits] += scalars->n_longer[bits + 1];
    }
}

/* The scalars of the variables from `first` on. density says which of them have a point at all; its
 * n is 0 if all do. */
static void classify(const struct circuit_work *work, const struct pm_group *group,
                     const struct pm_key_query *query, const struct pm_density *density,
                     uint64_t first, struct msm_scalars *scalars) {
    const bool is_compact = density != NULL && query->n < work->key->n_vars - first;
    uint64_t point = 0;
    scalars->n = work->key->n_vars - first;
    for (uint64_t i = first; i < work->key->n_vars; i++) {
        if (is_compact && !pm_density_has(density, i)) {
            continue;
        }
        const uint8_t *scalar = work->values + i * PM_FR_BYTES;
        const uint32_t bits = bit_length(scalar);
        if (bits != 0 &&
            !is_zero(query->points + point * group->affine_bytes, group->affine_bytes)) {
            const bool is_one = bits == 1 || is_minus_one(work->curve->fr, scalar);
            scalars->n_ones += is_one;
            scalars->n_longer[bits] += !is_one;
        }
        point++;
    }
    sum_up_lengths(scalars);
}

static void count_sum(const struct circuit_work *work, enum pm_msm_group which,
                      const struct msm_scalars *scalars, struct circuit_count *count) {
    const struct pm_group *group = which == PM_MSM_G1 ? work->curve->g1 : work->curve->g2;
    msm_count_function *const additions = msm_count_get(work->curve->id, work->body);
    struct msm_count made = {0};
    if (additions != NULL) {
        additions(scalars, work->threads, group->affine_bytes, &made);
    }
    count->fp = made.additions * floor_affine_addition(which);
    count->n_in_buckets = scalars->n_longer[1];
    while (UINT32_C(1) << count->window_bits < 2 * made.n_buckets) {
        count->window_bits++;
    }
}

/* The scalars of h are as good as uniform: none of them is short. */
static void count_h(const struct circuit_work *work, struct circuit_count *count) {
    struct msm_scalars scalars = {.n = work->key->h.n};
    scalars.n_longer[work->curve->fr->bits] = scalars.n;
    sum_up_lengths(&scalars);
    count_sum(work, PM_MSM_G1, &scalars, count);
}

static void count_query(const struct circuit_work *work, enum pm_step_id step,
                        struct circuit_count *count) {
    const struct pm_proving_key *key = work->key;
    struct msm_scalars scalars = {0};
    switch (step) {
    case PM_STEP_MSM_A:
        classify(work, work->curve->g1, &key->a, &key->a_density, 0, &scalars);
        break;
    case PM_STEP_MSM_B1:
        classify(work, work->curve->g1, &key->b1, &key->b_density, 0, &scalars);
        break;
    case PM_STEP_MSM_B2:
        classify(work, work->curve->g2, &key->b2, &key->b_density, 0, &scalars);
        break;
    default:
        classify(work, work->curve->g1, &key->l, NULL, key->n_inputs, &scalars);
        break;
    }
    count_sum(work, step == PM_STEP_MSM_B2 ? PM_MSM_G2 : PM_MSM_G1, &scalars, count);
}

void circuit_count_step(const struct circuit_work *work, enum pm_step_id step,
                        struct circuit_count *count) {
    const uint32_t log_n = work->key->log_n;
    const double n = (double)(UINT64_C(1) << log_n);
    const double terms = (double)(work->key->n_nonzeros[0] + work->key->n_nonzeros[1]);
    *count = (struct circuit_count){0};
    switch (step) {
    case PM_STEP_PRODUCTS: /* of bellman's keys, C too */
        count->fr = terms + (double)work->key->n_nonzeros[2];
        break;
    case PM_STEP_QUOTIENT: /* a, b and c = a b to the coset; a b - c */
        count->fr = 3 * floor_to_coset(log_n) + 2 * n;
        break;
    case PM_STEP_COSET_PRODUCT:
        count->fr = 2 * floor_to_coset(log_n) + n;
        break;
    case PM_STEP_RECOMPUTE_C:
        count->fr = terms + n;
        break;
    case PM_STEP_QUOTIENT_OF_C:
        count->fr = floor_to_coset(log_n) + n;
        break;
    case PM_STEP_MSM_H:
        count_h(work, count);
        break;
    case PM_STEP_MSM_A:
    case PM_STEP_MSM_B1:
    case PM_STEP_MSM_L:
    case PM_STEP_MSM_B2:
        count_query(work, step, count);
        break;
    default:
        break;
    }
}
