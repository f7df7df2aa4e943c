/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "floors.h"

#include "base/clock.h"
#include "base/cpu.h"

enum { PROBE_RUNS = 30, PROBE_ROUNDS = 20000, PROBE_UNROLLED = 32 };

double floor_probe_mulx_ns(void) {
    double best_ns = 0;
#if defined(__x86_64__)
    for (int run = 0; pm_cpu_has_body(PM_BODY_ADX) && run < PROBE_RUNS; run++) {
        const uint64_t start_ns = pm_clock_now_ns();
        for (unsigned i = 0; i < PROBE_ROUNDS; i++) {
            uint64_t low, high;
            __asm__ volatile(".rept %c3\n\tmulxq %%rdx, %0, %1\n\t.endr"
                             : "=&r"(low), "=&r"(high)
                             : "d"((uint64_t)i), "i"(PROBE_UNROLLED));
        }
        const double ns =
            (double)(pm_clock_now_ns() - start_ns) / ((double)PROBE_UNROLLED * PROBE_ROUNDS);
        best_ns = run == 0 || ns < best_ns ? ns : best_ns;
    }
#endif
    return best_ns;
}

double floor_probe_madd52_ns(void) {
    double best_ns = 0;
#if defined(__x86_64__)
    for (int run = 0; pm_cpu_has_body(PM_BODY_IFMA) && run < PROBE_RUNS; run++) {
        const uint64_t start_ns = pm_clock_now_ns();
        for (unsigned i = 0; i < PROBE_ROUNDS; i++) {
            /* Sixteen sums that do not wait for one another, for a latency of four at two a cycle.
             */
            __asm__ volatile(".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
                             "vpmadd52luq %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t.endr\n\t"
                             ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
                             "vpmadd52huq %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t.endr\n\t" ::
                                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                                   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                                   "xmm15");
        }
        __asm__ volatile("vzeroupper");
        const double ns = (double)(pm_clock_now_ns() - start_ns) / (32.0 * PROBE_ROUNDS);
        best_ns = run == 0 || ns < best_ns ? ns : best_ns;
    }
#endif
    return best_ns;
}

double floor_eighth_products(uint32_t n_limbs) {
    const double l = (64 * n_limbs + 51) / 52;
    return (4 * l * l + l) / 8;
}

double floor_limb_products(uint32_t n_limbs) {
    return 2.0 * n_limbs * n_limbs + n_limbs;
}

double floor_ntt(uint32_t log_n) {
    return (double)(UINT64_C(1) << log_n) / 2 * log_n;
}

double floor_to_coset(uint32_t log_n) {
    return 2 * floor_ntt(log_n) + (double)(UINT64_C(1) << log_n);
}

/* Of m products and s squares in the group's coordinate field. */
static double in_fp(enum pm_msm_group group, double m, double s) {
    return group == PM_MSM_G1 ? m + s : 3 * m + 2 * s;
}

double floor_affine_addition(enum pm_msm_group group) {
    return in_fp(group, 5, 1);
}

static double n_windows(uint32_t bits, uint32_t window_bits) {
    return (bits + 1 + window_bits - 1) / window_bits; /* signed digits need a bit more */
}

double floor_fixed_base(enum pm_msm_group group, uint32_t scalar_bits, uint32_t window_bits,
                        double n) {
    return n * (n_windows(scalar_bits, window_bits) - 1) * floor_affine_addition(group);
}
