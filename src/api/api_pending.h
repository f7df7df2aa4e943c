/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * api/api_pending.h - a proof between its halves, and what it is made from.
 *
 *   start    check, plan, reserve -> handle -> steps of start -> B2 begins in the background
 *            (on several devices: beside the steps of the other ones, whose sums are added)
 *   finish   join B2 -> steps of finish: assembly, self-verification -> everything is given back
 *   drop     stop and join B2 -> everything is given back
 */
#ifndef PM_API_API_PENDING_H
#define PM_API_API_PENDING_H

#include "api/api_internal.h"
#include "api/api_parts.h"
#include "api/api_report.h"
#include "groth16/execute.h"
#include "par/background.h"

#include <stdbool.h>
#include <stdint.h>

#define PM_LENT_ARRAYS 5 /* of pm_assignment_array */

/* Arrays that are lent to a proof. Whoever holds this gives each of them back, once. */
struct pm_lent {
    const void *array[PM_LENT_ARRAYS]; /* NULL: not lent */
    uint32_t held;                     /* bit i: array i has not been given back yet */
    pm_witness *witness; /* a reference, held with inputs and aux, which are its values; or NULL */
    uint64_t n_inputs, n_aux, n_rows;
    bool montgomery;                                                 /* the form of the scalars */
    const uint64_t *a_aux_density, *b_input_density, *b_aux_density; /* NULL: the key knows */
    void (*release)(void *user, pm_assignment_array which);          /* may be NULL */
    void *user;
};

/* The witness's values, with a reference to it. */
void pm_lent_witness(pm_witness *witness, uint64_t n_inputs, struct pm_lent *lent);
/* The caller's arrays, unchecked. NULL: nothing. */
void pm_lent_assignment(const pm_assignment *assignment, struct pm_lent *lent);
/* Whether they can be proved with this key: counts, alignment, inputs. The other scalars are
 * checked when they are loaded, densities when they are copied. Errors: INVALID_ARGUMENT, COUNT,
 * NOT_CANONICAL, WITNESS_MISMATCH, UNSUPPORTED. */
pm_status pm_lent_check(const struct pm_lent *lent, pm_context *context, const pm_key *key,
                        pm_error *error);
/* Gives one array back, or every array; what is given back already is left alone. */
void pm_lent_return(struct pm_lent *lent, pm_assignment_array which);
void pm_lent_return_all(struct pm_lent *lent);

struct pm_pending {
    pm_context *context;            /* borrowed until finish or drop */
    pm_key *key;                    /* a reference */
    const pm_vk *vk;                /* the key's; NULL: no self-verification */
    struct pm_device_choice choice; /* the device until start has returned, and why */
    struct pm_resident *resident;
    struct pm_parts *parts; /* further devices, behind the handle itself; NULL: none */
    struct pm_execution execution;
    struct pm_proving_key with_densities; /* for keys that have none; zero otherwise */
    struct pm_lent lent;
    pm_report *report; /* the caller's; NULL: none */
    uint64_t begin_ns;
    /* The sum over G2 on the CPU while the device serves the next proof. */
    bool in_background;
    struct pm_background background;
    pm_control background_control;
    uint32_t background_until; /* the step after the last one there */
    pm_status background_status;
    pm_error background_error;
    struct pm_ledger_entry entries[PM_REPORT_ENTRIES_MAX]; /* the ledger's log */
    uint8_t publics[];                                     /* without the constant one, canonical */
};

/* pm_prove_start() and pm_prove_start_assignment(): *lent is moved into the handle, or everything
 * is given back. */
pm_status pm_pending_start(pm_context *context, const pm_key *key, struct pm_lent *lent,
                           const pm_prove_options *options, const pm_control *control,
                           pm_pending **pending, pm_error *error);
/* pm_prove_finish() with r and s given; blinding NULL: fresh ones. See pm_prove_with_blinding(). */
pm_status pm_pending_finish(pm_pending *pending, const struct pm_blinding *blinding,
                            const pm_control *control, pm_proof *proof, pm_prove_stats *stats,
                            pm_error *error);

#endif
