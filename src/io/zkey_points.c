/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The slow check of a .zkey: every point, in the order of the file. */
#include "io/scan.h"
#include "io/zkey.h"

#include <stdlib.h>

/* Points between two looks at control: a subgroup test takes up to some 100 us. */
#define POINTS_PER_GRAIN 64u
#define RUNS_MAX 12

/* Points of one kind, one after another. */
struct run {
    uint32_t section;
    const char *name;
    const struct pm_group *group;
    const uint8_t *points;
    uint64_t n;
    bool may_be_infinite;
};

static bool is_welcome(const struct run *run, const uint8_t *point, enum pm_point_fault *fault) {
    *fault = run->group->check(point, PM_POINT_CHECK_SUBGROUP);
    if (*fault == PM_POINT_GOOD && !run->may_be_infinite && run->group->affine_is_infinity(point)) {
        *fault = PM_POINT_INFINITE;
    }
    return *fault == PM_POINT_GOOD;
}

static uint64_t scan_points(const void *argument, uint64_t begin, uint64_t end) {
    const struct run *run = argument;
    enum pm_point_fault fault = PM_POINT_GOOD;
    for (uint64_t i = begin; i < end; ++i) {
        if (!is_welcome(run, run->points + i * run->group->affine_bytes, &fault)) {
            return i;
        }
    }
    return end;
}

/* Signals that occur in no constraint of a matrix have no point there: a, b1, b2, ic and c may hold
 * infinity. An H point is a Lagrange polynomial at the secret point: never zero. */
static size_t list_runs(const struct pm_key_parts *parts, const struct pm_curve *curve,
                        struct run runs[RUNS_MAX]) {
    const struct pm_group *g1 = curve->g1, *g2 = curve->g2;
    const uint64_t n_vars = parts->n_vars, n_ic = (uint64_t)parts->n_public + 1;
    const struct run all[RUNS_MAX] = {
        {2, "alpha in g1", g1, parts->alpha_g1, 1, false},
        {2, "beta in g1", g1, parts->beta_g1, 1, false},
        {2, "beta in g2", g2, parts->beta_g2, 1, false},
        {2, "gamma in g2", g2, parts->gamma_g2, 1, false},
        {2, "delta in g1", g1, parts->delta_g1, 1, false},
        {2, "delta in g2", g2, parts->delta_g2, 1, false},
        {3, "ic", g1, parts->ic, parts->ic != NULL ? n_ic : 0, true},
        {5, "a points", g1, parts->a, n_vars, true},
        {6, "b1 points", g1, parts->b1, n_vars, true},
        {7, "b2 points", g2, parts->b2, n_vars, true},
        {8, "c points", g1, parts->c, n_vars - n_ic, true},
        {9, "h points", g1, parts->h, UINT64_C(1) << parts->log_n, false}};
    size_t n_runs = 0;
    for (size_t i = 0; i < RUNS_MAX; ++i) {
        if (all[i].n > 0) {
            runs[n_runs++] = all[i];
        }
    }
    return n_runs;
}

static int by_address(const void *a, const void *b) {
    const struct run *x = a, *y = b;
    return (x->points > y->points) - (x->points < y->points);
}

static pm_status fail_point(const struct pm_zkey *zkey, const struct run *run, uint64_t index,
                            pm_error *error) {
    const struct pm_mapping *mapping = zkey->container.mapping;
    const uint8_t *point = run->points + index * run->group->affine_bytes;
    enum pm_point_fault fault = PM_POINT_GOOD;
    (void)is_welcome(run, point, &fault);
    const pm_status status = pm_point_fault_status(fault);
    pm_error_set(error, status, "section %u (%s): point %llu of %llu is %s", run->section,
                 run->name, (unsigned long long)index, (unsigned long long)run->n,
                 pm_point_fault_text(fault));
    pm_error_at(error, mapping->name, (uint64_t)(point - mapping->bytes));
    return status;
}

static pm_status check_runs(const struct pm_zkey *zkey, const struct run *runs, size_t n_runs,
                            struct pm_team *team, const pm_control *control, pm_error *error) {
    uint64_t total = 0, done = 0;
    for (size_t i = 0; i < n_runs; ++i) {
        total += runs[i].n * runs[i].group->affine_bytes;
    }
    for (size_t i = 0; i < n_runs; ++i) {
        const struct pm_scan scan = {.phase = "checking the points",
                                     .n = runs[i].n,
                                     .grain = POINTS_PER_GRAIN,
                                     .progress_first = done,
                                     .progress_per_element = runs[i].group->affine_bytes,
                                     .progress_total = total,
                                     .piece = scan_points,
                                     .argument = &runs[i]};
        uint64_t lowest = 0;
        PM_TRY(pm_scan_run(&scan, team, control, &lowest, error));
        if (lowest < runs[i].n) {
            return fail_point(zkey, &runs[i], lowest, error);
        }
        done += runs[i].n * runs[i].group->affine_bytes;
    }
    pm_control_progress(control, "checking the points", done, total);
    return PM_OK;
}

pm_status pm_zkey_check_points(const struct pm_zkey *zkey, const struct pm_curve *curve,
                               struct pm_team *team, const pm_control *control, pm_error *error) {
    struct run runs[RUNS_MAX];
    const size_t n_runs = list_runs(&zkey->parts, curve, runs);
    /* Sections come in any order; by address they are in the file's. */
    qsort(runs, n_runs, sizeof runs[0], by_address);
    const pm_status status = check_runs(zkey, runs, n_runs, team, control, error);
    PM_TRY(pm_mapping_check(zkey->container.mapping, error));
    return status;
}
