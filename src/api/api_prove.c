/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "api/api_internal.h"

#include "base/clock.h"

#include <string.h>

/* What can be said before any work: the witness and the key belong together, and the result can be
 * verified if that is wanted. */
static pm_status check_match(const pm_key *key, const pm_witness *witness,
                             const pm_prove_options *options, pm_error *error) {
    const struct pm_key_parts *parts = &key->proving_key.parts;
    if (witness->curve != parts->curve) {
        pm_error_set(error, PM_CURVE, "the witness is over %s, the proving key over %s",
                     pm_curve_name(witness->curve), pm_curve_name(parts->curve));
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        return PM_CURVE;
    }
    if (witness->n_values != parts->n_vars) {
        pm_error_set(error, PM_WITNESS_MISMATCH,
                     "the witness has %llu values, the proving key %u variables: they are of "
                     "different circuits",
                     (unsigned long long)witness->n_values, parts->n_vars);
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        pm_error_need_have(error, parts->n_vars, witness->n_values);
        return PM_WITNESS_MISMATCH;
    }
    if (!options->no_self_verify && parts->ic == NULL) {
        pm_error_set(error, PM_SECTION,
                     "the key has no section 3 (IC), so the proof cannot be verified before it is "
                     "given out; ask for no self-verification to prove all the same");
        pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
        return PM_SECTION;
    }
    return PM_OK;
}

static void proof_to_public(const struct pm_curve *curve, const struct pm_groth16_proof *proof,
                            pm_proof *out) {
    const pm_proof empty = {.struct_bytes = sizeof empty, .curve = (uint32_t)curve->id};
    *out = empty;
    curve->g1->encode(out->a, PM_POINT_CANONICAL_LE, proof->a);
    curve->g2->encode(out->b, PM_POINT_CANONICAL_LE, proof->b);
    curve->g1->encode(out->c, PM_POINT_CANONICAL_LE, proof->c);
}

static pm_status self_verify(pm_context *context, const pm_key *key, const pm_vk *vk,
                             const pm_witness *witness, const pm_proof *proof, pm_error *error) {
    const uint8_t *publics = witness->values + PM_FR_BYTES;
    const pm_status status =
        pm_verify(context, vk, publics, key->proving_key.parts.n_public, proof, error);
    if (status == PM_OK || status == PM_NO_MEMORY) {
        return status;
    }
    pm_error_set(
        error, PM_SELF_VERIFY,
        "the finished proof does not verify and was withheld: the witness does not satisfy "
        "the circuit's constraints, or the proving key is damaged");
    pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
    return PM_SELF_VERIFY;
}

/* Start, finish, and in the end a proof in public form. */
static pm_status run_job(pm_context *context, const pm_key *key, const pm_witness *witness,
                         const struct pm_blinding *blinding, const pm_control *control,
                         struct pm_ledger *ledger, pm_prove_stats *stats, pm_proof *proof,
                         pm_error *error) {
    struct pm_kernels kernels;
    struct pm_groth16_proof points;
    PM_TRY(pm_kernels_get(key->proving_key.parts.curve, context->body, context->team, &kernels,
                          error));
    struct pm_groth16_job job = {.kernels = &kernels,
                                 .key = &key->proving_key,
                                 .witness = witness->values,
                                 .control = control,
                                 .ledger = ledger,
                                 .stats = stats};
    const pm_status status = pm_groth16_start(&job, error);
    if (status != PM_OK) {
        pm_groth16_abandon(&job);
        return status;
    }
    PM_TRY(pm_groth16_finish(&job, blinding, &points, error));
    PM_TRY(pm_mapping_check(&key->mapping, error));
    proof_to_public(kernels.curve, &points, proof);
    return PM_OK;
}

pm_status pm_prove_with_blinding(pm_context *context, const pm_key *key, const pm_witness *witness,
                                 const struct pm_blinding *blinding,
                                 const pm_prove_options *options, const pm_control *control,
                                 pm_proof *proof, pm_prove_stats *stats, pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL || witness == NULL || proof == NULL, error,
               PM_INVALID_ARGUMENT, "context, key, witness or proof is NULL");
    pm_prove_options chosen;
    pm_options_read(&chosen, sizeof chosen, options);
    PM_TRY(check_match(key, witness, &chosen, error));

    const uint64_t begin_ns = pm_clock_now_ns();
    struct pm_ledger ledger = {0};
    pm_prove_stats measured = {.struct_bytes = sizeof measured};
    pm_proof made;
    const pm_vk *vk = NULL;
    if (!chosen.no_self_verify) {
        /* First, so that a damaged verifying key costs no proof. */
        PM_TRY(pm_key_shared_vk(context, key, &vk, error));
    }
    PM_TRY(run_job(context, key, witness, blinding, control, &ledger, &measured, &made, error));
    if (!chosen.no_self_verify) {
        const uint64_t verify_begin_ns = pm_clock_now_ns();
        PM_TRY(self_verify(context, key, vk, witness, &made, error));
        measured.phases[measured.n_phases++] =
            (pm_phase){.name = "self-verification", .wall_ns = pm_clock_now_ns() - verify_begin_ns};
    }
    measured.wall_ns = pm_clock_now_ns() - begin_ns;
    measured.peak_bytes = pm_ledger_peak_bytes(&ledger);
    *proof = made;
    if (stats != NULL) {
        const uint32_t theirs = stats->struct_bytes;
        memcpy(stats, &measured, theirs < sizeof measured ? theirs : sizeof measured);
        stats->struct_bytes = theirs;
    }
    return PM_OK;
}

pm_status pm_prove(pm_context *context, const pm_key *key, const pm_witness *witness,
                   const pm_prove_options *options, const pm_control *control, pm_proof *proof,
                   pm_prove_stats *stats, pm_error *error) {
    PM_FAIL_IF(context == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context or key is NULL");
    const struct pm_curve *curve = pm_curve_get(key->proving_key.parts.curve, context->body);
    PM_FAIL_IF(curve == NULL, error, PM_UNSUPPORTED, "the key's curve has no %s arithmetic",
               pm_body_name(context->body));
    struct pm_blinding blinding;
    PM_TRY(pm_groth16_draw_blinding(curve, &blinding, error));
    const pm_status status = pm_prove_with_blinding(context, key, witness, &blinding, options,
                                                    control, proof, stats, error);
    pm_memory_wipe(&blinding, sizeof blinding);
    return status;
}
