/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cuzk.v1.ProvingEngine, all eight methods, over an engine with a fake card beside the CPU: what
 * the cuzk daemon only had as a stub works here, and kinds that need Filecoin's circuits say so.
 */
#include "daemon/service_internal.h"

#include "daemon/service_world.h"
#include "engine/engine_case.h"
#include "support/toy_circuits.h"

#include <cuzk/v1/cuzk.pb-c.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct circuits circuits;
static struct cards cards;
static pm_engine *engine;
static struct pm_daemon daemon_;

static int open_all(void **state) {
    (void)state;
    const pm_engine_device devices[] = {
        {.struct_bytes = sizeof devices[0], .device = "cuda:0", .n_workers = 2},
        {.struct_bytes = sizeof devices[0], .device = "cpu", .threads = 1}};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 2,
                                       .devices = devices,
                                       .host_bytes = 512 * MIB,
                                       .pinned_bytes = 64 * MIB,
                                       .retry_ms = 1};
    pm_error error = PM_ERROR_INIT;
    circuits_open(13, &circuits);
    cards_open(1, &cards);
    cards.vram_bytes = 128 * MIB;
    const struct pm_engine_hooks hooks = cards_hooks(&cards);
    toy_expect(pm_engine_create_with(&options, &hooks, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    daemon_ = world_daemon(engine);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_engine_destroy(engine);
    cards_close(&cards);
    circuits_close(&circuits);
    return 0;
}

static void expect_refused(const char *path, const ProtobufCMessage *request, enum pm_rpc_code code,
                           const char *word) {
    struct pm_rpc_call call;
    world_begin(&daemon_, path, &call);
    world_hand_message(&call, request);
    world_run(&call);
    if (call.code != code || strstr(call.sentence, word) == NULL) {
        fail_msg("%s: code %d, not %d: \"%s\" (\"%s\")", path, (int)call.code, (int)code,
                 call.sentence, word);
    }
    world_close(&call);
}

static void free_message(void *message) {
    protobuf_c_message_free_unpacked(message, NULL);
}

static Cuzk__V1__AwaitProofResponse *await(const char *id, uint64_t timeout_ms) {
    Cuzk__V1__AwaitProofRequest request = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    request.job_id = world_text(id);
    request.timeout_ms = timeout_ms;
    Cuzk__V1__AwaitProofResponse *answer =
        world_call(&daemon_, "ProvingEngine/AwaitProof", &request.base,
                   &cuzk__v1__await_proof_response__descriptor, NULL);
    assert_non_null(answer);
    assert_string_equal(answer->job_id, id);
    return answer;
}

static uint64_t submit_parts(enum circuit circuit, uint32_t n, const char *request_id) {
    pm_engine_input inputs[8];
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0;
    for (uint32_t i = 0; i < n; ++i) {
        inputs[i] = (pm_engine_input){.path = circuits.witness_path[circuit]};
    }
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = circuits.name[circuit],
                                       .request_id = request_id,
                                       .inputs = inputs,
                                       .n_inputs = n};
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    return job;
}

static void every_method_of_the_proto_is_there(void **state) {
    const ProtobufCServiceDescriptor *service = &cuzk__v1__proving_engine__descriptor;
    (void)state;
    assert_int_equal(service->n_methods, 8);
    for (unsigned i = 0; i < service->n_methods; ++i) {
        struct pm_rpc_call call;
        char path[128];
        (void)snprintf(path, sizeof path, "/%s/%s", service->name, service->methods[i].name);
        const struct pm_rpc_method *method = pm_service_cuzk;
        while (method->path != NULL && strcmp(method->path, path) != 0) {
            ++method;
        }
        assert_non_null(method->path);
        assert_true(method->kind == PM_RPC_UNARY || method->kind == PM_RPC_UNARY_LONG ||
                    method->kind == PM_RPC_UNARY_KEYS);
        world_begin(&daemon_, path, &call);
        world_hand(&call, "\x0b\xff", 2);
        assert_int_equal(call.code, PM_RPC_INVALID_ARGUMENT);
        world_close(&call);
    }
}

static void kinds_without_a_circuit_say_what_to_do(void **state) {
    static const char *const words[] = {NULL, "PoRep", "SnapDeals", "WindowPoSt", "WinningPoSt"};
    uint8_t vanilla[] = "not to be seen";
    ProtobufCBinaryData proofs[2] = {{5, vanilla}, {5, vanilla}};
    Cuzk__V1__SubmitProofRequest submit = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    Cuzk__V1__ProveRequest prove = CUZK__V1__PROVE_REQUEST__INIT;
    (void)state;
    expect_refused("ProvingEngine/Prove", &prove.base, PM_RPC_INVALID_ARGUMENT, "submit");
    prove.submit = &submit;
    submit.request_id = world_text("porep-1000-1");
    submit.vanilla_proof.data = vanilla;
    submit.vanilla_proof.len = sizeof vanilla;
    submit.vanilla_proofs = proofs;
    submit.n_vanilla_proofs = 2;
    for (int kind = 1; kind <= 4; ++kind) {
        submit.proof_kind = (Cuzk__V1__ProofKind)kind;
        expect_refused("ProvingEngine/SubmitProof", &submit.base, PM_RPC_UNIMPLEMENTED,
                       words[kind]);
        expect_refused("ProvingEngine/SubmitProof", &submit.base, PM_RPC_UNIMPLEMENTED,
                       "proofmill.v1.Prover");
        expect_refused("ProvingEngine/Prove", &prove.base, PM_RPC_UNIMPLEMENTED, words[kind]);
    }
    static const int others[] = {0, 5, -1, INT32_MAX};
    for (int i = 0; i < 4; ++i) {
        submit.proof_kind = (Cuzk__V1__ProofKind)others[i];
        expect_refused("ProvingEngine/SubmitProof", &submit.base, PM_RPC_INVALID_ARGUMENT,
                       "no kind of proof");
        expect_refused("ProvingEngine/Prove", &prove.base, PM_RPC_INVALID_ARGUMENT,
                       "no kind of proof");
    }
}

/* By request id and by number; the proofs one after another, as a partitioned one is. */
static void proofs_are_awaited_by_either_id(void **state) {
    char number[32];
    (void)state;
    (void)snprintf(number, sizeof number, "%llu",
                   (unsigned long long)submit_parts(MULT3_BLS, 3, "porep-1000-2"));
    const char *const ids[] = {"porep-1000-2", number};
    for (int i = 0; i < 2; ++i) {
        Cuzk__V1__AwaitProofResponse *answer = await(ids[i], 0);
        assert_int_equal(answer->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED);
        assert_string_equal(answer->error_message, "");
        assert_int_equal(answer->proof.len, 3 * 192);
        for (size_t part = 0; part < 3; ++part) {
            pm_proof proof = {.struct_bytes = sizeof proof}, made = proof;
            uint8_t publics[64 * PM_FR_BYTES];
            const uint64_t job = strtoull(number, NULL, 10);
            pm_error error = PM_ERROR_INIT;
            toy_expect(pm_proof_decode(PM_CURVE_BLS12_381, PM_POINT_ZCASH_COMPRESSED,
                                       answer->proof.data + part * 192, 192, &proof, &error),
                       PM_OK, &error);
            toy_expect(pm_engine_result(engine, job, (uint32_t)part, 1, &made, publics, &error),
                       PM_OK, &error);
            assert_int_equal(check_proof(&circuits, MULT3_BLS, &proof, publics), PM_OK);
            assert_memory_equal(&proof, &made, sizeof proof);
        }
        free_message(answer);
    }
    const uint64_t job = submit_parts(MULT3, 1, NULL);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)job);
    Cuzk__V1__AwaitProofResponse *answer = await(number, 60000);
    assert_int_equal(answer->proof.len, 256); /* BN254 */
    free_message(answer);
}

static void awaiting_ends_as_the_job_does(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    const pm_engine_input bad = {.path = circuits_bad_witness(&circuits, MULT3)};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = "mult3",
                                       .request_id = "bad",
                                       .inputs = &bad,
                                       .n_inputs = 1};
    uint64_t job;
    toy_expect(pm_engine_submit(engine, &request, NULL, &job, NULL, &error), PM_OK, &error);
    Cuzk__V1__AwaitProofResponse *answer = await("bad", 0);
    assert_int_equal(answer->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED);
    assert_true(answer->error_message[0] != '\0');
    assert_int_equal(answer->proof.len, 0);
    free_message(answer);
    /* Its time is over, and it goes on; then it is cancelled. */
    uint64_t before[6];
    for (int i = 0; i < 6; ++i) {
        before[i] = submit_parts(LONG, 8, NULL);
    }
    (void)submit_parts(LONG, 1, "slow");
    answer = await("slow", 1);
    assert_int_equal(answer->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT);
    assert_true(answer->error_message[0] != '\0');
    free_message(answer);
    Cuzk__V1__CancelProofRequest cancel = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
    cancel.job_id = world_text("slow");
    Cuzk__V1__CancelProofResponse *cancelled =
        world_call(&daemon_, "ProvingEngine/CancelProof", &cancel.base,
                   &cuzk__v1__cancel_proof_response__descriptor, NULL);
    assert_non_null(cancelled);
    assert_false(cancelled->was_running);
    free_message(cancelled);
    answer = await("slow", 0);
    assert_int_equal(answer->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED);
    free_message(answer);
    for (int i = 0; i < 6; ++i) {
        (void)pm_engine_cancel(engine, before[i], NULL, NULL);
        (void)await_job(engine, before[i]);
    }
}

static void unknown_ids_are_not_found(void **state) {
    static const char *const ids[] = {"",   "nobody", "no body", "99999999",
                                      "-1", "1x",     "007",     "18446744073709551616"};
    (void)state;
    (void)await_job(engine, submit_parts(ONE, 1, NULL));
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; ++i) {
        Cuzk__V1__AwaitProofRequest await_request = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
        Cuzk__V1__CancelProofRequest cancel = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
        await_request.job_id = cancel.job_id = world_text(ids[i]);
        expect_refused("ProvingEngine/AwaitProof", &await_request.base, PM_RPC_NOT_FOUND, "no job");
        expect_refused("ProvingEngine/CancelProof", &cancel.base, PM_RPC_NOT_FOUND, "no job");
    }
}

static Cuzk__V1__GetStatusResponse *status_now(void) {
    Cuzk__V1__GetStatusRequest request = CUZK__V1__GET_STATUS_REQUEST__INIT;
    Cuzk__V1__GetStatusResponse *answer =
        world_call(&daemon_, "ProvingEngine/GetStatus", &request.base,
                   &cuzk__v1__get_status_response__descriptor, NULL);
    assert_non_null(answer);
    return answer;
}

static const Cuzk__V1__SRSStatus *srs_of(const Cuzk__V1__GetStatusResponse *answer,
                                         const char *name) {
    for (size_t i = 0; i < answer->n_loaded_srs; ++i) {
        if (strcmp(answer->loaded_srs[i]->circuit_id, name) == 0) {
            return answer->loaded_srs[i];
        }
    }
    return NULL;
}

static bool has_worker_at(const Cuzk__V1__GetStatusResponse *answer, const char *kind) {
    for (size_t i = 0; i < answer->n_gpus; ++i) {
        if (strcmp(answer->gpus[i]->current_proof_kind, kind) == 0 &&
            answer->gpus[i]->current_job_id[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* Between two proofs a worker is at none. */
static Cuzk__V1__GetStatusResponse *status_with_worker_at(const char *kind, uint64_t last_job) {
    for (;;) {
        Cuzk__V1__GetStatusResponse *answer = status_now();
        if (has_worker_at(answer, kind)) {
            return answer;
        }
        free_message(answer);
        pm_engine_job last = {.struct_bytes = sizeof last};
        assert_int_equal(pm_engine_job_info(engine, last_job, &last, NULL), PM_OK);
        assert_true(last.state < PM_ENGINE_DONE);
        test_sleep_ms(1);
    }
}

static void the_status_has_sizes_references_and_queues(void **state) {
    uint64_t jobs[6];
    (void)state;
    for (int i = 0; i < 6; ++i) {
        jobs[i] = submit_parts(LONG, 8, i == 0 ? "first" : NULL);
    }
    Cuzk__V1__GetStatusResponse *answer = status_with_worker_at("long", jobs[5]);
    assert_true(answer->n_gpus >= 2); /* a card's workers; the CPU is no GPU */
    for (size_t i = 0; i < answer->n_gpus; ++i) {
        assert_int_equal(answer->gpus[i]->ordinal, 0);
        assert_true(answer->gpus[i]->name[0] != '\0');
        assert_int_equal(answer->gpus[i]->vram_total_bytes, 128 * MIB);
        assert_true(answer->gpus[i]->vram_free_bytes <= 128 * MIB);
    }
    assert_int_equal(answer->n_loaded_srs, N_CIRCUITS);
    const Cuzk__V1__SRSStatus *srs = srs_of(answer, "long");
    assert_non_null(srs);
    assert_true(srs->ref_count >= 1 && srs->size_bytes > MIB);
    assert_int_not_equal(srs->tier, CUZK__V1__SRSSTATUS__TIER__COLD);
    assert_int_equal(answer->n_queues, 1);
    assert_string_equal(answer->queues[0]->proof_kind, "long");
    assert_true(answer->queues[0]->in_progress >= 1);
    assert_int_equal(answer->queues[0]->in_progress + answer->queues[0]->pending, 6);
    assert_true(answer->total_proofs_completed >= 1 && answer->total_proofs_failed >= 1);
    assert_int_equal(answer->pinned_memory_limit_bytes, 64 * MIB);
    free_message(answer);
    for (int i = 0; i < 6; ++i) {
        (void)pm_engine_cancel(engine, jobs[i], NULL, NULL);
        (void)await_job(engine, jobs[i]);
    }
    answer = status_now();
    assert_int_equal(answer->n_queues, 0);
    free_message(answer);
}

static void srs_are_preloaded_and_evicted(void **state) {
    Cuzk__V1__PreloadSrsRequest preload = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
    Cuzk__V1__EvictSrsRequest evict = CUZK__V1__EVICT_SRS_REQUEST__INIT;
    (void)state;
    preload.circuit_id = evict.circuit_id = world_text("porep-32g");
    expect_refused("ProvingEngine/PreloadSRS", &preload.base, PM_RPC_NOT_FOUND, "porep-32g");
    expect_refused("ProvingEngine/EvictSRS", &evict.base, PM_RPC_NOT_FOUND, "porep-32g");
    preload.circuit_id = evict.circuit_id = world_text("own_mimc");
    for (int again = 0; again < 2; ++again) {
        Cuzk__V1__PreloadSrsResponse *loaded =
            world_call(&daemon_, "ProvingEngine/PreloadSRS", &preload.base,
                       &cuzk__v1__preload_srs_response__descriptor, NULL);
        assert_non_null(loaded);
        assert_int_equal(loaded->already_loaded, again);
        free_message(loaded);
    }
    Cuzk__V1__GetStatusResponse *status = status_now();
    assert_int_equal(srs_of(status, "own_mimc")->tier, CUZK__V1__SRSSTATUS__TIER__WARM);
    const uint64_t bytes = srs_of(status, "own_mimc")->size_bytes;
    free_message(status);
    for (int again = 0; again < 2; ++again) {
        Cuzk__V1__EvictSrsResponse *evicted =
            world_call(&daemon_, "ProvingEngine/EvictSRS", &evict.base,
                       &cuzk__v1__evict_srs_response__descriptor, NULL);
        assert_non_null(evicted);
        assert_int_equal(evicted->was_loaded, !again);
        assert_int_equal(evicted->freed_bytes, again ? 0 : bytes);
        free_message(evicted);
    }
    status = status_now();
    assert_int_equal(srs_of(status, "own_mimc")->tier, CUZK__V1__SRSSTATUS__TIER__COLD);
    free_message(status);
}

static void metrics_are_text(void **state) {
    Cuzk__V1__GetMetricsRequest request = CUZK__V1__GET_METRICS_REQUEST__INIT;
    (void)state;
    Cuzk__V1__GetMetricsResponse *answer =
        world_call(&daemon_, "ProvingEngine/GetMetrics", &request.base,
                   &cuzk__v1__get_metrics_response__descriptor, NULL);
    assert_non_null(answer);
    assert_non_null(strstr(answer->prometheus_text, "cuzk_queue_depth"));
    free_message(answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_of_the_proto_is_there),
        cmocka_unit_test(kinds_without_a_circuit_say_what_to_do),
        cmocka_unit_test(proofs_are_awaited_by_either_id),
        cmocka_unit_test(awaiting_ends_as_the_job_does),
        cmocka_unit_test(unknown_ids_are_not_found),
        cmocka_unit_test(the_status_has_sizes_references_and_queues),
        cmocka_unit_test(srs_are_preloaded_and_evicted),
        cmocka_unit_test(metrics_are_text),
    };
    return cmocka_run_group_tests_name("daemon/service_cuzk", tests, open_all, close_all);
}
