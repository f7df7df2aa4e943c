/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/circuit_hash.h - the hash by which snarkjs ties contributions to a circuit: BLAKE2b-512
 * over the points of the key as setup made it. doc/format_ptau.md says what exactly is hashed.
 */
#ifndef PM_GROTH16_CIRCUIT_HASH_H
#define PM_GROTH16_CIRCUIT_HASH_H

#include "groth16/column_sums.h"
#include "io/ptau.h"
#include "io/zkey_layout.h"

#include <stdint.h>

#define PM_CIRCUIT_HASH_BYTES 64

/* How much pm_circuit_hash() adds to sums->work for the differences of powers of tau. */
uint64_t pm_circuit_hash_work(uint32_t log_n);

/* image: the key that layout describes, sections 2, 3 and 5 to 8 filled in. Errors: NO_MEMORY,
 * SECTION (the powers of tau end where snarkjs reads on), CANCELLED, DEADLINE. */
pm_status pm_circuit_hash(const struct pm_column_sums *sums, const struct pm_ptau *ptau,
                          const struct pm_zkey_layout *layout, const uint8_t *image,
                          uint8_t hash[PM_CIRCUIT_HASH_BYTES], pm_error *error);

#endif
