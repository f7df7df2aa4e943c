/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_decode.h"

#include "base/characters.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64
/* Of a key with its wire type, and of a length. */
#define SHORT_VARINT_BYTES 5
#define VARINT_BYTES 10

struct bytes {
    const uint8_t *at, *end;
};

/* One field as it stands in the message. */
struct field {
    const ProtobufCFieldDescriptor *known; /* NULL: not one of this kind */
    unsigned index;                        /* of known */
    uint32_t wire;                         /* a ProtobufCWireType */
    uint64_t number;                       /* of a varint */
    struct bytes inside;                   /* of a length-prefixed one */
};

static size_t left(const struct bytes *bytes) {
    return (size_t)(bytes->end - bytes->at);
}

/* ---- Wire format ---------------------------------------------------------------------------- */

static bool read_varint(struct bytes *bytes, unsigned n_bytes_max, uint64_t *value) {
    *value = 0;
    for (unsigned i = 0; i < n_bytes_max && bytes->at < bytes->end; ++i) {
        const uint8_t byte = *bytes->at++;
        if (i == VARINT_BYTES - 1 && byte > 1) {
            return false; /* more than 64 bits */
        }
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

static bool skip(struct bytes *bytes, uint64_t n) {
    if (n > left(bytes)) {
        return false;
    }
    bytes->at += n;
    return true;
}

static bool read_value(struct bytes *bytes, struct field *field) {
    uint64_t n;
    switch (field->wire) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return read_varint(bytes, VARINT_BYTES, &field->number);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        return skip(bytes, 8);
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        return skip(bytes, 4);
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        if (!read_varint(bytes, SHORT_VARINT_BYTES, &n)) {
            return false;
        }
        field->inside.at = bytes->at;
        if (!skip(bytes, n)) {
            return false;
        }
        field->inside.end = bytes->at;
        return true;
    default:
        return false; /* groups, and what is no wire type */
    }
}

static void look_up(const ProtobufCMessageDescriptor *kind, uint64_t id, struct field *field) {
    for (unsigned i = 0; i < kind->n_fields; ++i) {
        if (kind->fields[i].id == id) {
            field->known = &kind->fields[i];
            field->index = i;
            return;
        }
    }
}

static bool next_field(const ProtobufCMessageDescriptor *kind, struct bytes *bytes,
                       struct field *field) {
    uint64_t tag;
    *field = (struct field){0};
    if (!read_varint(bytes, SHORT_VARINT_BYTES, &tag) || tag > UINT32_MAX || tag >> 3 == 0) {
        return false;
    }
    field->wire = (uint32_t)(tag & 7);
    look_up(kind, tag >> 3, field);
    return read_value(bytes, field);
}

/* ---- Looking through ------------------------------------------------------------------------ */

static size_t aligned(size_t n) {
    const size_t step = alignof(max_align_t);
    return (n + step - 1) / step * step;
}

static bool is_number(ProtobufCType type) {
    return type == PROTOBUF_C_TYPE_ENUM || type == PROTOBUF_C_TYPE_UINT32 ||
           type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_BOOL;
}

static bool is_prefixed(ProtobufCType type) {
    return type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES ||
           type == PROTOBUF_C_TYPE_MESSAGE;
}

static size_t element_bytes(ProtobufCType type) {
    return type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(void *);
}

static bool is_text(struct bytes text) {
    while (text.at < text.end) {
        const size_t n = pm_utf8_bytes(text.at, left(&text));
        if (n == 0 || text.at[0] == 0) {
            return false;
        }
        text.at += n;
    }
    return true;
}

static pm_status measure(const ProtobufCMessageDescriptor *kind, struct bytes bytes, size_t *total,
                         pm_error *error);

static pm_status measure_value(const ProtobufCMessageDescriptor *kind, const struct field *field,
                               size_t *total, pm_error *error) {
    const ProtobufCFieldDescriptor *known = field->known;
    switch (known->type) {
    case PROTOBUF_C_TYPE_STRING:
        PM_FAIL_IF(left(&field->inside) > PM_MESSAGE_TEXT_BYTES_MAX, error, PM_LENGTH,
                   "%s.%s has %zu bytes, at most %d are read", kind->short_name, known->name,
                   left(&field->inside), PM_MESSAGE_TEXT_BYTES_MAX);
        PM_FAIL_IF(!is_text(field->inside), error, PM_ENCODING,
                   "%s.%s is no text: it is not UTF-8, or it holds a NUL", kind->short_name,
                   known->name);
        *total += aligned(left(&field->inside) + 1);
        return PM_OK;
    case PROTOBUF_C_TYPE_MESSAGE:
        return measure(known->descriptor, field->inside, total, error);
    default:
        return PM_OK; /* numbers and bytes take none of their own */
    }
}

/* Members of a oneof share the place that says which of them is set. */
static uint64_t excludes(const ProtobufCMessageDescriptor *kind, unsigned index) {
    const ProtobufCFieldDescriptor *field = &kind->fields[index];
    uint64_t mask = UINT64_C(1) << index;
    for (unsigned i = 0; (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 && i < kind->n_fields;
         ++i) {
        const ProtobufCFieldDescriptor *other = &kind->fields[i];
        if ((other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 &&
            other->quantifier_offset == field->quantifier_offset) {
            mask |= UINT64_C(1) << i;
        }
    }
    return mask;
}

static pm_status check_kind(const ProtobufCMessageDescriptor *kind, pm_error *error) {
    bool is_read = kind->n_fields <= FIELDS_MAX;
    for (unsigned i = 0; is_read && i < kind->n_fields; ++i) {
        const ProtobufCFieldDescriptor *field = &kind->fields[i];
        const bool is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        is_read = is_prefixed(field->type) ||
                  (is_number(field->type) && field->label == PROTOBUF_C_LABEL_NONE);
        is_read &= is_repeated ? field->type != PROTOBUF_C_TYPE_STRING
                               : field->label == PROTOBUF_C_LABEL_NONE ||
                                     field->type == PROTOBUF_C_TYPE_MESSAGE;
    }
    PM_FAIL_IF(!is_read, error, PM_INTERNAL, "%s has fields that are not read", kind->short_name);
    return PM_OK;
}

static pm_status measure_field(const ProtobufCMessageDescriptor *kind, const struct field *field,
                               uint64_t *taken, uint32_t *n_elements, pm_error *error) {
    const ProtobufCFieldDescriptor *known = field->known;
    const uint32_t wire = is_prefixed(known->type) ? PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED
                                                   : PROTOBUF_C_WIRE_TYPE_VARINT;
    PM_FAIL_IF(field->wire != wire, error, PM_ENCODING, "%s.%s is of another wire type",
               kind->short_name, known->name);
    if (known->label == PROTOBUF_C_LABEL_REPEATED) {
        PM_FAIL_IF(++*n_elements > PM_MESSAGE_ELEMENTS_MAX, error, PM_COUNT,
                   "%s.%s has more than %d elements", kind->short_name, known->name,
                   PM_MESSAGE_ELEMENTS_MAX);
        return PM_OK;
    }
    PM_FAIL_IF((*taken >> field->index & 1) != 0, error, PM_ENCODING,
               "%s.%s is set twice, or beside another field that excludes it", kind->short_name,
               known->name);
    *taken |= excludes(kind, field->index);
    return PM_OK;
}

/* Adds to *total what the message will take. Kinds of messages are not recursive, so this ends. */
static pm_status measure(const ProtobufCMessageDescriptor *kind, struct bytes bytes, size_t *total,
                         pm_error *error) {
    uint32_t n_elements[FIELDS_MAX] = {0};
    uint64_t taken = 0;
    PM_TRY(check_kind(kind, error));
    *total += aligned(kind->sizeof_message);
    while (bytes.at < bytes.end) {
        struct field field;
        PM_FAIL_IF(!next_field(kind, &bytes, &field), error, PM_ENCODING,
                   "the message is malformed or cut off: %zu bytes of a %s cannot be read",
                   left(&bytes), kind->short_name);
        if (field.known != NULL) {
            PM_TRY(measure_field(kind, &field, &taken, &n_elements[field.index], error));
            PM_TRY(measure_value(kind, &field, total, error));
        }
    }
    for (unsigned i = 0; i < kind->n_fields; ++i) {
        *total += aligned(n_elements[i] * element_bytes(kind->fields[i].type));
    }
    return PM_OK;
}

/* ---- Filling in ----------------------------------------------------------------------------- */

/* What was measured, as one block. */
struct holder {
    alignas(max_align_t) size_t n_bytes; /* this struct included */
};

static void *take(uint8_t **memory, size_t n) {
    void *taken = *memory;
    *memory += aligned(n);
    return taken;
}

static ProtobufCMessage *fill(const ProtobufCMessageDescriptor *kind, struct bytes bytes,
                              uint8_t **memory);

static void store_number(ProtobufCType type, uint64_t number, uint8_t *place) {
    if (type == PROTOBUF_C_TYPE_UINT64) {
        memcpy(place, &number, sizeof number);
    } else {
        /* protobuf_c_boolean and enumerations are ints. */
        const uint32_t cut =
            type == PROTOBUF_C_TYPE_BOOL ? (uint32_t)(number != 0) : (uint32_t)number;
        memcpy(place, &cut, sizeof cut);
    }
}

static void store(const struct field *field, uint8_t *place, uint8_t **memory) {
    const size_t n = left(&field->inside);
    if (field->known->type == PROTOBUF_C_TYPE_STRING) {
        char *text = take(memory, n + 1);
        memcpy(text, field->inside.at, n);
        text[n] = '\0';
        memcpy(place, &text, sizeof text);
    } else if (field->known->type == PROTOBUF_C_TYPE_BYTES) {
        /* The type has no const; nobody writes to it. */
        const ProtobufCBinaryData data = {
            .len = n, .data = n != 0 ? (uint8_t *)(uintptr_t)field->inside.at : NULL};
        memcpy(place, &data, sizeof data);
    } else if (field->known->type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage *inner = fill(field->known->descriptor, field->inside, memory);
        memcpy(place, &inner, sizeof inner);
    } else {
        store_number(field->known->type, field->number, place);
    }
}

static size_t *count_of(uint8_t *message, const ProtobufCFieldDescriptor *field) {
    return (size_t *)(void *)(message + field->quantifier_offset);
}

static void make_arrays(const ProtobufCMessageDescriptor *kind, struct bytes bytes,
                        uint8_t *message, uint8_t **memory) {
    uint32_t n_elements[FIELDS_MAX] = {0};
    struct field field;
    while (bytes.at < bytes.end && next_field(kind, &bytes, &field)) {
        if (field.known != NULL && field.known->label == PROTOBUF_C_LABEL_REPEATED) {
            ++n_elements[field.index];
        }
    }
    for (unsigned i = 0; i < kind->n_fields; ++i) {
        if (n_elements[i] != 0) {
            void *array = take(memory, n_elements[i] * element_bytes(kind->fields[i].type));
            memcpy(message + kind->fields[i].offset, &array, sizeof array);
        }
    }
}

/* Of bytes that were looked through: nothing can fail any more. */
static ProtobufCMessage *fill(const ProtobufCMessageDescriptor *kind, struct bytes bytes,
                              uint8_t **memory) {
    uint8_t *message = take(memory, kind->sizeof_message);
    struct field field;
    protobuf_c_message_init(kind, message);
    make_arrays(kind, bytes, message, memory);
    while (bytes.at < bytes.end && next_field(kind, &bytes, &field)) {
        const ProtobufCFieldDescriptor *known = field.known;
        if (known == NULL) {
            continue;
        }
        uint8_t *place = message + known->offset;
        if (known->label == PROTOBUF_C_LABEL_REPEATED) {
            uint8_t *array;
            memcpy(&array, place, sizeof array);
            place = array + (*count_of(message, known))++ * element_bytes(known->type);
        } else if ((known->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            memcpy(message + known->quantifier_offset, &known->id, sizeof known->id);
        }
        store(&field, place, memory);
    }
    return (ProtobufCMessage *)(void *)message;
}

pm_status pm_message_decode(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes,
                            size_t n_bytes, ProtobufCMessage **message, pm_error *error) {
    const struct bytes all = {bytes, bytes + n_bytes};
    size_t total = sizeof(struct holder);
    PM_TRY(measure(kind, all, &total, error));
    struct holder *holder = calloc(1, total);
    PM_FAIL_IF(holder == NULL, error, PM_NO_MEMORY, "no memory for a message (%zu bytes)", total);
    uint8_t *memory = (uint8_t *)(holder + 1);
    holder->n_bytes = total;
    *message = fill(kind, all, &memory);
    return PM_OK;
}

void pm_message_free(ProtobufCMessage *message) {
    if (message != NULL) {
        struct holder *holder = (struct holder *)(void *)message - 1;
        pm_memory_wipe(holder, holder->n_bytes);
        free(holder);
    }
}

/* ---- On the way out ------------------------------------------------------------------------- */

static void mend_text(char *text) {
    const size_t n_bytes = strlen(text);
    size_t at = 0;
    while (at < n_bytes) {
        const size_t n = pm_utf8_bytes(text + at, n_bytes - at);
        if (n == 0) {
            text[at] = '?';
        }
        at += n != 0 ? n : 1;
    }
}

static void mend_value(ProtobufCType type, const uint8_t *place) {
    if (type == PROTOBUF_C_TYPE_STRING) {
        char *text;
        memcpy(&text, place, sizeof text);
        if (text != NULL) {
            mend_text(text);
        }
    } else if (type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *inner;
        memcpy(&inner, place, sizeof inner);
        if (inner != NULL) {
            pm_message_mend(inner);
        }
    }
}

void pm_message_mend(const ProtobufCMessage *message) {
    const uint8_t *bytes = (const uint8_t *)message;
    for (unsigned i = 0; i < message->descriptor->n_fields; ++i) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const uint8_t *place = bytes + field->offset;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            /* Requests alone have a oneof. */
            mend_value(field->type, place);
        } else if (field->type == PROTOBUF_C_TYPE_STRING ||
                   field->type == PROTOBUF_C_TYPE_MESSAGE) {
            const uint8_t *array;
            size_t n;
            memcpy(&array, place, sizeof array);
            memcpy(&n, bytes + field->quantifier_offset, sizeof n);
            for (size_t e = 0; e < n; ++e) {
                mend_value(field->type, array + e * sizeof(void *));
            }
        }
    }
}
