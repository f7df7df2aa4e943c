/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Partitions on a card, one after another and two at a time: card_partition.h has what they are. */
#include "card_partition.h"
#include "card_prove.h"

#include "groth16/backend_cuda.h"
#include "groth16/execute.h"

#include <pthread.h>
#include <string.h>

#define ROUNDS 4
#define LEDGER_ENTRIES_MAX (2u * PM_PLAN_BUFFERS_MAX)

static struct pm_groth16_proof expected; /* of every proof here */
static const struct pm_blinding blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

/* A proof as pm_prove() makes one, but for self-verification, which such a key cannot pass. */
#define PAIR_ROUNDS 5

struct run {
    struct card_partition *p;
    struct pm_backend *backend;
    void *resident;
    struct pm_plan plan;
    struct pm_step_record records[PM_PLAN_STEPS_MAX];
    uint32_t n_rounds;
    double ends_ms[PAIR_ROUNDS];
};

static pm_status assemble(void *argument, struct pm_execution *execution, pm_error *error) {
    struct card_partition *p = argument;
    struct pm_groth16_proof proof;
    pm_groth16_assemble(p->kernels.curve, &p->key.header, &execution->sums, &blinding,
                        p->kernels.team, &proof);
    PM_FAIL_IF(memcmp(&proof, &expected, sizeof proof) != 0, error, PM_SELF_VERIFY,
               "A, B, C are not those of the logarithms");
    return PM_OK;
}

static void prove_once(struct run *run) {
    struct pm_execution *execution = calloc(1, sizeof *execution);
    struct pm_ledger_entry *entries = calloc(LEDGER_ENTRIES_MAX, sizeof *entries);
    CARD_PROVE_CHECK(execution != NULL && entries != NULL, "no memory");
    execution->ledger.log =
        (struct pm_ledger_log){.entries = entries, .n_entries_max = LEDGER_ENTRIES_MAX};
    execution->plan = run->plan;
    execution->backend = run->backend;
    execution->strict = true;
    execution->data = (struct pm_step_data){.proving_key = &run->p->key,
                                            .resident = run->resident,
                                            .n_vector_rows = run->p->sizes.n_rows,
                                            .team = run->p->kernels.team,
                                            .body = pm_cpu_best_body()};
    const bool is_lent = run->plan.choices.scalars_are_lent;
    uint8_t *w = is_lent ? run->p->lent_w : run->p->w;
    execution->data.buffer[PM_BUFFER_CALLER_INPUTS] = w;
    execution->data.buffer[PM_BUFFER_CALLER_AUX] = w + run->p->sizes.n_inputs * PM_FR_BYTES;
    for (int i = 0; i < 3 && is_lent; ++i) {
        execution->data.buffer[PM_BUFFER_CALLER_A + i] = run->p->lent[i];
    }
    CARD_PROVE_OK(pm_execution_run(execution, run->plan.n_steps - 1, &error));
    CARD_PROVE_OK(pm_execution_run_step(execution, assemble, run->p, &error));
    pm_execution_end(execution);
    card_prove_dump_ledger(&run->plan, entries, execution->ledger.log.n_entries);
    memcpy(run->records, execution->records, sizeof run->records);
    free(entries);
    free(execution);
}

static void *work(void *argument) {
    struct run *run = argument;
    for (uint32_t i = 0; i < run->n_rounds; ++i) {
        prove_once(run);
        run->ends_ms[i] = card_prove_now_ms();
    }
    return NULL;
}

static void print_plan(const struct pm_plan *plan) {
    (void)printf("  %s\n", plan->why);
    for (uint32_t i = 0; i < plan->n_buffers; ++i) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        if (buffer->pool >= PM_POOL_VRAM_0 || buffer->pool == PM_POOL_PINNED) {
            (void)printf("  %-18s %7.2f GiB %s, steps %u to %u\n", pm_buffer_name(buffer->id),
                         (double)buffer->bytes / (1 << 30), pm_pool_name(buffer->pool),
                         buffer->first_step + 1, buffer->last_step + 1);
        }
    }
    (void)printf("  peak of the card %.2f GiB\n",
                 (double)plan->peak_bytes[PM_POOL_VRAM_0] / (1 << 30));
}

static void print_records(const struct run *run) {
    for (uint32_t i = 0; i < run->plan.n_steps; ++i) {
        const struct pm_step_record *record = &run->records[i];
        (void)printf("    %-20s %9.3f ms, %9.3f ms since the last step\n",
                     pm_step_name(run->plan.steps[i].id),
                     1e-6 * (double)(record->end_ns - record->begin_ns),
                     i == 0 ? 0.0 : 1e-6 * (double)(record->begin_ns - run->records[i - 1].end_ns));
    }
}

/* Two proofs at a time, one on the card while the other is at its beginning or end: all of them,
 * and without the first two and the last, beside which the card had another or none. */
static void time_pair(struct run *run) {
    struct run runs[2] = {*run, *run};
    pthread_t threads[2];
    double ends_ms[2 * PAIR_ROUNDS];
    const double begin_ms = card_prove_now_ms();
    for (int i = 0; i < 2; ++i) {
        runs[i].n_rounds = PAIR_ROUNDS;
        CARD_PROVE_CHECK(pthread_create(&threads[i], NULL, work, &runs[i]) == 0, "no thread");
    }
    for (int i = 0; i < 2; ++i) {
        (void)pthread_join(threads[i], NULL);
        memcpy(ends_ms + i * PAIR_ROUNDS, runs[i].ends_ms, sizeof runs[i].ends_ms);
    }
    const double all_ms = card_prove_now_ms() - begin_ms;
    const int n = 2 * PAIR_ROUNDS;
    qsort(ends_ms, (size_t)n, sizeof ends_ms[0], card_prove_by_value);
    (void)printf("  two workers: %.1f ms a partition, %.1f ms in steady state\n", all_ms / n,
                 (ends_ms[n - 2] - ends_ms[1]) / (n - 3));
}

static void pin(const struct pm_gpu_api *api, const struct card_partition *p) {
    const struct pm_proving_key *key = &p->key;
    const uint64_t g1_bytes = 2 * (uint64_t)pm_curve_fp_bytes(key->header.curve);
    const uint64_t row_bytes = p->sizes.n_rows * PM_FR_BYTES;
    const struct {
        const void *at;
        uint64_t bytes;
    } arrays[] = {{key->a.points, key->a.n * g1_bytes},
                  {key->b1.points, key->b1.n * g1_bytes},
                  {key->l.points, key->l.n * g1_bytes},
                  {key->h.points, key->h.n * g1_bytes},
                  {key->b2.points, 2 * key->b2.n * g1_bytes},
                  {key->sparse[0].terms, key->sparse[0].n_terms * 8},
                  {key->sparse[1].terms, key->sparse[1].n_terms * 8},
                  {key->sparse[2].terms, key->sparse[2].n_terms * 8},
                  {key->sparse[0].row_starts, (key->sparse[0].n_rows + 1) * 4},
                  {key->sparse[1].row_starts, (key->sparse[1].n_rows + 1) * 4},
                  {key->sparse[2].row_starts, (key->sparse[2].n_rows + 1) * 4},
                  {p->lent[0], row_bytes},
                  {p->lent[1], row_bytes},
                  {p->lent[2], row_bytes}};
    struct pm_gpu_device *device = NULL;
    const double begin_ms = card_prove_now_ms();
    CARD_PROVE_OK(api->device_open(0, NULL, &device, &error)); /* which stays to the end */
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
        struct pm_gpu_buffer pinned = {0};
        CARD_PROVE_OK(api->memory_get(device, NULL, PM_GPU_REGISTERED, "array", arrays[i].bytes,
                                      (void *)(uintptr_t)arrays[i].at, __FILE__, __LINE__, &pinned,
                                      &error));
    }
    (void)printf("page-locked in %.0f ms\n", card_prove_now_ms() - begin_ms);
}

static void prove_on(const struct pm_gpu_api *api, struct card_partition *p,
                     const struct pm_cuda_options *options, bool is_lent) {
    struct pm_plan_choices choices = {.no_self_verify = true};
    struct run run = {.p = p};
    struct pm_plan_device device;
    struct pm_ledger ledger = {.n_allocations = 0};
    double least = 1e30;
    if (is_lent) {
        choices.vectors = PM_VECTORS_FROM_CALLER;
        choices.caller_brings_c = choices.scalars_are_lent = choices.scalars_montgomery = true;
    }
    CARD_PROVE_OK(pm_backend_cuda_open(api, 0, options, &run.backend, &error));
    const struct pm_backend_table *table = run.backend->table;
    CARD_PROVE_OK(table->can_run(run.backend, &p->sizes, &error));
    table->describe(run.backend, p->kernels.team, &device);
    CARD_PROVE_OK(pm_plan_make(&p->sizes, &device, &choices, &run.plan, &error));
    print_plan(&run.plan);
    const double begin_ms = card_prove_now_ms();
    CARD_PROVE_OK(
        table->open_key(run.backend, &p->key, &run.plan, &ledger, NULL, &run.resident, &error));
    (void)printf("  key brought in %.0f ms\n", card_prove_now_ms() - begin_ms);
    CARD_PROVE_CHECK(pm_ledger_pool_live_bytes(&ledger, PM_POOL_VRAM_0) ==
                         pm_plan_find(&run.plan, PM_BUFFER_KEY_DEVICE)->bytes,
                     "the key holds %llu bytes",
                     (unsigned long long)pm_ledger_pool_live_bytes(&ledger, PM_POOL_VRAM_0));
    for (int i = 0; i < ROUNDS; ++i) {
        const double round_ms = card_prove_now_ms();
        prove_once(&run);
        const double ms = card_prove_now_ms() - round_ms;
        (void)printf("  %.1f ms\n", ms);
        least = ms < least ? ms : least;
    }
    print_records(&run);
    (void)printf("2^%u, limit %llu GiB, packed by %llu%s: least latency %.1f ms, every proof as by "
                 "logarithms\n",
                 p->sizes.log_n, (unsigned long long)(options->memory_limit_bytes >> 30),
                 (unsigned long long)options->pack_scalars, is_lent ? ", a b c lent" : "", least);
    (void)fflush(stdout);
    time_pair(&run);
    table->close_key(run.backend, run.resident);
    pm_backend_cuda_close(run.backend);
}

void card_prove_partition(const struct pm_gpu_api *api, uint32_t log_n, uint64_t seed, int n_words,
                          char **words) {
    struct pm_cuda_options options = {.memory_limit_bytes = 0};
    struct pm_team *team = NULL;
    bool is_lent = false;
    CARD_PROVE_OK(pm_team_create(pm_cpu_available(), &team, &error));
    double begin_ms = card_prove_now_ms();
    struct card_partition *p = card_partition_make(log_n, seed, team);
    card_partition_tile(p);
    card_partition_fill(p);
    (void)printf("made in %.0f ms\n", card_prove_now_ms() - begin_ms);
    begin_ms = card_prove_now_ms();
    card_partition_sum(p);
    card_partition_expect(p, &blinding, &expected);
    (void)printf("what must come out, by the CPU: %.0f ms\n", card_prove_now_ms() - begin_ms);
    for (int i = 0; i < n_words; ++i) {
        const char *equals = strchr(words[i], '=');
        const uint64_t value = equals != NULL ? strtoull(equals + 1, NULL, 0) : 0;
        (void)fflush(stdout);
        if (strncmp(words[i], "limit=", 6) == 0) {
            options.memory_limit_bytes = value << 30;
        } else if (strncmp(words[i], "pack=", 5) == 0) {
            options.pack_scalars = UINT64_C(1) << value;
        } else if (strncmp(words[i], "lent=", 5) == 0) {
            is_lent = value != 0;
        } else if (strcmp(words[i], "pin") == 0) {
            pin(api, p);
        } else {
            prove_on(api, p, &options, is_lent);
        }
    }
    pm_team_destroy(team);
}
