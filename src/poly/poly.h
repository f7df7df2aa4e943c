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
#include "poly/sparse.h"

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

/* A part of them: [first, last) of n. */
struct pm_record_window {
    const void *records;
    uint64_t n, first, last;
};

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
    /* Values on the domain to values on the coset g w^i (bellman), g the multiplicative generator:
     * 7 on BLS12-381, 5 on BN254. At any log_n, 0 included; permutes nothing either. Errors:
     * CANCELLED, DEADLINE. */
    pm_status (*to_coset)(const struct pm_domain *domain, void *vector, struct pm_team *team,
                          const pm_control *control, pm_error *error);

    /* r[i] = a[i] * b[i]; r may alias either. */
    void (*mul_vectors)(void *r, const void *a, const void *b, uint64_t n, struct pm_team *team);
    /* r[i] = a[i] * b[i] - c[i] as a CANONICAL scalar, ready for an MSM; r may alias any. */
    void (*quotient_scalars)(void *r, const void *a, const void *b, const void *c, uint64_t n,
                             struct pm_team *team);
    /* r[i] = ab[i] - c[i] as a CANONICAL scalar, for whom has multiplied a and b already; r may
     * alias either. */
    void (*quotient_scalars_from_product)(void *r, const void *ab, const void *c, uint64_t n,
                                          struct pm_team *team);
    /* out[i] = in[i] as a CANONICAL scalar. Each may have any alignment; out may be in, but must
     * not overlap it in part. Witnesses of other provers come in Montgomery form. */
    void (*convert_scalars)(void *out, const void *in, uint64_t n, struct pm_team *team);

    /* The quotient by bellman's reduction, with six transforms in all. On input ab holds the
     * products a(x) b(x) on the coset x = g w^i (two calls of to_coset and mul_vectors), and c the
     * VALUES of c on the domain. Since c is interpolated at degree below m = 2^log_n, it need not
     * visit the coset: on output ab holds, in natural order and as CANONICAL scalars, the
     * coefficients of
     *
     *     h = (the polynomial of ab, interpolated on the coset - c) / (g^m - 1).
     *
     * If the witness satisfies every row then h = (a b - c) / (x^m - 1), and the last coefficient,
     * for which the H query has no point, is zero. c is scratch and holds unspecified scalars
     * afterwards. Errors: CANCELLED, DEADLINE. */
    pm_status (*quotient_coefficients)(const struct pm_domain *domain, void *ab, void *c,
                                       struct pm_team *team, const pm_control *control,
                                       pm_error *error);

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

    /* c[row] = (A witness)[row] * (B witness)[row] for the records of multiply_matrices, without a
     * and b: the plan with two vectors makes c from the witness once a and b have been multiplied
     * into one. Rows are those whose first record is in the window, with the empty ones up to the
     * next row (at the edges, from row 0 and to the last): windows that follow one another write
     * every element of c, which need not be zeroed, and read few records of each other's. Errors:
     * UNSUPPORTED unless `sorted`, since both sums of a row must be complete when they are
     * multiplied; CANCELLED, DEADLINE. */
    pm_status (*multiply_products)(void *c, uint32_t log_n, const struct pm_record_window *window,
                                   int sorted, const void *witness, uint64_t n_signals,
                                   struct pm_team *team, const pm_control *control,
                                   pm_error *error);

    /* out = matrix * witness, Montgomery: out holds 2^log_n scalars, all of which are written, zero
     * behind the matrix's last row; witness as above. Errors: INVALID_ARGUMENT (more rows than
     * 2^log_n, or fewer signals than the matrix has columns), CANCELLED, DEADLINE. */
    pm_status (*multiply_sparse)(void *out, uint32_t log_n, const struct pm_sparse *matrix,
                                 const void *witness, uint64_t n_signals, struct pm_team *team,
                                 const pm_control *control, pm_error *error);

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
