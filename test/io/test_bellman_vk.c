/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The verifying key of bellman: a .vk file, and the beginning of a .params file. */
#include "io/params.h"

#include "support/file_builder.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { IC_AT = 868, N_IC = 3, VK_BYTES = IC_AT + 96 * N_IC };

static const struct pm_curve *curve(void) {
    return pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
}

/* Every point k times the generator, k counting up from 1, so that no two are equal. */
static void encode_multiple(const struct pm_group *group, uint64_t k, uint8_t *bytes) {
    struct pm_group_point point;
    uint8_t affine[PM_G2_BYTES_MAX];
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, &k, 1);
    group->to_affine(affine, &point);
    group->encode(bytes, PM_POINT_ZCASH_FULL, affine);
}

static struct file_image toy_vk(void) {
    struct file_image file = {calloc(1, VK_BYTES), VK_BYTES};
    static const struct {
        size_t at;
        bool is_g2;
    } points[] = {{0, false},     {96, false},         {192, true},
                  {384, true},    {576, false},        {672, true},
                  {IC_AT, false}, {IC_AT + 96, false}, {IC_AT + 192, false}};
    assert_non_null(file.bytes);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; ++i) {
        encode_multiple(points[i].is_g2 ? curve()->g2 : curve()->g1, i + 1,
                        file.bytes + points[i].at);
    }
    file.bytes[867] = N_IC;
    return file;
}

/* Opened and decoded; *affine is the caller's to free() when the status is OK. */
static pm_status read_vk(const struct pm_mapping *mapping, enum pm_params_extent extent,
                         struct pm_params *params, uint8_t **affine, pm_error *error) {
    pm_status status = pm_params_open(mapping, extent, params, error);
    *affine = NULL;
    if (status == PM_OK) {
        *affine = malloc(params->layout.vk_bytes);
        assert_non_null(*affine);
        status = pm_params_decode_vk(params, curve(), NULL, NULL, *affine, error);
    }
    if (status != PM_OK) {
        free(*affine);
    }
    return status;
}

static void expect_and_free(struct file_image file, enum pm_params_extent extent,
                            pm_status expected, const char *first, const char *second) {
    struct pm_params params;
    struct pm_mapping mapping;
    uint8_t *affine = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_mapping_borrow(file.bytes, file.n_bytes, "toy.vk", &mapping, &error),
                     PM_OK);
    const pm_status status = read_vk(&mapping, extent, &params, &affine, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status == PM_OK) {
        free(affine);
    } else {
        assert_string_equal(error.file, "toy.vk");
        assert_true(error.offset <= file.n_bytes);
    }
    pm_mapping_close(&mapping);
    file_free(&file);
}

static void points_come_out_in_montgomery_form(void **state) {
    (void)state;
    struct file_image file = toy_vk();
    struct pm_mapping mapping;
    struct pm_params params;
    uint8_t *affine = NULL, bytes[192];
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_mapping_borrow(file.bytes, file.n_bytes, "toy.vk", &mapping, &error),
                     PM_OK);
    file_expect(read_vk(&mapping, PM_PARAMS_VK_FILE, &params, &affine, &error), PM_OK, &error, NULL,
                NULL, NULL);
    assert_int_equal(params.layout.n[PM_PARAMS_IC], N_IC);
    assert_int_equal(params.layout.n_bytes, VK_BYTES);
    assert_int_equal(params.layout.offset[PM_PARAMS_IC], IC_AT);
    assert_memory_equal(affine, curve()->g1->generator, 96);
    curve()->g2->encode(bytes, PM_POINT_ZCASH_FULL, affine + 672);
    assert_memory_equal(bytes, file.bytes + 672, 192);
    curve()->g1->encode(bytes, PM_POINT_ZCASH_FULL, affine + 576);
    assert_memory_equal(bytes, file.bytes + 576, 96);
    curve()->g1->encode(bytes, PM_POINT_ZCASH_FULL, affine + IC_AT + 192);
    assert_memory_equal(bytes, file.bytes + IC_AT + 192, 96);
    free(affine);
    pm_mapping_close(&mapping);
    file_free(&file);
}

static void lengths_are_exact(void **state) {
    (void)state;
    struct file_image file = toy_vk();
    for (size_t n = 0; n < VK_BYTES; n += n % 96 == 95 || n % 96 == 0 ? 1 : 47) {
        expect_and_free(file_cut(&file, n), PM_PARAMS_VK_FIRST, PM_TRUNCATED, NULL,
                        n < 864 ? "missing behind it" : NULL);
    }
    expect_and_free(file_cut(&file, VK_BYTES + 1), PM_PARAMS_VK_FILE, PM_LENGTH, "1 bytes too long",
                    NULL);
    expect_and_free(file_cut(&file, VK_BYTES + 1), PM_PARAMS_VK_FIRST, PM_OK, NULL, NULL);
    file_free(&file);
}

/* B8: a count from the file must not decide how much is allocated. */
static void B8_count_is_bounded_by_the_file(void **state) {
    (void)state;
    static const uint8_t counts[][4] = {
        {0, 0, 0, 0}, {0, 0, 0, 4}, {0xff, 0xff, 0xff, 0xff}, {3, 0, 0, 0}};
    for (size_t i = 0; i < 4; ++i) {
        struct file_image file = toy_vk();
        memcpy(file.bytes + 864, counts[i], 4);
        expect_and_free(file, PM_PARAMS_VK_FIRST, i == 0 ? PM_COUNT : PM_TRUNCATED, "ic", NULL);
    }
}

static void every_point_is_checked(void **state) {
    (void)state;
    static const struct {
        size_t at, n_bytes;
        const char *says;
    } points[] = {{0, 96, "alpha in g1"},          {96, 96, "beta in g1"},
                  {192, 192, "beta in g2"},        {384, 192, "gamma in g2"},
                  {576, 96, "delta in g1"},        {672, 192, "delta in g2"},
                  {IC_AT, 96, "ic: point 0 of 3"}, {IC_AT + 192, 96, "ic: point 2 of 3"}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; ++i) {
        uint8_t *at;
        struct file_image file = toy_vk();
        at = file.bytes + points[i].at;
        at[points[i].n_bytes - 1] ^= 1; /* y, big-endian: the lowest bit */
        expect_and_free(file, PM_PARAMS_VK_FILE, PM_NOT_ON_CURVE, points[i].says,
                        "not on the curve");
        file = toy_vk();
        at = file.bytes + points[i].at;
        memset(at, 0, points[i].n_bytes);
        at[0] = 0x40;
        expect_and_free(file, PM_PARAMS_VK_FILE, PM_POINT_AT_INFINITY, points[i].says,
                        "at infinity");
        file = toy_vk();
        at = file.bytes + points[i].at;
        at[0] |= 0x80; /* "compressed" */
        expect_and_free(file, PM_PARAMS_VK_FILE, PM_ENCODING, points[i].says, NULL);
        file = toy_vk();
        at = file.bytes + points[i].at;
        memset(at, 0xff, 48);
        at[0] = 0x1f;
        expect_and_free(file, PM_PARAMS_VK_FILE, PM_NOT_CANONICAL, points[i].says, NULL);
    }
    /* (0, 2) is on y^2 = x^3 + 4, and its order is 3. */
    struct file_image file = toy_vk();
    memset(file.bytes + IC_AT + 96, 0, 96);
    file.bytes[IC_AT + 96 + 95] = 2;
    expect_and_free(file, PM_PARAMS_VK_FILE, PM_NOT_IN_SUBGROUP, "ic: point 1 of 3", NULL);
}

static void other_curve_is_refused(void **state) {
    (void)state;
    struct file_image file = toy_vk();
    struct pm_mapping mapping;
    struct pm_params params;
    uint8_t affine[VK_BYTES];
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_mapping_borrow(file.bytes, file.n_bytes, "x", &mapping, &error), PM_OK);
    assert_int_equal(pm_params_open(&mapping, PM_PARAMS_VK_FILE, &params, &error), PM_OK);
    file_expect(pm_params_decode_vk(&params, pm_curve_get(PM_CURVE_BN254, PM_BODY_PORTABLE), NULL,
                                    NULL, affine, &error),
                PM_CURVE, &error, "bls12381", "bn128", NULL);
    pm_mapping_close(&mapping);
    file_free(&file);
}

/* Zcash's Sapling output parameters begin with the key. */
static void sapling_output_key_opens(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    struct pm_mapping mapping;
    struct pm_params params;
    uint8_t *affine = NULL;
    pm_error error = PM_ERROR_INIT;
    if (!pm_fixture_path(path, "bellman/sapling-output.params")) {
        pm_say_skip("bellman/sapling-output.params");
        skip();
    }
    file_expect(pm_mapping_open(path, PM_MAPPING_MAP, UINT64_MAX, NULL, NULL, &mapping, &error),
                PM_OK, &error, NULL, NULL, NULL);
    file_expect(read_vk(&mapping, PM_PARAMS_VK_FIRST, &params, &affine, &error), PM_OK, &error,
                NULL, NULL, NULL);
    assert_int_equal(params.layout.n[PM_PARAMS_IC], 6);
    assert_int_equal(params.layout.vk_bytes, 868 + 6 * 96);
    free(affine);
    assert_int_equal(pm_params_open(&mapping, PM_PARAMS_VK_FILE, &params, &error), PM_LENGTH);
    pm_mapping_close(&mapping);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_come_out_in_montgomery_form),
        cmocka_unit_test(lengths_are_exact),
        cmocka_unit_test(B8_count_is_bounded_by_the_file),
        cmocka_unit_test(every_point_is_checked),
        cmocka_unit_test(other_curve_is_refused),
        cmocka_unit_test(sapling_output_key_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
