/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How msm_plan.inc and msm_digits.inc cut work and scalars, behind pointers. */
#ifndef PM_TEST_MSM_PROBE_H
#define PM_TEST_MSM_PROBE_H

#include "msm/msm.h"

#include <stddef.h>
#include <stdint.h>

#define PM_MSM_PROBE_BITS_MAX 256 /* of a scalar, and windows at most */

struct pm_msm_probe_piece {
    uint64_t begin, end; /* blocks */
    uint32_t window, n_windows;
    uint64_t sum;
};

struct pm_msm_probe_room {
    uint32_t n_workers, block;
    uint64_t n_blocks;
    uint32_t n_buckets, n_digits, n_points;
    uint64_t n_pieces, n_sums;
};

struct pm_msm_probe_plan {
    uint32_t n_windows, n_buckets, n_grouped;
};

struct pm_msm_probe_hit {
    uint32_t point, bucket;
};

struct pm_msm_probe {
    const char *curve;
    uint32_t fr_bits, fr_bytes, window_bits_max;
    const uint64_t *r; /* the group order */
    struct pm_msm_probe_room (*room)(uint64_t n, uint32_t threads, size_t affine_bytes);
    /* The least number of windows of up to so many bits, and where one of n_windows lies. */
    uint32_t (*n_windows)(uint32_t window_bits);
    void (*window)(uint32_t n_windows, uint32_t window, uint32_t *start, uint32_t *width);
    int32_t (*digit)(const void *scalar, uint32_t start, uint32_t width);
    /* 0: zero, 1: one, 2: minus one, 3: other, whose length is *n_bits. */
    int (*classify)(const void *scalar, uint32_t *n_bits);
    /* n_longer[b] scalars have b bits or more. */
    struct pm_msm_probe_plan (*plan)(uint64_t n, uint32_t threads, const uint64_t *n_longer);
    /* The pieces of that plan; ends[i] scalars lie in the blocks up to and with i. */
    uint64_t (*cut)(uint64_t n, uint32_t threads, const uint64_t *n_longer, const uint64_t *ends,
                    struct pm_msm_probe_piece *pieces);
    /* Sorts the hits of words [begin, end) in windows [first, first + n) of n_in_all. Returns their
     * number; hits has room for one more, and their points count from *first_point. */
    size_t (*sort)(const struct pm_msm_input *input, const uint64_t *rest, uint64_t begin,
                   uint64_t end, uint32_t first, uint32_t n, uint32_t n_in_all, uint32_t n_buckets,
                   struct pm_msm_probe_hit *hits, uint64_t *first_point);
};

#endif
