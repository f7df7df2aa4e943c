/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Field reports through the service proofmill.v1, over an engine with a journal: B3, B16, F6, F11,
 * F12, F15.
 */
#include "daemon/service_internal.h"

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
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct circuits circuits;
static pm_engine *engine;
static struct pm_daemon daemon_;

static void start(void) {
    const pm_engine_device cpu = {.struct_bytes = sizeof cpu, .threads = 1};
    char journal[1300];
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 1,
                                       .devices = &cpu,
                                       .host_bytes = 512 * MIB,
                                       .journal_path = journal,
                                       .retry_ms = 1};
    pm_error error = PM_ERROR_INIT;
    (void)snprintf(journal, sizeof journal, "%s/state", circuits.tree);
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    daemon_ = world_daemon(engine);
}

static int open_all(void **state) {
    (void)state;
    circuits_open(12, &circuits);
    start();
    circuits_register(&circuits, engine);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_engine_destroy(engine);
    circuits_close(&circuits);
    return 0;
}

static void free_message(void *message) {
    if (message != NULL) {
        protobuf_c_message_free_unpacked(message, NULL);
    }
}

static void expect_failure(const struct pm_rpc_call *call, enum pm_rpc_code code,
                           const char *word) {
    if (call->code != code || strstr(call->sentence, word) == NULL) {
        fail_msg("code %d, not %d: \"%s\" (\"%s\")", (int)call->code, (int)code, call->sentence,
                 word);
    }
}

/* A whole Prove; for free_message(). */
static Proofmill__V1__Result *prove(struct world_submission *made, struct pm_rpc_call *call) {
    return world_call(&daemon_, "Prover/Prove", &made->request.base,
                      &proofmill__v1__result__descriptor, call);
}

/* Of bytes; expects a job that fails for good, with this status. */
static void expect_failed_job(const char *key, const void *bytes, size_t n_bytes,
                              const char *status) {
    struct world_submission made;
    world_submission_init(&made, key);
    world_add_data(&made, bytes, n_bytes);
    Proofmill__V1__Result *result = prove(&made, NULL);
    assert_non_null(result);
    assert_int_equal(result->job->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED);
    assert_string_equal(result->job->error_status, status);
    assert_true(result->job->error_is_permanent);
    assert_int_equal(result->job->n_retries, 0);
    assert_int_equal(result->n_proofs, 0);
    free_message(result);
}

static bool is_proved(enum circuit circuit) {
    struct world_submission made;
    world_submission_init(&made, circuits.name[circuit]);
    world_add_path(&made, circuits.witness_path[circuit]);
    Proofmill__V1__Result *result = prove(&made, NULL);
    const bool is_done =
        result != NULL && result->job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE;
    free_message(result);
    return is_done;
}

/* ---- B3 ------------------------------------------------------------------------------------- */

/* Where things stand in a .wtns: its header's count, the length of its values, they. */
enum { COUNT_AT = 60, LENGTH_AT = 68, VALUES_AT = 76 };

static char *witness_of(enum circuit circuit, size_t *n_bytes) {
    char *bytes = pm_test_read_file(circuits.witness_path[circuit], n_bytes);
    uint32_t n;
    assert_non_null(bytes);
    memcpy(&n, bytes + COUNT_AT, sizeof n);
    assert_int_equal(VALUES_AT + (size_t)n * 32, *n_bytes);
    return bytes;
}

static char *resized(enum circuit circuit, int by, size_t *n_bytes) {
    char *bytes = witness_of(circuit, n_bytes);
    uint32_t n;
    memcpy(&n, bytes + COUNT_AT, sizeof n);
    n += (uint32_t)by;
    const uint64_t length = (uint64_t)n * 32;
    char *made = calloc(1, VALUES_AT + length);
    assert_non_null(made);
    memcpy(made, bytes, by < 0 ? VALUES_AT + length : *n_bytes);
    memcpy(made + COUNT_AT, &n, sizeof n);
    memcpy(made + LENGTH_AT, &length, sizeof length);
    *n_bytes = VALUES_AT + length;
    free(bytes);
    return made;
}

/* Counts are exact, values below the modulus: nothing is cut, padded or reduced, and the public
 * signals of a proof are as many as its key has. */
static void B3_counts_are_exact_and_values_canonical(void **state) {
    (void)state;
    for (int by = -1; by <= 1; by += 2) {
        size_t n_bytes;
        char *bytes = resized(MULT3, by, &n_bytes);
        expect_failed_job("mult3", bytes, n_bytes, "WITNESS_MISMATCH");
        free(bytes);
    }
    size_t n_bytes;
    char *bytes = witness_of(MULT3, &n_bytes);
    for (int i = 1; i < 4; ++i) { /* r - 1 is a value, r is none: no sign is hidden in it */
        char kept[32];
        memcpy(kept, bytes + VALUES_AT + (size_t)i * 32, 32);
        memcpy(bytes + VALUES_AT + (size_t)i * 32, bytes + 28, 32);
        expect_failed_job("mult3", bytes, n_bytes, "NOT_CANONICAL");
        memset(bytes + VALUES_AT + (size_t)i * 32, 0xff, 32);
        expect_failed_job("mult3", bytes, n_bytes, "NOT_CANONICAL");
        memcpy(bytes + VALUES_AT + (size_t)i * 32, kept, 32);
    }
    free(bytes);
    /* Of another circuit, of another curve. */
    bytes = witness_of(MIMC, &n_bytes);
    expect_failed_job("mult3", bytes, n_bytes, "WITNESS_MISMATCH");
    free(bytes);
    bytes = witness_of(MULT3_BLS, &n_bytes);
    expect_failed_job("mult3", bytes, n_bytes, "CURVE");
    free(bytes);
    assert_true(is_proved(MULT3));
}

/* ---- B16, F6 -------------------------------------------------------------------------------- */

static void key_call(const char *method, const char *name, struct pm_rpc_call *call) {
    Proofmill__V1__KeyRequest request = PROOFMILL__V1__KEY_REQUEST__INIT;
    request.name = world_text(name);
    world_begin(&daemon_, method, call);
    world_hand_message(call, &request.base);
    world_run(call);
    world_close(call);
}

static _Atomic int is_over;

static void *load_and_evict(void *argument) {
    struct pm_rpc_call call;
    (void)argument;
    while (!is_over) {
        key_call("Prover/PreloadKey", "own_mimc", &call);
        WORLD_REQUIRE(call.code == PM_RPC_OK);
        key_call("Prover/EvictKey", "own_mimc", &call);
        WORLD_REQUIRE(call.code == PM_RPC_OK || call.code == PM_RPC_FAILED_PRECONDITION);
    }
    return NULL;
}

static void B16_any_order_is_fine(void **state) {
    struct world_submission made;
    struct pm_rpc_call call;
    pthread_t thread;
    (void)state;
    /* Never registered. */
    world_submission_init(&made, "never");
    world_add_path(&made, circuits.witness_path[MULT3]);
    assert_null(prove(&made, &call));
    expect_failure(&call, PM_RPC_NOT_FOUND, "never");
    key_call("Prover/PreloadKey", "never", &call);
    expect_failure(&call, PM_RPC_NOT_FOUND, "never");
    /* Not loaded yet, while it is loaded, while it is evicted. */
    key_call("Prover/EvictKey", "own_mimc", &call);
    assert_true(is_proved(MIMC));
    is_over = 0;
    assert_int_equal(pthread_create(&thread, NULL, load_and_evict, NULL), 0);
    for (int i = 0; i < 30; ++i) {
        assert_true(is_proved(MIMC));
    }
    is_over = 1;
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void register_key(const char *name, const char *path, struct pm_rpc_call *call) {
    Proofmill__V1__RegisterKeyRequest request = PROOFMILL__V1__REGISTER_KEY_REQUEST__INIT;
    request.name = world_text(name);
    request.path = world_text(path);
    world_begin(&daemon_, "Prover/RegisterKey", call);
    world_hand_message(call, &request.base);
    world_close(call);
}

/* A key that is missing or damaged is the operator's to mend: FAILED_PRECONDITION, with the file's
 * name, and jobs of it fail at once and for good. */
static void F6_B16_a_key_that_cannot_be_used(void **state) {
    struct pm_rpc_call call;
    char path[1300];
    size_t n_bytes;
    (void)state;
    char *bytes = pm_test_read_file(circuits.key_path[MULT3], &n_bytes);
    (void)snprintf(path, sizeof path, "%s/moving.zkey", circuits.tree);
    register_key("moving", path, &call);
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "moving.zkey");
    file_write(path, bytes, n_bytes / 2);
    register_key("moving", path, &call);
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "moving.zkey");
    register_key("moving", circuits.witness_path[MULT3], &call);
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "mult3.wtns");
    file_write(path, bytes, n_bytes);
    register_key("moving", path, &call);
    assert_int_equal(call.code, PM_RPC_OK);
    assert_int_equal(unlink(path), 0);
    key_call("Prover/PreloadKey", "moving", &call);
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "\"moving\": the key cannot be opened");
    size_t n_witness;
    char *witness = witness_of(MULT3, &n_witness);
    expect_failed_job("moving", witness, n_witness, "IO");
    /* Mended, it is used again. */
    file_write(path, bytes, n_bytes);
    struct world_submission made;
    world_submission_init(&made, "moving");
    world_add_data(&made, witness, n_witness);
    Proofmill__V1__Result *result = prove(&made, NULL);
    assert_int_equal(result->job->state, PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE);
    free_message(result);
    free(witness);
    free(bytes);
}

/* One of the configuration whose file is not there yet: known by name, and listed with its fault.
 */
static void F6_a_configured_key_that_is_missing(void **state) {
    struct world_submission made;
    struct pm_rpc_call call;
    (void)state;
    world_key_fault = (struct pm_daemon_key_fault){
        .name = "later", .status = PM_IO, .message = "the key cannot be opened"};
    world_submission_init(&made, "later");
    world_add_path(&made, circuits.witness_path[MULT3]);
    assert_null(prove(&made, &call));
    expect_failure(&call, PM_RPC_FAILED_PRECONDITION, "\"later\" of the configuration cannot be");
    Proofmill__V1__ListKeysRequest request = PROOFMILL__V1__LIST_KEYS_REQUEST__INIT;
    Proofmill__V1__ListKeysResponse *answer =
        world_call(&daemon_, "Prover/ListKeys", &request.base,
                   &proofmill__v1__list_keys_response__descriptor, NULL);
    const Proofmill__V1__Key *last = answer->keys[answer->n_keys - 1];
    assert_string_equal(last->name, "later");
    assert_true(last->error[0] != '\0');
    free_message(answer);
    world_key_fault.name[0] = '\0';
    assert_null(prove(&made, &call));
    expect_failure(&call, PM_RPC_NOT_FOUND, "later");
}

/* ---- F11 ------------------------------------------------------------------------------------ */

/* 5, 64 and 300 MiB: taken, or refused with the limit's name; and what was refused leaves nothing
 * behind. */
static void F11_large_inputs_are_taken_or_refused_by_name(void **state) {
    static const uint64_t sizes[] = {5 * MIB, 64 * MIB, 300 * MIB};
    uint8_t *piece = calloc(1, 4 * MIB);
    (void)state;
    memcpy(piece, "wtns", 4);
    daemon_.config.upload_bytes_max = 128 * MIB;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        for (int promised = 0; promised < 2; ++promised) {
            Proofmill__V1__SubmitRequest request = PROOFMILL__V1__SUBMIT_REQUEST__INIT;
            struct pm_rpc_call call;
            request.key = world_text("mult3");
            world_begin(&daemon_, "Prover/SubmitStream", &call);
            for (uint64_t at = 0; at < sizes[i] && !call.has_ended; at += 4 * MIB) {
                Proofmill__V1__SubmitChunk chunk = PROOFMILL__V1__SUBMIT_CHUNK__INIT;
                chunk.request = at == 0 ? &request : NULL;
                chunk.begins_part = at == 0;
                chunk.part_bytes = at == 0 && promised != 0 ? sizes[i] : 0;
                chunk.data.data = piece;
                chunk.data.len = sizes[i] - at < 4 * MIB ? sizes[i] - at : 4 * MIB;
                world_hand_message(&call, &chunk.base);
                assert_true(world_held_bytes <= 128 * MIB);
            }
            world_finish(&call);
            if (sizes[i] > 128 * MIB) {
                expect_failure(&call, PM_RPC_RESOURCE_EXHAUSTED, "max_upload in [rpc]");
                assert_non_null(strstr(call.sentence, "134217728"));
            } else { /* it arrived, and is more than this key's */
                expect_failure(&call, PM_RPC_INVALID_ARGUMENT, "at most");
            }
            world_close(&call);
            assert_int_equal(world_held_bytes, 0);
        }
    }
    free(piece);
    daemon_.config.upload_bytes_max = 64 * MIB;
    pm_engine_metrics metrics = {.struct_bytes = sizeof metrics};
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.stored_bytes, 0);
}

/* ---- F12 ------------------------------------------------------------------------------------ */

#define CALLERS 100

struct caller {
    pthread_t thread;
    enum circuit circuit;
    char request_id[32];
    bool is_valid;
    uint64_t job;
};

static void *call_once(void *argument) {
    struct caller *caller = argument;
    struct world_submission made;
    size_t n_bytes;
    char *bytes = pm_test_read_file(circuits.witness_path[caller->circuit], &n_bytes);
    world_submission_init(&made, circuits.name[caller->circuit]);
    made.request.request_id = caller->request_id;
    made.request.priority = (Proofmill__V1__Priority)(caller->circuit % 5);
    world_add_data(&made, bytes, n_bytes);
    Proofmill__V1__Result *result = prove(&made, NULL);
    if (result != NULL && result->n_proofs == 1) {
        const Proofmill__V1__Proof *proof = result->proofs[0];
        pm_proof parsed = {.struct_bytes = sizeof parsed};
        uint8_t *publics = NULL;
        size_t n_publics;
        caller->job = result->job->job;
        caller->is_valid =
            pm_json_proof_parse(proof->proof_json, strlen(proof->proof_json), NULL, PM_CURVE_NONE,
                                &parsed, NULL) == PM_OK &&
            pm_json_public_parse(proof->public_json, strlen(proof->public_json), NULL,
                                 (pm_curve_id)result->curve, &publics, &n_publics, NULL) == PM_OK &&
            check_proof(&circuits, caller->circuit, &parsed, publics) == PM_OK;
        pm_json_values_free(publics);
    }
    free_message(result);
    free(bytes);
    return NULL;
}

/* A hundred at a time, each request id of two callers: every proof holds, and two get one job. */
static void F12_a_hundred_at_a_time(void **state) {
    static struct caller callers[CALLERS];
    pm_engine_metrics before = {.struct_bytes = sizeof before}, after = before;
    (void)state;
    (void)pm_engine_metrics_now(engine, &before);
    for (int i = 0; i < CALLERS; ++i) {
        callers[i].circuit = (enum circuit)(i / 2 % N_CIRCUITS);
        (void)snprintf(callers[i].request_id, sizeof callers[i].request_id, "hundred-%d", i / 2);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_once, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_true(callers[i].is_valid);
    }
    for (int i = 0; i < CALLERS; i += 2) {
        assert_int_equal(callers[i].job, callers[i + 1].job);
    }
    (void)pm_engine_metrics_now(engine, &after);
    assert_int_equal(after.n_proofs - before.n_proofs, CALLERS / 2);
    assert_int_equal(after.n_known - before.n_known, CALLERS / 2);
}

/* ---- F15 ------------------------------------------------------------------------------------ */

static uint64_t n_proofs_now(void) {
    pm_engine_metrics metrics = {.struct_bytes = sizeof metrics};
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    return metrics.n_proofs;
}

static char *prove_again(enum circuit circuit, const char *request_id) {
    struct world_submission made;
    world_submission_init(&made, circuits.name[circuit]);
    made.request.request_id = world_text(request_id);
    world_add_path(&made, circuits.witness_path[circuit]);
    Proofmill__V1__Result *result = prove(&made, NULL);
    assert_non_null(result);
    assert_int_equal(result->n_proofs, 1);
    char *json = strdup(result->proofs[0]->proof_json);
    free_message(result);
    return json;
}

/* The same request again is answered with its stored proof, also by the next daemon; the id with
 * other inputs is refused; and what is past its deadline is dropped unproved and counted. */
static void F15_nothing_is_computed_twice(void **state) {
    struct world_submission made;
    struct pm_rpc_call call;
    (void)state;
    char *first = prove_again(MIMC, "again");
    const uint64_t n_proofs = n_proofs_now();
    for (int i = 0; i < 3; ++i) {
        char *again = prove_again(MIMC, "again");
        assert_string_equal(again, first);
        free(again);
    }
    assert_int_equal(n_proofs_now(), n_proofs);
    world_submission_init(&made, "mult3");
    made.request.request_id = world_text("again");
    world_add_path(&made, circuits.witness_path[MULT3]);
    assert_null(prove(&made, &call));
    expect_failure(&call, PM_RPC_INVALID_ARGUMENT, "other inputs");
    pm_engine_destroy(engine);
    start();
    char *again = prove_again(MIMC, "again");
    assert_string_equal(again, first);
    assert_int_equal(n_proofs_now(), 0);
    free(again);
    free(first);
    /* Expired before its turn. */
    for (int i = 0; i < 3; ++i) {
        (void)submit_one(engine, &circuits, LONG, PM_ENGINE_CRITICAL, NULL);
    }
    world_submission_init(&made, "long");
    made.request.timeout_ms = 1;
    world_add_path(&made, circuits.witness_path[LONG]);
    Proofmill__V1__Result *result = prove(&made, NULL);
    assert_string_equal(result->job->error_status, "DEADLINE");
    free_message(result);
    assert_int_equal(pm_engine_drain(engine, 60000, NULL), PM_OK);
    pm_engine_metrics metrics = {.struct_bytes = sizeof metrics};
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    assert_int_equal(metrics.n_expired, 1);
    assert_int_equal(metrics.n_proofs, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B3_counts_are_exact_and_values_canonical),
        cmocka_unit_test(B16_any_order_is_fine),
        cmocka_unit_test(F6_B16_a_key_that_cannot_be_used),
        cmocka_unit_test(F6_a_configured_key_that_is_missing),
        cmocka_unit_test(F11_large_inputs_are_taken_or_refused_by_name),
        cmocka_unit_test(F12_a_hundred_at_a_time),
        cmocka_unit_test(F15_nothing_is_computed_twice),
    };
    return cmocka_run_group_tests_name("daemon/service_reports", tests, open_all, close_all);
}
