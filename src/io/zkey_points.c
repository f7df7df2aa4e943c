/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The slow check of a .zkey: every point, in the order of the file. */
#include "io/point_run.h"
#include "io/zkey.h"

#include <stdlib.h>

#define RUNS_MAX 12

static struct pm_point_run run_of(uint32_t section, const char *name, const struct pm_group *group,
                                  const uint8_t *points, uint64_t n, bool may_be_infinite,
                                  enum pm_point_check how) {
    return (struct pm_point_run){.section = section,
                                 .name = name,
                                 .group = group,
                                 .form = PM_POINT_MONTGOMERY_LE,
                                 .points = points,
                                 .n = n,
                                 .n_all = n,
                                 .may_be_infinite = may_be_infinite,
                                 .how = how};
}

/* Signals that occur in no constraint of a matrix have no point there: a, b1, b2, ic and c may hold
 * infinity. An H point is a Lagrange polynomial at the secret point: never zero. */
static size_t list_runs(const struct pm_key_parts *parts, const struct pm_curve *curve,
                        enum pm_point_check how, struct pm_point_run runs[RUNS_MAX]) {
    const struct pm_group *g1 = curve->g1, *g2 = curve->g2;
    const uint64_t n_vars = parts->n_vars, n_ic = (uint64_t)parts->n_public + 1;
    const struct pm_point_run all[RUNS_MAX] = {
        run_of(2, "alpha in g1", g1, parts->alpha_g1, 1, false, how),
        run_of(2, "beta in g1", g1, parts->beta_g1, 1, false, how),
        run_of(2, "beta in g2", g2, parts->beta_g2, 1, false, how),
        run_of(2, "gamma in g2", g2, parts->gamma_g2, 1, false, how),
        run_of(2, "delta in g1", g1, parts->delta_g1, 1, false, how),
        run_of(2, "delta in g2", g2, parts->delta_g2, 1, false, how),
        run_of(3, "ic", g1, parts->ic, parts->ic != NULL ? n_ic : 0, true, how),
        run_of(5, "a points", g1, parts->a, n_vars, true, how),
        run_of(6, "b1 points", g1, parts->b1, n_vars, true, how),
        run_of(7, "b2 points", g2, parts->b2, n_vars, true, how),
        run_of(8, "c points", g1, parts->c, n_vars - n_ic, true, how),
        run_of(9, "h points", g1, parts->h, UINT64_C(1) << parts->log_n, false, how)};
    size_t n_runs = 0;
    for (size_t i = 0; i < RUNS_MAX; ++i) {
        if (all[i].n > 0) {
            runs[n_runs++] = all[i];
        }
    }
    return n_runs;
}

static int by_address(const void *a, const void *b) {
    const struct pm_point_run *x = a, *y = b;
    return (x->points > y->points) - (x->points < y->points);
}

pm_status pm_zkey_check_points(const struct pm_zkey *zkey, const struct pm_curve *curve,
                               enum pm_point_check how, struct pm_team *team,
                               const pm_control *control, pm_error *error) {
    struct pm_point_run runs[RUNS_MAX];
    const size_t n_runs = list_runs(&zkey->parts, curve, how, runs);
    /* Sections come in any order; by address they are in the file's. */
    qsort(runs, n_runs, sizeof runs[0], by_address);
    return pm_point_runs_scan(zkey->container.mapping, runs, n_runs, "checking the points", team,
                              control, error);
}
