/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Proving through the public interface, on circuits small enough to be set up by definition. */
#include "api/api_pending.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <dirent.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
#define N_CURVES (sizeof curves / sizeof curves[0])

static void prove_and_verify(struct toy *toy) {
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(pm_prove(toy->context, toy->key, toy->witness, NULL, NULL, &proof, NULL, &error),
               PM_OK, &error);
    toy_expect(pm_verify(toy->context, toy->vk, toy->publics, toy->n_public, &proof, &error), PM_OK,
               &error);
}

/* Reports B10 and RC2: these are all valid Groth16. */
static void B10_degenerate_circuits_prove_and_verify(void **state) {
    (void)state;
    for (uint32_t arithmetic = PM_ARITHMETIC_BEST; arithmetic <= PM_ARITHMETIC_PORTABLE;
         ++arithmetic) {
        pm_context *context = toy_context(2, (pm_arithmetic)arithmetic);
        for (size_t i = 0; i < n_toy_cases * N_CURVES; ++i) {
            struct toy toy;
            print_message("%s: %s\n", pm_curve_name(curves[i % N_CURVES]),
                          toy_cases[i / N_CURVES].name);
            toy_open(context, curves[i % N_CURVES], &toy_cases[i / N_CURVES], &toy);
            prove_and_verify(&toy);
            toy_close(&toy);
        }
        pm_context_destroy(context);
    }
}

static void forced_arithmetic_is_the_one_that_runs(void **state) {
    (void)state;
    pm_context *context = toy_context(1, PM_ARITHMETIC_PORTABLE);
    assert_string_equal(pm_context_arithmetic(context), "portable");
    pm_context_destroy(context);
    pm_context *adx = NULL;
    const pm_context_options options = {.struct_bytes = sizeof options,
                                        .arithmetic = PM_ARITHMETIC_ADX};
    const pm_status status = pm_context_create(&options, &adx, NULL);
    if (pm_cpu_has_body(PM_BODY_ADX)) {
        assert_int_equal(status, PM_OK);
        assert_string_equal(pm_context_arithmetic(adx), "adx");
        pm_context_destroy(adx);
    } else {
        assert_int_equal(status, PM_UNSUPPORTED);
    }
}

/* Report A11: a witness in another order, or simply wrong, never becomes a proof. */
static void A11_wrong_witness_is_withheld(void **state) {
    (void)state;
    static const int64_t wrong[][4] = {{1, 6, 1, 6}, {1, 5, 2, 3}, {1, 6, 0, 0}, {1, 3, 2, 6}};
    pm_context *context = toy_context(2, PM_ARITHMETIC_BEST);
    for (size_t i = 0; i < N_CURVES; ++i) {
        struct toy toy;
        toy_open(context, curves[i], TOY_PRODUCT, &toy);
        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; ++j) {
            pm_error error = PM_ERROR_INIT;
            pm_proof proof, untouched;
            memset(&proof, 0x5a, sizeof proof);
            untouched = proof;
            pm_witness *witness = toy_witness(context, curves[i], wrong[j], 4);
            toy_expect(pm_prove(context, toy.key, witness, NULL, NULL, &proof, NULL, &error),
                       PM_SELF_VERIFY, &error);
            assert_memory_equal(&proof, &untouched, sizeof proof);
            assert_non_null(strstr(error.message, "witness does not satisfy"));

            /* Without self-verification it comes out, and is invalid. */
            const pm_prove_options options = {.struct_bytes = sizeof options, .no_self_verify = 1};
            uint8_t publics[PM_FR_BYTES];
            assert_int_equal(pm_witness_values(witness, 1, 1, publics), PM_OK);
            toy_expect(pm_prove(context, toy.key, witness, &options, NULL, &proof, NULL, &error),
                       PM_OK, &error);
            toy_expect(pm_verify(context, toy.vk, publics, 1, &proof, &error), PM_PROOF_INVALID,
                       &error);
            pm_witness_destroy(witness);
        }
        toy_close(&toy);
    }
    pm_context_destroy(context);
}

/* Reports B12 and A10 at this level: what does not belong together is named. */
static void B12_mismatched_witness_is_refused(void **state) {
    (void)state;
    static const int64_t values[] = {1, 6, 2, 3, 4};
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    struct toy toy;
    toy_open(context, PM_CURVE_BN254, TOY_PRODUCT, &toy);
    const size_t lengths[] = {3, 5};
    for (size_t i = 0; i < 2; ++i) {
        pm_error error = PM_ERROR_INIT;
        pm_proof proof;
        pm_witness *witness = toy_witness(context, PM_CURVE_BN254, values, lengths[i]);
        toy_expect(pm_prove(context, toy.key, witness, NULL, NULL, &proof, NULL, &error),
                   PM_WITNESS_MISMATCH, &error);
        assert_int_equal(error.need, 4);
        assert_int_equal(error.have, lengths[i]);
        pm_witness_destroy(witness);
    }
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_witness *other = toy_witness(context, PM_CURVE_BLS12_381, values, 4);
    toy_expect(pm_prove(context, toy.key, other, NULL, NULL, &proof, NULL, &error), PM_CURVE,
               &error);
    pm_witness_destroy(other);
    toy_close(&toy);
    pm_context_destroy(context);
}

static void A10_first_value_must_be_one(void **state) {
    (void)state;
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_error error = PM_ERROR_INIT;
        uint8_t values[2 * PM_FR_BYTES] = {2};
        pm_witness *witness = NULL;
        toy_expect(pm_witness_from_values(context, curves[i], values, 2, NULL, &witness, &error),
                   PM_WITNESS_MISMATCH, &error);
        assert_null(witness);
    }
    pm_context_destroy(context);
}

/* Report B13: values are checked, and the error says which without saying what. */
static void B13_unreduced_value_is_refused(void **state) {
    (void)state;
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    for (size_t i = 0; i < N_CURVES; ++i) {
        const struct pm_field *fr = pm_field_fr(curves[i], PM_BODY_PORTABLE);
        for (uint64_t delta = 0; delta < 3; ++delta) {
            pm_error error = PM_ERROR_INIT;
            uint8_t values[3 * PM_FR_BYTES] = {1};
            uint64_t modulus[PM_FR_LIMBS_MAX];
            memcpy(modulus, fr->modulus, sizeof modulus);
            modulus[0] += delta == 2 ? 5 : delta;
            memcpy(values + (delta == 1 ? 1 : 2) * PM_FR_BYTES, modulus, PM_FR_BYTES);
            pm_witness *witness = NULL;
            toy_expect(
                pm_witness_from_values(context, curves[i], values, 3, NULL, &witness, &error),
                PM_NOT_CANONICAL, &error);
        }
    }
    pm_context_destroy(context);
}

/* ---- Control -------------------------------------------------------------------------------- */

struct watch {
    uint64_t last_done, calls;
    int stop_at;
    volatile int cancel;
};

static void watch_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct watch *watch = user;
    assert_non_null(phase);
    assert_true(total > 0 && done <= total && done >= watch->last_done);
    watch->last_done = done;
    if ((int)++watch->calls == watch->stop_at) {
        watch->cancel = 1;
    }
}

static void cancel_and_deadline_stop_a_proof(void **state) {
    (void)state;
    pm_context *context = toy_context(2, PM_ARITHMETIC_BEST);
    struct toy toy;
    toy_open(context, PM_CURVE_BN254, TOY_PRODUCT, &toy);
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;

    struct watch watch = {.stop_at = 0};
    pm_control control = {.struct_bytes = sizeof control,
                          .cancel = &watch.cancel,
                          .progress = watch_progress,
                          .user = &watch};
    toy_expect(pm_prove(context, toy.key, toy.witness, NULL, &control, &proof, NULL, &error), PM_OK,
               &error);
    const int steps = (int)watch.calls;
    assert_true(steps >= 8);
    /* Cancelled at every step in turn, up to the last one, which is too short to ask again (and
     * then progress is complete); the next proof is good. */
    for (int i = 1; i < steps - 1; ++i) {
        watch = (struct watch){.stop_at = i};
        toy_expect(pm_prove(context, toy.key, toy.witness, NULL, &control, &proof, NULL, &error),
                   PM_CANCELLED, &error);
    }
    const pm_control late = {.struct_bytes = sizeof late, .deadline_ns = 1};
    toy_expect(pm_prove(context, toy.key, toy.witness, NULL, &late, &proof, NULL, &error),
               PM_DEADLINE, &error);
    prove_and_verify(&toy);
    toy_close(&toy);
    pm_context_destroy(context);
}

static void stats_tell_phases_and_peak(void **state) {
    (void)state;
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    struct toy toy;
    toy_open(context, PM_CURVE_BN254, &toy_cases[n_toy_cases - 1], &toy);
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    toy_expect(pm_prove(context, toy.key, toy.witness, NULL, NULL, &proof, &stats, &error), PM_OK,
               &error);
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < stats.n_phases; ++i) {
        assert_non_null(stats.phases[i].name);
        sum_ns += stats.phases[i].wall_ns;
    }
    assert_int_equal(stats.n_phases, 9); /* eight steps and the self-verification */
    assert_true(sum_ns <= stats.wall_ns);
    /* a, b and c live together: three vectors of the domain. */
    const uint64_t vectors_bytes = 3 * (UINT64_C(1) << 6) * PM_FR_BYTES;
    const struct pm_msm *msm = pm_msm_get(PM_CURVE_BN254, context->body);
    const uint64_t msm_bytes = (UINT64_C(1) << 6) * PM_FR_BYTES + msm->bytes(PM_MSM_G1, 64, 1);
    const uint64_t g2_bytes = msm->bytes(PM_MSM_G2, 4, 1);
    uint64_t expected = vectors_bytes > msm_bytes ? vectors_bytes : msm_bytes;
    expected = expected > g2_bytes ? expected : g2_bytes;
    /* Throughout, the handle with the public inputs. */
    expected += sizeof(struct pm_pending) + toy.n_public * PM_FR_BYTES;
    assert_int_equal(stats.peak_bytes, expected);
    assert_int_equal(stats.planned_peak_bytes, expected);
    assert_int_equal(stats.n_divergences, 0);
    toy_close(&toy);
    pm_context_destroy(context);
}

/* ---- Blinding ------------------------------------------------------------------------------- */

/* Report B19: r and s are uniform. Sixteen equal slices of the field, chi-squared with 15 degrees
 * of freedom: beyond 70 has probability below 1e-8. */
static void B19_blinding_is_uniform_and_fresh(void **state) {
    (void)state;
    enum { DRAWS = 8192, SLICES = 16 };
    for (size_t c = 0; c < N_CURVES; ++c) {
        const struct pm_curve *curve = pm_curve_get(curves[c], PM_BODY_PORTABLE);
        const long double top = (long double)curve->fr->modulus[3] + 1;
        uint32_t counts[2][SLICES] = {{0}};
        uint64_t last[PM_FR_LIMBS_MAX] = {0};
        for (size_t i = 0; i < DRAWS; ++i) {
            struct pm_blinding blinding;
            assert_int_equal(pm_groth16_draw_blinding(curve, &blinding, NULL), PM_OK);
            assert_true(curve->fr->is_canonical(blinding.r));
            assert_true(curve->fr->is_canonical(blinding.s));
            assert_memory_not_equal(blinding.r, blinding.s, PM_FR_BYTES);
            assert_memory_not_equal(blinding.r, last, PM_FR_BYTES);
            memcpy(last, blinding.r, sizeof last);
            ++counts[0][(size_t)((long double)blinding.r[3] / top * SLICES)];
            ++counts[1][(size_t)((long double)blinding.s[3] / top * SLICES)];
        }
        for (size_t which = 0; which < 2; ++which) {
            double chi_squared = 0;
            for (size_t i = 0; i < SLICES; ++i) {
                const double expected = (double)DRAWS / SLICES;
                const double difference = counts[which][i] - expected;
                chi_squared += difference * difference / expected;
            }
            assert_true(chi_squared < 70);
        }
    }
}

static void B19_no_two_proofs_are_alike(void **state) {
    (void)state;
    enum { PROOFS = 60 };
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    struct toy toy;
    toy_open(context, PM_CURVE_BN254, TOY_PRODUCT, &toy);
    static pm_proof proofs[PROOFS];
    for (size_t i = 0; i < PROOFS; ++i) {
        pm_error error = PM_ERROR_INIT;
        toy_expect(pm_prove(context, toy.key, toy.witness, NULL, NULL, &proofs[i], NULL, &error),
                   PM_OK, &error);
        for (size_t j = 0; j < i; ++j) {
            assert_memory_not_equal(proofs[i].a, proofs[j].a, sizeof proofs[i].a);
            assert_memory_not_equal(proofs[i].b, proofs[j].b, sizeof proofs[i].b);
        }
    }
    toy_close(&toy);
    pm_context_destroy(context);
}

/* ---- Threads -------------------------------------------------------------------------------- */

static size_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    size_t n = 0;
    for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(tasks);
    return n;
}

/* The fewest in a fifth of a second: threads of an earlier test may still be leaving. */
static size_t count_threads_at_rest(void) {
    size_t fewest = SIZE_MAX;
    for (int i = 0; i < 10; ++i) {
        const struct timespec wait = {.tv_nsec = 20000000};
        (void)nanosleep(&wait, NULL);
        const size_t now = count_threads();
        fewest = now < fewest ? now : fewest;
    }
    return fewest;
}

/* Report E6: nothing is left running. A joined thread leaves /proc a moment after it is joined. */
static void E6_no_thread_is_left_after_destroy(void **state) {
    (void)state;
    const size_t before = count_threads_at_rest();
    for (uint32_t threads = 1; threads <= 9; threads += 4) {
        pm_context *context = toy_context(threads, PM_ARITHMETIC_BEST);
        assert_int_equal(pm_context_threads(context), threads);
        struct toy toy;
        toy_open(context, PM_CURVE_BN254, TOY_PRODUCT, &toy);
        prove_and_verify(&toy);
        toy_close(&toy);
        pm_context_destroy(context);
        size_t after = count_threads_at_rest();
        for (int tries = 0; tries < 100 && after > before; ++tries) {
            after = count_threads_at_rest();
        }
        assert_int_equal(after, before);
    }
}

/* Report E12: the default honours affinity. */
static void E12_threads_follow_affinity(void **state) {
    (void)state;
    cpu_set_t saved, one;
    assert_int_equal(sched_getaffinity(0, sizeof saved, &saved), 0);
    assert_in_range(pm_threads_available(), 1, (uint32_t)CPU_COUNT(&saved));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &saved)) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(pm_threads_available(), 1);
    pm_context *context = toy_context(0, PM_ARITHMETIC_BEST);
    assert_int_equal(pm_context_threads(context), 1);
    pm_context_destroy(context);
    assert_int_equal(sched_setaffinity(0, sizeof saved, &saved), 0);
}

struct crowd {
    struct toy *shared; /* one per curve */
    pm_context *shared_context;
    size_t index;
    int failures;
};

#define CROWD_PROOFS 6

/* Odd members bring everything themselves, even ones share context, key and witness. */
static void *crowd_member(void *argument) {
    struct crowd *member = argument;
    const pm_curve_id curve = curves[member->index / 2 % N_CURVES];
    struct toy own = {0}, *toy = &member->shared[member->index / 2 % N_CURVES];
    pm_context *own_context = NULL;
    if (member->index % 2 == 1) {
        own_context = toy_context(2, PM_ARITHMETIC_BEST);
        toy_open(own_context, curve, TOY_PRODUCT, &own);
        toy = &own;
    }
    for (int i = 0; i < CROWD_PROOFS; ++i) {
        pm_proof proof;
        if (pm_prove(toy->context, toy->key, toy->witness, NULL, NULL, &proof, NULL, NULL) !=
                PM_OK ||
            pm_verify(toy->context, toy->vk, toy->publics, toy->n_public, &proof, NULL) != PM_OK) {
            ++member->failures;
        }
    }
    toy_close(&own);
    pm_context_destroy(own_context);
    return NULL;
}

/* Report A6: proofs made at the same time are as good as others. */
static void A6_sixteen_threads_prove_together(void **state) {
    (void)state;
    enum { MEMBERS = 16 };
    pm_context *context = toy_context(3, PM_ARITHMETIC_BEST);
    struct toy shared[N_CURVES];
    for (size_t i = 0; i < N_CURVES; ++i) {
        toy_open(context, curves[i], TOY_PRODUCT, &shared[i]);
    }
    pthread_t threads[MEMBERS];
    struct crowd members[MEMBERS];
    for (size_t i = 0; i < MEMBERS; ++i) {
        members[i] = (struct crowd){.shared = shared, .shared_context = context, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_member, &members[i]), 0);
    }
    for (size_t i = 0; i < MEMBERS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(members[i].failures, 0);
    }
    for (size_t i = 0; i < N_CURVES; ++i) {
        toy_close(&shared[i]);
    }
    pm_context_destroy(context);
}

/* Report E7: load once, prove often, unload; objects outlive the context they were made with. */
static void E7_key_outlives_its_context(void **state) {
    (void)state;
    pm_context *first = toy_context(2, PM_ARITHMETIC_BEST);
    struct toy toy;
    toy_open(first, PM_CURVE_BLS12_381, TOY_PRODUCT, &toy);
    prove_and_verify(&toy);
    pm_context_destroy(first);
    toy.context = toy_context(1, PM_ARITHMETIC_PORTABLE);
    prove_and_verify(&toy);
    prove_and_verify(&toy);
    pm_context *second = toy.context;
    toy_close(&toy);
    pm_context_destroy(second);
}

/* ---- Secrets -------------------------------------------------------------------------------- */

#define MARKER_BYTES 24
/* A larger mapping is a sanitizer's shadow, terabytes of it, and not ours. */
#define MAPPING_BYTES_MAX (1ul << 28)

/* Whether the bytes whose complement is given stand anywhere in the heap or in an anonymous
 * mapping. */
static int memory_contains(const uint8_t complement[MARKER_BYTES]) {
    FILE *maps = fopen("/proc/self/maps", "r");
    FILE *memory = fopen("/proc/self/mem", "rb");
    static uint8_t window[1 << 16];
    char line[512];
    int found = 0;
    assert_non_null(maps);
    assert_non_null(memory);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[1] != 'w' ||
            strstr(line, "[stack") != NULL || end - begin > MAPPING_BYTES_MAX ||
            ((unsigned long)window >= begin && (unsigned long)window < end)) {
            continue;
        }
        for (unsigned long at = begin; at < end; at += sizeof window - MARKER_BYTES) {
            const unsigned long want = end - at < sizeof window ? end - at : sizeof window;
            if (fseek(memory, (long)at, SEEK_SET) != 0) {
                break;
            }
            const size_t n = fread(window, 1, want, memory);
            for (size_t i = 0; i + MARKER_BYTES <= n; ++i) {
                size_t j = 0;
                while (j < MARKER_BYTES && (window[i + j] ^ complement[j]) == 0xff) {
                    ++j;
                }
                found |= j == MARKER_BYTES;
            }
        }
    }
    memset(window, 0, sizeof window);
    (void)fclose(memory);
    (void)fclose(maps);
    return found;
}

/* Report E13: once all is destroyed neither the witness nor r stands in the heap. */
static void E13_no_secret_is_left_in_the_heap(void **state) {
    (void)state;
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    struct toy toy;
    toy_open(context, PM_CURVE_BN254, &toy_cases[2], &toy); /* no constraint: any value satisfies */
    uint8_t complement[MARKER_BYTES], values[3 * PM_FR_BYTES] = {1};
    struct pm_blinding blinding = {{0}, {3}};
    for (size_t i = 0; i < MARKER_BYTES; ++i) {
        complement[i] = (uint8_t)(i * 73 + 29);
        values[2 * PM_FR_BYTES + i] = (uint8_t)~complement[i];
        ((uint8_t *)blinding.r)[i] = (uint8_t)~complement[i];
    }
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    pm_witness *witness = NULL;
    toy_expect(pm_witness_from_values(context, PM_CURVE_BN254, values, 3, NULL, &witness, &error),
               PM_OK, &error);
    pm_memory_wipe(values, sizeof values);
    assert_true(memory_contains(complement)); /* the search works: the witness is there now */
    toy_expect(pm_prove_with_blinding(context, toy.key, witness, &blinding, NULL, NULL, &proof,
                                      NULL, &error),
               PM_OK, &error);
    pm_memory_wipe(&blinding, sizeof blinding);
    pm_witness_destroy(witness);
    assert_false(memory_contains(complement));
    toy_close(&toy);
    pm_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B10_degenerate_circuits_prove_and_verify),
        cmocka_unit_test(forced_arithmetic_is_the_one_that_runs),
        cmocka_unit_test(A11_wrong_witness_is_withheld),
        cmocka_unit_test(B12_mismatched_witness_is_refused),
        cmocka_unit_test(A10_first_value_must_be_one),
        cmocka_unit_test(B13_unreduced_value_is_refused),
        cmocka_unit_test(cancel_and_deadline_stop_a_proof),
        cmocka_unit_test(stats_tell_phases_and_peak),
        cmocka_unit_test(B19_blinding_is_uniform_and_fresh),
        cmocka_unit_test(B19_no_two_proofs_are_alike),
        cmocka_unit_test(E6_no_thread_is_left_after_destroy),
        cmocka_unit_test(E12_threads_follow_affinity),
        cmocka_unit_test(A6_sixteen_threads_prove_together),
        cmocka_unit_test(E7_key_outlives_its_context),
        cmocka_unit_test(E13_no_secret_is_left_in_the_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
