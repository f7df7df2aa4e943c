/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* fp6 and fp12 against polynomials: an element of fp12 is a polynomial in w of degree below six
 * over F_p[u] / (u^2 + 1), reduced by w^6 = xi; products are computed term by term. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "ff/field.h"
#include "support/seeded_random.h"
#include "tower_probe.h"

#define ROUNDS 100
#define LIMBS_MAX 6
#define FP12_WORDS (12 * LIMBS_MAX)

struct setting {
    const char *name;
    const struct pm_field *fp;
    const struct pm_tower_probe *tower;
    size_t fp6_bytes, fp12_bytes;
};

static struct seeded_random rng;

/* An element of fp12: words as the probe takes them. fp6 uses the first half. */
struct element {
    uint64_t word[FP12_WORDS];
};

static void random_fp(const struct setting *s, uint64_t *a) {
    do {
        seeded_random_bytes(&rng, a, s->fp->bytes);
        a[s->fp->limbs - 1] >>= 8 * s->fp->bytes - s->fp->bits;
    } while (!s->fp->is_canonical(a));
    if (seeded_random_below(&rng, 8) == 0) {
        memset(a, 0, s->fp->bytes); /* sparse elements take other paths of carries and borrows */
    }
}

static void random_element(const struct setting *s, struct element *a) {
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < 12; i++) {
        random_fp(s, a->word + i * s->fp->limbs);
    }
}

/* ---------------------------------------------------------------- polynomials */

struct polynomial {
    uint64_t c[6][2][LIMBS_MAX]; /* c[i] is the coefficient of w^i */
};

/* The word where the probe's order has the coefficient of w^i: halves by parity, then by power of
 * v. */
static size_t offset_of(const struct setting *s, int i, int part) {
    return (size_t)(6 * (i % 2) + 2 * (i / 2) + part) * s->fp->limbs;
}

static void to_polynomial(const struct setting *s, struct polynomial *r, const struct element *a) {
    memset(r, 0, sizeof *r);
    for (int i = 0; i < 6; i++) {
        for (int part = 0; part < 2; part++) {
            memcpy(r->c[i][part], a->word + offset_of(s, i, part), s->fp->bytes);
        }
    }
}

static void from_polynomial(const struct setting *s, struct element *r,
                            const struct polynomial *a) {
    memset(r, 0, sizeof *r);
    for (int i = 0; i < 6; i++) {
        for (int part = 0; part < 2; part++) {
            memcpy(r->word + offset_of(s, i, part), a->c[i][part], s->fp->bytes);
        }
    }
}

/* r += a b in F_p[u] / (u^2 + 1). */
static void add_product(const struct pm_field *f, uint64_t r[2][LIMBS_MAX],
                        const uint64_t a[2][LIMBS_MAX], const uint64_t b[2][LIMBS_MAX]) {
    uint64_t t[LIMBS_MAX];
    f->mul(t, a[0], b[0]);
    f->add(r[0], r[0], t);
    f->mul(t, a[1], b[1]);
    f->sub(r[0], r[0], t);
    f->mul(t, a[0], b[1]);
    f->add(r[1], r[1], t);
    f->mul(t, a[1], b[0]);
    f->add(r[1], r[1], t);
}

static void polynomial_mul(const struct setting *s, struct polynomial *r,
                           const struct polynomial *a, const struct polynomial *b) {
    uint64_t wide[11][2][LIMBS_MAX] = {{{0}}}, xi[2][LIMBS_MAX] = {{0}};
    const uint64_t xi_c0[LIMBS_MAX] = {s->tower->xi_c0};
    s->fp->to_mont(xi[0], xi_c0, 1);
    memcpy(xi[1], s->fp->one, s->fp->bytes);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            add_product(s->fp, wide[i + j], a->c[i], b->c[j]);
        }
    }
    for (int i = 0; i < 5; i++) {
        add_product(s->fp, wide[i], wide[i + 6], xi); /* w^(i + 6) = xi w^i */
    }
    memcpy(r->c, wide, sizeof r->c);
}

static void element_mul(const struct setting *s, struct element *r, const struct element *a,
                        const struct element *b) {
    struct polynomial x, y;
    to_polynomial(s, &x, a);
    to_polynomial(s, &y, b);
    polynomial_mul(s, &x, &x, &y);
    from_polynomial(s, r, &x);
}

static void element_one(const struct setting *s, struct element *r) {
    memset(r, 0, sizeof *r);
    memcpy(r->word, s->fp->one, s->fp->bytes);
}

/* Square and multiply from the top, on polynomials. */
static void element_pow(const struct setting *s, struct element *r, const struct element *a,
                        const uint64_t *e, size_t n_limbs) {
    struct element t;
    element_one(s, &t);
    for (size_t i = 64 * n_limbs; i-- > 0;) {
        element_mul(s, &t, &t, &t);
        if (e[i / 64] >> i % 64 & 1) {
            element_mul(s, &t, &t, a);
        }
    }
    *r = t;
}

static void expect_equal(const struct setting *s, const struct element *a,
                         const struct element *b) {
    assert_memory_equal(a->word, b->word, s->fp12_bytes);
}

/* ---------------------------------------------------------------- fp12 */

static void test_fp12_products(void **state) {
    const struct setting *s = *state;
    for (int i = 0; i < ROUNDS; i++) {
        struct element a, b, have = {{0}}, want;
        random_element(s, &a);
        random_element(s, &b);
        element_mul(s, &want, &a, &b);
        s->tower->fp12_mul(have.word, a.word, b.word);
        expect_equal(s, &have, &want);
        element_mul(s, &want, &a, &a);
        s->tower->fp12_sqr(have.word, a.word);
        expect_equal(s, &have, &want);
    }
}

static void test_fp12_inverse(void **state) {
    const struct setting *s = *state;
    struct element a, have = {{0}}, one;
    element_one(s, &one);
    for (int i = 0; i < ROUNDS; i++) {
        random_element(s, &a);
        s->tower->fp12_inv(have.word, a.word);
        element_mul(s, &have, &have, &a);
        expect_equal(s, &have, &one);
    }
    memset(&a, 0, sizeof a);
    s->tower->fp12_inv(have.word, a.word);
    expect_equal(s, &have, &a); /* zero for zero */
}

/* a^p by squaring and multiplying; then a^(p^2) and a^(p^3) from it, and a^(p^6) for the conjugate.
 */
static void test_frobenius_is_the_power(void **state) {
    const struct setting *s = *state;
    for (int i = 0; i < 3; i++) {
        struct element a, have = {{0}}, power;
        random_element(s, &a);
        power = a;
        for (int k = 1; k <= 6; k++) {
            element_pow(s, &power, &power, s->fp->modulus, s->fp->limbs);
            if (k <= 3) {
                s->tower->fp12_frobenius(have.word, a.word, k);
                expect_equal(s, &have, &power);
            }
        }
        s->tower->fp12_conj(have.word, a.word);
        expect_equal(s, &have, &power);
    }
}

static void test_fp12_power(void **state) {
    const struct setting *s = *state;
    for (int i = 0; i < 6; i++) {
        struct element a, have = {{0}}, want;
        uint64_t e[3];
        random_element(s, &a);
        seeded_random_bytes(&rng, e, sizeof e);
        e[0] >>= i * 11;
        element_pow(s, &want, &a, e, (size_t)i % 4);
        s->tower->fp12_pow(have.word, a.word, e, (size_t)i % 4);
        expect_equal(s, &have, &want);
    }
}

/* ---------------------------------------------------------------- fp6, inside fp12 */

/* An element of fp6 is a polynomial in v = w^2: the first half of the words. */
static void random_fp6(const struct setting *s, struct element *a) {
    random_element(s, a);
    memset(a->word + s->fp6_bytes / 8, 0, s->fp6_bytes);
}

static void test_fp6_products(void **state) {
    const struct setting *s = *state;
    const size_t limbs = s->fp->limbs;
    for (int i = 0; i < ROUNDS; i++) {
        struct element a, b, v = {{0}}, have = {{0}}, want;
        random_fp6(s, &a);
        random_fp6(s, &b);
        element_mul(s, &want, &a, &b);
        s->tower->fp6_mul(have.word, a.word, b.word);
        expect_equal(s, &have, &want);
        memset(b.word + 4 * limbs, 0, 2 * s->fp->bytes); /* e0 + e1 v */
        element_mul(s, &want, &a, &b);
        s->tower->fp6_mul_01(have.word, a.word, b.word);
        expect_equal(s, &have, &want);
        memcpy(v.word + 2 * limbs, s->fp->one, s->fp->bytes);
        element_mul(s, &want, &a, &v);
        s->tower->fp6_mul_by_v(have.word, a.word);
        expect_equal(s, &have, &want);
    }
}

static void test_fp6_inverse(void **state) {
    const struct setting *s = *state;
    struct element a, have = {{0}}, one;
    element_one(s, &one);
    for (int i = 0; i < ROUNDS; i++) {
        random_fp6(s, &a);
        s->tower->fp6_inv(have.word, a.word);
        element_mul(s, &have, &have, &a);
        expect_equal(s, &have, &one);
    }
}

/* ---------------------------------------------------------------- the cyclotomic subgroup */

/* a^((p^6 - 1)(p^2 + 1)), by functions tested above. */
static void random_cyclotomic(const struct setting *s, struct element *r) {
    struct element a, t = {{0}};
    random_element(s, &a);
    s->tower->fp12_inv(t.word, a.word);
    s->tower->fp12_conj(a.word, a.word);
    element_mul(s, &a, &a, &t);
    s->tower->fp12_frobenius(t.word, a.word, 2);
    element_mul(s, r, &a, &t);
}

static void test_cyclotomic_square(void **state) {
    const struct setting *s = *state;
    struct element a, have = {{0}}, want, one;
    element_one(s, &one);
    for (int i = 0; i < ROUNDS; i++) {
        random_cyclotomic(s, &a);
        element_mul(s, &want, &a, &a);
        s->tower->fp12_cyclotomic_sqr(have.word, a.word);
        expect_equal(s, &have, &want);
        s->tower->fp12_conj(have.word, a.word); /* here the conjugate is the inverse */
        element_mul(s, &have, &have, &a);
        expect_equal(s, &have, &one);
    }
}

static void test_cyclotomic_power(void **state) {
    const struct setting *s = *state;
    for (int i = 0; i < 10; i++) {
        struct element a, have = {{0}}, want;
        int8_t digits[41];
        int64_t e = 0;
        random_cyclotomic(s, &a);
        for (int k = 0; k < 40; k++) {
            digits[k] = (int8_t)((int)seeded_random_below(&rng, 3) - 1);
            e += digits[k] * ((int64_t)1 << k);
        }
        digits[40] = 1;
        e += (int64_t)1 << 40;
        const uint64_t exponent =
            (uint64_t)e; /* positive: the digits below sum to less than 2^40 */
        element_pow(s, &want, &a, &exponent, 1);
        s->tower->fp12_cyclotomic_pow(have.word, a.word, digits, 41);
        expect_equal(s, &have, &want);
    }
}

static int run(const char *name, pm_curve_id id, enum pm_body body,
               const struct pm_tower_probe *tower) {
    struct setting s = {.name = name, .fp = pm_field_fp(id, body), .tower = tower};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_fp6_products, &s),
        cmocka_unit_test_prestate(test_fp6_inverse, &s),
        cmocka_unit_test_prestate(test_fp12_products, &s),
        cmocka_unit_test_prestate(test_fp12_inverse, &s),
        cmocka_unit_test_prestate(test_fp12_power, &s),
        cmocka_unit_test_prestate(test_frobenius_is_the_power, &s),
        cmocka_unit_test_prestate(test_cyclotomic_square, &s),
        cmocka_unit_test_prestate(test_cyclotomic_power, &s),
    };
    if (s.fp == NULL) {
        return pm_cpu_has_body(body) ? 1 : 0;
    }
    s.fp6_bytes = 6 * s.fp->bytes;
    s.fp12_bytes = 12 * s.fp->bytes;
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void) {
    int failures = 0;
    rng = seeded_random_from_environment();
    failures +=
        run("bn254 portable", PM_CURVE_BN254, PM_BODY_PORTABLE, &pm_tower_probe_bn254_portable);
    failures += run("bls12_381 portable", PM_CURVE_BLS12_381, PM_BODY_PORTABLE,
                    &pm_tower_probe_bls12_381_portable);
#if defined(__x86_64__)
    failures += run("bn254 adx", PM_CURVE_BN254, PM_BODY_ADX, &pm_tower_probe_bn254_adx);
    failures +=
        run("bls12_381 adx", PM_CURVE_BLS12_381, PM_BODY_ADX, &pm_tower_probe_bls12_381_adx);
#endif
    return failures != 0;
}
