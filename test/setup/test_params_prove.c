/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs under development keys in bellman's format, by a prover written here from the description
 * of bellman's reduction: explicit c, seven transforms, division by the vanishing polynomial on the
 * coset of 7, queries without the points at infinity. They verify under the file's verifying key.
 */
#include "api/api_internal.h"
#include "io/params.h"
#include "io/r1cs.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LIMBS PM_FR_LIMBS_MAX

struct subject {
    pm_context *context;
    struct pm_kernels kernels;
    struct pm_mapping r1cs_mapping, params_mapping;
    struct pm_r1cs r1cs;
    struct pm_params params;
    pm_witness *witness;
    uint64_t n, n_inputs; /* domain; inputs with the constant one */
    bool *in_a, *in_b;    /* by wire */
    void *vectors[3];     /* a, b, c: n Montgomery scalars each */
};

static void *allocate(uint64_t n, size_t bytes) {
    void *block = NULL;
    assert_int_equal(
        pm_memory_alloc_array(NULL, "test", n + 1, bytes, PM_MEMORY_PLAIN, &block, NULL), PM_OK);
    return block;
}

static uint64_t *element(void *vector, uint64_t i) {
    return (uint64_t *)vector + i * LIMBS;
}

/* a, b and c by rows, the input rows behind, and which wires occur in A and B. */
static void evaluate(struct subject *subject) {
    const struct pm_r1cs *r1cs = &subject->r1cs;
    const struct pm_field *fr = subject->kernels.curve->fr;
    const uint8_t *at = r1cs->rows;
    for (uint64_t row = 0; row < r1cs->n_constraints; ++row) {
        struct pm_r1cs_row terms;
        at = pm_r1cs_row_read(r1cs, at, &terms);
        for (int matrix = 0; matrix < 3; ++matrix) {
            for (uint32_t i = 0; i < terms.n_terms[matrix]; ++i) {
                const uint8_t *term = terms.terms[matrix] + (size_t)i * PM_R1CS_TERM_BYTES;
                const uint32_t wire = pm_r1cs_term_wire(r1cs, term);
                uint64_t value[LIMBS], w[LIMBS], *sum = element(subject->vectors[matrix], row);
                fr->to_mont(value, term + 4, 1);
                fr->to_mont(w, subject->witness->values + (size_t)wire * PM_FR_BYTES, 1);
                fr->mul(value, value, w);
                fr->add(sum, sum, value);
                subject->in_a[wire] |= matrix == 0;
                subject->in_b[wire] |= matrix == 1;
            }
        }
    }
    for (uint64_t k = 0; k < subject->n_inputs; ++k) {
        fr->to_mont(element(subject->vectors[0], r1cs->n_constraints + k),
                    subject->witness->values + k * PM_FR_BYTES, 1);
        subject->in_a[k] = true;
    }
}

static void small_scalar(const struct pm_field *fr, uint64_t value, uint64_t r[LIMBS]) {
    const uint64_t canonical[LIMBS] = {value};
    fr->to_mont(r, canonical, 1);
}

/* The canonical coefficients of h, in vectors[0]; the last is zero. */
static void divide(struct subject *subject) {
    const struct pm_poly *poly = subject->kernels.poly;
    const struct pm_field *fr = subject->kernels.curve->fr;
    struct pm_domain domain;
    uint64_t seven[LIMBS], inverse_seven[LIMBS], z[LIMBS];
    const uint64_t m[1] = {subject->n};
    assert_int_equal(pm_domain_create(poly, subject->params.layout.log_n, PM_ROOT_BELLMAN, NULL,
                                      NULL, &domain, NULL),
                     PM_OK);
    small_scalar(fr, 7, seven);
    fr->inv(inverse_seven, seven);
    fr->pow(z, seven, m, 1);
    fr->sub(z, z, fr->one);
    fr->inv(z, z);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(poly->inverse(&domain, subject->vectors[i], NULL, NULL, NULL), PM_OK);
        poly->scale_by_powers(&domain, subject->vectors[i], seven, fr->one, NULL);
        assert_int_equal(poly->forward(&domain, subject->vectors[i], NULL, NULL, NULL), PM_OK);
    }
    for (uint64_t i = 0; i < subject->n; ++i) {
        uint64_t *h = element(subject->vectors[0], i);
        fr->mul(h, h, element(subject->vectors[1], i));
        fr->sub(h, h, element(subject->vectors[2], i));
        fr->mul(h, h, z);
    }
    assert_int_equal(poly->inverse(&domain, subject->vectors[0], NULL, NULL, NULL), PM_OK);
    poly->scale_by_powers(&domain, subject->vectors[0], inverse_seven, fr->one, NULL);
    fr->from_mont(subject->vectors[0], subject->vectors[0], subject->n);
    static const uint64_t zero[LIMBS];
    assert_memory_equal(element(subject->vectors[0], subject->n - 1), zero, sizeof zero);
    pm_domain_destroy(&domain);
}

/* The sum of a part's points times scalars. */
static struct pm_group_point sum_of(const struct subject *subject, enum pm_params_part part,
                                    const void *scalars, uint64_t n_scalars) {
    pm_error error = PM_ERROR_INIT;
    const enum pm_msm_group group = pm_params_part_is_g2(part) ? PM_MSM_G2 : PM_MSM_G1;
    const uint64_t n = subject->params.layout.n[part];
    assert_int_equal(n, n_scalars);
    void *points = allocate(n, pm_params_point_bytes(part));
    toy_expect(pm_params_decode(&subject->params, subject->kernels.curve, part, 0, n,
                                PM_POINT_CHECK_CURVE, subject->kernels.team, NULL, points, &error),
               PM_OK, &error);
    void *scratch =
        allocate(subject->kernels.msm->bytes(group, n, pm_team_threads(subject->kernels.team)), 1);
    struct pm_group_point sum;
    toy_expect(subject->kernels.msm->run(group, points, scalars, n, subject->kernels.team, scratch,
                                         NULL, &sum, &error),
               PM_OK, &error);
    pm_memory_free(scratch);
    pm_memory_free(points);
    return sum;
}

/* The witness values of the wires that occur; how many they are. */
static uint64_t pick(const struct subject *subject, const bool *occurs, uint8_t *scalars) {
    uint64_t n = 0;
    for (uint64_t wire = 0; wire < subject->r1cs.n_wires; ++wire) {
        if (occurs[wire]) {
            memcpy(scalars + n++ * PM_FR_BYTES, subject->witness->values + wire * PM_FR_BYTES,
                   PM_FR_BYTES);
        }
    }
    return n;
}

static void header_point(const struct subject *subject, enum pm_params_part part,
                         struct pm_group_point *point) {
    uint8_t affine[PM_G2_BYTES_MAX];
    const struct pm_group *group =
        pm_params_part_is_g2(part) ? subject->kernels.curve->g2 : subject->kernels.curve->g1;
    assert_int_equal(pm_params_decode(&subject->params, subject->kernels.curve, part, 0, 1,
                                      PM_POINT_CHECK_SUBGROUP, NULL, NULL, affine, NULL),
                     PM_OK);
    group->from_affine(point, affine);
}

/* *sum += header point + k * delta. */
static void blind(const struct subject *subject, const struct pm_group *group,
                  struct pm_group_point *sum, enum pm_params_part first,
                  enum pm_params_part delta_part, uint64_t k) {
    struct pm_group_point point;
    header_point(subject, first, &point);
    group->add(sum, sum, &point);
    header_point(subject, delta_part, &point);
    group->mul(&point, &point, &k, 1);
    group->add(sum, sum, &point);
}

static void encode(const struct pm_group *group, const struct pm_group_point *point, uint8_t *out) {
    uint8_t affine[PM_G2_BYTES_MAX];
    group->to_affine(affine, point);
    group->encode(out, PM_POINT_CANONICAL_LE, affine);
}

/* With r = 11 and s = 13: C = L + H + s A + r B1 - r s delta. */
static void assemble(const struct subject *subject, pm_proof *proof) {
    const uint64_t r = 11, s = 13, r_s = r * s;
    const struct pm_group *g1 = subject->kernels.curve->g1, *g2 = subject->kernels.curve->g2;
    uint8_t *scalars = allocate(subject->r1cs.n_wires, PM_FR_BYTES);
    uint64_t n = pick(subject, subject->in_a, scalars);
    struct pm_group_point a = sum_of(subject, PM_PARAMS_A, scalars, n);
    n = pick(subject, subject->in_b, scalars);
    struct pm_group_point b1 = sum_of(subject, PM_PARAMS_B_G1, scalars, n);
    struct pm_group_point b2 = sum_of(subject, PM_PARAMS_B_G2, scalars, n);
    struct pm_group_point c =
        sum_of(subject, PM_PARAMS_L, subject->witness->values + subject->n_inputs * PM_FR_BYTES,
               subject->r1cs.n_wires - subject->n_inputs);
    struct pm_group_point term = sum_of(subject, PM_PARAMS_H, subject->vectors[0], subject->n - 1);
    g1->add(&c, &c, &term);
    blind(subject, g1, &a, PM_PARAMS_ALPHA_G1, PM_PARAMS_DELTA_G1, r);
    blind(subject, g1, &b1, PM_PARAMS_BETA_G1, PM_PARAMS_DELTA_G1, s);
    blind(subject, g2, &b2, PM_PARAMS_BETA_G2, PM_PARAMS_DELTA_G2, s);
    g1->mul(&term, &a, &s, 1);
    g1->add(&c, &c, &term);
    g1->mul(&term, &b1, &r, 1);
    g1->add(&c, &c, &term);
    header_point(subject, PM_PARAMS_DELTA_G1, &term);
    g1->mul(&term, &term, &r_s, 1);
    g1->neg(&term, &term);
    g1->add(&c, &c, &term);
    *proof = (pm_proof){.struct_bytes = sizeof *proof, .curve = PM_CURVE_BLS12_381};
    encode(g1, &a, proof->a);
    encode(g2, &b2, proof->b);
    encode(g1, &c, proof->c);
    pm_memory_free(scalars);
}

static void subject_open(struct subject *subject, const char *folder, const char *name,
                         const char *tree) {
    pm_error error = PM_ERROR_INIT;
    char path[PM_TEST_PATH_MAX];
    const pm_setup_known_options options = {
        .struct_bytes = sizeof options, .format = PM_KEY_FORMAT_PARAMS, .seed = 3};
    const char *key = file_in_tree(tree, "key.params");
    memset(subject, 0, sizeof *subject);
    subject->context = toy_context(2, PM_ARITHMETIC_BEST);
    (void)snprintf(path, sizeof path, "%s/%s.r1cs", folder, name);
    toy_expect(pm_setup_known_tau(subject->context, path, key, &options, NULL, &error), PM_OK,
               &error);
    toy_expect(pm_mapping_open(path, PM_MAPPING_READ, UINT64_MAX, NULL, NULL,
                               &subject->r1cs_mapping, &error),
               PM_OK, &error);
    toy_expect(pm_r1cs_open(&subject->r1cs_mapping, NULL, &subject->r1cs, &error), PM_OK, &error);
    toy_expect(pm_mapping_open(key, PM_MAPPING_READ, UINT64_MAX, NULL, NULL,
                               &subject->params_mapping, &error),
               PM_OK, &error);
    toy_expect(pm_params_open(&subject->params_mapping, PM_PARAMS_WHOLE, &subject->params, &error),
               PM_OK, &error);
    toy_expect(pm_kernels_get(subject->r1cs.curve, subject->context->body, subject->context->team,
                              &subject->kernels, &error),
               PM_OK, &error);
    (void)snprintf(path, sizeof path, "%s/%s.wtns", folder, name);
    toy_expect(pm_witness_open(subject->context, path, NULL, &subject->witness, &error), PM_OK,
               &error);
    subject->n = UINT64_C(1) << subject->params.layout.log_n;
    subject->n_inputs = (uint64_t)subject->r1cs.n_outputs + subject->r1cs.n_public_inputs + 1;
    subject->in_a = allocate(subject->r1cs.n_wires, sizeof(bool));
    subject->in_b = allocate(subject->r1cs.n_wires, sizeof(bool));
    for (int i = 0; i < 3; ++i) {
        subject->vectors[i] = allocate(subject->n, PM_FR_BYTES);
    }
}

static void subject_close(struct subject *subject) {
    for (int i = 0; i < 3; ++i) {
        pm_memory_free(subject->vectors[i]);
    }
    pm_memory_free(subject->in_b);
    pm_memory_free(subject->in_a);
    pm_witness_destroy(subject->witness);
    pm_mapping_close(&subject->params_mapping);
    pm_mapping_close(&subject->r1cs_mapping);
    pm_context_destroy(subject->context);
}

static void check_circuit(const char *folder, const char *name) {
    pm_error error = PM_ERROR_INIT;
    struct subject subject;
    pm_proof proof;
    pm_vk *vk = NULL;
    char *tree = file_make_tree();
    print_message("%s\n", name);
    subject_open(&subject, folder, name, tree);
    evaluate(&subject);
    divide(&subject);
    assemble(&subject, &proof);
    toy_expect(pm_vk_from_bellman(subject.context, subject.params_mapping.bytes,
                                  subject.params_mapping.n_bytes, 1, &vk, &error),
               PM_OK, &error);
    assert_int_equal(pm_vk_insecure(vk), PM_INSECURE_DEVELOPMENT);
    uint8_t *publics = subject.witness->values + PM_FR_BYTES;
    toy_expect(pm_verify(subject.context, vk, publics, subject.n_inputs - 1, &proof, &error), PM_OK,
               &error);
    if (subject.n_inputs > 1) {
        publics[0] ^= 1;
        toy_expect(pm_verify(subject.context, vk, publics, subject.n_inputs - 1, &proof, &error),
                   PM_PROOF_INVALID, &error);
    }
    pm_vk_destroy(vk);
    subject_close(&subject);
    file_remove_tree(tree);
}

static void own_circuits_prove_by_bellmans_reduction(void **state) {
    (void)state;
    static const char *const names[] = {"one_bls", "mult3_bls", "nopriv_bls"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char folder[PM_TEST_PATH_MAX];
        check_circuit(pm_data_path(folder, names[i]), names[i]);
    }
}

static void larger_circuits_prove_by_bellmans_reduction(void **state) {
    (void)state;
    static const char *const names[] = {"own_mimc_bls", "multipub_bls", "poseidon2_bls",
                                        "eddsa_bls"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char folder[PM_TEST_PATH_MAX], relative[64];
        (void)snprintf(relative, sizeof relative, "small/%s", names[i]);
        if (!pm_fixture_path(folder, relative)) {
            pm_say_skip("no fixtures (PM_FIXTURES): larger params keys not proved with");
            skip();
        }
        check_circuit(folder, names[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_circuits_prove_by_bellmans_reduction),
        cmocka_unit_test(larger_circuits_prove_by_bellmans_reduction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
