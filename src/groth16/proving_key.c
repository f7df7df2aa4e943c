/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/proving_key.h"

#include "base/limits.h"

void pm_proving_key_destroy(struct pm_proving_key *key) {
    pm_domain_destroy(&key->domain);
    for (int matrix = 0; matrix < 3; ++matrix) {
        pm_sparse_destroy(&key->sparse[matrix]);
    }
    pm_density_destroy(&key->a_density);
    pm_density_destroy(&key->b_density);
    for (int part = 0; part < PM_PARAMS_PARTS; ++part) {
        pm_memory_free(key->decoded[part]);
    }
    *key = (struct pm_proving_key){0};
}

void pm_proving_key_sizes(const struct pm_proving_key *key, struct pm_plan_sizes *sizes) {
    const bool compact = key->reduction == PM_REDUCTION_BELLMAN;
    *sizes = (struct pm_plan_sizes){
        .curve = key->header.curve,
        .reduction = key->reduction,
        .log_n = key->log_n,
        .n_vars = key->n_vars,
        .n_inputs = key->n_inputs,
        .n_rows = key->n_rows,
        .n_a = key->a.n,
        .n_b = compact ? key->b2.n : key->b_density.n_set,
        .n_l = key->l.n,
        .n_h = key->h.n,
        .n_nonzeros = {key->n_nonzeros[0], key->n_nonzeros[1], key->n_nonzeros[2]},
        .n_coefficients = {key->sparse[0].n_coefficients, key->sparse[1].n_coefficients,
                           key->sparse[2].n_coefficients},
        .key_bytes = key->file_bytes,
        .key_resident_bytes = key->resident_bytes,
        .rows_sorted = key->matrices == PM_KEY_MATRICES_SPARSE ||
                       (key->matrices == PM_KEY_MATRICES_RECORDS && key->records_sorted),
        .has_matrices = key->matrices != PM_KEY_MATRICES_NONE,
    };
}

/* ---- Densities of an assignment ---------------------------------------------------------------
 */

static pm_status check_count(const char *query, uint64_t n_points, uint64_t n_bits,
                             pm_error *error) {
    if (n_points != n_bits) {
        pm_error_set(error, PM_COUNT,
                     "the densities give the query of %s %llu points, the proving key has %llu",
                     query, (unsigned long long)n_bits, (unsigned long long)n_points);
        pm_error_need_have(error, n_points, n_bits);
        return PM_COUNT;
    }
    return PM_OK;
}

pm_status pm_proving_key_with_densities(const struct pm_proving_key *key,
                                        const uint64_t *a_aux_words, const uint64_t *b_input_words,
                                        const uint64_t *b_aux_words, struct pm_ledger *ledger,
                                        struct pm_proving_key *with, pm_error *error) {
    const uint64_t n_aux = key->n_vars - key->n_inputs;
    PM_FAIL_IF(b_input_words == NULL || (n_aux > 0 && (a_aux_words == NULL || b_aux_words == NULL)),
               error, PM_INVALID_ARGUMENT,
               "the proving key has no matrices, so it needs the three densities of the "
               "assignment, and one is NULL");
    pm_status status;
    *with = *key;
    with->a_density = with->b_density = (struct pm_density){0};
    PM_TRY_GOTO(status,
                pm_density_create(key->n_vars, "the density of A", ledger, &with->a_density, error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_density_create(key->n_vars, "the density of B", ledger, &with->b_density, error),
                cleanup);
    for (uint64_t i = 0; i < key->n_inputs; ++i) {
        pm_density_set(&with->a_density, i);
    }
    pm_density_set_words(&with->a_density, key->n_inputs, n_aux, a_aux_words);
    pm_density_set_words(&with->b_density, 0, key->n_inputs, b_input_words);
    pm_density_set_words(&with->b_density, key->n_inputs, n_aux, b_aux_words);
    pm_density_count(&with->a_density);
    pm_density_count(&with->b_density);
    PM_TRY_GOTO(status, check_count("A", key->a.n, with->a_density.n_set, error), cleanup);
    PM_TRY_GOTO(status, check_count("B", key->b2.n, with->b_density.n_set, error), cleanup);
cleanup:
    if (status != PM_OK) {
        pm_proving_key_forget_densities(with);
    }
    return status;
}

void pm_proving_key_forget_densities(struct pm_proving_key *with) {
    pm_density_destroy(&with->a_density);
    pm_density_destroy(&with->b_density);
}
