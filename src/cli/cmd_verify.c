/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_verify.c - proofmill verify VKEY PUBLIC PROOF. */
#include "cli/cli_bellman.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* What a run owns. */
struct verification {
    struct pm_cli_bytes vk_text, public_text, proof_text;
    pm_vk *vk;
    uint8_t *publics; /* n_proofs times those of a statement */
    size_t n_publics, n_proofs;
    pm_proof *proofs;
};

static pm_status read_files(struct pm_cli *cli, struct verification *run) {
    const struct {
        const char *path;
        size_t max_bytes;
        struct pm_cli_bytes *text;
    } files[] = {{cli->files[PM_ROLE_VKEY], PM_JSON_VK_BYTES_MAX, &run->vk_text},
                 {cli->files[PM_ROLE_PUBLIC], PM_JSON_PUBLIC_BYTES_MAX, &run->public_text},
                 {cli->files[PM_ROLE_PROOF], PM_JSON_PROOF_BYTES_MAX, &run->proof_text}};
    const char *const paths[] = {files[0].path, files[1].path, files[2].path};
    pm_status status = pm_cli_one_stream(cli, paths, 3, "standard input");
    for (size_t i = 0; status == PM_OK && i < 3; i++) {
        files[i].text->path = files[i].path;
        status = pm_file_read(files[i].path, files[i].max_bytes, &cli->control,
                              &files[i].text->bytes, &files[i].text->n_bytes, &cli->error);
    }
    return status;
}

/* A statement after another, each as long as the key says. */
static pm_status match_counts(struct pm_cli *cli, const struct verification *run) {
    const size_t need = (size_t)pm_vk_n_public(run->vk) * run->n_proofs;
    if (run->n_publics == need) {
        return PM_OK;
    }
    if (run->n_proofs == 1) {
        return pm_cli_fail(cli, PM_COUNT, cli->files[PM_ROLE_PUBLIC],
                           "expected %zu public signals, found %zu", need, run->n_publics);
    }
    return pm_cli_fail(cli, PM_COUNT, cli->files[PM_ROLE_PUBLIC],
                       "expected %zu public signals, %u for each of %zu proofs, found %zu", need,
                       pm_vk_n_public(run->vk), run->n_proofs, run->n_publics);
}

static pm_status parse_files(struct pm_cli *cli, struct verification *run) {
    uint64_t start_ns = pm_cli_now_ns();
    pm_status status = pm_cli_parse_vk(cli, &run->vk_text, &run->vk);
    if (status != PM_OK) {
        return status;
    }
    pm_curve_id curve = pm_vk_curve(run->vk);
    status = pm_cli_parse_values(cli, &run->public_text, curve, &run->publics, &run->n_publics);
    if (status == PM_OK) {
        status = pm_cli_parse_proofs(cli, &run->proof_text, curve, &run->proofs, &run->n_proofs);
    }
    if (status == PM_OK) {
        status = match_counts(cli, run);
    }
    if (status == PM_OK && run->proofs[0].curve != (uint32_t)curve) {
        status = pm_cli_fail(
            cli, PM_CURVE, cli->files[PM_ROLE_PROOF], "the proof is on %s, the verifying key on %s",
            pm_curve_name((pm_curve_id)run->proofs[0].curve), pm_curve_name(curve));
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "load", start_ns);
    }
    return status;
}

static void warn_of_insecure_key(struct pm_cli *cli, const pm_vk *vk) {
    const char *const why = pm_cli_insecurity(pm_vk_insecure(vk));
    if (why != NULL) {
        pm_cli_warn(cli, "%s: %s: anyone can forge proofs for it", cli->files[PM_ROLE_VKEY], why);
    }
}

static pm_status judge(struct pm_cli *cli, struct verification *run) {
    uint64_t start_ns = pm_cli_now_ns();
    pm_status status =
        run->n_proofs == 1
            ? pm_verify(cli->context, run->vk, run->publics, run->n_publics, run->proofs,
                        &cli->error)
            : pm_verify_batch(cli->context, run->vk, run->publics, run->n_publics / run->n_proofs,
                              run->proofs, run->n_proofs, &cli->error);
    if (status != PM_OK && status != PM_PROOF_INVALID) {
        return status;
    }
    pm_cli_step_done(cli, "verify", start_ns);
    warn_of_insecure_key(cli, run->vk);
    (void)json_object_set_new(cli->result, "valid", json_boolean(status == PM_OK));
    (void)json_object_set_new(cli->result, "n_proofs", json_integer((json_int_t)run->n_proofs));
    (void)json_object_set_new(cli->result, "curve",
                              json_string(pm_curve_name(pm_vk_curve(run->vk))));
    if (status == PM_PROOF_INVALID) {
        pm_cli_print(cli, "%s", cli->quiet ? "" : "Invalid proof\n");
    } else {
        pm_cli_print(cli, "%s", cli->quiet || cli->drop_in ? "" : "OK!\n");
    }
    return status;
}

pm_status pm_cmd_verify(struct pm_cli *cli) {
    struct verification run = {.vk = NULL};
    pm_status status = read_files(cli, &run);
    if (status == PM_OK) {
        pm_cli_choose_threads(cli, run.public_text.n_bytes);
        status = pm_cli_start(cli);
    }
    if (status == PM_OK) {
        status = parse_files(cli, &run);
    }
    if (status == PM_OK) {
        status = judge(cli, &run);
    }
    pm_vk_destroy(run.vk);
    free(run.publics);
    free(run.proofs);
    pm_bytes_free(run.vk_text.bytes, run.vk_text.n_bytes);
    pm_bytes_free(run.public_text.bytes, run.public_text.n_bytes);
    pm_bytes_free(run.proof_text.bytes, run.proof_text.n_bytes);
    return status;
}
