/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_circuit.h - which known circuit bellman's parameters or verifying key are for. */
#ifndef PM_CLI_CLI_CIRCUIT_H
#define PM_CLI_CLI_CIRCUIT_H

#include <proofmill/proofmill.h>

#include <stdbool.h>

struct pm_cli_circuit {
    const char *by_name;   /* what the file's name says; NULL: nothing that is known */
    const char *by_counts; /* what its counts say; NULL likewise */
    bool name_is_wrong;    /* its counts are not those of the circuit that it is named after */
};

void pm_cli_recognise_circuit(const char *path, const pm_file_info *info,
                              struct pm_cli_circuit *circuit);

#endif
