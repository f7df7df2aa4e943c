/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* api/api_device_costs.h - how long a proof takes here and there, to choose where it is made. */
#ifndef PM_API_API_DEVICE_COSTS_H
#define PM_API_API_DEVICE_COSTS_H

#include "base/cpu.h"
#include "groth16/plan.h"

#include <stdint.h>

/* Of one curve. A point is one of the domain's 2^log_n. */
struct pm_device_costs {
    uint64_t cpu_fixed_ns;                  /* wall time: assembly, self-verification */
    uint64_t cpu_ps_a_point[PM_BODY_COUNT]; /* processor time, of all threads together */
    uint64_t card_fixed_ns;                 /* wall time, the same and launches, small sums */
    uint64_t card_ps_a_point;
    uint64_t card_open_ns;       /* once a process */
    uint64_t card_ps_a_key_byte; /* once a key: it is brought to the card */
};

/* The measured ones. Never NULL for a curve that can be proved over. */
const struct pm_device_costs *pm_device_costs_of(pm_curve_id curve);

struct pm_device_estimate {
    uint64_t cpu_ns;
    uint64_t card_ns;                   /* with everything there */
    uint64_t card_open_ns, card_key_ns; /* before it can begin */
};

struct pm_device_estimate pm_device_estimate_costs(const struct pm_device_costs *costs,
                                                   const struct pm_plan_sizes *sizes,
                                                   uint32_t threads, enum pm_body body);

#endif
