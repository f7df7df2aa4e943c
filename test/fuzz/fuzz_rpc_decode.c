/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as each kind of message that a client may send: the first one chooses the kind. What
 * our reader accepts, protobuf-c's accepts too and reads alike; what it takes is bounded by the
 * message's size; and strings that go out are mended.
 */
#include "daemon/service_decode.h"

#include "daemon/service_world.h"
#include "fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

static void check_same(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes, size_t n_bytes,
                       const ProtobufCMessage *ours) {
    ProtobufCMessage *theirs = protobuf_c_message_unpack(kind, NULL, n_bytes, bytes);
    FUZZ_REQUIRE(theirs != NULL && world_is_same(ours, theirs));
    protobuf_c_message_free_unpacked(theirs, NULL);
    /* What was read can be written and read again. */
    const size_t n_again = protobuf_c_message_get_packed_size(ours);
    uint8_t *packed = malloc(n_again != 0 ? n_again : 1);
    ProtobufCMessage *again = NULL;
    FUZZ_REQUIRE(packed != NULL && n_again <= n_bytes + 9 * (n_bytes + 1));
    (void)protobuf_c_message_pack(ours, packed);
    FUZZ_REQUIRE(pm_message_decode(kind, packed, n_again, &again, NULL) == PM_OK);
    FUZZ_REQUIRE(world_is_same(ours, again));
    pm_message_free(again);
    free(packed);
}

/* The bytes as a text on its way out: it is read again afterwards. */
static void check_mended(const uint8_t *bytes, size_t n_bytes) {
    Proofmill__V1__Key key = PROOFMILL__V1__KEY__INIT;
    Proofmill__V1__KeyRequest request = PROOFMILL__V1__KEY_REQUEST__INIT;
    Proofmill__V1__Key *keys[] = {&key};
    Proofmill__V1__ListKeysResponse answer = PROOFMILL__V1__LIST_KEYS_RESPONSE__INIT;
    ProtobufCMessage *again = NULL;
    uint8_t packed[1100];
    const size_t n = n_bytes < 1000 ? n_bytes : 1000;
    char *text = calloc(1, n + 1), *texts[] = {text};
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, bytes, n);
    key.devices = texts;
    key.n_devices = 1;
    answer.keys = keys;
    answer.n_keys = 1;
    pm_message_mend(&answer.base);
    request.name = text;
    const size_t n_packed = proofmill__v1__key_request__pack(&request, packed);
    FUZZ_REQUIRE(pm_message_decode(&proofmill__v1__key_request__descriptor, packed, n_packed,
                                   &again, NULL) == PM_OK);
    pm_message_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct fuzz_reader reader = {bytes, n_bytes};
    const size_t which = fuzz_take_u8(&reader) % (world_n_requests + 2);
    const ProtobufCMessageDescriptor *kind =
        which < world_n_requests ? world_requests[which] : &proofmill__v1__device__descriptor;
    pm_error error = PM_ERROR_INIT;
    ProtobufCMessage *message = NULL;
    uint8_t *exact = fuzz_take_array(&reader, reader.n_bytes);
    const size_t n_exact = n_bytes > 0 ? n_bytes - 1 : 0;
    if (which > world_n_requests) {
        check_mended(exact, n_exact);
        free(exact);
        return 0;
    }
    const pm_status status = pm_message_decode(kind, exact, n_exact, &message, &error);
    if (which == world_n_requests) { /* a kind that is for answers alone */
        FUZZ_REQUIRE(status == PM_INTERNAL && message == NULL);
    } else if (fuzz_succeeded(status, &error)) {
        check_same(kind, exact, n_exact, message);
        pm_message_free(message);
    } else {
        FUZZ_REQUIRE(status == PM_ENCODING || status == PM_COUNT || status == PM_LENGTH);
        FUZZ_REQUIRE(message == NULL);
    }
    free(exact);
    return 0;
}
