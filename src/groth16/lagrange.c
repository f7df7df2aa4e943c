/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/lagrange.h"

#include <string.h>

/* Elements that share an inversion; their scratch is on the stack. */
#define PIECE 128

typedef uint64_t scalar[PM_FR_LIMBS_MAX]; /* Montgomery form */

struct evaluation {
    const struct pm_lagrange *lagrange;
    const struct pm_field *fr;
    scalar w, w_step, scale; /* scale = factor (x^m - 1) / m */
    uint64_t *out;
    const pm_control *control;
    int stopped; /* atomic */
};

static void from_u64(const struct pm_field *fr, scalar r, uint64_t value) {
    const scalar words = {value};
    fr->to_mont(r, words, 1);
}

/* g^((r - 1) / 2^log_m), where g is the non-residue that the convention takes. */
static void root_of_unity(const struct pm_curve *curve, enum pm_root root, uint32_t log_m,
                          scalar w) {
    const struct pm_field *fr = curve->fr;
    const uint64_t g = root == PM_ROOT_BELLMAN && curve->id == PM_CURVE_BLS12_381 ? 7 : 5;
    scalar exponent;
    memcpy(exponent, fr->modulus, sizeof exponent);
    exponent[0] -= 1;
    for (uint32_t i = 0; i < log_m; ++i) {
        for (uint32_t j = 0; j < PM_FR_LIMBS_MAX; ++j) {
            const uint64_t above = j + 1 < PM_FR_LIMBS_MAX ? exponent[j + 1] : 0;
            exponent[j] = exponent[j] >> 1 | above << 63;
        }
    }
    from_u64(fr, w, g);
    fr->pow(w, w, exponent, PM_FR_LIMBS_MAX);
}

/* x - w^k, inverted together, then times scale w^k. */
static void evaluate_piece(struct evaluation *evaluation, uint64_t begin, uint64_t end) {
    const struct pm_field *fr = evaluation->fr;
    const struct pm_lagrange *lagrange = evaluation->lagrange;
    uint64_t *out = evaluation->out + begin * PM_FR_LIMBS_MAX;
    uint64_t scratch[PIECE * PM_FR_LIMBS_MAX];
    const uint64_t k = lagrange->first + lagrange->step * begin;
    scalar w_begin, w_k;
    fr->pow(w_begin, evaluation->w, &k, 1);
    memcpy(w_k, w_begin, sizeof w_k);
    for (uint64_t i = 0; i < end - begin; ++i) {
        fr->sub(out + i * PM_FR_LIMBS_MAX, lagrange->x, w_k);
        fr->mul(w_k, w_k, evaluation->w_step);
    }
    fr->batch_inv(out, scratch, end - begin);
    fr->mul(w_k, w_begin, evaluation->scale);
    for (uint64_t i = 0; i < end - begin; ++i) {
        fr->mul(out + i * PM_FR_LIMBS_MAX, out + i * PM_FR_LIMBS_MAX, w_k);
        fr->mul(w_k, w_k, evaluation->w_step);
    }
}

static void evaluate_range(void *argument, size_t begin, size_t end) {
    struct evaluation *evaluation = argument;
    for (uint64_t first = begin; first < end; first += PIECE) {
        if (pm_control_stopped(evaluation->control)) {
            __atomic_store_n(&evaluation->stopped, 1, __ATOMIC_RELAXED);
            return;
        }
        evaluate_piece(evaluation, first, end - first < PIECE ? end : first + PIECE);
    }
}

pm_status pm_lagrange_evaluate(const struct pm_lagrange *lagrange, uint64_t n, struct pm_team *team,
                               const pm_control *control, uint64_t *out, pm_error *error) {
    const struct pm_field *fr = lagrange->curve->fr;
    struct evaluation evaluation = {.lagrange = lagrange, .fr = fr, .out = out, .control = control};
    PM_FAIL_IF(lagrange->log_m > fr->two_adicity, error, PM_UNSUPPORTED,
               "curve %s has no domain of 2^%u points", pm_curve_name(lagrange->curve->id),
               lagrange->log_m);
    scalar m;
    root_of_unity(lagrange->curve, lagrange->root, lagrange->log_m, evaluation.w);
    fr->pow(evaluation.w_step, evaluation.w, &lagrange->step, 1);
    memcpy(evaluation.scale, lagrange->x, sizeof evaluation.scale);
    from_u64(fr, m, 1);
    for (uint32_t i = 0; i < lagrange->log_m; ++i) {
        fr->sqr(evaluation.scale, evaluation.scale); /* x^m */
        fr->add(m, m, m);
    }
    fr->inv(m, m);
    fr->sub(evaluation.scale, evaluation.scale, fr->one);
    fr->mul(evaluation.scale, evaluation.scale, m);
    fr->mul(evaluation.scale, evaluation.scale, lagrange->factor);
    pm_team_for(team, n, PIECE, evaluate_range, &evaluation);
    return evaluation.stopped ? pm_control_stop_status(control, error) : PM_OK;
}
