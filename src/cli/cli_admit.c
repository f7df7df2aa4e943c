/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_admit.c - how much memory a proof may take, and whether it will do, before any work. */
#include "cli/cli.h"

#include <proofmill/experimental.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What the program takes beside key, witness and proof: its own data and heap, a stack a thread. */
#define PROGRAM_BYTES (UINT64_C(2) << 20)
#define THREAD_BYTES (UINT64_C(128) << 10)
/* The text of a public signal, and what it is made from. */
#define PUBLIC_BYTES 256
/* Of what the machine has left a twentieth is not ours: others live there too. */
#define LEFT_OVER_SHARE 20

/* From so many times its files' size on a key is opened without a look at them first. */
#define EASE 4

/* Once, before anything large is held, so that --mem and what is free count the same things. */
void pm_cli_find_allowance(struct pm_cli *cli) {
    if (cli->mem_bytes != 0) {
        cli->allowance = (struct pm_cli_allowance){cli->mem_bytes, "--mem allows"};
        return;
    }
    pm_host_memory memory = {.free_bytes = UINT64_MAX, .bound = "none"};
    (void)pm_host_memory_now(cli->system_root, &memory);
    if (memory.free_bytes != UINT64_MAX) {
        memory.free_bytes -= memory.free_bytes / LEFT_OVER_SHARE;
    }
    cli->allowance.bytes = memory.free_bytes;
    (void)snprintf(cli->allowance.by, sizeof cli->allowance.by, "%s leaves", memory.bound);
}

static uint64_t sum(uint64_t a, uint64_t b) {
    uint64_t both = 0;
    return __builtin_add_overflow(a, b, &both) ? UINT64_MAX : both;
}

pm_status pm_cli_refuse_memory(struct pm_cli *cli, const char *path, uint64_t need_bytes) {
    const struct pm_cli_allowance *allowance = &cli->allowance;
    char need[PM_CLI_SIZE_CHARS], have[PM_CLI_SIZE_CHARS];
    const pm_status status = pm_cli_fail(
        cli, PM_OVER_BUDGET, path,
        "proving needs at least %s of memory (%" PRIu64 " bytes), %s %s (%" PRIu64 " bytes)",
        pm_cli_size_text(need_bytes, need), need_bytes, allowance->by,
        pm_cli_size_text(allowance->bytes, have), allowance->bytes);
    cli->error.need = need_bytes;
    cli->error.have = allowance->bytes;
    return status;
}

static pm_status refuse(struct pm_cli *cli, uint64_t need_bytes) {
    return pm_cli_refuse_memory(cli, cli->files[PM_ROLE_ZKEY], need_bytes);
}

uint64_t pm_cli_beside_bytes(const struct pm_cli *cli, const struct pm_cli_beside *beside) {
    const uint64_t program_bytes = PROGRAM_BYTES + beside->threads * THREAD_BYTES;
    const uint64_t file_bytes = cli->load == PM_LOAD_READ ? beside->key_file_bytes : 0;
    const uint64_t own_bytes = sum(sum(program_bytes, file_bytes), beside->pinned_bytes);
    return sum(own_bytes, sum(beside->key_memory_bytes,
                              sum(beside->input_bytes, beside->n_public * PUBLIC_BYTES)));
}

uint64_t pm_cli_pinned_bytes(const pm_proof_plan *plan) {
    const char *name;
    uint64_t bytes = 0;
    for (uint32_t i = 0; (name = pm_proof_plan_pool(plan, i)) != NULL; i++) {
        bytes += strcmp(name, "pinned") == 0 ? pm_proof_plan_peak_bytes(plan, i) : 0;
    }
    for (uint32_t i = 0; i < pm_proof_plan_n_parts(plan); i++) {
        bytes = sum(bytes, pm_cli_pinned_bytes(pm_proof_plan_part(plan, i)));
    }
    return bytes;
}

/* What the program takes and, where it is read into memory, the key's file. */
static uint64_t base_bytes(const struct pm_cli *cli, uint64_t key_file_bytes) {
    const struct pm_cli_beside beside = {.threads = pm_context_threads(cli->context),
                                         .key_file_bytes = key_file_bytes};
    return pm_cli_beside_bytes(cli, &beside);
}

static uint64_t witness_bytes(const struct pm_cli *cli, uint64_t n_vars) {
    /* A stream is in memory twice: as it came, and as it is proved. */
    const bool is_stream = strcmp(cli->files[PM_ROLE_WITNESS], "-") == 0;
    return n_vars * PM_FR_BYTES * (is_stream ? 2 : 1);
}

/* Else it is a card's memory that no plan fits, which the error says itself. */
static bool is_short_of_host(const pm_error *error, pm_status status, uint64_t host_bytes) {
    return status == PM_OVER_BUDGET && error->have == host_bytes;
}

static pm_plan_options plan_options(const struct pm_cli *cli, uint64_t memory_bytes) {
    return (pm_plan_options){.struct_bytes = (uint32_t)sizeof(pm_plan_options),
                             .threads = pm_context_threads(cli->context),
                             .memory_bytes = memory_bytes,
                             .form = cli->form,
                             .residency = cli->residency,
                             .b2 = cli->b2,
                             .no_self_verify = cli->no_self_verify,
                             .all_devices = 1};
}

/* ---------------------------------------------------------------------------------------------
 * Before the key is opened
 * ------------------------------------------------------------------------------------------- */

uint64_t pm_cli_file_bytes(const char *path) {
    struct stat about;
    return path != NULL && stat(path, &about) == 0 && S_ISREG(about.st_mode)
               ? (uint64_t)about.st_size
               : 0;
}

/* The least that the sizes of a key can mean: of B, which a description does not tell for a zkey,
 * one point. False when opening the files will find something wrong, or tell more. */
static bool describe_sizes(struct pm_cli *cli, pm_circuit_sizes *sizes) {
    pm_error ignored = PM_ERROR_INIT;
    pm_file_info key = {.struct_bytes = (uint32_t)sizeof key}, r1cs = key;
    if (pm_file_describe(cli->context, cli->files[PM_ROLE_ZKEY], 0, &cli->control, &key,
                         &ignored) != PM_OK) {
        return false;
    }
    *sizes = (pm_circuit_sizes){.struct_bytes = (uint32_t)sizeof *sizes,
                                .curve = key.curve,
                                .log_n = key.log_n,
                                .n_vars = key.n_vars,
                                .n_inputs = (uint64_t)key.n_public + 1,
                                .n_b = 1};
    if (key.kind == PM_FILE_ZKEY) {
        sizes->reduction = PM_REDUCTION_KIND_SNARKJS;
        sizes->n_nonzeros[0] = key.n_coefficients;
        return true;
    }
    if (key.kind != PM_FILE_PARAMS || cli->files[PM_ROLE_R1CS] == NULL ||
        pm_file_describe(cli->context, cli->files[PM_ROLE_R1CS], 0, &cli->control, &r1cs,
                         &ignored) != PM_OK) {
        return false;
    }
    sizes->reduction = PM_REDUCTION_KIND_BELLMAN;
    sizes->n_a = key.n_a;
    sizes->n_b = key.n_b;
    sizes->n_l = key.n_l;
    sizes->n_h = key.n_h;
    sizes->n_nonzeros[0] = r1cs.n_coefficients;
    return true;
}

/* What a proof with such a key needs; 0: not known yet. */
static uint64_t foresee(struct pm_cli *cli) {
    pm_circuit_sizes sizes;
    pm_error error = PM_ERROR_INIT;
    pm_proof_plan *plan = NULL, *none = NULL;
    pm_plan_options options = plan_options(cli, 0);
    if (!describe_sizes(cli, &sizes) ||
        pm_proof_plan_of_sizes(cli->context, &sizes, &options, &plan, &error) != PM_OK) {
        return 0;
    }
    const uint64_t resident_bytes = pm_cli_resident_host_bytes(plan);
    pm_proof_plan_destroy(plan);
    options.memory_bytes = 1;
    const pm_status status = pm_proof_plan_of_sizes(cli->context, &sizes, &options, &none, &error);
    pm_proof_plan_destroy(none);
    return sum(is_short_of_host(&error, status, options.memory_bytes) ? error.need : 0,
               sum(resident_bytes,
                   sum(witness_bytes(cli, sizes.n_vars), (sizes.n_inputs - 1) * PUBLIC_BYTES)));
}

pm_status pm_cli_admit_key(struct pm_cli *cli) {
    pm_cli_find_allowance(cli);
    const uint64_t allowed_bytes = cli->allowance.bytes;
    const uint64_t key_bytes = pm_cli_file_bytes(cli->files[PM_ROLE_ZKEY]);
    const uint64_t r1cs_bytes = pm_cli_file_bytes(cli->files[PM_ROLE_R1CS]);
    uint64_t need_bytes = base_bytes(cli, key_bytes);
    if (key_bytes != 0 && sum(key_bytes, r1cs_bytes) > allowed_bytes / EASE) {
        need_bytes = sum(need_bytes, foresee(cli));
    }
    return need_bytes <= allowed_bytes ? PM_OK : refuse(cli, need_bytes);
}

/* ---------------------------------------------------------------------------------------------
 * Before the proof
 * ------------------------------------------------------------------------------------------- */

static pm_status make_plan(struct pm_cli *cli, const pm_key *key, uint64_t memory_bytes,
                           pm_proof_plan **plan) {
    const pm_plan_options options = plan_options(cli, memory_bytes);
    return pm_proof_plan_of_key(cli->context, key, &options, plan, &cli->error);
}

/* What any plan needs. */
static uint64_t leanest_bytes(struct pm_cli *cli, const pm_key *key) {
    pm_proof_plan *plan = NULL;
    const pm_status status = make_plan(cli, key, 1, &plan);
    pm_proof_plan_destroy(plan);
    return is_short_of_host(&cli->error, status, 1) ? cli->error.need : 0;
}

static bool is_same_choice(const pm_plan_options *a, const pm_plan_options *b) {
    return a->form == b->form && a->residency == b->residency && a->b2 == b->b2;
}

/* Says so when memory has made the plan another one than it would have been. */
static void tell_of_leaner(struct pm_cli *cli, const pm_proof_plan *fastest,
                           const pm_proof_plan *plan) {
    pm_plan_options ours = {.struct_bytes = (uint32_t)sizeof ours}, theirs = ours;
    const bool is_known = pm_proof_plan_choices(plan, &ours) == PM_OK &&
                          pm_proof_plan_choices(fastest, &theirs) == PM_OK;
    if (is_known && !is_same_choice(&ours, &theirs)) {
        char allowed[PM_CLI_SIZE_CHARS];
        pm_cli_say(cli, "%s %s, so the plan is a leaner one: %s", cli->allowance.by,
                   pm_cli_size_text(cli->allowance.bytes, allowed), pm_proof_plan_why(plan));
        (void)json_object_set_new(cli->result, "leaner_plan", json_string(pm_proof_plan_why(plan)));
    }
}

/* fastest: what the plan would be without a limit; NULL: there is none. */
static pm_status admit_beside(struct pm_cli *cli, const pm_key *key, const pm_key_facts *facts,
                              const pm_proof_plan *fastest, uint64_t *memory_bytes) {
    const uint64_t allowed_bytes = cli->allowance.bytes;
    /* A file that was read into memory is in memory_bytes. */
    const struct pm_cli_beside beside = {.threads = pm_context_threads(cli->context),
                                         .key_memory_bytes = facts->memory_bytes,
                                         .input_bytes = witness_bytes(cli, facts->n_vars),
                                         .n_public = facts->n_public,
                                         .pinned_bytes = pm_cli_pinned_bytes(fastest)};
    const uint64_t beside_bytes = pm_cli_beside_bytes(cli, &beside);
    if (beside_bytes >= allowed_bytes) {
        return refuse(cli, sum(beside_bytes, leanest_bytes(cli, key)));
    }
    pm_proof_plan *plan = NULL;
    const pm_status status = make_plan(cli, key, allowed_bytes - beside_bytes, &plan);
    if (is_short_of_host(&cli->error, status, allowed_bytes - beside_bytes)) {
        return refuse(cli, sum(beside_bytes, cli->error.need));
    }
    if (status == PM_OK) {
        tell_of_leaner(cli, fastest, plan);
    }
    pm_proof_plan_destroy(plan);
    *memory_bytes = allowed_bytes - beside_bytes;
    return status;
}

pm_status pm_cli_admit_proof(struct pm_cli *cli, const pm_key *key, const pm_key_facts *facts,
                             uint64_t *memory_bytes) {
    pm_proof_plan *fastest = NULL;
    *memory_bytes = 0;
    if (cli->allowance.bytes == UINT64_MAX) {
        return PM_OK;
    }
    (void)make_plan(cli, key, 0, &fastest); /* why there is none is told with the limit */
    const pm_status status = admit_beside(cli, key, facts, fastest, memory_bytes);
    pm_proof_plan_destroy(fastest);
    return status;
}
