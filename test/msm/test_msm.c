/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Multi-scalar multiplication in G1 and G2 of both curves, in every body that this CPU runs.
 *
 * Two oracles: the library's reference (double-and-add), and arithmetic in the exponent. Every
 * point used is a known multiple m_i of the generator, so the sum is (sum of k_i m_i) * generator,
 * which is cheap at any size and shares nothing with the method under test.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "curve/curve.h"
#include "msm/msm.h"
#include "support/seeded_random.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N_MAX 5000
#define WORDS 4

static struct seeded_random entropy;

enum scalar_mix {
    SCALARS_ZERO,
    SCALARS_ONE,
    SCALARS_PLUS_MINUS_ONE,
    SCALARS_MINUS_ONE,
    SCALARS_EQUAL,
    SCALARS_MOSTLY_BITS,
    SCALARS_SMALL,
    SCALARS_UNIFORM,
    SCALARS_POWERS_OF_TWO,
    SCALARS_EDGY, /* bytes 00, 7f, 80, ff: digits at the ends of their range */
    SCALAR_MIX_COUNT
};

enum point_mix {
    POINTS_DISTINCT,
    POINTS_SOME_INFINITE,
    POINTS_EQUAL,
    POINTS_ALTERNATING, /* P, -P, P, -P */
    POINTS_INFINITE,
    POINT_MIX_COUNT
};

/* Both groups of one curve: points[j] = (j + 1) * generator, and -P behind them. */
struct pool {
    const struct pm_group *group;
    unsigned char *points, *negatives;
};

struct instance {
    const struct pm_msm *msm;
    const struct pm_curve *curve;
    const struct pm_group *group;
    enum pm_msm_group which;
    const struct pool *pool;
};

static struct pool pools[3][2]; /* by curve and group */

static void fill_pool(struct pool *pool, const struct pm_group *group) {
    struct pm_group_point p, minus_p;
    *pool = (struct pool){.group = group,
                          .points = malloc((size_t)N_MAX * group->affine_bytes),
                          .negatives = malloc((size_t)N_MAX * group->affine_bytes)};
    assert_non_null(pool->points);
    assert_non_null(pool->negatives);
    group->from_affine(&p, group->generator);
    for (size_t j = 0; j < N_MAX; j++) {
        group->to_affine(pool->points + j * group->affine_bytes, &p);
        group->neg(&minus_p, &p);
        group->to_affine(pool->negatives + j * group->affine_bytes, &minus_p);
        group->add_affine(&p, &p, group->generator);
    }
}

static int make_pools(void **state) {
    (void)state;
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; id++) {
        const struct pm_curve *curve = pm_curve_get((pm_curve_id)id, pm_cpu_best_body());
        fill_pool(&pools[id][PM_MSM_G1], curve->g1);
        fill_pool(&pools[id][PM_MSM_G2], curve->g2);
    }
    return 0;
}

static int free_pools(void **state) {
    (void)state;
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; id++) {
        for (int which = PM_MSM_G1; which <= PM_MSM_G2; which++) {
            free(pools[id][which].points);
            free(pools[id][which].negatives);
        }
    }
    return 0;
}

static void for_each_instance(void (*check)(const struct instance *instance)) {
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; id++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            const struct pm_msm *msm = pm_msm_get((pm_curve_id)id, (enum pm_body)body);
            for (int which = PM_MSM_G1; msm != NULL && which <= PM_MSM_G2; which++) {
                const struct pm_curve *curve = pm_curve_get((pm_curve_id)id, (enum pm_body)body);
                const struct instance instance = {.msm = msm,
                                                  .curve = curve,
                                                  .group =
                                                      which == PM_MSM_G1 ? curve->g1 : curve->g2,
                                                  .which = (enum pm_msm_group)which,
                                                  .pool = &pools[id][which]};
                check(&instance);
            }
        }
    }
}

/* ---------------------------------------------------------------- inputs */

static void random_canonical(const struct pm_field *fr, uint64_t k[WORDS]) {
    uint64_t wide[8], t[WORDS];
    for (int i = 0; i < 8; i++) {
        wide[i] = seeded_random_u64(&entropy);
    }
    fr->reduce_wide(t, wide);
    fr->from_mont(k, t, 1);
}

static void edgy_canonical(const struct pm_field *fr, uint64_t k[WORDS]) {
    static const unsigned char bytes[] = {0x00, 0x7f, 0x80, 0xff};
    unsigned char le[PM_FR_BYTES];
    for (size_t i = 0; i < sizeof le; i++) {
        le[i] = bytes[seeded_random_below(&entropy, 4)];
    }
    memcpy(k, le, sizeof le);
    while (!fr->is_canonical(k)) {
        k[WORDS - 1] >>= 1;
    }
}

static void make_scalar(const struct pm_field *fr, enum scalar_mix mix, uint64_t i,
                        uint64_t k[WORDS]) {
    memset(k, 0, PM_FR_BYTES);
    switch (mix) {
    case SCALARS_ZERO:
        break;
    case SCALARS_ONE:
        k[0] = 1;
        break;
    case SCALARS_PLUS_MINUS_ONE:
        if (seeded_random_below(&entropy, 2) == 0) {
            k[0] = 1;
            break;
        }
        __attribute__((fallthrough));
    case SCALARS_MINUS_ONE:
        memcpy(k, fr->modulus, PM_FR_BYTES);
        k[0]--; /* the order is odd */
        break;
    case SCALARS_EQUAL:
        for (int j = 0; j < WORDS; j++) {
            k[j] = UINT64_C(0x0123456789abcdef) * (uint64_t)(j + 1) >> (j == 3 ? 4 : 0);
        }
        break;
    case SCALARS_MOSTLY_BITS:
        if (seeded_random_below(&entropy, 10) != 0) {
            k[0] = seeded_random_below(&entropy, 2);
        } else {
            random_canonical(fr, k);
        }
        break;
    case SCALARS_SMALL:
        k[0] = seeded_random_below(&entropy, 1 << 16);
        break;
    case SCALARS_UNIFORM:
    case SCALAR_MIX_COUNT:
        random_canonical(fr, k);
        break;
    case SCALARS_POWERS_OF_TWO:
        k[i % (fr->bits - 1) / 64] = UINT64_C(1) << (i % (fr->bits - 1) % 64);
        break;
    case SCALARS_EDGY:
        edgy_canonical(fr, k);
        break;
    }
}

/* One multiplication and its answer. points and scalars lie at odd addresses. */
struct problem {
    uint64_t n;
    unsigned char *points_memory, *points, *scalars_memory, *scalars;
    struct pm_group_point expected;
};

/* Point i: its bytes, and m with point = m * generator (Montgomery). */
static void make_point(const struct instance *instance, enum point_mix mix, uint64_t i,
                       unsigned char *bytes, uint64_t m[WORDS]) {
    const struct pm_field *fr = instance->curve->fr;
    const size_t affine_bytes = instance->group->affine_bytes;
    const bool infinite = mix == POINTS_INFINITE ||
                          (mix == POINTS_SOME_INFINITE && seeded_random_below(&entropy, 3) == 0);
    const uint64_t j = mix == POINTS_EQUAL || mix == POINTS_ALTERNATING ? 6 : i % N_MAX;
    const uint64_t canonical[WORDS] = {infinite ? 0 : j + 1};
    const bool negative = mix == POINTS_ALTERNATING && i % 2 == 1;
    fr->to_mont(m, canonical, 1);
    if (infinite) {
        memset(bytes, 0, affine_bytes);
        return;
    }
    if (negative) {
        fr->neg(m, m);
    }
    memcpy(bytes,
           (negative ? instance->pool->negatives : instance->pool->points) + j * affine_bytes,
           affine_bytes);
}

static struct problem make_problem(const struct instance *instance, uint64_t n,
                                   enum scalar_mix scalars, enum point_mix points) {
    const struct pm_field *fr = instance->curve->fr;
    const size_t affine_bytes = instance->group->affine_bytes;
    struct problem problem = {.n = n};
    problem.points_memory = malloc(n * affine_bytes + 1);
    problem.points = problem.points_memory + 1;
    problem.scalars_memory = malloc(n * PM_FR_BYTES + 3);
    problem.scalars = problem.scalars_memory + 3;
    assert_non_null(problem.points_memory);
    assert_non_null(problem.scalars_memory);
    uint64_t sum[WORDS] = {0}, canonical[WORDS];
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k[WORDS], m[WORDS], t[WORDS];
        make_point(instance, points, i, problem.points + i * affine_bytes, m);
        make_scalar(fr, scalars, i, k);
        assert_true(fr->is_canonical(k));
        memcpy(problem.scalars + i * PM_FR_BYTES, k, PM_FR_BYTES);
        fr->to_mont(t, k, 1);
        fr->mul(t, t, m);
        fr->add(sum, sum, t);
    }
    fr->from_mont(canonical, sum, 1);
    instance->group->from_affine(&problem.expected, instance->group->generator);
    instance->group->mul(&problem.expected, &problem.expected, canonical, WORDS);
    return problem;
}

static void free_problem(struct problem *problem) {
    free(problem->points_memory);
    free(problem->scalars_memory);
}

/* Runs with scratch of exactly bytes() bytes, full of rubbish, and a guard behind it. */
static pm_status run_guarded(const struct instance *instance, const struct problem *problem,
                             struct pm_team *team, const pm_control *control,
                             struct pm_group_point *result) {
    const uint64_t n_bytes =
        instance->msm->bytes(instance->which, problem->n, pm_team_threads(team));
    unsigned char guard[PM_BUFFER_ALIGNMENT];
    void *memory = NULL;
    memset(guard, 0xa5, sizeof guard);
    assert_int_equal(posix_memalign(&memory, PM_BUFFER_ALIGNMENT, n_bytes + sizeof guard), 0);
    memset(memory, 0x5c, n_bytes);
    memcpy((unsigned char *)memory + n_bytes, guard, sizeof guard);
    const pm_status status = instance->msm->run(instance->which, problem->points, problem->scalars,
                                                problem->n, team, memory, control, result, NULL);
    assert_memory_equal((unsigned char *)memory + n_bytes, guard, sizeof guard);
    free(memory);
    return status;
}

/* The same without a guard, so that a sanitizer sees the first byte too far. */
static void check_exact(const struct instance *instance, const struct problem *problem,
                        struct pm_team *team) {
    const uint64_t n_bytes =
        instance->msm->bytes(instance->which, problem->n, pm_team_threads(team));
    struct pm_group_point result;
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, PM_BUFFER_ALIGNMENT, n_bytes), 0);
    assert_int_equal(instance->msm->run(instance->which, problem->points, problem->scalars,
                                        problem->n, team, memory, NULL, &result, NULL),
                     PM_OK);
    assert_true(instance->group->eq(&result, &problem->expected));
    free(memory);
}

static void check_run(const struct instance *instance, const struct problem *problem,
                      struct pm_team *team) {
    struct pm_group_point result;
    assert_int_equal(run_guarded(instance, problem, team, NULL, &result), PM_OK);
    assert_true(instance->group->eq(&result, &problem->expected));
}

static struct pm_team *new_team(uint32_t threads) {
    struct pm_team *team = NULL;
    assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
    return team;
}

/* ---------------------------------------------------------------- tests */

static void test_table_of_each_body(void **state) {
    (void)state;
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; id++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            const struct pm_msm *msm = pm_msm_get((pm_curve_id)id, (enum pm_body)body);
            if (!pm_cpu_has_body((enum pm_body)body)) {
                assert_null(msm);
                continue;
            }
            assert_non_null(msm);
            assert_int_equal(msm->curve, id);
            assert_string_equal(msm->body, pm_body_name((enum pm_body)body));
        }
    }
    assert_null(pm_msm_get(PM_CURVE_NONE, PM_BODY_PORTABLE));
}

/* The two oracles against each other, over all mixes, and the method against both. */
static void check_reference(const struct instance *instance) {
    for (int scalars = 0; scalars < SCALAR_MIX_COUNT; scalars++) {
        for (int points = 0; points < POINT_MIX_COUNT; points++) {
            const uint64_t n = (uint64_t)(scalars + 2 * points) % 4;
            struct problem problem =
                make_problem(instance, n, (enum scalar_mix)scalars, (enum point_mix)points);
            struct pm_group_point result;
            instance->msm->reference(instance->which, problem.points, problem.scalars, n, &result);
            assert_true(instance->group->eq(&result, &problem.expected));
            check_run(instance, &problem, NULL);
            free_problem(&problem);
        }
    }
    struct problem problem = make_problem(instance, 100, SCALARS_UNIFORM, POINTS_SOME_INFINITE);
    struct pm_group_point result;
    instance->msm->reference(instance->which, problem.points, problem.scalars, 100, &result);
    assert_true(instance->group->eq(&result, &problem.expected));
    check_run(instance, &problem, NULL);
    free_problem(&problem);
}

static void test_reference_and_exponents_agree(void **state) {
    (void)state;
    for_each_instance(check_reference);
}

static void check_every_small_n(const struct instance *instance) {
    for (uint64_t n = 0; n <= 40; n++) {
        for (int scalars = (int)(n % 3); scalars < SCALAR_MIX_COUNT; scalars += 3) {
            struct problem problem =
                make_problem(instance, n, (enum scalar_mix)scalars,
                             (enum point_mix)((n + (uint64_t)scalars) % POINT_MIX_COUNT));
            check_run(instance, &problem, NULL);
            free_problem(&problem);
        }
    }
}

static void test_every_small_n(void **state) {
    (void)state;
    for_each_instance(check_every_small_n);
}

static void check_all_mixes(const struct instance *instance) {
    static const uint64_t sizes[] = {60, 1000};
    struct pm_team *team = new_team(2);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int scalars = 0; scalars < SCALAR_MIX_COUNT; scalars++) {
            for (int points = 0; points < POINT_MIX_COUNT; points++) {
                if (s > 0 && (scalars + points) % 5 != 0) {
                    continue; /* a fifth of the pairs at the larger size */
                }
                struct problem problem = make_problem(instance, sizes[s], (enum scalar_mix)scalars,
                                                      (enum point_mix)points);
                check_run(instance, &problem, team);
                free_problem(&problem);
            }
        }
    }
    pm_team_destroy(team);
}

static void test_all_mixes_of_scalars_and_points(void **state) {
    (void)state;
    for_each_instance(check_all_mixes);
}

static void check_large(const struct instance *instance) {
    static const enum scalar_mix mixes[] = {SCALARS_UNIFORM, SCALARS_MOSTLY_BITS, SCALARS_ONE,
                                            SCALARS_EDGY};
    const size_t n_mixes = instance->which == PM_MSM_G1 ? 4 : 2; /* G2 is three times as slow */
    for (size_t i = 0; i < n_mixes; i++) {
        struct problem problem = make_problem(instance, N_MAX, mixes[i],
                                              i % 2 == 0 ? POINTS_DISTINCT : POINTS_SOME_INFINITE);
        check_run(instance, &problem, NULL);
        free_problem(&problem);
    }
}

static void test_large_n(void **state) {
    (void)state;
    for_each_instance(check_large);
}

/* 2^k P alone for every k below the order's top bit. */
static void check_single_bits(const struct instance *instance) {
    const struct pm_field *fr = instance->curve->fr;
    struct pm_group_point power;
    struct problem problem = {.n = 1};
    uint64_t k[WORDS];
    problem.points = instance->pool->points + instance->group->affine_bytes * 9;
    problem.scalars = (unsigned char *)k;
    instance->group->from_affine(&power, problem.points);
    for (uint32_t bit = 0; bit < fr->bits; bit++) {
        memset(k, 0, sizeof k);
        k[bit / 64] = UINT64_C(1) << (bit % 64);
        if (!fr->is_canonical(k)) {
            break;
        }
        problem.expected = power;
        check_exact(instance, &problem, NULL);
        instance->group->dbl(&power, &power);
    }
}

static void test_every_single_bit_scalar(void **state) {
    (void)state;
    for_each_instance(check_single_bits);
}

static void check_threads(const struct instance *instance) {
    static const uint32_t threads[] = {1, 2, 3, 7, 64};
    static const enum scalar_mix mixes[] = {SCALARS_UNIFORM, SCALARS_ONE, SCALARS_MOSTLY_BITS,
                                            SCALARS_EQUAL};
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        struct problem problem = make_problem(instance, 500, mixes[i], POINTS_SOME_INFINITE);
        struct problem few = make_problem(instance, 5, mixes[i], POINTS_DISTINCT);
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            struct pm_team *team = new_team(threads[t]);
            check_run(instance, &problem, team);
            check_run(instance, &few, team);
            check_exact(instance, &few, team);
            pm_team_destroy(team);
        }
        free_problem(&problem);
        free_problem(&few);
    }
}

static void test_any_number_of_threads_gives_the_same(void **state) {
    (void)state;
    for_each_instance(check_threads);
}

/* msm(s k + l) = s msm(k) + msm(l), with scalars reduced modulo the order. */
static void check_linearity(const struct instance *instance) {
    const struct pm_field *fr = instance->curve->fr;
    const uint64_t n = 300;
    struct problem k = make_problem(instance, n, SCALARS_UNIFORM, POINTS_DISTINCT);
    struct problem l = make_problem(instance, n, SCALARS_EDGY, POINTS_DISTINCT);
    struct problem sum = make_problem(instance, n, SCALARS_ZERO, POINTS_DISTINCT);
    uint64_t s[WORDS], s_mont[WORDS];
    random_canonical(fr, s);
    fr->to_mont(s_mont, s, 1);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x[WORDS], y[WORDS];
        fr->to_mont(x, k.scalars + i * PM_FR_BYTES, 1);
        fr->to_mont(y, l.scalars + i * PM_FR_BYTES, 1);
        fr->mul(x, x, s_mont);
        fr->add(x, x, y);
        fr->from_mont(sum.scalars + i * PM_FR_BYTES, x, 1);
    }
    struct pm_group_point of_k, of_l;
    assert_int_equal(run_guarded(instance, &k, NULL, NULL, &of_k), PM_OK);
    assert_int_equal(run_guarded(instance, &l, NULL, NULL, &of_l), PM_OK);
    instance->group->mul(&of_k, &of_k, s, WORDS);
    instance->group->add(&sum.expected, &of_k, &of_l);
    check_run(instance, &sum, NULL);
    free_problem(&k);
    free_problem(&l);
    free_problem(&sum);
}

static void test_linearity(void **state) {
    (void)state;
    for_each_instance(check_linearity);
}

/* ---------------------------------------------------------------- densities */

enum density_mix {
    DENSITY_EMPTY,
    DENSITY_FULL,
    DENSITY_FIRST,
    DENSITY_LAST,
    DENSITY_RANDOM,
    DENSITY_SPARSE,
    DENSITY_WORDS, /* whole words and none, in turn */
    DENSITY_MIX_COUNT
};

static bool is_dense(enum density_mix mix, uint64_t i, uint64_t n) {
    switch (mix) {
    case DENSITY_EMPTY:
        return false;
    case DENSITY_FULL:
    case DENSITY_MIX_COUNT:
        return true;
    case DENSITY_FIRST:
        return i == 0;
    case DENSITY_LAST:
        return i + 1 == n;
    case DENSITY_RANDOM:
        return seeded_random_below(&entropy, 2) == 0;
    case DENSITY_SPARSE:
        return seeded_random_below(&entropy, 50) == 0;
    case DENSITY_WORDS:
        return i / 64 % 2 == 1;
    }
    return false;
}

/* A problem with a density, both ways, and the same without one: scalars 0 where no bit is set. */
struct thinned {
    struct problem plain;
    uint64_t *density;
    uint32_t *rank;
    unsigned char *sparse, *compact; /* points; what no bit speaks for is on no curve */
    struct pm_msm_input in_place, packed;
};

static struct thinned thin(const struct instance *instance, uint64_t n, enum scalar_mix scalars,
                           enum point_mix points, enum density_mix mix) {
    const size_t affine_bytes = instance->group->affine_bytes;
    struct thinned thinned = {.plain = make_problem(instance, n, scalars, points)};
    thinned.density = calloc(n / 64 + 1, sizeof(uint64_t));
    thinned.rank = malloc(pm_msm_rank_bytes(n));
    thinned.sparse = malloc(n * affine_bytes + 1);
    thinned.compact = malloc(n * affine_bytes + 1);
    assert_true(thinned.density != NULL && thinned.rank != NULL);
    assert_true(thinned.sparse != NULL && thinned.compact != NULL);
    memset(thinned.sparse, 0x11, n * affine_bytes + 1);
    uint64_t n_points = 0;
    struct problem *plain = &thinned.plain;
    unsigned char *kept = malloc(n * PM_FR_BYTES + 1); /* the scalars that the density drops, too */
    assert_non_null(kept);
    memcpy(kept, plain->scalars, n * PM_FR_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        if (!is_dense(mix, i, n)) {
            memset(plain->scalars + i * PM_FR_BYTES, 0, PM_FR_BYTES);
            continue;
        }
        thinned.density[i / 64] |= UINT64_C(1) << (i % 64);
        const unsigned char *point = plain->points + i * affine_bytes;
        memcpy(thinned.sparse + 1 + i * affine_bytes, point, affine_bytes);
        memcpy(thinned.compact + 1 + n_points++ * affine_bytes, point, affine_bytes);
    }
    /* the oracle in the fastest body, since most of these tests' time is its */
    pm_msm_get(instance->msm->curve, pm_cpu_best_body())
        ->reference(instance->which, plain->points, plain->scalars, n, &plain->expected);
    memcpy(plain->scalars, kept, n * PM_FR_BYTES);
    free(kept);
    thinned.density[n / 64] |= UINT64_MAX << (n % 64); /* beyond the scalars: ignored */
    assert_int_equal(pm_msm_rank_fill(thinned.density, n, thinned.rank), n_points);
    thinned.in_place = (struct pm_msm_input){.points = thinned.sparse + 1,
                                             .n_points = n,
                                             .scalars = plain->scalars,
                                             .n_scalars = n,
                                             .density = thinned.density};
    thinned.packed = thinned.in_place;
    thinned.packed.points = thinned.compact + 1;
    thinned.packed.n_points = n_points;
    thinned.packed.rank = thinned.rank;
    return thinned;
}

static void free_thinned(struct thinned *thinned) {
    free_problem(&thinned->plain);
    free(thinned->density);
    free(thinned->rank);
    free(thinned->sparse);
    free(thinned->compact);
}

static pm_status run_input(const struct instance *instance, const struct pm_msm_input *input,
                           struct pm_team *team, struct pm_group_point *result) {
    const uint64_t n_bytes =
        instance->msm->bytes(instance->which, input->n_scalars, pm_team_threads(team));
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, PM_BUFFER_ALIGNMENT, n_bytes), 0);
    memset(memory, 0x5c, n_bytes);
    const pm_status status =
        instance->msm->run_input(instance->which, input, team, memory, NULL, result, NULL);
    free(memory);
    return status;
}

static void check_thinned(const struct instance *instance, const struct thinned *thinned,
                          struct pm_team *team) {
    const struct pm_msm_input *const inputs[] = {&thinned->in_place, &thinned->packed};
    for (size_t i = 0; i < 2; i++) {
        struct pm_group_point result;
        assert_int_equal(run_input(instance, inputs[i], team, &result), PM_OK);
        assert_true(instance->group->eq(&result, &thinned->plain.expected));
    }
}

static void check_densities(const struct instance *instance) {
    static const uint64_t sizes[] = {1, 63, 64, 65, 257};
    struct pm_team *team = new_team(3);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int mix = 0; mix < DENSITY_MIX_COUNT; mix++) {
            const bool is_uniform = (s + (size_t)mix) % 2 == 0;
            struct thinned thinned =
                thin(instance, sizes[s], is_uniform ? SCALARS_UNIFORM : SCALARS_MOSTLY_BITS,
                     is_uniform ? POINTS_DISTINCT : POINTS_SOME_INFINITE, (enum density_mix)mix);
            check_thinned(instance, &thinned, mix % 2 == 0 ? NULL : team);
            free_thinned(&thinned);
        }
    }
    pm_team_destroy(team);
}

static void test_every_edge_of_a_density(void **state) {
    (void)state;
    for_each_instance(check_densities);
}

static void check_density_and_threads(const struct instance *instance) {
    static const uint32_t threads[] = {1, 2, 7, 64};
    struct thinned thinned =
        thin(instance, 600, SCALARS_MOSTLY_BITS, POINTS_DISTINCT, DENSITY_RANDOM);
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        struct pm_team *team = new_team(threads[t]);
        check_thinned(instance, &thinned, team);
        pm_team_destroy(team);
    }
    free_thinned(&thinned);
}

static void test_densities_with_teams(void **state) {
    (void)state;
    for_each_instance(check_density_and_threads);
}

static void check_wrong_number_of_points(const struct instance *instance) {
    struct thinned thinned = thin(instance, 300, SCALARS_UNIFORM, POINTS_DISTINCT, DENSITY_RANDOM);
    struct pm_group_point result;
    thinned.packed.n_points++;
    assert_int_equal(run_input(instance, &thinned.packed, NULL, &result), PM_INVALID_ARGUMENT);
    thinned.packed.n_points -= 2;
    assert_int_equal(run_input(instance, &thinned.packed, NULL, &result), PM_INVALID_ARGUMENT);
    thinned.in_place.n_points--;
    assert_int_equal(run_input(instance, &thinned.in_place, NULL, &result), PM_INVALID_ARGUMENT);
    thinned.in_place.density = NULL;
    assert_int_equal(run_input(instance, &thinned.in_place, NULL, &result), PM_INVALID_ARGUMENT);
    free_thinned(&thinned);
}

static void test_wrong_numbers_of_points_are_refused(void **state) {
    (void)state;
    for_each_instance(check_wrong_number_of_points);
}

/* ---------------------------------------------------------------- control */

static void check_control(const struct instance *instance) {
    static const volatile int cancelled = 1;
    pm_control control = {.struct_bytes = sizeof control, .cancel = &cancelled};
    struct problem problem = make_problem(instance, 500, SCALARS_UNIFORM, POINTS_DISTINCT);
    struct pm_team *team = new_team(2);
    struct pm_group_point result, untouched;
    memset(&result, 0x33, sizeof result);
    untouched = result;
    assert_int_equal(run_guarded(instance, &problem, team, &control, &result), PM_CANCELLED);
    assert_memory_equal(&result, &untouched, sizeof result);
    control.cancel = NULL;
    control.deadline_ns = 1;
    assert_int_equal(run_guarded(instance, &problem, NULL, &control, &result), PM_DEADLINE);
    assert_memory_equal(&result, &untouched, sizeof result);
    control.deadline_ns = pm_clock_now_ns() + UINT64_C(600000000000);
    assert_int_equal(run_guarded(instance, &problem, team, &control, &result), PM_OK);
    assert_true(instance->group->eq(&result, &problem.expected));
    pm_team_destroy(team);
    free_problem(&problem);
}

static void test_control_is_honoured(void **state) {
    (void)state;
    for_each_instance(check_control);
}

static void *cancel_soon(void *argument) {
    (void)usleep(20000);
    __atomic_store_n((int *)argument, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* The flag is raised while multiplications run one after the other; one of them must answer. */
static void check_cancel_in_flight(const struct instance *instance) {
    int flag = 0;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &flag};
    struct problem problem = make_problem(instance, 2000, SCALARS_UNIFORM, POINTS_DISTINCT);
    struct pm_team *team = new_team(2);
    struct pm_group_point result;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &flag), 0);
    pm_status status = PM_OK;
    const uint64_t start_ns = pm_clock_now_ns();
    while (status == PM_OK && pm_clock_now_ns() - start_ns < UINT64_C(20000000000)) {
        status = run_guarded(instance, &problem, team, &control, &result);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, PM_CANCELLED);
    pm_team_destroy(team);
    free_problem(&problem);
}

static void test_cancel_reaches_a_running_multiplication(void **state) {
    (void)state;
    for_each_instance(check_cancel_in_flight);
}

/* ---------------------------------------------------------------- report D9 */

static uint64_t best_ns(const struct instance *instance, enum scalar_mix mix) {
    struct problem problem = make_problem(instance, N_MAX, mix, POINTS_DISTINCT);
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 3; round++) {
        const uint64_t start_ns = pm_clock_now_ns();
        check_run(instance, &problem, NULL);
        const uint64_t taken_ns = pm_clock_now_ns() - start_ns;
        best = taken_ns < best ? taken_ns : best;
    }
    free_problem(&problem);
    return best;
}

/* Field report D9: provers that take every scalar for uniform waste their time on witnesses that
 * are mostly bits, and stall when all points meet in one bucket. */
static void check_D9(const struct instance *instance) {
    const uint64_t uniform = best_ns(instance, SCALARS_UNIFORM);
    assert_true(best_ns(instance, SCALARS_MOSTLY_BITS) <= uniform);
    assert_true(best_ns(instance, SCALARS_ZERO) <= uniform / 4);
    assert_true(best_ns(instance, SCALARS_ONE) <= uniform / 2);
    assert_true(best_ns(instance, SCALARS_SMALL) <= uniform);
    assert_true(best_ns(instance, SCALARS_EQUAL) <= 2 * uniform); /* one giant bucket a window */
}

static void test_D9_bits_are_cheap_and_giant_buckets_harmless(void **state) {
    (void)state;
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BN254, pm_cpu_best_body());
    const struct instance instance = {.msm = pm_msm_get(PM_CURVE_BN254, pm_cpu_best_body()),
                                      .curve = curve,
                                      .group = curve->g1,
                                      .which = PM_MSM_G1,
                                      .pool = &pools[PM_CURVE_BN254][PM_MSM_G1]};
    check_D9(&instance);
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_of_each_body),
        cmocka_unit_test(test_reference_and_exponents_agree),
        cmocka_unit_test(test_every_small_n),
        cmocka_unit_test(test_all_mixes_of_scalars_and_points),
        cmocka_unit_test(test_large_n),
        cmocka_unit_test(test_every_single_bit_scalar),
        cmocka_unit_test(test_any_number_of_threads_gives_the_same),
        cmocka_unit_test(test_linearity),
        cmocka_unit_test(test_every_edge_of_a_density),
        cmocka_unit_test(test_densities_with_teams),
        cmocka_unit_test(test_wrong_numbers_of_points_are_refused),
        cmocka_unit_test(test_control_is_honoured),
        cmocka_unit_test(test_cancel_reaches_a_running_multiplication),
        cmocka_unit_test(test_D9_bits_are_cheap_and_giant_buckets_harmless),
    };
    return cmocka_run_group_tests(tests, make_pools, free_pools);
}
