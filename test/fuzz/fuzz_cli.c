/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any words as a command line, one a line of the input: they are refused with a printable sentence,
 * or a verb is chosen and every file it needs has a name and every number is inside its range.
 * Nothing is run.
 */
#include "fuzz/harness.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 24u

/* The command's main file, which is not linked here, has these. */
void pm_cli_listen_for_signals(void) {
}
int pm_cli_signal(void) {
    return 0;
}

/* Cuts text, which ends with a NUL, at its newlines. */
static int split(char *text, char *words[WORDS_MAX + 1]) {
    int n = 0;
    for (char *at = text; at != NULL && n < (int)WORDS_MAX;) {
        words[n++] = at;
        at = strchr(at, '\n');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    words[n] = NULL;
    return n;
}

static void check_accepted(const struct pm_cli *cli) {
    FUZZ_REQUIRE(cli->threads <= 4096 && cli->timeout_s <= 1000000000);
    FUZZ_REQUIRE(cli->arithmetic <= PM_ARITHMETIC_IFMA && cli->load <= PM_LOAD_READ);
    FUZZ_REQUIRE(cli->form <= PM_VECTORS_TWO && cli->residency <= PM_RESIDENCY_STREAM &&
                 cli->b2 <= PM_B2_SCHEDULE_COPY);
    FUZZ_REQUIRE((cli->mem_text == NULL) == (cli->mem_bytes == 0));
    FUZZ_REQUIRE(cli->trace_path == NULL || cli->trace_path[0] != '\0');
    for (size_t i = 0; i < cli->verb->n_slots && !cli->verb->many; ++i) {
        const char *file = cli->files[cli->verb->slots[i].role];
        FUZZ_REQUIRE(file != NULL && file[0] != '\0');
    }
}

static pm_status read_words(struct pm_cli *cli, int n, char **words) {
    pm_status status = pm_cli_read_arguments(cli, n, words);
    if (status == PM_OK && cli->n_words > 0) {
        status = pm_cli_find_verb(cli);
    }
    if (status == PM_OK && cli->verb != NULL) {
        status = pm_cli_assign_files(cli);
    }
    if (status == PM_OK && cli->verb != NULL) {
        check_accepted(cli);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    char *text = malloc(n_bytes + 1), *words[WORDS_MAX + 1];
    const char *plain[WORDS_MAX + 1];
    FUZZ_REQUIRE(text != NULL);
    if (n_bytes > 0) {
        memcpy(text, bytes, n_bytes);
    }
    text[n_bytes] = '\0';
    struct pm_cli cli = {.error = PM_ERROR_INIT, .result = json_object(), .words = plain};
    const int n = split(text, words);
    const struct pm_cli_verb *named = pm_cli_verb_named(words[0]);
    FUZZ_REQUIRE(named == NULL || strcmp(named->name, words[0]) == 0);
    cli.drop_in = fuzz_hash(bytes, n_bytes) % 4 == 0;
    const pm_status status = read_words(&cli, n, words);
    FUZZ_REQUIRE(fuzz_succeeded(status, &cli.error) || status == PM_INVALID_ARGUMENT);
    json_decref(cli.result);
    free(text);
    return 0;
}
