/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_options.c - the command line of `proofmilld serve`, and what it is put on top of.
 */
#include "daemon/daemon_internal.h"

#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* An option's value goes to a key of the configuration, or to a field of ours. */
static const struct {
    const char *name;
    const char *argument; /* NULL: none */
    const char *key;
    const char *value; /* of an option without an argument */
    const char *what;
} option_table[] = {
    {"--config", "FILE", NULL, NULL, "the configuration (see below)"},
    {"--listen", "ADDRESS", "daemon.listen", NULL,
     "serve gRPC there: unix:///path, 127.0.0.1:9820; may be given again"},
    {"--status-listen", "ADDRESS", "daemon.status_listen", NULL,
     "serve HTTP there: metrics, status, a page; \"\" for nowhere"},
    {"--insecure-listen", NULL, "daemon.insecure_listen", "true",
     "let other machines connect without certificates"},
    {"--state-dir", "FOLDER", "daemon.state_dir", NULL, "keep the journal there"},
    {"--devices", "LIST", "gpus.devices", NULL, "auto, or cpu,cuda:0,..."},
    {"--budget", "SIZE", "memory.total_budget", NULL, "memory for proofs and keys: 64GiB, or auto"},
    {"--key", "NAME=PATH", NULL, NULL, "register a key: .zkey or .params; may be given again"},
    {"--no-guardian", NULL, "daemon.guardian", "false",
     "serve in this process: nobody starts it again after a fault"},
    {"--log-level", "LEVEL", "logging.level", NULL, "warning, info or debug"},
    {"--print-config", NULL, NULL, NULL, "print the configuration, every key explained, and end"},
    {"--check-config", NULL, NULL, NULL, "say whether the configuration is fine, and end"},
    {"--salvage", NULL, NULL, NULL, "save what is left of a damaged journal, say what is not, end"},
    {"--version", NULL, NULL, NULL, "print the version"},
    {"--help", NULL, NULL, NULL, "print this"},
};
#define N_OPTIONS (sizeof option_table / sizeof option_table[0])

void pm_daemon_print_help(void) {
    (void)printf("proofmilld: Groth16 proofs as a service\n\n"
                 "Usage: proofmilld [serve] [OPTION]...\n"
                 "       proofmilld submit|await|watch|status|top|cancel|jobs|key|device ...\n"
                 "\nOptions of serve:\n");
    for (size_t i = 0; i < N_OPTIONS; i++) {
        char left[64];
        (void)snprintf(left, sizeof left, "%s %s", option_table[i].name,
                       option_table[i].argument != NULL ? option_table[i].argument : "");
        (void)printf("  %-26s %s\n", left, option_table[i].what);
    }
    (void)printf(
        "\nWithout --config the file is $XDG_CONFIG_HOME/proofmill/proofmill.toml\n"
        "(~/.config without that variable), or else /etc/proofmill/proofmill.toml; none is "
        "needed.\n"
        "Options go before it; --print-config shows what comes of both.\n"
        "\nSignals: SIGTERM and SIGINT end it once jobs have ended or daemon.drain_timeout has\n"
        "passed; a second one ends it at once; what has not ended goes on at the next start.\n"
        "SIGHUP reads the configuration again: keys and the level of the log are followed, and\n"
        "what needs a restart is said.\n"
        "\nThe process that is started guards another one that serves, hands signals on to it,\n"
        "and starts it again when a fault ends it; --no-guardian for debuggers.\n"
        "\nEnds with the codes that `proofmill help` lists, and with 75 when "
        "daemon.restart_on_hang\n"
        "asks for a restart and no guardian does it; with 128 and the number of the signal when\n"
        "the serving process was never ready and a signal ended it five times. The other verbs "
        "speak to a daemon that runs; `proofmilld VERB "
        "--help`\n"
        "describes each.\n");
}

/* ---- The command line ----------------------------------------------------------------------- */

static pm_status add(struct pm_daemon_options *options, const char *option, const char *key,
                     const char *value, pm_error *error) {
    struct pm_daemon_option *set =
        realloc(options->set, (options->n_set + 1) * sizeof *options->set);
    PM_FAIL_IF(set == NULL, error, PM_NO_MEMORY, "out of memory");
    options->set = set;
    set[options->n_set++] = (struct pm_daemon_option){option, key, value};
    return PM_OK;
}

static pm_status apply(struct pm_daemon_options *options, size_t index, const char *value,
                       pm_error *error) {
    const char *name = option_table[index].name;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--print-config", &options->print_config},
                 {"--check-config", &options->check_config},
                 {"--salvage", &options->salvage},
                 {"--version", &options->version},
                 {"--help", &options->help}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].flag = true;
            return PM_OK;
        }
    }
    if (strcmp(name, "--config") == 0) {
        PM_FAIL_IF(options->config_path != NULL, error, PM_INVALID_ARGUMENT,
                   "--config is given twice");
        options->config_path = value;
        return PM_OK;
    }
    return add(options, name, option_table[index].key,
               option_table[index].value != NULL ? option_table[index].value : value, error);
}

/* *used_next: the argument behind it is its value. */
static pm_status read_option(struct pm_daemon_options *options, const char *text, const char *next,
                             bool *used_next, pm_error *error) {
    const char *equals = strchr(text, '=');
    const size_t n_name = equals != NULL ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (strlen(option_table[i].name) != n_name ||
            memcmp(option_table[i].name, text, n_name) != 0) {
            continue;
        }
        const char *value = equals != NULL ? equals + 1 : NULL;
        PM_FAIL_IF(option_table[i].argument == NULL && value != NULL, error, PM_INVALID_ARGUMENT,
                   "%s takes no value", option_table[i].name);
        if (option_table[i].argument != NULL && value == NULL) {
            PM_FAIL_IF(next == NULL, error, PM_INVALID_ARGUMENT, "%s needs a value: %s",
                       option_table[i].name, option_table[i].argument);
            value = next;
            *used_next = true;
        }
        return apply(options, i, value, error);
    }
    PM_FAIL(error, PM_INVALID_ARGUMENT, "there is no option %.60s", text);
}

pm_status pm_daemon_read_options(int n, char **arguments, struct pm_daemon_options *options,
                                 pm_error *error) {
    *options = (struct pm_daemon_options){0};
    pm_status status = PM_OK;
    for (int i = 0; i < n && status == PM_OK; i++) {
        bool used_next = false;
        if (strcmp(arguments[i], "-h") == 0) {
            options->help = true;
        } else if (strncmp(arguments[i], "--", 2) == 0) {
            status = read_option(options, arguments[i], i + 1 < n ? arguments[i + 1] : NULL,
                                 &used_next, error);
        } else {
            status = pm_error_set(error, PM_INVALID_ARGUMENT, "`serve` has no use for %.60s",
                                  arguments[i]);
        }
        i += used_next;
    }
    if (status != PM_OK) {
        free(options->set);
        options->set = NULL;
    }
    return status;
}

/* ---- The configuration ---------------------------------------------------------------------- */

/* The folders that systemd made for the service; the first where there are several. */
static pm_status use_service_folders(const struct pm_daemon_environment *environment,
                                     struct pm_config *config, pm_error *error) {
    char text[PATH_BYTES];
    const char *runtime = environment->service_runtime_dir;
    const char *state = environment->service_state_dir;
    if (runtime != NULL && runtime[0] == '/') {
        (void)snprintf(text, sizeof text, "unix://%.*s/proofmill.sock", (int)strcspn(runtime, ":"),
                       runtime);
        PM_TRY(pm_config_set(config, "daemon.listen", text, true, "RUNTIME_DIRECTORY", error));
    }
    if (state != NULL && state[0] == '/') {
        (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(state, ":"), state);
        PM_TRY(pm_config_set(config, "daemon.state_dir", text, false, "STATE_DIRECTORY", error));
    }
    return PM_OK;
}

static bool try_path(const char *folder, const char *name, char *path) {
    const int n =
        folder != NULL && folder[0] == '/' ? snprintf(path, PATH_BYTES, "%s%s", folder, name) : -1;
    return n > 0 && n < PATH_BYTES && access(path, F_OK) == 0;
}

/* The file without which nothing goes missing; false: there is none. */
static bool find_file(const struct pm_daemon_environment *environment, char *path) {
    static const char name[] = "/proofmill/proofmill.toml";
    const bool has_config_home =
        environment->config_home != NULL && environment->config_home[0] == '/';
    if (has_config_home ? try_path(environment->config_home, name, path)
                        : try_path(environment->home, "/.config/proofmill/proofmill.toml", path)) {
        return true;
    }
    return try_path(environment->system_config, "", path);
}

/* "cpu,cuda:0" */
static pm_status apply_list(struct pm_config *config, const struct pm_daemon_option *option,
                            pm_error *error) {
    char word[64];
    bool is_first = true;
    for (const char *at = option->value; at != NULL; is_first = false) {
        const size_t n = strcspn(at, ",");
        PM_FAIL_IF(n >= sizeof word, error, PM_INVALID_ARGUMENT, "%s: that is no list of devices",
                   option->option);
        (void)snprintf(word, sizeof word, "%.*s", (int)n, at);
        PM_TRY(pm_config_set(config, option->key, word, is_first, option->option, error));
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return PM_OK;
}

static pm_status apply_key(struct pm_config *config, const struct pm_daemon_option *option,
                           pm_error *error) {
    char name[PM_ENGINE_NAME_BYTES];
    const char *equals = strchr(option->value, '=');
    PM_FAIL_IF(equals == NULL || (size_t)(equals - option->value) >= sizeof name, error,
               PM_INVALID_ARGUMENT, "--key takes NAME=PATH, the name at most %zu characters",
               sizeof name - 1);
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - option->value), option->value);
    return pm_config_set_key(config, name, equals + 1, option->option, error);
}

static pm_status apply_options(const struct pm_daemon_options *options, struct pm_config *config,
                               pm_error *error) {
    bool has_listen = false;
    for (size_t i = 0; i < options->n_set; i++) {
        const struct pm_daemon_option *option = &options->set[i];
        if (option->key == NULL) {
            PM_TRY(apply_key(config, option, error));
        } else if (strcmp(option->key, "gpus.devices") == 0) {
            PM_TRY(apply_list(config, option, error));
        } else {
            const bool is_listen = strcmp(option->key, "daemon.listen") == 0;
            PM_TRY(pm_config_set(config, option->key, option->value, is_listen && !has_listen,
                                 option->option, error));
            has_listen |= is_listen;
        }
    }
    return PM_OK;
}

/* A relative folder is meant from where the daemon was started. */
static pm_status make_absolute(struct pm_config *config, pm_error *error) {
    char here[PATH_BYTES], whole[PATH_BYTES];
    if (config->state_dir[0] == '/' || config->state_dir[0] == '\0') {
        return PM_OK;
    }
    if (getcwd(here, sizeof here) == NULL) {
        return pm_error_set_errno(error, PM_IO, errno, config->state_dir,
                                  "the folder that it is relative to is not there");
    }
    const int n = snprintf(whole, sizeof whole, "%s/%s", here, config->state_dir);
    PM_FAIL_IF(n < 0 || (size_t)n >= sizeof whole, error, PM_INVALID_ARGUMENT,
               "daemon.state_dir: too long a path");
    return pm_config_set(config, "daemon.state_dir", whole, false, "daemon.state_dir", error);
}

pm_status pm_daemon_load_config(const struct pm_daemon_options *options,
                                const struct pm_daemon_environment *environment,
                                struct pm_config *config, pm_error *error) {
    char found[PATH_BYTES];
    const char *path = options->config_path;
    PM_TRY(pm_config_init(config, environment->runtime_dir, environment->state_home,
                          environment->home, error));
    pm_status status = use_service_folders(environment, config, error);
    if (status == PM_OK && environment->gpu_library != NULL) {
        status = pm_config_set(config, "gpus.library", environment->gpu_library, false,
                               "PROOFMILL_GPU_LIBRARY", error);
    }
    if (path == NULL && find_file(environment, found)) {
        path = found;
    }
    if (status == PM_OK && path != NULL) {
        status = pm_config_read(config, path, error);
    }
    if (status == PM_OK) {
        status = apply_options(options, config, error);
    }
    if (status == PM_OK) {
        status = make_absolute(config, error);
    }
    if (status == PM_OK) {
        status = pm_config_check(config, error);
    }
    if (status != PM_OK) {
        pm_config_free(config);
    }
    return status;
}
