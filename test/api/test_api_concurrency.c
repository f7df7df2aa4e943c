/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Many threads at once: shared and private keys and contexts, small and larger circuits of both
 * curves, objects opened and destroyed in between, proofs cancelled at random moments. Reports A6
 * and RC5; to be run under the thread sanitizer as well.
 *
 *   test_api_concurrency [ROUNDS]     of each of 16 threads; 12 unless given
 */
#include "api/api_internal.h"
#include "support/fixture.h"
#include "support/seeded_random.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N_MEMBERS = 16, N_TOYS_MAX = 64 };

static uint64_t n_rounds = 12;

/* A circuit that everybody uses. */
struct shared {
    pm_key *key;
    pm_witness *witness;
    pm_vk *vk;
    uint8_t *publics;
    uint32_t n_public;
};

static struct shared circuits[N_TOYS_MAX];
static size_t n_circuits;
static pm_context *contexts[2];

struct member {
    struct seeded_random random;
    size_t index;
    int cancel; /* atomic */
    uint64_t n_proofs, n_cancelled, n_private;
    const char *failure; /* the first one */
};

static struct member members[N_MEMBERS];
static int is_over; /* atomic */

static void note(struct member *member, const char *failure) {
    if (member->failure == NULL) {
        member->failure = failure;
    }
}

/* ---- Circuits ------------------------------------------------------------------------------- */

static void share(pm_key *key, pm_witness *witness, pm_vk *vk) {
    struct shared *circuit = &circuits[n_circuits++];
    *circuit = (struct shared){.key = key, .witness = witness, .vk = vk};
    circuit->n_public = pm_vk_n_public(vk);
    circuit->publics = malloc((size_t)circuit->n_public * PM_FR_BYTES + 1);
    assert_non_null(circuit->publics);
    assert_int_equal(pm_witness_values(witness, 1, circuit->n_public, circuit->publics), PM_OK);
}

static void share_toy(pm_curve_id curve, const struct toy_case *toy_case) {
    struct toy toy;
    toy_open(contexts[0], curve, toy_case, &toy);
    free(toy.publics);
    share(toy.key, toy.witness, toy.vk);
}

static void share_files(const char *name) {
    char relative[256], path[PM_TEST_PATH_MAX];
    pm_error error = PM_ERROR_INIT;
    pm_key *key = NULL;
    pm_witness *witness = NULL;
    pm_vk *vk = NULL;
    (void)snprintf(relative, sizeof relative, "%s/%s.zkey", name, name);
    toy_expect(pm_key_open(contexts[0], pm_data_path(path, relative), NULL, NULL, &key, &error),
               PM_OK, &error);
    (void)snprintf(relative, sizeof relative, "%s/%s.wtns", name, name);
    toy_expect(pm_witness_open(contexts[0], pm_data_path(path, relative), NULL, &witness, &error),
               PM_OK, &error);
    toy_expect(pm_vk_from_key(contexts[0], key, &vk, &error), PM_OK, &error);
    share(key, witness, vk);
}

static int open_all(void **state) {
    (void)state;
    contexts[0] = toy_context(3, PM_ARITHMETIC_BEST);
    contexts[1] = toy_context(2, PM_ARITHMETIC_PORTABLE);
    for (size_t i = 0; i < n_toy_cases; ++i) {
        share_toy(PM_CURVE_BN254, &toy_cases[i]);
        share_toy(PM_CURVE_BLS12_381, &toy_cases[i]);
    }
    share_files("mult3");
    share_files("mult3_bls");
    return 0;
}

static int close_all(void **state) {
    (void)state;
    for (size_t i = 0; i < n_circuits; ++i) {
        free(circuits[i].publics);
        pm_witness_destroy(circuits[i].witness);
        pm_vk_destroy(circuits[i].vk);
        pm_key_destroy(circuits[i].key);
    }
    pm_context_destroy(contexts[0]);
    pm_context_destroy(contexts[1]);
    return 0;
}

/* ---- What a member does --------------------------------------------------------------------- */

static void prove(struct member *member, pm_context *context, const struct shared *circuit,
                  const pm_control *control) {
    pm_proof proof, untouched;
    memset(&proof, 0x5a, sizeof proof);
    untouched = proof;
    const pm_status status =
        pm_prove(context, circuit->key, circuit->witness, NULL, control, &proof, NULL, NULL);
    if (status == PM_OK) {
        ++member->n_proofs;
        if (pm_verify(context, circuit->vk, circuit->publics, circuit->n_public, &proof, NULL) !=
            PM_OK) {
            note(member, "a proof does not verify");
        }
    } else if (status != PM_CANCELLED || control == NULL) {
        note(member, pm_status_name(status));
    } else {
        ++member->n_cancelled;
        if (memcmp(&proof, &untouched, sizeof proof) != 0) {
            note(member, "a cancelled proof was written");
        }
    }
}

/* Everything of one's own, opened and destroyed while others work: by arrays or from a file. */
static void prove_in_private(struct member *member) {
    static const char *const names[] = {"one", "one_bls", "nopriv", "mult3_bls"};
    char relative[256], path[PM_TEST_PATH_MAX];
    const char *name = names[seeded_random_below(&member->random, 4)];
    const pm_context_options options = {.struct_bytes = sizeof options,
                                        .threads =
                                            1 + (uint32_t)seeded_random_below(&member->random, 3)};
    const pm_key_options load = {.struct_bytes = sizeof load,
                                 .load = (uint32_t)seeded_random_below(&member->random, 2)};
    pm_context *context = NULL;
    struct shared own = {.key = NULL};
    uint8_t publics[8 * PM_FR_BYTES];
    ++member->n_private;
    (void)snprintf(relative, sizeof relative, "%s/%s.zkey", name, name);
    pm_status status = pm_context_create(&options, &context, NULL);
    if (status == PM_OK) {
        status = pm_key_open(context, pm_data_path(path, relative), &load, NULL, &own.key, NULL);
    }
    (void)snprintf(relative, sizeof relative, "%s/%s.wtns", name, name);
    if (status == PM_OK) {
        status = pm_witness_open(context, pm_data_path(path, relative), NULL, &own.witness, NULL);
    }
    if (status == PM_OK) {
        status = pm_vk_from_key(context, own.key, &own.vk, NULL);
    }
    if (status == PM_OK) {
        own.n_public = pm_vk_n_public(own.vk);
        own.publics = publics;
        status = own.n_public <= 8 ? pm_witness_values(own.witness, 1, own.n_public, publics)
                                   : PM_INTERNAL;
    }
    if (status == PM_OK) {
        prove(member, context, &own, NULL);
    } else {
        note(member, pm_status_name(status));
    }
    pm_vk_destroy(own.vk);
    pm_witness_destroy(own.witness);
    pm_key_destroy(own.key);
    pm_context_destroy(context);
}

static void *member_main(void *argument) {
    struct member *member = argument;
    for (uint64_t i = 0; i < n_rounds && member->failure == NULL; ++i) {
        const struct shared *circuit = &circuits[seeded_random_below(&member->random, n_circuits)];
        pm_context *context = contexts[seeded_random_below(&member->random, 2)];
        const pm_control control = {.struct_bytes = sizeof control, .cancel = &member->cancel};
        switch (seeded_random_below(&member->random, 8)) {
        case 0:
            prove_in_private(member);
            break;
        case 1:
        case 2:
        case 3:
            __atomic_store_n(&member->cancel, 0, __ATOMIC_RELAXED);
            prove(member, context, circuit, &control);
            break;
        default:
            prove(member, context, circuit, NULL);
            break;
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

static void A6_RC5_everything_at_once(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    struct seeded_random of_canceller = {seeded_random_u64(&random)};
    pthread_t threads[N_MEMBERS], canceller;
    uint64_t n_proofs = 0, n_cancelled = 0, n_private = 0;
    assert_int_equal(pthread_create(&canceller, NULL, canceller_main, &of_canceller), 0);
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        members[i].random.state = seeded_random_u64(&random);
        members[i].index = i;
        assert_int_equal(pthread_create(&threads[i], NULL, member_main, &members[i]), 0);
    }
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(canceller, NULL), 0);
    for (size_t i = 0; i < N_MEMBERS; ++i) {
        if (members[i].failure != NULL) {
            fail_msg("thread %zu: %s", i, members[i].failure);
        }
        n_proofs += members[i].n_proofs;
        n_cancelled += members[i].n_cancelled;
        n_private += members[i].n_private;
    }
    print_message("  %llu proofs verify, %llu of them with everything private; %llu cancelled\n",
                  (unsigned long long)n_proofs, (unsigned long long)n_private,
                  (unsigned long long)n_cancelled);
    assert_int_equal(n_proofs + n_cancelled, n_rounds * N_MEMBERS);
    assert_true(n_cancelled > 0);
}

/* ---- Small stacks --------------------------------------------------------------------------- */

static void *prove_everything(void *argument) {
    struct member *member = argument;
    for (size_t i = 0; i < n_circuits && member->failure == NULL; ++i) {
        prove(member, contexts[i % 2], &circuits[i], NULL);
    }
    prove_in_private(member);
    return NULL;
}

/* Report B21: the caller's own stack need not be large either. Sanitizers take more of it. */
static void B21_calls_fit_a_stack_of_64_kib(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const size_t stack_bytes = (size_t)1 << 20;
#else
    const size_t stack_bytes = (size_t)64 << 10;
#endif
    struct member member = {.random = seeded_random_from_environment()};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, prove_everything, &member), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attributes);
    if (member.failure != NULL) {
        fail_msg("%s", member.failure);
    }
    assert_int_equal(member.n_proofs, n_circuits + 1);
}

int main(int n, char **arguments) {
    if (n > 1) {
        n_rounds = strtoull(arguments[1], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A6_RC5_everything_at_once),
        cmocka_unit_test(B21_calls_fit_a_stack_of_64_kib),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
