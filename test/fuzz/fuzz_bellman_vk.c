/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as bellman's verifying key: what is accepted encodes to the very bytes it was
 * read from, and bytes after it make the only difference between a key file and the beginning of a
 * parameter file.
 */
#include "fuzz/harness.h"

#include "curve/curve.h"

#include <string.h>

enum { ALPHA_AT = 0, BETA_AT = 192, GAMMA_AT = 384, DELTA_AT = 672, COUNT_AT = 864, IC_AT = 868 };

/* n points of the vk, canonical, are the n points at the bytes. */
static void compare(const struct pm_group *group, const void *points, size_t n,
                    const uint8_t *bytes) {
    const size_t stride = group->form_bytes(PM_POINT_ZCASH_FULL);
    for (size_t i = 0; i < n; ++i) {
        uint8_t affine[PM_G2_BYTES_MAX], encoded[PM_G2_BYTES_MAX];
        FUZZ_REQUIRE(group->decode(affine, PM_POINT_CANONICAL_LE,
                                   (const uint8_t *)points + i * stride,
                                   PM_POINT_CHECK_SUBGROUP) == PM_POINT_GOOD);
        group->encode(encoded, PM_POINT_ZCASH_FULL, affine);
        FUZZ_REQUIRE(memcmp(encoded, bytes + i * stride, stride) == 0);
    }
}

/* Returns the bytes that the key takes. */
static size_t check_vk(const pm_vk *vk, const uint8_t *bytes, size_t n_bytes) {
    const struct pm_curve *curve = pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
    const size_t n_ic = (size_t)pm_vk_n_public(vk) + 1;
    const size_t used = IC_AT + n_ic * PM_G1_BYTES_MAX;
    pm_vk_arrays arrays = {.struct_bytes = sizeof arrays};
    FUZZ_REQUIRE(pm_vk_curve(vk) == PM_CURVE_BLS12_381 && used <= n_bytes);
    FUZZ_REQUIRE(pm_vk_get_arrays(vk, &arrays) == PM_OK);
    compare(curve->g1, arrays.alpha_g1, 1, bytes + ALPHA_AT);
    compare(curve->g2, arrays.beta_g2, 1, bytes + BETA_AT);
    compare(curve->g2, arrays.gamma_g2, 1, bytes + GAMMA_AT);
    compare(curve->g2, arrays.delta_g2, 1, bytes + DELTA_AT);
    compare(curve->g1, arrays.ic, n_ic, bytes + IC_AT);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    pm_vk *exact = NULL, *leading = NULL;
    pm_error error = PM_ERROR_INIT;
    const pm_status leading_status =
        pm_vk_from_bellman(fuzz_context(), bytes, n_bytes, 1, &leading, &error);
    size_t used = 0;
    if (fuzz_succeeded(leading_status, &error)) {
        used = check_vk(leading, bytes, n_bytes);
    } else {
        FUZZ_REQUIRE(leading == NULL && error.offset <= n_bytes && error.file[0] != '\0');
    }
    error = (pm_error)PM_ERROR_INIT;
    const pm_status exact_status =
        pm_vk_from_bellman(fuzz_context(), bytes, n_bytes, 0, &exact, &error);
    (void)fuzz_succeeded(exact_status, &error);
    if (leading_status != PM_OK) {
        /* The length is judged before the points. */
        FUZZ_REQUIRE(exact_status == leading_status || exact_status == PM_LENGTH);
    } else if (used == n_bytes) {
        FUZZ_REQUIRE(exact_status == PM_OK);
    } else {
        FUZZ_REQUIRE(exact_status == PM_LENGTH && error.offset == used);
    }
    pm_vk_destroy(exact);
    pm_vk_destroy(leading);
    return 0;
}
