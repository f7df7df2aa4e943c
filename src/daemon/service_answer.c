/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- Statuses to codes ---------------------------------------------------------------------- */

struct codes {
    enum pm_rpc_code call, key; /* what the status is said of */
};

/* By pm_status, as proofmill.proto says it. FAILED_PRECONDITION: the same again fails until
 * somebody has seen to it; UNAVAILABLE and RESOURCE_EXHAUSTED: later it may be well. A caller who
 * has gone away hears nothing, so who is told CANCELLED is told by an engine that stops. */
static const struct codes codes[] = {
    [PM_OK] = {PM_RPC_OK, PM_RPC_OK},
    [PM_PROOF_INVALID] = {PM_RPC_INTERNAL, PM_RPC_INTERNAL},
    [PM_INVALID_ARGUMENT] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_INVALID_ARGUMENT},
    [PM_BUFFER_TOO_SMALL] = {PM_RPC_INTERNAL, PM_RPC_INTERNAL},
    [PM_UNSUPPORTED] = {PM_RPC_FAILED_PRECONDITION, PM_RPC_FAILED_PRECONDITION},
    [PM_SAME_FILE] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_INVALID_ARGUMENT},
    [PM_NOT_THIS_KIND] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_VERSION] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_PROTOCOL] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_CURVE] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_TRUNCATED] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_SECTION] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_LENGTH] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_COUNT] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_NOT_CANONICAL] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_NOT_ON_CURVE] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_NOT_IN_SUBGROUP] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_POINT_AT_INFINITY] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_ENCODING] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_FAILED_PRECONDITION},
    [PM_WITNESS_MISMATCH] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_INVALID_ARGUMENT},
    [PM_IO] = {PM_RPC_FAILED_PRECONDITION, PM_RPC_FAILED_PRECONDITION},
    [PM_NO_MEMORY] = {PM_RPC_RESOURCE_EXHAUSTED, PM_RPC_RESOURCE_EXHAUSTED},
    [PM_NO_THREADS] = {PM_RPC_RESOURCE_EXHAUSTED, PM_RPC_RESOURCE_EXHAUSTED},
    [PM_NO_RANDOM] = {PM_RPC_UNAVAILABLE, PM_RPC_UNAVAILABLE},
    [PM_NO_DEVICE] = {PM_RPC_UNAVAILABLE, PM_RPC_UNAVAILABLE},
    [PM_DEVICE] = {PM_RPC_UNAVAILABLE, PM_RPC_UNAVAILABLE},
    [PM_FILE_CHANGED] = {PM_RPC_FAILED_PRECONDITION, PM_RPC_FAILED_PRECONDITION},
    [PM_OVER_BUDGET] = {PM_RPC_OUT_OF_RANGE, PM_RPC_OUT_OF_RANGE},
    [PM_BUDGET_BUSY] = {PM_RPC_RESOURCE_EXHAUSTED, PM_RPC_FAILED_PRECONDITION},
    [PM_CANCELLED] = {PM_RPC_UNAVAILABLE, PM_RPC_UNAVAILABLE},
    [PM_DEADLINE] = {PM_RPC_DEADLINE_EXCEEDED, PM_RPC_DEADLINE_EXCEEDED},
    [PM_UNSATISFIED] = {PM_RPC_INVALID_ARGUMENT, PM_RPC_INTERNAL},
    [PM_SELF_VERIFY] = {PM_RPC_INTERNAL, PM_RPC_INTERNAL},
    [PM_INTERNAL] = {PM_RPC_INTERNAL, PM_RPC_INTERNAL},
};

enum pm_rpc_code pm_service_code(pm_status status, enum pm_matter matter) {
    const size_t i = (size_t)status;
    if (i >= sizeof codes / sizeof codes[0] || (status != PM_OK && codes[i].call == PM_RPC_OK)) {
        return PM_RPC_INTERNAL;
    }
    return matter == PM_MATTER_CALL ? codes[i].call : codes[i].key;
}

/* The journal's trouble is nothing that a caller could mend, and it may pass. */
static bool is_of_journal(const struct pm_daemon *daemon, const pm_error *error) {
    const char *folder = daemon->config.state_dir;
    const size_t n = folder != NULL ? strlen(folder) : 0;
    return error->file[0] == '\0' || (n != 0 && strncmp(error->file, folder, n) == 0 &&
                                      (error->file[n] == '/' || error->file[n] == '\0'));
}

void pm_service_fail(struct pm_rpc_call *call, enum pm_matter matter, const pm_error *error) {
    const pm_status status = (pm_status)error->status;
    enum pm_rpc_code code = pm_service_code(status, matter);
    const char *sentence = status == PM_CANCELLED ? "the daemon is stopping, and takes no more jobs"
                           : error->message[0] != '\0' ? error->message
                                                       : pm_status_sentence(status);
    if (status == PM_IO && matter != PM_MATTER_LOADING &&
        is_of_journal(pm_service_daemon(call), error)) {
        code = PM_RPC_UNAVAILABLE;
    }
    pm_rpc_reason(call, pm_status_name(status));
    if (error->file[0] != '\0' && strstr(sentence, error->file) == NULL) {
        pm_rpc_fail(call, code, "%s: %s", error->file, sentence);
    } else {
        pm_rpc_fail(call, code, "%s", sentence);
    }
}

/* ---- Messages ------------------------------------------------------------------------------- */

struct pm_daemon *pm_service_daemon(struct pm_rpc_call *call) {
    return pm_rpc_user(call);
}

void *pm_service_request(struct pm_rpc_call *call, const ProtobufCMessageDescriptor *kind,
                         const uint8_t *bytes, size_t n_bytes) {
    pm_error error = PM_ERROR_INIT;
    ProtobufCMessage *message = NULL;
    if (pm_message_decode(kind, bytes, n_bytes, &message, &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_CALL, &error);
        return NULL;
    }
    return message;
}

/* NULL: the call has been ended. For free(). */
static uint8_t *pack(struct pm_rpc_call *call, const ProtobufCMessage *answer, size_t *n_bytes) {
    const uint64_t most = pm_service_daemon(call)->config.message_bytes_max;
    pm_message_mend(answer);
    *n_bytes = protobuf_c_message_get_packed_size(answer);
    if (*n_bytes > most) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED,
                    "the answer has %zu bytes, a message at most %llu (max_message in [rpc]): ask "
                    "for less at a time",
                    *n_bytes, (unsigned long long)most);
        return NULL;
    }
    uint8_t *packed = malloc(*n_bytes != 0 ? *n_bytes : 1);
    if (packed == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for an answer of %zu bytes",
                    *n_bytes);
        return NULL;
    }
    (void)protobuf_c_message_pack(answer, packed);
    return packed;
}

void pm_service_reply(struct pm_rpc_call *call, const ProtobufCMessage *answer) {
    size_t n_bytes;
    uint8_t *packed = pack(call, answer, &n_bytes);
    if (packed != NULL) {
        pm_rpc_reply(call, packed, n_bytes);
        free(packed);
    }
}

bool pm_service_send(struct pm_rpc_call *call, const ProtobufCMessage *answer) {
    size_t n_bytes;
    uint8_t *packed = pack(call, answer, &n_bytes);
    if (packed == NULL) {
        return false;
    }
    pm_rpc_send(call, packed, n_bytes);
    free(packed);
    return true;
}
