/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * From the plan of a proof to what a task reserves. A plan has a step for each transform and sum;
 * what the engine can tell apart, and so give back in between, are four:
 *
 *     read      the witness is read                        witness
 *     prove     pm_prove_start()                           witness, the most of its steps
 *     finish    pm_prove_finish()                          the most of its steps, and the witness
 *                                                          where the plan reads it that late
 *     verify    pm_verify()                                its scratch
 *
 * Reading is a worker's too, so that a task has its device, or another kind of device, only when
 * it begins: of two workers one reads or finishes while the other computes.
 */
#include "engine/engine_internal.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Handles, texts, the allocator's own: what no plan speaks of. */
#define SMALL_BYTES (UINT64_C(64) << 10)

uint32_t pm_engine_shape(bool is_assignment, bool has_vectors, bool is_montgomery) {
    return !is_assignment ? 0 : 1 + 2 * (uint32_t)has_vectors + (uint32_t)is_montgomery;
}

uint32_t pm_engine_usual_shape(const struct engine_key *key) {
    return key->facts.has_matrices ? 0 : pm_engine_shape(true, true, false);
}

static bool shape_has_vectors(uint32_t shape) {
    return shape >= 3;
}

static uint32_t shape_scalars(uint32_t shape) {
    return shape == 0 ? 0 : 1 + (shape - 1) % 2;
}

static enum pm_sched_kind kind_of(const char *pool, bool *counts) {
    *counts = true;
    if (strcmp(pool, "host") == 0) {
        return PM_KIND_HOST;
    }
    if (strcmp(pool, "pinned") == 0) {
        return PM_KIND_PINNED;
    }
    *counts = strncmp(pool, "vram:", 5) == 0;
    return PM_KIND_DEVICE;
}

static void raise(uint64_t *most, uint64_t bytes) {
    *most = bytes > *most ? bytes : *most;
}

/* The most that the steps of each half hold, and what of the key lies on the device. */
static void add_plan(const pm_proof_plan *plan, struct pm_sched_curve *curve,
                     uint64_t *resident_bytes) {
    const uint32_t n_steps = pm_proof_plan_n_steps(plan);
    struct pm_sched_step *prove = &curve->steps[PM_ENGINE_STEP_PROVE];
    struct pm_sched_step *finish = &curve->steps[PM_ENGINE_STEP_FINISH];
    const char *pool;
    for (uint32_t p = 0; (pool = pm_proof_plan_pool(plan, p)) != NULL; ++p) {
        bool counts;
        const enum pm_sched_kind kind = kind_of(pool, &counts);
        for (uint32_t s = 0; counts && s < n_steps; ++s) {
            pm_planned_step step;
            const uint64_t held = pm_proof_plan_held_bytes(plan, p, s);
            if (pm_proof_plan_step(plan, s, &step) == PM_OK) {
                raise(step.in_start ? &prove->bytes[kind] : &finish->bytes[kind], held);
            }
            if (kind == PM_KIND_DEVICE) {
                raise(resident_bytes, pm_proof_plan_live_bytes(plan, p, s) - held);
            }
        }
    }
}

/* Of host memory in the last step of a plan that verifies. */
static uint64_t last_step_bytes(const pm_proof_plan *plan) {
    const char *pool;
    for (uint32_t p = 0; (pool = pm_proof_plan_pool(plan, p)) != NULL; ++p) {
        if (strcmp(pool, "host") == 0) {
            return pm_proof_plan_held_bytes(plan, p, pm_proof_plan_n_steps(plan) - 1);
        }
    }
    return 0;
}

static uint64_t choose_memory_bytes(const struct pm_engine *engine, const struct engine_key *key,
                                    uint64_t witness_bytes) {
    const uint64_t total_bytes = engine->sched.total_bytes[PM_POOL_HOST];
    const uint64_t beside = key->bytes + witness_bytes + SMALL_BYTES;
    if (total_bytes == UINT64_MAX) {
        return 0;
    }
    return beside < total_bytes ? total_bytes - beside : 1;
}

/* Curves are compared byte by byte, so that no byte is left to chance. */
static void lay_out(bool is_card, struct pm_sched_curve *curve) {
    static const enum pm_sched_stage stages[PM_ENGINE_STEPS] = {PM_STAGE_PROVE, PM_STAGE_PROVE,
                                                                PM_STAGE_FINISH, PM_STAGE_VERIFY};
    memset(curve, 0, sizeof *curve);
    curve->n_steps = PM_ENGINE_STEPS;
    for (uint32_t i = 0; i < PM_ENGINE_STEPS; ++i) {
        curve->steps[i].stage = (uint8_t)stages[i];
        curve->steps[i].on_worker = i <= PM_ENGINE_STEP_PROVE || !is_card;
    }
}

static pm_status make_plan(struct pm_engine *engine, const struct engine_key *key,
                           const pm_key *open, uint32_t device, const pm_plan_options *options,
                           pm_proof_plan **plan, pm_error *error) {
    pm_context *context = engine->devices[device].context;
    PM_FAIL_IF(context == NULL, error, PM_NO_DEVICE, "the device is closed");
    return open != NULL ? pm_proof_plan_of_key(context, open, options, plan, error)
                        : pm_proof_plan_of_sizes(context, &key->sizes, options, plan, error);
}

static pm_status make_curve(struct pm_engine *engine, struct engine_key *key, const pm_key *open,
                            uint32_t shape, uint32_t device, struct pm_sched_curve *curve,
                            pm_plan_options *choices, pm_error *error) {
    const bool is_card = engine->devices[device].is_card;
    /* An assignment is a mapped file, which is nobody's to reserve. */
    const uint64_t witness_bytes =
        shape == 0 ? (uint64_t)key->facts.n_vars * PM_FR_BYTES + SMALL_BYTES : 0;
    pm_plan_options options = {.struct_bytes = sizeof options,
                               .memory_bytes = choose_memory_bytes(engine, key, witness_bytes),
                               .residency =
                                   key->is_streamed ? PM_RESIDENCY_STREAM : PM_RESIDENCY_KEEP,
                               .caller_vectors = shape_has_vectors(shape),
                               .caller_scalars = shape_scalars(shape),
                               .evicts_keys = 1};
    pm_proof_plan *plan = NULL, *verifying = NULL;
    if (is_card) {
        options.residency = PM_RESIDENCY_ANY;
    }
    if (!key->facts.has_matrices) { /* densities are lent: until start returns, no longer */
        options.b2 = is_card ? PM_B2_SCHEDULE_START : PM_B2_SCHEDULE_COPY;
    }
    PM_TRY(make_plan(engine, key, open, device, &options, &verifying, error));
    options.no_self_verify = 1;
    pm_status status = make_plan(engine, key, open, device, &options, &plan, error);
    if (status == PM_OK) {
        lay_out(is_card, curve);
        add_plan(plan, curve, &key->device_bytes);
        choices->struct_bytes = sizeof *choices;
        (void)pm_proof_plan_choices(plan, choices);
        choices->memory_bytes = options.memory_bytes;
        choices->device = NULL; /* the plan's */
        if (is_card) {          /* the pending proof keeps the key there until it is finished */
            raise(&curve->steps[PM_ENGINE_STEP_FINISH].bytes[PM_KIND_DEVICE], 1);
        }
        const bool reads_late = choices->b2 != PM_B2_SCHEDULE_START;
        curve->steps[PM_ENGINE_STEP_READ].bytes[PM_KIND_HOST] = witness_bytes;
        curve->steps[PM_ENGINE_STEP_PROVE].bytes[PM_KIND_HOST] += witness_bytes;
        curve->steps[PM_ENGINE_STEP_FINISH].bytes[PM_KIND_HOST] += reads_late ? witness_bytes : 0;
        curve->steps[PM_ENGINE_STEP_VERIFY].bytes[PM_KIND_HOST] =
            last_step_bytes(verifying) + SMALL_BYTES;
        if (key->sizes.struct_bytes == 0) {
            key->sizes.struct_bytes = sizeof key->sizes;
            (void)pm_proof_plan_sizes(plan, &key->sizes);
        }
    }
    pm_proof_plan_destroy(plan);
    pm_proof_plan_destroy(verifying);
    return status;
}

static pm_status make_for(struct pm_engine *engine, struct engine_key *key, const pm_key *open,
                          uint32_t shape, uint32_t device, pm_error *error) {
    struct engine_curves *curves = &key->curves[shape];
    struct pm_sched_curve curve;
    void *buffer = NULL;
    PM_TRY(make_curve(engine, key, open, shape, device, &curve, &curves->choices[device], error));
    for (uint32_t d = 0; d < device; ++d) {
        if (curves->curve[d] != NULL && memcmp(curves->curve[d], &curve, sizeof curve) == 0) {
            curves->curve[device] = curves->curve[d];
            return PM_OK;
        }
    }
    PM_TRY(pm_memory_alloc(NULL, "curve of a task", sizeof curve, PM_MEMORY_PLAIN, &buffer, error));
    curves->curve[device] = memcpy(buffer, &curve, sizeof curve);
    return PM_OK;
}

pm_status pm_engine_make_curves(struct pm_engine *engine, struct engine_key *key,
                                const pm_key *open, uint32_t shape, pm_error *error) {
    struct engine_curves *curves = &key->curves[shape];
    if (!curves->is_made) {
        curves->status = PM_NO_DEVICE;
        for (uint32_t d = 0; d < engine->n_devices; ++d) {
            pm_error why = PM_ERROR_INIT;
            const pm_status status = make_for(engine, key, open, shape, d, &why);
            curves->statuses[d] = status;
            if (status == PM_NO_MEMORY) {
                pm_error_copy(error, &why);
                return status;
            }
            if (status == PM_OK) {
                curves->status = PM_OK;
            } else if (curves->status != PM_OK) {
                curves->status = status;
                (void)snprintf(curves->why, sizeof curves->why, "%.250s", why.message);
                curves->need_bytes = why.need;
                curves->have_bytes = why.have;
            }
        }
        curves->is_made = true;
    }
    return PM_OK;
}

/* Cards first; each curve once, with all of its devices. */
uint32_t pm_engine_variants(const struct pm_engine *engine, const struct engine_key *key,
                            uint32_t shape, struct pm_sched_variant *variants) {
    const struct engine_curves *curves = &key->curves[shape];
    uint32_t n = 0;
    for (uint32_t pass = 0; curves->is_made && pass < 2; ++pass) {
        for (uint32_t d = 0; d < engine->n_devices; ++d) {
            const struct pm_sched_curve *curve = curves->curve[d];
            if (curve == NULL || engine->devices[d].is_card != (pass == 0)) {
                continue;
            }
            uint32_t v = 0;
            while (v < n && variants[v].curve != curve) {
                ++v;
            }
            if (v == n && n < PM_SCHED_VARIANTS_MAX) {
                variants[n++] = (struct pm_sched_variant){.curve = curve};
            }
            if (v < n) {
                variants[v].device_mask |= UINT32_C(1) << d;
            }
        }
    }
    return n;
}

pm_status pm_engine_no_curve(const struct engine_curves *curves, pm_error *error) {
    pm_error_set(error, curves->status, "%s", curves->why);
    if (curves->need_bytes != 0) {
        pm_error_need_have(error, curves->need_bytes, curves->have_bytes);
    }
    return curves->status;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static void fill_step(const struct pm_sched_step *from, enum engine_step at,
                      pm_engine_plan_step *step) {
    static const char *const names[PM_ENGINE_STEPS] = {"read", "prove", "finish", "verify"};
    *step = (pm_engine_plan_step){.stage = (uint32_t)pm_engine_stage_of(at),
                                  .on_worker = from->on_worker,
                                  .host_bytes = from->bytes[PM_KIND_HOST],
                                  .pinned_bytes = from->bytes[PM_KIND_PINNED],
                                  .device_bytes = from->bytes[PM_KIND_DEVICE]};
    (void)snprintf(step->name, sizeof step->name, "%s", names[at]);
}

/* Under the lock. */
static pm_status find_curve(const struct pm_engine *engine, const struct engine_key *key,
                            uint32_t device, const struct pm_sched_curve **curve, pm_error *error) {
    const struct engine_curves *curves = &key->curves[pm_engine_usual_shape(key)];
    if (curves->status != PM_OK) {
        return pm_engine_no_curve(curves, error);
    }
    *curve = curves->curve[device];
    PM_FAIL_IF(*curve == NULL, error, curves->statuses[device],
               "there can be no proof with the key \"%s\" on %s: %s", key->name,
               engine->devices[device].name, pm_status_sentence(curves->statuses[device]));
    return PM_OK;
}

pm_status pm_engine_key_plan(pm_engine *engine, const char *name, uint32_t device,
                             pm_engine_plan_step *steps, uint32_t *n, pm_error *error) {
    PM_FAIL_IF(engine == NULL || n == NULL, error, PM_INVALID_ARGUMENT, "engine or n is NULL");
    PM_FAIL_IF(device >= engine->n_devices, error, PM_INVALID_ARGUMENT, "there is no device %u",
               device);
    const struct pm_sched_curve *curve = NULL;
    pm_engine_lock(engine);
    const struct engine_key *key = pm_engine_find_key(engine, name);
    pm_status status = PM_OK;
    if (key == NULL) {
        status = pm_error_set(error, PM_INVALID_ARGUMENT, "there is no key named \"%.60s\"",
                              name != NULL ? name : "");
    } else {
        status = find_curve(engine, key, device, &curve, error);
    }
    for (uint32_t i = 0; curve != NULL && steps != NULL && i < *n && i < curve->n_steps; ++i) {
        fill_step(&curve->steps[i], (enum engine_step)i, &steps[i]);
    }
    *n = curve != NULL ? curve->n_steps : 0;
    pm_engine_unlock(engine);
    return status;
}

void pm_engine_free_curves(struct engine_key *key) {
    for (uint32_t shape = 0; shape < PM_ENGINE_SHAPES; ++shape) {
        struct engine_curves *curves = &key->curves[shape];
        for (uint32_t d = 0; d < PM_ENGINE_DEVICES_MAX; ++d) {
            bool is_shared = false;
            for (uint32_t e = 0; e < d; ++e) {
                is_shared |= curves->curve[e] == curves->curve[d];
            }
            if (!is_shared) {
                pm_memory_free(curves->curve[d]);
            }
        }
        *curves = (struct engine_curves){0};
    }
}
