/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/point_run.h"

#include "io/scan.h"

static uint64_t stride_of(const struct pm_point_run *run) {
    return run->group->form_bytes(run->form);
}

static enum pm_point_fault visit(const struct pm_point_run *run, uint64_t i) {
    const uint8_t *point = run->points + i * stride_of(run);
    uint8_t scratch[PM_G2_BYTES_MAX];
    uint8_t *affine = run->affine != NULL ? run->affine + i * run->group->affine_bytes : scratch;
    const enum pm_point_fault fault = run->group->decode(affine, run->form, point, run->how);
    if (fault == PM_POINT_GOOD && !run->may_be_infinite && run->group->affine_is_infinity(affine)) {
        return PM_POINT_INFINITE;
    }
    return fault;
}

static uint64_t scan_points(const void *argument, uint64_t begin, uint64_t end) {
    const struct pm_point_run *run = argument;
    for (uint64_t i = begin; i < end; ++i) {
        if (visit(run, i) != PM_POINT_GOOD) {
            return i;
        }
    }
    return end;
}

/* Points between two looks at control, a few milliseconds of work: a subgroup test takes up to some
 * 100 us, the curve's equation about one, a decoding less. */
static uint64_t grain_of(enum pm_point_check how) {
    switch (how) {
    case PM_POINT_CHECK_SUBGROUP:
        return 64;
    case PM_POINT_CHECK_CURVE:
        return 1024;
    case PM_POINT_CHECK_NONE:
        break;
    }
    return 4096;
}

static pm_status fail_point(const struct pm_mapping *mapping, const struct pm_point_run *run,
                            uint64_t i, pm_error *error) {
    const enum pm_point_fault fault = visit(run, i);
    const pm_status status = pm_point_fault_status(fault);
    const unsigned long long index = run->first + i, n_all = run->n_all;
    if (run->section != 0) {
        pm_error_set(error, status, "section %u (%s): point %llu of %llu is %s", run->section,
                     run->name, index, n_all, pm_point_fault_text(fault));
    } else {
        pm_error_set(error, status, "%s: point %llu of %llu is %s", run->name, index, n_all,
                     pm_point_fault_text(fault));
    }
    if (mapping != NULL) {
        const uint8_t *point = run->points + i * stride_of(run);
        pm_error_at(error, mapping->name, (uint64_t)(point - mapping->bytes));
    }
    return status;
}

static pm_status scan_runs(const struct pm_mapping *mapping, const struct pm_point_run *runs,
                           size_t n_runs, const char *phase, struct pm_team *team,
                           const pm_control *control, pm_error *error) {
    uint64_t total = 0, done = 0;
    for (size_t i = 0; i < n_runs; ++i) {
        total += runs[i].n * stride_of(&runs[i]);
    }
    for (size_t i = 0; i < n_runs; ++i) {
        const struct pm_scan scan = {.phase = phase,
                                     .n = runs[i].n,
                                     .grain = grain_of(runs[i].how),
                                     .progress_first = done,
                                     .progress_per_element = stride_of(&runs[i]),
                                     .progress_total = total,
                                     .piece = scan_points,
                                     .argument = &runs[i]};
        uint64_t lowest = 0;
        PM_TRY(pm_scan_run(&scan, team, control, &lowest, error));
        if (lowest < runs[i].n) {
            return fail_point(mapping, &runs[i], lowest, error);
        }
        done += runs[i].n * stride_of(&runs[i]);
    }
    if (total > 0) {
        pm_control_progress(control, phase, done, total);
    }
    return PM_OK;
}

pm_status pm_point_runs_scan(const struct pm_mapping *mapping, const struct pm_point_run *runs,
                             size_t n_runs, const char *phase, struct pm_team *team,
                             const pm_control *control, pm_error *error) {
    const pm_status status = scan_runs(mapping, runs, n_runs, phase, team, control, error);
    if (mapping != NULL) {
        /* Zeros that the guard put in place of a lost tail explain any other finding. */
        PM_TRY(pm_mapping_check(mapping, error));
    }
    return status;
}
