/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sched/job.h - the life of one proof, as a table.
 *
 *     accepted -> queued -> admitted -> preparing -> prepared -> proving -> finishing -> verifying
 *                   ^                                                                       |
 *                   +-------------------------- retry (a transient fault) ------------------+->
 * done
 *
 * Every state that is not final can fail or be cancelled; a proof that needs no preparation goes
 * from admitted to proving, one that has nothing to finish from proving to verifying. There is no
 * way to done but through verifying: no proof is given out that has not been verified.
 */
#ifndef PM_SCHED_JOB_H
#define PM_SCHED_JOB_H

#include "base/status.h"

#include <stdbool.h>

enum pm_job_state {
    PM_JOB_ACCEPTED,  /* told of, not yet on record */
    PM_JOB_QUEUED,    /* on record; holds nothing */
    PM_JOB_ADMITTED,  /* its bytes are reserved; its key is being loaded */
    PM_JOB_PREPARING, /* before a device is needed */
    PM_JOB_PREPARED,  /* waits for a device */
    PM_JOB_PROVING,   /* a worker of a device has it */
    PM_JOB_FINISHING, /* what is left once the device is free */
    PM_JOB_VERIFYING,
    PM_JOB_DONE,
    PM_JOB_FAILED,
    PM_JOB_CANCELLED,
    PM_JOB_STATES
};

enum pm_job_event {
    PM_JOB_RECORD,   /* it has been written down and may be acknowledged */
    PM_JOB_ADMIT,    /* bytes reserved */
    PM_JOB_PREPARE,  /* key at hand: the first step of preparation begins */
    PM_JOB_READY,    /* preparation has ended */
    PM_JOB_PROVE,    /* a device's worker begins */
    PM_JOB_FINISH,   /* the device is no longer needed */
    PM_JOB_VERIFY,   /* the proof is there */
    PM_JOB_COMPLETE, /* and verifies */
    PM_JOB_RETRY,    /* back to the queue, with nothing held */
    PM_JOB_FAIL,
    PM_JOB_CANCEL,
    PM_JOB_EVENTS
};

/* *to is written on PM_OK. Errors: INVALID_ARGUMENT (not possible in this state; both are named).
 */
pm_status pm_job_next(enum pm_job_state from, enum pm_job_event event, enum pm_job_state *to,
                      pm_error *error);
/* Done, failed or cancelled: nothing happens any more. */
bool pm_job_is_final(enum pm_job_state state);
/* Between admission and the end: bytes, a key and perhaps a device are held. */
bool pm_job_holds(enum pm_job_state state);
/* "queued"...; "record"...; "unknown" for other numbers. */
const char *pm_job_state_name(enum pm_job_state state);
const char *pm_job_event_name(enum pm_job_event event);

/* What a failed attempt says about the next one. */
enum pm_fault {
    PM_FAULT_PERMANENT,  /* the same input would fail again */
    PM_FAULT_TRANSIENT,  /* the machine was short of something */
    PM_FAULT_DEVICE,     /* this device is suspect: try another */
    PM_FAULT_DEVICE_LOST /* this device will fail whatever it is given */
};
/*
 * A missing or damaged key, a witness that does not fit, a refused option: permanent. Memory,
 * threads, randomness: transient. A failed device, or a proof that did not verify: the device is
 * suspect. Whether a device's error is sticky only the device's layer knows; it says DEVICE_LOST
 * itself.
 */
enum pm_fault pm_fault_of(pm_status status);

#endif
