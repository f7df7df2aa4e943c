/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_view.c - tables of what goes on in a daemon, and the frame of `top`. */
#include "daemon/client_view.h"

#include <inttypes.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------------------------- */

static const char *size_or_none(uint64_t bytes, char text[PM_CLIENT_SIZE_CHARS]) {
    return bytes != 0 ? pm_client_size_text(bytes, text) : "";
}

void pm_client_keys_table(Proofmill__V1__Key *const *keys, size_t n, bool with_paths,
                          struct pm_client_table *table) {
    char size[PM_CLIENT_SIZE_CHARS], idle[PM_CLIENT_TIME_CHARS];
    pm_client_table_begin(table, 0x1f8,
                          with_paths ? "KEY|TIER|CURVE|DOMAIN|PUBLIC|USERS|MEMORY|A PROOF|IDLE|FILE"
                                     : "KEY|TIER|CURVE|DOMAIN|PUBLIC|USERS|MEMORY|A PROOF|IDLE");
    for (size_t i = 0; i < n; i++) {
        const Proofmill__V1__Key *key = keys[i];
        pm_client_table_cell(table, "%s", key->name);
        pm_client_table_cell(table, "%s", pm_client_tier_word(key->tier));
        const bool is_read = key->curve != PROOFMILL__V1__CURVE__CURVE_UNSPECIFIED;
        pm_client_table_cell(table, "%s", is_read ? pm_client_curve_word(key->curve) : "-");
        if (is_read) {
            pm_client_table_cell(table, "2^%u", key->log_n);
        } else {
            pm_client_table_cell(table, "-");
        }
        pm_client_table_cell(table, "%u", key->n_public);
        pm_client_table_cell(table, "%u", key->n_users);
        pm_client_table_cell(table, "%s", size_or_none(key->bytes, size));
        pm_client_table_cell(table, "%s", size_or_none(key->proof_bytes, size));
        pm_client_table_cell(table, "%s", pm_client_span_text(key->idle_ms, idle));
        if (with_paths) {
            const char *about = key->error[0] != '\0' ? key->error : key->warning;
            pm_client_table_cell(table, "%s%s%s", key->path, about[0] != '\0' ? ": " : "", about);
        }
    }
}

/* What is to be said of a job beside its state. */
static void about_job(const Proofmill__V1__Job *job, char *about, size_t n_about) {
    const uint32_t percent = pm_client_phase_percent(job);
    if (job->error[0] != '\0') {
        (void)snprintf(about, n_about, "%s", job->error);
    } else if (pm_client_has_ended(job)) {
        about[0] = '\0';
    } else if (job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_QUEUED) {
        (void)snprintf(about, n_about, "%u ahead%s%s", job->n_ahead,
                       job->waits_for[0] != '\0' ? ": " : "", job->waits_for);
    } else if (percent != UINT32_MAX) {
        (void)snprintf(about, n_about, "%s %u %%", job->phase, percent);
    } else {
        (void)snprintf(about, n_about, "%s", job->phase);
    }
}

void pm_client_jobs_table(Proofmill__V1__Job *const *jobs, size_t n,
                          struct pm_client_table *table) {
    char moment[PM_CLIENT_TIME_CHARS], took[PM_CLIENT_TIME_CHARS], about[512];
    pm_client_table_begin(table, 0x91,
                          "JOB|STATE|PRIORITY|KEY|PARTS|DEVICE|ACCEPTED|TIME|REQUEST ID|ABOUT");
    for (size_t i = 0; i < n; i++) {
        const Proofmill__V1__Job *job = jobs[i];
        about_job(job, about, sizeof about);
        pm_client_table_cell(table, "%" PRIu64, job->job);
        pm_client_table_cell(table, "%s", pm_client_state_word(job->state));
        pm_client_table_cell(table, "%s", pm_client_priority_word(job->priority));
        pm_client_table_cell(table, "%s", job->key);
        pm_client_table_cell(table, "%u/%u", job->n_parts_done, job->n_parts);
        pm_client_table_cell(table, "%s", job->device);
        pm_client_table_cell(table, "%s", pm_client_moment_text(job->accepted_unix_ms, moment));
        pm_client_table_cell(
            table, "%s", job->times != NULL ? pm_client_span_text(job->times->total_ms, took) : "");
        pm_client_table_cell(table, "%s", job->request_id);
        pm_client_table_cell(table, "%s", about);
    }
}

const char *pm_client_bar(uint64_t part, uint64_t total, uint32_t n_columns,
                          char text[PM_CLIENT_BAR_CHARS]) {
    if (total == 0 || n_columns == 0 || n_columns > PM_CLIENT_BAR_CHARS - 3) {
        text[0] = '\0';
        return text;
    }
    const double share = part >= total ? 1 : (double)part / (double)total;
    uint32_t n = (uint32_t)(share * n_columns + 0.5);
    n = n == 0 && part > 0 ? 1 : n; /* a little is not nothing */
    text[0] = '[';
    (void)memset(text + 1, '#', n);
    (void)memset(text + 1 + n, '.', n_columns - n);
    text[n_columns + 1] = ']';
    text[n_columns + 2] = '\0';
    return text;
}

void pm_client_pools_table(const Proofmill__V1__Status *status, uint32_t bar_columns,
                           struct pm_client_table *table) {
    char bar[PM_CLIENT_BAR_CHARS], size[PM_CLIENT_SIZE_CHARS];
    pm_client_table_begin(table, 0x3c, "MEMORY| |RESERVED|OF|USE|PEAK");
    for (size_t i = 0; i < status->n_pools; i++) {
        const Proofmill__V1__Pool *pool = status->pools[i];
        const bool is_counted = pool->total_bytes != 0;
        /* No device here has any, or none has asked for it. */
        if (strcmp(pool->name, "pinned") == 0 && !is_counted && pool->peak_bytes == 0) {
            continue;
        }
        pm_client_table_cell(table, "%s", pool->name);
        pm_client_table_cell(
            table, "%s", pm_client_bar(pool->reserved_bytes, pool->total_bytes, bar_columns, bar));
        pm_client_table_cell(table, "%s", pm_client_size_text(pool->reserved_bytes, size));
        pm_client_table_cell(table, "%s", size_or_none(pool->total_bytes, size));
        if (is_counted) {
            pm_client_table_cell(table, "%.0f %%",
                                 100.0 * (double)pool->reserved_bytes / (double)pool->total_bytes);
        } else {
            pm_client_table_cell(table, "%s", "");
        }
        pm_client_table_cell(table, "%s", pm_client_size_text(pool->peak_bytes, size));
    }
}

static const Proofmill__V1__Device *device_before(const Proofmill__V1__Status *before,
                                                  const char *name) {
    for (size_t i = 0; before != NULL && i < before->n_devices; i++) {
        if (strcmp(before->devices[i]->name, name) == 0) {
            return before->devices[i];
        }
    }
    return NULL;
}

/* "#12 #13", or why the device has no work. */
static void about_device(const Proofmill__V1__Device *device, struct pm_client_text *text) {
    if (device->is_quarantined) {
        pm_client_text_add(text, "given up: %s", device->error);
        return;
    }
    for (size_t i = 0; i < device->n_jobs && i < 16; i++) {
        pm_client_text_add(text, "%s#%" PRIu64, i > 0 ? " " : "", device->jobs[i]);
    }
}

void pm_client_devices_table(const Proofmill__V1__Status *status,
                             const Proofmill__V1__Status *before, uint64_t between_ms,
                             struct pm_client_table *table) {
    char busy[PM_CLIENT_TIME_CHARS];
    pm_client_table_begin(table, 0x3c, "DEVICE|MODEL|WORKERS|BUSY|PROOFS|FAULTS|JOBS");
    for (size_t i = 0; i < status->n_devices; i++) {
        const Proofmill__V1__Device *device = status->devices[i], *was;
        struct pm_client_text about = {0};
        was = device_before(before, device->name);
        about_device(device, &about);
        pm_client_table_cell(table, "%s", device->name);
        pm_client_table_cell(table, "%s", device->model);
        pm_client_table_cell(table, "%u/%u", device->n_busy, device->n_workers);
        if (was != NULL && between_ms != 0 && device->busy_ms >= was->busy_ms) {
            const double share = (double)(device->busy_ms - was->busy_ms) / (double)between_ms;
            pm_client_table_cell(table, "%.0f %%", share < 1 ? 100 * share : 100);
        } else {
            pm_client_table_cell(table, "%s", pm_client_span_text(device->busy_ms, busy));
        }
        pm_client_table_cell(table, "%" PRIu64, device->n_proofs);
        pm_client_table_cell(table, "%" PRIu64, device->n_faults);
        pm_client_table_cell(table, "%s", about.bytes != NULL ? about.bytes : "");
        table->is_short |= about.is_short;
        pm_client_text_free(&about);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The head
 * ------------------------------------------------------------------------------------------- */

void pm_client_view_head(const Proofmill__V1__Status *status, const char *address,
                         struct pm_client_text *text) {
    char version[64], where[256], uptime[PM_CLIENT_TIME_CHARS];
    char stored[PM_CLIENT_SIZE_CHARS], most[PM_CLIENT_SIZE_CHARS];
    pm_client_text_add(text, "proofmill %s at %s, up %s\n",
                       pm_client_printable(status->version, version, sizeof version),
                       pm_client_printable(address, where, sizeof where),
                       pm_client_span_text(status->uptime_ms, uptime));
    pm_client_text_add(text,
                       "jobs: %u running, %u queued; %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64
                       " cancelled; %" PRIu64 " proof%s; %u outcome%s kept\n",
                       status->n_running, status->n_queued, status->n_done, status->n_failed,
                       status->n_cancelled, status->n_proofs, status->n_proofs == 1 ? "" : "s",
                       status->n_kept, status->n_kept == 1 ? "" : "s");
    if (status->stored_bytes_max != 0) {
        pm_client_text_add(text, "inputs stored: %s of %s\n",
                           pm_client_size_text(status->stored_bytes, stored),
                           pm_client_size_text(status->stored_bytes_max, most));
    }
    if (status->is_draining) {
        pm_client_text_add(text, "DRAINING: the daemon takes no more jobs\n");
    }
    if (status->journal_is_failing) {
        pm_client_text_add(text, "THE JOURNAL FAILS: jobs are refused until it can be written\n");
    }
}

/* ---------------------------------------------------------------------------------------------
 * The frame
 * ------------------------------------------------------------------------------------------- */

/* Of the pools' bars: the terminal's width less what stands beside them. */
static uint32_t bar_columns(uint32_t columns) {
    return columns < 70 ? 10 : columns < 100 ? columns - 60 : 40;
}

enum { POOLS, DEVICES, JOBS, KEYS, N_TABLES };

/* Gives rows to the tables in turn, so that a long one takes what the short ones leave. */
static void share_rows(uint32_t n_rows, const size_t *wanted, size_t *given) {
    bool is_changed = true;
    while (is_changed && n_rows > 0) {
        is_changed = false;
        for (size_t i = 0; i < N_TABLES && n_rows > 0; i++) {
            if (given[i] < wanted[i]) {
                given[i]++;
                n_rows--;
                is_changed = true;
            }
        }
    }
}

/* Lines of text, which end with a newline each, cut at the frame's width. */
static void add_lines(const struct pm_client_frame *frame, const char *lines,
                      struct pm_client_text *text) {
    for (const char *line = lines; line != NULL && *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        struct pm_client_text one = {0};
        pm_client_text_add_bytes(&one, line, n);
        if (one.bytes != NULL) {
            pm_client_text_add_bytes(text, one.bytes,
                                     pm_client_bytes_of_columns(one.bytes, frame->columns));
            pm_client_text_add(text, "\n");
        }
        text->is_short |= one.is_short;
        pm_client_text_free(&one);
        line += n + (line[n] == '\n');
    }
}

static uint32_t count_lines(const struct pm_client_text *text) {
    uint32_t n = 0;
    for (size_t i = 0; i < text->n_bytes; i++) {
        n += text->bytes[i] == '\n';
    }
    return n;
}

static void add_tables(const struct pm_client_frame *frame, uint32_t n_left,
                       struct pm_client_text *text) {
    struct pm_client_table tables[N_TABLES];
    size_t wanted[N_TABLES] = {0}, given[N_TABLES] = {0};
    pm_client_pools_table(frame->status, bar_columns(frame->columns), &tables[POOLS]);
    pm_client_devices_table(frame->status, frame->before, frame->between_ms, &tables[DEVICES]);
    pm_client_jobs_table(frame->jobs, frame->n_jobs, &tables[JOBS]);
    pm_client_keys_table(frame->status->keys, frame->status->n_keys, false, &tables[KEYS]);
    /* A blank line, the heads, and at least one row of those that have any. */
    for (size_t i = 0; i < N_TABLES; i++) {
        const size_t n = pm_client_table_rows(&tables[i]);
        if (n > 0 && n_left >= 3) {
            wanted[i] = n;
            n_left -= 2;
        }
    }
    share_rows(frame->rows != 0 ? n_left : UINT32_MAX, wanted, given);
    for (size_t i = 0; i < N_TABLES; i++) {
        if (given[i] > 0) {
            pm_client_text_add(text, "\n");
            pm_client_table_write(&tables[i], given[i], frame->columns, text);
        }
        text->is_short |= tables[i].is_short;
        pm_client_table_free(&tables[i]);
    }
}

void pm_client_frame_write(const struct pm_client_frame *frame, struct pm_client_text *text) {
    struct pm_client_text head = {0};
    char sentence[512];
    const uint32_t n_foot = frame->foot[0] != '\0' ? 2 : 0;
    if (frame->status != NULL) {
        pm_client_view_head(frame->status, frame->address, &head);
    }
    if (frame->error[0] != '\0') {
        pm_client_text_add(&head, "%s\n",
                           pm_client_printable(frame->error, sentence, sizeof sentence));
    }
    add_lines(frame, head.bytes, text);
    text->is_short |= head.is_short;
    pm_client_text_free(&head);
    const uint32_t n_used = count_lines(text) + n_foot;
    const uint32_t n_left = frame->rows == 0       ? UINT32_MAX
                            : frame->rows > n_used ? frame->rows - n_used
                                                   : 0;
    if (frame->status != NULL) {
        add_tables(frame, n_left, text);
    }
    if (n_foot != 0) {
        pm_client_text_add(text, "\n");
        add_lines(frame, frame->foot, text);
    }
}
