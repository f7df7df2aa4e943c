/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/qap.h - the quadratic arithmetic program of a constraint system at one point.
 *
 * For each wire j the polynomials A_j, B_j, C_j interpolate column j of the constraint matrices
 * over the domain (Groth 2016, section 2.3). Here they are evaluated at a known tau by one pass
 * over the rows: A_j(tau) = sum_i A_ij L_i(tau). Both reductions add a row A = wire s, B = C = 0
 * for the constant and each public wire s, after the constraints, so that these columns are
 * independent.
 */
#ifndef PM_GROTH16_QAP_H
#define PM_GROTH16_QAP_H

#include "base/control.h"
#include "base/memory.h"
#include "curve/curve.h"
#include "io/r1cs.h"
#include "par/team.h"
#include "poly/poly.h"

#include <stdint.h>

enum pm_qap_matrix { PM_QAP_A = 0, PM_QAP_B = 1, PM_QAP_C = 2 };

struct pm_qap {
    uint32_t log_n; /* smallest domain that holds all rows */
    uint32_t n_vars, n_public;
    uint64_t *columns[3]; /* n_vars scalars each, Montgomery; secret buffers, owned */
};

/* Rows of the system, the bound ones included. */
uint64_t pm_qap_n_rows(const struct pm_r1cs *r1cs);
/* log2 of the smallest power of two that is at least pm_qap_n_rows(). */
uint32_t pm_qap_log_n(const struct pm_r1cs *r1cs);

/* tau: Montgomery. Errors: UNSUPPORTED, NO_MEMORY, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_qap_evaluate(const struct pm_r1cs *r1cs, const struct pm_curve *curve,
                          enum pm_root root, const uint64_t *tau, struct pm_team *team,
                          struct pm_ledger *ledger, const pm_control *control, struct pm_qap *qap,
                          pm_error *error);
void pm_qap_destroy(struct pm_qap *qap);

#endif
