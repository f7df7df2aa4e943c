/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* card_msm_test LIBRARY candidates: the library's way to sum the buckets of G2 and each candidate,
 * checked against the CPU on small inputs of every pattern and timed with known results. */
#include "card_msm_candidate.h"

#include "card_msm.h"

#define DECLARE(name, curve)                                                                       \
    extern const struct card_msm_candidate card_msm_candidate_##name##_##curve;
CARD_MSM_CANDIDATES(DECLARE, bls12_381)
CARD_MSM_CANDIDATES(DECLARE, bn254)

#define ADDRESS(name, curve) &card_msm_candidate_##name##_##curve,

/* The table that a plan gets in place of the library's. */
static struct pm_gpu_msm_group_kernels stand_in;
static const struct card_msm_candidate *current;

void card_use_candidate(struct pm_gpu_msm_plan *plan) {
    if (current != NULL) {
        stand_in = *plan->kernels;
        stand_in.accumulate = current->accumulate;
        stand_in.slices = current->slices;
        stand_in.units = current->units;
        plan->kernels = &stand_in;
    }
}

static void time_curve(pm_curve_id id, const struct card_msm_candidate *const *candidates,
                       uint32_t n) {
    if (!card_choose(id, PM_MSM_G2)) {
        return;
    }
    for (uint32_t i = 0; i <= n; i++) {
        current = i == 0 ? NULL : candidates[i - 1];
        printf("---- %s", current == NULL ? "the library's" : current->name);
        if (current != NULL) {
            int n_warps = 0, n_registers = 0, local_bytes = 0;
            CARD_CUDA(current->facts(&n_warps, &n_registers, &local_bytes));
            printf(": %d warps a multiprocessor, %d registers, %d bytes of local memory", n_warps,
                   n_registers, local_bytes);
        }
        printf("\n");
        (void)fflush(stdout);
        card_check_group();
        card_time_group();
    }
    current = NULL;
}

void card_time_candidates(void) {
    static const struct card_msm_candidate *const bls12_381[] = {
        CARD_MSM_CANDIDATES(ADDRESS, bls12_381)};
    static const struct card_msm_candidate *const bn254[] = {CARD_MSM_CANDIDATES(ADDRESS, bn254)};
    card_msm.card.is_small = true;
    time_curve(PM_CURVE_BLS12_381, bls12_381, sizeof bls12_381 / sizeof bls12_381[0]);
    time_curve(PM_CURVE_BN254, bn254, sizeof bn254 / sizeof bn254[0]);
}
