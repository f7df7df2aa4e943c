/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* api/api_internal.h - what stands behind the opaque handles, and the entry that tests and shims
 * need. */
#ifndef PM_API_API_INTERNAL_H
#define PM_API_API_INTERNAL_H

#include "api/api_devices.h"
#include "api/api_resident.h"
#include "base/control.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "groth16/backend.h"
#include "groth16/plan.h"
#include "groth16/prove.h"
#include "groth16/proving_key.h"
#include "groth16/verify.h"
#include "io/mapping.h"
#include "io/zkey.h"
#include "par/team.h"

#include <proofmill/experimental.h>
#include <proofmill/proofmill.h>

#include <pthread.h>
#include <stdint.h>

struct pm_context {
    struct pm_team *team;
    enum pm_body body;
    struct pm_devices devices; /* what proofs are computed by */
    bool strict;               /* a proof that diverges from its plan fails */
};

struct pm_proof_plan {
    struct pm_plan plan;
    char device_why[PM_DEVICE_WHY_BYTES];
    uint32_t n_parts; /* of further devices */
    struct pm_proof_plan *part[PM_DEVICES_MAX - 1];
};

struct pm_witness {
    uint32_t n_references; /* atomic: the caller, and each proof that still reads the values */
    pm_curve_id curve;
    uint64_t n_values;
    uint8_t *values; /* canonical, PM_FR_BYTES each; a secret buffer */
};

struct pm_vk {
    struct pm_verifying_key key;
    uint8_t *canonical; /* the points again, canonical: what pm_vk_get_arrays() points to */
};

struct pm_key {
    uint32_t n_references;     /* atomic: the caller, and each proof that still reads the key */
    struct pm_ledger ledger;   /* of everything the key holds beside the mapping */
    struct pm_mapping mapping; /* of a parameter file, which is not read any more, just the name */
    struct pm_zkey zkey;       /* snarkjs reduction only */
    struct pm_proving_key proving_key;
    void *owned_parts; /* when built from arrays */
    /* The verifying key for self-verification is prepared by the first proof that needs it. */
    pthread_mutex_t vk_lock;
    pm_vk *vk;
    struct pm_residents residents; /* on devices */
};

/* Proofs started on this context from now on are computed by the backends, which must outlive them
 * and every key that they were made with; n 0: by the CPU. Before any proof. Errors: NO_MEMORY. */
pm_status pm_context_set_backends(pm_context *context, struct pm_backend *const *backends,
                                  uint32_t n, pm_error *error);
/* One of them, or NULL. */
pm_status pm_context_set_backend(pm_context *context, struct pm_backend *backend);
/* The device for a proof with this key: who does not only plan leaves it. */
void pm_context_choose_device(pm_context *context, const pm_key *key,
                              const struct pm_plan_sizes *sizes, bool is_plan,
                              const pm_control *control, struct pm_device_choice *choice);
/* Whether a divergence from the plan fails the proof; else it is counted. Debug builds start with
 * true. */
void pm_context_set_strict(pm_context *context, bool strict);

/* One more reference; pm_key_destroy() gives one up, and the last of them frees. */
pm_key *pm_key_retain(const pm_key *key);
/* One more reference; pm_witness_destroy() gives one up, and the last of them wipes and frees. */
pm_witness *pm_witness_retain(const pm_witness *witness);

/* The part of a versioned struct that the caller knows, the rest zero: a smaller struct_bytes is an
 * older caller, a larger one a newer one whose extra fields we do not know. */
void pm_options_read(void *ours, size_t ours_bytes, const void *theirs);

/* Points of a public proof, checked: canonical, on the curve, in the subgroup, not at infinity. */
pm_status pm_proof_check(const struct pm_curve *curve, const pm_proof *proof,
                         struct pm_groth16_proof *checked, pm_error *error);

/* pm_verify() with scratch of the caller's, pm_groth16_verify_bytes() of it: allocates nothing. */
pm_status pm_verify_in(pm_context *context, const pm_vk *vk, const void *publics, size_t n_publics,
                       const pm_proof *proof, void *scratch, pm_error *error);

/* The key's vk, prepared on first use and owned by the key: for pm_verify_in() alone, since it has
 * neither e(alpha, beta) nor canonical points. */
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
