/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "par/bulk.h"

#include "base/memory.h"

#include <string.h>

/* From here on what takes longest about giving a secret back is to wipe it: 0.1 ms a MiB. */
#define WIPED_TOGETHER_BYTES (4 * PM_MEMORY_WIPE_BYTES)

struct copy {
    uint8_t *to;
    const uint8_t *from;
};

static void copy_range(void *argument, size_t begin, size_t end) {
    const struct copy *copy = argument;
    memcpy(copy->to + begin, copy->from + begin, end - begin);
}

void pm_team_copy(struct pm_team *team, void *to, const void *from, uint64_t n_bytes,
                  uint64_t grain_bytes) {
    struct copy copy = {to, from};
    pm_team_for(team, n_bytes, grain_bytes, copy_range, &copy);
}

static void wipe_pieces(void *buffer, size_t begin, size_t end) {
    const uint64_t n_bytes = pm_memory_bytes(buffer), until = end * PM_MEMORY_WIPE_BYTES;
    pm_memory_wipe_piece(buffer, begin * PM_MEMORY_WIPE_BYTES, until < n_bytes ? until : n_bytes);
}

void pm_team_wipe(struct pm_team *team, void *buffer) {
    const uint64_t n_bytes = pm_memory_bytes(buffer);
    if (n_bytes >= WIPED_TOGETHER_BYTES) {
        pm_team_for(team, (n_bytes - 1) / PM_MEMORY_WIPE_BYTES + 1, 1, wipe_pieces, buffer);
        pm_memory_wiped(buffer);
    }
}
