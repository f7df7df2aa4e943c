/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* fr8 of ff/ff_fr8.inc behind pointers: eight elements in memory in, eight out. */
#ifndef PM_TEST_FR8_PROBE_H
#define PM_TEST_FR8_PROBE_H

#include <proofmill/proofmill.h>

#include <stdint.h>

struct pm_fr8_ops {
    /* r = a, limbs and back: any words. */
    void (*copy)(void *r, const void *a);
    /* r[i] = a[i] b[i], between eight addresses. */
    void (*mul)(unsigned char *const r[8], const unsigned char *const a[8],
                const unsigned char *const b[8]);
    /* r = a z for one z. */
    void (*scale)(void *r, const void *a, const void *z);
    /* r = 2^k a - b + m, reduced from as much as it is: k < 7. */
    void (*combine)(void *r, const void *a, const void *b, unsigned k);
};

struct pm_fr8_probe {
    pm_curve_id curve;
    const struct pm_fr8_ops *ops; /* NULL except in the ifma body */
};

extern const struct pm_fr8_probe pm_fr8_probe_bn254_ifma, pm_fr8_probe_bls12_381_ifma;

#endif
