/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the environment tells libproofmill-supraseal: devices and whether the CPU may stand in for
 * them (which is said once), threads, checks, no verification, and recording. A recorded assignment
 * proves offline, is its owner's alone, and holds what the caller held.
 */
#include "support/file_builder.h"
#include "support/supraseal_abi.h"

#include <proofmill/experimental.h>

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct supraseal curio;
static struct rust_params params;
static struct bellman_circuit circuit;
static uint8_t blinding[32] = {1};
static const char *const variables[] = {
    "PROOFMILL_DEVICE", "PROOFMILL_NO_GPU", "PROOFMILL_FALLBACK", "PROOFMILL_VERIFY",
    "PROOFMILL_CHECK",  "PROOFMILL_RECORD", "PROOFMILL_QUIET",    "CUZK_GPU_THREADS"};

static int suite_open(void **state) {
    (void)state;
    const struct bellman_shape shape = bellman_shape_of_log_n(6);
    rust_params_make(&shape, &params);
    bellman_circuit_make(&shape, 9, NULL, &circuit);
    return 0;
}

static int suite_close(void **state) {
    (void)state;
    bellman_circuit_free(&circuit);
    rust_params_free(&params);
    return 0;
}

static int before_each(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        (void)unsetenv(variables[i]);
    }
    supraseal_load(SUPRASEAL_CURIO, &curio);
    return 0;
}

static int after_each(void **state) {
    (void)state;
    supraseal_unload(&curio);
    return 0;
}

static void say(const char *name, const char *value) {
    assert_int_equal(setenv(name, value, 1), 0);
}

static struct rust_error prove_once(uint8_t proof[RUST_PROOF_BYTES]) {
    const struct rust_assignment assignment = rust_assignment_of(&circuit);
    struct rust_srs srs;
    const struct rust_error error = curio.create(&srs, params.path, false);
    if (error.code != 0) {
        return error;
    }
    const struct rust_error answer =
        curio.generate8(&assignment, 1, blinding, blinding, proof, &srs, NULL, -1);
    curio.drop(&srs);
    return answer;
}

static void expect_proof(const uint8_t *proof) {
    uint8_t *publics = bellman_circuit_publics(&circuit);
    assert_int_equal(rust_params_verify(&params, publics, proof), PM_OK);
    free(publics);
}

static bool has_cards(void) {
    uint32_t n = 0;
    pm_error error = PM_ERROR_INIT;
    return pm_device_count(NULL, &n, &error) == PM_OK;
}

/* ---- Devices ----------------------------------------------------------------------------------
 */

/* Standard error into a file while two proofs are made; how many lines name us. */
static unsigned count_notes(void) {
    const char *path = file_in_tree(params.tree, "stderr");
    uint8_t proof[RUST_PROOF_BYTES];
    char line[1024];
    unsigned n = 0;
    const int saved = dup(STDERR_FILENO);
    FILE *file = fopen(path, "w+");
    assert_true(saved >= 0 && file != NULL);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    const struct rust_error first = prove_once(proof), second = prove_once(proof);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    rust_expect_good(first);
    rust_expect_good(second);
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        n += strncmp(line, "proofmill: ", 11) == 0 && strstr(line, "CPU") != NULL;
    }
    (void)fclose(file);
    return n;
}

/* The library remembers what it has said for as long as it is loaded. */
static void the_cpu_stands_in_and_says_so_once(void **state) {
    (void)state;
    if (has_cards()) {
        skip();
    }
    assert_int_equal(count_notes(), 1);
    assert_int_equal(count_notes(), 0);
}

static void the_cpu_says_nothing_when_it_was_asked_for(void **state) {
    (void)state;
    say("PROOFMILL_DEVICE", "cpu");
    assert_int_equal(count_notes(), 0);
    say("PROOFMILL_DEVICE", "auto");
    say("PROOFMILL_NO_GPU", "1");
    assert_int_equal(count_notes(), 0);
    say("PROOFMILL_NO_GPU", "no");
    say("PROOFMILL_QUIET", "1");
    assert_int_equal(count_notes(), 0);
}

static void the_cpu_does_not_stand_in_when_it_may_not(void **state) {
    (void)state;
    uint8_t proof[RUST_PROOF_BYTES];
    if (has_cards()) {
        skip();
    }
    say("PROOFMILL_FALLBACK", "0");
    rust_expect_error(prove_once(proof), ENODEV, "libproofmill-gpu");
    say("PROOFMILL_DEVICE", "auto");
    rust_expect_error(prove_once(proof), ENODEV, "libproofmill-gpu");
    say("PROOFMILL_DEVICE", "cuda:0");
    rust_expect_error(prove_once(proof), ENODEV, "libproofmill-gpu");
    say("PROOFMILL_DEVICE", "cpu");
    rust_expect_good(prove_once(proof));
    expect_proof(proof);
}

/* ---- Words ------------------------------------------------------------------------------------
 */

static void words_that_mean_nothing_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"PROOFMILL_VERIFY", "yes"},   {"PROOFMILL_FALLBACK", "2"},
        {"PROOFMILL_CHECK", "some"},   {"CUZK_GPU_THREADS", "many"},
        {"CUZK_GPU_THREADS", "-1"},    {"PROOFMILL_DEVICE", "abacus"},
        {"CUZK_GPU_THREADS", "2x"},    {"PROOFMILL_VERIFY", "secret"},
        {"PROOFMILL_DEVICE", "cuda:x"}};
    uint8_t proof[RUST_PROOF_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        say(wrong[i][0], wrong[i][1]);
        const struct rust_error error = prove_once(proof);
        assert_int_equal(error.code, EINVAL);
        assert_null(strstr(error.message, "secret"));
        free(error.message);
        (void)unsetenv(wrong[i][0]);
    }
    rust_expect_good(prove_once(proof));
}

static void threads_are_as_many_as_are_asked_for(void **state) {
    (void)state;
    const unsigned before = process_threads_at_rest();
    struct rust_srs srs;
    say("PROOFMILL_DEVICE", "cpu");
    say("CUZK_GPU_THREADS", "4");
    rust_expect_good(curio.create(&srs, params.path, false));
    assert_true(process_threads() >= before + 3); /* the caller's is one of them */
    curio.drop(&srs);
    assert_int_equal(process_threads_settled(before), before);
    say("CUZK_GPU_THREADS", "0");
    rust_expect_good(curio.create(&srs, params.path, false));
    curio.drop(&srs);
}

/* A caller that verifies itself may take what does not verify. */
static void verification_can_be_left_to_the_caller(void **state) {
    (void)state;
    uint8_t proof[RUST_PROOF_BYTES] = {0};
    uint64_t *value = (uint64_t *)circuit.array[BELLMAN_C] + 8;
    uint8_t *publics = bellman_circuit_publics(&circuit);
    value[0] ^= 1;
    say("PROOFMILL_VERIFY", "1");
    rust_expect_error(prove_once(proof), EINVAL, "withheld");
    say("PROOFMILL_VERIFY", "0");
    rust_expect_good(prove_once(proof));
    assert_int_equal(rust_params_verify(&params, publics, proof), PM_PROOF_INVALID);
    value[0] ^= 1;
    rust_expect_good(prove_once(proof));
    expect_proof(proof);
    free(publics);
}

/* ---- Recording --------------------------------------------------------------------------------
 */

static void expect_same_arrays(const pm_assignment *read) {
    const struct bellman_shape *shape = &circuit.shape;
    assert_int_equal(read->n_inputs, shape->n_inputs);
    assert_int_equal(read->n_aux, shape->n_aux);
    assert_int_equal(read->n_rows, shape->n_rows);
    assert_int_equal(read->form, PM_SCALAR_MONTGOMERY);
    assert_memory_equal(read->inputs, circuit.array[BELLMAN_INPUTS], 32 * shape->n_inputs);
    assert_memory_equal(read->aux, circuit.array[BELLMAN_AUX], 32 * shape->n_aux);
    assert_memory_equal(read->a, circuit.array[BELLMAN_A], 32 * shape->n_rows);
    assert_memory_equal(read->b, circuit.array[BELLMAN_B], 32 * shape->n_rows);
    assert_memory_equal(read->c, circuit.array[BELLMAN_C], 32 * shape->n_rows);
    assert_memory_equal(read->a_aux_density, circuit.array[BELLMAN_A_AUX_DENSITY],
                        shape->n_aux / 64 * 8);
    assert_memory_equal(read->b_aux_density, circuit.array[BELLMAN_B_AUX_DENSITY],
                        shape->n_aux / 64 * 8);
    assert_int_equal(read->b_input_density[0], 1);
}

static void prove_recorded(const char *path) {
    pm_assignment_file *file = NULL;
    pm_assignment assignment = {.struct_bytes = sizeof assignment};
    pm_key *key = NULL;
    pm_pending *pending = NULL;
    pm_proof proof;
    uint8_t encoded[RUST_PROOF_BYTES];
    size_t n_bytes = sizeof encoded;
    pm_error error = PM_ERROR_INIT;
    file_expect(pm_file_check(params.context, path, NULL, &error), PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_assignment_file_open(path, NULL, &file, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(pm_assignment_file_get(file, &assignment, &error), PM_OK);
    expect_same_arrays(&assignment);
    assert_int_equal(
        pm_key_open_params(params.context, params.path, NULL, NULL, NULL, &key, &error), PM_OK);
    file_expect(
        pm_prove_start_assignment(params.context, key, &assignment, NULL, NULL, &pending, &error),
        PM_OK, &error, NULL, NULL, NULL);
    file_expect(pm_prove_finish(pending, NULL, &proof, NULL, &error), PM_OK, &error, NULL, NULL,
                NULL);
    assert_int_equal(pm_proof_encode(&proof, PM_POINT_MONTGOMERY_LE, encoded, &n_bytes, &error),
                     PM_OK);
    expect_proof(encoded);
    pm_key_destroy(key);
    pm_assignment_file_destroy(file);
}

static void recorded_assignments_prove_offline(void **state) {
    (void)state;
    uint8_t proof[RUST_PROOF_BYTES];
    char *folder = file_make_tree();
    unsigned n = 0;
    say("PROOFMILL_RECORD", folder);
    rust_expect_good(prove_once(proof));
    rust_expect_good(prove_once(proof));
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        struct stat about;
        char path[2048];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        assert_non_null(strstr(entry->d_name, ".pmasg"));
        prove_recorded(path);
        n++;
    }
    (void)closedir(entries);
    assert_int_equal(n, 2);
    file_remove_tree(folder);
    /* Where it cannot be written, there is no proof either. */
    rust_expect_error(prove_once(proof), EIO, ".pmasg");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_cpu_stands_in_and_says_so_once),
        CASE(the_cpu_says_nothing_when_it_was_asked_for),
        CASE(the_cpu_does_not_stand_in_when_it_may_not),
        CASE(words_that_mean_nothing_are_refused),
        CASE(threads_are_as_many_as_are_asked_for),
        CASE(verification_can_be_left_to_the_caller),
        CASE(recorded_assignments_prove_offline),
    };
    return cmocka_run_group_tests(tests, suite_open, suite_close);
}
