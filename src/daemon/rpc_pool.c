/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_internal.h"

#include "base/status.h"

#include <stdlib.h>

static struct pm_rpc_call *take(struct rpc_pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->first == NULL && !pool->is_closing) {
        (void)pthread_cond_wait(&pool->filled, &pool->lock);
    }
    struct pm_rpc_call *call = pool->first;
    if (call != NULL) {
        pool->first = call->queued_next;
        if (pool->first == NULL) {
            pool->last = &pool->first;
        }
        call->queued_next = NULL;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return call;
}

static void *work(void *argument) {
    struct rpc_pool *pool = argument;
    for (struct pm_rpc_call *call = take(pool); call != NULL; call = take(pool)) {
        rpc_call_run(call);
    }
    return NULL;
}

pm_status rpc_pool_start(struct rpc_pool *pool, uint32_t n_threads, pm_error *error) {
    pool->last = &pool->first;
    PM_TRY(rpc_lock_init(&pool->lock, &pool->filled, error));
    pool->threads = calloc(n_threads, sizeof *pool->threads);
    PM_FAIL_IF(pool->threads == NULL, error, PM_NO_MEMORY, "no memory for %u threads", n_threads);
    while (pool->n_threads < n_threads) {
        const int failed = pthread_create(&pool->threads[pool->n_threads], NULL, work, pool);
        PM_FAIL_IF(failed != 0, error, PM_NO_MEMORY,
                   "only %u of the %u threads that run calls could be started: lower rpc.threads",
                   pool->n_threads, n_threads);
        ++pool->n_threads;
    }
    return PM_OK;
}

void rpc_pool_put(struct rpc_pool *pool, struct pm_rpc_call *call) {
    (void)pthread_mutex_lock(&pool->lock);
    *pool->last = call;
    pool->last = &call->queued_next;
    (void)pthread_cond_signal(&pool->filled);
    (void)pthread_mutex_unlock(&pool->lock);
}

void rpc_pool_stop(struct rpc_pool *pool) {
    if (pool->last == NULL) {
        return; /* it was never started */
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    (void)pthread_cond_broadcast(&pool->filled);
    (void)pthread_mutex_unlock(&pool->lock);
    for (uint32_t t = 0; t < pool->n_threads; ++t) {
        (void)pthread_join(pool->threads[t], NULL);
    }
    free(pool->threads);
    (void)pthread_cond_destroy(&pool->filled);
    (void)pthread_mutex_destroy(&pool->lock);
    *pool = (struct rpc_pool){0};
}
