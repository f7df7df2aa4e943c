/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The interface of Curio's fork, supraseal-c2 0.1.2. */
#include "shim/supraseal.h"

#include <stdlib.h>

pm_supraseal_error generate_groth16_proofs_c(const pm_supraseal_assignment *provers, size_t n,
                                             const pm_supraseal_fr *r_s, const pm_supraseal_fr *s_s,
                                             pm_supraseal_proof *out, const pm_supraseal_srs *srs,
                                             void *gpu_mtx, int gpu_index) {
    const struct pm_supraseal_request request = {.provers = provers,
                                                 .n = n,
                                                 .r_s = r_s,
                                                 .s_s = s_s,
                                                 .srs = srs,
                                                 .mutex = gpu_mtx,
                                                 .gpu_index = gpu_index};
    return pm_supraseal_generate(&request, out);
}

pm_supraseal_error generate_groth16_proofs_start_c(const pm_supraseal_assignment *provers, size_t n,
                                                   const pm_supraseal_fr *r_s,
                                                   const pm_supraseal_fr *s_s,
                                                   const pm_supraseal_srs *srs, void *gpu_mtx,
                                                   int gpu_index, void **pending_out) {
    const struct pm_supraseal_request request = {.provers = provers,
                                                 .n = n,
                                                 .r_s = r_s,
                                                 .s_s = s_s,
                                                 .srs = srs,
                                                 .mutex = gpu_mtx,
                                                 .gpu_index = gpu_index};
    struct pm_supraseal_pending *pending = NULL;
    if (pending_out == NULL) {
        pm_error error;
        return pm_supraseal_answer(
            pm_supraseal_fail(&error, PM_INVALID_ARGUMENT, "pending_out is NULL"), &error);
    }
    *pending_out = NULL;
    const pm_supraseal_error answer = pm_supraseal_start(&request, &pending);
    *pending_out = pending;
    return answer;
}

pm_supraseal_error finalize_groth16_proof_c(void *pending, pm_supraseal_proof *out) {
    return pm_supraseal_finalize(pending, out);
}

void destroy_pending_proof(void *pending) {
    pm_supraseal_destroy(pending);
}

void *create_gpu_mutex(void) {
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    if (mutex != NULL && pthread_mutex_init(mutex, NULL) != 0) {
        free(mutex);
        return NULL;
    }
    return mutex;
}

void destroy_gpu_mutex(void *gpu_mtx) {
    if (gpu_mtx != NULL) {
        (void)pthread_mutex_destroy(gpu_mtx);
        free(gpu_mtx);
    }
}
