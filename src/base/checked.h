/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/checked.h - sizes that cannot wrap: every product and sum of a length that comes from
 * outside. */
#ifndef PM_BASE_CHECKED_H
#define PM_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns false, and leaves *out unspecified, when the exact result does not fit. */
static inline bool pm_checked_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool pm_checked_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

_Static_assert(sizeof(size_t) == 8, "proofmill handles vectors of tens of GiB: 64-bit only");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "limbs are stored and mapped little-endian");

#endif
