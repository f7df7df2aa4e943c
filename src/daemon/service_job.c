/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/service_internal.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX_DEFAULT 100
#define LIST_MAX 1000
/* Jobs that are looked at in one go. */
#define PAGE_JOBS 64
/* For numbers that are being put on record: the journal's disk answers sooner, or does not. */
#define SETTLE_MS 5000
#define SETTLE_LOOK_MS 20

static bool ask_for_one(struct pm_rpc_call *call) {
    pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "a job is asked for by its number or request id");
    return false;
}

static bool find_job(struct pm_rpc_call *call, const Proofmill__V1__JobRequest *request,
                     pm_engine_job *info) {
    switch (request->which_case) {
    case PROOFMILL__V1__JOB_REQUEST__WHICH_JOB:
        return pm_service_job(call, request->job, info);
    case PROOFMILL__V1__JOB_REQUEST__WHICH_REQUEST_ID:
        return pm_service_job_of_request(call, request->request_id, info);
    default:
        return ask_for_one(call);
    }
}

/* The same for a request that has nothing else; false: the call has been ended. */
static bool find_asked(struct pm_rpc_call *call, const uint8_t *message, size_t n_bytes,
                       pm_engine_job *info) {
    Proofmill__V1__JobRequest *request =
        pm_service_request(call, &proofmill__v1__job_request__descriptor, message, n_bytes);
    const bool is_found = request != NULL && find_job(call, request, info);
    if (request != NULL) {
        pm_message_free(&request->base);
    }
    return is_found;
}

/* ---- Await ---------------------------------------------------------------------------------- */

static bool find_awaited(struct pm_rpc_call *call, const Proofmill__V1__AwaitRequest *request,
                         pm_engine_job *info) {
    switch (request->which_case) {
    case PROOFMILL__V1__AWAIT_REQUEST__WHICH_JOB:
        return pm_service_job(call, request->job, info);
    case PROOFMILL__V1__AWAIT_REQUEST__WHICH_REQUEST_ID:
        return pm_service_job_of_request(call, request->request_id, info);
    default:
        return ask_for_one(call);
    }
}

void pm_service_await(struct pm_rpc_call *call, void *user, const uint8_t *message,
                      size_t n_bytes) {
    pm_engine_job info;
    (void)user;
    Proofmill__V1__AwaitRequest *request =
        pm_service_request(call, &proofmill__v1__await_request__descriptor, message, n_bytes);
    if (request == NULL) {
        return;
    }
    struct pm_wait *wait = find_awaited(call, request, &info) ? pm_service_wait_attach(call) : NULL;
    if (wait != NULL) {
        wait->job = info.job;
        wait->no_proofs = request->without_proofs;
        wait->first = request->first_proof;
        wait->n = request->n_proofs;
        wait->answer = pm_service_answer_result;
        pm_service_wait(call, wait, request->timeout_ms);
    }
    pm_message_free(&request->base);
}

/* ---- Watch ---------------------------------------------------------------------------------- */

/* What the caller was told last: another look at the job is no news in itself. */
struct watch {
    bool has_told;
    pm_engine_job told;
};

static void gone(struct pm_rpc_call *call, void *state, bool was_cut) {
    (void)call;
    (void)was_cut;
    free(state);
}

/* Times go on without end, so they are not looked at. */
static bool is_news(const struct watch *watch, const pm_engine_job *now) {
    const pm_engine_job *told = &watch->told;
    return !watch->has_told || now->state != told->state || now->n_ahead != told->n_ahead ||
           now->n_parts_done != told->n_parts_done || now->n_retries != told->n_retries ||
           now->device != told->device || now->phase_done != told->phase_done ||
           now->phase_total != told->phase_total || strcmp(now->phase, told->phase) != 0 ||
           strcmp(now->waits_for, told->waits_for) != 0 || strcmp(now->history, told->history) != 0;
}

/* False: the call has been ended instead. */
static bool tell(struct pm_rpc_call *call, struct watch *watch, const pm_engine_job *info) {
    struct pm_device_names names;
    struct pm_job_view view;
    watch->told = *info;
    watch->has_told = true;
    pm_service_device_names(pm_service_daemon(call)->engine, &names);
    pm_service_view_job(info, &names, &view);
    return pm_service_send(call, &view.job.base);
}

/* Tells it as it is now, and ends behind the last one. */
static void go_on(struct pm_rpc_call *call, void *user, uint64_t job, enum pm_rpc_wake wake) {
    struct watch *watch = pm_rpc_attached(call);
    pm_engine_job info;
    (void)user;
    (void)wake;
    if (!pm_service_job(call, job, &info) || (is_news(watch, &info) && !tell(call, watch, &info))) {
        return;
    }
    if (pm_service_has_ended(&info)) {
        pm_rpc_end(call);
    } else {
        pm_rpc_park(call, job, 0, true, go_on);
    }
}

void pm_service_watch(struct pm_rpc_call *call, void *user, const uint8_t *message,
                      size_t n_bytes) {
    pm_engine_job info;
    if (!find_asked(call, message, n_bytes, &info)) {
        return;
    }
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory to watch a job");
        return;
    }
    pm_rpc_attach(call, watch, gone);
    go_on(call, user, info.job, PM_RPC_WAKE_CHANGED);
}

/* ---- Cancel --------------------------------------------------------------------------------- */

void pm_service_cancel(struct pm_rpc_call *call, void *user, const uint8_t *message,
                       size_t n_bytes) {
    Proofmill__V1__CancelResponse answer = PROOFMILL__V1__CANCEL_RESPONSE__INIT;
    pm_engine *engine = pm_service_daemon(call)->engine;
    pm_error error = PM_ERROR_INIT;
    pm_engine_job info;
    int was_running = 0;
    (void)user;
    if (!find_asked(call, message, n_bytes, &info)) {
        return;
    }
    if (pm_engine_cancel(engine, info.job, &was_running, &error) != PM_OK) {
        pm_service_fail(call, PM_MATTER_CALL, &error);
    } else if (pm_service_job(call, info.job, &info)) {
        answer.was_running = was_running != 0;
        answer.state = (Proofmill__V1__JobState)info.state;
        pm_service_reply(call, &answer.base);
    }
}

/* ---- ListJobs ------------------------------------------------------------------------------- */

struct listing {
    pm_engine_job *infos;
    struct pm_job_view *views;
    Proofmill__V1__Job **pointers;
    uint32_t n, n_max;
    uint64_t next_after;
};

/* Goes through the jobs until there is one more than asked for, so that more follow. One page lies
 * behind those that were taken. */
static void collect(pm_engine *engine, uint64_t after, bool only_open, struct listing *listing) {
    uint32_t n_page = PAGE_JOBS;
    listing->n = 0;
    while (listing->n <= listing->n_max && n_page == PAGE_JOBS) {
        pm_engine_job *page = &listing->infos[listing->n_max + 1];
        (void)pm_engine_jobs(engine, after, page, &n_page);
        for (uint32_t i = 0; i < n_page && listing->n <= listing->n_max; ++i) {
            after = page[i].job;
            if (!only_open || !pm_service_has_ended(&page[i])) {
                listing->infos[listing->n++] = page[i];
            }
        }
    }
    const bool is_cut = listing->n > listing->n_max;
    listing->n = is_cut ? listing->n_max : listing->n;
    listing->next_after = is_cut ? listing->infos[listing->n - 1].job : 0;
}

/* Numbers above `settled` may come yet, and nobody asks for those before next_after again: a page
 * that others follow ends there. */
static void cut_settled(struct listing *listing, uint64_t settled) {
    if (listing->next_after > settled) {
        while (listing->n > 0 && listing->infos[listing->n - 1].job > settled) {
            --listing->n;
        }
        listing->next_after = settled;
    }
}

/* False: jobs are there, but for too long some before them have been on their way to the record. */
static bool collect_settled(pm_engine *engine, const Proofmill__V1__ListJobsRequest *request,
                            struct listing *listing) {
    pm_engine_metrics metrics;
    pm_engine_event event;
    pm_status waited = PM_OK;
    for (uint32_t ms = 0; ms < SETTLE_MS && waited != PM_CANCELLED; ms += SETTLE_LOOK_MS) {
        (void)pm_engine_metrics_now(engine, &metrics);
        collect(engine, request->after, request->only_open, listing);
        const bool is_cut = listing->next_after != 0;
        cut_settled(listing, metrics.settled_job);
        if (!is_cut || listing->n > 0) {
            return true;
        }
        waited = pm_engine_next_event(engine, UINT64_MAX, SETTLE_LOOK_MS, &event);
    }
    return false;
}

static void reply_listing(struct pm_rpc_call *call, struct listing *listing) {
    Proofmill__V1__ListJobsResponse answer = PROOFMILL__V1__LIST_JOBS_RESPONSE__INIT;
    struct pm_device_names names;
    pm_service_device_names(pm_service_daemon(call)->engine, &names);
    for (uint32_t i = 0; i < listing->n; ++i) {
        pm_service_view_job(&listing->infos[i], &names, &listing->views[i]);
        listing->pointers[i] = &listing->views[i].job;
    }
    answer.n_jobs = listing->n;
    answer.jobs = listing->pointers;
    answer.next_after = listing->next_after;
    pm_service_reply(call, &answer.base);
}

static void list_jobs(struct pm_rpc_call *call, const Proofmill__V1__ListJobsRequest *request) {
    struct listing listing = {.n_max = request->n_max != 0 ? request->n_max : LIST_MAX_DEFAULT};
    if (listing.n_max > LIST_MAX) {
        pm_rpc_fail(call, PM_RPC_INVALID_ARGUMENT, "at most %d jobs are listed at a time",
                    LIST_MAX);
        return;
    }
    listing.infos = calloc((size_t)listing.n_max + 1 + PAGE_JOBS, sizeof *listing.infos);
    listing.views = calloc(listing.n_max, sizeof *listing.views);
    listing.pointers = calloc(listing.n_max, sizeof(Proofmill__V1__Job *));
    if (listing.infos == NULL || listing.views == NULL || listing.pointers == NULL) {
        pm_rpc_fail(call, PM_RPC_RESOURCE_EXHAUSTED, "no memory for a list of %u jobs",
                    listing.n_max);
    } else if (collect_settled(pm_service_daemon(call)->engine, request, &listing)) {
        reply_listing(call, &listing);
    } else {
        pm_rpc_fail(call, PM_RPC_UNAVAILABLE,
                    "jobs with lower numbers than the next are still being put on record: ask "
                    "again");
    }
    free(listing.infos);
    free(listing.views);
    free(listing.pointers);
}

void pm_service_list_jobs(struct pm_rpc_call *call, void *user, const uint8_t *message,
                          size_t n_bytes) {
    (void)user;
    Proofmill__V1__ListJobsRequest *request =
        pm_service_request(call, &proofmill__v1__list_jobs_request__descriptor, message, n_bytes);
    if (request != NULL) {
        list_jobs(call, request);
        pm_message_free(&request->base);
    }
}
