/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "groth16/setup_known.h"
#include "io/output.h"

static pm_status setup_from_mapping(pm_context *context, const struct pm_mapping *mapping,
                                    const char *key_path, const pm_setup_known_options *options,
                                    const pm_control *control, pm_error *error) {
    struct pm_r1cs r1cs;
    struct pm_kernels kernels;
    PM_TRY(pm_r1cs_open(mapping, control, &r1cs, error));
    PM_TRY(pm_kernels_get(r1cs.curve, context->body, context->team, &kernels, error));
    return pm_setup_known(&kernels, context->body, &r1cs, options->seed,
                          (pm_key_format)options->format, key_path, NULL, control, error);
}

pm_status pm_setup_known_tau(pm_context *context, const char *r1cs_path, const char *key_path,
                             const pm_setup_known_options *options, const pm_control *control,
                             pm_error *error) {
    PM_FAIL_IF(context == NULL || r1cs_path == NULL || key_path == NULL, error, PM_INVALID_ARGUMENT,
               "context, r1cs_path or key_path is NULL");
    pm_setup_known_options chosen;
    pm_options_read(&chosen, sizeof chosen, options);
    PM_FAIL_IF(chosen.format > PM_KEY_FORMAT_PARAMS, error, PM_INVALID_ARGUMENT,
               "format %u is not a pm_key_format", chosen.format);
    PM_TRY(pm_output_distinct(&r1cs_path, 1, &key_path, 1, error));
    struct pm_mapping mapping;
    PM_TRY(pm_mapping_open(r1cs_path, PM_MAPPING_MAP, UINT64_MAX, NULL, control, &mapping, error));
    const pm_status status =
        setup_from_mapping(context, &mapping, key_path, &chosen, control, error);
    pm_mapping_close(&mapping);
    return status;
}
