/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "demo_options.h"

#include "demo_circuit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void usage_and_exit(const char *usage) {
    fprintf(stderr, "usage: %s\n", usage);
    fprintf(stderr, "       CURVE is bn254 or bls12_381, ROUNDS is %u to %u\n", DEMO_ROUNDS_MIN,
            DEMO_ROUNDS_MAX);
    exit(2);
}

struct demo_options demo_options_read(int argc, char **argv, int n_arguments, const char *usage) {
    if (argc != n_arguments + 1) {
        usage_and_exit(usage);
    }
    const pm_curve_id id = pm_curve_from_name(argv[1]);
    const struct pm_curve *curve =
        id == PM_CURVE_NONE ? NULL : pm_curve_get(id, pm_cpu_best_body());
    char *end = NULL;
    errno = 0;
    const unsigned long n_rounds = strtoul(argv[2], &end, 10);
    if (curve == NULL || errno != 0 || *end != '\0' || n_rounds < DEMO_ROUNDS_MIN ||
        n_rounds > DEMO_ROUNDS_MAX) {
        usage_and_exit(usage);
    }
    return (struct demo_options){.curve = curve, .n_rounds = (uint32_t)n_rounds};
}

int demo_exit_status(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        fprintf(stderr, "%s%s%s\n", error->file, error->file[0] != '\0' ? ": " : "",
                error->message);
        return 3;
    }
    return 0;
}
