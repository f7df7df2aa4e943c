/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * card_supraseal_watch.so stands before libproofmill-gpu: everything is handed through, and what is
 * held of the cards, and for how long their locks, is counted. A caller of supraseal-c2's interface
 * is told neither.
 */
#ifndef PM_TEST_GPU_CARD_SUPRASEAL_WATCH_H
#define PM_TEST_GPU_CARD_SUPRASEAL_WATCH_H

#include "gpu/gpu.h"

#include <stdint.h>

/* The first two since they were last taken, the peaks since the library was opened. */
struct card_watch_figures {
    uint64_t n_locks;
    double locked_ms;
    uint64_t device_peak_bytes, pinned_peak_bytes; /* of all cards */
    /* At the end of each lock, as the driver sees it: with its context and what pools keep. */
    uint64_t used_peak_bytes;
};

/* real: what pm_gpu_api_get() hands on, which is asked for afterwards. */
typedef void card_watch_open_function(const struct pm_gpu_api *real);
typedef void card_watch_take_function(struct card_watch_figures *figures);
#define CARD_WATCH_OPEN_NAME "card_watch_open"
#define CARD_WATCH_TAKE_NAME "card_watch_take"

#endif
