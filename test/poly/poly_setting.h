/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the tests of src/poly share: both curves in every body that this CPU runs, vectors of
 * scalars, and the roots of unity by their definition. */
#ifndef PM_TEST_POLY_SETTING_H
#define PM_TEST_POLY_SETTING_H

#include "ff/field.h"
#include "poly/poly.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 4 /* of a scalar, both curves */

static struct seeded_random entropy;

struct instance {
    const struct pm_poly *poly;
    const struct pm_field *fr;
    uint64_t generators[2]; /* of the roots, by enum pm_root */
};

/* Calls check for every curve and body. */
static inline void for_each_instance(void (*check)(const struct instance *instance)) {
    for (int curve = PM_CURVE_BN254; curve <= PM_CURVE_BLS12_381; curve++) {
        for (int body = 0; body < PM_BODY_COUNT; body++) {
            struct instance instance = {.poly = pm_poly_get((pm_curve_id)curve, (enum pm_body)body),
                                        .fr = pm_field_fr((pm_curve_id)curve, (enum pm_body)body),
                                        .generators = {5, curve == PM_CURVE_BN254 ? 5 : 7}};
            if (instance.poly != NULL) {
                check(&instance);
            }
        }
    }
}

/* ---------------------------------------------------------------- small tools */

static inline uint64_t *new_vector(uint64_t n) {
    void *vector = NULL;
    assert_int_equal(
        pm_memory_alloc_array(NULL, "test vector", n, PM_FR_BYTES, PM_MEMORY_PLAIN, &vector, NULL),
        PM_OK);
    return vector;
}

static inline void random_scalar(const struct pm_field *fr, uint64_t *r) {
    uint64_t wide[8];
    for (int i = 0; i < 8; i++) {
        wide[i] = seeded_random_u64(&entropy);
    }
    fr->reduce_wide(r, wide);
}

static inline uint64_t *random_vector(const struct pm_field *fr, uint64_t n) {
    uint64_t *vector = new_vector(n);
    for (uint64_t i = 0; i < n; i++) {
        random_scalar(fr, vector + i * WORDS);
    }
    return vector;
}

static inline uint64_t *copy_vector(const uint64_t *from, uint64_t n) {
    uint64_t *vector = new_vector(n);
    memcpy(vector, from, n * PM_FR_BYTES);
    return vector;
}

static inline void small_scalar(const struct pm_field *fr, uint64_t *r, uint64_t x) {
    const uint64_t canonical[WORDS] = {x};
    fr->to_mont(r, canonical, 1);
}

/* generator^((r - 1) / 2^log_order): the definition of the root, from the modulus alone. */
static inline void root_of_order(const struct instance *instance, enum pm_root root,
                                 uint32_t log_order, uint64_t *w) {
    uint64_t exponent[WORDS], generator[WORDS];
    memcpy(exponent, instance->fr->modulus, sizeof exponent);
    exponent[0] -= 1; /* r is odd */
    for (uint32_t i = 0; i < log_order; i++) {
        assert_int_equal(exponent[0] & 1, 0);
        for (int k = 0; k < WORDS; k++) {
            exponent[k] = exponent[k] >> 1 | (k + 1 < WORDS ? exponent[k + 1] << 63 : 0);
        }
    }
    small_scalar(instance->fr, generator, instance->generators[root]);
    instance->fr->pow(w, generator, exponent, WORDS);
}

/* Horner. */
static inline void evaluate(const struct pm_field *fr, uint64_t *r, const uint64_t *coefficients,
                            uint64_t n, const uint64_t *x) {
    uint64_t sum[WORDS] = {0};
    for (uint64_t j = n; j-- > 0;) {
        fr->mul(sum, sum, x);
        fr->add(sum, sum, coefficients + j * WORDS);
    }
    memcpy(r, sum, sizeof sum);
}

/* values[i] = p(shift w^i) for the polynomial p of n coefficients: for each i where there are few,
 * for some of them else. */
static inline void assert_values_on(const struct pm_field *fr, const uint64_t *values,
                                    const uint64_t *coefficients, uint64_t n, const uint64_t *shift,
                                    const uint64_t *w) {
    const uint64_t n_samples = n <= 64 ? n : 8;
    for (uint64_t sample = 0; sample < n_samples; sample++) {
        const uint64_t i = n <= 64 ? sample : seeded_random_below(&entropy, n);
        uint64_t x[WORDS], expected[WORDS];
        fr->pow(x, w, &i, 1);
        fr->mul(x, x, shift);
        evaluate(fr, expected, coefficients, n, x);
        assert_memory_equal(values + i * WORDS, expected, sizeof expected);
    }
}

static inline struct pm_domain new_domain(const struct pm_poly *poly, uint32_t log_n,
                                          enum pm_root root, struct pm_team *team) {
    struct pm_domain domain;
    assert_int_equal(pm_domain_create(poly, log_n, root, team, NULL, &domain, NULL), PM_OK);
    return domain;
}

static inline struct pm_team *new_team(uint32_t threads) {
    struct pm_team *team = NULL;
    assert_int_equal(pm_team_create(threads, &team, NULL), PM_OK);
    return team;
}

static inline void assert_vectors_equal(const uint64_t *a, const uint64_t *b, uint64_t n) {
    assert_memory_equal(a, b, n * PM_FR_BYTES);
}

#endif
