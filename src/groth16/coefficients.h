/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/coefficients.h - section 4 of a .zkey from a constraint system.
 *
 * The records stand in snarkjs's order: row by row the terms of A, then those of B, each in the
 * order of the .r1cs; then the rows that bind the constant one and the public signals, (A,
 * n_constraints + s, s, 1) for s from 0 to n_public. A value carries the factor R^2 (poly/poly.h).
 */
#ifndef PM_GROTH16_COEFFICIENTS_H
#define PM_GROTH16_COEFFICIENTS_H

#include "ff/field.h"
#include "groth16/r1cs_rows.h"
#include "groth16/work.h"
#include "par/team.h"

#include <stdint.h>

/* How many records there are. */
uint64_t pm_coefficients_count(const struct pm_row_chunks *rows);
/* Writes them all to `records`, of any alignment. Errors: CANCELLED, DEADLINE. */
pm_status pm_coefficients_write(const struct pm_row_chunks *rows, const struct pm_field *fr,
                                struct pm_team *team, struct pm_work *work, uint8_t *records,
                                pm_error *error);

#endif
