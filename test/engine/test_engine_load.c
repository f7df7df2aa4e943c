/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Many mixed proofs under a budget of 1.2 times the largest job: eight clients with six circuits on
 * two curves and four priorities, some of whom cancel, repeat a request or never come back. At
 * every sample what is reserved, and what the process holds beside the outcomes that are kept, is
 * within the budget; afterwards nothing is left. Reports A6, C2, C3, C6, D10, F2, F12, RC5; to be
 * run under the thread sanitizer as well.
 *
 *   test_engine_load [JOBS]      60 unless given
 */
#include "engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_CLIENTS = 8, QUICK_JOBS = 60, N_BATCHES = 3 };

/* Of the process, not of proofs: what the allocator keeps in between, the log of the journal. */
#define SLACK_BYTES (UINT64_C(512) << 10)

static uint32_t n_jobs_wanted = QUICK_JOBS;
static struct circuits circuits;
static uint64_t budget_bytes;

/* ---- Sampling ------------------------------------------------------------------------------- */

struct sampler {
    pm_engine *engine;
    int is_over; /* atomic */
    uint64_t base_bytes, most_resident_bytes, most_reserved_bytes, most_over_bytes;
    uint32_t n_samples, n_over_reserved;
};

static void *sample(void *argument) {
    struct sampler *sampler = argument;
    pm_engine_metrics *metrics = malloc(sizeof *metrics);
    while (__atomic_load_n(&sampler->is_over, __ATOMIC_RELAXED) == 0) {
        if (pm_engine_metrics_now(sampler->engine, metrics) != PM_OK) {
            break;
        }
        const pm_engine_pool *host = &metrics->pools[0];
        const uint64_t resident = holdings_now().resident_bytes;
        const uint64_t held = resident > sampler->base_bytes ? resident - sampler->base_bytes : 0;
        ++sampler->n_samples;
        sampler->n_over_reserved += host->reserved_bytes > host->total_bytes;
        const uint64_t allowed = budget_bytes + metrics->kept_bytes;
        if (held > allowed && held - allowed > sampler->most_over_bytes) {
            sampler->most_over_bytes = held - allowed;
        }
        if (held > sampler->most_resident_bytes) {
            sampler->most_resident_bytes = held;
        }
        if (host->reserved_bytes > sampler->most_reserved_bytes) {
            sampler->most_reserved_bytes = host->reserved_bytes;
        }
        test_sleep_ms(3);
    }
    free(metrics);
    return NULL;
}

/* ---- Clients -------------------------------------------------------------------------------- */

struct client {
    pm_engine *engine;
    uint32_t number, n_jobs;
    struct seeded_random random;
    uint32_t n_cancelled, n_repeated, n_vanished;
    const char *failure;
};

static void note(struct client *client, bool is_good, const char *failure) {
    if (!is_good && client->failure == NULL) {
        client->failure = failure;
    }
}

static void be_a_client(struct client *client, uint32_t i) {
    const enum circuit circuit = (enum circuit)seeded_random_below(&client->random, N_CIRCUITS);
    const pm_engine_priority priority =
        (pm_engine_priority)(1 + seeded_random_below(&client->random, 4));
    char request_id[64];
    uint64_t job, again;
    int known;
    (void)snprintf(request_id, sizeof request_id, "%s-%u-%u", circuits.name[circuit],
                   client->number, i);
    pm_status status =
        try_submit(client->engine, &circuits, circuit, priority, request_id, &job, NULL, NULL);
    note(client, status == PM_OK, "a job was refused");
    if (status != PM_OK) {
        return;
    }
    switch (seeded_random_below(&client->random, 8)) {
    case 0:
        test_sleep_ms(seeded_random_below(&client->random, 30));
        note(client, pm_engine_cancel(client->engine, job, NULL, NULL) == PM_OK,
             "a cancel was refused");
        ++client->n_cancelled;
        break;
    case 1:
        status = try_submit(client->engine, &circuits, circuit, priority, request_id, &again,
                            &known, NULL);
        note(client, status == PM_OK && known == 1 && again == job, "a repeat is another job");
        ++client->n_repeated;
        break;
    case 2:
    case 3:
        (void)pm_engine_await(client->engine, job, 1 + seeded_random_below(&client->random, 20),
                              NULL, NULL, NULL);
        ++client->n_vanished; /* and does not come back */
        break;
    default:
        note(client, pm_engine_await(client->engine, job, 0, NULL, NULL, NULL) == PM_OK,
             "a wait ended early");
    }
}

static void *run_client(void *argument) {
    struct client *client = argument;
    for (uint32_t i = 0; i < client->n_jobs; ++i) {
        be_a_client(client, i);
    }
    return NULL;
}

/* ---- A batch -------------------------------------------------------------------------------- */

static pm_engine *open_engine(const char *journal, uint64_t host_bytes) {
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = host_bytes,
                                       .journal_path = journal,
                                       .age_ms = 500};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    return engine;
}

static uint64_t largest_job_bytes(void) {
    pm_engine *engine = open_engine(NULL, UINT64_C(1) << 32);
    pm_engine_key_info keys[8];
    uint32_t n = 8;
    uint64_t most = 0;
    assert_int_equal(pm_engine_keys(engine, keys, &n), PM_OK);
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t bytes = keys[i].bytes + keys[i].proof_bytes;
        most = bytes > most ? bytes : most;
    }
    pm_engine_destroy(engine);
    return most;
}

struct latency {
    uint32_t n;
    uint64_t sum_ns, worst_ns;
};

/* Every job has ended, and every proof holds. */
static void check_jobs(pm_engine *engine, struct latency latencies[5], uint32_t counts[8]) {
    uint64_t after = 0;
    pm_engine_job info;
    for (uint32_t n = 1; pm_engine_jobs(engine, after, &info, &n) == PM_OK && n == 1;) {
        after = info.job;
        ++counts[info.state];
        struct latency *latency = &latencies[info.priority];
        if (info.state != PM_ENGINE_DONE) {
            assert_int_equal(info.state, PM_ENGINE_CANCELLED);
            continue;
        }
        ++latency->n;
        latency->sum_ns += info.queue_ns;
        latency->worst_ns = info.queue_ns > latency->worst_ns ? info.queue_ns : latency->worst_ns;
        for (uint32_t c = 0; c < N_CIRCUITS; ++c) {
            if (strcmp(circuits.name[c], info.key) == 0) {
                expect_valid(engine, &circuits, (enum circuit)c, info.job);
            }
        }
    }
}

static void print_latencies(const struct latency latencies[5]) {
    for (uint32_t p = PM_ENGINE_LOW; p <= PM_ENGINE_CRITICAL; ++p) {
        const struct latency *latency = &latencies[p];
        print_message("  %-8s %3u jobs, waited %llu ms on average, %llu ms at most\n",
                      pm_engine_priority_name((pm_engine_priority)p), latency->n,
                      (unsigned long long)(latency->sum_ns / 1000000 / (latency->n | 1)),
                      (unsigned long long)(latency->worst_ns / 1000000));
    }
}

static void evict_all(pm_engine *engine) {
    for (uint32_t c = 0; c < N_CIRCUITS; ++c) {
        assert_int_equal(pm_engine_key_evict(engine, circuits.name[c], 0, NULL, NULL), PM_OK);
    }
}

/* Stacks, the journal's cache, the code itself: what the process holds without a key or a proof. */
static void warm_up(pm_engine *engine) {
    uint64_t jobs[4];
    for (uint32_t i = 0; i < 4; ++i) {
        jobs[i] = submit_one(engine, &circuits, LONG, PM_ENGINE_HIGH, NULL);
    }
    for (uint32_t i = 0; i < 4; ++i) {
        expect_valid(engine, &circuits, LONG, jobs[i]);
    }
    evict_all(engine);
}

static void run_clients(pm_engine *engine, struct seeded_random *random, struct client *clients) {
    pthread_t threads[N_CLIENTS];
    for (uint32_t i = 0; i < N_CLIENTS; ++i) {
        clients[i] = (struct client){.engine = engine,
                                     .number = i,
                                     .n_jobs = (n_jobs_wanted + i) / N_CLIENTS,
                                     .random = {.state = seeded_random_u64(random)}};
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (uint32_t i = 0; i < N_CLIENTS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (clients[i].failure != NULL) {
            fail_msg("client %u: %s", i, clients[i].failure);
        }
    }
}

static void run_batch(struct seeded_random *random) {
    char *tree = file_make_tree();
    struct client clients[N_CLIENTS];
    struct latency latencies[5] = {0};
    uint32_t counts[8] = {0};
    pm_error error = PM_ERROR_INIT;
    pthread_t thread;
    struct sampler sampler = {.engine = open_engine(file_in_tree(tree, "journal"), budget_bytes)};
    warm_up(sampler.engine);
    sampler.base_bytes = holdings_now().resident_bytes;
    assert_int_equal(pthread_create(&thread, NULL, sample, &sampler), 0);
    run_clients(sampler.engine, random, clients);
    toy_expect(pm_engine_drain(sampler.engine, 0, &error), PM_OK, &error);
    __atomic_store_n(&sampler.is_over, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_jobs(sampler.engine, latencies, counts);
    print_message("  %u done, %u cancelled, %u samples: reserved at most %llu, resident %llu of "
                  "%llu KiB\n",
                  counts[PM_ENGINE_DONE], counts[PM_ENGINE_CANCELLED], sampler.n_samples,
                  (unsigned long long)(sampler.most_reserved_bytes >> 10),
                  (unsigned long long)(sampler.most_resident_bytes >> 10),
                  (unsigned long long)(budget_bytes >> 10));
    print_latencies(latencies);
    assert_int_equal(sampler.n_over_reserved, 0);
    if (!PM_TEST_IS_SANITIZED) {
        assert_in_range(sampler.most_over_bytes, 0, SLACK_BYTES);
    }
    assert_true(latencies[PM_ENGINE_CRITICAL].sum_ns * latencies[PM_ENGINE_LOW].n <=
                latencies[PM_ENGINE_LOW].sum_ns * latencies[PM_ENGINE_CRITICAL].n);
    evict_all(sampler.engine);
    pm_engine_metrics metrics;
    assert_int_equal(pm_engine_metrics_now(sampler.engine, &metrics), PM_OK);
    assert_int_equal(metrics.pools[0].reserved_bytes, 0);
    assert_int_equal(metrics.n_failed, 0);
    /* No proof ever wanted more than was reserved for it: pm_budget would have refused it. */
    assert_int_equal(metrics.n_retries, 0);
    expect_books(sampler.engine);
    pm_engine_destroy(sampler.engine);
    file_remove_tree(tree);
}

static void many_mixed_proofs(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    struct holdings after[N_BATCHES];
    circuits_open(PM_TEST_IS_SANITIZED ? 8 : 15, &circuits);
    budget_bytes = largest_job_bytes() * 6 / 5;
    for (uint32_t batch = 0; batch < N_BATCHES; ++batch) {
        run_batch(&random);
        after[batch] = holdings_now();
        print_message("  afterwards %llu KiB, %u threads, %u descriptors\n",
                      (unsigned long long)(after[batch].resident_bytes >> 10),
                      after[batch].n_threads, after[batch].n_fds);
    }
    assert_int_equal(after[2].n_threads, after[0].n_threads);
    assert_int_equal(after[2].n_fds, after[0].n_fds);
    if (!PM_TEST_IS_SANITIZED) {
        assert_true(after[2].resident_bytes <=
                    after[1].resident_bytes + after[1].resident_bytes / 20 + (1 << 20));
    }
    circuits_close(&circuits);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        n_jobs_wanted = (uint32_t)strtoul(argv[1], NULL, 0);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_mixed_proofs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
