/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/control.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* The part of the caller's struct that the caller knows, the rest zero. NULL is a struct of zeros.
 */
static pm_control read_control(const pm_control *theirs) {
    pm_control ours = {0};
    if (theirs != NULL) {
        memcpy(&ours, theirs,
               theirs->struct_bytes < sizeof ours ? theirs->struct_bytes : sizeof ours);
    }
    return ours;
}

static bool is_cancelled(const pm_control *control) {
    return control->cancel != NULL && __atomic_load_n(control->cancel, __ATOMIC_RELAXED) != 0;
}

static bool is_past_deadline(const pm_control *control) {
    return control->deadline_ns != 0 && pm_clock_now_ns() >= control->deadline_ns;
}

bool pm_control_stopped(const pm_control *control) {
    const pm_control known = read_control(control);
    return is_cancelled(&known) || is_past_deadline(&known);
}

pm_status pm_control_check(const pm_control *control, pm_error *error) {
    const pm_control known = read_control(control);
    PM_FAIL_IF(is_cancelled(&known), error, PM_CANCELLED, "cancelled by the caller");
    PM_FAIL_IF(is_past_deadline(&known), error, PM_DEADLINE, "the deadline passed");
    return PM_OK;
}

pm_status pm_control_stop_status(const pm_control *control, pm_error *error) {
    PM_TRY(pm_control_check(control, error));
    PM_FAIL(error, PM_CANCELLED, "cancelled by the caller");
}

void pm_control_progress(const pm_control *control, const char *phase, uint64_t done,
                         uint64_t total) {
    const pm_control known = read_control(control);
    if (known.progress != NULL) {
        known.progress(known.user, phase, done, total);
    }
}

void pm_control_log(const pm_control *control, pm_log_level level, const char *format, ...) {
    const pm_control known = read_control(control);
    if (known.log == NULL) {
        return;
    }
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    known.log(known.user, level, sentence);
}
