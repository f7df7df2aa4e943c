/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_top.c - what goes on in a daemon, shown anew each second. */
#include "daemon/client_terminal.h"
#include "daemon/client_view.h"

#include "base/clock.h"
#include "base/status.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define PERIOD_NS (1000 * MS)
#define KEY_MS 50
/* A daemon that is slower than this is shown as one that does not answer. */
#define ANSWER_MS UINT64_C(5000)
#define JOBS_MAX 500
/* Where standard output is no terminal. */
#define PLAIN_COLUMNS 120

struct top {
    struct pm_client *client;
    ProtobufCMessage *status, *before, *jobs; /* NULL: not yet */
    uint64_t status_ns, before_ns;            /* when they came */
    char error[sizeof((pm_error *)NULL)->message];
    bool quits;
};

static void free_top(struct top *top) {
    pm_client_message_free(top->status);
    pm_client_message_free(top->before);
    pm_client_message_free(top->jobs);
}

/* Asks anew; what there was stays when the daemon does not answer. */
static pm_status ask_all(struct top *top) {
    struct pm_client *client = top->client;
    const Proofmill__V1__Empty request = PROOFMILL__V1__EMPTY__INIT;
    Proofmill__V1__ListJobsRequest open = PROOFMILL__V1__LIST_JOBS_REQUEST__INIT;
    const uint64_t timeout_ms =
        client->options.timeout_ms != 0 ? client->options.timeout_ms : ANSWER_MS;
    ProtobufCMessage *status = NULL, *jobs = NULL;
    open.only_open = true;
    open.n_max = JOBS_MAX;
    pm_status result = pm_client_ask(client, "GetStatus", &request.base,
                                     &proofmill__v1__status__descriptor, timeout_ms, &status);
    if (result == PM_OK) {
        result = pm_client_ask(client, "ListJobs", &open.base,
                               &proofmill__v1__list_jobs_response__descriptor, timeout_ms, &jobs);
    }
    if (result != PM_OK) {
        pm_client_message_free(status);
        return result;
    }
    pm_client_message_free(top->before);
    pm_client_message_free(top->jobs);
    top->before = top->status;
    top->before_ns = top->status_ns;
    top->status = status;
    top->status_ns = pm_clock_now_ns();
    top->jobs = jobs;
    return PM_OK;
}

static void write_frame(const struct top *top, uint32_t columns, uint32_t rows, const char *foot,
                        struct pm_client_text *text) {
    const Proofmill__V1__ListJobsResponse *jobs = (const void *)top->jobs;
    const struct pm_client_frame frame = {
        .address = top->client->address,
        .status = (const void *)top->status,
        .before = (const void *)top->before,
        .between_ms = top->before != NULL ? (top->status_ns - top->before_ns) / MS : 0,
        .jobs = jobs != NULL ? jobs->jobs : NULL,
        .n_jobs = jobs != NULL ? jobs->n_jobs : 0,
        .error = top->error,
        .foot = foot,
        .columns = columns,
        .rows = rows};
    pm_client_frame_write(&frame, text);
}

/* ---------------------------------------------------------------------------------------------
 * Once
 * ------------------------------------------------------------------------------------------- */

static pm_status show_once(struct top *top) {
    struct pm_client *client = top->client;
    struct pm_client_text text = {0};
    PM_TRY(ask_all(top));
    const Proofmill__V1__ListJobsResponse *jobs = (const void *)top->jobs;
    json_t *list = json_array();
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        (void)json_array_append_new(list, pm_client_message_json(&jobs->jobs[i]->base));
    }
    (void)json_object_set_new(client->result, "daemon", pm_client_message_json(top->status));
    (void)json_object_set_new(client->result, "jobs", list);
    write_frame(top, PLAIN_COLUMNS, 0, "", &text);
    return pm_client_print_text(client, &text);
}

/* ---------------------------------------------------------------------------------------------
 * Live
 * ------------------------------------------------------------------------------------------- */

static void draw(const struct top *top) {
    struct pm_client_text text = {0};
    uint32_t columns, rows;
    pm_client_terminal_size(&columns, &rows);
    /* In the last column some terminals cannot clear the rest of a line without what stands there.
     */
    write_frame(top, columns - 1, rows, "q ends it", &text);
    if (!text.is_short && text.bytes != NULL) {
        pm_client_terminal_show(text.bytes);
    }
    pm_client_text_free(&text);
}

/* Looks after keys and signals; true: it is over. */
static bool attend(struct top *top, int timeout_ms) {
    const char key = pm_client_terminal_key(timeout_ms);
    top->quits |= key == 'q' || key == 'Q' || pm_client_signal() != 0;
    if (!top->quits && pm_client_terminal_attend()) {
        draw(top);
    }
    return top->quits;
}

/* While a call is waited for. */
static bool on_idle(void *user) {
    return attend(user, 0);
}

static pm_status show_live(struct top *top) {
    struct pm_client *client = top->client;
    pm_status status = PM_OK;
    pm_client_set_idle(client, on_idle, top);
    while (!top->quits) {
        const uint64_t next_ns = pm_clock_now_ns() + PERIOD_NS;
        status = ask_all(top);
        if (status != PM_OK && top->status == NULL) {
            break; /* nobody has ever answered */
        }
        (void)snprintf(top->error, sizeof top->error, "%s",
                       status != PM_OK ? client->error.message : "");
        if (!top->quits) {
            draw(top);
        }
        while (!top->quits && pm_clock_now_ns() < next_ns) {
            (void)attend(top, KEY_MS);
        }
    }
    pm_client_set_idle(client, NULL, NULL);
    const int number = pm_client_signal();
    if (number != 0 && number != SIGINT) { /* Ctrl-C is how one leaves */
        return pm_client_fail(client, PM_CANCELLED, "stopped");
    }
    return top->quits ? PM_OK : status;
}

pm_status pm_client_top(struct pm_client *client) {
    struct top top = {.client = client};
    pm_status status = PM_OK;
    if (client->options.json || !isatty(STDOUT_FILENO)) {
        status = show_once(&top);
    } else if (!pm_client_terminal_open()) {
        status = pm_client_fail(client, PM_IO, "the terminal cannot be had");
    } else {
        status = show_live(&top);
        pm_client_terminal_close();
    }
    free_top(&top);
    return status;
}
