/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/point_run.h - long arrays of encoded points, checked or decoded in parallel.
 *
 * A run is points of one kind, one after another. The fault reported is that of the lowest index of
 * the first run that has one, whatever the number of threads.
 */
#ifndef PM_IO_POINT_RUN_H
#define PM_IO_POINT_RUN_H

#include "base/control.h"
#include "curve/curve.h"
#include "io/mapping.h"
#include "par/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_point_run {
    uint32_t section; /* for messages; 0: the format has no sections */
    const char *name; /* static: "a points" */
    const struct pm_group *group;
    pm_point_form form;
    const uint8_t *points; /* n of group->form_bytes(form), any alignment */
    uint64_t n;
    uint64_t first; /* index of the first one in its array of n_all points, for messages */
    uint64_t n_all;
    bool may_be_infinite;
    enum pm_point_check how;
    uint8_t *affine; /* n affine Montgomery points; NULL: only checked */
};

/*
 * Goes through the runs in their order. mapping is the file that the points lie in, for messages;
 * NULL: they lie in none. phase: static, for progress, which is counted in bytes over all runs.
 * What stands in affine after an error is unspecified. Errors: ENCODING, NOT_CANONICAL,
 * NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY, CANCELLED, DEADLINE, FILE_CHANGED.
 */
pm_status pm_point_runs_scan(const struct pm_mapping *mapping, const struct pm_point_run *runs,
                             size_t n_runs, const char *phase, struct pm_team *team,
                             const pm_control *control, pm_error *error);

#endif
