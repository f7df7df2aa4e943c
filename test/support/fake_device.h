/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/fake_device.h - a device that is not there: host memory that only it may touch.
 *
 * It has a pool, a byte limit, a lock and latency of its own, and computes with the CPU's step
 * functions on its own buffers. Its memory is poisoned when it comes, and cannot be read or written
 * but while it computes: a step of the CPU that looks at it, a device step that looks at the
 * caller's arrays after they were loaded, or anybody who computes without the lock, is found out.
 * On demand its allocations and steps fail, and its sums are wrong.
 */
#ifndef PM_TEST_SUPPORT_FAKE_DEVICE_H
#define PM_TEST_SUPPORT_FAKE_DEVICE_H

#include "groth16/backend.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FAKE_DEVICE_BLOCKS_MAX 1024
#define FAKE_DEVICE_STAGING_BYTES 65536

enum fake_wrong {
    FAKE_RIGHT,
    FAKE_FLIPS_A_BIT,  /* of a sum: no point of the curve any more */
    FAKE_DOUBLES_A_SUM /* a good point, but not the right one */
};

struct fake_block {
    uint8_t *pages; /* NULL: a free entry */
    uint64_t bytes, mapped_bytes;
    uint32_t pool;
};

struct fake_device {
    struct pm_backend backend; /* first: the functions get a pointer to it */
    /* Set before proofs are made. */
    bool b2_on_device;
    bool classifies;
    uint64_t limit_bytes; /* of its memory; UINT64_MAX: none */
    uint64_t latency_ns;  /* of each step */
    /* Faults; may be set at any time between proofs. */
    uint64_t fail_allocation_at; /* the n-th from now, from 1; 0: none */
    enum pm_step_id fail_step;   /* PM_STEP_IDS: none */
    bool fails_late;             /* the step succeeds, and synchronise reports it */
    bool fails_to_lock;
    enum fake_wrong wrong;
    enum pm_step_id wrong_step; /* a step that writes a sum */

    /* Its own, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t unlocked;
    bool is_locked;
    pthread_t owner;
    bool has_late_fault;
    struct fake_block blocks[FAKE_DEVICE_BLOCKS_MAX];
    /* What it saw. */
    uint64_t live_bytes[PM_POOLS_MAX], peak_bytes[PM_POOLS_MAX];
    uint64_t keys_bytes; /* of what lives */
    uint64_t n_allocations, n_releases, n_locks, n_unlocks, n_steps, n_keys_opened, n_keys_closed;
    uint64_t n_violations; /* of the rules above that are no crash */
};

/* b2_on_device false: the CPU sums B2. Nothing fails until told so. */
void fake_device_init(struct fake_device *device, bool b2_on_device);
/* Fails the running test if anything is left on it or any rule was broken. */
void fake_device_close(struct fake_device *device);
/* Makes everything right again and forgets counts, but not what is allocated. */
void fake_device_heal(struct fake_device *device);

#endif
