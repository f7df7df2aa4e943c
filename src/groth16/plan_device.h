/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/plan_device.h - descriptions to plan for: the CPU, and a card that nobody has seen yet.
 */
#ifndef PM_GROTH16_PLAN_DEVICE_H
#define PM_GROTH16_PLAN_DEVICE_H

#include "groth16/plan.h"

/* The CPU with a team of so many threads: scratch as pm_key_scratch_bytes() says, no other memory.
 */
void pm_plan_device_cpu(uint32_t threads, struct pm_plan_device *device);

/*
 * A card of memory_bytes that computes everything itself and holds the matrices as poly/sparse.h
 * does. Estimates, to plan a purchase or a machine with; a card at hand describes itself.
 *
 *   an MSM       windows of 16 bits, PM_CARD_PIECE_POINTS points at a time: a digit and an index of
 *                4 bytes each a window and point, in and out of the sort, and a bucket array a
 *                window
 *   transforms   in place
 *   classes      two bits and an index of 4 bytes a variable
 *   key          points, matrices, densities, 2^(log_n - 1) twiddle factors; streamed: only the
 *                last two, and a window for the others
 */
#define PM_CARD_PIECE_POINTS (UINT64_C(1) << 22)
#define PM_CARD_WINDOW_BYTES (UINT64_C(512) << 20)
#define PM_CARD_STAGING_BYTES (UINT64_C(128) << 20)
void pm_plan_device_card(uint64_t memory_bytes, uint32_t threads, struct pm_plan_device *device);

#endif
