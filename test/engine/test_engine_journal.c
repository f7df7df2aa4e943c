/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is on disk: restarts, full disks, damage, clocks that jump, inputs that are stored and
 * wiped. Reports A7, F12, F15. Kills are in test_engine_kill.c.
 */
#include "engine_case.h"
#include "engine_vfs.h"

#include "base/clock.h"
#include "engine/journal.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
/* Where many proofs are made: with sanitizers a smaller circuit. */
#define QUICK (PM_TEST_IS_SANITIZED ? MULT3 : MIMC)

static struct circuits circuits;

static int open_all(void **state) {
    (void)state;
    engine_vfs_install();
    circuits_open(PM_TEST_IS_SANITIZED ? 8 : 14, &circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

static pm_status try_open(const char *folder, pm_engine_options options,
                          const struct pm_engine_hooks *hooks, pm_engine **engine,
                          pm_error *error) {
    options.struct_bytes = sizeof options;
    options.host_bytes = 256 * MIB;
    options.journal_path = folder;
    options.retry_ms = 1;
    return pm_engine_create_with(&options, hooks, engine, error);
}

/* With the keys that the journal remembers, or all of them. */
static pm_engine *open_on(const char *folder, pm_engine_options options) {
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t n = 0;
    toy_expect(try_open(folder, options, NULL, &engine, &error), PM_OK, &error);
    assert_int_equal(pm_engine_keys(engine, NULL, &n), PM_OK);
    if (n == 0) {
        circuits_register(&circuits, engine);
    } else {
        assert_int_equal(n, N_CIRCUITS);
    }
    return engine;
}

/* SQL on the journal of an engine that is gone. */
static void run_sql(const char *folder, const char *sql) {
    char path[1300];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/journal.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static uint32_t count_inputs(const char *folder) {
    DIR *entries = opendir(folder);
    uint32_t n = 0;
    assert_non_null(entries);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        n += strncmp(e->d_name, "input-", 6) == 0;
    }
    (void)closedir(entries);
    return n;
}

static void one_result(pm_engine *engine, uint64_t job, pm_proof *proof) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_result(engine, job, 0, 1, proof, NULL, &error), PM_OK, &error);
}

/* F15: after a restart a request that is known is answered with its stored proof. */
static void F15_results_outlive_the_engine(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    pm_proof before, after;
    uint64_t again;
    int known = 0;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_HIGH, "porep");
    expect_valid(engine, &circuits, MIMC, job);
    one_result(engine, job, &before);
    const pm_engine_job told = await_job(engine, job);
    pm_engine_destroy(engine);
    engine = open_on(folder, (pm_engine_options){0});
    expect_valid(engine, &circuits, MIMC, job);
    toy_expect(try_submit(engine, &circuits, MIMC, PM_ENGINE_HIGH, "porep", &again, &known, &error),
               PM_OK, &error);
    assert_int_equal(again, job);
    assert_int_equal(known, 1);
    one_result(engine, again, &after);
    assert_memory_equal(&before, &after, sizeof before);
    toy_expect(
        try_submit(engine, &circuits, MULT3, PM_ENGINE_HIGH, "porep", &again, &known, &error),
        PM_INVALID_ARGUMENT, &error);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_proofs, 0);
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.priority, PM_ENGINE_HIGH);
    assert_true(info.accepted_ms == told.accepted_ms && info.ended_ms == told.ended_ms);
    assert_string_equal(info.request_id, "porep");
    /* Numbers go on. */
    assert_true(submit_one(engine, &circuits, MULT3, PM_ENGINE_LOW, NULL) > job);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

static void a_stop_loses_nothing(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    uint64_t jobs[12];
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    for (uint32_t i = 0; i < 12; ++i) {
        jobs[i] = submit_one(engine, &circuits, i % 3 == 0 ? LONG : QUICK, PM_ENGINE_NORMAL, NULL);
    }
    /* More often than a job that ends its engine would be tried. */
    for (uint32_t i = 0; i < PM_ENGINE_BEGUN_MAX + 2; ++i) {
        test_sleep_ms(15);
        pm_engine_destroy(engine);
        engine = open_on(folder, (pm_engine_options){0});
    }
    for (uint32_t i = 0; i < 12; ++i) {
        expect_valid(engine, &circuits, i % 3 == 0 ? LONG : QUICK, jobs[i]);
    }
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* A job in whose middle engines keep ending is given up, and says so. */
static void a_deadly_job_is_given_up(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    char sql[128];
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    for (uint32_t i = 0; i < 6; ++i) {
        (void)submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    }
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_LOW, NULL);
    pm_engine_destroy(engine);
    (void)snprintf(sql, sizeof sql, "UPDATE job SET n_begun=%d WHERE id=%llu", PM_ENGINE_BEGUN_MAX,
                   (unsigned long long)job);
    run_sql(folder, sql);
    engine = open_on(folder, (pm_engine_options){0});
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_non_null(strstr(info.message, "ended several times"));
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* A wish to stop ends the opening of keys, and none of them counts as lost for that. */
static void opening_ends_when_asked(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    uint64_t jobs[4];
    for (uint32_t i = 0; i < 4; ++i) {
        jobs[i] = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    }
    pm_engine_destroy(engine);
    const int is_wished = 1;
    const pm_control wishing = {.struct_bytes = sizeof wishing, .cancel = &is_wished};
    const pm_control late = {.struct_bytes = sizeof late, .deadline_ns = 1};
    pm_error error = PM_ERROR_INIT;
    engine = NULL;
    toy_expect(try_open(folder, (pm_engine_options){.control = &wishing}, NULL, &engine, &error),
               PM_CANCELLED, &error);
    toy_expect(try_open(folder, (pm_engine_options){.control = &late}, NULL, &engine, &error),
               PM_DEADLINE, &error);
    assert_null(engine);
    engine = open_on(folder, (pm_engine_options){0});
    for (uint32_t i = 0; i < 4; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

static void one_engine_at_a_time(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_engine *engine = open_on(folder, (pm_engine_options){0}), *other = NULL;
    pm_error error = PM_ERROR_INIT;
    struct stat facts;
    toy_expect(try_open(folder, (pm_engine_options){0}, NULL, &other, &error), PM_IO, &error);
    assert_non_null(strstr(error.message, "another engine"));
    assert_int_equal(stat(folder, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    assert_int_equal(stat(file_in_tree(tree, "journal/journal.db"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(stat(file_in_tree(tree, "journal/journal.db-wal"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    pm_engine_destroy(engine);
    toy_expect(
        try_open(file_in_tree(tree, "no/such"), (pm_engine_options){0}, NULL, &other, &error),
        PM_IO, &error);
    file_remove_tree(tree);
}

enum { N_AT_ONCE = 100 };

struct submitter {
    pm_engine *engine;
    uint64_t job;
    char request_id[32];
};

static void *submit_at_once(void *argument) {
    struct submitter *submitter = argument;
    if (try_submit(submitter->engine, &circuits, MULT3, PM_ENGINE_NORMAL, submitter->request_id,
                   &submitter->job, NULL, NULL) != PM_OK) {
        submitter->job = 0;
    }
    return NULL;
}

/* Report F12: a hundred submit at the same time, four each with the same request id. */
static void F12_a_hundred_at_once(void **state) {
    (void)state;
    char *tree = file_make_tree();
    pm_engine *engine = open_on(file_in_tree(tree, "journal"), (pm_engine_options){0});
    struct submitter submitters[N_AT_ONCE];
    pthread_t threads[N_AT_ONCE];
    pm_engine_metrics metrics;
    const uint64_t began_ns = pm_clock_now_ns();
    for (uint32_t i = 0; i < N_AT_ONCE; ++i) {
        submitters[i] = (struct submitter){.engine = engine};
        (void)snprintf(submitters[i].request_id, sizeof submitters[i].request_id, "at-once-%u",
                       i / 4);
        assert_int_equal(pthread_create(&threads[i], NULL, submit_at_once, &submitters[i]), 0);
    }
    for (uint32_t i = 0; i < N_AT_ONCE; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    print_message("  %d submits in %llu ms\n", N_AT_ONCE,
                  (unsigned long long)((pm_clock_now_ns() - began_ns) / 1000000));
    for (uint32_t i = 0; i < N_AT_ONCE; ++i) {
        assert_int_not_equal(submitters[i].job, 0);
        assert_int_equal(submitters[i].job, submitters[i / 4 * 4].job);
        assert_true(i % 4 != 0 || i == 0 || submitters[i].job != submitters[i - 4].job);
        expect_valid(engine, &circuits, MULT3, submitters[i].job);
    }
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_proofs, N_AT_ONCE / 4);
    assert_int_equal(metrics.n_known, N_AT_ONCE - N_AT_ONCE / 4);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* ---- Stored inputs -------------------------------------------------------------------------- */

static pm_status submit_bytes(pm_engine *engine, enum circuit circuit, uint64_t *job,
                              pm_error *error) {
    size_t n_bytes = 0;
    char *bytes = pm_test_read_file(circuits.witness_path[circuit], &n_bytes);
    const pm_engine_input input = {.bytes = bytes, .n_bytes = n_bytes};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[circuit],
                                       .inputs = &input,
                                       .n_inputs = 1};
    const pm_status status = pm_engine_submit(engine, &request, NULL, job, NULL, error);
    free(bytes);
    return status;
}

static void expect_private_inputs(const char *folder) {
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        struct stat facts;
        if (strncmp(e->d_name, "input-", 6) == 0 &&
            fstatat(dirfd(entries), e->d_name, &facts, 0) == 0) {
            assert_int_equal(facts.st_mode & 0777, 0600);
        }
    }
    (void)closedir(entries);
}

static void stored_inputs_are_private_and_go(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    struct stat facts;
    uint64_t jobs[4], job;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(stat(circuits.witness_path[LONG], &facts), 0);
    const uint64_t quota = 4 * (uint64_t)facts.st_size + 100;
    pm_engine *engine = open_on(folder, (pm_engine_options){.stored_bytes_max = quota});
    for (uint32_t i = 0; i < 4; ++i) {
        toy_expect(submit_bytes(engine, LONG, &jobs[i], &error), PM_OK, &error);
    }
    pm_status status = submit_bytes(engine, LONG, &job, &error);
    assert_true(status == PM_BUDGET_BUSY || status == PM_OK);
    assert_true(count_inputs(folder) >= 1);
    expect_private_inputs(folder);
    pm_engine_destroy(engine);
    /* They outlive the engine, and count against the quota of the next one. */
    assert_true(count_inputs(folder) >= 1);
    file_write(file_in_tree(tree, "journal/input-0123456789abcdef0123456789abcdef"), "secret", 6);
    engine = open_on(folder, (pm_engine_options){.stored_bytes_max = quota});
    assert_int_equal(
        access(file_in_tree(tree, "journal/input-0123456789abcdef0123456789abcdef"), F_OK), -1);
    for (uint32_t i = 0; i < 4; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    toy_expect(pm_engine_drain(engine, 0, &error), PM_OK, &error);
    pm_engine_metrics metrics;
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.stored_bytes, 0);
    assert_int_equal(count_inputs(folder), 0);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* ---- The disk ------------------------------------------------------------------------------- */

/* On a full disk nothing is accepted, what has been proved is not told, and once there is room
 * again everything goes on. */
static void a_full_disk_is_survived(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    uint64_t other;
    const uint64_t job = submit_one(engine, &circuits, LONG, PM_ENGINE_NORMAL, "full");
    engine_vfs_set_full(true);
    toy_expect(try_submit(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "more", &other, NULL, &error),
               PM_IO, &error);
    assert_non_null(strstr(error.message, "full"));
    do {
        test_sleep_ms(10);
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    } while (metrics.n_proofs == 0 || !metrics.journal_is_failing);
    toy_expect(pm_engine_await(engine, job, 300, NULL, NULL, &error), PM_DEADLINE, &error);
    pm_proof proof;
    toy_expect(pm_engine_result(engine, job, 0, 1, &proof, NULL, &error), PM_BUDGET_BUSY, &error);
    toy_expect(try_submit(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "more", &other, NULL, &error),
               PM_IO, &error);
    engine_vfs_set_full(false);
    expect_valid(engine, &circuits, LONG, job);
    other = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, "more");
    expect_valid(engine, &circuits, MIMC, other);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.journal_is_failing, 0);
    assert_int_equal(metrics.n_proofs, 2);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* So is one that does not take an input: whoever watches is told, and told when it does again. */
static void an_input_that_is_not_stored_is_told(void **state) {
    (void)state;
    char *tree = file_make_tree();
    pm_error error = PM_ERROR_INIT;
    pm_engine_metrics metrics;
    struct rlimit limit;
    pm_engine *engine = open_on(file_in_tree(tree, "journal"), (pm_engine_options){0});
    const size_t n_bytes = 16 << 20;
    uint8_t *bytes = calloc(1, n_bytes);
    memcpy(bytes, "wtns", 4);
    const pm_engine_input input = {.bytes = bytes, .n_bytes = n_bytes};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[MULT3],
                                       .inputs = &input,
                                       .n_inputs = 1};
    uint64_t job;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = n_bytes / 2, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_IO, &error);
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.journal_is_failing, 1);
    assert_int_equal(metrics.stored_bytes, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, before);
    for (int tries = 0; tries < 3000 && metrics.journal_is_failing != 0; ++tries) {
        test_sleep_ms(10);
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    }
    assert_int_equal(metrics.journal_is_failing, 0);
    expect_valid(engine, &circuits, MULT3,
                 submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    free(bytes);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* A key that the journal cannot replace or forget stays what it was, at once and later. */
static void a_full_disk_takes_no_key(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_error error = PM_ERROR_INIT;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    uint32_t n_before = 0, n = 0;
    assert_int_equal(pm_engine_keys(engine, NULL, &n_before), PM_OK);
    const pm_engine_key other = {.struct_bytes = sizeof other,
                                 .name = circuits.name[MULT3],
                                 .path = circuits.key_path[MULT3],
                                 .check = PM_CHECK_FULL};
    engine_vfs_set_full(true);
    toy_expect(pm_engine_key_register(engine, &other, NULL, &error), PM_IO, &error);
    toy_expect(pm_engine_key_forget(engine, other.name, &error), PM_IO, &error);
    engine_vfs_set_full(false);
    expect_valid(engine, &circuits, MULT3,
                 submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    toy_expect(pm_engine_drain(engine, 0, &error), PM_OK, &error);
    toy_expect(pm_engine_key_register(engine, &other, NULL, &error), PM_OK, &error);
    toy_expect(pm_engine_key_forget(engine, other.name, &error), PM_OK, &error);
    assert_int_equal(pm_engine_keys(engine, NULL, &n), PM_OK);
    assert_int_equal(n, n_before - 1);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* Into a journal that is where no later engine looks nothing is accepted. */
static void a_journal_that_was_moved_takes_no_job(void **state) {
    (void)state;
    char *tree = file_make_tree();
    char moved[1200];
    const char *folder = file_in_tree(tree, "journal");
    (void)snprintf(moved, sizeof moved, "%s-elsewhere", folder);
    pm_error error = PM_ERROR_INIT;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    uint64_t job;
    int known;
    const uint64_t before = submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL);
    expect_valid(engine, &circuits, MULT3, before);
    assert_int_equal(rename(folder, moved), 0);
    toy_expect(try_submit(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL, &job, &known, &error),
               PM_IO, &error);
    assert_non_null(strstr(error.message, "removed or moved"));
    pm_engine_metrics metrics;
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.journal_is_failing, 1);
    assert_int_equal(rename(moved, folder), 0);
    do { /* it finds out by itself */
        test_sleep_ms(20);
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    } while (metrics.journal_is_failing);
    expect_valid(engine, &circuits, MULT3,
                 submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* A page of the journal is not what it was: said at once, with the folder, and nothing is begun. */
static void a_corrupt_page_is_said(void **state) {
    (void)state;
    char *tree = file_make_tree();
    char folder[1200], path[1300];
    (void)snprintf(folder, sizeof folder, "%s/journal", tree);
    (void)snprintf(path, sizeof path, "%s/journal.db", folder);
    pm_error error = PM_ERROR_INIT;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    for (uint32_t i = 0; i < 40; ++i) {
        (void)submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL);
    }
    toy_expect(pm_engine_drain(engine, 0, &error), PM_OK, &error);
    pm_engine_destroy(engine);
    size_t n_bytes = 0;
    char *bytes = pm_test_read_file(path, &n_bytes);
    uint32_t n_refused = 0;
    assert_true(n_bytes >= 4 * 4096);
    for (size_t page = 0; page < n_bytes / 4096; ++page) {
        char *damaged = malloc(n_bytes);
        memcpy(damaged, bytes, n_bytes);
        memset(damaged + page * 4096, 0xa5, 512);
        file_write(path, damaged, n_bytes);
        free(damaged);
        const pm_status status = try_open(folder, (pm_engine_options){0}, NULL, &engine, &error);
        if (status == PM_OK) { /* a page that holds nothing now */
            pm_engine_destroy(engine);
            continue;
        }
        toy_expect(status, PM_ENCODING, &error);
        assert_non_null(strstr(error.message, "damaged"));
        assert_non_null(strstr(error.file, "journal"));
        ++n_refused;
    }
    print_message("  %u of %zu damaged pages are refused\n", n_refused, n_bytes / 4096);
    assert_true(n_refused >= n_bytes / 4096 / 2);
    file_write(path, bytes, n_bytes);
    free(bytes);
    engine = open_on(folder, (pm_engine_options){0});
    expect_valid(engine, &circuits, MULT3, 1);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* A row that was changed where SQLite cannot see it has a broken seal: a job that was done is
 * failed then, and one that was not fails; the others are as they were. */
static void a_broken_seal_is_seen(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    for (uint32_t i = 0; i < 3; ++i) {
        expect_valid(engine, &circuits, MULT3,
                     submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    }
    for (uint32_t i = 0; i < 8; ++i) {
        (void)submit_one(engine, &circuits, LONG, PM_ENGINE_HIGH, NULL);
    }
    const uint64_t last = submit_one(engine, &circuits, MULT3, PM_ENGINE_LOW, NULL);
    pm_engine_destroy(engine);
    run_sql(folder, "UPDATE part SET proof=zeroblob(length(proof)) WHERE job=2");
    run_sql(folder, "UPDATE part SET path='/etc/passwd' WHERE job=(SELECT max(id) FROM job)");
    engine = open_on(folder, (pm_engine_options){0});
    expect_valid(engine, &circuits, MULT3, 1);
    expect_valid(engine, &circuits, MULT3, 3);
    assert_int_equal(await_job(engine, 2).state, PM_ENGINE_FAILED);
    toy_expect(pm_engine_result(engine, 2, 0, 1, &proof, NULL, &error), PM_INTERNAL, &error);
    const pm_engine_job info = await_job(engine, last);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_non_null(strstr(info.message, "damaged"));
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* What was spent on a job, and where, is told after a restart too; what a journal of format 1 does
 * not have is told as zeros, and it is taken over as it stands. */
static void times_outlive_the_engine(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    const pm_engine_job before = await_job(engine, job);
    assert_true(before.prove_ns != 0 && before.device == 0);
    pm_engine_destroy(engine);
    engine = open_on(folder, (pm_engine_options){0});
    pm_engine_job after = await_job(engine, job);
    assert_true(after.queue_ns == before.queue_ns && after.key_ns == before.key_ns);
    assert_true(after.prepare_ns == before.prepare_ns && after.prove_ns == before.prove_ns);
    assert_true(after.finish_ns == before.finish_ns && after.total_ns == before.total_ns);
    assert_int_equal(after.device, 0);
    pm_engine_destroy(engine);
    journal_to_format_1(folder);
    engine = open_on(folder, (pm_engine_options){0});
    after = await_job(engine, job);
    assert_int_equal(after.state, PM_ENGINE_DONE);
    assert_true(after.queue_ns == 0 && after.prove_ns == 0 && after.finish_ns == 0);
    assert_true(after.total_ns == before.total_ns && after.device == -1);
    const uint64_t later = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    assert_true(await_job(engine, later).prove_ns != 0);
    pm_engine_destroy(engine);
    engine = open_on(folder, (pm_engine_options){0});
    assert_true(await_job(engine, later).prove_ns != 0);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

static void a_later_version_is_refused(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_error error = PM_ERROR_INIT;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    pm_engine_destroy(engine);
    run_sql(folder, "PRAGMA user_version=99");
    toy_expect(try_open(folder, (pm_engine_options){0}, NULL, &engine, &error), PM_VERSION, &error);
    run_sql(folder, "PRAGMA user_version=2");
    /* A key that has gone: its jobs fail, once, with the reason. */
    engine = open_on(folder, (pm_engine_options){0});
    for (uint32_t i = 0; i < 6; ++i) {
        (void)submit_one(engine, &circuits, LONG, PM_ENGINE_HIGH, NULL);
    }
    const uint64_t job = submit_one(engine, &circuits, NOPRIV_BLS, PM_ENGINE_LOW, NULL);
    pm_engine_destroy(engine);
    assert_int_equal(rename(circuits.key_path[NOPRIV_BLS], file_in_tree(tree, "away")), 0);
    toy_expect(try_open(folder, (pm_engine_options){0}, NULL, &engine, &error), PM_OK, &error);
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_IO);
    assert_int_equal(info.is_permanent, 1);
    pm_engine_destroy(engine);
    assert_int_equal(rename(file_in_tree(tree, "away"), circuits.key_path[NOPRIV_BLS]), 0);
    file_remove_tree(tree);
}

/* ---- Clocks --------------------------------------------------------------------------------- */

static int64_t jumping_clock(void *user) {
    struct seeded_random *random = user;
    return (int64_t)(seeded_random_u64(random) >> 2) - (INT64_C(1) << 60);
}

/* The wall clock jumps by centuries; order, deadlines and what is kept do not follow it. */
static void wall_clocks_may_jump(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    struct seeded_random random = {.state = 1};
    const struct pm_engine_hooks hooks = {.user = &random, .wall_ms = jumping_clock};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    uint64_t jobs[20];
    toy_expect(try_open(folder, (pm_engine_options){0}, &hooks, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    for (uint32_t i = 0; i < 20; ++i) {
        jobs[i] = submit_one(engine, &circuits, QUICK, PM_ENGINE_NORMAL, NULL);
        assert_int_equal(jobs[i], i + 1);
        if (i == 10) {
            pm_engine_destroy(engine);
            toy_expect(try_open(folder, (pm_engine_options){0}, &hooks, &engine, &error), PM_OK,
                       &error);
        }
    }
    for (uint32_t i = 0; i < 20; ++i) {
        expect_valid(engine, &circuits, QUICK, jobs[i]);
    }
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

/* A deadline goes on while no engine runs. */
static void deadlines_outlive_the_engine(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_error error = PM_ERROR_INIT;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    const pm_engine_input input = {.path = circuits.witness_path[MIMC]};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = "own_mimc",
                                       .priority = PM_ENGINE_LOW,
                                       .inputs = &input,
                                       .n_inputs = 1,
                                       .timeout_ms = 400};
    uint64_t job;
    for (uint32_t i = 0; i < 8; ++i) {
        (void)submit_one(engine, &circuits, LONG, PM_ENGINE_HIGH, NULL);
    }
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    pm_engine_destroy(engine);
    test_sleep_ms(450);
    engine = open_on(folder, (pm_engine_options){0});
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_DEADLINE);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

static void outcomes_are_kept_within_limits(void **state) {
    (void)state;
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    pm_engine_metrics metrics;
    pm_engine_job info;
    pm_engine *engine = open_on(folder, (pm_engine_options){0});
    for (uint32_t i = 0; i < 10; ++i) {
        expect_valid(engine, &circuits, MULT3,
                     submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    }
    pm_engine_destroy(engine);
    engine = open_on(folder, (pm_engine_options){.n_results_max = 4});
    do {
        test_sleep_ms(5);
        assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    } while (metrics.n_kept > 4);
    assert_int_equal(pm_engine_job_info(engine, 6, &info, NULL), PM_INVALID_ARGUMENT);
    expect_valid(engine, &circuits, MULT3, 7);
    pm_engine_destroy(engine);
    engine = open_on(folder, (pm_engine_options){0});
    assert_int_equal(pm_engine_job_info(engine, 6, &info, NULL), PM_INVALID_ARGUMENT);
    expect_valid(engine, &circuits, MULT3, 10);
    /* The number of a job that was forgotten is not given again. */
    assert_int_equal(submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL), 11);
    pm_engine_destroy(engine);
    file_remove_tree(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(F15_results_outlive_the_engine),
        cmocka_unit_test(a_stop_loses_nothing),
        cmocka_unit_test(a_deadly_job_is_given_up),
        cmocka_unit_test(opening_ends_when_asked),
        cmocka_unit_test(one_engine_at_a_time),
        cmocka_unit_test(F12_a_hundred_at_once),
        cmocka_unit_test(stored_inputs_are_private_and_go),
        cmocka_unit_test(a_full_disk_is_survived),
        cmocka_unit_test(an_input_that_is_not_stored_is_told),
        cmocka_unit_test(a_full_disk_takes_no_key),
        cmocka_unit_test(a_journal_that_was_moved_takes_no_job),
        cmocka_unit_test(a_corrupt_page_is_said),
        cmocka_unit_test(a_broken_seal_is_seen),
        cmocka_unit_test(times_outlive_the_engine),
        cmocka_unit_test(a_later_version_is_refused),
        cmocka_unit_test(wall_clocks_may_jump),
        cmocka_unit_test(deadlines_outlive_the_engine),
        cmocka_unit_test(outcomes_are_kept_within_limits),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
