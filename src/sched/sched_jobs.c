/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/sched_jobs.c - jobs come, are known again, are cancelled and are forgotten. */
#include "sched/sched_internal.h"

#include <string.h>

/* ---- Taking in --------------------------------------------------------------------------------
 */

static bool is_nothing(const struct pm_sched_digest *digest) {
    static const struct pm_sched_digest nothing;
    return memcmp(digest, &nothing, sizeof nothing) == 0;
}

static bool is_same(const struct pm_sched_digest *a, const struct pm_sched_digest *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static uint32_t find_request(const struct pm_sched *sched, const struct pm_sched_digest *id) {
    if (is_nothing(id)) {
        return PM_SCHED_NONE;
    }
    for (uint32_t j = 0; j < sched->n_jobs_max; j++) {
        if (sched->jobs[j].used && is_same(&sched->jobs[j].request.id, id)) {
            return j;
        }
    }
    return PM_SCHED_NONE;
}

static pm_status check_request(const struct pm_sched *sched, const struct pm_sched_request *request,
                               pm_error *error) {
    const uint32_t all =
        sched->n_devices == 32 ? UINT32_MAX : (UINT32_C(1) << sched->n_devices) - 1;
    PM_FAIL_IF((uint32_t)request->priority >= PM_PRIORITIES, error, PM_INVALID_ARGUMENT,
               "there is no priority %u", (uint32_t)request->priority);
    PM_FAIL_IF(request->key >= sched->n_keys_max || !sched->keys[request->key].used, error,
               PM_INVALID_ARGUMENT, "there is no key %u", request->key);
    PM_FAIL_IF(request->n_parts == 0 || request->n_parts > PM_SCHED_PARTS_MAX, error,
               PM_INVALID_ARGUMENT, "a job has 1 to %d parts, not %u", PM_SCHED_PARTS_MAX,
               request->n_parts);
    PM_FAIL_IF(request->n_variants == 0 || request->n_variants > PM_SCHED_VARIANTS_MAX, error,
               PM_INVALID_ARGUMENT, "a job has 1 to %d variants, not %u", PM_SCHED_VARIANTS_MAX,
               request->n_variants);
    for (uint32_t v = 0; v < request->n_variants; v++) {
        PM_FAIL_IF(request->variants[v].device_mask == 0 ||
                       (request->variants[v].device_mask & ~all) != 0,
                   error, PM_INVALID_ARGUMENT, "variant %u names devices that do not exist", v);
        PM_TRY(pm_sched_curve_check(request->variants[v].curve, error));
    }
    return pm_sched_feasible(sched, request, error);
}

static uint32_t free_job(const struct pm_sched *sched) {
    uint32_t j = 0;
    while (j < sched->n_jobs_max && sched->jobs[j].used) {
        j++;
    }
    return j;
}

static uint32_t count_free_tasks(const struct pm_sched *sched) {
    uint32_t n = sched->n_tasks_max - sched->n_tasks_end;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        n += !sched->tasks[i].used;
    }
    return n;
}

static void add_tasks(struct pm_sched *sched, uint32_t job, uint64_t now_ns) {
    uint32_t i = 0;
    for (uint32_t part = 0; part < sched->jobs[job].request.n_parts; part++) {
        while (sched->tasks[i].used) {
            i++;
        }
        sched->tasks[i] = (struct pm_sched_task){.used = true,
                                                 .state = PM_JOB_ACCEPTED,
                                                 .job = job,
                                                 .part = part,
                                                 .device = PM_SCHED_NONE,
                                                 .worker = PM_SCHED_NONE,
                                                 .queued_ns = now_ns};
        sched->n_tasks_end = i + 1 > sched->n_tasks_end ? i + 1 : sched->n_tasks_end;
    }
}

pm_status pm_sched_submit(struct pm_sched *sched, const struct pm_sched_request *request,
                          uint64_t now_ns, uint32_t *job, bool *known, pm_error *error) {
    const uint32_t same = find_request(sched, &request->id);
    *known = false;
    if (same != PM_SCHED_NONE) {
        PM_FAIL_IF(!is_same(&sched->jobs[same].request.content, &request->content), error,
                   PM_INVALID_ARGUMENT,
                   "the request id is taken by a job with another key or witness");
        *job = same;
        *known = true;
        return PM_OK;
    }
    PM_TRY(check_request(sched, request, error));
    const uint32_t j = free_job(sched), n_free = count_free_tasks(sched);
    PM_FAIL_IF(j == sched->n_jobs_max, error, PM_BUDGET_BUSY, "the queue holds %u jobs already",
               sched->n_jobs_max);
    PM_FAIL_IF(request->n_parts > sched->n_tasks_max, error, PM_OVER_BUDGET,
               "has %u parts, the queue holds %u", request->n_parts, sched->n_tasks_max);
    PM_FAIL_IF(request->n_parts > n_free, error, PM_BUDGET_BUSY,
               "has %u parts, the queue has room for %u now", request->n_parts, n_free);
    sched->jobs[j] = (struct pm_sched_job){
        .used = true, .request = *request, .sequence = sched->n_sequence++, .arrival_ns = now_ns};
    add_tasks(sched, j, now_ns);
    *job = j;
    return PM_OK;
}

static bool is_job(const struct pm_sched *sched, uint32_t job) {
    return job < sched->n_jobs_max && sched->jobs[job].used;
}

pm_status pm_sched_record(struct pm_sched *sched, uint32_t job, uint64_t now_ns, pm_error *error) {
    PM_FAIL_IF(!is_job(sched, job), error, PM_INVALID_ARGUMENT, "there is no job %u", job);
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        struct pm_sched_task *task = &sched->tasks[i];
        /* One that has failed or been cancelled meanwhile stays what it is. */
        if (task->used && task->job == job && task->state == PM_JOB_ACCEPTED) {
            task->queued_ns = now_ns;
            PM_TRY(pm_sched_move(task, PM_JOB_RECORD, error));
        }
    }
    return PM_OK;
}

/* ---- Ending -----------------------------------------------------------------------------------
 */

/* The parts of a job that is over. */
static pm_status end_parts(struct pm_sched *sched, uint32_t job, enum pm_job_event event,
                           uint64_t now_ns, pm_error *error) {
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        struct pm_sched_task *task = &sched->tasks[i];
        if (!task->used || task->job != job || pm_job_is_final((enum pm_job_state)task->state)) {
            continue;
        }
        if (task->running) {
            task->stopping = true;
            continue;
        }
        pm_sched_release(sched, i, now_ns);
        PM_TRY(pm_sched_move(task, event, error));
        sched->jobs[job].n_ended++;
    }
    return PM_OK;
}

pm_status pm_sched_fail_job(struct pm_sched *sched, uint32_t job, pm_status why, uint64_t now_ns,
                            pm_error *error) {
    struct pm_sched_job *failing = &sched->jobs[job];
    if (failing->failed || failing->cancelled) {
        return PM_OK;
    }
    failing->failed = true;
    failing->why = why;
    sched->counters.n_failed++;
    return end_parts(sched, job, PM_JOB_FAIL, now_ns, error);
}

pm_status pm_sched_cancel(struct pm_sched *sched, uint32_t job, uint64_t now_ns, pm_error *error) {
    PM_FAIL_IF(!is_job(sched, job), error, PM_INVALID_ARGUMENT, "there is no job %u", job);
    struct pm_sched_job *cancelled = &sched->jobs[job];
    if (cancelled->failed || cancelled->cancelled ||
        cancelled->n_ended == cancelled->request.n_parts) {
        return PM_OK;
    }
    cancelled->cancelled = true;
    sched->counters.n_cancelled++;
    return end_parts(sched, job, PM_JOB_CANCEL, now_ns, error);
}

pm_status pm_sched_forget(struct pm_sched *sched, uint32_t job, pm_error *error) {
    PM_FAIL_IF(!is_job(sched, job), error, PM_INVALID_ARGUMENT, "there is no job %u", job);
    PM_FAIL_IF(sched->jobs[job].n_ended < sched->jobs[job].request.n_parts, error, PM_BUDGET_BUSY,
               "the job has not ended");
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        if (sched->tasks[i].used && sched->tasks[i].job == job) {
            sched->tasks[i].used = false;
        }
    }
    while (sched->n_tasks_end > 0 && !sched->tasks[sched->n_tasks_end - 1].used) {
        sched->n_tasks_end--;
    }
    sched->jobs[job].used = false;
    return PM_OK;
}

/* ---- Asking -----------------------------------------------------------------------------------
 */

enum pm_job_state pm_sched_job_state(const struct pm_sched *sched, uint32_t job) {
    const struct pm_sched_job *asked = &sched->jobs[job];
    enum pm_job_state furthest = PM_JOB_ACCEPTED;
    if (asked->n_ended == asked->request.n_parts) {
        return asked->failed ? PM_JOB_FAILED : asked->cancelled ? PM_JOB_CANCELLED : PM_JOB_DONE;
    }
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (task->used && task->job == job && task->state > furthest &&
            !pm_job_is_final((enum pm_job_state)task->state)) {
            furthest = (enum pm_job_state)task->state;
        }
    }
    return furthest;
}

uint32_t pm_sched_parts_in_order(const struct pm_sched *sched, uint32_t job) {
    uint32_t n = sched->jobs[job].request.n_parts;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (task->used && task->job == job && task->state != PM_JOB_DONE && task->part < n) {
            n = task->part;
        }
    }
    return n;
}

uint32_t pm_sched_lock_turn(const struct pm_sched *sched, const uint32_t *tasks, uint32_t n) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < n; i++) {
        const struct pm_sched_task *a = &sched->tasks[tasks[i]], *b = &sched->tasks[tasks[first]];
        const struct pm_sched_job *x = &sched->jobs[a->job], *y = &sched->jobs[b->job];
        const bool is_higher = x->request.priority > y->request.priority;
        const bool is_equal = x->request.priority == y->request.priority;
        const bool is_earlier =
            x->sequence < y->sequence || (x->sequence == y->sequence && a->part < b->part);
        first = is_higher || (is_equal && is_earlier) ? i : first;
    }
    return first;
}
