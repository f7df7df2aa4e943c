/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_internal.h"

#include "base/memory.h"

#include <grpc/slice_buffer.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (UINT64_C(1) << 20)

/* A received slice is a range of a block that was read from the socket. Nobody else reads that
 * range once it is a message's, so that it may be overwritten; a small slice lies in the struct. */
static void wipe_slices(grpc_byte_buffer *buffer) {
    grpc_slice_buffer *slices = &buffer->data.raw.slice_buffer;
    for (size_t i = 0; i < slices->count; ++i) {
        pm_memory_wipe(GRPC_SLICE_START_PTR(slices->slices[i]),
                       GRPC_SLICE_LENGTH(slices->slices[i]));
    }
}

void rpc_buffer_wipe(grpc_byte_buffer *buffer) {
    if (buffer != NULL) {
        wipe_slices(buffer);
        grpc_byte_buffer_destroy(buffer);
    }
}

/* Each slice is given back as soon as it is copied, so that a large message is not there twice, and
 * its bytes are held from then on, a piece at a time. False: they may not be. */
static bool move_slices(struct rpc_flat *flat) {
    grpc_slice_buffer *slices = &flat->buffer->data.raw.slice_buffer;
    uint64_t n_moved = 0;
    while (slices->count != 0) {
        uint8_t *from = GRPC_SLICE_START_PTR(slices->slices[0]);
        const size_t n_bytes = GRPC_SLICE_LENGTH(slices->slices[0]);
        if (n_bytes != 0) {
            memcpy(flat->copy + n_moved, from, n_bytes);
            pm_memory_wipe(from, n_bytes);
        }
        n_moved += n_bytes;
        grpc_slice_unref(grpc_slice_buffer_take_first(slices));
        if (n_moved - flat->n_held >= PIECE_BYTES || slices->count == 0) {
            if (!rpc_hold_take(&flat->server->hold, n_moved - flat->n_held)) {
                return false;
            }
            flat->n_held = n_moved;
        }
    }
    return true;
}

pm_status rpc_flatten(struct pm_rpc_server *server, grpc_byte_buffer *buffer,
                      struct rpc_flat *flat) {
    *flat = (struct rpc_flat){.server = server, .buffer = buffer, .bytes = (const uint8_t *)""};
    if (buffer == NULL) {
        return PM_OK;
    }
    grpc_slice_buffer *slices = &buffer->data.raw.slice_buffer;
    flat->n_bytes = slices->length;
    if (slices->count == 1) {
        flat->bytes = GRPC_SLICE_START_PTR(slices->slices[0]);
    } else if (slices->length != 0) {
        flat->copy = malloc(slices->length);
        if (flat->copy == NULL) {
            rpc_flat_free(flat);
            return PM_NO_MEMORY;
        }
        if (!move_slices(flat)) {
            rpc_flat_free(flat);
            return PM_BUDGET_BUSY;
        }
        flat->bytes = flat->copy;
    }
    return PM_OK;
}

void rpc_flat_free(struct rpc_flat *flat) {
    rpc_buffer_wipe(flat->buffer);
    if (flat->copy != NULL) {
        pm_memory_wipe(flat->copy, flat->n_bytes);
        free(flat->copy);
        rpc_hold_give_back(&flat->server->hold, flat->n_held);
    }
    *flat = (struct rpc_flat){0};
}

struct rpc_message *rpc_message_new(const void *bytes, size_t n_bytes) {
    struct rpc_message *message = calloc(1, sizeof *message);
    if (message == NULL) {
        return NULL;
    }
    grpc_slice slice = n_bytes == 0 ? grpc_empty_slice()
                                    : grpc_slice_from_copied_buffer((const char *)bytes, n_bytes);
    message->bytes = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return message;
}

void rpc_message_free(struct rpc_message *message) {
    if (message != NULL) {
        grpc_byte_buffer_destroy(message->bytes);
        free(message);
    }
}
