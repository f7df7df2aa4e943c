/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/service_cuzk.c - cuzk.v1.ProvingEngine: what Curio's client calls.
 *
 * It shows the same jobs and keys as proofmill.v1. Proofs from vanilla proofs need the circuits of
 * Filecoin, which are not here: those kinds are refused with a sentence that says what to do.
 */
#include "daemon/service_internal.h"

#include "base/clock.h"

#include <cuzk/v1/cuzk.pb-c.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define JOBS_MAX (sizeof((pm_engine_device_info *)0)->jobs / sizeof(uint64_t))
#define PAGE_JOBS 64

/* ---- Ids ------------------------------------------------------------------------------------ */

/* A number as it is printed. */
static bool is_number(const char *id, uint64_t *number) {
    char again[32];
    *number = strtoull(id, NULL, 10);
    (void)snprintf(again, sizeof again, "%" PRIu64, *number);
    return strcmp(again, id) == 0;
}

/* False: the call has been ended. */
static bool find_job(struct pm_rpc_call *call, const char *id, pm_engine_job *info) {
    pm_engine *engine = pm_service_daemon(call)->engine;
    uint64_t job;
    *info = (pm_engine_job){.struct_bytes = sizeof *info};
    const bool is_name = pm_service_is_name(id);
    if (is_name && pm_engine_find(engine, id, &job, NULL) == PM_OK &&
        pm_engine_job_info(engine, job, info, NULL) == PM_OK) {
        return true;
    }
    if (is_number(id, &job) && pm_engine_job_info(engine, job, info, NULL) == PM_OK) {
        return true;
    }
    pm_rpc_fail(call, PM_RPC_NOT_FOUND, "there is no job \"%s\", or its result is no longer kept",
                is_name ? id : "");
    return false;
}

/* What a client would ask for it with. */
static const char *id_of(const pm_engine_job *info, char number[32]) {
    if (info->request_id[0] != '\0') {
        return info->request_id;
    }
    (void)snprintf(number, 32, "%" PRIu64, info->job);
    return number;
}

/* ---- SubmitProof, Prove --------------------------------------------------------------------- */

/* Ends the call: there is no kind that could be proved. */
static void refuse(struct pm_rpc_call *call, const Cuzk__V1__SubmitProofRequest *request) {
    static const char *const kinds[] = {[CUZK__V1__PROOF_KIND__POREP_SEAL_COMMIT] = "PoRep",
                                        [CUZK__V1__PROOF_KIND__SNAP_DEALS_UPDATE] = "SnapDeals",
                                        [CUZK__V1__PROOF_KIND__WINDOW_POST_PARTITION] =
                                            "WindowPoSt",
                                        [CUZK__V1__PROOF_KIND__WINNING_POST] = "WinningPoSt"};
    const int kind = (int)request->proof_kind;
    if (kind <= CUZK__V1__PROOF_KIND__PROOF_KIND_UNSPECIFIED ||
        kind > CUZK__V1__PROOF_KIND__WINNING_POST) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "%d is no kind of proof", kind);
        return;
    }
    pm_rpc_fail(call, PM_RPC_UNIMPLEMENTED,
                "this daemon has no circuit that makes a %s assignment from vanilla proofs: send "
                "the assignment itself to proofmill.v1.Prover, for a key that is registered for "
                "its kind; its outcome can be awaited here as well",
                kinds[kind]);
}

static void submit_proof(struct pm_rpc_call *call, void *user, const uint8_t *message,
                         size_t n_bytes) {
    (void)user;
    Cuzk__V1__SubmitProofRequest *request =
        pm_service_request(call, &cuzk__v1__submit_proof_request__descriptor, message, n_bytes);
    if (request != NULL) {
        refuse(call, request);
        pm_message_free(&request->base);
    }
}

static void prove(struct pm_rpc_call *call, void *user, const uint8_t *message, size_t n_bytes) {
    (void)user;
    Cuzk__V1__ProveRequest *request =
        pm_service_request(call, &cuzk__v1__prove_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (request->submit == NULL) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "there is nothing to prove: submit is missing");
    } else {
        refuse(call, request->submit);
    }
    pm_message_free(&request->base);
}

/* ---- AwaitProof ----------------------------------------------------------------------------- */

static Cuzk__V1__AwaitProofResponse__Status status_of(const pm_engine_job *info) {
    switch (info->state) {
    case PM_ENGINE_DONE:
        return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED;
    case PM_ENGINE_FAILED:
        return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED;
    case PM_ENGINE_CANCELLED:
        return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED;
    default:
        return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__UNKNOWN;
    }
}

/* One after another, as a partitioned proof is. bytes: for free(), also on error. */
static pm_status gather(pm_engine *engine, const pm_engine_job *info, ProtobufCBinaryData *bytes,
                        pm_error *error) {
    bytes->data = calloc(info->n_parts, PM_SERVICE_PROOF_BYTES);
    if (bytes->data == NULL) {
        error->status = PM_NO_MEMORY;
        return PM_NO_MEMORY;
    }
    for (uint32_t i = 0; i < info->n_parts; ++i) {
        pm_proof proof = {.struct_bytes = sizeof proof};
        size_t n;
        pm_status status = pm_engine_result(engine, info->job, i, 1, &proof, NULL, error);
        if (status == PM_OK) {
            status = pm_service_proof_bytes(&proof, bytes->data + bytes->len, &n, error);
        }
        if (status != PM_OK) {
            return status;
        }
        bytes->len += n;
    }
    return PM_OK;
}

static void answer_await(struct pm_rpc_call *call, const struct pm_wait *wait,
                         const pm_engine_job *info) {
    Cuzk__V1__AwaitProofResponse answer = CUZK__V1__AWAIT_PROOF_RESPONSE__INIT;
    pm_error error = PM_ERROR_INIT;
    answer.job_id = pm_service_text(wait->id);
    if (info == NULL) {
        answer.status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT;
        answer.error_message = pm_service_text("the job has not ended in this time; it goes on");
    } else {
        answer.status = status_of(info);
        answer.error_message = pm_service_text(info->message);
        answer.queue_wait_ms = info->queue_ns / MS;
        answer.srs_load_ms = info->key_ns / MS;
        answer.synthesis_ms = info->prepare_ns / MS;
        answer.gpu_compute_ms = info->prove_ns / MS;
        answer.total_ms = info->total_ns / MS;
    }
    if (info == NULL || info->state != PM_ENGINE_DONE ||
        gather(pm_service_daemon(call)->engine, info, &answer.proof, &error) == PM_OK) {
        pm_service_reply(call, &answer.base);
    } else if (error.status == PM_INVALID_ARGUMENT) {
        /* It was let go of since it was looked at. */
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "%s", error.message);
    } else {
        pm_service_fail(call, PM_MATTER_CALL, &error);
    }
    free(answer.proof.data);
}

static void await_proof(struct pm_rpc_call *call, void *user, const uint8_t *message,
                        size_t n_bytes) {
    pm_engine_job info;
    (void)user;
    Cuzk__V1__AwaitProofRequest *request =
        pm_service_request(call, &cuzk__v1__await_proof_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    struct pm_wait *wait =
        find_job(call, request->job_id, &info) ? pm_service_wait_attach(call) : NULL;
    if (wait != NULL) {
        wait->job = info.job;
        wait->answer = answer_await;
        (void)snprintf(wait->id, sizeof wait->id, "%s", request->job_id);
        pm_service_wait(call, wait, request->timeout_ms);
    }
    pm_message_free(&request->base);
}

static void cancel_proof(struct pm_rpc_call *call, void *user, const uint8_t *message,
                         size_t n_bytes) {
    Cuzk__V1__CancelProofResponse answer = CUZK__V1__CANCEL_PROOF_RESPONSE__INIT;
    pm_error error = PM_ERROR_INIT;
    pm_engine_job info;
    int was_running = 0;
    (void)user;
    Cuzk__V1__CancelProofRequest *request =
        pm_service_request(call, &cuzk__v1__cancel_proof_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (find_job(call, request->job_id, &info)) {
        if (pm_engine_cancel(pm_service_daemon(call)->engine, info.job, &was_running, &error) !=
            PM_OK) {
            pm_service_fail(call, PM_MATTER_CALL, &error);
        } else {
            answer.was_running = was_running != 0;
            pm_service_reply(call, &answer.base);
        }
    }
    pm_message_free(&request->base);
}

/* ---- GetStatus ------------------------------------------------------------------------------ */

/* A GetStatusResponse, and what it points to. */
struct overview {
    Cuzk__V1__GetStatusResponse answer;
    pm_engine_metrics metrics;
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    Cuzk__V1__GPUStatus workers[PM_ENGINE_DEVICES_MAX * JOBS_MAX];
    Cuzk__V1__GPUStatus *worker_pointers[PM_ENGINE_DEVICES_MAX * JOBS_MAX];
    pm_engine_job jobs[PM_ENGINE_DEVICES_MAX * JOBS_MAX]; /* of the workers */
    char numbers[PM_ENGINE_DEVICES_MAX * JOBS_MAX][32];
    pm_engine_job page[PAGE_JOBS];
    pm_engine_key_info *keys; /* n_keys of each of these */
    Cuzk__V1__SRSStatus *srs;
    Cuzk__V1__SRSStatus **srs_pointers;
    Cuzk__V1__QueueStatus *queues;
    Cuzk__V1__QueueStatus **queue_pointers;
    uint32_t n_keys;
};

/* One entry for each worker, as clients of the cuzk daemon know it. */
static void view_worker(pm_engine *engine, const pm_engine_device_info *device, uint32_t w,
                        struct overview *overview) {
    const size_t i = overview->answer.n_gpus++;
    Cuzk__V1__GPUStatus *worker = &overview->workers[i];
    pm_engine_job *job = &overview->jobs[i];
    cuzk__v1__gpustatus__init(worker);
    overview->worker_pointers[i] = worker;
    const char *digits = strchr(device->name, ':');
    worker->ordinal = digits != NULL ? (uint32_t)strtoul(digits + 1, NULL, 10) : 0;
    worker->name = pm_service_text(device->model[0] != '\0' ? device->model : device->name);
    worker->vram_total_bytes = device->total_bytes;
    worker->vram_free_bytes = device->total_bytes > device->reserved_bytes
                                  ? device->total_bytes - device->reserved_bytes
                                  : 0;
    *job = (pm_engine_job){.struct_bytes = sizeof *job};
    if (device->jobs[w] != 0 && pm_engine_job_info(engine, device->jobs[w], job, NULL) == PM_OK) {
        worker->current_job_id = pm_service_text(id_of(job, overview->numbers[i]));
        worker->current_proof_kind = job->key;
    }
}

static void view_cards(pm_engine *engine, struct overview *overview) {
    uint32_t n = PM_ENGINE_DEVICES_MAX;
    (void)pm_engine_devices(engine, overview->devices, &n);
    for (uint32_t d = 0; d < n; ++d) {
        const pm_engine_device_info *device = &overview->devices[d];
        const uint32_t n_workers = device->n_workers + device->n_express;
        for (uint32_t w = 0; strcmp(device->name, "cpu") != 0 && w < n_workers && w < JOBS_MAX;
             ++w) {
            view_worker(engine, device, w, overview);
        }
    }
    overview->answer.gpus = overview->worker_pointers;
}

static void count_job(const pm_engine_job *job, struct overview *overview) {
    for (uint32_t k = 0; !pm_service_has_ended(job) && k < overview->n_keys; ++k) {
        if (strcmp(overview->keys[k].name, job->key) == 0) {
            ++*(job->state == PM_ENGINE_QUEUED ? &overview->queues[k].pending
                                               : &overview->queues[k].in_progress);
            return;
        }
    }
}

static void view_queues(pm_engine *engine, struct overview *overview) {
    uint64_t after = 0;
    uint32_t n;
    do {
        n = PAGE_JOBS;
        (void)pm_engine_jobs(engine, after, overview->page, &n);
        for (uint32_t i = 0; i < n; ++i) {
            count_job(&overview->page[i], overview);
            after = overview->page[i].job;
        }
    } while (n == PAGE_JOBS);
    for (uint32_t k = 0; k < overview->n_keys; ++k) {
        Cuzk__V1__QueueStatus *queue = &overview->queues[k];
        if (queue->pending != 0 || queue->in_progress != 0) {
            overview->queue_pointers[overview->answer.n_queues++] = queue;
        }
    }
    overview->answer.queues = overview->queue_pointers;
}

static void view_keys(struct overview *overview) {
    for (uint32_t k = 0; k < overview->n_keys; ++k) {
        const pm_engine_key_info *key = &overview->keys[k];
        Cuzk__V1__SRSStatus *srs = &overview->srs[k];
        cuzk__v1__srsstatus__init(srs);
        srs->circuit_id = pm_service_text(key->name);
        srs->tier = (Cuzk__V1__SRSStatus__Tier)key->tier;
        srs->size_bytes = key->bytes;
        srs->ref_count = key->n_users;
        overview->srs_pointers[k] = srs;
        cuzk__v1__queue_status__init(&overview->queues[k]);
        overview->queues[k].proof_kind = pm_service_text(key->name);
    }
    overview->answer.n_loaded_srs = overview->n_keys;
    overview->answer.loaded_srs = overview->srs_pointers;
}

static void view_counts(const struct pm_daemon *daemon, struct overview *overview) {
    const pm_engine_metrics *metrics = &overview->metrics;
    Cuzk__V1__GetStatusResponse *answer = &overview->answer;
    answer->total_proofs_completed = metrics->n_done;
    answer->total_proofs_failed = metrics->n_failed;
    answer->uptime_seconds = (pm_clock_now_ns() - daemon->started_ns) / (1000 * MS);
    for (uint32_t p = 0; p < metrics->n_pools; ++p) {
        const pm_engine_pool *pool = &metrics->pools[p];
        if (strcmp(pool->name, "pinned") == 0) {
            answer->pinned_memory_bytes = pool->reserved_bytes;
            answer->pinned_memory_limit_bytes =
                pool->total_bytes != UINT64_MAX ? pool->total_bytes : 0;
        }
    }
}

static void reply_status(struct pm_rpc_call *call, struct overview *overview) {
    const struct pm_daemon *daemon = pm_service_daemon(call);
    overview->srs = calloc((size_t)overview->n_keys + 1, sizeof *overview->srs);
    overview->srs_pointers = calloc((size_t)overview->n_keys + 1, sizeof(Cuzk__V1__SRSStatus *));
    overview->queues = calloc((size_t)overview->n_keys + 1, sizeof *overview->queues);
    overview->queue_pointers =
        calloc((size_t)overview->n_keys + 1, sizeof(Cuzk__V1__QueueStatus *));
    if (overview->srs == NULL || overview->srs_pointers == NULL || overview->queues == NULL ||
        overview->queue_pointers == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for a status");
        return;
    }
    overview->metrics.struct_bytes = sizeof overview->metrics;
    (void)pm_engine_metrics_now(daemon->engine, &overview->metrics);
    view_counts(daemon, overview);
    view_cards(daemon->engine, overview);
    view_keys(overview);
    view_queues(daemon->engine, overview);
    pm_service_reply(call, &overview->answer.base);
}

static void get_status(struct pm_rpc_call *call, void *user, const uint8_t *message,
                       size_t n_bytes) {
    (void)user;
    Cuzk__V1__GetStatusRequest *request =
        pm_service_request(call, &cuzk__v1__get_status_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    pm_message_free(&request->base);
    struct overview *overview = calloc(1, sizeof *overview);
    if (overview == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for a status");
        return;
    }
    cuzk__v1__get_status_response__init(&overview->answer);
    if (pm_service_keys(call, &overview->keys, &overview->n_keys)) {
        reply_status(call, overview);
    }
    free(overview->keys);
    free(overview->srs);
    free(overview->srs_pointers);
    free(overview->queues);
    free(overview->queue_pointers);
    free(overview);
}

/* ---- Metrics, keys -------------------------------------------------------------------------- */

static void get_metrics(struct pm_rpc_call *call, void *user, const uint8_t *message,
                        size_t n_bytes) {
    Cuzk__V1__GetMetricsResponse answer = CUZK__V1__GET_METRICS_RESPONSE__INIT;
    pm_error error = PM_ERROR_INIT;
    char *text = NULL;
    size_t n_text;
    (void)user;
    Cuzk__V1__GetMetricsRequest *request =
        pm_service_request(call, &cuzk__v1__get_metrics_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    pm_message_free(&request->base);
    if (pm_metrics_text(pm_service_daemon(call), &text, &n_text, &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_CALL, &error);
        return;
    }
    answer.prometheus_text = text;
    pm_service_reply(call, &answer.base);
    free(text);
}

static void preload_srs(struct pm_rpc_call *call, void *user, const uint8_t *message,
                        size_t n_bytes) {
    Cuzk__V1__PreloadSrsResponse answer = CUZK__V1__PRELOAD_SRS_RESPONSE__INIT;
    pm_engine_key_info info;
    int already = 0;
    (void)user;
    Cuzk__V1__PreloadSrsRequest *request =
        pm_service_request(call, &cuzk__v1__preload_srs_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (pm_service_key(call, request->circuit_id, NULL) &&
        pm_service_preload(call, request->circuit_id, 0, &already) &&
        pm_service_key(call, request->circuit_id, &info)) {
        answer.already_loaded = already != 0;
        answer.load_time_ms = already != 0 ? 0 : info.load_ns / MS;
        pm_service_reply(call, &answer.base);
    }
    pm_message_free(&request->base);
}

static void evict_srs(struct pm_rpc_call *call, void *user, const uint8_t *message,
                      size_t n_bytes) {
    Cuzk__V1__EvictSrsResponse answer = CUZK__V1__EVICT_SRS_RESPONSE__INIT;
    uint64_t freed_bytes = 0;
    (void)user;
    Cuzk__V1__EvictSrsRequest *request =
        pm_service_request(call, &cuzk__v1__evict_srs_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    if (pm_service_known_key(call, request->circuit_id, NULL) &&
        pm_service_evict(call, request->circuit_id, 0, &freed_bytes)) {
        answer.was_loaded = freed_bytes != 0;
        answer.freed_bytes = freed_bytes;
        pm_service_reply(call, &answer.base);
    }
    pm_message_free(&request->base);
}

const struct pm_rpc_method pm_service_cuzk[] = {
    {"/cuzk.v1.ProvingEngine/SubmitProof", PM_RPC_UNARY, submit_proof},
    {"/cuzk.v1.ProvingEngine/AwaitProof", PM_RPC_UNARY, await_proof},
    {"/cuzk.v1.ProvingEngine/Prove", PM_RPC_UNARY, prove},
    {"/cuzk.v1.ProvingEngine/CancelProof", PM_RPC_UNARY, cancel_proof},
    {"/cuzk.v1.ProvingEngine/GetStatus", PM_RPC_UNARY, get_status},
    {"/cuzk.v1.ProvingEngine/GetMetrics", PM_RPC_UNARY, get_metrics},
    {"/cuzk.v1.ProvingEngine/PreloadSRS", PM_RPC_UNARY_KEYS, preload_srs},
    {"/cuzk.v1.ProvingEngine/EvictSRS", PM_RPC_UNARY_KEYS, evict_srs},
    {NULL, PM_RPC_UNARY, NULL},
};
