/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nanoseconds per group operation through struct pm_group (an indirect call and the copies of its
 * points included), per group and body: the minimum of several runs. */
#include <stdio.h>

#include "base/clock.h"
#include "curve/curve.h"

enum { RUNS = 7 };

struct work {
    const struct pm_curve *curve;
    const struct pm_group *group;
    struct pm_group_point p, q;
    unsigned char affine[PM_G2_BYTES_MAX], compressed[PM_G2_BYTES_MAX];
};

static void op_add(struct work *w) {
    w->group->add(&w->p, &w->p, &w->q);
}

static void op_add_affine(struct work *w) {
    w->group->add_affine(&w->p, &w->p, w->affine);
}

static void op_dbl(struct work *w) {
    w->group->dbl(&w->p, &w->p);
}

static void op_mul(struct work *w) {
    static const uint64_t k[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                  0x2545f4914f6cdd1d};
    w->group->mul(&w->p, &w->p, k, 4);
}

static void op_to_affine(struct work *w) {
    unsigned char affine[PM_G2_BYTES_MAX];
    w->group->to_affine(affine, &w->p);
}

static void op_check_curve(struct work *w) {
    (void)w->group->check(w->affine, PM_POINT_CHECK_CURVE);
}

static void op_check_subgroup(struct work *w) {
    (void)w->group->check(w->affine, PM_POINT_CHECK_SUBGROUP);
}

static void op_subgroup_by_order(struct work *w) {
    (void)w->group->in_subgroup_by_order(w->affine);
}

static void op_decompress(struct work *w) {
    unsigned char affine[PM_G2_BYTES_MAX];
    (void)w->group->decode(affine, PM_POINT_ZCASH_COMPRESSED, w->compressed, PM_POINT_CHECK_NONE);
}

static const struct {
    const char *name;
    void (*run)(struct work *w);
    unsigned repeat;
} operations[] = {
    {"add", op_add, 20000},
    {"add affine", op_add_affine, 20000},
    {"double", op_dbl, 20000},
    {"multiply, 254 bits", op_mul, 100},
    {"to affine", op_to_affine, 2000},
    {"check the curve", op_check_curve, 20000},
    {"check the subgroup", op_check_subgroup, 200},
    {"the same by order", op_subgroup_by_order, 100},
    {"decompress", op_decompress, 200},
};

static void bench(const struct pm_curve *curve, const struct pm_group *group) {
    struct work w = {.curve = curve, .group = group};
    printf("%s, %s\n", group->name, curve->body);
    group->from_affine(&w.p, group->generator);
    group->dbl(&w.q, &w.p);
    op_mul(&w);
    group->to_affine(w.affine, &w.q);
    group->encode(w.compressed, PM_POINT_ZCASH_COMPRESSED, w.affine);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        uint64_t best_ns = UINT64_MAX;
        if (operations[i].run == op_decompress &&
            group->form_bytes(PM_POINT_ZCASH_COMPRESSED) == 0) {
            continue;
        }
        for (int run = 0; run < RUNS; run++) {
            const uint64_t start_ns = pm_clock_now_ns();
            for (unsigned k = 0; k < operations[i].repeat; k++) {
                operations[i].run(&w);
            }
            const uint64_t ns = pm_clock_now_ns() - start_ns;
            best_ns = ns < best_ns ? ns : best_ns;
        }
        printf("  %-20s %10.1f ns\n", operations[i].name, (double)best_ns / operations[i].repeat);
    }
}

int main(void) {
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    for (size_t c = 0; c < sizeof curves / sizeof curves[0]; c++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            const struct pm_curve *curve = pm_curve_get(curves[c], (enum pm_body)body);
            if (curve != NULL) {
                bench(curve, curve->g1);
                bench(curve, curve->g2);
            }
        }
    }
    return 0;
}
