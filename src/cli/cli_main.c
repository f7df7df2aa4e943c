/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_main.c - the command: from the command line to an exit code. */
#include "cli/cli.h"
#include "json/json_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written by the signal handler, read by the library through pm_control.cancel. */
static volatile sig_atomic_t stop_signal;

_Static_assert(sizeof(sig_atomic_t) == sizeof(int), "pm_control.cancel points at it");

static void on_stop(int number) {
    stop_signal = number;
}

/* SA_RESETHAND: the second Ctrl-C kills. */
void pm_cli_listen_for_signals(void) {
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

int pm_cli_signal(void) {
    return stop_signal;
}

/* The drop-in names of rapidsnark, by which a link may call us. */
static const char *drop_in_verb(const char *program) {
    const char *slash = strrchr(program, '/');
    const char *base = slash != NULL ? slash + 1 : program;
    if (strcmp(base, "prover") == 0) {
        return "prove";
    }
    return strcmp(base, "verifier") == 0 ? "verify" : NULL;
}

static pm_status choose_verb(struct pm_cli *cli, const char *program) {
    const char *verb = drop_in_verb(program);
    if (verb != NULL) {
        cli->verb = pm_cli_verb_named(verb);
        cli->drop_in = true;
        return PM_OK;
    }
    if (cli->version && cli->n_words == 0) {
        cli->verb = pm_cli_verb_named("version");
        return PM_OK;
    }
    if (cli->n_words == 0) {
        if (!cli->help) {
            return pm_cli_usage(cli, "no verb; `proofmill help` lists them");
        }
        cli->verb = pm_cli_verb_named("help");
        return PM_OK;
    }
    return pm_cli_find_verb(cli);
}

static pm_status run(struct pm_cli *cli, int n, char **arguments) {
    const int remote =
        n > 0 && drop_in_verb(arguments[0]) == NULL ? pm_cli_remote_word(n, arguments) : 0;
    if (remote != 0) {
        return pm_cli_execute_remote(cli, n, arguments, remote);
    }
    pm_status status = pm_cli_read_arguments(cli, n - 1, arguments + 1);
    if (status == PM_OK) {
        status = choose_verb(cli, n > 0 ? arguments[0] : "");
    }
    if (status != PM_OK) {
        return status;
    }
    if (cli->help) {
        return pm_cmd_help(cli);
    }
    if (cli->timeout_s != 0) {
        cli->control.deadline_ns = cli->start_ns + cli->timeout_s * UINT64_C(1000000000);
    }
    status = pm_cli_assign_files(cli);
    if (status == PM_OK) {
        status = pm_guard_install(&cli->error);
    }
    return status == PM_OK ? cli->verb->run(cli) : status;
}

/* A standard stream that the caller has closed stays unusable, instead of becoming the next file
 * that is opened: a key read as standard input, or a message written into a proof. */
static void occupy_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            /* The lowest free number is this one; the wrong direction makes each use of it fail. */
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int n, char **arguments) {
    occupy_closed_streams();
    (void)signal(SIGXFSZ, SIG_IGN);  /* a file that grows too large is an error of its write */
    (void)pm_json_memory_failures(); /* counts from here on */
    const char **words = calloc((size_t)n + 1, sizeof *words);
    struct pm_cli cli = {
        .error = PM_ERROR_INIT,
        .start_ns = pm_cli_now_ns(),
        .control = {.struct_bytes = (uint32_t)sizeof(pm_control), .cancel = &stop_signal},
        .prove_stats = {.struct_bytes = (uint32_t)sizeof(pm_prove_stats)},
        .result = json_object(),
        .words = words,
        .system_root = "",
        .environment = {.device = getenv("PROOFMILL_DEVICE"),
                        .no_gpu = getenv("PROOFMILL_NO_GPU"),
                        .gpu_library = getenv("PROOFMILL_GPU_LIBRARY")},
    };
    cli.control.user = &cli;
    if (cli.result == NULL || words == NULL) {
        (void)fputs("proofmill: out of memory\n", stderr);
        return 5;
    }
    int code = pm_cli_finish(&cli, run(&cli, n, arguments));
    pm_context_destroy(cli.context);
    json_decref(cli.result);
    free((void *)words);
    return code;
}
