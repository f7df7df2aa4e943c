/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Many proofs through the engine: card_engine LIBRARY LOG_N COUNT SEED [DEVICE]
 *
 * COUNT jobs over one synthetic partition of 2^LOG_N rows (the preset porep of bench/synthetic.h,
 * BLS12-381, a key of known secrets), with one worker on the device and then with two: how long a
 * proof takes in steady state, and for how much of that the device is idle. The engine is the
 * daemon's, with a journal. DEVICE is cuda:0 unless given, or "cpu". With OUT set, a Chrome trace
 * of each run is written to that folder. Exit status 77: there is no device.
 *
 * Steady state is from the end of the third proof, or of the first one after the last submission if
 * that is later, to the end of the last but two. A card is at work while a proof has it to itself.
 */
#include "card_engine.h"

#include "base/clock.h"
#include "synthetic.h"

#include <proofmill/experimental.h>

#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEY_NAME "partition"
#define SUBMITTERS_MAX 16
#define WARM_UP_JOBS 2
#define NO_DEVICE_EXIT 77

/* ---- On the disk ---------------------------------------------------------------------------- */

static char folder[256];
static volatile int stop; /* by a signal */

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *at) {
    (void)facts, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

static void remove_folder(void) {
    if (folder[0] != '\0') {
        (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        folder[0] = '\0';
    }
}

void card_engine_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    (void)printf("%s:%d: ", file, line);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)printf("\n");
    (void)fflush(stdout);
    remove_folder();
    _exit(1); /* threads of an engine may still be at work */
}

static void on_signal(int signal_number) {
    (void)signal_number;
    stop = 1;
}

static pm_control stoppable(void) {
    return (pm_control){.struct_bytes = sizeof(pm_control), .cancel = &stop};
}

static void make_folder(void) {
    const char *parent = getenv("TMPDIR");
    const struct sigaction action = {.sa_handler = on_signal};
    const int length = snprintf(folder, sizeof folder, "%s/card_engine.XXXXXX",
                                parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    const bool fits = length > 0 && (size_t)length < sizeof folder;
    if (!fits || mkdtemp(folder) == NULL) {
        folder[0] = '\0';
        card_engine_fail(__FILE__, __LINE__, "no folder can be made in TMPDIR or /tmp");
    }
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static void path_of(const char *name, char path[300]) {
    (void)snprintf(path, 300, "%s/%s", folder, name);
}

/* ---- The circuit ---------------------------------------------------------------------------- */

struct subject {
    const char *library, *device;
    bool is_card;
    uint32_t log_n, n_jobs;
    uint64_t seed;
    char witness_path[300], key_path[300];
    pm_context *context; /* of the CPU, to verify with */
    pm_vk *vk;
    uint32_t n_public;
};

static double since_ms(uint64_t begin_ns) {
    return (double)(pm_clock_now_ns() - begin_ns) / CARD_ENGINE_NS_PER_MS;
}

static void make_subject(struct subject *subject) {
    struct synthetic_options options = {.curve = PM_CURVE_BLS12_381, .seed = subject->seed};
    struct synthetic_facts facts;
    const pm_setup_known_options setup = {
        .struct_bytes = sizeof setup, .format = PM_KEY_FORMAT_ZKEY, .seed = subject->seed};
    const pm_control control = stoppable();
    char r1cs_path[300];
    pm_key *key = NULL;
    path_of("circuit.r1cs", r1cs_path);
    path_of("witness.wtns", subject->witness_path);
    path_of("partition.zkey", subject->key_path);
    CARD_ENGINE_CHECK(synthetic_preset("porep", &options), "there is no preset porep");
    synthetic_fill_domain(&options, subject->log_n);
    uint64_t begin_ns = pm_clock_now_ns();
    CARD_ENGINE_OK(synthetic_write(&options, r1cs_path, subject->witness_path, &facts, &error));
    (void)printf("circuit and witness of 2^%u rows: %.0f ms\n", facts.log_n, since_ms(begin_ns));
    (void)fflush(stdout);
    begin_ns = pm_clock_now_ns();
    CARD_ENGINE_OK(pm_context_create(NULL, &subject->context, &error));
    CARD_ENGINE_OK(pm_setup_known_tau(subject->context, r1cs_path, subject->key_path, &setup,
                                      &control, &error));
    (void)unlink(r1cs_path);
    (void)printf("key: %.0f ms\n", since_ms(begin_ns));
    (void)fflush(stdout);
    CARD_ENGINE_OK(pm_key_open(subject->context, subject->key_path, NULL, &control, &key, &error));
    CARD_ENGINE_OK(pm_vk_from_key(subject->context, key, &subject->vk, &error));
    pm_key_destroy(key);
    subject->n_public = pm_vk_n_public(subject->vk);
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

static uint64_t submit(pm_engine *engine, const struct subject *subject, const char *request_id) {
    const pm_engine_input input = {.path = subject->witness_path};
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .key = KEY_NAME,
                                       .request_id = request_id,
                                       .inputs = &input,
                                       .n_inputs = 1};
    const pm_control control = stoppable();
    uint64_t job = 0;
    int known = 0;
    CARD_ENGINE_OK(pm_engine_submit(engine, &request, &control, &job, &known, &error));
    CARD_ENGINE_CHECK(known == 0, "the request %s is known already", request_id);
    return job;
}

static void await_done(pm_engine *engine, uint64_t job, pm_engine_job *info) {
    const pm_control control = stoppable();
    info->struct_bytes = sizeof *info;
    CARD_ENGINE_OK(pm_engine_await(engine, job, 0, &control, info, &error));
    CARD_ENGINE_CHECK(info->state == PM_ENGINE_DONE, "job %llu is %s: %s: %s",
                      (unsigned long long)job, pm_engine_state_name((pm_engine_state)info->state),
                      pm_status_name((pm_status)info->status), info->message);
}

/* Each submission reads the whole witness for its digest, which is slower than a card proves: as
 * many clients as there are threads are at it together. */
struct submission {
    pm_engine *engine;
    const struct subject *subject;
    uint32_t n_workers, n_jobs;
    uint32_t next; /* atomic */
};

static void *submit_some(void *argument) {
    struct submission *submission = argument;
    char request_id[64];
    for (;;) {
        const uint32_t i = __atomic_fetch_add(&submission->next, 1, __ATOMIC_RELAXED);
        if (i >= submission->n_jobs) {
            return NULL;
        }
        (void)snprintf(request_id, sizeof request_id, "%u-workers-%u", submission->n_workers, i);
        (void)submit(submission->engine, submission->subject, request_id);
    }
}

static void submit_all(pm_engine *engine, const struct subject *subject,
                       struct card_engine_run *run) {
    struct submission submission = {
        .engine = engine, .subject = subject, .n_workers = run->n_workers, .n_jobs = run->n_jobs};
    pthread_t threads[SUBMITTERS_MAX];
    uint32_t n = pm_threads_available();
    n = n < SUBMITTERS_MAX ? n : SUBMITTERS_MAX;
    n = n < run->n_jobs ? n : run->n_jobs;
    run->submit_ns = pm_clock_now_ns();
    for (uint32_t i = 0; i < n; ++i) {
        CARD_ENGINE_CHECK(pthread_create(&threads[i], NULL, submit_some, &submission) == 0,
                          "no thread for a client");
    }
    for (uint32_t i = 0; i < n; ++i) {
        (void)pthread_join(threads[i], NULL);
    }
    run->accepted_ns = pm_clock_now_ns();
}

/* Brings the key to the device, and whatever else comes with the first proofs. The number of the
 * last job. */
static uint64_t warm_up(pm_engine *engine, const struct subject *subject, uint32_t n_workers) {
    uint64_t jobs[WARM_UP_JOBS];
    char request_id[64];
    pm_engine_job info;
    for (uint32_t i = 0; i < WARM_UP_JOBS; ++i) {
        (void)snprintf(request_id, sizeof request_id, "%u-workers-warm-%u", n_workers, i);
        jobs[i] = submit(engine, subject, request_id);
    }
    for (uint32_t i = 0; i < WARM_UP_JOBS; ++i) {
        await_done(engine, jobs[i], &info);
    }
    return jobs[WARM_UP_JOBS - 1];
}

static void verify_all(pm_engine *engine, const struct subject *subject,
                       const struct card_engine_run *run) {
    uint8_t *publics = malloc(((size_t)subject->n_public + 1) * PM_FR_BYTES);
    CARD_ENGINE_CHECK(publics != NULL, "no memory for %u public signals", subject->n_public);
    for (uint32_t i = 0; i < run->n_jobs; ++i) {
        pm_proof proof;
        CARD_ENGINE_CHECK(run->job[i].n_public == subject->n_public, "a job has %u public signals",
                          run->job[i].n_public);
        CARD_ENGINE_OK(pm_engine_result(engine, run->first_job + i, 0, 1, &proof, publics, &error));
        CARD_ENGINE_OK(
            pm_verify(subject->context, subject->vk, publics, subject->n_public, &proof, &error));
    }
    (void)printf("  all %u proofs verify\n", run->n_jobs);
    free(publics);
}

/* ---- A run ---------------------------------------------------------------------------------- */

static void say(void *user, pm_log_level level, const char *sentence) {
    (void)user;
    if (level == PM_LOG_WARNING) {
        (void)printf("  engine: %s\n", sentence);
        (void)fflush(stdout);
    }
}

static pm_engine *open_engine(const struct subject *subject, uint32_t n_workers) {
    char journal_path[300];
    path_of("journal", journal_path);
    const pm_engine_device device = {.struct_bytes = sizeof device,
                                     .n_workers = n_workers,
                                     .n_express = UINT32_MAX,
                                     .device = subject->device};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 1,
                                       .devices = &device,
                                       .gpu_library = subject->is_card ? subject->library : NULL,
                                       .journal_path = journal_path,
                                       .log = say};
    const pm_engine_key key = {
        .struct_bytes = sizeof key, .name = KEY_NAME, .path = subject->key_path, .must_fit = 1};
    const pm_control control = stoppable();
    pm_engine *engine = NULL;
    const uint64_t begin_ns = pm_clock_now_ns();
    CARD_ENGINE_OK(pm_engine_create(&options, &engine, &error));
    CARD_ENGINE_OK(pm_engine_key_register(engine, &key, &control, &error));
    CARD_ENGINE_OK(pm_engine_key_preload(engine, KEY_NAME, 0, NULL, &error));
    (void)printf("engine with %u worker%s, key registered and open: %.0f ms\n", n_workers,
                 n_workers == 1 ? "" : "s", since_ms(begin_ns));
    (void)fflush(stdout);
    return engine;
}

static void write_trace(const struct card_engine_run *run) {
    const char *out = getenv("OUT");
    char path[600];
    if (out == NULL || out[0] == '\0') {
        return;
    }
    (void)snprintf(path, sizeof path, "%.500s/card_engine_%u.json", out, run->n_workers);
    FILE *file = fopen(path, "w");
    CARD_ENGINE_CHECK(file != NULL, "%s cannot be written", path);
    card_engine_trace(run, file);
    const bool is_whole = ferror(file) == 0;
    CARD_ENGINE_CHECK(fclose(file) == 0 && is_whole, "%s cannot be written", path);
}

static void run_engine(const struct subject *subject, uint32_t n_workers) {
    static struct card_engine_run run;
    run = (struct card_engine_run){.device = subject->device,
                                   .is_card = subject->is_card,
                                   .n_workers = n_workers,
                                   .n_jobs = subject->n_jobs};
    pm_engine *engine = open_engine(subject, n_workers);
    const uint64_t begin_ns = pm_clock_now_ns();
    run.first_job = warm_up(engine, subject, n_workers) + 1;
    (void)printf("first %u proofs, key brought to the device: %.0f ms\n", WARM_UP_JOBS,
                 since_ms(begin_ns));
    (void)fflush(stdout);
    submit_all(engine, subject, &run);
    for (uint32_t i = 0; i < run.n_jobs; ++i) {
        await_done(engine, run.first_job + i, &run.job[i]);
    }
    card_engine_collect(engine, &run);
    card_engine_print(engine, &run);
    verify_all(engine, subject, &run);
    write_trace(&run);
    CARD_ENGINE_OK(pm_engine_drain(engine, 0, &error));
    pm_engine_destroy(engine);
}

/* ---- The program ---------------------------------------------------------------------------- */

static uint64_t number(const char *text, const char *what, uint64_t least, uint64_t most) {
    char *end = NULL;
    const uint64_t value = strtoull(text, &end, 0);
    CARD_ENGINE_CHECK(end != text && *end == '\0' && value >= least && value <= most,
                      "%s is a number from %llu to %llu", what, (unsigned long long)least,
                      (unsigned long long)most);
    return value;
}

int main(int argc, char **argv) {
    struct subject subject = {.device = argc > 5 ? argv[5] : "cuda:0"};
    struct rusage usage = {0};
    pm_error found = PM_ERROR_INIT;
    uint32_t n_devices = 0;
    CARD_ENGINE_CHECK(argc >= 5 && argc <= 6,
                      "usage: card_engine LIBRARY LOG_N COUNT SEED [DEVICE]");
    subject.library = argv[1];
    subject.log_n = (uint32_t)number(argv[2], "LOG_N", 4, 27);
    subject.n_jobs = (uint32_t)number(argv[3], "COUNT", 1, CARD_ENGINE_JOBS_MAX);
    subject.seed = number(argv[4], "SEED", 0, UINT64_MAX);
    subject.is_card = strcmp(subject.device, "cpu") != 0;
    if (subject.is_card && pm_device_count(subject.library, &n_devices, &found) != PM_OK) {
        (void)printf("%s\n", found.message);
        return NO_DEVICE_EXIT;
    }
    CARD_ENGINE_OK(pm_guard_install(&error));
    make_folder();
    make_subject(&subject);
    run_engine(&subject, 1);
    run_engine(&subject, 2);
    pm_vk_destroy(subject.vk);
    pm_context_destroy(subject.context);
    remove_folder();
    if (getrusage(RUSAGE_SELF, &usage) == 0) { /* ru_maxrss is in KiB */
        (void)printf("the process had %.3f GiB in memory at most, pages of mapped files included\n",
                     (double)usage.ru_maxrss / (1 << 20));
    }
    return 0;
}
