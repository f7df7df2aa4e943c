/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transforms of vectors that stay in the caches, and of ones that do not (2^18 scalars are 8 MiB).
 */
#include "bench.h"
#include "floors.h"

#include "base/memory.h"
#include "poly/poly.h"

#include <stdio.h>

struct ntt_work {
    const struct pm_poly *poly;
    struct pm_domain domain;
    struct pm_team *team;
    void *vector;
    double product_ns; /* the floor of a product in Fr */
};

static void op_forward(void *argument) {
    struct ntt_work *w = argument;
    (void)w->poly->forward(&w->domain, w->vector, w->team, NULL, NULL);
}

static void op_inverse(void *argument) {
    struct ntt_work *w = argument;
    (void)w->poly->inverse(&w->domain, w->vector, w->team, NULL, NULL);
}

static void op_to_odd_coset(void *argument) {
    struct ntt_work *w = argument;
    (void)w->poly->to_odd_coset(&w->domain, w->vector, w->team, NULL, NULL);
}

static void report(struct bench *bench, const struct pm_curve *curve, struct ntt_work *work,
                   const char *what, bench_work *operation, double n_products) {
    struct bench_row row = {.part = "ntt", .log_n = work->domain.log_n};
    (void)snprintf(row.what, sizeof row.what, "%s", what);
    bench_time(bench, operation, work, 1, &row);
    row.floor_ns = n_products * work->product_ns / bench->threads;
    bench_report(bench, curve, row);
}

static void measure(struct bench *bench, const struct pm_curve *curve, uint32_t log_n) {
    struct ntt_work work = {.poly = pm_poly_get(curve->id, bench->body), .team = bench->team};
    const uint64_t n = UINT64_C(1) << log_n;
    pm_error error = PM_ERROR_INIT;
    bench_need(
        pm_domain_create(work.poly, log_n, PM_ROOT_SNARKJS, work.team, NULL, &work.domain, &error),
        &error);
    work.vector = bench_alloc(n, PM_FR_BYTES);
    bench_random_scalars(work.vector, n, log_n);
    work.product_ns = bench_product_ns(bench, curve->fr->limbs);
    report(bench, curve, &work, "forward", op_forward, floor_ntt(log_n));
    report(bench, curve, &work, "inverse", op_inverse, floor_ntt(log_n));
    report(bench, curve, &work, "to the odd coset", op_to_odd_coset, floor_to_coset(log_n));
    pm_memory_free(work.vector);
    pm_domain_destroy(&work.domain);
}

void bench_ntt(struct bench *bench, const struct pm_curve *curve) {
    if (bench->log_n != 0) {
        measure(bench, curve, bench->log_n);
        return;
    }
    measure(bench, curve, 12);
    measure(bench, curve, bench->is_quick ? 16 : 20);
}
