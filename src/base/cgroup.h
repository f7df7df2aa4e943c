/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * base/cgroup.h - where the limits of this process's control groups stand.
 *
 * A limit binds every descendant, so that all groups from this process's own up to the root count.
 * Inside a container the group's path may be that of the host, of which only the root is visible:
 * folders that do not exist are for the visitor to pass over.
 */
#ifndef PM_BASE_CGROUP_H
#define PM_BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called with the folder of one group, own first, root last. */
typedef void pm_cgroup_visitor(void *user, bool is_v2, const char *folder);

/* Visits the groups that control `controller` ("cpu", "memory") for this process, those of a v2
 * hierarchy whatever they control. root is "" or the folder that stands for /. */
void pm_cgroup_visit(const char *root, const char *controller, pm_cgroup_visitor *visit,
                     void *user);

/* Reads a pseudo-file into a NUL-terminated text, cut where it is longer than fits; false when
 * there is none. */
bool pm_small_file_read(const char *path, char *text, size_t capacity);
/* The same for `folder`/`name`; false also when that is too long for a path. */
bool pm_small_file_read_in(const char *folder, const char *name, char *text, size_t capacity);

#endif
