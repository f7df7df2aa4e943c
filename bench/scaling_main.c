/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * bench/scaling_main.c - one proof in every body with 1, 2, 4 ... threads, or with 1 and
 * THREADS, in one run:
 *
 *     pm_scaling KEY.zkey WITNESS.wtns [RUNS [THREADS]]
 *
 * RUNS (default 3) proofs each, and after each proof the probes of scaling_probe.h on as many
 * threads: Montgomery products, fresh pages, memory. Of every step the best time of all runs, its
 * gain over one thread ("scaling"), what the probe of products gains ("probe"), and the first over
 * the second. "busy" is the share of the threads' time in which they ran: where that is high and
 * the gain low, they wait for what they share inside the processor; where it is low, for one
 * another. Bodies that this processor lacks are left out.
 */
#include "scaling_probe.h"

#include "base/clock.h"

#include <proofmill/experimental.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 32, THREAD_COUNTS_MAX = 16 };

static pm_error error = PM_ERROR_INIT;

struct step {
    const char *name;
    double ns, cpu_ns;
};

/* The best of several proofs with one number of threads; the last step is all of the proof. */
struct measured {
    uint32_t threads, n_steps;
    struct step steps[STEPS_MAX];
    struct scaling_rates rates;
};

/* What one number of threads is measured with. */
struct subject {
    pm_context *context;
    pm_key *key;
    pm_witness *witness;
    pm_report *report;
    struct pm_team *team;
};

static int fail(const char *what) {
    (void)fprintf(stderr, "pm_scaling: %s: %s\n", what, error.message);
    return 1;
}

static void keep_best(struct measured *measured, uint32_t index, const char *name, double ns,
                      double cpu_ns) {
    struct step *step = &measured->steps[index];
    if (step->name == NULL || ns < step->ns) {
        *step = (struct step){name, ns, cpu_ns};
    }
}

static pm_status prove_once(const struct subject *subject, struct measured *measured) {
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    const pm_prove_options options = {.struct_bytes = sizeof options, .report = subject->report};
    const uint64_t start_ns = pm_clock_cpu_ns();
    PM_TRY(pm_prove(subject->context, subject->key, subject->witness, &options, NULL, &proof,
                    &stats, &error));
    const double cpu_ns = (double)(pm_clock_cpu_ns() - start_ns);
    const pm_proof_plan *plan = pm_report_plan(subject->report);
    const uint32_t n_steps = pm_proof_plan_n_steps(plan);
    for (uint32_t i = 0; i < n_steps && i + 1 < STEPS_MAX; i++) {
        pm_measured_step step = {0};
        pm_planned_step planned = {0};
        (void)pm_report_step(subject->report, i, &step);
        (void)pm_proof_plan_step(plan, i, &planned);
        keep_best(measured, i, planned.name, (double)(step.end_ns - step.begin_ns),
                  (double)step.cpu_ns);
    }
    measured->n_steps = n_steps + 1 < STEPS_MAX ? n_steps + 1 : STEPS_MAX;
    keep_best(measured, measured->n_steps - 1, "all of it", (double)stats.wall_ns, cpu_ns);
    return PM_OK;
}

static pm_status subject_open(const char *const *files, uint32_t arithmetic, uint32_t threads,
                              struct subject *subject) {
    const pm_context_options options = {
        .struct_bytes = sizeof options, .threads = threads, .arithmetic = arithmetic};
    PM_TRY(pm_context_create(&options, &subject->context, &error));
    PM_TRY(pm_key_open(subject->context, files[0], NULL, NULL, &subject->key, &error));
    PM_TRY(pm_witness_open(subject->context, files[1], NULL, &subject->witness, &error));
    PM_TRY(pm_report_create(&subject->report, &error));
    return pm_team_create(threads, &subject->team, &error);
}

static void subject_close(struct subject *subject) {
    pm_team_destroy(subject->team);
    pm_report_destroy(subject->report);
    pm_witness_destroy(subject->witness);
    pm_key_destroy(subject->key);
    pm_context_destroy(subject->context);
}

static pm_status measure(const char *const *files, uint32_t arithmetic, enum pm_body body,
                         int n_runs, struct measured *measured) {
    struct subject subject = {.context = NULL};
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    pm_status status = subject_open(files, arithmetic, measured->threads, &subject);
    if (status == PM_OK) {
        status = pm_key_get_facts(subject.key, &facts);
    }
    scaling_probe_function *const products = scaling_probe_get((pm_curve_id)facts.curve, body);
    for (int run = 0; run < n_runs && status == PM_OK && products != NULL; run++) {
        status = prove_once(&subject, measured);
        if (status == PM_OK) {
            status = scaling_probe_run(subject.team, products, &measured->rates, &error);
        }
    }
    subject_close(&subject);
    return status;
}

static void print_rate(const char *name, double one, double all) {
    (void)printf("    %-20s %10.3f %10.3f %7s %8.2f\n", name, one, all, "", all / one);
}

static void print(const char *body, const struct measured *one, const struct measured *measured) {
    const double threads = measured->threads;
    const double probe = measured->rates.products_per_ns / one->rates.products_per_ns;
    (void)printf("%s, %u thread%s\n    %-20s %10s %10s %7s %8s %7s %7s\n", body, measured->threads,
                 measured->threads == 1 ? "" : "s", "", "1: ms", "ms", "busy", "scaling", "probe",
                 "ratio");
    for (uint32_t i = 0; i < measured->n_steps; i++) {
        const struct step *step = &measured->steps[i];
        const double scaling = one->steps[i].ns / step->ns;
        (void)printf("    %-20s %10.1f %10.1f %5.0f %% %8.2f %7.2f %7.2f\n", step->name,
                     one->steps[i].ns / 1e6, step->ns / 1e6,
                     100 * step->cpu_ns / (threads * step->ns), scaling, probe, scaling / probe);
    }
    print_rate("products a ns", one->rates.products_per_ns, measured->rates.products_per_ns);
    print_rate("fresh pages, GB/s", one->rates.fresh_bytes_per_ns,
               measured->rates.fresh_bytes_per_ns);
    print_rate("memory, GB/s", one->rates.bytes_per_ns, measured->rates.bytes_per_ns);
    (void)printf("\n");
    (void)fflush(stdout);
}

/* One body with 1, factor, factor^2 ... threads. Returns 1 after a failure. */
static int measure_body(const char *const *files, uint32_t arithmetic, enum pm_body body,
                        int n_runs, uint32_t factor) {
    static struct measured counts[THREAD_COUNTS_MAX];
    uint32_t n = 0;
    for (uint32_t threads = 1; threads <= pm_threads_available() && n < THREAD_COUNTS_MAX;
         threads *= factor) {
        counts[n] = (struct measured){.threads = threads};
        if (measure(files, arithmetic, body, n_runs, &counts[n]) != PM_OK) {
            return fail("prove");
        }
        print(pm_body_name(body), &counts[0], &counts[n]);
        n++;
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
    const uint32_t factor = most > 1 ? (uint32_t)most : 2;
    static const struct {
        uint32_t arithmetic;
        enum pm_body body;
    } bodies[] = {{PM_ARITHMETIC_ADX, PM_BODY_ADX}, {PM_ARITHMETIC_IFMA, PM_BODY_IFMA}};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        if (pm_cpu_has_body(bodies[i].body) &&
            measure_body(files, bodies[i].arithmetic, bodies[i].body, n_runs > 0 ? n_runs : 1,
                         factor) != 0) {
            return 1;
        }
    }
    return 0;
}
