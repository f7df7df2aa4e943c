/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/service_decode.h - messages out of bytes that anybody may have sent.
 *
 * The types are those that protoc-c generates; the reader is ours. protobuf-c's own takes 40 bytes
 * of memory for each field before it knows whether the message is well formed (a message of
 * two-byte fields takes twenty times its size), copies every `bytes` field, lets the last of
 * several values win, and looks neither at UTF-8 nor at a NUL inside a string. This one looks
 * through the whole message first and then makes one allocation, of at most the message's size and
 * PM_MESSAGE_SLACK_BYTES; `bytes` fields point into the message, so that a witness is not copied.
 *
 * Refused are: what is cut off; numbers and lengths of more bytes than they can need; groups; field
 * 0; a known field of another wire type; a field twice that is not repeated, and two members of a
 * oneof; more than PM_MESSAGE_ELEMENTS_MAX elements; strings that are longer than
 * PM_MESSAGE_TEXT_BYTES_MAX, not UTF-8 or hold a NUL. Unknown fields are passed over. Numbers are
 * cut to the width of their field, and enumerations may have any value, as protobuf says.
 */
#ifndef PM_DAEMON_SERVICE_DECODE_H
#define PM_DAEMON_SERVICE_DECODE_H

#include <proofmill/engine.h>

#include <protobuf-c/protobuf-c.h>

#include <stddef.h>
#include <stdint.h>

#define PM_MESSAGE_ELEMENTS_MAX PM_ENGINE_PARTS_MAX
#define PM_MESSAGE_TEXT_BYTES_MAX 4095
#define PM_MESSAGE_SLACK_BYTES ((size_t)1 << 20)

/*
 * kind: of a message that has no fields but string, bytes, bool, enum, uint32, uint64 and message,
 * and none repeated but the last and bytes; 64 fields at most. bytes must outlive *message, which
 * is freed with pm_message_free(). Errors: ENCODING, COUNT, LENGTH (the sentence names the field,
 * never what is in it), NO_MEMORY, INTERNAL (a kind that has other fields).
 */
pm_status pm_message_decode(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes,
                            size_t n_bytes, ProtobufCMessage **message, pm_error *error);
/* Wipes it too. NULL is fine. */
void pm_message_free(ProtobufCMessage *message);

/* Of a message that is to be sent: bytes of its strings that are no UTF-8, such as a path may have,
 * become question marks where they stand. Strings that are UTF-8 are not written to. */
void pm_message_mend(const ProtobufCMessage *message);

#endif
