/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_pending.h"

#include <string.h>

/* What can be said before any work: the witness and the key belong together. */
static pm_status check_match(const pm_key *key, const pm_witness *witness, pm_error *error) {
    const struct pm_proving_key *proving_key = &key->proving_key;
    if (witness->curve != proving_key->header.curve) {
        pm_error_set(error, PM_CURVE, "the witness is over %s, the proving key over %s",
                     pm_curve_name(witness->curve), pm_curve_name(proving_key->header.curve));
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        return PM_CURVE;
    }
    if (witness->n_values != proving_key->n_vars) {
        pm_error_set(error, PM_WITNESS_MISMATCH,
                     "the witness has %llu values, the proving key %llu variables: they are of "
                     "different circuits",
                     (unsigned long long)witness->n_values,
                     (unsigned long long)proving_key->n_vars);
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        pm_error_need_have(error, proving_key->n_vars, witness->n_values);
        return PM_WITNESS_MISMATCH;
    }
    PM_FAIL_IF(proving_key->matrices == PM_KEY_MATRICES_NONE, error, PM_INVALID_ARGUMENT,
               "the key has no matrices: open it with its constraint system, or bring a, b and c "
               "as an assignment");
    return PM_OK;
}

pm_status pm_prove_start(pm_context *context, const pm_key *key, const pm_witness *witness,
                         const pm_prove_options *options, const pm_control *control,
                         pm_pending **pending, pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL || witness == NULL || pending == NULL, error,
               PM_INVALID_ARGUMENT, "context, key, witness or pending is NULL");
    struct pm_lent lent;
    PM_TRY(check_match(key, witness, error));
    pm_lent_witness(pm_witness_retain(witness), key->proving_key.n_inputs, &lent);
    return pm_pending_start(context, key, &lent, options, control, pending, error);
}

/* blinding NULL: fresh. */
static pm_status prove(pm_context *context, const pm_key *key, const pm_witness *witness,
                       const struct pm_blinding *blinding, const pm_prove_options *options,
                       const pm_control *control, pm_proof *proof, pm_prove_stats *stats,
                       pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL || witness == NULL || proof == NULL, error,
               PM_INVALID_ARGUMENT, "context, key, witness or proof is NULL");
    pm_pending *pending = NULL;
    PM_TRY(pm_prove_start(context, key, witness, options, control, &pending, error));
    return pm_pending_finish(pending, blinding, control, proof, stats, error);
}

pm_status pm_prove_with_blinding(pm_context *context, const pm_key *key, const pm_witness *witness,
                                 const struct pm_blinding *blinding,
                                 const pm_prove_options *options, const pm_control *control,
                                 pm_proof *proof, pm_prove_stats *stats, pm_error *error) {
    PM_FAIL_IF(blinding == NULL, error, PM_INVALID_ARGUMENT, "blinding is NULL");
    return prove(context, key, witness, blinding, options, control, proof, stats, error);
}

pm_status pm_prove(pm_context *context, const pm_key *key, const pm_witness *witness,
                   const pm_prove_options *options, const pm_control *control, pm_proof *proof,
                   pm_prove_stats *stats, pm_error *error) {
    return prove(context, key, witness, NULL, options, control, proof, stats, error);
}
