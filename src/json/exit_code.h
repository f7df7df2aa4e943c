/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* json/exit_code.h - what programs end with, as `proofmill help` lists it. */
#ifndef PM_JSON_EXIT_CODE_H
#define PM_JSON_EXIT_CODE_H

#include <proofmill/proofmill.h>

enum pm_exit_code {
    PM_EXIT_DONE = 0,
    PM_EXIT_INVALID = 1, /* the proof, and nothing else */
    PM_EXIT_USAGE = 2,
    PM_EXIT_BAD_INPUT = 3,
    PM_EXIT_IO = 4,
    PM_EXIT_MEMORY = 5,
    PM_EXIT_DEVICE = 6,
    PM_EXIT_UNSATISFIED = 7,
    PM_EXIT_FAULT = 8,
    PM_EXIT_TIMEOUT = 9,
    PM_EXIT_JOB_CANCELLED = 10, /* a daemon's job, by somebody */
    PM_EXIT_SIGNAL = 128        /* and the signal's number */
};

/* Of CANCELLED: as for SIGINT; whoever knows the signal says so instead. */
int pm_exit_code(pm_status status);

#endif
