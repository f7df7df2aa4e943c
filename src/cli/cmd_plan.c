/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_plan.c - proofmill plan KEY, or --sizes CIRCUIT: what a proof will hold, and when. */
#include "cli/cli_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * --sizes
 * ------------------------------------------------------------------------------------------- */

#define SIZES_FIELDS_MAX 12
#define SIZES_SYNTAX                                                                               \
    "--sizes takes a known circuit (`proofmill help plan` lists them) or "                         \
    "CURVE[/bellman],LOG_N,VARS,PUBLIC[,ROWS[,NA,NB,NL,NH[,NZ_A,NZ_B,NZ_C]]]"

/* Digits alone, up to the comma or the end, which *text is moved behind. */
static bool read_count(const char **text, uint64_t *count) {
    const size_t n = strspn(*text, "0123456789");
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(*count, UINT64_C(10), count) ||
            __builtin_add_overflow(*count, (uint64_t)((*text)[i] - '0'), count)) {
            return false;
        }
    }
    *text += n;
    if (n == 0 || (**text != ',' && **text != '\0')) {
        return false;
    }
    *text += **text == ',';
    return true;
}

/* "bn128", "bls12381/bellman": *text is moved behind the comma. */
static bool read_curve(const char **text, pm_circuit_sizes *sizes) {
    static const char bellman[] = "/bellman";
    char name[32];
    const size_t n = strcspn(*text, ",");
    if (n >= sizeof name || (*text)[n] != ',') {
        return false;
    }
    memcpy(name, *text, n);
    name[n] = '\0';
    char *const slash = strchr(name, '/');
    if (slash != NULL) {
        if (strcmp(slash, bellman) != 0) {
            return false;
        }
        sizes->reduction = PM_REDUCTION_KIND_BELLMAN;
        *slash = '\0';
    }
    sizes->curve = (uint32_t)pm_curve_from_name(name);
    *text += n + 1;
    return sizes->curve != PM_CURVE_NONE;
}

static pm_status read_sizes(struct pm_cli *cli, struct pm_cli_planning *planning) {
    const char *text = cli->sizes_text;
    pm_circuit_sizes *sizes = &planning->sizes;
    for (uint32_t i = 0; pm_circuit_preset_name(i) != NULL; i++) {
        if (strcmp(text, pm_circuit_preset_name(i)) == 0) {
            planning->name = pm_circuit_preset_name(i);
            planning->title = pm_circuit_preset_title(i);
            return pm_circuit_preset(text, sizes, &cli->error);
        }
    }
    uint64_t log_n = 0, n_public = 0;
    uint64_t *const fields[SIZES_FIELDS_MAX] = {&log_n,
                                                &sizes->n_vars,
                                                &n_public,
                                                &sizes->n_rows,
                                                &sizes->n_a,
                                                &sizes->n_b,
                                                &sizes->n_l,
                                                &sizes->n_h,
                                                &sizes->n_nonzeros[0],
                                                &sizes->n_nonzeros[1],
                                                &sizes->n_nonzeros[2]};
    size_t n = 0;
    if (strchr(text, ',') == NULL || !read_curve(&text, sizes)) {
        return pm_cli_usage(cli, "%s", SIZES_SYNTAX);
    }
    while (*text != '\0' && fields[n] != NULL) {
        if (!read_count(&text, fields[n++])) {
            return pm_cli_usage(cli, "%s", SIZES_SYNTAX);
        }
    }
    const bool is_whole = *text == '\0' && text[-1] != ',';
    if (!is_whole || (n != 3 && n != 4 && n != 8 && n != 11) || log_n > UINT32_MAX ||
        n_public == UINT64_MAX) {
        return pm_cli_usage(cli, "%s", SIZES_SYNTAX);
    }
    sizes->log_n = (uint32_t)log_n;
    sizes->n_inputs = n_public + 1;
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * KEY
 * ------------------------------------------------------------------------------------------- */

/* A parameter file alone says its sizes in its first bytes and between its queries: nothing of it
 * needs to be decoded. Only with vectors of the caller's can it prove. */
static void take_sizes(const pm_file_info *info, struct pm_cli_planning *planning) {
    planning->sizes = (pm_circuit_sizes){.struct_bytes = (uint32_t)sizeof planning->sizes,
                                         .curve = info->curve,
                                         .reduction = PM_REDUCTION_KIND_BELLMAN,
                                         .log_n = info->log_n,
                                         .n_vars = info->n_vars,
                                         .n_inputs = (uint64_t)info->n_public + 1,
                                         .n_a = info->n_a,
                                         .n_b = info->n_b,
                                         .n_l = info->n_l,
                                         .n_h = info->n_h};
    planning->lacks_matrices = true;
    planning->options.caller_vectors = 1;
    planning->options.caller_scalars = PM_CLI_SCALARS_MONTGOMERY;
}

static pm_status open_key(struct pm_cli *cli, struct pm_cli_planning *planning) {
    const char *const path = cli->files[PM_ROLE_ZKEY];
    const pm_key_options options = {
        .struct_bytes = (uint32_t)sizeof options, .load = cli->load, .check = cli->check};
    pm_file_info info = {.struct_bytes = (uint32_t)sizeof info};
    pm_cli_choose_threads(cli, pm_cli_file_bytes(path));
    pm_status status = pm_cli_start(cli);
    if (status != PM_OK) {
        return status;
    }
    pm_cli_listen_for_signals();
    /* What comes down a pipe can be read once only, and is taken for a zkey. */
    if (strcmp(path, "-") != 0 &&
        pm_file_describe(cli->context, path, 0, &cli->control, &info, NULL) == PM_OK &&
        info.kind == PM_FILE_PARAMS) {
        if (cli->files[PM_ROLE_R1CS] == NULL) {
            take_sizes(&info, planning);
            return PM_OK;
        }
        return pm_key_open_params(cli->context, path, cli->files[PM_ROLE_R1CS], &options,
                                  &cli->control, &planning->key, &cli->error);
    }
    if (cli->files[PM_ROLE_R1CS] != NULL) {
        return pm_cli_usage(cli, "--r1cs belongs to bellman's parameter files: a zkey has its "
                                 "matrices");
    }
    return pm_key_open(cli->context, path, &options, &cli->control, &planning->key, &cli->error);
}

/* ---------------------------------------------------------------------------------------------
 * --device
 * ------------------------------------------------------------------------------------------- */

/* "device:24GiB" with its size in bytes: a card that nobody has seen. What else there is, the
 * context has. */
static pm_status read_device(struct pm_cli *cli, struct pm_cli_planning *planning) {
    static const char prefix[] = "device:";
    const char *const text = cli->device_text;
    uint64_t bytes;
    if (text == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0) {
        return pm_cli_choose_device(cli);
    }
    if (!pm_cli_read_size(text + sizeof prefix - 1, &bytes)) {
        return pm_cli_usage(cli, "--device device:SIZE takes a size such as device:24GiB");
    }
    bytes = cli->vram_bytes != 0 && cli->vram_bytes < bytes ? cli->vram_bytes : bytes;
    (void)snprintf(planning->device, sizeof planning->device, "device:%" PRIu64, bytes);
    planning->options.device = planning->device;
    return PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * The verb
 * ------------------------------------------------------------------------------------------- */

pm_status pm_cli_plan_make(struct pm_cli *cli, const struct pm_cli_planning *planning,
                           const pm_plan_options *options, pm_proof_plan **plan, pm_error *error) {
    if (planning->key != NULL) {
        return pm_proof_plan_of_key(cli->context, planning->key, options, plan, error);
    }
    return cli->context != NULL && options->device == NULL
               ? pm_proof_plan_of_sizes(cli->context, &planning->sizes, options, plan, error)
               : pm_proof_plan_create(&planning->sizes, options, plan, error);
}

/* What `prove` would hold beside this proof. Lent arrays are in the same process until they are
 * given back. */
static pm_status find_beside(struct pm_cli *cli, const struct pm_cli_planning *planning,
                             const pm_proof_plan *plan, uint64_t *bytes) {
    pm_circuit_sizes sizes = {.struct_bytes = (uint32_t)sizeof sizes};
    pm_plan_options choices = {.struct_bytes = (uint32_t)sizeof choices};
    pm_key_facts facts = {.struct_bytes = (uint32_t)sizeof facts};
    pm_status status = pm_proof_plan_sizes(plan, &sizes);
    if (status == PM_OK) {
        status = pm_proof_plan_choices(plan, &choices);
    }
    struct pm_cli_beside beside = {.threads = choices.threads,
                                   .key_file_bytes = pm_cli_plan_file_pages(plan),
                                   .key_memory_bytes = pm_cli_resident_host_bytes(plan),
                                   .input_bytes = pm_cli_plan_lent_bytes(plan),
                                   .n_public = sizes.n_inputs - 1,
                                   .pinned_bytes = pm_cli_pinned_bytes(plan)};
    if (status == PM_OK && planning->key != NULL) {
        status = pm_key_get_facts(planning->key, &facts);
        beside.key_file_bytes = 0; /* one that was read into memory is in memory_bytes */
        beside.key_memory_bytes = facts.memory_bytes;
    }
    *bytes = pm_cli_beside_bytes(cli, &beside);
    return status;
}

static pm_status refuse(struct pm_cli *cli, const struct pm_cli_planning *planning,
                        uint64_t proof_bytes) {
    const uint64_t need_bytes = planning->beside_bytes + proof_bytes;
    return pm_cli_refuse_memory(
        cli, cli->sizes_text != NULL ? cli->sizes_text : cli->files[PM_ROLE_ZKEY], need_bytes);
}

/* --mem says what the whole run may take, as for `prove`: the proof gets the rest. */
static pm_status make_within(struct pm_cli *cli, struct pm_cli_planning *planning,
                             pm_proof_plan **plan) {
    pm_plan_options *options = &planning->options;
    pm_proof_plan *unbounded = NULL;
    if (cli->mem_bytes == 0) {
        return pm_cli_plan_make(cli, planning, options, plan, &cli->error);
    }
    pm_cli_find_allowance(cli);
    pm_status status = pm_cli_plan_make(cli, planning, options, &unbounded, &cli->error);
    if (status == PM_OK) {
        status = find_beside(cli, planning, unbounded, &planning->beside_bytes);
    }
    pm_proof_plan_destroy(unbounded);
    if (status != PM_OK) {
        return status;
    }
    const bool has_room = planning->beside_bytes < cli->mem_bytes;
    options->memory_bytes = has_room ? cli->mem_bytes - planning->beside_bytes : 1;
    status = pm_cli_plan_make(cli, planning, options, plan, &cli->error);
    /* A device's memory may be short as well: its own error says so. */
    return status == PM_OVER_BUDGET && cli->error.have == options->memory_bytes
               ? refuse(cli, planning, cli->error.need)
               : status;
}

static pm_status read_arguments(struct pm_cli *cli, struct pm_cli_planning *planning) {
    /* A name that was given is not the one the verb has for a place left empty. */
    const bool names_key = cli->files[PM_ROLE_ZKEY] != cli->verb->slots[0].file;
    pm_status status = read_device(cli, planning);
    if (status != PM_OK || cli->sizes_text == NULL) {
        return status;
    }
    if (names_key || cli->files[PM_ROLE_R1CS] != NULL) {
        return pm_cli_usage(cli, "a plan is of a KEY or of --sizes, not of both");
    }
    return read_sizes(cli, planning);
}

static pm_status plan(struct pm_cli *cli, struct pm_cli_planning *planning) {
    pm_status status = read_arguments(cli, planning);
    if (status == PM_OK && cli->sizes_text == NULL) {
        status = open_key(cli, planning);
    } else if (status == PM_OK && cli->device != NULL && planning->options.device == NULL) {
        status = pm_cli_start(cli);
    }
    pm_proof_plan *proof_plan = NULL;
    if (status == PM_OK) {
        status = make_within(cli, planning, &proof_plan);
    }
    if (status == PM_OK) {
        json_t *json = pm_cli_plan_json(cli, planning, proof_plan);
        if (!cli->json) {
            pm_cli_plan_text(cli, json);
        }
        (void)json_object_set_new(cli->result, "plan", json);
    }
    pm_proof_plan_destroy(proof_plan);
    return status;
}

pm_status pm_cmd_plan(struct pm_cli *cli) {
    struct pm_cli_planning planning = {
        .sizes = {.struct_bytes = (uint32_t)sizeof planning.sizes},
        .options = {.struct_bytes = (uint32_t)sizeof planning.options,
                    .threads = cli->threads,
                    .form = cli->form,
                    .residency = cli->residency,
                    .b2 = cli->b2,
                    .all_devices = 1,
                    .caller_vectors = cli->caller_vectors,
                    .caller_scalars = cli->caller_vectors ? PM_CLI_SCALARS_MONTGOMERY : 0}};
    const pm_status status = plan(cli, &planning);
    pm_key_destroy(planning.key);
    return status;
}
