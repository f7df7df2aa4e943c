/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Every addition and the scalar multiplication against the affine formulas, written with GMP. */
#include "curve_setting.h"

#include <gmp.h>

#define ROUNDS 100
#define SCALAR_ROUNDS 25

/* A point by definition: chord and tangent over F_p[u] / (u^2 + 1). G1 lives in it with zero
 * imaginary parts, so one oracle serves both groups. */
struct oracle_point {
    bool infinite;
    mpz_t x[2], y[2];
};

static mpz_t p, slope[2], t[2], u[2], w[2], norm;

static void oracle_start(const struct setting *s) {
    mpz_inits(p, slope[0], slope[1], t[0], t[1], u[0], u[1], w[0], w[1], norm, NULL);
    mpz_import(p, s->curve->fp->limbs, -1, 8, 0, 0, s->curve->fp->modulus);
}

static void oracle_stop(void) {
    mpz_clears(p, slope[0], slope[1], t[0], t[1], u[0], u[1], w[0], w[1], norm, NULL);
}

static void point_init(struct oracle_point *a) {
    mpz_inits(a->x[0], a->x[1], a->y[0], a->y[1], NULL);
    a->infinite = true;
}

static void point_clear(struct oracle_point *a) {
    mpz_clears(a->x[0], a->x[1], a->y[0], a->y[1], NULL);
}

static void point_set(struct oracle_point *r, const struct oracle_point *a) {
    r->infinite = a->infinite;
    for (int i = 0; i < 2; i++) {
        mpz_set(r->x[i], a->x[i]);
        mpz_set(r->y[i], a->y[i]);
    }
}

/* r = a b; r is neither. */
static void mul2(mpz_t r[2], mpz_t a[2], mpz_t b[2]) {
    mpz_mul(r[0], a[0], b[0]);
    mpz_submul(r[0], a[1], b[1]);
    mpz_mod(r[0], r[0], p);
    mpz_mul(r[1], a[0], b[1]);
    mpz_addmul(r[1], a[1], b[0]);
    mpz_mod(r[1], r[1], p);
}

static void sub2(mpz_t r[2], mpz_t a[2], mpz_t b[2]) {
    for (int i = 0; i < 2; i++) {
        mpz_sub(r[i], a[i], b[i]);
        mpz_mod(r[i], r[i], p);
    }
}

/* r = 1 / a = (a0 - a1 u) / (a0^2 + a1^2), a not zero; in place. */
static void invert2(mpz_t a[2]) {
    mpz_mul(norm, a[0], a[0]);
    mpz_addmul(norm, a[1], a[1]);
    assert_true(mpz_invert(norm, norm, p));
    mpz_mul(a[0], a[0], norm);
    mpz_mod(a[0], a[0], p);
    mpz_neg(a[1], a[1]);
    mpz_mul(a[1], a[1], norm);
    mpz_mod(a[1], a[1], p);
}

static bool equal2(mpz_t a[2], mpz_t b[2]) {
    return mpz_cmp(a[0], b[0]) == 0 && mpz_cmp(a[1], b[1]) == 0;
}

/* slope = of the chord, or of the tangent; false where the line is vertical. */
static bool line_slope(struct oracle_point *a, struct oracle_point *b) {
    if (!equal2(a->x, b->x)) {
        sub2(t, b->x, a->x);
        sub2(u, b->y, a->y);
    } else if (equal2(a->y, b->y) && (mpz_sgn(a->y[0]) != 0 || mpz_sgn(a->y[1]) != 0)) {
        mul2(u, a->x, a->x);
        for (int i = 0; i < 2; i++) {
            mpz_mul_ui(u[i], u[i], 3);
            mpz_mul_2exp(t[i], a->y[i], 1);
        }
    } else {
        return false;
    }
    invert2(t);
    mul2(slope, u, t);
    return true;
}

/* r = a + b; r may be either. */
static void point_add(struct oracle_point *r, struct oracle_point *a, struct oracle_point *b) {
    if (a->infinite || b->infinite) {
        point_set(r, a->infinite ? b : a);
        return;
    }
    if (!line_slope(a, b)) {
        r->infinite = true;
        return;
    }
    mul2(t, slope, slope);
    sub2(t, t, a->x);
    sub2(t, t, b->x); /* x = slope^2 - xa - xb */
    sub2(u, a->x, t);
    mul2(w, slope, u);
    sub2(w, w, a->y); /* y = slope (xa - x) - ya */
    r->infinite = false;
    for (int i = 0; i < 2; i++) {
        mpz_set(r->x[i], t[i]);
        mpz_set(r->y[i], w[i]);
    }
}

static void point_neg(struct oracle_point *r, struct oracle_point *a) {
    point_set(r, a);
    for (int i = 0; i < 2; i++) {
        mpz_neg(r->y[i], r->y[i]);
        mpz_mod(r->y[i], r->y[i], p);
    }
}

static void point_mul(struct oracle_point *r, struct oracle_point *a, const uint64_t *k,
                      size_t n_limbs) {
    struct oracle_point sum;
    point_init(&sum);
    for (size_t i = 64 * n_limbs; i-- > 0;) {
        point_add(&sum, &sum, &sum);
        if (k[i / 64] >> i % 64 & 1) {
            point_add(&sum, &sum, a);
        }
    }
    point_set(r, &sum);
    point_clear(&sum);
}

/* ---------------------------------------------------------------- to and from the library */

static void point_from_affine(const struct setting *s, struct oracle_point *r, const void *affine) {
    unsigned char bytes[PM_G2_BYTES_MAX];
    const size_t fp_bytes = s->curve->fp->bytes, n = s->group->coordinate_bytes / fp_bytes;
    s->group->encode(bytes, PM_POINT_CANONICAL_LE, affine);
    r->infinite = s->group->affine_is_infinity(affine);
    mpz_set_ui(r->x[1], 0);
    mpz_set_ui(r->y[1], 0);
    for (size_t i = 0; i < n; i++) {
        mpz_import(r->x[i], fp_bytes, -1, 1, 0, 0, bytes + i * fp_bytes);
        mpz_import(r->y[i], fp_bytes, -1, 1, 0, 0, bytes + (n + i) * fp_bytes);
    }
}

static void expect_affine(const struct setting *s, const void *affine,
                          const struct oracle_point *want) {
    struct oracle_point have;
    point_init(&have);
    point_from_affine(s, &have, affine);
    assert_int_equal(have.infinite, want->infinite);
    for (int i = 0; i < 2 && !want->infinite; i++) {
        assert_int_equal(mpz_cmp(have.x[i], want->x[i]), 0);
        assert_int_equal(mpz_cmp(have.y[i], want->y[i]), 0);
    }
    point_clear(&have);
}

static void expect_jac(const struct setting *s, const struct pm_group_point *q,
                       const struct oracle_point *want) {
    unsigned char affine[PM_G2_BYTES_MAX];
    s->group->to_affine(affine, q);
    expect_affine(s, affine, want);
}

static void expect_xyzz(const struct setting *s, const struct pm_group_point *q,
                        const struct oracle_point *want) {
    struct pm_group_point jac;
    s->probe->xyzz_to_jac(&jac, q);
    expect_jac(s, &jac, want);
}

/* ---------------------------------------------------------------- tests */

/* The same random point in all forms: Jacobian and XYZZ with denominators that are not one. The
 * points are of the whole curve, not only of the subgroup. */
struct sample {
    unsigned char affine[PM_G2_BYTES_MAX];
    struct pm_group_point jac, xyzz;
    struct oracle_point oracle;
};

static void sample_init(const struct setting *s, struct sample *a) {
    unsigned char q[PM_G2_BYTES_MAX];
    random_curve_point(s, a->affine);
    s->group->from_affine(&a->jac, a->affine);
    s->probe->xyzz_from_affine(&a->xyzz, a->affine);
    random_curve_point(s, q); /* + q - q */
    s->group->add_affine(&a->jac, &a->jac, q);
    s->probe->xyzz_add_affine(&a->xyzz, q, false);
    s->probe->xyzz_add_affine(&a->xyzz, q, true);
    struct pm_group_point minus;
    s->group->from_affine(&minus, q);
    s->group->neg(&minus, &minus);
    s->group->add(&a->jac, &a->jac, &minus);
    point_init(&a->oracle);
    point_from_affine(s, &a->oracle, a->affine);
    expect_jac(s, &a->jac, &a->oracle);
    expect_xyzz(s, &a->xyzz, &a->oracle);
}

static void test_additions(void **state) {
    const struct setting *s = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct sample a, b;
        struct oracle_point want, minus;
        struct pm_group_point r;
        sample_init(s, &a);
        sample_init(s, &b);
        point_init(&want);
        point_init(&minus);
        point_add(&want, &a.oracle, &b.oracle);
        s->group->add(&r, &a.jac, &b.jac);
        expect_jac(s, &r, &want);
        s->group->add_affine(&r, &a.jac, b.affine);
        expect_jac(s, &r, &want);
        s->probe->xyzz_add(&r, &a.xyzz, &b.xyzz);
        expect_xyzz(s, &r, &want);
        r = a.xyzz;
        s->probe->xyzz_add_affine(&r, b.affine, false);
        expect_xyzz(s, &r, &want);
        point_neg(&minus, &b.oracle);
        point_add(&want, &a.oracle, &minus);
        r = a.xyzz;
        s->probe->xyzz_add_affine(&r, b.affine, true);
        expect_xyzz(s, &r, &want);
        point_clear(&want);
        point_clear(&minus);
        point_clear(&a.oracle);
        point_clear(&b.oracle);
    }
}

static void test_doublings(void **state) {
    const struct setting *s = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct sample a;
        struct oracle_point want;
        struct pm_group_point r;
        sample_init(s, &a);
        point_init(&want);
        point_add(&want, &a.oracle, &a.oracle);
        s->group->dbl(&r, &a.jac);
        expect_jac(s, &r, &want);
        s->group->add_affine(&r, &a.jac, a.affine);
        expect_jac(s, &r, &want);
        s->probe->xyzz_dbl(&r, &a.xyzz);
        expect_xyzz(s, &r, &want);
        s->probe->xyzz_dbl_affine(&r, a.affine);
        expect_xyzz(s, &r, &want);
        s->probe->xyzz_add_affine(&a.xyzz, a.affine, false);
        expect_xyzz(s, &a.xyzz, &want);
        point_clear(&want);
        point_clear(&a.oracle);
    }
}

static void expect_multiple(const struct setting *s, const struct sample *a, const uint64_t *k,
                            size_t n_limbs) {
    struct oracle_point base, want;
    struct pm_group_point r;
    point_init(&base);
    point_init(&want);
    point_from_affine(s, &base, a->affine);
    point_mul(&want, &base, k, n_limbs);
    s->group->mul(&r, &a->jac, k, n_limbs);
    expect_jac(s, &r, &want);
    if (n_limbs == 1) {
        s->probe->jac_mul_word(&r, &a->jac, k[0]);
        expect_jac(s, &r, &want);
    }
    point_clear(&base);
    point_clear(&want);
}

static void test_scalar_multiplication(void **state) {
    const struct setting *s = *state;
    uint64_t edge[][4] = {{0, 0, 0, 0},  {1, 0, 0, 0},         {2, 0, 0, 0},
                          {15, 0, 0, 0}, {16, 0, 0, 0},        {0, 1, 0, 0},
                          {0, 0, 0, 1},  {~0ull, 0, ~0ull, 0}, {~0ull, ~0ull, ~0ull, ~0ull},
                          {0, 0, 0, 0},  {0, 0, 0, 0},         {0, 0, 0, 0}};
    const size_t n_edges = sizeof edge / sizeof edge[0];
    struct sample a;
    for (size_t i = 0; i < 3; i++) { /* r - 1, r, r + 1 */
        memcpy(edge[n_edges - 3 + i], s->curve->fr->modulus, sizeof edge[0]);
        edge[n_edges - 3 + i][0] += i - 1;
    }
    sample_init(s, &a);
    for (size_t i = 0; i < n_edges; i++) {
        expect_multiple(s, &a, edge[i], 4);
        expect_multiple(s, &a, edge[i], 1);
    }
    point_clear(&a.oracle);
    for (int round = 0; round < SCALAR_ROUNDS; round++) {
        uint64_t k[5];
        const size_t n_limbs = 1 + (size_t)seeded_random_below(&rng, 5);
        seeded_random_bytes(&rng, k, sizeof k);
        sample_init(s, &a);
        expect_multiple(s, &a, k, n_limbs);
        point_clear(&a.oracle);
    }
}

static void test_generator_has_order_r(void **state) {
    const struct setting *s = *state;
    struct oracle_point g;
    point_init(&g);
    point_from_affine(s, &g, s->group->generator);
    assert_false(g.infinite);
    point_mul(&g, &g, s->curve->fr->modulus, s->curve->fr->limbs);
    assert_true(g.infinite);
    point_clear(&g);
}

static int run(struct setting *s) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_additions, s),
        cmocka_unit_test_prestate(test_doublings, s),
        cmocka_unit_test_prestate(test_scalar_multiplication, s),
        cmocka_unit_test_prestate(test_generator_has_order_r, s),
    };
    oracle_start(s);
    const int failures = cmocka_run_group_tests_name(s->group->name, tests, NULL, NULL);
    oracle_stop();
    return failures;
}

int main(void) {
    return for_every_group(run) != 0;
}
