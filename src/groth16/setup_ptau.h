/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/setup_ptau.h - the proving key of a constraint system from the powers of tau of a
 * ceremony (Bowe, Gabizon, Miers, "Scalable multi-party computation for zk-SNARK parameters in the
 * random beacon model", 2017, section 7: what can be done before the circuit's own phase).
 *
 * No secret is known, so each point of a query is a sum of points of the ceremony's Lagrange basis,
 * weighted by a column of the constraint matrices. gamma and delta are one: delta is for the
 * contributions of phase 2 to change. The file is, byte for byte, what `snarkjs groth16 setup`
 * 0.7.6 writes.
 */
#ifndef PM_GROTH16_SETUP_PTAU_H
#define PM_GROTH16_SETUP_PTAU_H

#include "groth16/proving_key.h"
#include "io/ptau.h"
#include "io/r1cs.h"

/* log2 of the domain that snarkjs gives a system: the smallest power of two that holds the
 * constraints, the public signals and the constant one, and at least 2. */
uint32_t pm_setup_log_n(const struct pm_r1cs *r1cs);

/*
 * Writes the key to zkey_path, whole or not at all. kernels are those of r1cs->curve. Memory beside
 * the mapped files: 12 bytes a term and 8 bytes a wire of one query at a time, and some MiB a
 * thread; its peak is in *ledger. body: of the kernels.
 *
 * Errors: CURVE (the powers of tau are of another one), COUNT (of too low a power), SECTION (not
 * prepared), UNSUPPORTED (the domain is too large for the curve), INVALID_ARGUMENT and IO (see
 * pm_output_map_create()), NO_MEMORY, CANCELLED, DEADLINE, FILE_CHANGED.
 */
pm_status pm_setup_from_ptau(const struct pm_kernels *kernels, enum pm_body body,
                             const struct pm_r1cs *r1cs, const struct pm_ptau *ptau,
                             const char *zkey_path, struct pm_ledger *ledger,
                             const pm_control *control, pm_error *error);

#endif
