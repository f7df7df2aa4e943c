/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/service_wait.c - calls that are parked until a job has ended, and its proofs as a message.
 */
#include "daemon/service_internal.h"

#include "base/clock.h"
#include "base/status.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* ---- Parking -------------------------------------------------------------------------------- */

static void gone(struct pm_rpc_call *call, void *state, bool was_cut) {
    struct pm_wait *wait = state;
    if (was_cut && wait->cancels && wait->job != 0) {
        (void)pm_engine_cancel(pm_service_daemon(call)->engine, wait->job, NULL, NULL);
    }
    free(wait);
}

struct pm_wait *pm_service_wait_attach(struct pm_rpc_call *call) {
    struct pm_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory to wait for a job");
        return NULL;
    }
    pm_rpc_attach(call, wait, gone);
    return wait;
}

static void park(struct pm_rpc_call *call, const struct pm_wait *wait);

static void resume(struct pm_rpc_call *call, void *user, uint64_t job, enum pm_rpc_wake wake) {
    const struct pm_wait *wait = pm_rpc_attached(call);
    pm_engine_job info;
    (void)user;
    if (!pm_service_job(call, job, &info)) {
        return;
    }
    if (pm_service_has_ended(&info)) {
        wait->answer(call, wait, &info);
    } else if (wake == PM_RPC_WAKE_TIMEOUT) {
        wait->answer(call, wait, NULL);
    } else {
        park(call, wait);
    }
}

static void park(struct pm_rpc_call *call, const struct pm_wait *wait) {
    uint64_t timeout_ms = 0;
    if (wait->until_ns != 0) {
        const uint64_t now_ns = pm_clock_now_ns();
        /* 0 would be for ever. */
        timeout_ms = wait->until_ns > now_ns ? (wait->until_ns - now_ns + MS - 1) / MS : 1;
    }
    pm_rpc_park(call, wait->job, timeout_ms, false, resume);
}

void pm_service_wait(struct pm_rpc_call *call, struct pm_wait *wait, uint64_t timeout_ms) {
    pm_engine_job info;
    if (!pm_service_job(call, wait->job, &info)) {
        return;
    }
    if (pm_service_has_ended(&info)) {
        wait->answer(call, wait, &info);
        return;
    }
    /* More than some centuries is no limit. */
    if (timeout_ms != 0 && timeout_ms < UINT64_MAX / 4 / MS) {
        wait->until_ns = pm_clock_now_ns() + timeout_ms * MS;
    }
    park(call, wait);
}

/* ---- Proofs as a message -------------------------------------------------------------------- */

/* The proofs of a Result, and what they point to. */
struct proofs {
    uint32_t n;
    Proofmill__V1__Proof *all;
    Proofmill__V1__Proof **pointers;
    struct pm_json_text *texts; /* two for each */
    uint8_t (*bytes)[PM_SERVICE_PROOF_BYTES];
    uint8_t *publics;
    size_t packed_bytes; /* of those that were made, about */
};

static void free_proofs(struct proofs *proofs) {
    for (uint32_t i = 0; proofs->texts != NULL && i < 2 * proofs->n; ++i) {
        pm_json_text_free(&proofs->texts[i]);
    }
    free(proofs->all);
    free(proofs->pointers);
    free(proofs->texts);
    free(proofs->bytes);
    free(proofs->publics);
}

static pm_status make_room(const pm_engine_job *info, uint32_t n, struct proofs *proofs,
                           pm_error *error) {
    *proofs = (struct proofs){.n = n};
    proofs->all = calloc((size_t)n + 1, sizeof *proofs->all);
    proofs->pointers = calloc((size_t)n + 1, sizeof(Proofmill__V1__Proof *));
    proofs->texts = calloc((size_t)n + 1, 2 * sizeof *proofs->texts);
    proofs->bytes = calloc((size_t)n + 1, PM_SERVICE_PROOF_BYTES);
    proofs->publics = calloc((size_t)info->n_public + 1, PM_FR_BYTES);
    PM_FAIL_IF(proofs->all == NULL || proofs->pointers == NULL || proofs->texts == NULL ||
                   proofs->bytes == NULL || proofs->publics == NULL,
               error, PM_NO_MEMORY, "no memory for %u proofs", n);
    return PM_OK;
}

static pm_status make_proof(pm_engine *engine, const pm_engine_job *info, uint32_t part, uint32_t i,
                            struct proofs *proofs, pm_error *error) {
    pm_proof proof = {.struct_bytes = sizeof proof};
    Proofmill__V1__Proof *made = &proofs->all[i];
    struct pm_json_text *texts = &proofs->texts[2 * (size_t)i];
    proofmill__v1__proof__init(made);
    proofs->pointers[i] = made;
    PM_TRY(pm_engine_result(engine, info->job, part, 1, &proof, proofs->publics, error));
    PM_TRY(pm_json_proof_write(&proof, &texts[0], error));
    PM_TRY(pm_json_public_write(proofs->publics, info->n_public, &texts[1], error));
    PM_TRY(pm_service_proof_bytes(&proof, proofs->bytes[i], &made->proof.len, error));
    made->proof.data = proofs->bytes[i];
    made->proof_json = texts[0].bytes;
    made->public_json = texts[1].bytes;
    proofs->packed_bytes += proofmill__v1__proof__get_packed_size(made);
    return PM_OK;
}

/* Not more than fit a message: what they would take is seen as they are made. */
static pm_status make_proofs(const struct pm_daemon *daemon, const pm_engine_job *info,
                             uint32_t first, uint32_t n, struct proofs *proofs, pm_error *error) {
    const uint64_t most = daemon->config.message_bytes_max;
    PM_TRY(make_room(info, n, proofs, error));
    for (uint32_t i = 0; i < n; ++i) {
        PM_TRY(make_proof(daemon->engine, info, first + i, i, proofs, error));
        PM_FAIL_IF(
            proofs->packed_bytes > most, error, PM_BUDGET_BUSY,
            "%u proofs of job %" PRIu64 " do not fit a message of %" PRIu64
            " bytes (max_message in [rpc]): ask for some of them with first_proof and n_proofs",
            n, info->job, most);
    }
    return PM_OK;
}

/* Which proofs were asked for; false: the call has been ended. */
static bool choose_proofs(struct pm_rpc_call *call, const struct pm_wait *wait,
                          const pm_engine_job *info, uint32_t *n) {
    *n = 0;
    if (wait->no_proofs || info->state != PM_ENGINE_DONE) {
        return true;
    }
    if (wait->first >= info->n_parts || wait->n > info->n_parts - wait->first) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "job %" PRIu64 " has %u proofs", info->job,
                    info->n_parts);
        return false;
    }
    *n = wait->n != 0 ? wait->n : info->n_parts - wait->first;
    return true;
}

void pm_service_answer_result(struct pm_rpc_call *call, const struct pm_wait *wait,
                              const pm_engine_job *info) {
    const struct pm_daemon *daemon = pm_service_daemon(call);
    Proofmill__V1__Result result = PROOFMILL__V1__RESULT__INIT;
    pm_error error = PM_ERROR_INIT;
    struct pm_device_names names;
    struct pm_job_view view;
    struct proofs proofs = {0};
    uint32_t n;
    if (info == NULL) {
        pm_rpc_fail(call, PM_RPC_DEADLINE_EXCEEDED,
                    "job %" PRIu64 " has not ended in this time; it goes on", wait->job);
        return;
    }
    if (!choose_proofs(call, wait, info, &n)) {
        return;
    }
    pm_service_device_names(daemon->engine, &names);
    pm_service_view_job(info, &names, &view);
    result.job = &view.job;
    result.curve = (Proofmill__V1__Curve)info->curve;
    if (n == 0 || make_proofs(daemon, info, wait->first, n, &proofs, &error) == PM_OK) {
        result.n_proofs = n;
        result.proofs = proofs.pointers;
        pm_service_reply(call, &result.base);
    } else if (error.status == PM_INVALID_ARGUMENT) {
        /* It was let go of since it was looked at. */
        pm_rpc_fail(call, PM_RPC_NOT_FOUND, "%s", error.message);
    } else {
        pm_service_fail(call, PM_MATTER_CALL, &error);
    }
    free_proofs(&proofs);
}
