/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/supraseal_abi.h"

#include "support/file_builder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- The library ----------------------------------------------------------------------------- */

const char *supraseal_path(enum supraseal_flavour flavour) {
    static const char *const names[SUPRASEAL_FLAVOURS] = {"PM_SUPRASEAL_UPSTREAM",
                                                          "PM_SUPRASEAL_CURIO"};
    const char *path = getenv(names[flavour]);
    if (path == NULL) {
        fail_msg("%s must name the library", names[flavour]);
    }
    return path;
}

/* A function's address is an object pointer to dlsym(). */
static void find(const struct supraseal *supraseal, const char *name, void *function) {
    void *const address = dlsym(supraseal->library, name);
    memcpy(function, &address, sizeof address);
}

void supraseal_load(enum supraseal_flavour flavour, struct supraseal *supraseal) {
    *supraseal =
        (struct supraseal){.library = dlopen(supraseal_path(flavour), RTLD_NOW | RTLD_LOCAL)};
    if (supraseal->library == NULL) {
        fail_msg("%s", dlerror());
    }
    find(supraseal, "create_SRS", &supraseal->create);
    find(supraseal, "evict_SRS", &supraseal->evict);
    find(supraseal, "drop_SRS", &supraseal->drop);
    find(supraseal, "clone_SRS", &supraseal->clone);
    if (flavour == SUPRASEAL_UPSTREAM) {
        find(supraseal, "generate_groth16_proofs_c", &supraseal->generate6);
        assert_true(supraseal->generate6 != NULL);
    } else {
        find(supraseal, "generate_groth16_proofs_c", &supraseal->generate8);
        assert_true(supraseal->generate8 != NULL);
        find(supraseal, "generate_groth16_proofs_start_c", &supraseal->start);
        find(supraseal, "finalize_groth16_proof_c", &supraseal->finalize);
        find(supraseal, "destroy_pending_proof", &supraseal->destroy);
        find(supraseal, "create_gpu_mutex", &supraseal->create_mutex);
        find(supraseal, "destroy_gpu_mutex", &supraseal->destroy_mutex);
    }
}

void supraseal_unload(struct supraseal *supraseal) {
    assert_int_equal(dlclose(supraseal->library), 0);
    *supraseal = (struct supraseal){0};
}

struct rust_error supraseal_generate(const struct supraseal *supraseal,
                                     const struct rust_assignment *assignments, size_t n,
                                     const void *r_s, const void *s_s, void *out,
                                     const struct rust_srs *srs) {
    return supraseal->generate6 != NULL
               ? supraseal->generate6(assignments, n, r_s, s_s, out, srs)
               : supraseal->generate8(assignments, n, r_s, s_s, out, srs, NULL, -1);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

void rust_expect_good(struct rust_error error) {
    if (error.code != 0) {
        fail_msg("code %d: %s", error.code, error.message != NULL ? error.message : "no message");
    }
    free(error.message);
}

void rust_expect_error(struct rust_error error, int32_t code, const char *piece) {
    assert_non_null(error.message);
    if (error.code != code || strstr(error.message, piece) == NULL) {
        fail_msg("code %d: %s; expected code %d and \"%s\"", error.code, error.message, code,
                 piece);
    }
    free(error.message);
}

/* ---- Circuits -------------------------------------------------------------------------------- */

struct rust_assignment rust_assignment_of(const struct bellman_circuit *circuit) {
    const struct bellman_shape *shape = &circuit->shape;
    return (struct rust_assignment){circuit->array[BELLMAN_A_AUX_DENSITY],
                                    (size_t)shape->n_aux,
                                    (size_t)shape->n_a_aux,
                                    circuit->array[BELLMAN_B_INPUT_DENSITY],
                                    (size_t)shape->n_inputs,
                                    1,
                                    circuit->array[BELLMAN_B_AUX_DENSITY],
                                    (size_t)shape->n_aux,
                                    (size_t)shape->n_b_aux,
                                    circuit->array[BELLMAN_A],
                                    circuit->array[BELLMAN_B],
                                    circuit->array[BELLMAN_C],
                                    (size_t)shape->n_rows,
                                    circuit->array[BELLMAN_INPUTS],
                                    (size_t)shape->n_inputs,
                                    circuit->array[BELLMAN_AUX],
                                    (size_t)shape->n_aux};
}

/* The verifying key is how the file begins. */
static void read_vk(const struct bellman_shape *shape, struct rust_params *params) {
    const size_t n_bytes = 868 + 96 * (size_t)shape->n_inputs;
    uint8_t *bytes = malloc(n_bytes);
    FILE *file = fopen(params->path, "rb");
    assert_true(bytes != NULL && file != NULL);
    assert_int_equal(fread(bytes, 1, n_bytes, file), n_bytes);
    (void)fclose(file);
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        pm_vk_from_bellman(params->context, bytes, n_bytes, 0, &params->vk, &error);
    file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    free(bytes);
}

void rust_params_make(const struct bellman_shape *shape, struct rust_params *params) {
    const pm_setup_known_options options = {
        .struct_bytes = sizeof options, .format = PM_KEY_FORMAT_PARAMS, .seed = 1};
    struct bellman_circuit circuit;
    struct stat about;
    pm_error error = PM_ERROR_INIT;
    *params = (struct rust_params){.tree = file_make_tree()};
    assert_int_equal(pm_context_create(NULL, &params->context, &error), PM_OK);
    const char *r1cs = file_in_tree(params->tree, "circuit.r1cs");
    bellman_circuit_make(shape, 1, r1cs, &circuit);
    bellman_circuit_free(&circuit);
    (void)snprintf(params->path, sizeof params->path, "%s",
                   file_in_tree(params->tree, "circuit.params"));
    const pm_status status =
        pm_setup_known_tau(params->context, r1cs, params->path, &options, NULL, &error);
    file_expect(status, PM_OK, &error, NULL, NULL, NULL);
    assert_int_equal(remove(r1cs), 0);
    assert_int_equal(stat(params->path, &about), 0);
    params->n_bytes = (uint64_t)about.st_size;
    read_vk(shape, params);
}

void rust_params_free(struct rust_params *params) {
    pm_vk_destroy(params->vk);
    pm_context_destroy(params->context);
    file_remove_tree(params->tree);
    *params = (struct rust_params){0};
}

pm_status rust_params_verify(const struct rust_params *params, const uint8_t *publics,
                             const void *bytes) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    const pm_status status = pm_proof_decode(PM_CURVE_BLS12_381, PM_POINT_MONTGOMERY_LE, bytes,
                                             RUST_PROOF_BYTES, &proof, &error);
    return status == PM_OK ? pm_verify(params->context, params->vk, publics,
                                       pm_vk_n_public(params->vk), &proof, &error)
                           : status;
}

/* Threads that a sanitizer has for itself. */
#if defined(__SANITIZE_THREAD__)
#define FOREIGN_THREADS 1
#else
#define FOREIGN_THREADS 0
#endif

unsigned process_threads(void) {
    DIR *folder = opendir("/proc/self/task");
    unsigned n = 0;
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n - FOREIGN_THREADS;
}

unsigned process_threads_settled(unsigned expected) {
    unsigned n = process_threads();
    for (int attempt = 0; n != expected && attempt < 4000; ++attempt) {
        (void)usleep(5000);
        n = process_threads();
    }
    return n;
}

unsigned process_threads_at_rest(void) {
    unsigned n = process_threads();
    for (int same = 0; same < 20; ++same) {
        (void)usleep(10000);
        const unsigned now = process_threads();
        same = now == n ? same : 0;
        n = now;
    }
    return n;
}
