/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every method with each of its allocations failing in turn: the call ends once, well or with
 * RESOURCE_EXHAUSTED, and what it had is given back.
 */
#include "daemon/service_internal.h"

#include "daemon/service_world.h"
#include "engine/engine_case.h"
#include "fault/fault_interposer.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <cuzk/v1/cuzk.pb-c.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct circuits circuits;
static pm_engine *engine;
static struct pm_daemon daemon_;
static uint64_t done_job;

static int open_all(void **state) {
    (void)state;
    const pm_engine_device cpu = {.struct_bytes = sizeof cpu, .threads = 1};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 1,
                                       .devices = &cpu,
                                       .host_bytes = 256 << 20,
                                       .retry_ms = 1};
    pm_error error = PM_ERROR_INIT;
    circuits_borrow(&circuits);
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    daemon_ = world_daemon(engine);
    done_job = submit_one(engine, &circuits, MULT3_BLS, PM_ENGINE_NORMAL, "done");
    (void)await_job(engine, done_job);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_engine_destroy(engine);
    circuits_close(&circuits);
    return 0;
}

/* ---- Requests ------------------------------------------------------------------------------- */

static struct {
    struct world_submission by_path, by_data;
    Proofmill__V1__SubmitRequest stream;
    Proofmill__V1__SubmitChunk chunk;
    Proofmill__V1__AwaitRequest await;
    Proofmill__V1__JobRequest job;
    Proofmill__V1__ListJobsRequest list;
    Proofmill__V1__RegisterKeyRequest register_key;
    Proofmill__V1__KeyRequest key;
    Proofmill__V1__PlanRequest plan;
    Proofmill__V1__Empty empty;
    Proofmill__V1__DeviceRequest device;
    Cuzk__V1__AwaitProofRequest await_proof;
    Cuzk__V1__CancelProofRequest cancel_proof;
    Cuzk__V1__PreloadSrsRequest srs;
    Cuzk__V1__EvictSrsRequest evict_srs;
} asked;

static char *witness;

static void make_submissions(void) {
    size_t n_bytes = 0;
    witness = pm_test_read_file(circuits.witness_path[ONE], &n_bytes);
    world_submission_init(&asked.by_path, "one");
    world_add_path(&asked.by_path, circuits.witness_path[ONE]);
    world_submission_init(&asked.by_data, "one");
    world_add_data(&asked.by_data, witness, n_bytes);
    proofmill__v1__submit_request__init(&asked.stream);
    asked.stream.key = world_text("one");
    proofmill__v1__submit_chunk__init(&asked.chunk);
    asked.chunk.request = &asked.stream;
    asked.chunk.begins_part = 1;
    asked.chunk.data.data = (uint8_t *)witness;
    asked.chunk.data.len = n_bytes;
}

static void make_requests(void) {
    make_submissions();
    proofmill__v1__await_request__init(&asked.await);
    asked.await.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_JOB;
    asked.await.job = done_job;
    proofmill__v1__job_request__init(&asked.job);
    asked.job.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_REQUEST_ID;
    asked.job.request_id = world_text("done");
    proofmill__v1__list_jobs_request__init(&asked.list);
    proofmill__v1__register_key_request__init(&asked.register_key);
    asked.register_key.name = world_text("one");
    asked.register_key.path = circuits.key_path[ONE];
    proofmill__v1__key_request__init(&asked.key);
    asked.key.name = world_text("one");
    proofmill__v1__plan_request__init(&asked.plan);
    asked.plan.key = world_text("one");
    proofmill__v1__empty__init(&asked.empty);
    proofmill__v1__device_request__init(&asked.device);
    asked.device.name = world_text("cpu");
    cuzk__v1__await_proof_request__init(&asked.await_proof);
    asked.await_proof.job_id = world_text("done");
    cuzk__v1__cancel_proof_request__init(&asked.cancel_proof);
    asked.cancel_proof.job_id = world_text("done");
    cuzk__v1__preload_srs_request__init(&asked.srs);
    asked.srs.circuit_id = world_text("one");
    cuzk__v1__evict_srs_request__init(&asked.evict_srs);
    asked.evict_srs.circuit_id = world_text("one");
}

static const struct {
    const char *path;
    const ProtobufCMessage *request;
    bool changes; /* what the engine holds afterwards */
} calls[] = {{"Prover/Prove", &asked.by_path.request.base, true},
             {"Prover/Submit", &asked.by_data.request.base, true},
             {"Prover/SubmitStream", &asked.chunk.base, true},
             {"Prover/Await", &asked.await.base, false},
             {"Prover/Watch", &asked.job.base, false},
             {"Prover/Cancel", &asked.job.base, false},
             {"Prover/ListJobs", &asked.list.base, false},
             {"Prover/RegisterKey", &asked.register_key.base, true},
             {"Prover/PreloadKey", &asked.key.base, true},
             {"Prover/EvictKey", &asked.key.base, true},
             {"Prover/ListKeys", &asked.empty.base, false},
             {"Prover/GetStatus", &asked.empty.base, false},
             {"Prover/GetPlan", &asked.plan.base, false},
             {"Prover/RestoreDevice", &asked.device.base, true},
             {"ProvingEngine/AwaitProof", &asked.await_proof.base, false},
             {"ProvingEngine/CancelProof", &asked.cancel_proof.base, false},
             {"ProvingEngine/GetStatus", &asked.empty.base, false},
             {"ProvingEngine/GetMetrics", &asked.empty.base, false},
             {"ProvingEngine/PreloadSRS", &asked.srs.base, true},
             {"ProvingEngine/EvictSRS", &asked.evict_srs.base, true}};

/* ---- Faults --------------------------------------------------------------------------------- */

/* Jobs that are submitted end before the next round, so that keys are not in use. */
static void settle(void) {
    pm_engine_job jobs[64];
    uint64_t after = done_job;
    uint32_t n = 64;
    while (n == 64) {
        assert_int_equal(pm_engine_jobs(engine, after, jobs, &n), PM_OK);
        for (uint32_t i = 0; i < n; ++i) {
            after = jobs[i].job;
            if (jobs[i].state < PM_ENGINE_DONE) {
                (void)await_job(engine, after);
            }
        }
    }
}

static uint32_t call_with_fault(size_t c, const struct fault_plan *plan) {
    const size_t n_bytes = protobuf_c_message_get_packed_size(calls[c].request);
    uint8_t *bytes = malloc(n_bytes + 1);
    struct pm_rpc_call call;
    assert_non_null(bytes);
    (void)protobuf_c_message_pack(calls[c].request, bytes);
    world_begin(&daemon_, calls[c].path, &call);
    fault_arm(plan);
    call.method->handle(&call, &daemon_, bytes, n_bytes);
    if (call.method->kind == PM_RPC_CLIENT_STREAM && !call.has_ended) {
        call.method->handle(&call, &daemon_, NULL, 0);
    }
    if (!call.has_ended) { /* it waits: for what it has submitted */
        assert_true(call.is_parked);
        (void)pm_engine_await(engine, call.parked_job, 60000, NULL, NULL, NULL);
        call.is_parked = false;
        call.resume(&call, &daemon_, call.parked_job, PM_RPC_WAKE_ENDED);
    }
    const struct fault_count count = fault_disarm();
    assert_true(call.has_ended);
    if (call.code != PM_RPC_OK && call.code != PM_RPC_RESOURCE_EXHAUSTED) {
        fail_msg("%s: code %d: %s", calls[c].path, (int)call.code, call.sentence);
    }
    if (count.n_faults == 0) {
        assert_int_equal(call.code, PM_RPC_OK);
    }
    world_close(&call);
    free(bytes);
    settle();
    return (uint32_t)count.n_faults;
}

static void each_allocation_may_fail(void **state) {
    static const enum fault_function functions[] = {FAULT_malloc, FAULT_calloc, FAULT_realloc};
    (void)state;
    make_requests();
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; ++c) {
        uint32_t n_faults = 0;
        for (size_t f = 0; f < sizeof functions / sizeof functions[0]; ++f) {
            struct fault_plan plan = {.function = functions[f], .reason = ENOMEM};
            uint32_t n;
            do {
                ++plan.at;
                const struct fault_live before = fault_live_now();
                n = call_with_fault(c, &plan);
                n_faults += n;
                if (!calls[c].changes) {
                    assert_int_equal(fault_live_now().heap_blocks, before.heap_blocks);
                }
            } while (n != 0);
        }
        print_message("  %s: %u faults\n", calls[c].path, n_faults);
        assert_true(n_faults >= 1);
        assert_int_equal(world_held_bytes, 0);
    }
    free(witness);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("daemon/service_faults", tests, open_all, close_all);
}
