/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/budget.h"
#include "base/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* v1 says "no limit" with the largest number of whole pages below 2^63; no machine comes near half
 * of it. */
#define NO_LIMIT_BYTES (UINT64_C(1) << 62)

/* Digits, then the end, a space or a newline. The text of a file may have been cut, so that a
 * number without anything behind it counts only where the file has nothing else (whole). */
static bool read_number(const char *text, bool whole, uint64_t *number) {
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return false;
        }
    }
    if (at == text || (*at != ' ' && *at != '\n' && !(whole && *at == '\0'))) {
        return false;
    }
    *number = value;
    return true;
}

/* The number behind `name` and white space at the beginning of a line. */
static bool find_number(const char *text, const char *name, uint64_t *number) {
    const size_t n_name = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n_name) == 0 && line[n_name] == ' ') {
            return read_number(line + n_name + strspn(line + n_name, " "), false, number);
        }
    }
    return false;
}

/* A file that holds one number and no more. */
static bool read_number_in(const char *folder, const char *name, uint64_t *number) {
    char text[64];
    return pm_small_file_read_in(folder, name, text, sizeof text) &&
           read_number(text, true, number);
}

static uint64_t number_or_0(const char *text, const char *name) {
    uint64_t number = 0;
    return find_number(text, name, &number) ? number : 0;
}

/*
 * Page cache that no one has asked to keep. The kernel takes both of its lists back before it kills
 * anybody; counting the active one as used would refuse a second proof because the first has read
 * its key twice. (Memory that files of a tmpfs take is on neither.)
 */
static uint64_t reclaimable_bytes(const char *folder, bool is_v2) {
    char text[16384];
    uint64_t bytes = 0;
    if (!pm_small_file_read_in(folder, "memory.stat", text, sizeof text)) {
        return 0;
    }
    /* v1 has a group's own pages and, as total_, those of its descendants too, as usage has. */
    const bool has_total = !is_v2 && find_number(text, "total_inactive_file", &bytes);
    return __builtin_add_overflow(
               number_or_0(text, has_total ? "total_inactive_file" : "inactive_file"),
               number_or_0(text, has_total ? "total_active_file" : "active_file"), &bytes)
               ? 0
               : bytes;
}

static void bound(struct pm_memory_room *room, uint64_t bytes, uint64_t total_bytes,
                  const char *name) {
    if (bytes < room->bytes) {
        *room = (struct pm_memory_room){bytes, total_bytes, name};
    }
}

static void visit_group(void *user, bool is_v2, const char *folder) {
    uint64_t limit_bytes = 0, usage_bytes = 0;
    if (!read_number_in(folder, is_v2 ? "memory.max" : "memory.limit_in_bytes", &limit_bytes) ||
        !read_number_in(folder, is_v2 ? "memory.current" : "memory.usage_in_bytes", &usage_bytes) ||
        limit_bytes >= NO_LIMIT_BYTES) {
        return;
    }
    const uint64_t cache_bytes = reclaimable_bytes(folder, is_v2);
    usage_bytes -= cache_bytes < usage_bytes ? cache_bytes : usage_bytes;
    bound(user, limit_bytes > usage_bytes ? limit_bytes - usage_bytes : 0, limit_bytes,
          is_v2 ? "cgroup v2 memory.max" : "cgroup v1 memory.limit_in_bytes");
}

/* In units of 1024 bytes, whatever the file calls them. */
static bool find_kib(const char *text, const char *name, uint64_t *bytes) {
    return find_number(text, name, bytes) && !__builtin_mul_overflow(*bytes, 1024, bytes);
}

struct pm_memory_room pm_memory_room_read(const char *root) {
    struct pm_memory_room room = {PM_BUDGET_UNLIMITED, PM_BUDGET_UNLIMITED, "none"};
    char path[PATH_MAX], text[8192];
    uint64_t available_bytes = 0, total_bytes = 0;
    if (snprintf(path, sizeof path, "%s/proc/meminfo", root) < (int)sizeof path &&
        pm_small_file_read(path, text, sizeof text) &&
        find_kib(text, "MemAvailable:", &available_bytes)) {
        if (!find_kib(text, "MemTotal:", &total_bytes)) {
            total_bytes = available_bytes;
        }
        bound(&room, available_bytes, total_bytes, "MemAvailable");
    }
    pm_cgroup_visit(root, "memory", visit_group, &room);
    return room;
}
