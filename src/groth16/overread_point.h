/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/overread_point.h - what snarkjs makes of bytes that are no point.
 *
 * For the circuit hash snarkjs 0.7.6 forms the differences tau^(n+i) G1 - tau^i G1 in pieces of
 * 2^14 and does not shorten the last piece, so from n = 2^15 on it takes one more than there are.
 * When the powers of tau end at 2n - 1, the minuend of that one is the header of the next section
 * and the beginning of its data. These are no field elements, and its arithmetic does not reduce
 * them first, so the result depends on how it adds and multiplies words. doc/format_ptau.md tells
 * the story; here are the operations on whole words that it amounts to.
 */
#ifndef PM_GROTH16_OVERREAD_POINT_H
#define PM_GROTH16_OVERREAD_POINT_H

#include "curve/curve.h"

#include <stdint.h>

/* difference = bytes - point: bytes are any 2 fp->bytes bytes, point is an affine Montgomery point
 * of G1 that is not infinity. difference: canonical Montgomery coordinates, which need not lie on
 * the curve. */
void pm_overread_difference(const struct pm_field *fp, const uint8_t *bytes, const uint8_t *point,
                            uint8_t *difference);

#endif
