/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of msm/msm.h for one curve in one body; compiled once for each (see ff_instance.inc).
 */
#include "msm/msm.h"

#include "base/control.h"
#include "base/limits.h"
#include "curve/curve_instance.inc"

#include "msm/msm_plan.inc"

#define G g1
#include "msm/msm_group.inc"
#undef G

#define G g2
#include "msm/msm_group.inc"
#undef G

static uint64_t msm_bytes(enum pm_msm_group group, uint64_t n, uint32_t threads) {
    return group == PM_MSM_G1 ? msm_g1_bytes(n, threads) : msm_g2_bytes(n, threads);
}

static pm_status msm_run(enum pm_msm_group group, const void *points, const void *scalars,
                         uint64_t n, struct pm_team *team, void *scratch, const pm_control *control,
                         void *result, pm_error *error) {
    return group == PM_MSM_G1
               ? msm_g1_run(points, scalars, n, team, scratch, control, result, error)
               : msm_g2_run(points, scalars, n, team, scratch, control, result, error);
}

static void msm_reference(enum pm_msm_group group, const void *points, const void *scalars,
                          uint64_t n, void *result) {
    if (group == PM_MSM_G1) {
        msm_g1_reference(points, scalars, n, result);
    } else {
        msm_g2_reference(points, scalars, n, result);
    }
}

extern const struct pm_msm PM_INSTANCE_NAME(pm_msm);
const struct pm_msm PM_INSTANCE_NAME(pm_msm) = {
    .curve = PM_INSTANCE_CURVE_ID,
    .body = PM_INSTANCE_BODY_STRING,
    .bytes = msm_bytes,
    .run = msm_run,
    .reference = msm_reference,
};
