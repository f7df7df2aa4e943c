/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/rpc_internal.h"

#include "base/memory.h"

#include <grpc/slice_buffer.h>
#include <stdlib.h>
#include <string.h>

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

/* Each slice is given back as soon as it is copied, so that a large message is not there twice. */
static void move_slices(grpc_slice_buffer *slices, uint8_t *to) {
    while (slices->count != 0) {
        uint8_t *from = GRPC_SLICE_START_PTR(slices->slices[0]);
        const size_t n_bytes = GRPC_SLICE_LENGTH(slices->slices[0]);
        if (n_bytes != 0) {
            memcpy(to, from, n_bytes);
            pm_memory_wipe(from, n_bytes);
        }
        to += n_bytes;
        grpc_slice_unref(grpc_slice_buffer_take_first(slices));
    }
}

bool rpc_flatten(grpc_byte_buffer *buffer, struct rpc_flat *flat) {
    *flat = (struct rpc_flat){.buffer = buffer, .bytes = (const uint8_t *)""};
    if (buffer == NULL) {
        return true;
    }
    grpc_slice_buffer *slices = &buffer->data.raw.slice_buffer;
    flat->n_bytes = slices->length;
    if (slices->count == 1) {
        flat->bytes = GRPC_SLICE_START_PTR(slices->slices[0]);
    } else if (slices->length != 0) {
        flat->copy = malloc(slices->length);
        if (flat->copy == NULL) {
            rpc_flat_free(flat);
            return false;
        }
        move_slices(slices, flat->copy);
        flat->bytes = flat->copy;
    }
    return true;
}

void rpc_flat_free(struct rpc_flat *flat) {
    rpc_buffer_wipe(flat->buffer);
    if (flat->copy != NULL) {
        pm_memory_wipe(flat->copy, flat->n_bytes);
        free(flat->copy);
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
