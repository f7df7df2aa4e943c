/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory that runs out at any allocation, requests that cannot be met, what is reported of it. */
#include "card.h"

#include <string.h>

struct tally {
    uint64_t live[PM_GPU_MECHANISMS];
    uint64_t n_events, n_inside;
    bool is_consistent;
};

static void count(void *user, const struct pm_gpu_memory_event *event) {
    struct tally *tally = user;
    uint64_t *live = &tally->live[event->mechanism];
    *live = event->is_release ? *live - event->bytes : *live + event->bytes;
    tally->is_consistent = tally->is_consistent && *live == event->live_bytes &&
                           event->name != NULL && event->file != NULL && event->line > 0;
    tally->n_inside += event->inside_lock ? 1 : 0;
    ++tally->n_events;
}

/* The factors, three tables of powers, a, b, staging. */
#define JOB_ALLOCATIONS 7

/* A domain, its quotient and vectors; PM_OK, or what failed, with nothing left behind. */
static pm_status job(const struct card *card, struct pm_gpu_device *device, pm_error *error) {
    const struct pm_gpu_api *api = card->api;
    struct pm_gpu_stream stream = {0};
    struct pm_gpu_domain domain = {0};
    struct pm_gpu_h h = {0};
    struct pm_gpu_buffer a = {0}, b = {0}, pinned = {0};
    const uint64_t bytes = (uint64_t)PM_FR_BYTES << 10;
    pm_status status = api->stream_create(device, &stream, error);
    if (status == PM_OK) {
        status =
            api->domain_create(&stream, card->id, 10, PM_GPU_ROOT_BELLMAN, 0, 0, &domain, error);
    }
    if (status == PM_OK) {
        status = api->h_create(&domain, &stream, PM_GPU_REDUCTION_BELLMAN, &h, error);
    }
    if (status == PM_OK) {
        status = PM_GPU_GET_BY(api, device, &stream, PM_GPU_STREAM, "a", bytes, &a, error);
    }
    if (status == PM_OK) {
        status = PM_GPU_GET_BY(api, device, &stream, PM_GPU_STREAM, "b", bytes, &b, error);
    }
    if (status == PM_OK) {
        status = PM_GPU_GET_BY(api, device, NULL, PM_GPU_PINNED, "staging", bytes, &pinned, error);
    }
    if (status == PM_OK) {
        memset(pinned.address, 0, bytes);
        status = api->upload(&stream, a.address, pinned.address, bytes, error);
    }
    if (status == PM_OK) {
        status = api->h_coset(&h, &stream, a.address, error);
    }
    if (status == PM_OK) {
        status = api->stream_wait(&stream, error);
    }
    api->memory_release(device, NULL, &pinned);
    api->memory_release(device, &stream, &b);
    api->memory_release(device, &stream, &a);
    api->h_destroy(&h);
    api->domain_destroy(&domain);
    api->stream_destroy(&stream);
    return status;
}

static void check_failing(const struct card *card, uint64_t n_allocations) {
    for (uint64_t nth = 1; nth <= n_allocations; nth++) {
        struct tally tally = {.is_consistent = true};
        const struct pm_gpu_options options = {
            .report = count, .user = &tally, .failing_allocation = nth};
        struct pm_gpu_device *device = NULL;
        pm_error error = PM_ERROR_INIT;
        CARD_CHECK(card->api->device_open(0, &options, &device, &error) == PM_OK, "%s",
                   error.message);
        const pm_status status = job(card, device, &error);
        CARD_CHECK(status == PM_NO_MEMORY, "allocation %llu of a job did not fail",
                   (unsigned long long)nth);
        CARD_CHECK(job(card, device, &error) == PM_OK, "%s",
                   error.message); /* the next one is not the worse for it */
        for (int m = 0; m < PM_GPU_MECHANISMS; m++) {
            CARD_CHECK(card->api->device_live_bytes(device, (enum pm_gpu_mechanism)m) == 0, "%d",
                       m);
            CARD_CHECK(tally.live[m] == 0, "%d", m);
        }
        CARD_CHECK(tally.is_consistent && tally.n_events > 0, "the report");
        CARD_CHECK(!card->api->device_is_bad(device), "running out of memory is no damage");
        card->api->device_close(device);
    }
}

static void check_lock(const struct card *card) {
    struct tally tally = {.is_consistent = true};
    const struct pm_gpu_options options = {.report = count, .user = &tally};
    struct pm_gpu_device *device = NULL;
    CARD_OK(card->api->device_open(0, &options, &device, &error));
    CARD_OK(job(card, device, &error));
    CARD_CHECK(tally.n_inside == 0, "nobody held the lock");
    CARD_CHECK(tally.n_events == 2 * JOB_ALLOCATIONS, "a job has %llu events",
               (unsigned long long)tally.n_events);
    card->api->device_lock(device);
    CARD_OK(job(card, device, &error));
    card->api->device_unlock(device);
    CARD_CHECK(tally.n_inside * 2 == tally.n_events, "half of all were inside");
    card->api->device_close(device);
}

static void check_impossible(const struct card *card) {
    struct pm_gpu_buffer buffer = {0};
    struct pm_gpu_domain domain;
    pm_error error = PM_ERROR_INIT;
    const uint64_t much = UINT64_C(1) << 50;
    for (int m = PM_GPU_ONCE; m <= PM_GPU_STREAM; m++) {
        CARD_CHECK(PM_GPU_GET_BY(card->api, card->device, &card->stream, (enum pm_gpu_mechanism)m,
                                 "much", much, &buffer, &error) == PM_NO_MEMORY,
                   "2^50 bytes");
        CARD_CHECK(error.need == much && error.have > 0 && error.have < much && buffer.bytes == 0,
                   "%s", error.message);
    }
    CARD_CHECK(card->api->domain_create(&card->stream, card->id, 31, PM_GPU_ROOT_SNARKJS, 0, 0,
                                        &domain, &error) == PM_UNSUPPORTED,
               "2^31 points");
    CARD_CHECK(card->api->device_open(1000, NULL, &(struct pm_gpu_device *){NULL}, &error) ==
                   PM_NO_DEVICE,
               "device 1000");
    CARD_CHECK(job(card, card->device, &error) == PM_OK, "%s", error.message);
}

void card_test_memory(const struct card *card) {
    uint64_t before = 0, after = 0;
    CARD_OK(job(card, card->device, &error)); /* what is loaded once is loaded */
    CARD_OK(card->api->device_free_bytes(card->device, &before, &error));
    check_failing(card, JOB_ALLOCATIONS);
    check_lock(card);
    check_impossible(card);
    CARD_OK(card->api->device_free_bytes(card->device, &after, &error));
    CARD_CHECK(after + (UINT64_C(4) << 20) >= before, "free memory: %llu before, %llu after",
               (unsigned long long)before, (unsigned long long)after);
}
