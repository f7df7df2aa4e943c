/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/stray_points.h - points that are on the curve and yet not where they belong.
 *
 * Affine Montgomery bytes, as curve/curve.h and a .zkey hold them.
 */
#ifndef PM_TEST_SUPPORT_STRAY_POINTS_H
#define PM_TEST_SUPPORT_STRAY_POINTS_H

#include "curve/curve.h"

#include <stdbool.h>

/* A point of the curve outside the subgroup of order r. False, leaving out alone, where the curve
 * has none: G1 of BN254. */
bool stray_point(const struct pm_curve *curve, const struct pm_group *group, void *out);
/* point plus a point whose order divides the cofactor: pairings cannot tell it from the point
 * itself. False as above. */
bool stray_sum(const struct pm_curve *curve, const struct pm_group *group, const void *point,
               void *out);
/* The other point with the same x. */
void stray_negated(const struct pm_group *group, const void *point, void *out);

#endif
