/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * poly/sparse.h - one matrix of a constraint system in little memory.
 *
 * Rows one behind the other, a term being a 32-bit column and a 32-bit index into a dictionary of
 * the different coefficients: eight bytes, where a file spends 36 or 44. Real systems have few
 * different coefficients. pm_poly.multiply_sparse multiplies.
 *
 * A matrix is built in two walks over rows that the caller hands out: the first counts, so that the
 * memory is sized exactly, and the second fills it.
 */
#ifndef PM_POLY_SPARSE_H
#define PM_POLY_SPARSE_H

#include "base/control.h"
#include "base/memory.h"
#include "ff/field.h"

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

/* A term as it is handed in (that of an .r1cs file): u32 column, then the canonical little-endian
 * coefficient of fr->bytes bytes. Any alignment. */
#define PM_SPARSE_TERM_BYTES(fr) (4 + (size_t)(fr)->bytes)

/* The terms of one row; borrowed until the callback is called again. */
struct pm_sparse_row {
    const uint8_t *terms;
    uint64_t n_terms;
};

/* Hands out row number `row`. Called for 0, 1, ... n_rows - 1 in this order, twice; a failure ends
 * the building and is passed up. The same column may occur twice in a row: coefficients add up. */
typedef pm_status pm_sparse_read_row(void *argument, uint64_t row, struct pm_sparse_row *out,
                                     pm_error *error);

/* Where a matrix comes from. fr is the scalar field in any body. */
struct pm_sparse_source {
    const struct pm_field *fr;
    uint64_t n_rows, n_columns;
    pm_sparse_read_row *read_row;
    void *argument;
};

struct pm_sparse_entry {
    uint32_t column, coefficient;
};

/* Read-only once built; shared by all proofs. */
struct pm_sparse {
    uint64_t n_rows, n_columns, n_terms, n_coefficients;
    const uint64_t *coefficients;        /* of fr->limbs words, times R^2 */
    const struct pm_sparse_entry *terms; /* below n_columns and n_coefficients, checked */
    const uint32_t *row_starts;          /* n_rows + 1 indices of terms */
    void *memory;                        /* what the three lie in; owned */
};

/* A matrix between the two walks. */
struct pm_sparse_builder {
    struct pm_sparse_source source;
    uint64_t n_terms, n_coefficients;
    struct pm_sparse_dictionary *dictionary; /* owned */
};

/* The first walk. *builder is untouched on failure. Errors: UNSUPPORTED (2^32 rows, columns or
 * terms or more), COUNT (a column that is not below n_columns), NOT_CANONICAL, NO_MEMORY, NO_RANDOM
 * (for the dictionary's hash), CANCELLED, DEADLINE, and those of read_row. */
pm_status pm_sparse_count(const struct pm_sparse_source *source, struct pm_ledger *ledger,
                          const pm_control *control, struct pm_sparse_builder *builder,
                          pm_error *error);
/* Bytes the matrix will have: of its one allocation. */
uint64_t pm_sparse_bytes(const struct pm_sparse_builder *builder);
/* The second walk. The caller destroys the matrix, which is untouched on failure, and in any case
 * the builder. Errors: FILE_CHANGED (the rows are not those that were counted), NO_MEMORY,
 * CANCELLED, DEADLINE, and those of read_row. */
pm_status pm_sparse_fill(struct pm_sparse_builder *builder, struct pm_ledger *ledger,
                         const pm_control *control, struct pm_sparse *matrix, pm_error *error);
/* NULL is fine in both. */
void pm_sparse_builder_destroy(struct pm_sparse_builder *builder);
void pm_sparse_destroy(struct pm_sparse *matrix);

#endif
