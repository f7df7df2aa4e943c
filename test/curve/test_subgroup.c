/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The subgroup tests by endomorphism against multiplication by the group order, on points inside
 * the subgroup, outside it, and in the small subgroups where an unlucky test would pass. */
#include "curve_setting.h"

#include "curve_cofactors.h"

#define ROUNDS 120
#define ROUNDS_PER_PRIME 40

/* Both tests say the same; returns it. */
static bool in_subgroup(const struct setting *s, const void *affine) {
    const enum pm_point_fault fault = s->group->check(affine, PM_POINT_CHECK_SUBGROUP);
    const bool by_order = s->group->in_subgroup_by_order(affine);
    assert_int_equal(s->group->check(affine, PM_POINT_CHECK_CURVE), PM_POINT_GOOD);
    assert_int_equal(fault, by_order ? PM_POINT_GOOD : PM_POINT_NOT_IN_SUBGROUP);
    return by_order;
}

static const struct cofactor *cofactors_of(const struct setting *s, size_t *n) {
    const bool is_g1 = s->group == s->curve->g1, is_bn = s->curve->id == PM_CURVE_BN254;
    const struct cofactor *table = is_bn   ? is_g1 ? bn254_g1_cofactors : bn254_g2_cofactors
                                   : is_g1 ? bls12_381_g1_cofactors
                                           : bls12_381_g2_cofactors;
    const size_t bytes = is_bn   ? is_g1 ? sizeof bn254_g1_cofactors : sizeof bn254_g2_cofactors
                         : is_g1 ? sizeof bls12_381_g1_cofactors
                                 : sizeof bls12_381_g2_cofactors;
    *n = bytes / sizeof table[0];
    return table;
}

/* k times a random point of the curve. */
static void cleared_point(const struct setting *s, const struct cofactor *k, void *affine) {
    unsigned char p[PM_G2_BYTES_MAX];
    struct pm_group_point t;
    random_curve_point(s, p);
    s->group->from_affine(&t, p);
    s->group->mul(&t, &t, k->limb, COFACTOR_LIMBS);
    s->group->to_affine(affine, &t);
}

static void test_inside(void **state) {
    const struct setting *s = *state;
    size_t n;
    const struct cofactor *cofactors = cofactors_of(s, &n);
    unsigned char p[PM_G2_BYTES_MAX] = {0};
    assert_true(in_subgroup(s, p)); /* infinity */
    for (int i = 0; i < ROUNDS; i++) {
        cleared_point(s, &cofactors[0], p);
        assert_true(in_subgroup(s, p));
        random_subgroup_point(s, p);
        assert_true(in_subgroup(s, p));
    }
}

/* A random point of the curve is outside but for a chance of one in the cofactor; where that is
 * one, it is inside. */
static void test_whole_curve(void **state) {
    const struct setting *s = *state;
    const bool prime_order = s->curve->id == PM_CURVE_BN254 && s->group == s->curve->g1;
    unsigned char p[PM_G2_BYTES_MAX];
    for (int i = 0; i < ROUNDS; i++) {
        random_curve_point(s, p);
        assert_int_equal(in_subgroup(s, p), prime_order);
    }
}

/* Points of small prime-power order, alone and added to one of the subgroup. */
static void test_small_subgroups(void **state) {
    const struct setting *s = *state;
    size_t n;
    const struct cofactor *cofactors = cofactors_of(s, &n);
    for (size_t c = 1; c < n; c++) {
        int n_finite = 0;
        for (int i = 0; i < ROUNDS_PER_PRIME; i++) {
            unsigned char small[PM_G2_BYTES_MAX], p[PM_G2_BYTES_MAX];
            struct pm_group_point t;
            cleared_point(s, &cofactors[c], small);
            if (s->group->affine_is_infinity(small)) {
                continue;
            }
            n_finite++;
            assert_false(in_subgroup(s, small));
            random_jacobian(s, &t);
            s->group->add_affine(&t, &t, small);
            s->group->to_affine(p, &t);
            assert_false(in_subgroup(s, p));
        }
        assert_true(n_finite > ROUNDS_PER_PRIME / 4);
    }
}

/* psi is a homomorphism, maps the curve to itself and satisfies psi^2 - t psi + p = 0; on the
 * subgroup, where p = t - 1, that leaves psi = [t - 1]. Here: psi(P) + psi(Q) = psi(P + Q). */
static void test_psi_is_a_homomorphism(void **state) {
    const struct setting *s = *state;
    if (s->group != s->curve->g2) {
        return;
    }
    for (int i = 0; i < ROUNDS / 4; i++) {
        unsigned char p[PM_G2_BYTES_MAX], q[PM_G2_BYTES_MAX], sum[PM_G2_BYTES_MAX];
        struct pm_group_point t, u;
        random_curve_point(s, p);
        random_curve_point(s, q);
        s->group->from_affine(&t, p);
        s->group->add_affine(&t, &t, q);
        s->group->to_affine(sum, &t);
        s->curve_probe->psi(p, p);
        s->curve_probe->psi(q, q);
        s->curve_probe->psi(sum, sum);
        assert_int_equal(s->group->check(p, PM_POINT_CHECK_CURVE), PM_POINT_GOOD);
        s->group->from_affine(&t, p);
        s->group->add_affine(&t, &t, q);
        s->group->from_affine(&u, sum);
        assert_true(s->group->eq(&t, &u));
    }
}

/* On G2, psi multiplies by p mod r. */
static void test_psi_is_p_on_the_subgroup(void **state) {
    const struct setting *s = *state;
    if (s->group != s->curve->g2) {
        return;
    }
    for (int i = 0; i < ROUNDS / 4; i++) {
        unsigned char p[PM_G2_BYTES_MAX], image[PM_G2_BYTES_MAX];
        struct pm_group_point t, u;
        random_subgroup_point(s, p);
        s->curve_probe->psi(image, p);
        s->group->from_affine(&t, p);
        s->group->mul(&t, &t, s->curve->fp->modulus, s->curve->fp->limbs);
        s->group->from_affine(&u, image);
        assert_true(s->group->eq(&t, &u));
    }
}

static int run(struct setting *s) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_inside, s),
        cmocka_unit_test_prestate(test_whole_curve, s),
        cmocka_unit_test_prestate(test_small_subgroups, s),
        cmocka_unit_test_prestate(test_psi_is_a_homomorphism, s),
        cmocka_unit_test_prestate(test_psi_is_p_on_the_subgroup, s),
    };
    return cmocka_run_group_tests_name(s->group->name, tests, NULL, NULL);
}

int main(void) {
    return for_every_group(run) != 0;
}
