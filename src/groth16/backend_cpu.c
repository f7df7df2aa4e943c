/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/backend_cpu.h"

#include "groth16/plan_device.h"

static void describe(const struct pm_backend *backend, struct pm_team *team,
                     struct pm_plan_device *device) {
    (void)backend;
    pm_plan_device_cpu(pm_team_threads(team), device);
}

static pm_status can_run(const struct pm_backend *backend, const struct pm_plan_sizes *sizes,
                         pm_error *error) {
    (void)backend;
    PM_FAIL_IF(pm_msm_get(sizes->curve, PM_BODY_PORTABLE) == NULL, error, PM_UNSUPPORTED,
               "curve %d is not supported", (int)sizes->curve);
    return PM_OK;
}

/* All buffers of its plans are host memory, which the executor allocates itself. */
static pm_status allocate(struct pm_backend *backend, struct pm_ledger *ledger,
                          const struct pm_ledger_note *note, uint64_t bytes, bool secret,
                          void **buffer, pm_error *error) {
    (void)backend, (void)ledger, (void)secret, (void)buffer;
    pm_error_set(error, PM_INTERNAL, "the CPU has no pool %s for %s", pm_pool_name(note->pool),
                 note->name);
    pm_error_need_have(error, bytes, 0);
    return PM_INTERNAL;
}

static void release(struct pm_backend *backend, struct pm_ledger *ledger,
                    const struct pm_ledger_note *note, void *buffer) {
    (void)backend, (void)ledger, (void)note, (void)buffer;
}

static const struct pm_backend_table table = {
    .kind = "cpu",
    .describe = describe,
    .can_run = can_run,
    .allocate = allocate,
    .release = release,
    .step =
        {
            [PM_STEP_LOAD_WITNESS] = pm_cpu_load_witness,
            [PM_STEP_LOAD_VECTORS] = pm_cpu_load_vectors,
            [PM_STEP_PRODUCTS] = pm_cpu_products,
            [PM_STEP_QUOTIENT] = pm_cpu_quotient,
            [PM_STEP_COSET_PRODUCT] = pm_cpu_coset_product,
            [PM_STEP_RECOMPUTE_C] = pm_cpu_recompute_c,
            [PM_STEP_QUOTIENT_OF_C] = pm_cpu_quotient_of_c,
            [PM_STEP_MSM_H] = pm_cpu_msm_h,
            [PM_STEP_MSM_A] = pm_cpu_msm_a,
            [PM_STEP_MSM_B1] = pm_cpu_msm_b1,
            [PM_STEP_MSM_L] = pm_cpu_msm_l,
            [PM_STEP_KEEP_B] = pm_cpu_keep_b,
            [PM_STEP_MSM_B2] = pm_cpu_msm_b2,
        },
};

/* Without state, so that one serves every context. */
static const struct pm_backend cpu = {.table = &table, .pool = PM_POOL_HOST};

/* Backends are passed as writable because devices have state; this one has none to write. */
struct pm_backend *pm_backend_cpu(void) {
    return (struct pm_backend *)(uintptr_t)&cpu;
}
