/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A proving key of the bellman reduction: points decoded from a parameter file into memory, and
 * matrices and densities from the constraint system that belongs to it.
 *
 * Behind the constraints bellman appends a row for each input, with the input in A and nothing in B
 * and C (bellman 0.14, src/groth16/generator.rs), so that the inputs' polynomials are independent.
 */
#include "groth16/proving_key.h"

#include "groth16/qap.h"
#include "io/point_run.h"

#include <string.h>

/* ---- Matrices ---------------------------------------------------------------------------------
 */

/* One matrix of a constraint system, row by row. */
struct matrix_walk {
    const struct pm_r1cs *r1cs;
    int matrix;
    const uint8_t *at;                      /* the next row */
    uint8_t input_term[PM_R1CS_TERM_BYTES]; /* of an appended row */
};

static pm_status read_row(void *argument, uint64_t row, struct pm_sparse_row *out,
                          pm_error *error) {
    struct matrix_walk *walk = argument;
    (void)error;
    if (row < walk->r1cs->n_constraints) {
        struct pm_r1cs_row terms;
        walk->at = pm_r1cs_row_read(walk->r1cs, row == 0 ? walk->r1cs->rows : walk->at, &terms);
        *out = (struct pm_sparse_row){.terms = terms.terms[walk->matrix],
                                      .n_terms = terms.n_terms[walk->matrix]};
        return PM_OK;
    }
    const uint32_t input = (uint32_t)(row - walk->r1cs->n_constraints);
    memset(walk->input_term, 0, sizeof walk->input_term);
    memcpy(walk->input_term, &input, sizeof input);
    walk->input_term[sizeof input] = 1;
    *out = (struct pm_sparse_row){.terms = walk->input_term,
                                  .n_terms = walk->matrix == PM_QAP_A ? 1 : 0};
    return PM_OK;
}

struct matrix_build {
    const struct pm_r1cs *r1cs;
    const struct pm_field *fr;
    struct pm_ledger *ledger;
    const pm_control *control;
    struct pm_sparse *sparse; /* three of them */
    pm_status status[3];
    pm_error errors[3];
};

static void build_matrix(void *argument, size_t matrix) {
    struct matrix_build *build = argument;
    struct matrix_walk walk = {.r1cs = build->r1cs, .matrix = (int)matrix};
    const struct pm_sparse_source source = {.fr = build->fr,
                                            .n_rows = pm_qap_n_rows(build->r1cs),
                                            .n_columns = build->r1cs->n_wires,
                                            .read_row = read_row,
                                            .argument = &walk};
    struct pm_sparse_builder builder = {0};
    pm_error *error = &build->errors[matrix];
    pm_status status = pm_sparse_count(&source, build->ledger, build->control, &builder, error);
    if (status == PM_OK) {
        status =
            pm_sparse_fill(&builder, build->ledger, build->control, &build->sparse[matrix], error);
    }
    pm_sparse_builder_destroy(&builder);
    build->status[matrix] = status;
}

/* The three at once: each is walked from its beginning, since a row's length is known only once it
 * has been read. */
static pm_status build_matrices(const struct pm_r1cs *r1cs, const struct pm_kernels *kernels,
                                struct pm_ledger *ledger, const pm_control *control,
                                struct pm_proving_key *key, pm_error *error) {
    struct matrix_build build = {.r1cs = r1cs,
                                 .fr = kernels->curve->fr,
                                 .ledger = ledger,
                                 .control = control,
                                 .sparse = key->sparse,
                                 .errors = {PM_ERROR_INIT, PM_ERROR_INIT, PM_ERROR_INIT}};
    pm_team_run(kernels->team, 3, build_matrix, &build);
    for (int matrix = 0; matrix < 3; ++matrix) {
        if (build.status[matrix] != PM_OK) {
            pm_error_copy(error, &build.errors[matrix]);
            return build.status[matrix];
        }
        key->n_nonzeros[matrix] = key->sparse[matrix].n_terms;
    }
    key->matrices = PM_KEY_MATRICES_SPARSE;
    key->n_rows = pm_qap_n_rows(r1cs);
    return PM_OK;
}

/* A variable occurs if in some row its coefficients, added up, are not zero. Those of one variable
 * are taken to stand side by side. */
static void mark_row(const struct pm_field *fr, const struct pm_sparse *matrix, uint64_t row,
                     struct pm_density *density) {
    static const uint64_t zero[PM_FR_LIMBS_MAX];
    for (uint64_t i = matrix->row_starts[row]; i < matrix->row_starts[row + 1];) {
        const uint32_t column = matrix->terms[i].column;
        uint64_t sum[PM_FR_LIMBS_MAX] = {0};
        for (; i < matrix->row_starts[row + 1] && matrix->terms[i].column == column; ++i) {
            /* Times R^2, as all of them. */
            fr->add(sum, sum,
                    matrix->coefficients + (uint64_t)matrix->terms[i].coefficient * fr->limbs);
        }
        if (memcmp(sum, zero, fr->bytes) != 0) {
            pm_density_set(density, column);
        }
    }
}

static pm_status make_density(const struct pm_field *fr, const struct pm_sparse *matrix,
                              const char *name, struct pm_ledger *ledger,
                              struct pm_density *density, pm_error *error) {
    PM_TRY(pm_density_create(matrix->n_columns, name, ledger, density, error));
    for (uint64_t row = 0; row < matrix->n_rows; ++row) {
        mark_row(fr, matrix, row, density);
    }
    pm_density_count(density);
    return PM_OK;
}

/* ---- The two files belong together ------------------------------------------------------------
 */

static pm_status mismatch(const struct pm_params *params, const struct pm_r1cs *r1cs,
                          const char *what, uint64_t in_params, uint64_t in_r1cs, pm_error *error) {
    pm_error_set(error, PM_COUNT,
                 "%s and %s do not belong together: %s %llu by the parameters, %llu by the "
                 "constraint system",
                 params->mapping->name, r1cs->container.mapping->name, what,
                 (unsigned long long)in_params, (unsigned long long)in_r1cs);
    pm_error_at(error, params->mapping->name, PM_NO_OFFSET);
    pm_error_need_have(error, in_params, in_r1cs);
    return PM_COUNT;
}

static pm_status check_shape(const struct pm_params *params, const struct pm_r1cs *r1cs,
                             pm_error *error) {
    const struct pm_params_layout *layout = &params->layout;
    const uint64_t n_inputs = (uint64_t)r1cs->n_outputs + r1cs->n_public_inputs + 1;
    if (r1cs->curve != PM_CURVE_BLS12_381) {
        pm_error_set(error, PM_CURVE, "%s is over %s, the parameters in %s are over %s",
                     r1cs->container.mapping->name, pm_curve_name(r1cs->curve),
                     params->mapping->name, pm_curve_name(PM_CURVE_BLS12_381));
        pm_error_at(error, r1cs->container.mapping->name, PM_NO_OFFSET);
        return PM_CURVE;
    }
    if (n_inputs != layout->n[PM_PARAMS_IC]) {
        return mismatch(params, r1cs, "the inputs, the constant one included, are",
                        layout->n[PM_PARAMS_IC], n_inputs, error);
    }
    if (r1cs->n_wires < n_inputs || r1cs->n_wires - n_inputs != layout->n[PM_PARAMS_L]) {
        return mismatch(params, r1cs, "the variables are", n_inputs + layout->n[PM_PARAMS_L],
                        r1cs->n_wires, error);
    }
    if (pm_qap_log_n(r1cs) != layout->log_n) {
        return mismatch(params, r1cs, "the logarithm of the domain is", layout->log_n,
                        pm_qap_log_n(r1cs), error);
    }
    return PM_OK;
}

static pm_status add_constraints(const struct pm_params *params, const struct pm_r1cs *r1cs,
                                 const struct pm_kernels *kernels, struct pm_ledger *ledger,
                                 const pm_control *control, struct pm_proving_key *key,
                                 pm_error *error) {
    const struct pm_field *fr = kernels->curve->fr;
    PM_TRY(check_shape(params, r1cs, error));
    PM_TRY(build_matrices(r1cs, kernels, ledger, control, key, error));
    PM_TRY(make_density(fr, &key->sparse[PM_QAP_A], "the density of A", ledger, &key->a_density,
                        error));
    PM_TRY(make_density(fr, &key->sparse[PM_QAP_B], "the density of B", ledger, &key->b_density,
                        error));
    PM_TRY(pm_mapping_check(r1cs->container.mapping, error));
    if (key->a_density.n_set != key->a.n) {
        return mismatch(params, r1cs, "the variables that occur in A are", key->a.n,
                        key->a_density.n_set, error);
    }
    if (key->b_density.n_set != key->b2.n) {
        return mismatch(params, r1cs, "the variables that occur in B are", key->b2.n,
                        key->b_density.n_set, error);
    }
    return PM_OK;
}

/* ---- Points -----------------------------------------------------------------------------------
 */

/* Names of the ledger's entries, in the order of enum pm_params_part. */
static const char *const part_names[PM_PARAMS_PARTS] = {
    "alpha in G1", "beta in G1", "beta in G2", "gamma in G2", "delta in G1", "delta in G2",
    "ic points",   "h points",   "l points",   "a points",    "b1 points",   "b2 points"};

/* So far ahead of the decoder the file is asked for: enough for a disk's queue, and for the time
 * that every core needs for a window. */
#define READ_AHEAD_BYTES (4 * PM_KEY_WINDOW_BYTES)

/* Window by window, with the next ones on their way from the disk: of the file no more than one of
 * them is in this process's memory at a time. */
static pm_status decode_part(const struct pm_params *params, enum pm_params_part part,
                             enum pm_point_check how, const struct pm_kernels *kernels,
                             struct pm_ledger *ledger, const pm_control *control, void **points,
                             pm_error *error) {
    const uint64_t n = params->layout.n[part], point_bytes = pm_params_point_bytes(part);
    const uint64_t window = PM_KEY_WINDOW_BYTES / point_bytes;
    const uint64_t ahead = READ_AHEAD_BYTES / point_bytes;
    uint64_t asked_for = 0;
    const uint8_t *encoded = params->mapping->bytes + params->layout.offset[part];
    PM_TRY(pm_memory_alloc_array(ledger, part_names[part], n, point_bytes, PM_MEMORY_PLAIN, points,
                                 error));
    for (uint64_t first = 0; first < n; first += window) {
        const uint64_t left = n - first, n_now = left < window ? left : window;
        const uint64_t wanted = left < ahead ? n : first + ahead;
        pm_mapping_read_ahead(params->mapping, encoded + asked_for * point_bytes,
                              (wanted - asked_for) * point_bytes);
        asked_for = wanted;
        PM_TRY(pm_params_decode(params, kernels->curve, part, first, n_now, how, kernels->team,
                                control, (uint8_t *)*points + first * point_bytes, error));
        pm_mapping_release_range(params->mapping, encoded + first * point_bytes,
                                 n_now * point_bytes);
    }
    return PM_OK;
}

/* Points by part, wherever they lie. */
static void take_points(const struct pm_params *params, const uint8_t *const points[],
                        struct pm_proving_key *key) {
    const uint64_t *n = params->layout.n;
    key->header = (struct pm_key_header){.curve = PM_CURVE_BLS12_381,
                                         .n_public = (uint32_t)(n[PM_PARAMS_IC] - 1),
                                         .alpha_g1 = points[PM_PARAMS_ALPHA_G1],
                                         .beta_g1 = points[PM_PARAMS_BETA_G1],
                                         .delta_g1 = points[PM_PARAMS_DELTA_G1],
                                         .beta_g2 = points[PM_PARAMS_BETA_G2],
                                         .gamma_g2 = points[PM_PARAMS_GAMMA_G2],
                                         .delta_g2 = points[PM_PARAMS_DELTA_G2],
                                         .ic = points[PM_PARAMS_IC]};
    key->reduction = PM_REDUCTION_BELLMAN;
    key->log_n = params->layout.log_n;
    key->n_inputs = n[PM_PARAMS_IC];
    key->n_vars = n[PM_PARAMS_IC] + n[PM_PARAMS_L];
    key->n_rows = UINT64_C(1) << params->layout.log_n;
    key->a = (struct pm_key_query){points[PM_PARAMS_A], n[PM_PARAMS_A]};
    key->b1 = (struct pm_key_query){points[PM_PARAMS_B_G1], n[PM_PARAMS_B_G1]};
    key->b2 = (struct pm_key_query){points[PM_PARAMS_B_G2], n[PM_PARAMS_B_G2]};
    key->l = (struct pm_key_query){points[PM_PARAMS_L], n[PM_PARAMS_L]};
    key->h = (struct pm_key_query){points[PM_PARAMS_H], n[PM_PARAMS_H]};
}

/* Points of a cache are looked at as far as those of the file would be. */
static pm_status check_cached(const struct pm_params *params, const uint8_t *affine,
                              enum pm_params_part part, enum pm_point_check how,
                              const struct pm_kernels *kernels, const pm_control *control,
                              pm_error *error) {
    const struct pm_curve *curve = kernels->curve;
    const struct pm_point_run run = {.name = part_names[part],
                                     .group = pm_params_part_is_g2(part) ? curve->g2 : curve->g1,
                                     .form = PM_POINT_MONTGOMERY_LE,
                                     .points = affine,
                                     .n = params->layout.n[part],
                                     .n_all = params->layout.n[part],
                                     .how = how};
    return how == PM_POINT_CHECK_NONE || run.n == 0
               ? PM_OK
               : pm_point_runs_scan(NULL, &run, 1, "checking the points", kernels->team, control,
                                    error);
}

static pm_status load_points(const struct pm_params *params, const struct pm_params_cache *cache,
                             enum pm_point_check how, const struct pm_kernels *kernels,
                             struct pm_ledger *ledger, const pm_control *control,
                             struct pm_proving_key *key, pm_error *error) {
    const uint8_t *points[PM_PARAMS_PARTS];
    for (int i = 0; i < PM_PARAMS_PARTS; ++i) {
        const enum pm_params_part part = (enum pm_params_part)i;
        /* A verifying key decides what is believed: its points are always looked at in full. */
        const enum pm_point_check check = i < PM_PARAMS_VK_PARTS ? PM_POINT_CHECK_SUBGROUP : how;
        if (cache != NULL && cache->affine[i] != NULL) {
            PM_TRY(check_cached(params, cache->affine[i], part, check, kernels, control, error));
            points[i] = cache->affine[i];
            continue;
        }
        PM_TRY(decode_part(params, part, check, kernels, ledger, control, &key->decoded[i], error));
        points[i] = key->decoded[i];
    }
    take_points(params, points, key);
    return PM_OK;
}

pm_status pm_proving_key_from_params(const struct pm_params *params,
                                     const struct pm_params_cache *cache,
                                     const struct pm_r1cs *r1cs, enum pm_point_check how,
                                     const struct pm_kernels *kernels, struct pm_ledger *ledger,
                                     const pm_control *control, struct pm_proving_key *key,
                                     pm_error *error) {
    pm_status status = PM_OK;
    *key = (struct pm_proving_key){0};
    if (r1cs != NULL) {
        PM_TRY(check_shape(params, r1cs, error));
    }
    PM_TRY_GOTO(status, load_points(params, cache, how, kernels, ledger, control, key, error),
                cleanup);
    if (r1cs != NULL) {
        PM_TRY_GOTO(status, add_constraints(params, r1cs, kernels, ledger, control, key, error),
                    cleanup);
    }
    PM_TRY_GOTO(status,
                pm_domain_create(kernels->poly, key->log_n, PM_ROOT_BELLMAN, kernels->team, ledger,
                                 &key->domain, error),
                cleanup);
    key->resident_bytes = pm_ledger_live_bytes(ledger);
cleanup:
    if (status != PM_OK) {
        pm_proving_key_destroy(key);
    }
    return status;
}

pm_status pm_proving_key_check_decoded(const struct pm_proving_key *key,
                                       const struct pm_curve *curve, struct pm_team *team,
                                       const pm_control *control, pm_error *error) {
    const struct pm_key_header *header = &key->header;
    const struct {
        const char *name;
        const struct pm_group *group;
        struct pm_key_query points;
    } all[] = {{"alpha in g1", curve->g1, {header->alpha_g1, 1}},
               {"beta in g1", curve->g1, {header->beta_g1, 1}},
               {"beta in g2", curve->g2, {header->beta_g2, 1}},
               {"gamma in g2", curve->g2, {header->gamma_g2, 1}},
               {"delta in g1", curve->g1, {header->delta_g1, 1}},
               {"delta in g2", curve->g2, {header->delta_g2, 1}},
               {"ic", curve->g1, {header->ic, key->n_inputs}},
               {"h", curve->g1, key->h},
               {"l", curve->g1, key->l},
               {"a", curve->g1, key->a},
               {"b_g1", curve->g1, key->b1},
               {"b_g2", curve->g2, key->b2}};
    struct pm_point_run runs[sizeof all / sizeof all[0]];
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        runs[i] = (struct pm_point_run){.name = all[i].name,
                                        .group = all[i].group,
                                        .form = PM_POINT_MONTGOMERY_LE,
                                        .points = all[i].points.points,
                                        .n = all[i].points.n,
                                        .n_all = all[i].points.n,
                                        .how = PM_POINT_CHECK_SUBGROUP};
    }
    return pm_point_runs_scan(NULL, runs, sizeof all / sizeof all[0], "checking the points", team,
                              control, error);
}
