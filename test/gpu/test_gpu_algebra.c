/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The device's fields, curves and transforms, compiled for the host, against the CPU library. Every
 * operation stands in for the PTX of the same name, so what passes here is the card's algebra. */
#include "curve/curve.h"
#include "ff/field.h"
#include "gpu_algebra_probe.h"
#include "poly/poly.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct seeded_random entropy;

struct setting {
    pm_curve_id id;
    const struct gpu_algebra_probe *gpu;
    const struct pm_curve *curve;
    const struct pm_poly *poly;
};

static void for_each_curve(void (*check)(const struct setting *setting)) {
    const struct gpu_algebra_probe *probes[] = {NULL, &gpu_algebra_bn254_portable,
                                                &gpu_algebra_bls12_381_portable};
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; id++) {
        const struct setting setting = {.id = (pm_curve_id)id,
                                        .gpu = probes[id],
                                        .curve = pm_curve_get((pm_curve_id)id, PM_BODY_PORTABLE),
                                        .poly = pm_poly_get((pm_curve_id)id, PM_BODY_PORTABLE)};
        check(&setting);
    }
}

/* ---------------------------------------------------------------- fields */

/* Integers below the modulus, half of them near an edge: few bits, all ones in some words, the
 * modulus less a little. */
static void edge_value(const struct pm_field *field, uint64_t *r) {
    const uint64_t kind = seeded_random_below(&entropy, 8);
    do {
        memset(r, 0, field->bytes);
        for (uint32_t i = 0; i < 2 * field->limbs; i++) {
            uint64_t word = seeded_random_u64(&entropy) & UINT32_MAX;
            if (kind < 3) {
                const uint64_t pick = seeded_random_below(&entropy, 4);
                word = pick == 0 ? 0 : pick == 1 ? UINT32_MAX : pick == 2 ? 1 : word;
            }
            r[i / 2] |= word << (32 * (i % 2));
        }
        if (kind == 3) {
            memcpy(r, field->modulus, field->bytes);
            r[0] -= 1 + seeded_random_below(&entropy, 4); /* BLS12-381's r ends in 1: borrows */
        } else if (kind == 4) {
            memset(r, 0, field->bytes);
            r[0] = seeded_random_below(&entropy, 4);
        }
        r[field->limbs - 1] &= (UINT64_C(1) << ((field->bits - 1) % 64 + 1)) - 1;
    } while (!field->is_canonical(r));
}

static void check_prime(const struct pm_field *field, const struct gpu_field_probe *gpu) {
    uint64_t a[6], b[6], wanted[6], got[6];
    assert_int_equal(field->bytes, gpu->bytes);
    for (int round = 0; round < 4000; round++) {
        edge_value(field, a);
        edge_value(field, b);
#define CHECK(name, reference)                                                                     \
    do {                                                                                           \
        memset(got, 0xee, sizeof got);                                                             \
        (reference);                                                                               \
        gpu->name;                                                                                 \
        assert_memory_equal(got, wanted, field->bytes);                                            \
    } while (0)
        CHECK(add(got, a, b), field->add(wanted, a, b));
        CHECK(sub(got, a, b), field->sub(wanted, a, b));
        CHECK(mul(got, a, b), field->mul(wanted, a, b));
        CHECK(neg(got, a), field->neg(wanted, a));
        CHECK(dbl(got, a), field->add(wanted, a, a));
        CHECK(sqr(got, a), field->sqr(wanted, a));
        CHECK(to_mont(got, a), field->to_mont(wanted, a, 1));
        CHECK(from_mont(got, a), field->from_mont(wanted, a, 1));
        CHECK(add_lazy_then_reduce(got, a, b), field->add(wanted, a, b));
        CHECK(sub_lazy_then_reduce(got, a, b), field->sub(wanted, a, b));
        if (round % 64 == 0) {
            CHECK(inv(got, a), field->inv(wanted, a));
        }
#undef CHECK
    }
    memset(a, 0, sizeof a);
    gpu->inv(got, a);
    assert_memory_equal(got, a, field->bytes);
}

/* The modulus and its neighbours, one word more or less in any place, anything. */
static void check_is_canonical(const struct pm_field *field, const struct gpu_field_probe *gpu) {
    for (int round = 0; round < 4000; round++) {
        uint64_t a[6];
        memcpy(a, field->modulus, field->bytes);
        if (round >= 2) {
            a[seeded_random_below(&entropy, field->limbs)] += seeded_random_below(&entropy, 3) - 1;
        }
        if (round % 4 == 1) {
            a[0] -= 1;
        }
        if (round % 8 == 2) {
            a[seeded_random_below(&entropy, field->limbs)] = seeded_random_u64(&entropy);
        }
        assert_int_equal(gpu->is_canonical(a), field->is_canonical(a));
    }
}

static void check_batch_inverses(const struct pm_field *field, const struct gpu_field_probe *gpu) {
    enum { N = 33 };
    uint64_t a[6 * N], wanted[6 * N], scratch[6 * N];
    for (size_t i = 0; i < N; i++) {
        edge_value(field, a + i * field->limbs);
    }
    memset(a, 0, field->bytes); /* zeros at the ends and within */
    memset(a + 7 * field->limbs, 0, field->bytes);
    memset(a + (N - 1) * field->limbs, 0, field->bytes);
    memcpy(wanted, a, sizeof a);
    field->batch_inv(wanted, scratch, N);
    gpu->batch_inv(a, scratch, N);
    assert_memory_equal(a, wanted, N * field->bytes);
}

static void check_fields(const struct setting *s) {
    check_prime(s->curve->fp, &s->gpu->fp);
    check_prime(s->curve->fr, &s->gpu->fr);
    check_batch_inverses(s->curve->fp, &s->gpu->fp);
    check_batch_inverses(s->curve->fr, &s->gpu->fr);
    check_is_canonical(s->curve->fp, &s->gpu->fp);
    check_is_canonical(s->curve->fr, &s->gpu->fr);
}

static void test_prime_fields(void **state) {
    (void)state;
    for_each_curve(check_fields);
}

/* (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u by the field's table. */
static void fp2_product(const struct pm_field *fp, uint64_t *r, const uint64_t *a,
                        const uint64_t *b) {
    uint64_t t[6], u[6], c1[6];
    const uint64_t *a1 = a + fp->limbs, *b1 = b + fp->limbs;
    fp->mul(t, a, b1);
    fp->mul(u, a1, b);
    fp->add(c1, t, u);
    fp->mul(t, a, b);
    fp->mul(u, a1, b1);
    fp->sub(r, t, u);
    memcpy(r + fp->limbs, c1, fp->bytes);
}

static void check_fp2(const struct setting *s) {
    const struct pm_field *fp = s->curve->fp;
    const struct gpu_field_probe *gpu = &s->gpu->fp2;
    uint64_t a[12], b[12], wanted[12], got[12], one[12] = {0};
    memcpy(one, fp->one, fp->bytes);
    for (int round = 0; round < 2000; round++) {
        edge_value(fp, a);
        edge_value(fp, a + fp->limbs);
        edge_value(fp, b);
        edge_value(fp, b + fp->limbs);
        fp2_product(fp, wanted, a, b);
        gpu->mul(got, a, b);
        assert_memory_equal(got, wanted, 2 * fp->bytes);
        fp2_product(fp, wanted, a, a);
        gpu->sqr(got, a);
        assert_memory_equal(got, wanted, 2 * fp->bytes);
        fp->sub(wanted, a, b);
        fp->sub(wanted + fp->limbs, a + fp->limbs, b + fp->limbs);
        gpu->sub(got, a, b);
        assert_memory_equal(got, wanted, 2 * fp->bytes);
        gpu->neg(wanted, b);
        gpu->add(got, a, wanted);
        gpu->sub(wanted, a, b);
        assert_memory_equal(got, wanted, 2 * fp->bytes);
        if (round % 64 == 0 && !(fp->is_canonical(a) && a[0] == 0 && a[1] == 0)) {
            gpu->inv(wanted, a);
            fp2_product(fp, got, a, wanted);
            assert_memory_equal(got, one, 2 * fp->bytes);
        }
    }
}

static void test_fp2(void **state) {
    (void)state;
    for_each_curve(check_fp2);
}

static void check_factors(const struct setting *s) {
    const struct pm_field *fr = s->curve->fr;
    uint64_t x[4], w[4], wanted[4], got[4], two[4] = {2}, power[4];
    for (int round = 0; round < 4000; round++) {
        edge_value(fr, x);
        edge_value(fr, w);
        fr->mul(wanted, x, w);
        s->gpu->factor_mul(got, x, w, false);
        assert_memory_equal(got, wanted, sizeof got);
        s->gpu->factor_mul(got, x, w, true);
        assert_memory_equal(got, wanted, sizeof got);
        const uint32_t k = (uint32_t)seeded_random_below(&entropy, 32);
        const uint64_t e = k;
        fr->to_mont(power, two, 1);
        fr->pow(power, power, &e, 1);
        s->gpu->div_pow2(got, x, k);
        fr->mul(got, got, power);
        assert_memory_equal(got, x, sizeof got);
    }
}

static void test_constant_factors(void **state) {
    (void)state;
    for_each_curve(check_factors);
}

/* ---------------------------------------------------------------- curves */

#define POINTS 48

static void random_point(const struct pm_group *group, void *affine) {
    uint64_t k[4];
    struct pm_group_point t;
    seeded_random_bytes(&entropy, k, sizeof k);
    group->from_affine(&t, group->generator);
    group->mul(&t, &t, k, 4);
    group->to_affine(affine, &t);
}

/* Points with repetitions, opposites and infinities, so that every branch of an addition is taken.
 */
static void awkward_points(const struct pm_group *group, uint8_t *affine, bool *negate) {
    for (size_t i = 0; i < POINTS; i++) {
        uint8_t *at = affine + i * group->affine_bytes;
        const uint64_t kind = i == 0 ? 3 : seeded_random_below(&entropy, 5);
        if (kind == 0) {
            memset(at, 0, group->affine_bytes);
        } else if (kind < 3) {
            memcpy(at, at - group->affine_bytes, group->affine_bytes);
        } else {
            random_point(group, at);
        }
        negate[i] = seeded_random_below(&entropy, 2) != 0;
    }
}

static void expect_point(const struct pm_group *group, const struct pm_group_point *got,
                         const struct pm_group_point *wanted) {
    assert_true(group->eq(got, wanted));
}

static void reference_sum(const struct pm_group *group, struct pm_group_point *sum,
                          const uint8_t *affine, const bool *negate, size_t n) {
    group->set_infinity(sum);
    for (size_t i = 0; i < n; i++) {
        struct pm_group_point t;
        group->from_affine(&t, affine + i * group->affine_bytes);
        if (negate != NULL && negate[i]) {
            group->neg(&t, &t);
        }
        group->add(sum, sum, &t);
    }
}

static void check_group(const struct pm_group *group, const struct gpu_group_probe *gpu) {
    uint8_t points[POINTS * PM_G2_BYTES_MAX];
    bool negate[POINTS];
    struct pm_group_point got, wanted, other;
    awkward_points(group, points, negate);
    assert_int_equal(group->affine_bytes, gpu->affine_bytes);
    for (size_t n = 0; n <= POINTS; n++) {
        reference_sum(group, &wanted, points, negate, n);
        gpu->xyzz_sum(&got, points, negate, n);
        expect_point(group, &got, &wanted);

        const size_t m = POINTS - n;
        reference_sum(group, &wanted, points, NULL, n);
        reference_sum(group, &other, points, NULL, m);
        gpu->xyzz_dbl_of_sum(&got, points, n);
        group->dbl(&wanted, &wanted);
        expect_point(group, &got, &wanted);
        reference_sum(group, &wanted, points, NULL, n);
        gpu->jac_dbl(&got, &wanted);
        group->dbl(&wanted, &wanted);
        expect_point(group, &got, &wanted);

        reference_sum(group, &wanted, points, NULL, n);
        gpu->jac_add(&got, &wanted, &other);
        group->add(&wanted, &wanted, &other);
        expect_point(group, &got, &wanted);
        gpu->xyzz_add_of_sums(&got, points, n, points, m);
        expect_point(group, &got, &wanted);

        uint8_t affine[PM_G2_BYTES_MAX], affine_wanted[PM_G2_BYTES_MAX];
        gpu->jac_to_affine(affine, &wanted);
        group->to_affine(affine_wanted, &wanted);
        assert_memory_equal(affine, affine_wanted, group->affine_bytes);
        gpu->jac_from_affine(&got, affine);
        expect_point(group, &got, &wanted);
    }
}

static void check_groups(const struct setting *s) {
    check_group(s->curve->g1, &s->gpu->g1);
    check_group(s->curve->g2, &s->gpu->g2);
}

static void test_groups(void **state) {
    (void)state;
    for_each_curve(check_groups);
}

/* ---------------------------------------------------------------- transforms */

static uint64_t *new_vector(const struct pm_field *fr, uint32_t log_n) {
    void *v = NULL;
    assert_int_equal(
        pm_memory_alloc(NULL, "vector", (uint64_t)PM_FR_BYTES << log_n, PM_MEMORY_PLAIN, &v, NULL),
        PM_OK);
    uint64_t *vector = v;
    for (uint64_t i = 0; i < UINT64_C(1) << log_n; i++) {
        edge_value(fr, vector + 4 * i);
    }
    return vector;
}

static void reverse(uint64_t *vector, uint32_t log_n) {
    for (uint64_t i = 0; i < UINT64_C(1) << log_n; i++) {
        uint64_t j = 0, t[4];
        for (uint32_t k = 0; k < log_n; k++) {
            j |= (i >> k & 1) << (log_n - 1 - k);
        }
        if (i < j) {
            memcpy(t, vector + 4 * i, sizeof t);
            memcpy(vector + 4 * i, vector + 4 * j, sizeof t);
            memcpy(vector + 4 * j, t, sizeof t);
        }
    }
}

struct shape {
    uint32_t levels_max, tile_log;
};

/* The vector as the transform of this shape wants it, and back. */
static void check_transform(const struct setting *s, uint32_t log_n, struct shape shape, int root,
                            bool inverse, bool merge) {
    const struct gpu_scale_request divide = {.out = inverse, .divide = true};
    struct pm_domain domain;
    uint64_t *wanted = new_vector(s->curve->fr, log_n), *got = new_vector(s->curve->fr, log_n);
    const size_t bytes = (size_t)PM_FR_BYTES << log_n;
    memcpy(got, wanted, bytes);
    assert_int_equal(
        pm_domain_create(s->poly, log_n, (enum pm_root)root, NULL, NULL, &domain, NULL), PM_OK);
    assert_int_equal(
        (inverse ? s->poly->inverse : s->poly->forward)(&domain, wanted, NULL, NULL, NULL), PM_OK);
    if (merge) {
        reverse(got, log_n);
    }
    s->gpu->ntt(got, log_n, shape.levels_max, shape.tile_log, root, inverse, merge, &divide);
    if (!merge) {
        reverse(got, log_n);
    }
    assert_memory_equal(got, wanted, bytes);
    pm_domain_destroy(&domain);
    pm_memory_free(wanted);
    pm_memory_free(got);
}

static void check_transforms(const struct setting *s) {
    static const struct shape shapes[] = {{8, 10}, {7, 8}, {9, 12}, {10, 11}};
    for (uint32_t log_n = 1; log_n <= 15; log_n++) {
        for (size_t k = 0; k < (log_n < 9 ? 1 : sizeof shapes / sizeof shapes[0]); k++) {
            for (int which = 0; which < 4; which++) {
                check_transform(s, log_n, shapes[k], (int)(log_n + k) % 2, (which & 1) != 0,
                                (which & 2) != 0);
            }
        }
    }
}

static void test_transforms(void **state) {
    (void)state;
    for_each_curve(check_transforms);
}

/* base and first such that the coset transforms can be said with the CPU's scale_by_powers. */
static void check_scaled(const struct setting *s, uint32_t log_n, bool merge) {
    struct pm_domain domain;
    const size_t bytes = (size_t)PM_FR_BYTES << log_n;
    uint64_t first[4], base[4];
    uint64_t *wanted = new_vector(s->curve->fr, log_n), *got = new_vector(s->curve->fr, log_n);
    edge_value(s->curve->fr, first);
    edge_value(s->curve->fr, base);
    assert_int_equal(pm_domain_create(s->poly, log_n, PM_ROOT_SNARKJS, NULL, NULL, &domain, NULL),
                     PM_OK);
    memcpy(got, wanted, bytes);
    s->poly->scale_by_powers(&domain, wanted, base, first, NULL);
    assert_int_equal(s->poly->forward(&domain, wanted, NULL, NULL, NULL), PM_OK);
    struct gpu_scale_request request = {
        .in = true, .bit_reversed = merge, .first = first, .base = base};
    if (merge) {
        reverse(got, log_n);
    }
    s->gpu->ntt(got, log_n, 7, 8, 0, false, merge, &request);
    if (!merge) {
        reverse(got, log_n);
    }
    assert_memory_equal(got, wanted, bytes);

    /* The inverse without its division, scaled behind. */
    uint64_t n[4] = {UINT64_C(1) << log_n}, first_n[4];
    s->curve->fr->to_mont(n, n, 1);
    s->curve->fr->mul(first_n, first, n);
    assert_int_equal(s->poly->inverse(&domain, wanted, NULL, NULL, NULL), PM_OK);
    s->poly->scale_by_powers(&domain, wanted, base, first_n, NULL);
    request.in = false;
    request.out = true;
    request.bit_reversed = !merge;
    if (merge) {
        reverse(got, log_n);
    }
    s->gpu->ntt(got, log_n, 7, 8, 0, true, merge, &request);
    if (!merge) {
        reverse(got, log_n);
    }
    assert_memory_equal(got, wanted, bytes);
    pm_domain_destroy(&domain);
    pm_memory_free(wanted);
    pm_memory_free(got);
}

static void check_all_scaled(const struct setting *s) {
    for (uint32_t log_n = 3; log_n <= 12; log_n += 3) {
        check_scaled(s, log_n, false);
        check_scaled(s, log_n, true);
    }
}

static void test_scaled_transforms(void **state) {
    (void)state;
    for_each_curve(check_all_scaled);
}

/* Whatever the size, a plan covers each level once, in tiles that fit. */
static void test_plans(void **state) {
    (void)state;
    for (uint32_t levels_max = 7; levels_max <= 11; levels_max++) {
        for (uint32_t tile_log = levels_max + 1; tile_log <= PM_GPU_NTT_TILE_LOG_MAX; tile_log++) {
            for (uint32_t log_n = 3; log_n <= 28; log_n++) {
                struct pm_gpu_ntt_plan plan;
                uint32_t level = 0;
                pm_gpu_ntt_plan_make(&plan, log_n, levels_max, tile_log);
                for (uint32_t i = 0; i < plan.n_passes; i++) {
                    const struct pm_gpu_ntt_pass *pass = &plan.passes[i];
                    assert_int_equal(pass->level, level);
                    level += pass->n_levels;
                    assert_int_equal(pass->stride_log, log_n - level);
                    assert_in_range(pass->n_levels, 3, tile_log);
                    assert_true(pass->n_levels + pass->log_columns <= tile_log);
                    assert_true(pass->log_columns <=
                                (pass->stride_log > 0 ? pass->stride_log : pass->level));
                }
                assert_int_equal(level, log_n);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_prime_fields),
                                       cmocka_unit_test(test_fp2),
                                       cmocka_unit_test(test_constant_factors),
                                       cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_transforms),
                                       cmocka_unit_test(test_scaled_transforms),
                                       cmocka_unit_test(test_plans)};
    entropy = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
