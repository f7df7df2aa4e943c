/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_prove.c - proofmill prove ZKEY WTNS PROOF PUBLIC. */
#include "cli/cli.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a run owns. */
struct proving {
    pm_key *key;
    pm_witness *witness;
    pm_key_facts facts;
    pm_proof proof;
    uint8_t *publics;
    struct pm_json_text proof_text, public_text;
};

/* Everything that can be found wrong before a byte is read. */
static pm_status check_paths(struct pm_cli *cli) {
    const char *const inputs[] = {cli->files[PM_ROLE_ZKEY], cli->files[PM_ROLE_WITNESS]};
    const char *const outputs[] = {cli->files[PM_ROLE_PROOF], cli->files[PM_ROLE_PUBLIC]};
    pm_status status = pm_cli_one_stream(cli, inputs, 2, "standard input");
    if (status == PM_OK) {
        status = pm_cli_one_stream(cli, outputs, 2, "standard output");
    }
    if (status == PM_OK && cli->json &&
        (strcmp(outputs[0], "-") == 0 || strcmp(outputs[1], "-") == 0)) {
        status = pm_cli_usage(cli, "with --json no file can be standard output");
    }
    if (status == PM_OK) {
        status = pm_files_distinct(inputs, 2, outputs, 2, &cli->error);
    }
    for (size_t i = 0; status == PM_OK && i < 2; i++) {
        status = pm_cli_check_output(cli, outputs[i]);
    }
    return status;
}

static pm_status load(struct pm_cli *cli, struct proving *run) {
    pm_key_options options = {
        .struct_bytes = (uint32_t)sizeof options, .load = cli->load, .check = cli->check};
    uint64_t start_ns = pm_cli_now_ns();
    pm_status status = pm_key_open(cli->context, cli->files[PM_ROLE_ZKEY], &options, &cli->control,
                                   &run->key, &cli->error);
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
    start_ns = pm_cli_now_ns();
    status = pm_witness_open(cli->context, cli->files[PM_ROLE_WITNESS], &cli->control,
                             &run->witness, &cli->error);
    if (status == PM_OK) {
        pm_cli_step_done(cli, "load witness", start_ns);
    }
    return status;
}

static pm_status prove(struct pm_cli *cli, struct proving *run) {
    pm_prove_options options = {.struct_bytes = (uint32_t)sizeof options,
                                .no_self_verify = cli->no_self_verify};
    uint64_t start_ns = pm_cli_now_ns();
    run->proof.struct_bytes = (uint32_t)sizeof run->proof;
    pm_status status = pm_prove(cli->context, run->key, run->witness, &options, &cli->control,
                                &run->proof, &cli->prove_stats, &cli->error);
    if (status == PM_OK) {
        pm_cli_step_done(cli, "prove", start_ns);
    }
    return status;
}

static pm_status write_files(struct pm_cli *cli, struct proving *run) {
    uint64_t start_ns = pm_cli_now_ns();
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
    if (status == PM_OK) {
        const pm_output outputs[] = {
            {cli->files[PM_ROLE_PROOF], run->proof_text.bytes, run->proof_text.n_bytes},
            {cli->files[PM_ROLE_PUBLIC], run->public_text.bytes, run->public_text.n_bytes}};
        status = pm_files_write(outputs, 2, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "write", start_ns);
    }
    return status;
}

/* What --json tells beside the status. */
static void describe(struct pm_cli *cli, const struct proving *run) {
    json_t *json = cli->result;
    (void)json_object_set_new(json, "curve",
                              json_string(pm_curve_name((pm_curve_id)run->facts.curve)));
    (void)json_object_set_new(json, "n_public", json_integer(run->facts.n_public));
    (void)json_object_set_new(json, "proof_file", pm_cli_json_string(cli->files[PM_ROLE_PROOF]));
    (void)json_object_set_new(json, "public_file", pm_cli_json_string(cli->files[PM_ROLE_PUBLIC]));
    (void)json_object_set_new(json, "self_verified", json_boolean(!cli->no_self_verify));
}

pm_status pm_cmd_prove(struct pm_cli *cli) {
    struct proving run = {.key = NULL};
    pm_status status = check_paths(cli);
    if (status == PM_OK) {
        status = pm_cli_start(cli);
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
        describe(cli, &run);
    }
    pm_json_text_free(&run.proof_text);
    pm_json_text_free(&run.public_text);
    free(run.publics);
    pm_witness_destroy(run.witness);
    pm_key_destroy(run.key);
    return status;
}
