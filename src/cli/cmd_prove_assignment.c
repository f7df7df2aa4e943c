/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_prove_assignment.c - proofmill prove PARAMS ASG PROOF: what another prover had at hand.
 */
#include "cli/cli_bellman.h"

#include <proofmill/experimental.h>

#include <stdlib.h>
#include <string.h>

/* What a run owns. */
struct proving {
    pm_assignment_file *file;
    pm_assignment assignment;
    pm_key *key;
    pm_key_facts facts;
    uint64_t memory_bytes; /* for the proof; 0: nothing bounds it */
    pm_report *report;     /* NULL: nobody asked */
    pm_proof proof;
    uint8_t *publics;
    void *proof_bytes, *public_bytes;
    size_t n_proof_bytes, n_public_bytes;
    char *trace_text;
};

static uint64_t n_publics(const struct proving *run) {
    return run->assignment.n_inputs - 1;
}

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

static pm_status admit_proof(struct pm_cli *cli, struct proving *run) {
    const struct pm_cli_beside beside = {.threads = pm_context_threads(cli->context),
                                         .key_memory_bytes = run->facts.memory_bytes,
                                         .n_public = n_publics(run)};
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

static pm_status load(struct pm_cli *cli, struct proving *run) {
    uint64_t start_ns = pm_cli_now_ns();
    pm_status status =
        pm_assignment_file_open(cli->files[PM_ROLE_WITNESS], &run->file, &cli->error);
    run->assignment.struct_bytes = (uint32_t)sizeof run->assignment;
    if (status == PM_OK) {
        status = pm_assignment_file_get(run->file, &run->assignment, &cli->error);
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

static pm_status prove(struct pm_cli *cli, struct proving *run) {
    const pm_prove_options options = {.struct_bytes = (uint32_t)sizeof options,
                                      .no_self_verify = cli->no_self_verify,
                                      .memory_bytes = run->memory_bytes,
                                      .form = cli->form,
                                      .residency = cli->residency,
                                      .b2 = cli->b2,
                                      .report = run->report};
    const uint64_t start_ns = pm_cli_now_ns();
    pm_pending *pending = NULL;
    run->proof.struct_bytes = (uint32_t)sizeof run->proof;
    pm_status status = pm_prove_start_assignment(cli->context, run->key, &run->assignment, &options,
                                                 &cli->control, &pending, &cli->error);
    if (status == PM_OK) {
        status =
            pm_prove_finish(pending, &cli->control, &run->proof, &cli->prove_stats, &cli->error);
    }
    pm_error changed = PM_ERROR_INIT;
    if (status != PM_OK && pm_assignment_file_inputs(run->file, 0, 0, NULL, &changed) != PM_OK) {
        cli->error = changed; /* what does not verify is no fault of the assignment's then */
        return (pm_status)changed.status;
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "prove", start_ns);
        pm_cli_keep_phase_bytes(cli, run->report);
    }
    return status;
}

static pm_status make_texts(struct pm_cli *cli, struct proving *run) {
    const size_t n = (size_t)n_publics(run);
    run->publics = calloc(n + 1, PM_FR_BYTES);
    if (run->publics == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, "", "no memory for %zu public signals", n);
    }
    pm_status status = pm_assignment_file_inputs(run->file, 1, n, run->publics, &cli->error);
    if (status == PM_OK) {
        status = pm_cli_proof_bytes(cli, cli->files[PM_ROLE_PROOF], &run->proof, &run->proof_bytes,
                                    &run->n_proof_bytes);
    }
    if (status == PM_OK) {
        status = pm_cli_publics_bytes(cli, cli->files[PM_ROLE_PUBLIC], run->publics, n,
                                      &run->public_bytes, &run->n_public_bytes);
    }
    if (status == PM_OK && cli->trace_path != NULL) {
        status = pm_cli_trace_text(cli, run->report, &run->trace_text);
    }
    return status;
}

static pm_status write_files(struct pm_cli *cli, struct proving *run) {
    const uint64_t start_ns = pm_cli_now_ns();
    pm_status status = make_texts(cli, run);
    if (status == PM_OK) {
        const bool has_trace = run->trace_text != NULL;
        const pm_output outputs[] = {
            {cli->files[PM_ROLE_PROOF], run->proof_bytes, run->n_proof_bytes},
            {cli->files[PM_ROLE_PUBLIC], run->public_bytes, run->n_public_bytes},
            {cli->trace_path, run->trace_text, has_trace ? strlen(run->trace_text) : 0}};
        status = pm_files_write(outputs, has_trace ? 3 : 2, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "write", start_ns);
    }
    return status;
}

static void tell(struct pm_cli *cli, const struct proving *run) {
    json_t *json = cli->result;
    (void)json_object_set_new(json, "curve",
                              json_string(pm_curve_name((pm_curve_id)run->facts.curve)));
    (void)json_object_set_new(json, "n_public", json_integer((json_int_t)n_publics(run)));
    (void)json_object_set_new(json, "proof_file", pm_cli_json_string(cli->files[PM_ROLE_PROOF]));
    (void)json_object_set_new(json, "public_file", pm_cli_json_string(cli->files[PM_ROLE_PUBLIC]));
    if (cli->trace_path != NULL) {
        (void)json_object_set_new(json, "trace_file", pm_cli_json_string(cli->trace_path));
    }
    if (cli->prove_stats.device != NULL) {
        (void)json_object_set_new(json, "device", json_string(cli->prove_stats.device));
    }
    (void)json_object_set_new(json, "self_verified", json_boolean(!cli->no_self_verify));
    if (cli->memory_table) {
        pm_key_facts now = {.struct_bytes = (uint32_t)sizeof now};
        (void)pm_key_get_facts(run->key, &now); /* the proof has brought it to its device */
        const struct pm_cli_holdings holdings = {.key_mapped_bytes = run->facts.mapped_bytes,
                                                 .key_memory_bytes = run->facts.memory_bytes,
                                                 .key_device_bytes = now.device_bytes,
                                                 .json_bytes =
                                                     run->n_proof_bytes + run->n_public_bytes};
        pm_cli_memory(cli, run->report, &holdings);
    }
}

pm_status pm_cmd_prove_assignment(struct pm_cli *cli) {
    struct proving run = {.key = NULL};
    pm_cli_choose_threads(cli, pm_cli_file_bytes(cli->files[PM_ROLE_ZKEY]));
    pm_status status = pm_cli_start(cli);
    if (status == PM_OK && (cli->stats || cli->memory_table || cli->trace_path != NULL)) {
        status = pm_report_create(&run.report, &cli->error);
    }
    if (status == PM_OK) {
        status = load(cli, &run);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = prove(cli, &run);
    }
    if (status == PM_OK) {
        status = write_files(cli, &run);
    }
    if (status == PM_OK) {
        tell(cli, &run);
    }
    free(run.trace_text);
    free(run.proof_bytes);
    free(run.public_bytes);
    free(run.publics);
    pm_key_destroy(run.key);
    pm_assignment_file_destroy(run.file);
    pm_report_destroy(run.report);
    return status;
}
