/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/key_windows.h - how the CPU cuts the five sums up, and what scratch they take.
 *
 * A sum is one multiplication, unless the key is streamed: then its points are taken window by
 * window, so that the pages of a mapped key can be given back behind the reader. Each window costs
 * the reduction of its own buckets. Keys of the bellman reduction stand decoded in memory, where
 * windows would give nothing back: they are summed whole.
 *
 * Where B2's scalars are a compact copy but its points are not (snarkjs), a window of scalars at a
 * time is spread out again, in the beginning of the scratch.
 *
 * A function of sizes and choices alone, shared by the plan and by who carries it out.
 */
#ifndef PM_GROTH16_KEY_WINDOWS_H
#define PM_GROTH16_KEY_WINDOWS_H

#include "groth16/plan.h"

#include <stdint.h>

/* Bytes of points in a window of a streamed key. */
#define PM_KEY_WINDOW_BYTES (UINT64_C(16) << 20)
/* The most scalars that are spread out at once. */
#define PM_KEY_SPREAD_SCALARS (UINT64_C(1) << 17)

/* Scalars of an MSM step, and those that one multiplication takes: a multiple of 64, or all. The
 * choices are made. */
uint64_t pm_key_n_scalars(const struct pm_plan_sizes *sizes, const struct pm_plan_choices *choices,
                          enum pm_step_id step);
uint64_t pm_key_window_scalars(const struct pm_plan_sizes *sizes,
                               const struct pm_plan_choices *choices, enum pm_step_id step);
/* The scratch of an MSM step, the same in every body, and the part of it at the beginning, a
 * multiple of PM_BUFFER_ALIGNMENT, in which scalars are spread out. */
uint64_t pm_key_scratch_bytes(const struct pm_plan_sizes *sizes,
                              const struct pm_plan_choices *choices, enum pm_step_id step,
                              uint32_t threads);
uint64_t pm_key_spread_bytes(const struct pm_plan_sizes *sizes,
                             const struct pm_plan_choices *choices, enum pm_step_id step);

#endif
