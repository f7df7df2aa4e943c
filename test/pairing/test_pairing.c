/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The pairing of each curve in each body: bilinearity and its kin on random points, the final
 * exponentiation against the plain power, and values that snarkjs computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "curve/curve.h"
#include "pairing/pairing.h"
#include "pairing/pairing_exponent.h"
#include "pairing/pairing_known_answers.h"
#include "support/seeded_random.h"

#define ROUNDS 4

struct setting {
    const struct pm_curve *curve;
    const struct pm_pairing *pairing;
    const struct known_answer *answer;
    const uint64_t *final_exponent;
    size_t final_exponent_limbs;
};

static struct seeded_random rng;
static unsigned char prepared_space[16][16384];

static void *prepared(const struct setting *s, size_t slot, const void *g2) {
    assert_true(s->pairing->prepared_bytes <= sizeof prepared_space[slot]);
    s->pairing->prepare(prepared_space[slot], g2);
    return prepared_space[slot];
}

/* r = e(p, q), all of it. */
static void pair(const struct setting *s, struct pm_gt *r, const void *p, const void *q) {
    const void *g1[1] = {p}, *g2[1] = {prepared(s, 15, q)};
    s->pairing->miller(r, g1, g2, 1);
    s->pairing->final_exponentiation(r, r);
}

/* affine = k * base. */
static void multiply(const struct pm_group *g, unsigned char *affine, const void *base,
                     const uint64_t k[4]) {
    struct pm_group_point t;
    g->from_affine(&t, base);
    g->mul(&t, &t, k, 4);
    g->to_affine(affine, &t);
}

static void random_scalar(uint64_t k[4]) {
    seeded_random_bytes(&rng, k, 32);
}

static void random_points(const struct setting *s, unsigned char *p, unsigned char *q) {
    uint64_t k[4];
    random_scalar(k);
    multiply(s->curve->g1, p, s->curve->g1->generator, k);
    random_scalar(k);
    multiply(s->curve->g2, q, s->curve->g2->generator, k);
}

static void random_gt(const struct setting *s, struct pm_gt *f) {
    unsigned char p[PM_G1_BYTES_MAX], q[PM_G2_BYTES_MAX];
    const void *g1[1] = {p}, *g2[1];
    random_points(s, p, q);
    g2[0] = prepared(s, 14, q);
    s->pairing->miller(f, g1, g2, 1);
}

/* ---------------------------------------------------------------- bilinear */

static void test_body_is_the_one_asked_for(void **state) {
    const struct setting *s = *state;
    assert_string_equal(s->pairing->body, s->curve->body);
    assert_int_equal(s->pairing->curve, s->curve->id);
    assert_int_equal(s->pairing->gt_bytes, 12 * s->curve->fp->bytes);
}

static void test_not_degenerate_and_of_order_r(void **state) {
    const struct setting *s = *state;
    struct pm_gt e;
    pair(s, &e, s->curve->g1->generator, s->curve->g2->generator);
    assert_false(s->pairing->gt_is_one(&e));
    s->pairing->gt_pow(&e, &e, s->curve->fr->modulus, s->curve->fr->limbs);
    assert_true(s->pairing->gt_is_one(&e));
}

/* e(aP, bQ) = e(P, Q)^(ab), taken as ((e^a)^b). */
static void test_bilinear(void **state) {
    const struct setting *s = *state;
    unsigned char p[PM_G1_BYTES_MAX], q[PM_G2_BYTES_MAX], ap[PM_G1_BYTES_MAX], bq[PM_G2_BYTES_MAX];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a[4], b[4];
        struct pm_gt left, right;
        random_points(s, p, q);
        random_scalar(a);
        random_scalar(b);
        multiply(s->curve->g1, ap, p, a);
        multiply(s->curve->g2, bq, q, b);
        pair(s, &left, ap, bq);
        pair(s, &right, p, q);
        s->pairing->gt_pow(&right, &right, a, 4);
        s->pairing->gt_pow(&right, &right, b, 4);
        assert_true(s->pairing->gt_eq(&left, &right));
    }
}

/* e(P + P', Q) = e(P, Q) e(P', Q), and the same in the second argument. */
static void test_additive_in_each_argument(void **state) {
    const struct setting *s = *state;
    const struct pm_group *g1 = s->curve->g1, *g2 = s->curve->g2;
    unsigned char p[2][PM_G1_BYTES_MAX], q[2][PM_G2_BYTES_MAX];
    struct pm_group_point t;
    struct pm_gt left, e, f;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char sum[PM_G2_BYTES_MAX];
        random_points(s, p[0], q[0]);
        random_points(s, p[1], q[1]);
        g1->from_affine(&t, p[0]);
        g1->add_affine(&t, &t, p[1]);
        g1->to_affine(sum, &t);
        pair(s, &left, sum, q[0]);
        pair(s, &e, p[0], q[0]);
        pair(s, &f, p[1], q[0]);
        s->pairing->gt_mul(&f, &f, &e);
        assert_true(s->pairing->gt_eq(&left, &f));
        g2->from_affine(&t, q[0]);
        g2->add_affine(&t, &t, q[1]);
        g2->to_affine(sum, &t);
        pair(s, &left, p[0], sum);
        pair(s, &f, p[0], q[1]);
        s->pairing->gt_mul(&f, &f, &e);
        assert_true(s->pairing->gt_eq(&left, &f));
    }
}

static void test_infinity_pairs_to_one(void **state) {
    const struct setting *s = *state;
    unsigned char p[PM_G1_BYTES_MAX], q[PM_G2_BYTES_MAX];
    static const unsigned char zero[PM_G2_BYTES_MAX];
    struct pm_gt e;
    random_points(s, p, q);
    pair(s, &e, zero, q);
    assert_true(s->pairing->gt_is_one(&e));
    pair(s, &e, p, zero);
    assert_true(s->pairing->gt_is_one(&e));
    pair(s, &e, zero, zero);
    assert_true(s->pairing->gt_is_one(&e));
    s->pairing->miller(&e, NULL, NULL, 0);
    assert_true(s->pairing->gt_is_one(&e));
}

/* One loop over n pairs, infinities among them, is the product of n loops: around and beyond the
 * number of pairs that share their squarings. Points at odd addresses. */
static void test_product_of_pairs(void **state) {
    const struct setting *s = *state;
    static unsigned char p[14][PM_G1_BYTES_MAX + 1], q[14][PM_G2_BYTES_MAX + 1];
    const void *g1[14], *g2[14];
    struct pm_gt product, all, e;
    s->pairing->gt_set_one(&product);
    for (size_t n = 1; n <= 14; n++) {
        unsigned char *pn = p[n - 1] + 1, *qn = q[n - 1] + 1;
        random_points(s, pn, qn);
        if (n % 5 == 0) {
            memset(pn, 0, PM_G1_BYTES_MAX);
        }
        if (n % 7 == 0) {
            memset(qn, 0, PM_G2_BYTES_MAX);
        }
        g1[n - 1] = pn;
        g2[n - 1] = prepared(s, n - 1, qn);
        s->pairing->miller(&e, &g1[n - 1], &g2[n - 1], 1);
        s->pairing->gt_mul(&product, &product, &e);
        s->pairing->miller(&all, g1, g2, n);
        assert_true(s->pairing->gt_eq(&all, &product));
    }
}

/* e(P, Q) e(-P, Q) = 1, the shape of every verification. */
static void test_opposite_points_cancel(void **state) {
    const struct setting *s = *state;
    unsigned char p[PM_G1_BYTES_MAX], minus[PM_G1_BYTES_MAX], q[PM_G2_BYTES_MAX];
    struct pm_group_point t;
    struct pm_gt e;
    random_points(s, p, q);
    s->curve->g1->from_affine(&t, p);
    s->curve->g1->neg(&t, &t);
    s->curve->g1->to_affine(minus, &t);
    const void *g1[2] = {p, minus}, *g2[2];
    g2[0] = g2[1] = prepared(s, 0, q);
    s->pairing->miller(&e, g1, g2, 2);
    assert_false(s->pairing->gt_is_one(&e));
    s->pairing->final_exponentiation(&e, &e);
    assert_true(s->pairing->gt_is_one(&e));
}

/* ---------------------------------------------------------------- the target group */

static void test_final_exponentiation_is_the_exact_power(void **state) {
    const struct setting *s = *state;
    struct pm_gt f, fast, plain;
    for (int i = 0; i < 3; i++) {
        random_gt(s, &f);
        s->pairing->final_exponentiation(&fast, &f);
        s->pairing->gt_pow(&plain, &f, s->final_exponent, s->final_exponent_limbs);
        assert_true(s->pairing->gt_eq(&fast, &plain));
        assert_false(s->pairing->gt_is_one(&fast));
    }
}

static void test_target_group_laws(void **state) {
    const struct setting *s = *state;
    struct pm_gt f, g, h, t, u;
    random_gt(s, &f);
    random_gt(s, &g);
    random_gt(s, &h);
    s->pairing->gt_mul(&t, &f, &g);
    s->pairing->gt_mul(&u, &g, &f);
    assert_true(s->pairing->gt_eq(&t, &u));
    assert_false(s->pairing->gt_eq(&f, &g));
    s->pairing->gt_mul(&t, &t, &h);
    s->pairing->gt_mul(&u, &g, &h);
    s->pairing->gt_mul(&u, &f, &u);
    assert_true(s->pairing->gt_eq(&t, &u));
    s->pairing->gt_inv(&t, &f);
    s->pairing->gt_mul(&t, &t, &f);
    assert_true(s->pairing->gt_is_one(&t));
    /* f^(2^64 + 3) by hand. */
    static const uint64_t k[2] = {3, 1};
    t = f;
    for (int i = 0; i < 64; i++) {
        s->pairing->gt_mul(&t, &t, &t);
    }
    for (int i = 0; i < 3; i++) {
        s->pairing->gt_mul(&t, &t, &f);
    }
    s->pairing->gt_pow(&u, &f, k, 2);
    assert_true(s->pairing->gt_eq(&t, &u));
    s->pairing->gt_pow(&u, &f, k, 0);
    assert_true(s->pairing->gt_is_one(&u));
}

/* ---------------------------------------------------------------- known answers */

/* Decimal digits to canonical little-endian bytes. */
static void from_decimal(unsigned char *out, size_t n_bytes, const char *digits) {
    memset(out, 0, n_bytes);
    for (; *digits != '\0'; digits++) {
        unsigned carry = (unsigned)(*digits - '0');
        for (size_t i = 0; i < n_bytes; i++) {
            carry += 10u * out[i];
            out[i] = (unsigned char)carry;
            carry >>= 8;
        }
        assert_int_equal(carry, 0);
    }
}

static void decode_decimal(const struct pm_group *g, void *affine, const char *const *coordinates,
                           size_t n, size_t fp_bytes) {
    unsigned char bytes[PM_G2_BYTES_MAX];
    for (size_t i = 0; i < n; i++) {
        from_decimal(bytes + i * fp_bytes, fp_bytes, coordinates[i]);
    }
    assert_int_equal(g->decode(affine, PM_POINT_CANONICAL_LE, bytes, PM_POINT_CHECK_SUBGROUP),
                     PM_POINT_GOOD);
}

static void test_value_of_snarkjs(void **state) {
    const struct setting *s = *state;
    const size_t fp_bytes = s->curve->fp->bytes;
    unsigned char alpha[PM_G1_BYTES_MAX], beta[PM_G2_BYTES_MAX];
    unsigned char have[PM_GT_BYTES_MAX], want[PM_GT_BYTES_MAX];
    struct pm_gt e;
    decode_decimal(s->curve->g1, alpha, s->answer->alpha, 2, fp_bytes);
    decode_decimal(s->curve->g2, beta, s->answer->beta, 4, fp_bytes);
    pair(s, &e, alpha, beta);
    s->pairing->gt_to_canonical(have, &e);
    for (size_t i = 0; i < 12; i++) {
        from_decimal(want + i * fp_bytes, fp_bytes, s->answer->alphabeta[i]);
    }
    assert_memory_equal(have, want, 12 * fp_bytes);
}

static int run(pm_curve_id id, enum pm_body body) {
    struct setting s = {.curve = pm_curve_get(id, body), .pairing = pm_pairing_get(id, body)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_body_is_the_one_asked_for, &s),
        cmocka_unit_test_prestate(test_value_of_snarkjs, &s),
        cmocka_unit_test_prestate(test_not_degenerate_and_of_order_r, &s),
        cmocka_unit_test_prestate(test_bilinear, &s),
        cmocka_unit_test_prestate(test_additive_in_each_argument, &s),
        cmocka_unit_test_prestate(test_infinity_pairs_to_one, &s),
        cmocka_unit_test_prestate(test_product_of_pairs, &s),
        cmocka_unit_test_prestate(test_opposite_points_cancel, &s),
        cmocka_unit_test_prestate(test_final_exponentiation_is_the_exact_power, &s),
        cmocka_unit_test_prestate(test_target_group_laws, &s),
    };
    if (s.curve == NULL || s.pairing == NULL) {
        return pm_cpu_has_body(body) ? 1 : 0;
    }
    s.answer = id == PM_CURVE_BN254 ? &bn254_known_answer : &bls12_381_known_answer;
    s.final_exponent = id == PM_CURVE_BN254 ? bn254_final_exponent : bls12_381_final_exponent;
    s.final_exponent_limbs =
        (id == PM_CURVE_BN254 ? sizeof bn254_final_exponent : sizeof bls12_381_final_exponent) / 8;
    printf("pairing of %s, %s body\n", s.curve->name, s.curve->body);
    return cmocka_run_group_tests_name(s.curve->name, tests, NULL, NULL);
}

int main(void) {
    rng = seeded_random_from_environment();
    int failures = 0;
    for (int body = 0; body < PM_BODY_COUNT; body++) {
        failures += run(PM_CURVE_BN254, (enum pm_body)body);
        failures += run(PM_CURVE_BLS12_381, (enum pm_body)body);
    }
    if (pm_pairing_get(PM_CURVE_NONE, PM_BODY_PORTABLE) != NULL) {
        failures++;
    }
    return failures != 0;
}
