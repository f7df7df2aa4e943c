/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/development.h"

#include "base/blake2b.h"

#include <string.h>

#define LABEL "proofmill development "

static void make_secret(const struct pm_field *fr, const char *name, const uint64_t *seed,
                        uint64_t secret[PM_FR_LIMBS_MAX]) {
    struct pm_blake2b hash;
    uint64_t digest[8];
    pm_blake2b_init(&hash, sizeof digest);
    pm_blake2b_update(&hash, LABEL, sizeof LABEL - 1);
    pm_blake2b_update(&hash, name, strlen(name));
    if (seed != NULL) {
        pm_blake2b_update(&hash, seed, sizeof *seed);
    }
    pm_blake2b_final(&hash, digest);
    fr->reduce_wide(secret, digest);
}

void pm_development_secrets_make(const struct pm_curve *curve, uint64_t seed,
                                 struct pm_development_secrets *secrets) {
    const struct pm_field *fr = curve->fr;
    make_secret(fr, "alpha", NULL, secrets->alpha);
    make_secret(fr, "beta", NULL, secrets->beta);
    make_secret(fr, "tau", &seed, secrets->tau);
    make_secret(fr, "gamma", &seed, secrets->gamma);
    make_secret(fr, "delta", &seed, secrets->delta);
}

bool pm_development_recognise(const struct pm_curve *curve, const void *alpha_g1) {
    const struct pm_group *g1 = curve->g1;
    uint64_t alpha[PM_FR_LIMBS_MAX];
    struct pm_group_point point;
    uint8_t affine[PM_G1_BYTES_MAX];
    make_secret(curve->fr, "alpha", NULL, alpha);
    curve->fr->from_mont(alpha, alpha, 1);
    g1->from_affine(&point, g1->generator);
    g1->mul(&point, &point, alpha, PM_FR_LIMBS_MAX);
    g1->to_affine(affine, &point);
    return memcmp(affine, alpha_g1, g1->affine_bytes) == 0;
}

uint32_t pm_insecurity_find(const struct pm_curve *curve, const void *alpha_g1,
                            const void *gamma_g2, const void *delta_g2) {
    const struct pm_group *g2 = curve->g2;
    uint32_t found = 0;
    if (memcmp(delta_g2, gamma_g2, g2->affine_bytes) == 0) {
        found |= PM_INSECURE_DELTA_IS_GAMMA;
    }
    if (memcmp(delta_g2, g2->generator, g2->affine_bytes) == 0) {
        found |= PM_INSECURE_DELTA_IS_GENERATOR;
    }
    if (pm_development_recognise(curve, alpha_g1)) {
        found |= PM_INSECURE_DEVELOPMENT;
    }
    return found;
}
