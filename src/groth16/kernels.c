/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/proving_key.h"

pm_status pm_kernels_get(pm_curve_id curve, enum pm_body body, struct pm_team *team,
                         struct pm_kernels *kernels, pm_error *error) {
    *kernels = (struct pm_kernels){.curve = pm_curve_get(curve, body),
                                   .poly = pm_poly_get(curve, body),
                                   .msm = pm_msm_get(curve, body),
                                   .pairing = pm_pairing_get(curve, body),
                                   .team = team};
    PM_FAIL_IF(kernels->curve == NULL || kernels->poly == NULL || kernels->msm == NULL ||
                   kernels->pairing == NULL,
               error, PM_UNSUPPORTED, "no %s arithmetic for curve %s in this build or on this CPU",
               pm_body_name(body), pm_curve_name(curve));
    return PM_OK;
}
