/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/journal_internal.h"

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "engine/journal_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS key(name TEXT PRIMARY KEY, path TEXT NOT NULL, r1cs_path TEXT,"
    "  verification INTEGER NOT NULL, digest BLOB NOT NULL, device INTEGER, inode INTEGER,"
    "  n_bytes INTEGER, modified_ns INTEGER, changed_ns INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS job(id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  request_id TEXT NOT NULL, key TEXT NOT NULL, content BLOB NOT NULL,"
    "  priority INTEGER NOT NULL, n_parts INTEGER NOT NULL, n_public INTEGER NOT NULL,"
    "  curve INTEGER NOT NULL, deadline_at_ns INTEGER NOT NULL, accepted_at_ns INTEGER NOT NULL,"
    "  accepted_ms INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0,"
    "  n_begun INTEGER NOT NULL DEFAULT 0, status INTEGER NOT NULL DEFAULT 0,"
    "  is_permanent INTEGER NOT NULL DEFAULT 0, ended_at_ns INTEGER NOT NULL DEFAULT 0,"
    "  ended_ms INTEGER NOT NULL DEFAULT 0, message TEXT NOT NULL DEFAULT '',"
    "  history TEXT NOT NULL DEFAULT '', seal BLOB NOT NULL,"
    "  queue_ns INTEGER NOT NULL DEFAULT 0, key_ns INTEGER NOT NULL DEFAULT 0,"
    "  prepare_ns INTEGER NOT NULL DEFAULT 0, prove_ns INTEGER NOT NULL DEFAULT 0,"
    "  finish_ns INTEGER NOT NULL DEFAULT 0, n_retries INTEGER NOT NULL DEFAULT 0,"
    "  device TEXT NOT NULL DEFAULT '');"
    "CREATE TABLE IF NOT EXISTS part(job INTEGER NOT NULL, part INTEGER NOT NULL,"
    "  path TEXT NOT NULL, is_stored INTEGER NOT NULL, is_assignment INTEGER NOT NULL,"
    "  n_bytes INTEGER NOT NULL, digest BLOB NOT NULL, proof BLOB, publics BLOB,"
    "  seal BLOB NOT NULL, PRIMARY KEY(job, part)) WITHOUT ROWID;";

/* From format 1. */
static const char more_columns[] =
    "ALTER TABLE job ADD COLUMN queue_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN key_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN prepare_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN prove_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN finish_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN n_retries INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN device TEXT NOT NULL DEFAULT '';";

/* ---- Statements ----------------------------------------------------------------------------- */

pm_status pm_journal_failed(struct pm_journal *journal, int code, const char *what,
                            pm_error *error) {
    pm_status status = PM_IO;
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        pm_error_set(error, PM_ENCODING,
                     "the journal is damaged (%s: %s): salvage it, or bring back a copy", what,
                     sqlite3_errstr(code));
        status = PM_ENCODING;
        break;
    case SQLITE_NOMEM:
        pm_error_set(error, PM_NO_MEMORY, "out of memory for the journal (%s)", what);
        status = PM_NO_MEMORY;
        break;
    case SQLITE_FULL:
        pm_error_set(error, PM_IO, "the journal cannot be written (%s): the disk is full", what);
        break;
    default:
        pm_error_set(error, PM_IO, "the journal cannot be used (%s): %s", what,
                     journal->db != NULL ? sqlite3_errmsg(journal->db) : sqlite3_errstr(code));
    }
    pm_error_at(error, journal->folder, PM_NO_OFFSET);
    return status;
}

static int bind_all(sqlite3_stmt *statement, const char *types, va_list values) {
    int code = SQLITE_OK;
    for (int i = 1; types[i - 1] != '\0' && code == SQLITE_OK; ++i) {
        if (types[i - 1] == 'i') {
            code = sqlite3_bind_int64(statement, i, va_arg(values, int64_t));
        } else if (types[i - 1] == 't') {
            code = sqlite3_bind_text(statement, i, va_arg(values, const char *), -1, SQLITE_STATIC);
        } else {
            const void *bytes = va_arg(values, const void *);
            const size_t n_bytes = va_arg(values, size_t);
            code = bytes == NULL ? sqlite3_bind_null(statement, i)
                                 : sqlite3_bind_blob64(statement, i, bytes, n_bytes, SQLITE_STATIC);
        }
    }
    return code;
}

pm_status pm_journal_run(struct pm_journal *journal, pm_error *error, const char *sql,
                         const char *types, ...) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(journal->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        va_list values;
        va_start(values, types);
        code = bind_all(statement, types, values);
        va_end(values);
    }
    if (code == SQLITE_OK) {
        do {
            code = sqlite3_step(statement);
        } while (code == SQLITE_ROW);
    }
    const pm_status status =
        code == SQLITE_DONE ? PM_OK : pm_journal_failed(journal, code, "writing", error);
    (void)sqlite3_finalize(statement);
    return status;
}

int pm_journal_changed(struct pm_journal *journal) {
    return sqlite3_changes(journal->db);
}

/* Whether the file is still where the next engine will look for it: in one that was removed or
 * moved away everything would be written well, and lost. */
static pm_status check_place(struct pm_journal *journal, pm_error *error) {
    char path[sizeof journal->folder + 16];
    struct stat now;
    (void)snprintf(path, sizeof path, "%s/" PM_JOURNAL_FILE, journal->folder);
    const bool is_there =
        !journal->is_placed ||
        (stat(path, &now) == 0 && now.st_dev == journal->device && now.st_ino == journal->inode);
    PM_FAIL_IF(!is_there, error, PM_IO,
               "the journal %s has been removed or moved: bring it back, or start anew", path);
    return PM_OK;
}

pm_status pm_journal_enter(struct pm_journal *journal, pm_error *error) {
    (void)pthread_mutex_lock(&journal->lock);
    pm_status status = check_place(journal, error);
    if (status == PM_OK) {
        status = pm_journal_run(journal, error, "BEGIN IMMEDIATE", "");
    }
    if (status != PM_OK) {
        (void)pthread_mutex_unlock(&journal->lock);
    }
    return status;
}

pm_status pm_journal_leave(struct pm_journal *journal, pm_status status, pm_error *error) {
    if (status == PM_OK) {
        status = pm_journal_run(journal, error, "COMMIT", "");
    }
    if (status != PM_OK && sqlite3_get_autocommit(journal->db) == 0) {
        (void)pm_journal_run(journal, NULL, "ROLLBACK", "");
    }
    (void)pthread_mutex_unlock(&journal->lock);
    return status;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static pm_status lock_folder(struct pm_journal *journal, pm_error *error) {
    journal->folder_fd = open(journal->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->folder_fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                  "the journal's folder cannot be opened");
    }
    journal->lock_fd =
        openat(journal->folder_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->lock_fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                  "the journal's lock cannot be made");
    }
    if (flock(journal->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK
                   ? pm_error_set(error, PM_IO, "another engine uses the journal in %s",
                                  journal->folder)
                   : pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                        "the journal cannot be locked");
    }
    return pm_journal_finish_salvage(journal, error);
}

/* SQLite would make it readable for others. make: unless it is there. */
static pm_status open_file(struct pm_journal *journal, bool make, pm_error *error) {
    const int fd = openat(journal->folder_fd, PM_JOURNAL_FILE,
                          O_RDWR | (make ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                  "the journal cannot be opened");
    }
    struct stat facts;
    journal->is_placed = fstat(fd, &facts) == 0;
    if (journal->is_placed) {
        journal->device = facts.st_dev;
        journal->inode = facts.st_ino;
    }
    (void)close(fd);
    return PM_OK;
}

int pm_journal_query(struct pm_journal *journal, const char *sql, int64_t *number, char *text,
                     size_t text_bytes) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(journal->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW && number != NULL) {
        *number = sqlite3_column_int64(statement, 0);
    }
    if (code == SQLITE_ROW && text != NULL) {
        const unsigned char *value = sqlite3_column_text(statement, 0);
        (void)snprintf(text, text_bytes, "%s", value != NULL ? (const char *)value : "");
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static pm_status check_whole(struct pm_journal *journal, pm_error *error) {
    char answer[128] = "";
    const int code =
        pm_journal_query(journal, "PRAGMA quick_check(1)", NULL, answer, sizeof answer);
    if (code != SQLITE_ROW) {
        return pm_journal_failed(journal, code, "checking it", error);
    }
    if (strcmp(answer, "ok") != 0) {
        pm_error_set(error, PM_ENCODING,
                     "the journal is damaged (%s): salvage it, or bring back a copy", answer);
        pm_error_at(error, journal->folder, PM_NO_OFFSET);
        return PM_ENCODING;
    }
    return PM_OK;
}

/* In one transaction: the tables are those of one format or of the other. */
static int make_tables(struct pm_journal *journal) {
    int64_t n = 0;
    int code = sqlite3_exec(journal->db, schema, NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        code = pm_journal_query(journal,
                                "SELECT count(*) FROM pragma_table_info('job')"
                                " WHERE name='device'",
                                &n, NULL, 0);
        code = code == SQLITE_ROW ? SQLITE_OK : code;
    }
    if (code == SQLITE_OK && n == 0) {
        code = sqlite3_exec(journal->db, more_columns, NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_exec(journal->db, "PRAGMA user_version=2", NULL, NULL, NULL);
    }
    return code;
}

pm_status pm_journal_make_tables(struct pm_journal *journal, pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    const int code = make_tables(journal);
    return pm_journal_leave(
        journal,
        code == SQLITE_OK ? PM_OK : pm_journal_failed(journal, code, "making its tables", error),
        error);
}

static pm_status check_log(struct pm_journal *journal, pm_error *error) {
    bool is_damaged;
    PM_TRY(pm_journal_log_check(journal->folder_fd, PM_JOURNAL_LOG_FILE, &is_damaged, error));
    if (is_damaged) {
        pm_error_set(error, PM_ENCODING,
                     "the journal's log is damaged: salvage it, or bring back a copy");
        pm_error_at(error, journal->folder, PM_NO_OFFSET);
        return PM_ENCODING;
    }
    return PM_OK;
}

static pm_status open_database(struct pm_journal *journal, pm_error *error) {
    static const char *const pragmas[] = {"PRAGMA journal_mode=WAL",  "PRAGMA synchronous=FULL",
                                          "PRAGMA secure_delete=ON",  "PRAGMA foreign_keys=OFF",
                                          "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-256",
                                          "PRAGMA cell_size_check=ON"};
    char path[sizeof journal->folder + 16];
    PM_TRY(check_log(journal, error));
    (void)snprintf(path, sizeof path, "%s/" PM_JOURNAL_FILE, journal->folder);
    int code =
        sqlite3_open_v2(path, &journal->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        return pm_journal_failed(journal, code, "opening it", error);
    }
    (void)sqlite3_extended_result_codes(journal->db, 1);
    (void)sqlite3_busy_timeout(journal->db, 5000);
    /* Of a damaged file nothing is changed: what its log has may be all that is left. */
    (void)sqlite3_db_config(journal->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    for (size_t i = 0; i < sizeof pragmas / sizeof pragmas[0]; ++i) {
        PM_TRY(pm_journal_run(journal, error, pragmas[i], ""));
    }
    PM_TRY(check_whole(journal, error));
    int64_t format = 0;
    code = pm_journal_query(journal, "PRAGMA user_version", &format, NULL, 0);
    if (code != SQLITE_ROW) {
        return pm_journal_failed(journal, code, "reading its version", error);
    }
    PM_FAIL_IF(format > PM_JOURNAL_FORMAT, error, PM_VERSION,
               "the journal has version %lld, this proofmill knows %d", (long long)format,
               PM_JOURNAL_FORMAT);
    PM_TRY(pm_journal_make_tables(journal, error));
    (void)sqlite3_db_config(journal->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return PM_OK;
}

/* Goes on where the last engine's clock stood: exactly, if the machine has not been started anew
 * since. */
static pm_status set_clock(struct pm_journal *journal, pm_error *error) {
    char boot[64] = "", boot_before[64] = "";
    int64_t offset_ns = 0, last_ns = 0;
    (void)pm_small_file_read(BOOT_ID_PATH, boot, sizeof boot);
    (void)pm_journal_query(journal, "SELECT value FROM meta WHERE name='boot'", NULL, boot_before,
                           sizeof boot_before);
    (void)pm_journal_query(journal, "SELECT value FROM meta WHERE name='offset_ns'", &offset_ns,
                           NULL, 0);
    (void)pm_journal_query(journal, "SELECT value FROM meta WHERE name='last_ns'", &last_ns, NULL,
                           0);
    const int64_t now_ns = (int64_t)pm_clock_now_ns();
    if (boot[0] == '\0' || strcmp(boot, boot_before) != 0 || now_ns + offset_ns < last_ns) {
        offset_ns = last_ns - now_ns;
    }
    journal->clock_offset_ns = offset_ns;
    PM_TRY(pm_journal_enter(journal, error));
    pm_status status = pm_journal_run(
        journal, error, "INSERT OR REPLACE INTO meta VALUES('boot', ?),('offset_ns', ?)", "ti",
        boot, offset_ns);
    return pm_journal_leave(journal, status, error);
}

static pm_status make_journal(const char *folder, struct pm_journal **journal, pm_error *error) {
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "journal", sizeof(struct pm_journal), PM_MEMORY_PLAIN, &buffer,
                           error));
    struct pm_journal *made = buffer;
    made->lock_fd = made->folder_fd = -1;
    if (pthread_mutex_init(&made->lock, NULL) != 0 ||
        pthread_mutex_init(&made->arrivals_lock, NULL) != 0 ||
        pthread_cond_init(&made->answered, NULL) != 0) {
        pm_memory_free(made);
        PM_FAIL(error, PM_NO_MEMORY, "a lock could not be made");
    }
    const int length = snprintf(made->folder, sizeof made->folder, "%s", folder);
    if (length <= 0 || (size_t)length >= sizeof made->folder) {
        pm_journal_close(made);
        PM_FAIL(error, PM_INVALID_ARGUMENT,
                "the journal's folder has no name, or one of more than %zu bytes",
                sizeof made->folder - 1);
    }
    *journal = made;
    return PM_OK;
}

static pm_status open_journal(struct pm_journal *made, pm_error *error) {
    if (mkdir(made->folder, 0700) != 0 && errno != EEXIST) {
        return pm_error_set_errno(error, PM_IO, errno, made->folder,
                                  "the journal's folder cannot be made");
    }
    PM_TRY(lock_folder(made, error));
    PM_TRY(open_file(made, true, error));
    PM_TRY(open_database(made, error));
    return set_clock(made, error);
}

pm_status pm_journal_open(const char *folder, struct pm_journal **journal, pm_error *error) {
    struct pm_journal *made = NULL;
    PM_TRY(make_journal(folder, &made, error));
    const pm_status status = open_journal(made, error);
    if (status != PM_OK) {
        pm_journal_close(made);
        return status;
    }
    *journal = made;
    return PM_OK;
}

pm_status pm_journal_open_damaged(const char *folder, struct pm_journal **journal, bool *is_damaged,
                                  pm_error *error) {
    struct pm_journal *made = NULL;
    pm_error why = PM_ERROR_INIT;
    PM_TRY(make_journal(folder, &made, error));
    pm_status status = lock_folder(made, error);
    if (status == PM_OK) {
        status = open_file(made, false, error);
    }
    if (status == PM_OK) {
        status = open_database(made, &why);
        *is_damaged = status == PM_ENCODING;
        if (*is_damaged) {
            (void)sqlite3_close(made->db);
            made->db = NULL;
            status = PM_OK;
        } else if (status != PM_OK) {
            pm_error_copy(error, &why);
        }
    }
    if (status != PM_OK) {
        pm_journal_close(made);
        return status;
    }
    *journal = made;
    return PM_OK;
}

void pm_journal_close(struct pm_journal *journal) {
    if (journal == NULL) {
        return;
    }
    (void)sqlite3_close(journal->db);
    if (journal->lock_fd >= 0) {
        (void)close(journal->lock_fd);
    }
    if (journal->folder_fd >= 0) {
        (void)close(journal->folder_fd);
    }
    (void)pthread_cond_destroy(&journal->answered);
    (void)pthread_mutex_destroy(&journal->arrivals_lock);
    (void)pthread_mutex_destroy(&journal->lock);
    pm_memory_free(journal);
}

int64_t pm_journal_clock_offset_ns(const struct pm_journal *journal) {
    return journal->clock_offset_ns;
}
