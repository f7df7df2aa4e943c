/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/output_map.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static pm_status refuse_target(const char *path, const char *why, pm_error *error) {
    pm_error_set(error, PM_INVALID_ARGUMENT,
                 "%s: this output is written in place and must be a regular file", why);
    pm_error_at(error, path, PM_NO_OFFSET);
    return PM_INVALID_ARGUMENT;
}

static pm_status resolve(const char *path, struct pm_staged *staged, pm_error *error) {
    *staged = (struct pm_staged){.path = path, .fd = -1};
    if (strcmp(path, "-") == 0) {
        return refuse_target(path, "cannot write to standard output", error);
    }
    PM_TRY(pm_target_resolve(path, &staged->target, error));
    if (staged->target.exists && !S_ISREG(staged->target.facts.st_mode)) {
        return refuse_target(path,
                             S_ISDIR(staged->target.facts.st_mode) ? "it is a directory"
                                                                   : "it is a device or a pipe",
                             error);
    }
    return PM_OK;
}

/* posix_fallocate() writes into every block where the file system has no call for it. */
static int allocate_blocks(int fd, uint64_t n_bytes) {
    struct rlimit limit;
    if (n_bytes > INT64_MAX || (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                                limit.rlim_cur != RLIM_INFINITY && n_bytes > limit.rlim_cur)) {
        return EFBIG; /* asking the kernel would raise SIGXFSZ */
    }
    int reason;
    do {
        reason = posix_fallocate(fd, 0, (off_t)n_bytes);
    } while (reason == EINTR);
    return reason;
}

static pm_status fail_space(const char *path, uint64_t n_bytes, int reason, pm_error *error) {
    pm_error_set_errno(error, PM_IO, reason, path, "cannot allocate the output's blocks");
    pm_error_need_have(error, n_bytes, 0);
    return PM_IO;
}

static pm_status map_whole(struct pm_output_map *out, pm_error *error) {
    const int reason = allocate_blocks(out->staged.fd, out->n_bytes);
    if (reason != 0) {
        return fail_space(out->staged.path, out->n_bytes, reason, error);
    }
    void *bytes = mmap(NULL, out->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out->staged.fd, 0);
    if (bytes == MAP_FAILED) {
        return pm_error_set_errno(error, PM_IO, errno, out->staged.path, "cannot map");
    }
    out->bytes = bytes;
    return PM_OK;
}

pm_status pm_output_map_create(const char *path, uint64_t n_bytes, struct pm_output_map *out,
                               pm_error *error) {
    out->bytes = NULL;
    out->n_bytes = n_bytes;
    PM_FAIL_IF(n_bytes == 0, error, PM_INVALID_ARGUMENT, "an output of 0 bytes cannot be mapped");
    PM_TRY(resolve(path, &out->staged, error));
    pm_status status = pm_staged_open(&out->staged, O_RDWR, error);
    if (status == PM_OK) {
        status = map_whole(out, error);
    }
    if (status != PM_OK) {
        pm_output_map_abandon(out);
    }
    return status;
}

static pm_status sync_and_unmap(struct pm_output_map *out, pm_error *error) {
    /* Reports what could not be written back; fsync() alone need not see pages that are mapped. */
    const int reason = msync(out->bytes, out->n_bytes, MS_SYNC) == 0 ? 0 : errno;
    (void)munmap(out->bytes, out->n_bytes);
    out->bytes = NULL;
    if (reason != 0) {
        return pm_error_set_errno(error, PM_IO, reason, out->staged.path, "cannot write");
    }
    return pm_staged_sync(&out->staged, error);
}

static pm_status publish(struct pm_staged *staged, pm_error *error) {
    PM_TRY(pm_staged_name(staged, error));
    PM_TRY(pm_staged_rename(staged, error));
    pm_staged_sync_directory(staged);
    return PM_OK;
}

pm_status pm_output_map_commit(struct pm_output_map *out, pm_error *error) {
    pm_status status = sync_and_unmap(out, error);
    if (status == PM_OK) {
        sigset_t blocked, old_mask;
        pm_staged_signals(&blocked);
        (void)pthread_sigmask(SIG_BLOCK, &blocked, &old_mask);
        status = publish(&out->staged, error);
        pm_output_map_abandon(out);
        (void)pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    }
    pm_output_map_abandon(out);
    return status;
}

void pm_output_map_abandon(struct pm_output_map *out) {
    if (out->bytes != NULL) {
        (void)munmap(out->bytes, out->n_bytes);
        out->bytes = NULL;
    }
    if (out->n_bytes != 0) {
        pm_staged_close(&out->staged);
        out->n_bytes = 0;
    }
}
