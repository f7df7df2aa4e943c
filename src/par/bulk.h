/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * par/bulk.h - long memory, copied and wiped by a team: one thread is slower than memory.
 */
#ifndef PM_PAR_BULK_H
#define PM_PAR_BULK_H

#include "par/team.h"

#include <stdint.h>

/* memcpy by pieces of at least grain_bytes. */
void pm_team_copy(struct pm_team *team, void *to, const void *from, uint64_t n_bytes,
                  uint64_t grain_bytes);
/* Wipes a secret buffer of pm_memory_alloc(), which pm_memory_free() then does not do again.
 * buffer may be NULL, and a short one is left to pm_memory_free(). */
void pm_team_wipe(struct pm_team *team, void *buffer);

#endif
