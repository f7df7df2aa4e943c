/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/guard.h - the table of live file mappings that the SIGBUS handler looks into.
 *
 * The table is fixed and lock-free: a handler may interrupt any thread anywhere, so it can take no
 * lock and allocate nothing.
 */
#ifndef PM_IO_GUARD_H
#define PM_IO_GUARD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mappings that can be guarded at once. */
#define PM_GUARD_SLOTS 1024

/* Installs the handler; see pm_guard_install() in the public header. Idempotent, from any thread.
 */
pm_status pm_guard_install_handler(pm_error *error);
bool pm_guard_is_installed(void);

/* Enters [begin, begin + n_bytes) and returns its slot, or -1 when all are taken. */
int32_t pm_guard_enter(const void *begin, size_t n_bytes);
/* Gives a slot back, before the range is unmapped. -1 is fine. */
void pm_guard_leave(int32_t slot);
/* Whether a read in the slot's range has faulted since it was entered. -1: false. */
bool pm_guard_has_faulted(int32_t slot);

#endif
