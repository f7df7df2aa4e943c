/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The reader of messages beside protobuf-c's own: what ours accepts, both read alike, and what it
 * refuses is refused with a sentence that names the field.
 */
#include "daemon/service_decode.h"

#include "daemon/service_world.h"
#include "support/seeded_random.h"

#include <cuzk/v1/cuzk.pb-c.h>
#include <proofmill/v1/proofmill.pb-c.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MUTANTS 4000

static pm_status decode(const ProtobufCMessageDescriptor *kind, const void *bytes, size_t n_bytes,
                        ProtobufCMessage **message, pm_error *error) {
    *error = (pm_error)PM_ERROR_INIT;
    *message = NULL;
    const pm_status status = pm_message_decode(kind, bytes, n_bytes, message, error);
    if (status != PM_OK) {
        assert_null(*message);
        assert_int_equal(error->status, status);
        assert_true(error->message[0] != '\0');
    }
    return status;
}

static void expect_refused(const ProtobufCMessageDescriptor *kind, const void *bytes,
                           size_t n_bytes, pm_status status, const char *word) {
    ProtobufCMessage *message;
    pm_error error;
    assert_int_equal(decode(kind, bytes, n_bytes, &message, &error), status);
    if (strstr(error.message, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, word);
    }
}
#define EXPECT_REFUSED(kind, literal, status, word)                                                \
    expect_refused(&(kind), literal, sizeof(literal) - 1, status, word)

/* Ours and protobuf-c's of the same bytes. Returns whether ours accepts them. */
static bool agree(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes, size_t n_bytes) {
    ProtobufCMessage *ours;
    pm_error error;
    if (decode(kind, bytes, n_bytes, &ours, &error) != PM_OK) {
        return false;
    }
    ProtobufCMessage *theirs = protobuf_c_message_unpack(kind, NULL, n_bytes, bytes);
    assert_non_null(theirs);
    assert_true(world_is_same(ours, theirs));
    protobuf_c_message_free_unpacked(theirs, NULL);
    pm_message_free(ours);
    return true;
}

/* ---- Samples -------------------------------------------------------------------------------- */

static size_t stride(const ProtobufCFieldDescriptor *field) {
    return field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(void *);
}

static void fill_number(const ProtobufCFieldDescriptor *field, struct seeded_random *random,
                        uint8_t *place) {
    const uint64_t number = seeded_random_u64(random) >> seeded_random_below(random, 64);
    if (field->type == PROTOBUF_C_TYPE_UINT64) {
        memcpy(place, &number, 8);
    } else {
        const uint32_t cut =
            field->type == PROTOBUF_C_TYPE_BOOL ? (uint32_t)(number & 1) : (uint32_t)number;
        memcpy(place, &cut, 4);
    }
}

static ProtobufCMessage *sample(const ProtobufCMessageDescriptor *kind,
                                struct seeded_random *random);

static void fill_value(const ProtobufCFieldDescriptor *field, struct seeded_random *random,
                       uint8_t *place) {
    const size_t n = seeded_random_below(random, 200);
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        char *text = test_malloc(n + 1);
        memset(text, 'a' + (int)(n % 26), n);
        text[n] = '\0';
        memcpy(place, &text, sizeof text);
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData data = {.len = n, .data = test_malloc(n + 1)};
        seeded_random_bytes(random, data.data, n);
        memcpy(place, &data, sizeof data);
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage *inner = sample(field->descriptor, random);
        memcpy(place, &inner, sizeof inner);
    } else {
        fill_number(field, random, place);
    }
}

static void free_value(const ProtobufCFieldDescriptor *field, const uint8_t *place);

static void free_sample(ProtobufCMessage *message) {
    uint8_t *bytes = (uint8_t *)message;
    for (unsigned i = 0; i < message->descriptor->n_fields; ++i) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        uint32_t which = field->id;
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            memcpy(&which, bytes + field->quantifier_offset, sizeof which);
        }
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            uint8_t *array;
            size_t n;
            memcpy(&array, bytes + field->offset, sizeof array);
            memcpy(&n, bytes + field->quantifier_offset, sizeof n);
            for (size_t e = 0; e < n; ++e) {
                free_value(field, array + e * stride(field));
            }
            test_free(array);
        } else if (which == field->id) {
            free_value(field, bytes + field->offset);
        }
    }
    test_free(message);
}

static void free_value(const ProtobufCFieldDescriptor *field, const uint8_t *place) {
    void *pointer = NULL;
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        memcpy(&pointer, place, sizeof pointer);
        if (pointer != protobuf_c_empty_string) {
            test_free(pointer);
        }
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        memcpy(&pointer, place + offsetof(ProtobufCBinaryData, data), sizeof pointer);
        test_free(pointer);
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        memcpy(&pointer, place, sizeof pointer);
        if (pointer != NULL) {
            free_sample(pointer);
        }
    }
}

static void fill_array(const ProtobufCFieldDescriptor *field, struct seeded_random *random,
                       uint8_t *message) {
    const size_t n = seeded_random_below(random, 5);
    uint8_t *array = test_calloc(n + 1, stride(field));
    for (size_t e = 0; e < n; ++e) {
        fill_value(field, random, array + e * stride(field));
    }
    memcpy(message + field->offset, &array, sizeof array);
    memcpy(message + field->quantifier_offset, &n, sizeof n);
}

/* Fields are set or not, oneofs at most once. */
static ProtobufCMessage *sample(const ProtobufCMessageDescriptor *kind,
                                struct seeded_random *random) {
    uint8_t *message = test_malloc(kind->sizeof_message);
    protobuf_c_message_init(kind, message);
    for (unsigned i = 0; i < kind->n_fields; ++i) {
        const ProtobufCFieldDescriptor *field = &kind->fields[i];
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            fill_array(field, random, message);
        } else if (seeded_random_below(random, 4) != 0) {
            if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
                uint32_t which;
                memcpy(&which, message + field->quantifier_offset, sizeof which);
                if (which != 0) {
                    continue;
                }
                memcpy(message + field->quantifier_offset, &field->id, sizeof field->id);
            }
            fill_value(field, random, message + field->offset);
        }
    }
    return (ProtobufCMessage *)(void *)message;
}

static uint8_t *pack(const ProtobufCMessage *message, size_t *n_bytes) {
    *n_bytes = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(*n_bytes + 1);
    assert_non_null(bytes);
    (void)protobuf_c_message_pack(message, bytes);
    return bytes;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void every_request_is_read_as_it_was_written(void **state) {
    struct seeded_random random = seeded_random_from_environment();
    (void)state;
    for (size_t k = 0; k < world_n_requests; ++k) {
        for (int round = 0; round < 100; ++round) {
            ProtobufCMessage *message = sample(world_requests[k], &random), *again;
            pm_error error;
            size_t n_bytes;
            uint8_t *bytes = pack(message, &n_bytes);
            assert_int_equal(decode(world_requests[k], bytes, n_bytes, &again, &error), PM_OK);
            assert_true(world_is_same(message, again));
            assert_true(agree(world_requests[k], bytes, n_bytes));
            pm_message_free(again);
            free_sample(message);
            free(bytes);
        }
    }
}

static void mutate(struct seeded_random *random, uint8_t *bytes, size_t *n_bytes) {
    const uint64_t how = seeded_random_below(random, 4);
    if (*n_bytes == 0) {
        return;
    }
    const size_t at = seeded_random_below(random, *n_bytes);
    if (how == 0) {
        bytes[at] ^= (uint8_t)(1u << seeded_random_below(random, 8));
    } else if (how == 1) {
        bytes[at] = (uint8_t)seeded_random_u64(random);
    } else if (how == 2) {
        *n_bytes = at;
    } else {
        memmove(bytes + at, bytes + at + 1, *n_bytes - at - 1);
        --*n_bytes;
    }
}

static void mutants_are_refused_or_read_alike(void **state) {
    struct seeded_random random = seeded_random_from_environment();
    (void)state;
    for (size_t k = 0; k < world_n_requests; ++k) {
        uint32_t n_accepted = 0;
        for (int round = 0; round < MUTANTS; ++round) {
            ProtobufCMessage *message = sample(world_requests[k], &random);
            size_t n_bytes;
            uint8_t *packed = pack(message, &n_bytes);
            free_sample(message);
            for (uint64_t n = 1 + seeded_random_below(&random, 3); n > 0; --n) {
                mutate(&random, packed, &n_bytes);
            }
            uint8_t *exact = malloc(n_bytes != 0 ? n_bytes : 1);
            assert_non_null(exact);
            memcpy(exact, packed, n_bytes);
            n_accepted += agree(world_requests[k], exact, n_bytes);
            free(exact);
            free(packed);
        }
        assert_true(n_accepted > 0);
        if (world_requests[k]->n_fields > 0) {
            assert_true(n_accepted < MUTANTS);
        }
    }
}

#define SUBMIT proofmill__v1__submit_request__descriptor
#define INPUT proofmill__v1__input__descriptor
#define AWAIT proofmill__v1__await_request__descriptor

static void what_is_malformed_is_refused(void **state) {
    (void)state;
    EXPECT_REFUSED(SUBMIT, "\x0a", PM_ENCODING, "cut off");      /* no length */
    EXPECT_REFUSED(SUBMIT, "\x0a\x02k", PM_ENCODING, "cut off"); /* too short */
    EXPECT_REFUSED(SUBMIT, "\x0a\xff\xff\xff\xff\x0fk", PM_ENCODING, "cut off");
    EXPECT_REFUSED(SUBMIT, "\x0a\x81\x80\x80\x80\x80\x00k", PM_ENCODING, "cut off");
    EXPECT_REFUSED(SUBMIT, "\x28", PM_ENCODING, "cut off"); /* no number */
    EXPECT_REFUSED(SUBMIT, "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", PM_ENCODING, "cut off");
    EXPECT_REFUSED(SUBMIT, "\x28\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", PM_ENCODING,
                   "cut off");
    EXPECT_REFUSED(SUBMIT, "\x00\x00", PM_ENCODING, "SubmitRequest"); /* field 0 */
    EXPECT_REFUSED(SUBMIT, "\x80\x80\x80\x80\x10\x00", PM_ENCODING, "SubmitRequest");
    EXPECT_REFUSED(SUBMIT, "\x33\x34", PM_ENCODING, "SubmitRequest");     /* a group */
    EXPECT_REFUSED(SUBMIT, "\x36", PM_ENCODING, "SubmitRequest");         /* wire type 6 */
    EXPECT_REFUSED(SUBMIT, "\x31\x01", PM_ENCODING, "cut off");           /* 64 bits */
    EXPECT_REFUSED(SUBMIT, "\x35\x01", PM_ENCODING, "cut off");           /* 32 bits */
    EXPECT_REFUSED(SUBMIT, "\x12\x02\x12\x01", PM_ENCODING, "Input");     /* inside */
    EXPECT_REFUSED(SUBMIT, "\x08\x01", PM_ENCODING, "SubmitRequest.key"); /* wire types */
    EXPECT_REFUSED(SUBMIT, "\x2a\x01\x01", PM_ENCODING, "SubmitRequest.timeout_ms");
    EXPECT_REFUSED(SUBMIT, "\x0d\x01\x01\x01\x01", PM_ENCODING, "SubmitRequest.key");
    EXPECT_REFUSED(SUBMIT, "\x0a\x01k\x0a\x01k", PM_ENCODING, "SubmitRequest.key is set twice");
    EXPECT_REFUSED(INPUT, "\x0a\x01/\x12\x01.", PM_ENCODING, "Input.data is set twice, or beside");
    EXPECT_REFUSED(AWAIT, "\x12\x01r\x08\x01", PM_ENCODING, "AwaitRequest.job is set twice, or");
    EXPECT_REFUSED(SUBMIT, "\x0a\x02k\x00", PM_ENCODING, "NUL");
    EXPECT_REFUSED(SUBMIT, "\x0a\x02k\xff", PM_ENCODING, "not UTF-8");
}

static void what_is_unknown_is_passed_over(void **state) {
    static const char bytes[] = "\x0a\x01k\x30\x05\x39"
                                "12345678"
                                "\x3d"
                                "1234\x42\x03xyz\xf8\xff\xff\xff\x0f\x01\x28\x07";
    Proofmill__V1__SubmitRequest *request;
    ProtobufCMessage *message;
    pm_error error;
    (void)state;
    assert_int_equal(decode(&SUBMIT, bytes, sizeof bytes - 1, &message, &error), PM_OK);
    request = (Proofmill__V1__SubmitRequest *)message;
    assert_string_equal(request->key, "k");
    assert_int_equal(request->timeout_ms, 7);
    assert_int_equal(message->n_unknown_fields, 0);
    pm_message_free(message);
    assert_true(agree(&SUBMIT, (const uint8_t *)bytes, sizeof bytes - 1));
    pm_message_free(NULL);
}

static void numbers_are_cut_to_their_width(void **state) {
    /* priority -1 as ten bytes, 2^32 + 3; a bool of 2; the largest number. */
    static const uint8_t negative[] = {0x18, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0x01};
    static const uint8_t wide[] = {0x18, 0x83, 0x80, 0x80, 0x80, 0x10};
    static const uint8_t two[] = {0x18, 0x82, 0x00};
    static const uint8_t largest[] = {0x28, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0x01};
    ProtobufCMessage *message;
    pm_error error;
    (void)state;
    assert_int_equal(decode(&SUBMIT, negative, sizeof negative, &message, &error), PM_OK);
    assert_int_equal((int)((Proofmill__V1__SubmitRequest *)message)->priority, -1);
    pm_message_free(message);
    assert_int_equal(decode(&SUBMIT, wide, sizeof wide, &message, &error), PM_OK);
    assert_int_equal((int)((Proofmill__V1__SubmitRequest *)message)->priority, 3);
    pm_message_free(message);
    assert_int_equal(
        decode(&proofmill__v1__submit_chunk__descriptor, two, sizeof two, &message, &error), PM_OK);
    assert_int_equal(((Proofmill__V1__SubmitChunk *)message)->begins_part, 1);
    pm_message_free(message);
    assert_int_equal(decode(&SUBMIT, largest, sizeof largest, &message, &error), PM_OK);
    assert_true(((Proofmill__V1__SubmitRequest *)message)->timeout_ms == UINT64_MAX);
    pm_message_free(message);
}

static void elements_and_texts_are_bounded(void **state) {
    const size_t n_large = (size_t)16 << 20;
    uint8_t *bytes = malloc(n_large);
    ProtobufCMessage *message;
    pm_error error;
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < n_large; i += 2) {
        bytes[i] = 0x12; /* inputs, each empty */
        bytes[i + 1] = 0;
    }
    assert_int_equal(decode(&SUBMIT, bytes, 2 * PM_MESSAGE_ELEMENTS_MAX, &message, &error), PM_OK);
    assert_int_equal(((Proofmill__V1__SubmitRequest *)message)->n_inputs, PM_MESSAGE_ELEMENTS_MAX);
    pm_message_free(message);
    expect_refused(&SUBMIT, bytes, 2 * PM_MESSAGE_ELEMENTS_MAX + 2, PM_COUNT,
                   "SubmitRequest.inputs");
    expect_refused(&SUBMIT, bytes, n_large, PM_COUNT, "SubmitRequest.inputs");
    for (size_t i = 0; i < n_large; i += 2) {
        bytes[i] = 0x7a; /* a field that is not known takes no memory */
    }
    assert_int_equal(decode(&SUBMIT, bytes, n_large, &message, &error), PM_OK);
    pm_message_free(message);
    memcpy(bytes, "\x0a\xff\x1f", 3);
    memset(bytes + 3, 'k', PM_MESSAGE_TEXT_BYTES_MAX + 1);
    assert_int_equal(decode(&SUBMIT, bytes, 3 + PM_MESSAGE_TEXT_BYTES_MAX, &message, &error),
                     PM_OK);
    pm_message_free(message);
    memcpy(bytes, "\x0a\x80\x20", 3);
    expect_refused(&SUBMIT, bytes, 3 + PM_MESSAGE_TEXT_BYTES_MAX + 1, PM_LENGTH,
                   "SubmitRequest.key has 4096 bytes");
    free(bytes);
}

static void data_is_not_copied(void **state) {
    static const char bytes[] = "\x12\x06\x12\x04"
                                "data\x12\x02\x12\x00";
    ProtobufCMessage *message;
    pm_error error;
    (void)state;
    assert_int_equal(decode(&SUBMIT, bytes, sizeof bytes - 1, &message, &error), PM_OK);
    const Proofmill__V1__SubmitRequest *request = (Proofmill__V1__SubmitRequest *)message;
    assert_int_equal(request->n_inputs, 2);
    assert_int_equal(request->inputs[0]->from_case, PROOFMILL__V1__INPUT__FROM_DATA);
    assert_ptr_equal(request->inputs[0]->data.data, bytes + 4);
    assert_int_equal(request->inputs[0]->data.len, 4);
    assert_int_equal(request->inputs[1]->from_case, PROOFMILL__V1__INPUT__FROM_DATA);
    assert_int_equal(request->inputs[1]->data.len, 0);
    pm_message_free(message);
}

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

static size_t encode(uint32_t point, size_t n, uint8_t *out) {
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; --i) {
        out[i] = (uint8_t)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (uint8_t)(lead[n] | point);
    return n;
}

static bool is_text(const uint8_t *text, size_t n) {
    uint8_t bytes[16] = {0x0a, (uint8_t)n};
    ProtobufCMessage *message;
    pm_error error;
    memcpy(bytes + 2, text, n);
    const bool is_read = decode(&SUBMIT, bytes, n + 2, &message, &error) == PM_OK;
    pm_message_free(message);
    return is_read;
}

static void text_is_utf8(void **state) {
    uint8_t text[8];
    (void)state;
    for (uint32_t point = 1; point < 0x120000; ++point) {
        const size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        const bool is_good = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        if (is_text(text, encode(point, n, text)) != is_good) {
            fail_msg("U+%04X", (unsigned)point);
        }
        if (n > 1) { /* cut off, and followed by something else */
            assert_false(is_text(text, n - 1));
            text[n - 1] = 'a';
            assert_false(is_text(text, n));
        }
        if (n < 4) { /* longer than it must be */
            assert_false(is_text(text, encode(point, n + 1, text)));
        }
    }
    for (unsigned byte = 0x80; byte < 0x100; ++byte) {
        text[0] = (uint8_t)byte;
        assert_false(is_text(text, 1));
    }
}

static void what_goes_out_is_utf8(void **state) {
    Proofmill__V1__ListKeysResponse answer = PROOFMILL__V1__LIST_KEYS_RESPONSE__INIT;
    Proofmill__V1__Key key = PROOFMILL__V1__KEY__INIT;
    Proofmill__V1__Key *keys[] = {&key};
    char path[] = "/keys/\xc3\xa9/\xe9.zkey\xc3", device[] = "c\xffpu";
    char *devices[] = {device};
    (void)state;
    key.path = path;
    key.devices = devices;
    key.n_devices = 1;
    answer.keys = keys;
    answer.n_keys = 1;
    pm_message_mend(&answer.base);
    assert_string_equal(path, "/keys/\xc3\xa9/?.zkey?");
    assert_string_equal(device, "c?pu");
    assert_string_equal(key.name, "");
}

/* ---- Kinds ---------------------------------------------------------------------------------- */

static void other_kinds_are_not_read(void **state) {
    ProtobufCMessage *message;
    pm_error error;
    (void)state;
    for (size_t k = 0; k < world_n_requests; ++k) {
        assert_int_equal(decode(world_requests[k], "", 0, &message, &error), PM_OK);
        assert_ptr_equal(message->descriptor, world_requests[k]);
        pm_message_free(message);
    }
    /* It has repeated numbers. */
    assert_int_equal(decode(&proofmill__v1__device__descriptor, "", 0, &message, &error),
                     PM_INTERNAL);
    /* And repeated strings. */
    assert_int_equal(decode(&proofmill__v1__key__descriptor, "", 0, &message, &error), PM_INTERNAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_read_as_it_was_written),
        cmocka_unit_test(mutants_are_refused_or_read_alike),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(what_is_unknown_is_passed_over),
        cmocka_unit_test(numbers_are_cut_to_their_width),
        cmocka_unit_test(elements_and_texts_are_bounded),
        cmocka_unit_test(data_is_not_copied),
        cmocka_unit_test(text_is_utf8),
        cmocka_unit_test(what_goes_out_is_utf8),
        cmocka_unit_test(other_kinds_are_not_read),
    };
    return cmocka_run_group_tests_name("daemon/service_decode", tests, NULL, NULL);
}
