/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/service_internal.h - what the files of the services share.
 *
 *     service_decode.c   messages out of bytes
 *     service_answer.c   answers and failures
 *     service_find.c     jobs, keys and devices by name
 *     service_view.c     jobs, keys and devices as messages
 *     service_wait.c     calls that wait for a job
 *     service_submit.c   Submit, Prove; service_stream.c: SubmitStream
 *     service_job.c      Await, Watch, Cancel, ListJobs
 *     service_key.c      keys and plans
 *     service_status.c   GetStatus, RestoreDevice
 *     service_prover.c   the table of proofmill.v1
 *     service_cuzk.c     cuzk.v1
 */
#ifndef PM_DAEMON_SERVICE_INTERNAL_H
#define PM_DAEMON_SERVICE_INTERNAL_H

#include "daemon/daemon.h"
#include "daemon/service_decode.h"

#include <proofmill/engine.h>
#include <proofmill/v1/proofmill.pb-c.h>

#include <protobuf-c/protobuf-c.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A path that the engine takes, the NUL included. */
#define PM_SERVICE_PATH_BYTES 1024

/* ---- Answers -------------------------------------------------------------------------------- */

/* What a status was said of: a file that cannot be read as an input is the caller's doing, and as a
 * key the operator's. LOADING: a key in a call that does not use the journal, so that IO is about
 * the key's file whether the error names it or not. */
enum pm_matter { PM_MATTER_CALL, PM_MATTER_KEY, PM_MATTER_LOADING };

enum pm_rpc_code pm_service_code(pm_status status, enum pm_matter matter);
/* Ends the call with the code that belongs to error->status, and its sentence with its file. */
void pm_service_fail(struct pm_rpc_call *call, enum pm_matter matter, const pm_error *error);
/* Ends the call with a message; with RESOURCE_EXHAUSTED when it is larger than messages may be. */
void pm_service_reply(struct pm_rpc_call *call, const ProtobufCMessage *answer);
/* The same for one of a stream; false: the call has been ended instead. */
bool pm_service_send(struct pm_rpc_call *call, const ProtobufCMessage *answer);
/* Decodes a request, or ends the call and returns NULL. For pm_message_free(). */
void *pm_service_request(struct pm_rpc_call *call, const ProtobufCMessageDescriptor *kind,
                         const uint8_t *bytes, size_t n_bytes);
struct pm_daemon *pm_service_daemon(struct pm_rpc_call *call);
/* The strings of messages have no const; nobody writes to them. */
static inline char *pm_service_text(const char *text) {
    return (char *)(uintptr_t)text;
}

/* ---- Finding: each ends the call when it returns false --------------------------------------- */

/* 1 to 127 of the letters, digits and -_.: that names are made of. */
bool pm_service_is_name(const char *name);
/* Whether this caller may name files, and this is a path the engine takes. */
bool pm_service_may_use_path(struct pm_rpc_call *call, const char *what, const char *path);
/* Those of the configuration that could not be registered, too. infos is malloc'ed, also for none.
 */
bool pm_service_keys(struct pm_rpc_call *call, pm_engine_key_info **infos, uint32_t *n);
/* A key that proofs may be made with. info may be NULL. NOT_FOUND; INVALID_ARGUMENT for what is no
 * name; FAILED_PRECONDITION for a key of the configuration whose file has not been opened. */
bool pm_service_key(struct pm_rpc_call *call, const char *name, pm_engine_key_info *info);
/* One that the engine has, also when that is another file than the configuration's. */
bool pm_service_known_key(struct pm_rpc_call *call, const char *name, pm_engine_key_info *info);
bool pm_service_job(struct pm_rpc_call *call, uint64_t job, pm_engine_job *info);
bool pm_service_job_of_request(struct pm_rpc_call *call, const char *request_id,
                               pm_engine_job *info);
/* Its number in pm_engine_devices(). "": the first one. */
bool pm_service_device(struct pm_rpc_call *call, const char *name, uint32_t *device);

/* ---- Views: messages over what the engine says ----------------------------------------------- */

struct pm_device_names {
    uint32_t n;
    char name[PM_ENGINE_DEVICES_MAX][64];
};
void pm_service_device_names(pm_engine *engine, struct pm_device_names *names);

/* A message and what it points to; it must not be moved. */
struct pm_job_view {
    Proofmill__V1__Job job;
    Proofmill__V1__Times times;
};
/* Points into info and names. */
void pm_service_view_job(const pm_engine_job *info, const struct pm_device_names *names,
                         struct pm_job_view *view);

struct pm_key_view {
    Proofmill__V1__Key key;
    char *devices[PM_ENGINE_DEVICES_MAX];
    char error[512];
};
void pm_service_view_key(const pm_engine_key_info *info, const struct pm_device_names *names,
                         struct pm_key_view *view);

/* Every key; malloc'ed, for pm_service_free_keys(). False: the call has been ended. */
struct pm_key_views {
    uint32_t n;
    struct pm_device_names names;
    pm_engine_key_info *infos;
    struct pm_key_view *views;
    Proofmill__V1__Key **pointers;
};
bool pm_service_view_keys(struct pm_rpc_call *call, struct pm_key_views *views);
void pm_service_free_keys(struct pm_key_views *views);

static inline bool pm_service_has_ended(const pm_engine_job *info) {
    return info->state >= PM_ENGINE_DONE;
}

/* Bytes of a proof as Proof.proof has them. *n_bytes: at most PM_SERVICE_PROOF_BYTES. */
#define PM_SERVICE_PROOF_BYTES 256
pm_status pm_service_proof_bytes(const pm_proof *proof, uint8_t bytes[PM_SERVICE_PROOF_BYTES],
                                 size_t *n_bytes, pm_error *error);

/* ---- Waiting -------------------------------------------------------------------------------- */

/* What a call waits for, and how it answers. It is attached to the call. */
struct pm_wait {
    uint64_t job; /* 0: not submitted yet */
    bool cancels; /* the job, when the caller goes away */
    bool no_proofs;
    uint32_t first, n;             /* proofs */
    uint64_t until_ns;             /* 0: none */
    char id[PM_ENGINE_NAME_BYTES]; /* that the caller asked with */
    /* Ends the call. info: NULL when the time is over. */
    void (*answer)(struct pm_rpc_call *call, const struct pm_wait *wait, const pm_engine_job *info);
};
/* Attaches an empty one, or ends the call and returns NULL. */
struct pm_wait *pm_service_wait_attach(struct pm_rpc_call *call);
/* For wait->job: answers at once if it has ended, else parks. */
void pm_service_wait(struct pm_rpc_call *call, struct pm_wait *wait, uint64_t timeout_ms);
/* A pm_wait.answer: a proofmill.v1 Result, or DEADLINE_EXCEEDED. */
void pm_service_answer_result(struct pm_rpc_call *call, const struct pm_wait *wait,
                              const pm_engine_job *info);

/* ---- What both services do ------------------------------------------------------------------- */

/* The request's key, id, priority and timeout are good; or the call has been ended. */
bool pm_service_check_submit(struct pm_rpc_call *call, const Proofmill__V1__SubmitRequest *request);
/* Submits and returns true, or ends the call. */
bool pm_service_submit(struct pm_rpc_call *call, const Proofmill__V1__SubmitRequest *request,
                       const pm_engine_input *inputs, uint32_t n_inputs, uint64_t *job, int *known);
void pm_service_reply_submitted(struct pm_rpc_call *call, uint64_t job, int known);

/* Within the caller's own time and patience; timeout_ms 0: no other. False: the call was ended. */
bool pm_service_preload(struct pm_rpc_call *call, const char *name, uint64_t timeout_ms,
                        int *already);
bool pm_service_evict(struct pm_rpc_call *call, const char *name, uint64_t timeout_ms,
                      uint64_t *freed_bytes);

pm_rpc_handler pm_service_prove, pm_service_submit_unary, pm_service_submit_stream;
pm_rpc_handler pm_service_await, pm_service_watch, pm_service_cancel, pm_service_list_jobs;
pm_rpc_handler pm_service_register_key, pm_service_preload_key, pm_service_evict_key;
pm_rpc_handler pm_service_forget_key, pm_service_list_keys, pm_service_get_plan;
pm_rpc_handler pm_service_get_status, pm_service_restore_device;

#endif
