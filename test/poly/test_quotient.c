/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The walk to bellman's coset, and the coefficients of the quotient against polynomials multiplied
 * and divided the long way. */
#include "poly_setting.h"

/* ---------------------------------------------------------------- the coset */

/* Values of p on the domain become p(g w^i). */
static void check_coset_of(const struct instance *instance, enum pm_root root, uint32_t log_n,
                           uint32_t threads) {
    const struct pm_field *fr = instance->fr;
    const uint64_t n = UINT64_C(1) << log_n;
    struct pm_team *team = new_team(threads);
    struct pm_domain domain = new_domain(instance->poly, log_n, root, team);
    uint64_t *in = random_vector(fr, n), *vector = copy_vector(in, n);
    assert_int_equal(instance->poly->forward(&domain, vector, team, NULL, NULL), PM_OK);
    assert_int_equal(instance->poly->to_coset(&domain, vector, team, NULL, NULL), PM_OK);
    uint64_t w[WORDS], g[WORDS];
    root_of_order(instance, root, log_n, w);
    small_scalar(fr, g, instance->generators[PM_ROOT_BELLMAN]);
    assert_values_on(fr, vector, in, n, g, w);
    pm_memory_free(in);
    pm_memory_free(vector);
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
}

static void check_coset(const struct instance *instance) {
    for (uint32_t log_n = 0; log_n <= 16; log_n += log_n < 12 ? 1 : 2) {
        check_coset_of(instance, PM_ROOT_BELLMAN, log_n, 1);
        check_coset_of(instance, PM_ROOT_SNARKJS, log_n, log_n % 4 + 2);
    }
}

static void test_coset_is_the_definition(void **state) {
    (void)state;
    for_each_instance(check_coset);
}

/* ---------------------------------------------------------------- the quotient */

/* r = a b, 2n coefficients of which the last is zero. */
static uint64_t *product_of(const struct pm_field *fr, const uint64_t *a, const uint64_t *b,
                            uint64_t n) {
    uint64_t *r = new_vector(2 * n);
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < n; j++) {
            uint64_t t[WORDS], *at = r + (i + j) * WORDS;
            fr->mul(t, a + i * WORDS, b + j * WORDS);
            fr->add(at, at, t);
        }
    }
    return r;
}

/* Long division of p, 2n coefficients, by x^n - d: the quotient, while p becomes the remainder. */
static uint64_t *divide(const struct pm_field *fr, uint64_t *p, uint64_t n, const uint64_t *d) {
    uint64_t *quotient = new_vector(n);
    for (uint64_t k = 2 * n; k-- > n;) {
        uint64_t t[WORDS], *leading = p + k * WORDS, *below = p + (k - n) * WORDS;
        memcpy(quotient + (k - n) * WORDS, leading, PM_FR_BYTES);
        fr->mul(t, leading, d);
        fr->add(below, below, t);
        memset(leading, 0, PM_FR_BYTES);
    }
    return quotient;
}

struct quotient_case {
    const struct instance *instance;
    uint32_t log_n, threads;
    uint64_t n;
    uint64_t *a, *b, *c; /* coefficients */
    uint64_t *ab;        /* those of a b, 2n */
    uint64_t *h;         /* the expected quotient, Montgomery */
    struct pm_domain domain;
    struct pm_team *team;
};

/* Runs the kernel from values to coefficients and compares. */
static void check_quotient_of(const struct quotient_case *q) {
    const struct pm_poly *poly = q->instance->poly;
    uint64_t *a = copy_vector(q->a, q->n), *b = copy_vector(q->b, q->n);
    uint64_t *c = copy_vector(q->c, q->n), *expected = new_vector(q->n);
    uint64_t *const vectors[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poly->forward(&q->domain, vectors[i], q->team, NULL, NULL), PM_OK);
    }
    assert_int_equal(poly->to_coset(&q->domain, a, q->team, NULL, NULL), PM_OK);
    assert_int_equal(poly->to_coset(&q->domain, b, q->team, NULL, NULL), PM_OK);
    poly->mul_vectors(a, a, b, q->n, q->team);
    assert_int_equal(poly->quotient_coefficients(&q->domain, a, c, q->team, NULL, NULL), PM_OK);
    q->instance->fr->from_mont(expected, q->h, q->n);
    assert_vectors_equal(a, expected, q->n);
    pm_memory_free(a);
    pm_memory_free(b);
    pm_memory_free(c);
    pm_memory_free(expected);
}

/* c takes the values of a b: h = (a b - c) / (x^n - 1), and nothing remains. */
static void check_satisfied(struct quotient_case *q) {
    const struct pm_field *fr = q->instance->fr;
    static const uint64_t zero[WORDS];
    uint64_t *p = copy_vector(q->ab, 2 * q->n);
    pm_memory_free(divide(fr, p, q->n, fr->one)); /* c = a b mod x^n - 1 */
    memcpy(q->c, p, q->n * PM_FR_BYTES);
    memcpy(p, q->ab, 2 * q->n * PM_FR_BYTES);
    for (uint64_t i = 0; i < q->n * WORDS; i += WORDS) {
        fr->sub(p + i, p + i, q->c + i);
    }
    q->h = divide(fr, p, q->n, fr->one);
    for (uint64_t i = 0; i < q->n * WORDS; i += WORDS) {
        assert_vectors_equal(p + i, zero, 1);
    }
    assert_vectors_equal(q->h + (q->n - 1) * WORDS, zero, 1);
    check_quotient_of(q);
    pm_memory_free(q->h);
    pm_memory_free(p);
}

/* Any c: h = (a b mod (x^n - g^n) - c) / (g^n - 1). */
static void check_unsatisfied(struct quotient_case *q) {
    const struct pm_field *fr = q->instance->fr;
    uint64_t g_n[WORDS], z[WORDS];
    small_scalar(fr, g_n, q->instance->generators[PM_ROOT_BELLMAN]);
    fr->pow(g_n, g_n, &q->n, 1);
    fr->sub(z, g_n, fr->one);
    fr->inv(z, z);
    uint64_t *p = copy_vector(q->ab, 2 * q->n);
    pm_memory_free(divide(fr, p, q->n, g_n));
    pm_memory_free(q->c);
    q->c = random_vector(fr, q->n);
    for (uint64_t i = 0; i < q->n * WORDS; i += WORDS) {
        fr->sub(p + i, p + i, q->c + i);
        fr->mul(p + i, p + i, z);
    }
    q->h = p;
    check_quotient_of(q);
    pm_memory_free(p);
}

static void check_quotient_size(const struct instance *instance, uint32_t log_n, uint32_t threads) {
    const struct pm_field *fr = instance->fr;
    const uint64_t n = UINT64_C(1) << log_n;
    struct quotient_case q = {.instance = instance,
                              .log_n = log_n,
                              .threads = threads,
                              .n = n,
                              .a = random_vector(fr, n),
                              .b = random_vector(fr, n),
                              .c = new_vector(n),
                              .team = new_team(threads)};
    q.domain = new_domain(instance->poly, log_n, PM_ROOT_BELLMAN, q.team);
    q.ab = product_of(fr, q.a, q.b, n);
    check_satisfied(&q);
    check_unsatisfied(&q);
    pm_memory_free(q.a);
    pm_memory_free(q.b);
    pm_memory_free(q.c);
    pm_memory_free(q.ab);
    pm_domain_destroy(&q.domain);
    pm_team_destroy(q.team);
}

static void check_quotient(const struct instance *instance) {
    const uint32_t log_n_max = strcmp(instance->poly->body, "portable") == 0 ? 10 : 12;
    for (uint32_t log_n = 0; log_n <= log_n_max; log_n++) {
        check_quotient_size(instance, log_n, log_n % 4 + 1);
    }
}

static void test_quotient_is_the_long_division(void **state) {
    (void)state;
    for_each_instance(check_quotient);
}

/* ---------------------------------------------------------------- pointwise */

static void check_pointwise(const struct instance *instance) {
    const struct pm_field *fr = instance->fr;
    const uint64_t n = 3000;
    struct pm_team *team = new_team(3);
    uint64_t *ab = random_vector(fr, n), *c = random_vector(fr, n), *r = new_vector(n);
    memset(ab, 0, PM_FR_BYTES);
    instance->poly->quotient_scalars_from_product(r, ab, c, n, team);
    for (uint64_t i = 0; i < n * WORDS; i += WORDS) {
        uint64_t t[WORDS];
        fr->sub(t, ab + i, c + i);
        fr->from_mont(t, t, 1);
        assert_vectors_equal(r + i, t, 1);
    }
    uint64_t *alias = copy_vector(ab, n);
    instance->poly->quotient_scalars_from_product(alias, alias, c, n, NULL);
    assert_vectors_equal(alias, r, n);
    memcpy(alias, c, n * PM_FR_BYTES);
    instance->poly->quotient_scalars_from_product(alias, ab, alias, n, team);
    assert_vectors_equal(alias, r, n);

    /* conversions between odd addresses, and in place */
    unsigned char *from = malloc(n * PM_FR_BYTES + 1), *to = malloc(n * PM_FR_BYTES + 3);
    assert_non_null(from);
    assert_non_null(to);
    memcpy(from + 1, ab, n * PM_FR_BYTES);
    fr->from_mont(r, ab, n);
    instance->poly->convert_scalars(to + 3, from + 1, n, team);
    assert_memory_equal(to + 3, r, n * PM_FR_BYTES);
    instance->poly->convert_scalars(from + 1, from + 1, n, NULL);
    assert_memory_equal(from + 1, r, n * PM_FR_BYTES);
    instance->poly->convert_scalars(to, NULL, 0, team); /* nothing to do */
    free(from);
    free(to);
    pm_memory_free(ab);
    pm_memory_free(c);
    pm_memory_free(r);
    pm_memory_free(alias);
    pm_team_destroy(team);
}

static void test_pointwise_kernels(void **state) {
    (void)state;
    for_each_instance(check_pointwise);
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coset_is_the_definition),
        cmocka_unit_test(test_quotient_is_the_long_division),
        cmocka_unit_test(test_pointwise_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
