/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/plan_layout.h - the steps, buffers and curve that one set of choices comes to. */
#ifndef PM_GROTH16_PLAN_LAYOUT_H
#define PM_GROTH16_PLAN_LAYOUT_H

#include "groth16/plan.h"

/* plan->sizes and plan->choices are given, no choice being ANY and each one allowed; everything but
 * `why` is filled in. Errors: INVALID_ARGUMENT (the device asks for more than PM_PLAN_BYTES_MAX).
 */
pm_status pm_plan_lay_out(struct pm_plan *plan, const struct pm_plan_device *device,
                          pm_error *error);

#endif
