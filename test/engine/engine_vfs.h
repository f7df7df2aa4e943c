/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * engine/engine_vfs.h - a disk under SQLite that fails when it is told to: the process is killed at
 * the n-th write or sync, or from some write on there is no room.
 */
#ifndef PM_TEST_ENGINE_VFS_H
#define PM_TEST_ENGINE_VFS_H

#include <stdbool.h>
#include <stdint.h>

/* Puts it under every database that is opened from now on. Once a process. */
void engine_vfs_install(void);
/* SIGKILL at the n-th write, sync or truncation from now, from 1; 0: never. With half: after half
 * of what is to be written. */
void engine_vfs_kill_at(uint64_t n, bool half);
/* Writes fail as on a full disk, or succeed again. */
void engine_vfs_set_full(bool is_full);
/* Writes, syncs and truncations so far. */
uint64_t engine_vfs_count(void);

#endif
