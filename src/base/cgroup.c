/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool pm_small_file_read(const char *path, char *text, size_t capacity) {
    /* Not blocking: what stands there may be anything, also a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return false;
    }
    size_t n = 0;
    ssize_t more = 1;
    while (n < capacity - 1 && more > 0) {
        do {
            more = read(fd, text + n, capacity - 1 - n);
        } while (more < 0 && errno == EINTR);
        n += more > 0 ? (size_t)more : 0;
    }
    (void)close(fd);
    text[n] = '\0';
    return more >= 0;
}

bool pm_small_file_read_in(const char *folder, const char *name, char *text, size_t capacity) {
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           pm_small_file_read(path, text, capacity);
}

/* Whether a comma-separated list has the name. */
static bool is_listed(const char *list, const char *name) {
    const size_t n_name = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n_name) == 0 && (at[n_name] == ',' || at[n_name] == '\0')) {
            return true;
        }
    }
    return false;
}

/* A path with ".." leads out of the mount: of such a group only the root is looked at. */
static void visit_upwards(const char *mount, bool is_v2, char *group, pm_cgroup_visitor *visit,
                          void *user) {
    if (strstr(group, "..") != NULL) {
        group[0] = '\0';
    }
    for (;;) {
        char folder[PATH_MAX];
        if (snprintf(folder, sizeof folder, "%s%s", mount, group) < (int)sizeof folder) {
            visit(user, is_v2, folder);
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

void pm_cgroup_visit(const char *root, const char *controller, pm_cgroup_visitor *visit,
                     void *user) {
    char path[PATH_MAX], text[8192];
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path ||
        !pm_small_file_read(path, text, sizeof text)) {
        return;
    }
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        /* id ":" controllers ":" path; v2 has no controllers. */
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        ++controllers;
        const bool is_v2 = controllers[0] == '\0';
        if (!is_v2 && !is_listed(controllers, controller)) {
            continue;
        }
        char mount[PATH_MAX];
        if (snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, is_v2 ? "" : "/",
                     is_v2 ? "" : controller) < (int)sizeof mount) {
            visit_upwards(mount, is_v2, group, visit, user);
        }
    }
}
