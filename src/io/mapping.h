/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/mapping.h - the bytes of a file, mapped or read, and what happens when the file changes under
 * us.
 *
 * A mapping is read-only. If the file shrinks while it is mapped, reads past its new end raise
 * SIGBUS. With the guard installed (pm_guard_install()) the handler puts zero pages there, marks
 * the mapping as changed and lets the read go on; whoever used the bytes asks pm_mapping_check()
 * before believing the result. Bytes that were read instead are a snapshot and cannot change.
 */
#ifndef PM_IO_MAPPING_H
#define PM_IO_MAPPING_H

#include "base/control.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct pm_mapping {
    const uint8_t *bytes; /* NULL only when n_bytes is 0 */
    uint64_t n_bytes;
    char *name;         /* path or given name, owned, for messages */
    void *owned;        /* buffer to free, when read instead of mapped; a NUL follows the bytes */
    int32_t guard_slot; /* -1: not mapped, or not guarded */
    bool is_mapped;
    int fd; /* of the mapped file, kept to see whether it shrank; meaningless otherwise */
};

enum pm_mapping_how {
    PM_MAPPING_MAP,        /* regular files are mapped, anything else is read as by READ_SECRET */
    PM_MAPPING_READ,       /* read into memory */
    PM_MAPPING_READ_SECRET /* the same, wiped when closed */
};

/* A character device may never end (/dev/zero), so no more than this is taken from one. */
#define PM_MAPPING_DEVICE_BYTES_MAX (UINT64_C(64) << 20)

/*
 * Opens path ("-": standard input, always read, from where it stands).
 *
 * Regular files, pipes and FIFOs may have up to max_bytes; a character device is read up to the
 * smaller of max_bytes and PM_MAPPING_DEVICE_BYTES_MAX; a directory, a block device and a socket
 * are refused. A FIFO or a pipe is waited for until its writer closes it, or control, which may be
 * NULL, ends the waiting; it also ends the reading of a long file. On success the caller owns
 * *mapping and closes it. Errors: IO, NO_MEMORY, LENGTH (more than max_bytes), CANCELLED, DEADLINE.
 */
pm_status pm_mapping_open(const char *path, enum pm_mapping_how how, uint64_t max_bytes,
                          struct pm_ledger *ledger, const pm_control *control,
                          struct pm_mapping *mapping, pm_error *error);
/* Borrows bytes that the caller keeps alive. Errors: INVALID_ARGUMENT, NO_MEMORY. */
pm_status pm_mapping_borrow(const void *bytes, uint64_t n_bytes, const char *name,
                            struct pm_mapping *mapping, pm_error *error);
/* Unmaps or frees. A mapping of zeros, or one that has been closed, is left alone. */
void pm_mapping_close(struct pm_mapping *mapping);
/* FILE_CHANGED if the file is shorter than it was when it was opened, or a guarded read has hit its
 * new end since. Ask after the last use of the bytes. */
pm_status pm_mapping_check(const struct pm_mapping *mapping, pm_error *error);
/* Has the system begin to read n_bytes bytes from begin on, which lie in the mapping, and does not
 * wait: for who reads on meanwhile. Does nothing where there is nothing to be read any more. */
void pm_mapping_read_ahead(const struct pm_mapping *mapping, const uint8_t *begin,
                           uint64_t n_bytes);
/* Takes the whole pages of n_bytes bytes from begin on, which lie in the mapping, out of this
 * process's resident memory; they stay in the page cache and are there again when they are read.
 * Does nothing where bytes were read or borrowed instead of mapped, or mapping is NULL. */
void pm_mapping_release_range(const struct pm_mapping *mapping, const uint8_t *begin,
                              uint64_t n_bytes);

#endif
