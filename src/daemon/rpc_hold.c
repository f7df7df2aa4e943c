/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What callers may take of the daemon. Bytes: those that handlers hold come off gRPC's quota, so
 * that both together are one bound; a little is left to gRPC always, or whoever fills the rest
 * would keep others from asking anything. Calls: a connection that has many gets no more while few
 * are left, so that somebody else always gets in.
 */
#include "daemon/rpc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bytes ---------------------------------------------------------------------------------- */

void rpc_hold_start(struct rpc_hold *hold, uint64_t all_bytes_max) {
    uint64_t grpc_bytes = all_bytes_max / RPC_GRPC_SHARE;
    grpc_bytes = grpc_bytes < RPC_GRPC_BYTES_MAX ? grpc_bytes : RPC_GRPC_BYTES_MAX;
    const bool is_bounded = all_bytes_max != 0 && all_bytes_max < SIZE_MAX;
    hold->quota = grpc_resource_quota_create("proofmilld");
    hold->all_bytes_max = is_bounded ? all_bytes_max : UINT64_MAX;
    hold->n_bytes_max = is_bounded ? all_bytes_max - grpc_bytes : UINT64_MAX;
    if (is_bounded) {
        grpc_resource_quota_resize(hold->quota, (size_t)all_bytes_max);
    }
}

void rpc_hold_stop(struct rpc_hold *hold) {
    if (hold->quota != NULL) {
        grpc_resource_quota_unref(hold->quota);
        hold->quota = NULL;
    }
}

/* Under the lock. */
static void resize_quota(struct rpc_hold *hold) {
    if (hold->all_bytes_max != UINT64_MAX && hold->quota != NULL) {
        grpc_resource_quota_resize(hold->quota, (size_t)(hold->all_bytes_max - hold->n_bytes));
    }
}

bool rpc_hold_take(struct rpc_hold *hold, uint64_t n_bytes) {
    (void)pthread_mutex_lock(&hold->lock);
    const bool fits = n_bytes <= hold->n_bytes_max - hold->n_bytes;
    if (fits && n_bytes != 0) {
        hold->n_bytes += n_bytes;
        resize_quota(hold);
    }
    (void)pthread_mutex_unlock(&hold->lock);
    return fits;
}

void rpc_hold_give_back(struct rpc_hold *hold, uint64_t n_bytes) {
    if (n_bytes != 0) {
        (void)pthread_mutex_lock(&hold->lock);
        hold->n_bytes -= n_bytes;
        resize_quota(hold);
        (void)pthread_mutex_unlock(&hold->lock);
    }
}

bool pm_rpc_hold(struct pm_rpc_call *call, uint64_t n_bytes) {
    return rpc_hold_take(&call->server->hold, n_bytes);
}

void pm_rpc_let_go(struct pm_rpc_call *call, uint64_t n_bytes) {
    rpc_hold_give_back(&call->server->hold, n_bytes);
}

uint64_t pm_rpc_hold_bytes_max(struct pm_rpc_call *call) {
    return call->server->hold.n_bytes_max;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static struct rpc_peer **find_peer(struct pm_rpc_server *server, const char *name) {
    uint32_t hash = 0;
    for (const char *c = name; *c != 0; ++c) {
        hash = hash * 31 + (uint8_t)*c;
    }
    struct rpc_peer **link = &server->peers[hash % RPC_BUCKETS];
    while (*link != NULL && strcmp((*link)->name, name) != 0) {
        link = &(*link)->next;
    }
    return link;
}

bool rpc_peer_enter(struct pm_rpc_server *server, struct pm_rpc_call *call, const char *name,
                    uint32_t *n_of_peer) {
    struct rpc_peer **link = find_peer(server, name);
    struct rpc_peer *peer = *link;
    *n_of_peer = peer != NULL ? peer->n_calls : 0;
    const uint64_t n_free = server->n_calls_max - server->n_under_way;
    /* The last one is for somebody who has none. */
    if (n_free == 0 || (*n_of_peer != 0 && *n_of_peer >= RPC_CALLS_A_FREE_ONE * (n_free - 1))) {
        return false;
    }
    if (peer == NULL) {
        peer = calloc(1, sizeof *peer);
        if (peer == NULL) {
            return false;
        }
        (void)snprintf(peer->name, sizeof peer->name, "%s", name);
        *link = peer;
    }
    ++peer->n_calls;
    ++server->n_under_way;
    call->peer = peer;
    return true;
}

void rpc_peer_leave(struct pm_rpc_server *server, struct pm_rpc_call *call) {
    struct rpc_peer *peer = call->peer;
    if (peer == NULL) {
        return;
    }
    --server->n_under_way;
    call->peer = NULL;
    if (--peer->n_calls == 0) {
        struct rpc_peer **link = find_peer(server, peer->name);
        *link = peer->next;
        free(peer);
    }
}
