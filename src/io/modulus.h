/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/modulus.h - which curve a file's primes belong to, and whether its scalars are reduced.
 *
 * Moduli appear in files as n8 little-endian bytes. The values come from the field tables, whose
 * moduli do not depend on the body.
 */
#ifndef PM_IO_MODULUS_H
#define PM_IO_MODULUS_H

#include "io/cursor.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Enough for a modulus of PM_FP_BYTES_MAX bytes: "0x", two digits a byte, NUL. */
#define PM_MODULUS_TEXT_BYTES (2 * PM_FP_BYTES_MAX + 3)

/* The scalar field's modulus as four little-endian words. curve must be known. */
const uint64_t *pm_modulus_scalar(pm_curve_id curve);
/* The largest s such that 2^s divides r - 1. */
uint32_t pm_modulus_scalar_two_adicity(pm_curve_id curve);

/* PM_CURVE_NONE if n_bytes bytes are the scalar field's modulus of no curve. */
pm_curve_id pm_modulus_find_scalar(const uint8_t *bytes, uint32_t n_bytes);
/* The same for the base field's modulus. */
pm_curve_id pm_modulus_find_base(const uint8_t *bytes, uint32_t n_bytes);
/* The same for a pair of a base and a scalar modulus. */
pm_curve_id pm_modulus_find_pair(const uint8_t *q, uint32_t q_bytes, const uint8_t *r,
                                 uint32_t r_bytes);
/* "0x30644e72..." for messages. n_bytes <= PM_FP_BYTES_MAX. Returns text. */
const char *pm_modulus_text(const uint8_t *bytes, uint32_t n_bytes,
                            char text[PM_MODULUS_TEXT_BYTES]);

/* Reads u32 n8 and a prime of n8 bytes, which must be the scalar modulus of a curve. Errors:
 * TRUNCATED, CURVE. */
pm_status pm_modulus_read_scalar(struct pm_cursor *cursor, pm_curve_id *curve, pm_error *error);
/* Reads u32 n8 and a prime of n8 bytes, of any value but of a plausible length. */
pm_status pm_modulus_read(struct pm_cursor *cursor, const char *field, const uint8_t **bytes,
                          uint32_t *n_bytes, pm_error *error);

/* Whether modulus > value, for 32 little-endian bytes of any alignment. */
static inline bool pm_modulus_exceeds(const uint64_t modulus[4], const uint8_t *bytes) {
    uint64_t word[4];
    memcpy(word, bytes, sizeof word);
    for (int i = 3; i >= 0; --i) {
        if (word[i] != modulus[i]) {
            return word[i] < modulus[i];
        }
    }
    return false;
}

#endif
