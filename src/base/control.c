/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/control.h"

#include "base/clock.h"

#include <stdio.h>

static bool is_cancelled(const pm_control *control) {
    return control->cancel != NULL && __atomic_load_n(control->cancel, __ATOMIC_RELAXED) != 0;
}

static bool is_past_deadline(const pm_control *control) {
    return control->deadline_ns != 0 && pm_clock_now_ns() >= control->deadline_ns;
}

bool pm_control_stopped(const pm_control *control) {
    return control != NULL && (is_cancelled(control) || is_past_deadline(control));
}

pm_status pm_control_check(const pm_control *control, pm_error *error) {
    if (control == NULL) {
        return PM_OK;
    }
    PM_FAIL_IF(is_cancelled(control), error, PM_CANCELLED, "cancelled by the caller");
    PM_FAIL_IF(is_past_deadline(control), error, PM_DEADLINE, "the deadline passed");
    return PM_OK;
}

pm_status pm_control_stop_status(const pm_control *control, pm_error *error) {
    PM_TRY(pm_control_check(control, error));
    PM_FAIL(error, PM_CANCELLED, "cancelled by the caller");
}

void pm_control_progress(const pm_control *control, const char *phase, uint64_t done,
                         uint64_t total) {
    if (control != NULL && control->progress != NULL) {
        control->progress(control->user, phase, done, total);
    }
}

void pm_control_log(const pm_control *control, pm_log_level level, const char *format, ...) {
    if (control == NULL || control->log == NULL) {
        return;
    }
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    control->log(control->user, level, sentence);
}
