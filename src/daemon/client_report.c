/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_report.c - what the client tells: errors, JSON, and the command's exit codes. */
#include "daemon/client_common.h"
#include "daemon/daemon.h"

#include "json/exit_code.h"
#include "json/json_memory.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The codes of the command, doc/cli.md. */
int pm_client_exit_code(const struct pm_client *client, pm_status status) {
    if (status != PM_CANCELLED) {
        return pm_exit_code(status);
    }
    return client->job_was_cancelled ? PM_EXIT_JOB_CANCELLED : PM_EXIT_SIGNAL + pm_client_signal();
}

pm_status pm_client_status_named(const char *name) {
    static const struct {
        const char *name;
        pm_status status;
    } all[] = {
#define NAME_AND_STATUS(word, number, sentence) {#word, PM_##word},
        PM_STATUS_MAP(NAME_AND_STATUS)
#undef NAME_AND_STATUS
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return all[i].status;
        }
    }
    return PM_INTERNAL;
}

/* ---------------------------------------------------------------------------------------------
 * Sentences
 * ------------------------------------------------------------------------------------------- */

static pm_status set_error(struct pm_client *client, pm_status status, const char *format,
                           va_list arguments) {
    char raw[sizeof client->error.message];
    (void)vsnprintf(raw, sizeof raw, format, arguments); /* may quote the error before it */
    client->error = (pm_error)PM_ERROR_INIT;
    client->error.status = (int32_t)status;
    client->told = NULL;
    (void)pm_client_printable(raw, client->error.message, sizeof client->error.message);
    return status;
}

pm_status pm_client_usage(struct pm_client *client, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)set_error(client, PM_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    if (client->verb != NULL) {
        pm_client_hint(client, "see `proofmill %s --help`", client->verb->name);
    }
    return PM_INVALID_ARGUMENT;
}

pm_status pm_client_fail(struct pm_client *client, pm_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)set_error(client, status, format, arguments);
    va_end(arguments);
    return status;
}

void pm_client_hint(struct pm_client *client, const char *format, ...) {
    char raw[sizeof client->hint];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    (void)pm_client_printable(raw, client->hint, sizeof client->hint);
}

void pm_client_say(const struct pm_client *client, const char *format, ...) {
    char raw[1024], line[1024];
    if (client->options.quiet) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "proofmill: %s\n", pm_client_printable(raw, line, sizeof line));
}

void pm_client_print(const struct pm_client *client, const char *format, ...) {
    if (client->options.json) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments); /* a full disk shows when stdout is flushed, at the end */
    va_end(arguments);
}

void pm_client_tell(const struct pm_client *client, const char *format, ...) {
    if (client->options.json || client->options.quiet) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
}

pm_status pm_client_print_text(struct pm_client *client, struct pm_client_text *text) {
    const bool is_short = text->is_short;
    if (!is_short && text->bytes != NULL) {
        pm_client_print(client, "%s", text->bytes);
    }
    pm_client_text_free(text);
    return is_short ? pm_client_fail(client, PM_NO_MEMORY, "out of memory") : PM_OK;
}

/* ---------------------------------------------------------------------------------------------
 * JSON
 * ------------------------------------------------------------------------------------------- */

void pm_client_result(struct pm_client *client, json_t *json) {
    (void)json_object_update(client->result, json);
    json_decref(json);
}

/* False when there is no memory for all of it: half a result would be a wrong one. It is ASCII, so
 * that no name can be a command to a terminal. */
static bool print_json(const json_t *json) {
    char *line = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    const bool whole = line != NULL && pm_json_memory_failures() == 0;
    if (whole) {
        (void)puts(line);
    }
    free(line);
    return whole;
}

pm_status pm_client_json_line(struct pm_client *client, json_t *json) {
    const bool whole = print_json(json);
    json_decref(json);
    if (!whole) {
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    return fflush(stdout) == 0
               ? PM_OK
               : pm_client_fail(client, PM_IO, "standard output: %s", strerror(errno));
}

/* ---------------------------------------------------------------------------------------------
 * The end
 * ------------------------------------------------------------------------------------------- */

static const char *signal_name(int number) {
    return number == SIGHUP    ? "SIGHUP"
           : number == SIGINT  ? "SIGINT"
           : number == SIGTERM ? "SIGTERM"
                               : "a signal";
}

int pm_client_finish(struct pm_client *client, pm_status status) {
    const pm_error *error = &client->error;
    const bool is_told = status != PM_OK && client->told != NULL;
    const int code = is_told ? client->told_code : pm_client_exit_code(client, status);
    const char *sentence = error->message[0] != '\0' ? error->message : pm_status_sentence(status);
    if (status == PM_CANCELLED && !client->job_was_cancelled) {
        (void)fprintf(stderr, "proofmill: stopped by %s%s%s\n", signal_name(pm_client_signal()),
                      client->hint[0] != '\0' ? "; " : "", client->hint);
    } else if (status != PM_OK) {
        char file[sizeof error->file];
        (void)pm_client_printable(error->file, file, sizeof file);
        (void)fprintf(stderr, "proofmill: %s%s%s%s%s\n", file, file[0] != '\0' ? ": " : "",
                      sentence, client->hint[0] != '\0' ? "; " : "", client->hint);
    }
    if (client->options.json && !client->no_result) {
        json_t *json = client->result;
        (void)json_object_set_new(json, "status",
                                  json_string(is_told ? client->told : pm_status_name(status)));
        (void)json_object_set_new(json, "exit_code", json_integer(code));
        if (status != PM_OK) {
            json_t *about = json_object();
            (void)json_object_set_new(about, "message", json_string(sentence));
            if (client->hint[0] != '\0') {
                (void)json_object_set_new(about, "hint", json_string(client->hint));
            }
            (void)json_object_set_new(json, "error", about);
        }
        if (!print_json(json) && status == PM_OK) {
            (void)fprintf(stderr, "proofmill: no memory for the result\n");
            return PM_EXIT_MEMORY;
        }
    }
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
        if (errno == EPIPE) { /* as if SIGPIPE had ended it: the reader has seen enough */
            return PM_EXIT_SIGNAL + SIGPIPE;
        }
        (void)fprintf(stderr, "proofmill: standard output: %s\n",
                      errno != 0 ? strerror(errno) : "cannot write");
        return PM_EXIT_IO;
    }
    return code;
}
