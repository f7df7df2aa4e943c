/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * make_bellman_case LOG_N SEED PARAMS PMASG - development parameters of a synthetic circuit of
 * 2^LOG_N rows, and an assignment of it as another prover would have recorded it. PARAMS is left
 * alone when it is there.
 */
#include "support/supraseal_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fail(const char *what, const pm_error *error) {
    (void)fprintf(stderr, "make_bellman_case: %s: %s\n", what, error->message);
    return 1;
}

static int make_params(const struct bellman_shape *shape, const char *path) {
    pm_error error = PM_ERROR_INIT;
    struct rust_params params;
    void *bytes = NULL;
    size_t n_bytes = 0;
    rust_params_make(shape, &params);
    pm_status status = pm_file_read(params.path, SIZE_MAX / 2, NULL, &bytes, &n_bytes, &error);
    if (status == PM_OK) {
        const pm_output output = {path, bytes, n_bytes};
        status = pm_files_write(&output, 1, NULL, &error);
        pm_bytes_free(bytes, n_bytes);
    }
    rust_params_free(&params);
    return status == PM_OK ? 0 : fail(path, &error);
}

static int make_assignment(const struct bellman_shape *shape, uint64_t seed, const char *path) {
    pm_error error = PM_ERROR_INIT;
    struct bellman_circuit circuit;
    bellman_circuit_make(shape, seed, NULL, &circuit);
    const pm_assignment assignment = {.struct_bytes = sizeof assignment,
                                      .curve = PM_CURVE_BLS12_381,
                                      .form = PM_SCALAR_MONTGOMERY,
                                      .inputs = circuit.array[BELLMAN_INPUTS],
                                      .aux = circuit.array[BELLMAN_AUX],
                                      .n_inputs = shape->n_inputs,
                                      .n_aux = shape->n_aux,
                                      .a = circuit.array[BELLMAN_A],
                                      .b = circuit.array[BELLMAN_B],
                                      .c = circuit.array[BELLMAN_C],
                                      .n_rows = shape->n_rows,
                                      .a_aux_density = circuit.array[BELLMAN_A_AUX_DENSITY],
                                      .b_input_density = circuit.array[BELLMAN_B_INPUT_DENSITY],
                                      .b_aux_density = circuit.array[BELLMAN_B_AUX_DENSITY]};
    const pm_status status = pm_assignment_file_write(path, &assignment, NULL, &error);
    bellman_circuit_free(&circuit);
    return status == PM_OK ? 0 : fail(path, &error);
}

int main(int n_arguments, char **arguments) {
    if (n_arguments != 5) {
        (void)fprintf(stderr, "usage: make_bellman_case LOG_N SEED PARAMS PMASG\n");
        return 2;
    }
    const struct bellman_shape shape =
        bellman_shape_of_log_n((uint32_t)strtoul(arguments[1], NULL, 10));
    if (access(arguments[3], F_OK) != 0 && make_params(&shape, arguments[3]) != 0) {
        return 1;
    }
    return make_assignment(&shape, strtoull(arguments[2], NULL, 10), arguments[4]);
}
