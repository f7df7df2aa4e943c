/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* io/zkey_writer.h - the bytes of a .zkey from its parts in memory. */
#ifndef PM_IO_ZKEY_WRITER_H
#define PM_IO_ZKEY_WRITER_H

#include "base/memory.h"
#include "curve/curve.h"

#include <stdint.h>

/*
 * Writes *arrays as a zkey image (sections 1 to 9; no contributions) into a new buffer of
 * *image_bytes bytes, which the caller frees with pm_memory_free(). Points must be canonical in the
 * form that the arrays name; they are not checked further. Coefficient values must be below the
 * modulus. Errors: INVALID_ARGUMENT (a NULL array with a non-zero length, an unknown form, n_public
 * >= n_vars, log_n too large), NOT_CANONICAL, NO_MEMORY.
 */
pm_status pm_zkey_image(const struct pm_curve *curve, const pm_key_arrays *arrays,
                        struct pm_ledger *ledger, void **image, uint64_t *image_bytes,
                        pm_error *error);

#endif
