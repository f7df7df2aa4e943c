/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_progress.c - one line on the terminal while the work takes longer than a second. */
#include "cli/cli.h"

#include <stdio.h>

/* Work that is done sooner leaves no trace on the terminal. */
#define QUIET_NS UINT64_C(1000000000)

/* "42 s", "3 min 05 s", "2 h 07 min". */
static void format_time(char *out, size_t n_out, double seconds) {
    uint64_t whole = seconds > 0 ? (uint64_t)seconds : 0;
    if (whole < 60) {
        (void)snprintf(out, n_out, "%u s", (unsigned)whole);
    } else if (whole < 3600) {
        (void)snprintf(out, n_out, "%u min %02u s", (unsigned)(whole / 60), (unsigned)(whole % 60));
    } else {
        (void)snprintf(out, n_out, "%u h %02u min", (unsigned)(whole / 3600),
                       (unsigned)(whole / 60 % 60));
    }
}

/* The library paces the calls: about ten a second. What is left is told from the count that is
 * running, which may go through several phases; a smaller count or another total begins the next.
 */
void pm_cli_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct pm_cli *cli = user;
    uint64_t now_ns = pm_cli_now_ns();
    if (cli->progress_total != total || done < cli->progress_done) {
        cli->progress_start_ns = now_ns;
    }
    cli->progress_done = done;
    cli->progress_total = total;
    if (now_ns - cli->start_ns < QUIET_NS || total == 0) {
        return;
    }
    char elapsed[32], left[48] = "";
    double counted_s = (double)(now_ns - cli->progress_start_ns) / 1e9;
    format_time(elapsed, sizeof elapsed, (double)(now_ns - cli->start_ns) / 1e9);
    if (done > 0 && done < total && counted_s > 0.5) {
        char rest[32];
        format_time(rest, sizeof rest, counted_s * (double)(total - done) / (double)done);
        (void)snprintf(left, sizeof left, ", about %s left", rest);
    }
    /* Return to the first column and clear to the end of the line. */
    (void)fprintf(stderr, "\r\033[K%s %3u %%  (%s%s)", phase,
                  (unsigned)(100.0 * (double)done / (double)total), elapsed, left);
    (void)fflush(stderr);
    cli->drawn = true;
}

void pm_cli_progress_clear(struct pm_cli *cli) {
    if (cli->drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        cli->drawn = false;
    }
}
