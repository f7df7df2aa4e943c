/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/scan.h"

#include "base/clock.h"
#include "base/limits.h"

#include <stdatomic.h>

/* Grains of work per thread between two reports of the calling thread. */
#define GRAINS_PER_BATCH 16u

struct batch {
    const struct pm_scan *scan;
    const pm_control *control;
    uint64_t first;
    _Atomic uint64_t lowest;
};

static void lower_to(_Atomic uint64_t *lowest, uint64_t index) {
    uint64_t seen = atomic_load_explicit(lowest, memory_order_relaxed);
    while (index < seen && !atomic_compare_exchange_weak_explicit(
                               lowest, &seen, index, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void scan_range(void *argument, size_t begin, size_t end) {
    struct batch *batch = argument;
    const struct pm_scan *scan = batch->scan;
    for (uint64_t at = batch->first + begin; at < batch->first + end;) {
        const uint64_t left = batch->first + end - at;
        const uint64_t stop = at + (left < scan->grain ? left : scan->grain);
        if (at > atomic_load_explicit(&batch->lowest, memory_order_relaxed) ||
            pm_control_stopped(batch->control)) {
            return;
        }
        const uint64_t bad = scan->piece(scan->argument, at, stop);
        if (bad < stop) {
            lower_to(&batch->lowest, bad);
            return;
        }
        at = stop;
    }
}

pm_status pm_scan_run(const struct pm_scan *scan, struct pm_team *team, const pm_control *control,
                      uint64_t *lowest, pm_error *error) {
    struct batch batch = {.scan = scan, .control = control, .lowest = scan->n};
    const uint64_t batch_max = scan->grain * GRAINS_PER_BATCH * pm_team_threads(team);
    uint64_t reported_ns = pm_clock_now_ns();
    while (batch.first < scan->n) {
        PM_TRY(pm_control_check(control, error));
        const uint64_t left = scan->n - batch.first;
        const uint64_t n = left < batch_max ? left : batch_max;
        pm_team_for(team, n, scan->grain, scan_range, &batch);
        PM_TRY(pm_control_check(control, error));
        if (batch.lowest < scan->n) {
            break;
        }
        batch.first += n;
        const uint64_t now_ns = pm_clock_now_ns();
        if (scan->progress_total > 0 &&
            now_ns - reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
            reported_ns = now_ns;
            pm_control_progress(control, scan->phase,
                                scan->progress_first + batch.first * scan->progress_per_element,
                                scan->progress_total);
        }
    }
    *lowest = batch.lowest;
    return PM_OK;
}
