/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/client_view.h - what goes on in a daemon, as lines: for `status`, `jobs`, `key list`, and
 * `top`, whose frame is made from one answer and nothing else.
 */
#ifndef PM_DAEMON_CLIENT_VIEW_H
#define PM_DAEMON_CLIENT_VIEW_H

#include "daemon/client_common.h"

/* Each begins a table and adds its rows; the caller frees it. */
void pm_client_keys_table(Proofmill__V1__Key *const *keys, size_t n, bool with_paths,
                          struct pm_client_table *table);
void pm_client_jobs_table(Proofmill__V1__Job *const *jobs, size_t n, struct pm_client_table *table);
/* With a bar of bar_columns for what is reserved. */
void pm_client_pools_table(const Proofmill__V1__Status *status, uint32_t bar_columns,
                           struct pm_client_table *table);
/* before: an earlier answer, to tell how busy devices were in between_ms; NULL: none. */
void pm_client_devices_table(const Proofmill__V1__Status *status,
                             const Proofmill__V1__Status *before, uint64_t between_ms,
                             struct pm_client_table *table);
/* "[####......]"; total 0: an empty text. */
#define PM_CLIENT_BAR_CHARS 64
const char *pm_client_bar(uint64_t part, uint64_t total, uint32_t n_columns,
                          char text[PM_CLIENT_BAR_CHARS]);

/* Version, address, uptime and counts: a line each, and one for each thing that is wrong. */
void pm_client_view_head(const Proofmill__V1__Status *status, const char *address,
                         struct pm_client_text *text);

struct pm_client_frame {
    const char *address;
    const Proofmill__V1__Status *status; /* NULL: there is none yet */
    const Proofmill__V1__Status *before; /* as above */
    uint64_t between_ms;
    Proofmill__V1__Job *const *jobs; /* that have not ended */
    size_t n_jobs;
    const char *error;      /* why the daemon has not answered the last time; "": it has */
    const char *foot;       /* the last line; "": none */
    uint32_t columns, rows; /* of the terminal; rows 0: as many as it takes */
};
/* Lines of at most frame->columns columns, at most frame->rows of them. */
void pm_client_frame_write(const struct pm_client_frame *frame, struct pm_client_text *text);

#endif
