/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/ptau.h - reads the powers of tau of a ceremony. doc/format_ptau.md describes the bytes.
 *
 * Opening checks the header and the exact length of every section. Points are not looked at: there
 * may be hundreds of GiB of them, and `snarkjs powersoftau verify` is the check that counts.
 */
#ifndef PM_IO_PTAU_H
#define PM_IO_PTAU_H

#include "io/container.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>

/* Points are affine Montgomery bytes as curve/curve.h holds them, of any alignment, inside the
 * mapping. n stands for 2^power. */
struct pm_ptau {
    struct pm_container container;
    pm_curve_id curve;
    uint32_t power;                                     /* of this file */
    uint32_t ceremony_power;                            /* of the ceremony that it was cut from */
    const uint8_t *tau_g1;                              /* 2 n - 1 */
    const uint8_t *tau_g2, *alpha_tau_g1, *beta_tau_g1; /* n each */
    const uint8_t *beta_g2;
    uint32_t n_contributions;

    /* For each p from 0 on, the 2^p points of the Lagrange basis of the domain of that size, one
     * basis after the other: that of size 2^p begins at point 2^p - 1. */
    bool is_prepared;               /* the rest is NULL otherwise */
    const uint8_t *lagrange_tau_g1; /* p up to power + 1 */
    const uint8_t *lagrange_tau_g2; /* p up to power, like the next two */
    const uint8_t *lagrange_alpha_tau_g1, *lagrange_beta_tau_g1;
};

/* The mapping is borrowed and must outlive *ptau. Errors: those of pm_container_open(), CURVE,
 * TRUNCATED, SECTION, LENGTH, COUNT, FILE_CHANGED. */
pm_status pm_ptau_open(const struct pm_mapping *mapping, struct pm_ptau *ptau, pm_error *error);

#endif
