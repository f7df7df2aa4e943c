/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/bellman_vk.h"

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

static pm_status open_image(const struct file_image *file, bool trailing, struct pm_bellman_vk *vk,
                            pm_error *error) {
    struct pm_mapping mapping;
    assert_int_equal(pm_mapping_borrow(file->bytes, file->n_bytes, "toy.vk", &mapping, error),
                     PM_OK);
    const pm_status status = pm_bellman_vk_open(&mapping, curve(), trailing, vk, error);
    pm_mapping_close(&mapping);
    return status;
}

static void expect_and_free(struct file_image file, bool trailing, pm_status expected,
                            const char *first, const char *second) {
    struct pm_bellman_vk vk;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = open_image(&file, trailing, &vk, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status == PM_OK) {
        pm_bellman_vk_close(&vk);
    } else {
        assert_string_equal(error.file, "toy.vk");
        assert_null(vk.ic);
    }
    file_free(&file);
}

static void points_come_out_in_montgomery_form(void **state) {
    (void)state;
    struct file_image file = toy_vk();
    struct pm_bellman_vk vk;
    pm_error error = PM_ERROR_INIT;
    file_expect(open_image(&file, false, &vk, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(vk.n_public, N_IC - 1);
    assert_int_equal(vk.n_bytes, VK_BYTES);
    assert_memory_equal(vk.alpha_g1, curve()->g1->generator, 96);
    uint8_t bytes[192];
    curve()->g2->encode(bytes, PM_POINT_ZCASH_FULL, vk.delta_g2);
    assert_memory_equal(bytes, file.bytes + 672, 192);
    curve()->g1->encode(bytes, PM_POINT_ZCASH_FULL, vk.delta_g1);
    assert_memory_equal(bytes, file.bytes + 576, 96);
    curve()->g1->encode(bytes, PM_POINT_ZCASH_FULL, vk.ic + 2 * 96);
    assert_memory_equal(bytes, file.bytes + IC_AT + 192, 96);
    pm_bellman_vk_close(&vk);
    file_free(&file);
}

static void lengths_are_exact(void **state) {
    (void)state;
    struct file_image file = toy_vk();
    for (size_t n = 0; n < VK_BYTES; n += n % 96 == 95 || n % 96 == 0 ? 1 : 47) {
        expect_and_free(file_cut(&file, n), true, PM_TRUNCATED, NULL, NULL);
    }
    expect_and_free(file_cut(&file, VK_BYTES + 1), false, PM_LENGTH, "1 bytes too long", NULL);
    expect_and_free(file_cut(&file, VK_BYTES + 1), true, PM_OK, NULL, NULL);
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
        expect_and_free(file, true, i == 0 ? PM_COUNT : PM_TRUNCATED, "ic points", NULL);
    }
}

static void every_point_is_checked(void **state) {
    (void)state;
    static const struct {
        size_t at, n_bytes;
        const char *says;
    } points[] = {{0, 96, "alpha in g1"},    {96, 96, "beta in g1"},
                  {192, 192, "beta in g2"},  {384, 192, "gamma in g2"},
                  {576, 96, "delta in g1"},  {672, 192, "delta in g2"},
                  {IC_AT, 96, "ic point 0"}, {IC_AT + 192, 96, "ic point 2"}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; ++i) {
        uint8_t *at;
        struct file_image file = toy_vk();
        at = file.bytes + points[i].at;
        at[points[i].n_bytes - 1] ^= 1; /* y, big-endian: the lowest bit */
        expect_and_free(file, false, PM_NOT_ON_CURVE, points[i].says, "not on the curve");
        file = toy_vk();
        at = file.bytes + points[i].at;
        memset(at, 0, points[i].n_bytes);
        at[0] = 0x40;
        expect_and_free(file, false, PM_POINT_AT_INFINITY, points[i].says, "at infinity");
        file = toy_vk();
        at = file.bytes + points[i].at;
        at[0] |= 0x80; /* "compressed" */
        expect_and_free(file, false, PM_ENCODING, points[i].says, NULL);
        file = toy_vk();
        at = file.bytes + points[i].at;
        memset(at, 0xff, 48);
        at[0] = 0x1f;
        expect_and_free(file, false, PM_NOT_CANONICAL, points[i].says, NULL);
    }
    /* (0, 2) is on y^2 = x^3 + 4, and its order is 3. */
    struct file_image file = toy_vk();
    memset(file.bytes + IC_AT + 96, 0, 96);
    file.bytes[IC_AT + 96 + 95] = 2;
    struct pm_bellman_vk vk;
    pm_error error = PM_ERROR_INIT;
    file_expect(open_image(&file, false, &vk, &error), PM_NOT_IN_SUBGROUP, &error, "ic point 1",
                NULL, NULL);
    assert_int_equal(error.offset, IC_AT + 96);
    file_free(&file);
}

static void other_curve_is_refused(void **state) {
    (void)state;
    struct pm_mapping mapping;
    struct pm_bellman_vk vk;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_mapping_borrow("", 0, "x", &mapping, &error), PM_OK);
    file_expect(pm_bellman_vk_open(&mapping, pm_curve_get(PM_CURVE_BN254, PM_BODY_PORTABLE), true,
                                   &vk, &error),
                PM_CURVE, &error, "bls12381", NULL, NULL);
    pm_mapping_close(&mapping);
}

/* Zcash's Sapling output parameters begin with the key. */
static void sapling_output_key_opens(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    struct pm_mapping mapping;
    struct pm_bellman_vk vk;
    pm_error error = PM_ERROR_INIT;
    if (!pm_fixture_path(path, "bellman/sapling-output.params")) {
        pm_say_skip("bellman/sapling-output.params");
        skip();
    }
    file_expect(pm_mapping_open(path, PM_MAPPING_MAP, UINT64_MAX, NULL, &mapping, &error), PM_OK,
                &error, NULL, NULL, NULL);
    file_expect(pm_bellman_vk_open(&mapping, curve(), true, &vk, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(vk.n_public, 5);
    assert_int_equal(vk.n_bytes, 868 + 6 * 96);
    pm_bellman_vk_close(&vk);
    assert_int_equal(pm_bellman_vk_open(&mapping, curve(), false, &vk, &error), PM_LENGTH);
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
