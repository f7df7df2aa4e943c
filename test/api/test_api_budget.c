/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Budgets and the machine's memory as a caller sees them; what proofs do with a budget is in
 * test_pending.c, how it is shared in test/base/test_budget.c. */
#include "base/budget.h"

#include <proofmill/experimental.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void by_default_what_is_free_less_a_twentieth(void **state) {
    (void)state;
    pm_host_memory memory = {0};
    pm_budget *budget = NULL;
    assert_int_equal(pm_host_memory_now(NULL, &memory), PM_OK);
    assert_true(memory.free_bytes > 0 && memory.free_bytes <= memory.total_bytes);
    assert_true(strlen(memory.bound) > 0);
    assert_int_equal(pm_budget_create(NULL, &budget, NULL), PM_OK);
    /* Others take and give memory between the two looks. */
    const uint64_t bytes = pm_budget_host_bytes(budget);
    assert_in_range(bytes, memory.free_bytes / 2, memory.total_bytes - memory.total_bytes / 20);
    assert_int_equal(pm_budget_reserved_bytes(budget), 0);
    pm_budget_destroy(budget);
}

static void pools_are_as_asked_for(void **state) {
    (void)state;
    pm_budget *budget = NULL;
    pm_budget_options options = {.struct_bytes = sizeof options, .host_bytes = 1000};
    assert_int_equal(pm_budget_create(&options, &budget, NULL), PM_OK);
    assert_int_equal(pm_budget_host_bytes(budget), 1000);
    assert_true(budget->total_bytes[PM_POOL_PINNED] == PM_BUDGET_UNLIMITED);
    assert_true(budget->total_bytes[PM_POOL_FILE] == PM_BUDGET_UNLIMITED);
    assert_true(budget->total_bytes[PM_POOL_CALLER] == PM_BUDGET_UNLIMITED);
    assert_true(budget->total_bytes[PM_POOL_VRAM_0] == PM_BUDGET_UNLIMITED);
    pm_budget_destroy(budget);

    options.pinned_bytes = 200;
    options.vram_bytes = 30;
    assert_int_equal(pm_budget_create(&options, &budget, NULL), PM_OK);
    assert_int_equal(budget->total_bytes[PM_POOL_PINNED], 200);
    assert_int_equal(budget->total_bytes[PM_POOL_VRAM_0], 30);
    assert_int_equal(budget->total_bytes[PM_POOLS_MAX - 1], 30);
    pm_budget_destroy(budget);

    /* An older caller, whose struct ends before vram_bytes. */
    options.struct_bytes = offsetof(pm_budget_options, vram_bytes);
    assert_int_equal(pm_budget_create(&options, &budget, NULL), PM_OK);
    assert_true(budget->total_bytes[PM_POOL_VRAM_0] == PM_BUDGET_UNLIMITED);
    pm_budget_destroy(budget);
}

static void reserved_bytes_are_the_hosts(void **state) {
    (void)state;
    pm_budget *budget = NULL;
    struct pm_reservation reservation = {0};
    const pm_budget_options options = {.struct_bytes = sizeof options, .host_bytes = 1000};
    uint64_t bytes[PM_POOLS_MAX] = {0};
    bytes[PM_POOL_HOST] = 300;
    bytes[PM_POOL_VRAM_0] = 7;
    assert_int_equal(pm_budget_create(&options, &budget, NULL), PM_OK);
    assert_int_equal(pm_budget_try(budget, bytes, &reservation, NULL), PM_OK);
    assert_int_equal(pm_budget_reserved_bytes(budget), 300);
    pm_reservation_release(&reservation);
    assert_int_equal(pm_budget_reserved_bytes(budget), 0);
    pm_budget_destroy(budget);
}

static void a_machine_may_be_made_up(void **state) {
    (void)state;
    char root[] = "/tmp/proofmill-machine-XXXXXX", path[64];
    pm_host_memory memory = {0};
    assert_non_null(mkdtemp(root));
    assert_int_equal(pm_host_memory_now(root, &memory), PM_OK);
    assert_true(memory.free_bytes == UINT64_MAX);
    assert_string_equal(memory.bound, "none");
    (void)snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fputs("MemTotal: 20 kB\nMemAvailable: 10 kB\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(pm_host_memory_now(root, &memory), PM_OK);
    assert_int_equal(memory.free_bytes, 10 * 1024);
    assert_int_equal(memory.total_bytes, 20 * 1024);
    assert_string_equal(memory.bound, "MemAvailable");
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(root), 0);
}

static void null_is_refused_or_nothing(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_budget_create(NULL, NULL, &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_host_memory_now(NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_budget_host_bytes(NULL), 0);
    assert_int_equal(pm_budget_reserved_bytes(NULL), 0);
    pm_budget_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_default_what_is_free_less_a_twentieth),
        cmocka_unit_test(pools_are_as_asked_for),
        cmocka_unit_test(reserved_bytes_are_the_hosts),
        cmocka_unit_test(a_machine_may_be_made_up),
        cmocka_unit_test(null_is_refused_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
