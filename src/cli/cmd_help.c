/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cmd_help.c - proofmill help [VERB], proofmill version. */
#include "cli/cli.h"

#include <proofmill/experimental.h>

#include <stdio.h>
#include <string.h>

static void print_options(const struct pm_cli_verb *verb) {
    (void)printf("\nOptions:\n");
    for (size_t i = 0; i < pm_cli_n_options; i++) {
        const struct pm_cli_option *option = &pm_cli_option_table[i];
        bool belongs = option->summary != NULL && (verb->groups & option->group) != 0;
        if (option->role >= 0) {
            bool wanted = option->role == PM_ROLE_R1CS && (verb->groups & PM_GROUP_CIRCUIT) != 0;
            for (size_t k = 0; k < verb->n_slots; k++) {
                wanted |= (int)verb->slots[k].role == option->role;
            }
            belongs = belongs && wanted;
        }
        if (!belongs) {
            continue;
        }
        char left[64], letter[8] = "    ";
        if (option->letter != 0) {
            (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
        }
        const bool may_be_left_out = option->argument != NULL && option->argument[0] == '[';
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                       option->argument != NULL && !may_be_left_out ? " " : "",
                       option->argument != NULL ? option->argument : "");
        (void)printf("  %-36s %s\n", left, option->summary);
    }
}

static void print_usage(const struct pm_cli_verb *verb) {
    (void)printf("proofmill %s", verb->name);
    for (size_t i = 0; i < verb->n_slots; i++) {
        if (verb->slots[i].placeholder[0] != '\0') {
            (void)printf(" %s", verb->slots[i].placeholder);
        }
    }
}

static void print_verb(const struct pm_cli_verb *verb) {
    (void)printf("Usage: ");
    print_usage(verb);
    (void)printf("\n\n%s", verb->description);
    for (size_t i = 0; i < verb->n_slots; i++) {
        const struct pm_cli_slot *slot = &verb->slots[i];
        if (slot->file != NULL && slot->file[0] != '\0') {
            (void)printf("  %-10s default: %s\n", slot->placeholder, slot->file);
        }
    }
    if ((verb->groups & PM_GROUP_FILES) != 0) {
        (void)printf("  A file may be - for standard input or output.\n");
    }
    print_options(verb);
}

/* What --sizes takes. */
static void print_circuits(void) {
    (void)printf("\nSizes of a circuit: CURVE[/bellman],LOG_N,VARS,PUBLIC[,ROWS[,NA,NB,NL,NH[,NZ_A,"
                 "NZ_B,NZ_C]]]\n"
                 "VARS counts the constant one, PUBLIC does not; what is left out is as much as "
                 "there can be.\n\nKnown circuits:\n");
    for (uint32_t i = 0; pm_circuit_preset_name(i) != NULL; i++) {
        (void)printf("  %-18s %s\n", pm_circuit_preset_name(i), pm_circuit_preset_title(i));
    }
}

/* Those of this command, or those of the daemon. */
static void print_verbs(bool is_remote) {
    for (size_t i = 0; i < pm_cli_n_verbs; i++) {
        const struct pm_cli_verb *verb = &pm_cli_verb_table[i];
        if (verb->summary == NULL || (verb->run == pm_cmd_remote) != is_remote) {
            continue;
        }
        (void)printf("  ");
        print_usage(verb);
        (void)printf("\n      %s\n", verb->summary);
    }
}

static void print_overview(void) {
    (void)printf("proofmill: Groth16 proofs on BN254 and BLS12-381\n\nUsage:\n");
    print_verbs(false);
    (void)printf("\nThe daemon, and what speaks to it:\n");
    print_verbs(true);
    (void)printf("\n`proofmill help VERB` lists a verb's options. snarkjs's spellings work too:\n"
                 "groth16 prove, g16p, groth16 verify, g16v, groth16 setup, g16s, zkey new, zkn,\n"
                 "zkey export verificationkey, zkev, zkey export solidityverifier, zkesv,\n"
                 "zkey export soliditycalldata, zkesc, zkey export json, zkej, wtns check, wchk,\n"
                 "r1cs info, ri. Called as prover or verifier it takes rapidsnark's arguments.\n"
                 "\nExit codes:\n");
    int code;
    const char *sentence;
    for (size_t i = 0; pm_cli_exit_code(i, &code, &sentence); i++) {
        (void)printf("  %3d  %s\n", code, sentence);
    }
}

/* The verb's words, put together again. */
static const struct pm_cli_verb *verb_of_words(struct pm_cli *cli) {
    struct pm_cli copy = *cli;
    return pm_cli_find_verb(&copy) == PM_OK ? copy.verb : NULL;
}

/* --help after a verb comes here too. */
pm_status pm_cmd_help(struct pm_cli *cli) {
    const struct pm_cli_verb *about = cli->verb;
    cli->json = false; /* help is for people */
    if (strcmp(about->name, "help") == 0) {
        if (cli->n_words == 0) {
            print_overview();
            return PM_OK;
        }
        about = verb_of_words(cli);
        if (about == NULL && strcmp(cli->words[0], "export") == 0) {
            print_verb(pm_cli_verb_named("export vkey"));
            (void)printf("\n");
            print_verb(pm_cli_verb_named("export solidity"));
            (void)printf("\n");
            print_verb(pm_cli_verb_named("export json"));
            (void)printf("\n");
            about = pm_cli_verb_named("export calldata");
        }
        if (about == NULL) {
            return pm_cli_usage(cli, "there is no verb %s", cli->words[0]);
        }
    }
    if (about->run == pm_cmd_remote) {
        cli->verb = about;
        return about->run(cli);
    }
    if (strcmp(about->name, "setup") == 0) {
        print_verb(about);
        (void)printf("\n");
        about = pm_cli_verb_named(PM_CLI_SETUP_KNOWN);
    }
    print_verb(about);
    if (strcmp(about->name, "plan") == 0) {
        print_circuits();
    }
    return PM_OK;
}

pm_status pm_cmd_version(struct pm_cli *cli) {
    pm_cli_print(cli, "proofmill %s\n", pm_version());
    (void)json_object_set_new(cli->result, "version", json_string(pm_version()));
    return PM_OK;
}
