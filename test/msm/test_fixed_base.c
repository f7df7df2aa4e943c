/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fixed-base multiplication against double-and-add, for every window the tables may have. */
#include "base/memory.h"
#include "curve/curve.h"
#include "msm/fixed_base.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_SCALARS 600 /* more than two batches, and not a multiple of one */

static struct seeded_random seed;

struct subject {
    const struct pm_curve *curve;
    const struct pm_group *group;
    const struct pm_fixed_base *fixed_base;
    enum pm_msm_group which;
};

static void *buffer(uint64_t bytes) {
    void *out = NULL;
    assert_int_equal(pm_memory_alloc(NULL, "test", bytes, PM_MEMORY_PLAIN, &out, NULL), PM_OK);
    return out;
}

/* 0, 1, 2, r - 1, r - 2, single bits, values below 2^20, then uniform ones. */
static void fill_scalars(const struct pm_field *fr, uint8_t *scalars) {
    struct seeded_random random = seed;
    for (size_t i = 0; i < N_SCALARS; ++i) {
        uint64_t wide[8], value[PM_FR_LIMBS_MAX] = {0};
        for (size_t j = 0; j < 8; ++j) {
            wide[j] = seeded_random_u64(&random);
        }
        if (i < 3) {
            value[0] = i;
        } else if (i < 5) {
            memcpy(value, fr->modulus, sizeof value);
            value[0] -= i - 2;
        } else if (i < 5 + 253) {
            value[(i - 5) / 64] = UINT64_C(1) << (i - 5) % 64;
        } else if (i < 300) {
            value[0] = wide[0] >> 44;
        } else {
            fr->reduce_wide(value, wide);
            fr->from_mont(value, value, 1);
        }
        memcpy(scalars + i * PM_FR_BYTES, value, PM_FR_BYTES);
    }
}

/* The definition, every `step`-th scalar. */
static void check_points(const struct subject *subject, const uint8_t *base, const uint8_t *scalars,
                         const uint8_t *points, size_t step) {
    const struct pm_group *group = subject->group;
    for (size_t i = 0; i < N_SCALARS; i += step) {
        uint64_t k[PM_FR_LIMBS_MAX];
        uint8_t affine[PM_G2_BYTES_MAX];
        struct pm_group_point point;
        memcpy(k, scalars + i * PM_FR_BYTES, sizeof k);
        group->from_affine(&point, base);
        group->mul(&point, &point, k, PM_FR_LIMBS_MAX);
        group->to_affine(affine, &point);
        assert_memory_equal(affine, points + i * group->affine_bytes, group->affine_bytes);
    }
}

static void check_window(const struct subject *subject, const uint8_t *base, const uint8_t *scalars,
                         uint32_t window_bits, uint32_t threads, size_t step) {
    const struct pm_fixed_base *fixed_base = subject->fixed_base;
    struct pm_team *team = NULL;
    assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
    void *table = buffer(fixed_base->table_bytes(subject->which, window_bits));
    void *scratch = buffer(fixed_base->scratch_bytes(subject->which, threads));
    uint8_t *points = buffer((uint64_t)N_SCALARS * subject->group->affine_bytes);
    fixed_base->fill_table(subject->which, window_bits, base, team, table);
    assert_int_equal(fixed_base->multiply(subject->which, window_bits, table, scalars, N_SCALARS,
                                          team, scratch, NULL, points, NULL),
                     PM_OK);
    check_points(subject, base, scalars, points, step);
    assert_int_equal(fixed_base->multiply(subject->which, window_bits, table, scalars, 0, team,
                                          scratch, NULL, points, NULL),
                     PM_OK);
    pm_memory_free(points);
    pm_memory_free(scratch);
    pm_memory_free(table);
    pm_team_destroy(team);
}

/* A base that is not the generator: 0xfedcba987654321 times it. */
static void other_base(const struct pm_group *group, uint8_t affine[PM_G2_BYTES_MAX]) {
    const uint64_t k[1] = {UINT64_C(0xfedcba987654321)};
    struct pm_group_point point;
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, k, 1);
    group->to_affine(affine, &point);
}

static void check_subject(const struct subject *subject) {
    uint8_t base[PM_G2_BYTES_MAX];
    uint8_t *scalars = buffer((uint64_t)N_SCALARS * PM_FR_BYTES + 1);
    uint8_t *misaligned = scalars + 1;
    fill_scalars(subject->curve->fr, misaligned);
    check_window(subject, subject->group->generator, misaligned, 12, 1, 1);
    check_window(subject, subject->group->generator, misaligned, 8, 2, 1);
    other_base(subject->group, base);
    for (uint32_t w = 4; w <= 11; ++w) {
        check_window(subject, base, misaligned, w, 3, 3);
    }
    pm_memory_free(scalars);
}

static void multiples_equal_double_and_add(void **state) {
    (void)state;
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; ++id) {
        for (int body = 0; body < PM_BODY_COUNT; ++body) {
            const struct pm_fixed_base *fixed_base =
                pm_fixed_base_get((pm_curve_id)id, (enum pm_body)body);
            if (!pm_cpu_has_body((enum pm_body)body)) {
                assert_null(fixed_base);
                continue;
            }
            assert_string_equal(fixed_base->body, pm_body_name((enum pm_body)body));
            const struct pm_curve *curve = pm_curve_get((pm_curve_id)id, (enum pm_body)body);
            const struct subject g1 = {curve, curve->g1, fixed_base, PM_MSM_G1};
            const struct subject g2 = {curve, curve->g2, fixed_base, PM_MSM_G2};
            check_subject(&g1);
            check_subject(&g2);
        }
    }
}

static void cancelled_work_says_so(void **state) {
    (void)state;
    const struct pm_fixed_base *fixed_base = pm_fixed_base_get(PM_CURVE_BN254, PM_BODY_PORTABLE);
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BN254, PM_BODY_PORTABLE);
    const volatile int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    void *table = buffer(fixed_base->table_bytes(PM_MSM_G1, 4));
    void *scratch = buffer(fixed_base->scratch_bytes(PM_MSM_G1, 1));
    uint8_t scalars[PM_FR_BYTES] = {5}, points[PM_G1_BYTES_MAX];
    fixed_base->fill_table(PM_MSM_G1, 4, curve->g1->generator, NULL, table);
    assert_int_equal(fixed_base->multiply(PM_MSM_G1, 4, table, scalars, 1, NULL, scratch, &control,
                                          points, NULL),
                     PM_CANCELLED);
    pm_memory_free(scratch);
    pm_memory_free(table);
}

static void windows_grow_with_the_work(void **state) {
    (void)state;
    const struct pm_fixed_base *fixed_base = pm_fixed_base_get(PM_CURVE_BN254, PM_BODY_PORTABLE);
    uint32_t last = 0;
    for (uint32_t log_n = 0; log_n <= 32; ++log_n) {
        const uint32_t w = fixed_base->window_bits(PM_MSM_G1, UINT64_C(1) << log_n);
        assert_true(w >= last && w >= 4 && w <= 16);
        last = w;
    }
    assert_true(last > 12);
}

int main(void) {
    seed = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiples_equal_double_and_add),
        cmocka_unit_test(cancelled_work_says_so),
        cmocka_unit_test(windows_grow_with_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
