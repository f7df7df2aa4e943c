/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_world.h"

#include "base/memory.h"

#include <cuzk/v1/cuzk.pb-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void world_fail(const char *file, int line, const char *what) {
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

struct pm_daemon world_daemon(pm_engine *engine) {
    struct pm_daemon daemon = {.engine = engine};
    daemon.config.message_bytes_max = UINT64_C(256) << 20;
    daemon.config.upload_bytes_max = UINT64_C(64) << 20;
    daemon.config.state_dir = world_text("/var/lib/proofmill");
    return daemon;
}

/* ---- What of the daemon is elsewhere -------------------------------------------------------- */

pm_status pm_metrics_text(struct pm_daemon *daemon, char **text, size_t *n_bytes, pm_error *error) {
    static const char all[] = "# HELP cuzk_queue_depth jobs\n";
    (void)daemon;
    *text = malloc(sizeof all);
    if (*text == NULL) {
        error->status = PM_NO_MEMORY;
        return PM_NO_MEMORY;
    }
    memcpy(*text, all, sizeof all);
    *n_bytes = sizeof all - 1;
    return PM_OK;
}

struct pm_daemon_key_fault world_key_fault;
const char *world_key_warning = "";

uint32_t pm_daemon_key_faults(struct pm_daemon *daemon, struct pm_daemon_key_fault *faults,
                              uint32_t n_max) {
    (void)daemon;
    if (world_key_fault.name[0] == '\0') {
        return 0;
    }
    if (n_max > 0) {
        faults[0] = world_key_fault;
    }
    return 1;
}

bool pm_daemon_key_is_refused(struct pm_daemon *daemon, const char *name, char message[512]) {
    (void)daemon;
    memcpy(message, world_key_fault.message, sizeof world_key_fault.message);
    return world_key_fault.name[0] != '\0' && strcmp(world_key_fault.name, name) == 0;
}

void pm_daemon_key_was_added(struct pm_daemon *daemon, const char *name, const char *path) {
    (void)daemon;
    (void)name;
    (void)path;
}

const char *pm_daemon_key_warning(struct pm_daemon *daemon, const pm_engine_key_info *info) {
    (void)daemon;
    return info->curve == PM_CURVE_BN254 ? world_key_warning : "";
}

pm_status pm_daemon_list_keys(struct pm_daemon *daemon, pm_engine_key_info *infos, uint32_t *n) {
    const uint32_t room = infos != NULL ? *n : 0;
    const pm_status status = pm_engine_keys(daemon->engine, infos, n);
    if (world_key_fault.name[0] != '\0') {
        if (*n < room) {
            infos[*n] = (pm_engine_key_info){.struct_bytes = sizeof infos[*n],
                                             .tier = PM_ENGINE_COLD,
                                             .status = (int32_t)world_key_fault.status};
            memcpy(infos[*n].name, world_key_fault.name, sizeof infos[*n].name);
        }
        ++*n;
    }
    return status;
}

/* ---- rpc.h ---------------------------------------------------------------------------------- */

void *pm_rpc_user(struct pm_rpc_call *call) {
    return call->daemon;
}

bool pm_rpc_is_local(struct pm_rpc_call *call) {
    return call->is_local;
}

uint64_t pm_rpc_remaining_ms(struct pm_rpc_call *call) {
    return call->remaining_ms;
}

const pm_control *pm_rpc_control(struct pm_rpc_call *call) {
    return &call->control;
}

void pm_rpc_attach(struct pm_rpc_call *call, void *state,
                   void (*gone)(struct pm_rpc_call *call, void *state, bool was_cut)) {
    WORLD_REQUIRE(call->gone == NULL);
    call->state = state;
    call->gone = gone;
}

void *pm_rpc_attached(struct pm_rpc_call *call) {
    return call->state;
}

uint64_t world_held_bytes;

uint64_t pm_rpc_hold_bytes_max(struct pm_rpc_call *call) {
    return call->daemon->config.upload_bytes_max;
}

bool pm_rpc_hold(struct pm_rpc_call *call, uint64_t n_bytes) {
    const uint64_t most = pm_rpc_hold_bytes_max(call);
    if (n_bytes > most || world_held_bytes > most - n_bytes) {
        return false;
    }
    world_held_bytes += n_bytes;
    return true;
}

void pm_rpc_let_go(struct pm_rpc_call *call, uint64_t n_bytes) {
    (void)call;
    WORLD_REQUIRE(n_bytes <= world_held_bytes);
    world_held_bytes -= n_bytes;
}

static void keep(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    free(call->answer);
    call->answer = malloc(n_bytes != 0 ? n_bytes : 1);
    if (call->answer != NULL && n_bytes != 0) {
        memcpy(call->answer, bytes, n_bytes);
    }
    call->answer_bytes = n_bytes;
    ++call->n_answers;
}

static void end(struct pm_rpc_call *call, enum pm_rpc_code code) {
    WORLD_REQUIRE(!call->has_ended && !call->is_parked);
    call->has_ended = true;
    call->code = code;
}

void pm_rpc_reply(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    WORLD_REQUIRE(call->method->kind != PM_RPC_SERVER_STREAM);
    WORLD_REQUIRE(n_bytes <= call->daemon->config.message_bytes_max);
    keep(call, bytes, n_bytes);
    end(call, PM_RPC_OK);
}

void pm_rpc_reason(struct pm_rpc_call *call, const char *name) {
    WORLD_REQUIRE(!call->has_ended && name != NULL && strcmp(name, "UNKNOWN") != 0);
}

void pm_rpc_fail(struct pm_rpc_call *call, enum pm_rpc_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(call->sentence, sizeof call->sentence, format, arguments);
    va_end(arguments);
    WORLD_REQUIRE(code != PM_RPC_OK && call->sentence[0] != '\0');
    WORLD_REQUIRE(strchr(call->sentence, '\n') == NULL);
    end(call, code);
}

void pm_rpc_send(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    WORLD_REQUIRE(call->method->kind == PM_RPC_SERVER_STREAM && !call->has_ended);
    keep(call, bytes, n_bytes);
}

void pm_rpc_end(struct pm_rpc_call *call) {
    WORLD_REQUIRE(call->method->kind == PM_RPC_SERVER_STREAM);
    end(call, PM_RPC_OK);
}

void pm_rpc_park(struct pm_rpc_call *call, uint64_t job, uint64_t timeout_ms, bool every_change,
                 pm_rpc_resume *resume) {
    WORLD_REQUIRE(!call->has_ended && !call->is_parked);
    call->is_parked = true;
    call->parked_for_changes = every_change;
    call->parked_job = job;
    call->parked_ms = timeout_ms;
    call->resume = resume;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static const struct pm_rpc_method *find(const struct pm_rpc_method *table, const char *path) {
    for (; table->path != NULL; ++table) {
        const size_t n = strlen(table->path), n_asked = strlen(path);
        if (n >= n_asked && strcmp(table->path + n - n_asked, path) == 0) {
            return table;
        }
    }
    return NULL;
}

void world_begin(struct pm_daemon *daemon, const char *path, struct pm_rpc_call *call) {
    *call = (struct pm_rpc_call){
        .daemon = daemon, .is_local = true, .remaining_ms = UINT64_MAX, .code = PM_RPC_UNKNOWN};
    call->control =
        (pm_control){.struct_bytes = sizeof call->control, .cancel = &call->is_cancelled};
    call->method = find(pm_service_prover, path);
    if (call->method == NULL) {
        call->method = find(pm_service_cuzk, path);
    }
    WORLD_REQUIRE(call->method != NULL);
}

static void check_returned(const struct pm_rpc_call *call, bool may_go_on) {
    WORLD_REQUIRE(call->has_ended || call->is_parked || may_go_on);
}

void world_hand(struct pm_rpc_call *call, const void *bytes, size_t n_bytes) {
    uint8_t *copy = malloc(n_bytes != 0 ? n_bytes : 1);
    WORLD_REQUIRE(copy != NULL);
    if (n_bytes != 0) {
        memcpy(copy, bytes, n_bytes);
    }
    call->method->handle(call, call->daemon, copy, n_bytes);
    pm_memory_wipe(copy, n_bytes);
    free(copy);
    check_returned(call, call->method->kind == PM_RPC_CLIENT_STREAM);
}

void world_hand_message(struct pm_rpc_call *call, const ProtobufCMessage *message) {
    const size_t n_bytes = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(n_bytes != 0 ? n_bytes : 1);
    WORLD_REQUIRE(bytes != NULL);
    (void)protobuf_c_message_pack(message, bytes);
    world_hand(call, bytes, n_bytes);
    pm_memory_wipe(bytes, n_bytes);
    free(bytes);
}

void world_finish(struct pm_rpc_call *call) {
    if (!call->has_ended) {
        call->method->handle(call, call->daemon, NULL, 0);
        check_returned(call, false);
    }
}

static void wake(struct pm_rpc_call *call, enum pm_rpc_wake why) {
    call->is_parked = false;
    call->resume(call, call->daemon, call->parked_job, why);
    check_returned(call, false);
}

/* A millisecond, or until the job has ended. */
static bool look(const struct pm_rpc_call *call, pm_engine_job *info) {
    (void)pm_engine_await(call->daemon->engine, call->parked_job, 1, NULL, NULL, NULL);
    *info = (pm_engine_job){.struct_bytes = sizeof *info};
    return pm_engine_job_info(call->daemon->engine, call->parked_job, info, NULL) != PM_OK ||
           info->state >= PM_ENGINE_DONE;
}

void world_run(struct pm_rpc_call *call) {
    struct timespec begin, now;
    uint32_t state = UINT32_MAX;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    while (!call->has_ended) {
        pm_engine_job info;
        WORLD_REQUIRE(call->is_parked);
        if (look(call, &info)) {
            wake(call, PM_RPC_WAKE_ENDED);
            continue;
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t waited_ms =
            (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000;
        if (call->parked_ms != 0 && (uint64_t)waited_ms >= call->parked_ms) {
            wake(call, PM_RPC_WAKE_TIMEOUT);
        } else if (call->parked_for_changes && info.state != state) {
            state = info.state;
            wake(call, PM_RPC_WAKE_CHANGED);
        }
    }
}

static void release(struct pm_rpc_call *call, bool was_cut) {
    if (call->gone != NULL) {
        call->gone(call, call->state, was_cut);
    }
    call->gone = NULL;
    call->state = NULL;
}

void world_cut(struct pm_rpc_call *call) {
    WORLD_REQUIRE(!call->has_ended);
    call->is_parked = false;
    call->is_cancelled = 1;
    call->has_ended = true;
    call->code = PM_RPC_CANCELLED;
    release(call, true);
}

void world_close(struct pm_rpc_call *call) {
    if (!call->has_ended) {
        world_cut(call);
    }
    release(call, false);
    free(call->answer);
    call->answer = NULL;
}

void *world_answer(const struct pm_rpc_call *call, const ProtobufCMessageDescriptor *answer) {
    if (call->code != PM_RPC_OK) {
        return NULL;
    }
    ProtobufCMessage *message =
        protobuf_c_message_unpack(answer, NULL, call->answer_bytes, call->answer);
    WORLD_REQUIRE(message != NULL && message->n_unknown_fields == 0);
    return message;
}

void *world_call(struct pm_daemon *daemon, const char *path, const ProtobufCMessage *request,
                 const ProtobufCMessageDescriptor *answer, struct pm_rpc_call *call) {
    struct pm_rpc_call own;
    struct pm_rpc_call *used = call != NULL ? call : &own;
    world_begin(daemon, path, used);
    world_hand_message(used, request);
    world_run(used);
    void *message = world_answer(used, answer);
    world_close(used);
    return message;
}

/* ---- Messages ------------------------------------------------------------------------------- */

const ProtobufCMessageDescriptor *const world_requests[] = {
    &proofmill__v1__submit_request__descriptor,
    &proofmill__v1__submit_chunk__descriptor,
    &proofmill__v1__await_request__descriptor,
    &proofmill__v1__job_request__descriptor,
    &proofmill__v1__list_jobs_request__descriptor,
    &proofmill__v1__register_key_request__descriptor,
    &proofmill__v1__key_request__descriptor,
    &proofmill__v1__list_keys_request__descriptor,
    &proofmill__v1__empty__descriptor,
    &proofmill__v1__plan_request__descriptor,
    &proofmill__v1__device_request__descriptor,
    &cuzk__v1__submit_proof_request__descriptor,
    &cuzk__v1__await_proof_request__descriptor,
    &cuzk__v1__prove_request__descriptor,
    &cuzk__v1__cancel_proof_request__descriptor,
    &cuzk__v1__get_status_request__descriptor,
    &cuzk__v1__preload_srs_request__descriptor,
    &cuzk__v1__evict_srs_request__descriptor,
    &cuzk__v1__get_metrics_request__descriptor,
};
const size_t world_n_requests = sizeof world_requests / sizeof world_requests[0];

char *world_text(const char *constant) {
    return (char *)(uintptr_t)constant;
}

void world_submission_init(struct world_submission *made, const char *key) {
    memset(made, 0, sizeof *made);
    proofmill__v1__submit_request__init(&made->request);
    made->request.key = world_text(key);
    made->request.inputs = made->pointers;
}

static Proofmill__V1__Input *add(struct world_submission *made) {
    WORLD_REQUIRE(made->request.n_inputs < sizeof made->inputs / sizeof made->inputs[0]);
    Proofmill__V1__Input *input = &made->inputs[made->request.n_inputs];
    proofmill__v1__input__init(input);
    made->pointers[made->request.n_inputs++] = input;
    return input;
}

void world_add_path(struct world_submission *made, const char *path) {
    Proofmill__V1__Input *input = add(made);
    input->from_case = PROOFMILL__V1__INPUT__FROM_PATH;
    input->path = world_text(path);
}

void world_add_data(struct world_submission *made, const void *bytes, size_t n_bytes) {
    Proofmill__V1__Input *input = add(made);
    input->from_case = PROOFMILL__V1__INPUT__FROM_DATA;
    input->data.data = (uint8_t *)(uintptr_t)bytes;
    input->data.len = n_bytes;
}

static bool is_same_value(ProtobufCType type, const uint8_t *a, const uint8_t *b) {
    const void *at_a, *at_b;
    ProtobufCBinaryData data_a, data_b;
    switch (type) {
    case PROTOBUF_C_TYPE_STRING:
        memcpy(&at_a, a, sizeof at_a);
        memcpy(&at_b, b, sizeof at_b);
        return strcmp(at_a, at_b) == 0;
    case PROTOBUF_C_TYPE_BYTES:
        memcpy(&data_a, a, sizeof data_a);
        memcpy(&data_b, b, sizeof data_b);
        return data_a.len == data_b.len &&
               (data_a.len == 0 || memcmp(data_a.data, data_b.data, data_a.len) == 0);
    case PROTOBUF_C_TYPE_MESSAGE:
        memcpy(&at_a, a, sizeof at_a);
        memcpy(&at_b, b, sizeof at_b);
        return at_a == NULL || at_b == NULL ? at_a == at_b : world_is_same(at_a, at_b);
    case PROTOBUF_C_TYPE_UINT64:
        return memcmp(a, b, 8) == 0;
    default:
        return memcmp(a, b, 4) == 0;
    }
}

static bool is_same_field(const ProtobufCFieldDescriptor *field, const uint8_t *a,
                          const uint8_t *b) {
    const uint8_t *place_a = a + field->offset, *place_b = b + field->offset;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        uint32_t case_a, case_b;
        memcpy(&case_a, a + field->quantifier_offset, sizeof case_a);
        memcpy(&case_b, b + field->quantifier_offset, sizeof case_b);
        return case_a == case_b &&
               (case_a != field->id || is_same_value(field->type, place_a, place_b));
    }
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        return is_same_value(field->type, place_a, place_b);
    }
    size_t n_a, n_b;
    const size_t step =
        field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(void *);
    memcpy(&n_a, a + field->quantifier_offset, sizeof n_a);
    memcpy(&n_b, b + field->quantifier_offset, sizeof n_b);
    memcpy(&place_a, a + field->offset, sizeof place_a);
    memcpy(&place_b, b + field->offset, sizeof place_b);
    bool is_same = n_a == n_b;
    for (size_t i = 0; is_same && i < n_a; ++i) {
        is_same = is_same_value(field->type, place_a + i * step, place_b + i * step);
    }
    return is_same;
}

bool world_is_same(const ProtobufCMessage *a, const ProtobufCMessage *b) {
    bool is_same = a->descriptor == b->descriptor;
    for (unsigned i = 0; is_same && i < a->descriptor->n_fields; ++i) {
        is_same = is_same_field(&a->descriptor->fields[i], (const uint8_t *)a, (const uint8_t *)b);
    }
    return is_same;
}
