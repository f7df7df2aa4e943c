/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* clang-format off */
/*
 * Proofs on a card: card_prove LIBRARY MODE [ARGUMENT...]
 *
 *   equal LOW HIGH SEED     circuits of 2^LOW to 2^HIGH rows, both curves and reductions, every
 *                           form, key resident and streamed: A, B, C are the CPU's for the same
 *                           r and s
 *   time PRESET LOG SEED [LIMIT_GIB]
 *                           latency with the key warm, the least and the median, by step
 *   files ZKEY WTNS [COUNT] a key and a witness of others: as equal, and COUNT proofs (1000) after
 *                           whose first tenth neither the process nor the card holds more
 *   verify LOG SEED         a proof of a circuit of 2^LOG rows that verifies
 *   several DEVICES PRESET LOW HIGH SEED
 *                           one proof over all of DEVICES ("cuda:0,1"), which is the CPU's for the
 *                           same r, s, and how long it takes beside one on the first of them
 *   partition LOG SEED WORD...
 *                           a partition of a sector, sums against known logarithms. WORDS change
 *                           what is proved from there on: limit=GIB (of the card), pack=LOG
 *                           (scalars), lent=1 (a, b, c are the caller's), pin (page-locks key and
 *                           lent arrays); go proves
 *   ledger FILE MODE ...    equal, verify or partition, and in FILE what is said of its memory, for
 *                           check_driver_watch.py
 *
 * Circuits and keys are made on the spot (bench/synthetic.h, keys of known secrets) from SEED. Exit
 * status 77: there is no device.
 */
/* clang-format on */
#include "card_prove.h"

#include "api/api_pending.h"
#include "api/api_report.h"
#include "groth16/backend_cuda.h"
#include "synthetic.h"

#include "gpu/load/gpu_load.h"

#include <proofmill/experimental.h>

#include <string.h>
#include <unistd.h>

static const struct pm_blinding some_blinding = {.r = {0x1234, 5, 6, 7}, .s = {0x9876, 5, 4, 3}};

/* ---- Circuits and keys ---------------------------------------------------------------------- */

struct subject {
    pm_context *context; /* of the CPU */
    pm_key *key;
    pm_witness *witness;
    struct synthetic_facts facts;
    double setup_ms;
};

static void path_of(const char *ending, char path[64]) {
    (void)snprintf(path, 64, "/tmp/card_prove_%d.%s", (int)getpid(), ending);
}

/* False: no such system, of too few rows. */
static bool subject_open(pm_context *context, const char *preset, pm_curve_id curve, bool bellman,
                         uint32_t log_n, uint64_t seed, struct subject *subject) {
    struct synthetic_options options = {.curve = curve, .seed = seed};
    char r1cs[64], wtns[64], key[64];
    path_of("r1cs", r1cs);
    path_of("wtns", wtns);
    path_of("key", key);
    const double begin_ms = card_prove_now_ms();
    CARD_PROVE_CHECK(synthetic_preset(preset, &options), "no preset %s", preset);
    options.curve = curve;
    options.seed = seed;
    if (log_n >= 4) {
        synthetic_fill_domain(&options, log_n);
    } else {
        options.n_rows = (UINT64_C(1) << log_n) - 1;
        options.n_public = 0;
    }
    *subject = (struct subject){.context = context};
    if (synthetic_write(&options, r1cs, wtns, &subject->facts, NULL) != PM_OK) {
        return false;
    }
    const pm_setup_known_options setup = {.struct_bytes = sizeof setup,
                                          .format =
                                              bellman ? PM_KEY_FORMAT_PARAMS : PM_KEY_FORMAT_ZKEY,
                                          .seed = seed};
    CARD_PROVE_OK(pm_setup_known_tau(context, r1cs, key, &setup, NULL, &error));
    if (bellman) {
        CARD_PROVE_OK(pm_key_open_params(context, key, r1cs, NULL, NULL, &subject->key, &error));
    } else {
        CARD_PROVE_OK(pm_key_open(context, key, NULL, NULL, &subject->key, &error));
    }
    CARD_PROVE_OK(pm_witness_open(context, wtns, NULL, &subject->witness, &error));
    subject->setup_ms = card_prove_now_ms() - begin_ms;
    (void)unlink(r1cs);
    (void)unlink(wtns);
    (void)unlink(key);
    return true;
}

static void subject_close(struct subject *subject) {
    pm_witness_destroy(subject->witness);
    pm_key_destroy(subject->key);
}

/* ---- Equal ---------------------------------------------------------------------------------- */

static pm_context *context_on(struct pm_backend *backend) {
    pm_context *context = NULL;
    CARD_PROVE_OK(pm_context_create(NULL, &context, &error));
    (void)pm_context_set_backend(context, backend);
    pm_context_set_strict(context, true);
    return context;
}

static struct pm_backend *backend_on(const struct pm_gpu_api *api,
                                     const struct pm_cuda_options *options) {
    struct pm_backend *backend = NULL;
    CARD_PROVE_OK(pm_backend_cuda_open(api, 0, options, &backend, &error));
    return backend;
}

/* A proof like any other, whose report goes to the ledger's file. */
static void prove_with_report(pm_context *card, const struct subject *subject,
                              const pm_prove_options *given, const struct pm_blinding *chosen,
                              pm_proof *proof, pm_prove_stats *stats) {
    pm_prove_options options = *given;
    CARD_PROVE_OK(pm_report_create(&options.report, &error));
    if (chosen != NULL) {
        CARD_PROVE_OK(pm_prove_with_blinding(card, subject->key, subject->witness, chosen, &options,
                                             NULL, proof, stats, &error));
    } else {
        CARD_PROVE_OK(
            pm_prove(card, subject->key, subject->witness, &options, NULL, proof, stats, &error));
    }
    const pm_report *report = options.report;
    card_prove_dump_ledger(&report->plan.plan, report->entries, report->n_entries);
    pm_report_destroy(options.report);
}

static uint32_t compare_with_cpu(const struct subject *subject, pm_context *const card[2],
                                 uint32_t log_n) {
    pm_proof expected, proof;
    uint32_t n_proofs = 0;
    CARD_PROVE_OK(pm_prove_with_blinding(subject->context, subject->key, subject->witness,
                                         &some_blinding, NULL, NULL, &expected, NULL, &error));
    for (uint32_t i = 0; i < 2 * 4; ++i) {
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .form = 1 + i % 2,
                                          .residency = 1 + i / 2 % 2,
                                          .b2 = PM_B2_SCHEDULE_START};
        if (log_n > 18 && i % 3 != 0) {
            continue; /* three resident and wide, two streamed and narrow, ... */
        }
        prove_with_report(card[i / 4], subject, &options, &some_blinding, &proof, NULL);
        CARD_PROVE_CHECK(memcmp(&proof, &expected, sizeof proof) == 0,
                         "2^%u, form %u, residency %u, card %u: not the CPU's proof", log_n,
                         options.form, options.residency, i / 4);
        ++n_proofs;
    }
    (void)pm_resident_evict(subject->key);
    return n_proofs;
}

static void equal(const struct pm_gpu_api *api, uint32_t low, uint32_t high, uint64_t seed) {
    static const char *const presets[] = {"uniform", "porep", "sha256", "rollup"};
    const struct pm_cuda_options narrow = {.window_bytes = UINT64_C(1) << 20, .pack_scalars = 1024};
    struct pm_backend *const backends[2] = {backend_on(api, NULL), backend_on(api, &narrow)};
    pm_context *const card[2] = {context_on(backends[0]), context_on(backends[1])};
    pm_context *cpu = context_on(NULL);
    for (uint32_t log_n = low; log_n <= high; ++log_n) {
        for (int kind = 0; kind < 3; ++kind) {
            struct subject subject;
            const char *preset = presets[(log_n + (uint32_t)kind) % 4];
            const pm_curve_id curve = kind == 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381;
            const double begin_ms = card_prove_now_ms();
            if (!subject_open(cpu, preset, curve, kind == 2, log_n, seed + log_n, &subject) &&
                !subject_open(cpu, "uniform", curve, kind == 2, log_n, seed + log_n, &subject)) {
                (void)printf("2^%u: no such circuit\n", log_n);
                continue;
            }
            const uint32_t n = compare_with_cpu(&subject, card, log_n);
            (void)printf("2^%u %s %s %s: %u proofs are the CPU's; setup %.0f ms, all %.0f ms\n",
                         log_n, preset, pm_curve_name(curve), kind == 2 ? "bellman" : "snarkjs", n,
                         subject.setup_ms, card_prove_now_ms() - begin_ms);
            (void)fflush(stdout);
            subject_close(&subject);
        }
    }
    pm_context_destroy(cpu);
    for (int i = 0; i < 2; ++i) {
        pm_context_destroy(card[i]);
        pm_backend_cuda_close(backends[i]);
    }
}

/* ---- Time ----------------------------------------------------------------------------------- */

#define ROUNDS 9

int card_prove_by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_steps(const pm_prove_stats *stats) {
    for (uint32_t i = 0; i < stats->n_phases; ++i) {
        (void)printf("    %-20s %9.3f ms\n", stats->phases[i].name,
                     1e-6 * (double)stats->phases[i].wall_ns);
    }
}

static void time_proofs(const struct pm_gpu_api *api, const char *preset, pm_curve_id curve,
                        bool bellman, uint32_t log_n, uint64_t seed, uint64_t limit_bytes) {
    const struct pm_cuda_options limited = {.memory_limit_bytes = limit_bytes};
    struct pm_backend *backend = backend_on(api, &limited);
    pm_context *card = context_on(backend), *cpu = context_on(NULL);
    struct subject subject;
    double times[ROUNDS];
    pm_prove_stats best = {.struct_bytes = sizeof best};
    CARD_PROVE_CHECK(subject_open(cpu, preset, curve, bellman, log_n, seed, &subject),
                     "no such circuit");
    for (int no_self_verify = 0; no_self_verify < 2; ++no_self_verify) {
        const pm_prove_options options = {.struct_bytes = sizeof options,
                                          .no_self_verify = (uint32_t)no_self_verify};
        double least = 1e30;
        for (int i = -2; i < ROUNDS; ++i) {
            pm_proof proof;
            pm_prove_stats stats = {.struct_bytes = sizeof stats};
            const double begin_ms = card_prove_now_ms();
            CARD_PROVE_OK(pm_prove(card, subject.key, subject.witness, &options, NULL, &proof,
                                   &stats, &error));
            const double ms = card_prove_now_ms() - begin_ms;
            if (i == -2) {
                (void)printf("  first proof, key brought: %.2f ms\n", ms);
            } else if (i >= 0) {
                times[i] = ms;
            }
            if (i >= 0 && ms < least) {
                least = ms;
                best = stats;
            }
        }
        qsort(times, ROUNDS, sizeof times[0], card_prove_by_value);
        (void)printf("%s 2^%u %s %s%s: least %.2f ms, median %.2f ms; residency %u, form %u\n",
                     preset, log_n, pm_curve_name(curve), bellman ? "bellman" : "snarkjs",
                     no_self_verify ? ", not self-verified" : "", times[0], times[ROUNDS / 2],
                     best.residency, best.form);
        print_steps(&best);
    }
    subject_close(&subject);
    pm_context_destroy(cpu);
    pm_context_destroy(card);
    pm_backend_cuda_close(backend);
}

/* Pages of the process that are in memory. */
static uint64_t resident_bytes(void) {
    unsigned long long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CARD_PROVE_CHECK(file != NULL && fscanf(file, "%llu %llu", &size, &resident) == 2,
                     "/proc/self/statm");
    (void)fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t card_free_bytes(const char *library) {
    pm_device_facts facts = {.struct_bytes = sizeof facts};
    CARD_PROVE_OK(pm_device_describe(library, 0, &facts, &error));
    return facts.free_bytes;
}

/* n proofs that are all the CPU's; what process and card hold must not grow after the first tenth.
 */
static void repeat(const char *library, pm_context *card, const struct subject *subject,
                   const pm_proof *expected, uint32_t n) {
    const uint32_t early = n / 10;
    uint64_t host_bytes = 0, free_bytes = 0;
    double least = 1e30;
    for (uint32_t i = 0; i < n; ++i) {
        const pm_prove_options options = {.struct_bytes = sizeof options};
        pm_proof proof;
        const double begin_ms = card_prove_now_ms();
        CARD_PROVE_OK(pm_prove_with_blinding(card, subject->key, subject->witness, &some_blinding,
                                             &options, NULL, &proof, NULL, &error));
        const double ms = card_prove_now_ms() - begin_ms;
        CARD_PROVE_CHECK(memcmp(&proof, expected, sizeof proof) == 0, "not the CPU's proof");
        least = ms < least ? ms : least;
        if (i == early) {
            host_bytes = resident_bytes();
            free_bytes = card_free_bytes(library);
        }
    }
    const uint64_t more_host = resident_bytes() - host_bytes;
    const uint64_t less_free = free_bytes - card_free_bytes(library);
    (void)printf(
        "  %u proofs, each the CPU's: least %.2f ms; after the first %u the process grew by "
        "%lld bytes, the card's memory in use by %lld\n",
        n, least, early, (long long)more_host, (long long)less_free);
    CARD_PROVE_CHECK((int64_t)more_host < (4 << 20) && (int64_t)less_free <= 0, "memory grew");
}

/* A key and a witness of others. */
static void prove_files(const struct pm_gpu_api *api, const char *library, const char *zkey,
                        const char *wtns, uint32_t n) {
    const struct pm_cuda_options narrow = {.window_bytes = UINT64_C(1) << 20, .pack_scalars = 1024};
    struct pm_backend *const backends[2] = {backend_on(api, NULL), backend_on(api, &narrow)};
    pm_context *const card[2] = {context_on(backends[0]), context_on(backends[1])};
    struct subject subject = {.context = context_on(NULL)};
    pm_proof expected;
    CARD_PROVE_OK(pm_key_open(subject.context, zkey, NULL, NULL, &subject.key, &error));
    CARD_PROVE_OK(pm_witness_open(subject.context, wtns, NULL, &subject.witness, &error));
    (void)printf("%s: %u proofs in every form are the CPU's\n", zkey,
                 compare_with_cpu(&subject, card, 0));
    CARD_PROVE_OK(pm_prove_with_blinding(subject.context, subject.key, subject.witness,
                                         &some_blinding, NULL, NULL, &expected, NULL, &error));
    repeat(library, card[0], &subject, &expected, n);
    subject_close(&subject);
    pm_context_destroy(subject.context);
    for (int i = 0; i < 2; ++i) {
        pm_context_destroy(card[i]);
        pm_backend_cuda_close(backends[i]);
    }
}

static void verify(const struct pm_gpu_api *api, uint32_t log_n, uint64_t seed) {
    struct pm_backend *backend = backend_on(api, NULL);
    pm_context *card = context_on(backend), *cpu = context_on(NULL);
    struct subject subject;
    pm_proof proof;
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    const pm_prove_options options = {.struct_bytes = sizeof options};
    CARD_PROVE_CHECK(subject_open(cpu, "porep", PM_CURVE_BLS12_381, false, log_n, seed, &subject),
                     "no such circuit");
    (void)printf("2^%u made in %.0f ms\n", log_n, subject.setup_ms);
    for (int i = 0; i < 2; ++i) {
        const double begin_ms = card_prove_now_ms();
        prove_with_report(card, &subject, &options, NULL, &proof, &stats);
        (void)printf("2^%u: a proof that verifies, %.1f ms\n", log_n,
                     card_prove_now_ms() - begin_ms);
    }
    print_steps(&stats);
    subject_close(&subject);
    pm_context_destroy(cpu);
    pm_context_destroy(card);
    pm_backend_cuda_close(backend);
}

/* ---- Several cards -------------------------------------------------------------------------- */

static pm_context *context_of(const char *library, const char *devices) {
    const pm_context_options options = {
        .struct_bytes = sizeof options, .device = devices, .gpu_library = library};
    pm_context *context = NULL;
    CARD_PROVE_OK(pm_context_create(&options, &context, &error));
    pm_context_set_strict(context, true);
    return context;
}

/* The least time of a proof, each of which must be the expected one; by how many devices. */
static double time_over(pm_context *cards, const struct subject *subject, const pm_proof *expected,
                        uint32_t *n_devices) {
    double least = 1e30;
    for (int i = 0; i < ROUNDS; ++i) {
        pm_proof proof;
        pm_prove_options options = {.struct_bytes = sizeof options, .all_devices = 1};
        CARD_PROVE_OK(pm_report_create(&options.report, &error));
        const double begin_ms = card_prove_now_ms();
        CARD_PROVE_OK(pm_prove_with_blinding(cards, subject->key, subject->witness, &some_blinding,
                                             &options, NULL, &proof, NULL, &error));
        const double ms = card_prove_now_ms() - begin_ms;
        CARD_PROVE_CHECK(memcmp(&proof, expected, sizeof proof) == 0, "not the CPU's proof");
        *n_devices = 1 + pm_report_n_parts(options.report);
        pm_report_destroy(options.report);
        least = ms < least ? ms : least;
    }
    return least;
}

static void several(const char *library, const char *devices, const char *preset, uint32_t low,
                    uint32_t high, uint64_t seed) {
    char first[16];
    (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(devices, ","), devices);
    pm_context *all = context_of(library, devices), *one = context_of(library, first);
    pm_context *cpu = context_on(NULL);
    for (uint32_t log_n = low; log_n <= high; ++log_n) {
        for (int kind = 0; kind < 3; ++kind) {
            const pm_curve_id curve = kind == 0 ? PM_CURVE_BN254 : PM_CURVE_BLS12_381;
            struct subject subject;
            pm_proof expected;
            uint32_t n_devices = 0;
            CARD_PROVE_CHECK(
                subject_open(cpu, preset, curve, kind == 2, log_n, seed + log_n, &subject),
                "no such circuit");
            CARD_PROVE_OK(pm_prove_with_blinding(cpu, subject.key, subject.witness, &some_blinding,
                                                 NULL, NULL, &expected, NULL, &error));
            const double one_ms = time_over(one, &subject, &expected, &n_devices);
            const double all_ms = time_over(all, &subject, &expected, &n_devices);
            (void)printf("2^%u %s %s %s: %.2f ms on one, %.2f ms on %u; the CPU's proof\n", log_n,
                         preset, pm_curve_name(curve), kind == 2 ? "bellman" : "snarkjs", one_ms,
                         all_ms, n_devices);
            (void)fflush(stdout);
            subject_close(&subject);
        }
    }
    pm_context_destroy(cpu);
    pm_context_destroy(one);
    pm_context_destroy(all);
}

/* ---- The program ---------------------------------------------------------------------------- */

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise) {
    return at < argc ? strtoull(argv[at], NULL, 0) : otherwise;
}

int main(int argc, char **argv) {
    const struct pm_gpu_api *api = NULL;
    pm_error error = PM_ERROR_INIT;
    uint32_t n_devices = 0;
    CARD_PROVE_CHECK(
        argc >= 3,
        "usage: card_prove LIBRARY equal|time|files|verify|several|partition|ledger ...");
    if (pm_gpu_load(argv[1], &api, &error) != PM_OK ||
        api->device_count(&n_devices, &error) != PM_OK) {
        (void)printf("%s\n", error.message);
        return 77;
    }
    if (strcmp(argv[2], "ledger") == 0) {
        CARD_PROVE_CHECK(argc > 4 && strcmp(argv[4], "time") != 0,
                         "usage: card_prove LIBRARY ledger FILE equal|verify|partition ...");
        api = card_prove_open_ledger(api, argv[3]);
        argc -= 2;
        argv += 2;
    }
    if (strcmp(argv[2], "equal") == 0) {
        equal(api, (uint32_t)number(argc, argv, 3, 1), (uint32_t)number(argc, argv, 4, 16),
              number(argc, argv, 5, 1));
    } else if (strcmp(argv[2], "time") == 0) {
        const char *preset = argc > 3 ? argv[3] : "rollup";
        const bool bellman = argc > 7 && strcmp(argv[7], "bellman") == 0;
        time_proofs(api, preset, bellman ? PM_CURVE_BLS12_381 : PM_CURVE_BN254, bellman,
                    (uint32_t)number(argc, argv, 4, 20), number(argc, argv, 5, 1),
                    number(argc, argv, 6, 0) << 30);
    } else if (strcmp(argv[2], "several") == 0) {
        if (n_devices < 2) {
            (void)printf("there is one device\n");
            return 77;
        }
        several(argv[1], argc > 3 ? argv[3] : "cuda:0,1", argc > 4 ? argv[4] : "uniform",
                (uint32_t)number(argc, argv, 5, 10), (uint32_t)number(argc, argv, 6, 20),
                number(argc, argv, 7, 1));
    } else if (strcmp(argv[2], "files") == 0) {
        CARD_PROVE_CHECK(argc > 4, "usage: card_prove LIBRARY files ZKEY WTNS [COUNT]");
        prove_files(api, argv[1], argv[3], argv[4], (uint32_t)number(argc, argv, 5, 1000));
    } else if (strcmp(argv[2], "verify") == 0) {
        verify(api, (uint32_t)number(argc, argv, 3, 24), number(argc, argv, 4, 1));
    } else {
        card_prove_partition(api, (uint32_t)number(argc, argv, 3, 27), number(argc, argv, 4, 1),
                             argc > 5 ? argc - 5 : 0, argv + 5);
    }
    card_prove_close_ledger();
    return 0;
}
