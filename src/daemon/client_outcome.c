/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/client_outcome.c - the wait for a job, and its proofs as files.
 *
 * Proofs are fetched one at a time, as those of many parts together may be larger than a message,
 * and read as strictly as any: what a daemon calls a proof goes into a file when it is one.
 */
#include "daemon/client_common.h"

#include "base/clock.h"
#include "base/status.h"
#include "json/json.h"

#include <proofmill/engine.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
/* By so much a call may outlast the wait that the daemon keeps. */
#define GRACE_MS UINT64_C(2000)

/* ---------------------------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------------------------- */

/* "proof.json", or of part 2 of several "proof-2.json". */
static char *part_path(const char *path, size_t part, size_t n_parts) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t n = dot != NULL && dot != name ? (size_t)(dot - path) : strlen(path);
    struct pm_client_text text = {0};
    if (n_parts == 1) {
        return strdup(path);
    }
    pm_client_text_add_bytes(&text, path, n);
    pm_client_text_add(&text, "-%zu%s", part, path + n);
    if (text.is_short) {
        pm_client_text_free(&text);
    }
    return text.bytes;
}

static pm_status check_output(struct pm_client *client, const char *path) {
    struct stat about;
    if (strcmp(path, "-") == 0) {
        return PM_OK;
    }
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        return pm_client_fail(client, PM_IO, "%s: is a directory, not a file to write to", path);
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    if (folder == NULL) {
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    const int failure = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    return failure == 0 ? PM_OK
                        : pm_client_fail(client, PM_IO, "%s: its folder cannot be written to: %s",
                                         path, strerror(failure));
}

/* Standard output has room for one thing. */
static pm_status check_stdout(struct pm_client *client, size_t n_parts) {
    const struct pm_client_options *given = &client->options;
    const bool proof = given->proof_path != NULL && strcmp(given->proof_path, "-") == 0;
    const bool publics = given->public_path != NULL && strcmp(given->public_path, "-") == 0;
    if (proof && publics) {
        return pm_client_usage(client, "only one of --proof and --public can be standard output");
    }
    if ((proof || publics) && given->json) {
        return pm_client_usage(client, "with --json standard output is taken; the proofs are in "
                                       "the result");
    }
    if ((proof || publics) && n_parts > 1) {
        return pm_client_usage(client, "the job has %zu proofs, and standard output takes one",
                               n_parts);
    }
    return PM_OK;
}

void pm_client_outputs_free(struct pm_client_outputs *outputs) {
    for (size_t i = 0; outputs->paths != NULL && i < 2 * outputs->n_parts; i++) {
        free(outputs->paths[i]);
    }
    free(outputs->paths);
    *outputs = (struct pm_client_outputs){0};
}

pm_status pm_client_outputs_choose(struct pm_client *client, size_t n_parts,
                                   const char *const *inputs, size_t n_inputs,
                                   struct pm_client_outputs *outputs) {
    const struct pm_client_options *given = &client->options;
    const char *const wanted[2] = {given->proof_path, given->public_path};
    *outputs = (struct pm_client_outputs){.n_parts = n_parts};
    PM_TRY(check_stdout(client, n_parts));
    outputs->paths = calloc(2 * n_parts + 1, sizeof *outputs->paths);
    if (outputs->paths == NULL) {
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < 2 * n_parts; i++) {
        const char *path = wanted[i / n_parts];
        if (path == NULL) {
            continue;
        }
        outputs->paths[i] = part_path(path, i % n_parts, n_parts);
        if (outputs->paths[i] == NULL) {
            return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
        }
        PM_TRY(check_output(client, outputs->paths[i]));
        PM_TRY(pm_files_distinct(inputs, n_inputs, (const char *const *)&outputs->paths[i], 1,
                                 &client->error));
    }
    if (given->proof_path != NULL && given->public_path != NULL) {
        PM_TRY(pm_files_distinct((const char *const *)&outputs->paths[0], 1,
                                 (const char *const *)&outputs->paths[n_parts], 1, &client->error));
    }
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * Waiting
 * ------------------------------------------------------------------------------------------- */

/* What is left of a wait; 0: there is no limit. */
struct patience {
    uint64_t until_ns; /* 0: none */
};

static struct patience patience_of(uint64_t timeout_ms) {
    return (struct patience){timeout_ms != 0 ? pm_clock_now_ns() + timeout_ms * MS : 0};
}

static uint64_t left_ms(struct patience patience) {
    const uint64_t now_ns = pm_clock_now_ns();
    return patience.until_ns == 0       ? 0
           : patience.until_ns > now_ns ? (patience.until_ns - now_ns + MS - 1) / MS
                                        : 1;
}

static pm_status ask_result(struct pm_client *client, const struct pm_client_which *which,
                            uint64_t timeout_ms, bool with_proof, uint32_t part,
                            Proofmill__V1__Result **result) {
    Proofmill__V1__AwaitRequest request = PROOFMILL__V1__AWAIT_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    if (which->request_id != NULL) {
        request.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_REQUEST_ID;
        request.request_id = (char *)(uintptr_t)which->request_id;
    } else {
        request.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_JOB;
        request.job = which->job;
    }
    request.timeout_ms = timeout_ms;
    request.without_proofs = !with_proof;
    request.first_proof = part;
    request.n_proofs = with_proof ? 1 : 0;
    const pm_status status =
        pm_client_ask(client, "Await", &request.base, &proofmill__v1__result__descriptor,
                      timeout_ms != 0 ? timeout_ms + GRACE_MS : 0, &answer);
    *result = (Proofmill__V1__Result *)(void *)answer;
    if (status == PM_OK && ((*result)->job == NULL || (*result)->job->n_parts == 0)) {
        return pm_client_fail(client, PM_ENCODING, "the daemon's answer is of no job");
    }
    return status;
}

struct progress {
    uint64_t begun_ns;
    bool is_drawn;
};

/* A line that stays one: the terminal is 80 columns wide, or more. */
#define PROGRESS_COLUMNS 78

static bool draw_progress(void *user, const Proofmill__V1__Job *job) {
    struct progress *progress = user;
    struct pm_client_text text = {0};
    char line[512], elapsed[PM_CLIENT_TIME_CHARS];
    if (pm_client_has_ended(job)) {
        return false;
    }
    (void)pm_client_span_text((pm_clock_now_ns() - progress->begun_ns) / MS, elapsed);
    pm_client_text_add(&text, "job %" PRIu64 " (%s): ", job->job, elapsed);
    pm_client_describe_job(job, &text);
    (void)pm_client_printable(text.bytes, line, sizeof line);
    pm_client_text_free(&text);
    line[pm_client_bytes_of_columns(line, PROGRESS_COLUMNS)] = '\0';
    /* To the first column, and clear to the end of the line. */
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    progress->is_drawn = true;
    return true;
}

/* Only shows: what it ends with, the wait that follows finds out too. */
static void show_progress(struct pm_client *client, const struct pm_client_which *which,
                          struct patience patience) {
    struct progress progress = {.begun_ns = pm_clock_now_ns()};
    if (client->options.json || client->options.quiet || !isatty(STDERR_FILENO)) {
        return;
    }
    (void)pm_client_follow(client, which, left_ms(patience), draw_progress, &progress);
    client->told = NULL;
    client->hint[0] = '\0';
    if (progress.is_drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Proofs
 * ------------------------------------------------------------------------------------------- */

/* It is a proof, and nothing in it can reach a terminal as a command. */
static pm_status check_proof(struct pm_client *client, const Proofmill__V1__Result *result) {
    static const char name[] = "the daemon's answer";
    const Proofmill__V1__Proof *given = result->n_proofs == 1 ? result->proofs[0] : NULL;
    const pm_curve_id curve = (pm_curve_id)result->curve;
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    uint8_t *publics = NULL;
    size_t n_publics = 0;
    if (given == NULL) {
        return pm_client_fail(client, PM_ENCODING, "%s has no proof", name);
    }
    PM_TRY(pm_json_proof_parse(given->proof_json, strlen(given->proof_json), name, curve, &proof,
                               &client->error));
    PM_TRY(pm_json_public_parse(given->public_json, strlen(given->public_json), name, curve,
                                &publics, &n_publics, &client->error));
    pm_json_values_free(publics);
    return PM_OK;
}

/* results has a place for each part; they are freed by the caller. */
static pm_status fetch(struct pm_client *client, const struct pm_client_which *which,
                       size_t n_parts, Proofmill__V1__Result **results) {
    json_t *list = json_array();
    pm_status status = PM_OK;
    for (size_t i = 0; i < n_parts && status == PM_OK; i++) {
        status = ask_result(client, which, PM_CLIENT_ASK_MS, true, (uint32_t)i, &results[i]);
        if (status == PM_OK) {
            status = check_proof(client, results[i]);
        }
        if (status == PM_OK) {
            (void)json_array_append_new(list, pm_client_message_json(&results[i]->proofs[0]->base));
        }
    }
    (void)json_object_set_new(client->result, "proofs", list);
    return status;
}

static pm_status write_files(struct pm_client *client, const struct pm_client_outputs *files,
                             Proofmill__V1__Result *const *results) {
    const size_t n_parts = files->n_parts;
    pm_output *outputs = calloc(2 * n_parts + 1, sizeof *outputs);
    size_t n = 0;
    if (outputs == NULL) {
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < 2 * n_parts; i++) {
        const Proofmill__V1__Proof *proof = results[i % n_parts]->proofs[0];
        const char *text = i < n_parts ? proof->proof_json : proof->public_json;
        if (files->paths[i] != NULL) {
            outputs[n++] = (pm_output){files->paths[i], text, strlen(text)};
        }
    }
    const pm_status status =
        n > 0 ? pm_files_write(outputs, n, pm_client_control(), &client->error) : PM_OK;
    free(outputs);
    return status;
}

static pm_status take_proofs(struct pm_client *client, const struct pm_client_which *which,
                             size_t n_parts) {
    const struct pm_client_options *given = &client->options;
    struct pm_client_outputs files = {0};
    if (given->proof_path == NULL && given->public_path == NULL && !given->json) {
        return PM_OK;
    }
    if (n_parts > PM_ENGINE_PARTS_MAX) {
        return pm_client_fail(client, PM_ENCODING, "the daemon's answer is of a job of %zu parts",
                              n_parts);
    }
    Proofmill__V1__Result **results = calloc(n_parts, sizeof(Proofmill__V1__Result *));
    pm_status status =
        results != NULL ? PM_OK : pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    if (status == PM_OK) {
        status = pm_client_outputs_choose(client, n_parts, NULL, 0, &files);
    }
    if (status == PM_OK) {
        status = fetch(client, which, n_parts, results);
    }
    if (status == PM_OK) {
        status = write_files(client, &files, results);
    }
    for (size_t i = 0; results != NULL && i < n_parts; i++) {
        pm_client_message_free((ProtobufCMessage *)(void *)results[i]);
    }
    free(results);
    pm_client_outputs_free(&files);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * All together
 * ------------------------------------------------------------------------------------------- */

/* The proof itself may be what stdout is for. */
static void print_end(const struct pm_client *client, const Proofmill__V1__Job *job) {
    const struct pm_client_options *given = &client->options;
    const bool is_taken = (given->proof_path != NULL && strcmp(given->proof_path, "-") == 0) ||
                          (given->public_path != NULL && strcmp(given->public_path, "-") == 0);
    struct pm_client_text text = {0};
    char line[1024];
    pm_client_describe_job(job, &text);
    if (!is_taken && text.bytes != NULL) {
        pm_client_tell(client, "job %" PRIu64 ": %s\n", job->job,
                       pm_client_printable(text.bytes, line, sizeof line));
    }
    pm_client_text_free(&text);
}

pm_status pm_client_outcome(struct pm_client *client, const struct pm_client_which *which,
                            uint64_t timeout_ms) {
    const struct patience patience = patience_of(timeout_ms);
    Proofmill__V1__Result *result = NULL;
    show_progress(client, which, patience);
    pm_status status = ask_result(client, which, left_ms(patience), false, 0, &result);
    pm_client_it_goes_on(client, status, which);
    if (status == PM_OK) {
        pm_client_result(client, pm_client_message_json(&result->base));
        status = pm_client_judge_job(client, result->job);
    }
    if (status == PM_OK) {
        const struct pm_client_which job = {.job = result->job->job};
        status = take_proofs(client, &job, result->job->n_parts);
    }
    if (status == PM_OK) {
        print_end(client, result->job);
    }
    pm_client_message_free((ProtobufCMessage *)(void *)result);
    return status;
}
