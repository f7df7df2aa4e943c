/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_report.c - what the user is told: notes, warnings, errors, statistics, JSON, exit codes.
 */
#include "cli/cli.h"

#include "json/exit_code.h"
#include "json/json_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------------
 * Exit codes
 * ------------------------------------------------------------------------------------------- */

static const struct {
    int code;
    const char *sentence;
} exit_codes[] = {
    {0, "done; the proof is valid"},
    {1, "the proof is invalid (and nothing else)"},
    {PM_EXIT_USAGE, "the command line is wrong, or an output is an input"},
    {PM_EXIT_BAD_INPUT, "an input file is malformed, not supported, or does not fit the others"},
    {PM_EXIT_IO, "a file could not be read or written"},
    {PM_EXIT_MEMORY, "out of memory or threads, or more memory than is allowed"},
    {PM_EXIT_DEVICE, "no usable device, or it failed"},
    {PM_EXIT_UNSATISFIED,
     "the witness does not satisfy the circuit, or the key is damaged: no proof"},
    {PM_EXIT_FAULT, "a fault inside proofmill"},
    {PM_EXIT_TIMEOUT, "--timeout passed"},
    {PM_EXIT_SIGNAL + 1, "stopped by SIGHUP"},
    {PM_EXIT_SIGNAL + 2, "stopped by SIGINT (Ctrl-C)"},
    {PM_EXIT_SIGNAL + 15, "stopped by SIGTERM"},
};

bool pm_cli_exit_code(size_t i, int *code, const char **sentence) {
    if (i >= sizeof exit_codes / sizeof exit_codes[0]) {
        return false;
    }
    *code = exit_codes[i].code;
    *sentence = exit_codes[i].sentence;
    return true;
}

static int exit_code_of(pm_status status) {
    return status == PM_CANCELLED ? PM_EXIT_SIGNAL + pm_cli_signal() : pm_exit_code(status);
}

/* ---------------------------------------------------------------------------------------------
 * Lines
 * ------------------------------------------------------------------------------------------- */

uint64_t pm_cli_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock on Linux */
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Words of the command line and names of files may hold any bytes: control characters must not
 * reach a terminal or break a line of a log. */
static void make_printable(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
}

/* stderr cannot be reported on if it fails. */
static void put_line(struct pm_cli *cli, const char *prefix, const char *line) {
    pm_cli_progress_clear(cli);
    (void)fprintf(stderr, "proofmill: %s%s\n", prefix, line);
}

void pm_cli_warn(struct pm_cli *cli, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_printable(line);
    json_t *warnings = json_object_get(cli->result, "warnings");
    if (warnings == NULL) {
        (void)json_object_set_new(cli->result, "warnings", json_array());
        warnings = json_object_get(cli->result, "warnings");
    }
    (void)json_array_append_new(warnings, pm_cli_json_string(line));
    if (!cli->quiet) {
        put_line(cli, "warning: ", line);
    }
}

void pm_cli_say(struct pm_cli *cli, const char *format, ...) {
    char line[1024];
    if (cli->quiet) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_printable(line);
    put_line(cli, "", line);
}

void pm_cli_note(struct pm_cli *cli, const char *format, ...) {
    if (cli->verbosity == 0 || cli->quiet) {
        return;
    }
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_printable(line);
    put_line(cli, "", line);
}

void pm_cli_print(const struct pm_cli *cli, const char *format, ...) {
    if (cli->json) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments); /* a full disk shows when stdout is flushed, at the end */
    va_end(arguments);
}

/* JSON is UTF-8 and a file's name is any bytes: those that do not fit are shown as '?'. */
json_t *pm_cli_json_string(const char *string) {
    json_t *json = json_string(string);
    char *copy = json == NULL ? strdup(string) : NULL;
    if (copy != NULL) {
        for (char *c = copy; *c != '\0'; c++) {
            if ((unsigned char)*c >= 0x80) {
                *c = '?';
            }
        }
        json = json_string(copy);
        free(copy);
    }
    return json;
}

/* ---------------------------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------------------------- */

static void set_error(struct pm_cli *cli, pm_status status, const char *file, const char *format,
                      va_list arguments) {
    cli->error = (pm_error)PM_ERROR_INIT;
    cli->error.status = (int32_t)status;
    (void)snprintf(cli->error.file, sizeof cli->error.file, "%s", file);
    (void)vsnprintf(cli->error.message, sizeof cli->error.message, format, arguments);
    make_printable(cli->error.message);
}

pm_status pm_cli_usage(struct pm_cli *cli, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set_error(cli, PM_INVALID_ARGUMENT, "", format, arguments);
    va_end(arguments);
    return PM_INVALID_ARGUMENT;
}

pm_status pm_cli_fail(struct pm_cli *cli, pm_status status, const char *file, const char *format,
                      ...) {
    va_list arguments;
    va_start(arguments, format);
    set_error(cli, status, file, format, arguments);
    va_end(arguments);
    return status;
}

pm_status pm_cli_one_stream(struct pm_cli *cli, const char *const *paths, size_t n,
                            const char *stream) {
    size_t n_streams = 0;
    for (size_t i = 0; i < n; i++) {
        n_streams += strcmp(paths[i], "-") == 0;
    }
    return n_streams > 1 ? pm_cli_usage(cli, "only one file can be %s", stream) : PM_OK;
}

pm_status pm_cli_check_output(struct pm_cli *cli, const char *path) {
    if (strcmp(path, "-") == 0) {
        return PM_OK;
    }
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        return pm_cli_fail(cli, PM_IO, path, "is a directory, not a file to write to");
    }
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);
    char *folder = slash == NULL ? strdup(".") : slash == path ? strdup("/") : strndup(path, n);
    if (folder == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, path, "out of memory");
    }
    int failure = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    if (failure != 0) {
        return pm_cli_fail(cli, PM_IO, path, "its folder cannot be written to: %s",
                           strerror(failure));
    }
    return PM_OK;
}

/* What to do next, where the sentence alone does not say it. */
static const char *hint_of(const struct pm_cli *cli, pm_status status) {
    switch (status) {
    case PM_SELF_VERIFY:
        return "find out why with `proofmill check R1CS WTNS` and `proofmill check ZKEY`";
    case PM_WITNESS_MISMATCH:
        return "was the witness made for this circuit?";
    case PM_INVALID_ARGUMENT:
        return cli->verb != NULL ? "see `proofmill help`" : NULL;
    case PM_INTERNAL:
        return "please report this";
    default:
        return NULL;
    }
}

static void print_error(struct pm_cli *cli, pm_status status) {
    const pm_error *error = &cli->error;
    const char *hint = hint_of(cli, status);
    char offset[40] = "", file[sizeof error->file];
    (void)snprintf(file, sizeof file, "%s", error->file);
    make_printable(file);
    if (error->offset != PM_NO_OFFSET) {
        (void)snprintf(offset, sizeof offset, " (offset %" PRIu64 ")", error->offset);
    }
    pm_cli_progress_clear(cli);
    (void)fprintf(stderr, "proofmill: %s%s%s%s%s%s\n", file, file[0] != '\0' ? ": " : "",
                  error->message[0] != '\0' ? error->message : pm_status_sentence(status), offset,
                  hint != NULL ? "; " : "", hint != NULL ? hint : "");
}

static json_t *error_json(const struct pm_cli *cli, pm_status status) {
    const pm_error *error = &cli->error;
    const char *hint = hint_of(cli, status);
    json_t *json = json_object();
    (void)json_object_set_new(json, "message",
                              pm_cli_json_string(error->message[0] != '\0'
                                                     ? error->message
                                                     : pm_status_sentence(status)));
    (void)json_object_set_new(
        json, "file", error->file[0] != '\0' ? pm_cli_json_string(error->file) : json_null());
    (void)json_object_set_new(
        json, "offset",
        error->offset != PM_NO_OFFSET ? json_integer((json_int_t)error->offset) : json_null());
    if (error->need != 0 || error->have != 0) {
        (void)json_object_set_new(json, "need", json_integer((json_int_t)error->need));
        (void)json_object_set_new(json, "have", json_integer((json_int_t)error->have));
    }
    if (hint != NULL) {
        (void)json_object_set_new(json, "hint", json_string(hint));
    }
    return json;
}

/* ---------------------------------------------------------------------------------------------
 * Statistics
 * ------------------------------------------------------------------------------------------- */

void pm_cli_step_done(struct pm_cli *cli, const char *name, uint64_t start_ns) {
    uint64_t wall_ns = pm_cli_now_ns() - start_ns;
    if (cli->n_steps < PM_CLI_STEPS_MAX) {
        cli->steps[cli->n_steps++] = (struct pm_cli_step){name, start_ns, wall_ns};
    }
    pm_cli_note(cli, "%s: %.1f ms", name, (double)wall_ns / 1e6);
}

static uint64_t peak_resident_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* Zero where the number of constraints is not known. */
static double bytes_a_constraint(const struct pm_cli *cli, uint64_t bytes) {
    return cli->n_constraints != 0 ? (double)bytes / (double)cli->n_constraints : 0;
}

static void print_device_stats(const pm_prove_stats *prove) {
    (void)fprintf(stderr, "%-20s %12s: %s\n", "device", prove->device, prove->device_why);
    if (prove->device_peak_bytes != 0) {
        (void)fprintf(stderr, "%-20s %12.1f MiB for proving beside the key\n", "device memory",
                      (double)prove->device_peak_bytes / 1048576);
    }
}

/* Of several devices, each step of each. */
static void print_devices(const json_t *devices) {
    size_t i;
    const json_t *device;
    json_array_foreach(devices, i, device) {
        const char *name, *at = json_string_value(json_object_get(device, "device"));
        json_t *ms;
        (void)fprintf(stderr, "%-20s %12.1f MiB for proving, %.1f MiB of the key\n", at,
                      json_number_value(json_object_get(device, "peak_bytes")) / 1048576,
                      json_number_value(json_object_get(device, "key_bytes")) / 1048576);
        json_object_foreach(json_object_get(device, "steps_ms"), name, ms) {
            (void)fprintf(stderr, "  %-18s %12.3f ms\n", name, json_number_value(ms));
        }
    }
}

static void print_stats(struct pm_cli *cli, uint64_t total_ns) {
    const pm_prove_stats *prove = &cli->prove_stats;
    pm_cli_progress_clear(cli);
    for (size_t i = 0; i < cli->n_steps; i++) {
        (void)fprintf(stderr, "%-20s %12.3f ms\n", cli->steps[i].name,
                      (double)cli->steps[i].wall_ns / 1e6);
        for (uint32_t k = 0; k < prove->n_phases && strcmp(cli->steps[i].name, "prove") == 0; k++) {
            (void)fprintf(stderr, "  %-18s %12.3f ms", prove->phases[k].name,
                          (double)prove->phases[k].wall_ns / 1e6);
            if (cli->phase_bytes[k] != 0) {
                (void)fprintf(stderr, "  %8.1f bytes a constraint",
                              bytes_a_constraint(cli, cli->phase_bytes[k]));
            }
            (void)fprintf(stderr, "\n");
        }
    }
    (void)fprintf(stderr, "%-20s %12.3f ms\n", "total", (double)total_ns / 1e6);
    (void)fprintf(stderr, "%-20s %12.1f MiB resident", "peak memory",
                  (double)peak_resident_bytes() / 1048576);
    if (prove->peak_bytes != 0) {
        (void)fprintf(stderr, ", %.1f MiB for proving beside key and witness",
                      (double)prove->peak_bytes / 1048576);
        if (cli->n_constraints != 0) {
            (void)fprintf(stderr, " (%.1f bytes a constraint)",
                          bytes_a_constraint(cli, prove->peak_bytes));
        }
    }
    (void)fprintf(stderr, "\n");
    if (prove->device != NULL) {
        print_device_stats(prove);
    }
    print_devices(json_object_get(cli->result, "devices"));
    if (cli->context != NULL) {
        (void)fprintf(stderr, "%-20s %12u, %s arithmetic\n", "threads",
                      pm_context_threads(cli->context), pm_context_arithmetic(cli->context));
    }
}

static json_t *times_json(const struct pm_cli_step *steps, size_t n) {
    json_t *json = json_object();
    for (size_t i = 0; i < n; i++) {
        (void)json_object_set_new(json, steps[i].name, json_real((double)steps[i].wall_ns / 1e6));
    }
    return json;
}

static json_t *stats_json(const struct pm_cli *cli, uint64_t total_ns) {
    const pm_prove_stats *prove = &cli->prove_stats;
    json_t *json = json_object(), *phases = json_object(), *bytes = json_object();
    (void)json_object_set_new(json, "total_ms", json_real((double)total_ns / 1e6));
    (void)json_object_set_new(json, "steps_ms", times_json(cli->steps, cli->n_steps));
    for (uint32_t k = 0; k < prove->n_phases; k++) {
        (void)json_object_set_new(phases, prove->phases[k].name,
                                  json_real((double)prove->phases[k].wall_ns / 1e6));
        (void)json_object_set_new(bytes, prove->phases[k].name,
                                  json_real(bytes_a_constraint(cli, cli->phase_bytes[k])));
    }
    (void)json_object_set_new(json, "phases_ms", phases);
    (void)json_object_set_new(json, "phases_bytes_a_constraint", bytes);
    (void)json_object_set_new(json, "n_constraints", json_integer((json_int_t)cli->n_constraints));
    (void)json_object_set_new(json, "prove_planned_peak_bytes",
                              json_integer((json_int_t)prove->planned_peak_bytes));
    (void)json_object_set_new(json, "divergences", json_integer(prove->n_divergences));
    (void)json_object_set_new(json, "peak_resident_bytes",
                              json_integer((json_int_t)peak_resident_bytes()));
    (void)json_object_set_new(json, "prove_peak_bytes",
                              json_integer((json_int_t)prove->peak_bytes));
    if (prove->device != NULL) {
        (void)json_object_set_new(json, "device", json_string(prove->device));
        (void)json_object_set_new(json, "device_why", pm_cli_json_string(prove->device_why));
        (void)json_object_set_new(json, "device_peak_bytes",
                                  json_integer((json_int_t)prove->device_peak_bytes));
    }
    if (cli->context != NULL) {
        (void)json_object_set_new(json, "threads",
                                  json_integer((json_int_t)pm_context_threads(cli->context)));
        (void)json_object_set_new(json, "arithmetic",
                                  json_string(pm_context_arithmetic(cli->context)));
    }
    return json;
}

/* ---------------------------------------------------------------------------------------------
 * Beginning and end
 * ------------------------------------------------------------------------------------------- */

static void on_log(void *user, pm_log_level level, const char *sentence) {
    struct pm_cli *cli = user;
    if (level == PM_LOG_WARNING) {
        pm_cli_warn(cli, "%s", sentence);
    } else if (level == PM_LOG_INFO || cli->verbosity > 1) {
        pm_cli_note(cli, "%s", sentence);
    }
}

/* Where two threads and one take as long: 0.3 ms of 4 are lost at 3 KiB, a seventh won at 750. */
#define THREADS_FROM_BYTES (256u * 1024u)

void pm_cli_choose_threads(struct pm_cli *cli, uint64_t input_bytes) {
    if (cli->threads == 0 && input_bytes > 0 && input_bytes < THREADS_FROM_BYTES) {
        cli->threads = 1;
    }
}

pm_status pm_cli_start(struct pm_cli *cli) {
    pm_context_options options = {.struct_bytes = (uint32_t)sizeof options,
                                  .threads = cli->threads,
                                  .arithmetic = cli->arithmetic,
                                  .gpu_library = cli->environment.gpu_library,
                                  .vram_bytes = cli->vram_bytes};
    cli->control.log = on_log;
    if (!cli->quiet && isatty(STDERR_FILENO)) {
        cli->control.progress = pm_cli_progress;
    }
    pm_status status = pm_cli_choose_device(cli);
    if (status != PM_OK) {
        return status;
    }
    options.device = cli->device;
    status = pm_context_create(&options, &cli->context, &cli->error);
    if (status != PM_OK && cli->device_from != NULL) {
        (void)snprintf(cli->error.file, sizeof cli->error.file, "%s", cli->device_from);
    }
    if (status == PM_OK) {
        pm_cli_note(cli, "%u threads, %s arithmetic", pm_context_threads(cli->context),
                    pm_context_arithmetic(cli->context));
    }
    return status;
}

static const char *signal_name(int number) {
    switch (number) {
    case SIGHUP:
        return "SIGHUP";
    case SIGINT:
        return "SIGINT";
    case SIGTERM:
        return "SIGTERM";
    default:
        return "a signal";
    }
}

/* False when there is no memory for all of it: half a result would be a wrong one. */
static bool print_json_result(struct pm_cli *cli, pm_status status, int code, uint64_t total_ns) {
    json_t *json = cli->result;
    (void)json_object_set_new(json, "status", json_string(pm_status_name(status)));
    (void)json_object_set_new(json, "exit_code", json_integer(code));
    if (status != PM_OK && status != PM_PROOF_INVALID) {
        (void)json_object_set_new(json, "error", error_json(cli, status));
    }
    if (cli->stats) {
        (void)json_object_set_new(json, "stats", stats_json(cli, total_ns));
    }
    char *line = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    const bool whole = line != NULL && pm_json_memory_failures() == 0;
    if (whole) {
        (void)puts(line); /* a full disk shows when stdout is flushed */
    }
    free(line);
    return whole;
}

int pm_cli_finish(struct pm_cli *cli, pm_status status) {
    uint64_t total_ns = pm_cli_now_ns() - cli->start_ns;
    int code = exit_code_of(status);
    pm_cli_progress_clear(cli);
    if (status == PM_CANCELLED) {
        (void)pm_cli_fail(cli, status, "", "stopped by %s; nothing was written",
                          signal_name(pm_cli_signal()));
    }
    if (status != PM_OK && status != PM_PROOF_INVALID) {
        print_error(cli, status);
    }
    const bool is_told = status != PM_OK && status != PM_PROOF_INVALID; /* the error, above */
    if (cli->json && !print_json_result(cli, status, code, total_ns) && !is_told) {
        (void)fprintf(stderr, "proofmill: no memory for the result\n");
        return PM_EXIT_MEMORY;
    }
    if (!cli->json && cli->stats) {
        print_stats(cli, total_ns);
    }
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
        (void)fprintf(stderr, "proofmill: standard output: %s\n",
                      errno != 0 ? strerror(errno) : "cannot write");
        return PM_EXIT_IO;
    }
    return code;
}

const char *pm_cli_insecurity(uint32_t flags) {
    if ((flags & PM_INSECURE_DEVELOPMENT) != 0) {
        return "this is a development key, whose secrets are known";
    }
    if ((flags & PM_INSECURE_DELTA_IS_GAMMA) != 0) {
        return "delta equals gamma, so nobody has contributed to this key";
    }
    if ((flags & PM_INSECURE_DELTA_IS_GENERATOR) != 0) {
        return "delta is the generator, so nobody has contributed to this key";
    }
    return NULL;
}
