/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/staged.h - a file that is written beside its target and gets the target's name when it is
 * complete.
 *
 * Where the system can, the file has no name until then, so that nothing has to be cleaned up after
 * a process that was killed. Elsewhere it has a temporary name: ".proofmill." and 16 hex digits.
 */
#ifndef PM_IO_STAGED_H
#define PM_IO_STAGED_H

#include "base/status.h"
#include "io/target.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct pm_staged {
    const char *path;        /* of the target as the caller gave it, borrowed, for messages */
    struct pm_target target; /* resolved by the owner before pm_staged_open() */
    int fd;                  /* -1: none */
    bool has_temporary;      /* temporary names a file that must not stay */
    char temporary[PATH_MAX];
};

/* open(2) and fsync(2), begun again when a signal interrupts them: where the file system is a
 * network's, or the target a FIFO. */
int pm_staged_open_retrying(const char *path, int flags, mode_t mode);
int pm_staged_fsync_retrying(int fd);

/*
 * Creates the file beside staged->target, which is a regular file or does not exist: an existing
 * target must be writable, and its permission bits are taken over; another gets 0666 less the
 * umask. access_mode: O_WRONLY or O_RDWR. pm_staged_close() is due whatever the result. Errors: IO,
 * NO_RANDOM.
 */
pm_status pm_staged_open(struct pm_staged *staged, int access_mode, pm_error *error);
/* Has the system begin to write contents to the disk, and does not wait. pm_staged_sync() tells of
 * what goes wrong. */
void pm_staged_start_sync(const struct pm_staged *staged);
/* Syncs contents to the disk. A file system that has nothing to sync is fine. Errors: IO. */
pm_status pm_staged_sync(struct pm_staged *staged, pm_error *error);
/*
 * The two halves of publishing. Whoever publishes several files names all of them before the first
 * target is touched, so that only renames are left to fail. pm_staged_signals() are to be held back
 * from the first to the last. Errors: IO, NO_RANDOM.
 */
pm_status pm_staged_name(struct pm_staged *staged, pm_error *error);
pm_status pm_staged_rename(struct pm_staged *staged, pm_error *error);
/* Syncs the directory, as far as it can be: the file itself is safe. */
void pm_staged_sync_directory(const struct pm_staged *staged);
/* Removes the temporary name, if there is one, and closes the file. Idempotent. */
void pm_staged_close(struct pm_staged *staged);

/* The signals that must wait while temporary files have names: SIGINT, SIGTERM and SIGHUP. */
void pm_staged_signals(sigset_t *signals);

#endif
