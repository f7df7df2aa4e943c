/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * engine/journal.h - what has been accepted and what became of it, on disk before anybody is told.
 *
 *     FOLDER/lock           held while an engine uses the folder
 *     FOLDER/journal.db     SQLite, write-ahead log, synchronous FULL: keys, jobs, parts
 *     FOLDER/journal.db.damaged-N    one that was, and from which that was salvaged
 *     FOLDER/input-HEX      inputs that were handed over as bytes; mode 0600, overwritten when done
 *
 * Jobs have numbers in the order in which they were accepted; nothing is ordered by a clock. Each
 * row of jobs and parts carries a seal, a digest of what it says: a damaged row is known as one.
 *
 * Every function may be called from any thread; each takes the journal's lock, and those that write
 * return when the disk has it. What failed has not happened and may be tried again.
 */
#ifndef PM_ENGINE_JOURNAL_H
#define PM_ENGINE_JOURNAL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define PM_JOURNAL_DIGEST_BYTES 32
#define PM_JOURNAL_KEY_DIGEST_BYTES 64
#define PM_JOURNAL_STORED_NAME_BYTES 48 /* "input-" and 32 digits, the NUL included */

struct pm_journal;

/* Errors: IO (cannot be made or written; another engine has it), ENCODING (damaged, or not a
 * journal), VERSION, NO_MEMORY. */
pm_status pm_journal_open(const char *folder, struct pm_journal **journal, pm_error *error);
/* NULL is fine. */
void pm_journal_close(struct pm_journal *journal);

/* What became of a damaged journal. */
struct pm_journal_salvaged {
    bool was_damaged; /* false: nothing has been changed */
    uint32_t n_keys, n_jobs, n_open, n_lost;
    char damaged_file[64];
};

/*
 * Makes a journal of all rows of a damaged one whose pages can still be read and whose seals are
 * good. A job that is not whole any more is on record as failed. The damaged files stay beside it.
 * lost: at most *n_lost of their numbers (both may be NULL). A kill or a loss of power leaves the
 * damaged journal or the salvaged one. Errors: as pm_journal_open(), but for damage.
 */
pm_status pm_journal_salvage(const char *folder, struct pm_journal_salvaged *salvaged,
                             uint64_t *lost, uint32_t *n_lost, pm_error *error);

/* The engine's clock is CLOCK_MONOTONIC plus this: it goes on across processes, and from one start
 * of the machine to the next. */
int64_t pm_journal_clock_offset_ns(const struct pm_journal *journal);

/* ---- Keys ----------------------------------------------------------------------------------- */

/* A file as it was when its digest was taken. */
struct pm_journal_file {
    uint64_t device, inode, n_bytes;
    int64_t modified_ns, changed_ns;
};

struct pm_journal_key {
    const char *name, *path, *r1cs_path; /* r1cs_path NULL: none */
    uint32_t check;
    uint8_t digest[PM_JOURNAL_KEY_DIGEST_BYTES];
    struct pm_journal_file file;
};

/* Adds it or replaces the one of its name. */
pm_status pm_journal_keep_key(struct pm_journal *journal, const struct pm_journal_key *key,
                              pm_error *error);
pm_status pm_journal_drop_key(struct pm_journal *journal, const char *name, pm_error *error);

/* ---- Jobs ----------------------------------------------------------------------------------- */

enum pm_journal_state {
    PM_JOURNAL_OPEN = 0, /* accepted, not ended */
    PM_JOURNAL_DONE = 1,
    PM_JOURNAL_FAILED = 2,
    PM_JOURNAL_CANCELLED = 3
};

struct pm_journal_part {
    const char *path; /* of the input, or the name of one that is stored here */
    bool is_stored;
    bool is_assignment; /* else a witness */
    uint64_t n_bytes;
    uint8_t digest[PM_JOURNAL_DIGEST_BYTES];
    const void *proof; /* NULL: not proved */
    uint32_t proof_bytes;
    const void *publics;
    uint32_t publics_bytes;
};

struct pm_journal_job {
    uint64_t id;
    const char *request_id; /* "": none */
    const char *key;
    uint8_t content[PM_JOURNAL_DIGEST_BYTES]; /* of the key's digest and the inputs' */
    uint32_t priority;
    uint32_t n_parts, n_public, curve;
    uint64_t deadline_at_ns; /* of the engine's clock; 0: none */
    uint64_t accepted_at_ns;
    int64_t accepted_ms; /* of the wall clock, for people */
    const struct pm_journal_part *parts;
    /* What came after. */
    enum pm_journal_state state;
    uint32_t n_begun; /* engines that began with it and did not end it */
    int32_t status;
    bool is_permanent;
    uint64_t ended_at_ns;
    int64_t ended_ms;
    const char *message, *history;
    /* What was spent on it, for people, as a pm_engine_job has it; all 0 and "": not on record, as
     * in a journal of format 1. */
    uint64_t queue_ns, key_ns, prepare_ns, prove_ns, finish_ns;
    uint32_t n_retries;
    const char *device; /* its name */
    bool is_damaged;    /* read: a seal of it is broken */
};

/* job->id and what came after are not looked at. *id is its number. */
pm_status pm_journal_accept(struct pm_journal *journal, const struct pm_journal_job *job,
                            uint64_t *id, pm_error *error);
/* An engine begins with it: counted, so that a job which ends the process does so a few times only.
 */
pm_status pm_journal_begin(struct pm_journal *journal, uint64_t id, pm_error *error);
/* It gave it up in good order. */
pm_status pm_journal_unbegin(struct pm_journal *journal, uint64_t id, pm_error *error);
/* Writes what loses nothing: the clock. Errors: IO. */
pm_status pm_journal_probe(struct pm_journal *journal, uint64_t now_ns, pm_error *error);
/* One part of it is proved, others are not: of part all but is_stored's file, which is still there.
 */
pm_status pm_journal_part_done(struct pm_journal *journal, uint64_t id, uint32_t index,
                               const struct pm_journal_part *part, uint64_t now_ns,
                               pm_error *error);
/* Its outcome: state, status, is_permanent and what follows, of job; with the proofs of
 * its parts when it is DONE. INTERNAL when another outcome is on record. */
pm_status pm_journal_end(struct pm_journal *journal, const struct pm_journal_job *job,
                         uint64_t now_ns, pm_error *error);
/* Takes jobs that have ended off the record: those whose number is in ids. */
pm_status pm_journal_forget(struct pm_journal *journal, const uint64_t *ids, uint32_t n,
                            pm_error *error);

/* Everything on record, keys first, jobs by number. What the arguments point to lives during the
 * call. A visitor's error ends it. */
struct pm_journal_visitor {
    void *user;
    pm_status (*key)(void *user, const struct pm_journal_key *key, pm_error *error);
    pm_status (*job)(void *user, const struct pm_journal_job *job, pm_error *error);
};
pm_status pm_journal_read(struct pm_journal *journal, const struct pm_journal_visitor *visitor,
                          pm_error *error);

/* ---- Stored inputs -------------------------------------------------------------------------- */

/* Writes bytes to a file of the folder, on disk when it returns; *name is what to find it by. */
pm_status pm_journal_store(struct pm_journal *journal, const void *bytes, uint64_t n_bytes,
                           char name[PM_JOURNAL_STORED_NAME_BYTES], pm_error *error);
/* FOLDER/name. INVALID_ARGUMENT when it does not fit. */
pm_status pm_journal_stored_path(const struct pm_journal *journal, const char *name, char *path,
                                 uint64_t path_bytes, pm_error *error);
/* Overwrites and removes one; that it is not there is fine. */
void pm_journal_wipe(struct pm_journal *journal, const char *name);
/* Wipes every stored input that keep(user, name) does not want. */
void pm_journal_sweep(struct pm_journal *journal, bool (*keep)(void *user, const char *name),
                      void *user);

#endif
