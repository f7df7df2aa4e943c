/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/proving_key.h - what stays resident with a proving key, in either reduction: where its
 * points, matrices and densities lie, and its domain.
 *
 * A key of the snarkjs reduction is a mapped .zkey: points and coefficient records are read in
 * place. One of the bellman reduction is a parameter file: points are decoded into memory, and the
 * matrices, if any, come from a constraint system.
 */
#ifndef PM_GROTH16_PROVING_KEY_H
#define PM_GROTH16_PROVING_KEY_H

#include "curve/curve.h"
#include "groth16/density.h"
#include "groth16/key_windows.h"
#include "groth16/plan.h"
#include "io/mapping.h"
#include "io/params.h"
#include "io/params_cache.h"
#include "io/r1cs.h"
#include "io/zkey.h"
#include "msm/msm.h"
#include "pairing/pairing.h"
#include "par/team.h"
#include "poly/poly.h"

/* The kernels of one curve in one body, and the team that runs them. */
struct pm_kernels {
    const struct pm_curve *curve;
    const struct pm_poly *poly;
    const struct pm_msm *msm;
    const struct pm_pairing *pairing;
    struct pm_team *team;
};

/* UNSUPPORTED when the curve has no kernels in this body. */
pm_status pm_kernels_get(pm_curve_id curve, enum pm_body body, struct pm_team *team,
                         struct pm_kernels *kernels, pm_error *error);

/* The single points and the verifying key, as affine Montgomery bytes (curve/curve.h) of any
 * alignment. Borrowed. */
struct pm_key_header {
    pm_curve_id curve;
    uint32_t n_public; /* public signals, without the constant one */
    const uint8_t *alpha_g1, *beta_g1, *delta_g1;
    const uint8_t *beta_g2, *gamma_g2, *delta_g2;
    const uint8_t *ic; /* n_public + 1 G1; NULL when the key has none */
};

/* The points of one sum, likewise. */
struct pm_key_query {
    const uint8_t *points;
    uint64_t n;
};

enum pm_key_matrices {
    PM_KEY_MATRICES_NONE,    /* a, b and c must be given */
    PM_KEY_MATRICES_RECORDS, /* A and B as records of a zkey */
    PM_KEY_MATRICES_SPARSE   /* A, B and C */
};

struct pm_proving_key {
    struct pm_key_header header;
    enum pm_reduction reduction;
    uint32_t log_n;
    uint64_t n_vars;   /* the constant one included */
    uint64_t n_inputs; /* public signals, the constant one included: variables 0 .. n_inputs - 1 */
    uint64_t n_rows;   /* rows that are not padding; 2^log_n where nothing says how many */

    /* Scalars: the variables. One without a term has a point at infinity (snarkjs), or no point at
     * all (bellman): then the densities say which have one. */
    struct pm_key_query a, b1, b2;
    struct pm_key_query l; /* scalars: the variables that are no inputs */
    struct pm_key_query h; /* scalars: h; bellman has one point less than the domain */
    /* Which variables have a point in A and in B, n_vars bits each. bellman: none (n = 0) if there
     * are no matrices. snarkjs: none for A; for B, which points of B2 are not at infinity. */
    struct pm_density a_density, b_density;

    enum pm_key_matrices matrices;
    const uint8_t *records; /* n_records of PM_ZKEY_COEFFICIENT_BYTES; borrowed */
    uint64_t n_records;
    uint64_t n_nonzeros[3]; /* of A, B and C */
    bool records_sorted;    /* rows never decrease */
    struct pm_sparse sparse[3];

    struct pm_domain domain;        /* of log_n, over the root of the reduction */
    void *decoded[PM_PARAMS_PARTS]; /* the points of a parameter file; owned; NULL: in a cache */
    /* The file that points and records lie in; NULL when they are in memory. A streamed key gives
     * its pages back behind the reader. */
    const struct pm_mapping *mapping;
    uint64_t file_bytes;     /* of the file or image that the key stands on */
    uint64_t resident_bytes; /* of host memory that the key holds beside it */
};

/* What open() gives is destroyed by the caller; after a failure *key is zero. The zkey and what it
 * stands on must outlive the key. Everything that the key holds is in ledger. */
/* Errors: NO_MEMORY, CANCELLED, DEADLINE, FILE_CHANGED. */
pm_status pm_proving_key_from_zkey(const struct pm_zkey *zkey, const struct pm_kernels *kernels,
                                   struct pm_ledger *ledger, const pm_control *control,
                                   struct pm_proving_key *key, pm_error *error);
/* how: as far as points are looked at while they are decoded. cache (may be NULL): where points lie
 * decoded already, which must outlive the key. r1cs (may be NULL) is read, not kept.
 * Errors: those of pm_params_decode(), pm_sparse_count() and pm_sparse_fill(); COUNT when r1cs and
 * parameters do not belong together. */
pm_status pm_proving_key_from_params(const struct pm_params *params,
                                     const struct pm_params_cache *cache,
                                     const struct pm_r1cs *r1cs, enum pm_point_check how,
                                     const struct pm_kernels *kernels, struct pm_ledger *ledger,
                                     const pm_control *control, struct pm_proving_key *key,
                                     pm_error *error);
/* A key of zeros is fine. */
void pm_proving_key_destroy(struct pm_proving_key *key);
/* Every point of a key from a parameter file, to the subgroup; infinity nowhere. Errors:
 * NOT_CANONICAL, NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY, CANCELLED, DEADLINE. */
pm_status pm_proving_key_check_decoded(const struct pm_proving_key *key,
                                       const struct pm_curve *curve, struct pm_team *team,
                                       const pm_control *control, pm_error *error);
/* What its plans are made from. */
void pm_proving_key_sizes(const struct pm_proving_key *key, struct pm_plan_sizes *sizes);

/*
 * A key without matrices has no densities either: they come with an assignment, packed as
 * bellperson has them. Makes a copy of *key for one proof that has them; points and domain stay
 * key's own. input_words: n_inputs bits for B (in A every input occurs); the others have n_vars -
 * n_inputs bits; behind these, bits are ignored. The caller destroys *with with
 * pm_proving_key_forget_densities(). Errors: COUNT (they do not set as many bits as the queries
 * have points), INVALID_ARGUMENT (one is missing), NO_MEMORY.
 */
pm_status pm_proving_key_with_densities(const struct pm_proving_key *key,
                                        const uint64_t *a_aux_words, const uint64_t *b_input_words,
                                        const uint64_t *b_aux_words, struct pm_ledger *ledger,
                                        struct pm_proving_key *with, pm_error *error);
void pm_proving_key_forget_densities(struct pm_proving_key *with);

#endif
