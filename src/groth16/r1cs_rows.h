/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/r1cs_rows.h - the rows of a constraint system, walked by several threads.
 *
 * A row's length is known only once it has been read, so one quick walk notes where every few
 * thousand rows begin, and from then on each such chunk can be walked on its own.
 */
#ifndef PM_GROTH16_R1CS_ROWS_H
#define PM_GROTH16_R1CS_ROWS_H

#include "base/control.h"
#include "base/memory.h"
#include "io/r1cs.h"

#include <stdint.h>
#include <string.h>

#define PM_ROWS_PER_CHUNK 2048u

/* Rows that bind the constant one and the public signals; they follow the constraints. */
static inline uint64_t pm_r1cs_n_bound_rows(const struct pm_r1cs *r1cs) {
    return (uint64_t)r1cs->n_outputs + r1cs->n_public_inputs + 1;
}

struct pm_row_chunk {
    const uint8_t *at;  /* its first row */
    uint64_t n_records; /* terms of A and B in the rows before it */
};

struct pm_row_chunks {
    const struct pm_r1cs *r1cs; /* borrowed */
    uint64_t n_chunks;
    uint64_t n_records; /* terms of A and B altogether */
    uint64_t n_terms[3];
    struct pm_row_chunk *chunks; /* owned */
};

/* First row of a chunk, and the row after its last. */
static inline uint64_t pm_row_chunk_begin(uint64_t chunk) {
    return chunk * PM_ROWS_PER_CHUNK;
}
static inline uint64_t pm_row_chunk_end(const struct pm_row_chunks *rows, uint64_t chunk) {
    const uint64_t end = (chunk + 1) * PM_ROWS_PER_CHUNK;
    return end < rows->r1cs->n_constraints ? end : rows->r1cs->n_constraints;
}

/* Errors: NO_MEMORY, CANCELLED, DEADLINE. */
pm_status pm_row_chunks_make(const struct pm_r1cs *r1cs, struct pm_ledger *ledger,
                             const pm_control *control, struct pm_row_chunks *rows,
                             pm_error *error);
void pm_row_chunks_destroy(struct pm_row_chunks *rows);

#endif
