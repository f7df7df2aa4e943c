/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* io/wtns.h - reads a witness file. doc/format_wtns.md describes the bytes. */
#ifndef PM_IO_WTNS_H
#define PM_IO_WTNS_H

#include "base/control.h"
#include "io/container.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

struct pm_wtns {
    struct pm_container container;
    pm_curve_id curve;
    uint64_t n_values;
    uint64_t values_offset; /* in the file */
    const uint8_t *values;  /* canonical little-endian, PM_FR_BYTES each, in the mapping */
};

/* Checks structure, prime, every value below the modulus, the first equal to one. The mapping is
 * borrowed and must outlive *wtns. Errors: those of pm_container_open(), CURVE, TRUNCATED, SECTION,
 * LENGTH, NOT_CANONICAL, WITNESS_MISMATCH (no first value of one), CANCELLED, DEADLINE,
 * FILE_CHANGED. No message shows a value. */
pm_status pm_wtns_open(const struct pm_mapping *mapping, struct pm_team *team,
                       const pm_control *control, struct pm_wtns *wtns, pm_error *error);
/* The checks on values alone, for witnesses that come from memory: name and offset (of the first
 * value, or PM_NO_OFFSET) go into messages. Errors: CURVE, NOT_CANONICAL, WITNESS_MISMATCH. */
pm_status pm_wtns_check_values(pm_curve_id curve, const uint8_t *values, uint64_t n_values,
                               const char *name, uint64_t offset, struct pm_team *team,
                               pm_error *error);

#endif
