/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/coefficients.h"

#include "base/limits.h"
#include "io/zkey.h"

#include <string.h>

struct writer {
    const struct pm_row_chunks *rows;
    const struct pm_field *fr;
    uint8_t *records;
    uint8_t one[PM_FR_BYTES], minus_one[PM_FR_BYTES]; /* canonical */
    uint64_t one_r2[PM_FR_LIMBS_MAX], minus_one_r2[PM_FR_LIMBS_MAX];
};

uint64_t pm_coefficients_count(const struct pm_row_chunks *rows) {
    return rows->n_records + pm_r1cs_n_bound_rows(rows->r1cs);
}

static uint8_t *put_record(uint8_t *at, uint32_t matrix, uint64_t row, uint32_t wire,
                           const uint64_t *value) {
    const uint32_t indices[3] = {matrix, (uint32_t)row, wire};
    memcpy(at, indices, sizeof indices);
    memcpy(at + sizeof indices, value, PM_FR_BYTES);
    return at + PM_ZKEY_COEFFICIENT_BYTES;
}

static uint8_t *put_term(const struct writer *writer, uint8_t *at, uint32_t matrix, uint64_t row,
                         const uint8_t *term) {
    const uint32_t wire = pm_r1cs_term_wire(writer->rows->r1cs, term);
    const uint8_t *value = term + sizeof(uint32_t);
    if (memcmp(value, writer->one, PM_FR_BYTES) == 0) {
        return put_record(at, matrix, row, wire, writer->one_r2);
    }
    if (memcmp(value, writer->minus_one, PM_FR_BYTES) == 0) {
        return put_record(at, matrix, row, wire, writer->minus_one_r2);
    }
    uint64_t product[PM_FR_LIMBS_MAX];
    writer->fr->to_mont(product, value, 1);
    writer->fr->to_mont(product, product, 1);
    return put_record(at, matrix, row, wire, product);
}

static void write_chunk(void *argument, size_t chunk) {
    const struct writer *writer = argument;
    const struct pm_row_chunks *rows = writer->rows;
    const uint8_t *next = rows->chunks[chunk].at;
    uint8_t *at = writer->records + rows->chunks[chunk].n_records * PM_ZKEY_COEFFICIENT_BYTES;
    /* Rows that have grown since they were counted are cut off here. */
    const uint64_t n_end =
        chunk + 1 < rows->n_chunks ? rows->chunks[chunk + 1].n_records : rows->n_records;
    const uint8_t *const end = writer->records + n_end * PM_ZKEY_COEFFICIENT_BYTES;
    for (uint64_t row = pm_row_chunk_begin(chunk); row < pm_row_chunk_end(rows, chunk); ++row) {
        struct pm_r1cs_row terms;
        next = pm_r1cs_row_read(rows->r1cs, next, &terms);
        for (uint32_t matrix = 0; matrix < 2; ++matrix) {
            for (uint32_t i = 0; i < terms.n_terms[matrix] && at < end; ++i) {
                at = put_term(writer, at, matrix, row,
                              terms.terms[matrix] + (uint64_t)i * PM_R1CS_TERM_BYTES);
            }
        }
    }
}

pm_status pm_coefficients_write(const struct pm_row_chunks *rows, const struct pm_field *fr,
                                struct pm_team *team, struct pm_work *work, uint8_t *records,
                                pm_error *error) {
    struct writer writer = {.rows = rows, .fr = fr, .records = records, .one = {1}};
    uint64_t minus_one[PM_FR_LIMBS_MAX];
    fr->neg(minus_one, fr->one);
    fr->from_mont(writer.minus_one, minus_one, 1);
    fr->to_mont(writer.one_r2, fr->one, 1);
    fr->to_mont(writer.minus_one_r2, minus_one, 1);
    PM_TRY(pm_work_run(work, team, rows->n_chunks, write_chunk, &writer, error));
    uint8_t *at = records + rows->n_records * PM_ZKEY_COEFFICIENT_BYTES;
    for (uint64_t s = 0; s < pm_r1cs_n_bound_rows(rows->r1cs); ++s) {
        at = put_record(at, 0, rows->r1cs->n_constraints + s, (uint32_t)s, writer.one_r2);
    }
    return PM_OK;
}
