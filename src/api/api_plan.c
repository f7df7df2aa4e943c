/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_pending.h"

#include "api/api_resident.h"
#include "api/api_spread.h"
#include "base/limits.h"
#include "groth16/plan_device.h"
#include "groth16/plan_sizes.h"

#include <proofmill/experimental.h>

#include <string.h>

_Static_assert((int)PM_REDUCTION_SNARKJS == PM_REDUCTION_KIND_SNARKJS &&
                   (int)PM_REDUCTION_BELLMAN == PM_REDUCTION_KIND_BELLMAN,
               "public reductions have the numbers of a plan's");

/* ---------------------------------------------------------------------------------------------
 * In
 * ------------------------------------------------------------------------------------------- */

/* What is 0 becomes as much as there can be. Sizes that make no sense stay so:
 * pm_plan_check_sizes() finds them. */
static pm_status read_sizes(const pm_circuit_sizes *given, struct pm_plan_sizes *sizes,
                            pm_error *error) {
    pm_circuit_sizes known;
    pm_options_read(&known, sizeof known, given);
    PM_FAIL_IF(known.log_n > PM_LOG_N_MAX, error, PM_UNSUPPORTED,
               "a domain of 2^%u: no curve has more than 2^%u", known.log_n, PM_LOG_N_MAX);
    const uint64_t n = UINT64_C(1) << known.log_n;
    const uint64_t n_h = known.reduction == PM_REDUCTION_KIND_BELLMAN ? n - 1 : n;
    const uint64_t n_aux = known.n_vars > known.n_inputs ? known.n_vars - known.n_inputs : 0;
    *sizes = (struct pm_plan_sizes){
        .curve = (pm_curve_id)known.curve,
        .reduction = (enum pm_reduction)known.reduction,
        .log_n = known.log_n,
        .n_vars = known.n_vars,
        .n_inputs = known.n_inputs,
        .n_rows = known.n_rows != 0 ? known.n_rows : n,
        .n_a = known.n_a != 0 ? known.n_a : known.n_vars,
        .n_b = known.n_b != 0 ? known.n_b : known.n_vars,
        .n_l = known.n_l != 0 ? known.n_l : n_aux,
        .n_h = known.n_h != 0 ? known.n_h : n_h,
        .n_nonzeros = {known.n_nonzeros[0], known.n_nonzeros[1], known.n_nonzeros[2]},
        .rows_sorted = true,
        .has_matrices = true,
    };
    PM_TRY(pm_plan_check_sizes(sizes, error));
    pm_plan_sizes_add_key(sizes);
    return PM_OK;
}

/* Choices that pm_plan_make() does not see as they are given. */
static pm_status read_options(const pm_plan_options *given, pm_plan_options *options,
                              pm_error *error) {
    pm_options_read(options, sizeof *options, given);
    PM_FAIL_IF(options->caller_scalars > 2, error, PM_INVALID_ARGUMENT,
               "caller_scalars %u: 0, 1 and 2 are known", options->caller_scalars);
    return PM_OK;
}

static struct pm_plan_choices read_choices(const pm_plan_options *options,
                                           const struct pm_plan_sizes *sizes) {
    struct pm_plan_choices choices = {
        .form = (enum pm_form)options->form,
        .key = (enum pm_key_place)options->residency,
        .b2 = (enum pm_b2_place)options->b2,
        .vectors = options->caller_vectors != 0 ? PM_VECTORS_FROM_CALLER : PM_VECTORS_FROM_W,
        .caller_brings_c = options->caller_vectors != 0,
        .scalars_are_lent = options->caller_scalars != 0,
        .scalars_montgomery = options->caller_scalars > 1,
        .no_self_verify = options->no_self_verify != 0,
        .pending_bytes = sizeof(struct pm_pending) + (sizes->n_inputs - 1) * PM_FR_BYTES,
    };
    choices.limit_bytes[PM_POOL_HOST] = options->memory_bytes;
    return choices;
}

/* The bytes behind "device:". */
static pm_status read_card_bytes(const char *name, uint64_t *bytes, pm_error *error) {
    static const char prefix[] = "device:";
    const char *digit = name + sizeof prefix - 1;
    bool good = strncmp(name, prefix, sizeof prefix - 1) == 0 && *digit != '\0';
    *bytes = 0;
    for (; good && *digit != '\0'; digit++) {
        good = *digit >= '0' && *digit <= '9' &&
               !__builtin_mul_overflow(*bytes, UINT64_C(10), bytes) &&
               !__builtin_add_overflow(*bytes, (uint64_t)(*digit - '0'), bytes);
    }
    PM_FAIL_IF(!good, error, PM_INVALID_ARGUMENT,
               "a plan is for the device \"cpu\" or for \"device:BYTES\"");
    return PM_OK;
}

static pm_status describe_named(const char *name, uint32_t threads, struct pm_plan_device *device,
                                pm_error *error) {
    PM_FAIL_IF(threads > PM_THREADS_MAX, error, PM_INVALID_ARGUMENT, "%u threads are too many",
               threads);
    threads = threads != 0 ? threads : pm_threads_available();
    if (name == NULL || strcmp(name, "cpu") == 0) {
        pm_plan_device_cpu(threads, device);
        return PM_OK;
    }
    uint64_t bytes;
    PM_TRY(read_card_bytes(name, &bytes, error));
    pm_plan_device_card(bytes, threads, device);
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Making one
 * ------------------------------------------------------------------------------------------- */

static pm_status new_plan(pm_proof_plan **plan, pm_error *error) {
    void *made;
    PM_TRY(pm_memory_alloc(NULL, "plan", sizeof **plan, PM_MEMORY_PLAIN, &made, error));
    *plan = made;
    return PM_OK;
}

/* What is made is the caller's only if it is whole. */
static pm_status hand_over(pm_proof_plan *made, pm_status status, pm_proof_plan **plan) {
    if (status != PM_OK) {
        pm_proof_plan_destroy(made);
        return status;
    }
    *plan = made;
    return PM_OK;
}

static pm_status make(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                      const struct pm_plan_choices *choices, pm_proof_plan **plan,
                      pm_error *error) {
    pm_proof_plan *made;
    PM_TRY(new_plan(&made, error));
    return hand_over(made, pm_plan_make(sizes, device, choices, &made->plan, error), plan);
}

pm_status pm_proof_plan_create(const pm_circuit_sizes *sizes, const pm_plan_options *options,
                               pm_proof_plan **plan, pm_error *error) {
    PM_FAIL_IF(sizes == NULL || plan == NULL, error, PM_INVALID_ARGUMENT, "sizes or plan is NULL");
    pm_plan_options chosen;
    struct pm_plan_sizes read;
    struct pm_plan_device device;
    PM_TRY(read_options(options, &chosen, error));
    PM_TRY(read_sizes(sizes, &read, error));
    PM_TRY(describe_named(chosen.device, chosen.threads, &device, error));
    const struct pm_plan_choices choices = read_choices(&chosen, &read);
    return make(&read, &device, &choices, plan, error);
}

/* Those of the further devices, if there are any; *spread is destroyed. */
static pm_status take_parts(struct pm_spread *spread, pm_proof_plan *plan, pm_error *error) {
    pm_status status = PM_OK;
    for (uint32_t i = 1; spread != NULL && status == PM_OK && i < spread->n; i++) {
        status = new_plan(&plan->part[plan->n_parts], error);
        if (status == PM_OK) {
            plan->part[plan->n_parts++]->plan = spread->plan[i];
        }
    }
    if (spread != NULL) {
        plan->plan = spread->plan[0];
    }
    pm_spread_destroy(spread, false);
    return status;
}

static pm_status plan_spread(pm_context *context, const pm_key *key,
                             const struct pm_plan_sizes *sizes, const pm_plan_options *options,
                             const struct pm_plan_choices *choices, uint32_t threads,
                             struct pm_device_choice *choice, pm_proof_plan *plan,
                             pm_error *error) {
    const struct pm_spread_wish wish = {.key = (pm_key *)(uintptr_t)key,
                                        .sizes = sizes,
                                        .choices = choices,
                                        .threads = threads,
                                        .is_plan = true,
                                        .keys_may_go = options->evicts_keys != 0};
    struct pm_spread *spread = NULL;
    if (options->all_devices == 0) {
        return PM_OK;
    }
    PM_TRY(pm_spread_create(&context->devices, &wish, choice, &spread, error));
    return take_parts(spread, plan, error);
}

/* For the device that options name, or the one that the context would take. */
static pm_status make_on(pm_context *context, const pm_key *key, const struct pm_plan_sizes *sizes,
                         const pm_plan_options *options, const struct pm_plan_choices *choices,
                         pm_proof_plan **plan, pm_error *error) {
    const uint32_t threads = options->threads != 0 ? options->threads : pm_context_threads(context);
    struct pm_device_choice choice;
    struct pm_plan_device named;
    pm_proof_plan *made;
    pm_error own = PM_ERROR_INIT;
    if (options->device != NULL) {
        PM_TRY(describe_named(options->device, threads, &named, error));
        return make(sizes, &named, choices, plan, error);
    }
    PM_TRY(new_plan(&made, error));
    pm_context_choose_device(context, key, sizes, true, NULL, &choice);
    struct pm_device_keys keys = {.may_go = options->evicts_keys != 0};
    if (key != NULL) {
        (void)pm_resident_find((pm_key *)(uintptr_t)key, choice.device->backend, &sizes->share,
                               false, NULL, keys.is_there, NULL);
    }
    pm_status status =
        plan_spread(context, key, sizes, options, choices, threads, &choice, made, error);
    if (status != PM_OK || made->n_parts != 0) {
        memcpy(made->device_why, choice.why, sizeof choice.why);
        return hand_over(made, status, plan);
    }
    status = pm_device_plan(choice.device, threads, sizes, &keys, choices, &made->plan, &own);
    if (status != PM_OK &&
        pm_devices_fall_back(&context->devices, true, NULL, status, &own, &choice)) {
        status = pm_device_plan(choice.device, threads, sizes, &keys, choices, &made->plan, &own);
    }
    if (status != PM_OK) {
        pm_error_copy(error, &own);
    }
    memcpy(made->device_why, choice.why, sizeof choice.why);
    return hand_over(made, status, plan);
}

pm_status pm_proof_plan_of_sizes(pm_context *context, const pm_circuit_sizes *sizes,
                                 const pm_plan_options *options, pm_proof_plan **plan,
                                 pm_error *error) {
    PM_FAIL_IF(context == NULL || sizes == NULL || plan == NULL, error, PM_INVALID_ARGUMENT,
               "context, sizes or plan is NULL");
    pm_plan_options chosen;
    struct pm_plan_sizes read;
    PM_TRY(read_options(options, &chosen, error));
    PM_TRY(read_sizes(sizes, &read, error));
    const struct pm_plan_choices choices = read_choices(&chosen, &read);
    return make_on(context, NULL, &read, &chosen, &choices, plan, error);
}

pm_status pm_proof_plan_of_key(pm_context *context, const pm_key *key,
                               const pm_plan_options *options, pm_proof_plan **plan,
                               pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL || plan == NULL, error, PM_INVALID_ARGUMENT,
               "context, key or plan is NULL");
    pm_plan_options chosen;
    struct pm_plan_sizes sizes;
    PM_TRY(read_options(options, &chosen, error));
    pm_proving_key_sizes(&key->proving_key, &sizes);
    struct pm_plan_choices choices = read_choices(&chosen, &sizes);
    choices.densities_are_lent = sizes.reduction == PM_REDUCTION_BELLMAN && !sizes.has_matrices;
    return make_on(context, key, &sizes, &chosen, &choices, plan, error);
}

void pm_proof_plan_destroy(pm_proof_plan *plan) {
    for (uint32_t i = 0; plan != NULL && i < plan->n_parts; i++) {
        pm_memory_free(plan->part[i]);
    }
    pm_memory_free(plan);
}

uint32_t pm_proof_plan_n_parts(const pm_proof_plan *plan) {
    return plan == NULL ? 0 : plan->n_parts;
}

const pm_proof_plan *pm_proof_plan_part(const pm_proof_plan *plan, uint32_t index) {
    return index >= pm_proof_plan_n_parts(plan) ? NULL : plan->part[index];
}

/* ---------------------------------------------------------------------------------------------
 * Known circuits
 * ------------------------------------------------------------------------------------------- */

static void to_public_sizes(const struct pm_plan_sizes *sizes, pm_circuit_sizes *out) {
    const uint32_t theirs = out->struct_bytes;
    const pm_circuit_sizes ours = {
        .struct_bytes = theirs,
        .curve = (uint32_t)sizes->curve,
        .reduction = (uint32_t)sizes->reduction,
        .log_n = sizes->log_n,
        .n_vars = sizes->n_vars,
        .n_inputs = sizes->n_inputs,
        .n_rows = sizes->n_rows,
        .n_a = sizes->n_a,
        .n_b = sizes->n_b,
        .n_l = sizes->n_l,
        .n_h = sizes->n_h,
        .n_nonzeros = {sizes->n_nonzeros[0], sizes->n_nonzeros[1], sizes->n_nonzeros[2]}};
    memcpy(out, &ours, theirs < sizeof ours ? theirs : sizeof ours);
}

const char *pm_circuit_preset_name(uint32_t index) {
    return index < pm_plan_n_presets ? pm_plan_presets[index].name : NULL;
}

const char *pm_circuit_preset_title(uint32_t index) {
    return index < pm_plan_n_presets ? pm_plan_presets[index].title : NULL;
}

pm_status pm_circuit_preset(const char *name, pm_circuit_sizes *sizes, pm_error *error) {
    PM_FAIL_IF(name == NULL || sizes == NULL, error, PM_INVALID_ARGUMENT, "name or sizes is NULL");
    const struct pm_plan_preset *preset = pm_plan_preset_find(name);
    PM_FAIL_IF(preset == NULL, error, PM_INVALID_ARGUMENT, "there is no known circuit \"%.40s\"",
               name);
    to_public_sizes(&preset->sizes, sizes);
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Out
 * ------------------------------------------------------------------------------------------- */

uint32_t pm_proof_plan_n_steps(const pm_proof_plan *plan) {
    return plan == NULL ? 0 : plan->plan.n_steps;
}

uint32_t pm_proof_plan_n_buffers(const pm_proof_plan *plan) {
    return plan == NULL ? 0 : plan->plan.n_buffers;
}

pm_status pm_proof_plan_step(const pm_proof_plan *plan, uint32_t index, pm_planned_step *step) {
    if (plan == NULL || step == NULL || index >= plan->plan.n_steps) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_plan_step *planned = &plan->plan.steps[index];
    *step = (pm_planned_step){.name = pm_step_name(planned->id),
                              .in_start = planned->in_start,
                              .in_device_lock = planned->in_device_lock,
                              .on_cpu = planned->on_cpu || plan->plan.device_pool == PM_POOL_HOST,
                              .is_beside = planned->is_beside};
    return PM_OK;
}

pm_status pm_proof_plan_buffer(const pm_proof_plan *plan, uint32_t index,
                               pm_planned_buffer *buffer) {
    static const char *const lifetimes[] = {[PM_LIFETIME_RESIDENT] = "resident",
                                            [PM_LIFETIME_PROOF] = "proof",
                                            [PM_LIFETIME_STEP] = "step"};
    if (plan == NULL || buffer == NULL || index >= plan->plan.n_buffers) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_plan_buffer *planned = &plan->plan.buffers[index];
    *buffer = (pm_planned_buffer){.name = pm_buffer_name(planned->id),
                                  .pool = pm_pool_name(planned->pool),
                                  .mechanism = pm_mechanism_name(planned->mechanism),
                                  .lifetime = lifetimes[planned->lifetime],
                                  .bytes = planned->bytes,
                                  .first_step = planned->first_step,
                                  .last_step = planned->last_step,
                                  .in_device_lock = planned->in_device_lock,
                                  .secret = planned->secret};
    return PM_OK;
}

/* The number of the index-th pool that the plan uses, or PM_POOLS_MAX. */
static uint32_t pool_at(const pm_proof_plan *plan, uint32_t index) {
    uint32_t pool = 0;
    for (; plan != NULL && pool < PM_POOLS_MAX; pool++) {
        if (plan->plan.peak_bytes[pool] != 0 && index-- == 0) {
            return pool;
        }
    }
    return PM_POOLS_MAX;
}

const char *pm_proof_plan_pool(const pm_proof_plan *plan, uint32_t index) {
    const uint32_t pool = pool_at(plan, index);
    return pool == PM_POOLS_MAX ? NULL : pm_pool_name(pool);
}

uint64_t pm_proof_plan_live_bytes(const pm_proof_plan *plan, uint32_t pool, uint32_t step) {
    const uint32_t number = pool_at(plan, pool);
    return number == PM_POOLS_MAX || step >= plan->plan.n_steps
               ? 0
               : plan->plan.live_bytes[step][number];
}

uint64_t pm_proof_plan_peak_bytes(const pm_proof_plan *plan, uint32_t pool) {
    const uint32_t number = pool_at(plan, pool);
    return number == PM_POOLS_MAX ? 0 : plan->plan.peak_bytes[number];
}

uint64_t pm_proof_plan_held_bytes(const pm_proof_plan *plan, uint32_t pool, uint32_t step) {
    const uint32_t number = pool_at(plan, pool);
    return number == PM_POOLS_MAX ? 0 : pm_plan_held_bytes(&plan->plan, step, number);
}

uint64_t pm_proof_plan_file_bytes(const pm_proof_plan *plan) {
    return plan == NULL ? 0 : pm_plan_file_bytes(&plan->plan.sizes);
}

pm_status pm_proof_plan_sizes(const pm_proof_plan *plan, pm_circuit_sizes *sizes) {
    if (plan == NULL || sizes == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    to_public_sizes(&plan->plan.sizes, sizes);
    return PM_OK;
}

pm_status pm_proof_plan_choices(const pm_proof_plan *plan, pm_plan_options *options) {
    if (plan == NULL || options == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    const struct pm_plan_choices *choices = &plan->plan.choices;
    const uint32_t theirs = options->struct_bytes;
    const pm_plan_options ours = {.struct_bytes = theirs,
                                  .threads = plan->plan.threads,
                                  .device = plan->plan.device_name,
                                  .memory_bytes = choices->limit_bytes[PM_POOL_HOST],
                                  .form = (uint32_t)choices->form,
                                  .residency = (uint32_t)choices->key,
                                  .b2 = (uint32_t)choices->b2,
                                  .caller_vectors = choices->vectors == PM_VECTORS_FROM_CALLER,
                                  .caller_scalars = (uint32_t)choices->scalars_are_lent +
                                                    choices->scalars_montgomery,
                                  .no_self_verify = choices->no_self_verify};
    memcpy(options, &ours, theirs < sizeof ours ? theirs : sizeof ours);
    return PM_OK;
}

const char *pm_proof_plan_why(const pm_proof_plan *plan) {
    return plan == NULL ? "" : plan->plan.why;
}

const char *pm_proof_plan_device_why(const pm_proof_plan *plan) {
    return plan == NULL ? "" : plan->device_why;
}
