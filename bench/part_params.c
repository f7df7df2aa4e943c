/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Opening bellman's parameters whose pages are in the page cache, as far as points can be looked
 * at, beside a plain copy of the same pages into memory of our own: what no reader can beat. The
 * size is that of the domain; points are so many of each query as in Filecoin's PoRep.
 */
#include "bench.h"

#include "base/memory.h"
#include "io/mapping.h"
#include "io/output_map.h"
#include "io/params.h"

#include <stdio.h>
#include <string.h>

#define TILE_POINTS 256u
#define COPY_PIECE_BYTES (UINT64_C(1) << 20)

struct params_work {
    char path[1100];
    pm_context *context;
    struct pm_team *team;
    uint32_t check, cache; /* of pm_key_options */
    uint64_t n_bytes;
    struct pm_mapping mapping;
    uint8_t *copy;
};

/* Different multiples of the generator, the same few over and over. */
static void fill_part(const struct pm_params_layout *layout, const struct pm_curve *curve,
                      enum pm_params_part part, struct pm_team *team, uint8_t *image) {
    const struct pm_group *group = pm_params_part_is_g2(part) ? curve->g2 : curve->g1;
    uint8_t tile[TILE_POINTS * PM_G2_BYTES_MAX];
    pm_error error = PM_ERROR_INIT;
    for (uint64_t i = 0; i < TILE_POINTS; ++i) {
        const uint64_t scalar[1] = {i * 7 + part + 1};
        struct pm_group_point point;
        group->from_affine(&point, group->generator);
        group->mul(&point, &point, scalar, 1);
        group->to_affine(tile + i * group->affine_bytes, &point);
    }
    for (uint64_t first = 0; first < layout->n[part]; first += TILE_POINTS) {
        const uint64_t left = layout->n[part] - first;
        bench_need(pm_params_write_points(layout, curve, part, first,
                                          left < TILE_POINTS ? left : TILE_POINTS, tile, team, NULL,
                                          image, &error),
                   &error);
    }
}

static void write_params(struct params_work *work, const struct pm_curve *curve, uint32_t log_n) {
    const uint32_t n = (uint32_t)((UINT64_C(1) << log_n) / 33 * 32);
    const struct pm_params_counts counts = {
        .n_inputs = 16, .n_aux = n, .log_n = log_n, .n_a = n, .n_b = n / 4};
    struct pm_params_layout layout = {0};
    struct pm_output_map out;
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_params_layout_make(&counts, &layout, &error), &error);
    bench_need(pm_output_map_create(work->path, layout.n_bytes, &out, &error), &error);
    pm_params_write_counts(&layout, out.bytes);
    for (int part = 0; part < PM_PARAMS_PARTS; ++part) {
        fill_part(&layout, curve, (enum pm_params_part)part, work->team, out.bytes);
    }
    bench_need(pm_output_map_commit(&out, &error), &error);
    work->n_bytes = layout.n_bytes;
}

static void op_open(void *argument) {
    const struct params_work *work = argument;
    const pm_key_options options = {
        .struct_bytes = sizeof options, .check = work->check, .cache = work->cache};
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    bench_need(pm_key_open_params(work->context, work->path, NULL, &options, NULL, &key, &error),
               &error);
    pm_key_destroy(key);
}

static void copy_piece(void *argument, size_t i) {
    const struct params_work *work = argument;
    const uint64_t first = i * COPY_PIECE_BYTES, left = work->n_bytes - first;
    memcpy(work->copy + first, work->mapping.bytes + first,
           left < COPY_PIECE_BYTES ? left : COPY_PIECE_BYTES);
}

static void op_copy(void *argument) {
    struct params_work *work = argument;
    pm_error error = PM_ERROR_INIT;
    bench_need(
        pm_mapping_open(work->path, PM_MAPPING_MAP, UINT64_MAX, NULL, NULL, &work->mapping, &error),
        &error);
    work->copy = bench_alloc(work->n_bytes, 1);
    pm_team_run(work->team, (work->n_bytes + COPY_PIECE_BYTES - 1) / COPY_PIECE_BYTES, copy_piece,
                work);
    pm_memory_free(work->copy);
    pm_mapping_close(&work->mapping);
}

static void report(struct bench *bench, const struct pm_curve *curve, struct params_work *work,
                   uint32_t log_n, const char *what, bench_work *op) {
    struct bench_row row = {.part = "params", .log_n = log_n};
    bench_time(bench, op, work, 1, &row);
    (void)snprintf(row.what, sizeof row.what, "%s, %.2f GiB/s", what,
                   (double)work->n_bytes / row.ns * 1e9 / (double)(UINT64_C(1) << 30));
    bench_report(bench, curve, row);
}

void bench_params(struct bench *bench, const struct pm_curve *curve) {
    static const char *const checks[] = {"open, points decoded", "open, on the curve",
                                         "open, in the subgroup"};
    const uint32_t log_n = bench->log_n != 0 ? bench->log_n : bench->is_quick ? 12 : 17;
    const pm_context_options options = {.struct_bytes = sizeof options,
                                        .threads = bench->threads,
                                        .arithmetic =
                                            bench->body == PM_BODY_PORTABLE ? PM_ARITHMETIC_PORTABLE
                                            : bench->body == PM_BODY_ADX    ? PM_ARITHMETIC_ADX
                                                                            : PM_ARITHMETIC_IFMA};
    struct params_work work = {.team = bench->team};
    pm_error error = PM_ERROR_INIT;
    if (curve->id != PM_CURVE_BLS12_381) {
        return; /* bellman has no other */
    }
    bench_need(pm_context_create(&options, &work.context, &error), &error);
    (void)snprintf(work.path, sizeof work.path, "%s/bench.params", bench->temporary);
    write_params(&work, curve, log_n);
    report(bench, curve, &work, log_n, "copy of the pages", op_copy);
    /* The subgroup takes a hundred times as long, and no disk is as slow as that. */
    for (work.check = PM_CHECK_NONE;
         work.check <= (bench->is_quick ? PM_CHECK_FULL : PM_CHECK_FAST); work.check++) {
        report(bench, curve, &work, log_n, checks[work.check], op_open);
    }
    work.check = PM_CHECK_NONE;
    work.cache = 1; /* the first run makes it */
    report(bench, curve, &work, log_n, "open, from the cache", op_open);
    (void)remove(work.path);
    (void)snprintf(work.path, sizeof work.path, "%s/bench.params.pmcache", bench->temporary);
    (void)remove(work.path);
    pm_context_destroy(work.context);
}
