/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_options.c - the client's verbs and options: tables, reading, help. */
#include "daemon/client_common.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------
 * Verbs
 * ------------------------------------------------------------------------------------------- */

/* What is not as a call needs it: an input that cannot be read; what is in use. */
#define IO 4
#define BUSY 5

static const struct pm_client_verb verbs[] = {
    {"submit", "KEY WTNS [WTNS...]", 2, SIZE_MAX,
     " priority request-id timeout wait proof public upload ", "hand a proof to the daemon",
     "Asks for a proof with the key that is registered as KEY: a witness (.wtns) or a recorded\n"
     "assignment (.pmasg) for each part of it. Prints the job's number. Over a unix socket the\n"
     "daemon reads the files itself, which must stay as they are until the job has ended; over\n"
     "TCP, and with --upload, they are sent.\n",
     pm_client_submit, IO},
    {"await", "JOB|REQUEST_ID", 0, 1, " request-id timeout proof public ",
     "wait for a job and fetch its proofs",
     "Waits until the job has ended. With --proof and --public the proofs are written as snarkjs\n"
     "writes them; of a job of several parts each file gets the part's number: proof-0.json,\n"
     "proof-1.json. Ctrl-C ends the wait alone: the job goes on.\n",
     pm_client_await, 0},
    {"watch", "JOB|REQUEST_ID", 0, 1, " request-id timeout ", "follow a job",
     "Prints a line for each change until the job has ended; with --json a JSON object a line.\n"
     "Ctrl-C ends the watching alone: the job goes on.\n",
     pm_client_watch, 0},
    {"cancel", "JOB|REQUEST_ID", 0, 1, " request-id timeout ", "cancel a job",
     "Cancels a job that has not ended.\n", pm_client_cancel, 0},
    {"jobs", "", 0, 0, " all timeout ", "list jobs",
     "Lists the jobs that have not ended; with --all those too whose outcome is kept.\n",
     pm_client_jobs, 0},
    {"status", "", 0, 0, " timeout ", "show what goes on: memory, devices, keys, counts",
     "Shows memory against its budget, devices, keys and how many jobs there are and have been.\n",
     pm_client_status, 0},
    {"top", "", 0, 0, " timeout ", "show what goes on, live",
     "Shows memory, devices, jobs and keys, anew each second. q or Ctrl-C ends it. Where standard\n"
     "output is no terminal it is shown once.\n",
     pm_client_top, 0},
    {"key list", "", 0, 0, " timeout ", "list the registered keys",
     "Lists the keys: hot (on a device), warm (open in the daemon) or cold (a file).\n",
     pm_client_key_list, 0},
    {"key add", "NAME PATH", 2, 2, " r1cs check digest timeout ", "register a key",
     "Registers the proving key in PATH, a .zkey or bellman's .params, under NAME. The daemon\n"
     "opens the file itself and remembers it.\n",
     pm_client_key_add, 0},
    {"key load", "NAME", 1, 1, " timeout ", "bring a key into memory",
     "Opens a key before anybody asks for it.\n", pm_client_key_load, 0},
    {"key evict", "NAME", 1, 1, " timeout ", "take a key out of memory",
     "Takes a key that is not in use out of the memory of daemon and devices.\n",
     pm_client_key_evict, BUSY},
    {"key forget", "NAME", 1, 1, " timeout ", "forget a key", "Forgets the name. The file stays.\n",
     pm_client_key_forget, BUSY},
    {"key plan", "NAME", 1, 1, " device timeout ", "show what a proof with a key will hold",
     "Shows the memory that is reserved for a proof with this key, step by step.\n",
     pm_client_key_plan, 0},
    {"device restore", "NAME", 1, 1, " timeout ", "give a device work again",
     "Opens a device anew that was given up after it had failed.\n", pm_client_device_restore,
     BUSY},
};
#define N_VERBS (sizeof verbs / sizeof verbs[0])

/* ---------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------- */

/* Options that every verb takes. */
static const char common_options[] =
    " address tls-ca tls-certificate tls-key json quiet verbose help ";

static const struct option {
    const char *name;
    char letter;          /* or 0 */
    const char *argument; /* NULL: a switch */
    const char *summary;
} options[] = {
    {"priority", 0, "low|normal|high|critical", "its turn among the jobs that wait"},
    {"request-id", 0, "ID", "the same id is the same job, never a second computation"},
    {"wait", 0, NULL, "wait for the outcome, as await does"},
    {"proof", 0, "FILE", "write the proof; - is standard output"},
    {"public", 0, "FILE", "write the public signals"},
    {"upload", 0, NULL, "send the files, also over a unix socket"},
    {"all", 0, NULL, "those that have ended too"},
    {"r1cs", 0, "FILE", "the constraint system of bellman's parameters"},
    {"check", 0, "fast|full|none", "how far to look at the key's points first (fast)"},
    {"digest", 0, "HEX", "BLAKE2b-512 of the file, as b2sum prints it"},
    {"device", 0, "NAME", "of the daemon's devices; the first one by default"},
    {"timeout", 0, "SECONDS", "give up after so long (for submit: the job fails then)"},
    {"address", 0, "ADDRESS", "of the daemon: unix:///PATH or HOST:PORT"},
    {"tls-ca", 0, "FILE", "TLS: the authority that has signed the daemon's certificate (PEM)"},
    {"tls-certificate", 0, "FILE", "TLS: this client's certificate (PEM)"},
    {"tls-key", 0, "FILE", "TLS: its key (PEM)"},
    {"json", 0, NULL, "print the result, or the error, as one line of JSON"},
    {"quiet", 'q', NULL, "print errors alone"},
    {"verbose", 'v', NULL, "say which daemon is asked"},
    {"help", 'h', NULL, "print this"},
};
#define N_OPTIONS (sizeof options / sizeof options[0])

static bool is_listed(const char *list, const char *name) {
    char word[40];
    (void)snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

/* ---------------------------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------------------------- */

bool pm_client_read_number(const char *text, uint64_t *value) {
    uint64_t number = 0;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number)) {
            return false;
        }
    }
    *value = number;
    return true;
}

/* A hundred years: what is added to a clock then cannot overflow. */
#define TIMEOUT_S_MAX UINT64_C(3155760000)

/* "30", "0.5": seconds. */
static bool read_seconds(const char *text, uint64_t *ms) {
    char whole[16];
    const size_t n = strcspn(text, ".");
    uint64_t s = 0, thousandths = 0;
    if (n >= sizeof whole) {
        return false;
    }
    (void)snprintf(whole, sizeof whole, "%.*s", (int)n, text);
    if (text[n] == '.') {
        const char *digits = text + n + 1;
        char three[4] = "000";
        if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0') {
            return false;
        }
        (void)memcpy(three, digits, strlen(digits) < 3 ? strlen(digits) : 3);
        (void)pm_client_read_number(three, &thousandths);
    }
    if (!pm_client_read_number(whole, &s) || s > TIMEOUT_S_MAX) {
        return false;
    }
    *ms = s * 1000 + thousandths;
    return *ms != 0;
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_digest(const char *text, uint8_t digest[64]) {
    if (strlen(text) != 128) {
        return false;
    }
    for (size_t i = 0; i < 64; i++) {
        const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* The index of text among n names, or n. */
static unsigned index_of(const char *text, const char *const *names, unsigned n) {
    unsigned i = 0;
    while (i < n && strcmp(text, names[i]) != 0) {
        i++;
    }
    return i;
}

static pm_status apply_string(struct pm_client *client, const char *name, const char *value) {
    struct pm_client_options *given = &client->options;
    const struct {
        const char *name;
        const char **out;
    } strings[] = {{"address", &given->address},
                   {"tls-ca", &given->tls_ca},
                   {"tls-certificate", &given->tls_certificate},
                   {"tls-key", &given->tls_key},
                   {"proof", &given->proof_path},
                   {"public", &given->public_path},
                   {"request-id", &given->request_id},
                   {"r1cs", &given->r1cs_path},
                   {"device", &given->device}};
    if (value[0] == '\0') {
        return pm_client_usage(client, "--%s needs a value", name);
    }
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        if (strcmp(name, strings[i].name) == 0) {
            *strings[i].out = value;
        }
    }
    return PM_OK;
}

static pm_status apply_value(struct pm_client *client, const struct option *option,
                             const char *value) {
    static const char *const priorities[] = {"low", "normal", "high", "critical"};
    static const char *const checks[] = {"fast", "full", "none"};
    struct pm_client_options *given = &client->options;
    const char *const name = option->name;
    if (strcmp(name, "priority") == 0) {
        const unsigned i = index_of(value, priorities, 4);
        given->priority = PROOFMILL__V1__PRIORITY__PRIORITY_LOW + i;
        return i < 4 ? PM_OK
                     : pm_client_usage(client, "--priority takes one of %s", option->argument);
    }
    if (strcmp(name, "check") == 0) {
        const unsigned i = index_of(value, checks, 3);
        given->check = PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_FAST + i;
        return i < 3 ? PM_OK : pm_client_usage(client, "--check takes one of %s", option->argument);
    }
    if (strcmp(name, "timeout") == 0) {
        return read_seconds(value, &given->timeout_ms)
                   ? PM_OK
                   : pm_client_usage(client, "--timeout takes seconds, as 30 or 0.5");
    }
    if (strcmp(name, "digest") == 0) {
        given->has_digest = read_digest(value, given->digest);
        return given->has_digest
                   ? PM_OK
                   : pm_client_usage(client, "--digest takes the 128 hexadecimal digits of a "
                                             "BLAKE2b-512, as b2sum prints them");
    }
    return apply_string(client, name, value);
}

static void apply_switch(struct pm_client *client, const char *name) {
    struct pm_client_options *given = &client->options;
    const struct {
        const char *name;
        bool *out;
    } switches[] = {{"wait", &given->wait},   {"upload", &given->upload},
                    {"all", &given->all},     {"json", &given->json},
                    {"quiet", &given->quiet}, {"verbose", &given->verbose},
                    {"help", &given->help}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(name, switches[i].name) == 0) {
            *switches[i].out = true;
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * The command line
 * ------------------------------------------------------------------------------------------- */

/* What was given, one bit an option. */
struct seen {
    uint32_t bits;
};
_Static_assert(N_OPTIONS <= 32, "struct seen has a bit for each");

static pm_status read_option(struct pm_client *client, const struct option *option,
                             const char *value, const char *next, bool *used_next,
                             struct seen *seen) {
    const uint32_t bit = UINT32_C(1) << (option - options);
    const bool is_second = (seen->bits & bit) != 0;
    seen->bits |= bit;
    if (option->argument == NULL) {
        apply_switch(client, option->name);
        return value == NULL ? PM_OK : pm_client_usage(client, "--%s takes no value", option->name);
    }
    if (is_second) {
        return pm_client_usage(client, "--%s is given twice", option->name);
    }
    if (value == NULL && next == NULL) {
        return pm_client_usage(client, "--%s needs a value: %s", option->name, option->argument);
    }
    *used_next = value == NULL;
    return apply_value(client, option, value != NULL ? value : next);
}

static pm_status read_dashed(struct pm_client *client, const char *text, const char *next,
                             bool *used_next, struct seen *seen) {
    const bool is_long = text[1] == '-';
    const char *equals = is_long ? strchr(text, '=') : NULL;
    const size_t n = equals != NULL ? (size_t)(equals - text) - 2 : strlen(text) - 2;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *option = &options[i];
        if (is_long ? strlen(option->name) == n && memcmp(option->name, text + 2, n) == 0
                    : option->letter != 0 && text[1] == option->letter && text[2] == '\0') {
            return read_option(client, option, equals != NULL ? equals + 1 : NULL, next, used_next,
                               seen);
        }
    }
    return pm_client_usage(client, "unknown option %s", text);
}

/* Takes the verb's words away. */
static pm_status find_verb(struct pm_client *client) {
    struct pm_client_options *given = &client->options;
    for (size_t i = 0; i < N_VERBS && client->verb == NULL; i++) {
        const char *second = strchr(verbs[i].name, ' ');
        const size_t n_first =
            second != NULL ? (size_t)(second - verbs[i].name) : strlen(verbs[i].name);
        const size_t n = second != NULL ? 2 : 1;
        if (given->n_words >= n && strlen(given->words[0]) == n_first &&
            memcmp(given->words[0], verbs[i].name, n_first) == 0 &&
            (second == NULL || strcmp(given->words[1], second + 1) == 0)) {
            client->verb = &verbs[i];
            given->words += n;
            given->n_words -= n;
        }
    }
    if (client->verb != NULL || given->help) {
        return PM_OK;
    }
    if (given->n_words == 0) {
        return pm_client_usage(client, "a verb is missing; `proofmill help` lists them");
    }
    const char *first = given->words[0];
    if (strcmp(first, "key") == 0) {
        return pm_client_usage(client, "`key` takes one of list, add, load, evict, forget, plan; "
                                       "see `proofmill key --help`");
    }
    if (strcmp(first, "device") == 0) {
        return pm_client_usage(client, "`device` takes restore NAME; see `proofmill device "
                                       "--help`");
    }
    return pm_client_usage(client, "unknown verb %s; `proofmill help` lists them", first);
}

static pm_status check_use(struct pm_client *client, struct seen seen) {
    const struct pm_client_verb *verb = client->verb;
    const struct pm_client_options *given = &client->options;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if ((seen.bits >> i & 1) != 0 && !is_listed(common_options, options[i].name) &&
            !is_listed(verb->options, options[i].name)) {
            return pm_client_usage(client, "option --%s does not belong to `%s`", options[i].name,
                                   verb->name);
        }
    }
    if (given->n_words < verb->n_min) {
        return pm_client_usage(client, "`%s` needs %s", verb->name, verb->usage);
    }
    if (given->n_words > verb->n_max) {
        return pm_client_usage(client, "`%s` has no use for %s", verb->name,
                               given->words[verb->n_max]);
    }
    for (size_t i = 0; i < given->n_words; i++) {
        if (given->words[i][0] == '\0') {
            return pm_client_usage(client, "`%s` is given an empty word", verb->name);
        }
    }
    if ((given->tls_certificate == NULL) != (given->tls_key == NULL)) {
        return pm_client_usage(client, "--tls-certificate and --tls-key go together");
    }
    if (given->tls_certificate != NULL && given->tls_ca == NULL) {
        return pm_client_usage(client, "--tls-certificate needs --tls-ca");
    }
    if (verb->run == pm_client_submit && !given->wait &&
        (given->proof_path != NULL || given->public_path != NULL)) {
        return pm_client_usage(client, "--proof and --public need --wait");
    }
    return PM_OK;
}

pm_status pm_client_read_arguments(struct pm_client *client, int n, char **arguments) {
    struct pm_client_options *given = &client->options;
    struct seen seen = {0};
    bool options_ended = false;
    /* --json counts from the start, so that a mistake further left is reported in it too. */
    for (int i = 0; i < n && strcmp(arguments[i], "--") != 0; i++) {
        given->json |= strcmp(arguments[i], "--json") == 0;
    }
    for (int i = 0; i < n; i++) {
        const char *text = arguments[i];
        bool used_next = false;
        if (options_ended || text[0] != '-' || text[1] == '\0') {
            given->words[given->n_words++] = text;
        } else if (strcmp(text, "--") == 0) {
            options_ended = true;
        } else {
            const pm_status status =
                read_dashed(client, text, i + 1 < n ? arguments[i + 1] : NULL, &used_next, &seen);
            if (status != PM_OK) {
                return status;
            }
        }
        i += used_next;
    }
    const pm_status status = find_verb(client);
    return status != PM_OK || given->help ? status : check_use(client, seen);
}

/* ---------------------------------------------------------------------------------------------
 * Help
 * ------------------------------------------------------------------------------------------- */

/* Verbs of two words have a first one that is none by itself. */
static bool is_of_group(const char *name, const char *group) {
    const size_t n = strlen(group);
    return strncmp(name, group, n) == 0 && name[n] == ' ';
}

static void print_verbs(const char *first) {
    bool is_group = false;
    for (size_t i = 0; first != NULL && i < N_VERBS; i++) {
        is_group |= is_of_group(verbs[i].name, first);
    }
    (void)printf("The verbs%s%s that speak to a daemon (`proofmill serve`):\n\n",
                 is_group ? " of " : "", is_group ? first : "");
    for (size_t i = 0; i < N_VERBS; i++) {
        if (!is_group || is_of_group(verbs[i].name, first)) {
            (void)printf("  proofmill %s%s%s\n      %s\n", verbs[i].name,
                         verbs[i].usage[0] != '\0' ? " " : "", verbs[i].usage, verbs[i].summary);
        }
    }
    (void)printf("\n`proofmill %s%sVERB --help` lists a verb's options.\n", is_group ? first : "",
                 is_group ? " " : "");
}

void pm_client_print_help(const struct pm_client *client) {
    const struct pm_client_verb *verb = client->verb;
    if (verb == NULL) {
        print_verbs(client->options.n_words > 0 ? client->options.words[0] : NULL);
        return;
    }
    (void)printf("Usage: proofmill %s%s%s\n\n%s\nOptions:\n", verb->name,
                 verb->usage[0] != '\0' ? " " : "", verb->usage, verb->description);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *option = &options[i];
        if (!is_listed(common_options, option->name) && !is_listed(verb->options, option->name)) {
            continue;
        }
        char left[64], letter[8] = "    ";
        if (option->letter != 0) {
            (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
        }
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                       option->argument != NULL ? " " : "",
                       option->argument != NULL ? option->argument : "");
        (void)printf("  %-40s %s\n", left, option->summary);
    }
}
