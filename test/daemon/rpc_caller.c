/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_caller.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Tags: a batch each. */
static char tag_send, tag_receive, tag_status;

char *rpc_dial_file(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) > 0);
    (void)fclose(file);
    return text;
}

static grpc_channel_credentials *credentials_of(const struct rpc_trust *trust) {
    if (trust == NULL) {
        return grpc_insecure_credentials_create();
    }
    char *roots = rpc_dial_file(trust->roots);
    char *certificate = trust->certificate != NULL ? rpc_dial_file(trust->certificate) : NULL;
    char *key = trust->key != NULL ? rpc_dial_file(trust->key) : NULL;
    grpc_ssl_pem_key_cert_pair pair = {.private_key = key, .cert_chain = certificate};
    grpc_channel_credentials *credentials =
        grpc_ssl_credentials_create(roots, key != NULL ? &pair : NULL, NULL, NULL);
    free(roots);
    free(certificate);
    free(key);
    return credentials;
}

static grpc_arg integer(const char *key, int value) {
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value = {.integer = value}};
}

grpc_channel *rpc_dial(const char *address, const struct rpc_trust *trust) {
    grpc_arg arguments[] = {
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1),
        integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
        integer(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        integer(GRPC_ARG_ENABLE_RETRIES, 0),
        integer(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
    };
    const grpc_channel_args all = {.num_args = sizeof arguments / sizeof arguments[0],
                                   .args = arguments};
    grpc_channel_credentials *credentials = credentials_of(trust);
    grpc_channel *channel = grpc_channel_create(address, credentials, &all);
    grpc_channel_credentials_release(credentials);
    assert_non_null(channel);
    return channel;
}

/* Runs a batch and waits for it; false: it failed. */
static bool batch(struct rpc_outgoing *out, const grpc_op *ops, size_t n, void *tag) {
    assert_int_equal(grpc_call_start_batch(out->call, ops, n, tag, NULL), GRPC_CALL_OK);
    const grpc_event event =
        grpc_completion_queue_pluck(out->queue, tag, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    assert_int_equal(event.type, GRPC_OP_COMPLETE);
    return event.success != 0;
}

void rpc_dial_begin(grpc_channel *channel, const char *method, uint64_t timeout_ms,
                    struct rpc_outgoing *out) {
    *out = (struct rpc_outgoing){.queue = grpc_completion_queue_create_for_pluck(NULL)};
    const gpr_timespec deadline =
        timeout_ms == 0 ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
                        : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                       gpr_time_from_millis((int64_t)timeout_ms, GPR_TIMESPAN));
    grpc_slice path = grpc_slice_from_copied_string(method);
    out->call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, out->queue, path,
                                         NULL, deadline, NULL);
    grpc_slice_unref(path);
    assert_non_null(out->call);
    grpc_metadata_array_init(&out->initial);
    grpc_metadata_array_init(&out->trailing);
    grpc_op ops[2];
    memset(ops, 0, sizeof ops);
    ops[0].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[0].data.recv_initial_metadata.recv_initial_metadata = &out->initial;
    ops[1].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    ops[1].data.recv_status_on_client.trailing_metadata = &out->trailing;
    ops[1].data.recv_status_on_client.status = &out->code;
    ops[1].data.recv_status_on_client.status_details = &out->details;
    assert_int_equal(grpc_call_start_batch(out->call, ops, 2, &tag_status, NULL), GRPC_CALL_OK);
    memset(ops, 0, sizeof ops);
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    (void)batch(out, ops, 1, &tag_send);
}

bool rpc_dial_write(struct rpc_outgoing *out, const void *bytes, size_t n_bytes) {
    grpc_slice slice = n_bytes == 0 ? grpc_empty_slice()
                                    : grpc_slice_from_copied_buffer((const char *)bytes, n_bytes);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_SEND_MESSAGE;
    op.data.send_message.send_message = buffer;
    const bool is_sent = batch(out, &op, 1, &tag_send);
    grpc_byte_buffer_destroy(buffer);
    return is_sent;
}

void rpc_dial_writes_done(struct rpc_outgoing *out) {
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    (void)batch(out, &op, 1, &tag_send);
}

void rpc_dial_request(grpc_channel *channel, const char *method, uint64_t timeout_ms,
                      const void *bytes, size_t n_bytes, struct rpc_outgoing *out) {
    rpc_dial_begin(channel, method, timeout_ms, out);
    (void)rpc_dial_write(out, bytes, n_bytes); /* the status says what became of it */
    rpc_dial_writes_done(out);
}

bool rpc_dial_read(struct rpc_outgoing *out, uint8_t **bytes, size_t *n_bytes) {
    grpc_byte_buffer *buffer = NULL;
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_RECV_MESSAGE;
    op.data.recv_message.recv_message = &buffer;
    (void)batch(out, &op, 1, &tag_receive);
    if (buffer == NULL) {
        return false;
    }
    grpc_byte_buffer_reader reader;
    assert_int_equal(grpc_byte_buffer_reader_init(&reader, buffer), 1);
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    *n_bytes = GRPC_SLICE_LENGTH(all);
    *bytes = malloc(*n_bytes + 1);
    assert_non_null(*bytes);
    memcpy(*bytes, GRPC_SLICE_START_PTR(all), *n_bytes);
    grpc_slice_unref(all);
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(buffer);
    return true;
}

int rpc_dial_finish(struct rpc_outgoing *out, char *sentence) {
    uint8_t *unread = NULL;
    size_t n_unread = 0;
    while (rpc_dial_read(out, &unread, &n_unread)) { /* the status comes behind the messages */
        free(unread);
    }
    const grpc_event event = grpc_completion_queue_pluck(out->queue, &tag_status,
                                                         gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    assert_int_equal(event.type, GRPC_OP_COMPLETE);
    if (sentence != NULL) {
        (void)snprintf(sentence, 1024, "%.*s", (int)GRPC_SLICE_LENGTH(out->details),
                       (const char *)GRPC_SLICE_START_PTR(out->details));
    }
    const int code = (int)out->code;
    grpc_slice_unref(out->details);
    grpc_metadata_array_destroy(&out->initial);
    grpc_metadata_array_destroy(&out->trailing);
    grpc_call_unref(out->call);
    grpc_completion_queue_shutdown(out->queue);
    assert_int_equal(
        grpc_completion_queue_pluck(out->queue, NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
            .type,
        GRPC_QUEUE_SHUTDOWN);
    grpc_completion_queue_destroy(out->queue);
    return code;
}

int rpc_dial_unary(grpc_channel *channel, const char *method, uint64_t timeout_ms,
                   const void *bytes, size_t n_bytes, uint8_t **reply, size_t *n_reply,
                   char *sentence) {
    struct rpc_outgoing out;
    uint8_t *answer = NULL;
    size_t n_answer = 0;
    rpc_dial_request(channel, method, timeout_ms, bytes, n_bytes, &out);
    (void)rpc_dial_read(&out, &answer, &n_answer);
    const int code = rpc_dial_finish(&out, sentence);
    if (reply != NULL) {
        *reply = answer;
        *n_reply = n_answer;
    } else {
        free(answer);
    }
    return code;
}
