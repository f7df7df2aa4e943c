/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A query is a list of scalars and a place in the file. Scalars are computed, chunk by chunk, from
 * the columns of the QAP at tau; each chunk goes through the fixed-base tables straight into the
 * mapped file (zkey) or through the encoder (params). At no time is a query in memory twice.
 */
#include "groth16/setup_known.h"

#include "base/blake2b.h"
#include "groth16/coefficients.h"
#include "groth16/development.h"
#include "groth16/lagrange.h"
#include "groth16/qap.h"
#include "groth16/work.h"
#include "io/output_map.h"
#include "io/params.h"
#include "io/zkey_layout.h"
#include "msm/fixed_base.h"

#include <stdio.h>
#include <string.h>

#define CHUNK_POINTS ((uint64_t)1 << 15)
#define CIRCUIT_HASH_BYTES 64

/* Tables of one group. */
struct base {
    const struct pm_group *group;
    enum pm_msm_group which;
    uint32_t window_bits;
    void *table, *scratch;
};

struct setup {
    const struct pm_kernels *kernels;
    const struct pm_fixed_base *fixed_base;
    const struct pm_r1cs *r1cs;
    struct pm_row_chunks rows;
    uint64_t seed;
    struct pm_development_secrets secrets;
    uint64_t gamma_inverse[PM_FR_LIMBS_MAX], delta_inverse[PM_FR_LIMBS_MAX];
    struct pm_qap qap;
    struct base bases[2];                  /* by enum pm_msm_group */
    uint64_t *scalars;                     /* a chunk, Montgomery and then canonical */
    const struct pm_params_layout *params; /* NULL: a zkey is written */
    uint8_t *points;                       /* params: a chunk, before it is encoded */
    struct pm_output_map out;
    uint64_t n_done, n_total; /* points, for progress */
    struct pm_ledger *ledger;
    const pm_control *control;
};

static const struct pm_field *field_of(const struct setup *setup) {
    return setup->kernels->curve->fr;
}

/* ---- Scalars of the queries ------------------------------------------------------------------ */

/* Where the scalars of a query come from: first .. first + n - 1 into setup->scalars, Montgomery.
 */
struct source {
    pm_status (*fill)(struct setup *setup, const struct source *source, uint64_t first, uint64_t n,
                      pm_error *error);
    enum pm_qap_matrix matrix; /* fill_column */
    const uint64_t *divisor;   /* fill_combined: inverse of gamma or delta */
    uint64_t first_wire;
};

/* A_j or B_j. */
static pm_status fill_column(struct setup *setup, const struct source *source, uint64_t first,
                             uint64_t n, pm_error *error) {
    (void)error;
    memcpy(setup->scalars,
           setup->qap.columns[source->matrix] + (source->first_wire + first) * PM_FR_LIMBS_MAX,
           n * PM_FR_BYTES);
    return PM_OK;
}

struct combining {
    struct setup *setup;
    const struct source *source;
    uint64_t first;
};

static void combine_range(void *argument, size_t begin, size_t end) {
    const struct combining *combining = argument;
    const struct setup *setup = combining->setup;
    const struct pm_field *fr = field_of(setup);
    for (size_t i = begin; i < end; ++i) {
        const uint64_t wire = combining->source->first_wire + combining->first + i;
        uint64_t *r = setup->scalars + i * PM_FR_LIMBS_MAX, t[PM_FR_LIMBS_MAX];
        fr->mul(r, setup->secrets.beta, setup->qap.columns[PM_QAP_A] + wire * PM_FR_LIMBS_MAX);
        fr->mul(t, setup->secrets.alpha, setup->qap.columns[PM_QAP_B] + wire * PM_FR_LIMBS_MAX);
        fr->add(r, r, t);
        fr->add(r, r, setup->qap.columns[PM_QAP_C] + wire * PM_FR_LIMBS_MAX);
        fr->mul(r, r, combining->source->divisor);
    }
}

/* (beta A_j + alpha B_j + C_j) / gamma or delta. */
static pm_status fill_combined(struct setup *setup, const struct source *source, uint64_t first,
                               uint64_t n, pm_error *error) {
    (void)error;
    struct combining combining = {.setup = setup, .source = source, .first = first};
    pm_team_for(setup->kernels->team, n, 256, combine_range, &combining);
    return PM_OK;
}

/* L^(2m)_(2i+1)(tau) / delta. */
static pm_status fill_odd_lagrange(struct setup *setup, const struct source *source, uint64_t first,
                                   uint64_t n, pm_error *error) {
    (void)source;
    const struct pm_lagrange lagrange = {.curve = setup->kernels->curve,
                                         .root = PM_ROOT_SNARKJS,
                                         .log_m = setup->qap.log_n + 1,
                                         .x = setup->secrets.tau,
                                         .factor = setup->delta_inverse,
                                         .first = 2 * first + 1,
                                         .step = 2};
    return pm_lagrange_evaluate(&lagrange, n, setup->kernels->team, setup->control, setup->scalars,
                                error);
}

/* tau^i (tau^m - 1) / delta. */
static pm_status fill_powers(struct setup *setup, const struct source *source, uint64_t first,
                             uint64_t n, pm_error *error) {
    (void)source;
    (void)error;
    const struct pm_field *fr = field_of(setup);
    uint64_t power[PM_FR_LIMBS_MAX], vanishing[PM_FR_LIMBS_MAX];
    memcpy(vanishing, setup->secrets.tau, sizeof vanishing);
    for (uint32_t i = 0; i < setup->qap.log_n; ++i) {
        fr->sqr(vanishing, vanishing);
    }
    fr->sub(vanishing, vanishing, fr->one);
    fr->pow(power, setup->secrets.tau, &first, 1);
    fr->mul(power, power, vanishing);
    fr->mul(power, power, setup->delta_inverse);
    for (uint64_t i = 0; i < n; ++i) {
        memcpy(setup->scalars + i * PM_FR_LIMBS_MAX, power, PM_FR_BYTES);
        fr->mul(power, power, setup->secrets.tau);
    }
    return PM_OK;
}

/* ---- From scalars to points ------------------------------------------------------------------ */

static bool is_zero(const uint64_t *scalar) {
    static const uint64_t zero[PM_FR_LIMBS_MAX];
    return memcmp(scalar, zero, sizeof zero) == 0;
}

/* Drops zero scalars, which would be points at infinity; returns how many are left. */
static uint64_t drop_zeros(uint64_t *scalars, uint64_t n) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; ++i) {
        if (!is_zero(scalars + i * PM_FR_LIMBS_MAX)) {
            memmove(scalars + kept * PM_FR_LIMBS_MAX, scalars + i * PM_FR_LIMBS_MAX, PM_FR_BYTES);
            ++kept;
        }
    }
    return kept;
}

static void to_canonical(void *argument, size_t begin, size_t end) {
    struct setup *setup = argument;
    uint64_t *at = setup->scalars + begin * PM_FR_LIMBS_MAX;
    field_of(setup)->from_mont(at, at, end - begin);
}

/* The first n of setup->scalars times the generator, affine Montgomery. */
static pm_status multiply_chunk(struct setup *setup, const struct base *base, uint64_t n,
                                uint8_t *points, pm_error *error) {
    pm_team_for(setup->kernels->team, n, 1024, to_canonical, setup);
    return setup->fixed_base->multiply(base->which, base->window_bits, base->table, setup->scalars,
                                       n, setup->kernels->team, base->scratch, setup->control,
                                       points, error);
}

struct query {
    const char *phase; /* for progress */
    enum pm_msm_group group;
    struct source source;
    uint64_t n;               /* scalars */
    uint8_t *out;             /* zkey: where its points begin */
    enum pm_params_part part; /* params: which it is */
    bool drops_zeros;         /* a zero scalar leaves no point */
};

/* Points n_written .. n_written + n - 1 of the query. zkey: straight into the file; params: through
 * the encoder. */
static pm_status write_chunk(struct setup *setup, const struct query *query, uint64_t n_written,
                             uint64_t n, pm_error *error) {
    const struct base *base = &setup->bases[query->group];
    if (setup->params == NULL) {
        return multiply_chunk(setup, base, n, query->out + n_written * base->group->affine_bytes,
                              error);
    }
    PM_TRY(multiply_chunk(setup, base, n, setup->points, error));
    return pm_params_write_points(setup->params, setup->kernels->curve, query->part, n_written, n,
                                  setup->points, setup->kernels->team, setup->control,
                                  setup->out.bytes, error);
}

static pm_status write_query(struct setup *setup, const struct query *query, pm_error *error) {
    uint64_t n_written = 0;
    for (uint64_t first = 0; first < query->n; first += CHUNK_POINTS) {
        const uint64_t left = query->n - first, n = left < CHUNK_POINTS ? left : CHUNK_POINTS;
        PM_TRY(pm_control_check(setup->control, error));
        pm_control_progress(setup->control, query->phase, setup->n_done, setup->n_total);
        PM_TRY(query->source.fill(setup, &query->source, first, n, error));
        const uint64_t kept = query->drops_zeros ? drop_zeros(setup->scalars, n) : n;
        PM_TRY(write_chunk(setup, query, n_written, kept, error));
        n_written += kept;
        setup->n_done += n;
    }
    return PM_OK;
}

/* One point, by the slow way: the header's. */
static void header_point(const struct setup *setup, const struct pm_group *group,
                         const uint64_t *scalar, uint8_t *affine) {
    uint64_t k[PM_FR_LIMBS_MAX];
    struct pm_group_point point;
    field_of(setup)->from_mont(k, scalar, 1);
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, k, PM_FR_LIMBS_MAX);
    group->to_affine(affine, &point);
    pm_memory_wipe(k, sizeof k);
}

/* alpha, beta, delta on G1; beta, gamma, delta on G2. */
struct header_points {
    uint8_t g1[3][PM_G1_BYTES_MAX], g2[3][PM_G2_BYTES_MAX];
};

static void make_header_points(const struct setup *setup, struct header_points *points) {
    const struct pm_development_secrets *secrets = &setup->secrets;
    const uint64_t *const in_g1[3] = {secrets->alpha, secrets->beta, secrets->delta};
    const uint64_t *const in_g2[3] = {secrets->beta, secrets->gamma, secrets->delta};
    for (int i = 0; i < 3; ++i) {
        header_point(setup, setup->kernels->curve->g1, in_g1[i], points->g1[i]);
        header_point(setup, setup->kernels->curve->g2, in_g2[i], points->g2[i]);
    }
}

static pm_status run_queries(struct setup *setup, const struct query *queries, size_t n_queries,
                             pm_error *error) {
    setup->n_done = setup->n_total = 0;
    for (size_t i = 0; i < n_queries; ++i) {
        setup->n_total += queries[i].n;
    }
    for (size_t i = 0; i < n_queries; ++i) {
        PM_TRY(write_query(setup, &queries[i], error));
    }
    pm_control_progress(setup->control, "writing the key", setup->n_total, setup->n_total);
    return PM_OK;
}

/* ---- zkey ------------------------------------------------------------------------------------ */

/* Section 10: a hash that names the circuit (of its rows, not of a ceremony), no contributions. The
 * private section says in words what the key is. */
static void write_marks(const struct setup *setup, const struct pm_zkey_layout *layout,
                        const char *mark) {
    uint8_t *image = setup->out.bytes;
    struct pm_blake2b hash;
    pm_blake2b_init(&hash, CIRCUIT_HASH_BYTES);
    pm_blake2b_update(&hash, setup->r1cs->rows, setup->r1cs->rows_bytes);
    pm_blake2b_final(&hash, image + layout->offset[10]);
    memset(image + layout->offset[10] + CIRCUIT_HASH_BYTES, 0, sizeof(uint32_t));
    memcpy(image + layout->private_offset, mark, strlen(mark));
}

static pm_status write_zkey(struct setup *setup, const struct pm_zkey_layout *layout,
                            const char *mark, pm_error *error) {
    uint8_t *image = setup->out.bytes;
    const uint64_t n_vars = setup->qap.n_vars, n_ic = (uint64_t)setup->qap.n_public + 1;
    struct header_points points;
    make_header_points(setup, &points);
    const struct pm_zkey_header_points header = {.alpha_g1 = points.g1[0],
                                                 .beta_g1 = points.g1[1],
                                                 .delta_g1 = points.g1[2],
                                                 .beta_g2 = points.g2[0],
                                                 .gamma_g2 = points.g2[1],
                                                 .delta_g2 = points.g2[2]};
    pm_zkey_layout_write_headers(layout, &header, image);
    write_marks(setup, layout, mark);
    struct pm_work work = {.control = setup->control,
                           .phase = "coefficients",
                           .total = pm_coefficients_count(&setup->rows)};
    PM_TRY(pm_coefficients_write(&setup->rows, field_of(setup), setup->kernels->team, &work,
                                 image + layout->records_offset, error));
    const struct source a = {.fill = fill_column, .matrix = PM_QAP_A};
    const struct source b = {.fill = fill_column, .matrix = PM_QAP_B};
    const struct source h = {.fill = fill_odd_lagrange};
    const struct source ic = {.fill = fill_combined, .divisor = setup->gamma_inverse};
    const struct source c = {
        .fill = fill_combined, .divisor = setup->delta_inverse, .first_wire = n_ic};
    const struct query queries[] = {
        {"points of IC", PM_MSM_G1, ic, n_ic, image + layout->offset[3], PM_PARAMS_PARTS, false},
        {"points of H", PM_MSM_G1, h, UINT64_C(1) << setup->qap.log_n, image + layout->offset[9],
         PM_PARAMS_PARTS, false},
        {"points of C", PM_MSM_G1, c, n_vars - n_ic, image + layout->offset[8], PM_PARAMS_PARTS,
         false},
        {"points of A", PM_MSM_G1, a, n_vars, image + layout->offset[5], PM_PARAMS_PARTS, false},
        {"points of B1", PM_MSM_G1, b, n_vars, image + layout->offset[6], PM_PARAMS_PARTS, false},
        {"points of B2", PM_MSM_G2, b, n_vars, image + layout->offset[7], PM_PARAMS_PARTS, false},
    };
    return run_queries(setup, queries, sizeof queries / sizeof queries[0], error);
}

static pm_status make_zkey(struct setup *setup, const char *path, pm_error *error) {
    char mark[160];
    (void)snprintf(mark, sizeof mark,
                   "proofmill development key: its secrets are known and anyone can forge proofs "
                   "with it; seed %llu",
                   (unsigned long long)setup->seed);
    PM_TRY(pm_row_chunks_make(setup->r1cs, setup->ledger, setup->control, &setup->rows, error));
    const struct pm_zkey_shape shape = {.curve = setup->kernels->curve,
                                        .n_vars = setup->qap.n_vars,
                                        .n_public = setup->qap.n_public,
                                        .log_n = setup->qap.log_n,
                                        .n_coefficients = pm_coefficients_count(&setup->rows),
                                        .contributions_bytes =
                                            CIRCUIT_HASH_BYTES + sizeof(uint32_t),
                                        .private_type = PM_ZKEY_SECTION_DEVELOPMENT,
                                        .private_bytes = strlen(mark)};
    struct pm_zkey_layout layout;
    PM_TRY(pm_zkey_layout_make(&shape, &layout, error));
    PM_TRY(pm_output_map_create(path, layout.n_bytes, &setup->out, error));
    PM_TRY(write_zkey(setup, &layout, mark, error));
    return pm_output_map_commit(&setup->out, error);
}

/* ---- params ---------------------------------------------------------------------------------- */

static uint64_t count_nonzero(const struct setup *setup, enum pm_qap_matrix matrix) {
    uint64_t n = 0;
    for (uint64_t wire = 0; wire < setup->qap.n_vars; ++wire) {
        n += !is_zero(setup->qap.columns[matrix] + wire * PM_FR_LIMBS_MAX);
    }
    return n;
}

/* bellman has no key for a circuit with a wire that nothing constrains. */
static pm_status refuse_unconstrained(const struct setup *setup, pm_error *error) {
    for (uint64_t wire = (uint64_t)setup->qap.n_public + 1; wire < setup->qap.n_vars; ++wire) {
        const uint64_t at = wire * PM_FR_LIMBS_MAX;
        if (is_zero(setup->qap.columns[PM_QAP_A] + at) &&
            is_zero(setup->qap.columns[PM_QAP_B] + at) &&
            is_zero(setup->qap.columns[PM_QAP_C] + at)) {
            pm_error_set(error, PM_COUNT,
                         "wire %llu occurs in no constraint; bellman's format has no key for such "
                         "a circuit",
                         (unsigned long long)wire);
            pm_error_at(error, setup->r1cs->container.mapping->name, PM_NO_OFFSET);
            return PM_COUNT;
        }
    }
    return PM_OK;
}

static pm_status write_header_points(struct setup *setup, pm_error *error) {
    static const enum pm_params_part in_g1[3] = {PM_PARAMS_ALPHA_G1, PM_PARAMS_BETA_G1,
                                                 PM_PARAMS_DELTA_G1};
    static const enum pm_params_part in_g2[3] = {PM_PARAMS_BETA_G2, PM_PARAMS_GAMMA_G2,
                                                 PM_PARAMS_DELTA_G2};
    const struct pm_curve *curve = setup->kernels->curve;
    struct header_points points;
    make_header_points(setup, &points);
    for (int i = 0; i < 3; ++i) {
        PM_TRY(pm_params_write_points(setup->params, curve, in_g1[i], 0, 1, points.g1[i], NULL,
                                      NULL, setup->out.bytes, error));
        PM_TRY(pm_params_write_points(setup->params, curve, in_g2[i], 0, 1, points.g2[i], NULL,
                                      NULL, setup->out.bytes, error));
    }
    return PM_OK;
}

static pm_status write_params(struct setup *setup, pm_error *error) {
    const uint64_t n_vars = setup->qap.n_vars, n_ic = (uint64_t)setup->qap.n_public + 1;
    const struct source a = {.fill = fill_column, .matrix = PM_QAP_A};
    const struct source b = {.fill = fill_column, .matrix = PM_QAP_B};
    const struct source h = {.fill = fill_powers};
    const struct source ic = {.fill = fill_combined, .divisor = setup->gamma_inverse};
    const struct source l = {
        .fill = fill_combined, .divisor = setup->delta_inverse, .first_wire = n_ic};
    const uint64_t n_h = setup->params->n[PM_PARAMS_H];
    const struct query queries[] = {
        {"points of ic", PM_MSM_G1, ic, n_ic, NULL, PM_PARAMS_IC, false},
        {"points of h", PM_MSM_G1, h, n_h, NULL, PM_PARAMS_H, false},
        {"points of l", PM_MSM_G1, l, n_vars - n_ic, NULL, PM_PARAMS_L, false},
        {"points of a", PM_MSM_G1, a, n_vars, NULL, PM_PARAMS_A, true},
        {"points of b on G1", PM_MSM_G1, b, n_vars, NULL, PM_PARAMS_B_G1, true},
        {"points of b on G2", PM_MSM_G2, b, n_vars, NULL, PM_PARAMS_B_G2, true},
    };
    pm_params_write_counts(setup->params, setup->out.bytes);
    PM_TRY(write_header_points(setup, error));
    return run_queries(setup, queries, sizeof queries / sizeof queries[0], error);
}

static pm_status make_params(struct setup *setup, const char *path, pm_error *error) {
    PM_TRY(refuse_unconstrained(setup, error));
    const uint64_t n_inputs = (uint64_t)setup->qap.n_public + 1;
    const struct pm_params_counts counts = {.n_inputs = (uint32_t)n_inputs,
                                            .n_aux = (uint32_t)(setup->qap.n_vars - n_inputs),
                                            .log_n = setup->qap.log_n,
                                            .n_a = (uint32_t)count_nonzero(setup, PM_QAP_A),
                                            .n_b = (uint32_t)count_nonzero(setup, PM_QAP_B)};
    struct pm_params_layout layout;
    void *points = NULL;
    PM_TRY(pm_params_layout_make(&counts, &layout, error));
    PM_TRY(pm_memory_alloc_array(setup->ledger, "chunk of points", CHUNK_POINTS, PM_G2_BYTES_MAX,
                                 PM_MEMORY_PLAIN, &points, error));
    setup->points = points;
    PM_TRY(pm_output_map_create(path, layout.n_bytes, &setup->out, error));
    setup->params = &layout;
    PM_TRY(write_params(setup, error));
    return pm_output_map_commit(&setup->out, error);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* n multiples of the generator are to come. */
static pm_status base_create(struct setup *setup, enum pm_msm_group which, uint64_t n,
                             pm_error *error) {
    const struct pm_fixed_base *fixed_base = setup->fixed_base;
    struct pm_team *team = setup->kernels->team;
    struct base *base = &setup->bases[which];
    base->which = which;
    base->group = which == PM_MSM_G1 ? setup->kernels->curve->g1 : setup->kernels->curve->g2;
    base->window_bits = fixed_base->window_bits(which, n);
    PM_TRY(pm_memory_alloc(setup->ledger, "fixed-base table",
                           fixed_base->table_bytes(which, base->window_bits), PM_MEMORY_PLAIN,
                           &base->table, error));
    PM_TRY(pm_memory_alloc(setup->ledger, "fixed-base scratch",
                           fixed_base->scratch_bytes(which, pm_team_threads(team)),
                           PM_MEMORY_SECRET, &base->scratch, error));
    fixed_base->fill_table(which, base->window_bits, base->group->generator, team, base->table);
    return PM_OK;
}

static pm_status prepare(struct setup *setup, enum pm_root root, pm_error *error) {
    const struct pm_field *fr = field_of(setup);
    void *scalars = NULL;
    pm_development_secrets_make(setup->kernels->curve, setup->seed, &setup->secrets);
    fr->inv(setup->gamma_inverse, setup->secrets.gamma);
    fr->inv(setup->delta_inverse, setup->secrets.delta);
    pm_control_progress(setup->control, "columns at tau", 0, 1);
    PM_TRY(pm_qap_evaluate(setup->r1cs, setup->kernels->curve, root, setup->secrets.tau,
                           setup->kernels->team, setup->ledger, setup->control, &setup->qap,
                           error));
    PM_TRY(pm_memory_alloc_array(setup->ledger, "chunk of scalars", CHUNK_POINTS, PM_FR_BYTES,
                                 PM_MEMORY_SECRET, &scalars, error));
    setup->scalars = scalars;
    pm_control_progress(setup->control, "tables", 0, 1);
    const uint64_t n_vars = setup->qap.n_vars;
    PM_TRY(base_create(setup, PM_MSM_G1, 3 * n_vars + (UINT64_C(1) << setup->qap.log_n), error));
    return base_create(setup, PM_MSM_G2, n_vars, error);
}

pm_status pm_setup_known(const struct pm_kernels *kernels, enum pm_body body,
                         const struct pm_r1cs *r1cs, uint64_t seed, pm_key_format format,
                         const char *path, struct pm_ledger *ledger, const pm_control *control,
                         pm_error *error) {
    const bool is_params = format == PM_KEY_FORMAT_PARAMS;
    PM_FAIL_IF(is_params && kernels->curve->id != PM_CURVE_BLS12_381, error, PM_UNSUPPORTED,
               "bellman's parameter format is for bls12381, the constraint system is over %s",
               pm_curve_name(kernels->curve->id));
    struct setup setup = {.kernels = kernels,
                          .fixed_base = pm_fixed_base_get(kernels->curve->id, body),
                          .r1cs = r1cs,
                          .seed = seed,
                          .ledger = ledger,
                          .control = control};
    pm_status status = prepare(&setup, is_params ? PM_ROOT_BELLMAN : PM_ROOT_SNARKJS, error);
    if (status == PM_OK) {
        status = is_params ? make_params(&setup, path, error) : make_zkey(&setup, path, error);
    }
    pm_output_map_abandon(&setup.out);
    for (size_t i = 0; i < 2; ++i) {
        pm_memory_free(setup.bases[i].scratch);
        pm_memory_free(setup.bases[i].table);
    }
    pm_memory_free(setup.points);
    pm_memory_free(setup.scalars);
    pm_row_chunks_destroy(&setup.rows);
    pm_qap_destroy(&setup.qap);
    pm_memory_wipe(&setup, sizeof setup);
    return status;
}
