/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_info.c - proofmill info FILE... */
#include "cli/cli.h"
#include "cli/cli_circuit.h"

#include <inttypes.h>
#include <stdio.h>

/* Filecoin's parameters.json lists so much of a file's digest. */
#define PARAMETERS_JSON_DIGITS 32

static void to_hex(const uint8_t *bytes, size_t n, char *out) {
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* A fact goes to stdout as a line, or into the JSON object. */
static void fact_number(struct pm_cli *cli, json_t *json, const char *key, const char *label,
                        uint64_t value) {
    pm_cli_print(cli, "  %-18s %" PRIu64 "\n", label, value);
    (void)json_object_set_new(json, key, json_integer((json_int_t)value));
}

static void fact_string(struct pm_cli *cli, json_t *json, const char *key, const char *label,
                        const char *value) {
    pm_cli_print(cli, "  %-18s %s\n", label, value);
    (void)json_object_set_new(json, key, json_string(value));
}

static void describe_insecurity(struct pm_cli *cli, json_t *json, const pm_file_info *info) {
    (void)json_object_set_new(json, "insecure", json_boolean(info->insecure != 0));
    const char *const why = pm_cli_insecurity(info->insecure);
    if (why != NULL) {
        pm_cli_print(cli, "  %-18s %s: anyone can forge proofs\n", "INSECURE", why);
        (void)json_object_set_new(json, "insecure_because", json_string(why));
    }
}

static void describe_zkey(struct pm_cli *cli, json_t *json, const pm_file_info *info) {
    char hex[2 * sizeof info->circuit_hash + 1];
    pm_cli_print(cli, "  %-18s 2^%u\n", "domain", info->log_n);
    (void)json_object_set_new(json, "log_n", json_integer(info->log_n));
    fact_number(cli, json, "n_vars", "signals", info->n_vars);
    fact_number(cli, json, "n_public", "public signals", info->n_public);
    fact_number(cli, json, "n_constraints", "rows", info->n_constraints);
    fact_number(cli, json, "n_coefficients", "coefficients", info->n_coefficients);
    if (info->has_circuit_hash != 0) {
        to_hex(info->circuit_hash, sizeof info->circuit_hash, hex);
        fact_string(cli, json, "circuit_hash", "circuit hash", hex);
        fact_number(cli, json, "n_contributions", "contributions", info->n_contributions);
    }
    describe_insecurity(cli, json, info);
}

static void describe_circuit(struct pm_cli *cli, json_t *json, const char *path,
                             const pm_file_info *info) {
    struct pm_cli_circuit circuit;
    pm_cli_recognise_circuit(path, info, &circuit);
    if (circuit.by_counts != NULL) {
        fact_string(cli, json, "circuit", "circuit", circuit.by_counts);
    }
    if (circuit.by_name != NULL) {
        fact_string(cli, json, "circuit_by_name", "name says", circuit.by_name);
        (void)json_object_set_new(json, "name_fits", json_boolean(!circuit.name_is_wrong));
    }
    if (circuit.name_is_wrong) {
        pm_cli_warn(cli, "%s: its counts are not those of that circuit: %s", path, circuit.by_name);
    }
}

/* bellman's parameters, or the verifying key alone. */
static void describe_params(struct pm_cli *cli, json_t *json, const char *path,
                            const pm_file_info *info) {
    char hex[2 * sizeof info->circuit_hash + 1];
    describe_circuit(cli, json, path, info);
    fact_number(cli, json, "n_public", "public inputs", info->n_public);
    if (info->kind == PM_FILE_PARAMS) {
        pm_cli_print(cli, "  %-18s 2^%u\n", "domain", info->log_n);
        (void)json_object_set_new(json, "log_n", json_integer(info->log_n));
        fact_number(cli, json, "n_vars", "variables", info->n_vars);
        fact_number(cli, json, "n_h", "h points", info->n_h);
        fact_number(cli, json, "n_l", "l points", info->n_l);
        fact_number(cli, json, "n_a", "a points", info->n_a);
        fact_number(cli, json, "n_b", "b points", info->n_b);
        fact_number(cli, json, "parameters_bytes", "parameter bytes", info->parameters_bytes);
    }
    if (info->has_circuit_hash != 0) {
        to_hex(info->circuit_hash, sizeof info->circuit_hash, hex);
        fact_string(cli, json, "circuit_hash", "circuit hash", hex);
        fact_number(cli, json, "n_contributions", "contributions", info->n_contributions);
    }
    describe_insecurity(cli, json, info);
}

static void describe_r1cs(struct pm_cli *cli, json_t *json, const pm_file_info *info) {
    fact_number(cli, json, "n_constraints", "constraints", info->n_constraints);
    fact_number(cli, json, "n_vars", "wires", info->n_vars);
    fact_number(cli, json, "n_outputs", "public outputs", info->n_outputs);
    fact_number(cli, json, "n_public_inputs", "public inputs", info->n_public_inputs);
    fact_number(cli, json, "n_private_inputs", "private inputs", info->n_private_inputs);
    fact_number(cli, json, "n_labels", "labels", info->n_labels);
    fact_number(cli, json, "n_coefficients", "terms", info->n_coefficients);
}

static void describe_assignment(struct pm_cli *cli, json_t *json, const pm_file_info *info) {
    static const char *const vectors[] = {"none", "none", "a, b", "a, b, c"};
    const bool is_montgomery = info->scalar_form == PM_SCALAR_MONTGOMERY;
    fact_string(cli, json, "form", "form", is_montgomery ? "Montgomery" : "canonical");
    fact_number(cli, json, "n_inputs", "inputs", info->n_inputs);
    fact_number(cli, json, "n_aux", "aux values", info->n_aux);
    fact_string(cli, json, "vectors", "vectors", vectors[info->n_vectors & 3]);
    fact_number(cli, json, "n_rows", "rows", info->n_rows);
    (void)json_object_set_new(json, "has_densities", json_boolean(info->has_densities != 0));
    if (info->has_densities != 0) {
        fact_number(cli, json, "n_a_aux", "aux in A", info->n_density_bits[0]);
        fact_number(cli, json, "n_b_inputs", "inputs in B", info->n_density_bits[1]);
        fact_number(cli, json, "n_b_aux", "aux in B", info->n_density_bits[2]);
    }
}

static void describe_sections(struct pm_cli *cli, json_t *json, const pm_file_info *info) {
    json_t *sections = json_array();
    pm_cli_print(cli, "  %-18s %4s %14s %14s\n", "section", "type", "offset", "bytes");
    for (uint32_t i = 0; i < info->n_sections && i < PM_SECTIONS_MAX; i++) {
        const pm_section_info *section = &info->sections[i];
        const char *name = section->known != 0 ? section->name : "(unknown)";
        pm_cli_print(cli, "    %-16s %4u %14" PRIu64 " %14" PRIu64 "\n", name, section->type,
                     section->offset, section->bytes);
        (void)json_array_append_new(
            sections,
            json_pack("{s:I,s:s,s:I,s:I}", "type", (json_int_t)section->type, "name", section->name,
                      "offset", (json_int_t)section->offset, "bytes", (json_int_t)section->bytes));
    }
    (void)json_object_set_new(json, "sections", sections);
}

static void describe_digest(struct pm_cli *cli, json_t *json, const pm_file_info *info) {
    char hex[2 * sizeof info->digest + 1];
    if (info->has_digest == 0) {
        return;
    }
    to_hex(info->digest, sizeof info->digest, hex);
    fact_string(cli, json, "blake2b", "BLAKE2b-512", hex);
    if (info->kind == PM_FILE_PARAMS || info->kind == PM_FILE_BELLMAN_VK) {
        hex[PARAMETERS_JSON_DIGITS] = '\0';
        fact_string(cli, json, "parameters_json_digest", "parameters.json", hex);
    }
}

static void describe(struct pm_cli *cli, const char *path, const pm_file_info *info) {
    json_t *json = json_object();
    const char *kind = pm_file_kind_name((pm_file_kind)info->kind);
    pm_cli_print(cli, "%s\n", path);
    (void)json_object_set_new(json, "file", pm_cli_json_string(path));
    fact_string(cli, json, "kind", "kind", kind);
    if (info->version != 0) { /* bellman's files have none */
        fact_number(cli, json, "version", "version", info->version);
    }
    fact_number(cli, json, "file_bytes", "bytes", info->file_bytes);
    fact_string(cli, json, "curve", "curve", pm_curve_name((pm_curve_id)info->curve));
    switch (info->kind) {
    case PM_FILE_ZKEY:
        describe_zkey(cli, json, info);
        break;
    case PM_FILE_R1CS:
        describe_r1cs(cli, json, info);
        break;
    case PM_FILE_WTNS:
        fact_number(cli, json, "n_vars", "values", info->n_vars);
        break;
    case PM_FILE_PARAMS:
    case PM_FILE_BELLMAN_VK:
        describe_params(cli, json, path, info);
        break;
    case PM_FILE_ASSIGNMENT:
        describe_assignment(cli, json, info);
        break;
    default:
        break;
    }
    describe_digest(cli, json, info);
    describe_sections(cli, json, info);
    (void)json_array_append_new(json_object_get(cli->result, "files"), json);
}

pm_status pm_cmd_info(struct pm_cli *cli) {
    const char *by_default = cli->verb->slots[0].file;
    size_t n = cli->n_words != 0 ? cli->n_words : 1;
    (void)json_object_set_new(cli->result, "files", json_array());
    pm_status status = pm_cli_start(cli);
    for (size_t i = 0; status == PM_OK && i < n; i++) {
        const char *path = cli->n_words != 0 ? cli->words[i] : by_default;
        pm_file_info info = {.struct_bytes = (uint32_t)sizeof info};
        status =
            pm_file_describe(cli->context, path, cli->digest, &cli->control, &info, &cli->error);
        if (status == PM_OK) {
            describe(cli, path, &info);
        }
    }
    return status;
}
