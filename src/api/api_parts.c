/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_parts.h"

#include "api/api_report.h"
#include "base/clock.h"
#include "groth16/plan_share.h"

#include <stdio.h>
#include <string.h>

/* How often one who waits for the parts looks at his control. */
#define LOOK_INTERVAL_NS UINT64_C(10000000)

#define PART_ALIGNMENT UINT64_C(16)

uint64_t pm_parts_bytes(uint32_t n) {
    return sizeof(struct pm_parts) + n * sizeof(struct pm_part) + PART_ALIGNMENT;
}

/* Asked by the first device's execution. */
static pm_status watch(void *user, pm_error *error) {
    struct pm_parts *parts = user;
    (void)pthread_mutex_lock(&parts->lock);
    const bool has_failed = parts->n_failed != 0;
    parts->first_was_told |= has_failed;
    (void)pthread_mutex_unlock(&parts->lock);
    PM_FAIL_IF(has_failed, error, PM_CANCELLED, "another device of this proof has failed");
    return PM_OK;
}

static void create_part(struct pm_parts *parts, const struct pm_spread *spread, uint32_t i,
                        const struct pm_execution *first) {
    struct pm_part *part = &parts->part[i];
    struct pm_execution *execution = &part->execution;
    part->parts = parts;
    part->device = spread->device[i + 1];
    execution->plan = spread->plan[i + 1];
    execution->backend = part->device->backend;
    execution->strict = first->strict;
    execution->release = first->release;
    execution->release_user = first->release_user;
    execution->ledger.log =
        (struct pm_ledger_log){.entries = part->entries, .n_entries_max = PM_PART_ENTRIES_MAX};
    execution->data = (struct pm_step_data){.plan = &execution->plan,
                                            .proving_key = &part->key,
                                            .sums = &execution->sums,
                                            .team = first->data.team,
                                            .body = first->data.body,
                                            .control = &parts->control};
    for (int id = PM_BUFFER_CALLER_INPUTS; id <= PM_BUFFER_CALLER_AUX; ++id) {
        execution->data.buffer[id] = first->data.buffer[id];
    }
}

struct pm_parts *pm_parts_create(void *memory, const struct pm_spread *spread,
                                 struct pm_execution *first) {
    const uintptr_t at = (uintptr_t)memory + PART_ALIGNMENT - 1;
    struct pm_parts *parts = (struct pm_parts *)(at - at % PART_ALIGNMENT);
    parts->n = spread->n - 1;
    parts->n_readers[0] = parts->n_readers[1] = spread->n;
    parts->control = (pm_control){.struct_bytes = sizeof parts->control, .cancel = &parts->stop};
    /* Neither can fail with these attributes. */
    (void)pthread_mutex_init(&parts->lock, NULL);
    (void)pm_clock_condition_init(&parts->ended);
    for (uint32_t i = 0; i < parts->n; ++i) {
        create_part(parts, spread, i, first);
    }
    first->watch = watch;
    first->watch_user = parts;
    return parts;
}

pm_status pm_parts_bring(struct pm_parts *parts, struct pm_key *key, struct pm_execution *first,
                         const pm_control *control, uint32_t *unable, pm_error *error) {
    const struct pm_proving_key *whole = first->data.proving_key;
    for (*unable = 0; *unable < parts->n; ++*unable) {
        struct pm_part *part = &parts->part[*unable];
        const struct pm_plan *plan = &part->execution.plan;
        PM_TRY(pm_resident_acquire(key, part->device, plan, control, &part->resident, error));
        part->execution.data.resident = pm_resident_on_device(part->resident);
        pm_proving_key_cut(whole, &plan->sizes.share, &part->key);
    }
    pm_proving_key_cut(whole, &first->plan.sizes.share, &parts->first_key);
    first->data.proving_key = &parts->first_key;
    first->whole_key = whole;
    return PM_OK;
}

bool pm_parts_is_read(struct pm_parts *parts, enum pm_buffer_id which) {
    return which > PM_BUFFER_CALLER_AUX || --parts->n_readers[which - PM_BUFFER_CALLER_INPUTS] == 0;
}

/* ---- The threads ------------------------------------------------------------------------------
 */

static void stop(struct pm_parts *parts) {
    __atomic_store_n(&parts->stop, 1, __ATOMIC_RELAXED);
}

static void run_part(struct pm_part *part) {
    struct pm_execution *execution = &part->execution;
    part->error = (pm_error)PM_ERROR_INIT;
    part->status = pm_execution_run(execution, execution->plan.n_steps, &part->error);
}

/* Under the lock, or by the only thread left. */
static void note_failure(struct pm_parts *parts, const struct pm_part *part) {
    const bool was_stopped = __atomic_load_n(&parts->stop, __ATOMIC_RELAXED) != 0;
    if (part->status != PM_OK && !(part->status == PM_CANCELLED && was_stopped)) {
        parts->first_failed =
            parts->n_failed++ == 0 ? (uint32_t)(part - parts->part) : parts->first_failed;
        stop(parts);
    }
}

static void work(void *argument) {
    struct pm_part *part = argument;
    struct pm_parts *parts = part->parts;
    run_part(part);
    (void)pthread_mutex_lock(&parts->lock);
    note_failure(parts, part);
    --parts->n_running;
    (void)pthread_cond_signal(&parts->ended);
    (void)pthread_mutex_unlock(&parts->lock);
}

/* A thread that cannot be had is no failure: that part waits for the caller. */
void pm_parts_start(struct pm_parts *parts) {
    parts->n_running = parts->n;
    for (uint32_t i = 0; i < parts->n; ++i) {
        struct pm_part *part = &parts->part[i];
        part->in_background = pm_background_start(&part->background, work, part, NULL) == PM_OK;
        if (!part->in_background) {
            (void)pthread_mutex_lock(&parts->lock);
            --parts->n_running;
            (void)pthread_mutex_unlock(&parts->lock);
        }
    }
}

/* Until all threads have come to their end. */
static void wait_for_all(struct pm_parts *parts, const pm_control *control) {
    (void)pthread_mutex_lock(&parts->lock);
    while (parts->n_running != 0) {
        if (pm_control_stopped(control)) {
            stop(parts);
        }
        pm_clock_wait_until(&parts->ended, &parts->lock, pm_clock_now_ns() + LOOK_INTERVAL_NS);
    }
    (void)pthread_mutex_unlock(&parts->lock);
    for (uint32_t i = 0; i < parts->n; ++i) {
        struct pm_part *part = &parts->part[i];
        if (part->in_background) {
            pm_background_join(&part->background, NULL);
        }
    }
}

/* By the caller, with what it may say and be told of. */
static void run_what_is_left(struct pm_parts *parts, const pm_control *control) {
    for (uint32_t i = 0; i < parts->n; ++i) {
        struct pm_part *part = &parts->part[i];
        if (!part->in_background && __atomic_load_n(&parts->stop, __ATOMIC_RELAXED) == 0) {
            part->execution.data.control = control;
            run_part(part);
            note_failure(parts, part);
        } else if (!part->in_background) {
            part->status = PM_CANCELLED;
        }
    }
}

/* ---- The sums ---------------------------------------------------------------------------------
 */

static bool makes(const struct pm_execution *execution, enum pm_shared_sum sum) {
    return execution->plan.sizes.share.points[sum].n != 0;
}

static struct pm_group_point *sum_of(struct pm_execution *execution, enum pm_shared_sum sum) {
    struct pm_sums *sums = &execution->sums;
    struct pm_group_point *const all[PM_SHARED_SUMS] = {[PM_SHARED_A] = &sums->a,
                                                        [PM_SHARED_B1] = &sums->b1,
                                                        [PM_SHARED_L] = &sums->l,
                                                        [PM_SHARED_B2] = &sums->b2};
    return all[sum];
}

/* A sum of which nobody has any point is none. B2 may be the CPU's, which has not made it yet. */
static void add_sums(struct pm_parts *parts, struct pm_execution *first) {
    const struct pm_plan *plan = &first->plan;
    const struct pm_curve *curve = pm_curve_get(plan->sizes.curve, first->data.body);
    const int n = plan->choices.b2 == PM_B2_IN_START ? PM_SHARED_SUMS : PM_SHARED_B2;
    for (int i = 0; i < n; ++i) {
        const enum pm_shared_sum sum = (enum pm_shared_sum)i;
        const struct pm_group *group = sum == PM_SHARED_B2 ? curve->g2 : curve->g1;
        struct pm_group_point *total = sum_of(first, sum);
        if (!makes(first, sum)) {
            memset(total, 0, sizeof *total);
            group->set_infinity(total);
        }
        for (uint32_t k = 0; k < parts->n; ++k) {
            struct pm_execution *execution = &parts->part[k].execution;
            if (makes(execution, sum)) {
                group->add(total, total, sum_of(execution, sum));
            }
        }
    }
}

/* ---- The end ----------------------------------------------------------------------------------
 */

/* Whose error it is, where that is not the caller's input or wish. */
static void name_device(const struct pm_plan *plan, pm_status status, pm_error *error) {
    char message[sizeof error->message];
    if (error != NULL && (status == PM_DEVICE || status == PM_NO_MEMORY || status == PM_INTERNAL) &&
        strstr(error->message, plan->device_name) == NULL) {
        (void)snprintf(message, sizeof message, "%s: %.*s", plan->device_name,
                       (int)(sizeof message - 16), error->message);
        memcpy(error->message, message, sizeof message);
    }
}

pm_status pm_parts_join(struct pm_parts *parts, struct pm_execution *first,
                        const pm_control *control, pm_status status, pm_error *error) {
    if (status != PM_OK) {
        stop(parts);
    }
    wait_for_all(parts, control);
    run_what_is_left(parts, control);
    if (status != PM_OK && !parts->first_was_told) {
        name_device(&first->plan, status, error);
        return status;
    }
    if (parts->n_failed != 0) {
        struct pm_part *part = &parts->part[parts->first_failed];
        name_device(&part->execution.plan, part->status, &part->error);
        pm_error_copy(error, &part->error);
        return part->status;
    }
    for (uint32_t i = 0; i < parts->n; ++i) {
        if (parts->part[i].status != PM_OK) { /* it was stopped, so the caller's control says why */
            return pm_control_stop_status(control, error);
        }
    }
    add_sums(parts, first);
    return PM_OK;
}

void pm_parts_end(struct pm_parts *parts, struct pm_key *key) {
    for (uint32_t i = 0; parts != NULL && i < parts->n; ++i) {
        struct pm_part *part = &parts->part[i];
        pm_execution_end(&part->execution);
        pm_resident_give_up(key, part->resident);
        part->resident = NULL;
        if (part->device != NULL) {
            pm_device_leave(part->device, part->status);
            part->device = NULL;
        }
    }
}

void pm_parts_destroy(struct pm_parts *parts) {
    if (parts != NULL) {
        (void)pthread_cond_destroy(&parts->ended);
        (void)pthread_mutex_destroy(&parts->lock);
    }
}

void pm_parts_fill_report(const struct pm_parts *parts, const struct pm_key *key,
                          struct pm_report *report) {
    for (uint32_t i = 0; parts != NULL && report != NULL && i < report->n_parts; ++i) {
        pm_report_fill(report->part[i], &parts->part[i].execution, key, "");
    }
}
