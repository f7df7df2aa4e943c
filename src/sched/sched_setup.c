/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/sched_setup.c - the machine: curves, devices, keys, and what could ever fit. */
#include "sched/sched_internal.h"

#include <string.h>

const char *pm_priority_name(enum pm_priority priority) {
    static const char *const names[PM_PRIORITIES] = {"low", "normal", "high", "critical"};
    return (uint32_t)priority < PM_PRIORITIES ? names[priority] : "unknown";
}

/* ---- Curves -----------------------------------------------------------------------------------
 */

static pm_status check_step(const struct pm_sched_curve *curve, uint32_t i, pm_error *error) {
    const struct pm_sched_step *step = &curve->steps[i];
    const struct pm_sched_step *before = i > 0 ? &curve->steps[i - 1] : step;
    PM_FAIL_IF(step->stage > PM_STAGE_VERIFY, error, PM_INVALID_ARGUMENT,
               "step %u has no stage that is known", i);
    PM_FAIL_IF(step->stage < before->stage, error, PM_INVALID_ARGUMENT,
               "step %u belongs before the step in front of it", i);
    PM_FAIL_IF(step->in_lock && step->stage != PM_STAGE_PROVE, error, PM_INVALID_ARGUMENT,
               "step %u wants the device's lock outside of proving", i);
    PM_FAIL_IF(step->on_worker && (step->stage == PM_STAGE_PREPARE ||
                                   (before->stage > PM_STAGE_PROVE && !before->on_worker)),
               error, PM_INVALID_ARGUMENT, "step %u wants a worker that it does not have", i);
    PM_FAIL_IF(step->stage == PM_STAGE_PREPARE && step->bytes[PM_KIND_DEVICE] != 0, error,
               PM_INVALID_ARGUMENT, "step %u holds memory of a device before there is one", i);
    for (uint32_t kind = 0; kind < PM_SCHED_KINDS; kind++) {
        PM_FAIL_IF(step->bytes[kind] > PM_SCHED_BYTES_MAX, error, PM_INVALID_ARGUMENT,
                   "step %u holds more than any machine has", i);
    }
    return PM_OK;
}

pm_status pm_sched_curve_check(const struct pm_sched_curve *curve, pm_error *error) {
    bool proves = false;
    PM_FAIL_IF(curve->n_steps == 0 || curve->n_steps > PM_SCHED_STEPS_MAX, error,
               PM_INVALID_ARGUMENT, "a curve has 1 to %d steps, not %u", PM_SCHED_STEPS_MAX,
               curve->n_steps);
    for (uint32_t i = 0; i < curve->n_steps; i++) {
        PM_TRY(check_step(curve, i, error));
        proves |= curve->steps[i].stage == PM_STAGE_PROVE;
    }
    PM_FAIL_IF(!proves || curve->steps[curve->n_steps - 1].stage != PM_STAGE_VERIFY, error,
               PM_INVALID_ARGUMENT, "a curve needs a step that proves and ends with verification");
    return PM_OK;
}

void pm_sched_curve_remaining(const struct pm_sched_curve *curve, uint32_t step,
                              uint64_t bytes[PM_SCHED_KINDS]) {
    memset(bytes, 0, PM_SCHED_KINDS * sizeof bytes[0]);
    for (uint32_t i = step; i < curve->n_steps; i++) {
        for (uint32_t kind = 0; kind < PM_SCHED_KINDS; kind++) {
            const uint64_t held = curve->steps[i].bytes[kind];
            bytes[kind] = held > bytes[kind] ? held : bytes[kind];
        }
    }
}

uint32_t pm_sched_first_proving(const struct pm_sched_curve *curve) {
    uint32_t i = 0;
    while (curve->steps[i].stage == PM_STAGE_PREPARE) {
        i++;
    }
    return i;
}

uint64_t pm_sched_device_need(const struct pm_sched_curve *curve) {
    uint64_t bytes[PM_SCHED_KINDS];
    pm_sched_curve_remaining(curve, 0, bytes);
    return bytes[PM_KIND_DEVICE];
}

const struct pm_sched_curve *pm_sched_task_curve(const struct pm_sched *sched,
                                                 const struct pm_sched_task *task) {
    return sched->jobs[task->job].request.variants[task->variant].curve;
}

/* ---- The machine ------------------------------------------------------------------------------
 */

struct pm_sched_config pm_sched_config_default(void) {
    return (struct pm_sched_config){.age_ns = UINT64_C(60000000000),
                                    .age_every = 4,
                                    .group_max = 8,
                                    .interleave = 16,
                                    .n_attempts_max = 3,
                                    .n_faults_max = 3,
                                    .retry_ns = UINT64_C(1000000000)};
}

/* Times are added to a clock's reading: centuries are enough. */
#define DURATION_NS_MAX (UINT64_C(1) << 62)

static pm_status check_config(const struct pm_sched_config *config, pm_error *error) {
    PM_FAIL_IF(config->age_every == 0 || config->interleave == 0, error, PM_INVALID_ARGUMENT,
               "age_every and interleave are at least 1");
    PM_FAIL_IF(config->n_attempts_max == 0 || config->n_attempts_max > PM_SCHED_ATTEMPTS_MAX, error,
               PM_INVALID_ARGUMENT, "attempts are 1 to %d, not %u", PM_SCHED_ATTEMPTS_MAX,
               config->n_attempts_max);
    PM_FAIL_IF(config->age_ns > DURATION_NS_MAX || config->evict_idle_ns > DURATION_NS_MAX ||
                   config->retry_ns > DURATION_NS_MAX >> PM_SCHED_ATTEMPTS_MAX,
               error, PM_INVALID_ARGUMENT, "a time of the configuration is out of range");
    return PM_OK;
}

pm_status pm_sched_init(struct pm_sched *sched, const struct pm_sched_config *config,
                        const uint64_t *total_bytes, const struct pm_sched_storage *storage,
                        pm_error *error) {
    PM_TRY(check_config(config, error));
    PM_FAIL_IF(storage->n_jobs == 0 || storage->n_tasks == 0 || storage->n_keys == 0, error,
               PM_INVALID_ARGUMENT, "a scheduler needs room for a key, a job and a task");
    memset(sched, 0, sizeof *sched);
    memset(storage->keys, 0, storage->n_keys * sizeof storage->keys[0]);
    memset(storage->jobs, 0, storage->n_jobs * sizeof storage->jobs[0]);
    memset(storage->tasks, 0, storage->n_tasks * sizeof storage->tasks[0]);
    sched->config = *config;
    memcpy(sched->total_bytes, total_bytes, sizeof sched->total_bytes);
    sched->keys = storage->keys;
    sched->jobs = storage->jobs;
    sched->tasks = storage->tasks;
    sched->n_keys_max = storage->n_keys;
    sched->n_jobs_max = storage->n_jobs;
    sched->n_tasks_max = storage->n_tasks;
    sched->n_since_aged = config->age_every;
    return PM_OK;
}

pm_status pm_sched_add_device(struct pm_sched *sched, uint32_t pool, uint32_t n_workers,
                              uint32_t n_express, uint32_t *device, pm_error *error) {
    PM_FAIL_IF(pool != PM_POOL_HOST && (pool < PM_POOL_VRAM_0 || pool >= PM_POOLS_MAX), error,
               PM_INVALID_ARGUMENT, "a device computes in host memory or in its own");
    PM_FAIL_IF(n_workers == 0 || n_workers > PM_SCHED_WORKERS_MAX ||
                   n_express > PM_SCHED_WORKERS_MAX - n_workers,
               error, PM_INVALID_ARGUMENT, "a device has 1 to %d workers", PM_SCHED_WORKERS_MAX);
    PM_FAIL_IF(sched->n_devices == PM_DEVICES_MAX, error, PM_COUNT, "more than %d devices",
               PM_DEVICES_MAX);
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        PM_FAIL_IF(sched->devices[d].pool == pool, error, PM_INVALID_ARGUMENT,
                   "two devices would share the pool %s", pm_pool_name(pool));
    }
    struct pm_sched_device *made = &sched->devices[sched->n_devices];
    *made = (struct pm_sched_device){.pool = pool, .n_workers = n_workers, .n_express = n_express};
    for (uint32_t w = 0; w < PM_SCHED_WORKERS_MAX; w++) {
        made->workers[w] = PM_SCHED_NONE;
    }
    *device = sched->n_devices++;
    return PM_OK;
}

/* ---- Keys -------------------------------------------------------------------------------------
 */

pm_status pm_sched_add_key(struct pm_sched *sched, const uint64_t *bytes, const uint64_t load_ns[2],
                           uint32_t *key, pm_error *error) {
    for (uint32_t kind = 0; kind < PM_SCHED_KINDS; kind++) {
        PM_FAIL_IF(bytes[kind] > PM_SCHED_BYTES_MAX, error, PM_INVALID_ARGUMENT,
                   "a key holds more than any machine has");
    }
    PM_FAIL_IF(load_ns[0] > DURATION_NS_MAX || load_ns[1] > DURATION_NS_MAX, error,
               PM_INVALID_ARGUMENT, "the time to load a key is out of range");
    uint32_t k = 0;
    while (k < sched->n_keys_max && sched->keys[k].used) {
        k++;
    }
    PM_FAIL_IF(k == sched->n_keys_max, error, PM_COUNT, "more than %u keys", sched->n_keys_max);
    sched->keys[k] = (struct pm_sched_key){.used = true, .load_ns = {load_ns[0], load_ns[1]}};
    memcpy(sched->keys[k].bytes, bytes, sizeof sched->keys[k].bytes);
    *key = k;
    return PM_OK;
}

pm_status pm_sched_remove_key(struct pm_sched *sched, uint32_t key, pm_error *error) {
    PM_FAIL_IF(key >= sched->n_keys_max || !sched->keys[key].used, error, PM_INVALID_ARGUMENT,
               "there is no key %u", key);
    for (uint32_t j = 0; j < sched->n_jobs_max; j++) {
        const struct pm_sched_job *job = &sched->jobs[j];
        PM_FAIL_IF(job->used && job->request.key == key && job->n_ended < job->request.n_parts,
                   error, PM_BUDGET_BUSY, "a job uses the key");
    }
    PM_FAIL_IF(sched->keys[key].process.residency != PM_COLD, error, PM_BUDGET_BUSY,
               "the key has not been evicted");
    sched->keys[key] = (struct pm_sched_key){.used = false};
    return PM_OK;
}

bool pm_sched_key_is_idle(const struct pm_sched *sched, uint32_t key) {
    const struct pm_sched_key *found = &sched->keys[key];
    if (found->process.residency != PM_RESIDENT || found->process.n_users != 0) {
        return false;
    }
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        if (found->devices[d].n_users != 0 || found->devices[d].residency == PM_LOADING) {
            return false;
        }
    }
    return true;
}

bool pm_sched_key_may_leave(const struct pm_sched *sched, uint32_t key, uint64_t now_ns) {
    const struct pm_sched_place *process = &sched->keys[key].process;
    return pm_sched_key_is_idle(sched, key) &&
           process->last_used_ns + sched->config.evict_idle_ns <= now_ns;
}

uint64_t pm_sched_copy_bytes(const struct pm_sched *sched, uint32_t key, uint32_t device) {
    return sched->devices[device].pool == PM_POOL_HOST ? 0 : sched->keys[key].bytes[PM_KIND_DEVICE];
}

/* ---- What could ever fit ----------------------------------------------------------------------
 */

static pm_status too_large(pm_error *error, uint32_t pool, uint64_t need, uint64_t have) {
    pm_error_set(error, PM_OVER_BUDGET,
                 "needs %llu bytes of %s memory with its key, the budget is %llu bytes in all",
                 (unsigned long long)need, pm_pool_name(pool), (unsigned long long)have);
    pm_error_need_have(error, need, have);
    return PM_OVER_BUDGET;
}

static pm_status fits_process(const struct pm_sched *sched, const struct pm_sched_request *request,
                              const struct pm_sched_variant *variant, pm_error *error) {
    uint64_t need[PM_SCHED_KINDS];
    pm_sched_curve_remaining(variant->curve, 0, need);
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE; kind++) {
        need[kind] += sched->keys[request->key].bytes[kind];
        if (need[kind] > sched->total_bytes[kind]) {
            return too_large(error, kind, need[kind], sched->total_bytes[kind]);
        }
    }
    PM_FAIL_IF(variant->curve->steps[0].stage == PM_STAGE_PREPARE && sched->config.n_slots == 0,
               error, PM_UNSUPPORTED, "it must be prepared, and there is no slot for that");
    return PM_OK;
}

static pm_status fits_device(const struct pm_sched *sched, const struct pm_sched_request *request,
                             const struct pm_sched_variant *variant, uint32_t device,
                             pm_error *error) {
    const uint32_t pool = sched->devices[device].pool;
    const uint64_t need = pm_sched_device_need(variant->curve);
    if (pool == PM_POOL_HOST) {
        PM_FAIL_IF(need != 0, error, PM_INVALID_ARGUMENT,
                   "the CPU has no memory of its own to hold a device's part");
        return PM_OK;
    }
    const uint64_t all = need + pm_sched_copy_bytes(sched, request->key, device);
    return all <= sched->total_bytes[pool] ? PM_OK
                                           : too_large(error, pool, all, sched->total_bytes[pool]);
}

/* Devices of a variant that work and could hold it. */
static uint32_t working_devices(const struct pm_sched *sched,
                                const struct pm_sched_request *request,
                                const struct pm_sched_variant *variant) {
    uint32_t mask = 0;
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        if ((variant->device_mask >> d & 1) != 0 && !sched->devices[d].quarantined &&
            fits_device(sched, request, variant, d, NULL) == PM_OK) {
            mask |= UINT32_C(1) << d;
        }
    }
    return mask != 0 && fits_process(sched, request, variant, NULL) == PM_OK ? mask : 0;
}

uint32_t pm_sched_usable_devices(const struct pm_sched *sched,
                                 const struct pm_sched_request *request,
                                 const struct pm_sched_variant *variant, uint32_t avoid_mask) {
    uint32_t others = 0;
    for (uint32_t v = 0; avoid_mask != 0 && v < request->n_variants; v++) {
        others |= working_devices(sched, request, &request->variants[v]) & ~avoid_mask;
    }
    return working_devices(sched, request, variant) & ~(others != 0 ? avoid_mask : 0);
}

pm_status pm_sched_feasible(const struct pm_sched *sched, const struct pm_sched_request *request,
                            pm_error *error) {
    pm_status status = PM_NO_DEVICE;
    pm_error_set(error, PM_NO_DEVICE, "no device that it may use works");
    for (uint32_t v = 0; v < request->n_variants; v++) {
        const struct pm_sched_variant *variant = &request->variants[v];
        for (uint32_t d = 0; d < sched->n_devices; d++) {
            if ((variant->device_mask >> d & 1) == 0 || sched->devices[d].quarantined) {
                continue;
            }
            status = fits_process(sched, request, variant, error);
            if (status == PM_OK) {
                status = fits_device(sched, request, variant, d, error);
            }
            if (status == PM_OK) {
                return PM_OK;
            }
        }
    }
    return status;
}
