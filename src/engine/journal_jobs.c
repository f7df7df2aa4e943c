/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/journal_internal.h"

#include "base/blake2b.h"
#include "base/memory.h"

#include <string.h>

#define PARTS_MAX 4096

/* ---- Seals ---------------------------------------------------------------------------------- */

static void seal_number(struct pm_blake2b *state, uint64_t number) {
    pm_blake2b_update(state, &number, sizeof number);
}

static void seal_bytes(struct pm_blake2b *state, const void *bytes, uint64_t n_bytes) {
    seal_number(state, bytes == NULL ? UINT64_MAX : n_bytes);
    if (bytes != NULL) {
        pm_blake2b_update(state, bytes, n_bytes);
    }
}

/* Only where there is something, so that seals of format 1 hold. */
static void seal_spent(struct pm_blake2b *state, const struct pm_journal_job *job) {
    const uint64_t numbers[] = {job->queue_ns, job->key_ns,    job->prepare_ns,
                                job->prove_ns, job->finish_ns, job->n_retries};
    bool is_there = job->device[0] != '\0';
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        is_there |= numbers[i] != 0;
    }
    if (is_there) {
        seal_bytes(state, numbers, sizeof numbers);
        seal_bytes(state, job->device, strlen(job->device));
    }
}

void pm_journal_seal_job(const struct pm_journal_job *job, uint8_t seal[PM_JOURNAL_SEAL_BYTES]) {
    struct pm_blake2b state;
    pm_blake2b_init(&state, PM_JOURNAL_SEAL_BYTES);
    seal_number(&state, job->id);
    seal_bytes(&state, job->request_id, strlen(job->request_id));
    seal_bytes(&state, job->key, strlen(job->key));
    seal_bytes(&state, job->content, sizeof job->content);
    seal_number(&state, job->priority);
    seal_number(&state, job->n_parts);
    seal_number(&state, job->n_public);
    seal_number(&state, job->curve);
    seal_number(&state, job->deadline_at_ns);
    seal_number(&state, (uint64_t)job->state);
    seal_number(&state, (uint64_t)(int64_t)job->status);
    seal_spent(&state, job);
    pm_blake2b_final(&state, seal);
}

void pm_journal_seal_part(uint64_t id, uint32_t index, const struct pm_journal_part *part,
                          uint8_t seal[PM_JOURNAL_SEAL_BYTES]) {
    struct pm_blake2b state;
    pm_blake2b_init(&state, PM_JOURNAL_SEAL_BYTES);
    seal_number(&state, id);
    seal_number(&state, index);
    seal_bytes(&state, part->path, strlen(part->path));
    seal_number(&state, part->is_stored);
    seal_number(&state, part->is_assignment);
    seal_bytes(&state, part->digest, sizeof part->digest);
    seal_bytes(&state, part->proof, part->proof_bytes);
    seal_bytes(&state, part->proof != NULL ? part->publics : NULL, part->publics_bytes);
    pm_blake2b_final(&state, seal);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

pm_status pm_journal_keep_key(struct pm_journal *journal, const struct pm_journal_key *key,
                              pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    const pm_status status = pm_journal_run(
        journal, error, "INSERT OR REPLACE INTO key VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "tttibiiiii", key->name, key->path, key->r1cs_path, (int64_t)key->check, key->digest,
        sizeof key->digest, (int64_t)key->file.device, (int64_t)key->file.inode,
        (int64_t)key->file.n_bytes, key->file.modified_ns, key->file.changed_ns);
    return pm_journal_leave(journal, status, error);
}

pm_status pm_journal_drop_key(struct pm_journal *journal, const char *name, pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    const pm_status status =
        pm_journal_run(journal, error, "DELETE FROM key WHERE name=?", "t", name);
    return pm_journal_leave(journal, status, error);
}

/* ---- Writing jobs --------------------------------------------------------------------------- */

static pm_status note_time(struct pm_journal *journal, uint64_t now_ns, pm_error *error) {
    return pm_journal_run(journal, error, "INSERT OR REPLACE INTO meta VALUES('last_ns', ?)", "i",
                          (int64_t)now_ns);
}

pm_status pm_journal_probe(struct pm_journal *journal, uint64_t now_ns, pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    return pm_journal_leave(journal, note_time(journal, now_ns, error), error);
}

static pm_status insert_parts(struct pm_journal *journal, const struct pm_journal_job *job,
                              pm_error *error) {
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        const struct pm_journal_part *part = &job->parts[i];
        uint8_t seal[PM_JOURNAL_SEAL_BYTES];
        pm_journal_seal_part(job->id, i, part, seal);
        PM_TRY(pm_journal_run(journal, error,
                              "INSERT INTO part VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iitiiibbbb",
                              (int64_t)job->id, (int64_t)i, part->path, (int64_t)part->is_stored,
                              (int64_t)part->is_assignment, (int64_t)part->n_bytes, part->digest,
                              sizeof part->digest, part->proof, (size_t)part->proof_bytes,
                              part->publics, (size_t)part->publics_bytes, seal, sizeof seal));
    }
    return PM_OK;
}

static pm_status insert_job(struct pm_journal *journal, struct pm_journal_job *job,
                            pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES] = {0};
    PM_TRY(pm_journal_run(
        journal, error,
        "INSERT INTO job(request_id, key, content, priority, n_parts, n_public, curve,"
        " deadline_at_ns, accepted_at_ns, accepted_ms, seal)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "ttbiiiiiiib", job->request_id, job->key, job->content, sizeof job->content,
        (int64_t)job->priority, (int64_t)job->n_parts, (int64_t)job->n_public, (int64_t)job->curve,
        (int64_t)job->deadline_at_ns, (int64_t)job->accepted_at_ns, job->accepted_ms, seal,
        sizeof seal));
    job->id = (uint64_t)sqlite3_last_insert_rowid(journal->db);
    pm_journal_seal_job(job, seal);
    PM_TRY(pm_journal_run(journal, error, "UPDATE job SET seal=? WHERE id=?", "bi", seal,
                          sizeof seal, (int64_t)job->id));
    PM_TRY(insert_parts(journal, job, error));
    return note_time(journal, job->accepted_at_ns, error);
}

/* In one transaction, up to `end`. */
static pm_status write_arrivals(struct pm_journal *journal, struct pm_journal_arrival *first,
                                const struct pm_journal_arrival *end, pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    pm_status status = PM_OK;
    for (struct pm_journal_arrival *at = first; at != end && status == PM_OK; at = at->next) {
        struct pm_journal_job row = *at->job;
        row.state = PM_JOURNAL_OPEN;
        row.status = PM_OK;
        row.queue_ns = row.key_ns = row.prepare_ns = row.prove_ns = row.finish_ns = 0;
        row.n_retries = 0;
        row.device = "";
        status = insert_job(journal, &row, error);
        at->id = row.id;
    }
    return pm_journal_leave(journal, status, error);
}

/* Together if that succeeds, else each for itself. */
static void answer_arrivals(struct pm_journal *journal, struct pm_journal_arrival *first) {
    pm_error together = PM_ERROR_INIT;
    const pm_status status = write_arrivals(journal, first, NULL, &together);
    const bool is_one = first->next == NULL;
    for (struct pm_journal_arrival *at = first; at != NULL; at = at->next) {
        at->status = status;
        if (status != PM_OK && is_one) {
            at->error = together;
        } else if (status != PM_OK) {
            at->status = write_arrivals(journal, at, at->next, &at->error);
        }
    }
}

/* Under arrivals_lock, which is given up meanwhile: whoever comes first writes for all. */
static void write_those_who_wait(struct pm_journal *journal) {
    struct pm_journal_arrival *first = journal->first;
    journal->first = journal->last = NULL;
    journal->is_writing = true;
    (void)pthread_mutex_unlock(&journal->arrivals_lock);
    answer_arrivals(journal, first);
    (void)pthread_mutex_lock(&journal->arrivals_lock);
    journal->is_writing = false;
    for (struct pm_journal_arrival *at = first, *next; at != NULL; at = next) {
        next = at->next; /* an arrival is its owner's again once it is answered */
        at->is_answered = true;
    }
    (void)pthread_cond_broadcast(&journal->answered);
}

pm_status pm_journal_accept(struct pm_journal *journal, const struct pm_journal_job *job,
                            uint64_t *id, pm_error *error) {
    struct pm_journal_arrival own = {.job = job, .error = PM_ERROR_INIT};
    (void)pthread_mutex_lock(&journal->arrivals_lock);
    *(journal->last != NULL ? &journal->last->next : &journal->first) = &own;
    journal->last = &own;
    while (!own.is_answered) {
        if (!journal->is_writing) {
            write_those_who_wait(journal);
        } else {
            (void)pthread_cond_wait(&journal->answered, &journal->arrivals_lock);
        }
    }
    (void)pthread_mutex_unlock(&journal->arrivals_lock);
    if (own.status != PM_OK) {
        pm_error_copy(error, &own.error);
        return own.status;
    }
    *id = own.id;
    return PM_OK;
}

static pm_status count_begun(struct pm_journal *journal, uint64_t id, int64_t more,
                             pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    const pm_status status =
        pm_journal_run(journal, error, "UPDATE job SET n_begun=max(n_begun+?, 0) WHERE id=?", "ii",
                       more, (int64_t)id);
    return pm_journal_leave(journal, status, error);
}

pm_status pm_journal_begin(struct pm_journal *journal, uint64_t id, pm_error *error) {
    return count_begun(journal, id, 1, error);
}

pm_status pm_journal_unbegin(struct pm_journal *journal, uint64_t id, pm_error *error) {
    return count_begun(journal, id, -1, error);
}

static pm_status update_part(struct pm_journal *journal, uint64_t id, uint32_t index,
                             const struct pm_journal_part *part, pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    pm_journal_seal_part(id, index, part, seal);
    PM_TRY(pm_journal_run(
        journal, error, "UPDATE part SET proof=?, publics=?, seal=? WHERE job=? AND part=?",
        "bbbii", part->proof, (size_t)part->proof_bytes, part->publics, (size_t)part->publics_bytes,
        seal, sizeof seal, (int64_t)id, (int64_t)index));
    PM_FAIL_IF(pm_journal_changed(journal) != 1, error, PM_INTERNAL,
               "job %llu has no part %u on record", (unsigned long long)id, index);
    return PM_OK;
}

pm_status pm_journal_part_done(struct pm_journal *journal, uint64_t id, uint32_t index,
                               const struct pm_journal_part *part, uint64_t now_ns,
                               pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    pm_status status = update_part(journal, id, index, part, error);
    if (status == PM_OK) {
        status = note_time(journal, now_ns, error);
    }
    return pm_journal_leave(journal, status, error);
}

/* The outcome on record; OPEN where there is none. */
static pm_status read_outcome(struct pm_journal *journal, uint64_t id, int64_t *state,
                              pm_error *error) {
    sqlite3_stmt *statement = NULL;
    int code =
        sqlite3_prepare_v2(journal->db, "SELECT state FROM job WHERE id=?", -1, &statement, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (int64_t)id);
        code = sqlite3_step(statement);
    }
    *state = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : PM_JOURNAL_OPEN;
    (void)sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE
               ? PM_OK
               : pm_journal_failed(journal, code, "reading", error);
}

static pm_status update_outcome(struct pm_journal *journal, const struct pm_journal_job *job,
                                uint64_t now_ns, pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES];
    int64_t on_record = PM_JOURNAL_OPEN;
    for (uint32_t i = 0; job->state == PM_JOURNAL_DONE && i < job->n_parts; ++i) {
        PM_TRY(update_part(journal, job->id, i, &job->parts[i], error));
    }
    pm_journal_seal_job(job, seal);
    PM_TRY(pm_journal_run(
        journal, error,
        "UPDATE job SET state=?, status=?, is_permanent=?, ended_at_ns=?, ended_ms=?, message=?,"
        " history=?, seal=?, queue_ns=?, key_ns=?, prepare_ns=?, prove_ns=?, finish_ns=?,"
        " n_retries=?, device=? WHERE id=? AND state=0",
        "iiiiittbiiiiiiti", (int64_t)job->state, (int64_t)job->status, (int64_t)job->is_permanent,
        (int64_t)job->ended_at_ns, job->ended_ms, job->message, job->history, seal, sizeof seal,
        (int64_t)job->queue_ns, (int64_t)job->key_ns, (int64_t)job->prepare_ns,
        (int64_t)job->prove_ns, (int64_t)job->finish_ns, (int64_t)job->n_retries, job->device,
        (int64_t)job->id));
    if (pm_journal_changed(journal) == 1) {
        return note_time(journal, now_ns, error);
    }
    /* A commit that was reported as failed may have reached the disk all the same. */
    PM_TRY(read_outcome(journal, job->id, &on_record, error));
    PM_FAIL_IF(on_record != (int64_t)job->state, error, PM_INTERNAL,
               "job %llu is to end a second time, otherwise", (unsigned long long)job->id);
    return PM_OK;
}

pm_status pm_journal_end(struct pm_journal *journal, const struct pm_journal_job *job,
                         uint64_t now_ns, pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    return pm_journal_leave(journal, update_outcome(journal, job, now_ns, error), error);
}

pm_status pm_journal_forget(struct pm_journal *journal, const uint64_t *ids, uint32_t n,
                            pm_error *error) {
    PM_TRY(pm_journal_enter(journal, error));
    pm_status status = PM_OK;
    for (uint32_t i = 0; i < n && status == PM_OK; ++i) {
        status =
            pm_journal_run(journal, error, "DELETE FROM part WHERE job=?", "i", (int64_t)ids[i]);
        if (status == PM_OK) {
            status = pm_journal_run(journal, error, "DELETE FROM job WHERE id=? AND state<>0", "i",
                                    (int64_t)ids[i]);
        }
    }
    return pm_journal_leave(journal, status, error);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static const char *text_at(sqlite3_stmt *statement, int column) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text != NULL ? (const char *)text : "";
}

/* Whether the column has exactly so many bytes, which are copied. */
static bool bytes_at(sqlite3_stmt *statement, int column, void *out, size_t n_bytes) {
    const void *bytes = sqlite3_column_blob(statement, column);
    const bool fits = bytes != NULL && (size_t)sqlite3_column_bytes(statement, column) == n_bytes;
    if (fits) {
        memcpy(out, bytes, n_bytes);
    } else {
        memset(out, 0, n_bytes);
    }
    return fits;
}

static pm_status read_keys(struct pm_journal *journal, const struct pm_journal_visitor *visitor,
                           pm_error *error) {
    sqlite3_stmt *row = NULL;
    pm_status status = PM_OK;
    int code = sqlite3_prepare_v2(journal->db, "SELECT * FROM key ORDER BY name", -1, &row, NULL);
    if (code == SQLITE_OK) {
        while (status == PM_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
            struct pm_journal_key key = {
                .name = text_at(row, 0),
                .path = text_at(row, 1),
                .r1cs_path = sqlite3_column_type(row, 2) == SQLITE_NULL ? NULL : text_at(row, 2),
                .check = (uint32_t)sqlite3_column_int64(row, 3),
                .file = {.device = (uint64_t)sqlite3_column_int64(row, 5),
                         .inode = (uint64_t)sqlite3_column_int64(row, 6),
                         .n_bytes = (uint64_t)sqlite3_column_int64(row, 7),
                         .modified_ns = sqlite3_column_int64(row, 8),
                         .changed_ns = sqlite3_column_int64(row, 9)}};
            (void)bytes_at(row, 4, key.digest, sizeof key.digest);
            status = visitor->key(visitor->user, &key, error);
        }
    }
    if (status == PM_OK && code != SQLITE_DONE) {
        status = pm_journal_failed(journal, code, "reading keys", error);
    }
    (void)sqlite3_finalize(row);
    return status;
}

/* A part whose texts and proofs are copied into one buffer, so that all parts live at once. */
struct part_copy {
    struct pm_journal_part part;
    void *owned;
};

static pm_status copy_part(sqlite3_stmt *row, uint64_t id, uint32_t index, struct part_copy *copy,
                           bool *is_damaged, pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES], expected[PM_JOURNAL_SEAL_BYTES];
    const char *path = text_at(row, 2);
    const void *proof = sqlite3_column_blob(row, 7);
    const size_t proof_bytes = (size_t)sqlite3_column_bytes(row, 7);
    const void *publics = sqlite3_column_blob(row, 8);
    const size_t publics_bytes = (size_t)sqlite3_column_bytes(row, 8);
    const size_t path_bytes = strlen(path) + 1;
    PM_TRY(pm_memory_alloc(NULL, "part on record", path_bytes + proof_bytes + publics_bytes,
                           PM_MEMORY_PLAIN, &copy->owned, error));
    char *bytes = copy->owned;
    memcpy(bytes, path, path_bytes);
    struct pm_journal_part *part = &copy->part;
    *part = (struct pm_journal_part){.path = bytes,
                                     .is_stored = sqlite3_column_int64(row, 3) != 0,
                                     .is_assignment = sqlite3_column_int64(row, 4) != 0,
                                     .n_bytes = (uint64_t)sqlite3_column_int64(row, 5)};
    if (proof != NULL) {
        part->proof = memcpy(bytes + path_bytes, proof, proof_bytes);
        part->proof_bytes = (uint32_t)proof_bytes;
        /* A circuit without public signals has an empty list of them. */
        part->publics = bytes + path_bytes + proof_bytes;
        part->publics_bytes = (uint32_t)publics_bytes;
        if (publics_bytes != 0) {
            memcpy(bytes + path_bytes + proof_bytes, publics, publics_bytes);
        }
    }
    const bool has_digest = bytes_at(row, 6, part->digest, sizeof part->digest);
    const bool has_seal = bytes_at(row, 9, seal, sizeof seal);
    const bool is_next = sqlite3_column_int64(row, 1) == (int64_t)index;
    pm_journal_seal_part(id, index, part, expected);
    *is_damaged |= !has_digest || !has_seal || !is_next || memcmp(seal, expected, sizeof seal) != 0;
    return PM_OK;
}

static pm_status read_parts(struct pm_journal *journal, struct pm_journal_job *job,
                            struct part_copy *copies, uint32_t *n, pm_error *error) {
    sqlite3_stmt *row = NULL;
    pm_status status = PM_OK;
    *n = 0;
    int code = sqlite3_prepare_v2(journal->db, "SELECT * FROM part WHERE job=? ORDER BY part", -1,
                                  &row, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_int64(row, 1, (int64_t)job->id);
        while (status == PM_OK && (code = sqlite3_step(row)) == SQLITE_ROW && *n < job->n_parts) {
            status = copy_part(row, job->id, *n, &copies[*n], &job->is_damaged, error);
            *n += status == PM_OK;
        }
    }
    if (status == PM_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
        status = pm_journal_failed(journal, code, "reading parts", error);
    }
    (void)sqlite3_finalize(row);
    job->is_damaged |= *n != job->n_parts;
    return status;
}

static pm_status visit_with_parts(struct pm_journal *journal, struct pm_journal_job *job,
                                  const struct pm_journal_visitor *visitor, pm_error *error) {
    void *copies = NULL, *parts = NULL;
    uint32_t n = 0;
    pm_status status =
        pm_memory_alloc_array(NULL, "parts on record", job->n_parts + 1, sizeof(struct part_copy),
                              PM_MEMORY_PLAIN, &copies, error);
    if (status == PM_OK) {
        status =
            pm_memory_alloc_array(NULL, "parts on record", job->n_parts + 1,
                                  sizeof(struct pm_journal_part), PM_MEMORY_PLAIN, &parts, error);
    }
    if (status == PM_OK) {
        status = read_parts(journal, job, copies, &n, error);
    }
    struct part_copy *copy = copies;
    struct pm_journal_part *part = parts;
    for (uint32_t i = 0; i < n; ++i) {
        part[i] = copy[i].part;
    }
    for (uint32_t i = n; status == PM_OK && i < job->n_parts; ++i) {
        part[i].path = "";
    }
    if (status == PM_OK) {
        job->parts = part;
        status = visitor->job(visitor->user, job, error);
    }
    for (uint32_t i = 0; i < n; ++i) {
        pm_memory_free(copy[i].owned);
    }
    pm_memory_free(parts);
    pm_memory_free(copies);
    return status;
}

static pm_status visit_job(struct pm_journal *journal, sqlite3_stmt *row,
                           const struct pm_journal_visitor *visitor, pm_error *error) {
    uint8_t seal[PM_JOURNAL_SEAL_BYTES], expected[PM_JOURNAL_SEAL_BYTES];
    struct pm_journal_job job = {.id = (uint64_t)sqlite3_column_int64(row, 0),
                                 .request_id = text_at(row, 1),
                                 .key = text_at(row, 2),
                                 .priority = (uint32_t)sqlite3_column_int64(row, 4),
                                 .n_parts = (uint32_t)sqlite3_column_int64(row, 5),
                                 .n_public = (uint32_t)sqlite3_column_int64(row, 6),
                                 .curve = (uint32_t)sqlite3_column_int64(row, 7),
                                 .deadline_at_ns = (uint64_t)sqlite3_column_int64(row, 8),
                                 .accepted_at_ns = (uint64_t)sqlite3_column_int64(row, 9),
                                 .accepted_ms = sqlite3_column_int64(row, 10),
                                 .state = (enum pm_journal_state)sqlite3_column_int64(row, 11),
                                 .n_begun = (uint32_t)sqlite3_column_int64(row, 12),
                                 .status = (int32_t)sqlite3_column_int64(row, 13),
                                 .is_permanent = sqlite3_column_int64(row, 14) != 0,
                                 .ended_at_ns = (uint64_t)sqlite3_column_int64(row, 15),
                                 .ended_ms = sqlite3_column_int64(row, 16),
                                 .message = text_at(row, 17),
                                 .history = text_at(row, 18),
                                 .queue_ns = (uint64_t)sqlite3_column_int64(row, 20),
                                 .key_ns = (uint64_t)sqlite3_column_int64(row, 21),
                                 .prepare_ns = (uint64_t)sqlite3_column_int64(row, 22),
                                 .prove_ns = (uint64_t)sqlite3_column_int64(row, 23),
                                 .finish_ns = (uint64_t)sqlite3_column_int64(row, 24),
                                 .n_retries = (uint32_t)sqlite3_column_int64(row, 25),
                                 .device = text_at(row, 26)};
    const bool has_content = bytes_at(row, 3, job.content, sizeof job.content);
    const bool has_seal = bytes_at(row, 19, seal, sizeof seal);
    pm_journal_seal_job(&job, expected);
    job.is_damaged = !has_content || !has_seal || memcmp(seal, expected, sizeof seal) != 0;
    if (job.n_parts == 0 || job.n_parts > PARTS_MAX) {
        job.is_damaged = true;
        job.n_parts = 1;
    }
    return visit_with_parts(journal, &job, visitor, error);
}

static pm_status read_jobs(struct pm_journal *journal, const struct pm_journal_visitor *visitor,
                           pm_error *error) {
    sqlite3_stmt *row = NULL;
    pm_status status = PM_OK;
    int code = sqlite3_prepare_v2(journal->db, "SELECT * FROM job ORDER BY id", -1, &row, NULL);
    if (code == SQLITE_OK) {
        while (status == PM_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
            status = visit_job(journal, row, visitor, error);
        }
    }
    if (status == PM_OK && code != SQLITE_DONE) {
        status = pm_journal_failed(journal, code, "reading jobs", error);
    }
    (void)sqlite3_finalize(row);
    return status;
}

pm_status pm_journal_read(struct pm_journal *journal, const struct pm_journal_visitor *visitor,
                          pm_error *error) {
    (void)pthread_mutex_lock(&journal->lock);
    pm_status status = read_keys(journal, visitor, error);
    if (status == PM_OK) {
        status = read_jobs(journal, visitor, error);
    }
    (void)pthread_mutex_unlock(&journal->lock);
    return status;
}
