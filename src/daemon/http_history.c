/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/http_history.c - what a page that is opened now shows of the last ten minutes. */
#include "daemon/http.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long ull;

static void take(struct pm_daemon *daemon, struct pm_http_sample *sample) {
    pm_engine_metrics metrics;
    pm_engine_device_info devices[PM_ENGINE_DEVICES_MAX];
    uint32_t n_devices = PM_ENGINE_DEVICES_MAX;
    struct pm_process_usage usage;
    struct timespec wall = {0};
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    (void)pm_engine_metrics_now(daemon->engine, &metrics);
    (void)pm_engine_devices(daemon->engine, devices, &n_devices);
    pm_process_usage_now(&usage);
    *sample =
        (struct pm_http_sample){.at_us = pm_clock_now_ns() / 1000,
                                .wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000,
                                .resident_bytes = usage.resident_bytes,
                                .n_done = metrics.n_done,
                                .n_failed = metrics.n_failed,
                                .n_proofs = metrics.n_proofs,
                                .n_queued = pm_daemon_n_queued(&metrics),
                                .n_running = metrics.n_running};
    for (uint32_t p = 0; p < metrics.n_pools; ++p) {
        sample->reserved_bytes[p] = metrics.pools[p].reserved_bytes;
    }
    for (uint32_t d = 0; d < n_devices; ++d) {
        sample->busy_us[d] = devices[d].busy_ns / 1000;
    }
}

void pm_http_history_sample(struct pm_http_history *history, struct pm_daemon *daemon) {
    struct pm_http_sample sample;
    take(daemon, &sample);
    (void)pthread_mutex_lock(&history->lock);
    struct pm_http_sample *place = &history->samples[history->n % PM_HTTP_SAMPLES];
    *place = sample;
    place->sequence = ++history->n;
    (void)pthread_mutex_unlock(&history->lock);
}

static void add_numbers(struct pm_text *text, const char *name, const uint64_t *numbers,
                        uint32_t n) {
    pm_text_add(text, ",\"%s\":[", name);
    for (uint32_t i = 0; i < n; ++i) {
        pm_text_add(text, "%s%llu", i != 0 ? "," : "", (ull)numbers[i]);
    }
    pm_text_add(text, "]");
}

static void add_sample(struct pm_text *text, const struct pm_http_sample *sample, uint32_t n_pools,
                       uint32_t n_devices) {
    pm_text_add(text,
                "{\"sequence\":%llu,\"at_us\":%llu,\"wall_ms\":%lld,\"queued\":%u,\"running\":%u,"
                "\"done\":%llu,\"failed\":%llu,\"proofs\":%llu,\"resident_bytes\":%llu",
                (ull)sample->sequence, (ull)sample->at_us, (long long)sample->wall_ms,
                sample->n_queued, sample->n_running, (ull)sample->n_done, (ull)sample->n_failed,
                (ull)sample->n_proofs, (ull)sample->resident_bytes);
    add_numbers(text, "reserved_bytes", sample->reserved_bytes, n_pools);
    add_numbers(text, "busy_us", sample->busy_us, n_devices);
    pm_text_add(text, "}");
}

/* Copies the samples after `after`; how many. */
static uint32_t copy_samples(struct pm_http_history *history, uint64_t after,
                             struct pm_http_sample *samples) {
    uint32_t n = 0;
    (void)pthread_mutex_lock(&history->lock);
    const uint64_t oldest = history->n > PM_HTTP_SAMPLES ? history->n - PM_HTTP_SAMPLES : 0;
    for (uint64_t i = after > oldest ? after : oldest; i < history->n; ++i) {
        samples[n++] = history->samples[i % PM_HTTP_SAMPLES];
    }
    (void)pthread_mutex_unlock(&history->lock);
    return n;
}

pm_status pm_http_history_json(struct pm_http_history *history, struct pm_daemon *daemon,
                               uint64_t after, char **text, size_t *n_bytes, pm_error *error) {
    struct pm_text all = {0};
    char instance[PM_INSTANCE_BYTES];
    pm_engine_metrics metrics;
    uint32_t n_devices = 0;
    struct pm_http_sample *samples = calloc(PM_HTTP_SAMPLES, sizeof *samples);
    PM_FAIL_IF(samples == NULL, error, PM_NO_MEMORY, "no memory for the history");
    (void)pm_engine_metrics_now(daemon->engine, &metrics);
    (void)pm_engine_devices(daemon->engine, NULL, &n_devices);
    const uint32_t n = copy_samples(history, after, samples);
    pm_instance(daemon, instance);
    pm_text_add(&all, "{\"instance\":\"%s\",\"interval_ms\":%u,\"samples\":[", instance,
                PM_HTTP_SAMPLE_MS);
    for (uint32_t i = 0; i < n; ++i) {
        pm_text_add(&all, "%s", i != 0 ? ",\n" : "");
        add_sample(&all, &samples[i], metrics.n_pools, n_devices);
    }
    pm_text_add(&all, "]}\n");
    free(samples);
    return pm_text_take(&all, text, n_bytes, error);
}
