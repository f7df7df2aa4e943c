/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Thousands of slightly damaged files: whatever is in them, a reader either refuses with a sentence
 * or delivers something that the next stage can walk without leaving the file. Run it under a
 * sanitizer; the images are allocated to the byte.
 */
#include "io/params.h"
#include "io/r1cs.h"
#include "io/wtns.h"
#include "io/zkey.h"

#include "support/file_builder.h"
#include "support/params_builder.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 20000 };

static struct seeded_random seeded;

static uint64_t below(uint64_t n) {
    return seeded_random_below(&seeded, n);
}

/* A word of the kind that breaks readers. */
static uint32_t odd_word(void) {
    static const uint32_t words[] = {0,          1,          2,          3,          4,
                                     5,          8,          31,         32,         33,
                                     44,         64,         0x7fffffff, 0x80000000, 0xfffffffe,
                                     0xffffffff, 0x10000000, 0x05d1745d, 0x08000000};
    return words[below(sizeof words / sizeof words[0])];
}

static struct file_image mutated(const struct file_image *file) {
    struct file_image copy = file_copy(file);
    for (uint64_t n = 1 + below(3); n > 0; --n) {
        const size_t at = below(copy.n_bytes);
        if (below(2) == 0) {
            copy.bytes[at] = (uint8_t)below(256);
        } else {
            const uint32_t word = odd_word();
            const size_t room = copy.n_bytes - at;
            memcpy(copy.bytes + at, &word, room < sizeof word ? room : sizeof word);
        }
    }
    /* Structure is a small part of a file, so it is aimed at in half of the rounds. */
    if (below(2) == 0) {
        const uint32_t word = odd_word();
        const size_t words = (copy.n_bytes < 200 ? copy.n_bytes : 200) / 4;
        memcpy(copy.bytes + 4 * below(words), &word, sizeof word);
    }
    if (below(8) == 0) {
        struct file_image cut = file_cut(&copy, below(copy.n_bytes + 40));
        file_free(&copy);
        return cut;
    }
    return copy;
}

static unsigned expect_sentence(pm_status status, const pm_error *error) {
    if (status == PM_OK) {
        return 1;
    }
    assert_int_equal(error->status, status);
    assert_string_equal(error->file, "mutant");
    assert_true(error->message[0] != '\0');
    assert_null(strchr(error->message, '\n'));
    return 0;
}

static pm_status try_zkey(const struct pm_mapping *mapping, pm_error *error) {
    struct pm_zkey zkey;
    const pm_status status = pm_zkey_open(mapping, NULL, NULL, &zkey, error);
    if (status == PM_OK && below(8) == 0) {
        pm_error found = PM_ERROR_INIT;
        (void)expect_sentence(pm_zkey_check_points(&zkey,
                                                   pm_curve_get(zkey.parts.curve, PM_BODY_PORTABLE),
                                                   PM_POINT_CHECK_SUBGROUP, NULL, NULL, &found),
                              &found);
    }
    return status;
}

static pm_status try_wtns(const struct pm_mapping *mapping, pm_error *error) {
    struct pm_wtns wtns;
    const pm_status status = pm_wtns_open(mapping, NULL, NULL, &wtns, error);
    if (status == PM_OK) {
        assert_true(wtns.values + wtns.n_values * 32 <= mapping->bytes + mapping->n_bytes);
    }
    return status;
}

static pm_status try_r1cs(const struct pm_mapping *mapping, pm_error *error) {
    static const uint8_t values[16][32] = {{1}, {6}, {2}, {2}, {3}};
    struct pm_r1cs r1cs;
    const pm_status status = pm_r1cs_open(mapping, NULL, &r1cs, error);
    if (status == PM_OK && r1cs.n_wires <= 16) {
        pm_error found = PM_ERROR_INIT;
        uint64_t row = 0;
        (void)expect_sentence(pm_r1cs_check(&r1cs, pm_field_fr(r1cs.curve, PM_BODY_PORTABLE),
                                            values[0], r1cs.n_wires, NULL, NULL, &row, &found),
                              &found);
    }
    return status;
}

static pm_status try_vk(const struct pm_mapping *mapping, pm_error *error) {
    struct pm_params params;
    PM_TRY(pm_params_open(mapping, PM_PARAMS_VK_FIRST, &params, error));
    uint8_t *affine = malloc(params.layout.vk_bytes);
    assert_non_null(affine);
    const pm_status status = pm_params_decode_vk(
        &params, pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE), NULL, NULL, affine, error);
    free(affine);
    return status;
}

static pm_status try_params(const struct pm_mapping *mapping, pm_error *error) {
    struct pm_params params;
    const pm_status status = pm_params_open(mapping, PM_PARAMS_WHOLE, &params, error);
    if (status == PM_OK) {
        pm_error found = PM_ERROR_INIT;
        const pm_status checked =
            pm_params_check_points(&params, pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE),
                                   PM_POINT_CHECK_CURVE, NULL, NULL, &found);
        (void)expect_sentence(checked, &found);
    }
    return status;
}

static void try_all(const struct file_image *file,
                    pm_status (*try_one)(const struct pm_mapping *, pm_error *), int rounds) {
    unsigned n_accepted = 0;
    for (int round = 0; round < rounds; ++round) {
        struct file_image mutant = mutated(file);
        uint8_t *exact = malloc(mutant.n_bytes > 0 ? mutant.n_bytes : 1);
        struct pm_mapping mapping;
        pm_error error = PM_ERROR_INIT;
        assert_non_null(exact);
        memcpy(exact, mutant.bytes, mutant.n_bytes);
        assert_int_equal(pm_mapping_borrow(exact, mutant.n_bytes, "mutant", &mapping, NULL), PM_OK);
        n_accepted += expect_sentence(try_one(&mapping, &error), &error);
        pm_mapping_close(&mapping);
        free(exact);
        file_free(&mutant);
    }
    /* Both happen, else the mutations are too weak or too strong to say anything. */
    assert_true(n_accepted > 0 && n_accepted < (unsigned)rounds);
}

static void mutated_keys(void **state) {
    (void)state;
    struct file_image files[] = {file_zkey(PM_CURVE_BN254), file_zkey(PM_CURVE_BLS12_381)};
    for (size_t i = 0; i < 2; ++i) {
        try_all(&files[i], try_zkey, ROUNDS);
        file_free(&files[i]);
    }
}

static void mutated_witnesses(void **state) {
    (void)state;
    struct file_image file = file_wtns(PM_CURVE_BN254);
    try_all(&file, try_wtns, ROUNDS);
    file_free(&file);
}

static void mutated_systems(void **state) {
    (void)state;
    struct file_image file = file_r1cs(PM_CURVE_BLS12_381);
    try_all(&file, try_r1cs, ROUNDS);
    file_free(&file);
}

static void mutated_verifying_keys(void **state) {
    (void)state;
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    struct file_image file = {calloc(1, 868 + 96), 868 + 96};
    static const size_t g1_at[] = {0, 96, 576, 868}, g2_at[] = {192, 384, 672};
    assert_non_null(file.bytes);
    for (size_t i = 0; i < 4; ++i) {
        curve->g1->encode(file.bytes + g1_at[i], PM_POINT_ZCASH_FULL, curve->g1->generator);
    }
    for (size_t i = 0; i < 3; ++i) {
        curve->g2->encode(file.bytes + g2_at[i], PM_POINT_ZCASH_FULL, curve->g2->generator);
    }
    file.bytes[867] = 1;
    struct file_image longer = file_cut(&file, file.n_bytes + 400); /* mutations that do no harm */
    try_all(&longer, try_vk, ROUNDS / 20);
    file_free(&longer);
    file_free(&file);
}

static void mutated_parameters(void **state) {
    (void)state;
    struct file_image file = file_params(1);
    try_all(&file, try_params, ROUNDS / 4);
    file_free(&file);
}

static int seed(void **state) {
    (void)state;
    seeded = seeded_random_from_environment();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_keys),       cmocka_unit_test(mutated_witnesses),
        cmocka_unit_test(mutated_systems),    cmocka_unit_test(mutated_verifying_keys),
        cmocka_unit_test(mutated_parameters),
    };
    return cmocka_run_group_tests(tests, seed, NULL);
}
