/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The CPU's five sums, and the scalars of B2 that outlive the witness. groth16/key_windows.h says
 * how they are cut up. */
#include "groth16/backend_cpu.h"

#include "io/modulus.h"
#include "io/scan.h"

#include <string.h>

/* Variables a word of a density. */
#define WORD_BITS 64u
/* Words between two looks at the control. */
#define WORDS_PER_GRAIN 256u

/* ---- Scalars of B2 ----------------------------------------------------------------------------
 */

/* Copies those scalars that have a point, one behind the other. */
struct gather {
    const struct pm_density *density;
    const struct pm_field *fr;
    const uint64_t *modulus;
    const uint8_t *inputs, *aux; /* of n_inputs, and of the rest */
    uint64_t n_inputs;
    bool from_montgomery;
    uint8_t *out;
};

static uint64_t gather_words(const void *argument, uint64_t begin, uint64_t end) {
    const struct gather *gather = argument;
    uint8_t *out = gather->out + pm_density_rank(gather->density, begin * WORD_BITS) * PM_FR_BYTES;
    for (uint64_t word = begin; word < end; ++word) {
        for (uint64_t bits = gather->density->words[word]; bits != 0; bits &= bits - 1) {
            const uint64_t i = word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
            memcpy(out,
                   i < gather->n_inputs ? gather->inputs + i * PM_FR_BYTES
                                        : gather->aux + (i - gather->n_inputs) * PM_FR_BYTES,
                   PM_FR_BYTES);
            if (!pm_modulus_exceeds(gather->modulus, out)) {
                return word;
            }
            if (gather->from_montgomery) {
                gather->fr->from_mont(out, (const uint64_t *)(const void *)out, 1);
            }
            out += PM_FR_BYTES;
        }
    }
    return end;
}

pm_status pm_cpu_keep_b(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    const uint8_t *witness = pm_cpu_witness(data);
    const uint64_t n_inputs = data->plan->sizes.n_inputs;
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    PM_TRY(pm_density_check(&key->b_density, data->plan->sizes.n_vars, error));
    struct gather gather = {.density = &key->b_density,
                            .fr = kernels.curve->fr,
                            .modulus = pm_modulus_scalar(kernels.curve->id),
                            .inputs = witness,
                            .n_inputs = n_inputs,
                            .out = data->buffer[PM_BUFFER_B_SCALARS]};
    if (witness != NULL) {
        gather.aux = witness + n_inputs * PM_FR_BYTES;
    } else {
        gather.inputs = data->buffer[PM_BUFFER_CALLER_INPUTS];
        gather.aux = data->buffer[PM_BUFFER_CALLER_AUX];
        gather.from_montgomery = data->plan->choices.scalars_montgomery;
    }
    const struct pm_scan scan = {.n = (key->b_density.n + WORD_BITS - 1) / WORD_BITS,
                                 .grain = WORDS_PER_GRAIN,
                                 .piece = gather_words,
                                 .argument = &gather};
    uint64_t lowest = 0;
    PM_TRY(pm_scan_run(&scan, data->team, data->control, &lowest, error));
    PM_FAIL_IF(lowest < scan.n, error, PM_NOT_CANONICAL,
               "a scalar of the assignment is not below the scalar field's prime of %s: one of the "
               "%u from variable %llu on",
               pm_curve_name(kernels.curve->id), WORD_BITS,
               (unsigned long long)(lowest * WORD_BITS));
    return PM_OK;
}

/* Lays a window of a compact copy out as the points lie: zero where there is none. */
struct spread {
    const struct pm_density *density;
    const uint8_t *compact;
    uint64_t first, n; /* variables; first is a multiple of WORD_BITS */
    uint8_t *out;
};

static void spread_words(void *argument, size_t begin, size_t end) {
    const struct spread *spread = argument;
    uint64_t i = begin * WORD_BITS;
    const uint8_t *next =
        spread->compact + pm_density_rank(spread->density, spread->first + i) * PM_FR_BYTES;
    for (; i < end * WORD_BITS && i < spread->n; ++i) {
        uint8_t *out = spread->out + i * PM_FR_BYTES;
        if (pm_density_has(spread->density, spread->first + i)) {
            memcpy(out, next, PM_FR_BYTES);
            next += PM_FR_BYTES;
        } else {
            memset(out, 0, PM_FR_BYTES);
        }
    }
}

/* Whether a query over all variables leaves some out. */
static bool points_are_compact(const struct pm_step_data *data, struct pm_key_query query) {
    return data->plan->sizes.reduction == PM_REDUCTION_BELLMAN &&
           query.n < data->plan->sizes.n_vars;
}

/* ---- Sums -------------------------------------------------------------------------------------
 */

struct sum {
    const struct pm_step_data *data;
    const struct pm_kernels *kernels;
    enum pm_step_id step;
    enum pm_msm_group group;
    struct pm_key_query query;
    const struct pm_density *density; /* of compact points; NULL: a point for each scalar */
    const uint8_t *scalars;
    const struct pm_density *compact; /* scalars are a compact copy, spread out by this; or NULL */
    uint8_t *spread;                  /* room to do that */
    void *scratch;
};

static pm_status sum_window(const struct sum *sum, uint64_t first, uint64_t n,
                            struct pm_group_point *part, pm_error *error) {
    const struct pm_step_data *data = sum->data;
    const struct pm_group *group =
        sum->group == PM_MSM_G2 ? sum->kernels->curve->g2 : sum->kernels->curve->g1;
    const uint8_t *points = sum->query.points + first * group->affine_bytes;
    struct pm_msm_input input = {.points = points,
                                 .scalars = sum->scalars + first * PM_FR_BYTES,
                                 .n_points = n,
                                 .n_scalars = n};
    if (sum->density != NULL) {
        input.n_points = sum->query.n;
        input.density = sum->density->words;
        input.rank = sum->density->rank;
    }
    if (sum->compact != NULL) {
        struct spread spread = {.density = sum->compact,
                                .compact = sum->scalars,
                                .first = first,
                                .n = n,
                                .out = sum->spread};
        pm_team_for(data->team, (n + WORD_BITS - 1) / WORD_BITS, WORDS_PER_GRAIN, spread_words,
                    &spread);
        input.scalars = sum->spread;
    }
    PM_TRY(sum->kernels->msm->run_input(sum->group, &input, data->team, sum->scratch, data->control,
                                        part, error));
    if (pm_cpu_streams(data)) {
        pm_mapping_release_range(data->proving_key->mapping, points, n * group->affine_bytes);
    }
    return PM_OK;
}

static pm_status sum_all(const struct sum *sum, struct pm_group_point *total, pm_error *error) {
    const struct pm_plan *plan = sum->data->plan;
    const struct pm_group *group =
        sum->group == PM_MSM_G2 ? sum->kernels->curve->g2 : sum->kernels->curve->g1;
    const uint64_t n = pm_key_n_scalars(&plan->sizes, &plan->choices, sum->step);
    const uint64_t window = pm_key_window_scalars(&plan->sizes, &plan->choices, sum->step);
    struct pm_group_point part;
    pm_status status = PM_OK;
    group->set_infinity(total);
    for (uint64_t first = 0; first < n && status == PM_OK; first += window) {
        status = sum_window(sum, first, n - first < window ? n - first : window, &part, error);
        if (status == PM_OK) {
            group->add(total, total, &part);
        }
    }
    pm_memory_wipe(&part, sizeof part);
    return status;
}

/* A sum over G1, whose scalars begin `first` scalars into the witness. */
static pm_status sum_of_witness(const struct pm_step_data *data, enum pm_step_id step,
                                enum pm_buffer_id scratch, struct pm_key_query query,
                                const struct pm_density *density, uint64_t first,
                                struct pm_group_point *total, pm_error *error) {
    struct pm_kernels kernels;
    const bool is_compact = density != NULL && points_are_compact(data, query);
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    if (is_compact) {
        PM_TRY(pm_density_check(density, data->plan->sizes.n_vars, error));
    }
    const struct sum sum = {.data = data,
                            .kernels = &kernels,
                            .step = step,
                            .group = PM_MSM_G1,
                            .query = query,
                            .density = is_compact ? density : NULL,
                            .scalars = pm_cpu_witness(data) + first * PM_FR_BYTES,
                            .scratch = data->buffer[scratch]};
    return sum_all(&sum, total, error);
}

pm_status pm_cpu_msm_h(struct pm_backend *backend, const struct pm_step_data *data,
                       pm_error *error) {
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    const struct sum sum = {.data = data,
                            .kernels = &kernels,
                            .step = PM_STEP_MSM_H,
                            .group = PM_MSM_G1,
                            .query = data->proving_key->h,
                            .scalars = data->buffer[PM_BUFFER_A],
                            .scratch = data->buffer[PM_BUFFER_SCRATCH_MSM_H]};
    return sum_all(&sum, &data->sums->h, error);
}

pm_status pm_cpu_msm_a(struct pm_backend *backend, const struct pm_step_data *data,
                       pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    (void)backend;
    return sum_of_witness(data, PM_STEP_MSM_A, PM_BUFFER_SCRATCH_MSM_A, key->a, &key->a_density, 0,
                          &data->sums->a, error);
}

pm_status pm_cpu_msm_b1(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    (void)backend;
    return sum_of_witness(data, PM_STEP_MSM_B1, PM_BUFFER_SCRATCH_MSM_B1, key->b1, &key->b_density,
                          0, &data->sums->b1, error);
}

pm_status pm_cpu_msm_l(struct pm_backend *backend, const struct pm_step_data *data,
                       pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    (void)backend;
    return sum_of_witness(data, PM_STEP_MSM_L, PM_BUFFER_SCRATCH_MSM_L, key->l, NULL, key->n_inputs,
                          &data->sums->l, error);
}

pm_status pm_cpu_msm_b2(struct pm_backend *backend, const struct pm_step_data *data,
                        pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    const struct pm_plan *plan = data->plan;
    const bool from_copy = plan->choices.b2 == PM_B2_FROM_COPY;
    uint8_t *scratch = data->buffer[PM_BUFFER_SCRATCH_MSM_B2];
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    struct sum sum = {
        .data = data,
        .kernels = &kernels,
        .step = PM_STEP_MSM_B2,
        .group = PM_MSM_G2,
        .query = key->b2,
        .scalars = from_copy ? data->buffer[PM_BUFFER_B_SCALARS] : pm_cpu_witness(data),
        .spread = scratch,
        .scratch = scratch + pm_key_spread_bytes(&plan->sizes, &plan->choices, PM_STEP_MSM_B2)};
    if (from_copy && plan->sizes.reduction == PM_REDUCTION_SNARKJS) {
        PM_TRY(pm_density_check(&key->b_density, data->plan->sizes.n_vars, error));
        sum.compact = &key->b_density;
    } else if (!from_copy && points_are_compact(data, key->b2)) {
        PM_TRY(pm_density_check(&key->b_density, data->plan->sizes.n_vars, error));
        sum.density = &key->b_density;
    }
    return sum_all(&sum, &data->sums->b2, error);
}
