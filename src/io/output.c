/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Three stages, so that nothing is visible before everything is complete:
 *   1. stage   each replaced target's contents into an unnamed or temporary file beside it, synced
 *   2. straight  what cannot be replaced is written
 *   3. publish   the staged files get their names
 */
#include "io/output.h"

#include "base/memory.h"
#include "io/destination.h"
#include "io/target.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

struct staged {
    const pm_output *output;
    struct pm_destination to;
};

static pm_status append_all(struct staged *staged, pm_error *error) {
    return pm_destination_append(&staged->to, staged->output->bytes, staged->output->n_bytes,
                                 error);
}

/* Contents first, syncs afterwards: where a file system has a journal, one commit of it then serves
 * all files. */
static pm_status stage_all(struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].to.is_straight) {
            PM_TRY(pm_staged_open(&all[i].to.file, O_WRONLY, error));
            PM_TRY(append_all(&all[i], error));
            pm_staged_start_sync(&all[i].to.file);
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].to.is_straight) {
            PM_TRY(pm_staged_sync(&all[i].to.file, error));
        }
    }
    return PM_OK;
}

/* Outputs that lie side by side share one sync of their directory. */
static bool directory_comes_later(const struct staged *all, size_t i, size_t n) {
    const struct stat *here = &all[i].to.file.target.directory_facts;
    for (size_t k = i + 1; k < n; ++k) {
        const struct stat *there = &all[k].to.file.target.directory_facts;
        if (!all[k].to.is_straight && here->st_dev == there->st_dev &&
            here->st_ino == there->st_ino) {
            return true;
        }
    }
    return false;
}

/* All get temporary names before the first target is touched: only renames are left to fail. */
static pm_status publish(struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].to.is_straight) {
            PM_TRY(pm_staged_name(&all[i].to.file, error));
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].to.is_straight) {
            PM_TRY(pm_staged_rename(&all[i].to.file, error));
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (!all[i].to.is_straight && !directory_comes_later(all, i, n)) {
            pm_staged_sync_directory(&all[i].to.file);
        }
    }
    return PM_OK;
}

static bool is_regular(const struct pm_target *target) {
    return !target->exists || S_ISREG(target->facts.st_mode) || S_ISDIR(target->facts.st_mode);
}

static pm_status refuse_twins(const struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 1; i < n; ++i) {
        for (size_t k = 0; k < i; ++k) {
            const bool are_stdout =
                all[i].to.file.fd == STDOUT_FILENO && all[k].to.file.fd == STDOUT_FILENO;
            const bool have_targets =
                all[i].to.file.target.base != NULL && all[k].to.file.target.base != NULL;
            if (are_stdout || (have_targets && is_regular(&all[i].to.file.target) &&
                               pm_target_is_same(&all[i].to.file.target, &all[k].to.file.target))) {
                pm_error_set(error, PM_INVALID_ARGUMENT, "two outputs have one name: %s and %s",
                             all[k].output->path, all[i].output->path);
                pm_error_at(error, all[i].output->path, PM_NO_OFFSET);
                return PM_INVALID_ARGUMENT;
            }
        }
    }
    return PM_OK;
}

static pm_status write_straight(struct staged *all, size_t n, pm_error *error) {
    for (size_t i = 0; i < n; ++i) {
        if (all[i].to.is_straight) {
            PM_TRY(append_all(&all[i], error));
        }
    }
    return PM_OK;
}

static pm_status write_staged(struct staged *all, size_t n, const sigset_t *old_mask,
                              pm_error *error) {
    PM_TRY(stage_all(all, n, error));
    /* A reader may keep us waiting for ever, so this part can be interrupted. */
    sigset_t all_blocked;
    (void)pthread_sigmask(SIG_SETMASK, old_mask, &all_blocked);
    const pm_status status = write_straight(all, n, error);
    (void)pthread_sigmask(SIG_SETMASK, &all_blocked, NULL);
    PM_TRY(status);
    return publish(all, n, error);
}

static void close_all(struct staged *all, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        pm_destination_close(&all[i].to);
    }
}

pm_status pm_output_write_all(const pm_output *outputs, size_t n_outputs, const pm_control *control,
                              pm_error *error) {
    void *memory = NULL;
    PM_TRY(pm_memory_alloc_array(NULL, "the list of outputs", n_outputs, sizeof(struct staged),
                                 PM_MEMORY_PLAIN, &memory, error));
    struct staged *all = memory;
    pm_status status = PM_OK;
    size_t n_resolved = 0;
    for (; n_resolved < n_outputs && status == PM_OK; ++n_resolved) {
        all[n_resolved].output = &outputs[n_resolved];
        status =
            pm_destination_resolve(outputs[n_resolved].path, control, &all[n_resolved].to, error);
    }
    if (status == PM_OK) {
        status = refuse_twins(all, n_outputs, error);
    }
    if (status == PM_OK) {
        sigset_t blocked, old_mask;
        pm_staged_signals(&blocked);
        (void)pthread_sigmask(SIG_BLOCK, &blocked, &old_mask);
        status = write_staged(all, n_outputs, &old_mask, error);
        close_all(all, n_resolved);
        (void)pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    } else {
        close_all(all, n_resolved);
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

/* What a name stands for; "-" is what `stream` is open on. False when there is nothing to compare:
 * no such folder, or a stream that is closed or no regular file. */
static bool resolve_name(const char *name, int stream, struct pm_target *target) {
    if (!pm_destination_is_stdout_name(name)) {
        return pm_target_resolve(name, target, NULL) == PM_OK;
    }
    *target = (struct pm_target){.exists = true};
    return fstat(stream, &target->facts) == 0 && S_ISREG(target->facts.st_mode);
}

/* Compares one output with names[0 .. n). */
static pm_status compare_with(const char *output, const struct pm_target *target,
                              const char *const *names, size_t n, int stream, const char *what,
                              pm_error *error) {
    struct pm_target other;
    for (size_t i = 0; i < n; ++i) {
        if (resolve_name(names[i], stream, &other) && is_regular(&other) &&
            pm_target_is_same(target, &other)) {
            return refuse_same(output, names[i], what, error);
        }
    }
    return PM_OK;
}

pm_status pm_output_distinct(const char *const *inputs, size_t n_inputs, const char *const *outputs,
                             size_t n_outputs, pm_error *error) {
    struct pm_target target;
    for (size_t i = 0; i < n_outputs; ++i) {
        if (!resolve_name(outputs[i], STDOUT_FILENO, &target)) {
            continue;
        }
        PM_TRY(compare_with(outputs[i], &target, inputs, n_inputs, STDIN_FILENO, "input", error));
        PM_TRY(compare_with(outputs[i], &target, outputs, i, STDOUT_FILENO, "output", error));
    }
    return PM_OK;
}
