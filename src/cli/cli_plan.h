/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_plan.h - what the files of `proofmill plan` share. */
#ifndef PM_CLI_CLI_PLAN_H
#define PM_CLI_CLI_PLAN_H

#include "cli/cli.h"

#include <proofmill/experimental.h>

/* A caller that brings vectors brings its scalars as bellperson does. */
#define PM_CLI_SCALARS_MONTGOMERY 2

/* What a plan is of. */
struct pm_cli_planning {
    pm_key *key;              /* or NULL: */
    pm_circuit_sizes sizes;   /* without a key */
    const char *name, *title; /* of a known circuit, or NULL */
    bool lacks_matrices;      /* a parameter file without its constraint system */
    char device[40];
    uint64_t beside_bytes; /* of --mem, what is not for the proof: program, key, witness */
    pm_plan_options options;
};

pm_status pm_cli_plan_make(struct pm_cli *cli, const struct pm_cli_planning *planning,
                           const pm_plan_options *options, pm_proof_plan **plan, pm_error *error);
/* Everything there is to tell. Steps are counted from 1. */
json_t *pm_cli_plan_json(struct pm_cli *cli, const struct pm_cli_planning *planning,
                         const pm_proof_plan *plan);
/* Bytes of the key's file that are mapped and read at a time. */
uint64_t pm_cli_plan_file_pages(const pm_proof_plan *plan);
/* Of the arrays that are lent to the proof, all together. */
uint64_t pm_cli_plan_lent_bytes(const pm_proof_plan *plan);
/* The same for people, on stdout. */
void pm_cli_plan_text(const struct pm_cli *cli, const json_t *plan);

#endif
