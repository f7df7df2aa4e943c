/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as bellman's parameters: a whole file begins with a verifying key, every part
 * lies inside it behind the one before, and where all points are good, writing them gives the same
 * bytes.
 */
#include "fuzz/harness.h"

#include "io/params.h"

#include <stdlib.h>
#include <string.h>

/* Points of larger files take too long. */
#define CHECKED_BYTES_MAX 8192u

static const struct pm_curve *curve(void) {
    return pm_curve_get(PM_CURVE_BLS12_381, PM_BODY_PORTABLE);
}

static void check_layout(const struct pm_params *params) {
    const struct pm_params_layout *layout = &params->layout;
    uint64_t end = 0;
    for (int i = 0; i < (int)params->n_parts; ++i) {
        FUZZ_REQUIRE(layout->offset[i] == end + (i >= PM_PARAMS_N_FIXED ? 4 : 0));
        end = layout->offset[i] + layout->n[i] * pm_params_point_bytes((enum pm_params_part)i);
        FUZZ_REQUIRE(end <= params->mapping->n_bytes);
    }
    FUZZ_REQUIRE(end == layout->n_bytes && layout->vk_bytes <= layout->n_bytes);
}

/* The counts alone decide where everything lies. */
static void check_counts(const struct pm_params_layout *layout) {
    const struct pm_params_counts counts = {.n_inputs = (uint32_t)layout->n[PM_PARAMS_IC],
                                            .n_aux = (uint32_t)layout->n[PM_PARAMS_L],
                                            .log_n = layout->log_n,
                                            .n_a = (uint32_t)layout->n[PM_PARAMS_A],
                                            .n_b = (uint32_t)layout->n[PM_PARAMS_B_G1]};
    struct pm_params_layout again;
    FUZZ_REQUIRE(pm_params_layout_make(&counts, &again, NULL) == PM_OK);
    FUZZ_REQUIRE(memcmp(layout, &again, sizeof again) == 0);
}

/* One part from the file to the image; false when a point is bad. */
static bool copy_part(const struct pm_params *params, enum pm_params_part part, uint8_t *image) {
    const uint64_t n = params->layout.n[part];
    uint8_t *affine = malloc(n * pm_params_point_bytes(part) + 1);
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(affine != NULL);
    const pm_status status = pm_params_decode(params, curve(), part, 0, n, PM_POINT_CHECK_SUBGROUP,
                                              NULL, NULL, affine, &error);
    if (fuzz_succeeded(status, &error)) {
        FUZZ_REQUIRE(pm_params_write_points(&params->layout, curve(), part, 0, n, affine, NULL,
                                            NULL, image, NULL) == PM_OK);
    } else {
        FUZZ_REQUIRE(status == PM_ENCODING || fuzz_is_point_fault(status));
        FUZZ_REQUIRE(error.offset >= params->layout.offset[part]);
        FUZZ_REQUIRE(error.offset < params->mapping->n_bytes);
    }
    FUZZ_REQUIRE(pm_params_decode(params, curve(), part, n, 1, PM_POINT_CHECK_NONE, NULL, NULL,
                                  affine, NULL) == PM_INVALID_ARGUMENT);
    free(affine);
    return status == PM_OK;
}

static void check_points(const struct pm_params *params) {
    const struct pm_params_layout *layout = &params->layout;
    uint8_t *image = calloc(1, layout->n_bytes);
    bool all_good = true;
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(image != NULL);
    check_counts(layout);
    pm_params_write_counts(layout, image);
    for (int i = 0; i < PM_PARAMS_PARTS; ++i) {
        all_good &= copy_part(params, (enum pm_params_part)i, image);
    }
    FUZZ_REQUIRE(!all_good || memcmp(image, params->mapping->bytes, layout->n_bytes) == 0);
    /* Infinity, which reading refuses, cannot be written either. */
    FUZZ_REQUIRE(pm_params_write_points(layout, curve(), PM_PARAMS_ALPHA_G1, 0, 1,
                                        (const uint8_t[PM_G1_BYTES_MAX]){0}, NULL, NULL, image,
                                        NULL) == PM_POINT_AT_INFINITY);
    const pm_status status =
        pm_params_check_points(params, curve(), PM_POINT_CHECK_SUBGROUP, NULL, NULL, &error);
    /* The points of a transcript are looked at too. */
    FUZZ_REQUIRE(!fuzz_succeeded(status, &error) || all_good);
    FUZZ_REQUIRE(status == PM_OK || !all_good || params->circuit_hash != NULL);
    free(image);
}

static pm_status open(const struct pm_mapping *mapping, enum pm_params_extent extent,
                      struct pm_params *params) {
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_params_open(mapping, extent, params, &error);
    if (fuzz_succeeded(status, &error)) {
        check_layout(params);
    } else {
        FUZZ_REQUIRE(strcmp(error.file, "fuzz.params") == 0 && error.offset <= mapping->n_bytes);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_mapping mapping;
    struct pm_params whole, first, only;
    FUZZ_REQUIRE(pm_mapping_borrow(bytes, n_bytes, "fuzz.params", &mapping, NULL) == PM_OK);
    const pm_status first_status = open(&mapping, PM_PARAMS_VK_FIRST, &first);
    const pm_status only_status = open(&mapping, PM_PARAMS_VK_FILE, &only);
    const pm_status whole_status = open(&mapping, PM_PARAMS_WHOLE, &whole);
    FUZZ_REQUIRE(first_status == PM_OK || (only_status != PM_OK && whole_status != PM_OK));
    if (first_status == PM_OK) {
        FUZZ_REQUIRE((only_status == PM_OK) == (first.layout.vk_bytes == n_bytes));
    }
    (void)pm_params_recognise(&mapping);
    if (whole_status == PM_OK && n_bytes <= CHECKED_BYTES_MAX) {
        FUZZ_REQUIRE(first.layout.vk_bytes == whole.layout.vk_bytes);
        check_points(&whole);
    }
    pm_mapping_close(&mapping);
    return 0;
}
