/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The engine with every allocation, thread and file operation of ours failing in turn, from its
 * creation to its end, and while a damaged journal is salvaged: each call answers with a status, a
 * job that was accepted ends, a proof that is given out holds, and nothing is left.
 */
#include "fault/fault_interposer.h"

#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <proofmill/engine.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    enum fault_function function;
    int reason;
} faults[] = {{FAULT_posix_memalign, ENOMEM},
              {FAULT_mmap, ENOMEM},
              {FAULT_pthread_create, EAGAIN},
              {FAULT_getrandom, EIO},
              {FAULT_open, EMFILE},
              {FAULT_fstat, EIO},
              {FAULT_pread, EIO},
              {FAULT_write, ENOSPC},
              {FAULT_fsync, EIO}};

static pm_context *context;
static pm_vk *vk;
static char key_path[PM_TEST_PATH_MAX];
static char *witness;
static size_t witness_bytes;

static int open_all(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    pm_key *key = NULL;
    context = toy_context(1, PM_ARITHMETIC_BEST);
    (void)pm_data_path(key_path, "mult3/mult3.zkey");
    assert_int_equal(pm_key_open(context, key_path, NULL, NULL, &key, NULL), PM_OK);
    assert_int_equal(pm_vk_from_key(context, key, &vk, NULL), PM_OK);
    pm_key_destroy(key);
    witness = pm_test_read_file(pm_data_path(path, "mult3/mult3.wtns"), &witness_bytes);
    return witness != NULL ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    free(witness);
    pm_vk_destroy(vk);
    pm_context_destroy(context);
    return 0;
}

/* Whatever the reason of a refusal, it is said. */
static bool went_well(pm_status status, pm_error *error) {
    if (status == PM_OK) {
        return true;
    }
    assert_int_equal(error->status, status);
    assert_true(error->message[0] != '\0');
    assert_int_not_equal(status, PM_INTERNAL);
    *error = (pm_error)PM_ERROR_INIT;
    return false;
}

static void prove_one(pm_engine *engine, uint32_t *n_done) {
    const pm_engine_input input = {.bytes = witness, .n_bytes = witness_bytes};
    const pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "mult3", .inputs = &input, .n_inputs = 1};
    pm_error error = PM_ERROR_INIT;
    pm_engine_job info;
    pm_proof proof;
    uint8_t publics[8 * PM_FR_BYTES];
    uint64_t job;
    if (!went_well(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), &error)) {
        return;
    }
    toy_expect(pm_engine_await(engine, job, 60000, NULL, &info, &error), PM_OK, &error);
    if (info.state != PM_ENGINE_DONE) {
        assert_int_equal(info.state, PM_ENGINE_FAILED);
        assert_true(info.message[0] != '\0');
        return;
    }
    toy_expect(pm_engine_result(engine, job, 0, 1, &proof, publics, &error), PM_OK, &error);
    pm_status status = pm_verify(context, vk, publics, pm_vk_n_public(vk), &proof, &error);
    if (status == PM_NO_MEMORY) { /* it was this call's turn */
        status = pm_verify(context, vk, publics, pm_vk_n_public(vk), &proof, &error);
    }
    toy_expect(status, PM_OK, &error);
    ++*n_done;
}

/* From beginning to end. Returns how many proofs were given out. */
static uint32_t run_engine(const char *journal) {
    const pm_engine_device cpu = {.struct_bytes = sizeof cpu, .threads = 1};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 1,
                                       .devices = &cpu,
                                       .host_bytes = 64 << 20,
                                       .journal_path = journal,
                                       .retry_ms = 1};
    const pm_engine_key key = {.struct_bytes = sizeof key, .name = "mult3", .path = key_path};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_done = 0;
    if (!went_well(pm_engine_create(&options, &engine, &error), &error)) {
        assert_null(engine);
        return 0;
    }
    if (went_well(pm_engine_key_register(engine, &key, NULL, &error), &error)) {
        prove_one(engine, &n_done);
        (void)went_well(pm_engine_key_evict(engine, "mult3", 0, NULL, &error), &error);
        prove_one(engine, &n_done);
    }
    pm_engine_destroy(engine);
    return n_done;
}

/* One run under the plan, which leaves nothing behind. */
static struct fault_count run_with_fault(const struct fault_plan *plan, const char *journal,
                                         uint32_t *n_good) {
    const struct fault_live before = fault_live_now();
    fault_arm(plan);
    *n_good += run_engine(journal);
    const struct fault_count count = fault_disarm();
    const struct fault_live after = fault_live_now();
    assert_int_equal(after.heap_blocks, before.heap_blocks);
    assert_int_equal(after.mapped_bytes, before.mapped_bytes);
    return count;
}

static void every_call_may_fail(bool with_journal) {
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
        uint32_t n_faults = 0, n_good = 0;
        uint64_t n = 1;
        /* Threads meet their calls in any order: until two runs in a row have met no fault. */
        for (uint32_t n_without = 0; n_without < 2; ++n) {
            const struct fault_plan plan = {
                .function = faults[f].function, .at = n, .reason = faults[f].reason};
            char *tree = file_make_tree();
            const char *journal = with_journal ? file_in_tree(tree, "journal") : NULL;
            if (with_journal) { /* so that there is something to take over */
                assert_int_equal(run_engine(journal), 2);
            }
            const struct fault_count count = run_with_fault(&plan, journal, &n_good);
            n_without = count.n_faults == 0 ? n_without + 1 : 0;
            n_faults += count.n_faults != 0;
            file_remove_tree(tree);
        }
        print_message("  %s: %u faults, %u proofs all the same\n",
                      fault_function_name(faults[f].function), n_faults, n_good);
        assert_true(n_good >= 4);
    }
}

static void every_call_may_fail_in_memory(void **state) {
    (void)state;
    every_call_may_fail(false);
}

static void every_call_may_fail_with_a_journal(void **state) {
    (void)state;
    every_call_may_fail(true);
}

/* ---- A journal that is salvaged -------------------------------------------------------------- */

/* The first page of its database is not what it was. */
static void damage(const char *journal) {
    char path[1300];
    size_t n_bytes = 0;
    (void)snprintf(path, sizeof path, "%s/journal.db", journal);
    char *bytes = pm_test_read_file(path, &n_bytes);
    assert_true(n_bytes >= 8192);
    memset(bytes, 0xa5, 4096);
    file_write(path, bytes, n_bytes);
    free(bytes);
}

static bool salvage_once(const char *journal, pm_engine_salvaged *salvaged) {
    uint64_t lost[8];
    uint32_t n_lost = 8;
    pm_error error = PM_ERROR_INIT;
    *salvaged = (pm_engine_salvaged){.struct_bytes = sizeof *salvaged};
    return went_well(pm_engine_salvage(journal, salvaged, lost, &n_lost, &error), &error);
}

/* One that fails leaves the damaged journal, which can be salvaged again, or the salvaged one.
 * What cannot be read counts as damaged. */
static void every_call_may_fail_while_salvaging(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
        uint32_t n_faults = 0, n_failed = 0;
        for (uint64_t n = 1, n_hits = 1; n_hits != 0; ++n) {
            const struct fault_plan plan = {
                .function = faults[f].function, .at = n, .reason = faults[f].reason};
            char *tree = file_make_tree();
            const char *journal = file_in_tree(tree, "journal");
            pm_engine_salvaged salvaged;
            assert_int_equal(run_engine(journal), 2);
            damage(journal);
            const struct fault_live before = fault_live_now();
            fault_arm(&plan);
            const bool is_good = salvage_once(journal, &salvaged);
            n_hits = fault_disarm().n_faults;
            const struct fault_live after = fault_live_now();
            assert_int_equal(after.heap_blocks, before.heap_blocks);
            n_faults += n_hits != 0;
            n_failed += !is_good;
            assert_true(is_good || n_hits != 0);
            if (!is_good) {
                assert_true(salvage_once(journal, &salvaged));
            }
            if (faults[f].function != FAULT_pread && salvaged.was_damaged) {
                assert_int_equal(salvaged.n_jobs, 2);
                assert_int_equal(salvaged.n_lost, 0);
            }
            assert_int_equal(run_engine(journal), 2);
            file_remove_tree(tree);
        }
        print_message("  %s: %u faults, %u times it failed\n",
                      fault_function_name(faults[f].function), n_faults, n_failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_may_fail_in_memory),
        cmocka_unit_test(every_call_may_fail_with_a_journal),
        cmocka_unit_test(every_call_may_fail_while_salvaging),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
