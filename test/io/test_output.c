/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Names that begin with a letter and a number are those of field reports of other provers. */
#include "io/output.h"

#include "base/clock.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/late_wish.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static const char *in_tree(const char *name) {
    return file_in_tree(tree, name);
}

static pm_output output(const char *path, const char *text) {
    return (pm_output){.path = path, .bytes = text, .n_bytes = strlen(text)};
}

static bool has_contents(const char *path, const char *text) {
    size_t n_bytes = 0;
    char *bytes = pm_test_read_file(path, &n_bytes);
    const bool is_equal =
        bytes != NULL && n_bytes == strlen(text) && memcmp(bytes, text, n_bytes) == 0;
    free(bytes);
    return is_equal;
}

/* Entries of a directory, without "." and "..": no temporary file may be among them. */
static int count_entries(const char *path) {
    int n = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        ++n;
    }
    (void)closedir(directory);
    return n - 2;
}

static void writes_and_replaces(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    const mode_t old_mask = umask(027);
    const pm_output first[] = {output(in_tree("a"), "one"), output(in_tree("b"), "")};
    file_expect(pm_output_write_all(first, 2, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_true(has_contents(in_tree("a"), "one") && has_contents(in_tree("b"), ""));
    struct stat facts;
    assert_int_equal(stat(in_tree("a"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(chmod(in_tree("a"), 0604), 0);
    const pm_output second[] = {output(in_tree("a"), "two")};
    file_expect(pm_output_write_all(second, 1, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_true(has_contents(in_tree("a"), "two"));
    assert_int_equal(stat(in_tree("a"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0604); /* those of the file it replaces */
    assert_int_equal(count_entries(tree), 2);
    (void)umask(old_mask);
}

static void links_are_followed(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(mkdir(in_tree("below"), 0700), 0);
    file_write(in_tree("below/real"), "old", 3);
    assert_int_equal(symlink("below/real", in_tree("soft")), 0);
    assert_int_equal(symlink("soft", in_tree("softer")), 0);
    assert_int_equal(symlink("below/new", in_tree("dangling")), 0);
    assert_int_equal(link(in_tree("below/real"), in_tree("hard")), 0);
    const pm_output outputs[] = {output(in_tree("softer"), "fresh"),
                                 output(in_tree("dangling"), "made")};
    file_expect(pm_output_write_all(outputs, 2, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    assert_true(has_contents(in_tree("below/real"), "fresh"));
    assert_true(has_contents(in_tree("below/new"), "made"));
    assert_true(has_contents(in_tree("hard"), "old")); /* the other name keeps the old file */
    struct stat facts;
    assert_int_equal(lstat(in_tree("soft"), &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(symlink("loop", in_tree("loop")), 0);
    const pm_output loop[] = {output(in_tree("loop"), "x")};
    assert_int_equal(pm_output_write_all(loop, 1, NULL, &error), PM_IO);
    assert_string_equal(error.file, in_tree("loop"));
}

/* Runs body with standard output in a pipe; returns what came out of it. */
static ssize_t captured(void (*body)(void), char *text, size_t capacity) {
    int ends[2];
    (void)fflush(NULL);
    const int saved = dup(STDOUT_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    (void)close(ends[1]);
    body();
    assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(saved);
    const ssize_t n = read(ends[0], text, capacity);
    (void)close(ends[0]);
    return n;
}

static pm_status seen_status;

static void write_to_dash_and_file(void) {
    const pm_output outputs[] = {output("-", "shown"), output(in_tree("kept"), "kept")};
    seen_status = pm_output_write_all(outputs, 2, NULL, NULL);
}

static void write_to_dev_stdout(void) {
    const pm_output outputs[] = {output("/dev/stdout", "shown"), output("/dev/null", "gone")};
    seen_status = pm_output_write_all(outputs, 2, NULL, NULL);
}

static void what_cannot_be_replaced_is_written_straight(void **state) {
    (void)state;
    char text[64];
    assert_int_equal(captured(write_to_dash_and_file, text, sizeof text), 5);
    assert_int_equal(seen_status, PM_OK);
    assert_memory_equal(text, "shown", 5);
    assert_true(has_contents(in_tree("kept"), "kept"));
    assert_int_equal(captured(write_to_dev_stdout, text, sizeof text), 5);
    assert_int_equal(seen_status, PM_OK);
    assert_memory_equal(text, "shown", 5);
    struct stat facts;
    assert_int_equal(stat("/dev/null", &facts), 0);
    assert_true(S_ISCHR(facts.st_mode));
}

/* Runs body with standard output in the file of this name. */
static void redirected(const char *name, void (*body)(void)) {
    (void)fflush(NULL);
    const int saved = dup(STDOUT_FILENO);
    const int fd = open(in_tree(name), O_RDWR | O_CREAT, 0600);
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    body();
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    (void)close(fd);
}

static void write_to_dev_stdout_and_behind(void) {
    const pm_output outputs[] = {output("/dev/stdout", "shown")};
    seen_status = pm_output_write_all(outputs, 1, NULL, NULL);
    if (write(STDOUT_FILENO, "!", 1) != 1) {
        seen_status = PM_IO;
    }
}

/* "command /dev/stdout > file" must write into the file that the shell has open. */
static void dev_stdout_in_a_file_is_not_replaced(void **state) {
    (void)state;
    redirected("redirected", write_to_dev_stdout_and_behind);
    assert_int_equal(seen_status, PM_OK);
    assert_true(has_contents(in_tree("redirected"), "shown!"));
}

static int in_child(int (*body)(void)) {
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* The second file cannot be completed, so neither may appear. */
static int write_beyond_the_limit(void) {
    static char large[20000];
    const struct rlimit limit = {10000, 10000};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    const pm_output outputs[] = {output(in_tree("small"), "new"),
                                 {in_tree("large"), large, sizeof large},
                                 output(in_tree("absent"), "new")};
    pm_error error = PM_ERROR_INIT;
    if (pm_output_write_all(outputs, 3, NULL, &error) != PM_IO) {
        return 2;
    }
    return strstr(error.file, "/large") != NULL && strstr(error.message, "cannot write") != NULL
               ? 0
               : 3;
}

/* A18: a run that ended early left files that looked whole. */
static void A18_failure_leaves_old_targets(void **state) {
    (void)state;
    file_write(in_tree("small"), "old", 3);
    file_write(in_tree("large"), "old", 3);
    assert_int_equal(in_child(write_beyond_the_limit), 0);
    assert_true(has_contents(in_tree("small"), "old"));
    assert_true(has_contents(in_tree("large"), "old"));
    assert_int_equal(count_entries(tree), 2);
}

static int drop_privileges(void) {
    return geteuid() == 0 ? setuid(65534) : 0;
}

static int write_where_forbidden(void) {
    pm_error error = PM_ERROR_INIT;
    if (drop_privileges() != 0) {
        return 1;
    }
    const pm_output in_directory[] = {output(in_tree("open/fine"), "new"),
                                      output(in_tree("closed/new"), "new")};
    if (pm_output_write_all(in_directory, 2, NULL, &error) != PM_IO ||
        strstr(error.message, "Permission denied") == NULL ||
        strstr(error.file, "closed/new") == NULL) {
        return 2;
    }
    const pm_output on_file[] = {output(in_tree("open/locked"), "new")};
    if (pm_output_write_all(on_file, 1, NULL, &error) != PM_IO ||
        strstr(error.file, "open/locked") == NULL) {
        return 3;
    }
    return 0;
}

static void forbidden_places_are_refused(void **state) {
    (void)state;
    assert_int_equal(chmod(tree, 0755), 0);
    assert_int_equal(mkdir(in_tree("open"), 0777), 0);
    assert_int_equal(chmod(in_tree("open"), 0777), 0);
    assert_int_equal(mkdir(in_tree("closed"), 0555), 0);
    file_write(in_tree("open/locked"), "old", 3);
    assert_int_equal(chmod(in_tree("open/locked"), 0444), 0);
    assert_int_equal(in_child(write_where_forbidden), 0);
    assert_int_equal(count_entries(in_tree("open")), 1);
    assert_true(has_contents(in_tree("open/locked"), "old"));
    pm_error error = PM_ERROR_INIT;
    const pm_output directory[] = {output(tree, "x")};
    file_expect(pm_output_write_all(directory, 1, NULL, &error), PM_IO, &error, "directory", NULL,
                NULL);
    const pm_output nowhere[] = {output(in_tree("no/such/place"), "x")};
    file_expect(pm_output_write_all(nowhere, 1, NULL, &error), PM_IO, &error, "No such file", NULL,
                NULL);
}

/* Without /proc a file written without a name could not be given one: the named way. */
static int write_without_proc(void) {
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0) {
        return 77;
    }
    const pm_output outputs[] = {output(in_tree("a"), "new"), output(in_tree("b"), "new")};
    if (pm_output_write_all(outputs, 2, NULL, NULL) != PM_OK) {
        return 1;
    }
    if (!has_contents(in_tree("a"), "new") || !has_contents(in_tree("b"), "new")) {
        return 2;
    }
    if (count_entries(tree) != 2) {
        return 3;
    }
    const int failure = write_beyond_the_limit();
    return failure != 0 ? 10 + failure : count_entries(tree) == 2 ? 0 : 4;
}

static void named_temporary_files_work_too(void **state) {
    (void)state;
    const int result = in_child(write_without_proc);
    if (result == 77) {
        pm_say_skip("this user cannot hide /proc in a mount namespace");
        skip();
    }
    assert_int_equal(result, 0);
}

static int write_to_closed_pipe(void) {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) {
        return 1;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    const pm_output outputs[] = {output("-", "lost"), output(in_tree("a"), "new")};
    pm_error error = PM_ERROR_INIT;
    if (pm_output_write_all(outputs, 2, NULL, &error) != PM_IO ||
        strstr(error.message, "Broken pipe") == NULL) {
        return 2;
    }
    sigset_t pending, mask;
    (void)sigpending(&pending);
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&pending, SIGPIPE) || sigismember(&mask, SIGPIPE) ||
                   sigismember(&mask, SIGINT)
               ? 3
               : 0;
}

static void closed_pipe_is_an_error_not_a_signal(void **state) {
    (void)state;
    file_write(in_tree("a"), "old", 3);
    assert_int_equal(in_child(write_to_closed_pipe), 0);
    assert_true(has_contents(in_tree("a"), "old"));
    assert_int_equal(count_entries(tree), 1);
}

static pm_status write_until_the_wish(const pm_output *outputs, size_t n) {
    struct late_wish wish;
    late_wish_begin(&wish);
    const pm_status status = pm_output_write_all(outputs, n, &wish.control, NULL);
    late_wish_end(&wish);
    return status;
}

static void fifo_without_reader_is_left_when_asked(void **state) {
    (void)state;
    assert_int_equal(mkfifo(in_tree("fifo"), 0600), 0);
    const pm_output outputs[] = {output(in_tree("a"), "new"), output(in_tree("fifo"), "x")};
    assert_int_equal(write_until_the_wish(outputs, 2), PM_CANCELLED);
    assert_int_equal(count_entries(tree), 1);
    const pm_control late = {.struct_bytes = (uint32_t)sizeof late,
                             .deadline_ns = pm_clock_now_ns() + 50000000};
    assert_int_equal(pm_output_write_all(outputs, 2, &late, NULL), PM_DEADLINE);
    assert_int_equal(count_entries(tree), 1);
}

#define LARGE_BYTES ((size_t)1 << 20)

static void *read_in_pieces(void *fd) {
    static uint8_t bytes[LARGE_BYTES + 1];
    size_t done = 0;
    for (ssize_t n = 1; n > 0; done += n > 0 ? (size_t)n : 0) {
        const size_t left = sizeof bytes - done;
        n = read(*(int *)fd, bytes + done, left < 7777 ? left : 7777);
    }
    return done == LARGE_BYTES ? bytes : NULL;
}

static void full_pipe_is_left_when_asked(void **state) {
    (void)state;
    static uint8_t large[LARGE_BYTES];
    int ends[2];
    char name[64];
    for (size_t i = 0; i < sizeof large; ++i) {
        large[i] = (uint8_t)(i * 31 >> 3);
    }
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    const pm_output outputs[] = {output(in_tree("a"), "new"),
                                 {.path = name, .bytes = large, .n_bytes = sizeof large}};
    assert_int_equal(write_until_the_wish(outputs, 2), PM_CANCELLED);
    assert_int_equal(count_entries(tree), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);

    assert_int_equal(pipe(ends), 0);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    pthread_t reader;
    void *seen;
    assert_int_equal(pthread_create(&reader, NULL, read_in_pieces, &ends[0]), 0);
    assert_int_equal(pm_output_write_all(outputs, 2, NULL, NULL), PM_OK);
    (void)close(ends[1]);
    assert_int_equal(pthread_join(reader, &seen), 0);
    assert_non_null(seen);
    assert_memory_equal(seen, large, sizeof large);
    (void)close(ends[0]);
}

static void two_outputs_with_one_name(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(symlink("new", in_tree("alias")), 0);
    file_write(in_tree("old"), "old", 3);
    assert_int_equal(link(in_tree("old"), in_tree("hard")), 0);
    const char *const pairs[][2] = {
        {"new", "new"}, {"new", "alias"}, {"new", "./new"}, {"old", "hard"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        const pm_output outputs[] = {output(in_tree(pairs[i][0]), "x"),
                                     output(in_tree(pairs[i][1]), "y")};
        file_expect(pm_output_write_all(outputs, 2, NULL, &error), PM_INVALID_ARGUMENT, &error,
                    "two outputs", NULL, NULL);
    }
    const pm_output dashes[] = {output("-", "x"), output("-", "y")};
    assert_int_equal(pm_output_write_all(dashes, 2, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(count_entries(tree), 3);
    const pm_output nulls[] = {output("/dev/null", "x"), output("/dev/null", "y")};
    assert_int_equal(pm_output_write_all(nulls, 2, NULL, &error), PM_OK);
}

/* Names that may be given several times, "-" where standard output is no regular file. */
static void compare_streams_and_devices(void) {
    const char *const inputs[] = {"-", in_tree("key"), in_tree("absent"), "/dev/null"};
    const char *const outputs[] = {"-", in_tree("other"), in_tree("new"), "/dev/null",
                                   "-", "/dev/null"};
    seen_status = pm_output_distinct(inputs, 4, outputs, 6, NULL);
}

static void compare_dash_with_an_output(void) {
    const char *const outputs[] = {"-", in_tree("other")};
    seen_status = pm_output_distinct(NULL, 0, outputs, 2, NULL);
}

static void compare_dash_with_an_input(void) {
    const char *const inputs[] = {in_tree("key")}, *const outputs[] = {"-"};
    seen_status = pm_output_distinct(inputs, 1, outputs, 1, NULL);
}

/* A17: a ceremony's command was given the same file to read and to write. */
static void A17_output_must_not_be_an_input(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    file_write(in_tree("key"), "key", 3);
    file_write(in_tree("other"), "key", 3);
    assert_int_equal(symlink("key", in_tree("soft")), 0);
    assert_int_equal(link(in_tree("key"), in_tree("hard")), 0);
    assert_int_equal(symlink(".", in_tree("here")), 0);
    const char *same[] = {"key", "soft", "hard", "./key", "here/key", "here/soft"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; ++i) {
        const char *const inputs[] = {in_tree("other"), in_tree("key")};
        const char *const outputs[] = {in_tree("new"), in_tree(same[i])};
        file_expect(pm_output_distinct(inputs, 2, outputs, 2, &error), PM_SAME_FILE, &error,
                    "same file as the input", NULL, NULL);
        const char *const only_soft[] = {in_tree("soft")};
        assert_int_equal(pm_output_distinct(only_soft, 1, outputs, 2, &error), PM_SAME_FILE);
    }
    char text[8];
    assert_int_equal(captured(compare_streams_and_devices, text, sizeof text), 0);
    assert_int_equal(seen_status, PM_OK);
    const struct {
        const char *name;
        void (*compare)(void);
        pm_status status;
    } streams[] = {{"sink", compare_dash_with_an_output, PM_OK},
                   {"other", compare_dash_with_an_output, PM_SAME_FILE},
                   {"sink", compare_dash_with_an_input, PM_OK},
                   {"hard", compare_dash_with_an_input, PM_SAME_FILE}};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; ++i) {
        redirected(streams[i].name, streams[i].compare);
        assert_int_equal(seen_status, streams[i].status);
    }
    assert_int_equal(mkdir(in_tree("below"), 0700), 0);
    const char *const apart[] = {in_tree("new"), in_tree("below/new")};
    assert_int_equal(pm_output_distinct(NULL, 0, apart, 2, &error), PM_OK);
    const char *const twins[][2] = {{"new", "here/new"}, {"other", "./other"}, {"hard", "soft"}};
    for (size_t i = 0; i < 3; ++i) {
        const char *const outputs[] = {in_tree(twins[i][0]), in_tree(twins[i][1])};
        file_expect(pm_output_distinct(NULL, 0, outputs, 2, &error), PM_SAME_FILE, &error,
                    "same file as the output", NULL, NULL);
    }
}

int main(void) {
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)
    const struct CMUnitTest tests[] = {
        IN_TREE(writes_and_replaces),
        IN_TREE(links_are_followed),
        IN_TREE(what_cannot_be_replaced_is_written_straight),
        IN_TREE(dev_stdout_in_a_file_is_not_replaced),
        IN_TREE(A18_failure_leaves_old_targets),
        IN_TREE(forbidden_places_are_refused),
        IN_TREE(named_temporary_files_work_too),
        IN_TREE(closed_pipe_is_an_error_not_a_signal),
        IN_TREE(fifo_without_reader_is_left_when_asked),
        IN_TREE(full_pipe_is_left_when_asked),
        IN_TREE(two_outputs_with_one_name),
        IN_TREE(A17_output_must_not_be_an_input),
    };
#undef IN_TREE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
