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

/* k = r s, canonical. */
static void product(const struct pm_field *fr, const struct pm_blinding *blinding,
                    uint64_t k[PM_FR_LIMBS_MAX]) {
    uint64_t r[PM_FR_LIMBS_MAX], s[PM_FR_LIMBS_MAX];
    fr->to_mont(r, blinding->r, 1);
    fr->to_mont(s, blinding->s, 1);
    fr->mul(r, r, s);
    fr->from_mont(k, r, 1);
    pm_memory_wipe(r, sizeof r);
    pm_memory_wipe(s, sizeof s);
}

/* The points of the proof are three tasks. */
struct assembly {
    const struct pm_curve *curve;
    const struct pm_key_header *key;
    struct pm_sums *sums;
    const struct pm_blinding *blinding;
    struct pm_group_point a, b1; /* alpha + sum_a and beta + sum_b1, not blinded yet */
    struct pm_groth16_proof *proof;
};

static void assemble_a(const struct assembly *assembly) {
    const struct pm_group *g1 = assembly->curve->g1;
    struct pm_group_point *a = &assembly->sums->a;
    *a = assembly->a;
    add_multiple(g1, a, assembly->key->delta_g1, assembly->blinding->r);
    g1->to_affine(assembly->proof->a, a);
}

static void assemble_b(const struct assembly *assembly) {
    const struct pm_group *g2 = assembly->curve->g2;
    struct pm_group_point *b = &assembly->sums->b2;
    g2->add_affine(b, b, assembly->key->beta_g2);
    add_multiple(g2, b, assembly->key->delta_g2, assembly->blinding->s);
    g2->to_affine(assembly->proof->b, b);
}

/* Where a and b1 are A and B1 without their blinding, s A + r B1 - r s delta is
 * s a + r b1 + r s delta, which needs no B1 and does not wait for A. */
static void assemble_c(const struct assembly *assembly) {
    const struct pm_group *g1 = assembly->curve->g1;
    struct pm_group_point *c = &assembly->sums->l;
    uint64_t rs[PM_FR_LIMBS_MAX];
    g1->add(c, c, &assembly->sums->h);
    add_point_multiple(g1, c, &assembly->a, assembly->blinding->s);
    add_point_multiple(g1, c, &assembly->b1, assembly->blinding->r);
    product(assembly->curve->fr, assembly->blinding, rs);
    add_multiple(g1, c, assembly->key->delta_g1, rs);
    g1->to_affine(assembly->proof->c, c);
    pm_memory_wipe(rs, sizeof rs);
}

/* The longest first. */
static void assemble_one(void *argument, size_t index) {
    static void (*const parts[])(const struct assembly *) = {assemble_c, assemble_b, assemble_a};
    parts[index](argument);
}

void pm_groth16_assemble(const struct pm_curve *curve, const struct pm_key_header *key,
                         struct pm_sums *sums, const struct pm_blinding *blinding,
                         struct pm_team *team, struct pm_groth16_proof *proof) {
    struct assembly assembly = {
        .curve = curve, .key = key, .sums = sums, .blinding = blinding, .proof = proof};
    memset(proof, 0, sizeof *proof);
    curve->g1->add_affine(&assembly.a, &sums->a, key->alpha_g1);
    curve->g1->add_affine(&assembly.b1, &sums->b1, key->beta_g1);
    pm_team_run(team, 3, assemble_one, &assembly);
    pm_memory_wipe(&assembly, sizeof assembly);
}
