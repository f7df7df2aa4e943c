/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of msm/fixed_base.h for one curve in one body; compiled once for each (see
 * ff_instance.inc). */
#include "msm/fixed_base.h"

#include "base/limits.h"
#include "curve/curve_instance.inc"

/* Accumulators that share an inversion: with 256 the inversion costs each a third of a
 * multiplication, and the batch of the widest group (G2 of BLS12-381) stays in a second-level
 * cache. */
#define FIXED_BASE_BATCH 256

/* Windows from 4 bits (see the bound below) to 16: a row of 2^15 points of G2 is then 6 MiB. */
#define FIXED_BASE_WINDOW_MIN 4
#define FIXED_BASE_WINDOW_MAX 16

/*
 * Signed digits without a carry chain: with half = 2^(w - 1), add half * sum_j 2^(w j) to the
 * scalar once; window j of the sum minus half is digit j, in [-half, half). W windows hold every k
 * with
 *
 *     k <= (half - 1) sum_j 2^(w j) = (half - 1) / (2^w - 1) * (2^(w W) - 1),
 *
 * at least 7/15 of 2^(w W) for w >= 4. One bit more than r has is enough, since r is below 0.46 of
 * 2^(FR_BITS + 1) on both curves; the tests try r - 1 with every window.
 */
#define FIXED_BASE_DIGIT_LIMBS (FR_LIMBS + 1)

PM_FF_INLINE uint32_t fixed_base_n_windows(uint32_t window_bits) {
    return (FR_BITS + 1 + window_bits - 1) / window_bits;
}

PM_FF_INLINE void fixed_base_bias(uint64_t out[FIXED_BASE_DIGIT_LIMBS], const void *scalar,
                                  uint32_t window_bits) {
    uint64_t bias[FIXED_BASE_DIGIT_LIMBS] = {0};
    for (uint32_t j = 0; j < fixed_base_n_windows(window_bits); j++) {
        const uint32_t bit = window_bits * j + window_bits - 1;
        bias[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    memset(out, 0, FIXED_BASE_DIGIT_LIMBS * sizeof out[0]);
    memcpy(out, scalar, FR_BYTES);
    unsigned char carry = 0;
    for (int i = 0; i < FIXED_BASE_DIGIT_LIMBS; i++) {
        carry = pm_adc(&out[i], out[i], bias[i], carry);
    }
}

PM_FF_INLINE int32_t fixed_base_digit(const uint64_t biased[FIXED_BASE_DIGIT_LIMBS],
                                      uint32_t window_bits, uint32_t j) {
    const uint32_t bit = window_bits * j, limb = bit / 64, shift = bit % 64;
    uint64_t word = biased[limb] >> shift;
    if (shift + window_bits > 64 && limb + 1 < FIXED_BASE_DIGIT_LIMBS) {
        word |= biased[limb + 1] << (64 - shift);
    }
    word &= (UINT64_C(1) << window_bits) - 1;
    return (int32_t)word - (int32_t)(UINT32_C(1) << (window_bits - 1));
}

#define G g1
#define K fp
#include "msm/fixed_base_group.inc"
#undef G
#undef K

#define G g2
#define K fp2
#include "msm/fixed_base_group.inc"
#undef G
#undef K

/* An entry of the table costs about two additions of a batch (a Jacobian addition and its part of a
 * normalisation), a multiple one addition a window. */
static uint32_t fixed_base_window_bits(enum pm_msm_group group, uint64_t n) {
    (void)group;
    uint32_t best = FIXED_BASE_WINDOW_MIN;
    double best_cost = 0;
    for (uint32_t w = FIXED_BASE_WINDOW_MIN; w <= FIXED_BASE_WINDOW_MAX; w++) {
        const double windows = fixed_base_n_windows(w);
        const double cost = windows * ((double)n + 2 * (double)(UINT64_C(1) << (w - 1)));
        if (w == FIXED_BASE_WINDOW_MIN || cost < best_cost) {
            best = w;
            best_cost = cost;
        }
    }
    return best;
}

static uint64_t fixed_base_table_bytes(enum pm_msm_group group, uint32_t window_bits) {
    return ((uint64_t)fixed_base_n_windows(window_bits) << (window_bits - 1)) *
           (group == PM_MSM_G1 ? sizeof(g1_affine) : sizeof(g2_affine));
}

static void fixed_base_fill_table(enum pm_msm_group group, uint32_t window_bits, const void *point,
                                  struct pm_team *team, void *table) {
    if (group == PM_MSM_G1) {
        fixed_base_g1_fill_table(window_bits, point, team, table);
    } else {
        fixed_base_g2_fill_table(window_bits, point, team, table);
    }
}

static uint64_t fixed_base_scratch_bytes(enum pm_msm_group group, uint32_t threads) {
    return threads * (uint64_t)(group == PM_MSM_G1 ? sizeof(struct fixed_base_g1_batch)
                                                   : sizeof(struct fixed_base_g2_batch));
}

static pm_status fixed_base_multiply(enum pm_msm_group group, uint32_t window_bits,
                                     const void *table, const void *scalars, uint64_t n,
                                     struct pm_team *team, void *scratch, const pm_control *control,
                                     void *points, pm_error *error) {
    const bool done = group == PM_MSM_G1 ? fixed_base_g1_multiply(window_bits, table, scalars, n,
                                                                  team, scratch, control, points)
                                         : fixed_base_g2_multiply(window_bits, table, scalars, n,
                                                                  team, scratch, control, points);
    return done ? PM_OK : pm_control_stop_status(control, error);
}

extern const struct pm_fixed_base PM_INSTANCE_NAME(pm_fixed_base);
const struct pm_fixed_base PM_INSTANCE_NAME(pm_fixed_base) = {
    .curve = PM_INSTANCE_CURVE_ID,
    .body = PM_INSTANCE_BODY_STRING,
    .window_bits = fixed_base_window_bits,
    .table_bytes = fixed_base_table_bytes,
    .fill_table = fixed_base_fill_table,
    .scratch_bytes = fixed_base_scratch_bytes,
    .multiply = fixed_base_multiply,
};
