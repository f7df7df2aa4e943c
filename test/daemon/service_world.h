/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/service_world.h - the services over an engine, without sockets: rpc.h as a test plays it.
 *
 * A call is begun by its method's path, handed its messages, and runs in the caller's thread; when
 * it has parked, world_run() waits for its job and wakes it. Each call must end exactly once.
 */
#ifndef PM_TEST_DAEMON_SERVICE_WORLD_H
#define PM_TEST_DAEMON_SERVICE_WORLD_H

#include "daemon/daemon.h"

#include <proofmill/engine.h>
#include <proofmill/v1/proofmill.pb-c.h>

#include <protobuf-c/protobuf-c.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A daemon of limits that do not matter, over an engine. */
struct pm_daemon world_daemon(pm_engine *engine);

/* A key of the configuration that could not be registered; without a name there is none. */
extern struct pm_daemon_key_fault world_key_fault;
extern const char *world_key_warning; /* of keys of BN254 */
/* What calls hold now; at most the daemon's upload_bytes_max. */
extern uint64_t world_held_bytes;

struct pm_rpc_call {
    struct pm_daemon *daemon;
    const struct pm_rpc_method *method;
    bool is_local;
    uint64_t remaining_ms; /* UINT64_MAX: no deadline */
    pm_control control;
    volatile int is_cancelled;
    void *state;
    void (*gone)(struct pm_rpc_call *call, void *state, bool was_cut);
    /* What became of it. */
    bool has_ended, is_parked, parked_for_changes;
    uint64_t parked_job, parked_ms;
    pm_rpc_resume *resume;
    enum pm_rpc_code code;
    char sentence[2048];
    uint8_t *answer; /* the last message */
    size_t answer_bytes;
    uint32_t n_answers;
};

/* Local, without a deadline. The path ends in "Prover/Submit", "ProvingEngine/Prove", ... */
void world_begin(struct pm_daemon *daemon, const char *path, struct pm_rpc_call *call);
/* Runs the handler on an exact copy of the bytes, which is gone when it returns. */
void world_hand(struct pm_rpc_call *call, const void *bytes, size_t n_bytes);
void world_hand_message(struct pm_rpc_call *call, const ProtobufCMessage *message);
/* The end of a client's stream. */
void world_finish(struct pm_rpc_call *call);
/* Until it has ended. */
void world_run(struct pm_rpc_call *call);
/* The caller goes away. */
void world_cut(struct pm_rpc_call *call);
/* Releases what is left of a call that has ended, or cuts it. */
void world_close(struct pm_rpc_call *call);

/* A whole unary call. The answer is decoded with protobuf-c's own reader, for
 * protobuf_c_message_free_unpacked(); NULL: it failed, and *code says how. call may be NULL. */
void *world_call(struct pm_daemon *daemon, const char *path, const ProtobufCMessage *request,
                 const ProtobufCMessageDescriptor *answer, struct pm_rpc_call *call);
void *world_answer(const struct pm_rpc_call *call, const ProtobufCMessageDescriptor *answer);

/* A SubmitRequest that points into itself: it must not be moved. */
struct world_submission {
    Proofmill__V1__SubmitRequest request;
    Proofmill__V1__Input inputs[4], *pointers[4];
};
void world_submission_init(struct world_submission *made, const char *key);
void world_add_path(struct world_submission *made, const char *path);
void world_add_data(struct world_submission *made, const void *bytes, size_t n_bytes);
/* The strings of messages have no const. */
char *world_text(const char *constant);

/* Whether two messages of one kind are the same, unknown fields aside. */
bool world_is_same(const ProtobufCMessage *a, const ProtobufCMessage *b);
/* Every kind of message that a client may send. */
extern const ProtobufCMessageDescriptor *const world_requests[];
extern const size_t world_n_requests;

/* Ends the program when something does not hold: the fuzzers have no cmocka. */
_Noreturn void world_fail(const char *file, int line, const char *what);
#define WORLD_REQUIRE(condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            world_fail(__FILE__, __LINE__, #condition);                                            \
        }                                                                                          \
    } while (0)

#endif
