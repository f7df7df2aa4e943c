/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_submit.c - a job is handed over: by the paths of its inputs, or by their bytes. */
#include "daemon/client_common.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of an input, in a message of its own. */
#define CHUNK_BYTES ((size_t)1 << 20)

static void fill_request(const struct pm_client *client, Proofmill__V1__SubmitRequest *request) {
    const struct pm_client_options *given = &client->options;
    proofmill__v1__submit_request__init(request);
    request->key = (char *)(uintptr_t)given->words[0];
    request->priority = given->priority;
    request->timeout_ms = given->timeout_ms;
    if (given->request_id != NULL) {
        request->request_id = (char *)(uintptr_t)given->request_id;
    }
}

/* ---------------------------------------------------------------------------------------------
 * By path
 * ------------------------------------------------------------------------------------------- */

static pm_status submit_paths(struct pm_client *client, ProtobufCMessage **answer) {
    const size_t n = client->options.n_words - 1;
    Proofmill__V1__SubmitRequest request;
    Proofmill__V1__Input *inputs = calloc(n, sizeof *inputs);
    Proofmill__V1__Input **pointers = calloc(n, sizeof(Proofmill__V1__Input *));
    pm_status status = inputs != NULL && pointers != NULL
                           ? PM_OK
                           : pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n && status == PM_OK; i++) {
        const char *path = client->options.words[i + 1];
        proofmill__v1__input__init(&inputs[i]);
        pointers[i] = &inputs[i];
        inputs[i].from_case = PROOFMILL__V1__INPUT__FROM_PATH;
        status = strcmp(path, "-") == 0
                     ? pm_client_usage(client, "standard input has no path: it is sent with "
                                               "--upload")
                     : pm_client_absolute(client, path, &inputs[i].path);
    }
    if (status == PM_OK) {
        fill_request(client, &request);
        request.n_inputs = n;
        request.inputs = pointers;
        status = pm_client_ask(client, "Submit", &request.base,
                               &proofmill__v1__submit_response__descriptor, 0, answer);
    }
    for (size_t i = 0; inputs != NULL && i < n; i++) {
        free(inputs[i].path);
    }
    free(inputs);
    free(pointers);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * By bytes
 * ------------------------------------------------------------------------------------------- */

struct upload {
    struct pm_client *client;
    struct pm_client_stream *stream;
    uint8_t *buffer;                  /* CHUNK_BYTES, wiped when it is freed */
    uint64_t sent_bytes, total_bytes; /* of all files; total 0: not known */
    bool shows, is_drawn;
    bool is_over; /* the daemon has ended the call: its status says why */
};

static void show_upload(struct upload *upload) {
    char sent[PM_CLIENT_SIZE_CHARS];
    if (!upload->shows) {
        return;
    }
    if (upload->total_bytes != 0) {
        (void)fprintf(stderr, "\r\033[Ksending %s, %u %%",
                      pm_client_size_text(upload->sent_bytes, sent),
                      (unsigned)(100.0 * (double)upload->sent_bytes / (double)upload->total_bytes));
    } else {
        (void)fprintf(stderr, "\r\033[Ksending %s", pm_client_size_text(upload->sent_bytes, sent));
    }
    (void)fflush(stderr);
    upload->is_drawn = true;
}

/* Where the file is a pipe its writer may let us wait for ever; a signal ends that. */
static pm_status await_bytes(const struct upload *upload, int file) {
    struct pollfd input = {.fd = file, .events = POLLIN};
    while (poll(&input, 1, PM_PROGRESS_INTERVAL_MS) <= 0) {
        if (pm_client_signal() != 0) {
            return pm_client_fail(upload->client, PM_CANCELLED, "stopped");
        }
    }
    return PM_OK;
}

/* Fills the buffer as far as the file goes. */
static pm_status read_chunk(struct upload *upload, int file, const char *path, size_t *n_bytes) {
    *n_bytes = 0;
    while (*n_bytes < CHUNK_BYTES) {
        PM_TRY(await_bytes(upload, file));
        const ssize_t n = read(file, upload->buffer + *n_bytes, CHUNK_BYTES - *n_bytes);
        if (n > 0) {
            *n_bytes += (size_t)n;
        } else if (n == 0) {
            break;
        } else if (errno != EINTR) {
            return pm_client_fail(upload->client, PM_IO, "%s: %s", path, strerror(errno));
        }
    }
    return PM_OK;
}

static pm_status send_file(struct upload *upload, int file, const char *path, uint64_t part_bytes) {
    bool is_first = true;
    for (size_t n = CHUNK_BYTES; n == CHUNK_BYTES && !upload->is_over;) {
        Proofmill__V1__SubmitChunk chunk = PROOFMILL__V1__SUBMIT_CHUNK__INIT;
        PM_TRY(read_chunk(upload, file, path, &n));
        if (n == 0 && !is_first) {
            break;
        }
        if (n == 0) {
            return pm_client_fail(upload->client, PM_TRUNCATED, "%s: the file is empty", path);
        }
        chunk.data = (ProtobufCBinaryData){n, upload->buffer};
        chunk.begins_part = is_first;
        chunk.part_bytes = is_first ? part_bytes : 0;
        PM_TRY(pm_client_stream_write(upload->stream, &chunk.base, &upload->is_over));
        upload->sent_bytes += n;
        is_first = false;
        show_upload(upload);
    }
    return PM_OK;
}

/* Bytes of a regular file; 0: what comes is not known. */
static uint64_t file_bytes(int file) {
    struct stat about;
    return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0
               ? (uint64_t)about.st_size
               : 0;
}

static pm_status send_input(struct upload *upload, const char *path) {
    const bool is_stdin = strcmp(path, "-") == 0;
    /* A FIFO without a writer is opened at once, and its bytes are waited for where a signal ends
     * the waiting: one that comes a moment before open(2) would not. */
    const int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return pm_client_fail(upload->client, PM_IO, "%s: %s", path, strerror(errno));
    }
    if (!is_stdin) {
        (void)fcntl(file, F_SETFL, 0); /* reads wait again */
    }
    const pm_status status = send_file(upload, file, is_stdin ? "standard input" : path,
                                       is_stdin ? 0 : file_bytes(file));
    if (!is_stdin) {
        (void)close(file);
    }
    return status;
}

/* What all files have together, and that each of them is there, before the first byte is sent. */
static pm_status look_at_inputs(struct pm_client *client, uint64_t *total_bytes) {
    bool is_known = true;
    size_t n_stdin = 0;
    *total_bytes = 0;
    for (size_t i = 1; i < client->options.n_words; i++) {
        const char *path = client->options.words[i];
        struct stat about;
        if (strcmp(path, "-") == 0) {
            n_stdin++;
            is_known = false;
            continue;
        }
        if (stat(path, &about) != 0) {
            return pm_client_fail(client, PM_IO, "%s: %s", path, strerror(errno));
        }
        is_known = is_known && S_ISREG(about.st_mode);
        *total_bytes += S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
    }
    if (n_stdin > 1) {
        return pm_client_usage(client, "only one input can be standard input");
    }
    *total_bytes = is_known ? *total_bytes : 0;
    return PM_OK;
}

static pm_status send_inputs(struct upload *upload) {
    struct pm_client *client = upload->client;
    Proofmill__V1__SubmitRequest request;
    Proofmill__V1__SubmitChunk chunk = PROOFMILL__V1__SUBMIT_CHUNK__INIT;
    fill_request(client, &request);
    chunk.request = &request;
    PM_TRY(pm_client_stream_write(upload->stream, &chunk.base, &upload->is_over));
    for (size_t i = 1; i < client->options.n_words && !upload->is_over; i++) {
        PM_TRY(send_input(upload, client->options.words[i]));
    }
    return PM_OK;
}

static pm_status submit_bytes(struct pm_client *client, ProtobufCMessage **answer) {
    struct upload upload = {.client = client};
    PM_TRY(look_at_inputs(client, &upload.total_bytes));
    upload.shows = !client->options.quiet && !client->options.json && isatty(STDERR_FILENO);
    upload.buffer = malloc(CHUNK_BYTES);
    pm_status status = upload.buffer != NULL
                           ? pm_client_stream_begin(client, "SubmitStream", 0, &upload.stream)
                           : pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    if (status == PM_OK) {
        status = send_inputs(&upload);
    }
    if (upload.is_drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    if (status == PM_OK) {
        status = pm_client_stream_finish(upload.stream, &proofmill__v1__submit_response__descriptor,
                                         answer);
    }
    pm_client_stream_free(upload.stream);
    if (upload.buffer != NULL) {
        pm_memory_wipe(upload.buffer, CHUNK_BYTES);
        free(upload.buffer);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The verb
 * ------------------------------------------------------------------------------------------- */

static void print_submitted(const struct pm_client *client,
                            const Proofmill__V1__SubmitResponse *submitted) {
    if (client->options.wait) {
        return;
    }
    pm_client_print(client, "%" PRIu64 "\n", submitted->job);
    if (submitted->known) {
        pm_client_say(client, "this request id is known: it is job %" PRIu64, submitted->job);
    } else if (submitted->n_ahead > 0 && isatty(STDERR_FILENO)) {
        const bool is_one = submitted->n_ahead == 1;
        pm_client_say(client, "%u %s turn before it", submitted->n_ahead,
                      is_one ? "job has its" : "jobs have their");
    }
}

pm_status pm_client_submit(struct pm_client *client) {
    const struct pm_client_options *given = &client->options;
    struct pm_client_outputs outputs = {0};
    ProtobufCMessage *answer = NULL;
    pm_status status = pm_client_outputs_choose(client, given->n_words - 1, given->words + 1,
                                                given->n_words - 1, &outputs);
    pm_client_outputs_free(&outputs);
    if (status == PM_OK) {
        status = client->is_local && !given->upload ? submit_paths(client, &answer)
                                                    : submit_bytes(client, &answer);
    }
    if (status == PM_CANCELLED) {
        pm_client_hint(client, "`proofmill jobs` tells whether the daemon has taken the job");
    }
    if (status != PM_OK) {
        return status;
    }
    const Proofmill__V1__SubmitResponse *submitted = (const void *)answer;
    const struct pm_client_which which = {.job = submitted->job};
    if (submitted->job == 0) {
        pm_client_message_free(answer);
        return pm_client_fail(client, PM_ENCODING, "the daemon's answer is of no job");
    }
    print_submitted(client, submitted);
    pm_client_result(client, pm_client_message_json(answer));
    pm_client_message_free(answer);
    return given->wait ? pm_client_outcome(client, &which, 0) : PM_OK;
}
