/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The table of poly/poly.h for one curve in one body; compiled once for each (see
 * ff_instance.inc). Vectors are arrays of fr: the buffers are ours, aligned, and hold nothing else.
 */
#include "poly/poly.h"

#include "base/limits.h"
#include "ff/ff_instance.inc"

#if PM_INSTANCE_IFMA
#include "ff/ff_fr8.inc"
#endif

#include "poly/pointwise.inc"

#include "poly/ntt.inc"

#include "poly/coset.inc"

#include "poly/matrix.inc"

#include "poly/sparse.inc"

/* Elements that a thread should have at least before another one is woken. */
#define POLY_GRAIN 1024

/* ---------------------------------------------------------------- transforms */

static pm_status poly_forward(const struct pm_domain *domain, void *vector, struct pm_team *team,
                              const pm_control *control, pm_error *error) {
    struct ntt ntt;
    ntt_init(&ntt, domain, vector, team, control);
    ntt_split(&ntt, false, team);
    ntt_reverse(&ntt, team);
    return ntt.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

static pm_status poly_inverse(const struct pm_domain *domain, void *vector, struct pm_team *team,
                              const pm_control *control, pm_error *error) {
    struct ntt ntt;
    ntt_init(&ntt, domain, vector, team, control);
    ntt.divide = true;
    ntt_split(&ntt, true, team);
    ntt_reverse(&ntt, team);
    return ntt.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

static pm_status poly_to_odd_coset(const struct pm_domain *domain, void *vector,
                                   struct pm_team *team, const pm_control *control,
                                   pm_error *error) {
    PM_FAIL_IF(domain->log_n >= FR_TWO_ADICITY, error, PM_UNSUPPORTED,
               "a domain of 2^%u points has no odd coset: the scalar field of %s has no root of "
               "unity of order 2^%u",
               domain->log_n, PM_INSTANCE_CURVE_STRING, domain->log_n + 1);
    struct ntt_shift shift;
    ntt_init(&shift.ntt, domain, vector, team, control);
    ntt_odd_coset(&shift, domain->root, team);
    return shift.ntt.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

static pm_status poly_to_coset(const struct pm_domain *domain, void *vector, struct pm_team *team,
                               const pm_control *control, pm_error *error) {
    struct ntt_coset coset;
    ntt_init(&coset.ntt, domain, vector, team, control);
    ntt_to_coset(&coset, team);
    return coset.ntt.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

static pm_status poly_quotient_coefficients(const struct pm_domain *domain, void *ab, void *c,
                                            struct pm_team *team, const pm_control *control,
                                            pm_error *error) {
    struct ntt_coset coset;
    ntt_init(&coset.ntt, domain, c, team, control);
    ntt_split(&coset.ntt, true, team);
    if (!coset.ntt.stopped) {
        ntt_init(&coset.ntt, domain, ab, team, control);
        coset.c = c;
        ntt_quotient(&coset, team);
    }
    return coset.ntt.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

/* Horner at every w^i: quadratic, and shares nothing with the transforms but the root. */
static void poly_forward_reference(const struct pm_domain *domain, void *out, const void *in) {
    const fr *coefficients = in;
    fr *values = out;
    fr w, x;
    ntt_root(&w, domain->log_n, domain->root);
    fr_set_one(&x);
    const size_t n = (size_t)1 << domain->log_n;
    for (size_t i = 0; i < n; i++) {
        fr_set_zero(&values[i]);
        for (size_t j = n; j-- > 0;) {
            fr_mul(&values[i], &values[i], &x);
            fr_add(&values[i], &values[i], &coefficients[j]);
        }
        fr_mul(&x, &x, &w);
    }
}

/* ---------------------------------------------------------------- pointwise */

struct poly_powers {
    fr *vector;
    fr base, factor;
};

static void poly_powers_task(void *argument, size_t begin, size_t end) {
    const struct poly_powers *powers = argument;
    const uint64_t exponent = begin;
    fr power;
    fr_pow(&power, &powers->base, &exponent, 1);
    fr_mul(&power, &power, &powers->factor);
    for (size_t i = begin; i < end; i++) {
        fr_mul(&powers->vector[i], &powers->vector[i], &power);
        fr_mul(&power, &power, &powers->base);
    }
}

static void poly_scale_by_powers(const struct pm_domain *domain, void *vector, const uint64_t *base,
                                 const uint64_t *factor, struct pm_team *team) {
    struct poly_powers powers = {.vector = vector};
    fr_load(&powers.base, base);
    fr_load(&powers.factor, factor);
    pm_team_for(team, (size_t)1 << domain->log_n, POLY_GRAIN, poly_powers_task, &powers);
}

struct poly_vectors {
    fr *r;
    const fr *a, *b, *c;
};

static void poly_mul_task(void *argument, size_t begin, size_t end) {
    const struct poly_vectors *vectors = argument;
    pointwise_mul(vectors->r + begin, vectors->a + begin, vectors->b + begin, end - begin);
}

static void poly_mul_vectors(void *r, const void *a, const void *b, uint64_t n,
                             struct pm_team *team) {
    struct poly_vectors vectors = {.r = r, .a = a, .b = b};
    pm_team_for(team, n, POLY_GRAIN, poly_mul_task, &vectors);
}

static void poly_quotient_task(void *argument, size_t begin, size_t end) {
    const struct poly_vectors *vectors = argument;
    const fr *b = vectors->b != NULL ? vectors->b + begin : NULL;
    pointwise_quotient(vectors->r + begin, vectors->a + begin, b, vectors->c + begin, end - begin);
}

static void poly_quotient_scalars(void *r, const void *a, const void *b, const void *c, uint64_t n,
                                  struct pm_team *team) {
    struct poly_vectors vectors = {.r = r, .a = a, .b = b, .c = c};
    pm_team_for(team, n, POLY_GRAIN, poly_quotient_task, &vectors);
}

static void poly_quotient_scalars_from_product(void *r, const void *ab, const void *c, uint64_t n,
                                               struct pm_team *team) {
    struct poly_vectors vectors = {.r = r, .a = ab, .c = c};
    pm_team_for(team, n, POLY_GRAIN, poly_quotient_task, &vectors);
}

struct poly_conversion {
    unsigned char *out;
    const unsigned char *in;
};

static void poly_convert_task(void *argument, size_t begin, size_t end) {
    const struct poly_conversion *conversion = argument;
    for (size_t i = begin; i < end; i++) {
        fr t;
        fr_load(&t, conversion->in + i * FR_BYTES);
        fr_from_mont(t.l, &t);
        fr_store(conversion->out + i * FR_BYTES, &t);
    }
}

static void poly_convert_scalars(void *out, const void *in, uint64_t n, struct pm_team *team) {
    struct poly_conversion conversion = {.out = out, .in = in};
    pm_team_for(team, n, POLY_GRAIN, poly_convert_task, &conversion);
}

/* ---------------------------------------------------------------- matrices */

static pm_status poly_multiply_matrices(void *a, void *b, uint32_t log_n, const void *records,
                                        uint64_t n, int sorted, const void *witness,
                                        uint64_t n_signals, struct pm_team *team,
                                        const pm_control *control, pm_error *error) {
    struct matrix_product product = {.a = a,
                                     .b = b,
                                     .records = records,
                                     .witness = witness,
                                     .n = n,
                                     .n_rows = UINT64_C(1) << log_n,
                                     .n_signals = n_signals,
                                     .control = control};
    if (sorted) {
        pm_team_for(team, n, POLY_GRAIN, matrix_sorted_task, &product);
    } else {
        const uint64_t n_stripes = (((uint64_t)1 << log_n) >> MATRIX_STRIPE_LOG) + 1;
        const uint32_t threads = pm_team_threads(team);
        product.n_stripe_owners = threads < n_stripes ? threads : n_stripes;
        pm_team_run(team, product.n_stripe_owners, matrix_unsorted_task, &product);
    }
    return product.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

static pm_status poly_multiply_products(void *c, uint32_t log_n,
                                        const struct pm_record_window *window, int sorted,
                                        const void *witness, uint64_t n_signals,
                                        struct pm_team *team, const pm_control *control,
                                        pm_error *error) {
    PM_FAIL_IF(!sorted, error, PM_UNSUPPORTED,
               "rows cannot be multiplied from records that are not sorted by row");
    struct matrix_product product = {.c = c,
                                     .records = window->records,
                                     .witness = witness,
                                     .n = window->n,
                                     .n_rows = UINT64_C(1) << log_n,
                                     .n_signals = n_signals,
                                     .first = window->first,
                                     .control = control};
    if (window->n == 0) {
        memset(c, 0, sizeof(fr) << log_n);
    }
    pm_team_for(team, window->last - window->first, POLY_GRAIN, matrix_products_task, &product);
    return product.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

static pm_status poly_multiply_sparse(void *out, uint32_t log_n, const struct pm_sparse *matrix,
                                      const void *witness, uint64_t n_signals, struct pm_team *team,
                                      const pm_control *control, pm_error *error) {
    const uint64_t n = UINT64_C(1) << log_n;
    PM_FAIL_IF(matrix->n_rows > n, error, PM_INVALID_ARGUMENT,
               "a matrix of %llu rows does not fit a domain of 2^%u points",
               (unsigned long long)matrix->n_rows, log_n);
    PM_FAIL_IF(matrix->n_columns > n_signals, error, PM_INVALID_ARGUMENT,
               "a matrix of %llu columns cannot be multiplied by %llu values",
               (unsigned long long)matrix->n_columns, (unsigned long long)n_signals);
    struct sparse_product product = {
        .out = out, .matrix = matrix, .witness = witness, .control = control};
    pm_team_for(team, n, POLY_GRAIN, sparse_task, &product);
    return product.stopped ? pm_control_stop_status(control, error) : PM_OK;
}

extern const struct pm_poly PM_INSTANCE_NAME(pm_poly);
const struct pm_poly PM_INSTANCE_NAME(pm_poly) = {
    .curve = PM_INSTANCE_CURVE_ID,
    .body = PM_INSTANCE_BODY_STRING,
    .log_n_max = FR_TWO_ADICITY,
    .tables_bytes = ntt_tables_bytes,
    .fill_tables = ntt_fill_tables,
    .forward = poly_forward,
    .inverse = poly_inverse,
    .scale_by_powers = poly_scale_by_powers,
    .to_odd_coset = poly_to_odd_coset,
    .to_coset = poly_to_coset,
    .mul_vectors = poly_mul_vectors,
    .quotient_scalars = poly_quotient_scalars,
    .quotient_scalars_from_product = poly_quotient_scalars_from_product,
    .convert_scalars = poly_convert_scalars,
    .quotient_coefficients = poly_quotient_coefficients,
    .multiply_matrices = poly_multiply_matrices,
    .multiply_products = poly_multiply_products,
    .multiply_sparse = poly_multiply_sparse,
    .forward_reference = poly_forward_reference,
};
