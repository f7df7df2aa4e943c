/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How much memory is left, read from trees of /proc and /sys that are made for it: C2, C7. */
#include "base/budget.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB UINT64_C(1048576)

static char root[] = "/tmp/proofmill-room-XXXXXX";

/* Writes a file below the root and makes its folders. */
static void put(const char *path, const char *text) {
    char full[PATH_MAX];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state) {
    (void)state;
    memcpy(root + sizeof root - 7, "XXXXXX", 6);
    return mkdtemp(root) == NULL;
}

static int end(void **state) {
    (void)state;
    char command[sizeof root + 16];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void expect(uint64_t bytes, uint64_t total_bytes, const char *bound_name) {
    const struct pm_memory_room room = pm_memory_room_read(root);
    assert_int_equal(room.bytes, bytes);
    assert_int_equal(room.total_bytes, total_bytes);
    assert_string_equal(room.bound_name, bound_name);
}

#define MEMINFO                                                                                    \
    "MemTotal:       16384 kB\nMemFree:         1024 kB\nMemAvailable:    8192 kB\n"               \
    "Buffers:            4 kB\n"

static void nothing_known_is_no_bound(void **state) {
    (void)state;
    expect(PM_BUDGET_UNLIMITED, PM_BUDGET_UNLIMITED, "none");
}

static void the_machine_bounds(void **state) {
    (void)state;
    put("/proc/meminfo", MEMINFO);
    expect(8 * MIB, 16 * MIB, "MemAvailable");
}

static void v2_counts_no_page_cache(void **state) {
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/job\n");
    put("/sys/fs/cgroup/job/memory.max", "6291456\n");
    put("/sys/fs/cgroup/job/memory.current", "4194304\n");
    expect(2 * MIB, 6 * MIB, "cgroup v2 memory.max");
    put("/sys/fs/cgroup/job/memory.stat",
        "anon 1048576\nfile 3145728\ninactive_anon 5\nactive_anon 6\ninactive_file 1048576\n"
        "active_file 2097152\nunevictable 0\n");
    expect(5 * MIB, 6 * MIB, "cgroup v2 memory.max");
    /* More cache than usage: the two are not read at one moment. */
    put("/sys/fs/cgroup/job/memory.current", "1048576\n");
    expect(6 * MIB, 6 * MIB, "cgroup v2 memory.max");
}

static void the_tightest_parent_counts(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/c/memory.current", "1000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "50000\n");
    put("/sys/fs/cgroup/a/b/memory.current", "2000\n");
    put("/sys/fs/cgroup/a/memory.max", "40000\n");
    put("/sys/fs/cgroup/a/memory.current", "30000\n");
    expect(10000, 40000, "cgroup v2 memory.max");
    put("/sys/fs/cgroup/a/b/memory.current", "49999\n");
    expect(1, 50000, "cgroup v2 memory.max");
    /* What is above its limit has no room left, not a wrapped one. */
    put("/sys/fs/cgroup/a/b/memory.current", "50001\n");
    expect(0, 50000, "cgroup v2 memory.max");
}

static void v1_has_its_own_names(void **state) {
    (void)state;
    put("/proc/self/cgroup", "12:cpuset:/x\n5:memory:/docker/abc\n1:name=systemd:/y\n0::/z\n");
    /* Inside a container the path is the host's and only the root is there. */
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9000000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000\n");
    put("/sys/fs/cgroup/memory/memory.stat",
        "inactive_file 7\nactive_file 8\ntotal_cache 1\ntotal_inactive_file 1000000\n"
        "total_active_file 2000000\n");
    expect(7000000, 9000000, "cgroup v1 memory.limit_in_bytes");
    put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 500000\nactive_file 500000\n");
    expect(5000000, 9000000, "cgroup v1 memory.limit_in_bytes");
    put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "1\n");
    expect(5000000, 9000000, "cgroup v1 memory.limit_in_bytes");
    put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "700\n");
    put("/sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "100\n");
    expect(600, 700, "cgroup v1 memory.limit_in_bytes");
}

static void v1_controllers_stand_together(void **state) {
    (void)state;
    put("/proc/self/cgroup", "3:hugetlb,memory,pids:/g\n");
    put("/sys/fs/cgroup/memory/g/memory.limit_in_bytes", "900\n");
    put("/sys/fs/cgroup/memory/g/memory.usage_in_bytes", "100\n");
    expect(800, 900, "cgroup v1 memory.limit_in_bytes");
    put("/proc/self/cgroup", "3:hugetlb,memoryx,pids:/g\n");
    expect(PM_BUDGET_UNLIMITED, PM_BUDGET_UNLIMITED, "none");
}

static void the_least_of_all_decides(void **state) {
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "4:memory:/v1\n0::/v2\n");
    put("/sys/fs/cgroup/memory/v1/memory.limit_in_bytes", "6291456\n");
    put("/sys/fs/cgroup/memory/v1/memory.usage_in_bytes", "0\n");
    put("/sys/fs/cgroup/v2/memory.max", "7340032\n");
    put("/sys/fs/cgroup/v2/memory.current", "0\n");
    expect(6 * MIB, 6 * MIB, "cgroup v1 memory.limit_in_bytes");
    put("/sys/fs/cgroup/v2/memory.current", "2097152\n");
    expect(5 * MIB, 7 * MIB, "cgroup v2 memory.max");
    put("/proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 3 kB\n");
    expect(3 * 1024, 9 * 1024, "MemAvailable");
}

static void strange_numbers_are_left_out(void **state) {
    (void)state;
    static const char *const strange[] = {"",
                                          "\n",
                                          "-1\n",
                                          "12x\n",
                                          "0x100\n",
                                          "1e3\n",
                                          "+5\n",
                                          "infinity\n",
                                          "99999999999999999999999\n",
                                          " 5\n",
                                          "18446744073709551616\n"};
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/job\n");
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        put("/sys/fs/cgroup/job/memory.max", strange[i]);
        put("/sys/fs/cgroup/job/memory.current", "0\n");
        expect(8 * MIB, 16 * MIB, "MemAvailable");
        put("/sys/fs/cgroup/job/memory.max", "1048576\n");
        put("/sys/fs/cgroup/job/memory.current", strange[i]);
        expect(8 * MIB, 16 * MIB, "MemAvailable");
    }
    put("/sys/fs/cgroup/job/memory.current", "1000"); /* no newline is no crime */
    expect(MIB - 1000, MIB, "cgroup v2 memory.max");
    put("/sys/fs/cgroup/job/memory.stat", "inactive_file -1\nactive_file 18446744073709551615\n"
                                          "inactive_file");
    expect(MIB, MIB, "cgroup v2 memory.max");
    put("/sys/fs/cgroup/job/memory.stat",
        "inactive_file 18446744073709551615\nactive_file 18446744073709551615\n");
    expect(MIB - 1000, MIB, "cgroup v2 memory.max");
    put("/proc/meminfo", "MemAvailable: 18446744073709551615 kB\nMemTotal: 1 kB\n");
    expect(MIB - 1000, MIB, "cgroup v2 memory.max");
    put("/proc/meminfo", "MemAvailable: 1"); /* cut off */
    expect(MIB - 1000, MIB, "cgroup v2 memory.max");
}

static void strange_groups_are_left_out(void **state) {
    (void)state;
    put("/proc/meminfo", MEMINFO);
    put("/outside/memory.max", "5\n");
    put("/outside/memory.current", "0\n");
    static const char *const strange[] = {"",
                                          "\n",
                                          "0\n",
                                          "0:\n",
                                          ":::::\n",
                                          "0::\n",
                                          "0::/../../../outside\n",
                                          "0::/does/not/exist (deleted)\n",
                                          "4:memory\n4:memory:",
                                          "\377\376\n0::/\001\002"};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        put("/proc/self/cgroup", strange[i]);
        expect(8 * MIB, 16 * MIB, "MemAvailable");
    }
    /* A path longer than any, a line longer than the reader's buffer. */
    static char text[20000];
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "0::/", 4);
    put("/proc/self/cgroup", text);
    expect(8 * MIB, 16 * MIB, "MemAvailable");
    for (size_t i = 5; i < sizeof text - 1; i += 2) {
        text[i] = '/';
    }
    put("/proc/self/cgroup", text);
    expect(8 * MIB, 16 * MIB, "MemAvailable");
}

static void a_folder_or_a_pipe_is_no_file(void **state) {
    (void)state;
    char path[PATH_MAX];
    put("/proc/meminfo", MEMINFO);
    put("/proc/self/cgroup", "0::/job\n");
    put("/sys/fs/cgroup/job/memory.max/file", "1\n");
    put("/sys/fs/cgroup/job/memory.current", "1\n");
    expect(8 * MIB, 16 * MIB, "MemAvailable");
    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect(PM_BUDGET_UNLIMITED, PM_BUDGET_UNLIMITED, "none");
}

static void this_machine_answers(void **state) {
    (void)state;
    const struct pm_memory_room room = pm_memory_room_read("");
    assert_true(room.bytes > 0);
    assert_true(room.bytes <= room.total_bytes);
    assert_string_not_equal(room.bound_name, "none"); /* Linux has /proc/meminfo */
}

#define ROOM_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        ROOM_TEST(nothing_known_is_no_bound),   ROOM_TEST(the_machine_bounds),
        ROOM_TEST(v2_counts_no_page_cache),     ROOM_TEST(the_tightest_parent_counts),
        ROOM_TEST(v1_has_its_own_names),        ROOM_TEST(v1_controllers_stand_together),
        ROOM_TEST(the_least_of_all_decides),    ROOM_TEST(strange_numbers_are_left_out),
        ROOM_TEST(strange_groups_are_left_out), ROOM_TEST(a_folder_or_a_pipe_is_no_file),
        cmocka_unit_test(this_machine_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
