/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill_supraseal.h - the C interface between bellperson and supraseal-c2, made by proofmill.
 *
 * Two generations of it share names, and one of them has taken two arguments more, which nothing
 * can tell when it runs. So there are two libraries, and the macro says which is linked:
 *
 *   libproofmill-supraseal        supraseal-c2 0.1.0, 0.1.1: define PROOFMILL_SUPRASEAL_UPSTREAM
 *   libproofmill-supraseal-curio  Curio's fork, 0.1.2: gpu_mtx and gpu_index, proofs in two halves
 *
 * BLS12-381. Field elements are Montgomery little-endian: scalars 32 bytes (times 2^256),
 * coordinates 48 bytes (times 2^384). Any thread may call anything; doc/filecoin.md has the tables
 * of ownership, error codes and environment variables.
 */
#ifndef PROOFMILL_SUPRASEAL_H
#define PROOFMILL_SUPRASEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(PM_BUILDING_LIBRARY)
#define PM_SUPRASEAL_API __attribute__((visibility("default")))
#else
#define PM_SUPRASEAL_API
#endif

/* Returned by value. code 0 is success. message is NULL, or a sentence that the caller gives to
 * free(), whatever the code is. */
typedef struct pm_supraseal_error {
    int32_t code;
    char *message;
} pm_supraseal_error;

/* A parameter file's points, shared: each handle is dropped once, the last drop frees. */
typedef struct pm_supraseal_srs {
    void *ptr;
} pm_supraseal_srs;

typedef struct pm_supraseal_fr {
    uint64_t limb[4];
} pm_supraseal_fr;

/* Affine: x, y; in G2 x.c0, x.c1, y.c0, y.c1. */
typedef struct pm_supraseal_proof {
    uint64_t a[12], b[24], c[12];
} pm_supraseal_proof;

/*
 * One circuit's proving assignment. A density has a bit for each variable, lowest first, and says
 * whether the query has a point for it; bits from *_bit_len on are ignored. a, b and c have a row
 * for each constraint and, behind them, one for each input. The first input is one.
 */
typedef struct pm_supraseal_assignment {
    const uint64_t *a_aux_density;
    size_t a_aux_bit_len, a_aux_popcount;
    const uint64_t *b_inp_density;
    size_t b_inp_bit_len, b_inp_popcount;
    const uint64_t *b_aux_density;
    size_t b_aux_bit_len, b_aux_popcount;
    const pm_supraseal_fr *a, *b, *c;
    size_t abc_size;
    const pm_supraseal_fr *inp_assignment_data;
    size_t inp_assignment_size;
    const pm_supraseal_fr *aux_assignment_data;
    size_t aux_assignment_size;
} pm_supraseal_assignment;

/*
 * Opens a .params file: its structure is checked before this returns, its points are decoded on
 * threads of the library while the caller goes on. A damaged point is the error of the first proof.
 * cache: one of at most four files that are kept by path, until evict_SRS() or a fifth. ret->ptr is
 * not read, and NULL after a failure.
 */
PM_SUPRASEAL_API pm_supraseal_error create_SRS(pm_supraseal_srs *ret, const char *path, bool cache);
/* Forgets the file in the cache that this handle's came from; handles stay good. */
PM_SUPRASEAL_API void evict_SRS(const pm_supraseal_srs *srs);
/* Gives a handle up and sets it to NULL. The last one stops the decoding and frees the points; no
 * thread of the library is left when no handle and no pending proof is. NULL is fine. */
PM_SUPRASEAL_API void drop_SRS(pm_supraseal_srs *srs);
/* One more handle on the same points. */
PM_SUPRASEAL_API pm_supraseal_srs clone_SRS(const pm_supraseal_srs *srs);

#ifdef PROOFMILL_SUPRASEAL_UPSTREAM
/* n proofs, each verified before any is written to out, which is left alone after a failure. r_s
 * and s_s: n blinding scalars each. */
PM_SUPRASEAL_API pm_supraseal_error generate_groth16_proofs_c(
    const pm_supraseal_assignment *provers, size_t n, const pm_supraseal_fr *r_s,
    const pm_supraseal_fr *s_s, pm_supraseal_proof *out, const pm_supraseal_srs *srs);
#else
/* The same. gpu_mtx: from create_gpu_mutex(), held while devices work; NULL: one of the process.
 * gpu_index: a device, or -1: all of them, in turn. */
PM_SUPRASEAL_API pm_supraseal_error generate_groth16_proofs_c(
    const pm_supraseal_assignment *provers, size_t n, const pm_supraseal_fr *r_s,
    const pm_supraseal_fr *s_s, pm_supraseal_proof *out, const pm_supraseal_srs *srs, void *gpu_mtx,
    int gpu_index);
/* Up to the sums. a, b and c are read until this returns; inputs, aux and densities until the
 * proofs are finalized or destroyed. srs may be dropped. *pending_out is NULL after a failure. */
PM_SUPRASEAL_API pm_supraseal_error generate_groth16_proofs_start_c(
    const pm_supraseal_assignment *provers, size_t n, const pm_supraseal_fr *r_s,
    const pm_supraseal_fr *s_s, const pm_supraseal_srs *srs, void *gpu_mtx, int gpu_index,
    void **pending_out);
/* The rest, on any thread: as many proofs as were started. Consumes the handle in any case. */
PM_SUPRASEAL_API pm_supraseal_error finalize_groth16_proof_c(void *pending,
                                                             pm_supraseal_proof *out);
/* Gives the proofs up instead. NULL is fine. */
PM_SUPRASEAL_API void destroy_pending_proof(void *pending);
/* NULL when there is no memory, which stands for the process's own. */
PM_SUPRASEAL_API void *create_gpu_mutex(void);
PM_SUPRASEAL_API void destroy_gpu_mutex(void *gpu_mtx);
#endif

#ifdef __cplusplus
}
#endif

#endif
