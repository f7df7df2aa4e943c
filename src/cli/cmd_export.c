/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_export.c - proofmill export vkey ZKEY VKEY, proofmill export calldata PROOF PUBLIC. */
#include "cli/cli.h"
#include "json/json.h"

#include <string.h>

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
        status = pm_files_write(&output, 1, &cli->error);
    }
    if (status == PM_OK) {
        (void)json_object_set_new(cli->result, "vkey_file", pm_cli_json_string(path));
        (void)json_object_set_new(cli->result, "curve",
                                  json_string(pm_curve_name(pm_vk_curve(vk))));
        (void)json_object_set_new(cli->result, "n_public", json_integer(pm_vk_n_public(vk)));
    }
    pm_json_text_free(&text);
    pm_vk_destroy(vk);
    return status;
}

pm_status pm_cmd_export_vkey(struct pm_cli *cli) {
    const char *input = cli->files[PM_ROLE_ZKEY], *output = cli->files[PM_ROLE_VKEY];
    pm_key_options options = {
        .struct_bytes = (uint32_t)sizeof options, .load = cli->load, .check = cli->check};
    pm_key *key = NULL;
    if (cli->json && strcmp(output, "-") == 0) {
        return pm_cli_usage(cli, "with --json no file can be standard output");
    }
    pm_status status = pm_files_distinct(&input, 1, &output, 1, &cli->error);
    if (status == PM_OK) {
        status = pm_cli_check_output(cli, output);
    }
    if (status == PM_OK) {
        status = pm_cli_start(cli);
    }
    if (status == PM_OK) {
        status = pm_key_open(cli->context, input, &options, &cli->control, &key, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = write_vkey(cli, key, output);
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
        status = pm_file_read(files[i].path, PM_JSON_PUBLIC_BYTES_MAX, &files[i].bytes,
                              &files[i].n_bytes, &cli->error);
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
