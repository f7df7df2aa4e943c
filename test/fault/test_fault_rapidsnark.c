/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * rapidsnark's interface with every system call and allocation failing in turn (reports C1, C10): a
 * code with a sentence, outputs as they were, nothing left behind, and the next call is good.
 */
#include "fault/fault_interposer.h"

#include "support/fixture.h"

#include <proofmill/rapidsnark/prover.h>
#include <proofmill/rapidsnark/verifier.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 2048, CANARY = 0x5a, ENOUGH_FAULTS = 100000 };

/* One circuit's files and the outputs of one call. */
struct scene {
    char path[PM_TEST_PATH_MAX];
    char *zkey, *wtns, *vkey, *publics, *proof;
    size_t n_zkey, n_wtns;
    void *prover; /* good, made without faults */
    char out_proof[ROOM], out_publics[ROOM], message[256];
    unsigned long long proof_size, public_size;
};

static char *read_one(const char *circuit, const char *file, size_t *n_bytes) {
    char relative[256], path[PM_TEST_PATH_MAX];
    (void)snprintf(relative, sizeof relative, "%s/%s", circuit, file);
    char *bytes = pm_test_read_file(pm_data_path(path, relative), n_bytes);
    assert_non_null(bytes);
    return bytes;
}

static int create_from_buffer(struct scene *scene) {
    void *made = NULL;
    const int code = groth16_prover_create(&made, scene->zkey, scene->n_zkey, scene->message,
                                           sizeof scene->message);
    assert_true((code == PROVER_OK) == (made != NULL));
    groth16_prover_destroy(made);
    return code;
}

static int create_from_file(struct scene *scene) {
    void *made = NULL;
    const int code =
        groth16_prover_create_zkey_file(&made, scene->path, scene->message, sizeof scene->message);
    assert_true((code == PROVER_OK) == (made != NULL));
    groth16_prover_destroy(made);
    return code;
}

static int prove(struct scene *scene) {
    return groth16_prover_prove(scene->prover, scene->wtns, scene->n_wtns, scene->out_proof,
                                &scene->proof_size, scene->out_publics, &scene->public_size,
                                scene->message, sizeof scene->message);
}

static int prove_once(struct scene *scene) {
    return groth16_prover_zkey_file(scene->path, scene->wtns, scene->n_wtns, scene->out_proof,
                                    &scene->proof_size, scene->out_publics, &scene->public_size,
                                    scene->message, sizeof scene->message);
}

static int public_size(struct scene *scene) {
    unsigned long long size = 0;
    return groth16_public_size_for_zkey_file(scene->path, &size, scene->message,
                                             sizeof scene->message);
}

static int verify(struct scene *scene) {
    return groth16_verify(scene->proof, scene->publics, scene->vkey, scene->message,
                          sizeof scene->message);
}

static const struct {
    const char *name;
    int (*run)(struct scene *scene);
    int refusal;
    bool proves;
} calls[] = {
    {"create from a buffer", create_from_buffer, PROVER_ERROR, false},
    {"create from a file", create_from_file, PROVER_ERROR, false},
    {"prove", prove, PROVER_ERROR, true},
    {"prove in one call", prove_once, PROVER_ERROR, true},
    {"public size", public_size, PROVER_ERROR, false},
    {"verify", verify, VERIFIER_ERROR, false},
};
#define N_CALLS (sizeof calls / sizeof calls[0])

static int attempt(struct scene *scene, size_t call) {
    memset(scene->out_proof, CANARY, ROOM);
    memset(scene->out_publics, CANARY, ROOM);
    scene->proof_size = scene->public_size = ROOM;
    scene->message[0] = '\0';
    return calls[call].run(scene);
}

/* The code of one attempt is what the header says it is, and so is everything else. */
static void expect_right(const struct scene *scene, size_t call, int code) {
    if (code == 0) {
        assert_string_equal(scene->message, "");
        if (calls[call].proves) {
            assert_int_equal(
                groth16_verify(scene->out_proof, scene->out_publics, scene->vkey, NULL, 0),
                VERIFIER_VALID_PROOF);
        }
        return;
    }
    assert_int_equal(code, calls[call].refusal);
    assert_true(strlen(scene->message) > 10);
    assert_int_equal(scene->proof_size, ROOM);
    assert_int_equal(scene->public_size, ROOM);
    for (size_t i = 0; i < ROOM; ++i) {
        assert_int_equal(scene->out_proof[i], CANARY);
        assert_int_equal(scene->out_publics[i], CANARY);
    }
}

/* How many faults the call met until one was no longer reached. */
static uint64_t fail_each(struct scene *scene, size_t call, enum fault_function function,
                          int reason) {
    for (uint64_t at = 1; at < ENOUGH_FAULTS; ++at) {
        const struct fault_live before = fault_live_now();
        fault_arm(&(struct fault_plan){.function = function, .at = at, .reason = reason});
        const int code = attempt(scene, call);
        const struct fault_count count = fault_disarm();
        const struct fault_live after = fault_live_now();
        assert_int_equal(after.heap_blocks, before.heap_blocks);
        assert_int_equal(after.heap_bytes, before.heap_bytes);
        assert_int_equal(after.mapped_bytes, before.mapped_bytes);
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

static void open_scene(struct scene *scene, const char *circuit) {
    char file[128];
    (void)snprintf(file, sizeof file, "%s/%s.zkey", circuit, circuit);
    (void)pm_data_path(scene->path, file);
    scene->zkey = read_one(circuit, strchr(file, '/') + 1, &scene->n_zkey);
    (void)snprintf(file, sizeof file, "%s.wtns", circuit);
    scene->wtns = read_one(circuit, file, &scene->n_wtns);
    scene->vkey = read_one(circuit, "vkey.json", NULL);
    scene->publics = read_one(circuit, "public.json", NULL);
    scene->proof = read_one(circuit, "proof.snarkjs.json", NULL);
    assert_int_equal(
        groth16_prover_create(&scene->prover, scene->zkey, scene->n_zkey, scene->message, 256),
        PROVER_OK);
}

static void C10_every_call_fails_in_turn(void **state) {
    (void)state;
    static const struct {
        enum fault_function function;
        int reason;
    } faults[] = {{FAULT_malloc, ENOMEM},
                  {FAULT_calloc, ENOMEM},
                  {FAULT_realloc, ENOMEM},
                  {FAULT_posix_memalign, ENOMEM},
                  {FAULT_mmap, ENOMEM},
                  {FAULT_open, EACCES},
                  {FAULT_fstat, EIO},
                  {FAULT_pread, EIO},
                  {FAULT_pthread_create, EAGAIN},
                  {FAULT_getrandom, EIO}};
    struct scene scene = {0};
    open_scene(&scene, "mult3");
    for (size_t call = 0; call < N_CALLS; ++call) {
        uint64_t n_met = 0;
        assert_int_equal(attempt(&scene, call), 0); /* what is made once in a process is made */
        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
            n_met += fail_each(&scene, call, faults[i].function, faults[i].reason);
        }
        print_message("  %s: %llu faults\n", calls[call].name, (unsigned long long)n_met);
        assert_true(n_met > 0);
    }
    groth16_prover_destroy(scene.prover);
    free(scene.zkey);
    free(scene.wtns);
    free(scene.vkey);
    free(scene.publics);
    free(scene.proof);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(C10_every_call_fails_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
