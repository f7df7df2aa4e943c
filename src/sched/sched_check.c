/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/sched_check.c - everything counted once more. */
#include "sched/sched_internal.h"

#include <string.h>

struct count {
    uint64_t bytes[PM_POOLS_MAX];
    uint32_t n_slots, n_ahead;
};

static pm_status check_place(const struct pm_sched *sched, uint32_t key, uint32_t device,
                             pm_error *error) {
    const struct pm_sched_place *place =
        device == PM_SCHED_NONE ? &sched->keys[key].process : &sched->keys[key].devices[device];
    uint32_t n = 0;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        n += task->used && sched->jobs[task->job].request.key == key &&
             (device == PM_SCHED_NONE ? task->uses_key : task->on_device && task->device == device);
    }
    PM_FAIL_IF(n != place->n_users, error, PM_INTERNAL, "key %u counts %u users and has %u", key,
               place->n_users, n);
    PM_FAIL_IF(n != 0 && place->residency != PM_LOADING && place->residency != PM_RESIDENT, error,
               PM_INTERNAL, "key %u is used where it is not", key);
    return PM_OK;
}

static pm_status count_key(const struct pm_sched *sched, uint32_t k, struct count *count,
                           pm_error *error) {
    const struct pm_sched_key *key = &sched->keys[k];
    PM_TRY(check_place(sched, k, PM_SCHED_NONE, error));
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE && key->process.residency != PM_COLD; kind++) {
        count->bytes[kind] += key->bytes[kind];
    }
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        PM_TRY(check_place(sched, k, d, error));
        if (key->devices[d].residency != PM_COLD) {
            count->bytes[sched->devices[d].pool] += key->bytes[PM_KIND_DEVICE];
            PM_FAIL_IF(key->process.residency == PM_COLD, error, PM_INTERNAL,
                       "key %u is on a device and not in the process", k);
        }
    }
    return PM_OK;
}

static pm_status check_held(const struct pm_sched *sched, uint32_t i, struct count *count,
                            pm_error *error) {
    const struct pm_sched_task *task = &sched->tasks[i];
    uint64_t remaining[PM_SCHED_KINDS];
    pm_sched_curve_remaining(pm_sched_task_curve(sched, task), task->step, remaining);
    for (uint32_t kind = 0; kind < PM_SCHED_KINDS; kind++) {
        const bool counts = kind != PM_KIND_DEVICE || task->device != PM_SCHED_NONE;
        PM_FAIL_IF(counts && task->reserved_bytes[kind] != remaining[kind], error, PM_INTERNAL,
                   "task %u does not hold what its curve has left", i);
    }
    count->bytes[PM_POOL_HOST] += task->reserved_bytes[PM_KIND_HOST];
    count->bytes[PM_POOL_PINNED] += task->reserved_bytes[PM_KIND_PINNED];
    if (task->device != PM_SCHED_NONE) {
        count->bytes[sched->devices[task->device].pool] += task->reserved_bytes[PM_KIND_DEVICE];
    }
    PM_FAIL_IF(!task->uses_key, error, PM_INTERNAL, "task %u holds bytes and no key", i);
    return PM_OK;
}

static pm_status check_task(const struct pm_sched *sched, uint32_t i, struct count *count,
                            pm_error *error) {
    const struct pm_sched_task *task = &sched->tasks[i];
    count->n_slots += task->in_slot;
    count->n_ahead += task->ahead;
    PM_FAIL_IF(task->job >= sched->n_jobs_max || !sched->jobs[task->job].used, error, PM_INTERNAL,
               "task %u belongs to no job", i);
    if (pm_job_holds((enum pm_job_state)task->state)) {
        PM_TRY(check_held(sched, i, count, error));
    } else {
        static const uint64_t nothing[PM_SCHED_KINDS];
        PM_FAIL_IF(memcmp(task->reserved_bytes, nothing, sizeof nothing) != 0 || task->uses_key ||
                       task->on_device || task->in_slot || task->ahead || task->running ||
                       task->device != PM_SCHED_NONE || task->worker != PM_SCHED_NONE,
                   error, PM_INTERNAL, "task %u is %s and holds something", i,
                   pm_job_state_name((enum pm_job_state)task->state));
    }
    PM_FAIL_IF(task->worker != PM_SCHED_NONE &&
                   sched->devices[task->device].workers[task->worker] != i,
               error, PM_INTERNAL, "task %u is not the one that its worker has", i);
    PM_FAIL_IF(task->in_slot && task->state > PM_JOB_PREPARING, error, PM_INTERNAL,
               "task %u is %s and keeps its slot", i,
               pm_job_state_name((enum pm_job_state)task->state));
    PM_FAIL_IF(task->state == PM_JOB_PROVING && task->worker == PM_SCHED_NONE, error, PM_INTERNAL,
               "task %u proves without a worker", i);
    return PM_OK;
}

static pm_status check_workers(const struct pm_sched *sched, pm_error *error) {
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        for (uint32_t w = 0; w < PM_SCHED_WORKERS_MAX; w++) {
            const uint32_t i = sched->devices[d].workers[w];
            PM_FAIL_IF(
                i != PM_SCHED_NONE && (i >= sched->n_tasks_end || !sched->tasks[i].used ||
                                       sched->tasks[i].device != d || sched->tasks[i].worker != w),
                error, PM_INTERNAL, "worker %u of device %u has a task that is not its", w, d);
        }
    }
    return PM_OK;
}

static pm_status check_jobs(const struct pm_sched *sched, pm_error *error) {
    for (uint32_t j = 0; j < sched->n_jobs_max; j++) {
        const struct pm_sched_job *job = &sched->jobs[j];
        uint32_t n = 0, n_done = 0, n_ended = 0;
        for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
            const struct pm_sched_task *task = &sched->tasks[i];
            if (task->used && task->job == j) {
                n++;
                n_done += task->state == PM_JOB_DONE;
                n_ended += pm_job_is_final((enum pm_job_state)task->state);
            }
        }
        PM_FAIL_IF(n != (job->used ? job->request.n_parts : 0), error, PM_INTERNAL,
                   "job %u has %u parts", j, n);
        PM_FAIL_IF(job->used && (n_done != job->n_done || n_ended != job->n_ended), error,
                   PM_INTERNAL, "job %u counts its parts wrongly", j);
    }
    return PM_OK;
}

pm_status pm_sched_check(const struct pm_sched *sched, pm_error *error) {
    struct count count = {{0}, 0, 0};
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        if (sched->keys[k].used) {
            PM_TRY(count_key(sched, k, &count, error));
        }
    }
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        if (sched->tasks[i].used) {
            PM_TRY(check_task(sched, i, &count, error));
        }
    }
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        PM_FAIL_IF(count.bytes[pool] != sched->reserved_bytes[pool], error, PM_INTERNAL,
                   "%llu bytes of %s memory are reserved, tasks and keys have %llu",
                   (unsigned long long)sched->reserved_bytes[pool], pm_pool_name(pool),
                   (unsigned long long)count.bytes[pool]);
        PM_FAIL_IF(count.bytes[pool] > sched->total_bytes[pool], error, PM_INTERNAL,
                   "%llu bytes of %s memory are reserved, there are %llu",
                   (unsigned long long)count.bytes[pool], pm_pool_name(pool),
                   (unsigned long long)sched->total_bytes[pool]);
    }
    PM_FAIL_IF(count.n_slots != sched->n_slots_used || count.n_ahead != sched->n_ahead, error,
               PM_INTERNAL, "slots are counted wrongly");
    PM_TRY(check_workers(sched, error));
    return check_jobs(sched, error);
}
