/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/output_map.h"

#include "support/file_builder.h"
#include "support/fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char *tree;

static int make_tree(void **state) {
    (void)state;
    tree = file_make_tree();
    return 0;
}

static int remove_tree(void **state) {
    (void)state;
    file_remove_tree(tree);
    return 0;
}

static size_t n_entries(void) {
    DIR *directory = opendir(tree);
    size_t n = 0;
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        n += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    }
    (void)closedir(directory);
    return n;
}

static void committed_bytes_are_the_file(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "key");
    struct pm_output_map map;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_output_map_create(path, 10000, &map, &error), PM_OK);
    for (size_t i = 0; i < 10000; ++i) {
        assert_int_equal(map.bytes[i], 0);
        map.bytes[i] = (uint8_t)(i * 7);
    }
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(pm_output_map_commit(&map, &error), PM_OK);
    size_t n_bytes = 0;
    char *bytes = pm_test_read_file(path, &n_bytes);
    assert_non_null(bytes);
    assert_int_equal(n_bytes, 10000);
    for (size_t i = 0; i < 10000; ++i) {
        assert_int_equal((uint8_t)bytes[i], (uint8_t)(i * 7));
    }
    free(bytes);
    assert_int_equal(n_entries(), 1);
    pm_output_map_abandon(&map); /* released already: nothing happens */
}

static void an_existing_target_keeps_its_mode_and_links_are_followed(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "old"), *link = file_in_tree(tree, "link");
    struct pm_output_map map;
    struct stat facts;
    pm_error error = PM_ERROR_INIT;
    file_write(path, "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("old", link), 0);
    assert_int_equal(pm_output_map_create(link, 5, &map, &error), PM_OK);
    memcpy(map.bytes, "fresh", 5);
    assert_int_equal(pm_output_map_commit(&map, &error), PM_OK);
    assert_int_equal(lstat(link, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, 5);
    assert_int_equal(facts.st_mode & 0777, 0640);
}

static void abandoned_leaves_the_old_target_and_nothing_else(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "old");
    struct pm_output_map map;
    struct stat facts;
    pm_error error = PM_ERROR_INIT;
    file_write(path, "old", 3);
    assert_int_equal(pm_output_map_create(path, 1 << 20, &map, &error), PM_OK);
    memset(map.bytes, 1, 1 << 20);
    pm_output_map_abandon(&map);
    pm_output_map_abandon(&map);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, 3);
    assert_int_equal(n_entries(), 1);
}

static void what_is_no_regular_file_is_refused(void **state) {
    (void)state;
    const char *fifo = file_in_tree(tree, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const paths[] = {"-", "/dev/null", fifo, tree};
    for (size_t i = 0; i < 4; ++i) {
        struct pm_output_map map;
        pm_error error = PM_ERROR_INIT;
        const pm_status status = pm_output_map_create(paths[i], 10, &map, &error);
        file_expect(status, PM_INVALID_ARGUMENT, &error, "regular file", NULL, NULL);
    }
    struct pm_output_map map;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_output_map_create(file_in_tree(tree, "empty"), 0, &map, &error),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_output_map_create(file_in_tree(tree, "no/such"), 10, &map, &error), PM_IO);
}

/* A full disk is found before work begins, and so is the limit on a file's size, without SIGXFSZ.
 */
static void A18_no_space_is_found_at_the_start(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "key");
    struct pm_output_map map;
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_output_map_create(path, UINT64_C(1) << 55, &map, &error);
    file_expect(status, PM_IO, &error, "cannot allocate", NULL, NULL);
    assert_int_equal(error.need, UINT64_C(1) << 55);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const pm_status limited = pm_output_map_create(path, 4097, &map, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(limited, PM_IO);
    assert_int_equal(n_entries(), 0);
}

static void A18_a_killed_process_leaves_no_file(void **state) {
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct pm_output_map map;
        if (pm_output_map_create(file_in_tree(tree, "key"), 1 << 20, &map, NULL) == PM_OK) {
            memset(map.bytes, 1, 1 << 20);
            (void)!write(ready[1], "x", 1);
        }
        for (;;) {
            (void)pause();
        }
    }
    char byte;
    int how = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    assert_int_not_equal(access(file_in_tree(tree, "key"), F_OK), 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_TREE(committed_bytes_are_the_file),
        IN_A_TREE(an_existing_target_keeps_its_mode_and_links_are_followed),
        IN_A_TREE(abandoned_leaves_the_old_target_and_nothing_else),
        IN_A_TREE(what_is_no_regular_file_is_refused),
        IN_A_TREE(A18_no_space_is_found_at_the_start),
        IN_A_TREE(A18_a_killed_process_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
