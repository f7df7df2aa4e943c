/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A key on the card: one block for its points, matrices and densities and the rooms that steps
 * need, and the tables of its domain. Points go up as they lie; a constraint matrix that stands in
 * memory as well.
 */
#include "groth16/backend_cuda_card.h"

#include <string.h>

/* Between two reports of progress, and what is not worth a team of threads. */
#define PROGRESS_BYTES (UINT64_C(256) << 20)
#define TEAM_BYTES_MIN (UINT64_C(8) << 20)

/* ---- What is held -----------------------------------------------------------------------------
 */

static struct pm_ledger_note note_of(const struct pm_cuda *cuda, const char *name) {
    return (struct pm_ledger_note){.name = name,
                                   .file = __FILE__,
                                   .line = __LINE__,
                                   .plan_line = PM_LEDGER_UNPLANNED,
                                   .step = PM_LEDGER_NO_STEP,
                                   .pool = (uint8_t)cuda->backend.pool,
                                   .mechanism = PM_BY_DEVICE_ALLOC};
}

static const char block_name[] = "key on device", factors_name[] = "twiddle factors on device",
                  coset_name[] = "coset powers on device";

static uint64_t h_bytes(const struct pm_gpu_h *h) {
    return h->to_coset.tables.bytes + h->from_coset.tables.bytes + h->of_c.tables.bytes;
}

static void enter(const struct pm_cuda_key *key, const char *name, uint64_t bytes, bool released) {
    const struct pm_ledger_note note = note_of(key->cuda, name);
    if (bytes != 0) {
        (released ? pm_ledger_released : pm_ledger_allocated)(key->ledger, &note, bytes);
    }
}

static void let_go(struct pm_cuda *cuda, struct pm_cuda_key *key) {
    enter(key, coset_name, h_bytes(&key->h), true);
    cuda->api->h_destroy(&key->h);
    enter(key, factors_name, key->domain.factors.bytes, true);
    cuda->api->domain_destroy(&key->domain);
    enter(key, block_name, key->block.bytes, true);
    cuda->api->memory_release(cuda->device, NULL, &key->block);
}

void pm_cuda_close_key(struct pm_backend *backend, void *resident) {
    let_go(pm_cuda_of(backend), resident);
    pm_memory_free(resident);
}

/* ---- What goes up -----------------------------------------------------------------------------
 */

/* A part of the key. */
struct part {
    uint8_t *to;
    const void *from;
    uint64_t bytes;
};

/* Queries, densities, three arrays of each matrix. */
#define PARTS_MAX (PM_CUDA_QUERIES + 2 + 9)

struct parts {
    struct part part[PARTS_MAX];
    uint32_t n;
    uint64_t bytes;
};

static void add_part(struct parts *parts, uint8_t *to, const void *from, uint64_t bytes) {
    if (bytes != 0) {
        parts->part[parts->n++] = (struct part){to, from, bytes};
        parts->bytes += bytes;
    }
}

static void add_points(const struct pm_proving_key *proving_key, const struct pm_cuda_key *key,
                       struct parts *parts) {
    const uint64_t g1_bytes = 2 * (uint64_t)pm_curve_fp_bytes(proving_key->header.curve);
    const struct pm_key_query *const queries[PM_CUDA_QUERIES] = {[PM_CUDA_A] = &proving_key->a,
                                                                 [PM_CUDA_B1] = &proving_key->b1,
                                                                 [PM_CUDA_L] = &proving_key->l,
                                                                 [PM_CUDA_H] = &proving_key->h,
                                                                 [PM_CUDA_B2] = &proving_key->b2};
    for (int i = 0; i < PM_CUDA_QUERIES; ++i) {
        add_part(parts, pm_cuda_at(key, key->layout.points[i]), queries[i]->points,
                 queries[i]->n * g1_bytes * (i == PM_CUDA_B2 ? 2 : 1));
    }
}

static void add_densities(const struct pm_proving_key *proving_key, const struct pm_cuda_key *key,
                          struct parts *parts) {
    const struct pm_density *const densities[] = {&proving_key->a_density, &proving_key->b_density};
    for (int i = 0; i < 2; ++i) {
        if (densities[i]->n != 0) { /* those of a key without matrices come later */
            add_part(parts, pm_cuda_at(key, key->layout.densities[i]), densities[i]->words,
                     pm_density_bytes(densities[i]->n));
        }
    }
}

/* Places for all matrices. Those in memory are ready to go up, coefficients alone when they are to
 * be streamed. */
static void add_matrices(const struct pm_proving_key *proving_key, const struct pm_plan *plan,
                         struct pm_cuda_key *key, struct parts *parts) {
    const bool is_sparse = proving_key->matrices == PM_KEY_MATRICES_SPARSE;
    const bool is_streamed = pm_cuda_streams_matrices(&plan->sizes, plan->choices.key);
    const int n_matrices = is_sparse ? 3 : proving_key->matrices == PM_KEY_MATRICES_RECORDS ? 2 : 0;
    for (int i = 0; i < n_matrices; ++i) {
        struct pm_gpu_sparse *matrix = &key->sparse[i];
        const struct pm_sparse *from = &proving_key->sparse[i];
        uint8_t *place = pm_cuda_at(key, key->layout.matrices[i]);
        uint64_t offsets[3] = {0};
        *matrix = (struct pm_gpu_sparse){.n_rows = UINT64_C(1) << proving_key->log_n,
                                         .n_columns = proving_key->n_vars,
                                         .n_terms = proving_key->n_nonzeros[i],
                                         .n_coefficients = pm_cuda_n_coefficients(&plan->sizes, i),
                                         .coefficients = place};
        if (!is_streamed) {
            key->cuda->api->sparse_place(matrix, place, offsets);
        }
        if (is_sparse) {
            matrix->n_rows = from->n_rows;
            add_part(parts, place + offsets[0], from->coefficients,
                     from->n_coefficients * PM_FR_BYTES);
        }
        if (is_sparse && !is_streamed) {
            add_part(parts, place + offsets[1], from->terms, from->n_terms * sizeof *from->terms);
            add_part(parts, place + offsets[2], from->row_starts,
                     (from->n_rows + 1) * sizeof *from->row_starts);
        }
    }
}

static pm_status bring_parts(struct pm_cuda_way *way, const struct parts *parts, pm_error *error) {
    static const char phase[] = "bringing the key to the device";
    uint64_t done = 0;
    for (uint32_t i = 0; i < parts->n; ++i) {
        const struct part *part = &parts->part[i];
        const bool is_pinned = pm_cuda_is_pinned(way->cuda, part->from, part->bytes);
        for (uint64_t at = 0; at < part->bytes; at += PROGRESS_BYTES) {
            const uint64_t left = part->bytes - at;
            const uint64_t n = left < PROGRESS_BYTES ? left : PROGRESS_BYTES;
            pm_control_progress(way->control, phase, done, parts->bytes);
            PM_TRY(pm_cuda_way_part(way, part->to + at, (const uint8_t *)part->from + at, n,
                                    is_pinned, error));
            done += n;
        }
    }
    pm_control_progress(way->control, phase, done, parts->bytes);
    return PM_OK;
}

static pm_status bring(struct pm_cuda_way *way, const struct pm_proving_key *proving_key,
                       const struct pm_plan *plan, struct pm_cuda_key *key, pm_error *error) {
    struct parts parts = {.n = 0};
    if (plan->choices.key == PM_KEY_RESIDENT) {
        add_points(proving_key, key, &parts);
    }
    add_densities(proving_key, key, &parts);
    if (!plan->sizes.share.is_further) {
        add_matrices(proving_key, plan, key, &parts);
    }
    if (key->layout.end >= TEAM_BYTES_MIN && plan->threads > 1) {
        /* For as long as this takes. Without one the caller copies alone. */
        (void)pm_team_create(plan->threads, &way->team, NULL);
    }
    pm_status status = bring_parts(way, &parts, error);
    if (status == PM_OK && proving_key->matrices == PM_KEY_MATRICES_RECORDS &&
        !plan->sizes.share.is_further) {
        status = pm_cuda_bring_records(way, proving_key, key, error);
    }
    status = pm_cuda_way_end(way, status, error);
    pm_team_destroy(way->team);
    return status;
}

/* ---- The whole --------------------------------------------------------------------------------
 */

/* Everything that the key needs, empty. */
static pm_status hold(struct pm_cuda_key *key, const struct pm_gpu_stream *stream,
                      const struct pm_plan *plan, pm_error *error) {
    const struct pm_gpu_api *api = key->cuda->api;
    const bool is_bellman = plan->sizes.reduction == PM_REDUCTION_BELLMAN;
    PM_TRY(api->memory_get(key->cuda->device, NULL, PM_GPU_ONCE, block_name, key->layout.end, NULL,
                           __FILE__, __LINE__, &key->block, error));
    enter(key, block_name, key->block.bytes, false);
    if (plan->sizes.share.is_further) {
        return PM_OK;
    }
    PM_TRY(api->domain_create(stream, plan->sizes.curve, plan->sizes.log_n,
                              is_bellman ? PM_GPU_ROOT_BELLMAN : PM_GPU_ROOT_SNARKJS, 0, 0,
                              &key->domain, error));
    enter(key, factors_name, key->domain.factors.bytes, false);
    PM_TRY(api->h_create(&key->domain, stream,
                         is_bellman ? PM_GPU_REDUCTION_BELLMAN : PM_GPU_REDUCTION_SNARKJS, &key->h,
                         error));
    enter(key, coset_name, h_bytes(&key->h), false);
    return PM_OK;
}

/* A key for which the driver has no more memory may find some in the pool. */
static pm_status hold_after_all(struct pm_cuda_key *key, const struct pm_gpu_stream *stream,
                                const struct pm_plan *plan, const pm_control *control,
                                pm_error *error) {
    struct pm_cuda *cuda = key->cuda;
    const pm_status status = hold(key, stream, plan, error);
    (void)pthread_mutex_lock(&cuda->mutex);
    const bool pool_has_some = cuda->pool_peak_bytes != 0;
    (void)pthread_mutex_unlock(&cuda->mutex);
    if (status != PM_NO_MEMORY || !pool_has_some) {
        return status;
    }
    let_go(cuda, key);
    PM_TRY(pm_cuda_trim(cuda, control, error));
    return hold(key, stream, plan, error);
}

static void enter_staging(const struct pm_cuda_key *key, const struct pm_gpu_buffer *staging,
                          bool released) {
    struct pm_ledger_note note = note_of(key->cuda, "staging of the key");
    note.pool = PM_POOL_PINNED;
    note.mechanism = PM_BY_HOST_ALLOC;
    if (staging->bytes != 0) {
        (released ? pm_ledger_released : pm_ledger_allocated)(key->ledger, &note, staging->bytes);
    }
}

/* Streams and staging of its own: a proof may be using the backend's. */
static pm_status open_way(const struct pm_cuda_key *key, struct pm_cuda_way *way,
                          struct pm_gpu_buffer *staging, pm_error *error) {
    struct pm_cuda *cuda = key->cuda;
    way->piece_bytes = pm_cuda_copied_bytes(cuda);
    PM_TRY(cuda->api->memory_get(cuda->device, NULL, PM_GPU_PINNED, "staging of the key",
                                 2 * way->piece_bytes, NULL, __FILE__, __LINE__, staging, error));
    enter_staging(key, staging, false);
    for (int i = 0; i < 2; ++i) {
        way->lanes[i].half = (uint8_t *)staging->address + (uint64_t)i * way->piece_bytes;
        PM_TRY(cuda->api->stream_create(cuda->device, &way->lanes[i].stream, error));
    }
    return PM_OK;
}

static void close_way(const struct pm_cuda_key *key, struct pm_cuda_way *way,
                      struct pm_gpu_buffer *staging) {
    for (int i = 0; i < 2; ++i) {
        way->cuda->api->stream_destroy(&way->lanes[i].stream);
    }
    enter_staging(key, staging, true);
    way->cuda->api->memory_release(way->cuda->device, NULL, staging);
}

pm_status pm_cuda_open_key(struct pm_backend *backend, const struct pm_proving_key *proving_key,
                           const struct pm_plan *plan, struct pm_ledger *ledger,
                           const pm_control *control, void **resident, pm_error *error) {
    struct pm_cuda *cuda = pm_cuda_of(backend);
    struct pm_cuda_way way = {.cuda = cuda, .is_public = true, .control = control};
    struct pm_gpu_buffer staging = {0};
    void *memory = NULL;
    PM_TRY(pm_control_check(control, error));
    PM_TRY(pm_memory_alloc(NULL, "key on a device", sizeof(struct pm_cuda_key), PM_MEMORY_PLAIN,
                           &memory, error));
    struct pm_cuda_key *key = memory;
    key->cuda = cuda;
    key->ledger = ledger;
    key->sizes = plan->sizes;
    pm_cuda_lay_out(cuda, &plan->sizes, plan->choices.key, &key->layout);
    pm_status status = open_way(key, &way, &staging, error);
    if (status == PM_OK) {
        status = hold_after_all(key, &way.lanes[0].stream, plan, control, error);
    }
    if (status == PM_OK) {
        status = bring(&way, proving_key, plan, key, error);
    }
    close_way(key, &way, &staging);
    if (status != PM_OK) {
        pm_cuda_close_key(backend, key);
        return status;
    }
    *resident = key;
    return PM_OK;
}
