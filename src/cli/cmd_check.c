/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_check.c - proofmill check FILE, proofmill check R1CS WTNS. */
#include "cli/cli.h"

static pm_status say_ok(struct pm_cli *cli) {
    pm_cli_print(cli, "%s", cli->quiet ? "" : "OK!\n");
    return PM_OK;
}

static pm_status check_witness(struct pm_cli *cli, const char *r1cs, const char *wtns) {
    const char *const paths[] = {r1cs, wtns};
    pm_witness *witness = NULL;
    uint64_t constraint = 0, start_ns = pm_cli_now_ns();
    pm_status status = pm_cli_one_stream(cli, paths, 2, "standard input");
    if (status == PM_OK) {
        status = pm_witness_open(cli->context, wtns, &cli->control, &witness, &cli->error);
    }
    if (status == PM_OK) {
        status = pm_r1cs_check_witness(cli->context, r1cs, witness, &cli->control, &constraint,
                                       &cli->error);
    }
    if (status == PM_UNSATISFIED) {
        (void)json_object_set_new(cli->result, "constraint", json_integer((json_int_t)constraint));
    }
    pm_witness_destroy(witness);
    if (status != PM_OK) {
        return status;
    }
    pm_cli_step_done(cli, "check", start_ns);
    return say_ok(cli);
}

pm_status pm_cmd_check(struct pm_cli *cli) {
    pm_status status = pm_cli_start(cli);
    return status == PM_OK
               ? check_witness(cli, cli->files[PM_ROLE_R1CS], cli->files[PM_ROLE_WITNESS])
               : status;
}

pm_status pm_cmd_check_file(struct pm_cli *cli) {
    if (cli->n_words == 0 || cli->n_words > 2) {
        return pm_cli_usage(cli, "`check` needs one FILE, or R1CS and WTNS");
    }
    pm_status status = pm_cli_start(cli);
    if (status != PM_OK) {
        return status;
    }
    if (cli->n_words == 2) {
        return check_witness(cli, cli->words[0], cli->words[1]);
    }
    uint64_t start_ns = pm_cli_now_ns();
    status = pm_file_check(cli->context, cli->words[0], &cli->control, &cli->error);
    if (status != PM_OK) {
        return status;
    }
    pm_cli_step_done(cli, "check", start_ns);
    return say_ok(cli);
}
