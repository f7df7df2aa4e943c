/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as the parts of a proving key: they are refused, or the key has the facts it was
 * made with, and checking it and proving with it end with a status. The input is six bytes of
 * sizes, the points in the order of pm_key_arrays, and the coefficients.
 */
#include "fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

enum { ALPHA, BETA1, DELTA1, BETA2, GAMMA2, DELTA2, IC, A, B1, B2, C, H, N_ARRAYS };

struct parts {
    pm_key_arrays arrays;
    uint8_t *points[N_ARRAYS];
    pm_coefficient *coefficients;
};

static void take_points(struct fuzz_reader *reader, struct parts *parts) {
    const pm_key_arrays *arrays = &parts->arrays;
    const size_t fp_bytes = pm_curve_fp_bytes((pm_curve_id)arrays->curve);
    const size_t n_vars = arrays->n_vars, n_ic = (size_t)arrays->n_public + 1;
    /* In G1 points: one of G2 is two. */
    const size_t n_points[N_ARRAYS] = {1,
                                       1,
                                       1,
                                       2,
                                       2,
                                       2,
                                       n_ic,
                                       n_vars,
                                       n_vars,
                                       2 * n_vars,
                                       n_vars > n_ic ? n_vars - n_ic : 0,
                                       (size_t)1 << (arrays->log_n < 4 ? arrays->log_n : 0)};
    for (size_t i = 0; i < N_ARRAYS; ++i) {
        parts->points[i] = fuzz_take_array(reader, n_points[i] * 2 * fp_bytes);
    }
}

static void take_coefficients(struct fuzz_reader *reader, struct parts *parts) {
    const size_t n = parts->arrays.n_coefficients;
    parts->coefficients = calloc(n + 1, sizeof *parts->coefficients);
    FUZZ_REQUIRE(parts->coefficients != NULL);
    for (size_t i = 0; i < n; ++i) {
        pm_coefficient *coefficient = &parts->coefficients[i];
        coefficient->matrix = fuzz_take_u8(reader);
        coefficient->constraint = fuzz_take_u8(reader);
        coefficient->signal = fuzz_take_u8(reader);
        fuzz_take(reader, coefficient->value, PM_FR_BYTES);
    }
}

static void take_parts(struct fuzz_reader *reader, struct parts *parts) {
    pm_key_arrays *arrays = &parts->arrays;
    *arrays = (pm_key_arrays){.struct_bytes = sizeof *arrays};
    arrays->curve = (uint32_t)fuzz_take_curve(reader);
    arrays->form = fuzz_take_u8(reader) % 6;
    const uint8_t log_n = fuzz_take_u8(reader);
    arrays->log_n = log_n < 0xf0 ? log_n % 4 : PM_FR_BYTES + log_n % 4;
    arrays->n_vars = fuzz_take_u8(reader) % 8;
    arrays->n_public = fuzz_take_u8(reader) % 8;
    arrays->n_coefficients = fuzz_take_u8(reader) % 16;
    take_points(reader, parts);
    take_coefficients(reader, parts);
    arrays->alpha_g1 = parts->points[ALPHA];
    arrays->beta_g1 = parts->points[BETA1];
    arrays->delta_g1 = parts->points[DELTA1];
    arrays->beta_g2 = parts->points[BETA2];
    arrays->gamma_g2 = parts->points[GAMMA2];
    arrays->delta_g2 = parts->points[DELTA2];
    arrays->ic = parts->points[IC];
    arrays->a = parts->points[A];
    arrays->b1 = parts->points[B1];
    arrays->b2 = parts->points[B2];
    arrays->c = parts->points[C];
    arrays->h = parts->points[H];
    arrays->coefficients = parts->coefficients;
}

static void use_key(const pm_key *key, const pm_key_arrays *arrays) {
    pm_context *context = fuzz_context();
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    uint8_t values[8][PM_FR_BYTES] = {{1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}};
    pm_witness *witness = NULL;
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(pm_key_get_facts(key, &facts) == PM_OK);
    FUZZ_REQUIRE(facts.curve == arrays->curve && facts.log_n == arrays->log_n);
    FUZZ_REQUIRE(facts.n_vars == arrays->n_vars && facts.n_public == arrays->n_public);
    FUZZ_REQUIRE(facts.n_coefficients == arrays->n_coefficients && facts.has_ic == 1);
    (void)fuzz_succeeded(pm_key_check(context, key, NULL, &error), &error);
    FUZZ_REQUIRE(pm_witness_from_values(context, (pm_curve_id)facts.curve, values, facts.n_vars,
                                        NULL, &witness, NULL) == PM_OK);
    error = (pm_error)PM_ERROR_INIT;
    const pm_status status = pm_prove(context, key, witness, NULL, NULL, &proof, NULL, &error);
    FUZZ_REQUIRE(fuzz_succeeded(status, &error) || status == PM_SELF_VERIFY ||
                 fuzz_is_point_fault(status));
    pm_witness_destroy(witness);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct fuzz_reader reader = {bytes, n_bytes};
    struct parts parts;
    pm_key *key = NULL;
    pm_error error = PM_ERROR_INIT;
    take_parts(&reader, &parts);
    if (fuzz_succeeded(pm_key_from_arrays(fuzz_context(), &parts.arrays, NULL, &key, &error),
                       &error)) {
        use_key(key, &parts.arrays);
    } else {
        FUZZ_REQUIRE(key == NULL);
    }
    pm_key_destroy(key);
    for (size_t i = 0; i < N_ARRAYS; ++i) {
        free(parts.points[i]);
    }
    free(parts.coefficients);
    return 0;
}
