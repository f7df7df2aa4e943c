/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A whole circuit: a synthetic system is written, set up from known secrets, proved and verified,
 * through the public interface. Files were written just before, so they are in the page cache. */
#include "bench.h"
#include "floors.h"
#include "synthetic.h"

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
    uint8_t *publics;
    pm_proof proof;
};

/* floor_ns is that of one thread. */
static void report(struct circuit *c, const char *what, double floor_ns, struct bench_row row) {
    row.log_n = c->facts.log_n;
    row.floor_ns = floor_ns / c->bench->threads;
    (void)snprintf(row.what, sizeof row.what, "%s", what);
    bench_report(c->bench, c->curve, row);
}

static double fp_ns(const struct circuit *c) {
    return floor_limb_products(c->curve->fp->limbs) * c->bench->mulx_ns;
}

static double fr_ns(const struct circuit *c) {
    return floor_limb_products(c->curve->fr->limbs) * c->bench->mulx_ns;
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
           fp_ns(c);
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

/* A sum over the wires of one query, of which n_points are not at infinity. Wires of every kind of
 * value are spread evenly over the matrices. */
static double query_floor_ns(const struct circuit *c, enum pm_msm_group group, double n_points) {
    const struct synthetic_facts *facts = &c->facts;
    const double share = n_points / (double)(facts->n_wires - 1);
    const double n_full = share * (double)facts->n_values[SYNTHETIC_FULL],
                 n_small = share * (double)facts->n_values[SYNTHETIC_SMALL],
                 n_ones = share * (double)facts->n_values[SYNTHETIC_ONE];
    return floor_msm(group, c->curve->fr->bits, n_full, n_small, n_ones) * fp_ns(c);
}

/* Of one phase of a proof, by the name in its statistics; 0: not counted. */
static double phase_floor_ns(const struct circuit *c, const char *name) {
    const struct synthetic_facts *facts = &c->facts;
    const uint32_t log_n = facts->log_n;
    const double n = (double)(UINT64_C(1) << log_n);
    if (strcmp(name, "matrix products") == 0) { /* each term once, and c = a b */
        return (double)(facts->n_terms[SYNTHETIC_A] + facts->n_terms[SYNTHETIC_B]) * fr_ns(c);
    }
    if (strcmp(name, "quotient") == 0) { /* a, b, c = a b to the coset; a b - c */
        return (3 * floor_to_coset(log_n) + 2 * n) * fr_ns(c);
    }
    if (strcmp(name, "msm h") == 0) {
        return floor_msm(PM_MSM_G1, c->curve->fr->bits, n, 0, 0) * fp_ns(c);
    }
    if (strcmp(name, "msm a") == 0) {
        return query_floor_ns(c, PM_MSM_G1, (double)facts->n_in[SYNTHETIC_A]);
    }
    if (strcmp(name, "msm b1") == 0) {
        return query_floor_ns(c, PM_MSM_G1, (double)facts->n_in[SYNTHETIC_B]);
    }
    if (strcmp(name, "msm b2") == 0) {
        return query_floor_ns(c, PM_MSM_G2, (double)facts->n_in[SYNTHETIC_B]);
    }
    if (strcmp(name, "msm c") == 0) {
        return query_floor_ns(c, PM_MSM_G1, (double)(facts->n_wires - 1 - c->options.n_public));
    }
    return 0;
}

static void prove(struct circuit *c) {
    pm_error error = PM_ERROR_INIT;
    pm_prove_stats best = {.wall_ns = UINT64_MAX};
    struct bench_row row = {.part = "prove", .n_runs = c->bench->is_quick ? 2 : 3};
    double best_cpu_ns = 0;
    for (uint32_t run = 0; run < row.n_runs; run++) {
        pm_prove_stats stats = {.struct_bytes = (uint32_t)sizeof stats};
        c->proof = (pm_proof){.struct_bytes = (uint32_t)sizeof c->proof};
        const uint64_t start_ns = bench_cpu_now_ns();
        bench_need(pm_prove(c->context, c->key, c->witness, NULL, NULL, &c->proof, &stats, &error),
                   &error);
        const double cpu_ns = (double)(bench_cpu_now_ns() - start_ns);
        best_cpu_ns = run == 0 || cpu_ns < best_cpu_ns ? cpu_ns : best_cpu_ns;
        best = stats.wall_ns < best.wall_ns ? stats : best;
    }
    double floor_ns = 0;
    for (uint32_t i = 0; i < best.n_phases; i++) {
        const double phase_ns = phase_floor_ns(c, best.phases[i].name);
        floor_ns += phase_ns;
        row.ns = (double)best.phases[i].wall_ns;
        report(c, best.phases[i].name, phase_ns, row);
    }
    row.ns = (double)best.wall_ns;
    row.cpu_ns = best_cpu_ns;
    report(c, "all of it", floor_ns, row);
}

/* ---- Verify ---------------------------------------------------------------------------------- */

static void op_verify(void *argument) {
    struct circuit *c = argument;
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_verify(c->context, c->vk, c->publics, c->options.n_public, &c->proof, &error),
               &error);
}

static void verify(struct circuit *c) {
    struct bench_row row = {.part = "verify", .threads = 1};
    (void)snprintf(row.what, sizeof row.what, "%u public inputs", (unsigned)c->options.n_public);
    bench_time(c->bench, op_verify, c, 1, &row);
    bench_report(c->bench, c->curve, row);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void open_files(struct circuit *c) {
    pm_error error = PM_ERROR_INIT;
    const uint32_t n_public = c->options.n_public;
    bench_need(pm_key_open(c->context, c->zkey, NULL, NULL, &c->key, &error), &error);
    bench_need(pm_witness_open(c->context, c->wtns, NULL, &c->witness, &error), &error);
    bench_need(pm_vk_from_key(c->context, c->key, &c->vk, &error), &error);
    c->publics = bench_alloc(n_public, PM_FR_BYTES);
    bench_need(pm_witness_values(c->witness, 1, n_public, c->publics), &error);
}

void bench_circuit(struct bench *bench, const struct pm_curve *curve) {
    struct circuit c = {.bench = bench, .curve = curve};
    const uint32_t log_n = bench->log_n != 0 ? bench->log_n : bench->is_quick ? 13 : 17;
    c.options = (struct synthetic_options){.curve = curve->id, .seed = 1};
    (void)synthetic_preset(bench->preset, &c.options);
    synthetic_fill_domain(&c.options, log_n);
    (void)snprintf(c.r1cs, sizeof c.r1cs, "%s/bench.r1cs", bench->temporary);
    (void)snprintf(c.wtns, sizeof c.wtns, "%s/bench.wtns", bench->temporary);
    (void)snprintf(c.zkey, sizeof c.zkey, "%s/bench.zkey", bench->temporary);
    const pm_context_options context_options = {
        .struct_bytes = (uint32_t)sizeof context_options,
        .threads = bench->threads,
        .arithmetic = bench->body == PM_BODY_ADX ? PM_ARITHMETIC_ADX : PM_ARITHMETIC_PORTABLE};
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_context_create(&context_options, &c.context, &error), &error);
    write_system(&c);
    set_up(&c);
    open_files(&c);
    prove(&c);
    verify(&c);
    pm_memory_free(c.publics);
    pm_vk_destroy(c.vk);
    pm_witness_destroy(c.witness);
    pm_key_destroy(c.key);
    pm_context_destroy(c.context);
}
