/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/toy_setup.h"

#include "curve/curve.h"
#include "ff/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMBS PM_FR_LIMBS_MAX

/* A scalar in Montgomery form. */
struct scalar {
    uint64_t limb[LIMBS];
};

struct setup {
    const struct toy_circuit *circuit;
    const struct pm_curve *curve;
    const struct pm_field *fr;
    struct toy_key *key;
    uint64_t generator;
    struct scalar tau, alpha, beta, gamma, delta;
    struct scalar *lagrange;   /* L_i(tau) on the domain */
    struct scalar *columns[3]; /* A_j, B_j, C_j at tau, n_vars each */
};

static void *allocate(size_t n, size_t bytes) {
    void *block = calloc(n != 0 ? n : 1, bytes);
    if (block == NULL) {
        (void)fprintf(stderr, "toy_setup: out of memory\n");
        exit(1);
    }
    return block;
}

static void *keep(struct setup *setup, size_t n, size_t bytes) {
    void *block = allocate(n, bytes);
    setup->key->owned[setup->key->n_owned++] = block;
    return block;
}

static struct scalar scalar_from_u64(const struct pm_field *fr, uint64_t value) {
    const uint64_t canonical[LIMBS] = {value};
    struct scalar r;
    fr->to_mont(r.limb, canonical, 1);
    return r;
}

static struct scalar scalar_from_i64(const struct pm_field *fr, int64_t value) {
    struct scalar r = scalar_from_u64(fr, value < 0 ? (uint64_t)-value : (uint64_t)value);
    if (value < 0) {
        fr->neg(r.limb, r.limb);
    }
    return r;
}

void toy_value(pm_curve_id curve, int64_t value, uint8_t out[PM_FR_BYTES]) {
    const struct pm_field *fr = pm_field_fr(curve, PM_BODY_PORTABLE);
    const struct scalar r = scalar_from_i64(fr, value);
    fr->from_mont(out, r.limb, 1);
}

/* splitmix64, four words a scalar, reduced: secrets that a test can name. */
static struct scalar scalar_from_seed(const struct pm_field *fr, uint64_t *state) {
    uint64_t wide[8];
    for (size_t i = 0; i < 8; ++i) {
        uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        wide[i] = z ^ z >> 31;
    }
    struct scalar r;
    fr->reduce_wide(r.limb, wide);
    return r;
}

/* generator^((r - 1) / 2^log_order). */
static struct scalar root_of_unity(const struct setup *setup, uint32_t log_order) {
    const struct pm_field *fr = setup->fr;
    uint64_t exponent[LIMBS];
    memcpy(exponent, fr->modulus, sizeof exponent);
    exponent[0] -= 1;
    for (uint32_t i = 0; i < log_order; ++i) {
        for (size_t j = 0; j < LIMBS; ++j) {
            exponent[j] = exponent[j] >> 1 | (j + 1 < LIMBS ? exponent[j + 1] << 63 : 0);
        }
    }
    struct scalar r = scalar_from_u64(fr, setup->generator);
    fr->pow(r.limb, r.limb, exponent, LIMBS);
    return r;
}

/* L_k(x) = (x^n - 1) / n * w^k / (x - w^k) on the domain of n = 2^log_n points. */
static struct scalar lagrange_at(const struct setup *setup, uint32_t log_n, uint64_t k,
                                 const struct scalar *x) {
    const struct pm_field *fr = setup->fr;
    const struct scalar one = scalar_from_u64(fr, 1);
    const uint64_t n[1] = {UINT64_C(1) << log_n}, exponent[1] = {k};
    struct scalar w = root_of_unity(setup, log_n), numerator, denominator;
    fr->pow(w.limb, w.limb, exponent, 1);
    fr->pow(numerator.limb, x->limb, n, 1);
    fr->sub(numerator.limb, numerator.limb, one.limb);
    fr->mul(numerator.limb, numerator.limb, w.limb);
    fr->sub(denominator.limb, x->limb, w.limb);
    const struct scalar size = scalar_from_u64(fr, n[0]);
    fr->mul(denominator.limb, denominator.limb, size.limb);
    fr->inv(denominator.limb, denominator.limb);
    fr->mul(numerator.limb, numerator.limb, denominator.limb);
    return numerator;
}

static void multiply_generator(const struct pm_field *fr, const struct pm_group *group,
                               const struct scalar *k, void *affine) {
    uint64_t canonical[LIMBS];
    struct pm_group_point point;
    fr->from_mont(canonical, k->limb, 1);
    group->from_affine(&point, group->generator);
    group->mul(&point, &point, canonical, LIMBS);
    group->to_affine(affine, &point);
}

/* n points k_i * generator. */
static void *query(struct setup *setup, const struct pm_group *group, const struct scalar *k,
                   size_t n) {
    uint8_t *points = keep(setup, n, group->affine_bytes);
    for (size_t i = 0; i < n; ++i) {
        multiply_generator(setup->fr, group, &k[i], points + i * group->affine_bytes);
    }
    return points;
}

static void add_entry(struct setup *setup, enum toy_matrix matrix, uint32_t row, uint32_t column,
                      const struct scalar *value) {
    struct scalar term;
    struct scalar *sum = &setup->columns[matrix][column];
    setup->fr->mul(term.limb, value->limb, setup->lagrange[row].limb);
    setup->fr->add(sum->limb, sum->limb, term.limb);
}

/* Columns at tau, and the coefficient list with the rows that bind the public signals. */
static void evaluate_columns(struct setup *setup) {
    const struct toy_circuit *circuit = setup->circuit;
    const struct pm_field *fr = setup->fr;
    const uint64_t n = UINT64_C(1) << circuit->log_n;
    setup->lagrange = allocate(n, sizeof(struct scalar));
    for (uint64_t i = 0; i < n; ++i) {
        setup->lagrange[i] = lagrange_at(setup, circuit->log_n, i, &setup->tau);
    }
    for (size_t m = 0; m < 3; ++m) {
        setup->columns[m] = allocate(circuit->n_vars, sizeof(struct scalar));
    }
    pm_coefficient *coefficients =
        keep(setup, circuit->n_entries + circuit->n_public + 1, sizeof *coefficients);
    size_t n_coefficients = 0;
    for (size_t i = 0; i < circuit->n_entries; ++i) {
        const struct toy_entry *entry = &circuit->entries[i];
        const struct scalar value = scalar_from_i64(fr, entry->value);
        add_entry(setup, entry->matrix, entry->row, entry->column, &value);
        if (entry->matrix != TOY_C) {
            pm_coefficient *coefficient = &coefficients[n_coefficients++];
            *coefficient = (pm_coefficient){.matrix = entry->matrix == TOY_B,
                                            .constraint = entry->row,
                                            .signal = entry->column};
            fr->from_mont(coefficient->value, value.limb, 1);
        }
    }
    const struct scalar one = scalar_from_u64(fr, 1);
    for (uint32_t s = 0; s <= circuit->n_public; ++s) {
        add_entry(setup, TOY_A, circuit->n_rows + s, s, &one);
        coefficients[n_coefficients++] = (pm_coefficient){
            .matrix = 0, .constraint = circuit->n_rows + s, .signal = s, .value = {1}};
    }
    setup->key->arrays.coefficients = coefficients;
    setup->key->arrays.n_coefficients = n_coefficients;
}

/* (beta A_j + alpha B_j + C_j) / divisor for the columns first .. first + n - 1. */
static void *combined_query(struct setup *setup, uint32_t first, uint32_t n,
                            const struct scalar *divisor) {
    const struct pm_field *fr = setup->fr;
    struct scalar *k = allocate(n, sizeof *k), inverse;
    fr->inv(inverse.limb, divisor->limb);
    for (uint32_t i = 0; i < n; ++i) {
        struct scalar beta_a, alpha_b;
        fr->mul(beta_a.limb, setup->beta.limb, setup->columns[TOY_A][first + i].limb);
        fr->mul(alpha_b.limb, setup->alpha.limb, setup->columns[TOY_B][first + i].limb);
        fr->add(k[i].limb, beta_a.limb, alpha_b.limb);
        fr->add(k[i].limb, k[i].limb, setup->columns[TOY_C][first + i].limb);
        fr->mul(k[i].limb, k[i].limb, inverse.limb);
    }
    void *points = query(setup, setup->curve->g1, k, n);
    free(k);
    return points;
}

/* L^(2n)_(2i+1)(tau) / delta. */
static void *h_query(struct setup *setup) {
    const struct pm_field *fr = setup->fr;
    const uint64_t n = UINT64_C(1) << setup->circuit->log_n;
    struct scalar *k = allocate(n, sizeof *k), inverse;
    fr->inv(inverse.limb, setup->delta.limb);
    for (uint64_t i = 0; i < n; ++i) {
        k[i] = lagrange_at(setup, setup->circuit->log_n + 1, 2 * i + 1, &setup->tau);
        fr->mul(k[i].limb, k[i].limb, inverse.limb);
    }
    void *points = query(setup, setup->curve->g1, k, n);
    free(k);
    return points;
}

void toy_setup(const struct toy_circuit *circuit, uint64_t seed, struct toy_key *key) {
    const struct pm_field *fr = pm_field_fr(circuit->curve, PM_BODY_PORTABLE);
    struct toy_secrets secrets;
    uint64_t *const all[5] = {secrets.tau, secrets.alpha, secrets.beta, secrets.gamma,
                              secrets.delta};
    for (size_t i = 0; i < 5; ++i) {
        const struct scalar secret = scalar_from_seed(fr, &seed);
        memcpy(all[i], secret.limb, sizeof secret.limb);
    }
    toy_setup_from_secrets(circuit, &secrets, 5, key);
}

void toy_setup_from_secrets(const struct toy_circuit *circuit, const struct toy_secrets *secrets,
                            uint64_t generator, struct toy_key *key) {
    memset(key, 0, sizeof *key);
    struct setup setup = {.circuit = circuit,
                          .curve = pm_curve_get(circuit->curve, PM_BODY_PORTABLE),
                          .fr = pm_field_fr(circuit->curve, PM_BODY_PORTABLE),
                          .key = key,
                          .generator = generator};
    memcpy(setup.tau.limb, secrets->tau, sizeof setup.tau);
    memcpy(setup.alpha.limb, secrets->alpha, sizeof setup.alpha);
    memcpy(setup.beta.limb, secrets->beta, sizeof setup.beta);
    memcpy(setup.gamma.limb, secrets->gamma, sizeof setup.gamma);
    memcpy(setup.delta.limb, secrets->delta, sizeof setup.delta);
    pm_key_arrays *arrays = &key->arrays;
    *arrays = (pm_key_arrays){.struct_bytes = sizeof *arrays,
                              .curve = (uint32_t)circuit->curve,
                              .form = PM_POINT_MONTGOMERY_LE,
                              .log_n = circuit->log_n,
                              .n_vars = circuit->n_vars,
                              .n_public = circuit->n_public};
    evaluate_columns(&setup);

    const struct pm_group *g1 = setup.curve->g1, *g2 = setup.curve->g2;
    const struct scalar secrets_g1[3] = {setup.alpha, setup.beta, setup.delta};
    const struct scalar secrets_g2[3] = {setup.beta, setup.gamma, setup.delta};
    uint8_t *points = query(&setup, g1, secrets_g1, 3);
    arrays->alpha_g1 = points;
    arrays->beta_g1 = points + g1->affine_bytes;
    arrays->delta_g1 = points + 2 * (size_t)g1->affine_bytes;
    points = query(&setup, g2, secrets_g2, 3);
    arrays->beta_g2 = points;
    arrays->gamma_g2 = points + g2->affine_bytes;
    arrays->delta_g2 = points + 2 * (size_t)g2->affine_bytes;
    const uint32_t n_ic = circuit->n_public + 1;
    arrays->ic = combined_query(&setup, 0, n_ic, &setup.gamma);
    arrays->c = combined_query(&setup, n_ic, circuit->n_vars - n_ic, &setup.delta);
    arrays->a = query(&setup, g1, setup.columns[TOY_A], circuit->n_vars);
    arrays->b1 = query(&setup, g1, setup.columns[TOY_B], circuit->n_vars);
    arrays->b2 = query(&setup, g2, setup.columns[TOY_B], circuit->n_vars);
    arrays->h = h_query(&setup);
    for (size_t m = 0; m < 3; ++m) {
        free(setup.columns[m]);
    }
    free(setup.lagrange);
}

void toy_key_free(struct toy_key *key) {
    for (size_t i = 0; i < key->n_owned; ++i) {
        free(key->owned[i]);
    }
    memset(key, 0, sizeof *key);
}
