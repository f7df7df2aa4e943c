/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/verify.h"

#include "base/random.h"
#include "io/point_run.h"

#include <stdbool.h>
#include <string.h>

/* ---- The key ------------------------------------------------------------------------------- */

static struct pm_point_run run_of(const char *name, const struct pm_group *group,
                                  const uint8_t *points, uint64_t n, bool may_be_infinite) {
    return (struct pm_point_run){.name = name,
                                 .group = group,
                                 .form = PM_POINT_MONTGOMERY_LE,
                                 .points = points,
                                 .n = n,
                                 .n_all = n,
                                 .may_be_infinite = may_be_infinite,
                                 .how = PM_POINT_CHECK_SUBGROUP};
}

pm_status pm_verifying_key_check(const struct pm_curve *curve, const struct pm_key_header *header,
                                 struct pm_team *team, pm_error *error) {
    const struct pm_point_run runs[] = {
        run_of("verifying key's alpha", curve->g1, header->alpha_g1, 1, false),
        run_of("verifying key's beta", curve->g2, header->beta_g2, 1, false),
        run_of("verifying key's gamma", curve->g2, header->gamma_g2, 1, false),
        run_of("verifying key's delta", curve->g2, header->delta_g2, 1, false),
        run_of("verifying key's IC", curve->g1, header->ic, (uint64_t)header->n_public + 1, true)};
    return pm_point_runs_scan(NULL, runs, sizeof runs / sizeof runs[0], "checking the points", team,
                              NULL, error);
}

/* e(alpha, beta), or for a prover the lines of beta. */
static pm_status prepare_alphabeta(const struct pm_pairing *pairing, enum pm_vk_use use,
                                   struct pm_ledger *ledger, struct pm_verifying_key *vk,
                                   pm_error *error) {
    void *prepared_beta = NULL;
    PM_TRY(pm_memory_alloc(ledger, "prepared beta", pairing->prepared_bytes, PM_MEMORY_PLAIN,
                           &prepared_beta, error));
    pairing->prepare(prepared_beta, vk->beta_g2);
    if (use == PM_VK_FOR_SELF) {
        vk->prepared_beta = prepared_beta;
        return PM_OK;
    }
    const void *alpha[1] = {vk->alpha_g1}, *beta[1] = {prepared_beta};
    pairing->miller(&vk->alphabeta, alpha, beta, 1);
    pairing->final_exponentiation(&vk->alphabeta, &vk->alphabeta);
    pm_memory_free(prepared_beta);
    return PM_OK;
}

pm_status pm_verifying_key_create(const struct pm_kernels *kernels,
                                  const struct pm_key_header *header, enum pm_vk_use use,
                                  struct pm_ledger *ledger, struct pm_verifying_key *vk,
                                  pm_error *error) {
    const struct pm_pairing *pairing = kernels->pairing;
    const uint32_t g1_bytes = kernels->curve->g1->affine_bytes;
    const uint32_t g2_bytes = kernels->curve->g2->affine_bytes;
    const uint64_t n_ic = (uint64_t)header->n_public + 1;
    void *ic = NULL;
    pm_status status;

    memset(vk, 0, sizeof *vk);
    vk->curve = header->curve;
    vk->n_public = header->n_public;
    PM_TRY_GOTO(status,
                pm_memory_alloc_array(ledger, "verifying key ic", n_ic, g1_bytes, PM_MEMORY_PLAIN,
                                      &ic, error),
                cleanup);
    vk->ic = ic;
    PM_TRY_GOTO(status,
                pm_memory_alloc(ledger, "prepared gamma", pairing->prepared_bytes, PM_MEMORY_PLAIN,
                                &vk->prepared_gamma, error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_memory_alloc(ledger, "prepared delta", pairing->prepared_bytes, PM_MEMORY_PLAIN,
                                &vk->prepared_delta, error),
                cleanup);
    memcpy(vk->alpha_g1, header->alpha_g1, g1_bytes);
    memcpy(vk->beta_g2, header->beta_g2, g2_bytes);
    memcpy(vk->gamma_g2, header->gamma_g2, g2_bytes);
    memcpy(vk->delta_g2, header->delta_g2, g2_bytes);
    memcpy(vk->ic, header->ic, n_ic * g1_bytes);
    PM_TRY_GOTO(status, prepare_alphabeta(pairing, use, ledger, vk, error), cleanup);
    pairing->prepare(vk->prepared_gamma, vk->gamma_g2);
    pairing->prepare(vk->prepared_delta, vk->delta_g2);
cleanup:
    if (status != PM_OK) {
        pm_verifying_key_destroy(vk);
    }
    return status;
}

void pm_verifying_key_destroy(struct pm_verifying_key *vk) {
    pm_memory_free(vk->prepared_beta);
    pm_memory_free(vk->prepared_delta);
    pm_memory_free(vk->prepared_gamma);
    pm_memory_free(vk->ic);
    memset(vk, 0, sizeof *vk);
}

/* ---- One proof ------------------------------------------------------------------------------ */

static uint64_t aligned(uint64_t n_bytes) {
    return (n_bytes + PM_BUFFER_ALIGNMENT - 1) / PM_BUFFER_ALIGNMENT * PM_BUFFER_ALIGNMENT;
}

/* Where one verification keeps what, in one buffer: the lines of B, the scalars of IC, and behind
 * them the scratch of IC's sum. */
struct places {
    uint64_t scalars_at, msm_at, bytes;
};

static struct places places_of(const struct pm_pairing *pairing, const struct pm_msm *msm,
                               uint64_t n_public, uint32_t threads) {
    struct places places = {.scalars_at = aligned(pairing->prepared_bytes)};
    places.msm_at = places.scalars_at + aligned((n_public + 1) * PM_FR_BYTES);
    places.bytes = places.msm_at + msm->bytes(PM_MSM_G1, n_public + 1, threads);
    return places;
}

uint64_t pm_groth16_verify_bytes(pm_curve_id curve, uint64_t n_public, uint32_t threads) {
    uint64_t most = 0;
    for (int body = PM_BODY_PORTABLE; body < PM_BODY_COUNT; ++body) {
        const struct pm_pairing *pairing = pm_pairing_get(curve, (enum pm_body)body);
        const struct pm_msm *msm = pm_msm_get(curve, (enum pm_body)body);
        if (pairing != NULL && msm != NULL) {
            const struct places places = places_of(pairing, msm, n_public, threads);
            most = places.bytes > most ? places.bytes : most;
        }
    }
    return most;
}

/* affine = sum_j scalars[j] ic[j] over n_public + 1 canonical scalars. */
static pm_status combine_ic(const struct pm_kernels *kernels, const struct pm_verifying_key *vk,
                            const uint8_t *scalars, void *scratch, uint8_t affine[PM_G1_BYTES_MAX],
                            pm_error *error) {
    struct pm_group_point sum;
    PM_TRY(kernels->msm->run(PM_MSM_G1, vk->ic, scalars, (uint64_t)vk->n_public + 1, kernels->team,
                             scratch, NULL, &sum, error));
    kernels->curve->g1->to_affine(affine, &sum);
    return PM_OK;
}

/* r = -p, affine to affine. */
static void negate_affine(const struct pm_group *group, uint8_t *r, const uint8_t *p) {
    struct pm_group_point point;
    group->from_affine(&point, p);
    group->neg(&point, &point);
    group->to_affine(r, &point);
}

pm_status pm_groth16_verify(const struct pm_kernels *kernels, const struct pm_verifying_key *vk,
                            const uint8_t *publics, const struct pm_groth16_proof *proof,
                            void *scratch, pm_error *error) {
    const struct pm_pairing *pairing = kernels->pairing;
    const struct pm_group *g1 = kernels->curve->g1;
    const struct places places =
        places_of(pairing, kernels->msm, vk->n_public, pm_team_threads(kernels->team));
    uint8_t *prepared_b = scratch, *scalars = prepared_b + places.scalars_at;
    uint8_t minus_p[PM_G1_BYTES_MAX], minus_c[PM_G1_BYTES_MAX], minus_alpha[PM_G1_BYTES_MAX];

    memset(scalars, 0, PM_FR_BYTES);
    scalars[0] = 1;
    if (vk->n_public != 0) {
        memcpy(scalars + PM_FR_BYTES, publics, (size_t)vk->n_public * PM_FR_BYTES);
    }
    PM_TRY(combine_ic(kernels, vk, scalars, prepared_b + places.msm_at, minus_p, error));
    negate_affine(g1, minus_p, minus_p);
    negate_affine(g1, minus_c, proof->c);
    negate_affine(g1, minus_alpha, vk->alpha_g1);
    pairing->prepare(prepared_b, proof->b);

    /* e(A, B) e(-P, gamma) e(-C, delta) = e(alpha, beta), or times e(-alpha, beta) = 1 */
    const bool has_alphabeta = vk->prepared_beta == NULL;
    const void *points[4] = {proof->a, minus_p, minus_c, minus_alpha};
    const void *lines[4] = {prepared_b, vk->prepared_gamma, vk->prepared_delta, vk->prepared_beta};
    struct pm_gt f;
    pairing->miller(&f, points, lines, has_alphabeta ? 3 : 4);
    pairing->final_exponentiation(&f, &f);
    PM_FAIL_IF(!(has_alphabeta ? pairing->gt_eq(&f, &vk->alphabeta) : pairing->gt_is_one(&f)),
               error, PM_PROOF_INVALID, "the pairing equation does not hold");
    return PM_OK;
}

/* ---- Many proofs ---------------------------------------------------------------------------- */

/*
 * Bellare, Garay, Rabin, "Fast batch verification for modular exponentiation and digital
 * signatures", EUROCRYPT 1998, section 3.3 (small exponents): with random 128-bit z_i,
 *
 *   prod_i e(z_i A_i, B_i) e(-sum_i z_i P_i, gamma) e(-sum_i z_i C_i, delta) = e(alpha, beta)^(sum
 * z_i)
 *
 * Miller loops run one task a proof; the products are folded by the caller.
 */
#define EXPONENT_LIMBS 2

struct batch {
    const struct pm_kernels *kernels;
    const struct pm_verifying_key *vk;
    const uint8_t *publics;
    const struct pm_groth16_proof *proofs;
    size_t n_proofs;
    uint64_t *z;                /* n_proofs * EXPONENT_LIMBS, uniform */
    struct pm_gt *loops;        /* n_proofs Miller loops */
    struct pm_group_point *z_c; /* n_proofs times z_i C_i */
    uint8_t *prepared;          /* n_proofs prepared B */
    uint8_t *scalars;           /* of IC, and scratch of its sum */
    void *scratch;
};

static void batch_one(void *argument, size_t i) {
    struct batch *batch = argument;
    const struct pm_pairing *pairing = batch->kernels->pairing;
    const struct pm_group *g1 = batch->kernels->curve->g1;
    const uint64_t *z = batch->z + i * EXPONENT_LIMBS;
    void *prepared = batch->prepared + i * pairing->prepared_bytes;
    struct pm_group_point point;
    uint8_t z_a[PM_G1_BYTES_MAX];

    g1->from_affine(&point, batch->proofs[i].a);
    g1->mul(&point, &point, z, EXPONENT_LIMBS);
    g1->to_affine(z_a, &point);
    pairing->prepare(prepared, batch->proofs[i].b);
    const void *points[1] = {z_a}, *lines[1] = {prepared};
    pairing->miller(&batch->loops[i], points, lines, 1);

    g1->from_affine(&point, batch->proofs[i].c);
    g1->mul(&batch->z_c[i], &point, z, EXPONENT_LIMBS);
}

/* scalars[0] = sum_i z_i, scalars[j + 1] = sum_i z_i public_ij, canonical. */
static void combine_publics(const struct batch *batch) {
    uint8_t *scalars = batch->scalars;
    const struct pm_field *fr = batch->kernels->curve->fr;
    const uint32_t n_public = batch->vk->n_public;
    for (uint64_t j = 0; j <= n_public; ++j) {
        uint64_t sum[PM_FR_LIMBS_MAX] = {0};
        for (size_t i = 0; i < batch->n_proofs; ++i) {
            uint64_t z[PM_FR_LIMBS_MAX] = {0}, value[PM_FR_LIMBS_MAX];
            memcpy(z, batch->z + i * EXPONENT_LIMBS, EXPONENT_LIMBS * sizeof z[0]);
            fr->to_mont(z, z, 1);
            if (j > 0) {
                fr->to_mont(value, batch->publics + (i * n_public + j - 1) * PM_FR_BYTES, 1);
                fr->mul(z, z, value);
            }
            fr->add(sum, sum, z);
        }
        fr->from_mont(scalars + j * PM_FR_BYTES, sum, 1);
    }
}

/* Folds everything into *f, before the final exponentiation, and *sum_z, canonical. */
static pm_status batch_fold(struct batch *batch, struct pm_gt *f, uint64_t sum_z[PM_FR_LIMBS_MAX],
                            pm_error *error) {
    const struct pm_pairing *pairing = batch->kernels->pairing;
    const struct pm_group *g1 = batch->kernels->curve->g1;
    uint8_t minus_p[PM_G1_BYTES_MAX], minus_c[PM_G1_BYTES_MAX];
    struct pm_group_point sum_c;

    combine_publics(batch);
    memcpy(sum_z, batch->scalars, PM_FR_BYTES);
    PM_TRY(combine_ic(batch->kernels, batch->vk, batch->scalars, batch->scratch, minus_p, error));
    negate_affine(g1, minus_p, minus_p);
    g1->set_infinity(&sum_c);
    for (size_t i = 0; i < batch->n_proofs; ++i) {
        g1->add(&sum_c, &sum_c, &batch->z_c[i]);
    }
    g1->neg(&sum_c, &sum_c);
    g1->to_affine(minus_c, &sum_c);
    const void *points[2] = {minus_p, minus_c};
    const void *lines[2] = {batch->vk->prepared_gamma, batch->vk->prepared_delta};
    pairing->miller(f, points, lines, 2);
    for (size_t i = 0; i < batch->n_proofs; ++i) {
        pairing->gt_mul(f, f, &batch->loops[i]);
    }
    return PM_OK;
}

static pm_status batch_alloc(struct batch *batch, pm_error *error) {
    const struct pm_kernels *kernels = batch->kernels;
    const uint64_t n = batch->n_proofs, n_ic = (uint64_t)batch->vk->n_public + 1;
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc_array(NULL, "batch exponents", n, EXPONENT_LIMBS * sizeof(uint64_t),
                                 PM_MEMORY_PLAIN, &buffer, error));
    batch->z = buffer;
    PM_TRY(pm_memory_alloc_array(NULL, "batch miller loops", n, sizeof(struct pm_gt),
                                 PM_MEMORY_PLAIN, &buffer, error));
    batch->loops = buffer;
    PM_TRY(pm_memory_alloc_array(NULL, "batch points", n, sizeof(struct pm_group_point),
                                 PM_MEMORY_PLAIN, &buffer, error));
    batch->z_c = buffer;
    PM_TRY(pm_memory_alloc_array(NULL, "batch lines", n, kernels->pairing->prepared_bytes,
                                 PM_MEMORY_PLAIN, &buffer, error));
    batch->prepared = buffer;
    PM_TRY(pm_memory_alloc_array(NULL, "ic scalars", n_ic, PM_FR_BYTES, PM_MEMORY_PLAIN, &buffer,
                                 error));
    batch->scalars = buffer;
    return pm_memory_alloc(NULL, "ic scratch",
                           kernels->msm->bytes(PM_MSM_G1, n_ic, pm_team_threads(kernels->team)),
                           PM_MEMORY_PLAIN, &batch->scratch, error);
}

pm_status pm_groth16_verify_batch(const struct pm_kernels *kernels,
                                  const struct pm_verifying_key *vk, const uint8_t *publics,
                                  const struct pm_groth16_proof *proofs, size_t n_proofs,
                                  pm_error *error) {
    struct batch batch = {
        .kernels = kernels, .vk = vk, .publics = publics, .proofs = proofs, .n_proofs = n_proofs};
    const struct pm_pairing *pairing = kernels->pairing;
    struct pm_gt f, expected;
    uint64_t sum_z[PM_FR_LIMBS_MAX];
    pm_status status;

    PM_TRY_GOTO(status, batch_alloc(&batch, error), cleanup);
    PM_TRY_GOTO(status,
                pm_random_bytes(batch.z, n_proofs * EXPONENT_LIMBS * sizeof(uint64_t), error),
                cleanup);
    pm_team_run(kernels->team, n_proofs, batch_one, &batch);
    PM_TRY_GOTO(status, batch_fold(&batch, &f, sum_z, error), cleanup);
    pairing->final_exponentiation(&f, &f);
    pairing->gt_pow(&expected, &vk->alphabeta, sum_z, PM_FR_LIMBS_MAX);
    if (!pairing->gt_eq(&f, &expected)) {
        status =
            pm_error_set(error, PM_PROOF_INVALID, "at least one of the %llu proofs does not verify",
                         (unsigned long long)n_proofs);
    }
cleanup:
    pm_memory_free(batch.scratch);
    pm_memory_free(batch.scalars);
    pm_memory_free(batch.prepared);
    pm_memory_free(batch.z_c);
    pm_memory_free(batch.loops);
    pm_memory_free(batch.z);
    return status;
}
