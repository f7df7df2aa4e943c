/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The card's sums, one by one or side by side: what each is of. */
#include "groth16/backend_cuda_pieces.h"

#include <string.h>

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
    PM_TRY(pm_cuda_way_begin(key_of(data)->cuda, data, true, &way, error));
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

/* ---- Sums -------------------------------------------------------------------------------------
 */

/* In the order in which they are brought, where they are made side by side. */
enum { SUM_H, SUM_A, SUM_L, SUM_B1, SUM_B2, SUMS };

static const struct {
    enum pm_step_id step;
    enum pm_cuda_query query;
    enum pm_buffer_id scratch; /* where it is made alone */
} kinds[SUMS] = {
    [SUM_H] = {PM_STEP_MSM_H, PM_CUDA_H, PM_BUFFER_SCRATCH_MSM_H},
    [SUM_A] = {PM_STEP_MSM_A, PM_CUDA_A, PM_BUFFER_SCRATCH_MSM_A},
    [SUM_L] = {PM_STEP_MSM_L, PM_CUDA_L, PM_BUFFER_SCRATCH_MSM_L},
    [SUM_B1] = {PM_STEP_MSM_B1, PM_CUDA_B1, PM_BUFFER_SCRATCH_MSM_B1},
    [SUM_B2] = {PM_STEP_MSM_B2, PM_CUDA_B2, PM_BUFFER_SCRATCH_MSM_B2},
};

/* Its points, where it goes. */
static void find_query(const struct pm_step_data *data, int kind, struct pm_cuda_sum *sum) {
    const struct pm_proving_key *key = data->proving_key;
    struct pm_sums *sums = data->sums;
    const struct pm_key_query *const queries[SUMS] = {&key->h, &key->a, &key->l, &key->b1,
                                                      &key->b2};
    struct pm_group_point *const totals[SUMS] = {&sums->h, &sums->a, &sums->l, &sums->b1,
                                                 &sums->b2};
    sum->query = queries[kind];
    sum->total = totals[kind];
}

/* On the card, where more of the key may be than this proof's share. */
static const void *find_points(const struct pm_step_data *data, int kind,
                               const struct pm_cuda_sum *sum) {
    const struct pm_cuda_key *key = key_of(data);
    const enum pm_cuda_query query = kinds[kind].query;
    const uint64_t n_before =
        pm_cuda_points(&data->plan->sizes, query).first - pm_cuda_points(&key->sizes, query).first;
    return pm_cuda_at(key, key->layout.points[query] + n_before * sum->group->affine_bytes);
}

/* Which scalars of w have a point. */
static pm_status find_density(const struct pm_step_data *data, int kind, struct pm_cuda_sum *sum,
                              pm_error *error) {
    const struct pm_plan_sizes *sizes = &data->plan->sizes;
    const struct pm_proving_key *key = data->proving_key;
    const bool is_bellman = sizes->reduction == PM_REDUCTION_BELLMAN;
    const bool of_a = kind == SUM_A;
    const struct pm_density *density = of_a ? &key->a_density : &key->b_density;
    /* snarkjs's A has a point for each variable. Where bellman's has, the bits say nothing. */
    if (is_bellman ? (of_a ? sizes->n_a : sizes->n_b) >= sizes->n_vars : of_a) {
        return PM_OK;
    }
    const uint8_t *words = density_place(data, of_a ? 0 : 1);
    PM_TRY(pm_density_check(density, sizes->n_vars, error));
    sum->input.density = (const uint64_t *)(const void *)words;
    if (is_bellman) {
        sum->input.rank =
            (const uint32_t *)(const void *)(words + pm_density_words_bytes(sizes->n_vars));
        sum->input.is_compact = true;
        sum->compact = density;
    }
    return PM_OK;
}

/* Of a share: where its first point's scalar stands, and how many there are from there on. */
static void find_range(const struct pm_step_data *data, int kind, struct pm_cuda_sum *sum) {
    const struct pm_plan_sizes *sizes = &data->plan->sizes;
    const struct pm_plan_range points = pm_cuda_points(sizes, kinds[kind].query);
    if (!sizes->share.is_cut || kind == SUM_H || sum->n == 0) {
        return;
    }
    if (sum->compact == NULL) {
        sum->n = points.n;
        sum->input.first += points.first;
        return;
    }
    sum->input.first = pm_density_find(sum->compact, points.first);
    sum->n = pm_density_find(sum->compact, points.first + points.n) - sum->input.first;
}

static pm_status find_scalars(const struct pm_step_data *data, int kind, struct pm_cuda_sum *sum,
                              pm_error *error) {
    if (kind == SUM_H) {
        sum->input.scalars = data->buffer[PM_BUFFER_A];
        return PM_OK;
    }
    sum->input.scalars = data->buffer[PM_BUFFER_W];
    sum->input.classes = data->buffer[PM_BUFFER_CLASSES];
    if (kind == SUM_L) {
        sum->input.first = data->plan->sizes.n_inputs;
        return PM_OK;
    }
    return find_density(data, kind, sum, error);
}

static pm_status find_room(const struct pm_step_data *data, enum pm_buffer_id scratch,
                           struct pm_cuda_sum *sum, pm_error *error) {
    const struct pm_plan *plan = data->plan;
    const struct pm_plan_buffer *room = pm_plan_find(plan, scratch);
    const uint64_t pane_bytes = pm_cuda_pane_bytes(plan);
    PM_FAIL_IF(room == NULL && sum->n != 0, error, PM_INTERNAL, "the plan has no scratch for %s",
               pm_step_name(sum->step));
    sum->scratch = data->buffer[scratch];
    sum->scratch_bytes = room != NULL ? room->bytes : 0;
    sum->piece_scalars = pm_cuda_piece_scalars(&plan->sizes, sum->step, pane_bytes);
    sum->piece_points = pm_cuda_piece_points(&plan->sizes, sum->step, pane_bytes);
    return PM_OK;
}

/* The sum so far is none. */
static pm_status begin(const struct pm_step_data *data, int kind, enum pm_buffer_id scratch,
                       struct pm_cuda_sum *sum, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    const struct pm_plan *plan = data->plan;
    const bool is_g2 = kind == SUM_B2;
    struct pm_kernels kernels;
    PM_TRY(pm_kernels_get(plan->sizes.curve, data->body, data->team, &kernels, error));
    *sum = (struct pm_cuda_sum){
        .data = data,
        .cuda = key->cuda,
        .group = is_g2 ? kernels.curve->g2 : kernels.curve->g1,
        .step = kinds[kind].step,
        .n = pm_cuda_n_scalars(&plan->sizes, kinds[kind].step),
        .input = {.curve = plan->sizes.curve, .group = is_g2 ? PM_MSM_G2 : PM_MSM_G1}};
    find_query(data, kind, sum);
    if (plan->choices.key == PM_KEY_RESIDENT) {
        sum->input.points = find_points(data, kind, sum);
    }
    memset(sum->total, 0, sizeof *sum->total);
    sum->group->set_infinity(sum->total);
    PM_TRY(find_scalars(data, kind, sum, error));
    find_range(data, kind, sum);
    return find_room(data, scratch, sum, error);
}

static pm_status sum_alone(const struct pm_step_data *data, int kind, pm_error *error) {
    struct pm_cuda_sum sum;
    PM_TRY(begin(data, kind, kinds[kind].scratch, &sum, error));
    return data->plan->choices.key == PM_KEY_STREAMED ? pm_cuda_sum_streamed(&sum, 1, error)
                                                      : pm_cuda_sum_resident(&sum, error);
}

pm_status pm_cuda_msm_h(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    (void)backend;
    return sum_alone(data, SUM_H, error);
}

pm_status pm_cuda_msm_a(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    (void)backend;
    return sum_alone(data, SUM_A, error);
}

pm_status pm_cuda_msm_b1(struct pm_backend *backend, const struct pm_step_data *data,
                         pm_error *error) {
    (void)backend;
    return sum_alone(data, SUM_B1, error);
}

pm_status pm_cuda_msm_l(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    (void)backend;
    return sum_alone(data, SUM_L, error);
}

pm_status pm_cuda_msm_b2(struct pm_backend *backend, const struct pm_step_data *data,
                         pm_error *error) {
    (void)backend;
    return sum_alone(data, SUM_B2, error);
}

pm_status pm_cuda_msm_all(struct pm_backend *backend, const struct pm_step_data *data,
                          pm_error *error) {
    struct pm_cuda_sum sums[SUMS];
    const int n_kinds = data->plan->choices.b2 == PM_B2_IN_START ? SUMS : SUM_B2;
    uint32_t n = 0;
    (void)backend;
    for (int kind = data->plan->sizes.share.is_further ? SUM_A : SUM_H; kind < n_kinds; ++kind) {
        PM_TRY(begin(data, kind, PM_BUFFER_SCRATCH_MSM_ALL, &sums[n++], error));
    }
    return pm_cuda_sum_streamed(sums, n, error);
}
