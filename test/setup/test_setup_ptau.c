/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include <proofmill/proofmill.h>

#include "base/blake2b.h"
#include "base/clock.h"
#include "ff/field.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/known_ptau.h"
#include "support/outcomes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static pm_context *context;
static char *tree;
static const char *zkey_path;

static int make_tree(void **state) {
    (void)state;
    tree = file_make_tree();
    zkey_path = strdup(file_in_tree(tree, "key.zkey"));
    return 0;
}

static int remove_tree(void **state) {
    (void)state;
    free((void *)zkey_path);
    file_remove_tree(tree);
    return 0;
}

/* snarkjs's own powers of tau of power 4, in the repository. */
static const char *ptau_of_4(pm_curve_id curve, char path[PM_TEST_PATH_MAX]) {
    char name[64];
    (void)snprintf(name, sizeof name, "ptau/%s_4.ptau", pm_curve_name(curve));
    return pm_data_path(path, name);
}

static void expect_digest(const char *path, const char *hex) {
    size_t n_bytes = 0;
    char *bytes = pm_test_read_file(path, &n_bytes);
    struct pm_blake2b state;
    uint8_t digest[64];
    char text[2 * sizeof digest + 1];
    assert_non_null(bytes);
    pm_blake2b_init(&state, sizeof digest);
    pm_blake2b_update(&state, bytes, n_bytes);
    pm_blake2b_final(&state, digest);
    for (size_t i = 0; i < sizeof digest; ++i) {
        (void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
    }
    assert_string_equal(text, hex);
    free(bytes);
}

static void expect_setup(const char *r1cs, const char *ptau, pm_status expected, const char *first,
                         const char *second) {
    pm_error error = PM_ERROR_INIT;
    const uint64_t begin_ns = outcome_cpu_ns();
    const pm_status status = pm_setup_ptau(context, r1cs, ptau, zkey_path, NULL, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status != PM_OK) {
        assert_true(outcome_cpu_ns() - begin_ns < OUTCOME_CPU_NS_MAX);
        assert_int_not_equal(access(zkey_path, F_OK), 0);
    }
}

/* BLAKE2b-512 of what `snarkjs groth16 setup` 0.7.6 makes of the circuit and its power of 4. */
static void E2_keys_are_those_of_snarkjs(void **state) {
    (void)state;
    static const struct {
        pm_curve_id curve;
        const char *r1cs, *digest;
    } keys[] = {
        {PM_CURVE_BN254, "one/one.r1cs",
         "90bbbb731261adb7ee1d9c9cd490a427f0d55ca5f123337209e058ebbf91d96d"
         "6f731e18b37fe58b35dba40b3fbfaf465b4030571f6d38881528d00ff8fe5c57"},
        {PM_CURVE_BLS12_381, "one_bls/one_bls.r1cs",
         "1710e373122c2202c598523430a926d761ffdc3f42d0256a51c1f8dce6b3586e"
         "575b2eeb317e512e72854f733573fef17773564969cd6824f940bffb9870dbd2"},
        {PM_CURVE_BN254, "mult3/mult3.r1cs",
         "7523722c72f0fbad626da260ce9c5016e690f7007f4cfb92dafdb212653e2f4f"
         "5da03c9eb2a0e80eff5ad26d333f64053792efc568190286452b2d01f94f7b05"},
        {PM_CURVE_BLS12_381, "mult3_bls/mult3_bls.r1cs",
         "14acfc32108f4e0c13c4e261a29250dcfe2d48bb4a7cac7bd349a5a15547cb8b"
         "9b43175e592c10b46b6cb94b3cff94875be90f1467bb42297fea0e046ef7bd86"},
        {PM_CURVE_BN254, "nopriv/nopriv.r1cs",
         "1a32499f1a8ab7792c24a4632fe47fdccb59c7e4246069fdd616c0a3591e1473"
         "cef6a3fff42ad4e5f4248c802c6f67f23d60128ca2f8838c72eaefb6306e9977"},
        {PM_CURVE_BLS12_381, "nopriv_bls/nopriv_bls.r1cs",
         "76dca9b4db168b90541222d20684f5d7859c716f4094780fa00affb894a242c2"
         "3af4bca415ade5bac8abe8b63ddbe3ab9eb7d520834d5818c8ccb6ee1233c964"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        char r1cs[PM_TEST_PATH_MAX], ptau[PM_TEST_PATH_MAX];
        expect_setup(pm_data_path(r1cs, keys[i].r1cs), ptau_of_4(keys[i].curve, ptau), PM_OK, NULL,
                     NULL);
        expect_digest(zkey_path, keys[i].digest);
        assert_int_equal(unlink(zkey_path), 0);
    }
}

static const char *const mimc_digests[] = {
    "be556d16768680f81823ac201841cbd3279519c413cba08a6d57cc19ff41f7cf"
    "bb027aaaef43d37015df6fa3d1653f96710243fa22345ef438c9d9c1cd217420",
    "e455a4cc13b9013d6bafb3a3056484ae7f0d39e62d6f45e235daf9cb23367e4f"
    "05a139eef45cfdcf919bcf975e134cce2ddbf93dcdd47a1fc5e37c22b185d0e4"};

/* The circuit fills half of 2^11: powers of exactly that and one more, any number of threads, both
 * bodies. */
static void E2_any_power_threads_and_arithmetic(void **state) {
    (void)state;
    char r1cs[PM_TEST_PATH_MAX];
    const char *ptau = file_in_tree(tree, "known.ptau");
    (void)pm_data_path(r1cs, "own_mimc/own_mimc.r1cs");
    for (uint32_t power = 11; power <= 12; ++power) {
        known_ptau_write(ptau, PM_CURVE_BN254, power, true, 2);
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            const pm_context_options options = {.struct_bytes = (uint32_t)sizeof options,
                                                .threads = threads,
                                                .arithmetic = threads == 1 ? PM_ARITHMETIC_PORTABLE
                                                                           : PM_ARITHMETIC_BEST};
            pm_context *other = NULL;
            pm_error error = PM_ERROR_INIT;
            assert_int_equal(pm_context_create(&options, &other, &error), PM_OK);
            file_expect(pm_setup_ptau(other, r1cs, ptau, zkey_path, NULL, &error), PM_OK, &error,
                        NULL, NULL, NULL);
            pm_context_destroy(other);
            expect_digest(zkey_path, mimc_digests[power - 11]);
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * A chain of squarings of any length: wire 1 is public, wire i + 2 is the square of wire i + 1.
 * ------------------------------------------------------------------------------------------- */

struct growing {
    uint8_t *bytes;
    size_t n;
};

static void grow(struct growing *file, const void *bytes, size_t n) {
    memcpy(file->bytes + file->n, bytes, n);
    file->n += n;
}

static void grow_u32(struct growing *file, uint32_t value) {
    grow(file, &value, sizeof value);
}

static void grow_term(struct growing *file, uint32_t wire) {
    const uint8_t one[PM_FR_BYTES] = {1};
    grow_u32(file, 1);
    grow_u32(file, wire);
    grow(file, one, sizeof one);
}

static void write_chain_r1cs(const char *path, pm_curve_id curve, uint32_t n_rows) {
    const uint64_t rows_bytes = (uint64_t)n_rows * 3 * 40, header_bytes = 64, n_labels = 0;
    struct growing file = {.bytes = malloc(200 + rows_bytes)};
    grow(&file, "r1cs", 4);
    grow_u32(&file, 1);
    grow_u32(&file, 2);
    grow_u32(&file, 1);
    grow(&file, &header_bytes, 8);
    grow_u32(&file, PM_FR_BYTES);
    grow(&file, pm_field_fr(curve, PM_BODY_PORTABLE)->modulus, PM_FR_BYTES);
    grow_u32(&file, n_rows + 2);
    grow_u32(&file, 0);
    grow_u32(&file, 1);
    grow_u32(&file, 0);
    grow(&file, &n_labels, 8);
    grow_u32(&file, n_rows);
    grow_u32(&file, 2);
    grow(&file, &rows_bytes, 8);
    for (uint32_t i = 0; i < n_rows; ++i) {
        grow_term(&file, i + 1);
        grow_term(&file, i + 1);
        grow_term(&file, i + 2);
    }
    file_write(path, file.bytes, file.n);
    free(file.bytes);
}

static pm_witness *chain_witness(pm_curve_id curve, uint32_t n_rows) {
    const struct pm_field *fr = pm_field_fr(curve, PM_BODY_PORTABLE);
    uint8_t *values = calloc((size_t)n_rows + 2, PM_FR_BYTES);
    uint64_t x[4] = {3};
    pm_witness *witness = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_non_null(values);
    fr->to_mont(x, x, 1);
    fr->from_mont(values, fr->one, 1);
    for (uint32_t i = 1; i < n_rows + 2; ++i) {
        fr->from_mont(values + (size_t)i * PM_FR_BYTES, x, 1);
        fr->sqr(x, x);
    }
    file_expect(pm_witness_from_values(context, curve, values, n_rows + 2, NULL, &witness, &error),
                PM_OK, &error, NULL, NULL, NULL);
    free(values);
    return witness;
}

/* A proof that verified itself: the key is good. */
static void expect_proof(pm_curve_id curve, uint32_t n_rows) {
    pm_key *key = NULL;
    pm_error error = PM_ERROR_INIT;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    pm_witness *witness = chain_witness(curve, n_rows);
    file_expect(pm_key_open(context, zkey_path, NULL, NULL, &key, &error), PM_OK, &error, NULL,
                NULL, NULL);
    file_expect(pm_key_check(context, key, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_prove(context, key, witness, NULL, NULL, &proof, NULL, &error), PM_OK, &error,
                NULL, NULL, NULL);
    pm_witness_destroy(witness);
    pm_key_destroy(key);
}

/* Constraints, public signals and the constant one together 2^5 - 1, 2^5 and 2^5 + 1. */
static void A8_RC1_the_boundary_of_a_domain(void **state) {
    (void)state;
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    for (int i = 0; i < 12; ++i) {
        const pm_curve_id curve = curves[i / 6];
        const uint32_t power = 5 + (uint32_t)i / 3 % 2, n_used = 31 + (uint32_t)i % 3;
        const char *r1cs = file_in_tree(tree, "chain.r1cs"), *ptau = file_in_tree(tree, "a.ptau");
        known_ptau_write(ptau, curve, power, true, 2);
        write_chain_r1cs(r1cs, curve, n_used - 2);
        if (n_used > 32 && power == 5) {
            expect_setup(r1cs, ptau, PM_COUNT, "ptau too small",
                         "has power 5, the circuit needs 6");
            continue;
        }
        expect_setup(r1cs, ptau, PM_OK, NULL, NULL);
        expect_proof(curve, n_used - 2);
        assert_int_equal(unlink(zkey_path), 0);
    }
}

/* No constraint at all: snarkjs's smallest domain is 2. */
static void B10_no_constraint(void **state) {
    (void)state;
    char ptau[PM_TEST_PATH_MAX];
    const char *r1cs = file_in_tree(tree, "empty.r1cs");
    write_chain_r1cs(r1cs, PM_CURVE_BN254, 0);
    expect_setup(r1cs, ptau_of_4(PM_CURVE_BN254, ptau), PM_OK, NULL, NULL);
    expect_proof(PM_CURVE_BN254, 0);
}

static void E5_files_that_do_not_belong_together(void **state) {
    (void)state;
    char r1cs[PM_TEST_PATH_MAX], bls[PM_TEST_PATH_MAX], ptau[PM_TEST_PATH_MAX];
    const char *bare = file_in_tree(tree, "bare.ptau");
    (void)pm_data_path(r1cs, "mult3/mult3.r1cs");
    (void)pm_data_path(bls, "mult3_bls/mult3_bls.r1cs");
    (void)ptau_of_4(PM_CURVE_BN254, ptau);
    expect_setup(bls, ptau, PM_CURVE, "bn128", "bls12381");
    expect_setup(ptau, r1cs, PM_NOT_THIS_KIND, "not a .ptau file", ".r1cs");
    expect_setup(r1cs, file_in_tree(tree, "none.ptau"), PM_IO, NULL, NULL);
    expect_setup(file_in_tree(tree, "none.r1cs"), ptau, PM_IO, NULL, NULL);
    known_ptau_write(bare, PM_CURVE_BN254, 4, false, 1);
    expect_setup(r1cs, bare, PM_SECTION, "not prepared for phase 2",
                 "snarkjs powersoftau prepare phase2");
    (void)pm_data_path(r1cs, "own_mimc/own_mimc.r1cs");
    expect_setup(r1cs, ptau, PM_COUNT, "has power 4, the circuit needs 11", NULL);
}

/* Cuts one of the inputs where a section begins or ends, and a byte before and after. */
static void expect_refusals(const char *name, bool is_ptau, const char *other) {
    struct file_image file;
    const char *cut = file_in_tree(tree, "cut");
    file.bytes = (uint8_t *)pm_test_read_file(name, &file.n_bytes);
    assert_non_null(file.bytes);
    for (uint32_t type = 1; type <= (is_ptau ? 15 : 3); ++type) {
        if (type > 7 && type < 12) {
            continue;
        }
        size_t n_bytes = 0;
        const size_t begin = file_section(&file, type, &n_bytes);
        const size_t edges[] = {begin - 12, begin, begin + n_bytes};
        for (size_t i = 0; i < 9; ++i) {
            const size_t n = edges[i / 3] + i % 3 - 1;
            if (n >= file.n_bytes) {
                continue;
            }
            file_write(cut, file.bytes, n);
            pm_error error = PM_ERROR_INIT;
            const pm_status status =
                is_ptau ? pm_setup_ptau(context, other, cut, zkey_path, NULL, &error)
                        : pm_setup_ptau(context, cut, other, zkey_path, NULL, &error);
            file_expect(status, PM_TRUNCATED, &error, "section", NULL, NULL);
            assert_string_equal(error.file, cut);
            assert_true(error.need > error.have || n < 12);
            assert_int_not_equal(access(zkey_path, F_OK), 0);
        }
    }
    free(file.bytes);
}

static void B7_RC6_truncated_inputs(void **state) {
    (void)state;
    char r1cs[PM_TEST_PATH_MAX], ptau[PM_TEST_PATH_MAX];
    (void)pm_data_path(r1cs, "mult3_bls/mult3_bls.r1cs");
    (void)ptau_of_4(PM_CURVE_BLS12_381, ptau);
    expect_refusals(ptau, true, r1cs);
    expect_refusals(r1cs, false, ptau);
}

static void A17_the_output_is_no_input(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    size_t n_r1cs = 0, n_after = 0;
    char *bytes = pm_test_read_file(pm_data_path(path, "mult3/mult3.r1cs"), &n_r1cs);
    const char *r1cs = file_in_tree(tree, "a.r1cs"), *hard = file_in_tree(tree, "hard");
    const char *soft = file_in_tree(tree, "soft");
    file_write(r1cs, bytes, n_r1cs);
    assert_int_equal(link(r1cs, hard), 0);
    assert_int_equal(symlink("a.r1cs", soft), 0);
    const char *const outputs[] = {r1cs, hard, soft};
    for (size_t i = 0; i < 6; ++i) {
        pm_error error = PM_ERROR_INIT;
        const char *other = ptau_of_4(PM_CURVE_BN254, path);
        const pm_status status =
            i < 3 ? pm_setup_ptau(context, r1cs, other, outputs[i], NULL, &error)
                  : pm_setup_ptau(context, other, r1cs, outputs[i - 3], NULL, &error);
        file_expect(status, PM_SAME_FILE, &error, "same file", NULL, NULL);
    }
    char *after = pm_test_read_file(r1cs, &n_after);
    assert_int_equal(n_after, n_r1cs);
    assert_memory_equal(after, bytes, n_r1cs);
    free(after);
    free(bytes);
}

static void A18_stopped_setups_leave_no_file(void **state) {
    (void)state;
    char r1cs[PM_TEST_PATH_MAX];
    const char *ptau = file_in_tree(tree, "known.ptau");
    const int stop = 1;
    (void)pm_data_path(r1cs, "own_mimc/own_mimc.r1cs");
    known_ptau_write(ptau, PM_CURVE_BN254, 11, true, 2);
    pm_control control = {.struct_bytes = (uint32_t)sizeof control, .cancel = &stop};
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_setup_ptau(context, r1cs, ptau, zkey_path, &control, &error), PM_CANCELLED);
    assert_int_not_equal(access(zkey_path, F_OK), 0);
    control.cancel = NULL;
    for (uint64_t ms = 1; ms < 100; ms *= 3) {
        const uint64_t start_ns = pm_clock_now_ns();
        control.deadline_ns = start_ns + ms * 1000000;
        const pm_status status = pm_setup_ptau(context, r1cs, ptau, zkey_path, &control, &error);
        assert_true(status == PM_OK || status == PM_DEADLINE);
        assert_int_equal(access(zkey_path, F_OK) == 0, status == PM_OK);
        assert_true(pm_clock_now_ns() - start_ns < UINT64_C(30000000000));
        (void)unlink(zkey_path);
    }
}

/* After a kill at any time there is a whole key or none. */
static void A18_killed_setups_leave_no_file(void **state) {
    (void)state;
    char r1cs[PM_TEST_PATH_MAX];
    const char *ptau = file_in_tree(tree, "known.ptau");
    (void)pm_data_path(r1cs, "own_mimc/own_mimc.r1cs");
    known_ptau_write(ptau, PM_CURVE_BN254, 11, true, 2);
    for (useconds_t us = 1000; us < 100000; us *= 3) {
        int how = 0;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const pm_context_options options = {.struct_bytes = (uint32_t)sizeof options,
                                                .threads = 1};
            pm_context *own = NULL;
            if (pm_context_create(&options, &own, NULL) == PM_OK) {
                (void)pm_setup_ptau(own, r1cs, ptau, zkey_path, NULL, NULL);
            }
            _exit(0);
        }
        (void)usleep(us);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &how, 0), child);
        if (access(zkey_path, F_OK) == 0) {
            expect_digest(zkey_path, mimc_digests[0]);
            (void)unlink(zkey_path);
        }
    }
}

static void arguments(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_setup_ptau(NULL, "a", "b", "c", NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_setup_ptau(context, NULL, "b", "c", NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_setup_ptau(context, "a", NULL, "c", NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_setup_ptau(context, "a", "b", NULL, NULL, &error), PM_INVALID_ARGUMENT);
}

#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)

int main(void) {
    const pm_context_options options = {.struct_bytes = (uint32_t)sizeof options, .threads = 2};
    if (pm_context_create(&options, &context, NULL) != PM_OK) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        IN_A_TREE(E2_keys_are_those_of_snarkjs),
        IN_A_TREE(E2_any_power_threads_and_arithmetic),
        IN_A_TREE(A8_RC1_the_boundary_of_a_domain),
        IN_A_TREE(B10_no_constraint),
        IN_A_TREE(E5_files_that_do_not_belong_together),
        IN_A_TREE(B7_RC6_truncated_inputs),
        IN_A_TREE(A17_the_output_is_no_input),
        IN_A_TREE(A18_stopped_setups_leave_no_file),
        IN_A_TREE(A18_killed_setups_leave_no_file),
        cmocka_unit_test(arguments),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pm_context_destroy(context);
    return failed;
}
