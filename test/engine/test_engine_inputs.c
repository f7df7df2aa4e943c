/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Keys of both reductions and inputs of every shape: witnesses, and assignments in either form,
 * with and without vectors and densities, by path and as bytes.
 */
#include "engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/proof_case.h"
#include "support/toy_circuits.h"

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

static pm_context *context;
static char *tree;
static char params_path[1200], r1cs_path[PM_TEST_PATH_MAX], wtns_path[PM_TEST_PATH_MAX];

static int open_all(void **state) {
    (void)state;
    const pm_setup_known_options options = {.struct_bytes = sizeof options,
                                            .format = PM_KEY_FORMAT_PARAMS};
    pm_error error = PM_ERROR_INIT;
    context = toy_context(2, PM_ARITHMETIC_BEST);
    tree = file_make_tree();
    (void)snprintf(params_path, sizeof params_path, "%s/mult3.params", tree);
    (void)pm_data_path(r1cs_path, "mult3_bls/mult3_bls.r1cs");
    (void)pm_data_path(wtns_path, "mult3_bls/mult3_bls.wtns");
    toy_expect(pm_setup_known_tau(context, r1cs_path, params_path, &options, NULL, &error), PM_OK,
               &error);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    file_remove_tree(tree);
    pm_context_destroy(context);
    return 0;
}

static pm_engine *open_within(uint64_t host_bytes, const char *journal) {
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = host_bytes,
                                       .stored_bytes_max = 1,
                                       .journal_path = journal,
                                       .retry_ms = 1};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    return engine;
}

static pm_engine *open_engine(const char *journal) {
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = 128 << 20,
                                       .journal_path = journal,
                                       .retry_ms = 1};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    return engine;
}

static void register_key(pm_engine *engine, const char *name, const char *path, const char *r1cs) {
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = name, .path = path, .r1cs_path = r1cs};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_key_register(engine, &key, NULL, &error), PM_OK, &error);
}

static pm_status submit(pm_engine *engine, const char *key, const pm_engine_input *input,
                        uint64_t *job, pm_error *error) {
    const pm_engine_request request = {
        .struct_bytes = sizeof request, .key = key, .inputs = input, .n_inputs = 1};
    return pm_engine_submit(engine, &request, NULL, job, NULL, error);
}

/* The job is done, its proof holds under vk, and its public signals are those of the case. */
static void expect_proved(pm_engine *engine, uint64_t job, const struct proof_case *from,
                          const pm_vk *vk) {
    const pm_engine_job info = await_job(engine, job);
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    uint8_t publics[16 * PM_FR_BYTES];
    if (info.state != PM_ENGINE_DONE) {
        fail_msg("%s: %s", pm_engine_state_name((pm_engine_state)info.state), info.message);
    }
    assert_int_equal(info.n_public, from->n_inputs - 1);
    toy_expect(pm_engine_result(engine, job, 0, 1, &proof, publics, &error), PM_OK, &error);
    assert_memory_equal(publics, from->values + PM_FR_BYTES, info.n_public * PM_FR_BYTES);
    assert_int_equal(pm_verify(context, vk, publics, info.n_public, &proof, NULL), PM_OK);
}

/* Writes the case's assignment to a .pmasg. */
static const char *write_assignment(const struct proof_case *from, pm_scalar_form form,
                                    enum lent_vectors vectors, bool with_densities) {
    static char path[1300];
    struct lent_arrays lent;
    pm_error error = PM_ERROR_INIT;
    (void)snprintf(path, sizeof path, "%s/%d-%d-%d.pmasg", tree, (int)form, (int)vectors,
                   with_densities);
    lent_arrays_make(from, form, vectors, with_densities, &lent);
    toy_expect(pm_assignment_file_write(path, &lent.assignment, NULL, &error), PM_OK, &error);
    for (uint32_t i = 0; i < lent.n_lent; ++i) {
        lent.assignment.release(lent.assignment.user, (pm_assignment_array)i);
    }
    lent_arrays_close(&lent);
    return path;
}

static void assignments_are_proved(void **state) {
    (void)state;
    struct proof_case from;
    char key_path[PM_TEST_PATH_MAX];
    pm_engine *engine = open_engine(NULL);
    pm_error error = PM_ERROR_INIT;
    assert_true(proof_case_open(context, "mult3", CASE_ZKEY, &from));
    register_key(engine, "mult3", pm_data_path(key_path, "mult3/mult3.zkey"), NULL);
    for (uint32_t i = 0; i < 2 * 3; ++i) {
        const pm_engine_input input = {
            .path = write_assignment(&from, i % 2 == 0 ? PM_SCALAR_CANONICAL : PM_SCALAR_MONTGOMERY,
                                     (enum lent_vectors)(i / 2), false)};
        uint64_t job;
        toy_expect(submit(engine, "mult3", &input, &job, &error), PM_OK, &error);
        expect_proved(engine, job, &from, from.vk);
    }
    expect_books(engine);
    pm_engine_destroy(engine);
    proof_case_close(&from);
}

/* Bellman's key with its constraint system takes witnesses; without, assignments that bring
 * everything, and says so of others. */
static void parameters_are_keys(void **state) {
    (void)state;
    struct proof_case from;
    pm_engine *engine = open_engine(NULL);
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    pm_vk *vk = NULL;
    uint64_t job;
    assert_true(proof_case_open(context, "mult3_bls", CASE_BARE_PARAMS, &from));
    toy_expect(pm_key_open_params(context, params_path, NULL, NULL, NULL, &key, &error), PM_OK,
               &error);
    toy_expect(pm_vk_from_key(context, key, &vk, &error), PM_OK, &error);
    pm_key_destroy(key);
    register_key(engine, "whole", params_path, r1cs_path);
    register_key(engine, "bare", params_path, NULL);
    const pm_engine_input witness = {.path = wtns_path};
    toy_expect(submit(engine, "whole", &witness, &job, &error), PM_OK, &error);
    expect_proved(engine, job, &from, vk);
    toy_expect(submit(engine, "bare", &witness, &job, &error), PM_INVALID_ARGUMENT, &error);
    assert_non_null(strstr(error.message, "constraint system"));
    for (uint32_t i = 0; i < 2; ++i) {
        const pm_engine_input whole = {
            .path = write_assignment(&from, i == 0 ? PM_SCALAR_CANONICAL : PM_SCALAR_MONTGOMERY,
                                     LENT_A_B_C, true)};
        toy_expect(submit(engine, "bare", &whole, &job, &error), PM_OK, &error);
        expect_proved(engine, job, &from, vk);
    }
    expect_books(engine);
    pm_engine_destroy(engine);
    pm_vk_destroy(vk);
    proof_case_close(&from);
}

/* As bytes they go through the journal, and outlive an engine there. */
static void assignments_may_be_bytes(void **state) {
    (void)state;
    struct proof_case from;
    char key_path[PM_TEST_PATH_MAX];
    const char *journal = file_in_tree(tree, "journal");
    pm_engine *engine = open_engine(journal);
    pm_error error = PM_ERROR_INIT;
    uint64_t jobs[6];
    size_t n_bytes = 0;
    assert_true(proof_case_open(context, "mult3", CASE_ZKEY, &from));
    register_key(engine, "mult3", pm_data_path(key_path, "mult3/mult3.zkey"), NULL);
    char *bytes =
        pm_test_read_file(write_assignment(&from, PM_SCALAR_MONTGOMERY, LENT_A_B, false), &n_bytes);
    for (uint32_t i = 0; i < 6; ++i) {
        const pm_engine_input input = {.bytes = bytes, .n_bytes = n_bytes};
        toy_expect(submit(engine, "mult3", &input, &jobs[i], &error), PM_OK, &error);
    }
    pm_engine_destroy(engine);
    engine = open_engine(journal);
    for (uint32_t i = 0; i < 6; ++i) {
        expect_proved(engine, jobs[i], &from, from.vk);
    }
    free(bytes);
    pm_engine_destroy(engine);
    proof_case_close(&from);
}

/* Against a multiplication by 2^256 that is done another way. */
static void montgomery_form_is_undone(void **state) {
    (void)state;
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    uint8_t in[PM_FR_BYTES], out[PM_FR_BYTES];
    for (uint32_t c = 0; c < 2; ++c) {
        const char *name = c == 0 ? "mult3" : "mult3_bls";
        struct proof_case from;
        struct lent_arrays lent;
        assert_true(proof_case_open(context, name, CASE_ZKEY, &from));
        lent_arrays_make(&from, PM_SCALAR_MONTGOMERY, LENT_NO_VECTORS, false, &lent);
        for (uint64_t i = 0; i < from.n_inputs; ++i) {
            memcpy(in, (const uint8_t *)lent.assignment.inputs + i * PM_FR_BYTES, sizeof in);
            assert_int_equal(pm_engine_from_montgomery(curves[c], in, out, NULL), PM_OK);
            assert_memory_equal(out, from.values + i * PM_FR_BYTES, sizeof out);
        }
        memset(in, 0xff, sizeof in);
        assert_int_equal(pm_engine_from_montgomery(curves[c], in, out, NULL), PM_NOT_CANONICAL);
        lent.assignment.release(lent.assignment.user, PM_ARRAY_INPUTS);
        lent.assignment.release(lent.assignment.user, PM_ARRAY_AUX);
        lent_arrays_close(&lent);
        proof_case_close(&from);
    }
    assert_int_equal(pm_engine_from_montgomery(99, in, out, NULL), PM_CURVE);
}

/* ---- What opening parameters takes ---------------------------------------------------------- */

static char long_params[1200], long_r1cs[1200], long_wtns[1200];

static void make_long_params(void) {
    const pm_setup_known_options options = {.struct_bytes = sizeof options,
                                            .format = PM_KEY_FORMAT_PARAMS};
    const uint32_t log_n = PM_TEST_IS_SANITIZED ? 8 : 11;
    pm_error error = PM_ERROR_INIT;
    (void)snprintf(long_params, sizeof long_params, "%s/long.params", tree);
    (void)snprintf(long_r1cs, sizeof long_r1cs, "%s/long.r1cs", tree);
    (void)snprintf(long_wtns, sizeof long_wtns, "%s/long.wtns", tree);
    write_long_r1cs(long_r1cs, true, log_n);
    write_long_wtns(long_wtns, true, log_n);
    toy_expect(pm_setup_known_tau(context, long_r1cs, long_params, &options, NULL, &error), PM_OK,
               &error);
}

static pm_status register_long(pm_engine *engine, const char *name, uint64_t deadline_ns,
                               pm_error *error) {
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = name, .path = long_params, .r1cs_path = long_r1cs};
    const pm_control control = {.struct_bytes = sizeof control, .deadline_ns = deadline_ns};
    return pm_engine_key_register(engine, &key, &control, error);
}

static pm_engine_pool host_pool(pm_engine *engine) {
    pm_engine_metrics metrics;
    assert_int_equal(pm_engine_metrics_now(engine, &metrics), PM_OK);
    return metrics.pools[0];
}

static pm_engine_key_info only_key(pm_engine *engine) {
    pm_engine_key_info info;
    uint32_t n = 1;
    assert_int_equal(pm_engine_keys(engine, &info, &n), PM_OK);
    assert_int_equal(n, 1);
    return info;
}

/* Decoding a key's points is reserved before it is done, no less than it takes; what can never fit
 * is refused with the numbers. */
static void opening_parameters_is_reserved(void **state) {
    (void)state;
    pm_engine *engine = open_within(128 << 20, NULL);
    pm_error error = PM_ERROR_INIT;
    uint64_t job;
    make_long_params();
    toy_expect(register_long(engine, "long", 0, &error), PM_OK, &error);
    const uint64_t opening_bytes = host_pool(engine).peak_bytes, key_bytes = only_key(engine).bytes;
    print_message("  %llu bytes reserved for a key of %llu\n", (unsigned long long)opening_bytes,
                  (unsigned long long)key_bytes);
    assert_true(opening_bytes >= key_bytes && opening_bytes < 2 * key_bytes);
    assert_int_equal(host_pool(engine).reserved_bytes, 0);
    const pm_engine_input witness = {.path = long_wtns};
    toy_expect(submit(engine, "long", &witness, &job, &error), PM_OK, &error);
    assert_int_equal(await_job(engine, job).state, PM_ENGINE_DONE);
    expect_books(engine);
    pm_engine_destroy(engine);
    engine = open_within(opening_bytes, NULL); /* a byte of it is for inputs */
    toy_expect(register_long(engine, "long", 0, &error), PM_OVER_BUDGET, &error);
    assert_int_equal(error.need, opening_bytes);
    assert_int_equal(error.have, opening_bytes - 1);
    expect_books(engine);
    pm_engine_destroy(engine);
    engine = open_within(opening_bytes + 1, NULL);
    toy_expect(register_long(engine, "long", 0, &error), PM_OK, &error);
    assert_int_equal(host_pool(engine).peak_bytes, opening_bytes);
    pm_engine_destroy(engine);
}

/* An engine with room for one key while it is opened. It has "first", which is there as if a proof
 * used it: another one waits. */
static pm_engine *open_with_one_in_use(struct pm_sched_place **place) {
    pm_engine *engine = open_within(128 << 20, NULL);
    pm_error error = PM_ERROR_INIT;
    toy_expect(register_long(engine, "first", 0, &error), PM_OK, &error);
    const uint64_t opening_bytes = host_pool(engine).peak_bytes;
    pm_engine_destroy(engine);
    engine = open_within(opening_bytes + 1, NULL);
    toy_expect(register_long(engine, "first", 0, &error), PM_OK, &error);
    toy_expect(pm_engine_key_preload(engine, "first", 0, NULL, &error), PM_OK, &error);
    pm_engine_lock(engine);
    *place = &engine->sched_keys[pm_engine_find_key(engine, "first")->index].process;
    ++(*place)->n_users;
    pm_engine_unlock(engine);
    return engine;
}

/* Keys that are idle leave for it, and those in use are waited for. */
static void opening_parameters_waits_for_room(void **state) {
    (void)state;
    struct pm_sched_place *place = NULL;
    pm_engine *engine = open_with_one_in_use(&place);
    pm_error error = PM_ERROR_INIT;
    toy_expect(register_long(engine, "second", pm_clock_now_ns() + UINT64_C(150000000), &error),
               PM_DEADLINE, &error);
    assert_int_equal(only_key(engine).tier, PM_ENGINE_WARM);
    pm_engine_lock(engine);
    --place->n_users;
    pm_engine_unlock(engine);
    toy_expect(register_long(engine, "second", 0, &error), PM_OK, &error);
    pm_engine_key_info infos[2];
    uint32_t n = 2;
    assert_int_equal(pm_engine_keys(engine, infos, &n), PM_OK);
    assert_int_equal(n, 2);
    assert_int_equal(infos[0].n_evictions + infos[1].n_evictions, 1);
    assert_int_equal(host_pool(engine).reserved_bytes, 0);
    expect_books(engine);
    pm_engine_destroy(engine);
}

static void *register_second(void *engine) {
    pm_error error = PM_ERROR_INIT;
    return (void *)(uintptr_t)register_long(engine, "second", 0, &error);
}

/* Keys are registered one at a time; who waits for that can be called off as well. */
static void registering_waits_no_longer_than_it_may(void **state) {
    (void)state;
    struct pm_sched_place *place = NULL;
    pm_engine *engine = open_with_one_in_use(&place);
    pm_error error = PM_ERROR_INIT;
    pthread_t waits;
    void *result = NULL;
    assert_int_equal(pthread_create(&waits, NULL, register_second, engine), 0);
    for (bool has_begun = false; !has_begun; test_sleep_ms(1)) {
        pm_engine_lock(engine);
        has_begun = engine->is_registering;
        pm_engine_unlock(engine);
    }
    const uint64_t begun_ns = pm_clock_now_ns();
    toy_expect(register_long(engine, "third", begun_ns + UINT64_C(100000000), &error), PM_DEADLINE,
               &error);
    const int cancel = 1;
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &cancel};
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = "third", .path = long_params, .r1cs_path = long_r1cs};
    toy_expect(pm_engine_key_register(engine, &key, &control, &error), PM_CANCELLED, &error);
    assert_true(pm_clock_now_ns() - begun_ns < UINT64_C(30000000000));
    pm_engine_lock(engine);
    --place->n_users;
    pm_engine_pump(engine);
    pm_engine_unlock(engine);
    (void)pthread_join(waits, &result);
    assert_int_equal((uintptr_t)result, PM_OK);
    pm_engine_destroy(engine);
}

/* A key that the journal remembers and that cannot be opened within the budget any more. */
static void remembered_parameters_count_as_well(void **state) {
    (void)state;
    const char *journal = file_in_tree(tree, "remembers");
    pm_engine *engine = open_within(128 << 20, journal);
    pm_error error = PM_ERROR_INIT;
    uint32_t n = 1;
    toy_expect(register_long(engine, "long", 0, &error), PM_OK, &error);
    const uint64_t opening_bytes = host_pool(engine).peak_bytes;
    pm_engine_destroy(engine);
    engine = open_within(opening_bytes - 1, journal);
    assert_int_equal(pm_engine_keys(engine, NULL, &n), PM_OK);
    assert_int_equal(n, 0);
    pm_engine_destroy(engine);
    engine = open_within(opening_bytes, journal);
    assert_int_equal(host_pool(engine).peak_bytes, opening_bytes);
    (void)only_key(engine);
    pm_engine_destroy(engine);
}

/* ---- Files that are none --------------------------------------------------------------------- */

static pm_status register_paths(pm_engine *engine, const char *path, const char *beside,
                                pm_error *error) {
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = "odd", .path = path, .r1cs_path = beside};
    return pm_engine_key_register(engine, &key, NULL, error);
}

/* A FIFO that nobody writes to holds nobody, a pseudo-file is not read, and neither is a file that
 * is larger than any input for the key. */
static void files_that_are_none_are_refused(void **state) {
    (void)state;
    char fifo[1200], vast[1200];
    pm_engine *engine = open_within(128 << 20, NULL);
    pm_error error = PM_ERROR_INIT;
    uint64_t job;
    make_long_params();
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", tree);
    (void)snprintf(vast, sizeof vast, "%s/vast.wtns", tree);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    FILE *file = fopen(vast, "w");
    assert_non_null(file);
    assert_int_equal(fputs("wtns", file) >= 0 && fclose(file) == 0, 1);
    assert_int_equal(truncate(vast, (off_t)1 << 40), 0);
    toy_expect(register_paths(engine, fifo, NULL, &error), PM_IO, &error);
    toy_expect(register_paths(engine, "/proc/self/status", NULL, &error), PM_TRUNCATED, &error);
    toy_expect(register_paths(engine, long_params, fifo, &error), PM_IO, &error);
    toy_expect(register_paths(engine, long_params, "/dev/zero", &error), PM_IO, &error);
    toy_expect(register_long(engine, "long", 0, &error), PM_OK, &error);
    toy_expect(submit(engine, "long", &(pm_engine_input){.path = fifo}, &job, &error), PM_IO,
               &error);
    toy_expect(
        submit(engine, "long", &(pm_engine_input){.path = "/proc/self/status"}, &job, &error),
        PM_TRUNCATED, &error);
    toy_expect(submit(engine, "long", &(pm_engine_input){.path = vast}, &job, &error),
               PM_WITNESS_MISMATCH, &error);
    assert_int_equal(unlink(vast), 0);
    assert_int_equal(unlink(fifo), 0);
    pm_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(montgomery_form_is_undone),
        cmocka_unit_test(assignments_are_proved),
        cmocka_unit_test(parameters_are_keys),
        cmocka_unit_test(assignments_may_be_bytes),
        cmocka_unit_test(opening_parameters_is_reserved),
        cmocka_unit_test(opening_parameters_waits_for_room),
        cmocka_unit_test(registering_waits_no_longer_than_it_may),
        cmocka_unit_test(remembered_parameters_count_as_well),
        cmocka_unit_test(files_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
