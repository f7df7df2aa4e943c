/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/client_call.c - the client's calls over gRPC.
 *
 * One thread, one batch of operations at a time: each is started and waited for, and a signal or
 * the caller's idle function cancels the call that it belongs to. gRPC then ends it with a status
 * as if the daemon had.
 */
#include "daemon/client_common.h"
#include "daemon/pem.h"
#include "daemon/rpc.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* How soon a signal is noticed. */
#define IDLE_MS 50
/* An answer: the proofs of a job of many parts, with their public signals. */
#define ANSWER_BYTES_MAX (256 << 20)
/* A connection that hangs is given up after so long, at first and later. */
#define CONNECT_MS 5000
#define KEEPALIVE_MS 360000 /* servers take more than one ping in five minutes for an attack */
#define KEEPALIVE_TIMEOUT_MS 20000
/* A unix socket that is not there yet is waited for, so often, and after so long that is said. */
#define START_MS 3000
#define START_LOOK_MS 25
#define START_SAY_MS 500

struct pm_client_channel {
    grpc_completion_queue *queue;
    grpc_channel *channel;
    bool (*idle)(void *user);
    void *idle_user;
    bool was_reached; /* the daemon has answered once */
};

struct pm_client_stream {
    struct pm_client *client;
    grpc_call *call;
    grpc_metadata_array initial, trailing;
    grpc_status_code code;
    grpc_slice details;
    grpc_byte_buffer *received;
    bool has_details, was_cancelled;
};

/* ---------------------------------------------------------------------------------------------
 * The channel
 * ------------------------------------------------------------------------------------------- */

/* What gRPC has to say it says in the status of a call. */
static void drop_log(gpr_log_func_args *entry) {
    (void)entry;
}

static pm_status read_pem(struct pm_client *client, const char *path, struct pm_pem *pem) {
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_pem_read(path, pem, &error);
    return status == PM_OK ? PM_OK
                           : pm_client_fail(client, status, "%s%s%s", error.file,
                                            error.file[0] != '\0' ? ": " : "", error.message);
}

static pm_status make_credentials(struct pm_client *client, grpc_channel_credentials **out) {
    const struct pm_client_options *given = &client->options;
    struct pm_pem ca = {0}, certificate = {0}, key = {0};
    pm_status status = PM_OK;
    *out = NULL;
    if (given->tls_ca == NULL) {
        *out = grpc_insecure_credentials_create();
        return *out != NULL ? PM_OK : pm_client_fail(client, PM_INTERNAL, "gRPC has no channel");
    }
    PM_TRY_GOTO(status, read_pem(client, given->tls_ca, &ca), cleanup);
    if (given->tls_certificate != NULL) {
        PM_TRY_GOTO(status, read_pem(client, given->tls_certificate, &certificate), cleanup);
        PM_TRY_GOTO(status, read_pem(client, given->tls_key, &key), cleanup);
    }
    grpc_ssl_pem_key_cert_pair pair = {.private_key = key.text, .cert_chain = certificate.text};
    *out =
        grpc_ssl_credentials_create(ca.text, certificate.text != NULL ? &pair : NULL, NULL, NULL);
    if (*out == NULL) {
        status = pm_client_fail(client, PM_ENCODING, "%s%s%s: no certificates or key in PEM",
                                given->tls_ca, given->tls_key != NULL ? ", " : "",
                                given->tls_key != NULL ? given->tls_key : "");
    }
cleanup:
    pm_pem_free(&ca);
    pm_pem_free(&certificate);
    pm_pem_free(&key);
    return status;
}

/* Why a unix socket cannot be connected to: gRPC's own sentence is long. 0: it can be. */
static int socket_failure(const char *address) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const char *path = address + strlen("unix:");
    path += strncmp(path, "//", 2) == 0 ? 2 : 0;
    if (strlen(path) >= sizeof name.sun_path) {
        return ENAMETOOLONG;
    }
    (void)strcpy(name.sun_path, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int failure =
        fd < 0 || connect(fd, (const struct sockaddr *)&name, sizeof name) != 0 ? errno : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return failure;
}

/* A daemon that was started in the same breath makes its socket in a moment. Whether there is one
 * then, the first call says. */
static void wait_for_socket(const struct pm_client *client) {
    const uint64_t began_ns = pm_clock_now_ns();
    const struct timespec pause = {.tv_nsec = START_LOOK_MS * 1000000};
    bool was_said = false;
    while (pm_client_signal() == 0) {
        const int failure = socket_failure(client->address);
        const uint64_t waited_ms = (pm_clock_now_ns() - began_ns) / 1000000;
        if ((failure != ENOENT && failure != ECONNREFUSED) || waited_ms >= START_MS) {
            return;
        }
        if (waited_ms >= START_SAY_MS && !was_said) {
            was_said = true;
            pm_client_say(client, "no daemon answers at %s yet: it may be starting",
                          client->address);
        }
        (void)nanosleep(&pause, NULL);
    }
}

/* gRPC's own spelling of an address: it also knows schemes that are none of ours. */
static pm_status make_target(struct pm_client *client, char *target, size_t n_bytes) {
    const char *address = client->address;
    if (strncmp(address, "unix:", 5) == 0) {
        client->is_local = true;
        (void)snprintf(target, n_bytes, "%s", address);
        return client->options.tls_ca == NULL
                   ? PM_OK
                   : pm_client_usage(client, "TLS is for TCP, and %s is a unix socket", address);
    }
    const char *colon = strrchr(address, ':');
    uint64_t port = 0;
    if (strstr(address, "//") != NULL || colon == NULL || colon == address ||
        !pm_client_read_number(colon + 1, &port) || port == 0 || port > 65535) {
        return pm_client_usage(client,
                               "%s is no address of a daemon: that is unix:///PATH or "
                               "HOST:PORT",
                               address);
    }
    (void)snprintf(target, n_bytes, "dns:///%s", address);
    return PM_OK;
}

pm_status pm_client_connect(struct pm_client *client) {
    char target[300];
    grpc_channel_credentials *credentials = NULL;
    pm_status status = make_target(client, target, sizeof target);
    if (status != PM_OK) {
        return status;
    }
    if (client->is_local) {
        wait_for_socket(client);
    }
    gpr_set_log_function(drop_log);
    grpc_init();
    client->channel = calloc(1, sizeof *client->channel);
    if (client->channel == NULL) {
        grpc_shutdown();
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    PM_TRY(make_credentials(client, &credentials));
    grpc_arg arguments[] = {
        {.key = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, .value.integer = ANSWER_BYTES_MAX},
        {.key = GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, .value.integer = -1},
        {.key = GRPC_ARG_ENABLE_RETRIES, .value.integer = 0},
        {.key = GRPC_ARG_ENABLE_HTTP_PROXY, .value.integer = 0},
        {.key = GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, .value.integer = 1},
        {.key = GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, .value.integer = CONNECT_MS},
        {.key = GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, .value.integer = CONNECT_MS},
        {.key = GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, .value.integer = 1000},
        {.key = GRPC_ARG_KEEPALIVE_TIME_MS, .value.integer = KEEPALIVE_MS},
        {.key = GRPC_ARG_KEEPALIVE_TIMEOUT_MS, .value.integer = KEEPALIVE_TIMEOUT_MS},
    };
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        arguments[i].type = GRPC_ARG_INTEGER;
    }
    const grpc_channel_args all = {sizeof arguments / sizeof arguments[0], arguments};
    client->channel->queue = grpc_completion_queue_create_for_next(NULL);
    client->channel->channel = grpc_channel_create(target, credentials, &all);
    grpc_channel_credentials_release(credentials);
    return PM_OK;
}

void pm_client_disconnect(struct pm_client *client) {
    struct pm_client_channel *channel = client->channel;
    if (channel == NULL) {
        return;
    }
    if (channel->channel != NULL) {
        grpc_channel_destroy(channel->channel);
        grpc_completion_queue_shutdown(channel->queue);
        while (grpc_completion_queue_next(channel->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
                   .type != GRPC_QUEUE_SHUTDOWN) {
        }
        grpc_completion_queue_destroy(channel->queue);
    }
    free(channel);
    client->channel = NULL;
    grpc_shutdown();
}

void pm_client_set_idle(struct pm_client *client, bool (*idle)(void *user), void *user) {
    client->channel->idle = idle;
    client->channel->idle_user = user;
}

/* ---------------------------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------------------------- */

static gpr_timespec in_ms(uint64_t ms) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis((int64_t)ms, GPR_TIMESPAN));
}

static pm_status fail_unreachable(struct pm_client *client, const char *details) {
    const int failure = client->is_local ? socket_failure(client->address) : 0;
    pm_client_hint(client, "is one running? `proofmill serve` starts one%s",
                   client->is_local ? "; --address and PROOFMILL_ADDRESS say where it is"
                   : client->options.tls_ca == NULL ? "; one that speaks TLS needs --tls-ca"
                   : client->options.tls_certificate == NULL
                       ? "; one that asks for a certificate needs --tls-certificate and --tls-key"
                       : "");
    return pm_client_fail(client, PM_IO, "no daemon answers at %s: %s", client->address,
                          failure == ENOENT ? "there is no such socket"
                          : failure != 0    ? strerror(failure)
                                            : details);
}

/* A connection that was closed before there was an answer may be one that TLS has refused. */
static void hint_at_tls(struct pm_client *client) {
    if (client->is_local || client->channel->was_reached) {
        return;
    }
    if (client->options.tls_ca == NULL) {
        pm_client_hint(client, "one that speaks TLS needs --tls-ca, and --tls-certificate and "
                               "--tls-key if it asks for a certificate");
    } else if (client->options.tls_certificate == NULL) {
        pm_client_hint(client, "one that asks for a certificate needs --tls-certificate and "
                               "--tls-key");
    }
}

/* What the daemon answers instead of an answer: gRPC's code by name, the library's status that is
 * nearest, and the exit code. */
static const struct told {
    const char *name;
    pm_status status;
    int exit_code;
} told[] = {
    [PM_RPC_UNKNOWN] = {"UNKNOWN", PM_INTERNAL, 8},
    [PM_RPC_INVALID_ARGUMENT] = {"INVALID_ARGUMENT", PM_INVALID_ARGUMENT, 3},
    [PM_RPC_DEADLINE_EXCEEDED] = {"DEADLINE_EXCEEDED", PM_DEADLINE, 9},
    [PM_RPC_NOT_FOUND] = {"NOT_FOUND", PM_INVALID_ARGUMENT, 2},
    [PM_RPC_ALREADY_EXISTS] = {"ALREADY_EXISTS", PM_INVALID_ARGUMENT, 2},
    [PM_RPC_PERMISSION_DENIED] = {"PERMISSION_DENIED", PM_INVALID_ARGUMENT, 2},
    [PM_RPC_RESOURCE_EXHAUSTED] = {"RESOURCE_EXHAUSTED", PM_BUDGET_BUSY, 5},
    [PM_RPC_FAILED_PRECONDITION] = {"FAILED_PRECONDITION", PM_UNSUPPORTED, 3},
    [PM_RPC_ABORTED] = {"ABORTED", PM_BUDGET_BUSY, 5},
    [PM_RPC_OUT_OF_RANGE] = {"OUT_OF_RANGE", PM_OVER_BUDGET, 5},
    [PM_RPC_UNIMPLEMENTED] = {"UNIMPLEMENTED", PM_UNSUPPORTED, 3},
    [PM_RPC_INTERNAL] = {"INTERNAL", PM_INTERNAL, 8},
    [PM_RPC_UNAVAILABLE] = {"UNAVAILABLE", PM_NO_DEVICE, 6},
};

/* The daemon's own status, which it sends behind its answers; OK: it has not. */
static pm_status status_sent(const struct pm_client_stream *stream) {
    for (size_t i = 0; i < stream->trailing.count; i++) {
        const grpc_metadata *entry = &stream->trailing.metadata[i];
        char name[32];
        const size_t n = GRPC_SLICE_LENGTH(entry->value);
        if (grpc_slice_str_cmp(entry->key, "proofmill-status") == 0 && n < sizeof name) {
            (void)memcpy(name, GRPC_SLICE_START_PTR(entry->value), n);
            name[n] = '\0';
            return pm_client_status_named(name);
        }
    }
    return PM_OK;
}

static pm_status fail_told(struct pm_client_stream *stream, const char *details) {
    struct pm_client *client = stream->client;
    const grpc_status_code code = stream->code;
    const size_t n = sizeof told / sizeof told[0];
    const struct told *about =
        &told[(size_t)code < n && told[code].name != NULL ? (size_t)code : PM_RPC_UNKNOWN];
    const pm_status status = pm_client_fail(
        client, about->status, "%s", details[0] != '\0' ? details : "the daemon gives no reason");
    client->told = about->name;
    client->told_code = about->exit_code;
    const pm_status sent = code == GRPC_STATUS_FAILED_PRECONDITION ? status_sent(stream) : PM_OK;
    if (sent != PM_OK) {
        client->told_code = pm_client_exit_code(client, sent);
    } else if (code == GRPC_STATUS_FAILED_PRECONDITION && client->verb->precondition_code != 0) {
        client->told_code = client->verb->precondition_code;
    }
    return status;
}

/* What the call ended with, as an error of the client; OK for OK. */
static pm_status judge(struct pm_client_stream *stream) {
    struct pm_client *client = stream->client;
    struct pm_client_channel *channel = client->channel;
    char details[512] = "";
    if (stream->has_details) {
        const size_t n = GRPC_SLICE_LENGTH(stream->details) < sizeof details - 1
                             ? GRPC_SLICE_LENGTH(stream->details)
                             : sizeof details - 1;
        (void)memcpy(details, GRPC_SLICE_START_PTR(stream->details), n);
        details[n] = '\0';
    }
    if (stream->code == GRPC_STATUS_OK) {
        channel->was_reached = true;
        return PM_OK;
    }
    if (stream->was_cancelled) {
        return pm_client_fail(client, PM_CANCELLED, "stopped");
    }
    if (stream->code == GRPC_STATUS_UNAVAILABLE) {
        const grpc_connectivity_state state =
            grpc_channel_check_connectivity_state(channel->channel, 0);
        const bool is_cut = strcmp(details, "Socket closed") == 0 ||
                            strcmp(details, "Connection reset by peer") == 0;
        if (!channel->was_reached && !is_cut &&
            (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_CONNECTING)) {
            return fail_unreachable(client, details);
        }
        if (is_cut || state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
            hint_at_tls(client);
            return pm_client_fail(client, PM_IO, "the daemon at %s has closed the connection (%s)",
                                  client->address, details);
        }
    }
    if (stream->code == GRPC_STATUS_CANCELLED) {
        return pm_client_fail(client, PM_IO, "the daemon at %s has ended the call: %s",
                              client->address, details[0] != '\0' ? details : "it is stopping");
    }
    return fail_told(stream, details);
}

/* ---------------------------------------------------------------------------------------------
 * A call
 * ------------------------------------------------------------------------------------------- */

static pm_status begin(struct pm_client *client, const char *method, uint64_t timeout_ms,
                       struct pm_client_stream **out) {
    struct pm_client_stream *stream = calloc(1, sizeof *stream);
    char path[80];
    if (stream == NULL) {
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    (void)snprintf(path, sizeof path, "/proofmill.v1.Prover/%s", method);
    const gpr_timespec deadline =
        timeout_ms != 0 ? in_ms(timeout_ms) : gpr_inf_future(GPR_CLOCK_MONOTONIC);
    stream->client = client;
    stream->details = grpc_empty_slice();
    grpc_metadata_array_init(&stream->initial);
    grpc_metadata_array_init(&stream->trailing);
    grpc_slice name = grpc_slice_from_copied_string(path);
    stream->call = grpc_channel_create_call(client->channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                            client->channel->queue, name, NULL, deadline, NULL);
    grpc_slice_unref(name);
    *out = stream;
    return PM_OK;
}

void pm_client_stream_free(struct pm_client_stream *stream) {
    if (stream == NULL) {
        return;
    }
    (void)grpc_call_cancel(stream->call, NULL);
    grpc_byte_buffer_destroy(stream->received);
    grpc_metadata_array_destroy(&stream->initial);
    grpc_metadata_array_destroy(&stream->trailing);
    grpc_slice_unref(stream->details);
    grpc_call_unref(stream->call);
    free(stream);
}

/* Starts a batch and waits for its end. False when gRPC says that it has failed: the call's status
 * has the reason. */
static bool run(struct pm_client_stream *stream, const grpc_op *operations, size_t n) {
    struct pm_client_channel *channel = stream->client->channel;
    if (grpc_call_start_batch(stream->call, operations, n, stream, NULL) != GRPC_CALL_OK) {
        return false;
    }
    for (;;) {
        const grpc_event event = grpc_completion_queue_next(channel->queue, in_ms(IDLE_MS), NULL);
        if (event.type == GRPC_OP_COMPLETE && event.tag == stream) {
            return event.success != 0;
        }
        const bool stop =
            pm_client_signal() != 0 || (channel->idle != NULL && channel->idle(channel->idle_user));
        if (stop && !stream->was_cancelled) {
            stream->was_cancelled = true;
            (void)grpc_call_cancel(stream->call, NULL);
        }
    }
}

/* Requests may hold a witness. */
struct wiped {
    size_t n_bytes;
    uint8_t bytes[];
};

static void wipe_request(void *user) {
    struct wiped *block = user;
    pm_memory_wipe(block->bytes, block->n_bytes);
    free(block);
}

static grpc_byte_buffer *pack(const ProtobufCMessage *request) {
    const size_t n = protobuf_c_message_get_packed_size(request);
    struct wiped *block = n < SIZE_MAX / 2 ? malloc(sizeof *block + n + 1) : NULL;
    if (block == NULL) {
        return NULL;
    }
    block->n_bytes = n;
    (void)protobuf_c_message_pack(request, block->bytes);
    grpc_slice slice = grpc_slice_new_with_user_data(block->bytes, n, wipe_request, block);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/* Decodes what has been received, and drops it. */
static pm_status unpack(struct pm_client_stream *stream, const ProtobufCMessageDescriptor *type,
                        ProtobufCMessage **answer) {
    struct pm_client *client = stream->client;
    grpc_byte_buffer_reader reader;
    *answer = NULL;
    if (!grpc_byte_buffer_reader_init(&reader, stream->received)) {
        return pm_client_fail(client, PM_ENCODING, "the answer cannot be unpacked");
    }
    grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(stream->received);
    stream->received = NULL;
    const pm_status status = pm_client_message_decode(
        type, GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice), answer, &client->error);
    grpc_slice_unref(slice);
    return status;
}

static grpc_op receive_status(struct pm_client_stream *stream) {
    stream->has_details = true;
    return (grpc_op){.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
                     .data.recv_status_on_client = {.trailing_metadata = &stream->trailing,
                                                    .status = &stream->code,
                                                    .status_details = &stream->details}};
}

static grpc_op receive_initial(struct pm_client_stream *stream) {
    return (grpc_op){.op = GRPC_OP_RECV_INITIAL_METADATA,
                     .data.recv_initial_metadata.recv_initial_metadata = &stream->initial};
}

static grpc_op receive_message(struct pm_client_stream *stream) {
    return (grpc_op){.op = GRPC_OP_RECV_MESSAGE,
                     .data.recv_message.recv_message = &stream->received};
}

static grpc_op send_message(grpc_byte_buffer *message) {
    return (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message};
}

/* The status, then the one answer that goes with OK. */
static pm_status take_answer(struct pm_client_stream *stream,
                             const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer) {
    const pm_status status = judge(stream);
    if (status != PM_OK) {
        return status;
    }
    if (stream->received == NULL) {
        return pm_client_fail(stream->client, PM_ENCODING,
                              "the daemon has ended without an answer");
    }
    return unpack(stream, type, answer);
}

pm_status pm_client_ask(struct pm_client *client, const char *method,
                        const ProtobufCMessage *request,
                        const ProtobufCMessageDescriptor *answer_type, uint64_t timeout_ms,
                        ProtobufCMessage **answer) {
    struct pm_client_stream *stream = NULL;
    grpc_byte_buffer *message = pack(request);
    *answer = NULL;
    pm_status status = message != NULL ? begin(client, method, timeout_ms, &stream)
                                       : pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    if (status == PM_OK) {
        const grpc_op operations[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                                      send_message(message),
                                      {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
                                      receive_initial(stream),
                                      receive_message(stream),
                                      receive_status(stream)};
        (void)run(stream, operations, sizeof operations / sizeof operations[0]);
        status = take_answer(stream, answer_type, answer);
    }
    pm_client_stream_free(stream);
    grpc_byte_buffer_destroy(message);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Streams
 * ------------------------------------------------------------------------------------------- */

pm_status pm_client_stream_begin(struct pm_client *client, const char *method, uint64_t timeout_ms,
                                 struct pm_client_stream **stream) {
    PM_TRY(begin(client, method, timeout_ms, stream));
    const grpc_op operation = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    (void)run(*stream, &operation, 1); /* what fails here fails the writes */
    return PM_OK;
}

pm_status pm_client_stream_write(struct pm_client_stream *stream, const ProtobufCMessage *request,
                                 bool *is_over) {
    grpc_byte_buffer *message = pack(request);
    if (message == NULL) {
        return pm_client_fail(stream->client, PM_NO_MEMORY, "out of memory");
    }
    const grpc_op operation = send_message(message);
    *is_over = !run(stream, &operation, 1) || stream->was_cancelled;
    grpc_byte_buffer_destroy(message);
    return PM_OK;
}

pm_status pm_client_stream_finish(struct pm_client_stream *stream,
                                  const ProtobufCMessageDescriptor *answer_type,
                                  ProtobufCMessage **answer) {
    const grpc_op operations[] = {{.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
                                  receive_initial(stream),
                                  receive_message(stream),
                                  receive_status(stream)};
    *answer = NULL;
    (void)run(stream, operations, sizeof operations / sizeof operations[0]);
    return take_answer(stream, answer_type, answer);
}

pm_status pm_client_stream_ask(struct pm_client *client, const char *method,
                               const ProtobufCMessage *request, uint64_t timeout_ms,
                               struct pm_client_stream **stream) {
    grpc_byte_buffer *message = pack(request);
    *stream = NULL;
    const pm_status status = message != NULL
                                 ? begin(client, method, timeout_ms, stream)
                                 : pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    if (status == PM_OK) {
        const grpc_op operations[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                                      send_message(message),
                                      {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
                                      receive_initial(*stream)};
        /* What fails here makes the first read come back empty. */
        (void)run(*stream, operations, sizeof operations / sizeof operations[0]);
    }
    grpc_byte_buffer_destroy(message);
    return status;
}

pm_status pm_client_stream_read(struct pm_client_stream *stream,
                                const ProtobufCMessageDescriptor *answer_type,
                                ProtobufCMessage **answer) {
    *answer = NULL;
    if (!stream->was_cancelled) {
        const grpc_op operation = receive_message(stream);
        (void)run(stream, &operation, 1);
    }
    if (stream->received != NULL && !stream->was_cancelled) {
        stream->client->channel->was_reached = true;
        return unpack(stream, answer_type, answer);
    }
    const grpc_op last = receive_status(stream);
    (void)run(stream, &last, 1);
    return judge(stream);
}
