/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/zkey.h - reads snarkjs's groth16 proving key. doc/format_zkey.md describes the bytes.
 *
 * The result points into the mapping. Opening checks everything that memory safety and the shape of
 * the computation depend on: header, moduli, counts, the length of every section against its count,
 * every coefficient's matrix, row, column and value. It does not look at points.
 */
#ifndef PM_IO_ZKEY_H
#define PM_IO_ZKEY_H

#include "base/control.h"
#include "curve/curve.h"
#include "io/container.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    PM_ZKEY_SECTION_PROTOCOL = 1,
    PM_ZKEY_SECTION_HEADER,
    PM_ZKEY_SECTION_IC,
    PM_ZKEY_SECTION_COEFFICIENTS,
    PM_ZKEY_SECTION_A,
    PM_ZKEY_SECTION_B1,
    PM_ZKEY_SECTION_B2,
    PM_ZKEY_SECTION_C,
    PM_ZKEY_SECTION_H,
    PM_ZKEY_SECTION_CONTRIBUTIONS,
    PM_ZKEY_SECTION_COUNT /* one more than the last type */
};

#define PM_ZKEY_PROTOCOL_GROTH16 1

/* A record of section 4: u32 matrix (0: A, 1: B), u32 row, u32 column, and the value times R^2. */
#define PM_ZKEY_COEFFICIENT_BYTES (12 + PM_FR_BYTES)

/* A groth16 proving key of the snarkjs reduction, as bytes in Montgomery affine form (see
 * curve/curve.h), of any alignment. Pointers are borrowed. */
struct pm_key_parts {
    pm_curve_id curve;
    uint32_t log_n;
    uint32_t n_vars;
    uint32_t n_public;
    const uint8_t *alpha_g1, *beta_g1, *delta_g1;
    const uint8_t *beta_g2, *gamma_g2, *delta_g2;
    const uint8_t *ic;           /* n_public + 1 G1; NULL when the file has none */
    const uint8_t *a, *b1, *b2;  /* n_vars */
    const uint8_t *c;            /* n_vars - n_public - 1 */
    const uint8_t *h;            /* 2^log_n */
    const uint8_t *coefficients; /* n_coefficients records of PM_ZKEY_COEFFICIENT_BYTES */
    uint64_t n_coefficients;
    bool coefficients_sorted; /* rows never decrease */
};

struct pm_zkey {
    struct pm_container container;
    struct pm_key_parts parts;
    uint32_t n_rows;             /* highest row used by a coefficient, plus one */
    uint64_t n_of_a;             /* coefficients of matrix A; the others are of B */
    bool has_circuit_hash;       /* whether there is a section 10 */
    const uint8_t *circuit_hash; /* 64 bytes, section 10 */
    uint32_t n_contributions;
};

/* team: validates the coefficients in parallel; may be NULL. The mapping is borrowed and must
 * outlive *zkey. Errors: those of pm_container_open(), PROTOCOL, CURVE, TRUNCATED, SECTION, LENGTH,
 * COUNT, NOT_CANONICAL, UNSUPPORTED, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_zkey_open(const struct pm_mapping *mapping, struct pm_team *team,
                       const pm_control *control, struct pm_zkey *zkey, pm_error *error);

/* Every point: coordinates, curve, subgroup unless how stops before it; infinity where none may be
 * (the header's points and h). Reports the fault at the lowest offset. curve is the table of
 * zkey->parts.curve in the body to compute with. Errors: NOT_CANONICAL, NOT_ON_CURVE,
 * NOT_IN_SUBGROUP, POINT_AT_INFINITY, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_zkey_check_points(const struct pm_zkey *zkey, const struct pm_curve *curve,
                               enum pm_point_check how, struct pm_team *team,
                               const pm_control *control, pm_error *error);

#endif
