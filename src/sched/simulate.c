/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "sched/simulate.h"

#include "base/memory.h"
#include "sched/simulate_internal.h"

#include <stddef.h>
#include <string.h>

/* Sums of two such times do not wrap. */
#define TIME_NS_MAX (UINT64_C(1) << 62)
/* Parts that all machines together have room for: some 700 MB of states. */
#define TASKS_MAX UINT64_C(1500000)

/* Of one step: each is an event. */
#define CHUNKS_MAX 100000

/* ---- What is asked for ------------------------------------------------------------------------
 */

static pm_status check_machine(const struct pm_sim_machine *machine, pm_error *error) {
    PM_FAIL_IF(machine->count == 0 || machine->count > PM_SIM_MACHINES_MAX, error,
               PM_INVALID_ARGUMENT, "machines are 1 to %d, not %u", PM_SIM_MACHINES_MAX,
               machine->count);
    PM_FAIL_IF(machine->n_devices > PM_DEVICES_MAX, error, PM_INVALID_ARGUMENT,
               "a machine has at most %d devices, not %u", PM_DEVICES_MAX, machine->n_devices);
    PM_FAIL_IF(machine->n_workers == 0 || machine->n_workers > PM_SCHED_WORKERS_MAX ||
                   machine->n_express > PM_SCHED_WORKERS_MAX - machine->n_workers,
               error, PM_INVALID_ARGUMENT, "a device has 1 to %d workers in all",
               PM_SCHED_WORKERS_MAX);
    PM_FAIL_IF(machine->baseline_bytes > PM_SCHED_BYTES_MAX, error, PM_INVALID_ARGUMENT,
               "the baseline is more than any machine has");
    PM_FAIL_IF(machine->baseline_bytes >= machine->memory_bytes, error, PM_OVER_BUDGET,
               "the baseline takes %llu bytes, the machine has %llu",
               (unsigned long long)machine->baseline_bytes,
               (unsigned long long)machine->memory_bytes);
    return PM_OK;
}

static pm_status check_proof(const struct pm_sim_scenario *scenario, uint32_t p, pm_error *error) {
    const struct pm_sim_proof *proof = &scenario->proofs[p];
    struct pm_sched_curve curve = {.n_steps = proof->n_steps};
    PM_FAIL_IF(proof->key >= scenario->n_keys, error, PM_INVALID_ARGUMENT, "proof %u has no key",
               p);
    PM_FAIL_IF(proof->n_parts == 0 || proof->n_parts > PM_SCHED_PARTS_MAX, error,
               PM_INVALID_ARGUMENT, "a proof has 1 to %d parts, not %u", PM_SCHED_PARTS_MAX,
               proof->n_parts);
    for (uint32_t i = 0; i < proof->n_steps && i < PM_SCHED_STEPS_MAX; i++) {
        const struct pm_sim_step *step = &proof->steps[i];
        curve.steps[i] = step->memory;
        PM_FAIL_IF(step->least_ns > step->most_ns || step->most_ns > PM_SIM_NS_MAX ||
                       step->chunk_ns > PM_SIM_NS_MAX || step->transfer_bytes > PM_SCHED_BYTES_MAX,
                   error, PM_INVALID_ARGUMENT, "the time of step %u is out of range", i);
        const uint64_t most_ns =
            step->most_ns + sim_time_of(step->transfer_bytes, scenario->machine.bus_bytes_per_s);
        PM_FAIL_IF(step->chunk_ns != 0 && most_ns / step->chunk_ns > CHUNKS_MAX, error,
                   PM_INVALID_ARGUMENT, "step %u has more than %d chunks", i, CHUNKS_MAX);
    }
    return pm_sched_curve_check(&curve, error);
}

static pm_status check_loads(const struct pm_sim_scenario *scenario, pm_error *error) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < scenario->n_loads; i++) {
        const struct pm_sim_load *load = &scenario->loads[i];
        PM_FAIL_IF(load->proof >= scenario->n_proofs || (uint32_t)load->priority >= PM_PRIORITIES,
                   error, PM_INVALID_ARGUMENT, "load %u is of no proof or priority there is", i);
        PM_FAIL_IF(load->first_ns > PM_SIM_NS_MAX || load->deadline_ns > PM_SIM_NS_MAX ||
                       load->every_ns > PM_SIM_NS_MAX / PM_SIM_JOBS_MAX,
                   error, PM_INVALID_ARGUMENT, "a time of load %u is out of range", i);
        n += load->n_jobs;
    }
    PM_FAIL_IF(n == 0 || n > PM_SIM_JOBS_MAX, error, PM_INVALID_ARGUMENT,
               "a load is 1 to %d jobs, not %llu", PM_SIM_JOBS_MAX, (unsigned long long)n);
    return PM_OK;
}

pm_status pm_sim_check(const struct pm_sim_scenario *scenario, pm_error *error) {
    PM_FAIL_IF(scenario->n_keys == 0 || scenario->n_keys > PM_SIM_KEYS_MAX ||
                   scenario->n_proofs == 0 || scenario->n_proofs > PM_SIM_PROOFS_MAX ||
                   scenario->n_loads == 0 || scenario->n_loads > PM_SIM_LOADS_MAX,
               error, PM_COUNT, "a scenario has 1 to %d keys, %d proofs and %d loads",
               PM_SIM_KEYS_MAX, PM_SIM_PROOFS_MAX, PM_SIM_LOADS_MAX);
    PM_TRY(check_machine(&scenario->machine, error));
    for (uint32_t i = 0; i < scenario->n_keys; i++) {
        PM_FAIL_IF(scenario->keys[i].load_ns[0] > PM_SIM_NS_MAX ||
                       scenario->keys[i].load_ns[1] > PM_SIM_NS_MAX,
                   error, PM_INVALID_ARGUMENT, "the time to load key %u is out of range", i);
    }
    for (uint32_t i = 0; i < scenario->n_proofs; i++) {
        PM_TRY(check_proof(scenario, i, error));
    }
    return check_loads(scenario, error);
}

/* ---- Time -------------------------------------------------------------------------------------
 */

static bool comes_before(const struct sim_event *a, const struct sim_event *b) {
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static pm_status grow_clock(struct sim_clock *clock, pm_error *error) {
    const size_t capacity = clock->capacity == 0 ? 1024 : 2 * clock->capacity;
    void *events = NULL;
    PM_TRY(pm_memory_alloc_array(NULL, "simulated events", capacity, sizeof clock->events[0],
                                 PM_MEMORY_PLAIN, &events, error));
    if (clock->n != 0) {
        memcpy(events, clock->events, clock->n * sizeof clock->events[0]);
    }
    pm_memory_free(clock->events);
    clock->events = events;
    clock->capacity = capacity;
    return PM_OK;
}

pm_status sim_clock_add(struct sim_clock *clock, uint64_t at_ns, enum sim_event_kind kind,
                        uint32_t machine, uint32_t a, uint32_t b, pm_error *error) {
    PM_FAIL_IF(at_ns > TIME_NS_MAX, error, PM_UNSUPPORTED,
               "the load takes more than a hundred years");
    if (clock->n == clock->capacity) {
        PM_TRY(grow_clock(clock, error));
    }
    const struct sim_event event = {at_ns, clock->n_sequence++, machine, a, b, (uint8_t)kind};
    size_t i = clock->n++;
    while (i > 0 && comes_before(&event, &clock->events[(i - 1) / 2])) {
        clock->events[i] = clock->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    clock->events[i] = event;
    return PM_OK;
}

bool sim_clock_next(struct sim_clock *clock, struct sim_event *event) {
    if (clock->n == 0) {
        return false;
    }
    *event = clock->events[0];
    const struct sim_event last = clock->events[--clock->n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= clock->n) {
            break;
        }
        child +=
            child + 1 < clock->n && comes_before(&clock->events[child + 1], &clock->events[child]);
        if (!comes_before(&clock->events[child], &last)) {
            break;
        }
        clock->events[i] = clock->events[child];
        i = child;
    }
    clock->events[i] = last;
    clock->now_ns = event->at_ns;
    return true;
}

/* ---- The door ---------------------------------------------------------------------------------
 */

struct arrival {
    uint32_t load, number;
    uint64_t at_ns;
};

/* Jobs that no machine has room for, in order, a queue a priority. */
struct door {
    struct arrival *arrivals; /* of all priorities, one behind the other */
    size_t begin[PM_PRIORITIES], end[PM_PRIORITIES], n[PM_PRIORITIES];
    uint32_t n_come[PM_SIM_LOADS_MAX];
    uint64_t random;
};

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Exponentially distributed around mean_ns, by comparisons alone (von Neumann, "Various techniques
 * used in connection with random digits", 1951): the same on every machine. */
static uint64_t draw_exponential(uint64_t *state, uint64_t mean_ns) {
    for (uint64_t whole = 0;; whole++) {
        const uint64_t first = draw(state);
        uint64_t last = first, next;
        uint32_t n = 0;
        while ((next = draw(state)) < last) {
            last = next;
            n++;
        }
        if (n % 2 == 0) {
            return whole * mean_ns + (uint64_t)(((unsigned __int128)mean_ns * first) >> 64);
        }
    }
}

static uint32_t emptiest(const struct simulation *simulation, uint32_t n_parts) {
    uint32_t found = PM_SCHED_NONE;
    for (uint32_t m = 0; m < simulation->scenario->machine.count; m++) {
        const uint32_t n = simulation->machines[m].n_parts;
        if (n_parts <= simulation->n_tasks_max - n &&
            (found == PM_SCHED_NONE || n < simulation->machines[found].n_parts)) {
            found = m;
        }
    }
    return found;
}

/* Lets in as many as there is room for. A job that no machine can ever hold is refused. */
static pm_status open_door(struct simulation *simulation, struct door *door, pm_error *error) {
    for (uint32_t priority = PM_PRIORITIES; priority-- > 0;) {
        while (door->begin[priority] < door->end[priority]) {
            const struct arrival *arrival = &door->arrivals[door->begin[priority]];
            const struct pm_sim_load *load = &simulation->scenario->loads[arrival->load];
            const uint32_t m =
                emptiest(simulation, simulation->scenario->proofs[load->proof].n_parts);
            if (m == PM_SCHED_NONE) {
                return PM_OK;
            }
            door->begin[priority]++;
            PM_TRY(sim_machine_submit(simulation, m, arrival->load, arrival->number, arrival->at_ns,
                                      error));
            PM_TRY(sim_machine_settle(simulation, m, error));
        }
    }
    return PM_OK;
}

static pm_status expect_next(struct simulation *simulation, struct door *door, uint32_t l,
                             uint64_t after_ns, pm_error *error) {
    const struct pm_sim_load *load = &simulation->scenario->loads[l];
    if (door->n_come[l] == load->n_jobs) {
        return PM_OK;
    }
    uint64_t at_ns = after_ns;
    if (door->n_come[l] != 0) {
        at_ns += load->is_random ? draw_exponential(&door->random, load->every_ns) : load->every_ns;
    }
    return sim_clock_add(&simulation->clock, at_ns, SIM_ARRIVAL, 0, l, 0, error);
}

static pm_status arrive(struct simulation *simulation, struct door *door, uint32_t l,
                        pm_error *error) {
    const uint32_t priority = simulation->scenario->loads[l].priority;
    door->arrivals[door->end[priority]++] =
        (struct arrival){l, door->n_come[l]++, simulation->clock.now_ns};
    return expect_next(simulation, door, l, simulation->clock.now_ns, error);
}

/* ---- A run ------------------------------------------------------------------------------------
 */

/* Parts that one machine has in hand: plenty, but not for ten thousand machines. */
static uint32_t tasks_max_of(const struct pm_sim_scenario *scenario) {
    uint64_t n_all = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < scenario->n_loads; i++) {
        const uint32_t n_parts = scenario->proofs[scenario->loads[i].proof].n_parts;
        n_all += (uint64_t)n_parts * scenario->loads[i].n_jobs;
        most = n_parts > most ? n_parts : most;
    }
    uint64_t n = scenario->machine.count > 16 ? 128 : 2048;
    n = n_all < n ? n_all : n;
    return n < most ? most : (uint32_t)n;
}

struct storage {
    struct sim_machine *machines;
    struct pm_sched_key *keys;
    struct pm_sched_job *jobs;
    struct pm_sched_task *tasks;
    struct sim_task *sim_tasks;
    struct sim_job *sim_jobs;
    struct arrival *arrivals;
    uint64_t *latencies;
    uint8_t *priorities;
};

static void free_storage(struct storage *storage) {
    void *const all[] = {storage->machines, storage->keys,      storage->jobs,
                         storage->tasks,    storage->sim_tasks, storage->sim_jobs,
                         storage->arrivals, storage->latencies, storage->priorities};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pm_memory_free(all[i]);
    }
}

static pm_status allocate(struct storage *storage, const struct pm_sim_scenario *scenario,
                          uint64_t n_jobs, uint64_t n_tasks, pm_error *error) {
    const uint64_t n_machines = scenario->machine.count;
    const struct {
        void **out;
        uint64_t n, bytes;
    } blocks[] = {
        {(void **)&storage->machines, n_machines, sizeof storage->machines[0]},
        {(void **)&storage->keys, n_machines * scenario->n_keys, sizeof storage->keys[0]},
        {(void **)&storage->jobs, n_machines * n_tasks, sizeof storage->jobs[0]},
        {(void **)&storage->tasks, n_machines * n_tasks, sizeof storage->tasks[0]},
        {(void **)&storage->sim_tasks, n_machines * n_tasks, sizeof storage->sim_tasks[0]},
        {(void **)&storage->sim_jobs, n_machines * n_tasks, sizeof storage->sim_jobs[0]},
        {(void **)&storage->arrivals, n_jobs, sizeof storage->arrivals[0]},
        {(void **)&storage->latencies, n_jobs, sizeof storage->latencies[0]},
        {(void **)&storage->priorities, n_jobs, sizeof storage->priorities[0]}};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        PM_TRY(pm_memory_alloc_array(NULL, "simulation", blocks[i].n, blocks[i].bytes,
                                     PM_MEMORY_PLAIN, blocks[i].out, error));
    }
    return PM_OK;
}

static void prepare_curves(struct simulation *simulation) {
    for (uint32_t p = 0; p < simulation->scenario->n_proofs; p++) {
        const struct pm_sim_proof *proof = &simulation->scenario->proofs[p];
        struct pm_sched_curve *curve = &simulation->curves[p];
        curve->n_steps = proof->n_steps;
        for (uint32_t i = 0; i < proof->n_steps; i++) {
            curve->steps[i] = proof->steps[i].memory;
            curve->device_ns += proof->steps[i].memory.in_lock ? proof->steps[i].most_ns : 0;
        }
    }
}

static pm_status run_events(struct simulation *simulation, struct door *door,
                            const pm_control *control, pm_error *error) {
    struct sim_event event;
    while (sim_clock_next(&simulation->clock, &event)) {
        if (simulation->result->n_events++ % 1024 == 0) {
            PM_TRY(pm_control_check(control, error));
        }
        if (event.kind == SIM_ARRIVAL) {
            PM_TRY(arrive(simulation, door, event.a, error));
        } else {
            PM_TRY(sim_machine_event(simulation, &event, error));
            PM_TRY(sim_machine_settle(simulation, event.machine, error));
        }
        PM_TRY(open_door(simulation, door, error));
    }
    return PM_OK;
}

static pm_status begin(struct simulation *simulation, struct door *door, struct storage *storage,
                       pm_error *error) {
    const struct pm_sim_scenario *scenario = simulation->scenario;
    const uint32_t n_tasks = simulation->n_tasks_max;
    prepare_curves(simulation);
    simulation->machines = storage->machines;
    simulation->latencies = storage->latencies;
    simulation->priorities = storage->priorities;
    for (uint32_t m = 0; m < scenario->machine.count; m++) {
        struct sim_machine *machine = &simulation->machines[m];
        const struct pm_sched_storage own = {.keys = storage->keys + (size_t)m * scenario->n_keys,
                                             .jobs = storage->jobs + (size_t)m * n_tasks,
                                             .tasks = storage->tasks + (size_t)m * n_tasks,
                                             .n_keys = scenario->n_keys,
                                             .n_jobs = n_tasks,
                                             .n_tasks = n_tasks};
        machine->tasks = storage->sim_tasks + (size_t)m * n_tasks;
        machine->jobs = storage->sim_jobs + (size_t)m * n_tasks;
        PM_TRY(sim_machine_init(simulation, machine, &own, error));
    }
    door->arrivals = storage->arrivals;
    door->random = scenario->seed;
    size_t at = 0;
    for (uint32_t priority = 0; priority < PM_PRIORITIES; priority++) {
        door->begin[priority] = door->end[priority] = at;
        at += door->n[priority];
    }
    for (uint32_t l = 0; l < scenario->n_loads; l++) {
        PM_TRY(expect_next(simulation, door, l, scenario->loads[l].first_ns, error));
    }
    return PM_OK;
}

pm_status pm_sim_run(const struct pm_sim_scenario *scenario, const pm_control *control,
                     struct pm_sim_result *result, pm_error *error) {
    PM_TRY(pm_sim_check(scenario, error));
    struct simulation simulation = {.scenario = scenario, .result = result};
    struct door door = {.arrivals = NULL};
    struct storage storage = {.machines = NULL};
    uint64_t n_jobs = 0;
    memset(result, 0, sizeof *result);
    result->bin_ns = 1000000;
    for (uint32_t l = 0; l < scenario->n_loads; l++) {
        n_jobs += scenario->loads[l].n_jobs;
        door.n[scenario->loads[l].priority] += scenario->loads[l].n_jobs;
    }
    simulation.n_tasks_max = tasks_max_of(scenario);
    PM_FAIL_IF((uint64_t)simulation.n_tasks_max * scenario->machine.count > TASKS_MAX, error,
               PM_COUNT, "%u machines with %u partitions in hand each cannot be simulated",
               scenario->machine.count, simulation.n_tasks_max);
    pm_status status = allocate(&storage, scenario, n_jobs, simulation.n_tasks_max, error);
    if (status == PM_OK) {
        status = begin(&simulation, &door, &storage, error);
    }
    if (status == PM_OK) {
        status = run_events(&simulation, &door, control, error);
    }
    if (status == PM_OK) {
        sim_result_finish(&simulation);
    }
    pm_memory_free(simulation.clock.events);
    free_storage(&storage);
    return status;
}
