/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What is allocated and released is in the ledger, in order, with who did it and where. */
#include "base/ledger.h"
#include "base/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N_ENTRIES 64

static void every_pool_and_mechanism_has_a_name(void **state) {
    (void)state;
    for (uint32_t i = 0; i < PM_POOLS_MAX; i++) {
        assert_string_not_equal(pm_pool_name(i), "unknown");
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(pm_pool_name(i), pm_pool_name(k));
        }
    }
    assert_string_equal(pm_pool_name(PM_POOL_HOST), "host");
    assert_string_equal(pm_pool_name(PM_POOL_VRAM_0), "vram:0");
    assert_string_equal(pm_pool_name(PM_POOLS_MAX - 1), "vram:15");
    assert_string_equal(pm_pool_name(PM_POOLS_MAX), "unknown");
    for (uint32_t i = 0; i <= PM_BY_FAKE; i++) {
        assert_string_not_equal(pm_mechanism_name(i), "unknown");
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(pm_mechanism_name(i), pm_mechanism_name(k));
        }
    }
    assert_string_equal(pm_mechanism_name(PM_BY_FAKE + 1), "unknown");
}

static void pools_are_counted_apart(void **state) {
    (void)state;
    struct pm_ledger ledger = {0};
    struct pm_ledger_note host = {.name = "host", .pool = PM_POOL_HOST};
    struct pm_ledger_note vram = {.name = "vram", .pool = PM_POOL_VRAM_0 + 3};
    pm_ledger_allocated(&ledger, &host, 100);
    pm_ledger_allocated(&ledger, &vram, 1000);
    pm_ledger_allocated(&ledger, &host, 20);
    pm_ledger_released(&ledger, &host, 100);
    pm_ledger_allocated(&ledger, &host, 30);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 50);
    assert_int_equal(pm_ledger_peak_bytes(&ledger), 120);
    assert_int_equal(pm_ledger_pool_live_bytes(&ledger, PM_POOL_VRAM_0 + 3), 1000);
    assert_int_equal(pm_ledger_pool_live_bytes(&ledger, PM_POOL_VRAM_0), 0);
    pm_ledger_released(&ledger, &vram, 1000);
    assert_int_equal(pm_ledger_pool_live_bytes(&ledger, PM_POOL_VRAM_0 + 3), 0);
    assert_int_equal(pm_ledger_pool_peak_bytes(&ledger, PM_POOL_VRAM_0 + 3), 1000);
    assert_int_equal(ledger.n_allocations, 4);

    /* No ledger, and no such pool. */
    vram.pool = PM_POOLS_MAX;
    pm_ledger_allocated(&ledger, &vram, 7);
    pm_ledger_released(&ledger, &vram, 7);
    pm_ledger_allocated(NULL, &host, 7);
    pm_ledger_released(NULL, &host, 7);
    assert_int_equal(pm_ledger_pool_live_bytes(&ledger, PM_POOLS_MAX), 0);
    assert_int_equal(pm_ledger_live_bytes(NULL), 0);
    assert_int_equal(pm_ledger_peak_bytes(NULL), 0);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 50);
}

static void the_log_tells_who_and_where(void **state) {
    (void)state;
    struct pm_ledger_entry entries[N_ENTRIES];
    struct pm_ledger ledger = {.log = {.entries = entries, .n_entries_max = N_ENTRIES}};
    void *plain = NULL, *secret = NULL;
    assert_int_equal(pm_memory_alloc(&ledger, "plain", 100, PM_MEMORY_PLAIN, &plain, NULL), PM_OK);
    const uint32_t line = __LINE__ - 1;
    const struct pm_ledger_note note = {.name = "secret",
                                        .file = "elsewhere.c",
                                        .line = 7,
                                        .plan_line = 3,
                                        .step = 5,
                                        .pool = PM_POOL_VRAM_0, /* replaced: it is host memory */
                                        .in_device_lock = true};
    assert_int_equal(
        pm_memory_alloc_array_noted(&ledger, &note, 4, 25, PM_MEMORY_SECRET, &secret, NULL), PM_OK);
    pm_memory_free(plain);
    pm_memory_free_noted(secret, 9, false);

    assert_int_equal(ledger.log.n_entries, 4);
    assert_int_equal(ledger.log.n_lost, 0);
    const struct pm_ledger_entry *first = &entries[0];
    assert_string_equal(first->note.name, "plain");
    assert_non_null(strstr(first->note.file, "test_ledger.c"));
    assert_int_equal(first->note.file[0] == '/', 0); /* where the tree lies is nobody's business */
    assert_int_equal(first->note.line, line);
    assert_int_equal(first->note.plan_line, PM_LEDGER_UNPLANNED);
    assert_int_equal(first->note.step, PM_LEDGER_NO_STEP);
    assert_int_equal(first->note.mechanism, PM_BY_HEAP);
    assert_false(first->released);
    assert_int_equal(first->bytes, 100);
    assert_int_equal(first->live_bytes, 100);

    const struct pm_ledger_entry *second = &entries[1];
    assert_string_equal(second->note.file, "elsewhere.c");
    assert_int_equal(second->note.line, 7);
    assert_int_equal(second->note.plan_line, 3);
    assert_int_equal(second->note.step, 5);
    assert_int_equal(second->note.pool, PM_POOL_HOST);
    assert_int_equal(second->note.mechanism, PM_BY_MMAP);
    assert_true(second->note.in_device_lock);
    assert_int_equal(second->live_bytes, 200);

    assert_true(entries[2].released);
    assert_int_equal(entries[2].note.line, line);
    assert_int_equal(entries[2].live_bytes, 100);
    assert_true(entries[3].released);
    assert_int_equal(entries[3].note.line, 7);
    assert_int_equal(entries[3].note.plan_line, 3);
    assert_int_equal(entries[3].note.step, 9);
    assert_false(entries[3].note.in_device_lock);
    assert_int_equal(entries[3].live_bytes, 0);
    for (size_t i = 1; i < 4; i++) {
        assert_true(entries[i].at_ns >= entries[i - 1].at_ns);
    }
}

static void what_does_not_fit_the_log_is_counted(void **state) {
    (void)state;
    struct pm_ledger_entry entries[3];
    struct pm_ledger ledger = {.log = {.entries = entries, .n_entries_max = 2}};
    memset(entries, 0x5a, sizeof entries);
    const struct pm_ledger_note note = {.name = "buffer"};
    for (int i = 0; i < 5; i++) {
        pm_ledger_allocated(&ledger, &note, 10);
    }
    assert_int_equal(ledger.log.n_entries, 2);
    assert_int_equal(ledger.log.n_lost, 3);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 50);
    for (size_t i = 0; i < sizeof entries[2]; i++) {
        assert_int_equal(((const unsigned char *)&entries[2])[i], 0x5a);
    }
}

static void mechanism_is_as_foretold(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 4096, 262143, 262144, 1000000};
    struct pm_ledger_entry entries[N_ENTRIES];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int secret = 0; secret < 2; secret++) {
            const enum pm_memory_flags flags = secret ? PM_MEMORY_SECRET : PM_MEMORY_PLAIN;
            struct pm_ledger ledger = {.log = {.entries = entries, .n_entries_max = N_ENTRIES}};
            void *buffer = NULL;
            assert_int_equal(pm_memory_alloc(&ledger, "x", sizes[i], flags, &buffer, NULL), PM_OK);
            assert_int_equal(entries[0].note.mechanism, pm_memory_mechanism(sizes[i], flags));
            pm_memory_free(buffer);
            assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
        }
    }
    assert_int_equal(pm_memory_mechanism(1, PM_MEMORY_PLAIN), PM_BY_HEAP);
    assert_int_equal(pm_memory_mechanism(1, PM_MEMORY_SECRET), PM_BY_MMAP);
    assert_int_equal(pm_memory_mechanism(1 << 20, PM_MEMORY_PLAIN), PM_BY_MMAP);
}

static void a_failed_allocation_is_not_entered(void **state) {
    (void)state;
    struct pm_ledger_entry entries[N_ENTRIES];
    struct pm_ledger ledger = {.log = {.entries = entries, .n_entries_max = N_ENTRIES}};
    void *buffer = NULL;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(
        pm_memory_alloc(&ledger, "huge", UINT64_C(1) << 60, PM_MEMORY_PLAIN, &buffer, &error),
        PM_NO_MEMORY);
    assert_non_null(strstr(error.message, "huge"));
    assert_int_equal(ledger.log.n_entries, 0);
    assert_int_equal(ledger.n_allocations, 0);
}

#define N_THREADS 4
#define N_ROUNDS 500

static void *allocate_and_free(void *argument) {
    for (int i = 0; i < N_ROUNDS; i++) {
        void *buffer = NULL;
        if (pm_memory_alloc(argument, "thread", 48, PM_MEMORY_PLAIN, &buffer, NULL) == PM_OK) {
            pm_memory_free_noted(buffer, 1, false);
        }
    }
    return NULL;
}

/* Each entry's live bytes follow from the one before it: nobody else's entry came between a total
 * and its line in the log. */
static void threads_share_one_log(void **state) {
    (void)state;
    static struct pm_ledger_entry entries[2 * N_THREADS * N_ROUNDS];
    struct pm_ledger ledger = {
        .log = {.entries = entries, .n_entries_max = 2 * N_THREADS * N_ROUNDS}};
    pthread_t threads[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, &ledger), 0);
    }
    (void)pm_ledger_live_bytes(&ledger); /* reading while others write is allowed */
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(ledger.log.n_entries, 2 * N_THREADS * N_ROUNDS);
    uint64_t live_bytes = 0;
    for (uint32_t i = 0; i < ledger.log.n_entries; i++) {
        live_bytes += entries[i].released ? -entries[i].bytes : entries[i].bytes;
        assert_int_equal(entries[i].live_bytes, live_bytes);
    }
    assert_int_equal(live_bytes, 0);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pool_and_mechanism_has_a_name),
        cmocka_unit_test(pools_are_counted_apart),
        cmocka_unit_test(the_log_tells_who_and_where),
        cmocka_unit_test(what_does_not_fit_the_log_is_counted),
        cmocka_unit_test(mechanism_is_as_foretold),
        cmocka_unit_test(a_failed_allocation_is_not_entered),
        cmocka_unit_test(threads_share_one_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
