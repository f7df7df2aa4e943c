/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The calls in every order that a caller may take them, sensible or not: B14 (who owns the key's
 * bytes), B16 (calls out of order), B22 (points checked when a key is opened), C12 (processes share
 * the key's pages).
 */
#include "support/outcomes.h"
#include "support/stray_points.h"
#include "support/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = {"mult3", "mult3_bls"};

static pm_status prove(const struct subject *subject, pm_context *context, const pm_key *key,
                       const pm_witness *witness, const pm_control *control, pm_error *error) {
    pm_proof proof = {.struct_bytes = sizeof proof};
    const pm_status status = pm_prove(context, key, witness, NULL, control, &proof, NULL, error);
    if (status == PM_OK) {
        assert_int_equal(subject_verify(subject, subject->vk, witness, &proof), PM_OK);
    }
    return status;
}

/* An allocation to the byte, which the caller frees at once when the header allows it. */
static void *copy_of(const struct file_image *image) {
    void *copy = malloc(image->n_bytes);
    assert_non_null(copy);
    memcpy(copy, image->bytes, image->n_bytes);
    return copy;
}

static void B14_borrowed_bytes_live_until_destroy(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct subject subject;
        pm_error error = PM_ERROR_INIT;
        pm_key *key = NULL, *second = NULL;
        pm_witness *witness = NULL;
        assert_true(subject_open(names[i], &subject));
        void *key_bytes = copy_of(&subject.zkey), *witness_bytes = copy_of(&subject.wtns);
        file_expect(pm_key_open_memory(subject.context, key_bytes, subject.zkey.n_bytes, "k", NULL,
                                       &key, &error),
                    PM_OK, &error, NULL, NULL, NULL);
        file_expect(pm_key_open_memory(subject.context, key_bytes, subject.zkey.n_bytes, "k", NULL,
                                       &second, &error),
                    PM_OK, &error, NULL, NULL, NULL);
        file_expect(pm_witness_open_memory(subject.context, witness_bytes, subject.wtns.n_bytes,
                                           "w", NULL, &witness, &error),
                    PM_OK, &error, NULL, NULL, NULL);
        /* A witness is copied: its bytes may go. */
        memset(witness_bytes, 0xee, subject.wtns.n_bytes);
        free(witness_bytes);
        assert_int_equal(prove(&subject, subject.context, key, witness, NULL, &error), PM_OK);
        /* Two handles on the same bytes; one goes without having proved anything. */
        pm_key_destroy(second);
        assert_int_equal(prove(&subject, subject.context, key, witness, NULL, &error), PM_OK);
        pm_key_destroy(key);
        free(key_bytes);
        pm_witness_destroy(witness);
        subject_close(&subject);
    }
}

/* The vk from a key, and a key from arrays, own what they hold. */
static void B14_what_is_copied_outlives_its_source(void **state) {
    (void)state;
    struct subject subject;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    pm_vk *vk = NULL;
    pm_proof proof = {.struct_bytes = sizeof proof};
    assert_true(subject_open("one_bls", &subject));
    void *bytes = copy_of(&subject.zkey);
    assert_int_equal(
        pm_key_open_memory(subject.context, bytes, subject.zkey.n_bytes, "k", NULL, &key, &error),
        PM_OK);
    assert_int_equal(pm_vk_from_key(subject.context, key, &vk, &error), PM_OK);
    assert_int_equal(
        pm_prove(subject.context, key, subject.witness, NULL, NULL, &proof, NULL, &error), PM_OK);
    pm_key_destroy(key);
    free(bytes);
    assert_int_equal(subject_verify(&subject, vk, subject.witness, &proof), PM_OK);
    pm_vk_destroy(vk);
    subject_close(&subject);
}

/* Every way in which a proof can fail leaves key and context as good as new. */
static void B14_proving_after_a_failed_proof(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct subject subject, other;
        pm_error error = PM_ERROR_INIT;
        const int cancel = 1;
        const pm_control cancelled = {.struct_bytes = sizeof cancelled, .cancel = &cancel};
        const pm_control late = {.struct_bytes = sizeof late, .deadline_ns = 1};
        pm_witness *unsatisfying = NULL, *longer = NULL;
        assert_true(subject_open(names[i], &subject));
        assert_true(subject_open(names[1 - i], &other));
        const size_t n = pm_witness_count(subject.witness);
        uint8_t *values = calloc(n + 1, PM_FR_BYTES);
        assert_non_null(values);
        assert_int_equal(pm_witness_values(subject.witness, 0, n, values), PM_OK);
        assert_int_equal(pm_witness_from_values(subject.context, subject.curve, values, n + 1, NULL,
                                                &longer, &error),
                         PM_OK);
        values[PM_FR_BYTES] ^= 1;
        assert_int_equal(pm_witness_from_values(subject.context, subject.curve, values, n, NULL,
                                                &unsatisfying, &error),
                         PM_OK);
        const struct {
            const pm_witness *witness;
            const pm_control *control;
            pm_status expected;
        } failures[] = {{subject.witness, &cancelled, PM_CANCELLED},
                        {subject.witness, &late, PM_DEADLINE},
                        {unsatisfying, NULL, PM_SELF_VERIFY},
                        {longer, NULL, PM_WITNESS_MISMATCH},
                        {other.witness, NULL, PM_CURVE},
                        {NULL, NULL, PM_INVALID_ARGUMENT}};
        for (size_t f = 0; f < sizeof failures / sizeof failures[0]; ++f) {
            file_expect(prove(&subject, subject.context, subject.key, failures[f].witness,
                              failures[f].control, &error),
                        failures[f].expected, &error, NULL, NULL, NULL);
            file_expect(
                prove(&subject, subject.context, subject.key, subject.witness, NULL, &error), PM_OK,
                &error, NULL, NULL, NULL);
        }
        free(values);
        pm_witness_destroy(longer);
        pm_witness_destroy(unsatisfying);
        subject_close(&other);
        subject_close(&subject);
    }
}

static void B16_objects_outlive_their_context(void **state) {
    (void)state;
    struct subject subject;
    pm_error error = PM_ERROR_INIT;
    pm_context *first = NULL, *second = NULL;
    pm_key *key = NULL;
    assert_true(subject_open("mult3", &subject));
    assert_int_equal(pm_context_create(NULL, &first, &error), PM_OK);
    assert_int_equal(pm_key_open_memory(first, subject.zkey.bytes, subject.zkey.n_bytes, "k", NULL,
                                        &key, &error),
                     PM_OK);
    pm_context_destroy(first);
    assert_int_equal(pm_context_create(NULL, &second, &error), PM_OK);
    assert_int_equal(prove(&subject, second, key, subject.witness, NULL, &error), PM_OK);
    pm_context_destroy(second);
    /* Freed after the context that used it last. */
    pm_key_destroy(key);
    subject_close(&subject);
}

/* What was never opened is NULL, and every call says so instead of following it. */
static void B14_B16_nothing_there(void **state) {
    (void)state;
    struct subject subject;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    pm_vk *vk = NULL;
    pm_witness *witness = NULL;
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    assert_true(subject_open("one", &subject));
    pm_context *context = subject.context;
    const pm_status refused[] = {
        pm_key_open(NULL, "x", NULL, NULL, &key, &error),
        pm_key_open(context, NULL, NULL, NULL, &key, &error),
        pm_key_open(context, "x", NULL, NULL, NULL, &error),
        pm_key_open_memory(context, NULL, 5, "x", NULL, &key, &error),
        pm_key_check(context, NULL, NULL, &error),
        pm_key_check(NULL, subject.key, NULL, NULL),
        pm_key_get_facts(NULL, &facts),
        pm_vk_from_key(context, NULL, &vk, &error),
        pm_witness_open(context, NULL, NULL, &witness, &error),
        pm_witness_open_memory(context, NULL, 5, "x", NULL, &witness, NULL),
        pm_prove(context, NULL, subject.witness, NULL, NULL, &proof, NULL, &error),
        pm_prove(context, subject.key, NULL, NULL, NULL, &proof, NULL, NULL),
        pm_prove(NULL, subject.key, subject.witness, NULL, NULL, &proof, NULL, &error),
        pm_prove(context, subject.key, subject.witness, NULL, NULL, NULL, NULL, &error),
        pm_verify(context, NULL, &proof, 0, &proof, &error),
        pm_verify(context, subject.vk, NULL, 1, &proof, &error),
        pm_file_check(context, NULL, NULL, &error),
        pm_r1cs_check_witness(context, "x", NULL, NULL, NULL, &error)};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        assert_int_equal(refused[i], PM_INVALID_ARGUMENT);
    }
    assert_null(key);
    assert_null(vk);
    assert_null(witness);
    /* An open that fails leaves nothing behind, and its handle as it was. */
    assert_int_equal(pm_key_open(context, "/nowhere/x.zkey", NULL, NULL, &key, &error), PM_IO);
    assert_null(key);
    assert_int_equal(pm_prove(context, key, subject.witness, NULL, NULL, &proof, NULL, &error),
                     PM_INVALID_ARGUMENT);
    pm_key_destroy(NULL);
    pm_witness_destroy(NULL);
    pm_vk_destroy(NULL);
    pm_context_destroy(NULL);
    subject_close(&subject);
}

/* ---------------------------------------------------------------------------------------------
 * B22
 * ------------------------------------------------------------------------------------------- */

static pm_status open_checked(const struct subject *subject, const struct file_image *image,
                              uint32_t check, pm_error *error) {
    const pm_key_options options = {.struct_bytes = sizeof options, .check = check};
    const char *path = outcome_file(image->bytes, image->n_bytes);
    pm_key *key = NULL;
    const pm_status status = pm_key_open(subject->context, path, &options, NULL, &key, error);
    assert_int_equal(status == PM_OK, key != NULL);
    pm_key_destroy(key);
    return status;
}

/* none looks at no point, fast at all but the subgroup, full at that too. */
static void B22_points_are_checked_as_asked(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct subject subject;
        pm_error error = PM_ERROR_INIT;
        uint8_t stray[PM_G2_BYTES_MAX], off_curve[PM_G2_BYTES_MAX];
        const uint8_t too_large[PM_FP_BYTES_MAX] = {[0 ... PM_FP_BYTES_MAX - 1] = 0xff};
        assert_true(subject_open(names[i], &subject));
        const struct pm_curve *curve = pm_curve_get(subject.curve, PM_BODY_PORTABLE);
        const size_t g2_bytes = curve->g2->affine_bytes;
        const size_t at = file_section(&subject.zkey, 7, NULL);
        assert_true(stray_point(curve, curve->g2, stray));
        memcpy(off_curve, stray, g2_bytes);
        off_curve[0] ^= 2;
        const struct {
            const void *patch;
            size_t n_bytes;
            pm_status fast, full;
        } cases[] = {{subject.zkey.bytes + at, g2_bytes, PM_OK, PM_OK},
                     {stray, g2_bytes, PM_OK, PM_NOT_IN_SUBGROUP},
                     {off_curve, g2_bytes, PM_NOT_ON_CURVE, PM_NOT_ON_CURVE},
                     {too_large, curve->fp->bytes, PM_NOT_CANONICAL, PM_NOT_CANONICAL}};
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
            struct file_image image = file_copy(&subject.zkey);
            file_patch(&image, 7, 0, cases[c].patch, cases[c].n_bytes);
            file_expect(open_checked(&subject, &image, PM_CHECK_NONE, &error), PM_OK, &error, NULL,
                        NULL, NULL);
            file_expect(open_checked(&subject, &image, PM_CHECK_FAST, &error), cases[c].fast,
                        &error, cases[c].fast != PM_OK ? "section 7" : NULL, NULL, NULL);
            file_expect(open_checked(&subject, &image, PM_CHECK_FULL, &error), cases[c].full,
                        &error, cases[c].full != PM_OK ? "section 7" : NULL, NULL, NULL);
            file_free(&image);
        }
        file_expect(open_checked(&subject, &subject.zkey, 3, &error), PM_INVALID_ARGUMENT, &error,
                    "pm_check", NULL, NULL);
        subject_close(&subject);
    }
}

/* A caller compiled before the field was there asks for no check. */
static void B22_an_older_caller_gets_the_default(void **state) {
    (void)state;
    struct subject subject;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    const pm_key_options older = {.struct_bytes = 8, .load = PM_LOAD_READ, .check = 77};
    assert_true(subject_open("one", &subject));
    file_expect(pm_key_open(subject.context, outcome_file(subject.zkey.bytes, subject.zkey.n_bytes),
                            &older, NULL, &key, &error),
                PM_OK, &error, NULL, NULL, NULL);
    pm_key_destroy(key);
    subject_close(&subject);
}

/* ---------------------------------------------------------------------------------------------
 * C12
 * ------------------------------------------------------------------------------------------- */

/* Kilobytes that the field of /proc/self/smaps says of all mappings of path; -1: it has none. */
static long smaps_kb(const char *path, const char *field) {
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[4400];
    long sum = -1;
    bool is_ours = false;
    assert_non_null(smaps);
    while (fgets(line, sizeof line, smaps) != NULL) {
        long kb = 0;
        const size_t n = strcspn(line, ":");
        if (n > 4 && strchr(line, '-') != NULL && strchr(line, '-') < line + n) {
            is_ours = strstr(line, path) != NULL; /* "7f00-7f01 r--p 00000000 08:01 42 /file" */
            assert_true(!is_ours || strstr(line, " r--") != NULL);
        } else if (is_ours && strncmp(line, field, n) == 0 && field[n] == '\0' &&
                   sscanf(line + n + 1, "%ld", &kb) == 1) {
            sum = (sum < 0 ? 0 : sum) + kb;
        }
    }
    (void)fclose(smaps);
    return sum;
}

/* Opened, checked and proved with, the mapped key has no page that is this process's own. */
static void C12_no_page_of_a_mapped_key_is_private(void **state) {
    (void)state;
    struct subject subject;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    char *tree = file_make_tree();
    assert_true(subject_open("own_mimc", &subject));
    const char *path = file_in_tree(tree, "shared.zkey");
    file_write(path, subject.zkey.bytes, subject.zkey.n_bytes);
    assert_int_equal(pm_key_open(subject.context, path, NULL, NULL, &key, &error), PM_OK);
    assert_int_equal(prove(&subject, subject.context, key, subject.witness, NULL, &error), PM_OK);
    assert_true(smaps_kb(path, "Size") * 1024 >= (long)subject.zkey.n_bytes);
    assert_true(smaps_kb(path, "Rss") > 0);
    assert_int_equal(smaps_kb(path, "Anonymous"), 0);
    pm_key_destroy(key);
    assert_int_equal(smaps_kb(path, "Size"), -1);
    subject_close(&subject);
    file_remove_tree(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B14_borrowed_bytes_live_until_destroy),
        cmocka_unit_test(B14_what_is_copied_outlives_its_source),
        cmocka_unit_test(B14_proving_after_a_failed_proof),
        cmocka_unit_test(B16_objects_outlive_their_context),
        cmocka_unit_test(B14_B16_nothing_there),
        cmocka_unit_test(B22_points_are_checked_as_asked),
        cmocka_unit_test(B22_an_older_caller_gets_the_default),
        cmocka_unit_test(C12_no_page_of_a_mapped_key_is_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
