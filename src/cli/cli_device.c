/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_device.c - where to prove: --device, or else what the environment says. */
#include "cli/cli.h"

#include <string.h>
#include <strings.h>

bool pm_cli_read_switch(const char *word, bool *on) {
    static const char *const words[] = {"", "0", "false", "no", "off", "1", "true", "yes", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(word, words[i]) == 0) {
            *on = i > 4;
            return true;
        }
    }
    return false;
}

static pm_status read_no_gpu(struct pm_cli *cli, bool *no_gpu) {
    const char *const word = cli->environment.no_gpu;
    *no_gpu = false;
    return word == NULL || pm_cli_read_switch(word, no_gpu)
               ? PM_OK
               : pm_cli_usage(cli,
                              "PROOFMILL_NO_GPU is a switch, so it is 0, false, no, off, 1, "
                              "true, yes or on, and not \"%.60s\"",
                              word);
}

/* A device, or a switch: PROOFMILL_DEVICE=0 is no name of a card. */
static void heed_environment(struct pm_cli *cli) {
    bool on = false;
    cli->device = cli->environment.device;
    cli->device_from = "PROOFMILL_DEVICE";
    if (pm_cli_read_switch(cli->device, &on)) {
        cli->device = on ? "cuda" : NULL;
    }
}

/* A variable that is wrong is said also where an option makes it of no account: it would be wrong
 * tomorrow too. */
pm_status pm_cli_choose_device(struct pm_cli *cli) {
    bool no_gpu = false;
    cli->device = cli->device_from = NULL;
    if ((cli->verb->groups & PM_GROUP_DEVICE) == 0) {
        return PM_OK;
    }
    const pm_status status = read_no_gpu(cli, &no_gpu);
    if (status != PM_OK) {
        return status;
    }
    if (cli->device_text != NULL) {
        cli->device = cli->device_text;
    } else if (cli->environment.device != NULL && !no_gpu) {
        heed_environment(cli);
    }
    if (cli->device != NULL && strcmp(cli->device, "cpu") == 0) {
        cli->device = NULL;
    }
    return PM_OK;
}
