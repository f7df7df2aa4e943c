/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm_count.h"

#include "base/limits.h"
#include "base/memory.h"
#include "ff/ff_instance.inc"

#pragma GCC diagnostic ignored                                                                     \
    "-Wunused-function" /* what plans for a sum also lays out its memory */
#include "msm/msm_plan.inc"

#include <math.h>

_Static_assert(MSM_BITS < MSM_COUNT_LENGTHS, "scalars of every length have a place");

/* The digits of one window are spread over the scalars as evenly as the scalars are. */
static double additions_of_piece(const struct msm_plan *plan, const struct msm_room *room,
                                 const uint64_t *n_longer, const struct msm_piece *piece) {
    const double share = (double)(piece->end - piece->begin) / (double)room->n_blocks;
    double additions = 0;
    for (uint32_t i = piece->window; i < piece->window + piece->n_windows; i++) {
        const struct msm_window window = msm_window_at(plan->n_windows, i);
        const double n_buckets = exp2((double)window.width - 1);
        const double digits = share * (double)msm_digits_at(n_longer, window.start) *
                              (1 - exp2(-(double)window.width));
        additions += digits + n_buckets * (1 - exp(-digits / n_buckets));
    }
    return additions;
}

extern msm_count_function PM_INSTANCE_NAME(msm_count);
void PM_INSTANCE_NAME(msm_count)(const struct msm_scalars *scalars, uint32_t threads,
                                 uint32_t affine_bytes, struct msm_count *count) {
    const struct msm_room room = msm_room_make(scalars->n, threads, affine_bytes);
    void *ends = NULL, *pieces = NULL;
    *count = (struct msm_count){.additions = (double)scalars->n_ones};
    if (scalars->n_longer[1] == 0 ||
        pm_memory_alloc_array(NULL, "bench", room.n_blocks, sizeof(uint64_t), PM_MEMORY_PLAIN,
                              &ends, NULL) != PM_OK) {
        return;
    }
    if (pm_memory_alloc_array(NULL, "bench", room.n_pieces, sizeof(struct msm_piece),
                              PM_MEMORY_PLAIN, &pieces, NULL) == PM_OK) {
        const struct msm_plan plan = msm_plan_make(&room, scalars->n_longer);
        for (uint64_t i = 0; i < room.n_blocks; i++) {
            ((uint64_t *)ends)[i] = scalars->n_longer[1] * (i + 1) / room.n_blocks;
        }
        const uint64_t n = msm_cut(&plan, &room, scalars->n_longer, ends, pieces);
        for (uint64_t i = 0; i < n; i++) {
            count->additions += additions_of_piece(&plan, &room, scalars->n_longer,
                                                   &((const struct msm_piece *)pieces)[i]);
        }
        count->n_windows = plan.n_windows;
        count->n_buckets = plan.n_buckets;
    }
    pm_memory_free(ends);
    pm_memory_free(pieces);
}
