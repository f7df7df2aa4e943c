/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reading a key out part by part, and writing a file piece by piece. */
#include <proofmill/proofmill.h>

#include "support/file_builder.h"
#include "support/fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static pm_context *context;
static char *tree;

static int set_up(void **state) {
    (void)state;
    pm_context_options options = {.struct_bytes = (uint32_t)sizeof options, .threads = 1};
    tree = file_make_tree();
    return pm_context_create(&options, &context, NULL) == PM_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    pm_context_destroy(context);
    file_remove_tree(tree);
    return 0;
}

static pm_key *open_mult3(void) {
    char path[PM_TEST_PATH_MAX];
    pm_key *key = NULL;
    assert_int_equal(
        pm_key_open(context, pm_data_path(path, "mult3/mult3.zkey"), NULL, NULL, &key, NULL),
        PM_OK);
    return key;
}

static void test_parts_have_the_keys_counts(void **state) {
    (void)state;
    pm_key *key = open_mult3();
    const uint64_t expected[] = {0, 1, 1, 1, 1, 1, 1, 3, 8, 8, 8, 5, 8, 0};
    for (int part = 0; part < (int)(sizeof expected / sizeof expected[0]); part++) {
        assert_int_equal(pm_key_part_count(key, (pm_key_part)part), expected[part]);
    }
    assert_int_equal(pm_key_part_count(NULL, PM_KEY_PART_A), 0);
    pm_key_destroy(key);
}

static void test_points_are_those_of_the_verifying_key(void **state) {
    (void)state;
    pm_key *key = open_mult3();
    pm_vk *vk = NULL;
    pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays};
    uint8_t points[3 * 64], delta[128];
    assert_int_equal(pm_vk_from_key(context, key, &vk, NULL), PM_OK);
    assert_int_equal(pm_vk_get_arrays(vk, &arrays), PM_OK);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_IC, 0, 3, NULL, points, NULL), PM_OK);
    assert_memory_equal(points, arrays.ic, sizeof points);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_IC, 2, 1, NULL, points, NULL), PM_OK);
    assert_memory_equal(points, (const uint8_t *)arrays.ic + 128, 64);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_DELTA_G2, 0, 1, NULL, delta, NULL), PM_OK);
    assert_memory_equal(delta, arrays.delta_g2, sizeof delta);
    pm_vk_destroy(vk);
    pm_key_destroy(key);
}

/* The last n_public + 1 coefficients are ones that the setup adds. */
static void test_coefficients_are_canonical(void **state) {
    (void)state;
    pm_key *key = open_mult3();
    pm_coefficient coefficients[9];
    static const uint8_t one[PM_FR_BYTES] = {1};
    assert_int_equal(pm_key_coefficients(key, 0, 9, NULL, coefficients, NULL), PM_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(coefficients[6 + i].matrix, 0);
        assert_int_equal(coefficients[6 + i].constraint, 3 + i);
        assert_int_equal(coefficients[6 + i].signal, i);
        assert_memory_equal(coefficients[6 + i].value, one, sizeof one);
    }
    pm_key_destroy(key);
}

static void test_what_a_key_lacks_is_refused(void **state) {
    (void)state;
    pm_key *key = open_mult3();
    uint8_t point[128];
    pm_coefficient coefficient;
    const volatile int cancel = 1;
    const pm_control cancelled = {.struct_bytes = (uint32_t)sizeof cancelled, .cancel = &cancel};
    const pm_status refused = PM_INVALID_ARGUMENT;
    assert_int_equal(pm_key_points(key, PM_KEY_PART_A, 8, 1, NULL, point, NULL), refused);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_A, 9, 0, NULL, point, NULL), refused);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_A, 1, UINT64_MAX, NULL, point, NULL), refused);
    assert_int_equal(pm_key_points(key, (pm_key_part)13, 0, 0, NULL, point, NULL), refused);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_A, 0, 1, NULL, NULL, NULL), refused);
    assert_int_equal(pm_key_points(NULL, PM_KEY_PART_A, 0, 1, NULL, point, NULL), refused);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_A, 8, 0, NULL, NULL, NULL), PM_OK);
    assert_int_equal(pm_key_points(key, PM_KEY_PART_A, 0, 1, &cancelled, point, NULL),
                     PM_CANCELLED);
    assert_int_equal(pm_key_coefficients(key, 9, 1, NULL, &coefficient, NULL), refused);
    assert_int_equal(pm_key_coefficients(key, 1, UINT64_MAX, NULL, &coefficient, NULL), refused);
    assert_int_equal(pm_key_coefficients(key, 0, 1, NULL, NULL, NULL), refused);
    assert_int_equal(pm_key_coefficients(key, 0, 1, &cancelled, &coefficient, NULL), PM_CANCELLED);
    pm_key_destroy(key);
}

static int n_entries(void) {
    int n = 0;
    DIR *directory = opendir(tree);
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        n++;
    }
    (void)closedir(directory);
    return n;
}

static void holds(const char *path, const char *expected) {
    size_t n_bytes = 0;
    char *text = pm_test_read_file(path, &n_bytes);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void test_a_file_appears_when_it_is_published(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "pieces");
    file_write(path, "old", 3);
    const int n_before = n_entries();
    for (int publish = 0; publish < 2; publish++) {
        pm_file_writer *writer = NULL;
        assert_int_equal(pm_file_writer_create(path, NULL, &writer, NULL), PM_OK);
        assert_int_equal(pm_file_writer_append(writer, "one ", 4, NULL), PM_OK);
        assert_int_equal(pm_file_writer_append(writer, NULL, 0, NULL), PM_OK);
        assert_int_equal(pm_file_writer_append(writer, "two", 3, NULL), PM_OK);
        holds(path, "old");
        if (publish != 0) {
            assert_int_equal(pm_file_writer_publish(writer, NULL), PM_OK);
            assert_int_equal(pm_file_writer_append(writer, "x", 1, NULL), PM_INVALID_ARGUMENT);
            assert_int_equal(pm_file_writer_publish(writer, NULL), PM_INVALID_ARGUMENT);
        }
        pm_file_writer_destroy(writer);
        holds(path, publish != 0 ? "one two" : "old");
        assert_int_equal(n_entries(), n_before);
    }
}

static void test_a_writer_that_cannot_write_says_so(void **state) {
    (void)state;
    pm_file_writer *writer = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(
        pm_file_writer_create(file_in_tree(tree, "no/such/folder"), NULL, &writer, &error), PM_IO);
    assert_int_equal(pm_file_writer_create(tree, NULL, &writer, &error), PM_IO);
    assert_int_equal(pm_file_writer_create(NULL, NULL, &writer, &error), PM_INVALID_ARGUMENT);
    assert_null(writer);
    assert_int_equal(pm_file_writer_append(NULL, "x", 1, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_file_writer_create("/dev/full", NULL, &writer, &error), PM_OK);
    assert_int_equal(pm_file_writer_append(writer, "x", 1, &error), PM_IO);
    pm_file_writer_destroy(writer);
    pm_file_writer_destroy(NULL);
}

/* The reader has gone: an error, and no signal that would end this program. */
static void test_a_closed_pipe_is_an_error(void **state) {
    (void)state;
    int ends[2];
    char path[64];
    pm_file_writer *writer = NULL;
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(pm_file_writer_create(path, NULL, &writer, NULL), PM_OK);
    assert_int_equal(pm_file_writer_append(writer, "x", 1, NULL), PM_OK);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(pm_file_writer_append(writer, "x", 1, NULL), PM_IO);
    pm_file_writer_destroy(writer);
    assert_int_equal(close(ends[1]), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_the_keys_counts),
        cmocka_unit_test(test_points_are_those_of_the_verifying_key),
        cmocka_unit_test(test_coefficients_are_canonical),
        cmocka_unit_test(test_what_a_key_lacks_is_refused),
        cmocka_unit_test(test_a_file_appears_when_it_is_published),
        cmocka_unit_test(test_a_writer_that_cannot_write_says_so),
        cmocka_unit_test(test_a_closed_pipe_is_an_error),
    };
    return cmocka_run_group_tests_name("api_key_parts", tests, set_up, tear_down);
}
