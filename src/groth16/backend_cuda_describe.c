/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The card as plans see it. What is answered here is what is allocated: a key lays its block out
 * with the same function, and steps ask for the same sizes again. */
#include "groth16/backend_cuda_card.h"

#include "base/budget.h"
#include "groth16/key_windows.h"
#include "groth16/plan_share.h"

/* A pane of the window: more gains nothing, and with less each piece's own work is what counts. */
#define PANE_BYTES_MAX (UINT64_C(3) << 30)
#define PANE_BYTES_LOW (UINT64_C(1) << 20)
#define ROWS_BYTES_LOW (UINT64_C(32) << 20)
/* Of either: a small key has no more. */
#define WINDOW_BYTES_MIN (UINT64_C(64) << 10)
#define WORD_BITS UINT64_C(64)
/* Compact points: of the scalars of a piece at least one in so many may be expected to have one. */
#define SPARSEST_DENSITY 4
#define PRODUCT_ROWS_MAX (UINT64_C(1) << 20)

static struct pm_cuda *cuda_of(const struct pm_plan_device *device) {
    return device->user;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* 0 where b is more. */
static uint64_t without(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

/* ---- Counts -----------------------------------------------------------------------------------
 */

static bool is_bellman(const struct pm_plan_sizes *sizes) {
    return sizes->reduction == PM_REDUCTION_BELLMAN;
}

static const enum pm_shared_sum shared_of[PM_CUDA_QUERIES] = {[PM_CUDA_A] = PM_SHARED_A,
                                                              [PM_CUDA_B1] = PM_SHARED_B1,
                                                              [PM_CUDA_L] = PM_SHARED_L,
                                                              [PM_CUDA_B2] = PM_SHARED_B2};

struct pm_plan_range pm_cuda_points(const struct pm_plan_sizes *sizes, enum pm_cuda_query query) {
    const struct pm_plan_share *share = &sizes->share;
    if (query == PM_CUDA_H) {
        return (struct pm_plan_range){0, share->is_further ? 0 : sizes->n_h};
    }
    return share->is_cut ? share->points[shared_of[query]]
                         : (struct pm_plan_range){0, pm_plan_query_points(sizes, shared_of[query])};
}

static uint64_t n_points(const struct pm_plan_sizes *sizes, enum pm_cuda_query query) {
    return pm_cuda_points(sizes, query).n;
}

static enum pm_cuda_query query_of(enum pm_step_id step) {
    switch (step) {
    case PM_STEP_MSM_A:
        return PM_CUDA_A;
    case PM_STEP_MSM_B1:
        return PM_CUDA_B1;
    case PM_STEP_MSM_L:
        return PM_CUDA_L;
    case PM_STEP_MSM_H:
        return PM_CUDA_H;
    default:
        return PM_CUDA_B2;
    }
}

static uint64_t point_bytes(const struct pm_plan_sizes *sizes, enum pm_cuda_query query) {
    return (query == PM_CUDA_B2 ? 4 : 2) * (uint64_t)pm_curve_fp_bytes(sizes->curve);
}

uint64_t pm_cuda_n_coefficients(const struct pm_plan_sizes *sizes, int matrix) {
    const uint64_t n_terms = sizes->n_nonzeros[matrix];
    if (sizes->n_coefficients[matrix] != 0) {
        return sizes->n_coefficients[matrix];
    }
    /* A .zkey does not say how many differ until all have been seen: they may all. Of a circuit
     * without a key 1 and -1 are taken to be there. */
    return is_bellman(sizes) ? least(n_terms, 2) : n_terms;
}

bool pm_cuda_streams_matrices(const struct pm_plan_sizes *sizes, enum pm_key_place place) {
    return is_bellman(sizes) && place == PM_KEY_STREAMED;
}

/* Between which variables the points of a share of a compact query lie, say the densities, which a
 * plan does not know. */
uint64_t pm_cuda_n_scalars(const struct pm_plan_sizes *sizes, enum pm_step_id step) {
    const uint64_t n = n_points(sizes, query_of(step));
    if (sizes->share.is_cut &&
        (n == 0 || !is_bellman(sizes) || step == PM_STEP_MSM_H || step == PM_STEP_MSM_L)) {
        return n;
    }
    return step == PM_STEP_MSM_H ? sizes->n_h : step == PM_STEP_MSM_L ? sizes->n_l : sizes->n_vars;
}

uint64_t pm_cuda_product_rows(const struct pm_plan_sizes *sizes) {
    return least(UINT64_C(1) << sizes->log_n, PRODUCT_ROWS_MAX);
}

/* ---- Staging ----------------------------------------------------------------------------------
 */

uint64_t pm_cuda_pack_scalars(const struct pm_cuda *cuda, uint64_t n) {
    if (cuda->options.pack_scalars != 0) {
        return cuda->options.pack_scalars;
    }
    const uint64_t each = (n / PM_CUDA_SLOTS + WORD_BITS) / WORD_BITS * WORD_BITS;
    return least(most(each, PM_CUDA_PACK_SCALARS_MIN), PM_CUDA_PACK_SCALARS_MAX);
}

uint64_t pm_cuda_slot_bytes(uint64_t pack_scalars) {
    return pm_cuda_round(pm_gpu_pack_bytes_max(pack_scalars));
}

/* The counterparts of the slots of both halves. A small key has fewer chunks than there are. */
static uint64_t packed_bytes(const struct pm_plan_device *device,
                             const struct pm_plan_sizes *sizes) {
    const uint64_t pack_scalars = pm_cuda_pack_scalars(cuda_of(device), sizes->n_vars);
    const uint64_t n_chunks = sizes->n_vars / pack_scalars + 1;
    return 2 * least(n_chunks, PM_CUDA_SLOTS) * pm_cuda_slot_bytes(pack_scalars);
}

/* ---- Windows ----------------------------------------------------------------------------------
 */

uint64_t pm_cuda_piece_points(const struct pm_plan_sizes *sizes, enum pm_step_id step,
                              uint64_t pane_bytes) {
    const enum pm_cuda_query query = query_of(step);
    return pane_bytes == 0 ? n_points(sizes, query)
                           : pane_bytes / point_bytes(sizes, query) / WORD_BITS * WORD_BITS;
}

uint64_t pm_cuda_piece_scalars(const struct pm_plan_sizes *sizes, enum pm_step_id step,
                               uint64_t pane_bytes) {
    const uint64_t all = pm_cuda_n_scalars(sizes, step);
    const bool is_compact = is_bellman(sizes) && step != PM_STEP_MSM_H && step != PM_STEP_MSM_L;
    return pane_bytes == 0 ? all
                           : least(all, pm_cuda_piece_points(sizes, step, pane_bytes) *
                                            (is_compact ? SPARSEST_DENSITY : 1));
}

/* ---- A key ------------------------------------------------------------------------------------
 */

/* Gives out the next place. */
static uint64_t place_bytes(struct pm_cuda_layout *layout, uint64_t bytes) {
    const uint64_t at = layout->end;
    layout->end += pm_cuda_round(bytes);
    return at;
}

static uint64_t matrix_bytes(const struct pm_cuda *cuda, const struct pm_plan_sizes *sizes,
                             enum pm_key_place place, int matrix) {
    const uint64_t n_coefficients = pm_cuda_n_coefficients(sizes, matrix);
    if (!sizes->has_matrices || sizes->share.is_further || (matrix == 2 && !is_bellman(sizes))) {
        return 0;
    }
    if (pm_cuda_streams_matrices(sizes, place)) {
        return n_coefficients * PM_FR_BYTES;
    }
    return cuda->api->sparse_bytes(UINT64_C(1) << sizes->log_n, sizes->n_nonzeros[matrix],
                                   n_coefficients);
}

void pm_cuda_lay_out(const struct pm_cuda *cuda, const struct pm_plan_sizes *sizes,
                     enum pm_key_place place, struct pm_cuda_layout *layout) {
    *layout = (struct pm_cuda_layout){0};
    for (int query = 0; query < PM_CUDA_QUERIES && place != PM_KEY_STREAMED; ++query) {
        layout->points[query] =
            place_bytes(layout, n_points(sizes, (enum pm_cuda_query)query) *
                                    point_bytes(sizes, (enum pm_cuda_query)query));
    }
    for (int matrix = 0; matrix < 3; ++matrix) {
        layout->matrices[matrix] = place_bytes(layout, matrix_bytes(cuda, sizes, place, matrix));
    }
    /* Of A and B; snarkjs's A has a point for each variable. Without matrices they come with each
     * assignment, and stand beside the classes. */
    const bool has_a = is_bellman(sizes) && sizes->has_matrices;
    const bool has_b = !is_bellman(sizes) || sizes->has_matrices;
    layout->densities[0] = place_bytes(layout, has_a ? pm_density_bytes(sizes->n_vars) : 0);
    layout->densities[1] = place_bytes(layout, has_b ? pm_density_bytes(sizes->n_vars) : 0);
    layout->counters[0] = place_bytes(layout, PM_GPU_TAKE_SCRATCH_BYTES);
    layout->counters[1] = place_bytes(layout, PM_GPU_TAKE_SCRATCH_BYTES);
    if (sizes->share.is_further) {
        return;
    }
    layout->domain_bytes = cuda->api->domain_bytes(sizes->log_n);
    layout->h_bytes = cuda->api->h_bytes(
        sizes->log_n, is_bellman(sizes) ? PM_GPU_REDUCTION_BELLMAN : PM_GPU_REDUCTION_SNARKJS);
}

static uint64_t key_bytes(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                          enum pm_key_place place) {
    struct pm_cuda_layout layout;
    pm_cuda_lay_out(cuda_of(device), sizes, place, &layout);
    return layout.end + layout.domain_bytes + layout.h_bytes;
}

/* ---- The window ---------------------------------------------------------------------------------
 */

/* The highest four bits: what is planned should not follow every page that others take. */
static uint64_t coarse(uint64_t bytes) {
    const uint64_t keep = UINT64_C(15);
    const int shift = bytes > keep ? 60 - __builtin_clzll(bytes) : 0;
    return bytes >> shift << shift;
}

/* What a proof may have of the pool, the key apart. */
static uint64_t room_beside_key(const struct pm_plan_device *device,
                                const struct pm_plan_sizes *sizes,
                                const struct pm_plan_choices *choices, enum pm_key_place place) {
    const uint64_t limit = choices->limit_bytes[device->pool];
    const uint64_t room =
        without(pm_plan_device_bytes(device, place), key_bytes(device, sizes, place));
    return limit != 0 && limit != PM_BUDGET_UNLIMITED ? least(room, limit) : room;
}

/* 0 for sums over w alone. */
static uint64_t vector_bytes(const struct pm_plan_sizes *sizes) {
    return sizes->share.is_further ? 0 : (UINT64_C(1) << sizes->log_n) * PM_FR_BYTES;
}

static uint64_t classes_bytes(const struct pm_plan_device *device,
                              const struct pm_plan_sizes *sizes) {
    const uint64_t classes = cuda_of(device)->api->classes_bytes(sizes->n_vars);
    const bool with_densities = is_bellman(sizes) && !sizes->has_matrices;
    return pm_cuda_round(classes) +
           (with_densities ? 2 * pm_cuda_round(pm_density_bytes(sizes->n_vars)) : 0);
}

/* For the points of a streamed key and the scratch of its sums, beside what these read when they
 * are made side by side. If that leaves as much again, the next proof has room for its w. */
static uint64_t room_for_sums(const struct pm_plan_device *device,
                              const struct pm_plan_sizes *sizes,
                              const struct pm_plan_choices *choices) {
    const uint64_t w_bytes = sizes->n_vars * PM_FR_BYTES;
    const uint64_t next_bytes = w_bytes + packed_bytes(device, sizes);
    const uint64_t room = without(room_beside_key(device, sizes, choices, PM_KEY_STREAMED),
                                  w_bytes + vector_bytes(sizes) + classes_bytes(device, sizes));
    return coarse(room / 2 >= next_bytes ? room - next_bytes : room);
}

/* Longer pieces have fewer buckets to add up: two thirds are the window's, one is scratch. */
static uint64_t window_bytes(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                             const struct pm_plan_choices *choices) {
    const uint64_t asked = cuda_of(device)->options.window_bytes;
    uint64_t query_bytes = 0;
    if (asked != 0) {
        return PM_CUDA_PANES * pm_cuda_round(most(asked, WORD_BITS * PM_G2_BYTES_MAX));
    }
    for (int query = 0; query < PM_CUDA_QUERIES; ++query) {
        query_bytes = most(query_bytes, n_points(sizes, (enum pm_cuda_query)query) *
                                            point_bytes(sizes, (enum pm_cuda_query)query));
    }
    const uint64_t room = room_for_sums(device, sizes, choices) / (3 * PM_CUDA_PANES) * 2;
    const uint64_t enough = least(most(room, PANE_BYTES_LOW), PANE_BYTES_MAX);
    return PM_CUDA_PANES * pm_cuda_round(least(most(query_bytes, WINDOW_BYTES_MIN), enough));
}

/* Of a matrix with all its rows. */
static uint64_t rows_bytes(const struct pm_plan_sizes *sizes, int matrix) {
    return pm_cuda_round(((UINT64_C(1) << sizes->log_n) + 1) * sizeof(uint32_t)) +
           sizes->n_nonzeros[matrix] * sizeof(struct pm_sparse_entry);
}

/* Two halves, of what w, a and b leave an eighth each. Where there is room for all of C it comes
 * while a and b are transformed, if the next proof has room for its w all the same. */
static uint64_t matrix_window_bytes(const struct pm_plan_device *device,
                                    const struct pm_plan_sizes *sizes,
                                    const struct pm_plan_choices *choices) {
    const uint64_t asked = cuda_of(device)->options.window_bytes;
    const uint64_t w_bytes = sizes->n_vars * PM_FR_BYTES;
    uint64_t matrix_bytes = 0;
    if (!pm_cuda_streams_matrices(sizes, choices->key) || sizes->share.is_further) {
        return 0;
    }
    if (asked != 0) {
        return 2 * pm_cuda_round(asked);
    }
    for (int matrix = 0; matrix < 3; ++matrix) { /* 0 terms: nobody knows how many */
        const bool is_known = sizes->n_nonzeros[matrix] != 0;
        matrix_bytes = most(matrix_bytes, is_known ? rows_bytes(sizes, matrix) : UINT64_MAX / 2);
    }
    const uint64_t room = without(room_beside_key(device, sizes, choices, choices->key),
                                  w_bytes + 2 * vector_bytes(sizes));
    const uint64_t enough = least(most(coarse(room) / 8, ROWS_BYTES_LOW), PM_CUDA_ROWS_BYTES_MAX);
    const uint64_t halves = 2 * pm_cuda_round(least(most(matrix_bytes, WINDOW_BYTES_MIN), enough));
    const uint64_t all_of_c = choices->form == PM_FORM_TWO_VECTORS ? rows_bytes(sizes, 2) : 0;
    return all_of_c <= without(room, w_bytes + packed_bytes(device, sizes))
               ? most(halves, pm_cuda_round(all_of_c))
               : halves;
}

/* ---- Scratch ----------------------------------------------------------------------------------
 */

/* Looked up under the mutex; the call itself is a function of its arguments. */
pm_status pm_cuda_sum_bytes(struct pm_cuda *cuda, struct pm_cuda_sum_bytes *sum, pm_error *error) {
    bool known = false;
    (void)pthread_mutex_lock(&cuda->mutex);
    for (uint32_t i = 0; i < PM_CUDA_SUMS_KNOWN && !known; ++i) {
        const struct pm_cuda_sum_bytes *other = &cuda->sums[i];
        known = other->workspace_bytes != 0 && other->curve == sum->curve &&
                other->group == sum->group && other->has_classes == sum->has_classes &&
                other->n == sum->n && other->limit_bytes == sum->limit_bytes;
        if (known) {
            *sum = *other;
        }
    }
    (void)pthread_mutex_unlock(&cuda->mutex);
    if (known) {
        return PM_OK;
    }
    PM_TRY(cuda->api->sum_bytes(cuda->device, sum->curve, sum->group, sum->n, sum->has_classes,
                                sum->limit_bytes, &sum->workspace_bytes, &sum->outputs_bytes,
                                error));
    PM_FAIL_IF(sum->outputs_bytes > PM_CUDA_OUTPUTS_BYTES, error, PM_UNSUPPORTED,
               "a sum brings %llu bytes down, there is room for %llu",
               (unsigned long long)sum->outputs_bytes, (unsigned long long)PM_CUDA_OUTPUTS_BYTES);
    (void)pthread_mutex_lock(&cuda->mutex);
    cuda->outputs_most_bytes = most(cuda->outputs_most_bytes, sum->outputs_bytes);
    cuda->sums[cuda->next_sum++ % PM_CUDA_SUMS_KNOWN] = *sum;
    (void)pthread_mutex_unlock(&cuda->mutex);
    return PM_OK;
}

static uint64_t pane_bytes(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                           const struct pm_plan_choices *choices) {
    return choices->key == PM_KEY_STREAMED ? window_bytes(device, sizes, choices) / PM_CUDA_PANES
                                           : 0;
}

/* What the card has left for the scratch of a sum beside all that lives then. */
static uint64_t room_for_sum(const struct pm_plan_device *device, enum pm_step_id step,
                             const struct pm_plan_sizes *sizes,
                             const struct pm_plan_choices *choices) {
    const uint64_t w_bytes = sizes->n_vars * PM_FR_BYTES;
    uint64_t beside = PM_CUDA_PANES * pane_bytes(device, sizes, choices);
    if (step == PM_STEP_MSM_H) {
        beside += vector_bytes(sizes);
        beside += choices->vectors == PM_VECTORS_FROM_W ? w_bytes : 0;
    } else {
        beside += w_bytes + classes_bytes(device, sizes);
    }
    return coarse(without(room_beside_key(device, sizes, choices, choices->key), beside));
}

/* step: which sum. */
static uint64_t sum_scratch_bytes(const struct pm_plan_device *device, enum pm_step_id step,
                                  const struct pm_plan_sizes *sizes,
                                  const struct pm_plan_choices *choices, uint64_t limit_bytes) {
    pm_error error = PM_ERROR_INIT;
    struct pm_cuda_sum_bytes sum = {
        .curve = sizes->curve,
        .group = step == PM_STEP_MSM_B2 ? PM_MSM_G2 : PM_MSM_G1,
        .has_classes = step != PM_STEP_MSM_H,
        .n = pm_cuda_piece_scalars(sizes, step, pane_bytes(device, sizes, choices)),
        .limit_bytes = limit_bytes};
    if (sum.n == 0) {
        return 0;
    }
    if (pm_cuda_sum_bytes(cuda_of(device), &sum, &error) != PM_OK) {
        /* Not even a small part of the sum fits: the plan will find that it does not either. */
        return error.status == PM_NO_MEMORY ? most(error.need, sum.limit_bytes + 1)
                                            : PM_PLAN_BYTES_MAX;
    }
    return sum.workspace_bytes;
}

/* One piece of one sum is computed at a time. */
static uint64_t sums_scratch_bytes(const struct pm_plan_device *device,
                                   const struct pm_plan_sizes *sizes,
                                   const struct pm_plan_choices *choices) {
    static const enum pm_step_id steps[] = {PM_STEP_MSM_H, PM_STEP_MSM_A, PM_STEP_MSM_B1,
                                            PM_STEP_MSM_L, PM_STEP_MSM_B2};
    const size_t n_steps = choices->b2 == PM_B2_IN_START ? 5 : 4;
    const uint64_t limit_bytes = without(room_for_sums(device, sizes, choices),
                                         PM_CUDA_PANES * pane_bytes(device, sizes, choices));
    uint64_t bytes = 0;
    for (size_t i = 0; i < n_steps; ++i) {
        bytes = most(bytes, sum_scratch_bytes(device, steps[i], sizes, choices, limit_bytes));
    }
    return bytes;
}

static uint64_t scratch_bytes(const struct pm_plan_device *device, enum pm_step_id step,
                              const struct pm_plan_sizes *sizes,
                              const struct pm_plan_choices *choices) {
    switch (step) {
    case PM_STEP_RECOMPUTE_C: {
        /* c is the product of two vectors, row by row, and there is no third to hold one. */
        const bool multiplies =
            choices->vectors == PM_VECTORS_FROM_W ? !is_bellman(sizes) : !choices->caller_brings_c;
        return multiplies ? pm_cuda_product_rows(sizes) * PM_FR_BYTES : 0;
    }
    case PM_STEP_MSM_B2:
        if (choices->b2 != PM_B2_IN_START) {
            return pm_key_scratch_bytes(sizes, choices, step, device->threads);
        }
        /* fall through */
    case PM_STEP_MSM_H:
    case PM_STEP_MSM_A:
    case PM_STEP_MSM_B1:
    case PM_STEP_MSM_L:
        return sum_scratch_bytes(device, step, sizes, choices,
                                 room_for_sum(device, step, sizes, choices));
    case PM_STEP_MSM_ALL:
        return sums_scratch_bytes(device, sizes, choices);
    default:
        return 0; /* products and transforms work in place */
    }
}

/* ---- The card ---------------------------------------------------------------------------------
 */

void pm_cuda_describe(const struct pm_backend *backend, struct pm_team *team,
                      struct pm_plan_device *device) {
    struct pm_cuda *cuda = pm_cuda_of((struct pm_backend *)(uintptr_t)backend);
    *device = (struct pm_plan_device){.name = cuda->name,
                                      .pool = backend->pool,
                                      .mechanism = PM_BY_STREAM_ORDER,
                                      .own_memory = true,
                                      .classifies = true,
                                      .b2_on_device = true,
                                      .stages_sums = true,
                                      .loads_beside = true,
                                      .sums_together = true,
                                      .keeps_staging = true,
                                      .takes_shares = true,
                                      .memory_bytes = pm_cuda_memory_bytes(cuda),
                                      .keys_bytes =
                                          cuda->api->device_live_bytes(cuda->device, PM_GPU_ONCE),
                                      .staging_bytes = cuda->staging_bytes,
                                      .threads = pm_team_threads(team),
                                      .user = cuda,
                                      .scratch_bytes = scratch_bytes,
                                      .classes_bytes = classes_bytes,
                                      .key_bytes = key_bytes,
                                      .window_bytes = window_bytes,
                                      .matrix_window_bytes = matrix_window_bytes,
                                      .packed_bytes = packed_bytes};
}

/* What the card's kernels count with 31 and 32 bits. */
static pm_status check_counts(const struct pm_plan_sizes *sizes, pm_error *error) {
    const uint64_t n = most(sizes->n_vars, sizes->n_h);
    PM_FAIL_IF(n > INT32_MAX, error, PM_UNSUPPORTED,
               "a key of %llu variables: a sum on a device has 2^31 - 1 terms at most",
               (unsigned long long)n);
    for (int matrix = 0; matrix < 3; ++matrix) {
        PM_FAIL_IF(sizes->n_nonzeros[matrix] > UINT32_MAX, error, PM_UNSUPPORTED,
                   "a matrix of %llu non-zeros: on a device there are 2^32 - 1 at most",
                   (unsigned long long)sizes->n_nonzeros[matrix]);
    }
    return PM_OK;
}

pm_status pm_cuda_can_run(const struct pm_backend *backend, const struct pm_plan_sizes *sizes,
                          pm_error *error) {
    const struct pm_cuda *cuda = pm_cuda_of((struct pm_backend *)(uintptr_t)backend);
    PM_FAIL_IF(pm_cuda_is_bad(cuda), error, PM_DEVICE,
               "%s failed some time ago and takes no more work in this process", cuda->name);
    PM_FAIL_IF(pm_msm_get(sizes->curve, PM_BODY_PORTABLE) == NULL, error, PM_UNSUPPORTED,
               "curve %d is not supported", (int)sizes->curve);
    PM_FAIL_IF(sizes->has_matrices && !sizes->rows_sorted, error, PM_UNSUPPORTED,
               "the rows of this key's matrices are not in order, which a device needs: prove on "
               "the CPU, or make the key again");
    PM_FAIL_IF(sizes->log_n > PM_GPU_NTT_LOG_MAX, error, PM_UNSUPPORTED,
               "a domain of 2^%u: on a device there are 2^%u at most", sizes->log_n,
               PM_GPU_NTT_LOG_MAX);
    return check_counts(sizes, error);
}
