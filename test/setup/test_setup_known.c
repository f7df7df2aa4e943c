/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Development keys against the definition: every point of the zkey and of the params equals the one
 * that support/toy_setup.h computes from the same secrets, term by term; and proofs under them
 * verify.
 */
#include "api/api_internal.h"
#include "groth16/development.h"
#include "io/params.h"
#include "io/r1cs.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"
#include "support/toy_setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED 20240117

static pm_context *context;
static char *tree;

static int suite_open(void **state) {
    (void)state;
    context = toy_context(2, PM_ARITHMETIC_BEST);
    tree = file_make_tree();
    return 0;
}

static int suite_close(void **state) {
    (void)state;
    file_remove_tree(tree);
    pm_context_destroy(context);
    return 0;
}

static void setup(const char *r1cs_path, const char *key_path, pm_key_format format,
                  pm_status expected) {
    pm_error error = PM_ERROR_INIT;
    const pm_setup_known_options options = {
        .struct_bytes = sizeof options, .format = (uint32_t)format, .seed = SEED};
    toy_expect(pm_setup_known_tau(context, r1cs_path, key_path, &options, NULL, &error), expected,
               &error);
}

/* ---- A circuit by definition ----------------------------------------------------------------- */

/* Coefficients of our own circuits are small or minus something small. */
static int64_t small_value(const struct pm_field *fr, const uint8_t *canonical) {
    uint64_t limbs[PM_FR_LIMBS_MAX], mont[PM_FR_LIMBS_MAX];
    memcpy(limbs, canonical, sizeof limbs);
    if ((limbs[1] | limbs[2] | limbs[3]) == 0 && limbs[0] < INT64_MAX) {
        return (int64_t)limbs[0];
    }
    fr->to_mont(mont, canonical, 1);
    fr->neg(mont, mont);
    fr->from_mont(limbs, mont, 1);
    assert_true((limbs[1] | limbs[2] | limbs[3]) == 0 && limbs[0] < INT64_MAX);
    return -(int64_t)limbs[0];
}

/* The rows of a checked constraint system as toy entries, from malloc(). */
static struct toy_entry *read_entries(const struct pm_r1cs *r1cs, size_t *n_entries) {
    const struct pm_field *fr = pm_field_fr(r1cs->curve, PM_BODY_PORTABLE);
    struct toy_entry *entries = calloc(r1cs->n_terms + 1, sizeof *entries);
    const uint8_t *at = r1cs->rows;
    assert_non_null(entries);
    *n_entries = 0;
    for (uint32_t row = 0; row < r1cs->n_constraints; ++row) {
        for (int matrix = TOY_A; matrix <= TOY_C; ++matrix) {
            uint32_t n_terms, wire;
            memcpy(&n_terms, at, sizeof n_terms);
            at += sizeof n_terms;
            for (uint32_t i = 0; i < n_terms; ++i, at += PM_R1CS_TERM_BYTES) {
                memcpy(&wire, at, sizeof wire);
                entries[(*n_entries)++] =
                    (struct toy_entry){.matrix = (enum toy_matrix)matrix,
                                       .row = row,
                                       .column = wire,
                                       .value = small_value(fr, at + sizeof wire)};
            }
        }
    }
    return entries;
}

static void make_oracle(const char *r1cs_path, uint64_t generator, struct toy_key *oracle) {
    pm_error error = PM_ERROR_INIT;
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
    toy_expect(
        pm_mapping_open(r1cs_path, PM_MAPPING_READ, UINT64_MAX, NULL, NULL, &mapping, &error),
        PM_OK, &error);
    toy_expect(pm_r1cs_open(&mapping, NULL, &r1cs, &error), PM_OK, &error);
    struct toy_circuit circuit = {.curve = r1cs.curve,
                                  .n_rows = r1cs.n_constraints,
                                  .n_vars = r1cs.n_wires,
                                  .n_public = r1cs.n_outputs + r1cs.n_public_inputs};
    while ((UINT32_C(1) << circuit.log_n) < circuit.n_rows + circuit.n_public + 1) {
        ++circuit.log_n;
    }
    struct toy_entry *entries = read_entries(&r1cs, &circuit.n_entries);
    circuit.entries = entries;
    struct pm_development_secrets development;
    struct toy_secrets secrets;
    pm_development_secrets_make(pm_curve_get(r1cs.curve, PM_BODY_PORTABLE), SEED, &development);
    memcpy(secrets.tau, development.tau, sizeof secrets.tau);
    memcpy(secrets.alpha, development.alpha, sizeof secrets.alpha);
    memcpy(secrets.beta, development.beta, sizeof secrets.beta);
    memcpy(secrets.gamma, development.gamma, sizeof secrets.gamma);
    memcpy(secrets.delta, development.delta, sizeof secrets.delta);
    toy_setup_from_secrets(&circuit, &secrets, generator, oracle);
    free(entries);
    pm_mapping_close(&mapping);
}

static void expect_points(const uint8_t *found, const void *expected, uint64_t n, size_t bytes) {
    for (uint64_t i = 0; i < n; ++i) {
        assert_memory_equal(found + i * bytes, (const uint8_t *)expected + i * bytes, bytes);
    }
}

static const char *const own[] = {"one", "one_bls", "mult3", "mult3_bls", "nopriv", "nopriv_bls"};
#define N_OWN (sizeof own / sizeof own[0])

static const char *own_path(char path[PM_TEST_PATH_MAX], const char *name, const char *extension) {
    char relative[64];
    (void)snprintf(relative, sizeof relative, "%s/%s.%s", name, name, extension);
    return pm_data_path(path, relative);
}

/* ---- zkey ------------------------------------------------------------------------------------ */

static void prove_with(const pm_key *key, const char *wtns_path) {
    pm_error error = PM_ERROR_INIT;
    pm_witness *witness = NULL;
    pm_vk *vk = NULL;
    pm_proof proof;
    toy_expect(pm_witness_open(context, wtns_path, NULL, &witness, &error), PM_OK, &error);
    toy_expect(pm_vk_from_key(context, key, &vk, &error), PM_OK, &error);
    assert_int_equal(pm_vk_insecure(vk), PM_INSECURE_DEVELOPMENT);
    toy_expect(pm_prove(context, key, witness, NULL, NULL, &proof, NULL, &error), PM_OK, &error);
    pm_vk_destroy(vk);
    pm_witness_destroy(witness);
}

static void zkey_points_equal_their_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < N_OWN; ++i) {
        pm_error error = PM_ERROR_INIT;
        char path[PM_TEST_PATH_MAX];
        const char *key_path = file_in_tree(tree, "known.zkey");
        struct toy_key oracle;
        pm_key *key = NULL;
        own_path(path, own[i], "r1cs");
        make_oracle(path, 5, &oracle);
        setup(path, key_path, PM_KEY_FORMAT_ZKEY, PM_OK);
        toy_expect(pm_key_open(context, key_path, NULL, NULL, &key, &error), PM_OK, &error);
        toy_expect(pm_key_check(context, key, NULL, &error), PM_OK, &error);

        const struct pm_key_parts *parts = &key->zkey.parts;
        const pm_key_arrays *arrays = &oracle.arrays;
        const struct pm_curve *curve = pm_curve_get(parts->curve, PM_BODY_PORTABLE);
        const size_t g1 = curve->g1->affine_bytes, g2 = curve->g2->affine_bytes;
        assert_int_equal(parts->log_n, arrays->log_n);
        assert_int_equal(parts->n_vars, arrays->n_vars);
        assert_int_equal(parts->n_coefficients, arrays->n_coefficients);
        expect_points(parts->alpha_g1, arrays->alpha_g1, 1, g1);
        expect_points(parts->beta_g1, arrays->beta_g1, 1, g1);
        expect_points(parts->delta_g1, arrays->delta_g1, 1, g1);
        expect_points(parts->beta_g2, arrays->beta_g2, 1, g2);
        expect_points(parts->gamma_g2, arrays->gamma_g2, 1, g2);
        expect_points(parts->delta_g2, arrays->delta_g2, 1, g2);
        expect_points(parts->ic, arrays->ic, arrays->n_public + 1, g1);
        expect_points(parts->a, arrays->a, arrays->n_vars, g1);
        expect_points(parts->b1, arrays->b1, arrays->n_vars, g1);
        expect_points(parts->b2, arrays->b2, arrays->n_vars, g2);
        expect_points(parts->c, arrays->c, arrays->n_vars - arrays->n_public - 1, g1);
        expect_points(parts->h, arrays->h, UINT64_C(1) << arrays->log_n, g1);
        prove_with(key, own_path(path, own[i], "wtns"));
        pm_key_destroy(key);
        toy_key_free(&oracle);
    }
}

/* The records of section 4 are those of snarkjs's own key for the circuit. */
static void coefficients_equal_snarkjs(void **state) {
    (void)state;
    for (size_t i = 0; i < N_OWN; ++i) {
        pm_error error = PM_ERROR_INIT;
        char path[PM_TEST_PATH_MAX];
        const char *key_path = file_in_tree(tree, "known.zkey");
        pm_key *ours = NULL, *theirs = NULL;
        setup(own_path(path, own[i], "r1cs"), key_path, PM_KEY_FORMAT_ZKEY, PM_OK);
        toy_expect(pm_key_open(context, key_path, NULL, NULL, &ours, &error), PM_OK, &error);
        own_path(path, own[i], "zkey");
        toy_expect(pm_key_open(context, path, NULL, NULL, &theirs, &error), PM_OK, &error);
        const struct pm_key_parts *a = &ours->zkey.parts, *b = &theirs->zkey.parts;
        assert_int_equal(a->n_coefficients, b->n_coefficients);
        assert_memory_equal(a->coefficients, b->coefficients,
                            a->n_coefficients * PM_ZKEY_COEFFICIENT_BYTES);
        pm_key_destroy(theirs);
        pm_key_destroy(ours);
    }
}

/* ---- params ---------------------------------------------------------------------------------- */

/* The points of `part` against those of points that are not at infinity. */
static void expect_part(const struct pm_params *params, enum pm_params_part part,
                        const uint8_t *points, uint64_t n) {
    pm_error error = PM_ERROR_INIT;
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    const struct pm_group *group = pm_params_part_is_g2(part) ? curve->g2 : curve->g1;
    const uint64_t n_found = params->layout.n[part];
    uint8_t *found = malloc(n_found * group->affine_bytes + 1);
    assert_non_null(found);
    toy_expect(pm_params_decode(params, curve, part, 0, n_found, PM_POINT_CHECK_SUBGROUP, NULL,
                                NULL, found, &error),
               PM_OK, &error);
    uint64_t next = 0;
    for (uint64_t i = 0; i < n; ++i) {
        const uint8_t *point = points + i * group->affine_bytes;
        if (!group->affine_is_infinity(point)) {
            assert_true(next < n_found);
            assert_memory_equal(found + next++ * group->affine_bytes, point, group->affine_bytes);
        }
    }
    assert_int_equal(next, n_found);
    free(found);
}

/* tau^i (tau^m - 1) / delta times the generator, one after another. */
static uint8_t *powers_query(uint32_t log_n, uint64_t n) {
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    const struct pm_field *fr = curve->fr;
    struct pm_development_secrets secrets;
    uint64_t scalar[PM_FR_LIMBS_MAX], canonical[PM_FR_LIMBS_MAX];
    const uint64_t m[1] = {UINT64_C(1) << log_n};
    uint8_t *points = malloc(n * curve->g1->affine_bytes + 1);
    assert_non_null(points);
    pm_development_secrets_make(curve, SEED, &secrets);
    fr->pow(scalar, secrets.tau, m, 1);
    fr->sub(scalar, scalar, fr->one);
    fr->inv(canonical, secrets.delta);
    fr->mul(scalar, scalar, canonical);
    for (uint64_t i = 0; i < n; ++i) {
        struct pm_group_point point;
        fr->from_mont(canonical, scalar, 1);
        curve->g1->from_affine(&point, curve->g1->generator);
        curve->g1->mul(&point, &point, canonical, PM_FR_LIMBS_MAX);
        curve->g1->to_affine(points + i * curve->g1->affine_bytes, &point);
        fr->mul(scalar, scalar, secrets.tau);
    }
    return points;
}

static void params_points_equal_their_definition(void **state) {
    (void)state;
    for (size_t i = 1; i < N_OWN; i += 2) { /* the _bls ones */
        pm_error error = PM_ERROR_INIT;
        char path[PM_TEST_PATH_MAX];
        const char *key_path = file_in_tree(tree, "known.params");
        struct toy_key oracle;
        struct pm_mapping mapping;
        struct pm_params params;
        own_path(path, own[i], "r1cs");
        make_oracle(path, 7, &oracle);
        setup(path, key_path, PM_KEY_FORMAT_PARAMS, PM_OK);
        toy_expect(
            pm_mapping_open(key_path, PM_MAPPING_READ, UINT64_MAX, NULL, NULL, &mapping, &error),
            PM_OK, &error);
        toy_expect(pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, &error), PM_OK, &error);

        const pm_key_arrays *arrays = &oracle.arrays;
        const uint64_t n_ic = arrays->n_public + 1, n_h = (UINT64_C(1) << arrays->log_n) - 1;
        assert_int_equal(params.layout.log_n, arrays->log_n);
        assert_int_equal(params.layout.n[PM_PARAMS_L], arrays->n_vars - n_ic);
        expect_part(&params, PM_PARAMS_ALPHA_G1, arrays->alpha_g1, 1);
        expect_part(&params, PM_PARAMS_BETA_G1, arrays->beta_g1, 1);
        expect_part(&params, PM_PARAMS_BETA_G2, arrays->beta_g2, 1);
        expect_part(&params, PM_PARAMS_GAMMA_G2, arrays->gamma_g2, 1);
        expect_part(&params, PM_PARAMS_DELTA_G1, arrays->delta_g1, 1);
        expect_part(&params, PM_PARAMS_DELTA_G2, arrays->delta_g2, 1);
        expect_part(&params, PM_PARAMS_IC, arrays->ic, n_ic);
        expect_part(&params, PM_PARAMS_L, arrays->c, arrays->n_vars - n_ic);
        expect_part(&params, PM_PARAMS_A, arrays->a, arrays->n_vars);
        expect_part(&params, PM_PARAMS_B_G1, arrays->b1, arrays->n_vars);
        expect_part(&params, PM_PARAMS_B_G2, arrays->b2, arrays->n_vars);
        uint8_t *powers = powers_query(arrays->log_n, n_h);
        expect_part(&params, PM_PARAMS_H, powers, n_h);
        free(powers);
        pm_mapping_close(&mapping);
        toy_key_free(&oracle);
    }
}

static void params_are_for_one_curve(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    setup(own_path(path, "one", "r1cs"), file_in_tree(tree, "wrong.params"), PM_KEY_FORMAT_PARAMS,
          PM_UNSUPPORTED);
    assert_int_not_equal(access(file_in_tree(tree, "wrong.params"), F_OK), 0);
}

/* ---- Boundaries ------------------------------------------------------------------------------ */

/* A growing image. */
struct writer {
    uint8_t *bytes;
    size_t n_bytes;
};

static void put(struct writer *writer, const void *bytes, size_t n) {
    memcpy(writer->bytes + writer->n_bytes, bytes, n);
    writer->n_bytes += n;
}

static void put_u32(struct writer *writer, uint32_t value) {
    put(writer, &value, sizeof value);
}

static void put_section(struct writer *writer, uint32_t type, uint64_t n_bytes) {
    put_u32(writer, type);
    put(writer, &n_bytes, sizeof n_bytes);
}

static void put_wire(struct writer *writer, uint32_t wire) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    put_u32(writer, 1);
    put_u32(writer, wire);
    put(writer, one, sizeof one);
}

/* n_rows rows x_i x_i = x_(i+1); wire 1 is the last x and public, wire 2 the first. */
static void write_squares(const char *path, pm_curve_id curve, uint32_t n_rows) {
    const struct pm_field *fr = pm_field_fr(curve, PM_BODY_PORTABLE);
    const size_t row_bytes = 3 * (4 + PM_R1CS_TERM_BYTES);
    struct writer writer = {.bytes = malloc(4096 + n_rows * row_bytes)};
    assert_non_null(writer.bytes);
    put(&writer, "r1cs", 4);
    put_u32(&writer, 1);
    put_u32(&writer, 2);
    put_section(&writer, 1, 4 + PM_FR_BYTES + 4 * 4 + 8 + 4);
    put_u32(&writer, PM_FR_BYTES);
    put(&writer, fr->modulus, PM_FR_BYTES);
    put_u32(&writer, n_rows + 2); /* wires: one, the last x, and n_rows before it */
    put_u32(&writer, 1);          /* outputs */
    put_u32(&writer, 0);          /* public inputs */
    put_u32(&writer, 1);          /* private inputs */
    const uint64_t n_labels = n_rows + 2;
    put(&writer, &n_labels, sizeof n_labels);
    put_u32(&writer, n_rows);
    put_section(&writer, 2, n_rows * row_bytes);
    for (uint32_t i = 0; i < n_rows; ++i) {
        put_wire(&writer, 2 + i);
        put_wire(&writer, 2 + i);
        put_wire(&writer, i + 1 == n_rows ? 1 : 3 + i);
    }
    file_write(path, writer.bytes, writer.n_bytes);
    free(writer.bytes);
}

static pm_witness *squares_witness(pm_curve_id curve, uint32_t n_rows) {
    pm_error error = PM_ERROR_INIT;
    const struct pm_field *fr = pm_field_fr(curve, PM_BODY_PORTABLE);
    uint8_t *values = calloc(n_rows + 2, PM_FR_BYTES);
    uint64_t x[PM_FR_LIMBS_MAX] = {3};
    pm_witness *witness = NULL;
    assert_non_null(values);
    values[0] = 1;
    fr->to_mont(x, x, 1);
    for (uint32_t i = 0; i <= n_rows; ++i) {
        fr->from_mont(values + (i == n_rows ? 1 : 2 + i) * (size_t)PM_FR_BYTES, x, 1);
        fr->sqr(x, x);
    }
    toy_expect(pm_witness_from_values(context, curve, values, n_rows + 2, NULL, &witness, &error),
               PM_OK, &error);
    free(values);
    return witness;
}

/* Reports A8, A9 and RC1: a domain that is just full, and just too small. */
static void RC1_rows_around_a_power_of_two(void **state) {
    (void)state;
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; ++id) {
        for (uint32_t log_n = 2; log_n <= 7; ++log_n) {
            for (int around = -1; around <= 1; ++around) {
                pm_error error = PM_ERROR_INIT;
                const pm_curve_id curve = (pm_curve_id)id;
                /* rows + public + 1 = 2^log_n + around */
                const uint32_t n_rows = (uint32_t)((1 << log_n) + around - 2);
                const char *r1cs = file_in_tree(tree, "squares.r1cs");
                const char *zkey = file_in_tree(tree, "squares.zkey");
                pm_key *key = NULL;
                pm_proof proof;
                write_squares(r1cs, curve, n_rows);
                setup(r1cs, zkey, PM_KEY_FORMAT_ZKEY, PM_OK);
                toy_expect(pm_key_open(context, zkey, NULL, NULL, &key, &error), PM_OK, &error);
                pm_key_facts facts = {.struct_bytes = sizeof facts};
                assert_int_equal(pm_key_get_facts(key, &facts), PM_OK);
                assert_int_equal(facts.log_n, around <= 0 ? log_n : log_n + 1);
                pm_witness *witness = squares_witness(curve, n_rows);
                toy_expect(pm_prove(context, key, witness, NULL, NULL, &proof, NULL, &error), PM_OK,
                           &error);
                pm_witness_destroy(witness);
                pm_key_destroy(key);
            }
        }
    }
}

/* More points than one chunk holds, so that chunks are put together right. */
static void chunks_join(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    const uint32_t n_rows = (1u << 15) + 700;
    const char *r1cs = file_in_tree(tree, "long.r1cs"), *zkey = file_in_tree(tree, "long.zkey");
    pm_key *key = NULL;
    pm_proof proof;
    write_squares(r1cs, PM_CURVE_BN254, n_rows);
    setup(r1cs, zkey, PM_KEY_FORMAT_ZKEY, PM_OK);
    toy_expect(pm_key_open(context, zkey, NULL, NULL, &key, &error), PM_OK, &error);
    pm_witness *witness = squares_witness(PM_CURVE_BN254, n_rows);
    toy_expect(pm_prove(context, key, witness, NULL, NULL, &proof, NULL, &error), PM_OK, &error);
    pm_witness_destroy(witness);
    pm_key_destroy(key);
}

/* ---- Manners --------------------------------------------------------------------------------- */

static void seeds_make_keys(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    size_t n_bytes[3];
    char *bytes[3];
    own_path(path, "mult3", "r1cs");
    for (size_t i = 0; i < 3; ++i) {
        pm_error error = PM_ERROR_INIT;
        const pm_setup_known_options options = {.struct_bytes = sizeof options, .seed = i / 2};
        const char *key_path = file_in_tree(tree, "seed.zkey");
        toy_expect(pm_setup_known_tau(context, path, key_path, &options, NULL, &error), PM_OK,
                   &error);
        bytes[i] = pm_test_read_file(key_path, &n_bytes[i]);
        assert_non_null(bytes[i]);
    }
    assert_int_equal(n_bytes[0], n_bytes[1]);
    assert_memory_equal(bytes[0], bytes[1], n_bytes[0]);
    assert_true(n_bytes[0] == n_bytes[2]);
    assert_memory_not_equal(bytes[0], bytes[2], n_bytes[0]);
    for (size_t i = 0; i < 3; ++i) {
        free(bytes[i]);
    }
}

static void A17_output_may_not_be_the_input(void **state) {
    (void)state;
    const char *r1cs = file_in_tree(tree, "same.r1cs"), *link = file_in_tree(tree, "link.r1cs");
    size_t before = 0, after = 0;
    write_squares(r1cs, PM_CURVE_BN254, 3);
    assert_int_equal(symlink(r1cs, link), 0);
    char *old = pm_test_read_file(r1cs, &before);
    setup(r1cs, r1cs, PM_KEY_FORMAT_ZKEY, PM_SAME_FILE);
    setup(r1cs, link, PM_KEY_FORMAT_ZKEY, PM_SAME_FILE);
    char *now = pm_test_read_file(r1cs, &after);
    assert_int_equal(before, after);
    assert_memory_equal(old, now, before);
    free(old);
    free(now);
}

static void stop_soon(void *user, const char *phase, uint64_t done, uint64_t total) {
    (void)phase;
    (void)done;
    (void)total;
    volatile int *countdown = user;
    if (--countdown[1] == 0) {
        countdown[0] = 1;
    }
}

/* Cancelled at each of its steps: no file, also no temporary one. */
static void A18_cancelled_setup_leaves_nothing(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    own_path(path, "mult3", "r1cs");
    const char *key_path = file_in_tree(tree, "cancelled.zkey");
    for (int steps = 1;; ++steps) {
        volatile int countdown[2] = {0, steps};
        const pm_control control = {.struct_bytes = sizeof control,
                                    .cancel = &countdown[0],
                                    .progress = stop_soon,
                                    .user = (void *)(uintptr_t)countdown};
        const pm_status status = pm_setup_known_tau(context, path, key_path, NULL, &control, NULL);
        if (status == PM_OK) {
            assert_true(steps > 6);
            break;
        }
        assert_int_equal(status, PM_CANCELLED);
        assert_int_not_equal(access(key_path, F_OK), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zkey_points_equal_their_definition),
        cmocka_unit_test(coefficients_equal_snarkjs),
        cmocka_unit_test(params_points_equal_their_definition),
        cmocka_unit_test(params_are_for_one_curve),
        cmocka_unit_test(RC1_rows_around_a_power_of_two),
        cmocka_unit_test(chunks_join),
        cmocka_unit_test(seeds_make_keys),
        cmocka_unit_test(A17_output_may_not_be_the_input),
        cmocka_unit_test(A18_cancelled_setup_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
