/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_prove.h - what the two ways to prove share: from a witness, from an assignment. */
#ifndef PM_CLI_CLI_PROVE_H
#define PM_CLI_CLI_PROVE_H

#include "cli/cli.h"

#include <proofmill/experimental.h>

/* What a run owns; all zero at first, pm_cli_proving_free() in the end. */
struct pm_cli_proving {
    pm_key *key;
    pm_key_facts facts;
    uint64_t memory_bytes; /* for the proof; 0: nothing bounds it */
    pm_report *report;     /* NULL: nobody asked */
    pm_proof proof;
    uint8_t *publics; /* n_public values of PM_FR_BYTES */
    uint64_t n_public;
    void *proof_bytes, *public_bytes; /* the files' */
    size_t n_proof_bytes, n_public_bytes;
    char *trace_text;
};

/* Makes the report, if an option needs one. */
pm_status pm_cli_proving_report(struct pm_cli *cli, struct pm_cli_proving *run);
pm_prove_options pm_cli_proving_options(const struct pm_cli *cli, const struct pm_cli_proving *run);
/* Room for n_public signals. */
pm_status pm_cli_proving_publics(struct pm_cli *cli, struct pm_cli_proving *run, uint64_t n_public);
/* Proof, public signals and trace appear together. always_json: whatever the files' names. */
pm_status pm_cli_proving_write(struct pm_cli *cli, struct pm_cli_proving *run, bool always_json);
/* The trace of a proof that failed, if one was asked for. The error stays the proof's. */
void pm_cli_proving_failed(struct pm_cli *cli, struct pm_cli_proving *run);
/* What --json and --memory tell. */
void pm_cli_proving_tell(struct pm_cli *cli, const struct pm_cli_proving *run);
void pm_cli_proving_free(struct pm_cli_proving *run);

#endif
