/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes handed to one write(2) of a regular file. */
#define WRITE_CALL_BYTES_MAX ((size_t)1 << 30)

bool pm_destination_is_stdout_name(const char *path) {
    return strcmp(path, "-") == 0;
}

static pm_status fail_errno(const struct pm_destination *destination, int reason, const char *what,
                            pm_error *error) {
    return pm_error_set_errno(error, PM_IO, reason, destination->file.path, what);
}

static bool is_what_stdout_is(const struct pm_target *target) {
    struct stat facts;
    return target->exists && fstat(STDOUT_FILENO, &facts) == 0 &&
           facts.st_dev == target->facts.st_dev && facts.st_ino == target->facts.st_ino;
}

/* How often the control is looked at while a reader keeps us waiting. */
#define READER_WAIT_MS 20

/*
 * Opens what is not a regular file. A FIFO that nobody reads would hold open(2) for ever, and us in
 * it, so it is asked again and again. That a signal interrupts the sleep is not enough to end the
 * waiting: one that comes a moment earlier or later interrupts nothing.
 */
static pm_status open_straight(struct pm_destination *destination, pm_error *error) {
    const char *path = destination->file.path;
    for (;;) {
        const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0) {
            destination->file.fd = fd;
            const int flags = fcntl(fd, F_GETFL);
            return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) >= 0
                       ? PM_OK
                       : fail_errno(destination, errno, "cannot open", error);
        }
        if (errno == ENXIO) {
            PM_TRY(pm_control_check(destination->control, error));
            if (poll(NULL, 0, READER_WAIT_MS) == 0 || destination->control != NULL) {
                continue;
            }
        } else if (errno == EINTR) {
            continue;
        }
        return fail_errno(destination, errno, "cannot open", error);
    }
}

/* Where a reader may keep us waiting, a write of more than PIPE_BUF bytes could wait although
 * poll(2) said that there is room. */
static void choose_write_bytes(struct pm_destination *destination) {
    struct stat facts;
    const bool may_wait = destination->is_straight &&
                          (fstat(destination->file.fd, &facts) != 0 || !S_ISREG(facts.st_mode));
    destination->write_bytes_max = may_wait ? PIPE_BUF : WRITE_CALL_BYTES_MAX;
}

static pm_status resolve(const char *path, struct pm_destination *destination, pm_error *error) {
    struct pm_staged *file = &destination->file;
    if (pm_destination_is_stdout_name(path)) {
        file->path = "standard output";
        destination->is_straight = true;
        file->fd = STDOUT_FILENO;
        return PM_OK;
    }
    PM_TRY(pm_target_resolve(path, &file->target, error));
    if (!file->target.exists || S_ISREG(file->target.facts.st_mode)) {
        /* "/dev/stdout" with standard output in a file: replacing that file would leave whoever
         * redirected us with the old one. */
        destination->is_straight = is_what_stdout_is(&file->target);
        file->fd = destination->is_straight ? STDOUT_FILENO : -1;
        return PM_OK;
    }
    if (S_ISDIR(file->target.facts.st_mode)) {
        return fail_errno(destination, EISDIR, "cannot write to", error);
    }
    destination->is_straight = true;
    if (is_what_stdout_is(&file->target)) {
        file->fd = STDOUT_FILENO;
        return PM_OK;
    }
    return open_straight(destination, error);
}

pm_status pm_destination_resolve(const char *path, const pm_control *control,
                                 struct pm_destination *destination, pm_error *error) {
    *destination = (struct pm_destination){.control = control, .file = {.path = path, .fd = -1}};
    PM_TRY(resolve(path, destination, error));
    choose_write_bytes(destination);
    return PM_OK;
}

/* Until a write of PIPE_BUF bytes would not wait, or would fail. */
static pm_status await_room(const struct pm_destination *destination, pm_error *error) {
    struct pollfd room = {.fd = destination->file.fd, .events = POLLOUT};
    int n_ready = 0;
    while (n_ready == 0) {
        PM_TRY(pm_control_check(destination->control, error));
        n_ready = poll(&room, 1, READER_WAIT_MS);
        if (n_ready < 0 && errno != EINTR) {
            return PM_OK; /* what cannot be polled is written to as it is */
        }
        n_ready = n_ready < 0 ? 0 : n_ready;
    }
    return PM_OK;
}

static pm_status write_fully(struct pm_destination *destination, const char *bytes, size_t left,
                             pm_error *error) {
    const size_t max_bytes = destination->write_bytes_max;
    while (left > 0) {
        if (max_bytes == PIPE_BUF) {
            PM_TRY(await_room(destination, error));
        }
        const ssize_t n = write(destination->file.fd, bytes, left < max_bytes ? left : max_bytes);
        if (n < 0 && errno != EINTR) {
            return fail_errno(destination, errno, "cannot write", error);
        }
        if (n > 0) {
            bytes += n;
            left -= (size_t)n;
        }
    }
    return PM_OK;
}

pm_status pm_destination_append(struct pm_destination *destination, const void *bytes,
                                size_t n_bytes, pm_error *error) {
    if (!destination->is_straight) {
        return write_fully(destination, bytes, n_bytes, error);
    }
    sigset_t pipe_mask, old_mask, pending;
    (void)sigemptyset(&pipe_mask);
    (void)sigaddset(&pipe_mask, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_mask, &old_mask);
    const pm_status status = write_fully(destination, bytes, n_bytes, error);
    /* The SIGPIPE of our own write is taken back: its error has been reported. */
    if (sigismember(&pending, SIGPIPE) != 1) {
        const struct timespec now = {0};
        while (sigtimedwait(&pipe_mask, NULL, &now) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    return status;
}

void pm_destination_close(struct pm_destination *destination) {
    if (destination->file.fd == STDOUT_FILENO) {
        destination->file.fd = -1;
    }
    pm_staged_close(&destination->file);
}
