/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_prove.c - proofmill prove ZKEY WTNS PROOF PUBLIC. */
#include "cli/cli_bellman.h"
#include "json/json.h"

#include <proofmill/experimental.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a run owns. */
struct proving {
    pm_key *key;
    pm_witness *witness;
    pm_key_facts facts;
    uint64_t memory_bytes; /* for the proof; 0: nothing bounds it */
    pm_report *report;     /* NULL: nobody asked */
    pm_proof proof;
    uint8_t *publics;
    struct pm_json_text proof_text, public_text;
    char *trace_text;
};

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

static pm_status load(struct pm_cli *cli, struct proving *run) {
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
    status = pm_witness_open(cli->context, cli->files[PM_ROLE_WITNESS], &cli->control,
                             &run->witness, &cli->error);
    if (status == PM_OK) {
        pm_cli_step_done(cli, "load witness", start_ns);
    }
    return status;
}

static pm_status prove(struct pm_cli *cli, struct proving *run) {
    if (cli->stats || cli->memory_table || cli->trace_path != NULL) {
        const pm_status status = pm_report_create(&run->report, &cli->error);
        if (status != PM_OK) {
            return status;
        }
    }
    pm_prove_options options = {.struct_bytes = (uint32_t)sizeof options,
                                .no_self_verify = cli->no_self_verify,
                                .memory_bytes = run->memory_bytes,
                                .form = cli->form,
                                .residency = cli->residency,
                                .b2 = cli->b2,
                                .report = run->report};
    uint64_t start_ns = pm_cli_now_ns();
    run->proof.struct_bytes = (uint32_t)sizeof run->proof;
    pm_status status = pm_prove(cli->context, run->key, run->witness, &options, &cli->control,
                                &run->proof, &cli->prove_stats, &cli->error);
    if (status == PM_OK) {
        pm_cli_step_done(cli, "prove", start_ns);
        pm_cli_keep_phase_bytes(cli, run->report);
    }
    return status;
}

static pm_status make_texts(struct pm_cli *cli, struct proving *run) {
    run->publics = calloc((size_t)run->facts.n_public + 1, PM_FR_BYTES);
    if (run->publics == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, "", "no memory for %u public signals",
                           run->facts.n_public);
    }
    pm_status status = pm_witness_values(run->witness, 1, run->facts.n_public, run->publics);
    if (status != PM_OK) {
        return pm_cli_fail(cli, status, cli->files[PM_ROLE_WITNESS],
                           "its public signals cannot be read");
    }
    status = pm_json_proof_write(&run->proof, &run->proof_text, &cli->error);
    if (status == PM_OK) {
        status =
            pm_json_public_write(run->publics, run->facts.n_public, &run->public_text, &cli->error);
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
            {cli->files[PM_ROLE_PROOF], run->proof_text.bytes, run->proof_text.n_bytes},
            {cli->files[PM_ROLE_PUBLIC], run->public_text.bytes, run->public_text.n_bytes},
            {cli->trace_path, run->trace_text, has_trace ? strlen(run->trace_text) : 0}};
        status = pm_files_write(outputs, has_trace ? 3 : 2, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "write", start_ns);
    }
    return status;
}

/* What a proof that failed has done until then. The error stays the proof's. */
static void write_trace_of_failure(struct pm_cli *cli, struct proving *run) {
    const pm_error why = cli->error;
    pm_status status = pm_cli_trace_text(cli, run->report, &run->trace_text);
    if (status == PM_OK) {
        const pm_output output = {cli->trace_path, run->trace_text, strlen(run->trace_text)};
        status = pm_files_write(&output, 1, &cli->error);
    }
    if (status != PM_OK) {
        pm_cli_warn(cli, "no trace: %s", cli->error.message);
    }
    cli->error = why;
}

static void tell_of_memory(struct pm_cli *cli, const struct proving *run) {
    pm_key_facts now = {.struct_bytes = (uint32_t)sizeof now};
    (void)pm_key_get_facts(run->key, &now); /* the proof has brought it to its device */
    const struct pm_cli_holdings holdings = {.key_mapped_bytes = run->facts.mapped_bytes,
                                             .key_memory_bytes = run->facts.memory_bytes,
                                             .key_device_bytes = now.device_bytes,
                                             .json_bytes = run->proof_text.n_bytes +
                                                           run->public_text.n_bytes};
    pm_cli_memory(cli, run->report, &holdings);
}

/* What --json tells beside the status. */
static void describe(struct pm_cli *cli, const struct proving *run) {
    json_t *json = cli->result;
    (void)json_object_set_new(json, "curve",
                              json_string(pm_curve_name((pm_curve_id)run->facts.curve)));
    (void)json_object_set_new(json, "n_public", json_integer(run->facts.n_public));
    (void)json_object_set_new(json, "proof_file", pm_cli_json_string(cli->files[PM_ROLE_PROOF]));
    (void)json_object_set_new(json, "public_file", pm_cli_json_string(cli->files[PM_ROLE_PUBLIC]));
    if (cli->trace_path != NULL) {
        (void)json_object_set_new(json, "trace_file", pm_cli_json_string(cli->trace_path));
    }
    if (cli->prove_stats.device != NULL) {
        (void)json_object_set_new(json, "device", json_string(cli->prove_stats.device));
    }
    (void)json_object_set_new(json, "self_verified", json_boolean(!cli->no_self_verify));
}

pm_status pm_cmd_prove(struct pm_cli *cli) {
    struct proving run = {.key = NULL};
    pm_status status = check_paths(cli);
    if (status == PM_OK && pm_cli_is_assignment(cli)) {
        return pm_cmd_prove_assignment(cli);
    }
    if (status == PM_OK) {
        pm_cli_choose_threads(cli, pm_cli_file_bytes(cli->files[PM_ROLE_ZKEY]));
        status = pm_cli_start(cli);
    }
    if (status == PM_OK) {
        status = load(cli, &run);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = prove(cli, &run);
        if (status != PM_OK && status != PM_CANCELLED && cli->trace_path != NULL) {
            write_trace_of_failure(cli, &run);
        }
    }
    if (status == PM_OK) {
        status = write_files(cli, &run);
    }
    if (status == PM_OK) {
        describe(cli, &run);
    }
    if (status == PM_OK && cli->memory_table) {
        tell_of_memory(cli, &run);
    }
    free(run.trace_text);
    pm_json_text_free(&run.proof_text);
    pm_json_text_free(&run.public_text);
    free(run.publics);
    pm_witness_destroy(run.witness);
    pm_key_destroy(run.key);
    pm_report_destroy(run.report);
    return status;
}
