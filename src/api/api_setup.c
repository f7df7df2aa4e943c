/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The "Setup" part of the public header: keys from the powers of tau of a ceremony. */
#include "api/api_internal.h"

#include "groth16/setup_ptau.h"
#include "io/output.h"
#include "io/ptau.h"
#include "io/r1cs.h"

static pm_status setup_from_mappings(pm_context *context, const struct pm_mapping *r1cs_mapping,
                                     const struct pm_mapping *ptau_mapping, const char *zkey_path,
                                     const pm_control *control, pm_error *error) {
    struct pm_r1cs r1cs;
    struct pm_ptau ptau;
    struct pm_kernels kernels;
    struct pm_ledger ledger = {0};
    /* The powers of tau first: to see that they are whole takes no time. */
    PM_TRY(pm_ptau_open(ptau_mapping, &ptau, error));
    PM_TRY(pm_r1cs_open(r1cs_mapping, control, &r1cs, error));
    PM_TRY(pm_kernels_get(r1cs.curve, context->body, context->team, &kernels, error));
    const pm_status status = pm_setup_from_ptau(&kernels, context->body, &r1cs, &ptau, zkey_path,
                                                &ledger, control, error);
    if (status == PM_OK) {
        pm_control_log(control, PM_LOG_DEBUG, "setup used %llu bytes beside the mapped files",
                       (unsigned long long)pm_ledger_peak_bytes(&ledger));
    }
    return status;
}

pm_status pm_setup_ptau(pm_context *context, const char *r1cs_path, const char *ptau_path,
                        const char *zkey_path, const pm_control *control, pm_error *error) {
    PM_FAIL_IF(context == NULL || r1cs_path == NULL || ptau_path == NULL || zkey_path == NULL,
               error, PM_INVALID_ARGUMENT, "context, r1cs_path, ptau_path or zkey_path is NULL");
    const char *const inputs[] = {r1cs_path, ptau_path};
    struct pm_mapping r1cs = {0}, ptau = {0};
    pm_status status;
    PM_TRY(pm_output_distinct(inputs, 2, &zkey_path, 1, error));
    PM_TRY_GOTO(status,
                pm_mapping_open(ptau_path, PM_MAPPING_MAP, UINT64_MAX, NULL, control, &ptau, error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_mapping_open(r1cs_path, PM_MAPPING_MAP, UINT64_MAX, NULL, control, &r1cs, error),
                cleanup);
    PM_TRY_GOTO(status, setup_from_mappings(context, &r1cs, &ptau, zkey_path, control, error),
                cleanup);
cleanup:
    pm_mapping_close(&r1cs);
    pm_mapping_close(&ptau);
    return status;
}
