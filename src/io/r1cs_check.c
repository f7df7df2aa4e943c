/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Evaluates a constraint system at a witness.
 *
 * Rows have no fixed length, so one pass over the file notes where every ROWS_PER_BLOCK-th begins;
 * blocks of rows are then independent. The witness is taken to Montgomery form, w R, once; the
 * coefficients stay plain, as a Montgomery product of the two is k w, plain. Rows compare a b = c
 * with all three plain: mul(a, b) = a b / R against mul(c, 1) = c / R.
 */
#include "io/r1cs.h"
#include "io/scan.h"

#include <string.h>

#define ROWS_PER_BLOCK 256u
#define VALUES_PER_PIECE ((size_t)1 << 15)

struct evaluation {
    const struct pm_r1cs *r1cs;
    const struct pm_field *fr;
    const uint8_t *values; /* canonical */
    uint64_t *witness;     /* Montgomery, PM_FR_LIMBS_MAX words each */
    uint64_t *block_offsets;
};

_Static_assert(PM_FR_BYTES == 8 * PM_FR_LIMBS_MAX, "scalars of every curve have four words");

/* The inner product of one combination with the witness. */
static void evaluate(const struct evaluation *evaluation, const uint8_t *term, uint32_t n_terms,
                     uint64_t sum[PM_FR_LIMBS_MAX]) {
    const struct pm_field *fr = evaluation->fr;
    memset(sum, 0, PM_FR_BYTES);
    for (uint32_t i = 0; i < n_terms; ++i, term += PM_R1CS_TERM_BYTES) {
        const uint64_t wire = pm_r1cs_term_wire(evaluation->r1cs, term);
        uint64_t product[PM_FR_LIMBS_MAX];
        memcpy(product, term + sizeof(uint32_t), sizeof product);
        fr->mul(product, product, evaluation->witness + wire * PM_FR_LIMBS_MAX);
        fr->add(sum, sum, product);
    }
}

static bool is_satisfied(const struct evaluation *evaluation, const uint8_t **at) {
    static const uint64_t plain_one[PM_FR_LIMBS_MAX] = {1};
    uint64_t sums[3][PM_FR_LIMBS_MAX];
    struct pm_r1cs_row row;
    *at = pm_r1cs_row_read(evaluation->r1cs, *at, &row);
    for (int matrix = 0; matrix < 3; ++matrix) {
        evaluate(evaluation, row.terms[matrix], row.n_terms[matrix], sums[matrix]);
    }
    evaluation->fr->mul(sums[0], sums[0], sums[1]);
    evaluation->fr->mul(sums[2], sums[2], plain_one);
    return memcmp(sums[0], sums[2], sizeof sums[0]) == 0;
}

static uint64_t rows_before(const struct pm_r1cs *r1cs, uint64_t block) {
    const uint64_t rows = block * ROWS_PER_BLOCK;
    return rows < r1cs->n_constraints ? rows : r1cs->n_constraints;
}

/* The lowest failing row of a block, or the block's end. */
static uint64_t lowest_row(const struct evaluation *evaluation, uint64_t block) {
    const struct pm_r1cs *r1cs = evaluation->r1cs;
    const uint64_t end = rows_before(r1cs, block + 1);
    const uint8_t *at = r1cs->rows + evaluation->block_offsets[block];
    for (uint64_t row = rows_before(r1cs, block); row < end; ++row) {
        if (!is_satisfied(evaluation, &at)) {
            return row;
        }
    }
    return end;
}

static uint64_t scan_blocks(const void *argument, uint64_t begin, uint64_t end) {
    const struct evaluation *evaluation = argument;
    for (uint64_t block = begin; block < end; ++block) {
        if (lowest_row(evaluation, block) < rows_before(evaluation->r1cs, block + 1)) {
            return block;
        }
    }
    return end;
}

static void note_block_offsets(const struct evaluation *evaluation) {
    const struct pm_r1cs *r1cs = evaluation->r1cs;
    const uint8_t *at = r1cs->rows;
    for (uint64_t row = 0; row < r1cs->n_constraints; ++row) {
        if (row % ROWS_PER_BLOCK == 0) {
            evaluation->block_offsets[row / ROWS_PER_BLOCK] = (uint64_t)(at - r1cs->rows);
        }
        struct pm_r1cs_row terms;
        at = pm_r1cs_row_read(r1cs, at, &terms);
    }
}

static void convert_witness(void *argument, size_t begin, size_t end) {
    const struct evaluation *evaluation = argument;
    evaluation->fr->to_mont(evaluation->witness + begin * PM_FR_LIMBS_MAX,
                            evaluation->values + begin * PM_FR_BYTES, end - begin);
}

static pm_status check_shape(const struct pm_r1cs *r1cs, const uint8_t *values, uint64_t n_values,
                             pm_error *error) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    const char *file = r1cs->container.mapping->name;
    if (n_values != r1cs->n_wires) {
        pm_error_set(error, PM_WITNESS_MISMATCH,
                     "the constraint system has %u wires, the witness has %llu values",
                     r1cs->n_wires, (unsigned long long)n_values);
        pm_error_at(error, file, PM_NO_OFFSET);
        pm_error_need_have(error, r1cs->n_wires, n_values);
        return PM_WITNESS_MISMATCH;
    }
    if (memcmp(values, one, sizeof one) != 0) {
        pm_error_set(error, PM_WITNESS_MISMATCH,
                     "witness[0] is not 1: wire 0 must be 1, the constant");
        pm_error_at(error, file, PM_NO_OFFSET);
        return PM_WITNESS_MISMATCH;
    }
    return PM_OK;
}

static pm_status find_row(const struct evaluation *evaluation, struct pm_team *team,
                          const pm_control *control, uint64_t *row, pm_error *error) {
    const struct pm_r1cs *r1cs = evaluation->r1cs;
    const uint64_t n_blocks = ((uint64_t)r1cs->n_constraints + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    const struct pm_scan scan = {.phase = "evaluating the constraints",
                                 .n = n_blocks,
                                 .grain = 4,
                                 .progress_per_element = 1,
                                 .progress_total = n_blocks,
                                 .piece = scan_blocks,
                                 .argument = evaluation};
    uint64_t block = 0;
    note_block_offsets(evaluation);
    pm_team_for(team, r1cs->n_wires, VALUES_PER_PIECE, convert_witness,
                (void *)(uintptr_t)evaluation);
    PM_TRY(pm_scan_run(&scan, team, control, &block, error));
    if (block == n_blocks) {
        return PM_OK;
    }
    *row = lowest_row(evaluation, block);
    pm_error_set(error, PM_UNSATISFIED, "the witness does not satisfy constraint %llu of %u",
                 (unsigned long long)*row, r1cs->n_constraints);
    pm_error_at(error, r1cs->container.mapping->name, PM_NO_OFFSET);
    return PM_UNSATISFIED;
}

pm_status pm_r1cs_check(const struct pm_r1cs *r1cs, const struct pm_field *fr,
                        const uint8_t *values, uint64_t n_values, struct pm_team *team,
                        const pm_control *control, uint64_t *row, pm_error *error) {
    struct evaluation evaluation = {.r1cs = r1cs, .fr = fr, .values = values};
    void *witness = NULL, *offsets = NULL;
    pm_status status = PM_OK;
    PM_TRY(check_shape(r1cs, values, n_values, error));
    PM_TRY(pm_control_check(control, error));
    PM_TRY_GOTO(status,
                pm_memory_alloc_array(NULL, "the witness in montgomery form", n_values, PM_FR_BYTES,
                                      PM_MEMORY_SECRET, &witness, error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_memory_alloc_array(NULL, "the index of constraints",
                                      r1cs->n_constraints / ROWS_PER_BLOCK + 1, sizeof(uint64_t),
                                      PM_MEMORY_PLAIN, &offsets, error),
                cleanup);
    evaluation.witness = witness;
    evaluation.block_offsets = offsets;
    status = find_row(&evaluation, team, control, row, error);
    /* Rows that the guard replaced by zeros satisfy nothing and everything. */
    const pm_status changed = pm_mapping_check(r1cs->container.mapping, error);
    status = changed != PM_OK ? changed : status;

cleanup:
    pm_memory_free(offsets);
    pm_memory_free(witness);
    return status;
}
