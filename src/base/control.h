/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/control.h - the inner side of pm_control: asked at step boundaries and inside long loops.
 *
 * pm_control_check() may be called from any thread and costs a load (and, when a deadline is set, a
 * clock read): call it every few milliseconds of work. Progress and log go out from the calling
 * thread of the public function only.
 */
#ifndef PM_BASE_CONTROL_H
#define PM_BASE_CONTROL_H

#include "base/status.h"

#include <stdbool.h>

/* PM_OK, PM_CANCELLED or PM_DEADLINE. control may be NULL. */
pm_status pm_control_check(const pm_control *control, pm_error *error);
/* The same question without a sentence, for inner loops. */
bool pm_control_stopped(const pm_control *control);

/* What a loop returns whose tasks saw pm_control_stopped() and left work undone: the control's own
 * reason, or PM_CANCELLED if the caller has taken the wish back since. Never PM_OK. */
pm_status pm_control_stop_status(const pm_control *control, pm_error *error);

/* Reports progress, unconditionally: the caller paces itself by step or by PM_PROGRESS_INTERVAL_MS.
 */
void pm_control_progress(const pm_control *control, const char *phase, uint64_t done,
                         uint64_t total);

__attribute__((format(printf, 3, 4))) void
pm_control_log(const pm_control *control, pm_log_level level, const char *format, ...);

#endif
