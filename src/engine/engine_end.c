/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Outcomes. A job that has ended in the scheduler is told to nobody until its outcome is on record;
 * where the journal cannot be written that is tried again, in the end every second, for as long as
 * it takes.
 */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
/* A block of the heap beside what was asked for. */
#define BLOCK_BYTES 160
/* Outcomes that are forgotten in one transaction. */
#define FORGET_MAX 64

/* ---- In the scheduler ----------------------------------------------------------------------- */

static pm_engine_state ended_state(const struct pm_engine *engine, const struct engine_job *job) {
    switch (pm_sched_job_state(&engine->sched, job->sched_job)) {
    case PM_JOB_DONE:
        return PM_ENGINE_DONE;
    case PM_JOB_CANCELLED:
        return PM_ENGINE_CANCELLED;
    default:
        return PM_ENGINE_FAILED;
    }
}

/* Dropping a proof joins its thread and may wait for a key that is on its way to a device: that is
 * for a worker, without the lock. Until then pm_budget counts it. */
static void drop_later(struct pm_engine *engine, struct engine_part *part) {
    if (part->pending != NULL && engine->n_dropped < PM_ENGINE_DROPPED_MAX) {
        engine->dropped[engine->n_dropped++] = part->pending;
        ++engine->n_undropped;
    } else {
        pm_pending_drop(part->pending);
    }
    part->pending = NULL;
}

bool pm_engine_drop_pending(struct pm_engine *engine) {
    if (engine->n_dropped == 0) {
        return false;
    }
    pm_pending *pending = engine->dropped[--engine->n_dropped];
    pm_engine_unlock(engine);
    pm_pending_drop(pending);
    pm_engine_lock(engine);
    --engine->n_undropped;
    (void)pthread_cond_broadcast(&engine->changed);
    return true;
}

/* What a part holds that its task does not hold any more, steps that are to stop, and what is to be
 * known of its attempts. */
static void settle_parts(struct pm_engine *engine, struct engine_job *job) {
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched_tasks[i];
        if (!task->used || task->job != job->sched_job) {
            continue;
        }
        struct engine_part *part = &job->parts[job->part_of[task->part]];
        part->n_attempts = task->n_attempts;
        if (task->n_attempts != 0) {
            part->status = task->attempts[task->n_attempts - 1].status;
        }
        if (task->running) {
            if (task->stopping) {
                __atomic_store_n(&part->cancel, 1, __ATOMIC_RELAXED);
            }
        } else if (!pm_job_holds((enum pm_job_state)task->state)) {
            pm_engine_close_input(engine, part);
            drop_later(engine, part);
        }
    }
}

void pm_engine_end_job(struct pm_engine *engine, struct engine_job *job) {
    job->is_ending = true;
    job->ended_at_ns = pm_engine_now_ns(engine);
    job->ended_ms = pm_engine_wall_ms(engine);
    job->next_ending = NULL;
    *(engine->last_ending != NULL ? &engine->last_ending->next_ending : &engine->first_ending) =
        job;
    engine->last_ending = job;
    (void)pthread_cond_broadcast(&engine->work);
}

/* Why the scheduler says that a job failed, where no step has said it. */
static void explain_failure(const struct pm_engine *engine, struct engine_job *job) {
    const struct pm_sched_job *scheduled = &engine->sched.jobs[job->sched_job];
    job->status = scheduled->why;
    if (job->cause != scheduled->why || job->message[0] == '\0') {
        if (scheduled->why == PM_DEADLINE) {
            (void)snprintf(job->message, sizeof job->message,
                           "the deadline passed before it could begin");
        } else if (job->key != NULL && job->key->status == scheduled->why &&
                   job->key->message[0] != '\0') {
            (void)snprintf(job->message, sizeof job->message, "%s", job->key->message);
        } else if (job->message[0] == '\0') {
            (void)snprintf(job->message, sizeof job->message, "%s",
                           pm_status_sentence(scheduled->why));
        }
    }
    job->is_permanent =
        pm_fault_of(job->status) == PM_FAULT_PERMANENT || job->status == PM_SELF_VERIFY;
}

void pm_engine_settle(struct pm_engine *engine, struct engine_job *job) {
    if (job->sched_job == PM_SCHED_NONE || job->is_ending || !job->is_recorded) {
        return;
    }
    settle_parts(engine, job);
    const struct pm_sched_job *scheduled = &engine->sched.jobs[job->sched_job];
    ++job->change;
    (void)pthread_cond_broadcast(&engine->changed);
    if (scheduled->n_ended < scheduled->request.n_parts || engine->is_stopping) {
        return;
    }
    job->state = ended_state(engine, job);
    job->status = PM_OK;
    if (job->state == PM_ENGINE_FAILED) {
        explain_failure(engine, job);
    } else if (job->state == PM_ENGINE_CANCELLED) {
        job->status = PM_CANCELLED;
        (void)snprintf(job->message, sizeof job->message, "cancelled");
    }
    (void)pm_sched_forget(&engine->sched, job->sched_job, NULL);
    engine->live[job->sched_job] = NULL;
    job->sched_job = PM_SCHED_NONE;
    --job->key->n_jobs;
    job->key = NULL;
    pm_engine_end_job(engine, job);
}

void pm_engine_settle_all(struct pm_engine *engine) {
    for (uint32_t j = 0; j < engine->sched.n_jobs_max; ++j) {
        if (engine->live[j] != NULL) {
            pm_engine_settle(engine, engine->live[j]);
        }
    }
}

/* ---- On record ------------------------------------------------------------------------------ */

static enum pm_journal_state journal_state(const struct engine_job *job) {
    if (!job->is_ending && !job->is_final) {
        return PM_JOURNAL_OPEN;
    }
    return job->state == PM_ENGINE_DONE        ? PM_JOURNAL_DONE
           : job->state == PM_ENGINE_CANCELLED ? PM_JOURNAL_CANCELLED
                                               : PM_JOURNAL_FAILED;
}

/* What was spent on a job; where it was is by name, as devices are others at the next start. */
static void record_spent(const struct pm_engine *engine, const struct engine_job *job,
                         struct pm_journal_job *record) {
    const uint64_t *stage_ns = job->stage_ns;
    record->queue_ns =
        job->has_begun ? stage_ns[PM_ENGINE_STAGE_QUEUE] : job->ended_at_ns - job->accepted_at_ns;
    record->key_ns = stage_ns[PM_ENGINE_STAGE_KEY];
    record->prepare_ns = stage_ns[PM_ENGINE_STAGE_PREPARE];
    record->prove_ns = stage_ns[PM_ENGINE_STAGE_PROVE];
    record->finish_ns = stage_ns[PM_ENGINE_STAGE_FINISH] + stage_ns[PM_ENGINE_STAGE_VERIFY];
    record->n_retries = job->n_retries;
    record->device = job->device >= 0 && (uint32_t)job->device < engine->n_devices
                         ? engine->devices[job->device].name
                         : "";
}

void pm_engine_job_record(const struct engine_job *job, struct pm_journal_part *parts,
                          struct pm_journal_job *record) {
    *record = (struct pm_journal_job){.id = job->id,
                                      .request_id = job->request_id,
                                      .key = job->key_name,
                                      .priority = job->priority,
                                      .n_parts = job->n_parts,
                                      .n_public = job->n_public,
                                      .curve = job->curve,
                                      .deadline_at_ns = job->deadline_at_ns,
                                      .accepted_at_ns = job->accepted_at_ns,
                                      .accepted_ms = job->accepted_ms,
                                      .parts = parts,
                                      .state = journal_state(job),
                                      .status = (int32_t)job->status,
                                      .is_permanent = job->is_permanent,
                                      .ended_at_ns = job->ended_at_ns,
                                      .ended_ms = job->ended_ms,
                                      .message = job->message,
                                      .history = job->history,
                                      .device = ""};
    memcpy(record->content, job->content, sizeof record->content);
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        const struct engine_part *part = &job->parts[i];
        parts[i] = (struct pm_journal_part){.path = part->path != NULL ? part->path : "",
                                            .is_stored = part->is_stored,
                                            .is_assignment = part->is_assignment,
                                            .n_bytes = part->n_bytes};
        memcpy(parts[i].digest, part->digest, sizeof parts[i].digest);
        if (part->is_proved) {
            parts[i].proof = &part->proof;
            parts[i].proof_bytes = sizeof part->proof;
            parts[i].publics = part->publics;
            parts[i].publics_bytes = job->n_public * PM_FR_BYTES;
        }
    }
}

static pm_status write_end(struct pm_engine *engine, const struct engine_job *job,
                           pm_error *error) {
    void *parts = NULL;
    struct pm_journal_job row;
    if (engine->journal == NULL) {
        return PM_OK;
    }
    PM_TRY(pm_memory_alloc_array(NULL, "parts for the journal", job->n_parts,
                                 sizeof(struct pm_journal_part), PM_MEMORY_PLAIN, &parts, error));
    pm_engine_job_record(job, parts, &row);
    record_spent(engine, job, &row);
    const pm_status status = pm_journal_end(engine->journal, &row, pm_engine_now_ns(engine), error);
    pm_memory_free(parts);
    return status;
}

/* What an outcome takes while it is kept; each block of it has a header. */
static uint64_t kept_bytes(const struct engine_job *job) {
    return sizeof *job + 3 * BLOCK_BYTES +
           job->n_parts * (sizeof(struct engine_part) + BLOCK_BYTES +
                           (uint64_t)(job->n_public + 1) * PM_FR_BYTES);
}

void pm_engine_keep(struct pm_engine *engine, const struct engine_job *job) {
    ++engine->n_kept;
    engine->kept_bytes += kept_bytes(job);
}

static void count_outcome(struct pm_engine *engine, const struct engine_job *job) {
    pm_engine_metrics *metrics = &engine->metrics;
    metrics->n_done += job->state == PM_ENGINE_DONE;
    metrics->n_cancelled += job->state == PM_ENGINE_CANCELLED;
    if (job->state == PM_ENGINE_FAILED) {
        ++metrics->n_failed;
        metrics->n_expired += job->status == PM_DEADLINE;
        metrics->n_failed_by[(uint32_t)job->status % PM_ENGINE_CAUSES]++;
    }
    pm_engine_measure(engine, PM_ENGINE_STAGE_JOB, job->ended_at_ns - job->accepted_at_ns);
}

/* A line for whoever runs the engine: numbers and names, nothing of what is proved. */
static void say_outcome(const struct pm_engine *engine, const struct engine_job *job) {
    char id[PM_ENGINE_NAME_BYTES + 24] = "";
    if (job->request_id[0] != '\0') {
        (void)snprintf(id, sizeof id, ", request \"%s\"", job->request_id);
    }
    if (job->state == PM_ENGINE_FAILED) {
        pm_engine_say(engine, PM_LOG_WARNING, "job %llu, key \"%s\"%s failed: %s: %s",
                      (unsigned long long)job->id, job->key_name, id, pm_status_name(job->status),
                      job->message);
    } else {
        pm_engine_say(engine, PM_LOG_DEBUG, "job %llu, key \"%s\"%s is %s after %llu ms",
                      (unsigned long long)job->id, job->key_name, id,
                      pm_engine_state_name(job->state),
                      (unsigned long long)((job->ended_at_ns - job->accepted_at_ns) / MS));
    }
}

/* Under the lock: from now on it may be told. */
static void publish(struct pm_engine *engine, struct engine_job *job) {
    job->is_ending = false;
    job->is_final = true;
    ++job->change;
    --engine->n_open;
    pm_engine_keep(engine, job);
    count_outcome(engine, job);
    say_outcome(engine, job);
    pm_engine_event_job(engine, job);
    (void)pthread_cond_broadcast(&engine->changed);
}

static void note_journal(struct pm_engine *engine, pm_status status, const pm_error *error) {
    const bool fails = status != PM_OK;
    if (fails != engine->journal_fails) {
        engine->journal_fails = fails;
        pm_engine_event_other(engine, PM_ENGINE_EVENT_JOURNAL, -1, status);
        pm_engine_say(engine, PM_LOG_WARNING, "%s",
                      fails ? error->message : "the journal can be written again");
    }
    engine->n_journal_faults = fails ? engine->n_journal_faults + 1 : 0;
    const uint32_t doublings = engine->n_journal_faults < 7 ? engine->n_journal_faults : 7;
    engine->ending_not_before_ns = fails ? pm_clock_now_ns() + (SECOND >> (7 - doublings)) : 0;
}

/* One of the two has been tried. */
static void note_try(struct pm_engine *engine, bool *fails, bool is_well) {
    const bool failed = engine->arrivals_fail || engine->stores_fail;
    *fails = !is_well;
    if (!is_well) {
        engine->probe_not_before_ns = pm_clock_now_ns() + SECOND;
    }
    if (failed != (engine->arrivals_fail || engine->stores_fail)) {
        pm_engine_event_other(engine, PM_ENGINE_EVENT_JOURNAL, -1, is_well ? PM_OK : PM_IO);
        pm_engine_say(engine, PM_LOG_WARNING, "%s",
                      is_well ? "the journal takes jobs again"
                              : "the journal cannot be written: jobs are refused");
    }
}

void pm_engine_note_arrival(struct pm_engine *engine, bool is_taken) {
    note_try(engine, &engine->arrivals_fail, is_taken);
}

void pm_engine_note_store(struct pm_engine *engine, bool is_stored) {
    note_try(engine, &engine->stores_fail, is_stored);
}

static pm_status probe_store(struct pm_journal *journal) {
    static const uint8_t nothing[4096];
    char name[PM_JOURNAL_STORED_NAME_BYTES];
    PM_TRY(pm_journal_store(journal, nothing, sizeof nothing, name, NULL));
    pm_journal_wipe(journal, name);
    return PM_OK;
}

bool pm_engine_probe_journal(struct pm_engine *engine) {
    const bool stores = engine->stores_fail;
    if ((!engine->arrivals_fail && !stores) || pm_clock_now_ns() < engine->probe_not_before_ns) {
        return false;
    }
    engine->probe_not_before_ns = PM_SCHED_NEVER; /* one at a time */
    const uint64_t now_ns = pm_engine_now_ns(engine);
    pm_engine_unlock(engine);
    const bool is_stored = !stores || probe_store(engine->journal) == PM_OK;
    const bool is_taken = pm_journal_probe(engine->journal, now_ns, NULL) == PM_OK;
    pm_engine_lock(engine);
    pm_engine_note_store(engine, is_stored);
    pm_engine_note_arrival(engine, is_taken);
    return true;
}

bool pm_engine_write_outcome(struct pm_engine *engine) {
    struct engine_job *job = engine->first_ending;
    pm_error error = PM_ERROR_INIT;
    if (job == NULL || pm_clock_now_ns() < engine->ending_not_before_ns) {
        return false;
    }
    engine->first_ending = job->next_ending;
    if (engine->first_ending == NULL) {
        engine->last_ending = NULL;
    }
    pm_engine_unlock(engine);
    const pm_status status = write_end(engine, job, &error);
    if (status == PM_OK) {
        for (uint32_t i = 0; i < job->n_parts; ++i) {
            pm_engine_forget_input(engine, &job->parts[i]);
        }
    }
    pm_engine_lock(engine);
    note_journal(engine, status, &error);
    if (status == PM_OK) {
        publish(engine, job);
    } else {
        job->next_ending = engine->first_ending;
        engine->first_ending = job;
        engine->last_ending = engine->last_ending != NULL ? engine->last_ending : job;
    }
    return true;
}

/* ---- Kept and forgotten --------------------------------------------------------------------- */

static bool is_one_too_many(const struct pm_engine *engine, const struct engine_job *job) {
    const struct engine_limits *limits = &engine->limits;
    const uint64_t now_ns = pm_engine_now_ns(engine);
    return engine->n_kept > limits->n_results_max ||
           engine->kept_bytes > limits->results_bytes_max ||
           (now_ns > job->ended_at_ns && now_ns - job->ended_at_ns > limits->results_age_ns);
}

static void unlist(struct pm_engine *engine, struct engine_job *job) {
    *(job->previous != NULL ? &job->previous->next : &engine->first) = job->next;
    *(job->next != NULL ? &job->next->previous : &engine->last) = job->previous;
    engine->kept_bytes -= kept_bytes(job);
    --engine->n_kept;
}

void pm_engine_forget_old(struct pm_engine *engine) {
    uint64_t ids[FORGET_MAX];
    uint32_t n = 0;
    struct engine_job *next = NULL;
    for (struct engine_job *job = engine->first; job != NULL && n < FORGET_MAX; job = next) {
        next = job->next;
        if (!job->is_final) {
            continue;
        }
        if (!is_one_too_many(engine, job)) {
            break;
        }
        ids[n++] = job->id;
        unlist(engine, job);
        if (--job->n_references == 0) {
            pm_engine_job_free(NULL, job);
        }
    }
    if (n != 0 && engine->journal != NULL) {
        pm_engine_unlock(engine);
        (void)pm_journal_forget(engine->journal, ids, n, NULL);
        pm_engine_lock(engine);
    }
}
