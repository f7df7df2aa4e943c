/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/rpc_caller.h - a small client over gRPC's C core, for tests: one call at a time on a
 * thread, each with a completion queue of its own. Whatever gRPC refuses fails the test.
 */
#ifndef PM_TEST_RPC_CALLER_H
#define PM_TEST_RPC_CALLER_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files of PEM for a client over TLS; certificate and key NULL: it shows none. */
struct rpc_trust {
    const char *roots, *certificate, *key;
};

/* address: "unix:/path" or "127.0.0.1:port". trust NULL: no TLS. Destroy with
 * grpc_channel_destroy(). Each channel has a connection of its own. */
grpc_channel *rpc_dial(const char *address, const struct rpc_trust *trust);

struct rpc_outgoing {
    grpc_call *call;
    grpc_completion_queue *queue;
    grpc_metadata_array initial, trailing;
    grpc_status_code code;
    grpc_slice details;
};

/* timeout_ms 0: none. */
void rpc_dial_begin(grpc_channel *channel, const char *method, uint64_t timeout_ms,
                    struct rpc_outgoing *out);
/* The same with its one request. */
void rpc_dial_request(grpc_channel *channel, const char *method, uint64_t timeout_ms,
                      const void *bytes, size_t n_bytes, struct rpc_outgoing *out);
/* False: the stream is over. */
bool rpc_dial_write(struct rpc_outgoing *out, const void *bytes, size_t n_bytes);
void rpc_dial_writes_done(struct rpc_outgoing *out);
/* The next message, to be freed with free(); false: there is none any more. */
bool rpc_dial_read(struct rpc_outgoing *out, uint8_t **bytes, size_t *n_bytes);
/* Reads what is left, waits for the status, frees everything, and returns the code. sentence (may
 * be NULL) has room for 1024 bytes. */
int rpc_dial_finish(struct rpc_outgoing *out, char *sentence);

/* A call with one request and one reply. reply NULL: it is thrown away. Returns the code. */
int rpc_dial_unary(grpc_channel *channel, const char *method, uint64_t timeout_ms,
                   const void *bytes, size_t n_bytes, uint8_t **reply, size_t *n_reply,
                   char *sentence);

/* A file's text with a NUL, to be freed with free(). */
char *rpc_dial_file(const char *path);

#endif
