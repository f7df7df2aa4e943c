/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/service_stream.c - SubmitStream: inputs that come in pieces.
 *
 * Pieces are collected in memory of our own, as the engine takes an input in one piece, and wiped
 * when the call ends. What is held grows as the bytes come, whatever was promised: pm_rpc_hold()
 * bounds it for all calls together, with the messages that bring it.
 */
#include "daemon/service_internal.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_BYTES_MIN ((size_t)64 << 10)
/* What a part has more grows by so much. */
#define PIECE_BYTES ((size_t)1 << 20)

struct part {
    uint8_t *bytes;
    size_t n_bytes, room; /* room is held */
    uint64_t promised;    /* bytes; 0: it was not said */
};

struct upload {
    bool has_request;
    char key[PM_ENGINE_NAME_BYTES], request_id[PM_ENGINE_NAME_BYTES];
    Proofmill__V1__Priority priority;
    uint64_t timeout_ms;
    struct part *parts;
    uint64_t promised; /* by all parts together, as far as it was said */
    uint32_t n_parts, parts_room;
};

/* ---- Memory --------------------------------------------------------------------------------- */

/* Of a part that is larger than a piece the buffer is a mapping, which grows in place. */
static void free_room(uint8_t *bytes, size_t n_used, size_t room) {
    if (room > PIECE_BYTES) {
        pm_memory_free(bytes);
    } else if (bytes != NULL) {
        pm_memory_wipe(bytes, n_used);
        free(bytes);
    }
}

static void gone(struct pm_rpc_call *call, void *state, bool was_cut) {
    struct upload *upload = state;
    (void)was_cut;
    for (uint32_t i = 0; i < upload->n_parts; ++i) {
        const struct part *part = &upload->parts[i];
        free_room(part->bytes, part->n_bytes, part->room);
        pm_rpc_let_go(call, part->room);
    }
    free(upload->parts);
    free(upload);
}

static bool no_memory(struct pm_rpc_call *call, uint64_t n_bytes) {
    pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for %" PRIu64 " bytes of an input",
                n_bytes);
    return false;
}

/* Twice what there was while that is little, so that a part is not copied for each piece of it; not
 * more than was promised. */
static size_t choose_room(const struct part *part, size_t n_bytes) {
    size_t room = ROOM_BYTES_MIN;
    while (room < n_bytes && room < PIECE_BYTES) {
        room *= 2;
    }
    if (room < n_bytes) {
        room = (n_bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
    }
    return part->promised != 0 && room > part->promised ? (size_t)part->promised : room;
}

/* The part's bytes where there is room for more of them; NULL: no memory, and nothing is changed.
 */
static uint8_t *move_to_room(const struct part *part, size_t room) {
    void *bytes = NULL;
    if (part->room > PIECE_BYTES) {
        bytes = part->bytes;
        return pm_memory_grow(&bytes, room, NULL) == PM_OK ? bytes : NULL;
    }
    if (room <= PIECE_BYTES) {
        bytes = malloc(room);
    } else if (pm_memory_alloc(NULL, "upload", room, PM_MEMORY_SECRET, &bytes, NULL) != PM_OK) {
        bytes = NULL;
    }
    if (bytes != NULL && part->n_bytes != 0) {
        memcpy(bytes, part->bytes, part->n_bytes);
    }
    if (bytes != NULL) {
        free_room(part->bytes, part->n_bytes, part->room);
    }
    return bytes;
}

/* Room for n_bytes in all; more than these where they fit. */
static bool grow(struct pm_rpc_call *call, struct part *part, size_t n_bytes) {
    size_t room = choose_room(part, n_bytes);
    if (!pm_rpc_hold(call, room - part->room)) {
        room = n_bytes;
        if (!pm_rpc_hold(call, room - part->room)) {
            pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED,
                        "%zu bytes of an input do not fit beside what is on its way in already, of "
                        "%" PRIu64 " bytes in all (max_upload in [rpc]): try again later, or hand "
                        "it over by path",
                        n_bytes, pm_service_daemon(call)->config.upload_bytes_max);
            return false;
        }
    }
    uint8_t *bytes = move_to_room(part, room);
    if (bytes == NULL) {
        pm_rpc_let_go(call, room - part->room);
        return no_memory(call, room);
    }
    part->bytes = bytes;
    part->room = room;
    return true;
}

/* ---- Chunks --------------------------------------------------------------------------------- */

static bool refuse(struct pm_rpc_call *call, const char *sentence) {
    pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "%s", sentence);
    return false;
}

static bool take_request(struct pm_rpc_call *call, struct upload *upload,
                         const Proofmill__V1__SubmitRequest *request) {
    if (upload->has_request) {
        return refuse(call, "a stream has one request, in its first message");
    }
    if (request->n_inputs != 0) {
        return refuse(call, "the request of a stream has no inputs: they come as chunks");
    }
    if (!pm_service_check_submit(call, request)) {
        return false;
    }
    (void)snprintf(upload->key, sizeof upload->key, "%s", request->key);
    (void)snprintf(upload->request_id, sizeof upload->request_id, "%s", request->request_id);
    upload->priority = request->priority;
    upload->timeout_ms = request->timeout_ms;
    upload->has_request = true;
    return true;
}

static bool is_whole(struct pm_rpc_call *call, const struct upload *upload) {
    const struct part *last = upload->n_parts != 0 ? &upload->parts[upload->n_parts - 1] : NULL;
    if (last == NULL || last->promised == 0 || last->n_bytes == last->promised) {
        return true;
    }
    pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT,
                "part %u ends after %zu bytes, %" PRIu64 " were promised", upload->n_parts - 1,
                last->n_bytes, last->promised);
    return false;
}

/* What can never be held is refused before it is sent. */
static bool take_promise(struct pm_rpc_call *call, struct upload *upload, uint64_t promised) {
    const uint64_t most = pm_rpc_hold_bytes_max(call);
    if (promised <= most && upload->promised <= most - promised) {
        upload->promised += promised;
        return true;
    }
    pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED,
                "an input of %" PRIu64 " bytes, with %" PRIu64 " before it, can never come in: "
                "inputs on their way in have %" PRIu64 " bytes at most, of %" PRIu64
                " (max_upload in [rpc]): hand it over by path",
                promised, upload->promised, most, pm_service_daemon(call)->config.upload_bytes_max);
    return false;
}

static bool begin_part(struct pm_rpc_call *call, struct upload *upload, uint64_t promised) {
    if (!is_whole(call, upload) || !take_promise(call, upload, promised)) {
        return false;
    }
    if (upload->n_parts == PM_ENGINE_PARTS_MAX) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "a job has 1 to %d inputs, this one has more",
                    PM_ENGINE_PARTS_MAX);
        return false;
    }
    if (upload->n_parts == upload->parts_room) {
        const uint32_t room = upload->parts_room != 0 ? 2 * upload->parts_room : 8;
        struct part *parts = realloc(upload->parts, room * sizeof *parts);
        if (parts == NULL) {
            return no_memory(call, room * sizeof *parts);
        }
        upload->parts = parts;
        upload->parts_room = room;
    }
    upload->parts[upload->n_parts++] = (struct part){.promised = promised};
    return true;
}

static bool take_data(struct pm_rpc_call *call, struct upload *upload,
                      const ProtobufCBinaryData *data) {
    if (data->len == 0) {
        return true;
    }
    if (upload->n_parts == 0) {
        return refuse(call, "the first chunk of a part says begins_part");
    }
    struct part *part = &upload->parts[upload->n_parts - 1];
    const uint64_t n_bytes = (uint64_t)part->n_bytes + data->len;
    if (part->promised != 0 && n_bytes > part->promised) {
        return refuse(call, "a part has more bytes than its part_bytes says");
    }
    if (n_bytes > part->room && !grow(call, part, (size_t)n_bytes)) {
        return false;
    }
    memcpy(part->bytes + part->n_bytes, data->data, data->len);
    part->n_bytes = (size_t)n_bytes;
    return true;
}

/* False: the call has been ended. */
static bool take_chunk(struct pm_rpc_call *call, struct upload *upload,
                       const Proofmill__V1__SubmitChunk *chunk) {
    if (chunk->request != NULL) {
        if (!take_request(call, upload, chunk->request)) {
            return false;
        }
    } else if (!upload->has_request) {
        return refuse(call, "the first message of a stream has its request");
    }
    if (chunk->part_bytes != 0 && !chunk->begins_part) {
        return refuse(call, "part_bytes is said where a part begins");
    }
    return (!chunk->begins_part || begin_part(call, upload, chunk->part_bytes)) &&
           take_data(call, upload, &chunk->data);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void submit(struct pm_rpc_call *call, struct upload *upload) {
    Proofmill__V1__SubmitRequest request = PROOFMILL__V1__SUBMIT_REQUEST__INIT;
    uint64_t job;
    int known;
    pm_engine_input *inputs = calloc((size_t)upload->n_parts + 1, sizeof *inputs);
    if (inputs == NULL) {
        (void)no_memory(call, upload->n_parts * sizeof *inputs);
        return;
    }
    bool is_good = upload->n_parts != 0;
    for (uint32_t i = 0; i < upload->n_parts; ++i) {
        inputs[i] =
            (pm_engine_input){.bytes = upload->parts[i].bytes, .n_bytes = upload->parts[i].n_bytes};
        is_good &= inputs[i].n_bytes != 0;
    }
    request.key = upload->key;
    request.request_id = upload->request_id;
    request.priority = upload->priority;
    request.timeout_ms = upload->timeout_ms;
    if (!is_good) {
        (void)refuse(call, "a job has at least one input, and none of them is empty");
    } else if (pm_service_submit(call, &request, inputs, upload->n_parts, &job, &known)) {
        pm_service_reply_submitted(call, job, known);
    }
    free(inputs);
}

static struct upload *attached(struct pm_rpc_call *call) {
    struct upload *upload = pm_rpc_attached(call);
    if (upload == NULL) {
        upload = calloc(1, sizeof *upload);
        if (upload == NULL) {
            (void)no_memory(call, sizeof *upload);
            return NULL;
        }
        pm_rpc_attach(call, upload, gone);
    }
    return upload;
}

void pm_service_submit_stream(struct pm_rpc_call *call, void *user, const uint8_t *message,
                              size_t n_bytes) {
    (void)user;
    struct upload *upload = attached(call);
    if (upload == NULL) {
        return;
    }
    if (message == NULL) {
        if (!upload->has_request) {
            (void)refuse(call, "the stream ended before its request");
        } else if (is_whole(call, upload)) {
            submit(call, upload);
        }
        return;
    }
    Proofmill__V1__SubmitChunk *chunk =
        pm_service_request(call, &proofmill__v1__submit_chunk__descriptor, message, n_bytes);
    if (chunk != NULL) {
        (void)take_chunk(call, upload, chunk);
        pm_message_free(&chunk->base);
    }
}
