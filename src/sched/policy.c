/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "sched/policy.h"

#include "sched/sched_internal.h"

#include <stddef.h>
#include <string.h>

const char *pm_sched_reason_name(enum pm_sched_reason reason) {
    static const char *const names[] = {"nothing",
                                        "the journal",
                                        "a moment after a fault",
                                        "its turn",
                                        "a preparation slot",
                                        "tasks ahead of the devices",
                                        "memory",
                                        "a worker of a device",
                                        "its key to be evicted",
                                        "its key to be loaded",
                                        "a device that it may use",
                                        "an idle key to be evicted"};
    return (uint32_t)reason < sizeof names / sizeof names[0] ? names[reason] : "unknown";
}

/* What is set aside for tasks that were first in turn and did not fit. */
struct claims {
    uint32_t owner[2]; /* keys of those tasks; not evicted for others */
    bool on_process;
    uint64_t bytes[PM_KIND_DEVICE];
    bool on_device[PM_DEVICES_MAX];
    uint64_t device_bytes[PM_DEVICES_MAX];
};

/* One question to the policy. */
struct question {
    const struct pm_sched *sched;
    uint64_t now_ns;
    uint64_t until_ns;
    struct claims claims;
};

/* How far a task is from starting. */
struct verdict {
    bool can;                          /* decision says how */
    struct pm_sched_decision decision; /* START, PREPARE or EVICT */
    struct pm_sched_why why;           /* it cannot */
    bool process_fits;                 /* and lacks a worker or a device's memory alone */
    uint32_t device;                   /* whose memory it lacks; NONE */
    uint64_t process_bytes[PM_KIND_DEVICE];
    uint64_t device_bytes;
};

static void wake_at(struct question *question, uint64_t at_ns) {
    if (at_ns > question->now_ns && at_ns < question->until_ns) {
        question->until_ns = at_ns;
    }
}

/* ---- Turns ------------------------------------------------------------------------------------
 */

static uint64_t deadline_of(const struct pm_sched_job *job) {
    return job->request.deadline_ns != 0 ? job->request.deadline_ns : PM_SCHED_NEVER;
}

static bool goes_before(const struct pm_sched *sched, uint32_t a, uint32_t b) {
    const struct pm_sched_task *x = &sched->tasks[a], *y = &sched->tasks[b];
    const struct pm_sched_job *one = &sched->jobs[x->job], *two = &sched->jobs[y->job];
    if (one->request.priority != two->request.priority) {
        return one->request.priority > two->request.priority;
    }
    const uint32_t round_x = x->part / sched->config.interleave;
    const uint32_t round_y = y->part / sched->config.interleave;
    if (round_x != round_y) {
        return round_x < round_y;
    }
    if (deadline_of(one) != deadline_of(two)) {
        return deadline_of(one) < deadline_of(two);
    }
    return one->sequence != two->sequence ? one->sequence < two->sequence : x->part < y->part;
}

static bool is_queued(const struct question *question, const struct pm_sched_task *task) {
    return task->used && task->state == PM_JOB_QUEUED && task->not_before_ns <= question->now_ns;
}

static bool is_prepared(const struct pm_sched_task *task) {
    return task->used && task->state == PM_JOB_PREPARED && task->device == PM_SCHED_NONE;
}

static bool is_waiting(const struct question *question, const struct pm_sched_task *task) {
    return is_queued(question, task) || is_prepared(task);
}

static uint32_t first_in_turn(const struct question *question, bool prepared) {
    const struct pm_sched *sched = question->sched;
    uint32_t first = PM_SCHED_NONE;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        const bool counts = prepared ? is_prepared(task) : is_queued(question, task);
        if (counts && (first == PM_SCHED_NONE || goes_before(sched, i, first))) {
            first = i;
        }
    }
    return first;
}

/* The one that came first among those that have aged, when it is their turn. */
static uint32_t aged_in_turn(struct question *question) {
    const struct pm_sched *sched = question->sched;
    uint32_t oldest = PM_SCHED_NONE;
    if (sched->n_since_aged < sched->config.age_every) {
        return PM_SCHED_NONE;
    }
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (!is_waiting(question, task)) {
            continue;
        }
        if (question->now_ns - task->queued_ns < sched->config.age_ns) {
            wake_at(question, task->queued_ns + sched->config.age_ns);
            continue;
        }
        const uint64_t sequence = sched->jobs[task->job].sequence;
        const uint64_t least = oldest == PM_SCHED_NONE
                                   ? PM_SCHED_NEVER
                                   : sched->jobs[sched->tasks[oldest].job].sequence;
        if (sequence < least || (sequence == least && task->part < sched->tasks[oldest].part)) {
            oldest = i;
        }
    }
    return oldest;
}

/* ---- Bytes ------------------------------------------------------------------------------------
 */

static uint64_t room(const struct pm_sched *sched, uint32_t pool) {
    return sched->total_bytes[pool] - sched->reserved_bytes[pool];
}

/* What keys that may leave hold of a kind of the process's memory, but for `key`; *coming_bytes:
 * what those hold that are leaving already. */
static uint64_t idle_bytes(struct question *question, enum pm_sched_kind kind, uint32_t key,
                           uint64_t *coming_bytes) {
    const struct pm_sched *sched = question->sched;
    uint64_t bytes = 0;
    *coming_bytes = 0;
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        const struct pm_sched_key *other = &sched->keys[k];
        if (!other->used || k == key || other->bytes[kind] == 0) {
            continue;
        }
        if (other->process.residency == PM_EVICTING) {
            *coming_bytes += other->bytes[kind];
        } else if (pm_sched_key_may_leave(sched, k, question->now_ns)) {
            bytes += other->bytes[kind];
        } else if (pm_sched_key_is_idle(sched, k)) {
            wake_at(question, other->process.last_used_ns + sched->config.evict_idle_ns);
        }
    }
    return bytes;
}

static bool is_claimed_key(const struct question *question, uint32_t key) {
    return key == question->claims.owner[0] || key == question->claims.owner[1];
}

/* The least recently used key that may leave the process and holds bytes of this kind. */
static uint32_t leaving_key(const struct question *question, enum pm_sched_kind kind,
                            uint32_t key) {
    const struct pm_sched *sched = question->sched;
    uint32_t found = PM_SCHED_NONE;
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        const struct pm_sched_key *other = &sched->keys[k];
        if (other->used && k != key && other->bytes[kind] != 0 &&
            other->process.residency == PM_RESIDENT && !is_claimed_key(question, k) &&
            pm_sched_key_may_leave(sched, k, question->now_ns) &&
            (found == PM_SCHED_NONE ||
             other->process.last_used_ns < sched->keys[found].process.last_used_ns)) {
            found = k;
        }
    }
    return found;
}

/* A key leaves its devices before it leaves the process. Nothing while one of them is at it. */
static bool decide_leaving(const struct pm_sched *sched, uint32_t key,
                           struct pm_sched_decision *decision) {
    const struct pm_sched_key *leaving = &sched->keys[key];
    uint32_t device = PM_SCHED_NONE;
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        if (leaving->devices[d].residency == PM_EVICTING) {
            return false;
        }
        if (leaving->devices[d].residency == PM_RESIDENT) {
            device = d;
        }
    }
    *decision = (struct pm_sched_decision){.action = PM_SCHED_EVICT,
                                           .task = decision->task,
                                           .device = device,
                                           .worker = PM_SCHED_NONE,
                                           .key = key};
    return true;
}

static void lacks(struct verdict *verdict, enum pm_sched_reason reason, uint32_t pool,
                  uint64_t need_bytes, uint64_t have_bytes) {
    verdict->can = false;
    verdict->why = (struct pm_sched_why){reason, pool, need_bytes, have_bytes};
}

/* Whether `need` of a kind fits the process, beside what is set aside. False with a verdict: an
 * eviction, or why not. */
static bool process_has_room(struct question *question, enum pm_sched_kind kind, uint32_t key,
                             struct verdict *verdict) {
    const uint64_t need = verdict->process_bytes[kind];
    const uint64_t aside = question->claims.bytes[kind];
    const uint64_t have = room(question->sched, kind);
    if (need == 0 || (aside <= have && need <= have - aside)) {
        return true;
    }
    lacks(verdict, PM_REASON_BYTES, kind, need, have > aside ? have - aside : 0);
    uint64_t coming;
    const uint64_t idle = idle_bytes(question, kind, key, &coming);
    if (question->claims.on_process || have + coming + idle < need) {
        return false;
    }
    verdict->why.reason = PM_REASON_EVICT;
    const uint32_t leaving =
        have + coming < need ? leaving_key(question, kind, key) : PM_SCHED_NONE;
    verdict->can =
        leaving != PM_SCHED_NONE && decide_leaving(question->sched, leaving, &verdict->decision);
    return false;
}

/* ---- Devices ----------------------------------------------------------------------------------
 */

/* How well a device suits: the lower, the better. */
struct suit {
    uint64_t cost_ns;
    uint32_t n_busy;
    bool is_cold;
};

static bool suits_better(const struct suit *a, const struct suit *b) {
    if (a->cost_ns != b->cost_ns) {
        return a->cost_ns < b->cost_ns;
    }
    return a->n_busy != b->n_busy ? a->n_busy < b->n_busy : a->is_cold < b->is_cold;
}

static uint32_t free_worker(const struct pm_sched_device *device, enum pm_priority priority,
                            uint32_t *n_busy) {
    const uint32_t n = device->n_workers + (priority >= PM_PRIORITY_HIGH ? device->n_express : 0);
    uint32_t found = PM_SCHED_NONE;
    *n_busy = 0;
    for (uint32_t w = device->n_workers + device->n_express; w-- > 0;) {
        const bool is_busy = device->workers[w] != PM_SCHED_NONE;
        *n_busy += is_busy;
        found = w < n && !is_busy ? w : found;
    }
    return found;
}

/* Bytes of idle copies that could leave the device for the sake of `key`, those of copies that are
 * leaving already, and the one to go first. */
static uint64_t idle_copies(struct question *question, uint32_t device, uint32_t key,
                            uint64_t *coming_bytes, uint32_t *first) {
    const struct pm_sched *sched = question->sched;
    uint64_t bytes = 0;
    *first = PM_SCHED_NONE;
    *coming_bytes = 0;
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        const struct pm_sched_key *other = &sched->keys[k];
        const struct pm_sched_place *copy = &other->devices[device];
        if (!other->used || k == key || other->bytes[PM_KIND_DEVICE] == 0) {
            continue;
        }
        if (copy->residency == PM_EVICTING) {
            *coming_bytes += other->bytes[PM_KIND_DEVICE];
        } else if (copy->residency == PM_RESIDENT && copy->n_users == 0) {
            const uint64_t idle_at_ns = copy->last_used_ns + sched->config.evict_idle_ns;
            wake_at(question, idle_at_ns);
            if (idle_at_ns <= question->now_ns) {
                bytes += other->bytes[PM_KIND_DEVICE];
                *first =
                    *first == PM_SCHED_NONE ||
                            copy->last_used_ns < sched->keys[*first].devices[device].last_used_ns
                        ? k
                        : *first;
            }
        }
    }
    return bytes;
}

/* Whether the task's bytes fit this device. False: verdict says why, or what must leave; *leaving
 * is PM_SCHED_NONE unless that would do. */
static bool device_has_room(struct question *question, uint32_t device, uint32_t key, uint64_t need,
                            struct verdict *verdict, uint32_t *leaving) {
    const struct pm_sched *sched = question->sched;
    const uint32_t pool = sched->devices[device].pool;
    *leaving = PM_SCHED_NONE;
    if (pool == PM_POOL_HOST || need == 0) {
        return true;
    }
    const uint64_t aside = question->claims.device_bytes[device], have = room(sched, pool);
    if (aside <= have && need <= have - aside) {
        return true;
    }
    lacks(verdict, PM_REASON_BYTES, pool, need, have > aside ? have - aside : 0);
    uint32_t first;
    uint64_t coming;
    const uint64_t idle = idle_copies(question, device, key, &coming, &first);
    if (!question->claims.on_device[device] && have + coming + idle >= need) {
        verdict->why.reason = PM_REASON_EVICT;
        *leaving = have + coming < need ? first : PM_SCHED_NONE;
    }
    return false;
}

/* Chooses among the devices of a variant. */
static void judge_devices(struct question *question, uint32_t index,
                          const struct pm_sched_variant *variant, struct verdict *verdict) {
    const struct pm_sched *sched = question->sched;
    const struct pm_sched_task *task = &sched->tasks[index];
    const struct pm_sched_request *request = &sched->jobs[task->job].request;
    const struct pm_sched_key *key = &sched->keys[request->key];
    const uint32_t mask = pm_sched_usable_devices(sched, request, variant, task->avoid_mask);
    const uint64_t task_bytes = pm_sched_device_need(variant->curve);
    struct suit best = {UINT64_MAX, UINT32_MAX, true};
    struct pm_sched_decision eviction = {0};
    bool can_evict = false;
    verdict->can = false;
    verdict->device = PM_SCHED_NONE;
    verdict->why.reason = mask == 0 ? PM_REASON_NO_DEVICE : PM_REASON_WORKER;
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        struct suit suit = {0};
        const uint32_t worker = free_worker(&sched->devices[d], request->priority, &suit.n_busy);
        if ((mask >> d & 1) == 0 || worker == PM_SCHED_NONE ||
            key->devices[d].residency == PM_EVICTING) {
            continue;
        }
        const uint64_t key_bytes = pm_sched_copy_bytes(sched, request->key, d);
        suit.is_cold = key_bytes != 0 && key->devices[d].residency == PM_COLD;
        suit.cost_ns =
            (suit.is_cold ? key->load_ns[1] : 0) + suit.n_busy * variant->curve->device_ns;
        uint32_t leaving;
        const uint64_t need = task_bytes + (suit.is_cold ? key_bytes : 0);
        if (!device_has_room(question, d, request->key, need, verdict, &leaving)) {
            if (leaving != PM_SCHED_NONE && !can_evict) {
                can_evict = true;
                eviction = (struct pm_sched_decision){.action = PM_SCHED_EVICT,
                                                      .task = index,
                                                      .device = d,
                                                      .worker = PM_SCHED_NONE,
                                                      .key = leaving};
            }
            if (verdict->device == PM_SCHED_NONE) {
                verdict->device = d;
                verdict->device_bytes = need;
            }
        } else if (suits_better(&suit, &best)) {
            best = suit;
            verdict->can = true;
            verdict->decision.action = PM_SCHED_START;
            verdict->decision.device = d;
            verdict->decision.worker = worker;
            verdict->decision.load_on_device = suit.is_cold;
        }
    }
    if (!verdict->can && can_evict) {
        verdict->can = true;
        verdict->decision = eviction;
    }
}

/* ---- One task ---------------------------------------------------------------------------------
 */

static void judge_prepared(struct question *question, uint32_t index, struct verdict *verdict) {
    const struct pm_sched_task *task = &question->sched->tasks[index];
    const struct pm_sched_request *request = &question->sched->jobs[task->job].request;
    verdict->process_fits = true;
    verdict->decision.variant = task->variant;
    judge_devices(question, index, &request->variants[task->variant], verdict);
}

static bool judge_slot(const struct pm_sched *sched, struct verdict *verdict) {
    if (sched->n_slots_used >= sched->config.n_slots) {
        lacks(verdict, PM_REASON_SLOT, PM_POOL_HOST, 0, 0);
        return false;
    }
    if (sched->config.n_ahead_max != 0 && sched->n_ahead >= sched->config.n_ahead_max) {
        lacks(verdict, PM_REASON_AHEAD, PM_POOL_HOST, 0, 0);
        return false;
    }
    return true;
}

/* A queued task, by one of its variants. */
static void judge_variant(struct question *question, uint32_t index, uint32_t v,
                          struct verdict *verdict) {
    const struct pm_sched *sched = question->sched;
    const struct pm_sched_task *task = &sched->tasks[index];
    const struct pm_sched_request *request = &sched->jobs[task->job].request;
    const struct pm_sched_variant *variant = &request->variants[v];
    const struct pm_sched_key *key = &sched->keys[request->key];
    uint64_t remaining[PM_SCHED_KINDS];
    pm_sched_curve_remaining(variant->curve, 0, remaining);
    const bool is_cold = key->process.residency == PM_COLD;
    verdict->process_fits = false;
    for (uint32_t kind = 0; kind < PM_KIND_DEVICE; kind++) {
        verdict->process_bytes[kind] = remaining[kind] + (is_cold ? key->bytes[kind] : 0);
    }
    verdict->decision = (struct pm_sched_decision){.task = index,
                                                   .variant = v,
                                                   .device = PM_SCHED_NONE,
                                                   .worker = PM_SCHED_NONE,
                                                   .key = request->key,
                                                   .load_key = is_cold};
    if (key->process.residency == PM_EVICTING) {
        lacks(verdict, PM_REASON_KEY_LEAVING, PM_POOL_HOST, 0, 0);
        return;
    }
    const bool prepares = variant->curve->steps[0].stage == PM_STAGE_PREPARE;
    if (pm_sched_usable_devices(sched, request, variant, task->avoid_mask) == 0) {
        lacks(verdict, PM_REASON_NO_DEVICE, PM_POOL_HOST, 0, 0);
        return;
    }
    if (prepares && !judge_slot(sched, verdict)) {
        return;
    }
    struct verdict direct = *verdict;
    if (!prepares) {
        judge_devices(question, index, variant, &direct);
        if (!direct.can && direct.why.reason == PM_REASON_WORKER) {
            *verdict = direct; /* nothing leaves for one that could not start anyway */
            return;
        }
    }
    if (!process_has_room(question, PM_KIND_HOST, request->key, verdict) ||
        !process_has_room(question, PM_KIND_PINNED, request->key, verdict)) {
        return;
    }
    *verdict = direct;
    verdict->process_fits = true;
    if (prepares) {
        verdict->can = true;
        verdict->decision.action = PM_SCHED_PREPARE;
    }
}

static void judge(struct question *question, uint32_t index, struct verdict *verdict) {
    const struct pm_sched_task *task = &question->sched->tasks[index];
    const struct pm_sched_request *request = &question->sched->jobs[task->job].request;
    *verdict = (struct verdict){
        .device = PM_SCHED_NONE,
        .decision = {
            .task = index, .device = PM_SCHED_NONE, .worker = PM_SCHED_NONE, .key = request->key}};
    if (task->state == PM_JOB_PREPARED) {
        judge_prepared(question, index, verdict);
        return;
    }
    struct verdict first = *verdict;
    for (uint32_t v = 0; v < request->n_variants; v++) {
        judge_variant(question, index, v, verdict);
        if (verdict->can && verdict->decision.action != PM_SCHED_EVICT) {
            return;
        }
        /* What is set aside, and what leaves, is for the way that is preferred. */
        if (v == 0 || first.why.reason == PM_REASON_NO_DEVICE) {
            first = *verdict;
        }
    }
    *verdict = first;
}

/* ---- All of them ------------------------------------------------------------------------------
 */

/* Sets aside what the task lacks, unless somebody before it has done so. */
static void claim(struct question *question, uint32_t index, const struct verdict *verdict) {
    struct claims *claims = &question->claims;
    const struct pm_sched_task *task = &question->sched->tasks[index];
    const uint32_t key = question->sched->jobs[task->job].request.key;
    claims->owner[claims->owner[0] != PM_SCHED_NONE] = key;
    if (task->state == PM_JOB_QUEUED && !claims->on_process) {
        claims->on_process = true;
        memcpy(claims->bytes, verdict->process_bytes, sizeof claims->bytes);
    }
    const uint32_t d = verdict->device;
    if (verdict->process_fits && d != PM_SCHED_NONE && !claims->on_device[d]) {
        claims->on_device[d] = true;
        claims->device_bytes[d] = verdict->device_bytes;
    }
}

static bool needs_load(const struct pm_sched_decision *decision) {
    return decision->action == PM_SCHED_EVICT || decision->load_key || decision->load_on_device;
}

/* Whether what holds one up holds up the other. */
static bool needs_the_same(const struct pm_sched *sched, const struct pm_sched_task *a,
                           const struct pm_sched_task *b) {
    const struct pm_sched_request *x = &sched->jobs[a->job].request;
    const struct pm_sched_request *y = &sched->jobs[b->job].request;
    return a->state == b->state && a->avoid_mask == b->avoid_mask && x->key == y->key &&
           x->priority == y->priority && x->n_variants == y->n_variants &&
           memcmp(x->variants, y->variants, x->n_variants * sizeof x->variants[0]) == 0 &&
           (a->state == PM_JOB_QUEUED || a->variant == b->variant);
}

/* The first in turn among all that can start now beside what is set aside. With `like`: among its
 * equals whose key is at hand. Evictions from a device are a start's beginning too. */
static bool first_that_can(struct question *question, uint32_t like,
                           struct pm_sched_decision *decision) {
    const struct pm_sched *sched = question->sched;
    uint32_t first = PM_SCHED_NONE, cannot = PM_SCHED_NONE;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (i == like || !is_waiting(question, task) ||
            (cannot != PM_SCHED_NONE && needs_the_same(sched, task, &sched->tasks[cannot])) ||
            (first != PM_SCHED_NONE && goes_before(sched, first, i)) ||
            (like != PM_SCHED_NONE && sched->jobs[task->job].request.priority !=
                                          sched->jobs[sched->tasks[like].job].request.priority)) {
            continue;
        }
        struct verdict verdict;
        judge(question, i, &verdict);
        const bool leaves_process = verdict.can && verdict.decision.action == PM_SCHED_EVICT &&
                                    verdict.decision.device == PM_SCHED_NONE;
        if (verdict.can && !leaves_process &&
            (like == PM_SCHED_NONE || !needs_load(&verdict.decision))) {
            first = i;
            *decision = verdict.decision;
        } else {
            cannot = i;
        }
    }
    return first != PM_SCHED_NONE;
}

/* One that is first in turn: it starts, or is passed for a key's sake, or sets aside what it
 * lacks. */
static bool decide_first(struct question *question, uint32_t index, bool is_aged,
                         struct pm_sched_decision *decision) {
    const struct pm_sched *sched = question->sched;
    struct verdict verdict;
    if (index == PM_SCHED_NONE) {
        return false;
    }
    judge(question, index, &verdict);
    const bool may_pass = !is_aged && sched->n_passed < sched->config.group_max &&
                          sched->jobs[sched->tasks[index].job].request.deadline_ns == 0;
    const bool lacks_key =
        verdict.can ? needs_load(&verdict.decision) : verdict.device != PM_SCHED_NONE;
    if (may_pass && lacks_key && first_that_can(question, index, decision)) {
        decision->passes = true;
        return true;
    }
    if (verdict.can) {
        *decision = verdict.decision;
        decision->is_aged = is_aged;
        return true;
    }
    claim(question, index, &verdict);
    return false;
}

/* A job whose time is up before any of it has begun is not worth a device's. */
static bool decide_expiry(struct question *question, struct pm_sched_decision *decision) {
    const struct pm_sched *sched = question->sched;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const struct pm_sched_task *task = &sched->tasks[i];
        if (!task->used || task->state != PM_JOB_QUEUED) {
            continue;
        }
        const uint64_t deadline_ns = deadline_of(&sched->jobs[task->job]);
        if (deadline_ns <= question->now_ns) {
            decision->action = PM_SCHED_EXPIRE;
            decision->task = i;
            return true;
        }
        wake_at(question, deadline_ns);
        wake_at(question, task->not_before_ns);
    }
    return false;
}

static bool decide_preload(struct question *question, struct pm_sched_decision *decision) {
    const struct pm_sched *sched = question->sched;
    for (uint32_t k = 0; k < sched->n_keys_max; k++) {
        const struct pm_sched_key *key = &sched->keys[k];
        if (!key->used || !key->wanted || key->process.residency != PM_COLD) {
            continue;
        }
        struct verdict verdict = {.decision = {.task = PM_SCHED_NONE, .key = k}};
        verdict.process_bytes[PM_KIND_HOST] = key->bytes[PM_KIND_HOST];
        verdict.process_bytes[PM_KIND_PINNED] = key->bytes[PM_KIND_PINNED];
        const bool fits = process_has_room(question, PM_KIND_HOST, k, &verdict) &&
                          process_has_room(question, PM_KIND_PINNED, k, &verdict);
        if (fits || verdict.can) {
            *decision = verdict.decision;
            decision->action = fits ? PM_SCHED_LOAD : PM_SCHED_EVICT;
            decision->load_key = fits;
            return true;
        }
    }
    return false;
}

static void nothing_yet(struct pm_sched_decision *decision) {
    *decision = (struct pm_sched_decision){.action = PM_SCHED_WAIT,
                                           .task = PM_SCHED_NONE,
                                           .device = PM_SCHED_NONE,
                                           .worker = PM_SCHED_NONE,
                                           .key = PM_SCHED_NONE};
}

void pm_sched_decide(const struct pm_sched *sched, uint64_t now_ns,
                     struct pm_sched_decision *decision) {
    struct question question = {.sched = sched,
                                .now_ns = now_ns,
                                .until_ns = PM_SCHED_NEVER,
                                .claims = {.owner = {PM_SCHED_NONE, PM_SCHED_NONE}}};
    nothing_yet(decision);
    if (decide_expiry(&question, decision)) {
        return;
    }
    const uint32_t aged = aged_in_turn(&question);
    if (decide_first(&question, aged, true, decision)) {
        return;
    }
    uint32_t first = first_in_turn(&question, false), second = first_in_turn(&question, true);
    if (first == PM_SCHED_NONE || (second != PM_SCHED_NONE && goes_before(sched, second, first))) {
        const uint32_t queued = first;
        first = second;
        second = queued;
    }
    /* The aged one has set aside what it lacks already. */
    first = first == aged ? PM_SCHED_NONE : first;
    second = second == aged ? PM_SCHED_NONE : second;
    if (decide_first(&question, first, false, decision)) {
        decision->is_first = decision->task == first;
        return;
    }
    if (decide_first(&question, second, false, decision) ||
        first_that_can(&question, PM_SCHED_NONE, decision) || decide_preload(&question, decision)) {
        return;
    }
    nothing_yet(decision);
    decision->until_ns = question.until_ns;
}

void pm_sched_why(const struct pm_sched *sched, uint32_t task, uint64_t now_ns,
                  struct pm_sched_why *why) {
    struct question question = {.sched = sched,
                                .now_ns = now_ns,
                                .until_ns = PM_SCHED_NEVER,
                                .claims = {.owner = {PM_SCHED_NONE, PM_SCHED_NONE}}};
    *why = (struct pm_sched_why){.reason = PM_REASON_NONE};
    if (task >= sched->n_tasks_max || !sched->tasks[task].used) {
        return;
    }
    const struct pm_sched_task *waiting = &sched->tasks[task];
    if (waiting->state == PM_JOB_ACCEPTED) {
        why->reason = PM_REASON_RECORD;
    } else if (waiting->state == PM_JOB_QUEUED && waiting->not_before_ns > now_ns) {
        why->reason = PM_REASON_RETRY;
    } else if (is_waiting(&question, waiting)) {
        struct verdict verdict;
        judge(&question, task, &verdict);
        *why = verdict.why;
        if (verdict.can) {
            const bool is_start = verdict.decision.action != PM_SCHED_EVICT;
            why->reason = is_start ? PM_REASON_TURN : PM_REASON_EVICT;
        }
    } else if (waiting->state == PM_JOB_ADMITTED || waiting->state == PM_JOB_PREPARED) {
        why->reason = PM_REASON_KEY_LOADING;
    }
}
