/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Circuits of one call spread over several devices: with the static library, whose number of
 * devices is put in the way of what it finds on this machine. So many circuits give as
 * many proofs, in their order, and a failure of any of them is one of the call.
 */
#include "support/seeded_random.h"
#include "support/supraseal_abi.h"

#include <proofmill/proofmill_supraseal.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t n_devices;

size_t __wrap_pm_supraseal_engine_n_devices(const void *engine);
size_t __wrap_pm_supraseal_engine_n_devices(const void *engine) {
    (void)engine;
    return n_devices;
}

#define CIRCUITS 7

struct scene {
    struct rust_params params;
    struct bellman_circuit circuits[CIRCUITS];
    pm_supraseal_assignment assignments[CIRCUITS];
    pm_supraseal_fr r_s[CIRCUITS], s_s[CIRCUITS];
    pm_supraseal_srs srs;
};

static void scene_open(struct scene *scene) {
    const struct bellman_shape shape = bellman_shape_of_log_n(6);
    struct seeded_random random = seeded_random_from_environment();
    rust_params_make(&shape, &scene->params);
    for (size_t i = 0; i < CIRCUITS; i++) {
        bellman_circuit_make(&shape, seeded_random_u64(&random), NULL, &scene->circuits[i]);
        const struct rust_assignment assignment = rust_assignment_of(&scene->circuits[i]);
        memcpy(&scene->assignments[i], &assignment, sizeof assignment);
        seeded_random_bytes(&random, &scene->r_s[i], 31);
        seeded_random_bytes(&random, &scene->s_s[i], 31);
        scene->r_s[i].limb[3] &= UINT64_MAX >> 8;
        scene->s_s[i].limb[3] &= UINT64_MAX >> 8;
    }
    assert_int_equal(create_SRS(&scene->srs, scene->params.path, false).code, 0);
}

static void scene_close(struct scene *scene) {
    drop_SRS(&scene->srs);
    for (size_t i = 0; i < CIRCUITS; i++) {
        bellman_circuit_free(&scene->circuits[i]);
    }
    rust_params_free(&scene->params);
    assert_int_equal(process_threads_settled(1), 1);
}

static void expect_proofs(const struct scene *scene, size_t n, const pm_supraseal_proof *proofs) {
    for (size_t i = 0; i < n; i++) {
        uint8_t *publics = bellman_circuit_publics(&scene->circuits[i]);
        assert_int_equal(rust_params_verify(&scene->params, publics, &proofs[i]), PM_OK);
        free(publics);
    }
}

static void circuits_are_spread_over_devices(void **state) {
    (void)state;
    struct scene scene;
    scene_open(&scene);
    for (n_devices = 1; n_devices <= 4; n_devices++) {
        for (size_t n = 1; n <= CIRCUITS; n += n_devices) {
            pm_supraseal_proof at_once[CIRCUITS], in_halves[CIRCUITS];
            void *pending = NULL;
            assert_int_equal(generate_groth16_proofs_c(scene.assignments, n, scene.r_s, scene.s_s,
                                                       at_once, &scene.srs, NULL, -1)
                                 .code,
                             0);
            expect_proofs(&scene, n, at_once);
            assert_int_equal(generate_groth16_proofs_start_c(scene.assignments, n, scene.r_s,
                                                             scene.s_s, &scene.srs, NULL, -1,
                                                             &pending)
                                 .code,
                             0);
            assert_int_equal(finalize_groth16_proof_c(pending, in_halves).code, 0);
            assert_memory_equal(at_once, in_halves, n * sizeof at_once[0]);
        }
    }
    scene_close(&scene);
}

static void the_failure_of_one_is_that_of_the_call(void **state) {
    (void)state;
    struct scene scene;
    scene_open(&scene);
    for (n_devices = 1; n_devices <= 3; n_devices++) {
        for (size_t which = 0; which < CIRCUITS; which += n_devices) {
            pm_supraseal_proof proofs[CIRCUITS];
            void *pending = NULL;
            uint64_t *value = (uint64_t *)scene.circuits[which].array[BELLMAN_AUX] + 3;
            const uint64_t good = *value;
            *value = UINT64_MAX; /* no scalar */
            struct rust_error error;
            pm_supraseal_error answer = generate_groth16_proofs_c(
                scene.assignments, CIRCUITS, scene.r_s, scene.s_s, proofs, &scene.srs, NULL, -1);
            memcpy(&error, &answer, sizeof error);
            rust_expect_error(error, EINVAL, "not below");
            answer = generate_groth16_proofs_start_c(scene.assignments, CIRCUITS, scene.r_s,
                                                     scene.s_s, &scene.srs, NULL, -1, &pending);
            memcpy(&error, &answer, sizeof error);
            rust_expect_error(error, EINVAL, "not below");
            assert_null(pending);
            *value = good;
        }
    }
    scene_close(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circuits_are_spread_over_devices),
        cmocka_unit_test(the_failure_of_one_is_that_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
