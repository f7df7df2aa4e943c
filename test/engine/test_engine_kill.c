/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * kill -9, at any time. A child runs an engine over a journal, submits jobs, and says on a pipe
 * what was acknowledged and what outcome it was told; it is killed, and the next one goes on. In
 * the end every job that was ever acknowledged has ended, once; whatever was told of it was the
 * same at all times; and a proof, which has fresh randomness each time it is made, was never made
 * again.
 *
 *   test_engine_kill [ROUNDS]      random kills, and a sample of writes; more than 20: every write
 *   test_engine_kill child ...     what is killed
 */
#include "engine_case.h"
#include "engine_vfs.h"

#include "base/blake2b.h"
#include "base/clock.h"
#include "support/data_limit.h"
#include "support/file_builder.h"
#include "support/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOBS_MAX = 65536, LINE_BYTES = 512, QUICK_ROUNDS = PM_TEST_IS_SANITIZED ? 8 : 20 };

static uint32_t n_rounds = QUICK_ROUNDS;
static const char *program;
static struct circuits circuits;

/* ---- The child ------------------------------------------------------------------------------ */

struct child {
    pm_engine *engine;
    int fd;
    struct seeded_random random;
};

/* A line is written at once, so that it is whole or not there. */
__attribute__((format(printf, 2, 3))) static void say(const struct child *child, const char *format,
                                                      ...) {
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (write(child->fd, line, (size_t)length) != length) {
        _exit(3);
    }
}

static void die_of(const char *what, pm_status status, const pm_error *error) {
    (void)fprintf(stderr, "child: %s: %s: %s\n", what, pm_status_name(status), error->message);
    _exit(4);
}

static enum circuit circuit_of(const char *key) {
    for (uint32_t c = 0; c < N_SMALL; ++c) {
        if (strcmp(circuits.name[c], key) == 0) {
            return (enum circuit)c;
        }
    }
    _exit(5);
}

/* The outcome, with a digest of all that was given out; 'X' for a proof that does not hold. */
static void tell_outcome(const struct child *child, const pm_engine_job *info) {
    struct pm_blake2b state;
    uint8_t digest[8];
    char verdict = 'V';
    pm_blake2b_init(&state, sizeof digest);
    for (uint32_t i = 0; info->state == PM_ENGINE_DONE && i < info->n_parts; ++i) {
        pm_proof proof;
        uint8_t publics[16 * PM_FR_BYTES] = {0};
        pm_error error = PM_ERROR_INIT;
        const pm_status status =
            pm_engine_result(child->engine, info->job, i, 1, &proof, publics, &error);
        if (status != PM_OK) {
            die_of("result", status, &error);
        }
        if (check_proof(&circuits, circuit_of(info->key), &proof, publics) != PM_OK) {
            verdict = 'X';
        }
        pm_blake2b_update(&state, &proof, sizeof proof);
        pm_blake2b_update(&state, publics, sizeof publics);
    }
    pm_blake2b_final(&state, digest);
    uint64_t number;
    memcpy(&number, digest, sizeof number);
    say(child, "R %s %llu %s %016llx %c %s\n", info->request_id, (unsigned long long)info->job,
        pm_engine_state_name((pm_engine_state)info->state), (unsigned long long)number, verdict,
        info->state == PM_ENGINE_FAILED ? info->message : "-");
}

static uint64_t child_submit(struct child *child, const char *request_id, enum circuit circuit,
                             uint32_t n_parts, bool as_bytes) {
    pm_engine_input inputs[3];
    pm_error error = PM_ERROR_INIT;
    uint64_t job = 0;
    size_t n_bytes = 0;
    char *bytes = pm_test_read_file(circuits.witness_path[circuit], &n_bytes);
    for (uint32_t i = 0; i < n_parts; ++i) {
        inputs[i] = as_bytes ? (pm_engine_input){.bytes = bytes, .n_bytes = n_bytes}
                             : (pm_engine_input){.path = circuits.witness_path[circuit]};
    }
    const pm_engine_request request = {.struct_bytes = sizeof request,
                                       .priority =
                                           1 + (uint32_t)seeded_random_below(&child->random, 4),
                                       .key = circuits.name[circuit],
                                       .request_id = request_id,
                                       .inputs = inputs,
                                       .n_inputs = n_parts};
    const pm_status status = pm_engine_submit(child->engine, &request, NULL, &job, NULL, &error);
    free(bytes);
    if (status != PM_OK) {
        die_of("submit", status, &error);
    }
    say(child, "A %s %llu\n", request_id, (unsigned long long)job);
    return job;
}

static void tell_if_ended(const struct child *child, uint64_t id) {
    pm_engine_job info;
    if (pm_engine_job_info(child->engine, id, &info, NULL) == PM_OK &&
        info.state >= PM_ENGINE_DONE) {
        tell_outcome(child, &info);
    }
}

/* Submits, asks, cancels, for ever. */
static void run_until_killed(struct child *child, const char *round) {
    uint64_t last = 0;
    for (uint32_t i = 0;; ++i) {
        char request_id[64];
        const uint64_t dice = seeded_random_below(&child->random, 10);
        if (dice < 5) {
            (void)snprintf(request_id, sizeof request_id, "%s-%u", round, i);
            last = child_submit(child, request_id,
                                (enum circuit)seeded_random_below(&child->random, N_SMALL),
                                dice == 0 ? 3 : 1, dice == 1);
        } else if (dice < 9) {
            tell_if_ended(child, 1 + seeded_random_below(&child->random, last + 8));
        } else if (last != 0 && pm_engine_cancel(child->engine, last, NULL, NULL) == PM_OK) {
            tell_if_ended(child, last);
        }
        if (i > 40) {
            test_sleep_ms(1);
        }
    }
}

/* A fixed story: a job by path, one of two parts as bytes, one that is cancelled. */
static void run_story(struct child *child) {
    static const char *const names[] = {"path", "bytes", "cancelled"};
    (void)child_submit(child, names[0], MULT3, 1, false);
    (void)child_submit(child, names[1], MIMC, 2, true);
    const uint64_t third = child_submit(child, names[2], NOPRIV_BLS, 1, false);
    if (pm_engine_cancel(child->engine, third, NULL, NULL) != PM_OK) {
        _exit(6);
    }
    tell_if_ended(child, third);
    for (uint64_t id = 1; id <= third; ++id) {
        if (pm_engine_await(child->engine, id, 60000, NULL, NULL, NULL) != PM_OK) {
            _exit(7);
        }
        tell_if_ended(child, id);
    }
}

/* Lets everything end, and tells all there is. */
static void run_to_the_end(struct child *child) {
    pm_error error = PM_ERROR_INIT;
    const pm_status status = pm_engine_drain(child->engine, 300000, &error);
    if (status != PM_OK) {
        die_of("drain", status, &error);
    }
    uint64_t after = 0;
    pm_engine_job info;
    for (uint32_t n = 1; pm_engine_jobs(child->engine, after, &info, &n) == PM_OK && n == 1;) {
        after = info.job;
        say(child, "L %s %llu\n", info.request_id, (unsigned long long)info.job);
        tell_outcome(child, &info);
    }
    pm_engine_metrics metrics;
    (void)pm_engine_metrics_now(child->engine, &metrics);
    say(child, "S %llu\n", (unsigned long long)metrics.stored_bytes);
}

static bool is_registered(struct child *child) {
    uint32_t n = 0;
    return pm_engine_keys(child->engine, NULL, &n) == PM_OK && n == N_SMALL;
}

/* child FD FOLDER MODE SEED KILL_AT ROUND */
static int child_main(char **argv) {
    struct child child = {.fd = atoi(argv[2]), .random = {.state = strtoull(argv[5], NULL, 0)}};
    pm_error error = PM_ERROR_INIT;
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = 64 << 20,
                                       .journal_path = argv[3],
                                       .retry_ms = 1};
    const uint64_t kill_at = strtoull(argv[6], NULL, 0);
    engine_vfs_install();
    circuits_borrow(&circuits);
    engine_vfs_kill_at(kill_at / 2, kill_at % 2 != 0);
    pm_status status = pm_engine_create(&options, &child.engine, &error);
    if (status != PM_OK) {
        die_of("create", status, &error);
    }
    if (!is_registered(&child)) {
        circuits_register(&circuits, child.engine);
    }
    say(&child, "K\n");
    if (strcmp(argv[4], "random") == 0) {
        run_until_killed(&child, argv[7]);
    } else if (strcmp(argv[4], "story") == 0) {
        run_story(&child);
    } else {
        run_to_the_end(&child);
    }
    pm_engine_destroy(child.engine);
    circuits_close(&circuits);
    return 0;
}

/* ---- The parent's books --------------------------------------------------------------------- */

struct record {
    char request_id[64];
    uint64_t job;
    bool is_acknowledged, is_told;
    uint32_t n_listed;
    char outcome[64]; /* state and digest, as first told */
    bool failed;
};

struct books {
    struct record *records;
    uint32_t n, n_told, n_failed;
    uint64_t stored_bytes;
};

static struct record *record_of(struct books *books, const char *request_id) {
    for (uint32_t i = books->n; i-- > 0;) {
        if (strcmp(books->records[i].request_id, request_id) == 0) {
            return &books->records[i];
        }
    }
    assert_true(books->n < JOBS_MAX);
    struct record *record = &books->records[books->n++];
    (void)snprintf(record->request_id, sizeof record->request_id, "%s", request_id);
    return record;
}

static void same_job(struct record *record, unsigned long long job) {
    if (record->job != 0 && record->job != job) {
        fail_msg("%s was job %llu, and is %llu", record->request_id,
                 (unsigned long long)record->job, job);
    }
    record->job = job;
}

static void read_outcome(struct books *books, const char *line) {
    char id[64], state[32], digest[32], verdict, outcome[80];
    unsigned long long job;
    assert_int_equal(sscanf(line, "R %63s %llu %31s %31s %c", id, &job, state, digest, &verdict),
                     5);
    struct record *record = record_of(books, id);
    same_job(record, job);
    assert_int_equal(verdict, 'V');
    (void)snprintf(outcome, sizeof outcome, "%s %s", state, digest);
    if (record->is_told && strcmp(record->outcome, outcome) != 0) {
        fail_msg("%s was told to be %s, then %s", id, record->outcome, outcome);
    }
    if (!record->is_told && strcmp(state, "failed") == 0) {
        ++books->n_failed;
        assert_non_null(strstr(line, "the process ended several times"));
    }
    books->n_told += !record->is_told;
    record->is_told = true;
    (void)snprintf(record->outcome, sizeof record->outcome, "%.63s", outcome);
}

static void read_line(struct books *books, const char *line) {
    char id[64];
    unsigned long long number;
    if (sscanf(line, "A %63s %llu", id, &number) == 2) {
        struct record *record = record_of(books, id);
        same_job(record, number);
        record->is_acknowledged = true;
    } else if (sscanf(line, "L %63s %llu", id, &number) == 2) {
        struct record *record = record_of(books, id);
        same_job(record, number);
        ++record->n_listed;
    } else if (line[0] == 'R') {
        read_outcome(books, line);
    } else if (sscanf(line, "S %llu", &number) == 1) {
        books->stored_bytes = number;
    }
}

/* ---- Running children ----------------------------------------------------------------------- */

struct run {
    const char *folder, *mode;
    uint64_t seed, kill_at; /* twice the write, and 1 for half of it */
    uint32_t round;
    bool from_ready;  /* the time runs from when the engine stands */
    uint64_t kill_ns; /* 0: it ends by itself, or kills itself */
};

static pid_t start_child(const struct run *run, int *fd) {
    int ends[2];
    char number[16], seed[32], kill_at[32], round[16];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        (void)snprintf(number, sizeof number, "%d", ends[1]);
        (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->seed);
        (void)snprintf(kill_at, sizeof kill_at, "%llu", (unsigned long long)run->kill_at);
        (void)snprintf(round, sizeof round, "r%u", run->round);
        (void)execl(program, program, "child", number, run->folder, run->mode, seed, kill_at, round,
                    (char *)NULL);
        _exit(9);
    }
    (void)close(ends[1]);
    *fd = ends[0];
    return child;
}

/* Reads lines until the child is gone; kills it in time. Returns its wait status. */
static int run_child(const struct run *run, struct books *books) {
    char buffer[65536];
    size_t n = 0;
    int fd, status = 0;
    const pid_t child = start_child(run, &fd);
    uint64_t until_ns =
        run->kill_ns != 0 && !run->from_ready ? pm_clock_now_ns() + run->kill_ns : 0;
    bool is_killed = false;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        const uint64_t now_ns = pm_clock_now_ns();
        if (until_ns != 0 && now_ns >= until_ns && !is_killed) {
            assert_int_equal(kill(child, SIGKILL), 0);
            is_killed = true;
        }
        (void)poll(&ready, 1, until_ns != 0 && !is_killed ? 1 : 100);
        if ((ready.revents & (POLLIN | POLLHUP)) == 0) {
            continue;
        }
        const ssize_t got = read(fd, buffer + n, sizeof buffer - 1 - n);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
        buffer[n] = '\0';
        char *line = buffer, *newline;
        while ((newline = strchr(line, '\n')) != NULL) {
            *newline = '\0';
            if (line[0] == 'K' && run->from_ready && until_ns == 0) {
                until_ns = pm_clock_now_ns() + run->kill_ns;
            }
            read_line(books, line);
            line = newline + 1;
        }
        n = (size_t)(buffer + n - line);
        memmove(buffer, line, n);
    }
    (void)close(fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static bool was_killed(int status) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void expect_settled(const struct books *books) {
    for (uint32_t i = 0; i < books->n; ++i) {
        const struct record *record = &books->records[i];
        if (record->n_listed > 1 || (record->is_acknowledged && record->n_listed != 1)) {
            fail_msg("%s is on record %u times", record->request_id, record->n_listed);
        }
        if (record->is_acknowledged && !record->is_told) {
            fail_msg("%s was acknowledged and has no outcome", record->request_id);
        }
    }
    assert_int_equal(books->stored_bytes, 0);
}

/* Nothing but the journal is left in its folder. */
static void expect_no_inputs(const char *folder) {
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        if (strncmp(e->d_name, "input-", 6) == 0) {
            fail_msg("%s was left behind", e->d_name);
        }
    }
    (void)closedir(entries);
}

static struct books open_books(void) {
    struct books books = {.records = calloc(JOBS_MAX, sizeof *books.records)};
    assert_non_null(books.records);
    return books;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void kills_at_any_time(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    struct books books = open_books();
    uint32_t n_killed = 0;
    for (uint32_t round = 0; round < n_rounds; ++round) {
        const struct run run = {.folder = folder,
                                .mode = "random",
                                .seed = seeded_random_u64(&random),
                                .round = round,
                                .from_ready = seeded_random_below(&random, 4) != 0,
                                .kill_ns = 1 + seeded_random_below(&random, 120000000)};
        const int status = run_child(&run, &books);
        assert_true(was_killed(status));
        ++n_killed;
    }
    const struct run last = {.folder = folder, .mode = "end", .seed = 1};
    assert_int_equal(run_child(&last, &books), 0);
    uint32_t n_acknowledged = 0;
    for (uint32_t i = 0; i < books.n; ++i) {
        n_acknowledged += books.records[i].is_acknowledged;
    }
    print_message("  %u kills, %u jobs acknowledged, %u on record, %u reported failed\n", n_killed,
                  n_acknowledged, books.n, books.n_failed);
    assert_true(n_acknowledged >= n_rounds / 2);
    expect_settled(&books);
    expect_no_inputs(folder);
    free(books.records);
    file_remove_tree(tree);
}

/* Every write, sync and truncation of the journal in turn, and half of every write. */
static void kills_at_every_write(void **state) {
    (void)state;
    const uint32_t stride = n_rounds > QUICK_ROUNDS ? 1 : PM_TEST_IS_SANITIZED ? 41 : 17;
    uint32_t n_killed = 0;
    int status = -1;
    /* Until the story is over before its turn comes. */
    for (uint64_t at = 2; status != 0; at += stride) {
        char *tree = file_make_tree();
        const char *folder = file_in_tree(tree, "journal");
        struct books books = open_books();
        const struct run run = {.folder = folder, .mode = "story", .seed = 7, .kill_at = at};
        const struct run last = {.folder = folder, .mode = "end", .seed = 1};
        status = run_child(&run, &books);
        assert_true(status == 0 || was_killed(status));
        n_killed += status != 0;
        assert_int_equal(run_child(&last, &books), 0);
        expect_settled(&books);
        expect_no_inputs(folder);
        assert_int_equal(books.n_failed, 0);
        free(books.records);
        file_remove_tree(tree);
    }
    print_message("  killed at %u places\n", n_killed);
    assert_true(n_killed >= 5);
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc == 8 && strcmp(argv[1], "child") == 0) {
        return child_main(argv);
    }
    if (argc > 1) {
        n_rounds = (uint32_t)strtoul(argv[1], NULL, 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_at_any_time),
        cmocka_unit_test(kills_at_every_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
