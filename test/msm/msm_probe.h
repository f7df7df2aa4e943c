/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How msm_plan.inc cuts work and scalars, behind pointers. */
#ifndef PM_TEST_MSM_PROBE_H
#define PM_TEST_MSM_PROBE_H

#include "base/control.h"
#include "par/team.h"

#include <stddef.h>
#include <stdint.h>

#define PM_MSM_PROBE_WINDOWS_MAX 256
#define PM_MSM_PROBE_CHUNK_MAX 1024

struct pm_msm_probe_piece {
    uint64_t begin, end, window;
};

struct pm_msm_probe {
    const char *curve;
    uint32_t fr_bits, fr_bytes, chunk;
    uint32_t window_bits_min, window_bits_max;
    const uint64_t *r; /* the group order */
    uint32_t (*n_windows)(uint32_t window_bits);
    int32_t (*digit)(const void *scalar, uint32_t window, uint32_t window_bits);
    /* The plan for n points: its window, and the most pieces it allows for. */
    uint32_t (*window_bits)(uint64_t n, uint32_t threads);
    uint64_t (*n_pieces_max)(uint64_t n, uint32_t threads);
    /* The pieces for digit counts of that plan. */
    uint64_t (*cut)(uint64_t n, uint32_t threads, const uint64_t *n_digits,
                    struct pm_msm_probe_piece *pieces);
    /* Counts the digits of n scalars in that plan's windows; returns the number of windows. */
    uint32_t (*count)(const void *scalars, uint64_t n, struct pm_team *team, uint64_t *n_digits);
    /* Signed digits of n <= chunk scalars as collected, 0 where there is no hit. */
    void (*collect)(const void *scalars, uint64_t n, uint32_t window, uint32_t window_bits,
                    int32_t *digits);
    uint64_t (*layout_bytes)(uint64_t n, uint32_t threads, size_t xyzz_bytes);
};

#endif
