/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A proving key of the snarkjs reduction: everything is read where it lies in the .zkey. */
#include "groth16/proving_key.h"

/* Variables a word of the density. */
#define WORD_BITS 64u

struct finite_scan {
    const struct pm_group *group;
    const uint8_t *points;
    struct pm_density *density;
    uint64_t first_word;
};

static void find_finite(void *argument, size_t begin, size_t end) {
    const struct finite_scan *scan = argument;
    for (uint64_t word = scan->first_word + begin; word < scan->first_word + end; ++word) {
        const uint64_t first = word * WORD_BITS, left = scan->density->n - first;
        const uint64_t n = left < WORD_BITS ? left : WORD_BITS;
        uint64_t bits = 0;
        for (uint64_t i = 0; i < n; ++i) {
            const uint8_t *point = scan->points + (first + i) * scan->group->affine_bytes;
            bits |= (uint64_t)!scan->group->affine_is_infinity(point) << i;
        }
        scan->density->words[word] = bits;
    }
}

/* Which variables have a point in B2, so that a proof can keep just their scalars. Window by
 * window, so that no more than one of them is resident at a time. */
static pm_status find_b_density(const struct pm_zkey *zkey, const struct pm_kernels *kernels,
                                struct pm_ledger *ledger, const pm_control *control,
                                struct pm_density *density, pm_error *error) {
    const struct pm_group *g2 = kernels->curve->g2;
    const uint64_t n_vars = zkey->parts.n_vars;
    const uint64_t words = (n_vars + WORD_BITS - 1) / WORD_BITS;
    const uint64_t window = PM_KEY_WINDOW_BYTES / g2->affine_bytes / WORD_BITS;
    PM_TRY(pm_density_create(n_vars, "the density of B", ledger, density, error));
    struct finite_scan scan = {.group = g2, .points = zkey->parts.b2, .density = density};
    for (; scan.first_word < words; scan.first_word += window) {
        PM_TRY(pm_control_check(control, error));
        const uint64_t left = words - scan.first_word, n = left < window ? left : window;
        pm_team_for(kernels->team, n, WORD_BITS, find_finite, &scan);
        const uint64_t first = scan.first_word * WORD_BITS, points_left = n_vars - first;
        const uint64_t n_points = n * WORD_BITS < points_left ? n * WORD_BITS : points_left;
        pm_mapping_release_range(zkey->container.mapping, scan.points + first * g2->affine_bytes,
                                 n_points * g2->affine_bytes);
    }
    pm_density_count(density);
    return pm_mapping_check(zkey->container.mapping, error);
}

static void take_parts(const struct pm_zkey *zkey, struct pm_proving_key *key) {
    const struct pm_key_parts *parts = &zkey->parts;
    const uint64_t n_vars = parts->n_vars, n_inputs = (uint64_t)parts->n_public + 1;
    *key = (struct pm_proving_key){
        .header = {.curve = parts->curve,
                   .n_public = parts->n_public,
                   .alpha_g1 = parts->alpha_g1,
                   .beta_g1 = parts->beta_g1,
                   .delta_g1 = parts->delta_g1,
                   .beta_g2 = parts->beta_g2,
                   .gamma_g2 = parts->gamma_g2,
                   .delta_g2 = parts->delta_g2,
                   .ic = parts->ic},
        .reduction = PM_REDUCTION_SNARKJS,
        .log_n = parts->log_n,
        .n_vars = n_vars,
        .n_inputs = n_inputs,
        .n_rows = zkey->n_rows,
        .a = {.points = parts->a, .n = n_vars},
        .b1 = {.points = parts->b1, .n = n_vars},
        .b2 = {.points = parts->b2, .n = n_vars},
        .l = {.points = parts->c, .n = n_vars - n_inputs},
        .h = {.points = parts->h, .n = UINT64_C(1) << parts->log_n},
        .matrices = PM_KEY_MATRICES_RECORDS,
        .records = parts->coefficients,
        .n_records = parts->n_coefficients,
        .n_nonzeros = {zkey->n_of_a, parts->n_coefficients - zkey->n_of_a, 0},
        .records_sorted = parts->coefficients_sorted,
        .mapping = zkey->container.mapping,
        .file_bytes = zkey->container.mapping->n_bytes,
    };
}

pm_status pm_proving_key_from_zkey(const struct pm_zkey *zkey, const struct pm_kernels *kernels,
                                   struct pm_ledger *ledger, const pm_control *control,
                                   struct pm_proving_key *key, pm_error *error) {
    pm_status status;
    take_parts(zkey, key);
    PM_TRY_GOTO(status, find_b_density(zkey, kernels, ledger, control, &key->b_density, error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_domain_create(kernels->poly, key->log_n, PM_ROOT_SNARKJS, kernels->team, ledger,
                                 &key->domain, error),
                cleanup);
    key->resident_bytes = pm_ledger_live_bytes(ledger);
cleanup:
    if (status != PM_OK) {
        pm_proving_key_destroy(key);
    }
    return status;
}
