/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/prove.h"

#include "base/memory.h"
#include "base/random.h"

#include <string.h>

pm_status pm_groth16_draw_blinding(const struct pm_curve *curve, struct pm_blinding *blinding,
                                   pm_error *error) {
    uint64_t wide[2][8];
    PM_TRY(pm_random_bytes(wide, sizeof wide, error));
    uint64_t reduced[PM_FR_LIMBS_MAX];
    curve->fr->reduce_wide(reduced, wide[0]);
    curve->fr->from_mont(blinding->r, reduced, 1);
    curve->fr->reduce_wide(reduced, wide[1]);
    curve->fr->from_mont(blinding->s, reduced, 1);
    pm_memory_wipe(wide, sizeof wide);
    pm_memory_wipe(reduced, sizeof reduced);
    return PM_OK;
}

/* r += k * p for an affine p. */
static void add_multiple(const struct pm_group *group, struct pm_group_point *r, const void *affine,
                         const uint64_t k[PM_FR_LIMBS_MAX]) {
    struct pm_group_point term;
    group->from_affine(&term, affine);
    group->mul(&term, &term, k, PM_FR_LIMBS_MAX);
    group->add(r, r, &term);
    pm_memory_wipe(&term, sizeof term);
}

/* r += k * p for a Jacobian p. */
static void add_point_multiple(const struct pm_group *group, struct pm_group_point *r,
                               const struct pm_group_point *p, const uint64_t k[PM_FR_LIMBS_MAX]) {
    struct pm_group_point term;
    group->mul(&term, p, k, PM_FR_LIMBS_MAX);
    group->add(r, r, &term);
    pm_memory_wipe(&term, sizeof term);
}

/* k = -r s, canonical. */
static void minus_product(const struct pm_field *fr, const struct pm_blinding *blinding,
                          uint64_t k[PM_FR_LIMBS_MAX]) {
    uint64_t r[PM_FR_LIMBS_MAX], s[PM_FR_LIMBS_MAX];
    fr->to_mont(r, blinding->r, 1);
    fr->to_mont(s, blinding->s, 1);
    fr->mul(r, r, s);
    fr->neg(r, r);
    fr->from_mont(k, r, 1);
    pm_memory_wipe(r, sizeof r);
    pm_memory_wipe(s, sizeof s);
}

void pm_groth16_assemble(const struct pm_curve *curve, const struct pm_key_header *key,
                         struct pm_sums *sums, const struct pm_blinding *blinding,
                         struct pm_groth16_proof *proof) {
    const struct pm_group *g1 = curve->g1, *g2 = curve->g2;
    struct pm_group_point *a = &sums->a, *b1 = &sums->b1, *b2 = &sums->b2, *c = &sums->l;
    uint64_t minus_rs[PM_FR_LIMBS_MAX];

    g1->add_affine(a, a, key->alpha_g1);
    add_multiple(g1, a, key->delta_g1, blinding->r);
    g1->add_affine(b1, b1, key->beta_g1);
    add_multiple(g1, b1, key->delta_g1, blinding->s);
    g2->add_affine(b2, b2, key->beta_g2);
    add_multiple(g2, b2, key->delta_g2, blinding->s);

    g1->add(c, c, &sums->h);
    add_point_multiple(g1, c, a, blinding->s);
    add_point_multiple(g1, c, b1, blinding->r);
    minus_product(curve->fr, blinding, minus_rs);
    add_multiple(g1, c, key->delta_g1, minus_rs);

    memset(proof, 0, sizeof *proof);
    g1->to_affine(proof->a, a);
    g2->to_affine(proof->b, b2);
    g1->to_affine(proof->c, c);
    pm_memory_wipe(minus_rs, sizeof minus_rs);
}
