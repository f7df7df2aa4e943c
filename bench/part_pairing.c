/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The parts of a pairing. A verification is one prepare, a loop over three pairs and a final
 * exponentiation. No floor is counted. */
#include "bench.h"
#include "pairing/pairing.h"

#include "base/memory.h"

#include <stdio.h>

struct pairing_work {
    const struct pm_pairing *pairing;
    const void *g1[3], *prepared[3], *g2;
    uint8_t *space;
    struct pm_gt f, r;
};

static void op_prepare(void *argument) {
    struct pairing_work *w = argument;
    w->pairing->prepare(w->space, w->g2);
}

static void op_miller_1(void *argument) {
    struct pairing_work *w = argument;
    w->pairing->miller(&w->f, w->g1, w->prepared, 1);
}

static void op_miller_3(void *argument) {
    struct pairing_work *w = argument;
    w->pairing->miller(&w->f, w->g1, w->prepared, 3);
}

static void op_final(void *argument) {
    struct pairing_work *w = argument;
    w->pairing->final_exponentiation(&w->r, &w->f);
}

static const struct {
    const char *name;
    bench_work *work;
} operations[] = {
    {"prepare a point of G2", op_prepare},
    {"loop, one pair", op_miller_1},
    {"loop, three pairs", op_miller_3},
    {"final exponentiation", op_final},
};

void bench_pairing(struct bench *bench, const struct pm_curve *curve) {
    const struct pm_pairing *pairing = pm_pairing_get(curve->id, bench->body);
    const void *generator = curve->g1->generator;
    uint8_t *space = bench_alloc(1, pairing->prepared_bytes);
    struct pairing_work work = {.pairing = pairing,
                                .g1 = {generator, generator, generator},
                                .prepared = {space, space, space},
                                .g2 = curve->g2->generator,
                                .space = space};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct bench_row row = {.part = "pairing", .threads = 1};
        (void)snprintf(row.what, sizeof row.what, "%s", operations[i].name);
        bench_time(bench, operations[i].work, &work, 5, &row);
        bench_report(bench, curve, row);
    }
    pm_memory_free(space);
}
