/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/plan_sizes.h - bytes of a key's parts, from its counts. */
#ifndef PM_GROTH16_PLAN_SIZES_H
#define PM_GROTH16_PLAN_SIZES_H

#include "groth16/plan.h"

/* INVALID_ARGUMENT: counts that contradict each other or any machine. UNSUPPORTED: a domain that
 * the curve does not have in this reduction. */
pm_status pm_plan_check_sizes(const struct pm_plan_sizes *sizes, pm_error *error);

/* Counts that have been checked, in all of these. */
uint64_t pm_plan_twiddle_bytes(const struct pm_plan_sizes *sizes);
/* All queries, affine; in the snarkjs reduction a point for each variable in A, B1 and B2. */
uint64_t pm_plan_point_bytes(const struct pm_plan_sizes *sizes);
/* Which variables have a point in A and B (groth16/proving_key.h). */
uint64_t pm_plan_density_bytes(const struct pm_plan_sizes *sizes);
/* As poly/sparse.h holds them, coefficients but for 1 and -1 not counted; 0 where the non-zeros are
 * not known. */
uint64_t pm_plan_matrix_bytes(const struct pm_plan_sizes *sizes);

#endif
