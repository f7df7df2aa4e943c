/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * SupraSeal's interface with every system call and allocation failing in turn: a code, no proof,
 * nothing left behind, neither memory nor threads, and the next call is good.
 */
#include "fault/fault_interposer.h"

#include "support/file_builder.h"
#include "support/supraseal_abi.h"

#include <proofmill/proofmill_supraseal.h>

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CANARY = 0x5a, ENOUGH_FAULTS = 100000 };

struct scene {
    struct rust_params params;
    struct bellman_circuit circuit;
    uint8_t *publics;
    pm_supraseal_assignment assignments[2];
    pm_supraseal_fr blinding[2];
    pm_supraseal_proof proofs[2];
};

static int32_t code_of(pm_supraseal_error error) {
    free(error.message); /* NULL where there was no memory for it */
    return error.code;
}

static int32_t open_and_drop(struct scene *scene) {
    pm_supraseal_srs srs;
    const int32_t code = code_of(create_SRS(&srs, scene->params.path, false));
    assert_true((code == 0) == (srs.ptr != NULL));
    drop_SRS(&srs);
    return code;
}

static int32_t open_cached(struct scene *scene) {
    pm_supraseal_srs srs;
    const int32_t code = code_of(create_SRS(&srs, scene->params.path, true));
    assert_true((code == 0) == (srs.ptr != NULL));
    evict_SRS(&srs);
    drop_SRS(&srs);
    return code;
}

static int32_t generate(struct scene *scene) {
    pm_supraseal_srs srs;
    int32_t code = code_of(create_SRS(&srs, scene->params.path, false));
    if (code == 0) {
        code = code_of(generate_groth16_proofs_c(scene->assignments, 2, scene->blinding,
                                                 scene->blinding, scene->proofs, &srs, NULL, -1));
        drop_SRS(&srs);
    }
    return code;
}

static int32_t in_halves(struct scene *scene) {
    pm_supraseal_srs srs;
    void *pending = NULL;
    int32_t code = code_of(create_SRS(&srs, scene->params.path, false));
    if (code != 0) {
        return code;
    }
    code = code_of(generate_groth16_proofs_start_c(scene->assignments, 2, scene->blinding,
                                                   scene->blinding, &srs, NULL, -1, &pending));
    assert_true((code == 0) == (pending != NULL));
    drop_SRS(&srs);
    return code == 0 ? code_of(finalize_groth16_proof_c(pending, scene->proofs)) : code;
}

static const struct {
    const char *name;
    int32_t (*run)(struct scene *scene);
    bool proves, records;
} calls[] = {
    {"open and drop", open_and_drop, false, false},
    {"open through the cache", open_cached, false, false},
    {"generate", generate, true, false},
    {"start and finalize", in_halves, true, false},
    {"generate and record", generate, true, true},
};
#define N_CALLS (sizeof calls / sizeof calls[0])

static int32_t attempt(struct scene *scene, size_t call) {
    memset(scene->proofs, CANARY, sizeof scene->proofs);
    return calls[call].run(scene);
}

static void expect_right(const struct scene *scene, size_t call, int32_t code) {
    if (code == 0) {
        for (size_t i = 0; calls[call].proves && i < 2; i++) {
            assert_int_equal(rust_params_verify(&scene->params, scene->publics, &scene->proofs[i]),
                             PM_OK);
        }
        return;
    }
    const uint8_t *bytes = (const uint8_t *)scene->proofs;
    for (size_t i = 0; i < sizeof scene->proofs; i++) {
        assert_int_equal(bytes[i], CANARY);
    }
}

/* Recorded assignments are whole ones; they go before they are too many. */
static void clear_folder(const char *folder, const struct scene *scene) {
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        char path[2048];
        pm_error error = PM_ERROR_INIT;
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        file_expect(pm_file_check(scene->params.context, path, NULL, &error), PM_OK, &error, NULL,
                    NULL, NULL);
        assert_int_equal(unlink(path), 0);
    }
    (void)closedir(entries);
}

static uint64_t fail_each(struct scene *scene, size_t call, enum fault_function function,
                          int reason) {
    const unsigned threads = process_threads_at_rest();
    for (uint64_t at = 1; at < ENOUGH_FAULTS; ++at) {
        const struct fault_live before = fault_live_now();
        fault_arm(&(struct fault_plan){.function = function, .at = at, .reason = reason});
        const int32_t code = attempt(scene, call);
        const struct fault_count count = fault_disarm();
        const struct fault_live after = fault_live_now();
        assert_int_equal(after.heap_blocks, before.heap_blocks);
        assert_int_equal(after.heap_bytes, before.heap_bytes);
        assert_int_equal(after.mapped_bytes, before.mapped_bytes);
        assert_int_equal(process_threads_settled(threads), threads);
        expect_right(scene, call, code);
        if (count.n_faults == 0) {
            assert_int_equal(code, 0);
            return at - 1;
        }
        assert_int_equal(attempt(scene, call), 0);
    }
    fail_msg("%s never ends", calls[call].name);
    return 0;
}

static void open_scene(struct scene *scene) {
    const struct bellman_shape shape = bellman_shape_of_log_n(4);
    rust_params_make(&shape, &scene->params);
    bellman_circuit_make(&shape, 2, NULL, &scene->circuit);
    scene->publics = bellman_circuit_publics(&scene->circuit);
    const struct rust_assignment assignment = rust_assignment_of(&scene->circuit);
    for (size_t i = 0; i < 2; i++) {
        memcpy(&scene->assignments[i], &assignment, sizeof assignment);
        scene->blinding[i] = (pm_supraseal_fr){{i + 1, 2, 3, 4}};
    }
}

static void every_call_fails_in_turn(void **state) {
    (void)state;
    static const struct {
        enum fault_function function;
        int reason;
    } faults[] = {{FAULT_malloc, ENOMEM}, {FAULT_calloc, ENOMEM}, {FAULT_posix_memalign, ENOMEM},
                  {FAULT_mmap, ENOMEM},   {FAULT_open, EACCES},   {FAULT_fstat, EIO},
                  {FAULT_fchmod, EPERM},  {FAULT_write, ENOSPC},  {FAULT_linkat, EIO},
                  {FAULT_rename, EIO},    {FAULT_fsync, EIO},     {FAULT_pthread_create, EAGAIN}};
    struct scene scene = {0};
    char *folder = file_make_tree();
    assert_int_equal(setenv("PROOFMILL_DEVICE", "cpu", 1), 0);
    assert_int_equal(setenv("CUZK_GPU_THREADS", "2", 1), 0);
    open_scene(&scene);
    for (size_t call = 0; call < N_CALLS; ++call) {
        uint64_t n_met = 0;
        if (calls[call].records) {
            assert_int_equal(setenv("PROOFMILL_RECORD", folder, 1), 0);
        }
        assert_int_equal(attempt(&scene, call), 0);
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
            n_met += fail_each(&scene, call, faults[i].function, faults[i].reason);
            clear_folder(folder, &scene);
        }
        print_message("  %s: %llu faults\n", calls[call].name, (unsigned long long)n_met);
        assert_true(n_met > 0);
    }
    file_remove_tree(folder);
    free(scene.publics);
    bellman_circuit_free(&scene.circuit);
    rust_params_free(&scene.params);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_fails_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
