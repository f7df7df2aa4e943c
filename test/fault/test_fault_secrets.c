/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Where secrets stand while a proof is made, and afterwards.
 *
 * A witness with a marker value is proved on a circuit that accepts any value. At every step of the
 * proof, and after everything is destroyed, the whole memory of the process is searched for the
 * marker and its Montgomery form. Report E13.
 */
#include "api/api_internal.h"
#include "ff/field.h"
#include "support/file_builder.h"
#include "support/toy_circuits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const pm_curve_id curves[] = {PM_CURVE_BN254, PM_CURVE_BLS12_381};
#define N_CURVES (sizeof curves / sizeof curves[0])

/* The third toy has no constraint and one private signal, which the tests below set. */
#define FREE_TOY (&toy_cases[2])
#define N_VALUES 3

/* ---- The search ----------------------------------------------------------------------------- */

/* Kept as complements, so that the search does not find itself. */
struct needles {
    uint8_t complements[2][PM_FR_BYTES];
};

struct findings {
    size_t n_dumped, n_not_dumped, n_on_stacks, n_in_files;
    char first[256]; /* the mapping of one of them, a dumped one if there is any */
};

struct mapping {
    unsigned long begin, end;
    char line[256];
    bool is_stack, is_file, is_dumped;
};

static struct needles make_needles(pm_curve_id curve, const uint8_t value[PM_FR_BYTES]) {
    struct needles needles;
    uint64_t montgomery[PM_FR_LIMBS_MAX];
    pm_field_fr(curve, PM_BODY_PORTABLE)->to_mont(montgomery, value, 1);
    memcpy(needles.complements[0], value, PM_FR_BYTES);
    memcpy(needles.complements[1], montgomery, PM_FR_BYTES);
    for (size_t i = 0; i < PM_FR_BYTES; ++i) {
        needles.complements[0][i] ^= 0xff;
        needles.complements[1][i] ^= 0xff;
    }
    pm_memory_wipe(montgomery, sizeof montgomery);
    return needles;
}

static bool contains(const uint8_t *bytes, size_t n, const struct needles *needles) {
    for (size_t at = 0; at + PM_FR_BYTES <= n; at += 4) {
        for (size_t k = 0; k < 2; ++k) {
            const uint8_t *complement = needles->complements[k];
            size_t j = 0;
            while (j < PM_FR_BYTES && (bytes[at + j] ^ complement[j]) == 0xff) {
                ++j;
            }
            if (j == PM_FR_BYTES) {
                return true;
            }
        }
    }
    return false;
}

/* Through /proc/self/mem, so that no mapping can fault. */
static bool mapping_contains(int memory, const struct mapping *mapping,
                             const struct needles *needles) {
    enum { STEP = 1 << 16 };
    static uint8_t window[STEP + PM_FR_BYTES];
    bool found = false;
    if ((unsigned long)window >= mapping->begin && (unsigned long)window < mapping->end) {
        memset(window, 0, sizeof window); /* and look at the rest of our own data */
    }
    for (unsigned long at = mapping->begin; at < mapping->end && !found; at += STEP) {
        const unsigned long left = mapping->end - at;
        const size_t want = left < sizeof window ? left : sizeof window;
        const ssize_t n = pread(memory, window, want, (off_t)at);
        if (n <= 0) {
            break;
        }
        found = contains(window, (size_t)n, needles);
    }
    pm_memory_wipe(window, sizeof window);
    return found;
}

static void judge(int memory, const struct mapping *mapping, const struct needles *needles,
                  struct findings *findings) {
    if (!mapping_contains(memory, mapping, needles)) {
        return;
    }
    if (mapping->is_stack) {
        ++findings->n_on_stacks;
        return;
    }
    if (findings->first[0] == '\0' || mapping->is_dumped) {
        memcpy(findings->first, mapping->line, sizeof findings->first);
    }
    if (mapping->is_file) {
        ++findings->n_in_files;
    } else if (mapping->is_dumped) {
        ++findings->n_dumped;
    } else {
        ++findings->n_not_dumped;
    }
}

/* Reads all of smaps first: what we look for is not to move while we look. */
static struct findings search(const struct needles *needles) {
    enum { MAPPINGS_MAX = 4096 };
    static struct mapping mappings[MAPPINGS_MAX];
    static char buffer[1 << 16];
    struct findings findings = {.n_dumped = 0};
    size_t n = 0;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    const int memory = open("/proc/self/mem", O_RDONLY);
    assert_true(smaps != NULL && memory >= 0);
    (void)setvbuf(smaps, buffer, _IOFBF, sizeof buffer);
    char line[256];
    while (fgets(line, sizeof line, smaps) != NULL) {
        struct mapping next = {.is_dumped = true};
        char rights[8];
        unsigned long offset, inode = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &next.begin, &next.end, rights, &offset,
                   &inode) == 5) {
            memcpy(next.line, line, sizeof next.line);
            next.is_stack = strstr(line, "[stack") != NULL;
            next.is_file = inode != 0 && rights[1] != 'w';
            assert_true(n < MAPPINGS_MAX);
            mappings[n] = next;
            n += rights[0] == 'r';
        } else if (n > 0 && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd") != NULL) {
            mappings[n - 1].is_dumped = false;
        }
    }
    (void)fclose(smaps);
    for (size_t i = 0; i < n; ++i) {
        judge(memory, &mappings[i], needles, &findings);
    }
    (void)close(memory);
    return findings;
}

/* ---- A proof that is watched ---------------------------------------------------------------- */

struct watch {
    const struct needles *needles;
    size_t n_looks, n_seen, n_stacks;
};

static void look(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct watch *watch = user;
    (void)done;
    (void)total;
    const struct findings findings = search(watch->needles);
    if (findings.n_dumped != 0) {
        fail_msg("at \"%s\" a core dump would hold the marker: %s", phase, findings.first);
    }
    ++watch->n_looks;
    watch->n_seen += findings.n_not_dumped;
    watch->n_stacks += findings.n_on_stacks;
}

static void fill_marker(uint8_t value[PM_FR_BYTES]) {
    static volatile uint8_t factor = 37; /* else the marker is made when this is compiled */
    for (size_t i = 0; i < PM_FR_BYTES - 1; ++i) {
        value[i] = (uint8_t)(i * factor + 101);
    }
    value[PM_FR_BYTES - 1] = 7;
}

/* A .wtns of three values, 1, public and marker, with the layout of version 2. */
static size_t make_wtns(pm_curve_id curve, const uint8_t *values, uint8_t file[256]) {
    const uint32_t head[] = {2, 2, 1, 40, 0, PM_FR_BYTES}; /* version, sections; section 1 */
    const uint32_t body[] = {N_VALUES, 2, N_VALUES * PM_FR_BYTES, 0};
    uint8_t *at = file;
    memcpy(at, "wtns", 4);
    memcpy(at += 4, head, sizeof head);
    memcpy(at += sizeof head, pm_field_fr(curve, PM_BODY_PORTABLE)->modulus, PM_FR_BYTES);
    memcpy(at += PM_FR_BYTES, body, sizeof body);
    memcpy(at += sizeof body, values, N_VALUES * PM_FR_BYTES);
    return (size_t)(at + N_VALUES * PM_FR_BYTES - file);
}

enum source { FROM_VALUES, FROM_FILE, FROM_PIPE };

static pm_witness *open_marker(pm_context *context, pm_curve_id curve, enum source source,
                               const char *path, struct needles *needles) {
    uint8_t values[N_VALUES * PM_FR_BYTES] = {1}, file[256];
    pm_error error = PM_ERROR_INIT;
    pm_witness *witness = NULL;
    values[PM_FR_BYTES] = 9;
    fill_marker(values + 2 * PM_FR_BYTES);
    *needles = make_needles(curve, values + 2 * PM_FR_BYTES);
    const size_t n_bytes = make_wtns(curve, values, file);
    pm_status status;
    if (source == FROM_VALUES) {
        status = pm_witness_from_values(context, curve, values, N_VALUES, NULL, &witness, &error);
    } else if (source == FROM_FILE) {
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, file, n_bytes), n_bytes);
        assert_int_equal(close(fd), 0);
        status = pm_witness_open(context, path, NULL, &witness, &error);
    } else {
        int ends[2];
        char name[64];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], file, n_bytes), n_bytes);
        assert_int_equal(close(ends[1]), 0);
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
        status = pm_witness_open(context, name, NULL, &witness, &error);
        (void)close(ends[0]);
    }
    pm_memory_wipe(values, sizeof values);
    pm_memory_wipe(file, sizeof file);
    toy_expect(status, PM_OK, &error);
    return witness;
}

static void prove_watched(pm_context *context, struct toy *toy, enum source source,
                          const char *path) {
    const pm_curve_id curve = pm_witness_curve(toy->witness);
    struct needles needles;
    pm_witness *witness = open_marker(context, curve, source, path, &needles);
    struct watch watch = {.needles = &needles};
    const pm_control control = {.struct_bytes = sizeof control, .progress = look, .user = &watch};
    pm_error error = PM_ERROR_INIT;
    pm_proof proof;
    toy_expect(pm_prove(context, toy->key, witness, NULL, &control, &proof, NULL, &error), PM_OK,
               &error);
    assert_true(watch.n_looks >= 8 && watch.n_seen >= 8); /* the search does find it */
    pm_witness_destroy(witness);
    const struct findings after = search(&needles);
    if (after.n_dumped + after.n_not_dumped + after.n_in_files != 0) {
        fail_msg("the marker is still there: %s", after.first);
    }
    print_message("  %zu looks found it %zu times where no dump goes, %zu times on a stack; "
                  "afterwards %zu times on a stack\n",
                  watch.n_looks, watch.n_seen, watch.n_stacks, after.n_on_stacks);
}

static void E13_core_dumps_hold_no_witness(void **state) {
    (void)state;
    char *tree = file_make_tree();
    for (size_t i = 0; i < N_CURVES; ++i) {
        pm_context *context = toy_context(2, PM_ARITHMETIC_BEST);
        struct toy toy;
        toy_open(context, curves[i], FREE_TOY, &toy);
        for (int source = FROM_VALUES; source <= FROM_PIPE; ++source) {
            prove_watched(context, &toy, (enum source)source, file_in_tree(tree, "w.wtns"));
        }
        toy_close(&toy);
        pm_context_destroy(context);
    }
    file_remove_tree(tree);
}

/* The search would notice: the same value in the heap and in static data. */
static void the_search_finds_what_is_dumped(void **state) {
    (void)state;
    static uint8_t in_data[PM_FR_BYTES];
    uint8_t *in_heap = malloc(100);
    assert_non_null(in_heap);
    fill_marker(in_data);
    memcpy(in_heap + 16, in_data, sizeof in_data);
    const struct needles needles = make_needles(PM_CURVE_BN254, in_data);
    assert_int_equal(search(&needles).n_dumped, 2);
    pm_memory_wipe(in_data, sizeof in_data);
    assert_int_equal(search(&needles).n_dumped, 1);
    pm_memory_wipe(in_heap, 100);
    free(in_heap);
    assert_int_equal(search(&needles).n_dumped, 0);
    void *secret = NULL;
    assert_int_equal(pm_memory_alloc(NULL, "a test", 1, PM_MEMORY_SECRET, &secret, NULL), PM_OK);
    pm_memory_free(secret);
}

/* ---- Randomness after a fork ---------------------------------------------------------------- */

static void prove_once(struct toy *toy, pm_context *context, pm_proof *proof) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_prove(context, toy->key, toy->witness, NULL, NULL, proof, NULL, &error), PM_OK,
               &error);
}

/* Report B19: parent and child draw different r and s from the moment of the fork on. A context of
 * one thread survives a fork; threads do not. */
static void B19_fork_repeats_no_blinding(void **state) {
    (void)state;
    enum { CHILDREN = 4 };
    pm_context *context = toy_context(1, PM_ARITHMETIC_BEST);
    struct toy toy;
    pm_proof proofs[CHILDREN + 1];
    toy_open(context, PM_CURVE_BN254, TOY_PRODUCT, &toy);
    prove_once(&toy, context, &proofs[0]); /* whatever could be cached is */
    for (size_t i = 0; i < CHILDREN; ++i) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        (void)fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            pm_proof proof;
            const pm_status status =
                pm_prove(context, toy.key, toy.witness, NULL, NULL, &proof, NULL, NULL);
            const ssize_t n = write(ends[1], &proof, sizeof proof);
            _exit(status == PM_OK && n == sizeof proof ? 0 : 1);
        }
        assert_int_equal(read(ends[0], &proofs[i], sizeof proofs[i]), sizeof proofs[i]);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    prove_once(&toy, context, &proofs[CHILDREN]);
    for (size_t i = 0; i <= CHILDREN; ++i) {
        pm_error error = PM_ERROR_INIT;
        toy_expect(pm_verify(context, toy.vk, toy.publics, toy.n_public, &proofs[i], &error), PM_OK,
                   &error);
        for (size_t j = 0; j < i; ++j) { /* A shows r, B shows s */
            assert_memory_not_equal(proofs[i].a, proofs[j].a, sizeof proofs[i].a);
            assert_memory_not_equal(proofs[i].b, proofs[j].b, sizeof proofs[i].b);
        }
    }
    toy_close(&toy);
    pm_context_destroy(context);
}

/* A sanitizer maps terabytes of shadow, and keeps what is freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_IS_OURS 0
#else
#define MEMORY_IS_OURS 1
#endif

static void E13_memory_is_searched(void **state) {
    if (MEMORY_IS_OURS) {
        the_search_finds_what_is_dumped(state);
        E13_core_dumps_hold_no_witness(state);
    } else {
        print_message("  not searched: this is a sanitizer's build\n");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(E13_memory_is_searched),
        cmocka_unit_test(B19_fork_repeats_no_blinding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
