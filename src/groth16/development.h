/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/development.h - the secrets of development keys, and how such keys are recognised.
 *
 * A development key is made from secrets that anyone can compute: alpha and beta are constants,
 * tau, gamma and delta come from a seed. Whoever knows them forges proofs at will. alpha and beta
 * stand in every key and verifying key of any format, and no contribution changes them, so they are
 * the mark.
 */
#ifndef PM_GROTH16_DEVELOPMENT_H
#define PM_GROTH16_DEVELOPMENT_H

#include "curve/curve.h"

#include <stdbool.h>
#include <stdint.h>

/* Scalars in Montgomery form, none of them zero. */
struct pm_development_secrets {
    uint64_t tau[PM_FR_LIMBS_MAX];
    uint64_t alpha[PM_FR_LIMBS_MAX];
    uint64_t beta[PM_FR_LIMBS_MAX];
    uint64_t gamma[PM_FR_LIMBS_MAX];
    uint64_t delta[PM_FR_LIMBS_MAX];
};

/* BLAKE2b-512 of "proofmill development NAME" and, for tau, gamma and delta, the seed (8 bytes,
 * little-endian), reduced. */
void pm_development_secrets_make(const struct pm_curve *curve, uint64_t seed,
                                 struct pm_development_secrets *secrets);
/* Whether alpha (affine Montgomery G1) is the development alpha. */
bool pm_development_recognise(const struct pm_curve *curve, const void *alpha_g1);

/* What a verifying key's points give away: PM_INSECURE_* flags of the public header. alpha_g1,
 * gamma_g2 and delta_g2 are affine Montgomery. */
uint32_t pm_insecurity_find(const struct pm_curve *curve, const void *alpha_g1,
                            const void *gamma_g2, const void *delta_g2);

#endif
