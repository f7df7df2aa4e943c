/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* proofmill-bench: times every layer, from a field multiplication to a proof, beside the floor that
 * the multiplier sets. doc/performance.md says how the floors are counted. */
#include "bench.h"
#include "floors.h"
#include "synthetic.h"

#include "base/memory.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "proofmill-bench [options]\n"
    "  --curve NAME    bn254 or bls12_381; both without it\n"
    "  --only PART     field, curve, pairing, ntt, msm, fixed-base, params or\n"
    "                  circuit\n"
    "  --log-n N       4 to 28: the size of everything that has one\n"
    "  --threads N     as many as may be used without it\n"
    "  --preset NAME   of the circuit: porep (without it), sha256, rollup or uniform\n"
    "  --key FILE, --witness FILE\n"
    "                  prove that instead of a synthetic circuit: with --only circuit\n"
    "  --quick         small sizes and few runs\n"
    "  --body NAME     portable, adx or ifma; the fastest that this processor has without it\n"
    "  --portable      as --body portable\n"
    "  --json FILE     writes all rows there too\n";

static const struct {
    const char *name;
    bench_part *run;
} parts[] = {
    {"field", bench_field},   {"curve", bench_curve},     {"pairing", bench_pairing},
    {"ntt", bench_ntt},       {"msm", bench_msm},         {"fixed-base", bench_fixed_base},
    {"params", bench_params}, {"circuit", bench_circuit},
};
#define N_PARTS (sizeof parts / sizeof parts[0])

static bool read_count(const char *text, uint32_t min, uint32_t max, uint32_t *count) {
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    *count = (uint32_t)value;
    return end != text && *end == '\0' && value >= min && value <= max;
}

static bool is_part(const char *name) {
    for (size_t i = 0; i < N_PARTS; i++) {
        if (strcmp(name, parts[i].name) == 0) {
            return true;
        }
    }
    return false;
}

/* One that this processor can run. */
static bool read_body(const char *name, enum pm_body *body) {
    static const enum pm_body bodies[] = {PM_BODY_PORTABLE, PM_BODY_ADX, PM_BODY_IFMA};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        if (strcmp(name, pm_body_name(bodies[i])) == 0) {
            *body = bodies[i];
            return pm_cpu_has_body(bodies[i]);
        }
    }
    return false;
}

static bool read_option(int option, const char *text, struct bench *bench, const char **json) {
    struct synthetic_options ignored = {0};
    switch (option) {
    case 'c':
        bench->curve = pm_curve_from_name(text);
        return bench->curve != PM_CURVE_NONE;
    case 'o':
        bench->only = text;
        return is_part(text);
    case 'n':
        return read_count(text, 4, 28, &bench->log_n);
    case 't':
        return read_count(text, 1, PM_THREADS_MAX, &bench->threads);
    case 'p':
        bench->preset = text;
        return synthetic_preset(text, &ignored);
    case 'k':
        bench->key = text;
        return true;
    case 'w':
        bench->witness = text;
        return true;
    case 'q':
        bench->is_quick = true;
        return true;
    case 'b':
        bench->body = PM_BODY_PORTABLE;
        return true;
    case 'B':
        return read_body(text, &bench->body);
    case 'j':
        *json = text;
        return true;
    default:
        return false;
    }
}

/* False: an option is not one of ours. */
static bool read_options(int n, char **arguments, struct bench *bench, const char **json) {
    static const struct option names[] = {{"curve", required_argument, NULL, 'c'},
                                          {"only", required_argument, NULL, 'o'},
                                          {"log-n", required_argument, NULL, 'n'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"preset", required_argument, NULL, 'p'},
                                          {"key", required_argument, NULL, 'k'},
                                          {"witness", required_argument, NULL, 'w'},
                                          {"quick", no_argument, NULL, 'q'},
                                          {"portable", no_argument, NULL, 'b'},
                                          {"body", required_argument, NULL, 'B'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    for (int option; (option = getopt_long(n, arguments, "", names, NULL)) != -1;) {
        if (option == 'h') {
            (void)fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (option == '?' || !read_option(option, optarg, bench, json)) {
            return false;
        }
    }
    return optind == n && (bench->key == NULL) == (bench->witness == NULL);
}

static void run_parts(struct bench *bench) {
    static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
    for (size_t i = 0; i < N_PARTS; i++) {
        if (bench->only != NULL && strcmp(bench->only, parts[i].name) != 0) {
            continue;
        }
        for (size_t j = 0; j < sizeof curves / sizeof curves[0]; j++) {
            if (bench->curve == PM_CURVE_NONE || bench->curve == curves[j]) {
                parts[i].run(bench, pm_curve_get(curves[j], bench->body));
            }
        }
    }
}

/* Where the circuit's files are; gone when the program ends, however it does. */
static char directory[1024];

static void remove_directory(void) {
    static const char *const files[] = {"bench.r1cs", "bench.wtns", "bench.zkey"};
    char path[sizeof directory + 16];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

static bool make_directory(void) {
    const char *parent = getenv("TMPDIR");
    (void)snprintf(directory, sizeof directory, "%s/proofmill-bench-XXXXXX",
                   parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    return mkdtemp(directory) != NULL && atexit(remove_directory) == 0;
}

int main(int n, char **arguments) {
    struct bench bench = {
        .threads = pm_threads_available(), .body = pm_cpu_best_body(), .preset = "porep"};
    const char *json = NULL;
    if (!read_options(n, arguments, &bench, &json)) {
        (void)fputs(usage, stderr);
        return 2;
    }
    if (!make_directory()) {
        perror("proofmill-bench: a temporary directory");
        return EXIT_FAILURE;
    }
    bench.temporary = directory;
    pm_error error = PM_ERROR_INIT;
    bench_need(pm_team_create(bench.threads, &bench.team, &error), &error);
    bench.mulx_ns = floor_probe_mulx_ns();
    bench.madd52_ns = floor_probe_madd52_ns();
    bench_print_heading(&bench);
    run_parts(&bench);
    const bool is_written = json == NULL || bench_write_json(&bench, json);
    if (!is_written) {
        perror(json);
    }
    pm_team_destroy(bench.team);
    pm_memory_free(bench.rows);
    return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
