/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_simulate.c - proofmill simulate SCENARIO */
#include "cli/cmd_simulate.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What came out of a run. */
struct outcome {
    struct pm_sim_result result;
};

static double seconds(uint64_t ns) {
    return (double)ns / 1e9;
}

/* From the first arrival to the end, shared among the proofs. */
static double seconds_a_proof(const struct pm_sim_result *result) {
    return result->n_done == 0 ? 0 : seconds(result->end_ns) / (double)result->n_done;
}

/* Between its first and its last use, how much of the time a device was not computing. */
static double idle_share(const struct pm_sim_result *result) {
    return result->steady_us == 0 ? 0 : 1 - (double)result->busy_us / (double)result->steady_us;
}

/* ---------------------------------------------------------------------------------------------
 * Text
 * ------------------------------------------------------------------------------------------- */

static void print_head(const struct pm_cli *cli) {
    pm_cli_print(cli, "%-28s %8s %7s %10s %10s %10s %9s %9s %9s %6s\n", "run", "machines", "proofs",
                 "s a proof", "median s", "99 % s", "held GiB", "reserved", "VRAM GiB", "idle %");
}

static double gib(uint64_t bytes) {
    return (double)bytes / (double)(UINT64_C(1) << 30);
}

static void print_run(const struct pm_cli *cli, const struct pm_scenario_run *run,
                      const struct pm_sim_result *result) {
    const struct pm_sim_latency *all = &result->latency[PM_PRIORITIES];
    pm_cli_print(cli, "%-28s %8u %7" PRIu64 " %10.3f %10.1f %10.1f %9.1f %9.1f %9.1f %6.1f\n",
                 run->name, run->sim.machine.count, result->n_done, seconds_a_proof(result),
                 seconds(all->p50_ns), seconds(all->p99_ns), gib(result->peak_memory_bytes),
                 gib(result->peak_reserved_bytes[PM_KIND_HOST] +
                     result->peak_reserved_bytes[PM_KIND_PINNED]),
                 gib(result->peak_held_bytes[PM_KIND_DEVICE]), 100 * idle_share(result));
    for (uint32_t priority = PM_PRIORITIES; priority-- > 0;) {
        const struct pm_sim_latency *latency = &result->latency[priority];
        if (latency->n != 0 && latency->n != all->n) {
            pm_cli_print(cli,
                         "  %-26s %8s %7" PRIu64 " %10s %10.1f %10.1f   (mean %.1f, most %.1f)\n",
                         pm_priority_name((enum pm_priority)priority), "", latency->n, "",
                         seconds(latency->p50_ns), seconds(latency->p99_ns),
                         seconds(latency->mean_ns), seconds(latency->max_ns));
        }
    }
    if (result->n_refused != 0) {
        pm_cli_print(cli, "  %" PRIu64 " refused: %s\n", result->n_refused, result->refusal);
    }
    if (result->n_expired != 0) {
        pm_cli_print(cli, "  %" PRIu64 " not done before their deadline\n", result->n_expired);
    }
    if (result->n_loads != 0 || result->n_evictions != 0) {
        pm_cli_print(cli, "  %" PRIu64 " loads of keys, %" PRIu64 " evictions\n", result->n_loads,
                     result->n_evictions);
    }
}

/* ---------------------------------------------------------------------------------------------
 * JSON
 * ------------------------------------------------------------------------------------------- */

static void put_number(json_t *object, const char *name, uint64_t value) {
    (void)json_object_set_new(object, name, json_integer((json_int_t)value));
}

static void put_real(json_t *object, const char *name, double value) {
    (void)json_object_set_new(object, name, json_real(value));
}

static json_t *latency_json(const struct pm_sim_latency *latency) {
    json_t *json = json_object();
    put_number(json, "proofs", latency->n);
    put_real(json, "mean_s", seconds(latency->mean_ns));
    put_real(json, "p50_s", seconds(latency->p50_ns));
    put_real(json, "p90_s", seconds(latency->p90_ns));
    put_real(json, "p99_s", seconds(latency->p99_ns));
    put_real(json, "max_s", seconds(latency->max_ns));
    return json;
}

static json_t *bytes_json(const uint64_t bytes[PM_SCHED_KINDS]) {
    json_t *json = json_object();
    put_number(json, "host", bytes[PM_KIND_HOST]);
    put_number(json, "pinned", bytes[PM_KIND_PINNED]);
    put_number(json, "device", bytes[PM_KIND_DEVICE]);
    return json;
}

static json_t *run_json(const struct pm_scenario_run *run, const struct pm_sim_result *result) {
    json_t *json = json_object(), *latencies = json_object();
    (void)json_object_set_new(json, "run", pm_cli_json_string(run->name));
    put_number(json, "machines", run->sim.machine.count);
    put_number(json, "proofs", result->n_done);
    put_number(json, "partitions", result->n_parts);
    put_number(json, "refused", result->n_refused);
    put_number(json, "expired", result->n_expired);
    if (result->n_refused != 0) {
        (void)json_object_set_new(json, "refusal", pm_cli_json_string(result->refusal));
    }
    put_real(json, "end_s", seconds(result->end_ns));
    put_real(json, "seconds_a_proof", seconds_a_proof(result));
    put_real(json, "proofs_an_hour",
             result->end_ns == 0 ? 0 : 3600 * (double)result->n_done / seconds(result->end_ns));
    (void)json_object_set_new(latencies, "all", latency_json(&result->latency[PM_PRIORITIES]));
    for (uint32_t priority = 0; priority < PM_PRIORITIES; priority++) {
        if (result->latency[priority].n != 0) {
            (void)json_object_set_new(latencies, pm_priority_name((enum pm_priority)priority),
                                      latency_json(&result->latency[priority]));
        }
    }
    (void)json_object_set_new(json, "latency", latencies);
    (void)json_object_set_new(json, "peak_held_bytes", bytes_json(result->peak_held_bytes));
    (void)json_object_set_new(json, "peak_reserved_bytes", bytes_json(result->peak_reserved_bytes));
    put_number(json, "peak_memory_bytes", result->peak_memory_bytes);
    put_real(json, "device_busy_s", (double)result->busy_us / 1e6);
    put_real(json, "device_idle", idle_share(result));
    put_number(json, "key_loads", result->n_loads);
    put_number(json, "key_evictions", result->n_evictions);
    return json;
}

/* ---------------------------------------------------------------------------------------------
 * The verb
 * ------------------------------------------------------------------------------------------- */

static pm_status write_plot(struct pm_cli *cli, const struct pm_scenario *scenario,
                            const struct outcome *outcomes) {
    struct pm_sim_plot plots[PM_SCENARIO_RUNS_MAX];
    char *text = NULL;
    size_t n_bytes = 0;
    for (uint32_t i = 0; i < scenario->n_runs; i++) {
        plots[i] = (struct pm_sim_plot){scenario->runs[i].name, &scenario->runs[i].sim,
                                        &outcomes[i].result};
    }
    pm_status status =
        pm_sim_plot(scenario->title, plots, scenario->n_runs, &text, &n_bytes, &cli->error);
    if (status == PM_OK) {
        const pm_output output = {cli->svg_path, text, n_bytes};
        status = pm_files_write(&output, 1, &cli->control, &cli->error);
    }
    pm_sim_plot_free(text);
    return status;
}

static pm_status run_all(struct pm_cli *cli, const struct pm_scenario *scenario,
                         struct outcome *outcomes) {
    json_t *runs = json_array(), *json = json_object();
    pm_status status = PM_OK;
    (void)json_object_set_new(json, "title", pm_cli_json_string(scenario->title));
    (void)json_object_set_new(json, "runs", runs);
    (void)json_object_set_new(cli->result, "simulation", json);
    pm_cli_print(cli, "%s\n\n", scenario->title);
    print_head(cli);
    for (uint32_t i = 0; status == PM_OK && i < scenario->n_runs; i++) {
        const struct pm_scenario_run *run = &scenario->runs[i];
        status = pm_sim_run(&run->sim, &cli->control, &outcomes[i].result, &cli->error);
        if (status == PM_OK) {
            print_run(cli, run, &outcomes[i].result);
            (void)json_array_append_new(runs, run_json(run, &outcomes[i].result));
        }
    }
    return status == PM_OK && cli->svg_path != NULL ? write_plot(cli, scenario, outcomes) : status;
}

static pm_status read_scenario(struct pm_cli *cli, struct pm_scenario *scenario) {
    const char *path = cli->files[PM_ROLE_FILE];
    void *bytes = NULL;
    size_t n_bytes = 0;
    pm_status status =
        pm_file_read(path, PM_SCENARIO_BYTES_MAX, &cli->control, &bytes, &n_bytes, &cli->error);
    if (status == PM_OK) {
        status = pm_scenario_parse(bytes, n_bytes, path, scenario, &cli->error);
    }
    pm_bytes_free(bytes, n_bytes);
    return status;
}

pm_status pm_cmd_simulate(struct pm_cli *cli) {
    const char *path = cli->files[PM_ROLE_FILE];
    pm_status status = cli->svg_path != NULL ? pm_cli_check_output(cli, cli->svg_path) : PM_OK;
    if (status == PM_OK && cli->svg_path != NULL) {
        status = pm_files_distinct(&path, 1, &cli->svg_path, 1, &cli->error);
    }
    if (status != PM_OK) {
        return status;
    }
    struct pm_scenario *scenario = calloc(1, sizeof *scenario);
    struct outcome *outcomes = calloc(PM_SCENARIO_RUNS_MAX, sizeof *outcomes);
    if (scenario == NULL || outcomes == NULL) {
        status = pm_cli_fail(cli, PM_NO_MEMORY, "", "no memory for a scenario");
    } else {
        status = read_scenario(cli, scenario);
    }
    if (status == PM_OK) {
        pm_cli_listen_for_signals();
        status = run_all(cli, scenario, outcomes);
    }
    free(outcomes);
    free(scenario);
    return status;
}
