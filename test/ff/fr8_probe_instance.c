/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One struct pm_fr8_probe, compiled once per (curve, body) like the library's instance units. */
#include "ff/ff_instance.inc"

#include "fr8_probe.h"

#if PM_INSTANCE_IFMA
#include "ff/ff_fr8.inc"

static void probe_copy(void *r, const void *a) {
    struct fr8_field field;
    fr8 x;
    fr8_field_init(&field);
    fr8_load(&x, a, &field);
    fr8_store(r, &x);
}

static void probe_mul(unsigned char *const r[8], const unsigned char *const a[8],
                      const unsigned char *const b[8]) {
    struct fr8_field field;
    __m512i w[FR_LIMBS];
    fr8 x, z;
    fr8_field_init(&field);
    fr8_gather_words(w, a, 0);
    fr8_from_words(&x, w, &field);
    fr8_gather_words(w, b, 0);
    fr8_multiplier_from_words(&z, w, &field);
    fr8_mul(&x, &x, &z, &field);
    fr8_normalize(&x, &field);
    fr8_reduce_once(&x, &field);
    fr8_to_words(w, &x);
    fr8_scatter_words(r, 0, w, 0xff);
}

static void probe_scale(void *r, const void *a, const void *z) {
    struct fr8_field field;
    fr8 x, y;
    fr one;
    fr_load(&one, z);
    fr8_field_init(&field);
    fr8_load(&x, a, &field);
    fr8_broadcast_multiplier(&y, &one, &field);
    fr8_mul(&x, &x, &y, &field);
    fr8_reduce(&x, &field);
    fr8_reduce_once(&x, &field);
    fr8_store(r, &x);
}

static void probe_combine(void *r, const void *a, const void *b, unsigned k) {
    struct fr8_field field;
    fr8 x, y;
    fr8_field_init(&field);
    fr8_load(&x, a, &field);
    fr8_load(&y, b, &field);
    for (unsigned i = 0; i < k; i++) {
        fr8_add(&x, &x, &x);
    }
    fr8_sub(&x, &x, &y);
    fr8_add(&x, &x, &field.m);
    fr8_reduce(&x, &field);
    fr8_reduce_once(&x, &field);
    fr8_store(r, &x);
}

static const struct pm_fr8_ops probe_ops = {
    .copy = probe_copy,
    .mul = probe_mul,
    .scale = probe_scale,
    .combine = probe_combine,
};

#define OPS &probe_ops
#else
#define OPS NULL
#endif

extern const struct pm_fr8_probe PM_INSTANCE_NAME(pm_fr8_probe);
const struct pm_fr8_probe PM_INSTANCE_NAME(pm_fr8_probe) = {.curve = PM_INSTANCE_CURVE_ID,
                                                            .ops = OPS};
