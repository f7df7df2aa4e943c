/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* pm_synthetic: writes a synthetic constraint system and its witness; see synthetic.h. */
#include "synthetic.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "pm_synthetic [options] CURVE LOG_N|ROWS OUT.r1cs OUT.wtns\n"
    "  CURVE             bn254 or bls12_381\n"
    "  LOG_N|ROWS        up to 31: fill a domain of 2^LOG_N; above: that many rows\n"
    "  --preset NAME     porep (the default), sha256, rollup or uniform; give it first\n"
    "  --seed N          default 1\n"
    "  --public N        public wires\n"
    "  --wires X         wires a row\n"
    "  --values Z,O,S    shares of 0, 1 and small values; the others are full-size\n"
    "  --terms A,B,C     terms a row\n"
    "  --density A,B,C   share of the wires that each matrix uses\n"
    "  --rows B,L,F      shares of boolean, linear and full-size rows\n";

static int refuse(const char *what) {
    (void)fprintf(stderr, "pm_synthetic: %s\n%s", what, usage);
    return 2;
}

/* Three numbers with commas between them. */
static bool read_three(const char *text, double *first, double *second, double *third) {
    int n_read = 0;
    return sscanf(text, "%lf,%lf,%lf%n", first, second, third, &n_read) == 3 &&
           text[n_read] == '\0';
}

static bool read_number(const char *text, uint64_t max, uint64_t *number) {
    char *end;
    *number = strtoull(text, &end, 10);
    return end != text && *end == '\0' && *number <= max;
}

static bool read_option(int option, const char *text, struct synthetic_options *o) {
    uint64_t number = 0;
    double *v = o->values;
    switch (option) {
    case 'p':
        return synthetic_preset(text, o);
    case 's':
        return read_number(text, UINT64_MAX, &o->seed);
    case 'n':
        if (!read_number(text, UINT32_MAX / 4, &number)) {
            return false;
        }
        o->n_public = (uint32_t)number;
        return true;
    case 'w': {
        char *end;
        o->wires_per_row = strtod(text, &end);
        return end != text && *end == '\0';
    }
    case 'v':
        if (!read_three(text, &v[SYNTHETIC_ZERO], &v[SYNTHETIC_ONE], &v[SYNTHETIC_SMALL])) {
            return false;
        }
        v[SYNTHETIC_FULL] = 1 - v[SYNTHETIC_ZERO] - v[SYNTHETIC_ONE] - v[SYNTHETIC_SMALL];
        if (v[SYNTHETIC_FULL] < 0 && v[SYNTHETIC_FULL] > -1e-12) {
            v[SYNTHETIC_FULL] = 0; /* 1 but for rounding */
        }
        return true;
    case 't':
        return read_three(text, &o->terms_per_row[0], &o->terms_per_row[1], &o->terms_per_row[2]);
    case 'd':
        return read_three(text, &o->density[0], &o->density[1], &o->density[2]);
    case 'r':
        return read_three(text, &o->boolean_rows, &o->linear_rows, &o->full_rows);
    default:
        return false;
    }
}

static void print_facts(const struct synthetic_facts *facts, uint32_t n_public) {
    (void)printf("rows %" PRIu64 " (boolean %" PRIu64 ", linear %" PRIu64 "), wires %" PRIu64
                 ", public %" PRIu32 ", domain 2^%" PRIu32 "\n",
                 facts->n_rows, facts->n_boolean, facts->n_linear, facts->n_wires, n_public,
                 facts->log_n);
    (void)printf("values: %" PRIu64 " zero, %" PRIu64 " one, %" PRIu64 " small, %" PRIu64
                 " full-size\n",
                 facts->n_values[SYNTHETIC_ZERO], facts->n_values[SYNTHETIC_ONE],
                 facts->n_values[SYNTHETIC_SMALL], facts->n_values[SYNTHETIC_FULL]);
    for (int m = 0; m < SYNTHETIC_MATRICES; m++) {
        (void)printf("%c: %" PRIu64 " terms, %.4f a row; %" PRIu64 " wires, %.2f %% of them\n",
                     "ABC"[m], facts -> n_terms[m],
                     (double)facts -> n_terms[m] / (double)facts -> n_rows, facts -> n_in[m],
                     100 * (double)facts -> n_in[m] / (double)(facts->n_wires - 1));
    }
}

int main(int n, char **arguments) {
    static const struct option names[] = {
        {"preset", required_argument, NULL, 'p'},  {"seed", required_argument, NULL, 's'},
        {"public", required_argument, NULL, 'n'},  {"wires", required_argument, NULL, 'w'},
        {"values", required_argument, NULL, 'v'},  {"terms", required_argument, NULL, 't'},
        {"density", required_argument, NULL, 'd'}, {"rows", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},          {0}};
    struct synthetic_options options = {.seed = 1};
    (void)synthetic_preset("porep", &options);
    for (int option; (option = getopt_long(n, arguments, "", names, NULL)) != -1;) {
        if (option == 'h') {
            (void)fputs(usage, stdout);
            return 0;
        }
        if (option == '?' || !read_option(option, optarg, &options)) {
            return refuse("an option is unknown or its value is malformed");
        }
    }
    uint64_t size = 0;
    if (n - optind != 4 || !read_number(arguments[optind + 1], UINT32_MAX, &size)) {
        return refuse("CURVE, LOG_N or ROWS and two files are needed");
    }
    options.curve = pm_curve_from_name(arguments[optind]);
    options.n_rows = size;
    if (size <= 31) {
        if (size < 4) {
            return refuse("the domain must have 2^4 points at least");
        }
        synthetic_fill_domain(&options, (uint32_t)size);
    }
    struct synthetic_facts facts;
    pm_error error = PM_ERROR_INIT;
    if (synthetic_write(&options, arguments[optind + 2], arguments[optind + 3], &facts, &error) !=
        PM_OK) {
        (void)fprintf(stderr, "pm_synthetic: %s%s%s\n", error.file, error.file[0] ? ": " : "",
                      error.message);
        return 1;
    }
    print_facts(&facts, options.n_public);
    return 0;
}
