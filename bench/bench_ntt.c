/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Times the transforms: bench_ntt [LOG_N_MIN [LOG_N_MAX [THREADS...]]], default 12 20 1 2.
 *
 * One line a curve, body, size and number of threads: milliseconds for forward, inverse and the
 * walk to the odd coset, the best of a few rounds, and nanoseconds for each butterfly of forward.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "ff/field.h"
#include "par/team.h"
#include "poly/poly.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef pm_status transform(const struct pm_domain *, void *, struct pm_team *, const pm_control *,
                            pm_error *);

/* A vector of scalars that are not special; powers of a number are as good as random ones. */
static void fill(const struct pm_field *fr, uint64_t *vector, uint64_t n) {
    uint64_t seed[PM_FR_BYTES / 8] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                      1};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *at = vector + i * fr->limbs;
        fr->mul(at, i == 0 ? seed : at - fr->limbs, seed);
    }
}

static double best_ms(transform *run, const struct pm_domain *domain, void *vector,
                      struct pm_team *team) {
    uint64_t best_ns = UINT64_MAX;
    for (uint64_t round = 0, spent_ns = 0; round < 3 || (spent_ns < 200000000 && round < 50);
         round++) {
        const uint64_t start_ns = pm_clock_now_ns();
        if (run(domain, vector, team, NULL, NULL) != PM_OK) {
            return -1;
        }
        const uint64_t taken_ns = pm_clock_now_ns() - start_ns;
        spent_ns += taken_ns;
        best_ns = taken_ns < best_ns ? taken_ns : best_ns;
    }
    return (double)best_ns / 1e6;
}

static int bench_one(const struct pm_poly *poly, const struct pm_field *fr, uint32_t log_n,
                     uint32_t threads) {
    pm_error error = PM_ERROR_INIT;
    struct pm_team *team = NULL;
    struct pm_domain domain = {0};
    void *vector = NULL;
    const uint64_t n = UINT64_C(1) << log_n;
    if (pm_team_create(threads, &team, &error) != PM_OK ||
        pm_domain_create(poly, log_n, PM_ROOT_SNARKJS, team, NULL, &domain, &error) != PM_OK ||
        pm_memory_alloc_array(NULL, "vector", n, PM_FR_BYTES, PM_MEMORY_PLAIN, &vector, &error) !=
            PM_OK) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    fill(fr, vector, n);
    const double forward = best_ms(poly->forward, &domain, vector, team);
    const double inverse = best_ms(poly->inverse, &domain, vector, team);
    const double coset = best_ms(poly->to_odd_coset, &domain, vector, team);
    const double butterflies = (double)n / 2 * (log_n > 0 ? log_n : 1);
    printf(
        "%-10s %-8s 2^%-2" PRIu32 " %2" PRIu32
        " threads  forward %9.3f ms  inverse %9.3f ms  to_odd_coset %9.3f ms  %6.2f ns/butterfly\n",
        fr->name, poly->body, log_n, threads, forward, inverse, coset, forward * 1e6 / butterflies);
    pm_memory_free(vector);
    pm_domain_destroy(&domain);
    pm_team_destroy(team);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    const uint32_t log_n_min = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 12;
    const uint32_t log_n_max = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20;
    static char *default_threads[] = {"1", "2"};
    char **threads = argc > 3 ? argv + 3 : default_threads;
    const int n_threads = argc > 3 ? argc - 3 : 2;
    for (int curve = PM_CURVE_BN254; curve <= PM_CURVE_BLS12_381; curve++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            const struct pm_poly *poly = pm_poly_get((pm_curve_id)curve, (enum pm_body)body);
            const struct pm_field *fr = pm_field_fr((pm_curve_id)curve, (enum pm_body)body);
            for (uint32_t log_n = log_n_min; poly != NULL && log_n <= log_n_max; log_n += 2) {
                for (int i = 0; i < n_threads; i++) {
                    const uint32_t count = (uint32_t)strtoul(threads[i], NULL, 10);
                    if (bench_one(poly, fr, log_n, count) != EXIT_SUCCESS) {
                        return EXIT_FAILURE;
                    }
                }
            }
        }
    }
    return EXIT_SUCCESS;
}
