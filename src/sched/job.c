/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "sched/job.h"

#include <stdint.h>

/* A way out of `from`. What is not listed is illegal. */
struct way {
    uint8_t from, event, to;
};

static const struct way ways[] = {
    {PM_JOB_ACCEPTED, PM_JOB_RECORD, PM_JOB_QUEUED},
    {PM_JOB_ACCEPTED, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_ACCEPTED, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_QUEUED, PM_JOB_ADMIT, PM_JOB_ADMITTED},
    {PM_JOB_QUEUED, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_QUEUED, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_ADMITTED, PM_JOB_PREPARE, PM_JOB_PREPARING},
    {PM_JOB_ADMITTED, PM_JOB_PROVE, PM_JOB_PROVING},
    {PM_JOB_ADMITTED, PM_JOB_RETRY, PM_JOB_QUEUED},
    {PM_JOB_ADMITTED, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_ADMITTED, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_PREPARING, PM_JOB_READY, PM_JOB_PREPARED},
    {PM_JOB_PREPARING, PM_JOB_RETRY, PM_JOB_QUEUED},
    {PM_JOB_PREPARING, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_PREPARING, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_PREPARED, PM_JOB_PROVE, PM_JOB_PROVING},
    {PM_JOB_PREPARED, PM_JOB_RETRY, PM_JOB_QUEUED},
    {PM_JOB_PREPARED, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_PREPARED, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_PROVING, PM_JOB_FINISH, PM_JOB_FINISHING},
    {PM_JOB_PROVING, PM_JOB_VERIFY, PM_JOB_VERIFYING},
    {PM_JOB_PROVING, PM_JOB_RETRY, PM_JOB_QUEUED},
    {PM_JOB_PROVING, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_PROVING, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_FINISHING, PM_JOB_VERIFY, PM_JOB_VERIFYING},
    {PM_JOB_FINISHING, PM_JOB_RETRY, PM_JOB_QUEUED},
    {PM_JOB_FINISHING, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_FINISHING, PM_JOB_CANCEL, PM_JOB_CANCELLED},
    {PM_JOB_VERIFYING, PM_JOB_COMPLETE, PM_JOB_DONE},
    {PM_JOB_VERIFYING, PM_JOB_RETRY, PM_JOB_QUEUED},
    {PM_JOB_VERIFYING, PM_JOB_FAIL, PM_JOB_FAILED},
    {PM_JOB_VERIFYING, PM_JOB_CANCEL, PM_JOB_CANCELLED},
};

pm_status pm_job_next(enum pm_job_state from, enum pm_job_event event, enum pm_job_state *to,
                      pm_error *error) {
    for (uint32_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (ways[i].from == (uint32_t)from && ways[i].event == (uint32_t)event) {
            *to = (enum pm_job_state)ways[i].to;
            return PM_OK;
        }
    }
    PM_FAIL(error, PM_INVALID_ARGUMENT, "a job that is %s has no event %s", pm_job_state_name(from),
            pm_job_event_name(event));
}

bool pm_job_is_final(enum pm_job_state state) {
    return state == PM_JOB_DONE || state == PM_JOB_FAILED || state == PM_JOB_CANCELLED;
}

bool pm_job_holds(enum pm_job_state state) {
    return state >= PM_JOB_ADMITTED && state <= PM_JOB_VERIFYING;
}

const char *pm_job_state_name(enum pm_job_state state) {
    static const char *const names[PM_JOB_STATES] = {
        "accepted",  "queued",    "admitted", "preparing", "prepared", "proving",
        "finishing", "verifying", "done",     "failed",    "cancelled"};
    return (uint32_t)state < PM_JOB_STATES ? names[state] : "unknown";
}

const char *pm_job_event_name(enum pm_job_event event) {
    static const char *const names[PM_JOB_EVENTS] = {"record", "admit",  "prepare", "ready",
                                                     "prove",  "finish", "verify",  "complete",
                                                     "retry",  "fail",   "cancel"};
    return (uint32_t)event < PM_JOB_EVENTS ? names[event] : "unknown";
}

enum pm_fault pm_fault_of(pm_status status) {
    switch (status) {
    case PM_NO_MEMORY:
    case PM_NO_THREADS:
    case PM_NO_RANDOM:
    case PM_BUDGET_BUSY:
        return PM_FAULT_TRANSIENT;
    case PM_DEVICE:
    case PM_SELF_VERIFY:
        return PM_FAULT_DEVICE;
    case PM_NO_DEVICE:
        return PM_FAULT_DEVICE_LOST;
    default:
        return PM_FAULT_PERMANENT;
    }
}
