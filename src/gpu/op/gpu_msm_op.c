/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/op/gpu_msm_op.h"

#include "gpu/op/gpu_msm_collect.h"
#include "gpu/tune/gpu_msm_tune.h"

extern const struct pm_gpu_msm_digit_kernels pm_gpu_msm_digits_bn254, pm_gpu_msm_digits_bls12_381;
extern const struct pm_gpu_msm_group_kernels pm_gpu_msm_g1_bn254, pm_gpu_msm_g1_bls12_381;
extern const struct pm_gpu_msm_group_kernels pm_gpu_msm_g2_bn254, pm_gpu_msm_g2_bls12_381;

/* ---- Plans ----------------------------------------------------------------------------------- */

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

static uint32_t bits_of(uint64_t x) {
    return x == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(x);
}

static const struct pm_gpu_msm_rates *choose_kernels(struct pm_gpu_msm_plan *plan) {
    const bool g1 = plan->group == PM_MSM_G1;
    switch (plan->curve) {
    case PM_CURVE_BN254:
        plan->digits = &pm_gpu_msm_digits_bn254;
        plan->kernels = g1 ? &pm_gpu_msm_g1_bn254 : &pm_gpu_msm_g2_bn254;
        return g1 ? &pm_gpu_msm_rates_g1_bn254 : &pm_gpu_msm_rates_g2_bn254;
    case PM_CURVE_BLS12_381:
        plan->digits = &pm_gpu_msm_digits_bls12_381;
        plan->kernels = g1 ? &pm_gpu_msm_g1_bls12_381 : &pm_gpu_msm_g2_bls12_381;
        return g1 ? &pm_gpu_msm_rates_g1_bls12_381 : &pm_gpu_msm_rates_g2_bls12_381;
    default:
        return NULL;
    }
}

/* Nanoseconds, roughly: additions into buckets, two for each bucket afterwards, the sort, and what
 * a batch takes however small it is. */
static double cost(const struct pm_gpu_msm_plan *plan, const struct pm_gpu_msm_rates *rates,
                   const struct pm_gpu_msm_windows *windows, uint32_t n_chunks,
                   uint32_t n_batches) {
    const double entries = (double)plan->n * windows->n_windows;
    const double buckets = (double)pm_gpu_msm_bucket_base(windows, windows->n_windows) * n_chunks;
    const uint32_t passes = 1 + windows->small_bits / PM_GPU_MSM_SORT_PASS_BITS;
    return entries / rates->mixed_add + 2 * buckets / rates->full_add +
           entries * passes / PM_GPU_MSM_SORT_RATE +
           PM_GPU_MSM_BATCH_NS * (double)n_chunks * n_batches;
}

static uint32_t windows_min(const struct pm_gpu_msm_plan *plan) {
    return (uint32_t)ceil_div(plan->digits->scalar_bits, PM_GPU_MSM_BITS_MAX);
}

static uint32_t windows_max(const struct pm_gpu_msm_plan *plan) {
    return (uint32_t)min_u64(PM_GPU_MSM_WINDOWS_MAX,
                             plan->digits->scalar_bits / PM_GPU_MSM_BITS_MIN);
}

/* The best number of windows when memory is no matter. */
static uint32_t choose_windows(const struct pm_gpu_msm_plan *plan,
                               const struct pm_gpu_msm_rates *rates) {
    uint32_t best = windows_min(plan);
    double lowest = 0;
    for (uint32_t w = best; w <= windows_max(plan); w++) {
        const struct pm_gpu_msm_windows windows =
            pm_gpu_msm_windows_of(plan->digits->scalar_bits, w);
        const double c = cost(plan, rates, &windows, 1, 1);
        if (w == best || c < lowest) {
            best = w;
            lowest = c;
        }
    }
    return best;
}

/* Buckets of the largest batch: large windows come first. */
static uint64_t batch_buckets(const struct pm_gpu_msm_plan *plan) {
    return pm_gpu_msm_bucket_base(&plan->windows, plan->batch);
}

static uint64_t place(uint64_t *end, uint64_t bytes) {
    const uint64_t at = *end;
    *end = at + (bytes + 255) / 256 * 256;
    return at;
}

static pm_status lay_out(struct pm_gpu_device *device, struct pm_gpu_msm_plan *plan,
                         pm_error *error) {
    struct pm_gpu_msm_places *places = &plan->places;
    const uint64_t entries = (uint64_t)plan->chunk * plan->batch;
    const uint64_t buckets = batch_buckets(plan), slices = buckets >> plan->slice_log;
    const uint64_t bucket_bytes = plan->kernels->bucket_bytes;
    const uint64_t edges = 2 * (uint64_t)plan->n_segments;
    const uint64_t edges_later = 2 * ceil_div(edges, PM_GPU_MSM_MERGE_SEGMENT);
    uint64_t end = 0;
    size_t sort_bytes = 0;
    plan->sort_bits = bits_of(buckets);
    PM_TRY(pm_gpu_device_check(
        device, pm_gpu_msm_sort_bytes((uint32_t)entries, plan->sort_bits, &sort_bytes), "SortPairs",
        entries * 8, error));
    plan->sort_bytes = sort_bytes;
    for (int k = 0; k < 2; k++) {
        places->keys[k] = place(&end, entries * 4);
        places->values[k] = place(&end, entries * 4);
        places->edge_keys[k] = place(&end, 4 * (k == 0 ? edges : edges_later));
        places->edges[k] = place(&end, bucket_bytes * (k == 0 ? edges : edges_later));
    }
    places->sort = place(&end, sort_bytes);
    places->extent = place(&end, sizeof(struct pm_gpu_msm_extent));
    places->buckets = place(&end, buckets * bucket_bytes);
    places->plain = place(&end, slices * bucket_bytes);
    places->weighted = place(&end, slices * bucket_bytes);
    places->outputs = place(&end, plan->outputs_bytes);
    places->end = end;
    plan->workspace_bytes = end;
    return PM_OK;
}

/* What comes down to the host if points are done in such chunks. */
static uint64_t outputs_of(const struct pm_gpu_msm_plan *plan, uint32_t chunk) {
    return ceil_div(plan->n, chunk) * plan->windows.n_windows * PM_GPU_MSM_OUTPUTS_MAX *
           plan->kernels->jacobian_bytes;
}

/* Segments and slices for the chosen chunk and batch. */
static pm_status cut(struct pm_gpu_device *device, struct pm_gpu_msm_plan *plan, pm_error *error) {
    struct pm_gpu_facts facts;
    pm_gpu_device_facts(device, &facts);
    plan->n_chunks = (uint32_t)ceil_div(plan->n, plan->chunk);
    plan->n_batches = (uint32_t)ceil_div(plan->windows.n_windows, plan->batch);
    plan->batch = (uint32_t)ceil_div(plan->windows.n_windows, plan->n_batches);
    plan->n_batches = (uint32_t)ceil_div(plan->windows.n_windows, plan->batch);
    plan->outputs_bytes = outputs_of(plan, plan->chunk);
    const uint64_t entries = (uint64_t)plan->chunk * plan->batch;
    const uint64_t at_once =
        (uint64_t)facts.n_multiprocessors * plan->kernels->threads_per_multiprocessor;
    uint64_t waves = entries / (at_once * PM_GPU_MSM_SEGMENT_LONG);
    waves = waves < 1 ? 1 : min_u64(waves, PM_GPU_MSM_WAVES_MAX);
    plan->n_segments =
        (uint32_t)min_u64(waves * at_once, ceil_div(entries, PM_GPU_MSM_SEGMENT_MIN));
    plan->n_segments =
        (uint32_t)ceil_div(plan->n_segments, PM_GPU_MSM_SEGMENTS_STEP) * PM_GPU_MSM_SEGMENTS_STEP;
    const uint64_t slices = (uint64_t)facts.n_multiprocessors * PM_GPU_MSM_SLICE_THREADS;
    plan->slice_log = 0;
    while (plan->slice_log < PM_GPU_MSM_SLICE_LOG_MAX &&
           plan->slice_log + 1 < plan->windows.small_bits &&
           batch_buckets(plan) >> plan->slice_log > slices) {
        plan->slice_log++;
    }
    return lay_out(device, plan, error);
}

/* What the sort alone takes and the buckets: a quick no. */
static uint64_t workspace_at_least(const struct pm_gpu_msm_plan *plan) {
    return (uint64_t)plan->chunk * plan->batch * 16 +
           batch_buckets(plan) * plan->kernels->bucket_bytes;
}

/* Half the points at once, or the fewest. */
static uint32_t smaller_chunk(uint32_t chunk) {
    return chunk > 2 * PM_GPU_MSM_CHUNK_MIN ? (chunk + 1) / 2 : PM_GPU_MSM_CHUNK_MIN;
}

/* Fewer windows at once, then fewer points, until it fits: with the plan's windows, or never.
 * *least: lowered to the smallest workspace that was looked at; untouched if outputs never fit. */
static pm_status fit(struct pm_gpu_device *device, struct pm_gpu_msm_plan *plan,
                     const struct pm_gpu_msm_limits *limits, bool *fits, uint64_t *least,
                     pm_error *error) {
    plan->chunk = (uint32_t)plan->n;
    plan->batch = plan->windows.n_windows;
    *fits = false;
    if (outputs_of(plan, plan->chunk) > limits->outputs_bytes) {
        return PM_OK; /* and more chunks bring down more */
    }
    for (;;) {
        const bool too_many = (uint64_t)plan->chunk * plan->batch > PM_GPU_MSM_BATCH_ENTRIES ||
                              batch_buckets(plan) > PM_GPU_MSM_BATCH_BUCKETS;
        const bool is_last = plan->batch == 1 &&
                             (plan->chunk <= PM_GPU_MSM_CHUNK_MIN ||
                              outputs_of(plan, smaller_chunk(plan->chunk)) > limits->outputs_bytes);
        if ((plan->batch == 1 || !too_many) &&
            (is_last || workspace_at_least(plan) <= limits->workspace_bytes)) {
            PM_TRY(cut(device, plan, error));
            *least = min_u64(*least, plan->workspace_bytes);
            if (plan->workspace_bytes <= limits->workspace_bytes) {
                *fits = true;
                return PM_OK;
            }
        }
        if (plan->batch > 1) {
            const uint32_t n_batches = (uint32_t)ceil_div(plan->windows.n_windows, plan->batch) + 1;
            const uint32_t fewer = (uint32_t)ceil_div(plan->windows.n_windows, n_batches);
            plan->batch = fewer < plan->batch ? fewer : plan->batch - 1;
        } else if (!is_last) {
            plan->chunk = smaller_chunk(plan->chunk);
        } else {
            return PM_OK;
        }
    }
}

/* The cheapest plan of those that fit, for any number of windows. */
static pm_status fit_any(struct pm_gpu_device *device, struct pm_gpu_msm_plan *plan,
                         const struct pm_gpu_msm_rates *rates,
                         const struct pm_gpu_msm_limits *limits, bool *fits, uint64_t *least,
                         pm_error *error) {
    struct pm_gpu_msm_plan best = *plan;
    double lowest = 0;
    *fits = false;
    for (uint32_t w = windows_min(plan); w <= windows_max(plan); w++) {
        bool this_fits;
        plan->windows = pm_gpu_msm_windows_of(plan->digits->scalar_bits, w);
        PM_TRY(fit(device, plan, limits, &this_fits, least, error));
        const double c = cost(plan, rates, &plan->windows, plan->n_chunks, plan->n_batches);
        if (this_fits && (!*fits || c < lowest)) {
            *fits = true;
            best = *plan;
            lowest = c;
        }
    }
    *plan = best;
    return PM_OK;
}

/* Whatever the workspace, too much comes down: how much would with the one that is granted. */
static pm_status refuse_outputs(struct pm_gpu_device *device, const struct pm_gpu_msm_plan *plan,
                                const struct pm_gpu_msm_limits *limits, uint32_t n_windows,
                                pm_error *error) {
    const struct pm_gpu_msm_limits any = {limits->workspace_bytes, UINT64_MAX};
    struct pm_gpu_msm_plan wider;
    PM_TRY(pm_gpu_msm_plan_within(device, plan->curve, plan->group, plan->n, &any, n_windows,
                                  &wider, error));
    pm_error_set(error, PM_NO_MEMORY,
                 "a multi-scalar multiplication of %llu points needs %llu bytes of the host for "
                 "its outputs, %llu are granted",
                 (unsigned long long)plan->n, (unsigned long long)wider.outputs_bytes,
                 (unsigned long long)limits->outputs_bytes);
    pm_error_need_have(error, wider.outputs_bytes, limits->outputs_bytes);
    return PM_NO_MEMORY;
}

pm_status pm_gpu_msm_plan_within(struct pm_gpu_device *device, pm_curve_id curve,
                                 enum pm_msm_group group, uint64_t n,
                                 const struct pm_gpu_msm_limits *limits, uint32_t n_windows,
                                 struct pm_gpu_msm_plan *out, pm_error *error) {
    struct pm_gpu_msm_plan plan = {.curve = curve, .group = group, .n = n};
    const struct pm_gpu_msm_rates *rates = choose_kernels(&plan);
    uint64_t least = UINT64_MAX;
    bool fits = true;
    PM_FAIL_IF(rates == NULL, error, PM_CURVE, "no kernels for curve %s", pm_curve_name(curve));
    PM_FAIL_IF(n >= PM_GPU_MSM_SIGN, error, PM_UNSUPPORTED,
               "%llu points: a device multiplies fewer than 2^31 at once", (unsigned long long)n);
    PM_FAIL_IF(n_windows > 0 && (n_windows > windows_max(&plan) || n_windows < windows_min(&plan)),
               error, PM_INVALID_ARGUMENT, "%u windows for %u bits", n_windows,
               plan.digits->scalar_bits);
    if (n > 0) {
        PM_TRY(pm_gpu_device_enter(device, error));
        plan.windows = pm_gpu_msm_windows_of(
            plan.digits->scalar_bits, n_windows > 0 ? n_windows : choose_windows(&plan, rates));
        PM_TRY(fit(device, &plan, limits, &fits, &least, error));
        if (n_windows == 0 && (!fits || plan.n_chunks > 1)) {
            PM_TRY(fit_any(device, &plan, rates, limits, &fits, &least, error));
        }
    }
    if (!fits && least == UINT64_MAX) {
        return refuse_outputs(device, &plan, limits, n_windows, error);
    }
    if (!fits) {
        pm_error_set(error, PM_NO_MEMORY,
                     "a multi-scalar multiplication of %llu points needs a workspace of %llu "
                     "bytes at least, %llu are granted",
                     (unsigned long long)n, (unsigned long long)least,
                     (unsigned long long)limits->workspace_bytes);
        pm_error_need_have(error, least, limits->workspace_bytes);
        return PM_NO_MEMORY;
    }
    *out = plan;
    return PM_OK;
}

pm_status pm_gpu_msm_plan_make(struct pm_gpu_device *device, pm_curve_id curve,
                               enum pm_msm_group group, uint64_t n, uint64_t limit_bytes,
                               uint32_t n_windows, struct pm_gpu_msm_plan *plan, pm_error *error) {
    const struct pm_gpu_msm_limits limits = {limit_bytes, UINT64_MAX};
    return pm_gpu_msm_plan_within(device, curve, group, n, &limits, n_windows, plan, error);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* One batch of windows over one chunk of points. */
struct piece {
    const struct pm_gpu_stream *stream;
    const struct pm_gpu_msm_plan *plan;
    const struct pm_gpu_event *marks; /* NULL, or of this piece */
    const void *points, *scalars;
    const uint32_t *indices, *point_indices;
    uint32_t n, first, n_windows, n_buckets;
    uint8_t *workspace;
    uint8_t *outputs; /* of the device */
};

/* Counts the launch and translates what CUDA said. */
static pm_status launched(const struct piece *piece, int cuda_status, const char *kernel,
                          uint64_t bytes, pm_error *error) {
    pm_gpu_device_count_launches(piece->stream->device, 1);
    return pm_gpu_device_check(piece->stream->device, cuda_status, kernel, bytes, error);
}

static pm_status mark(const struct piece *piece, enum pm_gpu_msm_stage stage, pm_error *error) {
    return piece->marks == NULL ? PM_OK
                                : pm_gpu_event_record(&piece->marks[stage], piece->stream, error);
}

/* The sorted list; *which says in which half of the double buffer. */
static pm_status make_entries(const struct piece *piece, int *which, pm_error *error) {
    const struct pm_gpu_msm_plan *plan = piece->plan;
    const struct pm_gpu_msm_places *places = &plan->places;
    const uint32_t n_entries = piece->n * piece->n_windows;
    uint32_t *const keys[2] = {(uint32_t *)(piece->workspace + places->keys[0]),
                               (uint32_t *)(piece->workspace + places->keys[1])};
    uint32_t *const values[2] = {(uint32_t *)(piece->workspace + places->values[0]),
                                 (uint32_t *)(piece->workspace + places->values[1])};
    PM_TRY(launched(piece,
                    plan->digits->entries(&plan->windows, piece->first, piece->n_windows,
                                          piece->scalars, piece->indices, piece->point_indices,
                                          piece->n, keys[0], values[0], piece->stream->raw),
                    "entries", n_entries * UINT64_C(8), error));
    PM_TRY(mark(piece, PM_GPU_MSM_DIGITS, error));
    PM_TRY(
        launched(piece,
                 pm_gpu_msm_sort(piece->workspace + places->sort, plan->sort_bytes, keys, values,
                                 n_entries, bits_of(piece->n_buckets), which, piece->stream->raw),
                 "SortPairs", n_entries * UINT64_C(8), error));
    return mark(piece, PM_GPU_MSM_SORT, error);
}

/* Edges of edges until one thread has seen them all. */
static pm_status merge_edges(const struct piece *piece, uint32_t n_edges, pm_error *error) {
    const struct pm_gpu_msm_places *places = &piece->plan->places;
    const struct pm_gpu_msm_edges edges[2] = {
        {(uint32_t *)(piece->workspace + places->edge_keys[0]),
         piece->workspace + places->edges[0]},
        {(uint32_t *)(piece->workspace + places->edge_keys[1]),
         piece->workspace + places->edges[1]}};
    int from = 0;
    for (;;) {
        const uint32_t n_threads = pm_gpu_msm_merge_threads(n_edges, PM_GPU_MSM_MERGE_SEGMENT);
        PM_TRY(launched(piece,
                        piece->plan->kernels->merge(&edges[from], n_edges, PM_GPU_MSM_MERGE_SEGMENT,
                                                    piece->workspace + places->buckets,
                                                    &edges[1 - from], piece->stream->raw),
                        "merge", n_edges * (uint64_t)piece->plan->kernels->bucket_bytes, error));
        if (n_threads == 1) {
            return mark(piece, PM_GPU_MSM_MERGE, error);
        }
        n_edges = 2 * n_threads;
        from = 1 - from;
    }
}

static pm_status fill_buckets(const struct piece *piece, int which, pm_error *error) {
    const struct pm_gpu_msm_plan *plan = piece->plan;
    const struct pm_gpu_msm_places *places = &plan->places;
    const uint32_t *keys = (const uint32_t *)(piece->workspace + places->keys[which]);
    const uint32_t *values = (const uint32_t *)(piece->workspace + places->values[which]);
    struct pm_gpu_msm_extent *extent =
        (struct pm_gpu_msm_extent *)(piece->workspace + places->extent);
    const struct pm_gpu_msm_edges edges = {(uint32_t *)(piece->workspace + places->edge_keys[0]),
                                           piece->workspace + places->edges[0]};
    const uint64_t bytes = (uint64_t)piece->n_buckets * plan->kernels->bucket_bytes;
    PM_TRY(pm_gpu_fill(piece->stream, piece->workspace + places->buckets, 0, bytes, error));
    PM_TRY(launched(piece,
                    pm_gpu_msm_find_extent(extent, keys, piece->n * piece->n_windows,
                                           piece->n_buckets, plan->n_segments,
                                           PM_GPU_MSM_SEGMENT_MIN, piece->stream->raw),
                    "extent", 0, error));
    PM_TRY(launched(piece,
                    plan->kernels->accumulate(
                        keys, values, extent, plan->n_segments, piece->n_buckets, piece->points,
                        piece->workspace + places->buckets, &edges, piece->stream->raw),
                    "accumulate", bytes, error));
    PM_TRY(mark(piece, PM_GPU_MSM_ACCUMULATE, error));
    return merge_edges(piece, 2 * plan->n_segments, error);
}

static pm_status reduce(const struct piece *piece, pm_error *error) {
    const struct pm_gpu_msm_plan *plan = piece->plan;
    uint8_t *plain = piece->workspace + plan->places.plain;
    uint8_t *weighted = piece->workspace + plan->places.weighted;
    const uint32_t n_slices = piece->n_buckets >> plan->slice_log;
    const uint64_t bytes = (uint64_t)n_slices * plan->kernels->bucket_bytes;
    PM_TRY(launched(piece,
                    plan->kernels->slices(piece->workspace + plan->places.buckets, n_slices,
                                          plan->slice_log, plain, weighted, piece->stream->raw),
                    "slices", bytes, error));
    PM_TRY(launched(piece,
                    plan->kernels->outputs(&plan->windows, piece->first, piece->n_windows,
                                           plan->slice_log, plain, weighted, piece->outputs,
                                           piece->stream->raw),
                    "outputs", bytes, error));
    return mark(piece, PM_GPU_MSM_REDUCE, error);
}

static pm_status run_piece(const struct piece *piece, pm_error *error) {
    int which = 0;
    PM_TRY(make_entries(piece, &which, error));
    PM_TRY(fill_buckets(piece, which, error));
    return reduce(piece, error);
}

static pm_status run_chunk(struct piece *piece, uint32_t chunk, pm_error *error) {
    const struct pm_gpu_msm_plan *plan = piece->plan;
    for (uint32_t batch = 0; batch < plan->n_batches; batch++) {
        piece->first = batch * plan->batch;
        piece->n_windows = (uint32_t)min_u64(plan->batch, plan->windows.n_windows - piece->first);
        piece->n_buckets =
            (uint32_t)(pm_gpu_msm_bucket_base(&plan->windows, piece->first + piece->n_windows) -
                       pm_gpu_msm_bucket_base(&plan->windows, piece->first));
        piece->outputs = piece->workspace + plan->places.outputs +
                         ((uint64_t)chunk * plan->windows.n_windows + piece->first) *
                             PM_GPU_MSM_OUTPUTS_MAX * plan->kernels->jacobian_bytes;
        PM_TRY(run_piece(piece, error));
        if (piece->marks != NULL) {
            piece->marks += PM_GPU_MSM_STAGES;
        }
    }
    return PM_OK;
}

pm_status pm_gpu_msm_run(const struct pm_gpu_stream *stream, const struct pm_gpu_msm_plan *plan,
                         const struct pm_gpu_msm_input *input, void *workspace, void *outputs,
                         const struct pm_gpu_event *marks, pm_error *error) {
    struct piece piece = {.stream = stream, .plan = plan, .workspace = workspace};
    if (plan->n == 0) {
        return PM_OK;
    }
    PM_TRY(pm_gpu_device_enter(stream->device, error));
    PM_TRY(
        pm_gpu_fill(stream, piece.workspace + plan->places.outputs, 0, plan->outputs_bytes, error));
    if (marks != NULL) {
        PM_TRY(pm_gpu_event_record(&marks[0], stream, error));
        piece.marks = marks + 1;
    }
    for (uint32_t chunk = 0; chunk < plan->n_chunks; chunk++) {
        const uint64_t start = (uint64_t)chunk * plan->chunk;
        const uint64_t skip = input->indices == NULL ? start : 0;
        piece.n = (uint32_t)min_u64(plan->chunk, plan->n - start);
        piece.indices = input->indices == NULL ? NULL : input->indices + start;
        piece.point_indices =
            input->point_indices == NULL ? piece.indices : input->point_indices + start;
        piece.points = (const uint8_t *)input->points + skip * plan->kernels->affine_bytes;
        piece.scalars = (const uint8_t *)input->scalars + skip * PM_FR_BYTES;
        PM_TRY(run_chunk(&piece, chunk, error));
    }
    return pm_gpu_download(stream, outputs, piece.workspace + plan->places.outputs,
                           plan->outputs_bytes, error);
}

void pm_gpu_msm_finish(const struct pm_gpu_msm_plan *plan, const void *outputs, void *result) {
    const struct pm_curve *curve = pm_curve_get(plan->curve, pm_cpu_best_body());
    const struct pm_group *group = plan->group == PM_MSM_G1 ? curve->g1 : curve->g2;
    pm_gpu_msm_collect(group, &plan->windows, plan->slice_log, outputs, plan->n_chunks,
                       plan->kernels->jacobian_bytes, result);
}
