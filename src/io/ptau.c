/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/ptau.h"

#include "base/limits.h"
#include "curve/curve.h"
#include "io/modulus.h"

enum {
    SECTION_HEADER = 1,
    SECTION_TAU_G1,
    SECTION_TAU_G2,
    SECTION_ALPHA_TAU_G1,
    SECTION_BETA_TAU_G1,
    SECTION_BETA_G2,
    SECTION_CONTRIBUTIONS,
    SECTION_LAGRANGE_TAU_G1 = 12,
    SECTION_LAGRANGE_TAU_G2,
    SECTION_LAGRANGE_ALPHA_TAU_G1,
    SECTION_LAGRANGE_BETA_TAU_G1
};

/* A contribution: three G1 and two G2 after it, the public key of six G1 and three G2, the state of
 * a hash, the next challenge, its type, the length of the parameters that follow. */
#define CONTRIBUTION_N_G1 9u
#define CONTRIBUTION_N_G2 5u
#define CONTRIBUTION_HASH_BYTES (216u + 64u)

static pm_status read_power(struct pm_cursor *cursor, const char *field, uint32_t *power,
                            pm_error *error) {
    PM_TRY(pm_cursor_u32(cursor, field, power, error));
    if (*power >= PM_LOG_N_MAX) {
        pm_cursor_fail(cursor, sizeof *power, error, PM_COUNT, "%s is %u, at most %d is possible",
                       field, *power, PM_LOG_N_MAX - 1);
        pm_error_need_have(error, PM_LOG_N_MAX - 1, *power);
        return PM_COUNT;
    }
    return PM_OK;
}

static pm_status read_header(struct pm_ptau *ptau, pm_error *error) {
    struct pm_cursor cursor;
    const uint8_t *q = NULL;
    uint32_t q_bytes = 0;
    PM_TRY(pm_container_section(&ptau->container, &pm_format_ptau, SECTION_HEADER, &cursor, error));
    PM_TRY(pm_modulus_read(&cursor, "the base field's prime q", &q, &q_bytes, error));
    ptau->curve = pm_modulus_find_base(q, q_bytes);
    if (ptau->curve == PM_CURVE_NONE) {
        char text[PM_MODULUS_TEXT_BYTES];
        return pm_cursor_fail(&cursor, q_bytes, error, PM_CURVE,
                              "the prime %s is the base field of neither bn128 nor bls12381",
                              pm_modulus_text(q, q_bytes, text));
    }
    PM_TRY(read_power(&cursor, "the power", &ptau->power, error));
    PM_TRY(read_power(&cursor, "the ceremony's power", &ptau->ceremony_power, error));
    return pm_cursor_finish(&cursor, error);
}

static pm_status read_points(const struct pm_ptau *ptau, uint32_t type, uint64_t n,
                             uint64_t point_bytes, const uint8_t **points, pm_error *error) {
    struct pm_cursor cursor;
    return pm_container_exact(&ptau->container, &pm_format_ptau, type, 0, n, point_bytes, &cursor,
                              points, error);
}

static pm_status read_powers(struct pm_ptau *ptau, uint64_t g1, uint64_t g2, pm_error *error) {
    const uint64_t n = UINT64_C(1) << ptau->power;
    PM_TRY(read_points(ptau, SECTION_TAU_G1, 2 * n - 1, g1, &ptau->tau_g1, error));
    PM_TRY(read_points(ptau, SECTION_TAU_G2, n, g2, &ptau->tau_g2, error));
    PM_TRY(read_points(ptau, SECTION_ALPHA_TAU_G1, n, g1, &ptau->alpha_tau_g1, error));
    PM_TRY(read_points(ptau, SECTION_BETA_TAU_G1, n, g1, &ptau->beta_tau_g1, error));
    return read_points(ptau, SECTION_BETA_G2, 1, g2, &ptau->beta_g2, error);
}

static pm_status read_contributions(struct pm_ptau *ptau, uint64_t g1, uint64_t g2,
                                    pm_error *error) {
    struct pm_cursor cursor;
    const uint8_t *skipped = NULL;
    const uint64_t fixed_bytes = CONTRIBUTION_N_G1 * g1 + CONTRIBUTION_N_G2 * g2 +
                                 CONTRIBUTION_HASH_BYTES + sizeof(uint32_t);
    PM_TRY(pm_container_section(&ptau->container, &pm_format_ptau, SECTION_CONTRIBUTIONS, &cursor,
                                error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of contributions", &ptau->n_contributions, error));
    for (uint32_t i = 0; i < ptau->n_contributions; ++i) {
        uint32_t n_parameters = 0;
        PM_TRY(pm_cursor_span(&cursor, "a contribution", 1, fixed_bytes, &skipped, error));
        PM_TRY(pm_cursor_u32(&cursor, "the length of its parameters", &n_parameters, error));
        PM_TRY(pm_cursor_span(&cursor, "its parameters", n_parameters, 1, &skipped, error));
    }
    return pm_cursor_finish(&cursor, error);
}

/* Before version 0.4 snarkjs left the basis of twice the size out of section 12. */
static pm_status refuse_old_preparation(const struct pm_ptau *ptau, uint64_t g1, pm_error *error) {
    const struct pm_section *section = pm_container_find(&ptau->container, SECTION_LAGRANGE_TAU_G1);
    const uint64_t n = UINT64_C(1) << ptau->power;
    if (section->n_bytes != (2 * n - 1) * g1) {
        return PM_OK;
    }
    pm_error_set(error, PM_LENGTH,
                 "section 12 (lagrange g1) lacks the basis of size 2^%u: it was prepared by an old "
                 "snarkjs, `snarkjs powersoftau convert` brings it up to date",
                 ptau->power + 1);
    pm_error_at(error, ptau->container.mapping->name, section->offset);
    pm_error_need_have(error, (4 * n - 1) * g1, section->n_bytes);
    return PM_LENGTH;
}

static pm_status read_lagrange(struct pm_ptau *ptau, uint64_t g1, uint64_t g2, pm_error *error) {
    const uint64_t n = UINT64_C(1) << ptau->power;
    for (uint32_t type = SECTION_LAGRANGE_TAU_G1; type <= SECTION_LAGRANGE_BETA_TAU_G1; ++type) {
        ptau->is_prepared = ptau->is_prepared || pm_container_find(&ptau->container, type) != NULL;
    }
    if (!ptau->is_prepared) {
        return PM_OK;
    }
    if (pm_container_find(&ptau->container, SECTION_LAGRANGE_TAU_G1) != NULL) {
        PM_TRY(refuse_old_preparation(ptau, g1, error));
    }
    PM_TRY(
        read_points(ptau, SECTION_LAGRANGE_TAU_G1, 4 * n - 1, g1, &ptau->lagrange_tau_g1, error));
    PM_TRY(
        read_points(ptau, SECTION_LAGRANGE_TAU_G2, 2 * n - 1, g2, &ptau->lagrange_tau_g2, error));
    PM_TRY(read_points(ptau, SECTION_LAGRANGE_ALPHA_TAU_G1, 2 * n - 1, g1,
                       &ptau->lagrange_alpha_tau_g1, error));
    return read_points(ptau, SECTION_LAGRANGE_BETA_TAU_G1, 2 * n - 1, g1,
                       &ptau->lagrange_beta_tau_g1, error);
}

static pm_status parse(const struct pm_mapping *mapping, struct pm_ptau *ptau, pm_error *error) {
    PM_TRY(pm_container_open(mapping, &pm_format_ptau, &ptau->container, error));
    PM_TRY(read_header(ptau, error));
    const struct pm_curve *curve = pm_curve_get(ptau->curve, PM_BODY_PORTABLE);
    const uint64_t g1 = curve->g1->affine_bytes, g2 = curve->g2->affine_bytes;
    PM_TRY(read_powers(ptau, g1, g2, error));
    PM_TRY(read_contributions(ptau, g1, g2, error));
    return read_lagrange(ptau, g1, g2, error);
}

pm_status pm_ptau_open(const struct pm_mapping *mapping, struct pm_ptau *ptau, pm_error *error) {
    *ptau = (struct pm_ptau){0};
    const pm_status status = parse(mapping, ptau, error);
    PM_TRY(pm_mapping_check(mapping, error));
    return status;
}
