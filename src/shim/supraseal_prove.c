/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * shim/supraseal_prove.c - assignments of bellperson's to proofs, in two halves.
 *
 * Everything that the caller gives is checked against the file's header before anything is done.
 * What outlives start is in the pending handle: the blinding scalars, the library's own pending
 * proofs (which hold the key) and a reference to the engine. It keeps no pointer to the handle.
 */
#include "shim/supraseal.h"

#include "shim/supraseal_record.h"

#include <proofmill/experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct half {
    pm_pending *pending;
    pm_supraseal_fr r, s;
};

struct pm_supraseal_pending {
    struct pm_supraseal_engine *engine;
    pm_context *context; /* of the engine */
    size_t n;
    struct half halves[];
};

_Static_assert(sizeof(pm_supraseal_error) == 16 && offsetof(pm_supraseal_error, message) == 8,
               "RustError is 16 bytes");
_Static_assert(sizeof(pm_supraseal_srs) == sizeof(void *), "SRS is a pointer");
_Static_assert(sizeof(pm_supraseal_fr) == PM_FR_BYTES, "a scalar is 32 bytes");
_Static_assert(sizeof(pm_supraseal_proof) == 384 && offsetof(pm_supraseal_proof, b) == 96 &&
                   offsetof(pm_supraseal_proof, c) == 288,
               "a proof is 96 + 192 + 96 bytes");
_Static_assert(sizeof(pm_supraseal_assignment) == 17 * sizeof(void *) &&
                   offsetof(pm_supraseal_assignment, b_inp_density) == 3 * sizeof(void *) &&
                   offsetof(pm_supraseal_assignment, b_aux_density) == 6 * sizeof(void *) &&
                   offsetof(pm_supraseal_assignment, a) == 9 * sizeof(void *) &&
                   offsetof(pm_supraseal_assignment, abc_size) == 12 * sizeof(void *) &&
                   offsetof(pm_supraseal_assignment, inp_assignment_data) == 13 * sizeof(void *) &&
                   offsetof(pm_supraseal_assignment, aux_assignment_size) == 16 * sizeof(void *),
               "Assignment is 17 machine words");

/* ---- Checks ---------------------------------------------------------------------------------- */

struct expectation {
    const char *what;
    uint64_t need, have;
};

static uint64_t count_bits(const uint64_t *words, size_t n_bits) {
    uint64_t n = 0;
    for (size_t i = 0; i < n_bits / 64; i++) {
        n += (uint64_t)__builtin_popcountll(words[i]);
    }
    if (n_bits % 64 != 0) {
        const uint64_t mask = (UINT64_C(1) << n_bits % 64) - 1;
        n += (uint64_t)__builtin_popcountll(words[n_bits / 64] & mask);
    }
    return n;
}

static bool is_aligned(const void *pointer) {
    return (uintptr_t)pointer % sizeof(uint64_t) == 0;
}

/* Whether what must be there is, at addresses that words can be read from. */
static pm_status check_pointers(const pm_supraseal_assignment *prover, size_t index,
                                pm_error *error) {
    const struct {
        const char *name;
        const void *pointer;
        size_t n;
    } arrays[] = {
        {"a_aux_density", prover->a_aux_density, prover->a_aux_bit_len},
        {"b_inp_density", prover->b_inp_density, prover->b_inp_bit_len},
        {"b_aux_density", prover->b_aux_density, prover->b_aux_bit_len},
        {"a", prover->a, prover->abc_size},
        {"b", prover->b, prover->abc_size},
        {"c", prover->c, prover->abc_size},
        {"inp_assignment_data", prover->inp_assignment_data, 1},
        {"aux_assignment_data", prover->aux_assignment_data, prover->aux_assignment_size}};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if ((arrays[i].pointer == NULL && arrays[i].n != 0) || !is_aligned(arrays[i].pointer)) {
            return pm_supraseal_fail(error, PM_INVALID_ARGUMENT, "%s of circuit %zu is %s",
                                     arrays[i].name, index,
                                     arrays[i].pointer == NULL ? "NULL" : "not 8-byte aligned");
        }
    }
    return PM_OK;
}

static pm_status compare(const struct expectation *expected, size_t n, size_t index,
                         pm_error *error) {
    for (size_t i = 0; i < n; i++) {
        if (expected[i].have != expected[i].need) {
            return pm_supraseal_fail(error, PM_COUNT, "%s of circuit %zu is %llu, it must be %llu",
                                     expected[i].what, index, (unsigned long long)expected[i].have,
                                     (unsigned long long)expected[i].need);
        }
    }
    return PM_OK;
}

static pm_status check_sizes(const pm_supraseal_assignment *prover,
                             const struct pm_supraseal_counts *counts, size_t index,
                             pm_error *error) {
    const struct expectation sizes[] = {
        {"inp_assignment_size", counts->n_inputs, prover->inp_assignment_size},
        {"aux_assignment_size", counts->n_aux, prover->aux_assignment_size},
        {"a_aux_bit_len", counts->n_aux, prover->a_aux_bit_len},
        {"b_inp_bit_len", counts->n_inputs, prover->b_inp_bit_len},
        {"b_aux_bit_len", counts->n_aux, prover->b_aux_bit_len},
        {"a_aux_popcount", counts->n_a - counts->n_inputs, prover->a_aux_popcount}};
    const pm_status status = compare(sizes, sizeof sizes / sizeof sizes[0], index, error);
    if (status != PM_OK) {
        return status;
    }
    if (prover->b_inp_popcount > prover->b_inp_bit_len ||
        prover->b_aux_popcount > prover->b_aux_bit_len ||
        prover->b_inp_popcount + prover->b_aux_popcount != counts->n_b) {
        return pm_supraseal_fail(
            error, PM_COUNT,
            "b_inp_popcount and b_aux_popcount of circuit %zu are %zu and %zu, together they must "
            "be %llu",
            index, prover->b_inp_popcount, prover->b_aux_popcount, (unsigned long long)counts->n_b);
    }
    const uint64_t n_rows_max = UINT64_C(1) << counts->log_n;
    if (prover->abc_size < counts->n_inputs || prover->abc_size > n_rows_max) {
        return pm_supraseal_fail(
            error, PM_COUNT, "abc_size of circuit %zu is %zu, it must be %llu to %llu", index,
            prover->abc_size, (unsigned long long)counts->n_inputs, (unsigned long long)n_rows_max);
    }
    return PM_OK;
}

/* Sums over a density's bits read as many points as it says there are. */
static pm_status check_densities(const pm_supraseal_assignment *prover, size_t index,
                                 pm_error *error) {
    const struct expectation bits[] = {
        {"the number of bits set in a_aux_density", prover->a_aux_popcount,
         count_bits(prover->a_aux_density, prover->a_aux_bit_len)},
        {"the number of bits set in b_inp_density", prover->b_inp_popcount,
         count_bits(prover->b_inp_density, prover->b_inp_bit_len)},
        {"the number of bits set in b_aux_density", prover->b_aux_popcount,
         count_bits(prover->b_aux_density, prover->b_aux_bit_len)}};
    return compare(bits, sizeof bits / sizeof bits[0], index, error);
}

static pm_status check_request(const struct pm_supraseal_request *request, pm_error *error) {
    if (request->provers == NULL || request->r_s == NULL || request->s_s == NULL ||
        request->srs == NULL || request->srs->ptr == NULL) {
        return pm_supraseal_fail(error, PM_INVALID_ARGUMENT,
                                 "the assignments, r_s, s_s or the SRS is NULL");
    }
    if (request->n == 0 || request->n > SIZE_MAX / 2 / sizeof(struct half)) {
        return pm_supraseal_fail(error, PM_INVALID_ARGUMENT, "%zu circuits cannot be proved",
                                 request->n);
    }
    if (request->gpu_index < -1) {
        return pm_supraseal_fail(error, PM_INVALID_ARGUMENT, "gpu_index %d is no device",
                                 request->gpu_index);
    }
    const struct pm_supraseal_counts *counts = pm_supraseal_points_counts(request->srs->ptr);
    pm_status status = PM_OK;
    for (size_t i = 0; status == PM_OK && i < request->n; i++) {
        const pm_supraseal_assignment *prover = &request->provers[i];
        status = check_pointers(prover, i, error);
        if (status == PM_OK) {
            status = check_sizes(prover, counts, i, error);
        }
        if (status == PM_OK) {
            status = check_densities(prover, i, error);
        }
    }
    return status;
}

/* ---- The first half -------------------------------------------------------------------------- */

void pm_supraseal_destroy(struct pm_supraseal_pending *pending) {
    if (pending == NULL) {
        return;
    }
    for (size_t i = 0; i < pending->n; i++) {
        pm_pending_drop(pending->halves[i].pending);
    }
    explicit_bzero(pending->halves, pending->n * sizeof pending->halves[0]);
    pm_supraseal_engine_release(pending->engine);
    free(pending);
}

static pm_status pending_make(const struct pm_supraseal_request *request,
                              struct pm_supraseal_pending **out, pm_error *error) {
    struct pm_supraseal_pending *pending =
        calloc(1, sizeof *pending + request->n * sizeof pending->halves[0]);
    if (pending == NULL) {
        return pm_supraseal_fail(error, PM_NO_MEMORY, "no memory for %zu pending proofs",
                                 request->n);
    }
    pending->engine = pm_supraseal_engine_retain(pm_supraseal_points_engine(request->srs->ptr));
    const pm_status status =
        pm_supraseal_engine_context(pending->engine, request->gpu_index, &pending->context, error);
    if (status != PM_OK) {
        pm_supraseal_destroy(pending);
        return status;
    }
    pending->n = request->n;
    for (size_t i = 0; i < request->n; i++) {
        memcpy(&pending->halves[i].r, &request->r_s[i], PM_FR_BYTES);
        memcpy(&pending->halves[i].s, &request->s_s[i], PM_FR_BYTES);
    }
    *out = pending;
    return PM_OK;
}

static pm_assignment as_ours(const pm_supraseal_assignment *prover) {
    return (pm_assignment){.struct_bytes = sizeof(pm_assignment),
                           .curve = PM_CURVE_BLS12_381,
                           .form = PM_SCALAR_MONTGOMERY,
                           .inputs = prover->inp_assignment_data,
                           .aux = prover->aux_assignment_data,
                           .n_inputs = prover->inp_assignment_size,
                           .n_aux = prover->aux_assignment_size,
                           .a = prover->a,
                           .b = prover->b,
                           .c = prover->c,
                           .n_rows = prover->abc_size,
                           .a_aux_density = prover->a_aux_density,
                           .b_input_density = prover->b_inp_density,
                           .b_aux_density = prover->b_aux_density};
}

static pm_status start_one(const struct pm_supraseal_pending *pending, const pm_key *key,
                           const pm_supraseal_assignment *prover, struct half *half,
                           pm_error *error) {
    const struct pm_supraseal_engine *engine = pending->engine;
    const pm_assignment assignment = as_ours(prover);
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .no_self_verify = !pm_supraseal_engine_verifies(engine)};
    const pm_control control = {.struct_bytes = sizeof control, .log = pm_supraseal_log};
    if (pm_supraseal_engine_record_folder(engine) != NULL) {
        const pm_status status = pm_supraseal_record(engine, &assignment, error);
        if (status != PM_OK) {
            return status;
        }
    }
    return pm_prove_start_assignment(pending->context, key, &assignment, &options, &control,
                                     &half->pending, error);
}

static pm_status say_which(pm_status status, size_t index, size_t n, pm_error *error) {
    if (status != PM_OK && n > 1) {
        char sentence[sizeof error->message];
        memcpy(sentence, error->message, sizeof sentence);
        (void)snprintf(error->message, sizeof error->message, "circuit %zu: %.480s", index,
                       sentence);
    }
    return status;
}

static pm_status begin(const struct pm_supraseal_request *request,
                       struct pm_supraseal_pending **pending, const pm_key **key, pm_error *error) {
    pm_status status = check_request(request, error);
    if (status == PM_OK) {
        status = pm_supraseal_points_key(request->srs->ptr, key, error);
    }
    if (status == PM_OK) {
        status = pending_make(request, pending, error);
    }
    return status;
}

/* ---- The second half ------------------------------------------------------------------------- */

static pm_status finish_one(struct half *half, pm_supraseal_proof *out, pm_error *error) {
    pm_pending *const pending = half->pending;
    pm_proof proof = {.struct_bytes = sizeof proof};
    size_t n_bytes = sizeof *out;
    half->pending = NULL; /* finishing consumes it */
    const pm_status status = pm_prove_finish_with_blinding(
        pending, &half->r, &half->s, PM_SCALAR_MONTGOMERY, NULL, &proof, NULL, error);
    return status == PM_OK ? pm_proof_encode(&proof, PM_POINT_MONTGOMERY_LE, out, &n_bytes, error)
                           : status;
}

/* The CPU sums over G2 and verifies meanwhile. */
static pm_status finish_at(struct pm_supraseal_pending *pending, size_t i,
                           pm_supraseal_proof *proofs, pm_error *error) {
    pm_supraseal_throttle_begin();
    const pm_status status = finish_one(&pending->halves[i], &proofs[i], error);
    pm_supraseal_throttle_end();
    return say_which(status, i, pending->n, error);
}

static pm_status make_room(size_t n, const pm_supraseal_proof *out, pm_supraseal_proof **proofs,
                           pm_error *error) {
    if (out == NULL) {
        return pm_supraseal_fail(error, PM_INVALID_ARGUMENT, "no room for the proofs: out is NULL");
    }
    *proofs = calloc(n, sizeof **proofs);
    return *proofs != NULL ? PM_OK
                           : pm_supraseal_fail(error, PM_NO_MEMORY, "no memory for %zu proofs", n);
}

/* All of them, or none. */
static void hand_out(pm_status status, pm_supraseal_proof *proofs, size_t n,
                     pm_supraseal_proof *out) {
    if (status == PM_OK) {
        memcpy(out, proofs, n * sizeof *out);
    }
    free(proofs);
}

pm_supraseal_error pm_supraseal_finalize(struct pm_supraseal_pending *pending,
                                         pm_supraseal_proof *out) {
    pm_error error = PM_ERROR_INIT;
    pm_supraseal_proof *proofs = NULL;
    if (pending == NULL) {
        return pm_supraseal_answer(
            pm_supraseal_fail(&error, PM_INVALID_ARGUMENT, "the pending proof is NULL"), &error);
    }
    pm_status status = make_room(pending->n, out, &proofs, &error);
    for (size_t i = 0; status == PM_OK && i < pending->n; i++) {
        status = finish_at(pending, i, proofs, &error);
    }
    hand_out(status, proofs, pending->n, out);
    pm_supraseal_destroy(pending);
    return pm_supraseal_answer(status, &error);
}

/* ---- Circuits spread over devices --------------------------------------------------------------
 */

/* Circuits first to end - 1, one after another on one device. */
struct range {
    const struct pm_supraseal_request *request;
    struct pm_supraseal_pending *pending;
    const pm_key *key;
    pm_supraseal_proof *proofs; /* NULL: they are started alone */
    size_t first, end;
    pthread_mutex_t *turn; /* held while one is started; NULL: the caller holds it */
    pm_status status;
    pm_error error;
    pthread_t thread;
    bool is_on_thread;
};

/* Calls that name no mutex take turns on this one. */
static pthread_mutex_t turn_of_all = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *turn_of(const struct pm_supraseal_request *request) {
    return request->mutex != NULL ? request->mutex : &turn_of_all;
}

static pm_status start_in_turn(struct range *range, size_t i) {
    const struct pm_supraseal_request *request = range->request;
    if (range->turn != NULL) {
        (void)pthread_mutex_lock(range->turn);
    }
    const pm_status status = start_one(range->pending, range->key, &request->provers[i],
                                       &range->pending->halves[i], &range->error);
    if (range->turn != NULL) {
        (void)pthread_mutex_unlock(range->turn);
    }
    return say_which(status, i, request->n, &range->error);
}

/* Each proof is finished after the next one was started: the device has gone on to that while the
 * CPU sums over G2. So no more than two are pending. */
static void *run_range(void *argument) {
    struct range *range = argument;
    pm_status status = PM_OK;
    for (size_t i = range->first; status == PM_OK && i < range->end; i++) {
        status = start_in_turn(range, i);
        if (status == PM_OK && range->proofs != NULL && i > range->first) {
            status = finish_at(range->pending, i - 1, range->proofs, &range->error);
        }
    }
    if (status == PM_OK && range->proofs != NULL && range->end > range->first) {
        status = finish_at(range->pending, range->end - 1, range->proofs, &range->error);
    }
    range->status = status;
    return NULL;
}

/* A thread for each range but the first, which is the caller's own. */
static void run_ranges(struct range *ranges, size_t n) {
    pm_error ignored;
    for (size_t i = 1; i < n; i++) {
        ranges[i].is_on_thread =
            pm_supraseal_thread_start(&ranges[i].thread, run_range, &ranges[i], &ignored) == PM_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (!ranges[i].is_on_thread) {
            (void)run_range(&ranges[i]);
        }
    }
    for (size_t i = 1; i < n; i++) {
        if (ranges[i].is_on_thread) {
            (void)pthread_join(ranges[i].thread, NULL);
        }
    }
}

#define RANGES_MAX 16

/* Neighbours go to one device, the first n mod devices of which get one more. proofs NULL: they are
 * started alone. */
static pm_status run_request(const struct pm_supraseal_request *request,
                             struct pm_supraseal_pending *pending, const pm_key *key,
                             pm_supraseal_proof *proofs, pm_error *error) {
    struct range ranges[RANGES_MAX];
    size_t n = request->gpu_index < 0 ? pm_supraseal_engine_n_devices(pending->engine) : 1;
    n = n < request->n ? n : request->n;
    n = n < RANGES_MAX ? n : RANGES_MAX;
    size_t first = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t size = request->n / n + (i < request->n % n ? 1 : 0);
        ranges[i] = (struct range){.request = request,
                                   .pending = pending,
                                   .key = key,
                                   .proofs = proofs,
                                   .first = first,
                                   .end = first + size,
                                   .turn = n == 1 ? turn_of(request) : NULL,
                                   .error = PM_ERROR_INIT};
        first += size;
    }
    if (n > 1) {
        (void)pthread_mutex_lock(turn_of(request));
    }
    run_ranges(ranges, n);
    if (n > 1) {
        (void)pthread_mutex_unlock(turn_of(request));
    }
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].status != PM_OK) {
            *error = ranges[i].error;
            return ranges[i].status;
        }
    }
    return PM_OK;
}

/* ---- Calls -------------------------------------------------------------------------------------
 */

pm_supraseal_error pm_supraseal_start(const struct pm_supraseal_request *request,
                                      struct pm_supraseal_pending **out) {
    pm_error error = PM_ERROR_INIT;
    const pm_key *key = NULL;
    struct pm_supraseal_pending *pending = NULL;
    pm_status status = begin(request, &pending, &key, &error);
    if (status == PM_OK) {
        status = run_request(request, pending, key, NULL, &error);
    }
    if (status != PM_OK) {
        pm_supraseal_destroy(pending);
        return pm_supraseal_answer(status, &error);
    }
    *out = pending;
    return pm_supraseal_answer(PM_OK, &error);
}

pm_supraseal_error pm_supraseal_generate(const struct pm_supraseal_request *request,
                                         pm_supraseal_proof *out) {
    pm_error error = PM_ERROR_INIT;
    const pm_key *key = NULL;
    struct pm_supraseal_pending *pending = NULL;
    pm_supraseal_proof *proofs = NULL;
    pm_status status = begin(request, &pending, &key, &error);
    if (status == PM_OK) {
        status = make_room(request->n, out, &proofs, &error);
    }
    if (status == PM_OK) {
        status = run_request(request, pending, key, proofs, &error);
    }
    hand_out(status, proofs, request->n, out);
    pm_supraseal_destroy(pending);
    return pm_supraseal_answer(status, &error);
}
