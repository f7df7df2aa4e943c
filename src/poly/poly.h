/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * poly/poly.h - evaluation domains and number-theoretic transforms over the scalar field.
 *
 * A vector is 2^log_n scalars in Montgomery form, 32 bytes each, PM_BUFFER_ALIGNMENT-aligned. A
 * domain holds what depends on log_n and the root alone (2^(log_n - 1) twiddle factors) and is
 * read-only after creation: it is resident with a key and shared by all proofs. Transforms allocate
 * nothing, work in place and take a team of any size, NULL included; the result does not depend on
 * it.
 *
 * What takes a pm_control asks it every few milliseconds, on every thread, and answers CANCELLED or
 * DEADLINE; the vectors then hold unspecified scalars. The pointwise kernels take none: cut a long
 * vector where the control is to be asked.
 */
#ifndef PM_POLY_POLY_H
#define PM_POLY_POLY_H

#include "base/control.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "par/team.h"

#include <proofmill/proofmill.h>

#include <stdint.h>

/* Which primitive 2^s-th root the domain's generator comes from. They differ on BLS12-381: snarkjs
 * takes the smallest non-residue 5, bellman the multiplicative generator 7. */
enum pm_root { PM_ROOT_SNARKJS = 0, PM_ROOT_BELLMAN = 1 };

struct pm_domain {
    const struct pm_poly *poly;
    uint32_t log_n;
    enum pm_root root;
    void *tables; /* one buffer of poly->tables_bytes(log_n) */
};

/* The coefficient record of a zkey's section 4, as it lies in the file: 12 bytes of indices and a
 * 32-byte value that carries the factor R^2, so that one Montgomery multiplication by a canonical
 * witness value gives the product in Montgomery form. Any alignment. */
#define PM_COEFFICIENT_RECORD_BYTES 44

/* Kernels of one curve in one body. */
struct pm_poly {
    pm_curve_id curve;
    const char *body;
    uint32_t log_n_max; /* the field's two-adicity */

    uint64_t (*tables_bytes)(uint32_t log_n);
    void (*fill_tables)(void *tables, uint32_t log_n, enum pm_root root, struct pm_team *team);

    /* values[i] = sum_j coefficients[j] * w^(i*j), natural order to natural order. */
    pm_status (*forward)(const struct pm_domain *domain, void *vector, struct pm_team *team,
                         const pm_control *control, pm_error *error);
    /* The inverse of forward. */
    pm_status (*inverse)(const struct pm_domain *domain, void *vector, struct pm_team *team,
                         const pm_control *control, pm_error *error);
    /* vector[i] *= factor * base^i; base and factor are Montgomery scalars, 8-byte aligned. */
    void (*scale_by_powers)(const struct pm_domain *domain, void *vector, const uint64_t *base,
                            const uint64_t *factor, struct pm_team *team);
    /* Values on the domain to values on the odd coset w_2n^(2i+1) (snarkjs): inverse, shift by
     * w_2n^j, forward, without a permutation between them. Errors: UNSUPPORTED at log_n ==
     * log_n_max, where there is no w_2n; CANCELLED, DEADLINE. */
    pm_status (*to_odd_coset)(const struct pm_domain *domain, void *vector, struct pm_team *team,
                              const pm_control *control, pm_error *error);

    /* r[i] = a[i] * b[i]; r may alias either. */
    void (*mul_vectors)(void *r, const void *a, const void *b, uint64_t n, struct pm_team *team);
    /* r[i] = a[i] * b[i] - c[i] as a CANONICAL scalar, ready for an MSM; r may alias any. */
    void (*quotient_scalars)(void *r, const void *a, const void *b, const void *c, uint64_t n,
                             struct pm_team *team);

    /* a[row] += value * witness[signal] for matrix 0, b[row] for matrix 1, over n records. a and b
     * hold 2^log_n Montgomery scalars, zeroed by the caller; witness has n_signals canonical values
     * at any alignment. Indices have been checked, but the records may stand in a mapped file that
     * somebody overwrites: those out of range are left out. sorted: rows never decrease from record
     * to record, so that threads can split the records; otherwise every thread reads all of them.
     */
    pm_status (*multiply_matrices)(void *a, void *b, uint32_t log_n, const void *records,
                                   uint64_t n, int sorted, const void *witness, uint64_t n_signals,
                                   struct pm_team *team, const pm_control *control,
                                   pm_error *error);

    /* The definition, n^2 work: the oracle of forward. */
    void (*forward_reference)(const struct pm_domain *domain, void *out, const void *in);
};

/* NULL for an unknown curve, or a body that this build or this CPU lacks. */
const struct pm_poly *pm_poly_get(pm_curve_id curve, enum pm_body body);

/* Builds a domain, which the caller destroys; *domain is untouched on failure. Errors: UNSUPPORTED
 * (log_n above the field's two-adicity), NO_MEMORY. */
pm_status pm_domain_create(const struct pm_poly *poly, uint32_t log_n, enum pm_root root,
                           struct pm_team *team, struct pm_ledger *ledger, struct pm_domain *domain,
                           pm_error *error);
void pm_domain_destroy(struct pm_domain *domain);

#endif
