/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS UINT64_C(1000000)
#define DAY_MS UINT64_C(86400000)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Of free memory, what is left alone when nobody says how much: a twentieth. */
#define MARGIN_SHARE 20
/* Of the budget, what inputs in memory may take where no journal keeps them. */
#define STORED_SHARE 8

/* ---- Clocks, locks, words ------------------------------------------------------------------- */

uint64_t pm_engine_now_ns(const struct pm_engine *engine) {
    return (uint64_t)((int64_t)pm_clock_now_ns() + engine->clock_offset_ns);
}

uint64_t pm_engine_monotonic_ns(const struct pm_engine *engine, uint64_t at_ns) {
    const int64_t shifted = (int64_t)at_ns - engine->clock_offset_ns;
    return at_ns == 0 ? 0 : shifted > 1 ? (uint64_t)shifted : 1;
}

int64_t pm_engine_wall_ms(const struct pm_engine *engine) {
    struct timespec now;
    if (engine->hooks.wall_ms != NULL) {
        return engine->hooks.wall_ms(engine->hooks.user);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pm_engine_say(const struct pm_engine *engine, pm_log_level level, const char *format, ...) {
    char sentence[512];
    if (engine->log == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    engine->log(engine->log_user, level, sentence);
}

void pm_engine_lock(struct pm_engine *engine) {
    (void)pthread_mutex_lock(&engine->lock);
}

void pm_engine_unlock(struct pm_engine *engine) {
    (void)pthread_mutex_unlock(&engine->lock);
}

bool pm_engine_wait_changed(struct pm_engine *engine, uint64_t until_ns) {
    if (until_ns == 0) {
        (void)pthread_cond_wait(&engine->changed, &engine->lock);
        return true;
    }
    pm_clock_wait_until(&engine->changed, &engine->lock, until_ns);
    return pm_clock_now_ns() < until_ns;
}

uint64_t pm_engine_until_ns(uint64_t timeout_ms) {
    const uint64_t most_ms = UINT64_MAX / 4 / MS;
    return timeout_ms == 0 ? 0
                           : pm_clock_now_ns() + (timeout_ms < most_ms ? timeout_ms : most_ms) * MS;
}

void pm_engine_copy_tail(char *out, size_t out_bytes, const char *text) {
    const size_t length = strlen(text);
    if (length < out_bytes) {
        memcpy(out, text, length + 1);
    } else {
        (void)snprintf(out, out_bytes, "...%s", text + length - (out_bytes - 4));
    }
}

/* ---- Options -------------------------------------------------------------------------------- */

static void read_options(pm_engine_options *ours, const pm_engine_options *theirs) {
    memset(ours, 0, sizeof *ours);
    if (theirs != NULL) {
        memcpy(ours, theirs,
               theirs->struct_bytes < sizeof *ours ? theirs->struct_bytes : sizeof *ours);
    }
}

static uint64_t or_else(uint64_t value, uint64_t otherwise) {
    return value != 0 ? value : otherwise;
}

/* How much host memory there is to give out. */
static uint64_t choose_host_bytes(const pm_engine_options *options) {
    pm_host_memory memory;
    if (options->host_bytes != 0) {
        return options->host_bytes;
    }
    if (pm_host_memory_now(NULL, &memory) != PM_OK || memory.free_bytes == UINT64_MAX) {
        return UINT64_MAX;
    }
    const uint64_t margin = or_else(options->safety_margin_bytes, memory.free_bytes / MARGIN_SHARE);
    return margin < memory.free_bytes ? memory.free_bytes - margin : 1;
}

static void choose_limits(const pm_engine_options *options, uint64_t host_bytes,
                          struct engine_limits *limits) {
    const uint64_t share = host_bytes == UINT64_MAX ? GIB : host_bytes / STORED_SHARE;
    limits->results_age_ns = or_else(options->results_age_ms, 7 * DAY_MS) * MS;
    limits->results_bytes_max = or_else(options->results_bytes_max, 64 * MIB);
    limits->n_results_max = (uint32_t)or_else(options->n_results_max, 10000);
    limits->n_jobs_max = (uint32_t)or_else(options->n_jobs_max, 4096);
    /* Room for one job of the most parts, and for four parts of every job. */
    limits->n_tasks_max =
        limits->n_jobs_max > PM_ENGINE_PARTS_MAX / 4 ? 4 * limits->n_jobs_max : PM_ENGINE_PARTS_MAX;
    limits->stored_bytes_max =
        or_else(options->stored_bytes_max, options->journal_path != NULL ? 8 * GIB : share);
    limits->stall_ns = or_else(options->stall_ms, 600000) * MS;
}

static pm_status check_options(const pm_engine_options *options, pm_error *error) {
    PM_FAIL_IF(options->n_devices > PM_ENGINE_DEVICES_MAX, error, PM_INVALID_ARGUMENT,
               "%u devices asked for, at most %u are possible", options->n_devices,
               PM_ENGINE_DEVICES_MAX);
    PM_FAIL_IF(options->n_devices != 0 && options->devices == NULL, error, PM_INVALID_ARGUMENT,
               "devices is NULL");
    PM_FAIL_IF(options->n_attempts_max > PM_SCHED_ATTEMPTS_MAX, error, PM_INVALID_ARGUMENT,
               "%u attempts asked for, at most %u are possible", options->n_attempts_max,
               PM_SCHED_ATTEMPTS_MAX);
    PM_FAIL_IF(options->n_jobs_max > 1000000, error, PM_INVALID_ARGUMENT,
               "%u jobs asked for, at most 1000000 are possible", options->n_jobs_max);
    return PM_OK;
}

/* ---- Create --------------------------------------------------------------------------------- */

static pm_status make_locks(struct pm_engine *engine, pm_error *error) {
    PM_FAIL_IF(pm_clock_condition_init(&engine->work) != 0 ||
                   pm_clock_condition_init(&engine->changed) != 0 ||
                   pthread_mutex_init(&engine->lock, NULL) != 0,
               error, PM_NO_MEMORY, "a lock could not be made");
    return PM_OK;
}

static void destroy_locks(struct pm_engine *engine) {
    (void)pthread_mutex_destroy(&engine->lock);
    (void)pthread_cond_destroy(&engine->changed);
    (void)pthread_cond_destroy(&engine->work);
}

static pm_status allocate(struct pm_engine *engine, pm_error *error) {
    void *jobs = NULL, *tasks = NULL, *keys = NULL, *live = NULL, *events = NULL;
    const uint32_t n_jobs = engine->limits.n_jobs_max;
    pm_status status =
        pm_memory_alloc_array(NULL, "keys of the engine", PM_ENGINE_PLACES,
                              sizeof(struct pm_sched_key), PM_MEMORY_PLAIN, &keys, error);
    if (status == PM_OK) {
        status = pm_memory_alloc_array(NULL, "jobs of the engine", n_jobs,
                                       sizeof(struct pm_sched_job), PM_MEMORY_PLAIN, &jobs, error);
    }
    if (status == PM_OK) {
        status = pm_memory_alloc_array(NULL, "jobs of the engine", n_jobs, sizeof *engine->live,
                                       PM_MEMORY_PLAIN, &live, error);
    }
    if (status == PM_OK) {
        status =
            pm_memory_alloc_array(NULL, "tasks of the engine", engine->limits.n_tasks_max,
                                  sizeof(struct pm_sched_task), PM_MEMORY_PLAIN, &tasks, error);
    }
    if (status == PM_OK) {
        status = pm_memory_alloc_array(NULL, "events of the engine", PM_ENGINE_EVENTS,
                                       sizeof(pm_engine_event), PM_MEMORY_PLAIN, &events, error);
    }
    engine->sched_keys = keys;
    engine->sched_jobs = jobs;
    engine->sched_tasks = tasks;
    engine->live = live;
    engine->events = events;
    if (events != NULL) { /* its pages are there from the beginning, not bit by bit */
        memset(events, 0, PM_ENGINE_EVENTS * sizeof(pm_engine_event));
    }
    return status;
}

/* Who is aged, how often one tries. */
static pm_status start_scheduler(struct pm_engine *engine, const pm_engine_options *options,
                                 uint64_t host_bytes, pm_error *error) {
    struct pm_sched_config config = pm_sched_config_default();
    uint64_t total_bytes[PM_POOLS_MAX];
    const struct pm_sched_storage storage = {.keys = engine->sched_keys,
                                             .jobs = engine->sched_jobs,
                                             .tasks = engine->sched_tasks,
                                             .n_keys = PM_ENGINE_PLACES,
                                             .n_jobs = engine->limits.n_jobs_max,
                                             .n_tasks = engine->limits.n_tasks_max};
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        total_bytes[pool] = UINT64_MAX;
    }
    total_bytes[PM_POOL_HOST] = host_bytes;
    if (options->pinned_bytes != 0) {
        total_bytes[PM_POOL_PINNED] = options->pinned_bytes;
    }
    config.age_ns = or_else(options->age_ms * MS, config.age_ns);
    config.evict_idle_ns = options->evict_idle_ms * MS;
    config.n_attempts_max = (uint32_t)or_else(options->n_attempts_max, config.n_attempts_max);
    config.retry_ns = or_else(options->retry_ms * MS, config.retry_ns);
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        const struct engine_device *device = &engine->devices[d];
        if (device->is_card) {
            total_bytes[PM_POOL_VRAM_0 + d] = device->vram_bytes;
        }
    }
    PM_TRY(pm_sched_init(&engine->sched, &config, total_bytes, &storage, error));
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        const struct engine_device *device = &engine->devices[d];
        uint32_t index;
        PM_TRY(pm_sched_add_device(&engine->sched,
                                   device->is_card ? PM_POOL_VRAM_0 + d : PM_POOL_HOST,
                                   device->n_workers, device->n_express, &index, error));
    }
    return PM_OK;
}

static pm_status open_journal(struct pm_engine *engine, const char *path, pm_error *error) {
    if (path != NULL) {
        PM_TRY(pm_journal_open(path, &engine->journal, error));
        engine->clock_offset_ns = pm_journal_clock_offset_ns(engine->journal);
    }
    engine->began_ns = pm_engine_now_ns(engine);
    return PM_OK;
}

static pm_status fill(struct pm_engine *engine, const pm_engine_options *options, pm_error *error) {
    uint64_t host_bytes = choose_host_bytes(options);
    choose_limits(options, host_bytes, &engine->limits);
    if (options->journal_path == NULL && host_bytes != UINT64_MAX) {
        host_bytes -= engine->limits.stored_bytes_max < host_bytes / 2
                          ? engine->limits.stored_bytes_max
                          : host_bytes / 2;
    }
    const pm_budget_options budget = {.struct_bytes = sizeof budget,
                                      .host_bytes = host_bytes,
                                      .pinned_bytes = options->pinned_bytes};
    engine->until_ns = PM_SCHED_NEVER;
    PM_TRY(open_journal(engine, options->journal_path, error));
    PM_TRY(allocate(engine, error));
    PM_TRY(pm_budget_create(&budget, &engine->budget, error));
    PM_TRY(pm_engine_open_devices(engine, options, error));
    PM_TRY(start_scheduler(engine, options, host_bytes, error));
    PM_TRY(pm_engine_recover(engine, options->control, error));
    return pm_engine_start_threads(engine, error);
}

pm_status pm_engine_create_with(const pm_engine_options *options,
                                const struct pm_engine_hooks *hooks, pm_engine **engine,
                                pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    pm_engine_options chosen;
    void *buffer = NULL;
    read_options(&chosen, options);
    PM_TRY(check_options(&chosen, error));
    PM_TRY(pm_memory_alloc(NULL, "engine", sizeof(pm_engine), PM_MEMORY_PLAIN, &buffer, error));
    pm_engine *made = buffer;
    pm_status status = make_locks(made, error);
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    if (hooks != NULL) {
        made->hooks = *hooks;
    }
    made->log = chosen.log;
    made->log_user = chosen.user;
    status = fill(made, &chosen, error);
    if (status != PM_OK) {
        pm_engine_destroy(made);
        return status;
    }
    *engine = made;
    return PM_OK;
}

pm_status pm_engine_create(const pm_engine_options *options, pm_engine **engine, pm_error *error) {
    return pm_engine_create_with(options, NULL, engine, error);
}

/* ---- Drain, stop, destroy ------------------------------------------------------------------- */

pm_status pm_engine_drain(pm_engine *engine, uint64_t timeout_ms, pm_error *error) {
    PM_FAIL_IF(engine == NULL, error, PM_INVALID_ARGUMENT, "engine is NULL");
    const uint64_t until_ns = pm_engine_until_ns(timeout_ms);
    pm_engine_lock(engine);
    engine->is_draining = true;
    bool in_time = true;
    while ((engine->n_open != 0 || engine->n_submitting != 0) && in_time && !engine->is_stopping) {
        in_time = pm_engine_wait_changed(engine, until_ns);
    }
    const uint32_t n_left = engine->n_open;
    const bool is_stopping = engine->is_stopping;
    pm_engine_unlock(engine);
    PM_FAIL_IF(n_left != 0 && is_stopping, error, PM_CANCELLED, "the engine stops");
    PM_FAIL_IF(n_left != 0, error, PM_DEADLINE, "%u jobs have not ended yet", n_left);
    return PM_OK;
}

/* Nobody waits for it to end any more, and nothing will happen to it. */
static void end_without_journal(struct pm_engine *engine) {
    for (struct engine_job *job = engine->first; job != NULL; job = job->next) {
        if (!job->is_final && engine->journal == NULL) {
            job->is_final = true;
            job->state = PM_ENGINE_CANCELLED;
            job->status = PM_CANCELLED;
            (void)snprintf(job->message, sizeof job->message, "the engine was stopped");
        }
    }
}

void pm_engine_stop(pm_engine *engine) {
    if (engine == NULL) {
        return;
    }
    pm_engine_lock(engine);
    const bool is_first = !engine->is_stopping;
    engine->is_draining = true;
    engine->is_stopping = true;
    __atomic_store_n(&engine->stop, 1, __ATOMIC_RELAXED);
    for (struct engine_job *job = engine->first; job != NULL; job = job->next) {
        for (uint32_t i = 0; job->parts != NULL && i < job->n_parts; ++i) {
            __atomic_store_n(&job->parts[i].cancel, 1, __ATOMIC_RELAXED);
        }
    }
    (void)pthread_cond_broadcast(&engine->work);
    (void)pthread_cond_broadcast(&engine->changed);
    pm_engine_unlock(engine);
    if (!is_first) {
        return;
    }
    pm_engine_join_threads(engine);
    pm_engine_lock(engine);
    for (struct engine_job *job = engine->first; job != NULL; job = job->next) {
        if (!job->is_final && job->has_begun && engine->journal != NULL) {
            (void)pm_journal_unbegin(engine->journal, job->id, NULL);
        }
    }
    end_without_journal(engine);
    (void)pthread_cond_broadcast(&engine->changed);
    pm_engine_unlock(engine);
}

static void free_jobs(struct engine_job *first) {
    while (first != NULL) {
        struct engine_job *next = first->next;
        pm_engine_job_free(NULL, first);
        first = next;
    }
}

/* A thread is still in a step and has the use of everything: only the folder is given back. */
static void leave_behind(struct pm_engine *engine) {
    pm_engine_lock(engine);
    struct pm_journal *journal = engine->journal;
    engine->journal = NULL;
    engine->log = NULL;
    pm_engine_unlock(engine);
    pm_journal_close(journal);
}

void pm_engine_destroy(pm_engine *engine) {
    if (engine == NULL) {
        return;
    }
    pm_engine_stop(engine);
    if (engine->is_abandoned) {
        leave_behind(engine);
        return;
    }
    pm_engine_lock(engine);
    while (pm_engine_drop_pending(engine)) {
        /* A cancel may have come after the threads had gone. */
    }
    pm_engine_unlock(engine);
    free_jobs(engine->first);
    free_jobs(engine->arriving);
    pm_engine_close_keys(engine);
    pm_engine_close_devices(engine);
    pm_budget_destroy(engine->budget);
    pm_journal_close(engine->journal);
    pm_memory_free(engine->events);
    pm_memory_free(engine->live);
    pm_memory_free(engine->sched_tasks);
    pm_memory_free(engine->sched_jobs);
    pm_memory_free(engine->sched_keys);
    destroy_locks(engine);
    pm_memory_free(engine);
}
