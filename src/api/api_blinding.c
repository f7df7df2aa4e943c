/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Finishing a proof with r and s of the caller's. */
#include "api/api_pending.h"

#include <proofmill/experimental.h>

#include <string.h>

/* One scalar in either form to canonical limbs. */
static pm_status take_scalar(const struct pm_field *fr, const void *scalar, uint32_t form,
                             const char *name, uint64_t limbs[PM_FR_LIMBS_MAX], pm_error *error) {
    memcpy(limbs, scalar, PM_FR_BYTES);
    PM_FAIL_IF(!fr->is_canonical(limbs), error, PM_NOT_CANONICAL,
               "%s is not below the scalar field's modulus", name);
    if (form == PM_SCALAR_MONTGOMERY) {
        uint64_t canonical[PM_FR_LIMBS_MAX];
        fr->from_mont(canonical, limbs, 1);
        memcpy(limbs, canonical, sizeof canonical);
        pm_memory_wipe(canonical, sizeof canonical);
    }
    return PM_OK;
}

static pm_status take_blinding(const pm_pending *pending, const void *r, const void *s,
                               uint32_t form, struct pm_blinding *blinding, pm_error *error) {
    const pm_curve_id curve = pending->key->proving_key.header.curve;
    const struct pm_field *fr = pm_field_fr(curve, pending->context->body);
    PM_FAIL_IF(r == NULL || s == NULL, error, PM_INVALID_ARGUMENT, "r or s is NULL");
    PM_FAIL_IF(form > PM_SCALAR_MONTGOMERY, error, PM_INVALID_ARGUMENT,
               "form %u is not a pm_scalar_form", form);
    PM_FAIL_IF(fr == NULL, error, PM_UNSUPPORTED, "the key's curve has no %s arithmetic",
               pm_body_name(pending->context->body));
    PM_TRY(take_scalar(fr, r, form, "r", blinding->r, error));
    return take_scalar(fr, s, form, "s", blinding->s, error);
}

pm_status pm_prove_finish_with_blinding(pm_pending *pending, const void *r, const void *s,
                                        uint32_t form, const pm_control *control, pm_proof *proof,
                                        pm_prove_stats *stats, pm_error *error) {
    struct pm_blinding blinding;
    pm_status status = PM_OK;
    if (pending == NULL || proof == NULL) {
        status = pm_error_set(error, PM_INVALID_ARGUMENT, "pending or proof is NULL");
    } else {
        status = take_blinding(pending, r, s, form, &blinding, error);
    }
    if (status != PM_OK) {
        pm_pending_drop(pending);
        return status;
    }
    status = pm_pending_finish(pending, &blinding, control, proof, stats, error);
    pm_memory_wipe(&blinding, sizeof blinding);
    return status;
}
