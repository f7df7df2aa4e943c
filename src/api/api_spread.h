/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * api/api_spread.h - one proof on several devices of a context: which take part, and their plans.
 *
 * The device that was chosen for the proof makes it; of the others, those on which no proof waits
 * may make sums over w beside it (groth16/plan_share.h). Who cannot, because its share does not fit
 * or it has failed, is left out, and the shares are cut anew for the rest. All plans are there
 * before a byte is allocated.
 */
#ifndef PM_API_API_SPREAD_H
#define PM_API_API_SPREAD_H

#include "api/api_devices.h"
#include "groth16/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct pm_key;

/* A proof, or a plan for one, that looks for further devices. */
struct pm_spread_wish {
    struct pm_key *key; /* NULL: there is none, only sizes */
    const struct pm_plan_sizes *sizes;
    const struct pm_plan_choices *choices; /* as for one device */
    uint32_t threads;
    uint32_t excluded; /* bit i: not device i of the context */
    bool is_plan;      /* no queue is joined, and nobody waited for */
    bool keys_may_go;  /* as in pm_device_keys */
    const pm_control *control;
};

struct pm_spread {
    uint32_t n; /* devices: two at least */
    bool is_plan;
    struct pm_device *device[PM_DEVICES_MAX]; /* the first makes the proof */
    struct pm_plan plan[PM_DEVICES_MAX];
};

/* *spread is NULL if nobody takes part beside the chosen device, or if its own plan fails: then the
 * proof is planned as for one. choice->why says who takes part, and of one that does not, why not.
 * Further devices have been joined, unless it is only a plan. Errors: NO_MEMORY. */
pm_status pm_spread_create(const struct pm_devices *devices, const struct pm_spread_wish *wish,
                           struct pm_device_choice *choice, struct pm_spread **spread,
                           pm_error *error);
/* leaves: the further devices are left, else somebody else does that. NULL is fine. */
void pm_spread_destroy(struct pm_spread *spread, bool leaves);
/* The place of one among the context's devices, for `excluded`. */
uint32_t pm_spread_bit(const struct pm_devices *devices, const struct pm_device *device);
/* That a device takes no part, in the log and in choice->why. */
void pm_spread_tell(const char *device_name, const pm_error *because, const pm_control *control,
                    struct pm_device_choice *choice);

#endif
