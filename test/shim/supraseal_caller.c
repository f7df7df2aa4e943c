/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * supraseal_caller PARAMS - a program that knows proofmill_supraseal.h and the library alone:
 * opens, clones, asks for a proof of what does not fit, drops. Prints "refused: SENTENCE".
 */
#include <proofmill/proofmill_supraseal.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what, const pm_supraseal_error *error) {
    (void)fprintf(stderr, "%s: %d %s\n", what, error->code,
                  error->message != NULL ? error->message : "");
    return 1;
}

int main(int n_arguments, char **arguments) {
    pm_supraseal_srs srs;
    pm_supraseal_proof proof;
    const pm_supraseal_fr blinding = {{1, 0, 0, 0}};
    const pm_supraseal_assignment assignment = {.abc_size = 0};
    if (n_arguments != 2) {
        return 2;
    }
    pm_supraseal_error error = create_SRS(&srs, arguments[1], false);
    if (error.code != 0) {
        return fail("create_SRS", &error);
    }
    pm_supraseal_srs clone = clone_SRS(&srs);
    drop_SRS(&srs);
#ifdef PROOFMILL_SUPRASEAL_UPSTREAM
    error = generate_groth16_proofs_c(&assignment, 1, &blinding, &blinding, &proof, &clone);
#else
    void *pending = NULL, *mutex = create_gpu_mutex();
    error = generate_groth16_proofs_start_c(&assignment, 1, &blinding, &blinding, &clone, mutex, -1,
                                            &pending);
    destroy_gpu_mutex(mutex);
    if (error.code == 0) {
        free(error.message);
        error = finalize_groth16_proof_c(pending, &proof);
    }
#endif
    if (error.code == 0 || error.message == NULL) {
        return fail("what does not fit", &error);
    }
    (void)printf("refused: %s\n", error.message);
    free(error.message);
    drop_SRS(&clone);
    return 0;
}
