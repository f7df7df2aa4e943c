/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/known_ptau.h - powers of tau whose secrets are known, in any power within seconds.
 *
 * Every point is a multiple of a generator, so what takes snarkjs transforms over points takes a
 * transform over scalars here. The file has the layout that `snarkjs powersoftau prepare phase2`
 * writes and holds no contribution.
 */
#ifndef PM_TEST_SUPPORT_KNOWN_PTAU_H
#define PM_TEST_SUPPORT_KNOWN_PTAU_H

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* Writes it to path; without sections 12 to 15 unless prepared. Aborts the program when something
 * fails. */
void known_ptau_write(const char *path, pm_curve_id curve, uint32_t power, bool prepared,
                      uint32_t threads);

#endif
