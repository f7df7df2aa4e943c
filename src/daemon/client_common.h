/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/client_common.h - what the files of the client share.
 *
 *     client_run.c      from the arguments to an exit code
 *     client_options.c  verbs, options, help
 *     client_call.c     calls over gRPC
 *     client_message.c  answers: decoded within bounds, as JSON, their numbers as words
 *     client_report.c   errors, exit codes, what --json prints
 *     client_*.c        verbs
 *
 * A verb returns a pm_status and leaves the sentence in client->error, as the command's verbs do;
 * client_report.c turns it into the command's exit codes.
 */
#ifndef PM_DAEMON_CLIENT_COMMON_H
#define PM_DAEMON_CLIENT_COMMON_H

#include "daemon/client_text.h"

#include <proofmill/proofmill.h>
#include <proofmill/v1/proofmill.pb-c.h>

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---------------------------------------------------------------------------------------------
 * Options and verbs
 * ------------------------------------------------------------------------------------------- */

struct pm_client_options {
    const char **words; /* behind the verb, in order */
    size_t n_words;
    const char *address, *tls_ca, *tls_certificate, *tls_key; /* NULL: not given, as all below */
    const char *proof_path, *public_path, *request_id, *r1cs_path, *device;
    uint8_t digest[64];
    uint64_t timeout_ms; /* 0: not given */
    Proofmill__V1__Priority priority;
    Proofmill__V1__RegisterKeyRequest__Check check;
    bool has_digest, wait, upload, all, json, quiet, verbose, help;
};

struct pm_client;

struct pm_client_verb {
    const char *name;  /* "key list" */
    const char *usage; /* its words: "NAME PATH" */
    size_t n_min, n_max;
    const char *options; /* names of its own ones, each with a blank on both sides */
    const char *summary, *description;
    pm_status (*run)(struct pm_client *client);
    int precondition_code; /* the exit code that FAILED_PRECONDITION is; 0: as for a bad file */
};

struct pm_client_channel;

struct pm_client {
    const struct pm_client_verb *verb; /* NULL: not known yet */
    struct pm_client_options options;
    char address[256];
    bool is_local;                     /* a unix socket */
    struct pm_client_channel *channel; /* NULL until pm_client_connect() */
    pm_error error;
    const char *told; /* gRPC's name of what the daemon has answered instead; NULL: it has not */
    int told_code;    /* its exit code */
    char hint[192];   /* what to do next; "": nothing */
    json_t *result;   /* what --json prints; always there */
    bool no_result;   /* the verb has printed its lines itself */
    bool job_was_cancelled; /* by somebody else: CANCELLED is no signal's then */
};

/* Reads options and words and finds the verb. Errors: INVALID_ARGUMENT. */
pm_status pm_client_read_arguments(struct pm_client *client, int n, char **arguments);
/* Help for the verb that was found; without one for all of them, or for those of the first word. */
void pm_client_print_help(const struct pm_client *client);
/* A whole number of decimal digits alone, below 2^64. */
bool pm_client_read_number(const char *text, uint64_t *value);

pm_status pm_client_submit(struct pm_client *client);
pm_status pm_client_await(struct pm_client *client);
pm_status pm_client_watch(struct pm_client *client);
pm_status pm_client_cancel(struct pm_client *client);
pm_status pm_client_jobs(struct pm_client *client);
pm_status pm_client_status(struct pm_client *client);
pm_status pm_client_top(struct pm_client *client);
pm_status pm_client_key_list(struct pm_client *client);
pm_status pm_client_key_add(struct pm_client *client);
pm_status pm_client_key_load(struct pm_client *client);
pm_status pm_client_key_evict(struct pm_client *client);
pm_status pm_client_key_forget(struct pm_client *client);
pm_status pm_client_key_plan(struct pm_client *client);
pm_status pm_client_device_restore(struct pm_client *client);

/* The job that a verb is about: by number, or by the id it was submitted with. */
struct pm_client_which {
    uint64_t job;           /* 0: by id */
    const char *request_id; /* NULL: by number */
};
/* From the verb's word or --request-id. Errors: INVALID_ARGUMENT. */
pm_status pm_client_read_which(struct pm_client *client, struct pm_client_which *which);
/* How a command line names it: "7", "--request-id 7". Returns text. */
#define PM_CLIENT_WHICH_CHARS 160
const char *pm_client_which_text(const struct pm_client_which *which,
                                 char text[PM_CLIENT_WHICH_CHARS]);

/* Files that the proofs of a job go to, by --proof and --public. */
struct pm_client_outputs {
    char **paths; /* those of the proofs, then those of the public signals; NULL: none */
    size_t n_parts;
};
/* Names them, and fails early when they cannot be written to or are among the inputs. Errors:
 * INVALID_ARGUMENT, SAME_FILE, IO, NO_MEMORY. Free also after an error. */
pm_status pm_client_outputs_choose(struct pm_client *client, size_t n_parts,
                                   const char *const *inputs, size_t n_inputs,
                                   struct pm_client_outputs *outputs);
void pm_client_outputs_free(struct pm_client_outputs *outputs);
/* Waits until the job has ended, shows how it goes on a terminal, writes its proofs and fills in
 * the result. An end that is not DONE is an error. */
pm_status pm_client_outcome(struct pm_client *client, const struct pm_client_which *which,
                            uint64_t timeout_ms);

/* Where a job is, in words: "proving on cuda:0, part 2 of 4, h 42 %". */
void pm_client_describe_job(const Proofmill__V1__Job *job, struct pm_client_text *text);
/* Calls see for each change until the job has ended. see returning false ends it: OK. */
pm_status pm_client_follow(struct pm_client *client, const struct pm_client_which *which,
                           uint64_t timeout_ms,
                           bool (*see)(void *user, const Proofmill__V1__Job *job), void *user);
/* The error of a job that has not ended well; OK for one that is DONE. */
pm_status pm_client_judge_job(struct pm_client *client, const Proofmill__V1__Job *job);
/* Says how a job is awaited again when the wait has ended with DEADLINE, CANCELLED or IO, and the
 * job has not. */
void pm_client_it_goes_on(struct pm_client *client, pm_status status,
                          const struct pm_client_which *which);

/* A path as the daemon takes it: absolute. Over TCP it is the daemon's machine's, and goes as it
 * is. *path is freed with free(). */
pm_status pm_client_absolute(struct pm_client *client, const char *path, char **absolute);

/* ---------------------------------------------------------------------------------------------
 * Reporting
 * ------------------------------------------------------------------------------------------- */

/* The caller's mistake: INVALID_ARGUMENT. */
__attribute__((format(printf, 2, 3))) pm_status pm_client_usage(struct pm_client *client,
                                                                const char *format, ...);
__attribute__((format(printf, 3, 4))) pm_status
pm_client_fail(struct pm_client *client, pm_status status, const char *format, ...);
__attribute__((format(printf, 2, 3))) void pm_client_hint(struct pm_client *client,
                                                          const char *format, ...);
/* A line on stderr unless --quiet; printable. */
__attribute__((format(printf, 2, 3))) void pm_client_say(const struct pm_client *client,
                                                         const char *format, ...);
/* A result for stdout, whose strings are printable already; nothing under --json. */
__attribute__((format(printf, 2, 3))) void pm_client_print(const struct pm_client *client,
                                                           const char *format, ...);
/* A sentence for stdout that is no result: nothing under --quiet either. */
__attribute__((format(printf, 2, 3))) void pm_client_tell(const struct pm_client *client,
                                                          const char *format, ...);
/* A table or any other text; nothing under --json. NO_MEMORY when it is not whole. Frees it. */
pm_status pm_client_print_text(struct pm_client *client, struct pm_client_text *text);
/* Members of json become the result's. Takes json over. */
void pm_client_result(struct pm_client *client, json_t *json);
/* A line of JSON on stdout, at once. Takes json over. */
pm_status pm_client_json_line(struct pm_client *client, json_t *json);
/* Prints the error or the JSON result, and gives the exit code. */
int pm_client_finish(struct pm_client *client, pm_status status);
/* The command's exit code for it. */
int pm_client_exit_code(const struct pm_client *client, pm_status status);
/* The status with this name; INTERNAL for a name that is none. */
pm_status pm_client_status_named(const char *name);

/* The signal that asked us to stop, or 0. From pm_client_listen_for_signals() on the first one is a
 * request and the second one kills. */
int pm_client_signal(void);
void pm_client_listen_for_signals(void);
/* Says the same to the library: cancelled once there was a signal. */
const pm_control *pm_client_control(void);

/* ---------------------------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------------------------- */

/* *message is freed with pm_client_message_free(). Errors: ENCODING, NO_MEMORY (it would take more
 * than such an answer may). */
pm_status pm_client_message_decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                   size_t n_bytes, ProtobufCMessage **message, pm_error *error);
void pm_client_message_free(ProtobufCMessage *message);
/* A member for each field with the proto's names; enums by name, bytes in hexadecimal. */
json_t *pm_client_message_json(const ProtobufCMessage *message);
/* "queued", "high", "hot", "bn128"; "?" for what this client does not know. */
const char *pm_client_state_word(Proofmill__V1__JobState state);
const char *pm_client_priority_word(Proofmill__V1__Priority priority);
const char *pm_client_tier_word(Proofmill__V1__Tier tier);
const char *pm_client_curve_word(Proofmill__V1__Curve curve);
bool pm_client_has_ended(const Proofmill__V1__Job *job);
/* Per cent of the phase, or UINT32_MAX: not known. */
uint32_t pm_client_phase_percent(const Proofmill__V1__Job *job);

/* ---------------------------------------------------------------------------------------------
 * Calls
 * ------------------------------------------------------------------------------------------- */

/* Names of methods are those of the service. Each call ends with the daemon's answer, an error
 * whose sentence says who says so, or CANCELLED (a signal). timeout_ms 0: none. */
pm_status pm_client_connect(struct pm_client *client);
void pm_client_disconnect(struct pm_client *client);
/* One request, one answer, which is freed with pm_client_message_free(). */
pm_status pm_client_ask(struct pm_client *client, const char *method,
                        const ProtobufCMessage *request,
                        const ProtobufCMessageDescriptor *answer_type, uint64_t timeout_ms,
                        ProtobufCMessage **answer);

struct pm_client_stream;
/* A stream of requests: write each, then finish, which gives the answer. A write that fails says
 * so with *is_over: finish tells why. Requests are wiped when they are sent. */
pm_status pm_client_stream_begin(struct pm_client *client, const char *method, uint64_t timeout_ms,
                                 struct pm_client_stream **stream);
pm_status pm_client_stream_write(struct pm_client_stream *stream, const ProtobufCMessage *request,
                                 bool *is_over);
pm_status pm_client_stream_finish(struct pm_client_stream *stream,
                                  const ProtobufCMessageDescriptor *answer_type,
                                  ProtobufCMessage **answer);
/* A stream of answers to one request: *answer is NULL at the end. */
pm_status pm_client_stream_ask(struct pm_client *client, const char *method,
                               const ProtobufCMessage *request, uint64_t timeout_ms,
                               struct pm_client_stream **stream);
pm_status pm_client_stream_read(struct pm_client_stream *stream,
                                const ProtobufCMessageDescriptor *answer_type,
                                ProtobufCMessage **answer);
/* Cancels what is under way. NULL is fine. */
void pm_client_stream_free(struct pm_client_stream *stream);

/* While a call is waited for, about 20 times a second: true gives it up. NULL: none. */
void pm_client_set_idle(struct pm_client *client, bool (*idle)(void *user), void *user);

/* What a call may take that only asks. */
#define PM_CLIENT_ASK_MS UINT64_C(30000)

/* How long a verb that only asks waits for its answer. */
static inline uint64_t pm_client_ask_ms(const struct pm_client *client) {
    return client->options.timeout_ms != 0 ? client->options.timeout_ms : PM_CLIENT_ASK_MS;
}

#endif
