/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "msm/msm.h"

/* Each table is exported by one compilation of msm_instance.c. */
extern const struct pm_msm pm_msm_bn254_portable, pm_msm_bls12_381_portable;
#if defined(__x86_64__)
extern const struct pm_msm pm_msm_bn254_adx, pm_msm_bls12_381_adx;
extern const struct pm_msm pm_msm_bn254_ifma, pm_msm_bls12_381_ifma;
#endif

struct msm_entry {
    pm_curve_id curve;
    enum pm_body body;
    const struct pm_msm *msm;
};

static const struct msm_entry msms[] = {
    {PM_CURVE_BN254, PM_BODY_PORTABLE, &pm_msm_bn254_portable},
    {PM_CURVE_BLS12_381, PM_BODY_PORTABLE, &pm_msm_bls12_381_portable},
#if defined(__x86_64__)
    {PM_CURVE_BN254, PM_BODY_ADX, &pm_msm_bn254_adx},
    {PM_CURVE_BLS12_381, PM_BODY_ADX, &pm_msm_bls12_381_adx},
    {PM_CURVE_BN254, PM_BODY_IFMA, &pm_msm_bn254_ifma},
    {PM_CURVE_BLS12_381, PM_BODY_IFMA, &pm_msm_bls12_381_ifma},
#endif
};

const struct pm_msm *pm_msm_get(pm_curve_id curve, enum pm_body body) {
    for (size_t i = 0; i < sizeof msms / sizeof msms[0]; i++) {
        if (msms[i].curve == curve && msms[i].body == body && pm_cpu_has_body(body)) {
            return msms[i].msm;
        }
    }
    return NULL;
}

uint64_t pm_msm_rank_bytes(uint64_t n_scalars) {
    return (n_scalars / PM_MSM_RANK_STEP + 1) * sizeof(uint32_t);
}

uint64_t pm_msm_rank_fill(const uint64_t *density, uint64_t n_scalars, uint32_t *rank) {
    uint64_t n_set = 0;
    for (uint64_t i = 0; i < n_scalars; i += 64) {
        if (i % PM_MSM_RANK_STEP == 0) {
            rank[i / PM_MSM_RANK_STEP] = (uint32_t)n_set;
        }
        const uint64_t left = n_scalars - i;
        const uint64_t within = left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
        n_set += (uint64_t)__builtin_popcountll(density[i / 64] & within);
    }
    return n_set;
}
