/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every field operation of every instance against GMP, on inputs biased to the edges where carries
 * and reductions happen. Prime fields are checked against mpz arithmetic mod m, fp2 against the
 * schoolbook formulas over mpz. Each operation is also run with its output aliasing each input.
 *
 * PM_TEST_SEED=<number> repeats a run; the seed is printed.
 */
#include <assert.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <gmp.h>

#include "ff/field.h"
#include "ff_probe.h"

enum {
    MAX_WORDS = 12, /* an fp2 of BLS12-381 */
    CASES = 20000,
    SLOW_CASES = 2000 /* of operations that take tens of microseconds here or in GMP */
};

/* ---------------------------------------------------------------- randomness */

static uint64_t random_state;

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
 */
static uint64_t random_word(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static unsigned random_below(unsigned n) {
    return (unsigned)(random_word() % n);
}

/* ---------------------------------------------------------------- numbers */

struct field {
    const struct pm_ff_probe *probe;
    const struct pm_ff_probe_ops *ops;
    const char *name;
    size_t limbs;       /* of the prime field below: of an element or of a coefficient */
    mpz_t m, r_inverse; /* R^-1 mod m */
    const struct pm_ff_probe_ops *base; /* fp below fp2; NULL in a prime field */
};

static void mpz_from_words(mpz_t z, const uint64_t *w, size_t n) {
    mpz_import(z, n, -1, sizeof *w, 0, 0, w);
}

static void words_from_mpz(uint64_t *w, size_t n, const mpz_t z) {
    size_t written = 0;
    memset(w, 0, n * sizeof *w);
    assert_true(mpz_sizeinbase(z, 2) <= 64 * n);
    mpz_export(w, &written, -1, sizeof *w, 0, 0, z);
}

/* z = the value that the Montgomery words stand for; fails unless they are reduced. */
static void value_of(const struct field *f, mpz_t z, const uint64_t *w) {
    mpz_from_words(z, w, f->limbs);
    if (mpz_cmp(z, f->m) >= 0) {
        fail_msg("%s: a result is not reduced", f->name);
    }
    mpz_mul(z, z, f->r_inverse);
    mpz_mod(z, z, f->m);
}

static void montgomery_of(const struct field *f, uint64_t *w, const mpz_t value) {
    mpz_t z;
    mpz_init(z);
    mpz_mul_2exp(z, value, 64 * f->limbs);
    mpz_mod(z, z, f->m);
    words_from_mpz(w, f->limbs, z);
    mpz_clear(z);
}

static void check_value(const struct field *f, const char *op, const mpz_t want,
                        const uint64_t *got) {
    mpz_t z;
    mpz_init(z);
    value_of(f, z, got);
    if (!mpz_congruent_p(z, want, f->m)) {
        char *a = mpz_get_str(NULL, 16, z), *b = mpz_get_str(NULL, 16, want);
        fail_msg("%s.%s: got 0x%s, want 0x%s (mod m)", f->name, op, a, b);
    }
    mpz_clear(z);
}

/* n words that are 0, all ones, nearly so, or random: any integer, biased. */
static void random_wide(uint64_t *w, size_t n) {
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     UINT64_MAX,
                                     UINT64_MAX - 1,
                                     UINT64_C(1) << 63,
                                     (UINT64_C(1) << 63) - 1,
                                     (UINT64_C(1) << 31) - 1};
    const bool uniform = random_below(3) == 0;
    for (size_t i = 0; i < n; i++) {
        w[i] = uniform || random_below(4) == 0 ? random_word()
                                               : edges[random_below(sizeof edges / sizeof *edges)];
    }
}

/* An integer below m, biased to 0, 1, 2, m - 1, m - 2, (m +- 1) / 2, 2^(64 k) +- 1, R mod m, sparse
 * words and words of ones. */
static void random_canonical(const struct field *f, uint64_t *w) {
    const size_t n = f->limbs;
    mpz_t z;
    mpz_init(z);
    switch (random_below(8)) {
    case 0:
        mpz_set_ui(z, random_below(3));
        break;
    case 1:
        mpz_sub_ui(z, f->m, 1 + random_below(3));
        break;
    case 2:
        mpz_tdiv_q_2exp(z, f->m, 1);
        mpz_add_ui(z, z, random_below(2));
        break;
    case 3:
        mpz_setbit(z, 64 * random_below((unsigned)n + 1));
        mpz_add_ui(z, z, random_below(3));
        if (mpz_sgn(z) > 0) {
            mpz_sub_ui(z, z, 1);
        }
        break;
    case 4:
        mpz_setbit(z, random_below(64 * (unsigned)n));
        mpz_setbit(z, random_below(64 * (unsigned)n));
        break;
    case 5:
        random_wide(w, n);
        mpz_from_words(z, w, n);
        break;
    default:
        for (size_t i = 0; i < n; i++) {
            w[i] = random_word();
        }
        mpz_from_words(z, w, n);
        break;
    }
    mpz_mod(z, z, f->m);
    words_from_mpz(w, n, z);
    mpz_clear(z);
}

/* An element: its words are edges, or the value they stand for is. */
static void random_element(const struct field *f, uint64_t *w) {
    random_canonical(f, w);
    if (random_below(2) == 0) {
        mpz_t z;
        mpz_init(z);
        mpz_from_words(z, w, f->limbs);
        montgomery_of(f, w, z);
        mpz_clear(z);
    }
    if (f->base != NULL) {
        random_canonical(f, w + f->limbs);
    }
}

/* ---------------------------------------------------------------- prime fields */

typedef void binary_op(void *r, const void *a, const void *b);
typedef void unary_op(void *r, const void *a);

/* r = op(a, b) into a fresh output and over a and over b; all must agree. */
static void run_binary(binary_op *op, const char *name, size_t words, uint64_t *r,
                       const uint64_t *a, const uint64_t *b) {
    uint64_t over_a[MAX_WORDS], over_b[MAX_WORDS];
    const size_t bytes = words * sizeof *r;
    memcpy(over_a, a, bytes);
    memcpy(over_b, b, bytes);
    memset(r, 0xa5, bytes);
    op(r, a, b);
    op(over_a, over_a, b);
    op(over_b, a, over_b);
    if (memcmp(r, over_a, bytes) != 0 || memcmp(r, over_b, bytes) != 0) {
        fail_msg("%s: the result depends on aliasing", name);
    }
}

static void run_unary(unary_op *op, const char *name, size_t words, uint64_t *r,
                      const uint64_t *a) {
    uint64_t over_a[MAX_WORDS];
    const size_t bytes = words * sizeof *r;
    memcpy(over_a, a, bytes);
    memset(r, 0xa5, bytes);
    op(r, a);
    op(over_a, over_a);
    if (memcmp(r, over_a, bytes) != 0) {
        fail_msg("%s: the result depends on aliasing", name);
    }
}

static void test_ring(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS], both[MAX_WORDS];
    mpz_t x, y, want;
    mpz_inits(x, y, want, NULL);
    for (int i = 0; i < CASES; i++) {
        random_element(f, a);
        random_element(f, b);
        if (random_below(16) == 0) {
            memcpy(b, a, sizeof b);
        }
        value_of(f, x, a);
        value_of(f, y, b);

        run_binary(ops->add, "add", f->limbs, r, a, b);
        mpz_add(want, x, y);
        check_value(f, "add", want, r);
        run_binary(ops->sub, "sub", f->limbs, r, a, b);
        mpz_sub(want, x, y);
        check_value(f, "sub", want, r);
        run_binary(ops->mul, "mul", f->limbs, r, a, b);
        mpz_mul(want, x, y);
        check_value(f, "mul", want, r);
        run_unary(ops->sqr, "sqr", f->limbs, r, a);
        mpz_mul(want, x, x);
        check_value(f, "sqr", want, r);
        run_unary(ops->neg, "neg", f->limbs, r, a);
        mpz_neg(want, x);
        check_value(f, "neg", want, r);
        run_unary(ops->dbl, "dbl", f->limbs, r, a);
        mpz_mul_2exp(want, x, 1);
        check_value(f, "dbl", want, r);
        run_unary(ops->halve, "halve", f->limbs, r, a);
        ops->add(both, r, r);
        assert_memory_equal(both, a, f->limbs * 8);

        memcpy(both, a, sizeof both); /* both inputs and the output in one place */
        ops->mul(both, both, both);
        check_value(f, "mul in place", (mpz_mul(want, x, x), want), both);
        memcpy(both, a, sizeof both);
        ops->sub(both, both, both);
        assert_true(ops->is_zero(both));

        assert_int_equal(ops->is_zero(a), mpz_sgn(x) == 0);
        assert_int_equal(ops->is_one(a), mpz_cmp_ui(x, 1) == 0);
        assert_int_equal(ops->eq(a, b), mpz_cmp(x, y) == 0);
        const bool choose = random_below(2);
        memcpy(r, b, sizeof r);
        ops->cmov(r, a, choose);
        assert_memory_equal(r, choose ? a : b, f->limbs * 8);
    }
    mpz_clears(x, y, want, NULL);
}

/* What fp2 relies on, and to_mont: mul takes any N-limb a with a reduced b; where 4m < R it also
 * takes a, b < 2m, and sqr takes a < 2m. */
static void test_unreduced_factors(void **state) {
    const struct field *f = *state;
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS];
    mpz_t x, y, want, limit, twice;
    mpz_inits(x, y, want, limit, twice, NULL);
    mpz_mul_2exp(twice, f->m, 1);
    mpz_setbit(limit, 64 * f->limbs - 2);
    const bool spare_bits = mpz_cmp(f->m, limit) < 0;
    for (int i = 0; i < CASES; i++) {
        random_wide(a, f->limbs);
        random_element(f, b);
        mpz_from_words(x, a, f->limbs);
        mpz_mul(x, x, f->r_inverse);
        value_of(f, y, b);
        f->ops->mul(r, a, b);
        mpz_mul(want, x, y);
        check_value(f, "mul of any integer", want, r);
        if (!spare_bits) {
            continue;
        }
        mpz_from_words(y, b, f->limbs);
        if (random_below(2) == 0) {
            mpz_add(y, y, f->m); /* in [m, 2m) */
        }
        words_from_mpz(b, f->limbs, y);
        mpz_mul(y, y, f->r_inverse);
        mpz_from_words(x, a, f->limbs);
        mpz_mod(x, x, twice);
        if (random_below(8) == 0) {
            mpz_sub_ui(x, twice, 1);
        }
        words_from_mpz(a, f->limbs, x);
        mpz_mul(x, x, f->r_inverse);
        f->ops->mul(r, a, b);
        mpz_mul(want, x, y);
        check_value(f, "mul below 2m", want, r);
        f->ops->sqr(r, a);
        mpz_mul(want, x, x);
        check_value(f, "sqr below 2m", want, r);
    }
    mpz_clears(x, y, want, limit, twice, NULL);
}

static void test_inv(void **state) {
    const struct field *f = *state;
    uint64_t a[MAX_WORDS], r[MAX_WORDS];
    mpz_t x, want;
    mpz_inits(x, want, NULL);
    for (int i = 0; i < CASES; i++) {
        random_element(f, a);
        value_of(f, x, a);
        run_unary(f->ops->inv, "inv", f->limbs, r, a);
        if (mpz_sgn(x) == 0) {
            assert_true(f->ops->is_zero(r));
            continue;
        }
        assert_int_not_equal(mpz_invert(want, x, f->m), 0);
        check_value(f, "inv", want, r);
    }
    mpz_clears(x, want, NULL);
}

static void test_batch_inv(void **state) {
    const struct field *f = *state;
    const size_t words = f->ops->words;
    enum { MOST = 40 };
    uint64_t a[MOST * MAX_WORDS], scratch[MOST * MAX_WORDS], each[MOST * MAX_WORDS];
    for (int i = 0; i < CASES / MOST; i++) {
        const size_t n = random_below(MOST + 1);
        for (size_t k = 0; k < n; k++) {
            random_element(f, a + k * words);
            f->ops->inv(each + k * words, a + k * words);
        }
        f->ops->batch_inv(a, scratch, n);
        assert_memory_equal(a, each, n * words * 8);
    }
}

static void test_sqrt(void **state) {
    const struct field *f = *state;
    uint64_t a[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    mpz_t x;
    mpz_init(x);
    for (int i = 0; i < CASES / 2; i++) {
        random_element(f, a);
        if (random_below(4) == 0) {
            f->ops->sqr(a, a);
        }
        value_of(f, x, a);
        memset(r, 0, sizeof r);
        r[0] = 123;
        const bool is_square = f->ops->sqrt(r, a);
        assert_int_equal(is_square, mpz_legendre(x, f->m) >= 0);
        if (is_square) {
            f->ops->sqr(s, r);
            assert_memory_equal(s, a, f->limbs * 8);
            memcpy(s, a, sizeof s);
            assert_true(f->ops->sqrt(s, s));
            assert_memory_equal(s, r, f->limbs * 8);
        } else {
            assert_int_equal(r[0], 123); /* untouched */
        }
    }
    mpz_clear(x);
}

static void test_pow(void **state) {
    const struct field *f = *state;
    uint64_t a[MAX_WORDS], e[MAX_WORDS], r[MAX_WORDS];
    mpz_t x, y, want;
    mpz_inits(x, y, want, NULL);
    for (int i = 0; i < CASES; i++) {
        const size_t n = i < SLOW_CASES ? random_below((unsigned)f->limbs + 1) : random_below(2);
        random_element(f, a);
        random_wide(e, n);
        if (i >= SLOW_CASES && n == 1) {
            e[0] >>= random_below(64);
        }
        value_of(f, x, a);
        mpz_from_words(y, e, n);
        mpz_powm(want, x, y, f->m);
        f->ops->pow(r, a, e, n);
        check_value(f, "pow", want, r);
        f->ops->pow(a, a, e, n);
        assert_memory_equal(a, r, f->limbs * 8);
    }
    mpz_clears(x, y, want, NULL);
}

static void test_conversions(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    const size_t n = f->limbs, bytes = 8 * n;
    uint64_t a[MAX_WORDS], r[MAX_WORDS], back[MAX_WORDS];
    uint8_t le[8 * MAX_WORDS + 1], be[8 * MAX_WORDS], again[8 * MAX_WORDS];
    mpz_t x, y;
    mpz_inits(x, y, NULL);
    for (int i = 0; i < CASES; i++) {
        random_canonical(f, a);
        mpz_from_words(x, a, n);
        ops->to_mont(r, a);
        check_value(f, "to_mont", x, r);
        ops->from_mont(back, r);
        assert_memory_equal(back, a, bytes);
        assert_true(ops->limbs_canonical(a));
        assert_int_equal(ops->is_odd_canonical(r), mpz_odd_p(x) != 0);
        mpz_mul_2exp(y, x, 1);
        assert_int_equal(ops->is_larger_root(r), mpz_cmp(y, f->m) > 0); /* x > (m - 1) / 2 */

        memcpy(le + 1, a, bytes); /* at an odd address */
        for (size_t k = 0; k < bytes; k++) {
            be[k] = le[bytes - k];
        }
        memset(back, 0, sizeof back);
        assert_true(ops->from_bytes_le(back, le + 1));
        assert_memory_equal(back, r, bytes);
        memset(back, 0, sizeof back);
        assert_true(ops->from_bytes_be(back, be));
        assert_memory_equal(back, r, bytes);
        ops->to_bytes_le(again, r);
        assert_memory_equal(again, le + 1, bytes);
        ops->to_bytes_be(again, r);
        assert_memory_equal(again, be, bytes);

        ops->store(le + 1, r);
        memset(back, 0, sizeof back);
        ops->load(back, le + 1);
        assert_memory_equal(back, r, bytes);
        memset(back, 0, sizeof back);
        ops->copy(back, r);
        assert_memory_equal(back, r, bytes);

        a[0] = random_below(2) ? random_word() : random_below(4);
        mpz_set_ui(x, a[0]);
        ops->set_u64(r, a[0]);
        check_value(f, "set_u64", x, r);
    }
    ops->set_zero(r);
    assert_true(ops->is_zero(r));
    ops->set_one(r);
    mpz_set_ui(x, 1);
    check_value(f, "set_one", x, r);
    mpz_clears(x, y, NULL);
}

static void test_refusals(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    const size_t n = f->limbs, bytes = 8 * n;
    uint64_t a[MAX_WORDS], r[MAX_WORDS];
    uint8_t le[8 * MAX_WORDS], be[8 * MAX_WORDS];
    mpz_t x;
    mpz_init(x);
    for (int i = 0; i < CASES; i++) {
        /* Integers from the modulus up are refused; those below are not. */
        random_wide(a, n);
        if (random_below(2) == 0) {
            mpz_add_ui(x, f->m, random_below(3));
            words_from_mpz(a, n, x);
        }
        mpz_from_words(x, a, n);
        const bool canonical = mpz_cmp(x, f->m) < 0;
        assert_int_equal(ops->limbs_canonical(a), canonical);
        memcpy(le, a, bytes);
        for (size_t k = 0; k < bytes; k++) {
            be[k] = le[bytes - 1 - k];
        }
        assert_int_equal(ops->from_bytes_le(r, le), canonical);
        assert_int_equal(ops->from_bytes_be(r, be), canonical);
    }
    mpz_clear(x);
}

static void test_reduce_wide(void **state) {
    const struct field *f = *state;
    uint64_t in[8], r[MAX_WORDS];
    mpz_t x;
    mpz_init(x);
    for (int i = 0; i < CASES; i++) {
        random_wide(in, 8);
        mpz_from_words(x, in, 8);
        f->probe->reduce_wide(r, in);
        check_value(f, "reduce_wide", x, r);
    }
    mpz_clear(x);
}

/* The roots are primitive 2^s-th roots from the smallest non-residue and from a generator. */
static void test_roots_of_unity(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe *probe = f->probe;
    const bool bls = strcmp(probe->curve, "bls12_381") == 0;
    uint64_t r[MAX_WORDS];
    mpz_t e, q, want;
    mpz_inits(e, q, want, NULL);
    mpz_sub_ui(e, f->m, 1);
    assert_int_equal(mpz_scan1(e, 0), probe->two_adicity);
    mpz_tdiv_q_2exp(e, e, probe->two_adicity);
    unsigned non_residue = 2;
    for (; mpz_set_ui(q, non_residue), mpz_legendre(q, f->m) != -1; non_residue++) {
    }
    assert_int_equal(non_residue, 5);
    assert_int_equal(probe->snarkjs_shift, 25);
    mpz_powm(want, q, e, f->m);
    probe->root_of_unity(r);
    check_value(f, "root_of_unity", want, r);
    mpz_set_ui(q, bls ? 7 : 5);
    probe->coset_generator_bellman(r);
    check_value(f, "coset_generator_bellman", q, r);
    mpz_powm(want, q, e, f->m);
    probe->root_of_unity_bellman(r);
    check_value(f, "root_of_unity_bellman", want, r);
    mpz_clears(e, q, want, NULL);
}

/* ---------------------------------------------------------------- fp2 */

struct fp2_value {
    mpz_t c0, c1;
};

static void fp2_init(struct fp2_value *v) {
    mpz_inits(v->c0, v->c1, NULL);
}

static void fp2_clear(struct fp2_value *v) {
    mpz_clears(v->c0, v->c1, NULL);
}

static void fp2_value_of(const struct field *f, struct fp2_value *v, const uint64_t *w) {
    value_of(f, v->c0, w);
    value_of(f, v->c1, w + f->limbs);
}

static void check_fp2(const struct field *f, const char *op, const struct fp2_value *want,
                      const uint64_t *got) {
    check_value(f, op, want->c0, got);
    check_value(f, op, want->c1, got + f->limbs);
}

/* (a0 + a1 u)(b0 + b1 u), u^2 = -1; r is neither a nor b. */
static void fp2_schoolbook(struct fp2_value *r, const struct fp2_value *a,
                           const struct fp2_value *b) {
    mpz_mul(r->c0, a->c0, b->c0);
    mpz_submul(r->c0, a->c1, b->c1);
    mpz_mul(r->c1, a->c0, b->c1);
    mpz_addmul(r->c1, a->c1, b->c0);
}

static void test_fp2_ring(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    const size_t words = ops->words, bytes = 8 * words;
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    struct fp2_value x, y, xi, want;
    fp2_init(&x);
    fp2_init(&y);
    fp2_init(&xi);
    fp2_init(&want);
    assert_int_equal(words, 2 * f->limbs);
    mpz_set_ui(xi.c0, strcmp(f->probe->curve, "bn254") == 0 ? 9 : 1);
    mpz_set_ui(xi.c1, 1);
    for (int i = 0; i < CASES; i++) {
        random_element(f, a);
        random_element(f, b);
        fp2_value_of(f, &x, a);
        fp2_value_of(f, &y, b);

        run_binary(ops->add, "fp2.add", words, r, a, b);
        mpz_add(want.c0, x.c0, y.c0);
        mpz_add(want.c1, x.c1, y.c1);
        check_fp2(f, "add", &want, r);
        run_binary(ops->sub, "fp2.sub", words, r, a, b);
        mpz_sub(want.c0, x.c0, y.c0);
        mpz_sub(want.c1, x.c1, y.c1);
        check_fp2(f, "sub", &want, r);
        run_binary(ops->mul, "fp2.mul", words, r, a, b);
        fp2_schoolbook(&want, &x, &y);
        check_fp2(f, "mul", &want, r);
        run_unary(ops->sqr, "fp2.sqr", words, r, a);
        fp2_schoolbook(&want, &x, &x);
        check_fp2(f, "sqr", &want, r);
        run_unary(ops->mul_by_xi, "fp2.mul_by_xi", words, r, a);
        fp2_schoolbook(&want, &x, &xi);
        check_fp2(f, "mul_by_xi", &want, r);
        run_unary(ops->neg, "fp2.neg", words, r, a);
        mpz_neg(want.c0, x.c0);
        mpz_neg(want.c1, x.c1);
        check_fp2(f, "neg", &want, r);
        run_unary(ops->conj, "fp2.conj", words, r, a);
        mpz_set(want.c0, x.c0);
        check_fp2(f, "conj", &want, r);
        run_unary(ops->dbl, "fp2.dbl", words, r, a);
        mpz_mul_2exp(want.c0, x.c0, 1);
        mpz_mul_2exp(want.c1, x.c1, 1);
        check_fp2(f, "dbl", &want, r);
        run_unary(ops->halve, "fp2.halve", words, r, a);
        ops->dbl(s, r);
        assert_memory_equal(s, a, bytes);
    }
    ops->set_one(r);
    mpz_set_ui(want.c0, 1);
    mpz_set_ui(want.c1, 0);
    check_fp2(f, "set_one", &want, r);
    ops->set_zero(r);
    assert_true(ops->is_zero(r));
    fp2_clear(&x);
    fp2_clear(&y);
    fp2_clear(&xi);
    fp2_clear(&want);
}

static void test_fp2_mul_fp(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    const size_t bytes = 8 * ops->words;
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    struct fp2_value x, y, want;
    fp2_init(&x);
    fp2_init(&y);
    fp2_init(&want);
    for (int i = 0; i < CASES; i++) {
        random_element(f, a);
        random_element(f, b);
        fp2_value_of(f, &x, a);
        fp2_value_of(f, &y, b);
        ops->mul_fp(r, a, b);
        mpz_mul(want.c0, x.c0, y.c0);
        mpz_mul(want.c1, x.c1, y.c0);
        check_fp2(f, "mul_fp", &want, r);
        memcpy(s, b, sizeof s); /* the scalar may be the first coefficient of the result */
        ops->mul_fp(s, a, s);
        assert_memory_equal(s, r, bytes);
        memcpy(s, a, sizeof s); /* or the second of the factor, in place */
        ops->mul_fp(s, s, s + f->limbs);
        mpz_mul(want.c0, x.c0, x.c1);
        mpz_mul(want.c1, x.c1, x.c1);
        check_fp2(f, "mul_fp in place", &want, s);
    }
    fp2_clear(&x);
    fp2_clear(&y);
    fp2_clear(&want);
}

static void test_fp2_inverse_and_predicates(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    const size_t words = ops->words, bytes = 8 * words;
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    struct fp2_value x, y, want;
    fp2_init(&x);
    fp2_init(&y);
    fp2_init(&want);
    for (int i = 0; i < CASES; i++) {
        random_element(f, a);
        random_element(f, b);
        fp2_value_of(f, &x, a);
        fp2_value_of(f, &y, b);
        run_unary(ops->inv, "fp2.inv", words, r, a);
        ops->mul(s, r, a);
        assert_int_equal(ops->is_one(s), !ops->is_zero(a));
        assert_int_equal(ops->is_zero(r), ops->is_zero(a));
        assert_int_equal(ops->is_zero(a), mpz_sgn(x.c0) == 0 && mpz_sgn(x.c1) == 0);
        assert_int_equal(ops->eq(a, b), mpz_cmp(x.c0, y.c0) == 0 && mpz_cmp(x.c1, y.c1) == 0);

        const mpz_t *deciding = mpz_sgn(x.c1) != 0 ? &x.c1 : &x.c0;
        mpz_mul_2exp(want.c0, *deciding, 1);
        assert_int_equal(ops->is_larger_root(a), mpz_cmp(want.c0, f->m) > 0);
        const bool choose = random_below(2);
        memcpy(r, b, sizeof r);
        ops->cmov(r, a, choose);
        assert_memory_equal(r, choose ? a : b, bytes);

        uint8_t odd[8 * MAX_WORDS + 1];
        ops->store(odd + 1, a);
        ops->load(r, odd + 1);
        assert_memory_equal(r, a, bytes);
        ops->copy(s, r);
        assert_memory_equal(s, a, bytes);
    }
    fp2_clear(&x);
    fp2_clear(&y);
    fp2_clear(&want);
}

static void test_fp2_sqrt(void **state) {
    const struct field *f = *state;
    const struct pm_ff_probe_ops *ops = f->ops;
    const size_t bytes = 8 * ops->words;
    uint64_t a[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    struct fp2_value x;
    mpz_t norm;
    fp2_init(&x);
    mpz_init(norm);
    for (int i = 0; i < SLOW_CASES; i++) {
        random_element(f, a);
        if (random_below(8) == 0) {
            memset(a + random_below(2) * f->limbs, 0, 8 * f->limbs); /* c0 or c1 = 0 */
        }
        if (random_below(4) == 0) {
            ops->sqr(a, a);
        }
        /* a is a square exactly when its norm is one (or zero). */
        fp2_value_of(f, &x, a);
        mpz_mul(norm, x.c0, x.c0);
        mpz_addmul(norm, x.c1, x.c1);
        const bool is_square = mpz_legendre(norm, f->m) >= 0;
        memset(r, 0, sizeof r);
        assert_int_equal(ops->sqrt(r, a), is_square);
        if (is_square) {
            ops->sqr(s, r);
            assert_memory_equal(s, a, bytes);
            memcpy(s, a, sizeof s);
            assert_true(ops->sqrt(s, s));
            assert_memory_equal(s, r, bytes);
        }
    }
    fp2_clear(&x);
    mpz_clear(norm);
}

static void test_fp2_pow(void **state) {
    const struct field *f = *state;
    uint64_t a[MAX_WORDS], r[MAX_WORDS], e[MAX_WORDS], conj[MAX_WORDS];
    struct fp2_value x, power, t;
    fp2_init(&x);
    fp2_init(&power);
    fp2_init(&t);
    for (int i = 0; i < SLOW_CASES; i++) {
        random_element(f, a);
        fp2_value_of(f, &x, a);
        const unsigned exponent = random_below(40);
        mpz_set_ui(power.c0, 1);
        mpz_set_ui(power.c1, 0);
        for (unsigned k = 0; k < exponent; k++) {
            fp2_schoolbook(&t, &power, &x);
            mpz_mod(power.c0, t.c0, f->m);
            mpz_mod(power.c1, t.c1, f->m);
        }
        e[0] = exponent;
        f->ops->pow(r, a, e, exponent == 0 ? 0 : 1);
        check_fp2(f, "pow", &power, r);
        if (i % 8 == 0) { /* Frobenius: a^p is the conjugate */
            words_from_mpz(e, f->limbs, f->m);
            f->ops->pow(r, a, e, f->limbs);
            f->ops->conj(conj, a);
            assert_memory_equal(r, conj, 8 * f->ops->words);
        }
    }
    fp2_clear(&x);
    fp2_clear(&power);
    fp2_clear(&t);
}

/* ---------------------------------------------------------------- tables and bodies */

/* struct pm_field against GMP; thinly, since it forwards to what is tested above. */
static void check_table(const struct pm_field *t, const char *name, enum pm_body body) {
    struct field f = {.name = name, .limbs = t->limbs};
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    uint64_t scratch[MAX_WORDS], wide[8];
    uint8_t bytes[8 * MAX_WORDS + 1];
    mpz_t x, y, want;
    mpz_inits(x, y, want, f.m, f.r_inverse, NULL);
    mpz_from_words(f.m, t->modulus, t->limbs);
    mpz_setbit(f.r_inverse, 64 * t->limbs);
    mpz_invert(f.r_inverse, f.r_inverse, f.m);
    assert_string_equal(t->name, name);
    assert_string_equal(t->body, pm_body_name(body));
    assert_int_equal(t->bytes, 8 * t->limbs);
    assert_int_equal(t->bits, mpz_sizeinbase(f.m, 2));
    mpz_sub_ui(x, f.m, 1);
    assert_int_equal(t->two_adicity, mpz_scan1(x, 0));
    mpz_set_ui(want, 1);
    check_value(&f, "one", want, t->one);
    for (int i = 0; i < SLOW_CASES; i++) {
        random_element(&f, a);
        random_element(&f, b);
        value_of(&f, x, a);
        value_of(&f, y, b);
        t->add(r, a, b);
        check_value(&f, "add", (mpz_add(want, x, y), want), r);
        t->sub(r, a, b);
        check_value(&f, "sub", (mpz_sub(want, x, y), want), r);
        t->mul(r, a, b);
        check_value(&f, "mul", (mpz_mul(want, x, y), want), r);
        t->sqr(r, a);
        check_value(&f, "sqr", (mpz_mul(want, x, x), want), r);
        t->neg(r, a);
        check_value(&f, "neg", (mpz_neg(want, x), want), r);
        t->inv(r, a);
        t->mul(s, r, a);
        mpz_set_ui(want, mpz_sgn(x) != 0);
        check_value(&f, "inv", want, s);
        memcpy(s, a, sizeof s);
        t->batch_inv(s, scratch, 1);
        assert_memory_equal(s, r, t->bytes);
        assert_int_equal(t->sqrt(r, a), mpz_legendre(x, f.m) >= 0);
        t->pow(r, a, b, 1);
        mpz_from_words(y, b, 1);
        check_value(&f, "pow", (mpz_powm(want, x, y, f.m), want), r);
        t->from_mont(bytes + 1, a, 1);
        memcpy(s, bytes + 1, t->bytes);
        mpz_from_words(y, s, t->limbs);
        assert_int_equal(mpz_cmp(x, y), 0);
        assert_true(t->is_canonical(s));
        t->to_mont(s, bytes + 1, 1);
        assert_memory_equal(s, a, t->bytes);
        if (t->reduce_wide != NULL) {
            random_wide(wide, 8);
            mpz_from_words(want, wide, 8);
            t->reduce_wide(r, wide);
            check_value(&f, "reduce_wide", want, r);
        }
    }
    assert_false(t->is_canonical(t->modulus));
    mpz_clears(x, y, want, f.m, f.r_inverse, NULL);
}

static void test_tables(void **state) {
    (void)state;
    static const struct {
        pm_curve_id curve;
        const char *fp, *fr;
    } curves[] = {{PM_CURVE_BN254, "bn254.fp", "bn254.fr"},
                  {PM_CURVE_BLS12_381, "bls12_381.fp", "bls12_381.fr"}};
    for (size_t i = 0; i < 2; i++) {
        const struct pm_field *fp[PM_BODY_COUNT], *fr[PM_BODY_COUNT];
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            fp[body] = pm_field_fp(curves[i].curve, (enum pm_body)body);
            fr[body] = pm_field_fr(curves[i].curve, (enum pm_body)body);
            assert_int_equal(fp[body] != NULL, pm_cpu_has_body((enum pm_body)body));
            if (fp[body] == NULL) {
                continue;
            }
            check_table(fp[body], curves[i].fp, (enum pm_body)body);
            check_table(fr[body], curves[i].fr, (enum pm_body)body);
            assert_null(fp[body]->reduce_wide);
            assert_non_null(fr[body]->reduce_wide);
        }
        if (fp[PM_BODY_ADX] != NULL) { /* a forced body is really another piece of code */
            assert_ptr_not_equal(fp[PM_BODY_ADX], fp[PM_BODY_PORTABLE]);
            assert_ptr_not_equal(fp[PM_BODY_ADX]->mul, fp[PM_BODY_PORTABLE]->mul);
            assert_ptr_not_equal(fr[PM_BODY_ADX]->mul, fr[PM_BODY_PORTABLE]->mul);
        }
    }
    assert_null(pm_field_fp(PM_CURVE_NONE, PM_BODY_PORTABLE));
    assert_null(pm_field_fr((pm_curve_id)99, PM_BODY_PORTABLE));
    assert_null(pm_field_fr(PM_CURVE_BN254, PM_BODY_COUNT));
}

#if defined(__x86_64__)
static void compare_bodies(const struct field *f, const struct pm_ff_probe_ops *one,
                           const struct pm_ff_probe_ops *other) {
    uint64_t a[MAX_WORDS], b[MAX_WORDS], r[MAX_WORDS], s[MAX_WORDS];
    const size_t bytes = 8 * one->words;
    for (int i = 0; i < CASES; i++) {
        random_element(f, a);
        random_element(f, b);
        one->mul(r, a, b);
        other->mul(s, a, b);
        assert_memory_equal(r, s, bytes);
        one->sqr(r, a);
        other->sqr(s, a);
        assert_memory_equal(r, s, bytes);
        one->add(r, a, b);
        other->add(s, a, b);
        assert_memory_equal(r, s, bytes);
        one->sub(r, a, b);
        other->sub(s, a, b);
        assert_memory_equal(r, s, bytes);
        one->inv(r, a);
        other->inv(s, a);
        assert_memory_equal(r, s, bytes);
        if (i < SLOW_CASES) { /* also the choice between the two roots is the same */
            memset(r, 0, sizeof r);
            memset(s, 0, sizeof s);
            assert_int_equal(one->sqrt(r, a), other->sqrt(s, a));
            assert_memory_equal(r, s, bytes);
        }
    }
}
#endif

/* ---------------------------------------------------------------- the list of tests */

static void field_init(struct field *f, const struct pm_ff_probe *probe, const char *which) {
    static char names[32][40];
    static size_t n_names;
    const bool scalar = strcmp(which, "fr") == 0, extension = strcmp(which, "fp2") == 0;
    assert(n_names < 32);
    snprintf(names[n_names], sizeof names[0], "%s.%s.%s", probe->curve, probe->body, which);
    f->name = names[n_names++];
    f->probe = probe;
    f->ops = scalar ? &probe->fr : extension ? &probe->fp2 : &probe->fp;
    f->base = extension ? &probe->fp : NULL;
    f->limbs = scalar ? probe->fr.words : probe->fp.words;
    mpz_inits(f->m, f->r_inverse, NULL);
    mpz_from_words(f->m, scalar ? probe->r : probe->p, f->limbs);
    mpz_setbit(f->r_inverse, 64 * f->limbs);
    mpz_invert(f->r_inverse, f->r_inverse, f->m);
}

#if defined(__x86_64__)
static void test_bodies_agree(void **state) {
    (void)state;
    static const struct pm_ff_probe *const pairs[][2] = {
        {&pm_ff_probe_bn254_portable, &pm_ff_probe_bn254_adx},
        {&pm_ff_probe_bls12_381_portable, &pm_ff_probe_bls12_381_adx}};
    if (!pm_cpu_has_body(PM_BODY_ADX)) {
        skip();
    }
    for (size_t i = 0; i < 2; i++) {
        const struct pm_ff_probe *one = pairs[i][0], *other = pairs[i][1];
        struct field fp, fr, fp2;
        assert_string_equal(one->body, "portable");
        assert_string_equal(other->body, "adx");
        assert_ptr_not_equal(one->fp.mul, other->fp.mul);
        field_init(&fp, one, "fp");
        field_init(&fr, one, "fr");
        field_init(&fp2, one, "fp2");
        compare_bodies(&fp, &one->fp, &other->fp);
        compare_bodies(&fr, &one->fr, &other->fr);
        compare_bodies(&fp2, &one->fp2, &other->fp2);
        mpz_clears(fp.m, fp.r_inverse, fr.m, fr.r_inverse, fp2.m, fp2.r_inverse, NULL);
    }
}
#endif

struct named_test {
    const char *name;
    CMUnitTestFunction run;
};

static const struct named_test prime_tests[] = {{"ring", test_ring},
                                                {"unreduced_factors", test_unreduced_factors},
                                                {"inv", test_inv},
                                                {"batch_inv", test_batch_inv},
                                                {"sqrt", test_sqrt},
                                                {"pow", test_pow},
                                                {"conversions", test_conversions},
                                                {"refusals", test_refusals}};
static const struct named_test scalar_tests[] = {{"reduce_wide", test_reduce_wide},
                                                 {"roots_of_unity", test_roots_of_unity}};
static const struct named_test fp2_tests[] = {
    {"ring", test_fp2_ring},
    {"mul_fp", test_fp2_mul_fp},
    {"inverse_and_predicates", test_fp2_inverse_and_predicates},
    {"batch_inv", test_batch_inv},
    {"sqrt", test_fp2_sqrt},
    {"pow", test_fp2_pow}};

enum { MAX_TESTS = 128, NAME_BYTES = 64 };
static struct CMUnitTest tests[MAX_TESTS];
static char test_names[MAX_TESTS][NAME_BYTES];
static size_t n_tests;

static void add_tests(struct field *f, const struct named_test *list, size_t n) {
    for (size_t i = 0; i < n; i++, n_tests++) {
        assert(n_tests < MAX_TESTS);
        snprintf(test_names[n_tests], NAME_BYTES, "%s.%s", f != NULL ? f->name : "ff",
                 list[i].name);
        tests[n_tests] = (struct CMUnitTest){
            .name = test_names[n_tests], .test_func = list[i].run, .initial_state = f};
    }
}

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

int main(void) {
    const char *text = getenv("PM_TEST_SEED");
    random_state = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    printf("PM_TEST_SEED=%" PRIu64 "\n", random_state);

    static const struct pm_ff_probe *const probes[] = {
        &pm_ff_probe_bn254_portable,
        &pm_ff_probe_bls12_381_portable,
#if defined(__x86_64__)
        &pm_ff_probe_bn254_adx,
        &pm_ff_probe_bls12_381_adx
#endif
    };
    static struct field fields[COUNT(probes)][3];
    for (size_t i = 0; i < COUNT(probes); i++) {
        if (strcmp(probes[i]->body, "adx") == 0 && !pm_cpu_has_body(PM_BODY_ADX)) {
            printf("no BMI2 and ADX here: %s.adx is not tested\n", probes[i]->curve);
            continue;
        }
        struct field *fp = &fields[i][0], *fr = &fields[i][1], *fp2 = &fields[i][2];
        field_init(fp, probes[i], "fp");
        field_init(fr, probes[i], "fr");
        field_init(fp2, probes[i], "fp2");
        add_tests(fp, prime_tests, COUNT(prime_tests));
        add_tests(fr, prime_tests, COUNT(prime_tests));
        add_tests(fr, scalar_tests, COUNT(scalar_tests));
        add_tests(fp2, fp2_tests, COUNT(fp2_tests));
    }
    static const struct named_test whole[] = {
        {"tables", test_tables},
#if defined(__x86_64__)
        {"bodies_agree", test_bodies_agree}
#endif
    };
    add_tests(NULL, whole, COUNT(whole));
    const int failed = _cmocka_run_group_tests("ff_vs_gmp", tests, n_tests, NULL, NULL);
    for (size_t i = 0; i < COUNT(probes); i++) {
        for (int k = 0; k < 3; k++) {
            if (fields[i][k].name != NULL) {
                mpz_clears(fields[i][k].m, fields[i][k].r_inverse, NULL);
            }
        }
    }
    return failed;
}
