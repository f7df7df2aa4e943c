/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Three stages, so that nothing is visible before everything is complete:
 *   1. stage   each replaced target's contents into an unnamed or temporary file beside it, synced
 *   2. straight  what cannot be replaced is written
 *   3. publish   the staged files get their names
 */
#include "io/output.h"

#include "base/memory.h"
#include "io/staged.h"
#include "io/target.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes handed to one write(2). */
#define WRITE_CALL_BYTES_MAX ((size_t)1 << 30)

struct staged {
    const pm_output *output;
    bool is_straight;
    struct pm_staged file; /* when straight: only its fd and, if there is one, its target */
};

static bool is_stdout_name(const char *path) {
    return strcmp(path, "-") == 0;
}

static pm_status fail_errno(const struct staged *staged, int reason, const char *what,
                            pm_error *error) {
    return pm_error_set_errno(error, PM_IO, reason, staged->file.path, what);
}

static pm_status write_fully(struct staged *staged, pm_error *error) {
    const char *bytes = staged->output->bytes;
    size_t left = staged->output->n_bytes;
    while (left > 0) {
        const ssize_t n = write(staged->file.fd, bytes,
                                left < WRITE_CALL_BYTES_MAX ? left : WRITE_CALL_BYTES_MAX);
        if (n < 0 && errno != EINTR) {
            return fail_errno(staged, errno, "cannot write", error);
        }
        if (n > 0) {
            bytes += n;
            left -= (size_t)n;
        }
    }
    return PM_OK;
}

static pm_status stage(struct staged *staged, pm_error *error) {
    PM_TRY(pm_staged_open(&staged->file, O_WRONLY, error));
    PM_TRY(write_fully(staged, error));
    return pm_staged_sync(&staged->file, error);
}

/* All get temporary names before the first target is touched: only renames are left to fail. */
static pm_status publish(struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].is_straight) {
            PM_TRY(pm_staged_name(&all[i].file, error));
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].is_straight) {
            PM_TRY(pm_staged_rename(&all[i].file, error));
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].is_straight) {
            pm_staged_sync_directory(&all[i].file);
        }
    }
    return PM_OK;
}

static bool is_what_stdout_is(const struct pm_target *target) {
    struct stat facts;
    return target->exists && fstat(STDOUT_FILENO, &facts) == 0 &&
           facts.st_dev == target->facts.st_dev && facts.st_ino == target->facts.st_ino;
}

static pm_status prepare(struct staged *staged, const pm_output *output, pm_error *error) {
    *staged = (struct staged){.output = output, .file = {.path = output->path, .fd = -1}};
    if (is_stdout_name(output->path)) {
        staged->file.path = "standard output";
        staged->is_straight = true;
        staged->file.fd = STDOUT_FILENO;
        return PM_OK;
    }
    PM_TRY(pm_target_resolve(output->path, &staged->file.target, error));
    if (!staged->file.target.exists || S_ISREG(staged->file.target.facts.st_mode)) {
        /* "/dev/stdout" with standard output in a file: replacing that file would leave whoever
         * redirected us with the old one. */
        staged->is_straight = is_what_stdout_is(&staged->file.target);
        staged->file.fd = staged->is_straight ? STDOUT_FILENO : -1;
        return PM_OK;
    }
    if (S_ISDIR(staged->file.target.facts.st_mode)) {
        return fail_errno(staged, EISDIR, "cannot write to", error);
    }
    staged->is_straight = true;
    if (is_what_stdout_is(&staged->file.target)) {
        staged->file.fd = STDOUT_FILENO;
        return PM_OK;
    }
    staged->file.fd = pm_staged_open_retrying(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);
    return staged->file.fd >= 0 ? PM_OK : fail_errno(staged, errno, "cannot open", error);
}

static bool is_regular(const struct pm_target *target) {
    return !target->exists || S_ISREG(target->facts.st_mode) || S_ISDIR(target->facts.st_mode);
}

static pm_status refuse_twins(const struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 1; i < n; ++i) {
        for (size_t k = 0; k < i; ++k) {
            const bool are_stdout =
                all[i].file.fd == STDOUT_FILENO && all[k].file.fd == STDOUT_FILENO;
            const bool have_targets =
                all[i].file.target.base != NULL && all[k].file.target.base != NULL;
            if (are_stdout || (have_targets && is_regular(&all[i].file.target) &&
                               pm_target_is_same(&all[i].file.target, &all[k].file.target))) {
                pm_error_set(error, PM_INVALID_ARGUMENT, "two outputs have one name: %s and %s",
                             all[k].output->path, all[i].output->path);
                pm_error_at(error, all[i].output->path, PM_NO_OFFSET);
                return PM_INVALID_ARGUMENT;
            }
        }
    }
    return PM_OK;
}

static void clean_up(struct staged *all, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (all[i].file.fd == STDOUT_FILENO) {
            all[i].file.fd = -1;
        }
        pm_staged_close(&all[i].file);
    }
}

static pm_status write_straight(struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        if (all[i].is_straight) {
            PM_TRY(write_fully(&all[i], error));
        }
    }
    return PM_OK;
}

static pm_status write_staged(struct staged *all, size_t n, const sigset_t *old_mask,
                              const sigset_t *pipe_mask, pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].is_straight) {
            PM_TRY(stage(&all[i], error));
        }
    }
    /* A reader may keep us waiting for ever, so this part can be interrupted. */
    sigset_t all_blocked;
    (void)pthread_sigmask(SIG_SETMASK, old_mask, &all_blocked);
    (void)pthread_sigmask(SIG_BLOCK, pipe_mask, NULL);
    const pm_status status = write_straight(all, n, error);
    (void)pthread_sigmask(SIG_SETMASK, &all_blocked, NULL);
    PM_TRY(status);
    return publish(all, n, error);
}

pm_status pm_output_write_all(const pm_output *outputs, size_t n_outputs, pm_error *error) {
    void *memory = NULL;
    PM_TRY(pm_memory_alloc_array(NULL, "the list of outputs", n_outputs, sizeof(struct staged),
                                 PM_MEMORY_PLAIN, &memory, error));
    struct staged *all = memory;
    sigset_t blocked, old_mask, pipe_mask, pending;
    (void)sigemptyset(&pipe_mask);
    (void)sigaddset(&pipe_mask, SIGPIPE);
    pm_staged_signals(&blocked);
    (void)sigaddset(&blocked, SIGPIPE);
    (void)sigpending(&pending);
    const bool had_pipe_signal = sigismember(&pending, SIGPIPE) == 1;

    pm_status status = PM_OK;
    size_t n_prepared = 0;
    for (; n_prepared < n_outputs && status == PM_OK; ++n_prepared) {
        status = prepare(&all[n_prepared], &outputs[n_prepared], error);
    }
    if (status == PM_OK) {
        status = refuse_twins(all, n_outputs, error);
    }
    if (status == PM_OK) {
        (void)pthread_sigmask(SIG_BLOCK, &blocked, &old_mask);
        status = write_staged(all, n_outputs, &old_mask, &pipe_mask, error);
        clean_up(all, n_prepared);
        /* The SIGPIPE of our own write is taken back: its error has been reported. */
        if (!had_pipe_signal) {
            const struct timespec now = {0};
            while (sigtimedwait(&pipe_mask, NULL, &now) < 0 && errno == EINTR) {
            }
        }
        (void)pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    } else {
        clean_up(all, n_prepared);
    }
    pm_memory_free(memory);
    return status;
}

static pm_status refuse_same(const char *output, const char *other, const char *what,
                             pm_error *error) {
    pm_error_set(error, PM_SAME_FILE, "the output %s is the same file as the %s %s", output, what,
                 other);
    pm_error_at(error, output, PM_NO_OFFSET);
    return PM_SAME_FILE;
}

/* Compares one output with names[0 .. n). */
static pm_status compare_with(const char *output, const struct pm_target *target,
                              const char *const *names, size_t n, const char *what,
                              pm_error *error) {
    struct pm_target other;
    for (size_t i = 0; i < n; ++i) {
        if (is_stdout_name(names[i]) || pm_target_resolve(names[i], &other, NULL) != PM_OK) {
            continue;
        }
        if (is_regular(&other) && pm_target_is_same(target, &other)) {
            return refuse_same(output, names[i], what, error);
        }
    }
    return PM_OK;
}

pm_status pm_output_distinct(const char *const *inputs, size_t n_inputs, const char *const *outputs,
                             size_t n_outputs, pm_error *error) {
    struct pm_target target;
    for (size_t i = 0; i < n_outputs; ++i) {
        if (is_stdout_name(outputs[i]) || pm_target_resolve(outputs[i], &target, NULL) != PM_OK) {
            continue;
        }
        PM_TRY(compare_with(outputs[i], &target, inputs, n_inputs, "input", error));
        PM_TRY(compare_with(outputs[i], &target, outputs, i, "output", error));
    }
    return PM_OK;
}
