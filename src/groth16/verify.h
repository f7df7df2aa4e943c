/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/verify.h - the verifier, one proof or many (Groth 2016, section 3.2).
 *
 *   e(A, B) = e(alpha, beta) e(P, gamma) e(C, delta),   P = ic_0 + sum_i public_i ic_(i+1)
 *
 * e(alpha, beta) and the lines of gamma and delta are prepared with the key; for the first proof of
 * a proving key alone, the lines of beta instead, which costs a pairing less. Only checked points
 * come in here: on their curves and in their subgroups.
 */
#ifndef PM_GROTH16_VERIFY_H
#define PM_GROTH16_VERIFY_H

#include "base/memory.h"
#include "groth16/prove.h"
#include "groth16/proving_key.h"

#include <stddef.h>
#include <stdint.h>

struct pm_verifying_key {
    pm_curve_id curve;
    uint32_t n_public;
    uint8_t alpha_g1[PM_G1_BYTES_MAX]; /* affine, Montgomery */
    uint8_t beta_g2[PM_G2_BYTES_MAX], gamma_g2[PM_G2_BYTES_MAX], delta_g2[PM_G2_BYTES_MAX];
    uint8_t *ic;                           /* n_public + 1 points; owned */
    void *prepared_gamma, *prepared_delta; /* owned */
    void *prepared_beta;                   /* owned; NULL in a key for many proofs */
    struct pm_gt alphabeta;                /* e(alpha, beta) in a key for many proofs */
};

/* What a key is prepared for: many proofs, or a prover's look at what it has just made. There one
 * more Miller loop a proof, which shares its squarings, is less than a pairing for a key that may
 * make a single proof. */
enum pm_vk_use { PM_VK_FOR_MANY, PM_VK_FOR_SELF };

/* Points of *header are affine Montgomery bytes, checked by pm_verifying_key_check() or when they
 * were decoded. Copies. */
pm_status pm_verifying_key_create(const struct pm_kernels *kernels,
                                  const struct pm_key_header *header, enum pm_vk_use use,
                                  struct pm_ledger *ledger, struct pm_verifying_key *vk,
                                  pm_error *error);
void pm_verifying_key_destroy(struct pm_verifying_key *vk);
/* Every point of a verifying key: canonical, on the curve, in its subgroup; infinity only in ic. */
pm_status pm_verifying_key_check(const struct pm_curve *curve, const struct pm_key_header *header,
                                 struct pm_team *team, pm_error *error);

/* Scratch of pm_groth16_verify() with a team of `threads`, the same in every body. */
uint64_t pm_groth16_verify_bytes(pm_curve_id curve, uint64_t n_public, uint32_t threads);
/* publics: vk->n_public canonical scalars. scratch: so many bytes, PM_BUFFER_ALIGNMENT-aligned.
 * Allocates nothing. PM_OK or PM_PROOF_INVALID. */
pm_status pm_groth16_verify(const struct pm_kernels *kernels, const struct pm_verifying_key *vk,
                            const uint8_t *publics, const struct pm_groth16_proof *proof,
                            void *scratch, pm_error *error);
/* n_proofs sets of publics, one after another; n_proofs > 0. vk: for many. */
pm_status pm_groth16_verify_batch(const struct pm_kernels *kernels,
                                  const struct pm_verifying_key *vk, const uint8_t *publics,
                                  const struct pm_groth16_proof *proofs, size_t n_proofs,
                                  pm_error *error);

#endif
