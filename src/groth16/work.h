/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/work.h - how far a long computation of several parts has come.
 *
 * One count runs through all parts, in units of about one addition in G1, so that the time left can
 * be told from it; the phase says what is being done.
 */
#ifndef PM_GROTH16_WORK_H
#define PM_GROTH16_WORK_H

#include "base/clock.h"
#include "base/control.h"
#include "base/limits.h"
#include "par/team.h"

#include <stdint.h>

struct pm_work {
    const pm_control *control;
    const char *phase; /* static */
    uint64_t done, total;
    uint64_t reported_ns;
};

/* Counts `units` and reports, if it is time. Called from the thread of the public call. */
static inline void pm_work_advance(struct pm_work *work, uint64_t units) {
    const uint64_t now_ns = pm_clock_now_ns();
    work->done += units;
    if (now_ns - work->reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
        work->reported_ns = now_ns;
        pm_control_progress(work->control, work->phase,
                            work->done < work->total ? work->done : work->total, work->total);
    }
}

/* Runs task(argument, i) for i < n_tasks on the team, a batch at a time, and reports between the
 * batches; the work counted does not grow. A task looks at the control itself if it takes long.
 * Errors: CANCELLED, DEADLINE. */
pm_status pm_work_run(struct pm_work *work, struct pm_team *team, uint64_t n_tasks, pm_task *task,
                      void *argument, pm_error *error);

#endif
