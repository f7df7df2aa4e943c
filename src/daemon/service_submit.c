/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool pm_service_check_submit(struct pm_rpc_call *call,
                             const Proofmill__V1__SubmitRequest *request) {
    if (request->request_id[0] != '\0' && !pm_service_is_name(request->request_id)) {
        pm_rpc_fail(
            call, PM_RPC_INVALID_ARGUMENT,
            "a request id has at most %d letters, digits and -_.:", PM_ENGINE_NAME_BYTES - 1);
        return false;
    }
    if ((int)request->priority < PM_ENGINE_DEFAULT || (int)request->priority > PM_ENGINE_CRITICAL) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "%d is no priority", (int)request->priority);
        return false;
    }
    return pm_service_key(call, request->key, NULL);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

/* The bytes stay where they are: the engine makes the only copy. */
static bool take_input(struct pm_rpc_call *call, const Proofmill__V1__Input *from,
                       pm_engine_input *input) {
    switch (from->from_case) {
    case PROOFMILL__V1__INPUT__FROM_PATH:
        *input = (pm_engine_input){.path = from->path};
        return pm_service_may_use_path(call, "an input", from->path);
    case PROOFMILL__V1__INPUT__FROM_DATA:
        *input = (pm_engine_input){.bytes = from->data.data, .n_bytes = from->data.len};
        if (from->data.len != 0) {
            return true;
        }
        break;
    default:
        break;
    }
    pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "an input is empty: it has a path, or data");
    return false;
}

/* NULL: the call has been ended. For free(). */
static pm_engine_input *take_inputs(struct pm_rpc_call *call,
                                    const Proofmill__V1__SubmitRequest *request) {
    if (request->n_inputs == 0) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "a job has 1 to %d inputs, this one has none",
                    PM_ENGINE_PARTS_MAX);
        return NULL;
    }
    pm_engine_input *inputs = calloc(request->n_inputs, sizeof *inputs);
    if (inputs == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for %zu inputs", request->n_inputs);
        return NULL;
    }
    for (size_t i = 0; i < request->n_inputs; ++i) {
        if (!take_input(call, request->inputs[i], &inputs[i])) {
            free(inputs);
            return NULL;
        }
    }
    return inputs;
}

/* ---- Submitting ----------------------------------------------------------------------------- */

bool pm_service_submit(struct pm_rpc_call *call, const Proofmill__V1__SubmitRequest *request,
                       const pm_engine_input *inputs, uint32_t n_inputs, uint64_t *job,
                       int *known) {
    pm_error error = PM_ERROR_INIT;
    const pm_engine_request asked = {.struct_bytes = sizeof asked,
                                     .priority = (uint32_t)request->priority,
                                     .key = request->key,
                                     .request_id = request->request_id,
                                     .inputs = inputs,
                                     .n_inputs = n_inputs,
                                     .timeout_ms = request->timeout_ms};
    if (pm_engine_submit(pm_service_daemon(call)->engine, &asked, pm_rpc_control(call), job, known,
                         &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_CALL, &error);
        return false;
    }
    return true;
}

/* From a request's bytes to a job; false: the call has been ended. wait: filled in, may be NULL. */
static bool submit_message(struct pm_rpc_call *call, const uint8_t *message, size_t n_bytes,
                           struct pm_wait *wait, uint64_t *job, int *known) {
    Proofmill__V1__SubmitRequest *request =
        pm_service_request(call, &proofmill__v1__submit_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return false;
    }
    pm_engine_input *inputs =
        pm_service_check_submit(call, request) ? take_inputs(call, request) : NULL;
    const bool is_submitted =
        inputs != NULL &&
        pm_service_submit(call, request, inputs, (uint32_t)request->n_inputs, job, known);
    if (is_submitted && wait != NULL) {
        wait->cancels = request->request_id[0] == '\0';
        wait->job = *job;
    }
    free(inputs);
    pm_message_free(&request->base);
    return is_submitted;
}

void pm_service_reply_submitted(struct pm_rpc_call *call, uint64_t job, int known) {
    Proofmill__V1__SubmitResponse answer = PROOFMILL__V1__SUBMIT_RESPONSE__INIT;
    pm_engine_job info = {.struct_bytes = sizeof info};
    answer.job = job;
    answer.known = known != 0;
    if (pm_engine_job_info(pm_service_daemon(call)->engine, job, &info, NULL) == PM_OK) {
        answer.n_ahead = info.n_ahead;
    }
    pm_service_reply(call, &answer.base);
}

void pm_service_submit_unary(struct pm_rpc_call *call, void *user, const uint8_t *message,
                             size_t n_bytes) {
    uint64_t job;
    int known;
    (void)user;
    if (submit_message(call, message, n_bytes, NULL, &job, &known)) {
        pm_service_reply_submitted(call, job, known);
    }
}

void pm_service_prove(struct pm_rpc_call *call, void *user, const uint8_t *message,
                      size_t n_bytes) {
    uint64_t job;
    int known;
    (void)user;
    /* Attached first: a caller who goes away at once takes the job along as well. */
    struct pm_wait *wait = pm_service_wait_attach(call);
    if (wait != NULL && submit_message(call, message, n_bytes, wait, &job, &known)) {
        wait->answer = pm_service_answer_result;
        pm_service_wait(call, wait, 0);
    }
}
