/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/term_index.h - constraint matrices by column: where the terms of each wire stand.
 *
 * The .r1cs lists terms row by row and a query needs them wire by wire. The index holds 12 bytes a
 * term and leaves the values in the mapped file.
 */
#ifndef PM_GROTH16_TERM_INDEX_H
#define PM_GROTH16_TERM_INDEX_H

#include "groth16/r1cs_rows.h"
#include "groth16/work.h"
#include "msm/sparse_sum.h"
#include "par/team.h"

#include <stdint.h>

#define PM_TERM_UNUSED (-1)

/* Which matrices are indexed, and as which source (msm/sparse_sum.h) their terms count. */
struct pm_term_choice {
    int source[3]; /* of A, B, C; PM_TERM_UNUSED: left out */
    int bound;     /* of the rows that bind the constant one and the public signals: row
                      n_constraints + s, wire s, value one */
};

struct pm_term_index {
    uint64_t n_columns; /* wires */
    uint64_t n_terms;
    uint64_t *starts;             /* n_columns + 1; owned */
    struct pm_sparse_term *terms; /* a term's point is its row; owned */
};

/* Errors: NO_MEMORY, UNSUPPORTED (constraints of 2^48 bytes and more), CANCELLED, DEADLINE. */
pm_status pm_term_index_make(const struct pm_row_chunks *rows, const struct pm_term_choice *choice,
                             struct pm_team *team, struct pm_ledger *ledger, struct pm_work *work,
                             struct pm_term_index *index, pm_error *error);
void pm_term_index_destroy(struct pm_term_index *index);

#endif
