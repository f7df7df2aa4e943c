/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The card's sums. Of a streamed key one piece is summed while the team brings the next one up. */
#include "groth16/backend_cuda_card.h"

#include <string.h>

#define WORD_BITS UINT64_C(64)

static const struct pm_cuda_key *key_of(const struct pm_step_data *data) {
    return data->resident;
}

/* ---- Densities --------------------------------------------------------------------------------
 */

static bool densities_come_with_proof(const struct pm_step_data *data) {
    return data->plan->sizes.reduction == PM_REDUCTION_BELLMAN && !data->plan->sizes.has_matrices;
}

/* Where that of A (0) or B (1) lies on the card. */
static uint8_t *density_place(const struct pm_step_data *data, int which) {
    const struct pm_cuda_key *key = key_of(data);
    const uint64_t n = data->plan->sizes.n_vars;
    if (!densities_come_with_proof(data)) {
        return pm_cuda_at(key, key->layout.densities[which]);
    }
    return (uint8_t *)data->buffer[PM_BUFFER_CLASSES] +
           pm_cuda_round(key->cuda->api->classes_bytes(n)) +
           (uint64_t)which * pm_cuda_round(pm_density_bytes(n));
}

static pm_status bring_densities(const struct pm_step_data *data, pm_error *error) {
    const struct pm_density *const densities[] = {&data->proving_key->a_density,
                                                  &data->proving_key->b_density};
    struct pm_cuda_way *way = NULL;
    pm_status status = PM_OK;
    PM_TRY(pm_density_check(densities[0], data->plan->sizes.n_vars, error));
    PM_TRY(pm_density_check(densities[1], data->plan->sizes.n_vars, error));
    PM_TRY(pm_cuda_way_begin(key_of(data)->cuda, data, &way, error));
    for (int i = 0; i < 2 && status == PM_OK; ++i) {
        status = pm_cuda_way_bytes(way, density_place(data, i), densities[i]->words,
                                   pm_density_bytes(densities[i]->n), error);
    }
    return pm_cuda_way_end(way, status, error);
}

pm_status pm_cuda_classify(struct pm_backend *backend, const struct pm_step_data *data,
                           pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    if (densities_come_with_proof(data)) {
        PM_TRY(bring_densities(data, error));
    }
    return cuda->api->classify(&pm_cuda_side(cuda)->stream, data->plan->sizes.curve,
                               data->buffer[PM_BUFFER_W], data->plan->sizes.n_vars,
                               data->buffer[PM_BUFFER_CLASSES], error);
}

/* ---- Pieces -----------------------------------------------------------------------------------
 */

struct sum {
    const struct pm_step_data *data;
    struct pm_cuda *cuda;
    const struct pm_group *group;
    enum pm_step_id step;
    const struct pm_key_query *query; /* on the host */
    const struct pm_density *compact; /* on the host, of compact points; else NULL */
    uint64_t n;                       /* scalars */
    uint64_t piece_scalars, piece_points;
    struct pm_gpu_sum_input input; /* of the whole sum; points NULL when they are streamed */
    void *scratch;
    uint64_t scratch_bytes;
};

/* Scalars from `first` on, counted from the sum's first one, and their points. */
struct piece {
    uint64_t first, n, first_point, n_points;
};

static uint64_t points_before(const struct sum *sum, uint64_t i) {
    return sum->compact != NULL ? pm_density_rank(sum->compact, i) : i;
}

/* As much as fits; whole words of a density, but for the last piece. */
static struct piece piece_from(const struct sum *sum, uint64_t first) {
    const uint64_t left = sum->n - first;
    const uint64_t most = left < sum->piece_scalars ? left : sum->piece_scalars;
    struct piece piece = {.first = first, .n = most, .first_point = points_before(sum, first)};
    uint64_t low = 1, high = (most + WORD_BITS - 1) / WORD_BITS; /* words */
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        const uint64_t n = middle * WORD_BITS < most ? middle * WORD_BITS : most;
        if (points_before(sum, first + n) - piece.first_point <= sum->piece_points) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    piece.n = low * WORD_BITS < most ? low * WORD_BITS : most;
    piece.n_points = points_before(sum, first + piece.n) - piece.first_point;
    return piece;
}

static pm_status sum_piece(const struct sum *sum, const struct piece *piece, const void *points,
                           struct pm_group_point *part, pm_error *error) {
    struct pm_gpu_sum_input input = sum->input;
    uint8_t *staging = sum->data->buffer[PM_BUFFER_STAGING];
    input.points = points;
    input.first += piece->first;
    input.n = piece->n;
    PM_TRY(pm_control_check(sum->data->control, error));
    return sum->cuda->api->sum_run(&sum->cuda->holder.stream, &input, sum->scratch,
                                   sum->scratch_bytes, staging + 2 * sum->cuda->half_bytes,
                                   PM_CUDA_OUTPUTS_BYTES, part, error);
}

static pm_status bring_piece(const struct sum *sum, struct pm_cuda_way *way,
                             const struct piece *piece, void *half, pm_error *error) {
    const uint64_t point_bytes = sum->group->affine_bytes;
    const pm_status status =
        pm_cuda_way_bytes(way, half, sum->query->points + piece->first_point * point_bytes,
                          piece->n_points * point_bytes, error);
    return pm_cuda_way_end(way, status, error);
}

/* Two tasks: a piece is summed, the next one comes. */
struct overlap {
    const struct sum *sum;
    struct pm_cuda_way *way;
    struct piece now, next; /* next.n 0: there is none */
    uint8_t *halves[2];     /* of now, of next */
    struct pm_group_point part;
    pm_status status[2];
    pm_error errors[2];
};

static void overlap_task(void *argument, size_t task) {
    struct overlap *overlap = argument;
    pm_error *error = &overlap->errors[task];
    *error = (pm_error)PM_ERROR_INIT;
    overlap->status[task] = PM_OK;
    if (task == 0) {
        overlap->status[0] =
            sum_piece(overlap->sum, &overlap->now, overlap->halves[0], &overlap->part, error);
    } else if (overlap->next.n != 0) {
        overlap->status[1] =
            bring_piece(overlap->sum, overlap->way, &overlap->next, overlap->halves[1], error);
    }
}

static pm_status run_overlap(struct overlap *overlap, pm_error *error) {
    pm_team_run(overlap->sum->data->team, 2, overlap_task, overlap);
    for (int task = 0; task < 2; ++task) {
        if (overlap->status[task] != PM_OK) {
            pm_error_copy(error, &overlap->errors[task]);
            return overlap->status[task];
        }
    }
    return PM_OK;
}

static pm_status sum_streamed(const struct sum *sum, struct pm_group_point *total,
                              pm_error *error) {
    const uint64_t half_bytes = pm_cuda_half_bytes(sum->data->plan);
    uint8_t *window = sum->data->buffer[PM_BUFFER_KEY_WINDOW];
    struct overlap overlap = {.sum = sum, .next = piece_from(sum, 0)};
    pm_status status = PM_OK;
    PM_TRY(pm_cuda_way_begin(sum->cuda, sum->data, &overlap.way, error));
    PM_TRY(bring_piece(sum, overlap.way, &overlap.next, window, error));
    for (uint32_t i = 0; status == PM_OK && overlap.next.n != 0; ++i) {
        overlap.now = overlap.next;
        const uint64_t end = overlap.now.first + overlap.now.n;
        overlap.next = end < sum->n ? piece_from(sum, end) : (struct piece){0};
        overlap.halves[0] = window + i % 2 * half_bytes;
        overlap.halves[1] = window + (i + 1) % 2 * half_bytes;
        status = run_overlap(&overlap, error);
        if (status == PM_OK) {
            sum->group->add(total, total, &overlap.part);
        }
    }
    pm_memory_wipe(&overlap.part, sizeof overlap.part);
    return status;
}

/* ---- Sums -------------------------------------------------------------------------------------
 */

static pm_status run(struct sum *sum, enum pm_buffer_id scratch, struct pm_group_point *total,
                     pm_error *error) {
    const struct pm_plan *plan = sum->data->plan;
    const struct pm_plan_buffer *room = pm_plan_find(plan, scratch);
    memset(total, 0, sizeof *total);
    sum->group->set_infinity(total);
    if (sum->n == 0) {
        return PM_OK;
    }
    PM_FAIL_IF(room == NULL, error, PM_INTERNAL, "the plan has no scratch for %s",
               pm_step_name(sum->step));
    sum->scratch = sum->data->buffer[scratch];
    sum->scratch_bytes = room->bytes;
    sum->piece_scalars = pm_cuda_piece_scalars(&plan->sizes, sum->step, pm_cuda_half_bytes(plan));
    sum->piece_points = pm_cuda_piece_points(&plan->sizes, sum->step, pm_cuda_half_bytes(plan));
    if (plan->choices.key == PM_KEY_STREAMED) {
        return sum_streamed(sum, total, error);
    }
    const struct piece all = {.n = sum->n, .n_points = sum->query->n};
    return sum_piece(sum, &all, sum->input.points, total, error);
}

static pm_status begin(const struct pm_step_data *data, enum pm_step_id step,
                       enum pm_cuda_query which, const struct pm_key_query *query, struct sum *sum,
                       pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    const struct pm_plan *plan = data->plan;
    const bool is_g2 = which == PM_CUDA_B2;
    struct pm_kernels kernels;
    PM_TRY(pm_kernels_get(plan->sizes.curve, data->body, data->team, &kernels, error));
    *sum =
        (struct sum){.data = data,
                     .cuda = key->cuda,
                     .group = is_g2 ? kernels.curve->g2 : kernels.curve->g1,
                     .step = step,
                     .query = query,
                     .n = pm_cuda_n_scalars(&plan->sizes, step),
                     .input = {.curve = plan->sizes.curve, .group = is_g2 ? PM_MSM_G2 : PM_MSM_G1}};
    if (plan->choices.key == PM_KEY_RESIDENT) {
        sum->input.points = pm_cuda_at(key, key->layout.points[which]);
    }
    return PM_OK;
}

pm_status pm_cuda_msm_h(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    struct sum sum;
    (void)backend;
    PM_TRY(begin(data, PM_STEP_MSM_H, PM_CUDA_H, &data->proving_key->h, &sum, error));
    sum.input.scalars = data->buffer[PM_BUFFER_A];
    return run(&sum, PM_BUFFER_SCRATCH_MSM_H, &data->sums->h, error);
}

/* A sum over scalars of w. density: which of them have a point, or NULL. */
static pm_status sum_of_witness(const struct pm_step_data *data, struct sum *sum,
                                const struct pm_density *density, int which,
                                enum pm_buffer_id scratch, struct pm_group_point *total,
                                pm_error *error) {
    const struct pm_plan_sizes *sizes = &data->plan->sizes;
    const bool is_bellman = sizes->reduction == PM_REDUCTION_BELLMAN;
    sum->input.scalars = data->buffer[PM_BUFFER_W];
    sum->input.classes = data->buffer[PM_BUFFER_CLASSES];
    /* Where each variable has a point bellman's bits say nothing. */
    if (density != NULL && (!is_bellman || sum->query->n < sizes->n_vars)) {
        const uint8_t *words = density_place(data, which);
        PM_TRY(pm_density_check(density, data->plan->sizes.n_vars, error));
        sum->input.density = (const uint64_t *)(const void *)words;
        if (is_bellman) {
            sum->input.rank =
                (const uint32_t *)(const void *)(words + pm_density_words_bytes(sizes->n_vars));
            sum->input.is_compact = true;
            sum->compact = density;
        }
    }
    return run(sum, scratch, total, error);
}

pm_status pm_cuda_msm_a(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    struct sum sum;
    (void)backend;
    PM_TRY(begin(data, PM_STEP_MSM_A, PM_CUDA_A, &key->a, &sum, error));
    return sum_of_witness(data, &sum,
                          key->reduction == PM_REDUCTION_BELLMAN ? &key->a_density : NULL, 0,
                          PM_BUFFER_SCRATCH_MSM_A, &data->sums->a, error);
}

pm_status pm_cuda_msm_b1(struct pm_backend *backend, const struct pm_step_data *data,
                         pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    struct sum sum;
    (void)backend;
    PM_TRY(begin(data, PM_STEP_MSM_B1, PM_CUDA_B1, &key->b1, &sum, error));
    return sum_of_witness(data, &sum, &key->b_density, 1, PM_BUFFER_SCRATCH_MSM_B1, &data->sums->b1,
                          error);
}

pm_status pm_cuda_msm_l(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    struct sum sum;
    (void)backend;
    PM_TRY(begin(data, PM_STEP_MSM_L, PM_CUDA_L, &data->proving_key->l, &sum, error));
    sum.input.first = data->plan->sizes.n_inputs;
    return sum_of_witness(data, &sum, NULL, 0, PM_BUFFER_SCRATCH_MSM_L, &data->sums->l, error);
}

pm_status pm_cuda_msm_b2(struct pm_backend *backend, const struct pm_step_data *data,
                         pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    struct sum sum;
    (void)backend;
    PM_TRY(begin(data, PM_STEP_MSM_B2, PM_CUDA_B2, &key->b2, &sum, error));
    return sum_of_witness(data, &sum, &key->b_density, 1, PM_BUFFER_SCRATCH_MSM_B2, &data->sums->b2,
                          error);
}
