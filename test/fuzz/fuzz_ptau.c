/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as powers of tau: they are refused, or every point that setup may read lies
 * inside the file.
 */
#include "fuzz/harness.h"

#include "curve/curve.h"
#include "io/ptau.h"

#include <string.h>

static void require_inside(const struct pm_mapping *mapping, const uint8_t *points, uint64_t n,
                           uint64_t point_bytes) {
    FUZZ_REQUIRE(points >= mapping->bytes);
    const uint64_t offset = (uint64_t)(points - mapping->bytes);
    FUZZ_REQUIRE(offset <= mapping->n_bytes && n <= (mapping->n_bytes - offset) / point_bytes);
}

static void check(const struct pm_mapping *mapping, const struct pm_ptau *ptau) {
    const struct pm_curve *curve = pm_curve_get(ptau->curve, PM_BODY_PORTABLE);
    const uint64_t g1 = curve->g1->affine_bytes, g2 = curve->g2->affine_bytes;
    const uint64_t n = UINT64_C(1) << ptau->power;
    require_inside(mapping, ptau->tau_g1, 2 * n - 1, g1);
    require_inside(mapping, ptau->tau_g2, n, g2);
    require_inside(mapping, ptau->alpha_tau_g1, n, g1);
    require_inside(mapping, ptau->beta_tau_g1, n, g1);
    require_inside(mapping, ptau->beta_g2, 1, g2);
    if (ptau->is_prepared) {
        require_inside(mapping, ptau->lagrange_tau_g1, 4 * n - 1, g1);
        require_inside(mapping, ptau->lagrange_tau_g2, 2 * n - 1, g2);
        require_inside(mapping, ptau->lagrange_alpha_tau_g1, 2 * n - 1, g1);
        require_inside(mapping, ptau->lagrange_beta_tau_g1, 2 * n - 1, g1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_mapping mapping;
    struct pm_ptau ptau;
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(pm_mapping_borrow(bytes, n_bytes, "fuzz.ptau", &mapping, NULL) == PM_OK);
    const pm_status status = pm_ptau_open(&mapping, &ptau, &error);
    if (fuzz_succeeded(status, &error)) {
        check(&mapping, &ptau);
    } else {
        FUZZ_REQUIRE(strcmp(error.file, "fuzz.ptau") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
    }
    pm_mapping_close(&mapping);
    return 0;
}
