/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/output_map.h - a large file written through a shared mapping, that appears whole or not at
 * all.
 *
 * The file lies beside its target, without a name where the system can, and gets the target's name
 * in pm_output_map_commit(). All its blocks are allocated before work begins, so that a full disk
 * is an error at the start and not a SIGBUS hours later. Its pages belong to the page cache: they
 * are no anonymous memory and the kernel writes them back as it sees fit.
 */
#ifndef PM_IO_OUTPUT_MAP_H
#define PM_IO_OUTPUT_MAP_H

#include "base/status.h"
#include "io/staged.h"

#include <stdint.h>

struct pm_output_map {
    uint8_t *bytes; /* zero at first; page-aligned; any thread may write its part */
    uint64_t n_bytes;
    struct pm_staged staged;
};

/*
 * Creates and maps n_bytes > 0 bytes that will become path, which is borrowed until the map is
 * committed or abandoned. A target that exists must be a writable regular file, and keeps its
 * permission bits; symbolic links are followed. Standard output ("-"), devices and FIFOs cannot be
 * mapped. On failure nothing is left and *out needs no further call. Errors: INVALID_ARGUMENT (no
 * regular file, n_bytes is 0), IO (no space, no permission, ...), NO_RANDOM.
 */
pm_status pm_output_map_create(const char *path, uint64_t n_bytes, struct pm_output_map *out,
                               pm_error *error);
/* Syncs the contents, gives them the target's name and releases *out, in whatever way it ends: on
 * failure the old target is as it was. SIGINT, SIGTERM and SIGHUP of the calling thread wait while
 * a temporary file has a name. Errors: IO, NO_RANDOM. */
pm_status pm_output_map_commit(struct pm_output_map *out, pm_error *error);
/* Releases *out and leaves nothing on the disk. A map of zeros, or one that has been released, is
 * left alone. */
void pm_output_map_abandon(struct pm_output_map *out);

#endif
