/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The way up: while one half of the staging memory is copied to the card, the team fills the other.
 *
 * A lane's stream carries nothing but what its half has held, so waiting for the stream is waiting
 * for the half.
 */
#include "groth16/backend_cuda_card.h"
#include "par/bulk.h"

#include <string.h>

/* Bytes that a thread copies at a time, and pieces of page-locked memory between two looks at the
 * control: a millisecond on the bus. */
#define COPY_GRAIN_BYTES (UINT64_C(256) << 10)
#define STRAIGHT_PIECE_BYTES (UINT64_C(64) << 20)

pm_status pm_cuda_way_begin(struct pm_cuda *cuda, const struct pm_step_data *data, bool is_public,
                            struct pm_cuda_way **out, pm_error *error) {
    struct pm_cuda_side *side = pm_cuda_side(cuda);
    struct pm_cuda_way *way = &side->way;
    uint8_t *staging = side->staging.address;
    PM_FAIL_IF(staging == NULL, error, PM_INTERNAL, "a step without a lock uploads");
    way->cuda = cuda;
    way->piece_bytes = pm_cuda_copied_bytes(cuda);
    way->is_public = is_public;
    way->team = data->team;
    way->control = data->control;
    way->next = 0;
    PM_TRY(cuda->api->event_record(&way->fence, &side->stream, error));
    for (int i = 0; i < 2; ++i) {
        way->lanes[i].half = staging + (uint64_t)i * cuda->half_bytes;
        PM_TRY(cuda->api->stream_await(&way->lanes[i].stream, &way->fence, error));
    }
    *out = way;
    return PM_OK;
}

pm_status pm_cuda_way_half(struct pm_cuda_way *way, struct pm_cuda_lane **lane, pm_error *error) {
    *lane = &way->lanes[way->next];
    way->next ^= 1;
    PM_TRY(pm_control_check(way->control, error));
    return way->cuda->api->stream_wait(&(*lane)->stream, error);
}

static void wipe_slot(void *argument, size_t index) {
    const struct pm_cuda_way *way = argument;
    const struct pm_cuda_lane *lane = &way->lanes[index / PM_CUDA_SLOTS];
    const uint64_t at = index % PM_CUDA_SLOTS * way->slot_bytes;
    pm_memory_wipe(lane->half + at, lane->slot_used_bytes);
}

/* Nothing is on its way any more. */
static void wipe(struct pm_cuda_way *way) {
    if (way->lanes[0].slot_used_bytes != 0 || way->lanes[1].slot_used_bytes != 0) {
        pm_team_run(way->team, (size_t)2 * PM_CUDA_SLOTS, wipe_slot, way);
    }
    for (int i = 0; i < 2; ++i) {
        struct pm_cuda_lane *lane = &way->lanes[i];
        if (!way->is_public) {
            pm_memory_wipe(lane->half, lane->used_bytes);
        }
        lane->used_bytes = lane->slot_used_bytes = 0;
    }
}

pm_status pm_cuda_way_end(struct pm_cuda_way *way, pm_status status, pm_error *error) {
    for (int i = 0; i < 2; ++i) {
        pm_error *told = status == PM_OK ? error : NULL;
        const pm_status waited = way->cuda->api->stream_wait(&way->lanes[i].stream, told);
        status = status == PM_OK ? waited : status;
    }
    wipe(way);
    return status;
}

static pm_status straight(struct pm_cuda_way *way, uint8_t *to, const uint8_t *from,
                          uint64_t n_bytes, pm_error *error) {
    while (n_bytes > 0) {
        const uint64_t n = n_bytes < STRAIGHT_PIECE_BYTES ? n_bytes : STRAIGHT_PIECE_BYTES;
        struct pm_cuda_lane *lane = NULL;
        PM_TRY(pm_cuda_way_half(way, &lane, error));
        PM_TRY(way->cuda->api->upload(&lane->stream, to, from, n, error));
        to += n;
        from += n;
        n_bytes -= n;
    }
    return PM_OK;
}

/* Both ends, since a caller may have registered a part of its memory. */
bool pm_cuda_is_pinned(const struct pm_cuda *cuda, const void *from, uint64_t n_bytes) {
    return n_bytes > COPY_GRAIN_BYTES && cuda->api->memory_is_pinned(cuda->device, from) &&
           cuda->api->memory_is_pinned(cuda->device, (const uint8_t *)from + n_bytes - 1);
}

pm_status pm_cuda_way_bytes(struct pm_cuda_way *way, void *to, const void *from, uint64_t n_bytes,
                            pm_error *error) {
    return pm_cuda_way_part(way, to, from, n_bytes, pm_cuda_is_pinned(way->cuda, from, n_bytes),
                            error);
}

pm_status pm_cuda_way_part(struct pm_cuda_way *way, void *to, const void *from, uint64_t n_bytes,
                           bool is_pinned, pm_error *error) {
    uint8_t *at = to;
    if (is_pinned) {
        return straight(way, to, from, n_bytes, error);
    }
    while (n_bytes > 0) {
        const uint64_t n = n_bytes < way->piece_bytes ? n_bytes : way->piece_bytes;
        struct pm_cuda_lane *lane = NULL;
        PM_TRY(pm_cuda_way_half(way, &lane, error));
        lane->used_bytes = n > lane->used_bytes ? n : lane->used_bytes;
        pm_team_copy(way->team, lane->half, from, n, COPY_GRAIN_BYTES);
        PM_TRY(way->cuda->api->upload(&lane->stream, at, lane->half, n, error));
        at += n;
        from += n;
        n_bytes -= n;
    }
    return PM_OK;
}
