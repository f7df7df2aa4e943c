/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as a call of either service, over an engine with two small keys: the first byte chooses
 * the method, the second whether the caller waits for the outcome; the rest is the request, or for
 * a stream its messages, each behind its length in two bytes. Every call ends exactly once, with a
 * code and a sentence, and leaves nothing behind.
 */
#include "daemon/service_internal.h"

#include "daemon/service_world.h"
#include "fuzz/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"mult3", "nopriv_bls"};
enum { N_KEYS = sizeof names / sizeof names[0] };

static void register_keys(pm_engine *engine) {
    for (int i = 0; i < N_KEYS; ++i) {
        char path[1024];
        pm_error error = PM_ERROR_INIT;
        const pm_engine_key key = {.struct_bytes = sizeof key, .name = names[i], .path = path};
        (void)snprintf(path, sizeof path, "%s/test/data/%s/%s.zkey", PM_SOURCE_DIR, names[i],
                       names[i]);
        FUZZ_REQUIRE(pm_engine_key_register(engine, &key, NULL, &error) == PM_OK);
    }
}

/* Made once and kept; it holds little, so that many inputs do not add up. */
static struct pm_daemon *the_daemon(void) {
    static struct pm_daemon daemon_;
    if (daemon_.engine == NULL) {
        const pm_engine_device cpu = {
            .struct_bytes = sizeof cpu, .n_workers = 1, .n_express = UINT32_MAX, .threads = 1};
        const pm_engine_options options = {.struct_bytes = sizeof options,
                                           .n_devices = 1,
                                           .devices = &cpu,
                                           .host_bytes = 64 << 20,
                                           .stored_bytes_max = 4 << 20,
                                           .n_results_max = 4,
                                           .results_bytes_max = 1 << 20,
                                           .n_jobs_max = 8};
        pm_error error = PM_ERROR_INIT;
        pm_engine *engine = NULL;
        FUZZ_REQUIRE(pm_engine_create(&options, &engine, &error) == PM_OK);
        daemon_ = world_daemon(engine);
        daemon_.config.upload_bytes_max = 1 << 20;
        daemon_.config.message_bytes_max = 1 << 20;
        register_keys(engine);
    }
    return &daemon_;
}

/* Jobs that nobody waited for end here; a key that was forgotten comes back. */
static void settle(pm_engine *engine) {
    pm_engine_job jobs[16];
    uint32_t n = 16, n_keys = 0;
    FUZZ_REQUIRE(pm_engine_jobs(engine, 0, jobs, &n) == PM_OK && n < 16);
    for (uint32_t i = 0; i < n; ++i) {
        if (jobs[i].state < PM_ENGINE_DONE) {
            (void)pm_engine_cancel(engine, jobs[i].job, NULL, NULL);
            (void)pm_engine_await(engine, jobs[i].job, 0, NULL, NULL, NULL);
        }
    }
    (void)pm_engine_keys(engine, NULL, &n_keys);
    if (n_keys != N_KEYS) {
        register_keys(engine);
    }
}

static void hand_stream(struct pm_rpc_call *call, struct fuzz_reader *reader) {
    while (reader->n_bytes >= 2 && !call->has_ended) {
        const size_t low = fuzz_take_u8(reader), high = fuzz_take_u8(reader);
        const size_t asked = low | high << 8;
        const size_t n = asked < reader->n_bytes ? asked : reader->n_bytes;
        world_hand(call, reader->bytes, n);
        reader->bytes += n;
        reader->n_bytes -= n;
    }
}

static void check_outcome(const struct pm_rpc_call *call) {
    FUZZ_REQUIRE((int)call->code >= PM_RPC_OK && (int)call->code <= PM_RPC_UNAVAILABLE);
    FUZZ_REQUIRE(call->code != PM_RPC_UNKNOWN && call->code != PM_RPC_INTERNAL);
    FUZZ_REQUIRE(call->code != PM_RPC_OK || call->n_answers >= 1);
}

static const struct pm_rpc_method *method_of(uint8_t byte) {
    size_t n_prover = 0, n_cuzk = 0;
    while (pm_service_prover[n_prover].path != NULL) {
        ++n_prover;
    }
    while (pm_service_cuzk[n_cuzk].path != NULL) {
        ++n_cuzk;
    }
    const size_t which = byte % (n_prover + n_cuzk);
    return which < n_prover ? &pm_service_prover[which] : &pm_service_cuzk[which - n_prover];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_daemon *daemon_ = the_daemon();
    struct fuzz_reader reader = {bytes, n_bytes};
    const struct pm_rpc_method *method = method_of(fuzz_take_u8(&reader));
    const bool waits = fuzz_take_u8(&reader) % 2 == 0;
    struct pm_rpc_call call;
    world_begin(daemon_, method->path, &call);
    call.is_local = false; /* the files of this machine are no business of an input */
    if (method->kind == PM_RPC_CLIENT_STREAM) {
        hand_stream(&call, &reader);
        if (waits) {
            world_finish(&call);
        }
    } else {
        world_hand(&call, reader.bytes, reader.n_bytes);
    }
    if (waits) {
        world_run(&call);
        check_outcome(&call);
    }
    world_close(&call);
    FUZZ_REQUIRE(world_held_bytes == 0);
    settle(daemon_->engine);
    return 0;
}
