/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/r1cs.h"

#include "io/wtns.h"
#include "support/file_builder.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
static const enum pm_body bodies[] = {PM_BODY_PORTABLE, PM_BODY_ADX};
static struct pm_team *team;

static pm_status open_image(const struct file_image *file, struct pm_r1cs *r1cs, pm_error *error) {
    static struct pm_mapping mapping; /* outlives the call, as r1cs points at it */
    pm_mapping_close(&mapping);
    assert_int_equal(pm_mapping_borrow(file->bytes, file->n_bytes, "toy.r1cs", &mapping, error),
                     PM_OK);
    return pm_r1cs_open(&mapping, NULL, r1cs, error);
}

static void expect_and_free(struct file_image file, pm_status expected, const char *first,
                            const char *second) {
    struct pm_r1cs r1cs;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = open_image(&file, &r1cs, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status != PM_OK) {
        assert_string_equal(error.file, "toy.r1cs");
    }
    file_free(&file);
}

static void facts_are_the_files(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = file_r1cs(curves[i]);
        struct pm_r1cs r1cs;
        pm_error error = PM_ERROR_INIT;
        file_expect(open_image(&file, &r1cs, &error), PM_OK, &error, NULL, NULL, NULL);
        assert_int_equal(r1cs.curve, curves[i]);
        assert_int_equal(r1cs.n_wires, TOY_N_VARS);
        assert_int_equal(r1cs.n_outputs, 1);
        assert_int_equal(r1cs.n_public_inputs, 1);
        assert_int_equal(r1cs.n_private_inputs, 2);
        assert_int_equal(r1cs.n_labels, 9);
        assert_int_equal(r1cs.n_constraints, TOY_N_ROWS);
        assert_int_equal(r1cs.n_terms, TOY_N_TERMS);
        expect_and_free(file_reversed(&file), PM_OK, NULL, NULL);
        expect_and_free(file_with_extra(&file, 4, 4), PM_OK, NULL, NULL);
        expect_and_free(file_with_extra(&file, 99, 0), PM_OK, NULL, NULL);
        file_free(&file);
    }
}

static void every_section_missing_doubled_resized(void **state) {
    (void)state;
    struct file_image file = file_r1cs(PM_CURVE_BN254);
    for (uint32_t type = 1; type <= 3; ++type) {
        expect_and_free(file_without(&file, type), type == 3 ? PM_OK : PM_SECTION, NULL, NULL);
        expect_and_free(file_doubled(&file, type), PM_SECTION, "twice", NULL);
        expect_and_free(file_resized(&file, type, 1), PM_LENGTH, NULL, NULL);
        expect_and_free(file_resized(&file, type, -1), type == 3 ? PM_LENGTH : PM_TRUNCATED, NULL,
                        NULL);
    }
    for (size_t n = 0; n < file.n_bytes; ++n) {
        expect_and_free(file_cut(&file, n), n < 4 ? PM_NOT_THIS_KIND : PM_TRUNCATED, NULL, NULL);
    }
    expect_and_free(file_cut(&file, file.n_bytes + 1), PM_LENGTH, NULL, NULL);
    file_free(&file);
}

/* Offsets in section 1. */
enum { AT_N_WIRES = 36, AT_OUTPUTS = 40, AT_PUBLIC = 44, AT_PRIVATE = 48, AT_ROWS = 60 };

static void fields_at_their_edges(void **state) {
    (void)state;
    static const struct {
        uint32_t section;
        size_t offset;
        uint32_t value;
        pm_status status;
        const char *says;
    } cases[] = {{0, 4, 0, PM_VERSION, "version 0"},
                 {0, 4, 2, PM_VERSION, "version 2"},
                 {0, 8, 65, PM_SECTION, "65 sections"},
                 {0, 8, UINT32_MAX, PM_SECTION, "4294967295 sections"},
                 {0, 8, 2, PM_LENGTH, "follow the last"},
                 {0, 8, 4, PM_TRUNCATED, "a section's type"},
                 {1, 0, 8, PM_CURVE, "8 bytes"},
                 {1, 4, 1, PM_CURVE, "neither"},
                 {1, AT_N_WIRES, 4, PM_COUNT, "wire 0 (the constant one)"},
                 {1, AT_N_WIRES, 0, PM_COUNT, "0 wires"},
                 {1, AT_N_WIRES, 6, PM_LENGTH, "section 3 (wire labels)"},
                 {1, AT_OUTPUTS, UINT32_MAX, PM_COUNT, "4294967295 outputs"},
                 {1, AT_PUBLIC, 2, PM_COUNT, "which are 6"},
                 {1, AT_PRIVATE, 1, PM_OK, NULL},
                 {1, AT_ROWS, 1, PM_LENGTH, "section 2 (constraints)"},
                 {1, AT_ROWS, 3, PM_TRUNCATED, "section 2 (constraints)"},
                 {1, AT_ROWS, UINT32_MAX, PM_TRUNCATED, "section 2 (constraints)"},
                 {2, 0, 7, PM_TRUNCATED, "252 bytes are needed for the terms"},
                 {2, 0, UINT32_MAX, PM_TRUNCATED, "the terms"},
                 {2, 4, TOY_N_VARS - 1, PM_OK, NULL},
                 {2, 4, TOY_N_VARS, PM_COUNT, "constraint 0, A, term 0: wire 5 of 5"},
                 {2, 5 * 40 + 4, UINT32_MAX, PM_COUNT, "constraint 1, C, term 0"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct file_image file = file_r1cs(PM_CURVE_BN254);
        file_patch_u32(&file, cases[i].section, cases[i].offset, cases[i].value);
        expect_and_free(file, cases[i].status, cases[i].says, NULL);
    }
}

static void coefficients_must_be_reduced(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        uint64_t value[4];
        memcpy(value, pm_field_fr(curves[i], PM_BODY_PORTABLE)->modulus, sizeof value);
        struct file_image file = file_r1cs(curves[i]);
        file_patch(&file, 2, 40 + 8, value, 32);
        expect_and_free(file, PM_NOT_CANONICAL, "constraint 0, B, term 0", NULL);
        file = file_r1cs(curves[i]);
        value[0] -= 1;
        file_patch(&file, 2, 40 + 8, value, 32);
        expect_and_free(file, PM_OK, NULL, NULL);
    }
}

static pm_status check(const struct file_image *r1cs_file, const struct file_image *wtns_file,
                       enum pm_body body, uint64_t *row, pm_error *error) {
    struct pm_r1cs r1cs;
    file_expect(open_image(r1cs_file, &r1cs, error), PM_OK, error, NULL, NULL, NULL);
    size_t n_bytes = 0;
    const uint8_t *values = wtns_file->bytes + file_section(wtns_file, 2, &n_bytes);
    return pm_r1cs_check(&r1cs, pm_field_fr(r1cs.curve, body), values, n_bytes / 32, team, NULL,
                         row, error);
}

static void rows_are_evaluated(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; ++i) {
        const pm_curve_id curve = curves[i % 2];
        const enum pm_body body = bodies[i / 2];
        if (!pm_cpu_has_body(body)) {
            continue;
        }
        struct file_image r1cs = file_r1cs(curve), wtns = file_wtns(curve);
        uint64_t row = 77;
        pm_error error = PM_ERROR_INIT;
        file_expect(check(&r1cs, &wtns, body, &row, &error), PM_OK, &error, NULL, NULL, NULL);
        assert_int_equal(row, 77);
        file_patch_u32(&wtns, 2, 2 * 32, 3); /* in is no longer p: row 1 alone */
        file_expect(check(&r1cs, &wtns, body, &row, &error), PM_UNSATISFIED, &error,
                    "constraint 1 of 2", NULL, NULL);
        assert_int_equal(row, 1);
        file_patch_u32(&wtns, 2, 1 * 32, 7); /* and out is not p q */
        file_expect(check(&r1cs, &wtns, body, &row, &error), PM_UNSATISFIED, &error,
                    "constraint 0 of 2", NULL, NULL);
        assert_int_equal(row, 0);
        file_free(&r1cs);
        file_free(&wtns);
    }
}

/* A coefficient of r - 1 is -1:  -p * q = out  holds for out = r - 6. */
static void coefficients_count(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image r1cs = file_r1cs(curves[i]), wtns = file_wtns(curves[i]);
        uint64_t value[4], row = 0;
        pm_error error = PM_ERROR_INIT;
        memcpy(value, pm_field_fr(curves[i], PM_BODY_PORTABLE)->modulus, sizeof value);
        value[0] -= 1;
        file_patch(&r1cs, 2, 8, value, 32);
        file_expect(check(&r1cs, &wtns, PM_BODY_PORTABLE, &row, &error), PM_UNSATISFIED, &error,
                    NULL, NULL, NULL);
        value[0] -= 5;
        file_patch(&wtns, 2, 32, value, 32);
        file_expect(check(&r1cs, &wtns, PM_BODY_PORTABLE, &row, &error), PM_OK, &error, NULL, NULL,
                    NULL);
        file_free(&r1cs);
        file_free(&wtns);
    }
}

/* A10: wire 0 as an ordinary signal. */
static void A10_wire_0_must_be_one(void **state) {
    (void)state;
    struct file_image r1cs = file_r1cs(PM_CURVE_BN254), wtns = file_wtns(PM_CURVE_BN254);
    uint64_t row = 0;
    pm_error error = PM_ERROR_INIT;
    file_patch_u32(&wtns, 2, 0, 2);
    file_expect(check(&r1cs, &wtns, PM_BODY_PORTABLE, &row, &error), PM_WITNESS_MISMATCH, &error,
                "wire 0 must be 1", NULL, NULL);
    file_free(&wtns);
    wtns = file_wtns(PM_CURVE_BN254);
    struct file_image longer = file_resized(&wtns, 2, 32);
    file_expect(check(&r1cs, &longer, PM_BODY_PORTABLE, &row, &error), PM_WITNESS_MISMATCH, &error,
                "5 wires", "6 values", NULL);
    assert_int_equal(error.need, 5);
    assert_int_equal(error.have, 6);
    file_free(&longer);
    file_free(&wtns);
    file_free(&r1cs);
}

static void open_both(const char *name, struct pm_mapping mappings[2], struct pm_r1cs *r1cs,
                      struct pm_wtns *wtns) {
    char path[PM_TEST_PATH_MAX], below[128];
    pm_error error = PM_ERROR_INIT;
    (void)snprintf(below, sizeof below, "%s/%s.r1cs", name, name);
    file_expect(pm_mapping_open(pm_data_path(path, below), PM_MAPPING_MAP, UINT64_MAX, NULL, NULL,
                                &mappings[0], &error),
                PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_r1cs_open(&mappings[0], NULL, r1cs, &error), PM_OK, &error, NULL, NULL, NULL);
    (void)snprintf(below, sizeof below, "%s/%s.wtns", name, name);
    file_expect(pm_mapping_open(pm_data_path(path, below), PM_MAPPING_READ, UINT64_MAX, NULL, NULL,
                                &mappings[1], &error),
                PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_wtns_open(&mappings[1], team, NULL, wtns, &error), PM_OK, &error, NULL, NULL,
                NULL);
}

/* circom's own output: satisfied as it is, and not when any one value is off by one. */
static void circom_systems_are_satisfied(void **state) {
    (void)state;
    static const char *const names[] = {"one",       "mult3",      "nopriv",  "one_bls",
                                        "mult3_bls", "nopriv_bls", "own_mimc"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        struct pm_mapping mappings[2];
        struct pm_r1cs r1cs;
        struct pm_wtns wtns;
        pm_error error = PM_ERROR_INIT;
        uint64_t row = 0;
        open_both(names[i], mappings, &r1cs, &wtns);
        const struct pm_field *fr = pm_field_fr(r1cs.curve, pm_cpu_best_body());
        file_expect(pm_r1cs_check(&r1cs, fr, wtns.values, wtns.n_values, team, NULL, &row, &error),
                    PM_OK, &error, NULL, NULL, NULL);
        uint8_t *values = mappings[1].owned;
        values += wtns.values_offset;
        const uint64_t step = wtns.n_values > 100 ? 97 : 1;
        for (uint64_t k = 1; k < wtns.n_values; k += step) {
            values[k * 32] ^= 1;
            const pm_status status =
                pm_r1cs_check(&r1cs, fr, values, wtns.n_values, team, NULL, &row, &error);
            assert_int_equal(status, PM_UNSATISFIED);
            values[k * 32] ^= 1;
        }
        pm_mapping_close(&mappings[0]);
        pm_mapping_close(&mappings[1]);
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
        cmocka_unit_test(every_section_missing_doubled_resized),
        cmocka_unit_test(fields_at_their_edges),
        cmocka_unit_test(coefficients_must_be_reduced),
        cmocka_unit_test(rows_are_evaluated),
        cmocka_unit_test(coefficients_count),
        cmocka_unit_test(A10_wire_0_must_be_one),
        cmocka_unit_test(circom_systems_are_satisfied),
    };
    return cmocka_run_group_tests(tests, start_team, stop_team);
}
