/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* card_supraseal.h - what the parts of card_supraseal share. */
#ifndef PM_TEST_GPU_CARD_SUPRASEAL_H
#define PM_TEST_GPU_CARD_SUPRASEAL_H

#include "card_partition.h"
#include "card_supraseal_watch.h"

#include <proofmill/proofmill_supraseal.h>

#include <stdbool.h>
#include <stdint.h>

#define CARD_GIB ((double)(1 << 30))

/* ---- The parameter file (card_supraseal_file.c) ---------------------------------------------- */

struct card_params_file {
    int fd;
    uint64_t n_bytes;
    char path[32]; /* of the open file: it has no other name any more */
};

/* Writes the partition's key as bellman has it, in a folder, or in memory when that is NULL. */
void card_params_write(const struct card_partition *p, const char *folder,
                       struct card_params_file *file);
/* How fast all cores read the file without doing anything with it. */
void card_params_read(const struct card_partition *p, const struct card_params_file *file);
/* Out of the page cache. */
void card_params_cool(const struct card_params_file *file);

/* ---- The library and what it holds (card_supraseal_library.c) -------------------------------- */

struct card_supraseal_calls {
    __typeof__(create_SRS) *create;
    __typeof__(clone_SRS) *clone;
    __typeof__(drop_SRS) *drop;
    __typeof__(generate_groth16_proofs_start_c) *start;
    __typeof__(finalize_groth16_proof_c) *finalize;
    __typeof__(destroy_pending_proof) *destroy;
    __typeof__(create_gpu_mutex) *create_mutex;
    __typeof__(destroy_gpu_mutex) *destroy_mutex;
};

/* Loads the drop-in, after putting the watch before libproofmill-gpu where that finds a card: the
 * one of PROOFMILL_GPU_LIBRARY, else the one beside the drop-in. */
void card_supraseal_load(const char *path, struct card_supraseal_calls *calls);
/* Nothing but zeros where no card is watched, which is false. */
bool card_supraseal_watched(struct card_watch_figures *figures);

/* Looks at this process's memory from now on. */
void card_host_watch(void);
/* The most anonymous memory since the last call: what the process has for itself, without the
 * arrays that are lent and without the pages of files. */
double card_host_peak_gib(void);

/* ---- Arrays of the caller's (card_supraseal_lend.c) ------------------------------------------ */

enum card_lent {
    CARD_LENT_A,
    CARD_LENT_B,
    CARD_LENT_C,
    CARD_LENT_INPUTS,
    CARD_LENT_AUX,
    CARD_LENT_A_AUX,
    CARD_LENT_B_INPUTS,
    CARD_LENT_B_AUX,
    CARD_LENTS
};

/* Copies the partition's densities to where they can be lent from. */
void card_lend_densities(const struct card_partition *p);
/* Moves its other arrays there. */
void card_lend_scalars(struct card_partition *p);
/* Maps all that are there anew, every page present, and describes them: NULL is what is not. */
void card_lend(const struct card_partition *p, void *at[CARD_LENTS],
               pm_supraseal_assignment *assignment);
/* Unmaps first to last: whoever touches one afterwards gets SIGSEGV, for no other mapping takes
 * their addresses. */
void card_lend_end(void *const at[CARD_LENTS], enum card_lent first, enum card_lent last);

#endif
