/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as the points of a verifying key: what is accepted gives its points back, and a
 * key made of those is the same key, e(alpha, beta) included. The input is a byte each for curve,
 * form and number of public signals, then alpha, beta, gamma, delta and ic.
 */
#include "fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

#define PUBLIC_MAX 5u

/* Bytes of a G1 point in a form, or of a field element where the curve is none. */
static size_t g1_bytes(pm_curve_id curve, uint32_t form) {
    const size_t fp_bytes = pm_curve_fp_bytes(curve) != 0 ? pm_curve_fp_bytes(curve) : 1;
    return form == PM_POINT_ZCASH_COMPRESSED ? fp_bytes : 2 * fp_bytes;
}

static void check_again(const pm_vk *vk) {
    const size_t fp_bytes = pm_curve_fp_bytes(pm_vk_curve(vk)), g1 = 2 * fp_bytes,
                 g2 = 4 * fp_bytes;
    uint8_t alphabeta[2][12 * PM_FP_BYTES_MAX];
    pm_vk_arrays arrays = {.struct_bytes = sizeof arrays}, again = arrays;
    pm_vk *copy = NULL;
    FUZZ_REQUIRE(pm_vk_get_arrays(vk, &arrays) == PM_OK);
    FUZZ_REQUIRE(pm_vk_from_arrays(fuzz_context(), &arrays, &copy, NULL) == PM_OK);
    FUZZ_REQUIRE(pm_vk_get_arrays(copy, &again) == PM_OK);
    FUZZ_REQUIRE(again.n_public == arrays.n_public && again.curve == arrays.curve);
    FUZZ_REQUIRE(memcmp(arrays.alpha_g1, again.alpha_g1, g1) == 0);
    FUZZ_REQUIRE(memcmp(arrays.beta_g2, again.beta_g2, g2) == 0);
    FUZZ_REQUIRE(memcmp(arrays.gamma_g2, again.gamma_g2, g2) == 0);
    FUZZ_REQUIRE(memcmp(arrays.delta_g2, again.delta_g2, g2) == 0);
    FUZZ_REQUIRE(memcmp(arrays.ic, again.ic, (arrays.n_public + 1) * g1) == 0);
    FUZZ_REQUIRE(pm_vk_get_alphabeta(vk, alphabeta[0], 12 * fp_bytes) == PM_OK);
    FUZZ_REQUIRE(pm_vk_get_alphabeta(copy, alphabeta[1], 12 * fp_bytes) == PM_OK);
    FUZZ_REQUIRE(memcmp(alphabeta[0], alphabeta[1], 12 * fp_bytes) == 0);
    pm_vk_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct fuzz_reader reader = {bytes, n_bytes};
    const pm_curve_id curve = fuzz_take_curve(&reader);
    const uint32_t form = fuzz_take_u8(&reader) % 6;
    const uint32_t n_public = fuzz_take_u8(&reader) % (PUBLIC_MAX + 1);
    const size_t g1 = g1_bytes(curve, form), n_points[5] = {1, 2, 2, 2, n_public + 1};
    uint8_t *points[5];
    for (size_t i = 0; i < 5; ++i) {
        points[i] = fuzz_take_array(&reader, n_points[i] * g1);
    }
    const pm_vk_arrays arrays = {.struct_bytes = sizeof arrays,
                                 .curve = (uint32_t)curve,
                                 .form = form,
                                 .n_public = n_public,
                                 .alpha_g1 = points[0],
                                 .beta_g2 = points[1],
                                 .gamma_g2 = points[2],
                                 .delta_g2 = points[3],
                                 .ic = points[4]};
    pm_vk *vk = NULL;
    pm_error error = PM_ERROR_INIT;
    if (fuzz_succeeded(pm_vk_from_arrays(fuzz_context(), &arrays, &vk, &error), &error)) {
        FUZZ_REQUIRE(pm_vk_curve(vk) == curve && pm_vk_n_public(vk) == n_public);
        check_again(vk);
    } else {
        FUZZ_REQUIRE(vk == NULL);
    }
    pm_vk_destroy(vk);
    for (size_t i = 0; i < 5; ++i) {
        free(points[i]);
    }
    return 0;
}
