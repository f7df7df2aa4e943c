/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_pending.h"

#include "api/api_resident.h"
#include "api/api_spread.h"
#include "base/clock.h"

#include <string.h>

_Static_assert(PM_BUFFER_CALLER_AUX - PM_BUFFER_CALLER_INPUTS == PM_ARRAY_AUX &&
                   PM_BUFFER_CALLER_A - PM_BUFFER_CALLER_INPUTS == PM_ARRAY_A &&
                   PM_BUFFER_CALLER_B - PM_BUFFER_CALLER_INPUTS == PM_ARRAY_B &&
                   PM_BUFFER_CALLER_C - PM_BUFFER_CALLER_INPUTS == PM_ARRAY_C,
               "lent buffers of a plan stand in the order of pm_assignment_array");
_Static_assert(
    (int)PM_FORM_ANY == PM_VECTORS_ANY && (int)PM_FORM_THREE_VECTORS == PM_VECTORS_THREE &&
        (int)PM_FORM_TWO_VECTORS == PM_VECTORS_TWO && (int)PM_KEY_ANY == PM_RESIDENCY_ANY &&
        (int)PM_KEY_RESIDENT == PM_RESIDENCY_KEEP && (int)PM_KEY_STREAMED == PM_RESIDENCY_STREAM &&
        (int)PM_B2_ANY == PM_B2_SCHEDULE_ANY && (int)PM_B2_IN_START == PM_B2_SCHEDULE_START &&
        (int)PM_B2_FROM_W == PM_B2_SCHEDULE_LATER && (int)PM_B2_FROM_COPY == PM_B2_SCHEDULE_COPY,
    "public choices have the numbers of a plan's");

static void give_back_lent(void *user, enum pm_buffer_id which) {
    pm_lent_return(user, (pm_assignment_array)(which - PM_BUFFER_CALLER_INPUTS));
}

/* When each of the devices that read it has done so. */
static void give_back_shared(void *user, enum pm_buffer_id which) {
    struct pm_pending *pending = user;
    (void)pthread_mutex_lock(&pending->parts->lock);
    if (pm_parts_is_read(pending->parts, which)) {
        give_back_lent(&pending->lent, which);
    }
    (void)pthread_mutex_unlock(&pending->parts->lock);
}

/* n_steps when the plan has none of this kind. */
static uint32_t step_index(const struct pm_plan *plan, enum pm_step_id id) {
    uint32_t i = 0;
    while (i < plan->n_steps && plan->steps[i].id != id) {
        ++i;
    }
    return i;
}

/* ---- Before anything is allocated ----------------------------------------------------------- */

static pm_status check_options(const pm_prove_options *options, pm_error *error) {
    PM_FAIL_IF(options->form > PM_VECTORS_TWO, error, PM_INVALID_ARGUMENT,
               "form %u is not a pm_vector_form", options->form);
    PM_FAIL_IF(options->residency > PM_RESIDENCY_STREAM, error, PM_INVALID_ARGUMENT,
               "residency %u is not a pm_key_residency", options->residency);
    PM_FAIL_IF(options->b2 > PM_B2_SCHEDULE_COPY, error, PM_INVALID_ARGUMENT,
               "b2 %u is not a pm_b2_schedule", options->b2);
    return PM_OK;
}

static bool brings_densities(const struct pm_lent *lent) {
    return lent->a_aux_density != NULL || lent->b_input_density != NULL ||
           lent->b_aux_density != NULL;
}

/* A parameter file without a constraint system does not say which variables have points. */
static bool needs_densities(const pm_key *key) {
    return key->proving_key.reduction == PM_REDUCTION_BELLMAN &&
           key->proving_key.matrices == PM_KEY_MATRICES_NONE;
}

/* Limits of the plan: what this proof may take, and what the budget has in all. */
static void choose_limits(const pm_prove_options *options, struct pm_plan_choices *choices) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        choices->limit_bytes[pool] =
            options->budget == NULL ? PM_BUDGET_UNLIMITED : options->budget->total_bytes[pool];
    }
    uint64_t *host_bytes = &choices->limit_bytes[PM_POOL_HOST];
    if (options->memory_bytes != 0 && options->memory_bytes < *host_bytes) {
        *host_bytes = options->memory_bytes;
    }
}

static void find_sizes(const pm_key *key, const struct pm_lent *lent, struct pm_plan_sizes *sizes) {
    pm_proving_key_sizes(&key->proving_key, sizes);
    if (lent->array[PM_ARRAY_A] != NULL) {
        sizes->n_rows = lent->n_rows;
    }
}

/* As far as they do not depend on the device. */
static struct pm_plan_choices choices_of(const pm_key *key, const struct pm_lent *lent,
                                         const pm_prove_options *options) {
    const bool has_vectors = lent->array[PM_ARRAY_A] != NULL;
    const uint64_t publics_bytes = (uint64_t)key->proving_key.header.n_public * PM_FR_BYTES;
    struct pm_plan_choices choices = {.form = (enum pm_form)options->form,
                                      .key = (enum pm_key_place)options->residency,
                                      .b2 = (enum pm_b2_place)options->b2,
                                      .vectors =
                                          has_vectors ? PM_VECTORS_FROM_CALLER : PM_VECTORS_FROM_W,
                                      .caller_brings_c = lent->array[PM_ARRAY_C] != NULL,
                                      .scalars_are_lent = lent->witness == NULL,
                                      .scalars_montgomery = lent->montgomery,
                                      .densities_are_lent = needs_densities(key),
                                      .no_self_verify = options->no_self_verify != 0,
                                      .pending_bytes = sizeof(struct pm_pending) + publics_bytes};
    choose_limits(options, &choices);
    return choices;
}

/* A proof while it is planned: a device, or several. */
struct planning {
    pm_context *context;
    const pm_key *key;
    const struct pm_lent *lent;
    const pm_prove_options *options;
    const pm_control *control;
    uint32_t excluded; /* devices that take no part, as in pm_spread_wish */
    struct pm_device_choice choice;
    struct pm_spread *spread; /* NULL: */
    struct pm_plan plan;      /* else the first one's */
};

static pm_status make_plan_for_one(struct planning *planning, pm_error *error) {
    const pm_key *key = planning->key;
    const struct pm_device *device = planning->choice.device;
    struct pm_plan_sizes sizes;
    struct pm_device_keys keys = {.may_go = false};
    const struct pm_plan_choices choices = choices_of(key, planning->lent, planning->options);
    find_sizes(key, planning->lent, &sizes);
    PM_TRY(pm_resident_find((pm_key *)(uintptr_t)key, device->backend, &sizes.share, true,
                            planning->control, keys.is_there, error));
    return pm_device_plan(device, pm_context_threads(planning->context), &sizes, &keys, &choices,
                          &planning->plan, error);
}

static pm_status make_plan_for(struct planning *planning, pm_error *error) {
    struct pm_plan_sizes sizes;
    const struct pm_plan_choices choices =
        choices_of(planning->key, planning->lent, planning->options);
    find_sizes(planning->key, planning->lent, &sizes);
    const struct pm_spread_wish wish = {.key = (pm_key *)(uintptr_t)planning->key,
                                        .sizes = &sizes,
                                        .choices = &choices,
                                        .threads = pm_context_threads(planning->context),
                                        .excluded = planning->excluded,
                                        .control = planning->control};
    if (planning->options->all_devices != 0) {
        PM_TRY(pm_spread_create(&planning->context->devices, &wish, &planning->choice,
                                &planning->spread, error));
    }
    if (planning->spread == NULL) {
        return make_plan_for_one(planning, error);
    }
    planning->plan = planning->spread->plan[0];
    return PM_OK;
}

/* choice.device is the one that the plan is for, whatever is returned. */
static pm_status make_plan(struct planning *planning, pm_error *error) {
    struct pm_plan_sizes sizes;
    pm_error own = PM_ERROR_INIT;
    find_sizes(planning->key, planning->lent, &sizes);
    pm_context_choose_device(planning->context, planning->key, &sizes, false, planning->control,
                             &planning->choice);
    pm_status status = make_plan_for(planning, &own);
    if (status != PM_OK &&
        pm_devices_fall_back(&planning->context->devices, false, planning->control, status, &own,
                             &planning->choice)) {
        status = make_plan_for(planning, &own);
    }
    if (status != PM_OK) {
        pm_error_copy(error, &own);
    }
    return status;
}

/* What all devices of the proof need, at once: who has some of it waits for nobody else. */
static pm_status reserve(const struct planning *planning, struct pm_reservation *reservation,
                         pm_error *error) {
    const pm_prove_options *options = planning->options;
    const pm_control *control = planning->control;
    uint64_t bytes[PM_POOLS_MAX];
    *reservation = (struct pm_reservation){0};
    if (options->budget == NULL) {
        return PM_OK;
    }
    pm_plan_remaining(&planning->plan, 0, bytes);
    for (uint32_t i = 1; planning->spread != NULL && i < planning->spread->n; ++i) {
        uint64_t more_bytes[PM_POOLS_MAX];
        pm_plan_remaining(&planning->spread->plan[i], 0, more_bytes);
        for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
            bytes[pool] += more_bytes[pool];
        }
    }
    return options->no_wait != 0
               ? pm_budget_try(options->budget, bytes, reservation, error)
               : pm_budget_wait(options->budget, bytes, control, reservation, error);
}

/* ---- The handle ----------------------------------------------------------------------------- */

/* Canonical, without the constant one. */
static void copy_publics(pm_context *context, const struct pm_lent *lent, pm_curve_id curve,
                         uint8_t *publics) {
    const uint8_t *values = (const uint8_t *)lent->array[PM_ARRAY_INPUTS] + PM_FR_BYTES;
    const size_t n = lent->n_inputs - 1;
    if (n == 0) {
        return;
    }
    if (lent->montgomery) {
        pm_field_fr(curve, context->body)
            ->from_mont(publics, (const uint64_t *)(const void *)values, n);
    } else {
        memcpy(publics, values, n * PM_FR_BYTES);
    }
}

static void fill_execution(struct pm_pending *pending, const struct planning *planning,
                           const struct pm_reservation *reservation) {
    struct pm_execution *execution = &pending->execution;
    pm_context *context = pending->context;
    execution->plan = planning->plan;
    execution->backend = pending->choice.device->backend;
    execution->strict = context->strict;
    execution->release = give_back_lent;
    execution->release_user = &pending->lent;
    execution->reservation = *reservation;
    execution->ledger.log =
        (struct pm_ledger_log){.entries = pending->entries, .n_entries_max = PM_REPORT_ENTRIES_MAX};
    execution->data = (struct pm_step_data){.plan = &execution->plan,
                                            .proving_key = &pending->key->proving_key,
                                            .n_vector_rows = pending->lent.n_rows,
                                            .sums = &execution->sums,
                                            .team = context->team,
                                            .body = context->body,
                                            .control = planning->control};
    for (uint32_t i = 0; i < PM_LENT_ARRAYS; ++i) {
        execution->data.buffer[PM_BUFFER_CALLER_INPUTS + i] =
            (void *)(uintptr_t)pending->lent.array[i];
    }
}

/* Of the reservation, each part has its own. */
static void fill_parts(struct pm_pending *pending, const struct pm_spread *spread,
                       uint64_t handle_bytes) {
    struct pm_execution *first = &pending->execution;
    first->release = give_back_shared;
    first->release_user = pending;
    pending->parts = pm_parts_create((uint8_t *)pending + handle_bytes, spread, first);
    for (uint32_t i = 0; i < pending->parts->n; ++i) {
        uint64_t bytes[PM_POOLS_MAX];
        pm_plan_remaining(&spread->plan[i + 1], 0, bytes);
        pm_reservation_split(&first->reservation, bytes,
                             &pending->parts->part[i].execution.reservation);
    }
}

/* Everything goes, also the handle. Its log ends with it, so the report is filled first. */
static void pending_destroy(struct pm_pending *pending) {
    pm_execution_end(&pending->execution);
    pm_parts_end(pending->parts, pending->key);
    pm_report_fill(pending->report, &pending->execution, pending->key, pending->choice.why);
    pm_parts_fill_report(pending->parts, pending->key, pending->report);
    pm_parts_destroy(pending->parts);
    pm_lent_return_all(&pending->lent);
    pm_proving_key_forget_densities(&pending->with_densities);
    pm_resident_give_up(pending->key, pending->resident);
    pm_key_destroy(pending->key);
    pm_memory_free(pending);
}

/* Takes over *lent, *reservation and the further devices on success. */
static pm_status pending_create(struct planning *planning, struct pm_lent *lent,
                                struct pm_reservation *reservation, struct pm_pending **out,
                                pm_error *error) {
    void *buffer = NULL;
    const pm_key *key = planning->key;
    PM_TRY(pm_memory_alloc(NULL, "pending proof", planning->plan.choices.pending_bytes,
                           PM_MEMORY_SECRET, &buffer, error));
    struct pm_pending *pending = buffer;
    pending->context = planning->context;
    pending->key = pm_key_retain(key);
    pending->lent = *lent;
    pending->choice = planning->choice;
    copy_publics(planning->context, lent, key->proving_key.header.curve, pending->publics);
    fill_execution(pending, planning, reservation);
    if (planning->spread != NULL) {
        fill_parts(pending, planning->spread,
                   sizeof *pending + (uint64_t)key->proving_key.header.n_public * PM_FR_BYTES);
        pm_spread_destroy(planning->spread, false);
        planning->spread = NULL;
    }
    *reservation = (struct pm_reservation){0};
    lent->held = 0;
    *out = pending;
    return PM_OK;
}

/* ---- The first half ------------------------------------------------------------------------- */

static void work_in_background(void *argument) {
    struct pm_pending *pending = argument;
    pending->background_status = pm_execution_run(&pending->execution, pending->background_until,
                                                  &pending->background_error);
}

/* When a device has done its part, the CPU's sum over G2 need not wait for finish. A thread that
 * cannot be had is no failure: then finish computes it. */
static void start_in_background(struct pm_pending *pending) {
    const struct pm_execution *execution = &pending->execution;
    const struct pm_plan *plan = &execution->plan;
    const uint32_t b2 = step_index(plan, PM_STEP_MSM_B2);
    pending->execution.data.control = NULL; /* that of start ends with start */
    if (execution->backend->pool == PM_POOL_HOST || b2 == plan->n_steps ||
        plan->steps[b2].in_start || !plan->steps[b2].on_cpu) {
        return;
    }
    pending->background_error = (pm_error)PM_ERROR_INIT;
    pending->background_control = (pm_control){.struct_bytes = sizeof pending->background_control,
                                               .cancel = &pending->background.stop};
    pending->background_until = b2 + 1;
    pending->execution.data.control = &pending->background_control;
    pending->in_background =
        pm_background_start(&pending->background, work_in_background, pending, NULL) == PM_OK;
    if (!pending->in_background) {
        pending->execution.data.control = NULL;
    }
}

/* Densities are the caller's until start returns. */
static pm_status take_densities(struct pm_pending *pending, pm_error *error) {
    const struct pm_lent *lent = &pending->lent;
    if (!needs_densities(pending->key)) {
        return PM_OK;
    }
    PM_TRY(pm_proving_key_with_densities(&pending->key->proving_key, lent->a_aux_density,
                                         lent->b_input_density, lent->b_aux_density, NULL,
                                         &pending->with_densities, error));
    pending->execution.data.proving_key = &pending->with_densities;
    return PM_OK;
}

/* Nothing after start asks for them, nor for the first device's share of the key. */
static void forget_densities(struct pm_pending *pending) {
    pm_proving_key_forget_densities(&pending->with_densities);
    pending->execution.data.proving_key = &pending->key->proving_key;
    pending->execution.whole_key = NULL;
}

/* What the devices need before the first step: nothing has been computed, nothing given back.
 * *unable: the part whose device cannot have it; UINT32_MAX: it is the first device. */
static pm_status bring(struct pm_pending *pending, const pm_control *control, uint32_t *unable,
                       pm_error *error) {
    struct pm_execution *execution = &pending->execution;
    *unable = UINT32_MAX;
    PM_TRY(take_densities(pending, error));
    PM_TRY(pm_resident_acquire(pending->key, pending->choice.device, &execution->plan, control,
                               &pending->resident, error));
    execution->data.resident = pm_resident_on_device(pending->resident);
    return pending->parts == NULL
               ? PM_OK
               : pm_parts_bring(pending->parts, pending->key, execution, control, unable, error);
}

/* When the parts have made their sums, their devices are free. */
static pm_status run_beside_parts(struct pm_pending *pending, pm_error *error) {
    struct pm_execution *execution = &pending->execution;
    pm_error own = PM_ERROR_INIT;
    PM_TRY(pm_report_make_room(pending->report, pending->parts->n, error));
    pm_parts_start(pending->parts);
    pm_status status = pm_execution_run(execution, execution->plan.n_start_steps, &own);
    status = pm_parts_join(pending->parts, execution, execution->data.control, status, &own);
    pm_parts_end(pending->parts, pending->key);
    if (status != PM_OK) {
        pm_error_copy(error, &own);
    }
    return status;
}

static pm_status run_start(struct pm_pending *pending, pm_error *error) {
    struct pm_execution *execution = &pending->execution;
    PM_TRY(pending->parts != NULL
               ? run_beside_parts(pending, error)
               : pm_execution_run(execution, execution->plan.n_start_steps, error));
    forget_densities(pending);
    return pm_mapping_check(&pending->key->mapping, error);
}

/* The proof leaves its devices on failure. */
static pm_status admit(struct planning *planning, struct pm_lent *lent, struct pm_pending **pending,
                       pm_error *error) {
    struct pm_reservation reservation;
    pm_status status = reserve(planning, &reservation, error);
    if (status == PM_OK) {
        status = pending_create(planning, lent, &reservation, pending, error);
        if (status != PM_OK) {
            pm_reservation_release(&reservation);
        }
    }
    if (status != PM_OK) {
        pm_device_leave(planning->choice.device, status);
        pm_spread_destroy(planning->spread, true);
    }
    return status;
}

/* Up to the reservation nothing is held, and nothing has been done. */
static pm_status prepare(pm_context *context, const pm_key *key, struct pm_lent *lent,
                         const pm_prove_options *options, const pm_control *control,
                         struct pm_pending **pending, pm_error *error) {
    const pm_vk *vk = NULL;
    PM_TRY(check_options(options, error));
    PM_FAIL_IF(needs_densities(key) && !brings_densities(lent), error, PM_INVALID_ARGUMENT,
               "the key does not know which variables have points, so the assignment must bring "
               "densities");
    if (options->no_self_verify == 0) {
        if (key->proving_key.header.ic == NULL) {
            pm_error_set(error, PM_SECTION,
                         "the key has no section 3 (IC), so the proof cannot be verified before it "
                         "is given out; ask for no self-verification to prove all the same");
            pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
            return PM_SECTION;
        }
        /* First, so that a damaged verifying key costs no proof. */
        PM_TRY(pm_key_shared_vk(context, key, &vk, error));
    }
    struct planning planning = {
        .context = context, .key = key, .lent = lent, .options = options, .control = control};
    const pm_status status = make_plan(&planning, error);
    if (status != PM_OK) {
        pm_device_leave(planning.choice.device, status);
        return status;
    }
    PM_TRY(admit(&planning, lent, pending, error));
    (*pending)->vk = vk;
    return PM_OK;
}

/* Whether one of the further devices is the reason, and the proof goes on without it. */
static bool leaves_out(const struct pm_pending *pending, uint32_t unable, pm_status status,
                       const pm_error *because, struct planning *planning) {
    if (unable == UINT32_MAX || (status != PM_OVER_BUDGET && status != PM_UNSUPPORTED &&
                                 status != PM_NO_MEMORY && status != PM_DEVICE)) {
        return false;
    }
    struct pm_part *part = &pending->parts->part[unable];
    planning->excluded |= pm_spread_bit(&pending->context->devices, part->device);
    part->status = status;
    pm_spread_tell(part->execution.plan.device_name, because, planning->control, &planning->choice);
    return true;
}

/* The same proof, planned again: *pending becomes another one, or NULL with everything in *lent
 * again. */
static pm_status start_over(struct pm_pending **pending, struct pm_lent *lent,
                            struct planning *planning, pm_error *error) {
    struct pm_pending *given = *pending;
    pm_key *key = pm_key_retain(given->key);
    const pm_vk *vk = given->vk;
    const uint64_t begin_ns = given->begin_ns;
    pm_report *report = given->report;
    *lent = given->lent;
    given->lent.held = 0;
    given->report = NULL;
    pending_destroy(given);
    *pending = NULL;
    pm_status status = make_plan_for(planning, error);
    if (status != PM_OK) {
        pm_device_leave(planning->choice.device, status);
    } else {
        status = admit(planning, lent, pending, error);
    }
    pm_key_destroy(key);
    if (status == PM_OK) {
        (*pending)->vk = vk;
        (*pending)->begin_ns = begin_ns;
        (*pending)->report = report;
    }
    return status;
}

/* Brings what the devices need. Where a further one cannot have it, it is left out; where the
 * context may choose, and the card cannot even have that, the CPU makes the proof. *pending and
 * *lent as of start_over(). */
static pm_status begin(struct pm_pending **pending, struct pm_lent *lent,
                       const pm_prove_options *options, const pm_control *control,
                       pm_error *error) {
    pm_context *context = (*pending)->context;
    struct planning planning = {.context = context,
                                .key = (*pending)->key,
                                .lent = lent,
                                .options = options,
                                .control = control};
    for (;;) {
        pm_error own = PM_ERROR_INIT;
        uint32_t unable = 0;
        const pm_status status = bring(*pending, control, &unable, &own);
        if (status == PM_OK) {
            return PM_OK;
        }
        planning.choice = (*pending)->choice;
        if (!leaves_out(*pending, unable, status, &own, &planning) &&
            !pm_devices_fall_back(&context->devices, false, control, status, &own,
                                  &planning.choice)) {
            pm_error_copy(error, &own);
            return status;
        }
        PM_TRY(start_over(pending, lent, &planning, error));
    }
}

pm_status pm_pending_start(pm_context *context, const pm_key *key, struct pm_lent *lent,
                           const pm_prove_options *options, const pm_control *control,
                           pm_pending **pending, pm_error *error) {
    const uint64_t begin_ns = pm_clock_now_ns();
    pm_prove_options chosen;
    pm_options_read(&chosen, sizeof chosen, options);
    pm_report_clear(chosen.report);
    struct pm_pending *made = NULL;
    pm_status status = prepare(context, key, lent, &chosen, control, &made, error);
    if (status != PM_OK) {
        pm_lent_return_all(lent);
        return status;
    }
    made->begin_ns = begin_ns;
    made->report = chosen.report;
    status = begin(&made, lent, &chosen, control, error);
    if (made == NULL) {
        pm_lent_return_all(lent);
        return status;
    }
    if (status == PM_OK) {
        status = run_start(made, error);
    }
    pm_device_leave(made->choice.device, status);
    if (status != PM_OK) {
        pending_destroy(made);
        return status;
    }
    start_in_background(made);
    *pending = made;
    return PM_OK;
}

/* ---- The second half ------------------------------------------------------------------------ */

/* What the two last steps work on. */
struct ending {
    struct pm_pending *pending;
    struct pm_kernels kernels;
    const struct pm_blinding *blinding;
    pm_proof proof;
};

static pm_status join_background(struct pm_pending *pending, const pm_control *control,
                                 pm_error *error) {
    if (!pending->in_background) {
        return PM_OK;
    }
    pm_background_join(&pending->background, control);
    pending->in_background = false;
    if (pending->background_status == PM_OK) {
        return PM_OK;
    }
    if (pending->background_status == PM_CANCELLED) {
        return pm_control_stop_status(control, error);
    }
    pm_error_copy(error, &pending->background_error);
    return pending->background_status;
}

static pm_status assemble(void *argument, struct pm_execution *execution, pm_error *error) {
    struct ending *ending = argument;
    const struct pm_pending *pending = ending->pending;
    struct pm_blinding fresh;
    const struct pm_curve *curve = ending->kernels.curve;
    const struct pm_blinding *blinding = ending->blinding;
    struct pm_groth16_proof points;
    if (blinding == NULL) {
        PM_TRY(pm_groth16_draw_blinding(curve, &fresh, error));
        blinding = &fresh;
    }
    pm_groth16_assemble(curve, &pending->key->proving_key.header, &execution->sums, blinding,
                        pending->context->team, &points);
    pm_memory_wipe(&fresh, sizeof fresh);
    ending->proof = (pm_proof){.struct_bytes = sizeof ending->proof, .curve = (uint32_t)curve->id};
    curve->g1->encode(ending->proof.a, PM_POINT_CANONICAL_LE, points.a);
    curve->g2->encode(ending->proof.b, PM_POINT_CANONICAL_LE, points.b);
    curve->g1->encode(ending->proof.c, PM_POINT_CANONICAL_LE, points.c);
    return pm_mapping_check(&pending->key->mapping, error);
}

static pm_status self_verify(void *argument, struct pm_execution *execution, pm_error *error) {
    const struct ending *ending = argument;
    const struct pm_pending *pending = ending->pending;
    const pm_status status = pm_verify_in(pending->context, pending->vk, pending->publics,
                                          pending->key->proving_key.header.n_public, &ending->proof,
                                          execution->data.buffer[PM_BUFFER_SCRATCH_VERIFY], error);
    if (status == PM_OK) {
        return PM_OK;
    }
    pm_error_set(
        error, PM_SELF_VERIFY,
        "the finished proof does not verify and was withheld: the witness does not satisfy "
        "the circuit's constraints, or the proving key is damaged");
    pm_error_at(error, pending->key->mapping.name, PM_NO_OFFSET);
    return PM_SELF_VERIFY;
}

static pm_status run_finish(struct ending *ending, const pm_control *control, pm_error *error) {
    struct pm_pending *pending = ending->pending;
    struct pm_execution *execution = &pending->execution;
    PM_TRY(join_background(pending, control, error));
    execution->data.control = control;
    PM_TRY(pm_kernels_get(pending->key->proving_key.header.curve, pending->context->body,
                          pending->context->team, &ending->kernels, error));
    PM_TRY(pm_execution_run(execution, step_index(&execution->plan, PM_STEP_ASSEMBLY), error));
    PM_TRY(pm_execution_run_step(execution, assemble, ending, error));
    if (pending->vk != NULL) {
        PM_TRY(pm_execution_run_step(execution, self_verify, ending, error));
    }
    return PM_OK;
}

/* After the end of the execution. */
static void write_stats(const struct pm_pending *pending, pm_prove_stats *stats) {
    const struct pm_execution *execution = &pending->execution;
    const struct pm_plan *plan = &execution->plan;
    uint64_t planned_bytes[PM_POOLS_MAX];
    pm_plan_remaining(plan, 0, planned_bytes);
    pm_prove_stats measured = {.struct_bytes = sizeof measured,
                               .wall_ns = pm_clock_now_ns() - pending->begin_ns,
                               .peak_bytes = pm_ledger_peak_bytes(&execution->ledger),
                               .planned_peak_bytes = planned_bytes[PM_POOL_HOST],
                               .n_divergences = execution->n_divergences,
                               .form = (uint32_t)plan->choices.form,
                               .residency = (uint32_t)plan->choices.key,
                               .b2 = (uint32_t)plan->choices.b2,
                               .device = plan->device_name,
                               .device_taken_ns = execution->lock_taken_ns,
                               .device_left_ns = execution->lock_left_ns};
    if (plan->device_pool != PM_POOL_HOST) {
        measured.device_peak_bytes =
            pm_ledger_pool_peak_bytes(&execution->ledger, plan->device_pool);
    }
    memcpy(measured.device_why, pending->choice.why, sizeof measured.device_why);
    for (uint32_t i = 0; i < plan->n_steps && measured.n_phases < PM_PHASES_MAX; ++i) {
        const struct pm_step_record *record = &execution->records[i];
        if (record->end_ns != 0) {
            measured.phases[measured.n_phases++] =
                (pm_phase){.name = pm_step_name(plan->steps[i].id),
                           .wall_ns = record->end_ns - record->begin_ns};
        }
    }
    const uint32_t theirs = stats->struct_bytes;
    memcpy(stats, &measured, theirs < sizeof measured ? theirs : sizeof measured);
    stats->struct_bytes = theirs;
}

pm_status pm_pending_finish(pm_pending *pending, const struct pm_blinding *blinding,
                            const pm_control *control, pm_proof *proof, pm_prove_stats *stats,
                            pm_error *error) {
    struct ending ending = {.pending = pending, .blinding = blinding};
    const pm_status status = run_finish(&ending, control, error);
    pm_execution_end(&pending->execution);
    if (status == PM_OK) {
        *proof = ending.proof;
        if (stats != NULL) {
            write_stats(pending, stats);
        }
    }
    pending_destroy(pending);
    return status;
}

pm_status pm_prove_finish(pm_pending *pending, const pm_control *control, pm_proof *proof,
                          pm_prove_stats *stats, pm_error *error) {
    if (pending == NULL || proof == NULL) {
        pm_pending_drop(pending);
        PM_FAIL(error, PM_INVALID_ARGUMENT, "pending or proof is NULL");
    }
    return pm_pending_finish(pending, NULL, control, proof, stats, error);
}

void pm_pending_drop(pm_pending *pending) {
    if (pending == NULL) {
        return;
    }
    if (pending->in_background) {
        pm_background_stop(&pending->background);
        pm_background_join(&pending->background, NULL);
        pending->in_background = false;
    }
    pending_destroy(pending);
}
