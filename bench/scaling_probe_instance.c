/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "scaling_probe.h"

#include "ff/ff_instance.inc"
#if PM_INSTANCE_IFMA
#include <immintrin.h>

#include "ff/ff_fr8.inc"
#endif

extern scaling_probe_function PM_INSTANCE_NAME(scaling_probe);

/* So many that the latency of one is hidden behind the others. */
enum { IN_FLIGHT = 8 };

#if PM_INSTANCE_IFMA

void PM_INSTANCE_NAME(scaling_probe)(uint64_t n_products) {
    static const fr start = {{0x9e3779b97f4a7c15, 2, 3, 4}};
    struct fr8_field field;
    fr8 x[IN_FLIGHT], z;
    fr8_field_init(&field);
    fr8_broadcast_multiplier(&z, &start, &field);
    for (int i = 0; i < IN_FLIGHT; i++) {
        x[i] = z;
    }
    for (uint64_t done = 0; done < n_products; done += 8 * IN_FLIGHT) {
        for (int i = 0; i < IN_FLIGHT; i++) {
            fr8_mul(&x[i], &x[i], &z, &field);
            fr8_normalize(&x[i], &field);
        }
        __asm__ volatile("" : : "r"(x) : "memory"); /* the products are wanted */
    }
}

#else

void PM_INSTANCE_NAME(scaling_probe)(uint64_t n_products) {
    fr x[IN_FLIGHT];
    const fr z = {{0x9e3779b97f4a7c15, 2, 3, 4}};
    for (int i = 0; i < IN_FLIGHT; i++) {
        x[i] = z;
    }
    for (uint64_t done = 0; done < n_products; done += IN_FLIGHT) {
        for (int i = 0; i < IN_FLIGHT; i++) {
            fr_mul(&x[i], &x[i], &z);
        }
        __asm__ volatile("" : : "r"(x) : "memory"); /* the products are wanted */
    }
}

#endif
