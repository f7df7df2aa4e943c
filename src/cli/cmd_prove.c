/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_prove.c - proofmill prove ZKEY WTNS PROOF PUBLIC. */
#include "cli/cli_bellman.h"
#include "cli/cli_prove.h"

#include <inttypes.h>
#include <string.h>

/* Everything that can be found wrong before a byte is read. */
static pm_status check_paths(struct pm_cli *cli) {
    const char *const inputs[] = {cli->files[PM_ROLE_ZKEY], cli->files[PM_ROLE_WITNESS],
                                  cli->files[PM_ROLE_R1CS]};
    const char *const outputs[] = {cli->files[PM_ROLE_PROOF], cli->files[PM_ROLE_PUBLIC],
                                   cli->trace_path};
    const size_t n_inputs = inputs[2] != NULL ? 3 : 2, n_outputs = outputs[2] != NULL ? 3 : 2;
    pm_status status = pm_cli_one_stream(cli, inputs, n_inputs, "standard input");
    if (status == PM_OK) {
        status = pm_cli_one_stream(cli, outputs, n_outputs, "standard output");
    }
    for (size_t i = 0; status == PM_OK && cli->json && i < n_outputs; i++) {
        if (strcmp(outputs[i], "-") == 0) {
            status = pm_cli_usage(cli, "with --json no file can be standard output");
        }
    }
    if (status == PM_OK) {
        status = pm_files_distinct(inputs, n_inputs, outputs, n_outputs, &cli->error);
    }
    for (size_t i = 0; status == PM_OK && i < n_outputs; i++) {
        status = pm_cli_check_output(cli, outputs[i]);
    }
    return status;
}

static pm_status load(struct pm_cli *cli, struct pm_cli_proving *run, pm_witness **witness) {
    uint64_t start_ns = pm_cli_now_ns();
    pm_status status = pm_cli_admit_key(cli);
    if (status == PM_OK) {
        status = pm_cli_open_key(cli, true, &run->key);
    }
    if (status != PM_OK) {
        return status;
    }
    pm_cli_step_done(cli, "load key", start_ns);
    run->facts.struct_bytes = (uint32_t)sizeof run->facts;
    status = pm_key_get_facts(run->key, &run->facts);
    if (status != PM_OK) {
        return pm_cli_fail(cli, status, cli->files[PM_ROLE_ZKEY], "its facts cannot be read");
    }
    pm_cli_note(cli, "%s: %s, domain 2^%u, %u signals, %u public, %" PRIu64 " coefficients",
                cli->files[PM_ROLE_ZKEY], pm_curve_name((pm_curve_id)run->facts.curve),
                run->facts.log_n, run->facts.n_vars, run->facts.n_public,
                run->facts.n_coefficients);
    status = pm_cli_admit_proof(cli, run->key, &run->facts, &run->memory_bytes);
    if (status != PM_OK) {
        return status;
    }
    start_ns = pm_cli_now_ns();
    status = pm_witness_open(cli->context, cli->files[PM_ROLE_WITNESS], &cli->control, witness,
                             &cli->error);
    if (status == PM_OK) {
        pm_cli_step_done(cli, "load witness", start_ns);
    }
    return status;
}

static pm_status prove(struct pm_cli *cli, struct pm_cli_proving *run, const pm_witness *witness) {
    pm_status status = pm_cli_proving_report(cli, run);
    if (status != PM_OK) {
        return status;
    }
    const pm_prove_options options = pm_cli_proving_options(cli, run);
    const uint64_t start_ns = pm_cli_now_ns();
    run->proof.struct_bytes = (uint32_t)sizeof run->proof;
    status = pm_prove(cli->context, run->key, witness, &options, &cli->control, &run->proof,
                      &cli->prove_stats, &cli->error);
    if (status == PM_OK) {
        pm_cli_step_done(cli, "prove", start_ns);
        pm_cli_keep_phase_bytes(cli, run->report);
    } else if (status != PM_CANCELLED) {
        pm_cli_proving_failed(cli, run);
    }
    return status;
}

static pm_status read_publics(struct pm_cli *cli, struct pm_cli_proving *run,
                              const pm_witness *witness) {
    pm_status status = pm_cli_proving_publics(cli, run, run->facts.n_public);
    if (status == PM_OK) {
        status = pm_witness_values(witness, 1, run->facts.n_public, run->publics);
        status = status == PM_OK ? PM_OK
                                 : pm_cli_fail(cli, status, cli->files[PM_ROLE_WITNESS],
                                               "its public signals cannot be read");
    }
    return status;
}

pm_status pm_cmd_prove(struct pm_cli *cli) {
    struct pm_cli_proving run = {.key = NULL};
    pm_witness *witness = NULL;
    pm_status status = check_paths(cli);
    if (status == PM_OK && pm_cli_is_assignment(cli)) {
        return pm_cmd_prove_assignment(cli);
    }
    if (status == PM_OK) {
        pm_cli_choose_threads(cli, pm_cli_file_bytes(cli->files[PM_ROLE_ZKEY]));
        status = pm_cli_start(cli);
    }
    if (status == PM_OK) {
        status = load(cli, &run, &witness);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = prove(cli, &run, witness);
    }
    if (status == PM_OK) {
        status = read_publics(cli, &run, witness);
    }
    if (status == PM_OK) {
        status = pm_cli_proving_write(cli, &run, true);
    }
    if (status == PM_OK) {
        pm_cli_proving_tell(cli, &run);
    }
    pm_witness_destroy_by(cli->context, witness);
    pm_cli_proving_free(&run);
    return status;
}
