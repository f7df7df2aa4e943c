/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A real parameter file of bellman: Zcash's Sapling output circuit, with the transcript of its
 * ceremony behind it. It is described, checks, comes out of the writer with the same bytes, and
 * no damage to it goes unnoticed.
 */
#include "io/params.h"

#include "support/fixture.h"
#include "support/outcomes.h"
#include "support/seeded_random.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { N_IC = 6, N_H = 8191, N_L = 7821, N_A = 6298, N_B = 4850, N_CONTRIBUTIONS = 97 };
enum { PARAMETERS_BYTES = 3540024, RANDOM_CUTS = 200 };

struct fixture {
    char path[PM_TEST_PATH_MAX];
    pm_context *context;
    struct pm_team *team;
    uint8_t *bytes;
    size_t n_bytes;
};

static struct fixture fixture;
static struct seeded_random seeded;

static int fixture_open(void **state) {
    *state = NULL;
    seeded = seeded_random_from_environment();
    if (!pm_fixture_path(fixture.path, "bellman/sapling-output.params")) {
        return 0;
    }
    fixture.context = toy_context(2, PM_ARITHMETIC_BEST);
    fixture.bytes = (uint8_t *)pm_test_read_file(fixture.path, &fixture.n_bytes);
    assert_non_null(fixture.bytes);
    assert_int_equal(pm_team_create(2, &fixture.team, NULL), PM_OK);
    *state = &fixture;
    return 0;
}

static int fixture_close(void **state) {
    (void)state;
    pm_team_destroy(fixture.team);
    free(fixture.bytes);
    pm_context_destroy(fixture.context);
    return 0;
}

static void need_fixture(void **state) {
    if (*state == NULL) {
        pm_say_skip("no fixtures (PM_FIXTURES): no real bellman parameters read");
        skip();
    }
}

static void it_is_described(void **state) {
    need_fixture(state);
    static const char *const names[] = {"header points", "ic",   "h",         "l", "a",
                                        "b_g1",          "b_g2", "transcript"};
    static const uint8_t digest_begins[] = {0x65, 0x7e, 0x3d, 0x38};
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_file_describe(fixture.context, fixture.path, 1, NULL, &info, &error), PM_OK,
               &error);
    assert_int_equal(info.kind, PM_FILE_PARAMS);
    assert_string_equal(pm_file_kind_name((pm_file_kind)info.kind), "params");
    assert_int_equal(info.curve, PM_CURVE_BLS12_381);
    assert_int_equal(info.log_n, 13);
    assert_int_equal(info.n_public, N_IC - 1);
    assert_int_equal(info.n_vars, N_IC + N_L);
    assert_int_equal(info.n_h, N_H);
    assert_int_equal(info.n_l, N_L);
    assert_int_equal(info.n_a, N_A);
    assert_int_equal(info.n_b, N_B);
    assert_int_equal(info.parameters_bytes, PARAMETERS_BYTES);
    assert_int_equal(info.has_circuit_hash, 1);
    assert_memory_equal(info.circuit_hash, fixture.bytes + PARAMETERS_BYTES, 64);
    assert_int_equal(info.n_contributions, N_CONTRIBUTIONS);
    assert_int_equal(info.insecure, 0);
    assert_memory_equal(info.digest, digest_begins, sizeof digest_begins);
    assert_int_equal(info.n_sections, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < info.n_sections; ++i) {
        assert_string_equal(info.sections[i].name, names[i]);
    }
    assert_int_equal(info.sections[7].offset, PARAMETERS_BYTES);
    assert_int_equal(info.sections[7].bytes, fixture.n_bytes - PARAMETERS_BYTES);
}

static void every_point_checks(void **state) {
    need_fixture(state);
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_file_check(fixture.context, fixture.path, NULL, &error), PM_OK, &error);
    /* The beginning is a verifying key file. */
    const char *path = outcome_file(fixture.bytes, 868 + 96 * N_IC);
    pm_file_info info = {.struct_bytes = sizeof info};
    toy_expect(pm_file_describe(fixture.context, path, 0, NULL, &info, &error), PM_OK, &error);
    assert_int_equal(info.kind, PM_FILE_BELLMAN_VK);
    assert_int_equal(info.n_public, N_IC - 1);
    toy_expect(pm_file_check(fixture.context, path, NULL, &error), PM_OK, &error);
}

/* Decoded to Montgomery form and encoded again, part by part, from the counts alone. */
static void written_again_the_bytes_are_the_same(void **state) {
    need_fixture(state);
    const struct pm_params_counts counts = {N_IC, N_L, 13, N_A, N_B};
    struct pm_mapping mapping;
    struct pm_params params;
    struct pm_params_layout layout;
    pm_error error = PM_ERROR_INIT;
    toy_expect(
        pm_mapping_open(fixture.path, PM_MAPPING_MAP, UINT64_MAX, NULL, NULL, &mapping, &error),
        PM_OK, &error);
    toy_expect(pm_params_open(&mapping, PM_PARAMS_WHOLE, &params, &error), PM_OK, &error);
    toy_expect(pm_params_layout_make(&counts, &layout, &error), PM_OK, &error);
    assert_int_equal(layout.n_bytes, PARAMETERS_BYTES);
    uint8_t *image = calloc(1, fixture.n_bytes);
    assert_non_null(image);
    pm_params_write_counts(&layout, image);
    for (int i = 0; i < PM_PARAMS_PARTS; ++i) {
        const enum pm_params_part part = (enum pm_params_part)i;
        const struct pm_curve *read_with = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
        const uint64_t n = params.layout.n[part];
        uint8_t *affine = malloc(n * pm_params_point_bytes(part));
        assert_non_null(affine);
        toy_expect(pm_params_decode(&params, read_with, part, 0, n, PM_POINT_CHECK_CURVE,
                                    fixture.team, NULL, affine, &error),
                   PM_OK, &error);
        toy_expect(pm_params_write_points(&layout, read_with, part, 0, n, affine, fixture.team,
                                          NULL, image, &error),
                   PM_OK, &error);
        free(affine);
    }
    memcpy(image + layout.n_bytes, params.circuit_hash, fixture.n_bytes - layout.n_bytes);
    assert_memory_equal(image, fixture.bytes, fixture.n_bytes);
    free(image);
    pm_mapping_close(&mapping);
}

/* B18: a bit in each region of the file; check names the point and its place. */
static void B18_flipped_bit_in_each_region_is_found(void **state) {
    need_fixture(state);
    pm_file_info info = {.struct_bytes = sizeof info};
    assert_int_equal(pm_file_describe(fixture.context, fixture.path, 0, NULL, &info, NULL), PM_OK);
    for (size_t i = 0; i < info.n_sections; ++i) {
        const pm_section_info *section = &info.sections[i];
        const bool is_transcript = i + 1 == info.n_sections;
        const uint64_t stride = is_transcript ? 544 : strcmp(section->name, "b_g2") == 0 ? 192 : 96;
        const uint64_t lead = is_transcript ? 68 : 0;
        const uint64_t n = (section->bytes - lead) / stride;
        const uint64_t point = seeded_random_below(&seeded, n);
        const uint64_t at = section->offset + lead + point * stride +
                            seeded_random_below(&seeded, is_transcript ? 480 : stride);
        const uint8_t bit = (uint8_t)(1u << seeded_random_below(&seeded, 8));
        pm_error error = PM_ERROR_INIT;
        fixture.bytes[at] ^= bit;
        const char *path = outcome_file(fixture.bytes, fixture.n_bytes);
        const pm_status status = pm_file_check(fixture.context, path, NULL, &error);
        fixture.bytes[at] ^= bit;
        if (status != PM_NOT_ON_CURVE && status != PM_NOT_CANONICAL && status != PM_ENCODING) {
            fail_msg("bit %u of byte %llu: %s (%s)", bit, (unsigned long long)at,
                     pm_status_name(status), error.message);
        }
        outcome_expect_place(status, &error, path, section->name);
        assert_true(error.offset <= at && at - error.offset < 192);
        if (i > 0) {
            assert_non_null(strstr(error.message, section->name));
        }
    }
}

static void expect_cut_refused(uint64_t cut) {
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error = PM_ERROR_INIT;
    const uint64_t begin_ns = outcome_cpu_ns();
    const char *path = outcome_file(fixture.bytes, cut);
    const pm_status status = pm_file_describe(fixture.context, path, 0, NULL, &info, &error);
    assert_true(outcome_cpu_ns() - begin_ns < OUTCOME_CPU_NS_MAX);
    if (cut == 868 + 96 * N_IC || cut == PARAMETERS_BYTES) {
        toy_expect(status, PM_OK, &error);
        return;
    }
    outcome_expect_error(status, &error, path, error.message);
    toy_expect(status,
               cut < 96                 ? PM_NOT_THIS_KIND
               : cut < PARAMETERS_BYTES ? PM_TRUNCATED
                                        : PM_LENGTH,
               &error);
}

/* B7, RC6: described by its length alone, as the file has no name here. */
static void B7_cut_at_every_edge_and_anywhere(void **state) {
    need_fixture(state);
    pm_file_info info = {.struct_bytes = sizeof info};
    assert_int_equal(pm_file_describe(fixture.context, fixture.path, 0, NULL, &info, NULL), PM_OK);
    for (size_t i = 0; i < info.n_sections; ++i) {
        const uint64_t begin = info.sections[i].offset, end = begin + info.sections[i].bytes;
        const uint64_t edges[] = {begin > 0 ? begin - 4 : 1, begin > 0 ? begin : 1, end};
        for (size_t e = 0; e < 3; ++e) {
            for (uint64_t cut = edges[e] - 1; cut <= edges[e] + 1 && cut < fixture.n_bytes; ++cut) {
                expect_cut_refused(cut);
            }
        }
    }
    for (size_t i = 0; i < RANDOM_CUTS; ++i) {
        expect_cut_refused(seeded_random_below(&seeded, fixture.n_bytes));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_described),
        cmocka_unit_test(every_point_checks),
        cmocka_unit_test(written_again_the_bytes_are_the_same),
        cmocka_unit_test(B18_flipped_bit_in_each_region_is_found),
        cmocka_unit_test(B7_cut_at_every_edge_and_anywhere),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
