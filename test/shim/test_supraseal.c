/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs through libproofmill-supraseal, by a caller that behaves as bellperson's Rust side: every
 * array is unmapped at the first moment that the interface allows, halves meet on different threads
 * in any order, handles are cloned and dropped as values move. Each proof verifies, each parameter
 * file has the length that its shape says.
 *
 *   test_supraseal [slow]   slow: up to 2^20, WinningPoSt 32 GiB, PoRep 2 KiB
 */
#include "support/file_builder.h"
#include "support/seeded_random.h"
#include "support/supraseal_abi.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct supraseal flavours[SUPRASEAL_FLAVOURS];
static struct seeded_random seeded;
static bool is_slow;

/* What set_membw_throttle() was told: the library finds this one by its name. */
static int throttle_now, throttle_calls;
void set_membw_throttle(int value);
__attribute__((visibility("default"))) void set_membw_throttle(int value) {
    __atomic_store_n(&throttle_now, value, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&throttle_calls, 1, __ATOMIC_SEQ_CST);
}

static int suite_open(void **state) {
    (void)state;
    seeded = seeded_random_from_environment();
    supraseal_load(SUPRASEAL_UPSTREAM, &flavours[SUPRASEAL_UPSTREAM]);
    supraseal_load(SUPRASEAL_CURIO, &flavours[SUPRASEAL_CURIO]);
    return 0;
}

static int suite_close(void **state) {
    (void)state;
    supraseal_unload(&flavours[SUPRASEAL_UPSTREAM]);
    supraseal_unload(&flavours[SUPRASEAL_CURIO]);
    return 0;
}

/* A scalar in Montgomery form: anything below the modulus is one. */
static void draw_scalar(uint8_t scalar[32]) {
    seeded_random_bytes(&seeded, scalar, 32);
    scalar[31] &= 0x3f;
}

#define CIRCUITS_MAX 8

/* One call's circuits. */
struct batch {
    size_t n;
    struct bellman_circuit circuits[CIRCUITS_MAX];
    struct rust_assignment assignments[CIRCUITS_MAX];
    uint8_t *publics[CIRCUITS_MAX];
    uint8_t r_s[CIRCUITS_MAX][32], s_s[CIRCUITS_MAX][32];
    uint8_t proofs[CIRCUITS_MAX][RUST_PROOF_BYTES];
};

static void batch_make(const struct bellman_shape *shape, size_t n, struct batch *batch) {
    batch->n = n;
    for (size_t i = 0; i < n; i++) {
        bellman_circuit_make(shape, seeded_random_u64(&seeded), NULL, &batch->circuits[i]);
        batch->assignments[i] = rust_assignment_of(&batch->circuits[i]);
        batch->publics[i] = bellman_circuit_publics(&batch->circuits[i]);
        draw_scalar(batch->r_s[i]);
        draw_scalar(batch->s_s[i]);
    }
    memset(batch->proofs, 0xee, sizeof batch->proofs);
}

/* When start has returned: the vectors go, and so does what was passed beside the arrays. */
static void batch_after_start(struct batch *batch) {
    for (size_t i = 0; i < batch->n; i++) {
        bellman_circuit_drop(&batch->circuits[i], BELLMAN_A);
        bellman_circuit_drop(&batch->circuits[i], BELLMAN_B);
        bellman_circuit_drop(&batch->circuits[i], BELLMAN_C);
    }
    memset(batch->assignments, 0xff, sizeof batch->assignments);
    memset(batch->r_s, 0xff, sizeof batch->r_s);
    memset(batch->s_s, 0xff, sizeof batch->s_s);
}

static void batch_free(struct batch *batch) {
    for (size_t i = 0; i < batch->n; i++) {
        bellman_circuit_free(&batch->circuits[i]);
        free(batch->publics[i]);
    }
    batch->n = 0;
}

static void batch_verify(const struct batch *batch, const struct rust_params *params) {
    for (size_t i = 0; i < batch->n; i++) {
        assert_int_equal(rust_params_verify(params, batch->publics[i], batch->proofs[i]), PM_OK);
    }
    if (batch->n > 1) { /* each is of its own statement */
        assert_int_equal(rust_params_verify(params, batch->publics[0], batch->proofs[1]),
                         PM_PROOF_INVALID);
    }
}

/* ---- One shape after another ------------------------------------------------------------------
 */

static void prove_at_once(const struct supraseal *supraseal, const struct rust_params *params,
                          const struct bellman_shape *shape, size_t n) {
    struct batch batch;
    struct rust_srs srs;
    batch_make(shape, n, &batch);
    rust_expect_good(supraseal->create(&srs, params->path, false));
    rust_expect_good(supraseal_generate(supraseal, batch.assignments, n, batch.r_s, batch.s_s,
                                        batch.proofs, &srs));
    supraseal->drop(&srs);
    batch_verify(&batch, params);
    batch_free(&batch);
}

static void prove_in_halves(const struct rust_params *params, const struct bellman_shape *shape,
                            size_t n) {
    const struct supraseal *curio = &flavours[SUPRASEAL_CURIO];
    struct batch batch;
    struct rust_srs srs;
    void *pending = NULL, *mutex = curio->create_mutex();
    batch_make(shape, n, &batch);
    rust_expect_good(curio->create(&srs, params->path, false));
    rust_expect_good(
        curio->start(batch.assignments, n, batch.r_s, batch.s_s, &srs, mutex, -1, &pending));
    batch_after_start(&batch);
    curio->drop(&srs); /* the pending proof has what it needs */
    curio->destroy_mutex(mutex);
    rust_expect_good(curio->finalize(pending, batch.proofs));
    for (size_t i = 0; i < n; i++) {
        bellman_circuit_free(&batch.circuits[i]);
    }
    batch_verify(&batch, params);
    batch_free(&batch);
}

static void try_shape(const struct bellman_shape *shape, uint64_t params_bytes) {
    struct rust_params params;
    rust_params_make(shape, &params);
    assert_true(params.n_bytes == bellman_params_bytes(shape));
    assert_true(params_bytes == 0 || params.n_bytes == params_bytes);
    const bool is_small = shape->n_rows <= 4096;
    prove_at_once(&flavours[SUPRASEAL_UPSTREAM], &params, shape, is_small ? 3 : 1);
    if (is_small || is_slow) {
        prove_at_once(&flavours[SUPRASEAL_CURIO], &params, shape, is_small ? 2 : 1);
    }
    prove_in_halves(&params, shape, is_small ? 2 : 1);
    rust_params_free(&params);
    assert_int_equal(process_threads_settled(1), 1); /* nothing of the library is left */
}

/* Under TSan, where threads are of interest and sizes are not, the large ones take too long. */
#if defined(__SANITIZE_THREAD__)
#define LOG_N_MAX 9
#define ROWS_MAX 30000
#else
#define LOG_N_MAX 12
#define ROWS_MAX UINT64_MAX
#endif

static void proofs_of_every_size_verify(void **state) {
    (void)state;
    const uint32_t last = is_slow ? 20 : LOG_N_MAX;
    for (uint32_t log_n = 4; log_n <= last; log_n++) {
        const struct bellman_shape shape = bellman_shape_of_log_n(log_n);
        assert_true(shape.n_rows > UINT64_C(1) << (log_n - 1));
        try_shape(&shape, 0);
    }
}

/* Shapes of Filecoin's circuits, and the lengths of their published parameter files. */
static const struct {
    struct bellman_shape shape;
    uint64_t params_bytes;
    bool slow;
} filecoin[] = {{{23, 21889, 22128, 16770, 16028}, 11501496, false},      /* WindowPoSt 2 KiB */
                {{133, 90883, 91674, 69300, 66792}, 47299128, false},     /* WinningPoSt 2 KiB */
                {{133, 370723, 375210, 284196, 272184}, 192050232, true}, /* WinningPoSt 32 GiB */
                {{40, 2687961, 2685673, 2674908, 685521}, 1114707768, true}}; /* PoRep 2 KiB */

static void proofs_of_filecoins_shapes_verify(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof filecoin / sizeof filecoin[0]; i++) {
        if (is_slow || (!filecoin[i].slow && filecoin[i].shape.n_rows <= ROWS_MAX)) {
            try_shape(&filecoin[i].shape, filecoin[i].params_bytes);
        }
    }
}

/* The others of Filecoin's are too large for a machine of any size: their lengths alone. */
static void lengths_of_filecoins_files_follow_from_their_shapes(void **state) {
    (void)state;
    static const struct {
        struct bellman_shape shape;
        uint64_t params_bytes;
    } large[] = {{{328, 130278869, 130169893, 129753292, 33112281}, UINT64_C(47373928632)},
                 {{328, 131186177, 131076643, 130637542, 33386943}, UINT64_C(47624967288)},
                 {{40, 3844969, 3842449, 3814996, 1011289}, UINT64_C(1429027896)},
                 {{40, 4423473, 4420837, 4385040, 1174173}, UINT64_C(1988841144)},
                 {{25840, 125305057, 126902376, 96179805, 91925766}, UINT64_C(60780374232)},
                 {{25301, 129913201, 131500200, 99624500, 95413200}, UINT64_C(62556733560)},
                 {{5, 81049504, 80978488, 80743581, 20983607}, UINT64_C(34453501368)},
                 {{5, 85006106, 84931220, 84682725, 22012683}, UINT64_C(35507495352)}};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        assert_true(bellman_params_bytes(&large[i].shape) == large[i].params_bytes);
    }
}

/* ---- Threads ----------------------------------------------------------------------------------
 */

#define N_STARTERS 3
#define N_FINISHERS 2
#define STARTS_EACH 6

/* Pending proofs on their way from those that start to those that finish. */
struct exchange {
    const struct rust_params *params;
    struct bellman_shape shape;
    struct rust_srs srs[N_STARTERS]; /* one each, taken in the order they begin; under lock */
    size_t n_begun;
    void *mutex;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        struct batch *batch;
        void *pending;
    } waiting[N_STARTERS * STARTS_EACH];
    size_t n_waiting, n_to_come;
    struct seeded_random random; /* under lock */
};

/* As Rust moves an SRS into a thread: a clone, dropped by that thread. One more for each start. */
static void *start_some(void *argument) {
    struct exchange *exchange = argument;
    const struct supraseal *curio = &flavours[SUPRASEAL_CURIO];
    (void)pthread_mutex_lock(&exchange->lock);
    struct rust_srs srs = exchange->srs[exchange->n_begun++];
    (void)pthread_mutex_unlock(&exchange->lock);
    for (int i = 0; i < STARTS_EACH; i++) {
        struct batch *batch = calloc(1, sizeof *batch);
        void *pending = NULL;
        (void)pthread_mutex_lock(&exchange->lock);
        batch_make(&exchange->shape, 1 + (size_t)i % 2, batch);
        (void)pthread_mutex_unlock(&exchange->lock);
        struct rust_srs moved = curio->clone(&srs);
        rust_expect_good(curio->start(batch->assignments, batch->n, batch->r_s, batch->s_s, &moved,
                                      i % 2 == 0 ? exchange->mutex : NULL, -1, &pending));
        batch_after_start(batch);
        curio->drop(&moved);
        (void)pthread_mutex_lock(&exchange->lock);
        exchange->waiting[exchange->n_waiting].batch = batch;
        exchange->waiting[exchange->n_waiting++].pending = pending;
        (void)pthread_cond_signal(&exchange->changed);
        (void)pthread_mutex_unlock(&exchange->lock);
    }
    curio->drop(&srs);
    return NULL;
}

/* Any of those that wait; one in six is given up. */
static void *finish_some(void *argument) {
    struct exchange *exchange = argument;
    const struct supraseal *curio = &flavours[SUPRASEAL_CURIO];
    for (;;) {
        (void)pthread_mutex_lock(&exchange->lock);
        while (exchange->n_waiting == 0 && exchange->n_to_come > 0) {
            (void)pthread_cond_wait(&exchange->changed, &exchange->lock);
        }
        if (exchange->n_to_come == 0) {
            (void)pthread_cond_broadcast(&exchange->changed);
            (void)pthread_mutex_unlock(&exchange->lock);
            return NULL;
        }
        const size_t at = seeded_random_below(&exchange->random, exchange->n_waiting);
        struct batch *batch = exchange->waiting[at].batch;
        void *pending = exchange->waiting[at].pending;
        exchange->waiting[at] = exchange->waiting[--exchange->n_waiting];
        exchange->n_to_come--;
        const bool gives_up = seeded_random_below(&exchange->random, 6) == 0;
        (void)pthread_mutex_unlock(&exchange->lock);
        if (gives_up) {
            curio->destroy(pending);
        } else {
            rust_expect_good(curio->finalize(pending, batch->proofs));
            for (size_t i = 0; i < batch->n; i++) {
                bellman_circuit_free(&batch->circuits[i]);
            }
            batch_verify(batch, exchange->params);
        }
        batch_free(batch);
        free(batch);
    }
}

static void halves_meet_on_any_thread_in_any_order(void **state) {
    (void)state;
    struct rust_params params;
    struct exchange exchange = {.params = &params,
                                .shape = bellman_shape_of_log_n(8),
                                .mutex = flavours[SUPRASEAL_CURIO].create_mutex(),
                                .n_to_come = N_STARTERS * STARTS_EACH,
                                .random = {.state = seeded_random_u64(&seeded)}};
    pthread_t threads[N_STARTERS + N_FINISHERS];
    struct rust_srs first;
    rust_params_make(&exchange.shape, &params);
    (void)pthread_mutex_init(&exchange.lock, NULL);
    (void)pthread_cond_init(&exchange.changed, NULL);
    throttle_calls = 0;
    rust_expect_good(flavours[SUPRASEAL_CURIO].create(&first, params.path, false));
    for (size_t i = 0; i < N_STARTERS; i++) {
        exchange.srs[i] = flavours[SUPRASEAL_CURIO].clone(&first);
    }
    for (size_t i = 0; i < N_STARTERS + N_FINISHERS; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < N_STARTERS ? start_some : finish_some, &exchange),
            0);
    }
    /* The first handle goes while its clones work. */
    flavours[SUPRASEAL_CURIO].drop(&first);
    for (size_t i = 0; i < N_STARTERS + N_FINISHERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    flavours[SUPRASEAL_CURIO].destroy_mutex(exchange.mutex);
    (void)pthread_cond_destroy(&exchange.changed);
    (void)pthread_mutex_destroy(&exchange.lock);
    /* The host was asked to go easy, and has been told that it need not any more. */
    assert_true(throttle_calls >= 2 && throttle_now == 0);
    rust_params_free(&params);
    assert_int_equal(process_threads_settled(1), 1);
}

/* ---- What r and s do ---------------------------------------------------------------------------
 */

/* The same r and s give the same proof, through either flavour and in either way; others another.
 */
static void blinding_is_the_callers(void **state) {
    (void)state;
    const struct supraseal *upstream = &flavours[SUPRASEAL_UPSTREAM];
    const struct supraseal *curio = &flavours[SUPRASEAL_CURIO];
    const struct bellman_shape shape = bellman_shape_of_log_n(6);
    struct rust_params params;
    struct batch batch;
    struct rust_srs one, two;
    uint8_t again[RUST_PROOF_BYTES], zero[32] = {0};
    void *pending = NULL;
    rust_params_make(&shape, &params);
    batch_make(&shape, 1, &batch);
    rust_expect_good(upstream->create(&one, params.path, false));
    rust_expect_good(curio->create(&two, params.path, true));
    rust_expect_good(
        upstream->generate6(batch.assignments, 1, batch.r_s, batch.s_s, batch.proofs, &one));
    rust_expect_good(
        curio->start(batch.assignments, 1, batch.r_s, batch.s_s, &two, NULL, -1, &pending));
    rust_expect_good(curio->finalize(pending, again));
    assert_memory_equal(again, batch.proofs[0], sizeof again);
    rust_expect_good(curio->generate8(batch.assignments, 1, zero, zero, again, &two, NULL, 0));
    assert_memory_not_equal(again, batch.proofs[0], sizeof again);
    assert_int_equal(rust_params_verify(&params, batch.publics[0], again), PM_OK);
    curio->evict(&two);
    curio->drop(&two);
    upstream->drop(&one);
    batch_verify(&batch, &params);
    batch_free(&batch);
    rust_params_free(&params);
    assert_int_equal(process_threads_settled(1), 1);
}

int main(int n_arguments, char **arguments) {
    is_slow = n_arguments > 1 && strcmp(arguments[1], "slow") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blinding_is_the_callers),
        cmocka_unit_test(halves_meet_on_any_thread_in_any_order),
        cmocka_unit_test(proofs_of_every_size_verify),
        cmocka_unit_test(proofs_of_filecoins_shapes_verify),
        cmocka_unit_test(lengths_of_filecoins_files_follow_from_their_shapes),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
