/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan_layout.h"

#include "base/budget.h"
#include "base/limits.h"
#include "groth16/density.h"
#include "groth16/plan_share.h"
#include "groth16/verify.h"

#define STEP(id) (UINT32_C(1) << (id))
_Static_assert(PM_STEP_IDS <= 32, "a set of steps is one word");
#define ALL_STEPS UINT32_MAX

/* The queries' sums, the quotient, and the steps of a streamed key: sets of steps. */
#define MSMS_OF_W                                                                                  \
    (STEP(PM_STEP_MSM_A) | STEP(PM_STEP_MSM_B1) | STEP(PM_STEP_MSM_L) | STEP(PM_STEP_MSM_ALL))
#define MSMS_OF_H (STEP(PM_STEP_MSM_H) | STEP(PM_STEP_MSM_ALL))
#define QUOTIENT_STEPS                                                                             \
    (STEP(PM_STEP_QUOTIENT) | STEP(PM_STEP_COSET_PRODUCT) | STEP(PM_STEP_QUOTIENT_OF_C))

/* A plan while it is made, and what follows from its choices. */
struct layout {
    struct pm_plan *plan;
    const struct pm_plan_device *device;
    bool from_w, two_vectors, streamed;
    bool copies_w;  /* there is a w */
    bool beside;    /* and it is loaded before the device is held */
    bool together;  /* the device's sums are one step */
    bool sums_w;    /* it makes a sum over w */
    bool is_part;   /* and nothing else: another device makes the rest of the proof */
    bool b2_on_cpu; /* although the plan is for a device */
};

/* ---------------------------------------------------------------------------------------------
 * Steps
 * ------------------------------------------------------------------------------------------- */

static void add_step(struct layout *layout, enum pm_step_id id, bool on_cpu) {
    struct pm_plan *plan = layout->plan;
    const bool in_start = plan->n_start_steps == 0;
    const bool is_beside = layout->beside && id == PM_STEP_LOAD_WITNESS;
    plan->steps[plan->n_steps++] = (struct pm_plan_step){
        .id = id,
        .in_start = in_start,
        .in_device_lock = layout->device->own_memory && in_start && !on_cpu && !is_beside,
        .is_beside = is_beside,
        .on_cpu = layout->device->own_memory && on_cpu,
    };
}

static bool makes(const struct layout *layout, enum pm_shared_sum sum) {
    const struct pm_plan_share *share = &layout->plan->sizes.share;
    return !share->is_cut || share->points[sum].n != 0;
}

/* a, b and c until only h is left, and its sum. */
static void add_quotient_steps(struct layout *layout) {
    if (layout->from_w) {
        if (layout->copies_w) {
            add_step(layout, PM_STEP_LOAD_WITNESS, false);
        }
        add_step(layout, PM_STEP_PRODUCTS, false);
    } else {
        add_step(layout, PM_STEP_LOAD_VECTORS, false);
    }
    if (layout->two_vectors) {
        add_step(layout, PM_STEP_COSET_PRODUCT, false);
        add_step(layout, PM_STEP_RECOMPUTE_C, false);
        add_step(layout, PM_STEP_QUOTIENT_OF_C, false);
    } else {
        add_step(layout, PM_STEP_QUOTIENT, false);
    }
    if (!layout->together) {
        add_step(layout, PM_STEP_MSM_H, false);
    }
}

/* Over w, but for B2, and h's where it is made beside them. */
static void add_sum_steps(struct layout *layout) {
    if (layout->copies_w && layout->sums_w && (!layout->from_w || layout->is_part)) {
        add_step(layout, PM_STEP_LOAD_WITNESS, false);
    }
    if (layout->device->classifies && layout->sums_w) {
        add_step(layout, PM_STEP_CLASSIFY, false);
    }
    if (layout->together) {
        add_step(layout, PM_STEP_MSM_ALL, false);
        return;
    }
    if (makes(layout, PM_SHARED_A)) {
        add_step(layout, PM_STEP_MSM_A, false);
    }
    if (makes(layout, PM_SHARED_B1)) {
        add_step(layout, PM_STEP_MSM_B1, false);
    }
    if (makes(layout, PM_SHARED_L)) {
        add_step(layout, PM_STEP_MSM_L, false);
    }
}

static void add_steps(struct layout *layout) {
    struct pm_plan *plan = layout->plan;
    const struct pm_plan_device *device = layout->device;
    const bool keeps_b = plan->choices.b2 == PM_B2_FROM_COPY;
    if (keeps_b && device->own_memory) {
        /* Outside the lock, and before anything large is on the device: only the upload of w then
         * stands between the caller and its arrays. */
        add_step(layout, PM_STEP_KEEP_B, true);
    }
    if (!layout->is_part) {
        add_quotient_steps(layout);
    }
    add_sum_steps(layout);
    if (keeps_b && !device->own_memory) {
        add_step(layout, PM_STEP_KEEP_B, false);
    }
    if (plan->choices.b2 == PM_B2_IN_START && makes(layout, PM_SHARED_B2) &&
        (!layout->together || layout->b2_on_cpu)) {
        add_step(layout, PM_STEP_MSM_B2, layout->b2_on_cpu);
    }
    plan->n_start_steps = plan->n_steps;
    if (layout->is_part) {
        return;
    }
    if (plan->choices.b2 != PM_B2_IN_START) {
        add_step(layout, PM_STEP_MSM_B2, true);
    }
    add_step(layout, PM_STEP_ASSEMBLY, true);
    if (!plan->choices.no_self_verify) {
        add_step(layout, PM_STEP_SELF_VERIFY, true);
    }
}

/* ---------------------------------------------------------------------------------------------
 * Who uses what
 * ------------------------------------------------------------------------------------------- */

/* Steps that read all scalars, from w or, where there is none, from the pm_witness itself. */
static uint32_t readers_of_w(const struct layout *layout) {
    uint32_t steps = MSMS_OF_W | STEP(PM_STEP_CLASSIFY);
    if (layout->from_w) {
        steps |= STEP(PM_STEP_PRODUCTS) | STEP(PM_STEP_RECOMPUTE_C);
    }
    if (!layout->device->own_memory) {
        steps |= STEP(PM_STEP_KEEP_B);
    }
    if (layout->plan->choices.b2 != PM_B2_FROM_COPY && !layout->b2_on_cpu) {
        steps |= STEP(PM_STEP_MSM_B2);
    }
    return steps;
}

static uint32_t readers_of_lent_scalars(const struct layout *layout) {
    if (!layout->copies_w) {
        return readers_of_w(layout);
    }
    uint32_t steps = STEP(PM_STEP_LOAD_WITNESS);
    if (layout->device->own_memory) {
        steps |= STEP(PM_STEP_KEEP_B);
        if (layout->b2_on_cpu && layout->plan->choices.b2 != PM_B2_FROM_COPY) {
            steps |= STEP(PM_STEP_MSM_B2);
        }
    }
    return steps;
}

/* Without the caller's c, two vectors need a and b once more when theirs are used up. */
static uint32_t readers_of_lent_vector(const struct layout *layout, enum pm_buffer_id id) {
    const bool brings_c = layout->plan->choices.caller_brings_c;
    if (id == PM_BUFFER_CALLER_C) {
        return layout->two_vectors ? STEP(PM_STEP_RECOMPUTE_C) : STEP(PM_STEP_LOAD_VECTORS);
    }
    return STEP(PM_STEP_LOAD_VECTORS) |
           (layout->two_vectors && !brings_c ? STEP(PM_STEP_RECOMPUTE_C) : 0);
}

/* Of c on its own: it is made from a and b unless it is loaded or C w. */
static uint32_t users_of_c(const struct layout *layout) {
    const struct pm_plan *plan = layout->plan;
    uint32_t steps = STEP(PM_STEP_QUOTIENT);
    if (!layout->from_w && plan->choices.caller_brings_c) {
        steps |= STEP(PM_STEP_LOAD_VECTORS);
    }
    if (layout->from_w && plan->sizes.reduction == PM_REDUCTION_BELLMAN) {
        steps |= STEP(PM_STEP_PRODUCTS);
    }
    return steps;
}

/* Steps on the device that read a matrix, or a query. */
static uint32_t readers_of_matrices(const struct layout *layout) {
    return layout->from_w ? STEP(PM_STEP_PRODUCTS) | STEP(PM_STEP_RECOMPUTE_C) : 0;
}

static uint32_t readers_of_points(const struct layout *layout) {
    return MSMS_OF_W | MSMS_OF_H | (layout->b2_on_cpu ? 0 : STEP(PM_STEP_MSM_B2));
}

static uint32_t users_of_staging(const struct layout *layout) {
    uint32_t steps = STEP(PM_STEP_LOAD_WITNESS) | STEP(PM_STEP_LOAD_VECTORS);
    if (!layout->from_w) {
        steps |= STEP(PM_STEP_RECOMPUTE_C);
    }
    if (layout->device->stages_sums) {
        steps |= readers_of_points(layout);
    }
    return steps | (layout->streamed ? readers_of_matrices(layout) | readers_of_points(layout) : 0);
}

/* ---------------------------------------------------------------------------------------------
 * Buffers
 * ------------------------------------------------------------------------------------------- */

/* From here on base/memory.c maps a block of its own; secrets it maps always. */
#define MAPPED_FROM_BYTES (256u * 1024u)

static uint32_t mechanism_of(const struct layout *layout, const struct pm_plan_buffer *buffer) {
    const uint32_t of_device = layout->device->mechanism;
    switch (buffer->pool) {
    case PM_POOL_HOST:
        return buffer->secret || buffer->bytes >= MAPPED_FROM_BYTES ? PM_BY_MMAP : PM_BY_HEAP;
    case PM_POOL_FILE:
        return PM_BY_FILE_MAPPING;
    case PM_POOL_CALLER:
        return PM_BY_CALLER;
    case PM_POOL_PINNED:
        return of_device == PM_BY_FAKE ? PM_BY_FAKE : PM_BY_HOST_ALLOC;
    default:
        return of_device == PM_BY_STREAM_ORDER && buffer->lifetime == PM_LIFETIME_RESIDENT
                   ? PM_BY_DEVICE_ALLOC
                   : of_device;
    }
}

/* From the first to the last step that uses it; what is lent or resident is there from the start,
 * and what is resident to the end. */
static void set_steps(const struct pm_plan *plan, uint32_t users, struct pm_plan_buffer *buffer) {
    bool used = false;
    buffer->first_step = 0;
    buffer->last_step = 0;
    for (uint16_t i = 0; i < plan->n_steps; i++) {
        if ((users & STEP(plan->steps[i].id)) == 0) {
            continue;
        }
        if (!used && buffer->pool != PM_POOL_CALLER) {
            buffer->first_step = i;
        }
        used = true;
        buffer->last_step = i;
    }
    buffer->last_reader = buffer->last_step;
    if (buffer->lifetime == PM_LIFETIME_RESIDENT || buffer->pool == PM_POOL_CALLER) {
        return;
    }
    const bool one_step = buffer->first_step == buffer->last_step;
    buffer->lifetime = one_step ? PM_LIFETIME_STEP : PM_LIFETIME_PROOF;
    buffer->in_device_lock = plan->steps[buffer->first_step].in_device_lock &&
                             plan->steps[buffer->last_step].in_device_lock;
}

static void add_buffer(struct layout *layout, enum pm_buffer_id id, uint64_t bytes, uint32_t pool,
                       uint32_t users) {
    struct pm_plan *plan = layout->plan;
    uint32_t present = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        present |= STEP(plan->steps[i].id);
    }
    if (bytes == 0 || (users & present) == 0) {
        return;
    }
    const bool is_resident = id == PM_BUFFER_KEY_FILE || id == PM_BUFFER_KEY_HOST ||
                             id == PM_BUFFER_KEY_DEVICE ||
                             (id == PM_BUFFER_STAGING && layout->device->keeps_staging);
    const bool is_public = id == PM_BUFFER_KEY_FILE || id == PM_BUFFER_KEY_HOST ||
                           id == PM_BUFFER_KEY_DEVICE || id == PM_BUFFER_KEY_WINDOW ||
                           id == PM_BUFFER_MATRIX_WINDOW || id == PM_BUFFER_DENSITIES;
    struct pm_plan_buffer buffer = {
        .id = id,
        .bytes = bytes,
        .pool = pool,
        .lifetime = is_resident ? PM_LIFETIME_RESIDENT : PM_LIFETIME_PROOF,
        .secret = !is_public && pool != PM_POOL_CALLER,
    };
    set_steps(plan, users, &buffer);
    buffer.mechanism = mechanism_of(layout, &buffer);
    plan->buffers[plan->n_buffers++] = buffer;
}

static void add_lent_buffers(struct layout *layout) {
    const struct pm_plan_sizes *sizes = &layout->plan->sizes;
    const uint32_t scalars = readers_of_lent_scalars(layout);
    add_buffer(layout, PM_BUFFER_CALLER_INPUTS, sizes->n_inputs * PM_FR_BYTES, PM_POOL_CALLER,
               scalars);
    add_buffer(layout, PM_BUFFER_CALLER_AUX, (sizes->n_vars - sizes->n_inputs) * PM_FR_BYTES,
               PM_POOL_CALLER, scalars);
    if (layout->from_w) {
        return;
    }
    for (int id = PM_BUFFER_CALLER_A; id <= PM_BUFFER_CALLER_C; id++) {
        if (id != PM_BUFFER_CALLER_C || layout->plan->choices.caller_brings_c) {
            add_buffer(layout, (enum pm_buffer_id)id, sizes->n_rows * PM_FR_BYTES, PM_POOL_CALLER,
                       readers_of_lent_vector(layout, (enum pm_buffer_id)id));
        }
    }
}

static void add_key_buffers(struct layout *layout) {
    struct pm_plan *plan = layout->plan;
    const struct pm_plan_device *device = layout->device;
    const struct pm_plan_sizes *sizes = &plan->sizes;
    uint64_t file_bytes = sizes->key_bytes;
    uint64_t window_bytes = 0;
    if (layout->streamed && device->window_bytes != NULL) {
        window_bytes = device->window_bytes(device, sizes, &plan->choices);
    }
    if (layout->streamed && !device->own_memory && window_bytes < file_bytes) {
        file_bytes = window_bytes;
    }
    if (!layout->is_part) { /* what the host holds of the key it holds once */
        add_buffer(layout, PM_BUFFER_KEY_FILE, file_bytes, PM_POOL_FILE, ALL_STEPS);
        add_buffer(layout, PM_BUFFER_KEY_HOST, sizes->key_resident_bytes, PM_POOL_HOST, ALL_STEPS);
    }
    if (!device->own_memory) {
        return;
    }
    if (device->key_bytes != NULL) {
        add_buffer(layout, PM_BUFFER_KEY_DEVICE,
                   device->key_bytes(device, sizes, plan->choices.key), device->pool, ALL_STEPS);
    }
    uint32_t users = readers_of_points(layout);
    if (device->matrix_window_bytes == NULL) {
        users |= readers_of_matrices(layout);
    } else if (layout->streamed) {
        add_buffer(layout, PM_BUFFER_MATRIX_WINDOW,
                   device->matrix_window_bytes(device, sizes, &plan->choices), device->pool,
                   readers_of_matrices(layout));
    }
    add_buffer(layout, PM_BUFFER_KEY_WINDOW, window_bytes, device->pool, users);
    const uint64_t n_stagings = device->keeps_staging && layout->beside ? 2 : 1;
    add_buffer(layout, PM_BUFFER_STAGING, n_stagings * device->staging_bytes, PM_POOL_PINNED,
               device->keeps_staging ? ALL_STEPS : users_of_staging(layout));
    if (device->packed_bytes != NULL) {
        add_buffer(layout, PM_BUFFER_PACKED, device->packed_bytes(device, sizes), device->pool,
                   STEP(PM_STEP_LOAD_WITNESS));
    }
}

static uint32_t steps_of_start(const struct layout *layout) {
    uint32_t steps = 0;
    for (uint32_t i = 0; i < layout->plan->n_start_steps; i++) {
        steps |= STEP(layout->plan->steps[i].id);
    }
    return steps;
}

static void add_proof_buffers(struct layout *layout) {
    struct pm_plan *plan = layout->plan;
    const struct pm_plan_device *device = layout->device;
    const struct pm_plan_sizes *sizes = &plan->sizes;
    const uint64_t vector_bytes = (UINT64_C(1) << sizes->log_n) * PM_FR_BYTES;
    const uint32_t until_h = STEP(PM_STEP_LOAD_VECTORS) | STEP(PM_STEP_PRODUCTS) | QUOTIENT_STEPS;
    add_buffer(layout, PM_BUFFER_PENDING, plan->choices.pending_bytes, PM_POOL_HOST, ALL_STEPS);
    if (plan->choices.densities_are_lent) {
        add_buffer(layout, PM_BUFFER_DENSITIES, 2 * pm_density_bytes(sizes->n_vars), PM_POOL_HOST,
                   steps_of_start(layout));
    }
    if (layout->copies_w) {
        add_buffer(layout, PM_BUFFER_W, sizes->n_vars * PM_FR_BYTES, device->pool,
                   readers_of_w(layout) | STEP(PM_STEP_LOAD_WITNESS));
    }
    if (!layout->is_part) {
        add_buffer(layout, PM_BUFFER_A, vector_bytes, device->pool, until_h | MSMS_OF_H);
        add_buffer(layout, PM_BUFFER_B, vector_bytes, device->pool,
                   until_h | STEP(PM_STEP_RECOMPUTE_C));
    }
    if (!layout->two_vectors && !layout->is_part) {
        add_buffer(layout, PM_BUFFER_C, vector_bytes, device->pool, users_of_c(layout));
    }
    if (device->classifies && device->classes_bytes != NULL) {
        add_buffer(layout, PM_BUFFER_CLASSES, device->classes_bytes(device, sizes), device->pool,
                   MSMS_OF_W | STEP(PM_STEP_CLASSIFY) |
                       (layout->b2_on_cpu ? 0 : STEP(PM_STEP_MSM_B2)));
    }
    if (plan->choices.b2 == PM_B2_FROM_COPY) {
        add_buffer(layout, PM_BUFFER_B_SCALARS, sizes->n_b * PM_FR_BYTES, PM_POOL_HOST,
                   STEP(PM_STEP_KEEP_B) | STEP(PM_STEP_MSM_B2));
    }
}

static bool has_step(const struct pm_plan *plan, enum pm_step_id id) {
    uint32_t i = 0;
    while (i < plan->n_steps && plan->steps[i].id != id) {
        ++i;
    }
    return i < plan->n_steps;
}

static uint64_t scratch_of(const struct layout *layout, enum pm_step_id step) {
    const struct pm_plan_device *device = layout->device;
    return device->scratch_bytes == NULL
               ? 0
               : device->scratch_bytes(device, step, &layout->plan->sizes, &layout->plan->choices);
}

static void add_scratch_buffers(struct layout *layout) {
    static const struct {
        enum pm_buffer_id buffer;
        enum pm_step_id step;
    } sums[] = {
        {PM_BUFFER_SCRATCH_MSM_H, PM_STEP_MSM_H},     {PM_BUFFER_SCRATCH_MSM_A, PM_STEP_MSM_A},
        {PM_BUFFER_SCRATCH_MSM_B1, PM_STEP_MSM_B1},   {PM_BUFFER_SCRATCH_MSM_L, PM_STEP_MSM_L},
        {PM_BUFFER_SCRATCH_MSM_ALL, PM_STEP_MSM_ALL}, {PM_BUFFER_SCRATCH_MSM_B2, PM_STEP_MSM_B2}};
    const enum pm_step_id of_quotient[] = {PM_STEP_QUOTIENT, PM_STEP_COSET_PRODUCT,
                                           PM_STEP_RECOMPUTE_C, PM_STEP_QUOTIENT_OF_C};
    uint64_t most = 0;
    uint32_t users = 0;
    for (size_t i = layout->two_vectors ? 1 : 0; i < (layout->two_vectors ? 4 : 1); i++) {
        const uint64_t bytes = scratch_of(layout, of_quotient[i]);
        most = bytes > most ? bytes : most;
        users |= bytes != 0 ? STEP(of_quotient[i]) : 0;
    }
    add_buffer(layout, PM_BUFFER_SCRATCH_H, most, layout->device->pool, users);
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        const bool on_cpu = sums[i].step == PM_STEP_MSM_B2 && layout->b2_on_cpu;
        if (has_step(layout->plan, sums[i].step)) {
            add_buffer(layout, sums[i].buffer, scratch_of(layout, sums[i].step),
                       on_cpu ? PM_POOL_HOST : layout->device->pool, STEP(sums[i].step));
        }
    }
    const struct pm_plan_sizes *sizes = &layout->plan->sizes;
    add_buffer(layout, PM_BUFFER_SCRATCH_VERIFY,
               pm_groth16_verify_bytes(sizes->curve, sizes->n_inputs - 1, layout->device->threads),
               PM_POOL_HOST, STEP(PM_STEP_SELF_VERIFY));
}

/* ---------------------------------------------------------------------------------------------
 * The curve
 * ------------------------------------------------------------------------------------------- */

static void draw_curve(struct pm_plan *plan) {
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        const struct pm_plan_buffer *buffer = &plan->buffers[i];
        for (uint32_t step = buffer->first_step; step <= buffer->last_step; step++) {
            uint64_t *live_bytes = &plan->live_bytes[step][buffer->pool];
            *live_bytes += buffer->bytes;
            if (*live_bytes > plan->peak_bytes[buffer->pool]) {
                plan->peak_bytes[buffer->pool] = *live_bytes;
            }
        }
    }
}

/* beside: w is loaded before the device is held, if it is the first that the device is asked for.
 * together: the device's sums are made side by side, if their key is streamed. */
static pm_status lay_out(struct pm_plan *plan, const struct pm_plan_device *device, bool beside,
                         bool together, pm_error *error) {
    const struct pm_plan_sizes sizes = plan->sizes;
    const struct pm_plan_choices choices = plan->choices;
    *plan = (struct pm_plan){.sizes = sizes,
                             .choices = choices,
                             .device_name = device->name,
                             .device_pool = device->pool,
                             .threads = device->threads};
    struct layout layout = {
        .plan = plan,
        .device = device,
        .from_w = choices.vectors == PM_VECTORS_FROM_W,
        .two_vectors = choices.form == PM_FORM_TWO_VECTORS,
        .streamed = choices.key == PM_KEY_STREAMED,
        .copies_w = device->own_memory || choices.scalars_are_lent,
        .beside = beside && device->own_memory &&
                  (choices.vectors == PM_VECTORS_FROM_W || sizes.share.is_further),
        .together = together && choices.key == PM_KEY_STREAMED && device->own_memory &&
                    pm_plan_share_has_sums(&sizes.share),
        .sums_w = pm_plan_share_has_sums(&sizes.share),
        .is_part = sizes.share.is_further,
        .b2_on_cpu = device->own_memory && (choices.b2 != PM_B2_IN_START || !device->b2_on_device),
    };
    add_steps(&layout);
    add_lent_buffers(&layout);
    add_key_buffers(&layout);
    add_proof_buffers(&layout);
    add_scratch_buffers(&layout);
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        PM_FAIL_IF(plan->buffers[i].bytes > PM_PLAN_BYTES_MAX, error, PM_INVALID_ARGUMENT,
                   "%s would need %llu bytes, which no machine has",
                   pm_buffer_name(plan->buffers[i].id), (unsigned long long)plan->buffers[i].bytes);
    }
    draw_curve(plan);
    return PM_OK;
}

/* more_bytes: of somebody else's, beside all that the plan has. */
static bool fits_with(const struct pm_plan *plan, const struct pm_plan_device *device,
                      uint64_t more_bytes) {
    const uint64_t bound = pm_plan_device_bytes(device, plan->choices.key);
    const uint64_t peak_bytes = plan->peak_bytes[device->pool];
    return peak_bytes <= bound && more_bytes <= bound - peak_bytes;
}

static bool keeps_limit(const struct pm_plan *plan, uint32_t pool) {
    const uint64_t limit = plan->choices.limit_bytes[pool];
    uint64_t held[PM_POOLS_MAX];
    pm_plan_remaining(plan, 0, held);
    return limit == 0 || limit == PM_BUDGET_UNLIMITED || held[pool] <= limit;
}

/* One proof has the device and all that its plan says; a second one may hold w beside it. Sums side
 * by side save more time than that. */
pm_status pm_plan_lay_out(struct pm_plan *plan, const struct pm_plan_device *device,
                          pm_error *error) {
    const bool beside = device->loads_beside;
    PM_TRY(lay_out(plan, device, beside, device->sums_together, error));
    bool together = has_step(plan, PM_STEP_MSM_ALL);
    if (together && (!fits_with(plan, device, 0) || !keeps_limit(plan, device->pool))) {
        together = false;
        PM_TRY(lay_out(plan, device, beside, together, error));
    }
    return beside && !fits_with(plan, device, pm_plan_beside_bytes(plan))
               ? lay_out(plan, device, false, together, error)
               : PM_OK;
}
