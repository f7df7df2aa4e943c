/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A damaged journal's rows go to a fresh one, journal.db.new. Once that is whole and on disk it is
 * named journal.db.salvaged: from then on it is the journal, and whoever has the folder's lock next
 * moves the damaged files aside and gives it its place, should that not have been finished.
 */
#include "engine/journal_internal.h"

#include "base/memory.h"
#include "engine/journal_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_FILE "journal.db.new"
#define SALVAGED_FILE "journal.db.salvaged"
#define PARTS_MAX 4096
/* Numbers that are skipped, as nobody knows for sure how far they had come. */
#define SKIPPED_NUMBERS (INT64_C(1) << 20)
#define NUMBER_MAX (INT64_C(1) << 53)
#define TIME_NS_MAX (INT64_C(1) << 62)

struct salvage {
    struct pm_journal *damaged; /* its folder */
    struct pm_journal *fresh;   /* its database alone */
    int64_t last_id, sequence;  /* the highest number seen; as the damaged one says, 0: unknown */
    int64_t last_ns;            /* of the engine's clock */
};

/* Of table job, and in a journal of format 1. */
#define JOB_COLUMNS 27
#define JOB_COLUMNS_1 20

/* ---- Rows ----------------------------------------------------------------------------------- */

/* Whether a row has columns of these types: t a text, b bytes, i a number, B and T and I: or NULL.
 */
static bool is_like(const struct pm_journal_row *row, const char *types) {
    if (row->n_columns != strlen(types)) {
        return false;
    }
    for (uint32_t i = 0; i < row->n_columns; ++i) {
        const enum pm_journal_type type = row->columns[i].type;
        const enum pm_journal_type wanted = strchr("tT", types[i]) != NULL   ? PM_JOURNAL_TEXT
                                            : strchr("bB", types[i]) != NULL ? PM_JOURNAL_BYTES
                                                                             : PM_JOURNAL_NUMBER;
        const bool may_be_null = strchr("BTI", types[i]) != NULL;
        if (type != wanted && !(may_be_null && type == PM_JOURNAL_NULL)) {
            return false;
        }
        if (type == PM_JOURNAL_TEXT && strlen(row->columns[i].bytes) != row->columns[i].n_bytes) {
            return false;
        }
    }
    return true;
}

static bool has_bytes(const struct pm_journal_value *value, void *out, uint32_t n_bytes) {
    if (value->n_bytes != n_bytes) {
        return false;
    }
    memcpy(out, value->bytes, n_bytes);
    return true;
}

static bool is_sealed(const struct pm_journal_value *value,
                      const uint8_t seal[PM_JOURNAL_SEAL_BYTES]) {
    return value->n_bytes == PM_JOURNAL_SEAL_BYTES &&
           memcmp(value->bytes, seal, PM_JOURNAL_SEAL_BYTES) == 0;
}

/* Something is left of this job, and not all of it. */
static pm_status note_broken(struct salvage *salvage, int64_t id, pm_error *error) {
    return pm_journal_run(salvage->fresh, error, "INSERT OR IGNORE INTO broken VALUES(?)", "i", id);
}

static void note_number(struct salvage *salvage, int64_t id) {
    salvage->last_id = id > salvage->last_id ? id : salvage->last_id;
}

static void note_time(struct salvage *salvage, uint64_t at_ns) {
    if (at_ns < (uint64_t)TIME_NS_MAX && (int64_t)at_ns > salvage->last_ns) {
        salvage->last_ns = (int64_t)at_ns;
    }
}

#define JOB_VALUES " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

static pm_status put_job(struct pm_journal *fresh, const struct pm_journal_job *job,
                         pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    pm_journal_seal_job(job, seal);
    /* Of two that are good the one with an outcome is the later one. */
    return pm_journal_run(
        fresh, error,
        job->state == PM_JOURNAL_OPEN ? "INSERT OR IGNORE INTO job" JOB_VALUES
                                      : "INSERT OR REPLACE INTO job" JOB_VALUES,
        "ittbiiiiiiiiiiiiittbiiiiiit", (int64_t)job->id, job->request_id, job->key, job->content,
        sizeof job->content, (int64_t)job->priority, (int64_t)job->n_parts, (int64_t)job->n_public,
        (int64_t)job->curve, (int64_t)job->deadline_at_ns, (int64_t)job->accepted_at_ns,
        job->accepted_ms, (int64_t)job->state, (int64_t)job->n_begun, (int64_t)job->status,
        (int64_t)job->is_permanent, (int64_t)job->ended_at_ns, job->ended_ms, job->message,
        job->history, seal, sizeof seal, (int64_t)job->queue_ns, (int64_t)job->key_ns,
        (int64_t)job->prepare_ns, (int64_t)job->prove_ns, (int64_t)job->finish_ns,
        (int64_t)job->n_retries, job->device);
}

/* Behind the seal; rows of format 1 have nothing there. */
static void take_spent(const struct pm_journal_row *row, struct pm_journal_job *job) {
    const struct pm_journal_value *at = row->columns;
    job->device = "";
    if (row->n_columns == JOB_COLUMNS) {
        job->queue_ns = (uint64_t)at[20].number;
        job->key_ns = (uint64_t)at[21].number;
        job->prepare_ns = (uint64_t)at[22].number;
        job->prove_ns = (uint64_t)at[23].number;
        job->finish_ns = (uint64_t)at[24].number;
        job->n_retries = (uint32_t)at[25].number;
        job->device = at[26].bytes;
    }
}

static pm_status take_job(struct salvage *salvage, const struct pm_journal_row *row,
                          pm_error *error) {
    const struct pm_journal_value *at = row->columns;
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    if (!is_like(row, "Ittbiiiiiiiiiiiiittb") && !is_like(row, "Ittbiiiiiiiiiiiiittbiiiiiit")) {
        return note_broken(salvage, row->rowid, error);
    }
    struct pm_journal_job job = {.id = (uint64_t)row->rowid,
                                 .request_id = at[1].bytes,
                                 .key = at[2].bytes,
                                 .priority = (uint32_t)at[4].number,
                                 .n_parts = (uint32_t)at[5].number,
                                 .n_public = (uint32_t)at[6].number,
                                 .curve = (uint32_t)at[7].number,
                                 .deadline_at_ns = (uint64_t)at[8].number,
                                 .accepted_at_ns = (uint64_t)at[9].number,
                                 .accepted_ms = at[10].number,
                                 .state = (enum pm_journal_state)at[11].number,
                                 .n_begun = (uint32_t)at[12].number,
                                 .status = (int32_t)at[13].number,
                                 .is_permanent = at[14].number != 0,
                                 .ended_at_ns = (uint64_t)at[15].number,
                                 .ended_ms = at[16].number,
                                 .message = at[17].bytes,
                                 .history = at[18].bytes};
    take_spent(row, &job);
    const bool has_content = has_bytes(&at[3], job.content, sizeof job.content);
    pm_journal_seal_job(&job, seal);
    if (!has_content || !is_sealed(&at[19], seal) || job.n_parts == 0 || job.n_parts > PARTS_MAX ||
        job.state > PM_JOURNAL_CANCELLED || row->rowid <= 0 || row->rowid > NUMBER_MAX) {
        return note_broken(salvage, row->rowid, error);
    }
    note_number(salvage, row->rowid);
    note_time(salvage, job.accepted_at_ns);
    note_time(salvage, job.ended_at_ns);
    return put_job(salvage->fresh, &job, error);
}

static pm_status put_part(struct pm_journal *fresh, uint64_t id, uint32_t index,
                          const struct pm_journal_part *part, pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    pm_journal_seal_part(id, index, part, seal);
    return pm_journal_run(
        fresh, error,
        part->proof == NULL ? "INSERT OR IGNORE INTO part VALUES(?,?,?,?,?,?,?,?,?,?)"
                            : "INSERT OR REPLACE INTO part VALUES(?,?,?,?,?,?,?,?,?,?)",
        "iitiiibbbb", (int64_t)id, (int64_t)index, part->path, (int64_t)part->is_stored,
        (int64_t)part->is_assignment, (int64_t)part->n_bytes, part->digest, sizeof part->digest,
        part->proof, (size_t)part->proof_bytes, part->publics, (size_t)part->publics_bytes, seal,
        sizeof seal);
}

static pm_status take_part(struct salvage *salvage, const struct pm_journal_row *row,
                           pm_error *error) {
    const struct pm_journal_value *at = row->columns;
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    if (!is_like(row, "iitiiibBBb")) {
        return note_broken(salvage, at[0].number, error);
    }
    struct pm_journal_part part = {.path = at[2].bytes,
                                   .is_stored = at[3].number != 0,
                                   .is_assignment = at[4].number != 0,
                                   .n_bytes = (uint64_t)at[5].number};
    if (at[7].type == PM_JOURNAL_BYTES) {
        part.proof = at[7].bytes;
        part.proof_bytes = at[7].n_bytes;
        part.publics = at[8].type == PM_JOURNAL_BYTES ? at[8].bytes : "";
        part.publics_bytes = at[8].n_bytes;
    }
    const bool has_digest = has_bytes(&at[6], part.digest, sizeof part.digest);
    const int64_t id = at[0].number, index = at[1].number;
    pm_journal_seal_part((uint64_t)id, (uint32_t)index, &part, seal);
    if (!has_digest || !is_sealed(&at[9], seal) || index < 0 || index >= PARTS_MAX || id <= 0 ||
        id > NUMBER_MAX || part.n_bytes > (uint64_t)NUMBER_MAX) {
        return note_broken(salvage, id, error);
    }
    note_number(salvage, id);
    return put_part(salvage->fresh, (uint64_t)id, (uint32_t)index, &part, error);
}

/* Keys have no seal: the next engine reads their files and compares the digests, as none of what is
 * said of the file here is that of a file. */
static pm_status take_key(struct salvage *salvage, const struct pm_journal_row *row,
                          pm_error *error) {
    const struct pm_journal_value *at = row->columns;
    if (!is_like(row, "ttTibIIIII") || at[4].n_bytes != PM_JOURNAL_KEY_DIGEST_BYTES) {
        return PM_OK;
    }
    return pm_journal_run(
        salvage->fresh, error, "INSERT OR REPLACE INTO key VALUES(?, ?, ?, ?, ?, 0, 0, 0, 0, 0)",
        "tttib", at[0].bytes, at[1].bytes, at[2].type == PM_JOURNAL_TEXT ? at[2].bytes : NULL,
        at[3].number, at[4].bytes, (size_t)at[4].n_bytes);
}

static pm_status take_fact(struct salvage *salvage, const struct pm_journal_row *row,
                           pm_error *error) {
    const struct pm_journal_value *name = &row->columns[0], *value = &row->columns[1];
    if (is_like(row, "ti") && strcmp(name->bytes, "last_ns") == 0) {
        note_time(salvage, (uint64_t)value->number);
    } else if (is_like(row, "ti") && strcmp(name->bytes, "offset_ns") == 0) {
        return pm_journal_run(salvage->fresh, error,
                              "INSERT OR REPLACE INTO meta VALUES('offset_ns', ?)", "i",
                              value->number);
    } else if (is_like(row, "tt") && strcmp(name->bytes, "boot") == 0) {
        return pm_journal_run(salvage->fresh, error,
                              "INSERT OR REPLACE INTO meta VALUES('boot', ?)", "t", value->bytes);
    }
    return PM_OK;
}

static pm_status take_row(void *user, const struct pm_journal_row *row, pm_error *error) {
    struct salvage *salvage = user;
    const struct pm_journal_value *at = row->columns;
    if (row->has_rowid && (row->n_columns == JOB_COLUMNS || row->n_columns == JOB_COLUMNS_1)) {
        return take_job(salvage, row, error);
    }
    if (row->has_rowid && is_like(row, "ti") && strcmp(at[0].bytes, "job") == 0 &&
        at[1].number <= NUMBER_MAX && at[1].number > salvage->sequence) {
        salvage->sequence = at[1].number;
    }
    if (!row->has_rowid && row->n_columns == 10) {
        return at[0].type == PM_JOURNAL_NUMBER ? take_part(salvage, row, error)
                                               : take_key(salvage, row, error);
    }
    return row->has_rowid ? PM_OK : take_fact(salvage, row, error);
}

/* ---- What is not whole ---------------------------------------------------------------------- */

/* Jobs of which something is left, and that have not all that they need: a job without an outcome
 * all of its parts, one that is done their proofs too. */
static const char find_lost[] =
    "CREATE TEMP TABLE lost AS SELECT id FROM (SELECT id FROM broken UNION SELECT job FROM part"
    "  UNION SELECT id FROM job) AS left_over WHERE id BETWEEN 1 AND ? AND NOT EXISTS"
    "  (SELECT 1 FROM job WHERE job.id = left_over.id AND (job.state IN (2, 3) OR"
    "    job.n_parts = (SELECT count(*) FROM part WHERE part.job = job.id AND part.part < n_parts"
    "      AND (job.state = 0 OR part.proof IS NOT NULL)))) ORDER BY id";

/* A job of which nobody knows any more what it was has failed, and says why. */
static pm_status bury(struct salvage *salvage, int64_t id, pm_error *error) {
    struct pm_journal *fresh = salvage->fresh;
    char request_id[256] = "", key[256] = "", sql[96];
    int64_t accepted_ms = 0;
    (void)snprintf(sql, sizeof sql, "SELECT request_id FROM job WHERE id=%lld", (long long)id);
    (void)pm_journal_query(fresh, sql, NULL, request_id, sizeof request_id);
    (void)snprintf(sql, sizeof sql, "SELECT key FROM job WHERE id=%lld", (long long)id);
    (void)pm_journal_query(fresh, sql, NULL, key, sizeof key);
    (void)snprintf(sql, sizeof sql, "SELECT accepted_ms FROM job WHERE id=%lld", (long long)id);
    (void)pm_journal_query(fresh, sql, &accepted_ms, NULL, 0);
    const struct pm_journal_part part = {.path = ""};
    const struct pm_journal_job job = {
        .id = (uint64_t)id,
        .request_id = request_id,
        .key = key,
        .n_parts = 1,
        .accepted_at_ns = (uint64_t)salvage->last_ns,
        .accepted_ms = accepted_ms,
        .state = PM_JOURNAL_FAILED,
        .status = PM_INTERNAL,
        .ended_at_ns = (uint64_t)salvage->last_ns,
        .message = "its record was lost when the journal was damaged: submit it again",
        .history = "",
        .device = ""};
    PM_TRY(pm_journal_run(fresh, error, "DELETE FROM part WHERE job=?", "i", id));
    PM_TRY(put_job(fresh, &job, error));
    return put_part(fresh, (uint64_t)id, 0, &part, error);
}

/* Of a job that ended without proofs nobody needs its parts; they are there for the reader. */
static pm_status complete(struct salvage *salvage, int64_t id, int64_t n_parts, pm_error *error) {
    const struct pm_journal_part part = {.path = ""};
    for (int64_t i = 0; i < n_parts; ++i) {
        PM_TRY(put_part(salvage->fresh, (uint64_t)id, (uint32_t)i, &part, error));
    }
    return PM_OK;
}

/* Calls for each row of two numbers. */
static pm_status for_each(struct salvage *salvage, const char *sql,
                          pm_status (*call)(struct salvage *, int64_t, int64_t, pm_error *),
                          pm_error *error) {
    sqlite3_stmt *row = NULL;
    pm_status status = PM_OK;
    int code = sqlite3_prepare_v2(salvage->fresh->db, sql, -1, &row, NULL);
    while (code == SQLITE_OK && status == PM_OK && sqlite3_step(row) == SQLITE_ROW) {
        status = call(salvage, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), error);
    }
    const int ended = sqlite3_finalize(row);
    code = code == SQLITE_OK ? ended : code;
    return status == PM_OK && code != SQLITE_OK
               ? pm_journal_failed(salvage->fresh, code, "salvaging", error)
               : status;
}

static pm_status bury_one(struct salvage *salvage, int64_t id, int64_t unused, pm_error *error) {
    (void)unused;
    return bury(salvage, id, error);
}

static pm_status settle(struct salvage *salvage, pm_error *error) {
    struct pm_journal *fresh = salvage->fresh;
    const int64_t last_id =
        (salvage->sequence > salvage->last_id ? salvage->sequence : salvage->last_id) +
        SKIPPED_NUMBERS;
    PM_TRY(pm_journal_run(fresh, error, find_lost, "i", last_id));
    PM_TRY(for_each(salvage, "SELECT id, 0 FROM lost", bury_one, error));
    PM_TRY(for_each(salvage,
                    "SELECT id, n_parts FROM job WHERE state IN (2, 3) AND n_parts <>"
                    " (SELECT count(*) FROM part WHERE part.job = job.id)",
                    complete, error));
    PM_TRY(pm_journal_run(fresh, error, "INSERT OR REPLACE INTO meta VALUES('last_ns', ?)", "i",
                          salvage->last_ns));
    PM_TRY(pm_journal_run(fresh, error, "DELETE FROM sqlite_sequence", ""));
    return pm_journal_run(fresh, error, "INSERT INTO sqlite_sequence VALUES('job', ?)", "i",
                          last_id);
}

static uint32_t count(struct pm_journal *fresh, const char *sql) {
    int64_t n = 0;
    (void)pm_journal_query(fresh, sql, &n, NULL, 0);
    return (uint32_t)n;
}

static pm_status report(struct pm_journal *fresh, struct pm_journal_salvaged *salvaged,
                        uint64_t *lost, uint32_t *n_lost, pm_error *error) {
    sqlite3_stmt *row = NULL;
    uint32_t n = 0;
    salvaged->n_lost = count(fresh, "SELECT count(*) FROM lost");
    salvaged->n_keys = count(fresh, "SELECT count(*) FROM key");
    salvaged->n_jobs = count(fresh, "SELECT count(*) FROM job") - salvaged->n_lost;
    salvaged->n_open = count(fresh, "SELECT count(*) FROM job WHERE state=0");
    if (n_lost == NULL) {
        return PM_OK;
    }
    int code = sqlite3_prepare_v2(fresh->db, "SELECT id FROM lost ORDER BY id", -1, &row, NULL);
    while (code == SQLITE_OK && lost != NULL && n < *n_lost && sqlite3_step(row) == SQLITE_ROW) {
        lost[n++] = (uint64_t)sqlite3_column_int64(row, 0);
    }
    *n_lost = n;
    const int ended = sqlite3_finalize(row);
    code = code == SQLITE_OK ? ended : code;
    return code == SQLITE_OK ? PM_OK : pm_journal_failed(fresh, code, "salvaging", error);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static pm_status sync_file(const struct pm_journal *journal, const char *name, pm_error *error) {
    const int fd = openat(journal->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool is_synced = fd >= 0 && fsync(fd) == 0;
    const int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_synced ? PM_OK
                     : pm_error_set_errno(error, PM_IO, why, journal->folder,
                                          "the salvaged journal cannot be brought to the disk");
}

static pm_status rename_file(const struct pm_journal *journal, const char *from, const char *to,
                             pm_error *error) {
    return renameat(journal->folder_fd, from, journal->folder_fd, to) == 0
               ? PM_OK
               : pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                    "a file of the journal cannot be renamed");
}

static pm_status sync_folder(const struct pm_journal *journal, pm_error *error) {
    return fsync(journal->folder_fd) == 0
               ? PM_OK
               : pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                    "the journal's folder cannot be brought to the disk");
}

static bool is_there(const struct pm_journal *journal, const char *name) {
    return faccessat(journal->folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The first name that no damaged journal has. */
static void name_damaged(const struct pm_journal *journal, char name[64]) {
    uint32_t n = 1;
    do {
        (void)snprintf(name, 64, PM_JOURNAL_FILE ".damaged-%u", n++);
    } while (is_there(journal, name));
}

/* The log goes first: as long as the damaged file is in its place, its name is the same when this
 * is done again. */
static pm_status move_damaged(const struct pm_journal *journal, const char *name, pm_error *error) {
    char log_name[80];
    (void)snprintf(log_name, sizeof log_name, "%s-wal", name);
    if (is_there(journal, PM_JOURNAL_LOG_FILE)) {
        PM_TRY(rename_file(journal, PM_JOURNAL_LOG_FILE, log_name, error));
    }
    if (is_there(journal, PM_JOURNAL_FILE)) {
        PM_TRY(rename_file(journal, PM_JOURNAL_FILE, name, error));
    }
    (void)unlinkat(journal->folder_fd, PM_JOURNAL_FILE "-shm", 0);
    return sync_folder(journal, error);
}

pm_status pm_journal_finish_salvage(struct pm_journal *journal, pm_error *error) {
    char name[64];
    if (!is_there(journal, SALVAGED_FILE)) {
        return PM_OK;
    }
    name_damaged(journal, name);
    PM_TRY(move_damaged(journal, name, error));
    PM_TRY(rename_file(journal, SALVAGED_FILE, PM_JOURNAL_FILE, error));
    return sync_folder(journal, error);
}

/* ---- The whole ------------------------------------------------------------------------------ */

static pm_status open_fresh(const struct pm_journal *damaged, struct pm_journal *fresh,
                            pm_error *error) {
    static const char *const pragmas[] = {"PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF",
                                          "PRAGMA temp_store=MEMORY"};
    char path[sizeof damaged->folder + 32];
    (void)snprintf(fresh->folder, sizeof fresh->folder, "%s", damaged->folder);
    (void)unlinkat(damaged->folder_fd, NEW_FILE, 0);
    const int fd = openat(damaged->folder_fd, NEW_FILE,
                          O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, damaged->folder,
                                  "a journal to salvage into cannot be made");
    }
    (void)close(fd);
    (void)snprintf(path, sizeof path, "%s/" NEW_FILE, damaged->folder);
    const int code =
        sqlite3_open_v2(path, &fresh->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        return pm_journal_failed(fresh, code, "making another", error);
    }
    for (size_t i = 0; i < sizeof pragmas / sizeof pragmas[0]; ++i) {
        PM_TRY(pm_journal_run(fresh, error, pragmas[i], ""));
    }
    PM_TRY(pm_journal_make_tables(fresh, error));
    PM_TRY(pm_journal_run(fresh, error, "CREATE TEMP TABLE broken(id INTEGER PRIMARY KEY)", ""));
    return pm_journal_run(fresh, error, "BEGIN", "");
}

static pm_status fill_fresh(struct salvage *salvage, struct pm_journal_salvaged *salvaged,
                            uint64_t *lost, uint32_t *n_lost, pm_error *error) {
    struct pm_journal_pages_facts facts;
    PM_TRY(open_fresh(salvage->damaged, salvage->fresh, error));
    PM_TRY(pm_journal_pages_read(salvage->damaged->folder_fd, PM_JOURNAL_FILE, PM_JOURNAL_LOG_FILE,
                                 take_row, salvage, &facts, error));
    PM_FAIL_IF(facts.version > PM_JOURNAL_FORMAT, error, PM_VERSION,
               "the damaged journal has version %lld, this proofmill knows %d",
               (long long)facts.version, PM_JOURNAL_FORMAT);
    PM_TRY(settle(salvage, error));
    PM_TRY(report(salvage->fresh, salvaged, lost, n_lost, error));
    return pm_journal_run(salvage->fresh, error, "COMMIT", "");
}

static pm_status salvage_all(struct pm_journal *damaged, struct pm_journal_salvaged *salvaged,
                             uint64_t *lost, uint32_t *n_lost, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "salvaged journal", sizeof(struct pm_journal), PM_MEMORY_PLAIN,
                           &buffer, error));
    struct salvage salvage = {.damaged = damaged, .fresh = buffer};
    pm_status status = fill_fresh(&salvage, salvaged, lost, n_lost, error);
    const int code = sqlite3_close(salvage.fresh->db);
    if (status == PM_OK && code != SQLITE_OK) {
        status = pm_journal_failed(salvage.fresh, code, "closing it", error);
    }
    pm_memory_free(buffer);
    if (status == PM_OK) {
        status = sync_file(damaged, NEW_FILE, error);
    }
    if (status == PM_OK) {
        status = rename_file(damaged, NEW_FILE, SALVAGED_FILE, error);
    }
    if (status != PM_OK) {
        (void)unlinkat(damaged->folder_fd, NEW_FILE, 0);
        return status;
    }
    PM_TRY(sync_folder(damaged, error));
    name_damaged(damaged, salvaged->damaged_file);
    return pm_journal_finish_salvage(damaged, error);
}

pm_status pm_journal_salvage(const char *folder, struct pm_journal_salvaged *salvaged,
                             uint64_t *lost, uint32_t *n_lost, pm_error *error) {
    struct pm_journal *journal = NULL;
    *salvaged = (struct pm_journal_salvaged){0};
    PM_TRY(pm_journal_open_damaged(folder, &journal, &salvaged->was_damaged, error));
    pm_status status = PM_OK;
    if (salvaged->was_damaged) {
        status = salvage_all(journal, salvaged, lost, n_lost, error);
    } else if (n_lost != NULL) {
        *n_lost = 0;
    }
    pm_journal_close(journal);
    return status;
}
