/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sixteen threads that start, finish, drop and cancel proofs, on the CPU and on devices, from
 * witnesses and from lent arrays, each finishing what another has started. Reports A6, C6 and RC5;
 * to be run under the thread sanitizer as well.
 *
 *   test_pending_concurrency [ROUNDS]     of each thread; 8 unless given
 */
#include "api/api_pending.h"
#include "support/proof_case.h"
#include "support/proof_check.h"
#include "support/seeded_random.h"
#include "support/toy_circuits.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N_MEMBERS = 16, N_SUBJECTS_MAX = 8, N_SHELF = 24, QUICK_ROUNDS = 8 };

static uint64_t n_rounds = QUICK_ROUNDS;
static struct places places;
static struct proof_case subjects[N_SUBJECTS_MAX];
static size_t n_subjects;
static pm_budget *budget;

/* Proofs that somebody has started and anybody may finish. */
struct shelved {
    pm_pending *pending; /* NULL: an empty place */
    const struct proof_case *subject;
    struct lent_arrays *lent; /* NULL: from a witness */
};
static struct shelved shelf[N_SHELF];
static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;

struct member {
    struct seeded_random random;
    int cancel; /* atomic */
    uint64_t n_proofs, n_cancelled, n_dropped, n_refused;
    const char *failure; /* the first one */
    pm_error error;      /* of the last call */
};
static struct member members[N_MEMBERS];
static int is_over; /* atomic */

static void note(struct member *member, const char *failure) {
    if (member->failure == NULL) {
        member->failure = failure;
    }
}

static int open_all(void **state) {
    (void)state;
    static const char *const names[] = {"mult3", "mult3_bls", "own_mimc", "nopriv_bls"};
    const pm_budget_options room = {.struct_bytes = sizeof room, .host_bytes = 64 << 20};
    places_open(3, &places);
    for (size_t i = 0; i < 4 * CASE_KINDS && n_subjects < N_SUBJECTS_MAX; ++i) {
        n_subjects += proof_case_open(places.context[PLACE_CPU], names[i % 4],
                                      (enum proof_case_kind)(i / 4), &subjects[n_subjects]);
    }
    return pm_budget_create(&room, &budget, NULL) == PM_OK && n_subjects >= 6 ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    assert_int_equal(pm_budget_reserved_bytes(budget), 0);
    pm_budget_destroy(budget);
    for (size_t i = 0; i < n_subjects; ++i) {
        proof_case_close(&subjects[i]);
    }
    places_close(&places);
    return 0;
}

/* ---- What a member does --------------------------------------------------------------------- */

static void end_lent(struct member *member, struct lent_arrays *lent) {
    if (lent != NULL) {
        if (!lent_arrays_are_back(lent, false)) {
            note(member, "an array was not given back once");
        }
        free(lent);
    }
}

/* Any proof of the shelf, which is then the member's; or an empty one. */
static struct shelved take_any(struct member *member) {
    struct shelved taken = {0};
    pthread_mutex_lock(&shelf_lock);
    const size_t first = (size_t)seeded_random_below(&member->random, N_SHELF);
    for (size_t i = 0; i < N_SHELF && taken.pending == NULL; ++i) {
        struct shelved *place = &shelf[(first + i) % N_SHELF];
        taken = *place;
        *place = (struct shelved){0};
    }
    pthread_mutex_unlock(&shelf_lock);
    return taken;
}

static bool put(const struct shelved *made) {
    bool has_room = false;
    pthread_mutex_lock(&shelf_lock);
    for (size_t i = 0; i < N_SHELF && !has_room; ++i) {
        if (shelf[i].pending == NULL) {
            shelf[i] = *made;
            has_room = true;
        }
    }
    pthread_mutex_unlock(&shelf_lock);
    return has_room;
}

static void end(struct member *member, struct shelved *taken, bool may_drop) {
    pm_proof proof;
    if (may_drop && seeded_random_below(&member->random, 5) == 0) {
        pm_pending_drop(taken->pending);
        ++member->n_dropped;
    } else {
        const pm_control control = {.struct_bytes = sizeof control, .cancel = &member->cancel};
        const bool heeds = may_drop && seeded_random_below(&member->random, 2) == 0;
        const pm_status status =
            pm_prove_finish(taken->pending, heeds ? &control : NULL, &proof, NULL, &member->error);
        if (status == PM_OK && proof_case_verify(taken->subject, &proof) == PM_OK) {
            ++member->n_proofs;
        } else if (status == PM_CANCELLED && heeds) {
            ++member->n_cancelled;
        } else {
            note(member, status == PM_OK ? "a proof does not verify" : pm_status_name(status));
        }
    }
    end_lent(member, taken->lent);
}

static pm_status start_lent(struct member *member, const struct proof_case *subject,
                            pm_context *context, const pm_prove_options *options,
                            const pm_control *control, struct shelved *made) {
    const bool is_bare = subject->kind == CASE_BARE_PARAMS;
    const uint64_t vectors = seeded_random_below(&member->random, 3);
    struct lent_arrays *lent = malloc(sizeof *lent);
    if (lent == NULL) {
        return PM_NO_MEMORY;
    }
    lent_arrays_make(subject, (pm_scalar_form)seeded_random_below(&member->random, 2),
                     is_bare ? LENT_A_B_C : (enum lent_vectors)vectors, is_bare, lent);
    const pm_status status = pm_prove_start_assignment(
        context, subject->key, &lent->assignment, options, control, &made->pending, &member->error);
    lent_arrays_drop_densities(lent);
    made->lent = lent;
    if (status != PM_OK) {
        end_lent(member, lent);
    }
    return status;
}

static void start(struct member *member) {
    const struct proof_case *subject = &subjects[seeded_random_below(&member->random, n_subjects)];
    const bool from_arrays =
        subject->kind == CASE_BARE_PARAMS || seeded_random_below(&member->random, 2) == 0;
    pm_context *context = places.context[seeded_random_below(&member->random, PLACES)];
    const pm_control control = {.struct_bytes = sizeof control, .cancel = &member->cancel};
    const bool heeds = seeded_random_below(&member->random, 3) == 0;
    const pm_prove_options options = {
        .struct_bytes = sizeof options,
        .form = (uint32_t)seeded_random_below(&member->random, 3),
        .b2 = from_arrays ? PM_B2_SCHEDULE_COPY * (uint32_t)seeded_random_below(&member->random, 2)
                          : (uint32_t)seeded_random_below(&member->random, 4),
        .no_wait = 1,
        .budget = seeded_random_below(&member->random, 2) == 0 ? budget : NULL};
    struct shelved made = {.subject = subject};
    __atomic_store_n(&member->cancel, 0, __ATOMIC_RELAXED);
    const pm_status status =
        from_arrays ? start_lent(member, subject, context, &options, heeds ? &control : NULL, &made)
                    : pm_prove_start(context, subject->key, subject->witness, &options,
                                     heeds ? &control : NULL, &made.pending, &member->error);
    if (status == PM_OK) {
        if (!put(&made)) {
            end(member, &made, true);
        }
    } else if (status == PM_CANCELLED && heeds) {
        ++member->n_cancelled;
    } else if (status == PM_BUDGET_BUSY && options.budget != NULL) {
        ++member->n_refused;
    } else {
        note(member, pm_status_name(status));
    }
}

static void *member_main(void *argument) {
    struct member *member = argument;
    for (uint64_t i = 0; i < n_rounds && member->failure == NULL; ++i) {
        start(member);
        if (seeded_random_below(&member->random, 4) != 0) {
            struct shelved taken = take_any(member);
            if (taken.pending != NULL) {
                end(member, &taken, true);
            }
        }
    }
    return NULL;
}

/* Cancels somebody every few hundred microseconds. */
static void *canceller_main(void *argument) {
    struct seeded_random *random = argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        const size_t victim = (size_t)seeded_random_below(random, N_MEMBERS);
        __atomic_store_n(&members[victim].cancel, 1, __ATOMIC_RELAXED);
        const struct timespec pause = {.tv_nsec = (long)seeded_random_below(random, 300) * 1000};
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- The process ---------------------------------------------------------------------------- */

struct footprint {
    size_t n_threads, n_descriptors;
    uint64_t anonymous_kib;
};

static size_t count_entries(const char *path) {
    DIR *folder = opendir(path);
    size_t n = 0;
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n;
}

static struct footprint footprint_now(void) {
    struct footprint now = {.n_descriptors = count_entries("/proc/self/fd"),
                            .n_threads = count_entries("/proc/self/task")};
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL) {
        unsigned long long kib;
        if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) {
            now.anonymous_kib = kib;
        }
    }
    (void)fclose(status);
    return now;
}

static void run_members(struct seeded_random *random) {
    struct seeded_random of_canceller = {seeded_random_u64(random)};
    pthread_t threads[N_MEMBERS], canceller;
    __atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(&canceller, NULL, canceller_main, &of_canceller), 0);
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        members[i].random.state = seeded_random_u64(random);
        members[i].error = (pm_error)PM_ERROR_INIT;
        assert_int_equal(pthread_create(&threads[i], NULL, member_main, &members[i]), 0);
    }
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(canceller, NULL), 0);
    for (;;) { /* what nobody has taken */
        struct shelved left = take_any(&members[0]);
        if (left.pending == NULL) {
            break;
        }
        end(&members[0], &left, false);
    }
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        if (members[i].failure != NULL) {
            fail_msg("thread %zu: %s: %s", i, members[i].failure, members[i].error.message);
        }
    }
}

static void A6_C6_RC5_halves_of_many_proofs_at_once(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    struct member sum = {0};
    run_members(&random); /* allocators and thread stacks have their size from here on */
    const struct footprint before = footprint_now();
    run_members(&random);
    struct footprint after = footprint_now();
    for (int tries = 0; tries < 20000 && after.n_threads > before.n_threads; ++tries) {
        const struct timespec wait = {.tv_nsec = 1000000};
        (void)nanosleep(&wait, NULL);
        after = footprint_now();
    }
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        sum.n_proofs += members[i].n_proofs;
        sum.n_cancelled += members[i].n_cancelled;
        sum.n_dropped += members[i].n_dropped;
        sum.n_refused += members[i].n_refused;
    }
    print_message("  %llu proofs verify; %llu cancelled, %llu dropped, %llu refused; %llu -> %llu "
                  "KiB\n",
                  (unsigned long long)sum.n_proofs, (unsigned long long)sum.n_cancelled,
                  (unsigned long long)sum.n_dropped, (unsigned long long)sum.n_refused,
                  (unsigned long long)before.anonymous_kib,
                  (unsigned long long)after.anonymous_kib);
    assert_int_equal(sum.n_proofs + sum.n_cancelled + sum.n_dropped + sum.n_refused,
                     2 * n_rounds * N_MEMBERS);
    assert_true(sum.n_proofs > 0 && sum.n_dropped > 0);
    assert_true(after.n_threads <= before.n_threads);
    assert_int_equal(after.n_descriptors, before.n_descriptors);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(after.anonymous_kib < before.anonymous_kib + 8 * 1024);
#endif
}

/* One thread, one proof after another: nothing grows. */
static void proofs_one_after_another_leave_nothing(void **state) {
    (void)state;
    const uint64_t n_proofs = n_rounds > QUICK_ROUNDS ? 1000 : 30;
    struct footprint before = {0};
    for (uint64_t i = 0; i < n_proofs + 10; ++i) {
        const struct proof_case *subject = &subjects[i % 3];
        pm_proof proof;
        pm_error error = PM_ERROR_INIT;
        if (i == 10) {
            before = footprint_now();
        }
        toy_expect(pm_prove(places.context[i % PLACES], subject->key, subject->witness, NULL, NULL,
                            &proof, NULL, &error),
                   PM_OK, &error);
        assert_int_equal(proof_case_verify(subject, &proof), PM_OK);
    }
    struct footprint after = footprint_now();
    for (int tries = 0; tries < 20000 && after.n_threads > before.n_threads; ++tries) {
        const struct timespec wait = {.tv_nsec = 1000000};
        (void)nanosleep(&wait, NULL);
        after = footprint_now();
    }
    assert_true(after.n_threads <= before.n_threads);
    assert_int_equal(after.n_descriptors, before.n_descriptors);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    print_message("  %llu proofs: %llu -> %llu KiB\n", (unsigned long long)n_proofs,
                  (unsigned long long)before.anonymous_kib,
                  (unsigned long long)after.anonymous_kib);
    assert_true(after.anonymous_kib < before.anonymous_kib + 1024);
#endif
}

int main(int n, char **arguments) {
    if (n > 1) {
        n_rounds = strtoull(arguments[1], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A6_C6_RC5_halves_of_many_proofs_at_once),
        cmocka_unit_test(proofs_one_after_another_leave_nothing),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
