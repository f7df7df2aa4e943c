/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan_sizes.h"

#include "msm/msm.h"
#include "poly/poly.h"

/* ---------------------------------------------------------------------------------------------
 * Sense
 * ------------------------------------------------------------------------------------------- */

static pm_status check_domain(const struct pm_plan_sizes *sizes, pm_error *error) {
    const struct pm_poly *poly = pm_poly_get(sizes->curve, PM_BODY_PORTABLE);
    PM_FAIL_IF(poly == NULL, error, PM_INVALID_ARGUMENT, "there is no curve number %u",
               (unsigned)sizes->curve);
    PM_FAIL_IF(sizes->reduction != PM_REDUCTION_SNARKJS && sizes->reduction != PM_REDUCTION_BELLMAN,
               error, PM_INVALID_ARGUMENT, "there is no reduction number %u",
               (unsigned)sizes->reduction);
    /* snarkjs's odd coset takes a root of twice the order. */
    const uint32_t log_n_max = poly->log_n_max - (sizes->reduction == PM_REDUCTION_SNARKJS ? 1 : 0);
    if (sizes->log_n > log_n_max) {
        pm_error_set(error, PM_UNSUPPORTED, "a domain of 2^%u: %s has 2^%u at most here",
                     sizes->log_n, pm_curve_name(sizes->curve), log_n_max);
        pm_error_need_have(error, sizes->log_n, log_n_max);
        return PM_UNSUPPORTED;
    }
    return PM_OK;
}

pm_status pm_plan_check_sizes(const struct pm_plan_sizes *sizes, pm_error *error) {
    PM_TRY(check_domain(sizes, error));
    const uint64_t n = UINT64_C(1) << sizes->log_n;
    const struct {
        const char *what;
        uint64_t value, low, high;
    } rules[] = {{"variables", sizes->n_vars, 1, PM_PLAN_COUNT_MAX},
                 {"inputs", sizes->n_inputs, 1, sizes->n_vars},
                 {"rows", sizes->n_rows, 0, n},
                 {"points of a", sizes->n_a, 0, sizes->n_vars},
                 {"points of b", sizes->n_b, 0, sizes->n_vars},
                 {"points of l", sizes->n_l, 0, sizes->n_vars - sizes->n_inputs},
                 {"points of h", sizes->n_h, 0, n},
                 {"non-zeros of A", sizes->n_nonzeros[0], 0, PM_PLAN_COUNT_MAX},
                 {"non-zeros of B", sizes->n_nonzeros[1], 0, PM_PLAN_COUNT_MAX},
                 {"non-zeros of C", sizes->n_nonzeros[2], 0, PM_PLAN_COUNT_MAX},
                 {"bytes of key", sizes->key_bytes, 0, PM_PLAN_BYTES_MAX},
                 {"bytes beside the key", sizes->key_resident_bytes, 0, PM_PLAN_BYTES_MAX}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].value < rules[i].low || rules[i].value > rules[i].high) {
            pm_error_set(error, PM_INVALID_ARGUMENT, "%llu %s: there must be %llu to %llu",
                         (unsigned long long)rules[i].value, rules[i].what,
                         (unsigned long long)rules[i].low, (unsigned long long)rules[i].high);
            return PM_INVALID_ARGUMENT;
        }
    }
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Bytes
 * ------------------------------------------------------------------------------------------- */

static uint64_t g1_bytes(const struct pm_plan_sizes *sizes) {
    return 2 * (uint64_t)pm_curve_fp_bytes(sizes->curve);
}

uint64_t pm_plan_twiddle_bytes(const struct pm_plan_sizes *sizes) {
    return pm_poly_get(sizes->curve, PM_BODY_PORTABLE)->tables_bytes(sizes->log_n);
}

uint64_t pm_plan_point_bytes(const struct pm_plan_sizes *sizes) {
    /* snarkjs writes a point at infinity where there is none. */
    const bool compact = sizes->reduction == PM_REDUCTION_BELLMAN;
    const uint64_t n_a = compact ? sizes->n_a : sizes->n_vars;
    const uint64_t n_b = compact ? sizes->n_b : sizes->n_vars;
    return (n_a + n_b + 2 * n_b + sizes->n_l + sizes->n_h) * g1_bytes(sizes);
}

uint64_t pm_plan_density_bytes(const struct pm_plan_sizes *sizes) {
    const uint64_t bits_bytes = (sizes->n_vars + 63) / 64 * 8;
    const uint64_t n = sizes->reduction == PM_REDUCTION_BELLMAN ? 2 : 1; /* snarkjs: of B */
    return n * (bits_bytes + pm_msm_rank_bytes(sizes->n_vars));
}

/* Terms, where each row begins, and a dictionary, of whose coefficients counts do not tell: two are
 * taken to be there, 1 and -1. */
uint64_t pm_plan_matrix_bytes(const struct pm_plan_sizes *sizes) {
    const uint64_t n_terms = sizes->n_nonzeros[0] + sizes->n_nonzeros[1] + sizes->n_nonzeros[2];
    const uint64_t n_matrices = sizes->reduction == PM_REDUCTION_BELLMAN ? 3 : 2;
    if (!sizes->has_matrices || n_terms == 0) {
        return 0;
    }
    return n_terms * sizeof(struct pm_sparse_entry) +
           n_matrices * ((sizes->n_rows + 1) * sizeof(uint32_t) + 2 * PM_FR_BYTES);
}

/* doc/format_zkey.md: frame, ten sections with 12 bytes of head each, no contributions. */
static uint64_t zkey_bytes(const struct pm_plan_sizes *sizes) {
    const uint64_t fp_bytes = pm_curve_fp_bytes(sizes->curve);
    const uint64_t header_bytes = 52 + fp_bytes + 18 * fp_bytes;
    const uint64_t fixed = 12 + 10 * 12 + 4 + header_bytes + 4 + (64 + 4);
    const uint64_t n_records = sizes->n_nonzeros[0] + sizes->n_nonzeros[1];
    return fixed + sizes->n_inputs * g1_bytes(sizes) + n_records * PM_COEFFICIENT_RECORD_BYTES +
           pm_plan_point_bytes(sizes);
}

/* Of a .params file: three single points in G1 and three in G2, ic, the queries. */
static uint64_t params_point_bytes(const struct pm_plan_sizes *sizes) {
    return (3 + 3 * 2 + sizes->n_inputs) * g1_bytes(sizes) + pm_plan_point_bytes(sizes);
}

/* doc/format_params.md: points, and six counts of four bytes. */
static uint64_t params_bytes(const struct pm_plan_sizes *sizes) {
    return params_point_bytes(sizes) + 6 * 4;
}

uint64_t pm_plan_file_bytes(const struct pm_plan_sizes *sizes) {
    return sizes->reduction == PM_REDUCTION_SNARKJS ? zkey_bytes(sizes) : params_bytes(sizes);
}

void pm_plan_sizes_add_key(struct pm_plan_sizes *sizes) {
    sizes->key_resident_bytes = pm_plan_twiddle_bytes(sizes) + pm_plan_density_bytes(sizes);
    sizes->key_bytes = 0;
    if (sizes->reduction == PM_REDUCTION_SNARKJS) {
        sizes->key_bytes = zkey_bytes(sizes);
        return;
    }
    sizes->key_resident_bytes += params_point_bytes(sizes) + pm_plan_matrix_bytes(sizes);
}
