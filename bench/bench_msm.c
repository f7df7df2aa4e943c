/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Times multi-scalar multiplication: bench_msm [LOG_N_MIN [LOG_N_MAX [THREADS...]]], default 12 16
 * 1 2.
 *
 * One line a curve, group, body, size and number of threads: nanoseconds a point with uniform
 * scalars, with nine bits in ten scalars (the rest uniform), and with bits alone; and the scratch.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "curve/curve.h"
#include "msm/msm.h"
#include "par/team.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mix { MIX_UNIFORM, MIX_MOSTLY_BITS, MIX_BITS, MIX_COUNT };

static uint64_t next_word(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void fill_scalars(unsigned char *scalars, uint64_t n, enum mix mix) {
    uint64_t state = 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k[4] = {next_word(&state) & 1};
        const bool full = mix == MIX_UNIFORM || (mix == MIX_MOSTLY_BITS && i % 10 == 0);
        for (int j = 0; full && j < 4; j++) {
            k[j] = next_word(&state);
        }
        k[3] >>= 3; /* below both orders */
        memcpy(scalars + i * sizeof k, k, sizeof k);
    }
}

/* Multiples of the generator; points repeat after a while, which bucket sums do not notice. */
static void fill_points(const struct pm_group *group, unsigned char *points, uint64_t n) {
    const uint64_t n_distinct = n < 4096 ? n : 4096;
    struct pm_group_point p;
    group->from_affine(&p, group->generator);
    for (uint64_t i = 0; i < n; i++) {
        unsigned char *at = points + i * group->affine_bytes;
        if (i < n_distinct) {
            group->to_affine(at, &p);
            group->dbl(&p, &p);
            group->add_affine(&p, &p, group->generator);
        } else {
            memcpy(at, at - n_distinct * group->affine_bytes, group->affine_bytes);
        }
    }
}

struct bench {
    const struct pm_msm *msm;
    const struct pm_group *group;
    enum pm_msm_group which;
    struct pm_team *team;
    uint64_t n;
    unsigned char *points, *scalars;
    void *scratch;
};

static double ns_per_point(const struct bench *bench, enum mix mix) {
    struct pm_group_point result;
    uint64_t best_ns = UINT64_MAX;
    fill_scalars(bench->scalars, bench->n, mix);
    for (uint64_t round = 0, spent_ns = 0; round < 2 || (spent_ns < 200000000 && round < 20);
         round++) {
        const uint64_t start_ns = pm_clock_now_ns();
        if (bench->msm->run(bench->which, bench->points, bench->scalars, bench->n, bench->team,
                            bench->scratch, NULL, &result, NULL) != PM_OK) {
            return -1;
        }
        const uint64_t taken_ns = pm_clock_now_ns() - start_ns;
        spent_ns += taken_ns;
        best_ns = taken_ns < best_ns ? taken_ns : best_ns;
    }
    return (double)best_ns / (double)bench->n;
}

static int bench_one(const struct pm_curve *curve, const struct pm_msm *msm,
                     enum pm_msm_group which, uint32_t log_n, uint32_t threads) {
    struct bench bench = {.msm = msm,
                          .group = which == PM_MSM_G1 ? curve->g1 : curve->g2,
                          .which = which,
                          .n = UINT64_C(1) << log_n};
    const uint64_t scratch_bytes = msm->bytes(which, bench.n, threads);
    void *points = NULL, *scalars = NULL;
    pm_error error = PM_ERROR_INIT;
    if (pm_team_create(threads, &bench.team, &error) != PM_OK ||
        pm_memory_alloc_array(NULL, "points", bench.n, bench.group->affine_bytes, PM_MEMORY_PLAIN,
                              &points, &error) != PM_OK ||
        pm_memory_alloc_array(NULL, "scalars", bench.n, PM_FR_BYTES, PM_MEMORY_PLAIN, &scalars,
                              &error) != PM_OK ||
        pm_memory_alloc(NULL, "scratch", scratch_bytes, PM_MEMORY_PLAIN, &bench.scratch, &error) !=
            PM_OK) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    bench.points = points;
    bench.scalars = scalars;
    fill_points(bench.group, bench.points, bench.n);
    double ns[MIX_COUNT];
    for (int mix = 0; mix < MIX_COUNT; mix++) {
        ns[mix] = ns_per_point(&bench, (enum mix)mix);
    }
    printf("%-12s %-8s 2^%-2" PRIu32 " %2" PRIu32
           " threads  ns/point: uniform %8.1f  90%% bits %8.1f  bits %7.1f  scratch %9" PRIu64 "\n",
           bench.group->name, msm->body, log_n, threads, ns[MIX_UNIFORM], ns[MIX_MOSTLY_BITS],
           ns[MIX_BITS], scratch_bytes);
    pm_memory_free(points);
    pm_memory_free(scalars);
    pm_memory_free(bench.scratch);
    pm_team_destroy(bench.team);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const uint32_t log_n_min = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 12;
    const uint32_t log_n_max = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 16;
    static char *default_threads[] = {"1", "2"};
    char **threads = argc > 3 ? argv + 3 : default_threads;
    const int n_threads = argc > 3 ? argc - 3 : 2;
    for (int id = PM_CURVE_BN254; id <= PM_CURVE_BLS12_381; id++) {
        for (int which = PM_MSM_G1; which <= PM_MSM_G2; which++) {
            const enum pm_body body = pm_cpu_best_body();
            const struct pm_curve *curve = pm_curve_get((pm_curve_id)id, body);
            const struct pm_msm *msm = pm_msm_get((pm_curve_id)id, body);
            for (uint32_t log_n = log_n_min; log_n <= log_n_max; log_n += 2) {
                for (int i = 0; i < n_threads; i++) {
                    if (bench_one(curve, msm, (enum pm_msm_group)which, log_n,
                                  (uint32_t)strtoul(threads[i], NULL, 10)) != EXIT_SUCCESS) {
                        return EXIT_FAILURE;
                    }
                }
            }
        }
    }
    return EXIT_SUCCESS;
}
