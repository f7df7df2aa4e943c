/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nanoseconds per field operation, per field and body: in a dependent chain (latency) and over
 * eight independent elements (throughput), the minimum of several runs. Measured through struct
 * pm_field, so an indirect call is included.
 *
 * On x86-64 the time of one MULX is measured too and printed times the number of multiplier
 * operations of a multiplication, 2 N^2 + N: nothing that uses this multiplier can be faster than
 * that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "ff/field.h"

enum { MAX_LIMBS = 6, LANES = 8, RUNS = 9 };

struct work {
    const struct pm_field *field;
    uint64_t a[LANES][MAX_LIMBS], b[LANES][MAX_LIMBS];
};

typedef void operation(struct work *w, unsigned lane);

static void op_mul(struct work *w, unsigned lane) {
    w->field->mul(w->a[lane], w->a[lane], w->b[lane]);
}
static void op_sqr(struct work *w, unsigned lane) {
    w->field->sqr(w->a[lane], w->a[lane]);
}
static void op_add(struct work *w, unsigned lane) {
    w->field->add(w->a[lane], w->a[lane], w->b[lane]);
}
static void op_sub(struct work *w, unsigned lane) {
    w->field->sub(w->a[lane], w->a[lane], w->b[lane]);
}
static void op_inv(struct work *w, unsigned lane) {
    w->field->add(w->a[lane], w->a[lane],
                  w->b[lane]); /* else it would alternate between two values */
    w->field->inv(w->a[lane], w->a[lane]);
}
static void op_sqrt(struct work *w, unsigned lane) {
    w->field->sqr(w->a[lane], w->a[lane]); /* a square always has a root: no early exit is timed */
    (void)w->field->sqrt(w->a[lane], w->a[lane]);
}

/* Inlined with a constant op and n_lanes, so that the loop holds nothing but the calls. */
static inline __attribute__((always_inline)) double measure(struct work *w, operation *op,
                                                            unsigned n_lanes, unsigned n_ops) {
    double best = 1e300;
    for (int run = 0; run < RUNS; run++) {
        const uint64_t start = pm_clock_now_ns();
        for (unsigned i = 0; i < n_ops / n_lanes; i++) {
            for (unsigned lane = 0; lane < n_lanes; lane++) {
                op(w, lane);
            }
        }
        const double ns = (double)(pm_clock_now_ns() - start) / (n_ops / n_lanes * n_lanes);
        best = ns < best ? ns : best;
    }
    return best;
}

/* Time of one MULX when nothing waits for its result; negative where there is none. */
static double mulx_ns(void) {
#if defined(__x86_64__)
    if (!pm_cpu_has_body(PM_BODY_ADX)) {
        return -1;
    }
    double best = 1e300;
    const unsigned rounds = 200000;
    for (int run = 0; run < RUNS; run++) {
        const uint64_t start = pm_clock_now_ns();
        for (unsigned i = 0; i < rounds; i++) {
            uint64_t low, high;
            __asm__ volatile(".rept 32\n\tmulxq %%rdx, %0, %1\n\t.endr"
                             : "=&r"(low), "=&r"(high)
                             : "d"((uint64_t)i));
        }
        const double ns = (double)(pm_clock_now_ns() - start) / (32.0 * rounds);
        best = ns < best ? ns : best;
    }
    return best;
#else
    return -1;
#endif
}

static void bench_field(const struct pm_field *f, double mulx) {
    if (f == NULL) {
        return;
    }
    struct work w = {.field = f};
    for (unsigned lane = 0; lane < LANES; lane++) {
        uint64_t seed[MAX_LIMBS] = {UINT64_C(0x9e3779b97f4a7c15) * (lane + 1), lane};
        f->to_mont(w.a[lane], seed, 1);
        f->inv(w.b[lane], w.a[lane]);
    }
    const double mul = measure(&w, op_mul, 1, 400000), mul_t = measure(&w, op_mul, LANES, 400000);
    const double sqr = measure(&w, op_sqr, 1, 400000), sqr_t = measure(&w, op_sqr, LANES, 400000);
    const double add = measure(&w, op_add, 1, 400000), add_t = measure(&w, op_add, LANES, 400000);
    const double sub = measure(&w, op_sub, 1, 400000), sub_t = measure(&w, op_sub, LANES, 400000);
    const double inv = measure(&w, op_inv, 1, 4000), root = measure(&w, op_sqrt, 1, 800);
    const unsigned n = f->limbs;
    printf("%-14s %-9s %6.2f %6.2f  %6.2f %6.2f  %6.2f %6.2f  %6.2f %6.2f  %7.0f %8.0f", f->name,
           f->body, mul, mul_t, sqr, sqr_t, add, add_t, sub, sub_t, inv, root);
    if (mulx > 0) {
        printf("  %6.2f", mulx * (2 * n * n + n));
    }
    printf("\n");
}

int main(void) {
    const double mulx = mulx_ns();
    if (mulx > 0) {
        printf("mulx: %.3f ns each; floor = 2 N^2 + N of them\n", mulx);
    }
    printf("ns per operation: dependent chain, then throughput over %d independent elements\n\n",
           LANES);
    printf("%-14s %-9s %13s  %13s  %13s  %13s  %7s %8s  %6s\n", "field", "body", "mul", "sqr",
           "add", "sub", "inv", "sqrt", mulx > 0 ? "floor" : "");
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            bench_field(pm_field_fp(curves[i], (enum pm_body)body), mulx);
        }
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            bench_field(pm_field_fr(curves[i], (enum pm_body)body), mulx);
        }
    }
    return 0;
}
