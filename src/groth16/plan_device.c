/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan_device.h"

#include "groth16/key_windows.h"
#include "groth16/plan_sizes.h"

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---------------------------------------------------------------------------------------------
 * The CPU
 * ------------------------------------------------------------------------------------------- */

static uint64_t cpu_scratch_bytes(const struct pm_plan_device *device, enum pm_step_id step,
                                  const struct pm_plan_sizes *sizes,
                                  const struct pm_plan_choices *choices) {
    switch (step) {
    case PM_STEP_MSM_H:
    case PM_STEP_MSM_A:
    case PM_STEP_MSM_B1:
    case PM_STEP_MSM_L:
    case PM_STEP_MSM_B2:
        return pm_key_scratch_bytes(sizes, choices, step, device->threads);
    default:
        return 0; /* products, transforms and pointwise kernels work in place */
    }
}

/* A parameter file is decoded when it is opened: there is nothing to stream. */
static uint64_t cpu_window_bytes(const struct pm_plan_device *device,
                                 const struct pm_plan_sizes *sizes,
                                 const struct pm_plan_choices *choices) {
    (void)device;
    (void)choices;
    return sizes->reduction == PM_REDUCTION_SNARKJS ? least(PM_KEY_WINDOW_BYTES, sizes->key_bytes)
                                                    : 0;
}

void pm_plan_device_cpu(uint32_t threads, struct pm_plan_device *device) {
    *device = (struct pm_plan_device){.name = "cpu",
                                      .pool = PM_POOL_HOST,
                                      .mechanism = PM_BY_MMAP,
                                      .memory_bytes = UINT64_MAX,
                                      .threads = threads,
                                      .scratch_bytes = cpu_scratch_bytes,
                                      .window_bytes = cpu_window_bytes};
}

/* ---------------------------------------------------------------------------------------------
 * A card
 * ------------------------------------------------------------------------------------------- */

#define CARD_WINDOW_BITS 16
/* Of both curves; signed digits need one bit more than a scalar's 254 or 255. */
#define CARD_WINDOWS (256 / CARD_WINDOW_BITS)
#define CARD_BUCKETS (UINT64_C(1) << (CARD_WINDOW_BITS - 1))

static uint64_t card_msm_bytes(const struct pm_plan_sizes *sizes, uint64_t n,
                               uint64_t coordinates_of_fp) {
    const uint64_t xyzz_bytes = 4 * coordinates_of_fp * (uint64_t)pm_curve_fp_bytes(sizes->curve);
    const uint64_t sort_bytes = least(n, PM_CARD_PIECE_POINTS) * CARD_WINDOWS * 2 * (4 + 4);
    return sort_bytes + CARD_WINDOWS * CARD_BUCKETS * xyzz_bytes;
}

/* That of the sum that takes most. */
static uint64_t card_msms_bytes(const struct pm_plan_sizes *sizes,
                                const struct pm_plan_choices *choices) {
    const uint64_t n[] = {sizes->n_h, sizes->n_a, sizes->n_b, sizes->n_l};
    uint64_t most = choices->b2 == PM_B2_IN_START ? card_msm_bytes(sizes, sizes->n_b, 2) : 0;
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        const uint64_t bytes = card_msm_bytes(sizes, n[i], 1);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static uint64_t card_scratch_bytes(const struct pm_plan_device *device, enum pm_step_id step,
                                   const struct pm_plan_sizes *sizes,
                                   const struct pm_plan_choices *choices) {
    switch (step) {
    case PM_STEP_MSM_H:
        return card_msm_bytes(sizes, sizes->n_h, 1);
    case PM_STEP_MSM_A:
        return card_msm_bytes(sizes, sizes->n_a, 1);
    case PM_STEP_MSM_B1:
        return card_msm_bytes(sizes, sizes->n_b, 1);
    case PM_STEP_MSM_L:
        return card_msm_bytes(sizes, sizes->n_l, 1);
    case PM_STEP_MSM_B2:
        return choices->b2 == PM_B2_IN_START
                   ? card_msm_bytes(sizes, sizes->n_b, 2)
                   : pm_key_scratch_bytes(sizes, choices, step, device->threads);
    case PM_STEP_MSM_ALL:
        return card_msms_bytes(sizes, choices);
    default:
        return 0;
    }
}

static uint64_t card_classes_bytes(const struct pm_plan_device *device,
                                   const struct pm_plan_sizes *sizes) {
    (void)device;
    return sizes->n_vars * 4 + (sizes->n_vars + 3) / 4;
}

static uint64_t card_key_bytes(const struct pm_plan_device *device,
                               const struct pm_plan_sizes *sizes, enum pm_key_place place) {
    (void)device;
    const uint64_t always = pm_plan_twiddle_bytes(sizes) + pm_plan_density_bytes(sizes);
    return place == PM_KEY_STREAMED
               ? always
               : always + pm_plan_point_bytes(sizes) + pm_plan_matrix_bytes(sizes);
}

static uint64_t card_window_bytes(const struct pm_plan_device *device,
                                  const struct pm_plan_sizes *sizes,
                                  const struct pm_plan_choices *choices) {
    (void)device;
    (void)sizes;
    (void)choices;
    return PM_CARD_WINDOW_BYTES;
}

void pm_plan_device_card(uint64_t memory_bytes, uint32_t threads, struct pm_plan_device *device) {
    *device = (struct pm_plan_device){.name = "device",
                                      .pool = PM_POOL_VRAM_0,
                                      .mechanism = PM_BY_STREAM_ORDER,
                                      .own_memory = true,
                                      .classifies = true,
                                      .b2_on_device = true,
                                      .sums_together = true,
                                      .memory_bytes = memory_bytes,
                                      .staging_bytes = PM_CARD_STAGING_BYTES,
                                      .threads = threads,
                                      .scratch_bytes = card_scratch_bytes,
                                      .classes_bytes = card_classes_bytes,
                                      .key_bytes = card_key_bytes,
                                      .window_bytes = card_window_bytes};
}
