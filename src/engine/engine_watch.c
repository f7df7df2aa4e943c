/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/engine_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* ---- Names ---------------------------------------------------------------------------------- */

const char *pm_engine_state_name(pm_engine_state state) {
    static const char *const names[] = {"queued", "preparing", "proving",  "finishing",
                                        "done",   "failed",    "cancelled"};
    return (uint32_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

const char *pm_engine_priority_name(pm_engine_priority priority) {
    return priority == PM_ENGINE_DEFAULT ? "default"
                                         : pm_priority_name((enum pm_priority)(priority - 1));
}

const char *pm_engine_stage_name(pm_engine_stage stage) {
    static const char *const names[PM_ENGINE_STAGES] = {"queue",  "key",    "prepare", "prove",
                                                        "finish", "verify", "job"};
    return (uint32_t)stage < PM_ENGINE_STAGES ? names[stage] : "unknown";
}

/* ---- Events --------------------------------------------------------------------------------- */

static pm_engine_event *next_event(struct pm_engine *engine, pm_engine_event_kind kind) {
    pm_engine_event *event = &engine->events[engine->n_events % PM_ENGINE_EVENTS];
    *event = (pm_engine_event){.struct_bytes = sizeof *event,
                               .kind = (uint32_t)kind,
                               .sequence = ++engine->n_events,
                               .at_ns = pm_clock_now_ns(),
                               .wall_ms = pm_engine_wall_ms(engine),
                               .device = -1};
    (void)pthread_cond_broadcast(&engine->changed);
    return event;
}

void pm_engine_event_job(struct pm_engine *engine, struct engine_job *job) {
    pm_engine_event *event = next_event(engine, PM_ENGINE_EVENT_JOB);
    event->job = job->id;
    event->state = (uint32_t)pm_engine_job_state(engine, job);
    event->status = (int32_t)(job->is_final ? job->status : PM_OK);
    memcpy(event->key, job->key_name, sizeof event->key);
}

void pm_engine_event_step(struct pm_engine *engine, bool begins, const struct engine_job *job,
                          uint32_t part, int32_t device, uint32_t worker, pm_engine_stage stage,
                          pm_status status) {
    pm_engine_event *event =
        next_event(engine, begins ? PM_ENGINE_EVENT_BEGIN : PM_ENGINE_EVENT_END);
    event->job = job->id;
    event->part = part;
    event->device = device;
    event->worker = worker;
    event->stage = (uint32_t)stage;
    event->status = (int32_t)status;
    if (!begins && status == PM_OK && stage == PM_ENGINE_STAGE_FINISH) {
        event->taken_ns = job->parts[part].taken_ns;
        event->left_ns = job->parts[part].left_ns;
    }
    memcpy(event->key, job->key_name, sizeof event->key);
}

void pm_engine_event_key(struct pm_engine *engine, const struct engine_key *key,
                         pm_engine_tier tier, int32_t device, pm_status status) {
    pm_engine_event *event = next_event(engine, PM_ENGINE_EVENT_KEY);
    event->device = device;
    event->state = (uint32_t)tier;
    event->status = (int32_t)status;
    memcpy(event->key, key->name, sizeof event->key);
}

void pm_engine_event_other(struct pm_engine *engine, pm_engine_event_kind kind, int32_t device,
                           pm_status status) {
    pm_engine_event *event = next_event(engine, kind);
    event->device = device;
    event->status = (int32_t)status;
}

pm_status pm_engine_next_event(pm_engine *engine, uint64_t after, uint64_t timeout_ms,
                               pm_engine_event *event) {
    if (engine == NULL || event == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    const uint64_t until_ns = pm_engine_until_ns(timeout_ms);
    pm_status status = PM_OK;
    pm_engine_lock(engine);
    after = after == UINT64_MAX ? engine->n_events : after;
    bool in_time = timeout_ms != 0;
    while (engine->n_events <= after && in_time && !engine->is_stopping) {
        in_time = pm_engine_wait_changed(engine, until_ns);
    }
    if (engine->n_events > after) {
        const uint64_t oldest =
            engine->n_events > PM_ENGINE_EVENTS ? engine->n_events - PM_ENGINE_EVENTS : 0;
        const uint64_t index = after > oldest ? after : oldest;
        *event = engine->events[index % PM_ENGINE_EVENTS];
    } else {
        status = engine->is_stopping ? PM_CANCELLED : PM_DEADLINE;
    }
    pm_engine_unlock(engine);
    return status;
}

/* ---- Metrics -------------------------------------------------------------------------------- */

void pm_engine_measure(struct pm_engine *engine, pm_engine_stage stage, uint64_t ns) {
    pm_engine_histogram *histogram = &engine->metrics.stages[stage];
    uint32_t bucket = 0;
    while (bucket + 1 < PM_ENGINE_BUCKETS && ns > MS << bucket) {
        ++bucket;
    }
    ++histogram->n;
    histogram->sum_ns += ns;
    ++histogram->buckets[bucket];
}

static void add_pool(const struct pm_engine *engine, uint32_t pool, const char *name,
                     pm_engine_metrics *metrics) {
    if (metrics->n_pools < PM_ENGINE_POOLS_MAX) {
        pm_engine_pool *added = &metrics->pools[metrics->n_pools++];
        (void)snprintf(added->name, sizeof added->name, "%s", name);
        added->total_bytes = engine->sched.total_bytes[pool];
        added->reserved_bytes = engine->sched.reserved_bytes[pool];
        added->peak_bytes = engine->peak_bytes[pool];
    }
}

static void count_jobs(const struct pm_engine *engine, pm_engine_metrics *metrics) {
    for (uint32_t j = 0; j < engine->sched.n_jobs_max; ++j) {
        const struct engine_job *job = engine->live[j];
        if (job != NULL) {
            metrics->n_queued[job->priority] += !job->has_begun;
            metrics->n_running += job->has_begun;
        }
    }
}

static uint64_t settled_job(const struct pm_engine *engine) {
    uint64_t settled = engine->last_id;
    for (const struct engine_job *job = engine->arriving; job != NULL; job = job->next) {
        settled = job->above < settled ? job->above : settled;
    }
    return settled;
}

pm_status pm_engine_metrics_now(pm_engine *engine, pm_engine_metrics *metrics) {
    if (engine == NULL || metrics == NULL) {
        return PM_INVALID_ARGUMENT;
    }
    pm_engine_lock(engine);
    *metrics = engine->metrics;
    metrics->struct_bytes = sizeof *metrics;
    metrics->uptime_ns = pm_engine_now_ns(engine) - engine->began_ns;
    metrics->n_kept = engine->n_kept;
    metrics->kept_bytes = engine->kept_bytes;
    metrics->settled_job = settled_job(engine);
    metrics->is_draining = engine->is_draining;
    metrics->n_threads = engine->n_threads;
    metrics->journal_is_failing =
        engine->journal_fails || engine->arrivals_fail || engine->stores_fail;
    metrics->stored_bytes = engine->stored_bytes;
    metrics->stored_bytes_max = engine->limits.stored_bytes_max;
    metrics->proving_bytes = pm_budget_reserved_bytes(engine->budget);
    add_pool(engine, PM_POOL_HOST, "host", metrics);
    add_pool(engine, PM_POOL_PINNED, "pinned", metrics);
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        if (engine->devices[d].is_card) {
            add_pool(engine, PM_POOL_VRAM_0 + d, engine->devices[d].name, metrics);
        }
    }
    count_jobs(engine, metrics);
    pm_engine_unlock(engine);
    return PM_OK;
}
