/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/op/gpu_sum_op.h"

#include "gpu/kernel/gpu_classes_kernels.h"
#include "gpu/op/gpu_msm_op.h"
#include "gpu/tune/gpu_msm_tune.h"

#include "base/memory.h"
#include "curve/curve.h"

#include <string.h>

_Static_assert(PM_GPU_RANK_STEP == PM_MSM_RANK_STEP, "both sides read the same directories");
_Static_assert(PM_GPU_LIST_MINUS == PM_GPU_MSM_SIGN, "lists are read by the sums");

extern pm_gpu_classify_launcher *const pm_gpu_classify_launch_bn254,
    *const pm_gpu_classify_launch_bls12_381;

#define PLACE_BYTES 256

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

static uint64_t place(uint64_t *end, uint64_t bytes) {
    const uint64_t at = *end;
    *end = at + ceil_div(bytes, PLACE_BYTES) * PLACE_BYTES;
    return at;
}

/* ---- Classes --------------------------------------------------------------------------------- */

uint64_t pm_gpu_classes_bytes(uint64_t n) {
    return max_u64(1, ceil_div(n, 64)) * sizeof(struct pm_gpu_class_word);
}

pm_status pm_gpu_classify(const struct pm_gpu_stream *stream, pm_curve_id curve,
                          const void *scalars, uint64_t n, void *classes, pm_error *error) {
    pm_gpu_classify_launcher *const launch = curve == PM_CURVE_BN254 ? pm_gpu_classify_launch_bn254
                                             : curve == PM_CURVE_BLS12_381
                                                 ? pm_gpu_classify_launch_bls12_381
                                                 : NULL;
    PM_FAIL_IF(launch == NULL, error, PM_CURVE, "no kernels for curve %s", pm_curve_name(curve));
    PM_FAIL_IF(n >= PM_GPU_LIST_MINUS, error, PM_UNSUPPORTED,
               "%llu scalars: a device sorts fewer than 2^31 into classes", (unsigned long long)n);
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    if (n == 0) {
        return pm_gpu_fill(stream, classes, 0, pm_gpu_classes_bytes(0), error);
    }
    pm_gpu_device_count_launches(stream->device, 1);
    return pm_gpu_device_check(stream->device, launch(scalars, n, classes, stream->raw), "classify",
                               n * PM_FR_BYTES, error);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* What a piece has in the workspace before its lists, and for the host. Lists follow, as long as
 * they turn out, and then the workspace of the buckets. */
struct layout {
    uint32_t n_tiles;
    uint32_t n_threads_max;                            /* that units are summed by */
    uint64_t counts, sums, folded, unit_sum, lists;    /* in the workspace */
    uint64_t host_counts, host_unit_sum, host_outputs; /* in outputs */
};

static struct layout lay_out(const struct pm_gpu_facts *facts,
                             const struct pm_gpu_msm_group_kernels *kernels, uint64_t n) {
    struct layout layout = {0};
    uint64_t end = 0;
    /* A range that begins within a word touches one more. */
    layout.n_tiles = (uint32_t)ceil_div(ceil_div(n, 64) + 1, PM_GPU_LIST_TILE_WORDS);
    layout.n_threads_max =
        (uint32_t)min_u64((uint64_t)facts->n_multiprocessors * kernels->threads_per_multiprocessor,
                          max_u64(1, ceil_div(n, PM_GPU_MSM_SEGMENT_MIN)));
    layout.counts = place(&end, (layout.n_tiles + UINT64_C(1)) * sizeof(struct pm_gpu_list_counts));
    layout.sums = place(&end, (uint64_t)layout.n_threads_max * kernels->bucket_bytes);
    layout.folded = place(&end, (uint64_t)PM_GPU_MSM_FOLD_BLOCKS * kernels->bucket_bytes);
    layout.unit_sum = place(&end, kernels->jacobian_bytes);
    layout.lists = end;
    end = 0;
    layout.host_counts = place(&end, sizeof(struct pm_gpu_list_counts));
    layout.host_unit_sum = place(&end, kernels->jacobian_bytes);
    layout.host_outputs = end;
    return layout;
}

/* At worst all scalars are full, and their points have numbers of their own. */
static uint64_t lists_bytes(uint64_t n) {
    return ceil_div(8 * n, PLACE_BYTES) * PLACE_BYTES;
}

/* Outputs of as many chunks as a piece is cut into at most, whatever its windows: a sum of fewer
 * points never takes more. */
static uint64_t msm_outputs_bytes(const struct pm_gpu_msm_group_kernels *kernels, uint64_t n) {
    const uint64_t n_chunks =
        min_u64(PM_GPU_SUM_CHUNKS_MAX, max_u64(1, ceil_div(n, PM_GPU_MSM_CHUNK_MIN)));
    return n_chunks * PM_GPU_MSM_WINDOWS_MAX * PM_GPU_MSM_OUTPUTS_MAX * kernels->jacobian_bytes;
}

/* How a sum is cut into pieces that are done one after another. */
struct cut {
    struct pm_gpu_msm_plan plan; /* of a piece all of whose scalars are full */
    uint64_t piece;              /* scalars */
    uint64_t before_bytes;       /* of a piece's workspace, in front of that of its buckets */
    uint64_t workspace_bytes, outputs_bytes;
};

/* A sum of n scalars, in pieces of so many. */
static pm_status cut_into(struct pm_gpu_device *device, pm_curve_id curve, enum pm_msm_group group,
                          uint64_t n, uint64_t piece, bool has_lists, uint64_t limit_bytes,
                          struct cut *cut, pm_error *error) {
    struct pm_gpu_facts facts;
    struct pm_gpu_msm_plan none = {.n = 0};
    pm_gpu_device_facts(device, &facts);
    PM_TRY(pm_gpu_msm_plan_make(device, curve, group, 0, 0, 0, &none, error));
    const struct layout layout = lay_out(&facts, none.kernels, piece);
    cut->piece = piece;
    cut->before_bytes = has_lists && piece > 0 ? layout.lists + lists_bytes(piece) : 0;
    const struct pm_gpu_msm_limits limits = {
        limit_bytes < cut->before_bytes ? 0 : limit_bytes - cut->before_bytes,
        msm_outputs_bytes(none.kernels, n)};
    PM_TRY(pm_gpu_msm_plan_within(device, curve, group, piece, &limits, 0, &cut->plan, error));
    cut->workspace_bytes = cut->before_bytes + cut->plan.workspace_bytes;
    cut->outputs_bytes = layout.host_outputs + limits.outputs_bytes;
    return PM_OK;
}

/* The fewest pieces whose lists leave half the workspace to the buckets, in a few chunks each. */
static pm_status cut_sum(struct pm_gpu_device *device, pm_curve_id curve, enum pm_msm_group group,
                         uint64_t n, bool has_lists, uint64_t limit_bytes, struct cut *cut,
                         pm_error *error) {
    uint64_t piece = n;
    PM_FAIL_IF(n >= PM_GPU_LIST_MINUS, error, PM_UNSUPPORTED,
               "%llu points: a device sums fewer than 2^31 at once", (unsigned long long)n);
    for (;;) {
        const bool is_last = piece <= PM_GPU_MSM_CHUNK_MIN;
        if (is_last || !has_lists || lists_bytes(piece) <= limit_bytes / 2) {
            pm_error reason = PM_ERROR_INIT;
            const pm_status status =
                cut_into(device, curve, group, n, piece, has_lists, limit_bytes, cut, &reason);
            if (status == PM_NO_MEMORY && is_last) {
                pm_error_set(error, PM_NO_MEMORY,
                             "a sum of %llu points needs a workspace of %llu bytes at least, %llu "
                             "are granted",
                             (unsigned long long)n,
                             (unsigned long long)(cut->before_bytes + reason.need),
                             (unsigned long long)limit_bytes);
                pm_error_need_have(error, cut->before_bytes + reason.need, limit_bytes);
                return status;
            }
            if (status == PM_OK) {
                return PM_OK;
            }
            if (status != PM_NO_MEMORY) {
                pm_error_copy(error, &reason);
                return status;
            }
        }
        piece = max_u64(ceil_div(piece, 2), PM_GPU_MSM_CHUNK_MIN);
    }
}

pm_status pm_gpu_sum_bytes(struct pm_gpu_device *device, pm_curve_id curve, enum pm_msm_group group,
                           uint64_t n, bool has_lists, uint64_t limit_bytes,
                           uint64_t *workspace_bytes, uint64_t *outputs_bytes, pm_error *error) {
    struct cut cut;
    PM_TRY(cut_sum(device, curve, group, n, has_lists, limit_bytes, &cut, error));
    *workspace_bytes = max_u64(cut.workspace_bytes, PLACE_BYTES);
    *outputs_bytes = cut.outputs_bytes;
    return PM_OK;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool has_lists(const struct pm_gpu_sum_input *input) {
    return input->classes != NULL || input->density != NULL;
}

/* A sum, and which piece of it is at hand. */
struct work {
    const struct pm_gpu_stream *stream;
    const struct pm_gpu_sum_input *input;
    const struct pm_group *group;
    const struct pm_gpu_msm_group_kernels *kernels;
    uint8_t *workspace, *outputs;
    uint64_t workspace_bytes, outputs_bytes;
    struct pm_gpu_list_range range;
    struct layout layout;
};

static pm_status launched(const struct work *work, int cuda_status, uint32_t n_launches,
                          const char *kernel, pm_error *error) {
    pm_gpu_device_count_launches(work->stream->device, n_launches);
    return pm_gpu_device_check(work->stream->device, cuda_status, kernel,
                               work->range.n * PM_FR_BYTES, error);
}

/* How long the lists of a piece will be, and where each tile's part of them begins. Waits. */
static pm_status count(const struct work *work, struct pm_gpu_list_counts *total, pm_error *error) {
    struct pm_gpu_list_counts *counts = (void *)(work->workspace + work->layout.counts);
    const uint32_t n_tiles =
        (uint32_t)ceil_div(pm_gpu_list_words(&work->range), PM_GPU_LIST_TILE_WORDS);
    PM_TRY(launched(work, pm_gpu_list_count(&work->range, counts, work->stream->raw), 1, "count",
                    error));
    PM_TRY(launched(work, pm_gpu_list_scan(counts, n_tiles, work->stream->raw), 1, "scan", error));
    PM_TRY(pm_gpu_download(work->stream, work->outputs + work->layout.host_counts, counts + n_tiles,
                           sizeof *total, error));
    PM_TRY(pm_gpu_stream_wait(work->stream, error));
    memcpy(total, work->outputs + work->layout.host_counts, sizeof *total);
    return PM_OK;
}

/* The sum of those with 1 and r - 1, to where the host finds it. */
static pm_status sum_units(const struct work *work, const uint32_t *list, uint32_t n,
                           pm_error *error) {
    const uint32_t n_threads =
        (uint32_t)min_u64(work->layout.n_threads_max, ceil_div(n, PM_GPU_MSM_SEGMENT_MIN));
    uint8_t *sums = work->workspace + work->layout.sums;
    uint8_t *unit_sum = work->workspace + work->layout.unit_sum;
    PM_TRY(launched(
        work,
        work->kernels->units(list, n, n_threads, work->input->points, sums, work->stream->raw), 1,
        "units", error));
    PM_TRY(launched(work,
                    work->kernels->fold(sums, n_threads, work->workspace + work->layout.folded,
                                        unit_sum, work->stream->raw),
                    2, "fold", error));
    return pm_gpu_download(work->stream, work->outputs + work->layout.host_unit_sum, unit_sum,
                           work->kernels->jacobian_bytes, error);
}

/* The lists of a piece, of the lengths that were counted; *end: what stands behind them. */
static pm_status make_lists(const struct work *work, const struct pm_gpu_list_counts *n,
                            struct pm_gpu_lists *lists, uint64_t *end, pm_error *error) {
    const bool is_compact = work->range.rank != NULL;
    const struct pm_gpu_list_counts *counts = (void *)(work->workspace + work->layout.counts);
    const uint64_t numbers = n->n_units + (is_compact ? UINT64_C(2) : 1) * n->n_full;
    lists->units = (void *)(work->workspace + work->layout.lists);
    lists->full_scalars = lists->units + n->n_units;
    lists->full_points = is_compact ? lists->full_scalars + n->n_full : NULL;
    *end = work->layout.lists;
    (void)place(end, numbers * sizeof(uint32_t));
    return launched(work, pm_gpu_list_write(&work->range, counts, lists, work->stream->raw), 1,
                    "lists", error);
}

/* Adds a piece to sum. */
static pm_status sum_piece(const struct work *work, struct pm_group_point *sum, pm_error *error) {
    struct pm_gpu_list_counts n = {0, (uint32_t)work->range.n};
    struct pm_gpu_lists lists = {NULL, NULL, NULL};
    struct pm_gpu_msm_plan plan;
    uint8_t *outputs = work->outputs + work->layout.host_outputs;
    uint64_t end = 0;
    if (has_lists(work->input)) {
        PM_TRY(count(work, &n, error));
        PM_TRY(make_lists(work, &n, &lists, &end, error));
    }
    if (n.n_units > 0) {
        PM_TRY(sum_units(work, lists.units, n.n_units, error));
    }
    const struct pm_gpu_msm_limits limits = {work->workspace_bytes - end,
                                             work->outputs_bytes - work->layout.host_outputs};
    PM_TRY(pm_gpu_msm_plan_within(work->stream->device, work->input->curve, work->input->group,
                                  n.n_full, &limits, 0, &plan, error));
    /* Lists count from the whole sum's beginning; where there are none, this piece begins here. */
    const uint64_t from = has_lists(work->input) ? work->input->first : work->range.first;
    const struct pm_gpu_msm_input full = {
        .points = (const uint8_t *)work->input->points +
                  (from - work->input->first) * work->kernels->affine_bytes,
        .scalars = (const uint8_t *)work->input->scalars + from * PM_FR_BYTES,
        .indices = lists.full_scalars,
        .point_indices = lists.full_points};
    PM_TRY(pm_gpu_msm_run(work->stream, &plan, &full, work->workspace + end, outputs, NULL, error));
    PM_TRY(pm_gpu_stream_wait(work->stream, error));
    if (n.n_units > 0) {
        work->group->add(sum, sum, work->outputs + work->layout.host_unit_sum);
    }
    if (n.n_full > 0) {
        struct pm_group_point part;
        pm_gpu_msm_finish(&plan, outputs, &part);
        work->group->add(sum, sum, &part);
        pm_memory_wipe(&part, sizeof part);
    }
    return PM_OK;
}

static struct work work_of(const struct pm_gpu_stream *stream, const struct pm_gpu_sum_input *input,
                           const struct cut *cut) {
    struct work work = {.stream = stream, .input = input, .kernels = cut->plan.kernels};
    const struct pm_curve *curve = pm_curve_get(input->curve, pm_cpu_best_body());
    struct pm_gpu_facts facts;
    pm_gpu_device_facts(stream->device, &facts);
    work.group = input->group == PM_MSM_G1 ? curve->g1 : curve->g2;
    work.layout = lay_out(&facts, work.kernels, cut->piece);
    work.range.classes = input->classes;
    work.range.density = input->density;
    work.range.rank = input->density != NULL && input->is_compact ? input->rank : NULL;
    work.range.origin = input->first;
    return work;
}

pm_status pm_gpu_sum_run(const struct pm_gpu_stream *stream, const struct pm_gpu_sum_input *input,
                         void *workspace, uint64_t workspace_bytes, void *outputs,
                         uint64_t outputs_bytes, void *result, pm_error *error) {
    struct pm_group_point sum;
    struct cut cut;
    PM_TRY(cut_sum(stream->device, input->curve, input->group, input->n, has_lists(input),
                   workspace_bytes, &cut, error));
    PM_FAIL_IF(outputs_bytes < cut.outputs_bytes, error, PM_INVALID_ARGUMENT,
               "%llu bytes for outputs that take %llu", (unsigned long long)outputs_bytes,
               (unsigned long long)cut.outputs_bytes);
    struct work work = work_of(stream, input, &cut);
    work.workspace = workspace;
    work.workspace_bytes = workspace_bytes;
    work.outputs = outputs;
    work.outputs_bytes = outputs_bytes;
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    work.group->set_infinity(&sum);
    pm_status status = PM_OK;
    for (uint64_t done = 0; status == PM_OK && done < input->n; done += cut.piece) {
        work.range.first = input->first + done;
        work.range.n = min_u64(cut.piece, input->n - done);
        status = sum_piece(&work, &sum, error);
    }
    if (status == PM_OK) {
        memcpy(result, &sum, work.kernels->jacobian_bytes);
    }
    pm_memory_wipe(&sum, sizeof sum); /* a secret, as its parts are */
    return status;
}
