/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/wtns.h"

#include "ff/field.h"
#include "support/file_builder.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
static struct pm_team *team;

static pm_status open_image(const struct file_image *file, const pm_control *control,
                            struct pm_wtns *wtns, pm_error *error) {
    static struct pm_mapping mapping; /* outlives the call, as wtns points at it */
    pm_mapping_close(&mapping);
    assert_int_equal(pm_mapping_borrow(file->bytes, file->n_bytes, "toy.wtns", &mapping, error),
                     PM_OK);
    return pm_wtns_open(&mapping, team, control, wtns, error);
}

static void expect_and_free(struct file_image file, pm_status expected, const char *first,
                            const char *second) {
    struct pm_wtns wtns;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = open_image(&file, NULL, &wtns, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status != PM_OK) {
        assert_string_equal(error.file, "toy.wtns");
    }
    file_free(&file);
}

static void facts_are_the_files(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = file_wtns(curves[i]);
        struct pm_wtns wtns;
        pm_error error = PM_ERROR_INIT;
        file_expect(open_image(&file, NULL, &wtns, &error), PM_OK, &error, NULL, NULL, NULL);
        assert_int_equal(wtns.curve, curves[i]);
        assert_int_equal(wtns.n_values, TOY_N_VARS);
        assert_int_equal(wtns.values_offset, file_section(&file, 2, NULL));
        assert_int_equal(wtns.values[PM_FR_BYTES], 6);
        expect_and_free(file_reversed(&file), PM_OK, NULL, NULL);
        expect_and_free(file_with_extra(&file, 3, 8), PM_OK, NULL, NULL);
        file_free(&file);
    }
}

static void log_sentence(void *user, pm_log_level level, const char *sentence) {
    assert_int_equal(level, PM_LOG_INFO);
    assert_non_null(strstr(sentence, "version 1"));
    *(int *)user += 1;
}

static void version_1_is_read_and_mentioned(void **state) {
    (void)state;
    int n_sentences = 0;
    const pm_control control = {
        .struct_bytes = sizeof control, .log = log_sentence, .user = &n_sentences};
    struct file_image file = file_wtns(PM_CURVE_BN254);
    struct pm_wtns wtns;
    pm_error error = PM_ERROR_INIT;
    file_patch_u32(&file, 0, 4, 1);
    file_expect(open_image(&file, &control, &wtns, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(n_sentences, 1);
    file_free(&file);
}

/* B12: a witness of another circuit, curve or make. */
static void B12_header_fields_at_their_edges(void **state) {
    (void)state;
    static const struct {
        uint32_t section;
        size_t offset;
        uint32_t value;
        pm_status status;
        const char *says;
    } cases[] = {{0, 4, 0, PM_VERSION, "version 0"},
                 {0, 4, 3, PM_VERSION, "version 3"},
                 {1, 0, 31, PM_CURVE, "31 bytes"},
                 {1, 0, 33, PM_CURVE, "33 bytes"},
                 {1, 0, 64, PM_CURVE, "64 bytes"},
                 {1, 0, 48, PM_TRUNCATED, "section 1 (header)"},
                 {1, 4, 7, PM_CURVE, "neither bn128 nor bls12381"},
                 {1, 36, TOY_N_VARS - 1, PM_LENGTH, "160 bytes for 4 elements"},
                 {1, 36, TOY_N_VARS + 1, PM_LENGTH, "160 bytes for 6 elements"},
                 {1, 36, 0, PM_LENGTH, "section 2 (values)"},
                 {1, 36, UINT32_MAX, PM_LENGTH, "4294967295"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct file_image file = file_wtns(PM_CURVE_BN254);
        file_patch_u32(&file, cases[i].section, cases[i].offset, cases[i].value);
        expect_and_free(file, cases[i].status, cases[i].says, NULL);
    }
    /* The base field's prime is a prime of the curve, but not the one. */
    struct file_image file = file_wtns(PM_CURVE_BN254);
    file_patch(&file, 1, 4, pm_field_fp(PM_CURVE_BN254, PM_BODY_PORTABLE)->modulus, 32);
    expect_and_free(file, PM_CURVE, "0x30644e72e131a029b85045b68181585d97816a91", NULL);
}

static void length_error_has_both_numbers(void **state) {
    (void)state;
    struct file_image file = file_wtns(PM_CURVE_BN254), longer = file_resized(&file, 2, 32);
    struct pm_wtns wtns;
    pm_error error = PM_ERROR_INIT;
    file_expect(open_image(&longer, NULL, &wtns, &error), PM_LENGTH, &error, NULL, NULL, NULL);
    assert_int_equal(error.need, 5 * 32);
    assert_int_equal(error.have, 6 * 32);
    assert_int_equal(error.offset, file_section(&longer, 2, NULL));
    file_free(&longer);
    file_free(&file);
}

static void every_section_missing_doubled_resized(void **state) {
    (void)state;
    struct file_image file = file_wtns(PM_CURVE_BN254);
    for (uint32_t type = 1; type <= 2; ++type) {
        expect_and_free(file_without(&file, type), PM_SECTION, "missing", NULL);
        expect_and_free(file_doubled(&file, type), PM_SECTION, "twice", NULL);
        expect_and_free(file_resized(&file, type, 1), PM_LENGTH, NULL, NULL);
        expect_and_free(file_resized(&file, type, -1), type == 1 ? PM_TRUNCATED : PM_LENGTH, NULL,
                        NULL);
    }
    for (size_t n = 0; n < file.n_bytes; ++n) {
        expect_and_free(file_cut(&file, n), n < 4 ? PM_NOT_THIS_KIND : PM_TRUNCATED, NULL, NULL);
    }
    expect_and_free(file_cut(&file, file.n_bytes + 3), PM_LENGTH, "3 bytes follow", NULL);
    file_free(&file);
}

/* B13: values that are not reduced were used as they are. Nor may one be shown: it is a secret. */
static void B13_values_must_be_reduced(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        const uint64_t *r = pm_field_fr(curves[i], PM_BODY_PORTABLE)->modulus;
        uint64_t values[4][4];
        for (size_t k = 0; k < 3; ++k) {
            memcpy(values[k], r, sizeof values[k]);
        }
        values[1][0] += 5;
        values[2][0] -= 1;
        memset(values[3], 0xff, sizeof values[3]);
        for (size_t index = 1; index < TOY_N_VARS; ++index) {
            for (size_t k = 0; k < 4; ++k) {
                struct file_image file = file_wtns(curves[i]);
                struct pm_wtns wtns;
                pm_error error = PM_ERROR_INIT;
                char name[24];
                (void)snprintf(name, sizeof name, "witness[%zu]", index);
                file_patch(&file, 2, index * 32, values[k], 32);
                const bool is_reduced = k == 2;
                file_expect(open_image(&file, NULL, &wtns, &error),
                            is_reduced ? PM_OK : PM_NOT_CANONICAL, &error, is_reduced ? NULL : name,
                            is_reduced ? NULL : "not reduced", NULL);
                if (!is_reduced) {
                    assert_int_equal(error.offset, file_section(&file, 2, NULL) + index * 32);
                    assert_int_equal(error.need, 0);
                    assert_int_equal(error.have, 0);
                    assert_null(strstr(error.message, "0x"));
                }
                file_free(&file);
            }
        }
    }
}

static void lowest_unreduced_value_is_named(void **state) {
    (void)state;
    static const uint8_t ones[32] = {[0 ... 31] = 0xff};
    struct file_image file = file_wtns(PM_CURVE_BN254);
    file_patch(&file, 2, 4 * 32, ones, 32);
    file_patch(&file, 2, 2 * 32, ones, 32);
    expect_and_free(file, PM_NOT_CANONICAL, "witness[2]", NULL);
}

/* A10: wire 0 used as an ordinary signal. */
static void A10_first_value_must_be_one(void **state) {
    (void)state;
    static const uint32_t values[] = {0, 2, UINT32_MAX};
    for (size_t i = 0; i < 3; ++i) {
        struct file_image file = file_wtns(PM_CURVE_BN254);
        file_patch_u32(&file, 2, 0, values[i]);
        expect_and_free(file, PM_WITNESS_MISMATCH, "wire 0 must be 1", NULL);
    }
    struct file_image file = file_wtns(PM_CURVE_BN254), empty = file_resized(&file, 2, -160);
    file_patch_u32(&empty, 1, 36, 0);
    expect_and_free(empty, PM_WITNESS_MISMATCH, "no values", NULL);
    file_free(&file);
}

/* B24: what people hand over for a witness. */
static void B24_other_contents_are_recognised(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n_bytes;
        const char *says;
    } cases[] = {{"", 0, "it is empty"},
                 {"[\"1\",\"6\"]", 9, "JSON"},
                 {"{\"a\":3}", 7, "JSON"},
                 {"\x1f\x8b\x08\0\0\0", 6, "gzip"},
                 {"\1\0\0\0\0\0\0\0", 8, "begins with the bytes 01 00 00 00"},
                 {"wtn", 3, "77 74 6e 00"},
                 {"zkey\1\0\0\0", 8, "it is a .zkey file"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const struct file_image from = {(uint8_t *)(uintptr_t)cases[i].bytes, cases[i].n_bytes};
        expect_and_free(file_copy(&from), PM_NOT_THIS_KIND, "not a .wtns file", cases[i].says);
    }
}

static void values_from_memory(void **state) {
    (void)state;
    struct file_image file = file_wtns(PM_CURVE_BN254);
    uint8_t *values = file.bytes + file_section(&file, 2, NULL);
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_wtns_check_values(PM_CURVE_BN254, values, 5, "mine", PM_NO_OFFSET, NULL, &error),
                PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_wtns_check_values(PM_CURVE_NONE, values, 5, "mine", 0, NULL, &error), PM_CURVE,
                &error, NULL, NULL, NULL);
    file_expect(pm_wtns_check_values((pm_curve_id)9, values, 5, "mine", 0, NULL, &error), PM_CURVE,
                &error, NULL, NULL, NULL);
    file_expect(pm_wtns_check_values(PM_CURVE_BN254, values, 0, "mine", 0, NULL, &error),
                PM_WITNESS_MISMATCH, &error, NULL, NULL, NULL);
    memset(values + 3 * 32, 0xff, 32);
    file_expect(pm_wtns_check_values(PM_CURVE_BN254, values, 5, "mine", PM_NO_OFFSET, NULL, &error),
                PM_NOT_CANONICAL, &error, "witness[3]", NULL, NULL);
    assert_string_equal(error.file, "mine");
    assert_true(error.offset == PM_NO_OFFSET);
    file_expect(pm_wtns_check_values(PM_CURVE_BN254, values, 5, "mine", 7, team, &error),
                PM_NOT_CANONICAL, &error, NULL, NULL, NULL);
    assert_int_equal(error.offset, 7 + 96);
    file_free(&file);
}

/* The first bad value of many, found by several threads, again and again. */
static void lowest_of_many_is_found_in_parallel(void **state) {
    (void)state;
    const size_t n = (size_t)3 << 18;
    uint8_t *values = calloc(n, 32);
    pm_error error = PM_ERROR_INIT;
    assert_non_null(values);
    values[0] = 1;
    static const size_t bad[] = {786431, 700000, 524288, 524287, 262145, 262144, 262143, 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        char name[32];
        (void)snprintf(name, sizeof name, "witness[%zu]", bad[i]);
        memset(values + bad[i] * 32, 0xff, 32);
        file_expect(pm_wtns_check_values(PM_CURVE_BLS12_381, values, n, "many", 0, team, &error),
                    PM_NOT_CANONICAL, &error, name, NULL, NULL);
    }
    free(values);
}

static void snarkjs_witnesses_open(void **state) {
    (void)state;
    static const struct {
        const char *path;
        pm_curve_id curve;
        uint64_t n_values;
    } known[] = {{"one/one.wtns", PM_CURVE_BN254, 4},
                 {"one_bls/one_bls.wtns", PM_CURVE_BLS12_381, 4},
                 {"mult3/mult3.wtns", PM_CURVE_BN254, 8},
                 {"nopriv_bls/nopriv_bls.wtns", PM_CURVE_BLS12_381, 4},
                 {"own_mimc/own_mimc.wtns", PM_CURVE_BN254, 1271}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        char path[PM_TEST_PATH_MAX];
        struct pm_mapping mapping;
        struct pm_wtns wtns;
        pm_error error = PM_ERROR_INIT;
        file_expect(pm_mapping_open(pm_data_path(path, known[i].path), PM_MAPPING_READ_SECRET,
                                    1 << 20, NULL, NULL, &mapping, &error),
                    PM_OK, &error, NULL, NULL, NULL);
        file_expect(pm_wtns_open(&mapping, team, NULL, &wtns, &error), PM_OK, &error, NULL, NULL,
                    NULL);
        assert_int_equal(wtns.curve, known[i].curve);
        assert_int_equal(wtns.n_values, known[i].n_values);
        pm_mapping_close(&mapping);
    }
}

static int start_team(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    return pm_team_create(3, &team, &error) == PM_OK ? 0 : -1;
}

static int stop_team(void **state) {
    (void)state;
    pm_team_destroy(team);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_the_files),
        cmocka_unit_test(version_1_is_read_and_mentioned),
        cmocka_unit_test(B12_header_fields_at_their_edges),
        cmocka_unit_test(length_error_has_both_numbers),
        cmocka_unit_test(every_section_missing_doubled_resized),
        cmocka_unit_test(B13_values_must_be_reduced),
        cmocka_unit_test(lowest_unreduced_value_is_named),
        cmocka_unit_test(A10_first_value_must_be_one),
        cmocka_unit_test(B24_other_contents_are_recognised),
        cmocka_unit_test(values_from_memory),
        cmocka_unit_test(lowest_of_many_is_found_in_parallel),
        cmocka_unit_test(snarkjs_witnesses_open),
    };
    return cmocka_run_group_tests(tests, start_team, stop_team);
}
