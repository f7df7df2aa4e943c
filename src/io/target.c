/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* Splits target->path into directory and base; false if it has no last component ("a/", "/"). */
static bool split(struct pm_target *target) {
    char *slash = strrchr(target->path, '/');
    if (slash == NULL) {
        memcpy(target->directory, ".", 2);
        target->base = target->path;
    } else {
        const size_t n = slash == target->path ? 1 : (size_t)(slash - target->path);
        memcpy(target->directory, target->path, n);
        target->directory[n] = '\0';
        target->base = slash + 1;
    }
    return target->base[0] != '\0';
}

static bool set_path(struct pm_target *target, const char *directory, const char *name) {
    char joined[PATH_MAX];
    const bool is_absolute = name[0] == '/' || directory == NULL;
    const int n = is_absolute ? snprintf(joined, sizeof joined, "%s", name)
                              : snprintf(joined, sizeof joined, "%s/%s", directory, name);
    if (n < 0 || (size_t)n >= sizeof joined) {
        return false;
    }
    memcpy(target->path, joined, (size_t)n + 1);
    return true;
}

pm_status pm_target_resolve(const char *path, struct pm_target *target, pm_error *error) {
    *target = (struct pm_target){0};
    int reason = set_path(target, NULL, path) ? 0 : ENAMETOOLONG;
    for (int links = 0; reason == 0; ++links) {
        char link[PATH_MAX];
        if (!split(target)) {
            reason = EISDIR;
            break;
        }
        const ssize_t n = readlink(target->path, link, sizeof link - 1);
        if (n < 0) {
            break; /* no link: EINVAL; or nothing there: stat() below tells */
        }
        link[n] = '\0';
        /* /proc/self/fd/1 and its like lead to things without a path, such as "pipe:[42]". */
        if (link[0] != '/' && strncmp(target->directory, "/proc/", 6) == 0) {
            break;
        }
        reason = links == LINKS_MAX ? ELOOP : 0;
        if (reason == 0 && !set_path(target, target->directory, link)) {
            reason = ENAMETOOLONG;
        }
    }
    if (reason == 0) {
        target->exists = stat(target->path, &target->facts) == 0;
        reason = target->exists || errno == ENOENT ? 0 : errno;
    }
    if (reason == 0 && stat(target->directory, &target->directory_facts) != 0) {
        reason = errno;
    }
    return reason == 0 ? PM_OK : pm_error_set_errno(error, PM_IO, reason, path, "cannot write to");
}

static bool is_same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool pm_target_is_same(const struct pm_target *a, const struct pm_target *b) {
    if (a->exists != b->exists) {
        return false;
    }
    if (a->exists) {
        return is_same_inode(&a->facts, &b->facts);
    }
    return is_same_inode(&a->directory_facts, &b->directory_facts) && strcmp(a->base, b->base) == 0;
}
