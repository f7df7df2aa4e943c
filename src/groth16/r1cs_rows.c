/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/r1cs_rows.h"

pm_status pm_row_chunks_make(const struct pm_r1cs *r1cs, struct pm_ledger *ledger,
                             const pm_control *control, struct pm_row_chunks *rows,
                             pm_error *error) {
    const uint8_t *at = r1cs->rows;
    void *chunks = NULL;
    *rows = (struct pm_row_chunks){
        .r1cs = r1cs,
        .n_chunks = ((uint64_t)r1cs->n_constraints + PM_ROWS_PER_CHUNK - 1) / PM_ROWS_PER_CHUNK};
    PM_TRY(pm_memory_alloc_array(ledger, "where rows begin", rows->n_chunks + 1,
                                 sizeof(struct pm_row_chunk), PM_MEMORY_PLAIN, &chunks, error));
    rows->chunks = chunks;
    for (uint64_t row = 0; row < r1cs->n_constraints; ++row) {
        struct pm_r1cs_row terms;
        if (row % PM_ROWS_PER_CHUNK == 0) {
            const pm_status status = pm_control_check(control, error);
            if (status != PM_OK) {
                pm_row_chunks_destroy(rows);
                return status;
            }
            rows->chunks[row / PM_ROWS_PER_CHUNK] =
                (struct pm_row_chunk){.at = at, .n_records = rows->n_records};
        }
        at = pm_r1cs_row_read(r1cs, at, &terms);
        rows->n_records += (uint64_t)terms.n_terms[0] + terms.n_terms[1];
        for (int matrix = 0; matrix < 3; ++matrix) {
            rows->n_terms[matrix] += terms.n_terms[matrix];
        }
    }
    return PM_OK;
}

void pm_row_chunks_destroy(struct pm_row_chunks *rows) {
    pm_memory_free(rows->chunks);
    rows->chunks = NULL;
}
