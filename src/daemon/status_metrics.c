/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/status_metrics.c - everything there is to count, in Prometheus' text format 0.0.4.
 *
 * Sizes are in bytes and times in seconds. Names of the cuzk daemon stand beside ours where they
 * mean the same, so that its dashboards go on working.
 */
#include "daemon/http.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 512 /* as many as an engine and a configuration have */

/* Everything at about one time; too much for a stack. */
struct numbers {
    pm_engine_metrics metrics;
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    pm_engine_key_info keys[KEYS_MAX];
    uint32_t n_devices, n_keys;
};

/* Whether a job can fail with it: every status there is, but those that are said to a caller who
 * asks for something else. A number without a name is no status. */
static bool can_be_cause(pm_status status) {
    switch (status) {
    case PM_OK:
    case PM_PROOF_INVALID: /* a job says SELF_VERIFY */
    case PM_CANCELLED:     /* is another end */
    case PM_BUFFER_TOO_SMALL:
    case PM_SAME_FILE:
        return false;
    default:
        return strcmp(pm_status_name(status), "UNKNOWN") != 0;
    }
}

static void add_jobs(struct pm_text *text, const pm_engine_metrics *metrics) {
    pm_metrics_family(text, "proofmill_jobs_queued", "gauge", "Jobs that have not begun.");
    for (uint32_t p = PM_ENGINE_LOW; p <= PM_ENGINE_CRITICAL; ++p) {
        pm_text_add(text, "proofmill_jobs_queued{priority=\"%s\"} %u\n",
                    pm_engine_priority_name((pm_engine_priority)p), metrics->n_queued[p]);
    }
    pm_metrics_one(text, "proofmill_jobs_running", "gauge", "Jobs that are being worked on.",
                   metrics->n_running);
    pm_metrics_one(text, "proofmill_jobs_submitted_total", "counter", "Jobs accepted.",
                   metrics->n_submitted);
    pm_metrics_one(text, "proofmill_jobs_known_total", "counter",
                   "Submissions whose request id was known; they made no job.", metrics->n_known);
    pm_metrics_one(text, "proofmill_jobs_refused_total", "counter", "Submissions not accepted.",
                   metrics->n_refused);
    pm_metrics_one(text, "proofmill_jobs_recovered_total", "counter",
                   "Jobs taken over from the journal of an earlier start.", metrics->n_recovered);
    pm_metrics_one(text, "proofmill_jobs_done_total", "counter", "Jobs that ended well.",
                   metrics->n_done);
    pm_metrics_one(text, "proofmill_jobs_failed_total", "counter", "Jobs that failed.",
                   metrics->n_failed);
    pm_metrics_one(text, "proofmill_jobs_cancelled_total", "counter", "Jobs that were cancelled.",
                   metrics->n_cancelled);
    pm_metrics_one(text, "proofmill_jobs_expired_total", "counter",
                   "Jobs whose deadline passed; they are among those that failed.",
                   metrics->n_expired);
    pm_metrics_family(text, "proofmill_job_failures_total", "counter",
                      "Jobs that failed, by the name of the status.");
    /* Each from the start, so that its first failure is an increase. */
    for (int s = 1; s < PM_ENGINE_CAUSES; ++s) {
        if (metrics->n_failed_by[s] != 0 || can_be_cause((pm_status)s)) {
            pm_text_add(text, "proofmill_job_failures_total{");
            pm_metrics_label(text, "cause", pm_status_name((pm_status)s));
            pm_text_add(text, "} %llu\n", (unsigned long long)metrics->n_failed_by[s]);
        }
    }
}

static void add_proofs(struct pm_text *text, const pm_engine_metrics *metrics) {
    pm_metrics_one(text, "proofmill_proofs_total", "counter",
                   "Proofs made and verified, one for each part of a job.", metrics->n_proofs);
    pm_metrics_one(text, "proofmill_proof_retries_total", "counter",
                   "Parts that were tried again after a fault.", metrics->n_retries);
    pm_metrics_one(text, "proofmill_wrong_proofs_total", "counter",
                   "Proofs that a device computed wrongly: withheld, and made well afterwards.",
                   metrics->n_wrong_proofs);
    pm_metrics_one(text, "proofmill_outcomes_kept", "gauge", "Ended jobs that can be asked for.",
                   metrics->n_kept);
    pm_metrics_one(text, "proofmill_outcomes_kept_bytes", "gauge",
                   "Memory of ended jobs, beside the budget.", metrics->kept_bytes);
    pm_metrics_one(text, "proofmill_keys_loaded_total", "counter", "Keys opened, all together.",
                   metrics->n_key_loads);
    pm_metrics_one(text, "proofmill_keys_evicted_total", "counter", "Keys evicted, all together.",
                   metrics->n_key_evictions);
    pm_metrics_one(text, "proofmill_draining", "gauge", "1: no more jobs are taken.",
                   metrics->is_draining);
    pm_metrics_one(text, "proofmill_journal_failing", "gauge",
                   "1: the journal cannot be written, and no job is taken.",
                   metrics->journal_is_failing);
    pm_metrics_one(text, "proofmill_stored_bytes", "gauge",
                   "Inputs handed over as bytes that wait for their proofs.",
                   metrics->stored_bytes);
    pm_metrics_one(text, "proofmill_stored_limit_bytes", "gauge", "The most of them.",
                   metrics->stored_bytes_max);
    pm_metrics_one(text, "proofmill_engine_threads", "gauge", "Threads of the engine.",
                   metrics->n_threads);
}

static void add_pools(struct pm_text *text, const pm_engine_metrics *metrics) {
    pm_metrics_family(text, "proofmill_pool_budget_bytes", "gauge",
                      "What proofs and keys may take; a pool that is not counted has none.");
    for (uint32_t p = 0; p < metrics->n_pools; ++p) {
        const pm_engine_pool *pool = &metrics->pools[p];
        if (pool->total_bytes != UINT64_MAX) {
            pm_text_add(text, "proofmill_pool_budget_bytes{pool=\"%s\"} %llu\n", pool->name,
                        (unsigned long long)pool->total_bytes);
        }
    }
    pm_metrics_family(text, "proofmill_pool_reserved_bytes", "gauge",
                      "What admitted proofs and resident keys have reserved.");
    for (uint32_t p = 0; p < metrics->n_pools; ++p) {
        pm_text_add(text, "proofmill_pool_reserved_bytes{pool=\"%s\"} %llu\n",
                    metrics->pools[p].name, (unsigned long long)metrics->pools[p].reserved_bytes);
    }
    pm_metrics_family(text, "proofmill_pool_peak_bytes", "gauge",
                      "The most that was reserved since the start.");
    for (uint32_t p = 0; p < metrics->n_pools; ++p) {
        pm_text_add(text, "proofmill_pool_peak_bytes{pool=\"%s\"} %llu\n", metrics->pools[p].name,
                    (unsigned long long)metrics->pools[p].peak_bytes);
    }
    pm_metrics_one(text, "proofmill_proving_bytes", "gauge",
                   "What proofs under way hold now of the process's memory.",
                   metrics->proving_bytes);
}

/* The engine's buckets stand side by side, Prometheus' each contain those before; the last one has
 * no upper end. */
static void add_stages(struct pm_text *text, const pm_engine_metrics *metrics) {
    static const char name[] = "proofmill_stage_duration_seconds";
    pm_metrics_family(text, name, "histogram",
                      "Time that stages took; job: from being accepted to the end.");
    for (uint32_t s = 0; s < PM_ENGINE_STAGES; ++s) {
        const pm_engine_histogram *histogram = &metrics->stages[s];
        const char *stage = pm_engine_stage_name((pm_engine_stage)s);
        uint64_t n = 0;
        for (uint32_t i = 0; i + 1 < PM_ENGINE_BUCKETS; ++i) {
            n += histogram->buckets[i];
            pm_text_add(text, "%s_bucket{stage=\"%s\",le=\"%.7g\"} %llu\n", name, stage,
                        (double)(UINT64_C(1) << i) / 1e3, (unsigned long long)n);
        }
        n += histogram->buckets[PM_ENGINE_BUCKETS - 1];
        pm_text_add(text,
                    "%s_bucket{stage=\"%s\",le=\"+Inf\"} %llu\n%s_sum{stage=\"%s\"} %.9f\n"
                    "%s_count{stage=\"%s\"} %llu\n",
                    name, stage, (unsigned long long)n, name, stage,
                    (double)histogram->sum_ns / 1e9, name, stage, (unsigned long long)n);
    }
}

static void add_cuzk(struct pm_text *text, const struct numbers *numbers) {
    const pm_engine_metrics *metrics = &numbers->metrics;
    const uint64_t n_queued = pm_daemon_n_queued(metrics);
    uint64_t n_workers = 0;
    for (uint32_t d = 0; d < numbers->n_devices; ++d) {
        n_workers += numbers->devices[d].n_workers;
    }
    pm_metrics_one(text, "cuzk_proofs_completed_total", "counter", "Jobs that ended well.",
                   metrics->n_done);
    pm_metrics_one(text, "cuzk_proofs_failed_total", "counter", "Jobs that failed.",
                   metrics->n_failed);
    pm_metrics_one(text, "cuzk_uptime_seconds", "gauge", "Time since the start.",
                   metrics->uptime_ns / 1000000000);
    pm_metrics_one(text, "cuzk_queue_depth", "gauge", "Jobs that have not begun.", n_queued);
    pm_metrics_one(text, "cuzk_running_jobs", "gauge", "Jobs that are being worked on.",
                   metrics->n_running);
    pm_metrics_one(text, "cuzk_gpu_workers", "gauge", "Workers of all devices.", n_workers);
}

static void add_all(struct pm_daemon *daemon, struct pm_text *text, const struct numbers *numbers) {
    const pm_engine_metrics *metrics = &numbers->metrics;
    pm_metrics_family(text, "proofmill_build_info", "gauge", "Always 1; the version is a label.");
    pm_text_add(text, "proofmill_build_info{");
    pm_metrics_label(text, "version", pm_version());
    pm_text_add(text, ",");
    pm_metrics_label(text, "compiler", __VERSION__);
    pm_text_add(text, "} 1\n");
    pm_metrics_family(text, "proofmill_uptime_seconds", "gauge", "Time since the start.");
    pm_text_add(text, "proofmill_uptime_seconds %.3f\n", (double)metrics->uptime_ns / 1e9);
    pm_metrics_one(text, "proofmill_restarts_total", "counter",
                   "How often the guardian has started the serving process anew after a fault.",
                   daemon->n_restarts);
    add_jobs(text, metrics);
    add_proofs(text, metrics);
    add_pools(text, metrics);
    add_stages(text, metrics);
    pm_metrics_keys(text, numbers->keys, numbers->n_keys, numbers->devices, numbers->n_devices);
    pm_metrics_devices(text, numbers->devices, numbers->n_devices);
    if (daemon->rpc != NULL) {
        struct pm_rpc_counts counts = {0};
        pm_rpc_counts_now(daemon->rpc, &counts);
        pm_metrics_rpc(text, &counts);
    }
    pm_metrics_process(text);
    add_cuzk(text, numbers);
}

pm_status pm_metrics_text(struct pm_daemon *daemon, char **text, size_t *n_bytes, pm_error *error) {
    struct pm_text all = {0};
    struct numbers *numbers = calloc(1, sizeof *numbers);
    PM_FAIL_IF(numbers == NULL, error, PM_NO_MEMORY, "no memory for the metrics");
    numbers->n_devices = PM_ENGINE_DEVICES_MAX;
    numbers->n_keys = KEYS_MAX;
    (void)pm_engine_metrics_now(daemon->engine, &numbers->metrics);
    (void)pm_engine_devices(daemon->engine, numbers->devices, &numbers->n_devices);
    (void)pm_daemon_list_keys(daemon, numbers->keys, &numbers->n_keys);
    if (numbers->n_keys > KEYS_MAX) {
        numbers->n_keys = KEYS_MAX;
    }
    add_all(daemon, &all, numbers);
    free(numbers);
    return pm_text_take(&all, text, n_bytes, error);
}
