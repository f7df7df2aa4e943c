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
#include <string.h>

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

/* A constraint: the terms of A, B and C, of PM_R1CS_TERM_BYTES each, any alignment. */
struct pm_r1cs_row {
    const uint8_t *terms[3];
    uint32_t n_terms[3];
};

/*
 * Reads the row at `at` and returns where the next one begins. pm_r1cs_open() has checked the rows,
 * but a mapped file may be overwritten after that, so what would lie behind them is cut off: a row
 * never reaches beyond r1cs->rows_bytes, whatever it says.
 */
static inline const uint8_t *pm_r1cs_row_read(const struct pm_r1cs *r1cs, const uint8_t *at,
                                              struct pm_r1cs_row *row) {
    const uint8_t *const end = r1cs->rows + r1cs->rows_bytes;
    for (int matrix = 0; matrix < 3; ++matrix) {
        uint32_t n_terms = 0;
        if ((uint64_t)(end - at) >= sizeof n_terms) {
            memcpy(&n_terms, at, sizeof n_terms);
            at += sizeof n_terms;
        }
        const uint64_t n_fit = (uint64_t)(end - at) / PM_R1CS_TERM_BYTES;
        row->n_terms[matrix] = n_terms <= n_fit ? n_terms : (uint32_t)n_fit;
        row->terms[matrix] = at;
        at += (uint64_t)row->n_terms[matrix] * PM_R1CS_TERM_BYTES;
    }
    return at;
}

/* Below r1cs->n_wires, also in a file that has changed. */
static inline uint32_t pm_r1cs_term_wire(const struct pm_r1cs *r1cs, const uint8_t *term) {
    uint32_t wire;
    memcpy(&wire, term, sizeof wire);
    return wire < r1cs->n_wires ? wire : 0;
}

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
