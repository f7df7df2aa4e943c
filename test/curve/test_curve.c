/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Group laws on random points and the awkward ones, the conversions, the checks: through struct
 * pm_group and the probe, for every group in every body. */
#include "curve_setting.h"

#define ROUNDS 60

static bool equal(const struct setting *s, const struct pm_group_point *p,
                  const struct pm_group_point *q) {
    return s->group->eq(p, q);
}

static void test_body_is_the_one_asked_for(void **state) {
    const struct setting *s = *state;
    const bool adx = s->curve == pm_curve_get(s->curve->id, PM_BODY_ADX);
    assert_string_equal(s->curve->body, adx ? "adx" : "portable");
    assert_string_equal(s->curve->fp->body, s->curve->body);
    assert_string_equal(s->curve->fr->body, s->curve->body);
    assert_int_equal(s->group->affine_bytes, 2 * s->group->coordinate_bytes);
    assert_true(s->probe->xyzz_bytes <= sizeof(struct pm_group_point));
    assert_true(s->probe->jac_bytes <= sizeof(struct pm_group_point));
}

static void test_unknown_curves_have_no_table(void **state) {
    (void)state;
    assert_null(pm_curve_get(PM_CURVE_NONE, PM_BODY_PORTABLE));
    assert_null(pm_curve_get((pm_curve_id)77, PM_BODY_PORTABLE));
    assert_null(pm_curve_get(PM_CURVE_BN254, PM_BODY_COUNT));
}

static void test_generator(void **state) {
    const struct setting *s = *state;
    struct pm_group_point t;
    assert_int_equal(s->group->check(s->group->generator, PM_POINT_CHECK_SUBGROUP), PM_POINT_GOOD);
    assert_false(s->group->affine_is_infinity(s->group->generator));
    s->group->from_affine(&t, s->group->generator);
    s->group->mul(&t, &t, s->curve->fr->modulus, s->curve->fr->limbs);
    assert_true(s->group->is_infinity(&t));
}

static void test_laws(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g = s->group;
    for (int i = 0; i < ROUNDS; i++) {
        struct pm_group_point p, q, r, left, right, zero;
        random_jacobian(s, &p);
        random_jacobian(s, &q);
        random_jacobian(s, &r);
        g->set_infinity(&zero);
        g->add(&left, &p, &q);
        g->add(&right, &q, &p);
        assert_true(equal(s, &left, &right)); /* p + q = q + p */
        assert_false(equal(s, &left, &p));
        g->add(&left, &left, &r);
        g->add(&right, &q, &r);
        g->add(&right, &p, &right);
        assert_true(equal(s, &left, &right)); /* (p + q) + r = p + (q + r) */
        g->add(&left, &p, &zero);
        assert_true(equal(s, &left, &p));
        g->add(&left, &zero, &p);
        assert_true(equal(s, &left, &p));
        g->neg(&right, &p);
        assert_false(equal(s, &right, &p));
        g->add(&left, &p, &right);
        assert_true(g->is_infinity(&left)); /* p + (-p) = 0 */
        g->dbl(&left, &p);
        g->add(&right, &p, &p);
        assert_true(equal(s, &left, &right)); /* 2p = p + p */
        assert_false(equal(s, &left, &zero));
        assert_false(equal(s, &zero, &left));
    }
}

/* The same point with another Z: p + q - q. */
static void another_z(const struct setting *s, struct pm_group_point *r,
                      const struct pm_group_point *p) {
    struct pm_group_point q;
    random_jacobian(s, &q);
    s->group->add(r, p, &q);
    s->group->neg(&q, &q);
    s->group->add(r, r, &q);
}

/* Equal and opposite operands whose coordinates differ reach the exceptional cases too. */
static void test_exceptional_cases_with_different_z(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g = s->group;
    for (int i = 0; i < ROUNDS; i++) {
        struct pm_group_point p, q, twice, t;
        unsigned char affine[PM_G2_BYTES_MAX], minus[PM_G2_BYTES_MAX];
        random_jacobian(s, &p);
        another_z(s, &q, &p);
        assert_true(memcmp(&p, &q, s->probe->jac_bytes) != 0);
        assert_true(equal(s, &p, &q));
        g->dbl(&twice, &p);
        g->add(&t, &p, &q);
        assert_true(equal(s, &t, &twice));
        g->to_affine(affine, &p);
        g->add_affine(&t, &q, affine);
        assert_true(equal(s, &t, &twice));
        g->neg(&q, &q);
        g->add(&t, &p, &q);
        assert_true(g->is_infinity(&t));
        g->add_affine(&t, &q, affine);
        assert_true(g->is_infinity(&t));
        g->to_affine(minus, &q);
        g->add_affine(&t, &p, minus);
        assert_true(g->is_infinity(&t));
    }
}

static void test_mixed_addition_and_infinity(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g = s->group;
    const unsigned char zero[PM_G2_BYTES_MAX] = {0};
    unsigned char affine[PM_G2_BYTES_MAX], back[PM_G2_BYTES_MAX];
    struct pm_group_point p, q, t, u;
    random_jacobian(s, &p);
    random_jacobian(s, &q);
    g->to_affine(affine, &q);
    g->add_affine(&t, &p, affine);
    g->add(&u, &p, &q);
    assert_true(equal(s, &t, &u));
    g->add_affine(&t, &p, zero);
    assert_true(equal(s, &t, &p));
    g->from_affine(&t, zero);
    assert_true(g->is_infinity(&t));
    g->dbl(&t, &t);
    assert_true(g->is_infinity(&t));
    g->neg(&t, &t);
    assert_true(g->is_infinity(&t));
    g->to_affine(back, &t);
    assert_memory_equal(back, zero, g->affine_bytes);
    assert_true(g->affine_is_infinity(back));
    g->add_affine(&t, &t, affine);
    assert_true(equal(s, &t, &q));
    g->add_affine(&t, &t, affine);
    g->dbl(&u, &q);
    assert_true(equal(s, &t, &u));
}

/* Outputs that are inputs, and affine points at odd addresses. */
static void test_aliasing_and_alignment(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g = s->group;
    unsigned char odd[PM_G2_BYTES_MAX + 1], even[PM_G2_BYTES_MAX];
    struct pm_group_point p, q, want, t;
    random_jacobian(s, &p);
    random_jacobian(s, &q);
    g->add(&want, &p, &q);
    t = p;
    g->add(&t, &t, &q);
    assert_true(equal(s, &t, &want));
    t = q;
    g->add(&t, &p, &t);
    assert_true(equal(s, &t, &want));
    g->dbl(&want, &p);
    t = p;
    g->add(&t, &t, &t);
    assert_true(equal(s, &t, &want));
    g->to_affine(even, &q);
    g->to_affine(odd + 1, &q);
    assert_memory_equal(even, odd + 1, g->affine_bytes);
    g->add(&want, &p, &q);
    g->add_affine(&t, &p, odd + 1);
    assert_true(equal(s, &t, &want));
    assert_int_equal(g->check(odd + 1, PM_POINT_CHECK_SUBGROUP), PM_POINT_GOOD);
}

static void test_scalar_multiplication(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g = s->group;
    for (int i = 0; i < ROUNDS / 4; i++) {
        uint64_t a[4], b[4], sum[5], small[1];
        struct pm_group_point p, t, u;
        seeded_random_bytes(&rng, a, sizeof a);
        seeded_random_bytes(&rng, b, sizeof b);
        uint64_t carry = 0;
        for (int j = 0; j < 4; j++) {
            const unsigned __int128 x = (unsigned __int128)a[j] + b[j] + carry;
            sum[j] = (uint64_t)x;
            carry = (uint64_t)(x >> 64);
        }
        sum[4] = carry;
        random_jacobian(s, &p);
        g->mul(&t, &p, a, 4);
        g->mul(&u, &p, b, 4);
        g->add(&t, &t, &u);
        g->mul(&u, &p, sum, 5);
        assert_true(equal(s, &t, &u)); /* a p + b p = (a + b) p */
        small[0] = a[0];
        g->mul(&t, &p, small, 1);
        s->probe->jac_mul_word(&u, &p, small[0]);
        assert_true(equal(s, &t, &u));
        small[0] = 0;
        g->mul(&t, &p, small, 1);
        assert_true(g->is_infinity(&t));
        s->probe->jac_mul_word(&t, &p, 0);
        assert_true(g->is_infinity(&t));
        g->mul(&t, &p, small, 0);
        assert_true(g->is_infinity(&t));
        small[0] = 1;
        g->mul(&t, &p, small, 1);
        assert_true(equal(s, &t, &p));
        g->set_infinity(&t);
        g->mul(&t, &t, a, 4);
        assert_true(g->is_infinity(&t));
    }
}

static void test_batch_to_affine(void **state) {
    const struct setting *s = *state;
    struct pm_group_point p[33] = {{{0}}};
    unsigned char batch[33 * PM_G2_BYTES_MAX], one[PM_G2_BYTES_MAX];
    static const size_t sizes[] = {0, 1, 2, 3, 8, 33};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const size_t n = sizes[k];
        for (size_t i = 0; i < n; i++) {
            random_jacobian(s, &p[i]);
            if (seeded_random_below(&rng, 4) == 0) {
                s->group->set_infinity(&p[i]);
            }
        }
        s->probe->batch_to_affine(batch, p, n);
        for (size_t i = 0; i < n; i++) {
            s->group->to_affine(one, &p[i]);
            assert_memory_equal(batch + i * s->group->affine_bytes, one, s->group->affine_bytes);
        }
    }
}

/* A sum of signed affine points in XYZZ, with repeats, opposites and infinities among them, against
 * the Jacobian sum. */
static void test_xyzz_sums(void **state) {
    const struct setting *s = *state;
    enum { N_POINTS = 4 };
    unsigned char points[N_POINTS][PM_G2_BYTES_MAX] = {{0}}; /* the last stays infinity */
    for (size_t i = 0; i + 1 < N_POINTS; i++) {
        random_subgroup_point(s, points[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct pm_group_point acc, want, t, u;
        s->probe->xyzz_set_inf(&acc);
        s->group->set_infinity(&want);
        for (int i = 0; i < 12; i++) {
            const unsigned char *p = points[seeded_random_below(&rng, N_POINTS)];
            const bool negate = seeded_random_below(&rng, 2) == 1;
            s->probe->xyzz_add_affine(&acc, p, negate);
            s->group->from_affine(&t, p);
            if (negate) {
                s->group->neg(&t, &t);
            }
            s->group->add(&want, &want, &t);
            s->probe->xyzz_to_jac(&u, &acc);
            assert_true(equal(s, &u, &want));
            assert_int_equal(s->probe->xyzz_is_inf(&acc), s->group->is_infinity(&want));
        }
    }
}

static void test_xyzz_add_and_double(void **state) {
    const struct setting *s = *state;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char a[PM_G2_BYTES_MAX] = {0}, b[PM_G2_BYTES_MAX] = {0};
        struct pm_group_point p, q, jp, jq, t, want;
        if (round % 8 != 0) {
            random_subgroup_point(s, a);
        }
        if (round % 8 != 1) {
            random_subgroup_point(s, b);
        }
        s->probe->xyzz_dbl_affine(&p, a); /* 2a, ZZ not one unless infinite */
        s->probe->xyzz_dbl_affine(&q, b);
        s->probe->xyzz_to_jac(&jp, &p);
        s->probe->xyzz_to_jac(&jq, &q);
        s->group->from_affine(&want, a);
        s->group->dbl(&want, &want);
        assert_true(equal(s, &jp, &want));
        s->probe->xyzz_add(&t, &p, &q);
        s->probe->xyzz_to_jac(&t, &t);
        s->group->add(&want, &jp, &jq);
        assert_true(equal(s, &t, &want));
        s->probe->xyzz_dbl(&t, &p);
        s->probe->xyzz_to_jac(&t, &t);
        s->group->dbl(&want, &jp);
        assert_true(equal(s, &t, &want));
        s->probe->xyzz_from_affine(&t, a); /* a + a, then 2a + 2a by addition */
        s->probe->xyzz_add(&t, &t, &t);
        s->probe->xyzz_add(&t, &t, &p);
        s->probe->xyzz_to_jac(&t, &t);
        assert_true(equal(s, &t, &want));
        s->probe->xyzz_add_affine(&p, a, true); /* 2a - a - a = 0 */
        s->probe->xyzz_add_affine(&p, a, true);
        assert_true(s->probe->xyzz_is_inf(&p));
    }
}

/* A point off the curve by one coordinate. */
static void test_check_levels(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g = s->group;
    unsigned char p[PM_G2_BYTES_MAX];
    for (int i = 0; i < ROUNDS; i++) {
        random_subgroup_point(s, p);
        p[s->curve->fp->bytes * (size_t)(i % 2)] ^= 1; /* may leave [0, p) only at the very top */
        assert_int_equal(g->check(p, PM_POINT_CHECK_NONE), PM_POINT_GOOD);
        assert_int_equal(g->check(p, PM_POINT_CHECK_CURVE), PM_POINT_NOT_ON_CURVE);
        assert_int_equal(g->check(p, PM_POINT_CHECK_SUBGROUP), PM_POINT_NOT_ON_CURVE);
    }
    for (size_t i = 0; i < g->affine_bytes / s->curve->fp->bytes; i++) {
        random_subgroup_point(s, p);
        memcpy(p + i * s->curve->fp->bytes, s->curve->fp->modulus, s->curve->fp->bytes);
        assert_int_equal(g->check(p, PM_POINT_CHECK_NONE), PM_POINT_NOT_CANONICAL);
        assert_int_equal(g->check(p, PM_POINT_CHECK_SUBGROUP), PM_POINT_NOT_CANONICAL);
    }
}

static void test_faults_have_words(void **state) {
    (void)state;
    assert_int_equal(pm_point_fault_status(PM_POINT_GOOD), PM_OK);
    assert_int_equal(pm_point_fault_status(PM_POINT_BAD_ENCODING), PM_ENCODING);
    assert_int_equal(pm_point_fault_status(PM_POINT_NOT_CANONICAL), PM_NOT_CANONICAL);
    assert_int_equal(pm_point_fault_status(PM_POINT_NOT_ON_CURVE), PM_NOT_ON_CURVE);
    assert_int_equal(pm_point_fault_status(PM_POINT_NOT_IN_SUBGROUP), PM_NOT_IN_SUBGROUP);
    assert_int_equal(pm_point_fault_status(PM_POINT_INFINITE), PM_POINT_AT_INFINITY);
    assert_string_equal(pm_point_fault_text(PM_POINT_NOT_ON_CURVE), "not on the curve");
    assert_non_null(pm_point_fault_text((enum pm_point_fault)99));
}

static int run(struct setting *s) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_body_is_the_one_asked_for, s),
        cmocka_unit_test_prestate(test_unknown_curves_have_no_table, s),
        cmocka_unit_test_prestate(test_generator, s),
        cmocka_unit_test_prestate(test_laws, s),
        cmocka_unit_test_prestate(test_exceptional_cases_with_different_z, s),
        cmocka_unit_test_prestate(test_mixed_addition_and_infinity, s),
        cmocka_unit_test_prestate(test_aliasing_and_alignment, s),
        cmocka_unit_test_prestate(test_scalar_multiplication, s),
        cmocka_unit_test_prestate(test_batch_to_affine, s),
        cmocka_unit_test_prestate(test_xyzz_sums, s),
        cmocka_unit_test_prestate(test_xyzz_add_and_double, s),
        cmocka_unit_test_prestate(test_check_levels, s),
        cmocka_unit_test_prestate(test_faults_have_words, s),
    };
    return cmocka_run_group_tests_name(s->group->name, tests, NULL, NULL);
}

int main(void) {
    return for_every_group(run) != 0;
}
