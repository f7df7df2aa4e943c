/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/r1cs.h"

#include "base/clock.h"
#include "base/limits.h"
#include "io/modulus.h"

#include <string.h>

enum { SECTION_HEADER = 1, SECTION_ROWS = 2, SECTION_LABELS = 3 };

/* Rows between two looks at the clock while opening. */
#define ROWS_PER_STEP 16384u

static pm_status read_header(struct pm_r1cs *r1cs, pm_error *error) {
    struct pm_cursor cursor;
    PM_TRY(pm_container_section(&r1cs->container, &pm_format_r1cs, SECTION_HEADER, &cursor, error));
    PM_TRY(pm_modulus_read_scalar(&cursor, &r1cs->curve, error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of wires", &r1cs->n_wires, error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of public outputs", &r1cs->n_outputs, error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of public inputs", &r1cs->n_public_inputs, error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of private inputs", &r1cs->n_private_inputs, error));
    const uint64_t need =
        UINT64_C(1) + r1cs->n_outputs + r1cs->n_public_inputs + (uint64_t)r1cs->n_private_inputs;
    if (r1cs->n_wires < need) {
        pm_cursor_fail(&cursor, 4 * sizeof(uint32_t), error, PM_COUNT,
                       "%u wires cannot hold wire 0 (the constant one), %u outputs, %u public and "
                       "%u private inputs, which are %llu",
                       r1cs->n_wires, r1cs->n_outputs, r1cs->n_public_inputs,
                       r1cs->n_private_inputs, (unsigned long long)need);
        pm_error_need_have(error, need, r1cs->n_wires);
        return PM_COUNT;
    }
    PM_TRY(pm_cursor_u64(&cursor, "the number of labels", &r1cs->n_labels, error));
    PM_TRY(pm_cursor_u32(&cursor, "the number of constraints", &r1cs->n_constraints, error));
    return pm_cursor_finish(&cursor, error);
}

/* One linear combination: u32 number of terms, then the terms. */
static pm_status check_combination(struct pm_r1cs *r1cs, struct pm_cursor *cursor,
                                   const uint64_t *modulus, uint64_t row, char matrix,
                                   pm_error *error) {
    uint32_t n_terms = 0;
    const uint8_t *terms = NULL;
    PM_TRY(pm_cursor_u32(cursor, "the number of terms", &n_terms, error));
    PM_TRY(pm_cursor_span(cursor, "the terms", n_terms, PM_R1CS_TERM_BYTES, &terms, error));
    for (uint32_t i = 0; i < n_terms; ++i) {
        const uint8_t *term = terms + (uint64_t)i * PM_R1CS_TERM_BYTES;
        const uint64_t back = (uint64_t)(n_terms - i) * PM_R1CS_TERM_BYTES;
        uint32_t wire = 0;
        memcpy(&wire, term, sizeof wire);
        if (wire >= r1cs->n_wires) {
            pm_cursor_fail(cursor, back, error, PM_COUNT,
                           "constraint %llu, %c, term %u: wire %u of %u", (unsigned long long)row,
                           matrix, i, wire, r1cs->n_wires);
            pm_error_need_have(error, r1cs->n_wires, wire);
            return PM_COUNT;
        }
        if (!pm_modulus_exceeds(modulus, term + sizeof wire)) {
            return pm_cursor_fail(cursor, back, error, PM_NOT_CANONICAL,
                                  "constraint %llu, %c, term %u: the coefficient is not below the "
                                  "prime",
                                  (unsigned long long)row, matrix, i);
        }
    }
    r1cs->n_terms += n_terms;
    return PM_OK;
}

static pm_status check_rows(struct pm_r1cs *r1cs, const pm_control *control, pm_error *error) {
    const uint64_t *modulus = pm_modulus_scalar(r1cs->curve);
    struct pm_cursor cursor;
    uint64_t reported_ns = pm_clock_now_ns();
    PM_TRY(pm_container_section(&r1cs->container, &pm_format_r1cs, SECTION_ROWS, &cursor, error));
    r1cs->rows_offset = cursor.position;
    r1cs->rows_bytes = pm_cursor_left(&cursor);
    r1cs->rows = r1cs->container.mapping->bytes + cursor.position;
    for (uint64_t row = 0; row < r1cs->n_constraints; ++row) {
        if (row % ROWS_PER_STEP == 0) {
            PM_TRY(pm_control_check(control, error));
            const uint64_t now_ns = pm_clock_now_ns();
            if (now_ns - reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
                reported_ns = now_ns;
                pm_control_progress(control, "reading the constraints", row, r1cs->n_constraints);
            }
        }
        PM_TRY(check_combination(r1cs, &cursor, modulus, row, 'A', error));
        PM_TRY(check_combination(r1cs, &cursor, modulus, row, 'B', error));
        PM_TRY(check_combination(r1cs, &cursor, modulus, row, 'C', error));
    }
    return pm_cursor_finish(&cursor, error);
}

static pm_status parse(const struct pm_mapping *mapping, const pm_control *control,
                       struct pm_r1cs *r1cs, pm_error *error) {
    PM_TRY(pm_control_check(control, error));
    PM_TRY(pm_container_open(mapping, &pm_format_r1cs, &r1cs->container, error));
    PM_TRY(read_header(r1cs, error));
    if (pm_container_find(&r1cs->container, SECTION_LABELS) != NULL) {
        struct pm_cursor cursor;
        const uint8_t *labels = NULL;
        PM_TRY(pm_container_exact(&r1cs->container, &pm_format_r1cs, SECTION_LABELS, 0,
                                  r1cs->n_wires, sizeof(uint64_t), &cursor, &labels, error));
    }
    return check_rows(r1cs, control, error);
}

pm_status pm_r1cs_open(const struct pm_mapping *mapping, const pm_control *control,
                       struct pm_r1cs *r1cs, pm_error *error) {
    *r1cs = (struct pm_r1cs){0};
    const pm_status status = parse(mapping, control, r1cs, error);
    PM_TRY(pm_mapping_check(mapping, error));
    return status;
}
