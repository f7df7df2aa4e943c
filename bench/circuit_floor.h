/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* circuit_floor.h - the field multiplications of each step of a proof, counted from its key, its
 * witness and the plans that the steps make. */
#ifndef PM_BENCH_CIRCUIT_FLOOR_H
#define PM_BENCH_CIRCUIT_FLOOR_H

#include "bench.h"
#include "groth16/plan.h"
#include "groth16/proving_key.h"

struct circuit_work {
    const struct pm_curve *curve;
    enum pm_body body;
    uint32_t threads;
    const struct pm_proving_key *key;
    const uint8_t *values; /* of the witness, canonical; key->n_vars of them */
};

struct circuit_count {
    double fr, fp; /* multiplications in either field */
    /* Of a sum: the width of its windows, and how many scalars are neither 0 nor 1 nor -1 */
    uint32_t window_bits;
    uint64_t n_in_buckets;
};

/* All zero for a step of which nothing is counted. */
void circuit_count_step(const struct circuit_work *work, enum pm_step_id step,
                        struct circuit_count *count);

#endif
