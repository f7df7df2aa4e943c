/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/scan.h"

#include "support/file_builder.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N_MAX = 4000 };

struct field {
    const bool *is_bad;
    atomic_uint *visits; /* of each element; NULL: not counted */
    uint64_t grain;
    _Atomic uint64_t longest; /* piece */
    int *cancel_at_first;
};

static uint64_t look(const void *argument, uint64_t begin, uint64_t end) {
    struct field *field = (void *)(uintptr_t)argument;
    if (end - begin > field->grain) {
        atomic_store(&field->longest, end - begin);
    }
    if (field->cancel_at_first != NULL) {
        __atomic_store_n(field->cancel_at_first, 1, __ATOMIC_RELAXED);
    }
    for (uint64_t i = begin; i < end; ++i) {
        if (field->visits != NULL) {
            atomic_fetch_add(&field->visits[i], 1);
        }
        if (field->is_bad[i]) {
            return i;
        }
    }
    return end;
}

static struct pm_team *make_team(uint32_t threads) {
    struct pm_team *team = NULL;
    assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
    return team;
}

static void every_element_is_looked_at_once(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 33, 47, 1000, N_MAX};
    static atomic_uint visits[N_MAX];
    static const bool none[N_MAX];
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        struct pm_team *team = make_team(threads);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            for (uint64_t grain = 1; grain <= 64; grain *= 8) {
                struct field field = {.is_bad = none, .visits = visits, .grain = grain};
                const struct pm_scan scan = {
                    .n = sizes[i], .grain = grain, .piece = look, .argument = &field};
                uint64_t lowest = 1;
                memset(visits, 0, sizeof visits);
                assert_int_equal(pm_scan_run(&scan, team, NULL, &lowest, NULL), PM_OK);
                assert_int_equal(lowest, sizes[i]);
                assert_int_equal(field.longest, 0);
                for (uint64_t k = 0; k < N_MAX; ++k) {
                    assert_int_equal(visits[k], k < sizes[i]);
                }
            }
        }
        pm_team_destroy(team);
    }
}

static void lowest_is_found_whatever_else_is_bad(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    struct pm_team *teams[] = {NULL, make_team(1), make_team(4)};
    for (int round = 0; round < 600; ++round) {
        static bool is_bad[N_MAX];
        const uint64_t n = 1 + seeded_random_below(&random, N_MAX);
        const uint64_t n_bad = 1 + seeded_random_below(&random, round % 2 == 0 ? 3 : 300);
        uint64_t expected = n, lowest = 0;
        memset(is_bad, 0, sizeof is_bad);
        for (uint64_t i = 0; i < n_bad; ++i) {
            const uint64_t bad = seeded_random_below(&random, n);
            is_bad[bad] = true;
            expected = bad < expected ? bad : expected;
        }
        struct field field = {.is_bad = is_bad, .grain = 1 + seeded_random_below(&random, 40)};
        const struct pm_scan scan = {
            .n = n, .grain = field.grain, .piece = look, .argument = &field};
        assert_int_equal(pm_scan_run(&scan, teams[round % 3], NULL, &lowest, NULL), PM_OK);
        assert_int_equal(lowest, expected);
    }
    pm_team_destroy(teams[1]);
    pm_team_destroy(teams[2]);
}

/* Two bad elements in pieces of two threads, handed in in either order. */
struct race {
    bool low_comes_last;
    atomic_bool is_inside[2]; /* the low one, the high one */
    atomic_bool is_leaving[2];
};

static void wait_for(atomic_bool *flag) {
    for (int i = 0; i < 2000 && !atomic_load(flag); ++i) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static uint64_t race_piece(const void *argument, uint64_t begin, uint64_t end) {
    struct race *race = (void *)(uintptr_t)argument;
    const bool is_high = begin != 0;
    atomic_store(&race->is_inside[is_high], true);
    wait_for(&race->is_inside[!is_high]);
    if (is_high != race->low_comes_last) {
        wait_for(&race->is_leaving[!is_high]);
        /* Longer than it takes the other thread to hand in what it found. */
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    atomic_store(&race->is_leaving[is_high], true);
    return is_high ? begin : end - 1;
}

static void order_of_finding_does_not_matter(void **state) {
    (void)state;
    struct pm_team *team = make_team(4);
    for (int round = 0; round < 6; ++round) {
        struct race race = {.low_comes_last = round % 2 == 0};
        const struct pm_scan scan = {
            .n = 8 * 64, .grain = 8, .piece = race_piece, .argument = &race};
        uint64_t lowest = 0;
        assert_int_equal(pm_scan_run(&scan, team, NULL, &lowest, NULL), PM_OK);
        assert_int_equal(lowest, 7);
    }
    pm_team_destroy(team);
}

static void cancelling_ends_it(void **state) {
    (void)state;
    static const bool none[N_MAX];
    int cancel = 0;
    static atomic_uint visits[N_MAX];
    struct field field = {
        .is_bad = none, .visits = visits, .grain = 10, .cancel_at_first = &cancel};
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    const struct pm_scan scan = {.n = N_MAX, .grain = 10, .piece = look, .argument = &field};
    uint64_t lowest = 77;
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_scan_run(&scan, NULL, &control, &lowest, &error), PM_CANCELLED, &error, NULL,
                NULL, NULL);
    assert_int_equal(lowest, 77);
    unsigned total = 0;
    for (size_t i = 0; i < N_MAX; ++i) {
        total += visits[i];
    }
    assert_int_equal(total, 10); /* one grain, then no more */
}

struct reports {
    uint64_t last;
    unsigned n;
};

static void on_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct reports *reports = user;
    assert_string_equal(phase, "waiting");
    assert_int_equal(total, 5000);
    assert_true(done > reports->last && done <= total);
    reports->last = done;
    reports->n += 1;
}

static uint64_t wait_a_little(const void *argument, uint64_t begin, uint64_t end) {
    (void)argument;
    (void)begin;
    (void)nanosleep(&(struct timespec){.tv_nsec = 15000000}, NULL);
    return end;
}

static void progress_is_told_in_the_callers_units(void **state) {
    (void)state;
    struct reports reports = {.last = 1000};
    const pm_control control = {
        .struct_bytes = sizeof control, .progress = on_progress, .user = &reports};
    const struct pm_scan scan = {.phase = "waiting",
                                 .n = 32,
                                 .grain = 1,
                                 .progress_first = 1000,
                                 .progress_per_element = 125,
                                 .progress_total = 5000,
                                 .piece = wait_a_little};
    uint64_t lowest = 0;
    assert_int_equal(pm_scan_run(&scan, NULL, &control, &lowest, NULL), PM_OK);
    assert_int_equal(reports.n, 2); /* after 16 and 32 pieces of 15 ms */
    assert_int_equal(reports.last, 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_looked_at_once),
        cmocka_unit_test(lowest_is_found_whatever_else_is_bad),
        cmocka_unit_test(order_of_finding_does_not_matter),
        cmocka_unit_test(cancelling_ends_it),
        cmocka_unit_test(progress_is_told_in_the_callers_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
