/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Microseconds per part of a pairing, per curve and body: the minimum of several runs. A
 * verification is one prepare, a loop over three pairs, and a final exponentiation. */
#include <stdio.h>

#include "base/clock.h"
#include "curve/curve.h"
#include "pairing/pairing.h"

enum { RUNS = 7, REPEAT = 20, PREPARED_BYTES_MAX = 16384 };

struct work {
    const struct pm_pairing *pairing;
    const void *g1[3], *prepared[3];
    const void *g2;
    unsigned char *space;
    struct pm_gt f;
};

static void op_prepare(struct work *w) {
    w->pairing->prepare(w->space, w->g2);
}

static void op_miller_1(struct work *w) {
    w->pairing->miller(&w->f, w->g1, w->prepared, 1);
}

static void op_miller_3(struct work *w) {
    w->pairing->miller(&w->f, w->g1, w->prepared, 3);
}

static void op_final(struct work *w) {
    struct pm_gt r;
    w->pairing->final_exponentiation(&r, &w->f);
}

static const struct {
    const char *name;
    void (*run)(struct work *w);
} operations[] = {
    {"prepare a G2 point", op_prepare},
    {"loop, one pair", op_miller_1},
    {"loop, three pairs", op_miller_3},
    {"final exponentiation", op_final},
};

static void bench(const struct pm_curve *curve, const struct pm_pairing *pairing) {
    static unsigned char space[PREPARED_BYTES_MAX];
    const void *generator = curve->g1->generator;
    struct work w = {.pairing = pairing,
                     .g1 = {generator, generator, generator},
                     .prepared = {space, space, space},
                     .g2 = curve->g2->generator,
                     .space = space};
    if (pairing->prepared_bytes > sizeof space) {
        return;
    }
    printf("%s, %s: a prepared point is %u bytes\n", curve->name, pairing->body,
           pairing->prepared_bytes);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        uint64_t best_ns = UINT64_MAX;
        for (int run = 0; run < RUNS; run++) {
            const uint64_t start_ns = pm_clock_now_ns();
            for (unsigned k = 0; k < REPEAT; k++) {
                operations[i].run(&w);
            }
            const uint64_t ns = pm_clock_now_ns() - start_ns;
            best_ns = ns < best_ns ? ns : best_ns;
        }
        printf("  %-22s %10.1f us\n", operations[i].name, (double)best_ns / REPEAT / 1e3);
    }
}

int main(void) {
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    for (size_t c = 0; c < sizeof curves / sizeof curves[0]; c++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            const struct pm_curve *curve = pm_curve_get(curves[c], (enum pm_body)body);
            if (curve != NULL) {
                bench(curve, pm_pairing_get(curves[c], (enum pm_body)body));
            }
        }
    }
    return 0;
}
