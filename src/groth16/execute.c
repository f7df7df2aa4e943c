/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/execute.h"

#include "base/clock.h"
#include "base/memory.h"
#include "par/bulk.h"

#define BIT(id) (UINT64_C(1) << (id))

/* ---- Buffers ----------------------------------------------------------------------------------
 */

/* What the caller holds: it stands in the ledger, but is not ours to allocate. */
static bool is_lent(const struct pm_plan_buffer *buffer) {
    return buffer->pool == PM_POOL_CALLER || buffer->id == PM_BUFFER_PENDING ||
           buffer->id == PM_BUFFER_DENSITIES;
}

static struct pm_ledger_note note_of(const struct pm_execution *execution, uint32_t index,
                                     uint32_t line) {
    const struct pm_plan_buffer *buffer = &execution->plan.buffers[index];
    return (struct pm_ledger_note){.name = pm_buffer_name(buffer->id),
                                   .file = __FILE__,
                                   .line = line,
                                   .plan_line = (uint16_t)index,
                                   .step = (uint16_t)execution->next_step,
                                   .pool = (uint8_t)buffer->pool,
                                   .mechanism = (uint8_t)buffer->mechanism,
                                   .in_device_lock = execution->lock_held};
}

static pm_status allocate(struct pm_execution *execution, uint32_t index, pm_error *error) {
    const struct pm_plan_buffer *buffer = &execution->plan.buffers[index];
    const struct pm_ledger_note note = note_of(execution, index, __LINE__);
    void **out = &execution->data.buffer[buffer->id];
    if (is_lent(buffer)) {
        pm_ledger_allocated(&execution->ledger, &note, buffer->bytes);
    } else if (buffer->pool == PM_POOL_HOST) {
        PM_TRY(pm_memory_alloc_noted(&execution->ledger, &note, buffer->bytes,
                                     buffer->secret ? PM_MEMORY_SECRET : PM_MEMORY_PLAIN, out,
                                     error));
    } else {
        PM_TRY(execution->backend->table->allocate(execution->backend, &execution->ledger, &note,
                                                   buffer->bytes, buffer->secret, out, error));
    }
    execution->held_mask |= BIT(buffer->id);
    return PM_OK;
}

/* Tells the owner of a lent array that nobody reads it any more. */
static void give_back(struct pm_execution *execution, enum pm_buffer_id id) {
    const bool is_there = execution->data.buffer[id] != NULL;
    if (is_there && (execution->returned_mask & BIT(id)) == 0) {
        execution->returned_mask |= BIT(id);
        execution->data.buffer[id] = NULL;
        if (execution->release != NULL) {
            execution->release(execution->release_user, id);
        }
    }
}

static void free_host_buffer(const struct pm_execution *execution,
                             const struct pm_plan_buffer *buffer, void *held,
                             const struct pm_ledger_note *note) {
    if (buffer->secret) {
        pm_team_wipe(execution->data.team, held);
    }
    pm_memory_free_noted(held, note->step, note->in_device_lock);
}

static void release(struct pm_execution *execution, uint32_t index) {
    const struct pm_plan_buffer *buffer = &execution->plan.buffers[index];
    const struct pm_ledger_note note = note_of(execution, index, __LINE__);
    void *held = execution->data.buffer[buffer->id];
    if ((execution->held_mask & BIT(buffer->id)) == 0) {
        return;
    }
    execution->held_mask &= ~BIT(buffer->id);
    if (is_lent(buffer)) {
        pm_ledger_released(&execution->ledger, &note, buffer->bytes);
        if (buffer->pool == PM_POOL_CALLER) {
            give_back(execution, buffer->id);
        }
        return;
    }
    execution->data.buffer[buffer->id] = NULL;
    if (buffer->pool == PM_POOL_HOST) {
        free_host_buffer(execution, buffer, held, &note);
    } else {
        execution->backend->table->release(execution->backend, &execution->ledger, &note, held);
    }
}

/* Buffers whose first step the next one is, inside the device lock or outside it. */
static pm_status allocate_for_step(struct pm_execution *execution, bool in_device_lock,
                                   pm_error *error) {
    for (uint32_t i = 0; i < execution->plan.n_buffers; ++i) {
        const struct pm_plan_buffer *buffer = &execution->plan.buffers[i];
        if (buffer->first_step == execution->next_step &&
            buffer->lifetime != PM_LIFETIME_RESIDENT && buffer->in_device_lock == in_device_lock) {
            PM_TRY(allocate(execution, i, error));
        }
    }
    return PM_OK;
}

/* Whether it goes while the lock is held: memory of the device is there again for the next proof as
 * soon as that has it, even if this one had it before. */
static bool goes_inside(const struct pm_execution *execution, const struct pm_plan_buffer *buffer) {
    const bool of_device = buffer->pool == PM_POOL_PINNED || buffer->pool >= PM_POOL_VRAM_0;
    return buffer->in_device_lock || (execution->lock_held && of_device);
}

static void release_after_step(struct pm_execution *execution, bool in_device_lock) {
    for (uint32_t i = 0; i < execution->plan.n_buffers; ++i) {
        const struct pm_plan_buffer *buffer = &execution->plan.buffers[i];
        if (buffer->last_step == execution->next_step &&
            goes_inside(execution, buffer) == in_device_lock) {
            release(execution, i);
        }
    }
}

/* ---- The device lock --------------------------------------------------------------------------
 */

static void leave_beside(struct pm_execution *execution) {
    if (execution->beside_held) {
        execution->beside_held = false;
        execution->backend->table->unlock_beside(execution->backend);
    }
}

static pm_status go_beside(struct pm_execution *execution, pm_error *error) {
    const struct pm_backend_table *table = execution->backend->table;
    struct pm_step_record *record = &execution->records[execution->next_step];
    if (!execution->plan.steps[execution->next_step].is_beside || execution->beside_held ||
        table->lock_beside == NULL) {
        return PM_OK;
    }
    const uint64_t begin_ns = pm_clock_now_ns();
    PM_TRY(
        table->lock_beside(execution->backend, &execution->plan, execution->data.control, error));
    record->lock_wait_ns = pm_clock_now_ns() - begin_ns;
    execution->beside_held = true;
    return PM_OK;
}

static pm_status take_lock(struct pm_execution *execution, pm_error *error) {
    const struct pm_backend_table *table = execution->backend->table;
    struct pm_step_record *record = &execution->records[execution->next_step];
    if (execution->lock_held || !execution->plan.steps[execution->next_step].in_device_lock ||
        table->lock == NULL) {
        return PM_OK;
    }
    const uint64_t begin_ns = pm_clock_now_ns();
    PM_TRY(table->lock(execution->backend, &execution->plan, execution->data.control, error));
    const uint64_t now_ns = pm_clock_now_ns();
    record->lock_wait_ns = now_ns - begin_ns;
    execution->lock_taken_ns = execution->lock_taken_ns == 0 ? now_ns : execution->lock_taken_ns;
    execution->lock_held = true;
    leave_beside(execution);
    return PM_OK;
}

static void drop_lock(struct pm_execution *execution) {
    if (execution->lock_held) {
        execution->lock_held = false;
        execution->lock_left_ns = pm_clock_now_ns();
        execution->backend->table->unlock(execution->backend);
    }
}

/* ---- The curve --------------------------------------------------------------------------------
 */

/* What the ledger should say during the next step. */
static void planned_bytes(const struct pm_execution *execution, uint64_t bytes[PM_POOLS_MAX]) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        bytes[pool] = 0;
    }
    for (uint32_t i = 0; i < execution->plan.n_buffers; ++i) {
        const struct pm_plan_buffer *buffer = &execution->plan.buffers[i];
        if (buffer->lifetime != PM_LIFETIME_RESIDENT &&
            buffer->first_step <= execution->next_step &&
            execution->next_step <= buffer->last_step) {
            bytes[buffer->pool] += buffer->bytes;
        }
    }
}

static pm_status compare_with_plan(struct pm_execution *execution, pm_error *error) {
    const struct pm_plan *plan = &execution->plan;
    uint64_t planned[PM_POOLS_MAX];
    planned_bytes(execution, planned);
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        const uint64_t measured = pm_ledger_pool_live_bytes(&execution->ledger, pool);
        if (measured == planned[pool]) {
            continue;
        }
        ++execution->n_divergences;
        if (execution->strict) {
            pm_error_set(error, PM_INTERNAL,
                         "the proof left its plan: during %s the pool %s holds %llu bytes instead "
                         "of %llu",
                         pm_step_name(plan->steps[execution->next_step].id), pm_pool_name(pool),
                         (unsigned long long)measured, (unsigned long long)planned[pool]);
            pm_error_need_have(error, planned[pool], measured);
            return PM_INTERNAL;
        }
    }
    return PM_OK;
}

/* ---- Steps ------------------------------------------------------------------------------------
 */

/* A step of the CPU within a plan for a device: it sees no memory of the device. */
static pm_status compute_on_cpu(struct pm_execution *execution, pm_step_function *function,
                                pm_error *error) {
    struct pm_step_data seen = execution->data;
    if (execution->whole_key != NULL) {
        seen.proving_key = execution->whole_key;
    }
    for (uint32_t i = 0; i < execution->plan.n_buffers; ++i) {
        if (execution->plan.buffers[i].pool >= PM_POOL_VRAM_0) {
            seen.buffer[execution->plan.buffers[i].id] = NULL;
        }
    }
    return function(pm_backend_cpu(), &seen, error);
}

static pm_status compute(struct pm_execution *execution, pm_error *error) {
    const struct pm_plan_step *step = &execution->plan.steps[execution->next_step];
    struct pm_backend *backend = execution->backend;
    pm_step_function *function = backend->table->step[step->id];
    if (step->on_cpu || function == NULL) {
        function = pm_backend_cpu()->table->step[step->id];
        PM_FAIL_IF(function == NULL, error, PM_INTERNAL, "nobody computes the step %s",
                   pm_step_name(step->id));
        return compute_on_cpu(execution, function, error);
    }
    PM_TRY(function(backend, &execution->data, error));
    return backend->table->synchronise != NULL ? backend->table->synchronise(backend, error)
                                               : PM_OK;
}

static pm_status begin_step(struct pm_execution *execution, pm_error *error) {
    const pm_control *control = execution->data.control;
    const struct pm_plan *plan = &execution->plan;
    const uint32_t index = execution->next_step;
    PM_TRY(pm_control_check(control, error));
    if (execution->watch != NULL) {
        PM_TRY(execution->watch(execution->watch_user, error));
    }
    pm_control_progress(control, pm_step_name(plan->steps[index].id), index, plan->n_steps);
    execution->records[index].begin_ns = pm_clock_now_ns();
    PM_TRY(go_beside(execution, error));
    PM_TRY(allocate_for_step(execution, false, error));
    PM_TRY(take_lock(execution, error));
    return allocate_for_step(execution, true, error);
}

/* stays: the lock may be kept for the step that follows. */
static void end_step(struct pm_execution *execution, bool stays) {
    const struct pm_plan *plan = &execution->plan;
    uint64_t remaining[PM_POOLS_MAX];
    release_after_step(execution, true);
    if (!stays || !plan->steps[execution->next_step + 1].in_device_lock) {
        drop_lock(execution);
    }
    release_after_step(execution, false);
    ++execution->next_step;
    pm_plan_remaining(plan, execution->next_step, remaining);
    pm_reservation_shrink(&execution->reservation, remaining);
}

static pm_status run_step(struct pm_execution *execution, bool stays,
                          pm_execution_function *function, void *argument, pm_error *error) {
    struct pm_step_record *record = &execution->records[execution->next_step];
    const uint64_t begin_cpu_ns = pm_clock_cpu_ns();
    PM_TRY(begin_step(execution, error));
    PM_TRY(function != NULL ? function(argument, execution, error) : compute(execution, error));
    record->live_bytes[0] = pm_ledger_live_bytes(&execution->ledger);
    record->live_bytes[1] =
        execution->plan.device_pool != PM_POOL_HOST
            ? pm_ledger_pool_live_bytes(&execution->ledger, execution->plan.device_pool)
            : 0;
    PM_TRY(compare_with_plan(execution, error));
    record->end_ns = pm_clock_now_ns();
    record->cpu_ns = pm_clock_cpu_ns() - begin_cpu_ns;
    end_step(execution, stays);
    return PM_OK;
}

/* Arrays that the plan does not read go back before anything else. */
static void give_back_unread(struct pm_execution *execution) {
    for (int id = PM_BUFFER_CALLER_INPUTS; id <= PM_BUFFER_CALLER_C; ++id) {
        if (pm_plan_find(&execution->plan, (enum pm_buffer_id)id) == NULL) {
            give_back(execution, (enum pm_buffer_id)id);
        }
    }
}

static pm_status run(struct pm_execution *execution, uint32_t until,
                     pm_execution_function *function, void *argument, pm_error *error) {
    PM_FAIL_IF(execution->failed != PM_OK, error, execution->failed,
               "this proof has failed or been given up before");
    execution->data.plan = &execution->plan;
    execution->data.sums = &execution->sums;
    pm_status status = PM_OK;
    if (until > execution->plan.n_steps) {
        status = pm_error_set(error, PM_INTERNAL, "the plan has %u steps, not %u",
                              execution->plan.n_steps, until);
    } else if (execution->next_step == 0) {
        give_back_unread(execution);
    }
    while (status == PM_OK && execution->next_step < until) {
        status = run_step(execution, execution->next_step + 1 < until, function, argument, error);
    }
    if (status != PM_OK) {
        execution->failed = status;
        pm_execution_end(execution);
    } else if (until == execution->plan.n_steps) {
        pm_control_progress(execution->data.control,
                            pm_step_name(execution->plan.steps[until - 1].id), until, until);
    }
    return status;
}

pm_status pm_execution_run(struct pm_execution *execution, uint32_t until, pm_error *error) {
    return run(execution, until, NULL, NULL, error);
}

pm_status pm_execution_run_step(struct pm_execution *execution, pm_execution_function *function,
                                void *argument, pm_error *error) {
    return run(execution, execution->next_step + 1, function, argument, error);
}

void pm_execution_end(struct pm_execution *execution) {
    for (int inside = 1; inside >= 0; --inside) {
        for (uint32_t i = 0; i < execution->plan.n_buffers; ++i) {
            if (goes_inside(execution, &execution->plan.buffers[i]) == (inside == 1)) {
                release(execution, i);
            }
        }
        drop_lock(execution);
    }
    leave_beside(execution);
    /* Those that never got into the ledger, since their proof did not begin. */
    for (int id = PM_BUFFER_CALLER_INPUTS; id <= PM_BUFFER_CALLER_C; ++id) {
        give_back(execution, (enum pm_buffer_id)id);
    }
    pm_memory_wipe(&execution->sums, sizeof execution->sums);
    pm_reservation_release(&execution->reservation);
    if (execution->failed == PM_OK && execution->next_step < execution->plan.n_steps) {
        execution->failed = PM_CANCELLED;
    }
}
