/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The points of a parameter file: decoded, checked, encoded. */
#include "io/params.h"

#include "io/point_run.h"
#include "io/scan.h"

#include <string.h>

/* Points of the transcript, or to be encoded, between two looks at control. */
#define CONTRIBUTIONS_PER_GRAIN 16u
#define ENCODED_PER_GRAIN 4096u

static const struct pm_group *group_of(const struct pm_curve *curve, enum pm_params_part part) {
    return pm_params_part_is_g2(part) ? curve->g2 : curve->g1;
}

static pm_status check_curve(const struct pm_curve *curve, pm_error *error) {
    PM_FAIL_IF(curve->g1->form_bytes(PM_POINT_ZCASH_FULL) == 0, error, PM_CURVE,
               "bellman's parameters are for bls12381, not for %s", pm_curve_name(curve->id));
    return PM_OK;
}

static pm_status check_range(const struct pm_params_layout *layout, enum pm_params_part part,
                             uint64_t first, uint64_t n, pm_error *error) {
    PM_FAIL_IF(part >= PM_PARAMS_PARTS, error, PM_INVALID_ARGUMENT, "there is no part %d",
               (int)part);
    PM_FAIL_IF(first > layout->n[part] || n > layout->n[part] - first, error, PM_INVALID_ARGUMENT,
               "%s has %llu points: no %llu from %llu on", pm_params_part_name(part),
               (unsigned long long)layout->n[part], (unsigned long long)n,
               (unsigned long long)first);
    return PM_OK;
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

static struct pm_point_run run_of(const struct pm_params *params, const struct pm_curve *curve,
                                  enum pm_params_part part, uint64_t first, uint64_t n,
                                  enum pm_point_check how, uint8_t *affine) {
    const uint64_t offset = params->layout.offset[part] + first * pm_params_point_bytes(part);
    return (struct pm_point_run){.name = pm_params_part_name(part),
                                 .group = group_of(curve, part),
                                 .form = PM_POINT_ZCASH_FULL,
                                 .points = params->mapping->bytes + offset,
                                 .n = n,
                                 .first = first,
                                 .n_all = params->layout.n[part],
                                 .how = how,
                                 .affine = affine};
}

pm_status pm_params_decode(const struct pm_params *params, const struct pm_curve *curve,
                           enum pm_params_part part, uint64_t first, uint64_t n,
                           enum pm_point_check how, struct pm_team *team, const pm_control *control,
                           uint8_t *affine, pm_error *error) {
    PM_TRY(check_curve(curve, error));
    PM_TRY(check_range(&params->layout, part, first, n, error));
    const struct pm_point_run run = run_of(params, curve, part, first, n, how, affine);
    return pm_point_runs_scan(params->mapping, &run, 1, "decoding the points", team, control,
                              error);
}

pm_status pm_params_decode_vk(const struct pm_params *params, const struct pm_curve *curve,
                              struct pm_team *team, const pm_control *control, uint8_t *affine,
                              pm_error *error) {
    struct pm_point_run runs[PM_PARAMS_VK_PARTS];
    PM_TRY(check_curve(curve, error));
    for (int i = 0; i < PM_PARAMS_VK_PARTS; ++i) {
        runs[i] = run_of(params, curve, (enum pm_params_part)i, 0, params->layout.n[i],
                         PM_POINT_CHECK_SUBGROUP, affine + params->layout.offset[i]);
    }
    return pm_point_runs_scan(params->mapping, runs, PM_PARAMS_VK_PARTS, "decoding the points",
                              team, control, error);
}

/* ---- The transcript ---------------------------------------------------------------------------
 */

/* The points of a contribution, with which each participant proved to know the factor that delta
 * was multiplied by. */
static const struct {
    const char *name;
    bool is_g2;
    uint32_t offset;
} contribution_points[] = {{"delta after it", false, 0},
                           {"s", false, 96},
                           {"s delta", false, 192},
                           {"r delta", true, 288}};
#define N_CONTRIBUTION_POINTS (sizeof contribution_points / sizeof contribution_points[0])

struct contribution_scan {
    const uint8_t *contributions;
    const struct pm_curve *curve;
    enum pm_point_check how;
};

static enum pm_point_fault visit_contribution(const struct contribution_scan *scan, uint64_t i,
                                              size_t point) {
    const struct pm_group *group =
        contribution_points[point].is_g2 ? scan->curve->g2 : scan->curve->g1;
    const uint8_t *bytes = scan->contributions + i * PM_PARAMS_CONTRIBUTION_BYTES;
    uint8_t affine[PM_G2_BYTES_MAX];
    const enum pm_point_fault fault = group->decode(
        affine, PM_POINT_ZCASH_FULL, bytes + contribution_points[point].offset, scan->how);
    return fault == PM_POINT_GOOD && group->affine_is_infinity(affine) ? PM_POINT_INFINITE : fault;
}

static uint64_t scan_contributions(const void *argument, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
        for (size_t point = 0; point < N_CONTRIBUTION_POINTS; ++point) {
            if (visit_contribution(argument, i, point) != PM_POINT_GOOD) {
                return i;
            }
        }
    }
    return end;
}

static pm_status fail_contribution(const struct pm_params *params,
                                   const struct contribution_scan *argument, uint64_t i,
                                   pm_error *error) {
    enum pm_point_fault fault = PM_POINT_GOOD;
    size_t point = 0;
    while ((fault = visit_contribution(argument, i, point)) == PM_POINT_GOOD &&
           point + 1 < N_CONTRIBUTION_POINTS) {
        ++point;
    }
    const uint8_t *bytes = params->contributions + i * PM_PARAMS_CONTRIBUTION_BYTES +
                           contribution_points[point].offset;
    const pm_status status = pm_point_fault_status(fault);
    pm_error_set(error, status, "transcript: contribution %llu of %u: %s is %s",
                 (unsigned long long)i, params->n_contributions, contribution_points[point].name,
                 pm_point_fault_text(fault));
    pm_error_at(error, params->mapping->name, (uint64_t)(bytes - params->mapping->bytes));
    return status;
}

static pm_status check_transcript(const struct pm_params *params, const struct pm_curve *curve,
                                  enum pm_point_check how, struct pm_team *team,
                                  const pm_control *control, pm_error *error) {
    const uint32_t n = params->n_contributions;
    if (n == 0) {
        return PM_OK;
    }
    const struct contribution_scan argument = {params->contributions, curve, how};
    const struct pm_scan scan = {.phase = "checking the transcript",
                                 .n = n,
                                 .grain = CONTRIBUTIONS_PER_GRAIN,
                                 .progress_per_element = 1,
                                 .progress_total = n,
                                 .piece = scan_contributions,
                                 .argument = &argument};
    uint64_t lowest = 0;
    PM_TRY(pm_scan_run(&scan, team, control, &lowest, error));
    if (lowest < n) {
        return fail_contribution(params, &argument, lowest, error);
    }
    const uint8_t *last = params->contributions + (uint64_t)(n - 1) * PM_PARAMS_CONTRIBUTION_BYTES;
    const uint8_t *delta = params->mapping->bytes + params->layout.offset[PM_PARAMS_DELTA_G1];
    if (memcmp(last, delta, pm_params_point_bytes(PM_PARAMS_DELTA_G1)) != 0) {
        pm_error_set(error, PM_SECTION,
                     "transcript: the delta after the last of %u contributions is not delta in g1: "
                     "it belongs to other parameters",
                     n);
        pm_error_at(error, params->mapping->name, (uint64_t)(last - params->mapping->bytes));
        return PM_SECTION;
    }
    return PM_OK;
}

pm_status pm_params_check_points(const struct pm_params *params, const struct pm_curve *curve,
                                 enum pm_point_check how, struct pm_team *team,
                                 const pm_control *control, pm_error *error) {
    struct pm_point_run runs[PM_PARAMS_PARTS];
    size_t n_runs = 0;
    PM_TRY(check_curve(curve, error));
    for (int i = 0; i < (int)params->n_parts; ++i) {
        runs[n_runs++] =
            run_of(params, curve, (enum pm_params_part)i, 0, params->layout.n[i], how, NULL);
    }
    PM_TRY(pm_point_runs_scan(params->mapping, runs, n_runs, "checking the points", team, control,
                              error));
    const pm_status status = check_transcript(params, curve, how, team, control, error);
    PM_TRY(pm_mapping_check(params->mapping, error));
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

void pm_params_write_counts(const struct pm_params_layout *layout, uint8_t *image) {
    for (int part = PM_PARAMS_N_FIXED; part < PM_PARAMS_PARTS; ++part) {
        const uint32_t count = __builtin_bswap32((uint32_t)layout->n[part]);
        memcpy(image + layout->offset[part] - sizeof count, &count, sizeof count);
    }
}

struct encode_scan {
    const struct pm_group *group;
    const uint8_t *affine;
    uint8_t *encoded;
};

static uint64_t encode_points(const void *argument, uint64_t begin, uint64_t end) {
    const struct encode_scan *scan = argument;
    const struct pm_group *group = scan->group;
    const uint64_t stride = group->form_bytes(PM_POINT_ZCASH_FULL);
    for (uint64_t i = begin; i < end; ++i) {
        const uint8_t *affine = scan->affine + i * group->affine_bytes;
        if (group->affine_is_infinity(affine)) {
            return i;
        }
        group->encode(scan->encoded + i * stride, PM_POINT_ZCASH_FULL, affine);
    }
    return end;
}

pm_status pm_params_write_points(const struct pm_params_layout *layout,
                                 const struct pm_curve *curve, enum pm_params_part part,
                                 uint64_t first, uint64_t n, const uint8_t *affine,
                                 struct pm_team *team, const pm_control *control, uint8_t *image,
                                 pm_error *error) {
    PM_TRY(check_curve(curve, error));
    PM_TRY(check_range(layout, part, first, n, error));
    const struct encode_scan argument = {.group = group_of(curve, part),
                                         .affine = affine,
                                         .encoded = image + layout->offset[part] +
                                                    first * pm_params_point_bytes(part)};
    const struct pm_scan scan = {
        .n = n, .grain = ENCODED_PER_GRAIN, .piece = encode_points, .argument = &argument};
    uint64_t lowest = 0;
    PM_TRY(pm_scan_run(&scan, team, control, &lowest, error));
    PM_FAIL_IF(lowest < n, error, PM_POINT_AT_INFINITY, "%s: point %llu of %llu is %s",
               pm_params_part_name(part), (unsigned long long)(first + lowest),
               (unsigned long long)layout->n[part], pm_point_fault_text(PM_POINT_INFINITE));
    return PM_OK;
}
