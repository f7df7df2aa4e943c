/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_devices.c - proofmill devices: what can make proofs here. */
#include "cli/cli.h"

#include <proofmill/experimental.h>

#include <inttypes.h>
#include <stdio.h>

/* ---------------------------------------------------------------------------------------------
 * The CPU
 * ------------------------------------------------------------------------------------------- */

/* Every kind of arithmetic that this CPU runs, the fastest last. */
static pm_status list_arithmetic(struct pm_cli *cli, json_t *names) {
    for (uint32_t kind = PM_ARITHMETIC_PORTABLE; kind <= PM_ARITHMETIC_IFMA; kind++) {
        const pm_context_options options = {
            .struct_bytes = (uint32_t)sizeof options, .threads = 1, .arithmetic = kind};
        pm_context *context = NULL;
        const pm_status status = pm_context_create(&options, &context, &cli->error);
        if (status == PM_OK) {
            (void)json_array_append_new(names, json_string(pm_context_arithmetic(context)));
        }
        pm_context_destroy(context);
        if (status != PM_OK && status != PM_UNSUPPORTED) {
            return status;
        }
    }
    return PM_OK;
}

static pm_status tell_cpu(struct pm_cli *cli, json_t *devices) {
    json_t *json = json_object(), *names = json_array(), *name;
    size_t i;
    const pm_status status = list_arithmetic(cli, names);
    (void)json_object_set_new(json, "device", json_string("cpu"));
    (void)json_object_set_new(json, "threads", json_integer(pm_threads_available()));
    pm_cli_print(cli, "%-8s %u thread%s, arithmetic:", "cpu", pm_threads_available(),
                 pm_threads_available() == 1 ? "" : "s");
    json_array_foreach(names, i, name) {
        pm_cli_print(cli, " %s", json_string_value(name));
    }
    pm_cli_print(cli, "\n");
    (void)json_object_set_new(json, "arithmetic", names);
    (void)json_array_append_new(devices, json);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Cards
 * ------------------------------------------------------------------------------------------- */

static void print_card(const struct pm_cli *cli, const char *device, const pm_device_facts *facts) {
    char total[PM_CLI_SIZE_CHARS], left[PM_CLI_SIZE_CHARS];
    pm_cli_print(cli,
                 "%-8s %s, %s of memory, %s of it free, compute capability %u.%u, %u "
                 "multiprocessors, CUDA %u.%u\n",
                 device, facts->name, pm_cli_size_text(facts->total_bytes, total),
                 pm_cli_size_text(facts->free_bytes, left), facts->major, facts->minor,
                 facts->n_multiprocessors, facts->driver / 1000, facts->driver % 1000 / 10);
}

static json_t *card_json(const pm_device_facts *facts) {
    return json_pack("{s:o,s:i,s:i,s:i,s:i,s:i,s:I,s:I}", "name", pm_cli_json_string(facts->name),
                     "major", (int)facts->major, "minor", (int)facts->minor, "multiprocessors",
                     (int)facts->n_multiprocessors, "driver", (int)facts->driver, "runtime",
                     (int)facts->runtime, "total_bytes", (json_int_t)facts->total_bytes,
                     "free_bytes", (json_int_t)facts->free_bytes);
}

/* A card that cannot be used is listed with the reason. */
static void tell_card(struct pm_cli *cli, uint32_t ordinal, json_t *devices) {
    char device[24];
    pm_error error = PM_ERROR_INIT;
    pm_device_facts facts = {.struct_bytes = (uint32_t)sizeof facts};
    (void)snprintf(device, sizeof device, "cuda:%u", ordinal);
    const pm_status status =
        pm_device_describe(cli->environment.gpu_library, ordinal, &facts, &error);
    json_t *json = status == PM_OK ? card_json(&facts) : json_object();
    if (status == PM_OK) {
        print_card(cli, device, &facts);
    } else {
        pm_cli_print(cli, "%-8s cannot be used: %s\n", device, error.message);
        (void)json_object_set_new(json, "unusable_because", pm_cli_json_string(error.message));
    }
    (void)json_object_set_new(json, "device", json_string(device));
    (void)json_array_append_new(devices, json);
}

pm_status pm_cmd_devices(struct pm_cli *cli) {
    json_t *devices = json_array();
    pm_error error = PM_ERROR_INIT;
    uint32_t n = 0;
    (void)json_object_set_new(cli->result, "devices", devices);
    const pm_status status = tell_cpu(cli, devices);
    if (status != PM_OK) {
        return status;
    }
    if (pm_device_count(cli->environment.gpu_library, &n, &error) != PM_OK) {
        pm_cli_print(cli, "%-8s none: %s\n", "cuda", error.message);
        (void)json_object_set_new(cli->result, "no_cuda_because",
                                  pm_cli_json_string(error.message));
        return PM_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        tell_card(cli, i, devices);
    }
    return PM_OK;
}
