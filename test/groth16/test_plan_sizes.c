/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bytes of keys from their counts: against Filecoin's parameter files, and against zkeys. */
#include "groth16/plan_sizes.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Lengths of the published parameter files. */
static const struct {
    const char *name;
    uint64_t bytes;
} parameter_files[] = {
    {"porep-32g", UINT64_C(47373928632)},       {"porep-64g", UINT64_C(47624967288)},
    {"porep-2k", UINT64_C(1114707768)},         {"porep-8m", UINT64_C(1429027896)},
    {"porep-512m", UINT64_C(1988841144)},       {"window-post-32g", UINT64_C(60780374232)},
    {"window-post-64g", UINT64_C(62556733560)}, {"winning-post-32g", UINT64_C(192050232)},
    {"snap-32g", UINT64_C(34453501368)},        {"snap-64g", UINT64_C(35507495352)},
    {"window-post-2k", UINT64_C(11501496)},     {"winning-post-2k", UINT64_C(47299128)}};
#define N_FILES (sizeof parameter_files / sizeof parameter_files[0])

static void known_circuits_have_their_files_lengths(void **state) {
    (void)state;
    assert_int_equal(pm_plan_n_presets, N_FILES);
    for (size_t i = 0; i < N_FILES; i++) {
        const struct pm_plan_preset *preset = pm_plan_preset_find(parameter_files[i].name);
        assert_non_null(preset);
        assert_int_equal(pm_plan_check_sizes(&preset->sizes, NULL), PM_OK);
        assert_true(pm_plan_file_bytes(&preset->sizes) == parameter_files[i].bytes);
        /* The domain is the smallest that holds the rows. */
        assert_true(preset->sizes.n_rows > UINT64_C(1) << (preset->sizes.log_n - 1));
    }
    assert_null(pm_plan_preset_find("porep"));
    assert_null(pm_plan_preset_find(""));
}

/* 130,278,869 rows, 130,170,221 variables; non-zeros 309,405,051 + 130,327,340 + 282,656,500. */
static void a_decoded_key_has_its_parts(void **state) {
    (void)state;
    struct pm_plan_sizes sizes = pm_plan_preset_find("porep-32g")->sizes;
    const uint64_t matrices = UINT64_C(722388891) * 8 + 3 * (UINT64_C(130278870) * 4 + 64);
    assert_true(pm_plan_matrix_bytes(&sizes) == matrices);
    assert_true(pm_plan_twiddle_bytes(&sizes) == UINT64_C(2) << 30);
    const uint64_t points = UINT64_C(47373928632) - 888 - 328 * 96; /* header, counts, ic */
    assert_true(pm_plan_point_bytes(&sizes) == points);
    const uint64_t densities = pm_plan_density_bytes(&sizes);
    assert_true(densities > UINT64_C(2) * 130170221 / 8 && densities < UINT64_C(2) * 130170221 / 6);
    pm_plan_sizes_add_key(&sizes);
    assert_int_equal(sizes.key_bytes, 0);
    assert_true(sizes.key_resident_bytes ==
                matrices + (UINT64_C(2) << 30) + points + densities + 328 * 96 + 864);
    sizes.has_matrices = false;
    assert_int_equal(pm_plan_matrix_bytes(&sizes), 0);
}

/* The file's length, its contributions taken away. */
static void expect_zkey(pm_context *context, const char *name) {
    char path[PM_TEST_PATH_MAX];
    pm_file_info info = {.struct_bytes = (uint32_t)sizeof info};
    assert_int_equal(pm_file_describe(context, pm_data_path(path, name), 0, NULL, &info, NULL),
                     PM_OK);
    uint64_t contributions_bytes = 0;
    for (uint32_t i = 0; i < info.n_sections; i++) {
        contributions_bytes += info.sections[i].type == 10 ? info.sections[i].bytes : 0;
    }
    const struct pm_plan_sizes sizes = {.curve = (pm_curve_id)info.curve,
                                        .log_n = info.log_n,
                                        .n_vars = info.n_vars,
                                        .n_inputs = info.n_public + 1,
                                        .n_rows = UINT64_C(1) << info.log_n,
                                        .n_a = info.n_vars / 2,
                                        .n_b = info.n_vars / 3,
                                        .n_l = info.n_vars - info.n_public - 1,
                                        .n_h = UINT64_C(1) << info.log_n,
                                        .n_nonzeros = {info.n_coefficients, 0, 0},
                                        .has_matrices = true};
    assert_int_equal(pm_plan_check_sizes(&sizes, NULL), PM_OK);
    assert_true(pm_plan_file_bytes(&sizes) == info.file_bytes - contributions_bytes + 64 + 4);
}

static void zkeys_have_the_length_of_their_counts(void **state) {
    (void)state;
    pm_context *context;
    assert_int_equal(pm_context_create(NULL, &context, NULL), PM_OK);
    expect_zkey(context, "mult3/mult3.zkey");
    expect_zkey(context, "mult3_bls/mult3_bls.zkey");
    expect_zkey(context, "nopriv/nopriv.zkey");
    expect_zkey(context, "one_bls/one_bls.zkey");
    pm_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_circuits_have_their_files_lengths),
        cmocka_unit_test(a_decoded_key_has_its_parts),
        cmocka_unit_test(zkeys_have_the_length_of_their_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
