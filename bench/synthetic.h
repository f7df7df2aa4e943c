/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * synthetic.h - constraint systems and witnesses of any size, for benchmarks.
 *
 * Every wire gets its value first, from a hash of the seed and its number; then rows are drawn
 * whose last coefficient of C is what makes them hold. So a system is satisfiable by construction,
 * has exactly the proportions asked for, and needs one byte a wire of memory while it is written.
 *
 * Three kinds of rows, as compilers make them:
 *   boolean  (1 - w) w = 0
 *   linear   0 = C, at least two terms
 *   product  A B = C, at least one term each
 * Lengths of the linear and product rows follow a distribution with a long tail (up to 256 terms).
 * The wires of a matrix come up one after another as the rows go on, each at least once; the other
 * terms are mostly of nearby wires and now and then of any wire. Coefficients are 1, -1, 2, -2, 4,
 * ... along a row, or full-size in a share of the rows. No row and no column is there twice.
 */
#ifndef PM_BENCH_SYNTHETIC_H
#define PM_BENCH_SYNTHETIC_H

#include "base/status.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

enum synthetic_matrix { SYNTHETIC_A = 0, SYNTHETIC_B = 1, SYNTHETIC_C = 2, SYNTHETIC_MATRICES = 3 };

/* What a value may be. Small ones have 2 to 64 bits. */
enum synthetic_value {
    SYNTHETIC_ZERO = 0,
    SYNTHETIC_ONE = 1,
    SYNTHETIC_SMALL = 2,
    SYNTHETIC_FULL = 3,
    SYNTHETIC_VALUES = 4
};

/* Shares are of 1. Wires do not count the constant one, terms do. */
struct synthetic_options {
    pm_curve_id curve;
    uint64_t seed;
    uint64_t n_rows;
    uint32_t n_public;    /* without the constant one */
    double wires_per_row; /* the constant one apart */
    double values[SYNTHETIC_VALUES];
    double terms_per_row[SYNTHETIC_MATRICES];
    double density[SYNTHETIC_MATRICES];  /* of the wires: those that the matrix uses */
    double constant[SYNTHETIC_MATRICES]; /* of the terms that do not bring up a wire: constants */
    double boolean_rows, linear_rows;
    double full_rows; /* of the rows that are not boolean: those with full-size coefficients */
};

/* What has been written. */
struct synthetic_facts {
    uint32_t log_n;           /* of the domain that rows, public wires and the constant one need */
    uint64_t n_rows, n_wires; /* with the constant one */
    uint64_t n_boolean, n_linear;
    uint64_t n_values[SYNTHETIC_VALUES];  /* without the constant one */
    uint64_t n_terms[SYNTHETIC_MATRICES]; /* with constants */
    uint64_t n_in[SYNTHETIC_MATRICES];    /* wires that the matrix uses, the constant one apart */
};

/* "porep" (32 GiB PoRep of Filecoin), "sha256" (bits), "rollup" (Poseidon and signatures),
 * "uniform" (full-size values). Everything but curve, seed and n_rows is set. False: no such
 * preset. */
bool synthetic_preset(const char *name, struct synthetic_options *options);
/* Sets n_rows so that the system fills a domain of 2^log_n, 4 <= log_n <= 31, and takes back
 * n_public where the domain is too small for it. */
void synthetic_fill_domain(struct synthetic_options *options, uint32_t log_n);

/* Writes both files; neither is left behind on failure. facts may be NULL. Errors:
 * INVALID_ARGUMENT (shares that no system has), CURVE, IO, NO_MEMORY. */
pm_status synthetic_write(const struct synthetic_options *options, const char *r1cs_path,
                          const char *wtns_path, struct synthetic_facts *facts, pm_error *error);

#endif
