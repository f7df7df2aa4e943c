/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/status_events.c - /events?after=N: what workers and keys did, in order.
 *
 * The engine itself remembers the last 4096; who asks once a second and is told that there are
 * more asks again.
 */
#include "daemon/http.h"

#include "base/clock.h"
#include "base/status.h"

#define EVENTS_MAX 1000

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"", "job", "begin", "end", "key", "device", "journal"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "";
}

static const char *state_name(const pm_engine_event *event) {
    static const char *const tiers[] = {"hot", "warm", "cold"};
    if (event->kind == PM_ENGINE_EVENT_JOB) {
        return pm_engine_state_name((pm_engine_state)event->state);
    }
    return event->kind == PM_ENGINE_EVENT_KEY && event->state < 3 ? tiers[event->state] : "";
}

/* Names of keys are letters, digits and -_.: , and none of the others needs an escape either. */
static void add_event(struct pm_text *text, const pm_engine_event *event) {
    const bool has_stage =
        event->kind == PM_ENGINE_EVENT_BEGIN || event->kind == PM_ENGINE_EVENT_END;
    pm_text_add(text,
                "{\"sequence\":%llu,\"kind\":\"%s\",\"at_us\":%llu,\"wall_ms\":%lld,"
                "\"job\":%llu,\"part\":%u,\"device\":%d,\"worker\":%u,\"stage\":\"%s\","
                "\"state\":\"%s\",\"status\":\"%s\",\"key\":\"%s\"}",
                (unsigned long long)event->sequence, kind_name(event->kind),
                (unsigned long long)(event->at_ns / 1000), (long long)event->wall_ms,
                (unsigned long long)event->job, event->part, (int)event->device, event->worker,
                has_stage ? pm_engine_stage_name((pm_engine_stage)event->stage) : "",
                state_name(event), pm_status_name((pm_status)event->status), event->key);
}

pm_status pm_events_json(struct pm_daemon *daemon, uint64_t after, char **text, size_t *n_bytes,
                         pm_error *error) {
    struct pm_text all = {0};
    char instance[PM_INSTANCE_BYTES];
    pm_engine_event event;
    uint32_t n = 0;
    pm_instance(daemon, instance);
    pm_text_add(&all, "{\"instance\":\"%s\",\"now_us\":%llu,\"events\":[", instance,
                (unsigned long long)(pm_clock_now_ns() / 1000));
    while (n < EVENTS_MAX && pm_engine_next_event(daemon->engine, after, 0, &event) == PM_OK) {
        pm_text_add(&all, "%s", n != 0 ? ",\n" : "");
        add_event(&all, &event);
        after = event.sequence;
        ++n;
    }
    pm_text_add(&all, "],\"more\":%s}\n", n == EVENTS_MAX ? "true" : "false");
    return pm_text_take(&all, text, n_bytes, error);
}
