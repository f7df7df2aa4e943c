/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_prove_assignment.c - proofmill prove PARAMS ASG PROOF: what another prover had at hand.
 */
#include "cli/cli_bellman.h"
#include "cli/cli_prove.h"

/* What another prover had at hand. */
struct given {
    pm_assignment_file *file;
    pm_assignment assignment;
};

/* The key's points are decoded into memory: a file has as many bytes as they take. */
static pm_status admit_key(struct pm_cli *cli) {
    const struct pm_cli_beside beside = {.threads = pm_context_threads(cli->context),
                                         .key_memory_bytes =
                                             pm_cli_file_bytes(cli->files[PM_ROLE_ZKEY])};
    pm_cli_find_allowance(cli);
    const uint64_t need_bytes = pm_cli_beside_bytes(cli, &beside);
    return need_bytes <= cli->allowance.bytes
               ? PM_OK
               : pm_cli_refuse_memory(cli, cli->files[PM_ROLE_ZKEY], need_bytes);
}

static pm_status admit_proof(struct pm_cli *cli, struct pm_cli_proving *run) {
    const struct pm_cli_beside beside = {.threads = pm_context_threads(cli->context),
                                         .key_memory_bytes = run->facts.memory_bytes,
                                         .n_public = run->n_public};
    const uint64_t beside_bytes = pm_cli_beside_bytes(cli, &beside);
    if (cli->allowance.bytes == UINT64_MAX) {
        return PM_OK;
    }
    if (beside_bytes >= cli->allowance.bytes) {
        return pm_cli_refuse_memory(cli, cli->files[PM_ROLE_ZKEY], beside_bytes + 1);
    }
    run->memory_bytes = cli->allowance.bytes - beside_bytes;
    return PM_OK;
}

static pm_status load(struct pm_cli *cli, struct pm_cli_proving *run, struct given *given) {
    uint64_t start_ns = pm_cli_now_ns();
    pm_status status = pm_assignment_file_open(cli->files[PM_ROLE_WITNESS], &cli->control,
                                               &given->file, &cli->error);
    given->assignment.struct_bytes = (uint32_t)sizeof given->assignment;
    if (status == PM_OK) {
        status = pm_assignment_file_get(given->file, &given->assignment, &cli->error);
    }
    if (status == PM_OK) {
        status = pm_cli_proving_publics(cli, run, given->assignment.n_inputs - 1);
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "load assignment", start_ns);
        status = admit_key(cli);
    }
    start_ns = pm_cli_now_ns();
    if (status == PM_OK) {
        status = pm_cli_open_key(cli, false, &run->key);
    }
    if (status != PM_OK) {
        return status;
    }
    pm_cli_step_done(cli, "load key", start_ns);
    run->facts.struct_bytes = (uint32_t)sizeof run->facts;
    status = pm_key_get_facts(run->key, &run->facts);
    return status == PM_OK ? admit_proof(cli, run) : status;
}

static pm_status prove(struct pm_cli *cli, struct pm_cli_proving *run, struct given *given) {
    const pm_prove_options options = pm_cli_proving_options(cli, run);
    const uint64_t start_ns = pm_cli_now_ns();
    pm_pending *pending = NULL;
    run->proof.struct_bytes = (uint32_t)sizeof run->proof;
    pm_status status = pm_prove_start_assignment(cli->context, run->key, &given->assignment,
                                                 &options, &cli->control, &pending, &cli->error);
    if (status == PM_OK) {
        status =
            pm_prove_finish(pending, &cli->control, &run->proof, &cli->prove_stats, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "prove", start_ns);
        pm_cli_keep_phase_bytes(cli, run->report);
        return PM_OK;
    }
    pm_error changed = PM_ERROR_INIT;
    if (pm_assignment_file_inputs(given->file, 0, 0, NULL, &changed) != PM_OK) {
        cli->error = changed; /* what does not verify is no fault of the assignment's then */
        status = (pm_status)changed.status;
    }
    if (status != PM_CANCELLED) {
        pm_cli_proving_failed(cli, run);
    }
    return status;
}

pm_status pm_cmd_prove_assignment(struct pm_cli *cli) {
    struct pm_cli_proving run = {.key = NULL};
    struct given given = {.file = NULL};
    pm_cli_choose_threads(cli, pm_cli_file_bytes(cli->files[PM_ROLE_ZKEY]));
    pm_status status = pm_cli_start(cli);
    if (status == PM_OK) {
        status = pm_cli_proving_report(cli, &run);
    }
    if (status == PM_OK) {
        status = load(cli, &run, &given);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = prove(cli, &run, &given);
    }
    if (status == PM_OK) {
        status = pm_assignment_file_inputs(given.file, 1, (size_t)run.n_public, run.publics,
                                           &cli->error);
    }
    if (status == PM_OK) {
        status = pm_cli_proving_write(cli, &run, false);
    }
    if (status == PM_OK) {
        pm_cli_proving_tell(cli, &run);
    }
    pm_assignment_file_destroy(given.file);
    pm_cli_proving_free(&run);
    return status;
}
