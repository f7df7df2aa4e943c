/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One step of one part: the four that engine_curve.c speaks of, and what their failures mean. */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a step works with, found under the lock. While it runs it owns the part's handles. */
struct step {
    struct pm_engine *engine;
    struct engine_job *job;
    struct engine_part *part;
    struct engine_key *key;
    const pm_key *open;
    const pm_vk *vk;
    pm_context *context;
    const pm_plan_options *choices;
    uint32_t task, index, worker;
    uint32_t device;
    enum engine_step at;
    bool first;
    pm_control control;
};

pm_engine_stage pm_engine_stage_of(enum engine_step step) {
    static const pm_engine_stage stages[PM_ENGINE_STEPS] = {
        [PM_ENGINE_STEP_READ] = PM_ENGINE_STAGE_PREPARE,
        [PM_ENGINE_STEP_PROVE] = PM_ENGINE_STAGE_PROVE,
        [PM_ENGINE_STEP_FINISH] = PM_ENGINE_STAGE_FINISH,
        [PM_ENGINE_STEP_VERIFY] = PM_ENGINE_STAGE_VERIFY};
    return stages[step];
}

/* How far the step has come, for whoever watches the job. It may be said under a lock of the key's
 * or of the device's, so that it waits for nobody: what cannot be noted now is not. */
static void note_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    const struct step *step = user;
    struct engine_job *job = step->job;
    if (pthread_mutex_trylock(&step->engine->lock) != 0) {
        return;
    }
    job->phase = phase;
    job->phase_done = done;
    job->phase_total = total;
    ++job->change;
    (void)pthread_cond_broadcast(&step->engine->changed);
    pm_engine_unlock(step->engine);
}

/* ---- The steps ------------------------------------------------------------------------------ */

/* A mapped key whose bytes somebody changes in place gives proofs that do not verify: better said
 * before. One that was replaced by another file is still whole. */
static pm_status check_key(const struct step *step, pm_error *error) {
    struct pm_journal_file now;
    const int fd = open(step->key->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return PM_OK;
    }
    const pm_status status = pm_engine_file_facts(fd, step->key->path, &now, NULL);
    (void)close(fd);
    if (status == PM_OK && now.device == step->key->file.device &&
        now.inode == step->key->file.inode &&
        (now.n_bytes != step->key->file.n_bytes ||
         now.modified_ns != step->key->file.modified_ns)) {
        pm_error_set(error, PM_FILE_CHANGED,
                     "the key's file was changed since it was registered: register it again");
        pm_error_at(error, step->key->path, PM_NO_OFFSET);
        return PM_FILE_CHANGED;
    }
    return PM_OK;
}

static pm_status read_input(struct step *step, pm_error *error) {
    struct engine_part *part = step->part;
    const uint32_t n_public = step->job->n_public;
    if (step->first && step->engine->journal != NULL) {
        (void)pm_journal_begin(step->engine->journal, step->job->id, NULL);
    }
    PM_TRY(check_key(step, error));
    PM_TRY(pm_engine_open_input(step->engine, step->engine->host, part, &step->control, error));
    if (part->publics == NULL) {
        void *publics = NULL;
        PM_TRY(pm_memory_alloc_array(NULL, "public signals", (uint64_t)n_public + 1, PM_FR_BYTES,
                                     PM_MEMORY_PLAIN, &publics, error));
        part->publics = publics;
    }
    return pm_engine_read_publics(part, n_public, part->publics, error);
}

static pm_status prove(struct step *step, pm_error *error) {
    struct engine_part *part = step->part;
    const pm_plan_options *choices = step->choices;
    /* The memory is the scheduler's, already reserved; the budget looks after it once more, and
     * says what is really held. */
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .no_self_verify = 1,
                                      .memory_bytes = choices->memory_bytes,
                                      .form = choices->form,
                                      .residency = choices->residency,
                                      .b2 = choices->b2,
                                      .no_wait = 1,
                                      .budget = step->engine->budget};
    pm_status status;
    if (part->assignment != NULL) {
        pm_assignment assignment = {.struct_bytes = sizeof assignment};
        PM_TRY(pm_assignment_file_get(part->assignment, &assignment, error));
        return pm_prove_start_assignment(step->context, step->open, &assignment, &options,
                                         &step->control, &part->pending, error);
    }
    status = pm_prove_start(step->context, step->open, part->witness, &options, &step->control,
                            &part->pending, error);
    if (status == PM_OK) {
        /* What is still read of it, the pending proof holds. */
        pm_engine_close_input(step->engine, part);
    }
    return status;
}

static pm_status finish(struct step *step, pm_error *error) {
    const struct pm_engine *engine = step->engine;
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    pm_pending *pending = step->part->pending;
    step->part->pending = NULL;
    if (engine->hooks.finishing != NULL) {
        engine->hooks.finishing(engine->hooks.user, engine->devices[step->device].is_card);
    }
    const pm_status status =
        pm_prove_finish(pending, &step->control, &step->part->proof, &stats, error);
    step->part->taken_ns = stats.device_taken_ns;
    step->part->left_ns = stats.device_left_ns;
    pm_engine_close_input(step->engine, step->part);
    return status;
}

/* A part that is proved while others of its job are not is worth keeping: if this fails it is only
 * proved again, should the process end. */
static void keep_part(const struct step *step) {
    const struct engine_part *part = step->part;
    if (step->engine->journal == NULL || step->job->n_parts == 1) {
        return;
    }
    struct pm_journal_part row = {.path = part->path,
                                  .is_stored = part->is_stored,
                                  .is_assignment = part->is_assignment,
                                  .proof = &part->proof,
                                  .proof_bytes = sizeof part->proof,
                                  .publics = part->publics,
                                  .publics_bytes = step->job->n_public * PM_FR_BYTES};
    memcpy(row.digest, part->digest, sizeof row.digest);
    (void)pm_journal_part_done(step->engine->journal, step->job->id, step->index, &row,
                               pm_engine_now_ns(step->engine), NULL);
}

static pm_status verify(struct step *step, pm_error *error) {
    pm_status status = pm_verify(step->engine->host, step->vk, step->part->publics,
                                 step->job->n_public, &step->part->proof, error);
    /* A damaged sum need not be a point of the curve any more. */
    const bool is_malformed = status >= PM_NOT_CANONICAL && status <= PM_POINT_AT_INFINITY;
    if (status == PM_PROOF_INVALID || is_malformed) {
        status = pm_error_set(error, PM_SELF_VERIFY,
                              "the finished proof does not verify and was withheld: the witness "
                              "does not satisfy the circuit's constraints, or key or device are "
                              "damaged");
    }
    if (status == PM_OK) {
        keep_part(step);
    }
    return status;
}

static pm_status run(struct step *step, pm_error *error) {
    PM_FAIL_IF(step->context == NULL, error, PM_NO_DEVICE, "the device is closed");
    switch (step->at) {
    case PM_ENGINE_STEP_READ:
        return read_input(step, error);
    case PM_ENGINE_STEP_PROVE:
        return prove(step, error);
    case PM_ENGINE_STEP_FINISH:
        return finish(step, error);
    case PM_ENGINE_STEP_VERIFY:
        return verify(step, error);
    default:
        PM_FAIL(error, PM_INTERNAL, "there is no step %u", (uint32_t)step->at);
    }
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void remember_failure(struct step *step, pm_status status, const pm_error *error) {
    struct engine_job *job = step->job;
    const size_t length = strlen(job->history);
    (void)snprintf(job->history + length, sizeof job->history - length, "%s%s: %.160s",
                   length > 0 ? "; " : "", step->engine->devices[step->device].name,
                   error->message);
    if (error->file[0] != '\0') {
        (void)snprintf(job->message, sizeof job->message, "%.200s: %.280s", error->file,
                       error->message);
    } else {
        (void)snprintf(job->message, sizeof job->message, "%s", error->message);
    }
    job->cause = status;
}

/*
 * A proof that does not verify: the card is suspect when it was made on one, and another place has
 * its turn. When that one comes to the same, or when it was the CPU at once, it is the witness or
 * the key, and the cards are blamed no longer. Neither the wrong proof nor the card's fault counts
 * before the part has been made well: see tell_well().
 */
static enum pm_fault judge_wrong_proof(struct step *step) {
    struct pm_engine *engine = step->engine;
    struct engine_part *part = step->part;
    const uint32_t blamed_mask = part->wrong_mask;
    part->wrong_mask |= UINT32_C(1) << step->device;
    if (engine->devices[step->device].is_card && blamed_mask == 0) {
        return PM_FAULT_DEVICE;
    }
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        if ((blamed_mask >> d & 1) != 0) {
            pm_engine_acquit(engine, d);
        }
    }
    return PM_FAULT_PERMANENT;
}

static enum pm_fault judge(struct step *step, pm_status *status, pm_error *error) {
    if (*status == PM_CANCELLED && step->part->is_overdue) {
        *status = pm_error_set(error, PM_DEVICE, "the device did not answer in time");
        return PM_FAULT_DEVICE_LOST;
    }
    if (*status == PM_CANCELLED) {
        return PM_FAULT_TRANSIENT;
    }
    if (*status == PM_SELF_VERIFY) {
        return judge_wrong_proof(step);
    }
    return pm_fault_of(*status);
}

/* ---- Around a step -------------------------------------------------------------------------- */

/* Under the lock. */
static void find(struct pm_engine *engine, uint32_t index, struct step *step) {
    const struct pm_sched_task *task = &engine->sched_tasks[index];
    struct engine_job *job = engine->live[task->job];
    const uint32_t part = job->part_of[task->part];
    *step = (struct step){
        .engine = engine,
        .job = job,
        .part = &job->parts[part],
        .key = job->key,
        .open = job->key->key,
        .vk = job->key->vk,
        .context = engine->devices[task->device].context,
        .choices = &job->key->curves[job->parts[part].shape].choices[task->device],
        .task = index,
        .index = part,
        .worker = task->worker != PM_SCHED_NONE ? task->worker : 0,
        .device = task->device,
        .at = (enum engine_step)task->step,
        .first = !job->has_begun,
        .control = {.struct_bytes = sizeof(pm_control),
                    .cancel = &job->parts[part].cancel,
                    .deadline_ns = pm_engine_monotonic_ns(engine, job->deadline_at_ns)}};
}

static void begin(struct pm_engine *engine, struct step *step) {
    struct engine_job *job = step->job;
    const uint64_t now_ns = pm_engine_now_ns(engine);
    if (!job->has_begun) {
        job->has_begun = true;
        const uint64_t waited_ns = now_ns - job->accepted_at_ns;
        const uint64_t key_ns = job->stage_ns[PM_ENGINE_STAGE_KEY];
        job->stage_ns[PM_ENGINE_STAGE_QUEUE] = waited_ns > key_ns ? waited_ns - key_ns : 0;
        pm_engine_measure(engine, PM_ENGINE_STAGE_QUEUE, job->stage_ns[PM_ENGINE_STAGE_QUEUE]);
    }
    if (step->at == PM_ENGINE_STEP_READ) {
        step->part->is_overdue = false;
        __atomic_store_n(&step->part->cancel, 0, __ATOMIC_RELAXED);
    }
    job->device = step->part->device = (int32_t)step->device;
    step->part->worker = step->worker;
    pm_engine_device_busy(engine, step->device, true);
    step->part->step_began_ns = pm_clock_now_ns();
    ++job->change;
    pm_engine_event_job(engine, job);
    pm_engine_event_step(engine, true, job, step->index, (int32_t)step->device, step->worker,
                         pm_engine_stage_of(step->at), PM_OK);
    (void)pthread_cond_broadcast(&engine->changed);
}

/* The part can be proved, so that who came to something else has computed wrongly. */
static void count_wrong_proofs(struct pm_engine *engine, const struct engine_part *part) {
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        if ((part->wrong_mask >> d & 1) != 0) {
            ++engine->metrics.n_wrong_proofs;
            ++engine->devices[d].n_faults;
            pm_engine_say(engine, PM_LOG_WARNING,
                          "%s has computed a wrong proof, which was withheld and made again",
                          engine->devices[d].name);
        }
    }
}

static void tell_well(struct pm_engine *engine, struct step *step) {
    if (step->at == PM_ENGINE_STEP_VERIFY && !engine->sched_tasks[step->task].stopping) {
        step->part->is_proved = true;
        count_wrong_proofs(engine, step->part);
        ++engine->metrics.n_proofs;
        engine->devices[step->device].n_proofs++;
    }
    (void)pm_sched_step_done(&engine->sched, step->task, pm_engine_now_ns(engine), NULL);
}

static void say_retry(const struct pm_engine *engine, const struct step *step,
                      const pm_error *error) {
    pm_engine_say(engine, PM_LOG_INFO, "job %llu, key \"%s\": part %u is tried again: %s: %.300s",
                  (unsigned long long)step->job->id, step->job->key_name, step->index,
                  engine->devices[step->device].name, error->message);
}

static void tell_badly(struct pm_engine *engine, struct step *step, pm_status status,
                       pm_error *error) {
    const enum pm_fault fault = judge(step, &status, error);
    const uint64_t n_retried = engine->sched.counters.n_retried;
    if (!engine->sched_tasks[step->task].stopping) {
        remember_failure(step, status, error);
    }
    if (fault >= PM_FAULT_DEVICE && status != PM_SELF_VERIFY) {
        engine->devices[step->device].n_faults += !step->part->is_overdue;
    }
    (void)pm_sched_fault(&engine->sched, step->task, fault, status, pm_engine_now_ns(engine), NULL);
    if (engine->sched.counters.n_retried != n_retried) {
        ++step->job->n_retries;
        ++engine->metrics.n_retries;
        say_retry(engine, step, error);
    }
    if (pm_engine_note_quarantine(engine, status)) {
        pm_engine_settle_all(engine);
    }
}

static void end(struct pm_engine *engine, struct step *step, pm_status status, pm_error *error) {
    struct engine_job *job = step->job;
    const pm_engine_stage stage = pm_engine_stage_of(step->at);
    const uint64_t took_ns = pm_clock_now_ns() - step->part->step_began_ns;
    pm_engine_device_busy(engine, step->device, false);
    job->stage_ns[stage] += took_ns;
    step->part->step_ns[step->at] += took_ns;
    if (status == PM_OK) {
        pm_engine_measure(engine, stage, took_ns);
    }
    if (status == PM_OK && step->at == PM_ENGINE_STEP_FINISH) {
        engine->devices[step->device].held_ns += step->part->left_ns - step->part->taken_ns;
    }
    pm_engine_event_step(engine, false, job, step->index, (int32_t)step->device, step->worker,
                         stage, status);
    if (engine->is_stopping) {
        step->part->is_overdue = false;
        return; /* the job stays where it is, for the next engine */
    }
    if (status == PM_OK) {
        tell_well(engine, step);
    } else {
        tell_badly(engine, step, status, error);
    }
    pm_engine_settle(engine, job);
    pm_engine_pump(engine);
}

void pm_engine_run_step(struct pm_engine *engine, uint32_t task) {
    struct step step;
    pm_error error = PM_ERROR_INIT;
    find(engine, task, &step);
    begin(engine, &step);
    pm_engine_unlock(engine);
    step.control.progress = note_progress;
    step.control.user = &step;
    const pm_status status = run(&step, &error);
    if (status != PM_OK) {
        pm_engine_close_input(step.engine, step.part);
        pm_pending_drop(step.part->pending);
        step.part->pending = NULL;
    }
    pm_engine_lock(engine);
    end(engine, &step, status, &error);
}
