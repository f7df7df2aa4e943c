/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_classes.h - which scalars are 0, 1, r - 1 or none of these, and lists made of it.
 *
 * Plain data, and the functions of a thread; compiles for the host too. A class is two bits: bit
 * i % 64 of low and of high of the word i / 64 belongs to scalar i, and is 0 behind the last one.
 */
#ifndef PM_GPU_CLASSES_H
#define PM_GPU_CLASSES_H

#include "gpu/ff/gpu_word.h"

#include <stdbool.h>
#include <stdint.h>

enum pm_gpu_class {
    PM_GPU_CLASS_ZERO = 0,
    PM_GPU_CLASS_ONE = 1,       /* low */
    PM_GPU_CLASS_MINUS_ONE = 2, /* high */
    PM_GPU_CLASS_FULL = 3
};

struct pm_gpu_class_word {
    uint64_t low, high;
};

/* The sign of a point stands above its number. */
#define PM_GPU_LIST_MINUS UINT32_C(0x80000000)
/* Bits of a density between two entries of its directory, as msm/msm.h has it. */
#define PM_GPU_RANK_STEP 256

/* The scalars that lists are made of: [first, first + n) of all. Scalars and points are counted
 * from scalar `origin` <= first and from its point, or that of the first one behind it that has
 * one. */
struct pm_gpu_list_range {
    const struct pm_gpu_class_word *classes; /* NULL: all are full */
    const uint64_t *density;                 /* NULL: all have a point */
    const uint32_t *rank;                    /* NULL: the point of scalar i is i - origin */
    uint64_t origin, first, n;
};

/* How many points have 1 or r - 1, and how many the other scalars. */
struct pm_gpu_list_counts {
    uint32_t n_units, n_full;
};

/* Where lists go: room for n numbers each. Points of units, with their signs, stand in `units`;
 * scalars of the others in full_scalars, and their points in full_points, which is NULL when they
 * have the same numbers. */
struct pm_gpu_lists {
    uint32_t *units, *full_scalars, *full_points;
};

PM_GPU_INLINE uint32_t pm_gpu_ones(uint64_t word) {
#if defined(__CUDA_ARCH__)
    return (uint32_t)__popcll(word);
#else
    return (uint32_t)__builtin_popcountll(word);
#endif
}

PM_GPU_INLINE uint64_t pm_gpu_below(uint32_t bit) {
    return (UINT64_C(1) << bit) - 1;
}

/* Words that a range touches: word k of it holds the scalars from 64 (first / 64 + k) on. */
PM_GPU_INLINE uint64_t pm_gpu_list_words(const struct pm_gpu_list_range *range) {
    return range->n == 0 ? 0 : (range->first + range->n - 1) / 64 - range->first / 64 + 1;
}

/* Bits of word k that lie in the range and have a point. */
PM_GPU_INLINE uint64_t pm_gpu_list_mask(const struct pm_gpu_list_range *range, uint64_t k) {
    const uint64_t word = range->first / 64 + k, end = range->first + range->n;
    uint64_t mask = range->density == NULL ? UINT64_MAX : range->density[word];
    if (word == range->first / 64) {
        mask &= ~pm_gpu_below((uint32_t)(range->first % 64));
    }
    if (word == end / 64) {
        mask &= pm_gpu_below((uint32_t)(end % 64));
    }
    return mask;
}

/* The scalars of word k by list; bits of minus are those of units whose scalar is r - 1. */
struct pm_gpu_list_word {
    uint64_t units, minus, full;
};

PM_GPU_INLINE struct pm_gpu_list_word pm_gpu_list_word_of(const struct pm_gpu_list_range *range,
                                                          uint64_t k) {
    const uint64_t mask = pm_gpu_list_mask(range, k);
    struct pm_gpu_list_word word = {0, 0, mask};
    if (range->classes != NULL && mask != 0) {
        const struct pm_gpu_class_word class_word = range->classes[range->first / 64 + k];
        word.units = (class_word.low ^ class_word.high) & mask;
        word.minus = class_word.high & word.units;
        word.full = class_word.low & class_word.high & mask;
    }
    return word;
}

/* Set bits of the density before scalar i, which may be the one behind the last if that is not a
 * multiple of 64. */
PM_GPU_INLINE uint32_t pm_gpu_rank(const uint64_t *density, const uint32_t *rank, uint64_t i) {
    uint32_t n = rank[i / PM_GPU_RANK_STEP];
    for (uint64_t word = i / PM_GPU_RANK_STEP * (PM_GPU_RANK_STEP / 64); word < i / 64; word++) {
        n += pm_gpu_ones(density[word]);
    }
    return i % 64 == 0 ? n : n + pm_gpu_ones(density[i / 64] & pm_gpu_below((uint32_t)(i % 64)));
}

/* The number of the first scalar of word k; modulo 2^32, since the first word may begin before
 * `origin`. */
PM_GPU_INLINE uint32_t pm_gpu_list_first_scalar(const struct pm_gpu_list_range *range, uint64_t k) {
    return (uint32_t)((range->first / 64 + k) * 64 - range->origin);
}

/* And of its point, or the next there is. */
PM_GPU_INLINE uint32_t pm_gpu_list_first_point(const struct pm_gpu_list_range *range, uint64_t k) {
    return range->rank == NULL
               ? pm_gpu_list_first_scalar(range, k)
               : pm_gpu_rank(range->density, range->rank, (range->first / 64 + k) * 64) -
                     pm_gpu_rank(range->density, range->rank, range->origin);
}

/* Bit `bit` of a word into its list. density: the word's, when points are compact. at: what stands
 * before the word in either list. */
PM_GPU_INLINE void pm_gpu_list_put(const struct pm_gpu_lists *lists,
                                   const struct pm_gpu_list_word *word, uint64_t density,
                                   bool is_compact, uint32_t first_scalar, uint32_t first_point,
                                   const struct pm_gpu_list_counts *at, uint32_t bit) {
    const uint64_t one = UINT64_C(1) << bit, below = one - 1;
    const uint32_t point = first_point + (is_compact ? pm_gpu_ones(density & below) : bit);
    if ((word->units & one) != 0) {
        lists->units[at->n_units + pm_gpu_ones(word->units & below)] =
            point | ((word->minus & one) != 0 ? PM_GPU_LIST_MINUS : 0);
    } else if ((word->full & one) != 0) {
        const uint32_t to = at->n_full + pm_gpu_ones(word->full & below);
        lists->full_scalars[to] = first_scalar + bit;
        if (lists->full_points != NULL) {
            lists->full_points[to] = point;
        }
    }
}

#endif
