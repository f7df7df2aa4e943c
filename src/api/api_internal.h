/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* api/api_internal.h - what stands behind the opaque handles, and the entry that tests and shims
 * need. */
#ifndef PM_API_API_INTERNAL_H
#define PM_API_API_INTERNAL_H

#include "base/control.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "groth16/prove.h"
#include "groth16/proving_key.h"
#include "groth16/verify.h"
#include "io/mapping.h"
#include "io/zkey.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <pthread.h>
#include <stdint.h>

struct pm_context {
    struct pm_team *team;
    enum pm_body body;
};

struct pm_witness {
    pm_curve_id curve;
    uint64_t n_values;
    uint8_t *values; /* canonical, PM_FR_BYTES each; a secret buffer */
};

struct pm_vk {
    struct pm_verifying_key key;
    uint8_t *canonical; /* the points again, canonical: what pm_vk_get_arrays() points to */
};

struct pm_key {
    struct pm_ledger ledger; /* of everything the key holds beside the mapping */
    struct pm_mapping mapping;
    struct pm_zkey zkey;
    struct pm_proving_key proving_key;
    void *owned_parts; /* when built from arrays */
    /* The verifying key for self-verification is prepared by the first proof that needs it. */
    pthread_mutex_t vk_lock;
    pm_vk *vk;
};

/* The part of a versioned struct that the caller knows, the rest zero: a smaller struct_bytes is an
 * older caller, a larger one a newer one whose extra fields we do not know. */
void pm_options_read(void *ours, size_t ours_bytes, const void *theirs);

/* Points of a public proof, checked: canonical, on the curve, in the subgroup, not at infinity. */
pm_status pm_proof_check(const struct pm_curve *curve, const pm_proof *proof,
                         struct pm_groth16_proof *checked, pm_error *error);

/* The key's vk, prepared on first use and owned by the key. */
pm_status pm_key_shared_vk(pm_context *context, const pm_key *key, const pm_vk **vk,
                           pm_error *error);

/*
 * pm_prove() with r and s (canonical little-endian scalars) given by the caller. Whoever knows r
 * and s of a proof learns about the witness, and reusing them leaks it: only for tests against
 * another prover and for ABIs that hand r and s down.
 */
pm_status pm_prove_with_blinding(pm_context *context, const pm_key *key, const pm_witness *witness,
                                 const struct pm_blinding *blinding,
                                 const pm_prove_options *options, const pm_control *control,
                                 pm_proof *proof, pm_prove_stats *stats, pm_error *error);

#endif
