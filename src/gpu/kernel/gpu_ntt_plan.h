/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/kernel/gpu_ntt_plan.h - how a transform of 2^log_n scalars is cut into passes over memory.
 *
 * Plain data, read by the host that launches and by the threads that run. gpu_ntt.inc has the
 * algebra.
 */
#ifndef PM_GPU_NTT_PLAN_H
#define PM_GPU_NTT_PLAN_H

#include <stdint.h>

/* Block numbers are 32 bits wide and so are positions. */
#define PM_GPU_NTT_LOG_MAX 30
#define PM_GPU_NTT_PASSES_MAX 5
/* Values that a thread holds: three levels between two exchanges. */
#define PM_GPU_NTT_HELD_LOG 3
#define PM_GPU_NTT_HELD (1 << PM_GPU_NTT_HELD_LOG)
/* A tile has at most 2^TILE_LOG_MAX values of 32 bytes, all in shared memory. */
#define PM_GPU_NTT_TILE_LOG_MAX 12

/* Levels [level, level + n_levels) of the transform, tile by tile. A tile is 2^n_levels rows of
 * 2^log_columns values. Across: rows lie 2^stride_log apart in one block, columns are neighbours.
 * Along (stride_log 0, the last levels): rows are neighbours, columns are neighbouring blocks. */
struct pm_gpu_ntt_pass {
    uint32_t log_n, level, n_levels, log_columns, stride_log;
};

/* What happens to a value when it is read or written. Powers: value at position p times
 * outer[p >> inner_log] inner[p & (2^inner_log - 1)]. Constant: times outer[0]. */
enum pm_gpu_scale_kind {
    PM_GPU_SCALE_NONE,
    PM_GPU_SCALE_DIVIDE,
    PM_GPU_SCALE_CONSTANT,
    PM_GPU_SCALE_POWERS
};

struct pm_gpu_scale {
    uint32_t kind; /* enum pm_gpu_scale_kind; DIVIDE: by 2^log_n of the pass */
    uint32_t inner_log;
    const void *outer, *inner; /* factors */
};

struct pm_gpu_ntt_plan {
    uint32_t n_passes;
    struct pm_gpu_ntt_pass passes[PM_GPU_NTT_PASSES_MAX]; /* from level 0 on */
};

/* Passes of at most levels_max levels each, as equal as may be, in tiles of 2^tile_log values;
 * a transform that fits one tile is one pass. 3 <= log_n <= PM_GPU_NTT_LOG_MAX,
 * 7 <= levels_max <= tile_log <= PM_GPU_NTT_TILE_LOG_MAX. */
static inline void pm_gpu_ntt_plan_make(struct pm_gpu_ntt_plan *plan, uint32_t log_n,
                                        uint32_t levels_max, uint32_t tile_log) {
    const uint32_t most = log_n <= tile_log ? log_n : levels_max;
    const uint32_t n = (log_n + most - 1) / most;
    uint32_t level = 0;
    plan->n_passes = n;
    for (uint32_t i = 0; i < n; i++) {
        struct pm_gpu_ntt_pass *pass = &plan->passes[i];
        pass->log_n = log_n;
        pass->level = level;
        pass->n_levels = (log_n - level + (n - i) - 1) / (n - i);
        pass->stride_log = log_n - level - pass->n_levels;
        const uint32_t columns_most = pass->stride_log > 0 ? pass->stride_log : level;
        pass->log_columns =
            tile_log - pass->n_levels < columns_most ? tile_log - pass->n_levels : columns_most;
        level += pass->n_levels;
    }
}

/* Threads of a tile, and tiles of a pass. */
static inline uint32_t pm_gpu_ntt_pass_threads(const struct pm_gpu_ntt_pass *pass) {
    return UINT32_C(1) << (pass->n_levels + pass->log_columns - PM_GPU_NTT_HELD_LOG);
}

static inline uint32_t pm_gpu_ntt_pass_tiles(const struct pm_gpu_ntt_pass *pass) {
    return UINT32_C(1) << (pass->log_n - pass->n_levels - pass->log_columns);
}

#endif
