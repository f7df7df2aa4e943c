/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_message.c - answers of a daemon: decoded within bounds, as JSON, as words. */
#include "daemon/client_common.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * Decoding
 * ------------------------------------------------------------------------------------------- */

/* An empty message of two bytes becomes a struct of some two hundred: what an answer may take is
 * bounded by its length, with room for small ones. */
#define DECODED_BYTES_A_BYTE 8
#define DECODED_BYTES_MIN (UINT64_C(4) << 20)

struct bound {
    uint64_t left_bytes;
    bool was_reached;
};

static void *bounded_alloc(void *user, size_t n_bytes) {
    struct bound *bound = user;
    const uint64_t cost = (uint64_t)n_bytes + 16;
    if (n_bytes > SIZE_MAX - 16 || cost > bound->left_bytes) {
        bound->was_reached = true;
        return NULL;
    }
    bound->left_bytes -= cost;
    return malloc(n_bytes != 0 ? n_bytes : 1);
}

static void bounded_free(void *user, void *block) {
    (void)user; /* what was taken is not given back: the bound is on the sum */
    free(block);
}

pm_status pm_client_message_decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                   size_t n_bytes, ProtobufCMessage **message, pm_error *error) {
    struct bound bound = {.left_bytes =
                              (uint64_t)n_bytes * DECODED_BYTES_A_BYTE + DECODED_BYTES_MIN};
    ProtobufCAllocator allocator = {
        .alloc = bounded_alloc, .free = bounded_free, .allocator_data = &bound};
    *message = protobuf_c_message_unpack(type, &allocator, n_bytes, bytes);
    if (*message != NULL) {
        return PM_OK;
    }
    PM_FAIL_IF(bound.was_reached, error, PM_NO_MEMORY,
               "the answer would take more memory than a %s of %zu bytes may", type->short_name,
               n_bytes);
    PM_FAIL(error, PM_ENCODING, "the answer is no %s of proofmill.v1: %zu bytes", type->short_name,
            n_bytes);
}

void pm_client_message_free(ProtobufCMessage *message) {
    if (message != NULL) {
        ProtobufCAllocator allocator = {.alloc = bounded_alloc, .free = bounded_free};
        protobuf_c_message_free_unpacked(message, &allocator);
    }
}

/* ---------------------------------------------------------------------------------------------
 * JSON
 * ------------------------------------------------------------------------------------------- */

/* JSON is UTF-8: other bytes are shown as '?'. */
static json_t *string_json(const char *string) {
    json_t *json = json_string(string != NULL ? string : "");
    char *copy = json == NULL ? strdup(string) : NULL;
    if (copy != NULL) {
        for (char *c = copy; *c != '\0'; c++) {
            *c = (unsigned char)*c >= 0x80 ? '?' : *c;
        }
        json = json_string(copy);
        free(copy);
    }
    return json;
}

static json_t *bytes_json(const ProtobufCBinaryData *data) {
    static const char digits[] = "0123456789abcdef";
    char *text = data->len < SIZE_MAX / 4 ? malloc(data->len * 2 + 1) : NULL;
    if (text == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < data->len; i++) {
        text[2 * i] = digits[data->data[i] >> 4];
        text[2 * i + 1] = digits[data->data[i] & 15];
    }
    json_t *json = json_stringn(text, data->len * 2);
    free(text);
    return json;
}

/* jansson's integers have 63 bits; a larger number is a string of its digits. */
static json_t *number_json(uint64_t value) {
    char digits[24];
    if (value <= INT64_MAX) {
        return json_integer((json_int_t)value);
    }
    (void)snprintf(digits, sizeof digits, "%" PRIu64, value);
    return json_string(digits);
}

static json_t *enum_json(const ProtobufCEnumDescriptor *type, int value) {
    const ProtobufCEnumValue *known = protobuf_c_enum_descriptor_get_value(type, value);
    return known != NULL ? json_string(known->name) : json_integer(value);
}

/* The types that the proto uses. */
static json_t *value_json(const ProtobufCFieldDescriptor *field, const void *at) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT32:
        return json_integer(*(const uint32_t *)at);
    case PROTOBUF_C_TYPE_UINT64:
        return number_json(*(const uint64_t *)at);
    case PROTOBUF_C_TYPE_INT64:
        return json_integer((json_int_t) * (const int64_t *)at);
    case PROTOBUF_C_TYPE_DOUBLE:
        return json_real(*(const double *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_ENUM:
        return enum_json(field->descriptor, *(const int *)at);
    case PROTOBUF_C_TYPE_STRING:
        return string_json(*(char *const *)at);
    case PROTOBUF_C_TYPE_BYTES:
        return bytes_json(at);
    case PROTOBUF_C_TYPE_MESSAGE: {
        const ProtobufCMessage *message = *(ProtobufCMessage *const *)at;
        return message != NULL ? pm_client_message_json(message) : json_null();
    }
    default:
        return json_null();
    }
}

static size_t value_bytes(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return sizeof(uint32_t);
    }
}

json_t *pm_client_message_json(const ProtobufCMessage *message) {
    const char *base = (const char *)message;
    json_t *json = json_object();
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const void *at = base + field->offset, *count = base + field->quantifier_offset;
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
            *(const uint32_t *)count != field->id) {
            continue;
        }
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            (void)json_object_set_new(json, field->name, value_json(field, at));
            continue;
        }
        json_t *list = json_array();
        const size_t n = *(const size_t *)count;
        const char *values = *(const char *const *)at;
        for (size_t k = 0; k < n; k++) {
            (void)json_array_append_new(list, value_json(field, values + k * value_bytes(field)));
        }
        (void)json_object_set_new(json, field->name, list);
    }
    return json;
}

/* ---------------------------------------------------------------------------------------------
 * Words
 * ------------------------------------------------------------------------------------------- */

#define WORD(words, value)                                                                         \
    ((uint64_t)(value) < sizeof(words) / sizeof *(words) ? (words)[(value)] : "?")

const char *pm_client_state_word(Proofmill__V1__JobState state) {
    static const char *const words[] = {"queued", "preparing", "proving",  "finishing",
                                        "done",   "failed",    "cancelled"};
    return WORD(words, state);
}

const char *pm_client_priority_word(Proofmill__V1__Priority priority) {
    static const char *const words[] = {"normal", "low", "normal", "high", "critical"};
    return WORD(words, priority);
}

const char *pm_client_tier_word(Proofmill__V1__Tier tier) {
    static const char *const words[] = {"hot", "warm", "cold"};
    return WORD(words, tier);
}

const char *pm_client_curve_word(Proofmill__V1__Curve curve) {
    static const char *const words[] = {"?", "bn128", "bls12381"};
    return WORD(words, curve);
}

bool pm_client_has_ended(const Proofmill__V1__Job *job) {
    return job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE ||
           job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED ||
           job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_CANCELLED;
}

uint32_t pm_client_phase_percent(const Proofmill__V1__Job *job) {
    if (job->phase_total == 0) {
        return UINT32_MAX;
    }
    const double percent = 100.0 * (double)job->phase_done / (double)job->phase_total;
    return percent < 100 ? (uint32_t)percent : 100;
}
