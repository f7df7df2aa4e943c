/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Plans over random sizes, choices and devices, against what plan.h says each step reads and
 * writes: here told step by step, where plan_layout.c has it buffer by buffer.
 */
#include "groth16/plan.h"

#include "base/budget.h"
#include "groth16/plan_device.h"
#include "groth16/plan_sizes.h"
#include "support/seeded_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ROUNDS 4000

/* ---------------------------------------------------------------------------------------------
 * Random arguments
 * ------------------------------------------------------------------------------------------- */

/* A device with some of a device's abilities. */
struct odd_device {
    struct pm_plan_device device;
    uint64_t seed;
};

/* 0 to a few MiB, the same for the same question. */
static uint64_t odd_bytes(const struct pm_plan_device *device, uint64_t question) {
    struct seeded_random random = {.state = *(const uint64_t *)device->user + question};
    return seeded_random_below(&random, 4) == 0 ? 0 : seeded_random_below(&random, 1 << 22);
}

static uint64_t odd_scratch(const struct pm_plan_device *device, enum pm_step_id step,
                            const struct pm_plan_sizes *sizes,
                            const struct pm_plan_choices *choices) {
    assert_true(choices->form != PM_FORM_ANY && choices->key != PM_KEY_ANY &&
                choices->b2 != PM_B2_ANY);
    return odd_bytes(device, 1 + step) + sizes->log_n;
}

static uint64_t odd_classes(const struct pm_plan_device *device,
                            const struct pm_plan_sizes *sizes) {
    return odd_bytes(device, 100) + sizes->n_vars;
}

static uint64_t odd_key(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                        enum pm_key_place place) {
    return place == PM_KEY_STREAMED ? odd_bytes(device, 101) : pm_plan_point_bytes(sizes);
}

static uint64_t odd_window(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes,
                           const struct pm_plan_choices *choices) {
    (void)choices;
    return odd_bytes(device, 102) + sizes->log_n + 1;
}

static uint64_t odd_matrix_window(const struct pm_plan_device *device,
                                  const struct pm_plan_sizes *sizes,
                                  const struct pm_plan_choices *choices) {
    assert_true(choices->key == PM_KEY_STREAMED);
    return odd_bytes(device, 103) + sizes->log_n + 1;
}

static uint64_t odd_packed(const struct pm_plan_device *device, const struct pm_plan_sizes *sizes) {
    return odd_bytes(device, 104) + sizes->n_vars;
}

static void random_device(struct seeded_random *random, struct odd_device *odd) {
    const uint64_t kind = seeded_random_below(random, 3);
    const uint32_t threads = 1 + (uint32_t)seeded_random_below(random, 64);
    odd->seed = seeded_random_u64(random);
    if (kind == 0) {
        pm_plan_device_cpu(threads, &odd->device);
    } else if (kind == 1) {
        pm_plan_device_card(UINT64_MAX, threads, &odd->device);
    } else {
        odd->device = (struct pm_plan_device){
            .name = "odd",
            .pool = PM_POOL_VRAM_0 + (uint32_t)seeded_random_below(random, PM_DEVICES_MAX),
            .mechanism = PM_BY_FAKE,
            .own_memory = true,
            .classifies = seeded_random_below(random, 2) != 0,
            .b2_on_device = seeded_random_below(random, 2) != 0,
            .stages_sums = seeded_random_below(random, 2) != 0,
            .loads_beside = seeded_random_below(random, 2) != 0,
            .sums_together = seeded_random_below(random, 2) != 0,
            .keeps_staging = seeded_random_below(random, 2) != 0,
            .memory_bytes = UINT64_MAX,
            .staging_bytes = seeded_random_below(random, 2) * 4096,
            .threads = threads,
            .user = &odd->seed,
            .scratch_bytes = odd_scratch,
            .classes_bytes = odd_classes,
            .key_bytes = odd_key,
            .window_bytes = seeded_random_below(random, 2) != 0 ? odd_window : NULL,
            .matrix_window_bytes = seeded_random_below(random, 2) != 0 ? odd_matrix_window : NULL,
            .packed_bytes = seeded_random_below(random, 2) != 0 ? odd_packed : NULL};
    }
}

/* Up to `most`, often all of it. */
static uint64_t some_of(struct seeded_random *random, uint64_t most) {
    return seeded_random_below(random, 2) != 0 ? most : seeded_random_below(random, most + 1);
}

static void random_sizes(struct seeded_random *random, struct pm_plan_sizes *sizes) {
    const uint32_t log_n = (uint32_t)seeded_random_below(random, 28);
    const uint64_t n = UINT64_C(1) << log_n;
    const bool bellman = seeded_random_below(random, 2) != 0;
    const uint64_t n_vars = 1 + some_of(random, n);
    const uint64_t n_inputs = 1 + seeded_random_below(random, n_vars < 9 ? n_vars : 9);
    *sizes = (struct pm_plan_sizes){
        .curve = seeded_random_below(random, 2) != 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381,
        .reduction = bellman ? PM_REDUCTION_BELLMAN : PM_REDUCTION_SNARKJS,
        .log_n = log_n,
        .n_vars = n_vars,
        .n_inputs = n_inputs,
        .n_rows = 1 + some_of(random, n - 1),
        .n_a = some_of(random, n_vars),
        .n_b = some_of(random, n_vars),
        .n_l = n_vars - n_inputs,
        .n_h = bellman ? n - 1 : n,
        .n_nonzeros = {some_of(random, 4 * n), some_of(random, 4 * n), bellman ? n : 0},
        .rows_sorted = seeded_random_below(random, 4) != 0,
        .has_matrices = seeded_random_below(random, 4) != 0};
    pm_plan_sizes_add_key(sizes);
}

static void random_choices(struct seeded_random *random, struct pm_plan_choices *choices) {
    *choices =
        (struct pm_plan_choices){.form = (enum pm_form)seeded_random_below(random, 3),
                                 .key = (enum pm_key_place)seeded_random_below(random, 3),
                                 .b2 = (enum pm_b2_place)seeded_random_below(random, 4),
                                 .vectors = (enum pm_vectors_from)seeded_random_below(random, 2),
                                 .caller_brings_c = seeded_random_below(random, 2) != 0,
                                 .scalars_are_lent = seeded_random_below(random, 2) != 0,
                                 .scalars_montgomery = seeded_random_below(random, 2) != 0,
                                 .densities_are_lent = seeded_random_below(random, 4) == 0,
                                 .no_self_verify = seeded_random_below(random, 2) != 0,
                                 .pending_bytes = seeded_random_below(random, 2) * 12345};
}

/* ---------------------------------------------------------------------------------------------
 * What a step reads and writes
 * ------------------------------------------------------------------------------------------- */

struct uses {
    bool reads[PM_BUFFER_IDS], writes[PM_BUFFER_IDS];
};

static void read_w(const struct pm_plan *plan, struct uses *uses) {
    if (pm_plan_find(plan, PM_BUFFER_W) != NULL) {
        uses->reads[PM_BUFFER_W] = true;
    } else {
        uses->reads[PM_BUFFER_CALLER_INPUTS] = uses->reads[PM_BUFFER_CALLER_AUX] = true;
    }
}

static void read_lent_scalars(struct uses *uses) {
    uses->reads[PM_BUFFER_CALLER_INPUTS] = uses->reads[PM_BUFFER_CALLER_AUX] = true;
}

/* Scratch is written and read by its step alone. */
static void touch(struct uses *uses, enum pm_buffer_id id) {
    uses->reads[id] = uses->writes[id] = true;
}

/* What a sum on a device gives may come back through the staging memory. */
static void touch_outputs(const struct pm_plan_device *device, struct uses *uses) {
    if (device->stages_sums) {
        touch(uses, PM_BUFFER_STAGING);
    }
}

static void touch_key(const struct pm_plan *plan, struct uses *uses) {
    if (plan->choices.key == PM_KEY_STREAMED && plan->device_pool != PM_POOL_HOST) {
        touch(uses, PM_BUFFER_KEY_WINDOW);
        touch(uses, PM_BUFFER_STAGING);
    }
}

static void touch_matrices(const struct pm_plan *plan, const struct pm_plan_device *device,
                           struct uses *uses) {
    if (plan->choices.key == PM_KEY_STREAMED && plan->device_pool != PM_POOL_HOST) {
        touch(uses,
              device->matrix_window_bytes != NULL ? PM_BUFFER_MATRIX_WINDOW : PM_BUFFER_KEY_WINDOW);
        touch(uses, PM_BUFFER_STAGING);
    }
}

static void vector_step(const struct pm_plan *plan, const struct pm_plan_device *device,
                        enum pm_step_id id, struct uses *uses) {
    const struct pm_plan_choices *choices = &plan->choices;
    const bool three = choices->form == PM_FORM_THREE_VECTORS;
    const bool loads_c = three && choices->caller_brings_c;
    const bool makes_c = three && plan->sizes.reduction == PM_REDUCTION_BELLMAN;
    switch (id) {
    case PM_STEP_LOAD_VECTORS:
        uses->reads[PM_BUFFER_CALLER_A] = uses->reads[PM_BUFFER_CALLER_B] = true;
        uses->reads[PM_BUFFER_CALLER_C] = uses->writes[PM_BUFFER_C] = loads_c;
        uses->writes[PM_BUFFER_A] = uses->writes[PM_BUFFER_B] = true;
        touch(uses, PM_BUFFER_STAGING);
        break;
    case PM_STEP_PRODUCTS:
        read_w(plan, uses);
        uses->writes[PM_BUFFER_A] = uses->writes[PM_BUFFER_B] = true;
        uses->writes[PM_BUFFER_C] = makes_c;
        touch_matrices(plan, device, uses);
        break;
    case PM_STEP_QUOTIENT:
        touch(uses, PM_BUFFER_C);
        /* fall through */
    case PM_STEP_COSET_PRODUCT:
    case PM_STEP_QUOTIENT_OF_C:
        uses->reads[PM_BUFFER_A] = uses->reads[PM_BUFFER_B] = uses->writes[PM_BUFFER_A] = true;
        if (device->scratch_bytes(device, id, &plan->sizes, choices) != 0) {
            touch(uses, PM_BUFFER_SCRATCH_H);
        }
        break;
    default: /* PM_STEP_RECOMPUTE_C */
        uses->writes[PM_BUFFER_B] = true;
        if (device->scratch_bytes(device, id, &plan->sizes, choices) != 0) {
            touch(uses, PM_BUFFER_SCRATCH_H);
        }
        if (choices->vectors == PM_VECTORS_FROM_W) {
            read_w(plan, uses);
            touch_matrices(plan, device, uses);
        } else {
            uses->reads[PM_BUFFER_CALLER_C] = choices->caller_brings_c;
            uses->reads[PM_BUFFER_CALLER_A] = !choices->caller_brings_c;
            uses->reads[PM_BUFFER_CALLER_B] = !choices->caller_brings_c;
            touch(uses, PM_BUFFER_STAGING);
        }
        break;
    }
}

static void b2_step(const struct pm_plan *plan, const struct pm_plan_device *device,
                    struct uses *uses) {
    const bool on_device = device->b2_on_device && plan->choices.b2 == PM_B2_IN_START;
    touch(uses, PM_BUFFER_SCRATCH_MSM_B2);
    if (plan->choices.b2 == PM_B2_FROM_COPY) {
        uses->reads[PM_BUFFER_B_SCALARS] = true;
    } else if (device->own_memory && !on_device) {
        read_lent_scalars(uses);
    } else {
        read_w(plan, uses);
        uses->reads[PM_BUFFER_CLASSES] = on_device && device->classifies;
    }
    if (on_device) {
        touch_key(plan, uses);
        touch_outputs(device, uses);
    }
}

static void step_uses(const struct pm_plan *plan, const struct pm_plan_device *device,
                      enum pm_step_id id, struct uses *uses) {
    *uses = (struct uses){.reads = {false}};
    switch (id) {
    case PM_STEP_LOAD_WITNESS:
        read_lent_scalars(uses);
        uses->writes[PM_BUFFER_W] = true;
        touch(uses, PM_BUFFER_STAGING);
        if (device->packed_bytes != NULL) {
            touch(uses, PM_BUFFER_PACKED);
        }
        break;
    case PM_STEP_MSM_H:
        uses->reads[PM_BUFFER_A] = true;
        touch(uses, PM_BUFFER_SCRATCH_MSM_H);
        touch_key(plan, uses);
        touch_outputs(device, uses);
        break;
    case PM_STEP_CLASSIFY:
        read_w(plan, uses);
        uses->writes[PM_BUFFER_CLASSES] = true;
        break;
    case PM_STEP_MSM_A:
    case PM_STEP_MSM_B1:
    case PM_STEP_MSM_L:
        read_w(plan, uses);
        uses->reads[PM_BUFFER_CLASSES] = device->classifies;
        touch(uses, (enum pm_buffer_id)(PM_BUFFER_SCRATCH_MSM_A + (id - PM_STEP_MSM_A)));
        touch_key(plan, uses);
        touch_outputs(device, uses);
        break;
    case PM_STEP_MSM_ALL:
        read_w(plan, uses);
        uses->reads[PM_BUFFER_A] = true;
        uses->reads[PM_BUFFER_CLASSES] = device->classifies;
        touch(uses, PM_BUFFER_SCRATCH_MSM_ALL);
        touch_key(plan, uses);
        touch_outputs(device, uses);
        break;
    case PM_STEP_KEEP_B:
        uses->writes[PM_BUFFER_B_SCALARS] = true;
        if (device->own_memory) {
            read_lent_scalars(uses);
        } else {
            read_w(plan, uses);
        }
        break;
    case PM_STEP_MSM_B2:
        b2_step(plan, device, uses);
        break;
    case PM_STEP_SELF_VERIFY:
        touch(uses, PM_BUFFER_SCRATCH_VERIFY);
        break;
    case PM_STEP_ASSEMBLY:
        break; /* the sums, which stand in the handle */
    default:
        vector_step(plan, device, id, uses);
        break;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Properties of one plan
 * ------------------------------------------------------------------------------------------- */

static bool is_held(const struct pm_plan_buffer *buffer) {
    return buffer->lifetime != PM_LIFETIME_RESIDENT && buffer->pool != PM_POOL_CALLER &&
           buffer->pool != PM_POOL_FILE;
}

/* Buffers come with the step that writes them first, before anybody reads them, and go with the
 * step that reads them last. */
static void check_lifetimes(const struct pm_plan *plan, const struct pm_plan_device *device) {
    bool written[PM_BUFFER_IDS] = {false};
    uint32_t first[PM_BUFFER_IDS], last[PM_BUFFER_IDS];
    for (int id = 0; id < PM_BUFFER_IDS; id++) {
        first[id] = UINT32_MAX;
        written[id] = id <= PM_BUFFER_CALLER_C;
    }
    for (uint32_t step = 0; step < plan->n_steps; step++) {
        struct uses uses;
        step_uses(plan, device, plan->steps[step].id, &uses);
        for (int id = 0; id < PM_BUFFER_IDS; id++) {
            if (!uses.reads[id] && !uses.writes[id]) {
                continue;
            }
            /* Read before it is written: only what the same step fills, as scratch and c. */
            assert_true(written[id] || uses.writes[id]);
            written[id] |= uses.writes[id];
            first[id] = step < first[id] ? step : first[id];
            last[id] = step;
        }
    }
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        assert_true(buffer->bytes > 0);
        assert_int_equal(buffer->last_reader, buffer->last_step);
        if (buffer->id == PM_BUFFER_DENSITIES) {
            assert_true(plan->choices.densities_are_lent);
            assert_true(buffer->first_step == 0 && buffer->last_step == plan->n_start_steps - 1);
            continue;
        }
        if (buffer->lifetime == PM_LIFETIME_RESIDENT || buffer->id == PM_BUFFER_PENDING) {
            assert_true(buffer->first_step == 0 && buffer->last_step == plan->n_steps - 1);
            continue;
        }
        assert_int_not_equal(first[buffer->id], UINT32_MAX);
        assert_int_equal(buffer->last_step, last[buffer->id]);
        assert_int_equal(buffer->first_step,
                         buffer->pool == PM_POOL_CALLER ? 0 : first[buffer->id]);
    }
    /* Nothing that is used is missing, but for what has no bytes. */
    const enum pm_buffer_id always[] = {PM_BUFFER_CALLER_INPUTS, PM_BUFFER_A, PM_BUFFER_B};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        assert_non_null(pm_plan_find(plan, always[i]));
    }
    for (int id = 0; id < PM_BUFFER_IDS; id++) {
        const bool may_be_empty = id == PM_BUFFER_CALLER_AUX || id == PM_BUFFER_B_SCALARS ||
                                  id == PM_BUFFER_CLASSES || id >= PM_BUFFER_STAGING;
        assert_true(first[id] == UINT32_MAX || may_be_empty ||
                    pm_plan_find(plan, (enum pm_buffer_id)id) != NULL);
    }
}

static void check_curve(const struct pm_plan *plan) {
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        uint64_t peak = 0;
        for (uint32_t step = 0; step < plan->n_steps; step++) {
            uint64_t live = 0, held = 0;
            for (uint32_t i = 0; i < plan->n_buffers; i++) {
                const struct pm_plan_buffer *buffer = &plan->buffers[i];
                const bool lives =
                    buffer->pool == pool && buffer->first_step <= step && buffer->last_step >= step;
                live += lives ? buffer->bytes : 0;
                held += lives && is_held(buffer) ? buffer->bytes : 0;
            }
            assert_true(plan->live_bytes[step][pool] == live);
            assert_true(pm_plan_held_bytes(plan, step, pool) == held);
            peak = live > peak ? live : peak;
        }
        assert_true(plan->peak_bytes[pool] == peak);
    }
    uint64_t before[PM_POOLS_MAX], now[PM_POOLS_MAX];
    pm_plan_remaining(plan, 0, before);
    for (uint32_t step = 1; step <= plan->n_steps; step++) {
        pm_plan_remaining(plan, step, now);
        for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
            assert_true(now[pool] <= before[pool]);
            assert_true(step == plan->n_steps || now[pool] >= pm_plan_held_bytes(plan, step, pool));
            assert_true(step < plan->n_steps || now[pool] == 0);
            before[pool] = now[pool];
        }
    }
}

static void check_buffers(const struct pm_plan *plan) {
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        const bool locked = plan->steps[buffer->first_step].in_device_lock &&
                            plan->steps[buffer->last_step].in_device_lock;
        assert_true(pm_plan_find(plan, buffer->id) == buffer); /* one of each */
        assert_true(buffer->secret ==
                    ((is_held(buffer) || buffer->id == PM_BUFFER_STAGING) &&
                     buffer->id != PM_BUFFER_KEY_WINDOW && buffer->id != PM_BUFFER_MATRIX_WINDOW &&
                     buffer->id != PM_BUFFER_DENSITIES));
        assert_true(buffer->in_device_lock == (is_held(buffer) && locked));
        if (buffer->pool == PM_POOL_HOST) {
            assert_true(buffer->mechanism == (buffer->secret || buffer->bytes >= (256 << 10)
                                                  ? (uint32_t)PM_BY_MMAP
                                                  : (uint32_t)PM_BY_HEAP));
        }
        if (is_held(buffer)) {
            assert_true((buffer->lifetime == PM_LIFETIME_STEP) ==
                        (buffer->first_step == buffer->last_step));
        }
    }
}

/* start, then finish; the lock is taken once, and not in finish. */
static void check_steps(const struct pm_plan *plan) {
    uint32_t n_locks = 0;
    assert_true(plan->n_steps > 0 && plan->n_steps <= PM_PLAN_STEPS_MAX);
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        assert_true(plan->steps[i].in_start == (i < plan->n_start_steps));
        assert_true(plan->steps[i].in_start || !plan->steps[i].in_device_lock);
        n_locks += plan->steps[i].in_device_lock && (i == 0 || !plan->steps[i - 1].in_device_lock);
        /* Beside the lock w is loaded, and before it is taken. */
        assert_true(!plan->steps[i].is_beside ||
                    (plan->steps[i].id == PM_STEP_LOAD_WITNESS && n_locks == 0 &&
                     !plan->steps[i].in_device_lock && plan->device_pool != PM_POOL_HOST));
        for (uint32_t k = 0; k < i; k++) {
            assert_true(plan->steps[k].id != plan->steps[i].id);
        }
    }
    assert_int_equal(n_locks, plan->device_pool == PM_POOL_HOST ? 0 : 1);
}

static void check_equal(const struct pm_plan *a, const struct pm_plan *b) {
    assert_int_equal(a->n_steps, b->n_steps);
    assert_int_equal(a->n_buffers, b->n_buffers);
    assert_string_equal(a->why, b->why);
    for (uint32_t i = 0; i < a->n_steps; i++) {
        assert_true(a->steps[i].id == b->steps[i].id && a->steps[i].on_cpu == b->steps[i].on_cpu);
    }
    for (uint32_t i = 0; i < a->n_buffers; i++) {
        const struct pm_plan_buffer *x = &a->buffers[i], *y = &b->buffers[i];
        assert_true(x->id == y->id && x->bytes == y->bytes && x->pool == y->pool &&
                    x->first_step == y->first_step && x->last_step == y->last_step &&
                    x->mechanism == y->mechanism && x->lifetime == y->lifetime);
    }
    assert_memory_equal(a->live_bytes, b->live_bytes, sizeof a->live_bytes);
    assert_memory_equal(a->peak_bytes, b->peak_bytes, sizeof a->peak_bytes);
}

static void any_plan_keeps_its_rules(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    uint32_t n_made = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct odd_device odd;
        struct pm_plan_sizes sizes;
        struct pm_plan_choices choices;
        static struct pm_plan plan, again;
        random_device(&random, &odd);
        random_sizes(&random, &sizes);
        random_choices(&random, &choices);
        if (round % 2 == 0) {
            choices.form = PM_FORM_ANY;
            choices.key = PM_KEY_ANY;
            choices.b2 = PM_B2_ANY;
        }
        pm_error error = PM_ERROR_INIT;
        const pm_status status = pm_plan_make(&sizes, &odd.device, &choices, &plan, &error);
        if (status != PM_OK) {
            /* Only what contradicts itself is refused when nothing is limited. */
            assert_int_equal(status, PM_INVALID_ARGUMENT);
            assert_true(round % 2 != 0 ||
                        (choices.vectors == PM_VECTORS_FROM_W && !sizes.has_matrices));
            continue;
        }
        n_made++;
        check_steps(&plan);
        check_buffers(&plan);
        check_lifetimes(&plan, &odd.device);
        check_curve(&plan);
        assert_int_equal(pm_plan_make(&sizes, &odd.device, &choices, &again, NULL), PM_OK);
        check_equal(&plan, &again);
    }
    assert_true(n_made > ROUNDS / 3);
}

/* ---------------------------------------------------------------------------------------------
 * Limits
 * ------------------------------------------------------------------------------------------- */

static bool keeps_limits(const struct pm_plan *plan, const struct pm_plan_device *device) {
    uint64_t held[PM_POOLS_MAX];
    pm_plan_remaining(plan, 0, held);
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        const uint64_t limit = plan->choices.limit_bytes[pool];
        if (limit != 0 && held[pool] > limit) {
            return false;
        }
    }
    return plan->peak_bytes[device->pool] <=
           device->memory_bytes + device->there_bytes[plan->choices.key];
}

/* Whether any choice at all fits, tried one by one without limits. */
static bool any_choice_fits(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                            const struct pm_plan_choices *limited) {
    struct pm_plan_device unbounded = *device;
    unbounded.memory_bytes = UINT64_MAX;
    bool fits = false;
    for (int i = 0; i < 2 * 2 * 3 * 2; i++) {
        static struct pm_plan plan;
        struct pm_plan_choices choices = *limited;
        unbounded.sums_together = device->sums_together && i < 2 * 2 * 3;
        memset(choices.limit_bytes, 0, sizeof choices.limit_bytes);
        choices.form = (enum pm_form)(1 + i % 2);
        choices.key = (enum pm_key_place)(1 + i / 2 % 2);
        choices.b2 = (enum pm_b2_place)(1 + i / 4 % 3);
        if (pm_plan_make(sizes, &unbounded, &choices, &plan, NULL) == PM_OK) {
            memcpy(plan.choices.limit_bytes, limited->limit_bytes, sizeof limited->limit_bytes);
            fits |= keeps_limits(&plan, device);
        }
    }
    return fits;
}

static void limits_are_kept_or_refused(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    uint32_t n_refused = 0, n_made = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct odd_device odd;
        struct pm_plan_sizes sizes;
        struct pm_plan_choices choices;
        static struct pm_plan plan;
        random_device(&random, &odd);
        random_sizes(&random, &sizes);
        random_choices(&random, &choices);
        choices.form = PM_FORM_ANY;
        choices.key = PM_KEY_ANY;
        choices.b2 = PM_B2_ANY;
        if (pm_plan_make(&sizes, &odd.device, &choices, &plan, NULL) != PM_OK) {
            continue;
        }
        uint64_t held[PM_POOLS_MAX];
        pm_plan_remaining(&plan, 0, held);
        choices.limit_bytes[PM_POOL_HOST] =
            1 + seeded_random_below(&random, held[PM_POOL_HOST] * 5 / 4 + 1);
        if (odd.device.own_memory) {
            const uint64_t peak = plan.peak_bytes[odd.device.pool];
            odd.device.memory_bytes = seeded_random_below(&random, peak * 5 / 4 + 1);
        }
        pm_error error = PM_ERROR_INIT;
        const pm_status status = pm_plan_make(&sizes, &odd.device, &choices, &plan, &error);
        assert_true(any_choice_fits(&sizes, &odd.device, &choices) == (status == PM_OK));
        if (status == PM_OK) {
            n_made++;
            assert_true(keeps_limits(&plan, &odd.device));
        } else {
            n_refused++;
            assert_int_equal(status, PM_OVER_BUDGET);
            assert_true(error.need > error.have);
        }
    }
    assert_true(n_refused > ROUNDS / 20 && n_made > ROUNDS / 20);
}

/* How long a plan takes beside the others of the same sizes: 0 for the fastest, equal for those
 * that do the same work in another order. */
static uint32_t slowness(const struct pm_plan *plan, const struct pm_plan_device *device) {
    const bool bellman = plan->sizes.reduction == PM_REDUCTION_BELLMAN;
    const bool free_form = bellman && plan->choices.vectors == PM_VECTORS_FROM_W;
    const bool copies = plan->choices.b2 == PM_B2_FROM_COPY;
    const bool reads_again = plan->choices.key == PM_KEY_STREAMED;
    const bool passes_again = plan->choices.form == PM_FORM_TWO_VECTORS && !free_form;
    const bool leaves_device = device->b2_on_device && plan->choices.b2 != PM_B2_IN_START;
    return 100 * reads_again + 10 * passes_again + leaves_device + copies;
}

struct candidate {
    struct pm_plan plan;
    bool fits, fits_with_file;
};

static bool has_room_for_file(const struct pm_plan *plan, const struct pm_plan_device *device) {
    const uint64_t limit = plan->choices.limit_bytes[PM_POOL_HOST];
    uint64_t held[PM_POOLS_MAX];
    pm_plan_remaining(plan, 0, held);
    return limit == 0 || device->own_memory || plan->choices.key == PM_KEY_STREAMED ||
           held[PM_POOL_HOST] + plan->sizes.key_bytes <= limit;
}

static bool all_pools_at_most(const struct pm_plan *a, const struct pm_plan *b, bool *less) {
    uint64_t held_a[PM_POOLS_MAX], held_b[PM_POOLS_MAX];
    pm_plan_remaining(a, 0, held_a);
    pm_plan_remaining(b, 0, held_b);
    *less = memcmp(held_a, held_b, sizeof held_a) != 0;
    for (uint32_t pool = 0; pool < PM_POOLS_MAX; pool++) {
        if (held_a[pool] > held_b[pool]) {
            return false;
        }
    }
    return true;
}

/* All that could be chosen, whether it fits or not. */
static uint32_t all_candidates(const struct pm_plan_sizes *sizes,
                               const struct pm_plan_device *device,
                               const struct pm_plan_choices *limited,
                               struct candidate candidates[12]) {
    struct pm_plan_device unbounded = *device;
    unbounded.memory_bytes = UINT64_MAX;
    uint32_t n = 0;
    for (int i = 0; i < 12; i++) {
        struct candidate *candidate = &candidates[n];
        struct pm_plan_choices choices = *limited;
        memset(choices.limit_bytes, 0, sizeof choices.limit_bytes);
        choices.form = (enum pm_form)(1 + i % 2);
        choices.key = (enum pm_key_place)(1 + i / 2 % 2);
        choices.b2 = (enum pm_b2_place)(1 + i / 4);
        if (pm_plan_make(sizes, &unbounded, &choices, &candidate->plan, NULL) == PM_OK) {
            memcpy(candidate->plan.choices.limit_bytes, limited->limit_bytes,
                   sizeof limited->limit_bytes);
            candidate->fits = keeps_limits(&candidate->plan, device);
            candidate->fits_with_file =
                candidate->fits && has_room_for_file(&candidate->plan, device);
            n++;
        }
    }
    return n;
}

/* Nothing that fits is faster than what was chosen, and nothing as fast needs less. Returns whether
 * there was something as fast that needs more. */
static bool check_choice(const struct pm_plan *plan, const struct pm_plan_device *device,
                         const struct candidate *candidates, uint32_t n) {
    bool some_with_file = false, avoided = false;
    for (uint32_t i = 0; i < n; i++) {
        some_with_file |= candidates[i].fits_with_file;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct candidate *other = &candidates[i];
        const bool as_fast = slowness(&other->plan, device) == slowness(plan, device);
        bool less = false;
        if (some_with_file ? other->fits_with_file : other->fits) {
            assert_true(slowness(&other->plan, device) >= slowness(plan, device));
            assert_false(as_fast && all_pools_at_most(&other->plan, plan, &less) && less);
        }
        avoided |= as_fast && all_pools_at_most(plan, &other->plan, &less) && less;
    }
    return avoided;
}

static void no_plan_needs_more_than_one_as_fast(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    uint32_t n_made = 0, n_avoided = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct odd_device odd;
        struct pm_plan_sizes sizes;
        struct pm_plan_choices choices;
        static struct pm_plan plan;
        static struct candidate candidates[12];
        random_device(&random, &odd);
        random_sizes(&random, &sizes);
        random_choices(&random, &choices);
        choices.form = PM_FORM_ANY;
        choices.key = PM_KEY_ANY;
        choices.b2 = PM_B2_ANY;
        if (pm_plan_make(&sizes, &odd.device, &choices, &plan, NULL) != PM_OK) {
            continue;
        }
        uint64_t held[PM_POOLS_MAX];
        pm_plan_remaining(&plan, 0, held);
        const uint64_t most = held[PM_POOL_HOST] + sizes.key_bytes + (8 << 20);
        choices.limit_bytes[PM_POOL_HOST] = 1 + seeded_random_below(&random, most * 3 / 2);
        if (pm_plan_make(&sizes, &odd.device, &choices, &plan, NULL) == PM_OK) {
            const uint32_t n = all_candidates(&sizes, &odd.device, &choices, candidates);
            n_made++;
            n_avoided += check_choice(&plan, &odd.device, candidates, n);
        }
    }
    assert_true(n_made > ROUNDS / 4 && n_avoided > ROUNDS / 50);
}

/* A copy of B's scalars beside the scratch that spreads them out can be the peak: a limit below it
 * must not end in that copy. */
static void a_copy_of_b_is_not_taken_for_lean(void **state) {
    (void)state;
    struct pm_plan_sizes sizes = {.curve = PM_CURVE_BN254,
                                  .log_n = 17,
                                  .n_vars = 120000,
                                  .n_inputs = 2,
                                  .n_rows = 120000,
                                  .n_a = 120000,
                                  .n_b = 38000,
                                  .n_l = 119998,
                                  .n_h = 1 << 17,
                                  .n_nonzeros = {300000, 200000, 0},
                                  .rows_sorted = true,
                                  .has_matrices = true};
    pm_plan_sizes_add_key(&sizes);
    struct pm_plan_device cpu;
    static struct pm_plan copy, chosen;
    pm_plan_device_cpu(2, &cpu);
    const struct pm_plan_choices asked = {.form = PM_FORM_TWO_VECTORS, .b2 = PM_B2_FROM_COPY};
    assert_int_equal(pm_plan_make(&sizes, &cpu, &asked, &copy, NULL), PM_OK);
    uint64_t held[PM_POOLS_MAX], held_by_chosen[PM_POOLS_MAX];
    pm_plan_remaining(&copy, 0, held);
    for (uint64_t limit = 1 << 20; limit <= held[PM_POOL_HOST] * 2; limit += 1 << 18) {
        const struct pm_plan_choices choices = {.limit_bytes = {limit}};
        if (pm_plan_make(&sizes, &cpu, &choices, &chosen, NULL) == PM_OK) {
            pm_plan_remaining(&chosen, 0, held_by_chosen);
            assert_int_not_equal(chosen.choices.b2, PM_B2_FROM_COPY);
            assert_true(chosen.choices.form != PM_FORM_TWO_VECTORS ||
                        held_by_chosen[PM_POOL_HOST] <= held[PM_POOL_HOST]);
        }
    }
}

/* On the CPU, where one pool counts, the need that is named is the least that is enough. */
static void the_leanest_need_is_enough(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    for (int round = 0; round < ROUNDS / 4; round++) {
        struct pm_plan_device cpu;
        struct pm_plan_sizes sizes;
        struct pm_plan_choices choices = {.limit_bytes = {1}};
        static struct pm_plan plan;
        pm_error error = PM_ERROR_INIT;
        pm_plan_device_cpu(1 + (uint32_t)seeded_random_below(&random, 8), &cpu);
        random_sizes(&random, &sizes);
        sizes.has_matrices = true;
        assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, &error), PM_OVER_BUDGET);
        assert_int_equal(error.have, 1);
        const uint64_t need = error.need;
        choices.limit_bytes[PM_POOL_HOST] = need;
        assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, &error), PM_OK);
        choices.limit_bytes[PM_POOL_HOST] = need - 1;
        assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, &error), PM_OVER_BUDGET);
        assert_true(error.need == need);
    }
}

/* A zkey of 2^20 rows: three vectors when there is room, then two, then a key that is streamed. */
static void less_room_gives_a_leaner_plan(void **state) {
    (void)state;
    struct pm_plan_sizes sizes = {.curve = PM_CURVE_BN254,
                                  .log_n = 20,
                                  .n_vars = 1000000,
                                  .n_inputs = 3,
                                  .n_rows = 1000003,
                                  .n_a = 1000000,
                                  .n_b = 900000,
                                  .n_l = 999997,
                                  .n_h = 1 << 20,
                                  .n_nonzeros = {3000000, 2000000, 0},
                                  .rows_sorted = true,
                                  .has_matrices = true};
    pm_plan_sizes_add_key(&sizes);
    struct pm_plan_device cpu;
    static struct pm_plan plan;
    struct pm_plan_choices choices = {.limit_bytes = {0}};
    pm_plan_device_cpu(2, &cpu);
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    assert_true(plan.choices.form == PM_FORM_THREE_VECTORS && plan.choices.key == PM_KEY_RESIDENT &&
                plan.choices.b2 == PM_B2_FROM_W);
    assert_int_equal(pm_plan_find(&plan, PM_BUFFER_A)->bytes, 32 << 20);
    const uint64_t three = plan.peak_bytes[PM_POOL_HOST] - sizes.key_resident_bytes;

    choices.limit_bytes[PM_POOL_HOST] = three + sizes.key_bytes - 1;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    assert_true(plan.choices.form == PM_FORM_TWO_VECTORS && plan.choices.key == PM_KEY_RESIDENT);

    choices.limit_bytes[PM_POOL_HOST] = three;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    assert_true(plan.choices.form == PM_FORM_THREE_VECTORS && plan.choices.key == PM_KEY_STREAMED);
    assert_true(pm_plan_find(&plan, PM_BUFFER_KEY_FILE)->bytes < sizes.key_bytes / 8);

    choices.limit_bytes[PM_POOL_HOST] = three - 1;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    assert_true(plan.choices.form == PM_FORM_TWO_VECTORS && plan.choices.key == PM_KEY_STREAMED);

    /* A key that is asked to stay stays, whatever its file takes. */
    choices.limit_bytes[PM_POOL_HOST] = three;
    choices.key = PM_KEY_RESIDENT;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    assert_true(plan.choices.form == PM_FORM_THREE_VECTORS && plan.choices.key == PM_KEY_RESIDENT);
}

/* ---------------------------------------------------------------------------------------------
 * The 32 GiB sector
 * ------------------------------------------------------------------------------------------- */

static const struct pm_plan_buffer *expect_buffer(const struct pm_plan *plan, enum pm_buffer_id id,
                                                  uint64_t bytes, enum pm_step_id last) {
    const struct pm_plan_buffer *buffer = pm_plan_find(plan, id);
    assert_non_null(buffer);
    assert_true(buffer->bytes == bytes);
    assert_int_equal(plan->steps[buffer->last_step].id, last);
    return buffer;
}

static void porep_as_bellperson_hands_it_over(void **state) {
    (void)state;
    struct pm_plan_sizes sizes = pm_plan_preset_find("porep-32g")->sizes;
    struct pm_plan_device cpu;
    static struct pm_plan plan;
    struct pm_plan_choices choices = {.form = PM_FORM_THREE_VECTORS,
                                      .b2 = PM_B2_FROM_W,
                                      .vectors = PM_VECTORS_FROM_CALLER,
                                      .caller_brings_c = true,
                                      .scalars_are_lent = true,
                                      .scalars_montgomery = true};
    pm_plan_sizes_add_key(&sizes);
    pm_plan_device_cpu(8, &cpu);
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    for (int id = PM_BUFFER_CALLER_A; id <= PM_BUFFER_CALLER_C; id++) {
        expect_buffer(&plan, (enum pm_buffer_id)id, UINT64_C(4168923808), PM_STEP_LOAD_VECTORS);
    }
    expect_buffer(&plan, PM_BUFFER_A, UINT64_C(4) << 30, PM_STEP_MSM_H);
    expect_buffer(&plan, PM_BUFFER_B, UINT64_C(4) << 30, PM_STEP_QUOTIENT);
    expect_buffer(&plan, PM_BUFFER_C, UINT64_C(4) << 30, PM_STEP_QUOTIENT);
    expect_buffer(&plan, PM_BUFFER_W, UINT64_C(4165447072), PM_STEP_MSM_B2);
    assert_false(plan.steps[pm_plan_find(&plan, PM_BUFFER_W)->last_step].in_start);

    choices.b2 = PM_B2_FROM_COPY;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    expect_buffer(&plan, PM_BUFFER_W, UINT64_C(4165447072), PM_STEP_KEEP_B);
    assert_true(plan.steps[pm_plan_find(&plan, PM_BUFFER_W)->last_step].in_start);
    expect_buffer(&plan, PM_BUFFER_B_SCALARS, UINT64_C(1059593024), PM_STEP_MSM_B2);

    choices.b2 = PM_B2_IN_START;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    for (uint32_t i = 0; i < plan.n_buffers; i++) {
        assert_true(!is_held(&plan.buffers[i]) || plan.buffers[i].last_step < plan.n_start_steps ||
                    plan.buffers[i].id == PM_BUFFER_SCRATCH_VERIFY);
    }
}

static void porep_on_cards(void **state) {
    (void)state;
    struct pm_plan_sizes sizes = pm_plan_preset_find("porep-32g")->sizes;
    struct pm_plan_device card;
    static struct pm_plan plan;
    const struct pm_plan_choices choices = {.form = PM_FORM_ANY};
    pm_error error = PM_ERROR_INIT;
    pm_plan_sizes_add_key(&sizes);
    /* Key and matrices stay on 139 GiB, and nothing of the vectors is ever on the host. */
    pm_plan_device_card(UINT64_C(139) << 30, 8, &card);
    assert_int_equal(pm_plan_make(&sizes, &card, &choices, &plan, NULL), PM_OK);
    assert_int_equal(plan.choices.key, PM_KEY_RESIDENT);
    assert_int_equal(plan.choices.b2, PM_B2_IN_START);
    assert_true(plan.peak_bytes[PM_POOL_HOST] ==
                sizes.key_resident_bytes + pm_plan_find(&plan, PM_BUFFER_SCRATCH_VERIFY)->bytes);
    assert_int_equal(pm_plan_find(&plan, PM_BUFFER_A)->pool, PM_POOL_VRAM_0);
    /* 24 GiB stream the key; 12 GiB cannot. */
    pm_plan_device_card(UINT64_C(24) << 30, 8, &card);
    assert_int_equal(pm_plan_make(&sizes, &card, &choices, &plan, NULL), PM_OK);
    assert_int_equal(plan.choices.key, PM_KEY_STREAMED);
    assert_non_null(pm_plan_find(&plan, PM_BUFFER_KEY_WINDOW));
    pm_plan_device_card(UINT64_C(12) << 30, 8, &card);
    assert_int_equal(pm_plan_make(&sizes, &card, &choices, &plan, &error), PM_OVER_BUDGET);
    assert_non_null(strstr(error.message, "vram:0"));
    assert_true(error.need > error.have && error.have == UINT64_C(12) << 30);
}

/* ---------------------------------------------------------------------------------------------
 * Arguments that make no sense
 * ------------------------------------------------------------------------------------------- */

static uint64_t boundless(const struct pm_plan_device *device, enum pm_step_id step,
                          const struct pm_plan_sizes *sizes,
                          const struct pm_plan_choices *choices) {
    (void)device;
    (void)step;
    (void)sizes;
    (void)choices;
    return UINT64_MAX;
}

static void expect_refusal(const struct pm_plan_sizes *sizes, const struct pm_plan_device *device,
                           const struct pm_plan_choices *choices, pm_status expected) {
    static struct pm_plan plan;
    plan.n_steps = 77;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_plan_make(sizes, device, choices, &plan, &error), expected);
    assert_true(error.message[0] != '\0');
    assert_int_equal(plan.n_steps, 77); /* untouched */
}

static const struct pm_plan_sizes good = {.curve = PM_CURVE_BN254,
                                          .log_n = 3,
                                          .n_vars = 8,
                                          .n_inputs = 2,
                                          .n_rows = 7,
                                          .n_a = 8,
                                          .n_b = 8,
                                          .n_l = 6,
                                          .n_h = 8,
                                          .has_matrices = true};

static void sizes_without_sense_are_refused(void **state) {
    (void)state;
    const struct pm_plan_choices choices = {.form = PM_FORM_ANY};
    struct pm_plan_device cpu;
    static struct pm_plan plan;
    pm_plan_device_cpu(1, &cpu);
    assert_int_equal(pm_plan_make(&good, &cpu, &choices, &plan, NULL), PM_OK);
    const struct {
        size_t at;
        uint64_t value;
    } bad[] = {{offsetof(struct pm_plan_sizes, n_vars), UINT64_C(1) << 63},
               {offsetof(struct pm_plan_sizes, n_vars), UINT64_MAX},
               {offsetof(struct pm_plan_sizes, n_vars), 0},
               {offsetof(struct pm_plan_sizes, n_vars), 1},
               {offsetof(struct pm_plan_sizes, n_inputs), 0},
               {offsetof(struct pm_plan_sizes, n_inputs), 9},
               {offsetof(struct pm_plan_sizes, n_rows), 9},
               {offsetof(struct pm_plan_sizes, n_a), 9},
               {offsetof(struct pm_plan_sizes, n_b), UINT64_MAX},
               {offsetof(struct pm_plan_sizes, n_l), 7},
               {offsetof(struct pm_plan_sizes, n_h), 9},
               {offsetof(struct pm_plan_sizes, n_nonzeros), UINT64_MAX},
               {offsetof(struct pm_plan_sizes, key_bytes), UINT64_MAX},
               {offsetof(struct pm_plan_sizes, key_resident_bytes), UINT64_C(1) << 60}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pm_plan_sizes sizes = good;
        memcpy((char *)&sizes + bad[i].at, &bad[i].value, sizeof bad[i].value);
        expect_refusal(&sizes, &cpu, &choices, PM_INVALID_ARGUMENT);
    }
    struct pm_plan_sizes sizes = good;
    sizes.curve = (pm_curve_id)99;
    expect_refusal(&sizes, &cpu, &choices, PM_INVALID_ARGUMENT);
    sizes = good;
    sizes.reduction = (enum pm_reduction)2;
    expect_refusal(&sizes, &cpu, &choices, PM_INVALID_ARGUMENT);
}

/* The largest domains: snarkjs's coset needs a root of twice the order. */
static void domains_end_where_the_roots_do(void **state) {
    (void)state;
    const struct pm_plan_choices choices = {.form = PM_FORM_ANY};
    struct pm_plan_device cpu;
    static struct pm_plan plan;
    pm_plan_device_cpu(1, &cpu);
    const struct {
        pm_curve_id curve;
        enum pm_reduction reduction;
        uint32_t log_n_max;
    } domains[] = {{PM_CURVE_BN254, PM_REDUCTION_SNARKJS, 27},
                   {PM_CURVE_BN254, PM_REDUCTION_BELLMAN, 28},
                   {PM_CURVE_BLS12_381, PM_REDUCTION_SNARKJS, 31},
                   {PM_CURVE_BLS12_381, PM_REDUCTION_BELLMAN, 32}};
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        struct pm_plan_sizes sizes = good;
        sizes.curve = domains[i].curve;
        sizes.reduction = domains[i].reduction;
        sizes.log_n = domains[i].log_n_max;
        assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
        sizes.log_n++;
        expect_refusal(&sizes, &cpu, &choices, PM_UNSUPPORTED);
        sizes.log_n = UINT32_MAX;
        expect_refusal(&sizes, &cpu, &choices, PM_UNSUPPORTED);
    }
}

/* As many variables as are allowed at all, and a device that wants everything. */
static void nothing_wraps(void **state) {
    (void)state;
    const struct pm_plan_choices choices = {.form = PM_FORM_ANY};
    struct pm_plan_device cpu;
    static struct pm_plan plan;
    struct pm_plan_sizes sizes = good;
    pm_plan_device_cpu(1, &cpu);
    sizes.n_vars = PM_PLAN_COUNT_MAX;
    assert_int_equal(pm_plan_make(&sizes, &cpu, &choices, &plan, NULL), PM_OK);
    struct pm_plan_device greedy = cpu;
    greedy.scratch_bytes = boundless;
    expect_refusal(&good, &greedy, &choices, PM_INVALID_ARGUMENT);
}

static void choices_without_sense_are_refused(void **state) {
    (void)state;
    struct pm_plan_sizes sizes = {.curve = PM_CURVE_BLS12_381,
                                  .log_n = 3,
                                  .n_vars = 8,
                                  .n_inputs = 2,
                                  .n_rows = 7,
                                  .n_a = 8,
                                  .n_b = 5,
                                  .n_l = 6,
                                  .n_h = 8,
                                  .has_matrices = true};
    struct pm_plan_device cpu, card;
    pm_plan_device_cpu(1, &cpu);
    pm_plan_device_card(UINT64_MAX, 1, &card);
    const struct pm_plan_choices bad[] = {{.form = (enum pm_form)3},
                                          {.key = (enum pm_key_place)3},
                                          {.b2 = (enum pm_b2_place)4},
                                          {.vectors = (enum pm_vectors_from)2},
                                          {.form = PM_FORM_TWO_VECTORS}, /* rows are not in order */
                                          {.key = PM_KEY_STREAMED},      /* there is no file */
                                          {.b2 = PM_B2_FROM_W, .densities_are_lent = true},
                                          {.pending_bytes = UINT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refusal(&sizes, &cpu, &bad[i], PM_INVALID_ARGUMENT);
    }
    const struct pm_plan_choices two_arrays = {.b2 = PM_B2_FROM_W, .scalars_are_lent = true};
    expect_refusal(&sizes, &card, &two_arrays, PM_INVALID_ARGUMENT);
    sizes.has_matrices = false;
    const struct pm_plan_choices from_w = {.form = PM_FORM_ANY};
    expect_refusal(&sizes, &cpu, &from_w, PM_INVALID_ARGUMENT);
}

static void everything_has_a_name(void **state) {
    (void)state;
    for (int i = 0; i < PM_STEP_IDS; i++) {
        assert_true(strlen(pm_step_name((enum pm_step_id)i)) > 3);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(pm_step_name((enum pm_step_id)i),
                                    pm_step_name((enum pm_step_id)k));
        }
    }
    for (int i = 0; i < PM_BUFFER_IDS; i++) {
        assert_true(pm_buffer_name((enum pm_buffer_id)i)[0] != '\0');
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(pm_buffer_name((enum pm_buffer_id)i),
                                    pm_buffer_name((enum pm_buffer_id)k));
        }
    }
    assert_non_null(pm_step_name((enum pm_step_id)99));
    assert_non_null(pm_buffer_name((enum pm_buffer_id)99));
}

/* w goes up beside another proof where there is room for it twice, and in its turn where not. */
static void w_is_loaded_beside_where_there_is_room(void **state) {
    (void)state;
    struct pm_plan_device device;
    struct pm_plan plan;
    pm_error error = PM_ERROR_INIT;
    const struct pm_plan_choices choices = {
        .form = PM_FORM_TWO_VECTORS, .key = PM_KEY_RESIDENT, .b2 = PM_B2_IN_START};
    const struct pm_plan_sizes *sizes = &pm_plan_preset_find("porep-32g")->sizes;
    pm_plan_device_card(UINT64_MAX, 8, &device);
    device.loads_beside = true;
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
    const uint64_t enough = plan.peak_bytes[PM_POOL_VRAM_0] + sizes->n_vars * PM_FR_BYTES;
    for (uint64_t less = 0; less < 2; less++) {
        device.memory_bytes = enough - less;
        assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
        assert_int_equal(plan.steps[0].id, PM_STEP_LOAD_WITNESS);
        assert_true(plan.steps[0].is_beside == (less == 0));
        assert_true(plan.steps[0].in_device_lock == (less != 0));
        assert_true(pm_plan_find(&plan, PM_BUFFER_W)->in_device_lock == (less != 0));
        check_steps(&plan);
    }
}

/* The sums of a streamed key are one step, unless a and w do not fit together. */
static void sums_are_side_by_side_where_there_is_room(void **state) {
    (void)state;
    struct pm_plan_device device;
    static struct pm_plan plan;
    pm_error error = PM_ERROR_INIT;
    struct pm_plan_choices choices = {.form = PM_FORM_TWO_VECTORS,
                                      .key = PM_KEY_STREAMED,
                                      .b2 = PM_B2_IN_START,
                                      .vectors = PM_VECTORS_FROM_CALLER,
                                      .caller_brings_c = true};
    const struct pm_plan_sizes *sizes = &pm_plan_preset_find("porep-32g")->sizes;
    pm_plan_device_card(UINT64_MAX, 8, &device);
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
    const uint64_t enough = plan.peak_bytes[PM_POOL_VRAM_0];
    const uint64_t held = pm_plan_held_bytes(&plan, plan.n_start_steps - 1, PM_POOL_VRAM_0);
    assert_int_equal(plan.steps[plan.n_start_steps - 1].id, PM_STEP_MSM_ALL);
    for (uint64_t less = 0; less < 4; less++) {
        /* The device's memory, then what the proof may have of it. */
        device.memory_bytes = less < 2 ? enough - less : UINT64_MAX;
        choices.limit_bytes[PM_POOL_VRAM_0] = less < 2 ? 0 : held - less % 2;
        assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
        const bool together = plan.steps[plan.n_start_steps - 1].id == PM_STEP_MSM_ALL;
        assert_true(together == (less % 2 == 0));
        assert_true(together == (pm_plan_find(&plan, PM_BUFFER_SCRATCH_MSM_H) == NULL));
        assert_true(together || plan.peak_bytes[PM_POOL_VRAM_0] < enough);
    }
}

/* Page-locked memory that stays with a device is no proof's, but is counted against its limit. */
static void kept_staging_is_counted(void **state) {
    (void)state;
    struct pm_plan_device device;
    static struct pm_plan plan;
    pm_error error = PM_ERROR_INIT;
    struct pm_plan_choices choices = {.form = PM_FORM_TWO_VECTORS};
    const struct pm_plan_sizes *sizes = &pm_plan_preset_find("porep-32g")->sizes;
    pm_plan_device_card(UINT64_MAX, 8, &device);
    device.keeps_staging = true;
    for (int beside = 0; beside < 2; beside++) {
        device.loads_beside = beside != 0;
        const uint64_t bytes = (1 + (uint64_t)beside) * device.staging_bytes;
        choices.limit_bytes[PM_POOL_PINNED] = bytes;
        assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
        assert_true(pm_plan_find(&plan, PM_BUFFER_STAGING)->bytes == bytes);
        uint64_t held[PM_POOLS_MAX];
        pm_plan_remaining(&plan, 0, held);
        assert_int_equal(held[PM_POOL_PINNED], 0);
        choices.limit_bytes[PM_POOL_PINNED] = bytes - 1;
        assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OVER_BUDGET);
        assert_true(error.need == bytes && error.have == bytes - 1);
    }
}

/* What keys hold already is there for the plan of whoever has it. */
static void a_key_that_is_there_takes_no_more(void **state) {
    (void)state;
    struct pm_plan_device device;
    static struct pm_plan plan;
    pm_error error = PM_ERROR_INIT;
    const struct pm_plan_choices choices = {.key = PM_KEY_RESIDENT};
    const struct pm_plan_sizes *sizes = &pm_plan_preset_find("porep-32g")->sizes;
    pm_plan_device_card(UINT64_MAX, 8, &device);
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
    const uint64_t key_bytes = pm_plan_find(&plan, PM_BUFFER_KEY_DEVICE)->bytes;
    device.memory_bytes = plan.peak_bytes[PM_POOL_VRAM_0] - key_bytes;
    device.keys_bytes = 2 * key_bytes;
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OVER_BUDGET);
    assert_true(error.have == device.memory_bytes);
    device.there_bytes[PM_KEY_STREAMED] = key_bytes; /* in another way */
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OVER_BUDGET);
    device.there_bytes[PM_KEY_RESIDENT] = key_bytes;
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
    device.memory_bytes = UINT64_MAX; /* and nothing wraps */
    assert_int_equal(pm_plan_make(sizes, &device, &choices, &plan, &error), PM_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_plan_keeps_its_rules),
        cmocka_unit_test(sums_are_side_by_side_where_there_is_room),
        cmocka_unit_test(kept_staging_is_counted),
        cmocka_unit_test(a_key_that_is_there_takes_no_more),
        cmocka_unit_test(w_is_loaded_beside_where_there_is_room),
        cmocka_unit_test(limits_are_kept_or_refused),
        cmocka_unit_test(no_plan_needs_more_than_one_as_fast),
        cmocka_unit_test(a_copy_of_b_is_not_taken_for_lean),
        cmocka_unit_test(the_leanest_need_is_enough),
        cmocka_unit_test(less_room_gives_a_leaner_plan),
        cmocka_unit_test(porep_as_bellperson_hands_it_over),
        cmocka_unit_test(porep_on_cards),
        cmocka_unit_test(sizes_without_sense_are_refused),
        cmocka_unit_test(domains_end_where_the_roots_do),
        cmocka_unit_test(nothing_wraps),
        cmocka_unit_test(choices_without_sense_are_refused),
        cmocka_unit_test(everything_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
