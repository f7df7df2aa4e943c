/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/prove.h"

#include "base/clock.h"
#include "base/random.h"

#include <string.h>

/* For progress: matrix products, quotient, five MSMs, assembly. */
#define STEPS_TOTAL 8

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

/* One step begins: progress, and the question whether to go on. */
static pm_status step_begin(struct pm_groth16_job *job, const char *name, uint64_t *begin_ns,
                            pm_error *error) {
    PM_TRY(pm_control_check(job->control, error));
    pm_control_progress(job->control, name, job->n_steps_done, STEPS_TOTAL);
    *begin_ns = pm_clock_now_ns();
    return PM_OK;
}

static void step_end(struct pm_groth16_job *job, const char *name, uint64_t begin_ns) {
    ++job->n_steps_done;
    pm_prove_stats *stats = job->stats;
    if (stats->n_phases < PM_PHASES_MAX) {
        stats->phases[stats->n_phases++] =
            (pm_phase){.name = name, .wall_ns = pm_clock_now_ns() - begin_ns};
    }
}

static pm_status vector_alloc(struct pm_groth16_job *job, const char *name, void **vector,
                              pm_error *error) {
    const uint64_t n = UINT64_C(1) << job->key->parts.log_n;
    return pm_memory_alloc_array(job->ledger, name, n, PM_FR_BYTES, PM_MEMORY_SECRET, vector,
                                 error);
}

/* a = A.w and b = B.w, row by row; both are allocated here. */
static pm_status step_matrix_products(struct pm_groth16_job *job, void **a, void **b,
                                      pm_error *error) {
    const struct pm_key_parts *key = &job->key->parts;
    uint64_t begin_ns;
    PM_TRY(step_begin(job, "matrix products", &begin_ns, error));
    PM_TRY(vector_alloc(job, "a", a, error));
    PM_TRY(vector_alloc(job, "b", b, error));
    PM_TRY(job->kernels->poly->multiply_matrices(
        *a, *b, key->log_n, key->coefficients, key->n_coefficients, key->coefficients_sorted,
        job->witness, key->n_vars, job->kernels->team, job->control, error));
    step_end(job, "matrix products", begin_ns);
    return PM_OK;
}

/* a becomes the canonical scalars of h; b and c (allocated here) are left to be freed. */
static pm_status step_quotient(struct pm_groth16_job *job, void *a, void *b, void **c,
                               pm_error *error) {
    const struct pm_poly *poly = job->kernels->poly;
    struct pm_team *team = job->kernels->team;
    struct pm_domain domain = job->key->domain;
    domain.poly = poly;
    const uint64_t n = UINT64_C(1) << domain.log_n;
    uint64_t begin_ns;
    PM_TRY(step_begin(job, "quotient", &begin_ns, error));
    PM_TRY(vector_alloc(job, "c", c, error));
    poly->mul_vectors(*c, a, b, n, team);
    PM_TRY(poly->to_odd_coset(&domain, a, team, job->control, error));
    PM_TRY(poly->to_odd_coset(&domain, b, team, job->control, error));
    PM_TRY(poly->to_odd_coset(&domain, *c, team, job->control, error));
    poly->quotient_scalars(a, a, b, *c, n, team);
    step_end(job, "quotient", begin_ns);
    return PM_OK;
}

static pm_status step_msm(struct pm_groth16_job *job, const char *name, enum pm_msm_group group,
                          const void *points, const void *scalars, uint64_t n,
                          struct pm_group_point *sum, pm_error *error) {
    const struct pm_kernels *kernels = job->kernels;
    uint64_t begin_ns;
    PM_TRY(step_begin(job, name, &begin_ns, error));
    void *scratch = NULL;
    PM_TRY(pm_memory_alloc(job->ledger, "msm scratch",
                           kernels->msm->bytes(group, n, pm_team_threads(kernels->team)),
                           PM_MEMORY_SECRET, &scratch, error));
    const pm_status status = kernels->msm->run(group, points, scalars, n, kernels->team, scratch,
                                               job->control, sum, error);
    pm_memory_free(scratch);
    if (status == PM_OK) {
        step_end(job, name, begin_ns);
    }
    return status;
}

/* The part of start during which a, b and c live. */
static pm_status sum_h(struct pm_groth16_job *job, pm_error *error) {
    const struct pm_key_parts *key = &job->key->parts;
    void *a = NULL, *b = NULL, *c = NULL;
    pm_status status;
    PM_TRY_GOTO(status, step_matrix_products(job, &a, &b, error), cleanup);
    PM_TRY_GOTO(status, step_quotient(job, a, b, &c, error), cleanup);
    pm_memory_free(b); /* h stands in a now: b and c have been read for the last time */
    pm_memory_free(c);
    b = c = NULL;
    PM_TRY_GOTO(
        status,
        step_msm(job, "msm h", PM_MSM_G1, key->h, a, UINT64_C(1) << key->log_n, &job->sum_h, error),
        cleanup);
cleanup:
    pm_memory_free(c);
    pm_memory_free(b);
    pm_memory_free(a);
    return status;
}

pm_status pm_groth16_start(struct pm_groth16_job *job, pm_error *error) {
    const struct pm_key_parts *key = &job->key->parts;
    const uint8_t *private_signals = job->witness + (uint64_t)(key->n_public + 1) * PM_FR_BYTES;
    job->n_steps_done = 0;
    PM_TRY(sum_h(job, error));
    PM_TRY(
        step_msm(job, "msm a", PM_MSM_G1, key->a, job->witness, key->n_vars, &job->sum_a, error));
    PM_TRY(step_msm(job, "msm b1", PM_MSM_G1, key->b1, job->witness, key->n_vars, &job->sum_b1,
                    error));
    PM_TRY(step_msm(job, "msm c", PM_MSM_G1, key->c, private_signals,
                    key->n_vars - key->n_public - 1, &job->sum_c, error));
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

/*
 *   A  = alpha + sum_a  + r delta                     on G1
 *   B  = beta  + sum_b2 + s delta                     on G2, and B1 likewise on G1
 *   C  = sum_c + sum_h + s A + r B1 - r s delta       on G1
 */
static void assemble(struct pm_groth16_job *job, struct pm_group_point *sum_b2,
                     const struct pm_blinding *blinding, struct pm_groth16_proof *proof) {
    const struct pm_key_parts *key = &job->key->parts;
    const struct pm_group *g1 = job->kernels->curve->g1, *g2 = job->kernels->curve->g2;
    struct pm_group_point *a = &job->sum_a, *b1 = &job->sum_b1, *c = &job->sum_c;
    uint64_t minus_rs[PM_FR_LIMBS_MAX];

    g1->add_affine(a, a, key->alpha_g1);
    add_multiple(g1, a, key->delta_g1, blinding->r);
    g1->add_affine(b1, b1, key->beta_g1);
    add_multiple(g1, b1, key->delta_g1, blinding->s);
    g2->add_affine(sum_b2, sum_b2, key->beta_g2);
    add_multiple(g2, sum_b2, key->delta_g2, blinding->s);

    g1->add(c, c, &job->sum_h);
    add_point_multiple(g1, c, a, blinding->s);
    add_point_multiple(g1, c, b1, blinding->r);
    minus_product(job->kernels->curve->fr, blinding, minus_rs);
    add_multiple(g1, c, key->delta_g1, minus_rs);

    memset(proof, 0, sizeof *proof);
    g1->to_affine(proof->a, a);
    g2->to_affine(proof->b, sum_b2);
    g1->to_affine(proof->c, c);
    pm_memory_wipe(minus_rs, sizeof minus_rs);
}

pm_status pm_groth16_finish(struct pm_groth16_job *job, const struct pm_blinding *blinding,
                            struct pm_groth16_proof *proof, pm_error *error) {
    const struct pm_key_parts *key = &job->key->parts;
    struct pm_group_point sum_b2;
    uint64_t begin_ns;
    pm_status status =
        step_msm(job, "msm b2", PM_MSM_G2, key->b2, job->witness, key->n_vars, &sum_b2, error);
    if (status == PM_OK) {
        status = step_begin(job, "assembly", &begin_ns, error);
    }
    if (status == PM_OK) {
        assemble(job, &sum_b2, blinding, proof);
        step_end(job, "assembly", begin_ns);
        pm_control_progress(job->control, "assembly", STEPS_TOTAL, STEPS_TOTAL);
    }
    pm_memory_wipe(&sum_b2, sizeof sum_b2);
    pm_groth16_abandon(job);
    return status;
}

void pm_groth16_abandon(struct pm_groth16_job *job) {
    pm_memory_wipe(&job->sum_h, sizeof job->sum_h);
    pm_memory_wipe(&job->sum_a, sizeof job->sum_a);
    pm_memory_wipe(&job->sum_b1, sizeof job->sum_b1);
    pm_memory_wipe(&job->sum_c, sizeof job->sum_c);
}
