/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine_case.h"

#include "api/api_internal.h"
#include "base/clock.h"
#include "engine/journal_internal.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <dirent.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const char *const folders[N_SMALL] = {"mult3", "own_mimc", "one", "mult3_bls", "nopriv_bls"};

void test_sleep_ms(uint64_t ms) {
    const struct timespec wait = {.tv_sec = (time_t)(ms / 1000),
                                  .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&wait, NULL);
}

/* ---- The long circuit: x 1 = y1, y1 1 = y2, ..., x public -------------------------------------
 */

static const uint8_t r_bytes[2][32] = {
    {0x01, 0x00, 0x00, 0xf0, 0x93, 0xf5, 0xe1, 0x43, 0x91, 0x70, 0xb9,
     0x79, 0x48, 0xe8, 0x33, 0x28, 0x5d, 0x58, 0x81, 0x81, 0xb6, 0x45,
     0x50, 0xb8, 0x29, 0xa0, 0x31, 0xe1, 0x72, 0x4e, 0x64, 0x30},
    {0x01, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x5b, 0xfe,
     0xff, 0x02, 0xa4, 0xbd, 0x53, 0x05, 0xd8, 0xa1, 0x09, 0x08, 0xd8,
     0x39, 0x33, 0x48, 0x7d, 0x9d, 0x29, 0x53, 0xa7, 0xed, 0x73}};

static void put(FILE *file, uint64_t value, size_t n_bytes) {
    assert_int_equal(fwrite(&value, n_bytes, 1, file), 1);
}

static void put_scalar(FILE *file, uint64_t value) {
    put(file, value, 8);
    for (int i = 0; i < 3; ++i) {
        put(file, 0, 8);
    }
}

static void put_term(FILE *file, uint32_t wire) {
    put(file, 1, 4);
    put(file, wire, 4);
    put_scalar(file, 1);
}

void write_long_r1cs(const char *path, bool is_bls, uint32_t log_n) {
    const uint32_t n_rows = (UINT32_C(1) << log_n) - 4, n_wires = n_rows + 2;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite("r1cs", 4, 1, file), 1);
    put(file, 1, 4);
    put(file, 3, 4);
    put(file, 1, 4); /* header */
    put(file, 64, 8);
    put(file, 32, 4);
    assert_int_equal(fwrite(r_bytes[is_bls], 32, 1, file), 1);
    put(file, n_wires, 4);
    put(file, 0, 4); /* outputs */
    put(file, 1, 4); /* public inputs */
    put(file, 0, 4);
    put(file, n_wires, 8);
    put(file, n_rows, 4);
    put(file, 2, 4); /* constraints */
    put(file, (uint64_t)n_rows * 3 * 40, 8);
    for (uint32_t row = 0; row < n_rows; ++row) {
        put_term(file, row + 1);
        put_term(file, 0);
        put_term(file, row + 2);
    }
    put(file, 3, 4); /* labels */
    put(file, (uint64_t)n_wires * 8, 8);
    for (uint32_t wire = 0; wire < n_wires; ++wire) {
        put(file, wire, 8);
    }
    assert_int_equal(fclose(file), 0);
}

void write_long_wtns(const char *path, bool is_bls, uint32_t log_n) {
    const uint32_t n = (UINT32_C(1) << log_n) - 2;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite("wtns", 4, 1, file), 1);
    put(file, 2, 4);
    put(file, 2, 4);
    put(file, 1, 4);
    put(file, 40, 8);
    put(file, 32, 4);
    assert_int_equal(fwrite(r_bytes[is_bls], 32, 1, file), 1);
    put(file, n, 4);
    put(file, 2, 4);
    put(file, (uint64_t)n * 32, 8);
    put_scalar(file, 1);
    for (uint32_t i = 1; i < n; ++i) {
        put(file, UINT64_C(0x9e3779b97f4a7c15), 8);
        put(file, UINT64_C(0xbf58476d1ce4e5b9), 8);
        put(file, UINT64_C(0x94d049bb133111eb), 8);
        put(file, UINT64_C(0x2545f4914f6cdd1d), 8);
    }
    assert_int_equal(fclose(file), 0);
}

static void open_long(uint32_t log_n, struct circuits *circuits) {
    char r1cs[1200];
    pm_error error = PM_ERROR_INIT;
    (void)snprintf(r1cs, sizeof r1cs, "%s/long.r1cs", circuits->tree);
    (void)snprintf(circuits->key_path[LONG], 1200, "%s/long.zkey", circuits->tree);
    (void)snprintf(circuits->witness_path[LONG], 1200, "%s/long.wtns", circuits->tree);
    write_long_r1cs(r1cs, false, log_n);
    write_long_wtns(circuits->witness_path[LONG], false, log_n);
    toy_expect(
        pm_setup_known_tau(circuits->context, r1cs, circuits->key_path[LONG], NULL, NULL, &error),
        PM_OK, &error);
    circuits->name[LONG] = "long";
    circuits->has_long = true;
}

/* ---- Circuits ------------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to) {
    size_t n_bytes;
    char *bytes = pm_test_read_file(from, &n_bytes);
    assert_non_null(bytes);
    file_write(to, bytes, n_bytes);
    free(bytes);
}

static void open_vk(struct circuits *circuits, uint32_t i) {
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    toy_expect(pm_key_open(circuits->context, circuits->key_path[i], NULL, NULL, &key, &error),
               PM_OK, &error);
    toy_expect(pm_vk_from_key(circuits->context, key, &circuits->vk[i], &error), PM_OK, &error);
    pm_key_destroy(key);
}

void circuits_open(uint32_t log_n, struct circuits *circuits) {
    *circuits = (struct circuits){0};
    circuits->tree = file_make_tree();
    circuits->context = toy_context(2, PM_ARITHMETIC_BEST);
    for (uint32_t i = 0; i < N_SMALL; ++i) {
        char from[PM_TEST_PATH_MAX], name[200];
        circuits->name[i] = folders[i];
        (void)snprintf(name, sizeof name, "%s/%s.zkey", folders[i], folders[i]);
        (void)snprintf(circuits->key_path[i], 1200, "%s/%s.zkey", circuits->tree, folders[i]);
        copy_file(pm_data_path(from, name), circuits->key_path[i]);
        (void)snprintf(name, sizeof name, "%s/%s.wtns", folders[i], folders[i]);
        (void)snprintf(circuits->witness_path[i], 1200, "%s/%s.wtns", circuits->tree, folders[i]);
        copy_file(pm_data_path(from, name), circuits->witness_path[i]);
        open_vk(circuits, i);
    }
    if (log_n != 0) {
        open_long(log_n, circuits);
        open_vk(circuits, LONG);
    }
}

void circuits_borrow(struct circuits *circuits) {
    *circuits = (struct circuits){.context = toy_context(1, PM_ARITHMETIC_BEST)};
    for (uint32_t i = 0; i < N_SMALL; ++i) {
        char name[200];
        circuits->name[i] = folders[i];
        (void)snprintf(name, sizeof name, "%s/%s.zkey", folders[i], folders[i]);
        (void)pm_data_path(circuits->key_path[i], name);
        (void)snprintf(name, sizeof name, "%s/%s.wtns", folders[i], folders[i]);
        (void)pm_data_path(circuits->witness_path[i], name);
        open_vk(circuits, i);
    }
}

void circuits_close(struct circuits *circuits) {
    for (uint32_t i = 0; i < N_CIRCUITS; ++i) {
        pm_vk_destroy(circuits->vk[i]);
    }
    pm_context_destroy(circuits->context);
    if (circuits->tree != NULL) {
        file_remove_tree(circuits->tree);
    }
}

void circuits_register(const struct circuits *circuits, pm_engine *engine) {
    for (uint32_t i = 0; i < (circuits->has_long ? N_CIRCUITS : N_SMALL); ++i) {
        pm_error error = PM_ERROR_INIT;
        const pm_engine_key key = {
            .struct_bytes = sizeof key, .name = circuits->name[i], .path = circuits->key_path[i]};
        toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OK, &error);
    }
}

const char *circuits_bad_witness(const struct circuits *circuits, enum circuit circuit) {
    static char path[1300];
    size_t n_bytes;
    char *bytes = pm_test_read_file(circuits->witness_path[circuit], &n_bytes);
    assert_non_null(bytes);
    bytes[n_bytes - 32] ^= 1; /* the last value */
    (void)snprintf(path, sizeof path, "%s/bad.wtns", circuits->tree);
    file_write(path, bytes, n_bytes);
    free(bytes);
    return path;
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

pm_status try_submit(pm_engine *engine, const struct circuits *circuits, enum circuit circuit,
                     pm_engine_priority priority, const char *request_id, uint64_t *job, int *known,
                     pm_error *error) {
    const pm_engine_input input = {.path = circuits->witness_path[circuit]};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .priority = priority,
                                       .key = circuits->name[circuit],
                                       .request_id = request_id,
                                       .inputs = &input,
                                       .n_inputs = 1};
    return pm_engine_submit(engine, &request, NULL, job, known, error);
}

uint64_t submit_one(pm_engine *engine, const struct circuits *circuits, enum circuit circuit,
                    pm_engine_priority priority, const char *request_id) {
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0;
    toy_expect(try_submit(engine, circuits, circuit, priority, request_id, &job, NULL, &error),
               PM_OK, &error);
    assert_int_not_equal(job, 0);
    return job;
}

pm_engine_job await_job(pm_engine *engine, uint64_t job) {
    pm_engine_job info = {0};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_await(engine, job, 120000, NULL, &info, &error), PM_OK, &error);
    return info;
}

void await_proving(pm_engine *engine, uint64_t job) {
    const uint64_t until_ns = pm_clock_now_ns() + UINT64_C(120000000000);
    pm_engine_job info = {0};
    while (info.state < PM_ENGINE_PROVING) {
        assert_int_equal(pm_engine_job_info(engine, job, &info, NULL), PM_OK);
        if (pm_clock_now_ns() > until_ns) {
            fail_msg("job %llu stays %s: it waits for %s", (unsigned long long)job,
                     pm_engine_state_name((pm_engine_state)info.state), info.waits_for);
        }
    }
}

pm_status check_proof(const struct circuits *circuits, enum circuit circuit, const pm_proof *proof,
                      const void *publics) {
    return pm_verify(circuits->context, circuits->vk[circuit], publics,
                     pm_vk_n_public(circuits->vk[circuit]), proof, NULL);
}

void expect_valid(pm_engine *engine, const struct circuits *circuits, enum circuit circuit,
                  uint64_t job) {
    const pm_engine_job info = await_job(engine, job);
    pm_error error = PM_ERROR_INIT;
    if (info.state != PM_ENGINE_DONE) {
        fail_msg("job %llu is %s: %s (%s)", (unsigned long long)job,
                 pm_engine_state_name((pm_engine_state)info.state), info.message, info.history);
    }
    for (uint32_t i = 0; i < info.n_parts; ++i) {
        pm_proof proof;
        uint8_t publics[64 * PM_FR_BYTES];
        assert_in_range(info.n_public, 0, 64);
        toy_expect(pm_engine_result(engine, job, i, 1, &proof, publics, &error), PM_OK, &error);
        assert_int_equal(check_proof(circuits, circuit, &proof, publics), PM_OK);
    }
}

void expect_books(pm_engine *engine) {
    pm_error error = PM_ERROR_INIT;
    pm_engine_lock(engine);
    const pm_status status = pm_sched_check(&engine->sched, &error);
    pm_engine_unlock(engine);
    toy_expect(status, PM_OK, &error);
}

/* ---- Fake cards ----------------------------------------------------------------------------- */

void cards_open(uint32_t n, struct cards *cards) {
    *cards = (struct cards){.n = n, .vram_bytes = UINT64_MAX, .threads = 2};
    for (uint32_t i = 0; i < n; ++i) {
        cards->card[i] = calloc(1, sizeof *cards->card[i]);
        assert_non_null(cards->card[i]);
        fake_device_init(cards->card[i], true);
    }
}

void cards_close(struct cards *cards) {
    for (uint32_t i = 0; i < cards->n; ++i) {
        fake_device_close(cards->card[i]);
        free(cards->card[i]);
    }
}

static pm_status card_context(void *user, uint32_t device, pm_context **context, bool *is_card,
                              uint64_t *vram_bytes, pm_error *error) {
    const struct cards *cards = user;
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = cards->threads};
    PM_TRY(pm_context_create(&options, context, error));
    *is_card = device < cards->n;
    *vram_bytes = cards->vram_bytes;
    return *is_card ? pm_context_set_backend(*context, &cards->card[device]->backend) : PM_OK;
}

static void hold_finish(void *user, bool is_on_card) {
    const struct cards *cards = user;
    while (is_on_card && __atomic_load_n(&cards->holds_finish, __ATOMIC_ACQUIRE) != 0) {
        test_sleep_ms(5);
    }
}

struct pm_engine_hooks cards_hooks(struct cards *cards) {
    return (struct pm_engine_hooks){
        .user = cards, .context = card_context, .finishing = hold_finish};
}

pm_engine *cards_engine(struct cards *cards, bool with_cpu, pm_engine_options options) {
    enum { N_MAX = sizeof cards->card / sizeof cards->card[0] + 1 };
    pm_engine_device devices[N_MAX];
    const uint32_t n_cards = cards != NULL ? cards->n : 0;
    const struct pm_engine_hooks hooks =
        cards != NULL ? cards_hooks(cards) : (struct pm_engine_hooks){0};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    for (uint32_t i = 0; i < N_MAX; ++i) {
        devices[i] = (pm_engine_device){.struct_bytes = sizeof devices[i],
                                        .device = i < n_cards ? "cuda" : "cpu"};
    }
    options.struct_bytes = sizeof options;
    options.n_devices = cards == NULL ? 1 : n_cards + with_cpu;
    options.devices = devices;
    options.host_bytes = options.host_bytes != 0 ? options.host_bytes : UINT64_C(512) << 20;
    options.retry_ms = options.retry_ms != 0 ? options.retry_ms : 1;
    toy_expect(pm_engine_create_with(&options, &hooks, &engine, &error), PM_OK, &error);
    return engine;
}

/* ---- The process ---------------------------------------------------------------------------- */

static uint32_t count_entries(const char *path) {
    DIR *folder = opendir(path);
    uint32_t n = 0;
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n;
}

struct holdings holdings_now(void) {
    struct holdings now = {.n_threads = count_entries("/proc/self/task"),
                           .n_fds = count_entries("/proc/self/fd")};
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    (void)fclose(file);
    now.resident_bytes = (uint64_t)pages * 4096;
    return now;
}

/* ---- Journals of format 1 -------------------------------------------------------------------- */

struct resealing {
    char sql[65536];
    size_t n_bytes;
};

static pm_status reseal(void *user, const struct pm_journal_job *job, pm_error *error) {
    struct resealing *resealing = user;
    struct pm_journal_job bare = *job;
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    (void)error;
    bare.queue_ns = bare.key_ns = bare.prepare_ns = bare.prove_ns = bare.finish_ns = 0;
    bare.n_retries = 0;
    bare.device = "";
    pm_journal_seal_job(&bare, seal);
    char *at = resealing->sql + resealing->n_bytes;
    const size_t room = sizeof resealing->sql - resealing->n_bytes;
    int n = snprintf(at, room, "UPDATE job SET seal=x'");
    for (size_t i = 0; i < sizeof seal; ++i) {
        n += snprintf(at + n, room - (size_t)n, "%02x", seal[i]);
    }
    n += snprintf(at + n, room - (size_t)n, "' WHERE id=%llu;", (unsigned long long)job->id);
    resealing->n_bytes += (size_t)n;
    assert_true(resealing->n_bytes + 200 < sizeof resealing->sql);
    return PM_OK;
}

static pm_status skip_key(void *user, const struct pm_journal_key *key, pm_error *error) {
    (void)user;
    (void)key;
    (void)error;
    return PM_OK;
}

void journal_to_format_1(const char *folder) {
    static const char drop[] =
        "ALTER TABLE job DROP COLUMN queue_ns; ALTER TABLE job DROP COLUMN key_ns;"
        "ALTER TABLE job DROP COLUMN prepare_ns; ALTER TABLE job DROP COLUMN prove_ns;"
        "ALTER TABLE job DROP COLUMN finish_ns; ALTER TABLE job DROP COLUMN n_retries;"
        "ALTER TABLE job DROP COLUMN device; PRAGMA user_version=1";
    struct resealing *resealing = calloc(1, sizeof *resealing);
    const struct pm_journal_visitor visitor = {.user = resealing, .key = skip_key, .job = reseal};
    struct pm_journal *journal = NULL;
    pm_error error = PM_ERROR_INIT;
    char path[1300];
    sqlite3 *db = NULL;
    assert_non_null(resealing);
    toy_expect(pm_journal_open(folder, &journal, &error), PM_OK, &error);
    toy_expect(pm_journal_read(journal, &visitor, &error), PM_OK, &error);
    pm_journal_close(journal);
    (void)snprintf(path, sizeof path, "%s/journal.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, resealing->sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, drop, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    free(resealing);
}
