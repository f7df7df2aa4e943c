/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

/* The system's own, and the methods of its files: a table for databases, one for logs, ... */
enum { TABLES_MAX = 4 };
static sqlite3_vfs *below;
static sqlite3_vfs above;
static const sqlite3_io_methods *file_below[TABLES_MAX];
static sqlite3_io_methods file_above[TABLES_MAX];

static uint64_t count, kill_at; /* atomic */
static int kills_half, is_full; /* atomic */

static bool is_the_one(void) {
    const uint64_t n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    return n == __atomic_load_n(&kill_at, __ATOMIC_RELAXED);
}

static const sqlite3_io_methods *own(const sqlite3_file *file) {
    return file_below[file->pMethods - file_above];
}

static void die(void) {
    (void)kill(getpid(), SIGKILL);
    for (;;) {
        (void)pause();
    }
}

static int write_file(sqlite3_file *file, const void *bytes, int n_bytes, sqlite3_int64 offset) {
    if (is_the_one()) {
        if (__atomic_load_n(&kills_half, __ATOMIC_RELAXED) != 0) {
            (void)own(file)->xWrite(file, bytes, n_bytes / 2, offset);
        }
        die();
    }
    return __atomic_load_n(&is_full, __ATOMIC_RELAXED) != 0
               ? SQLITE_FULL
               : own(file)->xWrite(file, bytes, n_bytes, offset);
}

static int sync_file(sqlite3_file *file, int flags) {
    if (is_the_one()) {
        die();
    }
    return own(file)->xSync(file, flags);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 n_bytes) {
    if (is_the_one()) {
        die();
    }
    return own(file)->xTruncate(file, n_bytes);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *flags_out) {
    (void)vfs;
    const int code = below->xOpen(below, name, file, flags, flags_out);
    for (int i = 0; code == SQLITE_OK && i < TABLES_MAX; ++i) {
        if (file_below[i] == NULL) {
            file_below[i] = file->pMethods;
            file_above[i] = *file_below[i];
            file_above[i].xWrite = write_file;
            file_above[i].xSync = sync_file;
            file_above[i].xTruncate = truncate_file;
        }
        if (file->pMethods == file_below[i]) {
            file->pMethods = &file_above[i];
            break;
        }
    }
    return code;
}

void engine_vfs_install(void) {
    below = sqlite3_vfs_find(NULL);
    above = *below;
    above.zName = "failing";
    above.xOpen = open_file;
    (void)sqlite3_vfs_register(&above, 1);
}

void engine_vfs_kill_at(uint64_t n, bool half) {
    __atomic_store_n(&kills_half, half, __ATOMIC_RELAXED);
    __atomic_store_n(&kill_at, n == 0 ? 0 : __atomic_load_n(&count, __ATOMIC_RELAXED) + n,
                     __ATOMIC_RELAXED);
}

void engine_vfs_set_full(bool full) {
    __atomic_store_n(&is_full, full, __ATOMIC_RELAXED);
}

uint64_t engine_vfs_count(void) {
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
