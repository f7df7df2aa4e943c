/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Multi-scalar multiplication with uniform scalars, with the values of a PoRep witness, and with
 * bits alone. All points are different: at 2^16 they are 4 to 12 MiB, which no second-level cache
 * holds. */
#include "bench.h"
#include "floors.h"
#include "msm_count.h"

#include "base/memory.h"
#include "msm/fixed_base.h"
#include "msm/msm.h"
#include "synthetic_plan.h"

#include <stdio.h>
#include <string.h>

struct msm_work {
    const struct pm_msm *msm;
    enum pm_msm_group group;
    struct pm_team *team;
    uint64_t n;
    void *points, *scalars, *scratch;
    struct pm_group_point result;
};

static void op_run(void *argument) {
    struct msm_work *w = argument;
    (void)w->msm->run(w->group, w->points, w->scalars, w->n, w->team, w->scratch, NULL, &w->result,
                      NULL);
}

/* n random multiples of the generator. */
static void fill_points(const struct bench *bench, const struct pm_curve *curve,
                        struct msm_work *work) {
    const struct pm_fixed_base *fixed_base = pm_fixed_base_get(curve->id, bench->body);
    const struct pm_group *group = work->group == PM_MSM_G1 ? curve->g1 : curve->g2;
    const uint32_t bits = fixed_base->window_bits(work->group, work->n);
    void *table = bench_alloc(1, fixed_base->table_bytes(work->group, bits));
    void *scratch = bench_alloc(1, fixed_base->scratch_bytes(work->group, bench->threads));
    pm_error error = PM_ERROR_INIT;
    fixed_base->fill_table(work->group, bits, group->generator, work->team, table);
    bench_random_scalars(work->scalars, work->n, 1);
    bench_need(fixed_base->multiply(work->group, bits, table, work->scalars, work->n, work->team,
                                    scratch, NULL, work->points, &error),
               &error);
    pm_memory_free(table);
    pm_memory_free(scratch);
}

/* Keeps one scalar in `every` and makes bits of the others; returns how many are one then. */
static uint64_t make_bits(void *scalars, uint64_t n, uint64_t every) {
    uint64_t n_ones = 0, state = 7;
    for (uint64_t i = 0; i < n; i++) {
        if (every != 0 && i % every == 0) {
            continue;
        }
        const uint64_t bit[PM_FR_BYTES / 8] = {synthetic_next(&state) & 1};
        memcpy((uint8_t *)scalars + i * PM_FR_BYTES, bit, sizeof bit);
        n_ones += bit[0];
    }
    return n_ones;
}

/* Of a sum with n_full uniform scalars, the others being ones and zeros. */
static double count_products(const struct bench *bench, const struct pm_curve *curve,
                             const struct msm_work *work, uint64_t n_full, uint64_t n_ones) {
    const struct pm_group *group = work->group == PM_MSM_G1 ? curve->g1 : curve->g2;
    struct msm_scalars scalars = {.n = work->n, .n_ones = n_ones};
    struct msm_count count;
    for (uint32_t bits = 1; bits <= curve->fr->bits; bits++) {
        scalars.n_longer[bits] = n_full;
    }
    msm_count_get(curve->id, bench->body)(&scalars, bench->threads, group->affine_bytes, &count);
    return count.additions * floor_affine_addition(work->group);
}

static void measure(struct bench *bench, const struct pm_curve *curve, enum pm_msm_group which,
                    uint32_t log_n) {
    static const struct {
        const char *name;
        uint64_t every; /* full-size scalars are one in so many; 1: all, 0: none */
    } mixes[] = {{"uniform scalars", 1}, {"98 % bits", 50}, {"bits", 0}};
    struct msm_work work = {.msm = pm_msm_get(curve->id, bench->body),
                            .group = which,
                            .team = bench->team,
                            .n = UINT64_C(1) << log_n};
    const struct pm_group *group = which == PM_MSM_G1 ? curve->g1 : curve->g2;
    work.points = bench_alloc(work.n, group->affine_bytes);
    work.scalars = bench_alloc(work.n, PM_FR_BYTES);
    work.scratch = bench_alloc(1, work.msm->bytes(which, work.n, bench->threads));
    fill_points(bench, curve, &work);
    const double product_ns = bench_product_ns(bench, curve->fp->limbs);
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        const uint64_t every = mixes[i].every;
        const uint64_t n_ones = every == 1 ? 0 : make_bits(work.scalars, work.n, every);
        const uint64_t n_full = every == 0 ? 0 : (work.n + every - 1) / every;
        struct bench_row row = {.part = "msm", .log_n = log_n};
        (void)snprintf(row.what, sizeof row.what, "%s %s", which == PM_MSM_G1 ? "G1" : "G2",
                       mixes[i].name);
        bench_time(bench, op_run, &work, 1, &row);
        row.floor_ns =
            count_products(bench, curve, &work, n_full, n_ones) * product_ns / bench->threads;
        bench_report(bench, curve, row);
    }
    pm_memory_free(work.points);
    pm_memory_free(work.scalars);
    pm_memory_free(work.scratch);
}

void bench_msm(struct bench *bench, const struct pm_curve *curve) {
    const uint32_t log_n = bench->log_n != 0 ? bench->log_n : bench->is_quick ? 13 : 17;
    measure(bench, curve, PM_MSM_G1, log_n);
    measure(bench, curve, PM_MSM_G2, log_n - (bench->log_n != 0 ? 0 : 1));
}
