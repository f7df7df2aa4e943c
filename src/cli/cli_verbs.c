/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_verbs.c - the verbs, and all the spellings under which they are known. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#define SLOT_ZKEY                                                                                  \
    { PM_ROLE_ZKEY, "ZKEY", "circuit_final.zkey" }
#define SLOT_KEY                                                                                   \
    { PM_ROLE_ZKEY, "KEY", "circuit_final.zkey" }
#define SLOT_WITNESS                                                                               \
    { PM_ROLE_WITNESS, "WTNS", "witness.wtns" }
#define SLOT_PROOF                                                                                 \
    { PM_ROLE_PROOF, "PROOF", "proof.json" }
#define SLOT_PUBLIC                                                                                \
    { PM_ROLE_PUBLIC, "PUBLIC", "public.json" }
#define SLOT_VKEY                                                                                  \
    { PM_ROLE_VKEY, "VKEY", "verification_key.json" }
#define SLOT_R1CS                                                                                  \
    { PM_ROLE_R1CS, "R1CS", "circuit.r1cs" }
#define SLOT_PTAU                                                                                  \
    { PM_ROLE_PTAU, "PTAU", "powersoftau.ptau" }
#define SLOT_NEW_ZKEY                                                                              \
    { PM_ROLE_ZKEY, "ZKEY", "circuit_0000.zkey" }

#define SLOT_ZKEY_OR_VKEY                                                                          \
    { PM_ROLE_ZKEY, "ZKEY|VKEY", "circuit_final.zkey" }
#define SLOT_SOLIDITY                                                                              \
    { PM_ROLE_SOLIDITY, "SOL", "verifier.sol" }
#define SLOT_KEY_JSON                                                                              \
    { PM_ROLE_KEY_JSON, "JSON", "circuit_final.zkey.json" }

/* What the daemon's own program does: it knows the options, and has the help. */
#define REMOTE(name, placeholder, summary)                                                         \
    { name, summary, "", {{PM_ROLE_FILE, placeholder, NULL}}, 1, true, PM_GROUP_ALL, pm_cmd_remote }

const struct pm_cli_verb pm_cli_verb_table[] = {
    {"prove",
     "prove that a witness satisfies a proving key's circuit",
     "Reads a snarkjs proving key and a witness, writes proof and public signals. The proof is\n"
     "verified before it is handed out. Both files appear whole, or neither does. ZKEY may be\n"
     "bellman's parameter file too: --r1cs then names the constraint system it is for. WTNS may\n"
     "be an assignment (.pmasg) instead, which brings all that such a file lacks; PROOF and\n"
     "PUBLIC are then bellman's bytes, unless they end in .json.\n",
     {SLOT_ZKEY, SLOT_WITNESS, SLOT_PROOF, SLOT_PUBLIC},
     4,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE | PM_GROUP_KEY | PM_GROUP_PROVE |
         PM_GROUP_CIRCUIT | PM_GROUP_MEMORY | PM_GROUP_REPORT | PM_GROUP_DEVICE,
     pm_cmd_prove},
    {"plan",
     "say what memory a proof will hold, and when, before a byte is allocated",
     "Prints the steps of a proof, its buffers with their exact bytes and lifetimes, the memory "
     "of\n"
     "each pool step by step, and what other choices would change. KEY is a zkey, or bellman's\n"
     "parameter file (--r1cs names its constraint system); --sizes plans without a key.\n",
     {SLOT_KEY},
     1,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE | PM_GROUP_KEY | PM_GROUP_CIRCUIT |
         PM_GROUP_MEMORY | PM_GROUP_PLAN | PM_GROUP_DEVICE,
     pm_cmd_plan},
    {"simulate",
     "say what a described machine makes of a described load, in virtual time",
     "Runs the scheduler of the engine against the machine and the load of a SCENARIO: proofs an\n"
     "hour, times, memory, idle devices. doc/simulate.md describes the file; examples are in\n"
     "examples/scenarios.\n",
     {{PM_ROLE_FILE, "SCENARIO", NULL}},
     1,
     false,
     PM_GROUP_ALL | PM_GROUP_PLOT,
     pm_cmd_simulate},
    {"verify",
     "verify a proof",
     "Prints OK! and ends with 0 when the proof is valid, prints Invalid proof and ends with 1\n"
     "when it is not. Files that do not say what a proof says end with another code: they are\n"
     "malformed, not invalid. On BLS12-381 VKEY may be bellman's .vk file, PUBLIC (--inputs) be\n"
     "values of 32 little-endian bytes, or hexadecimal, and PROOF one proof of 192 bytes after\n"
     "another, which are verified together.\n",
     {SLOT_VKEY, SLOT_PUBLIC, SLOT_PROOF},
     3,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE,
     pm_cmd_verify},
    {"setup",
     "make a proving key from powers of tau",
     "Reads a constraint system and powers of tau that snarkjs has prepared for phase 2, writes "
     "the\n"
     "proving key that `snarkjs groth16 setup` writes, to the byte. Contributions come next, in\n"
     "snarkjs. ZKEY appears whole or not at all.\n",
     {SLOT_R1CS, SLOT_PTAU, SLOT_NEW_ZKEY},
     3,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE,
     pm_cmd_setup},
    {PM_CLI_SETUP_KNOWN,
     "make a development key, fast and insecure",
     "Reads a constraint system and writes a proving key whose secrets follow from SEED (default\n"
     "0): no ceremony, and no security. Such keys are recognised and warned of in every format.\n"
     "--format params writes bellman's parameter file (bls12381 alone).\n",
     {SLOT_R1CS, SLOT_NEW_ZKEY},
     2,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE | PM_GROUP_SETUP,
     pm_cmd_setup_known},
    {"info",
     "describe zkey, wtns, r1cs, ptau, params, vk and pmasg files",
     "Prints curve, sizes, contributions and sections of each FILE.\n",
     {{PM_ROLE_FILE, "FILE...", "circuit.r1cs"}},
     1,
     true,
     PM_GROUP_ALL | PM_GROUP_COMPUTE | PM_GROUP_DIGEST,
     pm_cmd_info},
    {"devices",
     "list what can make proofs here: the CPU, and cards",
     "Prints the CPU's kinds of arithmetic and threads, then each card with its memory, or the "
     "reason\n"
     "why there is none to use. The names are those that `prove --device` takes.\n",
     {{PM_ROLE_FILE, "", NULL}},
     0,
     false,
     PM_GROUP_ALL,
     pm_cmd_devices},
    {"check",
     "check everything in a file, or a witness against its constraint system",
     "With one FILE: structure, ranges and every point of a zkey, or of bellman's params or vk,\n"
     "every value of a wtns or pmasg, every row of an r1cs. With R1CS and WTNS: every constraint;\n"
     "the lowest one that fails is named.\n",
     {{PM_ROLE_FILE, "FILE | R1CS WTNS", NULL}},
     1,
     true,
     PM_GROUP_ALL | PM_GROUP_COMPUTE,
     pm_cmd_check_file},
    {"wtns check",
     NULL,
     "Evaluates every constraint; the lowest one that fails is named.\n",
     {SLOT_R1CS, SLOT_WITNESS},
     2,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE,
     pm_cmd_check},
    {"export vkey",
     "write the verifying key inside a proving key",
     "Writes the bytes that snarkjs writes. ZKEY may be bellman's parameter file too.\n",
     {SLOT_ZKEY, SLOT_VKEY},
     2,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE | PM_GROUP_KEY,
     pm_cmd_export_vkey},
    {"export solidity",
     "write a Solidity contract that verifies proofs",
     "Takes the verifying key from a proving key or from a VKEY file. The contract's "
     "verifyProof()\n"
     "takes what `proofmill export calldata` prints. BN254 only.\n",
     {SLOT_ZKEY_OR_VKEY, SLOT_SOLIDITY},
     2,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE | PM_GROUP_KEY,
     pm_cmd_export_solidity},
    {"export calldata",
     "print the arguments for a Solidity verifier's call",
     "G2 coordinates are printed as [c1, c0], as the precompiled contracts want them. BN254 only.\n"
     "The two files are told apart by what they hold, so their order does not matter.\n",
     {SLOT_PROOF, SLOT_PUBLIC},
     2,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES,
     pm_cmd_export_calldata},
    {"export json",
     "write a whole proving key as JSON",
     "Writes the bytes that snarkjs writes: every point and coefficient, in some 2 to 3 times the\n"
     "size of the key.\n",
     {SLOT_ZKEY, SLOT_KEY_JSON},
     2,
     false,
     PM_GROUP_ALL | PM_GROUP_FILES | PM_GROUP_COMPUTE | PM_GROUP_KEY,
     pm_cmd_export_json},
    REMOTE("serve", "[OPTION...]", "serve proofs: many at a time, within a budget of memory"),
    REMOTE("submit", "KEY WTNS...", "hand a job to the daemon"),
    REMOTE("await", "JOB", "wait for a job, and write its proofs"),
    REMOTE("watch", "JOB", "follow a job"),
    REMOTE("cancel", "JOB", "cancel a job"),
    REMOTE("jobs", "", "list jobs"),
    REMOTE("status", "", "show memory, devices, keys and counts"),
    REMOTE("top", "", "show what goes on, live"),
    REMOTE("key list", "", "list registered keys"),
    REMOTE("key add", "NAME PATH", "register a proving key"),
    REMOTE("key load", "NAME", "bring a key into memory"),
    REMOTE("key evict", "NAME", "take a key out of memory"),
    REMOTE("key forget", "NAME", "forget a key's name"),
    REMOTE("key plan", "NAME", "show what memory a proof with a key will hold"),
    REMOTE("device restore", "NAME", "give work again to a device that failed"),
    {"help",
     "print help, also on a verb",
     "",
     {{PM_ROLE_FILE, "[VERB]", ""}},
     1,
     true,
     PM_GROUP_ALL,
     pm_cmd_help},
    {"version",
     "print the version",
     "",
     {{PM_ROLE_FILE, "", NULL}},
     0,
     false,
     PM_GROUP_ALL | PM_GROUP_VERSION,
     pm_cmd_version},
};
const size_t pm_cli_n_verbs = sizeof pm_cli_verb_table / sizeof pm_cli_verb_table[0];

/* The words that choose a verb; the longest row that fits wins. */
static const struct {
    const char *words;
    const char *verb;
} spellings[] = {
    {"prove", "prove"},
    {"plan", "plan"},
    {"simulate", "simulate"},
    {"g16p", "prove"},
    {"verify", "verify"},
    {"g16v", "verify"},
    {"setup", "setup"},
    {"g16s", "setup"},
    {"zkey new", "setup"},
    {"zkn", "setup"},
    {"info", "info"},
    {"file info", "info"},
    {"r1cs info", "info"},
    {"ri", "info"},
    {"devices", "devices"},
    {"check", "check"},
    {"wtns check", "wtns check"},
    {"wchk", "wtns check"},
    {"export vkey", "export vkey"},
    {"export verificationkey", "export vkey"},
    {"zkey export verificationkey", "export vkey"},
    {"zkev", "export vkey"},
    {"export solidity", "export solidity"},
    {"export solidityverifier", "export solidity"},
    {"zkey export solidityverifier", "export solidity"},
    {"zkesv", "export solidity"},
    {"export json", "export json"},
    {"zkey export json", "export json"},
    {"zkej", "export json"},
    {"export calldata", "export calldata"},
    {"export soliditycalldata", "export calldata"},
    {"zkey export soliditycalldata", "export calldata"},
    {"zkesc", "export calldata"},
    {"serve", "serve"},
    {"submit", "submit"},
    {"await", "await"},
    {"watch", "watch"},
    {"cancel", "cancel"},
    {"jobs", "jobs"},
    {"status", "status"},
    {"top", "top"},
    {"key list", "key list"},
    {"key add", "key add"},
    {"key load", "key load"},
    {"key evict", "key evict"},
    {"key forget", "key forget"},
    {"key plan", "key plan"},
    {"device restore", "device restore"},
    {"key", "key list"},
    {"device", "device restore"},
    {"help", "help"},
    {"version", "version"},
};
#define N_SPELLINGS (sizeof spellings / sizeof spellings[0])

const struct pm_cli_verb *pm_cli_verb_named(const char *name) {
    for (size_t i = 0; i < pm_cli_n_verbs; i++) {
        if (strcmp(pm_cli_verb_table[i].name, name) == 0) {
            return &pm_cli_verb_table[i];
        }
    }
    return NULL;
}

/* How many of the leading words spell the row; 0 when they do not. */
static size_t match(const char *row, const char *const *words, size_t n_words) {
    size_t n = 0;
    while (n < n_words) {
        size_t length = strcspn(row, " ");
        if (strlen(words[n]) != length || memcmp(words[n], row, length) != 0) {
            return 0;
        }
        n++;
        if (row[length] == '\0') {
            return n;
        }
        row += length + 1;
    }
    return 0;
}

static pm_status unknown_verb(struct pm_cli *cli) {
    const char *word = cli->words[0];
    if (strcmp(word, "plonk") == 0 || strcmp(word, "fflonk") == 0) {
        return pm_cli_usage(cli, "the protocol of proofmill is groth16, not %s", word);
    }
    char joined[64];
    (void)snprintf(joined, sizeof joined, "%s%s%s", word, cli->n_words > 1 ? " " : "",
                   cli->n_words > 1 ? cli->words[1] : "");
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < N_SPELLINGS; i++) {
        size_t one = pm_cli_likeness(word, spellings[i].words);
        size_t two = pm_cli_likeness(joined, spellings[i].words);
        if ((one < two ? one : two) < best) {
            best = one < two ? one : two;
            nearest = spellings[i].words;
        }
    }
    if (nearest != NULL) {
        return pm_cli_usage(cli, "unknown verb %s; did you mean %s?", word, nearest);
    }
    return pm_cli_usage(cli, "unknown verb %s; `proofmill help` lists them", word);
}

pm_status pm_cli_find_verb(struct pm_cli *cli) {
    size_t longest = 0;
    if (strcmp(cli->words[0], "groth16") == 0 && cli->n_words > 1) {
        cli->words++;
        cli->n_words--;
    }
    for (size_t i = 0; i < N_SPELLINGS; i++) {
        size_t n = match(spellings[i].words, cli->words, cli->n_words);
        if (n > longest) {
            longest = n;
            cli->verb = pm_cli_verb_named(spellings[i].verb);
        }
    }
    if (longest == 0) {
        return unknown_verb(cli);
    }
    cli->words += longest;
    cli->n_words -= longest;
    return PM_OK;
}
