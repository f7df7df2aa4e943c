/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/column_sums.h - a query of a proving key: the columns of constraint matrices, each summed
 * over the points of a Lagrange basis.
 */
#ifndef PM_GROTH16_COLUMN_SUMS_H
#define PM_GROTH16_COLUMN_SUMS_H

#include "base/memory.h"
#include "curve/curve.h"
#include "groth16/work.h"
#include "msm/msm.h"
#include "msm/sparse_sum.h"
#include "par/team.h"

#include <stdint.h>

/* An addition in G2 costs about as much as this many in G1. */
#define PM_WORK_PER_G2_ADDITION 3

struct pm_column_sums {
    const struct pm_curve *curve;
    const struct pm_sparse_sum *sparse;
    const struct pm_msm *msm;
    struct pm_team *team;
    struct pm_ledger *ledger;
    struct pm_work *work; /* advanced by the number of terms and columns, more for G2 */
};

/* Writes the sums of columns first to first + n, affine Montgomery, to points (any alignment).
 * Columns of many terms are split among the threads, others are shared out. Errors: NO_MEMORY,
 * CANCELLED, DEADLINE. */
pm_status pm_column_sums_run(const struct pm_column_sums *sums, enum pm_msm_group group,
                             const struct pm_sparse_matrix *matrix, uint64_t first, uint64_t n,
                             uint8_t *points, pm_error *error);

#endif
