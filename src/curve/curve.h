/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * curve/curve.h - G1 and G2 of each curve, behind a table: one entry a group, a curve, a body.
 *
 * Callers above the kernels hold points as bytes and never learn the limb count:
 *   affine    x, y as Montgomery little-endian limbs, exactly the bytes of a snarkjs zkey; any
 *             alignment; infinity is all zero ((0, 0) is on neither curve).
 *   jacobian  (X : Y : Z), x = X/Z^2, y = Y/Z^3, 8-byte aligned, at most PM_GROUP_POINT_BYTES_MAX;
 *             infinity has Z = 0.
 * All additions are complete: equal, opposite and infinite operands are handled. Variable time.
 */
#ifndef PM_CURVE_CURVE_H
#define PM_CURVE_CURVE_H

#include "base/cpu.h"
#include "base/limits.h"
#include "ff/field.h"

#include <proofmill/proofmill.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may be wrong with an affine point, worst first; the checks run in this order. */
enum pm_point_fault {
    PM_POINT_GOOD = 0,
    PM_POINT_BAD_ENCODING,  /* flag bits that contradict each other or the form */
    PM_POINT_NOT_CANONICAL, /* a coordinate is not below the modulus */
    PM_POINT_NOT_ON_CURVE,
    PM_POINT_NOT_IN_SUBGROUP,
    PM_POINT_INFINITE /* reported by callers for which infinity is a fault; never by check() */
};

/* How far check() and decode() look. */
enum pm_point_check {
    PM_POINT_CHECK_NONE = 0, /* decode only: encoding rules and canonical coordinates */
    PM_POINT_CHECK_CURVE = 1,
    PM_POINT_CHECK_SUBGROUP = 2 /* the curve equation too */
};

/* A group element held by value above the kernels. */
struct pm_group_point {
    uint64_t limb[PM_GROUP_POINT_BYTES_MAX / 8];
};

struct pm_group {
    const char *name;          /* "bn254.g1" */
    uint32_t affine_bytes;     /* 64, 128, 96, 192 */
    uint32_t coordinate_bytes; /* half of it */
    const void *generator;     /* affine */

    /* Jacobian arithmetic. r may alias the operands. */
    void (*set_infinity)(void *r);
    void (*from_affine)(void *r, const void *affine);
    void (*to_affine)(void *affine, const void *p);
    bool (*is_infinity)(const void *p);
    bool (*eq)(const void *p, const void *q); /* as group elements */
    void (*neg)(void *r, const void *p);
    void (*dbl)(void *r, const void *p);
    void (*add)(void *r, const void *p, const void *q);
    void (*add_affine)(void *r, const void *p, const void *affine);
    /* r = k * p; k is n_limbs little-endian limbs, not necessarily reduced. */
    void (*mul)(void *r, const void *p, const uint64_t *k, size_t n_limbs);

    bool (*affine_is_infinity)(const void *affine);
    /* Infinity passes: whether it is welcome is the caller's question. */
    enum pm_point_fault (*check)(const void *affine, enum pm_point_check how);
    /* The slow subgroup test, r * p == infinity: the oracle of the endomorphism one inside check().
     */
    bool (*in_subgroup_by_order)(const void *affine);

    /* Codecs; bytes at any alignment. A form that this curve does not have: form_bytes is 0, decode
     * says BAD_ENCODING and encode writes nothing. */
    size_t (*form_bytes)(pm_point_form form);
    /* Writes *affine only when it returns GOOD. Each point has one encoding in each form, and with
     * a check of the curve nothing else is accepted. A compressed x without a y is NOT_ON_CURVE
     * whatever `how` says. */
    enum pm_point_fault (*decode)(void *affine, pm_point_form form, const void *bytes,
                                  enum pm_point_check how);
    /* affine is a point on the curve with canonical coordinates, as decode gives. */
    void (*encode)(void *bytes, pm_point_form form, const void *affine);
};

struct pm_curve {
    pm_curve_id id;
    const char
        *name; /* "bn254", "bls12_381": our file and symbol name; pm_curve_name() is snarkjs's */
    const char *body;
    const struct pm_field *fp, *fr;
    const struct pm_group *g1, *g2;
};

/* NULL for an unknown curve, or a body that this build or this CPU lacks. */
const struct pm_curve *pm_curve_get(pm_curve_id id, enum pm_body body);

/* A word for messages: "not on the curve", ... and the status that goes with it. */
const char *pm_point_fault_text(enum pm_point_fault fault);
pm_status pm_point_fault_status(enum pm_point_fault fault);

#endif
