/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill.v1.Prover, method by method, over a real engine on the CPU: what each answers, and each
 * way to be refused.
 */
#include "daemon/service_internal.h"

#include "base/memory.h"
#include "daemon/service_world.h"
#include "engine/engine_case.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"
#include "json/json.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct circuits circuits;
static pm_engine *engine;
static struct pm_daemon daemon_;

static int open_all(void **state) {
    (void)state;
    const pm_engine_device cpu = {.struct_bytes = sizeof cpu, .threads = 1};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 1,
                                       .devices = &cpu,
                                       .host_bytes = 512 * MIB,
                                       .retry_ms = 1};
    pm_error error = PM_ERROR_INIT;
    circuits_open(14, &circuits);
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    daemon_ = world_daemon(engine);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    assert_int_equal(world_held_bytes, 0);
    pm_engine_destroy(engine);
    circuits_close(&circuits);
    return 0;
}

/* ---- Requests ------------------------------------------------------------------------------- */

static struct world_submission by_path(enum circuit circuit, const char *request_id) {
    struct world_submission made;
    world_submission_init(&made, circuits.name[circuit]);
    made.request.request_id = world_text(request_id);
    return made;
}

/* Structs with pointers into themselves are not returned with them. */
#define BY_PATH(name, circuit, id)                                                                 \
    struct world_submission name = by_path(circuit, id);                                           \
    name.request.inputs = name.pointers;                                                           \
    world_add_path(&name, circuits.witness_path[circuit])

static uint64_t submit_good(struct world_submission *made) {
    Proofmill__V1__SubmitResponse *answer =
        world_call(&daemon_, "Prover/Submit", &made->request.base,
                   &proofmill__v1__submit_response__descriptor, NULL);
    assert_non_null(answer);
    const uint64_t job = answer->job;
    assert_int_not_equal(job, 0);
    protobuf_c_message_free_unpacked(&answer->base, NULL);
    return job;
}

static void expect_failure(const struct pm_rpc_call *call, enum pm_rpc_code code,
                           const char *word) {
    if (call->code != code || strstr(call->sentence, word) == NULL) {
        fail_msg("code %d, not %d: \"%s\" (\"%s\")", (int)call->code, (int)code, call->sentence,
                 word);
    }
}

static void expect_refused(const char *path, const ProtobufCMessage *request, enum pm_rpc_code code,
                           const char *word) {
    struct pm_rpc_call call;
    world_begin(&daemon_, path, &call);
    world_hand_message(&call, request);
    world_run(&call);
    expect_failure(&call, code, word);
    world_close(&call);
}

/* The proofs of a Result hold, in all three forms. */
static void expect_proofs(const Proofmill__V1__Result *result, enum circuit circuit, size_t n) {
    assert_int_equal(result->job->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE);
    assert_int_equal(result->n_proofs, n);
    const bool is_bls = result->curve == PROOFMILL__V1__CURVE__CURVE_BLS12_381;
    const pm_curve_id curve = is_bls ? PM_CURVE_BLS12_381 : PM_CURVE_BN254;
    for (size_t i = 0; i < n; ++i) {
        const Proofmill__V1__Proof *made = result->proofs[i];
        pm_proof proof = {.struct_bytes = sizeof proof}, again = {.struct_bytes = sizeof again};
        uint8_t *publics;
        size_t n_publics;
        pm_error error = PM_ERROR_INIT;
        toy_expect(pm_json_proof_parse(made->proof_json, strlen(made->proof_json), NULL,
                                       PM_CURVE_NONE, &proof, &error),
                   PM_OK, &error);
        toy_expect(pm_json_public_parse(made->public_json, strlen(made->public_json), NULL, curve,
                                        &publics, &n_publics, &error),
                   PM_OK, &error);
        assert_int_equal(n_publics, pm_vk_n_public(circuits.vk[circuit]));
        assert_int_equal(check_proof(&circuits, circuit, &proof, publics), PM_OK);
        assert_int_equal(made->proof.len, is_bls ? 192 : 256);
        toy_expect(pm_proof_decode(curve,
                                   is_bls ? PM_POINT_ZCASH_COMPRESSED : PM_POINT_CANONICAL_LE,
                                   made->proof.data, made->proof.len, &again, &error),
                   PM_OK, &error);
        assert_memory_equal(&again, &proof, sizeof proof);
        pm_json_values_free(publics);
    }
}

static Proofmill__V1__Result *await(uint64_t job, struct pm_rpc_call *call) {
    Proofmill__V1__AwaitRequest request = PROOFMILL__V1__AWAIT_REQUEST__INIT;
    request.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_JOB;
    request.job = job;
    return world_call(&daemon_, "Prover/Await", &request.base, &proofmill__v1__result__descriptor,
                      call);
}

static void free_message(void *message) {
    protobuf_c_message_free_unpacked(message, NULL);
}

/* A job that is not done before others have had their turn. */
static uint64_t submit_long(const char *request_id) {
    BY_PATH(made, LONG, request_id);
    return submit_good(&made);
}

/* So many proofs that the job is not over before it has been looked at. */
static uint64_t submit_longs(int n) {
    struct world_submission made;
    world_submission_init(&made, circuits.name[LONG]);
    for (int i = 0; i < n; ++i) {
        world_add_path(&made, circuits.witness_path[LONG]);
    }
    return submit_good(&made);
}

static void cancel_job(uint64_t job) {
    assert_int_equal(pm_engine_cancel(engine, job, NULL, NULL), PM_OK);
    (void)await_job(engine, job);
}

/* ---- Codes ---------------------------------------------------------------------------------- */

static void every_status_has_a_code(void **state) {
    (void)state;
#define HAS_CODE(name, number, sentence)                                                           \
    assert_int_equal(pm_service_code(PM_##name, PM_MATTER_CALL) == PM_RPC_OK, PM_##name == PM_OK); \
    assert_int_equal(pm_service_code(PM_##name, PM_MATTER_KEY) == PM_RPC_OK, PM_##name == PM_OK);  \
    if (PM_##name != PM_OK && PM_##name != PM_INTERNAL && PM_##name != PM_SELF_VERIFY &&           \
        PM_##name != PM_PROOF_INVALID && PM_##name != PM_BUFFER_TOO_SMALL) {                       \
        assert_int_not_equal(pm_service_code(PM_##name, PM_MATTER_CALL), PM_RPC_INTERNAL);         \
    }
    PM_STATUS_MAP(HAS_CODE)
#undef HAS_CODE
    /* Of the proto's head. */
    assert_int_equal(pm_service_code(PM_OVER_BUDGET, PM_MATTER_CALL), PM_RPC_OUT_OF_RANGE);
    assert_int_equal(pm_service_code(PM_BUDGET_BUSY, PM_MATTER_CALL), PM_RPC_RESOURCE_EXHAUSTED);
    assert_int_equal(pm_service_code(PM_BUDGET_BUSY, PM_MATTER_KEY), PM_RPC_FAILED_PRECONDITION);
    assert_int_equal(pm_service_code(PM_NO_DEVICE, PM_MATTER_CALL), PM_RPC_UNAVAILABLE);
    assert_int_equal(pm_service_code(PM_DEADLINE, PM_MATTER_CALL), PM_RPC_DEADLINE_EXCEEDED);
    /* What is no status. */
    assert_int_equal(pm_service_code((pm_status)5, PM_MATTER_CALL), PM_RPC_INTERNAL);
    assert_int_equal(pm_service_code((pm_status)9999, PM_MATTER_KEY), PM_RPC_INTERNAL);
    assert_int_equal(pm_service_code((pm_status)-1, PM_MATTER_KEY), PM_RPC_INTERNAL);
}

static void every_method_of_the_proto_is_there(void **state) {
    const ProtobufCServiceDescriptor *service = &proofmill__v1__prover__descriptor;
    (void)state;
    for (unsigned i = 0; i < service->n_methods; ++i) {
        struct pm_rpc_call call;
        char path[128];
        (void)snprintf(path, sizeof path, "/%s/%s", service->name, service->methods[i].name);
        const struct pm_rpc_method *method = pm_service_prover;
        while (method->path != NULL && strcmp(method->path, path) != 0) {
            ++method;
        }
        assert_non_null(method->path);
        /* And each refuses what is malformed. */
        world_begin(&daemon_, strchr(path + 1, '/') + 1, &call);
        world_hand(&call, "\x0b\xff", 2);
        expect_failure(&call, PM_RPC_INVALID_ARGUMENT, "malformed");
        world_close(&call);
    }
    assert_int_equal(service->n_methods, 15);
}

/* ---- Submit, Await -------------------------------------------------------------------------- */

static void a_submitted_job_is_awaited(void **state) {
    (void)state;
    BY_PATH(made, MULT3, "submit-1");
    made.request.priority = PROOFMILL__V1__PRIORITY__PRIORITY_HIGH;
    const uint64_t job = submit_good(&made);
    Proofmill__V1__Result *result = await(job, NULL);
    assert_non_null(result);
    expect_proofs(result, MULT3, 1);
    assert_int_equal(result->job->job, job);
    assert_string_equal(result->job->request_id, "submit-1");
    assert_string_equal(result->job->key, "mult3");
    assert_int_equal(result->job->priority, PROOFMILL__V1__PRIORITY__PRIORITY_HIGH);
    assert_int_equal(result->job->n_parts, 1);
    assert_int_equal(result->job->n_parts_done, 1);
    assert_string_equal(result->job->device, "cpu");
    assert_string_equal(result->job->error, "");
    assert_string_equal(result->job->error_status, "");
    assert_true(result->job->ended_unix_ms >= result->job->accepted_unix_ms);
    assert_non_null(result->job->times);
    free_message(result);
}

static void inputs_come_as_bytes(void **state) {
    struct world_submission made;
    size_t n_bytes;
    (void)state;
    char *bytes = pm_test_read_file(circuits.witness_path[NOPRIV_BLS], &n_bytes);
    world_submission_init(&made, circuits.name[NOPRIV_BLS]);
    for (int i = 0; i < 3; ++i) {
        world_add_data(&made, bytes, n_bytes);
    }
    Proofmill__V1__Result *result = await(submit_good(&made), NULL);
    assert_non_null(result);
    expect_proofs(result, NOPRIV_BLS, 3);
    free_message(result);
    free(bytes);
}

static void some_of_many_proofs_are_asked_for(void **state) {
    Proofmill__V1__AwaitRequest request = PROOFMILL__V1__AWAIT_REQUEST__INIT;
    struct world_submission made;
    (void)state;
    world_submission_init(&made, circuits.name[ONE]);
    made.request.request_id = world_text("parts");
    for (int i = 0; i < 4; ++i) {
        world_add_path(&made, circuits.witness_path[ONE]);
    }
    (void)submit_good(&made);
    request.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_REQUEST_ID;
    request.request_id = world_text("parts");
    static const struct {
        uint32_t first, n, expected;
        bool without;
    } asked[] = {{0, 0, 4, false}, {1, 2, 2, false}, {3, 0, 1, false}, {0, 0, 0, true}};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; ++i) {
        request.first_proof = asked[i].first;
        request.n_proofs = asked[i].n;
        request.without_proofs = asked[i].without;
        Proofmill__V1__Result *result = world_call(&daemon_, "Prover/Await", &request.base,
                                                   &proofmill__v1__result__descriptor, NULL);
        assert_non_null(result);
        expect_proofs(result, ONE, asked[i].expected);
        free_message(result);
    }
    request.without_proofs = false;
    request.first_proof = 4;
    expect_refused("Prover/Await", &request.base, PM_RPC_INVALID_ARGUMENT, "4 proofs");
    request.first_proof = 3;
    request.n_proofs = 2;
    expect_refused("Prover/Await", &request.base, PM_RPC_INVALID_ARGUMENT, "4 proofs");
    request.first_proof = UINT32_MAX;
    request.n_proofs = UINT32_MAX;
    expect_refused("Prover/Await", &request.base, PM_RPC_INVALID_ARGUMENT, "4 proofs");
}

static void awaiting_ends_with_its_time(void **state) {
    Proofmill__V1__AwaitRequest request = PROOFMILL__V1__AWAIT_REQUEST__INIT;
    (void)state;
    const uint64_t first = submit_longs(4), job = submit_long("");
    request.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_JOB;
    request.job = job;
    request.timeout_ms = 2;
    expect_refused("Prover/Await", &request.base, PM_RPC_DEADLINE_EXCEEDED, "it goes on");
    assert_true(pm_engine_job_info(engine, job,
                                   &(pm_engine_job){.struct_bytes = sizeof(pm_engine_job)},
                                   NULL) == PM_OK);
    request.timeout_ms = UINT64_MAX; /* as good as none */
    Proofmill__V1__Result *result = world_call(&daemon_, "Prover/Await", &request.base,
                                               &proofmill__v1__result__descriptor, NULL);
    assert_non_null(result);
    expect_proofs(result, LONG, 1);
    free_message(result);
    (void)await_job(engine, first);
}

static void a_failed_job_is_no_failed_call(void **state) {
    struct world_submission made;
    (void)state;
    world_submission_init(&made, "mult3");
    world_add_path(&made, circuits_bad_witness(&circuits, MULT3));
    Proofmill__V1__Result *result = await(submit_good(&made), NULL);
    assert_non_null(result);
    assert_int_equal(result->job->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED);
    assert_int_equal(result->n_proofs, 0);
    assert_true(result->job->error[0] != '\0');
    assert_true(strcmp(result->job->error_status, "SELF_VERIFY") == 0 ||
                strcmp(result->job->error_status, "UNSATISFIED") == 0);
    free_message(result);
}

static void answers_that_do_not_fit_a_message(void **state) {
    (void)state;
    BY_PATH(made, MULT3, "large-answer");
    const uint64_t job = submit_good(&made);
    struct pm_rpc_call call;
    (void)await_job(engine, job);
    daemon_.config.message_bytes_max = 700;
    assert_null(await(job, &call));
    expect_failure(&call, PM_RPC_RESOURCE_EXHAUSTED, "max_message in [rpc]");
    expect_failure(&call, PM_RPC_RESOURCE_EXHAUSTED, "first_proof");
    Proofmill__V1__Empty empty = PROOFMILL__V1__EMPTY__INIT;
    daemon_.config.message_bytes_max = 50;
    expect_refused("Prover/GetStatus", &empty.base, PM_RPC_RESOURCE_EXHAUSTED,
                   "max_message in [rpc]");
    daemon_.config.message_bytes_max = 256 * MIB;
}

static void submissions_are_checked(void **state) {
    struct world_submission made;
    char long_name[200];
    (void)state;
    memset(long_name, 'n', sizeof long_name);
    long_name[128] = '\0';
    static const struct {
        const char *key, *id, *path;
        int priority;
        enum pm_rpc_code code;
        const char *word;
    } bad[] = {
        {"", "", "/w", 0, PM_RPC_INVALID_ARGUMENT, "a key's name"},
        {"no such", "", "/w", 0, PM_RPC_INVALID_ARGUMENT, "a key's name"},
        {"mult4", "", "/w", 0, PM_RPC_NOT_FOUND, "no key named \"mult4\""},
        {"mult3", "a b", "/w", 0, PM_RPC_INVALID_ARGUMENT, "request id"},
        {"mult3", "\xc3\xa9", "/w", 0, PM_RPC_INVALID_ARGUMENT, "request id"},
        {"mult3", "", "/w", 5, PM_RPC_INVALID_ARGUMENT, "5 is no priority"},
        {"mult3", "", "/w", -1, PM_RPC_INVALID_ARGUMENT, "-1 is no priority"},
        {"mult3", "", "w.wtns", 0, PM_RPC_INVALID_ARGUMENT, "absolute"},
        {"mult3", "", "", 0, PM_RPC_INVALID_ARGUMENT, "absolute"},
        {"mult3", "", "/no/such/file", 0, PM_RPC_FAILED_PRECONDITION, "/no/such/file"},
        {"mult3", "", "/", 0, PM_RPC_FAILED_PRECONDITION, "not a regular file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        world_submission_init(&made, bad[i].key);
        world_add_path(&made, bad[i].path);
        made.request.request_id = world_text(bad[i].id);
        made.request.priority = (Proofmill__V1__Priority)bad[i].priority;
        expect_refused("Prover/Submit", &made.request.base, bad[i].code, bad[i].word);
        expect_refused("Prover/Prove", &made.request.base, bad[i].code, bad[i].word);
    }
    world_submission_init(&made, long_name);
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "127");
    world_submission_init(&made, "mult3");
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT,
                   "this one has none");
    made.request.request_id = long_name;
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "127");
    world_submission_init(&made, "mult3");
    world_add_data(&made, world_text(""), 0);
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "is empty");
    made.inputs[0].from_case = PROOFMILL__V1__INPUT__FROM__NOT_SET;
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "is empty");
    world_submission_init(&made, "mult3");
    world_add_data(&made, world_text("abc"), 3);
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "no witness");
    world_add_path(&made, circuits.witness_path[MULT3]);
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "no witness");
}

/* Both members of the oneof, which no client of ours can write. */
static void an_input_has_path_or_data(void **state) {
    struct pm_rpc_call call;
    (void)state;
    world_begin(&daemon_, "Prover/Submit", &call);
    world_hand(&call, "\x0a\x05mult3\x12\x08\x0a\x02/w\x12\x02wt", 17);
    expect_failure(&call, PM_RPC_INVALID_ARGUMENT, "Input.data is set twice, or beside");
    world_close(&call);
}

static void paths_are_for_local_callers(void **state) {
    struct pm_rpc_call call;
    (void)state;
    BY_PATH(made, MULT3, "");
    world_begin(&daemon_, "Prover/Submit", &call);
    call.is_local = false;
    world_hand_message(&call, &made.request.base);
    expect_failure(&call, PM_RPC_PERMISSION_DENIED, "allow_paths_over_tcp");
    world_close(&call);
    daemon_.config.allow_paths_over_tcp = true;
    world_begin(&daemon_, "Prover/Submit", &call);
    call.is_local = false;
    world_hand_message(&call, &made.request.base);
    assert_int_equal(call.code, PM_RPC_OK);
    world_close(&call);
    daemon_.config.allow_paths_over_tcp = false;
}

static void a_job_has_a_deadline(void **state) {
    (void)state;
    const uint64_t first = submit_long(""), second = submit_long("");
    BY_PATH(made, LONG, "hurry");
    made.request.timeout_ms = 1;
    Proofmill__V1__Result *result = await(submit_good(&made), NULL);
    assert_non_null(result);
    assert_int_equal(result->job->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED);
    assert_string_equal(result->job->error_status, "DEADLINE");
    free_message(result);
    cancel_job(first);
    cancel_job(second);
}

/* ---- Prove ---------------------------------------------------------------------------------- */

static void prove_is_submit_and_await(void **state) {
    (void)state;
    BY_PATH(made, MIMC, "");
    for (int i = 0; i < 2; ++i) {
        Proofmill__V1__Result *result = world_call(&daemon_, "Prover/Prove", &made.request.base,
                                                   &proofmill__v1__result__descriptor, NULL);
        assert_non_null(result);
        expect_proofs(result, MIMC, 1);
        free_message(result);
        made.request.request_id = world_text("proved-already");
    }
    (void)submit_good(&made);
    /* With a request id that is known and done, the answer is there at once. */
    struct pm_rpc_call call;
    world_begin(&daemon_, "Prover/Prove", &call);
    world_hand_message(&call, &made.request.base);
    assert_true(call.has_ended && !call.is_parked);
    assert_int_equal(call.code, PM_RPC_OK);
    world_close(&call);
}

static void who_goes_away_takes_a_nameless_job_along(void **state) {
    struct pm_rpc_call call;
    (void)state;
    for (int has_name = 0; has_name < 2; ++has_name) {
        const uint64_t first = submit_long("");
        BY_PATH(made, LONG, has_name != 0 ? "stays" : "");
        world_begin(&daemon_, "Prover/Prove", &call);
        world_hand_message(&call, &made.request.base);
        assert_true(call.is_parked);
        const uint64_t job = call.parked_job;
        world_cut(&call);
        world_close(&call);
        const pm_engine_job info = await_job(engine, job);
        assert_int_equal(info.state, has_name != 0 ? PM_ENGINE_DONE : PM_ENGINE_CANCELLED);
        (void)await_job(engine, first);
    }
}

/* ---- SubmitStream --------------------------------------------------------------------------- */

struct stream {
    struct pm_rpc_call call;
    Proofmill__V1__SubmitRequest request;
};

static void stream_begin(struct stream *stream, const char *key) {
    world_begin(&daemon_, "Prover/SubmitStream", &stream->call);
    proofmill__v1__submit_request__init(&stream->request);
    stream->request.key = world_text(key);
}

static void stream_chunk(struct stream *stream, bool with_request, bool begins, uint64_t promised,
                         const void *bytes, size_t n_bytes) {
    Proofmill__V1__SubmitChunk chunk = PROOFMILL__V1__SUBMIT_CHUNK__INIT;
    chunk.request = with_request ? &stream->request : NULL;
    chunk.begins_part = begins;
    chunk.part_bytes = promised;
    chunk.data.data = (uint8_t *)(uintptr_t)bytes;
    chunk.data.len = n_bytes;
    world_hand_message(&stream->call, &chunk.base);
}

static void stream_expect_refused(struct stream *stream, enum pm_rpc_code code, const char *word) {
    if (!stream->call.has_ended) {
        world_finish(&stream->call);
    }
    expect_failure(&stream->call, code, word);
    world_close(&stream->call);
    assert_int_equal(world_held_bytes, 0);
}

static void inputs_come_in_pieces(void **state) {
    size_t n_bytes;
    (void)state;
    char *bytes = pm_test_read_file(circuits.witness_path[LONG], &n_bytes);
    assert_true(n_bytes > 512 << 10);
    for (int promised = 0; promised < 2; ++promised) {
        const size_t piece = promised != 0 ? 65536 : 7777;
        struct stream stream;
        stream_begin(&stream, "long");
        stream_chunk(&stream, true, false, 0, NULL, 0);
        for (int part = 0; part < 2; ++part) {
            for (size_t at = 0; at < n_bytes; at += piece) {
                const size_t n = n_bytes - at < piece ? n_bytes - at : piece;
                stream_chunk(&stream, false, at == 0, at == 0 && promised != 0 ? n_bytes : 0,
                             bytes + at, n);
                assert_false(stream.call.has_ended);
            }
        }
        assert_true(world_held_bytes >= 2 * n_bytes);
        assert_true(world_held_bytes <= (promised != 0 ? 2 : 4) * n_bytes);
        world_finish(&stream.call);
        Proofmill__V1__SubmitResponse *answer =
            world_answer(&stream.call, &proofmill__v1__submit_response__descriptor);
        assert_non_null(answer);
        world_close(&stream.call);
        assert_int_equal(world_held_bytes, 0);
        Proofmill__V1__Result *result = await(answer->job, NULL);
        assert_non_null(result);
        expect_proofs(result, LONG, 2);
        free_message(result);
        free_message(answer);
    }
    free(bytes);
}

static void streams_are_checked(void **state) {
    struct stream s;
    (void)state;
    stream_begin(&s, "mult3");
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "ended before its request");
    stream_begin(&s, "mult3");
    stream_chunk(&s, false, true, 0, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "first message");
    stream_begin(&s, "mult4");
    stream_chunk(&s, true, true, 0, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_NOT_FOUND, "mult4");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, true, 0, "wtns", 4);
    stream_chunk(&s, true, true, 0, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "one request");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, false, 0, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "begins_part");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, false, 9, NULL, 0);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "part_bytes");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, false, 0, NULL, 0);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "at least one input");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, true, 0, "wtns", 4);
    stream_chunk(&s, false, true, 0, NULL, 0);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "none of them is empty");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, true, 3, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "more bytes than its part_bytes");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, true, 5, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "part 0 ends after 4 bytes, 5 were");
    stream_begin(&s, "mult3");
    stream_chunk(&s, true, true, 5, "wtns", 4);
    stream_chunk(&s, false, true, 0, "wtns", 4);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "part 0 ends after 4 bytes, 5 were");
    struct world_submission made;
    world_submission_init(&made, "mult3");
    world_add_path(&made, "/w");
    stream_begin(&s, "mult3");
    s.request = made.request;
    stream_chunk(&s, true, false, 0, NULL, 0);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "has no inputs");
}

static void streams_hold_no_more_than_they_may(void **state) {
    struct stream streams[3];
    uint8_t *piece = calloc(1, MIB);
    (void)state;
    daemon_.config.upload_bytes_max = 10 * MIB;
    for (int i = 0; i < 3; ++i) {
        stream_begin(&streams[i], "long");
        stream_chunk(&streams[i], true, true, 0, NULL, 0);
    }
    uint32_t n_held = 0;
    for (int round = 0; round < 8 && !streams[2].call.has_ended; ++round) {
        for (int i = 0; i < 3 && !streams[2].call.has_ended; ++i) {
            if (!streams[i].call.has_ended) {
                stream_chunk(&streams[i], false, false, 0, piece, MIB);
                n_held += !streams[i].call.has_ended;
                assert_true(world_held_bytes <= 10 * MIB);
            }
        }
    }
    assert_true(n_held >= 5);
    for (int i = 0; i < 3; ++i) {
        if (streams[i].call.has_ended) {
            expect_failure(&streams[i].call, PM_RPC_RESOURCE_EXHAUSTED, "max_upload in [rpc]");
        }
        world_close(&streams[i].call);
    }
    assert_int_equal(world_held_bytes, 0);
    /* A promise takes nothing until its bytes come. */
    for (int i = 0; i < 2; ++i) {
        stream_begin(&streams[i], "long");
        stream_chunk(&streams[i], true, true, 8 * MIB, piece, 1000);
        assert_false(streams[i].call.has_ended);
    }
    assert_true(world_held_bytes <= 2 * (64 << 10));
    world_close(&streams[0].call);
    world_close(&streams[1].call);
    /* What can never come in is refused at once, and no promise wraps around. */
    stream_begin(&streams[0], "long");
    stream_chunk(&streams[0], true, true, 6 * MIB, piece, MIB);
    for (int i = 0; i < 5; ++i) {
        stream_chunk(&streams[0], false, false, 0, piece, MIB);
    }
    stream_chunk(&streams[0], false, true, 5 * MIB, NULL, 0);
    stream_expect_refused(&streams[0], PM_RPC_RESOURCE_EXHAUSTED, "can never come in");
    stream_begin(&streams[0], "long");
    stream_chunk(&streams[0], true, true, UINT64_MAX, piece, 1);
    stream_expect_refused(&streams[0], PM_RPC_RESOURCE_EXHAUSTED, "max_upload in [rpc]");
    daemon_.config.upload_bytes_max = 64 * MIB;
    free(piece);
}

static void a_stream_has_so_many_parts(void **state) {
    struct stream s;
    (void)state;
    stream_begin(&s, "one");
    stream_chunk(&s, true, false, 0, NULL, 0);
    for (int i = 0; i < PM_ENGINE_PARTS_MAX; ++i) {
        stream_chunk(&s, false, true, 0, NULL, 0);
        assert_false(s.call.has_ended);
    }
    stream_chunk(&s, false, true, 0, NULL, 0);
    stream_expect_refused(&s, PM_RPC_INVALID_ARGUMENT, "4096");
}

/* ---- Secrets -------------------------------------------------------------------------------- */

#define MARKER_BYTES 24

/* How often the marker stands in memory of this process that it may write to. It is known by its
 * complement, so that the search does not find itself. */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) static uint32_t
count_marker(const uint8_t complement[MARKER_BYTES]) {
    char line[512];
    uint32_t n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 ||
            strncmp(rights, "rw", 2) != 0 || end - begin > (256ul << 20) ||
            strstr(line, "[stack]") != NULL) {
            continue; /* a sanitizer's shadow; a digest's last block, which is soon written over */
        }
        for (const uint8_t *at = (const uint8_t *)begin; at + MARKER_BYTES <= (uint8_t *)end;
             at += 4) {
            size_t i = 0;
            while (i < MARKER_BYTES && at[i] + complement[i] == 0xff) {
                ++i;
            }
            n += i == MARKER_BYTES;
        }
    }
    (void)fclose(maps);
    return n;
}

static void put_marker(const uint8_t complement[MARKER_BYTES], uint8_t *piece, size_t n_bytes) {
    for (size_t at = 0; at + MARKER_BYTES <= n_bytes; at += MARKER_BYTES) {
        for (size_t i = 0; i < MARKER_BYTES; ++i) {
            piece[at + i] = complement[i] ^ 0xff;
        }
    }
    /* Somebody will read it whom the compiler does not see. */
    __asm__ volatile("" : : "r"(piece) : "memory");
}

/* Of an input that came in pieces and grew, of one that was cut off, and of one in a message: no
 * byte stays behind in freed memory. */
static void inputs_are_wiped(void **state) {
    static uint8_t complement[MARKER_BYTES];
    static uint8_t piece[50 * 24 * 100];
    struct seeded_random random = seeded_random_from_environment();
    (void)state;
    seeded_random_bytes(&random, complement, sizeof complement);
    put_marker(complement, piece, sizeof piece);
    /* One may lie across two mappings. */
    assert_true(count_marker(complement) + 1 >= sizeof piece / MARKER_BYTES);
    for (int is_cut = 0; is_cut < 2; ++is_cut) {
        struct stream s;
        stream_begin(&s, "mult3");
        stream_chunk(&s, true, true, 0, "wtns", 4);
        for (int i = 0; i < 8; ++i) { /* it grows four times */
            stream_chunk(&s, false, false, 0, piece, sizeof piece);
        }
        if (!is_cut) {
            world_finish(&s.call);
            expect_failure(&s.call, PM_RPC_INVALID_ARGUMENT, "at most");
        }
        world_close(&s.call);
    }
    struct world_submission made;
    world_submission_init(&made, "mult3");
    memcpy(piece, "wtns", 4);
    world_add_data(&made, piece, sizeof piece);
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_INVALID_ARGUMENT, "at most");
    pm_memory_wipe(piece, sizeof piece);
    assert_int_equal(count_marker(complement), 0);
}

/* ---- Watch, Cancel, ListJobs ---------------------------------------------------------------- */

static Proofmill__V1__JobRequest job_request(uint64_t job) {
    Proofmill__V1__JobRequest request = PROOFMILL__V1__JOB_REQUEST__INIT;
    request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_JOB;
    request.job = job;
    return request;
}

static const pm_engine_job *state_of(uint64_t job) {
    static pm_engine_job info;
    info.struct_bytes = sizeof info;
    assert_int_equal(pm_engine_job_info(engine, job, &info, NULL), PM_OK);
    return &info;
}

static void a_job_is_watched_to_its_end(void **state) {
    struct pm_rpc_call call;
    (void)state;
    const uint64_t first = submit_long(""), job = submit_long("watched");
    Proofmill__V1__JobRequest request = job_request(job);
    world_begin(&daemon_, "Prover/Watch", &call);
    world_hand_message(&call, &request.base);
    assert_int_equal(call.n_answers, 1); /* at once */
    call.is_parked = false;
    const uint32_t n_ahead = state_of(job)->n_ahead;
    call.resume(&call, &daemon_, job, PM_RPC_WAKE_CHANGED);
    if (state_of(job)->state == PM_ENGINE_QUEUED && state_of(job)->n_ahead == n_ahead) {
        assert_int_equal(call.n_answers, 1); /* nothing has changed */
    }
    world_run(&call);
    assert_int_equal(call.code, PM_RPC_OK);
    assert_true(call.n_answers >= 2);
    Proofmill__V1__Job *last = world_answer(&call, &proofmill__v1__job__descriptor);
    assert_int_equal(last->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE);
    assert_string_equal(last->request_id, "watched");
    free_message(last);
    world_close(&call);
    /* One that has ended: once. */
    world_begin(&daemon_, "Prover/Watch", &call);
    world_hand_message(&call, &request.base);
    assert_true(call.has_ended);
    assert_int_equal(call.n_answers, 1);
    world_close(&call);
    (void)await_job(engine, first);
}

static void jobs_are_cancelled(void **state) {
    Proofmill__V1__JobRequest request = PROOFMILL__V1__JOB_REQUEST__INIT;
    (void)state;
    const uint64_t first = submit_long(""), second = submit_long("");
    (void)submit_long("waits-long");
    request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_REQUEST_ID;
    request.request_id = world_text("waits-long");
    for (int again = 0; again < 2; ++again) {
        Proofmill__V1__CancelResponse *answer =
            world_call(&daemon_, "Prover/Cancel", &request.base,
                       &proofmill__v1__cancel_response__descriptor, NULL);
        assert_non_null(answer);
        assert_false(answer->was_running);
        assert_int_equal(answer->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_CANCELLED);
        free_message(answer);
    }
    uint64_t cancelled;
    assert_int_equal(pm_engine_find(engine, "waits-long", &cancelled, NULL), PM_OK);
    Proofmill__V1__Result *result = await(cancelled, NULL);
    assert_int_equal(result->job->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_CANCELLED);
    assert_string_equal(result->job->error_status, "CANCELLED");
    assert_int_equal(result->n_proofs, 0);
    free_message(result);
    cancel_job(first);
    cancel_job(second);
}

static void unknown_jobs_are_not_found(void **state) {
    static const char *const methods[] = {"Prover/Watch", "Prover/Cancel"};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        Proofmill__V1__JobRequest request = job_request(UINT64_MAX);
        expect_refused(methods[i], &request.base, PM_RPC_NOT_FOUND, "no job 18446744073709551615");
        request.job = 0;
        expect_refused(methods[i], &request.base, PM_RPC_NOT_FOUND, "no job 0");
        request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_REQUEST_ID;
        request.request_id = world_text("nobody");
        expect_refused(methods[i], &request.base, PM_RPC_NOT_FOUND, "nobody");
        request.request_id = world_text("no body");
        expect_refused(methods[i], &request.base, PM_RPC_INVALID_ARGUMENT, "request id");
        request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH__NOT_SET;
        expect_refused(methods[i], &request.base, PM_RPC_INVALID_ARGUMENT, "by its number");
    }
    Proofmill__V1__AwaitRequest request = PROOFMILL__V1__AWAIT_REQUEST__INIT;
    expect_refused("Prover/Await", &request.base, PM_RPC_INVALID_ARGUMENT, "by its number");
    request.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_REQUEST_ID;
    request.request_id = world_text("nobody");
    expect_refused("Prover/Await", &request.base, PM_RPC_NOT_FOUND, "nobody");
}

static void jobs_are_listed_page_by_page(void **state) {
    Proofmill__V1__ListJobsRequest request = PROOFMILL__V1__LIST_JOBS_REQUEST__INIT;
    uint64_t n_listed = 0, last = 0;
    (void)state;
    for (int i = 0; i < 5; ++i) {
        BY_PATH(made, ONE, "");
        (void)await_job(engine, submit_good(&made));
    }
    request.n_max = 3;
    do {
        Proofmill__V1__ListJobsResponse *answer =
            world_call(&daemon_, "Prover/ListJobs", &request.base,
                       &proofmill__v1__list_jobs_response__descriptor, NULL);
        assert_non_null(answer);
        assert_true(answer->n_jobs <= 3);
        for (size_t i = 0; i < answer->n_jobs; ++i, ++n_listed) {
            assert_true(answer->jobs[i]->job > last);
            last = answer->jobs[i]->job;
        }
        request.after = answer->next_after;
        free_message(answer);
    } while (request.after != 0);
    assert_true(n_listed >= 5);
    const uint64_t first = submit_long(""), open_ = submit_long("");
    request.n_max = 0;
    request.only_open = true;
    Proofmill__V1__ListJobsResponse *answer =
        world_call(&daemon_, "Prover/ListJobs", &request.base,
                   &proofmill__v1__list_jobs_response__descriptor, NULL);
    assert_true(answer->n_jobs >= 1 && answer->n_jobs <= 2);
    assert_int_equal(answer->jobs[answer->n_jobs - 1]->job, open_);
    assert_int_equal(answer->next_after, 0);
    free_message(answer);
    request.n_max = 1001;
    expect_refused("Prover/ListJobs", &request.base, PM_RPC_INVALID_ARGUMENT, "1000");
    cancel_job(open_);
    cancel_job(first);
}

/* A job that has its number and is not listed yet, while later ones are. */
struct late_job {
    struct engine_job *job;
    uint64_t id;
    bool is_refused;
    pthread_t thread;
};

static void late_job_begin(struct late_job *late) {
    toy_expect(pm_engine_job_make(1, &late->job, NULL), PM_OK, NULL);
    pm_engine_lock(engine);
    late->job->above = engine->last_id;
    late->id = ++engine->last_id;
    late->job->next = engine->arriving;
    engine->arriving = late->job;
    pm_engine_unlock(engine);
}

static void *come_late(void *argument) {
    const struct timespec a_while = {.tv_nsec = 60000000};
    struct late_job *late = argument;
    (void)nanosleep(&a_while, NULL);
    pm_engine_lock(engine);
    engine->arriving = late->job->next;
    if (!late->is_refused) {
        late->job->id = late->id;
        late->job->is_recorded = late->job->is_final = true;
        late->job->state = PM_ENGINE_FAILED;
        pm_engine_job_enlist(engine, late->job);
        pm_engine_keep(engine, late->job);
    }
    pm_engine_unlock(engine);
    return NULL;
}

static Proofmill__V1__ListJobsResponse *list_after(uint64_t after, uint32_t n_max) {
    Proofmill__V1__ListJobsRequest request = PROOFMILL__V1__LIST_JOBS_REQUEST__INIT;
    request.after = after;
    request.n_max = n_max;
    Proofmill__V1__ListJobsResponse *answer =
        world_call(&daemon_, "Prover/ListJobs", &request.base,
                   &proofmill__v1__list_jobs_response__descriptor, NULL);
    assert_non_null(answer);
    return answer;
}

/* Five jobs, and a late one between the second and the third. */
static void list_around(struct late_job *late) {
    uint64_t ids[6], after = 0;
    uint32_t n = 0, n_listed = 0;
    for (int i = 0; i < 6; ++i) {
        if (i == 2) {
            late_job_begin(late);
            ids[n] = late->id;
            n += !late->is_refused;
            continue;
        }
        BY_PATH(made, ONE, "");
        ids[n++] = await_job(engine, submit_good(&made)).job;
    }
    /* Whoever asks for all of them gets what is there, and is told that it was all. */
    Proofmill__V1__ListJobsResponse *answer = list_after(ids[0] - 1, 5);
    assert_int_equal(answer->n_jobs, 5);
    assert_int_equal(answer->next_after, 0);
    free_message(answer);
    /* The page that others follow ends before the late one, and the next one waits for it. */
    answer = list_after(ids[0] - 1, 3);
    assert_int_equal(answer->n_jobs, 2);
    assert_int_equal(answer->next_after, ids[1]);
    free_message(answer);
    assert_int_equal(pthread_create(&late->thread, NULL, come_late, late), 0);
    after = ids[0] - 1;
    do {
        answer = list_after(after, 2);
        for (size_t i = 0; i < answer->n_jobs; ++i) {
            assert_int_equal(answer->jobs[i]->job, ids[n_listed++]);
        }
        after = answer->next_after;
        free_message(answer);
    } while (after != 0);
    assert_int_equal(n_listed, n);
    assert_int_equal(pthread_join(late->thread, NULL), 0);
}

static void pages_miss_no_job_that_comes_late(void **state) {
    struct late_job late = {.is_refused = false}, refused = {.is_refused = true};
    (void)state;
    list_around(&late);
    list_around(&refused);
    pm_engine_job_free(NULL, refused.job);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static void *key_call(const char *path, const char *name, const ProtobufCMessageDescriptor *answer,
                      struct pm_rpc_call *call) {
    Proofmill__V1__KeyRequest request = PROOFMILL__V1__KEY_REQUEST__INIT;
    request.name = world_text(name);
    return world_call(&daemon_, path, &request.base, answer, call);
}

/* A key with which no proof fits is refused with the numbers, and what had its name stays. */
static void a_key_that_cannot_fit_takes_no_name(void **state) {
    Proofmill__V1__RegisterKeyRequest request = PROOFMILL__V1__REGISTER_KEY_REQUEST__INIT;
    pm_engine_key_info small = {0}, now;
    pm_engine *tight = NULL;
    pm_error error = PM_ERROR_INIT;
    (void)state;
    toy_expect(pm_engine_key_find(engine, "mult3", &small, &error), PM_OK, &error);
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = (small.bytes + small.proof_bytes) * 4 / 3};
    toy_expect(pm_engine_create(&options, &tight, &error), PM_OK, &error);
    struct pm_daemon daemon = world_daemon(tight);
    struct pm_rpc_call call;
    request.name = world_text("mult3");
    request.path = circuits.key_path[MULT3];
    Proofmill__V1__Key *key = world_call(&daemon, "Prover/RegisterKey", &request.base,
                                         &proofmill__v1__key__descriptor, NULL);
    assert_non_null(key);
    free_message(key);
    request.path = circuits.key_path[LONG];
    assert_null(world_call(&daemon, "Prover/RegisterKey", &request.base,
                           &proofmill__v1__key__descriptor, &call));
    expect_failure(&call, PM_RPC_OUT_OF_RANGE, "bytes");
    toy_expect(pm_engine_key_find(tight, "mult3", &now, &error), PM_OK, &error);
    assert_memory_equal(now.digest, small.digest, sizeof now.digest);
    pm_engine_destroy(tight);
}

/* Who waits for a key or for room keeps no job from coming in. */
static void calls_about_keys_have_their_own_threads(void **state) {
    static const char *const names[] = {"RegisterKey", "PreloadKey", "EvictKey", "ForgetKey"};
    uint32_t n = 0;
    (void)state;
    for (const struct pm_rpc_method *m = pm_service_prover; m->path != NULL; ++m) {
        bool is_one = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
            is_one |= strcmp(strrchr(m->path, '/') + 1, names[i]) == 0;
        }
        assert_int_equal(m->kind == PM_RPC_UNARY_KEYS, is_one);
        n += is_one;
    }
    assert_int_equal(n, 4);
}

static void keys_come_and_go(void **state) {
    Proofmill__V1__RegisterKeyRequest request = PROOFMILL__V1__REGISTER_KEY_REQUEST__INIT;
    uint8_t digest[64];
    (void)state;
    request.name = world_text("another");
    request.path = circuits.key_path[MULT3];
    request.check = PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_FULL;
    Proofmill__V1__Key *key = world_call(&daemon_, "Prover/RegisterKey", &request.base,
                                         &proofmill__v1__key__descriptor, NULL);
    assert_non_null(key);
    assert_string_equal(key->name, "another");
    assert_int_equal(key->curve, PROOFMILL__V1__CURVE__CURVE_BN254);
    assert_int_equal(key->digest.len, 64);
    assert_int_equal(key->tier, PROOFMILL__V1__TIER__TIER_COLD);
    memcpy(digest, key->digest.data, sizeof digest);
    free_message(key);
    /* The same again, with the digest that is known now. */
    request.digest.data = digest;
    request.digest.len = sizeof digest;
    key = world_call(&daemon_, "Prover/RegisterKey", &request.base, &proofmill__v1__key__descriptor,
                     NULL);
    assert_non_null(key);
    free_message(key);
    for (int again = 0; again < 2; ++again) {
        Proofmill__V1__PreloadKeyResponse *loaded = key_call(
            "Prover/PreloadKey", "another", &proofmill__v1__preload_key_response__descriptor, NULL);
        assert_non_null(loaded);
        assert_int_equal(loaded->already_loaded, again);
        free_message(loaded);
    }
    for (int again = 0; again < 2; ++again) {
        Proofmill__V1__EvictKeyResponse *evicted = key_call(
            "Prover/EvictKey", "another", &proofmill__v1__evict_key_response__descriptor, NULL);
        assert_non_null(evicted);
        assert_int_equal(evicted->was_loaded, !again);
        assert_int_equal(evicted->freed_bytes != 0, !again);
        free_message(evicted);
    }
    free_message(key_call("Prover/ForgetKey", "another", &proofmill__v1__empty__descriptor, NULL));
    struct pm_rpc_call call;
    assert_null(key_call("Prover/ForgetKey", "another", &proofmill__v1__empty__descriptor, &call));
    expect_failure(&call, PM_RPC_NOT_FOUND, "another");
}

static void registrations_are_checked(void **state) {
    Proofmill__V1__RegisterKeyRequest request = PROOFMILL__V1__REGISTER_KEY_REQUEST__INIT;
    uint8_t digest[64] = {1};
    struct pm_rpc_call call;
    (void)state;
    request.path = circuits.key_path[MULT3];
    expect_refused("Prover/RegisterKey", &request.base, PM_RPC_INVALID_ARGUMENT, "name");
    request.name = world_text("a/b");
    expect_refused("Prover/RegisterKey", &request.base, PM_RPC_INVALID_ARGUMENT, "name");
    request.name = world_text("checked");
    request.check = (Proofmill__V1__RegisterKeyRequest__Check)9;
    expect_refused("Prover/RegisterKey", &request.base, PM_RPC_INVALID_ARGUMENT, "CHECK_FULL");
    request.check = PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_NONE;
    request.digest.data = digest;
    request.digest.len = 63;
    expect_refused("Prover/RegisterKey", &request.base, PM_RPC_INVALID_ARGUMENT, "64 bytes");
    request.digest.len = 0;
    request.r1cs_path = world_text("relative.r1cs");
    expect_refused("Prover/RegisterKey", &request.base, PM_RPC_INVALID_ARGUMENT,
                   "constraint system is absolute");
    request.r1cs_path = world_text("");
    request.path = world_text("mult3.zkey");
    expect_refused("Prover/RegisterKey", &request.base, PM_RPC_INVALID_ARGUMENT, "absolute");
    request.path = circuits.key_path[MULT3];
    world_begin(&daemon_, "Prover/RegisterKey", &call);
    call.is_local = false;
    world_hand_message(&call, &request.base);
    expect_failure(&call, PM_RPC_PERMISSION_DENIED, "a key by path");
    world_close(&call);
    request.check = PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_FAST;
    world_begin(&daemon_, "Prover/RegisterKey", &call);
    call.is_cancelled = 1;
    world_hand_message(&call, &request.base);
    expect_failure(&call, PM_RPC_UNAVAILABLE, "");
    world_close(&call);
}

static void keys_in_use_stay(void **state) {
    struct pm_rpc_call call;
    (void)state;
    const uint64_t job = submit_longs(4);
    await_proving(engine, job);
    assert_null(key_call("Prover/EvictKey", "long", &proofmill__v1__empty__descriptor, &call));
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "used by");
    assert_null(key_call("Prover/ForgetKey", "long", &proofmill__v1__empty__descriptor, &call));
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "use");
    cancel_job(job);
}

static void a_callers_time_bounds_a_preload(void **state) {
    Proofmill__V1__KeyRequest request = PROOFMILL__V1__KEY_REQUEST__INIT;
    struct pm_rpc_call call;
    (void)state;
    static const struct {
        uint64_t remaining_ms, timeout_ms;
    } times[] = {{0, 0}, {1, 0}, {UINT64_MAX, 1}, {1, 60000}, {60000, 1}};
    request.name = world_text("long");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; ++i) {
        free_message(key_call("Prover/EvictKey", "long",
                              &proofmill__v1__evict_key_response__descriptor, NULL));
        world_begin(&daemon_, "Prover/PreloadKey", &call);
        call.remaining_ms = times[i].remaining_ms;
        request.timeout_ms = times[i].timeout_ms;
        world_hand_message(&call, &request.base);
        /* A key may be opened within a millisecond. */
        assert_true(call.code == PM_RPC_OK || call.code == PM_RPC_DEADLINE_EXCEEDED);
        world_close(&call);
        free_message(key_call("Prover/PreloadKey", "long",
                              &proofmill__v1__preload_key_response__descriptor, NULL));
    }
}

static void keys_are_listed(void **state) {
    Proofmill__V1__ListKeysRequest request = PROOFMILL__V1__LIST_KEYS_REQUEST__INIT;
    (void)state;
    free_message(key_call("Prover/PreloadKey", "mult3_bls",
                          &proofmill__v1__preload_key_response__descriptor, NULL));
    Proofmill__V1__ListKeysResponse *answer =
        world_call(&daemon_, "Prover/ListKeys", &request.base,
                   &proofmill__v1__list_keys_response__descriptor, NULL);
    assert_non_null(answer);
    assert_int_equal(answer->n_keys, N_CIRCUITS);
    bool is_found = false;
    for (size_t i = 0; i < answer->n_keys; ++i) {
        const Proofmill__V1__Key *key = answer->keys[i];
        if (strcmp(key->name, "mult3_bls") == 0) {
            is_found = true;
            assert_int_equal(key->tier, PROOFMILL__V1__TIER__TIER_WARM);
            assert_int_equal(key->curve, PROOFMILL__V1__CURVE__CURVE_BLS12_381);
            assert_true(key->bytes != 0 && key->proof_bytes != 0 && key->n_loads != 0);
            assert_string_equal(key->path, circuits.key_path[MULT3_BLS]);
        }
    }
    assert_true(is_found);
    free_message(answer);
}

static void plans_are_shown(void **state) {
    Proofmill__V1__PlanRequest request = PROOFMILL__V1__PLAN_REQUEST__INIT;
    (void)state;
    static const char *const devices[] = {"", "cpu"};
    request.key = world_text("long");
    for (int i = 0; i < 2; ++i) {
        request.device = world_text(devices[i]);
        Proofmill__V1__Plan *plan = world_call(&daemon_, "Prover/GetPlan", &request.base,
                                               &proofmill__v1__plan__descriptor, NULL);
        assert_non_null(plan);
        assert_string_equal(plan->device, "cpu");
        assert_true(plan->n_steps >= 3 && plan->key_bytes != 0);
        uint64_t most = 0;
        for (size_t s = 0; s < plan->n_steps; ++s) {
            assert_true(plan->steps[s]->name[0] != '\0');
            most = plan->steps[s]->host_bytes > most ? plan->steps[s]->host_bytes : most;
        }
        assert_true(most > (1u << 14) * 32);
        free_message(plan);
    }
    request.device = world_text("cuda:7");
    expect_refused("Prover/GetPlan", &request.base, PM_RPC_NOT_FOUND, "no device");
    request.key = world_text("mult4");
    expect_refused("Prover/GetPlan", &request.base, PM_RPC_NOT_FOUND, "mult4");
}

/* ---- Status, devices ------------------------------------------------------------------------ */

static void the_status_is_told(void **state) {
    Proofmill__V1__Empty request = PROOFMILL__V1__EMPTY__INIT;
    (void)state;
    const uint64_t job = submit_long("");
    Proofmill__V1__Status *status = world_call(&daemon_, "Prover/GetStatus", &request.base,
                                               &proofmill__v1__status__descriptor, NULL);
    assert_non_null(status);
    assert_string_equal(status->version, pm_version());
    assert_int_equal(status->n_devices, 1);
    assert_string_equal(status->devices[0]->name, "cpu");
    assert_true(status->devices[0]->n_workers >= 1);
    assert_int_equal(status->n_keys, N_CIRCUITS);
    assert_true(status->n_pools >= 2);
    assert_string_equal(status->pools[0]->name, "host");
    assert_true(status->pools[0]->total_bytes != 0 && status->pools[0]->total_bytes != UINT64_MAX);
    assert_int_equal(status->n_queued + status->n_running, 1);
    assert_true(status->n_done >= 1 && status->n_proofs >= status->n_done);
    assert_false(status->is_draining);
    free_message(status);
    cancel_job(job);
}

static void devices_are_restored_by_name(void **state) {
    Proofmill__V1__DeviceRequest request = PROOFMILL__V1__DEVICE_REQUEST__INIT;
    (void)state;
    expect_refused("Prover/RestoreDevice", &request.base, PM_RPC_INVALID_ARGUMENT, "named");
    request.name = world_text("cuda:3");
    expect_refused("Prover/RestoreDevice", &request.base, PM_RPC_NOT_FOUND, "no device");
    request.name = world_text("cpu");
    void *answer = world_call(&daemon_, "Prover/RestoreDevice", &request.base,
                              &proofmill__v1__empty__descriptor, NULL);
    assert_non_null(answer);
    free_message(answer);
}

/* The last one: the engine takes no more jobs from here on. */
static void a_draining_daemon_is_unavailable(void **state) {
    (void)state;
    BY_PATH(made, MULT3, "");
    assert_int_equal(pm_engine_drain(engine, 60000, NULL), PM_OK);
    expect_refused("Prover/Submit", &made.request.base, PM_RPC_UNAVAILABLE, "no more jobs");
    Proofmill__V1__Empty request = PROOFMILL__V1__EMPTY__INIT;
    Proofmill__V1__Status *status = world_call(&daemon_, "Prover/GetStatus", &request.base,
                                               &proofmill__v1__status__descriptor, NULL);
    assert_true(status->is_draining);
    free_message(status);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_code),
        cmocka_unit_test(every_method_of_the_proto_is_there),
        cmocka_unit_test(a_submitted_job_is_awaited),
        cmocka_unit_test(inputs_come_as_bytes),
        cmocka_unit_test(some_of_many_proofs_are_asked_for),
        cmocka_unit_test(awaiting_ends_with_its_time),
        cmocka_unit_test(a_failed_job_is_no_failed_call),
        cmocka_unit_test(answers_that_do_not_fit_a_message),
        cmocka_unit_test(submissions_are_checked),
        cmocka_unit_test(an_input_has_path_or_data),
        cmocka_unit_test(paths_are_for_local_callers),
        cmocka_unit_test(a_job_has_a_deadline),
        cmocka_unit_test(prove_is_submit_and_await),
        cmocka_unit_test(who_goes_away_takes_a_nameless_job_along),
        cmocka_unit_test(inputs_come_in_pieces),
        cmocka_unit_test(streams_are_checked),
        cmocka_unit_test(streams_hold_no_more_than_they_may),
        cmocka_unit_test(a_stream_has_so_many_parts),
        cmocka_unit_test(inputs_are_wiped),
        cmocka_unit_test(a_job_is_watched_to_its_end),
        cmocka_unit_test(jobs_are_cancelled),
        cmocka_unit_test(unknown_jobs_are_not_found),
        cmocka_unit_test(jobs_are_listed_page_by_page),
        cmocka_unit_test(pages_miss_no_job_that_comes_late),
        cmocka_unit_test(calls_about_keys_have_their_own_threads),
        cmocka_unit_test(a_key_that_cannot_fit_takes_no_name),
        cmocka_unit_test(keys_come_and_go),
        cmocka_unit_test(registrations_are_checked),
        cmocka_unit_test(keys_in_use_stay),
        cmocka_unit_test(a_callers_time_bounds_a_preload),
        cmocka_unit_test(keys_are_listed),
        cmocka_unit_test(plans_are_shown),
        cmocka_unit_test(the_status_is_told),
        cmocka_unit_test(devices_are_restored_by_name),
        cmocka_unit_test(a_draining_daemon_is_unavailable),
    };
    return cmocka_run_group_tests_name("daemon/service_prover", tests, open_all, close_all);
}
