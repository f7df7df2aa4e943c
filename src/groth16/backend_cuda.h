/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * groth16/backend_cuda.h - a card as a backend.
 *
 * Plain C that reaches the card through the table of gpu/gpu.h alone, so that it is the same code
 * over libproofmill-gpu and over a table that a test has made.
 *
 * Whose state is what. Streams, their events and page-locked staging memory are there twice: for
 * who holds the device's lock, and for the one that is next and loads its witness meanwhile; proofs
 * that wait for their turn hold nothing of them. What is resident with a key is only read, but for
 * a counter for each of the two. Bringing a key to the card takes no lock: it has streams and
 * staging of its own, so that a proof with another key computes meanwhile. Everything of one proof
 * is in its buffers.
 *
 * Memory. Keys are had from the driver, what proofs hold from a pool that keeps what it has got. A
 * key for which the driver has nothing left gets what the pool keeps, once no proof uses it.
 */
#ifndef PM_GROTH16_BACKEND_CUDA_H
#define PM_GROTH16_BACKEND_CUDA_H

#include "gpu/gpu.h"
#include "groth16/backend.h"

#include <stdint.h>

/* Zero is fine for all of them. */
struct pm_cuda_options {
    uint64_t memory_limit_bytes; /* what plans may use of the card, keys included; 0: all of it */
    uint64_t window_bytes; /* of a part of a streamed key's windows; 0: as much as is of use */
    uint64_t pack_scalars; /* that one thread packs at a time; 0: as many as is of use */
};

/* The caller closes it. options may be NULL. Errors: NO_DEVICE, NO_MEMORY, DEVICE. */
pm_status pm_backend_cuda_open(const struct pm_gpu_api *api, uint32_t ordinal,
                               const struct pm_cuda_options *options, struct pm_backend **backend,
                               pm_error *error);
/* No proof runs and no key is on the card any more. NULL is fine. */
void pm_backend_cuda_close(struct pm_backend *backend);

#endif
