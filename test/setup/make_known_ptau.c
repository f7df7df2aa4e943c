/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* make_known_ptau CURVE POWER PATH: see support/known_ptau.h. For the scripts that compare us with
 * snarkjs. */
#include "support/known_ptau.h"

#include <stdio.h>
#include <stdlib.h>

int main(int n, char **arguments) {
    const pm_curve_id curve = n == 4 ? pm_curve_from_name(arguments[1]) : PM_CURVE_NONE;
    const int power = n == 4 ? atoi(arguments[2]) : 0;
    if (curve == PM_CURVE_NONE || power < 1 || power > 27) {
        (void)fprintf(stderr, "make_known_ptau CURVE POWER PATH\n");
        return 2;
    }
    known_ptau_write(arguments[3], curve, (uint32_t)power, true, pm_threads_available());
    return 0;
}
