/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests as @grpc/grpc-js writes them, SERVICE.MESSAGE.CASE.bin in test/daemon/golden, read by
 * the daemon's decoders: nothing is unknown, and what was read is written again as the same bytes,
 * so that no field has another number or type than there. golden_requests.mjs made them.
 */
#include "daemon/service_decode.h"

#include "support/fixture.h"

#include <cuzk/v1/cuzk.pb-c.h>
#include <proofmill/v1/proofmill.pb-c.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOLDER PM_SOURCE_DIR "/test/daemon/golden"

static const ProtobufCMessageDescriptor *const messages[] = {
    &cuzk__v1__submit_proof_request__descriptor,
    &cuzk__v1__await_proof_request__descriptor,
    &cuzk__v1__prove_request__descriptor,
    &cuzk__v1__cancel_proof_request__descriptor,
    &cuzk__v1__preload_srs_request__descriptor,
    &cuzk__v1__evict_srs_request__descriptor,
    &proofmill__v1__submit_request__descriptor,
    &proofmill__v1__submit_chunk__descriptor,
    &proofmill__v1__await_request__descriptor,
    &proofmill__v1__job_request__descriptor,
    &proofmill__v1__list_jobs_request__descriptor,
    &proofmill__v1__key_request__descriptor,
    &proofmill__v1__register_key_request__descriptor,
    &proofmill__v1__plan_request__descriptor,
    &proofmill__v1__device_request__descriptor,
};
enum { N_MESSAGES = sizeof messages / sizeof messages[0] };

static uint8_t *read_golden(const char *name, size_t *n_bytes) {
    char path[512];
    (void)snprintf(path, sizeof path, FOLDER "/%s", name);
    return (uint8_t *)pm_test_read_file(path, n_bytes);
}

/* Of "cuzk.ProveRequest.porep.bin" the message ProveRequest. */
static uint32_t message_of(const char *file) {
    const char *name = strchr(file, '.');
    assert_non_null(name);
    ++name;
    const size_t length = strcspn(name, ".");
    for (uint32_t i = 0; i < N_MESSAGES; ++i) {
        const char *known = messages[i]->short_name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return i;
        }
    }
    fail_msg("%s: no such message", file);
    return 0;
}

static void check_golden(const char *file, uint32_t index) {
    size_t n_bytes = 0;
    uint8_t *bytes = read_golden(file, &n_bytes);
    ProtobufCMessage *message = NULL;
    pm_error error = PM_ERROR_INIT;
    if (pm_message_decode(messages[index], bytes, n_bytes, &message, &error) != PM_OK) {
        fail_msg("%s: %s", file, error.message);
    }
    assert_int_equal(message->n_unknown_fields, 0);
    assert_int_equal(protobuf_c_message_get_packed_size(message), n_bytes);
    uint8_t *again = malloc(n_bytes + 1);
    assert_non_null(again);
    assert_int_equal(protobuf_c_message_pack(message, again), n_bytes);
    assert_memory_equal(again, bytes, n_bytes);
    pm_message_free(message);
    free(again);
    free(bytes);
}

static void every_file_is_read_and_written_again(void **state) {
    (void)state;
    uint32_t n_of[N_MESSAGES] = {0};
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".bin") == 0) {
            const uint32_t index = message_of(entry->d_name);
            check_golden(entry->d_name, index);
            ++n_of[index];
        }
    }
    (void)closedir(folder);
    for (uint32_t i = 0; i < N_MESSAGES; ++i) {
        if (n_of[i] == 0) {
            fail_msg("%s: not one file", messages[i]->name);
        }
    }
}

static void assert_bytes(const ProtobufCBinaryData *data, size_t length, uint8_t first) {
    assert_int_equal(data->len, length);
    for (size_t i = 0; i < length; ++i) {
        assert_int_equal(data->data[i], (uint8_t)(first + i));
    }
}

static void *decode_golden(const char *file, const ProtobufCMessageDescriptor *kind,
                           uint8_t **bytes) {
    size_t n_bytes = 0;
    ProtobufCMessage *message = NULL;
    *bytes = read_golden(file, &n_bytes);
    assert_int_equal(pm_message_decode(kind, *bytes, n_bytes, &message, NULL), PM_OK);
    return message;
}

/* The values, as they stand in golden_requests.mjs. */
static void fields_have_the_values_that_were_sent(void **state) {
    (void)state;
    uint8_t *bytes;
    Cuzk__V1__SubmitProofRequest *post = decode_golden(
        "cuzk.SubmitProofRequest.wdpost.bin", &cuzk__v1__submit_proof_request__descriptor, &bytes);
    assert_string_equal(post->request_id, "wdpost-1000-2-[1 2 3 4 5 6 7 8]");
    assert_int_equal(post->proof_kind, CUZK__V1__PROOF_KIND__WINDOW_POST_PARTITION);
    assert_int_equal(post->registered_proof, 13);
    assert_int_equal(post->priority, CUZK__V1__PRIORITY__HIGH);
    assert_int_equal(post->miner_id, 1000);
    assert_int_equal(post->partition_index, 2);
    assert_int_equal(post->n_vanilla_proofs, 3);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_bytes(&post->vanilla_proofs[i], 40, (uint8_t)(40 * i));
    }
    assert_bytes(&post->randomness, 32, 100);
    pm_message_free(&post->base);
    free(bytes);

    Proofmill__V1__SubmitRequest *submit = decode_golden(
        "prover.SubmitRequest.paths.bin", &proofmill__v1__submit_request__descriptor, &bytes);
    assert_int_equal(submit->n_inputs, 2);
    assert_int_equal(submit->inputs[1]->from_case, PROOFMILL__V1__INPUT__FROM_PATH);
    assert_string_equal(submit->inputs[1]->path, "/nowhere/b.wtns");
    assert_int_equal(submit->priority, PROOFMILL__V1__PRIORITY__PRIORITY_CRITICAL);
    assert_int_equal(submit->timeout_ms, 86400000);
    pm_message_free(&submit->base);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_read_and_written_again),
        cmocka_unit_test(fields_have_the_values_that_were_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
