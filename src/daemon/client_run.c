/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_run.c - a verb of the client, from its arguments to an exit code. */
#include "daemon/client_common.h"
#include "daemon/daemon.h"
#include "json/json_memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stop_signal;

static void on_stop(int number) {
    stop_signal = number;
}

int pm_client_signal(void) {
    return stop_signal;
}

_Static_assert(sizeof(sig_atomic_t) == sizeof(int), "pm_control.cancel points at it");

const pm_control *pm_client_control(void) {
    static const pm_control control = {.struct_bytes = (uint32_t)sizeof control,
                                       .cancel = &stop_signal};
    return &control;
}

/* SA_RESETHAND: the second Ctrl-C kills. */
void pm_client_listen_for_signals(void) {
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        /* nohup and background jobs of a shell ignore some of them on purpose. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

pm_status pm_client_absolute(struct pm_client *client, const char *path, char **absolute) {
    struct pm_client_text text = {0};
    *absolute = NULL;
    if (path[0] != '/' && !client->is_local) {
        return pm_client_usage(client,
                               "%s: over TCP a file is named by its absolute path on the "
                               "daemon's machine",
                               path);
    }
    if (path[0] != '/') {
        char *folder = getcwd(NULL, 0);
        if (folder == NULL) {
            return pm_client_fail(client, PM_IO, "%s: the current folder has no name: %s", path,
                                  strerror(errno));
        }
        pm_client_text_add(&text, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
        free(folder);
    }
    pm_client_text_add(&text, "%s", path);
    if (text.is_short) {
        pm_client_text_free(&text);
        return pm_client_fail(client, PM_NO_MEMORY, "out of memory");
    }
    *absolute = text.bytes;
    return PM_OK;
}

/* --address, else what the environment says, else where a daemon listens by default. */
static pm_status choose_address(struct pm_client *client, const char *address,
                                const char *runtime_dir) {
    const char *chosen = client->options.address != NULL ? client->options.address : address;
    if (chosen == NULL || chosen[0] == '\0') {
        return pm_config_default_address(runtime_dir, client->address, sizeof client->address,
                                         &client->error);
    }
    if (strlen(chosen) >= sizeof client->address) {
        return pm_client_usage(client, "the address of the daemon is too long: %s", chosen);
    }
    (void)strcpy(client->address, chosen);
    return PM_OK;
}

static pm_status run_verb(struct pm_client *client, int n, char **arguments, const char *address,
                          const char *runtime_dir) {
    pm_status status = pm_client_read_arguments(client, n, arguments);
    if (status != PM_OK) {
        return status;
    }
    if (client->options.help) {
        client->no_result = true; /* help is for people */
        pm_client_print_help(client);
        return PM_OK;
    }
    status = choose_address(client, address, runtime_dir);
    if (status != PM_OK) {
        return status;
    }
    if (client->options.verbose) {
        pm_client_say(client, "the daemon is asked at %s", client->address);
    }
    pm_client_listen_for_signals();
    status = pm_client_connect(client);
    if (status == PM_OK) {
        status = client->verb->run(client);
    }
    pm_client_disconnect(client);
    return status;
}

int pm_client_run(int n, char **arguments, const char *address, const char *runtime_dir) {
    (void)signal(SIGPIPE, SIG_IGN);
    (void)pm_json_memory_failures(); /* counts from here on */
    const char **words = calloc((size_t)n + 1, sizeof *words);
    struct pm_client client = {
        .error = PM_ERROR_INIT, .result = json_object(), .options.words = words};
    int code = 5;
    if (words == NULL || client.result == NULL) {
        (void)fputs("proofmill: out of memory\n", stderr);
    } else {
        code = pm_client_finish(&client, run_verb(&client, n, arguments, address, runtime_dir));
    }
    json_decref(client.result);
    free(words);
    return code;
}
