/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the journal has is taken over. A job that cannot go on - its key is gone, its record is
 * damaged, it has ended several engines already - fails, and says why; none is passed over.
 */
#include "engine/engine_internal.h"

#include "base/control.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Keys that are on record and could not be opened. */
struct lost_key {
    char name[PM_ENGINE_NAME_BYTES];
    pm_status status;
    char message[256];
};

struct recovery {
    struct pm_engine *engine;
    const pm_control *control;
    struct lost_key lost[PM_ENGINE_KEYS_MAX];
    uint32_t n_lost;
};

static pm_status take_key(void *user, const struct pm_journal_key *key, pm_error *error) {
    struct recovery *recovery = user;
    pm_error why = PM_ERROR_INIT;
    const pm_status status = pm_engine_restore_key(recovery->engine, key, recovery->control, &why);
    PM_TRY(pm_control_check(recovery->control, error)); /* not that the key would be lost */
    if (status == PM_NO_MEMORY) {
        pm_error_copy(error, &why);
        return status;
    }
    if (status != PM_OK && recovery->n_lost < PM_ENGINE_KEYS_MAX) {
        struct lost_key *lost = &recovery->lost[recovery->n_lost++];
        (void)snprintf(lost->name, sizeof lost->name, "%s", key->name);
        (void)snprintf(lost->message, sizeof lost->message, "the key \"%s\": %.100s", key->name,
                       why.message);
        lost->status = status;
        pm_engine_say(recovery->engine, PM_LOG_WARNING, "%s", lost->message);
    }
    return PM_OK;
}

static pm_status copy_bytes(const void *bytes, size_t n_bytes, void **copy, pm_error *error) {
    PM_TRY(pm_memory_alloc(NULL, "part of a job", n_bytes + 1, PM_MEMORY_PLAIN, copy, error));
    memcpy(*copy, bytes, n_bytes);
    return PM_OK;
}

static pm_status take_part(struct pm_engine *engine, const struct pm_journal_job *row,
                           const struct pm_journal_part *from, struct engine_part *part,
                           pm_error *error) {
    void *copy = NULL;
    part->n_bytes = from->n_bytes;
    part->is_assignment = from->is_assignment;
    memcpy(part->digest, from->digest, sizeof part->digest);
    if (row->state == PM_JOURNAL_OPEN) {
        PM_TRY(copy_bytes(from->path, strlen(from->path), &copy, error));
        part->path = copy;
        part->is_stored = from->is_stored;
        engine->stored_bytes += from->is_stored ? from->n_bytes : 0;
    }
    const size_t publics_bytes = (size_t)row->n_public * PM_FR_BYTES;
    if (from->proof != NULL && from->proof_bytes == sizeof part->proof &&
        from->publics_bytes == publics_bytes && !row->is_damaged) {
        PM_TRY(copy_bytes(from->publics, publics_bytes, &copy, error));
        part->publics = copy;
        memcpy(&part->proof, from->proof, sizeof part->proof);
        part->is_proved = true;
    }
    return PM_OK;
}

/* -1: none, or one that this engine does not have. */
static int32_t device_named(const struct pm_engine *engine, const char *name) {
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        if (name[0] != '\0' && strcmp(engine->devices[d].name, name) == 0) {
            return (int32_t)d;
        }
    }
    return -1;
}

static void take_spent(const struct pm_engine *engine, const struct pm_journal_job *row,
                       struct engine_job *job) {
    job->has_begun = true; /* what is on record of its time in the queue holds */
    job->stage_ns[PM_ENGINE_STAGE_QUEUE] = row->queue_ns;
    job->stage_ns[PM_ENGINE_STAGE_KEY] = row->key_ns;
    job->stage_ns[PM_ENGINE_STAGE_PREPARE] = row->prepare_ns;
    job->stage_ns[PM_ENGINE_STAGE_PROVE] = row->prove_ns;
    job->stage_ns[PM_ENGINE_STAGE_FINISH] = row->finish_ns;
    job->n_retries = row->n_retries;
    job->device = device_named(engine, row->device);
}

static void take_outcome(const struct pm_journal_job *row, struct engine_job *job) {
    job->state = row->state == PM_JOURNAL_DONE        ? PM_ENGINE_DONE
                 : row->state == PM_JOURNAL_CANCELLED ? PM_ENGINE_CANCELLED
                                                      : PM_ENGINE_FAILED;
    job->status = (pm_status)row->status;
    job->is_permanent = row->is_permanent;
    job->ended_at_ns = row->ended_at_ns;
    job->ended_ms = row->ended_ms;
    job->is_final = true;
}

static void fill_job(const struct pm_journal_job *row, struct engine_job *job) {
    job->id = row->id;
    job->priority = row->priority >= PM_ENGINE_LOW && row->priority <= PM_ENGINE_CRITICAL
                        ? row->priority
                        : PM_ENGINE_NORMAL;
    job->n_public = row->n_public;
    job->curve = row->curve;
    job->deadline_at_ns = row->deadline_at_ns;
    job->accepted_at_ns = row->accepted_at_ns;
    job->accepted_ms = row->accepted_ms;
    job->is_recorded = true;
    memcpy(job->content, row->content, sizeof job->content);
    (void)snprintf(job->request_id, sizeof job->request_id, "%s", row->request_id);
    (void)snprintf(job->key_name, sizeof job->key_name, "%s", row->key);
    (void)snprintf(job->message, sizeof job->message, "%s", row->message);
    (void)snprintf(job->history, sizeof job->history, "%s", row->history);
}

static pm_status end_at_once(struct pm_engine *engine, struct engine_job *job, pm_status status,
                             bool is_permanent, const char *message) {
    job->state = status == PM_OK ? PM_ENGINE_DONE : PM_ENGINE_FAILED;
    job->status = status;
    job->is_permanent = is_permanent;
    (void)snprintf(job->message, sizeof job->message, "%s", message);
    ++engine->n_open;
    pm_engine_end_job(engine, job);
    return PM_OK;
}

static pm_status fail_for_key(struct recovery *recovery, struct engine_job *job) {
    for (uint32_t i = 0; i < recovery->n_lost; ++i) {
        const struct lost_key *lost = &recovery->lost[i];
        if (strcmp(lost->name, job->key_name) == 0) {
            return end_at_once(recovery->engine, job, lost->status, true, lost->message);
        }
    }
    return end_at_once(recovery->engine, job, PM_INVALID_ARGUMENT, true,
                       "its key is no longer registered");
}

/* Shapes are not on record: the file says it again. */
static pm_status find_shapes(struct pm_engine *engine, struct engine_job *job, pm_error *error) {
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        PM_TRY(pm_engine_find_shape(engine, &job->parts[i], error));
    }
    return PM_OK;
}

static pm_status resume(struct recovery *recovery, const struct pm_journal_job *row,
                        struct engine_job *job) {
    struct pm_engine *engine = recovery->engine;
    pm_error why = PM_ERROR_INIT;
    uint32_t n_proved = 0;
    ++engine->metrics.n_recovered;
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        n_proved += job->parts[i].is_proved;
    }
    if (row->is_damaged) {
        return end_at_once(engine, job, PM_INTERNAL, false,
                           "its record in the journal is damaged: submit it again");
    }
    if (n_proved == job->n_parts) {
        return end_at_once(engine, job, PM_OK, false, "");
    }
    if (row->n_begun >= PM_ENGINE_BEGUN_MAX) {
        return end_at_once(engine, job, PM_INTERNAL, true,
                           "the process ended several times while it was being proved");
    }
    job->key = pm_engine_find_key(engine, job->key_name);
    if (job->key == NULL) {
        return fail_for_key(recovery, job);
    }
    pm_status status = find_shapes(engine, job, &why);
    if (status == PM_OK) {
        status = pm_engine_schedule(engine, job, &why);
    }
    if (status == PM_OK) {
        return pm_sched_record(&engine->sched, job->sched_job, pm_engine_now_ns(engine), NULL);
    }
    job->key = NULL;
    return end_at_once(engine, job, status, pm_fault_of(status) == PM_FAULT_PERMANENT, why.message);
}

static pm_status take_job(void *user, const struct pm_journal_job *row, pm_error *error) {
    struct recovery *recovery = user;
    struct pm_engine *engine = recovery->engine;
    struct engine_job *job = NULL;
    pm_status status = PM_OK;
    PM_TRY(pm_control_check(recovery->control, error));
    PM_TRY(pm_engine_job_make(row->n_parts, &job, error));
    fill_job(row, job);
    for (uint32_t i = 0; i < row->n_parts && status == PM_OK; ++i) {
        status = take_part(engine, row, &row->parts[i], &job->parts[i], error);
    }
    if (status != PM_OK) {
        pm_engine_job_free(NULL, job);
        return status;
    }
    pm_engine_job_enlist(engine, job);
    if (row->state == PM_JOURNAL_OPEN) {
        return resume(recovery, row, job);
    }
    take_outcome(row, job);
    take_spent(engine, row, job);
    if (row->is_damaged) {
        job->state = PM_ENGINE_FAILED;
        job->status = PM_INTERNAL;
        job->is_permanent = false;
        (void)snprintf(job->message, sizeof job->message,
                       "its record in the journal is damaged: submit it again");
    }
    pm_engine_keep(engine, job);
    return PM_OK;
}

static bool is_wanted(void *user, const char *name) {
    const struct pm_engine *engine = user;
    for (const struct engine_job *job = engine->first; job != NULL; job = job->next) {
        for (uint32_t i = 0; i < job->n_parts; ++i) {
            const struct engine_part *part = &job->parts[i];
            if (part->is_stored && part->path != NULL && strcmp(part->path, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

pm_status pm_engine_recover(struct pm_engine *engine, const pm_control *control, pm_error *error) {
    void *buffer = NULL;
    if (engine->journal == NULL) {
        return PM_OK;
    }
    PM_TRY(pm_memory_alloc(NULL, "recovery", sizeof(struct recovery), PM_MEMORY_PLAIN, &buffer,
                           error));
    struct recovery *recovery = buffer;
    recovery->engine = engine;
    recovery->control = control;
    const struct pm_journal_visitor visitor = {.user = recovery, .key = take_key, .job = take_job};
    const pm_status status = pm_journal_read(engine->journal, &visitor, error);
    pm_memory_free(buffer);
    if (status == PM_OK) {
        pm_journal_sweep(engine->journal, is_wanted, engine);
    }
    return status;
}

pm_status pm_engine_salvage(const char *journal_path, pm_engine_salvaged *salvaged, uint64_t *lost,
                            uint32_t *n_lost, pm_error *error) {
    struct pm_journal_salvaged found;
    PM_FAIL_IF(journal_path == NULL || salvaged == NULL, error, PM_INVALID_ARGUMENT,
               "journal_path or salvaged is NULL");
    PM_TRY(pm_journal_salvage(journal_path, &found, lost, n_lost, error));
    pm_engine_salvaged full = {.struct_bytes = salvaged->struct_bytes,
                               .was_damaged = found.was_damaged,
                               .n_keys = found.n_keys,
                               .n_jobs = found.n_jobs,
                               .n_open = found.n_open,
                               .n_lost = found.n_lost};
    memcpy(full.damaged_file, found.damaged_file, sizeof full.damaged_file);
    memcpy(salvaged, &full,
           salvaged->struct_bytes < sizeof full ? salvaged->struct_bytes : sizeof full);
    return PM_OK;
}
