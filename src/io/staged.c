/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/staged.h"

#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define TEMPORARY_NAME_TRIES 16

static pm_status fail_errno(const struct pm_staged *staged, int reason, const char *what,
                            pm_error *error) {
    return pm_error_set_errno(error, PM_IO, reason, staged->path, what);
}

int pm_staged_open_retrying(const char *path, int flags, mode_t mode) {
    int fd;
    do {
        fd = open(path, flags, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

int pm_staged_fsync_retrying(int fd) {
    int failed;
    do {
        failed = fsync(fd);
    } while (failed != 0 && errno == EINTR);
    return failed;
}

void pm_staged_signals(sigset_t *signals) {
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGINT);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGHUP);
}

static pm_status name_temporary(struct pm_staged *staged, pm_error *error) {
    uint64_t random = 0;
    PM_TRY(pm_random_bytes(&random, sizeof random, error));
    const int n = snprintf(staged->temporary, sizeof staged->temporary, "%s/.proofmill.%016llx",
                           staged->target.directory, (unsigned long long)random);
    return n > 0 && (size_t)n < sizeof staged->temporary
               ? PM_OK
               : fail_errno(staged, ENAMETOOLONG, "cannot create a temporary file", error);
}

/* The fallback where the file system or the kernel knows no unnamed files. */
static pm_status open_temporary(struct pm_staged *staged, int access_mode, pm_error *error) {
    for (int tries = 0; tries < TEMPORARY_NAME_TRIES; ++tries) {
        PM_TRY(name_temporary(staged, error));
        staged->fd = pm_staged_open_retrying(staged->temporary,
                                             access_mode | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (staged->fd >= 0) {
            staged->has_temporary = true;
            return PM_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return fail_errno(staged, errno, "cannot create a file beside the target", error);
}

pm_status pm_staged_open(struct pm_staged *staged, int access_mode, pm_error *error) {
    const struct pm_target *target = &staged->target;
    staged->fd = -1;
    staged->has_temporary = false;
    if (target->exists && faccessat(AT_FDCWD, target->path, W_OK, AT_EACCESS) != 0) {
        return fail_errno(staged, errno, "cannot write to", error);
    }
    /* Giving an unnamed file its name goes through /proc. */
    if (access("/proc/self/fd", X_OK) == 0) {
        staged->fd =
            pm_staged_open_retrying(target->directory, O_TMPFILE | access_mode | O_CLOEXEC, 0666);
    }
    if (staged->fd < 0) {
        PM_TRY(open_temporary(staged, access_mode, error));
    }
    if (target->exists && fchmod(staged->fd, target->facts.st_mode & 0777) != 0) {
        return fail_errno(staged, errno, "cannot set the permissions of", error);
    }
    return PM_OK;
}

/* File systems that have nothing to sync say EINVAL, and read-only ones EROFS. */
static bool is_harmless_sync_failure(int reason) {
    return reason == EINVAL || reason == EROFS || reason == ENOTSUP;
}

void pm_staged_start_sync(const struct pm_staged *staged) {
    (void)sync_file_range(staged->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

pm_status pm_staged_sync(struct pm_staged *staged, pm_error *error) {
    if (pm_staged_fsync_retrying(staged->fd) != 0 && !is_harmless_sync_failure(errno)) {
        return fail_errno(staged, errno, "cannot sync", error);
    }
    return PM_OK;
}

/* An unnamed file cannot take the name of an existing one, so it gets a temporary name first. */
pm_status pm_staged_name(struct pm_staged *staged, pm_error *error) {
    if (staged->has_temporary) {
        return PM_OK;
    }
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", staged->fd);
    for (int tries = 0; tries < TEMPORARY_NAME_TRIES; ++tries) {
        PM_TRY(name_temporary(staged, error));
        if (linkat(AT_FDCWD, self, AT_FDCWD, staged->temporary, AT_SYMLINK_FOLLOW) == 0) {
            staged->has_temporary = true;
            return PM_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return fail_errno(staged, errno, "cannot name the file written beside the target", error);
}

pm_status pm_staged_rename(struct pm_staged *staged, pm_error *error) {
    if (rename(staged->temporary, staged->target.path) != 0) {
        return fail_errno(staged, errno, "cannot replace", error);
    }
    staged->has_temporary = false;
    return PM_OK;
}

void pm_staged_sync_directory(const struct pm_staged *staged) {
    const int fd =
        pm_staged_open_retrying(staged->target.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        (void)pm_staged_fsync_retrying(fd);
        (void)close(fd);
    }
}

void pm_staged_close(struct pm_staged *staged) {
    if (staged->has_temporary) {
        (void)unlink(staged->temporary);
        staged->has_temporary = false;
    }
    if (staged->fd >= 0) {
        (void)close(staged->fd);
        staged->fd = -1;
    }
}
