/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_setup.c - proofmill setup, from powers of tau or from known secrets. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* Everything that can be found wrong before a byte is read. */
static pm_status check_paths(struct pm_cli *cli, const char *const *inputs, size_t n_inputs) {
    const char *const output = cli->files[PM_ROLE_ZKEY];
    if (strcmp(output, "-") == 0) {
        return pm_cli_usage(cli, "a key cannot be written to standard output: ZKEY must be a file");
    }
    pm_status status = pm_cli_one_stream(cli, inputs, n_inputs, "standard input");
    if (status == PM_OK) {
        status = pm_files_distinct(inputs, n_inputs, &output, 1, &cli->error);
    }
    return status == PM_OK ? pm_cli_check_output(cli, output) : status;
}

/* The hash by which snarkjs's contributions name the circuit, as it prints it. */
static pm_status describe(struct pm_cli *cli) {
    pm_file_info info = {.struct_bytes = (uint32_t)sizeof info};
    const pm_status status = pm_file_describe(cli->context, cli->files[PM_ROLE_ZKEY], 0,
                                              &cli->control, &info, &cli->error);
    if (status != PM_OK) {
        return status;
    }
    char hash[2 * sizeof info.circuit_hash + 1];
    for (size_t i = 0; i < sizeof info.circuit_hash; i++) {
        (void)snprintf(hash + 2 * i, 3, "%02x", info.circuit_hash[i]);
    }
    json_t *json = cli->result;
    (void)json_object_set_new(json, "curve", json_string(pm_curve_name((pm_curve_id)info.curve)));
    (void)json_object_set_new(json, "log_n", json_integer(info.log_n));
    (void)json_object_set_new(json, "n_vars", json_integer(info.n_vars));
    (void)json_object_set_new(json, "n_public", json_integer(info.n_public));
    (void)json_object_set_new(json, "circuit_hash", json_string(hash));
    (void)json_object_set_new(json, "zkey_file", pm_cli_json_string(cli->files[PM_ROLE_ZKEY]));
    pm_cli_note(cli, "circuit hash %s", hash);
    return PM_OK;
}

pm_status pm_cmd_setup(struct pm_cli *cli) {
    const char *const inputs[] = {cli->files[PM_ROLE_R1CS], cli->files[PM_ROLE_PTAU]};
    pm_status status = check_paths(cli, inputs, 2);
    if (status == PM_OK) {
        status = pm_cli_start(cli);
    }
    if (status != PM_OK) {
        return status;
    }
    uint64_t start_ns = pm_cli_now_ns();
    pm_cli_listen_for_signals();
    status = pm_setup_ptau(cli->context, cli->files[PM_ROLE_R1CS], cli->files[PM_ROLE_PTAU],
                           cli->files[PM_ROLE_ZKEY], &cli->control, &cli->error);
    if (status != PM_OK) {
        return status;
    }
    pm_cli_step_done(cli, "setup", start_ns);
    pm_cli_warn(cli, "nobody has contributed to this key yet, so anyone can forge proofs with it: "
                     "`snarkjs zkey contribute` comes next");
    return cli->json || cli->verbosity > 0 ? describe(cli) : PM_OK;
}

pm_status pm_cmd_setup_known(struct pm_cli *cli) {
    const pm_setup_known_options options = {
        .struct_bytes = (uint32_t)sizeof options, .format = cli->key_format, .seed = cli->seed};
    pm_status status = check_paths(cli, (const char *const *)&cli->files[PM_ROLE_R1CS], 1);
    if (status == PM_OK) {
        status = pm_cli_start(cli);
    }
    if (status != PM_OK) {
        return status;
    }
    const uint64_t start_ns = pm_cli_now_ns();
    pm_cli_listen_for_signals();
    status = pm_setup_known_tau(cli->context, cli->files[PM_ROLE_R1CS], cli->files[PM_ROLE_ZKEY],
                                &options, &cli->control, &cli->error);
    if (status != PM_OK) {
        return status;
    }
    pm_cli_step_done(cli, "setup", start_ns);
    pm_cli_warn(cli, "this is a development key: its secrets are known, so anyone can forge proofs "
                     "with it");
    return cli->json || cli->verbosity > 0 ? describe(cli) : PM_OK;
}
