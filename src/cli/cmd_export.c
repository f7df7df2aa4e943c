/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_export.c - proofmill export vkey ZKEY VKEY, export solidity ZKEY|VKEY SOL,
 * export json ZKEY JSON, export calldata PROOF PUBLIC. */
#include "cli/cli.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---------------------------------------------------------------------------------------------
 * What the exports of a key share
 * ------------------------------------------------------------------------------------------- */

/* Everything that can be found wrong before a byte is read. Starts the context. */
static pm_status begin_export(struct pm_cli *cli, const char *input, const char *output) {
    if (cli->json && strcmp(output, "-") == 0) {
        return pm_cli_usage(cli, "with --json no file can be standard output");
    }
    pm_status status = pm_files_distinct(&input, 1, &output, 1, &cli->error);
    if (status == PM_OK) {
        status = pm_cli_check_output(cli, output);
    }
    return status == PM_OK ? pm_cli_start(cli) : status;
}

static pm_status open_key(struct pm_cli *cli, const char *path, pm_key **key) {
    const pm_key_options options = {
        .struct_bytes = (uint32_t)sizeof options, .load = cli->load, .check = cli->check};
    return pm_key_open(cli->context, path, &options, &cli->control, key, &cli->error);
}

static void describe(struct pm_cli *cli, const char *member, const char *path, pm_curve_id curve,
                     uint32_t n_public) {
    (void)json_object_set_new(cli->result, member, pm_cli_json_string(path));
    (void)json_object_set_new(cli->result, "curve", json_string(pm_curve_name(curve)));
    (void)json_object_set_new(cli->result, "n_public", json_integer(n_public));
}

/* ---------------------------------------------------------------------------------------------
 * Verifying key
 * ------------------------------------------------------------------------------------------- */

static pm_status write_vkey(struct pm_cli *cli, const pm_key *key, const char *path) {
    pm_vk *vk = NULL;
    struct pm_json_text text = {NULL, 0};
    pm_status status = pm_vk_from_key(cli->context, key, &vk, &cli->error);
    if (status == PM_OK) {
        status = pm_json_vk_write(vk, &text, &cli->error);
    }
    if (status == PM_OK) {
        const pm_output output = {path, text.bytes, text.n_bytes};
        status = pm_files_write(&output, 1, &cli->control, &cli->error);
    }
    if (status == PM_OK) {
        describe(cli, "vkey_file", path, pm_vk_curve(vk), pm_vk_n_public(vk));
    }
    pm_json_text_free(&text);
    pm_vk_destroy(vk);
    return status;
}

pm_status pm_cmd_export_vkey(struct pm_cli *cli) {
    const char *input = cli->files[PM_ROLE_ZKEY], *output = cli->files[PM_ROLE_VKEY];
    pm_key *key = NULL;
    pm_status status = begin_export(cli, input, output);
    if (status == PM_OK) {
        status = pm_cli_open_key(cli, false, &key);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = write_vkey(cli, key, output);
    }
    pm_key_destroy(key);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Solidity
 * ------------------------------------------------------------------------------------------- */

/* Ethereum deploys no contract of more than 24,576 bytes (EIP-170); solc 0.8 makes some 75 bytes of
 * each public signal and less than 3,300 of the rest. test/interop/solidity.mjs tries it. */
#define SOLIDITY_PUBLIC_MAX 280

/* Whether the first visible character is a brace. A pipe, whose characters cannot be looked at
 * without taking them, holds a VKEY: a ZKEY is better read from where it lies. */
static bool is_vkey_file(const char *path) {
    struct stat facts;
    if (strcmp(path, "-") == 0 || stat(path, &facts) != 0) {
        return strcmp(path, "-") == 0;
    }
    if (!S_ISREG(facts.st_mode)) {
        return true;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false; /* opening the key will say why */
    }
    int character = getc(file);
    while (character == ' ' || character == '\t' || character == '\r' || character == '\n') {
        character = getc(file);
    }
    (void)fclose(file);
    return character == '{';
}

static pm_status vk_from_json(struct pm_cli *cli, const char *path, pm_vk **vk) {
    void *bytes = NULL;
    size_t n_bytes = 0;
    pm_status status =
        pm_file_read(path, PM_JSON_VK_BYTES_MAX, &cli->control, &bytes, &n_bytes, &cli->error);
    if (status == PM_OK) {
        status = pm_json_vk_parse(cli->context, bytes, n_bytes, path, vk, &cli->error);
    }
    pm_bytes_free(bytes, n_bytes);
    return status;
}

static pm_status vk_from_zkey(struct pm_cli *cli, const char *path, pm_vk **vk) {
    pm_key *key = NULL;
    pm_status status = open_key(cli, path, &key);
    if (status == PM_OK) {
        status = pm_vk_from_key(cli->context, key, vk, &cli->error);
    }
    pm_key_destroy(key);
    return status;
}

static void warn_of_contract(struct pm_cli *cli, const pm_vk *vk) {
    const char *insecurity = pm_cli_insecurity(pm_vk_insecure(vk));
    if (insecurity != NULL) {
        pm_cli_warn(cli, "%s: anyone can forge proofs for this contract", insecurity);
    }
    if (pm_vk_n_public(vk) > SOLIDITY_PUBLIC_MAX) {
        pm_cli_warn(cli,
                    "with %u public signals the contract exceeds what Ethereum deploys (24,576 "
                    "bytes, about %u signals): make their hash the public signal instead",
                    pm_vk_n_public(vk), SOLIDITY_PUBLIC_MAX);
    }
}

pm_status pm_cmd_export_solidity(struct pm_cli *cli) {
    const char *input = cli->files[PM_ROLE_ZKEY], *path = cli->files[PM_ROLE_SOLIDITY];
    pm_vk *vk = NULL;
    struct pm_json_text text = {NULL, 0};
    pm_status status = begin_export(cli, input, path);
    if (status == PM_OK) {
        status =
            is_vkey_file(input) ? vk_from_json(cli, input, &vk) : vk_from_zkey(cli, input, &vk);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = pm_json_solidity_write(vk, &text, &cli->error);
    }
    if (status == PM_OK) {
        const pm_output output = {path, text.bytes, text.n_bytes};
        status = pm_files_write(&output, 1, &cli->control, &cli->error);
    }
    if (status == PM_OK) {
        warn_of_contract(cli, vk);
        describe(cli, "solidity_file", path, pm_vk_curve(vk), pm_vk_n_public(vk));
    }
    pm_json_text_free(&text);
    pm_vk_destroy(vk);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * The whole key as JSON
 * ------------------------------------------------------------------------------------------- */

static pm_status write_key(struct pm_cli *cli, const pm_key *key, const char *path) {
    pm_key_facts facts = {.struct_bytes = (uint32_t)sizeof facts};
    pm_file_writer *writer = NULL;
    pm_status status = pm_file_writer_create(path, &cli->control, &writer, &cli->error);
    if (status == PM_OK) {
        status = pm_json_key_write(key, &cli->control, writer, &cli->error);
    }
    if (status == PM_OK) {
        status = pm_file_writer_publish(writer, &cli->error);
    }
    pm_file_writer_destroy(writer);
    if (status == PM_OK && pm_key_get_facts(key, &facts) == PM_OK) {
        describe(cli, "json_file", path, (pm_curve_id)facts.curve, facts.n_public);
    }
    return status;
}

pm_status pm_cmd_export_json(struct pm_cli *cli) {
    const char *input = cli->files[PM_ROLE_ZKEY], *output = cli->files[PM_ROLE_KEY_JSON];
    pm_key *key = NULL;
    pm_status status = begin_export(cli, input, output);
    if (status == PM_OK) {
        status = open_key(cli, input, &key);
    }
    if (status == PM_OK) {
        const uint64_t start_ns = pm_cli_now_ns();
        pm_cli_listen_for_signals();
        status = write_key(cli, key, output);
        pm_cli_step_done(cli, "export", start_ns);
    }
    pm_key_destroy(key);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Calldata
 * ------------------------------------------------------------------------------------------- */

/* snarkjs takes the public signals first, its verify takes them first too, its prove last: telling
 * the two by their first character spares everybody the question. */
static bool is_array(const char *text, size_t n_bytes) {
    size_t i = 0;
    while (i < n_bytes && strchr(" \t\r\n", text[i]) != NULL && text[i] != '\0') {
        i++;
    }
    return i < n_bytes && text[i] == '[';
}

/* A file's name and bytes. */
struct named_text {
    const char *path;
    void *bytes;
    size_t n_bytes;
};

static pm_status print_calldata(struct pm_cli *cli, const struct named_text *proof_file,
                                const struct named_text *public_file) {
    pm_proof proof = {.struct_bytes = (uint32_t)sizeof proof};
    uint8_t *publics = NULL;
    size_t n_publics = 0;
    struct pm_json_text text = {NULL, 0};
    pm_status status = pm_json_proof_parse(proof_file->bytes, proof_file->n_bytes, proof_file->path,
                                           PM_CURVE_BN254, &proof, &cli->error);
    if (status == PM_OK) {
        status = pm_json_public_parse(public_file->bytes, public_file->n_bytes, public_file->path,
                                      (pm_curve_id)proof.curve, &publics, &n_publics, &cli->error);
    }
    if (status == PM_OK) {
        status = pm_json_calldata_write(&proof, publics, n_publics, &text, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_print(cli, "%s\n", text.bytes);
        (void)json_object_set_new(cli->result, "calldata", json_string(text.bytes));
    }
    pm_json_text_free(&text);
    pm_json_values_free(publics);
    return status;
}

pm_status pm_cmd_export_calldata(struct pm_cli *cli) {
    struct named_text files[2] = {{cli->files[PM_ROLE_PROOF], NULL, 0},
                                  {cli->files[PM_ROLE_PUBLIC], NULL, 0}};
    const char *const paths[] = {files[0].path, files[1].path};
    pm_status status = pm_cli_one_stream(cli, paths, 2, "standard input");
    for (size_t i = 0; status == PM_OK && i < 2; i++) {
        status = pm_file_read(files[i].path, PM_JSON_PUBLIC_BYTES_MAX, &cli->control,
                              &files[i].bytes, &files[i].n_bytes, &cli->error);
    }
    if (status == PM_OK) {
        bool exchanged = is_array(files[0].bytes, files[0].n_bytes) &&
                         !is_array(files[1].bytes, files[1].n_bytes);
        status = print_calldata(cli, &files[exchanged], &files[!exchanged]);
    }
    pm_bytes_free(files[0].bytes, files[0].n_bytes);
    pm_bytes_free(files[1].bytes, files[1].n_bytes);
    return status;
}
