/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/known_ptau.h"

#include "base/memory.h"
#include "curve/curve.h"
#include "io/output_map.h"
#include "msm/fixed_base.h"
#include "par/team.h"
#include "poly/poly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER_HEADER_BYTES 12u
#define SECTION_HEADER_BYTES 12u

struct maker {
    const struct pm_curve *curve;
    const struct pm_fixed_base *fixed;
    const struct pm_poly *poly;
    struct pm_team *team;
    uint32_t power;
    uint64_t tau[4], alpha[4], beta[4]; /* Montgomery */
    void *table[2];                     /* by group */
    void *scratch[2];
    uint32_t window_bits;
    struct pm_output_map map;
    uint64_t at;
};

static void must(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        (void)fprintf(stderr, "known_ptau: %s\n", error->message);
        abort();
    }
}

static void *get(uint64_t bytes) {
    pm_error error = PM_ERROR_INIT;
    void *buffer = NULL;
    must(pm_memory_alloc(NULL, "known ptau", bytes, PM_MEMORY_PLAIN, &buffer, &error), &error);
    return buffer;
}

static void put(struct maker *maker, const void *bytes, uint64_t n_bytes) {
    memcpy(maker->map.bytes + maker->at, bytes, n_bytes);
    maker->at += n_bytes;
}

static void put_u32(struct maker *maker, uint32_t value) {
    put(maker, &value, sizeof value);
}

static void put_section(struct maker *maker, uint32_t type, uint64_t n_bytes) {
    put_u32(maker, type);
    put(maker, &n_bytes, sizeof n_bytes);
}

/* n multiples of the generator by Montgomery scalars, which become canonical. */
static void put_points(struct maker *maker, enum pm_msm_group group, uint64_t *scalars,
                       uint64_t n) {
    const struct pm_group *points = group == PM_MSM_G1 ? maker->curve->g1 : maker->curve->g2;
    pm_error error = PM_ERROR_INIT;
    maker->curve->fr->from_mont(scalars, scalars, n);
    must(maker->fixed->multiply(group, maker->window_bits, maker->table[group], scalars, n,
                                maker->team, maker->scratch[group], NULL,
                                maker->map.bytes + maker->at, &error),
         &error);
    maker->at += n * points->affine_bytes;
}

/* scalars[i] = factor * tau^i. */
static void fill_powers(const struct maker *maker, uint64_t *scalars, const uint64_t *factor,
                        uint64_t n) {
    memcpy(scalars, factor, PM_FR_BYTES);
    for (uint64_t i = 1; i < n; ++i) {
        maker->curve->fr->mul(scalars + 4 * i, scalars + 4 * (i - 1), maker->tau);
    }
}

static void put_powers(struct maker *maker, uint32_t type, enum pm_msm_group group,
                       const uint64_t *factor, uint64_t n) {
    const struct pm_group *points = group == PM_MSM_G1 ? maker->curve->g1 : maker->curve->g2;
    uint64_t *scalars = get(n * PM_FR_BYTES);
    put_section(maker, type, n * points->affine_bytes);
    fill_powers(maker, scalars, factor, n);
    put_points(maker, group, scalars, n);
    pm_memory_free(scalars);
}

/* Bases of sizes 1 to 2^last. The inverse transform of the powers of tau is the Lagrange basis at
 * tau; in the largest basis of section 12 the highest power, which the ceremony does not have,
 * counts as zero. */
static void put_bases(struct maker *maker, uint32_t type, enum pm_msm_group group,
                      const uint64_t *factor, uint32_t last) {
    const struct pm_group *points = group == PM_MSM_G1 ? maker->curve->g1 : maker->curve->g2;
    pm_error error = PM_ERROR_INIT;
    uint64_t *scalars = get((UINT64_C(1) << last) * PM_FR_BYTES);
    put_section(maker, type, ((UINT64_C(2) << last) - 1) * points->affine_bytes);
    for (uint32_t p = 0; p <= last; ++p) {
        const uint64_t n = UINT64_C(1) << p;
        struct pm_domain domain;
        must(pm_domain_create(maker->poly, p, PM_ROOT_SNARKJS, maker->team, NULL, &domain, &error),
             &error);
        fill_powers(maker, scalars, factor, n);
        if (p > maker->power) {
            memset(scalars + 4 * (n - 1), 0, PM_FR_BYTES);
        }
        must(maker->poly->inverse(&domain, scalars, maker->team, NULL, &error), &error);
        put_points(maker, group, scalars, n);
        pm_domain_destroy(&domain);
    }
    pm_memory_free(scalars);
}

static void put_header(struct maker *maker, uint32_t n_sections) {
    const struct pm_field *fp = maker->curve->fp;
    put(maker, "ptau", 4);
    put_u32(maker, 1);
    put_u32(maker, n_sections);
    put_section(maker, 1, 4 + fp->bytes + 8);
    put_u32(maker, fp->bytes);
    put(maker, fp->modulus, fp->bytes);
    put_u32(maker, maker->power);
    put_u32(maker, maker->power);
}

static uint64_t file_bytes(const struct maker *maker, bool prepared) {
    const uint64_t n = UINT64_C(1) << maker->power;
    const uint64_t g1 = maker->curve->g1->affine_bytes, g2 = maker->curve->g2->affine_bytes;
    const uint64_t powers = (2 * n - 1 + 2 * n) * g1 + (n + 1) * g2;
    const uint64_t bases = (4 * n - 1 + 2 * (2 * n - 1)) * g1 + (2 * n - 1) * g2;
    return CONTAINER_HEADER_BYTES + (prepared ? 11 : 7) * SECTION_HEADER_BYTES + 4 +
           maker->curve->fp->bytes + 8 + powers + 4 + (prepared ? bases : 0);
}

static void make_tables(struct maker *maker) {
    const struct pm_group *groups[2] = {maker->curve->g1, maker->curve->g2};
    const uint32_t threads = pm_team_threads(maker->team);
    maker->window_bits = maker->fixed->window_bits(PM_MSM_G1, UINT64_C(4) << maker->power);
    for (int i = 0; i < 2; ++i) {
        const enum pm_msm_group group = i == 0 ? PM_MSM_G1 : PM_MSM_G2;
        maker->table[i] = get(maker->fixed->table_bytes(group, maker->window_bits));
        maker->scratch[i] = get(maker->fixed->scratch_bytes(group, threads));
        maker->fixed->fill_table(group, maker->window_bits, groups[i]->generator, maker->team,
                                 maker->table[i]);
    }
}

static void put_sections(struct maker *maker, bool prepared) {
    const uint64_t n = UINT64_C(1) << maker->power;
    const uint64_t *one = maker->curve->fr->one;
    put_header(maker, prepared ? 11 : 7);
    put_powers(maker, 2, PM_MSM_G1, one, 2 * n - 1);
    put_powers(maker, 3, PM_MSM_G2, one, n);
    put_powers(maker, 4, PM_MSM_G1, maker->alpha, n);
    put_powers(maker, 5, PM_MSM_G1, maker->beta, n);
    put_powers(maker, 6, PM_MSM_G2, maker->beta, 1);
    put_section(maker, 7, 4);
    put_u32(maker, 0);
    if (prepared) {
        put_bases(maker, 12, PM_MSM_G1, one, maker->power + 1);
        put_bases(maker, 13, PM_MSM_G2, one, maker->power);
        put_bases(maker, 14, PM_MSM_G1, maker->alpha, maker->power);
        put_bases(maker, 15, PM_MSM_G1, maker->beta, maker->power);
    }
}

static void set_secret(const struct maker *maker, uint64_t *secret, uint64_t seed) {
    const uint64_t wide[8] = {seed, ~seed, seed * 3, seed << 32, 5, seed, 7, seed * seed};
    maker->curve->fr->reduce_wide(secret, wide);
}

void known_ptau_write(const char *path, pm_curve_id curve, uint32_t power, bool prepared,
                      uint32_t threads) {
    pm_error error = PM_ERROR_INIT;
    const enum pm_body body = pm_cpu_best_body();
    struct maker maker = {.curve = pm_curve_get(curve, body),
                          .fixed = pm_fixed_base_get(curve, body),
                          .poly = pm_poly_get(curve, body),
                          .power = power};
    must(pm_team_create(threads, &maker.team, &error), &error);
    set_secret(&maker, maker.tau, 1234567);
    set_secret(&maker, maker.alpha, 7654321);
    set_secret(&maker, maker.beta, 1111111);
    make_tables(&maker);
    must(pm_output_map_create(path, file_bytes(&maker, prepared), &maker.map, &error), &error);
    put_sections(&maker, prepared);
    must(maker.at == maker.map.n_bytes ? PM_OK : pm_error_set(&error, PM_INTERNAL, "wrong size"),
         &error);
    must(pm_output_map_commit(&maker.map, &error), &error);
    for (int i = 0; i < 2; ++i) {
        pm_memory_free(maker.table[i]);
        pm_memory_free(maker.scratch[i]);
    }
    pm_team_destroy(maker.team);
}
