/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/column_sums.h"

#include <string.h>

/* A column of more terms than this is a multi-scalar multiplication by the whole team. */
#define WIDE_COLUMN_TERMS 512u
/* Terms of such a column that are gathered at a time. */
#define GATHERED_TERMS 8192u
/* Terms between two looks at the control: at most some hundred milliseconds of full-size G2. */
#define TERMS_PER_CALL 1024u
/* Between two barriers, at which progress is reported. */
#define TERMS_PER_STEP 8192u
#define COLUMNS_PER_STEP 8192u

struct step {
    const struct pm_column_sums *sums;
    enum pm_msm_group group;
    const struct pm_sparse_matrix *matrix;
    uint64_t first; /* column whose sum is points[0] */
    uint8_t *points;
    uint64_t point_bytes;
    uint64_t end, next; /* columns of this step that nobody has taken; next is atomic */
    uint8_t *scratch;   /* of each worker */
    uint64_t scratch_bytes;
};

static uint64_t n_terms(const struct pm_sparse_matrix *matrix, uint64_t column) {
    return matrix->starts[column + 1] - matrix->starts[column];
}

static uint8_t *point_of(const struct step *step, uint64_t column) {
    return step->points + (column - step->first) * step->point_bytes;
}

/* How many narrow columns from `column` on make one call. */
static uint64_t count_narrow(const struct step *step, uint64_t column, uint64_t end) {
    uint64_t n = 0, terms = 0;
    while (column + n < end) {
        const uint64_t more = n_terms(step->matrix, column + n);
        if (more > WIDE_COLUMN_TERMS || (n > 0 && terms + more > TERMS_PER_CALL)) {
            break;
        }
        terms += more;
        ++n;
    }
    return n;
}

static void sum_narrow(void *argument, size_t worker) {
    struct step *step = argument;
    uint8_t *scratch = step->scratch + worker * step->scratch_bytes;
    for (;;) {
        uint64_t column = __atomic_fetch_add(&step->next, PM_SPARSE_COLUMNS_MAX, __ATOMIC_RELAXED);
        if (column >= step->end) {
            return;
        }
        const uint64_t left = step->end - column;
        const uint64_t end = column + (left < PM_SPARSE_COLUMNS_MAX ? left : PM_SPARSE_COLUMNS_MAX);
        while (column < end) {
            if (pm_control_stopped(step->sums->work->control)) {
                return;
            }
            const uint64_t n = count_narrow(step, column, end);
            if (n > 0) {
                step->sums->sparse->columns(step->group, step->matrix, column, n, scratch,
                                            point_of(step, column));
            }
            column += n > 0 ? n : 1; /* a wide one is left out */
        }
    }
}

/* Room for a wide column: gathered points and scalars, and the multiplication's scratch. */
struct gathered {
    uint8_t *points, *scalars;
    void *scratch;
};

static void gathered_free(struct gathered *gathered) {
    pm_memory_free(gathered->points);
    pm_memory_free(gathered->scalars);
    pm_memory_free(gathered->scratch);
}

static pm_status gathered_alloc(const struct step *step, struct gathered *gathered,
                                pm_error *error) {
    const struct pm_column_sums *sums = step->sums;
    void *points = NULL, *scalars = NULL;
    *gathered = (struct gathered){0};
    PM_TRY(pm_memory_alloc_array(sums->ledger, "points of a wide column", GATHERED_TERMS,
                                 step->point_bytes, PM_MEMORY_PLAIN, &points, error));
    gathered->points = points;
    PM_TRY(pm_memory_alloc_array(sums->ledger, "values of a wide column", GATHERED_TERMS,
                                 PM_FR_BYTES, PM_MEMORY_PLAIN, &scalars, error));
    gathered->scalars = scalars;
    return pm_memory_alloc(
        sums->ledger, "sum of a wide column",
        sums->msm->bytes(step->group, GATHERED_TERMS, pm_team_threads(sums->team)), PM_MEMORY_PLAIN,
        &gathered->scratch, error);
}

static void negate_y(const struct pm_field *fp, uint8_t *point, uint64_t point_bytes) {
    for (uint64_t at = point_bytes / 2; at < point_bytes; at += fp->bytes) {
        uint64_t y[PM_FP_LIMBS_MAX];
        memcpy(y, point + at, fp->bytes);
        fp->neg(y, y);
        memcpy(point + at, y, fp->bytes);
    }
}

/* A value counts by its magnitude, so that -1 is as cheap as 1. */
static void gather(const struct step *step, const struct pm_sparse_term *term, uint64_t i,
                   struct gathered *gathered) {
    const struct pm_curve *curve = step->sums->curve;
    uint8_t *point = gathered->points + i * step->point_bytes;
    uint64_t magnitude[PM_FR_LIMBS_MAX];
    memcpy(point, step->matrix->points[term->source] + (uint64_t)term->point * step->point_bytes,
           step->point_bytes);
    if (pm_sparse_magnitude(magnitude, pm_sparse_value(step->matrix, term), curve->fr->modulus,
                            curve->fr->limbs)) {
        negate_y(curve->fp, point, step->point_bytes);
    }
    memcpy(gathered->scalars + i * PM_FR_BYTES, magnitude, PM_FR_BYTES);
}

static pm_status sum_wide(const struct step *step, uint64_t column, struct gathered *gathered,
                          pm_error *error) {
    const struct pm_column_sums *sums = step->sums;
    const struct pm_group *group = step->group == PM_MSM_G1 ? sums->curve->g1 : sums->curve->g2;
    const uint64_t begin = step->matrix->starts[column], end = step->matrix->starts[column + 1];
    struct pm_group_point sum, part;
    group->set_infinity(&sum);
    for (uint64_t at = begin; at < end; at += GATHERED_TERMS) {
        const uint64_t n = end - at < GATHERED_TERMS ? end - at : GATHERED_TERMS;
        for (uint64_t i = 0; i < n; ++i) {
            gather(step, &step->matrix->terms[at + i], i, gathered);
        }
        PM_TRY(sums->msm->run(step->group, gathered->points, gathered->scalars, n, sums->team,
                              gathered->scratch, sums->work->control, &part, error));
        group->add(&sum, &sum, &part);
    }
    uint8_t affine[PM_G2_BYTES_MAX] __attribute__((aligned(8)));
    group->to_affine(affine, &sum);
    memcpy(point_of(step, column), affine, step->point_bytes);
    return PM_OK;
}

static pm_status sum_all_wide(const struct step *step, uint64_t begin, pm_error *error) {
    struct gathered gathered = {0};
    pm_status status = PM_OK;
    for (uint64_t column = begin; column < step->end && status == PM_OK; ++column) {
        if (n_terms(step->matrix, column) <= WIDE_COLUMN_TERMS) {
            continue;
        }
        if (gathered.scratch == NULL) {
            status = gathered_alloc(step, &gathered, error);
        }
        if (status == PM_OK) {
            status = sum_wide(step, column, &gathered, error);
        }
    }
    gathered_free(&gathered);
    return status;
}

static uint64_t end_of_step(const struct step *step, uint64_t begin, uint64_t last) {
    const uint64_t threads = pm_team_threads(step->sums->team);
    uint64_t end = begin;
    while (end < last && end - begin < COLUMNS_PER_STEP * threads &&
           step->matrix->starts[end] - step->matrix->starts[begin] < TERMS_PER_STEP * threads) {
        ++end;
    }
    return end;
}

static pm_status run_steps(struct step *step, uint64_t last, pm_error *error) {
    const struct pm_column_sums *sums = step->sums;
    const uint64_t weight = step->group == PM_MSM_G1 ? 1 : PM_WORK_PER_G2_ADDITION;
    for (uint64_t begin = step->first; begin < last; begin = step->end) {
        step->next = begin;
        step->end = end_of_step(step, begin, last);
        pm_team_run(sums->team, pm_team_threads(sums->team), sum_narrow, step);
        PM_TRY(pm_control_check(sums->work->control, error));
        PM_TRY(sum_all_wide(step, begin, error));
        pm_work_advance(sums->work, weight * (step->end - begin + step->matrix->starts[step->end] -
                                              step->matrix->starts[begin]));
    }
    return PM_OK;
}

pm_status pm_column_sums_run(const struct pm_column_sums *sums, enum pm_msm_group group,
                             const struct pm_sparse_matrix *matrix, uint64_t first, uint64_t n,
                             uint8_t *points, pm_error *error) {
    const struct pm_group *points_of = group == PM_MSM_G1 ? sums->curve->g1 : sums->curve->g2;
    const uint64_t align = PM_BUFFER_ALIGNMENT;
    struct step step = {.sums = sums,
                        .group = group,
                        .matrix = matrix,
                        .first = first,
                        .points = points,
                        .point_bytes = points_of->affine_bytes,
                        .scratch_bytes =
                            (sums->sparse->scratch_bytes(group) + align - 1) / align * align};
    void *scratch = NULL;
    PM_TRY(pm_memory_alloc_array(sums->ledger, "tables of column sums", pm_team_threads(sums->team),
                                 step.scratch_bytes, PM_MEMORY_PLAIN, &scratch, error));
    step.scratch = scratch;
    const pm_status status = run_steps(&step, first + n, error);
    pm_memory_free(scratch);
    return status;
}
