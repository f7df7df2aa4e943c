/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* demo_options.h - what the two demo programs share: their arguments, and how they end. */
#ifndef PM_DEMO_OPTIONS_H
#define PM_DEMO_OPTIONS_H

#include "curve/curve.h"

#include <stdint.h>

struct demo_options {
    const struct pm_curve *curve;
    uint32_t n_rounds;
};

/* Reads CURVE and ROUNDS from argv[1] and argv[2]. Ends the program with status 2 and `usage` on
 * stderr unless there are exactly n_arguments of them all and both are in their domain. */
struct demo_options demo_options_read(int argc, char **argv, int n_arguments, const char *usage);

/* Prints the error's sentence and returns the exit status: 0 for PM_OK. */
int demo_exit_status(pm_status status, const pm_error *error);

#endif
