/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/fake_gpu.h - a struct pm_gpu_api without a card: it computes with the CPU's library.
 *
 * Its device memory is host memory that is poisoned when it comes and that nobody can touch but a
 * call of the table, for as long as it runs. What goes up from page-locked memory goes up late, as
 * on a card: when its stream is waited for, or does something else. Every pointer that a call gets
 * must lie, with all of its bytes, in a block of the device, and every block that it reads must
 * have been written or uploaded by streams that the caller put in order; breaches are counted.
 *
 * One device, or as many as are asked for, for all that open them; each opening has a pool of its
 * own, which keeps what it has got until it is closed. No call for one device may be given memory
 * of another. On demand the devices are small, the allocations and calls of one of them fail, it
 * goes bad for good, and sums are wrong.
 */
#ifndef PM_TEST_SUPPORT_FAKE_GPU_H
#define PM_TEST_SUPPORT_FAKE_GPU_H

#include "gpu/gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_gpu_wrong { FAKE_GPU_RIGHT, FAKE_GPU_FLIPS_A_BIT, FAKE_GPU_DOUBLES_A_SUM };

#define FAKE_GPUS_MAX 4

struct fake_gpu {
    uint32_t n_devices;      /* 0: one; set before any is opened */
    uint32_t failing_device; /* whose allocations and calls fail, and whose memory others take */
    /* Set at any time between proofs; 0: nothing of the kind. */
    uint64_t total_bytes;        /* UINT64_MAX / 2: any number */
    uint64_t taken_bytes;        /* by another process */
    uint64_t fail_allocation_at; /* the n-th from now, from 1 */
    uint64_t fail_call_at;       /* the n-th call that can fail, from 1: a DEVICE error once */
    uint64_t take_at_call;       /* from the n-th call on others have all that is not in use */
    bool goes_bad;               /* and the failing call marks the device bad, until it is healed */
    bool goes_bad_silently;      /* all calls fail then, but it is not said to be bad */
    enum fake_gpu_wrong wrong;
    uint64_t wrong_sum; /* which of the sums from now on, from 1 */
    /* What it saw. */
    uint64_t n_violations, n_calls, n_sums, n_packed_scalars;
    uint64_t n_allocations, n_releases, n_streams, n_events, n_closed, n_pinned_questions;
    uint64_t n_calls_on[FAKE_GPUS_MAX], n_sums_on[FAKE_GPUS_MAX];
    uint64_t live_on[FAKE_GPUS_MAX]; /* of device memory */
    uint64_t live_bytes[PM_GPU_MECHANISMS], peak_bytes[PM_GPU_MECHANISMS];
    bool is_locked, is_bad;
};

extern struct fake_gpu fake_gpu;

const struct pm_gpu_api *fake_gpu_api(void);
/* Scalars that have been expanded since the last fake_gpu_heal(). */
uint64_t fake_gpu_n_packed(void);
/* Whether a block of the device, or page-locked memory, has these bytes anywhere in it. */
bool fake_gpu_holds(const void *bytes, size_t n_bytes);
/* Nothing fails any more; counts but for those of what is held begin anew. */
void fake_gpu_heal(void);
/* Fails the running test if anything is left on it or any rule was broken. */
void fake_gpu_expect_tidy(void);

#endif
