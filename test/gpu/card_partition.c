/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "card_partition.h"

#include "card_prove.h"
#include "par/bulk.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define COEFFICIENTS 24u

static const uint64_t single_logs[4] = {3, 5, 7, 11};

double card_prove_now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void *card_room(uint64_t bytes) {
    void *memory = mmap(NULL, bytes + 64, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CARD_PROVE_CHECK(memory != MAP_FAILED, "%llu bytes", (unsigned long long)bytes);
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void card_room_free(void *memory, uint64_t bytes) {
    (void)munmap(memory, bytes + 64);
}

/* ---- The key -------------------------------------------------------------------------------- */

static void make_table(struct card_partition *p) {
    const struct pm_group *const groups[2] = {p->kernels.curve->g1, p->kernels.curve->g2};
    for (uint32_t i = 0; i < CARD_TABLE; ++i) {
        p->logs[i][0] = mix(p->seed + i) | 1;
        p->logs[i][1] = mix(p->seed ^ ~(uint64_t)i);
    }
    for (int g = 0; g < 2; ++g) {
        struct pm_group_point generator, point;
        p->table[g] = card_room((uint64_t)CARD_TABLE * groups[g]->affine_bytes);
        groups[g]->from_affine(&generator, groups[g]->generator);
        for (uint32_t i = 0; i < CARD_TABLE; ++i) {
            groups[g]->mul(&point, &generator, p->logs[i], CARD_LIMBS);
            groups[g]->to_affine(p->table[g] + (uint64_t)i * groups[g]->affine_bytes, &point);
        }
        for (int i = 0; i < 4; ++i) {
            groups[g]->mul(&point, &generator, &single_logs[i], 1);
            groups[g]->to_affine(p->singles[g][i], &point);
        }
    }
}

struct tiling {
    const struct card_partition *p;
    enum card_query query;
    int g;
    uint64_t point_bytes;
    uint8_t *points;
};

static void tile(void *argument, size_t begin, size_t end) {
    const struct tiling *tiling = argument;
    for (uint64_t i = begin; i < end; ++i) {
        memcpy(tiling->points + i * tiling->point_bytes,
               tiling->p->table[tiling->g] +
                   card_partition_point(tiling->query, i) * tiling->point_bytes,
               tiling->point_bytes);
    }
}

static void tile_query(struct card_partition *p, enum card_query query, int g,
                       struct pm_key_query *points) {
    const struct pm_group *group = g == 0 ? p->kernels.curve->g1 : p->kernels.curve->g2;
    struct tiling tiling = {p, query, g, group->affine_bytes,
                            card_room(points->n * group->affine_bytes)};
    pm_team_for(p->kernels.team, points->n, CARD_CHUNK, tile, &tiling);
    points->points = tiling.points;
}

void card_partition_tile(struct card_partition *p) {
    struct pm_proving_key *key = &p->key;
    tile_query(p, CARD_QUERY_A, 0, &key->a);
    tile_query(p, CARD_QUERY_B, 0, &key->b1);
    tile_query(p, CARD_QUERY_B, 1, &key->b2);
    tile_query(p, CARD_QUERY_L, 0, &key->l);
    tile_query(p, CARD_QUERY_H, 0, &key->h);
}

/* n of all variables: the first n_first, none of the other inputs, the rest in even steps. */
static void make_density(const struct pm_plan_sizes *sizes, uint64_t n, uint64_t n_first,
                         struct pm_density *density) {
    const uint64_t n_aux = sizes->n_vars - sizes->n_inputs, n_even = n - n_first;
    CARD_PROVE_OK(pm_density_create(sizes->n_vars, "density", NULL, density, &error));
    for (uint64_t i = 0; i < n_first; ++i) {
        pm_density_set(density, i);
    }
    for (uint64_t i = 0; i < n_aux; ++i) {
        const unsigned __int128 at = (unsigned __int128)i * n_even;
        if ((uint64_t)((at + n_even) / n_aux) != (uint64_t)(at / n_aux)) {
            pm_density_set(density, sizes->n_inputs + i);
        }
    }
    pm_density_count(density);
    CARD_PROVE_CHECK(density->n_set == n, "a density of %llu", (unsigned long long)density->n_set);
}

struct filling {
    const struct card_partition *p;
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

static void make_matrix(struct card_partition *p, int matrix) {
    const struct pm_field *fr = p->kernels.curve->fr;
    struct filling filling = {.p = p,
                              .matrix = matrix,
                              .n_rows = p->sizes.n_rows,
                              .n_terms = p->sizes.n_nonzeros[matrix],
                              .terms = card_room(p->sizes.n_nonzeros[matrix] * 8),
                              .row_starts = card_room((p->sizes.n_rows + 1) * 4)};
    uint64_t(*coefficients)[CARD_LIMBS] = card_room(COEFFICIENTS * sizeof *coefficients);
    for (uint64_t i = 0; i < COEFFICIENTS; ++i) { /* 1, -1, 2, -2, 4, ... times R^2 */
        const uint64_t value[CARD_LIMBS] = {UINT64_C(1) << i / 2};
        fr->to_mont(coefficients[i], value, 1);
        if (i % 2 == 1) {
            fr->neg(coefficients[i], coefficients[i]);
        }
        fr->to_mont(coefficients[i], coefficients[i], 1);
    }
    pm_team_for(p->kernels.team, filling.n_rows, CARD_CHUNK, fill_rows, &filling);
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

static void make_key(struct card_partition *p) {
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
    key->a.n = sizes->n_a;
    key->b1.n = key->b2.n = sizes->n_b;
    key->l.n = sizes->n_l;
    key->h.n = sizes->n_h;
    make_density(sizes, sizes->n_a, sizes->n_inputs, &key->a_density);
    make_density(sizes, sizes->n_b, 1, &key->b_density);
}

struct card_partition *card_partition_make(uint32_t log_n, uint64_t seed, struct pm_team *team) {
    struct card_partition *p = calloc(1, sizeof *p);
    CARD_PROVE_CHECK(p != NULL && log_n >= 4 && log_n <= 27, "2^%u", log_n);
    CARD_PROVE_OK(
        pm_kernels_get(PM_CURVE_BLS12_381, pm_cpu_best_body(), team, &p->kernels, &error));
    p->seed = seed;
    p->totals = calloc(CARD_QUERIES, sizeof *p->totals);
    CARD_PROVE_CHECK(p->totals != NULL, "no memory");
    (void)pthread_mutex_init(&p->mutex, NULL);
    scale_sizes(log_n, &p->sizes);
    make_table(p);
    make_key(p);
    return p;
}

/* ---- Matrices and witness ------------------------------------------------------------------- */

static void to_montgomery(void *argument, size_t begin, size_t end) {
    const struct card_partition *p = argument;
    p->kernels.curve->fr->to_mont((uint64_t *)(void *)(p->lent_w + begin * PM_FR_BYTES),
                                  p->w + begin * PM_FR_BYTES, end - begin);
}

static void fill_witness(void *argument, size_t begin, size_t end) {
    const struct card_partition *p = argument;
    const struct pm_field *fr = p->kernels.curve->fr;
    for (uint64_t i = begin; i < end; ++i) {
        uint64_t value[CARD_LIMBS] = {0};
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

void card_partition_fill(struct card_partition *p) {
    const struct pm_plan_sizes *sizes = &p->sizes;
    p->key.matrices = PM_KEY_MATRICES_SPARSE;
    for (int i = 0; i < 3; ++i) {
        make_matrix(p, i);
    }
    CARD_PROVE_OK(pm_domain_create(p->kernels.poly, sizes->log_n, PM_ROOT_BELLMAN, p->kernels.team,
                                   NULL, &p->key.domain, &error));
    pm_proving_key_sizes(&p->key, &p->sizes);
    p->w = card_room(sizes->n_vars * PM_FR_BYTES);
    p->lent_w = card_room(sizes->n_vars * PM_FR_BYTES);
    pm_team_for(p->kernels.team, sizes->n_vars, CARD_CHUNK, fill_witness, p);
    pm_team_for(p->kernels.team, sizes->n_vars, CARD_CHUNK, to_montgomery, p);
}

void card_partition_forget(struct card_partition *p) {
    for (int i = 0; i < 3; ++i) {
        struct pm_sparse *matrix = &p->key.sparse[i];
        card_room_free((void *)(uintptr_t)matrix->terms, matrix->n_terms * 8);
        card_room_free((void *)(uintptr_t)matrix->row_starts, (matrix->n_rows + 1) * 4);
        *matrix = (struct pm_sparse){.n_rows = 0};
    }
    p->key.matrices = PM_KEY_MATRICES_NONE;
    pm_domain_destroy(&p->key.domain);
    card_room_free(p->w, p->sizes.n_vars * PM_FR_BYTES);
    p->w = NULL;
}

/* ---- What must come out --------------------------------------------------------------------- */

struct tally {
    struct card_partition *p;
    enum card_query query;
    const struct pm_density *density;
    const uint8_t *scalars;
};

static void tally_range(void *argument, size_t begin, size_t end) {
    const struct tally *tally = argument;
    const struct pm_field *fr = tally->p->kernels.curve->fr;
    static const uint64_t zero[CARD_LIMBS];
    uint64_t(*sums)[CARD_LIMBS] = calloc(CARD_TABLE, sizeof *sums);
    uint64_t point = tally->density != NULL ? pm_density_rank(tally->density, begin) : begin;
    CARD_PROVE_CHECK(sums != NULL, "no memory");
    for (uint64_t i = begin; i < end; ++i) {
        uint64_t value[CARD_LIMBS];
        if (tally->density != NULL && !pm_density_has(tally->density, i)) {
            continue;
        }
        memcpy(value, tally->scalars + i * PM_FR_BYTES, sizeof value);
        if (memcmp(value, zero, sizeof zero) != 0) {
            uint64_t *sum = sums[card_partition_point(tally->query, point)];
            fr->add(sum, sum, value);
        }
        ++point;
    }
    (void)pthread_mutex_lock(&tally->p->mutex);
    for (uint32_t i = 0; i < CARD_TABLE; ++i) {
        uint64_t *total = tally->p->totals[tally->query][i];
        fr->add(total, total, sums[i]);
    }
    (void)pthread_mutex_unlock(&tally->p->mutex);
    free(sums);
}

/* The logarithm of a sum, in Montgomery form. */
static void log_of_sum(struct card_partition *p, enum card_query query,
                       const struct pm_density *density, const uint8_t *scalars, uint64_t n,
                       uint64_t *log) {
    const struct pm_field *fr = p->kernels.curve->fr;
    struct tally tally = {p, query, density, scalars};
    memset(log, 0, CARD_LIMBS * sizeof *log);
    pm_team_for(p->kernels.team, n, CARD_CHUNK, tally_range, &tally);
    for (uint32_t i = 0; i < CARD_TABLE; ++i) {
        uint64_t total[CARD_LIMBS], factor[CARD_LIMBS];
        fr->to_mont(total, p->totals[query][i], 1);
        fr->to_mont(factor, p->logs[i], 1);
        fr->mul(total, total, factor);
        fr->add(log, log, total);
    }
}

static void *copy_of(const struct card_partition *p, const void *from, uint64_t bytes) {
    void *to = card_room(bytes);
    pm_team_copy(p->kernels.team, to, from, bytes, CARD_CHUNK);
    return to;
}

/* h by the CPU: the scalars of its sum. */
static uint8_t *quotient_by_cpu(struct card_partition *p) {
    const struct pm_poly *poly = p->kernels.poly;
    struct pm_team *team = p->kernels.team;
    const struct pm_domain *domain = &p->key.domain;
    const uint64_t n = UINT64_C(1) << p->sizes.log_n;
    void *vectors[3];
    for (int i = 0; i < 3; ++i) {
        vectors[i] = card_room(n * PM_FR_BYTES);
        CARD_PROVE_OK(poly->multiply_sparse(vectors[i], p->sizes.log_n, &p->key.sparse[i], p->w,
                                            p->sizes.n_vars, team, NULL, &error));
        p->lent[i] = copy_of(p, vectors[i], p->sizes.n_rows * PM_FR_BYTES);
    }
    for (int i = 0; i < 2; ++i) {
        CARD_PROVE_OK(poly->to_coset(domain, vectors[i], team, NULL, &error));
    }
    poly->mul_vectors(vectors[0], vectors[0], vectors[1], n, team);
    CARD_PROVE_OK(poly->quotient_coefficients(domain, vectors[0], vectors[2], team, NULL, &error));
    card_room_free(vectors[1], n * PM_FR_BYTES);
    card_room_free(vectors[2], n * PM_FR_BYTES);
    return vectors[0];
}

static void multiple(const struct pm_group *group, const struct pm_field *fr, const uint64_t *log,
                     void *affine) {
    struct pm_group_point point;
    uint64_t k[CARD_LIMBS];
    fr->from_mont(k, log, 1);
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, k, CARD_LIMBS);
    group->to_affine(affine, &point);
}

void card_partition_sum(struct card_partition *p) {
    const uint64_t n_inputs = p->sizes.n_inputs;
    uint8_t *h = quotient_by_cpu(p);
    log_of_sum(p, CARD_QUERY_A, &p->key.a_density, p->w, p->sizes.n_vars, p->sums[CARD_QUERY_A]);
    log_of_sum(p, CARD_QUERY_B, &p->key.b_density, p->w, p->sizes.n_vars, p->sums[CARD_QUERY_B]);
    log_of_sum(p, CARD_QUERY_L, NULL, p->w + n_inputs * PM_FR_BYTES, p->sizes.n_l,
               p->sums[CARD_QUERY_L]);
    log_of_sum(p, CARD_QUERY_H, NULL, h, p->sizes.n_h, p->sums[CARD_QUERY_H]);
    card_room_free(h, (uint64_t)PM_FR_BYTES << p->sizes.log_n);
}

void card_partition_expect(const struct card_partition *p, const struct pm_blinding *blinding,
                           struct pm_groth16_proof *proof) {
    const struct pm_field *fr = p->kernels.curve->fr;
    uint64_t single[3][CARD_LIMBS], r[CARD_LIMBS], s[CARD_LIMBS], a[CARD_LIMBS], b[CARD_LIMBS],
        c[CARD_LIMBS], t[CARD_LIMBS];
    for (int i = 0; i < 3; ++i) {
        const uint64_t value[CARD_LIMBS] = {single_logs[i]};
        fr->to_mont(single[i], value, 1);
    }
    fr->to_mont(r, blinding->r, 1);
    fr->to_mont(s, blinding->s, 1);
    fr->mul(t, r, single[2]);
    fr->add(a, p->sums[CARD_QUERY_A], single[0]);
    fr->add(a, a, t);
    fr->mul(t, s, single[2]);
    fr->add(b, p->sums[CARD_QUERY_B], single[1]);
    fr->add(b, b, t);
    fr->add(c, p->sums[CARD_QUERY_L], p->sums[CARD_QUERY_H]);
    fr->mul(t, s, a);
    fr->add(c, c, t);
    fr->mul(t, r, b);
    fr->add(c, c, t);
    fr->mul(t, r, s);
    fr->mul(t, t, single[2]);
    fr->sub(c, c, t);
    multiple(p->kernels.curve->g1, fr, a, proof->a);
    multiple(p->kernels.curve->g2, fr, b, proof->b);
    multiple(p->kernels.curve->g1, fr, c, proof->c);
}
