/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The cache of decoded points beside a parameter file: made once, mapped the next time, and passed
 * over as soon as anything about it or the file is another: length, time, contents, its own bytes.
 */
#include "api/api_internal.h"
#include "support/file_builder.h"
#include "support/supraseal_abi.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct rust_params params;
static struct bellman_circuit circuit;
static char cache[1300];
static char warning[512];

static int suite_open(void **state) {
    (void)state;
    const struct bellman_shape shape = bellman_shape_of_log_n(10);
    rust_params_make(&shape, &params);
    bellman_circuit_make(&shape, 4, NULL, &circuit);
    (void)snprintf(cache, sizeof cache, "%s.pmcache", params.path);
    return 0;
}

static int suite_close(void **state) {
    (void)state;
    bellman_circuit_free(&circuit);
    rust_params_free(&params);
    return 0;
}

static void keep_warning(void *user, pm_log_level level, const char *sentence) {
    (void)user;
    if (level == PM_LOG_WARNING && strstr(sentence, "next time") != NULL) {
        (void)snprintf(warning, sizeof warning, "%s", sentence);
    }
}

static pm_status open_key(uint32_t check, pm_key **key) {
    const pm_key_options options = {.struct_bytes = sizeof options, .check = check, .cache = 1};
    const pm_control control = {.struct_bytes = sizeof control, .log = keep_warning};
    pm_error error = PM_ERROR_INIT;
    warning[0] = '\0';
    return pm_key_open_params(params.context, params.path, NULL, &options, &control, key, &error);
}

/* Whether the points were mapped, that is, taken from the cache. */
static bool opens_from_cache(uint32_t check) {
    pm_key *key = NULL;
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    assert_int_equal(open_key(check, &key), PM_OK);
    assert_int_equal(pm_key_get_facts(key, &facts), PM_OK);
    pm_key_destroy(key);
    return facts.mapped_bytes > 0;
}

static void expect_proof(void) {
    const struct bellman_shape *shape = &circuit.shape;
    const pm_assignment assignment = {.struct_bytes = sizeof assignment,
                                      .curve = PM_CURVE_BLS12_381,
                                      .form = PM_SCALAR_MONTGOMERY,
                                      .inputs = circuit.array[BELLMAN_INPUTS],
                                      .aux = circuit.array[BELLMAN_AUX],
                                      .n_inputs = shape->n_inputs,
                                      .n_aux = shape->n_aux,
                                      .a = circuit.array[BELLMAN_A],
                                      .b = circuit.array[BELLMAN_B],
                                      .c = circuit.array[BELLMAN_C],
                                      .n_rows = shape->n_rows,
                                      .a_aux_density = circuit.array[BELLMAN_A_AUX_DENSITY],
                                      .b_input_density = circuit.array[BELLMAN_B_INPUT_DENSITY],
                                      .b_aux_density = circuit.array[BELLMAN_B_AUX_DENSITY]};
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    pm_pending *pending = NULL;
    pm_proof proof;
    assert_int_equal(open_key(PM_CHECK_NONE, &key), PM_OK);
    file_expect(
        pm_prove_start_assignment(params.context, key, &assignment, NULL, NULL, &pending, &error),
        PM_OK, &error, NULL, NULL, NULL);
    pm_key_destroy(key);
    file_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_OK, &error, NULL, NULL,
                NULL);
}

static void it_is_made_once_and_mapped_afterwards(void **state) {
    (void)state;
    struct stat first, second;
    (void)unlink(cache);
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_int_equal(stat(cache, &first), 0);
    assert_true(first.st_size > (off_t)(params.n_bytes - 8192));
    assert_true(opens_from_cache(PM_CHECK_NONE));
    assert_true(opens_from_cache(PM_CHECK_FULL));
    expect_proof();
    assert_int_equal(stat(cache, &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_true(first.st_mtim.tv_nsec == second.st_mtim.tv_nsec);
    /* Every point is what the file's is. */
    const pm_key_options plain = {.struct_bytes = sizeof plain};
    pm_key *key = NULL, *decoded = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(open_key(PM_CHECK_NONE, &key), PM_OK);
    assert_int_equal(
        pm_key_open_params(params.context, params.path, NULL, &plain, NULL, &decoded, &error),
        PM_OK);
    for (int part = PM_KEY_PART_A; part <= PM_KEY_PART_H; part++) {
        const uint64_t n = pm_key_part_count(key, (pm_key_part)part);
        uint8_t *one = malloc(n * 192), *two = malloc(n * 192);
        assert_int_equal(n, pm_key_part_count(decoded, (pm_key_part)part));
        assert_int_equal(pm_key_points(key, (pm_key_part)part, 0, n, NULL, one, &error), PM_OK);
        assert_int_equal(pm_key_points(decoded, (pm_key_part)part, 0, n, NULL, two, &error), PM_OK);
        const bool is_g2 = part == PM_KEY_PART_B2;
        assert_memory_equal(one, two, n * (is_g2 ? 192 : 96));
        free(one);
        free(two);
    }
    pm_key_destroy(decoded);
    pm_key_destroy(key);
}

/* Flips one byte of a file in place. */
static void flip(const char *path, off_t offset) {
    uint8_t byte;
    const int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    assert_int_equal(close(fd), 0);
}

static void set_times(const char *path, const struct stat *about) {
    const struct timespec times[2] = {about->st_atim, about->st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The same file, touched. */
static void another_time_is_another_file(void **state) {
    (void)state;
    struct stat about;
    (void)opens_from_cache(PM_CHECK_NONE);
    assert_true(opens_from_cache(PM_CHECK_NONE));
    assert_int_equal(stat(params.path, &about), 0);
    about.st_mtim.tv_nsec = about.st_mtim.tv_nsec == 0 ? 1 : about.st_mtim.tv_nsec - 1;
    set_times(params.path, &about);
    assert_false(opens_from_cache(PM_CHECK_NONE)); /* and is replaced */
    assert_true(opens_from_cache(PM_CHECK_NONE));
    expect_proof();
}

/* Another verifying key under the same length and time: the digest tells. */
static void another_content_is_another_file(void **state) {
    (void)state;
    struct stat about;
    pm_key *key = NULL;
    (void)opens_from_cache(PM_CHECK_NONE);
    assert_int_equal(stat(params.path, &about), 0);
    flip(params.path, 100);
    set_times(params.path, &about);
    assert_int_not_equal(open_key(PM_CHECK_NONE, &key), PM_OK); /* the file itself is damaged */
    flip(params.path, 100);
    flip(params.path, (off_t)params.n_bytes - 1); /* the last point is one of the sample */
    set_times(params.path, &about);
    assert_int_not_equal(open_key(PM_CHECK_FAST, &key), PM_OK);
    flip(params.path, (off_t)params.n_bytes - 1);
    set_times(params.path, &about);
    assert_true(opens_from_cache(PM_CHECK_NONE));
}

static void a_cache_with_another_byte_is_replaced(void **state) {
    (void)state;
    struct stat about;
    (void)opens_from_cache(PM_CHECK_NONE);
    assert_int_equal(stat(cache, &about), 0);
    static const off_t offsets[] = {0, 8, 12, 16, 24, 32, 40, 80, 120, 128, 191, 192, 255, 4096};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        flip(cache, offsets[i]);
        assert_false(opens_from_cache(PM_CHECK_NONE));
        assert_true(opens_from_cache(PM_CHECK_NONE));
    }
    assert_int_equal(truncate(cache, about.st_size - 1), 0);
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_int_equal(truncate(cache, 0), 0);
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_int_equal(truncate(cache, about.st_size + 4096), 0);
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_true(opens_from_cache(PM_CHECK_NONE));
}

/* Between two points of the sample: seen when points are looked at, and else no proof comes out. */
static void a_point_that_no_sample_sees_makes_no_wrong_proof(void **state) {
    (void)state;
    (void)opens_from_cache(PM_CHECK_NONE);
    flip(cache, 4096 + 96); /* h[1] of 1023: the sample has 0, 4, 8, ... */
    assert_true(opens_from_cache(PM_CHECK_NONE));
    assert_false(opens_from_cache(PM_CHECK_FAST)); /* decoded, and the cache replaced */
    assert_true(opens_from_cache(PM_CHECK_FAST));
    expect_proof();
}

static void where_none_can_be_written_the_key_is_good(void **state) {
    (void)state;
    (void)unlink(cache);
    assert_int_equal(mkdir(cache, 0700), 0); /* nothing can take its name */
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_true(warning[0] != '\0');
    expect_proof();
    assert_int_equal(rmdir(cache), 0);
    assert_int_equal(mkfifo(cache, 0600), 0); /* and nobody waits for a writer */
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_int_equal(unlink(cache), 0);
    assert_false(opens_from_cache(PM_CHECK_NONE));
    assert_string_equal(warning, "");
}

static void what_is_read_into_memory_has_none(void **state) {
    (void)state;
    const pm_key_options options = {
        .struct_bytes = sizeof options, .load = PM_LOAD_READ, .cache = 1};
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    (void)unlink(cache);
    assert_int_equal(
        pm_key_open_params(params.context, params.path, NULL, &options, NULL, &key, &error), PM_OK);
    pm_key_destroy(key);
    assert_int_not_equal(access(cache, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_made_once_and_mapped_afterwards),
        cmocka_unit_test(another_time_is_another_file),
        cmocka_unit_test(another_content_is_another_file),
        cmocka_unit_test(a_cache_with_another_byte_is_replaced),
        cmocka_unit_test(a_point_that_no_sample_sees_makes_no_wrong_proof),
        cmocka_unit_test(where_none_can_be_written_the_key_is_good),
        cmocka_unit_test(what_is_read_into_memory_has_none),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
