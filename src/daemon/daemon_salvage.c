/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_salvage.c - `proofmilld serve --salvage`: what is left of a damaged journal. */
#include "daemon/daemon_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define LOST_MAX 1024

static void tell(const char *journal_path, const pm_engine_salvaged *salvaged, const uint64_t *lost,
                 uint32_t n_lost) {
    if (!salvaged->was_damaged) {
        (void)printf("%s: the journal is fine; nothing has been changed\n", journal_path);
        return;
    }
    (void)printf("%s: carried over %u keys and %u jobs, %u of which go on at the next start\n",
                 journal_path, salvaged->n_keys, salvaged->n_jobs, salvaged->n_open);
    (void)printf("the damaged journal is kept as %s\n", salvaged->damaged_file);
    if (salvaged->n_lost == 0) {
        (void)printf("no job is known to be lost\n");
        return;
    }
    (void)printf("%u jobs are not whole any more and have failed, to be submitted again:",
                 salvaged->n_lost);
    for (uint32_t i = 0; i < n_lost; i++) {
        (void)printf(" %" PRIu64, lost[i]);
    }
    (void)printf("%s\n", salvaged->n_lost > n_lost ? " ..." : "");
}

int pm_daemon_salvage(const struct pm_daemon_options *options,
                      const struct pm_daemon_environment *environment) {
    struct pm_config config;
    pm_engine_salvaged salvaged = {.struct_bytes = sizeof salvaged};
    uint64_t lost[LOST_MAX];
    uint32_t n_lost = LOST_MAX;
    pm_error error = PM_ERROR_INIT;
    pm_status status = pm_daemon_load_config(options, environment, &config, &error);
    if (status != PM_OK) {
        return pm_daemon_say_error(status, &error);
    }
    status = pm_engine_salvage(config.journal_path, &salvaged, lost, &n_lost, &error);
    if (status == PM_OK) {
        tell(config.journal_path, &salvaged, lost, n_lost);
    }
    pm_config_free(&config);
    return status == PM_OK ? 0 : pm_daemon_say_error(status, &error);
}
