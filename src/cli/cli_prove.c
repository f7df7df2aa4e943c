/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_prove.c - what the two ways to prove share. */
#include "cli/cli_prove.h"
#include "cli/cli_bellman.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

pm_status pm_cli_proving_report(struct pm_cli *cli, struct pm_cli_proving *run) {
    /* Of several devices, what each has done is told in any case. */
    const bool is_wanted = cli->stats || cli->memory_table || cli->trace_path != NULL ||
                           (cli->device != NULL && strchr(cli->device, ',') != NULL);
    return is_wanted ? pm_report_create(&run->report, &cli->error) : PM_OK;
}

pm_prove_options pm_cli_proving_options(const struct pm_cli *cli,
                                        const struct pm_cli_proving *run) {
    return (pm_prove_options){.struct_bytes = (uint32_t)sizeof(pm_prove_options),
                              .no_self_verify = cli->no_self_verify,
                              .memory_bytes = run->memory_bytes,
                              .form = cli->form,
                              .residency = cli->residency,
                              .b2 = cli->b2,
                              .report = run->report,
                              .all_devices = 1};
}

pm_status pm_cli_proving_publics(struct pm_cli *cli, struct pm_cli_proving *run,
                                 uint64_t n_public) {
    run->n_public = n_public;
    run->publics = calloc((size_t)n_public + 1, PM_FR_BYTES);
    return run->publics != NULL ? PM_OK
                                : pm_cli_fail(cli, PM_NO_MEMORY, "",
                                              "no memory for %" PRIu64 " public signals", n_public);
}

static pm_status make_bytes(struct pm_cli *cli, struct pm_cli_proving *run, bool always_json) {
    const char *proof_path = cli->files[PM_ROLE_PROOF], *public_path = cli->files[PM_ROLE_PUBLIC];
    pm_status status =
        pm_cli_proof_bytes(cli, proof_path, always_json || pm_cli_is_json(proof_path), &run->proof,
                           &run->proof_bytes, &run->n_proof_bytes);
    if (status == PM_OK) {
        status = pm_cli_publics_bytes(cli, public_path, always_json || pm_cli_is_json(public_path),
                                      run->publics, (size_t)run->n_public, &run->public_bytes,
                                      &run->n_public_bytes);
    }
    if (status == PM_OK && cli->trace_path != NULL) {
        status = pm_cli_trace_text(cli, run->report, &run->trace_text);
    }
    return status;
}

pm_status pm_cli_proving_write(struct pm_cli *cli, struct pm_cli_proving *run, bool always_json) {
    const uint64_t start_ns = pm_cli_now_ns();
    pm_status status = make_bytes(cli, run, always_json);
    if (status == PM_OK) {
        const bool has_trace = run->trace_text != NULL;
        const pm_output outputs[] = {
            {cli->files[PM_ROLE_PROOF], run->proof_bytes, run->n_proof_bytes},
            {cli->files[PM_ROLE_PUBLIC], run->public_bytes, run->n_public_bytes},
            {cli->trace_path, run->trace_text, has_trace ? strlen(run->trace_text) : 0}};
        status = pm_files_write(outputs, has_trace ? 3 : 2, &cli->control, &cli->error);
    }
    if (status == PM_OK) {
        pm_cli_step_done(cli, "write", start_ns);
    }
    return status;
}

void pm_cli_proving_failed(struct pm_cli *cli, struct pm_cli_proving *run) {
    if (cli->trace_path == NULL) {
        return;
    }
    const pm_error why = cli->error;
    pm_status status = pm_cli_trace_text(cli, run->report, &run->trace_text);
    if (status == PM_OK) {
        const pm_output output = {cli->trace_path, run->trace_text, strlen(run->trace_text)};
        status = pm_files_write(&output, 1, &cli->control, &cli->error);
    }
    if (status != PM_OK) {
        pm_cli_warn(cli, "no trace: %s", cli->error.message);
    }
    cli->error = why;
}

static void tell_of_memory(struct pm_cli *cli, const struct pm_cli_proving *run) {
    const struct pm_cli_holdings holdings = {.key_mapped_bytes = run->facts.mapped_bytes,
                                             .key_memory_bytes = run->facts.memory_bytes,
                                             .json_bytes =
                                                 run->n_proof_bytes + run->n_public_bytes};
    pm_cli_memory(cli, run->report, &holdings);
}

void pm_cli_proving_tell(struct pm_cli *cli, const struct pm_cli_proving *run) {
    json_t *json = cli->result;
    (void)json_object_set_new(json, "curve",
                              json_string(pm_curve_name((pm_curve_id)run->facts.curve)));
    (void)json_object_set_new(json, "n_public", json_integer((json_int_t)run->n_public));
    (void)json_object_set_new(json, "proof_file", pm_cli_json_string(cli->files[PM_ROLE_PROOF]));
    (void)json_object_set_new(json, "public_file", pm_cli_json_string(cli->files[PM_ROLE_PUBLIC]));
    if (cli->trace_path != NULL) {
        (void)json_object_set_new(json, "trace_file", pm_cli_json_string(cli->trace_path));
    }
    if (cli->prove_stats.device != NULL) {
        (void)json_object_set_new(json, "device", json_string(cli->prove_stats.device));
    }
    (void)json_object_set_new(json, "self_verified", json_boolean(!cli->no_self_verify));
    if (cli->memory_table) {
        tell_of_memory(cli, run);
    }
}

void pm_cli_proving_free(struct pm_cli_proving *run) {
    free(run->trace_text);
    free(run->proof_bytes);
    free(run->public_bytes);
    free(run->publics);
    pm_key_destroy(run->key);
    pm_report_destroy(run->report);
}
