/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/backend.h - what computes the steps of a plan.
 *
 * A backend is the CPU, or one device with memory, streams and a lock of its own. It never decides:
 * which buffers there are, how large and how long, says the plan; the executor (groth16/execute.h)
 * asks the backend to allocate and to release them, and calls one function a step with all of them
 * at hand. A step function allocates nothing and keeps no pointer.
 *
 * Bytes in a backend's buffers are its own business; what crosses this line is fixed:
 *   lent scalars and vectors   32-byte scalars as the assignment says
 *   sums                       Jacobian points on the host (curve/curve.h)
 */
#ifndef PM_GROTH16_BACKEND_H
#define PM_GROTH16_BACKEND_H

#include "base/control.h"
#include "base/ledger.h"
#include "curve/curve.h"
#include "groth16/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_backend;
struct pm_proving_key;

/* The five sums of a proof; each is written by one step. They are secrets. */
struct pm_sums {
    struct pm_group_point h, a, b1, l, b2;
};

/* Everything a step may look at. */
struct pm_step_data {
    const struct pm_plan *plan;
    const struct pm_proving_key *proving_key;
    void *resident; /* what open_key() gave; NULL for a backend that needs none */
    /* By enum pm_buffer_id; NULL where the plan has none or it does not live now. Those of
     * PM_POOL_CALLER are read only. */
    void *buffer[PM_BUFFER_IDS];
    uint64_t n_vector_rows; /* elements of the lent a, b, c */
    struct pm_sums *sums;
    struct pm_team *team; /* of the context the proof runs on, */
    enum pm_body body;    /* and its arithmetic */
    const pm_control *control;
};

typedef pm_status pm_step_function(struct pm_backend *backend, const struct pm_step_data *data,
                                   pm_error *error);

struct pm_backend_table {
    const char *kind; /* "cpu", "cuda", "fake" */
    /* Fills in the description that plans are made for, but for there_bytes; team is the CPU's
     * part. */
    void (*describe)(const struct pm_backend *backend, struct pm_team *team,
                     struct pm_plan_device *device);
    /* UNSUPPORTED with the reason when it cannot prove with this key. */
    pm_status (*can_run)(const struct pm_backend *backend, const struct pm_plan_sizes *sizes,
                         pm_error *error);
    /* What stays on the device with a key. Counted in ledger. NULL where there is nothing. */
    pm_status (*open_key)(struct pm_backend *backend, const struct pm_proving_key *key,
                          const struct pm_plan *plan, struct pm_ledger *ledger,
                          const pm_control *control, void **resident, pm_error *error);
    void (*close_key)(struct pm_backend *backend, void *resident);
    /* Whether it takes no more work in this process: asked after an error DEVICE. NULL: after one,
     * it does not. */
    bool (*is_lost)(struct pm_backend *backend);
    /* Page-locked memory that stays with the device, as it is now. NULL: none does. */
    uint64_t (*staging_bytes)(struct pm_backend *backend);
    /* One proof at a time computes on a device. NULL for the CPU, whose team takes several callers.
     * plan: of the proof that asks, so that what both proofs hold fits; NULL: it holds nothing.
     * Errors: CANCELLED, DEADLINE, NO_MEMORY, DEVICE (the device is marked bad). */
    pm_status (*lock)(struct pm_backend *backend, const struct pm_plan *plan,
                      const pm_control *control, pm_error *error);
    void (*unlock)(struct pm_backend *backend);
    /* The one that is next: it may use the device in steps that run beside the proof that holds it,
     * and gives its place up once it holds it itself. NULL where plans have no such steps. Errors:
     * as of lock. */
    pm_status (*lock_beside)(struct pm_backend *backend, const struct pm_plan *plan,
                             const pm_control *control, pm_error *error);
    void (*unlock_beside)(struct pm_backend *backend);
    /* A buffer of the plan in a pool of this backend (host buffers go through base/memory.h, so
     * that a backend sees only its own pools). It enters note in ledger; release takes it off, with
     * note's step and lock. Secret buffers are wiped before they are released. */
    pm_status (*allocate)(struct pm_backend *backend, struct pm_ledger *ledger,
                          const struct pm_ledger_note *note, uint64_t bytes, bool secret,
                          void **buffer, pm_error *error);
    void (*release)(struct pm_backend *backend, struct pm_ledger *ledger,
                    const struct pm_ledger_note *note, void *buffer);
    /* Waits until the device has done what was asked of it and reports what went wrong since. */
    pm_status (*synchronise)(struct pm_backend *backend, pm_error *error);
    /* NULL: the step is the CPU's, also when the plan is for this device. */
    pm_step_function *step[PM_STEP_IDS];
};

struct pm_backend {
    const struct pm_backend_table *table;
    uint32_t pool; /* PM_POOL_HOST, or its VRAM */
};

/* The CPU: no state, runs on the team of the data. Never NULL. */
struct pm_backend *pm_backend_cpu(void);

#endif
