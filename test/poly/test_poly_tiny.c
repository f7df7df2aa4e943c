/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transforms over a 13-bit field of two-adicity 6, small enough for all basis vectors of all sizes
 * up to the largest domain there is, and for all pairs of elements. */
#include "poly/poly.h"
#include "tiny/ff_tiny.inc"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

extern const struct pm_poly pm_poly_tiny_portable;
extern const struct pm_field pm_field_fr_tiny_portable;
static const struct pm_poly *const poly = &pm_poly_tiny_portable;

static struct pm_domain new_domain(uint32_t log_n) {
    struct pm_domain domain;
    assert_int_equal(pm_domain_create(poly, log_n, PM_ROOT_SNARKJS, NULL, NULL, &domain, NULL),
                     PM_OK);
    return domain;
}

/* 5^((r - 1) / 2^log_order), the snarkjs root, from the modulus. */
static fr root_of_order(uint32_t log_order) {
    const uint64_t exponent = (fr_modulus[0] - 1) >> log_order;
    fr w;
    fr_set_u64(&w, 5);
    fr_pow(&w, &w, &exponent, 1);
    return w;
}

/* Column j of the transform is x^j at w^i, and that of the walk to the odd coset, which takes
 * values, is what it makes of them. All j and all i, with a coefficient that sweeps the field. */
static void check_basis_vector(const struct pm_domain *domain, uint64_t j, uint64_t coefficient) {
    const uint64_t n = UINT64_C(1) << domain->log_n;
    const fr w = root_of_order(domain->log_n);
    fr vector[1 << TINY_FR_TWO_ADICITY] = {{{0}}}, expected, scale;
    fr_set_u64(&scale, coefficient);
    vector[j] = scale;
    assert_int_equal(poly->forward(domain, vector, NULL, NULL, NULL), PM_OK);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t exponent = i * j;
        fr_pow(&expected, &w, &exponent, 1);
        fr_mul(&expected, &expected, &scale);
        assert_true(fr_eq(&vector[i], &expected));
    }
    if (domain->log_n < poly->log_n_max) {
        fr odd[1 << TINY_FR_TWO_ADICITY];
        memcpy(odd, vector, sizeof odd);
        const fr w_2n = root_of_order(domain->log_n + 1);
        assert_int_equal(poly->to_odd_coset(domain, odd, NULL, NULL, NULL), PM_OK);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t exponent = (2 * i + 1) * j;
            fr_pow(&expected, &w_2n, &exponent, 1);
            fr_mul(&expected, &expected, &scale);
            assert_true(fr_eq(&odd[i], &expected));
        }
    }
    fr values[1 << TINY_FR_TWO_ADICITY], x;
    memcpy(values, vector, sizeof values);
    assert_int_equal(poly->to_coset(domain, values, NULL, NULL, NULL), PM_OK);
    fr_set_u64(&x, 5); /* the generator, also of the roots */
    for (uint64_t i = 0; i < n; i++) {
        fr_pow(&expected, &x, &j, 1);
        fr_mul(&expected, &expected, &scale);
        assert_true(fr_eq(&values[i], &expected));
        fr_mul(&x, &x, &w);
    }
    assert_int_equal(poly->inverse(domain, vector, NULL, NULL, NULL), PM_OK);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(i == j ? fr_eq(&vector[i], &scale) : fr_is_zero(&vector[i]));
    }
}

/* The values of p on the coset and of c on the domain become (p - c) / (5^n - 1), canonical. */
static void test_quotients_of_every_size(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (uint32_t log_n = 0; log_n <= poly->log_n_max; log_n++) {
        struct pm_domain domain = new_domain(log_n);
        const uint64_t n = UINT64_C(1) << log_n;
        fr five, z, one;
        fr_set_u64(&five, 5);
        fr_set_one(&one);
        fr_pow(&z, &five, &n, 1);
        fr_sub(&z, &z, &one);
        fr_inv(&z, &z);
        for (int round = 0; round < 50; round++) {
            fr p[64], c[64], h[64];
            for (uint64_t i = 0; i < n; i++) {
                seed = seed * 6364136223846793005 + 1442695040888963407;
                fr_set_u64(&p[i], seed >> 40);
                fr_set_u64(&c[i], round % 5 == 0 ? 0 : seed >> 20 & 0xffff);
                fr_sub(&h[i], &p[i], &c[i]);
                fr_mul(&h[i], &h[i], &z);
                fr_from_mont(h[i].l, &h[i]);
            }
            assert_int_equal(poly->forward(&domain, p, NULL, NULL, NULL), PM_OK);
            assert_int_equal(poly->to_coset(&domain, p, NULL, NULL, NULL), PM_OK);
            assert_int_equal(poly->forward(&domain, c, NULL, NULL, NULL), PM_OK);
            assert_int_equal(poly->quotient_coefficients(&domain, p, c, NULL, NULL, NULL), PM_OK);
            assert_memory_equal(p, h, n * sizeof(fr));
        }
        pm_domain_destroy(&domain);
    }
}

static void test_every_basis_vector_of_every_size(void **state) {
    (void)state;
    for (uint32_t log_n = 0; log_n <= poly->log_n_max; log_n++) {
        struct pm_domain domain = new_domain(log_n);
        assert_int_equal(poly->tables_bytes(log_n), log_n == 0 ? 8 : 8 << (log_n - 1));
        for (uint64_t j = 0; j < UINT64_C(1) << log_n; j++) {
            for (uint64_t c = 1; c < fr_modulus[0]; c += log_n < 3 ? 1 : 1571) {
                check_basis_vector(&domain, j, c);
            }
        }
        pm_domain_destroy(&domain);
    }
}

/* Size 2: all pairs (x, y) with x in steps, against (x + y, x - y). */
static void test_size_two_exhaustively(void **state) {
    (void)state;
    struct pm_domain domain = new_domain(1);
    for (uint64_t x = 0; x < fr_modulus[0]; x += 41) {
        for (uint64_t y = 0; y < fr_modulus[0]; y++) {
            fr vector[2], sum, difference;
            fr_set_u64(&vector[0], x);
            fr_set_u64(&vector[1], y);
            fr_add(&sum, &vector[0], &vector[1]);
            fr_sub(&difference, &vector[0], &vector[1]);
            (void)poly->forward(&domain, vector, NULL, NULL, NULL);
            if (!fr_eq(&vector[0], &sum) || !fr_eq(&vector[1], &difference)) {
                fail_msg("wrong at (%llu, %llu)", (unsigned long long)x, (unsigned long long)y);
            }
        }
    }
    pm_domain_destroy(&domain);
}

static void test_random_vectors_against_the_reference(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (uint32_t log_n = 0; log_n <= poly->log_n_max; log_n++) {
        struct pm_domain domain = new_domain(log_n);
        for (int round = 0; round < 50; round++) {
            fr in[64], out[64], expected[64];
            for (int i = 0; i < 64; i++) {
                seed = seed * 6364136223846793005 + 1442695040888963407;
                fr_set_u64(&in[i], seed >> 33);
            }
            memcpy(out, in, sizeof out);
            poly->forward_reference(&domain, expected, in);
            assert_int_equal(poly->forward(&domain, out, NULL, NULL, NULL), PM_OK);
            assert_memory_equal(out, expected, sizeof(fr) << log_n);
            assert_int_equal(poly->inverse(&domain, out, NULL, NULL, NULL), PM_OK);
            assert_memory_equal(out, in, sizeof(fr) << log_n);
        }
        pm_domain_destroy(&domain);
    }
}

static void test_limits(void **state) {
    (void)state;
    struct pm_domain domain = {0};
    assert_int_equal(poly->log_n_max, TINY_FR_TWO_ADICITY);
    assert_int_equal(
        pm_domain_create(poly, TINY_FR_TWO_ADICITY + 1, PM_ROOT_SNARKJS, NULL, NULL, &domain, NULL),
        PM_UNSUPPORTED);
    domain = new_domain(TINY_FR_TWO_ADICITY);
    fr vector[64];
    assert_int_equal(poly->to_odd_coset(&domain, vector, NULL, NULL, NULL), PM_UNSUPPORTED);
    pm_domain_destroy(&domain);
}

/* Every coefficient with every witness value from a sample, one record each. */
static void test_matrix_records_of_one_limb(void **state) {
    (void)state;
    static const uint64_t values[] = {0, 1, 2, 77, 7871, 7872}; /* r = 7873 */
    enum { N_VALUES = 6, RECORD = 12 + 8 };
    unsigned char records[N_VALUES * N_VALUES * RECORD];
    fr a[64] = {{{0}}}, b[64] = {{{0}}};
    for (uint32_t i = 0; i < N_VALUES * N_VALUES; i++) {
        const uint32_t matrix = i % 2, row = i, signal = i % N_VALUES;
        fr value;
        fr_set_u64(&value, values[i / N_VALUES]);
        fr_to_mont(&value, value.l); /* R^2 */
        memcpy(records + i * RECORD, &matrix, 4);
        memcpy(records + i * RECORD + 4, &row, 4);
        memcpy(records + i * RECORD + 8, &signal, 4);
        memcpy(records + i * RECORD + 12, &value, 8);
    }
    assert_int_equal(poly->multiply_matrices(a, b, 6, records, N_VALUES * N_VALUES, 1, values,
                                             N_VALUES, NULL, NULL, NULL),
                     PM_OK);
    for (uint32_t i = 0; i < 64; i++) {
        fr expected;
        fr_set_u64(&expected, i < N_VALUES * N_VALUES
                                  ? values[i / N_VALUES] * values[i % N_VALUES] % fr_modulus[0]
                                  : 0);
        assert_true(fr_eq(i % 2 == 0 ? &a[i] : &b[i], &expected));
        assert_true(fr_is_zero(i % 2 == 0 ? &b[i] : &a[i]));
    }
}

/* The only term of a row: its column, and a coefficient of one word. */
struct sample {
    unsigned char term[4 + 8];
};

static const uint64_t sample_values[] = {0, 1, 2, 3, 64, 3936, 7871, 7872}; /* r = 7873 */

static pm_status read_sample(void *argument, uint64_t row, struct pm_sparse_row *out,
                             pm_error *error) {
    struct sample *sample = argument;
    (void)error;
    const uint32_t column = (uint32_t)(row / 8);
    memcpy(sample->term, &column, sizeof column);
    memcpy(sample->term + 4, &sample_values[row % 8], 8);
    *out = (struct pm_sparse_row){.terms = sample->term, .n_terms = 1};
    return PM_OK;
}

/* Every value of the sample times every other, in one limb. */
static void test_sparse_products_of_one_limb(void **state) {
    (void)state;
    struct sample sample;
    const struct pm_sparse_source source = {.fr = &pm_field_fr_tiny_portable,
                                            .n_rows = 64,
                                            .n_columns = 8,
                                            .read_row = read_sample,
                                            .argument = &sample};
    struct pm_sparse_builder builder;
    struct pm_sparse matrix;
    fr out[64];
    assert_int_equal(pm_sparse_count(&source, NULL, NULL, &builder, NULL), PM_OK);
    assert_int_equal(pm_sparse_fill(&builder, NULL, NULL, &matrix, NULL), PM_OK);
    pm_sparse_builder_destroy(&builder);
    assert_int_equal(poly->multiply_sparse(out, 6, &matrix, sample_values, 8, NULL, NULL, NULL),
                     PM_OK);
    for (uint32_t row = 0; row < 64; row++) {
        fr expected;
        fr_set_u64(&expected, sample_values[row / 8] * sample_values[row % 8] % 7873);
        assert_true(fr_eq(&out[row], &expected));
    }
    pm_sparse_destroy(&matrix);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_basis_vector_of_every_size),
        cmocka_unit_test(test_quotients_of_every_size),
        cmocka_unit_test(test_sparse_products_of_one_limb),
        cmocka_unit_test(test_size_two_exhaustively),
        cmocka_unit_test(test_random_vectors_against_the_reference),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_matrix_records_of_one_limb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
