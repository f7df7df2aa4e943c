/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Many multiples of the generator, as a setup makes them: the table by itself, then the multiples.
 */
#include "bench.h"
#include "floors.h"

#include "base/memory.h"
#include "msm/fixed_base.h"

#include <stdio.h>

struct fixed_base_work {
    const struct pm_fixed_base *fixed_base;
    const struct pm_group *group;
    enum pm_msm_group which;
    struct pm_team *team;
    uint32_t window_bits;
    uint64_t n;
    void *table, *scalars, *scratch, *points;
};

static void op_fill_table(void *argument) {
    struct fixed_base_work *w = argument;
    w->fixed_base->fill_table(w->which, w->window_bits, w->group->generator, w->team, w->table);
}

static void op_multiply(void *argument) {
    struct fixed_base_work *w = argument;
    (void)w->fixed_base->multiply(w->which, w->window_bits, w->table, w->scalars, w->n, w->team,
                                  w->scratch, NULL, w->points, NULL);
}

static void measure(struct bench *bench, const struct pm_curve *curve, enum pm_msm_group which,
                    uint32_t log_n) {
    struct fixed_base_work work = {.fixed_base = pm_fixed_base_get(curve->id, bench->body),
                                   .group = which == PM_MSM_G1 ? curve->g1 : curve->g2,
                                   .which = which,
                                   .team = bench->team,
                                   .n = UINT64_C(1) << log_n};
    work.window_bits = work.fixed_base->window_bits(which, work.n);
    work.table = bench_alloc(1, work.fixed_base->table_bytes(which, work.window_bits));
    work.scratch = bench_alloc(1, work.fixed_base->scratch_bytes(which, bench->threads));
    work.scalars = bench_alloc(work.n, PM_FR_BYTES);
    work.points = bench_alloc(work.n, work.group->affine_bytes);
    bench_random_scalars(work.scalars, work.n, 2);
    const char *name = which == PM_MSM_G1 ? "G1" : "G2";
    struct bench_row row = {.part = "fixed-base", .log_n = log_n};
    (void)snprintf(row.what, sizeof row.what, "%s table, windows of %u bits", name,
                   (unsigned)work.window_bits);
    bench_time(bench, op_fill_table, &work, 1, &row);
    bench_report(bench, curve, row);
    (void)snprintf(row.what, sizeof row.what, "%s multiples", name);
    bench_time(bench, op_multiply, &work, 1, &row);
    row.floor_ns = floor_fixed_base(which, curve->fr->bits, work.window_bits, (double)work.n) *
                   floor_limb_products(curve->fp->limbs) * bench->mulx_ns / bench->threads;
    bench_report(bench, curve, row);
    pm_memory_free(work.table);
    pm_memory_free(work.scratch);
    pm_memory_free(work.scalars);
    pm_memory_free(work.points);
}

void bench_fixed_base(struct bench *bench, const struct pm_curve *curve) {
    const uint32_t log_n = bench->log_n != 0 ? bench->log_n : bench->is_quick ? 12 : 16;
    measure(bench, curve, PM_MSM_G1, log_n);
    measure(bench, curve, PM_MSM_G2, log_n - (bench->log_n != 0 ? 0 : 1));
}
