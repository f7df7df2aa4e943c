/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multi-scalar multiplication on a curve of 7873 points, against a table of all multiples of the
 * generator: all scalars for one point, and all combinations of a sample of scalars and points for
 * two and three. Equal, opposite and infinite points are everywhere in it. */
#include "base/limits.h"
#include "msm/msm.h"
#define PM_INSTANCE_TINY 1
#define PM_INSTANCE_CURVE tiny
#define PM_INSTANCE_BODY portable
#include "curve/curve_instance.inc"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

extern const struct pm_msm pm_msm_tiny_portable;
static const struct pm_msm *const msm = &pm_msm_tiny_portable;

#define ORDER 7873

static g1_affine multiples_g1[ORDER]; /* [m] = m * generator; [0] is infinity */
static g2_affine multiples_g2[ORDER];

static void *scratch;

static int make_tables(void **state) {
    (void)state;
    assert_int_equal(fr_modulus[0], ORDER);
    g1_affine one_g1;
    g2_affine one_g2;
    g1_jac p;
    g2_jac q;
    g1_generator(&one_g1);
    g2_generator(&one_g2);
    g1_jac_set_inf(&p);
    g2_jac_set_inf(&q);
    for (size_t m = 0; m < ORDER; m++) {
        g1_jac_to_affine(&multiples_g1[m], &p);
        g2_jac_to_affine(&multiples_g2[m], &q);
        g1_jac_add_affine(&p, &p, &one_g1);
        g2_jac_add_affine(&q, &q, &one_g2);
    }
    assert_true(g1_jac_is_inf(&p)); /* the order is the order */
    assert_true(g2_jac_is_inf(&q));
    uint64_t n_bytes = 0;
    for (uint64_t n = 0; n <= 300; n++) {
        for (uint32_t threads = 1; threads <= 3; threads++) {
            for (int group = PM_MSM_G1; group <= PM_MSM_G2; group++) {
                const uint64_t need = msm->bytes((enum pm_msm_group)group, n, threads);
                n_bytes = need > n_bytes ? need : n_bytes;
            }
        }
    }
    return posix_memalign(&scratch, PM_BUFFER_ALIGNMENT, n_bytes);
}

static int free_tables(void **state) {
    (void)state;
    free(scratch);
    return 0;
}

/* The sum of k[i] * (m[i] * generator) in both groups, by run() and by reference(). */
static void check(const uint64_t *k, const uint64_t *m, size_t n, struct pm_team *team) {
    g1_affine points_g1[300] = {0}, affine_g1;
    g2_affine points_g2[300] = {0}, affine_g2;
    g1_jac result_g1;
    g2_jac result_g2;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        points_g1[i] = multiples_g1[m[i]];
        points_g2[i] = multiples_g2[m[i]];
        sum = (sum + k[i] * m[i]) % ORDER;
    }
    assert_int_equal(msm->run(PM_MSM_G1, points_g1, k, n, team, scratch, NULL, &result_g1, NULL),
                     PM_OK);
    g1_jac_to_affine(&affine_g1, &result_g1);
    assert_true(g1_affine_eq(&affine_g1, &multiples_g1[sum]));
    assert_int_equal(msm->run(PM_MSM_G2, points_g2, k, n, team, scratch, NULL, &result_g2, NULL),
                     PM_OK);
    g2_jac_to_affine(&affine_g2, &result_g2);
    assert_true(g2_affine_eq(&affine_g2, &multiples_g2[sum]));
    if (n <= 1) {
        msm->reference(PM_MSM_G1, points_g1, k, n, &result_g1);
        g1_jac_to_affine(&affine_g1, &result_g1);
        assert_true(g1_affine_eq(&affine_g1, &multiples_g1[sum]));
    }
}

static void test_no_point_is_infinity(void **state) {
    (void)state;
    check(NULL, NULL, 0, NULL);
}

static void test_every_scalar(void **state) {
    (void)state;
    static const uint64_t points[] = {0, 1, 5, ORDER - 1};
    for (uint64_t k = 0; k < ORDER; k++) {
        for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
            check(&k, &points[i], 1, NULL);
        }
    }
}

static void test_every_point(void **state) {
    (void)state;
    for (uint64_t m = 0; m < ORDER; m++) {
        const uint64_t k[] = {m % 97, 3, ORDER - 1 - m}, points[] = {m, m, ORDER - 1 - m};
        check(k, points, 3, NULL);
    }
}

static void test_all_pairs_and_triples_of_a_sample(void **state) {
    (void)state;
    static const uint64_t scalars[] = {0, 1, 2, 63, 64, 4096, ORDER - 1};
    static const uint64_t points[] = {0, 1, 2, ORDER - 1, ORDER - 2};
    enum { N_SCALARS = 7, N_POINTS = 5, N_PAIRS = N_SCALARS * N_POINTS };
    for (size_t a = 0; a < N_PAIRS; a++) {
        for (size_t b = 0; b < N_PAIRS; b++) {
            for (size_t c = 0; c <= N_PAIRS; c += a % 5 == 0 ? 1 : 6) {
                const uint64_t k[] = {scalars[a / N_POINTS], scalars[b / N_POINTS],
                                      scalars[c / N_POINTS % N_SCALARS]};
                const uint64_t m[] = {points[a % N_POINTS], points[b % N_POINTS],
                                      points[c % N_POINTS]};
                check(k, m, c == N_PAIRS ? 2 : 3, NULL);
            }
        }
    }
}

/* Hundreds of points in a group this small collide in the buckets all the time. */
static void test_crowds_with_teams(void **state) {
    (void)state;
    uint64_t k[300], m[300], seed = 1;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct pm_team *team = NULL;
        assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
        for (int round = 0; round < 200; round++) {
            for (int i = 0; i < 300; i++) {
                seed = seed * 6364136223846793005 + 1442695040888963407;
                k[i] = (seed >> 33) % (round % 4 == 0 ? 2 : ORDER);
                m[i] = (seed >> 20) % (round % 3 == 0 ? 3 : ORDER);
            }
            check(k, m, (size_t)(round + 101), team);
        }
        pm_team_destroy(team);
    }
}

/* So many digits that a window is sorted in several ranges, on top of one another. */
static void check_many(uint64_t n, uint32_t below, uint32_t threads) {
    const uint64_t n_bytes = msm->bytes(PM_MSM_G1, n, threads);
    g1_affine *points = calloc(n, sizeof *points), affine;
    uint64_t *k = calloc(n, sizeof *k), seed = n, sum = 0;
    void *memory = NULL;
    struct pm_team *team = NULL;
    g1_jac result;
    assert_int_equal(posix_memalign(&memory, PM_BUFFER_ALIGNMENT, n_bytes), 0);
    assert_true(points != NULL && k != NULL);
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        k[i] = (seed >> 33) % below;
        const uint64_t m = (seed >> 20) % ORDER;
        points[i] = multiples_g1[m];
        sum = (sum + k[i] * m) % ORDER;
    }
    assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
    assert_int_equal(msm->run(PM_MSM_G1, points, k, n, team, memory, NULL, &result, NULL), PM_OK);
    g1_jac_to_affine(&affine, &result);
    assert_true(g1_affine_eq(&affine, &multiples_g1[sum]));
    pm_team_destroy(team);
    free(memory);
    free(points);
    free(k);
}

static void test_more_points_than_are_sorted_at_once(void **state) {
    (void)state;
    check_many(600001, ORDER, 1);
    check_many(530000, ORDER, 2);
    check_many(300000, 40, 2);
    check_many(100000, 2, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_point_is_infinity),
        cmocka_unit_test(test_every_scalar),
        cmocka_unit_test(test_every_point),
        cmocka_unit_test(test_all_pairs_and_triples_of_a_sample),
        cmocka_unit_test(test_crowds_with_teams),
        cmocka_unit_test(test_more_points_than_are_sorted_at_once),
    };
    return cmocka_run_group_tests(tests, make_tables, free_tables);
}
