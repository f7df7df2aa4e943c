/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/fixture.h - where tests find files.
 *
 * pm_data_path() names a file that the repository carries (test/data/). pm_fixture_path() names one
 * of the larger fixtures, which live outside: in $PM_FIXTURES, else in ../shared/fixtures beside
 * the repository. A test that needs one and has none says so and skips.
 */
#ifndef PM_TEST_SUPPORT_FIXTURE_H
#define PM_TEST_SUPPORT_FIXTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef PM_SOURCE_DIR
#error "tests are compiled with PM_SOURCE_DIR"
#endif

#define PM_TEST_PATH_MAX 1024

__attribute__((unused)) static const char *pm_data_path(char path[PM_TEST_PATH_MAX],
                                                        const char *name) {
    (void)snprintf(path, PM_TEST_PATH_MAX, "%s/test/data/%s", PM_SOURCE_DIR, name);
    return path;
}

/* False when there are no fixtures. */
__attribute__((unused)) static bool pm_fixture_path(char path[PM_TEST_PATH_MAX], const char *name) {
    const char *base = getenv("PM_FIXTURES");
    if (base != NULL && base[0] != '\0') {
        (void)snprintf(path, PM_TEST_PATH_MAX, "%s/%s", base, name);
    } else {
        (void)snprintf(path, PM_TEST_PATH_MAX, "%s/../shared/fixtures/%s", PM_SOURCE_DIR, name);
    }
    return access(path, R_OK) == 0;
}

/* The whole file with a NUL after it, for free(); NULL when it cannot be read. */
__attribute__((unused)) static char *pm_test_read_file(const char *path, size_t *n_bytes) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        rewind(file);
        bytes = malloc((size_t)size + 1);
        if (bytes != NULL && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (bytes != NULL) {
        bytes[size] = '\0';
        if (n_bytes != NULL) {
            *n_bytes = (size_t)size;
        }
    }
    return bytes;
}

/* "SKIP: ..." on stderr, where a person and the CI's count see it; follow it with cmocka's skip().
 */
__attribute__((unused)) static void pm_say_skip(const char *what) {
    (void)fprintf(stderr, "SKIP: %s\n", what);
}

#endif
