/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* engine/journal_internal.h - what the files of the journal share. */
#ifndef PM_ENGINE_JOURNAL_INTERNAL_H
#define PM_ENGINE_JOURNAL_INTERNAL_H

#include "engine/journal.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

#define PM_JOURNAL_SEAL_BYTES 16

/* A job that somebody waits to have on record. */
struct pm_journal_arrival {
    struct pm_journal_arrival *next;
    const struct pm_journal_job *job;
    uint64_t id;
    pm_status status;
    pm_error error;
    bool is_answered;
};

struct pm_journal {
    pthread_mutex_t lock; /* of the connection */
    sqlite3 *db;
    int lock_fd, folder_fd;
    bool is_placed; /* the file has been opened, and is: */
    dev_t device;
    ino_t inode;
    int64_t clock_offset_ns;
    char folder[1024];
    /* Jobs that arrive while others are being written go to the disk together after them. */
    pthread_mutex_t arrivals_lock;
    pthread_cond_t answered;
    struct pm_journal_arrival *first, *last;
    bool is_writing;
};

/* Files of the folder. */
#define PM_JOURNAL_FILE "journal.db"
#define PM_JOURNAL_LOG_FILE "journal.db-wal"
/* 2: job has what was spent on it, behind its seal. Rows of format 1 end with the seal. */
#define PM_JOURNAL_FORMAT 2

/* The folder is locked. *is_damaged: the database cannot be used, and is not open; nothing has been
 * written to it. Errors: as pm_journal_open(), but for damage; IO when there is no journal. */
pm_status pm_journal_open_damaged(const char *folder, struct pm_journal **journal, bool *is_damaged,
                                  pm_error *error);
/* In a database that has none. */
pm_status pm_journal_make_tables(struct pm_journal *journal, pm_error *error);
/* What was salvaged takes the place of the damaged files, if that was begun; under the folder's
 * lock. */
pm_status pm_journal_finish_salvage(struct pm_journal *journal, pm_error *error);
/* The first column of the first row: a number, or a text. SQLITE_DONE: there is none. */
int pm_journal_query(struct pm_journal *journal, const char *sql, int64_t *number, char *text,
                     size_t text_bytes);

/* The status and sentence for a code of SQLite's. */
pm_status pm_journal_failed(struct pm_journal *journal, int code, const char *what,
                            pm_error *error);
/*
 * One statement that returns no rows. types has a letter for each ? in it: i an int64_t, t a text
 * (NULL is fine), b bytes (a pointer, a size_t). Under the lock.
 */
pm_status pm_journal_run(struct pm_journal *journal, pm_error *error, const char *sql,
                         const char *types, ...);
/* Takes the lock and begins a transaction; on failure the lock is free again. */
pm_status pm_journal_enter(struct pm_journal *journal, pm_error *error);
/* Commits, or rolls back unless status is OK; frees the lock. Returns what became of it. */
pm_status pm_journal_leave(struct pm_journal *journal, pm_status status, pm_error *error);
/* Rows of the last statement that changed something. */
int pm_journal_changed(struct pm_journal *journal);

/* What makes a row's seal. */
void pm_journal_seal_job(const struct pm_journal_job *job, uint8_t seal[PM_JOURNAL_SEAL_BYTES]);
void pm_journal_seal_part(uint64_t id, uint32_t index, const struct pm_journal_part *part,
                          uint8_t seal[PM_JOURNAL_SEAL_BYTES]);

#endif
