/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/sched_internal.h - what the files of the scheduler ask each other. */
#ifndef PM_SCHED_INTERNAL_H
#define PM_SCHED_INTERNAL_H

#include "sched/sched.h"

/* Resident and used by nobody, neither in the process nor on a device, and not under way. */
bool pm_sched_key_is_idle(const struct pm_sched *sched, uint32_t key);
/* Idle for as long as the configuration asks. */
bool pm_sched_key_may_leave(const struct pm_sched *sched, uint32_t key, uint64_t now_ns);

/* What a copy of the key takes of the device's own memory: nothing on the CPU. */
uint64_t pm_sched_copy_bytes(const struct pm_sched *sched, uint32_t key, uint32_t device);
/* The most that a task needs of a device's own memory. */
uint64_t pm_sched_device_need(const struct pm_sched_curve *curve);

/* Devices of the variant that work and are large enough; without those to avoid, unless no variant
 * of the request has any other. */
uint32_t pm_sched_usable_devices(const struct pm_sched *sched,
                                 const struct pm_sched_request *request,
                                 const struct pm_sched_variant *variant, uint32_t avoid_mask);
/* Whether the machine as a whole, with nothing else on it, could prove one part: as
 * pm_sched_submit. */
pm_status pm_sched_feasible(const struct pm_sched *sched, const struct pm_sched_request *request,
                            pm_error *error);

/* The index of the first step behind the preparation. */
uint32_t pm_sched_first_proving(const struct pm_sched_curve *curve);
const struct pm_sched_curve *pm_sched_task_curve(const struct pm_sched *sched,
                                                 const struct pm_sched_task *task);

/* Moves the task on; INTERNAL where the table of states says no. */
pm_status pm_sched_move(struct pm_sched_task *task, enum pm_job_event event, pm_error *error);
/* Begins the steps of a task that has all it waited for. */
pm_status pm_sched_begin(struct pm_sched *sched, uint32_t task, pm_error *error);
/* Gives back all that a task holds. */
void pm_sched_release(struct pm_sched *sched, uint32_t task, uint64_t now_ns);
/* The job fails, for why: its parts that do not run end now, the others when they stop. */
pm_status pm_sched_fail_job(struct pm_sched *sched, uint32_t job, pm_status why, uint64_t now_ns,
                            pm_error *error);

#endif
