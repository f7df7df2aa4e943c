/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm/sparse_sum.h"

#include "base/memory.h"
#include "curve/curve.h"
#include "groth16/column_sums.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N_POINTS = 40, N_VALUES = 64, N_COLUMNS = 150, N_TERMS = 3000 };

static struct seeded_random rng;

/* Points and values of every kind, and columns of 0 to many terms over them. */
struct material {
    const struct pm_curve *curve;
    const struct pm_group *group;
    enum pm_msm_group which;
    uint8_t points[PM_SPARSE_SOURCES][N_POINTS * PM_G2_BYTES_MAX + 1];
    uint8_t values[N_VALUES * PM_FR_BYTES + 4];
    struct pm_sparse_term terms[N_TERMS];
    uint64_t starts[N_COLUMNS + 1];
    struct pm_sparse_matrix matrix;
    uint8_t expected[N_COLUMNS * PM_G2_BYTES_MAX];
};

/* 0, 1, powers of two, a few bits, or any; half of them negated. Canonical. */
static void make_value(const struct pm_curve *curve, uint8_t *out) {
    uint64_t value[4] = {0};
    switch (seeded_random_below(&rng, 6)) {
    case 0:
        break;
    case 1:
        value[0] = 1;
        break;
    case 2:
        value[seeded_random_below(&rng, 3)] = UINT64_C(1) << seeded_random_below(&rng, 64);
        break;
    case 3:
        value[0] = seeded_random_u64(&rng) >> seeded_random_below(&rng, 64);
        break;
    default:
        seeded_random_bytes(&rng, value, sizeof value);
        break;
    }
    uint64_t element[4];
    curve->fr->to_mont(element, value, 1);
    if (seeded_random_below(&rng, 2) == 0) {
        curve->fr->neg(element, element);
    }
    curve->fr->from_mont(out, element, 1);
}

static void make_points(struct material *m, uint8_t *points) {
    struct pm_group_point p;
    uint64_t k[4];
    for (size_t i = 0; i < N_POINTS; ++i) {
        uint64_t affine[PM_G2_BYTES_MAX / 8] = {0};
        seeded_random_bytes(&rng, k, sizeof k);
        m->group->from_affine(&p, m->group->generator);
        m->group->mul(&p, &p, k, 4);
        if (i % 13 != 5) { /* infinity stays all zero */
            m->group->to_affine(affine, &p);
        }
        memcpy(points + i * m->group->affine_bytes, affine, m->group->affine_bytes);
    }
}

static void make(struct material *m) {
    for (size_t i = 0; i < PM_SPARSE_SOURCES; ++i) {
        make_points(m, m->points[i] + 1); /* off any alignment */
        m->matrix.points[i] = m->points[i] + 1;
    }
    for (size_t i = 0; i < N_VALUES; ++i) {
        make_value(m->curve, m->values + 4 + i * PM_FR_BYTES);
    }
    uint64_t n = 0;
    for (size_t i = 0; i < N_COLUMNS; ++i) {
        const uint64_t most = i == 7 ? 1200 : i == 30 ? 300 : 6; /* a wide one, a long one */
        const uint64_t count = seeded_random_below(&rng, most) + (i == 7 ? 600 : 0);
        m->starts[i] = n;
        for (uint64_t k = 0; k < count && n < N_TERMS; ++k, ++n) {
            const bool is_one = seeded_random_below(&rng, 8) == 0;
            m->terms[n] = (struct pm_sparse_term){
                .point = (uint32_t)seeded_random_below(&rng, N_POINTS),
                .value_low = (uint32_t)(1 + 8 * seeded_random_below(&rng, N_VALUES)),
                .value_high = is_one ? PM_SPARSE_VALUE_ONE : 0,
                .source = (uint16_t)seeded_random_below(&rng, PM_SPARSE_SOURCES)};
        }
    }
    m->starts[N_COLUMNS] = n;
    m->matrix.values = m->values;
    m->matrix.terms = m->terms;
    m->matrix.starts = m->starts;
}

/* By the definition, with the group's own operations. */
static void sum_by_definition(struct material *m) {
    for (size_t column = 0; column < N_COLUMNS; ++column) {
        struct pm_group_point sum, p;
        uint64_t affine[PM_G2_BYTES_MAX / 8];
        m->group->set_infinity(&sum);
        for (uint64_t at = m->starts[column]; at < m->starts[column + 1]; ++at) {
            const struct pm_sparse_term *term = &m->terms[at];
            uint64_t k[4];
            memcpy(k, pm_sparse_value(&m->matrix, term), sizeof k);
            m->group->from_affine(&p, m->matrix.points[term->source] +
                                          (uint64_t)term->point * m->group->affine_bytes);
            m->group->mul(&p, &p, k, 4);
            m->group->add(&sum, &sum, &p);
        }
        m->group->to_affine(affine, &sum);
        memcpy(m->expected + column * m->group->affine_bytes, affine, m->group->affine_bytes);
    }
}

static void compare_kernel(const struct material *m, const struct pm_sparse_sum *sparse) {
    static uint8_t found[N_COLUMNS * PM_G2_BYTES_MAX];
    void *scratch = NULL;
    assert_int_equal(pm_memory_alloc(NULL, "scratch", sparse->scratch_bytes(m->which),
                                     PM_MEMORY_PLAIN, &scratch, NULL),
                     PM_OK);
    for (uint64_t first = 0; first < N_COLUMNS; first += PM_SPARSE_COLUMNS_MAX) {
        const uint64_t left = N_COLUMNS - first;
        sparse->columns(m->which, &m->matrix, first,
                        left < PM_SPARSE_COLUMNS_MAX ? left : PM_SPARSE_COLUMNS_MAX, scratch,
                        found + first * m->group->affine_bytes);
    }
    assert_memory_equal(found, m->expected, N_COLUMNS * m->group->affine_bytes);
    pm_memory_free(scratch);
}

static void compare_query(const struct material *m, const struct pm_sparse_sum *sparse,
                          enum pm_body body, struct pm_team *team) {
    static uint8_t found[N_COLUMNS * PM_G2_BYTES_MAX + 1];
    struct pm_work work = {.phase = "test", .total = 1};
    const struct pm_column_sums sums = {.curve = m->curve,
                                        .sparse = sparse,
                                        .msm = pm_msm_get(m->curve->id, body),
                                        .team = team,
                                        .work = &work};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(
        pm_column_sums_run(&sums, m->which, &m->matrix, 3, N_COLUMNS - 3, found + 1, &error),
        PM_OK);
    assert_memory_equal(found + 1, m->expected + 3 * m->group->affine_bytes,
                        (N_COLUMNS - 3) * m->group->affine_bytes);
}

static void sums_are_those_of_the_definition(void **state) {
    (void)state;
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    static struct material m;
    struct pm_team *team = NULL;
    assert_int_equal(pm_team_create(3, &team, NULL), PM_OK);
    for (int i = 0; i < 8; ++i) {
        const enum pm_body body = i % 2 == 0 ? PM_BODY_PORTABLE : PM_BODY_ADX;
        const pm_curve_id id = curves[i / 4];
        if (pm_curve_get(id, body) == NULL) {
            continue; /* this CPU lacks the body */
        }
        m.curve = pm_curve_get(id, body);
        m.which = i / 2 % 2 == 0 ? PM_MSM_G1 : PM_MSM_G2;
        m.group = m.which == PM_MSM_G1 ? m.curve->g1 : m.curve->g2;
        make(&m);
        sum_by_definition(&m);
        compare_kernel(&m, pm_sparse_sum_get(id, body));
        compare_query(&m, pm_sparse_sum_get(id, body), body, team);
    }
    pm_team_destroy(team);
}

static void magnitudes(void **state) {
    (void)state;
    const struct pm_field *fr = pm_field_fr(PM_CURVE_BN254, PM_BODY_PORTABLE);
    uint64_t v[4], magnitude[4];
    memcpy(v, fr->modulus, sizeof v);
    v[0] -= 5;
    assert_true(pm_sparse_magnitude(magnitude, (const uint8_t *)v, fr->modulus, 4));
    assert_int_equal(magnitude[0], 5);
    assert_int_equal(magnitude[1] | magnitude[2] | magnitude[3], 0);
    memset(v, 0, sizeof v);
    assert_false(pm_sparse_magnitude(magnitude, (const uint8_t *)v, fr->modulus, 4));
    assert_int_equal(magnitude[0] | magnitude[1] | magnitude[2] | magnitude[3], 0);
    /* (r - 1) / 2 is its own magnitude, (r + 1) / 2 has the same. */
    for (int i = 0; i < 4; ++i) {
        v[i] = fr->modulus[i] >> 1 | (i < 3 ? fr->modulus[i + 1] << 63 : 0);
    }
    assert_false(pm_sparse_magnitude(magnitude, (const uint8_t *)v, fr->modulus, 4));
    assert_memory_equal(magnitude, v, sizeof v);
    uint64_t above[4];
    memcpy(above, v, sizeof v);
    above[0] += 1; /* r = 1 mod 4, so (r - 1) / 2 is even */
    assert_true(pm_sparse_magnitude(magnitude, (const uint8_t *)above, fr->modulus, 4));
    assert_memory_equal(magnitude, v, sizeof v);
}

int main(void) {
    rng = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_those_of_the_definition),
                                       cmocka_unit_test(magnitudes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
