/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/lagrange.h - Lagrange basis polynomials of a domain at one point. */
#ifndef PM_GROTH16_LAGRANGE_H
#define PM_GROTH16_LAGRANGE_H

#include "base/control.h"
#include "base/memory.h"
#include "curve/curve.h"
#include "par/team.h"
#include "poly/poly.h"

#include <stdint.h>

/*
 * out[j] = factor * L_k(x) for k = first + step * j, j < n, over the domain of m = 2^log_m points:
 *
 *     L_k(x) = (x^m - 1) / m * w^k / (x - w^k)
 *
 * All scalars in Montgomery form, PM_FR_LIMBS_MAX words each. x must not lie in the domain: a point
 * of the domain gives zeros. w comes from `root` (poly/poly.h). Errors: UNSUPPORTED (log_m beyond
 * the field's two-adicity), CANCELLED, DEADLINE.
 */
struct pm_lagrange {
    const struct pm_curve *curve;
    enum pm_root root;
    uint32_t log_m;
    const uint64_t *x;
    const uint64_t *factor;
    uint64_t first, step;
};
pm_status pm_lagrange_evaluate(const struct pm_lagrange *lagrange, uint64_t n, struct pm_team *team,
                               const pm_control *control, uint64_t *out, pm_error *error);

#endif
