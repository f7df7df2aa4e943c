/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/rpc_case.h - what tests of the transport share: a server with methods that do one thing
 * each, over a unix socket in a folder of the test's own.
 *
 *     /test/Echo    the request
 *     /test/Fail    fails with the code that the request's first byte names
 *     /test/Silent  returns without an answer
 *     /test/Local   one byte: whether the caller is local
 *     /test/Left    a u64: milliseconds that are left of the deadline
 *     /test/Slow    a u64: works for so many milliseconds, or until it is cancelled
 *     /test/Files   the same, among the methods that have threads of their own
 *     /test/Keys    the same, among those that wait for keys
 *     /test/Sum     a stream of messages: a u64 of how many and a u64 of their bytes' sum
 *     /test/Keep    a stream whose bytes are held until it ends, or refused
 *     /test/Count   u64 n, u64 bytes: streams n messages of so many bytes
 *     /test/Wait    a struct wait_request: parks, and answers with a byte: the pm_rpc_wake
 *     /test/Watch   a u64 job: streams a byte for each change, its state, until it has ended
 *     /test/Chaos   a u64: any of the above, with an attached state each
 */
#ifndef PM_TEST_RPC_CASE_H
#define PM_TEST_RPC_CASE_H

#include "daemon/rpc.h"
#include "daemon/rpc_caller.h"

#include <proofmill/engine.h>

struct wait_request {
    uint64_t job, timeout_ms;
    uint8_t every_change, n_times; /* parks anew so often */
    uint8_t padding[6];
};

/* What handlers have seen, of all servers of the process; atomic. */
struct rpc_seen {
    uint64_t n_attached, n_gone, n_cut;
    uint64_t n_gone_twice; /* must stay 0 */
    uint64_t n_slow_begun, n_slow_cancelled;
    uint64_t n_overlaps;     /* handlers of one call at the same time; must stay 0 */
    uint64_t slow_cancel_ns; /* when a slow one saw that it was cancelled last */
    uint64_t gone_ns;
};
extern struct rpc_seen rpc_seen;

struct rpc_case {
    char *tree; /* a folder of the test's own */
    char socket[100], address[120];
    struct pm_rpc_server *server;
    pm_engine *engine;
};

/* Options of a server for tests; listens on the case's socket. */
struct pm_rpc_options rpc_case_options(struct rpc_case *it);
void rpc_case_open(struct rpc_case *it, pm_engine *engine);
void rpc_case_open_with(struct rpc_case *it, const struct pm_rpc_options *options);
/* Stops and destroys the server, if it is there still, and removes the folder. */
void rpc_case_close(struct rpc_case *it);
/* Waits until the server has no call, at most some seconds; fails the test then. */
void rpc_case_quiet(struct rpc_case *it);
/* Reads an atomic counter. */
uint64_t rpc_case_read(const uint64_t *counter);

/* Calls with one u64 for a request. */
int rpc_case_call(grpc_channel *channel, const char *method, uint64_t timeout_ms, uint64_t value,
                  char *sentence);
/* Fails the test unless Echo answers: the server serves. */
void rpc_case_expect_serving(grpc_channel *channel);

#endif
