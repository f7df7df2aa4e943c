/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/simulate_machine.c - what the engine does with threads and cards, done with a calendar. */
#include "sched/simulate_internal.h"

#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- A machine --------------------------------------------------------------------------------
 */

pm_status sim_machine_init(struct simulation *simulation, struct sim_machine *machine,
                           const struct pm_sched_storage *storage, pm_error *error) {
    const struct pm_sim_scenario *scenario = simulation->scenario;
    const struct pm_sim_machine *described = &scenario->machine;
    uint64_t total_bytes[PM_POOLS_MAX];
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        total_bytes[pool] = described->vram_bytes;
    }
    total_bytes[PM_POOL_HOST] = described->memory_bytes == UINT64_MAX
                                    ? UINT64_MAX
                                    : described->memory_bytes - described->baseline_bytes;
    total_bytes[PM_POOL_PINNED] = described->pinned_bytes;
    PM_TRY(pm_sched_init(&machine->sched, &scenario->config, total_bytes, storage, error));
    const uint32_t n_devices = described->n_devices == 0 ? 1 : described->n_devices;
    for (uint32_t d = 0; d < n_devices; d++) {
        uint32_t device;
        const uint32_t pool = described->n_devices == 0 ? PM_POOL_HOST : PM_POOL_VRAM_0 + d;
        PM_TRY(pm_sched_add_device(&machine->sched, pool, described->n_workers,
                                   described->n_express, &device, error));
        machine->devices[d].holder = PM_SCHED_NONE;
    }
    for (uint32_t k = 0; k < scenario->n_keys; k++) {
        uint32_t key;
        PM_TRY(pm_sched_add_key(&machine->sched, scenario->keys[k].bytes, scenario->keys[k].load_ns,
                                &key, error));
    }
    machine->wake_ns = PM_SCHED_NEVER;
    sim_trace_measure(simulation, machine);
    return PM_OK;
}

uint64_t sim_time_of(uint64_t bytes, uint64_t bytes_per_s) {
    if (bytes_per_s == 0) {
        return 0;
    }
    const unsigned __int128 ns = (unsigned __int128)bytes * NS_PER_S / bytes_per_s;
    return ns < PM_SIM_NS_MAX ? (uint64_t)ns : PM_SIM_NS_MAX;
}

/* A number that depends on what is run and on nothing that the policy does. */
static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t z = seed;
    const uint64_t parts[] = {a, b, c};
    for (uint32_t i = 0; i < 3; i++) {
        z = (z ^ parts[i]) + UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
    }
    return z;
}

/* ---- Jobs -------------------------------------------------------------------------------------
 */

pm_status sim_machine_submit(struct simulation *simulation, uint32_t m, uint32_t l, uint32_t number,
                             uint64_t arrival_ns, pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    struct pm_sim_result *result = simulation->result;
    const struct pm_sim_load *load = &simulation->scenario->loads[l];
    const struct pm_sim_proof *proof = &simulation->scenario->proofs[load->proof];
    const uint64_t now_ns = simulation->clock.now_ns;
    const uint32_t all = (UINT32_C(1) << machine->sched.n_devices) - 1;
    const struct pm_sched_request request = {
        .priority = load->priority,
        .deadline_ns = load->deadline_ns != 0 ? arrival_ns + load->deadline_ns : 0,
        .key = proof->key,
        .n_parts = proof->n_parts,
        .n_variants = 1,
        .variants = {{&simulation->curves[load->proof], all}}};
    uint32_t job;
    bool known;
    pm_error refusal = PM_ERROR_INIT;
    const pm_status status =
        pm_sched_submit(&machine->sched, &request, now_ns, &job, &known, &refusal);
    if (status == PM_OVER_BUDGET || status == PM_INVALID_ARGUMENT || status == PM_UNSUPPORTED) {
        if (result->n_refused++ == 0) {
            (void)pm_error_set(error, status, "%s", refusal.message);
            memcpy(result->refusal, refusal.message, sizeof result->refusal - 1);
        }
        return PM_OK;
    }
    if (status != PM_OK) {
        pm_error_copy(error, &refusal);
        return status;
    }
    machine->jobs[job] = (struct sim_job){l, number, arrival_ns};
    machine->n_parts += proof->n_parts;
    return pm_sched_record(&machine->sched, job, now_ns, error);
}

static void take_latency(struct simulation *simulation, const struct sim_job *job) {
    struct pm_sim_result *result = simulation->result;
    const uint64_t now_ns = simulation->clock.now_ns;
    simulation->latencies[result->n_done] = now_ns - job->arrival_ns;
    simulation->priorities[result->n_done] =
        (uint8_t)simulation->scenario->loads[job->load].priority;
    result->first_done_ns = result->n_done == 0 ? now_ns : result->first_done_ns;
    result->last_done_ns = now_ns;
    result->n_done++;
}

/* Takes away the jobs that have ended. */
static pm_status forget_ended(struct simulation *simulation, struct sim_machine *machine,
                              pm_error *error) {
    struct pm_sched *sched = &machine->sched;
    for (uint32_t i = 0; i < sched->n_tasks_end; i++) {
        const uint32_t j = sched->tasks[i].job;
        if (!sched->tasks[i].used || sched->jobs[j].n_ended < sched->jobs[j].request.n_parts) {
            continue;
        }
        if (!sched->jobs[j].failed) {
            take_latency(simulation, &machine->jobs[j]);
        }
        simulation->result->n_expired += sched->jobs[j].failed;
        simulation->result->n_parts += sched->jobs[j].n_done;
        machine->n_parts -= sched->jobs[j].request.n_parts;
        PM_TRY(pm_sched_forget(sched, j, error));
    }
    return PM_OK;
}

/* ---- The device's lock ------------------------------------------------------------------------
 */

static const struct pm_sim_step *step_of(const struct simulation *simulation,
                                         const struct sim_machine *machine, uint32_t i) {
    const struct pm_sched_task *task = &machine->sched.tasks[i];
    const uint32_t load = machine->jobs[task->job].load;
    return &simulation->scenario->proofs[simulation->scenario->loads[load].proof].steps[task->step];
}

static bool is_on_device(const struct sim_machine *machine, uint32_t i, uint32_t d) {
    return machine->sched.tasks[i].used && machine->sched.tasks[i].device == d;
}

/* Whose turn it is; PM_SCHED_NONE if nobody wants the lock. */
static uint32_t lock_turn(const struct sim_machine *machine, uint32_t d) {
    uint32_t wanting[PM_SCHED_WORKERS_MAX], n = 0;
    for (uint32_t w = 0; w < PM_SCHED_WORKERS_MAX; w++) {
        const uint32_t i = machine->sched.devices[d].workers[w];
        if (i != PM_SCHED_NONE && is_on_device(machine, i, d) && machine->tasks[i].wants_lock) {
            wanting[n++] = i;
        }
    }
    return n == 0 ? PM_SCHED_NONE : wanting[pm_sched_lock_turn(&machine->sched, wanting, n)];
}

static pm_status give_lock(struct simulation *simulation, uint32_t m, uint32_t d, pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    struct sim_device *device = &machine->devices[d];
    const uint64_t now_ns = simulation->clock.now_ns;
    const uint32_t i = lock_turn(machine, d);
    if (device->holder != PM_SCHED_NONE || i == PM_SCHED_NONE) {
        return PM_OK;
    }
    struct sim_task *task = &machine->tasks[i];
    const uint64_t chunk_ns = step_of(simulation, machine, i)->chunk_ns;
    const uint64_t ns = chunk_ns != 0 && chunk_ns < task->left_ns ? chunk_ns : task->left_ns;
    task->wants_lock = false;
    task->has_lock = true;
    task->since_ns = now_ns;
    device->holder = i;
    device->first_ns = device->was_used ? device->first_ns : now_ns;
    device->was_used = true;
    return sim_clock_add(&simulation->clock, now_ns + ns, SIM_STEP_END, m, i, 0, error);
}

/* The end of a chunk or of the whole: true if the step is over. */
static bool leave_lock(struct simulation *simulation, struct sim_machine *machine, uint32_t i) {
    struct sim_task *task = &machine->tasks[i];
    struct sim_device *device = &machine->devices[machine->sched.tasks[i].device];
    const uint64_t had_ns = simulation->clock.now_ns - task->since_ns;
    task->left_ns -= had_ns;
    task->has_lock = false;
    task->wants_lock = task->left_ns != 0;
    device->busy_ns += had_ns;
    device->last_ns = simulation->clock.now_ns;
    device->holder = PM_SCHED_NONE;
    return task->left_ns == 0;
}

/* ---- Steps ------------------------------------------------------------------------------------
 */

static pm_status run_step(struct simulation *simulation, uint32_t m, uint32_t i, pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    const struct pm_sched_task *task = &machine->sched.tasks[i];
    const struct sim_job *job = &machine->jobs[task->job];
    const struct pm_sim_step *step = step_of(simulation, machine, i);
    const uint64_t random = mix(simulation->scenario->seed, (uint64_t)job->load << 32 | job->number,
                                task->part, task->step);
    const uint64_t spread = step->most_ns - step->least_ns;
    const uint64_t ns =
        step->least_ns + (uint64_t)(((unsigned __int128)spread * random) >> 64) +
        sim_time_of(step->transfer_bytes, simulation->scenario->machine.bus_bytes_per_s);
    machine->tasks[i] = (struct sim_task){.left_ns = ns, .wants_lock = step->memory.in_lock};
    if (step->memory.in_lock) {
        return give_lock(simulation, m, task->device, error);
    }
    return sim_clock_add(&simulation->clock, simulation->clock.now_ns + ns, SIM_STEP_END, m, i, 0,
                         error);
}

static pm_status end_step(struct simulation *simulation, uint32_t m, uint32_t i, pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    const uint32_t d = machine->sched.tasks[i].device;
    const bool had_lock = machine->tasks[i].has_lock;
    if (!had_lock || leave_lock(simulation, machine, i)) {
        PM_TRY(pm_sched_step_done(&machine->sched, i, simulation->clock.now_ns, error));
    }
    return had_lock ? give_lock(simulation, m, d, error) : PM_OK;
}

/* ---- Keys -------------------------------------------------------------------------------------
 */

static pm_status load_onto_device(struct simulation *simulation, uint32_t m, uint32_t k, uint32_t d,
                                  pm_error *error) {
    const struct pm_sim_scenario *scenario = simulation->scenario;
    const struct pm_sim_key *key = &scenario->keys[k];
    const uint64_t ns = key->load_ns[1] != 0 ? key->load_ns[1]
                                             : sim_time_of(key->bytes[PM_KIND_DEVICE],
                                                           scenario->machine.bus_bytes_per_s);
    return sim_clock_add(&simulation->clock, simulation->clock.now_ns + ns, SIM_LOADED, m, k, d,
                         error);
}

static pm_status load_into_process(struct simulation *simulation, uint32_t m, uint32_t k,
                                   pm_error *error) {
    const struct pm_sim_scenario *scenario = simulation->scenario;
    const struct pm_sim_key *key = &scenario->keys[k];
    const uint64_t bytes = key->bytes[PM_KIND_HOST] + key->bytes[PM_KIND_PINNED];
    const uint64_t ns = key->load_ns[0] != 0
                            ? key->load_ns[0]
                            : sim_time_of(bytes, scenario->machine.disk_bytes_per_s);
    return sim_clock_add(&simulation->clock, simulation->clock.now_ns + ns, SIM_LOADED, m, k,
                         PM_SCHED_NONE, error);
}

static pm_status key_loaded(struct simulation *simulation, uint32_t m, uint32_t k, uint32_t device,
                            pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    const struct pm_sim_key *key = &simulation->scenario->keys[k];
    const uint64_t bytes = device == PM_SCHED_NONE
                               ? key->bytes[PM_KIND_HOST] + key->bytes[PM_KIND_PINNED]
                               : key->bytes[PM_KIND_DEVICE];
    simulation->result->n_loads += bytes != 0;
    PM_TRY(pm_sched_key_loaded(&machine->sched, k, device, PM_OK, simulation->clock.now_ns, error));
    for (uint32_t d = 0; device == PM_SCHED_NONE && d < machine->sched.n_devices; d++) {
        if (machine->sched.keys[k].devices[d].residency == PM_LOADING) {
            PM_TRY(load_onto_device(simulation, m, k, d, error));
        }
    }
    return PM_OK;
}

/* ---- Events and decisions ---------------------------------------------------------------------
 */

pm_status sim_machine_event(struct simulation *simulation, const struct sim_event *event,
                            pm_error *error) {
    struct sim_machine *machine = &simulation->machines[event->machine];
    sim_trace_pass(simulation, machine);
    switch ((enum sim_event_kind)event->kind) {
    case SIM_STEP_END:
        return end_step(simulation, event->machine, event->a, error);
    case SIM_LOADED:
        return key_loaded(simulation, event->machine, event->a, event->b, error);
    case SIM_EVICTED:
        return pm_sched_key_evicted(&machine->sched, event->a, event->b, error);
    case SIM_WAKE:
        machine->wake_ns = machine->wake_ns == event->at_ns ? PM_SCHED_NEVER : machine->wake_ns;
        return PM_OK;
    case SIM_ARRIVAL:
        break;
    }
    PM_FAIL(error, PM_INTERNAL, "an event of no kind");
}

static pm_status carry_out(struct simulation *simulation, uint32_t m,
                           const struct pm_sched_decision *decision, pm_error *error) {
    const struct sim_machine *machine = &simulation->machines[m];
    if (decision->action == PM_SCHED_EVICT) {
        simulation->result->n_evictions++;
        return sim_clock_add(&simulation->clock, simulation->clock.now_ns, SIM_EVICTED, m,
                             decision->key, decision->device, error);
    }
    if (decision->load_key) {
        return load_into_process(simulation, m, decision->key, error);
    }
    return decision->load_on_device &&
                   machine->sched.keys[decision->key].process.residency == PM_RESIDENT
               ? load_onto_device(simulation, m, decision->key, decision->device, error)
               : PM_OK;
}

static pm_status wake_later(struct simulation *simulation, uint32_t m, uint64_t until_ns,
                            pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    if (until_ns >= machine->wake_ns) {
        return PM_OK;
    }
    machine->wake_ns = until_ns;
    return sim_clock_add(&simulation->clock, until_ns, SIM_WAKE, m, 0, 0, error);
}

pm_status sim_machine_settle(struct simulation *simulation, uint32_t m, pm_error *error) {
    struct sim_machine *machine = &simulation->machines[m];
    struct pm_sched_decision decision;
    sim_trace_pass(simulation, machine);
    PM_TRY(forget_ended(simulation, machine, error));
    for (;;) {
        pm_sched_decide(&machine->sched, simulation->clock.now_ns, &decision);
        if (decision.action == PM_SCHED_WAIT) {
            break;
        }
        PM_TRY(pm_sched_apply(&machine->sched, &decision, simulation->clock.now_ns, error));
        PM_TRY(carry_out(simulation, m, &decision, error));
        sim_trace_measure(simulation, machine);
    }
    PM_TRY(forget_ended(simulation, machine, error));
    for (uint32_t i; (i = pm_sched_next_runnable(&machine->sched)) != PM_SCHED_NONE;) {
        PM_TRY(run_step(simulation, m, i, error));
    }
    sim_trace_measure(simulation, machine);
    return wake_later(simulation, m, decision.until_ns, error);
}
