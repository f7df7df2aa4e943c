/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory that runs out at any allocation, requests that cannot be met, what is reported of it. */
#include "card.h"

#include <pthread.h>
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

/* The factors, three tables of powers, a, b, staging, the caller's memory. */
#define JOB_ALLOCATIONS 8

/* A domain, its quotient and vectors; PM_OK, or what failed, with nothing left behind. */
static pm_status job(const struct card *card, struct pm_gpu_device *device, pm_error *error) {
    const struct pm_gpu_api *api = card->api;
    struct pm_gpu_stream stream = {0};
    struct pm_gpu_domain domain = {0};
    struct pm_gpu_h h = {0};
    struct pm_gpu_buffer a = {0}, b = {0}, pinned = {0}, registered = {0};
    const uint64_t bytes = (uint64_t)PM_FR_BYTES << 10;
    void *own = card_host_memory(bytes);
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
        status = api->memory_get(device, NULL, PM_GPU_REGISTERED, "own", bytes, own, __FILE__,
                                 __LINE__, &registered, error);
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
    api->memory_release(device, NULL, &registered);
    api->memory_release(device, NULL, &pinned);
    api->memory_release(device, &stream, &b);
    api->memory_release(device, &stream, &a);
    api->h_destroy(&h);
    api->domain_destroy(&domain);
    api->stream_destroy(&stream);
    free(own);
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

/* Another thread's view of a lock that this one holds. */
struct contender {
    const struct card *card;
    bool had;
};

static void *contend(void *argument) {
    struct contender *contender = argument;
    const struct pm_gpu_api *api = contender->card->api;
    contender->had = api->device_lock_within(contender->card->device, 20);
    if (contender->had) {
        api->device_unlock(contender->card->device);
    }
    return NULL;
}

static bool others_can_lock(const struct card *card) {
    struct contender contender = {.card = card};
    pthread_t thread;
    CARD_CHECK(pthread_create(&thread, NULL, contend, &contender) == 0, "a thread");
    CARD_CHECK(pthread_join(thread, NULL) == 0, "a thread");
    return contender.had;
}

static void check_lock_within(const struct card *card) {
    CARD_CHECK(card->api->device_lock_within(card->device, 0), "nobody has it");
    CARD_CHECK(!others_can_lock(card), "this thread has it");
    card->api->device_unlock(card->device);
    CARD_CHECK(others_can_lock(card), "nobody has it");
    card->api->device_lock(card->device);
    CARD_CHECK(!others_can_lock(card), "this thread has it");
    card->api->device_unlock(card->device);
}

/* Memory of the caller's that the card reads and writes by itself. */
static void check_registered(const struct card *card) {
    const struct pm_gpu_api *api = card->api;
    const uint64_t bytes = UINT64_C(3) << 20;
    struct pm_gpu_buffer registered = {0}, again = {0}, there;
    pm_error reason = PM_ERROR_INIT;
    uint8_t *own = card_host_memory(bytes), *wanted = card_host_memory(bytes);
    seeded_random_bytes(&card_entropy, wanted, bytes);
    memcpy(own, wanted, bytes);
    CARD_OK(PM_GPU_GET_BY(api, card->device, &card->stream, PM_GPU_STREAM, "there", bytes, &there,
                          &error));
    for (int round = 0; round < 2; round++) { /* what was given back can be had again */
        bool is_done = false;
        CARD_OK(api->memory_get(card->device, NULL, PM_GPU_REGISTERED, "own", bytes, own, __FILE__,
                                __LINE__, &registered, &error));
        CARD_CHECK(registered.address == own, "another address");
        CARD_CHECK(api->memory_is_pinned(card->device, own + bytes / 2), "registered is pinned");
        CARD_CHECK(api->memory_get(card->device, NULL, PM_GPU_REGISTERED, "own", bytes, own,
                                   __FILE__, __LINE__, &again, &reason) == PM_DEVICE &&
                       again.bytes == 0 && !api->device_is_bad(card->device),
                   "registered twice");
        CARD_CHECK(api->device_live_bytes(card->device, PM_GPU_REGISTERED) == bytes, "live bytes");
        CARD_OK(api->upload(&card->stream, there.address, own, bytes, &error));
        CARD_OK(api->stream_wait(&card->stream, &error));
        memset(own, 0x5a, bytes);
        CARD_OK(api->download(&card->stream, own, there.address, bytes, &error));
        while (!is_done) {
            CARD_OK(api->stream_is_done(&card->stream, &is_done, &error));
        }
        CARD_CHECK(memcmp(own, wanted, bytes) == 0, "there and back");
        api->memory_release(card->device, NULL, &registered);
        CARD_CHECK(api->device_live_bytes(card->device, PM_GPU_REGISTERED) == 0, "live bytes");
        CARD_CHECK(!api->memory_is_pinned(card->device, own + bytes / 2), "no longer");
    }
    CARD_CHECK(!api->memory_is_pinned(card->device, wanted), "it never was");
    CARD_CHECK(!api->memory_is_pinned(card->device, there.address), "memory of the device");
    api->memory_release(card->device, &card->stream, &there);
    free(own);
    free(wanted);
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
    CARD_CHECK(card->api->domain_create(&card->stream, card->id, 20, PM_GPU_ROOT_SNARKJS, 0, 24,
                                        &domain, &error) == PM_UNSUPPORTED,
               "a tile of 2^24 scalars");
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
    check_lock_within(card);
    check_registered(card);
    check_impossible(card);
    CARD_OK(card->api->device_free_bytes(card->device, &after, &error));
    CARD_CHECK(after + (UINT64_C(4) << 20) >= before, "free memory: %llu before, %llu after",
               (unsigned long long)before, (unsigned long long)after);
}

/* ---- A fault inside a kernel ------------------------------------------------------------------
 */

void card_test_fault(const struct card *card) {
    const struct pm_gpu_api *api = card->api;
    const uint64_t bytes = UINT64_C(64) * PM_FR_BYTES;
    struct pm_gpu_buffer values, more = {0};
    struct pm_gpu_device *again = NULL;
    pm_error reason = PM_ERROR_INIT;
    CARD_OK(PM_GPU_GET_BY(api, card->device, &card->stream, PM_GPU_STREAM, "values", bytes, &values,
                          &error));
    CARD_OK(api->stream_wait(&card->stream, &error));
    /* A chunk at an address that is nobody's. */
    CARD_OK(api->scalars_expand(&card->stream, (const void *)(uintptr_t)4096, 64, values.address,
                                &error));
    CARD_CHECK(api->stream_wait(&card->stream, &reason) == PM_DEVICE &&
                   strstr(reason.message, "cudaStreamSynchronize") != NULL,
               "%s", reason.message);
    printf("as it should: %s\n", reason.message);
    CARD_CHECK(api->device_is_bad(card->device), "it is");
    reason = (pm_error)PM_ERROR_INIT;
    CARD_CHECK(PM_GPU_GET_BY(api, card->device, &card->stream, PM_GPU_STREAM, "more", bytes, &more,
                             &reason) == PM_DEVICE &&
                   more.bytes == 0,
               "%s", reason.message);
    printf("as it should: %s\n", reason.message);
    CARD_CHECK(api->fill(&card->stream, values.address, 0, bytes, &reason) == PM_DEVICE, "a fill");
    CARD_CHECK(api->stream_wait(&card->stream, &reason) == PM_DEVICE, "a wait");
    api->memory_release(card->device, &card->stream, &values);
    CARD_CHECK(api->device_live_bytes(card->device, PM_GPU_STREAM) == 0, "live bytes");
    CARD_CHECK(api->device_open(0, NULL, &again, &reason) == PM_DEVICE && again == NULL,
               "opened again: %s", reason.message);
}
