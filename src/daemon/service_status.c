/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define JOBS_MAX (sizeof((pm_engine_device_info *)0)->jobs / sizeof(uint64_t))

/* A Status, and what it points to but for keys. */
struct overview {
    Proofmill__V1__Status status;
    pm_engine_metrics metrics;
    pm_engine_device_info infos[PM_ENGINE_DEVICES_MAX];
    uint64_t jobs[PM_ENGINE_DEVICES_MAX][JOBS_MAX];
    Proofmill__V1__Device devices[PM_ENGINE_DEVICES_MAX];
    Proofmill__V1__Device *device_pointers[PM_ENGINE_DEVICES_MAX];
    Proofmill__V1__Pool pools[PM_ENGINE_POOLS_MAX];
    Proofmill__V1__Pool *pool_pointers[PM_ENGINE_POOLS_MAX];
};

static void view_device(const pm_engine_device_info *info, uint64_t *jobs,
                        Proofmill__V1__Device *device) {
    proofmill__v1__device__init(device);
    device->name = pm_service_text(info->name);
    device->model = pm_service_text(info->model);
    device->n_workers = info->n_workers + info->n_express;
    device->n_busy = info->n_busy;
    device->jobs = jobs;
    for (size_t w = 0; w < JOBS_MAX; ++w) {
        if (info->jobs[w] != 0) {
            jobs[device->n_jobs++] = info->jobs[w];
        }
    }
    device->total_bytes = info->total_bytes;
    device->reserved_bytes = info->reserved_bytes;
    device->busy_ms = info->busy_ns / MS;
    device->n_proofs = info->n_proofs;
    device->n_faults = info->n_faults;
    device->is_quarantined = info->is_quarantined != 0;
    if (info->status != PM_OK) {
        device->error = pm_service_text(pm_status_sentence((pm_status)info->status));
    }
}

static void view_devices(pm_engine *engine, struct overview *overview) {
    uint32_t n = PM_ENGINE_DEVICES_MAX;
    (void)pm_engine_devices(engine, overview->infos, &n);
    for (uint32_t d = 0; d < n; ++d) {
        view_device(&overview->infos[d], overview->jobs[d], &overview->devices[d]);
        overview->device_pointers[d] = &overview->devices[d];
    }
    overview->status.n_devices = n;
    overview->status.devices = overview->device_pointers;
}

static void view_pools(struct overview *overview) {
    for (uint32_t p = 0; p < overview->metrics.n_pools; ++p) {
        const pm_engine_pool *from = &overview->metrics.pools[p];
        Proofmill__V1__Pool *pool = &overview->pools[p];
        proofmill__v1__pool__init(pool);
        pool->name = pm_service_text(from->name);
        pool->total_bytes = from->total_bytes != UINT64_MAX ? from->total_bytes : 0;
        pool->reserved_bytes = from->reserved_bytes;
        pool->peak_bytes = from->peak_bytes;
        overview->pool_pointers[p] = pool;
    }
    overview->status.n_pools = overview->metrics.n_pools;
    overview->status.pools = overview->pool_pointers;
}

static void view_counts(const struct pm_daemon *daemon, struct overview *overview) {
    const pm_engine_metrics *metrics = &overview->metrics;
    Proofmill__V1__Status *status = &overview->status;
    status->version = pm_service_text(pm_version());
    status->uptime_ms = (pm_clock_now_ns() - daemon->started_ns) / MS;
    status->is_draining = metrics->is_draining != 0;
    status->journal_is_failing = metrics->journal_is_failing != 0;
    status->n_queued = pm_daemon_n_queued(metrics);
    status->n_running = metrics->n_running;
    status->n_kept = metrics->n_kept;
    status->n_done = metrics->n_done;
    status->n_failed = metrics->n_failed;
    status->n_cancelled = metrics->n_cancelled;
    status->n_proofs = metrics->n_proofs;
    status->stored_bytes = metrics->stored_bytes;
    status->stored_bytes_max = metrics->stored_bytes_max;
}

static void reply_status(struct pm_rpc_call *call, struct overview *overview) {
    const struct pm_daemon *daemon = pm_service_daemon(call);
    struct pm_key_views views;
    proofmill__v1__status__init(&overview->status);
    overview->metrics.struct_bytes = sizeof overview->metrics;
    (void)pm_engine_metrics_now(daemon->engine, &overview->metrics);
    view_counts(daemon, overview);
    view_devices(daemon->engine, overview);
    view_pools(overview);
    if (pm_service_view_keys(call, &views)) {
        overview->status.n_keys = views.n;
        overview->status.keys = views.pointers;
        pm_service_reply(call, &overview->status.base);
        pm_service_free_keys(&views);
    }
}

void pm_service_get_status(struct pm_rpc_call *call, void *user, const uint8_t *message,
                           size_t n_bytes) {
    (void)user;
    Proofmill__V1__Empty *request =
        pm_service_request(call, &proofmill__v1__empty__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    pm_message_free(&request->base);
    struct overview *overview = calloc(1, sizeof *overview);
    if (overview == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for a status");
        return;
    }
    reply_status(call, overview);
    free(overview);
}

void pm_service_restore_device(struct pm_rpc_call *call, void *user, const uint8_t *message,
                               size_t n_bytes) {
    Proofmill__V1__Empty answer = PROOFMILL__V1__EMPTY__INIT;
    pm_error error = PM_ERROR_INIT;
    uint32_t device;
    (void)user;
    Proofmill__V1__DeviceRequest *request =
        pm_service_request(call, &proofmill__v1__device_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (request->name[0] == '\0') {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "a device is named: \"cpu\", \"cuda:0\"");
    } else if (pm_service_device(call, request->name, &device)) {
        if (pm_engine_device_restore(pm_service_daemon(call)->engine, device, &error) != PM_OK) {
            pm_service_fail(call, PM_MATTER_KEY, &error);
        } else {
            pm_service_reply(call, &answer.base);
        }
    }
    pm_message_free(&request->base);
}
