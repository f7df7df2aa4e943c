/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A counting sort in two passes over the rows: the first counts the terms of each column, the
 * second puts them in place. The order of terms within a column depends on the threads; their sum
 * does not.
 */
#include "groth16/term_index.h"

#include <stdbool.h>

/* What a term can say about where its value stands. */
#define ROWS_BYTES_MAX ((UINT64_C(1) << 48) - 1)

struct pass {
    const struct pm_row_chunks *rows;
    const struct pm_term_choice *choice;
    struct pm_work *work;
    /* First the number of terms of column c, then the place of its next one, at c + 1: when all
     * are placed, that is where column c + 1 begins. */
    uint64_t *next;
    struct pm_sparse_term *terms; /* NULL while counting */
    uint64_t n_terms;             /* places there are */
};

static void visit(const struct pass *pass, uint32_t wire, uint64_t row, int source,
                  const uint8_t *value) {
    const uint64_t at = __atomic_fetch_add(&pass->next[(uint64_t)wire + 1], 1, __ATOMIC_RELAXED);
    /* A mapped file that has grown since the first pass has more terms than places. */
    if (pass->terms == NULL || at >= pass->n_terms) {
        return;
    }
    struct pm_sparse_term term = {
        .point = (uint32_t)row, .value_high = PM_SPARSE_VALUE_ONE, .source = (uint16_t)source};
    if (value != NULL) {
        const uint64_t offset = (uint64_t)(value - pass->rows->r1cs->rows) / 4;
        term.value_low = (uint32_t)offset;
        term.value_high = (uint16_t)(offset >> 32);
    }
    pass->terms[at] = term;
}

static void visit_chunk(void *argument, size_t chunk) {
    const struct pass *pass = argument;
    const uint8_t *next = pass->rows->chunks[chunk].at;
    for (uint64_t row = pm_row_chunk_begin(chunk); row < pm_row_chunk_end(pass->rows, chunk);
         ++row) {
        struct pm_r1cs_row terms;
        next = pm_r1cs_row_read(pass->rows->r1cs, next, &terms);
        for (int matrix = 0; matrix < 3; ++matrix) {
            const int source = pass->choice->source[matrix];
            const uint32_t n = source != PM_TERM_UNUSED ? terms.n_terms[matrix] : 0;
            for (uint32_t i = 0; i < n; ++i) {
                const uint8_t *term = terms.terms[matrix] + (uint64_t)i * PM_R1CS_TERM_BYTES;
                visit(pass, pm_r1cs_term_wire(pass->rows->r1cs, term), row, source,
                      term + sizeof(uint32_t));
            }
        }
    }
}

static pm_status visit_all(const struct pass *pass, struct pm_team *team, pm_error *error) {
    const struct pm_r1cs *r1cs = pass->rows->r1cs;
    PM_TRY(pm_work_run(pass->work, team, pass->rows->n_chunks, visit_chunk, (void *)pass, error));
    if (pass->choice->bound != PM_TERM_UNUSED) {
        for (uint64_t s = 0; s < pm_r1cs_n_bound_rows(r1cs); ++s) {
            visit(pass, (uint32_t)s, r1cs->n_constraints + s, pass->choice->bound, NULL);
        }
    }
    return PM_OK;
}

/* Counts at c + 1 become the first place of column c. */
static void sum_counts(uint64_t *next, uint64_t n_columns) {
    uint64_t before = 0;
    for (uint64_t column = 0; column < n_columns; ++column) {
        const uint64_t count = next[column + 1];
        next[column + 1] = before;
        before += count;
    }
}

static uint64_t count_terms(const struct pm_row_chunks *rows, const struct pm_term_choice *choice) {
    uint64_t n = choice->bound != PM_TERM_UNUSED ? pm_r1cs_n_bound_rows(rows->r1cs) : 0;
    for (int matrix = 0; matrix < 3; ++matrix) {
        n += choice->source[matrix] != PM_TERM_UNUSED ? rows->n_terms[matrix] : 0;
    }
    return n;
}

/* Both passes saw the same rows, or columns would not end where the next ones begin. */
static pm_status check_starts(const struct pm_term_index *index, const struct pm_r1cs *r1cs,
                              pm_error *error) {
    bool is_whole = index->starts[index->n_columns] == index->n_terms;
    for (uint64_t column = 0; is_whole && column < index->n_columns; ++column) {
        is_whole = index->starts[column] <= index->starts[column + 1];
    }
    if (!is_whole) {
        pm_error_set(error, PM_FILE_CHANGED, "the constraints changed while they were read");
        pm_error_at(error, r1cs->container.mapping->name, r1cs->rows_offset);
        return PM_FILE_CHANGED;
    }
    return PM_OK;
}

static pm_status fill(struct pm_term_index *index, const struct pm_row_chunks *rows,
                      const struct pm_term_choice *choice, struct pm_team *team,
                      struct pm_ledger *ledger, struct pm_work *work, pm_error *error) {
    void *starts = NULL, *terms = NULL;
    PM_TRY(pm_memory_alloc_array(ledger, "columns of the constraint matrices", index->n_columns + 1,
                                 sizeof(uint64_t), PM_MEMORY_PLAIN, &starts, error));
    index->starts = starts;
    PM_TRY(pm_memory_alloc_array(ledger, "terms of the constraint matrices", index->n_terms,
                                 sizeof(struct pm_sparse_term), PM_MEMORY_PLAIN, &terms, error));
    index->terms = terms;
    struct pass pass = {.rows = rows,
                        .choice = choice,
                        .work = work,
                        .next = index->starts,
                        .n_terms = index->n_terms};
    PM_TRY(visit_all(&pass, team, error));
    sum_counts(index->starts, index->n_columns);
    pass.terms = index->terms;
    PM_TRY(visit_all(&pass, team, error));
    return check_starts(index, rows->r1cs, error);
}

pm_status pm_term_index_make(const struct pm_row_chunks *rows, const struct pm_term_choice *choice,
                             struct pm_team *team, struct pm_ledger *ledger, struct pm_work *work,
                             struct pm_term_index *index, pm_error *error) {
    *index = (struct pm_term_index){.n_columns = rows->r1cs->n_wires,
                                    .n_terms = count_terms(rows, choice)};
    PM_FAIL_IF(rows->r1cs->rows_bytes > ROWS_BYTES_MAX, error, PM_UNSUPPORTED,
               "%llu bytes of constraints are more than can be indexed",
               (unsigned long long)rows->r1cs->rows_bytes);
    const pm_status status = fill(index, rows, choice, team, ledger, work, error);
    if (status != PM_OK) {
        pm_term_index_destroy(index);
    }
    return status;
}

void pm_term_index_destroy(struct pm_term_index *index) {
    pm_memory_free(index->terms);
    pm_memory_free(index->starts);
    index->terms = NULL;
    index->starts = NULL;
}
