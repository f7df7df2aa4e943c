/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/mapping.h"

#include "base/clock.h"
#include "io/container.h"
#include "io/cursor.h"
#include "io/guard.h"
#include "support/file_builder.h"
#include "support/late_wish.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char *tree;

static const enum pm_mapping_how hows[] = {PM_MAPPING_MAP, PM_MAPPING_READ, PM_MAPPING_READ_SECRET};

static pm_status open_named(const char *path, enum pm_mapping_how how, uint64_t max_bytes,
                            struct pm_mapping *mapping, pm_error *error) {
    return pm_mapping_open(path, how, max_bytes, NULL, NULL, mapping, error);
}

static uint8_t pattern(size_t i) {
    return (uint8_t)(i * 7 + i / 251);
}

static const char *write_pattern(const char *name, size_t n_bytes) {
    uint8_t *bytes = malloc(n_bytes + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < n_bytes; ++i) {
        bytes[i] = pattern(i);
    }
    const char *path = file_in_tree(tree, name);
    file_write(path, bytes, n_bytes);
    free(bytes);
    return path;
}

static void expect_pattern(const struct pm_mapping *mapping, size_t n_bytes) {
    assert_int_equal(mapping->n_bytes, n_bytes);
    for (size_t i = 0; i < n_bytes; ++i) {
        if (mapping->bytes[i] != pattern(i)) {
            fail_msg("byte %zu of %zu", i, n_bytes);
        }
    }
}

static void regular_files_of_many_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, 65537, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        const char *path = write_pattern("regular", sizes[i]);
        for (size_t k = 0; k < 3; ++k) {
            struct pm_mapping mapping;
            pm_error error = PM_ERROR_INIT;
            file_expect(open_named(path, hows[k], UINT64_MAX, &mapping, &error), PM_OK, &error,
                        NULL, NULL, NULL);
            expect_pattern(&mapping, sizes[i]);
            assert_int_equal(mapping.is_mapped, hows[k] == PM_MAPPING_MAP && sizes[i] > 0);
            assert_string_equal(mapping.name, path);
            assert_int_equal(pm_mapping_check(&mapping, &error), PM_OK);
            if (mapping.owned != NULL) {
                assert_int_equal(((char *)mapping.owned)[sizes[i]], 0);
            }
            pm_mapping_close(&mapping);
            pm_mapping_close(&mapping); /* harmless */
            /* Exactly the allowed size is allowed, one byte less is not. */
            file_expect(open_named(path, hows[k], sizes[i], &mapping, &error), PM_OK, &error, NULL,
                        NULL, NULL);
            pm_mapping_close(&mapping);
            if (sizes[i] > 0) {
                file_expect(open_named(path, hows[k], sizes[i] - 1, &mapping, &error), PM_LENGTH,
                            &error, "more than", NULL, NULL);
                assert_string_equal(error.file, path);
            }
        }
    }
}

struct writer {
    const char *path;
    size_t n_bytes;
};

static void *write_slowly(void *argument) {
    const struct writer *writer = argument;
    const int fd = open(writer->path, O_WRONLY);
    for (size_t i = 0; i < writer->n_bytes;) {
        uint8_t piece[977];
        size_t n = 0;
        for (; n < sizeof piece && i + n < writer->n_bytes; ++n) {
            piece[n] = pattern(i + n);
        }
        const ssize_t written = write(fd, piece, n);
        if (written <= 0) {
            break; /* the reader has had enough */
        }
        i += (size_t)written;
    }
    (void)close(fd);
    return NULL;
}

static void fifos_are_read_up_to_the_bound(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 70000, 300000};
    const char *path = file_in_tree(tree, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < 8; ++i) {
        struct writer writer = {path, sizes[i % 4]};
        const bool is_too_long = i >= 5; /* the bound is one byte short */
        pthread_t thread;
        struct pm_mapping mapping;
        pm_error error = PM_ERROR_INIT;
        if (i == 4) {
            continue; /* nothing is shorter than no bytes */
        }
        assert_int_equal(pthread_create(&thread, NULL, write_slowly, &writer), 0);
        const pm_status status = open_named(
            path, hows[i % 3], is_too_long ? writer.n_bytes - 1 : writer.n_bytes, &mapping, &error);
        assert_int_equal(pthread_join(thread, NULL), 0);
        file_expect(status, is_too_long ? PM_LENGTH : PM_OK, &error, NULL, NULL, NULL);
        if (status == PM_OK) {
            expect_pattern(&mapping, writer.n_bytes);
            assert_false(mapping.is_mapped);
            pm_mapping_close(&mapping);
        }
    }
    (void)signal(SIGPIPE, SIG_DFL);
}

static void expect_left_when_asked(const char *path) {
    const pm_control late = {.struct_bytes = (uint32_t)sizeof late,
                             .deadline_ns = pm_clock_now_ns() + 50000000};
    struct late_wish wish;
    struct pm_mapping mapping;
    late_wish_begin(&wish);
    assert_int_equal(
        pm_mapping_open(path, PM_MAPPING_MAP, UINT64_MAX, NULL, &wish.control, &mapping, NULL),
        PM_CANCELLED);
    late_wish_end(&wish);
    assert_int_equal(pm_mapping_open(path, PM_MAPPING_MAP, UINT64_MAX, NULL, &late, &mapping, NULL),
                     PM_DEADLINE);
}

static void silent_writers_are_left_when_asked(void **state) {
    (void)state;
    const char *path = file_in_tree(tree, "nobody");
    int ends[2];
    char name[64];
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_left_when_asked(path);
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "some", 4), 4);
    expect_left_when_asked(name);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Standard input: a pipe, and a file from where it stands. */
static void dash_is_standard_input(void **state) {
    (void)state;
    const int saved = dup(STDIN_FILENO);
    int ends[2];
    struct pm_mapping mapping;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
    file_expect(open_named("-", PM_MAPPING_MAP, 100, &mapping, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(mapping.n_bytes, 5);
    assert_memory_equal(mapping.bytes, "hello", 6);
    assert_string_equal(mapping.name, "standard input");
    pm_mapping_close(&mapping);

    const int fd = open(write_pattern("standing", 5000), O_RDONLY);
    assert_int_equal(lseek(fd, 4990, SEEK_SET), 4990);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    (void)close(fd);
    file_expect(open_named("-", PM_MAPPING_MAP, 10, &mapping, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(mapping.n_bytes, 10);
    assert_int_equal(mapping.bytes[0], pattern(4990));
    pm_mapping_close(&mapping);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), 0); /* not ours to close */
    if (saved >= 0) {
        (void)dup2(saved, STDIN_FILENO);
        (void)close(saved);
    }
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    struct pm_mapping mapping;
    pm_error error = PM_ERROR_INIT;
    for (size_t k = 0; k < 3; ++k) {
        file_expect(open_named(tree, hows[k], 100, &mapping, &error), PM_IO, &error,
                    "is a directory", NULL, NULL);
        assert_string_equal(error.file, tree);
        file_expect(open_named(file_in_tree(tree, "absent"), hows[k], 100, &mapping, &error), PM_IO,
                    &error, "No such file", NULL, NULL);
        file_expect(open_named("", hows[k], 100, &mapping, &error), PM_IO, &error, NULL, NULL,
                    NULL);
        file_expect(open_named("/dev/zero", hows[k], 5000, &mapping, &error), PM_LENGTH, &error,
                    "5000", NULL, NULL);
        file_expect(open_named("/dev/null", hows[k], 5000, &mapping, &error), PM_OK, &error, NULL,
                    NULL, NULL);
        assert_int_equal(mapping.n_bytes, 0);
        pm_mapping_close(&mapping);
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", file_in_tree(tree, "socket"));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    file_expect(open_named(address.sun_path, PM_MAPPING_MAP, 100, &mapping, &error), PM_IO, &error,
                "is a socket", NULL, NULL);
    (void)close(fd);
}

/* A device that never ends must not fill the memory when the caller gave no bound. */
static void endless_device_ends(void **state) {
    (void)state;
    struct pm_mapping mapping;
    pm_error error = PM_ERROR_INIT;
    file_expect(open_named("/dev/zero", PM_MAPPING_READ, UINT64_MAX, &mapping, &error), PM_LENGTH,
                &error, "67108864", NULL, NULL);
}

/* Files of /proc say that they have no bytes. */
static void pseudo_files_are_read(void **state) {
    (void)state;
    struct pm_mapping mapping;
    pm_error error = PM_ERROR_INIT;
    file_expect(open_named("/proc/self/status", PM_MAPPING_MAP, 1 << 20, &mapping, &error), PM_OK,
                &error, NULL, NULL, NULL);
    assert_true(mapping.n_bytes > 100);
    assert_memory_equal(mapping.bytes, "Name:", 5);
    pm_mapping_close(&mapping);
}

static void borrowed_bytes(void **state) {
    (void)state;
    struct pm_mapping mapping;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_mapping_borrow("abc", 3, NULL, &mapping, &error), PM_OK);
    assert_string_equal(mapping.name, "memory");
    assert_int_equal(pm_mapping_check(&mapping, &error), PM_OK);
    pm_mapping_close(&mapping);
    assert_int_equal(pm_mapping_borrow(NULL, 0, "nothing", &mapping, &error), PM_OK);
    assert_null(pm_container_recognise(&mapping));
    pm_mapping_close(&mapping);
    assert_int_equal(pm_mapping_borrow(NULL, 3, "x", &mapping, &error), PM_INVALID_ARGUMENT);
    pm_mapping_close(&mapping);
}

static void cursor_stays_inside(void **state) {
    (void)state;
    static const uint8_t bytes[] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9};
    struct pm_mapping mapping;
    struct pm_cursor cursor;
    pm_error error = PM_ERROR_INIT;
    uint32_t word = 0;
    uint64_t long_word = 0;
    const uint8_t *span = NULL;
    assert_int_equal(pm_mapping_borrow(bytes, sizeof bytes, "bytes", &mapping, &error), PM_OK);
    assert_int_equal(pm_cursor_open(&mapping, "all", 0, 14, &cursor, &error), PM_TRUNCATED);
    assert_int_equal(pm_cursor_open(&mapping, "all", 14, 0, &cursor, &error), PM_TRUNCATED);
    assert_int_equal(pm_cursor_open(&mapping, "all", 2, UINT64_MAX, &cursor, &error), PM_TRUNCATED);
    assert_int_equal(pm_cursor_open(&mapping, "all", UINT64_MAX, 2, &cursor, &error), PM_TRUNCATED);
    assert_int_equal(pm_cursor_open(&mapping, "all", 13, 0, &cursor, &error), PM_OK);
    assert_int_equal(pm_cursor_open(&mapping, "all", 0, 13, &cursor, &error), PM_OK);
    assert_int_equal(pm_cursor_u32(&cursor, "one", &word, &error), PM_OK);
    assert_int_equal(word, 1);
    assert_int_equal(pm_cursor_u64(&cursor, "two", &long_word, &error), PM_OK);
    assert_int_equal(long_word, 2);
    file_expect(pm_cursor_u32(&cursor, "three", &word, &error), PM_TRUNCATED, &error, "three",
                "4 bytes", "1 are left");
    assert_int_equal(error.offset, 12);
    assert_int_equal(error.need, 4);
    assert_int_equal(error.have, 1);
    assert_int_equal(pm_cursor_span(&cursor, "many", UINT64_MAX / 2, 3, &span, &error),
                     PM_TRUNCATED);
    assert_int_equal(pm_cursor_span(&cursor, "many", UINT64_MAX, UINT64_MAX, &span, &error),
                     PM_TRUNCATED);
    assert_int_equal(pm_cursor_finish(&cursor, &error), PM_LENGTH);
    assert_int_equal(pm_cursor_span(&cursor, "rest", 1, 1, &span, &error), PM_OK);
    assert_ptr_equal(span, bytes + 12);
    assert_int_equal(pm_cursor_finish(&cursor, &error), PM_OK);
    assert_int_equal(pm_cursor_span(&cursor, "none", 0, 32, &span, NULL), PM_OK);
    assert_int_equal(pm_cursor_u32(&cursor, "past", &word, NULL), PM_TRUNCATED);
    pm_mapping_close(&mapping);
}

/* Runs body in a child of its own, as it may end the process; its exit status, or -signal. */
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

enum { GUARDED_BYTES = 40 * 4096 + 100, KEPT_BYTES = 3 * 4096 };

static pm_status open_guarded(struct pm_mapping *mapping) {
    const char *path = file_in_tree(tree, "guarded");
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    uint8_t *bytes = malloc(GUARDED_BYTES);
    memset(bytes, 0x5a, GUARDED_BYTES);
    const bool is_written = write(fd, bytes, GUARDED_BYTES) == GUARDED_BYTES;
    free(bytes);
    (void)close(fd);
    return is_written ? open_named(path, PM_MAPPING_MAP, UINT64_MAX, mapping, NULL) : PM_IO;
}

static bool shrink(void) {
    return truncate(file_in_tree(tree, "guarded"), KEPT_BYTES) == 0;
}

static unsigned sum(const struct pm_mapping *mapping) {
    unsigned total = 0;
    for (uint64_t i = 0; i < mapping->n_bytes; ++i) {
        total += ((const volatile uint8_t *)mapping->bytes)[i];
    }
    return total;
}

/* No default death by the sanitizers' own handlers. */
static void forget_handlers(void) {
    (void)signal(SIGBUS, SIG_DFL);
}

static int read_shrunken_unguarded(void) {
    struct pm_mapping mapping;
    forget_handlers();
    if (open_guarded(&mapping) != PM_OK || !shrink()) {
        return 1;
    }
    if (pm_mapping_check(&mapping, NULL) != PM_FILE_CHANGED) {
        return 2;
    }
    return sum(&mapping) == 0 ? 3 : 4;
}

static int read_shrunken_guarded(void) {
    struct pm_mapping mapping, other;
    pm_error error = PM_ERROR_INIT;
    forget_handlers();
    if (open_guarded(&mapping) != PM_OK || pm_mapping_check(&mapping, NULL) != PM_OK ||
        pm_guard_install_handler(NULL) != PM_OK || pm_guard_install_handler(NULL) != PM_OK ||
        pm_mapping_open("/proc/self/exe", PM_MAPPING_MAP, UINT64_MAX, NULL, NULL, &other, NULL) !=
            PM_OK ||
        !shrink()) {
        return 1;
    }
    if (sum(&mapping) != KEPT_BYTES * 0x5au) {
        return 2; /* what is left of the file, then zeros */
    }
    if (pm_mapping_check(&mapping, &error) != PM_FILE_CHANGED || error.file[0] == '\0') {
        return 3;
    }
    if (!pm_guard_has_faulted(mapping.guard_slot) || pm_mapping_check(&other, NULL) != PM_OK) {
        return 4;
    }
    const int32_t slot = mapping.guard_slot;
    pm_mapping_close(&mapping);
    /* The slot starts afresh for its next user. */
    return open_guarded(&mapping) == PM_OK && mapping.guard_slot == slot &&
                   pm_mapping_check(&mapping, NULL) == PM_OK && sum(&mapping) != 0
               ? 0
               : 5;
}

static void *sum_in_thread(void *argument) {
    return (void *)(uintptr_t)(sum(argument) == KEPT_BYTES * 0x5au);
}

static int read_shrunken_by_many(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct pm_mapping mapping;
    forget_handlers();
    for (int round = 0; round < 20; ++round) {
        if (open_guarded(&mapping) != PM_OK || pm_guard_install_handler(NULL) != PM_OK ||
            !shrink()) {
            return 1;
        }
        int good = 0;
        for (int i = 0; i < THREADS; ++i) {
            (void)pthread_create(&threads[i], NULL, sum_in_thread, &mapping);
        }
        for (int i = 0; i < THREADS; ++i) {
            void *result = NULL;
            (void)pthread_join(threads[i], &result);
            good += result != NULL;
        }
        if (good != THREADS || pm_mapping_check(&mapping, NULL) != PM_FILE_CHANGED) {
            return 2;
        }
        pm_mapping_close(&mapping);
    }
    return 0;
}

/* A file that is mapped by somebody else and shrinks is not our business. */
static int foreign_fault(void) {
    struct pm_mapping mapping;
    if (open_guarded(&mapping) != PM_OK || pm_guard_install_handler(NULL) != PM_OK) {
        return 1;
    }
    const int fd = open(file_in_tree(tree, "guarded"), O_RDONLY);
    const volatile uint8_t *foreign = mmap(NULL, GUARDED_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    if (!shrink()) {
        return 2;
    }
    return foreign[GUARDED_BYTES - 1] == 0 ? 3 : 4;
}

static int foreign_fault_without_handler(void) {
    forget_handlers();
    return foreign_fault();
}

static void exit_42(int number) {
    (void)number;
    _exit(42);
}

static int foreign_fault_with_plain_handler(void) {
    (void)signal(SIGBUS, exit_42);
    return foreign_fault();
}

static void exit_43(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    _exit(info->si_addr != NULL ? 43 : 44);
}

static int foreign_fault_with_full_handler(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = exit_43;
    (void)sigaction(SIGBUS, &action, NULL);
    return foreign_fault();
}

static int sent_signal(void) {
    forget_handlers();
    (void)pm_guard_install_handler(NULL);
    (void)kill(getpid(), SIGBUS);
    return 1;
}

/* Every slot in use: an unguarded mapping would break the promise. */
static int no_slot_left(void) {
    struct pm_mapping mapping;
    for (int i = 0; i < PM_GUARD_SLOTS; ++i) {
        if (pm_guard_enter((void *)(uintptr_t)((i + 1) * 4096), 1) != i) {
            return 1;
        }
    }
    if (open_guarded(&mapping) != PM_OK || mapping.guard_slot != -1) {
        return 2;
    }
    pm_mapping_close(&mapping);
    (void)pm_guard_install_handler(NULL);
    if (open_guarded(&mapping) != PM_NO_MEMORY) {
        return 3;
    }
    pm_guard_leave(7);
    return open_guarded(&mapping) == PM_OK && mapping.guard_slot == 7 ? 0 : 4;
}

static void guard_turns_faults_into_a_status(void **state) {
    (void)state;
    assert_int_equal(in_child(read_shrunken_unguarded), -SIGBUS);
    assert_int_equal(in_child(read_shrunken_guarded), 0);
    assert_int_equal(in_child(read_shrunken_by_many), 0);
    assert_int_equal(in_child(no_slot_left), 0);
}

static void guard_passes_on_what_is_not_ours(void **state) {
    (void)state;
    assert_int_equal(in_child(foreign_fault_without_handler), -SIGBUS);
    assert_int_equal(in_child(foreign_fault_with_plain_handler), 42);
    assert_int_equal(in_child(foreign_fault_with_full_handler), 43);
    assert_int_equal(in_child(sent_signal), -SIGBUS);
}

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_files_of_many_sizes),
        cmocka_unit_test(fifos_are_read_up_to_the_bound),
        cmocka_unit_test(silent_writers_are_left_when_asked),
        cmocka_unit_test(dash_is_standard_input),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(endless_device_ends),
        cmocka_unit_test(pseudo_files_are_read),
        cmocka_unit_test(borrowed_bytes),
        cmocka_unit_test(cursor_stays_inside),
        cmocka_unit_test(guard_turns_faults_into_a_status),
        cmocka_unit_test(guard_passes_on_what_is_not_ours),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
