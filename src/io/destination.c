/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes handed to one write(2). */
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

/* How often a FIFO is looked at for a reader. */
#define READER_WAIT_NS 20000000L

/*
 * Opens what is not a regular file. A FIFO that nobody reads would hold open(2) for ever, and us in
 * it, so it is asked again and again; a signal that is handled ends the waiting with EINTR.
 */
static int open_straight(const char *path) {
    for (;;) {
        const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0) {
            const int flags = fcntl(fd, F_GETFL);
            if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) {
                const int reason = errno;
                (void)close(fd);
                errno = reason;
                return -1;
            }
            return fd;
        }
        const struct timespec wait = {.tv_nsec = READER_WAIT_NS};
        if (errno == ENXIO ? nanosleep(&wait, NULL) != 0 : errno != EINTR) {
            return -1;
        }
    }
}

pm_status pm_destination_resolve(const char *path, struct pm_destination *destination,
                                 pm_error *error) {
    *destination = (struct pm_destination){.file = {.path = path, .fd = -1}};
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
    file->fd = open_straight(path);
    return file->fd >= 0 ? PM_OK : fail_errno(destination, errno, "cannot open", error);
}

static pm_status write_fully(struct pm_destination *destination, const char *bytes, size_t left,
                             pm_error *error) {
    while (left > 0) {
        const ssize_t n = write(destination->file.fd, bytes,
                                left < WRITE_CALL_BYTES_MAX ? left : WRITE_CALL_BYTES_MAX);
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
