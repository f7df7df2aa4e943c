/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Keys of the bellman reduction: what a parameter file and a constraint system must agree on, what
 * is looked at, what the key says of itself; and densities that come with an assignment.
 */
#include "api/api_internal.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pm_context *context;
static char *tree;

static int open_all(void **state) {
    (void)state;
    context = toy_context(2, PM_ARITHMETIC_BEST);
    tree = file_make_tree();
    return 0;
}

static int close_all(void **state) {
    (void)state;
    file_remove_tree(tree);
    pm_context_destroy(context);
    return 0;
}

static const char *data_file(char path[PM_TEST_PATH_MAX], const char *name, const char *extension) {
    char relative[128];
    (void)snprintf(relative, sizeof relative, "%s/%s.%s", name, name, extension);
    return pm_data_path(path, relative);
}

static const char *make_params(const char *name) {
    char path[PM_TEST_PATH_MAX];
    pm_error error = PM_ERROR_INIT;
    const pm_setup_known_options options = {
        .struct_bytes = sizeof options, .format = PM_KEY_FORMAT_PARAMS, .seed = 7};
    const char *params = file_in_tree(tree, "toy.params");
    toy_expect(
        pm_setup_known_tau(context, data_file(path, name, "r1cs"), params, &options, NULL, &error),
        PM_OK, &error);
    return params;
}

static void files_of_two_circuits_are_told_apart(void **state) {
    (void)state;
    static const char *const others[] = {"nopriv_bls", "one_bls", "mult3"};
    const char *params = make_params("mult3_bls");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        char path[PM_TEST_PATH_MAX];
        pm_error error = PM_ERROR_INIT;
        pm_key *key = NULL;
        const pm_status status = pm_key_open_params(
            context, params, data_file(path, others[i], "r1cs"), NULL, NULL, &key, &error);
        assert_int_equal(status, i == 2 ? PM_CURVE : PM_COUNT);
        assert_null(key);
        assert_non_null(strstr(error.message, params));
        assert_non_null(strstr(error.message, path));
    }
}

static void the_key_says_what_it_is(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    pm_error error = PM_ERROR_INIT;
    const char *params = make_params("mult3_bls");
    for (int with_r1cs = 0; with_r1cs <= 1; ++with_r1cs) {
        pm_key *key = NULL;
        pm_key_facts facts = {.struct_bytes = sizeof facts};
        toy_expect(pm_key_open_params(context, params,
                                      with_r1cs ? data_file(path, "mult3_bls", "r1cs") : NULL, NULL,
                                      NULL, &key, &error),
                   PM_OK, &error);
        assert_int_equal(pm_key_get_facts(key, &facts), PM_OK);
        assert_int_equal(facts.reduction, 1);
        assert_int_equal(facts.curve, PM_CURVE_BLS12_381);
        assert_int_equal(facts.has_matrices, with_r1cs);
        assert_int_equal(facts.has_ic, 1);
        assert_int_equal(facts.n_h, (1u << facts.log_n) - 1);
        assert_int_equal(facts.n_c, facts.n_vars - facts.n_public - 1);
        assert_int_equal(facts.mapped_bytes, 0); /* the file is not read any more */
        assert_int_equal(facts.memory_bytes, key->proving_key.resident_bytes);
        assert_int_equal(pm_key_part_count(key, PM_KEY_PART_A), facts.n_a);
        assert_int_equal(pm_key_part_count(key, PM_KEY_PART_B1), facts.n_b);
        assert_int_equal(pm_key_part_count(key, PM_KEY_PART_B2), facts.n_b);
        assert_int_equal(pm_key_part_count(key, PM_KEY_PART_H), facts.n_h);
        toy_expect(pm_key_check(context, key, NULL, &error), PM_OK, &error);
        if (with_r1cs) {
            assert_int_equal(facts.n_a, key->proving_key.a_density.n_set);
            assert_int_equal(facts.n_b, key->proving_key.b_density.n_set);
            for (uint32_t i = 0; i <= facts.n_public; ++i) {
                assert_true(pm_density_has(&key->proving_key.a_density, i));
            }
            assert_true(facts.n_nonzeros[0] > facts.n_public);
        }
        pm_key_destroy(key);
    }
}

/* The points of a key are looked at as far as asked for, those of its vk always in full. */
static void damaged_points_are_found_when_asked_for(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    const char *params = make_params("mult3_bls"), *bad = file_in_tree(tree, "bad.params");
    struct file_image image = {0};
    image.bytes = (uint8_t *)pm_test_read_file(params, &image.n_bytes);
    assert_non_null(image.bytes);
    for (int in_vk = 0; in_vk <= 1; ++in_vk) {
        /* The last byte of y: of the last point of B2, or of beta in G1. */
        const size_t at = in_vk ? 191 : image.n_bytes - 1;
        image.bytes[at] ^= 1;
        file_write(bad, image.bytes, image.n_bytes);
        image.bytes[at] ^= 1;
        for (uint32_t check = PM_CHECK_NONE; check <= PM_CHECK_FULL; ++check) {
            const pm_key_options options = {.struct_bytes = sizeof options, .check = check};
            pm_key *key = NULL;
            const pm_status status =
                pm_key_open_params(context, bad, NULL, &options, NULL, &key, &error);
            if (check == PM_CHECK_NONE && !in_vk) {
                assert_int_equal(status, PM_OK);
                assert_int_equal(pm_key_check(context, key, NULL, &error), PM_NOT_ON_CURVE);
            } else {
                assert_int_equal(status, PM_NOT_ON_CURVE);
                assert_string_equal(error.file, bad);
                assert_null(key);
            }
            pm_key_destroy(key);
        }
    }
    file_free(&image);
}

/* A key may be given up by its owner while others still read it. */
static void the_last_reference_frees(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    toy_expect(pm_key_open_params(context, make_params("one_bls"), NULL, NULL, NULL, &key, &error),
               PM_OK, &error);
    pm_key *second = pm_key_retain(key);
    assert_ptr_equal(second, key);
    pm_key_destroy(key);
    toy_expect(pm_key_check(context, second, NULL, &error), PM_OK, &error);
    pm_key_destroy(second);
}

static void densities_must_set_as_many_bits_as_there_are_points(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    pm_error error = PM_ERROR_INIT;
    pm_key *full = NULL, *bare = NULL;
    struct pm_proving_key with;
    uint64_t words[3][8] = {{0}};
    const char *params = make_params("mult3_bls");
    toy_expect(pm_key_open_params(context, params, data_file(path, "mult3_bls", "r1cs"), NULL, NULL,
                                  &full, &error),
               PM_OK, &error);
    toy_expect(pm_key_open_params(context, params, NULL, NULL, NULL, &bare, &error), PM_OK, &error);
    const struct pm_proving_key *key = &full->proving_key;
    for (uint64_t i = 0; i < key->n_vars; ++i) {
        const bool is_input = i < key->n_inputs;
        const uint64_t at = is_input ? i : i - key->n_inputs;
        words[0][at / 64] |= (uint64_t)(!is_input && pm_density_has(&key->a_density, i))
                             << (at % 64);
        words[is_input ? 1 : 2][at / 64] |= (uint64_t)pm_density_has(&key->b_density, i)
                                            << (at % 64);
    }
    toy_expect(pm_proving_key_with_densities(&bare->proving_key, words[0], words[1], words[2], NULL,
                                             &with, &error),
               PM_OK, &error);
    const size_t words_bytes = (key->n_vars + 63) / 64 * 8;
    assert_memory_equal(with.a_density.words, key->a_density.words, words_bytes);
    assert_memory_equal(with.b_density.words, key->b_density.words, words_bytes);
    assert_int_equal(pm_density_rank(&with.b_density, key->n_vars), key->b2.n);
    pm_proving_key_forget_densities(&with);
    for (int i = 0; i < 3; ++i) {
        words[i][0] ^= 1;
        assert_int_equal(pm_proving_key_with_densities(&bare->proving_key, words[0], words[1],
                                                       words[2], NULL, &with, &error),
                         PM_COUNT);
        words[i][0] ^= 1;
    }
    assert_int_equal(pm_proving_key_with_densities(&bare->proving_key, words[0], NULL, words[2],
                                                   NULL, &with, &error),
                     PM_INVALID_ARGUMENT);
    pm_key_destroy(bare);
    pm_key_destroy(full);
}

/* Ranks and packed words at every offset, against counting one by one. */
static void ranks_count_what_is_set(void **state) {
    (void)state;
    enum { N = 1021, SECOND = 333 };
    pm_error error = PM_ERROR_INIT;
    for (uint64_t first = 0; first < 130; first += 13) {
        struct pm_density density;
        uint64_t words[SECOND / 64 + 1], rank = 0;
        assert_int_equal(pm_density_create(N, "a density", NULL, &density, &error), PM_OK);
        for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
            words[i] = UINT64_C(0x9e3779b97f4a7c15) * (first + i + 1);
        }
        pm_density_set_words(&density, first, SECOND, words);
        pm_density_set(&density, N - 1);
        pm_density_count(&density);
        for (uint64_t i = 0; i < N; ++i) {
            const uint64_t at = i - first;
            const bool expected =
                i == N - 1 || (i >= first && at < SECOND && (words[at / 64] >> (at % 64) & 1) != 0);
            assert_int_equal(pm_density_has(&density, i), expected);
            assert_int_equal(pm_density_rank(&density, i), rank);
            rank += expected;
        }
        assert_int_equal(pm_density_rank(&density, N), rank);
        assert_int_equal(density.n_set, rank);
        pm_density_destroy(&density);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_two_circuits_are_told_apart),
        cmocka_unit_test(the_key_says_what_it_is),
        cmocka_unit_test(damaged_points_are_found_when_asked_for),
        cmocka_unit_test(the_last_reference_frees),
        cmocka_unit_test(densities_must_set_as_many_bits_as_there_are_points),
        cmocka_unit_test(ranks_count_what_is_set),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
