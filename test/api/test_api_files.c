/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "base/blake2b.h"
#include "curve/curve.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/late_wish.h"
#include "support/params_builder.h"

#include <proofmill/proofmill.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static pm_context *context;
static char *tree;

static const char *save(const char *name, struct file_image file) {
    const char *path = file_in_tree(tree, name);
    file_write(path, file.bytes, file.n_bytes);
    file_free(&file);
    return path;
}

static pm_file_info describe(const char *path, int with_digest) {
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_file_describe(context, path, with_digest, NULL, &info, &error), PM_OK, &error,
                NULL, NULL, NULL);
    return info;
}

static void kinds_have_names(void **state) {
    (void)state;
    assert_string_equal(pm_file_kind_name(PM_FILE_ZKEY), "zkey");
    assert_string_equal(pm_file_kind_name(PM_FILE_WTNS), "wtns");
    assert_string_equal(pm_file_kind_name(PM_FILE_R1CS), "r1cs");
    assert_string_equal(pm_file_kind_name(PM_FILE_PTAU), "ptau");
    assert_string_equal(pm_file_kind_name(PM_FILE_PARAMS), "params");
    assert_string_equal(pm_file_kind_name(PM_FILE_BELLMAN_VK), "bellman vk");
    assert_string_equal(pm_file_kind_name(PM_FILE_UNKNOWN), "unknown");
    assert_string_equal(pm_file_kind_name((pm_file_kind)99), "unknown");
}

static void zkey_is_described(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BLS12_381);
    struct pm_blake2b hash;
    uint8_t digest[64];
    pm_blake2b_init(&hash, sizeof digest);
    pm_blake2b_update(&hash, file.bytes, file.n_bytes);
    pm_blake2b_final(&hash, digest);
    const size_t n_bytes = file.n_bytes, h_at = file_section(&file, 9, NULL);
    const pm_file_info info = describe(save("key", file), 1);
    assert_int_equal(info.kind, PM_FILE_ZKEY);
    assert_int_equal(info.version, 1);
    assert_int_equal(info.curve, PM_CURVE_BLS12_381);
    assert_int_equal(info.file_bytes, n_bytes);
    assert_int_equal(info.n_sections, 10);
    assert_int_equal(info.log_n, TOY_LOG_N);
    assert_int_equal(info.n_vars, TOY_N_VARS);
    assert_int_equal(info.n_public, TOY_N_PUBLIC);
    assert_int_equal(info.n_constraints, TOY_N_ROWS + TOY_N_PUBLIC + 1);
    assert_int_equal(info.n_coefficients, TOY_N_COEFFICIENTS);
    assert_int_equal(info.has_circuit_hash, 1);
    assert_int_equal(info.circuit_hash[5], 5);
    assert_int_equal(info.n_contributions, 2);
    assert_int_equal(info.has_digest, 1);
    assert_memory_equal(info.digest, digest, sizeof digest);
    assert_int_equal(info.sections[4].type, 9);
    assert_int_equal(info.sections[4].offset, h_at);
    assert_int_equal(info.sections[4].bytes, 8 * 96);
    assert_int_equal(info.sections[4].known, 1);
    assert_string_equal(info.sections[4].name, "h points");
}

/* B6: a key nobody has contributed to was used in production. */
static void B6_known_delta_is_reported(void **state) {
    (void)state;
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    for (size_t i = 0; i < 2; ++i) {
        const struct pm_group *g2 = pm_curve_get(curves[i], PM_BODY_PORTABLE)->g2;
        const size_t point_bytes = g2->affine_bytes, g1_bytes = point_bytes / 2;
        const size_t points_at = (curves[i] == PM_CURVE_BN254 ? 72 : 88) + 12;
        const size_t gamma_at = points_at + 2 * g1_bytes + point_bytes;
        const size_t delta_at = gamma_at + point_bytes + g1_bytes;
        struct pm_group_point doubled;
        uint8_t other[PM_G2_BYTES_MAX];
        g2->from_affine(&doubled, g2->generator);
        g2->dbl(&doubled, &doubled);
        g2->to_affine(other, &doubled);
        /* The toy key's gamma and delta are both the generator. */
        assert_int_equal(describe(save("key", file_zkey(curves[i])), 0).insecure, 3);
        struct file_image file = file_zkey(curves[i]);
        file_patch(&file, 2, gamma_at, other, point_bytes);
        assert_int_equal(describe(save("key", file), 0).insecure, 2);
        file = file_zkey(curves[i]);
        file_patch(&file, 2, delta_at, other, point_bytes);
        assert_int_equal(describe(save("key", file), 0).insecure, 0);
        file = file_zkey(curves[i]);
        file_patch(&file, 2, gamma_at, other, point_bytes);
        file_patch(&file, 2, delta_at, other, point_bytes);
        assert_int_equal(describe(save("key", file), 0).insecure, 1);
    }
}

static void other_kinds_are_described(void **state) {
    (void)state;
    pm_file_info info = describe(save("witness", file_wtns(PM_CURVE_BN254)), 0);
    assert_int_equal(info.kind, PM_FILE_WTNS);
    assert_int_equal(info.version, 2);
    assert_int_equal(info.curve, PM_CURVE_BN254);
    assert_int_equal(info.n_vars, TOY_N_VARS);
    assert_int_equal(info.has_digest, 0);
    struct file_image file = file_r1cs(PM_CURVE_BLS12_381);
    info = describe(save("system", file_with_extra(&file, 50, 3)), 0);
    file_free(&file);
    assert_int_equal(info.kind, PM_FILE_R1CS);
    assert_int_equal(info.curve, PM_CURVE_BLS12_381);
    assert_int_equal(info.n_vars, TOY_N_VARS);
    assert_int_equal(info.n_public, 2);
    assert_int_equal(info.n_outputs, 1);
    assert_int_equal(info.n_public_inputs, 1);
    assert_int_equal(info.n_private_inputs, 2);
    assert_int_equal(info.n_constraints, TOY_N_ROWS);
    assert_int_equal(info.n_labels, 9);
    assert_int_equal(info.n_coefficients, TOY_N_TERMS);
    assert_int_equal(info.n_sections, 4);
    assert_int_equal(info.sections[3].known, 0);
    assert_string_equal(info.sections[3].name, "");
    file = file_copy(&(struct file_image){(uint8_t *)(uintptr_t) "ptau\1\0\0\0\1\0\0\0"
                                                                 "\1\0\0\0\2\0\0\0\0\0\0\0hi",
                                          26});
    info = describe(save("tau", file), 0);
    assert_int_equal(info.kind, PM_FILE_PTAU);
    assert_int_equal(info.sections[0].bytes, 2);
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_file_check(context, file_in_tree(tree, "tau"), NULL, &error), PM_UNSUPPORTED,
                &error, ".ptau", NULL, NULL);
}

static void bellman_files_are_described_and_checked(void **state) {
    (void)state;
    struct file_image params = file_params(2);
    pm_error error = PM_ERROR_INIT;
    const char *path = save("toy.vk", file_cut(&params, TOY_PARAMS_VK_BYTES));
    pm_file_info info = describe(path, 0);
    assert_int_equal(info.kind, PM_FILE_BELLMAN_VK);
    assert_int_equal(info.n_public, TOY_PARAMS_N_IC - 1);
    assert_int_equal(info.n_sections, 2);
    assert_int_equal(info.n_h, 0);
    file_expect(pm_file_check(context, path, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    path = save("toy.params", file_copy(&params));
    info = describe(path, 0);
    assert_int_equal(info.kind, PM_FILE_PARAMS);
    assert_int_equal(info.log_n, TOY_PARAMS_LOG_N);
    assert_int_equal(info.n_vars, TOY_PARAMS_N_IC + TOY_PARAMS_N_L);
    assert_int_equal(info.n_b, TOY_PARAMS_N_B);
    assert_int_equal(info.n_contributions, 2);
    assert_int_equal(info.parameters_bytes, TOY_PARAMS_BYTES);
    file_expect(pm_file_check(context, path, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    /* The same bytes are no verifying key: what a file is called is what it must be. */
    path = save("long.vk", file_copy(&params));
    file_expect(pm_file_check(context, path, NULL, &error), PM_LENGTH, &error, "too long", NULL,
                NULL);
    /* B6: delta is gamma. */
    memcpy(params.bytes + 672, params.bytes + 384, 192);
    assert_int_equal(describe(save("known.params", file_copy(&params)), 0).insecure, 1);
    /* Whoever wants a .zkey learns what this is. */
    pm_key *key = NULL;
    file_expect(pm_key_open(context, file_in_tree(tree, "toy.params"), NULL, NULL, &key, &error),
                PM_NOT_THIS_KIND, &error, "bellman", NULL, NULL);
    file_free(&params);
}

/* An older caller's struct is shorter: nothing is written past it. */
static void short_info_is_respected(void **state) {
    (void)state;
    pm_file_info info;
    pm_error error = PM_ERROR_INIT;
    memset(&info, 0xee, sizeof info);
    info.struct_bytes = 24;
    file_expect(
        pm_file_describe(context, save("key", file_zkey(PM_CURVE_BN254)), 0, NULL, &info, &error),
        PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(info.struct_bytes, 24);
    assert_int_equal(info.kind, PM_FILE_ZKEY);
    assert_int_equal(info.n_sections, 0xeeeeeeee);
}

static void unknown_files_are_refused(void **state) {
    (void)state;
    static const char *const contents[] = {"", "x", "{\"pi_a\": []}", "wtns"};
    for (size_t i = 0; i < 4; ++i) {
        pm_file_info info = {.struct_bytes = sizeof info};
        pm_error error = PM_ERROR_INIT;
        const char *path = file_in_tree(tree, "odd");
        file_write(path, contents[i], strlen(contents[i]));
        const pm_status expected = i == 3 ? PM_TRUNCATED : PM_NOT_THIS_KIND;
        file_expect(pm_file_describe(context, path, 1, NULL, &info, &error), expected, &error, NULL,
                    NULL, NULL);
        assert_int_equal(info.kind, 0);
        assert_string_equal(error.file, path);
        file_expect(pm_file_check(context, path, NULL, &error), expected, &error, NULL, NULL, NULL);
    }
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_file_check(context, tree, NULL, &error), PM_IO, &error, "directory", NULL, NULL);
    assert_int_equal(pm_file_check(context, NULL, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_file_check(NULL, "x", NULL, &error), PM_INVALID_ARGUMENT);
}

static void check_finds_what_opening_does_not(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_file_check(context, save("w", file_wtns(PM_CURVE_BN254)), NULL, &error), PM_OK,
                &error, NULL, NULL, NULL);
    file_expect(pm_file_check(context, save("r", file_r1cs(PM_CURVE_BN254)), NULL, &error), PM_OK,
                &error, NULL, NULL, NULL);
    file_expect(pm_file_check(context, save("k", file_zkey(PM_CURVE_BN254)), NULL, &error), PM_OK,
                &error, NULL, NULL, NULL);
    struct file_image file = file_zkey(PM_CURVE_BN254);
    const size_t at = file_section(&file, 7, NULL) + 3 * 128;
    file.bytes[at + 64] ^= 1;
    const char *path = save("damaged", file);
    assert_int_equal(describe(path, 0).kind, PM_FILE_ZKEY);
    file_expect(pm_file_check(context, path, NULL, &error), PM_NOT_ON_CURVE, &error,
                "section 7 (b2 points)", "point 3 of 5", NULL);
    assert_int_equal(error.offset, at);
    assert_string_equal(error.file, path);
}

struct watch {
    int cancel;
    unsigned n_reports;
    uint64_t last;
};

static void on_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct watch *watch = user;
    assert_non_null(phase);
    assert_true(total > 0 && done <= total && done >= watch->last);
    watch->last = done;
    watch->n_reports += 1;
}

static void cancel_and_progress(void **state) {
    (void)state;
    struct watch watch = {.cancel = 0};
    const pm_control control = {.struct_bytes = sizeof control,
                                .cancel = &watch.cancel,
                                .progress = on_progress,
                                .user = &watch};
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error = PM_ERROR_INIT;
    const char *path = save("key", file_zkey(PM_CURVE_BLS12_381));
    file_expect(pm_file_check(context, path, &control, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_true(watch.n_reports > 0);
    watch.cancel = 1;
    assert_int_equal(pm_file_check(context, path, &control, &error), PM_CANCELLED);
    assert_int_equal(pm_file_describe(context, path, 1, &control, &info, &error), PM_CANCELLED);
    const pm_control late = {.struct_bytes = sizeof late, .deadline_ns = 1};
    assert_int_equal(pm_file_check(context, path, &late, &error), PM_DEADLINE);
}

static pm_witness *open_witness(struct file_image file) {
    pm_witness *witness = NULL;
    pm_error error = PM_ERROR_INIT;
    file_expect(
        pm_witness_open_memory(context, file.bytes, file.n_bytes, "toy", NULL, &witness, &error),
        PM_OK, &error, NULL, NULL, NULL);
    file_free(&file);
    return witness;
}

/* Copied, looked at and wiped in many pieces, by several threads and by none but the caller. */
static void long_witness_is_kept_whole(void **state) {
    (void)state;
    enum { N = 300007 };
    const pm_context_options three = {.struct_bytes = sizeof three, .threads = 3};
    uint64_t(*values)[4] = calloc(N, sizeof *values), (*back)[4] = malloc(N * sizeof *values);
    pm_context *several = NULL;
    pm_witness *witness = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_non_null(values);
    assert_non_null(back);
    for (uint64_t i = 0; i < N; ++i) {
        values[i][0] = i == 0 ? 1 : i * UINT64_C(0x9e3779b97f4a7c15);
        values[i][3] = i; /* far below both primes */
    }
    assert_int_equal(pm_context_create(&three, &several, NULL), PM_OK);
    for (int k = 0; k < 2; ++k) {
        file_expect(
            pm_witness_from_values(several, PM_CURVE_BLS12_381, values, N, NULL, &witness, &error),
            PM_OK, &error, NULL, NULL, NULL);
        memset(back, 0xee, N * sizeof *back);
        assert_int_equal(pm_witness_values(witness, 0, N, back), PM_OK);
        assert_memory_equal(back, values, N * sizeof *values);
        pm_witness_destroy_by(k == 0 ? several : NULL, witness);
    }
    values[N - 1][3] = UINT64_MAX;
    file_expect(
        pm_witness_from_values(several, PM_CURVE_BLS12_381, values, N, NULL, &witness, &error),
        PM_NOT_CANONICAL, &error, "witness[300006]", NULL, NULL);
    pm_witness_destroy_by(several, NULL);
    pm_context_destroy(several);
    free(values);
    free(back);
}

/* A11: two wires exchanged in the witness alone. */
static void A11_failing_constraint_is_named(void **state) {
    (void)state;
    const char *path = save("system", file_r1cs(PM_CURVE_BN254));
    struct file_image swapped = file_wtns(PM_CURVE_BN254);
    file_patch_u32(&swapped, 2, 3 * 32, 3);
    file_patch_u32(&swapped, 2, 4 * 32, 2);
    pm_witness *good = open_witness(file_wtns(PM_CURVE_BN254)), *bad = open_witness(swapped),
               *other = open_witness(file_wtns(PM_CURVE_BLS12_381));
    uint64_t constraint = 99;
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_r1cs_check_witness(context, path, good, NULL, &constraint, &error), PM_OK,
                &error, NULL, NULL, NULL);
    assert_int_equal(constraint, 99);
    file_expect(pm_r1cs_check_witness(context, path, bad, NULL, &constraint, &error),
                PM_UNSATISFIED, &error, "does not satisfy constraint 1 of 2", NULL, NULL);
    assert_int_equal(constraint, 1);
    assert_int_equal(pm_r1cs_check_witness(context, path, bad, NULL, NULL, NULL), PM_UNSATISFIED);
    file_expect(pm_r1cs_check_witness(context, path, other, NULL, &constraint, &error), PM_CURVE,
                &error, "bn128", "bls12381", NULL);
    pm_witness_destroy(good);
    pm_witness_destroy(bad);
    pm_witness_destroy(other);
}

static void whole_files_are_read(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "text");
    void *bytes = NULL;
    size_t n_bytes = 77;
    pm_error error = PM_ERROR_INIT;
    file_write(path, "abc", 3);
    file_expect(pm_file_read(path, 3, NULL, &bytes, &n_bytes, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(n_bytes, 3);
    assert_string_equal(bytes, "abc");
    pm_bytes_free(bytes, n_bytes);
    bytes = NULL;
    file_expect(pm_file_read(path, 2, NULL, &bytes, &n_bytes, &error), PM_LENGTH, &error, NULL,
                NULL, NULL);
    assert_null(bytes);
    file_write(path, "", 0);
    file_expect(pm_file_read(path, 0, NULL, &bytes, &n_bytes, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(n_bytes, 0);
    assert_string_equal(bytes, "");
    pm_bytes_free(bytes, n_bytes);
    pm_bytes_free(NULL, 0);
    assert_int_equal(pm_file_read(NULL, 0, NULL, &bytes, &n_bytes, &error), PM_INVALID_ARGUMENT);
}

/* A wish to stop ends the wait for a writer, and is seen before a file on disk is read. */
static void reading_ends_when_asked(void **state) {
    (void)state;
    const char *silent = file_in_tree(tree, "silent");
    const char *text = file_in_tree(tree, "asked");
    pm_assignment_file *file = NULL;
    void *bytes = NULL;
    size_t n_bytes = 0;
    struct late_wish wish;
    file_write(text, "abc", 3);
    assert_int_equal(mkfifo(silent, 0600), 0);
    late_wish_begin(&wish);
    assert_int_equal(pm_file_read(silent, 99, &wish.control, &bytes, &n_bytes, NULL), PM_CANCELLED);
    late_wish_end(&wish);
    assert_int_equal(pm_file_read(text, 99, &wish.control, &bytes, &n_bytes, NULL), PM_CANCELLED);
    assert_null(bytes);
    late_wish_begin(&wish);
    assert_int_equal(pm_assignment_file_open(silent, &wish.control, &file, NULL), PM_CANCELLED);
    late_wish_end(&wish);
    assert_null(file);
}

static void writing_checks_its_arguments(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    const pm_output no_path = {.bytes = "x", .n_bytes = 1}, no_bytes = {.path = "x", .n_bytes = 1},
                    empty = {.path = file_in_tree(tree, "empty")};
    assert_int_equal(pm_files_write(NULL, 0, NULL, &error), PM_OK);
    assert_int_equal(pm_files_write(NULL, 1, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_files_write(&no_path, 1, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_files_write(&no_bytes, 1, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_files_write(&empty, 1, NULL, &error), PM_OK);
    assert_int_equal(access(empty.path, R_OK), 0);
    const char *const names[] = {"a", NULL};
    assert_int_equal(pm_files_distinct(names, 2, names, 1, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_files_distinct(NULL, 1, names, 1, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_files_distinct(NULL, 0, NULL, 0, &error), PM_OK);
    const char *const both[] = {"some-name"};
    assert_int_equal(pm_files_distinct(NULL, 0, both, 1, &error), PM_OK);
}

static int start(void **state) {
    (void)state;
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = 2};
    tree = file_make_tree();
    return pm_context_create(&options, &context, NULL) == PM_OK ? 0 : -1;
}

static int stop(void **state) {
    (void)state;
    pm_context_destroy(context);
    file_remove_tree(tree);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(zkey_is_described),
        cmocka_unit_test(B6_known_delta_is_reported),
        cmocka_unit_test(other_kinds_are_described),
        cmocka_unit_test(bellman_files_are_described_and_checked),
        cmocka_unit_test(short_info_is_respected),
        cmocka_unit_test(unknown_files_are_refused),
        cmocka_unit_test(check_finds_what_opening_does_not),
        cmocka_unit_test(cancel_and_progress),
        cmocka_unit_test(long_witness_is_kept_whole),
        cmocka_unit_test(A11_failing_constraint_is_named),
        cmocka_unit_test(whole_files_are_read),
        cmocka_unit_test(reading_ends_when_asked),
        cmocka_unit_test(writing_checks_its_arguments),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
