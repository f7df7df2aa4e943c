/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* io/target.h - what a path names: an existing file, or a name in a directory. */
#ifndef PM_IO_TARGET_H
#define PM_IO_TARGET_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* A path with the symbolic links at its end followed. Links in its directory part are the kernel's
 * business. */
struct pm_target {
    char directory[PATH_MAX]; /* "." or "/a/b" */
    char path[PATH_MAX];      /* with the directory */
    const char *base;         /* the last component, inside path */
    bool exists;
    struct stat facts;           /* if it exists */
    struct stat directory_facts; /* always */
};

/* Errors: IO (no such directory, too many links, too long a name). */
pm_status pm_target_resolve(const char *path, struct pm_target *target, pm_error *error);
/* Whether both would be one file: the same inode, or the same name yet to be created. */
bool pm_target_is_same(const struct pm_target *a, const struct pm_target *b);

#endif
