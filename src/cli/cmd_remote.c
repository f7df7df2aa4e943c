/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cli/cmd_remote.c - the verbs of the daemon: proofmilld is executed with the same words.
 *
 * It alone links gRPC, and C++ with it, so that this command needs neither.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define DAEMON "proofmilld"

/* Options that mean the same for every verb, so that they may come before it. */
static bool is_common_switch(const char *word) {
    static const char *const switches[] = {"--json", "--quiet", "-q", "--verbose", "-v"};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(word, switches[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "key list" of the table is known by its first word. */
static bool is_remote_word(const char *word) {
    const size_t n = strlen(word);
    for (size_t i = 0; i < pm_cli_n_verbs; i++) {
        const struct pm_cli_verb *verb = &pm_cli_verb_table[i];
        if (verb->run == pm_cmd_remote && strncmp(verb->name, word, n) == 0 &&
            (verb->name[n] == '\0' || verb->name[n] == ' ')) {
            return true;
        }
    }
    return false;
}

int pm_cli_remote_word(int n, char **arguments) {
    int i = 1;
    while (i < n && is_common_switch(arguments[i])) {
        i++;
    }
    return i < n && arguments[i][0] != '\0' && is_remote_word(arguments[i]) ? i : 0;
}

/* The daemon that was installed with this command; "" if there is none beside it. */
static void find_beside(char path[PATH_BYTES]) {
    const ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - sizeof DAEMON - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        path[0] = '\0';
        return;
    }
    memcpy(slash + 1, DAEMON, sizeof DAEMON);
    if (access(path, X_OK) != 0) {
        path[0] = '\0';
    }
}

/* words end with NULL, and the first is the program's. */
static pm_status execute(struct pm_cli *cli, char **words) {
    char path[PATH_BYTES];
    find_beside(path);
    (void)fflush(stdout);
    if (path[0] != '\0') {
        (void)execv(path, words);
    } else {
        (void)execvp(DAEMON, words);
    }
    if (path[0] == '\0' && errno == ENOENT) {
        return pm_cli_fail(cli, PM_IO, "",
                           "`%s` is a verb of " DAEMON ", which is neither beside this command nor "
                           "in PATH: it comes with a build that has PM_BUILD_DAEMON on, for which "
                           "`tools/setup.sh build` names the packages",
                           words[1]);
    }
    return pm_cli_fail(cli, PM_IO, path[0] != '\0' ? path : DAEMON, "cannot be executed: %s",
                       strerror(errno));
}

pm_status pm_cli_execute_remote(struct pm_cli *cli, int n, char **arguments, int verb) {
    char name[] = DAEMON, **words = calloc((size_t)n + 1, sizeof *words);
    for (int i = 1; i < n; i++) {
        cli->json |= strcmp(arguments[i], "--json") == 0;
    }
    if (words == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, "", "out of memory");
    }
    words[0] = name;
    words[1] = arguments[verb];
    for (int i = 1, at = 2; i < n; i++) {
        if (i != verb) {
            words[at++] = arguments[i];
        }
    }
    const pm_status status = execute(cli, words);
    free(words);
    return status;
}

/* Reached by `help VERB` alone: main() hands the others over before it reads their options. */
pm_status pm_cmd_remote(struct pm_cli *cli) {
    char name[] = DAEMON, option[] = "--help", verb[32], *words[8] = {name};
    size_t n = 1;
    (void)snprintf(verb, sizeof verb, "%s", cli->verb->name);
    for (char *word = verb, *rest = NULL; n < 6; word = NULL) {
        words[n] = strtok_r(word, " ", &rest);
        if (words[n] == NULL) {
            break;
        }
        n++;
    }
    words[n] = option;
    return execute(cli, words);
}
