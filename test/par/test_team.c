/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "par/bulk.h"
#include "par/team.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <errno.h>
#include <signal.h>

#include <cmocka.h>

/* Stands before libc's (or the sanitizer's) so that a test can make the n-th start fail. */
static uint32_t starts_before_failure = UINT32_MAX;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *),
                   void *argument) {
    typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create_function *create;
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &symbol, sizeof create);
    if (starts_before_failure == 0) {
        return EAGAIN;
    }
    starts_before_failure -= starts_before_failure != UINT32_MAX;
    return create(thread, attributes, entry, argument);
}

/* Threads of this process, or 0 when /proc does not say. */
static size_t count_threads(void) {
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) {
        return 0;
    }
    size_t n = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(directory);
    return n;
}

/* The fewest in a fifth of a second: a joined thread of an earlier test leaves /proc a moment
 * later, and under an emulator a longer moment. */
static size_t count_threads_at_rest(void) {
    size_t fewest = SIZE_MAX;
    for (int i = 0; i < 10; i++) {
        const struct timespec wait = {.tv_nsec = 20000000};
        (void)nanosleep(&wait, NULL);
        const size_t now = count_threads();
        fewest = now < fewest ? now : fewest;
    }
    return fewest;
}

/* A joined thread may linger in /proc for a moment: the kernel wakes the joiner before it takes the
 * task off the list. */
static size_t count_threads_settled(size_t expected) {
    size_t n = count_threads();
    for (int attempt = 0; n != expected && attempt < 4000; attempt++) {
        (void)usleep(5000);
        n = count_threads();
    }
    return n;
}

static struct pm_team *new_team(uint32_t threads) {
    struct pm_team *team = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_team_create(threads, &team, &error), PM_OK);
    assert_non_null(team);
    assert_int_equal(pm_team_threads(team), threads);
    return team;
}

/* ---------------------------------------------------------------- once each */

static void count_visit(void *argument, size_t index) {
    uint32_t *visits = argument;
    (void)__atomic_fetch_add(&visits[index], 1, __ATOMIC_RELAXED);
}

static void check_each_once(struct pm_team *team, size_t n) {
    uint32_t *visits = calloc(n + 1, sizeof *visits);
    assert_non_null(visits);
    pm_team_run(team, n, count_visit, visits);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(visits[i], 1);
    }
    assert_int_equal(visits[n], 0);
    free(visits);
}

static void test_every_index_exactly_once(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 100000};
    for (uint32_t threads = 0; threads <= 9; threads += threads < 3 ? 1 : 2) {
        struct pm_team *team = threads == 0 ? NULL : new_team(threads);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            check_each_once(team, sizes[i]);
        }
        pm_team_destroy(team);
    }
}

/* What a task writes without atomics, the caller reads after the run; TSan watches. */
static void write_plain(void *argument, size_t index) {
    size_t *values = argument;
    values[index] = index * index + values[index];
}

static void test_plain_writes_are_visible_after_the_run(void **state) {
    (void)state;
    struct pm_team *team = new_team(4);
    size_t values[97];
    for (size_t round = 0; round < 200; round++) {
        for (size_t i = 0; i < 97; i++) {
            values[i] = round;
        }
        pm_team_run(team, 97, write_plain, values);
        for (size_t i = 0; i < 97; i++) {
            assert_int_equal(values[i], i * i + round);
        }
    }
    pm_team_destroy(team);
}

static void test_null_team_is_the_caller_alone(void **state) {
    (void)state;
    assert_int_equal(pm_team_threads(NULL), 1);
    pm_team_destroy(NULL);
}

/* A task that waits for its sibling ends only if a second thread takes part. */
struct rendezvous {
    uint32_t n_arrived;
    uint32_t n_expected;
};

static void meet(void *argument, size_t index) {
    struct rendezvous *point = argument;
    (void)index;
    (void)__atomic_fetch_add(&point->n_arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&point->n_arrived, __ATOMIC_ACQUIRE) < point->n_expected) {
        (void)usleep(100);
    }
}

static void test_all_members_take_part(void **state) {
    (void)state;
    struct pm_team *team = new_team(5);
    for (int round = 0; round < 20; round++) {
        struct rendezvous point = {.n_expected = 5};
        pm_team_run(team, 5, meet, &point);
        assert_int_equal(point.n_arrived, 5);
    }
    pm_team_destroy(team);
}

/* ---------------------------------------------------------------- nested and concurrent */

struct nest {
    struct pm_team *team;
    uint32_t depth;
    uint64_t n_leaves;
};

static void descend(void *argument, size_t index) {
    struct nest *parent = argument;
    (void)index;
    if (parent->depth == 0) {
        (void)__atomic_fetch_add(&parent->n_leaves, 1, __ATOMIC_RELAXED);
        return;
    }
    struct nest child = {.team = parent->team, .depth = parent->depth - 1};
    pm_team_run(parent->team, 5, descend, &child);
    (void)__atomic_fetch_add(&parent->n_leaves, child.n_leaves, __ATOMIC_RELAXED);
}

static void test_nested_runs(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct nest root = {.team = new_team(threads), .depth = 4};
        pm_team_run(root.team, 3, descend, &root);
        assert_int_equal(root.n_leaves, 3 * 5 * 5 * 5 * 5);
        pm_team_destroy(root.team);
    }
}

struct caller {
    pthread_t thread;
    struct pm_team *team;
    uint64_t n_wrong;
};

static void add_index(void *argument, size_t index) {
    uint64_t *sum = argument;
    (void)__atomic_fetch_add(sum, index + 1, __ATOMIC_RELAXED);
}

static void *call_many_times(void *argument) {
    struct caller *caller = argument;
    for (size_t round = 0; round < 1500; round++) {
        const size_t n = round % 13;
        uint64_t sum = 0;
        pm_team_run(caller->team, n, add_index, &sum);
        caller->n_wrong += sum != n * (n + 1) / 2;
    }
    struct nest root = {.team = caller->team, .depth = 3};
    pm_team_run(root.team, 2, descend, &root);
    caller->n_wrong += root.n_leaves != 2 * 5 * 5 * 5;
    return NULL;
}

static void test_eight_concurrent_callers(void **state) {
    (void)state;
    struct pm_team *team = new_team(3);
    struct caller callers[8];
    for (size_t i = 0; i < 8; i++) {
        callers[i] = (struct caller){.team = team};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_many_times, &callers[i]), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].n_wrong, 0);
    }
    pm_team_destroy(team);
}

/* ---------------------------------------------------------------- life and death */

static void test_bad_sizes_are_refused(void **state) {
    (void)state;
    struct pm_team *team = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_team_create(0, &team, &error), PM_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "not 0"));
    assert_int_equal(pm_team_create(PM_THREADS_MAX + 1, &team, &error), PM_INVALID_ARGUMENT);
    assert_null(team);
}

/* Field report E6: processes that never end because worker threads are left behind. */
static void test_E6_no_thread_is_left_after_destroy(void **state) {
    (void)state;
    const size_t before = count_threads_at_rest();
    if (before == 0) {
        print_message("cannot read /proc/self/task\n");
        skip();
    }
    for (int round = 0; round < 20; round++) {
        struct pm_team *team = new_team(6);
        assert_int_equal(count_threads_settled(before + 5), before + 5);
        uint64_t sum = 0;
        pm_team_run(team, (size_t)round, add_index, &sum);
        pm_team_destroy(team);
        assert_int_equal(count_threads_settled(before), before);
    }
}

static void test_a_failed_start_joins_those_that_ran(void **state) {
    (void)state;
    const size_t before = count_threads_at_rest();
    for (uint32_t n_good = 0; n_good < 4; n_good++) {
        struct pm_team *team = NULL;
        pm_error error = PM_ERROR_INIT;
        starts_before_failure = n_good;
        const pm_status status = pm_team_create(5, &team, &error);
        starts_before_failure = UINT32_MAX;
        assert_int_equal(status, PM_NO_THREADS);
        assert_int_equal(error.status, PM_NO_THREADS);
        assert_non_null(strstr(error.message, "of 5 could not be started"));
        assert_null(team);
        assert_int_equal(count_threads_settled(before), before);
    }
}

static void note_signal_mask(void *argument, size_t index) {
    sigset_t mask;
    (void)index;
    uint32_t *n_wrong = argument;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    const bool member_like = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGBUS) == 0;
    const bool caller_like = sigismember(&mask, SIGTERM) == 0;
    if (!member_like && !caller_like) {
        (void)__atomic_fetch_add(n_wrong, 1, __ATOMIC_RELAXED);
    }
    (void)usleep(200);
}

/* The host's signals go to the host's threads; faults of a member's own stay deliverable. */
static void test_members_block_signals_and_the_caller_keeps_its_mask(void **state) {
    (void)state;
    sigset_t before, after;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct pm_team *team = new_team(4);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal_number = 1; signal_number < 32; signal_number++) {
        assert_int_equal(sigismember(&before, signal_number), sigismember(&after, signal_number));
    }
    uint32_t n_wrong = 0;
    pm_team_run(team, 40, note_signal_mask, &n_wrong);
    assert_int_equal(n_wrong, 0);
    pm_team_destroy(team);
}

/* ---------------------------------------------------------------- ranges */

struct coverage {
    size_t n, grain;
    uint8_t *visits;
    size_t n_pieces, n_short;
};

static void cover(void *argument, size_t begin, size_t end) {
    struct coverage *coverage = argument;
    (void)__atomic_fetch_add(&coverage->n_pieces, 1, __ATOMIC_RELAXED);
    if (end - begin < coverage->grain) {
        (void)__atomic_fetch_add(&coverage->n_short, 1, __ATOMIC_RELAXED);
    }
    if (begin >= end || end > coverage->n) {
        (void)__atomic_fetch_add(&coverage->n_short, 1000, __ATOMIC_RELAXED);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        (void)__atomic_fetch_add(&coverage->visits[i], 1, __ATOMIC_RELAXED);
    }
}

static void test_for_covers_exactly_the_range(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 12, 13, 31, 97, 1000, 4099};
    static const size_t grains[] = {0, 1, 2, 3, 5, 16, 97, 5000, SIZE_MAX};
    for (uint32_t threads = 0; threads <= 5; threads++) {
        struct pm_team *team = threads == 0 ? NULL : new_team(threads);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (size_t j = 0; j < sizeof grains / sizeof grains[0]; j++) {
                struct coverage coverage = {.n = sizes[i], .grain = grains[j]};
                coverage.visits = calloc(sizes[i] + 1, 1);
                assert_non_null(coverage.visits);
                pm_team_for(team, sizes[i], grains[j], cover, &coverage);
                for (size_t k = 0; k < sizes[i]; k++) {
                    assert_int_equal(coverage.visits[k], 1);
                }
                assert_true(coverage.n_short <= 1);
                assert_true(coverage.n_pieces <= 4 * (size_t)pm_team_threads(team));
                if (grains[j] <= 1 && sizes[i] >= pm_team_threads(team)) {
                    assert_true(coverage.n_pieces >= pm_team_threads(team));
                }
                free(coverage.visits);
            }
        }
        pm_team_destroy(team);
    }
}

static void add_length(void *argument, size_t begin, size_t end) {
    (void)__atomic_fetch_add((size_t *)argument, end - begin, __ATOMIC_RELAXED);
}

static void test_for_does_not_wrap_on_huge_ranges(void **state) {
    (void)state;
    struct pm_team *team = new_team(3);
    size_t total = 0;
    pm_team_for(team, SIZE_MAX, 1, add_length, &total);
    assert_true(total == SIZE_MAX);
    total = 0;
    pm_team_for(team, SIZE_MAX, SIZE_MAX - 1, add_length, &total);
    assert_true(total == SIZE_MAX);
    pm_team_destroy(team);
}

/* Lengths around a piece; a short secret is left to who frees it. */
static void test_long_memory(void **state) {
    (void)state;
    static const uint64_t lengths[] = {1,
                                       4095,
                                       PM_MEMORY_WIPE_BYTES,
                                       4 * PM_MEMORY_WIPE_BYTES - 1,
                                       4 * PM_MEMORY_WIPE_BYTES,
                                       9 * PM_MEMORY_WIPE_BYTES + 77};
    struct pm_team *team = NULL;
    assert_int_equal(pm_team_create(3, &team, NULL), PM_OK);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; ++k) {
        const uint64_t n = lengths[k];
        const bool is_wiped = n >= 4 * PM_MEMORY_WIPE_BYTES;
        void *from = NULL, *to = NULL;
        uint64_t n_zero = 0;
        assert_int_equal(pm_memory_alloc(NULL, "from", n, PM_MEMORY_PLAIN, &from, NULL), PM_OK);
        assert_int_equal(pm_memory_alloc(NULL, "to", n, PM_MEMORY_SECRET, &to, NULL), PM_OK);
        for (uint64_t i = 0; i < n; ++i) {
            ((uint8_t *)from)[i] = (uint8_t)(1 + i % 251);
        }
        pm_team_copy(team, to, from, n, 1 << 16);
        assert_memory_equal(to, from, n);
        pm_team_wipe(k % 2 == 0 ? team : NULL, to);
        for (uint64_t i = 0; i < n; ++i) {
            n_zero += ((uint8_t *)to)[i] == 0;
        }
        assert_int_equal(n_zero, is_wiped ? n : 0);
        pm_memory_free(from);
        pm_memory_free(to);
    }
    pm_team_wipe(team, NULL);
    pm_team_destroy(team);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_exactly_once),
        cmocka_unit_test(test_plain_writes_are_visible_after_the_run),
        cmocka_unit_test(test_null_team_is_the_caller_alone),
        cmocka_unit_test(test_all_members_take_part),
        cmocka_unit_test(test_nested_runs),
        cmocka_unit_test(test_eight_concurrent_callers),
        cmocka_unit_test(test_bad_sizes_are_refused),
        cmocka_unit_test(test_E6_no_thread_is_left_after_destroy),
        cmocka_unit_test(test_a_failed_start_joins_those_that_ran),
        cmocka_unit_test(test_members_block_signals_and_the_caller_keeps_its_mask),
        cmocka_unit_test(test_for_covers_exactly_the_range),
        cmocka_unit_test(test_for_does_not_wrap_on_huge_ranges),
        cmocka_unit_test(test_long_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
