/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/status_json.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHUNK 64 /* jobs asked for at a time: the engine is locked meanwhile */
#define ENDED_MAX 100
#define OPEN_MAX (PM_STATUS_JOBS_MAX - ENDED_MAX)
#define PARTS_OF_JOB_MAX 64
#define PARTS_MAX 4096
#define PIPELINE_MS 30000 /* so long an ended job stays among cuzk's pipelines */

struct job_list {
    uint32_t n_open;
    uint64_t n_ended; /* seen; the last ENDED_MAX are here */
    bool is_cut;
    pm_engine_job open[OPEN_MAX];
    pm_engine_job ended[ENDED_MAX];
    pm_engine_job chunk[CHUNK];
};

static bool has_ended(const pm_engine_job *job) {
    return job->state >= PM_ENGINE_DONE;
}

/* False: there are too many. */
static bool take(struct job_list *list, const pm_engine_job *job) {
    if (has_ended(job)) {
        list->ended[list->n_ended++ % ENDED_MAX] = *job;
    } else if (list->n_open < OPEN_MAX) {
        list->open[list->n_open++] = *job;
    } else {
        list->is_cut = true;
    }
    return !list->is_cut;
}

static uint32_t n_ended_kept(const struct job_list *list) {
    return list->n_ended < ENDED_MAX ? (uint32_t)list->n_ended : ENDED_MAX;
}

static const pm_engine_job *ended_at(const struct job_list *list, uint32_t i) {
    return &list->ended[(list->n_ended - n_ended_kept(list) + i) % ENDED_MAX];
}

/* What stands before the first job that is told of has ended and is not told of any more: the next
 * walk begins behind it. Numbers above `settled` may have come since, or come yet. */
static void raise_floor(const struct job_list *list, uint64_t settled, _Atomic uint64_t *floor) {
    uint64_t first = UINT64_MAX;
    if (list->n_open != 0) {
        first = list->open[0].job;
    }
    if (list->n_ended != 0 && ended_at(list, 0)->job < first) {
        first = ended_at(list, 0)->job;
    }
    if (first != UINT64_MAX) {
        atomic_store(floor, first - 1 < settled ? first - 1 : settled);
    }
}

static void walk(pm_engine *engine, _Atomic uint64_t *floor, struct job_list *list) {
    pm_engine_metrics metrics;
    (void)pm_engine_metrics_now(engine, &metrics);
    uint64_t after = atomic_load(floor);
    uint32_t n = CHUNK;
    bool goes_on = true;
    while (goes_on && n == CHUNK) {
        (void)pm_engine_jobs(engine, after, list->chunk, &n);
        for (uint32_t i = 0; goes_on && i < n; ++i) {
            goes_on = take(list, &list->chunk[i]);
            after = list->chunk[i].job;
        }
    }
    raise_floor(list, metrics.settled_job, floor);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static const char *cuzk_state(uint32_t state) {
    static const char *const names[] = {"pending", "synthesizing", "gpu",   "gpu",
                                        "done",    "failed",       "failed"};
    return state < sizeof names / sizeof names[0] ? names[state] : "pending";
}

static void put_device(json_t *object, const struct pm_status_jobs *status, int32_t device) {
    if (device >= 0 && (uint32_t)device < status->n_devices) {
        pm_put_text(object, "device", status->devices[device].name);
    } else {
        pm_put(object, "device", json_null());
    }
}

static void count_part(struct pm_status_jobs *status, uint64_t job, const pm_engine_part *part) {
    status->n_preparing += part->state == PM_ENGINE_PREPARING;
    status->n_proving += part->state == PM_ENGINE_PROVING;
    status->n_finishing += part->state == PM_ENGINE_FINISHING;
    if (part->state >= PM_ENGINE_PREPARING && part->state <= PM_ENGINE_FINISHING &&
        part->device >= 0 && (uint32_t)part->device < PM_ENGINE_DEVICES_MAX &&
        part->worker < PM_STATUS_WORKERS_MAX) {
        status->workers[part->device][part->worker] = (struct pm_status_worker){
            .job = job,
            .part = part->part,
            .busy_ns = part->prepare_ns + part->prove_ns + part->finish_ns};
    }
}

static json_t *part_json(const struct pm_status_jobs *status, const pm_engine_part *part) {
    json_t *object = json_object();
    pm_put_number(object, "part", part->part);
    pm_put_text(object, "state", pm_engine_state_name((pm_engine_state)part->state));
    put_device(object, status, part->device);
    pm_put_number(object, "worker", part->worker);
    pm_put_number(object, "attempts_failed", part->n_attempts);
    pm_put_text(object, "status", pm_status_name((pm_status)part->status));
    pm_put_ms(object, "prepare_ms", part->prepare_ns);
    pm_put_ms(object, "prove_ms", part->prove_ns);
    pm_put_ms(object, "finish_ms", part->finish_ns);
    return object;
}

static json_t *partition_json(const pm_engine_part *part) {
    json_t *object = json_object();
    pm_put_number(object, "index", part->part);
    pm_put_text(object, "state", cuzk_state(part->state));
    pm_put_ms(object, "synth_ms", part->prepare_ns);
    pm_put_ms(object, "gpu_ms", part->prove_ns + part->finish_ns);
    return object;
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

static json_t *job_json(const struct pm_status_jobs *status, const pm_engine_job *job) {
    json_t *object = json_object();
    pm_put_number(object, "job", job->job);
    pm_put_text(object, "request_id", job->request_id);
    pm_put_text(object, "key", job->key);
    pm_put_text(object, "priority", pm_engine_priority_name((pm_engine_priority)job->priority));
    pm_put_text(object, "state", pm_engine_state_name((pm_engine_state)job->state));
    pm_put_text(object, "status", pm_status_name((pm_status)job->status));
    pm_put_number(object, "n_parts", job->n_parts);
    pm_put_number(object, "n_parts_done", job->n_parts_done);
    pm_put_number(object, "retries", job->n_retries);
    pm_put_number(object, "n_ahead", job->n_ahead);
    put_device(object, status, job->device);
    pm_put(object, "accepted_ms", json_integer(job->accepted_ms));
    pm_put(object, "ended_ms", job->ended_ms != 0 ? json_integer(job->ended_ms) : json_null());
    pm_put_ms(object, "queue_ms", job->queue_ns);
    pm_put_ms(object, "key_ms", job->key_ns);
    pm_put_ms(object, "prepare_ms", job->prepare_ns);
    pm_put_ms(object, "prove_ms", job->prove_ns);
    pm_put_ms(object, "finish_ms", job->finish_ns);
    pm_put_ms(object, "total_ms", job->total_ns);
    pm_put_text(object, "phase", job->phase);
    pm_put_number(object, "phase_done", job->phase_done);
    pm_put_number(object, "phase_total", job->phase_total);
    pm_put_text(object, "waits_for", job->waits_for);
    pm_put_text(object, "message", job->message);
    pm_put_text(object, "history", job->history);
    return object;
}

/* cuzk knows jobs by their request ids. */
static json_t *pipeline_json(const pm_engine_job *job) {
    char number[32];
    json_t *object = json_object();
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)job->job);
    pm_put_text(object, "job_id", job->request_id[0] != '\0' ? job->request_id : number);
    pm_put_text(object, "proof_kind", job->key);
    pm_put_secs(object, "started_secs_ago",
                job->total_ns > job->queue_ns ? job->total_ns - job->queue_ns : 0);
    pm_put_number(object, "total_partitions", job->n_parts);
    pm_put_number(object, "partitions_done", job->n_parts_done);
    return object;
}

static bool is_in_pipelines(const pm_engine_job *job) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return has_ended(job) ? now_ms - job->ended_ms < PIPELINE_MS : job->state != PM_ENGINE_QUEUED;
}

static void add_job(pm_engine *engine, struct pm_status_jobs *status, const pm_engine_job *job) {
    pm_engine_part parts[PARTS_OF_JOB_MAX];
    uint32_t n = PARTS_OF_JOB_MAX;
    json_t *object = job_json(status, job);
    json_t *list = json_array();
    json_t *partitions = json_array();
    if (job->state == PM_ENGINE_QUEUED || status->n_parts + n > PARTS_MAX ||
        pm_engine_job_parts(engine, job->job, 0, parts, &n, NULL) != PM_OK) {
        n = 0;
    }
    for (uint32_t i = 0; i < n; ++i) {
        count_part(status, job->job, &parts[i]);
        (void)json_array_append_new(list, part_json(status, &parts[i]));
        (void)json_array_append_new(partitions, partition_json(&parts[i]));
    }
    status->n_parts += n;
    status->is_cut |= n < job->n_parts && job->state != PM_ENGINE_QUEUED;
    pm_put(object, "parts", list);
    (void)json_array_append_new(status->jobs, object);
    if (is_in_pipelines(job)) {
        json_t *pipeline = pipeline_json(job);
        pm_put(pipeline, "partitions", partitions);
        (void)json_array_append_new(status->pipelines, pipeline);
    } else {
        json_decref(partitions);
    }
}

pm_status pm_status_jobs_collect(struct pm_daemon *daemon, _Atomic uint64_t *floor,
                                 struct pm_status_jobs *status, pm_error *error) {
    struct job_list *list = calloc(1, sizeof *list);
    PM_FAIL_IF(list == NULL, error, PM_NO_MEMORY, "no memory for the list of jobs");
    walk(daemon->engine, floor, list);
    status->jobs = json_array();
    status->pipelines = json_array();
    status->is_cut = list->is_cut;
    for (uint32_t i = 0; i < list->n_open; ++i) {
        add_job(daemon->engine, status, &list->open[i]);
    }
    for (uint32_t i = 0; i < n_ended_kept(list); ++i) {
        add_job(daemon->engine, status, ended_at(list, i));
    }
    free(list);
    return PM_OK;
}
