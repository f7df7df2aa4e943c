/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The group law on the curve that is small enough to know: all of its 7873 points are computed by
 * definition, with integers mod p, as multiples k G; then every formula, given points k G and m G
 * in whatever representation, has to produce (k + m) G from the table. */
#define PM_INSTANCE_TINY 1
#define PM_INSTANCE_CURVE tiny
#define PM_INSTANCE_BODY portable
#include "curve/curve_instance.inc"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/seeded_random.h"

enum { ORDER = 7873, PARTNERS = 64 };

static struct seeded_random rng;

/* ---------------------------------------------------------------- the definition */

/* F_p[u] / (u^2 + 1) on plain integers. */
struct number {
    uint64_t c[2];
};

static uint64_t prime(void) {
    return fp_modulus[0];
}

static struct number number_mul(struct number a, struct number b) {
    const uint64_t p = prime();
    return (struct number){
        {(a.c[0] * b.c[0] + (p - a.c[1]) * b.c[1]) % p, (a.c[0] * b.c[1] + a.c[1] * b.c[0]) % p}};
}

static struct number number_sub(struct number a, struct number b) {
    const uint64_t p = prime();
    return (struct number){{(a.c[0] + p - b.c[0]) % p, (a.c[1] + p - b.c[1]) % p}};
}

/* a^(p^2 - 2). */
static struct number number_inv(struct number a) {
    struct number r = {{1, 0}};
    for (uint64_t e = prime() * prime() - 2; e != 0; e >>= 1) {
        if (e & 1) {
            r = number_mul(r, a);
        }
        a = number_mul(a, a);
    }
    return r;
}

static bool number_eq(struct number a, struct number b) {
    return a.c[0] == b.c[0] && a.c[1] == b.c[1];
}

struct point {
    bool infinite;
    struct number x, y;
};

/* Chord and tangent. */
static struct point point_add(struct point a, struct point b) {
    const struct number three = {{3, 0}}, two = {{2, 0}};
    struct number slope;
    if (a.infinite || b.infinite) {
        return a.infinite ? b : a;
    }
    if (!number_eq(a.x, b.x)) {
        slope = number_mul(number_sub(b.y, a.y), number_inv(number_sub(b.x, a.x)));
    } else if (number_eq(a.y, b.y)) {
        slope =
            number_mul(number_mul(three, number_mul(a.x, a.x)), number_inv(number_mul(two, a.y)));
    } else {
        return (struct point){.infinite = true};
    }
    struct point r = {.infinite = false};
    r.x = number_sub(number_sub(number_mul(slope, slope), a.x), b.x);
    r.y = number_sub(number_mul(slope, number_sub(a.x, r.x)), a.y);
    return r;
}

static void number_to_fp(fp *r, struct number a) {
    assert_int_equal(a.c[1], 0);
    fp_set_u64(r, a.c[0]);
}

static void number_to_fp2(fp2 *r, struct number a) {
    fp_set_u64(&r->c0, a.c[0]);
    fp_set_u64(&r->c1, a.c[1]);
}

/* ---------------------------------------------------------------- both groups */

#define G g1
#define K fp
#define GENERATOR_NUMBERS                                                                          \
    {                                                                                              \
        .x = {{TINY_G1_X, 0}}, .y = { {TINY_G1_Y, 0} }                                             \
    }
#include "curve_tiny_group.inc"
#undef G
#undef K
#undef GENERATOR_NUMBERS

#define G g2
#define K fp2
#define GENERATOR_NUMBERS                                                                          \
    {                                                                                              \
        .x = {TINY_G2_X}, .y = { TINY_G2_Y }                                                       \
    }
#include "curve_tiny_group.inc"
#undef G
#undef K
#undef GENERATOR_NUMBERS

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_g1_table),
        cmocka_unit_test(test_g1_all_scalars),
        cmocka_unit_test(test_g1_jacobian_pairs),
        cmocka_unit_test(test_g1_xyzz_pairs),
        cmocka_unit_test(test_g1_aliasing),
        cmocka_unit_test(test_g1_batch_of_all_points),
        cmocka_unit_test(test_g1_membership),
        cmocka_unit_test(test_g2_table),
        cmocka_unit_test(test_g2_all_scalars),
        cmocka_unit_test(test_g2_jacobian_pairs),
        cmocka_unit_test(test_g2_xyzz_pairs),
        cmocka_unit_test(test_g2_aliasing),
        cmocka_unit_test(test_g2_batch_of_all_points),
        cmocka_unit_test(test_g2_membership),
    };
    rng = seeded_random_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
