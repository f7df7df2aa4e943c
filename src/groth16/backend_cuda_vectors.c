/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The card's steps up to h: scalars up, matrix products, quotient. */
#include "groth16/backend_cuda_card.h"

#include "io/modulus.h"

#include <string.h>

static const struct pm_cuda_key *key_of(const struct pm_step_data *data) {
    return data->resident;
}

/* ---- Packed scalars ---------------------------------------------------------------------------
 */

/* A half's worth of chunks: each task packs one into its slot and sends it up, where it is expanded
 * in the slot's counterpart. */
struct pack {
    const struct pm_cuda *cuda;
    struct pm_cuda_lane *lane;
    uint8_t *slots; /* of this half, on the card */
    uint64_t slot_bytes, chunk;
    const uint8_t *scalars;
    uint8_t *out;
    uint64_t n;
    uint64_t one[PM_FR_LIMBS_MAX];
    uint64_t used_bytes[PM_CUDA_SLOTS];
    pm_status status[PM_CUDA_SLOTS];
    pm_error errors[PM_CUDA_SLOTS];
};

static void pack_chunk(void *argument, size_t slot) {
    struct pack *pack = argument;
    const struct pm_gpu_api *api = pack->cuda->api;
    const uint64_t first = slot * pack->chunk, left = pack->n - first;
    const uint64_t n = left < pack->chunk ? left : pack->chunk;
    uint8_t *here = pack->lane->half + slot * pack->slot_bytes;
    uint8_t *there = pack->slots + slot * pack->slot_bytes;
    pm_error *error = &pack->errors[slot];
    *error = (pm_error)PM_ERROR_INIT;
    const uint64_t n_bytes = pm_gpu_pack(pack->scalars + first * PM_FR_BYTES, n, pack->one, here);
    /* One scalar of slack may have been written. */
    pack->used_bytes[slot] = n_bytes + PM_FR_BYTES;
    pack->status[slot] = api->upload(&pack->lane->stream, there, here, n_bytes, error);
    if (pack->status[slot] == PM_OK) {
        pack->status[slot] = api->scalars_expand(&pack->lane->stream, there, n,
                                                 pack->out + first * PM_FR_BYTES, error);
    }
}

static pm_status pack_half(struct pack *pack, struct pm_team *team, pm_error *error) {
    const uint64_t n_chunks = (pack->n + pack->chunk - 1) / pack->chunk;
    pm_team_run(team, n_chunks, pack_chunk, pack);
    for (uint64_t slot = 0; slot < n_chunks; ++slot) {
        if (pack->used_bytes[slot] > pack->lane->slot_used_bytes) {
            pack->lane->slot_used_bytes = pack->used_bytes[slot];
        }
    }
    for (uint64_t slot = 0; slot < n_chunks; ++slot) {
        if (pack->status[slot] != PM_OK) {
            pm_error_copy(error, &pack->errors[slot]);
            return pack->status[slot];
        }
    }
    return PM_OK;
}

/* n scalars as they are. */
static pm_status send_packed(struct pm_cuda_way *way, const struct pm_step_data *data,
                             const void *scalars, uint64_t n, const uint64_t *one, void *out,
                             pm_error *error) {
    const uint64_t chunk = pm_cuda_pack_scalars(way->cuda, data->plan->sizes.n_vars);
    const uint64_t n_slots = data->plan->sizes.n_vars / chunk + 1;
    const uint64_t per_half = (n_slots < PM_CUDA_SLOTS ? n_slots : PM_CUDA_SLOTS) * chunk;
    struct pack pack = {.cuda = way->cuda, .slot_bytes = pm_cuda_slot_bytes(chunk), .chunk = chunk};
    uint8_t *slots = data->buffer[PM_BUFFER_PACKED];
    way->slot_bytes = pack.slot_bytes;
    memcpy(pack.one, one, sizeof pack.one);
    for (uint64_t first = 0; first < n; first += per_half) {
        const uint32_t half = way->next;
        PM_TRY(pm_cuda_way_half(way, &pack.lane, error));
        pack.slots = slots + half * (per_half / chunk) * pack.slot_bytes;
        pack.scalars = (const uint8_t *)scalars + first * PM_FR_BYTES;
        pack.out = (uint8_t *)out + first * PM_FR_BYTES;
        pack.n = n - first < per_half ? n - first : per_half;
        PM_TRY(pack_half(&pack, way->team, error));
    }
    return PM_OK;
}

/* ---- Scalars of the caller --------------------------------------------------------------------
 */

/* What is checked is what has come up: the caller's memory may change meanwhile. values: those from
 * element `first` on. */
static pm_status take(const struct pm_step_data *data, enum pm_gpu_conversion conversion,
                      const char *name, uint64_t first, void *values, uint64_t n, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_cuda *cuda = key->cuda;
    const bool is_next = pm_cuda_side(cuda) == &cuda->next;
    uint64_t lowest = 0;
    if (n == 0) {
        return PM_OK;
    }
    PM_TRY(cuda->api->scalars_take(&pm_cuda_side(cuda)->stream, data->plan->sizes.curve, conversion,
                                   values, n, pm_cuda_at(key, key->layout.counters[is_next]),
                                   &lowest, error));
    PM_FAIL_IF(lowest < n, error, PM_NOT_CANONICAL,
               "%s[%llu] of the assignment is not below the scalar field's prime of %s", name,
               (unsigned long long)(first + lowest), pm_curve_name(data->plan->sizes.curve));
    return PM_OK;
}

/* Uploads under way are waited for, whatever happens. */
static pm_status send_signals(const struct pm_step_data *data, enum pm_buffer_id from, uint64_t n,
                              void *out, pm_error *error) {
    static const uint64_t canonical_one[PM_FR_LIMBS_MAX] = {1};
    const uint64_t *one = data->plan->choices.scalars_montgomery
                              ? pm_field_fr(data->plan->sizes.curve, PM_BODY_PORTABLE)->one
                              : canonical_one;
    struct pm_cuda_way *way = NULL;
    PM_TRY(pm_cuda_way_begin(key_of(data)->cuda, data, false, &way, error));
    return pm_cuda_way_end(way, send_packed(way, data, data->buffer[from], n, one, out, error),
                           error);
}

/* The constant, from w itself. */
static pm_status check_constant(const struct pm_step_data *data, pm_error *error) {
    static const uint64_t one[PM_FR_LIMBS_MAX] = {1};
    struct pm_cuda *cuda = key_of(data)->cuda;
    const struct pm_cuda_side *side = pm_cuda_side(cuda);
    const uint8_t *landing = pm_cuda_landing(cuda, side);
    PM_TRY(cuda->api->download(&side->stream, (void *)(uintptr_t)landing, data->buffer[PM_BUFFER_W],
                               PM_FR_BYTES, error));
    PM_TRY(cuda->api->stream_wait(&side->stream, error));
    PM_FAIL_IF(memcmp(landing, one, sizeof one) != 0, error, PM_WITNESS_MISMATCH,
               "inputs[0] of the assignment is not 1, the constant");
    return PM_OK;
}

static pm_status load_lent(const struct pm_step_data *data, pm_error *error) {
    const uint64_t n_inputs = data->plan->sizes.n_inputs;
    const uint64_t n_aux = data->plan->sizes.n_vars - n_inputs;
    const enum pm_gpu_conversion conversion =
        data->plan->choices.scalars_montgomery ? PM_GPU_FROM_MONTGOMERY : PM_GPU_KEEP;
    uint8_t *w = data->buffer[PM_BUFFER_W], *aux = w + n_inputs * PM_FR_BYTES;
    PM_TRY(send_signals(data, PM_BUFFER_CALLER_INPUTS, n_inputs, w, error));
    PM_TRY(take(data, conversion, "inputs", 0, w, n_inputs, error));
    PM_TRY(check_constant(data, error));
    if (n_aux == 0) {
        return PM_OK;
    }
    PM_TRY(send_signals(data, PM_BUFFER_CALLER_AUX, n_aux, aux, error));
    return take(data, conversion, "aux", 0, aux, n_aux, error);
}

/* A pm_witness is one array and was checked when it was opened. */
pm_status pm_cuda_load_witness(struct pm_backend *backend, const struct pm_step_data *data,
                               pm_error *error) {
    (void)backend;
    return data->plan->choices.scalars_are_lent
               ? load_lent(data, error)
               : send_signals(data, PM_BUFFER_CALLER_INPUTS, data->plan->sizes.n_vars,
                              data->buffer[PM_BUFFER_W], error);
}

/* Rows [first, first + n) of one of a, b, c, to Montgomery form. */
static pm_status load_rows(const struct pm_step_data *data, enum pm_buffer_id from, uint64_t first,
                           uint64_t n, void *out, pm_error *error) {
    static const char *const names[] = {"a", "b", "c"};
    struct pm_cuda *cuda = key_of(data)->cuda;
    struct pm_cuda_way *way = NULL;
    PM_TRY(pm_cuda_way_begin(cuda, data, false, &way, error));
    const uint8_t *rows = (const uint8_t *)data->buffer[from] + first * PM_FR_BYTES;
    const pm_status status = pm_cuda_way_bytes(way, out, rows, n * PM_FR_BYTES, error);
    PM_TRY(pm_cuda_way_end(way, status, error));
    return take(data, data->plan->choices.scalars_montgomery ? PM_GPU_KEEP : PM_GPU_TO_MONTGOMERY,
                names[from - PM_BUFFER_CALLER_A], first, out, n, error);
}

/* Behind the rows there are zeros. */
static pm_status load_vector(const struct pm_step_data *data, enum pm_buffer_id from, void *out,
                             pm_error *error) {
    struct pm_cuda *cuda = key_of(data)->cuda;
    const uint64_t n = UINT64_C(1) << data->plan->sizes.log_n, n_rows = data->n_vector_rows;
    PM_FAIL_IF(n_rows > n, error, PM_COUNT, "%llu rows do not fit into a domain of %llu",
               (unsigned long long)n_rows, (unsigned long long)n);
    PM_TRY(load_rows(data, from, 0, n_rows, out, error));
    return n_rows == n
               ? PM_OK
               : cuda->api->fill(&pm_cuda_side(cuda)->stream, (uint8_t *)out + n_rows * PM_FR_BYTES,
                                 0, (n - n_rows) * PM_FR_BYTES, error);
}

pm_status pm_cuda_load_vectors(struct pm_backend *backend, const struct pm_step_data *data,
                               pm_error *error) {
    (void)backend;
    PM_TRY(load_vector(data, PM_BUFFER_CALLER_A, data->buffer[PM_BUFFER_A], error));
    PM_TRY(load_vector(data, PM_BUFFER_CALLER_B, data->buffer[PM_BUFFER_B], error));
    return data->plan->choices.form == PM_FORM_THREE_VECTORS && data->plan->choices.caller_brings_c
               ? load_vector(data, PM_BUFFER_CALLER_C, data->buffer[PM_BUFFER_C], error)
               : PM_OK;
}

/* ---- Products ---------------------------------------------------------------------------------
 */

/* Rows [first, last) of a matrix that stays. */
static pm_status multiply_resident(const struct pm_step_data *data, int matrix, uint64_t first,
                                   uint64_t last, void *out, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_gpu_sparse part = key->sparse[matrix];
    const uint32_t *starts = part.row_starts; /* of the device: not to be read here */
    part.row_starts = starts + first;
    part.n_rows = part.n_rows < last ? part.n_rows : last;
    part.n_rows -= part.n_rows < first ? part.n_rows : first;
    return key->cuda->api->sparse_multiply(&pm_cuda_side(key->cuda)->stream,
                                           data->plan->sizes.curve, &part,
                                           data->buffer[PM_BUFFER_W], out, last - first, error);
}

/* What rows [first, last) take in the window: their starts, then their terms. */
static uint64_t rows_bytes(const struct pm_sparse *matrix, uint64_t first, uint64_t last) {
    const uint64_t n_terms = matrix->row_starts[last] - matrix->row_starts[first];
    return pm_cuda_round((last - first + 1) * sizeof *matrix->row_starts) +
           n_terms * sizeof *matrix->terms;
}

/* The last row, up to which row `first` and those behind it fit into half of the window. */
static uint64_t rows_that_fit(const struct pm_sparse *matrix, uint64_t first, uint64_t half_bytes) {
    uint64_t low = first, high = matrix->n_rows;
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        if (rows_bytes(matrix, first, middle) <= half_bytes) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Rows [first, last) as they will stand in the window. Their starts count from the matrix's first
 * term, so that is where its terms are made to begin. */
static void place_rows(const struct pm_sparse *matrix, uint64_t first, uint64_t last,
                       uint8_t *window, struct pm_gpu_sparse *part) {
    const uint64_t first_term = matrix->row_starts[first];
    const uint64_t starts_bytes = (last - first + 1) * sizeof *matrix->row_starts;
    part->n_rows = last - first;
    part->n_terms = matrix->row_starts[last];
    part->row_starts = window;
    part->terms = (const void *)((uintptr_t)window + pm_cuda_round(starts_bytes) -
                                 first_term * sizeof *matrix->terms);
}

/* Brings them there; used: behind who has read what was there before. */
static pm_status bring_rows(struct pm_cuda_way *way, const struct pm_sparse *matrix, uint64_t first,
                            bool is_pinned, const struct pm_gpu_event *used,
                            const struct pm_gpu_sparse *part, pm_error *error) {
    const uint64_t first_term = matrix->row_starts[first];
    const uint64_t terms_offset = first_term * sizeof *matrix->terms;
    for (int i = 0; i < 2 && used != NULL; ++i) {
        PM_TRY(way->cuda->api->stream_await(&way->lanes[i].stream, used, error));
    }
    PM_TRY(pm_cuda_way_part(way, (void *)(uintptr_t)part->row_starts, matrix->row_starts + first,
                            (part->n_rows + 1) * sizeof *matrix->row_starts, is_pinned, error));
    PM_TRY(pm_cuda_way_part(
        way, (void *)((uintptr_t)part->terms + terms_offset), matrix->terms + first_term,
        (part->n_terms - first_term) * sizeof *matrix->terms, is_pinned, error));
    return pm_cuda_way_end(way, PM_OK, error);
}

static bool is_pinned(const struct pm_cuda *cuda, const struct pm_sparse *matrix) {
    return pm_cuda_is_pinned(cuda, matrix->terms, matrix->n_terms * sizeof *matrix->terms) &&
           pm_cuda_is_pinned(cuda, matrix->row_starts,
                             (matrix->n_rows + 1) * sizeof *matrix->row_starts);
}

/* Behind the matrix's rows there are zeros. */
static pm_status fill_rest(const struct pm_step_data *data, uint64_t n_rows, uint8_t *out,
                           pm_error *error) {
    const uint64_t n = UINT64_C(1) << data->plan->sizes.log_n;
    struct pm_cuda *cuda = key_of(data)->cuda;
    return n_rows == n ? PM_OK
                       : cuda->api->fill(&pm_cuda_side(cuda)->stream, out + n_rows * PM_FR_BYTES, 0,
                                         (n - n_rows) * PM_FR_BYTES, error);
}

static pm_status stream_rows(struct pm_cuda_way *way, const struct pm_step_data *data, int which,
                             uint8_t *out, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_cuda *cuda = key->cuda;
    const struct pm_sparse *matrix = &data->proving_key->sparse[which];
    const uint64_t window_bytes = pm_plan_find(data->plan, PM_BUFFER_MATRIX_WINDOW)->bytes;
    const uint64_t half_bytes =
        window_bytes / 2 < PM_CUDA_ROWS_BYTES_MAX ? window_bytes / 2 : PM_CUDA_ROWS_BYTES_MAX;
    const bool pinned = is_pinned(cuda, matrix);
    struct pm_gpu_sparse part = key->sparse[which];
    uint64_t first = 0;
    for (uint32_t n_parts = 0; first < matrix->n_rows; ++n_parts) {
        const uint64_t last = rows_that_fit(matrix, first, half_bytes);
        uint8_t *half = (uint8_t *)data->buffer[PM_BUFFER_MATRIX_WINDOW] + n_parts % 2 * half_bytes;
        const struct pm_gpu_event *used = &cuda->holder.used[n_parts % 2];
        PM_FAIL_IF(last == first, error, PM_UNSUPPORTED,
                   "row %llu of a matrix has %u terms, which do not fit into a window of %llu "
                   "bytes: the key must stay on the device",
                   (unsigned long long)first,
                   matrix->row_starts[first + 1] - matrix->row_starts[first],
                   (unsigned long long)half_bytes);
        place_rows(matrix, first, last, half, &part);
        PM_TRY(bring_rows(way, matrix, first, pinned, n_parts < 2 ? NULL : used, &part, error));
        PM_TRY(cuda->api->sparse_multiply(&pm_cuda_side(cuda)->stream, data->plan->sizes.curve,
                                          &part, data->buffer[PM_BUFFER_W],
                                          out + first * PM_FR_BYTES, last - first, error));
        PM_TRY(cuda->api->event_record(used, &pm_cuda_side(cuda)->stream, error));
        first = last;
    }
    return fill_rest(data, first, out, error);
}

/* Whether all of C fits into the window: then it comes while a and b are transformed. */
static bool c_comes_early(const struct pm_step_data *data) {
    const struct pm_plan *plan = data->plan;
    const struct pm_plan_buffer *window = pm_plan_find(plan, PM_BUFFER_MATRIX_WINDOW);
    const struct pm_sparse *c = &data->proving_key->sparse[2];
    return window != NULL && plan->choices.form == PM_FORM_TWO_VECTORS && c->n_rows > 0 &&
           rows_bytes(c, 0, c->n_rows) <= window->bytes;
}

static pm_status multiply_early_c(const struct pm_step_data *data, uint8_t *out, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    const struct pm_sparse *c = &data->proving_key->sparse[2];
    struct pm_gpu_sparse part = key->sparse[2];
    place_rows(c, 0, c->n_rows, data->buffer[PM_BUFFER_MATRIX_WINDOW], &part);
    PM_TRY(key->cuda->api->sparse_multiply(&pm_cuda_side(key->cuda)->stream,
                                           data->plan->sizes.curve, &part,
                                           data->buffer[PM_BUFFER_W], out, c->n_rows, error));
    return fill_rest(data, c->n_rows, out, error);
}

/* One matrix times w. */
static pm_status multiply(const struct pm_step_data *data, int matrix, enum pm_buffer_id to,
                          pm_error *error) {
    struct pm_cuda *cuda = key_of(data)->cuda;
    void *out = data->buffer[to];
    if (!pm_cuda_streams_matrices(&data->plan->sizes, data->plan->choices.key)) {
        return multiply_resident(data, matrix, 0, UINT64_C(1) << data->plan->sizes.log_n, out,
                                 error);
    }
    struct pm_cuda_way *way = NULL;
    PM_TRY(pm_cuda_way_begin(cuda, data, true, &way, error));
    const pm_status status = stream_rows(way, data, matrix, out, error);
    PM_TRY(pm_cuda_way_end(way, status, error));
    /* The next matrix goes through the same window. */
    return cuda->api->stream_wait(&pm_cuda_side(cuda)->stream, error);
}

pm_status pm_cuda_products(struct pm_backend *backend, const struct pm_step_data *data,
                           pm_error *error) {
    (void)backend;
    PM_TRY(multiply(data, 0, PM_BUFFER_A, error));
    PM_TRY(multiply(data, 1, PM_BUFFER_B, error));
    return data->plan->sizes.reduction == PM_REDUCTION_BELLMAN &&
                   data->plan->choices.form == PM_FORM_THREE_VECTORS
               ? multiply(data, 2, PM_BUFFER_C, error)
               : PM_OK;
}

/* ---- Quotient ---------------------------------------------------------------------------------
 */

/* Whether c is nothing but the product of a and b, row by row. */
static bool c_is_product(const struct pm_step_data *data) {
    return data->plan->choices.vectors == PM_VECTORS_FROM_CALLER
               ? !data->plan->choices.caller_brings_c
               : data->plan->sizes.reduction == PM_REDUCTION_SNARKJS;
}

pm_status pm_cuda_quotient(struct pm_backend *backend, const struct pm_step_data *data,
                           pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_cuda *cuda = pm_cuda_of(backend);
    return cuda->api->h_run(&key->h, &pm_cuda_side(cuda)->stream, data->buffer[PM_BUFFER_A],
                            data->buffer[PM_BUFFER_B], data->buffer[PM_BUFFER_C],
                            !c_is_product(data), error);
}

static pm_status multiply_on_coset(const struct pm_step_data *data, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_cuda *cuda = key->cuda;
    void *a = data->buffer[PM_BUFFER_A], *b = data->buffer[PM_BUFFER_B];
    PM_TRY(cuda->api->h_coset(&key->h, &pm_cuda_side(cuda)->stream, a, error));
    PM_TRY(cuda->api->h_coset(&key->h, &pm_cuda_side(cuda)->stream, b, error));
    return cuda->api->h_multiply(&key->h, &pm_cuda_side(cuda)->stream, a, b, error);
}

pm_status pm_cuda_coset_product(struct pm_backend *backend, const struct pm_step_data *data,
                                pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    const struct pm_sparse *c = &data->proving_key->sparse[2];
    struct pm_gpu_sparse part;
    struct pm_cuda_way *way = NULL;
    if (!c_comes_early(data)) {
        return multiply_on_coset(data, error);
    }
    /* The way begins before the kernels do, so that nothing waits for them. */
    PM_TRY(pm_cuda_way_begin(cuda, data, true, &way, error));
    place_rows(c, 0, c->n_rows, data->buffer[PM_BUFFER_MATRIX_WINDOW], &part);
    pm_status status = multiply_on_coset(data, error);
    if (status == PM_OK) {
        status = bring_rows(way, c, 0, is_pinned(cuda, c), NULL, &part, error);
    }
    return pm_cuda_way_end(way, status, error);
}

/* One of the two factors of c, rows [first, last), from w or from what is lent. */
static pm_status factor_of_c(const struct pm_step_data *data, int which, uint64_t first,
                             uint64_t last, uint8_t *out, pm_error *error) {
    struct pm_cuda *cuda = key_of(data)->cuda;
    if (data->plan->choices.vectors == PM_VECTORS_FROM_W) {
        return multiply_resident(data, which, first, last, out, error);
    }
    const uint64_t n_rows = data->n_vector_rows;
    const uint64_t end = last < n_rows ? last : n_rows, n = first < end ? end - first : 0;
    if (n > 0) {
        const enum pm_buffer_id from = which == 0 ? PM_BUFFER_CALLER_A : PM_BUFFER_CALLER_B;
        PM_TRY(load_rows(data, from, first, n, out, error));
    }
    return n == last - first ? PM_OK
                             : cuda->api->fill(&pm_cuda_side(cuda)->stream, out + n * PM_FR_BYTES,
                                               0, (last - first - n) * PM_FR_BYTES, error);
}

/* c = a b, row by row, where there is one vector for it and room for a part of another. */
static pm_status multiply_factors(const struct pm_step_data *data, uint8_t *c, pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_cuda *cuda = key->cuda;
    const uint64_t n = UINT64_C(1) << data->plan->sizes.log_n;
    const uint64_t rows = pm_cuda_product_rows(&data->plan->sizes); /* divides n */
    uint8_t *other = data->buffer[PM_BUFFER_SCRATCH_H];
    /* Products are asked of a domain of so many values. */
    struct pm_gpu_domain part_domain = key->domain;
    struct pm_gpu_h part = key->h;
    part.domain = &part_domain;
    part_domain.log_n = (uint32_t)__builtin_ctzll(rows);
    for (uint64_t first = 0; first < n; first += rows) {
        uint8_t *out = c + first * PM_FR_BYTES;
        PM_TRY(pm_control_check(data->control, error));
        PM_TRY(factor_of_c(data, 0, first, first + rows, out, error));
        PM_TRY(factor_of_c(data, 1, first, first + rows, other, error));
        PM_TRY(cuda->api->h_product(&part, &pm_cuda_side(cuda)->stream, out, out, other, error));
    }
    return PM_OK;
}

/* c into the buffer of b, which has been used up. */
pm_status pm_cuda_recompute_c(struct pm_backend *backend, const struct pm_step_data *data,
                              pm_error *error) {
    void *c = data->buffer[PM_BUFFER_B];
    (void)backend;
    if (c_is_product(data)) {
        return multiply_factors(data, c, error);
    }
    if (data->plan->choices.vectors == PM_VECTORS_FROM_CALLER) {
        return load_vector(data, PM_BUFFER_CALLER_C, c, error);
    }
    return c_comes_early(data) ? multiply_early_c(data, c, error)
                               : multiply(data, 2, PM_BUFFER_B, error);
}

pm_status pm_cuda_quotient_of_c(struct pm_backend *backend, const struct pm_step_data *data,
                                pm_error *error) {
    const struct pm_cuda_key *key = key_of(data);
    struct pm_cuda *cuda = pm_cuda_of(backend);
    void *c = data->buffer[PM_BUFFER_B];
    PM_TRY(cuda->api->h_c(&key->h, &pm_cuda_side(cuda)->stream, c, error));
    return cuda->api->h_finish(&key->h, &pm_cuda_side(cuda)->stream, data->buffer[PM_BUFFER_A], c,
                               error);
}
