/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/ptau.h"

#include "curve/curve.h"
#include "support/file_builder.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};

/* Made by snarkjs 0.7.6, power 4, one contribution. */
static struct file_image read_ptau(pm_curve_id curve) {
    char path[PM_TEST_PATH_MAX], name[64];
    struct file_image file;
    (void)snprintf(name, sizeof name, "ptau/%s_4.ptau", pm_curve_name(curve));
    file.bytes = (uint8_t *)pm_test_read_file(pm_data_path(path, name), &file.n_bytes);
    assert_non_null(file.bytes);
    return file;
}

static pm_status open_image(const struct file_image *file, struct pm_ptau *ptau, pm_error *error) {
    static struct pm_mapping mapping; /* outlives the call, as ptau points at it */
    pm_mapping_close(&mapping);
    assert_int_equal(pm_mapping_borrow(file->bytes, file->n_bytes, "a.ptau", &mapping, error),
                     PM_OK);
    return pm_ptau_open(&mapping, ptau, error);
}

static void expect_and_free(struct file_image file, pm_status expected, const char *first,
                            const char *second) {
    struct pm_ptau ptau;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = open_image(&file, &ptau, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status != PM_OK) {
        assert_string_equal(error.file, "a.ptau");
    }
    file_free(&file);
}

static void facts_are_the_files(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = read_ptau(curves[i]);
        const struct pm_curve *curve = pm_curve_get(curves[i], PM_BODY_PORTABLE);
        struct pm_ptau ptau;
        pm_error error = PM_ERROR_INIT;
        file_expect(open_image(&file, &ptau, &error), PM_OK, &error, NULL, NULL, NULL);
        assert_int_equal(ptau.curve, curves[i]);
        assert_int_equal(ptau.power, 4);
        assert_int_equal(ptau.ceremony_power, 4);
        assert_int_equal(ptau.n_contributions, 1);
        assert_true(ptau.is_prepared);
        assert_memory_equal(ptau.tau_g1, curve->g1->generator, curve->g1->affine_bytes);
        assert_memory_equal(ptau.tau_g2, curve->g2->generator, curve->g2->affine_bytes);
        /* The basis of size 1 is the first power. */
        assert_memory_equal(ptau.lagrange_tau_g1, curve->g1->generator, curve->g1->affine_bytes);
        assert_memory_equal(ptau.lagrange_beta_tau_g1, ptau.beta_tau_g1, curve->g1->affine_bytes);
        expect_and_free(file_reversed(&file), PM_OK, NULL, NULL);
        expect_and_free(file_with_extra(&file, 99, 7), PM_OK, NULL, NULL);
        file_free(&file);
    }
}

static void every_section_missing_doubled_resized(void **state) {
    (void)state;
    static const uint32_t types[] = {1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15};
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = read_ptau(curves[i]);
        for (size_t k = 0; k < sizeof types / sizeof types[0]; ++k) {
            char number[16];
            (void)snprintf(number, sizeof number, "section %u (", types[k]);
            expect_and_free(file_without(&file, types[k]), PM_SECTION, number, "missing");
            expect_and_free(file_doubled(&file, types[k]), PM_SECTION, number, "twice");
            expect_and_free(file_resized(&file, types[k], 1), PM_LENGTH, NULL, NULL);
            const bool is_read_on = types[k] == 1 || types[k] == 7;
            expect_and_free(file_resized(&file, types[k], -1),
                            is_read_on ? PM_TRUNCATED : PM_LENGTH, NULL, NULL);
        }
        file_free(&file);
    }
}

static void B7_every_cut_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = read_ptau(curves[i]);
        for (size_t n = 4; n < file.n_bytes; n += n < 400 ? 1 : 97) {
            expect_and_free(file_cut(&file, n), PM_TRUNCATED, NULL, NULL);
        }
        expect_and_free(file_cut(&file, file.n_bytes + 1), PM_LENGTH, NULL, NULL);
        file_free(&file);
    }
}

static void unprepared_opens_and_half_prepared_does_not(void **state) {
    (void)state;
    struct file_image file = read_ptau(PM_CURVE_BN254);
    struct file_image bare = file_copy(&file);
    for (uint32_t type = 12; type <= 15; ++type) {
        struct file_image less = file_without(&bare, type);
        file_free(&bare);
        bare = less;
        struct pm_ptau ptau;
        pm_error error = PM_ERROR_INIT;
        const pm_status status = open_image(&bare, &ptau, &error);
        assert_int_equal(status, type == 15 ? PM_OK : PM_SECTION);
        assert_true(status != PM_OK || !ptau.is_prepared);
    }
    file_free(&bare);
    /* Section 12 without its largest basis is what snarkjs once wrote. */
    expect_and_free(file_resized(&file, 12, -32 * 64), PM_LENGTH, "powersoftau convert", NULL);
    file_free(&file);
}

static void header_fields_out_of_range(void **state) {
    (void)state;
    struct file_image file = read_ptau(PM_CURVE_BLS12_381);
    static const struct {
        size_t offset;
        uint32_t value;
        pm_status status;
    } patches[] = {{0, 47, PM_CURVE},          {4, 1, PM_CURVE},
                   {4 + 48, 5, PM_LENGTH},     {4 + 48, 3, PM_LENGTH},
                   {4 + 48, 32, PM_COUNT},     {4 + 48, UINT32_MAX, PM_COUNT},
                   {4 + 48 + 4, 64, PM_COUNT}, {4 + 48, 31, PM_LENGTH}};
    for (size_t i = 0; i < sizeof patches / sizeof patches[0]; ++i) {
        struct file_image patched = file_copy(&file);
        file_patch_u32(&patched, 1, patches[i].offset, patches[i].value);
        expect_and_free(patched, patches[i].status, NULL, NULL);
    }
    struct file_image many = file_copy(&file);
    file_patch_u32(&many, 7, 0, UINT32_MAX); /* contributions */
    expect_and_free(many, PM_TRUNCATED, "contribution", NULL);
    file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_the_files),
        cmocka_unit_test(every_section_missing_doubled_resized),
        cmocka_unit_test(B7_every_cut_is_found),
        cmocka_unit_test(unprepared_opens_and_half_prepared_does_not),
        cmocka_unit_test(header_fields_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
