/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Group operations through struct pm_group: an indirect call and the copies of the points are
 * included. Everything is in the first-level cache. */
#include "bench.h"
#include "floors.h"

#include <stdio.h>

struct curve_work {
    const struct pm_group *group;
    struct pm_group_point p, q;
    uint8_t affine[PM_G2_BYTES_MAX], compressed[PM_G2_BYTES_MAX], out[PM_G2_BYTES_MAX];
};

static void op_add(void *argument) {
    struct curve_work *w = argument;
    w->group->add(&w->p, &w->p, &w->q);
}

static void op_add_affine(void *argument) {
    struct curve_work *w = argument;
    w->group->add_affine(&w->p, &w->p, w->affine);
}

static void op_dbl(void *argument) {
    struct curve_work *w = argument;
    w->group->dbl(&w->p, &w->p);
}

static void op_mul(void *argument) {
    static const uint64_t k[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                  0x2545f4914f6cdd1d};
    struct curve_work *w = argument;
    w->group->mul(&w->p, &w->p, k, 4);
}

static void op_to_affine(void *argument) {
    struct curve_work *w = argument;
    w->group->to_affine(w->out, &w->p);
}

static void op_check_curve(void *argument) {
    const struct curve_work *w = argument;
    (void)w->group->check(w->affine, PM_POINT_CHECK_CURVE);
}

static void op_check_subgroup(void *argument) {
    const struct curve_work *w = argument;
    (void)w->group->check(w->affine, PM_POINT_CHECK_SUBGROUP);
}

static void op_decompress(void *argument) {
    struct curve_work *w = argument;
    (void)w->group->decode(w->out, PM_POINT_ZCASH_COMPRESSED, w->compressed, PM_POINT_CHECK_NONE);
}

/* Products and squares of the coordinates in the formulas of curve/curve_group.inc; 0: not counted.
 */
static const struct {
    const char *name;
    bench_work *work;
    uint32_t repeat, products, squares;
} operations[] = {
    {"add", op_add, 5000, 12, 4},
    {"add affine", op_add_affine, 5000, 8, 3},
    {"double", op_dbl, 5000, 2, 5},
    {"multiply, 254 bits", op_mul, 20, 0, 0},
    {"to affine", op_to_affine, 500, 0, 0},
    {"check the curve", op_check_curve, 5000, 1, 2},
    {"check the subgroup", op_check_subgroup, 50, 0, 0},
    {"decompress", op_decompress, 50, 0, 0},
};

static void measure(struct bench *bench, const struct pm_curve *curve, const struct pm_group *group,
                    const char *name) {
    struct curve_work work = {.group = group};
    group->from_affine(&work.p, group->generator);
    group->dbl(&work.q, &work.p);
    op_mul(&work);
    group->to_affine(work.affine, &work.q);
    group->encode(work.compressed, PM_POINT_ZCASH_COMPRESSED, work.affine);
    const bool is_g2 = group == curve->g2;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (operations[i].work == op_decompress &&
            group->form_bytes(PM_POINT_ZCASH_COMPRESSED) == 0) {
            continue;
        }
        struct bench_row row = {.part = "curve", .threads = 1};
        (void)snprintf(row.what, sizeof row.what, "%s %s", name, operations[i].name);
        bench_time(bench, operations[i].work, &work, operations[i].repeat, &row);
        const double n = operations[i].products * (is_g2 ? 3.0 : 1.0) +
                         operations[i].squares * (is_g2 ? 2.0 : 1.0);
        row.floor_ns = n * floor_limb_products(curve->fp->limbs) * bench->mulx_ns;
        bench_report(bench, curve, row);
    }
}

void bench_curve(struct bench *bench, const struct pm_curve *curve) {
    measure(bench, curve, curve->g1, "G1");
    measure(bench, curve, curve->g2, "G2");
}
