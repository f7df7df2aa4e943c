/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A partition through the interface of supraseal-c2: card_supraseal LIBRARY LOG SEED [WORD...]
 *
 * LIBRARY is libproofmill-supraseal-curio, which reads the environment that doc/filecoin.md lists:
 * PROOFMILL_FALLBACK=0 asks for a card. LOG: 4 to 27; at 27 counts and the parameter file's length
 * are those of PoRep 32 GiB. The caller behaves as Curio's: when start returns, a, b and c are
 * unmapped and the SRS's handle is dropped; when finalize does, witness and densities are unmapped.
 * Each proof has r and s of its own, and must be the three points that follow from logarithms
 * (card_partition.h). Nobody could verify it: PROOFMILL_VERIFY is set to 0.
 *
 *   memory       the parameter file is made in memory; else it is in dir=
 *   dir=FOLDER   where the disk has room for it (44.1 GiB at 27); else TMPDIR or /tmp
 *   cold         it is read from the disk, not from the page cache
 *   rounds=N     proofs one after another (4), and by each of two threads afterwards (3)
 *   index=N      gpu_index (-1)
 *
 * Exit status 77: there is no card, and PROOFMILL_FALLBACK is 0.
 */
#include "card_supraseal.h"

#include "card_prove.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_MAX 64

struct words {
    const char *folder; /* NULL: memory */
    bool is_cold;
    int rounds, rounds_each, index;
};

struct caller {
    struct card_partition *p;
    struct card_supraseal_calls calls;
    struct words words;
    pm_supraseal_srs srs;
    void *mutex;
};

/* One proof, from the arrays that are lent for it. */
struct job {
    struct caller *caller;
    void *mutex;
    struct pm_groth16_proof expected;
    pm_supraseal_assignment assignment;
    pm_supraseal_fr r, s;
    void *at[CARD_LENTS];
    double start_ms, unmap_ms, finalize_ms;
};

static void must(const char *call, pm_supraseal_error error) {
    CARD_PROVE_CHECK(error.code == 0, "%s: %d %s", call, error.code,
                     error.message != NULL ? error.message : "no message");
    free(error.message);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Returns when the points are decoded: only then is an assignment refused whose first input is not
 * one. Its scalars are not read. */
static void wait_for_points(struct caller *caller) {
    const struct card_partition *p = caller->p;
    pm_supraseal_fr *zeros = card_room(p->sizes.n_inputs * PM_FR_BYTES);
    pm_supraseal_assignment assignment;
    void *at[CARD_LENTS], *pending = NULL;
    card_lend(p, at, &assignment);
    assignment.a = assignment.b = assignment.c = zeros;
    assignment.inp_assignment_data = assignment.aux_assignment_data = zeros;
    const pm_supraseal_error answer = caller->calls.start(
        &assignment, 1, zeros, zeros, &caller->srs, caller->mutex, caller->words.index, &pending);
    CARD_PROVE_CHECK(answer.code == EINVAL && answer.message != NULL &&
                         strstr(answer.message, "inputs[0]") != NULL && pending == NULL,
                     "inputs[0] that is not one is not what is refused: %d %s", answer.code,
                     answer.message != NULL ? answer.message : "no message");
    free(answer.message);
    card_lend_end(at, 0, CARD_LENTS - 1);
    card_room_free(zeros, p->sizes.n_inputs * PM_FR_BYTES);
}

static void load_parameters(struct caller *caller) {
    struct card_params_file file;
    card_params_write(caller->p, caller->words.folder, &file);
    if (caller->words.is_cold) {
        card_params_cool(&file);
    } else {
        card_params_read(caller->p, &file);
    }
    const double before_gib = card_host_peak_gib(), begin_ms = card_prove_now_ms();
    const pm_supraseal_error answer = caller->calls.create(&caller->srs, file.path, false);
    if (answer.code == ENODEV) {
        (void)printf("%s\n", answer.message);
        exit(77);
    }
    must("create_SRS", answer);
    const double created_ms = card_prove_now_ms() - begin_ms;
    wait_for_points(caller);
    const double ms = card_prove_now_ms() - begin_ms;
    (void)printf("loaded%s: create_SRS returned after %.1f ms, points there after %.0f ms, "
                 "%.2f GiB/s; %.2f GiB of memory, %.2f before\n",
                 caller->words.is_cold ? " from the disk" : "", created_ms, ms,
                 1e3 * (double)file.n_bytes / CARD_GIB / ms, card_host_peak_gib(), before_gib);
    (void)close(file.fd);
}

/* ---- Proofs ---------------------------------------------------------------------------------- */

/* r and s that no other proof here has; the arrays are there before the clock runs. */
static void prepare(struct caller *caller, void *mutex, struct job *job) {
    static uint64_t n_jobs;
    const struct card_partition *p = caller->p;
    const struct pm_field *fr = p->kernels.curve->fr;
    const uint64_t number = ++n_jobs;
    const struct pm_blinding blinding = {.r = {0x1234 + number, 5, 6, 7},
                                         .s = {0x9876, 5, 4, number}};
    *job = (struct job){.caller = caller, .mutex = mutex};
    card_partition_expect(p, &blinding, &job->expected);
    fr->to_mont(job->r.limb, blinding.r, 1);
    fr->to_mont(job->s.limb, blinding.s, 1);
    card_lend(p, job->at, &job->assignment);
}

static void check_proof(const struct job *job, const pm_supraseal_proof *proof) {
    CARD_PROVE_CHECK(memcmp(proof->a, job->expected.a, sizeof proof->a) == 0 &&
                         memcmp(proof->b, job->expected.b, sizeof proof->b) == 0 &&
                         memcmp(proof->c, job->expected.c, sizeof proof->c) == 0,
                     "A, B, C are not those of the logarithms");
}

static void *start(struct job *job) {
    const struct caller *caller = job->caller;
    pm_supraseal_srs srs = caller->calls.clone(&caller->srs);
    void *pending = NULL;
    const double begin_ms = card_prove_now_ms();
    must("generate_groth16_proofs_start_c",
         caller->calls.start(&job->assignment, 1, &job->r, &job->s, &srs, job->mutex,
                             caller->words.index, &pending));
    const double started_ms = card_prove_now_ms();
    card_lend_end(job->at, CARD_LENT_A, CARD_LENT_C);
    memset(&job->assignment, 0xff, sizeof job->assignment);
    memset(&job->r, 0xff, sizeof job->r);
    memset(&job->s, 0xff, sizeof job->s);
    caller->calls.drop(&srs);
    job->start_ms = started_ms - begin_ms;
    job->unmap_ms = card_prove_now_ms() - started_ms;
    return pending;
}

static void prove(struct job *job) {
    pm_supraseal_proof proof;
    void *pending = start(job);
    memset(&proof, 0xee, sizeof proof);
    const double begin_ms = card_prove_now_ms();
    must("finalize_groth16_proof_c", job->caller->calls.finalize(pending, &proof));
    job->finalize_ms = card_prove_now_ms() - begin_ms;
    card_lend_end(job->at, CARD_LENT_INPUTS, CARD_LENTS - 1);
    check_proof(job, &proof);
}

/* Whoever named a card must have got it. */
static void check_card(const struct card_watch_figures *figures, bool is_watched, uint64_t n) {
    const char *device = getenv("PROOFMILL_DEVICE");
    if (is_watched && device != NULL && strncmp(device, "cuda", 4) == 0) {
        CARD_PROVE_CHECK(figures->n_locks >= n,
                         "%llu proofs, and a card's lock was held %llu times",
                         (unsigned long long)n, (unsigned long long)figures->n_locks);
    }
}

static void prove_one_by_one(struct caller *caller) {
    struct card_watch_figures figures;
    double least = 1e30;
    for (int i = 0; i <= caller->words.rounds; ++i) {
        struct job job;
        prepare(caller, caller->mutex, &job);
        (void)card_supraseal_watched(&figures);
        prove(&job);
        const bool is_watched = card_supraseal_watched(&figures);
        const double ms = job.start_ms + job.finalize_ms;
        check_card(&figures, is_watched, 1);
        (void)printf("%s: %.1f ms: start %.1f, finalize %.1f; in the card's lock %.1f (%llu); a, b "
                     "and c unmapped between in %.1f; as by logarithms\n",
                     i == 0 ? "first proof" : "proof", ms, job.start_ms, job.finalize_ms,
                     figures.locked_ms, (unsigned long long)figures.n_locks, job.unmap_ms);
        least = i > 0 && ms < least ? ms : least;
    }
    (void)printf("2^%u: least %.1f ms\n", caller->p->sizes.log_n, least);
}

struct worker {
    struct job jobs[ROUNDS_MAX];
    int n;
    pthread_t thread;
};

static void *work(void *argument) {
    struct worker *worker = argument;
    for (int i = 0; i < worker->n; ++i) {
        prove(&worker->jobs[i]);
    }
    return NULL;
}

/* As Curio does: a thread starts its next proof while the other finalizes. With a mutex each, the
 * library alone says who waits for what. */
static void prove_two_at_a_time(struct caller *caller, void *const mutex[2], const char *how) {
    static struct worker workers[2];
    struct card_watch_figures figures;
    const int n = caller->words.rounds_each;
    for (int i = 0; i < 2; ++i) {
        for (workers[i].n = 0; workers[i].n < n; ++workers[i].n) {
            prepare(caller, mutex[i], &workers[i].jobs[workers[i].n]);
        }
    }
    (void)card_supraseal_watched(&figures);
    const double begin_ms = card_prove_now_ms();
    for (int i = 0; i < 2; ++i) {
        CARD_PROVE_CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0,
                         "no thread");
    }
    for (int i = 0; i < 2; ++i) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    const double ms = card_prove_now_ms() - begin_ms;
    const bool is_watched = card_supraseal_watched(&figures);
    check_card(&figures, is_watched, 2 * (uint64_t)n);
    (void)printf("two threads with %s, %d proofs: %.1f ms a proof, %.1f ms of it in the card's "
                 "lock; as by logarithms\n",
                 how, 2 * n, ms / (2 * n), figures.locked_ms / (2 * n));
}

static void prove_on_two_threads(struct caller *caller) {
    void *const one[2] = {caller->mutex, caller->mutex};
    void *const each[2] = {caller->mutex, caller->calls.create_mutex()};
    prove_two_at_a_time(caller, one, "one mutex");
    prove_two_at_a_time(caller, each, "a mutex each");
    caller->calls.destroy_mutex(each[1]);
}

/* A proof that is started and not wanted any more. */
static void give_up_one(struct caller *caller) {
    struct job job;
    prepare(caller, caller->mutex, &job);
    void *pending = start(&job);
    const double begin_ms = card_prove_now_ms();
    caller->calls.destroy(pending);
    const double ms = card_prove_now_ms() - begin_ms;
    card_lend_end(job.at, CARD_LENT_INPUTS, CARD_LENTS - 1);
    (void)printf("given up after its start: %.1f ms\n", ms);
}

static void print_peaks(void) {
    struct card_watch_figures figures;
    (void)printf("host: at most %.3f GiB of memory while proofs were made\n", card_host_peak_gib());
    if (card_supraseal_watched(&figures)) {
        (void)printf("cards: at most %.3f GiB were held, %.2f GiB used as the driver sees it; "
                     "page-locked %.3f GiB\n",
                     (double)figures.device_peak_bytes / CARD_GIB,
                     (double)figures.used_peak_bytes / CARD_GIB,
                     (double)figures.pinned_peak_bytes / CARD_GIB);
    }
}

/* ---- The program ----------------------------------------------------------------------------- */

static int count_of(const char *word, int least, int most) {
    char *end = NULL;
    const char *digits = strchr(word, '=') + 1;
    const long value = strtol(digits, &end, 10);
    CARD_PROVE_CHECK(*digits != '\0' && *end == '\0' && value >= least && value <= most,
                     "%s: not a number of %d to %d", word, least, most);
    return (int)value;
}

static void read_words(int n_words, char **given, struct words *words) {
    const char *tmpdir = getenv("TMPDIR");
    *words = (struct words){.folder = tmpdir != NULL && tmpdir[0] != '\0' ? tmpdir : "/tmp",
                            .rounds = 4,
                            .rounds_each = 3,
                            .index = -1};
    for (int i = 0; i < n_words; ++i) {
        const char *word = given[i];
        if (strcmp(word, "memory") == 0) {
            words->folder = NULL;
        } else if (strncmp(word, "dir=", 4) == 0) {
            words->folder = word + 4;
        } else if (strcmp(word, "cold") == 0) {
            words->is_cold = true;
        } else if (strncmp(word, "rounds=", 7) == 0) {
            words->rounds = words->rounds_each = count_of(word, 1, ROUNDS_MAX);
        } else if (strncmp(word, "index=", 6) == 0) {
            words->index = count_of(word, -1, 15);
        } else {
            CARD_PROVE_CHECK(false, "%s is no word of card_supraseal", word);
        }
    }
    CARD_PROVE_CHECK(!words->is_cold || words->folder != NULL, "a file in memory is never cold");
}

/* Everything that proofs are made of and compared with; then the host's own memory is as before. */
static void make_arrays(struct card_partition *p) {
    double begin_ms = card_prove_now_ms();
    card_partition_fill(p);
    (void)printf("witness and matrices made in %.0f ms\n", card_prove_now_ms() - begin_ms);
    begin_ms = card_prove_now_ms();
    card_partition_sum(p);
    (void)printf("what must come out, by the CPU: %.0f ms\n", card_prove_now_ms() - begin_ms);
    begin_ms = card_prove_now_ms();
    card_partition_forget(p);
    card_lend_scalars(p);
    (void)printf("a, b, c and witness moved to where they are lent from in %.0f ms\n",
                 card_prove_now_ms() - begin_ms);
}

int main(int argc, char **argv) {
    struct caller caller = {.srs = {NULL}};
    struct pm_team *team = NULL;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a run of minutes shows where it is */
    CARD_PROVE_CHECK(argc >= 4, "usage: card_supraseal LIBRARY LOG SEED [WORD...]");
    read_words(argc - 4, argv + 4, &caller.words);
    CARD_PROVE_CHECK(setenv("PROOFMILL_VERIFY", "0", 1) == 0 && unsetenv("PROOFMILL_RECORD") == 0,
                     "no memory");
    card_supraseal_load(argv[1], &caller.calls);
    card_host_watch();
    const double begin_ms = card_prove_now_ms();
    CARD_PROVE_OK(pm_team_create(pm_cpu_available(), &team, &error));
    caller.p =
        card_partition_make((uint32_t)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 0), team);
    card_lend_densities(caller.p);
    (void)printf("table and densities made in %.0f ms\n", card_prove_now_ms() - begin_ms);
    caller.mutex = caller.calls.create_mutex();
    load_parameters(&caller);
    make_arrays(caller.p);
    (void)printf("%.2f GiB of memory at most meanwhile\n", card_host_peak_gib());
    prove_one_by_one(&caller);
    prove_on_two_threads(&caller);
    give_up_one(&caller);
    print_peaks();
    caller.calls.drop(&caller.srs);
    caller.calls.destroy_mutex(caller.mutex);
    (void)printf("all of it in %.1f s\n", 1e-3 * (card_prove_now_ms() - begin_ms));
    pm_team_destroy(team);
    return 0;
}
