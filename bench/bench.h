/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * bench.h - what the parts of proofmill-bench share: what is asked for, the clock, the report.
 *
 * A time is the least of several runs, which follow one another, so that whatever fits a cache is
 * there. A floor is the time that the counted field multiplications take if nothing limits them but
 * the multiplier, on every thread at once; doc/performance.md says what is counted.
 */
#ifndef PM_BENCH_BENCH_H
#define PM_BENCH_BENCH_H

#include "base/cpu.h"
#include "curve/curve.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

struct bench_row {
    const char *part;
    char what[48];
    const char *curve, *body;
    uint32_t log_n; /* 0: has no size */
    uint32_t threads, n_runs;
    double ns, floor_ns; /* floor_ns 0: none is counted */
    double cpu_ns;       /* of all threads together; 0: not measured */
    /* How the floor of a step of a proof was counted; 0: not of one. */
    double n_products;
    uint32_t window_bits;
    uint64_t n_in_buckets;
};

struct bench {
    pm_curve_id curve; /* PM_CURVE_NONE: both */
    enum pm_body body;
    uint32_t threads, log_n;   /* log_n 0: each part's own */
    const char *only;          /* the one part that is wanted, or NULL */
    const char *preset;        /* of the synthetic system */
    const char *key, *witness; /* a circuit's own files instead of a synthetic system, or NULL */
    bool is_quick;
    const char *temporary; /* a directory of this run's own */

    double mulx_ns;       /* of one 64 x 64 bit multiplication; 0 where it cannot be probed */
    double madd52_ns;     /* of one 52-bit multiply-add of eight lanes; likewise */
    struct pm_team *team; /* of `threads` */
    struct bench_row *rows;
    size_t n_rows;
};

/* A part measures one curve and reports its rows. It ends the program when memory or a thread is
 * missing, since a table with holes would say something wrong. */
typedef void bench_part(struct bench *bench, const struct pm_curve *curve);
bench_part bench_field, bench_curve, bench_pairing, bench_ntt, bench_msm, bench_fixed_base,
    bench_params, bench_circuit;

/* Sets the row's ns, cpu_ns and n_runs: the least times of one call of work, over at least two runs
 * of `repeat` calls and until enough time has gone by. */
typedef void bench_work(void *argument);
void bench_time(const struct bench *bench, bench_work *work, void *argument, uint32_t repeat,
                struct bench_row *row);
/* The least time of a Montgomery product of n words, by the multiplier that the body is made for;
 * 0 where it cannot be probed. */
double bench_product_ns(const struct bench *bench, uint32_t n_limbs);

/* Prints a row and keeps it for the JSON; body, threads (0: those of the run) and curve are filled
 * in. */
void bench_report(struct bench *bench, const struct pm_curve *curve, struct bench_row row);
/* Ends the program unless status is PM_OK. */
void bench_need(pm_status status, const pm_error *error);
/* Memory that is there or ends the program; to be freed with pm_memory_free(). */
void *bench_alloc(uint64_t n, uint64_t element_bytes);

void bench_print_heading(const struct bench *bench);
/* False: the file could not be written. */
bool bench_write_json(const struct bench *bench, const char *path);

/* n canonical scalars below both orders, all of them different. */
void bench_random_scalars(void *scalars, uint64_t n, uint64_t seed);

#endif
