/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_plan_json.c - a plan, and the plans beside it, as JSON. */
#include "cli/cli_plan.h"

#include <string.h>

static json_t *number(uint64_t value) {
    return json_integer((json_int_t)value);
}

static json_t *circuit_json(const struct pm_cli *cli, const struct pm_cli_planning *planning,
                            const pm_proof_plan *plan) {
    pm_circuit_sizes sizes = {.struct_bytes = (uint32_t)sizeof sizes};
    (void)pm_proof_plan_sizes(plan, &sizes);
    json_t *json = json_object(), *nonzeros = json_array();
    if (planning->name != NULL) {
        (void)json_object_set_new(json, "name", json_string(planning->name));
        (void)json_object_set_new(json, "title", json_string(planning->title));
    } else if (cli->sizes_text == NULL) {
        (void)json_object_set_new(json, "key", pm_cli_json_string(cli->files[PM_ROLE_ZKEY]));
    }
    (void)json_object_set_new(json, "curve", json_string(pm_curve_name((pm_curve_id)sizes.curve)));
    (void)json_object_set_new(
        json, "reduction",
        json_string(sizes.reduction == PM_REDUCTION_KIND_BELLMAN ? "bellman" : "snarkjs"));
    (void)json_object_set_new(json, "log_n", number(sizes.log_n));
    (void)json_object_set_new(json, "n_vars", number(sizes.n_vars));
    (void)json_object_set_new(json, "n_inputs", number(sizes.n_inputs));
    (void)json_object_set_new(json, "n_rows", number(sizes.n_rows));
    (void)json_object_set_new(json, "n_a", number(sizes.n_a));
    (void)json_object_set_new(json, "n_b", number(sizes.n_b));
    (void)json_object_set_new(json, "n_l", number(sizes.n_l));
    (void)json_object_set_new(json, "n_h", number(sizes.n_h));
    for (size_t i = 0; i < 3; i++) {
        (void)json_array_append_new(nonzeros, number(sizes.n_nonzeros[i]));
    }
    (void)json_object_set_new(json, "n_nonzeros", nonzeros);
    (void)json_object_set_new(json, "key_file_bytes", number(pm_proof_plan_file_bytes(plan)));
    return json;
}

static const char *const form_names[] = {"any", "three", "two"};
static const char *const residency_names[] = {"any", "keep", "stream"};
static const char *const b2_names[] = {"any", "start", "later", "copy"};

static json_t *choices_json(const pm_plan_options *choices) {
    return json_pack("{s:s,s:s,s:s,s:s}", "form", form_names[choices->form % 3], "residency",
                     residency_names[choices->residency % 3], "b2", b2_names[choices->b2 % 4],
                     "vectors", choices->caller_vectors != 0 ? "caller" : "witness");
}

static json_t *steps_json(const pm_proof_plan *plan) {
    json_t *steps = json_array();
    pm_planned_step step;
    for (uint32_t i = 0; pm_proof_plan_step(plan, i, &step) == PM_OK; i++) {
        (void)json_array_append_new(
            steps, json_pack("{s:i,s:s,s:s,s:s,s:b,s:b}", "step", (int)i + 1, "name", step.name,
                             "half", step.in_start != 0 ? "start" : "finish", "on",
                             step.on_cpu != 0 ? "cpu" : "device", "in_device_lock",
                             (int)step.in_device_lock, "beside", (int)step.is_beside));
    }
    return steps;
}

static json_t *buffers_json(const pm_proof_plan *plan) {
    json_t *buffers = json_array();
    pm_planned_buffer buffer;
    for (uint32_t i = 0; pm_proof_plan_buffer(plan, i, &buffer) == PM_OK; i++) {
        (void)json_array_append_new(
            buffers,
            json_pack("{s:s,s:I,s:s,s:s,s:s,s:i,s:i,s:b,s:b}", "buffer", buffer.name, "bytes",
                      (json_int_t)buffer.bytes, "pool", buffer.pool, "mechanism", buffer.mechanism,
                      "lifetime", buffer.lifetime, "first_step", (int)buffer.first_step + 1,
                      "last_step", (int)buffer.last_step + 1, "in_device_lock",
                      (int)buffer.in_device_lock, "secret", (int)buffer.secret));
    }
    return buffers;
}

static json_t *pools_json(const pm_proof_plan *plan) {
    json_t *pools = json_array();
    const char *name;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        json_t *live = json_array(), *held = json_array();
        const uint64_t peak_bytes = pm_proof_plan_peak_bytes(plan, i);
        uint32_t peak_step = 0;
        for (uint32_t step = pm_proof_plan_n_steps(plan); step-- > 0;) {
            peak_step = pm_proof_plan_live_bytes(plan, i, step) == peak_bytes ? step : peak_step;
        }
        for (uint32_t step = 0; step < pm_proof_plan_n_steps(plan); step++) {
            (void)json_array_append_new(live, number(pm_proof_plan_live_bytes(plan, i, step)));
            (void)json_array_append_new(held, number(pm_proof_plan_held_bytes(plan, i, step)));
        }
        (void)json_array_append_new(pools, json_pack("{s:s,s:I,s:i,s:o,s:o}", "pool", name,
                                                     "peak_bytes", (json_int_t)peak_bytes,
                                                     "peak_step", (int)peak_step + 1, "live_bytes",
                                                     live, "held_bytes", held));
    }
    return pools;
}

/* ---------------------------------------------------------------------------------------------
 * What each choice changes
 * ------------------------------------------------------------------------------------------- */

/* The most that the proof itself holds of pools of one kind, or that is lent to it. */
static uint64_t most_bytes(const pm_proof_plan *plan, const char *kind) {
    const bool lent = strcmp(kind, "caller") == 0;
    uint64_t most = 0;
    const char *name;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        for (uint32_t step = 0;
             strncmp(name, kind, strlen(kind)) == 0 && step < pm_proof_plan_n_steps(plan); step++) {
            const uint64_t bytes = lent ? pm_proof_plan_live_bytes(plan, i, step)
                                        : pm_proof_plan_held_bytes(plan, i, step);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* What one pool holds for this proof when start has returned and finish has not begun. */
static uint64_t between_bytes(const pm_proof_plan *plan, const char *pool) {
    pm_planned_step step;
    uint32_t n_start = 0;
    while (pm_proof_plan_step(plan, n_start, &step) == PM_OK && step.in_start != 0) {
        n_start++;
    }
    uint64_t bytes = 0;
    pm_planned_buffer buffer;
    for (uint32_t i = 0; pm_proof_plan_buffer(plan, i, &buffer) == PM_OK; i++) {
        if (strcmp(buffer.pool, pool) == 0 && strcmp(buffer.lifetime, "resident") != 0 &&
            buffer.first_step < n_start && buffer.last_step >= n_start) {
            bytes += buffer.bytes;
        }
    }
    return bytes;
}

static json_t *row_json(const char *choice, const pm_proof_plan *plan) {
    return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "choice", choice, "host_bytes",
                     (json_int_t)most_bytes(plan, "host"), "device_bytes",
                     (json_int_t)most_bytes(plan, "vram"), "key_file_pages_bytes",
                     (json_int_t)pm_cli_plan_file_pages(plan), "lent_bytes",
                     (json_int_t)most_bytes(plan, "caller"), "between_host_bytes",
                     (json_int_t)between_bytes(plan, "host"), "between_lent_bytes",
                     (json_int_t)between_bytes(plan, "caller"));
}

uint64_t pm_cli_plan_file_pages(const pm_proof_plan *plan) {
    const char *name;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        if (strcmp(name, "file") == 0) {
            return pm_proof_plan_peak_bytes(plan, i);
        }
    }
    return 0;
}

uint64_t pm_cli_plan_lent_bytes(const pm_proof_plan *plan) {
    return most_bytes(plan, "caller");
}

static void add_row(struct pm_cli *cli, const struct pm_cli_planning *planning, json_t *rows,
                    const char *choice, const pm_plan_options *options) {
    pm_proof_plan *plan = NULL;
    pm_error error = PM_ERROR_INIT;
    if (pm_cli_plan_make(cli, planning, options, &plan, &error) == PM_OK) {
        (void)json_array_append_new(rows, row_json(choice, plan));
    } else {
        (void)json_array_append_new(
            rows, json_pack("{s:s,s:s}", "choice", choice, "impossible", error.message));
    }
    pm_proof_plan_destroy(plan);
}

/* Each choice made otherwise, the others as they are and no limit set. */
static json_t *alternatives_json(struct pm_cli *cli, const struct pm_cli_planning *planning,
                                 const pm_proof_plan *plan, const pm_plan_options *choices) {
    static const char *const forms[] = {NULL, "three vectors", "two vectors"};
    static const char *const residencies[] = {NULL, "the key stays", "the key is streamed"};
    static const char *const b2s[] = {NULL, "B2 in start", "B2 later, from the witness",
                                      "B2 later, from a copy"};
    json_t *rows = json_array();
    pm_plan_options base = *choices;
    base.device = planning->options.device;
    base.threads = planning->options.threads;
    base.memory_bytes = 0;
    base.all_devices = planning->options.all_devices;
    (void)json_array_append_new(rows, row_json("this plan", plan));
    for (uint32_t form = 1; form <= 2; form++) {
        pm_plan_options other = base;
        other.form = form;
        if (form != base.form) {
            add_row(cli, planning, rows, forms[form], &other);
        }
    }
    for (uint32_t residency = 1; residency <= 2; residency++) {
        pm_plan_options other = base;
        other.residency = residency;
        if (residency != base.residency) {
            add_row(cli, planning, rows, residencies[residency], &other);
        }
    }
    for (uint32_t b2 = 1; b2 <= 3; b2++) {
        pm_plan_options other = base;
        other.b2 = b2;
        if (b2 != base.b2) {
            add_row(cli, planning, rows, b2s[b2], &other);
        }
    }
    if (planning->lacks_matrices) {
        return rows;
    }
    pm_plan_options other = base;
    other.caller_vectors = base.caller_vectors == 0;
    other.caller_scalars = other.caller_vectors != 0 ? PM_CLI_SCALARS_MONTGOMERY : 0;
    other.b2 = PM_B2_SCHEDULE_ANY; /* not each of them goes with lent scalars */
    add_row(cli, planning, rows,
            other.caller_vectors != 0 ? "a, b, c and scalars are lent"
                                      : "a, b, c made from a witness",
            &other);
    return rows;
}

/* ---------------------------------------------------------------------------------------------
 * All of it
 * ------------------------------------------------------------------------------------------- */

/* What is the same of a device's own plan and of the whole. */
static void add_plan(json_t *json, const pm_proof_plan *plan) {
    pm_plan_options choices = {.struct_bytes = (uint32_t)sizeof choices};
    (void)pm_proof_plan_choices(plan, &choices);
    (void)json_object_set_new(json, "choices", choices_json(&choices));
    (void)json_object_set_new(json, "why", json_string(pm_proof_plan_why(plan)));
    (void)json_object_set_new(json, "steps", steps_json(plan));
    (void)json_object_set_new(json, "buffers", buffers_json(plan));
    (void)json_object_set_new(json, "pools", pools_json(plan));
}

/* Of the further devices. */
static json_t *parts_json(const pm_proof_plan *plan) {
    json_t *parts = json_array();
    for (uint32_t i = 0; i < pm_proof_plan_n_parts(plan); i++) {
        const pm_proof_plan *part = pm_proof_plan_part(plan, i);
        pm_plan_options choices = {.struct_bytes = (uint32_t)sizeof choices};
        json_t *json = json_object();
        (void)pm_proof_plan_choices(part, &choices);
        (void)json_object_set_new(json, "device", json_string(choices.device));
        add_plan(json, part);
        (void)json_array_append_new(parts, json);
    }
    return parts;
}

json_t *pm_cli_plan_json(struct pm_cli *cli, const struct pm_cli_planning *planning,
                         const pm_proof_plan *plan) {
    pm_plan_options choices = {.struct_bytes = (uint32_t)sizeof choices};
    (void)pm_proof_plan_choices(plan, &choices);
    json_t *json = json_object();
    (void)json_object_set_new(json, "circuit", circuit_json(cli, planning, plan));
    (void)json_object_set_new(
        json, "device",
        json_string(planning->options.device != NULL ? cli->device_text : choices.device));
    if (cli->device != NULL && planning->options.device == NULL) {
        (void)json_object_set_new(json, "device_why",
                                  pm_cli_json_string(pm_proof_plan_device_why(plan)));
    }
    (void)json_object_set_new(json, "threads", number(choices.threads));
    (void)json_object_set_new(json, "limit_bytes", number(cli->mem_bytes));
    (void)json_object_set_new(json, "beside_bytes", number(planning->beside_bytes));
    add_plan(json, plan);
    if (pm_proof_plan_n_parts(plan) != 0) {
        (void)json_object_set_new(json, "parts", parts_json(plan));
    }
    (void)json_object_set_new(json, "alternatives",
                              alternatives_json(cli, planning, plan, &choices));
    return json;
}
