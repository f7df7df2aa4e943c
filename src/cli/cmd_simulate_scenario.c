/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_simulate_scenario.c - a scenario's JSON, member by member, into what is simulated. */
#include "cli/cli.h"
#include "cli/cmd_simulate.h"
#include "json/json_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8
#define VALUES_MAX 100000
#define RATES_MAX 32
#define NS_PER_S 1e9
#define SECONDS_MAX 1e7

/* Where in the text the reader is: a name or an index for each bracket it is inside of. */
struct step_in {
    const char *name; /* NULL: the index */
    size_t index;
};

struct reading {
    const char *text;
    size_t n_bytes;
    pm_error *error;
    struct step_in path[DEPTH_MAX + 1];
    size_t depth;
    struct {
        char name[PM_SIM_NAME_CHARS];
        double per_s;
    } rates[RATES_MAX];
    size_t n_rates;
};

/* ---------------------------------------------------------------------------------------------
 * Lines: jansson's values do not know theirs, so the text is walked again. It is well-formed.
 * ------------------------------------------------------------------------------------------- */

static size_t skip_blanks(const struct reading *reading, size_t at) {
    while (at < reading->n_bytes && strchr(" \t\r\n,:", reading->text[at]) != NULL &&
           reading->text[at] != '\0') {
        at++;
    }
    return at;
}

static size_t skip_string(const struct reading *reading, size_t at) {
    for (at++; at < reading->n_bytes && reading->text[at] != '"'; at++) {
        at += reading->text[at] == '\\';
    }
    return at + 1;
}

static size_t skip_value(const struct reading *reading, size_t at) {
    size_t depth = 0;
    do {
        at = skip_blanks(reading, at);
        if (at >= reading->n_bytes) {
            return at;
        }
        const char c = reading->text[at];
        if (c == '"') {
            at = skip_string(reading, at);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
            at++;
        } else {
            while (at < reading->n_bytes && strchr(" \t\r\n,:{}[]\"", reading->text[at]) == NULL) {
                at++;
            }
        }
    } while (depth > 0);
    return at;
}

/* From an opening bracket to the member or element; the bracket itself if it is not found. *key
 * is where its name stands. */
static size_t enter(const struct reading *reading, size_t at, const struct step_in *step,
                    size_t *key) {
    const size_t bracket = at;
    size_t i = 0;
    *key = bracket;
    at = skip_blanks(reading, at + 1);
    while (at < reading->n_bytes && reading->text[at] != '}' && reading->text[at] != ']') {
        if (step->name != NULL) {
            const size_t begin = at + 1, end = skip_string(reading, at);
            const size_t n = end > begin ? end - 1 - begin : 0;
            const size_t value = skip_blanks(reading, end);
            if (n == strlen(step->name) && begin + n <= reading->n_bytes &&
                memcmp(reading->text + begin, step->name, n) == 0) {
                *key = at;
                return value;
            }
            at = skip_value(reading, value);
        } else if (i++ == step->index) {
            *key = at;
            return at;
        } else {
            at = skip_value(reading, at);
        }
        at = skip_blanks(reading, at);
    }
    return bracket;
}

/* The line of the innermost place of the path, counted from 1, and its offset. */
static size_t find_line(const struct reading *reading, size_t *offset) {
    size_t at = skip_blanks(reading, 0), key = at, line = 1;
    for (size_t i = 0; i < reading->depth && at < reading->n_bytes; i++) {
        at = enter(reading, at, &reading->path[i], &key);
    }
    for (size_t i = 0; i < key && i < reading->n_bytes; i++) {
        line += reading->text[i] == '\n';
    }
    *offset = key;
    return line;
}

/* "proofs[0].steps[2].host" */
static void describe_path(const struct reading *reading, char *path, size_t n) {
    size_t used = 0;
    path[0] = '\0';
    for (size_t i = 0; i < reading->depth && used < n; i++) {
        const struct step_in *step = &reading->path[i];
        const int more = step->name != NULL ? snprintf(path + used, n - used, "%s%.40s",
                                                       i > 0 ? "." : "", step->name)
                                            : snprintf(path + used, n - used, "[%zu]", step->index);
        used += more > 0 ? (size_t)more : 0;
    }
    for (char *c = path; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) {
            *c = '?';
        }
    }
}

__attribute__((format(printf, 2, 3))) static pm_status refuse(const struct reading *reading,
                                                              const char *format, ...) {
    char sentence[256], path[128];
    size_t offset;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    describe_path(reading, path, sizeof path);
    const size_t line = find_line(reading, &offset);
    (void)pm_json_fail(reading->error, PM_ENCODING, "line %zu: %s%s%s", line, path,
                       path[0] != '\0' ? " " : "", sentence);
    if (reading->error != NULL) {
        reading->error->offset = offset;
    }
    return PM_ENCODING;
}

static bool go_in(struct reading *reading, const char *name, size_t index) {
    if (reading->depth > DEPTH_MAX) {
        return false;
    }
    reading->path[reading->depth++] = (struct step_in){name, index};
    return true;
}

/* ---------------------------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------------------------- */

enum type {
    SIZE,      /* uint64_t: "4GiB", or a number of bytes */
    LIMIT,     /* the same, or "unlimited" */
    COUNT,     /* uint32_t, from least to most */
    SECONDS,   /* uint64_t of nanoseconds */
    FLAG,      /* bool */
    NAME,      /* PM_SIM_NAME_CHARS */
    ELSEWHERE, /* read by the caller */
};

struct field {
    const char *name;
    enum type type;
    void *out;
    uint32_t least, most;
    bool is_needed;
};

static pm_status read_size(struct reading *reading, const json_t *value, bool may_be_unlimited,
                           uint64_t *out) {
    const char *text = json_string_value(value);
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return PM_OK;
    }
    if (text != NULL && may_be_unlimited && strcmp(text, "unlimited") == 0) {
        *out = UINT64_MAX;
        return PM_OK;
    }
    if (text != NULL && strcmp(text, "0") == 0) {
        *out = 0;
        return PM_OK;
    }
    if (text == NULL || !pm_cli_read_size(text, out)) {
        return refuse(reading, "must be a size such as \"4GiB\", \"512M\" or a number of bytes%s",
                      may_be_unlimited ? ", or \"unlimited\"" : "");
    }
    return PM_OK;
}

static pm_status read_seconds(struct reading *reading, const json_t *value, uint64_t *ns) {
    const double seconds = json_number_value(value);
    if (!json_is_number(value) || !(seconds >= 0 && seconds <= SECONDS_MAX)) {
        return refuse(reading, "must be seconds, from 0 to %.0f", SECONDS_MAX);
    }
    *ns = (uint64_t)(seconds * NS_PER_S + 0.5);
    return PM_OK;
}

/* Names are printed, and found by being equal. */
static pm_status read_name(struct reading *reading, const json_t *value, size_t n_max, char *out) {
    const char *text = json_string_value(value);
    bool good = text != NULL && text[0] != '\0' && strlen(text) < n_max &&
                json_string_length(value) == strlen(text);
    for (const char *c = text; good && *c != '\0'; c++) {
        good = (unsigned char)*c >= 0x20 && *c != 0x7f;
    }
    if (!good) {
        return refuse(reading, "must be a name of 1 to %zu characters", n_max - 1);
    }
    memcpy(out, text, strlen(text) + 1);
    return PM_OK;
}

static pm_status read_count(struct reading *reading, const json_t *value,
                            const struct field *field) {
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < (json_int_t)field->least ||
        number > (json_int_t)field->most) {
        return refuse(reading, "must be a whole number from %u to %u", field->least, field->most);
    }
    *(uint32_t *)field->out = (uint32_t)number;
    return PM_OK;
}

static pm_status read_field(struct reading *reading, const json_t *value,
                            const struct field *field) {
    switch (field->type) {
    case SIZE:
    case LIMIT:
        return read_size(reading, value, field->type == LIMIT, field->out);
    case COUNT:
        return read_count(reading, value, field);
    case SECONDS:
        return read_seconds(reading, value, field->out);
    case FLAG:
        if (!json_is_boolean(value)) {
            return refuse(reading, "must be true or false");
        }
        *(bool *)field->out = json_is_true(value);
        return PM_OK;
    case NAME:
        return read_name(reading, value, PM_SIM_NAME_CHARS, field->out);
    case ELSEWHERE:
        return PM_OK;
    }
    return PM_OK;
}

static pm_status unknown_key(struct reading *reading, const struct field *fields, size_t n) {
    char known[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof known; i++) {
        const int more =
            snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", fields[i].name);
        used += more > 0 ? (size_t)more : 0;
    }
    return refuse(reading, "is not known here; known are %s", known);
}

/* Every member is one of the fields, and every needed field is a member. */
static pm_status read_object(struct reading *reading, json_t *object, const struct field *fields,
                             size_t n) {
    const char *name;
    json_t *value;
    if (!json_is_object(object)) {
        return refuse(reading, "must be an object");
    }
    json_object_foreach(object, name, value) {
        size_t i = 0;
        while (i < n && strcmp(fields[i].name, name) != 0) {
            i++;
        }
        if (!go_in(reading, name, 0)) {
            return refuse(reading, "is nested too deeply");
        }
        const pm_status status =
            i == n ? unknown_key(reading, fields, n) : read_field(reading, value, &fields[i]);
        if (status != PM_OK) {
            return status;
        }
        reading->depth--;
    }
    for (size_t i = 0; i < n; i++) {
        if (fields[i].is_needed && json_object_get(object, fields[i].name) == NULL) {
            return refuse(reading, "needs the member \"%s\"", fields[i].name);
        }
    }
    return PM_OK;
}

#define N(fields) (sizeof(fields) / sizeof(fields)[0])

/* Calls read for each element of an array of 1 to n_max. */
static pm_status read_array(struct reading *reading, json_t *object, const char *name,
                            uint32_t n_max, uint32_t *n, void *target,
                            pm_status (*read)(struct reading *reading, json_t *element,
                                              uint32_t index, void *target)) {
    json_t *array = json_object_get(object, name);
    if (!go_in(reading, name, 0)) {
        return refuse(reading, "is nested too deeply");
    }
    if (!json_is_array(array) || json_array_size(array) == 0 || json_array_size(array) > n_max) {
        return refuse(reading, "must be an array of 1 to %u", n_max);
    }
    for (uint32_t i = 0; i < json_array_size(array); i++) {
        if (!go_in(reading, NULL, i)) {
            return refuse(reading, "is nested too deeply");
        }
        *n = i;
        const pm_status status = read(reading, json_array_get(array, i), i, target);
        if (status != PM_OK) {
            return status;
        }
        reading->depth--;
    }
    *n = (uint32_t)json_array_size(array);
    reading->depth--;
    return PM_OK;
}

/* One of some words; the index. */
static pm_status read_word(struct reading *reading, json_t *object, const char *name,
                           const char *const *words, uint32_t n, uint32_t *out) {
    json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return PM_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (json_is_string(value) && strcmp(json_string_value(value), words[i]) == 0) {
            *out = i;
            return PM_OK;
        }
    }
    (void)go_in(reading, name, 0);
    char all[100] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < n && used < sizeof all; i++) {
        const int more =
            snprintf(all + used, sizeof all - used, "%s\"%s\"", i > 0 ? ", " : "", words[i]);
        used += more > 0 ? (size_t)more : 0;
    }
    return refuse(reading, "must be one of %s", all);
}

/* ---------------------------------------------------------------------------------------------
 * Machine, policy, rates, keys
 * ------------------------------------------------------------------------------------------- */

static pm_status read_machine(struct reading *reading, json_t *object, bool is_whole,
                              struct pm_sim_machine *machine) {
    const struct field fields[] = {
        {"count", COUNT, &machine->count, 1, PM_SIM_MACHINES_MAX, false},
        {"memory", LIMIT, &machine->memory_bytes, 0, 0, is_whole},
        {"baseline", SIZE, &machine->baseline_bytes, 0, 0, false},
        {"pinned", LIMIT, &machine->pinned_bytes, 0, 0, false},
        {"devices", COUNT, &machine->n_devices, 0, PM_DEVICES_MAX, is_whole},
        {"vram", LIMIT, &machine->vram_bytes, 0, 0, false},
        {"workers", COUNT, &machine->n_workers, 1, PM_SCHED_WORKERS_MAX, false},
        {"express", COUNT, &machine->n_express, 0, PM_SCHED_WORKERS_MAX, false},
        {"bus", SIZE, &machine->bus_bytes_per_s, 0, 0, false},
        {"disk", SIZE, &machine->disk_bytes_per_s, 0, 0, false},
    };
    return read_object(reading, object, fields, N(fields));
}

static pm_status read_policy(struct reading *reading, json_t *object,
                             struct pm_sched_config *config) {
    const struct field fields[] = {
        {"slots", COUNT, &config->n_slots, 0, PM_SCHED_PARTS_MAX, false},
        {"ahead", COUNT, &config->n_ahead_max, 0, PM_SCHED_PARTS_MAX, false},
        {"age", SECONDS, &config->age_ns, 0, 0, false},
        {"age_every", COUNT, &config->age_every, 1, 1000000, false},
        {"group", COUNT, &config->group_max, 0, 1000000, false},
        {"interleave", COUNT, &config->interleave, 1, 1000000, false},
        {"evict_idle", SECONDS, &config->evict_idle_ns, 0, 0, false},
    };
    return read_object(reading, object, fields, N(fields));
}

static pm_status read_rates(struct reading *reading, json_t *object) {
    const char *name;
    json_t *value;
    if (!json_is_object(object)) {
        return refuse(reading, "must be an object");
    }
    json_object_foreach(object, name, value) {
        const double per_s = json_number_value(value);
        (void)go_in(reading, name, 0);
        if (reading->n_rates == RATES_MAX || strlen(name) >= PM_SIM_NAME_CHARS) {
            return refuse(reading, "is one rate too many, or its name is too long");
        }
        if (!json_is_number(value) || !(per_s >= 1 && per_s <= 1e18)) {
            return refuse(reading, "must be a number a second, from 1 on");
        }
        memcpy(reading->rates[reading->n_rates].name, name, strlen(name) + 1);
        reading->rates[reading->n_rates++].per_s = per_s;
        reading->depth--;
    }
    return PM_OK;
}

static pm_status read_key(struct reading *reading, json_t *object, uint32_t index, void *target) {
    struct pm_sim_key *key = &((struct pm_sim_scenario *)target)->keys[index];
    const struct field fields[] = {
        {"name", NAME, key->name, 0, 0, true},
        {"host", SIZE, &key->bytes[PM_KIND_HOST], 0, 0, false},
        {"pinned", SIZE, &key->bytes[PM_KIND_PINNED], 0, 0, false},
        {"device", SIZE, &key->bytes[PM_KIND_DEVICE], 0, 0, false},
        {"load", SECONDS, &key->load_ns[0], 0, 0, false},
        {"load_on_device", SECONDS, &key->load_ns[1], 0, 0, false},
    };
    return read_object(reading, object, fields, N(fields));
}

/* ---------------------------------------------------------------------------------------------
 * Proofs
 * ------------------------------------------------------------------------------------------- */

/* "time": seconds, or two of them. */
static pm_status read_time(struct reading *reading, json_t *object, struct pm_sim_step *step) {
    json_t *value = json_object_get(object, "time");
    pm_status status = PM_OK;
    if (value == NULL) {
        return PM_OK;
    }
    (void)go_in(reading, "time", 0);
    if (json_is_array(value) && json_array_size(value) == 2) {
        status = read_seconds(reading, json_array_get(value, 0), &step->least_ns);
        if (status == PM_OK) {
            status = read_seconds(reading, json_array_get(value, 1), &step->most_ns);
        }
        if (status == PM_OK && step->least_ns > step->most_ns) {
            status = refuse(reading, "has the larger time first");
        }
    } else {
        status = read_seconds(reading, value, &step->least_ns);
        step->most_ns = step->least_ns;
    }
    reading->depth -= status == PM_OK;
    return status;
}

/* "work" at a rate of the machine: as so much more time. */
static pm_status read_work(struct reading *reading, json_t *object, struct pm_sim_step *step) {
    const json_t *work = json_object_get(object, "work"), *rate = json_object_get(object, "rate");
    if (work == NULL && rate == NULL) {
        return PM_OK;
    }
    const double amount = json_number_value(work);
    for (size_t i = 0; i < reading->n_rates && json_is_string(rate); i++) {
        if (strcmp(reading->rates[i].name, json_string_value(rate)) == 0) {
            const double seconds = amount / reading->rates[i].per_s;
            if (!json_is_number(work) || !(amount >= 0 && seconds <= SECONDS_MAX)) {
                break;
            }
            step->least_ns += (uint64_t)(seconds * NS_PER_S);
            step->most_ns += (uint64_t)(seconds * NS_PER_S);
            return PM_OK;
        }
    }
    return refuse(reading, "needs \"work\", a number, and \"rate\", a name among \"rates\"");
}

static pm_status read_step(struct reading *reading, json_t *object, uint32_t index, void *target) {
    static const char *const stages[] = {"prepare", "prove", "finish", "verify"};
    struct pm_sim_step *step = &((struct pm_sim_proof *)target)->steps[index];
    const struct field fields[] = {
        {"name", NAME, step->name, 0, 0, true},
        {"stage", ELSEWHERE, NULL, 0, 0, true},
        {"time", ELSEWHERE, NULL, 0, 0, false},
        {"work", ELSEWHERE, NULL, 0, 0, false},
        {"rate", ELSEWHERE, NULL, 0, 0, false},
        {"host", SIZE, &step->memory.bytes[PM_KIND_HOST], 0, 0, false},
        {"pinned", SIZE, &step->memory.bytes[PM_KIND_PINNED], 0, 0, false},
        {"device", SIZE, &step->memory.bytes[PM_KIND_DEVICE], 0, 0, false},
        {"lock", FLAG, &step->memory.in_lock, 0, 0, false},
        {"worker", FLAG, &step->memory.on_worker, 0, 0, false},
        {"transfer", SIZE, &step->transfer_bytes, 0, 0, false},
        {"chunk", SECONDS, &step->chunk_ns, 0, 0, false},
    };
    uint32_t stage = 0;
    pm_status status = read_object(reading, object, fields, N(fields));
    if (status == PM_OK) {
        status = read_word(reading, object, "stage", stages, N(stages), &stage);
    }
    step->memory.stage = (uint8_t)stage;
    if (status == PM_OK) {
        status = read_time(reading, object, step);
    }
    return status == PM_OK ? read_work(reading, object, step) : status;
}

static pm_status find_by_name(struct reading *reading, json_t *object, const char *member,
                              const char *names, size_t stride, uint32_t n, uint32_t *out) {
    const char *wanted = json_string_value(json_object_get(object, member));
    for (uint32_t i = 0; i < n && wanted != NULL; i++) {
        if (strcmp(names + i * stride, wanted) == 0) {
            *out = i;
            return PM_OK;
        }
    }
    (void)go_in(reading, member, 0);
    return refuse(reading, "names none that is described");
}

/* A proof is verified before it is given out, whether the scenario says so or not. */
static void end_with_verification(struct pm_sim_proof *proof) {
    if (proof->n_steps != 0 && proof->n_steps < PM_SCHED_STEPS_MAX &&
        proof->steps[proof->n_steps - 1].memory.stage != PM_STAGE_VERIFY) {
        struct pm_sim_step *last = &proof->steps[proof->n_steps++];
        (void)snprintf(last->name, sizeof last->name, "verify");
        last->memory.stage = PM_STAGE_VERIFY;
    }
}

static pm_status read_proof(struct reading *reading, json_t *object, uint32_t index, void *target) {
    struct pm_sim_scenario *sim = target;
    struct pm_sim_proof *proof = &sim->proofs[index];
    const struct field fields[] = {
        {"name", NAME, proof->name, 0, 0, true},
        {"key", ELSEWHERE, NULL, 0, 0, true},
        {"partitions", COUNT, &proof->n_parts, 1, PM_SCHED_PARTS_MAX, false},
        {"steps", ELSEWHERE, NULL, 0, 0, true},
    };
    proof->n_parts = 1;
    pm_status status = read_object(reading, object, fields, N(fields));
    if (status == PM_OK) {
        status = find_by_name(reading, object, "key", sim->keys[0].name, sizeof sim->keys[0],
                              sim->n_keys, &proof->key);
    }
    if (status == PM_OK) {
        status = read_array(reading, object, "steps", PM_SCHED_STEPS_MAX - 1, &proof->n_steps,
                            proof, read_step);
    }
    end_with_verification(proof);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Loads and runs
 * ------------------------------------------------------------------------------------------- */

static pm_status read_load(struct reading *reading, json_t *object, uint32_t index, void *target) {
    static const char *const priorities[] = {"low", "normal", "high", "critical"};
    struct pm_sim_scenario *sim = target;
    struct pm_sim_load *load = &sim->loads[index];
    *load = (struct pm_sim_load){.n_jobs = 1};
    uint32_t priority = PM_PRIORITY_NORMAL;
    const struct field fields[] = {
        {"proof", ELSEWHERE, NULL, 0, 0, true},
        {"priority", ELSEWHERE, NULL, 0, 0, false},
        {"jobs", COUNT, &load->n_jobs, 1, PM_SIM_JOBS_MAX, false},
        {"first", SECONDS, &load->first_ns, 0, 0, false},
        {"every", SECONDS, &load->every_ns, 0, 0, false},
        {"random", FLAG, &load->is_random, 0, 0, false},
        {"deadline", SECONDS, &load->deadline_ns, 0, 0, false},
    };
    pm_status status = read_object(reading, object, fields, N(fields));
    if (status == PM_OK) {
        status = find_by_name(reading, object, "proof", sim->proofs[0].name, sizeof sim->proofs[0],
                              sim->n_proofs, &load->proof);
    }
    if (status == PM_OK) {
        status = read_word(reading, object, "priority", priorities, N(priorities), &priority);
    }
    load->priority = (enum pm_priority)priority;
    return status;
}

/* Members of the whole, or of a run that says only what differs. */
static pm_status read_parts(struct reading *reading, json_t *object, bool is_whole,
                            struct pm_sim_scenario *sim) {
    json_t *machine = json_object_get(object, "machine"),
           *policy = json_object_get(object, "policy");
    pm_status status = PM_OK;
    if (machine != NULL) {
        (void)go_in(reading, "machine", 0);
        status = read_machine(reading, machine, is_whole, &sim->machine);
        reading->depth -= status == PM_OK;
    }
    if (status == PM_OK && policy != NULL) {
        (void)go_in(reading, "policy", 0);
        status = read_policy(reading, policy, &sim->config);
        reading->depth -= status == PM_OK;
    }
    if (status == PM_OK && !is_whole && json_object_get(object, "load") != NULL) {
        status =
            read_array(reading, object, "load", PM_SIM_LOADS_MAX, &sim->n_loads, sim, read_load);
    }
    return status;
}

/* The sizes of a run: its own place is named, where it has one. */
static pm_status check_run(struct reading *reading, const struct pm_scenario_run *run) {
    pm_error error = PM_ERROR_INIT;
    return pm_sim_check(&run->sim, &error) == PM_OK
               ? PM_OK
               : refuse(reading, "cannot be: %.200s", error.message);
}

static pm_status read_run(struct reading *reading, json_t *object, uint32_t index, void *target) {
    struct pm_scenario *scenario = target;
    struct pm_scenario_run *run = &scenario->runs[index];
    if (index != 0) {
        run->sim = scenario->runs[PM_SCENARIO_RUNS_MAX - 1].sim;
    }
    const struct field fields[] = {
        {"name", NAME, run->name, 0, 0, true},
        {"machine", ELSEWHERE, NULL, 0, 0, false},
        {"policy", ELSEWHERE, NULL, 0, 0, false},
        {"load", ELSEWHERE, NULL, 0, 0, false},
    };
    pm_status status = read_object(reading, object, fields, N(fields));
    if (status == PM_OK) {
        status = read_parts(reading, object, false, &run->sim);
    }
    return status == PM_OK ? check_run(reading, run) : status;
}

static pm_status read_base(struct reading *reading, json_t *root, struct pm_sim_scenario *sim) {
    json_t *rates = json_object_get(root, "rates");
    pm_status status = read_parts(reading, root, true, sim);
    if (status == PM_OK && rates != NULL) {
        (void)go_in(reading, "rates", 0);
        status = read_rates(reading, rates);
        reading->depth -= status == PM_OK;
    }
    if (status == PM_OK) {
        status = read_array(reading, root, "keys", PM_SIM_KEYS_MAX, &sim->n_keys, sim, read_key);
    }
    if (status == PM_OK) {
        status =
            read_array(reading, root, "proofs", PM_SIM_PROOFS_MAX, &sim->n_proofs, sim, read_proof);
    }
    if (status == PM_OK) {
        status = read_array(reading, root, "load", PM_SIM_LOADS_MAX, &sim->n_loads, sim, read_load);
    }
    return status;
}

static pm_status read_scenario(struct reading *reading, json_t *root,
                               struct pm_scenario *scenario) {
    struct pm_sim_scenario *base = &scenario->runs[0].sim;
    uint32_t seed = 1;
    const struct field fields[] = {
        {"title", ELSEWHERE, NULL, 0, 0, true},   {"seed", COUNT, &seed, 0, UINT32_MAX, false},
        {"machine", ELSEWHERE, NULL, 0, 0, true}, {"policy", ELSEWHERE, NULL, 0, 0, false},
        {"rates", ELSEWHERE, NULL, 0, 0, false},  {"keys", ELSEWHERE, NULL, 0, 0, true},
        {"proofs", ELSEWHERE, NULL, 0, 0, true},  {"load", ELSEWHERE, NULL, 0, 0, true},
        {"runs", ELSEWHERE, NULL, 0, 0, false},
    };
    base->config = pm_sched_config_default();
    base->machine = (struct pm_sim_machine){.count = 1,
                                            .pinned_bytes = UINT64_MAX,
                                            .vram_bytes = UINT64_MAX,
                                            .n_workers = 2,
                                            .n_express = 1};
    pm_status status = read_object(reading, root, fields, N(fields));
    if (status == PM_OK) {
        (void)go_in(reading, "title", 0);
        status = read_name(reading, json_object_get(root, "title"), sizeof scenario->title,
                           scenario->title);
        reading->depth -= status == PM_OK;
    }
    base->seed = seed;
    if (status == PM_OK) {
        status = read_base(reading, root, base);
    }
    if (status != PM_OK || json_object_get(root, "runs") == NULL) {
        scenario->n_runs = 1;
        (void)snprintf(scenario->runs[0].name, sizeof scenario->runs[0].name, "run");
        return status == PM_OK ? check_run(reading, &scenario->runs[0]) : status;
    }
    scenario->runs[PM_SCENARIO_RUNS_MAX - 1].sim = *base;
    return read_array(reading, root, "runs", PM_SCENARIO_RUNS_MAX - 1, &scenario->n_runs, scenario,
                      read_run);
}

pm_status pm_scenario_parse(const char *text, size_t n_bytes, const char *name,
                            struct pm_scenario *scenario, pm_error *error) {
    const struct pm_json_bounds bounds = {"scenario", PM_SCENARIO_BYTES_MAX, DEPTH_MAX, VALUES_MAX};
    struct reading reading = {.text = text, .n_bytes = n_bytes, .error = error};
    json_t *root = NULL;
    memset(scenario, 0, sizeof *scenario);
    pm_status status = pm_json_load(text, n_bytes, &bounds, &root, error);
    if (status == PM_OK) {
        status = read_scenario(&reading, root, scenario);
    }
    json_decref(root);
    return pm_json_named(status, name, error);
}
