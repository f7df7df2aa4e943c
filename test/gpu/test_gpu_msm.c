/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the threads of a multi-scalar multiplication on a device compute, against the CPU, for many
 * ways to cut the work. */
#include "curve/curve.h"
#include "gpu/op/gpu_msm_collect.h"
#include "gpu_msm_probe.h"
#include "msm/msm.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_MAX 600

static struct seeded_random entropy;

enum pattern {
    UNIFORM,
    ALL_ZERO,
    ALL_ONE,
    ALL_MINUS_ONE,
    ALL_EQUAL,
    BITS,
    ONE_NON_ZERO,
    EDGES, /* near powers of two, where windows end */
    PATTERNS
};

struct fixture {
    const struct gpu_msm_probe *probe;
    const struct pm_curve *curve;
    const struct pm_group *group;
    const struct pm_msm *msm;
    enum pm_msm_group which;
    uint8_t *points;
    uint64_t (*scalars)[4];
    void *outputs;
};

static const struct gpu_msm_probe *probe_of(pm_curve_id id, enum pm_msm_group which) {
    static const struct gpu_msm_probe *const probes[2][2] = {
        {&gpu_msm_g1_bn254_portable, &gpu_msm_g1_bls12_381_portable},
        {&gpu_msm_g2_bn254_portable, &gpu_msm_g2_bls12_381_portable}};
    return probes[which == PM_MSM_G1 ? 0 : 1][id == PM_CURVE_BN254 ? 0 : 1];
}

static struct fixture fixture_of(pm_curve_id id, enum pm_msm_group which) {
    struct fixture f = {.which = which};
    f.curve = pm_curve_get(id, PM_BODY_PORTABLE);
    f.group = which == PM_MSM_G1 ? f.curve->g1 : f.curve->g2;
    f.msm = pm_msm_get(id, PM_BODY_PORTABLE);
    f.probe = probe_of(id, which);
    f.points = aligned_alloc(64, (size_t)N_MAX * PM_G2_BYTES_MAX);
    f.scalars = aligned_alloc(64, (size_t)N_MAX * sizeof *f.scalars);
    f.outputs = aligned_alloc(64, (size_t)PM_GPU_MSM_WINDOWS_MAX * PM_GPU_MSM_OUTPUTS_MAX *
                                      PM_GROUP_POINT_BYTES_MAX);
    assert_non_null(f.points);
    assert_non_null(f.scalars);
    assert_non_null(f.outputs);
    return f;
}

static void fixture_free(struct fixture *f) {
    free(f->points);
    free(f->scalars);
    free(f->outputs);
}

/* Random points, with infinities, repetitions and opposites among them. */
static void make_points(struct fixture *f) {
    const uint32_t bytes = f->group->affine_bytes;
    struct pm_group_point p, step;
    uint64_t k[1] = {seeded_random_u64(&entropy)};
    f->group->from_affine(&p, f->group->generator);
    f->group->mul(&step, &p, k, 1);
    for (uint32_t i = 0; i < N_MAX; i++) {
        uint8_t *at = f->points + (size_t)i * bytes;
        const uint64_t kind = i == 0 ? 9 : seeded_random_below(&entropy, 10);
        if (kind == 0) {
            memset(at, 0, bytes);
        } else if (kind < 3) {
            struct pm_group_point t;
            memcpy(at, at - bytes, bytes);
            f->group->from_affine(&t, at);
            if (kind == 2) {
                f->group->neg(&t, &t);
            }
            f->group->to_affine(at, &t);
        } else {
            f->group->add(&p, &p, &step);
            f->group->to_affine(at, &p);
        }
    }
}

static void random_scalar(const struct fixture *f, uint64_t s[4]) {
    do {
        for (int k = 0; k < 4; k++) {
            s[k] = seeded_random_u64(&entropy);
        }
        s[3] >>= 256 - f->curve->fr->bits;
    } while (!f->curve->fr->is_canonical(s));
}

static void edge_scalar(const struct fixture *f, uint64_t s[4]) {
    do {
        const uint64_t at = seeded_random_below(&entropy, f->curve->fr->bits);
        const uint64_t less = seeded_random_below(&entropy, 3);
        memset(s, 0, 32);
        s[at / 64] = UINT64_C(1) << (at % 64);
        for (uint64_t i = 0; i < 4 && less == 1; i++) { /* less one */
            if (s[i]-- != 0) {
                break;
            }
        }
        if (less == 2) {
            f->curve->fr->neg(s, s);
        }
    } while (!f->curve->fr->is_canonical(s));
}

static void make_scalars(struct fixture *f, enum pattern pattern) {
    uint64_t one[4];
    random_scalar(f, one);
    const uint32_t lonely = (uint32_t)seeded_random_below(&entropy, 8);
    for (uint32_t i = 0; i < N_MAX; i++) {
        uint64_t *s = f->scalars[i];
        memset(s, 0, 32);
        switch (pattern) {
        case UNIFORM:
            random_scalar(f, s);
            break;
        case ALL_ONE:
            s[0] = 1;
            break;
        case ALL_MINUS_ONE:
            s[0] = 1;
            f->curve->fr->neg(s, s);
            break;
        case ALL_EQUAL:
            memcpy(s, one, 32);
            break;
        case BITS:
            s[0] = seeded_random_below(&entropy, 2);
            if (seeded_random_below(&entropy, 10) == 0) {
                random_scalar(f, s);
            }
            break;
        case ONE_NON_ZERO:
            if (i == lonely) {
                random_scalar(f, s);
            }
            break;
        case EDGES:
            edge_scalar(f, s);
            break;
        default:
            break;
        }
    }
}

static void check(struct fixture *f, const struct gpu_msm_cut *cut, uint32_t n) {
    const struct pm_gpu_msm_windows windows =
        pm_gpu_msm_windows_of(f->probe->scalar_bits, cut->n_windows);
    struct pm_group_point got, wanted;
    uint8_t got_affine[PM_G2_BYTES_MAX], wanted_affine[PM_G2_BYTES_MAX];
    f->probe->run(cut, f->points, f->scalars, n, f->outputs);
    pm_gpu_msm_collect(f->group, &windows, cut->slice_log, f->outputs, 1,
                       (uint32_t)f->probe->jacobian_bytes, &got);
    f->msm->reference(f->which, f->points, f->scalars, n, &wanted);
    f->group->to_affine(got_affine, &got);
    f->group->to_affine(wanted_affine, &wanted);
    assert_memory_equal(got_affine, wanted_affine, f->group->affine_bytes);
}

/* The last ones have many buckets, which take long on a host. */
static const struct gpu_msm_cut cuts[] = {
    {.n_windows = 51,
     .windows_at_once = 51,
     .n_segments = 7,
     .segment_min = 1,
     .merge_segment = 5,
     .slice_log = 0,
     .output_threads = 3},
    {.n_windows = 45,
     .windows_at_once = 7,
     .n_segments = 640,
     .segment_min = 4,
     .merge_segment = 8,
     .slice_log = 2,
     .output_threads = 4},
    {.n_windows = 51,
     .windows_at_once = 1,
     .n_segments = 97,
     .segment_min = 1,
     .merge_segment = 4,
     .slice_log = 3,
     .output_threads = 5},
    {.n_windows = 42,
     .windows_at_once = 20,
     .n_segments = 1,
     .segment_min = 1,
     .merge_segment = 4,
     .slice_log = 4,
     .output_threads = 1},
    {.n_windows = 29,
     .windows_at_once = 4,
     .n_segments = 128,
     .segment_min = 1,
     .merge_segment = 8,
     .slice_log = 4,
     .output_threads = 16},
};
#define CUTS_QUICK 3
#define CUTS (sizeof cuts / sizeof cuts[0])

static void check_group(pm_curve_id id, enum pm_msm_group which) {
    struct fixture f = fixture_of(id, which);
    static const uint32_t sizes[] = {1, 3, 150};
    make_points(&f);
    assert_int_equal(f.probe->affine_bytes, f.group->affine_bytes);
    for (uint32_t pattern = 0; pattern < PATTERNS; pattern++) {
        make_scalars(&f, (enum pattern)pattern);
        for (uint32_t i = 0; i < (which == PM_MSM_G1 ? 3 : 2); i++) {
            check(&f, &cuts[(pattern + i) % CUTS_QUICK], sizes[i]);
        }
    }
    make_scalars(&f, UNIFORM);
    for (size_t i = 0; i < (which == PM_MSM_G1 ? CUTS : CUTS_QUICK); i++) {
        check(&f, &cuts[i], which == PM_MSM_G1 ? N_MAX : 40);
    }
    fixture_free(&f);
}

/* Points with 1 and r - 1 are only added. */
static void check_units(pm_curve_id id, enum pm_msm_group which) {
    struct fixture f = fixture_of(id, which);
    uint32_t list[N_MAX];
    make_points(&f);
    for (uint32_t n_threads = 1; n_threads <= 37; n_threads += 9) {
        const uint32_t n = (uint32_t)seeded_random_below(&entropy, 200);
        struct pm_group_point got, wanted;
        uint8_t got_affine[PM_G2_BYTES_MAX], wanted_affine[PM_G2_BYTES_MAX];
        f.group->set_infinity(&wanted);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t point = (uint32_t)seeded_random_below(&entropy, N_MAX);
            const bool minus = seeded_random_below(&entropy, 2) != 0;
            struct pm_group_point p;
            f.group->from_affine(&p, f.points + (size_t)point * f.group->affine_bytes);
            if (minus) {
                f.group->neg(&p, &p);
            }
            f.group->add(&wanted, &wanted, &p);
            list[i] = point | (minus ? PM_GPU_MSM_SIGN : 0);
        }
        f.probe->units(list, n, n_threads, f.points, &got);
        f.group->to_affine(got_affine, &got);
        f.group->to_affine(wanted_affine, &wanted);
        assert_memory_equal(got_affine, wanted_affine, f.group->affine_bytes);
    }
    fixture_free(&f);
}

static uint64_t any_word(void) {
    return seeded_random_u64(&entropy);
}

/* Sums of G2 that are not reduced, at their bounds and anywhere below. */
static void test_bounds(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 20000; round++) {
        assert_true(gpu_msm_whole_bn254_portable.agrees(any_word));
        assert_true(gpu_msm_whole_bls12_381_portable.agrees(any_word));
        assert_true(gpu_msm_whole_bn254_portable.agrees_full(any_word));
        assert_true(gpu_msm_whole_bls12_381_portable.agrees_full(any_word));
        assert_true(gpu_msm_whole_bn254_portable.agrees_x(any_word));
        assert_true(gpu_msm_whole_bls12_381_portable.agrees_x(any_word));
    }
}

static void test_units(void **state) {
    (void)state;
    check_units(PM_CURVE_BN254, PM_MSM_G1);
    check_units(PM_CURVE_BN254, PM_MSM_G2);
    check_units(PM_CURVE_BLS12_381, PM_MSM_G1);
    check_units(PM_CURVE_BLS12_381, PM_MSM_G2);
}

static void test_bn254(void **state) {
    (void)state;
    check_group(PM_CURVE_BN254, PM_MSM_G1);
    check_group(PM_CURVE_BN254, PM_MSM_G2);
}

static void test_bls12_381(void **state) {
    (void)state;
    check_group(PM_CURVE_BLS12_381, PM_MSM_G1);
    check_group(PM_CURVE_BLS12_381, PM_MSM_G2);
}

/* For every number of windows the digits, by integers, make up the scalar again; the last window's
 * never overflow. */
static void check_digits(pm_curve_id id) {
    struct fixture f = fixture_of(id, PM_MSM_G1);
    const struct pm_field *fr = f.curve->fr;
    for (uint32_t n_windows = 11; n_windows <= 51; n_windows++) {
        const struct pm_gpu_msm_windows windows =
            pm_gpu_msm_windows_of(f.probe->scalar_bits, n_windows);
        assert_int_equal(pm_gpu_msm_window_offset(&windows, n_windows), fr->bits);
        for (uint32_t round = 0; round < 30; round++) {
            uint64_t s[4] = {0}, sum[4] = {0}, two[4] = {2, 0, 0, 0}, mont[4];
            uint32_t keys[PM_GPU_MSM_WINDOWS_MAX], values[PM_GPU_MSM_WINDOWS_MAX];
            if (round < 2) {
                s[0] = round;
            } else if (round < 20) {
                edge_scalar(&f, s);
            } else {
                random_scalar(&f, s);
            }
            f.probe->entries(&windows, s, keys, values);
            fr->to_mont(two, two, 1);
            for (uint32_t w = n_windows; w-- > 0;) {
                for (uint32_t b = 0; b < pm_gpu_msm_window_bits(&windows, w); b++) {
                    fr->mul(sum, sum, two);
                }
                if (keys[w] == pm_gpu_msm_bucket_base(&windows, n_windows)) {
                    continue;
                }
                assert_in_range(keys[w], pm_gpu_msm_bucket_base(&windows, w),
                                pm_gpu_msm_bucket_base(&windows, w + 1) - 1);
                uint64_t digit[4] = {keys[w] - pm_gpu_msm_bucket_base(&windows, w) + 1, 0, 0, 0};
                fr->to_mont(digit, digit, 1);
                if ((values[w] & PM_GPU_MSM_SIGN) != 0) {
                    fr->neg(digit, digit);
                }
                fr->add(sum, sum, digit);
            }
            fr->to_mont(mont, s, 1);
            assert_memory_equal(mont, sum, 32);
        }
    }
    fixture_free(&f);
}

static void test_digits(void **state) {
    (void)state;
    check_digits(PM_CURVE_BN254);
    check_digits(PM_CURVE_BLS12_381);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_digits), cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_bounds), cmocka_unit_test(test_bn254),
                                       cmocka_unit_test(test_bls12_381)};
    entropy = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
