/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "base/control.h"

#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)
/* How often a wait looks at its control. */
#define LOOK_NS (50 * MS)
/* A cancel that waits for its outcome gives up after so long. */
#define CANCEL_WAIT_MS 30000

static pm_status no_such_job(uint64_t id, pm_error *error) {
    return pm_error_set(error, PM_INVALID_ARGUMENT,
                        "there is no job %llu, or its result is no longer kept",
                        (unsigned long long)id);
}

/* ---- What is known of a job ----------------------------------------------------------------- */

static bool is_only_reading(const struct pm_engine *engine, const struct engine_job *job) {
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched_tasks[i];
        if (task->used && task->job == job->sched_job && task->state == PM_JOB_PROVING &&
            task->step >= PM_ENGINE_STEP_PROVE) {
            return false;
        }
    }
    return true;
}

pm_engine_state pm_engine_job_state(const struct pm_engine *engine, const struct engine_job *job) {
    if (job->is_final) {
        return job->state;
    }
    if (job->sched_job == PM_SCHED_NONE) {
        return PM_ENGINE_FINISHING;
    }
    switch (pm_sched_job_state(&engine->sched, job->sched_job)) {
    case PM_JOB_ACCEPTED:
    case PM_JOB_QUEUED:
        return PM_ENGINE_QUEUED;
    case PM_JOB_ADMITTED:
    case PM_JOB_PREPARING:
    case PM_JOB_PREPARED:
        return PM_ENGINE_PREPARING;
    case PM_JOB_PROVING:
        return is_only_reading(engine, job) ? PM_ENGINE_PREPARING : PM_ENGINE_PROVING;
    default:
        return PM_ENGINE_FINISHING;
    }
}

/* The first part that has not ended: of those before it there is nothing to wait for. */
static uint32_t next_open_task(const struct pm_engine *engine, const struct engine_job *job) {
    uint32_t first = PM_SCHED_NONE;
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched_tasks[i];
        if (task->used && task->job == job->sched_job &&
            !pm_job_is_final((enum pm_job_state)task->state) &&
            (first == PM_SCHED_NONE || task->part < engine->sched_tasks[first].part)) {
            first = i;
        }
    }
    return first;
}

static void say_why_it_waits(const struct pm_engine *engine, const struct engine_job *job,
                             char *text, size_t text_bytes) {
    const uint32_t task = next_open_task(engine, job);
    struct pm_sched_why why = {.reason = PM_REASON_NONE};
    if (task != PM_SCHED_NONE) {
        pm_sched_why(&engine->sched, task, pm_engine_now_ns(engine), &why);
    }
    if (why.reason == PM_REASON_BYTES) {
        (void)snprintf(text, text_bytes, "%s: %s needs %llu bytes, %llu are free",
                       pm_sched_reason_name(why.reason), pm_pool_name(why.pool),
                       (unsigned long long)why.need_bytes, (unsigned long long)why.have_bytes);
    } else if (why.reason != PM_REASON_NONE) {
        (void)snprintf(text, text_bytes, "%s", pm_sched_reason_name(why.reason));
    }
}

static uint32_t count_ahead(const struct pm_engine *engine, const struct engine_job *job) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < engine->sched.n_jobs_max; ++j) {
        const struct engine_job *other = engine->live[j];
        /* One that is just being put on record has no number yet. */
        if (other != NULL && other != job && other->is_recorded && !other->has_begun &&
            (other->priority > job->priority ||
             (other->priority == job->priority && other->id < job->id))) {
            ++n;
        }
    }
    return n;
}

static void fill_times(const struct pm_engine *engine, const struct engine_job *job,
                       pm_engine_job *info) {
    const uint64_t until_ns =
        job->is_final || job->is_ending ? job->ended_at_ns : pm_engine_now_ns(engine);
    info->total_ns = until_ns - job->accepted_at_ns;
    info->queue_ns = job->has_begun ? job->stage_ns[PM_ENGINE_STAGE_QUEUE] : info->total_ns;
    info->prepare_ns = job->stage_ns[PM_ENGINE_STAGE_PREPARE];
    info->prove_ns = job->stage_ns[PM_ENGINE_STAGE_PROVE];
    info->finish_ns = job->stage_ns[PM_ENGINE_STAGE_FINISH] + job->stage_ns[PM_ENGINE_STAGE_VERIFY];
    info->key_ns = job->stage_ns[PM_ENGINE_STAGE_KEY];
}

static void fill_info(const struct pm_engine *engine, const struct engine_job *job,
                      pm_engine_job *info) {
    *info = (pm_engine_job){.struct_bytes = sizeof *info,
                            .state = (uint32_t)pm_engine_job_state(engine, job),
                            .job = job->id,
                            .priority = job->priority,
                            .n_parts = job->n_parts,
                            .n_public = job->n_public,
                            .curve = job->curve,
                            .n_retries = job->n_retries,
                            .status = (int32_t)(job->is_final ? job->status : PM_OK),
                            .device = job->device,
                            .is_permanent = job->is_final && job->is_permanent,
                            .accepted_ms = job->accepted_ms,
                            .ended_ms = job->is_final ? job->ended_ms : 0};
    for (uint32_t i = 0; i < job->n_parts; ++i) {
        info->n_parts_done += job->parts[i].is_proved;
    }
    fill_times(engine, job, info);
    memcpy(info->key, job->key_name, sizeof info->key);
    memcpy(info->request_id, job->request_id, sizeof info->request_id);
    memcpy(info->history, job->history, sizeof info->history);
    if (job->is_final) {
        memcpy(info->message, job->message, sizeof info->message);
    } else if (info->state == PM_ENGINE_PROVING && job->phase != NULL) {
        (void)snprintf(info->phase, sizeof info->phase, "%s", job->phase);
        info->phase_done = job->phase_done;
        info->phase_total = job->phase_total;
    } else if (info->state == PM_ENGINE_QUEUED) {
        info->n_ahead = count_ahead(engine, job);
        say_why_it_waits(engine, job, info->waits_for, sizeof info->waits_for);
    }
}

pm_status pm_engine_job_info(pm_engine *engine, uint64_t id, pm_engine_job *info, pm_error *error) {
    PM_FAIL_IF(engine == NULL || info == NULL, error, PM_INVALID_ARGUMENT,
               "engine or info is NULL");
    pm_engine_lock(engine);
    const struct engine_job *job = pm_engine_job_of(engine, id);
    if (job != NULL) {
        fill_info(engine, job, info);
    }
    pm_engine_unlock(engine);
    return job != NULL ? PM_OK : no_such_job(id, error);
}

pm_status pm_engine_jobs(pm_engine *engine, uint64_t after, pm_engine_job *infos, uint32_t *n) {
    uint32_t n_filled = 0;
    if (engine == NULL || n == NULL || (infos == NULL && *n != 0)) {
        return PM_INVALID_ARGUMENT;
    }
    pm_engine_lock(engine);
    const struct engine_job *job = engine->first;
    while (job != NULL && job->id <= after) {
        job = job->next;
    }
    for (; job != NULL && n_filled < *n; job = job->next) {
        fill_info(engine, job, &infos[n_filled++]);
    }
    pm_engine_unlock(engine);
    *n = n_filled;
    return PM_OK;
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static pm_engine_state part_state(const struct pm_sched_task *task) {
    switch ((enum pm_job_state)task->state) {
    case PM_JOB_ACCEPTED:
    case PM_JOB_QUEUED:
        return PM_ENGINE_QUEUED;
    case PM_JOB_PROVING:
        return task->step < PM_ENGINE_STEP_PROVE ? PM_ENGINE_PREPARING : PM_ENGINE_PROVING;
    case PM_JOB_FINISHING:
    case PM_JOB_VERIFYING:
        return PM_ENGINE_FINISHING;
    case PM_JOB_DONE:
        return PM_ENGINE_DONE;
    case PM_JOB_FAILED:
        return PM_ENGINE_FAILED;
    case PM_JOB_CANCELLED:
        return PM_ENGINE_CANCELLED;
    default:
        return PM_ENGINE_PREPARING;
    }
}

static void fill_part(const struct engine_job *job, uint32_t index, pm_engine_part *info) {
    const struct engine_part *part = &job->parts[index];
    *info = (pm_engine_part){.part = index,
                             .state = (uint32_t)(part->is_proved ? PM_ENGINE_DONE
                                                 : job->is_final ? job->state
                                                                 : PM_ENGINE_FINISHING),
                             .device = part->device,
                             .worker = part->worker,
                             .n_attempts = part->n_attempts,
                             .status = (int32_t)part->status,
                             .prepare_ns = part->step_ns[PM_ENGINE_STEP_READ],
                             .prove_ns = part->step_ns[PM_ENGINE_STEP_PROVE],
                             .finish_ns = part->step_ns[PM_ENGINE_STEP_FINISH] +
                                          part->step_ns[PM_ENGINE_STEP_VERIFY]};
}

/* What the scheduler knows of a part that has not ended. */
static void add_task(const struct engine_job *job, const struct pm_sched_task *task,
                     pm_engine_part *info) {
    info->state = (uint32_t)part_state(task);
    info->n_attempts = task->n_attempts;
    if (task->running) {
        const uint64_t began_ns = job->parts[info->part].step_began_ns;
        const uint64_t now_ns = pm_clock_now_ns();
        uint64_t *spent_ns = task->step == PM_ENGINE_STEP_READ    ? &info->prepare_ns
                             : task->step == PM_ENGINE_STEP_PROVE ? &info->prove_ns
                                                                  : &info->finish_ns;
        *spent_ns += now_ns > began_ns ? now_ns - began_ns : 0;
    }
}

/* Under the lock. */
static void fill_parts(const struct pm_engine *engine, const struct engine_job *job, uint32_t first,
                       pm_engine_part *parts, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
        fill_part(job, first + i, &parts[i]);
    }
    if (job->sched_job == PM_SCHED_NONE) {
        return;
    }
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched_tasks[i];
        if (!task->used || task->job != job->sched_job) {
            continue;
        }
        const uint32_t index = job->part_of[task->part];
        if (index >= first && index - first < n) {
            add_task(job, task, &parts[index - first]);
        }
    }
}

pm_status pm_engine_job_parts(pm_engine *engine, uint64_t id, uint32_t first, pm_engine_part *parts,
                              uint32_t *n, pm_error *error) {
    PM_FAIL_IF(engine == NULL || n == NULL || (parts == NULL && *n != 0), error,
               PM_INVALID_ARGUMENT, "engine, parts or n is NULL");
    pm_engine_lock(engine);
    const struct engine_job *job = pm_engine_job_of(engine, id);
    if (job != NULL) {
        const uint32_t n_left = first < job->n_parts ? job->n_parts - first : 0;
        *n = n_left < *n ? n_left : *n;
        fill_parts(engine, job, first, parts, *n);
    }
    pm_engine_unlock(engine);
    return job != NULL ? PM_OK : no_such_job(id, error);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* Under the lock: until the job has changed from *change on; OK then. */
static pm_status wait_for_change(struct pm_engine *engine, const struct engine_job *job,
                                 uint64_t change, uint64_t until_ns, const pm_control *control,
                                 pm_error *error) {
    while (job->change == change && !job->is_final) {
        PM_FAIL_IF(engine->is_stopping, error, PM_CANCELLED, "the engine stops");
        PM_FAIL_IF(until_ns != 0 && pm_clock_now_ns() >= until_ns, error, PM_DEADLINE,
                   "the job has not ended yet");
        PM_TRY(pm_control_check(control, error));
        const uint64_t look_ns = pm_clock_now_ns() + LOOK_NS;
        const bool has_control = control != NULL;
        (void)pm_engine_wait_changed(
            engine, has_control && (until_ns == 0 || look_ns < until_ns) ? look_ns : until_ns);
    }
    return PM_OK;
}

pm_status pm_engine_await(pm_engine *engine, uint64_t id, uint64_t timeout_ms,
                          const pm_control *control, pm_engine_job *info, pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    const uint64_t until_ns = pm_engine_until_ns(timeout_ms);
    pm_status status = PM_OK;
    pm_engine_lock(engine);
    struct engine_job *job = pm_engine_job_of(engine, id);
    if (job == NULL) {
        pm_engine_unlock(engine);
        return no_such_job(id, error);
    }
    ++job->n_references;
    while (status == PM_OK && !job->is_final) {
        status = wait_for_change(engine, job, job->change, until_ns, control, error);
    }
    if (status == PM_OK && info != NULL) {
        fill_info(engine, job, info);
    }
    pm_engine_job_unref(engine, job);
    pm_engine_unlock(engine);
    return status;
}

/* Under the lock, which is given up for the calls. */
static pm_status watch_job(struct pm_engine *engine, const struct engine_job *job,
                           uint64_t until_ns, pm_engine_watcher *watch, void *user,
                           pm_error *error) {
    pm_engine_job info;
    for (;;) {
        const uint64_t change = job->change;
        const bool is_last = job->is_final;
        fill_info(engine, job, &info);
        pm_engine_unlock(engine);
        const int is_enough = watch(user, &info);
        pm_engine_lock(engine);
        PM_FAIL_IF(is_enough != 0 && !is_last, error, PM_CANCELLED, "the watcher has seen enough");
        if (is_last) {
            return PM_OK;
        }
        PM_TRY(wait_for_change(engine, job, change, until_ns, NULL, error));
    }
}

pm_status pm_engine_watch(pm_engine *engine, uint64_t id, uint64_t timeout_ms,
                          pm_engine_watcher *watch, void *user, pm_error *error) {
    PM_FAIL_IF(engine == NULL || watch == NULL, error, PM_INVALID_ARGUMENT,
               "engine or watch is NULL");
    const uint64_t until_ns = pm_engine_until_ns(timeout_ms);
    pm_engine_lock(engine);
    struct engine_job *job = pm_engine_job_of(engine, id);
    if (job == NULL) {
        pm_engine_unlock(engine);
        return no_such_job(id, error);
    }
    ++job->n_references;
    const pm_status status = watch_job(engine, job, until_ns, watch, user, error);
    pm_engine_job_unref(engine, job);
    pm_engine_unlock(engine);
    return status;
}

/* ---- Cancelling ----------------------------------------------------------------------------- */

/* Under the lock. Returns when the outcome is on record, so that it holds after a crash too. */
static pm_status cancel_job(struct pm_engine *engine, struct engine_job *job, int *was_running,
                            pm_error *error) {
    const uint64_t until_ns = pm_engine_until_ns(CANCEL_WAIT_MS);
    bool runs = false;
    if (job->sched_job != PM_SCHED_NONE) {
        for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
            const struct pm_sched_task *task = &engine->sched_tasks[i];
            runs |= task->used && task->job == job->sched_job && task->running;
        }
        PM_TRY(pm_sched_cancel(&engine->sched, job->sched_job, pm_engine_now_ns(engine), error));
        pm_engine_settle(engine, job);
        pm_engine_pump(engine);
    }
    if (was_running != NULL) {
        *was_running = runs;
    }
    pm_status status = PM_OK;
    while (status == PM_OK && !job->is_final) {
        status = wait_for_change(engine, job, job->change, until_ns, NULL, error);
    }
    if (status == PM_DEADLINE) {
        PM_FAIL(error, PM_IO, "the job stops, but that is not on record yet");
    }
    return status;
}

pm_status pm_engine_cancel(pm_engine *engine, uint64_t id, int *was_running, pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    pm_engine_lock(engine);
    struct engine_job *job = pm_engine_job_of(engine, id);
    if (job == NULL) {
        pm_engine_unlock(engine);
        return no_such_job(id, error);
    }
    ++job->n_references;
    const pm_status status = cancel_job(engine, job, was_running, error);
    pm_engine_job_unref(engine, job);
    pm_engine_unlock(engine);
    return status;
}

/* ---- Results -------------------------------------------------------------------------------- */

static pm_status copy_result(const struct engine_job *job, uint32_t first, uint32_t n,
                             pm_proof *proofs, uint8_t *publics, pm_error *error) {
    PM_FAIL_IF(!job->is_final, error, PM_BUDGET_BUSY, "job %llu has not ended yet",
               (unsigned long long)job->id);
    PM_FAIL_IF(job->state != PM_ENGINE_DONE, error, job->status, "job %llu: %.400s",
               (unsigned long long)job->id, job->message);
    PM_FAIL_IF(first > job->n_parts || n > job->n_parts - first, error, PM_INVALID_ARGUMENT,
               "job %llu has %u proofs", (unsigned long long)job->id, job->n_parts);
    const size_t publics_bytes = (size_t)job->n_public * PM_FR_BYTES;
    for (uint32_t i = 0; i < n; ++i) {
        proofs[i] = job->parts[first + i].proof;
        if (publics != NULL && publics_bytes != 0) {
            memcpy(publics + i * publics_bytes, job->parts[first + i].publics, publics_bytes);
        }
    }
    return PM_OK;
}

pm_status pm_engine_result(pm_engine *engine, uint64_t id, uint32_t first, uint32_t n,
                           pm_proof *proofs, void *publics, pm_error *error) {
    PM_FAIL_IF(engine == NULL || (proofs == NULL && n != 0), error, PM_INVALID_ARGUMENT,
               "engine or proofs is NULL");
    pm_engine_lock(engine);
    const struct engine_job *job = pm_engine_job_of(engine, id);
    const pm_status status =
        job == NULL ? no_such_job(id, error) : copy_result(job, first, n, proofs, publics, error);
    pm_engine_unlock(engine);
    return status;
}
