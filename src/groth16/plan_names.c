/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan.h"

static const char *const step_names[PM_STEP_IDS] = {
    [PM_STEP_LOAD_WITNESS] = "load witness",
    [PM_STEP_LOAD_VECTORS] = "load vectors",
    [PM_STEP_PRODUCTS] = "matrix products",
    [PM_STEP_QUOTIENT] = "quotient",
    [PM_STEP_COSET_PRODUCT] = "coset product",
    [PM_STEP_RECOMPUTE_C] = "recompute c",
    [PM_STEP_QUOTIENT_OF_C] = "quotient of c",
    [PM_STEP_MSM_H] = "msm h",
    [PM_STEP_CLASSIFY] = "classify",
    [PM_STEP_MSM_A] = "msm a",
    [PM_STEP_MSM_B1] = "msm b1",
    [PM_STEP_MSM_L] = "msm l",
    [PM_STEP_MSM_ALL] = "msm all",
    [PM_STEP_KEEP_B] = "keep b",
    [PM_STEP_MSM_B2] = "msm b2",
    [PM_STEP_ASSEMBLY] = "assembly",
    [PM_STEP_SELF_VERIFY] = "self-verification",
};

static const char *const buffer_names[PM_BUFFER_IDS] = {
    [PM_BUFFER_CALLER_INPUTS] = "caller inputs",
    [PM_BUFFER_CALLER_AUX] = "caller aux",
    [PM_BUFFER_CALLER_A] = "caller a",
    [PM_BUFFER_CALLER_B] = "caller b",
    [PM_BUFFER_CALLER_C] = "caller c",
    [PM_BUFFER_KEY_FILE] = "key file",
    [PM_BUFFER_KEY_HOST] = "key on host",
    [PM_BUFFER_KEY_DEVICE] = "key on device",
    [PM_BUFFER_PENDING] = "pending handle",
    [PM_BUFFER_DENSITIES] = "densities",
    [PM_BUFFER_W] = "w",
    [PM_BUFFER_A] = "a",
    [PM_BUFFER_B] = "b",
    [PM_BUFFER_C] = "c",
    [PM_BUFFER_CLASSES] = "classes",
    [PM_BUFFER_B_SCALARS] = "b scalars",
    [PM_BUFFER_STAGING] = "staging",
    [PM_BUFFER_PACKED] = "packed w",
    [PM_BUFFER_MATRIX_WINDOW] = "matrix window",
    [PM_BUFFER_KEY_WINDOW] = "key window",
    [PM_BUFFER_SCRATCH_H] = "quotient scratch",
    [PM_BUFFER_SCRATCH_MSM_H] = "msm h scratch",
    [PM_BUFFER_SCRATCH_MSM_A] = "msm a scratch",
    [PM_BUFFER_SCRATCH_MSM_B1] = "msm b1 scratch",
    [PM_BUFFER_SCRATCH_MSM_L] = "msm l scratch",
    [PM_BUFFER_SCRATCH_MSM_ALL] = "msm all scratch",
    [PM_BUFFER_SCRATCH_MSM_B2] = "msm b2 scratch",
    [PM_BUFFER_SCRATCH_VERIFY] = "verify scratch",
};

const char *pm_step_name(enum pm_step_id step) {
    return (unsigned)step < PM_STEP_IDS ? step_names[step] : "unknown step";
}

const char *pm_buffer_name(enum pm_buffer_id buffer) {
    return (unsigned)buffer < PM_BUFFER_IDS ? buffer_names[buffer] : "unknown buffer";
}
