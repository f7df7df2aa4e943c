/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Budget, job states and policy, by trying every order of events on machines small enough for it:
 * arrivals, ends of steps, faults, cancellations, lost and restored devices, loads and evictions,
 * the passing of time. In every state that can be reached:
 *
 *   - no pool is over-committed, by the scheduler's books or by a count of what is really held;
 *   - nothing waits for ever: something is under way as long as a job has not ended, and who waits
 *     alone and would fit has started;
 *   - nobody starves: starts of others while a job waits are bounded, also when those come back
 *     without end;
 *   - a device that failed a part has it again only when no other is left for it, and one that is
 *     dead is given no work;
 *   - nothing is lost or proved twice: a job ends once, done only when each part has been proved
 *     once.
 *
 * check_policy_mutants.py breaks the scheduler in one place at a time and expects this program to
 * notice.
 */
#include "sched/sched_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- Exploration ------------------------------------------------------------------------------
 */

#define DEPTH_MAX 4000

struct seen {
    struct world_print *prints;
    size_t n, capacity; /* a power of two */
};

struct level {
    struct world world;
    struct world_move moves[WORLD_MOVES_MAX];
    size_t n_moves, next;
};

static void *allocate(size_t n, size_t element_bytes) {
    void *memory = calloc(n, element_bytes);
    assert_non_null(memory);
    return memory;
}

static bool insert(struct seen *seen, struct world_print print);

static void grow(struct seen *seen) {
    const struct seen old = *seen;
    seen->capacity = old.capacity == 0 ? (size_t)1 << 16 : old.capacity * 2;
    seen->prints = allocate(seen->capacity, sizeof seen->prints[0]);
    seen->n = 0;
    for (size_t i = 0; i < old.capacity; i++) {
        if ((old.prints[i].a | old.prints[i].b) != 0) {
            (void)insert(seen, old.prints[i]);
        }
    }
    free(old.prints);
}

/* False if it has been seen. */
static bool insert(struct seen *seen, struct world_print print) {
    if (seen->n * 2 >= seen->capacity) {
        grow(seen);
    }
    size_t i = (size_t)print.a & (seen->capacity - 1);
    while ((seen->prints[i].a | seen->prints[i].b) != 0) {
        if (seen->prints[i].a == print.a && seen->prints[i].b == print.b) {
            return false;
        }
        i = (i + 1) & (seen->capacity - 1);
    }
    seen->prints[i] = print;
    seen->n++;
    return true;
}

static void print_path(const struct level *levels, size_t depth) {
    for (size_t i = 0; i < depth; i++) {
        char text[64];
        world_describe_move(&levels[i].moves[levels[i].next - 1], text);
        (void)fprintf(stderr, "  %s\n", text);
    }
}

static bool has_unended(const struct world *world, const struct world_plan *plan) {
    for (uint32_t j = 0; j < plan->n_jobs; j++) {
        if (world->slot_of[j] != PM_SCHED_NONE) {
            return true;
        }
    }
    return false;
}

static void fail_at(const struct world_plan *plan, const struct level *levels, size_t depth) {
    (void)fprintf(stderr, "%s: %s, after\n", plan->name, world_complaint);
    print_path(levels, depth);
    fail();
}

static void explore(const struct world_plan *plan) {
    struct seen seen = {NULL, 0, 0};
    struct level *levels = allocate(DEPTH_MAX, sizeof *levels);
    size_t depth = 0, n_moves = 0, deepest = 0;
    assert_true(world_begin(&levels[0].world, plan));
    world_adopt(&levels[0].world);
    levels[0].n_moves = world_moves(&levels[0].world, plan, levels[0].moves);
    for (;;) {
        struct level *level = &levels[depth];
        if (level->next == level->n_moves) {
            if (depth-- == 0) {
                break;
            }
            continue;
        }
        struct level *below = &levels[depth + 1];
        assert_true(depth + 2 < DEPTH_MAX);
        memcpy(&below->world, &level->world, sizeof below->world);
        world_adopt(&below->world);
        n_moves++;
        if (!world_make(&below->world, plan, &level->moves[level->next++])) {
            fail_at(plan, levels, depth + 1);
        }
        if (has_unended(&below->world, plan) && world_is_asleep(&below->world, plan)) {
            (void)snprintf(world_complaint, sizeof world_complaint,
                           "deadlock: nothing is under way");
            fail_at(plan, levels, depth + 1);
        }
        if (insert(&seen, world_fingerprint(&below->world, plan))) {
            below->n_moves = world_moves(&below->world, plan, below->moves);
            below->next = 0;
            depth++;
            deepest = depth > deepest ? depth : deepest;
        }
    }
    print_message("%-34s %9zu states %10zu moves, %zu deep\n", plan->name, seen.n, n_moves,
                  deepest);
    assert_true(seen.n > 100);
    free(levels);
    free(seen.prints);
}

/* ---- Curves -----------------------------------------------------------------------------------
 */

/* On a device: 4 of its memory and 3 of the host's, then 1 of the host's. */
static const struct pm_sched_curve plain = {
    .n_steps = 2,
    .steps = {{.bytes = {3, 0, 4}, .stage = PM_STAGE_PROVE, .in_lock = true},
              {.bytes = {1, 0, 0}, .stage = PM_STAGE_VERIFY, .on_worker = true}}};
/* Prepared first, as the predecessor does: 5, then 3 while it waits and computes, then 1. */
static const struct pm_sched_curve prepared = {
    .n_steps = 4,
    .steps = {{.bytes = {5, 0, 0}, .stage = PM_STAGE_PREPARE},
              {.bytes = {3, 0, 4}, .stage = PM_STAGE_PROVE, .in_lock = true},
              {.bytes = {1, 0, 0}, .stage = PM_STAGE_FINISH},
              {.bytes = {1, 0, 0}, .stage = PM_STAGE_VERIFY}}};
/* Nearly all there is. */
static const struct pm_sched_curve large = {
    .n_steps = 2,
    .steps = {{.bytes = {9, 0, 8}, .stage = PM_STAGE_PROVE, .in_lock = true},
              {.bytes = {1, 0, 0}, .stage = PM_STAGE_VERIFY, .on_worker = true}}};
/* On the CPU. */
static const struct pm_sched_curve on_cpu = {
    .n_steps = 2,
    .steps = {{.bytes = {6, 0, 0}, .stage = PM_STAGE_PROVE, .in_lock = true},
              {.bytes = {1, 0, 0}, .stage = PM_STAGE_VERIFY, .on_worker = true}}};

static struct pm_sched_request request(enum pm_priority priority, uint32_t key, uint32_t n_parts,
                                       const struct pm_sched_curve *curve, uint32_t device_mask) {
    return (struct pm_sched_request){.priority = priority,
                                     .key = key,
                                     .n_parts = n_parts,
                                     .n_variants = 1,
                                     .variants = {{curve, device_mask}}};
}

static struct world_plan small_machine(const char *name) {
    struct world_plan plan = {.name = name,
                              .config = pm_sched_config_default(),
                              .host_bytes = 12,
                              .vram_bytes = 10,
                              .n_devices = 2,
                              .n_workers = 1,
                              .n_jobs = 3,
                              .key_bytes = {{2, 0, 3}, {2, 0, 3}}};
    plan.config.age_ns = 6;
    plan.config.age_every = 2;
    plan.config.group_max = 1;
    plan.config.interleave = 1;
    plan.config.n_attempts_max = 2;
    plan.config.n_faults_max = 2;
    plan.config.retry_ns = 0;
    return plan;
}

/* Every instance has a sample of what may go wrong; with "slow" there is more of everything. */
static bool is_slow;

static void go_wrong(struct world_plan *plan, uint32_t n_faults, uint32_t n_cancels,
                     uint32_t n_losses, uint32_t n_bad_loads) {
    plan->n_faults_max = n_faults;
    plan->n_cancels_max = n_cancels;
    plan->n_losses_max = n_losses;
    plan->n_bad_loads_max = n_bad_loads;
    if (is_slow) {
        plan->records_later = true;
        plan->n_faults_max = n_faults + n_losses != 0 ? n_faults : 1;
        plan->n_cancels_max = 1;
    }
}

/* ---- Instances --------------------------------------------------------------------------------
 */

static void two_devices_two_keys(void **state) {
    (void)state;
    struct world_plan plan = small_machine("two devices, two keys");
    plan.requests[0] = request(PM_PRIORITY_LOW, 0, 1, &plain, 3);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 1, 1, &plain, 3);
    plan.requests[2] = request(PM_PRIORITY_HIGH, 0, 1, &large, 1);
    plan.host_bytes = 13;
    plan.vram_bytes = 12;
    go_wrong(&plan, 0, 0, 1, 0);
    explore(&plan);
}

/* F5: one fails, and its job goes elsewhere or ends. */
static void faults_of_devices(void **state) {
    (void)state;
    struct world_plan plan = small_machine("faults of devices");
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 0, 2, &plain, 3);
    plan.requests[1] = request(PM_PRIORITY_HIGH, 0, 1, &plain, 2);
    plan.n_jobs = 2;
    plan.config.n_attempts_max = 3;
    plan.n_faults_max = 2;
    plan.n_cancels_max = 1;
    plan.n_losses_max = 1;
    plan.records_later = true;
    explore(&plan);
}

static void one_key_at_a_time(void **state) {
    (void)state;
    struct world_plan plan = small_machine("one key at a time");
    plan.n_devices = 1;
    plan.n_workers = 2;
    plan.vram_bytes = 11; /* two proofs and a key, or one of each with the other key */
    plan.host_bytes = 10;
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 0, 2, &plain, 1);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 1, 1, &plain, 1);
    plan.requests[2] = request(PM_PRIORITY_NORMAL, 0, 1, &plain, 1);
    go_wrong(&plan, 1, 0, 0, 1);
    explore(&plan);
}

static void prepared_ahead(void **state) {
    (void)state;
    struct world_plan plan = small_machine("prepared ahead, and a direct one");
    plan.n_devices = 1;
    plan.config.n_slots = 2;
    plan.host_bytes = 12;
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 0, 2, &prepared, 1);
    plan.requests[1] = request(PM_PRIORITY_LOW, 1, 1, &prepared, 1);
    plan.requests[2] = request(PM_PRIORITY_HIGH, 1, 1, &plain, 1);
    go_wrong(&plan, 0, 1, 0, 0);
    explore(&plan);
}

static void bounded_ahead(void **state) {
    (void)state;
    struct world_plan plan = small_machine("at most one ahead, two devices");
    plan.config.n_slots = 2;
    plan.config.n_ahead_max = 1;
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 0, 2, &prepared, 3);
    plan.requests[1] = request(PM_PRIORITY_CRITICAL, 1, 1, &prepared, 2);
    plan.requests[2] = request(PM_PRIORITY_LOW, 0, 1, &plain, 1);
    go_wrong(&plan, 0, 0, 1, 0);
    explore(&plan);
}

static void card_or_cpu(void **state) {
    (void)state;
    struct world_plan plan = small_machine("a card, or the CPU");
    plan.has_cpu = true;
    plan.n_express = 1;
    for (uint32_t j = 0; j < 3; j++) {
        plan.requests[j] =
            request(j == 2 ? PM_PRIORITY_HIGH : PM_PRIORITY_LOW, j % 2, 1, &plain, 1);
        plan.requests[j].n_variants = 2;
        plan.requests[j].variants[1] = (struct pm_sched_variant){&on_cpu, 2};
    }
    go_wrong(&plan, 1, 0, 0, 0);
    explore(&plan);
}

/* What is being prepared for a card when that is lost goes to the CPU. */
static void prepared_for_a_lost_card(void **state) {
    (void)state;
    struct world_plan plan = small_machine("prepared for a card that is lost");
    plan.has_cpu = true;
    plan.config.n_slots = 1;
    plan.requests[0] = request(PM_PRIORITY_LOW, 0, 2, &prepared, 1);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 1, 1, &prepared, 1);
    plan.n_jobs = 2;
    for (uint32_t j = 0; j < 2; j++) {
        plan.requests[j].n_variants = 2;
        plan.requests[j].variants[1] = (struct pm_sched_variant){&on_cpu, 2};
    }
    go_wrong(&plan, 1, 0, 1, 0);
    explore(&plan);
}

/* F13: a fault that was not the card's is taken back; who is dead stays so. */
static void faults_are_taken_back(void **state) {
    (void)state;
    struct world_plan plan = small_machine("faults are taken back");
    plan.has_cpu = true;
    plan.config.n_faults_max = 1;
    plan.config.n_slots = 1;
    plan.requests[0] = request(PM_PRIORITY_LOW, 0, 2, &plain, 1);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 1, 1, &prepared, 1);
    plan.n_jobs = 2;
    for (uint32_t j = 0; j < 2; j++) {
        plan.requests[j].n_variants = 2;
        plan.requests[j].variants[1] = (struct pm_sched_variant){&on_cpu, 2};
    }
    plan.n_acquittals_max = 2;
    go_wrong(&plan, 2, 0, 0, 0);
    explore(&plan);
}

static void idle_keys_stay_a_while(void **state) {
    (void)state;
    struct world_plan plan = small_machine("idle keys stay for a while");
    plan.n_devices = 1;
    plan.config.evict_idle_ns = 4;
    plan.config.retry_ns = 3;
    plan.host_bytes = 7;
    plan.vram_bytes = 8;
    plan.key_bytes[0][PM_KIND_HOST] = 3;
    plan.key_bytes[1][PM_KIND_HOST] = 4;
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 0, 1, &plain, 1);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 1, 1, &plain, 1);
    plan.requests[2] = request(PM_PRIORITY_LOW, 0, 1, &plain, 1);
    plan.n_faults_max = 2;
    plan.config.n_attempts_max = 3;
    explore(&plan);
}

/* The two that come back do so for ever; time passes with every event. */
static void low_among_endless_high(void **state) {
    (void)state;
    struct world_plan plan = small_machine("LOW among endless HIGH");
    plan.n_devices = 1;
    plan.requests[0] = request(PM_PRIORITY_LOW, 0, 1, &plain, 1);
    plan.requests[1] = request(PM_PRIORITY_HIGH, 0, 1, &plain, 1);
    plan.requests[2] = request(PM_PRIORITY_CRITICAL, 0, 1, &plain, 1);
    plan.returns[1] = plan.returns[2] = true;
    plan.n_passed_max = 3;
    explore(&plan);
}

static void large_among_endless_small(void **state) {
    (void)state;
    struct world_plan plan = small_machine("large among endless small");
    plan.n_workers = 2;
    plan.n_devices = 1;
    plan.vram_bytes = 12;
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 0, 1, &large, 1);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 0, 1, &plain, 1);
    plan.requests[2] = request(PM_PRIORITY_NORMAL, 0, 1, &plain, 1);
    plan.returns[1] = plan.returns[2] = true;
    plan.n_passed_max = 3;
    explore(&plan);
}

static void cold_among_endless_hot(void **state) {
    (void)state;
    struct world_plan plan = small_machine("cold among endless hot");
    plan.n_devices = 1;
    plan.vram_bytes = 9;
    plan.key_bytes[1][PM_KIND_DEVICE] = 4;
    plan.config.age_ns = 1000000; /* grouping alone */
    plan.config.group_max = 2;
    plan.requests[0] = request(PM_PRIORITY_NORMAL, 1, 1, &plain, 1);
    plan.requests[1] = request(PM_PRIORITY_NORMAL, 0, 1, &plain, 1);
    plan.requests[2] = request(PM_PRIORITY_NORMAL, 0, 1, &plain, 1);
    plan.returns[1] = plan.returns[2] = true;
    plan.n_passed_max = 3;
    explore(&plan);
}

static void prepared_among_endless_direct(void **state) {
    (void)state;
    struct world_plan plan = small_machine("prepared LOW among endless direct HIGH");
    plan.n_devices = 1;
    plan.config.n_slots = 1;
    plan.requests[0] = request(PM_PRIORITY_LOW, 0, 1, &prepared, 1);
    plan.requests[1] = request(PM_PRIORITY_HIGH, 0, 1, &plain, 1);
    plan.requests[2] = request(PM_PRIORITY_HIGH, 0, 1, &plain, 1);
    plan.returns[1] = plan.returns[2] = true;
    plan.n_passed_max = 3;
    explore(&plan);
}

int main(int n, char **arguments) {
    is_slow = n > 1 && strcmp(arguments[1], "slow") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_devices_two_keys),
        cmocka_unit_test(faults_of_devices),
        cmocka_unit_test(one_key_at_a_time),
        cmocka_unit_test(prepared_ahead),
        cmocka_unit_test(bounded_ahead),
        cmocka_unit_test(card_or_cpu),
        cmocka_unit_test(prepared_for_a_lost_card),
        cmocka_unit_test(faults_are_taken_back),
        cmocka_unit_test(idle_keys_stay_a_while),
        cmocka_unit_test(low_among_endless_high),
        cmocka_unit_test(large_among_endless_small),
        cmocka_unit_test(cold_among_endless_hot),
        cmocka_unit_test(prepared_among_endless_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
