/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of msm/sparse_sum.h for one curve in one body; compiled once for each (see
 * ff_instance.inc). */
#include "msm/sparse_sum.h"

#include "curve/curve_instance.inc"

/* Terms whose tables are made affine together. */
#define SPARSE_BATCH_TERMS 64
/* A term is one lane. */
#define SPARSE_BATCH_LANES SPARSE_BATCH_TERMS
/* Odd multiples 1, 3, 5, 7 of a point: windows of four bits. */
#define SPARSE_WINDOW_BITS 4
#define SPARSE_TABLE_SIZE (1 << (SPARSE_WINDOW_BITS - 2))
/* A value with no more non-zero digits than this in windows of two bits needs no table: the adds
 * that a table saves would not pay for it. */
#define SPARSE_LIGHT_WEIGHT 10
#define SPARSE_DIGITS_MAX (64 * FR_LIMBS + 1)

/* The digits of one multiplier, lowest first: zero or odd, any `window_bits` in a row hold at most
 * one that is not zero (Solinas, "Efficient arithmetic on Koblitz curves", 2000, section 5). */
struct sparse_digits {
    int8_t digit[SPARSE_DIGITS_MAX];
    uint32_t n;      /* digits up to the highest that is not zero */
    uint32_t weight; /* of them that are not zero */
};

static bool sparse_is_zero(const uint64_t k[FR_LIMBS]) {
    uint64_t any = 0;
    for (int i = 0; i < FR_LIMBS; i++) {
        any |= k[i];
    }
    return any == 0;
}

static bool sparse_is_one(const uint64_t k[FR_LIMBS]) {
    uint64_t any = k[0] ^ 1;
    for (int i = 1; i < FR_LIMBS; i++) {
        any |= k[i];
    }
    return any == 0;
}

/* `bits` bits of k from `at` on; those above the top are zero. */
static uint32_t sparse_bits(const uint64_t k[FR_LIMBS], uint32_t at, uint32_t bits) {
    const uint32_t limb = at / 64, shift = at % 64;
    uint64_t word = limb < FR_LIMBS ? k[limb] >> shift : 0;
    if (shift + bits > 64 && limb + 1 < FR_LIMBS) {
        word |= k[limb + 1] << (64 - shift);
    }
    return (uint32_t)word & ((1u << bits) - 1);
}

/* k < 2^(64 limbs - 1), so that the carry out of the top has a digit to go to. */
static void sparse_recode(struct sparse_digits *digits, const uint64_t k[FR_LIMBS],
                          uint32_t window_bits) {
    uint32_t carry = 0;
    memset(digits, 0, sizeof *digits);
    for (uint32_t at = 0; at < SPARSE_DIGITS_MAX;) {
        if ((sparse_bits(k, at, 1) + carry) % 2 == 0) {
            at++; /* a carry goes on through a one and stays away from a zero */
            continue;
        }
        const uint32_t window = sparse_bits(k, at, window_bits) + carry;
        carry = window >> (window_bits - 1) & 1;
        digits->digit[at] = (int8_t)((int32_t)window - (int32_t)(carry << window_bits));
        digits->n = at + 1;
        digits->weight++;
        at += window_bits;
    }
}

#define G g1
#define K fp
#include "msm/sparse_sum_group.inc"
#undef G
#undef K

#define G g2
#define K fp2
#include "msm/sparse_sum_group.inc"
#undef G
#undef K

static uint64_t sparse_scratch_bytes(enum pm_msm_group group) {
    return group == PM_MSM_G1 ? sizeof(struct sparse_g1_scratch) : sizeof(struct sparse_g2_scratch);
}

static void sparse_columns(enum pm_msm_group group, const struct pm_sparse_matrix *matrix,
                           uint64_t first, uint64_t n, void *scratch, void *points) {
    if (group == PM_MSM_G1) {
        sparse_g1_columns(matrix, first, n, scratch, points);
    } else {
        sparse_g2_columns(matrix, first, n, scratch, points);
    }
}

extern const struct pm_sparse_sum PM_INSTANCE_NAME(pm_sparse_sum);
const struct pm_sparse_sum PM_INSTANCE_NAME(pm_sparse_sum) = {
    .curve = PM_INSTANCE_CURVE_ID,
    .body = PM_INSTANCE_BODY_STRING,
    .scratch_bytes = sparse_scratch_bytes,
    .columns = sparse_columns,
};
