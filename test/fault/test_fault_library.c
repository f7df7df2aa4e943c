/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every public call with every system call and allocation of it failing in turn.
 *
 * A call is tried with its first, second, third, ... use of one function failing, until it needs no
 * more of them. Each time: a status that fits the fault, an error object that says it, outputs
 * untouched, nothing left behind (heap, mappings, descriptors, threads, files), and the same call
 * without a fault is good. A call may also succeed in spite of the fault, but then rightly.
 */
#include "fault/fault_interposer.h"

#include "api/api_internal.h"
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/toy_circuits.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECRETS_MAX 64
#define POISON 0x5a

/* What calls write to. */
struct outputs {
    pm_context *context;
    pm_key *key;
    pm_witness *witness;
    pm_vk *vk;
    void *bytes;
    size_t n_bytes;
    pm_proof proof;
    pm_prove_stats stats;
    pm_file_info info;
    uint64_t constraint;
};

/* Good inputs for every call, of one curve. */
struct world {
    pm_curve_id curve;
    char zkey_path[PM_TEST_PATH_MAX], wtns_path[PM_TEST_PATH_MAX], r1cs_path[PM_TEST_PATH_MAX];
    char *zkey_bytes, *wtns_bytes;
    size_t n_zkey_bytes, n_wtns_bytes;
    char *tree; /* where files are written */
    pm_context *context;
    pm_key *key, *fresh_key; /* fresh: no proof has been made with it */
    pm_witness *witness;
    pm_vk *vk;
    uint8_t *values, *publics, *two_publics;
    uint32_t n_public;
    pm_proof proofs[2];
    struct toy_key arrays;
    uint8_t *bellman;
    size_t n_bellman_bytes;
    struct outputs out;
};

/* Decimal and hexadecimal forms of every secret value: no message may hold one. */
static char secrets[SECRETS_MAX][80];
static size_t n_secrets;
static uint64_t n_attempts, n_faults_met, n_refusals, n_messages;

/* ---- The calls ------------------------------------------------------------------------------ */

struct call {
    const char *name;
    void (*prepare)(struct world *world); /* may be NULL */
    pm_status (*run)(struct world *world, pm_error *error);
    bool (*is_right)(struct world *world);
    void (*release)(struct world *world); /* what a good run has made; may be NULL */
    void (*clean)(struct world *world);   /* what prepare has made; may be NULL */
};

static void see_message(void *user, pm_log_level level, const char *sentence);

static pm_control watching(void) {
    return (pm_control){.struct_bytes = sizeof(pm_control), .log = see_message};
}

static pm_status create_context(struct world *world, pm_error *error) {
    const pm_context_options options = {.struct_bytes = sizeof options, .threads = 4};
    return pm_context_create(&options, &world->out.context, error);
}

static bool has_four_threads(struct world *world) {
    return pm_context_threads(world->out.context) == 4;
}

static void destroy_context(struct world *world) {
    pm_context_destroy(world->out.context);
}

static pm_status open_key(struct world *world, pm_load load, pm_error *error) {
    const pm_key_options options = {.struct_bytes = sizeof options, .load = (uint32_t)load};
    const pm_control control = watching();
    return pm_key_open(world->context, world->zkey_path, &options, &control, &world->out.key,
                       error);
}

static pm_status map_key(struct world *world, pm_error *error) {
    return open_key(world, PM_LOAD_MAP, error);
}

static pm_status read_key(struct world *world, pm_error *error) {
    return open_key(world, PM_LOAD_READ, error);
}

static pm_status borrow_key(struct world *world, pm_error *error) {
    return pm_key_open_memory(world->context, world->zkey_bytes, world->n_zkey_bytes, NULL, NULL,
                              &world->out.key, error);
}

static pm_status key_from_arrays(struct world *world, pm_error *error) {
    return pm_key_from_arrays(world->context, &world->arrays.arrays, NULL, &world->out.key, error);
}

static bool key_has_facts(struct world *world) {
    pm_key_facts facts = {.struct_bytes = sizeof facts};
    return pm_key_get_facts(world->out.key, &facts) == PM_OK &&
           facts.curve == (uint32_t)world->curve && facts.n_vars > facts.n_public && facts.has_ic;
}

static void destroy_key(struct world *world) {
    pm_key_destroy(world->out.key);
}

static pm_status check_key(struct world *world, pm_error *error) {
    return pm_key_check(world->context, world->key, NULL, error);
}

static bool nothing_to_see(struct world *world) {
    (void)world;
    return true;
}

static pm_status vk_from_key(struct world *world, pm_error *error) {
    return pm_vk_from_key(world->context, world->key, &world->out.vk, error);
}

static pm_status vk_from_arrays(struct world *world, pm_error *error) {
    pm_vk_arrays arrays = {.struct_bytes = sizeof arrays};
    assert_int_equal(pm_vk_get_arrays(world->vk, &arrays), PM_OK);
    return pm_vk_from_arrays(world->context, &arrays, &world->out.vk, error);
}

static pm_status vk_from_bellman(struct world *world, pm_error *error) {
    return pm_vk_from_bellman(world->context, world->bellman, world->n_bellman_bytes, 0,
                              &world->out.vk, error);
}

static bool vk_accepts(struct world *world) {
    return pm_verify(world->context, world->out.vk, world->publics, world->n_public,
                     &world->proofs[0], NULL) == PM_OK;
}

static void destroy_vk(struct world *world) {
    pm_vk_destroy(world->out.vk);
}

static pm_status open_witness(struct world *world, pm_error *error) {
    const pm_control control = watching();
    return pm_witness_open(world->context, world->wtns_path, &control, &world->out.witness, error);
}

static pm_status borrow_witness(struct world *world, pm_error *error) {
    return pm_witness_open_memory(world->context, world->wtns_bytes, world->n_wtns_bytes, NULL,
                                  NULL, &world->out.witness, error);
}

static pm_status witness_from_values(struct world *world, pm_error *error) {
    return pm_witness_from_values(world->context, world->curve, world->values,
                                  pm_witness_count(world->witness), NULL, &world->out.witness,
                                  error);
}

static bool witness_is_equal(struct world *world) {
    const size_t n = pm_witness_count(world->witness);
    uint8_t *values = malloc(n * PM_FR_BYTES);
    assert_non_null(values);
    const bool is_equal = pm_witness_count(world->out.witness) == n &&
                          pm_witness_values(world->out.witness, 0, n, values) == PM_OK &&
                          memcmp(values, world->values, n * PM_FR_BYTES) == 0;
    free(values);
    return is_equal;
}

static void destroy_witness(struct world *world) {
    pm_witness_destroy(world->out.witness);
}

static void open_fresh_key(struct world *world) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_key_open(world->context, world->zkey_path, NULL, NULL, &world->fresh_key, &error),
               PM_OK, &error);
}

static void close_fresh_key(struct world *world) {
    pm_key_destroy(world->fresh_key);
}

static pm_status prove(struct world *world, pm_error *error) {
    const pm_control control = watching();
    return pm_prove(world->context, world->fresh_key, world->witness, NULL, &control,
                    &world->out.proof, &world->out.stats, error);
}

static bool proof_is_valid(struct world *world) {
    return world->out.stats.n_phases == 9 &&
           pm_verify(world->context, world->vk, world->publics, world->n_public, &world->out.proof,
                     NULL) == PM_OK;
}

static pm_status verify(struct world *world, pm_error *error) {
    return pm_verify(world->context, world->vk, world->publics, world->n_public, &world->proofs[0],
                     error);
}

static pm_status verify_batch(struct world *world, pm_error *error) {
    return pm_verify_batch(world->context, world->vk, world->two_publics, world->n_public,
                           world->proofs, 2, error);
}

static pm_status describe(struct world *world, const char *path, pm_error *error) {
    return pm_file_describe(world->context, path, 1, NULL, &world->out.info, error);
}

static pm_status describe_zkey(struct world *world, pm_error *error) {
    return describe(world, world->zkey_path, error);
}

static pm_status describe_wtns(struct world *world, pm_error *error) {
    return describe(world, world->wtns_path, error);
}

static pm_status describe_r1cs(struct world *world, pm_error *error) {
    return describe(world, world->r1cs_path, error);
}

static bool description_is_right(struct world *world) {
    return world->out.info.curve == (uint32_t)world->curve && world->out.info.has_digest == 1 &&
           world->out.info.n_vars == pm_witness_count(world->witness);
}

static pm_status check_zkey(struct world *world, pm_error *error) {
    return pm_file_check(world->context, world->zkey_path, NULL, error);
}

static pm_status check_wtns(struct world *world, pm_error *error) {
    return pm_file_check(world->context, world->wtns_path, NULL, error);
}

static pm_status check_r1cs(struct world *world, pm_error *error) {
    return pm_file_check(world->context, world->r1cs_path, NULL, error);
}

static pm_status check_constraints(struct world *world, pm_error *error) {
    return pm_r1cs_check_witness(world->context, world->r1cs_path, world->witness, NULL,
                                 &world->out.constraint, error);
}

static bool no_constraint_is_named(struct world *world) {
    struct outputs untouched;
    memset(&untouched, POISON, sizeof untouched);
    return world->out.constraint == untouched.constraint;
}

static pm_status read_file(struct world *world, pm_error *error) {
    return pm_file_read(world->zkey_path, SIZE_MAX, NULL, &world->out.bytes, &world->out.n_bytes,
                        error);
}

static bool bytes_are_equal(struct world *world) {
    return world->out.n_bytes == world->n_zkey_bytes &&
           memcmp(world->out.bytes, world->zkey_bytes, world->n_zkey_bytes) == 0;
}

static void free_bytes(struct world *world) {
    pm_bytes_free(world->out.bytes, world->out.n_bytes);
}

static const char old_text[] = "the old contents";

static void put_old_files(struct world *world) {
    file_write(file_in_tree(world->tree, "old"), old_text, strlen(old_text));
    (void)unlink(file_in_tree(world->tree, "new"));
}

static pm_status write_files(struct world *world, pm_error *error) {
    const pm_output outputs[] = {
        {file_in_tree(world->tree, "new"), world->zkey_bytes, world->n_zkey_bytes},
        {file_in_tree(world->tree, "old"), world->wtns_bytes, world->n_wtns_bytes}};
    return pm_files_write(outputs, 2, NULL, error);
}

static bool file_holds(const char *path, const void *bytes, size_t n_bytes) {
    size_t n = 0;
    char *found = pm_test_read_file(path, &n);
    const bool is_equal = found != NULL && n == n_bytes && memcmp(found, bytes, n) == 0;
    free(found);
    return is_equal;
}

static bool files_are_whole(struct world *world) {
    return file_holds(file_in_tree(world->tree, "new"), world->zkey_bytes, world->n_zkey_bytes) &&
           file_holds(file_in_tree(world->tree, "old"), world->wtns_bytes, world->n_wtns_bytes);
}

static void remove_files(struct world *world) {
    (void)unlink(file_in_tree(world->tree, "old"));
    (void)unlink(file_in_tree(world->tree, "new"));
}

static pm_status tell_files_apart(struct world *world, pm_error *error) {
    const char *const inputs[] = {world->zkey_path, world->wtns_path};
    const char *const outputs[] = {file_in_tree(world->tree, "new"),
                                   file_in_tree(world->tree, "other")};
    return pm_files_distinct(inputs, 2, outputs, 2, error);
}

static const struct call calls[] = {
    {"pm_context_create", NULL, create_context, has_four_threads, destroy_context, NULL},
    {"pm_key_open, mapped", NULL, map_key, key_has_facts, destroy_key, NULL},
    {"pm_key_open, read", NULL, read_key, key_has_facts, destroy_key, NULL},
    {"pm_key_open_memory", NULL, borrow_key, key_has_facts, destroy_key, NULL},
    {"pm_key_from_arrays", NULL, key_from_arrays, key_has_facts, destroy_key, NULL},
    {"pm_key_check", NULL, check_key, nothing_to_see, NULL, NULL},
    {"pm_vk_from_key", NULL, vk_from_key, vk_accepts, destroy_vk, NULL},
    {"pm_vk_from_arrays", NULL, vk_from_arrays, vk_accepts, destroy_vk, NULL},
    {"pm_vk_from_bellman", NULL, vk_from_bellman, vk_accepts, destroy_vk, NULL},
    {"pm_witness_open", NULL, open_witness, witness_is_equal, destroy_witness, NULL},
    {"pm_witness_open_memory", NULL, borrow_witness, witness_is_equal, destroy_witness, NULL},
    {"pm_witness_from_values", NULL, witness_from_values, witness_is_equal, destroy_witness, NULL},
    {"pm_prove", open_fresh_key, prove, proof_is_valid, NULL, close_fresh_key},
    {"pm_verify", NULL, verify, nothing_to_see, NULL, NULL},
    {"pm_verify_batch", NULL, verify_batch, nothing_to_see, NULL, NULL},
    {"pm_file_describe, zkey", NULL, describe_zkey, description_is_right, NULL, NULL},
    {"pm_file_describe, wtns", NULL, describe_wtns, description_is_right, NULL, NULL},
    {"pm_file_describe, r1cs", NULL, describe_r1cs, description_is_right, NULL, NULL},
    {"pm_file_check, zkey", NULL, check_zkey, nothing_to_see, NULL, NULL},
    {"pm_file_check, wtns", NULL, check_wtns, nothing_to_see, NULL, NULL},
    {"pm_file_check, r1cs", NULL, check_r1cs, nothing_to_see, NULL, NULL},
    {"pm_r1cs_check_witness", NULL, check_constraints, no_constraint_is_named, NULL, NULL},
    {"pm_file_read", NULL, read_file, bytes_are_equal, free_bytes, NULL},
    {"pm_files_write", put_old_files, write_files, files_are_whole, NULL, remove_files},
    {"pm_files_distinct", NULL, tell_files_apart, nothing_to_see, NULL, NULL},
};

/* ---- The faults ----------------------------------------------------------------------------- */

static const struct {
    enum fault_function function;
    pm_status expected, or_else;
    int reasons[5]; /* 0 ends them */
} faults[] = {
    {FAULT_malloc, PM_NO_MEMORY, PM_NO_MEMORY, {ENOMEM}},
    {FAULT_calloc, PM_NO_MEMORY, PM_NO_MEMORY, {ENOMEM}},
    {FAULT_realloc, PM_NO_MEMORY, PM_NO_MEMORY, {ENOMEM}},
    {FAULT_posix_memalign, PM_NO_MEMORY, PM_NO_MEMORY, {ENOMEM}},
    {FAULT_mmap, PM_NO_MEMORY, PM_IO, {ENOMEM, EAGAIN}},
    {FAULT_open, PM_IO, PM_IO, {EIO, ENOSPC, ENOMEM, EINTR}},
    {FAULT_fstat, PM_IO, PM_IO, {EIO, ENOMEM}},
    {FAULT_stat, PM_IO, PM_IO, {EIO, ENOMEM}},
    {FAULT_fchmod, PM_IO, PM_IO, {EIO, ENOSPC}},
    {FAULT_read, PM_IO, PM_IO, {EIO, EAGAIN, EINTR, FAULT_SHORT}},
    {FAULT_pread, PM_IO, PM_IO, {EIO, EAGAIN, EINTR, FAULT_SHORT}},
    {FAULT_write, PM_IO, PM_IO, {EIO, ENOSPC, EAGAIN, EINTR, FAULT_SHORT}},
    {FAULT_rename, PM_IO, PM_IO, {EIO, ENOSPC}},
    {FAULT_linkat, PM_IO, PM_IO, {EIO, ENOSPC}},
    {FAULT_fsync, PM_IO, PM_IO, {EIO, ENOSPC, EINTR}},
    {FAULT_fdatasync, PM_IO, PM_IO, {EIO, ENOSPC, EINTR}},
    {FAULT_ftruncate, PM_IO, PM_IO, {EIO, ENOSPC, EINTR}},
    {FAULT_pthread_create, PM_NO_THREADS, PM_NO_THREADS, {EAGAIN, ENOMEM}},
    {FAULT_getrandom, PM_NO_RANDOM, PM_NO_RANDOM, {EIO, EAGAIN, EINTR}},
};

/* ---- What may not change -------------------------------------------------------------------- */

struct traces {
    struct fault_live live;
    int n_descriptors, n_threads, n_files;
};

static int count_entries(const char *path) {
    int n = -2; /* "." and ".." */
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        ++n;
    }
    (void)closedir(directory);
    return n;
}

static struct traces traces_now(const struct world *world, int n_threads_wanted) {
    struct traces traces = {.live = fault_live_now(),
                            .n_descriptors = count_entries("/proc/self/fd"),
                            .n_files = count_entries(world->tree)};
    /* A joined thread leaves /proc a moment after it is joined. */
    for (int tries = 0; tries < 20000; ++tries) {
        traces.n_threads = count_entries("/proc/self/task");
        if (n_threads_wanted == 0 || traces.n_threads <= n_threads_wanted) {
            break;
        }
        (void)sched_yield();
        if (tries > 100) { /* on a busy machine a longer moment */
            (void)usleep(1000);
        }
    }
    return traces;
}

static void expect_same_traces(const struct world *world, const struct traces *before) {
    const struct traces after = traces_now(world, before->n_threads);
    assert_int_equal(after.live.heap_blocks, before->live.heap_blocks);
    assert_int_equal(after.live.heap_bytes, before->live.heap_bytes);
    assert_int_equal(after.live.mapped_bytes, before->live.mapped_bytes);
    assert_int_equal(after.n_descriptors, before->n_descriptors);
    assert_true(after.n_threads <= before->n_threads);
    assert_int_equal(after.n_files, before->n_files);
}

static void expect_no_secret(const char *text) {
    ++n_messages;
    for (size_t i = 0; i < n_secrets; ++i) {
        if (strstr(text, secrets[i]) != NULL) {
            fail_msg("a message holds a value of the witness: %s", text);
        }
    }
}

static void see_message(void *user, pm_log_level level, const char *sentence) {
    (void)user;
    (void)level;
    expect_no_secret(sentence);
}

static void expect_filled(const pm_error *error, pm_status status) {
    assert_int_equal(error->status, status);
    assert_true(error->message[0] != '\0');
    assert_null(strchr(error->message, '\n'));
    assert_true(error->struct_bytes == sizeof *error);
    expect_no_secret(error->message);
}

/* ---- One attempt ---------------------------------------------------------------------------- */

static void poison(struct outputs *out) {
    memset(out, POISON, sizeof *out);
    out->proof.struct_bytes = sizeof out->proof;
    out->stats.struct_bytes = sizeof out->stats;
    out->info.struct_bytes = sizeof out->info;
}

/* A good run: right, and undone with every function failing: freeing needs nothing. */
static void accept(struct world *world, const struct call *call) {
    static const struct fault_plan all_fail = {FAULT_any, 1, ENOMEM, true};
    assert_true(call->is_right(world));
    if (call->release != NULL) {
        fault_arm(&all_fail);
        call->release(world);
        const struct fault_count count = fault_disarm();
        assert_int_equal(count.n_faults, 0);
    }
}

/* Returns whether a fault was met. */
static bool attempt(struct world *world, const struct call *call, const struct fault_plan *plan,
                    pm_status expected, pm_status or_else) {
    static struct outputs untouched;
    pm_error error = PM_ERROR_INIT;
    const struct traces before = traces_now(world, 0);
    if (call->prepare != NULL) {
        call->prepare(world);
    }
    poison(&world->out);
    memcpy(&untouched, &world->out, sizeof untouched);
    fault_arm(plan);
    const pm_status status = call->run(world, &error);
    const struct fault_count count = fault_disarm();
    ++n_attempts;
    n_faults_met += count.n_faults;
    const bool must_succeed =
        count.n_faults == 0 || plan->reason == EINTR || plan->reason == FAULT_SHORT;
    if (status == PM_OK) {
        accept(world, call);
    } else {
        ++n_refusals;
        if (must_succeed || (status != expected && status != or_else)) {
            fail_msg("%s, %s %llu with %d%s: %s: %s", call->name,
                     fault_function_name(plan->function), (unsigned long long)plan->at,
                     plan->reason, plan->persists ? " from there on" : "", pm_status_name(status),
                     error.message);
        }
        expect_filled(&error, status);
        assert_memory_equal(&world->out, &untouched, sizeof untouched);
        if (call->run == write_files && plan->function != FAULT_rename) {
            assert_true(file_holds(file_in_tree(world->tree, "old"), old_text, strlen(old_text)));
            assert_int_equal(count_entries(world->tree), 1);
        }
        poison(&world->out);
        toy_expect(call->run(world, &error), PM_OK, &error);
        accept(world, call);
    }
    if (call->clean != NULL) {
        call->clean(world);
    }
    expect_same_traces(world, &before);
    return count.n_faults > 0;
}

/* Every n of every function and reason, once alone and once with all later calls failing too. */
static void try_every_fault(struct world *world, const struct call *call) {
    uint64_t n_tried = 0, n_met = n_faults_met;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
        for (size_t k = 0; k < 5 && faults[i].reasons[k] != 0; ++k) {
            struct fault_plan plan = {faults[i].function, 1, faults[i].reasons[k], false};
            for (; attempt(world, call, &plan, faults[i].expected, faults[i].or_else); ++plan.at) {
                struct fault_plan longer = plan;
                longer.persists = true;
                (void)attempt(world, call, &longer, faults[i].expected, faults[i].or_else);
                ++n_tried;
            }
        }
    }
    print_message("  %-28s %4llu places, %llu faults\n", call->name, (unsigned long long)n_tried,
                  (unsigned long long)(n_faults_met - n_met));
}

/* ---- The worlds ----------------------------------------------------------------------------- */

/* Decimal by long division, and hexadecimal in both byte orders. A small value may well be in a
 * message by chance, as a count or an offset. */
static void keep_secret(const uint8_t value[PM_FR_BYTES]) {
    static const uint8_t zeros[PM_FR_BYTES / 2];
    if (memcmp(value + sizeof zeros, zeros, sizeof zeros) == 0) {
        return;
    }
    uint8_t left[PM_FR_BYTES];
    char decimal[80] = "";
    size_t at = sizeof decimal - 1;
    memcpy(left, value, sizeof left);
    for (bool is_zero = false; !is_zero;) {
        unsigned remainder = 0;
        is_zero = true;
        for (size_t i = PM_FR_BYTES; i-- > 0;) {
            const unsigned digit = remainder * 256 + left[i];
            left[i] = (uint8_t)(digit / 10);
            remainder = digit % 10;
            is_zero = is_zero && left[i] == 0;
        }
        decimal[--at] = (char)('0' + remainder);
    }
    assert_true(n_secrets + 3 <= SECRETS_MAX);
    memcpy(secrets[n_secrets++], decimal + at, sizeof decimal - at);
    for (size_t i = 0; i < PM_FR_BYTES; ++i) {
        (void)snprintf(secrets[n_secrets] + 2 * i, 3, "%02x", value[i]);
        (void)snprintf(secrets[n_secrets + 1] + 2 * i, 3, "%02x", value[PM_FR_BYTES - 1 - i]);
    }
    n_secrets += 2;
}

/* alpha, beta (G1), beta, gamma, delta (G1), delta, n, ic: the file of bellman. */
static void make_bellman(struct world *world) {
    const struct pm_curve *curve = pm_curve_get(world->curve, PM_BODY_PORTABLE);
    const struct pm_key_parts *parts = &world->key->zkey.parts;
    const struct {
        const struct pm_group *group;
        const uint8_t *point;
    } points[] = {{curve->g1, parts->alpha_g1}, {curve->g1, parts->beta_g1},
                  {curve->g2, parts->beta_g2},  {curve->g2, parts->gamma_g2},
                  {curve->g1, parts->delta_g1}, {curve->g2, parts->delta_g2}};
    world->bellman = calloc(1, 3 * 96 + 3 * 192 + 4 + (parts->n_public + 1) * 96);
    assert_non_null(world->bellman);
    uint8_t *at = world->bellman;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; ++i) {
        points[i].group->encode(at, PM_POINT_ZCASH_FULL, points[i].point);
        at += points[i].group->form_bytes(PM_POINT_ZCASH_FULL);
    }
    at[3] = (uint8_t)(parts->n_public + 1);
    at += 4;
    for (uint32_t i = 0; i <= parts->n_public; ++i, at += 96) {
        curve->g1->encode(at, PM_POINT_ZCASH_FULL, parts->ic + i * curve->g1->affine_bytes);
    }
    world->n_bellman_bytes = (size_t)(at - world->bellman);
}

static void open_inputs(struct world *world, const char *name) {
    pm_error error = PM_ERROR_INIT;
    char relative[256];
    (void)snprintf(relative, sizeof relative, "%s/%s.zkey", name, name);
    world->zkey_bytes =
        pm_test_read_file(pm_data_path(world->zkey_path, relative), &world->n_zkey_bytes);
    (void)snprintf(relative, sizeof relative, "%s/%s.wtns", name, name);
    world->wtns_bytes =
        pm_test_read_file(pm_data_path(world->wtns_path, relative), &world->n_wtns_bytes);
    (void)snprintf(relative, sizeof relative, "%s/%s.r1cs", name, name);
    (void)pm_data_path(world->r1cs_path, relative);
    assert_true(world->zkey_bytes != NULL && world->wtns_bytes != NULL);
    toy_expect(map_key(world, &error), PM_OK, &error);
    world->key = world->out.key;
    toy_expect(open_witness(world, &error), PM_OK, &error);
    world->witness = world->out.witness;
    toy_expect(vk_from_key(world, &error), PM_OK, &error);
    world->vk = world->out.vk;
}

static void open_world(struct world *world, pm_curve_id curve, const char *name) {
    pm_error error = PM_ERROR_INIT;
    *world = (struct world){.curve = curve, .tree = file_make_tree()};
    world->context = toy_context(3, PM_ARITHMETIC_BEST);
    open_inputs(world, name);
    const size_t n = pm_witness_count(world->witness);
    world->n_public = pm_vk_n_public(world->vk);
    const size_t publics_bytes = world->n_public * PM_FR_BYTES;
    world->values = malloc(n * PM_FR_BYTES);
    world->two_publics = malloc(2 * publics_bytes);
    assert_true(world->values != NULL && world->two_publics != NULL);
    assert_int_equal(pm_witness_values(world->witness, 0, n, world->values), PM_OK);
    world->publics = world->values + PM_FR_BYTES;
    memcpy(world->two_publics, world->publics, publics_bytes);
    memcpy(world->two_publics + publics_bytes, world->publics, publics_bytes);
    for (size_t i = 0; i < 2; ++i) {
        toy_expect(pm_prove(world->context, world->key, world->witness, NULL, NULL,
                            &world->proofs[i], NULL, &error),
                   PM_OK, &error);
    }
    n_secrets = 0;
    for (size_t i = 1 + world->n_public; i < n; ++i) {
        keep_secret(world->values + i * PM_FR_BYTES);
    }
    assert_true(n_secrets > 0); /* else their absence says nothing */
    const struct toy_circuit circuit = {curve,
                                        TOY_PRODUCT->n_rows,
                                        TOY_PRODUCT->n_vars,
                                        TOY_PRODUCT->n_public,
                                        TOY_PRODUCT->log_n,
                                        TOY_PRODUCT->entries,
                                        TOY_PRODUCT->n_entries};
    toy_setup(&circuit, 7, &world->arrays);
    if (curve == PM_CURVE_BLS12_381) {
        make_bellman(world);
    }
}

static void close_world(struct world *world) {
    free(world->bellman);
    toy_key_free(&world->arrays);
    free(world->values);
    free(world->two_publics);
    pm_vk_destroy(world->vk);
    pm_witness_destroy(world->witness);
    pm_key_destroy(world->key);
    pm_context_destroy(world->context);
    free(world->zkey_bytes);
    free(world->wtns_bytes);
    file_remove_tree(world->tree);
}

static void every_fault_is_a_clean_status(pm_curve_id curve, const char *name) {
    static struct world world;
    open_world(&world, curve, name);
    n_attempts = n_faults_met = n_refusals = n_messages = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        if (calls[i].run != vk_from_bellman || world.bellman != NULL) {
            try_every_fault(&world, &calls[i]);
        }
    }
    print_message("  %llu attempts met %llu faults: %llu refusals; %llu messages without secrets\n",
                  (unsigned long long)n_attempts, (unsigned long long)n_faults_met,
                  (unsigned long long)n_refusals, (unsigned long long)n_messages);
    assert_true(n_refusals > 300); /* the interposer is in the way */
    close_world(&world);
}

static void every_fault_is_a_clean_status_bn254(void **state) {
    (void)state;
    every_fault_is_a_clean_status(PM_CURVE_BN254, "mult3");
}

static void every_fault_is_a_clean_status_bls12_381(void **state) {
    (void)state;
    every_fault_is_a_clean_status(PM_CURVE_BLS12_381, "mult3_bls");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_a_clean_status_bn254),
        cmocka_unit_test(every_fault_is_a_clean_status_bls12_381),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
