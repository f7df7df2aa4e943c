/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Field operations in a dependent chain (latency) and over eight independent elements (throughput),
 * through struct pm_field: an indirect call is included. Everything is in the first-level cache. */
#include "bench.h"
#include "floors.h"

#include <stdio.h>

enum { LANES = 8, ROUNDS = 20000 };

struct field_work {
    const struct pm_field *field;
    uint64_t a[LANES][PM_FP_LIMBS_MAX], b[LANES][PM_FP_LIMBS_MAX];
};

static void mul_chain(void *argument) {
    struct field_work *w = argument;
    for (int i = 0; i < ROUNDS; i++) {
        w->field->mul(w->a[0], w->a[0], w->b[0]);
    }
}

static void mul_lanes(void *argument) {
    struct field_work *w = argument;
    for (int i = 0; i < ROUNDS / LANES; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            w->field->mul(w->a[lane], w->a[lane], w->b[lane]);
        }
    }
}

static void sqr_chain(void *argument) {
    struct field_work *w = argument;
    for (int i = 0; i < ROUNDS; i++) {
        w->field->sqr(w->a[0], w->a[0]);
    }
}

static void sqr_lanes(void *argument) {
    struct field_work *w = argument;
    for (int i = 0; i < ROUNDS / LANES; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            w->field->sqr(w->a[lane], w->a[lane]);
        }
    }
}

static void add_lanes(void *argument) {
    struct field_work *w = argument;
    for (int i = 0; i < ROUNDS / LANES; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            w->field->add(w->a[lane], w->a[lane], w->b[lane]);
        }
    }
}

static void sub_lanes(void *argument) {
    struct field_work *w = argument;
    for (int i = 0; i < ROUNDS / LANES; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            w->field->sub(w->a[lane], w->a[lane], w->b[lane]);
        }
    }
}

static void inv_chain(void *argument) {
    struct field_work *w = argument;
    w->field->add(w->a[0], w->a[0], w->b[0]); /* else it would alternate between two values */
    w->field->inv(w->a[0], w->a[0]);
}

static void sqrt_chain(void *argument) {
    struct field_work *w = argument;
    w->field->sqr(w->a[0], w->a[0]); /* a square always has a root: no early exit is timed */
    (void)w->field->sqrt(w->a[0], w->a[0]);
}

static const struct {
    const char *name;
    bench_work *work;
    uint32_t repeat, n_operations;
    bool is_product;
} operations[] = {
    {"mul, one after another", mul_chain, 1, ROUNDS, true},
    {"mul, independent", mul_lanes, 1, ROUNDS, true},
    {"sqr, one after another", sqr_chain, 1, ROUNDS, true},
    {"sqr, independent", sqr_lanes, 1, ROUNDS, true},
    {"add, independent", add_lanes, 1, ROUNDS, false},
    {"sub, independent", sub_lanes, 1, ROUNDS, false},
    {"inverse", inv_chain, 100, 1, false},
    {"square root", sqrt_chain, 20, 1, false},
};

static void measure(struct bench *bench, const struct pm_curve *curve, const struct pm_field *field,
                    const char *name) {
    struct field_work work = {.field = field};
    for (unsigned lane = 0; lane < LANES; lane++) {
        const uint64_t seed[PM_FP_LIMBS_MAX] = {0x9e3779b97f4a7c15 * (lane + 1), lane};
        field->to_mont(work.a[lane], seed, 1);
        field->inv(work.b[lane], work.a[lane]);
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct bench_row row = {.part = "field", .threads = 1};
        (void)snprintf(row.what, sizeof row.what, "%s %s", name, operations[i].name);
        bench_time(bench, operations[i].work, &work, operations[i].repeat, &row);
        row.ns /= operations[i].n_operations;
        row.cpu_ns /= operations[i].n_operations;
        row.floor_ns =
            operations[i].is_product ? bench->mulx_ns * floor_limb_products(field->limbs) : 0;
        bench_report(bench, curve, row);
    }
}

void bench_field(struct bench *bench, const struct pm_curve *curve) {
    measure(bench, curve, curve->fp, "Fp");
    measure(bench, curve, curve->fr, "Fr");
}
