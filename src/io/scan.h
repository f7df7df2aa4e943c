/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/scan.h - looks for the lowest bad element of a long array, in parallel.
 *
 * The answer does not depend on the number of threads: a later piece is skipped once an earlier
 * fault is known, never the other way round.
 */
#ifndef PM_IO_SCAN_H
#define PM_IO_SCAN_H

#include "base/control.h"
#include "par/team.h"

#include <stdint.h>

/* The lowest bad index in [begin, end), or end. Runs on any thread of the team. */
typedef uint64_t pm_scan_piece(const void *argument, uint64_t begin, uint64_t end);

struct pm_scan {
    const char *phase;       /* static, for progress */
    uint64_t n;              /* elements */
    uint64_t grain;          /* elements between two looks at control, a few milliseconds of work */
    uint64_t progress_first; /* progress is progress_first + elements done * progress_per_element */
    uint64_t progress_per_element;
    uint64_t progress_total; /* 0: no progress is reported */
    pm_scan_piece *piece;
    const void *argument;
};

/* *lowest is the lowest bad index, or n. Errors: CANCELLED, DEADLINE. */
pm_status pm_scan_run(const struct pm_scan *scan, struct pm_team *team, const pm_control *control,
                      uint64_t *lowest, pm_error *error);

#endif
