/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/sched_events.c - what has been decided, and what has happened. */
#include "sched/policy.h"
#include "sched/sched_internal.h"

#include <stddef.h>
#include <string.h>

/* ---- Bytes, users, workers --------------------------------------------------------------------
 */

static uint32_t pool_of(const struct pm_sched *sched, uint32_t kind, uint32_t device) {
    return kind == PM_KIND_DEVICE ? sched->devices[device].pool : kind;
}

static void reserve(struct pm_sched *sched, struct pm_sched_task *task, uint32_t kind,
                    uint64_t bytes) {
    sched->reserved_bytes[pool_of(sched, kind, task->device)] += bytes;
    task->reserved_bytes[kind] += bytes;
}

/* Gives back what exceeds what the steps from task->step on need. */
static void shrink(struct pm_sched *sched, struct pm_sched_task *task, bool to_nothing) {
    uint64_t remaining[PM_SCHED_KINDS] = {0};
    if (!to_nothing) {
        pm_sched_curve_remaining(pm_sched_task_curve(sched, task), task->step, remaining);
    }
    for (uint32_t kind = 0; kind < PM_SCHED_KINDS; kind++) {
        if (task->reserved_bytes[kind] > remaining[kind]) {
            sched->reserved_bytes[pool_of(sched, kind, task->device)] -=
                task->reserved_bytes[kind] - remaining[kind];
            task->reserved_bytes[kind] = remaining[kind];
        }
    }
}

static struct pm_sched_key *key_of(const struct pm_sched *sched, const struct pm_sched_task *task) {
    return &sched->keys[sched->jobs[task->job].request.key];
}

static void stop_using(struct pm_sched_place *place, bool *uses, uint64_t now_ns) {
    if (*uses) {
        place->n_users--;
        place->last_used_ns = now_ns;
        *uses = false;
    }
}

static void leave_slot(struct pm_sched *sched, struct pm_sched_task *task) {
    sched->n_slots_used -= task->in_slot;
    task->in_slot = false;
}

static void leave_worker(struct pm_sched *sched, struct pm_sched_task *task) {
    if (task->worker != PM_SCHED_NONE) {
        sched->devices[task->device].workers[task->worker] = PM_SCHED_NONE;
        task->worker = PM_SCHED_NONE;
    }
}

void pm_sched_release(struct pm_sched *sched, uint32_t index, uint64_t now_ns) {
    struct pm_sched_task *task = &sched->tasks[index];
    if (!pm_job_holds((enum pm_job_state)task->state)) {
        return;
    }
    shrink(sched, task, true);
    leave_slot(sched, task);
    leave_worker(sched, task);
    sched->n_ahead -= task->ahead;
    task->ahead = false;
    stop_using(&key_of(sched, task)->process, &task->uses_key, now_ns);
    if (task->device != PM_SCHED_NONE) {
        stop_using(&key_of(sched, task)->devices[task->device], &task->on_device, now_ns);
    }
    task->device = PM_SCHED_NONE;
    task->running = false;
    task->step = 0;
}

pm_status pm_sched_move(struct pm_sched_task *task, enum pm_job_event event, pm_error *error) {
    enum pm_job_state next = PM_JOB_ACCEPTED;
    const pm_status status = pm_job_next((enum pm_job_state)task->state, event, &next, error);
    if (status != PM_OK) {
        return pm_error_set(error, PM_INTERNAL, "the scheduler gave a task that is %s the event %s",
                            pm_job_state_name((enum pm_job_state)task->state),
                            pm_job_event_name(event));
    }
    task->state = (uint8_t)next;
    return PM_OK;
}

pm_status pm_sched_begin(struct pm_sched *sched, uint32_t index, pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[index];
    const struct pm_sched_key *key = key_of(sched, task);
    const bool may_prove = task->device != PM_SCHED_NONE &&
                           (task->state == PM_JOB_ADMITTED || task->state == PM_JOB_PREPARED);
    if (key->process.residency != PM_RESIDENT) {
        return PM_OK;
    }
    if (task->state == PM_JOB_ADMITTED && task->device == PM_SCHED_NONE) {
        return pm_sched_move(task, PM_JOB_PREPARE, error);
    }
    if (may_prove &&
        (pm_sched_copy_bytes(sched, sched->jobs[task->job].request.key, task->device) == 0 ||
         key->devices[task->device].residency == PM_RESIDENT)) {
        return pm_sched_move(task, PM_JOB_PROVE, error);
    }
    return PM_OK;
}

/* ---- Decisions --------------------------------------------------------------------------------
 */

static void begin_loading(struct pm_sched *sched, uint32_t key, uint32_t device) {
    struct pm_sched_key *loading = &sched->keys[key];
    if (device != PM_SCHED_NONE) {
        loading->devices[device].residency = PM_LOADING;
        sched->reserved_bytes[sched->devices[device].pool] += loading->bytes[PM_KIND_DEVICE];
        return;
    }
    loading->process.residency = PM_LOADING;
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE; kind++) {
        sched->reserved_bytes[kind] += loading->bytes[kind];
    }
}

static pm_status admit(struct pm_sched *sched, const struct pm_sched_decision *decision,
                       pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[decision->task];
    struct pm_sched_key *key = key_of(sched, task);
    uint64_t remaining[PM_SCHED_KINDS];
    PM_TRY(pm_sched_move(task, PM_JOB_ADMIT, error));
    if (key->process.residency == PM_COLD) {
        begin_loading(sched, decision->key, PM_SCHED_NONE);
    }
    task->variant = (uint8_t)decision->variant;
    task->step = 0;
    pm_sched_curve_remaining(pm_sched_task_curve(sched, task), 0, remaining);
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE; kind++) {
        reserve(sched, task, kind, remaining[kind]);
    }
    key->process.n_users++;
    task->uses_key = true;
    sched->counters.n_admitted++;
    return PM_OK;
}

static void place(struct pm_sched *sched, const struct pm_sched_decision *decision) {
    struct pm_sched_task *task = &sched->tasks[decision->task];
    struct pm_sched_key *key = key_of(sched, task);
    task->device = decision->device;
    task->worker = decision->worker;
    sched->devices[task->device].workers[task->worker] = decision->task;
    sched->n_ahead -= task->ahead;
    task->ahead = false;
    reserve(sched, task, PM_KIND_DEVICE, pm_sched_device_need(pm_sched_task_curve(sched, task)));
    if (pm_sched_copy_bytes(sched, decision->key, task->device) != 0) {
        if (key->devices[task->device].residency == PM_COLD) {
            begin_loading(sched, decision->key, task->device);
        }
        key->devices[task->device].n_users++;
        task->on_device = true;
    }
    sched->counters.n_started++;
}

/* Who has had a turn. */
static void count_turn(struct pm_sched *sched, const struct pm_sched_decision *decision) {
    if (decision->is_aged) {
        sched->n_since_aged = 0;
    } else if (sched->n_since_aged < sched->config.age_every) {
        sched->n_since_aged++;
    }
    if (decision->passes) {
        sched->n_passed++;
        sched->counters.n_passed++;
    } else if (decision->is_first) {
        sched->n_passed = 0;
    }
}

static pm_status apply_prepare(struct pm_sched *sched, const struct pm_sched_decision *decision,
                               pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[decision->task];
    PM_TRY(admit(sched, decision, error));
    task->in_slot = true;
    task->ahead = true;
    sched->n_slots_used++;
    sched->n_ahead++;
    count_turn(sched, decision);
    return pm_sched_begin(sched, decision->task, error);
}

static pm_status apply_start(struct pm_sched *sched, const struct pm_sched_decision *decision,
                             pm_error *error) {
    const struct pm_sched_device *device = &sched->devices[decision->device];
    const struct pm_sched_task *task = &sched->tasks[decision->task];
    PM_FAIL_IF(task->state != PM_JOB_QUEUED &&
                   (task->state != PM_JOB_PREPARED || task->device != PM_SCHED_NONE),
               error, PM_INVALID_ARGUMENT, "task %u waits for no device", decision->task);
    PM_FAIL_IF(decision->worker >= device->n_workers + device->n_express ||
                   device->workers[decision->worker] != PM_SCHED_NONE,
               error, PM_INVALID_ARGUMENT, "worker %u of device %u is not free", decision->worker,
               decision->device);
    if (task->state == PM_JOB_QUEUED) {
        PM_TRY(admit(sched, decision, error));
    }
    place(sched, decision);
    count_turn(sched, decision);
    return pm_sched_begin(sched, decision->task, error);
}

static pm_status apply_evict(struct pm_sched *sched, const struct pm_sched_decision *decision,
                             pm_error *error) {
    struct pm_sched_key *key = &sched->keys[decision->key];
    struct pm_sched_place *leaving =
        decision->device == PM_SCHED_NONE ? &key->process : &key->devices[decision->device];
    PM_FAIL_IF(leaving->residency != PM_RESIDENT || leaving->n_users != 0, error,
               PM_INVALID_ARGUMENT, "key %u is in use or not there", decision->key);
    for (uint32_t d = 0; decision->device == PM_SCHED_NONE && d < sched->n_devices; d++) {
        PM_FAIL_IF(key->devices[d].residency != PM_COLD, error, PM_INVALID_ARGUMENT,
                   "key %u is still on device %u", decision->key, d);
    }
    leaving->residency = PM_EVICTING;
    key->wanted = false;
    sched->counters.n_evicted++;
    return PM_OK;
}

static pm_status check_decision(const struct pm_sched *sched,
                                const struct pm_sched_decision *decision, pm_error *error) {
    const bool has_task = decision->action == PM_SCHED_EXPIRE ||
                          decision->action == PM_SCHED_PREPARE ||
                          decision->action == PM_SCHED_START;
    PM_FAIL_IF(has_task &&
                   (decision->task >= sched->n_tasks_end || !sched->tasks[decision->task].used ||
                    decision->variant >= PM_SCHED_VARIANTS_MAX),
               error, PM_INVALID_ARGUMENT, "the decision is about no task there is");
    PM_FAIL_IF(decision->action == PM_SCHED_START && decision->device >= sched->n_devices, error,
               PM_INVALID_ARGUMENT, "the decision is about no device there is");
    PM_FAIL_IF((decision->action == PM_SCHED_EVICT || decision->action == PM_SCHED_LOAD) &&
                   (decision->key >= sched->n_keys_max || !sched->keys[decision->key].used),
               error, PM_INVALID_ARGUMENT, "the decision is about no key there is");
    return PM_OK;
}

pm_status pm_sched_apply(struct pm_sched *sched, const struct pm_sched_decision *decision,
                         uint64_t now_ns, pm_error *error) {
    PM_TRY(check_decision(sched, decision, error));
    switch (decision->action) {
    case PM_SCHED_WAIT:
        return PM_OK;
    case PM_SCHED_EXPIRE:
        sched->counters.n_expired++;
        return pm_sched_fail_job(sched, sched->tasks[decision->task].job, PM_DEADLINE, now_ns,
                                 error);
    case PM_SCHED_EVICT:
        return apply_evict(sched, decision, error);
    case PM_SCHED_LOAD:
        PM_FAIL_IF(sched->keys[decision->key].process.residency != PM_COLD, error,
                   PM_INVALID_ARGUMENT, "key %u is there already", decision->key);
        begin_loading(sched, decision->key, PM_SCHED_NONE);
        return PM_OK;
    case PM_SCHED_PREPARE:
        return apply_prepare(sched, decision, error);
    case PM_SCHED_START:
        return apply_start(sched, decision, error);
    }
    PM_FAIL(error, PM_INVALID_ARGUMENT, "there is no action %u", (uint32_t)decision->action);
}

/* ---- Steps ------------------------------------------------------------------------------------
 */

uint32_t pm_sched_next_runnable(struct pm_sched *sched) {
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        struct pm_sched_task *task = &sched->tasks[i];
        if (task->used && !task->running &&
            (task->state == PM_JOB_PREPARING ||
             (task->state >= PM_JOB_PROVING && task->state <= PM_JOB_VERIFYING))) {
            task->running = true;
            return i;
        }
    }
    return PM_SCHED_NONE;
}

/* A task that has no device yet, and whose variant has none left for it, begins again with another.
 */
static pm_status choose_again(struct pm_sched *sched, uint32_t index, uint64_t now_ns,
                              pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[index];
    const struct pm_sched_request *request = &sched->jobs[task->job].request;
    if (!pm_job_holds((enum pm_job_state)task->state) || task->device != PM_SCHED_NONE ||
        task->running ||
        pm_sched_usable_devices(sched, request, &request->variants[task->variant],
                                task->avoid_mask) != 0) {
        return PM_OK;
    }
    pm_sched_release(sched, index, now_ns);
    return pm_sched_move(task, PM_JOB_RETRY, error);
}

static pm_status choose_all_again(struct pm_sched *sched, uint64_t now_ns, pm_error *error) {
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        if (sched->tasks[i].used) {
            PM_TRY(choose_again(sched, i, now_ns, error));
        }
    }
    return PM_OK;
}

static bool needs_device(const struct pm_sched_curve *curve, uint32_t step) {
    for (uint32_t i = step; i < curve->n_steps; i++) {
        if (curve->steps[i].stage == PM_STAGE_PROVE || curve->steps[i].bytes[PM_KIND_DEVICE] != 0) {
            return true;
        }
    }
    return false;
}

static pm_status complete(struct pm_sched *sched, uint32_t index, uint64_t now_ns,
                          pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[index];
    struct pm_sched_job *job = &sched->jobs[task->job];
    sched->devices[task->device].n_faults = 0;
    pm_sched_release(sched, index, now_ns);
    PM_TRY(pm_sched_move(task, PM_JOB_COMPLETE, error));
    job->n_done++;
    job->n_ended++;
    sched->counters.n_done += job->n_done == job->request.n_parts;
    return PM_OK;
}

static pm_status enter_stage(struct pm_sched *sched, struct pm_sched_task *task, uint32_t stage,
                             pm_error *error) {
    switch (stage) {
    case PM_STAGE_PROVE:
        leave_slot(sched, task);
        return pm_sched_move(task, PM_JOB_READY, error);
    case PM_STAGE_FINISH:
        return pm_sched_move(task, PM_JOB_FINISH, error);
    default:
        return pm_sched_move(task, PM_JOB_VERIFY, error);
    }
}

static pm_status stopped(struct pm_sched *sched, uint32_t index, uint64_t now_ns, pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[index];
    pm_sched_release(sched, index, now_ns);
    task->stopping = false;
    sched->jobs[task->job].n_ended++;
    return pm_sched_move(task, PM_JOB_CANCEL, error);
}

static pm_status find_running(const struct pm_sched *sched, uint32_t index, pm_error *error) {
    PM_FAIL_IF(index >= sched->n_tasks_end || !sched->tasks[index].used ||
                   !sched->tasks[index].running,
               error, PM_INVALID_ARGUMENT, "task %u does not run", index);
    return PM_OK;
}

pm_status pm_sched_step_done(struct pm_sched *sched, uint32_t index, uint64_t now_ns,
                             pm_error *error) {
    PM_TRY(find_running(sched, index, error));
    struct pm_sched_task *task = &sched->tasks[index];
    if (task->stopping) {
        return stopped(sched, index, now_ns, error);
    }
    const struct pm_sched_curve *curve = pm_sched_task_curve(sched, task);
    const uint32_t before = curve->steps[task->step].stage;
    task->running = false;
    if (task->step + 1 == curve->n_steps) {
        return complete(sched, index, now_ns, error);
    }
    const struct pm_sched_step *next = &curve->steps[++task->step];
    shrink(sched, task, false);
    if (next->stage > PM_STAGE_PROVE && !next->on_worker) {
        leave_worker(sched, task);
    }
    if (task->device != PM_SCHED_NONE && !needs_device(curve, task->step)) {
        stop_using(&key_of(sched, task)->devices[task->device], &task->on_device, now_ns);
    }
    if (next->stage != before) {
        PM_TRY(enter_stage(sched, task, next->stage, error));
    }
    return choose_again(sched, index, now_ns, error);
}

/* ---- Faults -----------------------------------------------------------------------------------
 */

static pm_status suspect(struct pm_sched *sched, uint32_t device, enum pm_fault fault,
                         uint64_t now_ns, pm_error *error) {
    struct pm_sched_device *faulty = &sched->devices[device];
    faulty->n_faults++;
    if (fault == PM_FAULT_DEVICE_LOST) {
        return pm_sched_quarantine(sched, device, now_ns, error);
    }
    if (sched->config.n_faults_max != 0 && faulty->n_faults >= sched->config.n_faults_max &&
        !faulty->quarantined) {
        PM_TRY(pm_sched_quarantine(sched, device, now_ns, error));
        faulty->for_faults = true;
    }
    return PM_OK;
}

/* What a task did has failed. */
static pm_status attempt_failed(struct pm_sched *sched, uint32_t index, enum pm_fault fault,
                                pm_status status, uint64_t now_ns, pm_error *error) {
    struct pm_sched_task *task = &sched->tasks[index];
    const uint32_t device = task->device, job = task->job;
    const bool blames_device = fault >= PM_FAULT_DEVICE && device != PM_SCHED_NONE;
    if (task->n_attempts < PM_SCHED_ATTEMPTS_MAX) {
        task->attempts[task->n_attempts++] = (struct pm_sched_attempt){device, status};
    }
    pm_sched_release(sched, index, now_ns);
    PM_TRY(pm_sched_move(task, PM_JOB_RETRY, error));
    if (fault != PM_FAULT_PERMANENT && task->n_attempts < sched->config.n_attempts_max) {
        task->avoid_mask |= blames_device ? UINT32_C(1) << device : 0;
        task->not_before_ns = now_ns + (sched->config.retry_ns << (task->n_attempts - 1));
        sched->counters.n_retried++;
    } else {
        PM_TRY(pm_sched_fail_job(sched, job, status, now_ns, error));
    }
    return blames_device ? suspect(sched, device, fault, now_ns, error) : PM_OK;
}

pm_status pm_sched_fault(struct pm_sched *sched, uint32_t index, enum pm_fault fault,
                         pm_status status, uint64_t now_ns, pm_error *error) {
    PM_TRY(find_running(sched, index, error));
    struct pm_sched_task *task = &sched->tasks[index];
    const uint32_t device = task->device;
    if (!task->stopping) {
        return attempt_failed(sched, index, fault, status, now_ns, error);
    }
    PM_TRY(stopped(sched, index, now_ns, error));
    return fault == PM_FAULT_DEVICE_LOST && device != PM_SCHED_NONE
               ? suspect(sched, device, fault, now_ns, error)
               : PM_OK;
}

/* ---- Keys -------------------------------------------------------------------------------------
 */

static pm_status find_place(struct pm_sched *sched, uint32_t key, uint32_t device,
                            enum pm_residency expected, struct pm_sched_place **found,
                            pm_error *error) {
    PM_FAIL_IF(key >= sched->n_keys_max || !sched->keys[key].used ||
                   (device != PM_SCHED_NONE && device >= sched->n_devices),
               error, PM_INVALID_ARGUMENT, "there is no such key, or no such device");
    *found =
        device == PM_SCHED_NONE ? &sched->keys[key].process : &sched->keys[key].devices[device];
    PM_FAIL_IF((*found)->residency != expected, error, PM_INVALID_ARGUMENT,
               "key %u is not being %s there", key, expected == PM_LOADING ? "loaded" : "evicted");
    return PM_OK;
}

static void give_back_key(struct pm_sched *sched, uint32_t key, uint32_t device) {
    const struct pm_sched_key *gone = &sched->keys[key];
    if (device != PM_SCHED_NONE) {
        sched->reserved_bytes[sched->devices[device].pool] -= gone->bytes[PM_KIND_DEVICE];
        return;
    }
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE; kind++) {
        sched->reserved_bytes[kind] -= gone->bytes[kind];
    }
}

pm_status pm_sched_key_loaded(struct pm_sched *sched, uint32_t key, uint32_t device,
                              pm_status status, uint64_t now_ns, pm_error *error) {
    struct pm_sched_place *place_of_key = NULL;
    PM_TRY(find_place(sched, key, device, PM_LOADING, &place_of_key, error));
    PM_FAIL_IF(device != PM_SCHED_NONE && sched->keys[key].process.residency != PM_RESIDENT, error,
               PM_INVALID_ARGUMENT, "key %u has not reached the process yet", key);
    place_of_key->residency = status == PM_OK ? PM_RESIDENT : PM_COLD;
    place_of_key->last_used_ns = now_ns;
    sched->keys[key].wanted = false;
    sched->counters.n_loaded += status == PM_OK;
    if (status != PM_OK) {
        give_back_key(sched, key, device);
        for (uint32_t d = 0; device == PM_SCHED_NONE && d < sched->n_devices; d++) {
            if (sched->keys[key].devices[d].residency == PM_LOADING) {
                sched->keys[key].devices[d].residency = PM_COLD;
                give_back_key(sched, key, d);
            }
        }
    }
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (!task->used || task->running || sched->jobs[task->job].request.key != key ||
            !(task->state == PM_JOB_ADMITTED || task->state == PM_JOB_PREPARED) ||
            !(device == PM_SCHED_NONE ? task->uses_key
                                      : task->on_device && task->device == device)) {
            continue;
        }
        PM_TRY(status == PM_OK
                   ? pm_sched_begin(sched, i, error)
                   : attempt_failed(sched, i, pm_fault_of(status), status, now_ns, error));
    }
    return PM_OK;
}

pm_status pm_sched_key_evicted(struct pm_sched *sched, uint32_t key, uint32_t device,
                               pm_error *error) {
    struct pm_sched_place *place_of_key = NULL;
    PM_TRY(find_place(sched, key, device, PM_EVICTING, &place_of_key, error));
    place_of_key->residency = PM_COLD;
    give_back_key(sched, key, device);
    return PM_OK;
}

pm_status pm_sched_preload(struct pm_sched *sched, uint32_t key, pm_error *error) {
    PM_FAIL_IF(key >= sched->n_keys_max || !sched->keys[key].used, error, PM_INVALID_ARGUMENT,
               "there is no key %u", key);
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE; kind++) {
        const uint64_t need = sched->keys[key].bytes[kind], have = sched->total_bytes[kind];
        if (need > have) {
            pm_error_set(error, PM_OVER_BUDGET,
                         "the key takes %llu bytes of %s memory, the budget is %llu bytes in all",
                         (unsigned long long)need, pm_pool_name(kind), (unsigned long long)have);
            pm_error_need_have(error, need, have);
            return PM_OVER_BUDGET;
        }
    }
    sched->keys[key].wanted = sched->keys[key].process.residency == PM_COLD ||
                              sched->keys[key].process.residency == PM_EVICTING;
    return PM_OK;
}

pm_status pm_sched_evict(struct pm_sched *sched, uint32_t key, pm_error *error) {
    PM_FAIL_IF(key >= sched->n_keys_max || !sched->keys[key].used, error, PM_INVALID_ARGUMENT,
               "there is no key %u", key);
    PM_FAIL_IF(!pm_sched_key_is_idle(sched, key), error, PM_BUDGET_BUSY,
               "the key is used by %u tasks, or is not resident", sched->keys[key].process.n_users);
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        PM_FAIL_IF(sched->keys[key].devices[d].residency != PM_COLD, error, PM_BUDGET_BUSY,
                   "the key is still on a device");
    }
    sched->keys[key].process.residency = PM_EVICTING;
    sched->keys[key].wanted = false;
    sched->counters.n_evicted++;
    return PM_OK;
}

/* ---- Devices ----------------------------------------------------------------------------------
 */

pm_status pm_sched_quarantine(struct pm_sched *sched, uint32_t device, uint64_t now_ns,
                              pm_error *error) {
    PM_FAIL_IF(device >= sched->n_devices, error, PM_INVALID_ARGUMENT, "there is no device %u",
               device);
    sched->devices[device].quarantined = true;
    sched->devices[device].for_faults = false;
    for (uint32_t j = 0; j < sched->n_jobs_max; j++) {
        const struct pm_sched_job *job = &sched->jobs[j];
        if (job->used && !job->failed && !job->cancelled && job->n_ended < job->request.n_parts &&
            pm_sched_feasible(sched, &job->request, NULL) != PM_OK) {
            PM_TRY(pm_sched_fail_job(sched, j, PM_NO_DEVICE, now_ns, error));
        }
    }
    return choose_all_again(sched, now_ns, error);
}

pm_status pm_sched_acquit(struct pm_sched *sched, uint32_t device, uint64_t now_ns,
                          pm_error *error) {
    PM_FAIL_IF(device >= sched->n_devices, error, PM_INVALID_ARGUMENT, "there is no device %u",
               device);
    struct pm_sched_device *blamed = &sched->devices[device];
    blamed->n_faults -= blamed->n_faults != 0;
    if (!blamed->for_faults || blamed->n_faults >= sched->config.n_faults_max) {
        return PM_OK;
    }
    blamed->quarantined = blamed->for_faults = false;
    return choose_all_again(sched, now_ns, error);
}

pm_status pm_sched_restore(struct pm_sched *sched, uint32_t device, uint64_t now_ns,
                           pm_error *error) {
    PM_FAIL_IF(device >= sched->n_devices, error, PM_INVALID_ARGUMENT, "there is no device %u",
               device);
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        PM_FAIL_IF(sched->tasks[i].used && sched->tasks[i].device == device, error, PM_BUDGET_BUSY,
                   "a task still runs on device %u", device);
    }
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        struct pm_sched_place *copy = &sched->keys[k].devices[device];
        PM_FAIL_IF(copy->residency == PM_LOADING || copy->residency == PM_EVICTING, error,
                   PM_BUDGET_BUSY, "a key is on its way to or from device %u", device);
    }
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        struct pm_sched_place *copy = &sched->keys[k].devices[device];
        if (copy->residency == PM_RESIDENT) {
            give_back_key(sched, k, device);
            copy->residency = PM_COLD;
        }
    }
    sched->devices[device].quarantined = sched->devices[device].for_faults = false;
    sched->devices[device].n_faults = 0;
    return choose_all_again(sched, now_ns, error);
}
