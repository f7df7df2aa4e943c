/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Classes of scalars, and lists by class and density, as the threads of a device make them. */
#include "curve/curve.h"
#include "gpu/kernel/gpu_classes.h"
#include "gpu_classes_probe.h"
#include "msm/msm.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_MAX 1500
#define WORDS (N_MAX / 64 + 1)

static struct seeded_random entropy;

/* ---- Classes --------------------------------------------------------------------------------- */

static void check_classes(pm_curve_id id, gpu_classes_probe *class_of) {
    const struct pm_field *fr = pm_curve_get(id, PM_BODY_PORTABLE)->fr;
    const uint64_t zero[4] = {0}, one[4] = {1, 0, 0, 0};
    uint64_t minus_one[4];
    fr->neg(minus_one, one);
    assert_int_equal(class_of(zero), PM_GPU_CLASS_ZERO);
    assert_int_equal(class_of(one), PM_GPU_CLASS_ONE);
    assert_int_equal(class_of(minus_one), PM_GPU_CLASS_MINUS_ONE);
    /* Each bit that differs makes it another class. */
    for (uint32_t bit = 0; bit < 256; bit++) {
        uint64_t s[4];
        memcpy(s, minus_one, sizeof s);
        s[bit / 64] ^= UINT64_C(1) << (bit % 64);
        assert_int_equal(class_of(s), PM_GPU_CLASS_FULL);
        memcpy(s, one, sizeof s);
        s[bit / 64] ^= UINT64_C(1) << (bit % 64);
        assert_int_equal(class_of(s), bit == 0 ? PM_GPU_CLASS_ZERO : PM_GPU_CLASS_FULL);
        memset(s, 0, sizeof s);
        s[bit / 64] = UINT64_C(1) << (bit % 64);
        assert_int_equal(class_of(s), bit == 0 ? PM_GPU_CLASS_ONE : PM_GPU_CLASS_FULL);
    }
}

static void test_classes(void **state) {
    (void)state;
    check_classes(PM_CURVE_BN254, gpu_classes_of_bn254_portable);
    check_classes(PM_CURVE_BLS12_381, gpu_classes_of_bls12_381_portable);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

struct fixture {
    uint32_t class[N_MAX];
    struct pm_gpu_class_word classes[WORDS];
    uint64_t density[WORDS];
    uint32_t rank[N_MAX / PM_GPU_RANK_STEP + 1];
};

static bool has_point(const struct fixture *f, const struct pm_gpu_list_range *range, uint64_t i) {
    return range->density == NULL || (f->density[i / 64] >> (i % 64) & 1) != 0;
}

/* of_16: how many of 16 scalars are full; the others are mostly 0 and 1. */
static void fill(struct fixture *f, uint32_t of_16, uint32_t dense_of_16) {
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < N_MAX; i++) {
        const uint32_t c = seeded_random_below(&entropy, 16) < of_16
                               ? (uint32_t)PM_GPU_CLASS_FULL
                               : (uint32_t)seeded_random_below(&entropy, 3);
        f->class[i] = c;
        f->classes[i / 64].low |= (uint64_t)(c & 1) << (i % 64);
        f->classes[i / 64].high |= (uint64_t)(c >> 1) << (i % 64);
        if (seeded_random_below(&entropy, 16) < dense_of_16) {
            f->density[i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
    (void)pm_msm_rank_fill(f->density, N_MAX, f->rank);
}

/* What lists are by definition. */
static void lists_by_definition(const struct fixture *f, const struct pm_gpu_list_range *range,
                                const struct pm_gpu_lists *lists, struct pm_gpu_list_counts *n) {
    uint32_t point = 0;
    *n = (struct pm_gpu_list_counts){0, 0};
    for (uint64_t i = range->origin; i < range->first + range->n; i++) {
        const uint32_t number = range->rank == NULL ? (uint32_t)(i - range->origin) : point;
        const uint32_t c = range->classes == NULL ? (uint32_t)PM_GPU_CLASS_FULL : f->class[i];
        if (!has_point(f, range, i)) {
            continue;
        }
        point++;
        if (i < range->first || c == PM_GPU_CLASS_ZERO) {
            continue;
        }
        if (c == PM_GPU_CLASS_FULL) {
            lists->full_scalars[n->n_full] = (uint32_t)(i - range->origin);
            lists->full_points[n->n_full++] = number;
        } else {
            lists->units[n->n_units++] =
                number | (c == PM_GPU_CLASS_MINUS_ONE ? PM_GPU_LIST_MINUS : 0);
        }
    }
}

/* What threads do, one word after another, its bits in any order. */
static void lists_by_threads(const struct pm_gpu_list_range *range,
                             const struct pm_gpu_lists *lists, struct pm_gpu_list_counts *at) {
    *at = (struct pm_gpu_list_counts){0, 0};
    for (uint64_t k = 0; k < pm_gpu_list_words(range); k++) {
        const struct pm_gpu_list_word word = pm_gpu_list_word_of(range, k);
        const uint64_t density = range->rank == NULL ? 0 : range->density[range->first / 64 + k];
        for (uint32_t bit = 64; bit-- > 0;) {
            pm_gpu_list_put(lists, &word, density, range->rank != NULL,
                            pm_gpu_list_first_scalar(range, k), pm_gpu_list_first_point(range, k),
                            at, bit);
        }
        at->n_units += pm_gpu_ones(word.units);
        at->n_full += pm_gpu_ones(word.full);
    }
}

static void check_lists(const struct fixture *f, const struct pm_gpu_list_range *range) {
    static uint32_t memory[6][N_MAX];
    const struct pm_gpu_lists wanted = {memory[0], memory[1], memory[2]};
    const bool same_numbers = range->rank == NULL;
    const struct pm_gpu_lists got = {memory[3], memory[4], same_numbers ? NULL : memory[5]};
    struct pm_gpu_list_counts n_wanted, n_got;
    memset(memory, 0xee, sizeof memory);
    lists_by_definition(f, range, &wanted, &n_wanted);
    lists_by_threads(range, &got, &n_got);
    assert_int_equal(n_got.n_units, n_wanted.n_units);
    assert_int_equal(n_got.n_full, n_wanted.n_full);
    assert_memory_equal(got.units, wanted.units, n_got.n_units * sizeof(uint32_t));
    assert_memory_equal(got.full_scalars, wanted.full_scalars, n_got.n_full * sizeof(uint32_t));
    assert_memory_equal(same_numbers ? got.full_scalars : got.full_points, wanted.full_points,
                        n_got.n_full * sizeof(uint32_t));
}

static void test_lists(void **state) {
    static struct fixture f;
    (void)state;
    for (uint32_t round = 0; round < 600; round++) {
        static const uint32_t shares[] = {0, 1, 8, 16};
        fill(&f, shares[round % 4], shares[round / 4 % 4]);
        struct pm_gpu_list_range range = {.classes = round % 3 == 0 ? NULL : f.classes};
        range.origin = seeded_random_below(&entropy, round % 5 == 0 ? 2 : N_MAX);
        range.first = range.origin + seeded_random_below(&entropy, N_MAX + 1 - range.origin);
        if (round % 7 == 0) {
            range.first = range.origin;
        }
        range.n = seeded_random_below(&entropy, N_MAX + 1 - range.first);
        if (round % 6 == 0) { /* to the end of a word */
            range.n -= range.n == 0 ? 0 : (range.first + range.n) % 64 % (range.n + 1);
        }
        check_lists(&f, &range);
        range.density = f.density;
        check_lists(&f, &range);
        range.rank = f.rank;
        check_lists(&f, &range);
    }
}

static void test_rank(void **state) {
    static struct fixture f;
    uint32_t n = 0;
    (void)state;
    fill(&f, 4, 5);
    for (uint32_t i = 0; i < N_MAX; i++) {
        assert_int_equal(pm_gpu_rank(f.density, f.rank, i), n);
        n += (f.density[i / 64] >> (i % 64) & 1) != 0;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes), cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_rank)};
    entropy = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
