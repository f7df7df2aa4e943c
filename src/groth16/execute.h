/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/execute.h - runs a plan: allocates, computes, releases, step by step.
 *
 *   for each step:  buffers whose first step it is are allocated
 *                   the backend computes
 *                   buffers whose last step it is are released, lent arrays given back,
 *                   the reservation shrinks to what the remaining steps need
 *
 * Every allocation and release is in the ledger with its line of the plan. Lent arrays and the
 * pending handle, which the caller holds, are entered and taken off without being touched; what is
 * resident with the key is not entered. During each step the ledger's live bytes are compared with
 * what the plan says; a difference is a divergence: it fails the proof where `strict` says so and
 * is counted otherwise.
 *
 * A step that runs beside the proof that holds the device takes the place of the next one, which is
 * given up when the lock has been taken: so there is never more than one proof between the two. The
 * device lock is held through consecutive steps that want it, and by nobody who returns from
 * here. Buffers outside it are allocated before it is taken and released after it is given back,
 * unless their turn comes between two such steps.
 */
#ifndef PM_GROTH16_EXECUTE_H
#define PM_GROTH16_EXECUTE_H

#include "base/budget.h"
#include "groth16/backend.h"
#include "groth16/plan.h"

/* One step as it was. */
struct pm_step_record {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end 0: not run, or it failed */
    uint64_t cpu_ns;           /* processor time of all threads of the process meanwhile */
    uint64_t lock_wait_ns;
    uint64_t live_bytes[2]; /* measured at its end, before releases: host, device pool */
};

/* Bit `id` says: buffer `id` of enum pm_buffer_id. */
_Static_assert(PM_BUFFER_IDS <= 64, "a mask has a bit for each buffer");

/* Called when the last step that reads a lent array has ended, or the proof is given up. Once for
 * each array. The device lock may be held, so it must not wait for another proof. */
typedef void pm_release_function(void *user, enum pm_buffer_id which);

/* Asked before each step: not PM_OK, with its error, when the execution is to fail. Does not wait.
 */
typedef pm_status pm_watch_function(void *user, pm_error *error);

struct pm_execution {
    /* The caller's, until the end. */
    struct pm_plan plan;
    struct pm_backend *backend;
    struct pm_step_data data; /* lent arrays are in data.buffer */
    pm_release_function *release;
    void *release_user;
    pm_watch_function *watch; /* NULL: nothing but the control stops it */
    void *watch_user;
    /* What steps of the CPU see where data.proving_key is a device's share of it; NULL: that. */
    const struct pm_proving_key *whole_key;
    struct pm_reservation reservation;
    bool strict;
    /* Its own. */
    struct pm_ledger ledger; /* with a log, if the caller gave it room */
    struct pm_sums sums;
    struct pm_step_record records[PM_PLAN_STEPS_MAX];
    uint32_t next_step;
    uint32_t n_divergences;
    bool lock_held, beside_held;
    uint64_t lock_taken_ns, lock_left_ns; /* CLOCK_MONOTONIC: the first time, the last; 0: never */
    uint64_t held_mask;                   /* buffers that stand in the ledger now */
    uint64_t returned_mask;               /* lent arrays that have been given back */
    pm_status failed;                     /* of the step that failed; nothing more runs */
};

/* Runs the steps from next_step up to, not including, `until`. After a failure everything that the
 * execution holds has been given back, wiped, as by pm_execution_end(). */
pm_status pm_execution_run(struct pm_execution *execution, uint32_t until, pm_error *error);

/* What a step of the caller does: assembly and self-verification need what no backend knows. */
typedef pm_status pm_execution_function(void *argument, struct pm_execution *execution,
                                        pm_error *error);
/* Runs the one step next_step like pm_execution_run(), but function computes it. */
pm_status pm_execution_run_step(struct pm_execution *execution, pm_execution_function *function,
                                void *argument, pm_error *error);
/* Nothing more runs afterwards. Gives back what is still held: buffers, lent arrays, device lock,
 * reservation; wipes the sums. Idempotent. */
void pm_execution_end(struct pm_execution *execution);

#endif
