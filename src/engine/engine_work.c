/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Threads. They are all alike: each takes the first of an outcome to write, a chore, a step that
 * may run. There are enough of them that each worker, the key loads and the journal have one at the
 * same time.
 */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "par/background.h"

#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)
/* Beside workers: key loads, the journal. */
#define MORE_THREADS 2
/* A hung card may come back for so long once the engine stops. */
#define HUNG_GRACE_NS (2 * SECOND)
/* Somebody looks so often, whatever happens. */
#define IDLE_NS (60 * SECOND)

/* ---- Decisions ------------------------------------------------------------------------------ */

void pm_engine_add_chore(struct pm_engine *engine, enum engine_chore_kind kind, uint32_t key,
                         uint32_t device) {
    /* Each key has at most one chore for each place, so that the ring is never full. */
    const uint32_t at = (engine->chore_first + engine->n_chores++) % PM_ENGINE_CHORES_MAX;
    engine->chores[at] = (struct engine_chore){kind, key, device};
    (void)pthread_cond_broadcast(&engine->work);
}

static void carry_out(struct pm_engine *engine, const struct pm_sched_decision *decision,
                      struct engine_job *expired) {
    if (decision->action == PM_SCHED_EVICT) {
        pm_engine_add_chore(engine, CHORE_EVICT, decision->key, decision->device);
    }
    /* Where there is no key, room for opening one is reserved. */
    if (decision->load_key && engine->keys[decision->key] != NULL) {
        engine->keys[decision->key]->opening_since_ns = pm_clock_now_ns();
        pm_engine_add_chore(engine, CHORE_LOAD, decision->key, PM_SCHED_NONE);
    }
    if (decision->load_on_device) {
        pm_engine_add_chore(engine, CHORE_LOAD_ON_DEVICE, decision->key, decision->device);
    }
    if (expired != NULL) {
        pm_engine_settle(engine, expired);
    }
}

static void note_peaks(struct pm_engine *engine) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; ++pool) {
        if (engine->sched.reserved_bytes[pool] > engine->peak_bytes[pool]) {
            engine->peak_bytes[pool] = engine->sched.reserved_bytes[pool];
        }
    }
}

void pm_engine_pump(struct pm_engine *engine) {
    struct pm_sched_decision decision;
    pm_error error = PM_ERROR_INIT;
    while (!engine->is_stopping) {
        const uint64_t now_ns = pm_engine_now_ns(engine);
        pm_sched_decide(&engine->sched, now_ns, &decision);
        if (decision.action == PM_SCHED_WAIT) {
            engine->until_ns = decision.until_ns;
            break;
        }
        struct engine_job *expired = decision.action == PM_SCHED_EXPIRE
                                         ? engine->live[engine->sched_tasks[decision.task].job]
                                         : NULL;
        if (pm_sched_apply(&engine->sched, &decision, now_ns, &error) != PM_OK) {
            pm_engine_say(engine, PM_LOG_WARNING, "a decision could not be carried out: %s",
                          error.message);
            engine->until_ns = now_ns + SECOND;
            break;
        }
        note_peaks(engine);
        carry_out(engine, &decision, expired);
    }
    (void)pthread_cond_broadcast(&engine->work);
    (void)pthread_cond_broadcast(&engine->changed);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static bool is_ready(const struct pm_engine *engine, const struct engine_chore *chore) {
    return chore->kind != CHORE_LOAD_ON_DEVICE ||
           engine->sched_keys[chore->key].process.residency != PM_LOADING;
}

static bool take_chore(struct pm_engine *engine, struct engine_chore *chore) {
    for (uint32_t i = 0; i < engine->n_chores; ++i) {
        const uint32_t at = (engine->chore_first + i) % PM_ENGINE_CHORES_MAX;
        if (!is_ready(engine, &engine->chores[at])) {
            continue;
        }
        *chore = engine->chores[at];
        for (uint32_t k = i; k > 0; --k) {
            const uint32_t to = (engine->chore_first + k) % PM_ENGINE_CHORES_MAX;
            const uint32_t from = (engine->chore_first + k - 1) % PM_ENGINE_CHORES_MAX;
            engine->chores[to] = engine->chores[from];
        }
        engine->chore_first = (engine->chore_first + 1) % PM_ENGINE_CHORES_MAX;
        --engine->n_chores;
        return true;
    }
    return false;
}

static void run_chore(struct pm_engine *engine, const struct engine_chore *chore) {
    switch (chore->kind) {
    case CHORE_LOAD:
        pm_engine_load_key(engine, chore->key);
        break;
    case CHORE_LOAD_ON_DEVICE:
        pm_engine_load_on_device(engine, chore->key, chore->device);
        break;
    case CHORE_EVICT:
        pm_engine_drop_key(engine, chore->key, chore->device);
        break;
    }
}

/* The part that keeps a card busy in this task. NULL: none does. Finishing may still wait for what
 * the card was given. */
static struct engine_part *part_on_card(struct pm_engine *engine,
                                        const struct pm_sched_task *task) {
    if (!task->used || !task->running ||
        (task->step != PM_ENGINE_STEP_PROVE && task->step != PM_ENGINE_STEP_FINISH) ||
        !engine->devices[task->device].is_card) {
        return NULL;
    }
    struct engine_job *job = engine->live[task->job];
    return &job->parts[job->part_of[task->part]];
}

/* A card that is at one step for too long is given up, and the proof with it. Whether any card is
 * at work at all. */
static bool look_for_stalls(struct pm_engine *engine) {
    const uint64_t now_ns = pm_clock_now_ns();
    bool is_at_work = false;
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct pm_sched_task *task = &engine->sched_tasks[i];
        struct engine_part *part = part_on_card(engine, task);
        if (part == NULL) {
            continue;
        }
        is_at_work = true;
        if (now_ns - part->step_began_ns > engine->limits.stall_ns && !part->is_overdue) {
            part->is_overdue = true;
            __atomic_store_n(&part->cancel, 1, __ATOMIC_RELAXED);
            ++engine->devices[task->device].n_faults;
            (void)pm_sched_quarantine(&engine->sched, task->device, pm_engine_now_ns(engine), NULL);
            (void)pm_engine_note_quarantine(engine, PM_DEVICE);
            if (!engine->is_stopping) {
                pm_engine_settle_all(engine);
                pm_engine_pump(engine);
            }
        }
    }
    return is_at_work;
}

static void sleep_a_while(struct pm_engine *engine) {
    const uint64_t now_ns = pm_clock_now_ns();
    uint64_t until_ns = now_ns + IDLE_NS;
    if (look_for_stalls(engine)) {
        until_ns = now_ns + SECOND / 4;
    }
    if (engine->first_ending != NULL && engine->ending_not_before_ns < until_ns) {
        until_ns = engine->ending_not_before_ns;
    }
    if ((engine->arrivals_fail || engine->stores_fail) && engine->probe_not_before_ns < until_ns) {
        until_ns = engine->probe_not_before_ns;
    }
    if (engine->until_ns != PM_SCHED_NEVER) {
        const uint64_t policy_ns = pm_engine_monotonic_ns(engine, engine->until_ns);
        until_ns = policy_ns < until_ns ? policy_ns : until_ns;
    }
    pm_clock_wait_until(&engine->work, &engine->lock, until_ns);
    if (engine->until_ns != PM_SCHED_NEVER && pm_engine_now_ns(engine) >= engine->until_ns) {
        pm_engine_pump(engine);
    }
}

static void work_once(struct pm_engine *engine) {
    struct engine_chore chore;
    if (pm_engine_drop_pending(engine)) {
        return;
    }
    if (pm_engine_write_outcome(engine)) {
        pm_engine_forget_old(engine);
        return;
    }
    if (pm_engine_probe_journal(engine)) {
        return;
    }
    if (take_chore(engine, &chore)) {
        pm_engine_unlock(engine);
        run_chore(engine, &chore);
        pm_engine_lock(engine);
        return;
    }
    const uint32_t task = pm_sched_next_runnable(&engine->sched);
    if (task != PM_SCHED_NONE) {
        pm_engine_run_step(engine, task);
        return;
    }
    pm_engine_forget_old(engine);
    sleep_a_while(engine);
}

static void *thread_main(void *argument) {
    struct pm_engine *engine = argument;
    pm_engine_lock(engine);
    while (!engine->is_stopping) {
        work_once(engine);
    }
    while (!engine->is_abandoned && (pm_engine_drop_pending(engine) ||
                                     (pm_engine_write_outcome(engine) && !engine->journal_fails))) {
        /* What has ended is still said. */
    }
    ++engine->n_thread_ends;
    (void)pthread_cond_broadcast(&engine->changed);
    pm_engine_unlock(engine);
    return NULL;
}

pm_status pm_engine_start_threads(struct pm_engine *engine, pm_error *error) {
    uint32_t n = MORE_THREADS;
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        const struct engine_device *device = &engine->devices[d];
        /* A card's worker goes on to the next proof while the last one is finished. */
        n += (device->n_workers + device->n_express) * (device->is_card ? 2 : 1);
    }
    n = n < PM_ENGINE_THREADS_MAX ? n : PM_ENGINE_THREADS_MAX;
    pm_engine_lock(engine);
    pm_engine_pump(engine);
    pm_engine_unlock(engine);
    for (uint32_t i = 0; i < n; ++i) {
        const int failed = pm_thread_start(&engine->threads[i], thread_main, engine);
        PM_FAIL_IF(failed != 0, error, PM_NO_THREADS,
                   "a thread of the engine could not be started");
        engine->n_threads = i + 1;
    }
    return PM_OK;
}

/* Threads in a step that its card does not give back; and, where a card was given up, those that
 * drop a proof, which waits for the card too. */
static uint32_t count_hung(struct pm_engine *engine) {
    uint32_t n = 0;
    bool is_any_given_up = false;
    for (uint32_t i = 0; i < engine->sched.n_tasks_end; ++i) {
        const struct engine_part *part = part_on_card(engine, &engine->sched_tasks[i]);
        n += part != NULL && part->is_overdue;
    }
    for (uint32_t d = 0; d < engine->n_devices; ++d) {
        is_any_given_up |= engine->devices[d].is_card && engine->sched.devices[d].quarantined;
    }
    return n + (is_any_given_up ? engine->n_undropped - engine->n_dropped : 0);
}

/* Until all have ended, or all but those that hang. */
static void await_threads(struct pm_engine *engine) {
    const uint64_t grace_until_ns = pm_clock_now_ns() + HUNG_GRACE_NS;
    while (engine->n_thread_ends < engine->n_threads && !engine->is_abandoned) {
        (void)look_for_stalls(engine);
        const uint32_t n_hung = count_hung(engine);
        if (n_hung != 0 && engine->n_thread_ends + n_hung >= engine->n_threads &&
            pm_clock_now_ns() >= grace_until_ns) {
            engine->is_abandoned = true;
            pm_engine_say(engine, PM_LOG_WARNING,
                          "a card does not answer: its threads are left, and what they hold, until "
                          "the process ends");
        } else {
            (void)pm_engine_wait_changed(engine, pm_clock_now_ns() + SECOND / 10);
        }
    }
}

void pm_engine_join_threads(struct pm_engine *engine) {
    pm_engine_lock(engine);
    await_threads(engine);
    const bool is_abandoned = engine->is_abandoned;
    pm_engine_unlock(engine);
    for (uint32_t i = 0; i < engine->n_threads; ++i) {
        struct timespec until;
        if (!is_abandoned) {
            (void)pthread_join(engine->threads[i], NULL);
            continue;
        }
        (void)clock_gettime(CLOCK_REALTIME, &until);
        ++until.tv_sec;
        if (pthread_timedjoin_np(engine->threads[i], NULL, &until) != 0) {
            (void)pthread_detach(engine->threads[i]);
        }
    }
    engine->n_threads = 0;
}
