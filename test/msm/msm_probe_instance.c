/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Exposes msm_plan.inc and msm_digits.inc of one instance to tests. */
#include "msm_probe.h"

#include "base/limits.h"
#include "ff/ff_instance.inc"

#include <stdlib.h>

#include "msm/msm_plan.inc"

#include "msm/msm_digits.inc"

_Static_assert(MSM_WINDOWS_MAX <= PM_MSM_PROBE_BITS_MAX, "callers have room for all windows");

static struct pm_msm_probe_room probe_room(uint64_t n, uint32_t threads, size_t affine_bytes) {
    const struct msm_room room = msm_room_make(n, threads, affine_bytes);
    return (struct pm_msm_probe_room){room.n_workers, room.block,    room.n_blocks, room.n_buckets,
                                      room.n_digits,  room.n_points, room.n_pieces, room.n_sums};
}

static uint32_t probe_n_windows(uint32_t window_bits) {
    return MSM_WINDOWS_OF(window_bits);
}

static void probe_window(uint32_t n_windows, uint32_t window, uint32_t *start, uint32_t *width) {
    const struct msm_window at = msm_window_at(n_windows, window);
    *start = at.start;
    *width = at.width;
}

static int32_t probe_digit(const void *scalar, uint32_t start, uint32_t width) {
    return msm_digit(scalar, msm_place_of((struct msm_window){start, width}));
}

static int probe_classify(const void *scalar, uint32_t *n_bits) {
    /* as the last of three, with garbage before it that no bit speaks for */
    unsigned char scalars[3 * FR_BYTES];
    memset(scalars, 0x55, 2 * FR_BYTES);
    memcpy(scalars + 2 * FR_BYTES, scalar, FR_BYTES);
    const struct msm_classes classes = msm_classify(scalars, 4);
    if (classes.others == 4) {
        *n_bits = msm_bit_length(scalar);
        return classes.ones == 0 && classes.minus_ones == 0 ? 3 : -1;
    }
    return classes.others != 0                            ? -1
           : classes.ones == 4 && classes.minus_ones == 0 ? 1
           : classes.ones == 0 && classes.minus_ones == 4 ? 2
           : classes.ones == 0 && classes.minus_ones == 0 ? 0
                                                          : -1;
}

static struct msm_plan make_plan(uint64_t n, uint32_t threads, const uint64_t *n_longer,
                                 struct msm_room *room) {
    *room = msm_room_make(n, threads, 96);
    return msm_plan_make(room, n_longer);
}

static struct pm_msm_probe_plan probe_plan(uint64_t n, uint32_t threads, const uint64_t *n_longer) {
    struct msm_room room;
    const struct msm_plan plan = make_plan(n, threads, n_longer, &room);
    return (struct pm_msm_probe_plan){plan.n_windows, plan.n_buckets, plan.n_grouped};
}

static uint64_t probe_cut(uint64_t n, uint32_t threads, const uint64_t *n_longer,
                          const uint64_t *ends, struct pm_msm_probe_piece *out) {
    struct msm_room room;
    const struct msm_plan plan = make_plan(n, threads, n_longer, &room);
    struct msm_piece *pieces = calloc(room.n_pieces, sizeof *pieces);
    const uint64_t n_pieces =
        pieces != NULL ? msm_cut(&plan, &room, n_longer, ends, pieces) : UINT64_MAX;
    for (uint64_t i = 0; pieces != NULL && i < n_pieces; i++) {
        out[i] = (struct pm_msm_probe_piece){pieces[i].begin, pieces[i].end, pieces[i].window,
                                             pieces[i].n_windows, pieces[i].sum};
    }
    free(pieces);
    return n_pieces;
}

static size_t probe_sort(const struct pm_msm_input *input, const uint64_t *rest, uint64_t begin,
                         uint64_t end, uint32_t first, uint32_t n, uint32_t n_in_all,
                         uint32_t n_buckets, struct pm_msm_probe_hit *out, uint64_t *first_point) {
    const size_t most = 64 * (end - begin) * n + 1;
    const size_t n_all = (size_t)n * n_buckets;
    struct msm_sort sort = {.input = input,
                            .rest = rest,
                            .begin = begin,
                            .end = end,
                            .first_window = first,
                            .n_windows = n,
                            .n_windows_in_all = n_in_all,
                            .n_buckets = n_buckets,
                            .hits = malloc(most * sizeof *sort.hits),
                            .sorted = malloc((most + MSM_PREFETCH_DISTANCE) * sizeof *sort.sorted),
                            .ends = malloc((n_all + 1) * sizeof *sort.ends)};
    size_t n_hits = 0;
    if (sort.hits != NULL && sort.sorted != NULL && sort.ends != NULL) {
        msm_sort_hits(&sort);
        n_hits = sort.ends[n_all];
        for (uint32_t bucket = 0; bucket < n_all; bucket++) {
            for (uint32_t i = sort.ends[bucket]; i < sort.ends[bucket + 1]; i++) {
                out[i] = (struct pm_msm_probe_hit){sort.sorted[i], bucket};
            }
        }
        *first_point = sort.first_point;
    }
    free(sort.hits);
    free(sort.sorted);
    free(sort.ends);
    return n_hits;
}

extern const struct pm_msm_probe PM_INSTANCE_NAME(pm_msm_probe);
const struct pm_msm_probe PM_INSTANCE_NAME(pm_msm_probe) = {
    .curve = PM_INSTANCE_CURVE_STRING,
    .fr_bits = FR_BITS,
    .fr_bytes = FR_BYTES,
    .window_bits_max = MSM_WINDOW_BITS_MAX,
    .r = fr_modulus,
    .room = probe_room,
    .n_windows = probe_n_windows,
    .window = probe_window,
    .digit = probe_digit,
    .classify = probe_classify,
    .plan = probe_plan,
    .cut = probe_cut,
    .sort = probe_sort,
};
