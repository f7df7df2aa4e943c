/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A whole circuit: a synthetic system is written, set up from known secrets, proved and verified,
 * through the public interface. Files were written just before, so they are in the page cache. Or a
 * key and a witness that are there, proved and verified. Keys and witnesses are looked into to
 * count what a proof must multiply. */
#include "bench.h"
#include "circuit_floor.h"
#include "floors.h"
#include "synthetic.h"

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/memory.h"
#include "msm/fixed_base.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 1200

struct circuit {
    struct bench *bench;
    const struct pm_curve *curve;
    struct synthetic_options options;
    struct synthetic_facts facts;
    char r1cs[PATH_BYTES], wtns[PATH_BYTES], zkey[PATH_BYTES];
    pm_context *context;
    pm_key *key;
    pm_witness *witness;
    pm_vk *vk;
    uint32_t n_public;
    uint8_t *publics;
    pm_proof proof;
};

/* floor_ns is that of one thread. */
static void report(struct circuit *c, const char *what, double floor_ns, struct bench_row row) {
    row.log_n = c->key == NULL ? c->facts.log_n : c->key->proving_key.log_n;
    row.floor_ns = floor_ns / c->bench->threads;
    (void)snprintf(row.what, sizeof row.what, "%s", what);
    bench_report(c->bench, c->curve, row);
}

/* ---- Setup ----------------------------------------------------------------------------------- */

/* The points that are not at infinity, each a multiple of the generator. */
static double setup_floor_ns(const struct circuit *c) {
    const struct pm_fixed_base *fixed_base = pm_fixed_base_get(c->curve->id, c->bench->body);
    const struct synthetic_facts *facts = &c->facts;
    const uint64_t n_b = facts->n_in[SYNTHETIC_B] + 1;
    const uint64_t n_g1 =
        facts->n_in[SYNTHETIC_A] + 1 + n_b + facts->n_wires + (UINT64_C(1) << facts->log_n);
    const uint32_t bits = c->curve->fr->bits;
    return (floor_fixed_base(PM_MSM_G1, bits, fixed_base->window_bits(PM_MSM_G1, n_g1),
                             (double)n_g1) +
            floor_fixed_base(PM_MSM_G2, bits, fixed_base->window_bits(PM_MSM_G2, n_b),
                             (double)n_b)) *
           floor_limb_products(c->curve->fp->limbs) * c->bench->mulx_ns;
}

static void write_system(struct circuit *c) {
    pm_error error = PM_ERROR_INIT;
    const uint64_t start_ns = pm_clock_now_ns();
    bench_need(synthetic_write(&c->options, c->r1cs, c->wtns, &c->facts, &error), &error);
    struct bench_row row = {.part = "circuit",
                            .log_n = c->facts.log_n,
                            .threads = 1,
                            .n_runs = 1,
                            .ns = (double)(pm_clock_now_ns() - start_ns)};
    (void)snprintf(row.what, sizeof row.what, "write a %s system", c->bench->preset);
    bench_report(c->bench, c->curve, row);
}

static void op_set_up(void *argument) {
    struct circuit *c = argument;
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_setup_known_tau(c->context, c->r1cs, c->zkey, NULL, NULL, &error), &error);
}

static void set_up(struct circuit *c) {
    struct bench_row row = {.part = "setup"};
    bench_time(c->bench, op_set_up, c, 1, &row);
    report(c, "from known tau", setup_floor_ns(c), row);
}

/* ---- Prove ----------------------------------------------------------------------------------- */

/* Of one step of a proof; 0: not counted. *count says how. */
static double step_floor_ns(const struct circuit *c, enum pm_step_id step,
                            struct circuit_count *count) {
    const struct circuit_work work = {.curve = c->curve,
                                      .body = c->bench->body,
                                      .threads = c->bench->threads,
                                      .key = &c->key->proving_key,
                                      .values = c->witness->values};
    circuit_count_step(&work, step, count);
    return count->fr * bench_product_ns(c->bench, c->curve->fr->limbs) +
           count->fp * bench_product_ns(c->bench, c->curve->fp->limbs);
}

/* Keeps the least of two runs. */
static void keep_least(double *least, double value, uint32_t run) {
    *least = run == 0 || value < *least ? value : *least;
}

/* One proof more; its times go into rows, where they are less than those before: one row for each
 * step of the plan, and one for all of it behind them. Returns the number of steps. */
static uint32_t prove_once(struct circuit *c, pm_report *report, uint32_t run,
                           struct bench_row *rows) {
    pm_error error = PM_ERROR_INIT;
    const pm_prove_options options = {.struct_bytes = (uint32_t)sizeof options, .report = report};
    pm_prove_stats stats = {.struct_bytes = (uint32_t)sizeof stats};
    c->proof = (pm_proof){.struct_bytes = (uint32_t)sizeof c->proof};
    const uint64_t start_ns = pm_clock_cpu_ns();
    bench_need(pm_prove(c->context, c->key, c->witness, &options, NULL, &c->proof, &stats, &error),
               &error);
    const double cpu_ns = (double)(pm_clock_cpu_ns() - start_ns);
    const uint32_t n_steps = pm_report_plan(report)->plan.n_steps;
    for (uint32_t i = 0; i < n_steps; i++) {
        pm_measured_step step = {0};
        (void)pm_report_step(report, i, &step);
        keep_least(&rows[i].ns, (double)(step.end_ns - step.begin_ns), run);
        keep_least(&rows[i].cpu_ns, (double)step.cpu_ns, run);
    }
    keep_least(&rows[n_steps].ns, (double)stats.wall_ns, run);
    keep_least(&rows[n_steps].cpu_ns, cpu_ns, run);
    return n_steps;
}

static void prove(struct circuit *c) {
    struct bench_row rows[PM_PLAN_STEPS_MAX + 1] = {0};
    const uint32_t n_runs = c->bench->is_quick ? 2 : 5;
    uint32_t n_steps = 0;
    pm_report *measured = NULL;
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_report_create(&measured, &error), &error);
    for (uint32_t run = 0; run < n_runs; run++) {
        n_steps = prove_once(c, measured, run, rows);
    }
    double floor_ns = 0;
    for (uint32_t i = 0; i <= n_steps; i++) {
        char what[sizeof rows[i].what] = "all of it";
        double step_ns = floor_ns;
        if (i < n_steps) {
            const enum pm_step_id step = pm_report_plan(measured)->plan.steps[i].id;
            struct circuit_count count;
            step_ns = step_floor_ns(c, step, &count);
            floor_ns += step_ns;
            (void)snprintf(what, sizeof what, "%s", pm_step_name(step));
            rows[i].window_bits = count.window_bits;
            rows[i].n_in_buckets = count.n_in_buckets;
            rows[i].n_products = count.fr + count.fp;
        }
        rows[i].part = "prove";
        rows[i].n_runs = n_runs;
        report(c, what, step_ns, rows[i]);
    }
    pm_report_destroy(measured);
}

/* ---- Verify ---------------------------------------------------------------------------------- */

static void op_verify(void *argument) {
    struct circuit *c = argument;
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_verify(c->context, c->vk, c->publics, c->n_public, &c->proof, &error), &error);
}

static void verify(struct circuit *c) {
    struct bench_row row = {.part = "verify", .threads = 1};
    (void)snprintf(row.what, sizeof row.what, "%u public inputs", (unsigned)c->n_public);
    bench_time(c->bench, op_verify, c, 1, &row);
    bench_report(c->bench, c->curve, row);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void open_files(struct circuit *c) {
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_key_open(c->context, c->zkey, NULL, NULL, &c->key, &error), &error);
    bench_need(pm_witness_open(c->context, c->wtns, NULL, &c->witness, &error), &error);
    bench_need(pm_vk_from_key(c->context, c->key, &c->vk, &error), &error);
    c->n_public = c->key->proving_key.header.n_public;
    c->publics = bench_alloc(c->n_public + UINT64_C(1), PM_FR_BYTES);
    bench_need(pm_witness_values(c->witness, 1, c->n_public, c->publics), &error);
}

/* A synthetic system of the preset, in files of this run's own. */
static void make_files(struct circuit *c) {
    const struct bench *bench = c->bench;
    const uint32_t log_n = bench->log_n != 0 ? bench->log_n : bench->is_quick ? 13 : 17;
    c->options = (struct synthetic_options){.curve = c->curve->id, .seed = 1};
    (void)synthetic_preset(bench->preset, &c->options);
    synthetic_fill_domain(&c->options, log_n);
    (void)snprintf(c->r1cs, sizeof c->r1cs, "%s/bench.r1cs", bench->temporary);
    (void)snprintf(c->wtns, sizeof c->wtns, "%s/bench.wtns", bench->temporary);
    (void)snprintf(c->zkey, sizeof c->zkey, "%s/bench.zkey", bench->temporary);
    write_system(c);
    set_up(c);
}

/* Whether the key is one of this curve, or there is none. */
static bool is_wanted(const struct circuit *c) {
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    if (c->bench->key == NULL) {
        return true;
    }
    bench_need(pm_key_open(c->context, c->bench->key, NULL, NULL, &key, &error), &error);
    const bool is_ours = key->proving_key.header.curve == c->curve->id;
    pm_key_destroy(key);
    return is_ours;
}

void bench_circuit(struct bench *bench, const struct pm_curve *curve) {
    struct circuit c = {.bench = bench, .curve = curve};
    const pm_context_options context_options = {
        .struct_bytes = (uint32_t)sizeof context_options,
        .threads = bench->threads,
        .arithmetic = bench->body == PM_BODY_PORTABLE ? PM_ARITHMETIC_PORTABLE
                      : bench->body == PM_BODY_ADX    ? PM_ARITHMETIC_ADX
                                                      : PM_ARITHMETIC_IFMA};
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_context_create(&context_options, &c.context, &error), &error);
    if (is_wanted(&c)) {
        if (bench->key == NULL) {
            make_files(&c);
        } else {
            (void)snprintf(c.zkey, sizeof c.zkey, "%s", bench->key);
            (void)snprintf(c.wtns, sizeof c.wtns, "%s", bench->witness);
        }
        open_files(&c);
        prove(&c);
        verify(&c);
    }
    pm_memory_free(c.publics);
    pm_vk_destroy(c.vk);
    pm_witness_destroy(c.witness);
    pm_key_destroy(c.key);
    pm_context_destroy(c.context);
}
