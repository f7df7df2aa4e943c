/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_key.c - a proving key of either kind: snarkjs's, or bellman's parameter file. */
#include "cli/cli.h"

#include <sys/stat.h>

/* What a regular file is; PM_FILE_UNKNOWN for one that can be read only once. */
static uint32_t kind_of(struct pm_cli *cli, const char *path) {
    struct stat about;
    pm_file_info info = {.struct_bytes = (uint32_t)sizeof info};
    pm_error ignored = PM_ERROR_INIT; /* opening it will say what is wrong with it */
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
                   pm_file_describe(cli->context, path, 0, &cli->control, &info, &ignored) == PM_OK
               ? info.kind
               : (uint32_t)PM_FILE_UNKNOWN;
}

pm_status pm_cli_open_key(struct pm_cli *cli, bool to_prove, pm_key **key) {
    const pm_key_options options = {.struct_bytes = (uint32_t)sizeof options,
                                    .load = cli->load,
                                    .check = cli->check,
                                    .cache = cli->cache};
    const char *const path = cli->files[PM_ROLE_ZKEY], *const r1cs = cli->files[PM_ROLE_R1CS];
    if (r1cs != NULL && kind_of(cli, path) == PM_FILE_ZKEY) {
        return pm_cli_usage(cli,
                            "%s is a zkey, which has its constraints inside: --r1cs is for "
                            "bellman's parameter files",
                            path);
    }
    if (r1cs != NULL) {
        return pm_key_open_params(cli->context, path, r1cs, &options, &cli->control, key,
                                  &cli->error);
    }
    const pm_status status =
        pm_key_open(cli->context, path, &options, &cli->control, key, &cli->error);
    if (status != PM_NOT_THIS_KIND || kind_of(cli, path) != PM_FILE_PARAMS) {
        return status;
    }
    if (to_prove) {
        return pm_cli_usage(cli,
                            "%s is bellman's parameter file: say with --r1cs FILE which constraint "
                            "system it is for",
                            path);
    }
    return pm_key_open_params(cli->context, path, NULL, &options, &cli->control, key, &cli->error);
}
