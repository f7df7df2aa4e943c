/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Exposes msm_plan.inc of one instance to tests. */
#include "msm_probe.h"

#include "base/limits.h"
#include "ff/ff_instance.inc"

#include <stdlib.h>

#include "msm/msm_plan.inc"

_Static_assert(MSM_WINDOWS_MAX <= PM_MSM_PROBE_WINDOWS_MAX, "callers have room for all windows");
_Static_assert(MSM_CHUNK <= PM_MSM_PROBE_CHUNK_MAX, "callers have room for a chunk");

static uint32_t probe_n_windows(uint32_t window_bits) {
    return MSM_WINDOWS_OF(window_bits);
}

static int32_t probe_digit(const void *scalar, uint32_t window, uint32_t window_bits) {
    return msm_digit(scalar, window, window_bits);
}

static uint32_t probe_window_bits(uint64_t n, uint32_t threads) {
    return msm_plan_make(n, threads).window_bits;
}

static uint64_t probe_n_pieces_max(uint64_t n, uint32_t threads) {
    return msm_plan_make(n, threads).n_pieces_max;
}

static uint64_t probe_cut(uint64_t n, uint32_t threads, const uint64_t *n_digits,
                          struct pm_msm_probe_piece *out) {
    const struct msm_plan plan = msm_plan_make(n, threads);
    struct msm_piece *pieces = calloc(plan.n_pieces_max, sizeof *pieces);
    const uint64_t n_pieces = pieces != NULL ? msm_cut(&plan, n, n_digits, pieces) : 0;
    for (uint64_t i = 0; i < n_pieces; i++) {
        out[i] = (struct pm_msm_probe_piece){pieces[i].begin, pieces[i].end, pieces[i].window};
    }
    free(pieces);
    return n_pieces;
}

static uint32_t probe_count(const void *scalars, uint64_t n, struct pm_team *team,
                            uint64_t *n_digits) {
    const struct msm_plan plan = msm_plan_make(n, pm_team_threads(team));
    return msm_count_digits(scalars, n, &plan, team, NULL, n_digits) ? plan.n_windows : 0;
}

static void probe_collect(const void *scalars, uint64_t n, uint32_t window, uint32_t window_bits,
                          int32_t *digits) {
    struct msm_hit hits[MSM_CHUNK];
    const size_t n_hits = msm_collect(hits, scalars, n, window, window_bits);
    memset(digits, 0, n * sizeof *digits);
    for (size_t k = 0; k < n_hits; k++) {
        const int32_t magnitude = hits[k].magnitude;
        digits[hits[k].offset] = hits[k].negative ? -magnitude : magnitude;
    }
}

static uint64_t probe_layout_bytes(uint64_t n, uint32_t threads, size_t xyzz_bytes) {
    const struct msm_plan plan = msm_plan_make(n, threads);
    return msm_layout_make(&plan, xyzz_bytes).n_bytes;
}

extern const struct pm_msm_probe PM_INSTANCE_NAME(pm_msm_probe);
const struct pm_msm_probe PM_INSTANCE_NAME(pm_msm_probe) = {
    .curve = PM_INSTANCE_CURVE_STRING,
    .fr_bits = FR_BITS,
    .fr_bytes = FR_BYTES,
    .chunk = MSM_CHUNK,
    .window_bits_min = MSM_WINDOW_BITS_MIN,
    .window_bits_max = MSM_WINDOW_BITS_MAX,
    .r = fr_modulus,
    .n_windows = probe_n_windows,
    .digit = probe_digit,
    .window_bits = probe_window_bits,
    .n_pieces_max = probe_n_pieces_max,
    .cut = probe_cut,
    .count = probe_count,
    .collect = probe_collect,
    .layout_bytes = probe_layout_bytes,
};
