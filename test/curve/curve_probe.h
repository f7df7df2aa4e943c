/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What curve_instance.inc has and struct pm_group has not: XYZZ points, batches, and points of the
 * whole curve. Points live in struct pm_group_point, which is large enough for XYZZ. */
#ifndef PM_TEST_CURVE_PROBE_H
#define PM_TEST_CURVE_PROBE_H

#include "curve/curve.h"

struct pm_group_probe {
    size_t jac_bytes, xyzz_bytes;
    void (*xyzz_set_inf)(struct pm_group_point *r);
    bool (*xyzz_is_inf)(const struct pm_group_point *p);
    void (*xyzz_from_affine)(struct pm_group_point *r, const void *affine);
    void (*xyzz_dbl_affine)(struct pm_group_point *r, const void *affine);
    void (*xyzz_add_affine)(struct pm_group_point *acc, const void *affine, bool negate);
    void (*xyzz_add)(struct pm_group_point *r, const struct pm_group_point *p,
                     const struct pm_group_point *q);
    void (*xyzz_dbl)(struct pm_group_point *r, const struct pm_group_point *p);
    void (*xyzz_to_jac)(struct pm_group_point *r, const struct pm_group_point *p);
    /* n affine points one after another from n <= 64 Jacobian ones. */
    void (*batch_to_affine)(void *affine, const struct pm_group_point *in, size_t n);
    /* A point of the whole curve with this x (coordinate_bytes canonical little-endian bytes), or
     * false. */
    bool (*from_x)(void *affine, const void *x);
    /* r = k p by plain double-and-add. */
    void (*jac_mul_word)(struct pm_group_point *r, const struct pm_group_point *p, uint64_t k);
};

struct pm_curve_probe {
    const struct pm_group_probe *g1, *g2;
    /* psi on affine G2 points. */
    void (*psi)(void *r, const void *affine);
};

#endif
