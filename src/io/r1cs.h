/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* io/r1cs.h - reads a rank-1 constraint system. doc/format_r1cs.md describes the bytes. */
#ifndef PM_IO_R1CS_H
#define PM_IO_R1CS_H

#include "base/control.h"
#include "ff/field.h"
#include "io/container.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/* A term of a row: u32 wire and the canonical little-endian coefficient. */
#define PM_R1CS_TERM_BYTES (4 + PM_FR_BYTES)

struct pm_r1cs {
    struct pm_container container;
    pm_curve_id curve;
    uint32_t n_wires, n_outputs, n_public_inputs, n_private_inputs, n_constraints;
    uint64_t n_labels;
    uint64_t n_terms;    /* of A, B and C together */
    const uint8_t *rows; /* section 2, checked: walks without further tests */
    uint64_t rows_bytes, rows_offset;
};

/* Checks structure, counts, each term's wire and value. The mapping is borrowed and must outlive
 * *r1cs. Errors: those of pm_container_open(), CURVE, TRUNCATED, SECTION, LENGTH, COUNT,
 * NOT_CANONICAL, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_r1cs_open(const struct pm_mapping *mapping, const pm_control *control,
                       struct pm_r1cs *r1cs, pm_error *error);
/* Evaluates every constraint at n_values canonical values. fr is the scalar field of r1cs->curve in
 * the body to compute with. UNSATISFIED: *row is the lowest failing one (also in the error's
 * sentence). Errors: WITNESS_MISMATCH (n_values is not the number of wires, or the first value is
 * not 1), NO_MEMORY, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_r1cs_check(const struct pm_r1cs *r1cs, const struct pm_field *fr,
                        const uint8_t *values, uint64_t n_values, struct pm_team *team,
                        const pm_control *control, uint64_t *row, pm_error *error);

#endif
