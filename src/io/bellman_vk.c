/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/bellman_vk.h"

#include "base/memory.h"
#include "io/cursor.h"

#include <stdio.h>

static pm_status read_point(struct pm_cursor *cursor, const struct pm_group *group,
                            const char *point, uint8_t *affine, pm_error *error) {
    const uint64_t n_bytes = group->form_bytes(PM_POINT_ZCASH_FULL);
    const uint8_t *bytes = NULL;
    PM_TRY(pm_cursor_span(cursor, point, 1, n_bytes, &bytes, error));
    enum pm_point_fault fault =
        group->decode(affine, PM_POINT_ZCASH_FULL, bytes, PM_POINT_CHECK_SUBGROUP);
    if (fault == PM_POINT_GOOD && group->affine_is_infinity(affine)) {
        fault = PM_POINT_INFINITE;
    }
    if (fault != PM_POINT_GOOD) {
        return pm_cursor_fail(cursor, n_bytes, error, pm_point_fault_status(fault), "%s is %s",
                              point, pm_point_fault_text(fault));
    }
    return PM_OK;
}

static pm_status read_fixed_points(struct pm_cursor *cursor, const struct pm_curve *curve,
                                   struct pm_bellman_vk *vk, pm_error *error) {
    PM_TRY(read_point(cursor, curve->g1, "alpha in g1", vk->alpha_g1, error));
    PM_TRY(read_point(cursor, curve->g1, "beta in g1", vk->beta_g1, error));
    PM_TRY(read_point(cursor, curve->g2, "beta in g2", vk->beta_g2, error));
    PM_TRY(read_point(cursor, curve->g2, "gamma in g2", vk->gamma_g2, error));
    PM_TRY(read_point(cursor, curve->g1, "delta in g1", vk->delta_g1, error));
    return read_point(cursor, curve->g2, "delta in g2", vk->delta_g2, error);
}

static pm_status read_ic(struct pm_cursor *cursor, const struct pm_group *g1,
                         struct pm_bellman_vk *vk, pm_error *error) {
    const uint64_t encoded_bytes = g1->form_bytes(PM_POINT_ZCASH_FULL);
    uint32_t n_ic = 0;
    void *ic = NULL;
    PM_TRY(pm_cursor_u32(cursor, "the number of ic points", &n_ic, error));
    n_ic = __builtin_bswap32(n_ic);
    if (n_ic == 0) {
        return pm_cursor_fail(cursor, sizeof n_ic, error, PM_COUNT,
                              "no ic points, the constant one needs one");
    }
    /* Nothing is allocated for points that are not there. */
    struct pm_cursor ahead = *cursor;
    const uint8_t *bytes = NULL;
    PM_TRY(pm_cursor_span(&ahead, "the ic points", n_ic, encoded_bytes, &bytes, error));
    PM_TRY(pm_memory_alloc_array(NULL, "ic points", n_ic, g1->affine_bytes, PM_MEMORY_PLAIN, &ic,
                                 error));
    vk->ic = ic;
    vk->n_public = n_ic - 1;
    for (uint32_t i = 0; i < n_ic; ++i) {
        char point[32];
        (void)snprintf(point, sizeof point, "ic point %u", i);
        PM_TRY(read_point(cursor, g1, point, vk->ic + (uint64_t)i * g1->affine_bytes, error));
    }
    return PM_OK;
}

static pm_status parse(const struct pm_mapping *mapping, const struct pm_curve *curve,
                       bool trailing, struct pm_bellman_vk *vk, pm_error *error) {
    struct pm_cursor cursor;
    PM_TRY(pm_cursor_open(mapping, "bellman's verifying key", 0, mapping->n_bytes, &cursor, error));
    PM_TRY(read_fixed_points(&cursor, curve, vk, error));
    PM_TRY(read_ic(&cursor, curve->g1, vk, error));
    vk->n_bytes = cursor.position;
    PM_TRY(trailing ? PM_OK : pm_cursor_finish(&cursor, error));
    return pm_mapping_check(mapping, error);
}

pm_status pm_bellman_vk_open(const struct pm_mapping *mapping, const struct pm_curve *curve,
                             bool trailing, struct pm_bellman_vk *vk, pm_error *error) {
    *vk = (struct pm_bellman_vk){0};
    PM_FAIL_IF(curve->g1->form_bytes(PM_POINT_ZCASH_FULL) == 0, error, PM_CURVE,
               "bellman's verifying keys are for bls12381, not for %s", curve->name);
    const pm_status status = parse(mapping, curve, trailing, vk, error);
    if (status != PM_OK) {
        pm_bellman_vk_close(vk);
    }
    return status;
}

void pm_bellman_vk_close(struct pm_bellman_vk *vk) {
    pm_memory_free(vk->ic);
    *vk = (struct pm_bellman_vk){0};
}
