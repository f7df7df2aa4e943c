/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transforms, pointwise kernels and matrix products of both curves in every body that this CPU
 * runs, against definitions computed through the field tables. */
#include "base/clock.h"
#include "poly_setting.h"
#include "support/data_limit.h"

#include <pthread.h>
#include <unistd.h>

/* ---------------------------------------------------------------- lookup */

static void test_table_of_each_body(void **state) {
    (void)state;
    for (int curve = PM_CURVE_BN254; curve <= PM_CURVE_BLS12_381; curve++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            const struct pm_poly *poly = pm_poly_get((pm_curve_id)curve, (enum pm_body)body);
            if (!pm_cpu_has_body((enum pm_body)body)) {
                assert_null(poly);
                continue;
            }
            assert_non_null(poly);
            assert_int_equal(poly->curve, curve);
            assert_string_equal(poly->body, pm_body_name((enum pm_body)body));
            assert_int_equal(poly->log_n_max, curve == PM_CURVE_BN254 ? 28 : 32);
        }
    }
    assert_null(pm_poly_get(PM_CURVE_NONE, PM_BODY_PORTABLE));
    assert_null(pm_poly_get((pm_curve_id)77, PM_BODY_PORTABLE));
}

static void check_domain_limits(const struct instance *instance) {
    struct pm_domain domain = {0};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_domain_create(instance->poly, instance->poly->log_n_max + 1,
                                      PM_ROOT_SNARKJS, NULL, NULL, &domain, &error),
                     PM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "too large"));
    assert_null(domain.tables);
    struct pm_ledger ledger = {0};
    assert_int_equal(
        pm_domain_create(instance->poly, 10, PM_ROOT_BELLMAN, NULL, &ledger, &domain, NULL), PM_OK);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 512 * PM_FR_BYTES);
    pm_domain_destroy(&domain);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
    pm_domain_destroy(NULL);

    /* The largest domain has no odd coset. Nothing is read before that is said. */
    const struct pm_domain largest = {.poly = instance->poly, .log_n = instance->poly->log_n_max};
    assert_int_equal(instance->poly->to_odd_coset(&largest, NULL, NULL, NULL, &error),
                     PM_UNSUPPORTED);
    assert_non_null(strstr(error.message, "no odd coset"));
}

static void test_domain_limits(void **state) {
    (void)state;
    for_each_instance(check_domain_limits);
}

/* ---------------------------------------------------------------- transforms */

/* The reference is Horner at w^i, here spelled out once more through the field table; the root is
 * the generator's power. */
static void check_forward_reference(const struct instance *instance) {
    for (int root = PM_ROOT_SNARKJS; root <= PM_ROOT_BELLMAN; root++) {
        for (uint32_t log_n = 0; log_n <= 5; log_n++) {
            const uint64_t n = UINT64_C(1) << log_n;
            struct pm_domain domain = new_domain(instance->poly, log_n, (enum pm_root)root, NULL);
            uint64_t *in = random_vector(instance->fr, n), *out = new_vector(n);
            instance->poly->forward_reference(&domain, out, in);
            uint64_t w[WORDS], x[WORDS], expected[WORDS];
            root_of_order(instance, (enum pm_root)root, log_n, w);
            memcpy(x, instance->fr->one, sizeof x);
            for (uint64_t i = 0; i < n; i++) {
                evaluate(instance->fr, expected, in, n, x);
                assert_vectors_equal(out + i * WORDS, expected, 1);
                instance->fr->mul(x, x, w);
            }
            assert_vectors_equal(x, instance->fr->one, 1); /* w^n = 1 */
            pm_memory_free(in);
            pm_memory_free(out);
            pm_domain_destroy(&domain);
        }
    }
}

static void test_forward_reference(void **state) {
    (void)state;
    for_each_instance(check_forward_reference);
}

static void check_forward(const struct instance *instance) {
    for (int root = PM_ROOT_SNARKJS; root <= PM_ROOT_BELLMAN; root++) {
        for (uint32_t log_n = 0; log_n <= 9; log_n++) {
            const uint64_t n = UINT64_C(1) << log_n;
            struct pm_domain domain = new_domain(instance->poly, log_n, (enum pm_root)root, NULL);
            uint64_t *in = random_vector(instance->fr, n);
            uint64_t *expected = new_vector(n), *vector = copy_vector(in, n);
            instance->poly->forward_reference(&domain, expected, in);
            assert_int_equal(instance->poly->forward(&domain, vector, NULL, NULL, NULL), PM_OK);
            assert_vectors_equal(vector, expected, n);
            assert_int_equal(instance->poly->inverse(&domain, vector, NULL, NULL, NULL), PM_OK);
            assert_vectors_equal(vector, in, n);
            pm_memory_free(in);
            pm_memory_free(expected);
            pm_memory_free(vector);
            pm_domain_destroy(&domain);
        }
    }
}

static void test_forward_is_the_reference(void **state) {
    (void)state;
    for_each_instance(check_forward);
}

/* Above the sizes of the quadratic oracle: single values by Horner, and the round trip, with teams
 * that make blocks and tiles of every shape. 2^18 with 65 threads has two walks above its blocks.
 */
static void check_large(const struct instance *instance, uint32_t log_n, uint32_t threads) {
    const uint64_t n = UINT64_C(1) << log_n;
    struct pm_team *team = new_team(threads);
    struct pm_domain domain = new_domain(instance->poly, log_n, PM_ROOT_SNARKJS, team);
    uint64_t *in = random_vector(instance->fr, n), *vector = copy_vector(in, n);
    assert_int_equal(instance->poly->forward(&domain, vector, team, NULL, NULL), PM_OK);
    uint64_t w[WORDS];
    root_of_order(instance, PM_ROOT_SNARKJS, log_n, w);
    for (int sample = 0; sample < 5; sample++) {
        const uint64_t i = sample == 0 ? n - 1 : seeded_random_below(&entropy, n);
        uint64_t x[WORDS], expected[WORDS];
        instance->fr->pow(x, w, &i, 1);
        evaluate(instance->fr, expected, in, n, x);
        assert_vectors_equal(vector + i * WORDS, expected, 1);
    }
    assert_int_equal(instance->poly->inverse(&domain, vector, team, NULL, NULL), PM_OK);
    assert_vectors_equal(vector, in, n);
    pm_memory_free(in);
    pm_memory_free(vector);
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
}

static void check_large_sizes(const struct instance *instance) {
    for (uint32_t log_n = 10; log_n <= 16; log_n++) {
        check_large(instance, log_n, log_n % 3 + 1);
    }
}

static void test_large_transforms(void **state) {
    (void)state;
    for_each_instance(check_large_sizes);
    const struct instance instance = {.poly = pm_poly_get(PM_CURVE_BLS12_381, pm_cpu_best_body()),
                                      .fr = pm_field_fr(PM_CURVE_BLS12_381, pm_cpu_best_body()),
                                      .generators = {5, 7}};
    check_large(&instance, 18, 65);
}

/* F(s x + y) = s F(x) + F(y). */
static void check_linearity(const struct instance *instance) {
    const struct pm_field *fr = instance->fr;
    for (uint32_t log_n = 0; log_n <= 12; log_n += 4) {
        const uint64_t n = UINT64_C(1) << log_n;
        struct pm_domain domain = new_domain(instance->poly, log_n, PM_ROOT_BELLMAN, NULL);
        uint64_t *x = random_vector(fr, n), *y = random_vector(fr, n), *sum = new_vector(n);
        uint64_t s[WORDS], t[WORDS];
        random_scalar(fr, s);
        for (uint64_t i = 0; i < n * WORDS; i += WORDS) {
            fr->mul(t, s, x + i);
            fr->add(sum + i, t, y + i);
        }
        assert_int_equal(instance->poly->forward(&domain, x, NULL, NULL, NULL), PM_OK);
        assert_int_equal(instance->poly->forward(&domain, y, NULL, NULL, NULL), PM_OK);
        assert_int_equal(instance->poly->forward(&domain, sum, NULL, NULL, NULL), PM_OK);
        for (uint64_t i = 0; i < n * WORDS; i += WORDS) {
            fr->mul(t, s, x + i);
            fr->add(t, t, y + i);
            assert_vectors_equal(sum + i, t, 1);
        }
        pm_memory_free(x);
        pm_memory_free(y);
        pm_memory_free(sum);
        pm_domain_destroy(&domain);
    }
}

static void test_forward_is_linear(void **state) {
    (void)state;
    for_each_instance(check_linearity);
}

/* Values of p on the domain become p(w_2n^(2i+1)). */
static void check_odd_coset_of(const struct instance *instance, enum pm_root root, uint32_t log_n,
                               uint32_t threads) {
    const struct pm_field *fr = instance->fr;
    const uint64_t n = UINT64_C(1) << log_n;
    struct pm_team *team = new_team(threads);
    struct pm_domain domain = new_domain(instance->poly, log_n, root, team);
    uint64_t *in = random_vector(fr, n), *vector = copy_vector(in, n);
    assert_int_equal(instance->poly->forward(&domain, vector, team, NULL, NULL), PM_OK);
    assert_int_equal(instance->poly->to_odd_coset(&domain, vector, team, NULL, NULL), PM_OK);
    uint64_t v[WORDS], w[WORDS];
    root_of_order(instance, root, log_n + 1, v);
    fr->sqr(w, v);
    assert_values_on(fr, vector, in, n, v, w);
    pm_memory_free(in);
    pm_memory_free(vector);
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
}

static void check_odd_coset(const struct instance *instance) {
    for (uint32_t log_n = 0; log_n <= 15; log_n += log_n < 10 ? 1 : 2) {
        check_odd_coset_of(instance, PM_ROOT_SNARKJS, log_n, 1);
        check_odd_coset_of(instance, PM_ROOT_BELLMAN, log_n, 3);
    }
}

static void test_odd_coset_is_the_definition(void **state) {
    (void)state;
    for_each_instance(check_odd_coset);
}

/* What is hard on carries and on lazy sums: zeros, ones, r - 1, and words of all ones or zeros. */
static uint64_t *extreme_vector(const struct pm_field *fr, uint64_t n, int pattern) {
    uint64_t *vector = new_vector(n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *at = vector + i * WORDS;
        memcpy(at, fr->modulus, PM_FR_BYTES);
        at[0] -= 1;
        switch (pattern) {
        case 0: /* all r - 1 */
            break;
        case 1: /* 0 and r - 1 by turns */
            memset(at, i % 2 == 0 ? 0 : 0xff, i % 2 == 0 ? PM_FR_BYTES : 0);
            break;
        case 2: /* one of them in the last place */
            memset(at, 0, i + 1 < n ? PM_FR_BYTES : 0);
            break;
        default:
            at[0] = seeded_random_below(&entropy, 2) ? UINT64_MAX : 0;
            at[1] = seeded_random_below(&entropy, 2) ? UINT64_MAX : 0;
            at[2] = seeded_random_below(&entropy, 2) ? UINT64_MAX : 0;
            at[3] = seeded_random_below(&entropy, 2) ? at[3] - 1 : 0;
            break;
        }
    }
    return vector;
}

/* All transforms one after the other, and the pointwise kernels, give the bits of the portable
 * body. */
static void check_bodies_agree(const struct instance *instance, uint32_t log_n, int pattern,
                               struct pm_team *team) {
    const struct pm_poly *const polys[2] = {pm_poly_get(instance->poly->curve, PM_BODY_PORTABLE),
                                            instance->poly};
    const uint64_t n = UINT64_C(1) << log_n;
    uint64_t *a[2], *b[2];
    for (int i = 0; i < 2; i++) {
        struct pm_domain domain = new_domain(polys[i], log_n, PM_ROOT_BELLMAN, NULL);
        struct seeded_random same = entropy;
        a[i] = extreme_vector(instance->fr, n, pattern);
        entropy = i == 0 ? same : entropy;
        b[i] = copy_vector(a[i], n);
        assert_int_equal(polys[i]->forward(&domain, a[i], team, NULL, NULL), PM_OK);
        assert_int_equal(polys[i]->to_odd_coset(&domain, a[i], team, NULL, NULL), PM_OK);
        assert_int_equal(polys[i]->inverse(&domain, b[i], team, NULL, NULL), PM_OK);
        assert_int_equal(polys[i]->to_coset(&domain, b[i], team, NULL, NULL), PM_OK);
        polys[i]->mul_vectors(a[i], a[i], b[i], n, team);
        polys[i]->quotient_scalars(b[i], a[i], b[i], b[i], n, team);
        pm_domain_destroy(&domain);
    }
    assert_vectors_equal(a[1], a[0], n);
    assert_vectors_equal(b[1], b[0], n);
    for (int i = 0; i < 2; i++) {
        pm_memory_free(a[i]);
        pm_memory_free(b[i]);
    }
}

static void check_extremes(const struct instance *instance) {
    struct pm_team *team = new_team(33); /* blocks of 2^10, so that tiles have all seven levels */
    const uint32_t log_n_max = PM_TEST_IS_SANITIZED ? 12 : 15;
    for (int pattern = 0; pattern < 4; pattern++) {
        for (uint32_t log_n = 0; log_n <= log_n_max; log_n++) {
            check_bodies_agree(instance, log_n, pattern, NULL);
        }
        if (strcmp(instance->poly->body, "portable") != 0 &&
            !(PM_TEST_IS_SANITIZED && pattern < 3)) {
            check_bodies_agree(instance, 17, pattern, team);
        }
    }
    pm_team_destroy(team);
}

static void test_bodies_agree_at_extremes(void **state) {
    (void)state;
    for_each_instance(check_extremes);
}

static void check_threads_equal(const struct instance *instance) {
    static const uint32_t threads[] = {1, 2, 3, 5, 33};
    static const uint32_t log_sizes[] = {0, 1, 9, 11, 12, 15};
    for (size_t s = 0; s < sizeof log_sizes / sizeof log_sizes[0]; s++) {
        const uint64_t n = UINT64_C(1) << log_sizes[s];
        struct pm_domain serial = new_domain(instance->poly, log_sizes[s], PM_ROOT_SNARKJS, NULL);
        uint64_t *in = random_vector(instance->fr, n), *expected = copy_vector(in, n);
        assert_int_equal(instance->poly->to_odd_coset(&serial, expected, NULL, NULL, NULL), PM_OK);
        assert_int_equal(instance->poly->inverse(&serial, expected, NULL, NULL, NULL), PM_OK);
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            struct pm_team *team = new_team(threads[t]);
            struct pm_domain domain =
                new_domain(instance->poly, log_sizes[s], PM_ROOT_SNARKJS, team);
            assert_memory_equal(domain.tables, serial.tables,
                                instance->poly->tables_bytes(log_sizes[s]));
            uint64_t *vector = copy_vector(in, n);
            assert_int_equal(instance->poly->to_odd_coset(&domain, vector, team, NULL, NULL),
                             PM_OK);
            assert_int_equal(instance->poly->inverse(&domain, vector, team, NULL, NULL), PM_OK);
            assert_vectors_equal(vector, expected, n);
            pm_memory_free(vector);
            pm_domain_destroy(&domain);
            pm_team_destroy(team);
        }
        pm_memory_free(in);
        pm_memory_free(expected);
        pm_domain_destroy(&serial);
    }
}

static void test_any_number_of_threads_gives_the_same(void **state) {
    (void)state;
    for_each_instance(check_threads_equal);
}

/* ---------------------------------------------------------------- pointwise */

static void check_pointwise(const struct instance *instance) {
    const struct pm_field *fr = instance->fr;
    const uint64_t n = 4096;
    struct pm_team *team = new_team(3);
    struct pm_domain domain = new_domain(instance->poly, 12, PM_ROOT_SNARKJS, NULL);
    uint64_t *a = random_vector(fr, n), *b = random_vector(fr, n), *c = random_vector(fr, n);
    memset(a, 0, PM_FR_BYTES); /* -c alone */
    uint64_t *product = new_vector(n), *quotient = new_vector(n), *scaled = copy_vector(a, n);
    instance->poly->mul_vectors(product, a, b, n, team);
    instance->poly->quotient_scalars(quotient, a, b, c, n, team);
    uint64_t base[WORDS], factor[WORDS], power[WORDS];
    random_scalar(fr, base);
    random_scalar(fr, factor);
    instance->poly->scale_by_powers(&domain, scaled, base, factor, team);
    memcpy(power, factor, sizeof power);
    for (uint64_t i = 0; i < n * WORDS; i += WORDS) {
        uint64_t t[WORDS], canonical[WORDS];
        fr->mul(t, a + i, b + i);
        assert_vectors_equal(product + i, t, 1);
        fr->sub(t, t, c + i);
        fr->from_mont(canonical, t, 1);
        assert_vectors_equal(quotient + i, canonical, 1);
        assert_true(fr->is_canonical(quotient + i));
        fr->mul(t, a + i, power);
        assert_vectors_equal(scaled + i, t, 1);
        fr->mul(power, power, base);
    }
    /* the outputs over each of the inputs */
    uint64_t *alias = copy_vector(a, n);
    instance->poly->mul_vectors(alias, alias, b, n, team);
    assert_vectors_equal(alias, product, n);
    memcpy(alias, b, n * PM_FR_BYTES);
    instance->poly->mul_vectors(alias, a, alias, n, NULL);
    assert_vectors_equal(alias, product, n);
    memcpy(alias, c, n * PM_FR_BYTES);
    instance->poly->quotient_scalars(alias, a, b, alias, n, team);
    assert_vectors_equal(alias, quotient, n);
    memcpy(alias, a, n * PM_FR_BYTES);
    instance->poly->quotient_scalars(alias, alias, b, c, n, NULL);
    assert_vectors_equal(alias, quotient, n);
    instance->poly->mul_vectors(alias, a, b, 0, team); /* nothing to do */
    assert_vectors_equal(alias, quotient, n);
    uint64_t *all[] = {a, b, c, product, quotient, scaled, alias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pm_memory_free(all[i]);
    }
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
}

static void test_pointwise_kernels(void **state) {
    (void)state;
    for_each_instance(check_pointwise);
}

/* ---------------------------------------------------------------- matrices */

#define RECORD PM_COEFFICIENT_RECORD_BYTES

struct matrices {
    unsigned char *memory, *records; /* records begin one byte into memory: no alignment */
    uint64_t n;
    unsigned char *witness_memory, *witness;
    uint64_t n_signals;
    uint64_t *expected_a, *expected_b;
    uint32_t log_n;
};

static void put_record(unsigned char *record, uint32_t matrix, uint32_t row, uint32_t signal,
                       const uint64_t *value) {
    memcpy(record, &matrix, 4);
    memcpy(record + 4, &row, 4);
    memcpy(record + 8, &signal, 4);
    memcpy(record + 12, value, PM_FR_BYTES);
}

/* Random records over few rows and signals, so that the same place occurs many times; values are
 * coefficient * R^2: the Montgomery form of the Montgomery form. */
static struct matrices make_matrices(const struct pm_field *fr, uint32_t log_n, uint64_t n,
                                     bool sorted, bool one_row) {
    enum { N_SIGNALS = 50 };
    struct matrices m = {.n = n, .log_n = log_n, .n_signals = N_SIGNALS};
    m.memory = calloc(n * RECORD + 1, 1);
    m.records = m.memory + 1;
    m.witness_memory = calloc(N_SIGNALS * PM_FR_BYTES + 1, 1);
    m.witness = m.witness_memory + 1;
    m.expected_a = new_vector(UINT64_C(1) << log_n);
    m.expected_b = new_vector(UINT64_C(1) << log_n);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        uint64_t x[WORDS] = {i % 3}; /* 0, 1 and 2 are the common ones */
        if (i % 5 == 4) {
            random_scalar(fr, x); /* any value below r */
        }
        memcpy(m.witness + i * PM_FR_BYTES, x, PM_FR_BYTES);
    }
    uint32_t row = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t matrix = (uint32_t)seeded_random_below(&entropy, 2);
        const uint32_t signal = (uint32_t)seeded_random_below(&entropy, N_SIGNALS);
        const uint64_t n_rows = UINT64_C(1) << log_n;
        if (one_row) {
            row = (uint32_t)n_rows - 1;
        } else if (!sorted) {
            row = (uint32_t)seeded_random_below(&entropy, n_rows);
        } else if (row + 3 < n_rows && seeded_random_below(&entropy, 4) == 0) {
            row += (uint32_t)seeded_random_below(&entropy, 3);
        }
        uint64_t coefficient[WORDS], value[WORDS], x[WORDS], term[WORDS];
        random_scalar(fr, coefficient);
        if (i % 3 != 0) { /* most are 1 or -1 */
            memcpy(coefficient, fr->one, sizeof coefficient);
        }
        if (i % 3 == 2) {
            fr->neg(coefficient, coefficient);
        }
        fr->to_mont(value, coefficient, 1);
        put_record(m.records + i * RECORD, matrix, row, signal, value);
        uint64_t canonical[WORDS];
        memcpy(canonical, m.witness + signal * PM_FR_BYTES, PM_FR_BYTES);
        fr->to_mont(x, canonical, 1);
        fr->mul(term, coefficient, x);
        uint64_t *sum = (matrix == 0 ? m.expected_a : m.expected_b) + (size_t)row * WORDS;
        fr->add(sum, sum, term);
    }
    return m;
}

/* The products from windows of `step` records, which may begin and end within a row. */
static void check_products_of(const struct instance *instance, const struct matrices *m,
                              uint64_t step, struct pm_team *team) {
    const uint64_t n_rows = UINT64_C(1) << m->log_n;
    uint64_t *c = new_vector(n_rows), *expected = new_vector(n_rows);
    memset(c, 0x5a, n_rows * PM_FR_BYTES); /* every element is written */
    struct pm_record_window window = {.records = m->records, .n = m->n};
    do {
        window.last = m->n - window.first < step ? m->n : window.first + step;
        assert_int_equal(instance->poly->multiply_products(c, m->log_n, &window, 1, m->witness,
                                                           m->n_signals, team, NULL, NULL),
                         PM_OK);
        window.first = window.last;
    } while (window.first < m->n);
    instance->poly->mul_vectors(expected, m->expected_a, m->expected_b, n_rows, NULL);
    assert_vectors_equal(c, expected, n_rows);
    window.first = 0;
    assert_int_equal(instance->poly->multiply_products(c, m->log_n, &window, 0, m->witness,
                                                       m->n_signals, team, NULL, NULL),
                     PM_UNSUPPORTED);
    pm_memory_free(c);
    pm_memory_free(expected);
}

static void check_matrices_of(const struct instance *instance, const struct matrices *m,
                              int sorted) {
    const uint64_t n_rows = UINT64_C(1) << m->log_n;
    for (uint32_t threads = 0; threads <= 5; threads++) {
        struct pm_team *team = threads == 0 ? NULL : new_team(threads);
        uint64_t *a = new_vector(n_rows), *b = new_vector(n_rows);
        assert_int_equal(instance->poly->multiply_matrices(a, b, m->log_n, m->records, m->n, sorted,
                                                           m->witness, m->n_signals, team, NULL,
                                                           NULL),
                         PM_OK);
        assert_vectors_equal(a, m->expected_a, n_rows);
        assert_vectors_equal(b, m->expected_b, n_rows);
        if (sorted) {
            check_products_of(instance, m, m->n, team);
            check_products_of(instance, m, 1 + m->n / 7, team);
            check_products_of(instance, m, 1 + m->n / 300, team);
        }
        pm_memory_free(a);
        pm_memory_free(b);
        pm_team_destroy(team);
    }
}

/* Records that were overwritten after they had been checked: the good ones count, the others write
 * and read nothing. */
static void check_stray_records(const struct instance *instance) {
    static const struct {
        uint32_t row, signal;
    } strays[] = {{8, 0}, {0, 50}, {UINT32_MAX, 0}, {0, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}};
    enum { N_STRAYS = sizeof strays / sizeof strays[0] };
    struct matrices m = make_matrices(instance->fr, 3, 40, false, false);
    unsigned char *records = calloc(m.n + N_STRAYS, RECORD);
    assert_non_null(records);
    memcpy(records, m.records, m.n * RECORD);
    for (size_t i = 0; i < N_STRAYS; i++) {
        put_record(records + (m.n + i) * RECORD, i % 2 == 0 ? 0 : UINT32_MAX, strays[i].row,
                   strays[i].signal, instance->fr->one);
    }
    free(m.memory);
    m.memory = m.records = records;
    m.n += N_STRAYS;
    check_matrices_of(instance, &m, 0);
    free(m.memory);
    free(m.witness_memory);
    pm_memory_free(m.expected_a);
    pm_memory_free(m.expected_b);
}

static void check_matrices(const struct instance *instance) {
    check_stray_records(instance);
    static const struct {
        uint32_t log_n;
        uint64_t n;
        bool sorted, one_row;
    } cases[] = {{0, 0, true, false},    {0, 3, true, true},       {3, 40, true, false},
                 {8, 9000, true, false}, {8, 9000, false, false},  {4, 9000, true, true},
                 {4, 9000, false, true}, {12, 20000, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct matrices m = make_matrices(instance->fr, cases[i].log_n, cases[i].n, cases[i].sorted,
                                          cases[i].one_row);
        check_matrices_of(instance, &m, 0); /* sorted records may be called unsorted */
        if (cases[i].sorted || cases[i].one_row) {
            check_matrices_of(instance, &m, 1);
        }
        free(m.memory);
        free(m.witness_memory);
        pm_memory_free(m.expected_a);
        pm_memory_free(m.expected_b);
    }
}

static void test_matrix_products(void **state) {
    (void)state;
    for_each_instance(check_matrices);
}

/* ---------------------------------------------------------------- control */

static void check_stopped(const struct instance *instance, const pm_control *control,
                          pm_status expected) {
    const struct pm_poly *poly = instance->poly;
    struct pm_team *team = new_team(2);
    struct pm_domain domain = new_domain(poly, 12, PM_ROOT_SNARKJS, NULL);
    uint64_t *vector = random_vector(instance->fr, 4096);
    uint64_t *other = random_vector(instance->fr, 4096);
    struct matrices m = make_matrices(instance->fr, 12, 100, true, false);
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(poly->forward(&domain, vector, team, control, &error), expected);
    assert_int_equal(error.status, expected);
    assert_int_equal(poly->inverse(&domain, vector, team, control, NULL), expected);
    assert_int_equal(poly->to_odd_coset(&domain, vector, team, control, NULL), expected);
    for (int sorted = 0; sorted <= 1; sorted++) {
        assert_int_equal(poly->multiply_matrices(vector, vector, 12, m.records, m.n, sorted,
                                                 m.witness, m.n_signals, team, control, NULL),
                         expected);
    }
    const struct pm_record_window all = {.records = m.records, .n = m.n, .last = m.n};
    assert_int_equal(
        poly->multiply_products(vector, 12, &all, 1, m.witness, m.n_signals, team, control, NULL),
        expected);
    assert_int_equal(poly->to_coset(&domain, vector, team, control, NULL), expected);
    assert_int_equal(poly->quotient_coefficients(&domain, vector, other, team, control, NULL),
                     expected);
    free(m.memory);
    free(m.witness_memory);
    pm_memory_free(other);
    pm_memory_free(m.expected_a);
    pm_memory_free(m.expected_b);
    pm_memory_free(vector);
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
}

static void check_control(const struct instance *instance) {
    static const volatile int cancelled = 1, running = 0;
    pm_control control = {.struct_bytes = sizeof control, .cancel = &cancelled};
    check_stopped(instance, &control, PM_CANCELLED);
    control.cancel = &running;
    control.deadline_ns = 1;
    check_stopped(instance, &control, PM_DEADLINE);
    control.deadline_ns = pm_clock_now_ns() + UINT64_C(600000000000);
    check_stopped(instance, &control, PM_OK);
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

/* The flag is raised while transforms run one after the other; one of them must answer. */
static void test_cancel_reaches_a_running_transform(void **state) {
    (void)state;
    const struct pm_poly *poly = pm_poly_get(PM_CURVE_BN254, pm_cpu_best_body());
    const struct pm_field *fr = pm_field_fr(PM_CURVE_BN254, pm_cpu_best_body());
    struct pm_team *team = new_team(2);
    struct pm_domain domain = new_domain(poly, 15, PM_ROOT_SNARKJS, NULL);
    uint64_t *vector = random_vector(fr, UINT64_C(1) << 15);
    int flag = 0;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &flag};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &flag), 0);
    pm_status status = PM_OK;
    const uint64_t start_ns = pm_clock_now_ns();
    while (status == PM_OK && pm_clock_now_ns() - start_ns < UINT64_C(20000000000)) {
        status = poly->to_odd_coset(&domain, vector, team, &control, NULL);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status, PM_CANCELLED);
    pm_memory_free(vector);
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
}

int main(void) {
    entropy = seeded_random_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_of_each_body),
        cmocka_unit_test(test_domain_limits),
        cmocka_unit_test(test_forward_reference),
        cmocka_unit_test(test_forward_is_the_reference),
        cmocka_unit_test(test_large_transforms),
        cmocka_unit_test(test_forward_is_linear),
        cmocka_unit_test(test_odd_coset_is_the_definition),
        cmocka_unit_test(test_bodies_agree_at_extremes),
        cmocka_unit_test(test_any_number_of_threads_gives_the_same),
        cmocka_unit_test(test_pointwise_kernels),
        cmocka_unit_test(test_matrix_products),
        cmocka_unit_test(test_control_is_honoured),
        cmocka_unit_test(test_cancel_reaches_a_running_transform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
