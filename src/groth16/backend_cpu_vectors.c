/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The CPU's steps up to h: scalars in, matrix products, quotient. */
#include "groth16/backend_cpu.h"

#include "io/modulus.h"
#include "io/scan.h"

#include <string.h>

/* Scalars, and coefficient records, between two looks at the control. */
#define SCALARS_PER_GRAIN (UINT64_C(1) << 14)
/* Records between two releases of a streamed key's pages. */
#define RECORDS_PER_WINDOW (PM_KEY_WINDOW_BYTES / PM_ZKEY_COEFFICIENT_BYTES)

/* ---- Scalars of the caller --------------------------------------------------------------------
 */

/* What is done to scalars on their way in. */
enum conversion { AS_THEY_ARE, TO_MONTGOMERY, TO_CANONICAL };

/* out[i] = in[i], or in[i] * factor[i] in Montgomery form, converted, with each scalar checked to
 * be below the modulus. in is the caller's and may change meanwhile: what is checked is the copy.
 */
struct load {
    const struct pm_field *fr;
    const uint64_t *modulus;
    const uint8_t *in, *factor; /* factor: NULL, or as many scalars more, to multiply by */
    uint8_t *out;
    enum conversion conversion;
};

static void convert(const struct load *load, void *scalars, uint64_t n) {
    switch (load->conversion) {
    case AS_THEY_ARE:
        break;
    case TO_MONTGOMERY:
        load->fr->to_mont(scalars, scalars, n);
        break;
    case TO_CANONICAL:
        load->fr->from_mont(scalars, scalars, n);
        break;
    }
}

static uint64_t load_piece(const void *argument, uint64_t begin, uint64_t end) {
    const struct load *load = argument;
    uint8_t *out = load->out + begin * PM_FR_BYTES;
    memcpy(out, load->in + begin * PM_FR_BYTES, (end - begin) * PM_FR_BYTES);
    for (uint64_t i = begin; i < end; ++i) {
        if (!pm_modulus_exceeds(load->modulus, load->out + i * PM_FR_BYTES)) {
            return i;
        }
    }
    convert(load, out, end - begin);
    return end;
}

static uint64_t multiply_piece(const void *argument, uint64_t begin, uint64_t end) {
    const struct load *load = argument;
    uint64_t bad = load_piece(argument, begin, end), factor[PM_FR_LIMBS_MAX];
    for (uint64_t i = begin; i < bad; ++i) {
        uint64_t *out = (uint64_t *)(void *)(load->out + i * PM_FR_BYTES);
        memcpy(factor, load->factor + i * PM_FR_BYTES, sizeof factor);
        if (!pm_modulus_exceeds(load->modulus, (const uint8_t *)factor)) {
            bad = i;
            break;
        }
        convert(load, factor, 1);
        load->fr->mul(out, out, factor);
    }
    pm_memory_wipe(factor, sizeof factor);
    return bad;
}

static pm_status run_load(const struct pm_step_data *data, const struct load *load,
                          const char *name, uint64_t n, pm_error *error) {
    const struct pm_scan scan = {.n = n,
                                 .grain = SCALARS_PER_GRAIN,
                                 .piece = load->factor != NULL ? multiply_piece : load_piece,
                                 .argument = load};
    uint64_t lowest = 0;
    PM_TRY(pm_scan_run(&scan, data->team, data->control, &lowest, error));
    PM_FAIL_IF(lowest < n, error, PM_NOT_CANONICAL,
               "%s[%llu] of the assignment is not below the scalar field's prime of %s", name,
               (unsigned long long)lowest, pm_curve_name(data->plan->sizes.curve));
    return PM_OK;
}

static pm_status load_signals(const struct pm_step_data *data, const struct pm_kernels *kernels,
                              enum pm_buffer_id from, const char *name, uint64_t n, void *out,
                              pm_error *error) {
    const struct load load = {.fr = kernels->curve->fr,
                              .modulus = pm_modulus_scalar(kernels->curve->id),
                              .in = data->buffer[from],
                              .out = out,
                              .conversion = data->plan->choices.scalars_montgomery ? TO_CANONICAL
                                                                                   : AS_THEY_ARE};
    return run_load(data, &load, name, n, error);
}

/* The caller's two arrays, one behind the other. */
pm_status pm_cpu_load_witness(struct pm_backend *backend, const struct pm_step_data *data,
                              pm_error *error) {
    static const uint64_t one[PM_FR_LIMBS_MAX] = {1};
    const uint64_t n_inputs = data->plan->sizes.n_inputs;
    const uint64_t n_aux = data->plan->sizes.n_vars - n_inputs;
    uint8_t *w = data->buffer[PM_BUFFER_W];
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    PM_TRY(load_signals(data, &kernels, PM_BUFFER_CALLER_INPUTS, "inputs", n_inputs, w, error));
    PM_FAIL_IF(memcmp(w, one, sizeof one) != 0, error, PM_WITNESS_MISMATCH,
               "inputs[0] of the assignment is not 1, the constant");
    return load_signals(data, &kernels, PM_BUFFER_CALLER_AUX, "aux", n_aux,
                        w + n_inputs * PM_FR_BYTES, error);
}

/* One of a, b, c, to Montgomery form; behind the rows there are zeros. */
static pm_status load_vector(const struct pm_step_data *data, const struct pm_kernels *kernels,
                             enum pm_buffer_id from, enum pm_buffer_id factor, void *out,
                             pm_error *error) {
    static const char *const names[] = {"a", "b", "c"};
    const uint64_t n = UINT64_C(1) << data->plan->sizes.log_n, n_rows = data->n_vector_rows;
    const struct load load = {.fr = kernels->curve->fr,
                              .modulus = pm_modulus_scalar(kernels->curve->id),
                              .in = data->buffer[from],
                              .factor = factor != from ? data->buffer[factor] : NULL,
                              .out = out,
                              .conversion = data->plan->choices.scalars_montgomery ? AS_THEY_ARE
                                                                                   : TO_MONTGOMERY};
    PM_FAIL_IF(n_rows > n, error, PM_COUNT, "%llu rows do not fit into a domain of %llu",
               (unsigned long long)n_rows, (unsigned long long)n);
    PM_TRY(run_load(data, &load, names[from - PM_BUFFER_CALLER_A], n_rows, error));
    memset(load.out + n_rows * PM_FR_BYTES, 0, (n - n_rows) * PM_FR_BYTES);
    return PM_OK;
}

pm_status pm_cpu_load_vectors(struct pm_backend *backend, const struct pm_step_data *data,
                              pm_error *error) {
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    PM_TRY(load_vector(data, &kernels, PM_BUFFER_CALLER_A, PM_BUFFER_CALLER_A,
                       data->buffer[PM_BUFFER_A], error));
    PM_TRY(load_vector(data, &kernels, PM_BUFFER_CALLER_B, PM_BUFFER_CALLER_B,
                       data->buffer[PM_BUFFER_B], error));
    return data->plan->choices.form == PM_FORM_THREE_VECTORS && data->plan->choices.caller_brings_c
               ? load_vector(data, &kernels, PM_BUFFER_CALLER_C, PM_BUFFER_CALLER_C,
                             data->buffer[PM_BUFFER_C], error)
               : PM_OK;
}

/* ---- Products ---------------------------------------------------------------------------------
 */

/* A w and B w from the records of a zkey; rows add up from window to window. */
static pm_status multiply_records(const struct pm_step_data *data, const struct pm_kernels *kernels,
                                  pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    const bool streams = pm_cpu_streams(data);
    const uint64_t window = streams ? RECORDS_PER_WINDOW : key->n_records;
    for (uint64_t first = 0; first < key->n_records; first += window) {
        const uint8_t *records = key->records + first * PM_ZKEY_COEFFICIENT_BYTES;
        const uint64_t left = key->n_records - first, n = left < window ? left : window;
        PM_TRY(kernels->poly->multiply_matrices(data->buffer[PM_BUFFER_A],
                                                data->buffer[PM_BUFFER_B], key->log_n, records, n,
                                                key->records_sorted, pm_cpu_witness(data),
                                                key->n_vars, data->team, data->control, error));
        if (streams) {
            pm_mapping_release_range(key->mapping, records, n * PM_ZKEY_COEFFICIENT_BYTES);
        }
    }
    return PM_OK;
}

/* c = (A w)(B w), row by row, from the same records. */
static pm_status multiply_rows(const struct pm_step_data *data, const struct pm_kernels *kernels,
                               void *c, pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    const uint64_t n = key->n_records, step = pm_cpu_streams(data) ? RECORDS_PER_WINDOW : n;
    struct pm_record_window window = {.records = key->records, .n = n};
    do {
        window.last = n - window.first < step ? n : window.first + step;
        PM_TRY(kernels->poly->multiply_products(c, key->log_n, &window, key->records_sorted,
                                                pm_cpu_witness(data), key->n_vars, data->team,
                                                data->control, error));
        if (pm_cpu_streams(data)) {
            /* With what has been read behind the end of the window before, to complete its row. */
            pm_mapping_release_range(key->mapping, key->records,
                                     window.last * PM_ZKEY_COEFFICIENT_BYTES);
        }
        window.first = window.last;
    } while (window.first < n);
    return PM_OK;
}

static pm_status multiply_sparse(const struct pm_step_data *data, const struct pm_kernels *kernels,
                                 int matrix, enum pm_buffer_id to, pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    return kernels->poly->multiply_sparse(data->buffer[to], key->log_n, &key->sparse[matrix],
                                          pm_cpu_witness(data), key->n_vars, data->team,
                                          data->control, error);
}

pm_status pm_cpu_products(struct pm_backend *backend, const struct pm_step_data *data,
                          pm_error *error) {
    const bool explicit_c = data->plan->sizes.reduction == PM_REDUCTION_BELLMAN;
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    if (data->proving_key->matrices == PM_KEY_MATRICES_RECORDS) {
        return multiply_records(data, &kernels, error);
    }
    PM_FAIL_IF(data->proving_key->matrices != PM_KEY_MATRICES_SPARSE, error, PM_INTERNAL,
               "the key has no matrices to multiply with");
    PM_TRY(multiply_sparse(data, &kernels, 0, PM_BUFFER_A, error));
    PM_TRY(multiply_sparse(data, &kernels, 1, PM_BUFFER_B, error));
    return explicit_c && data->plan->choices.form == PM_FORM_THREE_VECTORS
               ? multiply_sparse(data, &kernels, 2, PM_BUFFER_C, error)
               : PM_OK;
}

/* ---- Quotient ---------------------------------------------------------------------------------
 */

/* The key's domain with the kernels of this context. */
static struct pm_domain domain_of(const struct pm_step_data *data,
                                  const struct pm_kernels *kernels) {
    struct pm_domain domain = data->proving_key->domain;
    domain.poly = kernels->poly;
    return domain;
}

/* To the coset of the reduction. */
static pm_status to_coset(const struct pm_step_data *data, const struct pm_kernels *kernels,
                          void *vector, pm_error *error) {
    const struct pm_domain domain = domain_of(data, kernels);
    return (data->plan->sizes.reduction == PM_REDUCTION_SNARKJS
                ? kernels->poly->to_odd_coset
                : kernels->poly->to_coset)(&domain, vector, data->team, data->control, error);
}

/* a = a b on the coset. */
static pm_status coset_product(const struct pm_step_data *data, const struct pm_kernels *kernels,
                               pm_error *error) {
    void *a = data->buffer[PM_BUFFER_A], *b = data->buffer[PM_BUFFER_B];
    PM_TRY(to_coset(data, kernels, a, error));
    PM_TRY(to_coset(data, kernels, b, error));
    kernels->poly->mul_vectors(a, a, b, UINT64_C(1) << data->plan->sizes.log_n, data->team);
    return PM_OK;
}

/* From a = a b on the coset and c on the domain to the scalars of h, in a. */
static pm_status subtract_c(const struct pm_step_data *data, const struct pm_kernels *kernels,
                            void *c, pm_error *error) {
    const struct pm_domain domain = domain_of(data, kernels);
    const uint64_t n = UINT64_C(1) << domain.log_n;
    void *a = data->buffer[PM_BUFFER_A];
    if (data->plan->sizes.reduction == PM_REDUCTION_BELLMAN) {
        return kernels->poly->quotient_coefficients(&domain, a, c, data->team, data->control,
                                                    error);
    }
    PM_TRY(to_coset(data, kernels, c, error));
    kernels->poly->quotient_scalars_from_product(a, a, c, n, data->team);
    return PM_OK;
}

/* Whether c is nothing but the product of a and b, row by row. */
static bool c_is_product(const struct pm_step_data *data) {
    return data->plan->choices.vectors == PM_VECTORS_FROM_CALLER
               ? !data->plan->choices.caller_brings_c
               : data->plan->sizes.reduction == PM_REDUCTION_SNARKJS;
}

pm_status pm_cpu_quotient(struct pm_backend *backend, const struct pm_step_data *data,
                          pm_error *error) {
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    if (c_is_product(data)) {
        kernels.poly->mul_vectors(data->buffer[PM_BUFFER_C], data->buffer[PM_BUFFER_A],
                                  data->buffer[PM_BUFFER_B], UINT64_C(1) << data->plan->sizes.log_n,
                                  data->team);
    }
    PM_TRY(coset_product(data, &kernels, error));
    return subtract_c(data, &kernels, data->buffer[PM_BUFFER_C], error);
}

pm_status pm_cpu_coset_product(struct pm_backend *backend, const struct pm_step_data *data,
                               pm_error *error) {
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    return coset_product(data, &kernels, error);
}

/* c into the buffer of b, which has been used up. */
pm_status pm_cpu_recompute_c(struct pm_backend *backend, const struct pm_step_data *data,
                             pm_error *error) {
    const struct pm_proving_key *key = data->proving_key;
    void *c = data->buffer[PM_BUFFER_B];
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    if (data->plan->choices.vectors == PM_VECTORS_FROM_CALLER) {
        return data->plan->choices.caller_brings_c
                   ? load_vector(data, &kernels, PM_BUFFER_CALLER_C, PM_BUFFER_CALLER_C, c, error)
                   : load_vector(data, &kernels, PM_BUFFER_CALLER_A, PM_BUFFER_CALLER_B, c, error);
    }
    if (key->matrices == PM_KEY_MATRICES_SPARSE) {
        return multiply_sparse(data, &kernels, 2, PM_BUFFER_B, error);
    }
    return multiply_rows(data, &kernels, c, error);
}

pm_status pm_cpu_quotient_of_c(struct pm_backend *backend, const struct pm_step_data *data,
                               pm_error *error) {
    struct pm_kernels kernels;
    (void)backend;
    PM_TRY(pm_cpu_kernels(data, &kernels, error));
    return subtract_c(data, &kernels, data->buffer[PM_BUFFER_B], error);
}
