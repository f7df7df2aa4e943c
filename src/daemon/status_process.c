/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/http.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void read_field(const char *line, const char *name, uint64_t unit, uint64_t *value) {
    const size_t n = strlen(name);
    if (strncmp(line, name, n) == 0 && line[n] == ':') {
        *value = strtoull(line + n + 1, NULL, 10) * unit;
    }
}

static void read_status(struct pm_process_usage *usage) {
    uint64_t n_threads = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        read_field(line, "VmRSS", 1024, &usage->resident_bytes);
        read_field(line, "VmHWM", 1024, &usage->resident_peak_bytes);
        read_field(line, "VmSize", 1024, &usage->virtual_bytes);
        read_field(line, "Threads", 1, &n_threads);
    }
    (void)fclose(file);
    usage->n_threads = (uint32_t)n_threads;
}

static uint32_t count_fds(void) {
    uint32_t n = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n - 1; /* the folder's own */
}

void pm_process_usage_now(struct pm_process_usage *usage) {
    struct rlimit limit;
    *usage = (struct pm_process_usage){.cpu_ns = pm_clock_cpu_ns()};
    read_status(usage);
    usage->n_fds = count_fds();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        usage->n_fds_max = limit.rlim_cur;
    }
}

void pm_instance(const struct pm_daemon *daemon, char out[PM_INSTANCE_BYTES]) {
    (void)snprintf(out, PM_INSTANCE_BYTES, "%llx-%lx", (unsigned long long)daemon->started_ns,
                   (long)getpid());
}
