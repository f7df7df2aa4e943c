/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A partition of a sector on a card: counts of a 32 GiB sector's, 98 % of the witness bits.
 *
 * A key of that size from real secrets would take hours, so its points are multiples of the
 * generators out of a table whose logarithms are known, in an order of its own in each query. Such
 * a key proves nothing, but it decides A, B and C of any witness: the sums of scalars times
 * logarithms are computed on the host, h by the CPU's transforms, and every proof that is timed
 * must be the three points that follow.
 */
#include "card_prove.h"

#include "groth16/backend_cuda.h"
#include "groth16/execute.h"
#include "groth16/prove.h"
#include "groth16/proving_key.h"
#include "support/seeded_random.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE 4093u /* a prime, so that queries repeat out of step with everything */
#define COEFFICIENTS 24u
#define CHUNK (UINT64_C(1) << 18)
#define ROUNDS 4
#define LIMBS PM_FR_LIMBS_MAX
#define LEDGER_ENTRIES_MAX (2u * PM_PLAN_BUFFERS_MAX)

enum query { QUERY_A, QUERY_B, QUERY_L, QUERY_H, QUERIES };

struct partition {
    struct pm_kernels kernels;
    struct pm_plan_sizes sizes;
    struct pm_proving_key key;
    uint64_t seed;
    uint8_t *w;
    uint8_t *lent_w, *lent[3]; /* in Montgomery form: what a caller may bring, a, b and c with it */
    uint8_t *table[2];         /* affine points of G1 and G2 */
    uint64_t logs[TABLE][LIMBS];      /* canonical */
    uint64_t (*totals)[TABLE][LIMBS]; /* of each query: scalars by the point of the table */
    pthread_mutex_t mutex;
    uint8_t singles[2][3][PM_G2_BYTES_MAX]; /* alpha, beta, delta in G1 and G2 */
    struct pm_groth16_proof expected;
};

static const uint64_t single_logs[3] = {3, 5, 7};
static const struct pm_blinding blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Pages that are few and come fast. */
static void *room(uint64_t bytes) {
    void *memory = mmap(NULL, bytes + 64, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CARD_PROVE_CHECK(memory != MAP_FAILED, "%llu bytes", (unsigned long long)bytes);
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* ---- The key -------------------------------------------------------------------------------- */

static uint32_t table_index(enum query query, uint64_t point) {
    return (uint32_t)((point + 1009 * (uint64_t)query) % TABLE);
}

static void make_table(struct partition *p) {
    const struct pm_group *const groups[2] = {p->kernels.curve->g1, p->kernels.curve->g2};
    for (uint32_t i = 0; i < TABLE; ++i) {
        p->logs[i][0] = mix(p->seed + i) | 1;
        p->logs[i][1] = mix(p->seed ^ ~(uint64_t)i);
    }
    for (int g = 0; g < 2; ++g) {
        struct pm_group_point generator, point;
        p->table[g] = room((uint64_t)TABLE * groups[g]->affine_bytes);
        groups[g]->from_affine(&generator, groups[g]->generator);
        for (uint32_t i = 0; i < TABLE; ++i) {
            groups[g]->mul(&point, &generator, p->logs[i], LIMBS);
            groups[g]->to_affine(p->table[g] + (uint64_t)i * groups[g]->affine_bytes, &point);
        }
        for (int i = 0; i < 3; ++i) {
            groups[g]->mul(&point, &generator, &single_logs[i], 1);
            groups[g]->to_affine(p->singles[g][i], &point);
        }
    }
}

struct tiling {
    const struct partition *p;
    enum query query;
    int g;
    uint64_t point_bytes;
    uint8_t *points;
};

static void tile(void *argument, size_t begin, size_t end) {
    const struct tiling *tiling = argument;
    for (uint64_t i = begin; i < end; ++i) {
        memcpy(tiling->points + i * tiling->point_bytes,
               tiling->p->table[tiling->g] + table_index(tiling->query, i) * tiling->point_bytes,
               tiling->point_bytes);
    }
}

static struct pm_key_query make_query(struct partition *p, enum query query, int g, uint64_t n) {
    const struct pm_group *group = g == 0 ? p->kernels.curve->g1 : p->kernels.curve->g2;
    struct tiling tiling = {p, query, g, group->affine_bytes, room(n * group->affine_bytes)};
    pm_team_for(p->kernels.team, n, CHUNK, tile, &tiling);
    return (struct pm_key_query){tiling.points, n};
}

/* n of all variables, in even steps. */
static void make_density(uint64_t n_vars, uint64_t n, struct pm_density *density) {
    CARD_PROVE_OK(pm_density_create(n_vars, "density", NULL, density, &error));
    for (uint64_t i = 0; i < n_vars; ++i) {
        const unsigned __int128 at = (unsigned __int128)i * n;
        if ((uint64_t)((at + n) / n_vars) != (uint64_t)(at / n_vars)) {
            pm_density_set(density, i);
        }
    }
    pm_density_count(density);
    CARD_PROVE_CHECK(density->n_set == n, "a density of %llu", (unsigned long long)density->n_set);
}

struct filling {
    const struct partition *p;
    int matrix;
    uint64_t n_rows, n_terms;
    struct pm_sparse_entry *terms;
    uint32_t *row_starts;
};

/* Mostly of nearby variables, one in sixteen of any. */
static void fill_rows(void *argument, size_t begin, size_t end) {
    const struct filling *filling = argument;
    const uint64_t n_vars = filling->p->sizes.n_vars;
    for (uint64_t row = begin; row < end; ++row) {
        const uint64_t first =
            (uint64_t)((unsigned __int128)row * filling->n_terms / filling->n_rows);
        const uint64_t last =
            (uint64_t)((unsigned __int128)(row + 1) * filling->n_terms / filling->n_rows);
        filling->row_starts[row] = (uint32_t)first;
        for (uint64_t i = first; i < last; ++i) {
            const uint64_t drawn = mix(filling->p->seed + 3 * i + (uint64_t)filling->matrix);
            const uint64_t column =
                drawn % 16 == 0 ? (drawn >> 8) % n_vars : (row + (drawn >> 8) % 65536) % n_vars;
            filling->terms[i] =
                (struct pm_sparse_entry){(uint32_t)column, (uint32_t)(drawn >> 4) % COEFFICIENTS};
        }
    }
}

static void make_matrix(struct partition *p, int matrix) {
    const struct pm_field *fr = p->kernels.curve->fr;
    struct filling filling = {.p = p,
                              .matrix = matrix,
                              .n_rows = p->sizes.n_rows,
                              .n_terms = p->sizes.n_nonzeros[matrix],
                              .terms = room(p->sizes.n_nonzeros[matrix] * 8),
                              .row_starts = room((p->sizes.n_rows + 1) * 4)};
    uint64_t(*coefficients)[LIMBS] = room(COEFFICIENTS * sizeof *coefficients);
    for (uint64_t i = 0; i < COEFFICIENTS; ++i) { /* 1, -1, 2, -2, 4, ... times R^2 */
        const uint64_t value[LIMBS] = {UINT64_C(1) << i / 2};
        fr->to_mont(coefficients[i], value, 1);
        if (i % 2 == 1) {
            fr->neg(coefficients[i], coefficients[i]);
        }
        fr->to_mont(coefficients[i], coefficients[i], 1);
    }
    pm_team_for(p->kernels.team, filling.n_rows, CHUNK, fill_rows, &filling);
    filling.row_starts[filling.n_rows] = (uint32_t)filling.n_terms;
    p->key.n_nonzeros[matrix] = filling.n_terms;
    p->key.sparse[matrix] = (struct pm_sparse){.n_rows = filling.n_rows,
                                               .n_columns = p->sizes.n_vars,
                                               .n_terms = filling.n_terms,
                                               .n_coefficients = COEFFICIENTS,
                                               .coefficients = coefficients[0],
                                               .terms = filling.terms,
                                               .row_starts = filling.row_starts};
}

/* Counts of the preset, halved for each step down from 2^27. */
static void scale_sizes(uint32_t log_n, struct pm_plan_sizes *sizes) {
    const uint32_t shift = 27 - log_n;
    *sizes = pm_plan_preset_find("porep-32g")->sizes;
    sizes->log_n = log_n;
    sizes->n_vars >>= shift;
    sizes->n_inputs = shift == 0 ? sizes->n_inputs : (sizes->n_inputs >> shift) + 1;
    sizes->n_rows >>= shift;
    sizes->n_a >>= shift;
    sizes->n_b >>= shift;
    sizes->n_l = sizes->n_vars - sizes->n_inputs;
    sizes->n_h = (UINT64_C(1) << log_n) - 1;
    for (int i = 0; i < 3; ++i) {
        sizes->n_nonzeros[i] >>= shift;
    }
}

static void make_key(struct partition *p) {
    struct pm_proving_key *key = &p->key;
    const struct pm_plan_sizes *sizes = &p->sizes;
    key->header = (struct pm_key_header){.curve = sizes->curve,
                                         .n_public = (uint32_t)sizes->n_inputs - 1,
                                         .alpha_g1 = p->singles[0][0],
                                         .beta_g1 = p->singles[0][1],
                                         .delta_g1 = p->singles[0][2],
                                         .beta_g2 = p->singles[1][1],
                                         .delta_g2 = p->singles[1][2]};
    key->reduction = PM_REDUCTION_BELLMAN;
    key->log_n = sizes->log_n;
    key->n_vars = sizes->n_vars;
    key->n_inputs = sizes->n_inputs;
    key->n_rows = sizes->n_rows;
    key->a = make_query(p, QUERY_A, 0, sizes->n_a);
    key->b1 = make_query(p, QUERY_B, 0, sizes->n_b);
    key->b2 = make_query(p, QUERY_B, 1, sizes->n_b);
    key->l = make_query(p, QUERY_L, 0, sizes->n_l);
    key->h = make_query(p, QUERY_H, 0, sizes->n_h);
    make_density(sizes->n_vars, sizes->n_a, &key->a_density);
    make_density(sizes->n_vars, sizes->n_b, &key->b_density);
    key->matrices = PM_KEY_MATRICES_SPARSE;
    for (int i = 0; i < 3; ++i) {
        make_matrix(p, i);
    }
    CARD_PROVE_OK(pm_domain_create(p->kernels.poly, sizes->log_n, PM_ROOT_BELLMAN, p->kernels.team,
                                   NULL, &key->domain, &error));
    pm_proving_key_sizes(key, &p->sizes);
}

static void to_montgomery(void *argument, size_t begin, size_t end) {
    const struct partition *p = argument;
    p->kernels.curve->fr->to_mont((uint64_t *)(void *)(p->lent_w + begin * PM_FR_BYTES),
                                  p->w + begin * PM_FR_BYTES, end - begin);
}

static void fill_witness(void *argument, size_t begin, size_t end) {
    const struct partition *p = argument;
    const struct pm_field *fr = p->kernels.curve->fr;
    for (uint64_t i = begin; i < end; ++i) {
        uint64_t value[LIMBS] = {0};
        const uint64_t drawn = mix(p->seed ^ (i * 0x9e3779b97f4a7c15));
        if (i == 0 || drawn % 50 != 0) {
            value[0] = i == 0 ? 1 : drawn >> 32 & 1;
        } else {
            uint64_t wide[8];
            for (uint64_t k = 0; k < 8; ++k) {
                wide[k] = mix(drawn + k);
            }
            fr->reduce_wide(value, wide);
        }
        memcpy(p->w + i * PM_FR_BYTES, value, sizeof value);
    }
}

/* ---- What must come out --------------------------------------------------------------------- */

struct tally {
    struct partition *p;
    enum query query;
    const struct pm_density *density;
    const uint8_t *scalars;
};

static void tally_range(void *argument, size_t begin, size_t end) {
    const struct tally *tally = argument;
    const struct pm_field *fr = tally->p->kernels.curve->fr;
    static const uint64_t zero[LIMBS];
    uint64_t(*sums)[LIMBS] = calloc(TABLE, sizeof *sums);
    uint64_t point = tally->density != NULL ? pm_density_rank(tally->density, begin) : begin;
    CARD_PROVE_CHECK(sums != NULL, "no memory");
    for (uint64_t i = begin; i < end; ++i) {
        uint64_t value[LIMBS];
        if (tally->density != NULL && !pm_density_has(tally->density, i)) {
            continue;
        }
        memcpy(value, tally->scalars + i * PM_FR_BYTES, sizeof value);
        if (memcmp(value, zero, sizeof zero) != 0) {
            uint64_t *sum = sums[table_index(tally->query, point)];
            fr->add(sum, sum, value);
        }
        ++point;
    }
    (void)pthread_mutex_lock(&tally->p->mutex);
    for (uint32_t i = 0; i < TABLE; ++i) {
        uint64_t *total = tally->p->totals[tally->query][i];
        fr->add(total, total, sums[i]);
    }
    (void)pthread_mutex_unlock(&tally->p->mutex);
    free(sums);
}

/* The logarithm of a sum, in Montgomery form. */
static void log_of_sum(struct partition *p, enum query query, const struct pm_density *density,
                       const uint8_t *scalars, uint64_t n, uint64_t *log) {
    const struct pm_field *fr = p->kernels.curve->fr;
    struct tally tally = {p, query, density, scalars};
    memset(log, 0, LIMBS * sizeof *log);
    pm_team_for(p->kernels.team, n, CHUNK, tally_range, &tally);
    for (uint32_t i = 0; i < TABLE; ++i) {
        uint64_t total[LIMBS], factor[LIMBS];
        fr->to_mont(total, p->totals[query][i], 1);
        fr->to_mont(factor, p->logs[i], 1);
        fr->mul(total, total, factor);
        fr->add(log, log, total);
    }
}

struct range_copy {
    uint8_t *to;
    const uint8_t *from;
};

static void copy_range(void *argument, size_t begin, size_t end) {
    const struct range_copy *copy = argument;
    memcpy(copy->to + begin, copy->from + begin, end - begin);
}

static void *copy_of(const struct partition *p, const void *from, uint64_t bytes) {
    struct range_copy copy = {room(bytes), from};
    pm_team_for(p->kernels.team, bytes, CHUNK, copy_range, &copy);
    return copy.to;
}

/* h by the CPU: the scalars of its sum. */
static uint8_t *quotient_by_cpu(struct partition *p) {
    const struct pm_poly *poly = p->kernels.poly;
    struct pm_team *team = p->kernels.team;
    const struct pm_domain *domain = &p->key.domain;
    const uint64_t n = UINT64_C(1) << p->sizes.log_n;
    void *vectors[3];
    for (int i = 0; i < 3; ++i) {
        vectors[i] = room(n * PM_FR_BYTES);
        CARD_PROVE_OK(poly->multiply_sparse(vectors[i], p->sizes.log_n, &p->key.sparse[i], p->w,
                                            p->sizes.n_vars, team, NULL, &error));
        p->lent[i] = copy_of(p, vectors[i], p->sizes.n_rows * PM_FR_BYTES);
    }
    for (int i = 0; i < 2; ++i) {
        CARD_PROVE_OK(poly->to_coset(domain, vectors[i], team, NULL, &error));
    }
    poly->mul_vectors(vectors[0], vectors[0], vectors[1], n, team);
    CARD_PROVE_OK(poly->quotient_coefficients(domain, vectors[0], vectors[2], team, NULL, &error));
    (void)munmap(vectors[1], n * PM_FR_BYTES + 64);
    (void)munmap(vectors[2], n * PM_FR_BYTES + 64);
    return vectors[0];
}

static void multiple(const struct pm_group *group, const struct pm_field *fr, const uint64_t *log,
                     void *affine) {
    struct pm_group_point point;
    uint64_t k[LIMBS];
    fr->from_mont(k, log, 1);
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, k, LIMBS);
    group->to_affine(affine, &point);
}

/* A, B, C from logarithms, as groth16/prove.h has them. */
static void expect(struct partition *p) {
    const struct pm_field *fr = p->kernels.curve->fr;
    uint64_t sum[QUERIES][LIMBS], single[3][LIMBS], r[LIMBS], s[LIMBS], a[LIMBS], b[LIMBS],
        c[LIMBS], t[LIMBS];
    const uint64_t n_inputs = p->sizes.n_inputs;
    uint8_t *h = quotient_by_cpu(p);
    log_of_sum(p, QUERY_A, &p->key.a_density, p->w, p->sizes.n_vars, sum[QUERY_A]);
    log_of_sum(p, QUERY_B, &p->key.b_density, p->w, p->sizes.n_vars, sum[QUERY_B]);
    log_of_sum(p, QUERY_L, NULL, p->w + n_inputs * PM_FR_BYTES, p->sizes.n_l, sum[QUERY_L]);
    log_of_sum(p, QUERY_H, NULL, h, p->sizes.n_h, sum[QUERY_H]);
    (void)munmap(h, (PM_FR_BYTES << p->sizes.log_n) + 64);
    for (int i = 0; i < 3; ++i) {
        const uint64_t value[LIMBS] = {single_logs[i]};
        fr->to_mont(single[i], value, 1);
    }
    fr->to_mont(r, blinding.r, 1);
    fr->to_mont(s, blinding.s, 1);
    fr->mul(t, r, single[2]);
    fr->add(a, sum[QUERY_A], single[0]);
    fr->add(a, a, t);
    fr->mul(t, s, single[2]);
    fr->add(b, sum[QUERY_B], single[1]);
    fr->add(b, b, t);
    fr->add(c, sum[QUERY_L], sum[QUERY_H]);
    fr->mul(t, s, a);
    fr->add(c, c, t);
    fr->mul(t, r, b);
    fr->add(c, c, t);
    fr->mul(t, r, s);
    fr->mul(t, t, single[2]);
    fr->sub(c, c, t);
    multiple(p->kernels.curve->g1, fr, a, p->expected.a);
    multiple(p->kernels.curve->g2, fr, b, p->expected.b);
    multiple(p->kernels.curve->g1, fr, c, p->expected.c);
}

/* ---- Proofs --------------------------------------------------------------------------------- */

/* A proof as pm_prove() makes one, but for self-verification, which such a key cannot pass. */
struct run {
    struct partition *p;
    struct pm_backend *backend;
    void *resident;
    struct pm_plan plan;
    struct pm_step_record records[PM_PLAN_STEPS_MAX];
    uint32_t n_rounds;
};

static pm_status assemble(void *argument, struct pm_execution *execution, pm_error *error) {
    struct partition *p = argument;
    struct pm_groth16_proof proof;
    pm_groth16_assemble(p->kernels.curve, &p->key.header, &execution->sums, &blinding,
                        p->kernels.team, &proof);
    PM_FAIL_IF(memcmp(&proof, &p->expected, sizeof proof) != 0, error, PM_SELF_VERIFY,
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

/* Two proofs at a time, one on the card while the other is at its beginning or end. */
static void time_pair(struct run *run) {
    struct run runs[2] = {*run, *run};
    pthread_t threads[2];
    const double begin_ms = card_prove_now_ms();
    for (int i = 0; i < 2; ++i) {
        runs[i].n_rounds = 3;
        CARD_PROVE_CHECK(pthread_create(&threads[i], NULL, work, &runs[i]) == 0, "no thread");
    }
    for (int i = 0; i < 2; ++i) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)printf("  two workers: %.1f ms a partition\n", (card_prove_now_ms() - begin_ms) / 6);
}

static void pin(const struct pm_gpu_api *api, const struct partition *p) {
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

static void prove_on(const struct pm_gpu_api *api, struct partition *p,
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
    struct partition *p = calloc(1, sizeof *p);
    struct pm_cuda_options options = {.memory_limit_bytes = 0};
    struct pm_team *team = NULL;
    bool is_lent = false;
    CARD_PROVE_CHECK(p != NULL && log_n <= 27, "2^%u", log_n);
    CARD_PROVE_OK(pm_team_create(pm_cpu_available(), &team, &error));
    CARD_PROVE_OK(
        pm_kernels_get(PM_CURVE_BLS12_381, pm_cpu_best_body(), team, &p->kernels, &error));
    p->seed = seed;
    p->totals = calloc(QUERIES, sizeof *p->totals);
    (void)pthread_mutex_init(&p->mutex, NULL);
    scale_sizes(log_n, &p->sizes);
    double begin_ms = card_prove_now_ms();
    make_table(p);
    make_key(p);
    p->w = room(p->sizes.n_vars * PM_FR_BYTES);
    p->lent_w = room(p->sizes.n_vars * PM_FR_BYTES);
    pm_team_for(team, p->sizes.n_vars, CHUNK, fill_witness, p);
    pm_team_for(team, p->sizes.n_vars, CHUNK, to_montgomery, p);
    (void)printf("made in %.0f ms\n", card_prove_now_ms() - begin_ms);
    begin_ms = card_prove_now_ms();
    expect(p);
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
