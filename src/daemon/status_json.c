/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/status_json.c - /status: all that goes on, as JSON of bounded size.
 *
 * What cuzk's daemon says in its /status stands at the same place with the same meaning; its
 * circuits are our keys. Everything else has a name of its own beside it.
 */
#include "daemon/status_json.h"

#include "base/clock.h"
#include "base/status.h"
#include "json/json_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEYS_MAX 512 /* as many as an engine and a configuration have */

void pm_put(json_t *object, const char *name, json_t *value) {
    (void)json_object_set_new(object, name, value);
}

void pm_put_text(json_t *object, const char *name, const char *text) {
    char clean[1024];
    pm_text_clean(text, clean, sizeof clean);
    pm_put(object, name, json_string(clean));
}

void pm_put_number(json_t *object, const char *name, uint64_t number) {
    pm_put(object, name, number <= INT64_MAX ? json_integer((json_int_t)number) : json_null());
}

void pm_put_bool(json_t *object, const char *name, bool value) {
    pm_put(object, name, json_boolean(value));
}

void pm_put_ms(json_t *object, const char *name, uint64_t ns) {
    pm_put(object, name, json_real((double)(ns / 1000) / 1e3));
}

void pm_put_secs(json_t *object, const char *name, uint64_t ns) {
    pm_put(object, name, json_real((double)(ns / 1000000) / 1e3));
}

/* Everything that is asked for first; too much for a stack. */
struct numbers {
    pm_engine_metrics metrics;
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    pm_engine_key_info keys[KEYS_MAX];
    struct pm_daemon_key_fault faults[KEYS_MAX];
    uint32_t n_devices, n_keys, n_faults;
    struct pm_status_jobs jobs;
};

/* ---- In cuzk's shape ------------------------------------------------------------------------ */

static json_t *workers_json(const struct numbers *numbers) {
    json_t *list = json_array();
    uint32_t id = 0;
    for (uint32_t d = 0; d < numbers->n_devices; ++d) {
        const pm_engine_device_info *device = &numbers->devices[d];
        const uint32_t n = device->n_workers + device->n_express;
        for (uint32_t w = 0; w < n && w < PM_STATUS_WORKERS_MAX; ++w, ++id) {
            const struct pm_status_worker *worker = &numbers->jobs.workers[d][w];
            const uint64_t job = device->jobs[w];
            json_t *object = json_object();
            pm_put_number(object, "worker_id", id);
            pm_put_text(object, "device", device->name);
            pm_put(object, "gpu_ordinal",
                   strncmp(device->name, "cuda:", 5) == 0 ? json_integer(atoi(device->name + 5))
                                                          : json_null());
            pm_put_text(object, "state", job != 0 ? "proving" : "idle");
            pm_put(object, "current_job",
                   job != 0 ? json_sprintf("%llu", (unsigned long long)job) : json_null());
            pm_put(object, "current_partition",
                   job != 0 && worker->job == job ? json_integer(worker->part) : json_null());
            pm_put_secs(object, "busy_secs", job != 0 && worker->job == job ? worker->busy_ns : 0);
            (void)json_array_append_new(list, object);
        }
    }
    return list;
}

static json_t *allocations_json(const struct numbers *numbers) {
    json_t *object = json_object();
    json_t *list = json_array();
    for (uint32_t k = 0; k < numbers->n_keys; ++k) {
        const pm_engine_key_info *key = &numbers->keys[k];
        if (key->tier != PM_ENGINE_COLD) {
            json_t *one = json_object();
            pm_put_text(one, "circuit_id", key->name);
            pm_put_number(one, "bytes", key->bytes);
            pm_put_secs(one, "last_used_secs_ago", key->idle_ms * 1000000);
            pm_put_bool(one, "evictable", key->n_users == 0);
            (void)json_array_append_new(list, one);
        }
    }
    pm_put(object, "srs", list);
    pm_put(object, "pce", json_array());
    return object;
}

static void put_cuzk(json_t *all, struct numbers *numbers) {
    const pm_engine_metrics *metrics = &numbers->metrics;
    const pm_engine_pool *host = &metrics->pools[0];
    json_t *memory = json_object(), *counters = json_object(), *buffers = json_object();
    pm_put_secs(all, "uptime_secs", metrics->uptime_ns);
    pm_put_number(memory, "total_bytes", host->total_bytes);
    pm_put_number(memory, "used_bytes", host->reserved_bytes);
    pm_put_number(
        memory, "available_bytes",
        host->total_bytes > host->reserved_bytes ? host->total_bytes - host->reserved_bytes : 0);
    pm_put(all, "memory", memory);
    pm_put(all, "pipelines", numbers->jobs.pipelines);
    pm_put(all, "gpu_workers", workers_json(numbers));
    pm_put(all, "allocations", allocations_json(numbers));
    pm_put_number(counters, "total_completed", metrics->n_done);
    pm_put_number(counters, "total_failed", metrics->n_failed);
    pm_put_number(counters, "queue_depth", pm_daemon_n_queued(metrics));
    pm_put(all, "counters", counters);
    pm_put_number(buffers, "synth_in_flight", numbers->jobs.n_preparing);
    pm_put_number(buffers, "provers_in_flight", numbers->jobs.n_proving);
    pm_put_number(buffers, "pending_handles", numbers->jobs.n_finishing);
    pm_put(all, "buffers", buffers);
}

/* ---- Ours ----------------------------------------------------------------------------------- */

static void put_daemon(json_t *all, struct pm_daemon *daemon, const pm_engine_metrics *metrics) {
    char instance[PM_INSTANCE_BYTES], reason[256] = "";
    struct timespec wall = {0};
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    pm_instance(daemon, instance);
    pm_put_text(all, "version", pm_version());
    pm_put_text(all, "instance", instance);
    pm_put_number(all, "pid", (uint64_t)getpid());
    pm_put_number(all, "restarts", daemon->n_restarts);
    pm_put_number(all, "now_us", pm_clock_now_ns() / 1000);
    pm_put_number(all, "wall_ms", (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000);
    pm_put_bool(all, "healthy", pm_is_healthy(daemon, reason, sizeof reason));
    pm_put_text(all, "reason", reason);
    pm_put_bool(all, "draining", metrics->is_draining);
    pm_put_bool(all, "journal_failing", metrics->journal_is_failing);
    pm_put_number(all, "proving_bytes", metrics->proving_bytes);
    pm_put_number(all, "stored_bytes", metrics->stored_bytes);
    pm_put_number(all, "stored_limit_bytes", metrics->stored_bytes_max);
    pm_put_number(all, "outcomes_kept", metrics->n_kept);
    pm_put_number(all, "outcomes_kept_bytes", metrics->kept_bytes);
    pm_put_number(all, "running", metrics->n_running);
}

static void put_totals(json_t *all, const pm_engine_metrics *metrics) {
    json_t *totals = json_object(), *queued = json_object(), *failures = json_object();
    pm_put_number(totals, "submitted", metrics->n_submitted);
    pm_put_number(totals, "known", metrics->n_known);
    pm_put_number(totals, "refused", metrics->n_refused);
    pm_put_number(totals, "recovered", metrics->n_recovered);
    pm_put_number(totals, "done", metrics->n_done);
    pm_put_number(totals, "failed", metrics->n_failed);
    pm_put_number(totals, "cancelled", metrics->n_cancelled);
    pm_put_number(totals, "expired", metrics->n_expired);
    pm_put_number(totals, "proofs", metrics->n_proofs);
    pm_put_number(totals, "retries", metrics->n_retries);
    pm_put_number(totals, "wrong_proofs", metrics->n_wrong_proofs);
    pm_put_number(totals, "key_loads", metrics->n_key_loads);
    pm_put_number(totals, "key_evictions", metrics->n_key_evictions);
    for (uint32_t p = PM_ENGINE_LOW; p <= PM_ENGINE_CRITICAL; ++p) {
        pm_put_number(queued, pm_engine_priority_name((pm_engine_priority)p), metrics->n_queued[p]);
    }
    for (int s = 1; s < PM_ENGINE_CAUSES; ++s) {
        if (metrics->n_failed_by[s] != 0) {
            pm_put_number(failures, pm_status_name((pm_status)s), metrics->n_failed_by[s]);
        }
    }
    pm_put(all, "totals", totals);
    pm_put(all, "queued", queued);
    pm_put(all, "failures", failures);
}

static json_t *pools_json(const pm_engine_metrics *metrics) {
    json_t *list = json_array();
    for (uint32_t p = 0; p < metrics->n_pools; ++p) {
        json_t *object = json_object();
        pm_put_text(object, "name", metrics->pools[p].name);
        pm_put_number(object, "total_bytes", metrics->pools[p].total_bytes);
        pm_put_number(object, "reserved_bytes", metrics->pools[p].reserved_bytes);
        pm_put_number(object, "peak_bytes", metrics->pools[p].peak_bytes);
        (void)json_array_append_new(list, object);
    }
    return list;
}

/* buckets[i]: at most 2^i milliseconds, as in pm_engine_histogram. */
static json_t *stages_json(const pm_engine_metrics *metrics) {
    json_t *list = json_array();
    for (uint32_t s = 0; s < PM_ENGINE_STAGES; ++s) {
        json_t *object = json_object(), *buckets = json_array();
        for (uint32_t i = 0; i < PM_ENGINE_BUCKETS; ++i) {
            const uint64_t n = metrics->stages[s].buckets[i];
            (void)json_array_append_new(buckets, json_integer((json_int_t)n));
        }
        pm_put_text(object, "name", pm_engine_stage_name((pm_engine_stage)s));
        pm_put_number(object, "count", metrics->stages[s].n);
        pm_put_secs(object, "sum_secs", metrics->stages[s].sum_ns);
        pm_put(object, "buckets", buckets);
        (void)json_array_append_new(list, object);
    }
    return list;
}

static json_t *device_json(const pm_engine_device_info *device) {
    json_t *object = json_object(), *jobs = json_array();
    const uint32_t n_workers = device->n_workers + device->n_express;
    pm_put_text(object, "name", device->name);
    pm_put_text(object, "model", device->model);
    pm_put_bool(object, "quarantined", device->is_quarantined != 0);
    pm_put_text(object, "status", pm_status_name((pm_status)device->status));
    pm_put_number(object, "workers", device->n_workers);
    pm_put_number(object, "express_workers", device->n_express);
    pm_put_number(object, "busy", device->n_busy);
    pm_put_secs(object, "busy_secs", device->busy_ns);
    pm_put_secs(object, "held_secs", device->held_ns);
    pm_put_number(object, "proofs", device->n_proofs);
    pm_put_number(object, "faults", device->n_faults);
    pm_put_number(object, "total_bytes", device->total_bytes);
    pm_put_number(object, "reserved_bytes", device->reserved_bytes);
    for (uint32_t w = 0; w < n_workers && w < PM_STATUS_WORKERS_MAX; ++w) {
        (void)json_array_append_new(jobs, json_integer((json_int_t)device->jobs[w]));
    }
    pm_put(object, "jobs", jobs);
    return object;
}

/* Why a key of the configuration cannot be used; "" for one that can. */
static const char *fault_of(const struct numbers *numbers, const char *name) {
    for (uint32_t i = 0; i < numbers->n_faults; ++i) {
        if (strcmp(numbers->faults[i].name, name) == 0) {
            return numbers->faults[i].message;
        }
    }
    return "";
}

static json_t *key_json(const struct numbers *numbers, const pm_engine_key_info *key) {
    static const char *const tiers[] = {"hot", "warm", "cold"};
    json_t *object = json_object(), *devices = json_array();
    pm_put_text(object, "name", key->name);
    pm_put_text(object, "path", key->path);
    pm_put_text(object, "tier", tiers[key->tier <= PM_ENGINE_COLD ? key->tier : PM_ENGINE_COLD]);
    for (uint32_t d = 0; d < numbers->n_devices; ++d) {
        if ((key->device_mask >> d & 1) != 0) {
            (void)json_array_append_new(devices, json_string(numbers->devices[d].name));
        }
    }
    pm_put(object, "devices", devices);
    pm_put_text(object, "curve", pm_curve_name((pm_curve_id)key->curve));
    pm_put_number(object, "log_n", key->log_n);
    pm_put_number(object, "n_public", key->n_public);
    pm_put_number(object, "n_vars", key->n_vars);
    pm_put_number(object, "bytes", key->bytes);
    pm_put_number(object, "proof_bytes", key->proof_bytes);
    pm_put_number(object, "users", key->n_users);
    pm_put_number(object, "idle_ms", key->idle_ms);
    pm_put_number(object, "loads", key->n_loads);
    pm_put_number(object, "evictions", key->n_evictions);
    pm_put_ms(object, "load_ms", key->load_ns);
    pm_put_ms(object, "opening_ms", key->opening_ns);
    pm_put_text(object, "status", pm_status_name((pm_status)key->status));
    pm_put_text(object, "message", fault_of(numbers, key->name));
    return object;
}

static json_t *rpc_json(struct pm_daemon *daemon) {
    struct pm_rpc_counts counts = {0};
    json_t *object = json_object();
    if (daemon->rpc != NULL) {
        pm_rpc_counts_now(daemon->rpc, &counts);
    }
    pm_put_number(object, "calls", counts.n_calls);
    pm_put_number(object, "refused", counts.n_refused);
    pm_put_number(object, "under_way", counts.n_under_way);
    pm_put_number(object, "parked", counts.n_parked);
    return object;
}

static json_t *process_json(void) {
    struct pm_process_usage usage;
    json_t *object = json_object();
    pm_process_usage_now(&usage);
    pm_put_number(object, "resident_bytes", usage.resident_bytes);
    pm_put_number(object, "resident_peak_bytes", usage.resident_peak_bytes);
    pm_put_number(object, "threads", usage.n_threads);
    pm_put_number(object, "fds", usage.n_fds);
    pm_put_secs(object, "cpu_secs", usage.cpu_ns);
    return object;
}

static json_t *status_json(struct pm_daemon *daemon, struct numbers *numbers) {
    json_t *all = json_object(), *devices = json_array(), *keys = json_array();
    put_daemon(all, daemon, &numbers->metrics);
    put_cuzk(all, numbers);
    put_totals(all, &numbers->metrics);
    pm_put(all, "pools", pools_json(&numbers->metrics));
    pm_put(all, "stages", stages_json(&numbers->metrics));
    for (uint32_t d = 0; d < numbers->n_devices; ++d) {
        (void)json_array_append_new(devices, device_json(&numbers->devices[d]));
    }
    for (uint32_t k = 0; k < numbers->n_keys; ++k) {
        (void)json_array_append_new(keys, key_json(numbers, &numbers->keys[k]));
    }
    pm_put(all, "devices", devices);
    pm_put(all, "keys", keys);
    pm_put(all, "jobs", numbers->jobs.jobs);
    pm_put_bool(all, "jobs_are_cut", numbers->jobs.is_cut);
    pm_put(all, "rpc", rpc_json(daemon));
    pm_put(all, "process", process_json());
    return all;
}

pm_status pm_status_json(struct pm_daemon *daemon, _Atomic uint64_t *floor, char **text,
                         size_t *n_bytes, pm_error *error) {
    const uint64_t n_failures = pm_json_memory_failures();
    struct numbers *numbers = calloc(1, sizeof *numbers);
    PM_FAIL_IF(numbers == NULL, error, PM_NO_MEMORY, "no memory for the status");
    numbers->n_devices = PM_ENGINE_DEVICES_MAX;
    numbers->n_keys = KEYS_MAX;
    (void)pm_engine_metrics_now(daemon->engine, &numbers->metrics);
    (void)pm_engine_devices(daemon->engine, numbers->devices, &numbers->n_devices);
    (void)pm_daemon_list_keys(daemon, numbers->keys, &numbers->n_keys);
    numbers->n_keys = numbers->n_keys < KEYS_MAX ? numbers->n_keys : KEYS_MAX;
    numbers->n_faults = pm_daemon_key_faults(daemon, numbers->faults, KEYS_MAX);
    numbers->n_faults = numbers->n_faults < KEYS_MAX ? numbers->n_faults : KEYS_MAX;
    numbers->jobs.devices = numbers->devices;
    numbers->jobs.n_devices = numbers->n_devices;
    const pm_status status = pm_status_jobs_collect(daemon, floor, &numbers->jobs, error);
    char *dumped = NULL;
    if (status == PM_OK) {
        json_t *all = status_json(daemon, numbers);
        dumped = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(12));
        json_decref(all);
    }
    free(numbers);
    PM_TRY(status);
    if (dumped == NULL || pm_json_memory_failures() != n_failures) {
        free(dumped);
        PM_FAIL(error, PM_NO_MEMORY, "no memory for the status");
    }
    *text = dumped;
    *n_bytes = strlen(dumped);
    return PM_OK;
}

bool pm_is_healthy(struct pm_daemon *daemon, char *reason, size_t reason_bytes) {
    pm_engine_metrics metrics;
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    uint32_t n = PM_ENGINE_DEVICES_MAX, n_quarantined = 0;
    (void)pm_engine_metrics_now(daemon->engine, &metrics);
    (void)pm_engine_devices(daemon->engine, devices, &n);
    for (uint32_t d = 0; d < n; ++d) {
        n_quarantined += devices[d].is_quarantined != 0;
    }
    const char *why = metrics.journal_is_failing ? "the journal cannot be written: look at its disk"
                      : n_quarantined == n
                          ? "every device is quarantined: restore one, or start the daemon anew"
                      : metrics.is_draining ? "draining: no more jobs are taken"
                                            : "";
    (void)snprintf(reason, reason_bytes, "%s", why);
    return why[0] == '\0';
}
