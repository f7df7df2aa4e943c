/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A journal of which pages are damaged is salvaged: every row whose page is whole is there again,
 * whatever else was damaged; a job that is not whole is reported failed; the next engine goes on.
 * And kill -9 at every step of it leaves the damaged journal or the salvaged one.
 *
 *   test_engine_salvage [ROUNDS]   of random damage
 */
#include "engine_case.h"
#include "engine_vfs.h"

#include "engine/journal_internal.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE_BYTES = 4096, ROWS_MAX = 512, IDS_MAX = 256, PAGES_MAX = 512 };

static uint32_t n_rounds = PM_TEST_IS_SANITIZED ? 15 : 120;
static struct circuits circuits;

/* ---- A process that is killed at the n-th of these ------------------------------------------- */

static uint32_t n_calls, die_at;

static void may_die(void) {
    if (++n_calls == die_at) {
        (void)kill(getpid(), SIGKILL);
    }
}

/* In the place of libc's: the salvage's own, and SQLite's. */
int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    may_die();
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int unlinkat(int fd, const char *path, int flags) {
    may_die();
    return (int)syscall(SYS_unlinkat, fd, path, flags);
}

int fsync(int fd) {
    may_die();
    return (int)syscall(SYS_fsync, fd);
}

/* ---- Files ---------------------------------------------------------------------------------- */

struct image {
    char *db, *log; /* log NULL: none */
    size_t db_bytes, log_bytes;
};

static const char *within(const char *folder, const char *name) {
    static char paths[4][1400];
    static uint32_t n;
    char *path = paths[n++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static struct image read_image(const char *folder) {
    struct image image = {0};
    image.db = pm_test_read_file(within(folder, "journal.db"), &image.db_bytes);
    assert_non_null(image.db);
    if (access(within(folder, "journal.db-wal"), F_OK) == 0) {
        image.log = pm_test_read_file(within(folder, "journal.db-wal"), &image.log_bytes);
    }
    return image;
}

static void free_image(struct image *image) {
    free(image->db);
    free(image->log);
}

/* The folder holds the image, and nothing that was salvaged. */
static void write_image(const char *folder, const struct image *image) {
    static const char *const others[] = {"journal.db-wal", "journal.db-shm", "journal.db.new",
                                         "journal.db.salvaged"};
    char name[80];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        (void)unlink(within(folder, others[i]));
    }
    for (uint32_t n = 1; n <= 2; ++n) {
        (void)snprintf(name, sizeof name, "journal.db.damaged-%u", n);
        (void)unlink(within(folder, name));
        (void)snprintf(name, sizeof name, "journal.db.damaged-%u-wal", n);
        (void)unlink(within(folder, name));
    }
    file_write(within(folder, "journal.db"), image->db, image->db_bytes);
    if (image->log != NULL) {
        file_write(within(folder, "journal.db-wal"), image->log, image->log_bytes);
    }
}

static bool is_image_file(const char *path, const char *bytes, size_t n_bytes) {
    size_t n = 0;
    if (access(path, F_OK) != 0) {
        return false;
    }
    char *found = pm_test_read_file(path, &n);
    const bool is_same = n == n_bytes && memcmp(found, bytes, n) == 0;
    free(found);
    return is_same;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* A row as SQL has it, all columns but those of a key's file in one text, and where its bytes lie.
 */
struct row {
    char table; /* j, p or k */
    int64_t id;
    int64_t part;
    char text[4096];
    uint32_t page; /* of the file, from 0; PAGES_MAX: of the log */
};

struct rows {
    uint32_t n;
    struct row at[ROWS_MAX];
};

/* The only page with these bytes. */
static uint32_t page_of(const struct image *image, const void *bytes, size_t n_bytes) {
    if (image->log != NULL && memmem(image->log, image->log_bytes, bytes, n_bytes) != NULL) {
        return PAGES_MAX;
    }
    const char *found = memmem(image->db, image->db_bytes, bytes, n_bytes);
    assert_non_null(found);
    const char *rest = found + n_bytes;
    assert_null(memmem(rest, (size_t)(image->db + image->db_bytes - rest), bytes, n_bytes));
    return (uint32_t)((size_t)(found - image->db) / PAGE_BYTES);
}

static void add_rows(sqlite3 *db, const struct image *image, char table, const char *sql,
                     int seal_column, struct rows *rows) {
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        assert_true(rows->n < ROWS_MAX);
        struct row *made = &rows->at[rows->n++];
        *made = (struct row){.table = table,
                             .id = sqlite3_column_int64(row, 0),
                             .part = sqlite3_column_int64(row, 1)};
        (void)snprintf(made->text, sizeof made->text, "%s", sqlite3_column_text(row, 2));
        if (image != NULL) {
            made->page = page_of(image, sqlite3_column_blob(row, seal_column),
                                 (size_t)sqlite3_column_bytes(row, seal_column));
        }
    }
    (void)sqlite3_finalize(row);
}

/* image NULL: where they lie is not asked for. */
static struct rows *read_rows(const char *folder, const struct image *image) {
    struct rows *rows = calloc(1, sizeof *rows);
    sqlite3 *db = NULL;
    assert_non_null(rows);
    assert_int_equal(sqlite3_open(within(folder, "journal.db"), &db), SQLITE_OK);
    add_rows(db, image, 'j',
             "SELECT id, 0, request_id||'|'||key||'|'||hex(content)||'|'||priority||'|'||n_parts||"
             "'|'||n_public||'|'||curve||'|'||deadline_at_ns||'|'||accepted_at_ns||'|'||"
             "accepted_ms||'|'||state||'|'||n_begun||'|'||status||'|'||is_permanent||'|'||"
             "ended_at_ns||'|'||ended_ms||'|'||message||'|'||history||'|'||hex(seal)||"
             "'|'||queue_ns||'|'||key_ns||'|'||prepare_ns||'|'||prove_ns||'|'||finish_ns||'|'||"
             "n_retries||'|'||device, seal"
             " FROM job ORDER BY id",
             3, rows);
    add_rows(db, image, 'p',
             "SELECT job, part, path||'|'||is_stored||'|'||is_assignment||'|'||n_bytes||'|'||"
             "hex(digest)||'|'||ifnull(hex(proof), '-')||'|'||ifnull(hex(publics), '-')||'|'||"
             "hex(seal), seal FROM part ORDER BY job, part",
             3, rows);
    add_rows(db, image, 'k',
             "SELECT 0, 0, name||'|'||path||'|'||ifnull(r1cs_path, '-')||'|'||verification||'|'||"
             "hex(digest), digest FROM key ORDER BY name",
             3, rows);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return rows;
}

static const struct row *find_row(const struct rows *rows, const struct row *like) {
    for (uint32_t i = 0; i < rows->n; ++i) {
        const struct row *row = &rows->at[i];
        const bool is_key = row->table == 'k';
        if (row->table == like->table && row->id == like->id && row->part == like->part &&
            (!is_key || strcmp(row->text, like->text) == 0)) {
            return row;
        }
    }
    return NULL;
}

static int64_t query(const char *folder, const char *sql) {
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_open(within(folder, "journal.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    const int code = sqlite3_step(row);
    const int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    assert_true(code == SQLITE_ROW || code == SQLITE_DONE);
    (void)sqlite3_finalize(row);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

/* ---- The journal that is damaged ------------------------------------------------------------- */

static pm_status try_open(const char *folder, pm_engine **engine, pm_error *error) {
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = 128 << 20,
                                       .journal_path = folder,
                                       .retry_ms = 1};
    return pm_engine_create(&options, engine, error);
}

static pm_engine *open_on(const char *folder) {
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(try_open(folder, &engine, &error), PM_OK, &error);
    return engine;
}

static uint64_t submit_parts(pm_engine *engine, enum circuit circuit, uint32_t n,
                             const char *request_id) {
    pm_engine_input inputs[4];
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0;
    for (uint32_t i = 0; i < n; ++i) {
        inputs[i] = (pm_engine_input){.path = circuits.witness_path[circuit]};
    }
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[circuit],
                                       .request_id = request_id,
                                       .inputs = inputs,
                                       .n_inputs = n};
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    return job;
}

/* Jobs that are done, of one part and of three, and four that have failed. */
static void fill_journal(pm_engine *engine, uint32_t n_jobs) {
    pm_error error = PM_ERROR_INIT;
    char request_id[32];
    circuits_register(&circuits, engine);
    for (uint32_t i = 0; i < n_jobs; ++i) {
        (void)snprintf(request_id, sizeof request_id, "request-%u", i);
        /* With sanitizers none of the largest. */
        const enum circuit circuit =
            PM_TEST_IS_SANITIZED && i % N_SMALL == MIMC ? MULT3 : (enum circuit)(i % N_SMALL);
        (void)submit_parts(engine, circuit, i % 4 == 0 ? 3 : 1, request_id);
    }
    const pm_engine_input bad = {.path = circuits_bad_witness(&circuits, MULT3)};
    const pm_engine_request request = {
        .struct_bytes = sizeof request, .key = "mult3", .inputs = &bad, .n_inputs = 1};
    uint64_t job;
    for (uint32_t i = 0; i < 4; ++i) {
        toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    }
    toy_expect(pm_engine_drain(engine, 0, &error), PM_OK, &error);
}

/* Accepts a job again, as if it had no outcome yet: every other one without its proofs. */
static pm_status accept_again(void *user, const struct pm_journal_job *job, pm_error *error) {
    struct pm_journal_part parts[4];
    struct pm_journal_job again = *job;
    uint64_t id;
    again.parts = parts;
    for (uint32_t i = 0; i < job->n_parts && i < 4; ++i) {
        parts[i] = job->parts[i];
        if (job->id % 2 != 0) {
            parts[i].proof = parts[i].publics = NULL;
            parts[i].proof_bytes = parts[i].publics_bytes = 0;
        }
    }
    return pm_journal_accept(user, &again, &id, error);
}

static pm_status no_key(void *user, const struct pm_journal_key *key, pm_error *error) {
    (void)user;
    (void)key;
    (void)error;
    return PM_OK;
}

/* Accepts every job of it a second time: those have no outcome. */
static void add_open_jobs(const char *folder) {
    struct pm_journal *journal = NULL, *copy = NULL;
    pm_error error = PM_ERROR_INIT;
    char *tree = file_make_tree();
    struct image image = read_image(folder);
    file_write(within(tree, "journal.db"), image.db, image.db_bytes);
    toy_expect(pm_journal_open(folder, &journal, &error), PM_OK, &error);
    toy_expect(pm_journal_open(tree, &copy, &error), PM_OK, &error);
    const struct pm_journal_visitor visitor = {.user = journal, .key = no_key, .job = accept_again};
    toy_expect(pm_journal_read(copy, &visitor, &error), PM_OK, &error);
    pm_journal_close(copy);
    pm_journal_close(journal);
    free_image(&image);
    file_remove_tree(tree);
}

struct scene {
    char *tree;
    char folder[1200];
    struct image image;
    struct rows *rows;
    int64_t last_id;
};

/* with_log: as a kill leaves it, what is new in the log. */
static struct scene open_scene(uint32_t n_jobs, bool with_log) {
    struct scene scene = {.tree = file_make_tree()};
    (void)snprintf(scene.folder, sizeof scene.folder, "%s/journal", scene.tree);
    pm_engine *engine = open_on(scene.folder);
    fill_journal(engine, n_jobs);
    if (with_log) {
        scene.image = read_image(scene.folder);
        assert_non_null(scene.image.log);
    }
    pm_engine_destroy(engine);
    if (!with_log) {
        add_open_jobs(scene.folder);
        /* A copy of a page that is not there any more would be found for a row as well. */
        assert_int_equal(query(scene.folder, "VACUUM"), 0);
        scene.image = read_image(scene.folder);
    }
    write_image(scene.folder, &scene.image);
    scene.rows = read_rows(scene.folder, &scene.image);
    scene.last_id = query(scene.folder, "SELECT seq FROM sqlite_sequence");
    return scene;
}

static void close_scene(struct scene *scene) {
    free_image(&scene->image);
    free(scene->rows);
    file_remove_tree(scene->tree);
}

static int open_all(void **state) {
    (void)state;
    engine_vfs_install();
    circuits_open(0, &circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

/* ---- What must hold afterwards ----------------------------------------------------------------
 */

static bool is_listed(int64_t id, const uint64_t *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
        if (ids[i] == (uint64_t)id) {
            return true;
        }
    }
    return false;
}

static bool is_whole(const struct scene *scene, const bool *is_damaged, int64_t job) {
    for (uint32_t i = 0; i < scene->rows->n; ++i) {
        const struct row *row = &scene->rows->at[i];
        if (row->table != 'k' && row->id == job && row->page != PAGES_MAX &&
            is_damaged[row->page]) {
            return false;
        }
    }
    return true;
}

static void expect_same(const struct rows *now, const struct row *row) {
    const struct row *found = find_row(now, row);
    if (found == NULL || strcmp(found->text, row->text) != 0) {
        fail_msg("row %c %lld %lld of page %u was\n%s\nand is\n%s", row->table, (long long)row->id,
                 (long long)row->part, row->page, row->text, found != NULL ? found->text : "gone");
    }
}

/* Rows of whole pages are as they were, but for those of jobs that are not whole. */
static void expect_salvaged(const struct scene *scene, const bool *is_damaged,
                            const pm_engine_salvaged *salvaged, const uint64_t *lost,
                            uint32_t n_lost) {
    struct rows *now = read_rows(scene->folder, NULL);
    uint32_t n_jobs = 0;
    for (uint32_t i = 0; i < scene->rows->n; ++i) {
        const struct row *row = &scene->rows->at[i];
        const bool in_damaged = row->page != PAGES_MAX && is_damaged[row->page];
        if (row->table == 'k' && !in_damaged) {
            expect_same(now, row);
        } else if (row->table != 'k' && is_whole(scene, is_damaged, row->id)) {
            expect_same(now, row);
            assert_false(is_listed(row->id, lost, n_lost));
        }
    }
    for (uint32_t i = 0; i < now->n; ++i) {
        const struct row *row = &now->at[i];
        n_jobs += row->table == 'j';
        /* Nothing is invented, but for the number of a lost job: a bit of it may have flipped. */
        if (row->table != 'k' && !is_listed(row->id, lost, n_lost)) {
            assert_non_null(find_row(scene->rows, row));
        } else if (row->table == 'j') {
            assert_non_null(strstr(row->text, "submit it again"));
        }
    }
    assert_int_equal(n_jobs, salvaged->n_jobs + salvaged->n_lost);
    assert_int_equal(n_lost, salvaged->n_lost);
    assert_true(query(scene->folder, "SELECT seq FROM sqlite_sequence") >= scene->last_id);
    free(now);
}

/* The next engine tells every job that is on record, and gives new ones numbers of their own. It
 * has at least so many keys: of those that are damaged, none whose file is not that of its digest;
 * and so many jobs or more are done. */
static void expect_goes_on(const struct scene *scene, uint32_t n_keys, uint32_t n_done_expected) {
    pm_engine *engine = open_on(scene->folder);
    uint32_t n_done = 0;
    uint32_t n = 0, n_registered = 0;
    pm_engine_job info;
    uint64_t after = 0;
    assert_int_equal(pm_engine_keys(engine, NULL, &n_registered), PM_OK);
    assert_in_range(n_registered, n_keys, N_SMALL);
    circuits_register(&circuits, engine);
    for (n = 1; pm_engine_jobs(engine, after, &info, &n) == PM_OK && n == 1;) {
        after = info.job;
        info = await_job(engine, info.job);
        if (info.state == PM_ENGINE_DONE) {
            ++n_done;
            for (uint32_t c = 0; c < N_SMALL; ++c) {
                if (strcmp(circuits.name[c], info.key) == 0) {
                    expect_valid(engine, &circuits, (enum circuit)c, info.job);
                }
            }
        } else if (info.state == PM_ENGINE_FAILED) {
            assert_string_not_equal(info.message, "");
        }
    }
    assert_in_range(n_done, n_done_expected, ROWS_MAX);
    const uint64_t job = submit_parts(engine, MULT3, 1, "request-0-again");
    assert_true((int64_t)job > scene->last_id);
    expect_valid(engine, &circuits, MULT3, job);
    pm_engine_destroy(engine);
}

static void salvage(const struct scene *scene, pm_engine_salvaged *salvaged, uint64_t *lost,
                    uint32_t *n_lost) {
    pm_error error = PM_ERROR_INIT;
    *salvaged = (pm_engine_salvaged){.struct_bytes = sizeof *salvaged};
    *n_lost = IDS_MAX;
    toy_expect(pm_engine_salvage(scene->folder, salvaged, lost, n_lost, &error), PM_OK, &error);
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void damage_page(struct image *image, uint32_t page, struct seeded_random *random) {
    char *bytes = image->db + (size_t)page * PAGE_BYTES;
    const uint64_t kind = seeded_random_below(random, 5);
    if (kind == 0) {
        memset(bytes, 0, PAGE_BYTES);
    } else if (kind == 1) {
        memset(bytes, 0xa5, 512);
    } else if (kind == 2) {
        for (uint32_t i = 0; i < PAGE_BYTES; ++i) {
            bytes[i] = (char)seeded_random_u64(random);
        }
    } else if (kind == 3) {
        const uint64_t other = seeded_random_below(random, image->db_bytes / PAGE_BYTES);
        memmove(bytes, image->db + other * PAGE_BYTES, PAGE_BYTES / 2);
    } else {
        for (uint32_t i = 0; i < 8; ++i) {
            bytes[seeded_random_below(random, i < 4 ? 16 : PAGE_BYTES)] ^=
                (char)(1 << seeded_random_below(random, 8));
        }
    }
}

static struct image copy_image(const struct image *image) {
    struct image copy = *image;
    copy.db = malloc(image->db_bytes);
    assert_non_null(copy.db);
    memcpy(copy.db, image->db, image->db_bytes);
    if (image->log != NULL) {
        copy.log = malloc(image->log_bytes);
        assert_non_null(copy.log);
        memcpy(copy.log, image->log, image->log_bytes);
    }
    return copy;
}

static uint32_t count_whole_keys(const struct scene *scene, const bool *is_damaged) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < scene->rows->n; ++i) {
        const struct row *row = &scene->rows->at[i];
        n += row->table == 'k' && !is_damaged[row->page];
    }
    return n;
}

/* Damages some pages, salvages, and looks. Whether that was necessary. */
static bool try_damage(const struct scene *scene, struct seeded_random *random, bool goes_on,
                       uint32_t *n_lost_in_all) {
    bool is_damaged[PAGES_MAX] = {false};
    struct image damaged = copy_image(&scene->image);
    const uint32_t n_pages = (uint32_t)(scene->image.db_bytes / PAGE_BYTES);
    const uint64_t n =
        1 + seeded_random_below(random, seeded_random_below(random, 4) == 0 ? n_pages : 3);
    pm_engine_salvaged salvaged;
    uint64_t lost[IDS_MAX];
    uint32_t n_lost;
    for (uint64_t i = 0; i < n; ++i) {
        const uint32_t page = (uint32_t)seeded_random_below(random, n_pages);
        /* Once each: a copy of a whole page's row whose times were then changed is as good as the
         * row, as far as its seal tells, and may be the one that is taken. */
        if (!is_damaged[page]) {
            is_damaged[page] = true;
            damage_page(&damaged, page, random);
        }
    }
    write_image(scene->folder, &damaged);
    salvage(scene, &salvaged, lost, &n_lost);
    if (salvaged.was_damaged) {
        const char *kept = within(scene->folder, salvaged.damaged_file);
        assert_string_equal(salvaged.damaged_file, "journal.db.damaged-1");
        assert_true(is_image_file(kept, damaged.db, damaged.db_bytes));
        expect_salvaged(scene, is_damaged, &salvaged, lost, n_lost);
        *n_lost_in_all += n_lost;
        if (goes_on) {
            expect_goes_on(scene, count_whole_keys(scene, is_damaged), 0);
        }
    }
    free_image(&damaged);
    return salvaged.was_damaged;
}

static void rows_of_whole_pages_survive(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    struct scene scene = open_scene(30, false);
    uint32_t n_salvaged = 0, n_lost = 0;
    for (uint32_t round = 0; round < n_rounds; ++round) {
        n_salvaged += try_damage(&scene, &random, round % 25 == 0, &n_lost);
    }
    print_message("  %u of %u times, %u rows on %zu pages, %u jobs lost\n", n_salvaged, n_rounds,
                  scene.rows->n, scene.image.db_bytes / PAGE_BYTES, n_lost);
    assert_true(n_salvaged >= n_rounds / 2 && n_lost > 0);
    close_scene(&scene);
}

/* The first page has the tables' names and where they begin: without it nothing is lost. */
static void without_its_first_page(void **state) {
    (void)state;
    struct scene scene = open_scene(10, false);
    bool is_damaged[PAGES_MAX] = {true};
    struct image damaged = copy_image(&scene.image);
    pm_engine_salvaged salvaged;
    uint64_t lost[IDS_MAX];
    uint32_t n_lost;
    memset(damaged.db, 0xff, PAGE_BYTES);
    write_image(scene.folder, &damaged);
    salvage(&scene, &salvaged, lost, &n_lost);
    assert_int_equal(salvaged.was_damaged, 1);
    assert_int_equal(salvaged.n_lost, 0);
    assert_int_equal(salvaged.n_keys, N_SMALL);
    assert_int_equal(salvaged.n_jobs, 28);
    assert_int_equal(salvaged.n_open, 14);
    expect_salvaged(&scene, is_damaged, &salvaged, lost, n_lost);
    expect_goes_on(&scene, N_SMALL, 20); /* and eight had a bad witness */
    free_image(&damaged);
    close_scene(&scene);
}

/* What a kill leaves in the log counts: also behind a frame of it that is damaged, where SQLite
 * would take the rest for something that never was. */
static void the_log_counts(void **state) {
    (void)state;
    struct scene scene = open_scene(12, true);
    bool is_damaged[PAGES_MAX] = {false};
    struct image damaged = copy_image(&scene.image);
    pm_engine_salvaged salvaged;
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    uint64_t lost[IDS_MAX];
    uint32_t n_lost;
    assert_true(damaged.log_bytes > 20 * (PAGE_BYTES + 24));
    for (size_t i = 0; i < damaged.db_bytes; ++i) {
        damaged.db[i] = (char)(i * 7);
    }
    write_image(scene.folder, &damaged);
    salvage(&scene, &salvaged, lost, &n_lost);
    assert_int_equal(salvaged.was_damaged, 0); /* it was all in the log */
    expect_goes_on(&scene, N_SMALL, 12);
    damaged.log[32 + 24 + 100] ^= 1; /* in its first frame */
    write_image(scene.folder, &damaged);
    toy_expect(try_open(scene.folder, &engine, &error), PM_ENCODING, &error);
    assert_true(
        is_image_file(within(scene.folder, "journal.db-wal"), damaged.log, damaged.log_bytes));
    salvage(&scene, &salvaged, lost, &n_lost);
    assert_int_equal(salvaged.was_damaged, 1);
    assert_int_equal(salvaged.n_lost, 0);
    expect_salvaged(&scene, is_damaged, &salvaged, lost, n_lost);
    assert_true(is_image_file(within(scene.folder, "journal.db.damaged-1-wal"), damaged.log,
                              damaged.log_bytes));
    expect_goes_on(&scene, N_SMALL, 12);
    free_image(&damaged);
    close_scene(&scene);
}

/* A row that was changed where no page is damaged has a broken seal: its job is lost, no other. */
static void a_broken_seal_is_a_loss(void **state) {
    (void)state;
    struct scene scene = open_scene(10, false);
    pm_engine_salvaged salvaged;
    uint64_t lost[IDS_MAX];
    uint32_t n_lost;
    (void)query(scene.folder, "UPDATE part SET path='/etc/passwd' WHERE job=3");
    (void)query(scene.folder, "UPDATE job SET priority=3-priority WHERE id=7");
    struct image damaged = read_image(scene.folder);
    memset(damaged.db, 0xff, 100);
    write_image(scene.folder, &damaged);
    salvage(&scene, &salvaged, lost, &n_lost);
    assert_int_equal(n_lost, 2);
    assert_int_equal(lost[0], 3);
    assert_int_equal(lost[1], 7);
    assert_int_equal(salvaged.n_jobs, 26);
    pm_engine *engine = open_on(scene.folder);
    const pm_engine_job info = await_job(engine, 3);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    assert_int_equal(info.status, PM_INTERNAL);
    assert_int_equal(info.is_permanent, 0);
    assert_string_equal(info.request_id, "request-2"); /* which is free again */
    pm_engine_destroy(engine);
    free_image(&damaged);
    close_scene(&scene);
}

/* A part as it was before it was proved, seal and all, in a job that is done: nothing is given out
 * for it. */
static void a_proof_that_is_gone_is_a_loss(void **state) {
    (void)state;
    struct scene scene = open_scene(6, false);
    struct pm_journal_part part = {.path = "/earlier"};
    pm_engine_salvaged salvaged;
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    uint64_t lost[IDS_MAX];
    uint32_t n_lost;
    char sql[256], hex[2 * sizeof seal + 1];
    pm_journal_seal_part(2, 0, &part, seal);
    for (size_t i = 0; i < sizeof seal; ++i) {
        (void)snprintf(hex + 2 * i, 3, "%02x", seal[i]);
    }
    (void)snprintf(sql, sizeof sql,
                   "UPDATE part SET path='/earlier', is_stored=0, is_assignment=0, proof=NULL,"
                   " publics=NULL, digest=zeroblob(32), seal=x'%s' WHERE job=2",
                   hex);
    (void)query(scene.folder, sql);
    struct image damaged = read_image(scene.folder);
    memset(damaged.db, 0xff, 100);
    write_image(scene.folder, &damaged);
    salvage(&scene, &salvaged, lost, &n_lost);
    assert_int_equal(n_lost, 1);
    assert_int_equal(lost[0], 2);
    free_image(&damaged);
    close_scene(&scene);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    struct scene scene = open_scene(4, false);
    pm_engine_salvaged salvaged = {.struct_bytes = sizeof salvaged};
    pm_error error = PM_ERROR_INIT;
    uint32_t n_lost = 5;
    toy_expect(pm_engine_salvage(scene.folder, &salvaged, NULL, &n_lost, &error), PM_OK, &error);
    assert_int_equal(salvaged.was_damaged, 0);
    assert_int_equal(n_lost, 0);
    pm_engine *engine = open_on(scene.folder);
    toy_expect(pm_engine_salvage(scene.folder, &salvaged, NULL, NULL, &error), PM_IO, &error);
    assert_non_null(strstr(error.message, "another engine"));
    pm_engine_destroy(engine);
    toy_expect(pm_engine_salvage(file_in_tree(scene.tree, "nobody"), &salvaged, NULL, NULL, &error),
               PM_IO, &error);
    toy_expect(pm_engine_salvage(scene.tree, &salvaged, NULL, NULL, &error), PM_IO, &error);
    assert_int_equal(access(file_in_tree(scene.tree, "journal.db"), F_OK), -1);
    toy_expect(pm_engine_salvage(NULL, &salvaged, NULL, NULL, &error), PM_INVALID_ARGUMENT, &error);
    struct image damaged = copy_image(&scene.image);
    memset(damaged.db + PAGE_BYTES, 0xa5, damaged.db_bytes - PAGE_BYTES);
    damaged.db[63] = 99; /* its version */
    write_image(scene.folder, &damaged);
    toy_expect(pm_engine_salvage(scene.folder, &salvaged, NULL, NULL, &error), PM_VERSION, &error);
    assert_true(is_image_file(within(scene.folder, "journal.db"), damaged.db, damaged.db_bytes));
    free_image(&damaged);
    close_scene(&scene);
}

/* A journal of format 1, as it was and after it was opened: rows that nobody has changed since end
 * with the seal either way. */
static void rows_of_format_1_survive(void **state) {
    (void)state;
    for (uint32_t is_opened = 0; is_opened < 2; ++is_opened) {
        struct scene scene = open_scene(4, false);
        pm_engine_salvaged salvaged;
        uint64_t lost[IDS_MAX];
        uint32_t n_lost;
        journal_to_format_1(scene.folder);
        const int64_t n_jobs = query(scene.folder, "SELECT count(*) FROM job");
        if (is_opened != 0) {
            struct pm_journal *journal = NULL;
            pm_error error = PM_ERROR_INIT;
            toy_expect(pm_journal_open(scene.folder, &journal, &error), PM_OK, &error);
            pm_journal_close(journal);
            assert_int_equal(query(scene.folder, "PRAGMA user_version"), 2);
        }
        struct image damaged = read_image(scene.folder);
        memset(damaged.db, 0xff, 100);
        write_image(scene.folder, &damaged);
        salvage(&scene, &salvaged, lost, &n_lost);
        assert_int_equal(n_lost, 0);
        assert_int_equal(salvaged.n_jobs, n_jobs);
        assert_int_equal(query(scene.folder, "SELECT count(*) FROM job WHERE device=''"), n_jobs);
        free_image(&damaged);
        close_scene(&scene);
    }
}

/* ---- Kills ---------------------------------------------------------------------------------- */

/* A child salvages and is killed at the n-th call, or write. Whether it was. */
static bool salvage_and_die(const struct scene *scene, uint32_t call, uint32_t write, bool half) {
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pm_engine_salvaged salvaged = {.struct_bytes = sizeof salvaged};
        n_calls = 0;
        die_at = call;
        engine_vfs_kill_at(write, half);
        _exit(pm_engine_salvage(scene->folder, &salvaged, NULL, NULL, NULL) == PM_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

/* The damaged journal, which can still be salvaged, or the salvaged one. */
static void expect_one_or_the_other(const struct scene *scene, const struct image *damaged,
                                    const bool *is_damaged, uint32_t *n_old) {
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    pm_engine_salvaged salvaged;
    uint64_t lost[IDS_MAX];
    uint32_t n_lost = 0;
    const pm_status status = try_open(scene->folder, &engine, &error);
    if (status == PM_OK) {
        pm_engine_destroy(engine);
    } else {
        toy_expect(status, PM_ENCODING, &error);
        assert_true(
            is_image_file(within(scene->folder, "journal.db"), damaged->db, damaged->db_bytes));
        assert_true(is_image_file(within(scene->folder, "journal.db-wal"), damaged->log,
                                  damaged->log_bytes));
        salvage(scene, &salvaged, lost, &n_lost);
        assert_int_equal(salvaged.n_lost, 0);
        ++*n_old;
    }
    struct rows *now = read_rows(scene->folder, NULL);
    for (uint32_t i = 0; i < scene->rows->n; ++i) {
        const struct row *row = &scene->rows->at[i];
        assert_true(row->page == PAGES_MAX || !is_damaged[row->page]);
        expect_same(now, row);
    }
    free(now);
    assert_true(is_image_file(within(scene->folder, "journal.db.damaged-1"), damaged->db,
                              damaged->db_bytes));
    assert_true(is_image_file(within(scene->folder, "journal.db.damaged-1-wal"), damaged->log,
                              damaged->log_bytes));
}

static void kills_leave_one_or_the_other(void **state) {
    (void)state;
    struct scene scene = open_scene(6, true);
    const bool is_damaged[PAGES_MAX] = {false};
    struct image damaged = copy_image(&scene.image);
    uint32_t n_kills = 0, n_old = 0;
    damaged.log[32 + 24 + 100] ^= 1;
    bool was_killed = true;
    for (uint32_t call = 1; was_killed; ++call) {
        write_image(scene.folder, &damaged);
        was_killed = salvage_and_die(&scene, call, 0, false);
        n_kills += was_killed;
        expect_one_or_the_other(&scene, &damaged, is_damaged, &n_old);
    }
    was_killed = true;
    for (uint32_t at = 1; was_killed; ++at) {
        write_image(scene.folder, &damaged);
        was_killed = salvage_and_die(&scene, 0, at, at % 2 == 0);
        n_kills += was_killed;
        expect_one_or_the_other(&scene, &damaged, is_damaged, &n_old);
    }
    print_message("  %u kills, the damaged one was left by %u\n", n_kills, n_old);
    assert_true(n_kills >= 15 && n_old >= 5 && n_kills - n_old >= 4);
    free_image(&damaged);
    close_scene(&scene);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        n_rounds = (uint32_t)strtoul(argv[1], NULL, 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_whole_pages_survive),
        cmocka_unit_test(without_its_first_page),
        cmocka_unit_test(the_log_counts),
        cmocka_unit_test(a_broken_seal_is_a_loss),
        cmocka_unit_test(a_proof_that_is_gone_is_a_loss),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(rows_of_format_1_survive),
        cmocka_unit_test(kills_leave_one_or_the_other),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
