/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "sched/sched_world.h"

#include <stdarg.h>

char world_complaint[512];

__attribute__((format(printf, 1, 2))) static bool complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(world_complaint, sizeof world_complaint, format, arguments);
    va_end(arguments);
    return false;
}

void world_adopt(struct world *world) {
    world->sched.keys = world->keys;
    world->sched.jobs = world->jobs;
    world->sched.tasks = world->tasks;
}

bool world_begin(struct world *world, const struct world_plan *plan) {
    uint64_t total_bytes[PM_POOLS_MAX];
    const uint64_t no_time[2] = {0, 0};
    memset(world, 0, sizeof *world);
    world_complaint[0] = '\0';
    for (uint32_t i = 0; i < PM_POOLS_MAX; i++) {
        total_bytes[i] = i == PM_POOL_HOST ? plan->host_bytes : plan->vram_bytes;
    }
    const struct pm_sched_storage storage = {.keys = world->keys,
                                             .jobs = world->jobs,
                                             .tasks = world->tasks,
                                             .n_keys = WORLD_KEYS,
                                             .n_jobs = WORLD_JOBS,
                                             .n_tasks = WORLD_TASKS};
    bool good = pm_sched_init(&world->sched, &plan->config, total_bytes, &storage, NULL) == PM_OK;
    for (uint32_t d = 0; good && d < plan->n_devices; d++) {
        uint32_t device;
        const bool is_cpu = plan->has_cpu && d + 1 == plan->n_devices;
        good = pm_sched_add_device(&world->sched, is_cpu ? PM_POOL_HOST : PM_POOL_VRAM_0 + d,
                                   plan->n_workers, plan->n_express, &device, NULL) == PM_OK;
    }
    for (uint32_t k = 0; good && k < WORLD_KEYS; k++) {
        uint32_t key;
        good = pm_sched_add_key(&world->sched, plan->key_bytes[k], no_time, &key, NULL) == PM_OK;
    }
    for (uint32_t j = 0; j < WORLD_JOBS; j++) {
        world->slot_of[j] = PM_SCHED_NONE;
    }
    world->now_ns = 1000;
    world->until_ns = PM_SCHED_NEVER;
    return good || complain("the world cannot begin");
}

/* ---- What may happen --------------------------------------------------------------------------
 */

static void add(struct world_move *moves, size_t *n, enum world_event event, uint32_t a,
                uint32_t b) {
    if (*n < WORLD_MOVES_MAX) {
        moves[(*n)++] = (struct world_move){(uint8_t)event, (uint8_t)a, (uint8_t)b};
    }
}

static void add_of_places(const struct world *world, const struct world_plan *plan,
                          struct world_move *moves, size_t *n) {
    for (uint32_t k = 0; k < WORLD_KEYS; k++) {
        for (uint32_t d = 0; d <= plan->n_devices; d++) {
            const struct pm_sched_place *place =
                d == 0 ? &world->keys[k].process : &world->keys[k].devices[d - 1];
            if (place->residency == PM_LOADING &&
                (d == 0 || world->keys[k].process.residency == PM_RESIDENT)) {
                add(moves, n, WORLD_LOADED, k, d);
                if (world->n_bad_loads < plan->n_bad_loads_max) {
                    add(moves, n, WORLD_BAD_LOAD, k, d);
                }
            }
            if (world->copies[k][d] == WORLD_LEAVING) {
                add(moves, n, WORLD_EVICTED, k, d);
            }
        }
    }
}

static void add_of_tasks(const struct world *world, const struct world_plan *plan,
                         struct world_move *moves, size_t *n) {
    for (uint32_t i = 0; i < WORLD_TASKS; i++) {
        const struct pm_sched_task *task = &world->tasks[i];
        if (!task->used || !task->running) {
            continue;
        }
        add(moves, n, WORLD_STEP, i, 0);
        if (task->stopping) {
            add(moves, n, WORLD_FAULT, i, PM_FAULT_TRANSIENT);
        } else if (world->n_faults < plan->n_faults_max) {
            for (uint32_t fault = PM_FAULT_PERMANENT; fault <= PM_FAULT_DEVICE_LOST; fault++) {
                add(moves, n, WORLD_FAULT, i, fault);
            }
        }
    }
}

size_t world_moves(const struct world *world, const struct world_plan *plan,
                   struct world_move moves[WORLD_MOVES_MAX]) {
    size_t n = 0;
    add_of_tasks(world, plan, moves, &n);
    add_of_places(world, plan, moves, &n);
    for (uint32_t j = 0; j < plan->n_jobs; j++) {
        const uint32_t slot = world->slot_of[j];
        if (slot == PM_SCHED_NONE) {
            if (!world->has_come[j] || plan->returns[j]) {
                add(moves, &n, WORLD_ARRIVE, j, 0);
            }
            continue;
        }
        if (pm_sched_job_state(&world->sched, slot) == PM_JOB_ACCEPTED) {
            add(moves, &n, WORLD_RECORD, j, 0);
        }
        if (world->n_cancels < plan->n_cancels_max && !world->jobs[slot].cancelled) {
            add(moves, &n, WORLD_CANCEL, j, 0);
        }
    }
    for (uint32_t d = 0; d < plan->n_devices; d++) {
        if (world->n_losses < plan->n_losses_max && !world->sched.devices[d].quarantined) {
            add(moves, &n, WORLD_LOSE, d, 0);
        }
        if (world->sched.devices[d].quarantined) {
            add(moves, &n, WORLD_RESTORE, d, 0);
        }
        if (world->n_blamed[d] != 0 && world->n_acquittals < plan->n_acquittals_max) {
            add(moves, &n, WORLD_ACQUIT, d, 0);
        }
    }
    if (world->until_ns != PM_SCHED_NEVER) {
        add(moves, &n, WORLD_TICK, 0, 0);
    }
    return n;
}

bool world_is_asleep(const struct world *world, const struct world_plan *plan) {
    struct world_move moves[WORLD_MOVES_MAX];
    const size_t n = world_moves(world, plan, moves);
    for (size_t i = 0; i < n; i++) {
        switch (moves[i].event) {
        case WORLD_STEP:
        case WORLD_LOADED:
        case WORLD_EVICTED:
        case WORLD_RECORD:
        case WORLD_TICK:
            return false;
        default:
            break;
        }
    }
    return true;
}

void world_describe_move(const struct world_move *move, char text[64]) {
    static const char *const names[] = {"arrive", "record",  "step",     "fault",
                                        "cancel", "loaded",  "bad load", "evicted",
                                        "lose",   "restore", "acquit",   "tick"};
    (void)snprintf(text, 64, "%s %u,%u", names[move->event], move->a, move->b);
}

/* ---- What must hold ---------------------------------------------------------------------------
 */

/* Bytes as they are physically held, from the plan alone: not as the scheduler counts them. */
static bool fits_physically(const struct world *world, const struct world_plan *plan) {
    uint64_t bytes[PM_POOLS_MAX] = {0};
    for (uint32_t i = 0; i < WORLD_TASKS; i++) {
        const struct pm_sched_task *task = &world->tasks[i];
        if (!task->used || !pm_job_holds((enum pm_job_state)task->state)) {
            continue;
        }
        const struct pm_sched_request *request = &world->jobs[task->job].request;
        const struct pm_sched_step *step =
            &request->variants[task->variant].curve->steps[task->step];
        bytes[PM_POOL_HOST] += step->bytes[PM_KIND_HOST];
        if (task->device != PM_SCHED_NONE) {
            bytes[world->sched.devices[task->device].pool] += step->bytes[PM_KIND_DEVICE];
        }
    }
    for (uint32_t k = 0; k < WORLD_KEYS; k++) {
        if (world->copies[k][0] != WORLD_NONE) {
            bytes[PM_POOL_HOST] += plan->key_bytes[k][PM_KIND_HOST];
        }
        for (uint32_t d = 0; d < plan->n_devices; d++) {
            if (world->copies[k][1 + d] != WORLD_NONE) {
                bytes[world->sched.devices[d].pool] += plan->key_bytes[k][PM_KIND_DEVICE];
            }
        }
    }
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        if (bytes[pool] > world->sched.total_bytes[pool]) {
            return complain("over-commit: %llu bytes of pool %u are held, there are %llu",
                            (unsigned long long)bytes[pool], pool,
                            (unsigned long long)world->sched.total_bytes[pool]);
        }
    }
    return true;
}

static bool job_is_whole(const struct world *world, const struct world_plan *plan, uint32_t j) {
    const uint32_t slot = world->slot_of[j];
    const bool is_done =
        slot != PM_SCHED_NONE && pm_sched_job_state(&world->sched, slot) == PM_JOB_DONE;
    for (uint32_t part = 0; part < plan->requests[j].n_parts; part++) {
        if (world->n_proved[j][part] > 1) {
            return complain("part %u of job %u was proved %u times", part, j,
                            world->n_proved[j][part]);
        }
        if (is_done && world->n_proved[j][part] != 1) {
            return complain("job %u is done and part %u was never proved", j, part);
        }
    }
    return true;
}

static bool nobody_starves(const struct world *world, const struct world_plan *plan) {
    for (uint32_t j = 0; j < plan->n_jobs && plan->n_passed_max != 0; j++) {
        if (world->n_passed[j] > plan->n_passed_max) {
            return complain("starvation: %u starts of others while job %u waits",
                            world->n_passed[j], j);
        }
    }
    return true;
}

/* Whether it would start on a machine that held nothing else but what is held now. */
static bool would_fit(const struct world *world, const struct pm_sched_task *task) {
    const struct pm_sched *sched = &world->sched;
    const struct pm_sched_request *request = &world->jobs[task->job].request;
    const struct pm_sched_key *key = &world->keys[request->key];
    uint64_t need[PM_SCHED_KINDS];
    pm_sched_curve_remaining(request->variants[0].curve, 0, need);
    if (task->state != PM_JOB_QUEUED || key->process.residency == PM_EVICTING ||
        request->variants[0].curve->steps[0].stage == PM_STAGE_PREPARE) {
        return false;
    }
    need[PM_KIND_HOST] += key->process.residency == PM_COLD ? key->bytes[PM_KIND_HOST] : 0;
    if (sched->total_bytes[PM_POOL_HOST] - sched->reserved_bytes[PM_POOL_HOST] <
        need[PM_KIND_HOST]) {
        return false;
    }
    for (uint32_t d = 0; d < sched->n_devices; d++) {
        const uint32_t pool = sched->devices[d].pool;
        const uint64_t copy = key->devices[d].residency == PM_COLD && pool != PM_POOL_HOST
                                  ? key->bytes[PM_KIND_DEVICE]
                                  : 0;
        if ((request->variants[0].device_mask >> d & 1) != 0 && !sched->devices[d].quarantined &&
            (task->avoid_mask >> d & 1) == 0 && sched->devices[d].workers[0] == PM_SCHED_NONE &&
            key->devices[d].residency != PM_EVICTING && sched->devices[d].n_workers > 0 &&
            sched->total_bytes[pool] - sched->reserved_bytes[pool] >= need[PM_KIND_DEVICE] + copy) {
            return true;
        }
    }
    return false;
}

/* The only one who waits does not wait for nothing. */
static bool nobody_is_forgotten(const struct world *world) {
    uint32_t n = 0, waiting = PM_SCHED_NONE;
    for (uint32_t i = 0; i < WORLD_TASKS; i++) {
        const struct pm_sched_task *task = &world->tasks[i];
        const bool waits = task->used && task->not_before_ns <= world->now_ns &&
                           (task->state == PM_JOB_QUEUED ||
                            (task->state == PM_JOB_PREPARED && task->device == PM_SCHED_NONE));
        n += waits;
        waiting = waits ? i : waiting;
    }
    return n != 1 || !would_fit(world, &world->tasks[waiting]) ||
           complain("lost wake-up: task %u waits alone and would fit", waiting);
}

/* Who failed a part has it again only when nobody else is left for it. */
static bool avoids_who_failed(const struct world *world, const struct pm_sched_decision *decision) {
    const struct pm_sched_task *task = &world->tasks[decision->task];
    const struct pm_sched_request *request = &world->jobs[task->job].request;
    uint32_t failed = 0;
    for (uint32_t j = 0; j < WORLD_JOBS; j++) {
        failed |= world->slot_of[j] == task->job ? world->failed_on[j][task->part] : 0;
    }
    if ((failed >> decision->device & 1) == 0) {
        return true;
    }
    for (uint32_t d = 0; d < world->sched.n_devices; d++) {
        for (uint32_t v = 0; v < request->n_variants; v++) {
            if ((request->variants[v].device_mask >> d & 1) != 0 && (failed >> d & 1) == 0 &&
                !world->sched.devices[d].quarantined) {
                return complain("task %u is tried on device %u again, not on %u", decision->task,
                                decision->device, d);
            }
        }
    }
    return true;
}

static bool dead_devices_rest(const struct world *world) {
    for (uint32_t d = 0; d < world->sched.n_devices; d++) {
        if (world->is_dead[d] && !world->sched.devices[d].quarantined) {
            return complain("device %u is dead and is given work", d);
        }
    }
    return true;
}

/* ---- Moves ------------------------------------------------------------------------------------
 */

static uint32_t job_of_slot(const struct world *world, uint32_t slot) {
    uint32_t j = 0;
    while (j < WORLD_JOBS && world->slot_of[j] != slot) {
        j++;
    }
    return j;
}

static void count_start(struct world *world, const struct world_plan *plan, uint32_t task) {
    for (uint32_t j = 0; j < plan->n_jobs; j++) {
        const uint32_t slot = world->slot_of[j];
        bool waits = false;
        for (uint32_t i = 0; i < WORLD_TASKS; i++) {
            waits |= slot != PM_SCHED_NONE && world->tasks[i].used && world->tasks[i].job == slot &&
                     (world->tasks[i].state == PM_JOB_QUEUED ||
                      (world->tasks[i].state == PM_JOB_PREPARED &&
                       world->tasks[i].device == PM_SCHED_NONE));
        }
        if (slot == PM_SCHED_NONE || world->tasks[task].job == slot || !waits) {
            world->n_passed[j] = 0;
        } else {
            world->n_passed[j]++;
        }
    }
}

/* What a decision does to copies of keys, at once or as a beginning. */
static void carry_out(struct world *world, const struct pm_sched_decision *decision) {
    if (decision->action == PM_SCHED_EVICT) {
        const bool is_process = decision->device == PM_SCHED_NONE;
        world->copies[decision->key][is_process ? 0 : 1 + decision->device] = WORLD_LEAVING;
        return;
    }
    if (decision->load_key) {
        world->copies[decision->key][0] = WORLD_THERE;
    }
    if (decision->load_on_device) {
        world->copies[decision->key][1 + decision->device] = WORLD_THERE;
    }
}

static bool ask_until_it_waits(struct world *world, const struct world_plan *plan) {
    struct pm_sched_decision decision;
    pm_error error = PM_ERROR_INIT;
    for (uint32_t n = 0; n < 64; n++) {
        const struct pm_sched before = world->sched;
        pm_sched_decide(&world->sched, world->now_ns, &decision);
        if (memcmp(&before, &world->sched, sizeof before) != 0) {
            return complain("the policy has changed the state");
        }
        if (decision.action == PM_SCHED_WAIT) {
            world->until_ns = decision.until_ns;
            return decision.until_ns > world->now_ns || complain("it waits for what has been");
        }
        if (decision.action == PM_SCHED_EVICT && (decision.load_key || decision.load_on_device)) {
            return complain("an eviction that loads");
        }
        if (decision.action == PM_SCHED_START &&
            world->sched.devices[decision.device].quarantined) {
            return complain("task %u starts on a device in quarantine", decision.task);
        }
        if (decision.action == PM_SCHED_START && !avoids_who_failed(world, &decision)) {
            return false;
        }
        if (decision.action == PM_SCHED_START || decision.action == PM_SCHED_PREPARE) {
            count_start(world, plan, decision.task);
        }
        if (pm_sched_apply(&world->sched, &decision, world->now_ns, &error) != PM_OK ||
            pm_sched_check(&world->sched, &error) != PM_OK) {
            return complain("%.400s", error.message);
        }
        carry_out(world, &decision);
        if (!fits_physically(world, plan)) {
            return false;
        }
    }
    return complain("the policy never waits");
}

/* Jobs that have ended are handed out and forgotten. */
static bool forget_ended(struct world *world, const struct world_plan *plan) {
    for (uint32_t j = 0; j < plan->n_jobs; j++) {
        const uint32_t slot = world->slot_of[j];
        if (!job_is_whole(world, plan, j)) {
            return false;
        }
        if (slot != PM_SCHED_NONE && pm_job_is_final(pm_sched_job_state(&world->sched, slot))) {
            if (pm_sched_forget(&world->sched, slot, NULL) != PM_OK) {
                return complain("job %u has ended and cannot be forgotten", j);
            }
            world->slot_of[j] = PM_SCHED_NONE;
            world->n_passed[j] = 0;
            memset(world->n_proved[j], 0, sizeof world->n_proved[j]);
            memset(world->failed_on[j], 0, sizeof world->failed_on[j]);
        }
    }
    return true;
}

static pm_status arrive(struct world *world, const struct world_plan *plan, uint32_t j,
                        pm_error *error) {
    bool known;
    uint32_t slot = PM_SCHED_NONE;
    const pm_status status =
        pm_sched_submit(&world->sched, &plan->requests[j], world->now_ns, &slot, &known, error);
    world->has_come[j] = true;
    world->slot_of[j] = slot;
    if (status == PM_OK && !plan->records_later) {
        return pm_sched_record(&world->sched, slot, world->now_ns, error);
    }
    /* Refused: no device is left, or the queue is full. */
    return status == PM_NO_DEVICE || status == PM_BUDGET_BUSY || status == PM_OVER_BUDGET ? PM_OK
                                                                                          : status;
}

static pm_status end_step(struct world *world, uint32_t i, pm_error *error) {
    const struct pm_sched_task task = world->tasks[i];
    const uint32_t j = job_of_slot(world, task.job);
    const pm_status status = pm_sched_step_done(&world->sched, i, world->now_ns, error);
    if (world->tasks[i].state == PM_JOB_DONE) {
        world->n_proved[j][task.part]++;
    }
    return status;
}

static pm_status fail_step(struct world *world, uint32_t i, enum pm_fault fault, pm_error *error) {
    const struct pm_sched_task task = world->tasks[i];
    world->n_faults += !task.stopping;
    if (!task.stopping && fault >= PM_FAULT_DEVICE && task.device != PM_SCHED_NONE) {
        world->failed_on[job_of_slot(world, task.job)][task.part] |= (uint8_t)(1 << task.device);
        world->is_dead[task.device] |= fault == PM_FAULT_DEVICE_LOST;
        world->n_blamed[task.device]++;
    }
    return pm_sched_fault(&world->sched, i, fault, PM_DEVICE, world->now_ns, error);
}

/* Without any fault in a row that is left, one that is not dead works again. */
static pm_status acquit(struct world *world, uint32_t d, pm_error *error) {
    world->n_acquittals++;
    world->n_blamed[d]--;
    const pm_status status = pm_sched_acquit(&world->sched, d, world->now_ns, error);
    if (status == PM_OK && world->n_blamed[d] == 0 && !world->is_dead[d] &&
        world->sched.devices[d].quarantined) {
        return pm_error_set(error, PM_INTERNAL, "device %u is to blame for nothing and rests", d);
    }
    return status;
}

static pm_status happen(struct world *world, const struct world_plan *plan,
                        const struct world_move *move, pm_error *error) {
    struct pm_sched *sched = &world->sched;
    const uint32_t device = move->b == 0 ? PM_SCHED_NONE : (uint32_t)move->b - 1;
    switch ((enum world_event)move->event) {
    case WORLD_ARRIVE:
        return arrive(world, plan, move->a, error);
    case WORLD_RECORD:
        return pm_sched_record(sched, world->slot_of[move->a], world->now_ns, error);
    case WORLD_STEP:
        return end_step(world, move->a, error);
    case WORLD_FAULT:
        return fail_step(world, move->a, (enum pm_fault)move->b, error);
    case WORLD_CANCEL:
        world->n_cancels++;
        return pm_sched_cancel(sched, world->slot_of[move->a], world->now_ns, error);
    case WORLD_LOADED:
        return pm_sched_key_loaded(sched, move->a, device, PM_OK, world->now_ns, error);
    case WORLD_BAD_LOAD:
        world->n_bad_loads++;
        world->copies[move->a][move->b] = WORLD_NONE;
        for (uint32_t d = 0; move->b == 0 && d < plan->n_devices; d++) {
            world->copies[move->a][1 + d] = WORLD_NONE;
        }
        return pm_sched_key_loaded(sched, move->a, device, PM_NO_MEMORY, world->now_ns, error);
    case WORLD_EVICTED:
        world->copies[move->a][move->b] = WORLD_NONE;
        return pm_sched_key_evicted(sched, move->a, device, error);
    case WORLD_LOSE:
        world->n_losses++;
        world->is_dead[move->a] = true;
        return pm_sched_quarantine(sched, move->a, world->now_ns, error);
    case WORLD_RESTORE: {
        const pm_status status = pm_sched_restore(sched, move->a, world->now_ns, error);
        world->is_dead[move->a] &= status != PM_OK;
        for (uint32_t k = 0; status == PM_OK && k < WORLD_KEYS; k++) {
            world->copies[k][1 + move->a] = WORLD_NONE;
        }
        return status == PM_BUDGET_BUSY ? PM_OK : status;
    }
    case WORLD_ACQUIT:
        return acquit(world, move->a, error);
    case WORLD_TICK:
        world->now_ns = world->until_ns;
        return PM_OK;
    }
    return PM_INTERNAL;
}

bool world_make(struct world *world, const struct world_plan *plan, const struct world_move *move) {
    pm_error error = PM_ERROR_INIT;
    world->now_ns++;
    if (move->event == WORLD_TICK && world->until_ns < world->now_ns) {
        world->until_ns = world->now_ns;
    }
    if (happen(world, plan, move, &error) != PM_OK) {
        return complain("the event is refused: %.400s", error.message);
    }
    if (pm_sched_check(&world->sched, &error) != PM_OK) {
        return complain("%.400s", error.message);
    }
    if (!dead_devices_rest(world) || !forget_ended(world, plan) ||
        !ask_until_it_waits(world, plan)) {
        return false;
    }
    while (pm_sched_next_runnable(&world->sched) != PM_SCHED_NONE) {
    }
    return forget_ended(world, plan) && fits_physically(world, plan) &&
           nobody_starves(world, plan) && nobody_is_forgotten(world);
}

/* ---- Fingerprints -----------------------------------------------------------------------------
 */

static void mix(struct world_print *print, uint64_t value) {
    print->a = (print->a ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    print->a ^= print->a >> 29;
    print->b = (print->b + value) * UINT64_C(0xbf58476d1ce4e5b9);
    print->b ^= print->b >> 32;
}

/* Time matters only as far as something waits for it. */
static uint64_t since(uint64_t now_ns, uint64_t then_ns, uint64_t most_ns) {
    const uint64_t elapsed = now_ns - then_ns;
    if (most_ns > 1000) {
        return 0; /* never, within what is tried */
    }
    return elapsed < most_ns ? elapsed : most_ns;
}

static uint64_t rank_of_job(const struct world *world, uint32_t j) {
    uint64_t rank = 0;
    for (uint32_t i = 0; i < WORLD_JOBS; i++) {
        rank += world->jobs[i].used && world->jobs[i].sequence < world->jobs[j].sequence;
    }
    return rank;
}

static void mix_place(struct world_print *print, const struct world *world,
                      const struct world_plan *plan, uint32_t k, uint32_t d) {
    const struct pm_sched_key *key = &world->keys[k], *other = &world->keys[1 - k];
    const struct pm_sched_place *place = d == 0 ? &key->process : &key->devices[d - 1];
    const struct pm_sched_place *against = d == 0 ? &other->process : &other->devices[d - 1];
    mix(print,
        place->residency | (uint64_t)place->n_users << 8 | (uint64_t)world->copies[k][d] << 16);
    if (place->residency == PM_RESIDENT) {
        mix(print, since(world->now_ns, place->last_used_ns, plan->config.evict_idle_ns) << 1 |
                       (place->last_used_ns < against->last_used_ns));
    }
}

static void mix_task(struct world_print *print, const struct world *world,
                     const struct world_plan *plan, uint32_t i) {
    const struct pm_sched_task *task = &world->tasks[i];
    mix(print, task->used);
    if (!task->used) {
        return;
    }
    mix(print, task->state | (uint64_t)task->running << 8 | (uint64_t)task->stopping << 9 |
                   (uint64_t)task->variant << 10 | (uint64_t)task->step << 16 |
                   (uint64_t)(task->device + 1) << 24 | (uint64_t)(task->worker + 1) << 32 |
                   (uint64_t)task->avoid_mask << 40 | (uint64_t)task->n_attempts << 48 |
                   (uint64_t)task->part << 52 | (uint64_t)task->job << 56);
    if (!pm_job_is_final((enum pm_job_state)task->state)) {
        mix(print, since(world->now_ns, task->queued_ns, plan->config.age_ns));
        mix(print, task->not_before_ns > world->now_ns ? task->not_before_ns - world->now_ns : 0);
    }
}

struct world_print world_fingerprint(const struct world *world, const struct world_plan *plan) {
    struct world_print print = {1, 2};
    for (uint32_t i = 0; i < WORLD_TASKS; i++) {
        mix_task(&print, world, plan, i);
    }
    for (uint32_t j = 0; j < WORLD_JOBS; j++) {
        const struct pm_sched_job *job = &world->jobs[j];
        mix(&print, (uint64_t)world->has_come[j] << 1 | job->used);
        mix(&print, world->slot_of[j]);
        mix(&print, plan->n_passed_max != 0 ? world->n_passed[j] : 0);
        mix(&print, world->n_proved[j][0] | (uint64_t)world->n_proved[j][1] << 8);
        if (job->used) {
            mix(&print, rank_of_job(world, j) | (uint64_t)job->failed << 8 |
                            (uint64_t)job->cancelled << 9 | (uint64_t)job->n_ended << 16);
        }
    }
    for (uint32_t k = 0; k < WORLD_KEYS; k++) {
        for (uint32_t d = 0; d <= plan->n_devices; d++) {
            mix_place(&print, world, plan, k, d);
        }
    }
    for (uint32_t d = 0; d < plan->n_devices; d++) {
        mix(&print, (uint64_t)world->sched.devices[d].n_faults << 1 |
                        world->sched.devices[d].quarantined |
                        (uint64_t)world->sched.devices[d].for_faults << 8 |
                        (uint64_t)world->is_dead[d] << 9 | (uint64_t)world->n_blamed[d] << 16);
    }
    mix(&print, world->sched.n_since_aged | (uint64_t)world->sched.n_passed << 32);
    mix(&print, world->n_faults | (uint64_t)world->n_cancels << 8 |
                    (uint64_t)world->n_losses << 16 | (uint64_t)world->n_bad_loads << 24 |
                    (uint64_t)world->n_acquittals << 32);
    return print;
}
