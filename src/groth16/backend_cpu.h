/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* groth16/backend_cpu.h - the CPU's steps, and what they share. */
#ifndef PM_GROTH16_BACKEND_CPU_H
#define PM_GROTH16_BACKEND_CPU_H

#include "groth16/backend.h"
#include "groth16/proving_key.h"

#include <stdbool.h>
#include <stdint.h>

/* backend_cpu_vectors.c */
pm_step_function pm_cpu_load_witness, pm_cpu_load_vectors, pm_cpu_products, pm_cpu_quotient,
    pm_cpu_coset_product, pm_cpu_recompute_c, pm_cpu_quotient_of_c;
/* backend_cpu_sums.c */
pm_step_function pm_cpu_msm_h, pm_cpu_msm_a, pm_cpu_msm_b1, pm_cpu_msm_l, pm_cpu_keep_b,
    pm_cpu_msm_b2;

static inline pm_status pm_cpu_kernels(const struct pm_step_data *data, struct pm_kernels *kernels,
                                       pm_error *error) {
    return pm_kernels_get(data->proving_key->header.curve, data->body, data->team, kernels, error);
}
/* Whether pages of the key are given back behind the reader. */
static inline bool pm_cpu_streams(const struct pm_step_data *data) {
    return data->plan->choices.key == PM_KEY_STREAMED && data->proving_key->mapping != NULL;
}
/* All scalars, canonical and one behind the other, or NULL: they lie in the caller's two arrays, in
 * the caller's form. */
static inline const uint8_t *pm_cpu_witness(const struct pm_step_data *data) {
    if (data->buffer[PM_BUFFER_W] != NULL) {
        return data->buffer[PM_BUFFER_W];
    }
    return data->plan->choices.scalars_are_lent ? NULL : data->buffer[PM_BUFFER_CALLER_INPUTS];
}

#endif
