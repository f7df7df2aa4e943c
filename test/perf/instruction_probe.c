/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What check_instructions.py counts the instructions of: each counted_*() is called once, on one
 * thread, in portable arithmetic, with data that follow from constants alone. A proof is made with
 * given r and s; of it the steps are counted, which are functions with names of their own.
 *
 *   instruction_probe bn254|bls12_381 ZKEY WTNS
 */
#include "api/api_internal.h"
#include "base/memory.h"
#include "curve/curve.h"
#include "msm/msm.h"
#include "poly/poly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Has a name in the symbol table. */
#define COUNTED static __attribute__((noinline))

enum { FIELD_ROUNDS = 1000, NTT_LOG_N = 11, MSM_POINTS_G1 = 1024, MSM_POINTS_G2 = 256 };

struct probe {
    const struct pm_curve *curve;
    const struct pm_poly *poly;
    const struct pm_msm *msm;
    struct pm_domain domain;
    uint8_t *vector, *points_g1, *points_g2, *scalars, *scratch;
    struct pm_group_point sum;
};

static void need(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        (void)fprintf(stderr, "instruction_probe: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

static void *reserve(size_t bytes) {
    void *memory = NULL;
    pm_error error = PM_ERROR_INIT;
    need(pm_memory_alloc(NULL, "probe", bytes, PM_MEMORY_PLAIN, &memory, &error), &error);
    return memory;
}

/* Scalars below both orders: Weyl's sequence, mixed (D. Steele et al., "Fast splittable
 * pseudorandom number generators", 2014). */
static void fill_scalars(uint8_t *out, size_t n) {
    uint64_t state = 1;
    for (size_t i = 0; i < n * PM_FR_BYTES / 8; i++) {
        uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        x >>= i % 4 == 3 ? 3 : 0;
        memcpy(out + 8 * i, &x, sizeof x);
    }
}

/* The generator's multiples 1, 2, 3, ... */
static void fill_points(const struct pm_group *group, uint8_t *out, size_t n) {
    struct pm_group_point point;
    group->set_infinity(&point);
    for (size_t i = 0; i < n; i++) {
        group->add_affine(&point, &point, group->generator);
        group->to_affine(out + i * group->affine_bytes, &point);
    }
}

static void run_field(const struct pm_field *field) {
    uint64_t x[PM_FP_LIMBS_MAX], y[PM_FP_LIMBS_MAX];
    memcpy(x, field->one, field->bytes);
    field->add(x, x, x);
    field->inv(y, x);
    for (int i = 0; i < FIELD_ROUNDS; i++) {
        field->mul(y, y, x);
        field->sqr(x, x);
        field->add(x, x, y);
        field->sub(y, y, x);
    }
}

COUNTED void counted_field_fr(const struct probe *probe) {
    run_field(probe->curve->fr);
}

COUNTED void counted_field_fp(const struct probe *probe) {
    run_field(probe->curve->fp);
}

COUNTED void counted_ntt_forward(const struct probe *probe) {
    (void)probe->poly->forward(&probe->domain, probe->vector, NULL, NULL, NULL);
}

COUNTED void counted_ntt_odd_coset(const struct probe *probe) {
    (void)probe->poly->to_odd_coset(&probe->domain, probe->vector, NULL, NULL, NULL);
}

COUNTED void counted_msm_g1(struct probe *probe) {
    (void)probe->msm->run(PM_MSM_G1, probe->points_g1, probe->scalars, MSM_POINTS_G1, NULL,
                          probe->scratch, NULL, &probe->sum, NULL);
}

COUNTED void counted_msm_g2(struct probe *probe) {
    (void)probe->msm->run(PM_MSM_G2, probe->points_g2, probe->scalars, MSM_POINTS_G2, NULL,
                          probe->scratch, NULL, &probe->sum, NULL);
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void run_kernels(pm_curve_id id) {
    pm_error error = PM_ERROR_INIT;
    struct probe probe = {.curve = pm_curve_get(id, PM_BODY_PORTABLE),
                          .poly = pm_poly_get(id, PM_BODY_PORTABLE),
                          .msm = pm_msm_get(id, PM_BODY_PORTABLE)};
    need(
        pm_domain_create(probe.poly, NTT_LOG_N, PM_ROOT_SNARKJS, NULL, NULL, &probe.domain, &error),
        &error);
    probe.vector = reserve((size_t)PM_FR_BYTES << NTT_LOG_N);
    probe.points_g1 = reserve(MSM_POINTS_G1 * (size_t)probe.curve->g1->affine_bytes);
    probe.points_g2 = reserve(MSM_POINTS_G2 * (size_t)probe.curve->g2->affine_bytes);
    probe.scalars = reserve(MSM_POINTS_G1 * (size_t)PM_FR_BYTES);
    probe.scratch = reserve(larger(probe.msm->bytes(PM_MSM_G1, MSM_POINTS_G1, 1),
                                   probe.msm->bytes(PM_MSM_G2, MSM_POINTS_G2, 1)));
    fill_scalars(probe.vector, (size_t)1 << NTT_LOG_N);
    fill_scalars(probe.scalars, MSM_POINTS_G1);
    fill_points(probe.curve->g1, probe.points_g1, MSM_POINTS_G1);
    fill_points(probe.curve->g2, probe.points_g2, MSM_POINTS_G2);
    counted_field_fr(&probe);
    counted_field_fp(&probe);
    counted_ntt_forward(&probe);
    counted_ntt_odd_coset(&probe);
    counted_msm_g1(&probe);
    counted_msm_g2(&probe);
    pm_memory_free(probe.vector);
    pm_memory_free(probe.points_g1);
    pm_memory_free(probe.points_g2);
    pm_memory_free(probe.scalars);
    pm_memory_free(probe.scratch);
    pm_domain_destroy(&probe.domain);
}

/* The same bits of r and s on each run. */
COUNTED void counted_proof(const char *zkey, const char *wtns) {
    static const struct pm_blinding blinding = {.r = {UINT64_C(0x123456789abcdef0), 7, 11, 13},
                                                .s = {UINT64_C(0xfedcba9876543210), 17, 19, 23}};
    const pm_context_options options = {.struct_bytes = (uint32_t)sizeof options,
                                        .threads = 1,
                                        .arithmetic = PM_ARITHMETIC_PORTABLE};
    pm_context *context = NULL;
    pm_key *key = NULL;
    pm_witness *witness = NULL;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    pm_error error = PM_ERROR_INIT;
    need(pm_context_create(&options, &context, &error), &error);
    need(pm_key_open(context, zkey, NULL, NULL, &key, &error), &error);
    need(pm_witness_open(context, wtns, NULL, &witness, &error), &error);
    need(pm_prove_with_blinding(context, key, witness, &blinding, NULL, NULL, &proof, NULL, &error),
         &error);
    pm_witness_destroy(witness);
    pm_key_destroy(key);
    pm_context_destroy(context);
}

int main(int n, char **arguments) {
    if (n != 4 || (strcmp(arguments[1], "bn254") != 0 && strcmp(arguments[1], "bls12_381") != 0)) {
        (void)fprintf(stderr, "usage: instruction_probe bn254|bls12_381 ZKEY WTNS\n");
        return 2;
    }
    run_kernels(pm_curve_from_name(arguments[1]));
    counted_proof(arguments[2], arguments[3]);
    return EXIT_SUCCESS;
}
