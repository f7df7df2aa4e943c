/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The same bodies over one-limb primes of 13 bits: every pair of elements, every inverse, every
 * square root. The oracle is integer arithmetic on tables of the Montgomery forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ff_probe.h"
#include "tiny/ff_params_tiny.h"

enum { MOST = 1 << TINY_FP_BITS }; /* both primes have 13 bits */
_Static_assert(TINY_FP_BITS == TINY_FR_BITS, "the tables fit both fields");

/* form[x] = x 2^64 mod m, and back. */
struct tiny_field {
    const struct pm_ff_probe_ops *ops;
    uint32_t m;
    uint64_t form[MOST];
    uint32_t value[MOST];
};

static struct tiny_field fp, fr;

static void tiny_init(struct tiny_field *f, const struct pm_ff_probe_ops *ops, uint64_t m) {
    f->ops = ops;
    f->m = (uint32_t)m;
    for (uint32_t x = 0; x < f->m; x++) {
        f->form[x] = (uint64_t)(((unsigned __int128)x << 64) % m);
        f->value[f->form[x]] = x;
    }
}

static int setup(void **state) {
    (void)state;
    tiny_init(&fp, &pm_ff_probe_tiny_portable.fp, pm_ff_probe_tiny_portable.p[0]);
    tiny_init(&fr, &pm_ff_probe_tiny_portable.fr, pm_ff_probe_tiny_portable.r[0]);
    return 0;
}

/* The value of a result, which must be reduced. */
static uint32_t value(const struct tiny_field *f, uint64_t word) {
    if (word >= f->m) {
        fail_msg("a result is not reduced");
    }
    return f->value[word];
}

static uint32_t power(uint32_t x, uint32_t e, uint32_t m) {
    uint64_t r = 1, base = x;
    for (; e != 0; e >>= 1, base = base * base % m) {
        r = e & 1 ? r * base % m : r;
    }
    return (uint32_t)r;
}

/* Compares without a call per pair into the framework: there are some sixty million. */
static void check_pairs(const struct tiny_field *f, uint32_t stride) {
    for (uint32_t x = 0; x < f->m; x++) {
        for (uint32_t y = x % stride; y < f->m; y += stride) {
            uint64_t sum, difference, product;
            f->ops->add(&sum, &f->form[x], &f->form[y]);
            f->ops->sub(&difference, &f->form[x], &f->form[y]);
            f->ops->mul(&product, &f->form[x], &f->form[y]);
            if (value(f, sum) != (x + y) % f->m || value(f, difference) != (x + f->m - y) % f->m ||
                value(f, product) != x * y % f->m) {
                fail_msg("x = %u, y = %u, m = %u", x, y, f->m);
            }
        }
    }
}

static void test_pairs_fp(void **state) {
    (void)state;
    check_pairs(&fp, 1);
}

static void test_pairs_fr(void **state) {
    (void)state;
    check_pairs(&fr, 5);
}

static void check_elements(const struct tiny_field *f) {
    const struct pm_ff_probe_ops *ops = f->ops;
    static uint8_t is_square[MOST];
    for (uint32_t x = 0; x < f->m; x++) {
        is_square[x] = 0;
    }
    for (uint32_t x = 0; x < f->m; x++) {
        is_square[x * x % f->m] = 1;
    }
    for (uint32_t x = 0; x < f->m; x++) {
        const uint64_t *a = &f->form[x];
        uint64_t r, e;
        ops->inv(&r, a);
        assert_int_equal(value(f, r) * x % f->m, x != 0);
        assert_int_equal(r == 0, x == 0);
        assert_int_equal(ops->sqrt(&r, a), is_square[x]);
        if (is_square[x]) {
            assert_int_equal(value(f, r) * value(f, r) % f->m, x);
        }
        ops->sqr(&r, a);
        assert_int_equal(value(f, r), x * x % f->m);
        ops->neg(&r, a);
        assert_int_equal(value(f, r), (f->m - x) % f->m);
        ops->halve(&r, a);
        assert_int_equal(value(f, r) * 2 % f->m, x);
        ops->dbl(&r, a);
        assert_int_equal(value(f, r), 2 * x % f->m);
        e = x * 7 + 3;
        ops->pow(&r, a, &e, 1);
        assert_int_equal(value(f, r), power(x, (uint32_t)e, f->m));
        ops->set_u64(&r, x);
        assert_int_equal(r, *a);
        ops->from_mont(&r, a);
        assert_int_equal(r, x);
        assert_int_equal(ops->is_odd_canonical(a), x & 1);
        assert_int_equal(ops->is_larger_root(a), x > (f->m - 1) / 2);
    }
    static uint64_t all[MOST], scratch[MOST]; /* every element at once, zero among them */
    for (uint32_t x = 0; x < f->m; x++) {
        all[x] = f->form[x];
    }
    ops->batch_inv(all, scratch, f->m);
    for (uint32_t x = 0; x < f->m; x++) {
        assert_int_equal(value(f, all[x]) * x % f->m, x != 0);
    }
}

static void test_elements_fp(void **state) {
    (void)state;
    check_elements(&fp);
}

static void test_elements_fr(void **state) {
    (void)state;
    check_elements(&fr);
}

/* All of Fp2 would be sixty million; a few lines through it, both axes among them, touch each case
 * of the square root. */
static void test_fp2_lines(void **state) {
    (void)state;
    const struct pm_ff_probe_ops *ops = &pm_ff_probe_tiny_portable.fp2;
    const uint32_t p = fp.m, lines[] = {0, 1, 2, 3, p / 2, p - 1};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        for (uint32_t x = 0; x < p; x++) {
            for (int swap = 0; swap < 2; swap++) {
                const uint32_t c0 = swap ? lines[i] : x, c1 = swap ? x : lines[i];
                const uint64_t a[2] = {fp.form[c0], fp.form[c1]};
                uint64_t r[2], s[2];
                ops->inv(r, a);
                ops->mul(s, r, a);
                assert_int_equal(ops->is_one(s), c0 != 0 || c1 != 0);
                const uint32_t norm = (c0 * c0 + c1 * c1) % p;
                const bool is_square = norm == 0 || power(norm, (p - 1) / 2, p) == 1;
                assert_int_equal(ops->sqrt(r, a), is_square);
                if (is_square) {
                    ops->mul(s, r, r);
                    assert_true(ops->eq(s, a));
                }
                ops->mul_by_xi(s, a);
                assert_int_equal(value(&fp, s[0]), (TINY_XI_C0 * c0 + p - c1) % p);
                assert_int_equal(value(&fp, s[1]), (TINY_XI_C0 * c1 + c0) % p);
            }
        }
    }
}

/* The root of unity has order exactly 2^s; 512-bit integers reduce in eight digits here. */
static void test_scalar_field(void **state) {
    (void)state;
    uint64_t w, wide[8];
    pm_ff_probe_tiny_portable.root_of_unity(&w);
    const uint32_t order = UINT32_C(1) << TINY_FR_TWO_ADICITY;
    assert_int_equal(power(value(&fr, w), order / 2, fr.m), fr.m - 1);
    uint64_t state_word = 1;
    for (int i = 0; i < 10000; i++) {
        uint64_t want = 0;
        for (int k = 7; k >= 0; k--) {
            state_word = state_word * UINT64_C(6364136223846793005) + 1442695040888963407;
            wide[k] = i % 3 == 0 ? UINT64_MAX : state_word;
            want = (uint64_t)((((unsigned __int128)want << 64) + wide[k]) % fr.m);
        }
        pm_ff_probe_tiny_portable.reduce_wide(&w, wide);
        assert_int_equal(value(&fr, w), want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_fp),    cmocka_unit_test(test_pairs_fr),
        cmocka_unit_test(test_elements_fp), cmocka_unit_test(test_elements_fr),
        cmocka_unit_test(test_fp2_lines),   cmocka_unit_test(test_scalar_field),
    };
    return cmocka_run_group_tests_name("ff_tiny", tests, setup, NULL);
}
