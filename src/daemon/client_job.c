/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_job.c - jobs by name, in words and as they go: await, watch, cancel. */
#include "daemon/client_common.h"

#include "base/clock.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

pm_status pm_client_read_which(struct pm_client *client, struct pm_client_which *which) {
    const struct pm_client_options *given = &client->options;
    const char *word = given->n_words > 0 ? given->words[0] : given->request_id;
    *which = (struct pm_client_which){0};
    if (word == NULL || (given->n_words > 0 && given->request_id != NULL)) {
        return pm_client_usage(client, "`%s` needs one of JOB and --request-id ID",
                               client->verb->name);
    }
    if (word[strspn(word, "0123456789")] != '\0' || given->n_words == 0) {
        which->request_id = word;
    } else if (!pm_client_read_number(word, &which->job) || which->job == 0) {
        return pm_client_usage(client,
                               "%s is no job's number; an id of digits alone is named with "
                               "--request-id",
                               word);
    }
    return PM_OK;
}

const char *pm_client_which_text(const struct pm_client_which *which,
                                 char text[PM_CLIENT_WHICH_CHARS]) {
    const char *id = which->request_id;
    if (id == NULL) {
        (void)snprintf(text, PM_CLIENT_WHICH_CHARS, "%" PRIu64, which->job);
    } else {
        const bool is_digits = id[strspn(id, "0123456789")] == '\0';
        (void)snprintf(text, PM_CLIENT_WHICH_CHARS, "%s%s", is_digits ? "--request-id " : "", id);
    }
    return text;
}

/* ---------------------------------------------------------------------------------------------
 * In words
 * ------------------------------------------------------------------------------------------- */

/* Of a job of an earlier version's journal they are not kept, and all 0. */
static bool has_times(const Proofmill__V1__Job *job) {
    const Proofmill__V1__Times *times = job->times;
    return times->queue_ms != 0 || times->prepare_ms != 0 || times->prove_ms != 0 ||
           times->finish_ms != 0 || job->device[0] != '\0';
}

static void describe_end(const Proofmill__V1__Job *job, struct pm_client_text *text) {
    char total[PM_CLIENT_TIME_CHARS], queue[PM_CLIENT_TIME_CHARS], prove[PM_CLIENT_TIME_CHARS];
    if (job->times != NULL) {
        pm_client_text_add(text, " after %s", pm_client_span_text(job->times->total_ms, total));
    }
    if (job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE && job->times != NULL) {
        const bool is_kept = has_times(job);
        pm_client_text_add(text, " (queue %s, prove %s)",
                           is_kept ? pm_client_span_text(job->times->queue_ms, queue) : "-",
                           is_kept ? pm_client_span_text(job->times->prove_ms, prove) : "-");
    }
    if (job->error != NULL && job->error[0] != '\0') {
        pm_client_text_add(text, ": %s", job->error);
    }
}

void pm_client_describe_job(const Proofmill__V1__Job *job, struct pm_client_text *text) {
    const uint32_t percent = pm_client_phase_percent(job);
    pm_client_text_add(text, "%s", pm_client_state_word(job->state));
    if (pm_client_has_ended(job)) {
        describe_end(job, text);
        return;
    }
    if (job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_QUEUED) {
        pm_client_text_add(text, ", %u ahead", job->n_ahead);
        if (job->waits_for[0] != '\0') {
            pm_client_text_add(text, ": %s", job->waits_for);
        }
        return;
    }
    if (job->device[0] != '\0') {
        pm_client_text_add(text, " on %s", job->device);
    }
    if (job->n_parts > 1) {
        pm_client_text_add(text, ", %u of %u parts done", job->n_parts_done, job->n_parts);
    }
    if (job->phase[0] != '\0') {
        pm_client_text_add(text, ", %s", job->phase);
    }
    if (job->phase[0] != '\0' && percent != UINT32_MAX) {
        pm_client_text_add(text, " %u %%", percent);
    }
    if (job->n_retries > 0) {
        pm_client_text_add(text, job->n_retries == 1 ? ", %u retry" : ", %u retries",
                           job->n_retries);
    }
}

pm_status pm_client_judge_job(struct pm_client *client, const Proofmill__V1__Job *job) {
    if (job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE) {
        return PM_OK;
    }
    if (job->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_CANCELLED) {
        client->job_was_cancelled = true;
        return pm_client_fail(client, PM_CANCELLED, "job %" PRIu64 " was cancelled", job->job);
    }
    if (job->state != PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED) {
        return pm_client_fail(client, PM_ENCODING,
                              "the daemon's answer is of a job that has not "
                              "ended");
    }
    if (job->error_is_permanent) {
        pm_client_hint(client, "the same again would fail again");
    }
    const bool was_tried = job->n_retries > 0 && job->history[0] != '\0';
    pm_status status = pm_client_status_named(job->error_status);
    status = status == PM_OK || status == PM_CANCELLED ? PM_INTERNAL : status;
    return pm_client_fail(client, status, "job %" PRIu64 " has failed: %s%s%s", job->job,
                          job->error[0] != '\0' ? job->error : "no reason is given",
                          was_tried ? "; before that: " : "", was_tried ? job->history : "");
}

void pm_client_it_goes_on(struct pm_client *client, pm_status status,
                          const struct pm_client_which *which) {
    char name[PM_CLIENT_WHICH_CHARS];
    (void)pm_client_which_text(which, name);
    if (status == PM_DEADLINE) {
        (void)pm_client_fail(client, status, "the job has not ended in this time");
    }
    if (status == PM_DEADLINE || status == PM_CANCELLED) {
        pm_client_hint(client, "the job goes on: `proofmill await %s` waits for it again", name);
    } else if (status == PM_IO && client->hint[0] == '\0') {
        pm_client_hint(
            client, "once there is a daemon again, `proofmill await %s` waits for the job", name);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Following
 * ------------------------------------------------------------------------------------------- */

pm_status pm_client_follow(struct pm_client *client, const struct pm_client_which *which,
                           uint64_t timeout_ms,
                           bool (*see)(void *user, const Proofmill__V1__Job *job), void *user) {
    Proofmill__V1__JobRequest request = PROOFMILL__V1__JOB_REQUEST__INIT;
    struct pm_client_stream *stream = NULL;
    if (which->request_id != NULL) {
        request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_REQUEST_ID;
        request.request_id = (char *)(uintptr_t)which->request_id;
    } else {
        request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_JOB;
        request.job = which->job;
    }
    pm_status status = pm_client_stream_ask(client, "Watch", &request.base, timeout_ms, &stream);
    for (bool more = status == PM_OK; more;) {
        ProtobufCMessage *answer = NULL;
        status = pm_client_stream_read(stream, &proofmill__v1__job__descriptor, &answer);
        more = status == PM_OK && answer != NULL &&
               see(user, (const Proofmill__V1__Job *)(const void *)answer);
        pm_client_message_free(answer);
    }
    pm_client_stream_free(stream);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * await, watch, cancel
 * ------------------------------------------------------------------------------------------- */

pm_status pm_client_await(struct pm_client *client) {
    struct pm_client_which which;
    struct pm_client_outputs outputs = {0};
    PM_TRY(pm_client_read_which(client, &which));
    /* How many parts there are is not known yet; what is wrong with one name is with all. */
    const pm_status status = pm_client_outputs_choose(client, 1, NULL, 0, &outputs);
    pm_client_outputs_free(&outputs);
    return status == PM_OK ? pm_client_outcome(client, &which, client->options.timeout_ms) : status;
}

/* Progress within a state, where no terminal shows it as it goes. */
#define PROGRESS_NS UINT64_C(1000000000)

struct watching {
    struct pm_client *client;
    bool was_printed;
    uint64_t printed_ns;
    Proofmill__V1__JobState furthest; /* that was printed */
    pm_status status;                 /* of the last change */
    bool has_ended;
};

/* Into a file or a pipe goes each state once, as parts come back to it, and where it is each
 * second.
 */
static bool is_worth_a_line(struct watching *watching, const Proofmill__V1__Job *job) {
    const uint64_t now_ns = pm_clock_now_ns();
    if (watching->was_printed && job->state <= watching->furthest &&
        now_ns - watching->printed_ns < PROGRESS_NS && !isatty(STDOUT_FILENO)) {
        return false;
    }
    watching->was_printed = true;
    watching->furthest = job->state > watching->furthest ? job->state : watching->furthest;
    watching->printed_ns = now_ns;
    return true;
}

static bool print_change(void *user, const Proofmill__V1__Job *job) {
    struct watching *watching = user;
    struct pm_client *client = watching->client;
    struct pm_client_text text = {0};
    char line[1024];
    if (client->options.json) {
        watching->status = pm_client_json_line(client, pm_client_message_json(&job->base));
    } else if (is_worth_a_line(watching, job)) {
        pm_client_describe_job(job, &text);
        pm_client_print(client, "job %" PRIu64 ": %s\n", job->job,
                        pm_client_printable(text.bytes, line, sizeof line));
        (void)fflush(stdout);
        pm_client_text_free(&text);
    }
    if (pm_client_has_ended(job)) {
        watching->has_ended = true;
        watching->status =
            watching->status == PM_OK ? pm_client_judge_job(client, job) : watching->status;
    }
    return watching->status == PM_OK && !watching->has_ended;
}

pm_status pm_client_watch(struct pm_client *client) {
    struct pm_client_which which;
    struct watching watching = {.client = client};
    PM_TRY(pm_client_read_which(client, &which));
    const pm_status status =
        pm_client_follow(client, &which, client->options.timeout_ms, print_change, &watching);
    client->no_result = watching.has_ended;
    if (status != PM_OK) {
        pm_client_it_goes_on(client, status, &which);
        return status;
    }
    return watching.status != PM_OK || watching.has_ended
               ? watching.status
               : pm_client_fail(client, PM_IO, "the daemon has ended the stream before the job");
}

pm_status pm_client_cancel(struct pm_client *client) {
    struct pm_client_which which;
    Proofmill__V1__JobRequest request = PROOFMILL__V1__JOB_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    char name[PM_CLIENT_WHICH_CHARS], line[PM_CLIENT_WHICH_CHARS];
    PM_TRY(pm_client_read_which(client, &which));
    if (which.request_id != NULL) {
        request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_REQUEST_ID;
        request.request_id = (char *)(uintptr_t)which.request_id;
    } else {
        request.which_case = PROOFMILL__V1__JOB_REQUEST__WHICH_JOB;
        request.job = which.job;
    }
    const uint64_t timeout_ms = client->options.timeout_ms;
    PM_TRY(pm_client_ask(client, "Cancel", &request.base,
                         &proofmill__v1__cancel_response__descriptor,
                         timeout_ms != 0 ? timeout_ms : PM_CLIENT_ASK_MS, &answer));
    const Proofmill__V1__CancelResponse *cancelled = (const void *)answer;
    (void)pm_client_printable(pm_client_which_text(&which, name), line, sizeof line);
    if (cancelled->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_CANCELLED) {
        pm_client_tell(client, "job %s is cancelled%s\n", line,
                       cancelled->was_running ? "; some of it was being worked on" : "");
    } else if (cancelled->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE ||
               cancelled->state == PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED) {
        pm_client_tell(client, "job %s had ended before: %s\n", line,
                       pm_client_state_word(cancelled->state));
    } else {
        pm_client_tell(client, "job %s is being stopped\n", line);
    }
    pm_client_result(client, pm_client_message_json(answer));
    pm_client_message_free(answer);
    return PM_OK;
}
