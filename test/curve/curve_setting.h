/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The groups that the curve tests run over: each group of each curve in each body this CPU has. */
#ifndef PM_TEST_CURVE_SETTING_H
#define PM_TEST_CURVE_SETTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "curve/curve.h"
#include "curve_probe.h"
#include "support/seeded_random.h"

#define SCALAR_LIMBS 4

struct setting {
    const struct pm_curve *curve;
    const struct pm_curve_probe *curve_probe;
    const struct pm_group *group;
    const struct pm_group_probe *probe;
};

extern const struct pm_curve_probe pm_curve_probe_bn254_portable, pm_curve_probe_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_curve_probe pm_curve_probe_bn254_adx, pm_curve_probe_bls12_381_adx;
#endif

static const struct {
    pm_curve_id id;
    enum pm_body body;
    const struct pm_curve_probe *probe;
} curve_instances[] = {
    {PM_CURVE_BN254, PM_BODY_PORTABLE, &pm_curve_probe_bn254_portable},
    {PM_CURVE_BLS12_381, PM_BODY_PORTABLE, &pm_curve_probe_bls12_381_portable},
#if defined(__x86_64__)
    {PM_CURVE_BN254, PM_BODY_ADX, &pm_curve_probe_bn254_adx},
    {PM_CURVE_BLS12_381, PM_BODY_ADX, &pm_curve_probe_bls12_381_adx},
#endif
};

static struct seeded_random rng;

/* Runs a group of tests over every setting; returns the number of failures. */
static int for_every_group(int (*run)(struct setting *setting)) {
    int failures = 0;
    rng = seeded_random_from_environment();
    for (size_t i = 0; i < sizeof curve_instances / sizeof curve_instances[0]; i++) {
        struct setting s = {.curve = pm_curve_get(curve_instances[i].id, curve_instances[i].body),
                            .curve_probe = curve_instances[i].probe};
        if (s.curve == NULL) {
            failures += pm_cpu_has_body(curve_instances[i].body) ? 1 : 0;
            continue;
        }
        for (int g = 0; g < 2; g++) {
            s.group = g == 0 ? s.curve->g1 : s.curve->g2;
            s.probe = g == 0 ? s.curve_probe->g1 : s.curve_probe->g2;
            printf("%s, %s body\n", s.group->name, s.curve->body);
            failures += run(&s);
        }
    }
    return failures;
}

/* A random point of the subgroup, affine. */
__attribute__((unused)) static void random_subgroup_point(const struct setting *s, void *affine) {
    uint64_t k[SCALAR_LIMBS];
    struct pm_group_point t;
    seeded_random_bytes(&rng, k, sizeof k);
    s->group->from_affine(&t, s->group->generator);
    s->group->mul(&t, &t, k, SCALAR_LIMBS);
    s->group->to_affine(affine, &t);
}

/* The same, Jacobian and with a Z that is not one. */
__attribute__((unused)) static void random_jacobian(const struct setting *s,
                                                    struct pm_group_point *p) {
    uint64_t k[SCALAR_LIMBS];
    seeded_random_bytes(&rng, k, sizeof k);
    s->group->from_affine(p, s->group->generator);
    s->group->mul(p, p, k, SCALAR_LIMBS);
}

/* A random x below p in canonical little-endian bytes. */
__attribute__((unused)) static void random_coordinate(const struct setting *s, uint8_t *x) {
    const size_t fp_bytes = s->curve->fp->bytes;
    for (size_t i = 0; i < s->group->coordinate_bytes / fp_bytes; i++) {
        uint64_t words[PM_FP_LIMBS_MAX];
        do {
            seeded_random_bytes(&rng, words, fp_bytes);
            words[fp_bytes / 8 - 1] >>= 8 * fp_bytes - s->curve->fp->bits;
        } while (!s->curve->fp->is_canonical(words));
        memcpy(x + i * fp_bytes, words, fp_bytes);
    }
}

/* A random point of the whole curve: the first random x that has one. */
__attribute__((unused)) static void random_curve_point(const struct setting *s, void *affine) {
    uint8_t x[PM_G2_BYTES_MAX];
    do {
        random_coordinate(s, x);
    } while (!s->probe->from_x(affine, x));
}

#endif
