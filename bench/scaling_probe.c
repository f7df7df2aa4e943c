/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "scaling_probe.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"

#include <sched.h>
#include <stdbool.h>

extern scaling_probe_function scaling_probe_bn254_portable, scaling_probe_bls12_381_portable;
#if defined(__x86_64__)
extern scaling_probe_function scaling_probe_bn254_adx, scaling_probe_bls12_381_adx;
extern scaling_probe_function scaling_probe_bn254_ifma, scaling_probe_bls12_381_ifma;
#endif

scaling_probe_function *scaling_probe_get(pm_curve_id curve, enum pm_body body) {
    const bool is_bn254 = curve == PM_CURVE_BN254;
    if ((!is_bn254 && curve != PM_CURVE_BLS12_381) || !pm_cpu_has_body(body)) {
        return NULL;
    }
    switch (body) {
    case PM_BODY_PORTABLE:
        return is_bn254 ? scaling_probe_bn254_portable : scaling_probe_bls12_381_portable;
#if defined(__x86_64__)
    case PM_BODY_ADX:
        return is_bn254 ? scaling_probe_bn254_adx : scaling_probe_bls12_381_adx;
    case PM_BODY_IFMA:
        return is_bn254 ? scaling_probe_bn254_ifma : scaling_probe_bls12_381_ifma;
#endif
    default:
        return NULL;
    }
}

/* Some 50 ms of work for one thread. */
#define N_PRODUCTS (UINT64_C(1) << 22)
#define STREAM_BYTES (UINT64_C(64) << 20)
#define N_WORDS (STREAM_BYTES / sizeof(uint64_t))

/* One task for each thread; a thread that has one waits for all others to have theirs. */
struct probe {
    uint32_t n_threads;
    uint32_t n_ready; /* atomic */
    scaling_probe_function *products;
    uint64_t *streams;
    uint64_t begin_ns[PM_THREADS_MAX], end_ns[PM_THREADS_MAX];
};

static void wait_for_all(struct probe *probe) {
    (void)__atomic_add_fetch(&probe->n_ready, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&probe->n_ready, __ATOMIC_ACQUIRE) < probe->n_threads) {
        (void)sched_yield();
    }
}

static void multiply(void *argument, size_t index) {
    struct probe *probe = argument;
    wait_for_all(probe);
    probe->begin_ns[index] = pm_clock_now_ns();
    probe->products(N_PRODUCTS);
    probe->end_ns[index] = pm_clock_now_ns();
}

static void update(uint64_t *words) {
    for (uint64_t i = 0; i < N_WORDS; i++) {
        words[i] += i;
    }
}

/* The first touch, by the thread that the words are for. */
static void touch(void *argument, size_t index) {
    struct probe *probe = argument;
    wait_for_all(probe);
    probe->begin_ns[index] = pm_clock_now_ns();
    update(probe->streams + index * N_WORDS);
    probe->end_ns[index] = pm_clock_now_ns();
}

/* Twice, since a thread may find another's words: the first time brings them to its processor. */
static void stream(void *argument, size_t index) {
    struct probe *probe = argument;
    uint64_t *words = probe->streams + index * N_WORDS;
    update(words);
    wait_for_all(probe);
    probe->begin_ns[index] = pm_clock_now_ns();
    update(words);
    probe->end_ns[index] = pm_clock_now_ns();
}

/* From the first to begin to the last to end. */
static double run(struct pm_team *team, struct probe *probe, pm_task *task) {
    probe->n_ready = 0;
    pm_team_run(team, probe->n_threads, task, probe);
    uint64_t begin_ns = probe->begin_ns[0], end_ns = probe->end_ns[0];
    for (uint32_t i = 1; i < probe->n_threads; i++) {
        begin_ns = probe->begin_ns[i] < begin_ns ? probe->begin_ns[i] : begin_ns;
        end_ns = probe->end_ns[i] > end_ns ? probe->end_ns[i] : end_ns;
    }
    return (double)(end_ns - begin_ns);
}

static void keep_better(double *best, double rate) {
    *best = rate > *best ? rate : *best;
}

pm_status scaling_probe_run(struct pm_team *team, scaling_probe_function *products,
                            struct scaling_rates *best, pm_error *error) {
    static struct probe probe;
    void *streams = NULL;
    probe.n_threads = pm_team_threads(team);
    PM_TRY(pm_memory_alloc_array(NULL, "streams", probe.n_threads, STREAM_BYTES, PM_MEMORY_PLAIN,
                                 &streams, error));
    probe.products = products;
    probe.streams = streams;
    const double n = probe.n_threads;
    keep_better(&best->products_per_ns, n * (double)N_PRODUCTS / run(team, &probe, multiply));
    keep_better(&best->fresh_bytes_per_ns, n * (double)STREAM_BYTES / run(team, &probe, touch));
    keep_better(&best->bytes_per_ns, n * 2 * (double)STREAM_BYTES / run(team, &probe, stream));
    pm_memory_free(streams);
    return PM_OK;
}
