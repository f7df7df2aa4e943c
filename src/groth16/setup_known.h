/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/setup_known.h - development keys, straight from known secrets.
 *
 * With tau known every query point is a multiple of the generator whose scalar can be computed, so
 * a key is one pass over the constraint system and one fixed-base multiplication a point: no powers
 * of tau, no ceremony, and no security (groth16/development.h).
 */
#ifndef PM_GROTH16_SETUP_KNOWN_H
#define PM_GROTH16_SETUP_KNOWN_H

#include "base/control.h"
#include "base/memory.h"
#include "groth16/proving_key.h"
#include "io/r1cs.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/*
 * Writes the development key of *r1cs with the secrets of `seed` to path, whole or not at all.
 *   PM_KEY_FORMAT_ZKEY    snarkjs reduction: H is the Lagrange basis of the odd coset over delta
 *   PM_KEY_FORMAT_PARAMS  bellman reduction (BLS12-381 alone): H_i = tau^i (tau^m - 1) / delta for
 *                         i < m - 1; points at infinity are left out of the A and B queries
 * Errors: UNSUPPORTED (params of another curve, domain too large), UNSATISFIED never; NO_MEMORY,
 * IO, INVALID_ARGUMENT, CANCELLED, DEADLINE, FILE_CHANGED; for params also COUNT: an auxiliary wire
 * that no constraint uses, for which bellman has no key.
 */
pm_status pm_setup_known(const struct pm_kernels *kernels, enum pm_body body,
                         const struct pm_r1cs *r1cs, uint64_t seed, pm_key_format format,
                         const char *path, struct pm_ledger *ledger, const pm_control *control,
                         pm_error *error);

#endif
