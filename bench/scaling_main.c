/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * bench/scaling_main.c - one proof in every body with 1, 2, 4 ... threads, or with 1 and
 * THREADS, in one run:
 *
 *     pm_scaling KEY.zkey WITNESS.wtns [RUNS [THREADS]]
 *
 * Prints the best wall time of RUNS (default 3) proofs each, the gain over one thread, and below it
 * the phases of that proof. Bodies that this processor lacks are left out.
 */
#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static pm_error error = PM_ERROR_INIT;

static int fail(const char *what) {
    (void)fprintf(stderr, "pm_scaling: %s: %s\n", what, error.message);
    return 1;
}

/* The best of n_runs; false after a failure. */
static bool prove_best(pm_context *context, const pm_key *key, const pm_witness *witness,
                       int n_runs, pm_prove_stats *best) {
    for (int run = 0; run < n_runs; run++) {
        pm_proof proof = {.struct_bytes = sizeof proof};
        pm_prove_stats stats = {.struct_bytes = sizeof stats};
        if (pm_prove(context, key, witness, NULL, NULL, &proof, &stats, &error) != PM_OK) {
            (void)fail("prove");
            return false;
        }
        *best = run == 0 || stats.wall_ns < best->wall_ns ? stats : *best;
    }
    return true;
}

static void print(const pm_context *context, const pm_prove_stats *stats, uint64_t one_thread_ns) {
    (void)printf("%-8s %4u threads %8.1f ms %6.2f x\n        ", pm_context_arithmetic(context),
                 pm_context_threads(context), (double)stats->wall_ns / 1e6,
                 (double)one_thread_ns / (double)stats->wall_ns);
    for (uint32_t i = 0; i < stats->n_phases; i++) {
        (void)printf(" %s %.1f%s", stats->phases[i].name, (double)stats->phases[i].wall_ns / 1e6,
                     i + 1 < stats->n_phases ? "," : "\n");
    }
}

/* One body with 1, step, step^2 ... threads. Returns 1 after a failure. */
static int measure(const char *const *files, uint32_t arithmetic, int n_runs, uint32_t step) {
    uint64_t one_thread_ns = 0;
    for (uint32_t threads = 1; threads <= pm_threads_available(); threads *= step) {
        const pm_context_options options = {
            .struct_bytes = sizeof options, .threads = threads, .arithmetic = arithmetic};
        pm_context *context = NULL;
        pm_key *key = NULL;
        pm_witness *witness = NULL;
        const pm_status status = pm_context_create(&options, &context, &error);
        if (status == PM_UNSUPPORTED) {
            return 0;
        }
        if (status != PM_OK || pm_key_open(context, files[0], NULL, NULL, &key, &error) != PM_OK ||
            pm_witness_open(context, files[1], NULL, &witness, &error) != PM_OK) {
            return fail(files[0]);
        }
        pm_prove_stats stats = {.struct_bytes = sizeof stats};
        const bool proved = prove_best(context, key, witness, n_runs, &stats);
        one_thread_ns = threads == 1 ? stats.wall_ns : one_thread_ns;
        if (proved) {
            print(context, &stats, one_thread_ns);
        }
        pm_witness_destroy(witness);
        pm_key_destroy(key);
        pm_context_destroy(context);
        if (!proved) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) {
        (void)fprintf(stderr, "usage: pm_scaling KEY.zkey WITNESS.wtns [RUNS [THREADS]]\n");
        return 2;
    }
    const char *const files[] = {argv[1], argv[2]};
    const int n_runs = argc > 3 ? atoi(argv[3]) : 3;
    const int most = argc > 4 ? atoi(argv[4]) : 2;
    const uint32_t step =
        most > 1 ? (uint32_t)most : 2; /* from one number of threads to the next */
    const uint32_t bodies[] = {PM_ARITHMETIC_ADX, PM_ARITHMETIC_IFMA};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        if (measure(files, bodies[i], n_runs > 0 ? n_runs : 1, step) != 0) {
            return 1;
        }
    }
    return 0;
}
