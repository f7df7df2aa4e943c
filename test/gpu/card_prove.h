/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* card_prove.h - what the parts of card_prove share, and card_supraseal its checks. */
#ifndef PM_TEST_GPU_CARD_PROVE_H
#define PM_TEST_GPU_CARD_PROVE_H

#include "base/ledger.h"
#include "gpu/gpu.h"
#include "groth16/plan.h"

#include <proofmill/proofmill.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with a sentence. */
#define CARD_PROVE_CHECK(condition, ...)                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)printf("%s:%d: ", __FILE__, __LINE__);                                           \
            (void)printf(__VA_ARGS__);                                                             \
            (void)printf("\n");                                                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define CARD_PROVE_OK(call)                                                                        \
    do {                                                                                           \
        pm_error error = PM_ERROR_INIT;                                                            \
        const pm_status card_status = (call);                                                      \
        CARD_PROVE_CHECK(card_status == PM_OK, "%s: %s", pm_status_name(card_status),              \
                         error.message);                                                           \
    } while (0)

double card_prove_now_ms(void);
/* Of doubles, for qsort(). */
int card_prove_by_value(const void *a, const void *b);

/* A partition of 2^log_n rows in the proportions of a 32 GiB sector; card_prove.c has the words. */
void card_prove_partition(const struct pm_gpu_api *api, uint32_t log_n, uint64_t seed, int n_words,
                          char **words);

/* A table whose every allocation is written to a file, for check_driver_watch.py. */
const struct pm_gpu_api *card_prove_open_ledger(const struct pm_gpu_api *api, const char *path);
/* Adds a proof that has ended. Nothing to do where no file is open, like the next. */
void card_prove_dump_ledger(const struct pm_plan *plan, const struct pm_ledger_entry *entries,
                            uint32_t n);
void card_prove_close_ledger(void);

#endif
