/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * libproofmill-supraseal when something is wrong: each size that does not fit, assignments that do
 * not satisfy, values that are none, damaged files, handles dropped while the points are decoded.
 * Every answer has a code, a sentence and no proof; nothing of the library is left afterwards.
 */
#include "support/file_builder.h"
#include "support/seeded_random.h"
#include "support/supraseal_abi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct supraseal upstream, curio;
static struct rust_params params;
static struct bellman_shape shape;
static struct bellman_circuit circuit;
static uint8_t blinding[4][32], proofs[4][RUST_PROOF_BYTES], untouched[4][RUST_PROOF_BYTES];

static int suite_open(void **state) {
    (void)state;
    supraseal_load(SUPRASEAL_UPSTREAM, &upstream);
    supraseal_load(SUPRASEAL_CURIO, &curio);
    shape = bellman_shape_of_log_n(7);
    rust_params_make(&shape, &params);
    bellman_circuit_make(&shape, 5, NULL, &circuit);
    memset(blinding, 0x11, sizeof blinding);
    memset(untouched, 0xee, sizeof untouched);
    return 0;
}

static int suite_close(void **state) {
    (void)state;
    bellman_circuit_free(&circuit);
    rust_params_free(&params);
    supraseal_unload(&upstream);
    supraseal_unload(&curio);
    return 0;
}

static int before_each(void **state) {
    (void)state;
    memcpy(proofs, untouched, sizeof proofs);
    return 0;
}

/* No thread is left, and no proof was written. */
static int after_each(void **state) {
    (void)state;
    /* The context of `params` has its own. */
    const unsigned expected = pm_context_threads(params.context);
    return process_threads_settled(expected) == expected &&
                   memcmp(proofs, untouched, sizeof proofs) == 0
               ? 0
               : -1;
}

static struct rust_srs open_srs(const struct supraseal *supraseal) {
    struct rust_srs srs;
    rust_expect_good(supraseal->create(&srs, params.path, false));
    return srs;
}

/* Refused in the same way by all three functions. */
static void expect_refused(const struct rust_assignment *assignments, size_t n, int code,
                           const char *piece) {
    struct rust_srs one = open_srs(&upstream), two = open_srs(&curio);
    void *pending = &pending;
    rust_expect_error(upstream.generate6(assignments, n, blinding, blinding, proofs, &one), code,
                      piece);
    rust_expect_error(curio.generate8(assignments, n, blinding, blinding, proofs, &two, NULL, -1),
                      code, piece);
    rust_expect_error(curio.start(assignments, n, blinding, blinding, &two, NULL, -1, &pending),
                      code, piece);
    assert_null(pending);
    upstream.drop(&one);
    curio.drop(&two);
}

/* ---- Sizes ------------------------------------------------------------------------------------
 */

static void every_size_must_fit(void **state) {
    (void)state;
    static const struct {
        size_t word; /* of the assignment */
        const char *name;
    } sizes[] = {{1, "a_aux_bit_len"},        {2, "a_aux_popcount"},      {4, "b_inp_bit_len"},
                 {5, "b_inp_popcount"},       {7, "b_aux_bit_len"},       {8, "b_aux_popcount"},
                 {14, "inp_assignment_size"}, {16, "aux_assignment_size"}};
    const size_t wrong[] = {0, 1, SIZE_MAX, SIZE_MAX / 32, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < 2 + sizeof wrong / sizeof wrong[0]; j++) {
            struct rust_assignment assignments[2] = {rust_assignment_of(&circuit),
                                                     rust_assignment_of(&circuit)};
            size_t words[17];
            memcpy(words, &assignments[1], sizeof words);
            const size_t good = words[sizes[i].word];
            words[sizes[i].word] = j == 0 ? good - 1 : j == 1 ? good + 1 : wrong[j - 2];
            if (words[sizes[i].word] == good) {
                continue;
            }
            memcpy(&assignments[1], words, sizeof words);
            expect_refused(assignments, 2, EINVAL, sizes[i].name);
        }
    }
}

static void rows_must_fit_the_domain(void **state) {
    (void)state;
    const size_t wrong[] = {0, (size_t)shape.n_inputs - 1, 129, SIZE_MAX, SIZE_MAX / 32};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct rust_assignment assignment = rust_assignment_of(&circuit);
        assignment.abc_size = wrong[i];
        expect_refused(&assignment, 1, EINVAL, "abc_size of circuit 0");
    }
}

static void pointers_must_be_there_and_aligned(void **state) {
    (void)state;
    static const size_t pointers[] = {0, 3, 6, 9, 10, 11, 13, 15};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        for (int is_odd = 0; is_odd < 2; is_odd++) {
            struct rust_assignment assignment = rust_assignment_of(&circuit);
            size_t words[17];
            memcpy(words, &assignment, sizeof words);
            words[pointers[i]] = is_odd ? words[pointers[i]] + 4 : 0;
            memcpy(&assignment, words, sizeof words);
            expect_refused(&assignment, 1, EINVAL, is_odd ? "aligned" : "NULL");
        }
    }
}

static void bits_must_be_as_many_as_they_say(void **state) {
    (void)state;
    static const enum bellman_array densities[] = {BELLMAN_A_AUX_DENSITY, BELLMAN_B_AUX_DENSITY};
    const struct rust_assignment assignment = rust_assignment_of(&circuit);
    for (size_t i = 0; i < 2; i++) {
        uint64_t *words = circuit.array[densities[i]];
        words[0] ^= 1;
        expect_refused(&assignment, 1, EINVAL, i == 0 ? "a_aux_density" : "b_aux_density");
        words[0] ^= 1;
    }
}

static void arguments_must_be_there(void **state) {
    (void)state;
    struct rust_srs srs = open_srs(&curio), none = {.ptr = NULL};
    const struct rust_assignment assignment = rust_assignment_of(&circuit);
    void *pending = NULL;
    expect_refused(NULL, 1, EINVAL, "NULL");
    expect_refused(&assignment, 0, EINVAL, "0 circuits");
    expect_refused(&assignment, SIZE_MAX, EINVAL, "circuits");
    rust_expect_error(curio.generate8(&assignment, 1, NULL, blinding, proofs, &srs, NULL, -1),
                      EINVAL, "NULL");
    rust_expect_error(curio.generate8(&assignment, 1, blinding, NULL, proofs, &srs, NULL, -1),
                      EINVAL, "NULL");
    rust_expect_error(curio.generate8(&assignment, 1, blinding, blinding, NULL, &srs, NULL, -1),
                      EINVAL, "out");
    rust_expect_error(curio.generate8(&assignment, 1, blinding, blinding, proofs, NULL, NULL, -1),
                      EINVAL, "NULL");
    rust_expect_error(curio.generate8(&assignment, 1, blinding, blinding, proofs, &none, NULL, -1),
                      EINVAL, "NULL");
    rust_expect_error(curio.generate8(&assignment, 1, blinding, blinding, proofs, &srs, NULL, -2),
                      EINVAL, "gpu_index");
    rust_expect_error(curio.start(&assignment, 1, blinding, blinding, &srs, NULL, -1, NULL), EINVAL,
                      "pending_out");
    rust_expect_good(curio.start(&assignment, 1, blinding, blinding, &srs, NULL, -1, &pending));
    rust_expect_error(curio.finalize(pending, NULL), EINVAL, "out"); /* and it is gone */
    curio.drop(&srs);
    curio.drop(&srs); /* is NULL by now */
}

/* ---- Values -----------------------------------------------------------------------------------
 */

/* One bit of any vector or value; the proof of another circuit beside it is withheld too. */
static void what_does_not_satisfy_is_an_error_and_no_proof(void **state) {
    (void)state;
    static const enum bellman_array arrays[] = {BELLMAN_A, BELLMAN_B, BELLMAN_C, BELLMAN_AUX,
                                                BELLMAN_INPUTS};
    struct seeded_random random = seeded_random_from_environment();
    struct bellman_circuit good;
    bellman_circuit_make(&shape, 6, NULL, &good);
    for (size_t i = 0; i < 3 * sizeof arrays / sizeof arrays[0]; i++) {
        const enum bellman_array array = arrays[i % 5];
        const uint64_t n = array == BELLMAN_AUX      ? shape.n_aux
                           : array == BELLMAN_INPUTS ? shape.n_inputs
                                                     : shape.n_rows - shape.n_inputs;
        const struct rust_assignment assignments[2] = {rust_assignment_of(&good),
                                                       rust_assignment_of(&circuit)};
        struct rust_srs srs = open_srs(&curio);
        void *pending = NULL;
        uint64_t *value =
            (uint64_t *)circuit.array[array] + 4 * (1 + seeded_random_below(&random, n - 1));
        value[0] ^= 2;
        rust_expect_good(curio.start(assignments, 2, blinding, blinding, &srs, NULL, -1, &pending));
        rust_expect_error(curio.finalize(pending, proofs), EINVAL, "circuit 1: the finished proof");
        rust_expect_error(
            curio.generate8(assignments, 2, blinding, blinding, proofs, &srs, NULL, -1), EINVAL,
            "does not satisfy");
        value[0] ^= 2;
        curio.drop(&srs);
    }
    bellman_circuit_free(&good);
}

static void values_must_be_below_the_modulus(void **state) {
    (void)state;
    static const enum bellman_array arrays[] = {BELLMAN_A, BELLMAN_B, BELLMAN_C, BELLMAN_AUX,
                                                BELLMAN_INPUTS};
    const struct rust_assignment assignment = rust_assignment_of(&circuit);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        uint64_t *top = (uint64_t *)circuit.array[arrays[i]] + 4 + 3;
        const uint64_t good = *top;
        *top = UINT64_MAX;
        expect_refused(&assignment, 1, EINVAL, "not below");
        *top = good;
    }
    uint64_t *one = circuit.array[BELLMAN_INPUTS];
    one[0] ^= 1;
    expect_refused(&assignment, 1, EINVAL, "inputs[0]");
    one[0] ^= 1;
}

static void blinding_must_be_below_the_modulus(void **state) {
    (void)state;
    const struct rust_assignment assignment = rust_assignment_of(&circuit);
    struct rust_srs srs = open_srs(&upstream);
    uint8_t large[32];
    memset(large, 0xff, sizeof large);
    rust_expect_error(upstream.generate6(&assignment, 1, large, blinding, proofs, &srs), EINVAL,
                      "r is not below");
    rust_expect_error(upstream.generate6(&assignment, 1, blinding, large, proofs, &srs), EINVAL,
                      "s is not below");
    upstream.drop(&srs);
}

/* ---- Files ------------------------------------------------------------------------------------
 */

static uint8_t *read_params(size_t *n_bytes) {
    *n_bytes = (size_t)params.n_bytes;
    uint8_t *bytes = malloc(*n_bytes + 1);
    FILE *file = fopen(params.path, "rb");
    assert_true(bytes != NULL && file != NULL);
    assert_int_equal(fread(bytes, 1, *n_bytes, file), *n_bytes);
    (void)fclose(file);
    return bytes;
}

/* Cut anywhere, or longer: known at once, as the G2 points at the end are as well. */
static void a_file_of_another_length_is_refused(void **state) {
    (void)state;
    size_t n_bytes;
    uint8_t *bytes = read_params(&n_bytes);
    const char *path = file_in_tree(params.tree, "cut.params");
    const size_t cuts[] = {0, 1, 95, 863, 866, 868, 900, n_bytes / 2, n_bytes - 96, n_bytes - 1};
    struct rust_srs srs;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        file_write(path, bytes, cuts[i]);
        rust_expect_error(upstream.create(&srs, path, i % 2 == 0), EINVAL, "cut.params");
        assert_null(srs.ptr);
    }
    bytes[n_bytes] = 0;
    file_write(path, bytes, n_bytes + 1);
    rust_expect_error(upstream.create(&srs, path, false), EINVAL, "follow");
    free(bytes);
}

/* In any part: the first proof says so, and so does the next; the cache gives no such file out
 * again. */
static void a_damaged_point_is_an_error_of_the_first_proof(void **state) {
    (void)state;
    size_t n_bytes;
    uint8_t *bytes = read_params(&n_bytes);
    const char *path = file_in_tree(params.tree, "damaged.params");
    const struct rust_assignment assignment = rust_assignment_of(&circuit);
    const size_t places[] = {868 + 20, n_bytes / 3, n_bytes / 2, n_bytes - 10};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct rust_srs srs, again;
        bytes[places[i]] ^= 1;
        file_write(path, bytes, n_bytes);
        bytes[places[i]] ^= 1;
        rust_expect_good(upstream.create(&srs, path, true));
        for (int turn = 0; turn < 2; turn++) {
            rust_expect_error(upstream.generate6(&assignment, 1, blinding, blinding, proofs, &srs),
                              EINVAL, "not on");
        }
        rust_expect_good(upstream.create(&again, path, true));
        assert_ptr_not_equal(again.ptr, srs.ptr);
        upstream.drop(&srs);
        upstream.evict(&again);
        upstream.drop(&again);
    }
    free(bytes);
}

/* Dropped at once, at any moment of the decoding. */
static void a_handle_may_go_while_points_are_decoded(void **state) {
    (void)state;
    for (useconds_t wait_us = 0; wait_us < 2000; wait_us += 100) {
        struct rust_srs srs = open_srs(&curio);
        struct rust_srs clone = curio.clone(&srs);
        assert_ptr_equal(clone.ptr, srs.ptr);
        (void)usleep(wait_us);
        curio.drop(&srs);
        curio.drop(&clone);
    }
}

/* ---- The cache --------------------------------------------------------------------------------
 */

static void cached_files_are_shared_until_they_are_evicted(void **state) {
    (void)state;
    struct rust_srs handles[6], again;
    size_t n_bytes;
    uint8_t *bytes = read_params(&n_bytes);
    char paths[6][1300];
    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/cached%zu.params", params.tree, i);
        file_write(paths[i], bytes, n_bytes);
        rust_expect_good(curio.create(&handles[i], paths[i], true));
    }
    /* The last four are kept, the two before them are not. */
    for (size_t i = 2; i < 6; i++) {
        rust_expect_good(curio.create(&again, paths[i], true));
        assert_ptr_equal(again.ptr, handles[i].ptr);
        curio.drop(&again);
    }
    rust_expect_good(curio.create(&again, paths[0], true)); /* in the place of number 2 */
    assert_ptr_not_equal(again.ptr, handles[0].ptr);
    curio.evict(&again);
    curio.drop(&again);
    /* Private ones are nobody else's. */
    rust_expect_good(curio.create(&again, paths[5], false));
    assert_ptr_not_equal(again.ptr, handles[5].ptr);
    curio.drop(&again);
    /* A file that was replaced is read anew. */
    file_write(paths[5], bytes, n_bytes);
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, paths[5], times, 0), 0);
    rust_expect_good(curio.create(&again, paths[5], true));
    assert_ptr_not_equal(again.ptr, handles[5].ptr);
    curio.drop(&again);
    for (size_t i = 0; i < 6; i++) {
        curio.evict(&handles[i]);
        curio.drop(&handles[i]);
    }
    free(bytes);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_size_must_fit),
        CASE(rows_must_fit_the_domain),
        CASE(pointers_must_be_there_and_aligned),
        CASE(bits_must_be_as_many_as_they_say),
        CASE(arguments_must_be_there),
        CASE(what_does_not_satisfy_is_an_error_and_no_proof),
        CASE(values_must_be_below_the_modulus),
        CASE(blinding_must_be_below_the_modulus),
        CASE(a_file_of_another_length_is_refused),
        CASE(a_damaged_point_is_an_error_of_the_first_proof),
        CASE(a_handle_may_go_while_points_are_decoded),
        CASE(cached_files_are_shared_until_they_are_evicted),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
