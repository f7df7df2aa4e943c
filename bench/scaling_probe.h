/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * scaling_probe.h - what the machine gives to n threads at once, in what a proof is made of.
 *
 * Virtual processors may be two threads of one core, which share its multipliers, and all of them
 * share the memory. No program can gain more from them than these probes do.
 */
#ifndef PM_BENCH_SCALING_PROBE_H
#define PM_BENCH_SCALING_PROBE_H

#include "base/cpu.h"
#include "base/status.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/* Work without end or memory traffic: so many Montgomery products in the scalar field, none of
 * which waits for the one before it, as the body computes them. */
typedef void scaling_probe_function(uint64_t n_products);
/* NULL: no such body here. */
scaling_probe_function *scaling_probe_get(pm_curve_id curve, enum pm_body body);

/* All threads together. */
struct scaling_rates {
    double products_per_ns;
    double fresh_bytes_per_ns; /* made by the system when they are touched, 64 MiB a thread */
    double bytes_per_ns;       /* read and written, each thread in the same 64 MiB of its own */
};

/* Runs every probe once on all threads of the team, and keeps the better rates. Errors: NO_MEMORY.
 */
pm_status scaling_probe_run(struct pm_team *team, scaling_probe_function *products,
                            struct scaling_rates *best, pm_error *error);

#endif
