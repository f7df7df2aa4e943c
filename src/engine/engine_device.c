/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Of a card's free memory, what is left alone: a twentieth. */
#define MARGIN_SHARE 20

static pm_status describe_card(const char *gpu_library, struct engine_device *device,
                               pm_error *error) {
    pm_device_facts facts = {.struct_bytes = sizeof facts};
    uint32_t ordinal = 0;
    (void)sscanf(device->name, "cuda:%u", &ordinal);
    PM_TRY(pm_device_describe(gpu_library, ordinal, &facts, error));
    (void)snprintf(device->model, sizeof device->model, "%s", facts.name);
    const uint64_t usable = facts.free_bytes - facts.free_bytes / MARGIN_SHARE;
    if (device->asked_vram_bytes == 0 || device->asked_vram_bytes > usable) {
        device->vram_bytes = usable;
    } else {
        device->vram_bytes = device->asked_vram_bytes;
    }
    return PM_OK;
}

static pm_status open_context(struct pm_engine *engine, const char *gpu_library, uint32_t index,
                              pm_error *error) {
    struct engine_device *device = &engine->devices[index];
    if (engine->hooks.context != NULL) {
        return engine->hooks.context(engine->hooks.user, index, &device->context, &device->is_card,
                                     &device->vram_bytes, error);
    }
    if (device->is_card) {
        PM_TRY(describe_card(gpu_library, device, error));
    }
    const pm_context_options options = {.struct_bytes = sizeof options,
                                        .threads = device->n_threads,
                                        .device = device->name,
                                        .gpu_library = gpu_library,
                                        .vram_bytes = device->asked_vram_bytes};
    return pm_context_create(&options, &device->context, error);
}

static pm_status read_device(const pm_engine_device *asked, struct engine_device *device,
                             pm_error *error) {
    pm_engine_device known = {0};
    memcpy(&known, asked, asked->struct_bytes < sizeof known ? asked->struct_bytes : sizeof known);
    const char *name = known.device != NULL ? known.device : "cpu";
    PM_FAIL_IF(strcmp(name, "cpu") != 0 && strncmp(name, "cuda", 4) != 0, error,
               PM_INVALID_ARGUMENT, "an engine's device is \"cpu\" or \"cuda:N\", not \"%.40s\"",
               name);
    PM_FAIL_IF(strchr(name, ',') != NULL, error, PM_INVALID_ARGUMENT,
               "\"%.40s\": an engine's devices are named one by one", name);
    device->is_card = strcmp(name, "cpu") != 0;
    device->n_workers = known.n_workers != 0 ? known.n_workers : 2;
    device->n_express = known.n_express == UINT32_MAX ? 0
                        : known.n_express != 0        ? known.n_express
                        : device->is_card             ? 0
                                                      : 1;
    device->n_threads = known.threads;
    device->asked_vram_bytes = known.vram_bytes;
    (void)snprintf(device->name, sizeof device->name, "%s",
                   strcmp(name, "cuda") == 0 ? "cuda:0" : name);
    return PM_OK;
}

pm_status pm_engine_open_devices(struct pm_engine *engine, const pm_engine_options *options,
                                 pm_error *error) {
    const pm_engine_device cpu = {.struct_bytes = sizeof cpu};
    const uint32_t n = options->n_devices != 0 ? options->n_devices : 1;
    const pm_engine_device *asked = options->n_devices != 0 ? options->devices : &cpu;
    for (uint32_t d = 0; d < n; ++d) {
        PM_TRY(read_device(&asked[d], &engine->devices[d], error));
        PM_TRY(open_context(engine, options->gpu_library, d, error));
        engine->n_devices = d + 1;
    }
    for (uint32_t d = 0; d < n && engine->host == NULL; ++d) {
        engine->host = engine->devices[d].is_card ? NULL : engine->devices[d].context;
    }
    if (engine->host == NULL) {
        PM_TRY(pm_context_create(NULL, &engine->host, error));
        engine->owns_host = true;
    }
    if (options->gpu_library != NULL) {
        void *copy = NULL;
        const size_t n_bytes = strlen(options->gpu_library) + 1;
        PM_TRY(pm_memory_alloc(NULL, "path of a library", n_bytes, PM_MEMORY_PLAIN, &copy, error));
        engine->gpu_library = memcpy(copy, options->gpu_library, n_bytes);
    }
    return PM_OK;
}

void pm_engine_close_devices(struct pm_engine *engine) {
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        pm_context_destroy(engine->devices[d].context);
    }
    if (engine->owns_host) {
        pm_context_destroy(engine->host);
    }
    pm_memory_free(engine->gpu_library);
}

void pm_engine_device_busy(struct pm_engine *engine, uint32_t device, bool begins) {
    struct engine_device *busy = &engine->devices[device];
    if (begins && busy->n_running++ == 0) {
        busy->busy_since_ns = pm_clock_now_ns();
    } else if (!begins && --busy->n_running == 0) {
        busy->busy_ns += pm_clock_now_ns() - busy->busy_since_ns;
    }
}

bool pm_engine_note_quarantine(struct pm_engine *engine, pm_status why) {
    bool is_new = false;
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        struct engine_device *device = &engine->devices[d];
        if (engine->sched.devices[d].quarantined && !device->was_quarantined) {
            is_new = true;
            device->was_quarantined = true;
            device->status = why;
            pm_engine_event_other(engine, PM_ENGINE_EVENT_DEVICE, (int32_t)d, why);
            pm_engine_say(engine, PM_LOG_WARNING, "%s is given no more work: %s", device->name,
                          pm_status_sentence(why));
        }
    }
    return is_new;
}

void pm_engine_acquit(struct pm_engine *engine, uint32_t index) {
    struct engine_device *device = &engine->devices[index];
    (void)pm_sched_acquit(&engine->sched, index, pm_engine_now_ns(engine), NULL);
    if (device->was_quarantined && !engine->sched.devices[index].quarantined) {
        device->was_quarantined = false;
        device->status = PM_OK;
        pm_engine_event_other(engine, PM_ENGINE_EVENT_DEVICE, (int32_t)index, PM_OK);
        pm_engine_say(engine, PM_LOG_WARNING, "%s is given work again: it was not to blame",
                      device->name);
    }
}

/* The others go on meanwhile: opening a card takes a while, so it is done without the lock. */
static pm_status reopen(struct pm_engine *engine, uint32_t index, pm_error *error) {
    struct engine_device *device = &engine->devices[index];
    pm_context *old = device->context;
    if (engine->hooks.context != NULL) {
        return PM_OK;
    }
    device->context = NULL;
    pm_context_destroy(old);
    const pm_status status = open_context(engine, engine->gpu_library, index, error);
    return status;
}

/* Under the lock, which is given up while keys leave it and while it is opened. */
static pm_status restore(struct pm_engine *engine, uint32_t index, pm_error *error) {
    struct engine_device *device = &engine->devices[index];
    PM_FAIL_IF(device->n_running != 0 || device->is_reopening, error, PM_BUDGET_BUSY,
               "proofs on %s have not ended yet", device->name);
    device->is_reopening = true;
    pm_status status = pm_engine_leave_device(engine, index, error);
    if (status == PM_OK) {
        pm_engine_unlock(engine);
        status = reopen(engine, index, error);
        pm_engine_lock(engine);
    }
    device->is_reopening = false;
    if (status == PM_OK) {
        status = pm_sched_restore(&engine->sched, index, pm_engine_now_ns(engine), error);
    }
    if (status == PM_OK) {
        device->was_quarantined = false;
        device->status = PM_OK;
        pm_engine_event_other(engine, PM_ENGINE_EVENT_DEVICE, (int32_t)index, PM_OK);
        pm_engine_say(engine, PM_LOG_WARNING, "%s was restored and is given work again",
                      device->name);
        pm_engine_pump(engine);
    }
    return status;
}

pm_status pm_engine_device_restore(pm_engine *engine, uint32_t device, pm_error *error) {
    PM_FAIL_IF(engine == NULL || device >= engine->n_devices, error, PM_INVALID_ARGUMENT,
               "there is no device %u", device);
    pm_engine_lock(engine);
    const pm_status status =
        engine->sched.devices[device].quarantined ? restore(engine, device, error) : PM_OK;
    pm_engine_unlock(engine);
    return status;
}

/* A proof that hangs while it is finished keeps its card, though no worker. */
static void count_hung(const struct pm_engine *engine, uint32_t index,
                       pm_engine_device_info *info) {
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched.tasks[i];
        if (task->used && task->running && task->device == index) {
            const struct engine_job *job = engine->live[task->job];
            const bool is_hung = job->parts[job->part_of[task->part]].is_overdue;
            info->n_hung += is_hung;
            info->n_busy += is_hung && task->worker == PM_SCHED_NONE;
        }
    }
}

static void fill_info(const struct pm_engine *engine, uint32_t index, pm_engine_device_info *info) {
    const struct engine_device *device = &engine->devices[index];
    const struct pm_sched_device *scheduled = &engine->sched.devices[index];
    *info = (pm_engine_device_info){.struct_bytes = sizeof *info,
                                    .is_quarantined = scheduled->quarantined,
                                    .n_workers = device->n_workers,
                                    .n_express = device->n_express,
                                    .status = (int32_t)device->status,
                                    .busy_ns = device->busy_ns,
                                    .held_ns = device->held_ns,
                                    .n_proofs = device->n_proofs,
                                    .n_faults = device->n_faults};
    if (device->n_running != 0) {
        info->busy_ns += pm_clock_now_ns() - device->busy_since_ns;
    }
    if (device->is_card) {
        info->total_bytes = device->vram_bytes;
        info->reserved_bytes = engine->sched.reserved_bytes[scheduled->pool];
    }
    for (uint32_t w = 0; w < PM_SCHED_WORKERS_MAX; ++w) {
        if (scheduled->workers[w] != PM_SCHED_NONE) {
            const struct pm_sched_task *task = &engine->sched.tasks[scheduled->workers[w]];
            info->jobs[w] = engine->live[task->job]->id;
            ++info->n_busy;
        }
    }
    count_hung(engine, index, info);
    memcpy(info->name, device->name, sizeof info->name);
    memcpy(info->model, device->model, sizeof info->model);
}

pm_status pm_engine_devices(pm_engine *engine, pm_engine_device_info *infos, uint32_t *n) {
    if (engine == NULL || n == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    pm_engine_lock(engine);
    for (uint32_t d = 0; infos != NULL && d < engine->n_devices && d < *n; ++d) {
        fill_info(engine, d, &infos[d]);
    }
    *n = engine->n_devices;
    pm_engine_unlock(engine);
    return PM_OK;
}
