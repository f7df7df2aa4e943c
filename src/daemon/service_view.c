/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* The engine's numbers are the messages'. */
#define SAME(message, engine)                                                                      \
    _Static_assert((int)PROOFMILL__V1__##message == (int)(engine), "the same numbers")
SAME(PRIORITY__PRIORITY_UNSPECIFIED, PM_ENGINE_DEFAULT);
SAME(PRIORITY__PRIORITY_LOW, PM_ENGINE_LOW);
SAME(PRIORITY__PRIORITY_NORMAL, PM_ENGINE_NORMAL);
SAME(PRIORITY__PRIORITY_HIGH, PM_ENGINE_HIGH);
SAME(PRIORITY__PRIORITY_CRITICAL, PM_ENGINE_CRITICAL);
SAME(JOB_STATE__JOB_STATE_QUEUED, PM_ENGINE_QUEUED);
SAME(JOB_STATE__JOB_STATE_PREPARING, PM_ENGINE_PREPARING);
SAME(JOB_STATE__JOB_STATE_PROVING, PM_ENGINE_PROVING);
SAME(JOB_STATE__JOB_STATE_FINISHING, PM_ENGINE_FINISHING);
SAME(JOB_STATE__JOB_STATE_DONE, PM_ENGINE_DONE);
SAME(JOB_STATE__JOB_STATE_FAILED, PM_ENGINE_FAILED);
SAME(JOB_STATE__JOB_STATE_CANCELLED, PM_ENGINE_CANCELLED);
SAME(CURVE__CURVE_UNSPECIFIED, PM_CURVE_NONE);
SAME(CURVE__CURVE_BN254, PM_CURVE_BN254);
SAME(CURVE__CURVE_BLS12_381, PM_CURVE_BLS12_381);
SAME(TIER__TIER_HOT, PM_ENGINE_HOT);
SAME(TIER__TIER_WARM, PM_ENGINE_WARM);
SAME(TIER__TIER_COLD, PM_ENGINE_COLD);

static void view_times(const pm_engine_job *info, Proofmill__V1__Times *times) {
    proofmill__v1__times__init(times);
    times->queue_ms = info->queue_ns / MS;
    times->key_ms = info->key_ns / MS;
    times->prepare_ms = info->prepare_ns / MS;
    times->prove_ms = info->prove_ns / MS;
    times->finish_ms = info->finish_ns / MS;
    times->total_ms = info->total_ns / MS;
}

static void view_outcome(const pm_engine_job *info, Proofmill__V1__Job *job) {
    job->error = pm_service_text(info->message);
    if (info->state == PM_ENGINE_FAILED || info->state == PM_ENGINE_CANCELLED) {
        job->error_status = pm_service_text(pm_status_name((pm_status)info->status));
    }
    job->error_is_permanent = info->is_permanent != 0;
    job->history = pm_service_text(info->history);
}

void pm_service_view_job(const pm_engine_job *info, const struct pm_device_names *names,
                         struct pm_job_view *view) {
    Proofmill__V1__Job *job = &view->job;
    proofmill__v1__job__init(job);
    view_times(info, &view->times);
    job->job = info->job;
    job->request_id = pm_service_text(info->request_id);
    job->key = pm_service_text(info->key);
    job->state = (Proofmill__V1__JobState)info->state;
    job->priority = (Proofmill__V1__Priority)info->priority;
    job->n_parts = info->n_parts;
    job->n_parts_done = info->n_parts_done;
    job->n_ahead = info->n_ahead;
    job->waits_for = pm_service_text(info->waits_for);
    if (info->device >= 0 && (uint32_t)info->device < names->n) {
        job->device = pm_service_text(names->name[info->device]);
    }
    job->phase = pm_service_text(info->phase);
    job->phase_done = info->phase_done;
    job->phase_total = info->phase_total;
    job->n_retries = info->n_retries;
    view_outcome(info, job);
    job->accepted_unix_ms = (uint64_t)info->accepted_ms;
    job->ended_unix_ms = (uint64_t)info->ended_ms;
    job->times = &view->times;
}

void pm_service_view_key(const pm_engine_key_info *info, const struct pm_device_names *names,
                         struct pm_key_view *view) {
    static const uint8_t none[sizeof info->digest];
    Proofmill__V1__Key *key = &view->key;
    proofmill__v1__key__init(key);
    key->name = pm_service_text(info->name);
    key->path = pm_service_text(info->path);
    key->tier = (Proofmill__V1__Tier)info->tier;
    key->curve = (Proofmill__V1__Curve)info->curve;
    key->log_n = info->log_n;
    key->n_public = info->n_public;
    key->n_vars = info->n_vars;
    key->n_users = info->n_users;
    key->devices = view->devices;
    for (uint32_t d = 0; d < names->n; ++d) {
        if ((info->device_mask >> d & 1) != 0) {
            view->devices[key->n_devices++] = pm_service_text(names->name[d]);
        }
    }
    key->bytes = info->bytes;
    key->proof_bytes = info->proof_bytes;
    key->idle_ms = info->idle_ms;
    key->n_loads = info->n_loads;
    key->n_evictions = info->n_evictions;
    key->load_ms = info->load_ns / MS;
    if (memcmp(info->digest, none, sizeof none) != 0) {
        key->digest.len = sizeof info->digest;
        key->digest.data = (uint8_t *)(uintptr_t)info->digest;
    }
    if (info->status != PM_OK) {
        key->error = pm_service_text(pm_status_sentence((pm_status)info->status));
    }
}

/* What the log said of keys of the configuration is more than their status says. */
static void view_faults(struct pm_daemon *daemon, struct pm_key_views *views) {
    const uint32_t room = views->n + 8;
    struct pm_daemon_key_fault *faults = calloc(room, sizeof *faults);
    const uint32_t n = faults != NULL ? pm_daemon_key_faults(daemon, faults, room) : 0;
    for (uint32_t i = 0; i < views->n; ++i) {
        struct pm_key_view *view = &views->views[i];
        const char *path = views->infos[i].path;
        const size_t n_path = strlen(path);
        uint32_t f = 0;
        while (f < n && f < room && strcmp(faults[f].name, views->infos[i].name) != 0) {
            ++f;
        }
        if (f < n && f < room && view->key.error[0] != '\0') {
            const char *text = faults[f].message; /* less the path, which stands beside it */
            const bool has_path = strncmp(text, path, n_path) == 0 && text[n_path] == ':';
            (void)snprintf(view->error, sizeof view->error, "%s",
                           text + (has_path ? n_path + 1 + (text[n_path + 1] == ' ') : 0));
            view->key.error = view->error;
        }
    }
    free(faults);
}

bool pm_service_view_keys(struct pm_rpc_call *call, struct pm_key_views *views) {
    *views = (struct pm_key_views){0};
    if (!pm_service_keys(call, &views->infos, &views->n)) {
        return false;
    }
    views->views = calloc((size_t)views->n + 1, sizeof *views->views);
    views->pointers = calloc((size_t)views->n + 1, sizeof(Proofmill__V1__Key *));
    if (views->views == NULL || views->pointers == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for a list of %u keys", views->n);
        pm_service_free_keys(views);
        return false;
    }
    pm_service_device_names(pm_service_daemon(call)->engine, &views->names);
    for (uint32_t i = 0; i < views->n; ++i) {
        pm_service_view_key(&views->infos[i], &views->names, &views->views[i]);
        views->views[i].key.warning =
            pm_service_text(pm_daemon_key_warning(pm_service_daemon(call), &views->infos[i]));
        views->pointers[i] = &views->views[i].key;
    }
    view_faults(pm_service_daemon(call), views);
    return true;
}

void pm_service_free_keys(struct pm_key_views *views) {
    free(views->infos);
    free(views->views);
    free(views->pointers);
}

pm_status pm_service_proof_bytes(const pm_proof *proof, uint8_t bytes[PM_SERVICE_PROOF_BYTES],
                                 size_t *n_bytes, pm_error *error) {
    const bool is_bls = proof->curve == PM_CURVE_BLS12_381;
    *n_bytes = PM_SERVICE_PROOF_BYTES;
    return pm_proof_encode(proof, is_bls ? PM_POINT_ZCASH_COMPRESSED : PM_POINT_CANONICAL_LE, bytes,
                           n_bytes, error);
}
