/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/zkey_layout.h - where everything lies in a .zkey of given sizes, before a byte of it exists.
 *
 * Sections stand in the order in which snarkjs's setup writes them: 1, 2, 4, 3, 9, 8, 5, 6, 7, 10.
 * A section of the writer's own may follow; peers pass over types they do not know.
 */
#ifndef PM_IO_ZKEY_LAYOUT_H
#define PM_IO_ZKEY_LAYOUT_H

#include "curve/curve.h"
#include "io/zkey.h"

#include <stdint.h>

/* What decides every length. */
struct pm_zkey_shape {
    const struct pm_curve *curve;
    uint32_t n_vars, n_public, log_n;
    uint64_t n_coefficients;
    uint64_t contributions_bytes; /* of section 10; 0: there is none */
    uint32_t private_type;        /* type of the section of the writer's own; 0: there is none */
    uint64_t private_bytes;
};

struct pm_zkey_layout {
    struct pm_zkey_shape shape;
    uint32_t n_sections;
    uint64_t n_bytes; /* of the whole file */
    /* Of each section's data, by type; 0 for one that is not there. Section 4 begins with its
     * count, the records follow at records_offset. */
    uint64_t offset[PM_ZKEY_SECTION_COUNT];
    uint64_t section_bytes[PM_ZKEY_SECTION_COUNT];
    uint64_t records_offset;
    uint64_t private_offset;
};

/* Affine Montgomery points of section 2, any alignment, borrowed. */
struct pm_zkey_header_points {
    const void *alpha_g1, *beta_g1, *delta_g1;
    const void *beta_g2, *gamma_g2, *delta_g2;
};

/* Errors: INVALID_ARGUMENT (n_public >= n_vars, log_n above what the u32 in the file can say, 2^32
 * coefficients or more, a private type that is one of the format's). */
pm_status pm_zkey_layout_make(const struct pm_zkey_shape *shape, struct pm_zkey_layout *layout,
                              pm_error *error);
/* Writes the container's header, the header of every section, the whole of sections 1 and 2 and the
 * count of section 4 into the image of layout->n_bytes bytes; leaves the other bytes alone. */
void pm_zkey_layout_write_headers(const struct pm_zkey_layout *layout,
                                  const struct pm_zkey_header_points *points, uint8_t *image);

#endif
