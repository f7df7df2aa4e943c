/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/zkey.h"

#include "support/file_builder.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
static struct pm_team *team;

/* Opens an image; zkey is only usable until the image goes. */
static pm_status open_image(const struct file_image *file, struct pm_zkey *zkey, pm_error *error) {
    static struct pm_mapping mapping; /* outlives the call, as zkey points at it */
    pm_mapping_close(&mapping);
    /* An exact allocation, so that a read past the end is seen. */
    assert_int_equal(pm_mapping_borrow(file->bytes, file->n_bytes, "toy.zkey", &mapping, error),
                     PM_OK);
    return pm_zkey_open(&mapping, team, NULL, zkey, error);
}

static void expect_and_free(struct file_image file, pm_status expected, const char *first,
                            const char *second) {
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = open_image(&file, &zkey, &error);
    file_expect(status, expected, &error, first, second, NULL);
    if (status != PM_OK) {
        assert_string_equal(error.file, "toy.zkey");
        assert_int_equal(error.status, status);
    }
    file_free(&file);
}

static void facts_are_the_files(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = file_zkey(curves[i]);
        struct pm_zkey zkey;
        pm_error error = PM_ERROR_INIT;
        file_expect(open_image(&file, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
        assert_int_equal(zkey.parts.curve, curves[i]);
        assert_int_equal(zkey.parts.n_vars, TOY_N_VARS);
        assert_int_equal(zkey.parts.n_public, TOY_N_PUBLIC);
        assert_int_equal(zkey.parts.log_n, TOY_LOG_N);
        assert_int_equal(zkey.parts.n_coefficients, TOY_N_COEFFICIENTS);
        assert_true(zkey.parts.coefficients_sorted);
        assert_int_equal(zkey.n_rows, TOY_N_ROWS + TOY_N_PUBLIC + 1);
        assert_int_equal(zkey.n_contributions, 2);
        assert_true(zkey.has_circuit_hash);
        assert_int_equal(zkey.circuit_hash[63], 63);
        assert_ptr_equal(zkey.parts.h, file.bytes + file_section(&file, 9, NULL));
        assert_ptr_equal(zkey.parts.b2, file.bytes + file_section(&file, 7, NULL));
        assert_ptr_equal(zkey.parts.coefficients, file.bytes + file_section(&file, 4, NULL) + 4);
        file_free(&file);
    }
}

static void order_of_sections_is_free(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BN254);
    expect_and_free(file_reversed(&file), PM_OK, NULL, NULL);
    expect_and_free(file_with_extra(&file, 77, 5), PM_OK, NULL, NULL);
    file_free(&file);
}

static void every_section_missing_doubled_resized(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = file_zkey(curves[i]);
        for (uint32_t type = 1; type <= 10; ++type) {
            char name[16];
            (void)snprintf(name, sizeof name, "section %u ", type);
            const bool is_optional = type == 3 || type == 10;
            expect_and_free(file_without(&file, type), is_optional ? PM_OK : PM_SECTION,
                            is_optional ? NULL : name, is_optional ? NULL : "missing");
            expect_and_free(file_doubled(&file, type), PM_SECTION, name, "twice");
            expect_and_free(file_resized(&file, type, 1), PM_LENGTH, name, NULL);
            const bool is_parsed = type == 1 || type == 2 || type == 10;
            expect_and_free(file_resized(&file, type, -1), is_parsed ? PM_TRUNCATED : PM_LENGTH,
                            name, NULL);
        }
        file_free(&file);
    }
}

static void missing_ic_leaves_null(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BN254), without = file_without(&file, 3);
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    file_expect(open_image(&without, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_null(zkey.parts.ic);
    file_free(&without);
    without = file_without(&file, 10);
    file_expect(open_image(&without, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_false(zkey.has_circuit_hash);
    assert_int_equal(zkey.n_contributions, 0);
    file_free(&without);
    file_free(&file);
}

/* B7: truncated files made others compute for hours. */
static void B7_every_truncation_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; ++i) {
        struct file_image file = file_zkey(curves[i]);
        for (size_t n = 0; n < file.n_bytes; ++n) {
            struct file_image cut = file_cut(&file, n);
            struct pm_zkey zkey;
            pm_error error = PM_ERROR_INIT;
            const pm_status status = open_image(&cut, &zkey, &error);
            assert_true(status == PM_TRUNCATED || (n < 4 && status == PM_NOT_THIS_KIND));
            assert_true(error.message[0] != '\0');
            assert_string_equal(error.file, "toy.zkey");
            file_free(&cut);
        }
        expect_and_free(file_cut(&file, file.n_bytes + 1), PM_LENGTH, "1 bytes follow", NULL);
        file_free(&file);
    }
}

/* E15: "Invalid section size" for a plonk key told nobody anything. */
static void E15_protocol_is_named(void **state) {
    (void)state;
    static const struct {
        uint32_t protocol;
        const char *says;
    } cases[] = {{2, "plonk"}, {10, "fflonk"}, {0, "unknown (0)"}, {3, "unknown (3)"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        file_patch_u32(&file, 1, 0, cases[i].protocol);
        expect_and_free(file, PM_PROTOCOL, cases[i].says, "need groth16");
    }
}

static void version_and_magic(void **state) {
    (void)state;
    for (uint32_t version = 0; version <= 3; ++version) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        file_patch_u32(&file, 0, 4, version);
        expect_and_free(file, version == 1 ? PM_OK : PM_VERSION, version == 1 ? NULL : "version",
                        NULL);
    }
    struct file_image file = file_wtns(PM_CURVE_BN254);
    expect_and_free(file, PM_NOT_THIS_KIND, "it is a .wtns file", NULL);
}

/* Offsets in section 2 of a BN254 key. */
enum { AT_N8Q = 0, AT_Q = 4, AT_N8R = 36, AT_R = 40, AT_N_VARS = 72, AT_N_PUBLIC = 76, AT_N = 80 };

static void header_fields_at_their_edges(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        pm_status status;
        const char *says;
    } cases[] = {{AT_N8Q, 31, PM_CURVE, "31 bytes"},
                 {AT_N8Q, 48, PM_CURVE, NULL},
                 {AT_N8Q, 0, PM_CURVE, "0 bytes"},
                 {AT_N8Q, UINT32_MAX, PM_CURVE, "4294967295"},
                 {AT_N8R, 33, PM_CURVE, "33 bytes"},
                 {AT_N8R, 64, PM_CURVE, "64 bytes"},
                 {AT_Q, 1, PM_CURVE, "0x30644e72"},
                 {AT_R, 1, PM_CURVE, "0x30644e72"},
                 {AT_N_VARS, 0, PM_COUNT, "0 signals"},
                 {AT_N_VARS, TOY_N_PUBLIC, PM_COUNT, "2 signals"},
                 {AT_N_VARS, TOY_N_PUBLIC + 1, PM_LENGTH, "section 5 (a points)"},
                 {AT_N_VARS, TOY_N_VARS + 1, PM_LENGTH, "section 5 (a points)"},
                 {AT_N_VARS, UINT32_MAX, PM_LENGTH, "section 5 (a points)"},
                 {AT_N_PUBLIC, TOY_N_VARS, PM_COUNT, "5 public"},
                 {AT_N_PUBLIC, UINT32_MAX, PM_COUNT, "4294967295 public"},
                 {AT_N_PUBLIC, TOY_N_VARS - 1, PM_LENGTH, "section 3 (ic)"},
                 {AT_N, 0, PM_COUNT, "no power of two"},
                 {AT_N, 6, PM_COUNT, "no power of two"},
                 {AT_N, UINT32_MAX, PM_COUNT, "no power of two"},
                 {AT_N, 4, PM_LENGTH, "section 9 (h points)"},
                 {AT_N, 1u << 27, PM_LENGTH, "section 9 (h points)"},
                 {AT_N, 1u << 28, PM_UNSUPPORTED, "2^28"},
                 {AT_N, 1u << 31, PM_UNSUPPORTED, "another basis"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        file_patch_u32(&file, 2, cases[i].offset, cases[i].value);
        expect_and_free(file, cases[i].status, cases[i].says, NULL);
    }
}

/* B23: 48-byte coordinates read as 32-byte ones, and one curve's q with the other's r. */
static void B23_primes_must_belong_together(void **state) {
    (void)state;
    const struct pm_field *bn254 = pm_field_fr(PM_CURVE_BN254, PM_BODY_PORTABLE);
    struct file_image file = file_zkey(PM_CURVE_BLS12_381);
    file_patch(&file, 2, 4 + 48 + 4, bn254->modulus, 32);
    expect_and_free(file, PM_CURVE, "0x1a0111ea", "0x30644e72");
    file = file_zkey(PM_CURVE_BLS12_381);
    file_patch_u32(&file, 2, 4 + 48 + 4 + 32 + 8, 1u << 31);
    expect_and_free(file, PM_LENGTH, "section 9", NULL);
}

static void coefficients_at_their_edges(void **state) {
    (void)state;
    const uint64_t *r = pm_field_fr(PM_CURVE_BN254, PM_BODY_PORTABLE)->modulus;
    uint64_t below[4];
    memcpy(below, r, sizeof below);
    below[0] -= 1;
    static const uint8_t all_ones[32] = {[0 ... 31] = 0xff};
    const size_t record = 4 + 2 * 44; /* the third */
    static const struct {
        size_t offset;
        uint32_t value;
        pm_status status;
        const char *says;
    } cases[] = {{0, 2, PM_COUNT, "matrix 2"},
                 {0, UINT32_MAX, PM_COUNT, "coefficient 2"},
                 {4, 8, PM_COUNT, "constraint 8"},
                 {4, 7, PM_OK, NULL},
                 {4, UINT32_MAX, PM_COUNT, "constraint 4294967295"},
                 {8, TOY_N_VARS, PM_COUNT, "signal 5 of 5"},
                 {8, TOY_N_VARS - 1, PM_OK, NULL},
                 {8, UINT32_MAX, PM_COUNT, "signal 4294967295"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        file_patch_u32(&file, 4, record + cases[i].offset, cases[i].value);
        expect_and_free(file, cases[i].status, cases[i].says, NULL);
    }
    const void *const values[] = {r, all_ones, below};
    for (size_t i = 0; i < 3; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        file_patch(&file, 4, record + 12, values[i], 32);
        expect_and_free(file, i < 2 ? PM_NOT_CANONICAL : PM_OK, i < 2 ? "coefficient 2" : NULL,
                        NULL);
    }
    static const uint32_t counts[] = {0, TOY_N_COEFFICIENTS - 1, TOY_N_COEFFICIENTS + 1,
                                      UINT32_MAX};
    for (size_t i = 0; i < 4; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        file_patch_u32(&file, 4, 0, counts[i]);
        expect_and_free(file, PM_LENGTH, "section 4 (coefficients)", NULL);
    }
}

static void lowest_bad_coefficient_is_named(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BN254);
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    file_patch_u32(&file, 4, 4 + 6 * 44, 9);
    file_patch_u32(&file, 4, 4 + 1 * 44 + 8, 99);
    file_patch_u32(&file, 4, 4 + 4 * 44 + 4, 99);
    file_expect(open_image(&file, &zkey, &error), PM_COUNT, &error, "coefficient 1 ", "signal 99",
                NULL);
    assert_int_equal(error.offset, file_section(&file, 4, NULL) + 4 + 44);
    assert_int_equal(error.need, TOY_N_VARS);
    assert_int_equal(error.have, 99);
    file_free(&file);
}

static void unsorted_rows_are_noticed(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BN254);
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    file_patch_u32(&file, 4, 4 + 2 * 44 + 4, 5);
    file_expect(open_image(&file, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_false(zkey.parts.coefficients_sorted);
    assert_int_equal(zkey.n_rows, 6);
    file_free(&file);
}

static void contributions_are_walked(void **state) {
    (void)state;
    static const struct {
        uint32_t count;
        pm_status status;
    } counts[] = {{0, PM_LENGTH}, {1, PM_LENGTH}, {3, PM_TRUNCATED}, {UINT32_MAX, PM_TRUNCATED}};
    for (size_t i = 0; i < 4; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BLS12_381);
        file_patch_u32(&file, 10, 64, counts[i].count);
        expect_and_free(file, counts[i].status, "section 10 (contributions)", NULL);
    }
    /* The first record's parameters: 3 G1, a G2, a transcript, a type before their length. */
    struct file_image file = file_zkey(PM_CURVE_BLS12_381);
    file_patch_u32(&file, 10, 68 + 3 * 96 + 192 + 64 + 4, UINT32_MAX);
    expect_and_free(file, PM_TRUNCATED, "parameters", NULL);
}

static pm_status check_image(const struct file_image *file, struct pm_zkey *zkey, pm_error *error) {
    file_expect(open_image(file, zkey, error), PM_OK, error, NULL, NULL, NULL);
    return pm_zkey_check_points(zkey, pm_curve_get(zkey->parts.curve, PM_BODY_PORTABLE),
                                PM_POINT_CHECK_SUBGROUP, team, NULL, error);
}

static void points_are_checked(void **state) {
    (void)state;
    static const uint8_t zeros[192] = {0}, ones[192] = {[0 ... 191] = 0xff};
    for (size_t i = 0; i < 2; ++i) {
        const size_t g1_bytes = curves[i] == PM_CURVE_BN254 ? 64 : 96;
        struct file_image good = file_zkey(curves[i]);
        struct pm_zkey zkey;
        pm_error error = PM_ERROR_INIT;
        file_expect(check_image(&good, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
        for (uint32_t type = 3; type <= 9; ++type) {
            if (type == 4) {
                continue;
            }
            const size_t point_bytes = type == 7 ? 2 * g1_bytes : g1_bytes;
            char name[40];
            (void)snprintf(name, sizeof name, "section %u ", type);
            struct file_image file = file_copy(&good);
            file_patch(&file, type, point_bytes, ones, point_bytes); /* the second point */
            file_expect(check_image(&file, &zkey, &error), PM_NOT_CANONICAL, &error, name,
                        "point 1 of", NULL);
            assert_int_equal(error.offset, file_section(&file, type, NULL) + point_bytes);
            file_free(&file);
            file = file_copy(&good);
            file.bytes[file_section(&file, type, NULL)] ^= 1; /* x of the first */
            file_expect(check_image(&file, &zkey, &error), PM_NOT_ON_CURVE, &error, name,
                        "point 0 of", NULL);
            file_free(&file);
            file = file_copy(&good);
            file_patch(&file, type, 0, zeros, point_bytes);
            file_expect(check_image(&file, &zkey, &error), type == 9 ? PM_POINT_AT_INFINITY : PM_OK,
                        &error, NULL, NULL, NULL);
            file_free(&file);
        }
        file_free(&good);
    }
}

/* (0, 2) is on y^2 = x^3 + 4, and its order is 3: the shorter check lets it pass. */
static void subgroup_is_checked_when_asked_for(void **state) {
    (void)state;
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    const uint8_t canonical[96] = {[48] = 2};
    uint8_t affine[96];
    struct file_image file = file_zkey(PM_CURVE_BLS12_381);
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(
        curve->g1->decode(affine, PM_POINT_CANONICAL_LE, canonical, PM_POINT_CHECK_CURVE),
        PM_POINT_GOOD);
    file_patch(&file, 8, 96, affine, sizeof affine);
    file_expect(open_image(&file, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_zkey_check_points(&zkey, curve, PM_POINT_CHECK_CURVE, team, NULL, &error), PM_OK,
                &error, NULL, NULL, NULL);
    file_expect(pm_zkey_check_points(&zkey, curve, PM_POINT_CHECK_SUBGROUP, team, NULL, &error),
                PM_NOT_IN_SUBGROUP, &error, "section 8 (c points)", "point 1 of 2", NULL);
    file_free(&file);
}

static void header_points_may_not_be_infinite(void **state) {
    (void)state;
    static const uint8_t zeros[128] = {0};
    static const struct {
        size_t offset, n;
        const char *says;
    } points[] = {{0, 64, "alpha in g1"},    {64, 64, "beta in g1"},   {128, 128, "beta in g2"},
                  {256, 128, "gamma in g2"}, {384, 64, "delta in g1"}, {448, 128, "delta in g2"}};
    for (size_t i = 0; i < 6; ++i) {
        struct file_image file = file_zkey(PM_CURVE_BN254);
        struct pm_zkey zkey;
        pm_error error = PM_ERROR_INIT;
        file_patch(&file, 2, 84 + points[i].offset, zeros, points[i].n);
        file_expect(check_image(&file, &zkey, &error), PM_POINT_AT_INFINITY, &error, points[i].says,
                    NULL, NULL);
        file_free(&file);
    }
}

/* In the file section 9 lies before section 5, so its fault comes first whatever the numbers. */
static void lowest_bad_point_is_named(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BN254);
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    file.bytes[file_section(&file, 5, NULL)] ^= 1;
    file.bytes[file_section(&file, 9, NULL) + 5 * 64] ^= 1;
    file.bytes[file_section(&file, 9, NULL) + 7 * 64] ^= 1;
    file_expect(check_image(&file, &zkey, &error), PM_NOT_ON_CURVE, &error, "section 9 (h points)",
                "point 5 of 8", NULL);
    file_free(&file);
}

static void cancelling_is_obeyed(void **state) {
    (void)state;
    struct file_image file = file_zkey(PM_CURVE_BN254);
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    const int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    file_expect(open_image(&file, &zkey, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(pm_zkey_check_points(&zkey, pm_curve_get(PM_CURVE_BN254, PM_BODY_PORTABLE),
                                          PM_POINT_CHECK_SUBGROUP, team, &control, &error),
                     PM_CANCELLED);
    assert_int_equal(pm_zkey_open(zkey.container.mapping, team, &control, &zkey, &error),
                     PM_CANCELLED);
    file_free(&file);
}

static const struct {
    const char *path;
    pm_curve_id curve;
    uint32_t n_vars, n_public, log_n;
} known_keys[] = {{"one/one.zkey", PM_CURVE_BN254, 4, 1, 2},
                  {"one_bls/one_bls.zkey", PM_CURVE_BLS12_381, 4, 1, 2},
                  {"mult3/mult3.zkey", PM_CURVE_BN254, 8, 2, 3},
                  {"mult3_bls/mult3_bls.zkey", PM_CURVE_BLS12_381, 8, 2, 3},
                  {"nopriv/nopriv.zkey", PM_CURVE_BN254, 4, 3, 3},
                  {"nopriv_bls/nopriv_bls.zkey", PM_CURVE_BLS12_381, 4, 3, 3},
                  {"own_mimc/own_mimc.zkey", PM_CURVE_BN254, 1271, 4, 11},
                  {"multipub/multipub.zkey", PM_CURVE_BN254, 0, 41, 0},
                  {"multipub_bls/multipub_bls.zkey", PM_CURVE_BLS12_381, 0, 41, 0},
                  {"eddsa/eddsa.zkey", PM_CURVE_BN254, 0, 0, 0},
                  {"eddsa_bls/eddsa_bls.zkey", PM_CURVE_BLS12_381, 0, 0, 0}};

static void open_known_key(const char *path, size_t i) {
    struct pm_mapping mapping;
    struct pm_zkey zkey;
    pm_error error = PM_ERROR_INIT;
    pm_status status =
        pm_mapping_open(path, PM_MAPPING_MAP, UINT64_MAX, NULL, NULL, &mapping, &error);
    file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    status = pm_zkey_open(&mapping, team, NULL, &zkey, &error);
    file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(zkey.parts.curve, known_keys[i].curve);
    assert_true(zkey.parts.coefficients_sorted);
    assert_int_equal(zkey.n_contributions, 1);
    if (known_keys[i].n_vars != 0) {
        assert_int_equal(zkey.parts.n_vars, known_keys[i].n_vars);
        assert_int_equal(zkey.parts.log_n, known_keys[i].log_n);
        status = pm_zkey_check_points(&zkey, pm_curve_get(zkey.parts.curve, PM_BODY_PORTABLE),
                                      PM_POINT_CHECK_SUBGROUP, team, NULL, &error);
        file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    }
    if (known_keys[i].n_public != 0) {
        assert_int_equal(zkey.parts.n_public, known_keys[i].n_public);
    }
    pm_mapping_close(&mapping);
}

/* Keys that snarkjs made: those the repository carries, and the others where they are. */
static void snarkjs_keys_open(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof known_keys / sizeof known_keys[0]; ++i) {
        char path[PM_TEST_PATH_MAX], name[128];
        (void)snprintf(name, sizeof name, "small/%s", known_keys[i].path);
        if (access(pm_data_path(path, known_keys[i].path), R_OK) == 0 ||
            pm_fixture_path(path, name)) {
            open_known_key(path, i);
        } else {
            pm_say_skip(name);
        }
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
        cmocka_unit_test(order_of_sections_is_free),
        cmocka_unit_test(every_section_missing_doubled_resized),
        cmocka_unit_test(missing_ic_leaves_null),
        cmocka_unit_test(B7_every_truncation_is_refused),
        cmocka_unit_test(E15_protocol_is_named),
        cmocka_unit_test(version_and_magic),
        cmocka_unit_test(header_fields_at_their_edges),
        cmocka_unit_test(B23_primes_must_belong_together),
        cmocka_unit_test(coefficients_at_their_edges),
        cmocka_unit_test(lowest_bad_coefficient_is_named),
        cmocka_unit_test(unsorted_rows_are_noticed),
        cmocka_unit_test(contributions_are_walked),
        cmocka_unit_test(points_are_checked),
        cmocka_unit_test(subgroup_is_checked_when_asked_for),
        cmocka_unit_test(header_points_may_not_be_infinite),
        cmocka_unit_test(lowest_bad_point_is_named),
        cmocka_unit_test(cancelling_is_obeyed),
        cmocka_unit_test(snarkjs_keys_open),
    };
    return cmocka_run_group_tests(tests, start_team, stop_team);
}
