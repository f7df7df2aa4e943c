/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * No wake-up is lost: a call is put into the room first and its job looked at afterwards, and the
 * thread that reads the engine's events looks at the job of each, and at all jobs where the
 * sequence has a gap. What a call was told last is kept over its waits, so that a change between
 * two of them is seen when it waits again.
 */
#include "daemon/rpc_internal.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long the engine's events are waited for before the server is looked at. */
#define POLL_MS 200
#define EXPIRE_MS 1000

static struct pm_rpc_call **bucket_of(struct rpc_room *room, uint64_t job) {
    const uint64_t spread = job * UINT64_C(0x9e3779b97f4a7c15);
    return &room->buckets[(spread >> 32) % RPC_BUCKETS];
}

/* ---- In and out; under the room's lock and the call's ---------------------------------------- */

static void link_call(struct rpc_room *room, struct pm_rpc_call *call) {
    struct pm_rpc_call **bucket = bucket_of(room, call->job);
    call->room_next = *bucket;
    call->room_link = bucket;
    if (*bucket != NULL) {
        (*bucket)->room_link = &call->room_next;
    }
    *bucket = call;
    call->is_parked = true;
    ++room->n_parked;
    room->n_watching += call->every_change;
    rpc_call_ref(call);
}

/* Its reference is the caller's to give back, without the call's lock. */
static void unlink_call(struct rpc_room *room, struct pm_rpc_call *call) {
    *call->room_link = call->room_next;
    if (call->room_next != NULL) {
        call->room_next->room_link = call->room_link;
    }
    call->room_link = NULL;
    call->room_next = NULL;
    call->is_parked = false;
    --room->n_parked;
    room->n_watching -= call->every_change;
}

static void wake(struct rpc_room *room, struct pm_rpc_call *call, enum pm_rpc_wake why) {
    unlink_call(room, call);
    call->wake = why;
    rpc_call_schedule(call, RPC_TODO_RESUME);
}

void rpc_room_leave(struct pm_rpc_call *call) {
    struct rpc_room *room = &call->server->room;
    (void)pthread_mutex_lock(&room->lock);
    (void)pthread_mutex_lock(&call->lock);
    const bool was_in = call->is_parked;
    if (was_in) {
        unlink_call(room, call);
    }
    (void)pthread_mutex_unlock(&call->lock);
    if (was_in) {
        rpc_call_unref(call);
    }
    (void)pthread_mutex_unlock(&room->lock);
}

/* ---- Looking at jobs ------------------------------------------------------------------------ */

/* Whether the job has ended. One that is not known any more has: whoever waits for it finds out. */
static bool job_has_ended(pm_engine *engine, uint64_t job, struct rpc_look *look) {
    pm_engine_job info = {.struct_bytes = sizeof info};
    memset(look, 0, sizeof *look);
    if (engine == NULL || pm_engine_job_info(engine, job, &info, NULL) != PM_OK) {
        return true;
    }
    look->state = info.state;
    look->n_parts_done = info.n_parts_done;
    look->n_retries = info.n_retries;
    look->n_ahead = info.n_ahead;
    look->device = info.device;
    look->phase_done = info.phase_done;
    look->phase_total = info.phase_total;
    (void)snprintf(look->phase, sizeof look->phase, "%s", info.phase);
    (void)snprintf(look->waits_for, sizeof look->waits_for, "%s", info.waits_for);
    return info.state >= PM_ENGINE_DONE;
}

/* Wakes a parked call if there is a reason to; under both locks. A caller who has not read the last
 * change yet is told of the next one when it has. */
static bool consider(struct rpc_room *room, struct pm_rpc_call *call, const struct rpc_look *look,
                     bool has_ended) {
    const bool is_first = !call->has_looked || call->looked_job != call->job;
    if (has_ended) {
        wake(room, call, PM_RPC_WAKE_ENDED);
        return true;
    }
    if (!call->every_change || call->unsent != NULL ||
        (!is_first && memcmp(look, &call->looked, sizeof *look) == 0)) {
        return false;
    }
    call->looked = *look;
    call->looked_job = call->job;
    call->has_looked = true;
    wake(room, call, PM_RPC_WAKE_CHANGED);
    return true;
}

void rpc_room_look(struct pm_rpc_call *call) {
    struct rpc_room *room = &call->server->room;
    struct rpc_look look;
    (void)pthread_mutex_lock(&call->lock);
    const uint64_t job = call->job;
    (void)pthread_mutex_unlock(&call->lock);
    const bool has_ended = job_has_ended(call->server->engine, job, &look);
    bool is_woken = false;
    (void)pthread_mutex_lock(&room->lock);
    (void)pthread_mutex_lock(&call->lock);
    if (call->is_parked && call->job == job) {
        is_woken = consider(room, call, &look, has_ended);
    }
    (void)pthread_mutex_unlock(&call->lock);
    if (is_woken) {
        rpc_call_unref(call);
    }
    (void)pthread_mutex_unlock(&room->lock);
}

/* Looks at all who wait for a job. */
static void look_at(struct pm_rpc_server *server, uint64_t job) {
    struct rpc_room *room = &server->room;
    (void)pthread_mutex_lock(&room->lock);
    const struct pm_rpc_call *any = *bucket_of(room, job);
    while (any != NULL && any->job != job) {
        any = any->room_next;
    }
    (void)pthread_mutex_unlock(&room->lock);
    if (any == NULL) {
        return;
    }
    struct rpc_look look;
    const bool has_ended = job_has_ended(server->engine, job, &look);
    (void)pthread_mutex_lock(&room->lock);
    for (struct pm_rpc_call *call = *bucket_of(room, job), *next; call != NULL; call = next) {
        next = call->room_next;
        (void)pthread_mutex_lock(&call->lock);
        const bool is_woken = call->job == job && consider(room, call, &look, has_ended);
        (void)pthread_mutex_unlock(&call->lock);
        if (is_woken) {
            rpc_call_unref(call);
        }
    }
    (void)pthread_mutex_unlock(&room->lock);
}

static int compare_jobs(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Looks at every job that somebody waits for, or that somebody watches. False: no memory. */
static bool look_at_all(struct pm_rpc_server *server, bool watched_only) {
    struct rpc_room *room = &server->room;
    uint32_t n = 0;
    (void)pthread_mutex_lock(&room->lock);
    uint64_t *jobs = calloc((size_t)room->n_parked + 1, sizeof *jobs);
    for (uint32_t b = 0; jobs != NULL && b < RPC_BUCKETS; ++b) {
        for (const struct pm_rpc_call *call = room->buckets[b]; call != NULL;
             call = call->room_next) {
            if (!watched_only || call->every_change) {
                jobs[n++] = call->job;
            }
        }
    }
    (void)pthread_mutex_unlock(&room->lock);
    if (jobs == NULL) {
        return false;
    }
    qsort(jobs, n, sizeof *jobs, compare_jobs);
    for (uint32_t j = 0; j < n; ++j) {
        if (j == 0 || jobs[j] != jobs[j - 1]) {
            look_at(server, jobs[j]);
        }
    }
    free(jobs);
    return true;
}

/* ---- The engine's events -------------------------------------------------------------------- */

/* No job ends any more. Whoever waits for one that has not is sent away. */
static void send_away(struct pm_rpc_call *call) {
    rpc_call_cut(
        call, PM_RPC_UNAVAILABLE,
        "the daemon stops; a job that it has accepted stays in its journal, if it has one");
}

static void send_all_away(struct pm_rpc_server *server) {
    struct rpc_room *room = &server->room;
    for (uint32_t b = 0; b < RPC_BUCKETS; ++b) {
        for (struct pm_rpc_call *call = NULL;; rpc_call_unref(call)) {
            (void)pthread_mutex_lock(&room->lock);
            call = room->buckets[b];
            if (call != NULL) {
                rpc_call_ref(call); /* the room has one as long as it is in there */
            }
            (void)pthread_mutex_unlock(&room->lock);
            if (call == NULL) {
                break;
            }
            send_away(call);
        }
    }
}

/* The same for one that has come to wait when it was known already. */
static void send_away_parked(struct pm_rpc_call *call) {
    (void)pthread_mutex_lock(&call->lock);
    const bool is_parked = call->is_parked;
    (void)pthread_mutex_unlock(&call->lock);
    if (is_parked) {
        send_away(call);
    }
}

static bool is_closing(struct rpc_room *room) {
    (void)pthread_mutex_lock(&room->lock);
    const bool closes = room->is_closing;
    (void)pthread_mutex_unlock(&room->lock);
    return closes;
}

static void *read_events(void *argument) {
    struct pm_rpc_server *server = argument;
    struct rpc_room *room = &server->room;
    uint64_t seen = 0;
    bool has_gap = false;
    while (!is_closing(room)) {
        pm_engine_event event;
        const pm_status status = pm_engine_next_event(server->engine, seen, POLL_MS, &event);
        if (status == PM_CANCELLED) {
            (void)pthread_mutex_lock(&room->lock);
            room->engine_stops = true;
            (void)pthread_mutex_unlock(&room->lock);
            (void)look_at_all(server, false);
            send_all_away(server);
            return NULL;
        }
        if (status == PM_OK) {
            has_gap = has_gap || event.sequence != seen + 1;
            seen = event.sequence;
            if (event.job != 0 && !has_gap) {
                look_at(server, event.job);
            }
        }
        has_gap = has_gap && !look_at_all(server, false);
    }
    return NULL;
}

/* ---- The clock ------------------------------------------------------------------------------ */

/* Wakes those whose time is over. Under the room's lock. */
static void ring(struct rpc_room *room, uint64_t now_ns) {
    room->next_timeout_ns = UINT64_MAX;
    for (uint32_t b = 0; b < RPC_BUCKETS; ++b) {
        for (struct pm_rpc_call *call = room->buckets[b], *next; call != NULL; call = next) {
            next = call->room_next;
            (void)pthread_mutex_lock(&call->lock);
            const uint64_t at_ns = call->timeout_at_ns;
            if (at_ns <= now_ns) {
                wake(room, call, PM_RPC_WAKE_TIMEOUT);
            }
            (void)pthread_mutex_unlock(&call->lock);
            if (at_ns <= now_ns) {
                rpc_call_unref(call);
            } else if (at_ns < room->next_timeout_ns) {
                room->next_timeout_ns = at_ns;
            }
        }
    }
}

static void *keep_time(void *argument) {
    struct pm_rpc_server *server = argument;
    struct rpc_room *room = &server->room;
    uint64_t sample_ns = 0;
    uint64_t expire_ns = 0;
    (void)pthread_mutex_lock(&room->lock);
    while (!room->is_closing) {
        const uint64_t now_ns = pm_clock_now_ns();
        if (now_ns >= room->next_timeout_ns) {
            ring(room, now_ns);
        }
        const bool samples = room->n_watching != 0 && now_ns >= sample_ns;
        const bool expires = now_ns >= expire_ns;
        if (samples || expires) {
            (void)pthread_mutex_unlock(&room->lock);
            if (samples) {
                (void)look_at_all(server, true);
                sample_ns = now_ns + RPC_SAMPLE_MS * RPC_MS;
            }
            if (expires) {
                rpc_server_expire(server, now_ns);
                expire_ns = now_ns + EXPIRE_MS * RPC_MS;
            }
            (void)pthread_mutex_lock(&room->lock);
            continue; /* much may have happened meanwhile */
        }
        uint64_t until_ns = room->n_watching != 0 && sample_ns < expire_ns ? sample_ns : expire_ns;
        until_ns = room->next_timeout_ns < until_ns ? room->next_timeout_ns : until_ns;
        pm_clock_wait_until(&room->changed, &room->lock, until_ns);
    }
    (void)pthread_mutex_unlock(&room->lock);
    return NULL;
}

/* ---- Start, stop, park ---------------------------------------------------------------------- */

pm_status rpc_room_start(struct pm_rpc_server *server, pm_error *error) {
    struct rpc_room *room = &server->room;
    room->next_timeout_ns = UINT64_MAX;
    room->has_clock = pthread_create(&room->clock, NULL, keep_time, server) == 0;
    PM_FAIL_IF(!room->has_clock, error, PM_NO_MEMORY, "no thread for timeouts");
    if (server->engine != NULL) {
        room->has_events = pthread_create(&room->events, NULL, read_events, server) == 0;
        PM_FAIL_IF(!room->has_events, error, PM_NO_MEMORY, "no thread for the engine's events");
    }
    return PM_OK;
}

void rpc_room_stop(struct pm_rpc_server *server) {
    struct rpc_room *room = &server->room;
    (void)pthread_mutex_lock(&room->lock);
    room->is_closing = true;
    (void)pthread_cond_broadcast(&room->changed);
    (void)pthread_mutex_unlock(&room->lock);
    if (room->has_clock) {
        (void)pthread_join(room->clock, NULL);
    }
    if (room->has_events) {
        (void)pthread_join(room->events, NULL);
    }
    room->has_clock = room->has_events = false;
}

void pm_rpc_park(struct pm_rpc_call *call, uint64_t job, uint64_t timeout_ms, bool every_change,
                 pm_rpc_resume *resume) {
    struct rpc_room *room = &call->server->room;
    const uint64_t now_ns = pm_clock_now_ns();
    const bool is_bounded = timeout_ms != 0 && timeout_ms < (UINT64_MAX - now_ns) / RPC_MS;
    (void)pthread_mutex_lock(&room->lock);
    (void)pthread_mutex_lock(&call->lock);
    if (!call->has_ended && !call->did_park) {
        call->did_park = true;
        call->job = job;
        call->timeout_at_ns = is_bounded ? now_ns + timeout_ms * RPC_MS : UINT64_MAX;
        call->every_change = every_change;
        call->resume = resume;
        link_call(room, call);
        if (every_change || call->timeout_at_ns < room->next_timeout_ns) {
            if (call->timeout_at_ns < room->next_timeout_ns) {
                room->next_timeout_ns = call->timeout_at_ns;
            }
            (void)pthread_cond_signal(&room->changed);
        }
    }
    const bool engine_stops = room->engine_stops;
    (void)pthread_mutex_unlock(&call->lock);
    (void)pthread_mutex_unlock(&room->lock);
    rpc_room_look(call);
    if (engine_stops) {
        send_away_parked(call);
    }
}
