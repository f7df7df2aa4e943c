/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/stray_points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* An element of Fp[u], u^2 = -1; G1 uses c[0] alone. */
struct element {
    uint64_t c[2][PM_FP_LIMBS_MAX];
};

static void multiply(const struct pm_field *fp, struct element *r, const struct element *a,
                     const struct element *b) {
    struct element product = {0};
    uint64_t t[PM_FP_LIMBS_MAX];
    fp->mul(product.c[0], a->c[0], b->c[0]);
    fp->mul(t, a->c[1], b->c[1]);
    fp->sub(product.c[0], product.c[0], t);
    fp->mul(product.c[1], a->c[0], b->c[1]);
    fp->mul(t, a->c[1], b->c[0]);
    fp->add(product.c[1], product.c[1], t);
    *r = product;
}

static void cube(const struct pm_field *fp, struct element *r, const struct element *a) {
    struct element square;
    multiply(fp, &square, a, a);
    multiply(fp, r, &square, a);
}

static bool is_zero(const struct pm_field *fp, const uint64_t *a) {
    static const uint64_t zero[PM_FP_LIMBS_MAX];
    return memcmp(a, zero, fp->bytes) == 0;
}

/* By the norm: with n = sqrt(a0^2 + a1^2), x0^2 = (a0 + n) / 2 or (a0 - n) / 2 and x1 = a1 / (2
 * x0).
 */
static bool square_root(const struct pm_field *fp, struct element *r, const struct element *a) {
    uint64_t norm[PM_FP_LIMBS_MAX], t[PM_FP_LIMBS_MAX], half[PM_FP_LIMBS_MAX];
    struct element root = {0};
    if (is_zero(fp, a->c[1])) {
        *r = root;
        return fp->sqrt(r->c[0], a->c[0]);
    }
    fp->add(half, fp->one, fp->one);
    fp->inv(half, half);
    fp->sqr(norm, a->c[0]);
    fp->sqr(t, a->c[1]);
    fp->add(norm, norm, t);
    if (!fp->sqrt(norm, norm)) {
        return false;
    }
    fp->add(t, a->c[0], norm);
    fp->mul(t, t, half);
    if (!fp->sqrt(root.c[0], t)) {
        fp->sub(t, a->c[0], norm);
        fp->mul(t, t, half);
        if (!fp->sqrt(root.c[0], t)) {
            return false;
        }
    }
    fp->inv(t, root.c[0]);
    fp->mul(t, t, half);
    fp->mul(root.c[1], a->c[1], t);
    *r = root;
    return true;
}

static void load(struct element *r, const struct pm_field *fp, size_t n_coordinates,
                 const uint8_t *bytes) {
    *r = (struct element){0};
    for (size_t i = 0; i < n_coordinates; ++i) {
        memcpy(r->c[i], bytes + i * fp->bytes, fp->bytes);
    }
}

/* The first point with x = k (G1) or x = k + u (G2) for k = 1, 2, ..; b is taken from the
 * generator's own y^2 - x^3. */
static void curve_point(const struct pm_curve *curve, const struct pm_group *group, uint8_t *out) {
    const struct pm_field *fp = curve->fp;
    const size_t n = group->coordinate_bytes / fp->bytes;
    struct element x, y, b, rhs, root;
    load(&x, fp, n, group->generator);
    load(&y, fp, n, (const uint8_t *)group->generator + group->coordinate_bytes);
    cube(fp, &rhs, &x);
    multiply(fp, &b, &y, &y);
    fp->sub(b.c[0], b.c[0], rhs.c[0]);
    fp->sub(b.c[1], b.c[1], rhs.c[1]);
    x = (struct element){0};
    if (n == 2) {
        memcpy(x.c[1], fp->one, fp->bytes);
    }
    do {
        fp->add(x.c[0], x.c[0], fp->one);
        cube(fp, &rhs, &x);
        fp->add(rhs.c[0], rhs.c[0], b.c[0]);
        fp->add(rhs.c[1], rhs.c[1], b.c[1]);
    } while (!square_root(fp, &root, &rhs));
    for (size_t i = 0; i < n; ++i) {
        memcpy(out + i * fp->bytes, x.c[i], fp->bytes);
        memcpy(out + (n + i) * fp->bytes, root.c[i], fp->bytes);
    }
}

bool stray_point(const struct pm_curve *curve, const struct pm_group *group, void *out) {
    if (curve->id == PM_CURVE_BN254 && group == curve->g1) {
        return false;
    }
    curve_point(curve, group, out);
    assert_int_equal(group->check(out, PM_POINT_CHECK_CURVE), PM_POINT_GOOD);
    assert_false(group->in_subgroup_by_order(out));
    return true;
}

bool stray_sum(const struct pm_curve *curve, const struct pm_group *group, const void *point,
               void *out) {
    uint8_t stray[PM_G2_BYTES_MAX];
    struct pm_group_point sum;
    if (!stray_point(curve, group, stray)) {
        return false;
    }
    group->from_affine(&sum, stray);
    group->mul(&sum, &sum, curve->fr->modulus, curve->fr->limbs);
    group->add_affine(&sum, &sum, point);
    group->to_affine(out, &sum);
    assert_int_equal(group->check(out, PM_POINT_CHECK_CURVE), PM_POINT_GOOD);
    assert_false(group->in_subgroup_by_order(out));
    return true;
}

void stray_negated(const struct pm_group *group, const void *point, void *out) {
    struct pm_group_point p;
    group->from_affine(&p, point);
    group->neg(&p, &p);
    group->to_affine(out, &p);
}
