/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_options.c - the options, as a table, and the words between them. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct pm_cli_option pm_cli_option_table[] = {
    {"zkey", 0, PM_GROUP_FILES, PM_ROLE_ZKEY, "FILE", "the proving key"},
    {"witness", 0, PM_GROUP_FILES, PM_ROLE_WITNESS, "FILE", "the witness"},
    {"wtns", 0, PM_GROUP_FILES, PM_ROLE_WITNESS, "FILE", NULL},
    {"proof", 0, PM_GROUP_FILES, PM_ROLE_PROOF, "FILE", "the proof"},
    {"public", 0, PM_GROUP_FILES, PM_ROLE_PUBLIC, "FILE", "the public signals"},
    {"inputs", 0, PM_GROUP_FILES, PM_ROLE_PUBLIC, "FILE", NULL},
    {"vkey", 0, PM_GROUP_FILES, PM_ROLE_VKEY, "FILE", "the verifying key"},
    {"vk", 0, PM_GROUP_FILES, PM_ROLE_VKEY, "FILE", NULL},
    {"r1cs", 0, PM_GROUP_FILES, PM_ROLE_R1CS, "FILE", "the constraint system"},
    {"ptau", 0, PM_GROUP_FILES, PM_ROLE_PTAU, "FILE", "the powers of tau"},
    {"solidity", 0, PM_GROUP_FILES, PM_ROLE_SOLIDITY, "FILE", "the contract"},
    {"key-json", 0, PM_GROUP_FILES, PM_ROLE_KEY_JSON, "FILE", "the proving key as JSON"},
    {"threads", 't', PM_GROUP_COMPUTE, -1, "N",
     "threads (default: all that affinity and cgroup allow; one for a small key)"},
    {"arithmetic", 0, PM_GROUP_COMPUTE, -1, "best|portable|adx|ifma",
     "field arithmetic (default: best)"},
    {"timeout", 0, PM_GROUP_COMPUTE, -1, "SECONDS", "give up after so long"},
    {"stats", 0, PM_GROUP_COMPUTE, -1, NULL, "print times and peak memory"},
    {"load", 0, PM_GROUP_KEY, -1, "map|read", "map the key (default), or read it into memory"},
    {"check", 0, PM_GROUP_KEY, -1, "none|fast|full",
     "check the key's points when it is opened (default: none)"},
    {"cache", 0, PM_GROUP_KEY, -1, NULL,
     "keep the decoded points of bellman's parameters beside them, for the next time"},
    {"mem", 0, PM_GROUP_MEMORY, -1, "SIZE",
     "the most memory to use, as 2GiB, 512M or bytes"},
    {"form", 0, PM_GROUP_MEMORY, -1, "any|three|two",
     "vectors of the quotient: three are faster, two take a third less"},
    {"residency", 0, PM_GROUP_MEMORY, -1, "any|keep|stream",
     "keep the key's pages in memory, or give them back behind the reader"},
    {"b2", 0, PM_GROUP_MEMORY, -1, "any|start|later|copy",
     "the sum over G2: at once, later from the witness, or later from a copy"},
    {"system-root", 0, PM_GROUP_MEMORY, -1, "DIR", NULL},
    {"memory", 0, PM_GROUP_REPORT, -1, NULL, "print planned and measured memory, buffer by buffer"},
    {"trace", 0, PM_GROUP_REPORT, -1, "FILE",
     "write steps and live bytes as a Chrome trace, for Perfetto"},
    {"svg", 0, PM_GROUP_PLOT, -1, "FILE", "draw memory and devices over time, as a picture"},
    {"sizes", 0, PM_GROUP_PLAN, -1, "CIRCUIT",
     "plan without a key: a known circuit, or its sizes (below)"},
    {"device", 0, PM_GROUP_DEVICE, -1, "DEVICE",
     "cpu (default), cuda, cuda:N, cuda:N,M... or auto; to plan also device:SIZE"},
    {"vram-limit", 0, PM_GROUP_DEVICE, -1, "SIZE",
     "the most memory to use of a card, as if it had no more"},
    {"caller-vectors", 0, PM_GROUP_PLAN, -1, NULL,
     "scalars, a, b and c are arrays that the caller lends"},
    {"no-self-verify", 0, PM_GROUP_PROVE, -1, NULL,
     "hand the proof out without verifying it first"},
    {"insecure-known-tau", 0, PM_GROUP_SETUP, -1, "[=SEED]",
     "make a development key: anyone can forge proofs with it"},
    {"format", 0, PM_GROUP_SETUP, -1, "zkey|params", "format of the key (default: zkey)"},
    {"digest", 0, PM_GROUP_DIGEST, -1, NULL, "also print the BLAKE2b-512 digest of the file"},
    {"json", 0, PM_GROUP_ALL, -1, NULL, "print the result, or the error, as JSON on stdout"},
    {"verbose", 'v', PM_GROUP_ALL, -1, NULL, "say what is done; twice for more"},
    {"quiet", 'q', PM_GROUP_ALL, -1, NULL, "print errors alone"},
    {"help", 'h', PM_GROUP_ALL, -1, NULL, "print help"},
    {"version", 'V', PM_GROUP_VERSION, -1, NULL, "print the version"},
};
/* clang-format on */
const size_t pm_cli_n_options = sizeof pm_cli_option_table / sizeof pm_cli_option_table[0];
_Static_assert(sizeof pm_cli_option_table / sizeof pm_cli_option_table[0] <= 64,
               "pm_cli.seen_options has a bit for each");

/* ---------------------------------------------------------------------------------------------
 * Misspelt words
 * ------------------------------------------------------------------------------------------- */

#define LIKENESS_CHARS_MAX 32

/* Levenshtein's distance, kept in one row. */
size_t pm_cli_likeness(const char *word, const char *candidate) {
    size_t n = strlen(word), m = strlen(candidate);
    size_t row[LIKENESS_CHARS_MAX + 1];
    if (n > LIKENESS_CHARS_MAX || m > LIKENESS_CHARS_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t change = diagonal + (word[i - 1] != candidate[j - 1]);
            size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[m] * 2 <= m + 1 ? row[m] : SIZE_MAX;
}

static pm_status unknown_option(struct pm_cli *cli, const char *name, size_t n_name) {
    char word[LIKENESS_CHARS_MAX + 1];
    (void)snprintf(word, sizeof word, "%.*s", (int)n_name, name);
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < pm_cli_n_options; i++) {
        size_t distance = pm_cli_likeness(word, pm_cli_option_table[i].name);
        if (distance < best) {
            best = distance;
            nearest = pm_cli_option_table[i].name;
        }
    }
    if (nearest != NULL) {
        return pm_cli_usage(cli, "unknown option --%s; did you mean --%s?", word, nearest);
    }
    return pm_cli_usage(cli, "unknown option --%s; `proofmill help` lists them", word);
}

/* ---------------------------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------------------------- */

/* A whole number from low to high, digits alone. */
static pm_status read_number(struct pm_cli *cli, const char *option, const char *text, uint32_t low,
                             uint32_t high, uint32_t *out) {
    uint64_t value = 0;
    size_t n = strlen(text);
    bool good = n > 0 && n < 11;
    for (size_t i = 0; good && i < n; i++) {
        good = text[i] >= '0' && text[i] <= '9';
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (!good || value < low || value > high) {
        return pm_cli_usage(cli, "--%s takes a whole number from %u to %u", option, low, high);
    }
    *out = (uint32_t)value;
    return PM_OK;
}

/* The index of text among names, which end with NULL. */
static pm_status read_choice(struct pm_cli *cli, const struct pm_cli_option *option,
                             const char *text, const char *const *names, uint32_t *out) {
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return PM_OK;
        }
    }
    return pm_cli_usage(cli, "--%s takes one of %s", option->name, option->argument);
}

/* Options that take one of some words, in the order of the library's enum. */
static pm_status apply_choice(struct pm_cli *cli, const struct pm_cli_option *option,
                              const char *value) {
    const struct {
        const char *option;
        uint32_t *out;
        const char *names[5];
    } choices[] = {{"arithmetic", &cli->arithmetic, {"best", "portable", "adx", "ifma", NULL}},
                   {"load", &cli->load, {"map", "read", NULL}},
                   {"check", &cli->check, {"none", "fast", "full", NULL}},
                   {"format", &cli->key_format, {"zkey", "params", NULL}},
                   {"form", &cli->form, {"any", "three", "two", NULL}},
                   {"residency", &cli->residency, {"any", "keep", "stream", NULL}},
                   {"b2", &cli->b2, {"any", "start", "later", "copy", NULL}}};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (strcmp(option->name, choices[i].option) == 0) {
            return read_choice(cli, option, value, choices[i].names, choices[i].out);
        }
    }
    return pm_cli_usage(cli, "--%s is not known here", option->name);
}

static pm_status apply_file(struct pm_cli *cli, const struct pm_cli_option *option,
                            const char *value, const char **out) {
    if (*out != NULL) {
        return pm_cli_usage(cli, "--%s is given twice", option->name);
    }
    if (value[0] == '\0') {
        return pm_cli_usage(cli, "--%s needs the name of a file", option->name);
    }
    *out = value;
    return PM_OK;
}

static pm_status apply_value(struct pm_cli *cli, const struct pm_cli_option *option,
                             const char *value) {
    const char *const name = option->name;
    if (option->role >= 0) {
        return apply_file(cli, option, value, &cli->files[option->role]);
    }
    if (strcmp(name, "timeout") == 0) {
        return read_number(cli, name, value, 1, 1000000000, &cli->timeout_s);
    }
    if (strcmp(name, "threads") == 0) {
        return read_number(cli, name, value, 0, 4096, &cli->threads);
    }
    if (strcmp(name, "insecure-known-tau") == 0) {
        cli->known_tau = true;
        return read_number(cli, name, value, 0, UINT32_MAX, &cli->seed);
    }
    if (strcmp(name, "mem") == 0) {
        cli->mem_text = value;
        return pm_cli_read_size(value, &cli->mem_bytes)
                   ? PM_OK
                   : pm_cli_usage(cli, "--mem takes a size such as 2GiB, 512M or 1000000000");
    }
    if (strcmp(name, "vram-limit") == 0) {
        cli->vram_text = value;
        return pm_cli_read_size(value, &cli->vram_bytes)
                   ? PM_OK
                   : pm_cli_usage(cli, "--vram-limit takes a size such as 24GiB or 500M");
    }
    if (strcmp(name, "trace") == 0) {
        return apply_file(cli, option, value, &cli->trace_path);
    }
    if (strcmp(name, "svg") == 0) {
        return apply_file(cli, option, value, &cli->svg_path);
    }
    if (strcmp(name, "sizes") == 0) {
        cli->sizes_text = value;
        return PM_OK;
    }
    if (strcmp(name, "device") == 0) {
        cli->device_text = value;
        return PM_OK;
    }
    if (strcmp(name, "system-root") == 0) {
        cli->system_root = value;
        return PM_OK;
    }
    return apply_choice(cli, option, value);
}

static void apply_switch(struct pm_cli *cli, const struct pm_cli_option *option) {
    const struct {
        const char *name;
        bool *value;
    } switches[] = {{"stats", &cli->stats},         {"no-self-verify", &cli->no_self_verify},
                    {"digest", &cli->digest},       {"cache", &cli->cache},
                    {"json", &cli->json},           {"quiet", &cli->quiet},
                    {"help", &cli->help},           {"version", &cli->version},
                    {"memory", &cli->memory_table}, {"caller-vectors", &cli->caller_vectors}};
    if (strcmp(option->name, "verbose") == 0) {
        cli->verbosity++;
        return;
    }
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(option->name, switches[i].name) == 0) {
            *switches[i].value = true;
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * The command line
 * ------------------------------------------------------------------------------------------- */

/* Whoever says two things may mean either. Files are told apart by what they are for, since some
 * have several names. */
static pm_status refuse_second(struct pm_cli *cli, const struct pm_cli_option *option) {
    const uint64_t bit = UINT64_C(1) << (option - pm_cli_option_table);
    if (option->role < 0 && (cli->seen_options & bit) != 0) {
        return pm_cli_usage(cli, "--%s is given twice", option->name);
    }
    cli->seen_options |= bit;
    return PM_OK;
}

/* value is what stands behind "=", next the following argument; *used_next tells that it was
 * taken. */
static pm_status apply_option(struct pm_cli *cli, const struct pm_cli_option *option,
                              const char *value, const char *next, bool *used_next) {
    cli->seen_groups[option->group] = (uint32_t)(option - pm_cli_option_table) + 1;
    if (option->argument == NULL) {
        if (value != NULL) {
            return pm_cli_usage(cli, "--%s takes no value", option->name);
        }
        apply_switch(cli, option);
        return PM_OK;
    }
    if (value == NULL && option->argument[0] == '[') {
        value = "0";
    }
    if (value == NULL) {
        if (next == NULL) {
            return pm_cli_usage(cli, "--%s needs a value: %s", option->name, option->argument);
        }
        value = next;
        *used_next = true;
    }
    const pm_status status = refuse_second(cli, option);
    return status == PM_OK ? apply_value(cli, option, value) : status;
}

static pm_status read_long_option(struct pm_cli *cli, const char *text, const char *next,
                                  bool *used_next) {
    const char *equals = strchr(text, '=');
    size_t n_name = equals != NULL ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < pm_cli_n_options; i++) {
        const struct pm_cli_option *option = &pm_cli_option_table[i];
        if (strlen(option->name) == n_name && memcmp(option->name, text, n_name) == 0) {
            return apply_option(cli, option, equals != NULL ? equals + 1 : NULL, next, used_next);
        }
    }
    return unknown_option(cli, text, n_name);
}

/* Letters may stand together: -vq; the last may take a value: -t4 or -t 4. */
static pm_status read_letters(struct pm_cli *cli, const char *letters, const char *next,
                              bool *used_next) {
    for (const char *letter = letters; *letter != '\0'; letter++) {
        const struct pm_cli_option *option = NULL;
        for (size_t i = 0; i < pm_cli_n_options; i++) {
            if (pm_cli_option_table[i].letter == *letter) {
                option = &pm_cli_option_table[i];
            }
        }
        if (option == NULL) {
            return pm_cli_usage(cli, "unknown option -%s; `proofmill help` lists them", letter);
        }
        if (option->argument != NULL) {
            return apply_option(cli, option, letter[1] != '\0' ? letter + 1 : NULL, next,
                                used_next);
        }
        pm_status status = apply_option(cli, option, NULL, NULL, used_next);
        if (status != PM_OK) {
            return status;
        }
    }
    return PM_OK;
}

pm_status pm_cli_read_arguments(struct pm_cli *cli, int n, char **arguments) {
    bool options_ended = false;
    /* --json counts from the start, so that a mistake further left is reported in it too. */
    for (int i = 0; i < n && strcmp(arguments[i], "--") != 0; i++) {
        cli->json |= strcmp(arguments[i], "--json") == 0;
    }
    for (int i = 0; i < n; i++) {
        const char *text = arguments[i];
        const char *next = i + 1 < n ? arguments[i + 1] : NULL;
        bool used_next = false;
        pm_status status = PM_OK;
        if (options_ended || text[0] != '-' || text[1] == '\0') {
            cli->words[cli->n_words++] = text;
        } else if (strcmp(text, "--") == 0) {
            options_ended = true;
        } else if (text[1] == '-') {
            status = read_long_option(cli, text + 2, next, &used_next);
        } else {
            status = read_letters(cli, text + 1, next, &used_next);
        }
        if (status != PM_OK) {
            return status;
        }
        i += used_next;
    }
    return PM_OK;
}

/* Every option that was given must belong to the verb. */
static pm_status check_groups(struct pm_cli *cli) {
    for (size_t group = 0; group <= PM_GROUP_LAST; group++) {
        if (cli->seen_groups[group] != 0 && (cli->verb->groups & group) == 0 &&
            !(group == PM_GROUP_VERSION && strcmp(cli->verb->name, "version") == 0)) {
            return pm_cli_usage(cli, "option --%s does not belong to `%s`",
                                pm_cli_option_table[cli->seen_groups[group] - 1].name,
                                cli->verb->name);
        }
    }
    for (int role = 0; role < PM_ROLE_COUNT; role++) {
        bool wanted = cli->files[role] == NULL ||
                      (role == PM_ROLE_R1CS && (cli->verb->groups & PM_GROUP_CIRCUIT) != 0);
        for (size_t i = 0; i < cli->verb->n_slots; i++) {
            wanted |= (int)cli->verb->slots[i].role == role;
        }
        if (!wanted) {
            return pm_cli_usage(cli, "`%s` takes no such file as %s", cli->verb->name,
                                cli->files[role]);
        }
    }
    return PM_OK;
}

/* Words fill, in order, the places that no named file has taken. */
pm_status pm_cli_assign_files(struct pm_cli *cli) {
    if (cli->known_tau && strcmp(cli->verb->name, "setup") == 0) {
        cli->verb = pm_cli_verb_named(PM_CLI_SETUP_KNOWN);
    }
    const struct pm_cli_verb *verb = cli->verb;
    pm_status status = check_groups(cli);
    if (status != PM_OK || verb->many) {
        return status;
    }
    size_t next = 0;
    for (size_t i = 0; i < verb->n_slots; i++) {
        const struct pm_cli_slot *slot = &verb->slots[i];
        if (cli->files[slot->role] != NULL) {
            continue;
        }
        if (next < cli->n_words) {
            cli->files[slot->role] = cli->words[next++];
        } else if (slot->file == NULL || cli->drop_in) {
            return pm_cli_usage(cli, "`%s` needs %s", verb->name, slot->placeholder);
        } else {
            cli->files[slot->role] = slot->file;
        }
        if (cli->files[slot->role][0] == '\0') {
            return pm_cli_usage(cli, "%s is an empty name", slot->placeholder);
        }
    }
    if (next < cli->n_words) {
        return pm_cli_usage(cli, "`%s` has no use for %s", verb->name, cli->words[next]);
    }
    return PM_OK;
}
