/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/bellman_vk.h - the verifying key of bellman and bellperson: a .vk file, which is also how a
 * .params file begins. BLS12-381 only. No magic and no version; all numbers are big-endian:
 *
 *     alpha_g1 96, beta_g1 96, beta_g2 192, gamma_g2 192, delta_g1 96, delta_g2 192 bytes,
 *     u32 number of ic points, that many points of 96 bytes (the constant one's first)
 *
 * Points are uncompressed (PM_POINT_ZCASH_FULL).
 */
#ifndef PM_IO_BELLMAN_VK_H
#define PM_IO_BELLMAN_VK_H

#include "base/status.h"
#include "curve/curve.h"
#include "io/mapping.h"

#include <stdbool.h>
#include <stdint.h>

/* Affine Montgomery points, as curve/curve.h holds them. */
struct pm_bellman_vk {
    uint8_t alpha_g1[PM_G1_BYTES_MAX], beta_g1[PM_G1_BYTES_MAX], delta_g1[PM_G1_BYTES_MAX];
    uint8_t beta_g2[PM_G2_BYTES_MAX], gamma_g2[PM_G2_BYTES_MAX], delta_g2[PM_G2_BYTES_MAX];
    uint32_t n_public; /* without the constant one */
    uint8_t *ic;       /* n_public + 1 G1, owned */
    uint64_t n_bytes;  /* read from the beginning of the mapping */
};

/*
 * Parses and checks every point: encoding, canonical coordinates, curve, subgroup, not at infinity.
 * Bytes after the ic are only accepted when trailing is true. curve is the BLS12-381 table in the
 * body to compute with. The caller owns *vk on success and closes it; the mapping is not needed any
 * more then.
 * Errors: CURVE (another curve's table), TRUNCATED, LENGTH, COUNT (no ic), ENCODING, NOT_CANONICAL,
 * NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY, NO_MEMORY, FILE_CHANGED.
 */
pm_status pm_bellman_vk_open(const struct pm_mapping *mapping, const struct pm_curve *curve,
                             bool trailing, struct pm_bellman_vk *vk, pm_error *error);
void pm_bellman_vk_close(struct pm_bellman_vk *vk);

#endif
