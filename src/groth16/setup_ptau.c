/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/setup_ptau.h"

#include "groth16/circuit_hash.h"
#include "groth16/coefficients.h"
#include "groth16/column_sums.h"
#include "groth16/term_index.h"
#include "io/modulus.h"
#include "io/output_map.h"
#include "io/zkey_layout.h"

#include <string.h>

/* The hash and the number of contributions, which is 0. */
#define CONTRIBUTIONS_BYTES (PM_CIRCUIT_HASH_BYTES + sizeof(uint32_t))
/* Points of h copied by one task. */
#define H_POINTS_PER_TASK 4096u

struct setup {
    const struct pm_curve *curve;
    const struct pm_r1cs *r1cs;
    const struct pm_ptau *ptau;
    struct pm_team *team;
    struct pm_ledger *ledger;
    const pm_control *control;
    uint32_t log_n;
    struct pm_row_chunks rows;
    struct pm_zkey_layout layout;
    struct pm_work work;
    struct pm_column_sums sums;
    uint8_t *image;
};

uint32_t pm_setup_log_n(const struct pm_r1cs *r1cs) {
    const uint64_t n_rows = r1cs->n_constraints + pm_r1cs_n_bound_rows(r1cs);
    uint32_t log_n = 1;
    while (UINT64_C(1) << log_n < n_rows) {
        ++log_n;
    }
    return log_n;
}

static pm_status refuse_power(const struct setup *setup, pm_error *error) {
    const struct pm_r1cs *r1cs = setup->r1cs;
    pm_error_set(error, PM_COUNT,
                 "ptau too small: it has power %u, the circuit needs %u (%u constraints, %u public "
                 "signals and the constant one)",
                 setup->ptau->power, setup->log_n, r1cs->n_constraints,
                 r1cs->n_outputs + r1cs->n_public_inputs);
    pm_error_at(error, setup->ptau->container.mapping->name, PM_NO_OFFSET);
    pm_error_need_have(error, setup->log_n, setup->ptau->power);
    return PM_COUNT;
}

static pm_status check_match(const struct setup *setup, pm_error *error) {
    const struct pm_ptau *ptau = setup->ptau;
    const char *name = ptau->container.mapping->name;
    const uint32_t log_n_max = pm_modulus_scalar_two_adicity(setup->r1cs->curve) - 1;
    if (ptau->curve != setup->r1cs->curve) {
        pm_error_set(error, PM_CURVE, "the ptau is over %s, the circuit over %s",
                     pm_curve_name(ptau->curve), pm_curve_name(setup->r1cs->curve));
        pm_error_at(error, name, PM_NO_OFFSET);
        return PM_CURVE;
    }
    if (setup->log_n > log_n_max) {
        pm_error_set(error, PM_UNSUPPORTED,
                     "the circuit needs a domain of 2^%u, for %s at most 2^%u is possible",
                     setup->log_n, pm_curve_name(ptau->curve), log_n_max);
        pm_error_at(error, setup->r1cs->container.mapping->name, PM_NO_OFFSET);
        pm_error_need_have(error, log_n_max, setup->log_n);
        return PM_UNSUPPORTED;
    }
    if (setup->log_n > ptau->power) {
        return refuse_power(setup, error);
    }
    if (!ptau->is_prepared) {
        pm_error_set(error, PM_SECTION,
                     "the ptau is not prepared for phase 2, sections 12 to 15 are missing: run "
                     "`snarkjs powersoftau prepare phase2` on it");
        pm_error_at(error, name, PM_NO_OFFSET);
        return PM_SECTION;
    }
    return PM_OK;
}

static void write_headers(const struct setup *setup) {
    const struct pm_curve *curve = setup->curve;
    const struct pm_zkey_header_points points = {.alpha_g1 = setup->ptau->alpha_tau_g1,
                                                 .beta_g1 = setup->ptau->beta_tau_g1,
                                                 .beta_g2 = setup->ptau->beta_g2,
                                                 .gamma_g2 = curve->g2->generator,
                                                 .delta_g1 = curve->g1->generator,
                                                 .delta_g2 = curve->g2->generator};
    pm_zkey_layout_write_headers(&setup->layout, &points, setup->image);
}

/* The point `first` of the basis of size 2^log_size in a section of such bases. */
static const uint8_t *basis(const uint8_t *section, uint32_t log_size, uint64_t point_bytes) {
    return section + ((UINT64_C(1) << log_size) - 1) * point_bytes;
}

/* h[i] is L_(2i+1) of twice the domain. */
static void copy_h(void *argument, size_t task) {
    const struct setup *setup = argument;
    const uint64_t point_bytes = setup->curve->g1->affine_bytes, n = UINT64_C(1) << setup->log_n;
    const uint8_t *from = basis(setup->ptau->lagrange_tau_g1, setup->log_n + 1, point_bytes);
    uint8_t *to = setup->image + setup->layout.offset[PM_ZKEY_SECTION_H];
    const uint64_t begin = task * H_POINTS_PER_TASK, end = begin + H_POINTS_PER_TASK;
    for (uint64_t i = begin; i < (end < n ? end : n); ++i) {
        memcpy(to + i * point_bytes, from + (2 * i + 1) * point_bytes, point_bytes);
    }
}

static pm_status write_h(struct setup *setup, pm_error *error) {
    const uint64_t n = UINT64_C(1) << setup->log_n;
    setup->work.phase = "h points";
    return pm_work_run(&setup->work, setup->team, (n + H_POINTS_PER_TASK - 1) / H_POINTS_PER_TASK,
                       copy_h, setup, error);
}

static pm_status write_coefficients(struct setup *setup, pm_error *error) {
    setup->work.phase = "coefficients";
    return pm_coefficients_write(&setup->rows, setup->curve->fr, setup->team, &setup->work,
                                 setup->image + setup->layout.records_offset, error);
}

static pm_status sum_section(struct setup *setup, uint32_t type, const struct pm_term_index *index,
                             const uint8_t *const points[PM_SPARSE_SOURCES],
                             enum pm_msm_group group, uint64_t first, pm_error *error) {
    const struct pm_sparse_matrix matrix = {.points = {points[0], points[1], points[2]},
                                            .values = setup->r1cs->rows,
                                            .terms = index->terms,
                                            .starts = index->starts};
    const uint64_t point_bytes =
        group == PM_MSM_G1 ? setup->curve->g1->affine_bytes : setup->curve->g2->affine_bytes;
    return pm_column_sums_run(&setup->sums, group, &matrix, first,
                              setup->layout.section_bytes[type] / point_bytes,
                              setup->image + setup->layout.offset[type], error);
}

static pm_status make_index(struct setup *setup, const struct pm_term_choice *choice,
                            struct pm_term_index *index, pm_error *error) {
    return pm_term_index_make(&setup->rows, choice, setup->team, setup->ledger, &setup->work, index,
                              error);
}

/* beta A + alpha B + C: the public columns are ic, the others c. */
static pm_status write_ic_and_c(struct setup *setup, pm_error *error) {
    const struct pm_term_choice choice = {.source = {0, 1, 2}, .bound = 0};
    const uint64_t g1 = setup->curve->g1->affine_bytes;
    const uint8_t *const points[PM_SPARSE_SOURCES] = {
        basis(setup->ptau->lagrange_beta_tau_g1, setup->log_n, g1),
        basis(setup->ptau->lagrange_alpha_tau_g1, setup->log_n, g1),
        basis(setup->ptau->lagrange_tau_g1, setup->log_n, g1)};
    struct pm_term_index index;
    setup->work.phase = "ic and c points";
    PM_TRY(make_index(setup, &choice, &index, error));
    pm_status status = sum_section(setup, PM_ZKEY_SECTION_IC, &index, points, PM_MSM_G1, 0, error);
    if (status == PM_OK) {
        status = sum_section(setup, PM_ZKEY_SECTION_C, &index, points, PM_MSM_G1,
                             (uint64_t)setup->layout.shape.n_public + 1, error);
    }
    pm_term_index_destroy(&index);
    return status;
}

static pm_status write_a(struct setup *setup, pm_error *error) {
    const struct pm_term_choice choice = {.source = {0, PM_TERM_UNUSED, PM_TERM_UNUSED},
                                          .bound = 0};
    const uint8_t *const points[PM_SPARSE_SOURCES] = {
        basis(setup->ptau->lagrange_tau_g1, setup->log_n, setup->curve->g1->affine_bytes)};
    struct pm_term_index index;
    setup->work.phase = "a points";
    PM_TRY(make_index(setup, &choice, &index, error));
    const pm_status status =
        sum_section(setup, PM_ZKEY_SECTION_A, &index, points, PM_MSM_G1, 0, error);
    pm_term_index_destroy(&index);
    return status;
}

static pm_status write_b(struct setup *setup, pm_error *error) {
    const struct pm_term_choice choice = {.source = {PM_TERM_UNUSED, 0, PM_TERM_UNUSED},
                                          .bound = PM_TERM_UNUSED};
    const uint8_t *const g1[PM_SPARSE_SOURCES] = {
        basis(setup->ptau->lagrange_tau_g1, setup->log_n, setup->curve->g1->affine_bytes)};
    const uint8_t *const g2[PM_SPARSE_SOURCES] = {
        basis(setup->ptau->lagrange_tau_g2, setup->log_n, setup->curve->g2->affine_bytes)};
    struct pm_term_index index;
    setup->work.phase = "b1 points";
    PM_TRY(make_index(setup, &choice, &index, error));
    pm_status status = sum_section(setup, PM_ZKEY_SECTION_B1, &index, g1, PM_MSM_G1, 0, error);
    if (status == PM_OK) {
        setup->work.phase = "b2 points";
        status = sum_section(setup, PM_ZKEY_SECTION_B2, &index, g2, PM_MSM_G2, 0, error);
    }
    pm_term_index_destroy(&index);
    return status;
}

static pm_status write_circuit_hash(struct setup *setup, pm_error *error) {
    uint8_t *at = setup->image + setup->layout.offset[PM_ZKEY_SECTION_CONTRIBUTIONS];
    uint8_t hash[PM_CIRCUIT_HASH_BYTES];
    const uint32_t n_contributions = 0;
    setup->work.phase = "circuit hash";
    PM_TRY(pm_circuit_hash(&setup->sums, setup->ptau, &setup->layout, setup->image, hash, error));
    memcpy(at, hash, sizeof hash);
    memcpy(at + sizeof hash, &n_contributions, sizeof n_contributions);
    return PM_OK;
}

static pm_status write_image(struct setup *setup, pm_error *error) {
    write_headers(setup);
    PM_TRY(write_coefficients(setup, error));
    PM_TRY(write_h(setup, error));
    PM_TRY(write_ic_and_c(setup, error));
    PM_TRY(write_a(setup, error));
    PM_TRY(write_b(setup, error));
    PM_TRY(write_circuit_hash(setup, error));
    PM_TRY(pm_mapping_check(setup->r1cs->container.mapping, error));
    return pm_mapping_check(setup->ptau->container.mapping, error);
}

static pm_status make_layout(struct setup *setup, pm_error *error) {
    const struct pm_r1cs *r1cs = setup->r1cs;
    const struct pm_zkey_shape shape = {.curve = setup->curve,
                                        .n_vars = r1cs->n_wires,
                                        .n_public = r1cs->n_outputs + r1cs->n_public_inputs,
                                        .log_n = setup->log_n,
                                        .n_coefficients = pm_coefficients_count(&setup->rows),
                                        .contributions_bytes = CONTRIBUTIONS_BYTES};
    return pm_zkey_layout_make(&shape, &setup->layout, error);
}

/* A unit for each term and each column of every query, those in G2 weighted. */
static uint64_t count_work(const struct setup *setup) {
    const struct pm_row_chunks *rows = &setup->rows;
    const uint64_t n_bound = pm_r1cs_n_bound_rows(setup->r1cs), n_vars = setup->r1cs->n_wires;
    const uint64_t c = rows->n_terms[0] + rows->n_terms[1] + rows->n_terms[2] + n_bound + n_vars;
    const uint64_t a = rows->n_terms[0] + n_bound + n_vars;
    const uint64_t b = rows->n_terms[1] + n_vars;
    return c + a + (1 + PM_WORK_PER_G2_ADDITION) * b + pm_circuit_hash_work(setup->log_n);
}

static pm_status write_key(struct setup *setup, const char *zkey_path, pm_error *error) {
    struct pm_output_map map = {0};
    PM_TRY(make_layout(setup, error));
    setup->work = (struct pm_work){.control = setup->control, .total = count_work(setup)};
    setup->sums.work = &setup->work;
    PM_TRY(pm_output_map_create(zkey_path, setup->layout.n_bytes, &map, error));
    setup->image = map.bytes;
    const pm_status status = write_image(setup, error);
    if (status != PM_OK) {
        pm_output_map_abandon(&map);
        return status;
    }
    pm_control_progress(setup->control, "syncing the key", setup->work.total, setup->work.total);
    return pm_output_map_commit(&map, error);
}

pm_status pm_setup_from_ptau(const struct pm_kernels *kernels, enum pm_body body,
                             const struct pm_r1cs *r1cs, const struct pm_ptau *ptau,
                             const char *zkey_path, struct pm_ledger *ledger,
                             const pm_control *control, pm_error *error) {
    struct setup setup = {.curve = kernels->curve,
                          .r1cs = r1cs,
                          .ptau = ptau,
                          .team = kernels->team,
                          .ledger = ledger,
                          .control = control,
                          .log_n = pm_setup_log_n(r1cs),
                          .sums = {.curve = kernels->curve,
                                   .sparse = pm_sparse_sum_get(r1cs->curve, body),
                                   .msm = kernels->msm,
                                   .team = kernels->team,
                                   .ledger = ledger}};
    PM_FAIL_IF(setup.sums.sparse == NULL, error, PM_UNSUPPORTED,
               "no %s arithmetic for curve %s in this build or on this CPU", pm_body_name(body),
               pm_curve_name(r1cs->curve));
    PM_TRY(check_match(&setup, error));
    PM_TRY(pm_row_chunks_make(r1cs, ledger, control, &setup.rows, error));
    const pm_status status = write_key(&setup, zkey_path, error);
    pm_row_chunks_destroy(&setup.rows);
    return status;
}
