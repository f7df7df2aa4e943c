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

#endif
