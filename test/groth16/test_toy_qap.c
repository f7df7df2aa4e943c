/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A9, RC1: the numbers that bellman and bellperson publish for a toy circuit over a field of 16
 * bits (bellperson, tests/groth16.rs): the QAP at tau, the quotient's coefficients, and a proof in
 * the exponent. What computes here is what computes for the real curves, over another prime.
 *
 * The circuit is c = a xor b, with the wires one, c, a, b:
 *
 *     (one - a) a = 0,   (one - b) b = 0,   (a + a) b = a + b - c
 */
#include "groth16/prove.h"
#include "groth16/proving_key.h"
#include "groth16/qap.h"
#include "io/r1cs.h"
#include "poly/poly.h"
#include "poly/sparse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define WORDS PM_FR_LIMBS_MAX
#define N_WIRES 4
#define N_INPUTS 2
#define N_ROWS 5 /* three constraints, and one for each input */
#define LOG_N 3
#define N (1 << LOG_N)

extern const struct pm_poly pm_poly_qap_portable;
extern const struct pm_field pm_field_fr_qap_portable;
static const struct pm_poly *const poly = &pm_poly_qap_portable;
static const struct pm_field *const fr = &pm_field_fr_qap_portable;

static const uint64_t PRIME = 64513, TAU = 3673, ALPHA = 48577, BETA = 22580, GAMMA = 53332,
                      DELTA = 5481, BLIND_R = 27134, BLIND_S = 17146;

typedef uint64_t scalar[WORDS]; /* Montgomery form */

static void set(scalar r, uint64_t value) {
    const scalar words = {value};
    fr->to_mont(r, words, 1);
}

static uint64_t value_of(const uint64_t *a) {
    scalar words;
    fr->from_mont(words, a, 1);
    assert_true(words[1] == 0 && words[2] == 0 && words[3] == 0);
    return words[0];
}

/* ---------------------------------------------------------------------------------------------
 * The constraint system, as it would lie in a file
 * ------------------------------------------------------------------------------------------- */

struct file {
    uint8_t bytes[1024];
    size_t n;
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
};

static void put_terms(struct file *file, uint32_t n, const uint64_t terms[][2]) {
    memcpy(file->bytes + file->n, &n, sizeof n);
    file->n += sizeof n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t wire = (uint32_t)terms[i][0];
        const scalar coefficient = {terms[i][1]};
        memcpy(file->bytes + file->n, &wire, sizeof wire);
        memcpy(file->bytes + file->n + sizeof wire, coefficient, sizeof coefficient);
        file->n += PM_R1CS_TERM_BYTES;
    }
}

enum { ONE, C, A, B };

static void make_circuit(struct file *file) {
    *file = (struct file){.n = 0};
    put_terms(file, 2, (const uint64_t[][2]){{ONE, 1}, {A, PRIME - 1}});
    put_terms(file, 1, (const uint64_t[][2]){{A, 1}});
    put_terms(file, 0, NULL);
    put_terms(file, 2, (const uint64_t[][2]){{ONE, 1}, {B, PRIME - 1}});
    put_terms(file, 1, (const uint64_t[][2]){{B, 1}});
    put_terms(file, 0, NULL);
    put_terms(file, 1, (const uint64_t[][2]){{A, 2}});
    put_terms(file, 1, (const uint64_t[][2]){{B, 1}});
    put_terms(file, 3, (const uint64_t[][2]){{A, 1}, {B, 1}, {C, PRIME - 1}});
    file->r1cs = (struct pm_r1cs){.container = {.mapping = &file->mapping},
                                  .n_wires = N_WIRES,
                                  .n_public_inputs = 1,
                                  .n_private_inputs = 2,
                                  .n_constraints = 3,
                                  .rows = file->bytes,
                                  .rows_bytes = file->n};
}

/* ---------------------------------------------------------------------------------------------
 * bellman's dummy engine: both groups are the field, a point is its own logarithm
 * ------------------------------------------------------------------------------------------- */

static void copy_point(void *r, const void *p) {
    memmove(r, p, sizeof(scalar));
}
static void set_infinity(void *r) {
    memset(r, 0, sizeof(scalar));
}
static void neg_point(void *r, const void *p) {
    fr->neg(r, p);
}
static void add_points(void *r, const void *p, const void *q) {
    scalar copy;
    memcpy(copy, q, sizeof copy);
    fr->add(r, p, copy);
}
static void multiply_point(void *r, const void *p, const uint64_t *k, size_t n_limbs) {
    scalar factor;
    assert_int_equal(n_limbs, WORDS);
    fr->to_mont(factor, k, 1);
    fr->mul(r, p, factor);
}

static const struct pm_group exponents = {.name = "qap.exponents",
                                          .affine_bytes = sizeof(scalar),
                                          .set_infinity = set_infinity,
                                          .from_affine = copy_point,
                                          .to_affine = copy_point,
                                          .neg = neg_point,
                                          .add = add_points,
                                          .add_affine = add_points,
                                          .mul = multiply_point};

static const struct pm_curve engine = {.id = PM_CURVE_NONE,
                                       .name = "qap",
                                       .fr = &pm_field_fr_qap_portable,
                                       .g1 = &exponents,
                                       .g2 = &exponents};

/* ---------------------------------------------------------------------------------------------
 * The QAP at tau
 * ------------------------------------------------------------------------------------------- */

static const uint64_t known_columns[3][N_WIRES] = {
    {59158, 48317, 21767, 10402}, {0, 0, 60619, 30791}, {0, 23320, 41193, 41193}};

static void evaluate_qap(struct pm_qap *qap) {
    struct file file;
    scalar tau;
    make_circuit(&file);
    set(tau, TAU);
    assert_int_equal(
        pm_qap_evaluate(&file.r1cs, &engine, PM_ROOT_BELLMAN, tau, NULL, NULL, NULL, qap, NULL),
        PM_OK);
}

static void test_columns_at_tau_are_bellmans(void **state) {
    (void)state;
    struct pm_qap qap;
    evaluate_qap(&qap);
    assert_int_equal(qap.log_n, LOG_N);
    assert_int_equal(qap.n_vars, N_WIRES);
    assert_int_equal(qap.n_public + 1, N_INPUTS);
    uint32_t n_points[3] = {0};
    for (int matrix = 0; matrix < 3; matrix++) {
        for (uint32_t wire = 0; wire < N_WIRES; wire++) {
            const uint64_t value = value_of(qap.columns[matrix] + wire * WORDS);
            assert_int_equal(value, known_columns[matrix][wire]);
            n_points[matrix] += value != 0;
        }
    }
    assert_true(n_points[PM_QAP_A] == 4 && n_points[PM_QAP_B] == 2);
    pm_qap_destroy(&qap);
}

/* ---------------------------------------------------------------------------------------------
 * The quotient
 * ------------------------------------------------------------------------------------------- */

/* a = 1, b = 0. */
static const scalar witness[N_WIRES] = {{1}, {1}, {1}, {0}};
static const uint64_t known_h[N - 1] = {5040, 11763, 10755, 63633, 128, 9747, 8739};

/* Rows of one matrix; the last ones are the inputs', in A. */
struct rows {
    const struct pm_r1cs *r1cs;
    int matrix;
    uint8_t bound[PM_R1CS_TERM_BYTES];
};

static pm_status read_row(void *argument, uint64_t row, struct pm_sparse_row *out,
                          pm_error *error) {
    struct rows *rows = argument;
    (void)error;
    if (row >= rows->r1cs->n_constraints) {
        const uint32_t wire = (uint32_t)(row - rows->r1cs->n_constraints);
        const scalar one = {1};
        memcpy(rows->bound, &wire, sizeof wire);
        memcpy(rows->bound + sizeof wire, one, sizeof one);
        *out = (struct pm_sparse_row){.terms = rows->bound, .n_terms = rows->matrix == PM_QAP_A};
        return PM_OK;
    }
    const uint8_t *at = rows->r1cs->rows;
    struct pm_r1cs_row terms;
    for (uint64_t i = 0; i <= row; i++) {
        at = pm_r1cs_row_read(rows->r1cs, at, &terms);
    }
    *out = (struct pm_sparse_row){.terms = terms.terms[rows->matrix],
                                  .n_terms = terms.n_terms[rows->matrix]};
    return PM_OK;
}

/* One matrix times the witness, on the domain. */
static void multiply(const struct pm_r1cs *r1cs, int matrix, scalar out[N]) {
    struct rows rows = {.r1cs = r1cs, .matrix = matrix};
    const struct pm_sparse_source source = {
        .fr = fr, .n_rows = N_ROWS, .n_columns = N_WIRES, .read_row = read_row, .argument = &rows};
    struct pm_sparse_builder builder;
    struct pm_sparse sparse;
    assert_int_equal(pm_sparse_count(&source, NULL, NULL, &builder, NULL), PM_OK);
    assert_int_equal(pm_sparse_fill(&builder, NULL, NULL, &sparse, NULL), PM_OK);
    assert_int_equal(poly->multiply_sparse(out, LOG_N, &sparse, witness, N_WIRES, NULL, NULL, NULL),
                     PM_OK);
    pm_sparse_destroy(&sparse);
    pm_sparse_builder_destroy(&builder);
}

/* Canonical coefficients. */
static void make_quotient(uint64_t h[N]) {
    struct file file;
    struct pm_domain domain;
    _Alignas(PM_BUFFER_ALIGNMENT) scalar a[N], b[N], c[N];
    make_circuit(&file);
    multiply(&file.r1cs, PM_QAP_A, a);
    multiply(&file.r1cs, PM_QAP_B, b);
    multiply(&file.r1cs, PM_QAP_C, c);
    assert_int_equal(pm_domain_create(poly, LOG_N, PM_ROOT_BELLMAN, NULL, NULL, &domain, NULL),
                     PM_OK);
    assert_int_equal(poly->to_coset(&domain, a, NULL, NULL, NULL), PM_OK);
    assert_int_equal(poly->to_coset(&domain, b, NULL, NULL, NULL), PM_OK);
    poly->mul_vectors(a, a, b, N, NULL);
    assert_int_equal(poly->quotient_coefficients(&domain, a, c, NULL, NULL, NULL), PM_OK);
    for (int i = 0; i < N; i++) {
        assert_true(a[i][1] == 0 && a[i][2] == 0 && a[i][3] == 0);
        h[i] = a[i][0];
    }
    pm_domain_destroy(&domain);
}

static void test_quotient_is_bellmans(void **state) {
    (void)state;
    uint64_t h[N];
    make_quotient(h);
    for (int i = 0; i < N - 1; i++) {
        assert_int_equal(h[i], known_h[i]);
    }
    assert_int_equal(h[N - 1], 0);
}

/* The domain's generator, and the coset: values of x at the eight places. */
static void test_the_domain_is_bellmans(void **state) {
    (void)state;
    struct pm_domain domain;
    _Alignas(PM_BUFFER_ALIGNMENT) scalar x[N], moved[N];
    uint64_t power = 1;
    memset(x, 0, sizeof x);
    set(x[1], 1);
    assert_int_equal(pm_domain_create(poly, LOG_N, PM_ROOT_BELLMAN, NULL, NULL, &domain, NULL),
                     PM_OK);
    assert_int_equal(poly->forward(&domain, x, NULL, NULL, NULL), PM_OK);
    memcpy(moved, x, sizeof moved);
    assert_int_equal(poly->to_coset(&domain, moved, NULL, NULL, NULL), PM_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(value_of(x[i]), power);
        assert_int_equal(value_of(moved[i]), power * 5 % PRIME);
        power = power * 20201 % PRIME;
    }
    assert_int_equal(power, 1);
    pm_domain_destroy(&domain);
}

/* ---------------------------------------------------------------------------------------------
 * A proof in the exponent
 * ------------------------------------------------------------------------------------------- */

/* Plain arithmetic modulo PRIME, apart from the library's. */
static uint64_t mod_mul(uint64_t a, uint64_t b) {
    return a * b % PRIME;
}

static uint64_t mod_pow(uint64_t a, uint64_t e) {
    uint64_t r = 1;
    for (; e > 0; e >>= 1, a = mod_mul(a, a)) {
        r = e & 1 ? mod_mul(r, a) : r;
    }
    return r;
}

static uint64_t mod_div(uint64_t a, uint64_t b) {
    return mod_mul(a, mod_pow(b, PRIME - 2));
}

/* (beta u + alpha v + w) / divisor of one wire: a point of ic or l. */
static uint64_t combined(uint32_t wire, uint64_t divisor) {
    return mod_div((BETA * known_columns[PM_QAP_A][wire] + ALPHA * known_columns[PM_QAP_B][wire] +
                    known_columns[PM_QAP_C][wire]) %
                       PRIME,
                   divisor);
}

/* sum_i h_i H_i, H_i = tau^i (tau^8 - 1) / delta. */
static uint64_t sum_of_h(void) {
    const uint64_t z = mod_pow(TAU, N) + PRIME - 1;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < N - 1; i++) {
        sum += mod_mul(known_h[i], mod_mul(mod_pow(TAU, i), mod_div(z % PRIME, DELTA)));
    }
    return sum % PRIME;
}

static void set_sum(struct pm_group_point *sum, uint64_t value) {
    memset(sum, 0, sizeof *sum);
    set(sum->limb, value);
}

/* The library's assembly of the sums, and with it the two equations of a proof. */
static void test_proof_in_the_exponent(void **state) {
    (void)state;
    scalar alpha, beta, delta;
    set(alpha, ALPHA);
    set(beta, BETA);
    set(delta, DELTA);
    const struct pm_key_header key = {.n_public = 1,
                                      .alpha_g1 = (const uint8_t *)alpha,
                                      .beta_g1 = (const uint8_t *)beta,
                                      .delta_g1 = (const uint8_t *)delta,
                                      .beta_g2 = (const uint8_t *)beta,
                                      .delta_g2 = (const uint8_t *)delta};
    const struct pm_blinding blinding = {.r = {BLIND_R}, .s = {BLIND_S}};
    uint64_t sums_of[2] = {0}, l = 0, ic = 0;
    for (uint32_t wire = 0; wire < N_WIRES; wire++) {
        for (int matrix = PM_QAP_A; matrix <= PM_QAP_B; matrix++) {
            sums_of[matrix] += witness[wire][0] * known_columns[matrix][wire];
        }
        *(wire < N_INPUTS ? &ic : &l) +=
            witness[wire][0] * combined(wire, wire < N_INPUTS ? GAMMA : DELTA);
    }
    struct pm_sums sums;
    struct pm_groth16_proof proof;
    set_sum(&sums.a, sums_of[PM_QAP_A] % PRIME);
    set_sum(&sums.b1, sums_of[PM_QAP_B] % PRIME);
    set_sum(&sums.b2, sums_of[PM_QAP_B] % PRIME);
    set_sum(&sums.l, l % PRIME);
    set_sum(&sums.h, sum_of_h());
    pm_groth16_assemble(&engine, &key, &sums, &blinding, NULL, &proof);
    scalar points[3];
    memcpy(points[0], proof.a, sizeof points[0]);
    memcpy(points[1], proof.b, sizeof points[1]);
    memcpy(points[2], proof.c, sizeof points[2]);
    const uint64_t a = value_of(points[0]), b = value_of(points[1]), c = value_of(points[2]);

    /* C = s A + r B - r s delta + l_0 + sum h_i H_i, with the finished A and B. */
    assert_int_equal(a, (ALPHA + sums_of[PM_QAP_A] + mod_mul(BLIND_R, DELTA)) % PRIME);
    assert_int_equal(b, (BETA + sums_of[PM_QAP_B] + mod_mul(BLIND_S, DELTA)) % PRIME);
    const uint64_t minus_rs_delta = PRIME - mod_mul(mod_mul(BLIND_R, BLIND_S), DELTA);
    assert_int_equal(c, (mod_mul(BLIND_S, a) + mod_mul(BLIND_R, b) + minus_rs_delta +
                         combined(A, DELTA) + sum_of_h()) %
                            PRIME);
    /* e(A, B) = e(alpha, beta) e(ic, gamma) e(C, delta) */
    assert_int_equal(mod_mul(a, b),
                     (mod_mul(ALPHA, BETA) + mod_mul(ic % PRIME, GAMMA) + mod_mul(c, DELTA)) %
                         PRIME);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_domain_is_bellmans),
        cmocka_unit_test(test_columns_at_tau_are_bellmans),
        cmocka_unit_test(test_quotient_is_bellmans),
        cmocka_unit_test(test_proof_in_the_exponent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
