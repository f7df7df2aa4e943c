/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/prove.h - the prover: Groth, "On the size of pairing-based non-interactive arguments",
 * EUROCRYPT 2016, section 3.2, over a key in the snarkjs reduction.
 *
 *   w  --> a = A.w, b = B.w, c = a b          rows of the constraint system, 2^log_n of each
 *      --> a, b, c on the odd coset           three inverse and three forward transforms
 *      --> h = a b - c                        scalars of the H query; a, b and c end here
 *   sums: H(h), A(w), B1(w), C(w)             on G1
 * ---- pm_groth16_start returns: of the proof's buffers only the witness is still read ----
 *         B2(w)                               on G2
 *   assemble with r and s
 *
 * H holds the Lagrange basis of the doubled domain at its odd points, divided by delta, so h needs
 * no division by the vanishing polynomial (doc/format_zkey.md).
 */
#ifndef PM_GROTH16_PROVE_H
#define PM_GROTH16_PROVE_H

#include "base/control.h"
#include "base/memory.h"
#include "groth16/proving_key.h"

#include <stdint.h>

/* r and s, canonical. Whoever makes one wipes it. */
struct pm_blinding {
    uint64_t r[PM_FR_LIMBS_MAX];
    uint64_t s[PM_FR_LIMBS_MAX];
};

/* Uniform r and s from the operating system: 512 bits each, reduced, so biased by less than 2^-256.
 */
pm_status pm_groth16_draw_blinding(const struct pm_curve *curve, struct pm_blinding *blinding,
                                   pm_error *error);

/* A proof under way: what start hands to finish. */
struct pm_groth16_job {
    const struct pm_kernels *kernels;
    const struct pm_proving_key *key;
    const uint8_t *witness; /* parts.n_vars canonical scalars, borrowed until finish */
    const pm_control *control;
    struct pm_ledger *ledger;
    pm_prove_stats *stats; /* phases are appended; never NULL */
    uint32_t n_steps_done;
    struct pm_group_point sum_h, sum_a, sum_b1, sum_c; /* Jacobian */
};

/* Affine, Montgomery: the form of curve/curve.h. */
struct pm_groth16_proof {
    uint8_t a[PM_G1_BYTES_MAX];
    uint8_t b[PM_G2_BYTES_MAX];
    uint8_t c[PM_G1_BYTES_MAX];
};

/* The caller fills in the borrowed members of *job (everything but n_steps_done and the sums),
 * which must live until finish. On return every buffer that start allocated is gone. On failure
 * there is nothing to finish; wipe the job. Errors: NO_MEMORY, CANCELLED, DEADLINE. */
pm_status pm_groth16_start(struct pm_groth16_job *job, pm_error *error);
/* The rest. Wipes the sums in *job. Errors as start. */
pm_status pm_groth16_finish(struct pm_groth16_job *job, const struct pm_blinding *blinding,
                            struct pm_groth16_proof *proof, pm_error *error);
/* Wipes what a job holds: to be called when finish is not. */
void pm_groth16_abandon(struct pm_groth16_job *job);

#endif
