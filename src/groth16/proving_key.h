/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/proving_key.h - what stays resident with a proving key: its parts and its domain. */
#ifndef PM_GROTH16_PROVING_KEY_H
#define PM_GROTH16_PROVING_KEY_H

#include "curve/curve.h"
#include "io/zkey.h"
#include "msm/msm.h"
#include "pairing/pairing.h"
#include "par/team.h"
#include "poly/poly.h"

/* The kernels of one curve in one body, and the team that runs them. */
struct pm_kernels {
    const struct pm_curve *curve;
    const struct pm_poly *poly;
    const struct pm_msm *msm;
    const struct pm_pairing *pairing;
    struct pm_team *team;
};

/* UNSUPPORTED when the curve has no kernels in this body. */
pm_status pm_kernels_get(pm_curve_id curve, enum pm_body body, struct pm_team *team,
                         struct pm_kernels *kernels, pm_error *error);

struct pm_proving_key {
    struct pm_key_parts parts; /* borrowed from a mapping or from the key's own buffer */
    struct pm_domain domain;   /* of parts.log_n; resident */
};

#endif
