/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Arrays that are lent to a proof: whether they fit the key, and giving each back once. */
#include "api/api_pending.h"

#include "io/modulus.h"

#include <string.h>

static const char *const array_names[PM_LENT_ARRAYS] = {"inputs", "aux", "a", "b", "c"};

void pm_lent_witness(pm_witness *witness, uint64_t n_inputs, struct pm_lent *lent) {
    *lent = (struct pm_lent){.witness = witness,
                             .n_inputs = n_inputs,
                             .n_aux = witness->n_values - n_inputs,
                             .held = 1u << PM_ARRAY_INPUTS | 1u << PM_ARRAY_AUX};
    lent->array[PM_ARRAY_INPUTS] = witness->values;
    lent->array[PM_ARRAY_AUX] = witness->values + n_inputs * PM_FR_BYTES;
}

void pm_lent_assignment(const pm_assignment *assignment, struct pm_lent *lent) {
    pm_assignment given;
    pm_options_read(&given, sizeof given, assignment);
    *lent = (struct pm_lent){.array = {given.inputs, given.aux, given.a, given.b, given.c},
                             .n_inputs = given.n_inputs,
                             .n_aux = given.n_aux,
                             .n_rows = given.n_rows,
                             .montgomery = given.form == PM_SCALAR_MONTGOMERY,
                             .a_aux_density = given.a_aux_density,
                             .b_input_density = given.b_input_density,
                             .b_aux_density = given.b_aux_density,
                             .release = given.release,
                             .user = given.user};
    for (uint32_t i = 0; i < PM_LENT_ARRAYS; ++i) {
        lent->held |= (uint32_t)(lent->array[i] != NULL) << i;
    }
}

void pm_lent_return(struct pm_lent *lent, pm_assignment_array which) {
    const uint32_t of_witness = 1u << PM_ARRAY_INPUTS | 1u << PM_ARRAY_AUX;
    if ((lent->held >> which & 1) == 0) {
        return;
    }
    lent->held &= ~(1u << which);
    lent->array[which] = NULL;
    if (lent->release != NULL) {
        lent->release(lent->user, which);
    }
    if (lent->witness != NULL && (lent->held & of_witness) == 0) {
        pm_witness_destroy(lent->witness);
        lent->witness = NULL;
    }
}

void pm_lent_return_all(struct pm_lent *lent) {
    for (uint32_t i = 0; i < PM_LENT_ARRAYS; ++i) {
        pm_lent_return(lent, (pm_assignment_array)i);
    }
}

/* ---- Checks --------------------------------------------------------------------------------- */

static pm_status mismatch(const pm_key *key, pm_status status, const char *what, uint64_t need,
                          uint64_t have, pm_error *error) {
    pm_error_set(error, status, "the assignment has %llu %s, the proving key needs %llu",
                 (unsigned long long)have, what, (unsigned long long)need);
    pm_error_at(error, key->mapping.name, PM_NO_OFFSET);
    pm_error_need_have(error, need, have);
    return status;
}

static pm_status check_counts(const struct pm_lent *lent, const pm_key *key, pm_error *error) {
    const struct pm_proving_key *proving_key = &key->proving_key;
    const uint64_t n_aux = proving_key->n_vars - proving_key->n_inputs;
    const uint64_t n_rows_max = UINT64_C(1) << proving_key->log_n;
    if (lent->n_inputs != proving_key->n_inputs) {
        return mismatch(key, PM_WITNESS_MISMATCH, "inputs (with the constant one)",
                        proving_key->n_inputs, lent->n_inputs, error);
    }
    if (lent->n_aux != n_aux) {
        return mismatch(key, PM_WITNESS_MISMATCH, "aux values", n_aux, lent->n_aux, error);
    }
    if (lent->array[PM_ARRAY_A] == NULL) {
        return PM_OK;
    }
    if (lent->n_rows > n_rows_max) {
        return mismatch(key, PM_COUNT, "rows, and at most", n_rows_max, lent->n_rows, error);
    }
    if (proving_key->matrices != PM_KEY_MATRICES_NONE && lent->n_rows < proving_key->n_rows) {
        return mismatch(key, PM_COUNT, "rows", proving_key->n_rows, lent->n_rows, error);
    }
    return PM_OK;
}

static pm_status check_arrays(const struct pm_lent *lent, const pm_key *key, pm_error *error) {
    const bool has_a = lent->array[PM_ARRAY_A] != NULL, has_b = lent->array[PM_ARRAY_B] != NULL;
    PM_FAIL_IF(lent->array[PM_ARRAY_INPUTS] == NULL, error, PM_INVALID_ARGUMENT,
               "the assignment's inputs are NULL");
    PM_FAIL_IF(lent->array[PM_ARRAY_AUX] == NULL && lent->n_aux != 0, error, PM_INVALID_ARGUMENT,
               "the assignment's aux is NULL");
    PM_FAIL_IF(has_a != has_b || (lent->array[PM_ARRAY_C] != NULL && !has_a), error,
               PM_INVALID_ARGUMENT, "of a, b and c, a and b come together, and c only with them");
    PM_FAIL_IF(!has_a && key->proving_key.matrices == PM_KEY_MATRICES_NONE, error,
               PM_INVALID_ARGUMENT,
               "the key has no matrices, so the assignment must bring a, b and c");
    for (uint32_t i = 0; i < PM_LENT_ARRAYS; ++i) {
        PM_FAIL_IF((uintptr_t)lent->array[i] % sizeof(uint64_t) != 0, error, PM_INVALID_ARGUMENT,
                   "the assignment's %s is not 8-byte aligned", array_names[i]);
    }
    return PM_OK;
}

static pm_status check_density(const uint64_t *words, const char *name, pm_error *error) {
    PM_FAIL_IF((uintptr_t)words % sizeof(uint64_t) != 0, error, PM_INVALID_ARGUMENT,
               "the assignment's %s density is not 8-byte aligned", name);
    return PM_OK;
}

/* The inputs, which are copied before any step. The other scalars are checked by the step that
 * loads them, in its copy: the caller's arrays may change until then. */
static pm_status check_inputs(const struct pm_lent *lent, pm_context *context, const pm_key *key,
                              pm_error *error) {
    const pm_curve_id curve = key->proving_key.header.curve;
    const struct pm_field *fr = pm_field_fr(curve, context->body);
    const uint64_t *modulus = pm_modulus_scalar(curve);
    const uint8_t *inputs = lent->array[PM_ARRAY_INPUTS];
    static const uint64_t one[PM_FR_LIMBS_MAX] = {1};
    PM_FAIL_IF(fr == NULL, error, PM_UNSUPPORTED, "the key's curve has no %s arithmetic",
               pm_body_name(context->body));
    PM_FAIL_IF(memcmp(inputs, lent->montgomery ? fr->one : one, PM_FR_BYTES) != 0, error,
               PM_WITNESS_MISMATCH, "inputs[0] of the assignment is not 1, the constant");
    for (uint64_t i = 1; i < lent->n_inputs; ++i) {
        PM_FAIL_IF(!pm_modulus_exceeds(modulus, inputs + i * PM_FR_BYTES), error, PM_NOT_CANONICAL,
                   "inputs[%llu] of the assignment is not below the scalar field's prime of %s",
                   (unsigned long long)i, pm_curve_name(curve));
    }
    return PM_OK;
}

pm_status pm_lent_check(const struct pm_lent *lent, pm_context *context, const pm_key *key,
                        pm_error *error) {
    PM_TRY(check_arrays(lent, key, error));
    PM_TRY(check_counts(lent, key, error));
    PM_TRY(check_density(lent->a_aux_density, "a aux", error));
    PM_TRY(check_density(lent->b_input_density, "b input", error));
    PM_TRY(check_density(lent->b_aux_density, "b aux", error));
    return check_inputs(lent, context, key, error);
}

pm_status pm_prove_start_assignment(pm_context *context, const pm_key *key,
                                    const pm_assignment *assignment,
                                    const pm_prove_options *options, const pm_control *control,
                                    pm_pending **pending, pm_error *error) {
    struct pm_lent lent;
    pm_assignment given;
    pm_options_read(&given, sizeof given, assignment);
    pm_lent_assignment(assignment, &lent);
    pm_status status = PM_OK;
    if (context == NULL || key == NULL || assignment == NULL || pending == NULL) {
        status =
            pm_error_set(error, PM_INVALID_ARGUMENT, "context, key, assignment or pending is NULL");
    } else if (given.form > PM_SCALAR_MONTGOMERY) {
        status =
            pm_error_set(error, PM_INVALID_ARGUMENT, "form %u is not a pm_scalar_form", given.form);
    } else if (given.curve != (uint32_t)key->proving_key.header.curve) {
        status = pm_error_set(error, PM_CURVE, "the assignment is over %s, the proving key over %s",
                              pm_curve_name((pm_curve_id)given.curve),
                              pm_curve_name(key->proving_key.header.curve));
    } else {
        status = pm_lent_check(&lent, context, key, error);
    }
    if (status != PM_OK) {
        pm_lent_return_all(&lent);
        return status;
    }
    return pm_pending_start(context, key, &lent, options, control, pending, error);
}
